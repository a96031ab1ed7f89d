"""Eager signatures: `float64(float64[:], int64)` and what they accept."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from .. import _ingot

if TYPE_CHECKING:
    import ast

DTYPES = {
    np.dtype(n)
    for n in (
        "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128".split()
    )
}
"""Those of the numbers and arrays that compiled code takes."""

_ALIASES = {
    "void": None,
    "none": None,
    "boolean": "bool",
    "b1": "bool",
    "i1": "int8",
    "u1": "uint8",
    "i2": "int16",
    "u2": "uint16",
    "i4": "int32",
    "u4": "uint32",
    "i8": "int64",
    "u8": "uint64",
    "f2": "float16",
    "f4": "float32",
    "f8": "float64",
    "c8": "complex64",
    "c16": "complex128",
    "intp": "int64",
    "uintp": "uint64",
}


class Type(NamedTuple):
    """The type of a number or an array, of which signatures are made: ``ingot.float64``, ``ingot.float64[:, :]``.

    Parameters
    ----------
    dtype : str
        The name of the dtype.
    ndim : int or None
        The number of axes; None: a number.
    layout : {"C", "F", "A"}, default "A"
        C or Fortran order, or any: ``float64[:, ::1]`` is C order, ``float64[::1, :]`` Fortran order.

    Notes
    -----
    Called with types it is a signature, ``float64(float64[:], int64)``; with a number, NumPy's number of that dtype.

    Examples
    --------
    >>> print(ingot.float64(ingot.float64[:, ::1], ingot.int64))
    float64(float64[:, ::1], int64)
    >>> ingot.float32(0.1)
    np.float32(0.1)
    """

    dtype: str
    ndim: int | None = None
    layout: str = "A"

    def __getitem__(self, axes: Any) -> Type:
        parts = axes if isinstance(axes, tuple) else (axes,)
        layout = "A"
        if all(isinstance(p, slice) and p.start is None and p.stop is None for p in parts):
            steps = [p.step for p in parts]
            if steps[-1] == 1 and not any(steps[:-1]):
                layout = "C"
            elif steps[0] == 1 and not any(steps[1:]):
                layout = "F"
            elif any(steps):
                raise TypeError(f"bad layout of {self.dtype}: the step 1 is at the first or last axis")
            return Type(self.dtype, len(parts), layout)
        raise TypeError(f"an array type is written {self.dtype}[:, :]")

    @overload
    def __call__(self, *parameters: Type | Tuple | Optional | Pointer) -> Signature: ...
    @overload
    def __call__(self, value: Any, /) -> Any: ...
    def __call__(self, *parameters: Any) -> Any:
        """The signature of a function of these types; or a number, converted as NumPy's class of that name does it."""
        if len(parameters) == 1 and self.ndim is None and not isinstance(parameters[0], TYPES):
            return np.dtype(self.dtype).type(parameters[0])
        for parameter in parameters:
            if not isinstance(parameter, TYPES):
                raise TypeError(f"a signature is made of types, not of {parameter!r}")
        return Signature(self, parameters)

    def __str__(self) -> str:
        if self.ndim is None:
            return self.dtype
        axes = [":"] * self.ndim
        if self.layout != "A":
            axes[-1 if self.layout == "C" else 0] = "::1"
        return f"{self.dtype}[{', '.join(axes)}]"

    def convert(self, value: Any) -> Any:
        """Return a value as an argument of this type.

        Parameters
        ----------
        value : object
            An argument.

        Returns
        -------
        object
            The converted argument; NotImplemented where it is none of this type.
        """
        if self.ndim is None:
            return self._convert_scalar(value)
        if not isinstance(value, (np.ndarray, _ingot.DeviceArray)) or value.dtype != np.dtype(self.dtype) or value.ndim != self.ndim:
            return NotImplemented
        if self.layout == "C" and not value.flags.c_contiguous or self.layout == "F" and not value.flags.f_contiguous:
            return NotImplemented
        return value

    def _convert_scalar(self, value: Any) -> Any:
        target = np.dtype(self.dtype).type
        if type(value) is target:
            return value
        order = {bool: 0, int: 1, float: 2, complex: 3}
        rank = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}[np.dtype(self.dtype).kind]
        if type(value) not in order or order[type(value)] > rank or (rank == 0) != (type(value) is bool):
            return NotImplemented
        return target(value)


