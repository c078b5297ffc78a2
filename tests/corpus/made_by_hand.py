"""Corpora made by hand, so that what a report says of them is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from limelight.corpus.running.shard_rows import Answer, Row, as_parquet
from limelight.corpus.store.hashes import Shards, open_manifest, seal_manifest
from limelight.corpus.store.reading import Corpus
from limelight.corpus.store.reading import open as open_corpus
from limelight.corpus.store.run_folder import MANIFEST, SHARDS, shard_name
from limelight.corpus.store.schema import Layout
from limelight.explanation.result import Explanation
from render.samples import comparison_of

LABELS = ("negative", "positive")


@dataclass(frozen=True)
class Text:
    """A document: what each method says of it, or the error that it ended with."""

    explanations: tuple[Explanation, ...]
    truth: str | None = None
    error: str | None = None
    text: Any = ""


def text_of(
    text: Any,
    weights: Mapping[str, Sequence[float]],
    *,
    stderr: Mapping[str, Sequence[float]] | None = None,
    truth: str | None = None,
    **more: Any,
) -> Text:
    """A text with the weights of each method."""
    explanations: list[Explanation] = []
    for method, own in weights.items():
        made = comparison_of(text, own, methods=("lime",), stderr=(stderr or {}).get(method), **more)[0]
        exact = (stderr or {}).get(method) is None
        signed = method != "alpha-avg"
        label = {"lime": "LIME", "shapley": "Shapley", "alpha-avg": "α-avg"}.get(method, method)
        explanations.append(_changed(made, method=method, method_label=label, exact=exact, signed=signed))
    return Text(tuple(explanations), truth, None, text)


def _changed(explanation: Explanation, **values: Any) -> Explanation:
    fields = {name: getattr(explanation, name) for name in explanation.__dataclass_fields__}
    return Explanation(**{**fields, **values})


def corpus_of(
    folder: Path,
    texts: Sequence[Text],
    *,
    shard_size: int = 4,
    keep_text: bool = True,
    labels: tuple[str, ...] = LABELS,
    kind: str = "classes",
    pairs: bool = False,
    data: str = "the same",
    missing_shards: int = 0,
    asked: Mapping[str, Any] | None = None,
) -> Corpus:
    """Written as a run writes it."""
    methods = dict.fromkeys(own.method for text in texts for own in text.explanations)
    named = {own.method: (own.method_label, own.signed) for text in texts for own in text.explanations}
    layout = Layout(labels, kind, named, keep_text=keep_text, pairs=pairs)
    numbers = range(-(-len(texts) // shard_size))
    columns = {"text_column": "text", "second_column": None, "id_column": None}
    manifest = {
        "corpus": 1,
        "asked": {"methods": list(methods), "target": None, "features": "words", "output": None, **(asked or {})},
        "input": {"files": [{"name": "texts.csv", "bytes": 1, "sha256": data}], **columns, "rows": len(texts)},
        "model": {"name": "embedded"},
        "layout": layout.to_json(),
        "shards": {"size": shard_size, "count": len(numbers)},
    }
    (folder / SHARDS).mkdir(parents=True)
    content = seal_manifest(manifest)
    (folder / MANIFEST).write_bytes(content)
    shards = Shards(open_manifest(content)[1], len(numbers))
    for number in numbers[: len(numbers) - missing_shards]:
        answers = []
        for k, text in enumerate(texts[number * shard_size : (number + 1) * shard_size]):
            at = number * shard_size + k + 1
            row = Row(at, f"text {at}", text.text, text.truth)
            for method in methods:
                own = tuple(e for e in text.explanations if e.method == method)
                if own:
                    answers.append(Answer(row, method, own))
                elif text.error is not None:
                    answers.append(Answer(row, method, error=text.error))
        (folder / SHARDS / shard_name(number)).write_bytes(shards.seal(number, as_parquet(answers, layout)))
    return open_corpus(folder)


WORDS = "good bad plot film slow great the . actor ending but music".split()


def random_texts(seed: int, count: int = 30, **more: Any) -> list[Text]:
    """Texts of random words with random weights: one method sampled, one exact, one without signs."""
    rng = np.random.default_rng(seed)
    texts = []
    for _ in range(count):
        words = list(rng.permutation(WORDS)[: rng.integers(3, len(WORDS))])
        size = len(words)
        weights = {
            "lime": rng.normal(0.2, 1.0, size),
            "shapley": rng.normal(0.2, 1.0, size),
            "alpha-avg": rng.random(size),
        }
        logits = (0.0, 1.0) if rng.random() < 0.6 else (1.0, 0.0)
        truth = None if rng.random() < 0.2 else LABELS[int(rng.random() < 0.5)]
        stderr = {"lime": rng.uniform(0.05, 0.6, size)}
        diagnostics = {"error": 0.01}
        texts.append(
            text_of(
                " ".join(words), weights, stderr=stderr, truth=truth, logits=logits, diagnostics=diagnostics, **more
            )
        )
    return texts
