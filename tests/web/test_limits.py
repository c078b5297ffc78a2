"""Each limit of the server, reached and exceeded by one: what is said, and that what is within it is answered."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from typing import Any

import pytest

import limelight
from limelight.errors import ParameterError
from limelight.web.refusals import Limits
from limelight.web.site import Served
from web.fixtures import server
from web.server import Answer, Running, Slow, running, until

__all__ = ["server"]

SMALL = Limits(text=40, body=4_000, samples=64, methods=2)
TEXT = "one two three"
ORDER = {"orders": {"a": [0, 1, 2]}}
ASKING: list[tuple[str, dict[str, Any]]] = [
    ("/predict", {}), ("/explain", {"methods": ["leave-one-out"]}), ("/compare", {"methods": ["leave-one-out"]}),
    ("/remove", {"removed": [0]}), ("/curve", ORDER),
]  # fmt: skip


@pytest.fixture(scope="module")
def small() -> Iterator[Running]:
    """A server with limits that are soon reached."""
    with running([Slow(0.0).served()], limits=SMALL) as own:
        yield own


def answered(own: Running, path: str, content: Any, said: str = "") -> int:
    """The status, be it of a stream; `said`: what the sentence must hold."""
    answer = own.post(path, content)
    if answer.status == 200 and path == "/compare":
        events = list(own.events(path, content))
        if events[-1][0] == "error":
            assert said in events[-1][1]["message"]
            return int(events[-1][1]["status"])
        assert [name for name, _ in events if name in ("row", "failed")] == ["row"]
    elif answer.status != 200:
        assert said in answer.message
    return answer.status


# ── of one request ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("path", "more"), ASKING)
def test_characters_of_a_text(small: Running, path: str, more: dict[str, Any]) -> None:
    longest = TEXT + "!" * (40 - len(TEXT))
    assert len(longest) == 40
    if path != "/curve":  # other features would need other orders
        assert answered(small, path, {"text": longest, **more}) == 200
    answer = small.post(path, {"text": f"{longest}.", **more})
    assert (answer.status, "41 characters, and this server takes 40" in answer.message) == (413, True)


def test_characters_of_both_texts_of_a_pair() -> None:
    model = limelight.wrap(lambda pairs: [[0.5, 0.5]] * len(pairs), labels=["no", "yes"], pairs=True)
    with running([Served("pairs", model)], limits=SMALL) as own:
        assert own.post("/predict", {"text": ["a" * 20, "b" * 20]}).status == 200
        assert own.post("/predict", {"text": ["a" * 20, "b" * 21]}).status == 413


@pytest.mark.parametrize("path", [*(path for path, _ in ASKING), "/export", "/cancel", "/corpus/texts"])
def test_bytes_of_a_request(small: Running, path: str) -> None:
    """White space counts: it is read as well."""
    assert small.post(path, b"{}".ljust(4_000)).status != 413
    answer = small.post(path, b"{}".ljust(4_001))
    assert (answer.status, "4,000 bytes" in answer.message) == (413, True)


@pytest.mark.parametrize("path", ["/explain", "/compare"])
@pytest.mark.parametrize(
    ("method", "more", "name"),
    [
        ("lime", lambda n: {"samples": n}, "n_samples"),
        ("lime", lambda n: {"options": {"n_samples": n}}, "n_samples"),
        ("shapley", lambda n: {"samples": n}, "n_samples"),
        ("shapley", lambda n: {"options": {"n_samples": n}}, "n_samples"),
        ("shapley", lambda n: {"options": {"n_permutations": n}}, "n_permutations"),
    ],
)
def test_samples_and_permutations(small: Running, path: str, method: str, more: Any, name: str) -> None:
    question = {"text": "one two three four five six", "methods": [method]}
    assert answered(small, path, {**question, **more(64)}) == 200
    said = f"{name} may be at most 64 on this server: got 65"
    assert answered(small, path, {**question, **more(65)}, said) == 422


@pytest.mark.parametrize("name", ["n_samples", "n_permutations"])
@pytest.mark.parametrize("given", [1e300, 64.5, "Infinity", "NaN", "9" * 400])
def test_counts_that_are_no_counts(small: Running, name: str, given: Any) -> None:
    """Python's JSON knows Infinity and NaN, which are above nothing and below nothing."""
    content = f'{{"text": "one two", "methods": ["shapley"], "options": {{"{name}": {given}}}}}'.encode()
    answer = small.post("/explain", content)
    assert answer.status == 422, answer.body
    assert small.post("/predict", {"text": "still there"}).status == 200


def test_fewer_samples_than_two(small: Running) -> None:
    assert small.post("/explain", {"text": TEXT, "methods": ["lime"], "samples": 1}).status == 422


