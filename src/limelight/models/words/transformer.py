"""The general model of Appendix E: layers of multi-head self-attention over words, read at [CLS].

A layer sends the states x (T_max, d_e) of all positions through

    x ← norm(x + W_o [v~_1; …; v~_K])               the K heads of Eqs. 5 to 9, for every query
    x ← norm(x + W_2 act(W_1 x + b_1) + b_2)        with an MLP

where "x +" and "norm" are there with residual connections and layer norm. The appendix gives the numbers of layers and
heads and leaves the rest open: hence the options. Norms stand behind the sums, as in the first transformers. Were they
in front of the heads, the model could not see a constant added to all coordinates of e_t, and G-avg, the mean of the
gradient's coordinates, would be zero for every word. Padding is part of the model, as in Section 2: [UNK] stands behind
the last word and is attended to.

Its view answers by forward passes and automatic differentiation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from limelight.core.arrays import Coalitions, Floats, Integers
from limelight.core.progress import SILENT, Progress
from limelight.errors import ParameterError, UnknownNameError, shown
from limelight.inputs.document import Document
from limelight.inputs.features import Features
from limelight.models.interface import (
    AttentionLayers,
    Attentions,
    Attentive,
    Differentiable,
    Game,
    Gradients,
    Layered,
    Memo,
    Perturbable,
    Removal,
    ViewFacts,
)
from limelight.models.outputs import OUTPUTS, Kind
from limelight.models.words.classifier import Sizes, Vocabulary, WordClassifier
from limelight.theory.deletion import present_words

Mlp = Literal["none", "relu", "gelu"]

_TOKENS_AT_ONCE = {"cpu": 2**14, "cuda": 2**18}
"""Positions in one forward: on a CPU what its cache holds, on a GPU what keeps it busy; memory stays bounded."""


@dataclass(frozen=True)
class TransformerConfig(Sizes):
    """The sizes of a TransformerClassifier; those of Section 2 keep their names, d_att and d_out are per head."""

    kind = "transformer-classifier"
    d_e: int = 96
    d_att: int = 16
    d_out: int = 16
    layers: int = 6
    d_mlp: int = 192  # without an MLP it has no meaning
    residual: bool = True
    layer_norm: bool = True
    mlp: Mlp = "relu"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("residual", "layer_norm"):
            if not isinstance(getattr(self, name), bool):
                raise ParameterError(f"{name} must be True or False: got {shown(getattr(self, name))}")
        if self.mlp not in get_args(Mlp):
            raise UnknownNameError("mlp", self.mlp, get_args(Mlp))


class TransformerLayer(nn.Module):
    """One layer: heads, then the MLP where there is one."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        K, d_e = config.K, config.d_e
        self.W_q = nn.Parameter(torch.zeros(K, config.d_att, d_e))
        self.W_k = nn.Parameter(torch.zeros(K, config.d_att, d_e))
        self.W_v = nn.Parameter(torch.zeros(K, config.d_out, d_e))
        self.W_o = nn.Parameter(torch.zeros(d_e, K * config.d_out))
        self.norm = nn.LayerNorm(d_e) if config.layer_norm else nn.Identity()
        if config.mlp != "none":
            self.W_1 = nn.Parameter(torch.zeros(config.d_mlp, d_e))
            self.b_1 = nn.Parameter(torch.zeros(config.d_mlp))
            self.W_2 = nn.Parameter(torch.zeros(d_e, config.d_mlp))
            self.b_2 = nn.Parameter(torch.zeros(d_e))
            self.mlp_norm = nn.LayerNorm(d_e) if config.layer_norm else nn.Identity()

    def forward(self, x: Tensor, queries: int | None = None) -> Tensor:
        """States (n, T, d_e) to states; of the first `queries` positions alone where no others are needed."""
        q, k, v = self._split(x[:, :queries], self.W_q), self._split(x, self.W_k), self._split(x, self.W_v)
        v_tilde = _attend(q, k, v).transpose(1, 2).flatten(2)
        x = self.norm(self._add(x[:, :queries], F.linear(v_tilde, self.W_o)))
        if self.config.mlp == "none":
            return x
        act = F.relu if self.config.mlp == "relu" else F.gelu
        change = F.linear(act(F.linear(x, self.W_1, self.b_1)), self.W_2, self.b_2)
        return self.mlp_norm(self._add(x, change))

    def attention(self, x: Tensor) -> Tensor:
        """α (n, K, T, T) of Eq. 8: row s of a head is what position s pays to each position."""
        return _softmax_of_scores(self._split(x, self.W_q), self._split(x, self.W_k))

    def _split(self, x: Tensor, W: Tensor) -> Tensor:
        """(n, T, d_e) by (K, d, d_e) to (n, K, T, d)."""
        return F.linear(x, W.flatten(0, 1)).view(*x.shape[:2], *W.shape[:2]).transpose(1, 2)

    def _add(self, x: Tensor, change: Tensor) -> Tensor:
        return x + change if self.config.residual else change


