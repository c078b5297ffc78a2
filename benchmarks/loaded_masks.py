"""How often a loaded mask is told, and how often a silent one is taken for loaded.

    python benchmarks/loaded_masks.py imdb/train.parquet imdb/test.parquet --minilm minilm-imdb

Each model is asked about its mask as LIME and Shapley values ask (`limelight.explainers.loaded_mask`). Models: the
embedded one, a TF-IDF pipeline with a logistic regression, and with `--minilm` a fine-tuned transformer, all as
functions; texts are reviews of the test set, cut to 60 words, and short ones of 1 to 9 words. Then

    false alarms    of these models with a mask that they do not know, or were trained with
    pushes          the mask is made to push the log-odds, once for all masks, for each of them, or from k + 1 masks on,
                    by so many times the strongest of the eight words (or of what all words do together)
    one class       the same for one class of three, of the TF-IDF pipeline with a class more
    words           the TF-IDF pipeline with a word of its vocabulary for a mask

Thresholds were chosen on reviews at positions 0 to 1,299 of the shuffled test set; this takes others.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import limelight
from limelight.attribution.request import Request
from limelight.explainers.loaded_mask import MaskAnswers, chosen_features, mask_answers
from limelight.inputs.features import Features
from limelight.inputs.words import plain_words

SEED, FIRST = 23, 3000
WORDS = ["excellent", "wonderful", "perfect", "great", "best", "worst", "awful", "boring"]
Case = tuple[Features, MaskAnswers]


def texts_of(path: str, count: int, short: int) -> tuple[list[str], list[str]]:
    every = pq.read_table(path)["text"].to_pylist()
    rng = np.random.default_rng(SEED)
    order = rng.permutation(len(every))[FIRST:]
    lengths = rng.integers(1, 10, short)
    return (
        [cut(every[i], 60) for i in order[:count]],
        [cut(every[i], int(n)) for i, n in zip(order[count:], lengths, strict=False)],
    )


def cut(text: str, most: int) -> str:
    words = plain_words(text)
    return text if len(words) <= most else text[: words[most - 1].end]


def asked(model: Any, texts: Sequence[str], target: str | None = None) -> list[Case]:
    """What the check knows of each text."""
    found = []
    for text in texts:
        prepared = Request(target).resolve(model.view(text), ())
        question = prepared.questions[0]
        whole = np.array([question.quantity.of(question.logits[None])[0]])
        answers = mask_answers([question], whole, None)
        assert answers is not None
        found.append((prepared.features, answers))
    return found


def is_loaded(answers: MaskAnswers) -> bool:
    return answers.found(0, 1e-6) is not None


def share(found: Sequence[bool]) -> str:
    return f"{np.mean(found):6.1%} of {len(found)}"


# ── pushes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def pushed(case: Case, push: Callable[[np.ndarray], np.ndarray]) -> MaskAnswers:
    """The answers of a model to whose output `push` adds something for so many masks."""
    features, answers = case
    words, chosen = len(features.owners), chosen_features(features)
    sizes = np.array([len(features.owned[j]) for j in chosen])
    behind = np.array([int(np.median(sizes)), *sizes])
    many = np.array([words // 2, words] if words > 1 else [words, words])
    assert answers.many is not None
    return replace(
        answers,
        inserted=answers.inserted + push(behind)[:, None],
        singles=answers.singles + push(sizes)[:, None],
        many=answers.many + push(many)[:, None],
    )


def strengths(case: Case) -> tuple[float, float]:
    """The strongest of the words that were asked about, and of all together."""
    _, answers = case
    one = float(np.abs(answers.whole - answers.singles).max())
    together = 0.0 if answers.nothing is None else float(np.abs(answers.whole - answers.nothing).max())
    return max(one, 1e-3), max(one, together, 1e-3)


def planted(cases: Sequence[Case]) -> Iterator[tuple[str, float, list[bool]]]:
    for times in (0.5, 1.0, 2.0, 4.0):
        for name, each in (("once for all masks", False), ("for each mask", True)):
            found = []
            for case in cases:
                for sign in (-1.0, 1.0):
                    c = sign * times * strengths(case)[0]
                    found.append(is_loaded(pushed(case, lambda n, c=c, each=each: c * n if each else c * (n > 0))))
            yield name, times, found
    for times in (1.0, 2.0, 3.0, 4.0):
        found = []
        for case in cases:
            words = len(case[0].owners)
            for k in sorted({1, 2, words // 4}):
                if not 0 < k < words // 2:
                    continue
                for sign in (-1.0, 1.0):
                    c = sign * times * strengths(case)[1]
                    found.append(is_loaded(pushed(case, lambda n, c=c, k=k: c * (n > k))))
        if found:
            yield "from k + 1 masks on", times, found


# ── models ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def tfidf(path: str) -> Any:
    table = pq.read_table(path)
    pipeline = make_pipeline(TfidfVectorizer(min_df=2), LogisticRegression(max_iter=300))
    return pipeline.fit(table["text"].to_pylist(), table["label"].to_pylist())


def of_three(pipeline: Any, mask: str, push: float) -> Callable[[list[str]], np.ndarray]:
    """Negative, positive, neither; each mask pushes the second."""

    def answer(texts: list[str]) -> np.ndarray:
        p = pipeline.predict_proba(texts)
        logits = np.log(np.column_stack([p, np.full(len(texts), 0.3)]))
        logits[:, 1] += push * np.array([text.count(mask) for text in texts])
        g = np.exp(logits - logits.max(axis=1, keepdims=True))
        return g / g.sum(axis=1, keepdims=True)

    return answer


# ── the report ────────────────────────────────────────────────────────────────────────────────────────────────────────


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train")
    parser.add_argument("test")
    parser.add_argument("--minilm", help="the folder of a fine-tuned transformer")
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--short", type=int, default=100)
    parser.add_argument("--only", help="embedded, tfidf or minilm")
    given = parser.parse_args()
    torch.set_num_threads(1)
    long, short = texts_of(given.test, given.texts, given.short)
    pipeline = tfidf(given.train) if given.only in (None, "tfidf") else None
    models: dict[str, tuple[str, Any, str]] = {"embedded": ("embedded", limelight.load().predict_proba, "[UNK]")}
    if pipeline is not None:
        models["TF-IDF"] = ("tfidf", pipeline.predict_proba, "[UNK]")
    if given.minilm and given.only in (None, "minilm"):
        ask = limelight.load(given.minilm).predict_proba
        models |= {f"MiniLM, {mask}": ("minilm", ask, mask) for mask in ("[MASK]", "[UNK]")}
    for name, (group, function, mask) in models.items():
        if given.only not in (None, group):
            continue
        model = limelight.wrap(function, labels=["negative", "positive"], mask=mask, batch_texts=32)
        for which, texts in (("60 words", long), ("1 to 9 words", short)):
            cases = asked(model, texts)
            print(f"{name:16s} {which:12s} false alarms {share([is_loaded(own) for _, own in cases])}", flush=True)
            for kind, times, found in planted(cases):
                print(f"{name:16s} {which:12s} {kind:20s} {times:3g} x  {share(found)}", flush=True)
    if pipeline is not None:
        of_tfidf(pipeline, long)


def of_tfidf(pipeline: Any, texts: Sequence[str]) -> None:
    """A class of three, and words of the vocabulary."""
    for push in (0.5, 1.0, 2.0, 4.0):
        model = limelight.wrap(of_three(pipeline, "[UNK]", push), labels=["negative", "positive", "neither"])
        found = [is_loaded(own) for _, own in asked(model, texts, "positive")]
        print(f"TF-IDF, one class of three, pushed by {push:g} logits: {share(found)}", flush=True)
    every: list[bool] = []
    for word in WORDS:
        model = limelight.wrap(pipeline.predict_proba, labels=["negative", "positive"], mask=word)
        found = [is_loaded(own) for _, own in asked(model, texts)]
        every += found
        print(f"TF-IDF, the mask is {word!r}: {share(found)}", flush=True)
    print(f"TF-IDF, the mask is a word: {share(every)}", flush=True)


if __name__ == "__main__":
    main()
