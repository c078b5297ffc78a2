"""LIME's weights by cross-fitting: what is guessed of the game for a sample has not seen that sample.

Let L(f) be the weights of a game f, which are linear in f, and M(f) = H⁻¹ Σ w (z - μ) f(z) their estimate from samples,
with the *known* matrix H of the regression. For any game g whose own weights are known,

    L(f) = L(g) + L(f - g),        estimated by        L(g) + M(f - g).

If g has not seen the samples of M, that is right on average, whatever g is: a bad guess costs width, and the residuals
f - g say how much. So each fold of the samples has a guess of its own, from the other folds and the document
(docs/theory.md, Section 12; `tests/reference/cross_fitting.py` is the same, slowly).

Errors are those of the held-out residuals. Guesses of two folds have seen each other's samples, which their errors have
in common: by how much is bounded by how far the guesses differ (`TOGETHER`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from limelight.core.arrays import Coalitions, Floats
from limelight.explainers.sampling.control_variates import (
    ALONG,
    FOLDS,
    PAIRS,
    Kernel,
    LimeColumns,
    line_between,
    tells_bend,
)
from limelight.explainers.sampling.nondeterminism import AnswerNoise
from limelight.explainers.sampling.standard_errors import Fit, Moves
from limelight.theory.values import LimeDesign

PENALTIES = (1e-5, 1e-4, 1e-3, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
"""Penalties of guessed columns, in units of their mean square."""
WORD_PENALTIES = (1e-10, 0.01, 0.1, 1.0)
"""Penalties of words, where these are many for the samples; the first alone where they are not."""
_FEW = 10
"""Samples per word from which words are not penalised."""
_LEAST = 64
"""Samples from which residuals, a dozen in each of five folds, say what they miss of a list of rules."""
TOGETHER = 1.0
"""Upper bound of the correlation between errors of two folds that comes from having seen each other's samples."""
_PRIOR = 2.0
"""Samples that `standard_errors` counts beside those that were drawn."""
_CONSTANT = 1e-12


def is_worthwhile(n: float, d: int) -> bool:
    """Whether n samples that remove two words or more can tell a bend from the words, and four fifths of them too."""
    return n >= _LEAST and tells_bend(n, d)


def cross_fitted(
    kept: Coalitions,
    y: Floats,
    of_document: float,
    design: LimeDesign,
    noise: AnswerNoise | None = None,
) -> Fit:
    """Fit LIME's weights from samples (n, d) drawn in proportion to the kernel, and their outputs (n,).

    `noise` (1 + n,): that of answers, the one on the document first, as far as residuals do not hold it.
    """
    n, kernel = len(kept), Kernel.of(design)
    rows = [slice(k, None, FOLDS) for k in range(FOLDS)]
    centre_y = float(y.mean())
    folds = [np.ascontiguousarray(kept[own].T, dtype=np.float64) - kernel.mean for own in rows]
    outputs = [y[own] - centre_y for own in rows]
    columns = LimeColumns.guessed(folds, outputs, kernel)
    guesses = Guesses.of(columns, folds, outputs, of_document - centre_y, design)
    fractions = np.array([len(own) / n for own in outputs])
    off, doubt = np.empty(n), np.empty(n)
    for k, own in enumerate(rows):
        said = guesses.said(folds[k], k)
        off[own] = outputs[k] - said[k]
        doubt[own] = np.delete(said, k, axis=0).var(axis=0, ddof=1)
    document_off = of_document - centre_y - float(fractions @ guesses.of_document())
    per_unit = _per_unit(kept, design, kernel)
    common, along = fractions @ guesses.common, np.einsum("k,klc->lc", fractions, guesses.along)
    values = columns.weights(common, along, design) + off @ per_unit[1:] + document_off * per_unit[0]
    stated = np.concatenate([[0.0], np.sqrt(off**2 + TOGETHER * (FOLDS - 1) * doubt)])
    return Fit(values, Moves(per_unit.astype(np.float32), stated, None, noise, _PRIOR))


def _per_unit(kept: Coalitions, design: LimeDesign, kernel: Kernel) -> Floats:
    """H⁻¹ w (z - μ) with the expected matrix, of the document and the samples (n, d): (1 + n, d)."""
    (n, d), kappa = kept.shape, design.document
    centre = (kappa + kernel.mean) / (1.0 + kappa)
    apart = kernel.apart + kappa * design.ridge
    beside = kernel.together + (kernel.mean - centre) ** 2 + kappa * (1.0 - centre) ** 2
    along = apart + d * beside
    x = np.empty((1 + n, d))
    x[0], x[1:] = 1.0 - centre, kept
    x[1:] -= centre
    mean = x.mean(axis=1, keepdims=True)
    x /= apart
    x += mean * (1.0 / along - 1.0 / apart)
    x[0] *= kappa
    x[1:] /= n
    return x


