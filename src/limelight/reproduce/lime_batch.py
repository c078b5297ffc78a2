"""Several LIME runs of a document at once, under both removals, on any device.

The semantics are those of `explainers.lime`: s uniform in 1..d features are removed, the first sample of a run
is the document itself, and a ridge regression with a free intercept is weighted by the cosine kernel. All runs of a
document are one block of samples. Masking and deleting share the coalitions, and so the regression's matrix.

Perturbed outputs are sums in float32 (masking: two thin products; deleting: rows of a table over words and
positions); the regression is in float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from limelight.reproduce.documents import Prepared, Tables, game_of
from limelight.theory.folding import FoldedDocument

Floats = npt.NDArray[np.float64]

RUNS = 5
SAMPLES = 5000
KERNEL_WIDTH = 0.25
RIDGE = 1.0
_SOLVED_AT_ONCE = 64
"""Documents whose regressions are solved in one call: a GPU takes as long for one as for sixty."""


@dataclass(frozen=True)
class Runs:
    """One document's coefficients (runs, d) when words are masked and when they are deleted."""

    mask: Floats
    delete: Floats


@dataclass(frozen=True)
class _Equations:
    """The normal equations of all runs: H (runs, d, d), right-hand sides (runs, d, 2) for mask and delete."""

    H: Tensor
    y: Tensor


def lime_runs(
    documents: Sequence[Prepared],
    tables: Tables,
    seeds: Sequence[int],
    *,
    runs: int = RUNS,
    samples: int = SAMPLES,
    device: str = "cpu",
) -> list[Runs]:
    """LIME of each document, `runs` times. The result of a document depends on its own seed alone."""
    results: list[Runs] = []
    for start in range(0, len(documents), _SOLVED_AT_ONCE):
        group = range(start, min(start + _SOLVED_AT_ONCE, len(documents)))
        equations = [_equations(documents[i], tables, seeds[i], runs, samples, device) for i in group]
        results += _solve(equations)
    return results


def _equations(document: Prepared, tables: Tables, seed: int, runs: int, samples: int, device: str) -> _Equations:
    folded = tables.fold(document)
    kept = draw(document.d, runs, samples, seed, device)
    y = torch.stack([masked(kept, document, folded), deleted(kept, document, folded)], dim=1)
    return regression(kept, y, runs)


def draw(d: int, runs: int, samples: int, seed: int, device: str) -> Tensor:
    """Kept features of all runs, (runs · samples, d): True is kept."""
    generator = torch.Generator(device).manual_seed(seed)
    n = runs * samples
    sizes = torch.randint(1, d + 1, (n, 1), generator=generator, device=device)
    keys = torch.randint(0, 2**31 - 1, (n, d), generator=generator, device=device, dtype=torch.int32)
    # The column number in the lowest bits makes the keys of a row distinct, so that exactly s are removed.
    bits = max(d - 1, 1).bit_length()
    keys = (keys >> bits << bits) | torch.arange(d, device=device, dtype=torch.int32)
    kept = keys > keys.sort(dim=1).values.gather(1, sizes - 1)
    kept[::samples] = True
    return kept


def masked(kept: Tensor, document: Prepared, folded: FoldedDocument) -> Tensor:
    """f of the document with features replaced by [UNK], (n,) in float64."""
    game = game_of(folded, document)
    device = kept.device
    present, absent = (
        torch.from_numpy(np.concatenate([weight, value[:, :, 0]]).T.copy()).to(device, torch.float32)
        for weight, value in ((game.a, game.A), (game.b, game.B))
    )
    always = torch.from_numpy(np.concatenate([game.c0, game.C0[:, 0]])).to(device, torch.float32)
    z = kept.float()
    # Not b + z (a - b): where denominators span many orders of magnitude, the difference cancels.
    return _quotients(z @ present + (1.0 - z) @ absent + always)


