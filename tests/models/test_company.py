"""The same answer alone as in company: models that see padding or neighbours, against one unpadded text at a time."""

from __future__ import annotations

import copy
import itertools
import pickle
from bisect import bisect_right
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers

import limelight
from limelight.errors import CapabilityError, ExplanationWarning, InputError
from limelight.inputs.features import features_of
from limelight.models.huggingface.batching import Company, tolerance
from limelight.models.huggingface.classifier import HuggingFaceClassifier
from limelight.models.huggingface.runner import Batches, Inputs, Runner
from reference.odd_transformers import dropping, odd_transformer, quantised, without_special_tokens
from reference.small_transformers import small_pair_transformer, small_transformer

TEXT = "the film was great but it is far unbelievably long"
TEXTS = ["great", TEXT, "a bad film", "not very good and too long"]
FLOAT32 = 2e-5
"""Other shapes of batches round differently: 64 units of the last place of logits up to 2."""
REMOVALS = ("mask", "delete", "attention")
ONE_BY_ONE = ("one at a time", "does not repeat itself")


def wrapped(pair: tuple[Any, Any], **options: Any) -> HuggingFaceClassifier:
    classifier = limelight.wrap(*pair, **options)
    assert isinstance(classifier, HuggingFaceClassifier)
    return classifier


def with_pad(family: str, configured: int | None, tokenizers: str | None) -> tuple[Any, Any]:
    """A model whose configuration has one padding token, and whose tokenizer has another."""
    model, own = odd_transformer(family)
    model.config.pad_token_id = configured
    own.pad_token = tokenizers
    return model, own


ODD: dict[str, tuple[Callable[[], tuple[Any, Any]], str]] = {
    "bert": (lambda: small_transformer("bert"), "padded"),
    "gpt2": (lambda: odd_transformer("gpt2"), "padded"),
    "gpt2, another pad": (lambda: with_pad("gpt2", 7, "[PAD]"), "padded"),
    "gpt2, no pad in the tokenizer": (lambda: with_pad("gpt2", 1, None), "padded"),
    "gpt2, no pad in the configuration": (lambda: with_pad("gpt2", None, "[PAD]"), "one at a time"),
    "gpt2, no pad at all": (lambda: with_pad("gpt2", None, None), "one at a time"),
    "bert, no pad at all": (lambda: without_pad(*small_transformer("bert")), "equal lengths"),
    "fnet": (lambda: odd_transformer("fnet"), "equal lengths"),
    "convbert": (lambda: odd_transformer("convbert"), "equal lengths"),
    "mobilebert": (lambda: odd_transformer("mobilebert"), "equal lengths"),
    "xlnet": (lambda: odd_transformer("xlnet"), "equal lengths"),
    "bart": (lambda: odd_transformer("bart"), "padded"),
    "ctrl": (lambda: odd_transformer("ctrl"), "padded"),
    "int8": (quantised, "one at a time"),
}


def without_pad(model: Any, own: Any) -> tuple[Any, Any]:
    own = copy.deepcopy(own)
    model.config.pad_token_id = own.pad_token = None
    return model, own


def alone(model: Any, ids: list[int], hidden: tuple[int, ...] = ()) -> np.ndarray:
    """One input, the plain way: no padding, and no attention mask where nothing is hidden."""
    mask = torch.tensor([[int(t not in hidden) for t in range(len(ids))]])
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([ids]), **({"attention_mask": mask} if hidden else {})).logits
    return logits[0].double().numpy()


def cut_by_hand(model: Any, own: Any, text: str, removed: tuple[int, ...], removal: str) -> np.ndarray:
    """Leave the words at these places of a text without punctuation out, token by token, and ask the model."""
    found = own(text, return_offsets_mapping=True, return_special_tokens_mask=True)
    ends = list(itertools.accumulate(len(word) + 1 for word in text.split()))
    ids, hidden, masked = [], [], set()
    for number, (start, _), special in zip(
        found["input_ids"], found["offset_mapping"], found["special_tokens_mask"], strict=True
    ):
        word = next((i for i, end in enumerate(ends) if start < end), -1)
        if special or word not in removed:
            ids.append(number)
        elif removal == "attention":
            hidden.append(len(ids))
            ids.append(number)
        elif removal == "mask" and word not in masked:
            masked.add(word)
            ids.append(own.mask_token_id)
    return alone(model, ids, tuple(hidden))


