"""Identity of a function: the name under which a cache keeps its answers.

Two functions must never share answers. A name in the code is enough for a function that holds nothing: `module.name`
finds it, and nothing else. All others also hold values: the cells of a closure, default arguments, the arguments of a
`functools.partial`, the attributes (`__dict__` and `__slots__`) of an object or of the object of a bound method. These
values are part of the identity where they can be written down reliably:

    None, True and False, whole numbers, floats, complex numbers, str, bytes
    tuples, frozensets and dicts of such values
    modules; classes and functions that their module and name find
    other functions and partials, by their code and by the values that they hold in turn

Anything else (a client, an array, a list that grows) has no reliable form, and its function needs a name from its user.
Globals are left out: they belong to the code, and a name stands for its code.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import hashlib
import inspect
import struct
import sys
import types
from typing import Any

_DEEPEST = 40
"""Values in values in values: deeper than anybody writes by hand, and far from Python's limit of recursion."""
_POINTER = struct.calcsize("P")
_DIGITS = 16
"""Hexadecimal digits that a name shows of 256 bits: 64 bits tell any number of prompts apart."""


class Unwritable(Exception):
    """A value without a reliable form: `path` says where it stands, `value` is it."""

    def __init__(self, path: str, value: object) -> None:
        super().__init__(path)
        self.path, self.value = path, value


def bare_name(function: Any) -> str | None:
    """The name of a function in the code, which others may share; None for a lambda and for what has no name."""
    if isinstance(function, functools.partial):
        return bare_name(function.func)
    if inspect.ismethod(function):
        bound = function.__self__
        owner = bound if isinstance(bound, type) else type(bound)
        name = f"{_where(owner)}.{getattr(function, '__name__', '')}"
    else:
        owner = function if isinstance(getattr(function, "__qualname__", None), str) else type(function)
        name = _where(owner)
    return None if "<lambda>" in name else name


def full_name(function: Any) -> str | None:
    """The name that tells a function from all others; None where it has none in the code.

    It is the bare name of a function that holds nothing, as version 0.2 wrote it; otherwise a digest of the values
    follows. Raises Unwritable where a value has no reliable form.
    """
    name = bare_name(function)
    if name is None or (isinstance(function, types.FunctionType) and "<lambda>" in function.__code__.co_qualname):
        return None
    held = _held(function)
    if held is None:
        return name
    digest = hashlib.sha256(ascii(_form(held, "", ())).encode()).hexdigest()
    return f"{name} [{digest[:_DIGITS]}]"


def _where(owner: Any) -> str:
    return f"{getattr(owner, '__module__', None)}.{owner.__qualname__}"


def _held(function: Any) -> Any:
    """Values that decide what a function answers, beside its name; None where there are none."""
    if isinstance(function, types.FunctionType):
        return None if _is_found(function) and not _holds(function) else function
    if isinstance(function, functools.partial):
        return function
    if inspect.ismethod(function):
        if not _is_of_its_class(function):
            return function
        bound = function.__self__
        if isinstance(bound, type):  # of a class method, which has nothing of its own
            return None if _is_found(bound) else bound
        return bound if _attributes(bound, "the object") else None
    if isinstance(function, types.BuiltinFunctionType | type):
        return None if _is_found(function) else function
    return function if _attributes(function, "the object") else None


def _holds(function: types.FunctionType) -> bool:
    return bool(function.__closure__ or function.__defaults__ or function.__kwdefaults__ or vars(function))


def _is_of_its_class(method: types.MethodType) -> bool:
    """Whether a class has it under its name; anything can be bound to an object by hand."""
    bound = method.__self__
    owner = bound if isinstance(bound, type) else type(bound)
    found = inspect.getattr_static(owner, getattr(method, "__name__", ""), None)
    return getattr(found, "__func__", found) is method.__func__


def _is_found(thing: Any) -> bool:
    """Whether the module and the name of a thing lead to that very thing."""
    found: Any = sys.modules.get(getattr(thing, "__module__", None) or builtins.__name__)
    for part in thing.__qualname__.split("."):
        found = inspect.getattr_static(found, part, None)
        if isinstance(found, staticmethod):
            found = found.__func__
    return found is thing


