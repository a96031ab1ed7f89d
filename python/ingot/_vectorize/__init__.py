"""`@ingot.vectorize`: ufuncs of NumPy's whose loops are compiled functions of numbers."""

from __future__ import annotations

import ast
import copyreg
import functools
import inspect
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol, overload

import numpy as np

from .. import _errors, _ingot
from .._cache.entries import do_agree
from .._calls.function import Function
from .._calls.portable import Portable, is_pickled_by_name
from .._calls.jit import relaxations
from .._calls.specialisation import Specialisation
from .._code import source
from .._environment import is_disabled
from .._host.exceptions import exception
from .._ingot import Description
from .._profile import uncounted
from .._routines.ufuncs import made_of, remember
from .._signatures import DTYPES, Signature, is_no_signature, parse_signatures
from .._signatures.parameters import checked_keywords, not_a_function, parameters_of

MOST_OPERANDS = 31
_PYTHON = {"bool": "bool", "int": "int64", "float": "float64", "complex": "complex128"}
_lock = threading.Lock()


class Outdated(_errors.TypeChangeError):
    """What a function reads outside has changed, and with it the dtypes of its results."""


class Element:
    """A function of numbers, for one element: what it gives for numbers of some dtypes, and the loops over it."""

    def __init__(self, function: Any, relaxed: tuple[str, ...], target: str) -> None:
        self.function = function
        self.relaxed = relaxed
        self.target = target
        self.compiled: Function[..., Any] = Function(function, relaxed=relaxed)
        self.inputs = self._count_of_operands()
        self.outputs = _count_of_results(function)
        if self.inputs + self.outputs > MOST_OPERANDS:
            raise self.refusal(f"a function of more than {MOST_OPERANDS} arguments and results", "use fewer")

    def refusal(self, what: str, advice: str) -> Exception:
        return _errors.unsupported((self.compiled._site(),), f"{what} in `ingot.vectorize`", advice)

    def _count_of_operands(self) -> int:
        parameters = parameters_of(self.function)
        if parameters.positional != len(parameters.names):
            raise self.refusal("`*args`, `**kwargs` or a keyword-only parameter", "name each operand")
        if not parameters.names:
            raise self.refusal("a function without parameters", "give it one operand at least")
        return parameters.positional

    def lowered(self, inputs: tuple[np.dtype, ...]) -> tuple[Specialisation, bool]:
        """The function for numbers of these dtypes; whether it has no hidden arguments."""
        values = [dtype.type(1) for dtype in inputs]
        specialisation, arguments = self.compiled._specialise(self.compiled._describe(values), values)
        if self.compiled._demanded():
            raise self.refusal("an argument whose value decides what is compiled", "call an `ingot.jit` function")
        return specialisation, len(arguments.leaves) == len(values)

    def results(self, lowered: Specialisation) -> tuple[np.dtype, ...]:
        """The dtypes of what it gives."""
        description = lowered.result
        parts = description.parts if description.kind == Description.TUPLE and description.type is None else (description,)
        dtypes = [_dtype_of(part) for part in parts]
        if any(dtype is None for dtype in dtypes):  # a dtype may be equal to None
            raise self.refusal("a result that is no number", "return numbers, or a tuple of them")
        if len(dtypes) != self.outputs:
            raise self.refusal(
                f"{len(dtypes)} results where the `return` statements show {self.outputs}",
                "write `return a, b` for several results",
            )
        return tuple(dtype for dtype in dtypes if dtype is not None)


def make_full(made: Specialisation, arguments: Any) -> None:
    """Makes the code of a loop, but for one that Python runs."""
    if not made.hosts and not made.writes:
        made.complete()


def need_same(made: Specialisation, lowered: Specialisation, name: str) -> None:
    """Raises where a thread has changed what the function reads outside since it was lowered."""
    if not do_agree(made.guards, lowered.guards):
        raise Outdated(f"what `{name}` reads outside has changed while it was compiled")


def _dtype_of(description: Description) -> np.dtype | None:
    """The dtype of an output for a result; None: it is no number."""
    if description.kind == Description.SCALAR:
        kind = description.number
        return np.dtype(kind[6:] if kind.startswith("numpy.") else _PYTHON[kind])
    known = description.object if description.kind == Description.STATIC else None
    if type(known) in (bool, int, float, complex):
        return np.dtype(_PYTHON[type(known).__name__])
    return known.dtype if isinstance(known, np.generic) and known.dtype in DTYPES else None


