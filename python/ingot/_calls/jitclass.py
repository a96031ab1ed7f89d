"""`@ingot.jitclass`: a class whose methods are compiled, and whose fields have types.

It stays the class that it is. Each field becomes a property, whose setter converts to the type: compiled code runs the same
setters as Python does, so a field has one type everywhere.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import operator
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar, overload

import numpy as np

from .._environment import is_disabled
from .._signatures import Optional, Text, Tuple, Type
from ..library import primitives
from .jit import jit

C = TypeVar("C", bound=type)
Convert = Callable[[Any], Any]

_OF_PYTHON = frozenset(
    "__new__ __del__ __hash__ __repr__ __str__ __format__ __reduce__ __reduce_ex__ __getstate__ __setstate__ __getnewargs__ __getnewargs_ex__"
    " __copy__ __deepcopy__ __dir__ __sizeof__ __init_subclass__ __class_getitem__ __getattr__ __getattribute__ __setattr__ __delattr__"
    " __iter__ __reversed__ __next__".split()
)
"""Methods that Python alone calls."""


def _truth(value: Any) -> bool:
    if not isinstance(value, (bool, np.bool)):
        raise TypeError(f"__bool__ should return bool, returned {type(value).__name__}")
    return bool(value)


def _whole(value: Any) -> int:
    return int(operator.index(value))


_RESULTS: dict[str, Convert] = {"__bool__": _truth, "__len__": _whole, "__int__": _whole, "__index__": _whole, "__float__": float, "__complex__": complex}

_PROPERTY = """
def made(convert):
    def get(self):
        {get}

    def set(self, value):
        {set}

    return get, set
"""
_INIT = """
def made(owner, init):
    def __init__(self, *args, **kwargs):
        if type(self) is owner:
            {places}
        init(self, *args, **kwargs)

    return __init__
