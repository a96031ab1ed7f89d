"""numpy.linalg: values, dtypes, batches, errors."""

import ingot
import numpy as np
import pytest
from support import MODES, check, difference, jitted, outcome, with_each

GENERATOR = np.random.default_rng(0)
SQUARE = GENERATOR.normal(size=(4, 4))
TALL = GENERATOR.normal(size=(5, 3))
VECTOR = GENERATOR.normal(size=4)
DEFINITE = SQUARE @ SQUARE.T + np.eye(4)
MATRICES = {
    "float64": SQUARE,
    "batch": GENERATOR.normal(size=(3, 4, 4)),
    "complex128": SQUARE + 1j * GENERATOR.normal(size=(4, 4)),
    "float32": SQUARE.astype(np.float32),
    "int64": GENERATOR.integers(-3, 4, (4, 4)),
    "fortran": SQUARE.T,
    "none": np.zeros((0, 4, 4)),
}
BOUND = 1e-12


@pytest.mark.parametrize("name", MATRICES)
def test_square_matrices(name):
    x = MATRICES[name]
    bound = 1e-4 if name == "float32" else BOUND
    check(lambda x: (np.linalg.inv(x), np.linalg.det(x), np.linalg.slogdet(x)), x, bound=bound)
    check(lambda x: (np.linalg.eigh(x), np.linalg.eigvalsh(x, "U")), x, bound=bound)
    check(lambda x, b: np.linalg.solve(x, b), x, VECTOR, bound=bound)
    check(lambda x, b: np.linalg.solve(x, b), x, SQUARE, bound=bound)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "float16", "int64"])
def test_products_of_a_batch_and_one_matrix(dtype):
    rows, matrix = GENERATOR.integers(-9, 9, (5, 6, 1, 4)).astype(dtype), GENERATOR.integers(-9, 9, (4, 4)).astype(dtype)
    for one in (matrix, matrix.T, matrix[::-1, ::-1], matrix[:, :0]):
        check(lambda x, y: (x @ y, (x @ y).shape, (x + x) @ (y * 2)), rows, one)
        check(lambda x, y: x @ y, rows[:0], one)
    check(lambda x, y: x @ y, matrix, rows.transpose(0, 1, 3, 2))
    check(lambda x, y: x @ y, rows, matrix[:3])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", [*MATRICES, "tall", "wide"])
def test_decompositions(name):
    x = TALL if name == "tall" else TALL.T if name == "wide" else MATRICES[name]
    bound = 1e-4 if name == "float32" else BOUND
    check(lambda x: (np.linalg.svd(x), np.linalg.svd(x, False), np.linalg.svd(x, compute_uv=False)), x, bound=bound)
    check(lambda x: (np.linalg.qr(x), np.linalg.qr(x, "complete"), np.linalg.qr(x, "r"), np.linalg.qr(x, "raw")), x, bound=bound)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["float64", "batch", "complex128", "float32", "int64"])
def test_numbers_of_matrices(name):
    x = MATRICES[name]
    check(lambda x: (np.linalg.matrix_rank(x), np.linalg.cond(x), np.linalg.pinv(x)), x, bound=1e-3 if name == "float32" else 1e-11)
    check(lambda x: (np.linalg.matrix_power(x, 5), np.linalg.matrix_power(x, 0), np.linalg.matrix_power(x, 1)), x, bound=1e-4)


def test_cholesky():
    check(lambda x: (np.linalg.cholesky(x), np.linalg.cholesky(x, upper=True)), DEFINITE, bound=BOUND)
    check(lambda x: np.linalg.cholesky(x), DEFINITE.astype(np.complex64), bound=1e-5)


def test_least_squares():
    def solved(x, b):
        return np.linalg.lstsq(x, b)

    check(solved, TALL, GENERATOR.normal(size=5), bound=BOUND)
    check(solved, TALL, GENERATOR.normal(size=(5, 2)), bound=BOUND)
    check(solved, TALL.T, GENERATOR.normal(size=(3, 2)), bound=BOUND)
    check(solved, TALL[:2], GENERATOR.normal(size=3))
    check(lambda x, b: np.linalg.lstsq(x, b, rcond=0.5)[2], TALL, GENERATOR.normal(size=5))


