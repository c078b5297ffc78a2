"""How a request walks through the code: modules and functions visited, calls, and changes of room.

    python benchmarks/walks.py              # one line for each of explain, compare, evaluate, corpus and serve

A room is a folder of the package, or a module that lies beside them. A change of room is a call from a function of one
room to a function of another. Only this package's own functions count; what it imports on the way does not.
"""

from __future__ import annotations

import http.client
import json
import sys
import tempfile
import threading
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import limelight

PACKAGE = Path(limelight.__file__).parent
TEXT = "The film was great, but the end is bad. It is not very good, and far too long."
TEXTS = [TEXT, "A great film, and not long at all."]


class Walk:
    """What was called while it watches: by every thread that begins meanwhile, and by this one."""

    def __init__(self) -> None:
        self.functions: set[CodeType] = set()
        self.modules: set[str] = set()
        self.between: Counter[tuple[str, str]] = Counter()
        self.calls = 0
        self._rooms: dict[str, str] = {}

    def room(self, file: str) -> str:
        """The room of a file; nothing for code that is not this package's."""
        if file not in self._rooms:
            path = Path(file)
            inside = path.is_relative_to(PACKAGE)
            self._rooms[file] = path.relative_to(PACKAGE).parts[0].removesuffix(".py") if inside else ""
        return self._rooms[file]

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or not (here := self.room(frame.f_code.co_filename)):
            return
        if frame.f_code.co_name == "<module>":  # an import, whoever comes first
            return
        self.calls += 1
        self.functions.add(frame.f_code)
        self.modules.add(frame.f_code.co_filename)
        caller = frame.f_back
        while caller is not None and not self.room(caller.f_code.co_filename):
            caller = caller.f_back
        there = here if caller is None else self.room(caller.f_code.co_filename)
        if here != there:
            self.between[there, here] += 1

    def __enter__(self) -> Walk:
        threading.setprofile(self)
        sys.setprofile(self)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)


def explain(model: Any) -> Callable[[], object]:
    return lambda: limelight.explain(model, TEXT, "lime", n_samples=500)


def compare(model: Any) -> Callable[[], object]:
    return lambda: limelight.compare(model, TEXT)


def evaluate(model: Any) -> Callable[[], object]:
    return lambda: limelight.evaluate(model, TEXTS, methods=["lime-limit", "gxi"])


def corpus(model: Any) -> Callable[[], object]:
    import limelight.corpus

    folder = Path(tempfile.mkdtemp())
    (folder / "texts.csv").write_text("text\n" + "\n".join(f'"{text}"' for text in TEXTS), encoding="utf-8")
    runs = iter(range(9))
    return lambda: limelight.corpus.run(
        folder / "texts.csv", folder / f"out{next(runs)}", model, ["lime-limit", "shapley"]
    )


def serve(model: Any) -> Callable[[], object]:
    from limelight.web.app import bound, server_of
    from limelight.web.security import Door
    from limelight.web.site import Served, Site

    def ask() -> None:
        """A server of its own, so that its threads are watched."""
        listener = bound("127.0.0.1", 0)
        port = listener.getsockname()[1]
        server = server_of(Site([Served("embedded", model)]), Door())
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("POST", "/api/v1/compare", json.dumps({"text": TEXT}), {"Content-Type": "application/json"})
        response = connection.getresponse()
        body = response.read()
        connection.close()
        server.should_exit = True
        thread.join()
        if response.status != 200:
            raise SystemExit(f"the server answered {response.status}: {body!r}")

    return ask


def main() -> None:
    model = limelight.load()
    print("| request | modules | functions | calls | changes of room | most between |")
    print("|---|---|---|---|---|---|")
    for make in (explain, compare, evaluate, corpus, serve):
        act = make(model)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            act()  # what is done once in a process
            with Walk() as walk:
                act()
        most = ", ".join(f"{a} → {b} {n:,}" for (a, b), n in walk.between.most_common(2))
        print(
            f"| {make.__name__} | {len(walk.modules)} | {len(walk.functions)} | {walk.calls:,} | "
            f"{walk.between.total():,} | {most} |"
        )


if __name__ == "__main__":
    main()