# ── alone and in company ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ODD)
def test_what_is_chosen_and_that_it_is_said(name: str) -> None:
    make, expected = ODD[name]
    classifier = wrapped(make())
    assert classifier.batching == expected
    notices = limelight.explain(classifier, TEXT, "leave-one-out", removal="delete").notices
    if expected == "padded":
        assert "batches" not in repr(classifier)
        assert not notices
    else:
        assert f"batches: {expected}" in repr(classifier)
        assert notices == (classifier.company().notice,)


@pytest.mark.parametrize("name", ODD)
def test_a_prediction_is_that_of_the_text_alone(name: str) -> None:
    model, own = ODD[name][0]()
    found = wrapped((model, own)).predict_logits(TEXTS)
    for text, logits in zip(TEXTS, found, strict=True):
        np.testing.assert_allclose(logits, alone(model, own(text)["input_ids"]), atol=FLOAT32)


@pytest.mark.parametrize("removal", REMOVALS)
@pytest.mark.parametrize("name", [name for name in ODD if name != "fnet"])
def test_removals_are_those_cut_by_hand(name: str, removal: Any) -> None:
    model, own = ODD[name][0]()
    classifier = wrapped((model, own))
    view = classifier.view(TEXT)
    features = features_of(view.document, "occurrences")
    kept = np.random.default_rng(0).random((24, len(features))) < 0.6
    kept[0] = False
    found = view.game(features, removal)(kept)
    for row, logits in zip(kept, found, strict=True):
        by_hand = cut_by_hand(model, own, TEXT, tuple(np.flatnonzero(~row)), removal)
        np.testing.assert_allclose(logits, by_hand, atol=FLOAT32)
    assert np.ptp(found[:, 0]) > 1e-3  # so that the comparison says something


@pytest.mark.parametrize("removal", ["mask", "delete"])
def test_fnet_is_right_by_what_changes_its_input(removal: Any) -> None:
    model, own = odd_transformer("fnet")
    weights = limelight.explain(
        wrapped((model, own)), TEXT, "leave-one-out", target="positive", removal=removal
    ).weights
    whole = alone(model, own(TEXT)["input_ids"])[2]
    expected = [whole - cut_by_hand(model, own, TEXT, (i,), removal)[2] for i in range(len(TEXT.split()))]
    np.testing.assert_allclose(weights, expected, atol=FLOAT32)


def test_a_model_that_ignores_the_attention_mask_has_no_words_hidden() -> None:
    with pytest.raises(CapabilityError, match="reads them whatever the attention mask says: use 'mask' or 'delete'"):
        limelight.explain(wrapped(odd_transformer("fnet")), TEXT, "leave-one-out", removal="attention")


class _Unmasked(transformers.BertForSequenceClassification):  # type: ignore[no-untyped-call]
    """Takes an attention mask, and does nothing with it."""

    def forward(self, input_ids: Any = None, attention_mask: Any = None, **named: Any) -> Any:
        return super().forward(input_ids=input_ids, **named)


def test_a_model_that_takes_a_mask_and_ignores_it_is_found_out() -> None:
    model, own = small_transformer("bert")
    model.__class__ = _Unmasked
    classifier = wrapped((model, own))
    assert classifier.batching == "equal lengths"
    with pytest.raises(CapabilityError, match=r"ignores the attention mask.*use 'mask' or 'delete'"):
        limelight.explain(classifier, TEXT, "leave-one-out", removal="attention")
    expected = [alone(small_transformer("bert")[0], own(text)["input_ids"]) for text in TEXTS]
    np.testing.assert_allclose(classifier.predict_logits(TEXTS), expected, atol=FLOAT32)


class Given:
    """What a model is given from now on: token numbers, and whether an attention mask came with them."""

    def __init__(self, model: Any) -> None:
        self.batches: list[torch.Tensor] = []
        self.masked = 0
        model.register_forward_pre_hook(self._keep, with_kwargs=True)

    def _keep(self, module: Any, arguments: Any, named: dict[str, Any]) -> None:
        self.batches.append(named["input_ids"])
        self.masked += named.get("attention_mask") is not None