@pytest.mark.parametrize("name", ["float64", "batch", "complex128", "float32", "int64"])
@pytest.mark.sampled(6)
def test_norms(name):
    x = MATRICES[name]
    bound = 1e-5 if name == "float32" else BOUND
    check(lambda x: (np.linalg.norm(x), np.linalg.norm(x, axis=0), np.linalg.norm(x, axis=-1, keepdims=True)), x, bound=bound)
    check(lambda x: (np.linalg.norm(x, 1, (-2, -1)), np.linalg.norm(x, -1, (-2, -1)), np.linalg.norm(x, 2, (-2, -1))), x, bound=bound)
    check(lambda x: (np.linalg.norm(x, np.inf, (0, 1)), np.linalg.norm(x, "fro", (0, 1)), np.linalg.norm(x, "nuc", (0, 1))), x, bound=bound)
    check(lambda x: (np.linalg.norm(x, 3, 0), np.linalg.norm(x, 0, 0), np.linalg.norm(x, -np.inf, 0), np.linalg.norm(x, 1, 0)), x, bound=bound)


def test_singular_matrices_raise():
    def caught(x):
        try:
            return np.linalg.inv(x)
        except np.linalg.LinAlgError:
            return x + 1

    check(caught, SQUARE, bound=BOUND)
    check(caught, SQUARE * 0)
    check(lambda x: np.linalg.inv(x), SQUARE * 0)
    check(lambda x, b: np.linalg.solve(x, b), SQUARE * 0, VECTOR)
    check(lambda x: np.linalg.cholesky(x), SQUARE)
    check(lambda x: np.linalg.inv(x), TALL)
    check(lambda x: np.linalg.inv(x), VECTOR)
    check(lambda x: np.linalg.det(x), TALL)
    check(lambda x, b: np.linalg.solve(x, b), SQUARE, VECTOR[:3])
    check(lambda x: np.linalg.inv(x), SQUARE.astype(np.float16))


def test_products_of_several():
    check(lambda a, b, c: np.linalg.multi_dot([a, b, c]), SQUARE, SQUARE, VECTOR, bound=BOUND)
    check(lambda a: np.linalg.matrix_power(a, -2), SQUARE, bound=1e-10)


def test_in_a_loop():
    def solved(a, b, unit):
        total = 0.0
        for i in range(3):
            total += np.linalg.solve(a + i * unit, b)[i]
        return total

    check(solved, SQUARE, VECTOR, np.eye(4), bound=BOUND)


def test_functions_of_the_standard():
    a = np.arange(24.0).reshape(2, 3, 4) - 7
    vectors = a[..., :3]
    with_each(
        [
            lambda a: np.linalg.vector_norm(a),
            lambda a: np.linalg.vector_norm(a, axis=1, keepdims=True),
            lambda a: np.linalg.vector_norm(a, axis=(2, 0), ord=1),
            lambda a: np.linalg.vector_norm(a, axis=(0, 1, 2), ord=np.inf, keepdims=True),
            lambda a: np.linalg.vector_norm(a, axis=-1, ord=3),
            lambda a: np.linalg.vector_norm(a, axis=5),
            lambda a: np.linalg.matrix_norm(a),
            lambda a: np.linalg.matrix_norm(a, ord=-2, keepdims=True),
            lambda a: np.linalg.matrix_norm(a[0, 0]),
            lambda a: np.linalg.vecdot(a, a),
            lambda a: np.linalg.vecdot(a, a, axis=0),
            lambda a: np.linalg.tensordot(a, a, axes=((0, 2), (0, 2))),
            lambda a: np.linalg.outer(a[0, 0], a[1, :, 1]),
            lambda a: np.linalg.outer(a, a[0, 0]),
            lambda a: np.linalg.matmul(a, a[0].T),
        ],
        a,
        bound=1e-13,
    )
    check(lambda a: (np.linalg.cross(a, a[::-1]), np.linalg.cross(a, a[:1], axis=1)), vectors, bound=1e-13)
    check(lambda a: np.linalg.cross(a, a), a)


