"""Pairs of texts: their tokens, words on both sides, and one side that is never touched while the other is removed."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import processors

import limelight
from limelight.attribution.request import Request
from limelight.errors import CapabilityError, EmptyTextError, InputError, ParameterError
from limelight.inputs.features import features_of
from limelight.inputs.words import plain_words
from limelight.models.huggingface.classifier import HuggingFaceClassifier
from reference.small_transformers import small_pair_transformer, small_transformer, tokenizer

pytestmark = pytest.mark.filterwarnings("ignore::limelight.errors.ExplanationWarning")
Pair = tuple[str, str]
FAMILIES = ("bert", "roberta", "distilbert", "deberta-v2")  # types; two separators; no types to give; unigrams
PAIR = ('It\'s "great", but the film is long.', "The film: naïve, unbelievably GOOD!")
PAIRS = (
    PAIR,
    ("Great 👍🏽 film 😀", "我们看电影。日本語"),
    ("فيلم رائع جدا", "שלום סרט טוב e\u0301lan"),
    ("[SEP] film </s>", "[CLS] <s> good"),
    ("film", "film"),
    ("a \ud800 film", "\U0001d4d0 \udfff"),
)
FLOAT32 = 2e-5  # other shapes of batches round differently
SAME = 1e-9  # float64
REMOVALS = ("mask", "delete", "attention")


def wrapped(family: str, double: bool = False, **options: Any) -> HuggingFaceClassifier:
    model, own = small_pair_transformer(family)
    classifier = limelight.wrap(model.double() if double else model, own, pairs=True, **options)
    assert isinstance(classifier, HuggingFaceClassifier)
    return classifier


def sides(pair: Pair) -> list[tuple[int, Any]]:
    """All words of a pair, each with the text that it stands in."""
    return [(side, word) for side, text in enumerate(pair) for word in plain_words(text)]


def bare(model: Any, ids: list[int], types: list[int], attention: list[int] | None = None) -> np.ndarray:
    """One input, the plain way; `types` only where they say something."""
    given: dict[str, Any] = {"input_ids": torch.tensor([ids])}
    given["attention_mask"] = torch.tensor([[1] * len(ids) if attention is None else attention])
    if any(types):
        given["token_type_ids"] = torch.tensor([types])
    with torch.no_grad():
        return model(**given).logits[0].double().numpy()


class Naive:
    """A pair as its tokenizer gives it: each token with its number, type, side (None: special) and covered words."""

    def __init__(self, classifier: HuggingFaceClassifier, pair: Pair) -> None:
        self.model, self.tokenizer = classifier.model, classifier.tokenizer
        found = self.tokenizer([pair[0]], [pair[1]], return_offsets_mapping=True)
        self.ids = found["input_ids"][0]
        self.types = found.get("token_type_ids", [[0] * len(self.ids)])[0]
        words = sides(pair)
        self.words = [
            [i for i, (own, word) in enumerate(words) if own == side and word.start < end and start < word.end]
            for side, (start, end) in zip(found.sequence_ids(0), found["offset_mapping"][0], strict=True)
        ]

    def without(self, removed: set[int], removal: str) -> np.ndarray:
        """The logits without some words (numbers of words of both texts): a list of numbers, built anew."""
        ids, types, attention, masked = [], [], [], set()
        for number, kind, words in zip(self.ids, self.types, self.words, strict=True):
            gone = removed & set(words)
            if gone and (removal == "delete" or (removal == "mask" and gone <= masked)):
                continue
            masked |= gone  # one mask for each word: its other tokens are left out
            ids.append(self.tokenizer.mask_token_id if gone and removal == "mask" else number)
            types.append(kind)
            attention.append(0 if gone and removal == "attention" else 1)
        return bare(self.model, ids, types, attention)

    def per_word(self, per_token: np.ndarray, n_words: int) -> np.ndarray:
        """What each token has, divided between the words that it covers."""
        total = np.zeros(n_words)
        for value, words in zip(per_token, self.words, strict=True):
            for word in words:
                total[word] += value / len(words)
        return total


# ── the tokens of a pair ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("family", FAMILIES)
def test_predictions_are_those_of_the_bare_model(family: str) -> None:
    classifier = wrapped(family)
    pairs = [pair for pair in PAIRS if "\ud800" not in pair[0]]
    found = classifier.predict_logits(pairs)
    for pair, logits in zip(pairs, found, strict=True):
        with torch.no_grad():
            expected = classifier.model(**classifier.tokenizer(*pair, return_tensors="pt")).logits[0]
        np.testing.assert_allclose(logits, expected.numpy(), atol=FLOAT32)
        np.testing.assert_allclose(classifier.view(pair).logits, logits, atol=FLOAT32)
    np.testing.assert_allclose(classifier.predict_proba(pairs).sum(axis=1), 1)
    assert not np.allclose(*classifier.predict_logits([PAIR, PAIR[::-1]]), atol=1e-3)
    assert classifier.predict_logits([]).shape == (0, 3)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_pair_with_an_empty_text_is_a_pair(family: str) -> None:
    """As in a batch of pairs; asked for one alone, transformers would leave the second separator out."""
    classifier = wrapped(family)
    pairs = [("film", ""), ("", "film"), ("film", " "), ("", "")]
    batch = classifier.tokenizer([a for a, _ in pairs], [b for _, b in pairs])
    types = batch.get("token_type_ids", [[0] * len(ids) for ids in batch["input_ids"]])
    expected = [bare(classifier.model, *row) for row in zip(batch["input_ids"], types, strict=True)]
    np.testing.assert_allclose(classifier.predict_logits(pairs), expected, atol=FLOAT32)
    for pair, side in zip(pairs, (0, 1, 0), strict=False):
        e = limelight.explain(classifier, pair, "leave-one-out")
        assert (e.features, e.sides, e.spans) == (("film",), (side,), (((0, 4),),))
    view = classifier.view(("film", "good"))
    kept = np.array([[True, False]])
    emptied = view.game(features_of(view.document, "words"), "delete")(kept)
    np.testing.assert_allclose(emptied[0], classifier.predict_logits([("film", "")])[0], atol=FLOAT32)
    with pytest.raises(EmptyTextError, match="the text has no words"):
        classifier.view(("", '"'))


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("family", FAMILIES)
def test_spans_are_exact_in_both_texts(family: str, pair: Pair) -> None:
    e = limelight.explain(wrapped(family), pair, "leave-one-out", features="occurrences")
    words = sides(pair)
    assert e.sides == tuple(side for side, _ in words)
    assert e.spans == tuple(((word.start, word.end),) for _, word in words)
    assert e.features == tuple(word.form for _, word in words)
    assert e.text == pair


letters = st.text(st.sampled_from("ab 'e\u0301\u200d👍🏽我ش\u05d0[]SEP<>/s.\ud800é\t\n"), max_size=5)


@settings(max_examples=60, deadline=None)
@given(letters, letters, st.sampled_from(FAMILIES))
def test_tokens_belong_to_words_of_their_own_text(first: str, second: str, family: str) -> None:
    classifier = cached(family)
    try:
        view = classifier.view((first, second))
    except EmptyTextError:
        return
    (window,), own = view.windows, classifier.tokenizer
    readable = [text.replace("\ud800", "\ufffd") for text in (first, second)]
    found = own([readable[0]], [readable[1]], return_offsets_mapping=True)
    assert window.ids.tolist() == found["input_ids"][0]
    begins = (0, view.document.second or 0)
    expected = []
    for t, (side, (start, end)) in enumerate(zip(found.sequence_ids(0), found["offset_mapping"][0], strict=True)):
        if side is not None:
            start, end = start + begins[side], end + begins[side]
            covered = [i for i, word in enumerate(view.document.words) if word.start < end and start < word.end]
            assert {view.document.side_of(view.document.words[i].start) for i in covered} <= {side}
            expected += [(t, i) for i in covered]
    assert list(zip(window.positions.tolist(), window.words.tolist(), strict=True)) == expected


@cache
def cached(family: str) -> HuggingFaceClassifier:
    return wrapped(family)


def test_a_template_with_the_special_tokens_behind_is_read() -> None:
    """As XLNet has it: a text begins the input. BERT's head reads the first token all the same."""
    model, own = small_pair_transformer("bert")
    own = copy.deepcopy(own)
    special = [(token, own.convert_tokens_to_ids(token)) for token in ("[CLS]", "[SEP]")]
    own.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="$A [SEP] [CLS]", pair="$A [SEP] $B:1 [SEP]:1 [CLS]:1", special_tokens=special
    )
    classifier = limelight.wrap(model, own, pairs=True)
    assert isinstance(classifier, HuggingFaceClassifier)
    view, naive = classifier.view(PAIR), Naive(classifier, PAIR)
    (window,) = view.windows
    assert window.ids.tolist() == naive.ids
    assert view.attention_layers()[0].reader == 0
    for t, words in enumerate(naive.words):
        assert window.words[window.positions == t].tolist() == words
    np.testing.assert_allclose(view.logits, bare(model, naive.ids, naive.types), atol=FLOAT32)


