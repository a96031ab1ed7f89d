"""How one process describes to another which Python objects compiled code was made for.

An object is described by the way on which it is found - from the function, along what guards have looked at - and by what it
has to be like, its form: the code of functions, the methods of classes, the values of numbers. Ways are steps, one an
object, each of which may begin at the objects of earlier ones. What has no form that holds all that the compiler may have
seen of it has no name, and then nothing is stored.
"""

from __future__ import annotations

import builtins
import collections
import ctypes
import dis
import enum
import functools
import importlib
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from .. import _ingot
from .._code import VERSIONED, is_versioned
from .._host import HostFunction


class Unnamed(Exception):
    """An object, or what depends on one, that cannot be described to another process; its message names it."""


class Changed(Exception):
    """What is found is not what it was in the other process."""


def refuse(value: Any) -> NoReturn:
    """For values without objects that have to be found."""
    raise Unnamed(f"an object of class {type(value).__module__}.{type(value).__qualname__}")


_PLAIN = frozenset({type(None), type(Ellipsis), bool, int, float, complex, str, bytes, *(np.dtype(c).type for c in "?bBhHiIlLqQefdFD")})


_MOST_VALUES = 100_000  # of a tuple, those of the tuples in it among them, which may be one that it holds twice


def is_small(value: tuple[Any, ...]) -> bool:
    """Whether a tuple, named or not, can be looked through."""
    waiting, count = [value], 0
    while waiting and count <= _MOST_VALUES:
        inner = waiting.pop()
        count += tuple.__len__(inner)
        waiting += [each for each in tuple.__iter__(inner) if isinstance(each, tuple)]
    return count <= _MOST_VALUES


def is_plain(value: Any) -> bool:
    """Whether a value is known by what it is, wherever it is: what guards compare by value, and dtypes of numbers and of fields."""
    if type(value) in _PLAIN:
        return True
    if type(value) is tuple:
        return is_small(value) and all(map(is_plain, value))
    return isinstance(value, np.dtype) and (value.type in _PLAIN and np.dtype(value.char) is value or _ingot.has_known_fields(value))


_HASHING = (set, frozenset, hash, id)
_SETS = frozenset(dis.opmap[name] for name in ("BUILD_SET", "SET_ADD", "SET_UPDATE"))


def code_form(code: types.CodeType) -> bytes:
    """What a code object does, at any location."""
    return _ingot.digest(_ingot.encode(code, refuse))


def makes_sets(code: types.CodeType) -> bool:
    """Whether code writes sets out. Their order depends on hashes, which are others in each process."""
    return not _SETS.isdisjoint(code.co_code[::2]) or any(makes_sets(each) for each in code.co_consts if isinstance(each, types.CodeType))


def path_of(value: Any) -> tuple[str, str] | None:
    """The module and the name in it by which a process finds an object that no user has made; None: there are none."""
    if isinstance(value, enum.Enum):
        module, name = type(value).__module__, f"{type(value).__qualname__}.{value._name_}"
    else:
        module, name = _own_path(value)
    if not isinstance(module, str) or not isinstance(name, str) or not is_versioned(module):
        return None
    return (module, name) if at_path(module, name) is value else None


def _own_path(value: Any) -> tuple[Any, Any]:
    """The module and name that an object has for itself: of methods that are bound, those of their object's class."""
    name = getattr(value, "__name__", None)
    owner = getattr(value, "__objclass__", None)
    if isinstance(owner, type):
        return owner.__module__, f"{owner.__qualname__}.{name}"
    bound = None if isinstance(value, types.FunctionType) else getattr(value, "__self__", None)
    if isinstance(bound, type):
        return bound.__module__, f"{bound.__qualname__}.{name}"
    if bound is not None and not isinstance(bound, types.ModuleType):
        return type(bound).__module__, name
    return getattr(value, "__module__", None), getattr(value, "__qualname__", None) or name