def test_a_usual_model_is_asked_two_forwards_more_than_whether_it_has_a_head() -> None:
    model, own = small_transformer("bert")
    given = Given(model)
    classifier = wrapped((model, own))
    assert [len(ids) for ids in given.batches] == [1, 1, 3]
    assert len({int((ids[0] != own.pad_token_id).sum()) for ids in given.batches}) == 2
    given.batches.clear()
    assert classifier.batching == "padded"
    limelight.explain(classifier, TEXT, "gxi")
    assert [len(ids) for ids in given.batches] == [1, 1]


@pytest.mark.parametrize("name", ["fnet", "int8", "gpt2, another pad", "gpt2, no pad in the configuration"])
def test_an_unusual_model_is_asked_at_most_six_forwards_more(name: str) -> None:
    model, own = ODD[name][0]()
    given = Given(model)
    wrapped((model, own))
    assert len(given.batches) <= 3 + 6


@pytest.mark.parametrize("dtype", [None, "bfloat16"])
@pytest.mark.parametrize("options", [{}, {"window": True, "max_length": 8}, {"pairs": True}])
def test_no_padding_reaches_a_model_that_sees_it(options: dict[str, Any], dtype: Any) -> None:
    """In windows, in pairs, and in texts that are asked in half precision."""
    model, own = odd_transformer("convbert")
    own.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    classifier = wrapped((model, own), dtype=dtype, **options)
    given = Given(model)
    texts: list[Any] = [(text, "a film") for text in TEXTS] if "pairs" in options else [*TEXTS]
    classifier.predict_logits(texts)
    for removal in ("mask", "delete"):
        limelight.explain(classifier, texts[1], "lime", n_samples=100, removal=removal)
        limelight.explain(classifier, texts[1], "shapley", n_samples=100, removal=removal)
    limelight.explain(classifier, texts[1], "integrated-gradients")
    assert max(map(len, given.batches)) > 3  # inputs of one length still share a batch
    assert not given.masked
    assert not any((ids == own.pad_token_id).any() for ids in given.batches)


def test_paths_of_embeddings_go_one_at_a_time_where_texts_do() -> None:
    model, own = with_pad("gpt2", None, None)
    classifier = wrapped((model, own))
    given = Given(model)
    limelight.explain(classifier, TEXT, "integrated-gradients", tolerance=0.5)
    assert {len(ids) for ids in given.batches} == {1}


def test_a_runner_mixes_what_it_may() -> None:
    seen: list[list[int]] = []

    def build(rows: Any, width: int) -> Inputs:
        seen.append([int(lengths[row]) for row in rows])
        return Inputs(torch.from_numpy(rows)[:, None].expand(-1, width))

    def forward(inputs: Inputs) -> torch.Tensor:
        return inputs.ids[:, :1].float() * torch.ones(2)

    lengths = np.array([3, 5, 3, 4, 5, 3])
    for batching, most in (("padded", [6]), ("equal lengths", [2, 1, 3]), ("one at a time", [1] * 6)):
        seen.clear()
        found = Runner(2).run(forward, torch.device("cpu"), Batches(lengths, build), batching=batching)
        assert found[:, 0].tolist() == list(range(6))
        assert [len(own) for own in seen] == most
    assert max(len(set(own)) for own in seen) == 1


def test_a_model_that_becomes_another_at_a_length_is_asked_there() -> None:
    """Reformer in chunks of 40 tokens: short texts may be padded, long ones may not."""
    model, own = odd_transformer("reformer")
    own.model_max_length = 320
    classifier = wrapped((model, own))
    assert classifier.batching == "padded"
    short, long, longest = "the film was great", "great film bad " * 20, "not very good and too long " * 12
    for texts in ([short, "great"], [short, long, longest], [longest, "great"]):
        found = classifier.predict_logits(texts)
        for text, logits in zip(texts, found, strict=True):
            np.testing.assert_allclose(logits, alone(model, own(text)["input_ids"]), atol=FLOAT32)
    e = limelight.explain(classifier, long, "leave-one-out", removal="delete", features="occurrences", target="neutral")
    whole = alone(model, own(long)["input_ids"])[1]
    expected = [whole - cut_by_hand(model, own, long.strip(), (i,), "delete")[1] for i in range(0, 60, 13)]
    np.testing.assert_allclose(e.weights[::13], expected, atol=FLOAT32)
    assert "sees padding" in e.notices[0]
    assert not limelight.explain(classifier, short, "leave-one-out", removal="delete").notices
    assert classifier.company_at(70).batching == "equal lengths"


