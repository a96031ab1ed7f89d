"""Functions whose calls are regions of a profile, and regions that `with` opens."""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
import types
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, TypeVar

from .. import _ingot

if TYPE_CHECKING:
    from typing import Self

F = TypeVar("F")

_counting: Any = _ingot.profile


def short_name(function: Any) -> str:
    """What a function is called in rows: its name in its module, its class or the function around it."""
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None) or type(function).__qualname__
    return name.rpartition("<locals>.")[2]


def number_of(name: str, kind: str = "region", implementation: str = "", device: str = "") -> int:
    """The number of a label. What no file can have of a name is escaped. TypeError: it is no string."""
    for text in (name, implementation, device):
        if not isinstance(text, str):
            raise TypeError(f"a name in a profile is a string, not {type(text).__name__}")
    name, implementation, device = (text.encode("utf-8", "backslashreplace").decode() for text in (name, implementation, device))
    return _counting.label(name, kind, implementation, device)


class Profiled(_counting.Profiled):
    """A function whose calls are regions while a profile counts. All else is the function's."""

    __doc__: str | None

    def __init__(self, function: Callable[..., Any], label: int) -> None:
        super().__init__(function, label)
        for name in functools.WRAPPER_ASSIGNMENTS:
            with contextlib.suppress(AttributeError):
                self.__dict__[name] = getattr(function, name)
        if isinstance(function, types.FunctionType):
            self.__dict__.update({name: value for name, value in function.__dict__.items() if name != "__wrapped__"})

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)

    def __repr__(self) -> str:
        return f"<ingot.profile {self.__wrapped__!r}>"

    def __copy__(self) -> Profiled:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Profiled:
        return self

    def __reduce_ex__(self, protocol: Any) -> str | tuple[Any, ...]:
        """By its name, as a plain function; by cloudpickle, or where it has none, as the function."""
        by_value = "cloudpickle" in sys._getframe(1).f_globals.get("__name__", "")
        found = sys.modules.get(self.__module__)
        for name in self.__qualname__.split("."):
            found = getattr(found, name, None)
        if found is self and not (by_value and self.__module__ == "__main__"):
            return self.__qualname__
        name, kind, implementation, device = _counting.label_of(self._label)
        return _restored, (self.__wrapped__, name, kind, implementation, device)


def _restored(function: Callable[..., Any], name: str, kind: str, implementation: str, device: str) -> Profiled:
    return Profiled(function, number_of(name, kind, implementation, device))


if TYPE_CHECKING:

    class Base:
        """The base as type checkers see it: what `with` opens."""

        _label: int

        def __init__(self, label: int) -> None: ...
        def __enter__(self) -> Self: ...
        def __exit__(self, *error: object) -> None: ...

else:
    Base = _counting.Region


class Region(Base):
    """A region of a profile: ``with ingot.profile("apply"):``, or before a function.

    It may be opened any number of times, also inside itself.

    Parameters
    ----------
    label : int
        The number of its name.

    Notes
    -----
    While it is open and a profile counts, `bytes_up`, `bytes_down` and `flops` are those of the call, and may be set; else
    they are 0, and what is set is forgotten.

    Examples
    --------
    >>> ingot.profile.start()
    >>> with ingot.profile("copies") as region:
    ...     region.bytes_up += 800
    >>> ingot.profile.rows()[0].bytes_up
    800
    >>> ingot.profile.stop()
    >>> ingot.profile.reset()
    """

    __slots__ = ()

    if TYPE_CHECKING:
        bytes_up: int
        bytes_down: int
        flops: float

    def __call__(self, function: F) -> F:
        name, _, implementation, _ = _counting.label_of(self._label)
        return counted(function, name, implementation)

    def __repr__(self) -> str:
        return f"<ingot.profile({_counting.label_of(self._label)[0]!r})>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _region, _counting.label_of(self._label)


def _region(*label: str) -> Region:
    return Region(number_of(*label))


def uncounted(function: Any) -> Any:
    """The function that a decorator of `ingot.profile` was given; another object as it is."""
    while True:
        is_marked = isinstance(function, types.FunctionType) and function.__dict__.get("__ingot_counted__") is function.__code__
        if is_marked or isinstance(function, _counting.Profiled):
            function = function.__wrapped__
        else:
            return function


