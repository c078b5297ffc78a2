"""The report: its page and tables, what it refuses, and that nothing in it acts."""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from corpus.made_by_hand import Text, corpus_of, random_texts, text_of
from limelight.cli import app
from limelight.corpus.analysis.findings import choose, find
from limelight.corpus.report.api import TABLES, report
from limelight.errors import InputError, ParameterError
from render import browser
from render.browser import Browser

ATTACK = "\"><script>document.title='attacked'</script><img src=x onerror=\"document.title='attacked'\"></style>"
FORMULA = "=HYPERLINK(1)"


def table(folder: Path, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((folder / f"{name}.csv").read_text(encoding="utf-8"))))


def test_a_report_has_a_page_and_tables(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path / "corpus", random_texts(0, 80), shard_size=20)
    page, findings = report(corpus)
    assert page == tmp_path / "corpus" / "report" / "report.html"
    names = {own.name for own in page.parent.iterdir()}
    assert names == {"report.html", *(f"{name}.csv" for name in TABLES if name != "differences")}
    rows = table(page.parent, "words")
    assert len(rows) == sum(len(own.every.lines) for own in findings.words)
    first = findings.words[0].every.lines[0]
    assert (rows[0]["word"], float(rows[0]["mean"]), rows[0]["told"]) == (first.word, first.mean, str(int(first.told)))
    assert {row["label"] for row in table(page.parent, "mistake_words")} == {"negative", "positive"}
    assert len(table(page.parent, "disagreement")) == 80
    assert len(table(page.parent, "mistakes")) == findings.accuracy.wrong  # type: ignore[union-attr]
    assert report(corpus)[0].read_text() == page.read_text()  # again, over what stood there


def test_stop_words_are_folded_away_unless_they_are_asked_for(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path / "corpus", random_texts(0, 40))
    folded = {row["word"] for row in table(report(corpus)[0].parent, "words")}
    every = {row["word"] for row in table(report(corpus, all_words=True)[0].parent, "words")}
    assert every - folded == {"the", "."}


def test_each_line_leads_to_a_text_that_shows_its_word(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path / "corpus", random_texts(0, 60))
    page = report(corpus)[0].read_text()
    links = re.findall(r'<a href="#row-(\d+)" data-m="\d" data-word="([^"]*)">', page)
    assert len(links) > 20
    assert '<span class="quiet">row ' not in page
    for row, word in links:
        article = re.search(rf'<article class="text" id="row-{row}">(.*?)</article>', page, re.DOTALL)
        assert article is not None
        assert html.unescape(word) in re.sub("<[^>]*>", " ", article[1]).split()


def test_few_texts_show_many_words(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path / "corpus", random_texts(0, 60))
    findings = find(corpus)
    wishes = [(own, line) for own in findings.words for line in own.shown]
    assert len(findings.examples.documents) < len(wishes) + 40
    assert len(choose(corpus, [1, 2], [], 10).documents) == 2
    # No room is no example, and no error.
    from limelight.corpus.analysis.findings import _wishes

    own = list(_wishes(findings.words[0]))
    assert choose(corpus, [], own, most_coloured=0).documents == {}
    assert 0 < len(choose(corpus, [], own, most_coloured=40).documents) <= 5


def hostile(count: int = 6) -> list[Text]:
    words = f"fine {ATTACK} {FORMULA} \u202e\x1b[31m"
    more: dict[str, Any] = {"labels": ("b", ATTACK), "logits": (0.0, 1.0), "notices": (ATTACK,)}
    size = len(text_words(words))
    return [
        text_of(words, {"lime": [1.0 + k] * size, "shapley": [(-1.0) ** k] * size}, truth="b", **more)
        for k in range(count)
    ]


def text_words(text: str) -> list[str]:
    from limelight.inputs.document import Document
    from limelight.inputs.features import features_of

    return list(features_of(Document.read(text), "words", "both").names)


@pytest.mark.parametrize("keep_text", [False, True])
def test_nothing_in_a_text_or_label_acts(tmp_path: Path, *, keep_text: bool) -> None:
    corpus = corpus_of(tmp_path / "corpus", hostile(), labels=("b", ATTACK), keep_text=keep_text)
    folder = report(corpus, all_words=True)[0].parent
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.count("<script") == 1
    assert "<img" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    for own in folder.glob("*.csv"):
        for row in csv.reader(io.StringIO(own.read_text(encoding="utf-8"))):
            for cell in row:
                assert not cell.startswith(("=", "@")), cell
                assert "\x1b" not in cell


def test_nothing_is_fetched(tmp_path: Path) -> None:
    page = report(corpus_of(tmp_path / "corpus", random_texts(0, 20)))[0].read_text()
    assert "default-src 'none'" in page
    assert not re.search(r"https?://|\ssrc=|@import|url\(", page)


