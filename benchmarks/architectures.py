"""Every sequence classifier of the installed transformers beside an oracle: right, refused in words, or wrong.

    python benchmarks/architectures.py --write docs/benchmarks-architectures.md
    python benchmarks/architectures.py --only Bert GPT2 --verbose
    python benchmarks/architectures.py --only Bert --trained my-bert

Each class is built from a small configuration with random weights, and asked in several ways: with a tokenizer that
adds special tokens and one that does not, padding that the configuration names, another one, none, padding on the left,
heads of one and of several labels, special tokens that somebody typed, windows, pairs. Leave-one-out, Shapley values
and LIME, whose every subset of words is asked, with words masked and deleted, `predict_logits` of several texts at
once, and attention are compared with `tests/reference/removal_oracle.py`, which shares no code with limelight: tokens
cut by hand, one unpadded text at a time, the model called directly. `--trained`: a folder with trained weights too.

Ends with an error where a number is wrong or something other than a LimelightError is raised.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import torch

from official import machine
from reference.architecture_walk import ROUNDING, Found, trained, walk
from reference.small_architectures import SUFFIX, class_names

BEGIN, END = "<!-- made by benchmarks/architectures.py: begin -->", "<!-- end -->"
FAILURES = ("wrong", "raised")


@dataclass(frozen=True)
class Row:
    """What a class came to in all of its cases."""

    name: str
    cases: list[Found]
    seconds: float

    @property
    def outcome(self) -> str:
        """The worst of its cases; refused where every case was."""
        outcomes = {found.outcome for found in self.cases}
        return next(one for one in ("raised", "wrong", "right", "refused", "not built") if one in outcomes)

    @property
    def comparisons(self) -> int:
        return sum(found.comparisons for found in self.cases)

    @property
    def error(self) -> float:
        return max(found.error for found in self.cases)

    @property
    def refused(self) -> list[Found]:
        """Cases in which the class is refused as such."""
        return [found for found in self.cases if found.outcome == "refused"]

    def cells(self) -> tuple[str, ...]:
        name = self.name.removesuffix(SUFFIX)
        if self.outcome == "not built":
            return name, "", f"not built: {_plain(self.cases[0].not_built)}", "", "", ""
        if self.outcome == "refused":
            return name, "", f"refused: {_plain(_reason(self.refused[0]))}", "", "", ""
        return name, self._batching(), self._verdict(), self._read(), f"{self.comparisons:,}", f"{self.error:.0e}"

    def _batching(self) -> str:
        """The usual one first; then others, with the cases that need them."""
        cases: dict[str, list[str]] = {}
        for found in self.cases:
            if found.batching:
                cases.setdefault(found.batching, []).append(found.case.name)
        (usual, _), *others = cases.items()
        return "; ".join([usual, *(f"{batching} ({', '.join(of)})" for batching, of in others)])

    def _verdict(self) -> str:
        verdict = "right" if self.outcome == "right" else f"**{self.outcome}**"
        reasons: dict[str, list[str]] = {}
        for found in self.refused:
            reasons.setdefault(_reason(found), []).append(found.case.name)
        return "; ".join([verdict, *(f"refused ({', '.join(of)}): {_plain(why)}" for why, of in reasons.items())])

    def _read(self) -> str:
        return ", ".join(sorted({place for found in self.cases for place in found.read})) or "–"


def _reason(found: Found) -> str:
    """Why a case was refused, without what was asked for."""
    return found.refused[0].partition(": ")[2]


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "\\<")


def row(name: str) -> Row:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    started = time.perf_counter()
    return Row(name, list(walk(name)), time.perf_counter() - started)


def rows(names: Sequence[str], processes: int) -> Iterator[Row]:
    if processes == 1:
        yield from map(row, names)
        return
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(row, names)  # in the order of their names


def summary(table: Sequence[Row]) -> str:
    counts = {outcome: sum(one.outcome == outcome for one in table) for outcome in ("right", "refused", "not built")}
    wrong = sum(one.outcome in FAILURES for one in table)
    cases, refused = sum(len(one.cases) for one in table), sum(len(one.refused) for one in table)
    compared, error = sum(one.comparisons for one in table), max(one.error for one in table)
    share = max(found.share for one in table for found in one.cases)
    return (
        f"{len(table)} classes of transformers {version('transformers')}: {counts['right']} right, "
        f"{counts['refused']} refused, {counts['not built']} not built or no reader of text alone, {wrong} wrong. "
        f"{cases} cases, {refused} of them refused in words; {compared:,} numbers compared with "
        f"the oracle, the largest error {error:.0e} of the largest weight, and {share:.2f} of what is allowed: what "
        f"logits move that are off by {ROUNDING:.0e} of the largest."
    )


def markdown(table: Sequence[Row]) -> str:
    head = ("class", "batches", "numbers", "attention read at", "compared", "largest error")
    lines = [f"| {' | '.join(cells)} |" for cells in (head, ("---",) * len(head), *(one.cells() for one in table))]
    return "\n".join([summary(table), "", *lines])


def write(path: Path, text: str) -> None:
    """Put the table between its two marks."""
    page = path.read_text(encoding="utf-8")
    before, begin, rest = page.partition(BEGIN)
    _, end, behind = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"{path} has no lines {BEGIN!r} and {END!r} for the table")
    path.write_text(f"{before}{begin}\n\n{text}\n\n{end}{behind}", encoding="utf-8")


def complaints(found: Found, verbose: bool) -> list[str]:
    said = [f"    wrong: {one}" for one in found.wrong] + [f"    raised: {one}" for one in found.raised]
    if verbose:
        said += [f"    refused: {one}" for one in found.refused]
    if not said and not verbose:
        return []
    share = f"{found.error:.1e}, {found.share:.2f} of what is allowed"
    return [f"  {found.case.name}: {found.outcome}, {found.comparisons} compared, error {share}", *said]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=None, help=f"classes, without {SUFFIX}")
    parser.add_argument("--trained", default=None, help="a folder with trained weights and their tokenizer")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--write", type=Path, default=None, help="the page that holds the table")
    parser.add_argument("--verbose", action="store_true", help="every case, and every refusal")
    arguments = parser.parse_args()
    names = class_names() if arguments.only is None else [name.removesuffix(SUFFIX) + SUFFIX for name in arguments.only]
    print(f"{machine()}\n", flush=True)
    table = []
    for one in rows(names, arguments.processes):
        table.append(one)
        print(f"{one.name}: {one.outcome}, {one.seconds:.0f} s", flush=True)
        for found in one.cases:
            for line in complaints(found, arguments.verbose):
                print(line, flush=True)
    failures = [one for one in table if one.outcome in FAILURES]
    print(f"\n{markdown(table)}" if arguments.write is None else f"\n{summary(table)}")
    if arguments.trained is not None:
        found = trained(arguments.trained)
        print("\n".join(["", *complaints(found, verbose=True)]))
        failures += [Row(found.name, [found], 0.0)] * (found.outcome in FAILURES)
    if arguments.write is not None:
        write(arguments.write, markdown(table))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