# ── perturbed forwards ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("removal", REMOVALS)
@pytest.mark.parametrize("family", FAMILIES)
def test_perturbed_forward_is_the_naive_one(family: str, removal: Any) -> None:
    classifier = wrapped(family)
    view, naive = classifier.view(PAIR), Naive(classifier, PAIR)
    features = features_of(view.document, "words")
    assert features.names.count("film") == 2  # a word that stands in both texts is two features
    kept = np.random.default_rng(0).random((12, len(features))) < 0.5
    kept[0], kept[1] = True, False
    found = view.game(features, removal)(kept)
    for row, logits in zip(kept, found, strict=True):
        removed = {i for j in np.flatnonzero(~row) for i in features.owned[j]}
        np.testing.assert_allclose(logits, naive.without(removed, removal), atol=FLOAT32)
    assert np.ptp(found[:, 0]) > 1e-3  # so that the comparison says something


class Inputs:
    """What a model is given from now on, row by row: (number, type) of each token that can be seen."""

    def __init__(self, classifier: HuggingFaceClassifier) -> None:
        self.rows: list[list[tuple[int, int, bool]]] = []
        self._pad = classifier.special.pad
        assert not classifier.ignores_attention_mask  # it is asked before anything is kept
        classifier.model.register_forward_pre_hook(self._keep, with_kwargs=True)

    def _keep(self, module: Any, arguments: Any, named: dict[str, Any]) -> None:
        ids = named["input_ids"]
        types = named.get("token_type_ids")
        types = torch.zeros_like(ids) if types is None else types
        seen = named.get("attention_mask")
        seen = torch.ones_like(ids) if seen is None else seen
        for row in zip(ids.tolist(), types.tolist(), seen.tolist(), strict=True):
            tokens = [(number, kind, bool(there)) for number, kind, there in zip(*row, strict=True)]
            while tokens and tokens[-1][0] == self._pad:
                tokens.pop()
            self.rows.append(tokens)


