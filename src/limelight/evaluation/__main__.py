"""The same command where there is no Typer and no rich: python -m limelight.evaluation DATA --out results."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from limelight.core.bare_command import status_of
from limelight.core.progress import Lines
from limelight.evaluation.command import Options, run
from limelight.evaluation.plan import CHANCE_ORDERS


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m limelight.evaluation", description="Which explanation to trust for a model."
    )
    parser.add_argument("data", type=Path, help="CSV, TSV, JSONL or Parquet file of texts")
    parser.add_argument(
        "--out", type=Path, required=True, help="the folder of the evaluation; an unfinished one goes on"
    )
    parser.add_argument(
        "--model", help="a folder from 'limelight train', or of Hugging Face; default: the embedded model"
    )
    parser.add_argument("--method", dest="methods", help="ids with commas, or 'all'")
    parser.add_argument("--measures", help="ids with commas, or 'all'")
    parser.add_argument("--documents", type=int, default=200)
    parser.add_argument("--text-column", default="text")
    parser.add_argument("--second-column", help="of a table of pairs: the column with the second texts")
    parser.add_argument("--id-column")
    parser.add_argument("--rationale-column")
    parser.add_argument("--counterfactual-column")
    parser.add_argument("--elsewhere", type=Path, help="a table with id, word (or start, end), weight and method")
    parser.add_argument("--target")
    parser.add_argument("--features", default="words")
    parser.add_argument("--removal")
    parser.add_argument("--output")
    parser.add_argument("--limits", default="auto", help="auto, search or found")
    parser.add_argument("--steps", type=int, help="points of a curve; default all")
    parser.add_argument("--chance-orders", type=int, default=CHANCE_ORDERS)
    parser.add_argument("--samples", type=int, help="of the methods that draw them")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", help="cpu, cuda or auto")
    parser.add_argument("--dtype", help="of a Hugging Face model: float32, bfloat16 or float16")
    parser.add_argument("--kind", help="of a Hugging Face model: classes, multi-label or regression")
    parser.add_argument("--truncate", action="store_true", help="cut texts that are too long for a Hugging Face model")
    parser.add_argument("--window", action="store_true", help="read texts that are too long in parts")
    given = vars(parser.parse_args(arguments))
    loading = {name: value for name in ("dtype", "truncate", "window", "kind") if (value := given.pop(name))}
    samples = given.pop("samples")
    for name in ("methods", "measures"):
        if given[name] not in (None, "all"):
            given[name] = [one.strip() for one in given[name].split(",") if one.strip()]
    options = Options(loading=loading, options={} if samples is None else {"n_samples": samples}, **given)
    return status_of(lambda: "\n".join(run(options, Lines()).verdict))


if __name__ == "__main__":
    sys.exit(main())