@dataclass(frozen=True)
class Guesses:
    """Guess of the game for each fold: coefficients of common columns (folds, p), and along lines (folds, lines, 3)."""

    columns: LimeColumns
    common: Floats
    along: Floats
    held: list[Floats]  # the common columns of each fold's samples (p, n)

    @classmethod
    def of(
        cls, columns: LimeColumns, folds: list[Floats], outputs: list[Floats], of_document: float, design: LimeDesign
    ) -> Guesses:
        d, others = columns.kernel.d, [[j for j in range(FOLDS) if j != k] for k in range(FOLDS)]
        held = [columns.common(x) for x in folds]
        gram = [own @ own.T for own in held]
        moment = [own @ y for own, y in zip(held, outputs, strict=True)]
        every_gram, every_moment = np.sum(gram, axis=0), np.sum(moment, axis=0)
        # Columns of each fold's samples along the line of all folds but itself and one of the others.
        bent = [columns.along(x, [line_between(j, k) for k in others[j]]) for j, x in enumerate(folds)]
        across = [
            (own @ along.reshape(-1, own.shape[1]).T).reshape(len(own), FOLDS - 1, ALONG)
            for own, along in zip(held, bent, strict=True)
        ]
        document, along_document = columns.of_document()
        common, bends = np.zeros((FOLDS, len(document))), np.zeros((FOLDS, len(PAIRS), ALONG))
        for k in range(FOLDS):
            lines, scale = [line_between(j, k) for j in others[k]], columns.scales(k)
            used = np.concatenate([np.ones(2 + d, dtype=bool), scale > 0.0])
            scale = np.concatenate([np.ones(2 + d), scale])[used]
            n = sum(len(outputs[j]) for j in others[k])
            p = len(scale)
            G, m = np.empty((p + ALONG, p + ALONG)), np.empty(p + ALONG)
            own = every_gram - gram[k]
            G[:p, :p] = own if used.all() else own[np.ix_(used, used)]
            G[:p, :p] *= scale
            G[:p, :p] *= scale[:, None]
            places = [(j, others[j].index(k)) for j in others[k]]
            G[:p, p:] = np.sum([across[j][:, i] for j, i in places], axis=0)[used] * scale[:, None]
            G[p:, :p] = G[:p, p:].T
            G[p:, p:] = np.sum([bent[j][i] @ bent[j][i].T for j, i in places], axis=0)
            m[:p] = (every_moment - moment[k])[used] * scale
            m[p:] = np.sum([bent[j][i] @ outputs[j] for j, i in places], axis=0)
            G /= n
            m /= n
            own_document = np.concatenate([document[used] * scale, along_document[lines].mean(axis=0)])
            G += design.document * np.outer(own_document, own_document)
            m += design.document * of_document * own_document
            square = sum(float(outputs[j] @ outputs[j]) for j in others[k]) / n + design.document * of_document**2
            u = penalised(G, m, square, n + 1, 1 + d, WORD_PENALTIES if n < _FEW * d else WORD_PENALTIES[:1])
            common[k, used], bends[k, lines] = u[:p] * scale, u[p:] / len(lines)
        return cls(columns, common, bends, held)

    def said(self, x: Floats, k: int) -> Floats:
        """All folds' guesses (folds, n) for fold k, whose centred samples (d, n) these are."""
        along = self.columns.along(x, list(range(len(PAIRS)))).reshape(-1, x.shape[1])
        said: Floats = self.common @ self.held[k] + self.along.reshape(FOLDS, -1) @ along
        return said

    def of_document(self) -> Floats:
        common, along = self.columns.of_document()
        said: Floats = self.common @ common + self.along.reshape(FOLDS, -1) @ along.ravel()
        return said


def penalised(
    gram: Floats, moment: Floats, square: float, n: int, free: int, word_penalties: tuple[float, ...]
) -> Floats:
    """Coefficients of a regression on a constant, words (`free` with the constant) and guessed columns.

    Words have one penalty and guessed columns another: those of generalised cross-validation. Without what words
    explain of them, guessed columns have the matrix S. In its own directions every penalty is a division, so that one
    decomposition serves all of them. `square`: the weighted sum of y².
    """
    diagonal = np.diag(gram)
    unit_words = float(diagonal[1:free].mean()) or 1.0
    unit = (float(diagonal[free:].mean()) if len(gram) > free else 0.0) or 1.0
    levels = unit * np.array(PENALTIES)
    best, found = np.inf, moment
    for level in word_penalties:
        ridge = np.full(free, level * unit_words)
        ridge[0] = _CONSTANT
        own_inverse = np.linalg.inv(gram[:free, :free] + np.diag(ridge))
        explained = own_inverse @ gram[:free, free:]
        S = gram[free:, free:] - gram[free:, :free] @ explained
        size, directions = np.linalg.eigh((S + S.T) / 2.0)
        size = np.maximum(size, 0.0)
        base, turned = own_inverse @ moment[:free], explained @ directions
        along = directions.T @ (moment[free:] - explained.T @ moment[:free])
        divided = along[:, None] / (size[:, None] + levels)  # (directions, levels)
        words = base[:, None] - turned @ divided
        left = square - moment[:free] @ words - (moment[free:] @ directions) @ divided
        left -= (ridge[:, None] * words**2).sum(axis=0) + levels * (divided**2).sum(axis=0)
        of_ridge = float(ridge @ np.diag(own_inverse)) + (ridge @ turned**2) @ (1.0 / (size[:, None] + levels))
        freedom = len(gram) - of_ridge - (levels / (size[:, None] + levels)).sum(axis=0)
        error = np.maximum(left, 0.0) / np.maximum(1.0 - freedom / n, 1e-3) ** 2
        place = int(error.argmin())
        if error[place] < best:
            best, found = float(error[place]), np.concatenate([words[:, place], directions @ divided[:, place]])
    return found