def at_path(module: str, name: str) -> Any:
    """What a module that is loaded has under a name with dots; None: nothing."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        if isinstance(found, type):
            found = found.__dict__.get(part) if part in found.__dict__ else getattr(found, part, None)
        else:
            found = getattr(found, part, None)
    return found


def define(owner: Any, name: str) -> None:
    """Has a module of NumPy's or Ingot's define a name that it defines when it is first asked for, if `owner` is its dict."""
    if type(owner) is dict and "__getattr__" in owner and name not in owner and is_versioned(module := owner.get("__name__", "")):
        getattr(sys.modules.get(module), name, None)


def _place_of(value: Any) -> tuple[str, str, str] | None:
    """The version of SciPy or mpi4py, and a module of theirs and the name in it, of an object that is there; None: it is none of theirs."""
    if (name := _name_in_mpi(value)) is not None:
        return sys.modules["mpi4py"].__version__, "mpi4py.MPI", name
    if isinstance(value, np.ufunc):
        module = "scipy.special"
    elif isinstance(value, types.FunctionType) or type(value).__module__ == "uarray":
        module = str(getattr(value, "__module__", ""))
    else:
        return None
    name = str(getattr(value, "__name__", ""))
    if not module.startswith("scipy."):
        return None
    places = (module, ".".join(module.split(".")[:2]))
    return next(((sys.modules["scipy"].__version__, place, name) for place in places if at_path(place, name) is value), None)


def _name_in_mpi(value: Any) -> str | None:
    """The name of a class, function or constant of mpi4py's; None: it is none."""
    if sys.modules.get("mpi4py.MPI") is None:
        return None
    if _ingot.is_constant_handle(value):
        from .._routines.mpi import name_of

        return name_of(value)
    if getattr(value, "__module__", None) != "mpi4py.MPI" or isinstance(value, types.MethodType):
        return None
    name = getattr(value, "__qualname__", None)
    if not isinstance(name, str):
        return None
    paths = (name, f"{name}.__func__")  # the function of a class method
    return next((path for path in paths if at_path("mpi4py.MPI", path) is value), None)


def form_of(value: Any) -> Any:
    """What an object has to be like where another process finds it. Raises Unnamed."""
    if is_plain(value):
        return ("value", value)
    if (place := _place_of(value)) is not None:
        return ("package", *place)
    if (told := _c_form(value)) is not None:
        return told
    if isinstance(value, tuple) and not is_small(value):
        raise Unnamed(f"a tuple that holds more than {_MOST_VALUES} values")
    if type(value) is tuple:
        return ("tuple", tuple(map(_form_inside, value)))
    if (path := path_of(value)) is not None:
        return ("path", *path)
    for kinds, form in _FORMS:
        if isinstance(value, kinds):
            return form(value)
    if _is_dataclass_field(value):
        return _dataclass_field_form(value)
    if type(value) is object:
        return ("sentinel",)
    if isinstance(value, enum.Enum):
        return ("member", class_form(type(value)), *_member_form(value))
    if _ingot.is_namedtuple(value):
        return ("named tuple", class_form(type(value)), tuple(map(form_of, value)))
    if isinstance(value, _ingot.Callable):
        return ("jitted", form_of(value.__ingot_function__))
    if _ingot.is_instance(value):
        return ("instance", class_form(type(value)))
    refuse(value)


def _form_inside(value: Any) -> Any:
    """The form of what a tuple or partial holds. Arrays and containers are described at each call, with anything in them."""
    return ("described", type(value).__name__) if type(value) in (np.ndarray, list, dict) else form_of(value)


def _c_form(value: Any) -> Any:
    """What a C function of ctypes' or cffi's is called with; None: it is none. Its address is asked for when code is loaded."""
    kind = type(getattr(value, "__self__", None)) if isinstance(value, types.BuiltinFunctionType) else type(value)
    if not issubclass(kind, ctypes._CFuncPtr) and kind.__module__ != "_cffi_backend":  # type: ignore[attr-defined]
        return None
    from .._objects.c_functions import of

    told = of(value)
    if told is None:
        return None
    return ("C function", told.name, tuple(map(str, told.arguments)), str(told.result), told.form[0])