"""
_FILE = f"{__file__}:made"  # of code that is made here: its lines are shown to nobody


class _Fields:
    """The fields of a class: what converts to the type of each."""

    def __init__(self, owner: type, spec: dict[str, Any], members: dict[str, Any]) -> None:
        self.owner = owner
        self.converters: dict[str, Convert] = {}
        self.defaults: dict[str, Any] = {}
        for name in spec:
            if not isinstance(name, str):
                raise TypeError(f"the names of fields are strings, not {name!r}")
        if taken := sorted(name for name in spec if _place(name) in members or _place(name) in spec):
            raise TypeError(f"{owner.__name__}.{_place(taken[0])} is where the value of {taken[0]} is kept: give it another name")
        for name, kind in spec.items():
            own = f"_{owner.__name__.lstrip('_')}{name}" if name.startswith("__") and not name.endswith("__") else name
            self.converters[own] = convert = self._converter(f"{owner.__name__}.{name}", kind)
            convert.__qualname__ = f"{owner.__name__}.{name}"  # for messages that name what is called
            settled = _settled(kind)
            if own in members:
                self.defaults[own] = convert(members[own])
            elif hasattr(owner, _place(own)):
                self.defaults[own] = convert(getattr(owner, _place(own)))
            elif isinstance(settled, Type) and settled.ndim is None:
                self.defaults[own] = np.dtype(settled.dtype).type()
            elif settled in (bool, int, float, complex):
                self.defaults[own] = settled()

    def _converter(self, name: str, kind: Any) -> Convert:
        kind = _settled(kind)
        error = f"{name} takes {_text(kind)}"
        if isinstance(kind, Optional):
            return _or_none(self._converter(name, kind.of))
        if isinstance(kind, Tuple):
            return _tuple_of(tuple(self._converter(name, part) for part in kind.parts), error)
        if isinstance(kind, Type):
            return _number_of(np.dtype(kind.dtype), error) if kind.ndim is None else _array_of(kind, error)
        if kind in (bool, int, float, complex):
            return _python_number_of(kind, error)
        if isinstance(kind, _AnyArray):
            return _array_of_any_rank(kind.dtype, error)
        if isinstance(kind, type):
            return _instance_of(kind, error)
        raise TypeError(f"the type of the field {name} is a type, such as ingot.float64[:], not {kind!r}")

    def settle(self) -> None:
        """Makes the properties."""
        for name, convert in self.converters.items():
            get, set_ = self._written(_PROPERTY.format(get=self._reads(name), set=self._sets(name)))(convert)
            if name in self.defaults:
                setattr(self.owner, _place(name), self.defaults[name])  # what a field that is not assigned has
            setattr(self.owner, name, property(get, set_))

    def _reads(self, name: str) -> str:
        read = f"return self.{_place(name)}"
        if name in self.defaults:
            return read
        error = f"{self.owner.__name__!r} object has no attribute {name!r}"
        return f"try:\n            {read}\n        except AttributeError:\n            raise AttributeError({error!r}) from None"

    def _sets(self, name: str) -> str:
        parameters = getattr(self.owner, "__dataclass_params__", None)
        if parameters is not None and parameters.frozen:
            return f"object.__setattr__(self, {_place(name)!r}, convert(value))"
        return f"self.{_place(name)} = convert(value)"

    def initialised(self, init: types.FunctionType) -> Any:
        """An `__init__` before which the fields that have defaults are set, but for those that have values already."""
        names = [name for name, value in self.defaults.items() if _is_plain(value)]
        if not names:
            return init
        text = "; ".join(self._sets(name).replace("convert(value)", f"self.{_place(name)}") for name in names)
        return functools.wraps(init)(self._written(_INIT.format(places=text))(self.owner, init))

    def _written(self, text: str) -> Any:
        names: dict[str, Any] = {}
        exec(compile(text, _FILE, "exec"), {"__name__": self.owner.__module__}, names)
        return names["made"]


def _place(name: str) -> str:
    """The attribute where the value of a field is."""
    return f"_ingot_{name}"


def _is_plain(value: Any) -> bool:
    """Whether a default is a number or the like, of which each instance has its own."""
    return value is None or isinstance(value, (bool, int, float, complex, str, np.generic)) or isinstance(value, tuple) and all(map(_is_plain, value))


class _AnyArray(typing.NamedTuple):
    """An array of any number of axes, and of a dtype, if one is given."""

    dtype: Any


def _text(kind: Any) -> str:
    if isinstance(kind, _AnyArray):
        return "an array" if kind.dtype is None else f"an array of {kind.dtype}"
    return kind.__qualname__ if isinstance(kind, type) else str(kind)


def _settled(kind: Any) -> Any:
    """A type of Python's or of Numba's as one of these."""
    if isinstance(kind, (Type, Tuple, Optional, _AnyArray)):
        return kind
    if isinstance(kind, Text):
        return str
    if type(kind).__module__.partition(".")[0] == "numba":
        return _of_numba(kind)
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        parts = [part for part in typing.get_args(kind) if part is not types.NoneType]
        return Optional(parts[0]) if len(parts) == 1 and len(typing.get_args(kind)) == 2 else kind
    if origin is np.ndarray:
        dtype = typing.get_args(typing.get_args(kind)[1])
        return _AnyArray(np.dtype(dtype[0]) if dtype and isinstance(dtype[0], type) and dtype[0] not in (np.generic, np.number) else None)
    if origin is typing.Annotated:
        return _settled(typing.get_args(kind)[0])
    if isinstance(origin, type):
        return origin
    if kind is np.ndarray:
        return _AnyArray(None)
    if isinstance(kind, type) and issubclass(kind, np.generic):
        return Type("bool" if kind is np.bool else np.dtype(kind).name)
    return kind


def _of_numba(kind: Any) -> Any:
    name = type(kind).__name__
    if name == "Array":
        return Type(str(kind.dtype), kind.ndim, kind.layout)
    if name in ("Integer", "Float", "Complex", "Boolean", "IntegerLiteral"):
        return Type(str(kind))
    if name == "UnicodeType":
        return str
    if name == "Optional":
        return Optional(_of_numba(kind.type))
    if name in ("Tuple", "UniTuple"):
        return Tuple(tuple(map(_of_numba, kind.types)))
    containers = {"ListType": list, "List": list, "DictType": dict, "Set": set}
    return containers.get(name, kind)


def _refused(error: str, value: Any) -> str:
    """States that a value is none of the field's type."""
    if isinstance(value, property):
        return f"{error}, and has no value: write `@ingot.jitclass` above `@dataclass`"
    if isinstance(value, np.ndarray):
        return f"{error}, not an array of {value.dtype} with {value.ndim} axes"
    if isinstance(value, (bool, int, float, complex, str)):
        return f"{error}, not {value!r}"
    return f"{error}, not {type(value).__name__}"


def _number_of(dtype: np.dtype, error: str) -> Convert:
    """As an assignment to an element of such an array: floats are cut, and ints keep their last bits."""
    not_numbers = (np.complexfloating, np.character, np.void, np.datetime64, np.timedelta64)
    target, is_complex, is_unsigned = dtype.type, dtype.kind == "c", dtype.name == "uint64"

    def convert(value: Any) -> Any:
        if isinstance(value, target):
            return value if isinstance(value, np.generic) else target(value)
        if isinstance(value, (bool, int)):
            try:
                return target(value) if is_unsigned and value >= 0 else np.int64(value).astype(target)
            except OverflowError:
                raise OverflowError(f"{error}, not {value}, which has more than 64 bits") from None
        if isinstance(value, np.generic) and not isinstance(value, not_numbers):
            return value.astype(target)
        if isinstance(value, float):
            return np.float64(value).astype(target)
        if is_complex and isinstance(value, (complex, np.complexfloating)):
            return np.complex128(value).astype(target)
        raise TypeError(_refused(error, value))

    return convert


