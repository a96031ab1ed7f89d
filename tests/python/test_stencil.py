"""`ingot.stencil`: a kernel of neighbours for each element of an array, against loops in Python and against Numba."""

import itertools
import os
import pickle
import subprocess
import sys

import cloudpickle
import ingot
import numpy as np
import pytest


def same(x, y):
    assert x.dtype == y.dtype
    np.testing.assert_array_equal(x, y)


def by_hand(kernel, bounds, *args, relative=(0,), cval=0, dtype=None):
    """The stencil as loops of Python, by windows around each element."""
    shape = args[0].shape
    made = np.full(shape, cval, args[0].dtype if dtype is None else dtype)
    for place in itertools.product(*[range(-min(0, low), n - max(0, high)) for n, (low, high) in zip(shape, bounds)]):
        made[place] = kernel(*[Window(x, place) if k in relative else x for k, x in enumerate(args)])
    return made


class Window:
    def __init__(self, array, place):
        self.array, self.place = array, place

    def __getitem__(self, index):
        index = index if isinstance(index, tuple) else (index,)
        return self.array[tuple(i + k for i, k in zip(index, self.place))]


def pair(a):
    return a[-1] + a[1]


def far(a):
    return a[-3] * a[0] - a[2]


def ahead(a):
    return a[1] - a[2]


def five(a):
    return 0.25 * (a[-1, 0] + a[1, 0] + a[0, -1] + a[0, 1])


def corner(a):
    return a[-2, 1] - a[(0, -1)]


def cube(a):
    return a[-1, 0, 0] + a[0, 2, 0] * a[0, 0, -1]


def four(a):
    return a[0, -1, 0, 1] - a[1, 0, 0, 0]


def greatest(a):
    k = -1
    if a[k] > a[0]:
        return a[k]
    return max(a[0], a[2 - 1])


KERNELS = {
    pair: ((-1, 1),),
    far: ((-3, 2),),
    ahead: ((0, 2),),
    five: ((-1, 1), (-1, 1)),
    corner: ((-2, 0), (-1, 1)),
    cube: ((-1, 0), (0, 2), (-1, 0)),
    four: ((0, 1), (-1, 0), (0, 0), (0, 1)),
    greatest: ((-1, 1),),
}
SIDES = {1: [(9,), (3,), (2,), (1,), (0,)], 2: [(6, 7), (2, 5), (3, 0)], 3: [(4, 5, 3), (1, 2, 3)], 4: [(3, 2, 2, 4)]}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ("float64", "float32", "int64", "int32", "complex128"))
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_elements_and_borders(kernel, dtype):
    if kernel is greatest and dtype == "complex128":
        dtype = "int8"  # complex numbers have no order
    made, bounds = ingot.stencil(kernel), KERNELS[kernel]
    for shape in SIDES[len(bounds)]:
        x = np.random.default_rng(len(shape)).integers(-9, 9, shape).astype(dtype)
        result = np.float64 if kernel is five and dtype.startswith("int") else dtype
        same(made(x), by_hand(kernel, bounds, x, dtype=result))
        if len(shape) > 1:
            same(made(x.T.copy().T), by_hand(kernel, bounds, x, dtype=result))
            wide = np.repeat(x, 2, axis=1)[:, ::2]
            same(made(wide), by_hand(kernel, bounds, wide, dtype=result))


@pytest.mark.parametrize("cval", (0, 2, -1.5, True, np.nan, np.float32(3), 1j), ids=str)
def test_what_has_not_all_neighbours_is_cval(cval):
    x = np.arange(6.0)
    if cval == 1j:
        with pytest.raises(ValueError, match="cval is complex"):
            ingot.stencil(pair, cval=cval)(x)
        x = x.astype(complex)
    same(ingot.stencil(pair, cval=cval)(x), by_hand(pair, ((-1, 1),), x, cval=cval))
    same(ingot.stencil(cval=cval)(five)(np.ones((3, 4), x.dtype)), by_hand(five, KERNELS[five], np.ones((3, 4), x.dtype), cval=cval))


def test_cval_is_cast_as_an_assignment_does_it():
    same(ingot.stencil(pair, cval=1.7)(np.arange(4)), np.array([1, 2, 4, 1]))
    same(ingot.stencil(lambda a: a[0] > a[1], cval=2)(np.arange(3.0)), np.array([False, False, True]))
    with pytest.raises(ValueError, match="cannot convert float NaN to integer"):
        ingot.stencil(pair, cval=np.nan)(np.arange(4))