def test_a_usual_model_is_asked_three_forwards_for_a_width() -> None:
    model, own = small_transformer("bert")
    classifier = wrapped((model, own))
    given = Given(model)
    assert classifier.company_at(40).batching == "padded"
    assert [tuple(ids.shape) for ids in given.batches] == [(1, 24), (1, 36), (3, 48)]  # the tokenizer reads 48 tokens
    assert classifier.company_at(48).batching == classifier.company_at(20).batching == "padded"
    assert len(given.batches) == 3


def test_no_more_is_asked_than_a_batch_may_hold() -> None:
    model, own = small_transformer("bert")
    classifier = wrapped((model, own), batch_tokens=16)
    given = Given(model)
    classifier.company_at(48)
    assert not given.batches


def test_what_was_found_is_asked_again_of_other_modules() -> None:
    model, own = small_transformer("bert")
    classifier = wrapped((model, own))
    assert classifier.batching == "padded"
    model.classifier = dropping()[0].classifier
    assert classifier.batching == "does not repeat itself"


def test_the_tolerance_is_one_of_the_precision() -> None:
    """64 units of the last place; float64 counts as float32, and half precision is held to a sixteenth."""
    assert tolerance(torch.float32) == tolerance(torch.float64) == 64 * 2.0**-23
    assert tolerance(torch.float16) == tolerance(torch.bfloat16) == 2.0**-4


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_precision_is_not_taken_for_padding(dtype: torch.dtype) -> None:
    for family in ("bert", "deberta", "roberta"):
        model, own = small_transformer(family)
        assert wrapped((model.to(dtype), own)).batching == "padded"


# ── padding tokens ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_padding_that_the_head_looks_for_goes_first() -> None:
    assert wrapped(with_pad("gpt2", 7, "[PAD]")).special.pad == 7
    assert wrapped(with_pad("gpt2", -1, "[PAD]")).batching == "equal lengths"  # as some Llamas: it finds every token
    assert wrapped(with_pad("gpt2", 10**6, "[PAD]")).batching == "equal lengths"  # no token of this model


@pytest.mark.parametrize("text", ["the film [PAD]", "[PAD] film", "[PAD] [PAD]", "was [PAD] great"])
def test_a_literal_padding_token_is_read_as_the_model_reads_it(text: str) -> None:
    model, own = odd_transformer("gpt2")
    bare = without_special_tokens(own)
    for tokenizer in (own, bare):
        found = wrapped((model, tokenizer)).predict_logits([text, TEXT])
        np.testing.assert_allclose(found[0], alone(model, tokenizer(text)["input_ids"]), atol=FLOAT32)


def test_a_mask_that_the_head_skips_is_not_offered() -> None:
    """GPT-2 as it is often used: one token is the end, the padding and the unknown one."""
    model, own = odd_transformer("gpt2")
    own.mask_token, own.unk_token = None, "[PAD]"
    classifier = wrapped((model, own))
    assert classifier.view(TEXT).removals == ("delete", "attention")
    with pytest.raises(CapabilityError, match=r"its head skips the only token.*use 'delete' or 'attention'"):
        limelight.explain(classifier, TEXT, "leave-one-out", removal="mask")
    bert, own = small_transformer("bert")
    own = copy.deepcopy(own)
    own.mask_token, own.unk_token = None, "[PAD]"
    assert "mask" in wrapped((bert, own)).view(TEXT).removals  # [CLS] is read, whatever is behind


def test_no_padding_token_is_no_baseline() -> None:
    classifier = wrapped(with_pad("gpt2", None, None))
    with pytest.raises(CapabilityError, match="no padding token: use baseline='mask' or baseline='zero'"):
        limelight.explain(classifier, TEXT, "integrated-gradients", baseline="pad")


