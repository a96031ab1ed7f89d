"""`ingot.shard_map`: one function on all positions of a mesh, which threads or the ranks of MPI's run."""

from __future__ import annotations

import contextvars
import functools
import inspect
import itertools
import math
import operator
import os
import sys
import threading
import types
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar

import numpy as np

from .. import _ingot, tree
from .._calls.function import transformed
from .._calls.portable import Portable, is_pickled_by_name
from .._calls.jit import jit
from .._errors import UnsupportedError
from .._routines import mpi
from .._signatures.parameters import checked_keywords

P_ = ParamSpec("P_")
R_co = TypeVar("R_co", covariant=True)


class PartitionSpec:
    """Which axes of a mesh the axes of an array are divided along; also `ingot.P`.

    Parameters
    ----------
    *axes : None, hashable, or tuple of hashables
        For each axis of the array, from the first on: None, the name of an axis of the mesh, or names of several, of which
        the last varies fastest. Axes that are left out are not divided.

    See Also
    --------
    shard_map : What takes them.

    Notes
    -----
    It has the length, the items and the iterator of the tuple of what was given.

    Examples
    --------
    >>> ingot.P("x", None)
    P('x', None)
    >>> ingot.P("x", None)[0]
    'x'
    >>> ingot.P() == ingot.P()
    True
    """

    __module__ = "ingot"
    __slots__ = ("_axes", "_given")
    _axes: tuple[tuple[Hashable, ...], ...]
    _given: tuple[Any, ...]

    def __init__(self, *axes: Any) -> None:
        self._given = tuple(tuple(one) if isinstance(one, list) else one for one in axes)
        self._axes = tuple(() if one is None else tuple(one) if isinstance(one, (tuple, list)) else (one,) for one in axes)

    @property
    def _names(self) -> tuple[Hashable, ...]:
        """The names of all axes of the mesh that are in it."""
        return tuple(itertools.chain.from_iterable(self._axes))

    def __iter__(self) -> Iterator[Any]:
        return iter(self._given)

    def __getitem__(self, index: Any) -> Any:
        return self._given[index]

    def __len__(self) -> int:
        return len(self._given)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartitionSpec) and self._axes == other._axes

    def __hash__(self) -> int:
        return hash(self._axes)

    def __repr__(self) -> str:
        shown = (repr(None if not one else one[0] if len(one) == 1 else one) for one in self._axes)
        return f"P({', '.join(shown)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return PartitionSpec, self._given


P = PartitionSpec
_WHOLE = PartitionSpec()
_THREADS = "threads"


