"""Any Hugging Face text classifier with a fast tokenizer, explained word by word."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from limelight.arrays import Floats, whole_number
from limelight.document import Document
from limelight.errors import CapabilityError, InputError, ParameterError
from limelight.models.huggingface.folder import shortened
from limelight.models.huggingface.private import PrivateTrees
from limelight.models.huggingface.runner import Runner, ragged_batches
from limelight.models.huggingface.subwords import (
    Encoding,
    LongTexts,
    Stretch,
    TokenWindow,
    encode,
    read_subwords,
    stretches,
    window_of,
)
from limelight.models.huggingface.variants import SpecialTokens
from limelight.models.huggingface.view import HuggingFaceView, single_input
from limelight.view import Classifier, probabilities

_UNLIMITED = 10**6
"""Tokenizers without a limit give an astronomical one."""


class HuggingFaceClassifier:
    """A sequence classifier of transformers. `model` and `tokenizer` stay as they are: limelight runs copies of them
    that share the model's weights.

    Words are those of the text as limelight reads it. `long_texts` says what happens to a text beyond `max_length`
    tokens: "refuse" it, "truncate" it, or read it in a "window" that moves on by half its length; a windowed text has
    the mean of its windows' logits, and that is what is explained. `batch_tokens` fixes the size of a forward that is
    found by itself otherwise.
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
    ) -> None:
        _check_tokenizer(tokenizer)
        _check_weights(model)
        self.labels = _labels(model, labels)
        self.model, self.tokenizer = model, tokenizer
        self.long_texts = long_texts
        self.max_length = _token_limit(model, tokenizer, max_length)
        self.special = _special_tokens(model, tokenizer)
        self.runner = Runner(len(self.labels), batch_tokens)
        self.trees = PrivateTrees(model)
        self._tokenizer = _private_tokenizer(tokenizer)
        self._takes_types = "token_type_ids" in inspect.signature(model.forward).parameters
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

    def parameters(self) -> Iterator[nn.Parameter]:
        """The weights of the model."""
        parameters: Iterator[nn.Parameter] = self.model.parameters()
        return parameters

    def view(self, text: str) -> HuggingFaceView:
        """The model looking at a text, which is tokenised here and never again."""
        document = Document.read(text)
        read = read_subwords(document, self._encode(text), self.max_length, self.long_texts)
        return HuggingFaceView(self, *read)

    def predict_logits(self, texts: Sequence[str]) -> Floats:
        """The logits of each text: (n, classes)."""
        if isinstance(texts, str):
            raise InputError("predict_logits takes a list of texts: got one string; write predict_logits([text])")
        encodings = [self._encode(text) for text in texts]
        return self.mean_logits(
            [
                [window_of(encoding, stretch) for stretch in stretches(encoding, self.max_length, self.long_texts)]
                for encoding in encodings
            ]
        )

    def predict_proba(self, texts: Sequence[str]) -> Floats:
        """The softmax of the logits: (n, classes), rows sum to 1."""
        return probabilities(self.predict_logits(texts))

    def mean_logits(self, windows: Sequence[Sequence[TokenWindow]]) -> Floats:
        """The logits (n, classes) of n texts, given as the windows of each: the mean of what these have, by parts."""
        every = [window for own in windows for window in own]
        result = np.zeros((len(windows), len(self.labels)))
        if every:
            tree = self.trees.plain()
            logits = self.runner.run(tree.logits, tree.device, ragged_batches(every, self.special.pad, tree.device))
            parts = np.array([window.part for window in every])
            np.add.at(result, np.repeat(np.arange(len(windows)), list(map(len, windows))), parts[:, None] * logits)
        return result

    def _encode(self, text: str) -> Encoding:
        encoding = encode(self._tokenizer, text, self._takes_types)
        numbers, vectors = encoding.all_ids, _n_vectors(self.model)
        if vectors is not None and len(numbers) and numbers.max() >= vectors:
            raise InputError(
                f"the tokenizer gives a token the number {numbers.max()}, but this model has vectors for {vectors} "
                f"tokens: give the model its own tokenizer (the text is {shortened(repr(text), 80)})"
            )
        return encoding

    def _check_head(self) -> None:
        """One tiny forward: an error now says more than one in the middle of an explanation."""
        tree, encoding = self.trees.plain(), self._encode("a")
        probe = single_input(window_of(encoding, Stretch(0, len(encoding.ids), 1.0)), tree.device)
        try:
            with torch.inference_mode():
                logits = getattr(tree.module(input_ids=probe.ids), "logits", None)
        except (TypeError, ValueError) as error:
            raise CapabilityError(f"{tree.name} does not take input_ids alone: {error}; {_NEEDED}") from error
        except (RuntimeError, LookupError, AttributeError, ArithmeticError, AssertionError) as error:
            raise CapabilityError(
                f"{tree.name} cannot be run on the text 'a', {type(error).__name__}: {shortened(str(error))}; {_NEEDED}"
            ) from error
        if not isinstance(logits, Tensor):
            raise CapabilityError(f"{tree.name} has no classification head: it gives no logits; {_NEEDED}")
        if logits.shape != (1, len(self.labels)):
            raise CapabilityError(
                f"{tree.name} gives logits of shape {tuple(logits.shape)} for one text, where {(1, len(self.labels))} "
                f"were expected; {_NEEDED}"
            )


