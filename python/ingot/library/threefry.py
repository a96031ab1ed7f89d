"""Random numbers of a key and a counter, with JAX's bits: the hash Threefry-2x32 of 20 rounds, keys, bits, uniform numbers.

Element i of a result is made of the hash of i under the key, as JAX has it with `jax_threefry_partitionable`, so that what
is drawn depends on no order. A key is an array of two words, uint32, as `jax.random.PRNGKey` gives it.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from . import primitives

Word = np.uint32


def rotated(x: Any, bits: int) -> Any:
    """Words rotated left."""
    return (x << Word(bits)) | (x >> Word(32 - bits))


def four_rounds(x: Any, y: Any, distances: tuple[int, int, int, int]) -> Any:
    for bits in distances:
        x = x + y
        y = rotated(y, bits) ^ x
    return x, y


def hashed(key: Any, x: Any, y: Any) -> Any:
    """Threefry-2x32: the hash of two words, numbers or arrays, under the two of a key."""
    first, second = key
    third = first ^ second ^ Word(0x1BD11BDA)
    x, y = four_rounds(x + first, y + second, (13, 15, 26, 6))
    x, y = four_rounds(x + second, y + third + Word(1), (17, 29, 16, 24))
    x, y = four_rounds(x + third, y + first + Word(2), (13, 15, 26, 6))
    x, y = four_rounds(x + first, y + second + Word(3), (17, 29, 16, 24))
    x, y = four_rounds(x + second, y + third + Word(4), (13, 15, 26, 6))
    return x + third, y + first + Word(5)


def words_of(key: Any, name: str) -> Any:
    """The two words of a key; raises where it is none."""
    if not isinstance(key, np.ndarray):
        raise TypeError(f"unexpected PRNG key type {type(key)}")
    if key.dtype != np.uint32:
        raise TypeError(f"invalid PRNG key data: expected key_data.dtype = uint32; got dtype={key.dtype}")
    if key.ndim == 0 or key.shape[key.ndim - 1] != 2:
        raise TypeError(f"invalid PRNG key data: expected key_data.shape to end with (2,); got shape={key.shape}")
    if key.ndim > 1:
        raise ValueError(f"{name} accepts a single key, but was given a key array of shape {key.shape[:-1]} != (). Use ingot.vmap for batching.")
    return key[0], key[1]


def shape_of(shape: Any) -> Any:
    """A shape as a tuple of lengths."""
    lengths = tuple([operator.index(n) for n in shape]) if isinstance(shape, (tuple, list)) else (operator.index(shape),)
    for n in lengths:
        if n < 0:
            raise ValueError("negative dimensions are not allowed")
    if len(lengths) > 1:
        primitives.need_size(lengths, np.uint64)
    return lengths


def size_of(shape: Any) -> int:
    size = 1
    for n in shape:
        size = size * n
    return size


def shaped(x: Any, shape: Any) -> Any:
    """New elements, one after the other, in a shape; a number has the shape ()."""
    return x if len(shape) < 2 else primitives.reshape(x, shape)


def select(condition: Any, x: Any, y: Any) -> Any:
    """x where a condition holds, else y: numbers, or arrays that broadcast together."""
    made = primitives.select(condition, x, y)
    return made[()] if made.ndim == 0 else made


def hashes(key: Any, shape: Any) -> Any:
    """The two words for each element of a shape, one after the other; numbers for the shape ()."""
    if len(shape) == 0:
        return hashed(key, Word(0), Word(0))
    counts = np.arange(size_of(shape))
    return hashed(key, (counts >> 32).astype(Word), counts.astype(Word))


def hashed_place(key: Any, place: Any) -> Any:
    """The two words for an element, which is given as an int64."""
    return hashed(key, Word(place >> np.int64(32)), Word(place & np.int64(0xFFFFFFFF)))


def pairs(key: Any, shape: Any) -> np.ndarray:
    """The two words for each element of a shape, along a last axis."""
    n = size_of(shape)
    made = np.empty((n, 2), Word)
    for i in range(n):
        x, y = hashed_place(key, np.int64(i))
        made[i, 0] = x
        made[i, 1] = y
    return primitives.reshape(made, (*shape, 2))


def random_bits(key: Any, width: int, shape: Any) -> Any:
    """Unsigned integers of a width, one after the other; a number for the shape ()."""
    x, y = hashes(key, shape)
    if width == 64:
        return (x.astype(np.uint64) << np.uint64(32)) | y.astype(np.uint64)
    if width == 32:
        return x ^ y
    return (x ^ y).astype(np.uint16 if width == 16 else np.uint8)


def make_key(name: str, seed: Any, impl: Any) -> np.ndarray:
    if impl is not None and impl != "threefry2x32":
        raise ValueError(f'unrecognized PRNG implementation "{impl}". Did you mean one of: "threefry2x32"?')
    if np.ndim(seed) > 0:
        raise TypeError(f"{name} accepts a scalar seed, but was given an array of shape {np.shape(seed)} != (). Use ingot.vmap for batching")
    dtype = np.asarray(seed).dtype
    if dtype.kind not in "iu" and not isinstance(seed, bool):
        raise TypeError(f"PRNG key seed must be an integer; got {seed!r}")
    made = np.empty(2, Word)
    number = np.asarray(seed)[()].astype(np.uint64)
    made[0] = number >> np.uint64(32) if dtype.itemsize == 8 else np.uint64(0)
    made[1] = number & np.uint64(0xFFFFFFFF)
    return made


def key(seed: Any, *, impl: Any = None) -> np.ndarray:
    """Make a key from a seed. The same as `PRNGKey`.

    Parameters
    ----------
    seed : int
        Its lower and upper 32 bits become the words of the key.
    impl : str, optional
        ``"threefry2x32"``, the only generator.

    Returns
    -------
    ndarray of uint32, shape (2,)
        The key: the upper word, then the lower one.

    Raises
    ------
    TypeError, ValueError
        The seed is no integer, or `impl` is another generator.

    See Also
    --------
    split, fold_in

    Notes
    -----
    A key is data: the same key draws the same numbers. The generator is Threefry with 20 rounds (J. K. Salmon et al.,
    "Parallel Random Numbers: As Easy as 1, 2, 3", SC '11), as in JAX, bit by bit.

    Examples
    --------
    >>> from ingot import random
    >>> random.key(42)
    array([ 0, 42], dtype=uint32)
    """
    return make_key("key", seed, impl)


def PRNGKey(seed: Any, *, impl: Any = None) -> np.ndarray:  # noqa: N802
    """Make a key from a seed.

    Parameters
    ----------
    seed : int
        Its lower and upper 32 bits become the words of the key.
    impl : str, optional
        ``"threefry2x32"``, the only generator.

    Returns
    -------
    ndarray of uint32, shape (2,)
        The key: the upper word, then the lower one.

    Raises
    ------
    TypeError, ValueError
        The seed is no integer, or `impl` is another generator.

    See Also
    --------
    split, fold_in

    Notes
    -----
    A key is data: the same key draws the same numbers. The generator is Threefry with 20 rounds (J. K. Salmon et al.,
    "Parallel Random Numbers: As Easy as 1, 2, 3", SC '11), as in JAX, bit by bit.

    Examples
    --------
    >>> from ingot import random
    >>> random.PRNGKey(42)
    array([ 0, 42], dtype=uint32)
    """
    return make_key("PRNGKey", seed, impl)


def fold_in(key: Any, data: Any) -> np.ndarray:
    """Make a key from a key and an integer, such as the number of an iteration.

    Parameters
    ----------
    key : array of uint32, shape (2,)
        A key, which is used for one draw only: see `split`.
    data : int
        32 bits.

    Returns
    -------
    ndarray of uint32, shape (2,)
        The new key.

    Raises
    ------
    OverflowError
        One of Python's ints is beyond 32 bits.

    See Also
    --------
    split : Several keys of one.

    Examples
    --------
    >>> from ingot import random
    >>> random.fold_in(random.PRNGKey(0), 7)
    array([2716826189,  292468403], dtype=uint32)
    """
    words = words_of(key, "fold_in")
    if np.ndim(data) > 0:
        raise TypeError(f"fold_in accepts a scalar, but was given an array of shape {np.shape(data)} != (). Use ingot.vmap for batching.")
    x, y = hashed(words, Word(0), np.asarray(data, np.uint32)[()])
    made = np.empty(2, Word)
    made[0] = x
    made[1] = y
    return made


def split(key: Any, num: Any = 2) -> np.ndarray:
    """Make new keys from a key.

    Parameters
    ----------
    key : array of uint32, shape (2,)
        A key, which is used no more afterwards.
    num : int or tuple of int, default 2
        How many: along a first axis, or along several.

    Returns
    -------
    ndarray of uint32, shape (num, 2)
        The keys, one in each row.

    Raises
    ------
    TypeError, ValueError
        `key` is no key, the dtype does not fit, or shapes do not broadcast.

    See Also
    --------
    fold_in : A key for each iteration.

    Examples
    --------
    >>> from ingot import random
    >>> first, second = random.split(random.PRNGKey(0))
    >>> random.uniform(first), random.uniform(second)
    (np.float64(0.9699479979898888), np.float64(0.08062436666431605))
    """
    words = words_of(key, "split")
    return pairs(words, shape_of(num))


def bits(key: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Draw random bits.

    Parameters
    ----------
    key : array of uint32, shape (2,)
        A key, which is used for one draw only: see `split`.
    shape : int or tuple of int, default ()
        The shape of the result; (): one number.
    dtype : dtype, default uint64
        An unsigned integer dtype.

    Returns
    -------
    ndarray or NumPy number
        The numbers drawn, in an array of `shape`; for the shape () one number of NumPy's.

    Raises
    ------
    TypeError, ValueError
        `key` is no key, the dtype does not fit, or shapes do not broadcast.

    See Also
    --------
    randint : Integers of a range.

    Examples
    --------
    >>> from ingot import random
    >>> random.bits(random.PRNGKey(0), 3, np.uint8)
    array([167, 146,  40], dtype=uint8)
    """
    words = words_of(key, "bits")
    wanted = np.dtype(np.uint64 if dtype is None else dtype)
    if wanted.kind != "u":
        raise ValueError(f"dtype argument to `bits` must be an unsigned int dtype, got {wanted}")
    lengths = shape_of(shape)
    return shaped(random_bits(words, 8 * wanted.itemsize, lengths), lengths)


def float_dtype(name: str, dtype: Any) -> Any:
    """The dtype of random floats: float64 where none is given."""
    wanted = np.dtype(np.float64 if dtype is None else dtype)
    if wanted.kind != "f":
        raise ValueError(f"dtype argument to `{name}` must be a float dtype, got {wanted}")
    return wanted


def integer_dtype(name: str, dtype: Any) -> Any:
    """The dtype of random integers: int64 where none is given."""
    wanted = np.dtype(np.int64 if dtype is None else dtype)
    if wanted.kind not in "iu":
        raise ValueError(f"dtype argument to `{name}` must be an int dtype, got {wanted}")
    return wanted


def need_shape(name: str, shape: Any, parameters: Any) -> None:
    """Raises where parameters do not broadcast to a shape."""
    result = np.broadcast_shapes(shape, *[np.shape(p) for p in parameters])
    if result != shape:
        raise ValueError(
            f"{name} parameter shapes must be broadcast-compatible with shape argument, and the result of broadcasting the "
            f"shapes must equal the shape argument, but got result {result} for shape argument {shape}."
        )


def shape_for(name: str, shape: Any, parameters: Any) -> Any:
    """The shape that is asked for, or else that of parameters broadcast together."""
    if shape is None:
        return np.broadcast_shapes(*[np.shape(p) for p in parameters])
    lengths = shape_of(shape)
    need_shape(name, lengths, parameters)
    return lengths


def at(x: Any, dtype: Any) -> Any:
    """A parameter at a dtype: an array, or a number of NumPy's."""
    return np.asarray(x).astype(dtype)[()]


def fractions(words: Any, shape: Any, dtype: Any) -> Any:
    """Multiples of 2**-52 (float32: 2**-23, float16: 2**-10) in [0, 1)."""
    if dtype == np.float64:
        kept = random_bits(words, 64, shape) >> np.uint64(12)
        found = kept.astype(np.int64).astype(np.float64) * 2.0**-52
    elif dtype == np.float32:
        kept = random_bits(words, 32, shape) >> np.uint32(9)
        found = kept.astype(np.int32).astype(np.float32) * np.float32(2.0**-23)
    else:
        kept = random_bits(words, 16, shape) >> np.uint16(6)
        found = kept.astype(np.float16) * np.float16(2.0**-10)
    return shaped(found, shape)


def halves(x: Any) -> Any:
    """A float64 or float32 as the sum of two of half as many bits."""
    far = x * x.dtype.type(134217729.0 if x.dtype == np.float64 else 4097.0)
    upper = far - (far - x)
    return upper, x - upper


def rest_of_product(x: Any, y: Any, product: Any) -> Any:
    """x * y - product, where the product is x * y, rounded."""
    upper, lower = halves(x)
    other_upper, other_lower = halves(y)
    return ((upper * other_upper - product) + upper * other_lower + lower * other_upper) + lower * other_lower


def fused(x: Any, scale: Any, offset: Any) -> Any:
    """x * scale + offset, rounded once, as compiled code of JAX has it; float16 is rounded twice there, too."""
    if x.dtype == np.float16:
        return x * scale + offset
    if x.dtype == np.float32:
        return (x.astype(np.float64) * scale.astype(np.float64) + offset.astype(np.float64)).astype(np.float32)
    product = x * scale
    total = product + offset
    back = total - product
    lost = (product - (total - back)) + (offset - back)
    rest = rest_of_product(x, scale * 2.0**-32, product * 2.0**-32) * 2.0**32
    return select(abs(scale) < np.inf, total + (lost + rest), total)


def is_constant(x: Any, value: float) -> bool:
    """Whether x is known to be a number when compiling."""
    return isinstance(x, float) and primitives.is_known(x) and x == value


def between(words: Any, shape: Any, dtype: Any, minval: Any, maxval: Any) -> Any:
    """Uniform numbers of a dtype from `minval` on, below `maxval`."""
    x = fractions(words, shape, dtype)
    if is_constant(minval, 0.0) and is_constant(maxval, 1.0):
        return x
    low = at(minval, dtype)
    return np.maximum(low, fused(x, at(maxval, dtype) - low, low))


def uniform(key: Any, shape: Any = (), dtype: Any = None, minval: Any = 0.0, maxval: Any = 1.0) -> Any:
    """Draw floats of the uniform distribution on [minval, maxval).

    Parameters
    ----------
    key : array of uint32, shape (2,)
        A key, which is used for one draw only: see `split`.
    shape : int or tuple of int, default ()
        The shape of the result; (): one number.
    dtype : dtype, default float64
        float16, float32 or float64.
    minval, maxval : float or array, default 0.0 and 1.0
        The bounds, which broadcast to `shape`.

    Returns
    -------
    ndarray or NumPy number
        The numbers drawn, in an array of `shape`; for the shape () one number of NumPy's.

    Raises
    ------
    TypeError, ValueError
        `key` is no key, the dtype does not fit, or shapes do not broadcast.

    See Also
    --------
    normal, randint

    Examples
    --------
    >>> from ingot import random
    >>> random.uniform(random.PRNGKey(0), 3)
    array([0.41845711, 0.21629545, 0.96532146])
    """
    words = words_of(key, "uniform")
    wanted = float_dtype("uniform", dtype)
    lengths = shape_of(shape)
    need_shape("uniform", lengths, (minval, maxval))
    return between(words, lengths, wanted, minval, maxval)


def value_bits(dtype: Any) -> int:
    """How many bits of an integer are not its sign."""
    return 8 * dtype.itemsize - (1 if dtype.kind == "i" else 0)


def clipped(x: Any, dtype: Any) -> Any:
    """Integers at a dtype, those out of its range at its ends."""
    own = x.dtype
    if own.kind == "i" and dtype.kind == "u":
        x = np.maximum(x, own.type(0))
    elif own.kind == "i" and own.itemsize > dtype.itemsize:
        x = np.maximum(x, own.type(np.iinfo(dtype).min))
    if value_bits(own) > value_bits(dtype):
        x = np.minimum(x, own.type(np.iinfo(dtype).max))
    return x.astype(dtype)


def bound(x: Any) -> Any:
    """A bound of integers: an array of integers or a number of NumPy's."""
    given = np.asarray(x)
    return given[()] if given.dtype.kind in "iu" else given.astype(np.int64)[()]


def remainder(x: Any, span: Any) -> Any:
    """The remainder of unsigned integers, or x where the span is 0."""
    one = span.dtype.type(1)
    return select(span == 0, x, x % select(span == 0, one, span))


def integers_below(words: Any, shape: Any, span: Any) -> Any:
    """Unsigned integers below a span (0: all), each the remainder of one of twice as many bits."""
    width = 8 * span.dtype.itemsize
    upper_key, lower_key = subkeys(words, 2)
    upper = shaped(random_bits(upper_key, width, shape), shape)
    lower = shaped(random_bits(lower_key, width, shape), shape)
    half = remainder(span.dtype.type(1 << (width // 2)), span)
    factor = remainder(half * half, span)
    return remainder(remainder(upper, span) * factor + remainder(lower, span), span)


def subkeys(words: Any, n: int) -> Any:
    """The words of the keys that `split` gives."""
    return tuple([hashed(words, Word(0), Word(k)) for k in range(n)])


def randint(key: Any, shape: Any, minval: Any, maxval: Any, dtype: Any = None) -> Any:
    """Draw integers of the uniform distribution on [minval, maxval).

    Parameters
    ----------
    key : array of uint32, shape (2,)
        A key, which is used for one draw only: see `split`.
    shape : int or tuple of int
        The shape of the result.
    minval, maxval : int or array
        The bounds, which broadcast to `shape`. Where there is no integer between them, the result is `minval`.
    dtype : dtype, default int64
        An integer dtype.

    Returns
    -------
    ndarray or NumPy number
        The numbers drawn, in an array of `shape`; for the shape () one number of NumPy's.

    Raises
    ------
    TypeError, ValueError
        `key` is no key, the dtype does not fit, or shapes do not broadcast.

    See Also
    --------
    bits, choice

    Examples
    --------
    >>> from ingot import random
    >>> random.randint(random.PRNGKey(0), (5,), 0, 10)
    array([5, 1, 5, 7, 3])
    """
    words = words_of(key, "randint")
    wanted = np.dtype(np.int64 if dtype is None else dtype)
    if wanted.kind not in "iu":
        raise TypeError(f"randint only accepts integer dtypes, got {wanted}")
    lengths = shape_of(shape)
    need_shape("randint", lengths, (minval, maxval))
    low, high = bound(minval), bound(maxval)
    sampled = wanted
    if wanted.itemsize < 4:
        sampled = np.dtype(np.int32)
        info = np.iinfo(wanted)
        low = np.clip(low.astype(np.int32), np.int32(info.min), np.int32(info.max))
        high = np.clip(high.astype(np.int32), np.int32(info.min), np.int32(int(info.max) + 1))
    unsigned = np.dtype(np.uint64 if sampled.itemsize == 8 else np.uint32)
    first, last = clipped(low, sampled), clipped(high, sampled)
    span = last.astype(unsigned) - first.astype(unsigned)
    span = select(last <= first, unsigned.type(1), span)
    if value_bits(high.dtype) > value_bits(sampled):
        is_above = (high > high.dtype.type(np.iinfo(sampled).max)) & (last > first)
        span = select(is_above, span + unsigned.type(1), span)
    return (first + integers_below(words, lengths, span).astype(sampled)).astype(wanted)
