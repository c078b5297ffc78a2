"""Classifiers of transformers of every kind, beside an oracle that shares no code with limelight.

`benchmarks/architectures.py` walks all classes in all cases; these are a few of each kind.
"""

from __future__ import annotations

import pytest

from reference.architecture_walk import CASES, SHORT, Case, check
from reference.small_architectures import BARE, SETTINGS, SUFFIX, USUAL

pytestmark = pytest.mark.filterwarnings("ignore")  # transformers warns of small configurations

BY_NAME = {case.name: case for case in CASES}
SETTING = {setting.name: setting for setting in SETTINGS}
ENCODERS = ("Bert", "DistilBert", "DebertaV2", "FNet", "MobileBert", "ConvBert", "ModernBert")
DECODERS = ("GPT2", "Llama", "Gemma", "Qwen3", "XLNet")
ENDED = ("Bart", "T5")
"""Heads that read the end token."""


def right(name: str, case: Case) -> None:
    found = check(name + SUFFIX, case)
    assert found.outcome == "right", (found.not_built, found.wrong, found.raised, found.refused)


@pytest.mark.parametrize("name", [*ENCODERS, *ENDED])
def test_models_that_read_special_tokens_are_those_of_the_oracle(name: str) -> None:
    right(name, Case("usual", USUAL, SHORT))


@pytest.mark.parametrize("name", DECODERS)
def test_models_that_read_the_last_token_are_those_of_the_oracle(name: str) -> None:
    right(name, Case("bare", BARE, SHORT))


@pytest.mark.parametrize(
    "case", ["another pad", "pad that is a word", "no pad at all", "pad is the end", "padded on the left"]
)
def test_another_pad_or_none_changes_nothing(case: str) -> None:
    right("GPT2", BY_NAME[case])


@pytest.mark.parametrize(
    ("name", "case"),
    [("Llama", "one label"), ("FNet", "windows"), ("FNet", "pairs"), ("Bart", "literal special tokens")],
)
def test_heads_windows_pairs_and_typed_special_tokens(name: str, case: str) -> None:
    right(name, BY_NAME[case])
