"""Classifiers of transformers of every kind, beside an oracle that shares no code with limelight.

`benchmarks/architectures.py` walks all classes in all cases; these are a few of each kind.
"""

from __future__ import annotations

import copy

import numpy as np
import pytest

import limelight
from limelight.errors import CapabilityError, InputError, ParameterError
from reference import removal_oracle as oracle
from reference.architecture_walk import CASES, SHORT, Case, check
from reference.small_architectures import BARE, SUFFIX, USUAL, small_classifier, word_pieces

pytestmark = pytest.mark.filterwarnings("ignore")  # transformers warns of small configurations

BY_NAME = {case.name: case for case in CASES}
ENCODERS = ("Bert", "DistilBert", "DebertaV2", "FNet", "MobileBert", "ConvBert", "ModernBert")
DECODERS = ("GPT2", "Llama", "Gemma", "Qwen3", "XLNet")
ENDED = ("Bart", "T5")
"""Heads that read the end token."""


def right(name: str, case: Case) -> None:
    found = check(name + SUFFIX, case)
    assert found.outcome == "right", (found.not_built, found.wrong, found.raised, found.refused)


@pytest.mark.parametrize("name", [*ENCODERS, *ENDED])
def test_models_that_read_special_tokens_are_those_of_the_oracle(name: str) -> None:
    right(name, Case("usual", USUAL, SHORT, attention=True))


@pytest.mark.parametrize("name", DECODERS)
def test_models_that_read_the_last_token_are_those_of_the_oracle(name: str) -> None:
    right(name, Case("bare", BARE, SHORT, attention=True))


@pytest.mark.parametrize(
    "case", ["another pad", "pad that is a word", "no pad at all", "pad is the end", "padded on the left"]
)
def test_another_pad_or_none_changes_nothing(case: str) -> None:
    right("GPT2", BY_NAME[case])


@pytest.mark.parametrize(
    ("name", "case"),
    [("Llama", "one label"), ("FNet", "windows"), ("FNet", "pairs"), ("Bart", "literal special tokens")],
)
def test_heads_windows_pairs_and_typed_special_tokens(name: str, case: str) -> None:
    right(name, BY_NAME[case])


@pytest.mark.parametrize("name", ["Flaubert", "T5Gemma"])
def test_a_typed_padding_token_is_read_as_the_model_reads_it(name: str) -> None:
    """Without an attention mask these take it for padding."""
    right(name, BY_NAME["literal special tokens"])


@pytest.mark.parametrize("name", ["MiniMax", "Longformer", "Bart", "FNet"])
def test_attention_of_another_shape_is_refused_in_words(name: str) -> None:
    model = limelight.wrap(small_classifier(name + SUFFIX), word_pieces())
    for method in ("alpha-avg", "rollout"):
        with pytest.raises(CapabilityError, match="use a method that does without"):
            limelight.explain(model, SHORT[0], method)


@pytest.mark.parametrize("name", ["IBert", "Reformer"])
def test_models_without_gradients_say_so(name: str) -> None:
    setting = BARE if name == "Reformer" else USUAL
    model = limelight.wrap(small_classifier(name + SUFFIX, setting), word_pieces(setting))
    with pytest.raises(CapabilityError, match="perturbation"):
        limelight.explain(model, "boring film", "gxi")


def test_a_table_of_embeddings_that_is_no_module_has_no_gradients() -> None:
    model = limelight.wrap(small_classifier("Perceiver" + SUFFIX), word_pieces())
    with pytest.raises(CapabilityError, match="use a perturbation method"):
        limelight.explain(model, SHORT[0], "gxi")
    right("Perceiver", Case("usual", USUAL, SHORT, attention=True))


# ── BigBird ───────────────────────────────────────────────────────────────────────────────────────────────────────────

BLOCKS = {"block_size": 2, "num_random_blocks": 1}
FULL = (5 + 2 * BLOCKS["num_random_blocks"]) * BLOCKS["block_size"]
"""Tokens up to which BigBird attends fully."""
LONGER = "the film was long and the story was boring but the ending was great and it was not bad"


@pytest.mark.parametrize("name", ["BigBird", "BigBirdPegasus"])
def test_bigbird_reads_what_it_attends_to_fully_and_says_why(name: str) -> None:
    model, own = small_classifier(name + SUFFIX, **BLOCKS), word_pieces()
    ids = own(LONGER)["input_ids"]
    fresh = oracle.logits_of(copy.deepcopy(model), ids)
    used = copy.deepcopy(model)
    oracle.logits_of(used, own("film")["input_ids"])
    assert np.abs(oracle.logits_of(used, ids) - fresh).max() > 1e-2  # a short text has made it another model
    wrapped = limelight.wrap(model, own)
    assert wrapped.max_length == FULL
    for ask in (wrapped.predict_logits, lambda texts: limelight.explain(wrapped, texts[0], "leave-one-out")):
        with pytest.raises(InputError, match=r"this model reads 14.*attention_type='original_full'"):
            ask([LONGER])
    with pytest.raises(ParameterError, match="attention_type='original_full'"):
        limelight.wrap(model, own, max_length=FULL + 1)
    with pytest.raises(InputError) as others:
        limelight.wrap(model, own, max_length=FULL - 1).predict_logits([LONGER])
    assert "original_full" not in str(others.value)


def test_bigbird_with_full_attention_reads_all_of_its_positions() -> None:
    model, own = small_classifier("BigBird" + SUFFIX, attention_type="original_full", **BLOCKS), word_pieces()
    wrapped = limelight.wrap(model, own)
    assert wrapped.max_length == own.model_max_length
    expected = [oracle.logits_of(model, own(text)["input_ids"]) for text in ("film", LONGER)]
    np.testing.assert_allclose(wrapped.predict_logits(["film", LONGER]), expected, atol=1e-5)
