"""What compiled code calls in Python, with the GIL: host functions, and changes of the caller's containers.

`call_host` makes such a call and shows it at its locations in the user's code; those of `quick_calls` are made by C++ alone. `put`, `assign`, `append` and `change` are what
is called for a container or instance of the caller's; numbers that are put into one often wait in `_ingot.Cells`.
"""

from __future__ import annotations

import operator
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _errors, _ingot
from .._ingot import Description
from . import HostFunction, frames


class Held:
    """What a call holds of the caller's while a host function runs, which it cannot see changes of."""

    def __init__(self, specialisation: Any, leaves: list[Any], containers: list[Any]) -> None:
        self.specialisation = specialisation
        self.containers = [(c, names) for c, names in zip(containers, specialisation.layouts) if not _ingot.is_stream(c)]
        self.arrays = [leaf for leaf in leaves if isinstance(leaf, np.ndarray)]
        # NumPy does not resize an array that others refer to: its memory stays.
        self.references = [weakref.ref(owner) for array in self.arrays for owner in _owners(array)]

    def state(self) -> tuple[list[Any], list[Any], list[Any]]:
        """What captures hold, what is in containers, and the layouts of arrays."""
        return (
            [_ingot.held(owner, name) for owner, name in self.specialisation.captures],
            [_contents(container, names) for container, names in self.containers],
            [(array.dtype, array.shape, array.strides) for array in self.arrays],
        )

    def need(self, before: tuple[list[Any], list[Any], list[Any]], function: HostFunction, sites: tuple[_errors.Site, ...]) -> None:
        """Refuses a call of a host function that has changed something."""
        guard = self.specialisation.changed()
        captured, contents, arrays = self.state()
        changed = [] if guard is None else [named(guard)]
        for (_, name), old, new in zip(self.specialisation.captures, before[0], captured):
            if not _are_same(old, new):
                changed.append("a captured variable" if not name else f"`{name}`")
        for (container, _), old, new in zip(self.containers, before[1], contents):
            if not _are_same(old, new):
                changed.append(f"a {type(container).__name__} of the caller")
        if arrays != before[2]:
            changed.append("the shape or dtype of an array")
        if changed:
            raise of_change(changed[0], function, sites)


def of_change(what: str, function: Callable[..., Any], sites: tuple[_errors.Site, ...]) -> BaseException:
    """The refusal of a call of a host function that has changed something."""
    name = getattr(function, "__name__", "a host function")
    return _errors.unsupported(
        sites,
        f"a change of {what} by the host function `{name}`, while compiled code holds it,",
        "let it return the new value, or keep what changes in an array",
    )


def named(guard: tuple[Any, ...]) -> str:
    """What a guard is of, for `of_change`."""
    return f"`{guard[1]}`" if guard[1] else "a captured variable"


def _owners(array: np.ndarray) -> list[np.ndarray]:
    """An array, and those whose memory it shows."""
    owners = [array]
    while isinstance(owners[-1].base, np.ndarray):
        owners.append(owners[-1].base)
    return owners


def _contents(container: Any, names: tuple[Any, ...] | None) -> tuple[Any, ...]:
    if isinstance(container, (list, deque, set, frozenset)):
        return tuple(container)
    if isinstance(container, dict):
        return (*container, *container.values())
    return tuple([_ingot.own_attribute(container, name) for name in names or ()])


def _are_same(old: tuple[Any, ...], new: tuple[Any, ...]) -> bool:
    return len(old) == len(new) and all(map(_is_same, old, new))


def _is_same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if type(a) is tuple and type(b) is tuple:
        return len(a) == len(b) and all(map(_is_same, a, b))
    return operator.is_(a, b) or type(a) is type(b) and isinstance(a, (int, float, complex, str, np.generic, np.dtype)) and repr(a) == repr(b)


def watches(function: Callable[..., Any]) -> bool:
    """Whether what compiled code holds is looked at after a call of it."""
    host = getattr(function, "__self__", None)
    return isinstance(host, HostFunction) and not host.pure and getattr(function, "__func__", None) is HostFunction.fill


def put(container: Any, key: Any, value: Any) -> None:
    """`container[key] = value`, for compiled code."""
    container[key] = value


def assign(instance: Any, name: str, value: Any) -> None:
    """Sets an attribute of an instance, for compiled code, as `object` does it."""
    object.__setattr__(instance, name, value)


def append(container: list[Any], value: Any) -> None:
    """`container.append(value)`, for compiled code."""
    container.append(value)