def _function_form(function: types.FunctionType) -> tuple[Any, ...]:
    is_usual = function.__builtins__ is vars(builtins)
    if not is_usual and function.__builtins__:  # whose names are others, perhaps; what makes named tuples has none
        refuse(function)
    own = {k: v for k, v in function.__dict__.items() if k not in ("__wrapped__", "__ingot_source__")}
    if not all(map(is_plain, own.values())):
        refuse(function)
    return ("function", code_form(function.__code__), function.__qualname__, function.__module__, tuple(sorted(own.items())), is_usual)


def _wrapper_form(wrapper: Any) -> tuple[Any, ...]:
    parts = (wrapper.fget, wrapper.fset, wrapper.fdel) if isinstance(wrapper, property) else (wrapper.__func__,)
    return (type(wrapper).__name__, *(None if part is None else form_of(part) for part in parts))


def class_form(kind: type[Any]) -> Any:
    """What a class is: its path where it is not a user's; else its bases, its metaclass and what its methods do.

    Values that it holds are not in it: they may change, and guards have what they have to be. The members of an Enum are,
    since nothing replaces them, and the compiler reads them as the numbers and strings that they are.
    """
    path = path_of(kind)
    if path is not None:
        return ("path", *path)
    if not kind.__flags__ & (1 << 9):  # a class of an extension's, of which nothing is known
        refuse(kind)
    attributes = []
    for name, value in sorted(vars(kind).items()):
        if name in ("__slots__", "_fields"):
            attributes.append((name, value if is_plain(value) else ""))
        elif isinstance(value, (types.FunctionType, staticmethod, classmethod, property)):
            attributes.append((name, form_of(value)))
        elif isinstance(value, (types.MemberDescriptorType, types.GetSetDescriptorType)):
            attributes.append((name, type(value).__name__))
        elif isinstance(value, _ingot.Callable):
            attributes.append((name, form_of(value)))
    if isinstance(kind, enum.EnumType):
        attributes.append(("__members__", _members_form(kind)))
    bases = tuple(map(class_form, kind.__bases__))
    whole = (kind.__module__, kind.__qualname__, class_form(type(kind)), bool(kind.__flags__ & (1 << 20)), bases, tuple(attributes))
    return ("class", _ingot.digest(_ingot.encode(whole, refuse)))


_MIXED: tuple[tuple[type[Any], Callable[[Any], Any]], ...] = (
    (int, int.__int__),
    (float, float.__float__),
    (complex, complex.__complex__),
    (str, str.__str__),
    (bytes, lambda member: bytes(memoryview(member))),
    (tuple, lambda member: form_of(tuple(tuple.__iter__(member)))),
    (np.generic, lambda member: (np.generic.dtype.__get__(member).str, np.generic.tobytes(member))),
)
"""Types that members of an Enum may be of, too, and what is read of them then."""


def _member_form(member: enum.Enum) -> tuple[Any, ...]:
    """What a member of an Enum is called, its value, and what it is as a number or string. What is read of a value otherwise is guarded."""
    value = member.__dict__.get("_value_")
    try:
        of_value = form_of(value)
    except Unnamed:  # of a kind that the compiler does not read either
        of_value = ("of class", type(value).__module__, type(value).__qualname__)
    of_c = [base for base in type(member).__mro__ if base is not object and not base.__flags__ & (1 << 9)]
    of_member = tuple(read(member) for kind, read in _MIXED if isinstance(member, kind))
    if of_c and not of_member:
        refuse(member)
    return member._name_, of_value, of_member


