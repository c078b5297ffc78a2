"""Any Hugging Face classifier of texts, or of pairs of texts, with a fast tokenizer, explained word by word."""

from __future__ import annotations

import contextlib
import copy
import inspect
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from limelight.core.arrays import Floats
from limelight.errors import CapabilityError, InputError, ParameterError, shortened, shown
from limelight.inputs.document import Document, Text, check_text_of, listed_texts
from limelight.inputs.words import WordRule, rule_of
from limelight.models.huggingface.batching import (
    Company,
    decide,
    ignores_attention_mask,
    inputs_like,
    inputs_of_width,
    ordinary_tokens,
    skips,
    width_to_ask,
    worse,
)
from limelight.models.huggingface.configuration import (
    NEEDED,
    SpecialTokens,
    beginning_of,
    kind_of,
    labels_of,
    mask_of,
    n_vectors,
    pads_of,
    reason_of_limit,
    token_limit,
)
from limelight.models.huggingface.gradients import array64
from limelight.models.huggingface.module_copy import ModuleCopies, ModuleCopy
from limelight.models.huggingface.precision import Precision, known_dtype, lower_than
from limelight.models.huggingface.runner import Batching, Runner, one_batch, ragged_batches
from limelight.models.huggingface.subwords import (
    Encoding,
    LongTexts,
    TokenWindow,
    check_pairs,
    encode,
    read_subwords,
    stretches,
    window_of,
)
from limelight.models.huggingface.view import HuggingFaceView
from limelight.models.outputs import Kind, probabilities


