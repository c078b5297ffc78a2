"""Any function from texts to numbers as a classifier."""

from __future__ import annotations

import functools
import inspect
import os
import pickle
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast, get_args

from limelight.core.arrays import Floats, whole_number
from limelight.core.sanitize import visible
from limelight.errors import CapabilityError, ParameterError, known_name, shortened, shown
from limelight.inputs.document import UNKNOWN, Document, Text, check_text_of, listed_texts
from limelight.inputs.words import WordRule, rule_of
from limelight.models.blackbox.answers import SHOWN, columns_of_one
from limelight.models.blackbox.asking import Asker, Calls, Function, first_answer
from limelight.models.blackbox.cache import AnswerCache, Identity
from limelight.models.blackbox.identity import Unwritable, bare_name, full_name
from limelight.models.blackbox.view import BlackBoxView
from limelight.models.interface import Classifier
from limelight.models.outputs import Kind, listed_labels

TEXTS_AT_ONCE = 512


class BlackBoxClassifier:
    """A function from texts to rows of numbers (n texts to n rows) as a classifier.

    `kind`: "classes" (each row are probabilities that add up to 1), "multi-label" (a probability of its own for each
    label) or "regression" (any numbers). `pairs`: the function reads tuples of two texts. `mask` stands in the place of
    a removed word, and `words` is a rule for what a word is: see `inputs/words.py`.

    `batch_texts`: how many texts the function is given at once; `max_calls`: how many it is given in the life of this
    object. `cache` is a folder where its answers are kept, which are then not asked for again, and `name` says there
    which function it is; without, it goes by its name in the code and the values that it holds: see `identity`.
    """

    def __init__(
        self,
        function: Function,
        labels: Sequence[str] | None = None,
        *,
        mask: str = UNKNOWN,
        batch_texts: int = TEXTS_AT_ONCE,
        kind: Kind = "classes",
        pairs: bool = False,
        words: WordRule | None = None,
        cache: str | os.PathLike[str] | None = None,
        max_calls: int | None = None,
        name: str | None = None,
    ) -> None:
        if not callable(function):
            raise ParameterError(
                f"a function from texts to probabilities is needed, or an object with predict_proba: got "
                f"{type(function).__name__}"
            )
        if not isinstance(mask, str):
            raise ParameterError(f"mask must be a string, which stands for a removed word: got {shown(mask)}")
        if not isinstance(pairs, bool):
            raise ParameterError(f"pairs must be True or False, whether texts come in pairs: got {shown(pairs)}")
        if name is not None and not (isinstance(name, str) and name.strip()):
            raise ParameterError(f"name must be a string that says which function this is: got {shown(name)}")
        self.kind = cast(Kind, known_name("kind", kind, get_args(Kind)))
        self.batch_texts = whole_number("batch_texts", batch_texts, 1)
        self.mask, self.pairs = mask, pairs
        self._given_name = name
        self._name = name if name is not None else bare_name(function)
        self._rule = rule_of(words)
        most = None if max_calls is None else whole_number("max_calls", max_calls, 1)
        self._calls = Calls(function, most)
        named = None if labels is None else _checked_labels(labels, self.kind)
        self._connect(named, cache)

    def _connect(self, labels: tuple[str, ...] | None, folder: str | os.PathLike[str] | None) -> None:
        """Find out what the labels are, and make sure that the cache is of this function."""
        if self.kind == "regression" and labels is None:
            labels = ("value",)
        cache = first = None
        if folder is not None:
            own = self._given_name or _identified(self._calls.function)
            cache = AnswerCache(folder)
            self._calls.unit = cache.unit
            if labels is None and (there := cache.identity()) is not None:
                labels = _unnamed(self.kind, len(there.labels))
        if labels is None:  # only the function knows how many there are
            first = first_answer(self._calls, self._any_text)
            count = columns_of_one(first.numbers, self.kind)
            if first.columns is not None and cache is not None:  # a run from the cache would not know them
                raise ParameterError(
                    f"the function calls its columns {shown(list(first.columns))}: with a cache say so by labels=[…]"
                )
            labels = _checked_labels(first.columns or _unnamed(self.kind, count), self.kind)
        self.labels = labels
        self.asker = Asker(self._calls, labels, self.kind, self.batch_texts, cache)
        """Asks the function about any number of texts, and its cache before."""
        if cache is not None:
            cache.claim(Identity(own, labels, self.kind, self.pairs))
            if self._given_name is None:  # what it holds may change, or begin to be there
                self._calls.identity = own
            if first is not None:
                self.asker.received([self._any_text], first)

    @property
    def _any_text(self) -> Text:
        return ("text", "text") if self.pairs else "text"

    @property
    def name(self) -> str:
        """What the function is called."""
        return self._name or "a function"

    def __repr__(self) -> str:
        return f"BlackBoxClassifier({self.name}, labels={self.labels})"

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled; a function that cannot be is named before pickle fails on it."""
        if not _can_copy_anything():
            rule = self._rule.args[0] if isinstance(self._rule, functools.partial) else None
            for what, part in (("function", self._calls.function), ("rule for words", rule)):
                try:
                    pickle.dumps(part)
                except Exception as error:  # of anybody's __reduce__
                    raise CapabilityError(
                        f"this model cannot be pickled, since its {what} cannot ({type(error).__name__}: "
                        f"{shortened(str(error), SHOWN)}): define it in a module, by def or class, or wrap "
                        "it where it is needed"
                    ) from error
        return self.__dict__.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> BlackBoxClassifier:
        """Another model of the same function, which it does not copy; each counts what it asks."""
        copied = object.__new__(type(self))
        memo[id(self)] = copied
        copied.__dict__ = self.__dict__.copy()
        copied._calls = replace(self._calls)
        copied.asker = replace(self.asker, calls=copied._calls)
        return copied

    @property
    def asked(self) -> int:
        """How many texts the function was given so far; what a cache knew is not among them."""
        return self._calls.asked

    def view(self, text: Text) -> BlackBoxView:
        """The function asked about a text, or about a pair."""
        check_text_of(text, self.pairs)
        return BlackBoxView(self, Document.read(text, rule=self._rule))

    def predict_proba(self, texts: Sequence[Text]) -> Floats:
        """What the function says, checked: (n, labels)."""
        if self.kind == "regression":
            raise CapabilityError("a regression gives numbers that are no probabilities: use predict_logits")
        return self.asker.all_of(listed_texts(texts, self.pairs, "predict_proba"))

    def predict_logits(self, texts: Sequence[Text]) -> Floats:
        """Logarithms of probabilities, log-odds of those of a multi-label function, or the numbers of a regression."""
        return self.asker.logits(listed_texts(texts, self.pairs, "predict_logits")).logits

    def ask_again(self, texts: Sequence[Text]) -> Floats:
        """What the function says of texts now, whatever a cache holds, which stays as it is: (n, labels).

        It shows whether a function that is asked twice answers alike.
        """
        return replace(self.asker, cache=None).all_of(listed_texts(texts, self.pairs, "ask_again"))


def _checked_labels(labels: Sequence[str], kind: Kind) -> tuple[str, ...]:
    names = tuple(map(str, listed_labels(labels)))
    least, needed = (2, "at least two labels") if kind == "classes" else (1, "at least one label")
    if len(names) < least or len(set(names)) != len(names):
        alone = '; say kind="multi-label" for a label that excludes no other, kind="regression" for a plain number'
        hint = alone if len(names) == 1 else ""
        raise ParameterError(f"a {kind} function needs {needed}, all different: got {shown(names)}{hint}")
    return names


def _unnamed(kind: Kind, count: int) -> tuple[str, ...]:
    """What labels are called where nobody has named them."""
    return tuple(f"{'class' if kind == 'classes' else 'label'} {c}" for c in range(count))


def _identified(function: Any) -> str:
    """The name that a cache knows a function by."""
    try:
        name = full_name(function)
    except Unwritable as found:
        raise ParameterError(
            f"a cache belongs to one function, and this one holds a value that tells it from others and cannot be "
            f"written down: {visible(found.path)} is {type(found.value).__name__} {shown(found.value)}; say which "
            'function it is by name="…", another name for each prompt, client or setting'
        ) from None
    if name is None:
        raise ParameterError(
            "a cache belongs to one function, and this one has no name in the code that tells it from others: "
            'give it one, name="…"'
        )
    return name


def _can_copy_anything() -> bool:
    """Whether the pickler at work copies functions by their code, as cloudpickle and dill do."""
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] in ("cloudpickle", "dill"):
            return True
        frame = frame.f_back
    return False


if TYPE_CHECKING:

    def _is_a_classifier(model: BlackBoxClassifier) -> Classifier:
        return model