def label_of(function: Any) -> str | None:
    """The name of the row of a function of `ingot.profile`; None: it is none."""
    return _counting.label_of(function._label)[0] if isinstance(function, _counting.Profiled) else None


def counted(function: F, name: str | None, implementation: str = "") -> F:
    """A function whose calls are regions; what `@ingot.profile` makes. TypeError: it is none."""
    it: Any = function
    if isinstance(it, (classmethod, staticmethod)):
        return type(it)(counted(it.__func__, name, implementation))  # type: ignore[return-value]
    if isinstance(it, type):
        raise TypeError(f"profile() takes a function, not the class {it.__name__}: put it before its methods")
    if isinstance(it, property):
        raise TypeError("profile() takes a function, not a property: put it below @property")
    if not callable(it):
        raise TypeError(f"profile() takes a function or a name, not {type(it).__name__}")
    is_compiled = isinstance(it, _ingot.Callable)
    if is_compiled and name is None:
        label = it._profile_label()
    elif is_compiled and name is not None:
        label = number_of(name, "compiled", implementation or "ingot")
    else:
        label = number_of(short_name(it) if name is None else name, "region", implementation)
    for is_kind, wrap in _WRAPPERS:
        if is_kind(it):
            return wrap(it, label)  # type: ignore[return-value]
    return Profiled(it, label)  # type: ignore[return-value]


def _stepped(iterator: Any, steps: Any) -> Generator[Any, Any, Any]:
    """What `yield from iterator` does, each step of it counted."""
    value: Any = None
    error: BaseException | None = None
    while True:
        steps.enter()
        try:
            item = iterator.send(value) if error is None else iterator.throw(error)
        except StopIteration as stop:
            return stop.value
        finally:
            steps.leave()
        value = error = None
        try:
            value = yield item
        except GeneratorExit:
            steps.enter()
            try:
                iterator.close()
            finally:
                steps.leave()
            raise
        except BaseException as thrown:
            error = thrown


class _Awaited:
    """An awaitable, each step of it counted."""

    __slots__ = ("_iterator", "_steps")

    def __init__(self, iterator: Any, steps: Any) -> None:
        self._iterator, self._steps = iterator, steps

    def __await__(self) -> Generator[Any, Any, Any]:
        return _stepped(self._iterator, self._steps)


def _counted_generator(function: Callable[..., Any], label: int) -> Callable[..., Any]:
    @functools.wraps(function)
    def generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        steps = _counting.Steps(label)
        try:
            return (yield from _stepped(function(*args, **kwargs), steps))
        finally:
            steps.end()

    return _marked(generator)


def _counted_coroutine(function: Callable[..., Any], label: int) -> Callable[..., Any]:
    @functools.wraps(function)
    async def coroutine(*args: Any, **kwargs: Any) -> Any:
        steps = _counting.Steps(label)
        try:
            return await _Awaited(function(*args, **kwargs), steps)
        finally:
            steps.end()

    return _marked(coroutine)


def _counted_async_generator(function: Callable[..., Any], label: int) -> Callable[..., Any]:
    @functools.wraps(function)
    async def generator(*args: Any, **kwargs: Any) -> Any:
        steps = _counting.Steps(label)
        source = function(*args, **kwargs)
        step: Any = source.__anext__()
        try:
            while True:
                try:
                    item = await _Awaited(step, steps)
                except StopAsyncIteration:
                    return
                try:
                    step = source.asend((yield item))
                except GeneratorExit:
                    await _Awaited(source.aclose(), steps)
                    raise
                except BaseException as thrown:
                    step = source.athrow(thrown)
        finally:
            steps.end()

    return _marked(generator)


def _marked(wrapper: Any) -> Any:
    """Compiled code takes what it wraps instead. The mark is the code's: `functools.wraps` copies it to other functions."""
    wrapper.__ingot_counted__ = wrapper.__code__
    return wrapper


_WRAPPERS: tuple[tuple[Callable[[Any], bool], Callable[[Any, int], Any]], ...] = (
    (inspect.isasyncgenfunction, _counted_async_generator),
    (inspect.iscoroutinefunction, _counted_coroutine),
    (inspect.isgeneratorfunction, _counted_generator),
)
