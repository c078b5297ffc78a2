"""`limelight reproduce` without Typer and rich: python -m limelight.reproduce all --out results."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from limelight.core.bare_command import status_of
from limelight.core.progress import Lines
from limelight.reproduce.command import Options, run


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m limelight.reproduce", description="The paper's figures and numbers."
    )
    parser.add_argument(
        "experiment", nargs="?", default="all", help="all, or one experiment such as fig4 or lime-error"
    )
    parser.add_argument("--data", help="aclImdb folder, CSV, JSONL or Parquet file, or 'imdb'; default: a small sample")
    parser.add_argument("--model", help="a folder from 'limelight train --preset paper'; default: the embedded model")
    parser.add_argument("--deep-model", help="a folder from 'limelight train --preset deep', for fig6")
    parser.add_argument("--out", type=Path, required=True, help="the folder of the run")
    parser.add_argument("--documents", type=int, help="how many; default: all on a GPU, 200 on a CPU")
    parser.add_argument("--device", default="auto", help="cpu, cuda, or auto")
    parser.add_argument("--seed", type=int, help="seed of the sample and of LIME; default 0")
    parser.add_argument("--official", action="store_true", help="fig4 with the official lime package")
    given = vars(parser.parse_args(arguments))
    return status_of(lambda: run(Options(**given), Lines()))


if __name__ == "__main__":
    sys.exit(main())
