"""A Hugging Face classifier looking at a document: its token windows, and what forwards and backwards of them tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from limelight.core.arrays import Floats, Integers
from limelight.core.progress import SILENT, Progress
from limelight.errors import CapabilityError, shown
from limelight.inputs.document import Word
from limelight.inputs.features import Features
from limelight.models.huggingface.attention import all_attention
from limelight.models.huggingface.batching import Company
from limelight.models.huggingface.configuration import mask_of
from limelight.models.huggingface.game import TokenGame
from limelight.models.huggingface.gradients import EmbeddingLine, array64, differentiated, directed_gradients
from limelight.models.huggingface.module_copy import ModuleCopy
from limelight.models.huggingface.propagation import Window, join_activations, propagated, recorded
from limelight.models.huggingface.rounded_game import FEW_FEATURES, RoundedGame
from limelight.models.huggingface.runner import one_batch
from limelight.models.huggingface.subwords import Subwords, TokenWindow
from limelight.models.huggingface.variants import VARIANTS, with_inserted
from limelight.models.interface import (
    ROUNDING,
    Answered,
    AttentionLayers,
    Attentions,
    Attentive,
    Differentiable,
    Direction,
    Divisible,
    Gradients,
    Integrable,
    Layered,
    Masking,
    Memo,
    PathGradients,
    Perturbable,
    Propagated,
    Propagating,
    Recorded,
    RecordedLayers,
    Removal,
    RulesName,
    ViewFacts,
)
from limelight.models.outputs import OUTPUTS, Output, Quantity

if TYPE_CHECKING:
    from limelight.models.huggingface.classifier import HuggingFaceClassifier

_GRADIENT_TOKENS = {"cpu": 1024, "cuda": 16384}
"""Tokens in one forward that keeps what its backward needs."""
_SAME_FORWARD = 1e-4
"""How far rules may move logits, as a fraction of the largest: they keep the value of every step."""
_ROUNDING = {torch.float64: 1e-12, torch.float32: 2.0**-19, torch.float16: 2.0**-8, torch.bfloat16: 2.0**-5}
"""How far logits are off, as a part of the largest: on a classifier of six layers, against float64, it was up to 2e-6,
1.4e-3 and 3e-2 for some of 64 coalitions of a text, and half as much or less for most."""


class HuggingFaceView(
    ViewFacts, Perturbable, Masking, Divisible, Attentive, Layered, Differentiable, Integrable, Propagating, Recorded
):
    """What methods see: attention of every layer, gradients, embedding paths, and games by forward passes.

    A text that is read in several windows has the mean of their logits; each window's part goes into what it tells.
    """

    mask_is_given = True

    def __init__(self, model: HuggingFaceClassifier, subwords: Subwords) -> None:
        self._model, self._subwords = model, subwords
        self._memo = Memo()
        self.document, self.windows = subwords.document, subwords.windows
        self.labels, self.kind, self.outputs = model.labels, model.kind, OUTPUTS[model.kind]
        self._company = model.company()
        """What was found for the widest batch that this view asked for."""

    def divided(self, words: tuple[Word, ...]) -> HuggingFaceView:
        """The same tokens, which belong to these words: a token that two of them cut is removed with either."""
        return HuggingFaceView(self._model, self._subwords.divided(words))

    @property
    def logits(self) -> Floats:
        return self._memo.get("logits", lambda: self._model.mean_logits([self.windows])[0])

    @property
    def rounding(self) -> float:
        return _ROUNDING.get(self._model.dtype, ROUNDING)

    def unknown_words(self) -> frozenset[int]:
        """Those whose tokens are all the tokenizer's unknown one."""
        unknown = self._model.tokenizer.unk_token_id
        if unknown is None:
            return frozenset()
        known, every = set(), set()
        for window in self.windows:
            every.update(window.words.tolist())
            known.update(window.words[window.ids[window.positions] != unknown].tolist())
        return frozenset(every - known)

    # ── games ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def notes(self, output: Output) -> tuple[str, ...]:
        """How the model is asked about several texts, where that is not the usual."""
        notice = self._company.notice
        return () if notice is None else (notice,)

    @property
    def repeats_itself(self) -> bool:
        return self._company.batching != "does not repeat itself"

    def _in_company(self) -> Company:
        """What is known of batches as wide as this text; the model is asked where it was not yet."""
        self._company = self._model.company_at(max(len(window.ids) for window in self.windows))
        return self._company

    @property
    def removals(self) -> tuple[Removal, ...]:
        without = {"mask": self._model.special.mask is None, "attention": not self._model.takes_attention_mask}
        return tuple(removal for removal in VARIANTS if not without.get(removal))

    def reason_against(self, removal: Removal) -> str:
        """What there is to say of a removal that is not offered."""
        if removal == "mask" and mask_of(self._model.tokenizer) is not None:
            return ", since its head skips the only token that could stand for one, as it skips padding"
        if removal == "attention" and not self._model.takes_attention_mask:
            return ", since it reads them whatever the attention mask says"
        return ""

    def game(self, features: Features, removal: Removal, progress: Progress = SILENT) -> TokenGame | RoundedGame:
        """Logits of the document with features removed, straight from token numbers.

        Where the model is asked in a lower precision than its own, texts of few features are not.
        """
        if removal not in self.removals:
            raise CapabilityError(
                f"this model does not take words out by {removal!r}{self.reason_against(removal)}: use "
                f"{' or '.join(map(repr, self.removals))}"
            )
        if removal == "attention" and self._model.ignores_attention_mask:
            raise CapabilityError(
                "this model ignores the attention mask, and reads words that are hidden by it as before: use "
                f"{' or '.join(repr(other) for other in self.removals if other != 'attention')}"
            )
        tree = self._model.trees.plain()
        company = self._in_company()
        noise = 0.0 if self.repeats_itself else (company.moved or 0.0) * float(np.abs(self.logits).max())
        game = TokenGame(
            tree,
            self._model.runner,
            [(VARIANTS[removal](w, features, tree.device, self._model.special), w.part) for w in self.windows],
            len(features),
            len(self.labels),
            progress,
            company.batching,
            noise,
        )
        few = len(features) <= FEW_FEATURES
        rounded = self._model.rounded_tree() if self.repeats_itself and not few else None
        if rounded is None:
            return game
        known = self.rounding, _ROUNDING.get(rounded.dtype, ROUNDING)
        return RoundedGame(game, rounded, known)

    @property
    def mask_is_unusual(self) -> bool:
        """Whether another token takes the place of a mask, which the model may have learned to mean something."""
        return self._model.tokenizer.mask_token_id is None and self._model.special.mask is not None

    @property
    def mask_name(self) -> str:
        return shown(self._model.tokenizer.unk_token)

    def with_masks(self, counts: Integers) -> Answered | None:
        """Logits of the document with mask tokens put in where nothing is removed; None beyond the model's length."""
        mask, limit = self._model.special.mask, self._model.max_length
        if mask is None:
            return None
        texts = [[with_inserted(window, mask, row) for window in self.windows] for row in counts]
        if limit is not None and max(len(window.ids) for own in texts for window in own) > limit:
            return None
        return Answered(self._model.mean_logits(texts), sum(map(len, texts)))

    # ── attention ─────────────────────────────────────────────────────────────────────────────────────────────────

    def attention_layers(self) -> Sequence[AttentionLayers]:
        """The attention of every layer and head, window by window."""
        return self._memo.get("attention layers", self._attention_layers)

    def _attention_layers(self) -> Sequence[AttentionLayers]:
        tree = self._model.trees.eager()
        layers = []
        with torch.inference_mode(False):  # of the caller: which position is read is found by a gradient
            for window in self.windows:
                weights, reader = all_attention(tree, one_batch([window], tree.device), self._model.special)
                positions, words = window.positions, window.words
                layers.append(AttentionLayers(weights, reader, positions, words, window.token_parts, window.part))
        return layers

    def attentions(self) -> Sequence[Attentions]:
        """What the position that the head reads pays to the words."""
        return [layers.paid_by_reader() for layers in self.attention_layers()]

    # ── gradients ─────────────────────────────────────────────────────────────────────────────────────────────────

    def gradients(self, direction: Floats) -> Gradients:
        """By autograd, with respect to the embedding of each token of a word."""
        return self._memo.get(("gradients", direction.tobytes()), lambda: self._gradients(direction))

    def _gradients(self, direction: Floats) -> Gradients:
        gradients, vectors = [], []
        with differentiated(self._model.trees.plain()) as tree:
            for window in self.windows:
                inputs = one_batch([window], tree.device)
                embeddings = tree.embed(inputs.ids[0])
                _, gradient = directed_gradients(tree, inputs, embeddings[None], lambda _: direction[None])
                # Norms and means alike scale with the gradient: a token of two words gives half of it to each.
                scale = (window.part * window.token_parts)[:, None]
                gradients.append(array64(gradient[0])[window.positions] * scale)
                vectors.append(array64(embeddings)[window.positions])
        words = np.concatenate([window.words for window in self.windows])
        return Gradients(np.concatenate(gradients), np.concatenate(vectors), words, forwards=len(self.windows))

    def path_gradients(self, baseline: str, moved: Integers, points: Floats, direction: Direction) -> PathGradients:
        """Between the text and the text with `baseline` ("mask", "pad" or "zero") vectors in the place of its words."""
        with differentiated(self._model.trees.plain()) as tree:
            return self._path_gradients(tree, baseline, moved, points, direction)

    def _path_gradients(
        self, tree: ModuleCopy, baseline: str, moved: Integers, points: Floats, direction: Direction
    ) -> PathGradients:
        lines = [self._line(tree, window, baseline, moved) for window in self.windows]
        logits, slopes, forwards = [], [], 0
        step = max(1, _GRADIENT_TOKENS.get(tree.device.type, 1024) // len(self.windows[0].ids))
        if self._in_company().alone:
            step = 1
        for start in range(0, len(points), step):
            x = points[start : start + step]
            along = direction
            if len(lines) > 1:
                along = self._direction_of_mean(lines, x, direction)
                forwards += len(x) * len(lines)
            along_lines = [line.slopes(x, along) for line in lines]
            forwards += len(x) * len(lines)
            pairs = list(zip(self.windows, along_lines, strict=True))
            logits.append(np.sum([window.part * own for window, (own, _) in pairs], axis=0))
            per_window = [slope[:, w.positions] * (w.part * w.token_parts) for w, (_, slope) in pairs]
            slopes.append(np.concatenate(per_window, axis=1))
        words = np.concatenate([window.words for window in self.windows])
        return PathGradients(np.concatenate(logits), np.concatenate(slopes), words, forwards)

    def propagated(self, rules: RulesName, quantity: Quantity, moved: Integers, baseline: str) -> Propagated:
        """Between the text and, for rules that compare, the text with `baseline` vectors in the place of its words."""
        with differentiated(self._model.trees.plain()):
            tree = self._model.trees.propagating(join_activations)
            found = propagated(tree, self._propagating(tree, baseline, moved), rules, quantity)
        expected = quantity.of(self.logits[None])[0]
        if not abs(found.outputs[0] - expected) <= max(_SAME_FORWARD, 4 * self.rounding) * np.abs(self.logits).max():
            raise CapabilityError(
                f"the rules of {rules} change what this {tree.name} says of the text, from {expected:.4g} to "
                f"{found.outputs[0]:.4g}: one of its modules works in a way that they do not cover; use "
                "integrated-gradients, lime or shapley"
            )
        weights = [
            own[window.positions] * window.token_parts for window, own in zip(self.windows, found.weights, strict=True)
        ]
        words = np.concatenate([window.words for window in self.windows])
        return Propagated(
            np.concatenate(weights), words, found.outputs, found.rest, found.missing, forwards=found.forwards
        )

    def _propagating(self, tree: ModuleCopy, baseline: str, moved: Integers) -> list[Window]:
        lines = [self._line(tree, window, baseline, moved) for window in self.windows]
        return [
            Window(line.inputs, line.embeddings, line.embeddings - line.difference, window.part)
            for window, line in zip(self.windows, lines, strict=True)
        ]

    def recorded(self, direction: Floats) -> Sequence[RecordedLayers]:
        """Attention, its gradient and what positions bring, window by window."""
        return self._memo.get(("recorded", direction.tobytes()), lambda: self._recorded(direction))

    def _recorded(self, direction: Floats) -> Sequence[RecordedLayers]:
        nothing: Integers = np.zeros(0, dtype=np.int64)
        with differentiated(self._model.trees.plain()):
            tree = self._model.trees.propagating(join_activations)
            found = [recorded(tree, window, direction) for window in self._propagating(tree, "zero", nothing)]
        return [
            RecordedLayers(*own, window.positions, window.words, window.token_parts, window.part)
            for window, own in zip(self.windows, found, strict=True)
        ]

    def _direction_of_mean(self, lines: Sequence[EmbeddingLine], points: Floats, direction: Direction) -> Direction:
        """The output is a function of the windows' mean: its direction is taken there, before any window's backward."""
        pairs = zip(self.windows, lines, strict=True)
        along = direction(np.sum([window.part * line.logits(points) for window, line in pairs], axis=0))
        return lambda _: along

    def _line(self, tree: ModuleCopy, window: TokenWindow, baseline: str, moved: Integers) -> EmbeddingLine:
        inputs = one_batch([window], tree.device)
        embeddings = tree.embed(inputs.ids[0])
        difference = torch.zeros_like(embeddings)
        owned = torch.from_numpy(np.unique(window.positions[np.isin(window.words, moved)])).to(tree.device)
        difference[owned] = embeddings[owned] - self._baseline(tree, baseline, embeddings)
        return EmbeddingLine(tree, inputs, embeddings, difference)

    def _baseline(self, tree: ModuleCopy, baseline: str, embeddings: Tensor) -> Tensor:
        special = self._model.special
        if baseline == "zero":
            return torch.zeros_like(embeddings[0])
        if baseline == "mask" and special.mask is None:
            raise CapabilityError(
                "this tokenizer has neither a mask nor an unknown token: use baseline='pad' or baseline='zero'"
            )
        if baseline == "pad" and special.pad is None:
            raise CapabilityError("this model has no padding token: use baseline='mask' or baseline='zero'")
        return tree.embed(torch.tensor([special.mask if baseline == "mask" else special.pad], device=tree.device))[0]
