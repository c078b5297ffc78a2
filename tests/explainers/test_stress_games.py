"""The stress test's games, and a quick selection of its cells: truths are exact, and intervals hold them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limelight.theory.values import LimeDesign
from reference.cross_fitting import lime_of_all

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
if not BENCHMARKS.exists():
    pytest.skip("needs the benchmarks, which are not in the package", allow_module_level=True)
sys.path.insert(0, str(BENCHMARKS))

import stress  # noqa: E402
import stress_games  # noqa: E402
from stress import Cell, Sums  # noqa: E402

EXACT = 1e-9
"""Sums of some thousand terms in float64."""
EVERY = {**stress_games.FAMILIES, "boosted trees": stress_games.trees, "TF-IDF network": stress_games.network}
WORDS = {"boosted trees": 12, "TF-IDF network": 13, "majority of 15": 15}


@pytest.mark.parametrize("family", EVERY)
def test_what_is_true_of_a_game_is_what_all_coalitions_say(family: str) -> None:
    d = WORDS.get(family, 11)
    game = EVERY[family](d)
    assert game is not None
    every = (np.arange(2**d)[:, None] >> np.arange(d) & 1).astype(bool)
    outputs = game.outputs(every)
    lime = lime_of_all(every, outputs, LimeDesign.of(d, 5000))
    np.testing.assert_allclose(game.lime(5000), lime, rtol=0, atol=EXACT * max(1.0, np.abs(lime).max()))
    values = game.shapley()
    assert values.sum() == pytest.approx(outputs[-1] - outputs[0], abs=1e-8)
    for j in (0, d - 1):
        assert values[j] == pytest.approx(_shapley(every, outputs, j), abs=1e-8)


def _shapley(every: Any, outputs: Any, j: int) -> float:
    """The definition: what word j adds, a mean over sizes of means over coalitions of a size."""
    d = every.shape[1]
    without = np.flatnonzero(~every[:, j])
    adds, size = outputs[without + (1 << j)] - outputs[without], every[without].sum(axis=1)
    return float(np.mean([adds[size == s].mean() for s in range(d)]))


@pytest.mark.parametrize(
    ("family", "method"),
    [("AND", "lime"), ("any of 6", "lime"), ("OR", "lime"), ("max", "lime"), ("majority of 5", "shapley")],
)
def test_a_quick_selection_of_cells(family: str, method: str) -> None:
    """400 samples of 40 words: a share as low as this would be an accident of one in 10,000 where 95 % hold."""
    sums = stress.measured(Cell(family, 40, method, 400), range(30))
    assert sums.given == sums.runs == 30
    assert stress.upper(sums.of_matter) > stress.WORST
    assert stress.share(sums.of_all)[0] > 0.93
    bias = np.sqrt(np.mean(np.square(sums.off))) / sums.runs
    assert bias < 0.6 * np.sqrt(sums.stated / sums.runs)


def test_runs_are_written_go_on_and_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grid = [Cell("OR", 12, "lime", 120), Cell("AND", 12, "shapley", 120)]
    for cell in grid:
        assert stress._block((cell, 0, str(tmp_path), np.inf, False))
    assert not stress._block((grid[0], 1, str(tmp_path), 0.0, False)), "its time was up"
    found = stress.read(tmp_path)
    assert set(found) == set(grid)
    assert all(sums.runs == stress.BLOCK for sums in found.values())
    both = Sums()
    both += found[grid[0]]
    both += found[grid[0]]
    assert both.runs == 2 * stress.BLOCK
    assert stress.share(both.of_all)[0] == pytest.approx(stress.share(found[grid[0]].of_all)[0])
    stress.tables(found)
    printed = capsys.readouterr().out
    assert "families that constants were not chosen on" in printed
    assert "| OR | 12 | 120 | 25 | 100% |" in printed


def test_every_cell_is_in_one_part_and_halves_share_no_family() -> None:
    every = stress.cells(stress_games.FAMILIES)
    assert len(set(every)) == len(every) > 500
    assert not set(stress_games.CHOSEN) & set(stress_games.JUDGED)
    assert {cell.half for cell in every} == {"chosen", "judged"}
    assert {cell.d for cell in every} == set(stress.PER_WORD)