@pytest.mark.parametrize("parts", ["second", "first"])
@pytest.mark.parametrize("removal", REMOVALS)
@pytest.mark.parametrize("family", FAMILIES)
def test_removing_words_of_one_text_never_touches_the_other(family: str, removal: Any, parts: Any) -> None:
    classifier = wrapped(family)
    view, naive = classifier.view(PAIR), Naive(classifier, PAIR)
    features = features_of(view.document, "words", parts)
    n_first = len(plain_words(PAIR[0]))
    owned = {i for group in features.owned for i in group}
    assert owned == set(range(n_first, len(sides(PAIR))) if parts == "second" else range(n_first))
    # All tokens from the first (or up to the last) special one that stands beside the text that is removed.
    touched = [t for t, words in enumerate(naive.words) if owned & set(words)]
    whole = [(number, kind, True) for number, kind in zip(naive.ids, naive.types, strict=True)]
    untouched = whole[: touched[0]] if parts == "second" else whole[touched[-1] + 1 :]
    assert len(untouched) > 8
    given = Inputs(classifier)
    classifier.predict_logits([PAIR, PAIR])  # as wide as these inputs are: the model is asked in company first
    given.rows.clear()
    kept = np.random.default_rng(1).random((40, len(features))) < 0.5
    kept[0] = False
    view.game(features, removal)(kept)
    assert len(given.rows) == len(np.unique(kept, axis=0))
    for row in given.rows:
        same = row[: len(untouched)] if parts == "second" else row[-len(untouched) :]
        assert same == untouched
        assert row != whole or (kept.all(axis=1)).any()


