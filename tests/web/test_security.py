"""Who may ask, and what never gets out: one test for each line of the door."""

from __future__ import annotations

import hmac
import io
import re
from collections.abc import Iterator
from contextlib import redirect_stderr
from importlib import resources
from typing import Any

import pytest

from conftest import small_model
from limelight.web import security
from limelight.web.refusals import Limits
from limelight.web.security import POLICY, Door, is_loopback
from limelight.web.site import Served
from web.fixtures import server
from web.server import Running, Slow, running

__all__ = ["server"]

TOKEN = "a-token-that-nobody-guesses"
ATTACK = "\"><script>document.title='attacked'</script><img src=x onerror=\"document.title='attacked'\">"
SECRET = "xyzzy-is-what-nobody-may-read"


@pytest.fixture(scope="module")
def guarded() -> Iterator[Running]:
    """A server that others can reach, as far as its door knows."""
    with running([Served("small", small_model())], Door("0.0.0.0", TOKEN, frozenset({"lab.example"}))) as own:
        yield own


# ── names ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1:8642", "[::1]", "[::1]:8642", "localhost."])
def test_its_own_names_are_answered(server: Running, host: str) -> None:
    assert server.get("/api/v1/models", Host=host).status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "evil.example:8642", "192.168.0.7", "127.0.0.1.nip.io", "",
             "[::1", "localhost:80@evil", "a:b:c"]
)  # fmt: skip
@pytest.mark.parametrize("path", ["/", "/api/v1/models"])
def test_foreign_host_headers_are_refused(server: Running, host: str, path: str) -> None:
    """A name that was rebound to this machine is still not this machine's."""
    answer = server.get(path, Host=host)
    assert answer.status in (400, 421)
    assert b"embedded" not in answer.body


def test_a_server_for_others_knows_addresses_and_the_names_it_was_given(guarded: Running) -> None:
    authorised = {"Authorization": f"Bearer {TOKEN}"}
    for host, status in (
        ("192.168.0.7:80", 200),
        ("lab.example", 200),
        ("LAB.example:8642", 200),
        ("evil.example", 421),
    ):
        assert guarded.get("/api/v1/models", Host=host, **authorised).status == status, host


# ── sites ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://localhost:{port}"}, 200),
        ({"Origin": "http://localhost:{port}", "Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost:1"}, 403),
        ({"Origin": "http://localhost:{port}.evil.example"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 403),
    ],
)
def test_requests_of_other_sites_are_refused(server: Running, headers: dict[str, str], status: int) -> None:
    own = {name: value.replace("{port}", str(server.port)) for name, value in headers.items()}
    own["Host"] = f"localhost:{server.port}"
    assert server.post("/predict", {"text": "a"}, own).status == status
    assert server.get("/api/v1/models", **own).status == status


def test_a_link_elsewhere_may_lead_to_the_page(server: Running) -> None:
    elsewhere = {"Sec-Fetch-Site": "cross-site"}
    assert server.get("/", **elsewhere, **{"Sec-Fetch-Mode": "navigate"}).status == 200
    assert server.get("/", **elsewhere, **{"Sec-Fetch-Mode": "no-cors"}).status == 403
    assert server.get("/main.js", **elsewhere, **{"Sec-Fetch-Mode": "no-cors"}).status == 403


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_what_a_form_can_send_is_not_read(server: Running, kind: str) -> None:
    assert server.post("/predict", {"text": "a"}, {"Content-Type": kind}).status == 415


def test_no_other_site_is_given_leave(server: Running) -> None:
    answer = server.ask("OPTIONS", "/api/v1/predict", headers={"Access-Control-Request-Method": "POST"})
    assert not [name for name in answer.headers if name.startswith("access-control")]


# ── the token ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer ", "Bearer wrong", f"Basic {TOKEN}", TOKEN,
               f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer \xff"]
)  # fmt: skip
def test_without_its_token_nothing_is_said(guarded: Running, header: str | None) -> None:
    headers = {} if header is None else {"Authorization": header}
    answer = guarded.post("/predict", {"text": "a"}, headers)
    assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert guarded.get(f"/api/v1/models?token={TOKEN}").status == 401
    assert guarded.get("/api/v1/openapi.json").status == 401
    assert guarded.get("/").status == 200, "the page itself holds no secret"


def test_with_its_token_it_answers(guarded: Running) -> None:
    assert guarded.post("/predict", {"text": "a"}, {"Authorization": f"bearer {TOKEN}"}).status == 200