@pytest.mark.parametrize("path", ["/explain", "/compare"])
def test_methods_of_a_request(small: Running, path: str) -> None:
    question = {"text": TEXT, "samples": 64}
    assert small.post(path, {**question, "methods": ["lime", "leave-one-out"]}).status == 200
    said = "1 to 2 ids: got 3"
    assert answered(small, path, {**question, "methods": ["lime", "leave-one-out", "shapley"]}, said) == 422
    assert answered(small, path, {**question, "methods": ["lime"] * 3}, said) == 422, "named again is named"


def test_orders_of_a_curve(small: Running) -> None:
    orders = {str(k): [0, 1, 2] for k in range(20)}
    assert small.post("/curve", {"text": TEXT, "orders": orders}).status == 200
    refused = small.post("/curve", {"text": TEXT, "orders": {**orders, "more": [0, 1, 2]}})
    assert (refused.status, "1 to 20 orders: got 21" in refused.message) == (422, True)


@pytest.mark.parametrize(
    ("options", "said"),
    [({"steps": 4097}, "at most 4,096"), ({"max_steps": 0}, "max_steps"), ({"tolerance": 0.0}, "tolerance"),
     ({"dominant": 40}, "dominant is at most")],
)  # fmt: skip
def test_options_whose_work_grows_faster_than_they_do(server: Running, options: dict[str, Any], said: str) -> None:
    method = "lime-mean-field" if "dominant" in options else "integrated-gradients"
    answer = server.post("/explain", {"text": TEXT, "methods": [method], "options": options})
    assert (answer.status, said in answer.message) == (422, True), answer.body


def test_a_header_without_end_is_not_read(small: Running) -> None:
    assert small.get("/api/v1/models", **{"Limelight-Client": "x" * 10_000}).status == 200
    try:
        refused = small.get("/api/v1/models", **{"Limelight-Client": "x" * 1_000_000}).status
    except ConnectionError:
        refused = 0  # it hung up while more was being sent
    assert refused in (0, 400, 431)
    assert small.get("/api/v1/models").status == 200


# ── of all that are there ─────────────────────────────────────────────────────────────────────────────────────────────


class Crowd:
    """A model that counts how many ask it at once, and answers nobody until it is let go."""

    def __init__(self) -> None:
        self.now = self.most = 0
        self._lock, self.go = threading.Lock(), threading.Event()

    def __call__(self, texts: list[str]) -> list[list[float]]:
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)
        self.go.wait(20)
        with self._lock:
            self.now -= 1
        return [[0.25, 0.75]] * len(texts)

    def served(self) -> Served:
        return Served("crowd", limelight.wrap(self, labels=["no", "yes"]))


def each(own: Running, path: str, contents: list[Any], clients: int) -> list[Any]:
    """Requests at the same time; each is by one of so many clients."""
    pool = ThreadPoolExecutor(len(contents))
    return [
        pool.submit(own.post, path, content, {"Limelight-Client": str(k % clients)})
        for k, content in enumerate(contents)
    ]


@pytest.mark.parametrize(
    ("path", "more"),
    [("/predict", {}), ("/explain", {"methods": ["leave-one-out"]}), ("/explain", {"samples": 8}),
     ("/curve", {"orders": {"a": [0, 1]}})],
)  # fmt: skip
def test_so_many_are_worked_on_at_the_same_time(path: str, more: dict[str, Any]) -> None:
    crowd = Crowd()
    with running([crowd.served()], limits=Limits(parallel=3)) as own:
        asked = each(own, path, [{"text": f"text {k}", **more} for k in range(7)], 7)
        until(lambda: crowd.now == 3)
        until(lambda: own.jobs.running == 7)
        time.sleep(0.05)
        assert crowd.now == 3
        crowd.go.set()
        assert [one.result(30).status for one in asked] == [200] * 7
        assert crowd.most == 3


def test_what_is_quick_does_not_wait_for_what_is_long() -> None:
    crowd = Crowd()
    with running([crowd.served()], limits=Limits(parallel=1)) as own:
        long = each(own, "/curve", [{"text": "one two", "orders": {"a": [0, 1]}}], 1)
        until(lambda: crowd.now == 1)
        quick = each(own, "/predict", [{"text": "another text"}], 1)
        until(lambda: crowd.now == 2)
        crowd.go.set()
        assert [one.result(30).status for one in long + quick] == [200, 200]


@pytest.mark.parametrize(("path", "more"), ASKING)
def test_requests_that_wait(path: str, more: dict[str, Any]) -> None:
    crowd = Crowd()
    question = {"text": TEXT, **more}
    with running([crowd.served()], limits=Limits(parallel=1, queue=2)) as own:
        asked = each(own, path, [question], 1)
        until(lambda: crowd.now == 1)
        asked += each(own, path, [question] * 2, 2)
        until(lambda: own.jobs.running == 3)
        refused = own.post(path, question, {"Limelight-Client": "late"})
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        assert "2 requests wait already" in refused.message
        crowd.go.set()
        assert [one.result(30).status for one in asked] == [200] * 3
        until(lambda: own.jobs.running == 0)
        assert own.post(path, question).status == 200, "and then there is room again"


