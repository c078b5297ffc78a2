"""The compiled recursion for deleted words and its adjoint, for one head and one quadrature node after the other.

A word that is kept stands behind the words kept before it, so the number p of kept words is all the state there is.
With α_i(p) = exp(-λ g_i(p)) for word i as the p-th of those kept, A_i(p) its part of N, and means over the subsets of
the first k free words with p kept,

    Q_{k+1}(p) = p/(k+1) α(p) Q_k(p-1)                    + (k+1-p)/(k+1) Q_k(p)
    T_{k+1}(p) = p/(k+1) α(p) (T_k(p-1) + A(p) Q_k(p-1))  + (k+1-p)/(k+1) T_k(p)

A word that always stays moves no p: Q(p) ← α(p) Q(p), T(p) ← α(p) (T(p) + A(p) Q(p)). As in `recursion.py` all terms of
Q are positive, the adjoint runs the same steps backwards, and all states of one node are kept for it.
"""

from __future__ import annotations

import numba
import numpy as np

from limelight.arrays import Coalitions, Floats


@numba.njit(cache=True, nogil=True, error_model="numpy")
def accumulate(
    alpha: Floats,  # (L, m, n + 1): word i as the p-th of the free words kept; a word that stays: with p of them kept
    A: Floats,  # (m, n + 1): its part of N there
    free: Coalitions,  # (m,) whether a word may be deleted; n of them are
    tail: Floats,  # (L, n + 1): exp(-λ D) of what stands around the words, by p
    tail_N: Floats,  # (n + 1,): its part of N
    share: Floats,  # (L,) quadrature weight over the number of heads
    by_kept: Floats,  # (W, n + 1): the size weights, by p
    F: Floats,  # (n + 1,), added to, by p
    kept: Floats,  # (W, n, n + 1), added to: G before its sum over p
) -> None:
    """All nodes of one head, one after the other."""
    L, m, width = alpha.shape
    W = by_kept.shape[0]
    Q, T = np.zeros((m + 1, width + 1)), np.zeros((m + 1, width + 1))  # column p + 1: a zero stands before p = 0
    q_bar, t_bar = np.zeros((2, width + 1)), np.zeros((2, width + 1))
    for node in range(L):
        Q[0, 1] = 1.0
        k = 0
        for i in range(m):
            a, q, t, q_next, t_next, A_i = alpha[node, i], Q[i], T[i], Q[i + 1], T[i + 1], A[i]
            if free[i]:
                step = 1.0 / (k + 1)
                for p in range(k + 2):
                    stays, goes = p * step * a[p], (k + 1 - p) * step
                    q_next[p + 1] = stays * q[p] + goes * q[p + 1]
                    t_next[p + 1] = stays * (t[p] + A_i[p] * q[p]) + goes * t[p + 1]
                k += 1
            else:
                for p in range(k + 1):
                    q_next[p + 1] = a[p] * q[p + 1]
                    t_next[p + 1] = a[p] * (t[p + 1] + A_i[p] * q[p + 1])
        for p in range(k + 1):
            F[p] += share[node] * tail[node, p] * (T[m, p + 1] + tail_N[p] * Q[m, p + 1])
        for w in range(W):
            now, n = 0, k
            for p in range(n + 1):
                t_bar[0, p] = share[node] * tail[node, p] * by_kept[w, p]
                q_bar[0, p] = t_bar[0, p] * tail_N[p]
            for i in range(m - 1, -1, -1):
                a, q, t, A_i = alpha[node, i], Q[i], T[i], A[i]
                qb, tb, q_next, t_next = q_bar[now], t_bar[now], q_bar[1 - now], t_bar[1 - now]
                if free[i]:
                    n -= 1
                    step, row = 1.0 / (n + 1), kept[w, n]
                    for p in range(1, n + 2):
                        stays = p * step * a[p]
                        row[p] += stays * (qb[p] * q[p] + tb[p] * (t[p] + A_i[p] * q[p]))
                    for p in range(n + 1):
                        stays, goes = (p + 1) * step * a[p + 1], (n + 1 - p) * step
                        t_next[p] = stays * tb[p + 1] + goes * tb[p]
                        q_next[p] = stays * (qb[p + 1] + A_i[p + 1] * tb[p + 1]) + goes * qb[p]
                else:
                    for p in range(n + 1):
                        t_next[p] = a[p] * tb[p]
                        q_next[p] = a[p] * (qb[p] + A_i[p] * tb[p])
                now = 1 - now
