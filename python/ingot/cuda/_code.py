"""What becomes of kernels: their PTX, and what a device needs for them."""

from __future__ import annotations

import math
import operator
import os
import shutil
import subprocess
import tempfile
from typing import TYPE_CHECKING, Any

from .. import _ingot
from .._devices import find_toolkit
from .._ingot import Description
from .._signatures import Type

_PYTHON = {"bool": "bool", "int": "int64", "float": "float64", "complex": "complex128"}


def _type_of(description: Description) -> Any:
    """The type of an argument as a signature has it; of others their description."""
    if description.kind == Description.ARRAY:
        return Type(description.dtype, description.ndim, description.layout)
    if description.kind == Description.SCALAR:
        return Type(_PYTHON.get(description.number, description.number.removeprefix("numpy.")))
    return description


def _signature_of(specialisation: Any) -> tuple[Any, ...]:
    """The types of a kernel's own arguments, after those of the grid."""
    return tuple(map(_type_of, specialisation.key[7].parts)) if specialisation.key[7].kind == Description.TUPLE else ()


def _is_of(own: Any, wanted: Any) -> bool:
    if not (isinstance(own, Type) and isinstance(wanted, Type)):
        return own == wanted
    return (own.dtype, own.ndim) == (wanted.dtype, wanted.ndim) and wanted.layout in ("A", own.layout)


def _stages(specialisation: Any) -> dict[str, Any]:
    """How it is made, compiled once more."""
    if not hasattr(specialisation, "stages"):
        specialisation.stages = specialisation.compile(texts=True)
    return specialisation.stages


def _tool(name: str) -> str:
    """A program of the toolkit."""
    folders = [os.environ[variable] for variable in ("CUDA_HOME", "CUDA_PATH") if variable in os.environ]
    places = [shutil.which(name), *(os.path.join(folder, "bin", name) for folder in (*folders, "/usr/local/cuda"))]
    for place in places:
        if place is not None and os.access(place, os.X_OK):
            return place
    raise RuntimeError(f"there is no {name} to show machine code: install the CUDA toolkit, or set CUDA_HOME")


def _machine_code(specialisation: Any) -> str:
    if specialisation.device.capability == 0:
        raise RuntimeError(f"the driver of {specialisation.device} does not show its machine code")
    tool = _tool("nvdisasm")
    find_toolkit()
    options = specialisation.load_options or _ingot.load_options([], 0)
    cubin = _ingot.cubin(_stages(specialisation)["kernels"], options, specialisation.device.capability)
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        return subprocess.run([tool, "-c", file.name], check=True, capture_output=True, text=True).stdout


class Inspected:
    """What kernels show of the code that has been made of them. Signatures are tuples of types: `(float64[:], int64)`."""

    __name__: str

    if TYPE_CHECKING:

        @property
        def specialisations(self) -> list[Any]: ...

    def _made(self) -> dict[tuple[Any, ...], Any]:
        return {_signature_of(s): s for s in self.specialisations if s.device is not None}

    def _chosen(self, signature: Any) -> Any:
        made = self._made()
        if signature is None and len(made) == 1:
            return next(iter(made.values()))
        if signature is not None:
            wanted = tuple(getattr(signature, "parameters", signature))
            for own, specialisation in made.items():
                if len(own) == len(wanted) and all(map(_is_of, own, wanted)):
                    return specialisation
            listed = ", ".join(map(str, wanted))
            raise KeyError(f"`{self.__name__}` has not been launched with ({listed})")
        if not made:
            raise ValueError(f"`{self.__name__}` has not been launched on a device yet")
        raise ValueError(f"`{self.__name__}` has been launched with {len(made)} kinds of arguments: name the signature")

    def _texts(self, stage: str, signature: Any) -> Any:
        if signature is not None:
            return _stages(self._chosen(signature))[stage]
        return {own: _stages(s)[stage] for own, s in self._made().items()}

    def inspect_llvm(self, signature: Any = None) -> Any:
        """Return the LLVM IR of the compiled code.

        Parameters
        ----------
        signature : tuple of Type, optional
            The types of the arguments: ``(float64[:], int64)``.

        Returns
        -------
        str or dict
            Without a signature a dict of all, by signature.
        """
        return self._texts("kernels: LLVM IR", signature)

    def inspect_asm(self, signature: Any = None) -> Any:
        """Return the PTX of the compiled code.

        Parameters
        ----------
        signature : tuple of Type, optional
            The types of the arguments: ``(float64[:], int64)``.

        Returns
        -------
        str or dict
            Without a signature a dict of all, by signature.
        """
        return self._texts("kernels", signature)

    inspect_ptx = inspect_asm

    def inspect_sass(self, signature: Any = None) -> Any:
        """Return the machine code, made by nvJitLink and shown by nvdisasm.

        Parameters
        ----------
        signature : tuple of Type, optional
            The types of the arguments: ``(float64[:], int64)``.

        Returns
        -------
        str or dict
            Without a signature a dict of all, by signature.

        Raises
        ------
        RuntimeError
            These programs are not there.
        """
        if signature is not None:
            return _machine_code(self._chosen(signature))
        return {own: _machine_code(s) for own, s in self._made().items()}

    def _needs(self, signature: Any, threads: int = 32, dynsmemsize: int = 0) -> tuple[int, int, int, int]:
        """(registers, bytes of local memory, bytes of shared memory, blocks that a processor holds)"""
        specialisation = self._chosen(signature)
        stages = _stages(specialisation)
        (name,) = stages["final"].kernels
        return specialisation.needs_of(stages["kernels"], name, threads, operator.index(dynsmemsize))

    def get_regs_per_thread(self, signature: Any = None) -> int:
        """Return the registers of a thread.

        Parameters
        ----------
        signature : tuple of Type, optional
            As of `inspect_asm`; needed where several have been compiled.

        Returns
        -------
        int
            The number.
        """
        return self._needs(signature)[0]

    def get_local_mem_per_thread(self, signature: Any = None) -> int:
        """Return the bytes of local memory of a thread.

        Parameters
        ----------
        signature : tuple of Type, optional
            As of `get_regs_per_thread`.

        Returns
        -------
        int
            The number.
        """
        return self._needs(signature)[1]

    def get_shared_mem_per_block(self, signature: Any = None) -> int:
        """Return the bytes of shared memory of a block, without the dynamic ones.

        Parameters
        ----------
        signature : tuple of Type, optional
            As of `get_regs_per_thread`.

        Returns
        -------
        int
            The number.
        """
        return self._needs(signature)[2]

    def resident_blocks(self, blockdim: Any, dynsmemsize: int = 0, signature: Any = None) -> int:
        """Return how many blocks of so many threads a processor holds at once.

        Parameters
        ----------
        blockdim : int or tuple of int
            The threads of a block.
        dynsmemsize : int, default 0
            Bytes of dynamic shared memory of a block.
        signature : tuple of Type, optional
            As of `get_regs_per_thread`.

        Returns
        -------
        int
            The number.
        """
        extents = blockdim if isinstance(blockdim, (tuple, list)) else (blockdim,)
        return self._needs(signature, math.prod(map(operator.index, extents)), dynsmemsize)[3]

    def max_cooperative_grid_blocks(self, blockdim: Any, dynsmemsize: int = 0, signature: Any = None) -> int:
        """Return the most blocks of a launch whose threads all wait for each other (`ingot.cuda.cg.this_grid`).

        Parameters
        ----------
        blockdim, dynsmemsize, signature
            As of `resident_blocks`.

        Returns
        -------
        int
            The number.
        """
        return self.resident_blocks(blockdim, dynsmemsize, signature) * self._chosen(signature).device.processors