@pytest.mark.parametrize("family", FAMILIES)
def test_one_side_alone_has_weights(family: str) -> None:
    classifier = wrapped(family, double=True)
    for method in Request().applicable(classifier.view(PAIR)):
        options = {"n_samples": 40} if "n_samples" in method.implementations[-1].options else {}
        e = limelight.explain(classifier, PAIR, method.id, parts="second", features="occurrences", **options)
        assert set(e.sides or ()) == {1}
        assert e.features == tuple(word.form for word in plain_words(PAIR[1]))
        assert e.parameters["parts"] == "second"
    view, naive = classifier.view(PAIR), Naive(classifier, PAIR)
    e = limelight.explain(classifier, PAIR, "shapley", parts="second", target="positive", n_samples=40)
    second = {i for i, (side, _) in enumerate(sides(PAIR)) if side == 1}
    assert e.weights.sum() == pytest.approx(view.logits[2] - naive.without(second, "mask")[2], abs=SAME)


# ── attention and gradients ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("family", FAMILIES)
def test_attention_and_rollout_are_those_of_the_bare_model(family: str) -> None:
    classifier = wrapped(family, double=True)
    naive, n_words = Naive(classifier, PAIR), len(sides(PAIR))
    eager = copy.deepcopy(classifier.model)
    eager.set_attn_implementation("eager")
    types = {"token_type_ids": torch.tensor([naive.types])} if any(naive.types) else {}
    with torch.no_grad():
        layers = eager(input_ids=torch.tensor([naive.ids]), output_attentions=True, **types).attentions
    weights = torch.stack([layer[0] for layer in layers]).numpy()
    assert classifier.view(PAIRS[3]).attention_layers()[0].reader == 0  # the first [CLS], whatever stands in a text
    product = identity = np.eye(len(naive.ids))
    for layer in weights:
        product = (layer.mean(axis=0) + identity) / 2 @ product
    for method, per_token in (
        ("alpha-avg", weights[-1, :, 0].mean(axis=0)),
        ("alpha-max", weights[-1, :, 0].max(axis=0)),
        ("rollout", product[0]),
    ):
        e = limelight.explain(classifier, PAIR, method, features="occurrences")
        np.testing.assert_allclose(e.weights, naive.per_word(per_token, n_words), atol=SAME, err_msg=method)


def given_vectors(model: Any, naive: Naive, vectors: torch.Tensor) -> torch.Tensor:
    """The logits where the table of embeddings gives these vectors (1, T, d)."""
    hook = model.get_input_embeddings().register_forward_hook(lambda module, arguments, found: vectors)
    types = {"token_type_ids": torch.tensor([naive.types])} if any(naive.types) else {}
    logits: torch.Tensor = model(input_ids=torch.tensor([naive.ids]), **types).logits[0]
    hook.remove()
    return logits


@pytest.mark.parametrize("family", FAMILIES)
def test_gradients_are_those_of_the_bare_model(family: str) -> None:
    classifier = wrapped(family, double=True)
    naive, model, n_words = Naive(classifier, PAIR), copy.deepcopy(classifier.model), len(sides(PAIR))
    vectors = model.get_input_embeddings()(torch.tensor([naive.ids])).detach().requires_grad_()
    given_vectors(model, naive, vectors)[1].backward()
    assert vectors.grad is not None
    gradient, at = vectors.grad[0].numpy(), vectors.detach()[0].numpy()
    for method, per_token in (
        ("gxi", (gradient * at).sum(axis=1)),
        ("g-l1", np.abs(gradient).sum(axis=1)),
        ("g-l2", np.linalg.norm(gradient, axis=1)),
    ):
        e = limelight.explain(classifier, PAIR, method, target="neutral", features="occurrences")
        np.testing.assert_allclose(e.weights, naive.per_word(per_token, n_words), atol=SAME, err_msg=method)


