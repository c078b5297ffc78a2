"""`limelight corpus report`: what a model does with all texts of a corpus, as a page and tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from limelight.cli.application import note, watched
from limelight.cli.options import examples, option

EXAMPLES = examples(
    "limelight corpus report explained",
    "limelight corpus report explained --against explained-by-another-model --out compared",
)
_WORDS_TOLD = 6


def report(
    folder: Annotated[Path, typer.Argument(help="The folder of a run.")],
    against: Annotated[
        Path | None, option(None, "Another run, of another model or other texts, to compare with.")
    ] = None,
    out: Annotated[
        Path | None, option(None, "The folder of the report. Default: 'report' in the run's.", "--out", "-o")
    ] = None,
    all_words: Annotated[
        bool, option(None, "Stop words and punctuation too, which are folded away otherwise.", "--all-words")
    ] = False,
    least_texts: Annotated[int, option(None, "Leave out words that stand in fewer texts.", min=2)] = 5,
) -> None:
    """Words by their mean effect, where methods disagree, where the model is wrong: a page, and tables as CSV."""
    from limelight.cli.output import made
    from limelight.core.sanitize import visible
    from limelight.corpus.report.api import report as write_report
    from limelight.corpus.store.reading import UNCHECKED
    from limelight.corpus.store.reading import open as open_corpus

    corpus = open_corpus(folder)
    other = None if against is None else open_corpus(against)
    if not corpus.is_complete:
        note(f"the run is not finished: {len(corpus.shards())} of {corpus.n_shards} shards are there")
    for own in (corpus, other):
        if own is not None and not own.is_checked:
            note(f"{own.folder} was {UNCHECKED}")
    page, findings = write_report(
        corpus,
        out,
        against=other,
        all_words=all_words,
        least_texts=least_texts,
        about=made(),
        progress=watched(),
    )
    for words in findings.words:
        told = [line for line in words.every.lines if line.told][:_WORDS_TOLD]
        question = f"{words.question.target} by {words.question.method}"
        listed = ", ".join(f"{line.word} {line.mean:+.3g}" for line in told) or "no word is told from zero"
        typer.echo(visible(f"{question}: {listed}"))
    if findings.accuracy is not None:
        typer.echo(f"wrong: {findings.accuracy.wrong:,} of {findings.accuracy.labelled:,} labelled texts")
    typer.echo(str(page))
