"""What is linked with kernels: functions that others have written, in CUDA C++ or PTX or as the vendor's machine code."""

from __future__ import annotations

import dataclasses
import os
import re
from typing import Any, ClassVar

import numpy as np

from .._signatures import Pointer, Signature, Type, parse_signatures
from .._signatures.parameters import checked_keywords
from ._kernel import DeviceFunction

_SUFFIXES: dict[str, type[LinkableCode]] = {}


@dataclasses.dataclass(frozen=True)
class LinkableCode:
    """What is linked with a kernel, where it is not a file.

    Parameters
    ----------
    data : str or bytes
        The code.
    name : str, optional
        A name for it in messages.

    See Also
    --------
    declare_device : The functions in it.
    """

    data: Any
    name: str | None = None
    kind: ClassVar[int]
    """As the devices number it."""

    def __init_subclass__(cls, kind: int, suffixes: tuple[str, ...]) -> None:
        cls.kind = kind
        for suffix in suffixes:
            _SUFFIXES[suffix] = cls

    @property
    def words(self) -> tuple[int, str, bytes]:
        """What a device is given, the number of the kind, the name and the bytes."""
        data = self.data.encode() if isinstance(self.data, str) else bytes(self.data)
        return self.kind, self.name or f"<{type(self).__name__}>", data


class PTXSource(LinkableCode, kind=0, suffixes=(".ptx",)):
    """PTX to link with a kernel.

    Parameters
    ----------
    data, name
        As of `LinkableCode`.
    """


class CUSource(LinkableCode, kind=1, suffixes=(".cu",)):
    """CUDA C++ to link with a kernel, which NVRTC compiles.

    Parameters
    ----------
    data, name
        As of `LinkableCode`.
    """


class Cubin(LinkableCode, kind=2, suffixes=(".cubin",)):
    """Machine code for one generation of GPUs, to link with a kernel.

    Parameters
    ----------
    data, name
        As of `LinkableCode`.
    """


class Object(LinkableCode, kind=3, suffixes=(".o",)):
    """An object file with code for GPUs in it, to link with a kernel.

    Parameters
    ----------
    data, name
        As of `LinkableCode`.
    """


class Fatbin(LinkableCode, kind=4, suffixes=(".fatbin",)):
    """Machine code for several generations of GPUs, to link with a kernel.

    Parameters
    ----------
    data, name
        As of `LinkableCode`.
    """


class Archive(LinkableCode, kind=5, suffixes=(".a",)):
    """An archive of object files, to link with a kernel.

    Parameters
    ----------
    data, name
        As of `LinkableCode`.
    """


class LTOIR(LinkableCode, kind=6, suffixes=(".ltoir",)):
    """Code that nvJitLink compiles and optimises together with a kernel.

    Parameters
    ----------
    data, name
        As of `LinkableCode`.
    """


def linkables(given: Any) -> tuple[LinkableCode, ...]:
    """What a list of files and of `LinkableCode` names; the files are read now. A single one is a list, too."""
    if given is None:
        return ()
    if isinstance(given, (str, os.PathLike, LinkableCode)):
        given = (given,)
    return tuple(map(_linkable, given))


def _linkable(given: Any) -> LinkableCode:
    if isinstance(given, LinkableCode):
        if type(given) is LinkableCode:
            raise TypeError("what is linked is a file, or one of the kinds of LinkableCode")
        return given
    path = os.path.abspath(os.fspath(given))
    made = _SUFFIXES.get(os.path.splitext(path)[1])
    if made is None:
        raise ValueError(f"what is linked ends in {', '.join(sorted(_SUFFIXES))}, not {os.path.basename(path)!r}")
    with open(path, "rb") as file:
        return made(file.read(), path)