def test_a_corpus_without_texts_shows_its_words(tmp_path: Path) -> None:
    page = report(corpus_of(tmp_path / "corpus", random_texts(0, 20), keep_text=False))[0].read_text()
    assert "the text was not kept" in page
    assert "--keep-text" in page
    assert re.search(r'<div class="words" dir="auto">.*music', page)


def test_unfinished_failed_and_unlabelled_are_said(tmp_path: Path) -> None:
    texts = [*random_texts(0, 18), Text((), None, "too long", "x"), Text((), None, "too long", "x")]
    texts = [Text(own.explanations, None, own.error, own.text) for own in texts]
    corpus = corpus_of(tmp_path / "corpus", texts, missing_shards=1)
    page = report(corpus)[0].read_text()
    assert "4 of 5 shards are there" in page
    assert 'id="mistakes"' not in page
    whole = report(corpus_of(tmp_path / "whole", texts))[0].read_text()
    assert '<strong>2</strong><span class="quiet">could not be explained' in whole


def test_pairs_levels_regressions_and_one_method(tmp_path: Path) -> None:
    pairs = [text_of(("slow film", "slow music"), {"lime": [1.0, 2.0, -3.0, 4.0 + k]}) for k in range(6)]
    page = report(corpus_of(tmp_path / "pairs", pairs, pairs=True))[0].read_text()
    assert "(2nd)" in page
    assert 'id="disagreement"' not in page
    stars: dict[str, Any] = {"labels": ("stars",), "logits": (3.0,), "model": "regression"}
    texts = [text_of("slow film", {"lime": [1.0 + k, -2.0]}, **stars) for k in range(6)]
    assert "stars" in report(corpus_of(tmp_path / "stars", texts, labels=("stars",), kind="regression"))[0].read_text()
    levels = [text_of("Slow film. Good music.", {"lime": [1.0, 2.0, 0.5, 3.0, 1.0, 2.0]}, kind=("sentences", "words"))]
    report(corpus_of(tmp_path / "levels", levels * 6))
    weightless = [text_of("slow film", {"lime": [0.0, 0.0], "shapley": [0.0, 0.0]}) for _ in range(6)]
    page, findings = report(corpus_of(tmp_path / "weightless", weightless))
    assert not any(line.told for line in findings.words[0].every.lines)
    assert findings.pairs == ()


def test_two_runs_are_compared_on_the_page(tmp_path: Path) -> None:
    one = corpus_of(tmp_path / "one", [text_of("plot film", {"lime": [1.0 + k / 9, 2.0]}) for k in range(9)])
    two = corpus_of(tmp_path / "two", [text_of("plot film", {"lime": [4.0 + k / 7, 2.0]}) for k in range(9)])
    page, findings = report(one, tmp_path / "out", against=two)
    source = page.read_text()
    assert findings.compared is not None
    assert 'id="differences"' in source
    assert re.search(r'<a href="#other-\d+"', source)
    rows = {row["word"]: row for row in table(tmp_path / "out", "differences")}
    assert (rows["plot"]["told"], rows["film"]["told"]) == ("1", "0")


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path / "corpus", random_texts(0, 8))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match=r"is no report: it holds 'thesis.txt'"):
        report(corpus, tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"
    with pytest.raises(InputError, match="is a file"):
        report(corpus, tmp_path / "mine" / "thesis.txt")
    with pytest.raises(ParameterError, match="least_texts must be a whole number of at least 2"):
        report(corpus, least_texts=1)
    empty = corpus_of(tmp_path / "empty", random_texts(0, 4), missing_shards=1)
    with pytest.raises(InputError, match="no explained text yet"):
        report(empty)
    failed = corpus_of(tmp_path / "failed", [Text((), None, "too long", "x")])
    with pytest.raises(InputError, match=r"no text of .* could be explained"):
        _with_rows(failed)


def _with_rows(corpus: Any) -> None:
    """A corpus whose only row failed: its method is not known from an explanation."""
    report(corpus)


def test_the_command(tmp_path: Path) -> None:
    corpus_of(tmp_path / "corpus", random_texts(0, 30), missing_shards=1)
    done = CliRunner().invoke(app, ["corpus", "report", str(tmp_path / "corpus"), "--least-texts", "3"])
    assert done.exit_code == 0, done.output
    assert str(tmp_path / "corpus" / "report" / "report.html") in done.output
    assert "wrong: " in done.output
    assert (tmp_path / "corpus" / "report" / "report.html").exists()
    other = corpus_of(tmp_path / "other", random_texts(1, 30), data="other")
    out = tmp_path / "both"
    done = CliRunner().invoke(
        app, ["corpus", "report", str(tmp_path / "corpus"), "--against", str(other.folder), "--out", str(out)]
    )
    assert done.exit_code == 0, done.output
    assert (out / "differences.csv").exists()
    done = CliRunner().invoke(app, ["corpus", "report", str(tmp_path)])
    assert done.exit_code == 2
    assert "holds no corpus" in done.output


# ── in a browser ──────────────────────────────────────────────────────────────────────────────────────────────────────

needs_browser = pytest.mark.skipif(
    browser.found() is None,
    reason=f"needs Chromium: install it (apt-get install chromium), or name it in {browser.VARIABLE}",
)


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = browser.found()
    assert program is not None
    with Browser(program, tmp_path_factory.mktemp("profile")) as tab:
        yield tab


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("report")
    one = corpus_of(folder / "one", random_texts(0, 60))
    two = corpus_of(folder / "two", random_texts(1, 60))
    return report(one, against=two)[0].as_uri()


VISIBLE = "[...document.querySelectorAll({!r})].filter((own) => own.offsetParent).map((own) => own.innerText.trim())"


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 400])
def test_the_page_fits_and_complains_of_nothing(tab: Browser, address: str, width: int, scheme: str) -> None:
    tab.open(address, width=width, scheme=scheme)
    assert tab.complaints() == []
    assert tab.evaluate("document.documentElement.scrollWidth") == width