@pytest.mark.parametrize("family", FAMILIES)
def test_integrated_gradients_go_from_masks_in_both_texts(family: str) -> None:
    """Against the sum over the same steps with the bare model, whose special tokens stay as they are."""
    classifier = wrapped(family, double=True)
    naive, model, n_words = Naive(classifier, PAIR), copy.deepcopy(classifier.model), len(sides(PAIR))
    table, ids = model.get_input_embeddings(), torch.tensor(naive.ids)
    masked = torch.where(torch.tensor([bool(words) for words in naive.words]), classifier.tokenizer.mask_token_id, ids)
    end, start = table(ids).detach(), table(masked).detach()
    points, weights = np.polynomial.legendre.leggauss(5)
    per_token = np.zeros(len(ids))
    for x, weight in zip((points + 1) / 2, weights / 2, strict=True):
        at = (start + x * (end - start))[None].requires_grad_()
        given_vectors(model, naive, at)[1].backward()
        assert at.grad is not None
        per_token += weight * (at.grad[0] * (end - start)).sum(dim=1).numpy()
    e = limelight.explain(classifier, PAIR, "integrated-gradients", target="neutral", features="occurrences", steps=5)
    np.testing.assert_allclose(e.weights, naive.per_word(per_token, n_words), atol=SAME)
    with torch.no_grad():
        baseline = given_vectors(model, naive, start[None])[1].item()
    assert e.diagnostics["baseline_output"] == pytest.approx(baseline, abs=SAME)
    assert {side for side, weight in zip(e.sides or (), e.weights, strict=True) if weight} == {0, 1}


# ── a model that has learned something of pairs ───────────────────────────────────────────────────────────────────────

COLOURS, THINGS = ("red", "blue", "green"), ("car", "house", "boat", "dog")
PIECES = f"[PAD] [UNK] [CLS] [SEP] [MASK] {' '.join((*COLOURS, *THINGS))} the was very quite old new is looks to me"


def drawn_pair(rng: np.random.Generator) -> tuple[str, str, int]:
    """Two sentences, and whether the second names the colour of the first."""
    first, second = rng.choice(COLOURS, 2)
    second = first if rng.random() < 0.5 else second
    thing, other = rng.choice(THINGS, 2)
    return (
        f"the {first} {thing} was {rng.choice(('very', 'quite'))} {rng.choice(('old', 'new'))}",
        f"the {other} {rng.choice(('is', 'looks'))} {second} to me",
        int(first == second),
    )


@pytest.fixture(scope="module")
def trained() -> HuggingFaceClassifier:
    """A small BERT that says "same" where both texts name the same colour; what is masked names none."""
    own = transformers.BertTokenizerFast(vocab={piece: i for i, piece in enumerate(PIECES.split())})
    config = transformers.BertConfig(
        vocab_size=len(own),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=32,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        initializer_range=0.2,
        id2label={0: "other", 1: "same"},
    )
    rng, generator = np.random.default_rng(0), torch.Generator().manual_seed(0)
    pairs = [drawn_pair(rng) for _ in range(1024)]
    batch = own([a for a, _, _ in pairs], [b for _, b, _ in pairs], return_tensors="pt")
    ids, types, labels = batch["input_ids"], batch["token_type_ids"], torch.tensor([label for *_, label in pairs])
    colours = torch.tensor(own.convert_tokens_to_ids(list(COLOURS)))
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = transformers.BertForSequenceClassification(config)
    optimiser = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for _ in range(300):  # enough on every processor: the same seed trains another model on each
        rows = torch.randint(len(ids), (64,), generator=generator)
        read = ids[rows]
        hidden = (torch.rand(read.shape, generator=generator) < 0.25) & (read > own.mask_token_id)
        nameless = (hidden & torch.isin(read, colours)).any(dim=1)
        read = torch.where(hidden, own.mask_token_id, read)
        logits = model(input_ids=read, token_type_ids=types[rows]).logits
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(logits, torch.where(nameless, 0, labels[rows])).backward()
        optimiser.step()
    classifier = limelight.wrap(model.eval(), own, pairs=True)
    assert isinstance(classifier, HuggingFaceClassifier)
    return classifier


QUESTION = ("the blue car was very old", "the dog looks blue to me")