def _python_number_of(kind: Any, error: str) -> Convert:
    allows = (bool, int, float, np.number, np.bool, complex) if kind is complex else (bool, int, float, np.integer, np.floating, np.bool)

    def convert(value: Any) -> Any:
        if not isinstance(value, allows):
            raise TypeError(_refused(error, value))
        return kind(value)

    return convert


def _array_of(kind: Type, error: str) -> Convert:
    dtype, ndim, layout = np.dtype(kind.dtype), kind.ndim, kind.layout

    def convert(value: Any) -> Any:
        if not isinstance(value, np.ndarray) or value.dtype != dtype or value.ndim != ndim:
            raise TypeError(_refused(error, value))
        if layout == "C" and not primitives.is_contiguous(value) or layout == "F" and not primitives.is_contiguous(value.T):
            raise TypeError(_refused(error, value))
        return value

    return convert


def _array_of_any_rank(dtype: Any, error: str) -> Convert:
    def convert(value: Any) -> Any:
        if not isinstance(value, np.ndarray) or dtype is not None and value.dtype != dtype:
            raise TypeError(_refused(error, value))
        return value

    return convert


def _instance_of(kind: type, error: str) -> Convert:
    def convert(value: Any) -> Any:
        if not isinstance(value, kind):
            raise TypeError(_refused(error, value))
        return value

    return convert


def _or_none(of: Convert) -> Convert:
    def convert(value: Any) -> Any:
        return None if value is None else of(value)

    return convert


def _tuple_of(parts: tuple[Convert, ...], error: str) -> Convert:
    def convert(value: Any) -> Any:
        if not isinstance(value, tuple) or len(value) != len(parts):
            raise TypeError(_refused(error, value))
        return tuple([part(each) for part, each in zip(parts, value)])

    return convert


def _fields_of(cls: type, spec: Any) -> dict[str, Any]:
    """The types of the fields: those of the specification, and the annotations."""
    try:
        made = dict(spec or {})
    except (TypeError, ValueError):
        raise TypeError(f"a specification is a list of pairs, or a dict, of names and types, not {spec!r}") from None
    hints = typing.get_type_hints(cls, localns={cls.__name__: cls})
    for name, kind in hints.items():
        if not isinstance(kind, dataclasses.InitVar) and kind is not dataclasses.KW_ONLY and typing.ClassVar not in (kind, typing.get_origin(kind)):
            made.setdefault(name, kind)
    return made


def _inherited(cls: type) -> dict[str, Any]:
    """What a class has of its own and of classes that are not compiled."""
    made: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if base is not object and (base is cls or "__ingot_fields__" not in vars(base)):
            if base.__flags__ & 1 << 9 == 0:
                raise TypeError(f"a jitclass derives from classes written in Python, not from {base.__qualname__}")
            made.update(vars(base))
    return made


def _is_compiled(name: str, member: Any) -> bool:
    """Whether a function is one that Python calls as compiled code."""
    if not isinstance(member, types.FunctionType) or name in _OF_PYTHON or member.__code__.co_filename == "<string>":
        return False
    return not inspect.isgeneratorfunction(member) and not inspect.iscoroutinefunction(member)


