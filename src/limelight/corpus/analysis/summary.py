"""What all texts of a corpus say together: its words, where methods disagree, where the model is wrong.

One pass over the shards, one of them in memory at a time. What is kept grows with the number of different words, up to
a limit, and by some 40 bytes a text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from limelight.core.progress import SILENT, Progress, working
from limelight.corpus.analysis.disagreement import Disagreements, PairOfMethods
from limelight.corpus.analysis.flat_rows import COLUMNS, Question, flat
from limelight.corpus.analysis.mistakes import Mistakes
from limelight.corpus.analysis.texts import TextIndex
from limelight.corpus.analysis.words import MOST_WORDS, WordSums

if TYPE_CHECKING:
    from limelight.corpus.store.reading import Corpus


@dataclass(frozen=True)
class Summary:
    """Words, mistakes, texts and disagreements of the shards that there were when it was made."""

    words: WordSums
    mistakes: Mistakes
    texts: TextIndex
    disagreements: Disagreements

    @property
    def questions(self) -> tuple[Question, ...]:
        """The questions whose words can be asked for."""
        return self.words.questions

    @property
    def pairs(self) -> list[PairOfMethods]:
        """How far methods disagree over all texts."""
        return self.disagreements.pairs()


def summary_of(corpus: Corpus, progress: Progress = SILENT, most_words: int = MOST_WORDS) -> Summary:
    """Read all shards once."""
    layout = corpus.layout
    words = WordSums(pairs=layout.pairs, most_words=most_words)
    mistakes, texts, disagreements = Mistakes(words.vocabulary, layout), TextIndex(layout), Disagreements(layout)
    with working(progress, "reading the corpus", len(corpus.shards())):
        for table in corpus.tables(COLUMNS):
            shard = flat(table, layout)
            ids = words.add(shard)
            if layout.kind != "regression":
                mistakes.add(shard, ids)
            texts.add(shard, disagreements.add(shard))
            if (kept := words.trim()) is not None:
                mistakes.keep(kept)
            progress.advance(1)
    return Summary(words, mistakes, texts, disagreements)
