"""The compiled recursion for deleted words and its adjoint, for one head and one quadrature node after the other.

A word that is kept stands behind the words kept before it, so the number p of kept words is all the state there is.
With α_i(p) = exp(-λ g_i(p)) for word i as the p-th of those kept, A_i(p) its part of N, and means over the subsets of
the first k free words with p kept,

    Q_{k+1}(p) = p/(k+1) α(p) Q_k(p-1)                    + (k+1-p)/(k+1) Q_k(p)
    T_{k+1}(p) = p/(k+1) α(p) (T_k(p-1) + A(p) Q_k(p-1))  + (k+1-p)/(k+1) T_k(p)

A word that always stays moves no p: Q(p) ← α(p) Q(p), T(p) ← α(p) (T(p) + A(p) Q(p)). As in `recursion.py` all terms of
Q are positive, the adjoint runs the same steps backwards, and all states of one node are kept for it.

Weights differ by p, so a node needs an exponential for each word and p. They are what takes the time: rows of all words
stand in one array, behind them what stands around the words, and one loop without branches takes exp() of it. A product
and a sum may be one operation ("contract"), which rounds once instead of twice.
"""

from __future__ import annotations

import numba
import numpy as np

from limelight.core.arrays import Array, Coalitions, Floats, Integers

_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""log 2 in two parts: the first times any exponent is exact."""
_ROUNDS = 6755399441055744.0
"""1.5 · 2^52: a sum with it is rounded to a whole number, which stands in its last bits."""
_LARGEST = 700.0
"""exp(-700) is 1e-304: beyond, nothing of a sum is left."""


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def exponentials(
    g: Floats, lam: float, rounded: Floats, rounded_bits: Array, part: Floats, part_bits: Array, result_bits: Array
) -> None:
    """exp(-λ g) to the last bit or two: 2^n exp(r) with |r| <= log(2)/2, by Taylor's series to r^12.

    `…_bits` are the same memory seen as whole numbers: n is added to an exponent there.
    """
    for i in range(len(g)):
        x = -min(lam * g[i], _LARGEST)
        n = x * _LOG2_E + _ROUNDS
        rounded[i] = n
        n -= _ROUNDS
        r = (x - n * _LN2_HIGH) - n * _LN2_LOW
        s = 1.0 / 479001600.0
        s = s * r + 1.0 / 39916800.0
        s = s * r + 1.0 / 3628800.0
        s = s * r + 1.0 / 362880.0
        s = s * r + 1.0 / 40320.0
        s = s * r + 1.0 / 5040.0
        s = s * r + 1.0 / 720.0
        s = s * r + 1.0 / 120.0
        s = s * r + 1.0 / 24.0
        s = s * r + 1.0 / 6.0
        s = s * r + 0.5
        s = s * r + 1.0
        part[i] = s * r + 1.0
    for i in range(len(g)):
        result_bits[i] = part_bits[i] + (rounded_bits[i] << 52)


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _forward_step(
    alpha: Floats, A: Floats, Q: Floats, T: Floats, Q_next: Floats, T_next: Floats, k: int, sizes: Floats
) -> None:
    """A free word after k others; its α become p/(k+1) α, as the adjoint needs them too."""
    step, top = 1.0 / (k + 1), float(k + 1)
    for p in range(k + 2):
        stays, goes = sizes[p] * step * alpha[p], (top - sizes[p]) * step
        alpha[p] = stays
        Q_next[p + 1] = stays * Q[p] + goes * Q[p + 1]
        T_next[p + 1] = stays * (T[p] + A[p] * Q[p]) + goes * T[p + 1]


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _backward_step(
    stays: Floats,
    A: Floats,
    Q: Floats,
    T: Floats,
    q_bar: Floats,
    t_bar: Floats,
    q_next: Floats,
    t_next: Floats,
    kept: Floats,
    k: int,
    sizes: Floats,
) -> None:
    """Step from the adjoints of k + 1 free words to those of k; adds the part in which the word is kept."""
    step, top = 1.0 / (k + 1), float(k + 1)
    for p in range(k + 1):
        goes = (top - sizes[p]) * step
        t_kept = stays[p + 1] * t_bar[p + 1]
        q_kept = stays[p + 1] * (q_bar[p + 1] + A[p + 1] * t_bar[p + 1])
        kept[p] += q_kept * Q[p + 1] + t_kept * T[p + 1]
        t_next[p] = t_kept + goes * t_bar[p]
        q_next[p] = q_kept + goes * q_bar[p]


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def accumulate(
    lam: Floats,  # (L,) nodes
    share: Floats,  # (L,) quadrature weight over the number of heads
    g_word: Floats,  # (m,) of the words that are left, in their order
    w_word: Floats,  # (m,)
    g_place: Floats,  # (T,)
    w_place: Floats,  # (T,)
    first: Integers,  # (m,): word i stands at place first_i + p when p of the free words up to it are kept
    free: Coalitions,  # (m,) whether a word may be deleted; n of them are
    tail: Floats,  # (n + 1,): D of what stands around the words, by p
    tail_N: Floats,  # (n + 1,): its part of N
    by_kept: Floats,  # (W, n + 1): the size weights, by p
    F: Floats,  # (n + 1,), added to, by p
    kept: Floats,  # (W, n, n + 1), added to: G before its sum over p
) -> None:
    """All nodes of one head, one after the other."""
    m, n, W = len(free), len(tail) - 1, len(by_kept)
    before, start = np.zeros(m + 1, dtype=np.int64), np.zeros(m + 1, dtype=np.int64)
    for i in range(m):
        before[i + 1] = before[i] + (1 if free[i] else 0)
        start[i + 1] = start[i] + before[i] + 2
    around = start[m]
    g, A = np.zeros(around + n + 1), np.zeros(around)
    for i in range(m):
        least = 1 if free[i] else 0  # a free word that is kept is one of those kept
        for p in range(least, before[i + 1] + 1):
            place = first[i] + p
            g[start[i] + p] = g_word[i] * g_place[place]
            A[start[i] + p] = g[start[i] + p] * (w_word[i] + w_place[place])
    g[around:] = tail
    rounded, part, alpha = np.empty(len(g)), np.empty(len(g)), np.empty(len(g))
    rounded_bits, part_bits, alpha_bits = rounded.view(np.int64), part.view(np.int64), alpha.view(np.int64)
    sizes = np.arange(n + 2).astype(np.float64)
    Q, T = np.zeros((m + 1, n + 3)), np.zeros((m + 1, n + 3))  # column p + 1: a zero stands before p = 0
    q_bar, t_bar = np.zeros((2, n + 2)), np.zeros((2, n + 2))
    for node in range(len(lam)):
        exponentials(g, lam[node], rounded, rounded_bits, part, part_bits, alpha_bits)
        Q[0, 1] = 1.0
        for i in range(m):
            k, row, A_i = before[i], alpha[start[i] : start[i + 1]], A[start[i] : start[i + 1]]
            if free[i]:
                _forward_step(row, A_i, Q[i], T[i], Q[i + 1], T[i + 1], k, sizes)
            else:
                for p in range(k + 1):
                    Q[i + 1, p + 1] = row[p] * Q[i, p + 1]
                    T[i + 1, p + 1] = row[p] * (T[i, p + 1] + A_i[p] * Q[i, p + 1])
        for p in range(n + 1):
            F[p] += share[node] * alpha[around + p] * (T[m, p + 1] + tail_N[p] * Q[m, p + 1])
        for w in range(W):
            now = 0
            for p in range(n + 1):
                t_bar[0, p] = share[node] * alpha[around + p] * by_kept[w, p]
                q_bar[0, p] = t_bar[0, p] * tail_N[p]
            for i in range(m - 1, -1, -1):
                k, row, A_i = before[i], alpha[start[i] : start[i + 1]], A[start[i] : start[i + 1]]
                qb, tb, q_next, t_next = q_bar[now], t_bar[now], q_bar[1 - now], t_bar[1 - now]
                if free[i]:
                    _backward_step(row, A_i, Q[i], T[i], qb, tb, q_next, t_next, kept[w, k], k, sizes)
                else:
                    for p in range(k + 1):
                        t_next[p] = row[p] * tb[p]
                        q_next[p] = row[p] * (qb[p] + A_i[p] * tb[p])
                now = 1 - now


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def denominator_range(
    g_word: Floats, g_place: Floats, first: Integers, free: Coalitions, tail: Floats
) -> tuple[float, float]:
    """The smallest and the largest D over all coalitions: the recursion with minima and maxima in place of means."""
    low, high = np.full(len(tail), np.inf), np.full(len(tail), -np.inf)
    low[0] = high[0] = 0.0
    k = 0
    for i in range(len(free)):
        if free[i]:
            k += 1
            for p in range(k, 0, -1):
                g = g_word[i] * g_place[first[i] + p]
                low[p], high[p] = min(low[p], low[p - 1] + g), max(high[p], high[p - 1] + g)
        else:
            for p in range(k + 1):
                g = g_word[i] * g_place[first[i] + p]
                low[p] += g
                high[p] += g
    return (low + tail).min(), (high + tail).max()
