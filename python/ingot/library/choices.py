"""Random orders and choices of a key, as JAX makes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .distributions import raw_gumbel
from .shapes import normal_axis
from .threefry import between, float_dtype, hashed, need_shape, randint, random_bits, shape_of, shaped, size_of, words_of

# The largest numbers of elements that one, two and three sorts by words bring into a random order.
ONE_SORT, TWO_SORTS, THREE_SORTS = 1625, 2642245, 4294967295


def sorts_of(size: int) -> int:
    """By how many rows of random words elements are sorted."""
    if size <= 1:
        return 0
    if size <= ONE_SORT:
        return 1
    if size <= TWO_SORTS:
        return 2
    return 3 if size <= THREE_SORTS else 4


def shuffled(words: Any, x: np.ndarray, axis: int) -> np.ndarray:
    """A copy with the elements along an axis in a random order, that of each line its own."""
    made = x.copy()
    first, second = words
    for _ in range(sorts_of(x.size)):
        this = hashed((first, second), np.uint32(0), np.uint32(1))
        first, second = hashed((first, second), np.uint32(0), np.uint32(0))
        places = np.argsort(shaped(random_bits(this, 32, x.shape), x.shape), axis, kind="stable")
        made = np.take_along_axis(made, places, axis)
    return made


def permutation(key: Any, x: Any, axis: int = 0, independent: bool = False) -> np.ndarray:
    """Return a random permutation.

    Parameters
    ----------
    key : array of uint32, shape (2,)
        A key, which is used for one draw only: see `split`.
    x : int or array
        An array, or the numbers below an integer.
    axis : int, default 0
        The axis whose entries are permuted.
    independent : bool, default False
        Each line along the axis has a permutation of its own.

    Returns
    -------
    ndarray
        A new array.

    Raises
    ------
    TypeError, ValueError
        `key` is no key, the dtype does not fit, or shapes do not broadcast.

    See Also
    --------
    choice

    Notes
    -----
    Entries are sorted by random bits; several times for long axes, since bits may be equal.

    Examples
    --------
    >>> from ingot import random
    >>> random.permutation(random.PRNGKey(0), 5)
    array([0, 1, 4, 3, 2])
    """
    words = words_of(key, "permutation")
    if np.ndim(x) == 0:
        number = np.asarray(x)[()]
        if number.dtype.kind not in "iu":
            raise TypeError("x must be an integer or at least 1-dimensional")
        normal_axis(axis, 1)
        return shuffled(words, np.arange(number.astype(np.int64)), 0)
    given = np.asarray(x)
    along = normal_axis(axis, given.ndim)
    if independent or given.ndim == 1:
        return shuffled(words, given, along)
    return np.take(given, shuffled(words, np.arange(given.shape[along]), 0), along)


def running_sums(p: np.ndarray) -> np.ndarray:
    """The sums of p up to each element, in XLA's order: of blocks of 16, of blocks of these, and so on."""
    n = len(p)
    starts, lengths = np.zeros(18, np.int64), np.zeros(18, np.int64)
    lengths[0] = n
    levels = 1
    while lengths[levels - 1] > 16:
        starts[levels] = starts[levels - 1] + lengths[levels - 1]
        lengths[levels] = (lengths[levels - 1] + 15) // 16
        levels += 1
    sums = np.zeros(starts[levels - 1] + lengths[levels - 1], p.dtype)
    sums[:n] = p
    for level in range(levels):
        for i in range(lengths[level]):
            place = starts[level] + i
            if i % 16 != 0:
                sums[place] = sums[place - 1] + sums[place]
            if level + 1 < levels:
                sums[starts[level + 1] + i // 16] = sums[place]
    for iteration in range(1, levels):
        level = levels - 1 - iteration
        for i in range(16, lengths[level]):
            sums[starts[level] + i] = sums[starts[level] + i] + sums[starts[level + 1] + i // 16 - 1]
    return sums[:n]


def weights(p: Any, n: int) -> np.ndarray:
    """Probabilities as floats, one for each of n."""
    given = np.asarray(p)
    made = given if given.dtype.kind == "f" else given.astype(np.float64)
    if made.shape != (n,):
        raise ValueError(f"p must be None or a 1D vector with the same size as a.shape[axis]. p has shape {made.shape} and a.shape[axis] is {n}.")
    return made


def first_of(x: np.ndarray, shape: Any) -> Any:
    """The first elements in a shape; a number for the shape ()."""
    return x[0] if len(shape) == 0 else shaped(x[: size_of(shape)], shape)


def places_of(words: Any, key: Any, n: int, shape: Any, replace: bool, p: Any, mode: Any) -> Any:
    """Which of n things are drawn."""
    if p is None:
        if replace:
            return randint(key, shape, 0, n)
        return first_of(shuffled(words, np.arange(n), 0), shape)
    chances = weights(p, n)
    if replace:
        sums = running_sums(chances)
        return np.searchsorted(sums, sums[n - 1] * (chances.dtype.type(1) - between(words, shape, chances.dtype, 0.0, 1.0)))
    scores = raw_gumbel(words, (n,), chances.dtype, mode) + np.log(chances)
    return first_of(np.argsort(-scores, kind="stable"), shape)


def choice(key: Any, a: Any, shape: Any = (), replace: bool = True, p: Any = None, axis: int = 0, mode: str | None = None) -> Any:
    """Draw from an array, or from the numbers below an integer.

    Parameters
    ----------
    key : array of uint32, shape (2,)
        A key, which is used for one draw only: see `split`.
    a : int or array
        What is drawn from.
    shape : int or tuple of int, default ()
        The shape of the result; (): one number.
    replace : bool, default True
        Whether an entry may be drawn twice.
    p : array, optional
        The probability of each entry; by default all are equal.
    axis : int, default 0
        The axis of `a` whose entries are drawn.
    mode : {"low", "high"}, optional
        As of `gumbel`, which draws with `p` and without replacement.

    Returns
    -------
    ndarray or NumPy number
        What was drawn.

    Raises
    ------
    TypeError, ValueError
        `key` is no key, the dtype does not fit, or shapes do not broadcast.

    See Also
    --------
    permutation, categorical

    Examples
    --------
    >>> from ingot import random
    >>> random.choice(random.PRNGKey(0), np.array([10, 20, 30]), (4,))
    array([10, 30, 30, 30])
    """
    words = words_of(key, "choice")
    if not isinstance(shape, (tuple, list)):
        raise TypeError(f"shape argument of ingot.random.choice must be a sequence, got {shape}")
    wanted = shape_of(shape)
    given = np.asarray(a)
    if given.ndim == 0:
        if given.dtype.kind not in "iu":
            raise TypeError("a must be an integer or at least 1-dimensional")
        n = int(given[()])
        along = 0
    else:
        along = normal_axis(axis, given.ndim)
        n = given.shape[along]
    draws = size_of(wanted)
    if draws > 0 and n <= 0:
        raise ValueError("a must be greater than 0 unless no samples are taken")
    if not replace and draws > n:
        raise ValueError(f"Cannot take a larger sample (size {draws}) than population (size {n}) when 'replace=False'")
    places = places_of(words, key, n, wanted, replace, p, mode)
    return places if given.ndim == 0 else np.take(given, places, along)


def categorical(key: Any, logits: Any, axis: int = -1, shape: Any = None, replace: bool = True, mode: str | None = None) -> Any:
    """Draw classes by the logarithms of their odds.

    Parameters
    ----------
    key : array of uint32, shape (2,)
        A key, which is used for one draw only: see `split`.
    logits : array
        The logarithms, up to a constant.
    axis : int, default -1
        The axis of the classes.
    shape : int or tuple of int, optional
        The shape of the result; by default that of `logits` without the axis.
    replace : bool, default True
        Whether a class may be drawn twice.
    mode : {"low", "high"}, optional
        As of `gumbel`.

    Returns
    -------
    ndarray of int64, or NumPy number
        The indices of the classes.

    Raises
    ------
    TypeError, ValueError
        `key` is no key, the dtype does not fit, or shapes do not broadcast.

    See Also
    --------
    choice

    Notes
    -----
    The class with the largest sum of its logarithm and a number of Gumbel's distribution (the Gumbel-max trick).

    Examples
    --------
    >>> from ingot import random
    >>> random.categorical(random.PRNGKey(0), np.log([0.1, 0.6, 0.3]), shape=(5,))
    array([2, 1, 1, 1, 1])
    """
    words = words_of(key, "categorical")
    given = np.asarray(logits)
    dtype = float_dtype("gumbel", given.dtype)
    along = normal_axis(axis, given.ndim)
    batch = given.shape[:along] + given.shape[along + 1 :]
    wanted = batch if shape is None else shape_of(shape)
    if shape is not None:
        need_shape("categorical", wanted, (np.broadcast_to(0, batch),))
    extra = len(wanted) - len(batch)
    prefix = wanted[:extra]
    if replace:
        own = wanted[extra:]
        full = (*prefix, *own[:along], given.shape[along], *own[along:])
        return np.argmax(raw_gumbel(words, full, dtype, mode) + given, axis=extra + along)
    k = size_of(prefix)
    if k > given.shape[along]:
        raise ValueError(f"Number of samples without replacement ({k}) cannot exceed number of categories ({given.shape[along]}).")
    scores = np.moveaxis(raw_gumbel(words, given.shape, dtype, mode) + given, along, -1)
    best = np.argsort(-scores, axis=-1, kind="stable")[..., :k]
    return np.moveaxis(best, -1, 0).reshape(wanted)