class Tuple(NamedTuple):
    """The type of a tuple.

    Parameters
    ----------
    parts : tuple of Type
        Those of its parts.

    See Also
    --------
    ingot.types.UniTuple : Parts of one type.

    Examples
    --------
    >>> from ingot import types
    >>> print(types.Tuple((types.float64, types.int64[:])))
    Tuple((float64, int64[:]))
    """

    parts: tuple[Any, ...]

    @property
    def layout(self) -> str:
        """The layout of its arrays; `A` where none of them has another one."""
        return next((part.layout for part in self.parts if part.layout != "A"), "A")

    def __str__(self) -> str:
        if len(self.parts) > 1 and len(set(self.parts)) == 1:
            return f"UniTuple({self.parts[0]}, {len(self.parts)})"
        return f"Tuple(({', '.join(map(str, self.parts))}{',' * (len(self.parts) == 1)}))"

    def __call__(self, *parameters: Any) -> Signature:
        return Signature(self, parameters)

    def convert(self, value: Any) -> Any:
        """Return a tuple with its parts converted.

        Parameters
        ----------
        value : object
            An argument.

        Returns
        -------
        tuple
            The converted argument; NotImplemented where it is none of this type.
        """
        if type(value) is not tuple or len(value) != len(self.parts):
            return NotImplemented
        parts = tuple(part.convert(each) for part, each in zip(self.parts, value))
        if any(part is NotImplemented for part in parts):
            return NotImplemented
        return value if all(map(operator.is_, parts, value)) else parts


class Optional(NamedTuple):
    """The type of a value that may be None; also `optional`.

    Parameters
    ----------
    of : Type
        The type of the value.

    Examples
    --------
    >>> @ingot.jit("float64(float64, optional(float64))")
    ... def scaled(x, by):
    ...     return x if by is None else x * by
    >>> scaled(2.0, None), scaled(2.0, 3.0)
    (np.float64(2.0), np.float64(6.0))
    """

    of: Any

    @property
    def layout(self) -> str:
        """The layout of the type."""
        return self.of.layout

    def __str__(self) -> str:
        return f"optional({self.of})"

    def __call__(self, *parameters: Any) -> Signature:
        return Signature(self, parameters)

    def convert(self, value: Any) -> Any:
        """Return None, or a value as one of the type.

        Parameters
        ----------
        value : object
            An argument.

        Returns
        -------
        object
            The converted argument; NotImplemented where it is none of this type.
        """
        return None if value is None else self.of.convert(value)


class Text:
    """The type of a string, which a field of `ingot.jitclass` may have."""

    def __str__(self) -> str:
        return "unicode_type"

    __repr__ = __str__


class Pointer(NamedTuple):
    """An address of elements, as functions that are linked with kernels take it: `CPointer(float32)`."""

    dtype: str

    @property
    def layout(self) -> str:
        """`A`, as of numbers."""
        return "A"

    def __str__(self) -> str:
        return f"CPointer({self.dtype})"

    def convert(self, value: Any) -> Any:
        """No argument of a compiled function is an address."""
        return NotImplemented


def CPointer(of: Type) -> Pointer:  # noqa: N802
    """Return the type of an address of numbers, for functions that are linked with kernels.

    Parameters
    ----------
    of : Type
        The type of the numbers.

    Returns
    -------
    Pointer
        For `ingot.cuda.declare_device`: an array of that dtype without gaps is given.

    Examples
    --------
    >>> print(ingot.cuda.CPointer(ingot.float32))
    CPointer(float32)
    """
    if not isinstance(of, Type) or of.ndim is not None:
        raise TypeError(f"a pointer is one to numbers, such as CPointer(float32), not {of!r}")
    return Pointer(of.dtype)


TYPES = (Type, Tuple, Optional, Pointer)

for _public in (Type, Tuple, Optional):
    _public.__module__ = "ingot.types"  # where users find them, and pickles name them


def scalar_class(type_: Any) -> type[Any] | None:
    """NumPy's class of the numbers of a type, one of Ingot's or of Numba's; None: it has none."""
    if isinstance(type_, Type):
        return np.dtype(type_.dtype).type if type_.ndim is None else None
    try:
        dtype = np.dtype(str(type_))
    except TypeError:
        return None
    return dtype.type if dtype in DTYPES else None


class Signature(NamedTuple):
    """Parameter types, and the result type where it was written."""

    result: Any
    parameters: tuple[Any, ...]

    def __str__(self) -> str:
        result = "" if self.result is None else str(self.result)
        return f"{result}({', '.join(map(str, self.parameters))})"

    def match(self, values: list[Any]) -> list[Any] | None:
        if len(values) != len(self.parameters):
            return None
        converted = [t.convert(v) for t, v in zip(self.parameters, values)]
        return None if any(c is NotImplemented for c in converted) else converted


