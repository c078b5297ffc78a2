"""The look of an explanation in HTML: light and dark, wide and narrow, on paper."""

from __future__ import annotations

from limelight.show.colour import DARK, LEVELS, LIGHT, Rgb, Theme

SCOPE = "limelight-explanation"
"""Every rule is under this class, so that a fragment leaves the notebook around it alone."""

_RULES = """
.S {BASE; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto,
  "Noto Sans", sans-serif; padding: 1.25rem clamp(1rem, 4vw, 2.5rem); border-radius: .5rem; max-width: 76rem;
  margin: 0 auto; box-sizing: border-box; overflow-wrap: anywhere; text-align: start}
.S *, .S *::after {box-sizing: border-box}
.S h1 {font-size: 1.5rem; line-height: 1.25; margin: 0 0 .25rem; font-weight: 650; color: inherit}
.S h2 {font-size: .8rem; margin: 1.75rem 0 .5rem; font-weight: 650; letter-spacing: .06em; text-transform: uppercase;
  color: var(--quiet)}
.S p {margin: .35rem 0}
.S .quiet {color: var(--quiet); font-size: .875rem}
.S .notice {background: var(--notice); border-inline-start: 4px solid var(--edge); padding: .5rem .75rem;
  border-radius: .25rem; margin: .75rem 0}
.S .text {margin: 0; padding: .1rem 0 .1rem 1rem; border-inline-start: 3px solid var(--line); white-space: pre-line;
  max-height: 16rem; overflow-y: auto; max-width: 60rem}
.S .classes {display: grid; grid-template-columns: minmax(0, max-content) minmax(3rem, 16rem) max-content max-content;
  gap: .2rem .9rem; align-items: center; margin: .9rem 0 0; padding: 0; list-style: none;
  font-variant-numeric: tabular-nums}
.S .classes li {display: contents}
.S .bar {height: .55rem; border-radius: .3rem; background: var(--line); overflow: hidden}
.S .bar span {display: block; height: 100%; background: var(--accent)}
.S .first {font-weight: 650}
.S .rows {margin: 0; padding: 0}
.S .row {display: grid; grid-template-columns: 7.5rem minmax(0, 1fr); gap: 0 1.25rem; padding: .6rem 0;
  border-top: 1px solid var(--line); break-inside: avoid}
.S .row dt {font-weight: 650; margin: 0}
.S .row dt span {display: block; font-weight: 400; font-size: .75rem; color: var(--quiet)}
.S .row dd {margin: 0; line-height: 1.85; max-width: 60rem; unicode-bidi: plaintext;
  font-kerning: none}
.S .word {border-radius: .2rem; padding: .1em 0; outline-offset: 1px; cursor: default; box-decoration-break: clone;
  -webkit-box-decoration-break: clone}
.S .against, .S u {text-decoration: underline 2px; text-underline-offset: .22em; text-decoration-skip-ink: none}
.S .word:hover {outline: 1px solid var(--quiet)}
.S .word:focus {outline: 2px solid var(--accent)}
.S .word:focus::after {content: attr(title); position: fixed; inset: auto 0 0; z-index: 9; padding: .6rem 1rem;
  background: var(--ink); color: var(--paper); text-align: center; font-variant-numeric: tabular-nums}
.S .other {color: var(--quiet)}
.S .scale {display: flex; flex-wrap: wrap; gap: .3rem 1.25rem; margin: 0 0 .6rem}
.S .scale i {display: inline-block; width: 1.1rem; height: 1.1rem; vertical-align: text-bottom}
.S details {border-top: 1px solid var(--line); padding: .6rem 0}
.S details:last-child {border-bottom: 1px solid var(--line)}
.S summary {cursor: pointer; font-weight: 650}
.S .scroll {overflow-x: auto; margin-top: .5rem}
.S table {border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; margin: 0; border: 0}
.S th, .S td {padding: .2rem .7rem; text-align: right; white-space: nowrap; border: 0; background: none; color: inherit}
.S thead th {border-bottom: 2px solid var(--line); vertical-align: bottom}
.S tbody tr + tr > * {border-top: 1px solid var(--line)}
.S tbody th, .S thead th:first-child {text-align: start; position: sticky; left: 0; background: var(--paper)}
.S tbody th {font-weight: 400; min-width: 6rem; max-width: 14rem; white-space: normal}
.S .facts th, .S .facts td {text-align: start; vertical-align: top; overflow-wrap: normal}
.S .facts td {min-width: 4rem}
.S .facts td:nth-child(n + 4) {white-space: normal; min-width: 14rem}
@media (max-width: 40rem) {
  .S .row {grid-template-columns: minmax(0, 1fr); gap: .15rem}
  .S .row dt span {display: inline; margin-inline-start: .6rem}
  .S .classes {grid-template-columns: minmax(0, max-content) minmax(2rem, 1fr) max-content; gap: .2rem .7rem}
  .S .classes .logit {display: none}
}
@media print {
  .S {padding: 0; max-width: none; font-size: 11pt}
  .S .text {max-height: none}
  .S .scroll {overflow: visible}
  .S .word, .S .bar, .S .bar span, .S .scale i {print-color-adjust: exact; -webkit-print-color-adjust: exact}
}
"""

_UNDERLINED_FROM = 2
"""The level from which a word against is underlined: fainter ones would fill a page with lines."""

# Quiet letters keep a contrast of 4.5 on their paper too.
_LIGHT_EXTRAS = "--quiet: #5c5c66; --line: #e3e3e8; --accent: #3b5bdb; --notice: #fff4d6; --edge: #d99a00"
_DARK_EXTRAS = "--quiet: #a9a9b6; --line: #383943; --accent: #7c9cff; --notice: #3a2f12; --edge: #d99a00"

PAGE_RULES = (
    "html {background: #fff} body {margin: 0} @media screen and (prefers-color-scheme: dark) {html {background: DARK}}"
)


def stylesheet() -> str:
    """Rules for a fragment: light by default and on paper, dark where the reader's screen is."""
    rules = _RULES.replace("BASE", f"color-scheme: light dark; {_colours(LIGHT, _LIGHT_EXTRAS)}")
    dark = "\n".join([f".S {{{_colours(DARK, _DARK_EXTRAS)}}}", *_levels(DARK)])
    dark = f"@media screen and (prefers-color-scheme: dark) {{\n{dark}\n}}"
    return "\n".join([rules.strip(), *_levels(LIGHT), dark]).replace(".S", f".{SCOPE}")


def page_stylesheet() -> str:
    """The same for a page of its own, whose background is ours too."""
    return f"{PAGE_RULES.replace('DARK', _hex(DARK.paper))}\n{stylesheet()}"


def level_class(level: int) -> str:
    """The class of a word of this level; empty where it is not coloured."""
    if level == 0:
        return "word"
    against = " against" if level <= -_UNDERLINED_FROM else ""
    return f"word{against} {'p' if level > 0 else 'n'}{min(abs(level), LEVELS)}"


def _colours(theme: Theme, extras: str) -> str:
    return f"--paper: {_hex(theme.paper)}; --ink: {_hex(theme.ink)}; {extras}"


def _levels(theme: Theme) -> list[str]:
    return [
        f".S .{'p' if sign > 0 else 'n'}{step} {{background: {_hex(theme.background(sign * step))}}}"
        for sign in (1, -1)
        for step in range(1, LEVELS + 1)
    ]


def _hex(colour: Rgb) -> str:
    return "#" + "".join(f"{channel:02x}" for channel in colour)