def _members_form(kind: Any) -> tuple[Any, ...]:
    """What an Enum has: its members and other names of them, in order, and what a Flag makes of bits that it does not know."""
    members = tuple((name, *_member_form(member)) for name, member in kind._member_map_.items())
    return members, getattr(getattr(kind, "_boundary_", None), "_name_", None)


def _is_dataclass_field(value: Any) -> bool:
    """Whether it is what a dataclass has for a field. Where the module is not loaded, or not yet, there are no dataclasses."""
    field = getattr(sys.modules.get("dataclasses"), "Field", None)
    return field is not None and type(value) is field


def _dataclass_field_form(field: Any) -> tuple[Any, ...]:
    parts = (form_of(field.default), form_of(field.default_factory))
    marks = (field.init, field.repr, field.hash, field.compare, field.kw_only is True, repr(field._field_type))
    return ("dataclass's field", field.name, parts, marks)


def _is_of_fields(value: Any) -> bool:
    """Whether a dict is that of a dataclass's fields."""
    return type(value) is dict and bool(value) and all(map(_is_dataclass_field, value.values()))


_LIMITS = (
    *("dtype", "bits", "key", "kind", "max", "min", "eps", "epsneg", "iexp", "machep", "maxexp", "minexp", "negep", "nexp", "nmant"),
    *("precision", "resolution", "smallest_normal", "smallest_subnormal", "tiny"),
)


def _limits_form(limits: np.finfo | np.iinfo) -> tuple[Any, ...]:
    values = [getattr(limits, name, None) for name in _LIMITS]
    return ("limits", class_form(type(limits)), tuple(value if is_plain(value) else None for value in values))


_Field: Any = type(getattr(collections.namedtuple("_Pair", "first"), "first"))


def _partial_form(partial: functools.partial) -> tuple[Any, ...]:
    if type(partial) is not functools.partial:
        refuse(partial)
    keywords = tuple((name, _form_inside(value)) for name, value in partial.keywords.items())
    return ("partial", form_of(partial.func), tuple(map(_form_inside, partial.args)), keywords)


_FORMS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (types.FunctionType, _function_form),
    (types.CodeType, lambda code: ("code", code_form(code))),
    (types.ModuleType, lambda module: ("module", module.__name__)),
    ((staticmethod, classmethod, property), _wrapper_form),
    (type, class_form),
    (types.CellType, lambda cell: ("cell",)),
    (types.MethodType, lambda method: ("method", form_of(method.__func__))),
    (functools.partial, _partial_form),
    ((np.finfo, np.iinfo), _limits_form),
    ((types.MemberDescriptorType, types.GetSetDescriptorType), lambda slot: (type(slot).__name__, slot.__name__)),
    (_Field, lambda field: ("field", field.__reduce__()[1][0])),
    (HostFunction, lambda host: ("host", form_of(host.function), repr(host.result))),
)


def _whole_form(value: Any) -> Any:
    """The form of an object, or of a dict: of most dicts guards have what they have to hold. Raises Unnamed."""
    if type(value) is dict:
        return ("fields", tuple(map(_dataclass_field_form, value.values()))) if _is_of_fields(value) else None
    if type(value) is list and all(map(is_plain, value)):
        return ("list", tuple(value))
    if type(value) is list and all(isinstance(each, type) for each in value):  # what a function of ctypes takes
        return ("list of types", tuple(map(class_form, value)))
    try:
        return form_of(value)
    except RecursionError:
        raise Unnamed(f"an object of class {type(value).__qualname__}, which is part of itself") from None