if TYPE_CHECKING:

    def _is_a_classifier(model: HuggingFaceClassifier) -> Classifier:
        return model


_NEEDED = "load it with AutoModelForSequenceClassification, from a checkpoint that was fine-tuned for classification"


def _check_tokenizer(tokenizer: Any) -> None:
    if not callable(tokenizer):
        raise ParameterError(f"the second argument must be a tokenizer of transformers: got {type(tokenizer).__name__}")
    if not getattr(tokenizer, "is_fast", False):
        raise CapabilityError(
            f"{type(tokenizer).__name__} is a slow tokenizer: it does not tell which characters a token stands for, so "
            "weights cannot be given to words; load its fast version with AutoTokenizer.from_pretrained(…)"
        )


def _check_weights(model: Any) -> None:
    """Before anything is asked of a model: that it is one, and that its weights are numbers."""
    if getattr(model, "config", None) is None or not callable(getattr(model, "get_input_embeddings", None)):
        raise ParameterError(f"the model must be one of transformers: got {type(model).__name__}")
    weights = list(model.named_parameters())
    if not weights:
        raise CapabilityError(f"this {type(model).__name__} has no weights; {_NEEDED}")
    if empty := [name for name, weight in weights if weight.is_meta]:
        raise CapabilityError(
            f"{len(empty)} of the {len(weights)} weights of this {type(model).__name__} are on the meta device, shapes "
            f"without numbers ({empty[0]}): load it onto a device, without device_map or torch.device('meta')"
        )


def _n_vectors(model: Any) -> int | None:
    """How many tokens a model has vectors for, where it has a table of them."""
    try:
        table = getattr(model.get_input_embeddings(), "weight", None)
    except NotImplementedError:
        return None
    return len(table) if isinstance(table, Tensor) else None


def _labels(model: Any, given: Sequence[str] | None) -> tuple[str, ...]:
    config = model.config
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
    if given is not None and (isinstance(given, str) or not isinstance(given, Iterable)):
        raise ParameterError(f"labels must be a list of names: got {given!r}; write labels=[…]")
    named = getattr(config, "id2label", None) or {}
    if given is None and not isinstance(named, Mapping):
        raise ParameterError(
            f"id2label of the configuration must give a name for each number: got {shortened(repr(named), 80)}; give "
            "labels=[…]"
        )
    labels = tuple(given) if given is not None else tuple(str(named.get(i, f"LABEL_{i}")) for i in range(count))
    if len(labels) != count or len(set(labels)) != count or not all(isinstance(x, str) and x for x in labels):
        raise ParameterError(
            f"{count} labels are needed, all different and none empty: got {labels!r}; give labels=[…]"
        )
    return labels


def _special_tokens(model: Any, tokenizer: Any) -> SpecialTokens:
    mask = tokenizer.mask_token_id if tokenizer.mask_token_id is not None else tokenizer.unk_token_id
    pads = (tokenizer.pad_token_id, getattr(model.config, "pad_token_id", None), 0)
    return SpecialTokens(mask, int(next(pad for pad in pads if pad is not None)), tokenizer.cls_token_id)


def _private_tokenizer(tokenizer: Any) -> Any:
    """A copy: calling a tokenizer sets its truncation and padding, in which its owner's calls would meet ours."""
    try:
        return copy.deepcopy(tokenizer)
    except Exception:  # one with parts that are written in Python cannot be copied; only its settings change
        return tokenizer


def _token_limit(model: Any, tokenizer: Any, given: int | None) -> int | None:
    """How many tokens the model reads: no more than it has positions for, or than its tokenizer says."""
    limits = [position_capacity(model), getattr(tokenizer, "model_max_length", None)]
    known = [int(limit) for limit in limits if limit is not None and 0 < limit < _UNLIMITED]
    if limits[0] is not None and limits[0] < 1:
        raise CapabilityError(f"this model has positions for {limits[0]} tokens, so it reads none; {_NEEDED}")
    if given is None:
        return min(known, default=None)
    given = whole_number("max_length", given, 3)
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
