"""The compiled recursion over features and its hand-written adjoint, for one quadrature node after the other.

For one head and one λ, with α_k = exp(-λ a_k), β_k = exp(-λ b_k), and means over the subsets of size s of the first k
features,

    Q_k(s) = E[exp(-λ D_k)]        T_k(s) = E[N_k exp(-λ D_k)]        p = (k+1-s)/(k+1), m = s/(k+1)
    Q_{k+1}(s) = p α Q_k(s)              + m β Q_k(s-1)
    T_{k+1}(s) = p α (T_k(s) + A Q_k(s)) + m β (T_k(s-1) + B Q_k(s-1))

Q has only positive terms and T is a sum of positive multiples of the N's: nothing cancels that does not cancel in the
mean of N/D itself. The adjoint runs the same steps backwards; the derivative by a dummy factor η_k = 1 on α_k picks out
the subsets that keep feature k.

Memory: the adjoint needs all states of one node, d² numbers twice. They are stored for the node at hand and overwritten
by the next, so they stay in the second-level cache (0.5 MB at d = 170). Undoing a step to save them would divide by
α, and so amplify rounding; recomputing them would cost a third forward pass.

Rows have one zero before s = 0 and one after s = k, so the inner loops have no ends to treat. Sums over s for one
feature are left to the caller: elementwise accumulation over nodes vectorises without reordering a floating-point sum,
so equal input gives equal bytes.
"""

from __future__ import annotations

import numba
import numpy as np

from limelight.core.arrays import Floats


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _forward_step(
    Q: Floats,
    T: Floats,
    Q_next: Floats,
    T_next: Floats,
    k: int,
    alpha: float,
    beta: float,
    A: Floats,
    B: Floats,
    sizes: Floats,
) -> None:
    """Step from k to k + 1 features: Q is a row, T one row per class."""
    keep, drop, top = alpha / (k + 1), beta / (k + 1), float(k + 1)
    for s in range(k + 2):
        Q_next[s + 1] = keep * (top - sizes[s]) * Q[s + 1] + drop * sizes[s] * Q[s]
    for c in range(len(A)):
        row, row_next, A_c, B_c = T[c], T_next[c], A[c], B[c]
        for s in range(k + 2):
            kept = row[s + 1] + A_c * Q[s + 1]
            removed = row[s] + B_c * Q[s]
            row_next[s + 1] = keep * (top - sizes[s]) * kept + drop * sizes[s] * removed


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _gather(
    q_bar: Floats, t_bar: Floats, Q: Floats, T: Floats, k: int, alpha: float, A: float, sizes: Floats, kept: Floats
) -> None:
    """Add p α [ q̄ Q + t̄ (T + A Q) ]: the part of the total in which feature k is kept."""
    keep, top = alpha / (k + 1), float(k + 1)
    for s in range(k + 1):
        kept[s] += keep * (top - sizes[s]) * (q_bar[s] * Q[s + 1] + t_bar[s] * (T[s + 1] + A * Q[s + 1]))


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _backward_step(
    q_bar: Floats,
    t_bar: Floats,
    q_next: Floats,
    t_next: Floats,
    k: int,
    alpha: float,
    beta: float,
    A: float,
    B: float,
    sizes: Floats,
) -> None:
    """Step from the adjoints of k + 1 features to those of k."""
    keep, drop, top = alpha / (k + 1), beta / (k + 1), float(k + 1)
    for s in range(k + 1):
        p, m = keep * (top - sizes[s]), drop * sizes[s + 1]
        t_next[s] = p * t_bar[s] + m * t_bar[s + 1]
        q_next[s] = p * (q_bar[s] + A * t_bar[s]) + m * (q_bar[s + 1] + B * t_bar[s + 1])


@numba.njit(cache=True, nogil=True, error_model="numpy")
def accumulate(
    alpha: Floats,  # (n, d) exp(-λ a)
    beta: Floats,  # (n, d) exp(-λ b)
    start: Floats,  # (n,) exp(-λ c0)
    share: Floats,  # (n,) quadrature weight over the number of heads
    A: Floats,  # (d, C) of this head
    B: Floats,  # (d, C)
    C0: Floats,  # (C,)
    size_weights: Floats,  # (W, d + 1)
    F: Floats,  # (C, d + 1), added to
    kept: Floats,  # (C, W, d, d + 1), added to: G before its sum over sizes
) -> None:
    """All nodes of one head, one after the other."""
    n, d = alpha.shape
    classes, n_weights = F.shape[0], size_weights.shape[0]
    sizes = np.arange(d + 2).astype(np.float64)
    Q, T = np.zeros((d + 1, d + 3)), np.zeros((d + 1, classes, d + 3))
    q_bar, t_bar = np.zeros((2, d + 2)), np.zeros((2, d + 2))
    for i in range(n):
        Q[0, 1] = start[i]
        for c in range(classes):
            T[0, c, 1] = C0[c] * start[i]
        for k in range(d):
            _forward_step(Q[k], T[k], Q[k + 1], T[k + 1], k, alpha[i, k], beta[i, k], A[k], B[k], sizes)
        for c in range(classes):
            for s in range(d + 1):
                F[c, s] += share[i] * T[d, c, s + 1]
            for w in range(n_weights):
                now = 0
                for s in range(d + 1):
                    t_bar[0, s] = share[i] * size_weights[w, s]
                    q_bar[0, s] = 0.0
                for k in range(d - 1, -1, -1):
                    _gather(q_bar[now], t_bar[now], Q[k], T[k, c], k, alpha[i, k], A[k, c], sizes, kept[c, w, k])
                    _backward_step(
                        q_bar[now],
                        t_bar[now],
                        q_bar[1 - now],
                        t_bar[1 - now],
                        k,
                        alpha[i, k],
                        beta[i, k],
                        A[k, c],
                        B[k, c],
                        sizes,
                    )
                    now = 1 - now
