"""`ingot.progress`: a bar for the iterations of a loop, compiled or not, in terminals and notebooks.

A loop counts its own iterations, and calls `advance` after so many of them as the last call has asked for: four times as many each
time, until that takes some hundredths of a second. So a loop of a billion iterations makes some fifteen calls, and thirty a second
besides. Compiled loops (`library/progress.py`) run the iterations between two calls as a loop of their own.
"""

from __future__ import annotations

import contextlib
import itertools
import shutil
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html import escape
from typing import Any, TypeVar

from . import HostFunction

T = TypeVar("T")

_BETWEEN_CALLS = 0.03  # seconds
_BETWEEN_DRAWINGS = 0.1
_SHORT = 0.2  # loops that end before are not drawn
_PARTS = " ▏▎▍▌▋▊▉█"


@dataclass
class Bar:
    """One loop under way; `total` -1: how many iterations it has is not known."""

    number: int
    total: int
    label: str
    done: int = 0
    begun: float = field(default_factory=time.perf_counter)
    looked: float = 0.0
    step: int = 1

    def __post_init__(self) -> None:
        self.looked = self.begun

    def next_step(self, now: float) -> int:
        """After how many iterations `advance` is to be called again, if those since the last time have taken as long."""
        taken = now - self.looked
        self.looked = now
        wanted = 4 * self.step if 4 * taken <= _BETWEEN_CALLS else int(self.step * _BETWEEN_CALLS / taken)
        self.step = max(1, min(wanted, 4 * self.step))
        return self.step


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes:02}:{rest:02}"


def _count(number: float) -> str:
    """A rate with three digits."""
    for unit, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= scale:
            return f"{number / scale:.3g}{unit}"
    return f"{number:.3g}"


def _figures(bar: Bar, now: float) -> str:
    """`62/100 [00:03<00:02, 20.1/s]`: iterations, time so far, time to come, rate."""
    seconds = now - bar.begun
    rate = bar.done / seconds if seconds > 0 else 0.0
    if bar.total < 0:
        return f"{bar.done} [{_duration(seconds)}, {_count(rate)}/s]"
    left = _duration((bar.total - bar.done) / rate) if rate > 0 else "?"
    return f"{bar.done}/{bar.total} [{_duration(seconds)}<{left}, {_count(rate)}/s]"


def _share(bar: Bar) -> float:
    return min(1.0, bar.done / bar.total) if bar.total > 0 else 1.0


