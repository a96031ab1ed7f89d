"""`@cuda.jit`: what the decorator takes, and what it makes of a function.

A kernel is compiled as a function of the extents of grid and block, the bytes of dynamic shared memory, and the kernel's
arguments (`library.kernels.entry`), an ordinary `Function`: it has guards, specialisations and calls as any other.
"""

from __future__ import annotations

import ast
import functools
import operator
import re
import types
from collections.abc import Callable, Iterable
from typing import Any

from .. import _errors
from .._arrays.array import Array
from .._calls.function import Function, refused_argument, type_text
from .._calls.jit import relaxations
from .._code import source
from .._devices import Device, Loading
from .._devices.streams import Stream, checked_stream, in_stream
from .._environment import value_of
from .._errors import UnsupportedError
from .._profile import uncounted
from .._reports.explanation import Explanation
from .._signatures import Signature, Type, is_no_signature, parse_signatures
from .._signatures.parameters import Parameters, bind, checked_keywords, not_a_function, parameters_of
from ._code import Inspected
from ._current import current_device

MOST_THREADS = 1024
"""Of a block."""
_MOST_OF_BLOCK = (1024, 1024, 64)
_MOST_OF_GRID = (2**31 - 1, 65535, 65535)
_THREADS_OF_FORALL = 128
_MOST_CONFIGURED = 64
_NO_CONFIGURATION = object()


def _extents(given: Any, what: str, most: tuple[int, ...]) -> tuple[int, int, int]:
    """Three extents of one number or up to three; ValueError where there can be no such grid or block."""
    parts = given if isinstance(given, (tuple, list)) else (given,)
    if not 1 <= len(parts) <= 3:
        raise ValueError(f"{what} has 1 to 3 extents, not {len(parts)}: {given!r}")
    try:
        numbers = [operator.index(part) for part in parts]
    except TypeError:
        raise TypeError(f"{what} is an int or a tuple of ints, not {given!r}") from None
    if any(number < 1 for number in numbers):
        raise ValueError(f"{what} has at least 1 along each axis: {given!r}")
    for number, limit, axis in zip(numbers, most, "xyz"):
        if number > limit:
            raise ValueError(f"{what} has at most {limit} along {axis}: {given!r}")
    x, y, z = numbers + [1] * (3 - len(numbers))
    return x, y, z


def _is_of_ints(configuration: Any) -> bool:
    """Whether it is of ints and tuples of ints alone: 1.0 and True are equal to 1, and others."""
    if type(configuration) is not tuple:
        return False
    for part in configuration:
        if type(part) is int:
            continue
        if type(part) is not tuple:
            return False
        for extent in part:
            if type(extent) is not int:
                return False
    return True


def _bounds(given: Any) -> tuple[int, int]:
    """The most threads of a block and the fewest blocks of a processor; 0: not given."""
    if given is None:
        return 0, 0
    parts = given if isinstance(given, (tuple, list)) else (given,)
    numbers = [operator.index(part) for part in parts]
    if not 1 <= len(numbers) <= 2 or any(number < 1 for number in numbers) or numbers[0] > MOST_THREADS:
        raise ValueError(f"launch_bounds are the most threads of a block, up to {MOST_THREADS}, and perhaps the fewest blocks: {given!r}")
    return numbers[0], numbers[1] if len(numbers) > 1 else 0