def _compiled(members: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, member in members.items():
        if isinstance(member, staticmethod) and _is_compiled(name, member.__func__):
            yield name, staticmethod(jit(member.__func__))
        elif isinstance(member, property):
            get: Any
            set_: Any
            get, set_ = (jit(part) if _is_compiled(name, part) else part for part in (member.fget, member.fset))
            yield name, property(get, set_, member.fdel, member.__doc__)
        elif _is_compiled(name, member):
            yield name, _giving(_RESULTS[name], jit(member)) if name in _RESULTS else jit(member)


def _giving(kind: Convert, method: Any) -> Any:
    """A method whose result Python wants to be of a type of its own, which no number of NumPy's is."""

    def call(self: Any) -> Any:
        return kind(method(self))

    return functools.wraps(method, updated=())(call)


class _ClassType:
    """What Numba's specifications call the type of instances of a class: `Node.class_type.instance_type`."""

    def __init__(self, cls: type) -> None:
        self.instance_type = cls


def _made(cls: type, spec: Any) -> type:
    if "__slots__" in vars(cls):
        raise TypeError(f"the jitclass {cls.__qualname__} has __slots__: leave them away")
    given = _fields_of(cls, spec)
    if (before := vars(cls).get("__ingot_fields__")) is not None:
        if any(name not in before or before[name] != kind for name, kind in given.items()):
            raise TypeError(f"{cls.__qualname__} is a jitclass already, with other fields")
        return cls
    members = _inherited(cls)
    methods = {name for name, member in members.items() if isinstance(member, (types.FunctionType, property, staticmethod, classmethod))}
    if shadowed := sorted(methods & set(given)):
        raise NameError(f"fields of {cls.__qualname__} have the names of methods: {', '.join(shadowed)}")
    if unknown := sorted(set(dict(spec or {})) & set(members) - set(typing.get_type_hints(cls, localns={cls.__name__: cls}))):
        raise TypeError(f"class members are not yet supported: {', '.join(unknown)}")
    fields = _Fields(cls, given, members)
    if _is_compiled("__init__", members.get("__init__")):
        members["__init__"] = fields.initialised(members["__init__"])
    for name, member in _compiled(members):
        setattr(cls, name, member)
    fields.settle()
    cls.__ingot_fields__ = given  # type: ignore[attr-defined]
    cls.class_type = _ClassType(cls)  # type: ignore[attr-defined]
    return cls


Spec = Mapping[str, Any] | typing.Sequence[tuple[str, Any]]


@overload
def jitclass(cls_or_spec: C, /, spec: Spec | None = None) -> C: ...
@overload
def jitclass(cls_or_spec: Spec | None = None, /, spec: Spec | None = None) -> Callable[[C], C]: ...
def jitclass(cls_or_spec: Any = None, spec: Any = None) -> Any:
    """Compile the methods of a class, whose fields have types.

    Used as ``@jitclass`` of a class with annotations, with a specification (``@jitclass([("x", float64)])``), or as
    ``jitclass(Class, spec)``.

    Parameters
    ----------
    cls_or_spec : class, list of pairs, or dict
        The class; or the specification.
    spec : list of pairs, or dict, optional
        Names of fields and their types: ``float64``, ``float64[:, ::1]``, ``optional(float64)``, a tuple of types, ``str``, ``list``,
        ``dict``, another class. Annotations of the class are fields, too.

    Returns
    -------
    class
        The class itself. Methods, properties and static methods are compiled, and an assignment to a field converts to its
        type; with a specification alone, the decorator. With ``INGOT_DISABLE=1`` in the environment nothing is changed.

    Raises
    ------
    TypeError
        The specification is wrong, or names a member of the class; by an assignment: the value is none of the field's type.
    NameError
        A field has the name of a method.

    See Also
    --------
    jit : Compile a function, which takes instances of any class.

    Notes
    -----
    A field of numbers converts as an element of an array does: floats that are given to an int are cut, and ints keep their
    last bits. One that is not assigned is 0, or the default of its annotation (``x: float = 3.0``).
    An array is not converted: it has the dtype, the number of axes and the layout.
    Instances are pickled, copied and compared as those of any class. Generators, `__repr__`, `__hash__` and class methods run as Python
    does when Python calls them.

    Examples
    --------
    >>> @ingot.jitclass([("count", ingot.int32), ("values", ingot.float64[:])])
    ... class Bag:
    ...     def __init__(self, size):
    ...         self.count = 0
    ...         self.values = np.zeros(size)
    ...     def add(self, value):
    ...         self.values[self.count] = value
    ...         self.count += 1
    ...     @property
    ...     def mean(self):
    ...         return self.values[:self.count].sum() / self.count
    >>> bag = Bag(10)
    >>> bag.add(3.0)
    >>> bag.add(5.0)
    >>> bag.mean, bag.count
    (np.float64(4.0), np.int32(2))
    >>> bag.values = 3
    Traceback (most recent call last):
        ...
    TypeError: Bag.values takes float64[:], not 3

    >>> @ingot.jitclass
    ... class Point:
    ...     x: float
    ...     y: float
    ...     def __init__(self, x, y):
    ...         self.x = x
    ...         self.y = y
    ...     def __add__(self, other):
    ...         return Point(self.x + other.x, self.y + other.y)
    >>> (Point(1, 2) + Point(3, 4)).y
    6.0
    """
    is_class = isinstance(cls_or_spec, type)
    given = spec if is_class or cls_or_spec is None else cls_or_spec

    def decorate(cls: Any) -> Any:
        if not isinstance(cls, type):
            raise TypeError(f"jitclass() takes a class, not {type(cls).__name__}")
        return cls if is_disabled() else _made(cls, given)

    return decorate(cls_or_spec) if is_class else decorate
