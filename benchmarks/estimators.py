"""Squared errors of sampled LIME and Shapley values, by the number of texts that the model is asked about.

    python benchmarks/estimators.py DATA [--model FOLDER] [--device cuda] [--words 60,150] [--texts 10]
                                    [--samples 1000,2000] [--runs 5] [--reference 60000]

DATA: a table of texts (CSV, TSV, JSONL or Parquet with a column "text"), of which the first words are taken. Without
--model the embedded model is explained, whose exact values are known; else plain regressions on --reference other
samples are the truth, and their own variance is subtracted. Errors are relative to those of official LIME's draws, and
of permutations; coverage is that of 95 % intervals, of all words and of the ten strongest.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import limelight
from limelight.explainers.sampling.lime_sampler import LimeSampler
from limelight.explainers.sampling.shapley_samplers import PairedShapley, SignRegression
from limelight.explainers.surrogate import fit_surrogate
from limelight.inputs.features import features_of
from limelight.models.outputs import Quantity
from limelight.storage.labelled_texts import read_texts

KINDS = {
    "lime": {"official": {"sampling": "official"}, "efficient": {"sampling": "efficient"}},
    "shapley": {"permutations": {"estimator": "permutations"}, "pairs": {"estimator": "pairs"}},
}


class Sampled:
    """A model of which only its answers are known, so that nothing but sampling applies."""

    def __init__(self, model: Any) -> None:
        self._model, self.labels = model, model.labels

    def view(self, text: str) -> Any:
        view = self._model.view(text)
        names = ("document", "labels", "logits", "kind", "outputs", "removals", "game")
        return SimpleNamespace(**{name: getattr(view, name) for name in names})


def truths(model: Any, text: str, target: tuple[str, str], reference: int | None) -> dict[str, tuple[Any, Any]]:
    """The weights of each method, and the standard errors of what is taken for them."""
    if reference is None:
        arguments: dict[str, Any] = {"target": target, "features": "occurrences"}
        limit = limelight.explain(model, text, "lime-limit", n_samples=float("inf"), **arguments).weights
        values = limelight.explain(model, text, "shapley", **arguments).weights
        return {"lime": (limit, np.zeros(len(limit))), "shapley": (values, np.zeros(len(values)))}
    view = model.view(text)
    features = features_of(view.document, "occurrences")
    game, quantity = view.game(features, "mask"), Quantity(len(model.labels), *map(model.labels.index, target))

    def ask(kept: Any) -> Any:
        return quantity.of(game(kept))[:, None]

    samples = LimeSampler(ask, len(features), 10**6, 0.25, 0.0)
    samples.extend(reference)
    fit = fit_surrogate(samples._kept, samples._outputs, np.ones(len(samples._kept)), 0.0)
    pairs = PairedShapley(ask, len(features), 10**6)
    pairs.extend(reference)
    regression = SignRegression(pairs._kept)
    values, moves = regression.fitted(pairs._odd[:, 0], float((pairs.everything - pairs.nothing)[0]))
    return {"lime": (fit.coefficients[:, 0], fit.stderr[:, 0]), "shapley": (values, moves.stderr())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--model")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--words", default="60,150")
    parser.add_argument("--texts", type=int, default=10)
    parser.add_argument("--samples", default="1000,2000")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--reference", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore", limelight.errors.ExplanationWarning)
    model = limelight.load() if given.model is None else limelight.load(given.model, device=given.device)
    target = (model.labels[-1], model.labels[0])
    every = [text.replace("<br />", " ").split() for text in read_texts(given.data, "text").texts]
    order = np.random.default_rng(given.seed).permutation(len(every))
    print("| words | features | samples | method | relative squared error | covered | of the ten strongest |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for words in map(int, given.words.split(",")):
        texts = [" ".join(every[i][:words]) for i in order if len(every[i]) > words][: given.texts]
        known = [truths(model, text, target, None if given.model is None else given.reference) for text in texts]
        d = np.mean([len(own["lime"][0]) for own in known])
        for n in map(int, given.samples.split(",")):
            for method, ways in KINDS.items():
                base = None
                for name, options in ways.items():
                    errors, inside, strongest = [], [], []
                    extra = {"ridge": 1e-9} if method == "lime" else {}
                    if method == "lime" and options.get("sampling") != "official":
                        extra["ridge_samples"] = float("inf")
                    for text, own in zip(texts, known, strict=True):
                        truth, uncertain = own[method]
                        top = np.argsort(-np.abs(truth))[:10]
                        for seed in range(given.runs):
                            e = limelight.explain(
                                Sampled(model), text, method, target=target, features="occurrences", output="logit",
                                n_samples=n, seed=seed, **options, **extra,
                            )  # fmt: skip
                            errors.append(float(((e.weights - truth) ** 2).sum() - (uncertain**2).sum()))
                            covered = np.abs(e.weights - truth) <= 1.96 * np.hypot(e.stderr, uncertain)
                            inside.append(covered.mean())
                            strongest.append(covered[top].mean())
                    base = np.mean(errors) if base is None else base
                    print(
                        f"| {words} | {d:.0f} | {n} | {method}, {name} | {np.mean(errors) / base:.3f} "
                        f"| {np.mean(inside):.1%} | {np.mean(strongest):.1%} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
