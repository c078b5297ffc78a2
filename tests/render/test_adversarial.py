"""What a terminal says of cases that are easily shown wrong, at every width and in every colour system."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest
from rich.cells import cell_len
from rich.text import Text

from limelight.core.sanitize import visible
from limelight.explanation.result import Explanation
from render.captures import shown
from render.samples import comparison_of

NINE = ("alpha-avg", "alpha-max", "lime", "g-avg", "g-l1", "g-l2", "gxi", "lime-limit", "shapley")
FIFTY = tuple(f"label number {i}" for i in range(50))
MANY = " ".join(f"word{i}" for i in range(600))
WRONG = "the surrogate says the opposite of the model: do not rely on it"

# What is shown, what is said of it, and what must not be.
CASES: dict[str, tuple[Sequence[Explanation], list[str], list[str]]] = {
    "all words unknown": (
        comparison_of("xyzzy qwertz", [-6.6e-13, 1e-13], diagnostics={"unknown": [0, 1], "rounding": 1e-11}),
        ["no word is distinguishable from zero", "xyzzy° qwertz°", "° the model does not know it."],
        ["e-13", "−−xyzzy"],
    ),
    "one word": (comparison_of("great", [1.0], methods=NINE), ["great +1.000", "for positive"], ["distinguishable"]),
    "ties": (
        comparison_of("a b c d e f", [0.5] * 6, diagnostics={"stable_top": {"k": 5, "level": 0.95, "n_samples": None}},
                      stderr=[0.01] * 6, parameters={"n_samples": 1000}),
        ["a +0.500", "include a tie, which no number of samples settles"],
        ["the same 5 strongest"],
    ),
    "saturated": (
        comparison_of("fine film", [1e-9, 2e-9], logits=(0.0, 20.0), parameters={"output": "probability"}),
        ["> 99.9 %", "film +2.00e-09"],
        ["100.0 %"],
    ),
    "a surrogate of the wrong sign": (
        comparison_of("fine film", stderr=[0.01] * 2, diagnostics={"warnings": [WRONG]}),
        [f"⚠ {WRONG}"],
        [],
    ),
    "600 words": (
        comparison_of(MANY, np.linspace(0.001, 0.6, 600), methods=NINE),
        ["The text by", "word599", "shown once"],
        [],
    ),
    "fifty labels": (
        comparison_of("a fine film", labels=FIFTY, target=FIFTY[7]),
        ["label number 7 ", "and 44 more", "Why label number 7?", "against label number 7"],
        ["label number 20"],
    ),
    "right to left": (comparison_of("الفيلم رائع جدا، لكن النهاية كانت سيئة great."), ["رائع"], []),
    "emoji": (comparison_of("I ❤️ this 👨‍👩‍👧 film 👍🏽 非常好 naïve"), ["👨‍👩‍👧", "naïve"], []),
    "hostile": (
        comparison_of("a \x1b]0;x\x07 \u202eevil [red]", labels=("\x1b[2J", "b"), logits=(1.0, 0.0),
                      methods=("\x9bm",), diagnostics={"warnings": ["\x1b[31mred"]}),
        ["␛[2J", "⚠ ␛[31mred", "x␇", "<U+202E>evil"],
        [],
    ),
    "a long word": (comparison_of(f"a {'x' * 400} b", labels=("y" * 300, "z")), ["Why"], []),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_the_terminal_says_what_is_true(case: str, width: int) -> None:
    comparison, said, unsaid = CASES[case]
    for system, numbers in ((None, False), (None, True), ("standard", False), ("256", False), ("truecolor", False)):
        plain = Text.from_ansi(shown(comparison, width, system, numbers)).plain
        assert max(map(cell_len, plain.split("\n"))) <= width
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", plain)
        if numbers:
            continue
        letters = re.sub(r"\s", "", plain)
        for part in said:
            assert part.replace(" ", "") in letters, part
        for part in unsaid:
            assert part.replace(" ", "") not in letters, part
        for feature in dict.fromkeys(comparison[0].features):
            assert visible(feature) in letters.lower() or visible(feature) in letters, feature


def test_a_long_text_does_not_fill_the_screen_nine_times() -> None:
    comparison, *_ = CASES["600 words"]
    lines = shown(comparison, 100).count("\n")
    once = -(-len(MANY) // 100)
    assert once < lines < 3 * once


@pytest.mark.parametrize("case", [case for case in CASES if case != "600 words"])
def test_a_terminal_that_is_far_too_narrow_still_gets_its_lines(case: str) -> None:
    for width in (1, 2, 7, 13):
        for numbers in (False, True):
            assert shown(CASES[case][0], width, "truecolor", numbers)