def test_neighbourhoods_that_are_given():
    def last(a, n):
        total = 0.0
        for k in range(-n, 1):
            total += a[k]
        return total

    x = np.arange(8.0)
    for low, high in ((-3, 0), (-2, 1), (-5, 2), (-9, 0)):
        made = ingot.stencil(neighborhood=[(low, high)])(last)
        same(made(x, 2), by_hand(last, ((low, high),), x, 2))
    same(ingot.stencil(pair, neighborhood=((-3, 2),))(x), by_hand(pair, ((-3, 2),), x))
    same(ingot.stencil(lambda a: np.sum(a[-1:2]), neighborhood=((-1, 1),))(x), np.array([0, 3, 6, 9, 12, 15, 18, 0.0]))
    rows = ingot.stencil(lambda a: a[-1:2, 0].sum(), neighborhood=((-1, 1), (0, 0)))(np.arange(12.0).reshape(4, 3))
    same(rows, np.array([[0, 0, 0], [9, 12, 15], [18, 21, 24], [0, 0, 0.0]]))
    with pytest.raises(IndexError):
        ingot.stencil(lambda a: a[3], neighborhood=((0, 0),))(x)


def test_several_arrays_and_other_arguments():
    def mixed(a, b, w, c):
        return a[-1] * w[0] + b[1] * w[1] + c

    made = ingot.stencil(standard_indexing=("w",))(mixed)
    x, y, w = np.arange(5.0), np.arange(7), np.array([2.0, 3.0])
    same(made(x, y, w, 10), by_hand(mixed, ((-1, 1),), x, y, w, 10, relative=(0, 1)))
    flags = np.array([True, False, True, False, True])
    same(ingot.stencil(lambda a, keep: a[0] if keep[1] else 0.0)(x, flags), np.array([0, 1, 0, 3, 0.0]))
    for other, words in ((np.arange(4), "shorter"), (np.ones((5, 5)), "number of axes")):
        with pytest.raises(ValueError, match=words):
            made(x, other, w, 10)
    with pytest.raises(TypeError, match="is an array"):
        made(x, 3.0, w, 10)
    with pytest.raises(TypeError, match="the first argument of a stencil is an array"):
        ingot.stencil(pair)([1.0, 2.0])
    with pytest.raises(ValueError, match="of 2 axes, the array has 1"):
        ingot.stencil(five)(x)
    same(ingot.stencil(lambda a: a[0] + a.shape[0] + len(a) + a.ndim + a.size)(x), x + 16)


def test_results_have_the_dtype_of_the_kernel():
    x = np.arange(4, dtype=np.float32)
    for kernel, dtype in (
        (lambda a: a[0] > a[1], bool),
        (lambda a: a[0] * 1j, np.complex64),
        (lambda a: 0.5 * a[0], np.float32),
        (lambda a: int(a[0]), np.int64),
    ):
        assert ingot.stencil(kernel)(x).dtype == dtype
    with pytest.raises(TypeError, match="returns a number"):
        ingot.stencil(lambda a: a[0] * np.ones(2))(x)


def test_out():
    x, out = np.arange(6.0), np.full(6, 9.0)
    assert ingot.stencil(pair)(x, out=out) is out
    same(out, np.array([9, 2, 4, 6, 8, 9.0]))
    same(ingot.stencil(pair, cval=1)(x, out=out), np.array([1, 2, 4, 6, 8, 1.0]))
    same(ingot.stencil(pair)(x + 0.75, out=np.zeros(8, int)), np.array([0, 3, 5, 7, 9, 0, 0, 0]))
    running = x.copy()
    ingot.stencil(lambda a: a[-1] + a[0])(running, out=running)
    same(running, np.cumsum(x))
    for wrong in (np.zeros(5), np.zeros((6, 6)), [0.0] * 6):
        with pytest.raises(ValueError, match="out= of a stencil"):
            ingot.stencil(pair)(x, out=wrong)


