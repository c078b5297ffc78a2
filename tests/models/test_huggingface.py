"""Hugging Face classifiers: words and tokens, perturbed forwards, attentions and gradients against naive twins."""

from __future__ import annotations

import copy
import re
import threading
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import limelight
from limelight.attribution.request import Request
from limelight.core.progress import Silent
from limelight.errors import CapabilityError, EmptyTextError, InputError, NumericalError, ParameterError
from limelight.explainers.method import Conditions, find
from limelight.inputs.document import read_words
from limelight.inputs.features import features_of
from limelight.models.counting_game import first_rows
from limelight.models.huggingface.classifier import HuggingFaceClassifier
from limelight.models.huggingface.runner import Batches, Inputs, Runner, ragged_batches
from limelight.models.huggingface.subwords import TokenWindow, owners_of_tokens
from limelight.models.huggingface.view import HuggingFaceView
from limelight.testing import CHECKS
from reference.small_transformers import FAMILIES, TEXTS, small_transformer, tokenizer

TEXT = 'It\'s "great", but the film is far too long.<br />The film!'
LONG = " ".join(TEXTS[0:2] * 4)
FLOAT32 = 2e-5  # other shapes of batches round differently
SAME = 1e-9  # float64
REMOVALS = ("mask", "delete", "attention")
CPU = torch.device("cpu")

FLAT = {"g-avg": ("targets",)}  # behind a layer normalisation it is zero for every target


@pytest.fixture
def bert() -> HuggingFaceClassifier:
    return wrapped("bert")


def wrapped(family: str, double: bool = False, **options: Any) -> HuggingFaceClassifier:
    model, own = small_transformer(family)
    classifier = limelight.wrap(model.double() if double else model, own, **options)
    assert isinstance(classifier, HuggingFaceClassifier)
    return classifier


FITTING = [method.id for method in Request().applicable(wrapped("bert").view("a film"))]


def bare_logits(model: Any, ids: list[int], attention: list[int] | None = None) -> np.ndarray:
    """One input, the plain way."""
    mask = [1] * len(ids) if attention is None else attention
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([ids]), attention_mask=torch.tensor([mask])).logits
    return logits[0].double().numpy()


def naive_removal(classifier: Any, text: str, removed: set[str], removal: str) -> np.ndarray:
    """Tokenise, look at each token's characters, rebuild the list of numbers, ask the model."""
    own = classifier.tokenizer
    found = own(text, return_offsets_mapping=True, return_special_tokens_mask=True)
    ids, attention, masked = [], [], set()
    for number, (start, end), special in zip(
        found["input_ids"], found["offset_mapping"], found["special_tokens_mask"], strict=True
    ):
        covered = [word for word in read_words(text) if not special and word.start < end and start < word.end]
        gone = {word for word in covered if word.form in removed}
        if gone and (removal == "delete" or (removal == "mask" and gone <= masked)):
            continue
        masked |= gone  # one mask for each word: its other tokens are left out
        ids.append(own.mask_token_id if gone and removal == "mask" else number)
        attention.append(0 if gone and removal == "attention" else 1)
    return bare_logits(classifier.model, ids, attention)