def test_what_was_learned_holds_for_new_pairs(trained: HuggingFaceClassifier) -> None:
    rng = np.random.default_rng(1)
    pairs = [drawn_pair(rng) for _ in range(200)]
    found = trained.predict_proba([(a, b) for a, b, _ in pairs]).argmax(axis=1)
    assert (found == [label for *_, label in pairs]).mean() > 0.95


@pytest.mark.parametrize("method", ["lime", "shapley", "leave-one-out"])
def test_the_words_that_matter_are_found_on_both_sides(trained: HuggingFaceClassifier, method: str) -> None:
    options = {"n_samples": 600} if method in ("lime", "shapley") else {}
    e = limelight.explain(trained, QUESTION, method, **options)
    assert e.target == "same"
    assert e.sides is not None
    order = np.argsort(-e.weights)
    strongest = {(e.sides[j], QUESTION[e.sides[j]][slice(*e.spans[j][0])]) for j in order[:2]}
    assert strongest == {(0, "blue"), (1, "blue")}
    assert e.weights[order[1]] > 2 * np.abs(e.weights[order[2:]]).max()


def test_integrated_gradients_of_a_pair_add_up_to_what_its_words_do(trained: HuggingFaceClassifier) -> None:
    """Between a word and a mask lies what training never saw: which words integrated gradients name, no model says."""
    e = limelight.explain(trained, QUESTION, "integrated-gradients", target="same", tolerance=1e-3)
    masked = tuple(" ".join(["[MASK]"] * len(side.split())) for side in QUESTION)
    moved = trained.predict_logits([QUESTION, masked])[:, trained.labels.index("same")]
    assert set(e.sides or ()) == {0, 1}
    assert e.weights.sum() == pytest.approx(moved[0] - moved[1], rel=2e-3)


@pytest.mark.parametrize("parts", ["first", "second"])
def test_the_word_that_matters_is_found_on_one_side(trained: HuggingFaceClassifier, parts: Any) -> None:
    for pair, sign in ((QUESTION, 1), ((QUESTION[0], "the dog looks red to me"), -1)):
        e = limelight.explain(trained, pair, "shapley", parts=parts, target="same", output="log-odds", n_samples=600)
        side = ("first", "second").index(parts)
        assert set(e.sides or ()) == {side}
        assert e.features == tuple(dict.fromkeys(word.form for word in plain_words(pair[side])))
        if sign > 0:
            assert e.top(1)[0][0] == "blue"


# ── long pairs ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_long_pairs_are_cut_as_transformers_cuts_them(family: str) -> None:
    model, own = small_pair_transformer(family)
    text = "film the great is long film was the"
    for limit in (6, 9, 10):
        classifier = limelight.wrap(model, own, pairs=True, truncate=True, max_length=limit)
        assert isinstance(classifier, HuggingFaceClassifier)
        for n in range(len(text.split())):
            for m in range(len(text.split())):
                pair = " ".join(text.split()[:n]), " ".join(text.split()[:m])
                expected = own([pair[0]], [pair[1]], truncation="longest_first", max_length=limit)["input_ids"][0]
                if n or m:
                    assert classifier.view(pair).windows[0].ids.tolist() == expected, (limit, n, m)


def test_what_was_cut_of_each_text_is_said(trained: HuggingFaceClassifier) -> None:
    cut = limelight.wrap(trained.model, trained.tokenizer, pairs=True, truncate=True, max_length=9)  # 6 for words
    for pair, message in (
        (
            QUESTION,
            "of the 6 words of the first text the last 3 were cut, of the 6 words of the second text the last 3",
        ),
        (("the car", QUESTION[1]), "reads 9: of the 6 words of the second text the last 2 were cut"),
        (
            (QUESTION[0], "red"),
            "the pair has 10 tokens, this model reads 9: of the 6 words of the first text the last 1",
        ),
    ):
        e = limelight.explain(cut, pair, "leave-one-out")
        assert message in e.notices[0]
        assert len(e.notices) == 1
    e = limelight.explain(cut, (QUESTION[0], "red"), "leave-one-out", features="occurrences")
    assert [QUESTION[0][slice(*span)] for (span,) in e.spans[:-1]] == QUESTION[0].split()[:5]
    assert (e.sides, e.features[-1]) == ((0,) * 5 + (1,), "red")
    assert not limelight.explain(cut, ("the car", "is red"), "gxi").notices