def _attributes(thing: Any, path: str) -> dict[str, Any]:
    """Attributes of an object, those in slots too. One that may hide values from Python is unwritable."""
    kind = type(thing)
    if not _is_found(kind) or any(map(_hides_values, kind.__mro__[:-1])):
        raise Unwritable(path, thing)
    held = {}
    for own in kind.__mro__:
        for name, slot in vars(own).items():
            if inspect.ismemberdescriptor(slot):
                try:
                    held[f"{own.__qualname__}.{name}"] = slot.__get__(thing)
                except AttributeError:  # not set
                    continue
    with contextlib.suppress(AttributeError):  # slots alone
        held |= object.__getattribute__(thing, "__dict__")
    return held


def _hides_values(kind: type) -> bool:
    """Whether objects of a class have room for more than attributes, as those of classes written in C have."""
    base = kind.__base__
    slots = sum(map(inspect.ismemberdescriptor, vars(kind).values()))
    known = slots + ("__dict__" in vars(kind)) + ("__weakref__" in vars(kind))
    return base is None or kind.__basicsize__ - base.__basicsize__ > known * _POINTER or kind.__itemsize__ != 0


# ── values in a form that can be written ──────────────────────────────────────────────────────────────────────────────

_PLAIN = (type(None), type(...), bool, float, complex, str, bytes)
"""Values that Python writes, each unlike all others. Subclasses are not among them: they may hold more."""
_WITH_PARTS = (tuple, frozenset, dict, types.CodeType, types.FunctionType, functools.partial, types.MethodType)


def _form(value: Any, path: str, around: tuple[int, ...]) -> tuple[str, Any]:
    """The kind of a value and what it is made of, in the same form: no other value has it, in any process.

    `around`: the values that this one stands in, by their ids.
    """
    if id(value) in around:  # a function whose closure holds itself
        return "around", around[::-1].index(id(value))
    if len(around) > _DEEPEST:
        raise Unwritable(path, value)
    kind = type(value)
    if kind in _PLAIN:
        return kind.__name__, value
    if kind is int:
        return "int", hex(value)  # Python writes no number of thousands of digits
    if kind is types.ModuleType:
        return "module", value.__name__
    parts = [_form(part, where, (*around, id(value))) for where, part in _parts(value, path)]
    if kind in _WITH_PARTS:
        return kind.__name__, sorted(parts, key=ascii) if kind is frozenset else parts
    return "class" if isinstance(value, type) else "object", parts  # objects have one kind, whatever their class


def _parts(value: Any, path: str) -> list[tuple[str, Any]]:
    """What a value is made of, each part with the place where it stands, in words."""
    if type(value) in (tuple, frozenset):
        return [(path, part) for part in value]
    if type(value) is dict:
        return [(path, tuple(value)), *((f"{path}[{key!r}]", part) for key, part in value.items())]
    if isinstance(value, types.CodeType):
        names = (value.co_names, value.co_varnames, value.co_freevars, value.co_cellvars)
        return [(path, part) for part in (value.co_code, value.co_consts, *names)]
    if isinstance(value, types.FunctionType):
        return _parts_of_function(value, path)
    if type(value) is functools.partial:
        given = [("the function of the partial", value.func), ("an argument of the partial", value.args)]
        return [*given, ("an argument of the partial", value.keywords), ("an attribute of the partial", vars(value))]
    if isinstance(value, types.BuiltinFunctionType | type):
        if not _is_found(value):
            raise Unwritable(path, value)
        return [(path, _where(value))]
    if inspect.ismethod(value):
        return [(path, value.__func__), (path or "the object", value.__self__)]
    path = path or "the object"
    held = _attributes(value, path)
    named = [(f"{path}.{name}", part) for name, part in held.items()]
    return [(path, _where(type(value))), (path, tuple(held)), *named]


def _parts_of_function(function: types.FunctionType, path: str) -> list[tuple[str, Any]]:
    """Name, code, cells and defaults; a function that is found and holds nothing is its name."""
    name = _where(function)
    if _is_found(function) and not _holds(function):
        return [(path, name)]
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return [
        (path, name),
        (path, function.__code__),
        *((f"the variable {free!r} of {function.__qualname__}", _content(cell)) for free, cell in cells),
        (f"a default argument of {function.__qualname__}", function.__defaults__),
        (f"a default argument of {function.__qualname__}", function.__kwdefaults__),
        (f"an attribute of {function.__qualname__}", vars(function)),
    ]


def _content(cell: types.CellType) -> Any:
    """What a cell holds; one that is empty holds an empty code name, which no variable does."""
    try:
        return cell.cell_contents
    except ValueError:
        return ("an empty cell", ...)
