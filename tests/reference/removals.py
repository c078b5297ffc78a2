"""Limits of removal from their definitions: every set, every order, one after the other."""

from __future__ import annotations

import itertools
import math

from limelight.theory.ratio_game import RatioGame
from reference.enumeration import Table, game_value


def limits_by_size(table: Table) -> tuple[list[float], list[float], list[float]]:
    """The lowest, the highest and the mean output with 0, 1, …, d features removed."""
    d = len(next(iter(table)))
    by_size = [[value for z, value in table.items() if d - sum(z) == k] for k in range(d + 1)]
    return (
        [min(values) for values in by_size],
        [max(values) for values in by_size],
        [math.fsum(values) / len(values) for values in by_size],
    )


def area(table: Table, order: tuple[int, ...]) -> float:
    """f of the document less the mean of f after 1, 2, …, d removals."""
    z = [1] * len(order)
    document, after = table[tuple(z)], []
    for j in order:
        z[j] = 0
        after.append(table[tuple(z)])
    return document - math.fsum(after) / len(after)


def areas_of_all_orders(table: Table) -> dict[tuple[int, ...], float]:
    d = len(next(iter(table)))
    return {order: area(table, order) for order in itertools.permutations(range(d))}


def fewest_that_flip(game: RatioGame, column: int) -> int | None:
    """The size of the smallest set whose removal gives the output the other sign; None if there is none."""
    d = game.a.shape[1]
    document = game_value(game, [1] * d, column)
    for k in range(d + 1):
        for removed in itertools.combinations(range(d), k):
            value = game_value(game, [int(j not in removed) for j in range(d)], column)
            if value * document < 0.0 or (document == 0.0 and value < 0.0):
                return k
    return None
