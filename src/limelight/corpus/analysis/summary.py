"""What all texts of a corpus say together: its words, where methods disagree, where the model is wrong.

One pass over the shards, one of them in memory at a time. What is kept grows with the number of different words, up to
a limit, and by some 40 bytes a text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from limelight.core.progress import SILENT, Progress
from limelight.corpus.analysis.disagreement import Disagreements, PairOfMethods
from limelight.corpus.analysis.mistakes import Mistakes
from limelight.corpus.analysis.texts import TextIndex
from limelight.corpus.analysis.words import MOST_WORDS, WordSums
from limelight.corpus.store.flat_rows import COLUMNS, Question, flat

if TYPE_CHECKING:
    from limelight.corpus.store.reading import Corpus


@dataclass(frozen=True)
class Summary:
    """Of the shards that there were when it was made."""

    words: WordSums
    mistakes: Mistakes
    texts: TextIndex
    disagreements: Disagreements

    @property
    def questions(self) -> tuple[Question, ...]:
        """What words can be asked for."""
        return self.words.questions

    @property
    def pairs(self) -> list[PairOfMethods]:
        """How far methods disagree over all texts."""
        return self.disagreements.pairs()


def summary_of(corpus: Corpus, progress: Progress = SILENT, most_words: int = MOST_WORDS) -> Summary:
    """Read all shards once."""
    layout = corpus.layout
    signed = {method: own[1] for method, own in layout.methods.items()}
    words = WordSums(pairs=layout.pairs, most_words=most_words)
    has_mistakes = layout.kind != "regression"
    mistakes, texts, disagreements = Mistakes(words, signed), TextIndex(layout), Disagreements(signed)
    progress.begin("reading the corpus", len(corpus.shards()))
    try:
        for table in corpus.tables(COLUMNS):
            shard = flat(table, layout)
            ids = words.add(shard)
            if has_mistakes:
                mistakes.add(shard, ids)
            found = disagreements.add(shard)
            texts.add(shard, [None if own is None else (own, disagreements.number(own.methods)) for own in found])
            words.trim()
            progress.advance(1)
    finally:
        progress.end()
    return Summary(words, mistakes, texts, disagreements)
