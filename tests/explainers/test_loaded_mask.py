"""Masks that move the output by themselves: told in words, and silent ones are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2ForSequenceClassification, PreTrainedTokenizerFast

import limelight
from limelight.errors import ExplanationWarning
from limelight.explainers.loaded_mask import (
    OF_ALL,
    SCATTERED,
    TYPICAL,
    WORDS,
    LoadedMask,
    MaskAnswers,
    chosen_features,
)
from limelight.inputs.features import features_of
from limelight.models.blackbox import BlackBoxClassifier
from limelight.models.blackbox.view import with_inserted
from limelight.models.huggingface.variants import with_inserted as with_inserted_tokens

pytestmark = pytest.mark.filterwarnings("ignore::limelight.errors.ExplanationWarning")

TEXT = "A great film with good music and a fine plot, but far too long and at times quite dull."
SCORES = {"great": 1.5, "good": 1.0, "fine": 0.6, "long": -0.8, "dull": -1.2, "music": 0.2}
LABELS = ("no", "yes")


def score(text: str) -> float:
    return sum(weight for word, weight in SCORES.items() if word in text)


def pushed(kind: str, push: float, mask: str = "[UNK]", k: int = 2) -> Any:
    """A bag of words in which the mask is a word, or several are, or none is."""

    def function(texts: list[str]) -> np.ndarray:
        masks = np.array([text.count(mask) for text in texts])
        more = {"never": 0 * masks, "once": masks > 0, "each": masks, "above": masks > k}[kind]
        p = 1 / (1 + np.exp(-np.array([score(text) for text in texts]) - push * more))
        return np.stack([1 - p, p], axis=1)

    return function


def of_mask(e: Any) -> list[str]:
    return [own for own in e.diagnostics["warnings"] if "the mask's: use removal='delete'" in own]


@pytest.mark.parametrize("method", ["leave-one-out", "shapley", "lime"])
@pytest.mark.parametrize("target", LABELS)
def test_a_mask_that_speaks_is_told_and_a_silent_one_is_not(method: str, target: str) -> None:
    options: dict[str, Any] = {} if method == "leave-one-out" else {"n_samples": 200}
    for kind, push, told in (
        ("never", 0.0, 0), ("once", 3.0, 1), ("once", -3.0, 1), ("each", 3.0, 1), ("each", -3.0, 1),
        ("above", 9.0, method != "leave-one-out"), ("above", -9.0, method != "leave-one-out"),
    ):  # fmt: skip
        model = BlackBoxClassifier(pushed(kind, push), LABELS)
        e = limelight.explain(model, TEXT, method, target=target, **options)
        assert len(of_mask(e)) == told, (kind, push)
        for removal, mask in (("delete", "[UNK]"), ("mask", "[MASK]")):
            model = BlackBoxClassifier(pushed(kind, push), LABELS, mask=mask)
            assert not of_mask(limelight.explain(model, TEXT, method, target=target, removal=removal, **options))


def test_what_is_said() -> None:
    model = BlackBoxClassifier(pushed("each", 3.0), LABELS)
    with pytest.warns(ExplanationWarning, match="the mask moves the output by itself"):
        e = limelight.explain(model, TEXT, "leave-one-out", target="yes")
    assert of_mask(e) == [
        "the mask moves the output by itself: '[UNK]' where nothing is removed moves it by +3, and in the place of a "
        "typical word by 3, so the weights may be the mask's: use removal='delete', features='phrases', another mask="
    ]
    e = limelight.explain(model, TEXT, "leave-one-out", target="yes", features="phrases")
    assert all("features='phrases'" not in own for own in of_mask(e))
    e = limelight.explain(BlackBoxClassifier(pushed("above", 9.0), LABELS), TEXT, "lime", n_samples=100, target="yes")
    (said,) = of_mask(e)
    assert said.startswith("many masks at once move the output by themselves: '[UNK]' behind every word, where nothing")
    hostile = BlackBoxClassifier(pushed("each", 3.0, "\x1b[31m\u202e"), LABELS, mask="\x1b[31m\u202e")
    (said,) = of_mask(limelight.explain(hostile, TEXT, "leave-one-out"))
    assert said.isprintable()


def test_a_mask_for_one_class_is_told_where_that_class_is_asked_about() -> None:
    def three(texts: list[str]) -> np.ndarray:
        own = np.array([[score(text), -score(text), 3.0 * text.count("[UNK]")] for text in texts])
        g = np.exp(own - own.max(axis=1, keepdims=True))
        return g / g.sum(axis=1, keepdims=True)

    model = BlackBoxClassifier(three, ("good", "bad", "unclear"))
    assert of_mask(limelight.explain(model, TEXT, "leave-one-out", target="unclear"))
    both = limelight.explain(model, TEXT, "leave-one-out", target="all")
    assert [bool(of_mask(e)) for e in both][-1]
    assert not of_mask(limelight.explain(model, TEXT, "leave-one-out", target=("good", "bad")))

    def labels(texts: list[str]) -> np.ndarray:
        return np.stack([pushed("each", 3.0)(texts)[:, 1], pushed("never", 0.0)(texts)[:, 1]], axis=1)

    model = BlackBoxClassifier(labels, ("loaded", "silent"), kind="multi-label")
    assert of_mask(limelight.explain(model, TEXT, "leave-one-out", target="loaded"))
    assert not of_mask(limelight.explain(model, TEXT, "leave-one-out", target="silent"))


@pytest.mark.parametrize("text", ["great", "great film", "great great great", "good fine great music", "a the of"])
def test_silent_masks_of_short_texts_and_of_one_sided_ones(text: str) -> None:
    for method in ("leave-one-out", "lime", "shapley"):
        assert not of_mask(limelight.explain(BlackBoxClassifier(pushed("never", 0.0), LABELS), text, method))
        constant = BlackBoxClassifier(lambda texts: np.full((len(texts), 2), 0.5), LABELS)
        assert not of_mask(limelight.explain(constant, text, method))


def test_a_function_that_draws_lots_is_seldom_taken_for_a_loaded_mask() -> None:
    found = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)

        def noisy(texts: list[str], rng: Any = rng) -> np.ndarray:
            p = 0.2 + 0.6 * rng.random(len(texts))
            return np.stack([1 - p, p], axis=1)

        found += bool(of_mask(limelight.explain(BlackBoxClassifier(noisy, LABELS), TEXT, "leave-one-out")))
    assert found <= 5


# ── the rule, against a twin ──────────────────────────────────────────────────────────────────────────────────────────


def naive(answers: MaskAnswers, rounding: float) -> LoadedMask | None:
    """The rule as the docs say it, for one question, in plain numbers."""
    moves = [float(own - answers.beside[0]) for own in answers.inserted[:, 0]]
    weights = [float(answers.whole[0] - own) for own in answers.singles[:, 0]]
    mean, of_weights = sum(moves) / len(moves), sum(weights) / len(weights)
    typical = sorted(abs(own) for own in weights)
    median = (typical[(len(typical) - 1) // 2] + typical[len(typical) // 2]) / 2
    variance = sum((m - mean) ** 2 for m in moves) / len(moves)
    variance += sum((w - of_weights) ** 2 for w in weights) / len(weights)
    push = min(abs(mean), -of_weights if mean > 0 else of_weights)
    is_push = push > SCATTERED * (WORDS / len(weights)) ** 0.5 * variance**0.5 and push > 2 * rounding
    if is_push and abs(mean) >= TYPICAL * median:
        return LoadedMask(mean, median)
    if answers.many is None or answers.nothing is None:
        return None
    several = [float(own - answers.beside[0]) for own in answers.many[:, 0]]
    largest = max([abs(float(answers.whole[0] - answers.nothing[0])), *map(abs, weights)])
    least = min(map(abs, several))
    same_side = all(own > 0 for own in several) or all(own < 0 for own in several)
    if same_side and least > OF_ALL * largest and least > 2 * rounding:
        return LoadedMask(several[-1], largest, many=True)
    return None


def test_the_rule_is_that_of_its_twin() -> None:
    rng, kinds = np.random.default_rng(0), set()
    for _ in range(3000):
        k, c, many = int(rng.integers(1, 9)), rng.normal() * 3, rng.normal() * 9
        draw = rng.normal(size=(2 * k + 6, 1)) * rng.choice([0.1, 1.0])
        answers = MaskAnswers(
            draw[0], draw[0] + 0.01 * draw[1], draw[2 : k + 3] + c, draw[k + 3 : 2 * k + 3] + c,
            *((draw[2 * k + 3 : 2 * k + 5] + many, draw[2 * k + 5]) if rng.random() < 0.7 else (None, None)),
        )  # fmt: skip
        found, expected = answers.found(0, 1e-3), naive(answers, 1e-3)
        assert (found is None) == (expected is None)
        if found is not None and expected is not None:
            assert (found.moves, found.weight) == pytest.approx((expected.moves, expected.weight))
            assert found.many == expected.many
        kinds.add(None if found is None else found.many)
    assert kinds == {None, False, True}


# ── where masks are put ───────────────────────────────────────────────────────────────────────────────────────────────


def test_masks_are_put_behind_words_and_before_the_first() -> None:
    view = BlackBoxClassifier(pushed("never", 0.0), LABELS).view('"It\'s" good; 非!')
    forms = [word.form for word in view.document.words]
    assert forms == ["it", "'", "s", "good", "非", "!"]
    assert with_inserted(view.document, "#", np.array([0] * 7)) == view.document.text
    assert with_inserted(view.document, "#", np.array([1, 0, 0, 1, 2, 0, 1])) == '"# It\'s #" good # #; 非! #'
    pair = BlackBoxClassifier(lambda pairs: np.full((len(pairs), 2), 0.5), LABELS, pairs=True).view(("a b", "c d"))
    assert with_inserted(pair.document, "#", np.array([1, 0, 1, 1, 0])) == ("# a b #", "c # d")


def test_the_other_text_of_a_pair_is_left_alone() -> None:
    asked: list[Any] = []

    def listening(pairs: list[Any]) -> np.ndarray:
        asked.extend(pairs)
        return pushed("each", 3.0)([f"{first} {second}" for first, second in pairs])

    model = BlackBoxClassifier(listening, LABELS, pairs=True, batch_texts=1)
    e = limelight.explain(model, ("a great film", TEXT), "lime", parts="second", n_samples=50)
    assert {first for first, _ in asked} == {"a great film"}
    assert of_mask(e)


def test_features_of_few_words_are_chosen() -> None:
    view = BlackBoxClassifier(pushed("never", 0.0), LABELS).view(f"{TEXT} And the film, the plot and the music.")
    features = features_of(view.document, "words")
    chosen = chosen_features(features)
    assert len(chosen) == WORDS
    assert {len(features.owned[j]) for j in chosen} == {1}
    assert chosen.max() > len(features) // 2 > chosen.min()
    sentences = features_of(view.document, "sentences")
    assert list(chosen_features(sentences)) == [0, 1]


# ── transformers ──────────────────────────────────────────────────────────────────────────────────────────────────────

VOCABULARY = [
    "<pad>",
    "[UNK]",
    "a",
    "great",
    "good",
    "bad",
    "film",
    "long",
    "plot",
    "music",
    "dull",
    "and",
    "the",
    "but",
]


def decoder(loud: float = 1.0, mask_token: str | None = None) -> Any:
    """A tiny GPT-2 whose unknown token is so many times as loud as it was drawn."""
    torch.manual_seed(0)
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(VOCABULARY)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="<pad>", model_max_length=32,
        **({} if mask_token is None else {"mask_token": mask_token}),
    )  # fmt: skip
    config = GPT2Config(
        vocab_size=len(VOCABULARY),
        n_positions=32,
        n_embd=16,
        n_layer=1,
        n_head=2,
        num_labels=2,
        pad_token_id=0,
        bos_token_id=0,
        eos_token_id=0,
    )
    model = GPT2ForSequenceClassification(config).eval()
    with torch.no_grad():
        model.transformer.wte.weight[1] *= loud
    return model, fast


def test_a_decoder_without_a_mask_token_is_asked_about_its_unknown_one() -> None:
    text = "a great film and the music good but the plot long and dull"
    model, tokenizer = decoder()
    view = limelight.wrap(model, tokenizer).view(text)
    assert view.mask_is_unusual
    assert view.mask_name == "'[UNK]'"
    counts = np.zeros((3, 14), dtype=np.int64)
    counts[1, 0], counts[2, 3] = 1, 2
    answer = view.with_masks(counts)
    texts = [text, f"[UNK] {text}", text.replace("film", "film [UNK] [UNK]")]
    np.testing.assert_allclose(answer.logits, limelight.wrap(model, tokenizer).predict_logits(texts), atol=1e-5)
    assert answer.asked == 3
    window = with_inserted_tokens(view.windows[0], 1, counts[2])
    assert window.ids.tolist() == tokenizer(texts[2])["input_ids"]
    e = limelight.explain(limelight.wrap(model, tokenizer), text, "leave-one-out", target="LABEL_0")
    plain = len(e) + 1
    assert e.evaluations == plain + 1 + 1 + WORDS
    counts[2] = 5  # there is no room for so many
    assert view.with_masks(counts) is None


def test_a_model_with_a_mask_token_is_not_asked() -> None:
    model, tokenizer = decoder(mask_token="but")
    view = limelight.wrap(model, tokenizer).view("a great film")
    assert not view.mask_is_unusual
    e = limelight.explain(limelight.wrap(model, tokenizer), "a great film", "leave-one-out")
    assert e.evaluations == 4