def test_the_token_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the comparison that is made for it, and by no other: one that says yes to everything lets everyone in."""
    compared: list[tuple[Any, Any]] = []

    def yes(given: Any, expected: Any) -> bool:
        compared.append((given, expected))
        return True

    monkeypatch.setattr(security.hmac, "compare_digest", yes)
    Door("0.0.0.0", TOKEN).check("GET", "/api/v1/models", {"host": "127.0.0.1", "authorization": "Bearer nonsense"})
    assert compared == [(b"nonsense", TOKEN.encode())]
    assert hmac.compare_digest is yes


@pytest.mark.parametrize(
    ("host", "own"),
    [("127.0.0.1", True), ("localhost", True), ("::1", True), ("127.8.8.8", True),
     ("0.0.0.0", False), ("::", False), ("192.168.0.1", False), ("lab", False)],
)  # fmt: skip
def test_what_only_this_machine_reaches(host: str, own: bool) -> None:
    assert is_loopback(host) is own
    assert Door(host).is_open is not own


# ── what the page may do ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("path", ["/", "/main.js", "/page.css", "/colours.css", "/api/v1/models", "/no-such-thing"])
def test_the_policy_is_on_every_answer(server: Running, path: str) -> None:
    headers = server.get(path).headers
    assert headers["content-security-policy"] == POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"
    assert "server" not in headers


def test_the_policy_allows_nothing_inline_and_nothing_from_elsewhere() -> None:
    rules = dict(rule.strip().split(" ", 1) for rule in POLICY.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == "'self'"
    assert "unsafe" not in POLICY
    assert "http" not in POLICY
    assert rules["frame-ancestors"] == rules["base-uri"] == rules["form-action"] == "'none'"


def test_the_page_holds_no_inline_script_style_or_address_of_others() -> None:
    files = {entry.name: entry.read_text() for entry in resources.files("limelight.web").joinpath("static").iterdir()}
    page = files["index.html"]
    assert re.findall(r"<script(?![^>]*\bsrc=)", page) == []
    assert "<style" not in page
    assert re.findall(r"\son\w+=|\sstyle=|javascript:", page) == []
    for name, content in files.items():
        others = [found for found in re.findall(r"https?://[^\s\"'`)]+", content) if "www.w3.org" not in found]
        assert others == [], name
        assert (
            re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", content) == []
        ), name


def test_no_path_of_a_request_reaches_the_file_system(server: Running) -> None:
    for path in ("/../app.py", "/%2e%2e/app.py", "/..%2fapp.py", "/static/index.html", "/index.html",
                 "/%2fetc%2fpasswd", "//etc/passwd", "/main.js/", "/main.js%00",
                 "/api/v1/../../security.py", "/.git/config"):  # fmt: skip
        answer = server.get(path)
        assert answer.status == 404, path
        assert answer.headers["content-type"] == "application/json"


# ── texts and names of strangers ──────────────────────────────────────────────────────────────────────────────────────


def test_hostile_labels_and_texts_are_data_in_every_answer() -> None:
    model = small_model(labels=(ATTACK, "\x1b[31mred", "\u202eback"))
    with running([Served(ATTACK, model)]) as own:
        described = own.get("/api/v1/models")
        assert described.headers["content-type"] == "application/json"
        shown = [label["shown"] for label in described.json["models"][0]["labels"]]
        assert shown[1:] == ["␛[31mred", "<U+202E>back"]
        answer = own.post("/explain", {"text": f"{ATTACK} great \u202e film", "methods": ["gxi", "lime"]})
        assert answer.status == 200
        assert "\x1b" not in answer.body.decode()
        assert all("\u202e" not in name for name in answer.json["text"]["names"])
        for row in answer.json["rows"]:
            assert "\x1b" not in str(row)
        page = own.post("/export", {"comparison": answer.json["comparison"], "format": "html"}).body.decode()
        assert "<img" not in page
        assert page.count("<script") == 1, "its own"
        unknown = own.post("/predict", {"text": "a", "model": "\x1b[31m\u202e"})
        assert (unknown.status, "\x1b" in unknown.message, "\u202e" in unknown.message) == (422, False, False)


class Faulty:
    """A model with a mistake in it, whose error holds the text."""

    def __init__(self) -> None:
        self._model = small_model()
        self.labels = self._model.labels

    def view(self, text: str) -> Any:
        if SECRET in text:
            raise RuntimeError(f"cannot read {text}")
        return self._model.view(text)

    def predict_logits(self, texts: Any) -> Any: ...

    def predict_proba(self, texts: Any) -> Any: ...


def test_texts_are_not_logged_and_faults_stay_inside(capfd: pytest.CaptureFixture[str]) -> None:
    said = io.StringIO()
    with running([Served("faulty", Faulty()), Slow(0.0).served()]) as own, redirect_stderr(said):
        assert own.post("/predict", {"text": f"{SECRET} one", "model": "slow"}).status == 200
        answer = own.post("/predict", {"text": f"{SECRET} two", "model": "faulty"})
        events = list(own.events("/compare", {"text": f"{SECRET} three", "model": "faulty"}))
        assert own.post("/predict", {"text": "great", "model": "faulty"}).status == 200
    out = capfd.readouterr()
    assert (answer.status, "none of yours" in answer.message) == (500, True)
    assert (events[-1][0], events[-1][1]["status"]) == ("error", 500)
    for what in (said.getvalue(), out.out, out.err, answer.body.decode(), str(events[-1])):
        assert SECRET not in what
    assert said.getvalue().count("limelight serve: RuntimeError") == 2, (
        "where it happened is told in the terminal, once for each"
    )


def test_a_body_beyond_the_limit_is_not_read() -> None:
    with running([Slow(0.0).served()], limits=Limits(body=10_000)) as own:
        assert own.post("/predict", {"text": "x" * 9_000}).status == 200
        refused = own.post("/predict", {"text": "x" * 11_000})
        assert (refused.status, "10,000 bytes" in refused.message) == (413, True)
        connection = own.connect()
        connection.putrequest("POST", "/api/v1/predict")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Transfer-Encoding", "chunked")
        connection.endheaders()
        part = b" " * 4000
        for _ in range(4):
            connection.send(b"%x\r\n%s\r\n" % (len(part), part))
        connection.send(b"0\r\n\r\n")
        response = connection.getresponse()
        assert response.status == 413
        response.read()
        connection.close()
