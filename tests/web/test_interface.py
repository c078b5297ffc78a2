"""What the interface answers: the numbers of the library, in one piece or as they come, and clear words otherwise."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import limelight
from conftest import small_model
from limelight.cli import app
from limelight.web.refusals import Limits
from limelight.web.site import Served
from web.fixtures import server
from web.server import Running, Slow, running, until

__all__ = ["server"]

TEXT = "A great film, but far too long."
CLOSE = 1e-12
"""The same numbers added in another order."""


def without_time(comparison: Any) -> Any:
    """A comparison without what differs between two runs: how long they took."""
    kept = [{name: own for name, own in e.items() if name != "seconds"} for e in comparison["explanations"]]
    return {**comparison, "explanations": kept}


# ── the numbers are the library's ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("request_", "arguments"),
    [
        ({}, []),
        ({"methods": ["lime", "shapley"], "seed": 7, "samples": 900},
         "--method lime,shapley --seed 7 --samples 900".split()),
        ({"methods": ["lime"], "until": "stable"}, "--method lime --until stable".split()),
        ({"methods": ["lime-limit"], "target": "negative", "removal": "delete"},
         "--method lime-limit --target negative --removal delete".split()),
        ({"methods": ["shapley"], "target": "positive", "against": "negative", "features": "occurrences"},
         "--method shapley --target positive:negative --features occurrences".split()),
        ({"methods": ["leave-one-out"], "output": "probability"},
         "--method leave-one-out --output probability".split()),
        ({"methods": ["lime"], "options": {"kernel_width": 0.5}}, "--method lime --set kernel_width=0.5".split()),
    ],
)  # fmt: skip
def test_the_numbers_are_those_of_the_command_line(server: Running, request_: Any, arguments: list[str]) -> None:
    answer = server.post("/explain", {"text": TEXT, **request_})
    assert answer.status == 200, answer.body
    printed = CliRunner().invoke(app, ["explain", TEXT, "--format", "json", *arguments])
    assert printed.exit_code == 0, printed.output
    assert without_time(answer.json["comparison"]) == without_time(json.loads(printed.stdout))


def test_a_stream_ends_with_the_same_numbers(server: Running) -> None:
    text = "one two three four five six seven eight nine ten great terrible film with a long end"
    question = {"text": text, "methods": ["lime", "gxi"], "seed": 3, "samples": 9000}
    events = list(server.events("/compare", {**question, "settle": True}))
    told = [name for name, _ in events if name != "progress"]
    assert told == ["job", "begun", *["row"] * 5, "done", "end"]
    rows = [data for name, data in events if name == "row"]
    assert [(row["row"], row["last"]) for row in rows] == [(1, True), *[(0, False)] * 3, (0, True)]
    assert [row["explanation"]["parameters"].get("n_samples") for row in rows] == [None, 2048, 4096, 8192, 9000]
    whole = server.post("/explain", question).json["comparison"]
    streamed = {"explanations": [rows[4]["explanation"], rows[0]["explanation"]]}
    assert without_time(streamed)["explanations"] == without_time(whole)["explanations"]


def test_a_row_that_fails_does_not_take_the_others_along(server: Running) -> None:
    question = {"text": "good", "model": "small", "methods": ["gxi", "lime"], "samples": 2}
    events = list(server.events("/compare", question))
    assert [name for name, _ in events if name in ("row", "failed", "done")][-1] == "done"


@pytest.mark.slow
def test_recipes_give_the_same_numbers(server: Running, tmp_path: Path) -> None:
    question = {
        "text": 'it\'s "bad" — \\ $HOME',
        "methods": ["lime", "shapley"],
        "samples": 700,
        "seed": 5,
        "target": "positive",
    }
    answer = server.post("/explain", question).json
    script = tmp_path / "recipe.py"
    script.write_text(
        answer["recipe"]["python"]
        .replace("print(", "import json; print(json.dumps(")
        .replace("to_dict())", "to_dict()))")
    )
    done = subprocess.run([sys.executable, "-W", "ignore", script], capture_output=True, text=True, check=True)
    assert without_time(json.loads(done.stdout)) == without_time(answer["comparison"])
    command = f"{sys.executable} -m {answer['recipe']['command']}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert without_time(json.loads(done.stdout)) == without_time(answer["comparison"])


def test_predictions_are_the_models_own(server: Running) -> None:
    answer = server.post("/predict", {"text": "the film was great", "model": "small"}).json
    expected = small_model().predict_proba(["the film was great"])[0]
    assert answer["labels"] == ["negative", "neutral", "positive"]
    np.testing.assert_allclose(answer["probabilities"], expected, rtol=0, atol=CLOSE)


@pytest.mark.parametrize("removal", ["mask", "delete"])
def test_a_removed_word_moves_the_prediction(server: Running, removal: str) -> None:
    question = {"text": "the film was great", "model": "small", "removal": removal, "target": "positive"}
    answer = server.post("/remove", {**question, "removed": [3]}).json
    instead = {"mask": "the film was [UNK]", "delete": "the film was"}[removal]
    logits = small_model().predict_logits(["the film was great", instead])
    np.testing.assert_allclose(answer["outputs"], logits[:, 2], rtol=0, atol=1e-9)
    np.testing.assert_allclose(answer["after"]["logits"], logits[1], rtol=0, atol=1e-9)
    loo = server.post("/explain", {**question, "methods": ["leave-one-out"]}).json["comparison"]["explanations"][0]
    assert math.isclose(answer["outputs"][0] - answer["outputs"][1], loo["weights"][3], abs_tol=1e-9)


def test_the_curve_lies_between_chance_and_the_best_possible(server: Running) -> None:
    """Against all orders of four words, one by one."""
    text, model = "great film too long", small_model()
    question = {
        "text": text,
        "model": "small",
        "target": "positive",
        "orders": {"one": [0, 1, 2, 3], "other": [3, 1, 0, 2]},
    }
    answer = server.post("/curve", question).json
    words = text.split()

    def output(gone: tuple[int, ...]) -> float:
        kept = " ".join("[UNK]" if j in gone else word for j, word in enumerate(words))
        return float(model.predict_logits([kept])[0, 2])

    table = np.array([[output(order[:size]) for size in range(5)] for order in permutations(range(4))])
    assert answer["sizes"] == [0, 1, 2, 3, 4]
    assert answer["exact"] is True
    np.testing.assert_allclose(answer["chance"], table.mean(axis=0), rtol=0, atol=1e-8)
    np.testing.assert_allclose(answer["lowest"], table.min(axis=0), rtol=0, atol=1e-8)
    assert (np.array(answer["bound"]) <= np.array(answer["lowest"]) + CLOSE).all()
    expected = [output((3, 1, 0, 2)[:size]) for size in range(5)]
    np.testing.assert_allclose(answer["orders"]["other"], expected, rtol=0, atol=1e-9)


def test_a_curve_of_any_other_model_says_what_is_sampled() -> None:
    with running([Slow(0.0).served()]) as own:
        answer = own.post("/curve", {"text": "one two three", "orders": {"a": [0, 1, 2]}}).json
    assert answer["exact"] is False
    assert answer["bound"] == [None] * 4
    assert min(answer["half_width"]) >= 0.0
    assert max(answer["half_width"][1:3]) > 0.0


@pytest.mark.parametrize(
    ("format", "begins"),
    [("html", b"<!DOCTYPE html>"), ("json", b"{"), ("csv", b"id,"), ("png", b"\x89PNG"), ("svg", b"<?xml")],
)
def test_exports(server: Running, format: str, begins: bytes) -> None:
    comparison = server.post("/explain", {"text": TEXT, "methods": ["lime", "gxi"]}).json["comparison"]
    answer = server.post("/export", {"comparison": comparison, "format": format})
    assert answer.status == 200
    assert answer.body.lstrip(b"\xef\xbb\xbf").startswith(begins)
    assert answer.headers["content-disposition"] == f'attachment; filename="limelight.{format}"'
    if format == "json":
        assert limelight.Comparison.from_dict(answer.json) == limelight.Comparison.from_dict(comparison)


def test_what_there_is_to_ask(server: Running) -> None:
    models = server.get("/api/v1/models").json
    assert [model["name"] for model in models["models"]] == ["embedded", "small"]
    assert "shapley" in models["models"][0]["methods"]
    assert {method["id"] for method in server.get("/api/v1/methods").json} == {m.id for m in limelight.methods()}
    paths = server.get("/api/v1/openapi.json").json["paths"]
    assert {path.removeprefix("/api/v1/") for path in paths} >= {
        "predict",
        "explain",
        "compare",
        "methods",
        "models",
        "cancel",
        "curve",
        "remove",
        "export",
    }


# ── bad input ─────────────────────────────────────────────────────────────────────────────────────────────────────────

BAD: list[tuple[str, Any, int, str]] = [
    ("/explain", {"text": ""}, 422, "no words"),
    ("/predict", {"text": "  \n"}, 422, "no words"),
    ("/explain", {"text": "x " * 20_000}, 413, "give a shorter one"),
    ("/predict", b'{"text": "\xff\xfe"}', 400, "JSON in UTF-8"),
    ("/predict", b'{"text": "', 422, "openapi"),
    ("/predict", b"[" * 100_000, 400, "JSON"),
    ("/predict", {"text": 5}, 422, "'text'"),
    ("/predict", {"text": ["a", "b"]}, 422, "single texts"),
    ("/predict", {"text": ["a", "b", "c"]}, 422, "list of 3"),
    ("/predict", {}, 422, "'text' is missing"),
    ("/predict", {"text": "a", "what": 1}, 422, "'what' is not a field"),
    ("/predict", {"text": "a", "model": "no"}, 422, "unknown model 'no'"),
    ("/predict", {"text": "a", "model": "../../etc/passwd"}, 422, "unknown model"),
    ("/explain", {"text": "a", "methods": ["shaply"]}, 422, "did you mean 'shapley'"),
    ("/explain", {"text": "a", "methods": []}, 422, "1 to 20"),
    ("/explain", {"text": "a", "methods": "lime"}, 422, "'methods'"),
    ("/explain", {"text": "a", "target": "good"}, 422, "unknown label"),
    ("/explain", {"text": "a", "target": "positive", "against": "positive"}, 422, "with itself"),
    ("/explain", {"text": "a", "against": "positive"}, 422, "needs a target"),
    ("/explain", {"text": "a", "removal": "burn"}, 422, "'removal'"),
    ("/explain", {"text": "a", "removal": "attention"}, 422, "attention"),
    ("/explain", {"text": "a", "output": "value"}, 422, "output"),
    ("/explain", {"text": "a", "seed": -1}, 422, "seed"),
    ("/explain", {"text": "a", "seed": 1.5}, 422, "'seed'"),
    ("/explain", {"text": "a b", "samples": 10**9}, 422, "at most 200,000"),
    ("/explain", {"text": "a b", "methods": ["lime"], "options": {"n_samples": 10**9}}, 422, "at most 200,000"),
    ("/explain", {"text": "a b", "methods": ["lime"], "options": {"n_samples": "many"}}, 422, "n_samples"),
    ("/explain", {"text": "a", "options": {"wings": 2}}, 422, "unknown option"),
    ("/remove", {"text": "a", "removed": [1]}, 422, "from 0 to 0"),
    ("/remove", {"text": "a", "removed": [-1]}, 422, "from 0 to 0"),
    ("/curve", {"text": "a b", "orders": {}}, 422, "1 to 20"),
    ("/curve", {"text": "a b", "orders": {"x": [0, 0]}}, 422, "each of the 2 features once"),
    ("/export", {"comparison": {}, "format": "html"}, 422, "missing"),
    ("/export", {"comparison": {"explanations": [1]}, "format": "html"}, 422, "damaged"),
    ("/export", {"comparison": {}, "format": "exe"}, 422, "'format'"),
    ("/cancel", {"job": "nobody's"}, 404, "no such job"),
    ("/nothing", {}, 404, "no such address"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "content", "status", "said"), BAD, ids=range(len(BAD)))
def test_bad_input_gets_clear_words(server: Running, path: str, content: Any, status: int, said: str) -> None:
    answer = server.post(path, content)
    assert (answer.status, said in answer.message) == (status, True), answer.body
    assert server.post("/predict", {"text": "still there"}).status == 200


def test_half_of_a_surrogate_pair_is_a_text_like_any_other(server: Running) -> None:
    answer = server.post("/explain", b'{"text": "half \\ud800 great", "methods": ["gxi"]}')
    assert answer.status == 200
    for format in ("html", "json", "csv", "svg"):
        exported = server.post("/export", {"comparison": answer.json["comparison"], "format": format})
        assert (exported.status, bool(exported.body.decode())) == (200, True)


def test_a_stream_refuses_as_everything_else_does(server: Running) -> None:
    (name, _), (last, said) = list(server.events("/compare", {"text": "", "methods": ["lime"]}))
    assert (name, last, said["status"]) == ("job", "error", 422)


# ── limits, stopping, going away ──────────────────────────────────────────────────────────────────────────────────────


def test_limits_of_queue_and_client() -> None:
    slow = Slow(0.01)
    limits = Limits(parallel=1, queue=2, per_client=2)
    question = {"text": "one two three four five six seven eight nine ten", "methods": ["lime"], "samples": 5000}
    with running([slow.served()], limits=limits) as own:
        mine = [own.events("/compare", question) for _ in range(2)]
        assert [next(events)[0] for events in mine] == ["job", "job"]
        refused = own.post("/compare", question)
        assert (refused.status, refused.headers["retry-after"]) == (429, "1")
        assert "requests of yours" in refused.message
        other = {"Limelight-Client": "another"}
        waits = own.connect()
        waits.request("POST", "/api/v1/compare", json.dumps(question), {"Content-Type": "application/json", **other})
        until(lambda: own.jobs.running == 3)
        full = own.post("/compare", question, {"Limelight-Client": "a third"})
        assert (full.status, "try again soon" in full.message) == (503, True)
        # What only predicts has threads of its own.
        assert own.post("/predict", {"text": "hello"}, {"Limelight-Client": "a third"}).status == 200
        waits.close()
        for events in mine:
            events.close()
        until(lambda: own.jobs.running == 0)


LONG = " ".join(f"word{k}" for k in range(40))
"""More coalitions than anybody asks for."""


def test_a_run_is_stopped_and_keeps_what_it_has() -> None:
    slow = Slow(0.0005)
    with running([slow.served()]) as own:
        events = own.events("/compare", {"text": LONG, "methods": ["lime"], "samples": 200_000})
        _, job = next(events)
        until(lambda: slow.asked > 600)
        assert own.post("/cancel", job).json == {"stopped": True}
        rest = list(events)
        assert rest[-1][0] == "stopped"
        (row,) = [data for name, data in rest if name == "row"]
        assert row["explanation"]["diagnostics"]["stopped"] == "interrupted"
        assert 256 <= row["explanation"]["parameters"]["n_samples"] < 200_000
        assert until(lambda: own.jobs.running == 0) < 1.0
        asked = slow.asked
        assert own.post("/cancel", job).status == 404
        assert slow.asked == asked < 200_000


@pytest.mark.parametrize("path", ["/compare", "/explain", "/curve"])
def test_who_goes_away_frees_the_work_within_a_second(path: str) -> None:
    slow = Slow(0.001)
    more = (
        {"orders": {str(k): list(range(40)) for k in range(20)}}
        if path == "/curve"
        else {"methods": ["lime"], "samples": 100_000}
    )
    slow.seconds = 0.01 if path == "/curve" else 0.001
    with running([slow.served()]) as own:
        connection = own.connect()
        connection.request(
            "POST", f"/api/v1{path}", json.dumps({"text": LONG, **more}), {"Content-Type": "application/json"}
        )
        until(lambda: slow.asked > 20)
        connection.sock.close()
        connection.close()
        assert until(lambda: own.jobs.running == 0) < 1.0
        asked = slow.asked
        until(lambda: own.post("/predict", {"text": "there"}).status == 200)
        assert slow.asked <= asked + 1


def test_work_that_takes_too_long_is_stopped() -> None:
    with running([Slow(0.001).served()], limits=Limits(seconds=0.3)) as own:
        answer = own.post(
            "/explain",
            {
                "text": LONG,
                "methods": ["lime"],
                "samples": 100_000,
            },
        )
        assert (answer.status, "fewer samples" in answer.message) == (503, True)


def test_a_pair_of_texts_is_a_list_of_two() -> None:
    def shared(pairs: list[tuple[str, str]]) -> np.ndarray:
        """The more words two texts have in common, the surer it is of yes."""
        common = np.array([len({*a.split()} & {*b.split()}) - 1.0 for a, b in pairs])
        sure = 1.0 / (1.0 + np.exp(-common))
        return np.stack([1.0 - sure, sure], axis=1)

    model, pair = (
        limelight.wrap(shared, labels=["no", "yes"], pairs=True),
        ("a dog runs home", "the dog sleeps at home"),
    )
    question = {"methods": ["leave-one-out"], "target": "yes"}
    with running([Served("pairs", model)]) as own:
        answer = own.post("/explain", {"text": list(pair), **question})
        assert answer.status == 200, answer.text
        refused = own.post("/explain", {"text": "one text", **question})
        assert (refused.status, "pairs" in refused.message) == (422, True)
    expected = limelight.compare(model, pair, ["leave-one-out"], target="yes")
    assert without_time(answer.json["comparison"]) == without_time(expected.to_dict())
    assert answer.json["comparison"]["explanations"][0]["sides"] == [0] * 4 + [1] * 5
