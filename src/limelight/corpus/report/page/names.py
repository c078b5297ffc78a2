"""What the page calls a model, the question that was asked of it, and the level of an interval."""

from __future__ import annotations

from collections.abc import Mapping

from limelight.corpus.analysis.findings import Findings
from limelight.corpus.analysis.flat_rows import Question
from limelight.corpus.store.reading import Corpus
from limelight.render.html.escaping import isolated


def model_name(corpus: Corpus) -> str:
    model = corpus.manifest.get("model")
    name = str(model.get("name", "the model")) if isinstance(model, Mapping) else "the model"
    return "the embedded model" if name == "embedded" else name


def question_title(findings: Findings, question: Question) -> str:
    rather = "" if question.against is None else f" rather than {isolated(question.against)}"
    return f"{isolated(question.target)}{rather}, by {isolated(findings.corpus.layout.called(question.method))}"


def level_name(level: float) -> str:
    """As many nines as it takes."""
    return f"{100 * level:.{2 if level < 0.9995 else 4}g} %" if level < 0.999 else f"{100 * level:.2f} %"
