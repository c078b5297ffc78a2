"""The accessibility checker axe-core, from npm: fetched for a test, no part of the project."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from render.browser import Browser

_VIOLATIONS = """axe.run().then((result) => result.violations.map((own) => [
    own.impact, own.id, own.nodes.slice(0, 3).map((node) => [node.html.slice(0, 200), node.failureSummary])
]))"""


def checker(folder: Path) -> str:
    """Its script; a test is skipped where it cannot be had."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("needs npm, which fetches the accessibility checker")
    quiet = ["--silent", "--no-audit", "--no-fund", "--ignore-scripts"]
    command = [npm, "install", *quiet, "--prefix", str(folder), "axe-core@4.10.3"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    file = folder / "node_modules" / "axe-core" / "axe.min.js"
    if done.returncode or not file.exists():
        pytest.skip(f"npm cannot fetch axe-core: {done.stderr[-200:]}")
    return file.read_text()


def serious(tab: Browser, script: str) -> list[Any]:
    """What it finds on the page that is open, if it is serious. The page's policy would not let the script in."""
    tab.ask("Page.setBypassCSP", enabled=True)
    try:
        tab.evaluate(f"{script}; undefined")
        found = tab.evaluate(_VIOLATIONS)
        assert tab.evaluate("Boolean(window.axe)"), "it ran"
    finally:
        tab.ask("Page.setBypassCSP", enabled=False)
    return [own for own in found if own[0] in ("serious", "critical")]
