"""Products of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import primitives
from .reductions import known_axis, product
from .registry import implements
from .shapes import text_of_shape


@implements(np.outer)
def outer(a: Any, b: Any, out: Any = None) -> Any:
    return np.multiply(np.ravel(np.asarray(a))[:, None], np.ravel(np.asarray(b)), out=out)


@implements(np.linalg.outer)
def outer_of_vectors(x1: Any, x2: Any, /) -> Any:
    x = np.asarray(x1)
    y = np.asarray(x2)
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError(f"Input arrays must be one-dimensional, but they are x1.ndim={x.ndim} and x2.ndim={y.ndim}.")
    return outer(x, y)


@implements(np.linalg.matmul)
def matmul(x1: Any, x2: Any, /) -> Any:
    return np.matmul(x1, x2)


def dot(a: Any, b: Any, out: Any = None) -> Any:
    """`np.dot` of numbers, of arrays of more than two axes, or into an output."""
    if out is not None:
        return into(np.dot(a, b), out)
    x = np.asarray(a)
    y = np.asarray(b)
    if x.ndim == 0 or y.ndim == 0:
        product = np.multiply(x, y)
        if x.ndim == y.ndim:
            return product
        return product + product.dtype.type(0)  # a sum that begins at 0: never -0.0
    core = max(y.ndim - 2, 0)
    if x.shape[-1] != y.shape[core]:
        raise ValueError(f"shapes {shown(x.shape)} and {shown(y.shape)} not aligned: {x.shape[-1]} (dim {x.ndim - 1}) != {y.shape[core]} (dim {core})")
    return tensordot(x, y, (-1, core))


def into(result: Any, out: Any) -> Any:
    """The output that a product is put into, which must be like the result."""
    if not isinstance(out, np.ndarray):
        raise TypeError("'out' must be an array")
    if out.dtype != np.asarray(result).dtype or out.ndim != np.ndim(result) or not primitives.is_contiguous(out):
        raise ValueError("output array is not acceptable (must have the right datatype, number of dimensions, and be a C-Array)")
    primitives.need_writable(out, "output array is not acceptable (must have the right datatype, number of dimensions, and be a C-Array)")
    if out.shape != np.shape(result):
        raise ValueError("output array has wrong dimensions")
    out[...] = result
    return out


@implements(np.inner)
def inner(a: Any, b: Any, /) -> Any:
    x = np.asarray(a)
    y = np.asarray(b)
    if x.ndim == 0 or y.ndim == 0:
        return x * y
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(f"shapes {shown(x.shape)} and {shown(y.shape)} not aligned: {x.shape[-1]} (dim {x.ndim - 1}) != {y.shape[-1]} (dim {y.ndim - 1})")
    return tensordot(x, y, (-1, -1))[()]


def shown(shape: tuple[int, ...]) -> str:
    """A shape as messages show it."""
    text = "("
    for i in range(len(shape)):
        text = f"{text}{',' if i > 0 else ''}{shape[i]}"
    return f"{text}{',)' if len(shape) == 1 else ')'}"


@implements(np.vdot)
def vdot(a: Any, b: Any, /) -> Any:
    x = np.ravel(np.asarray(a))
    if x.dtype.kind == "c":
        x = np.conjugate(x)
    return np.dot(x, np.ravel(np.asarray(b)))


def need_core(name: str, signature: str, operands: tuple[Any, ...], counts: tuple[int, ...]) -> None:
    """Raises where an operand has not as many axes as a function runs along itself."""
    for i, operand in enumerate(operands):
        if operand.ndim < counts[i]:
            raise ValueError(
                f"{name}: Input operand {i} does not have enough dimensions "
                f"(has {operand.ndim}, gufunc core with signature {signature} requires {counts[i]})"
            )


@implements(np.vecdot, np.linalg.vecdot)
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    x = np.asarray(x1)
    y = np.asarray(x2)
    need_core("vecdot", "(n),(n)->()", (x, y), (1, 1))
    x = np.moveaxis(x, known_axis(axis, x.ndim), -1)
    y = np.moveaxis(y, known_axis(axis, y.ndim), -1)
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(
            "vecdot: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature (n),(n)->() "
            f"(size {y.shape[-1]} is different from {x.shape[-1]})"
        )
    return np.sum((np.conjugate(x) if x.dtype.kind == "c" else x) * y, axis=-1, dtype=np.result_type(x.dtype, y.dtype))


if hasattr(np, "matvec"):  # from NumPy 2.2 on

    @implements(np.matvec)
    def matvec(x1: Any, x2: Any, /) -> Any:
        x = np.asarray(x1)
        y = np.asarray(x2)
        need_core("matvec", "(m,n),(n)->(m)", (x, y), (2, 1))
        return np.matmul(x, y[..., None])[..., 0]


if hasattr(np, "vecmat"):  # from NumPy 2.2 on

    @implements(np.vecmat)
    def vecmat(x1: Any, x2: Any, /) -> Any:
        x = np.asarray(x1)
        y = np.asarray(x2)
        need_core("vecmat", "(n),(n,m)->(m)", (x, y), (1, 2))
        return np.matmul((np.conjugate(x) if x.dtype.kind == "c" else x)[..., None, :], y)[..., 0, :]


@implements(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    x = np.asarray(a)
    y = np.asarray(b)
    if isinstance(axes, (tuple, list)):
        left, right = axes
        left = tuple(left) if isinstance(left, (tuple, list)) else (left,)
        right = tuple(right) if isinstance(right, (tuple, list)) else (right,)
    else:
        left = tuple(range(-axes, 0))
        right = tuple(range(axes))
    if len(left) != len(right):
        raise ValueError("shape-mismatch for sum")
    left = tuple([known_axis(axis, x.ndim) for axis in left])
    right = tuple([known_axis(axis, y.ndim) for axis in right])
    for i in range(len(left)):
        if x.shape[left[i]] != y.shape[right[i]]:
            raise ValueError("shape-mismatch for sum")
    kept_left = tuple([i for i in range(x.ndim) if i not in left])
    kept_right = tuple([i for i in range(y.ndim) if i not in right])
    rows = tuple([x.shape[i] for i in kept_left])
    columns = tuple([y.shape[i] for i in kept_right])
    terms = product([x.shape[i] for i in left])
    p = primitives.reshape(primitives.transpose(x, kept_left + left).copy(), (product(rows), terms))
    q = primitives.reshape(primitives.transpose(y, right + kept_right).copy(), (terms, product(columns)))
    return primitives.reshape(np.dot(p, q), rows + columns)


@implements(np.linalg.tensordot)
def tensordot_of_arrays(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    return tensordot(x1, x2, axes)


@implements(np.kron)
def kron(a: Any, b: Any) -> Any:
    x = np.asarray(a)
    y = np.asarray(b)
    rank = x.ndim if x.ndim > y.ndim else y.ndim
    x = x[(None,) * (rank - x.ndim)]
    y = y[(None,) * (rank - y.ndim)]
    apart = x[interleaved(rank, True)] * y[interleaved(rank, False)]
    lengths = tuple([x.shape[i] * y.shape[i] for i in range(rank)])
    return primitives.reshape(np.asarray(apart).copy(), lengths)[()] if rank > 0 else apart


def interleaved(rank: int, is_first: bool) -> tuple[Any, ...]:
    """The index that puts a new axis after each axis, or before it."""
    return tuple([slice(None) if (k % 2 == 0) == is_first else None for k in range(2 * rank)]) + (Ellipsis,)


def subscripts_of(text: str, operands: Any) -> tuple[Any, str]:
    """The labels of the axes of each operand and of the result; `...` is spelled out by labels that are not used."""
    text = text.replace(" ", "")
    parts = text.split("->")
    inputs = parts[0].split(",")
    if len(inputs) != len(operands):
        raise ValueError("more operands provided to einstein sum function than specified in the subscripts string" if len(inputs) < len(operands) else "fewer operands provided to einstein sum function than specified in the subscripts string")  # fmt: skip
    unused = [letter for letter in "ZYXWVUTSRQPONMLKJIHGFEDCBAzyxwvutsrqponmlkjihgfedcba" if letter not in text]
    most = 0
    spelled = []
    for i in range(len(inputs)):
        letters = inputs[i]
        if "..." in letters:
            extra = operands[i].ndim - (len(letters) - 3)
            most = extra if extra > most else most
            letters = letters.replace("...", "".join(unused[:extra][::-1]))
        if len(letters) != operands[i].ndim:
            raise ValueError("einstein sum subscripts string contains too many subscripts for operand " + str(i) if len(letters) > operands[i].ndim else "operand has more dimensions than subscripts given in einstein sum, but no '...' ellipsis provided to broadcast the extra dimensions.")  # fmt: skip
        spelled.append(letters)
    open_letters = "".join(unused[:most][::-1])
    if len(parts) == 2:
        return spelled, parts[1].replace("...", open_letters)
    everything = "".join(spelled)
    once = [letter for letter in sorted(list(everything)) if everything.count(letter) == 1 and letter not in open_letters]
    return spelled, open_letters + "".join(once)


def diagonal(x: Any, letters: str, operand: str) -> tuple[Any, str]:
    """An array of which equal labels name one axis; `operand` is its name in errors."""
    names = ""
    for letter in letters:
        if letter not in names:
            names = names + letter
    if len(names) == len(letters):
        return x, letters
    lengths = []
    strides = []
    for name in names:
        length = x.shape[letters.index(name)]
        stride = 0
        for i in range(len(letters)):
            if letters[i] == name:
                if x.shape[i] != length:
                    raise ValueError(
                        f"dimensions in {operand} for collapsing index '{name}' don't match ({length} != {x.shape[i]})"
                    )
                stride = stride + x.strides[i]
        lengths.append(length)
        strides.append(stride)
    return primitives.strided(x, tuple(lengths), tuple(strides)), names


def aligned(x: Any, letters: str, order: str) -> Any:
    """An array with an axis for each label of an order: its own, or one of length 1."""
    present = [letter for letter in order if letter in letters]
    moved = primitives.transpose(x, tuple([letters.index(letter) for letter in present]))
    return moved[tuple([slice(None) if letter in letters else None for letter in order]) + (Ellipsis,)]


@implements(np.einsum)
def einsum(*operands: Any, out: Any = None, optimize: Any = False, dtype: Any = None) -> Any:
    if not isinstance(operands[0], str):
        primitives.refuse("np.einsum with lists of axes", "use a string of subscripts")
    arrays = [np.asarray(operand) for operand in operands[1:]]
    spelled, kept = subscripts_of(operands[0], arrays)
    at = np.result_type(*[x.dtype for x in arrays]) if dtype is None else np.dtype(dtype)
    is_view = len(arrays) == 1 and all([letter in kept for letter in spelled[0]])
    terms = [
        diagonal(
            arrays[i].astype(at) if arrays[i].dtype != at else arrays[i],
            spelled[i],
            "single operand" if is_view else f"operand {i}",
        )
        for i in range(len(arrays))
    ]
    if len(terms) > 1:
        need_equal_lengths(terms, kept)
    result, letters = terms[0]
    for i in range(1, len(terms)):
        later = "".join([terms[k][1] for k in range(i + 1, len(terms))]) + kept
        result, letters = contracted(result, letters, terms[i][0], terms[i][1], later)
    summed = tuple([k for k in range(len(letters)) if letters[k] not in kept])
    if len(summed) > 0:
        result = primitives.reduce(np.add, result, summed)
        letters = "".join([letter for letter in letters if letter in kept])
    if len(letters) > 0:
        result = aligned(np.asarray(result), letters, kept)
    if len(terms) == 1 and len(summed) == 0:
        result = result[()] if result.ndim == 0 else result
    if out is None:
        return result
    out[...] = result
    return out


def need_equal_lengths(terms: Any, kept: str) -> None:
    """The axes of one label are of one length, or repeat."""
    order = kept
    for letter in sorted(list("".join([names for x, names in terms]))):
        order = order if letter in order else order + letter
    for letter in order:
        common = 1
        for x, names in terms:
            if letter in names:
                length = x.shape[names.index(letter)]
                if length != common and length != 1 and common != 1:
                    shapes = ""
                    for a, own in terms:
                        shapes = f"{shapes}{text_of_shape(a.shape)}->{remapped(a, own, order)} "
                    raise ValueError(f"operands could not be broadcast together with remapped shapes [original->remapped]: {shapes}")
                common = length if common == 1 else common


def remapped(x: Any, names: str, order: str) -> str:
    """The axes of x in an order of labels, as NumPy's messages show them."""
    lengths = []
    for letter in order:
        if letter in names:
            lengths.append(x.shape[names.index(letter)])
        elif len(lengths) > 0:
            lengths.append(-1)
    return text_of_shape(lengths) if len(order) == 1 or len(lengths) != 1 else f"({lengths[0]})"