class Namer:
    """Numbers the objects that what is stored refers to, and records how each is found.

    `function`: where all ways begin; its form is part of the key. `arguments`: the objects in the description of its arguments, in order.
    """

    def __init__(self, function: types.FunctionType, arguments: list[Any]) -> None:
        self.steps: list[tuple[Any, ...]] = []
        self.codes: dict[types.CodeType, int] = {}
        self._numbers: dict[int, int] = {}
        self._parts: dict[int, tuple[str, Any, Any]] = {}
        self._kept: list[Any] = []
        self.add(function, ("root",))
        for place, value in enumerate(arguments):
            if id(value) not in self._numbers and not is_plain(value):
                self.add(value, ("argument", place))

    def number(self, value: Any) -> int:
        """The number of an object. Raises Unnamed."""
        known = self._numbers.get(id(value))
        if known is not None:
            return known
        if id(value) in self._parts:
            kind, owner, where = self._parts[id(value)]
            return self.add(value, (kind, self.number(owner), where))
        if isinstance(value, types.ModuleType) and sys.modules.get(value.__name__) is value:
            return self.add(value, ("module", value.__name__))
        if value is sys.modules:
            return self.add(value, ("path", "sys", "modules"))
        if type(value) is dict and (module := sys.modules.get(value.get("__name__", ""))) is not None and module.__dict__ is value:
            self.number(module)
            return self.number(value)
        if (path := path_of(value)) is not None:
            return self.add(value, ("path", *path))
        if (place := _place_of(value)) is not None:
            return self.add(value, ("package", *place[1:]))
        if isinstance(value, types.MethodType):
            return self.add(value, ("method", self.number(value.__self__), value.__name__))
        refuse(value)

    def knows(self, value: Any) -> bool:
        return id(value) in self._numbers or id(value) in self._parts

    def add(self, value: Any, step: tuple[Any, ...]) -> int:
        """The number of an object that is found by a step. Raises Unnamed."""
        if any(value is each for each in _HASHING):
            raise Unnamed(f"`{value.__name__}`, whose results depend on hashes")
        form = None if step[0] in ("root", "module", "path") else _whole_form(value)
        number = self._numbers[id(value)] = len(self.steps)
        self.steps.append((*step, form))
        self._kept.append(value)
        self._add_parts(value)
        if isinstance(value, types.MethodType) and _ingot.is_instance(value.__self__):
            self.number(value.__self__)  # which leads to its class
        if isinstance(value, types.FunctionType):
            if makes_sets(value.__code__):
                raise Unnamed(f"sets in {value.__qualname__}")
            self.codes[value.__code__] = number
        return number

    def _add_parts(self, value: Any) -> None:
        """Notes what an object leads to, so that it can be numbered, and what that does if nothing else may replace it."""
        for part, kind, where in _parts_of(value):
            if id(part) not in self._parts:
                self._parts[id(part)] = (kind, value, where)
                self._kept.append(part)
                if type(part) is tuple or isinstance(part, enum.Enum) or _is_dataclass_field(part) or _ingot.is_namedtuple(part):
                    self._add_parts(part)


def _parts_of(value: Any) -> Iterator[tuple[Any, str, Any]]:
    """What an object leads to, and the kinds of the steps there, with what they take."""
    attributes: tuple[str, ...] = ()
    if isinstance(value, types.FunctionType):
        attributes = ("__globals__", "__code__", "__defaults__", "__kwdefaults__", "__closure__")
        yield from ((cell, "cell", i) for i, cell in enumerate(value.__closure__ or ()))
        yield from _items(value.__defaults__ or (), "default")
        yield from _items((value.__kwdefaults__ or {}).values(), "keyword default")
    elif isinstance(value, types.ModuleType):
        attributes = ("__dict__",)
    elif isinstance(value, (staticmethod, classmethod)):
        attributes = ("__func__",)
    elif isinstance(value, types.MethodType):
        attributes = ("__func__", "__self__")
    elif isinstance(value, property):
        attributes = ("fget", "fset", "fdel")
    elif isinstance(value, type):
        attributes = ("__mro__",)
        yield from _items(value.__mro__, "base")
        if isinstance(value, enum.EnumType):
            yield from ((member, "member", name) for name, member in value._member_map_.items())
    elif isinstance(value, functools.partial):
        attributes = ("func",)
    elif isinstance(value, HostFunction):
        attributes = ("function",)
    elif isinstance(value, enum.Enum):
        attributes = ("__dict__", "__class__")
    elif type(value) is tuple:
        yield from _items(value, "item")
    elif _ingot.is_namedtuple(value):
        attributes = ("__class__",)
        yield from _items(value, "item")
    elif _is_of_fields(value):
        yield from ((field, "item", name) for name, field in value.items())
    elif _is_dataclass_field(value):
        attributes = ("default", "default_factory")
    elif isinstance(value, _ingot.Callable):
        attributes = ("__ingot_function__",)
    elif _ingot.is_instance(value):
        attributes = ("__class__",)
    for name in attributes:
        part = getattr(value, name)
        if part is not None:
            yield part, "part", name


