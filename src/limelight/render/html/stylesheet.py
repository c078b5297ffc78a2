"""The look of an explanation in HTML: light and dark, wide and narrow, on paper, and inside somebody else's page."""

from __future__ import annotations

import re

from limelight.render.palette import DARK, HUES, LEVELS, LIGHT, Rgb, Shade, Theme, hex_of

SCOPE = "limelight"
"""The class that all is in: every rule is under it, so that a fragment leaves the notebook around it alone."""

_RULES = """
.S {background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto,
  "Noto Sans", sans-serif; padding: 1.25rem clamp(1rem, 4vw, 2.5rem); max-width: 76rem; margin: 0 auto;
  box-sizing: border-box; overflow-wrap: anywhere; text-align: start}
.S *, .S *::before, .S *::after {box-sizing: border-box}
.S [hidden] {display: none !important}
.S .between {display: none}
.S strong {font-weight: 650}
.S .t0 {font-size: 1.5rem; line-height: 1.25; margin: 0 0 .25rem; font-weight: 650}
.S .t1 {font-size: 1.15rem; line-height: 1.3; margin: 1.6rem 0 .6rem; font-weight: 650}
.S p {margin: .35rem 0}
.S small {font-size: .8125rem}
.S .quiet, .S .x {color: var(--quiet)}
.S .quiet {font-size: .875rem}
.S i {font-style: normal}
.S small.quiet {font-size: .8125rem; font-weight: 400}
.S .notice, .S .warning {background: var(--notice); border-inline-start: 4px solid var(--edge); padding: .3rem .7rem;
  border-radius: .25rem; margin: .5rem 0}
.S .called {font-weight: 650; margin: 0}
.S .article + .article {border-top: 3px double var(--line); margin-top: 2.5rem; padding-top: 1.5rem}
.S .classes {display: grid; grid-template-columns: minmax(0, max-content) minmax(3rem, 16rem) max-content max-content;
  gap: .2rem .9rem; align-items: center; margin: .7rem 0 0; padding: 0; list-style: none;
  font-variant-numeric: tabular-nums}
.S .classes li {display: contents}
.S .bar {height: .55rem; border-radius: .3rem; background: var(--line); overflow: hidden}
.S .bar span {display: block; height: 100%; background: var(--quiet)}
.S .first {font-weight: 650}
.S mark, .S .words span, .S bdi > span, .S .legend span span {border-radius: .2rem; padding: .1em 0; background: none;
  color: inherit; cursor: default; box-decoration-break: clone; -webkit-box-decoration-break: clone}
.S .u {text-decoration: underline dotted 2px var(--quiet); text-underline-offset: .22em}
.S .same {outline: 2px solid var(--accent); outline-offset: 1px}
.S .words :focus {outline: 3px solid var(--ink); outline-offset: 1px}
.S a {color: var(--accent)}
.S a:focus-visible, .S summary:focus-visible, .S button:focus-visible, .S select:focus-visible,
  .S input:focus-visible, .S .scroll:focus-visible {outline: 3px solid var(--accent); outline-offset: 1px}
.S .legend mark, .S .legend span span {border-radius: 0}
.S .legend {display: flex; flex-wrap: wrap; gap: .2rem 1.25rem; margin: .8rem 0}
.S .row {display: grid; grid-template-columns: 13.5rem minmax(0, 1fr); gap: 0 1rem; padding: .35rem 0;
  border-top: 1px solid var(--line); break-inside: avoid}
.S .strongest th small {display: block}
.S .name {line-height: 1.85}
.S .words {line-height: 1.85; max-width: 60rem; font-kerning: none; font-variant-ligatures: none}
.S .side {border-inline-start: 3px solid var(--line); padding-inline-start: .75rem; margin-block: .25rem}
.S .side > small {color: var(--quiet)}
.S .group {border-bottom: 1px solid var(--quiet); padding-bottom: .15em; unicode-bidi: normal;
  box-decoration-break: clone; -webkit-box-decoration-break: clone}
.S .weight {border-radius: .2rem; padding: .1em .3em; font-size: .75em; font-variant-numeric: tabular-nums;
  border: 1px solid var(--line); white-space: nowrap; text-decoration: none}
.S .choice {border: 0; margin: .5rem 0; padding: 0; display: flex; flex-wrap: wrap; gap: .2rem 1rem; min-width: 0}
.S .choice legend {float: left; padding: 0; font-size: .875rem; color: var(--quiet); margin-inline-end: 1rem}
.S .choice label, .S .switch {font-size: .875rem; cursor: pointer}
.S .switch {display: block; margin-top: 1.25rem}
.S select, .S button {font: inherit; color: inherit; max-width: 100%}
.S select {background: var(--paper); border: 1px solid var(--quiet); border-radius: .25rem; padding: .15rem .4rem}
.S .panel {position: sticky; bottom: 0; z-index: 3; display: flex; flex-wrap: wrap; gap: .15rem 1.1rem;
  background: var(--paper); border: 1px solid var(--quiet); border-radius: .4rem; padding: .5rem .8rem;
  box-shadow: 0 2px 10px #0004; font-size: .875rem; font-variant-numeric: tabular-nums; max-height: 40vh;
  overflow-y: auto}
.S .panel mark {padding: .05em .25em}
.S details {border-top: 1px solid var(--line); padding: .5rem 0}
.S summary {cursor: pointer; font-weight: 650}
.S .scroll {overflow-x: auto; margin-top: .4rem}
.S table {border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums}
.S th, .S td {padding: .25rem .7rem .4rem; text-align: end; white-space: nowrap; font-weight: 400}
.S thead th {border-bottom: 2px solid var(--line); vertical-align: bottom; font-weight: 650}
.S thead button {background: none; border: 0; padding: 0; font-weight: 650; cursor: pointer; text-align: inherit}
.S thead button::after {content: " ↕"; color: var(--quiet)}
.S [aria-sort=descending] button::after {content: " ↓"}
.S [aria-sort=ascending] button::after {content: " ↑"}
.S tr + tr > * {border-top: 1px solid var(--line)}
.S tbody th, .S thead th:first-child {text-align: start; position: sticky; inset-inline-start: 0;
  background: var(--paper)}
.S tbody th {min-width: 6rem; max-width: 14rem; white-space: normal}
.S tr > [class][style] {--a: calc(50% + min(0, var(--v)) * .5%); --z: calc(50% + max(0, var(--v)) * .5%);
  min-width: 7rem; background: linear-gradient(90deg, #0000 calc(50% + (var(--v) - var(--i, 0)) * .5%), var(--ink) 0
  calc(50% + (var(--v) + var(--i, 0)) * .5%), #0000 0) 0 calc(100% - .15rem) / 100% .1rem no-repeat,
  linear-gradient(90deg, #0000 var(--a), var(--c) 0 var(--z), #0000 0) 0 100% / 100% .4rem no-repeat,
  linear-gradient(90deg, #0000 calc(50% - .5px), var(--quiet) 0 calc(50% + .5px), #0000 0) 0 100% / 100% .4rem
  no-repeat}
.S td.b {--c: var(--b20)}
.S td.o {--c: var(--o20)}
.S td.g {--c: var(--g20)}
.S td.x {--c: var(--line)}
.S .strongest th, .S .strongest td, .S .facts th, .S .facts td {text-align: start; vertical-align: top;
  white-space: normal; padding-bottom: .25rem}
.S .strongest th {padding-inline-start: 0; max-width: none; width: 13.5rem; min-width: 13.5rem}
.S .strongest td > span {display: inline-block; margin-inline-end: 1rem}
.S .strongest {width: 100%}
.S .strongest mark, .S .strongest bdi > span {padding: .05em .25em}
.S .facts {overflow-wrap: normal}
.S .facts td:nth-child(3) {min-width: 9rem}
.S .facts td:nth-child(n + 6) {min-width: 18rem}
.S .index {padding-inline-start: 1.5rem; margin: .5rem 0 1.5rem}
.S .index span {margin-inline-start: .6rem}
.S footer {border-top: 1px solid var(--line); margin-top: 2rem; padding-top: .75rem; font-size: .8125rem}
@NARROW (max-width: 40rem) {
  .S .row {grid-template-columns: minmax(0, 1fr); gap: .1rem}
  .S .strongest th small {display: inline; margin-inline-start: .5rem}
  .S .strongest, .S .strongest tbody, .S .strongest tr, .S .strongest th, .S .strongest td {display: block;
    width: auto; min-width: 0; padding-inline: 0}
  .S .strongest th {border: 0; padding-top: .5rem}
  .S .strongest tr + tr > td {border-top: 0}
  .S .classes {grid-template-columns: minmax(0, max-content) minmax(2rem, 1fr) max-content; gap: .2rem .7rem}
  .S .logit {display: none}
  .S .numbers tbody th, .S .outer tbody th {max-width: 8rem}
}
@media print {
  .S {padding: 0; max-width: none; font-size: 10.5pt}
  .S .scroll {overflow: visible}
  .S :is(.numbers, .outer, .facts) {font-size: 7.5pt}
  .S :is(.numbers, .outer, .facts) :is(th, td) {padding-inline: .2rem; min-width: 0 !important}
  .S .facts td:nth-child(n + 6) {overflow-wrap: anywhere}
  .S .panel, .S .choice, .S .switch, .S thead button::after {display: none}
  .S mark, .S .words span, .S .weight, .S bdi > span, .S .bar, .S .bar span, .S td[style] {print-color-adjust: exact;
    -webkit-print-color-adjust: exact}
  .S .article + .article {break-before: page}
  .S tbody th, .S thead th:first-child {position: static}
}
"""
# Quiet letters, links and warnings keep a contrast of 4.5 on what they stand on.
EXTRAS = {
    LIGHT: {"line": (222, 222, 228), "accent": (47, 84, 200), "notice": (255, 243, 209), "edge": (217, 154, 0)},
    DARK: {"line": (60, 61, 72), "accent": (140, 168, 255), "notice": (62, 49, 16), "edge": (217, 154, 0)},
}
_PAGE_RULES = (
    "html {background: LIGHT} body {margin: 0} @media screen and (prefers-color-scheme: dark) {html {background: DARK}}"
)
_REM = re.compile(r"([\d.]+)rem\b")
_PIXELS_IN_NOTEBOOKS = 14
"""The size of a notebook's own letters."""
_DARK_HOSTS = ("[data-jp-theme-light=false]", "[data-vscode-theme-kind*=dark]", ".vscode-dark", "html[theme=dark]")
"""How notebooks say that they are dark: JupyterLab, VS Code (twice), Colab. The system's own taste is not theirs."""