# ── texts that one model refuses in company ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("removal", REMOVALS)
def test_bart_reads_a_literal_end(removal: Any) -> None:
    """It refuses batches in which one text has more ends than another: those are asked one by one."""
    text = "the film [SEP] was great [SEP] far too long"
    model, own = odd_transformer("bart")
    classifier = wrapped((model, own))
    found = classifier.predict_logits([text, TEXT, "great [SEP]"])
    for one, logits in zip([text, TEXT, "great [SEP]"], found, strict=True):
        np.testing.assert_allclose(logits, alone(model, own(one)["input_ids"]), atol=FLOAT32)
    view = classifier.view(text)
    features = features_of(view.document, "occurrences")
    kept = np.random.default_rng(1).random((12, len(features))) < 0.5
    answers = view.game(features, removal)(kept)
    starts = [text.index(word) for word in ("the", "film", "[SEP]", "was", "great")]
    starts += [text.rindex(word) for word in ("[SEP]", "far", "too", "long")]
    for row, logits in zip(kept, answers, strict=True):
        # Three words, "[", "SEP" and "]", share the token: it goes with any of them.
        gone = {bisect_right(starts, features.spans[i][0][0]) - 1 for i in np.flatnonzero(~row)}
        np.testing.assert_allclose(logits, cut_by_hand(model, own, text, tuple(gone), removal), atol=FLOAT32)


def test_what_a_model_raises_on_a_text_is_said_in_words() -> None:
    model, own = odd_transformer("bart")
    bare = without_special_tokens(own)
    with pytest.raises(CapabilityError, match="<eos> token"):
        limelight.wrap(model, bare)
    classifier = wrapped((model, own))

    def picky(module: Any, arguments: Any, named: dict[str, Any]) -> None:
        if (named["input_ids"] == own.convert_tokens_to_ids("film")).any():
            raise ValueError("no films, please")

    model.register_forward_pre_hook(picky, with_kwargs=True)
    with pytest.raises(
        CapabilityError, match=r"on an input of 3 tokens, ValueError: no films, please; give another text"
    ):
        classifier.predict_logits(["film"])
    with pytest.raises(
        CapabilityError, match=r"on an input of 3 tokens, ValueError: no films, please; give another text"
    ):
        classifier.predict_logits(["great", "film", "far too long"])
    assert np.isfinite(classifier.predict_logits(["great"])).all()


# ── models that do not repeat themselves ──────────────────────────────────────────────────────────────────────────────


def test_a_model_of_chance_is_named_as_such() -> None:
    torch.manual_seed(0)
    classifier = wrapped(dropping())
    assert classifier.batching == "does not repeat itself"
    assert "batches: does not repeat itself" in repr(classifier)
    with pytest.warns(ExplanationWarning, match="gave another answer"):
        e = limelight.explain(classifier, TEXT, "leave-one-out")
    assert "does not repeat itself" in e.notices[0]
    assert not any("batch" in notice for notice in e.notices)
    assert not e.exact
    assert e.stderr is not None
    assert (e.stderr > 0.1).all()
    for method in ("gxi", "alpha-avg", "rollout", "integrated-gradients"):
        e = limelight.explain(classifier, TEXT, method)
        assert "does not repeat itself" in e.notices[0]
        assert not e.exact
        assert "one of its answers" in e.diagnostics["approximation"]
    assert limelight.explain(wrapped(small_transformer("bert")), TEXT, "gxi").exact


# ── tokenizers ────────────────────────────────────────────────────────────────────────────────────────────────────────


def words_only(*words: str) -> Any:
    """A tokenizer of whole words, with nothing for any other."""
    known = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}))
    known.pre_tokenizer = pre_tokenizers.Whitespace()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=known, model_max_length=48)  # type: ignore[no-untyped-call]


def test_a_tokenizer_that_cannot_read_a_made_up_text_is_asked_none() -> None:
    model, _ = small_transformer("bert")
    classifier = wrapped((model, words_only("film", "gut", "der", "ist")))
    assert classifier.batching == "padded"  # the configuration has a padding token
    found = classifier.predict_logits(["der film ist gut", "gut"])
    np.testing.assert_allclose(found, [alone(model, [2, 0, 3, 1]), alone(model, [1])], atol=FLOAT32)
    with pytest.raises(InputError, match="cannot read the text 'a'"):
        classifier.predict_logits(["a"])


