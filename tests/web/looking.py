"""All that a page shows, with whose it is said to be, and what its own controls say at the same moment."""

from __future__ import annotations

from typing import Any

from render.browser import Browser

LOOK = r"""(() => {
    const field = (label) => {
        const own = [...document.querySelectorAll('.settings label')].find((one) => one.textContent === label);
        return own ? document.getElementById(own.htmlFor).value : null;
    };
    const answers = [
        ".prediction", ".bar", ".toggle", ".what-if > *", ".row .word", ".row small", ".row p", ".numbers td",
        ".numbers th", ".curve", ".curve *", ".key", ".behind mark", ".legend > *", ".said-before > *", ".recipe code",
    ].join(", ");
    const shown = (node) => node.textContent.trim() !== "" || node.matches(".bar, .curve, .curve *, .word");
    return {
        settings: {
            target: field("Explain"), against: field("rather than"), removal: field("Take a word out by"),
            features: field("Weights on"), output: field("Output"), samples: field("Samples"), seed: field("Seed"),
            methods: [...document.querySelectorAll(".methods input:checked")].map((own) => own.value),
        },
        panes: [...document.querySelectorAll(".pane")].map((pane) => ({
            model: pane.querySelector("select").value,
            text: pane.querySelector("textarea").value,
            removed: [...new Set(
                [...pane.querySelectorAll(".toggle[aria-pressed=true]")].map((own) => Number(own.dataset.feature))
            )].sort((one, other) => one - other),
            busy: pane.querySelector(".rows").getAttribute("aria-busy"),
            trouble: pane.querySelector("[role=alert]:not([hidden])")?.textContent ?? null,
            said: [...pane.querySelectorAll(".prediction li")].map((own) => own.innerText),
            nameless: [...pane.querySelectorAll(answers)].filter((node) => shown(node) && !node.closest("[data-asked]"))
                .map((node) => node.outerHTML.slice(0, 200)),
            numbers: [...pane.querySelectorAll("*")].filter(
                (node) => node.children.length === 0 && /\d/.test(node.textContent) &&
                    !node.closest("[data-asked], textarea, select, .behind, label")
            ).map((node) => node.outerHTML.slice(0, 200)),
            places: [...pane.querySelectorAll("[data-asked]")].flatMap((node) => JSON.parse(node.dataset.asked).map(
                ([kind, asked]) => ({ kind, asked, where: node.className || node.tagName })
            )),
            texts: [...pane.querySelectorAll(".row .words, .toggles .words")].map((own) => own.textContent),
            behind: pane.querySelector(".behind").textContent,
        })),
    };
})()"""


_TEXT = {"model", "text"}
_WORDS = _TEXT | {"features"}
_QUANTITY = _WORDS | {"removal", "output", "target", "against"}
_ROWS = _QUANTITY | {"methods", "seed", "samples", "until"}
DEPENDS = {
    "prediction": _TEXT,
    "text": _WORDS,
    "live": _QUANTITY | {"methods", "seed"},
    "rows": _ROWS,
    "run": _ROWS,
    "removed": _QUANTITY | {"removed"},
    "curve": _QUANTITY | {"seed"},
}
"""By the kind of an answer: what of a question it depends on."""


def wrong(seen: dict[str, Any]) -> list[str]:
    """What belongs to something else than what stands beside it, in words; nothing where all is right."""
    found = []
    settings = seen["settings"]
    for i, pane in enumerate(seen["panes"]):
        found += [f"pane {i}: nobody says whose this is: {node}" for node in pane["nameless"] + pane["numbers"]]
        for place in pane["places"]:
            missing = {"server", *DEPENDS[place["kind"]]} ^ place["asked"].keys()
            found += [f"pane {i}: {place['where']}: {place['kind']} says {sorted(missing)} or not"] if missing else []
            for name, value in expected(pane, settings).items():
                asked = place["asked"].get(name, value)
                if name == "methods" and place["kind"] == "live":
                    continue
                if asked != value:
                    found.append(
                        f"pane {i}: {place['where']}: {name} of {place['kind']} is {asked!r}, beside {value!r}"
                    )
        letters = "".join(pane["text"].split())
        found += [f"pane {i}: another text: {own!r}" for own in pane["texts"] if "".join(own.split()) != letters]
        if pane["behind"] != pane["text"] + "\n":
            found.append(f"pane {i}: behind the text stands {pane['behind']!r}")
    return found


def expected(pane: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    """What every answer of a pane must have been asked, by the controls that a person sees."""
    samples = int(settings["samples"]) if settings["samples"] else None
    return {
        "model": pane["model"],
        "text": pane["text"],
        "features": settings["features"],
        "removal": settings["removal"],
        "output": settings["output"] or None,
        "target": settings["target"] or None,
        "against": settings["against"] or None,
        "samples": samples,
        "until": None if samples else "stable",
        "seed": int(settings["seed"]),
        "methods": settings["methods"] or None,
        "removed": pane["removed"],
    }


def looked(tab: Browser) -> dict[str, Any]:
    """One moment of the page."""
    seen: dict[str, Any] = tab.evaluate(LOOK)
    return seen


def kinds(seen: dict[str, Any], pane: int = 0) -> set[str]:
    """Of what kinds the answers are that a pane shows."""
    return {place["kind"] for place in seen["panes"][pane]["places"]}