@needs_browser
def test_words_are_searched_sorted_and_switched(tab: Browser, address: str) -> None:
    tab.open(address)
    words = VISIBLE.format("#words tbody th")
    listed = tab.evaluate(words)
    assert "music" in listed
    assert len(tab.evaluate(VISIBLE.format("#words h3"))) == 1
    tab.evaluate(
        "(() => { const own = document.querySelector('#words input'); own.value = 'MUS';"
        " own.dispatchEvent(new Event('input')); })()"
    )
    assert tab.evaluate(words) == ["music"]
    tab.evaluate(
        "(() => { const own = document.querySelector('#words input'); own.value = '';"
        " own.dispatchEvent(new Event('input')); })()"
    )
    tab.evaluate("document.querySelector('#words thead button').click()")
    assert tab.evaluate(words) == sorted(listed)
    tab.evaluate("document.querySelectorAll('#words thead button')[2].click()")
    values = tab.evaluate(
        "[...document.querySelectorAll('#words .part:not([hidden]) td.bars')].map((own) => Number(own.dataset.v))"
    )
    assert values == sorted(values, reverse=True)
    before = tab.evaluate(VISIBLE.format("#words h3"))
    tab.evaluate(
        "(() => { const own = document.querySelector('#words select'); own.selectedIndex = 1;"
        " own.dispatchEvent(new Event('change')); })()"
    )
    after = tab.evaluate(VISIBLE.format("#words h3"))
    assert len(after) == 1
    assert after != before


@needs_browser
def test_a_link_leads_to_its_text_and_marks_the_word(tab: Browser, address: str) -> None:
    tab.open(address)
    tab.evaluate("document.querySelector('#words .part:not([hidden]) a[data-word]').click()")
    word = tab.evaluate("document.querySelector('#words .part:not([hidden]) a[data-word]').dataset.word")
    looked = tab.evaluate("[...document.querySelectorAll('.looked')].map((own) => own.textContent.toLowerCase())")
    assert looked
    assert set(looked) == {word}
    assert abs(tab.evaluate("document.querySelector(':target').getBoundingClientRect().top")) < 200


@needs_browser
def test_all_is_there_without_scripts(tab: Browser, address: str, tmp_path: Path) -> None:
    source = Path(address.removeprefix("file://")).read_text()
    dead = tmp_path / "dead.html"
    dead.write_text(source[: source.index("<script>")] + "</body></html>")
    tab.open(dead.as_uri())
    tables = tab.evaluate("document.querySelectorAll('table.list').length")
    seen = tab.evaluate("[...document.querySelectorAll('table.list')].filter((own) => own.offsetParent).length")
    assert seen == tables > 5
    assert tab.evaluate("document.querySelectorAll('button, input, select').length") == 0


@needs_browser
def test_hostile_names_stay_letters(tab: Browser, tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path / "corpus", hostile(), labels=("b", ATTACK))
    tab.open(report(corpus, all_words=True)[0].as_uri(), width=400)
    assert tab.evaluate("document.title") != "attacked"
    assert tab.complaints() == []
    assert tab.evaluate("document.querySelectorAll('img').length") == 0
    assert tab.evaluate("document.documentElement.scrollWidth") == 400
