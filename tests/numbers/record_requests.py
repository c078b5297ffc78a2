"""Explanations of many requests, to hold a rebuilt house against: every kind of model, feature, target and option.

    python tests/numbers/record_requests.py requests.json.gz                     # what this version answers
    python tests/numbers/record_requests.py --against requests-0.3.json.gz       # how many answers differ in any bit
    python tests/numbers/record_requests.py --against requests-0.3.json.gz 25    # every 25th of them

`requests-0.3.json.gz` was written before the rooms of 0.3 were built, after all changes of numbers that 0.3 lists. Only
the public contract is used. `test_requests.py` computes the same again.
"""

from __future__ import annotations

import gzip
import json
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_info

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from record import deep_model, huggingface_model  # noqa: E402

import limelight  # noqa: E402
from limelight import LimelightError  # noqa: E402

TEXT = "The film was great, but the end is bad. It is not very good! A café, far too long."
SHORT = "A great film, but bad."
PAIR = ("The film was great, but long.", "The end is bad, and not very good.")
WORTH = {"great": 2.0, "good": 1.2, "bad": -1.9, "long": -0.7, "not": -0.4, "far": -0.2}
"""The words that the functions know."""


def scores(text: str) -> float:
    """A function of words with a bend and a pair that acts together."""
    words = [word.strip(".,!") for word in text.lower().split()]
    total = sum(WORTH.get(word, 0.0) for word in words)
    return float(np.tanh(0.6 * total) * 2.0 - 1.5 * ("not" in words and "good" in words))


def function(texts: list[str]) -> Any:
    chances = 1.0 / (1.0 + np.exp(-np.array([scores(text) for text in texts])))
    return np.stack([1.0 - chances, chances], axis=1)


def noisy_function() -> Callable[[list[str]], Any]:
    """The same with noise that follows from how often it was called."""
    calls = iter(range(10**9))

    def answers(texts: list[str]) -> Any:
        noise = np.random.default_rng(next(calls)).normal(size=len(texts)) * 0.05
        chances = 1.0 / (1.0 + np.exp(-np.array([scores(text) for text in texts]) - noise))
        return np.stack([1.0 - chances, chances], axis=1)

    return answers


def several(texts: list[str]) -> Any:
    """Chances of three labels that exclude no other."""
    return np.stack([function(texts)[:, 1], function(texts)[:, 0] * 0.5, function(texts)[:, 1] * 0.3 + 0.1], axis=1)


def value(texts: list[str]) -> Any:
    return np.array([[scores(text)] for text in texts])


def pair_function(pairs: list[tuple[str, str]]) -> Any:
    return function([f"{one} {other}" for one, other in pairs])


def _small(name: str) -> Any:
    from reference.small_transformers import small_transformer

    if name == "multi-label":
        model, tokenizer = small_transformer("bert", problem_type="multi_label_classification")
    elif name == "regression":
        model, tokenizer = small_transformer("bert", labels=("rating",), problem_type="regression")
    else:
        model, tokenizer = small_transformer(name)
    return limelight.wrap(model.double(), tokenizer)


def _pairs() -> Any:
    from reference.small_transformers import small_pair_transformer

    model, tokenizer = small_pair_transformer("bert")
    return limelight.wrap(model.double(), tokenizer, pairs=True)


LABELS = ["negative", "positive"]
MODELS: Mapping[str, Callable[[], Any]] = {
    "embedded": limelight.load,
    "deep": deep_model,
    "windows": huggingface_model,
    "distilbert": lambda: _small("distilbert"),
    "roberta": lambda: _small("roberta"),
    "multi-label": lambda: _small("multi-label"),
    "regression": lambda: _small("regression"),
    "pairs": _pairs,
    "function": lambda: limelight.wrap(function, labels=LABELS, name="words"),
    "noisy": lambda: limelight.wrap(noisy_function(), labels=LABELS, name="noisy"),
    "several": lambda: limelight.wrap(several, labels=["a", "b", "c"], kind="multi-label", name="several"),
    "value": lambda: limelight.wrap(value, labels=["worth"], kind="regression", name="value"),
    "pair function": lambda: limelight.wrap(pair_function, labels=LABELS, pairs=True, name="pairs"),
}
FEATURES: tuple[Any, ...] = ("words", "occurrences", "sentences", "phrases", ("sentences", "words"))
OPTIONS: Mapping[str, list[dict[str, Any]]] = {
    "lime": [
        {},
        {"n_samples": 40},
        {"n_samples": 300},
        {"n_samples": 300, "sampling": "official"},
        {"n_samples": 900, "kernel_width": 0.5, "ridge": 0.1, "ridge_samples": 100},
        {"until": "stable"},
        {"until": 0.1},
    ],
    "shapley": [
        {},
        {"n_samples": 60},
        {"n_samples": 600},
        {"n_permutations": 20},
        {"estimator": "permutations", "n_samples": 400},
        {"until": "stable"},
    ],
    "lime-limit": [{}, {"n_samples": 100, "kernel_width": 1.0, "ridge": 0.0}],
    "alpha-avg": [{}, {"layer": 0, "head": 1}],
    "alpha-max": [{}, {"layer": 0}],
    "lime-theorem": [{}, {"corrected": True}],
    "lime-proposition": [{}, {"corrected": True}],
    "lime-mean-field": [{}, {"dominant": 0}],
    "integrated-gradients": [{}, {"steps": 8}, {"baseline": "zero"}],
}