@pytest.mark.parametrize(("path", "more"), ASKING)
def test_requests_of_one_client(path: str, more: dict[str, Any]) -> None:
    crowd = Crowd()
    question = {"text": TEXT, **more}
    with running([crowd.served()], limits=Limits(parallel=1, per_client=2)) as own:
        asked = each(own, path, [question] * 2, 1)
        until(lambda: own.jobs.running == 2)
        refused = own.post(path, question, {"Limelight-Client": "0"})
        assert (refused.status, refused.headers["retry-after"]) == (429, "1")
        assert "2 requests of yours" in refused.message
        crowd.go.set()
        assert [one.result(30).status for one in asked] == [200] * 2
        until(lambda: own.jobs.running == 0)
        assert own.post(path, question, {"Limelight-Client": "0"}).status == 200


def test_a_client_is_no_other_one_by_a_longer_name() -> None:
    """What is beyond 64 letters of a name is not kept, and makes nobody somebody else."""
    crowd = Crowd()
    with running([crowd.served()], limits=Limits(parallel=1, per_client=1)) as own:
        pool = ThreadPoolExecutor(2)
        name = "n" * 64
        first = pool.submit(own.post, "/predict", {"text": TEXT}, {"Limelight-Client": f"{name}one"})
        until(lambda: own.jobs.running == 1)
        assert own.post("/predict", {"text": TEXT}, {"Limelight-Client": f"{name}two"}).status == 429
        second = pool.submit(own.post, "/predict", {"text": TEXT}, {"Limelight-Client": f"{name[:-1]}x"})
        until(lambda: own.jobs.running == 2)
        crowd.go.set()
        assert [first.result(30).status, second.result(30).status] == [200, 200]


LONG = " ".join(f"word{k}" for k in range(40))


@pytest.mark.parametrize(
    ("path", "more"),
    [
        ("/explain", {"methods": ["lime"], "samples": 100_000}),
        ("/explain", {"methods": ["lime"], "options": {"seconds": 1e6}}),
        ("/explain", {"methods": ["shapley"], "until": "stable"}),
        ("/compare", {"methods": ["lime"], "samples": 100_000}),
        ("/curve", {"orders": {str(k): list(range(40)) for k in range(20)}}),
    ],
)
def test_seconds_of_a_computation(path: str, more: dict[str, Any]) -> None:
    with running([Slow(0.002).served()], limits=Limits(seconds=0.2)) as own:
        question = {"text": LONG, **more}
        began = time.monotonic()
        if path == "/compare":
            *_, (last, said) = own.events(path, question)
            assert (last, said["status"]) == ("error", 503)
            message = said["message"]
        else:
            answer: Answer = own.post(path, question)
            assert answer.status == 503, answer.body
            message = answer.message
        assert "more than 0.2 seconds" in message
        assert time.monotonic() - began < 5.0
        until(lambda: own.jobs.running == 0)


class Counted:
    """A model that counts the texts that it reads."""

    def __init__(self) -> None:
        self._model = Slow(0.0).served().model
        self.labels, self.read = self._model.labels, []

    def view(self, text: Any) -> Any:
        self.read.append(text)
        return self._model.view(text)

    def predict_logits(self, texts: Any) -> Any: ...

    def predict_proba(self, texts: Any) -> Any: ...


def test_texts_that_are_kept() -> None:
    """Two are kept: those that were asked for last, and no more of them."""
    model = Counted()
    with running([Served("counted", model)], limits=Limits(views=2)) as own:
        model.read.clear()
        for text in ("one", "two", "one", "three", "one", "two"):
            assert own.post("/predict", {"text": text}).status == 200
        assert model.read == ["one", "two", "three", "two"]


# ── what a limit is ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_stated_limits_are_those_of_the_documentation(server: Running) -> None:
    stated = {"text": 20_000, "body": 8_000_000, "samples": 200_000, "methods": 20, "parallel": 2, "queue": 64,
              "per_client": 8, "seconds": 600.0, "views": 16}  # fmt: skip
    assert {field.name: field.default for field in fields(Limits)} == stated
    told = server.get("/api/v1/models").json["limits"]
    assert told == {name: stated[name] for name in ("text", "samples", "methods", "parallel", "queue")}


@pytest.mark.parametrize("name", [field.name for field in fields(Limits)])
@pytest.mark.parametrize("value", [0, -1, True, None, "8", float("nan")])
def test_a_limit_is_a_number_above_zero(name: str, value: Any) -> None:
    with pytest.raises(ParameterError, match=f"the limit '{name}' must be a number above 0"):
        Limits(**{name: value})