# ── decoders whose tokenizer adds nothing ─────────────────────────────────────────────────────────────────────────────


def test_a_text_without_words_is_the_models_own_beginning() -> None:
    model, own = odd_transformer("gpt2")
    bare = without_special_tokens(own)
    classifier = wrapped((model, bare))
    view = classifier.view(TEXT)
    features = features_of(view.document, "occurrences")
    kept = np.random.default_rng(2).random((20, len(features))) < 0.4
    kept[:2] = False
    found = view.game(features, "delete")(kept)
    nothing = alone(model, [model.config.bos_token_id])
    for row, logits in zip(kept, found, strict=True):
        gone = tuple(map(int, np.flatnonzero(~row)))
        expected = nothing if not row.any() else cut_by_hand(model, bare, TEXT, gone, "delete")
        np.testing.assert_allclose(logits, expected, atol=FLOAT32)
    np.testing.assert_allclose(classifier.predict_logits(["", TEXT])[0], nothing, atol=FLOAT32)
    e = limelight.explain(classifier, TEXT, "shapley", n_samples=100, removal="delete", target="neutral")
    assert e.weights.sum() == pytest.approx(view.logits[1] - nothing[1], abs=FLOAT32)


def test_only_what_needs_an_empty_text_is_refused_without_a_beginning() -> None:
    model, own = odd_transformer("gpt2", bos_token_id=None, eos_token_id=None)
    classifier = wrapped((model, without_special_tokens(own)))
    weights = limelight.explain(classifier, TEXT, "leave-one-out", removal="delete", target="negative").weights
    whole = alone(model, own(TEXT, add_special_tokens=False)["input_ids"])[0]
    bare = classifier.tokenizer
    expected = [whole - cut_by_hand(model, bare, TEXT, (i,), "delete")[0] for i in range(len(TEXT.split()))]
    np.testing.assert_allclose(weights, expected, atol=FLOAT32)
    with pytest.raises(CapabilityError, match="no special tokens, and the model's configuration names no token"):
        limelight.explain(classifier, TEXT, "shapley", n_samples=100, removal="delete")
    with pytest.raises(InputError, match="makes no token of the text ''"):
        classifier.predict_logits([""])
    with pytest.raises(CapabilityError, match="nothing to attend to: use removal='delete'"):
        limelight.explain(classifier, TEXT, "leave-one-out", removal="attention")


# ── the position that the head reads ──────────────────────────────────────────────────────────────────────────────────


