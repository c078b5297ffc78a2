"""Cases in which version 0.2 answered wrongly without saying so, asked of two versions: a Markdown table.

    git worktree add ../before b82926d
    python benchmarks/honesty.py ../before/src

Nothing but the two source trees is needed: models are tiny and random, and the right answer is computed here, from
tokens that are cut by hand and given to the model one unpadded text at a time. A case with numbers says how far the
furthest weight is from the right one, beside the largest right one, and how the answer is called.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import numpy as np
import torch

import limelight
from reference.odd_transformers import odd_transformer, quantised
from reference.removal_oracle import cut, logits_of

HERE = Path(__file__).resolve().parents[1] / "src"
TEXT = "the film was great but it is far unbelievably long"
LABELS = ["negative", "positive"]


def with_pads(configured: int | None, tokenizers: str | None) -> tuple[Any, Any]:
    """GPT-2 whose configuration has one padding token, and whose tokenizer has another."""
    model, own = odd_transformer("gpt2")
    model.config.pad_token_id, own.pad_token = configured, tokenizers
    return model, own


MODELS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "GPT-2, another pad in the configuration": lambda: with_pads(7, "[PAD]"),
    "GPT-2 without a pad": lambda: with_pads(None, None),
    "FNet": lambda: odd_transformer("fnet"),
    "ConvBERT": lambda: odd_transformer("convbert"),
    "MobileBERT": lambda: odd_transformer("mobilebert"),
    "BERT, int8": quantised,
}


# ── models ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def left_out(make: Callable[[], tuple[Any, Any]], removal: Any) -> str:
    """Leave-one-out of all labels beside the oracle."""
    model, own = make()
    tokens, mask = cut(own, TEXT), own.mask_token_id if removal == "mask" else None
    whole = tokens.whole
    gone = [tuple(int(i != j) for i in range(len(whole))) for j in range(len(whole))]
    first, *others = [logits_of(model, tokens.input(kept, mask)[0]) for kept in (whole, *gone)]
    right = first - np.array(others)
    classifier = limelight.wrap(model, own)
    found = [
        limelight.explain(classifier, TEXT, "leave-one-out", removal=removal, target=own) for own in classifier.labels
    ]
    error = np.abs(np.stack([e.weights for e in found], axis=1) - right).max()
    said = "exact" if all(e.exact for e in found) else "not exact"
    return f"off by {error:.2g} of {np.abs(right).max():.2g}, {said}{', with a notice' if found[0].notices else ''}"


def company() -> str:
    """What a model that sees padding says of one word, alone and beside a longer text."""
    classifier = limelight.wrap(*odd_transformer("fnet"))
    moved = np.abs(classifier.predict_logits(["great", TEXT])[0] - classifier.predict_logits(["great"])[0]).max()
    return f"moves by {moved:.2g}"


def attention_of_a_decoder() -> str:
    weights = limelight.explain(limelight.wrap(*odd_transformer("gpt2")), TEXT, "alpha-avg").weights
    return f"the words have {weights.sum():.2g} of the attention"


def attention_of_xlnet() -> str:
    weights = limelight.explain(limelight.wrap(*odd_transformer("xlnet")), TEXT, "alpha-avg").weights
    return f"the words have {weights.sum():.2g} of the attention"


def gradient_of_int8() -> str:
    limelight.explain(limelight.wrap(*quantised()), TEXT, "gxi")
    return "answered"


def literal_end() -> str:
    """BART finds the position that it reads by the end token, of which all texts of a batch must hold as many."""
    model, own = odd_transformer("bart")
    e = limelight.explain(limelight.wrap(model, own), "the film was [SEP] great", "leave-one-out", removal="delete")
    return f"answered, {e.accuracy}"


def autocast() -> str:
    classifier = limelight.wrap(*odd_transformer("gpt2"))
    expected = classifier.predict_logits([TEXT])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return f"logits move by {np.abs(classifier.predict_logits([TEXT]) - expected).max():.2g}"


# ── functions ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def prompted(chance: float) -> Callable[[list[str]], Any]:
    return lambda texts: np.array([[1.0 - chance, chance]] * len(texts))


def asking(prompt: str) -> Callable[[list[str]], Any]:
    """As prompt classifiers are written: two of them share their name."""

    def predict(texts: list[str]) -> Any:
        return prompted(0.9 if prompt == "a" else 0.2)(texts)

    return predict


class Asking:
    def __init__(self, prompt: str) -> None:
        self.prompt = prompt

    def __call__(self, texts: list[str]) -> Any:
        return prompted(0.9 if self.prompt == "a" else 0.2)(texts)


def sharing(make: Callable[[str], Any]) -> str:
    """Two functions of one factory, or two objects of one class, and one cache."""
    with tempfile.TemporaryDirectory() as folder:
        limelight.wrap(make("a"), labels=LABELS, cache=folder).predict_proba(["text"])
        found = limelight.wrap(make("b"), labels=LABELS, cache=folder).predict_proba(["text"])
    return "right" if np.allclose(found, make("b")(["text"])) else "the second gets the first one's answers"


def praising_mask() -> str:
    """A function that reads the mask as praise, and most words as next to nothing."""

    def predict(texts: list[str]) -> Any:
        score = [2.0 * t.count("[UNK]") + 0.3 * t.count("great") + 0.01 * len(t.split()) for t in texts]
        chance = 1.0 / (1.0 + np.exp(-np.array(score)))
        return np.stack([1.0 - chance, chance], axis=1)

    e = limelight.explain(limelight.wrap(predict, labels=LABELS), TEXT, "leave-one-out", target="positive")
    said = [warning for warning in e.diagnostics["warnings"] if "mask" in warning]
    return f"{(e.weights < 0).sum()} of {len(e.weights)} words against; {'warned' if said else 'no warning'}"


def half_precision() -> str:
    def predict(texts: list[str]) -> Any:
        logits = torch.tensor([[0.1 * len(t), 1.0, 0.5 * t.count("a"), 0.3] for t in texts], dtype=torch.bfloat16)
        return torch.softmax(logits, dim=1)

    e = limelight.explain(limelight.wrap(predict, labels=list("abcd")), TEXT, "leave-one-out")
    return f"answered, rounding {e.diagnostics['rounding']:.2g}"


def columns() -> str:
    import pandas

    def predict(texts: list[str]) -> Any:
        return pandas.DataFrame([[0.9, 0.1]] * len(texts), columns=["positive", "negative"])

    found = limelight.wrap(predict, labels=LABELS).predict_proba(["text"])[0, 1]
    return "right" if found == 0.9 else "columns by their place, under the other label"


# ── corpora ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def flipped_bits() -> str:
    """A bit of every 97th byte of a run's shard."""
    silent = raw = found = same = 0
    with tempfile.TemporaryDirectory() as folder:
        data, out = Path(folder, "data.csv"), Path(folder, "out")
        data.write_text("text\n" + "".join(f"a {word} film number {i}\n" for i, word in enumerate(TEXT.split() * 2)))
        limelight.corpus.run(str(data), str(out), methods=["shapley"])
        (shard,) = out.glob("shards/*.parquet")
        content = shard.read_bytes()

        def read() -> list[str]:
            return [json.dumps({**e.to_dict(), "seconds": 0}, default=str) for e in limelight.corpus.open(str(out))]

        expected = read()
        for place in range(0, len(content), 97):
            shard.write_bytes(content[:place] + bytes([content[place] ^ 16]) + content[place + 1 :])
            try:
                now = read()
            except limelight.LimelightError:
                found += 1
            except Exception:  # what a user would see as it is
                raw += 1
            else:
                silent, same = silent + (now != expected), same + (now == expected)
    counts = (
        f"{silent} change numbers in silence",
        f"{raw} raw exceptions",
        f"{found} found",
        f"{same} change nothing",
    )
    return f"{silent + raw + found + same} bits: {', '.join(counts)}"


