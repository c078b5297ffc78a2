"""What a folder of a run says of settings that differ."""

from __future__ import annotations

import pytest

from limelight.storage.run_folder import differences

SAID = "{} was {} and is {}"


def test_settings_that_are_equal_differ_nowhere() -> None:
    assert differences({"a": 1, "b": {"c": [1, 2]}}, {"b": {"c": [1, 2]}, "a": 1}, SAID) == ""


def test_a_value_is_named_by_its_place() -> None:
    assert differences({"a": {"b": 1}, "c": 2}, {"a": {"b": 3}, "c": 2}, SAID) == "a.b was 1 and is 3"


@pytest.mark.parametrize(("one", "other"), [({"a": 1, "seed": 0}, {"a": 1}), ({"a": 1}, {"a": 1, "seed": 0})])
def test_a_setting_that_stands_on_one_side_only_is_a_difference(one: dict[str, int], other: dict[str, int]) -> None:
    assert differences(one, other, SAID).startswith("seed was ")


def test_many_differences_are_counted() -> None:
    one, other = (dict.fromkeys("abcdef", value) for value in (1, 2))
    assert differences(one, other, SAID).endswith("; and 3 more")
