"""Record what a Hugging Face classifier answers to every combination of words of short texts.

    python benchmarks/enumerate_games.py imdb/test.parquet MODEL --save-texts short.jsonl
    python benchmarks/enumerate_games.py short.jsonl MODEL --out enumerated --device cuda

The first command chooses 40 reviews by a seed and keeps the first 12, 13 or 14 words of each, all of them different.
The second asks the model about all 2^12 to 2^14 sets of kept words, masking and deleting: 0.7 million short inputs, a
minute on a GPU and about an hour on two cores. With all outputs at hand every mean over combinations is exact,
and runs of a sampler are replayed without the model: that shows a bias that two runs share, which their agreement
cannot.

One file per removal, `mask.npz` and `delete.npz`. For text i of so many words, `output_i` (2^d,) is the logit of label
1 less label 0, in float32; bit j of its place is 1 where word j is kept. It needs torch, transformers and NumPy.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import limelight
from limelight.inputs.features import features_of
from limelight.storage.labelled_texts import read_texts

WORDS = (12, 13, 14)
REMOVALS = ("mask", "delete")
ROWS_AT_ONCE = 2**14


def choose(model: Any, path: str, count: int, seed: int) -> list[dict[str, Any]]:
    """The beginnings of reviews: as many of each length, as far as that goes."""
    texts = read_texts(path, "text").texts
    order, chosen = iter(np.random.default_rng(seed).permutation(len(texts)).tolist()), []
    while len(chosen) < count:
        row, wanted = next(order), WORDS[len(chosen) % len(WORDS)]
        text = texts[row].replace("<br />", " ")
        words = model.view(text[:400]).document.words
        if len(words) <= wanted:
            continue
        beginning = text[: words[wanted - 1].end]
        document = model.view(beginning).document
        if len(document.words) == wanted == len(features_of(document, "words")):
            chosen.append({"row": row, "text": beginning})
    return chosen


def combinations(d: int) -> Any:
    """All sets of kept words (2^d, d): bit j of the row number is word j."""
    return (np.arange(2**d)[:, None] >> np.arange(d) & 1).astype(bool)


def outputs(model: Any, text: str, removal: Any) -> Any:
    view = model.view(text)
    features = features_of(view.document, "words")
    game, kept = view.game(features, removal), combinations(len(features))
    logits = np.concatenate([game(kept[start : start + ROWS_AT_ONCE]) for start in range(0, len(kept), ROWS_AT_ONCE)])
    return (logits[:, 1] - logits[:, 0]).astype(np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", help="a table of texts to choose from, or what --save-texts wrote")
    parser.add_argument("model")
    parser.add_argument("--save-texts", type=Path, default=None)
    parser.add_argument("--out", type=Path, default=Path("enumerated"))
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seed", type=int, default=24, help="of the choice of texts")
    given = parser.parse_args()
    model = limelight.load(given.model, device=given.device, dtype="float32")
    if given.save_texts is not None:
        chosen = choose(model, given.texts, given.count, given.seed)
        given.save_texts.write_text("".join(json.dumps(own) + "\n" for own in chosen), "utf-8")
        return
    texts = [json.loads(line)["text"] for line in Path(given.texts).read_text("utf-8").splitlines()]
    given.out.mkdir(parents=True, exist_ok=True)
    for removal in REMOVALS:
        started = time.perf_counter()
        found = {f"output_{i}": outputs(model, text, removal) for i, text in enumerate(texts)}
        np.savez(given.out / f"{removal}.npz", **found)
        asked = sum(map(len, found.values()))
        print(f"{removal}: {len(texts)} texts, {asked:,} inputs, {time.perf_counter() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
