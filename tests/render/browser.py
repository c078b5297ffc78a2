"""A real browser, as far as tests need one: Chromium without a window, spoken to over a pipe.

No driver and no package is needed: the DevTools protocol is JSON, and `--remote-debugging-pipe` reads it from one file
descriptor and writes it to another.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
VARIABLE = "LIMELIGHT_CHROMIUM"
# The protocol is spoken on the descriptors 3 and 4, whatever they are here.
_START = """
import fcntl, os, sys
read, write = (fcntl.fcntl(int(own), fcntl.F_DUPFD, 10) for own in sys.argv[1:3])
os.dup2(read, 3)
os.dup2(write, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


def found() -> str | None:
    """The program: what the environment names, or what is installed."""
    return os.environ.get(VARIABLE) or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One tab of one browser."""

    def __init__(self, program: str, profile: Path) -> None:
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        flags = ["--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        flags += ["--no-first-run", "--disable-extensions", "--disable-background-networking"]
        flags += ["--disable-dev-shm-usage", f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", _START, str(to_browser), str(from_browser), program, *flags],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._buffer, self._number = b"", 0
        self._events: list[dict[str, Any]] = []
        self._session: str | None = None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._session = None
        self.ask("Browser.close")
        self._process.wait(timeout=20)
        os.close(self._read)
        os.close(self._write)

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command, and its answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        rest = json.dumps(message).encode() + b"\0"
        while rest:
            rest = rest[os.write(self._write, rest) :]
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result
            self._events.append(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            more = os.read(self._read, 1 << 16)
            assert more, "the browser has gone"
            self._buffer += more
        message, self._buffer = self._buffer.split(b"\0", 1)
        answer: dict[str, Any] = json.loads(message)
        return answer

    def _await(self, event: str) -> None:
        while not any(own.get("method") == event for own in self._events):
            self._events.append(self._next())

    def complaints(self) -> list[str]:
        """What the console has been told since the page was opened: errors, and what its policy has forbidden."""
        said = []
        for event in self._events:
            if event.get("method") == "Log.entryAdded":
                said.append(event["params"]["entry"]["text"])
            if event.get("method") == "Runtime.exceptionThrown":
                said.append(str(event["params"]["exceptionDetails"]))
        return said

    def open(
        self, address: str, *, width: int = 1200, height: int = 900, scheme: str = "light", media: str = ""
    ) -> None:
        """Show a page in a window of this size, for a reader whose system is light or dark."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.ask("Emulation.setEmulatedMedia", media=media, features=features)
        self._events.clear()
        self.ask("Page.navigate", url=address)
        self._await("Page.loadEventFired")

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key: str, *, shift: bool = False) -> None:
        """A key, as from a keyboard."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39}
        code = {**codes, "ArrowDown": 40}[key]
        text = {"Enter": "\r", " ": " "}.get(key)
        common = {"key": key, "windowsVirtualKeyCode": code, "modifiers": 8 if shift else 0}
        self.ask("Input.dispatchKeyEvent", type="keyDown", **common, **({"text": text} if text else {}))
        self.ask("Input.dispatchKeyEvent", type="keyUp", **common)

    def point_at(self, selector: str) -> None:
        """The mouse over the middle of an element."""
        middle = """((element) => {
            element.scrollIntoView({block: "center"});
            const box = element.getClientRects()[0];
            return [box.x + box.width / 2, box.y + box.height / 2];
        })"""
        x, y = self.evaluate(f"{middle}(document.querySelector({json.dumps(selector)}))")
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def screenshot(self, path: Path, *, whole: bool = True) -> None:
        """A picture of the page, for people."""
        picture = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(picture))