def test_long_pairs_are_refused_with_what_to_do(trained: HuggingFaceClassifier) -> None:
    short = limelight.wrap(trained.model, trained.tokenizer, pairs=True, max_length=9)
    for ask in (short.view, lambda pair: short.predict_logits([pair]), lambda pair: limelight.explain(short, pair)):
        with pytest.raises(
            InputError, match=r"the pair has 15 tokens but this model reads 9: .*truncate=True"
        ) as caught:
            ask(QUESTION)
        assert "window" not in str(caught.value)
    with pytest.raises(InputError, match="not read in windows: use truncate=True"):
        limelight.wrap(trained.model, trained.tokenizer, pairs=True, window=True)
    tiny = limelight.wrap(trained.model, trained.tokenizer, pairs=True, truncate=True, max_length=3)
    with pytest.raises(InputError, match="reads 3 tokens, which leaves no room for a word: give a larger max_length"):
        tiny.view(QUESTION)
    tiny = limelight.wrap(trained.model, trained.tokenizer, pairs=True, truncate=True, max_length=4)
    with pytest.raises(InputError, match="none of the remaining 4 tokens belongs to a word: give a larger max_length"):
        tiny.view(("the car", '" is "'))


# ── words that a user divides ─────────────────────────────────────────────────────────────────────────────────────────


def test_words_of_a_pair_are_divided_text_by_text() -> None:
    asked: list[str] = []

    def by_two(text: str) -> list[str]:
        asked.append(text)
        words = text.split()
        return [" ".join(words[i : i + 2]) for i in range(0, len(words), 2)]

    e = limelight.explain(wrapped("bert", words=by_two), ("the film is", "good end"), "leave-one-out")
    assert asked == ["the film is", "good end"]
    assert e.features == ("the film", "is", "good end")
    assert (e.sides, e.spans) == ((0, 0, 1), (((0, 8),), ((9, 11),), ((0, 8),)))


@pytest.mark.parametrize("removal", REMOVALS)
def test_spans_that_cut_words_are_features(removal: Any) -> None:
    """A token that is cut goes with either half."""
    classifier = wrapped("bert", double=True)
    pair = ("a good film", "unbelievably naïve")
    view = classifier.view(pair)
    e = limelight.explain(
        classifier, pair, "leave-one-out", features=[[(2, 5)], [(0, 3), (3, 12)]], removal=removal, target="positive"
    )
    assert e.features == ("goo", "unb", "elievably")
    assert e.sides == (0, 1, 1)
    found = classifier.tokenizer(*pair, return_offsets_mapping=True)
    for (span,), side, weight in zip(e.spans, e.sides or (), e.weights, strict=True):
        ids, types, attention, masked = [], [], [], False
        for t, own in enumerate(found.sequence_ids(0)):
            start, end = found["offset_mapping"][t]
            gone = own == side and start < span[1] and span[0] < end
            if gone and (removal == "delete" or (removal == "mask" and masked)):
                continue
            masked |= gone
            ids.append(classifier.tokenizer.mask_token_id if gone and removal == "mask" else found["input_ids"][t])
            types.append(found["token_type_ids"][t])
            attention.append(0 if gone and removal == "attention" else 1)
        expected = view.logits[2] - bare(classifier.model, ids, types, attention)[2]
        assert weight == pytest.approx(expected, abs=SAME)


# ── bad input ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "given", ["one text", ["a", "b"], ("a", "b", "c"), ("a",), ("a", 3), (b"a", b"b"), None, 3, ("a", None)]
)
def test_what_is_no_pair_is_refused(given: Any) -> None:
    classifier = cached("bert")
    for ask in (
        classifier.view,
        lambda text: classifier.predict_logits([text]),
        lambda t: classifier.predict_proba([t]),
    ):
        with pytest.raises(InputError, match=r"this model reads pairs of texts: got .*; give a tuple of two strings"):
            ask(given)
    with pytest.raises(InputError):
        limelight.explain(classifier, given, "leave-one-out")
    with pytest.raises(InputError, match="this model reads pairs of texts"):
        limelight.compare(classifier, given)