def _kept(known: dict[Any, Any], element: Any) -> Any:
    """The object of the caller's that an element is; not one of its type that is merely equal, as 0.0 is to -0.0."""
    own = known.get(element, element)
    return own if type(own) is not type(element) or _is_same(own, element) else element


def store(container: Any, content: Any, *rest: Any) -> None:
    """Has a container hold what has become of the copy that compiled code has changed."""
    if isinstance(container, set):
        kept = {element: element for element in container}
        elements, states, finger = content, *rest
        _ingot.fill_set(container, [_kept(kept, element) for element in elements], states, finger)
        return
    if isinstance(container, deque):
        container.clear()
        container.extend(content)
        return
    kept = {key: key for key in container}
    container.clear()
    for key, value in content.items():
        container[_kept(kept, key)] = value
    if rest:
        container.default_factory = rest[0]


def change(container: Any, method: str, *arguments: Any) -> None:
    """A method of a container that changes its structure, for compiled code."""
    getattr(container, method)(*arguments)


def sorting(items: list[Any], reverse: bool) -> list[int]:
    """The indices of items in the order in which `sorted` puts them."""
    return sorted(range(len(items)), key=items.__getitem__, reverse=reverse)


def kept_after(function: Callable[..., Any]) -> int | None:
    """After how many arguments of a callee those come that it may keep; None: it keeps none."""
    if isinstance(getattr(function, "__self__", None), HostFunction):
        return 1
    return 0 if function in (put, append, assign, change, store) else None


def quick_calls(hosts: tuple[Any, ...], watched: bool, direct: bool = False) -> dict[int, tuple[Any, ...]]:
    """What `_ingot.HostCalls` takes: of `print`, of what changes the caller's containers if `direct`, and of host functions that
    give numbers, of those that are looked after if `watched`. They are given numbers and what is known; `print` texts, too.
    """
    quick: dict[int, tuple[Any, ...]] = {}
    for site, (function, (positional, keywords), sites) in enumerate(hosts):
        if function is print or direct and function in (put, assign, append, change):
            parts = [_quick_part(part, function is print, direct) for part in positional] + [(value,) for value in keywords.values()]
            if None not in parts and len(parts) <= _MOST_PARTS:
                quick[site] = (function, None, tuple(parts), None, False, sites, False, tuple(keywords), 0)
            continue
        host = getattr(function, "__self__", None)
        if not isinstance(host, HostFunction) or function.__func__ is not HostFunction.fill or keywords or not (host.pure or watched):
            continue
        parts = [_quick_part(part) for part in positional[1:]]
        if None in parts or len(parts) > _MOST_PARTS or (host.type is not None and host.type.ndim is not None):
            continue
        dtype = None if host.type is None else host.type.dtype
        quick[site] = (host.function, host._converted, tuple(parts), dtype, host.python is not None, sites, not host.pure, (), 1)
    return quick


_MOST_PARTS = 16  # `kMostOnStack` in host_calls.cpp


def _quick_part(part: Description, texts: bool = False, containers: bool = False) -> Any:
    """How an argument is described to `_ingot.HostCalls`; None: that cannot make it."""
    if part.kind == Description.ARGUMENT and containers:
        return part.number
    if part.kind == Description.STATIC and part.dtype_of < 0:
        return (part.object,)
    if part.kind == Description.SCALAR:
        return part
    if part.kind != Description.TEXT or not texts:
        return None
    import string

    literals = [""]
    fields: list[tuple[str, str]] = []
    for literal, name, form, conversion in string.Formatter().parse(part.form):
        literals[-1] += literal
        if name is None:
            continue
        if name not in ("", str(len(fields))) or "{" in (form or ""):
            return None
        fields.append((conversion or "", form or ""))
        literals.append("")
    parts = [_quick_part(inner, texts) for inner in part.parts]
    if None in parts or len(parts) != len(fields):
        return None
    return (tuple(literals), tuple(fields), tuple(parts)) if fields else ("".join(literals),)


def come_through(error: BaseException, sites: tuple[_errors.Site, ...]) -> BaseException:
    """What a host function has raised, with the locations that it came through."""
    inner = error.__traceback__
    while inner is not None and inner.tb_frame.f_code.co_filename == __file__:
        inner = inner.tb_next
    return error.with_traceback(frames.traceback(sites, inner))


def call_host(function: Callable[..., Any], positional: tuple[Any, ...], keywords: dict[Any, Any], sites: tuple[_errors.Site, ...]) -> Any:
    """A call out of compiled code at these locations: they are where what it raises came through."""
    try:
        return function(*positional, **keywords)
    except BaseException as error:
        raise come_through(error, sites)