_MODULES = ("types", "numba", "nb", "ingot")
"""What types may be written as attributes of."""


def _nested(call: ast.Call, text: str) -> Any:
    """A tuple, or a type or None; None: the call makes none of these."""
    import ast

    match call:
        case ast.Call(ast.Name("Tuple") | ast.Attribute(_, "Tuple"), [ast.Tuple(parts) | ast.List(parts)]):
            return Tuple(tuple(_part_of(part, text) for part in parts))
        case ast.Call(ast.Name("UniTuple") | ast.Attribute(_, "UniTuple"), [part, ast.Constant(int(count))]):
            return Tuple((_part_of(part, text),) * count)
        case ast.Call(ast.Name("optional" | "Optional") | ast.Attribute(_, "optional" | "Optional"), [part]):
            return Optional(_part_of(part, text))
    return None


def _part_of(node: ast.expr, text: str) -> Any:
    part = _type_of(node, text)
    if part is None or isinstance(part, Pointer):
        raise TypeError(f"cannot read the signature {text!r}")
    return part


def _type_of(node: ast.expr, text: str) -> Any:
    import ast

    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "CPointer" and len(node.args) == 1:
        return CPointer(_type_of(node.args[0], text))
    if isinstance(node, ast.Constant) and node.value is None:
        return None
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in _MODULES:
        node = ast.Name(node.attr)
    if isinstance(node, ast.Call) and not node.keywords and (made := _nested(node, text)) is not None:
        return made
    if isinstance(node, ast.Name):
        name = _ALIASES.get(node.id, node.id)
        if name is None:
            return None
        if name in ("float", "int", "bool", "complex"):
            name = {"float": "float64", "int": "int64", "bool": "bool", "complex": "complex128"}[name]
        try:
            dtype = np.dtype(name)
        except TypeError:
            raise TypeError(f"unknown type {node.id!r} in the signature {text!r}") from None
        return Type(dtype.name)
    if isinstance(node, ast.Subscript):
        base = _type_of(node.value, text)
        axes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if isinstance(base, Type) and base.ndim is None and all(isinstance(a, ast.Slice) for a in axes):
            slices = tuple(slice(None, None, 1 if a.step is not None else None) for a in axes)  # type: ignore[attr-defined]
            return base[slices]
    raise TypeError(f"cannot read the signature {text!r}")


def parse_signature(text: str, nested: bool = False) -> Signature:
    """Reads `result(parameters)`, or `(parameters)` without result type. `[:,]` is an array of one axis. `nested`: types
    may be tuples, and optional."""
    import ast

    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        raise TypeError(f"cannot read the signature {text!r}") from None
    if isinstance(tree, ast.Call) and not tree.keywords and _nested(tree, text) is None:
        result, parameters = _type_of(tree.func, text), tree.args
    elif isinstance(tree, ast.Tuple):
        result, parameters = None, tree.elts
    else:
        result, parameters = None, [tree]
    types = [_type_of(p, text) for p in parameters]
    if any(t is None for t in types):
        raise TypeError(f"cannot read the signature {text!r}")
    return _checked(Signature(result, tuple(types)), nested)


def _checked(signature: Signature, nested: bool) -> Signature:
    for type_ in (signature.result, *signature.parameters):
        if not nested and isinstance(type_, (Tuple, Optional)):
            raise TypeError(f"{type_} is a type of arguments of `ingot.jit` alone")
    return signature


def is_no_signature(given: Any) -> bool:
    """Whether what a decorator is given is meant to be a function, as far as one can see."""
    return not isinstance(given, (Signature, *TYPES, list, tuple, str)) and (callable(given) or hasattr(given, "__get__"))


def parse_signatures(given: Any, nested: bool = False) -> list[Signature]:
    """Signatures from a string, a `Signature`, a tuple of types, or a list of these. `nested`: types may be tuples, and
    optional."""
    if isinstance(given, list):
        return [s for one in given for s in parse_signatures(one, nested)]
    if isinstance(given, Signature):
        return [_checked(given, nested)]
    if isinstance(given, tuple) and not isinstance(given, TYPES) and all(isinstance(t, TYPES) for t in given):
        return [_checked(Signature(None, given), nested)]
    if isinstance(given, str):
        return [parse_signature(given, nested)]
    raise TypeError(f"a signature is a string, types, or a list of them, not {type(given).__name__}")