class ConfiguredKernel:
    """A kernel with its grid: ``kernel[griddim, blockdim, stream, sharedmem]``.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    griddim, blockdim, stream, sharedmem
        As of `Kernel.configure`.

    See Also
    --------
    ingot.cuda.jit : The decorator that makes kernels.
    """

    def __init__(self, kernel: Kernel, griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: int = 0) -> None:
        self.kernel = kernel
        self.griddim: tuple[int, int, int] = _extents(griddim, "the grid", _MOST_OF_GRID)
        self.blockdim: tuple[int, int, int] = _extents(blockdim, "a block", _MOST_OF_BLOCK)
        threads = self.blockdim[0] * self.blockdim[1] * self.blockdim[2]
        if threads > MOST_THREADS:
            raise ValueError(f"a block has at most {MOST_THREADS} threads, not {threads}: {blockdim!r}")
        if 0 < kernel._bounds[0] < threads:
            raise ValueError(f"a block of `{kernel.__name__}` has at most {kernel._bounds[0]} threads, by its launch_bounds, not {threads}")
        self.stream: Stream | None = checked_stream(stream)
        self.sharedmem: int = operator.index(sharedmem)
        if self.sharedmem < 0:
            raise ValueError(f"the bytes of shared memory are not negative: {sharedmem!r}")
        self._numbers = (*self.griddim, *self.blockdim, self.sharedmem)
        # What launches with arguments that decide where it runs, as they are; it has so many. -1: there is none.
        self._direct: Callable[..., Any] | None = None
        self._count: int = kernel._count if self.stream is None and kernel.signatures is None else -1

    def _of(self, kernel: Kernel | None) -> ConfiguredKernel:
        """The same grid, which is not checked again."""
        made = object.__new__(ConfiguredKernel)
        made.__dict__.update(self.__dict__, kernel=kernel)
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        if not kwargs and len(args) == self._count:
            for value in args:
                if type(value) is Array:
                    (self._direct or self._make_direct())(*args)
                    return
        self.kernel._launch(self, args, kwargs)

    def _make_direct(self) -> Callable[..., Any]:
        self._direct = functools.partial(self.kernel._function(None, self.sharedmem > 0), *self._numbers)
        return self._direct

    def __repr__(self) -> str:
        return f"<ingot.cuda kernel {self.kernel.__module__}.{self.kernel.__qualname__}[{self.griddim}, {self.blockdim}]>"

    def explain(self, *args: Any, device: str | Device | None = None, **kwargs: Any) -> Explanation:
        """Show how a launch is compiled, without launching anything.

        Parameters
        ----------
        *args, **kwargs
            The arguments of the kernel.
        device : str or Device, optional
            As of `ingot.jit` functions' `explain`, for example ``"sm_90"``; by default where the arrays are, or the current device.

        Returns
        -------
        Explanation
            A string; its attribute `launches` has the launches as data.
        """
        values = self.kernel._bind(args, kwargs)
        place = None if device is not None else _place_of(values, self.stream)
        run = self.kernel._function(place, self.sharedmem > 0)
        return run.explain(*self._numbers, *values, device=device)