@dataclasses.dataclass(frozen=True, eq=False)
class Declaration:
    """A function that is linked: the type that it has in C."""

    name: str
    signature: Signature
    abi: str
    link: tuple[LinkableCode, ...]

    @property
    def form(self) -> tuple[Any, ...]:
        """What all declarations of the name in a kernel have to agree in."""
        return self.result, self.types, self.abi

    @property
    def result(self) -> str | None:
        """The dtype of what it gives; None: nothing."""
        result = self.signature.result
        return None if result is None or result.dtype == "void" else result.dtype

    @property
    def kinds(self) -> tuple[tuple[Any, ...], ...]:
        """What the library makes of each argument."""
        return tuple(_kind(parameter) for parameter in self.signature.parameters)

    @property
    def types(self) -> tuple[str, ...]:
        """What C is given for them: dtypes of numbers, and addresses of elements (`*float32`)."""
        return tuple(word for parameter in self.signature.parameters for word in _words(parameter))


def _kind(parameter: Any) -> tuple[Any, ...]:
    if isinstance(parameter, Pointer):
        return ("pointer",)
    if parameter.ndim is not None:
        return ("array", parameter.ndim, parameter.layout)
    return ("complex", parameter.dtype) if parameter.dtype.startswith("complex") else ("number",)


def _words(parameter: Any) -> tuple[str, ...]:
    """An array is flattened as Numba has it: two owners (0 here), its size, bytes of an element, address, lengths, strides."""
    if isinstance(parameter, Pointer):
        return (f"*{parameter.dtype}",)
    if parameter.ndim is not None:
        return ("int64",) * 4 + (f"*{parameter.dtype}",) + ("int64",) * (2 * parameter.ndim)
    if parameter.dtype.startswith("complex"):
        return (str(np.zeros(1, parameter.dtype).real.dtype),) * 2
    return (parameter.dtype,)


class LinkedFunction(DeviceFunction):
    """A function that is linked with kernels: what `ingot.cuda.declare_device` returns.

    Parameters
    ----------
    function, signatures, mode, relaxed, static, device
        As of `ingot.jit` functions.

    See Also
    --------
    declare_device
    """

    def __repr__(self) -> str:
        return f"<ingot.cuda linked function {self.__name__}>"


@checked_keywords
def declare_device(name: str, sig: Any, link: Any = None, *, abi: str = "numba") -> LinkedFunction:
    """Declare a function that is linked with kernels.

    Parameters
    ----------
    name : str
        Its name in the code that is linked.
    sig : str or type
        Its signature: ``"int32(int32, int32)"``. Types are numbers, arrays, and ``CPointer(float32)``, for which an array of that
        dtype without gaps is given.
    link : str, LinkableCode, or list of these, optional
        What it is linked from, as of `jit`; it may be named at the kernel instead.
    abi : {"numba", "c"}, default "numba"
        ``"numba"``: ``extern "C" __device__ int bar(int* result, int a, int b)``, which returns a status; where it is not 0 the thread
        raises RuntimeError. ``"c"``: ``extern "C" __device__ int bar(int a, int b)``.

    Returns
    -------
    LinkedFunction
        Kernels, and functions that they call, call it.

    Raises
    ------
    TypeError, ValueError
        The signature or the link is wrong.
    """
    from ..library.linked import calling

    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or name.startswith("ingot_"):
        raise ValueError(f"a function that is linked has a name of C's, which does not begin with `ingot_`: {name!r}")
    if abi not in ("numba", "c"):
        raise ValueError(f"the convention of a call is 'numba' or 'c', not {abi!r}")
    signatures = parse_signatures(sig)
    if len(signatures) != 1:
        raise TypeError(f"a function that is linked has one signature, not {len(signatures)}")
    (signature,) = signatures
    result = signature.result
    if isinstance(result, Pointer) or result is not None and result.ndim is not None:
        raise TypeError(f"a function that is linked gives a number or nothing, not {result}")
    parts = (*signature.parameters, *(() if result is None else (result,)))
    if abi == "c" and any(isinstance(part, Type) and (part.ndim is not None or part.dtype.startswith("complex")) for part in parts):
        raise TypeError(f"C takes and gives real numbers and pointers: {signature}")
    return LinkedFunction(calling(Declaration(name, signature, abi, linkables(link))))
