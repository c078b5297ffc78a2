"""Any Hugging Face text classifier with a fast tokenizer, explained word by word."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from limelight.document import Document, Features
from limelight.errors import CapabilityError, InputError, ParameterError
from limelight.models.huggingface.attention import all_attention
from limelight.models.huggingface.gradients import EmbeddingLine, directed_gradients, embed
from limelight.models.huggingface.runner import Inputs, Progress, Runner, TokenGame, ragged_inputs
from limelight.models.huggingface.subwords import (
    LongTexts,
    SubwordDocument,
    TokenWindow,
    encode,
    parts,
    read_subwords,
    window_of,
)
from limelight.view import (
    AttentionLayers,
    Attentions,
    Direction,
    Game,
    Gradients,
    PathGradients,
    Removal,
    probabilities,
)

Floats = npt.NDArray[np.float64]

_UNLIMITED = 10**6
"""Tokenizers without a limit give an astronomical one."""
_GRADIENT_TOKENS = {"cpu": 1024, "cuda": 16384}
"""Tokens in one forward that keeps what its backward needs."""


class HuggingFaceClassifier:
    """A sequence classifier of transformers: the model and tokenizer as they are, in eval mode.

    Words are those of the text as limelight reads it. `long_texts` says what happens to a text beyond `max_length`
    tokens: "refuse" it, "truncate" it, or read it in a "window" that moves on by half its length; a windowed text has
    the mean of its windows' logits, and that is what is explained. `batch_tokens` fixes the size of a forward that is
    found by itself otherwise; `progress` is told how many of how many inputs are done.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        labels: Sequence[str] | None = None,
        long_texts: LongTexts = "refuse",
        max_length: int | None = None,
        batch_tokens: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        _check_tokenizer(tokenizer)
        self.labels = _labels(model, labels)
        self.model, self.tokenizer = model.eval(), tokenizer
        self.long_texts = long_texts
        self.max_length = _token_limit(model, tokenizer, max_length)
        self._mask = tokenizer.mask_token_id if tokenizer.mask_token_id is not None else tokenizer.unk_token_id
        pads = (tokenizer.pad_token_id, getattr(model.config, "pad_token_id", None), 0)
        self._pad = int(next(pad for pad in pads if pad is not None))
        self.removals: tuple[Removal, ...] = ("mask", "delete", "attention")
        if self._mask is None:
            self.removals = ("delete", "attention")
        accepted = inspect.signature(model.forward).parameters
        self._takes_types = "token_type_ids" in accepted
        self._runner = Runner(self._forward, self.device, len(self.labels), batch_tokens, progress)
        self._check_head()

    def __repr__(self) -> str:
        kind = f"{type(self.model).__name__}, {self.max_length or 'any number of'} tokens"
        return f"HuggingFaceClassifier({kind}, {self.dtype} on {self.device}, labels={self.labels})"

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    @property
    def dtype(self) -> torch.dtype:
        return next(self.model.parameters()).dtype

    @property
    def progress(self) -> Progress | None:
        return self._runner.progress

    @progress.setter
    def progress(self, callback: Progress | None) -> None:
        self._runner.progress = callback

    def parameters(self) -> Iterator[nn.Parameter]:
        """The weights of the model."""
        parameters: Iterator[nn.Parameter] = self.model.parameters()
        return parameters

    # ── the public contract ───────────────────────────────────────────────────────────────────────────────────────

    def read(self, text: str) -> SubwordDocument:
        """The words of a text, with the tokens that belong to each."""
        return read_subwords(self.tokenizer, text, self.max_length, self.long_texts)

    def predict_logits(self, texts: Sequence[str]) -> Floats:
        """The logits of each text: (n, classes)."""
        if isinstance(texts, str):
            raise InputError("predict_logits takes a list of texts: got one string; write predict_logits([text])")
        windows: list[TokenWindow] = []
        text_of: list[int] = []
        for i, text in enumerate(texts):
            encoding = encode(self.tokenizer, text)
            for part in parts(encoding, self.max_length, self.long_texts):
                windows.append(window_of(encoding, part))
                text_of.append(i)
        result = np.zeros((len(texts), len(self.labels)))
        if windows:
            shares = np.array([window.share for window in windows])
            found = self._runner.run(*ragged_inputs(windows, self._pad, self.device))
            np.add.at(result, text_of, shares[:, None] * found)
        return result

    def predict_proba(self, texts: Sequence[str]) -> Floats:
        """The softmax of the logits: (n, classes), rows sum to 1."""
        return probabilities(self.predict_logits(texts))

    def _forward(self, inputs: Inputs) -> Tensor:
        more = {"token_type_ids": inputs.types} if self._takes_types and inputs.types is not None else {}
        logits: Tensor = self.model(input_ids=inputs.ids, attention_mask=inputs.attention, **more).logits
        return logits

    # ── what methods ask for ──────────────────────────────────────────────────────────────────────────────────────

    def perturb(self, document: Document, features: Features, removal: Removal) -> Game:
        """Logits of the document with features removed, straight from token numbers."""
        if removal not in self.removals:
            raise CapabilityError(
                f"this model does not take words out by {removal!r}: use {' or '.join(self.removals)}"
            )
        windows, mask = self._windows(document), self._pad if self._mask is None else self._mask
        return TokenGame(windows, features, len(document.words), removal, self._runner, mask=mask, pad=self._pad)

    def attention_layers(self, document: Document) -> Iterator[AttentionLayers]:
        """The attention of every layer and head, one window after the other."""
        for window in self._windows(document):
            inputs = self._single(window)
            yield AttentionLayers(
                weights=all_attention(self.model, inputs.ids, inputs.types),
                reader=self._reader(window),
                positions=window.positions,
                words=window.words,
                shares=window.shares,
                share=window.share,
            )

    def attentions(self, document: Document) -> Attentions:
        """What [CLS] pays to the words in the last layer."""
        found = list(self.attention_layers(document))
        paid = [
            layers.weights[-1, :, layers.reader, layers.positions].T * (layers.shares * layers.share)
            for layers in found
        ]
        return Attentions(np.concatenate(paid, axis=1), np.concatenate([layers.words for layers in found]))

    def gradients(self, document: Document, direction: Floats) -> Gradients:
        """By autograd, with respect to the embedding of each token of a word."""
        gradients, vectors, words = [], [], []
        for window in self._windows(document):
            inputs = self._single(window)
            embeddings = embed(self.model, inputs.ids[0])
            _, gradient = directed_gradients(self.model, inputs, embeddings[None], lambda _: direction[None])
            # Norms and means alike scale with the gradient: a token of two words gives half of it to each.
            scale = (window.share * window.shares)[:, None]
            gradients.append(_array64(gradient[0])[window.positions] * scale)
            vectors.append(_array64(embeddings)[window.positions])
            words.append(window.words)
        return Gradients(np.concatenate(gradients), np.concatenate(vectors), np.concatenate(words))

    def path_gradients(self, document: Document, baseline: str, points: Floats, direction: Direction) -> PathGradients:
        """Between the text and the text with `baseline` ("mask", "pad" or "zero") vectors in the place of its words."""
        windows = self._windows(document)
        lines = [self._line(window, baseline) for window in windows]
        logits, slopes = [], []
        step = max(1, _GRADIENT_TOKENS.get(self.device.type, 1024) // len(windows[0].ids))
        for start in range(0, len(points), step):
            x = points[start : start + step]
            along = direction if len(windows) == 1 else _direction_of_mean(windows, lines, x, direction)
            found = [line.slopes(x, along) for line in lines]
            pairs = list(zip(windows, found, strict=True))
            logits.append(np.sum([window.share * own for window, (own, _) in pairs], axis=0))
            parts = [slope[:, window.positions] * (window.share * window.shares) for window, (_, slope) in pairs]
            slopes.append(np.concatenate(parts, axis=1))
        words = np.concatenate([window.words for window in windows])
        return PathGradients(np.concatenate(logits), np.concatenate(slopes), words)

    def _line(self, window: TokenWindow, baseline: str) -> EmbeddingLine:
        inputs = self._single(window)
        embeddings = embed(self.model, inputs.ids[0])
        difference = torch.zeros_like(embeddings)
        owned = torch.from_numpy(np.unique(window.positions)).to(self.device)
        difference[owned] = embeddings[owned] - self._baseline(baseline, embeddings)
        return EmbeddingLine(self.model, inputs, embeddings, difference)

    def _baseline(self, baseline: str, embeddings: Tensor) -> Tensor:
        if baseline == "zero":
            return torch.zeros_like(embeddings[0])
        if baseline == "mask" and self._mask is None:
            raise ParameterError("this tokenizer has neither a mask nor an unknown token: use baseline='pad' or 'zero'")
        return embed(self.model, torch.tensor([self._mask if baseline == "mask" else self._pad], device=self.device))[0]

    # ── from a document to inputs ─────────────────────────────────────────────────────────────────────────────────

    def _windows(self, document: Document) -> tuple[TokenWindow, ...]:
        return (document if isinstance(document, SubwordDocument) else self.read(document.text)).windows

    def _single(self, window: TokenWindow) -> Inputs:
        ids = torch.from_numpy(window.ids)[None].to(self.device)
        if not (self._takes_types and window.types.any()):
            return Inputs(ids)
        return Inputs(ids, torch.from_numpy(window.types)[None].to(self.device))

    def _reader(self, window: TokenWindow) -> int:
        """The position that the classifier reads: that of the tokenizer's [CLS]."""
        found = np.flatnonzero(window.ids == self.tokenizer.cls_token_id)
        if not len(found):
            raise CapabilityError(
                "this tokenizer puts no [CLS] token into a text, so there is no position whose attention would be an "
                "explanation: use a gradient or perturbation method"
            )
        return int(found[0])

    def _check_head(self) -> None:
        """One tiny forward: an error now says more than one in the middle of an explanation."""
        name = type(self.model).__name__
        try:
            with torch.inference_mode():
                logits = getattr(self.model(input_ids=self._single(self._probe()).ids), "logits", None)
        except (TypeError, ValueError) as error:
            raise CapabilityError(f"{name} does not take input_ids alone: {error}; {_NEEDED}") from error
        if not isinstance(logits, Tensor):
            raise CapabilityError(f"{name} has no classification head: it gives no logits; {_NEEDED}")
        if logits.shape != (1, len(self.labels)):
            raise CapabilityError(
                f"{name} gives logits of shape {tuple(logits.shape)} for one text, where {(1, len(self.labels))} were "
                f"expected; {_NEEDED}"
            )

    def _probe(self) -> TokenWindow:
        encoding = encode(self.tokenizer, "a")
        return window_of(encoding, (0, len(encoding.ids), 1.0))


_NEEDED = "load it with AutoModelForSequenceClassification, from a checkpoint that was fine-tuned for classification"


def _direction_of_mean(
    windows: Sequence[TokenWindow], lines: Sequence[EmbeddingLine], points: Floats, direction: Direction
) -> Direction:
    """The output is a function of the windows' mean: its direction is taken there, before any window's backward."""
    mean = np.sum([window.share * line.logits(points) for window, line in zip(windows, lines, strict=True)], axis=0)
    along = direction(mean)
    return lambda _: along


def _array64(tensor: Tensor) -> Floats:
    return tensor.detach().double().cpu().numpy()


def _check_tokenizer(tokenizer: Any) -> None:
    if not callable(tokenizer):
        raise ParameterError(f"the second argument must be a tokenizer of transformers: got {type(tokenizer).__name__}")
    if not getattr(tokenizer, "is_fast", False):
        raise CapabilityError(
            f"{type(tokenizer).__name__} is a slow tokenizer: it does not tell which characters a token stands for, so "
            "weights cannot be given to words; load its fast version with AutoTokenizer.from_pretrained(…)"
        )


def _labels(model: Any, given: Sequence[str] | None) -> tuple[str, ...]:
    config = getattr(model, "config", None)
    if config is None or not callable(getattr(model, "get_input_embeddings", None)):
        raise ParameterError(f"the model must be one of transformers: got {type(model).__name__}")
    count = getattr(config, "num_labels", None)
    if not isinstance(count, int):
        raise CapabilityError(f"{type(model).__name__} has no labels; {_NEEDED}")
    if count < 2 or getattr(config, "problem_type", None) == "regression":
        raise CapabilityError(
            f"{type(model).__name__} is a regression model (num_labels={count}, "
            f"problem_type={getattr(config, 'problem_type', None)!r}): limelight explains classifiers with two labels "
            "or more"
        )
    if getattr(config, "problem_type", None) == "multi_label_classification":
        raise CapabilityError(
            f"{type(model).__name__} gives several labels at once (problem_type='multi_label_classification'): wrap a "
            "function that returns the probabilities of one label and of its absence"
        )
    named = config.id2label or {}
    labels = tuple(given) if given is not None else tuple(str(named.get(i, f"LABEL_{i}")) for i in range(count))
    if len(labels) != count or len(set(labels)) != count or not all(isinstance(x, str) and x for x in labels):
        raise ParameterError(
            f"{count} labels are needed, all different and none empty: got {labels!r}; give labels=[…]"
        )
    return labels


def _token_limit(model: Any, tokenizer: Any, given: int | None) -> int | None:
    """How many tokens the model reads: no more than it has positions for, or than its tokenizer says."""
    limits = [position_capacity(model), getattr(tokenizer, "model_max_length", None)]
    known = [int(limit) for limit in limits if limit is not None and 0 < limit < _UNLIMITED]
    if given is None:
        return min(known, default=None)
    if isinstance(given, bool) or not isinstance(given, int) or given < 3:
        raise ParameterError(f"max_length must be a whole number of at least 3: got {given!r}")
    if (capacity := limits[0]) is not None and given > capacity:
        raise ParameterError(f"max_length={given} is more than this model has positions for: {capacity}")
    return given


def position_capacity(model: Any) -> int | None:
    """From the table of positions; those that number them from the padding token on (RoBERTa) lose the first ones."""
    tables = [
        module
        for name, module in model.named_modules()
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding)
    ]
    if tables:
        return min(t.num_embeddings - (0 if t.padding_idx is None else t.padding_idx + 1) for t in tables)
    stated: int | None = getattr(model.config, "max_position_embeddings", None)
    return stated