class HuggingFaceClassifier:
    """A sequence classifier of transformers. `model` and `tokenizer` stay as they are: limelight runs copies of them
    that share the model's weights.

    `kind` says what its outputs are, where the configuration does not: "classes" that exclude each other, the labels of
    a "multi-label" model, or the numbers of a "regression". With `pairs` it reads pairs of texts, as its tokenizer
    joins them. Words are those of the text as limelight reads it, or as the function `words` divides it.

    `long_texts` says what happens to a text beyond `max_length` tokens: "refuse" it, "truncate" it, or read it in a
    "window" that moves on by half its length; a windowed text has the mean of its windows' logits, and that is what is
    explained. `batch_tokens` fixes the size of a forward that is found by itself otherwise.

    `dtype`: the precision in which texts with words removed are asked (`precision.py`), on a copy of the weights;
    without it, and for all else, the model's own.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        labels: Sequence[str] | None = None,
        kind: Kind | None = None,
        pairs: bool = False,
        words: WordRule | None = None,
        long_texts: LongTexts = "refuse",
        max_length: int | None = None,
        batch_tokens: int | None = None,
        dtype: Precision | None = None,
    ) -> None:
        _check_tokenizer(tokenizer)
        _check_weights(model)
        self.kind = kind_of(model, kind)
        self.labels = labels_of(model, labels)
        if not isinstance(pairs, bool):
            raise ParameterError(f"pairs must be True or False: got {shown(pairs)}")
        if pairs and long_texts == "window":
            raise ParameterError(
                "a pair of texts is not read in windows: use truncate=True, which cuts the longer text"
            )
        self.pairs = pairs
        self.model, self.tokenizer = model, tokenizer
        self.long_texts = long_texts
        self.max_length = token_limit(model, tokenizer, max_length)
        self.runner = Runner(len(self.labels), batch_tokens, self.max_length)
        self.trees = ModuleCopies(model)
        self._precision = None if dtype is None else known_dtype(dtype)
        self._runs: ModuleCopy | None = None
        """The last tree in that precision that gave finite logits."""
        self._unable = False
        self._word_rule = rule_of(words)
        self._tokenizer = tokenizer
        with contextlib.suppress(Exception):  # one with parts that are written in Python cannot be copied
            # Calling a tokenizer sets its truncation and padding, in which its owner's calls would meet ours.
            self._tokenizer = copy.deepcopy(tokenizer)
        self._takes_types = _takes_types(model, tokenizer, pairs)
        if pairs:
            check_pairs(self._tokenizer)
        self._frame = self._read_frame()
        self._first = 0
        """Tokens of the shortest input that the model is asked about itself; 0: those of "a"."""
        self._check_head()
        if self._precision != "auto":
            self.rounded_tree()  # what was asked for by name is refused at once

    def __repr__(self) -> str:
        kind = f"{type(self.model).__name__}, {self.max_length or 'any number of'} tokens"
        reads = "".join([", pairs" * self.pairs, f", {self.kind}" * (self.kind != "classes")])
        lower = self.removal_dtype
        precision = f"{self.dtype} on {self.device}" + (f", {lower} for removals" if lower is not None else "")
        batching = "" if self.batching == "padded" else f", batches: {self.batching}"
        return f"HuggingFaceClassifier({kind}{reads}, {precision}{batching}, labels={self.labels})"

    def __getstate__(self) -> dict[str, Any]:
        """Without the copy of the weights in half precision, which is made again where it is needed."""
        return {**vars(self), "_runs": None}

    @property
    def batching(self) -> Batching:
        """Which texts the model is asked about together, found by asking it: any, "padded" to one length; only those of
        "equal lengths"; "one at a time"; or one at a time since it "does not repeat itself" (`batching.py`)."""
        return self.company().batching

    def company(self, first: Floats | None = None) -> Company:
        """What was found when the model was asked alone and in company; `first`: what it says of the shortest input."""

        pads = pads_of(self.model, self.tokenizer)
        return self.trees.found().get("company", lambda: decide(self.trees.plain(), self._probes(), pads, first))

    def company_at(self, width: int) -> Company:
        """What was found for batches as wide as this; the model is asked when the first wide one comes."""
        narrow = self.company()
        # No batch of two is wider than half of what a forward may hold.
        wide = width_to_ask(min(width, self.runner.most_tokens(self.device) // 2), self.max_length)
        if wide is None or narrow.alone:
            return narrow

        def ask() -> Company:
            inputs = inputs_of_width(self._frame, ordinary_tokens(self.model, self.tokenizer), wide)
            pads = [narrow.pad] if narrow.batching == "padded" and narrow.pad is not None else []
            return worse(narrow, replace(decide(self.trees.plain(), inputs, pads), pad=narrow.pad))

        return self.trees.found().get(("company", wide), ask)

    @property
    def special(self) -> SpecialTokens:
        """Tokens that mean no word; a mask that the head skips like padding is none."""
        return self.trees.found().get("special tokens", self._special_tokens)

    def _special_tokens(self) -> SpecialTokens:
        mask, pads = mask_of(self.tokenizer), pads_of(self.model, self.tokenizer)
        if mask in pads and skips(self.trees.plain(), self._probes()[1], mask):
            mask = None
        return SpecialTokens(mask, self.company().pad, self.tokenizer.cls_token_id, beginning_of(self.model))

    @property
    def takes_attention_mask(self) -> bool:
        """Whether the model's forward has such an argument; FNet's has none."""
        return "attention_mask" in inspect.signature(self.model.forward).parameters

    @property
    def ignores_attention_mask(self) -> bool:
        """Whether hiding words from attention changes nothing."""
        return self.trees.found().get(
            "ignores attention mask", lambda: ignores_attention_mask(self.trees.plain(), self._probes()[2])
        )

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    @property
    def dtype(self) -> torch.dtype:
        return next(self.model.parameters()).dtype

    @property
    def removal_dtype(self) -> torch.dtype | None:
        """The precision of forwards with words removed, where it is not the model's own."""
        size = self.trees.size_of_rounded(torch.float16)
        return None if self._unable else lower_than(self.dtype, self._precision, self.device, size)

    def rounded_tree(self) -> ModuleCopy | None:
        """The model in that precision; None where there is no other, or where "auto" finds that it cannot be run so."""
        dtype = self.removal_dtype
        if dtype is None:
            return None
        tree = self.trees.rounded(dtype)
        if tree is self._runs:
            return tree
        reason = "its logits are not finite"
        try:
            if self._probed(tree).isfinite().all():
                self._runs = tree
                return tree
        except (RuntimeError, TypeError, ValueError) as error:
            reason = f"{type(error).__name__}: {shortened(str(error))}"
        if self._precision != "auto":
            raise CapabilityError(
                f"{tree.name} cannot be run in {self._precision} ({reason}): leave dtype out, or give another"
            )
        self._unable = True
        return None

    def parameters(self) -> Iterator[nn.Parameter]:
        """The weights of the model."""
        parameters: Iterator[nn.Parameter] = self.model.parameters()
        return parameters

    def view(self, text: Text) -> HuggingFaceView:
        """The model looking at a text, or at a pair, which is tokenised here and never again."""
        check_text_of(text, self.pairs)
        document = Document.read(text, rule=self._word_rule)
        encoding = self._encode(text)
        with reason_of_limit(self.model, self.max_length):
            subwords = read_subwords(document, encoding, self.max_length, self.long_texts)
        return HuggingFaceView(self, subwords)

    def predict_logits(self, texts: Sequence[Text]) -> Floats:
        """The logits of each text: (n, classes)."""
        encodings = [self._encode(text) for text in listed_texts(texts, self.pairs, "predict_logits")]
        with reason_of_limit(self.model, self.max_length):
            read = [stretches(encoding, self.max_length, self.long_texts) for encoding in encodings]
        pairs = zip(encodings, read, strict=True)
        return self.mean_logits([[window_of(encoding, part) for part in parts] for encoding, parts in pairs])

    def predict_proba(self, texts: Sequence[Text]) -> Floats:
        """Their softmax (n, classes), whose rows sum to 1; of a multi-label model the sigmoid of each."""
        if self.kind == "regression":
            raise CapabilityError(
                "this model is a regression: its outputs are numbers, and no probabilities; use predict_logits, or, if "
                "they are logits, load it with kind='classes' or kind='multi-label'"
            )
        return probabilities(self.predict_logits(texts), self.kind)

    def mean_logits(self, windows: Sequence[Sequence[TokenWindow]]) -> Floats:
        """The logits (n, classes) of n texts, given as the windows of each: the mean of what these have, by parts."""
        every = [window for own in windows for window in own]
        result = np.zeros((len(windows), len(self.labels)))
        if every:
            tree = self.trees.plain()
            batches = ragged_batches(every, self.special.filler, tree.device)
            company = self.company() if len(every) == 1 else self.company_at(int(batches.lengths.max()))
            logits = self.runner.run(tree.logits, tree.device, batches, batching=company.batching)
            parts = np.array([window.part for window in every])
            np.add.at(result, np.repeat(np.arange(len(windows)), list(map(len, windows))), parts[:, None] * logits)
        return result

    def _encode(self, text: Text) -> Encoding:
        encoding = encode(self._tokenizer, text, self._takes_types)
        if not len(encoding):
            encoding = self._of_nothing(text)
        numbers, vectors = encoding.ids, n_vectors(self.model)
        if vectors is not None and len(numbers) and numbers.max() >= vectors:
            raise InputError(
                f"the tokenizer gives a token the number {numbers.max()}, but this model has vectors for {vectors} "
                f"tokens: give the model its own tokenizer (the text is {shortened(repr(text), 80)})"
            )
        return encoding

    def _of_nothing(self, text: Text) -> Encoding:
        """A text without any token, not even a special one, read as the token that the model's texts begin with."""
        beginning = beginning_of(self.model)
        if beginning is None:
            raise InputError(
                f"the tokenizer makes no token of the text {shortened(repr(text), 80)}, and the model's "
                "configuration names none to begin with: give a text with at least one word"
            )
        one = np.array([beginning], dtype=np.int64)
        return Encoding(one, np.zeros_like(one), ((0, 0),), ((1, 1),))

    def _read_frame(self) -> Encoding:
        """How the tokenizer frames the shortest text: "a", or none at all where it cannot read that."""
        try:
            return self._encode(("a", "a") if self.pairs else "a")
        except InputError:
            with contextlib.suppress(InputError):
                return encode(self._tokenizer, ("", "") if self.pairs else "", self._takes_types)
            raise

    def _probes(self) -> list[TokenWindow]:
        """Inputs without meaning, to ask the model about itself."""
        return inputs_like(self._frame, ordinary_tokens(self.model, self.tokenizer), self.max_length, self._first)

    def _check_head(self) -> None:
        """One tiny forward: an error now says more than one in the middle of an explanation."""
        text = ("a", "a") if self.pairs else "a"
        tree = self.trees.plain()
        types, known = self._frame.types, getattr(self.model.config, "type_vocab_size", None)
        # On a GPU a type that is missing would be the end of the process.
        if isinstance(known, int) and len(types) and 0 < known <= types.max():
            raise CapabilityError(
                f"the tokenizer gives a token the type {types.max()}, but this model has vectors for {known} types of "
                "tokens: give the model its own tokenizer, or one whose model_input_names leave token_type_ids out"
            )
        try:
            logits = self._probed(tree)
        except (TypeError, ValueError) as error:
            raise CapabilityError(f"{tree.name} does not take input_ids alone: {error}; {NEEDED}") from error
        except (RuntimeError, LookupError, AttributeError, ArithmeticError, AssertionError) as error:
            # Models that pool neighbours read no short text, such as Funnel with three blocks. An odd number: pooled in
            # twos, an even one would not show what padding does.
            self._first = 5
            try:
                logits = self._probed(tree)
            except Exception:
                raise CapabilityError(
                    f"{tree.name} cannot be run on the text {text!r}, {type(error).__name__}: {shortened(str(error))}; "
                    f"{NEEDED}"
                ) from error
        if not isinstance(logits, Tensor):
            raise CapabilityError(f"{tree.name} has no classification head: it gives no logits; {NEEDED}")
        if logits.shape != (1, len(self.labels)):
            raise CapabilityError(
                f"{tree.name} gives logits of shape {tuple(logits.shape)} for one text, where {(1, len(self.labels))} "
                f"were expected; {NEEDED}"
            )
        self.company(array64(logits)[0])

    @torch.inference_mode()
    def _probed(self, tree: ModuleCopy) -> Any:
        """What a tree answers to the shortest input; None where it has no logits."""
        probe = one_batch(self._probes()[:1], tree.device)
        types = {} if probe.types is None else {"token_type_ids": probe.types}
        with tree.as_it_is():
            return getattr(tree.module(input_ids=probe.ids, **types), "logits", None)


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
        raise CapabilityError(f"this {type(model).__name__} has no weights; {NEEDED}")
    if empty := [name for name, weight in weights if weight.is_meta]:
        raise CapabilityError(
            f"{len(empty)} of the {len(weights)} weights of this {type(model).__name__} are on the meta device, shapes "
            f"without numbers ({empty[0]}): load it onto a device, without device_map or torch.device('meta')"
        )


def _takes_types(model: Any, tokenizer: Any, pairs: bool) -> bool:
    """Whether the model is given token types: those of a pair only where the tokenizer gives them unasked."""
    if "token_type_ids" not in inspect.signature(model.forward).parameters:
        return False
    return not pairs or "token_type_ids" in getattr(tokenizer, "model_input_names", ())