class Mesh:
    """The positions that a function is called on by `ingot.shard_map`, along axes with names.

    Parameters
    ----------
    shape : dict
        The number of positions along each axis, by its name.
    over : {"threads"} or communicator, default "threads"
        Who runs the positions: threads of this process, or the ranks of a communicator of mpi4py's, which are as many. The last
        axis varies fastest from rank to rank. All ranks make the mesh.

    Attributes
    ----------
    shape : mapping
        As given, not to be changed.
    axis_names : tuple
        The names of the axes.
    size : int
        The number of all positions.

    Raises
    ------
    ValueError
        A length is below 1, or the communicator has another number of ranks.
    TypeError
        `shape` is no dict of ints, or `over` is neither.
    UnsupportedError
        `over` is "devices".

    See Also
    --------
    shard_map : Calls a function on all of them.

    Examples
    --------
    >>> mesh = ingot.Mesh({"x": 2, "y": 2})
    >>> mesh.size
    4
    """

    __module__ = "ingot"

    def __init__(self, shape: Mapping[Any, int], over: Any = _THREADS) -> None:
        if not isinstance(shape, Mapping):
            raise TypeError(f"a mesh has a dict of lengths by names of axes, such as {{'x': 2}}, not {type(shape).__name__}")
        self.shape: Mapping[Any, int] = types.MappingProxyType({name: operator.index(length) for name, length in shape.items()})
        if any(length < 1 for length in self.shape.values()):
            raise ValueError(f"the axes of a mesh have lengths from 1 on, not {dict(self.shape)}")
        self.over = over
        self.axis_names: tuple[Any, ...] = tuple(self.shape)
        self.size: int = math.prod(self.shape.values())
        self._comms: dict[Any, Any] = {}
        if isinstance(over, str):
            if over == "devices":
                raise UnsupportedError("a mesh over devices is not supported\n  instead: give each rank, or thread, a device of its own")
            if over != _THREADS:
                raise ValueError(f"a mesh is over 'threads' or a communicator, not {over!r}")
        else:
            self._divide(over)

    def _divide(self, comm: Any) -> None:
        """Makes a communicator for each axis, of the ranks that differ along it alone."""
        module = sys.modules.get("mpi4py.MPI")
        if module is None or not isinstance(comm, module.Intracomm):
            raise TypeError(f"a mesh is over 'threads' or a communicator of mpi4py's, not {type(comm).__name__}")
        if comm.Get_size() != self.size:
            raise ValueError(f"a mesh of {self.size} positions over a communicator of {comm.Get_size()} ranks")
        own = self._positions()[comm.Get_rank()]
        for k, name in enumerate(self.axis_names):
            others = (*own[:k], *own[k + 1 :])
            lengths = [length for other, length in self.shape.items() if other != name]
            color = int(np.ravel_multi_index(others, lengths)) if others else 0
            self._comms[name] = comm.Split(color, own[k])

    def _positions(self) -> list[tuple[int, ...]]:
        """The indices of all positions along the axes, in order."""
        return list(itertools.product(*map(range, self.shape.values())))

    def __repr__(self) -> str:
        return f"Mesh({dict(self.shape)}, over={self.over!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mesh) and list(self.shape.items()) == list(other.shape.items()) and self.over == other.over

    def __hash__(self) -> int:
        return hash(tuple(self.shape.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        if self.over != _THREADS:
            raise TypeError("a mesh over a communicator is not pickled: make it in the process that uses it")
        return Mesh, (dict(self.shape),)


class Sharded(Generic[P_, R_co]):
    """A function on all positions of a mesh: what `ingot.shard_map` returns."""

    def __init__(self, f: Callable[..., Any], mesh: Mesh, in_specs: Any, out_specs: Any, local: bool) -> None:
        from ..library.shards import on_shards

        self._mesh, self._in_specs, self._out_specs, self._local = mesh, in_specs, out_specs, local
        self._compiled = transformed(jit(on_shards(f, mesh.axis_names)), f, "shard_map", (mesh, in_specs, out_specs, local))
        transformed(self, f)

    __name__: str
    __qualname__: str
    __wrapped__: Any

    def __repr__(self) -> str:
        return f"<ingot.shard_map of {self.__module__}.{self.__qualname__}>"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __reduce_ex__(self, protocol: Any) -> str | tuple[Any, ...]:
        if is_pickled_by_name(self, sys._getframe(1)):
            return self.__qualname__
        return _restored, (Portable(self.__wrapped__), self._mesh, self._in_specs, self._out_specs, self._local)

    def __copy__(self) -> Sharded[P_, R_co]:
        return self

    def __deepcopy__(self, memo: Any) -> Sharded[P_, R_co]:
        return self

    def __call__(self, *args: P_.args, **kwargs: P_.kwargs) -> R_co:
        if _ingot.is_shard():
            raise UnsupportedError("a call of `ingot.shard_map` in a shard is not supported\n  instead: give the mesh one more axis, or use `ingot.vmap`")
        if any(isinstance(x, _ingot.DeviceArray) for x in (*args, *kwargs.values())):
            raise UnsupportedError("an array on a device in `ingot.shard_map` is not supported\n  instead: give it NumPy's arrays")
        if self._mesh.over == _THREADS:
            results = self._on_threads(args, kwargs)
            return self._assembled([tree.flatten(result) for result in results], results[0])
        return self._on_ranks(args, kwargs)

    # ---- arguments

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[tuple[int, ...]], tuple[tuple[Any, ...], dict[str, Any]]]:
        """What gives each position its arguments. A spec is one of a parameter, whose argument may be given by name."""
        specs, known = self._in_specs, self._positional
        is_one = not isinstance(specs, (tuple, list))
        by_name = [name for name, may_be_named in known[len(args) : None if is_one else len(specs)] if may_be_named and name in kwargs]
        count = len(args) + len(by_name)
        if not is_one and len(specs) != count:
            raise ValueError(f"shard_map in_specs has {len(specs)} entries for {count} positional arguments")
        each = (specs,) * count if is_one else specs
        names = [known[i][0] if i < len(known) else str(i) for i in range(len(args))]
        divided = [self._divided(x, spec, name) for x, spec, name in zip(args, each, names)]
        named = {name: self._divided(kwargs[name], spec, name) for name, spec in zip(by_name, each[len(args) :])}
        return lambda indices: (tuple(x(indices) for x in divided), {**kwargs, **{name: x(indices) for name, x in named.items()}})

    @functools.cached_property
    def _positional(self) -> list[tuple[str, bool]]:
        """The names of the parameters that are given by position, and whether they may be given by name."""
        try:
            parameters = inspect.signature(self.__wrapped__).parameters.values()
        except (TypeError, ValueError):
            return []
        either = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return [(each.name, each.kind == either) for each in parameters if each.kind in (either, inspect.Parameter.POSITIONAL_ONLY)]

    def _divided(self, x: Any, spec: Any, name: str) -> Callable[[tuple[int, ...]], Any]:
        """What gives each position its part of an argument."""
        if spec is None or spec == _WHOLE:
            return lambda indices: x
        leaves, structure = tree.flatten(x)
        blocks = [self._blocks(leaf, one, name) for leaf, one in zip(leaves, _beside(spec, x, "in_specs"))]
        return lambda indices: tree.unflatten(structure, [block(indices) for block in blocks])

    def _blocks(self, x: Any, spec: PartitionSpec | None, name: str) -> Callable[[tuple[int, ...]], Any]:
        """What gives each position its block of an array: a view."""
        if spec is None or not spec._axes:
            return lambda indices: x
        _need_rank(_kind_of(x), spec, f"argument {name}")
        axes = []
        for k, names in enumerate(spec._axes):
            count = math.prod(self._mesh.shape[one] for one in names)
            if x.shape[k] % count:
                axis = " and ".join(map(str, names))
                raise ValueError(
                    f"shard_map applied to the function '{self.__name__}': axis {k} (={x.shape[k]}) of argument {name}, an array of "
                    f"shape {x.shape}, is not evenly divisible by the mesh axis {axis} (={count})"
                )
            axes.append((names, x.shape[k] // count))
        return lambda indices: x[tuple(self._part(names, length, indices) for names, length in axes)]

    def _part(self, names: tuple[Hashable, ...], length: int, indices: tuple[int, ...]) -> slice:
        """The part of an axis that a position has of it."""
        number = 0
        for name in names:
            number = number * self._mesh.shape[name] + indices[self._mesh.axis_names.index(name)]
        return slice(number * length, (number + 1) * length) if names else slice(None)

    # ---- threads

    def _on_threads(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """What the shards of all positions give; the first of them runs in this thread."""
        mesh, arguments = self._mesh, self._arguments(args, kwargs)
        positions, sizes = mesh._positions(), tuple(mesh.shape.values())
        given = [arguments(indices) for indices in positions]
        shards, barriers = _threads_of(mesh, positions)
        # One loop at a time is shared among threads: with those of the shards they are as many as may be used.
        threads = max(1, _ingot.get_num_threads() - len(positions) + 1)
        results: list[Any] = [None] * len(positions)
        errors: dict[int, BaseException] = {}

        def work(k: int) -> None:
            try:
                results[k] = shards[k].run(threads, functools.partial(self._compiled, sizes, positions[k], *given[k][0], **given[k][1]))
            except BaseException as error:  # is raised where all have ended
                errors[k] = error
                if not isinstance(error, Exception):
                    _leave(barriers)  # else shards end that wait for this one, so that chance does not decide whose it is

        def thread(k: int) -> threading.Thread:
            return threading.Thread(target=contextvars.copy_context().run, args=(work, k), name=f"shard {k} of {self.__name__}", daemon=True)

        others = [thread(k) for k in range(1, len(positions))]
        started = []
        try:
            for each in others:
                each.start()
                started.append(each)
            work(0)
            for each in started:
                each.join()
            if errors:
                own = [k for k in sorted(errors) if not shards[k].was_left]
                raise errors[(own or sorted(errors))[0]]
            return results
        except BaseException:
            _leave(barriers)
            for each in started:
                each.join()
            raise
        finally:
            errors.clear()  # their frames, this one among them, have the arguments
            given.clear()

    # ---- ranks

    def _on_ranks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the shard of this rank gives, with those of the others."""
        mesh = self._mesh
        if mpi.value_of("NEED_MAIN_THREAD")[1] and threading.current_thread() is not threading.main_thread():
            raise RuntimeError("MPI was initialized for calls of the main thread alone, and another one calls")
        own = mesh._positions()[mesh.over.Get_rank()]
        given, named = (args, kwargs) if self._local else self._arguments(args, kwargs)(own)
        functions = [mpi.address_of(f"MPI_{name}")[0] for name in ("Allgather", "Alltoall", "Sendrecv")]
        library = [*functions, *(mpi.value_of(name)[1] for name in ("BYTE", "PROC_NULL", "STATUS_IGNORE"))]
        shard = _ingot.Shard()
        for comm in mesh._comms.values():
            shard.add_ranks(mpi.handle_of(comm) & (2**64 - 1), comm.Get_size(), comm.Get_rank(), library)
        sizes = tuple(mesh.shape.values())
        result = shard.run(_ingot.get_num_threads(), functools.partial(self._compiled, sizes, own, *given, **named))
        if self._local or not _divides(self._out_specs):
            return result
        leaves, structure = tree.flatten(result)
        kinds = mesh.over.allgather((str(structure), [_kind_of(leaf) for leaf in leaves]))
        if any(other != kinds[0][0] for other, _ in kinds):
            raise ValueError("shards return different structures")
        specs = _beside(self._out_specs, result, "out_specs")
        for spec, *each in zip(specs, *(of_leaves for _, of_leaves in kinds)):
            if spec is not None and spec._axes:
                for kind in each:
                    _need_rank(kind, spec, "a result")
                _need_alike(each)
        return tree.unflatten(structure, [self._gathered(leaf, spec) for leaf, spec in zip(leaves, specs)])

    def _gathered(self, x: Any, spec: PartitionSpec | None) -> Any:
        """A result as all ranks have it together."""
        if spec is None or not spec._names:
            return x
        for axis, names in enumerate(spec._axes):
            for name in reversed(names):
                comm = self._mesh._comms[name]
                blocks = np.empty((comm.Get_size(), *x.shape), x.dtype)
                byte = sys.modules["mpi4py.MPI"].BYTE
                comm.Allgather([np.ascontiguousarray(x), byte], [blocks, byte])
                x = np.concatenate(blocks, axis)
        return x

    # ---- results

    def _assembled(self, results: list[Any], first: Any) -> Any:
        """The results of all positions as one; each is its leaves and their structure."""
        structure = results[0][1]
        if any(other != structure for _, other in results):
            raise ValueError("shards return different structures")
        specs = _beside(self._out_specs, first, "out_specs")
        columns = zip(*(leaves for leaves, _ in results))
        return tree.unflatten(structure, [self._whole(list(blocks), spec) for blocks, spec in zip(columns, specs)])

    def _whole(self, blocks: list[Any], spec: PartitionSpec | None) -> Any:
        """The array that all positions have blocks of."""
        if spec is None or not spec._axes:
            return blocks[0]
        kinds = [_kind_of(each) for each in blocks]
        for kind in kinds:
            _need_rank(kind, spec, "a result")
        _need_alike(kinds)
        block, mesh = blocks[0], self._mesh
        counts = [math.prod(mesh.shape[name] for name in names) for names in spec._axes] + [1] * (block.ndim - len(spec))
        whole = np.empty([length * count for length, count in zip(block.shape, counts)], block.dtype)
        absent = [k for k, name in enumerate(mesh.axis_names) if name not in spec._names]
        for indices, each in zip(mesh._positions(), blocks):
            if not any(indices[k] for k in absent):
                whole[tuple(self._part(names, length, indices) for names, length in zip(spec._axes, block.shape))] = each
        return whole


def _restored(f: Any, mesh: Mesh, in_specs: Any, out_specs: Any, local: bool) -> Sharded[..., Any]:
    return Sharded(f, mesh, in_specs, out_specs, local)


def _threads_of(mesh: Mesh, positions: list[tuple[int, ...]]) -> tuple[list[Any], list[Any]]:
    """The shards of all positions, as threads of this process, and the barriers between them."""
    looks = 1000 if len(positions) <= len(os.sched_getaffinity(0)) else 0
    shards = [_ingot.Shard() for _ in positions]
    barriers: dict[tuple[Any, ...], Any] = {}
    for shard, indices in zip(shards, positions):
        for k, size in enumerate(mesh.shape.values()):
            place = (k, *indices[:k], None, *indices[k + 1 :])
            if place not in barriers:
                barriers[place] = _ingot.Barrier(size, looks)
            shard.add_threads(barriers[place], indices[k])
    return shards, list(barriers.values())


def _leave(barriers: list[Any]) -> None:
    for barrier in barriers:
        barrier.leave()


class _Kind(NamedTuple):
    """What a shard gives for one leaf of a result."""

    type: str
    shape: tuple[int, ...] | None
    """None: it is no array."""
    dtype: Any


def _kind_of(x: Any) -> _Kind:
    return _Kind("ndarray", x.shape, x.dtype) if isinstance(x, np.ndarray) else _Kind(type(x).__name__, None, None)


def _need_rank(kind: _Kind, spec: PartitionSpec, what: str) -> None:
    if kind.shape is None:
        advice = "" if what.startswith("argument") else ": return np.array([x]), or take ingot.P() for it"
        raise ValueError(f"shard_map: {what} is of type {kind.type}, which {spec} does not divide: it divides arrays{advice}")
    if len(kind.shape) < len(spec):
        raise ValueError(f"shard_map: {what} has {len(kind.shape)} axes, of which {spec} would divide {len(spec)}")


def _need_alike(kinds: list[_Kind]) -> None:
    for kind in kinds:
        if kind != kinds[0]:
            raise ValueError(f"shards return blocks that differ: of shape {kinds[0].shape} and {kinds[0].dtype}, of shape {kind.shape} and {kind.dtype}")


def _divides(spec: Any) -> bool:
    """Whether a structure of specs has one that divides."""
    if isinstance(spec, PartitionSpec):
        return len(spec) > 0
    return spec is not None and any(map(_divides, _members(spec).values()))


def _beside(spec: Any, x: Any, name: str) -> list[PartitionSpec | None]:
    """The specs of all leaves of a structure."""
    if spec is None or isinstance(spec, PartitionSpec):
        return [spec] * len(tree.leaves(x))
    of_spec, of_x = _members(spec), _members(x)
    is_like = isinstance(spec, dict) == isinstance(x, dict) and of_spec.keys() == of_x.keys()
    if not is_like:
        raise ValueError(f"shard_map {name} specification must be a tree prefix of the corresponding value")
    return [leaf for key in of_x for leaf in _beside(of_spec[key], of_x[key], name)]


def _members(x: Any) -> dict[Any, Any]:
    """The members of a structure by keys or indices, in the order of its leaves."""
    from ..library.structures import is_opened, is_structure, members_of

    if isinstance(x, dict) and not is_opened(x):
        return {key: x[key] for key in sorted(x)}
    if isinstance(x, (tuple, list)) and not is_opened(x):
        return dict(enumerate(x))
    return dict(enumerate(members_of(x))) if is_structure(x) else {}


def _need_names(spec: Any, mesh: Mesh, name: str) -> None:
    """Raises where specs name what the mesh does not have, or are none."""
    if spec is None:
        return
    if not isinstance(spec, PartitionSpec):
        if isinstance(spec, str) or not (members := _members(spec)) and not isinstance(spec, (tuple, list, dict)):
            raise TypeError(f"shard_map {name} has ingot.P(...), None, and tuples, lists and dicts of them, not {type(spec).__name__}")
        for one in members.values():
            _need_names(one, mesh, name)
        return
    for k, axis in enumerate(spec._names):
        if axis not in mesh.shape:
            raise ValueError(f"shard_map {name}: {spec} names the axis {axis!r}, which the mesh does not have: it has {', '.join(map(repr, mesh.axis_names))}")
        if axis in spec._names[:k]:
            raise ValueError(f"shard_map {name}: {spec} names the axis {axis!r} twice")


@checked_keywords
def shard_map(
    f: Callable[..., Any] | None = None,
    mesh: Mesh | None = None,
    in_specs: Any = None,
    out_specs: Any = None,
    local: bool = False,
) -> Any:
    """Return a function that calls `f` on all positions of a mesh, each with its blocks of the arguments.

    Parameters
    ----------
    f : callable, optional
        The function of one position; it is compiled. Without it, the result is a decorator.
    mesh : Mesh
        The positions, and who runs them.
    in_specs : PartitionSpec, or structure of these
        How arguments are divided; one for all, or a tuple with one for each positional argument, in which tuples, lists and dicts
        follow those of the argument. ``P()``, or None in a tuple: each position gets the argument itself, as it does those of parameters that
        are given by name alone, or by name without an entry.
    out_specs : PartitionSpec, or structure of these
        How results are put together. ``P()``, or None in a tuple: all positions return the same, and the first one's is taken.
    local : bool, default False
        Of a mesh over a communicator: arguments are the blocks of this rank already, and results stay so. There are no specs then.

    Returns
    -------
    callable
        With the parameters of `f`. Python calls it, not compiled code.

    Raises
    ------
    TypeError
        There is no mesh, or specs are missing, or are no specs.
    ValueError
        Specs name an axis that the mesh does not have, or twice. By a call: an axis is not evenly divisible, or blocks differ.
    UnsupportedError
        By a call: `f` cannot be compiled, an argument is on a device, or a shard makes the call.

    See Also
    --------
    Mesh, PartitionSpec
    vmap : Batches, whose elements one thread may run.
    psum : What the shards of an axis sum.

    Notes
    -----
    Blocks are views: what `f` writes into them is written into the argument. Over a communicator all ranks make the call, with the
    whole arguments, and get the whole results. A shard that raises ends the call, by its exception. The guide to shards has the rules.

    Examples
    --------
    >>> mesh = ingot.Mesh({"x": 2})
    >>> @ingot.shard_map(mesh=mesh, in_specs=ingot.P("x"), out_specs=ingot.P("x"))
    ... def shares(x):
    ...     return x / ingot.psum(x.sum(), "x")
    >>> shares(np.array([1.0, 2.0, 3.0, 4.0]))
    array([0.1, 0.2, 0.3, 0.4])
    """
    if not isinstance(mesh, Mesh):
        raise TypeError("shard_map() takes a mesh: ingot.Mesh({'x': 2})")
    if local and mesh.over == _THREADS:
        raise ValueError("shard_map() over threads: the arguments are whole; `local` is for ranks")
    if local != (in_specs is None and out_specs is None) or (in_specs is None) != (out_specs is None):
        raise TypeError("shard_map() takes in_specs and out_specs, such as ingot.P('x'); with `local`, neither")
    _need_names(in_specs, mesh, "in_specs")
    _need_names(out_specs, mesh, "out_specs")
    if f is None:
        return functools.partial(shard_map, mesh=mesh, in_specs=in_specs, out_specs=out_specs, local=local)
    if not callable(f):
        raise TypeError(f"shard_map() takes a function, not {type(f).__name__}")
    return Sharded(f, mesh, in_specs, out_specs, local)