def deleted(kept: Tensor, document: Prepared, folded: FoldedDocument) -> Tensor:
    """f of the document with features deleted, so that what follows moves up, (n,) in float64."""
    device, T = kept.device, document.T
    pairs, tail = _deletion_tables(folded, device)
    words = kept[:, torch.from_numpy(document.owner).to(device)]
    position = words.cumsum(dim=1, dtype=torch.int32)
    length = position[:, -1].long()
    rows = position + (torch.arange(T, device=device, dtype=torch.int32) * T - 1)
    offsets = (length.cumsum(0) - length).int()
    total = torch.nn.functional.embedding_bag(rows[words], pairs, offsets, mode="sum")
    return _quotients(total + tail[length])


def _deletion_tables(folded: FoldedDocument, device: torch.device) -> tuple[Tensor, Tensor]:
    """Word i at position p in row i · T + p - 1; and [CLS] with the padding behind the last word, by words left.

    As in `limelight.theory.deletion`, built on the device. Columns: g of each head, then g · w.
    """
    T = len(folded.word_scores)
    put = {
        name: torch.from_numpy(np.ascontiguousarray(getattr(folded, name))).to(device)
        for name in ("word_scores", "word_values", "cls_score", "cls_value", "unknown_score", "unknown_value",
                     "position_scores", "position_values")
    }  # fmt: skip
    positions, position_values = put["position_scores"], put["position_values"][:, :, 0]
    tokens = torch.cat([put["word_scores"], put["cls_score"][None], put["unknown_score"][None]])
    shift = tokens.amax(dim=0) + positions.amax(dim=0)  # cancels in the quotient, keeps exp() in range

    def weights(scores: Tensor, values: Tensor) -> Tensor:
        g = (scores - shift).exp()
        return torch.cat([g, g * values], dim=-1)

    pairs = weights(
        put["word_scores"][:, None] + positions[1 : 1 + T],
        put["word_values"][:, None, :, 0] + position_values[1 : 1 + T],
    )
    padding = weights(put["unknown_score"] + positions, put["unknown_value"][:, 0] + position_values)
    cls = weights(put["cls_score"] + positions[0], put["cls_value"][:, 0] + position_values[0])
    behind = padding.flip(0).cumsum(0).flip(0)
    behind = torch.cat([behind, torch.zeros_like(behind[:1])])[1 : T + 2]
    return pairs.reshape(T * T, -1).float(), (behind + cls).float()


def _quotients(sums: Tensor) -> Tensor:
    K = sums.shape[1] // 2
    return (sums[:, K:] / sums[:, :K]).double().mean(dim=1)


def regression(kept: Tensor, y: Tensor, runs: int) -> _Equations:
    """Weighted least squares of outputs y (runs · n, m) on kept features, in float64, intercept eliminated."""
    d = kept.shape[1]
    z = kept.double().reshape(runs, -1, d)
    y = y.reshape(runs, z.shape[1], -1)
    distance = 1.0 - z.mean(dim=2, keepdim=True).sqrt()
    weight = torch.exp(-(distance**2) / (2.0 * KERNEL_WIDTH**2))  # (runs, n, 1)
    total = weight.sum(dim=1, keepdim=True)
    weighted = z * weight
    mean_z = weighted.sum(dim=1, keepdim=True) / total
    mean_y = (y * weight).sum(dim=1, keepdim=True) / total
    gram = weighted.mT @ z - total * mean_z.mT * mean_z
    H = gram + RIDGE * torch.eye(d, dtype=torch.float64, device=kept.device)
    return _Equations(H, weighted.mT @ (y - mean_y))


def _solve(equations: Sequence[_Equations]) -> list[Runs]:
    """All documents at once; a shorter one is padded by equations that say 0 = 0."""
    d_max = max(e.H.shape[1] for e in equations)
    runs, like = len(equations[0].H), equations[0].H
    H = torch.eye(d_max, dtype=like.dtype, device=like.device).repeat(len(equations), runs, 1, 1)
    y = like.new_zeros((len(equations), runs, d_max, equations[0].y.shape[2]))
    for i, e in enumerate(equations):
        d = e.H.shape[1]
        H[i, :, :d, :d], y[i, :, :d] = e.H, e.y
    solved = torch.cholesky_solve(y, torch.linalg.cholesky(H)).cpu().numpy()
    return [
        Runs(mask=solved[i, :, : e.H.shape[1], 0], delete=solved[i, :, : e.H.shape[1], 1])
        for i, e in enumerate(equations)
    ]
