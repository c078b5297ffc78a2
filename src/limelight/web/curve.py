"""The removal curve of one text: what the model says while words are taken out, in each method's order.

Beside the methods stand chance, the mean over all orders, and the best that any set of so many words could do. Where
the model is a ratio game both are free of sampling, and the best is certified: a bound says what no set goes below.
Elsewhere chance is the mean of random orders, with its standard error, and the best is the lowest that was seen.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from limelight.attribution.request import Resolved, check_removal
from limelight.core.arrays import Coalitions, Floats, Integers
from limelight.errors import ParameterError
from limelight.explanation.serialization import numbers_written
from limelight.explanation.significance import INTERVAL
from limelight.models.interface import RatioView
from limelight.theory.ratio_game import RatioGame
from limelight.web.jobs import Job, JobProgress
from limelight.web.requests import CurveRequest, echo, looked_at
from limelight.web.site import Site

_SIZES = 24
"""Numbers of removed words at which a curve of a long text is computed."""
_ORDERS = 24
"""Random orders where chance is sampled."""
_MOST_ORDERS = 20


def curves(request: CurveRequest, site: Site, job: Job) -> dict[str, Any]:
    """All orders of a request, and the envelope around them."""
    resolved = looked_at(request, site)
    view, features, quantity = resolved.view, resolved.features, resolved.questions[0].quantity
    orders = _checked(request, len(features))
    sizes, progress = _sizes(len(features)), JobProgress(job)
    kept = {name: _sets(order, sizes) for name, order in orders.items()}
    game = _game_along(resolved)
    random, orders_drawn = np.random.default_rng([request.seed, len(features)]), _ORDERS if game is None else 0
    rows = [*kept.values(), *(_sets(random.permutation(len(features)), sizes) for _ in range(orders_drawn))]
    progress.begin("removing words", sum(map(len, rows)))
    logits = check_removal(view, request.removal).game(features, request.removal, progress)(np.concatenate(rows))
    tables = quantity.of(logits).reshape(len(rows), len(sizes))
    around = _exact(game, sizes) if game is not None else _sampled(tables, len(kept))
    return {
        "asked": echo(request, site),
        "sizes": sizes.tolist(),
        "features": len(features),
        "orders": {name: numbers_written(own) for name, own in zip(kept, tables, strict=False)},
        **{name: numbers_written(own) for name, own in around.items()},
        "exact": game is not None,
        "area": {name: float(np.mean(own[0] - own[1:])) for name, own in zip(kept, tables, strict=False)},
    }


def _checked(request: CurveRequest, features: int) -> dict[str, Integers]:
    if not 0 < len(request.orders) <= _MOST_ORDERS:
        raise ParameterError(f"orders must hold 1 to {_MOST_ORDERS} orders: got {len(request.orders)}")
    for name, order in request.orders.items():
        if sorted(order) != list(range(features)):
            raise ParameterError(f"the order {name!r} must name each of the {features} features once, from 0")
    return {name: np.array(order, dtype=np.int64) for name, order in request.orders.items()}


def _sizes(features: int) -> Integers:
    """From nothing to everything: all sizes of a short text, and more of the first ones of a long one."""
    if features <= _SIZES:
        return np.arange(features + 1)
    spread = features * (np.arange(_SIZES + 1) / _SIZES) ** 1.7
    return np.unique(np.round(spread).astype(np.int64))


def _sets(order: Integers, sizes: Integers) -> Coalitions:
    """The features that are kept when the first so many of an order are gone."""
    place = np.argsort(order)
    kept: Coalitions = place[None, :] >= sizes[:, None]
    return kept


def _game_along(resolved: Resolved) -> RatioGame | None:
    """The game of the explained quantity, where it is a ratio game: masking, and an output linear in the logits."""
    quantity, view = resolved.questions[0].quantity, resolved.view
    if not isinstance(view, RatioView) or resolved.request.removal != "mask" or not quantity.is_linear:
        return None
    return view.ratio_game(resolved.features).along(quantity.direction_at(view.logits[None])[0])


def _exact(game: RatioGame, sizes: Integers) -> dict[str, Floats]:
    """At each size: the mean over all sets of this size with half of its 95 % interval, the lowest output that was
    found, and the bound below which none is."""
    from limelight.theory.subsets import lowest_outputs, size_means

    best = lowest_outputs(game, sizes)
    chance, none = size_means(game, 0)[sizes], np.zeros(len(sizes))
    return {"chance": chance, "half_width": none, "lowest": best.found, "bound": best.bound}


def _sampled(tables: Floats, named: int) -> dict[str, Floats]:
    """Like `_exact`, from the outputs of `named` orders and then random ones: nothing is proven of the bound."""
    random = tables[named:]
    half = INTERVAL * random.std(axis=0, ddof=1) / np.sqrt(len(random))
    unknown = np.full(tables.shape[1], np.nan)
    return {"chance": random.mean(axis=0), "half_width": half, "lowest": tables.min(axis=0), "bound": unknown}
