"""evaluate() on every kind of model: windows, pairs, labels that exclude no other, numbers, functions, noise."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import limelight
from limelight import cli
from limelight.core.progress import SILENT, Silent
from limelight.errors import CapabilityError, InputError, LimelightError
from limelight.evaluation.__main__ import main as plain_main
from limelight.evaluation.case import Record
from limelight.evaluation.command import Options, run
from limelight.evaluation.measure import Key
from limelight.evaluation.measures.stability import same_features
from limelight.evaluation.run_folder import EvaluationFolder, read_evaluation
from limelight.evaluation.shared_answers import Answers, sharing
from limelight.inputs.features import features_of
from limelight.models.huggingface.module_copy import ModuleCopy
from limelight.models.interface import STEP
from reference.small_transformers import small_pair_transformer, small_transformer

pytestmark = pytest.mark.filterwarnings("ignore::limelight.errors.ExplanationWarning")
TEXTS = [
    "The film was great, but it's far too long!",
    "Bad film: not very good, and the scene is too long",
    "great",
    "not very good at all",
]
SHORT = ["the film was great, but too long", "a bad and long film", "great"]
LONG = [" ".join(TEXTS * 2), " ".join(TEXTS[::-1] * 2)]
PAIRS = [("The film was great", "The film is long"), ("Bad film, not good", "A great film"), ("great", "not great")]
MULTI = {"labels": ("happy", "angry", "sad"), "problem_type": "multi_label_classification"}
MOST = 1.15
"""Times the forwards that the distinct inputs need."""


def said(evaluation: limelight.Evaluation) -> str:
    return " ".join(evaluation.verdict)


def measured(evaluation: limelight.Evaluation) -> set[str]:
    return {key.measure for key in evaluation.keys}


def whole(evaluation: limelight.Evaluation) -> None:
    """Every form of it can be had, and JSON keeps it."""
    page = evaluation.to_html()
    assert "<svg" in page
    assert "nan" not in page.lower().replace("nanmean", "")
    assert len(evaluation.to_frame(summary=True)) > len(evaluation.methods)
    assert evaluation.plot().axes
    again = limelight.Evaluation.from_dict(json.loads(json.dumps(evaluation.to_dict(), allow_nan=False)))
    assert again == evaluation
    assert again.verdict == evaluation.verdict


# ── windows, and what a transformer is given ──────────────────────────────────────────────────────────────────────────


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> Counter[Any]:
    """Every input that any transformer is given by token numbers, without its padding, and how often."""
    given: Counter[Any] = Counter()
    original = ModuleCopy.logits

    def counting(tree: ModuleCopy, inputs: Any) -> Any:
        attention = np.ones(inputs.ids.shape, int) if inputs.attention is None else inputs.attention.numpy()
        hidden = attention.reshape(len(inputs.ids), -1)
        for ids, seen in zip(inputs.ids.tolist(), hidden.tolist(), strict=True):
            end = max(i for i, keeps in enumerate(seen[: len(ids)]) if keeps) + 1
            given[(*ids[:end], -1, *seen[:end])] += 1
        return original(tree, inputs)

    monkeypatch.setattr(ModuleCopy, "logits", counting)
    return given


@pytest.mark.parametrize(
    ("settings", "texts"), [({}, TEXTS[:2]), ({"window": True}, LONG[:1])], ids=["whole", "in windows"]
)
def test_each_distinct_input_is_given_to_a_transformer_once(
    settings: dict[str, Any], texts: list[str], rows: Counter[Any]
) -> None:
    """Counted at the model itself: methods and measures of all kinds, both removals."""
    model = limelight.wrap(*small_transformer("bert"), **settings)
    rows.clear()  # those of loading
    methods = ["lime", "shapley", "leave-one-out", "gxi", "alpha-avg"]
    evaluation = limelight.evaluate(model, texts, methods, n_samples=150, limits="found")
    assert sum(rows.values()) <= MOST * len(rows)
    inputs = evaluation.about["inputs"]
    assert inputs["given"] <= sum(rows.values())
    assert len(rows) - 1 <= inputs["distinct"] <= inputs["given"] <= MOST * inputs["distinct"]
    assert evaluation.about["windows"] == (len(texts) if settings else 0)
    assert ("read in windows" in said(evaluation)) is bool(settings)


@pytest.mark.parametrize("output", ["logit", "log-odds", "probability"])
@pytest.mark.parametrize("removal", ["mask", "delete", "attention"])
def test_windows_are_judged_by_the_mean_of_their_logits(removal: Any, output: Any) -> None:
    model = limelight.wrap(*small_transformer("bert"), window=True)
    words = model.view(LONG[0]).document.words
    weights = [[((word.start, word.end), float(i % 5 - 2)) for i, word in enumerate(words)]]
    evaluation = limelight.evaluate(
        model, LONG[:1], [], elsewhere={"mine": weights}, removal=removal, output=output, features="occurrences",
        steps=4, chance_orders=2, measures=["comprehensiveness", "flips"],
    )  # fmt: skip
    view = model.view(LONG[0])
    empty = view.game(features_of(view.document, "occurrences"), removal)(np.zeros((1, len(words)), dtype=bool))
    label = int(np.argmax(view.logits))
    of = limelight.models.outputs.Quantity(3, label, None, output).of
    lost = of(view.logits[None])[0] - of(empty)[0]
    place = {"method": "mine", "removal": removal, "output": output, "order": "towards"}
    assert evaluation.of(Key("comprehensiveness", "100%", **place))[0] == pytest.approx(lost, abs=1e-5)
    assert evaluation.about["removals"] == [*(["attention"] if removal == "attention" else []), "mask", "delete"]


def test_texts_that_are_cut_are_said() -> None:
    model = limelight.wrap(*small_transformer("bert"), truncate=True)
    evaluation = limelight.evaluate(model, [*LONG, TEXTS[0]], ["leave-one-out"], steps=4)
    assert "2 of 3 texts are longer than the model reads, and were cut" in said(evaluation)
    assert sum("were cut" in notice for notice in evaluation.about["notices"]) == 2


# ── pairs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def shares(pairs: Sequence[tuple[str, str]]) -> Any:
    """How much of the second text stands in the first."""
    found = [np.mean([word in a.lower().split() for word in b.lower().split() or ["-"]]) for a, b in pairs]
    return np.array([[1 - share, share] for share in found]) * 0.98 + 0.01


def test_pairs_are_judged_by_every_measure() -> None:
    model = limelight.wrap(*small_pair_transformer("bert"), pairs=True)
    evaluation = limelight.evaluate(
        model,
        PAIRS,
        ["lime", "leave-one-out", "alpha-avg"],
        measures="all",
        rationales=[[[(0, 3)], []], [None, [0, 1, 0]], None],
        counterfactuals=[("The film was bad", "The film is long"), None, ("bad", "not great")],
        n_samples=100,
    )
    assert "3 pairs of texts" in evaluation.verdict[0]
    assert {"plausibility", "counterfactual", "stability", "flips", "sanity"} <= measured(evaluation)
    assert evaluation.has(Key("stability", "white space", "leave-one-out"))
    whole(evaluation)


def test_marks_and_edits_of_a_pair_belong_to_its_texts() -> None:
    """By hand: the word marked or edited in the second text stands in the first one too, where it is not."""
    model = limelight.wrap(shares, labels=["no", "yes"], pairs=True)
    pair = ("film is good", "good film")
    weights = {"second": [[((1, "good"), 1.0)]], "first": [[((0, "good"), 1.0)]], "span": [[((1, 0, 4), 1.0)]]}
    evaluation = limelight.evaluate(
        model,
        [pair],
        [],
        elsewhere=weights,
        rationales=[[[], [1, 0]]],
        counterfactuals=[("film is good", "zebra film zebra")],
        measures=["plausibility", "counterfactual"],
        target="yes",
    )
    for measure in ("plausibility", "counterfactual"):
        precision = {
            name: evaluation.of(Key(measure, "average precision", name, order="absolute"))[0] for name in weights
        }
        assert precision["second"] == precision["span"] == pytest.approx(1.0)
        assert precision["first"] < 0.5


def test_a_word_of_an_edited_pair_is_found_in_its_own_text() -> None:
    assert same_features(["a", "film", "film"], ["film", "a"], [0, 0, 1], [1, 0]) == ([0, 2], [1, 0])
    assert same_features(["a", "film", "film"], ["film", "A", "film"]) == ([0, 1, 2], [1, 0, 2])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"texts": [*PAIRS[:2], "film"]}, "text 3: this model reads pairs of texts"),
        ({"rationales": [[1, 0, 0, 0], None, None]}, "text 1 must be two rationales, one for each text"),
        (
            {"rationales": [None, None, [[1, 0], None]]},
            "text 3, first of the pair has 2 zeros and ones, and .* 1 words",
        ),
        ({"counterfactuals": ["film", None, None]}, "text 1 must be a pair of texts"),
        ({"counterfactuals": [PAIRS[0], None, None]}, "is the text itself"),
        ({"elsewhere": {"m": [[((0, 3), 1.0)], [], []]}}, r"a span is \(side, start, end\)"),
        ({"elsewhere": {"m": [[((1, 0, 99), 1.0)], [], []]}}, "side 1: .* the length of the text"),
        ({"elsewhere": {"m": [[((1, "great"), 1.0)], [], []]}}, "text 1: the word 'great' is not in the text"),
    ],
)
def test_what_does_not_fit_a_pair_is_named(arguments: dict[str, Any], says: str) -> None:
    model = limelight.wrap(shares, labels=["no", "yes"], pairs=True)
    with pytest.raises(InputError, match=says):
        limelight.evaluate(model, **{"texts": PAIRS, "methods": ["leave-one-out"], **arguments})
    single = limelight.wrap(noiseless, labels=["no", "yes"])
    with pytest.raises(InputError, match="text 1: this model reads single texts"):
        limelight.evaluate(single, PAIRS, ["leave-one-out"])


# ── labels that exclude no other ──────────────────────────────────────────────────────────────────────────────────────


def tags(texts: Sequence[str]) -> Any:
    """`sound` by its word; `plot` is likely whatever there is; `end` never reaches one half."""
    return np.array([[0.8 if "music" in text else 0.1, 0.9, 0.4 if "end" in text else 0.2] for text in texts])


TAGGED = ["the music is fine", "the end is near", "no music at the end"]


def tagger() -> Any:
    return limelight.wrap(tags, labels=["sound", "plot", "end"], kind="multi-label")


def test_each_label_is_a_question_of_its_own() -> None:
    """`sound` is never the likeliest label, and still is given to two texts and taken away with one word."""
    evaluation = limelight.evaluate(
        tagger(),
        TAGGED,
        ["leave-one-out"],
        target="sound",
        counterfactuals=["the plot is fine", None, "no music at the start"],
    )
    place = {"method": "leave-one-out", "removal": "mask", "order": "towards"}
    np.testing.assert_allclose(evaluation.of(Key("flips", "part", **place)), [1 / 4, np.nan, 1 / 5])
    np.testing.assert_array_equal(evaluation.of(Key("counterfactual", "label follows")), [1.0, np.nan, 0.0])
    assert "2 of 3 texts: 'flips' is of these alone" in evaluation.about["notices"][0]
    assert "each is a question of its own" in said(evaluation)
    assert "here it is sound" in said(evaluation)


def test_a_label_that_never_reaches_one_half_is_said() -> None:
    evaluation = limelight.evaluate(tagger(), TAGGED, ["leave-one-out"], target="end")
    assert "one half or more to 'end' for none of the texts" in evaluation.about["notices"][0]
    assert "flips" not in measured(evaluation)
    likeliest = limelight.evaluate(tagger(), TAGGED, ["leave-one-out"])
    assert [document["target"] for document in likeliest.documents] == ["plot"] * 3
    assert "the likeliest of each text" in said(likeliest)
    assert "of the likeliest label" in likeliest.to_html()
    assert not likeliest.about["notices"]


def test_log_odds_of_a_label_are_its_logit() -> None:
    model = limelight.wrap(*small_transformer("bert", **MULTI))
    asked: dict[str, Any] = {"measures": ["comprehensiveness"], "target": "angry", "steps": 4}
    logit, odds = (
        limelight.evaluate(model, TEXTS[:2], ["leave-one-out"], output=output, **asked)
        for output in ("logit", "log-odds")
    )
    place = {"method": "leave-one-out", "removal": "mask", "order": "towards"}
    one, other = (own.of(Key("comprehensiveness", "all", output=own.summary.output, **place)) for own in (logit, odds))
    np.testing.assert_allclose(one, other)
    whole(odds)


# ── numbers ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def stars(texts: Sequence[str]) -> Any:
    return np.array([3.0 + text.count("great") - text.count("bad") - 0.5 * text.count("long") for text in texts])


def test_a_regression_has_no_label_to_turn_and_says_so() -> None:
    model = limelight.wrap(stars, kind="regression")
    texts = [f"{text.lower()} {last}" for last in ("film", "plot", "end") for text in TEXTS]  # six of them count
    evaluation = limelight.evaluate(
        model,
        texts,
        ["leave-one-out", "shapley", "gxi"],
        measures="all",
        counterfactuals=[None, texts[0], *[None] * 10],
        elsewhere={"sizes": [[(text.split()[0], 1.0)] for text in texts]},
    )
    assert evaluation.about["outputs"] == ["value"]
    assert list(evaluation.about["unfit"]) == ["counterfactual", "flips", "out-of-distribution", "sanity"]
    assert not {"counterfactual", "flips"} & measured(evaluation)
    assert "flips (a regression has no label that could change)" in said(evaluation)
    assert "whether they raise or lower the number" in said(evaluation)
    assert "side they speak" not in said(evaluation)
    page = evaluation.to_html()
    assert "predicted label" not in page
    assert "by what raises the number" in page
    assert "a regression has no label" in page
    assert {one.method: one.score.value for one in evaluation.summary.standings("signed")} == {
        "leave-one-out": pytest.approx(1.0),
        "shapley": pytest.approx(1.0),
    }
    whole(evaluation)


def test_what_a_regression_cannot_be_asked_is_an_error() -> None:
    model = limelight.wrap(stars, kind="regression")
    with pytest.raises(CapabilityError, match=r"none of the measures applies .* flips: a regression has no label"):
        limelight.evaluate(model, TEXTS, ["leave-one-out"], measures=["flips"])
    several = limelight.wrap(*small_transformer("bert", problem_type="regression"))
    with pytest.raises(InputError, match=r"3 outputs, 'negative', 'neutral', 'positive', .* target='negative'"):
        limelight.evaluate(several, TEXTS, ["leave-one-out"])
    one = limelight.evaluate(several, TEXTS[:2], ["leave-one-out"], target="neutral", steps=4)
    assert "value of <bdi>neutral</bdi>" in one.to_html()


# ── functions, and their noise ────────────────────────────────────────────────────────────────────────────────────────


def noiseless(texts: Sequence[str]) -> Any:
    p = 1.0 / (1.0 + np.exp(2.5 - stars(texts)))
    return np.stack([1.0 - p, p], axis=1)


def nothing_but_noise(seed: int) -> Any:
    rng = np.random.default_rng(seed)

    def answer(texts: Sequence[str]) -> Any:
        p = 1.0 / (1.0 + np.exp(-rng.normal(size=len(texts))))
        return np.stack([1.0 - p, p], axis=1)

    return answer


WORDS = "the a film was it and plot cast".split()
SHUFFLED = [" ".join(map(str, np.random.default_rng(i).permutation(WORDS))) for i in range(16)]


def test_no_method_is_judged_by_the_noise_that_it_was_made_from() -> None:
    """All weights are noise here: a measure that asked for the same answers again would call them right."""
    model = limelight.wrap(nothing_but_noise(0), labels=["no", "yes"])
    evaluation = limelight.evaluate(
        model,
        SHUFFLED,
        ["leave-one-out", "shapley", "lime"],
        measures=["comprehensiveness", "sign", "stability"],
        n_samples=100,
    )
    for one in evaluation.summary.standings("signed"):
        assert one.decision.verdict in ("equal", "undecided"), one
        sign = evaluation.summary.mean(Key("sign", "", one.method, removal="mask", output="log-odds"))
        assert sign.low < 0.6
        assert evaluation.summary.mean(Key("stability", "seed", one.method)).high < 0.5
    for own in evaluation.methods.values():
        assert own["accuracy"] == "sampled"
        assert own["error"] > 1.0  # a weight is smaller than its error
    assert evaluation.about["noise"]["texts"] == len(SHUFFLED)
    assert "answers differently when it is asked the same again" in said(evaluation)


def test_a_function_that_repeats_itself_is_not_asked_anew() -> None:
    given: list[str] = []

    def counting(texts: Sequence[str]) -> Any:
        given.extend(texts)
        return noiseless(texts)

    evaluation = limelight.evaluate(
        limelight.wrap(counting, labels=["no", "yes"]), SHUFFLED[:3], ["leave-one-out", "lime"], n_samples=100
    )
    assert len(given) <= MOST * len(set(given))
    assert evaluation.about["noise"]["texts"] == 0
    assert "asked the same again" not in said(evaluation)


def test_a_shared_game_tells_all_that_the_game_tells() -> None:
    noisy = limelight.wrap(nothing_but_noise(1), labels=["no", "yes"])
    rounded = limelight.wrap(*small_transformer("bert"), dtype="bfloat16")
    for model, text in ((noisy, SHUFFLED[0]), (rounded, LONG[0][:100])):
        view = model.view(text)
        features = features_of(view.document, "occurrences")
        assert isinstance(view.logits, np.ndarray)
        answers = Answers(view, features, "mask")
        shared: Any = sharing(view, features, {"mask": answers})
        first, second = (shared.game(features, "mask") for _ in range(2))
        kept = np.random.default_rng(0).random((40, len(features))) < 0.7
        kept[0] = True
        np.testing.assert_array_equal(first(kept), second(kept))
        assert first.asked >= second.asked == len(np.unique(kept, axis=0))  # some are asked in two precisions
        if model is rounded:
            assert first.facts.precision.dtype == "bfloat16"
            assert first.step == answers.game.step >= STEP
        else:
            assert second.facts.noise == first.facts.noise > 0.0
            assert not np.array_equal(second.again(kept, 1), first(kept))


def test_six_classes_in_every_output() -> None:
    def six(texts: Sequence[str]) -> Any:
        z = stars(texts)[:, None] * np.linspace(0.0, 1.5, 6) + np.array([0.0, 0.0, 3.0, 0.0, 0.0, 0.0])
        return np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)

    model = limelight.wrap(six)
    for output in ("log-odds", "probability", "logit"):
        evaluation = limelight.evaluate(model, SHORT, "all", output=output, target="class 5", n_samples=50)
        found = {one.method: one.score.value for one in evaluation.summary.standings("signed")}
        assert found["leave-one-out"] == pytest.approx(1.0, abs=1e-6)
        assert set(found) == {"leave-one-out", "lime", "shapley"}
        assert "gxi" in evaluation.about["skipped"]
        whole(evaluation)


def test_a_text_of_one_word_does_not_count_as_one_more_that_agrees() -> None:
    """One text alone has no interval; with a text of one word beside it there is no more to go by."""
    model = limelight.wrap(noiseless, labels=["no", "yes"])
    alone = limelight.evaluate(model, SHORT[:1], ["leave-one-out"])
    beside = limelight.evaluate(model, [SHORT[0], "great", "film"], ["leave-one-out"])
    for evaluation in (alone, beside):
        (one,) = evaluation.summary.standings("signed")
        assert one.score.documents == 1
        assert np.isnan(one.score.low)
        assert one.decision.verdict == "undecided"
        assert "leave-one-out: 1.00 undecided whether it is better than chance with 1 text." in evaluation.verdict
    assert "2 of 3 texts do not count in these scores" in said(beside)
    assert "do not count" not in said(alone)


# ── the command ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models and data, as files."""
    path = tmp_path_factory.mktemp("kinds")
    for name, (model, own) in {
        "classes": small_transformer("bert"),
        "pairs": small_pair_transformer("bert"),
        "tags": small_transformer("bert", **MULTI),
        "stars": small_transformer("bert", labels=("stars",), problem_type="regression"),
    }.items():
        model.save_pretrained(path / name)
        own.save_pretrained(path / name)
    rows: list[dict[str, Any]] = [{"id": f"t{i}", "text": text} for i, text in enumerate(SHORT)]
    pairs = [
        {"id": f"p{i}", "text": a, "second": b, "marks": [[[0, 3]], []], "edited": [a, f"{b} bad"]}
        for i, (a, b) in enumerate(PAIRS)
    ]
    for name, table in {
        "texts": rows,
        "long": [*rows[:1], *({"id": f"l{i}", "text": text} for i, text in enumerate(LONG))],
        "two": pairs,
    }.items():
        (path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, table)))
    return path


