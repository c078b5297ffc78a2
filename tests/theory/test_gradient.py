"""Theorem 4.1 against automatic differentiation, and the two displays of Appendix A that do not hold as printed."""

import math

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from limelight.theory.folding import gradient_terms, theorem_4_1

# Both sides are float64 sums of a few hundred products of order one.
ROUNDING = 1e-12
K, T, C, D_E, D_ATT, D_OUT = 3, 6, 2, 5, 4, 3


def query_term(alpha, w, k, W_q):
    """(K, d_e): what Eq. 14 leaves out at t = [CLS], where e_t also sets the query.

    (1/√d_att) Σ_s α_s (w_s - Σ_u α_u w_u) · W_qᵀ k_s, with `alpha` and `w` (T, K), `k` (K, T, d_att) and `W_q`
    (K, d_att, d_e).
    """
    moved = (alpha * (w - (alpha * w).sum(axis=0))).T
    return np.einsum("kt,kta,kae->ke", moved, k, W_q) / np.sqrt(W_q.shape[1])


class Model:
    """Section 2 of the paper in torch. Heads are the leading index; the first token is [CLS]."""

    def __init__(self, seed, dtype=torch.float64):
        generator = torch.Generator().manual_seed(seed)

        def draw(*shape):
            return torch.randn(*shape, generator=generator, dtype=dtype)

        self.W_q, self.W_k, self.W_v = draw(K, D_ATT, D_E), draw(K, D_ATT, D_E), draw(K, D_OUT, D_E)
        self.W_l, self.e = draw(K, C, D_OUT), draw(T, D_E)

    def parts(self, e, q=None):
        k = torch.einsum("kae,te->kta", self.W_k, e)
        v = torch.einsum("koe,te->kto", self.W_v, e)
        q = torch.einsum("kae,e->ka", self.W_q, e[0]) if q is None else q
        alpha = (torch.einsum("kta,ka->kt", k, q) / math.sqrt(D_ATT)).softmax(dim=1)
        return alpha, k, v, q

    def heads(self, e, target, q=None):
        alpha, _, v, _ = self.parts(e, q)
        return torch.einsum("kt,kto,ko->k", alpha, v, self.W_l[:, target])

    def theorem(self, target):
        """The terms, the gradient averaged over heads, and the query's own term, from folded quantities."""
        alpha, k, v, q = (part.numpy() for part in self.parts(self.e))
        W_q, W_k, W_v, W_l = (W.numpy() for W in (self.W_q, self.W_k, self.W_v, self.W_l))
        u = np.einsum("koe,ko->ke", W_v, W_l[:, target])
        r = np.einsum("kae,ka->ke", W_k, q) / math.sqrt(D_ATT)
        w = np.einsum("kto,ko->tk", v, W_l[:, target])
        folded = (alpha.T, w, u, r)
        return gradient_terms(*folded), theorem_4_1(*folded), query_term(alpha.T, w, k, W_q)

    def gradient(self, target, fixed_query):
        """(K, T, d_e) by autograd."""
        e = self.e.clone().requires_grad_()
        q = self.parts(self.e)[3] if fixed_query else None
        heads = self.heads(e, target, q)
        return np.stack([torch.autograd.grad(head, e, retain_graph=True)[0].numpy() for head in heads])


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**31 - 1), target=st.integers(0, C - 1))
def test_theorem_4_1_is_the_gradient_with_the_query_held_fixed(seed, target):
    model = Model(seed)
    terms, averaged, _ = model.theorem(target)
    expected = model.gradient(target, fixed_query=True)
    scale = max(1.0, np.abs(expected).max())
    assert np.abs(terms.value_term + terms.deviation_term - expected).max() < ROUNDING * scale
    assert np.abs(averaged - expected.mean(axis=0)).max() < ROUNDING * scale


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 2**31 - 1))
def test_at_cls_the_theorem_lacks_the_query_term_and_nowhere_else(seed):
    model = Model(seed)
    terms, _, extra = model.theorem(0)
    missing = model.gradient(0, fixed_query=False) - (terms.value_term + terms.deviation_term)
    scale = max(1.0, np.abs(missing).max())
    assert np.abs(missing[:, 1:]).max() < ROUNDING * scale
    assert np.abs(missing[:, 0] - extra).max() < ROUNDING * scale
    assert np.abs(missing[:, 0]).max() > 1e-6  # it is not zero: Theorem 4.1 does not cover t = [CLS]


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 2**31 - 1))
def test_the_terms_have_their_meaning(seed):
    model = Model(seed)
    terms, _, _ = model.theorem(1)
    alpha = model.parts(model.e)[0]
    # The value term is the gradient with attention frozen.
    e = model.e.clone().requires_grad_()
    frozen = torch.einsum("kt,koe,te,ko->k", alpha, model.W_v, e, model.W_l[:, 1])
    expected = np.stack([torch.autograd.grad(head, e, retain_graph=True)[0].numpy() for head in frozen])
    assert np.abs(terms.value_term - expected).max() < ROUNDING * max(1.0, np.abs(expected).max())
    # Deviations from an average cancel on average.
    assert np.abs(terms.deviation_term.sum(axis=1)).max() < ROUNDING * max(1.0, np.abs(terms.deviation_term).max())


def test_appendix_a_the_gradients_of_the_attention_weights():
    """∇α_s = -α_s α_t W_kᵀq/√d (printed: α_u α_t); ∇α_t = α_t (1 - α_t) W_kᵀq/√d (printed: a sum that is zero)."""
    model = Model(7)
    alpha, _, _, q = model.parts(model.e)
    towards = torch.einsum("kae,ka->ke", model.W_k, q) / math.sqrt(D_ATT)
    e = model.e.clone().requires_grad_()
    moving = model.parts(e, q)[0]
    t, head = 2, 1
    for s in range(T):
        seen = torch.autograd.grad(moving[head, s], e, retain_graph=True)[0][t]
        factor = alpha[head, t] * (1 - alpha[head, t]) if s == t else -alpha[head, s] * alpha[head, t]
        assert torch.allclose(seen, factor * towards[head], atol=1e-13)
    printed = alpha[head, t] * (towards[head] - (alpha[head, :, None] * towards[head]).sum(dim=0))
    assert printed.abs().max() < 1e-13


def test_tensors_and_batches_give_the_same():
    rng = np.random.default_rng(0)
    alpha, w = rng.dirichlet(np.ones(T), size=(4, K)).transpose(0, 2, 1), rng.normal(size=(4, T, K))
    u, r = rng.normal(size=(K, D_E)), rng.normal(size=(K, D_E))
    together = theorem_4_1(*(torch.from_numpy(x) for x in (alpha, w, u, r))).numpy()
    alone = np.stack([theorem_4_1(a, v, u, r) for a, v in zip(alpha, w, strict=True)])
    np.testing.assert_allclose(together, alone, atol=ROUNDING)