def as_text(bar: Bar, now: float, width: int) -> str:
    """One line, no longer than this where it has no long label."""
    before, after = f"{bar.label}: " if bar.label else "", _figures(bar, now)
    if bar.total < 0:
        return f"{before}{after}"
    before += f"{_share(bar):4.0%} "
    columns = max(4, min(40, width - len(before) - len(after) - 3))
    eighths = int(_share(bar) * columns * 8)
    drawn = _PARTS[-1] * (eighths // 8) + (_PARTS[eighths % 8] if eighths % 8 else "")
    return f"{before}|{drawn:{columns}}| {after}"


def as_html(bar: Bar, now: float) -> str:
    """What notebooks show; the bar has the browser's own style, light or dark."""
    value = f' value="{bar.done}" max="{bar.total}"' if bar.total >= 0 else ""
    label = f"{escape(bar.label)} " if bar.label else ""
    return f'<div>{label}<progress{value} style="width:20em;vertical-align:middle"></progress> <code>{escape(_figures(bar, now))}</code></div>'


class _Terminal:
    """Draws into the line that the cursor is in."""

    def __init__(self) -> None:
        self.length = 0

    def show(self, bars: list[Bar], now: float) -> None:
        width = shutil.get_terminal_size().columns - 1
        line = "  ".join(as_text(bar, now, width // len(bars)) for bar in bars)[:width]
        sys.stderr.write(f"\r{line:{self.length}}")
        sys.stderr.flush()
        self.length = len(line)

    def close(self) -> None:
        sys.stderr.write("\n")
        sys.stderr.flush()


class _Notebook:
    """Draws into one output of the cell."""

    def __init__(self) -> None:
        self.handle: Any = None

    def show(self, bars: list[Bar], now: float) -> None:
        from IPython.display import display

        shown = {"text/html": "".join(as_html(bar, now) for bar in bars), "text/plain": "\n".join(as_text(bar, now, 80) for bar in bars)}
        if self.handle is None:
            self.handle = display(shown, raw=True, display_id=True)
        else:
            self.handle.update(shown, raw=True)

    def close(self) -> None:
        pass


def _screen() -> _Terminal | _Notebook | None:
    """What bars are drawn on; None: output goes into a file."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if getattr(shell, "kernel", None) is not None:
        return _Notebook()
    is_terminal = getattr(sys.stderr, "isatty", None)
    return _Terminal() if is_terminal is not None and is_terminal() else None


class _Thread(threading.local):
    """The bars of one thread's loops, the outermost first."""

    def __init__(self) -> None:
        self.bars: list[Bar] = []
        self.screen: _Terminal | _Notebook | None = None
        self.drawn = 0.0


_thread = _Thread()
_numbers = itertools.count(1)


def _draw(now: float, is_last: bool = False) -> None:
    """What cannot be drawn is not: stderr may be closed, or what the program has put there. No loop ends for it."""
    _thread.drawn = now
    with contextlib.suppress(Exception):
        if _thread.screen is None:
            _thread.screen = _screen()
        if _thread.screen is not None:
            _thread.screen.show(_thread.bars, now)
            if is_last:
                _thread.screen.close()


def _close() -> None:
    """Ends the innermost bar. Drawings stay as they are once the outermost has ended."""
    bar = _thread.bars[-1]
    now = time.perf_counter()
    try:
        if len(_thread.bars) == 1 and (_thread.screen is not None or now - bar.begun >= _SHORT):
            _draw(now, is_last=True)
    finally:  # a signal may come meanwhile
        _thread.bars[:] = [each for each in _thread.bars if each is not bar]  # a generator that is collected may have ended it
        if not _thread.bars:
            _thread.screen = None


def _close_down_to(number: int) -> None:
    """Ends the bars of loops inside that were left, so that the innermost bar is of this number."""
    if any(bar.number == number for bar in _thread.bars):
        while _thread.bars[-1].number != number:
            _close()


@contextlib.contextmanager
def bars_of_a_call() -> Iterator[None]:
    """A call of compiled code: at its end the bars of loops that were left early, or by an exception, are ended."""
    before = len(_thread.bars)
    try:
        yield
    finally:
        while len(_thread.bars) > before:
            _close()


def begin(total: int, label: str) -> int:
    """A loop begins: the number of its bar."""
    bar = Bar(next(_numbers), total, label)
    _thread.bars.append(bar)
    return bar.number


def advance(number: int, done: int) -> int:
    """So many iterations are done: after how many more this is to be called again."""
    _close_down_to(number)
    bar = _thread.bars[-1] if _thread.bars else None
    if bar is None or bar.number != number:
        return 1 << 20  # the loop is another thread's
    bar.done = done
    now = time.perf_counter()
    if now - bar.begun >= _SHORT and now - _thread.drawn >= _BETWEEN_DRAWINGS:
        _draw(now)
    return bar.next_step(now)


def end(number: int, done: int) -> None:
    """The loop has ended, or was left, after so many iterations that are known."""
    _close_down_to(number)
    if _thread.bars and _thread.bars[-1].number == number:
        _thread.bars[-1].done = max(done, _thread.bars[-1].done)
        _close()


def _called(function: Any, result: Any) -> HostFunction:
    """One of these for compiled code. It changes nothing that compiled code sees, and raises nothing that it may catch."""
    made = HostFunction(function, result, pure=True)
    made.raises = False
    return made


begin_host, advance_host, end_host = _called(begin, int), _called(advance, int), _called(end, None)
begin_host.around = bars_of_a_call


def progress(iterable: Iterable[T], /, label: str = "", total: int | None = None) -> Iterator[T]:
    """Iterate over `iterable`, and show how far the loop is.

    Parameters
    ----------
    iterable : iterable
        What is iterated over: a `range`, an array, a list, a generator.
    label : str, optional
        What is put before the bar.
    total : int, optional
        The number of iterations, where ``len(iterable)`` is not known.

    Returns
    -------
    iterator
        The elements. Values and order are those of the loop without it, in compiled code, too.

    Raises
    ------
    UnsupportedError
        When the loop is compiled: it is a loop over `prange`, or inside of one.

    See Also
    --------
    profile : Where the time of a program goes.

    Notes
    -----
    The bar is drawn on stderr in a terminal, and in the cell's output in a notebook. Nothing is drawn for loops of less
    than a fifth of a second, or where stderr is a file. Loops inside each other have a bar each.

    Examples
    --------
    >>> @ingot.jit
    ... def total(x):
    ...     s = 0.0
    ...     for i in ingot.progress(range(len(x)), label="sum"):
    ...         s += x[i]
    ...     return s
    >>> total(np.arange(1000.0))
    np.float64(499500.0)
    """
    elements = iter(iterable)
    if total is None:
        total = len(iterable) if hasattr(iterable, "__len__") else -1  # type: ignore[arg-type]
    return _counted(elements, label, total)


def _counted(elements: Iterator[T], label: str, total: int) -> Iterator[T]:
    number = begin(total, label)
    done, next_call = 0, 1
    try:
        for element in elements:
            yield element
            done += 1
            if done == next_call:
                next_call = done + advance(number, done)
    finally:
        end(number, done)