# ── words ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "unigram"])
def test_tokens_belong_to_the_words_whose_characters_they_cover(kind: str, text: str) -> None:
    own, words = tokenizer(kind), read_words(text)
    offsets = own(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    owners = owners_of_tokens(offsets, words)
    for (start, end), owned in zip(offsets, owners, strict=True):
        covered = [i for i, word in enumerate(words) if word.start < end and start < word.end]
        assert list(owned) == covered
    seen = {i for owned in owners for i in owned}
    dropped = [text[word.start : word.end] for i, word in enumerate(words) if i not in seen]
    # A tokenizer may drop a word: BERT's cleans controls away. Letters it never drops.
    assert not [word for word in dropped if any(map(str.isalnum, word))]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("family", ["bert", "roberta", "xlm-roberta"])
def test_spans_are_exactly_the_words_of_the_text(family: str, text: str) -> None:
    e = limelight.explain(wrapped(family), text, "leave-one-out", features="occurrences")
    assert [spans for (spans,) in e.spans] == [(word.start, word.end) for word in read_words(text)]
    assert list(e.features) == [word.form for word in read_words(text)]


def test_special_tokens_and_tokens_between_words_are_never_removed(bert: HuggingFaceClassifier) -> None:
    (window,) = bert.view(TEXT).windows
    tokens = bert.tokenizer.convert_ids_to_tokens(window.ids)
    free = [token for t, token in enumerate(tokens) if t not in window.positions]
    assert free[0] == "[CLS]"
    assert free[-1] == "[SEP]"
    between = "".join(token.removeprefix("##") for token in free[1:-1])
    assert between.replace("[UNK]", "").strip('"<br/>') == ""


def test_a_token_of_two_words_goes_with_either_and_is_split() -> None:
    own = tokenizer("bpe", True)
    text = "it's"
    classifier = wrapped("roberta")
    view = classifier.view(text)
    (window,) = view.windows
    pieces = own.convert_ids_to_tokens(window.ids)
    assert "'s" in pieces
    at = pieces.index("'s")
    assert window.words[window.positions == at].tolist() == [1, 2]
    assert window.token_parts[window.positions == at].tolist() == [0.5, 0.5]
    game = view.game(features_of(view.document, "words"), "mask")
    without_quote, without_s = game(np.array([[True, False, True], [True, True, False]]))
    np.testing.assert_allclose(without_quote, without_s, atol=FLOAT32)
    np.testing.assert_allclose(without_s, naive_removal(classifier, text, {"s"}, "mask"), atol=FLOAT32)


# ── the forward and the perturbed forward ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("family", FAMILIES)
def test_predictions_are_those_of_the_bare_model(family: str) -> None:
    classifier = wrapped(family)
    found = classifier.predict_logits([*TEXTS, ""])
    for text, logits in zip([*TEXTS, ""], found, strict=True):
        ids = classifier.tokenizer(text)["input_ids"]
        np.testing.assert_allclose(logits, bare_logits(classifier.model, ids), atol=FLOAT32)
    np.testing.assert_allclose(classifier.predict_proba(list(TEXTS)).sum(axis=1), 1)
    assert classifier.predict_logits([]).shape == (0, 3)


@pytest.mark.parametrize("removal", REMOVALS)
@pytest.mark.parametrize("family", FAMILIES)
def test_perturbed_forward_is_the_naive_one(family: str, removal: Any) -> None:
    classifier = wrapped(family)
    view = classifier.view(TEXT)
    features = features_of(view.document, "words")
    kept = np.random.default_rng(0).random((12, len(features))) < 0.5
    kept[0], kept[1] = True, False
    found = view.game(features, removal)(kept)
    for row, logits in zip(kept, found, strict=True):
        removed = {name for name, stays in zip(features.names, row, strict=True) if not stays}
        np.testing.assert_allclose(logits, naive_removal(classifier, TEXT, removed, removal), atol=FLOAT32)
    np.testing.assert_allclose(found[0], classifier.predict_logits([TEXT])[0], atol=FLOAT32)
    assert np.ptp(found[:, 0]) > 1e-3  # so that the comparison says something


@pytest.mark.parametrize("removal", ["mask", "delete"])
def test_a_word_is_removed_as_if_in_the_text(removal: Any) -> None:
    """What official LIME does with strings: the word makes room for the mask token, or for nothing."""
    classifier = wrapped("bert")
    text = "unbelievably long films end badly unbelievably often"
    view = classifier.view(text)
    assert len(view.windows[0].ids) > 9 + 2  # words of several tokens
    features = features_of(view.document, "occurrences")
    kept = np.random.default_rng(3).random((20, len(features))) < 0.5
    token = classifier.tokenizer.mask_token if removal == "mask" else None
    texts = [
        " ".join(word if stays else token for word, stays in zip(text.split(), row, strict=True) if stays or token)
        for row in kept
    ]
    found = view.game(features, removal)(kept)
    np.testing.assert_allclose(found, classifier.predict_logits(texts), atol=FLOAT32)


def test_hidden_words_do_not_matter() -> None:
    classifier = wrapped("bert", double=True)
    found = {}
    for word in ("film", "end", "great", "long", "bad"):
        view = classifier.view(f"it was the {word} and good")
        features = features_of(view.document, "words")
        kept = np.array([[name != word for name in features.names]])
        logits = view.game(features, "attention")(kept)
        found.setdefault(len(view.windows[0].ids), []).append((view.document.text, logits))
    same_length = max(found.values(), key=len)
    assert len(same_length) > 1
    for text, logits in same_length:
        np.testing.assert_allclose(logits, same_length[0][1], atol=SAME, err_msg=text)


@pytest.mark.parametrize("removal", REMOVALS)
def test_batches_do_not_matter(removal: Any) -> None:
    small, large = (wrapped("bert", double=True, batch_tokens=tokens) for tokens in (1, 100_000))
    features = features_of(small.view(TEXT).document, "words")
    kept = np.random.default_rng(1).random((40, len(features))) < 0.6
    one_by_one, together = (classifier.view(TEXT).game(features, removal)(kept) for classifier in (small, large))
    np.testing.assert_allclose(one_by_one, together, atol=SAME)


def counted(classifier: HuggingFaceClassifier) -> list[tuple[int, int]]:
    """The shapes of all inputs that the model is given from now on."""
    shapes: list[tuple[int, int]] = []
    classifier.model.register_forward_pre_hook(
        lambda module, arguments, named: shapes.append(tuple(named["input_ids"].shape)), with_kwargs=True
    )
    return shapes


def test_what_is_the_same_is_computed_once(bert: HuggingFaceClassifier) -> None:
    shapes = counted(bert)
    view = bert.view("the film was bad")
    game = view.game(features_of(view.document, "words"), "mask")
    game(np.random.default_rng(0).random((500, 4)) < 0.5)
    assert sum(rows for rows, _ in shapes) == game.asked == 16


def test_deletion_shortens_the_input(bert: HuggingFaceClassifier) -> None:
    shapes = counted(bert)
    view = bert.view(TEXT)
    features = features_of(view.document, "words")
    full = len(view.windows[0].ids)
    kept = np.tril(np.ones((len(features),) * 2, dtype=bool))
    view.game(features, "delete")(kept)
    longest = [width for _, width in shapes]
    assert longest == sorted(longest, reverse=True)
    limited = wrapped("bert", batch_tokens=full)
    shapes = counted(limited)
    limited.view(TEXT).game(features, "delete")(kept)
    assert sum(rows * width for rows, width in shapes) < 0.75 * len(kept) * full


def test_any_number_of_variants_is_computed_block_by_block(
    bert: HuggingFaceClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    shapes = counted(bert)
    view = bert.view(TEXT)
    features = features_of(view.document, "words")
    kept = np.random.default_rng(2).random((50, len(features))) < 0.5
    game = view.game(features, "mask")
    at_once = game(kept)
    shapes.clear()
    monkeypatch.setattr("limelight.models.huggingface.game._ROWS_AT_ONCE", 7)
    np.testing.assert_allclose(game(kept), at_once, atol=FLOAT32)
    assert max(rows for rows, _ in shapes) <= 7


def test_inputs_of_one_length_need_no_padding() -> None:
    hidden: list[bool] = []

    def forward(inputs: Inputs) -> torch.Tensor:
        hidden.append(inputs.attention is not None)
        return inputs.ids[:, :2].float()

    lengths = np.repeat([9, 60, 40], [2, 30, 30])
    windows = [TokenWindow(*(np.full(n, n),) * 2, *(np.zeros(0, dtype=np.int64),) * 3) for n in lengths]
    found = Runner(2).run(forward, CPU, ragged_batches(windows, 0, CPU))
    assert found[:, 0].tolist() == lengths.tolist()
    assert not any(hidden)


def test_distinct_rows_put_back_together() -> None:
    kept = np.random.default_rng(0).random((300, 13)) < 0.8
    first, which = first_rows(kept)
    assert (kept[first][which] == kept).all()
    assert len(first) == len(np.unique(kept, axis=0))


def test_batches_are_halved_when_memory_runs_out() -> None:
    sizes: list[int] = []

    def forward(inputs: Inputs) -> torch.Tensor:
        sizes.append(len(inputs.ids))
        if len(inputs.ids) > 5:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return inputs.ids[:, :1].float() * torch.ones(2)

    batches = Batches(np.full(40, 10), lambda rows, width: Inputs(torch.from_numpy(rows)[:, None].expand(-1, width)))
    runner = Runner(2, batch_tokens=160)
    found = runner.run(forward, CPU, batches)
    assert found[:, 0].tolist() == list(range(40))
    assert sizes[:3] == [16, 8, 4]
    assert max(sizes[3:]) <= 4
    sizes.clear()
    runner.run(forward, CPU, batches)
    assert max(sizes) <= 4  # what was learned stays

    def never(inputs: Inputs) -> torch.Tensor:
        raise torch.OutOfMemoryError("CUDA out of memory")

    with pytest.raises(torch.OutOfMemoryError):
        Runner(2).run(never, CPU, batches)
    for wrong in (0, True, 1.5):
        with pytest.raises(ParameterError, match="batch_tokens must be a whole number of at least 1"):
            Runner(2, batch_tokens=wrong)  # type: ignore[arg-type]
    assert Runner(2, batch_tokens=np.int64(160)).run(forward, CPU, batches)[:, 0].tolist() == list(range(40))


def test_a_batch_that_was_halved_stays_so_whatever_another_thread_does() -> None:
    """A thread that runs out of memory with the former size must not raise what another one has lowered since."""
    sizes: list[int] = []
    batches = Batches(np.full(40, 10), lambda rows, width: Inputs(torch.from_numpy(rows)[:, None].expand(-1, width)))
    runner = Runner(2, batch_tokens=160)

    def small(inputs: Inputs) -> torch.Tensor:
        sizes.append(len(inputs.ids))
        if len(inputs.ids) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return inputs.ids[:, :1].float() * torch.ones(2)

    def interrupted(inputs: Inputs) -> torch.Tensor:
        if not sizes:  # meanwhile another thread goes down to two
            other = threading.Thread(target=lambda: runner.run(small, CPU, batches))
            other.start()
            other.join()
            raise torch.OutOfMemoryError("CUDA out of memory")
        sizes.append(len(inputs.ids))
        return inputs.ids[:, :1].float() * torch.ones(2)

    runner.run(interrupted, CPU, batches)
    assert sizes[:4] == [16, 8, 4, 2]
    assert max(sizes[3:]) == 2


class Counting(Silent):
    """Keeps all steps, and stops the work after so many."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.steps: list[int] = []
        self._stop_after = stop_after

    def advance(self, steps: int = 1, note: str = "") -> None:
        self.steps.append(steps)
        if self._stop_after is not None and len(self.steps) >= self._stop_after:
            raise KeyboardInterrupt


@pytest.mark.parametrize("removal", REMOVALS)
@pytest.mark.parametrize("text", ["the film was bad", TEXT, LONG])
def test_progress_advances_by_every_coalition(text: str, removal: Any) -> None:
    view = wrapped("bert", window=True, batch_tokens=60).view(text)
    features = features_of(view.document, "words")
    kept = np.random.default_rng(0).random((300, len(features))) < 0.5
    progress = Counting()
    game = view.game(features, removal, progress)
    game(kept)
    assert sum(progress.steps) == len(kept)
    assert min(progress.steps) > 0
    assert len(progress.steps) > 1
    distinct = [len(np.unique(kept[:, np.unique(features.owners[w.words])], axis=0)) for w in view.windows]
    assert game.asked == sum(distinct)
    game(kept[:1])
    assert sum(progress.steps) == len(kept) + 1
    game(kept[:0])
    assert sum(progress.steps) == len(kept) + 1
    assert game.asked == sum(distinct) + len(view.windows)


def test_an_interruption_breaks_nothing() -> None:
    classifier = wrapped("bert", batch_tokens=200)
    view = classifier.view(TEXT)
    features = features_of(view.document, "words")
    kept = np.random.default_rng(0).random((60, len(features))) < 0.5
    expected, before = view.game(features, "mask")(kept), classifier.predict_logits([TEXT])
    progress = Counting(stop_after=2)
    with pytest.raises(KeyboardInterrupt):
        view.game(features, "mask", progress)(kept)
    assert len(progress.steps) == 2
    assert before.tobytes() == classifier.predict_logits([TEXT]).tobytes()
    assert expected.tobytes() == view.game(features, "mask")(kept).tobytes()


def test_coalitions_of_another_text_are_refused(bert: HuggingFaceClassifier) -> None:
    view = bert.view(TEXT)
    with pytest.raises(ParameterError, match=r"coalitions have shape \(1, 2\): this text has \d+ features"):
        view.game(features_of(view.document, "words"), "mask")(np.ones((1, 2), dtype=bool))


def test_a_view_reads_its_text_once_and_keeps_what_it_computed(
    bert: HuggingFaceClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[str] = []
    plain = bert._encode
    monkeypatch.setattr(bert, "_encode", lambda text: encoded.append(text) or plain(text))
    shapes = counted(bert)
    view = bert.view(TEXT)
    assert not shapes
    for _ in range(2):
        assert view.logits.tobytes() == view.logits.tobytes()
        assert len(shapes) == 1
    for _ in range(2):
        view.attentions()
        view.attention_layers()
        assert len(shapes) == 2
    for _ in range(2):
        assert view.gradients(np.eye(3)[1]).forwards == 1
        assert len(shapes) == 3
    view.gradients(np.eye(3)[2])
    assert len(shapes) == 4
    points = np.linspace(0, 1, 5)
    assert view.path_gradients("mask", np.arange(len(view.document.words)), points, lambda logits: logits).forwards == 5
    view.game(features_of(view.document, "words"), "mask")
    assert encoded == [TEXT]
    shapes.clear()
    windowed = wrapped("bert", window=True)
    windowed.company_at(48)  # asked before the first batch of this width, and not counted by an explanation
    shapes, view = counted(windowed), windowed.view(LONG)
    paths = view.path_gradients("zero", np.arange(len(view.document.words)), points, lambda logits: logits)
    assert paths.forwards == sum(rows for rows, _ in shapes) == 2 * 5 * len(view.windows)


# ── long texts ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_long_texts_are_refused_with_what_to_do(bert: HuggingFaceClassifier) -> None:
    for ask in (lambda: limelight.explain(bert, LONG, "gxi"), lambda: bert.predict_logits([LONG])):
        with pytest.raises(InputError, match=r"has \d+ tokens but this model reads 48: .*truncate=True.*window=True"):
            ask()


def test_truncated_texts_say_so() -> None:
    classifier = wrapped("bert", truncate=True)
    e = limelight.explain(classifier, LONG, "gxi", features="occurrences")
    assert re.search(r"this model reads 48: of its \d+ words the last \d+ were cut", e.notices[0])
    ids = classifier.tokenizer(LONG, truncation=True, max_length=48)["input_ids"]
    np.testing.assert_allclose(classifier.predict_logits([LONG])[0], bare_logits(classifier.model, ids), atol=FLOAT32)
    assert 0 < len(e.features) < len(read_words(LONG))


def test_windows_cover_the_whole_text_and_are_averaged() -> None:
    classifier = wrapped("bert", double=True, window=True)
    windows = classifier.view(LONG).windows
    assert len(windows) > 2
    assert {int(w) for window in windows for w in window.words} == set(range(len(read_words(LONG))))
    assert sum(window.part for window in windows) == pytest.approx(1)
    each = [bare_logits(classifier.model, window.ids.tolist()) for window in windows]
    np.testing.assert_allclose(classifier.predict_logits([LONG])[0], np.mean(each, axis=0), atol=SAME)
    e = limelight.explain(classifier, LONG, "leave-one-out", features="occurrences")
    assert "overlapping windows" in e.notices[0]
    assert len(e.features) == len(read_words(LONG))
    assert (e.weights != 0).mean() > 0.9
    ig = limelight.explain(classifier, LONG, "integrated-gradients", output="probability", tolerance=1e-4)
    change = ig.diagnostics["model_prediction"] - ig.diagnostics["baseline_output"]
    assert ig.weights.sum() == pytest.approx(change, abs=1e-4 * np.abs(ig.weights).sum() + 1e-12)


def naive_windows(tokenizer: Any, text: str, limit: int) -> list[tuple[list[int], list[list[int]]]]:
    """Token numbers of each window, special tokens included, and for each of them the words that it covers."""
    found = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    words = list(read_words(text))
    covered = [
        [i for i, word in enumerate(words) if word.start < end and start < word.end]
        for start, end in found["offset_mapping"]
    ]
    ids, room = found["input_ids"], limit - 2
    starts = [*range(0, len(ids) - room, room // 2), len(ids) - room]
    first, last = tokenizer.cls_token_id, tokenizer.sep_token_id
    return [([first, *ids[a : a + room], last], [[], *covered[a : a + room], []]) for a in starts]


def per_word(per_token: np.ndarray, covered: list[list[int]], n_words: int) -> np.ndarray:
    """What each token has (T, …), divided between the words that it covers."""
    total = np.zeros((n_words, *per_token.shape[1:]))
    for value, words in zip(per_token, covered, strict=True):
        for word in words:
            total[word] += value / len(words)
    return total


WINDOWED = ("bert", "roberta")  # the second has tokens that cover two words


class NaiveWindows:
    """The plain model on each window of a long text, and the mean over them of what it tells of each word."""

    def __init__(self, classifier: HuggingFaceClassifier, text: str) -> None:
        self.model = copy.deepcopy(classifier.model).eval()
        self.model.set_attn_implementation("eager")
        self.windows = naive_windows(classifier.tokenizer, text, classifier.max_length or 0)
        self.n_words = len(read_words(text))
        assert len(self.windows) > 2

    def mean(self, per_token: Any, reduce: Any = lambda per_token: per_token) -> np.ndarray:
        """`per_token`: what one window (1, T) gives each of its tokens."""
        each = [
            per_word(reduce(per_token(torch.tensor([ids]))), covered, self.n_words) for ids, covered in self.windows
        ]
        return np.sum(each, axis=0) / len(each)

    def gradient_and_input(self, ids: torch.Tensor, target: int) -> tuple[np.ndarray, np.ndarray]:
        vectors = self.model.get_input_embeddings()(ids).detach().requires_grad_()
        self.model(inputs_embeds=vectors).logits[0, target].backward()
        assert vectors.grad is not None
        return vectors.grad[0].numpy(), vectors.detach()[0].numpy()

    def attention(self, ids: torch.Tensor) -> np.ndarray:
        with torch.no_grad():
            layers = self.model(input_ids=ids, output_attentions=True).attentions
        return torch.stack([layer[0] for layer in layers]).numpy()


@pytest.mark.parametrize("family", WINDOWED)
def test_gradients_of_windows_are_their_mean_by_parts(family: str) -> None:
    classifier = wrapped(family, double=True, window=True)
    naive = NaiveWindows(classifier, LONG)
    for method, reduce in (
        ("gxi", lambda pair: (pair[0] * pair[1]).sum(axis=1)),
        ("g-l1", lambda pair: np.abs(pair[0]).sum(axis=1)),
        ("g-l2", lambda pair: np.linalg.norm(pair[0], axis=1)),
    ):
        expected = naive.mean(lambda ids: naive.gradient_and_input(ids, 2), reduce)
        weights = limelight.explain(classifier, LONG, method, target="positive", features="occurrences").weights
        np.testing.assert_allclose(weights, expected, atol=SAME, err_msg=method)
        assert np.abs(expected).max() > 1e-3


@pytest.mark.parametrize("family", WINDOWED)
def test_attention_of_windows_is_their_mean_by_parts(family: str) -> None:
    classifier = wrapped(family, double=True, window=True)
    naive = NaiveWindows(classifier, LONG)
    for method, reduce in (
        ("alpha-avg", lambda weights: weights[-1, :, 0].mean(axis=0)),
        ("alpha-max", lambda weights: weights[-1, :, 0].max(axis=0)),
    ):
        expected = naive.mean(naive.attention, reduce)
        if method == "alpha-max":  # the heads' maximum is taken for each token, before words join
            assert not np.allclose(expected, naive.mean(naive.attention, lambda w: w[-1, :, 0].mean(axis=0)))
        weights = limelight.explain(classifier, LONG, method, features="occurrences").weights
        np.testing.assert_allclose(weights, expected, atol=SAME, err_msg=method)


@pytest.mark.parametrize("family", WINDOWED)
def test_rollout_of_windows_is_its_mean_by_parts(family: str) -> None:
    classifier = wrapped(family, double=True, window=True)
    naive = NaiveWindows(classifier, LONG)

    def rolled_out(weights: np.ndarray) -> np.ndarray:
        identity = np.eye(weights.shape[-1])
        product = identity
        for layer in weights:
            product = (layer.mean(axis=0) + identity) / 2 @ product
        return product[0]

    weights = limelight.explain(classifier, LONG, "rollout", features="occurrences").weights
    np.testing.assert_allclose(weights, naive.mean(naive.attention, rolled_out), atol=SAME)


@pytest.mark.parametrize("family", WINDOWED)
def test_slopes_along_windows_are_their_mean_by_parts(family: str) -> None:
    """At one point of the line, for a direction that does not depend on it."""
    classifier = wrapped(family, double=True, window=True)
    naive, view, x = NaiveWindows(classifier, LONG), classifier.view(LONG), 0.3
    table = naive.model.get_input_embeddings()
    mask = table(torch.tensor(classifier.tokenizer.mask_token_id)).detach()

    def slope(ids: torch.Tensor) -> np.ndarray:
        covered = next(words for own, words in naive.windows if own == ids[0].tolist())
        vectors = table(ids).detach()
        difference = torch.stack([v - mask if words else 0 * v for v, words in zip(vectors[0], covered, strict=True)])
        at = (vectors - (1 - x) * difference).requires_grad_()
        naive.model(inputs_embeds=at).logits[0, 1].backward()
        assert at.grad is not None
        return (at.grad[0] * difference).sum(dim=1).numpy()

    paths = view.path_gradients(
        "mask", np.arange(len(view.document.words)), np.array([x]), lambda logits: np.eye(3)[[1] * len(logits)]
    )
    slopes = features_of(view.document, "occurrences").total(paths.slopes[0], paths.words)
    np.testing.assert_allclose(slopes, naive.mean(slope), atol=SAME)


def test_limits_follow_the_table_of_positions() -> None:
    assert wrapped("roberta").max_length == 48  # the tokenizer's
    own = copy.copy(tokenizer("bpe", True))
    own.model_max_length = int(1e30)
    model, _ = small_transformer("roberta")
    assert limelight.wrap(model, own).max_length == 64 - own.pad_token_id - 1
    assert limelight.wrap(model, own, max_length=20).max_length == 20
    for wrong in (2, 64, True):
        with pytest.raises(ParameterError, match="max_length"):
            limelight.wrap(model, own, max_length=wrong)
    with pytest.raises(ParameterError, match="exclude each other"):
        limelight.wrap(model, own, truncate=True, window=True)


# ── attention and gradients ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("family", FAMILIES)
def test_attentions_are_real_whatever_the_implementation(family: str) -> None:
    classifier = wrapped(family)
    former = classifier.model.config._attn_implementation
    (found,) = classifier.view(TEXT).attention_layers()
    assert found.weights.dtype == np.float32  # as it was computed
    assert classifier.model.config._attn_implementation == former
    assert found.weights.shape[:2] == (2, 2)
    np.testing.assert_allclose(found.weights.sum(axis=-1), 1, atol=1e-6)
    eager, own = small_transformer(family)
    eager.set_attn_implementation("eager")
    with torch.no_grad():
        ids = torch.tensor([own(TEXT)["input_ids"]])
        expected = torch.stack([layer[0] for layer in eager(input_ids=ids, output_attentions=True).attentions])
    np.testing.assert_allclose(found.weights, expected.numpy(), atol=FLOAT32)


def test_attention_keeps_the_precision_that_it_was_computed_in() -> None:
    for dtype, kept in ((torch.float64, np.float64), (torch.float32, np.float32), (torch.bfloat16, np.float32)):
        model, own = small_transformer("bert")
        view = limelight.wrap(model.to(dtype), own).view(TEXT)
        assert isinstance(view, HuggingFaceView)
        assert view.attention_layers()[0].weights.dtype == kept
        assert view.attentions()[0].weights.dtype == np.float64


def test_no_attentions_is_said_loudly(bert: HuggingFaceClassifier) -> None:
    plain = bert.model.forward

    def silent(**named: Any) -> Any:
        named.pop("output_attentions", None)
        return plain(**named)

    bert.model.forward = silent
    with pytest.raises(CapabilityError, match="returned no attentions"):
        limelight.explain(bert, TEXT, "alpha-avg")


def test_attention_by_layer_and_head(bert: HuggingFaceClassifier) -> None:
    view = bert.view(TEXT)
    (found,) = view.attention_layers()
    n_words = len(view.document.words)
    paid = np.zeros((2, 2, n_words))
    for position, word, part in zip(found.positions, found.words, found.token_parts, strict=True):
        paid[:, :, word] += part * found.weights[:, :, 0, position]

    def weights(method: str, **options: Any) -> np.ndarray:
        return limelight.explain(bert, TEXT, method, features="occurrences", **options).weights

    np.testing.assert_allclose(weights("alpha-avg"), paid[-1].mean(axis=0), atol=SAME)
    np.testing.assert_allclose(weights("alpha-avg", layer=0), paid[0].mean(axis=0), atol=SAME)
    np.testing.assert_allclose(weights("alpha-avg", layer=0, head=1), paid[0, 1], atol=SAME)
    np.testing.assert_allclose(weights("alpha-avg", layer="mean"), paid.mean(axis=(0, 1)), atol=SAME)
    single = [t for t in range(n_words) if (found.words == t).sum() == 1]  # the maximum is taken before subwords join
    np.testing.assert_allclose(weights("alpha-max", layer=1)[single], paid[1].max(axis=0)[single], atol=SAME)
    np.testing.assert_allclose(weights("alpha-max", layer="max")[single], paid.max(axis=(0, 1))[single], atol=SAME)
    for wrong in ({"layer": 2}, {"layer": "last"}, {"head": 2}, {"head": True}):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            weights("alpha-avg", **wrong)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("output", ["logit", "probability"])
def test_gradients_are_those_of_finite_differences(family: str, output: Any) -> None:
    classifier = wrapped(family, double=True)
    view = classifier.view("the film was bad")
    (window,) = view.windows
    ids = torch.from_numpy(window.ids)[None]
    table = classifier.model.get_input_embeddings()
    vectors = table(ids).detach()

    def value(embeddings: torch.Tensor) -> float:
        hook = table.register_forward_hook(lambda module, arguments, found: embeddings)
        with torch.no_grad():
            logits = classifier.model(input_ids=ids).logits[0]
        hook.remove()
        return float(logits[1] if output == "logit" else logits.softmax(dim=0)[1])

    along = torch.randn(vectors.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    owned = window.positions
    free = [t for t in range(ids.shape[1]) if t not in owned]
    along[:, free] = 0
    # DeBERTa normalises in float32 whatever its weights are: differences are noisy.
    step, close = (1e-4, 3e-3) if family == "deberta" else (1e-5, 1e-5)
    expected = (value(vectors + step * along) - value(vectors - step * along)) / (2 * step)
    prediction = classifier.predict_logits(["the film was bad"])[0]
    p = np.exp(prediction - prediction.max()) / np.exp(prediction - prediction.max()).sum()
    direction = np.eye(3)[1] if output == "logit" else p[1] * (np.eye(3)[1] - p)
    found = view.gradients(direction)
    assert float((found.gradients * along[0].numpy()[owned]).sum()) == pytest.approx(expected, rel=close, abs=1e-8)
    np.testing.assert_allclose(found.embeddings, vectors[0].numpy()[owned])
    assert found.words.tolist() == window.words.tolist()


# ── the contract ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_g_avg_says_that_it_vanishes_behind_a_layer_normalisation(bert: HuggingFaceClassifier) -> None:
    e = limelight.explain(bert, TEXT, "g-avg")
    assert np.abs(e.weights).max() < 1e-6
    assert "G-avg is zero up to rounding" in e.notices[0]
    assert not limelight.explain(limelight.load(), TEXT, "g-avg").notices


@pytest.mark.parametrize(
    ("id", "check"), [(id, check) for id in FITTING for check in CHECKS if check not in FLAT.get(id, ())]
)
def test_every_method_keeps_the_contract(id: str, check: str) -> None:
    classifier = wrapped("bert", truncate=True)
    way = find(id).required_implementation(classifier.view("a film"), Conditions())
    CHECKS[check](id, classifier, {"n_samples": 60} if "n_samples" in way.options else {})


def test_methods_that_do_not_apply_are_refused_with_those_that_do(bert: HuggingFaceClassifier) -> None:
    with pytest.raises(CapabilityError, match=r"needs ratio game .*lime.*integrated-gradients.*rollout.*shapley"):
        limelight.explain(bert, TEXT, "lime-limit")
    shown = [e.method for e in limelight.compare(bert, TEXT, n_samples=20)]
    one_pass = ["deepshap", "decomposition"]
    assert shown == ["lime", "shapley", "leave-one-out", "integrated-gradients", *one_pass, "alpha-avg"]


HALF = 32
"""Rounding errors of half precision, in units of its epsilon and of the weights' size. 15 (bfloat16) and 12 (float16)
were seen: a weight is the difference of two logits, each through two layers."""


def test_half_precision_is_close_to_float32() -> None:
    pieces = "[PAD] [UNK] [CLS] [SEP] [MASK] it ' s great , but the film is far too long . ! < br / >".split()
    own = transformers.BertTokenizerFast(vocab={piece: i for i, piece in enumerate(pieces)})  # the same in every run
    model, _ = small_transformer("bert", seed=1)

    def weights(dtype: torch.dtype) -> np.ndarray:
        classifier = limelight.wrap(copy.deepcopy(model).to(dtype), own)
        assert dtype == classifier.dtype
        return limelight.explain(classifier, TEXT, "leave-one-out", target="negative").weights

    exact = weights(torch.float32)
    size = np.linalg.norm(exact)
    for dtype in (torch.bfloat16, torch.float16):
        tolerance = HALF * torch.finfo(dtype).eps
        error = np.linalg.norm(weights(dtype) - exact) / size
        assert error < tolerance
        assert np.linalg.norm(np.roll(exact, 1) - exact) / size > 2 * tolerance  # so that it can fail


# ── bad input ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("BertModel", "no classification head"),
        ("BertForTokenClassification", "logits of shape"),
        ("BertForMaskedLM", "logits of shape"),
    ],
)
def test_models_without_a_head_are_refused(kind: str, message: str) -> None:
    model = getattr(transformers, kind)(small_transformer("bert")[0].config)
    with pytest.raises(CapabilityError, match=f"{message}.*AutoModelForSequenceClassification"):
        limelight.wrap(model, tokenizer("wordpiece"))


def test_labels_of_other_kinds_are_refused(bert: HuggingFaceClassifier) -> None:
    for wrong in ("abc", 3):
        with pytest.raises(ParameterError, match="labels must be a list of names: got"):
            limelight.wrap(bert.model, bert.tokenizer, labels=wrong)  # type: ignore[arg-type]
    model = copy.deepcopy(bert.model)
    model.config.__dict__["id2label"] = ["a", "b", "c"]
    with pytest.raises(ParameterError, match=r"id2label .* must give a name for each number: got \['a', 'b', 'c'\]"):
        limelight.wrap(model, bert.tokenizer)


def test_a_slow_tokenizer_is_refused() -> None:
    class Slow:
        is_fast = False

        def __call__(self, text: str) -> None: ...

    with pytest.raises(CapabilityError, match=r"Slow is a slow tokenizer.*AutoTokenizer"):
        limelight.wrap(small_transformer("bert")[0], Slow())
    with pytest.raises(ParameterError, match="tokenizer of transformers: got str"):
        limelight.wrap(small_transformer("bert")[0], "bert-base")
    with pytest.raises(ParameterError, match="model must be one of transformers"):
        limelight.wrap(torch.nn.Linear(2, 2), tokenizer("wordpiece"))


def test_hostile_label_names_only_show() -> None:
    hostile = ("<script>alert(1)</script>", "\x1b[31mred", "\u202egood")
    model, own = small_transformer("bert", labels=hostile)
    e = limelight.explain(limelight.wrap(model, own), TEXT, "gxi", target=hostile[0])
    assert "<script>alert" not in e.to_html()
    for wrong in (("a", "a", "b"), ("a", "b"), ("a", "b", ""), ("a", "b", 3)):
        with pytest.raises(ParameterError, match="3 labels are needed"):
            limelight.wrap(model, own, labels=wrong)
    assert limelight.wrap(model, own, labels=("x", "y", "z")).labels == ("x", "y", "z")


def test_logits_that_are_not_finite_are_reported(bert: HuggingFaceClassifier) -> None:
    with torch.no_grad():
        bert.model.classifier.weight[0, 0] = float("nan")
    with pytest.raises(NumericalError, match="not finite"):
        limelight.explain(bert, TEXT, "gxi")


@pytest.mark.parametrize("method", ["g-avg", "alpha-avg", "lime", "integrated-gradients", "shapley", "rollout", "gxi"])
def test_texts_that_the_tokenizer_drops(bert: HuggingFaceClassifier, method: str) -> None:
    """A control character is a word to limelight and nothing to BERT."""
    for text in ("\x01", "\x01 <br /> \x01"):
        with pytest.raises(EmptyTextError, match=r"tokenizer reads no word of the text: got '\\x01"):
            limelight.explain(bert, text, method)
    e = limelight.explain(bert, "\x01 great", method, target="positive")
    assert e.features == ("\x01", "great")
    if method != "lime":  # the ridge of its regression gives a word without effect a little of the others' weight
        assert e.weights[0] == 0


def test_a_text_that_is_dropped_is_still_predicted(bert: HuggingFaceClassifier) -> None:
    assert np.isfinite(bert.predict_logits(["\x01", "\u200b", ""])).all()


@pytest.mark.parametrize("method", ["gxi", "g-l2", "integrated-gradients", "alpha-avg", "lime"])
@pytest.mark.parametrize("family", ["bert", "roberta", "deberta", "deberta-v2"])
def test_inference_mode_of_the_caller_changes_nothing(family: str, method: str) -> None:
    classifier = wrapped(family)
    expected = limelight.explain(wrapped(family), TEXT, method)
    with torch.inference_mode():
        e = limelight.explain(classifier, TEXT, method)
        assert torch.is_inference_mode_enabled()
    assert e == expected
    assert limelight.explain(classifier, TEXT, method) == expected


def test_weights_of_an_inference_mode_have_no_gradients() -> None:
    with torch.inference_mode():
        model, own = small_transformer("bert")
    classifier = limelight.wrap(model, own)
    for method in ("gxi", "integrated-gradients"):
        with pytest.raises(
            CapabilityError, match=r"41 weights .* were made under torch.inference_mode\(\).*perturbation"
        ):
            limelight.explain(classifier, TEXT, method)
    expected = limelight.explain(wrapped("bert"), TEXT, "lime", n_samples=50)
    assert limelight.explain(classifier, TEXT, "lime", n_samples=50) == expected


def test_a_tokenizer_of_another_model_is_noticed(bert: HuggingFaceClassifier) -> None:
    """Beyond the table of vectors there is an IndexError, on a GPU the end of the process."""
    classifier = limelight.wrap(bert.model, tokenizer("bpe", True))
    for ask in (classifier.view, lambda text: classifier.predict_logits([text])):
        with pytest.raises(InputError, match=r"number \d+, but this model has vectors for 150 tokens.*own tokenizer"):
            ask("I don't know what they wanted")


def test_a_tokenizer_that_fails_is_explained(bert: HuggingFaceClassifier) -> None:
    class Failing:
        is_fast, model_max_length = True, 48
        mask_token_id = unk_token_id = pad_token_id = cls_token_id = 0

        def __call__(self, text: str, **options: Any) -> Any:
            raise OverflowError("out of range")

    with pytest.raises(InputError, match="the tokenizer cannot read the text 'a': out of range"):
        limelight.wrap(bert.model, Failing())


def test_a_model_that_cannot_be_run_is_refused(bert: HuggingFaceClassifier) -> None:
    for error in (
        RuntimeError("shapes"),
        IndexError("out of range"),
        AttributeError("no such"),
        ZeroDivisionError("by"),
    ):

        def broken(module: Any, arguments: Any, error: Exception = error) -> None:
            raise error

        hook = bert.model.register_forward_pre_hook(broken)
        with pytest.raises(
            CapabilityError, match=f"cannot be run on the text 'a', {type(error).__name__}: {error.args[0]}"
        ):
            limelight.wrap(bert.model, bert.tokenizer)
        hook.remove()


def test_truncation_that_leaves_no_word_is_said(bert: HuggingFaceClassifier) -> None:
    cut = limelight.wrap(bert.model, bert.tokenizer, truncate=True, max_length=3)
    with pytest.raises(
        InputError, match="none of the first 3 tokens belongs to a word: load the model with window=True"
    ):
        cut.view('" " " " film')
    small = copy.deepcopy(bert.tokenizer)
    small.model_max_length = 2
    with pytest.raises(InputError, match="reads 2 tokens, which leaves no room for a word: give a larger max_length"):
        limelight.wrap(bert.model, small, truncate=True).view("a great film")


def test_texts_that_are_none(bert: HuggingFaceClassifier) -> None:
    with pytest.raises(EmptyTextError):
        limelight.explain(bert, ' " ', "gxi")
    with pytest.raises(InputError, match="list of texts"):
        bert.predict_logits("one")
    with pytest.raises(InputError, match="list of texts: got None"):
        bert.predict_logits(None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="must be a string: got bytes"):
        bert.predict_logits([b"film"])  # type: ignore[list-item]
    half = limelight.explain(bert, "a \ud800 film", "leave-one-out")
    assert half.spans[2] == ((4, 8),)


def test_removal_that_a_model_does_not_offer_is_refused() -> None:
    with pytest.raises(CapabilityError, match="this model does not take words out by 'attention': use 'mask'"):
        limelight.explain(limelight.load(), "a film", "lime", removal="attention")
    model, own = small_transformer("bert")
    maskless = copy.deepcopy(own)
    maskless.mask_token = maskless.unk_token = None
    with pytest.raises(CapabilityError, match="use 'delete' or 'attention'"):
        limelight.explain(limelight.wrap(model, maskless), "film", "lime")
    maskless.unk_token = "[UNK]"
    assert limelight.wrap(model, maskless).special.mask == own.unk_token_id