class _ForAll:
    """A kernel for so many threads, or some more: what `kernel.forall(n)` gives."""

    def __init__(self, kernel: Kernel, ntasks: int, tpb: int, stream: Any, sharedmem: int) -> None:
        if ntasks < 0:
            raise ValueError(f"cannot run a kernel for {ntasks} tasks")
        self.kernel: Kernel = kernel
        self.ntasks: int = ntasks
        self.tpb: int = tpb or _THREADS_OF_FORALL
        self.stream: Any = stream
        self.sharedmem: int = sharedmem

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        if self.ntasks == 0:
            return
        blocks = -(-self.ntasks // self.tpb)
        self.kernel[blocks, self.tpb, self.stream, self.sharedmem](*args, **kwargs)


class _Launcher(Function):
    """What launches a kernel: a function of the grid and of a tuple, whose parts messages name as the kernel's arguments."""

    _kernel: Any

    def _for_device(self, device: Device | None) -> Function:
        made = super()._for_device(device)
        made._kernel = self._kernel  # type: ignore[attr-defined]
        return made

    def _site(self) -> _errors.Site:
        code = self._kernel.__code__
        return (code.co_filename, code.co_firstlineno, 0, 0, code.co_name)

    def _refusal(self, name: str, what: str, advice: str) -> UnsupportedError:
        found = re.match(r"arguments\.(\d+)", name)
        if found is None:
            return super()._refusal(name, what, advice)
        names, place = parameters_of(self._kernel).names, int(found[1])
        own = names[place] if place < len(names) else names[-1]
        return refused_argument(self._kernel, own, what.replace(found[0], own), advice)

    def _make(self, arguments: Any, values: list[Any], why: str, cause: str) -> Any:
        try:
            return super()._make(arguments, values, why, cause)
        except UnsupportedError as error:
            if not error._argument.startswith("arguments."):
                raise
            raise self._refusal(error._argument, *error._told) from None


class Kernel(Inspected):
    """A kernel: what `ingot.cuda.jit` makes of a function.

    ``kernel[griddim, blockdim, stream=0, sharedmem=0](arguments)`` runs it.

    Parameters
    ----------
    function : function
        The Python function, also `py_func`.
    signatures, relaxed, options
        What `ingot.cuda.jit` makes of its options.

    See Also
    --------
    ingot.cuda.jit : The decorator that makes it.
    """

    __name__: str
    __qualname__: str

    def __init__(
        self, function: Callable[..., Any], signatures: list[Signature] | None, relaxed: tuple[str, ...], options: dict[str, Any]
    ) -> None:
        functools.update_wrapper(self, function)
        self.__ingot_function__: Any = function
        self.py_func: Callable[..., Any] = function
        self.signatures = signatures
        self.link: Any = options.get("link", ())
        self.max_registers: Any = options.get("max_registers")
        self.launch_bounds: Any = options.get("launch_bounds")
        self._bounds = _bounds(self.launch_bounds)
        if self.max_registers is not None and operator.index(self.max_registers) < 1:
            raise ValueError(f"a thread has at least one register: max_registers={self.max_registers!r}")
        self.debug: bool = options.get("debug", False)
        self.opt: bool = options.get("opt", True)
        parameters = _check_parameters(function)
        self._relaxed = relaxed
        self._functions: dict[tuple[Device | None, bool], Function] = {}
        # How many arguments a launch has that takes them as they are; -1: it binds them.
        self._count: int = -1 if parameters.has_rest else len(parameters.names)
        self._configured: dict[tuple[Any, ...], ConfiguredKernel] = {}
        self._last: tuple[Any, Any] = _NO_CONFIGURATION, None

    def __repr__(self) -> str:
        return f"<ingot.cuda kernel {self.__module__}.{self.__qualname__}>"

    def __getitem__(self, configuration: Any) -> ConfiguredKernel:
        last, known = self._last
        if configuration is last:  # a constant of the caller's code
            return known._of(self)
        is_kept = _is_of_ints(configuration)
        known = self._configured.get(configuration) if is_kept else None
        if known is not None:
            if known._count >= 0 and (run := self._functions.get((None, known.sharedmem > 0))) is not None:
                known._direct = functools.partial(run, *known._numbers)
                self._last = configuration, known
            return known._of(self)
        if not isinstance(configuration, tuple) or not 2 <= len(configuration) <= 4:
            raise ValueError(
                f"a launch is written {self.__name__}[griddim, blockdim, stream=0, sharedmem=0](arguments): "
                f"{self.__name__}[{configuration!r}]"
            )
        made = ConfiguredKernel(self, *configuration)
        if is_kept:
            if len(self._configured) >= _MOST_CONFIGURED:
                self._configured.clear()
            self._configured[configuration] = made._of(None)  # no cycle of references
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        raise ValueError(f"the launch of a kernel wants a grid: {self.__name__}[griddim, blockdim](arguments)")

    def configure(self, griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: int = 0) -> ConfiguredKernel:
        """Return the kernel with its grid: the same as ``kernel[griddim, blockdim, stream, sharedmem]``.

        Parameters
        ----------
        griddim, blockdim : int or tuple of int
            The blocks of the grid, and the threads of a block, along one to three axes.
        stream : Stream, optional
            Where it runs; 0 is the calling thread's stream.
        sharedmem : int, default 0
            Bytes of dynamic shared memory of a block.

        Returns
        -------
        ConfiguredKernel
            It is called with the kernel's arguments.
        """
        return ConfiguredKernel(self, griddim, blockdim, stream, sharedmem)

    def forall(self, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> _ForAll:
        """Return the kernel for at least so many threads along one axis.

        Parameters
        ----------
        ntasks : int
            The least number of threads. The kernel compares its index with what it has to do.
        tpb : int, optional
            Threads of a block.
        stream, sharedmem
            As of `configure`.

        Returns
        -------
        callable
            It is called with the kernel's arguments.
        """
        return _ForAll(self, operator.index(ntasks), operator.index(tpb), stream, sharedmem)

    def _function(self, device: Device | None, with_shared: bool = False) -> Function:
        """What launches the kernel, on a device or where its arrays are, with dynamic shared memory or without; made at
        the first such launch."""
        if (made := self._functions.get((device, with_shared))) is not None:
            return made
        from ..library.kernels import entry

        self._refuse_results()
        made = _Launcher(entry(self.py_func, with_shared), mode=value_of("INGOT_KERNELS"), relaxed=self._relaxed, device=device)
        functools.update_wrapper(made, self.py_func, ("__name__", "__qualname__", "__doc__"), ())
        made._kernel = self.py_func
        made._loading = Loading(self.link, self.max_registers or 0, *self._bounds)
        return self._functions.setdefault((device, with_shared), made)

    @property
    def specialisations(self) -> list[Any]:
        """What has been compiled so far."""
        return [made for function in self._functions.values() for made in function.specialisations]

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        parameters = _check_parameters(self.py_func)
        if kwargs or parameters.has_rest or len(args) != len(parameters.names):
            bound = bind(self.__ingot_function__, args, kwargs)
            rest = bound[parameters.names[parameters.rest]] if parameters.has_rest else ()
            args = (*(bound[name] for name in parameters.by_position), *rest)
        if self.signatures is None:
            return args
        for signature in self.signatures:
            converted = signature.match(list(args))
            if converted is not None:
                return tuple(converted)
        listed = "\n".join(f"  {s}" for s in self.signatures)
        given = ", ".join(type_text(value) for value in args)
        raise TypeError(f"no signature of `{self.__name__}` takes ({given}); there are\n{listed}")

    def _launch(self, at: ConfiguredKernel, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        values = self._bind(args, kwargs)
        run = self._function(_place_of(values, at.stream), at.sharedmem > 0)
        with in_stream(at.stream):
            run(*at._numbers, *values)

    def _refuse_results(self) -> None:
        """Refuses a kernel that returns a value."""
        node, file, _ = source.find(self.__ingot_function__)
        for place in _returns(node):
            value = place.value
            if value is None or isinstance(value, ast.Constant) and value.value is None:
                continue
            end = place.end_col_offset if place.end_lineno == place.lineno else place.col_offset + 1
            site = (file, place.lineno, place.col_offset, end, self.__name__)
            advice = "write the value into an array that the kernel is given"
            raise _errors.unsupported((site,), "a kernel that returns a value", advice)


def _check_parameters(function: Any) -> Parameters:
    """The parameters of a kernel. TypeError: a launch cannot give what they take."""
    parameters = parameters_of(function)
    if len(parameters.names) != parameters.positional + parameters.has_rest:
        raise TypeError(f"the kernel `{function.__name__}` has parameters that are given by name alone")
    return parameters


def _place_of(values: tuple[Any, ...], stream: Stream | None) -> Device | None:
    """Where a kernel runs: the device of the stream, or the default one; None where its arrays decide."""
    if value_of("INGOT_KERNELS") == "interpreted":
        return None
    for value in values:
        if isinstance(value, Array):
            if stream is not None and stream.device is not value.device:
                raise ValueError(f"an array on {value.device} in a stream of {stream.device}")
            return None
    return current_device() if stream is None else stream.device


def _returns(node: Any) -> Iterable[Any]:
    """The `return` statements of a function, without those of functions in it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            continue
        if isinstance(child, ast.Return):
            yield child
        yield from _returns(child)


class DeviceFunction(Function):
    """A function that kernels call: what ``ingot.cuda.jit(device=True)`` makes.

    Parameters
    ----------
    function : function
        The Python function.
    signatures, mode, relaxed, static, device
        As of `ingot.jit` functions.

    See Also
    --------
    ingot.cuda.jit : The decorator that makes it.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(
            f"a call of `{self.__name__}`, a device function, outside of a kernel is not supported\n"
            "  instead: call it in a kernel, or decorate the function with `ingot.jit`"
        )

    def __repr__(self) -> str:
        return f"<ingot.cuda device function {self.__module__}.{self.__qualname__}>"


def _parsed(signatures: Any, device: bool) -> list[Signature] | None:
    if signatures is None:
        return None
    parsed = parse_signatures(signatures)
    for signature in parsed:
        if not device and signature.result not in (None, Type("void")):
            raise TypeError(f"a kernel gives nothing: the signature {signature} has a result")
    return parsed


@checked_keywords
def jit(
    func_or_sig: Any = None,
    device: bool = False,
    *,
    link: Any = None,
    fastmath: bool | str | Iterable[str] = False,
    max_registers: int | None = None,
    launch_bounds: Any = None,
    debug: bool = False,
    opt: bool = True,
    cache: bool = True,
    inline: Any = "never",
    lineinfo: bool = False,
) -> Any:
    """Make a kernel of a Python function, or a device function that kernels call.

    Used as ``@cuda.jit``, with options, or with signatures: ``@cuda.jit("void(float64[:])")``.

    Parameters
    ----------
    func_or_sig : callable, or str, type or list of these, optional
        The function, or the signatures, as of `ingot.jit`.
    device : bool, default False
        True: kernels call the function, which may return any value. A kernel returns nothing.
    link : str, LinkableCode, or list of these, optional
        What is linked with a kernel, whose functions `declare_device` declares: files of CUDA C++ (``.cu``, compiled by
        NVRTC), PTX (``.ptx``), machine code (``.cubin``, ``.fatbin``, ``.o``, ``.a``), ``.ltoir``. They are read now.
    fastmath : bool, str or iterable of str, default False
        As of `ingot.jit`.
    max_registers : int, optional
        The most registers of a thread, for the device's compiler.
    launch_bounds : int or tuple of int, optional
        The most threads of a block, or these and the fewest blocks that fit on a processor.
    debug, opt : bool
        Attributes of the kernel.
    cache, inline, lineinfo
        Options of Numba, accepted and without effect.

    Returns
    -------
    Kernel or DeviceFunction
        With options or signatures alone, a decorator. ``kernel[griddim, blockdim, stream=0, sharedmem=0](arguments)`` runs the
        kernel once for each thread of the grid of blocks.

    Raises
    ------
    TypeError, ValueError
        Options are wrong; by a launch: no signature takes the arguments, or the grid is too large for the device.
    UnsupportedError
        By a launch: the kernel cannot be compiled.
    RuntimeError
        By a launch: there is no device for it.

    See Also
    --------
    ingot.jit : Functions of whole arrays and loops.

    Notes
    -----
    Exceptions of threads leave the launch: that of the lowest thread, by its indices. docs/cuda.md has the rules.

    Examples
    --------
    >>> from ingot import cuda
    >>> @cuda.jit
    ... def add(x, y, out):
    ...     i = cuda.grid(1)
    ...     if i < out.size:
    ...         out[i] = x[i] + y[i]
    >>> x = np.arange(4.0)
    >>> out = np.zeros(4)
    >>> with ingot.device("emulated"):  # a GPU in software
    ...     add[1, 4](x, x, out)
    >>> out
    array([0., 2., 4., 6.])
    """
    if device and link:
        raise ValueError("a device function is linked with the kernels that call it: give `link` to them")
    from ._linking import linkables

    relaxed = relaxations(fastmath)
    func_or_sig = uncounted(func_or_sig)
    is_function = isinstance(func_or_sig, (types.FunctionType, Function))
    if not is_function and func_or_sig is not None and is_no_signature(func_or_sig):
        raise not_a_function("cuda.jit", func_or_sig)
    parsed = None if is_function else _parsed(func_or_sig, device)
    kept = {"link": linkables(link), "max_registers": max_registers, "launch_bounds": launch_bounds, "debug": debug, "opt": opt}

    def decorate(f: Any) -> Any:
        f = uncounted(f)
        if not isinstance(f, (types.FunctionType, Function)):
            raise not_a_function("cuda.jit", f)
        own = f.__ingot_function__ if isinstance(f, Function) else f
        if device:
            return DeviceFunction(own, None, relaxed=relaxed)
        return Kernel(own, parsed, relaxed, kept)

    return decorate(func_or_sig) if is_function else decorate
