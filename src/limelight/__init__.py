"""limelight: why a text classifier decided as it did, word by word, and how far each explanation can be trusted.

>>> import limelight
>>> model = limelight.load()
>>> explanation = limelight.explain(model, "A great film.", method="lime", target="positive")
>>> explanation.features
('a', 'great', 'film', '.')
"""

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING, Any

from limelight.attribution.api import compare, explain
from limelight.core.progress import Progress
from limelight.errors import CapabilityError, Interrupted, LimelightError
from limelight.explainers.method import Implementation, Method, methods
from limelight.explanation.result import Comparison, Explanation, Prediction
from limelight.inputs.document import Document
from limelight.models.interface import Classifier, View
from limelight.theory.ratio_game import RatioGame

if TYPE_CHECKING:
    from limelight.evaluation.api import evaluate
    from limelight.evaluation.result import Evaluation
    from limelight.models.load import load, wrap
    from limelight.models.words.attention import AttentionClassifier, AttentionConfig
    from limelight.models.words.transformer import TransformerClassifier
    from limelight.testing import check_explainer

__version__ = "0.3.0.dev0"

__all__ = [
    "AttentionClassifier",
    "AttentionConfig",
    "CapabilityError",
    "Classifier",
    "Comparison",
    "Document",
    "Evaluation",
    "Explanation",
    "Implementation",
    "Interrupted",
    "LimelightError",
    "Method",
    "Prediction",
    "Progress",
    "RatioGame",
    "TransformerClassifier",
    "View",
    "check_explainer",
    "compare",
    "evaluate",
    "explain",
    "load",
    "methods",
    "wrap",
]

# These need torch, which takes a second to import: `limelight --help` and `limelight methods` do without.
_LATER = {
    "AttentionClassifier": "limelight.models.words.attention",
    "AttentionConfig": "limelight.models.words.attention",
    "Evaluation": "limelight.evaluation.result",
    "TransformerClassifier": "limelight.models.words.transformer",
    "check_explainer": "limelight.testing",
    "evaluate": "limelight.evaluation.api",
    "load": "limelight.models.load",
    "wrap": "limelight.models.load",
}

_RENAMED = {"Way": "Implementation", "document": "inputs.document", "view": "models.interface"}
"""What the documentation of 0.2 called by another name."""


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        now = _RENAMED[name]
        warnings.warn(f"limelight.{name} is called limelight.{now}", DeprecationWarning, stacklevel=2)
        return Implementation if now == "Implementation" else importlib.import_module(f"limelight.{now}")
    if name == "corpus":
        return importlib.import_module("limelight.corpus")
    if name not in _LATER:
        raise AttributeError(f"module 'limelight' has no attribute {name!r}")
    return getattr(importlib.import_module(_LATER[name]), name)


def __dir__() -> list[str]:
    """What is meant for people: the public names, and the modules that hold more of them."""
    return sorted([*__all__, "__version__", "corpus", "errors"])