class _Mean(torch.nn.Module):
    """BERT's pooler, of the mean of all positions."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        return self.inner(hidden.mean(dim=1, keepdim=True))


def pooling() -> tuple[Any, Any]:
    model, own = small_transformer("bert")
    model.bert.pooler = _Mean(model.bert.pooler)
    return model, own


def frozen(pair: tuple[Any, Any]) -> tuple[Any, Any]:
    pair[0].requires_grad_(requires_grad=False)
    return pair


READERS: dict[str, tuple[Callable[[], tuple[Any, Any]], str, Callable[[int], list[int]]]] = {
    "bert": (lambda: small_transformer("bert"), TEXT, lambda T: [0]),
    "bert, frozen": (lambda: frozen(small_transformer("bert")), TEXT, lambda T: [0]),
    "gpt2": (lambda: odd_transformer("gpt2"), TEXT, lambda T: [T - 1]),
    "gpt2, the end is padding": (lambda: with_pad("gpt2", 2, "[SEP]"), TEXT, lambda T: [T - 2]),
    "gpt2, a literal padding token": (
        lambda: (odd_transformer("gpt2")[0], without_special_tokens(odd_transformer("gpt2")[1])),
        "the film [PAD]",
        lambda T: [T - 2],
    ),
    "xlnet": (lambda: odd_transformer("xlnet"), TEXT, lambda T: [T - 1]),
    "ctrl": (lambda: odd_transformer("ctrl"), TEXT, lambda T: [T - 1]),
    "a mean of all": (pooling, TEXT, lambda T: list(range(T))),
    "int8": (quantised, TEXT, lambda T: [0]),
}


@pytest.mark.parametrize("name", READERS)
def test_attention_is_that_of_the_position_that_the_head_reads(name: str) -> None:
    make, text, expected = READERS[name]
    model, own = make()
    classifier = wrapped((model, own))
    (layers,) = classifier.view(text).attention_layers()
    readers = expected(layers.weights.shape[-1])
    assert np.atleast_1d(layers.reader).tolist() == readers
    eager = copy.deepcopy(model)
    if name != "xlnet":
        eager.set_attn_implementation("eager")
    with torch.no_grad():
        shown = eager(input_ids=torch.tensor([own(text)["input_ids"]]), output_attentions=True).attentions
    weights = torch.stack([layer[0] for layer in shown]).double().numpy()
    paid = weights[-1][:, readers].mean(axis=(0, 1))
    by_word = np.zeros(len(classifier.view(text).document.words))
    for position, word, part in zip(layers.positions, layers.words, layers.token_parts, strict=True):
        by_word[word] += part * paid[position]
    found = limelight.explain(classifier, text, "alpha-avg", features="occurrences").weights
    np.testing.assert_allclose(found, by_word, atol=FLOAT32)
    assert found.max() > 0.01
    product = np.eye(weights.shape[-1])
    for layer in weights:
        product = (layer.mean(axis=0) + np.eye(len(product))) / 2 @ product
    rolled = product[readers].mean(axis=0)
    by_word[:] = 0
    for position, word, part in zip(layers.positions, layers.words, layers.token_parts, strict=True):
        by_word[word] += part * rolled[position]
    found = limelight.explain(classifier, text, "rollout", features="occurrences").weights
    np.testing.assert_allclose(found, by_word, atol=FLOAT32)


def test_a_decoder_without_gradients_is_read_at_its_last_token() -> None:
    model, own = odd_transformer("gpt2")
    with torch.inference_mode():
        for module in model.modules():
            for name, weight in list(module._parameters.items()):
                if weight is not None:
                    module._parameters[name] = torch.nn.Parameter(weight.clone(), requires_grad=False)
    classifier = wrapped((model, own))
    (layers,) = classifier.view(TEXT).attention_layers()
    assert layers.reader == layers.weights.shape[-1] - 1


def test_attention_inside_the_callers_inference_mode() -> None:
    classifier = wrapped(odd_transformer("gpt2"))
    expected = limelight.explain(classifier, TEXT, "alpha-avg").weights
    with torch.inference_mode():
        np.testing.assert_array_equal(limelight.explain(classifier, TEXT, "alpha-avg").weights, expected)
    with torch.no_grad():
        np.testing.assert_array_equal(limelight.explain(classifier, TEXT, "alpha-avg").weights, expected)


# ── gradients ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("method", ["gxi", "integrated-gradients"])
def test_a_model_without_gradients_says_so(method: str) -> None:
    with pytest.raises(
        CapabilityError, match=r"no gradient of this BertForSequenceClassification .*int8.*use a perturbation method"
    ):
        limelight.explain(wrapped(quantised()), TEXT, method)


@pytest.mark.parametrize("name", ["xlnet", "fnet", "convbert", "mobilebert", "gpt2, no pad at all", "ctrl"])
def test_gradients_are_those_of_the_model_alone(name: str) -> None:
    """XLNet looks its tokens up with the batch behind the positions."""
    model, own = ODD[name][0]()
    weights = limelight.explain(wrapped((model, own)), TEXT, "gxi", target="neutral", features="occurrences").weights
    ids = torch.tensor([own(TEXT)["input_ids"]])
    vectors = model.get_input_embeddings()(ids).detach().requires_grad_()
    model(inputs_embeds=vectors.clone()).logits[0, 1].backward()  # CTRL scales what it is given in place
    assert vectors.grad is not None
    per_token = (vectors.grad * vectors.detach()).sum(dim=2)[0].numpy()
    words = np.array([-1 if word is None else word for word in own(TEXT).word_ids()])
    expected = [per_token[words == word].sum() for word in range(len(TEXT.split()))]
    np.testing.assert_allclose(weights, expected, atol=FLOAT32)


# ── the process, and copies ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("method", ["leave-one-out", "lime", "gxi", "integrated-gradients", "alpha-avg", "rollout"])
@pytest.mark.parametrize("family", ["bert", "distilbert"])
def test_autocast_of_a_caller_changes_nothing(family: str, method: str) -> None:
    classifier = wrapped(small_transformer(family))
    options: dict[str, Any] = {"n_samples": 60} if method == "lime" else {}
    expected = limelight.explain(classifier, TEXT, method, **options).weights
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert wrapped(small_transformer(family)).batching == "padded"
        found = limelight.explain(classifier, TEXT, method, **options).weights
        logits = classifier.predict_logits(TEXTS)
        assert torch.is_autocast_enabled("cpu")
    assert found.tobytes() == expected.tobytes()
    assert logits.tobytes() == classifier.predict_logits(TEXTS).tobytes()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])  # noqa: S301
def test_a_copy_answers_the_same_and_is_another(copied: Callable[[Any], Any]) -> None:
    model, own = odd_transformer("convbert")
    classifier = wrapped((model, own), dtype="bfloat16")
    limelight.explain(classifier, TEXT, "lime", n_samples=60)
    limelight.explain(classifier, TEXT, "alpha-avg")
    other = copied(classifier)
    assert other.batching == classifier.batching == "equal lengths"
    expected = {}
    methods: tuple[tuple[str, dict[str, Any]], ...] = (("lime", {"n_samples": 60}), ("gxi", {}), ("rollout", {}))
    for method, options in methods:
        expected[method] = limelight.explain(classifier, TEXT, method, **options).weights
        assert limelight.explain(other, TEXT, method, **options).weights.tobytes() == expected[method].tobytes()
    with torch.no_grad():
        other.model.classifier.out_proj.weight.mul_(2)
    assert not np.allclose(other.predict_logits([TEXT]), classifier.predict_logits([TEXT]))
    assert limelight.explain(classifier, TEXT, "gxi").weights.tobytes() == expected["gxi"].tobytes()


def test_a_pair_of_texts_alone_and_in_company() -> None:
    model, own = small_pair_transformer("bert")
    classifier = wrapped((model, own), pairs=True)
    assert classifier.batching == "padded"
    pairs = [("a great film", "it is bad"), ("long", "a")]
    for pair, logits in zip(pairs, classifier.predict_logits(pairs), strict=True):
        inputs = own(*pair, return_tensors="pt")
        with torch.no_grad():
            np.testing.assert_allclose(logits, model(**inputs).logits[0].double().numpy(), atol=FLOAT32)


def test_every_choice_but_the_usual_has_its_words() -> None:
    said = [
        Company("equal lengths", 1, 0.25),
        Company("equal lengths", 1, None),
        Company("equal lengths", None),
        Company("one at a time", 1, 0.07),
        Company("one at a time", None, None),
        Company("does not repeat itself", 1, 0.5),
    ]
    assert Company("padded", 0).notice is None
    notices = [str(company.notice) for company in said]
    assert len(set(notices)) == len(notices)
    assert "moves its answer by 0.2 times the largest logit" in notices[0]
    assert "takes no batches" in notices[4]


def test_a_model_that_reads_no_short_text_is_asked_about_a_longer_one() -> None:
    """Three blocks of a Funnel halve what they read twice, and cannot be run on a text of one word."""
    model, own = odd_transformer("funnel")
    classifier = wrapped((model, own))
    texts = ["the film was great", TEXT]
    each = [alone(model, own(text)["input_ids"]) for text in texts]
    np.testing.assert_allclose(classifier.predict_logits(texts), np.stack(each), rtol=0, atol=FLOAT32)
    e = limelight.explain(classifier, texts[0], "leave-one-out", target=classifier.labels[1])
    without = [alone(model, own(texts[0].replace(word, "[MASK]"))["input_ids"])[1] for word in texts[0].split()]
    np.testing.assert_allclose(e.weights, each[0][1] - np.array(without), rtol=0, atol=FLOAT32)
    with pytest.raises(CapabilityError, match="an input of 3 tokens"):
        limelight.explain(classifier, "great", "leave-one-out")
