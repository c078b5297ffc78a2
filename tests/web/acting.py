"""What a person does with the page: each a single step, done in the page at once, without waiting for anything."""

from __future__ import annotations

import base64
import json
from typing import Any

from render.browser import Browser
from web.server import until


def linked(**state: Any) -> str:
    """The fragment of a view."""
    stored = {"a": {"model": None, "text": "good , but long", "second": ""}, **state}
    return "#v1=" + base64.urlsafe_b64encode(json.dumps(stored).encode()).decode().rstrip("=")


def opened(tab: Browser, address: str) -> None:
    tab.open("about:blank")
    tab.open(address if "#" in address else address + linked())
    until(lambda: tab.evaluate("document.querySelectorAll('.pane').length") > 0)


def done(tab: Browser, selector: str, action: str, pane: int = 0) -> None:
    """Something with an element of a pane, in the page."""
    tab.evaluate(
        f"""((own) => {{ if (own) {{ {action} }} }})(
            document.querySelectorAll(".pane")[{pane}]?.querySelector({json.dumps(selector)})
        )"""
    )


def with_model(tab: Browser, name: str, pane: int = 0) -> None:
    act = f"own.value = '{name}'; own.dispatchEvent(new Event('change', {{bubbles: true}}));"
    done(tab, "select", act, pane)


def typed(tab: Browser, text: str, pane: int = 0) -> None:
    """A whole text anew; the same event comes of each keystroke."""
    act = f"own.value = {json.dumps(text)}; own.dispatchEvent(new Event('input', {{bubbles: true}}));"
    done(tab, "textarea", act, pane)


def removed(tab: Browser, word: int, pane: int = 0) -> None:
    done(tab, f".toggle[data-feature='{word}']", "own.click();", pane)


def set_to(tab: Browser, label: str, value: str) -> None:
    tab.evaluate(
        f"""((own) => {{
            const control = document.getElementById(own.htmlFor);
            control.value = {json.dumps(value)};
            control.dispatchEvent(new Event("change", {{bubbles: true}}));
        }})([...document.querySelectorAll(".settings label")].find((one) => one.textContent === {json.dumps(label)}))"""
    )


def beside(tab: Browser) -> None:
    tab.evaluate("document.querySelector('.beside').click()")


def unfolded(tab: Browser) -> None:
    """All that can be opened is open, so that all of it is drawn."""
    tab.evaluate("document.querySelectorAll('.pane details').forEach((own) => { own.open = true; })")