CASES: dict[str, Callable[[], str]] = {
    **{
        f"{name}: leave-one-out, {removal}": lambda make=make, removal=removal: left_out(make, removal)
        for name, make in MODELS.items()
        for removal in ("mask", "delete")
    },
    "FNet: a word beside a longer text": company,
    "GPT-2: attention": attention_of_a_decoder,
    "XLNet: attention": attention_of_xlnet,
    "BERT, int8: gradient": gradient_of_int8,
    "BART: a text with its end token": literal_end,
    "autocast of the caller": autocast,
    "cache: two closures of a factory": lambda: sharing(asking),
    "cache: two objects of a class": lambda: sharing(Asking),
    "a mask that is read as praise": praising_mask,
    "a softmax in bfloat16": half_precision,
    "columns of a DataFrame in another order": columns,
    "a shard with a flipped bit": flipped_bits,
}


def outcomes() -> Iterator[tuple[str, str]]:
    """What this version says in each case."""
    for name, case in CASES.items():
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                said = case()
        except limelight.LimelightError as error:
            said = f"refused ({type(error).__name__})"
        except Exception as error:
            said = f"raw {type(error).__name__}"
        yield name, said.replace("|", "/").replace("\n", " ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", nargs="?", type=Path, help="the src folder of the version to compare with")
    before: Path | None = parser.parse_args().before
    if before is None:  # one version: what the two processes below are
        warnings.simplefilter("ignore")
        print(json.dumps([limelight.__version__, list(outcomes())]))
        return
    from official import machine  # which version 0.2 cannot import

    both = []
    for src in (before.resolve(), HERE):
        environment = {**os.environ, "PYTHONPATH": str(src), "PYTHONWARNINGS": "ignore"}
        ran = subprocess.run([sys.executable, __file__], env=environment, stdout=subprocess.PIPE, text=True, check=True)
        both.append(json.loads(ran.stdout.splitlines()[-1]))
    (old, then), (new, now) = both
    print(f"| case | {old} | {new} |\n|---|---|---|")
    for (name, said), (_, says) in zip(then, now, strict=True):
        print(f"| {name} | {said} | {says} |")
    print(f"\n{machine()}")


if __name__ == "__main__":
    main()