def _count_of_results(function: Any) -> int:
    """How many results the `return` statements of a function show."""
    node = source.find(function)[0]
    if isinstance(node, ast.Lambda):
        return len(node.body.elts) if isinstance(node.body, ast.Tuple) else 1
    waiting: list[ast.AST] = list(node.body)
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Return) and isinstance(one.value, ast.Tuple) and one.value.elts:
            return len(one.value.elts)
        if not isinstance(one, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            waiting.extend(ast.iter_child_nodes(one))
    return 1


class Loop(_ingot.UfuncLoop):
    """The loop of a ufunc for operands of some dtypes: code for each layout of theirs that has been needed."""

    def __init__(self, element: Element, inputs: tuple[np.dtype, ...], results: tuple[np.dtype, ...] | None = None) -> None:
        self.element = element
        self.declared = results
        lowered, self.closed = element.lowered(inputs)
        own = element.results(lowered)
        self.lowered = lowered
        self.dtypes = inputs + (own if results is None else results)
        self._kernels: dict[str, Any] = {}
        super().__init__(self.dtypes, len(inputs), lowered, self.closed)

    def renewed(self) -> Loop:
        """The loop for what the function reads outside now."""
        inputs = self.dtypes[: self.element.inputs]
        if self.element.lowered(inputs) == (self.lowered, self.closed):
            return self
        loop = Loop(self.element, inputs, self.declared)
        if loop.dtypes != self.dtypes:
            name = self.element.compiled.__name__
            raise Outdated(f"the results of `{name}` have other dtypes than before: what it reads outside has changed")
        return loop

    def compile(self, layouts: str, mode: str) -> Specialisation | None:
        """Code for operands that are contiguous (C), strided (A) or one number (N); None: Python makes such calls.

        `mode` is whether outputs share memory with inputs (`apart`, `shared`), or whether it is a fold of the second
        input into the output.
        """
        kernel = self._kernel(mode)
        if not isinstance(kernel, Function) or not self.closed:
            return None
        dtypes = self.dtypes[1:] if mode == "fold" else self.dtypes
        room = np.zeros(1 << 12, np.complex128)
        operands = [self._stand_in(dtype, kind, room if mode == "shared" else None) for dtype, kind in zip(dtypes, layouts)]
        count = len(self.dtypes) - self.element.outputs - (mode == "fold")
        if mode == "fold":
            operands[-1] = operands[-1][:1]
        specialisation, arguments = kernel._prepare((tuple(operands[:count]), tuple(operands[count:])), {}, None, make_full)
        if len(arguments.leaves) != len(operands) or specialisation.hosts or specialisation.writes or kernel._demanded():
            return None
        specialisation.complete()
        need_same(specialisation, self.lowered, self.element.compiled.__name__)
        return specialisation

    @staticmethod
    def exception(failure: tuple[Any, ...], errors: list[Any]) -> BaseException:
        """What a failure of compiled code raises, at the locations of the function alone."""
        from ..library import vectorized

        kind, message, sites, *rest = failure
        own = vectorized.iterations_of.__code__.co_filename
        more = [*rest, errors]
        return exception(kind, message, tuple(site for site in sites if site[0] != own), *more)

    def run(self, inputs: tuple[np.ndarray, ...], outputs: tuple[np.ndarray, ...]) -> None:
        """A call that compiled code cannot make alone: it calls Python, or reads arrays outside."""
        self._kernel("shared")(inputs, outputs)

    @staticmethod
    def shown(error: BaseException) -> BaseException:
        """What such a call raises, without the locations of Ingot's own."""
        from ..library import vectorized

        entries = []
        entry = error.__traceback__
        while entry is not None:
            if entry.tb_frame.f_code.co_filename not in (__file__, vectorized.iterations_of.__code__.co_filename):
                entries.append(entry)
            entry = entry.tb_next
        traceback = None
        for entry in reversed(entries):
            traceback = types.TracebackType(traceback, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
        return error.with_traceback(traceback)

    def _kernel(self, mode: str) -> Any:
        if mode not in self._kernels:
            self._kernels[mode] = self._new_kernel(mode)
        return self._kernels[mode]

    def _new_kernel(self, mode: str) -> Any:
        from ..library import vectorized

        element = self.element
        if mode == "fold":
            iterations = vectorized.fold_of(element.function)
        elif mode == "apart" and element.target == "parallel":
            from .. import prange

            iterations = vectorized.parallel_iterations_of(element.function, prange)
        else:
            iterations = vectorized.iterations_of(element.function)
        return iterations if is_disabled() else Function(iterations, relaxed=element.relaxed)

    @staticmethod
    def _stand_in(dtype: np.dtype, kind: str, room: np.ndarray | None) -> Any:
        if kind == "N":
            return dtype.type(1)
        step = 1 if kind == "C" else 2
        memory = np.zeros(256 * step, dtype) if room is None else room.view(dtype)[: 256 * step]
        return memory[::step]


if TYPE_CHECKING:

    class Base:
        """The base as type checkers see it."""

        ufunc: np.ufunc

        def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

else:
    Base = _ingot.UfuncHolder


class Vectorized(Base):
    """A ufunc of a compiled function: what `ingot.vectorize` makes.

    Parameters
    ----------
    function : function
        The Python function.
    signatures, identity, target, relaxed
        What `ingot.vectorize` makes of its options.

    See Also
    --------
    ingot.vectorize : The decorator that makes it.

    Examples
    --------
    >>> @ingot.vectorize
    ... def add(x, y):
    ...     return x + y
    >>> add.outer([1, 2], [10, 20])
    array([[11, 21],
           [12, 22]])
    >>> add.nin, add.nout, add.types
    (2, 1, ['ll->l'])
    """

    __name__: str
    __qualname__: str

    def __init__(
        self,
        function: Any,
        signatures: list[Signature] | None = None,
        identity: Any = None,
        target: str = "cpu",
        relaxed: tuple[str, ...] = (),
    ) -> None:
        super().__init__()
        functools.update_wrapper(self, function)
        self.__ingot_function__ = function
        self._signatures = signatures
        self._identity = identity
        self._target = target
        self._relaxed = relaxed
        self._element = Element(function, relaxed, target)
        for signature in signatures or ():
            self._check(signature)
        self._renew()

    def _check(self, signature: Signature) -> None:
        if any(t.ndim is not None for t in (*signature.parameters, *filter(None, [signature.result]))):
            raise TypeError(f"vectorize() takes signatures of numbers, not {str(signature)!r}; guvectorize() has arrays")
        if len(signature.parameters) != self._element.inputs:
            count = len(signature.parameters)
            raise TypeError(f"the signature {str(signature)!r} has {count} parameters, `{self.__name__}` {self._element.inputs}")
        if signature.result is not None and self._element.outputs != 1:
            raise TypeError(f"the signature {str(signature)!r} of a function of several results names one; leave it out")

    def _renew(self) -> None:
        """Makes the ufunc, without the loops that may be out of date."""
        element = self._element
        table = _ingot.Ufunc(
            self.__name__,
            inspect.getdoc(self.__ingot_function__) or "",
            element.inputs,
            element.outputs,
            self._identity,
            self._choose if self._signatures is None else None,
        )
        self._table = table
        self._loops: dict[tuple[np.dtype, ...], Loop] = {}
        self.ufunc: np.ufunc = table.make()
        remember(self)
        for signature in self._signatures or ():
            inputs = tuple(np.dtype(t.dtype) for t in signature.parameters)
            self._add(inputs, None if signature.result is None else (np.dtype(signature.result.dtype),)).prepare()

    def _add(self, inputs: tuple[np.dtype, ...], results: tuple[np.dtype, ...] | None = None) -> Loop:
        if inputs not in self._loops:
            loop = Loop(self._element, inputs, results)
            with _lock:  # another thread may have been quicker
                if inputs not in self._loops:
                    self._table.add(self.ufunc, loop)
                    self._loops[inputs] = loop
        return self._loops[inputs]

    def _choose(self, given: tuple[Any, ...], fixed: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """The dtypes of the loop for operands of these classes of dtypes; it is made if there is none. None: no loop."""
        inputs = _inputs_of(given[: self._element.inputs])
        if inputs is None:
            return None
        wanted = fixed[self._element.inputs :]
        dtypes = self._add(inputs).dtypes
        if not _fits(dtypes[len(inputs) :], wanted):
            named = _dtype_of_class(next(kind for kind in wanted if kind is not None))
            if named is None:
                return None
            inputs = tuple(named if kind is None else dtype for dtype, kind in zip(inputs, fixed))
            dtypes = self._add(inputs).dtypes
            if not _fits(dtypes[len(inputs) :], wanted):
                return None
        return tuple(type(dtype) for dtype in dtypes)

    def _current(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the ufunc gives; with other loops, where those that it has are out of date."""
        try:
            return getattr(self.ufunc, method)(*args, **kwargs)
        except Outdated:
            self._renew()
        return getattr(self.ufunc, method)(*args, **kwargs)

    def refreshed(self) -> np.ufunc:
        """The ufunc of NumPy's, for what the function reads outside now."""
        try:
            for loop in self._loops.values():
                loop.renewed()
        except Outdated:
            self._renew()
        return self.ufunc

    def reduce(self, *args: Any, **kwargs: Any) -> Any:
        """As `numpy.ufunc.reduce`."""
        return self._current("reduce", args, kwargs)

    def accumulate(self, *args: Any, **kwargs: Any) -> Any:
        """As `numpy.ufunc.accumulate`."""
        return self._current("accumulate", args, kwargs)

    def reduceat(self, *args: Any, **kwargs: Any) -> Any:
        """As `numpy.ufunc.reduceat`."""
        return self._current("reduceat", args, kwargs)

    def outer(self, *args: Any, **kwargs: Any) -> Any:
        """As `numpy.ufunc.outer`."""
        return self._current("outer", args, kwargs)

    def at(self, *args: Any, **kwargs: Any) -> None:
        """As `numpy.ufunc.at`."""
        self._current("at", args, kwargs)

    def resolve_dtypes(self, *args: Any, **kwargs: Any) -> tuple[np.dtype, ...]:
        """As `numpy.ufunc.resolve_dtypes`."""
        return self._current("resolve_dtypes", args, kwargs)

    @property
    def nin(self) -> int:
        """The number of inputs."""
        return self.ufunc.nin

    @property
    def nout(self) -> int:
        """The number of outputs."""
        return self.ufunc.nout

    @property
    def nargs(self) -> int:
        """The number of inputs and outputs."""
        return self.ufunc.nargs

    @property
    def ntypes(self) -> int:
        """The number of loops."""
        return self.ufunc.ntypes

    @property
    def types(self) -> list[str]:
        """The loops by the character codes of their dtypes, such as ``dd->d``."""
        return self.ufunc.types

    @property
    def identity(self) -> Any:
        """The identity of reductions, or None."""
        return self.ufunc.identity

    @property
    def signature(self) -> None:
        """None, since the operands are numbers."""
        return None

    def __repr__(self) -> str:
        return f"<ufunc {self.__name__!r}>"

    def __copy__(self) -> Vectorized:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Vectorized:
        return self

    def __reduce_ex__(self, protocol: Any) -> str | tuple[Any, ...]:
        """By its name, as a plain function; by cloudpickle, or where it has none, as the function that it compiles."""
        if is_pickled_by_name(self, sys._getframe(1)):
            return self.__qualname__
        return type(self), (Portable(self.__ingot_function__), self._signatures, self._identity, self._target, self._relaxed)


def _reduced_ufunc(ufunc: np.ufunc) -> Any:
    """How a ufunc is pickled: one that is inside of what `ingot` made, as that one's; others as NumPy has it."""
    holder = made_of(ufunc)
    return _NUMPYS(ufunc) if holder is None else (_inside, (holder,))


def _inside(holder: Any) -> np.ufunc:
    return holder.ufunc


_NUMPYS: Any = copyreg.dispatch_table[np.ufunc]
copyreg.pickle(np.ufunc, _reduced_ufunc)


def _dtype_of_class(kind: Any) -> np.dtype | None:
    """The dtype of a class of dtypes, if compiled code has it."""
    if kind.type in (int, float, complex):
        return None
    try:
        dtype = np.dtype(kind.type)
    except TypeError:
        return None
    return np.dtype(dtype.name) if dtype in DTYPES and isinstance(dtype, kind) or kind is np.dtypes.LongLongDType else None


def _inputs_of(given: tuple[Any, ...]) -> tuple[np.dtype, ...] | None:
    """The dtypes of a loop for operands of these classes of dtypes; None: there can be none.

    A number of Python's takes the dtype that it is promoted to with NumPy's operands. An open class is that of a
    reduction, whose result counts as its elements do.
    """
    if given[0] is None:
        given = (given[1], *given[1:])
    weak = {int: 0, float: 0.0, complex: 0j}
    strong = []
    for kind in given:
        if kind.type not in weak:
            dtype = _dtype_of_class(kind)
            if dtype is None:
                return None
            strong.append(dtype)
    known = iter(strong)
    return tuple(np.result_type(*strong, weak[kind.type]) if kind.type in weak else next(known) for kind in given)


def _fits(results: tuple[np.dtype, ...], wanted: tuple[Any, ...]) -> bool:
    return all(kind is None or isinstance(dtype, kind) for dtype, kind in zip(results, wanted))