def page_stylesheet() -> str:
    """For a page of its own: as light or dark as the reader's screen, and in letters as large; light on paper."""
    dark = f"@media screen and (prefers-color-scheme: dark) {{.S {{{_colours(DARK)}}}}}"
    page = _PAGE_RULES.replace("LIGHT", hex_of(LIGHT.paper)).replace("DARK", hex_of(DARK.paper))
    sheet = f"{page}\n{_sheet(dark, '')}"
    return sheet.replace("@NARROW", "@media").replace(".S", f".{SCOPE}")


def fragment_stylesheet() -> str:
    """For a part of somebody else's page: the host's rules are taken back first, and its theme is followed.

    The id, which nothing has, gives each rule more weight than the host's rules for classes and elements. Lengths do
    not follow the host's letters, and what is narrow is the fragment, not the window.
    """
    again = ".S, .S *, .S *::before, .S *::after {all: revert}\n"
    hosts = ", ".join(f"{host} .S" for host in _DARK_HOSTS)
    dark = f"@media screen {{{hosts} {{{_colours(DARK)}}}}}"
    placed = "\n.S {container: limelight / inline-size; padding: .75rem 1rem; margin: 0}"
    sheet = again + _sheet(dark, " !important") + placed
    sheet = _REM.sub(lambda rem: f"{float(rem[1]) * _PIXELS_IN_NOTEBOOKS:g}px", sheet)
    return sheet.replace("@NARROW", "@container limelight").replace(".S", f":is(.{SCOPE}, #_)")