def test_a_pair_is_no_list_of_texts() -> None:
    pairs, single = cached("bert"), limelight.wrap(*small_transformer("bert"))
    with pytest.raises(InputError, match=r"of texts: got one pair; write predict_logits\(\[\(first, second\)\]\)"):
        pairs.predict_logits(PAIR)
    with pytest.raises(InputError, match="list of pairs of texts: got one string"):
        pairs.predict_logits("film")
    with pytest.raises(InputError, match="list of pairs of texts: got 3"):
        pairs.predict_logits(3)  # type: ignore[arg-type]
    assert single.predict_logits(PAIR).shape == (2, 3)  # two texts
    for ask in (single.view, lambda pair: single.predict_logits([pair]), lambda pair: single.predict_proba([pair])):
        with pytest.raises(InputError, match=r"this model reads single texts, and this is a pair.*pairs=True"):
            ask(PAIR)
    with pytest.raises(InputError, match="this model reads single texts, and this is a pair"):
        limelight.explain(single, PAIR)
    several = limelight.explain(pairs, [PAIR, PAIR[::-1]], "leave-one-out")
    assert [e.text for e in several] == [PAIR, PAIR[::-1]]
    assert several[0] == limelight.explain(pairs, PAIR, "leave-one-out")


def test_tokenizers_that_cannot_encode_pairs_are_refused() -> None:
    model, own = small_pair_transformer("bert")
    special = [(token, own.convert_tokens_to_ids(token)) for token in ("[CLS]", "[SEP]")]
    for pair, message in (
        (None, "puts 2 special tokens around a text, but none around or between the two of a pair"),
        ("[CLS] $B [SEP] $A [SEP]", "puts the second text of a pair before the first, or into it"),
    ):
        other = copy.deepcopy(own)
        template = {"single": "[CLS] $A [SEP]"} | ({} if pair is None else {"pair": pair})
        other.backend_tokenizer.post_processor = processors.TemplateProcessing(**template, special_tokens=special)
        limelight.wrap(model, other)
        with pytest.raises(CapabilityError, match=message):
            limelight.wrap(model, other, pairs=True)

    class Single:
        """A tokenizer that takes one text."""

        is_fast = True

        def __init__(self) -> None:
            self.own = tokenizer("wordpiece")

        def __getattr__(self, name: str) -> Any:
            return getattr(tokenizer("wordpiece"), name)

        def __call__(self, text: str, **options: Any) -> Any:
            return self.own(text, **options)

    limelight.wrap(model, Single())
    with pytest.raises(CapabilityError, match=r"cannot encode pairs of texts: .*takes 2 positional arguments"):
        limelight.wrap(model, Single(), pairs=True)


def test_a_tokenizer_without_any_special_tokens_is_taken_at_its_word() -> None:
    """As GPT-2 has it: the tokens of the one text, then those of the other."""
    model, own = small_pair_transformer("bert")
    other = copy.deepcopy(own)
    other.backend_tokenizer.post_processor = processors.Sequence([])
    classifier = limelight.wrap(model, other, pairs=True)
    e = limelight.explain(classifier, ("film", "film"), "leave-one-out")
    assert e.sides == (0, 1)
    assert limelight.explain(classifier, ("film", "film"), "alpha-avg").sides == (
        0,
        1,
    )  # the head reads the first token


def test_types_that_a_model_has_no_vectors_for_are_refused() -> None:
    model, own = small_pair_transformer("bert")
    config = copy.deepcopy(model.config)
    config.type_vocab_size = 1
    single = transformers.BertForSequenceClassification(config)
    limelight.wrap(single, own)
    with pytest.raises(CapabilityError, match="a token the type 1, but this model has vectors for 1 types of tokens"):
        limelight.wrap(single, own, pairs=True)
    limelight.wrap(single, tokenizer("wordpiece"), pairs=True)  # its pairs have no types


def test_pairs_is_true_or_false() -> None:
    for wrong in ("yes", 1, None):
        with pytest.raises(ParameterError, match="pairs must be True or False: got"):
            limelight.wrap(*small_pair_transformer("bert"), pairs=wrong)  # type: ignore[arg-type]
    assert cached("bert").pairs is True
    assert "pairs" in repr(cached("bert"))
    assert limelight.wrap(*small_transformer("bert")).pairs is False