def test_stencils_in_compiled_functions():
    mean = ingot.stencil(five)

    @ingot.jit
    def relaxed(a, steps):
        new = a.copy()
        for _ in range(steps):
            mean(a, out=new)
            a, new = new, a
        return a

    a = np.random.default_rng(0).normal(size=(6, 7))
    expected, new = a.copy(), a.copy()
    for _ in range(3):
        new[1:-1, 1:-1] = by_hand(five, KERNELS[five], expected)[1:-1, 1:-1]
        expected, new = new, expected
    np.testing.assert_allclose(relaxed(a.copy(), 3), expected, rtol=1e-15)

    @ingot.jit
    def inner(x, by):
        return ingot.stencil(lambda a: (a[-1] + a[1]) * by, neighborhood=((-1, 1),), cval=-1.0)(x)

    same(inner(np.arange(4.0), 2.0), np.array([-1, 4, 8, -1.0]))
    with pytest.raises(ingot.UnsupportedError, match="decorate the function outside"):
        ingot.jit(lambda x: ingot.stencil(lambda a: a[-1])(x))(np.arange(4.0))


def test_derivatives_and_batches():
    mean = ingot.stencil(five)
    a = np.random.default_rng(0).normal(size=(2, 5, 5))
    same(ingot.vmap(mean)(a), np.stack([mean(a[0]), mean(a[1])]))
    expected = np.zeros((5, 5))
    expected[[1, 3, 2, 2], [2, 2, 1, 3]] = 0.25
    same(ingot.grad(lambda x: mean(x)[2, 2])(a[0]), expected)
    ingot.check_grads(lambda x: (mean(x) ** 2).sum(), (a[0],))


def test_loops_are_vectorised_and_shared():
    text = str(ingot.stencil(five).explain(np.ones((50, 50))))
    assert "vectorised by" in text and "shared among threads" in text


def test_options_that_are_wrong():
    for options, words in (
        ({"func_or_mode": "reflect"}, "mode of a stencil is 'constant'"),
        ({"cval": "1"}, "cval is a number"),
        ({"neighborhood": 3}, "neighborhood is a pair of ints"),
        ({"neighborhood": ((1, -1),)}, "the least and the greatest"),
    ):
        with pytest.raises(ValueError, match=words):
            ingot.stencil(**options)(pair)
    with pytest.raises(ValueError, match="relative indices: it is not in standard_indexing"):
        ingot.stencil(pair, standard_indexing=("a",))
    with pytest.raises(ValueError, match="names 'q'"):
        ingot.stencil(pair, standard_indexing=["q"])
    with pytest.raises(TypeError, match="unexpected keyword argument 'border'"):
        ingot.stencil(border=1)
    with pytest.raises(TypeError, match="takes a Python function"):
        ingot.stencil(len)


SHIFT = -1


def test_kernels_that_are_refused():
    def loop(a):
        total = 0.0
        for k in range(2):
            total += a[k]
        return total

    def writes(a):
        a[0] = 1.0
        return a[0]

    for kernel, words in (
        (loop, r"relative index that is no constant(.|\n)*total \+= a\[k\](.|\n)*neighborhood="),
        (lambda a: a[SHIFT], "relative index that is no constant"),
        (lambda a: a[-1:1].sum(), "relative index that is no constant"),
        (lambda a: a[0] + a[0, 1], "another number of axes"),
        (lambda a: 3, "without relative indices"),
        (lambda a: a[0] - a.mean(), "as a whole"),
        (lambda *a: a[0], "name each argument"),
        (writes, "an assignment to an array"),
    ):
        with pytest.raises(ingot.UnsupportedError, match=words):
            ingot.stencil(kernel)
    with pytest.raises(ingot.UnsupportedError, match="more than 4 axes"):
        ingot.stencil(lambda a: a[0, 0, 0, 0, 0])(np.ones((1,) * 5))


def test_constants_of_inner_scopes_are_none_of_the_kernels():
    def shadowed(a):
        def inner():
            k = -1
            return k

        k = -3
        return a[k] + 0 * inner()

    def parameter(a):
        k = -1
        return a[k] + (lambda k: a[k])(-2)

    def inner_only(a):
        def inner():
            SHIFT = 0
            return SHIFT

        return a[SHIFT] + inner()

    def element(a):
        k = -1
        return sum([a[k] for k in range(-2, 0)]) + a[k]

    def caught(a):
        k = -1
        try:
            return a[k]
        except ValueError as k:
            return a[0]

    def itself(a):
        i = i + 1  # noqa: F821
        return a[i]

    def chain(a):
        i = j + 1
        j = i - 1
        return a[j]

    for kernel in (shadowed, parameter, inner_only, element, caught, itself, chain):
        with pytest.raises(ingot.UnsupportedError, match="relative index that is no constant"):
            ingot.stencil(kernel)
    with pytest.raises(ingot.UnsupportedError, match="bound again"):
        ingot.stencil(lambda a: a[-1] + (lambda a: a[-9])([0] * 9))

    def own(a):
        k = -1
        step = 2 * k
        later = [a[k] for _ in range(2)]
        return later[0] + a[step]

    x = np.arange(6.0)
    same(ingot.stencil(own)(x), by_hand(own, ((-2, 0),), x))


