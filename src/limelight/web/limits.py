"""How much one server does for those who ask: each limit has a number, a status and a sentence."""

from __future__ import annotations

from dataclasses import dataclass, fields

from limelight.errors import ParameterError, shown


@dataclass(frozen=True)
class Limits:
    """The stated limits; `/api/v1/models` tells them to the page."""

    text: int = 20_000
    """Characters of a text, of both of a pair together: 413."""
    body: int = 8_000_000
    """Bytes of a request, such as a comparison that is to be exported: 413."""
    samples: int = 200_000
    """Samples or permutations of one method: 422."""
    methods: int = 20
    """Methods of one request: 422."""
    parallel: int = 2
    """Explanations that are computed at the same time; quick answers have as many threads of their own."""
    queue: int = 64
    """Requests that wait for a thread; the next is refused: 503."""
    per_client: int = 8
    """Requests of one client that run or wait; the next is refused: 429."""
    seconds: float = 600.0
    """After which a computation is stopped: 503."""
    views: int = 16
    """Texts whose tables are kept, so that a click on a word does not read the text again."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise ParameterError(f"the limit {field.name!r} must be a number above 0: got {shown(value)}")