def _sheet(dark: str, important: str) -> str:
    """`important`: over the colours that stand at the words for hosts that strip stylesheets."""
    shades = [Shade(hue, level) for hue in HUES for level in range(1, LEVELS + 1)]
    words = [f".S .{name} {{background: var(--{name}){important}}}" for name in map(shade_class, shades)]
    lines = ", ".join(f".S .{shade_class(shade)}" for shade in shades if shade.underlined)
    underlined = f"{lines} {{text-decoration: underline 2px; text-underline-offset: .22em}}"
    return "\n".join([f".S {{{_colours(LIGHT)}}}", dark, _RULES.strip(), *words, underlined])


def shade_class(shade: Shade) -> str:
    """The class of a word of this shade; empty where it has no colour."""
    return f"{shade.hue[0]}{shade.level}" if shade.level else ""


def _colours(theme: Theme) -> str:
    names: dict[str, Rgb] = {"paper": theme.paper, "ink": theme.ink, "quiet": theme.quiet, **EXTRAS[theme]}
    for shade in (Shade(hue, level) for hue in HUES for level in range(1, LEVELS + 1)):
        names[shade_class(shade)] = theme.background(shade)
    scheme = "light" if theme is LIGHT else "dark"
    return f"color-scheme: {scheme}; " + "; ".join(f"--{name}: {hex_of(colour)}" for name, colour in names.items())
