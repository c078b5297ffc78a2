"""The corpus and the evaluation that a server was given: the numbers of the library, and the views of them."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="a corpus is Parquet: pip install limelight[data]")

from typer.testing import CliRunner

import limelight
import limelight.corpus
from limelight.cli import app
from limelight.evaluation.run_folder import read_evaluation
from limelight.web.folders import ServedCorpus, evaluation_view
from limelight.web.site import Served
from render import browser
from render.browser import Browser
from web import accessibility
from web.fixtures import server
from web.server import Running, running, until

__all__ = ["server"]

ATTACK = "<img src=x onerror=\"document.title='attacked'\">"
TEXTS = [
    ("a great film with a great end .", "positive"),
    ("an awful film , a mess .", "negative"),
    (f"the music is lovely and great {ATTACK}", "positive"),
    ("boring , bad and long .", "positive"),
    ("great actors and a lovely story .", "positive"),
    ("awful actors and a bad story .", "negative"),
    ("a great story , and great music .", "negative"),
    ("bad music and an awful end .", "negative"),
] * 3


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("folders")
    with (folder / "texts.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *TEXTS])
    limelight.corpus.run(
        folder / "texts.csv", folder / "corpus", methods=["shapley", "gxi"], label_column="label", keep_text=True
    )
    limelight.corpus.run(folder / "texts.csv", folder / "without texts", methods=["shapley"])
    asked = ["--method", "shapley,gxi", "--documents", "8", "--out", str(folder / "trust")]
    done = CliRunner().invoke(app, ["evaluate", str(folder / "texts.csv"), *asked])
    assert done.exit_code == 0, done.output
    return folder


@pytest.fixture(scope="module")
def given(folders: Path) -> Iterator[Running]:
    corpus, evaluation = ServedCorpus.read(folders / "corpus"), evaluation_view(folders / "trust")
    with running([Served("embedded", limelight.load())], corpus=corpus, evaluation=evaluation) as own:
        yield own


def test_the_texts_of_a_corpus(given: Running, folders: Path) -> None:
    described = given.get("/api/v1/corpus").json
    assert (described["documents"], described["methods"]) == (24, ["shapley", "gxi"])
    answer = given.post("/corpus/texts", {}).json
    assert [line["truth"] for line in answer["lines"]] == [truth for _, truth in TEXTS]
    wrong = given.post("/corpus/texts", {"wrong": True}).json
    predicted = limelight.load().predict_proba([text for text, _ in TEXTS]).argmax(axis=1)
    mistakes = [i + 1 for i, (_, truth) in enumerate(TEXTS) if ("negative", "positive")[predicted[i]] != truth]
    assert [line["row"] for line in wrong["lines"]] == mistakes
    assert mistakes
    holding = given.post("/corpus/texts", {"contains": "great"}).json
    assert [line["row"] for line in holding["lines"]] == [i + 1 for i, (text, _) in enumerate(TEXTS) if "great" in text]
    ordered = given.post("/corpus/texts", {"order": "disagreement"}).json["lines"]
    assert [line["at_least"] for line in ordered] == sorted([line["at_least"] for line in ordered], reverse=True)


def test_the_words_of_a_corpus_are_the_librarys(given: Running, folders: Path) -> None:
    answer = given.post("/corpus/words", {"method": "shapley", "target": "positive", "all_words": True}).json
    expected = (
        limelight.corpus.open(folders / "corpus").words("shapley", "positive", all_words=True, limit=50).to_dict()
    )
    for line in answer["lines"]:
        line.pop("shown")
    asked = answer.pop("asked")
    assert (asked["method"], asked["target"], asked["all_words"]) == ("shapley", "positive", True)
    assert answer == json.loads(json.dumps(expected))


def test_one_text_of_a_corpus(given: Running) -> None:
    answer = given.post("/corpus/text", {"row": 1}).json
    assert answer["text"] == TEXTS[0][0]
    assert [own["method"] for own in answer["comparison"]["explanations"]] == ["shapley", "gxi"]


@pytest.mark.parametrize(
    ("path", "content", "said"),
    [
        ("/corpus/text", {"row": 999}, "no row 999"),
        ("/corpus/text", {"row": "../../etc/passwd"}, "'row'"),
        ("/corpus/texts", {"label": "no"}, "unknown label"),
        ("/corpus/texts", {"disagreement": 7.0}, "0 to 1"),
        ("/corpus/texts", {"limit": 10**6}, "'limit'"),
        ("/corpus/words", {"method": "lime"}, "lime"),
        ("/corpus/words", {"order": "random"}, "'order'"),
    ],
)
def test_bad_questions_about_a_corpus(given: Running, path: str, content: object, said: str) -> None:
    answer = given.post(path, content)
    assert (answer.status, said in answer.message) == (422, True), answer.body


def test_a_server_without_folders_says_so(server: Running) -> None:
    assert "--corpus" in server.get("/api/v1/corpus").message
    assert "--corpus" in server.post("/corpus/texts", {}).message
    assert "--evaluation" in server.get("/api/v1/evaluation").message


def test_an_evaluation_is_told_in_its_own_words(given: Running, folders: Path) -> None:
    answer, evaluation = given.get("/api/v1/evaluation").json, read_evaluation(folders / "trust")
    assert answer["verdict"] == list(evaluation.verdict)
    assert answer["texts"] == 8
    assert {curve["name"] for curve in answer["curves"][0]["curves"]} >= {"shapley", "gxi", "random order"}


@pytest.mark.skipif(browser.found() is None, reason="needs Chromium: apt-get install chromium")
def test_the_views_in_a_browser(given: Running, tmp_path: Path) -> None:
    program = browser.found()
    assert program is not None
    go = "[...document.querySelectorAll('#views button')].find((own) => own.textContent === '{}').click()"
    with Browser(program, tmp_path) as tab:
        for width in (1200, 360):
            tab.open("about:blank")
            tab.open(given.address, width=width)
            until(lambda: tab.evaluate("document.querySelectorAll('#views button').length") == 3)
            tab.evaluate(go.format("Evaluation"))
            until(lambda: tab.evaluate("document.querySelectorAll('.evaluation .curve').length") > 0)
            assert "finds the words that matter" in tab.evaluate("document.querySelector('.verdict').innerText")
            assert tab.evaluate("document.documentElement.scrollWidth") <= width
            tab.evaluate(go.format("Corpus"))
            until(lambda: tab.evaluate("document.querySelectorAll('.corpus-words tbody tr').length") > 0)
            until(lambda: tab.evaluate("document.querySelectorAll('.corpus-texts tbody tr').length") == 24)
            assert ATTACK in tab.evaluate("document.querySelector('.corpus-texts').innerText")
            assert tab.evaluate("document.documentElement.scrollWidth") <= width
        link = tab.evaluate("location.href")
        tab.evaluate("document.querySelectorAll('.corpus-texts .opens')[2].click()")
        until(lambda: tab.evaluate("document.querySelector('textarea')?.value ?? ''") == TEXTS[2][0])
        assert tab.evaluate("document.title") == "limelight"
        tab.open("about:blank")
        tab.open(link)
        until(lambda: tab.evaluate("document.querySelectorAll('.corpus-texts tbody tr').length") == 24)
        assert tab.complaints() == []


@pytest.mark.skipif(browser.found() is None, reason="needs Chromium: apt-get install chromium")
def test_an_accessibility_checker_finds_nothing_serious_in_the_views(given: Running, tmp_path: Path) -> None:
    axe, program = accessibility.checker(tmp_path / "axe"), browser.found()
    assert program is not None
    go = "[...document.querySelectorAll('#views button')].find((own) => own.textContent === '{}').click()"
    shows = {"Evaluation": ".evaluation .curve", "Corpus": ".corpus-words tbody tr"}
    with Browser(program, tmp_path) as tab:
        for width, scheme in ((1200, "light"), (400, "dark")):
            for view, part in shows.items():
                tab.open("about:blank")
                tab.open(given.address, width=width, scheme=scheme)
                until(lambda: tab.evaluate("document.querySelectorAll('#views button').length") == 3)
                tab.evaluate(go.format(view))
                until(lambda part=part: tab.evaluate(f"document.querySelectorAll('{part}').length") > 0)
                assert accessibility.serious(tab, axe) == [], (view, width, scheme)


def test_a_corpus_without_texts_opens_none(folders: Path) -> None:
    with running([Served("embedded", limelight.load())], corpus=ServedCorpus.read(folders / "without texts")) as own:
        assert own.post("/corpus/text", {"row": 1}).json["kept"] is False
