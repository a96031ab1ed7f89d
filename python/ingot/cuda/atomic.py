"""Changes of an element of an array that no other thread's change comes between. Each gives what the element was.

`ary` is of int32, uint32, int64, uint64, float32 or float64, `idx` an index for each of its axes: a number or a tuple.
"""

from __future__ import annotations

from typing import Any

from ._intrinsics import outside


def add(ary: Any, idx: Any, val: Any) -> Any:
    """Add to an element: ``ary[idx] += val``.

    Parameters
    ----------
    ary : array of int32, uint32, int64, uint64, float32 or float64
        The array, of the device or the block.
    idx : int or tuple of int
        An index for each axis.
    val : number
        What is added.

    Returns
    -------
    number
        What the element was.

    Examples
    --------
    >>> from ingot import cuda
    >>> @cuda.jit
    ... def count(x, bins):
    ...     i = cuda.grid(1)
    ...     if i < x.size:
    ...         cuda.atomic.add(bins, x[i], 1)
    >>> bins = np.zeros(3, int)
    >>> with ingot.device("emulated"):
    ...     count[1, 32](np.array([0, 2, 2, 1, 2]), bins)
    >>> bins
    array([1, 1, 3])
    """
    outside("atomic.add")


def sub(ary: Any, idx: Any, val: Any) -> Any:
    """Subtract from an element: ``ary[idx] -= val``.

    Parameters
    ----------
    ary, idx
        As of `add`.
    val : number
        What is subtracted.

    Returns
    -------
    number
        What the element was.
    """
    outside("atomic.sub")


def and_(ary: Any, idx: Any, val: Any) -> Any:
    """Keep bits of an element: ``ary[idx] &= val``.

    Parameters
    ----------
    ary, idx
        As of `add`; of integers.
    val : number
        The bits.

    Returns
    -------
    number
        What the element was.
    """
    outside("atomic.and_")


def or_(ary: Any, idx: Any, val: Any) -> Any:
    """Set bits of an element: ``ary[idx] |= val``.

    Parameters
    ----------
    ary, idx
        As of `add`; of integers.
    val : number
        The bits.

    Returns
    -------
    number
        What the element was.
    """
    outside("atomic.or_")


def xor(ary: Any, idx: Any, val: Any) -> Any:
    """Flip bits of an element: ``ary[idx] ^= val``.

    Parameters
    ----------
    ary, idx
        As of `add`; of integers.
    val : number
        The bits.

    Returns
    -------
    number
        What the element was.
    """
    outside("atomic.xor")


def inc(ary: Any, idx: Any, val: Any) -> Any:
    """Count an element up: ``ary[idx] = 0 if ary[idx] >= val else ary[idx] + 1``.

    Parameters
    ----------
    ary, idx
        As of `add`; of integers.
    val : number
        The largest value.

    Returns
    -------
    number
        What the element was.
    """
    outside("atomic.inc")


def dec(ary: Any, idx: Any, val: Any) -> Any:
    """Count an element down: ``ary[idx] = val if ary[idx] == 0 or ary[idx] > val else ary[idx] - 1``.

    Parameters
    ----------
    ary, idx
        As of `add`; of integers.
    val : number
        The largest value.

    Returns
    -------
    number
        What the element was.
    """
    outside("atomic.dec")


def exch(ary: Any, idx: Any, val: Any) -> Any:
    """Exchange an element: ``ary[idx] = val``.

    Parameters
    ----------
    ary, idx
        As of `add`.
    val : number
        The new value.

    Returns
    -------
    number
        What the element was.
    """
    outside("atomic.exch")


def max(ary: Any, idx: Any, val: Any) -> Any:
    """Replace an element by a larger value: ``ary[idx] = np.maximum(ary[idx], val)``. A NaN wins.

    Parameters
    ----------
    ary, idx
        As of `add`.
    val : number
        The value.

    Returns
    -------
    number
        What the element was.
    """
    outside("atomic.max")


def min(ary: Any, idx: Any, val: Any) -> Any:
    """Replace an element by a smaller value: ``ary[idx] = np.minimum(ary[idx], val)``. A NaN wins.

    Parameters
    ----------
    ary, idx
        As of `add`.
    val : number
        The value.

    Returns
    -------
    number
        What the element was.
    """
    outside("atomic.min")


def nanmax(ary: Any, idx: Any, val: Any) -> Any:
    """Replace an element by a larger value: ``ary[idx] = np.fmax(ary[idx], val)``. A NaN loses.

    Parameters
    ----------
    ary, idx
        As of `add`.
    val : number
        The value.

    Returns
    -------
    number
        What the element was.
    """
    outside("atomic.nanmax")


def nanmin(ary: Any, idx: Any, val: Any) -> Any:
    """Replace an element by a smaller value: ``ary[idx] = np.fmin(ary[idx], val)``. A NaN loses.

    Parameters
    ----------
    ary, idx
        As of `add`.
    val : number
        The value.

    Returns
    -------
    number
        What the element was.
    """
    outside("atomic.nanmin")


def compare_and_swap(ary: Any, old: Any, val: Any) -> Any:
    """Exchange the first element of an array if it has a value.

    Parameters
    ----------
    ary : array
        Of one axis.
    old, val : number
        The value that it must have, bit for bit, and the new one.

    Returns
    -------
    number
        What the element was.

    See Also
    --------
    cas : Any element.
    """
    outside("atomic.compare_and_swap")


def cas(ary: Any, idx: Any, old: Any, val: Any) -> Any:
    """Exchange an element if it has a value: ``ary[idx] = val`` if its bits are those of `old`.

    Parameters
    ----------
    ary, idx
        As of `add`.
    old, val : number
        The value that it must have, and the new one.

    Returns
    -------
    number
        What the element was.
    """
    outside("atomic.cas")


__all__ = [
    "add",
    "and_",
    "cas",
    "compare_and_swap",
    "dec",
    "exch",
    "inc",
    "max",
    "min",
    "nanmax",
    "nanmin",
    "or_",
    "sub",
    "xor",
]


def __dir__() -> list[str]:
    return sorted(__all__)