@pytest.mark.rotated(3)
def test_limits_of_several_matrices():
    a = np.array([[[2.0, 0.0], [0.0, 0.1]], [[1.0, 1.0], [1.0, 1.0]], [[3.0, 0.0], [0.0, 1.0]]])
    for limit in (0.4, np.float32(0.01), np.array([0.01, 0.5, 0.4]), np.array([0.5])):
        check(lambda a, limit: np.linalg.pinv(a, limit), a, limit, bound=1e-13)
        check(lambda a, limit: np.linalg.pinv(a, rtol=limit), a, limit, bound=1e-13)
        check(lambda a, limit: (np.linalg.matrix_rank(a, limit), np.linalg.matrix_rank(a, rtol=limit)), a, limit)
    check(lambda a, limit: np.linalg.pinv(a, limit), a[0], np.array([0.1, 0.2]))
    for shape in ((4, 0), (0, 4, 0), (3, 0, 2), (0, 2, 3)):
        check(lambda a: (np.linalg.pinv(a), np.linalg.pinv(a, rtol=None)), np.ones(shape))


def test_an_order_that_is_an_argument():
    check(lambda a, order: np.linalg.norm(a, order), np.array([[1.0, 2.0], [3.0, -4.0]]), 1, bound=1e-13)


def products(a, b):
    return np.dot(a, b)


@pytest.mark.parametrize("dtype", ["float64", "int16"])
def test_dot_names_the_shapes_that_do_not_fit(dtype):
    for a, b in [(1, 2), ((2, 3), 2), (2, (3, 2)), ((2, 3), (2, 3))]:
        check(products, np.ones(a, dtype), np.ones(b))


def product_with_number(a, b):
    return a @ b


def test_matmul_names_the_number():
    check(product_with_number, np.ones(2), np.float64(2))
    check(product_with_number, np.float64(2), np.ones(2))


@pytest.mark.parametrize("p", [None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc"])
@pytest.mark.sampled(6)
def test_conditions_of_matrices_without_an_inverse(p):
    f = ingot.jit(lambda x: np.linalg.cond(x, p))
    matrices = [np.zeros((2, 2)), np.ones((2, 2)), np.eye(3), np.array([[1.0, 2], [3, 4]]), np.ones((2, 2), np.float32), 1j * np.eye(2)]
    matrices += [np.array([np.eye(2), np.ones((2, 2)), [[1, 2], [2, 4.5]]]), np.zeros((0, 2, 2)), np.zeros((0, 0)), np.ones((2, 2), int)]
    if p != "nuc":
        matrices.append(np.array([[np.nan, 1], [1, 2]]) if p not in (None, 2, -2) else np.zeros((2, 3)))
    for x in matrices:
        expected, error = outcome(np.linalg.cond, (x, p))[:2]
        got, raised = outcome(f, (x,))[:2]
        assert type(raised) is type(error) and difference(got, expected, 1e-5) is None, (x, got, expected)


@pytest.mark.parametrize("mode", MODES)
def test_dot_of_a_number(mode):
    """A number and an array have a sum that begins at 0; two numbers have a product, whose zero has a sign."""
    f = jitted(lambda x, y: (np.dot(x, y), np.dot(y, x)), mode)
    for x in (np.zeros(2), np.array(0.0), np.float32(0), np.zeros(2, bool), np.array([0.0, 1j]), np.arange(3, dtype=np.int8), np.zeros((1, 2), np.float16)):
        for y in (-300, -0.0, np.float32(-2), -1j, True):
            for got, want in zip(f(x, y), (np.dot(x, y), np.dot(y, x))):
                assert got.dtype == want.dtype and got.shape == want.shape and repr(got) == repr(want), (x, y)