def _softmax_of_scores(q: Tensor, k: Tensor) -> Tensor:
    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(dim=-1)


def _attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Eq. 9 for every query. PyTorch's fused kernels never hold the (T, T) matrices.

    On a GPU their backward adds in an order that varies: training there takes the plain way, so that the same seed
    gives the same weights.
    """
    if q.is_cuda and q.requires_grad:
        return _softmax_of_scores(q, k) @ v
    return F.scaled_dot_product_attention(q, k, v)


class TransformerClassifier(WordClassifier):
    """Text in, logits out. Word i of a document stands at position i + 1; position 0 is [CLS]; the rest is [UNK]."""

    def __init__(self, config: TransformerConfig, vocabulary: Vocabulary, labels: Sequence[str]) -> None:
        super().__init__(config, vocabulary, labels)
        self.config = config
        self.layers = nn.ModuleList(TransformerLayer(config) for _ in range(config.layers))
        self.W_l = nn.Parameter(torch.zeros(len(labels), config.d_e))

    def __repr__(self) -> str:
        c = self.config
        options = f"residual={c.residual}, layer_norm={c.layer_norm}, mlp={c.mlp!r}"
        return (
            f"TransformerClassifier({len(self.vocabulary):,} words, T_max={c.T_max}, d_e={c.d_e}, layers={c.layers}, "
            f"K={c.K}, d_att={c.d_att}, d_out={c.d_out}, d_mlp={c.d_mlp}, {options}, labels={self.labels})"
        )

    @torch.no_grad()
    def initialise(self, seed: int, embedding: float = 1.0, heads: float = 0.1) -> None:
        """Random weights: embeddings normal with this standard deviation, matrices uniform in ± `heads`.

        With residual connections, what a layer adds starts smaller by √(2 · layers), so that depth does not blow up x.
        """
        generator = torch.Generator().manual_seed(seed)
        self.W_e.copy_(torch.randn(self.W_e.shape, generator=generator) * embedding)
        for name, weight in self.named_parameters():
            matrix = name.split(".")[-1]
            if matrix == "W_e":
                continue
            if weight.dim() == 1:  # layer norm starts as the identity, biases at zero
                weight.fill_(1.0 if matrix == "weight" else 0.0)
                continue
            shrink = math.sqrt(2 * self.config.layers) if self.config.residual and matrix in ("W_o", "W_2") else 1.0
            weight.copy_((torch.rand(weight.shape, generator=generator) * 2 - 1) * heads / shrink)

    # ── the forward ───────────────────────────────────────────────────────────────────────────────────────────────

    def forward(self, ids: Tensor) -> Tensor:
        """Logits (n, C) of token numbers (n, T_max)."""
        return self.logits_of_rows(self.W_e, ids)

    def logits_of_rows(self, rows: Tensor, slots: Tensor) -> Tensor:
        """The same from the rows of W_e that occur, and which of them stands where."""
        return self.logits_of_states(self._states(rows, slots))

    def _states(self, rows: Tensor, slots: Tensor) -> Tensor:
        """e_t of Eq. 2 for each position: (n, T, d_e)."""
        # embedding() rather than indexing: its backward adds in a fixed order, so that training is reproducible.
        return F.embedding(slots, rows) + self.W_p[: slots.shape[1]]

    def logits_of_states(self, x: Tensor) -> Tensor:
        """Logits (n, C) of what the first layer reads. The last layer need only know what becomes of [CLS]."""
        *layers, last = self._stack
        for layer in layers:
            x = layer(x)
        x = last(x, queries=1)
        return F.linear(x[:, 0], self.W_l)

    @property
    def _stack(self) -> list[TransformerLayer]:
        return list(self.layers)  # type: ignore[arg-type]

    @property
    def documents_at_once(self) -> int:
        return max(1, _TOKENS_AT_ONCE.get(self.W_e.device.type, _TOKENS_AT_ONCE["cpu"]) // self.config.T_max)

    # ── what methods see ──────────────────────────────────────────────────────────────────────────────────────────

    def view(self, text: str) -> TransformerView:
        return TransformerView(self, self.read(text))

    def states(self, ids: Tensor) -> Tensor:
        """What the first layer reads, e_t of Eq. 2, for token numbers (n, T_max)."""
        return self._states(self.W_e, ids)

    @torch.no_grad()
    def attention_of_layers(self, ids: Tensor) -> Tensor:
        """α (layers, K, T, T) of one document of token numbers (T_max,), between all positions."""
        x, attention = self.states(ids[None]), []
        for layer in self._stack:
            attention.append(layer.attention(x)[0])
            x = layer(x)
        return torch.stack(attention)


class TransformerView(ViewFacts, Perturbable, Attentive, Layered, Differentiable):
    """What methods see: attention of every layer, gradients, and games by forward passes."""

    removals: tuple[Removal, ...] = ("mask", "delete")
    cheap = True
    kind: Kind = "classes"
    outputs = OUTPUTS["classes"]

    def __init__(self, model: TransformerClassifier, document: Document) -> None:
        self._model, self.document, self.labels = model, document, model.labels
        self._memo = Memo()

    @property
    def logits(self) -> Floats:
        return self._memo.get("logits", lambda: self._model.logits_of_ids(self._ids[None])[0])

    def unknown_words(self) -> frozenset[int]:
        return self._model.unknown_words(self.document)

    @property
    def _ids(self) -> Tensor:
        return self._memo.get("ids", lambda: self._model.encode_document(self.document))

    @property
    def _words(self) -> Integers:
        return np.arange(len(self.document.words))

    def attention_layers(self) -> Sequence[AttentionLayers]:
        """α of every layer and head, between all positions."""
        return self._memo.get("attention layers", self._attention_layers)

    def _attention_layers(self) -> Sequence[AttentionLayers]:
        weights, words = self._model.attention_of_layers(self._ids).cpu().numpy(), self._words
        return [AttentionLayers(weights, 0, words + 1, words, np.ones(len(words)))]

    def attentions(self) -> Sequence[Attentions]:
        return [layers.paid_by_reader() for layers in self.attention_layers()]

    def gradients(self, direction: Floats) -> Gradients:
        """With respect to the vectors e_t that the first layer reads, in the precision of the weights."""
        return self._memo.get(("gradients", direction.tobytes()), lambda: self._gradients(direction))

    def _gradients(self, direction: Floats) -> Gradients:
        with torch.enable_grad():
            e = self._model.states(self._ids[None]).detach().requires_grad_()
            output = self._model.logits_of_states(e)[0] @ torch.from_numpy(direction).to(e)
            (gradient,) = torch.autograd.grad(output, e)
        at_words = slice(1, 1 + len(self._words))
        gradients, vectors = (tensor.detach()[0, at_words].double().cpu().numpy() for tensor in (gradient, e))
        return Gradients(gradients, vectors, self._words, forwards=1)

    def game(self, features: Features, removal: Removal, progress: Progress = SILENT) -> TransformerGame:
        """Features removed by [UNK] in place, or deleted so that the rest moves up."""
        return TransformerGame(self._model, self._model.ids_of(self.document), features, removal, progress)


@dataclass(eq=False)
class TransformerGame(Game):
    """Logits of the document with features removed, by forward passes over token numbers."""

    model: TransformerClassifier
    words: Integers
    features: Features
    removal: Removal
    progress: Progress
    asked: int = 0

    def __call__(self, kept: Coalitions) -> Floats:
        kept = np.asarray(kept, dtype=bool)
        logits, size = np.zeros((len(kept), len(self.model.labels))), self.model.documents_at_once
        for start in range(0, len(kept), size):
            rows = slice(start, start + size)
            ids = torch.from_numpy(self._token_numbers(present_words(kept[rows], self.features.owners)))
            logits[rows] = self.model.logits_of_ids(ids.to(self.model.W_e.device))
            self.asked += len(ids)
            self.progress.advance(len(ids))
        return logits

    def _token_numbers(self, there: Coalitions) -> Integers:
        """Token numbers (n, T_max) of the documents whose words `there` are left, [CLS] before and padding behind."""
        ids = np.full((len(there), self.model.T_max), self.model.vocabulary.unknown_id, dtype=np.int64)
        ids[:, 0] = self.model.vocabulary.cls_id
        row, word = there.nonzero()
        ids[row, word + 1 if self.removal == "mask" else there.cumsum(axis=1)[row, word]] = self.words[word]
        return ids
