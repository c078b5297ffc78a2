"""What a page adds where scripts run: a word in all rows at once, sorting, hiding methods, switching the label.

Everything it shows is in the page already; without it nothing is missing but the convenience. The page's policy allows
this script by its hash and no other.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources

SCRIPT = "\n" + resources.files(__package__).joinpath("page.js").read_text("utf-8")


@cache
def policy(script: str = SCRIPT) -> str:
    """What a page may do: use its own styles and one script; nothing is fetched or sent."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        "default-src 'none'; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
