"""What the benchmarks on a Hugging Face classifier share: arguments, the model, and the reviews it is asked about."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np
import torch

import limelight
from limelight.storage.labelled_texts import read_labelled

TARGET = 1
"""The label whose logit is explained."""


def arguments_of(description: str | None, documents: int, words: int, samples: int) -> argparse.ArgumentParser:
    """A parser with these defaults."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a folder with a Hugging Face sequence classifier")
    parser.add_argument("data", help="a file with a text and a label column, for instance IMDB's test set as Parquet")
    parser.add_argument("--documents", type=int, default=documents)
    parser.add_argument("--words", type=int, default=words, help="the longest text")
    parser.add_argument("--samples", type=int, default=samples)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--seed", type=int, default=0, help="of the choice of texts")
    return parser


def model_and_texts(arguments: argparse.Namespace) -> tuple[Any, list[str]]:
    """The classifier, and reviews of up to so many words, in lower case.

    Official `lime` tells "The" from "the", an uncased model does not.
    """
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    model = limelight.load(arguments.model, device=arguments.device, dtype=arguments.dtype, truncate=True)
    texts = read_labelled(arguments.data).texts
    chosen: list[str] = []
    for i in np.random.default_rng(arguments.seed).permutation(len(texts)):
        text = texts[i].lower()
        if len(text.split()) <= 2 * arguments.words and len(model.view(text).document.words) <= arguments.words:
            chosen.append(text)
        if len(chosen) == arguments.documents:
            break
    return model, chosen


def device_name(model: Any) -> str:
    return torch.cuda.get_device_name() if model.device.type == "cuda" else f"{torch.get_num_threads()} threads"


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