def _targets(model: Any) -> Iterator[Any]:
    yield None
    yield model.labels[-1]
    if len(model.labels) > 1:
        yield (model.labels[0], model.labels[1])
        yield "all"


ADDED = (
    "alpha-value",
    "attcat",
    "attention-gradient",
    "attention-norm",
    "attnlrp",
    "chefer",
    "decomposition",
    "deepshap",
)
"""Methods that came after the record was written."""


def requests() -> Iterator[tuple[str, dict[str, Any]]]:
    """(name of the model, arguments of `limelight.explain`): each argument varies while the others are usual."""
    for name in MODELS:
        model, text = model_called(name), PAIR if name.startswith("pair") else TEXT
        for method in (one.id for one in limelight.methods() if one.id not in ADDED):
            usual = {"text": text, "method": method, "seed": 3}
            few = {"n_samples": 200} if method in ("lime", "shapley") else {}
            for options in OPTIONS.get(method, [{}]):
                for removal in ("mask", "delete"):
                    yield name, {**usual, "removal": removal, **options}
            yield name, {**usual, "removal": "attention", **few}
            for features in FEATURES:
                yield name, {**usual, "features": features, **few}
            for target in _targets(model):
                for output in ("logit", "log-odds", "probability"):
                    yield name, {**usual, "target": target, "output": output, **few}
            if text is PAIR:
                for parts in ("first", "second"):
                    yield name, {**usual, "parts": parts, **few}
            else:
                yield name, {**usual, "text": SHORT}


@cache
def model_called(name: str) -> Any:
    return MODELS[name]()


CHEAP = ("embedded", "deep")
ENDS = {"n_samples", "n_permutations", "until"}
"""What ends a run. Without it a model that takes its time was asked 5,000 times, and is asked for as needed today."""
WORDS = ("notices", "warnings", "label")
"""What is said in words, which may be said better."""


def numbers(explanation: Any) -> dict[str, Any]:
    """All that an explanation says but words and time."""
    written = explanation.to_dict()
    told = {key: own for key, own in written["diagnostics"].items() if key not in WORDS}
    return {key: own for key, own in written.items() if key not in (*WORDS, "seconds", "schema", "text")} | {
        "diagnostics": told,
        "said": [len(written["notices"]), len(written["diagnostics"].get("warnings", ()))],
    }


def answer(name: str, arguments: Mapping[str, Any]) -> list[dict[str, Any]] | str:
    """The explanations, or the kind of error."""
    # The noise of a noisy function follows from the calls of this request alone.
    model = MODELS[name]() if name == "noisy" else model_called(name)
    own = {key: value for key, value in arguments.items() if key not in ("text", "method")}
    if arguments["method"] in ("lime", "shapley") and name not in CHEAP and not own.keys() & ENDS:
        own["n_samples"] = 5000
    try:
        found = limelight.explain(model, arguments["text"], arguments["method"], **own)
    except LimelightError as error:
        return type(error).__name__
    several = found.explanations if isinstance(found, limelight.Comparison) else [found]
    return json.loads(json.dumps([numbers(one) for one in several]))


def record(every: int = 1) -> list[dict[str, Any]]:
    return [
        {"model": name, "arguments": arguments, "answer": answer(name, arguments)}
        for i, (name, arguments) in enumerate(requests())
        if i % every == 0
    ]


def recorded(path: Path, every: int = 1, *, about: bool = False) -> Any:
    """Every so many of the recorded answers; or what they were recorded with."""
    written = json.loads(gzip.decompress(path.read_bytes()))
    return written["about"] if about else written["results"][::every]


def processor() -> list[str]:
    """What the libraries of linear algebra compute as: their kinds of processor."""
    kinds = (own.get("architecture", "") for own in threadpool_info() if own.get("internal_api") == "openblas")
    return [next(kinds, ""), torch.backends.cpu.get_cpu_capability()]


def main(typed: list[str]) -> int:
    torch.set_num_threads(1)
    compares = typed[0] == "--against"
    every = int(typed[2]) if compares and len(typed) > 2 else 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = json.loads(json.dumps(record(every)))
    if compares:
        known = recorded(Path(typed[1]), every)
        differing = [new for new, old in zip(found, known, strict=True) if new != old]
        for row in differing[:40]:
            print(row["model"], row["arguments"])
        print(f"{len(differing)} of {len(found)} answers differ")
        return bool(differing)
    about = {"limelight": limelight.__version__, "processor": processor()}
    about |= {"numpy": np.__version__, "torch": torch.__version__}
    written = json.dumps({"about": about, "results": found}, ensure_ascii=False, separators=(",", ":"))
    Path(typed[0]).write_bytes(gzip.compress(written.encode(), mtime=0))
    print(f"{len(found)} requests, {sum(isinstance(row['answer'], str) for row in found)} of them refused")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
