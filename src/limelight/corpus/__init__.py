"""A corpus, not a text: the explanations of many documents, written as they come and read back.

>>> import limelight.corpus
>>> corpus = limelight.corpus.run("reviews.csv", "explained", methods=["lime", "shapley"])  # doctest: +SKIP
>>> for explanation in limelight.corpus.open("explained"): ...  # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from limelight.corpus.store.reading import Corpus, open

if TYPE_CHECKING:
    from limelight.corpus.running.driver import run as run
    from limelight.corpus.running.explain_rows import batch_schema as batch_schema
    from limelight.corpus.running.explain_rows import explain_batch as explain_batch

__all__ = ["Corpus", "batch_schema", "explain_batch", "open", "run"]

_LATER = {
    "batch_schema": "limelight.corpus.running.explain_rows",
    "explain_batch": "limelight.corpus.running.explain_rows",
    "run": "limelight.corpus.running.driver",
}
"""These bring torch along."""


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'limelight.corpus' has no attribute {name!r}")
    return getattr(importlib.import_module(_LATER[name]), name)