def test_checks_are_the_same_in_compiled_functions():
    x = np.arange(5.0)
    for neighborhood, words in (
        (((1, -1),), "the least and the greatest"),
        (-1, "pair of ints"),
        (((-1.0, 1),), "pair of ints"),
        (((-1, 1, 2),), "pair of ints"),
    ):

        def made(x):
            return ingot.stencil(lambda a: a[0], neighborhood=neighborhood)(x)

        for call in (made, ingot.jit(made)):
            with pytest.raises(ValueError, match=words):
                call(x)

    def text(x):
        return ingot.stencil(lambda a: a[0], neighborhood=((-1, 1),), cval="1")(x)

    for call in (text, ingot.jit(text)):
        with pytest.raises(ValueError, match="cval is a number"):
            call(x)


def test_arguments_that_no_stencil_takes():
    x = np.arange(4.0)
    with pytest.raises(ValueError, match="complex numbers, and out= has a real dtype"):
        ingot.stencil(lambda a: a[-1] * 1j)(x, out=np.zeros(4))
    same(ingot.stencil(lambda a: a[-1] * 1j)(x, out=np.zeros(4, complex)), np.array([0, 0, 1j, 2j]))
    with pytest.raises(ValueError, match="without axes"):
        ingot.stencil(pair)(np.array(1.0))
    with pytest.raises(TypeError, match="returns a number, and here None"):
        ingot.stencil(lambda a: a[0] if a[0] > 2 else None)(x)
    with pytest.raises(TypeError, match="decorate it once"):
        ingot.stencil(ingot.stencil(pair))


def test_exceptions_of_kernels_leave_the_call():
    def strict(a):
        if a[0] > 2:
            raise ValueError("too large")
        return a[0]

    with pytest.raises(ValueError, match="too large") as error:
        ingot.stencil(strict)(np.arange(5.0))
    assert error.traceback[-1].name == "strict"


@ingot.stencil(cval=-1.0)
def decorated(a):
    """Half of it."""
    return a[-1] / 2


def test_it_looks_like_the_kernel_and_is_pickled():
    assert decorated.__name__ == "decorated" and decorated.__doc__ == "Half of it." and "ingot.stencil of" in repr(decorated)
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    by = 3.0
    again = pickle.loads(cloudpickle.dumps(ingot.stencil(lambda a: a[-1] * by, cval=2)))
    same(again(np.arange(3.0)), np.array([2, 0, 3.0]))


PROGRAM = """
import ingot, numpy as np
@ingot.stencil(cval=2)
def f(a):
    return a[-1] + a[1]
print(f(np.arange(5.0)).tolist(), f(np.arange(5, dtype=np.int8)).dtype, f(np.ones(1)).tolist())
print(ingot.stencil(lambda a: a[0, 0] > a[-9, 0])(np.ones((2, 2))).dtype)
out = np.zeros(4)
print(f(np.arange(4.0), out=out).tolist())
"""


@pytest.mark.parametrize("disabled", ("", "1"))
def test_in_a_process_of_its_own(disabled):
    """In a cell without a file, and with INGOT_DISABLE as Python."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], env={**os.environ, "INGOT_DISABLE": disabled}, capture_output=True, text=True, check=False)
    assert done.stdout == "[2.0, 2.0, 4.0, 6.0, 2.0] int8 [2.0]\nbool\n[2.0, 2.0, 4.0, 2.0]\n", done.stderr


@pytest.mark.parametrize("kernel", (far, corner), ids=lambda kernel: kernel.__name__)
def test_it_gives_what_numba_gives(kernel):
    numba = pytest.importorskip("numba")
    shape = (9,) if kernel is far else (5, 6)
    x = np.random.default_rng(1).normal(size=shape)
    same(ingot.stencil(kernel, cval=1.5)(x), numba.stencil(kernel, cval=1.5)(x))