def _items(values: Any, kind: str) -> Iterator[tuple[Any, str, int]]:
    for place, value in enumerate(values):
        if not is_plain(value):
            yield value, kind, place


class Finder:
    """Finds the objects of steps. Raises Changed where one is not there, is of another form, or is two of them."""

    def __init__(self, function: types.FunctionType, arguments: list[Any], steps: tuple[Any, ...]) -> None:
        self.objects: list[Any] = []
        self._arguments = arguments
        self._function = function
        for *step, form in steps:
            found = self._follow(*step)
            if form is not None and not self._has(found, form):
                raise Changed
            self.objects.append(found)
        if len(set(map(id, self.objects))) != len(self.objects):
            raise Changed

    def _follow(self, kind: str, *what: Any) -> Any:
        try:
            return _STEPS[kind](self, *what)
        except (LookupError, AttributeError, TypeError):
            raise Changed from None

    def _has(self, found: Any, form: Any) -> bool:
        try:
            return _ingot.encode(_whole_form(found), refuse) == _ingot.encode(form, refuse)  # which distinguishes 0.0, -0.0, 0 and False
        except Unnamed:
            return False

    def _held(self, owner: int, name: str) -> Any:
        define(self.objects[owner], name)
        return _ingot.held(self.objects[owner], name)[0]

    def _held_in_class(self, owner: int, name: str) -> Any:
        return _ingot.held_in_class(self.objects[owner], name)[0]

    def _method(self, owner: int, name: str) -> Any:
        return getattr(self.objects[owner], name)

    def _module(self, name: str) -> types.ModuleType:
        if name.partition(".")[0] in VERSIONED:
            importlib.import_module(name)
        elif name not in sys.modules:
            from .._objects.importing import loaded

            loaded(name)  # as it was for an `import` in the function
        return sys.modules[name]

    def _of_package(self, module: str, name: str) -> Any:
        if module == "mpi4py.MPI" and module not in sys.modules:  # loading it would initialize MPI
            raise Changed
        importlib.import_module(module)
        return at_path(module, name)

    def _path(self, module: str, name: str) -> Any:
        self._module(module)
        found = at_path(module, name)
        if found is not sys.modules and path_of(found) != (module, name):  # another object has been put there
            raise Changed
        return found


_STEPS: dict[str, Callable[..., Any]] = {
    "root": lambda it: it._function,
    "argument": lambda it, place: it._arguments[place],
    "module": Finder._module,
    "path": Finder._path,
    "package": Finder._of_package,
    "held": Finder._held,
    "class": Finder._held_in_class,
    "method": Finder._method,
    "part": lambda it, owner, name: getattr(it.objects[owner], name),
    "cell": lambda it, owner, place: it.objects[owner].__closure__[place],
    "default": lambda it, owner, place: it.objects[owner].__defaults__[place],
    "keyword default": lambda it, owner, place: list(it.objects[owner].__kwdefaults__.values())[place],
    "base": lambda it, owner, place: it.objects[owner].__mro__[place],
    "item": lambda it, owner, place: it.objects[owner][place],
    "member": lambda it, owner, name: it.objects[owner]._member_map_[name],
}