class StopAfterOne(Silent):
    def advance(self, steps: int = 1, note: str = "") -> None:
        raise KeyboardInterrupt


KINDS: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "windows": ("long", "classes", {"loading": {"window": True}}, "2 of 3 texts are read in windows"),
    "pairs": (
        "two",
        "pairs",
        {"second_column": "second", "rationale_column": "marks", "counterfactual_column": "edited"},
        "3 pairs of texts",
    ),
    "multi-label": ("texts", "tags", {}, "exclude no other"),
    "regression": ("texts", "stars", {}, "no label to turn"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_command_is_left_and_goes_on(kind: str, folder: Path, tmp_path: Path) -> None:
    data, model, settings, says = KINDS[kind]
    settings = {**settings, "loading": {"dtype": "float32", **settings.get("loading", {})}}
    asked = Options(
        data=folder / f"{data}.jsonl", out=tmp_path / "out", model=str(folder / model), id_column="id", steps=4,
        limits="found", methods=["lime", "leave-one-out", "alpha-avg"], options={"n_samples": 50}, **settings,
    )  # fmt: skip
    with pytest.raises(KeyboardInterrupt):
        run(asked, StopAfterOne())
    resumed = run(asked, SILENT)
    again = run(replace(asked, out=tmp_path / "again"), SILENT)
    np.testing.assert_array_equal(resumed.values, again.values)
    assert resumed.about["notices"] == again.about["notices"]
    assert read_evaluation(asked.out) == resumed
    assert says in said(resumed)
    page = (asked.out / "report.html").read_text(encoding="utf-8")
    assert says in page
    assert all((asked.out / name).stat().st_size for name in ("summary.csv", "texts.csv"))
    links = [f"texts/{file.name}" for file in (asked.out / "texts").iterdir()]
    assert links
    assert all(link in page for link in links)


def test_a_record_comes_back_as_it_was_kept(tmp_path: Path) -> None:
    place = EvaluationFolder(tmp_path / "out")
    place.claim("digest", {})
    record = Record(0, "t", 3, "no", "yes", {Key("sign"): 0.5}, {}, ("cut",), False, 7, 6, 0.25)
    place.keep(record)
    assert place.known(0) == record


def test_a_folder_of_texts_that_were_cut_is_none_of_texts_in_windows(folder: Path, tmp_path: Path) -> None:
    asked = Options(
        data=folder / "long.jsonl", out=tmp_path / "out", model=str(folder / "classes"), methods=["gxi"], steps=4,
        loading={"dtype": "float32", "truncate": True},
    )  # fmt: skip
    assert "2 of 3 texts are longer than the model reads" in said(run(asked, SILENT))
    with pytest.raises(InputError, match=r"another evaluation .*truncate"):
        run(replace(asked, loading={"dtype": "float32", "window": True}), SILENT)
    with pytest.raises(InputError, match=r"another evaluation .*loading"):
        run(replace(asked, loading={"dtype": "bfloat16", "truncate": True}), SILENT)


def test_texts_that_were_left_out_stand_in_the_report(folder: Path, tmp_path: Path) -> None:
    asked = Options(
        data=folder / "long.jsonl", out=tmp_path / "out", model=str(folder / "classes"), methods=["gxi"],
        id_column="id", loading={"dtype": "float32"},
    )  # fmt: skip
    evaluation = run(asked, SILENT)
    assert list(evaluation.about["left_out"]) == ["l0", "l1"]
    assert "2 texts of the data were left out" in said(evaluation)
    assert "text l1: the text has" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_both_commands_read_pairs_and_kinds(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shared = ["--method", "leave-one-out", "--steps", "4", "--dtype", "float32", "--id-column", "id"]
    pairs = [str(folder / "two.jsonl"), "--second-column", "second", "--model", str(folder / "pairs"), *shared]
    assert plain_main([*pairs, "--out", str(tmp_path / "plain")]) == 0
    assert "3 pairs of texts" in capsys.readouterr().out
    result = CliRunner().invoke(cli.app, ["evaluate", *pairs, "--out", str(tmp_path / "plain")])
    assert result.exit_code == 0, result.output
    texts = [str(folder / "texts.jsonl"), "--model", str(folder / "classes"), "--kind", "multi-label", *shared]
    assert plain_main([*texts, "--out", str(tmp_path / "kind")]) == 0
    assert "exclude no other" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"second_column": "secnd"}, "did you mean 'second'"),
        ({"second_column": "marks"}, r"column 'marks' must hold texts, but row 1"),
        ({"second_column": "second", "rationale_column": "text"}, "rationale of text 'p0' must be a list"),
        (
            {"second_column": "second", "counterfactual_column": "text"},
            "counterfactual of text 'p0' must be a list of two",
        ),
        ({"second_column": "second", "loading": {"window": True}}, "a pair of texts is not read in windows"),
        ({"second_column": "second", "model": None}, "only Hugging Face models take pairs"),
    ],
)
def test_what_is_wrong_with_a_table_of_pairs_is_named(
    settings: dict[str, Any], says: str, folder: Path, tmp_path: Path
) -> None:
    asked = Options(
        data=folder / "two.jsonl", out=tmp_path / "out", model=str(folder / "pairs"), id_column="id",
        methods=["leave-one-out"],
    )  # fmt: skip
    with pytest.raises(LimelightError, match=says):
        run(replace(asked, **settings), SILENT)