def contracted(x: Any, left: str, y: Any, right: str, later: str) -> tuple[Any, str]:
    """The product of two arrays, summed over the labels that nothing needs later."""
    batch = [c for c in left if c in right and c in later]
    summed = [c for c in left if c in right and c not in later]
    rows = [c for c in left if c not in right]
    columns = [c for c in right if c not in left]
    order = "".join(batch + rows + columns + summed)
    is_product = len(summed) > 0 and len(rows) > 0 and len(columns) > 0 and x.dtype.kind in "fc" and x.dtype.itemsize > 2
    if is_product and len(summed) == 1 and len(rows) == 1 and len(columns) == 1:
        p = aligned(x, left, "".join(batch + rows + summed))
        q = aligned(y, right, "".join(batch + summed + columns))
        if p.shape[-1] != q.shape[-2]:  # one of them repeats
            p = np.sum(p, axis=-1, keepdims=True)
            q = np.sum(q, axis=-2, keepdims=True)
        return np.matmul(p, q), "".join(batch + rows + columns)
    products = aligned(x, left, order) * aligned(y, right, order)
    if len(summed) == 0:
        return products, order
    axes = tuple(range(len(order) - len(summed), len(order)))
    return primitives.reduce(np.add, products, axes), "".join(batch + rows + columns)
