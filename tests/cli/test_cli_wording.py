"""What the command line says of the library's messages: options where Python has arguments."""

from __future__ import annotations

import doctest

import pytest

from limelight.cli import explain, wording
from limelight.cli.wording import as_typed, in_options
from limelight.errors import ParameterError, UnknownNameError

MESSAGES = {
    "this model reads 512: load the model with truncate=True to keep the first 512, or with window=True to explain it "
    "all": "this model reads 512: use --truncate to keep the first 512, or with --window to explain it all",
    "use features='occurrences', or removal='mask'": "use --features occurrences, or --removal mask",
    "n_samples must be a whole number of at least 2: got 0": "--samples must be a whole number of at least 2: got 0",
    "seed must be a whole number of at least 0: got -1": "--seed must be a whole number of at least 0: got -1",
    "LIME with n_samples=5000 and 12 features": "LIME with --samples 5000 and 12 features",
    "unknown option for gxi 'n_samples': choose from 'steps'": "unknown option for gxi --samples: choose from 'steps'",
    "kind='classes' needs two labels or more": "--kind classes needs two labels or more",
    "this model reads pairs of texts: got str 'a'; give a tuple of two strings": "this model reads pairs of texts: got "
    "str 'a'; give the second text by --second",
    "kernel_width must be above 0": "--kernel-width must be above 0",
    "only Hugging Face models take device, pairs, batch_tokens: leave that out": "only Hugging Face models take "
    "--device, --second, --batch-tokens: leave that out",
    "until must be a number or None or 'stable': got 'x'": "--until must be a number or 'stable': got 'x'",
    # What is no argument stays: what a user typed, and what has no option.
    "unknown label 'n_samples': choose from 'target'": "unknown label 'n_samples': choose from 'target'",
    "head must be a whole number or None: got 'first'": "head must be a whole number or None: got 'first'",
    "there is no file window=True.txt": "there is no file window=True.txt",
    "labels=[…]": "labels=[…]",
}


@pytest.mark.parametrize("message", MESSAGES)
def test_arguments_become_options(message: str) -> None:
    assert in_options(message) == MESSAGES[message]


def test_an_argument_may_have_come_from_another_option() -> None:
    with (
        pytest.raises(UnknownNameError, match=r"^use --second-column and --samples 5$"),
        as_typed(pairs="--second-column"),
    ):
        raise UnknownNameError.__new__(UnknownNameError, "use pairs=True and n_samples=5")
    with pytest.raises(ParameterError, match=r"^use --second$"), as_typed(pairs=None):
        raise ParameterError("use pairs=True")


def test_examples_hold() -> None:
    assert doctest.testmod(wording).failed == 0


def test_every_option_that_is_named_exists() -> None:
    import inspect

    from limelight.cli import corpus, train

    typed = {
        f"--{name.replace('_', '-')}"
        for command in (explain.explain, train.train, corpus.run)
        for name in inspect.signature(command).parameters
    }
    assert set(wording.OPTIONS.values()) <= typed
