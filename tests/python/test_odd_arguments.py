"""Bad and odd arguments: a fixed run of the generator, and what it has found."""

import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import ingot
from ingot._calls.function import Function
from support import MODES, check, jitted, outcome, raises, refused

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fuzz import campaign, odd, odd_arguments  # noqa: E402
from fuzz.odd_arguments import CALLED, GROUP, OddCall, odd_call  # noqa: E402


@pytest.mark.rotated(5)
def test_argument_lists_are_compared():
    found = odd.run(7, 150, jobs=2, seconds=8)
    assert found.calls >= 40
    assert not found.found, found.report()


def test_a_list_is_given_by_its_seed_and_number():
    assert odd_call(3, 5) == odd_call(3, 5) and odd_call(3, 5) != odd_call(3, 6)
    assert {odd_call(1, i).program for i in range(0, GROUP * len(CALLED), GROUP)} == {p.name for p in CALLED}


@pytest.mark.rotated(3)
def test_every_text_can_be_built():
    for number in range(0, 4500, 7):
        odd_arguments.build(odd_call(11, number), number % 2 == 0)


def test_a_planted_difference_is_seen(monkeypatch):
    call = OddCall("stream_copy", ["at(base[0])", "at(base[1].reshape(-1, 1))"], {})
    assert odd.examine(call, True).difference is None
    wrong = lambda lhs, rhs: lhs.fill(0)  # noqa: E731
    monkeypatch.setitem(odd._programs().compiled, ("stream_copy", "compiled"), wrong)
    assert odd.examine(call, True).difference.kind == "compiled exception none for ValueError"


@pytest.mark.rotated(4)
def test_a_planted_crash_is_survived(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import os\nfrom fuzz import odd\nplain = odd.examine\n"
        "def examine(call, at_end):\n"
        "    return os.kill(os.getpid(), 11) if call == odd.odd_call(1, 2) else plain(call, at_end)\n"
        "odd.examine = examine\n"
    )
    sys.path.insert(0, str(tmp_path))
    try:
        rows = dict(campaign.batch(1, 0, 4, "--odd"))
    finally:
        sys.path.remove(str(tmp_path))
    assert sorted(rows) == [0, 1, 2, 3] and rows[2]["kind"] == "crash SIGSEGV" and rows[3]["kind"] is None


def test_a_refusal_without_its_place_is_seen():
    assert odd.complete("x is not supported\n  a.py:3\n    f(x)\n      ^\n  instead: y")
    assert not odd.complete("x is not supported\n  instead: y")


# ---- What it has found


BAD = {
    "byte-swapped": np.arange(3.0).astype(">f8"),
    "object": np.array([1.0, None], object),
    "structured": np.zeros(2, [("a", "i4")]),
    "text": np.array(["a", "b"]),
    "bytes": np.array([b"a", b"b"]),
    "dates": np.array(["2020-01-01"] * 2, "M8[D]"),
    "spans": np.array([1, 2], "m8[s]"),
    "longdouble": np.zeros(2, np.longdouble),
    "void": np.zeros(2, "V8"),
    "StringDType": np.array(["a", "b"], np.dtypes.StringDType()),
    "set": {1, 2},
    "generator": range(3),
    "object()": object(),
    "exception": ValueError(),
    "bytearray": bytearray(3),
    "long list": list(range(100)),
    "text itself": "text",
    "bytes itself": b"text",
    "None": None,
    "dict": {"a": 1.0},
    "list": [1.0, 2.0],
    "tuple": (1.0, 2.0),
}


def _uses():
    return [
        lambda a: -a,
        lambda a: ~a,
        lambda a: a + 1.5,
        lambda a: a > 1.5,
        lambda a: a - np.ones(2),
        lambda a: a[0],
        lambda a: a[0] * 2.0,
        lambda a: a[7],
        lambda a: a["x"],
        lambda a: len(a),
        lambda a: a.shape[0],
        lambda a: a.nothing,
        lambda a: np.sqrt(a),
        lambda a: np.zeros(a),
        lambda a: range(a)[0],
        lambda a: a(),
        lambda a: float(a),
    ]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("bad", BAD)
def test_types_decide_what_raises(bad):
    """Where Python raises, Ingot raises the same type; it may refuse, and never gives another result."""
    for number, use in enumerate(_uses()):
        result, error, _ = outcome(use, [BAD[bad]])
        for mode in MODES:
            got, raised, _ = outcome(jitted(use, mode), [BAD[bad]])
            if not isinstance(raised, ingot.UnsupportedError):
                assert type(raised) is type(error), (number, mode, raised, error)
            if isinstance(error, (TypeError, AttributeError)) and number in (0, 1, 8, 11, 15) and bad != "object":
                assert not isinstance(raised, ingot.UnsupportedError) or bad in ("exception", "StringDType"), (number, raised)


def test_messages_are_pythons():
    for use, bad in (
        (lambda a: -a, "dates"),
        (lambda a: a + 1.5, "set"),
        (lambda a: a.shape, "set"),
        (lambda a: a[0], "object()"),
        (lambda a: a > 1.5, "dict"),
        (lambda a: len(a), "object()"),
    ):
        expected, raised = outcome(use, [BAD[bad]])[1], outcome(jitted(use), [BAD[bad]])[1]
        assert type(raised) is type(expected) and str(raised) == str(expected)


def test_shapes_of_other_dtypes_are_known():
    def f(out, a):
        for i in range(len(a)):
            out[i] = a.shape[0] + a.ndim
        return a.size, a.shape

    def g(out, a):
        for i in range(len(out)):
            out[i] = a[i] + 1.0

    dates = np.array(["2020-01-01"] * 3, "M8[D]")
    check(f, np.zeros(3), dates)
    check(f, np.zeros(2), dates)
    check(g, np.zeros(0), dates)
    assert raises(g, np.zeros(3), dates)[0].__name__ == "UFuncTypeError"
    assert raises(g, np.zeros(3), dates[:0])[0] is IndexError


def test_refusals_of_arguments_show_where_they_are_used():
    def f(x, bad):
        y = x + 1
        return y * bad

    message = refused(f, 1.0, np.ones(2, ">f8"), words="byte-swapped dtype >f8")
    assert re.search(r"test_odd_arguments.py:\d+, in \w+\n +return y \* bad\n +\^+\n(.*\n)* +instead: ", message)


def test_an_argument_may_be_known_in_one_call_and_an_array_in_the_next():
    def f(x, c):
        g = np.sin if c else np.floor
        return g(x)

    for mode in MODES:
        function = Function(f, mode=mode)
        assert function(np.ones(2), False).tolist() == [1.0, 1.0]
        with pytest.raises(ingot.UnsupportedError, match="on one path and"):
            function(np.ones(2), np.arange(3))


def test_numpy_scalars_have_no_elements():
    check(lambda x: x.shape, np.float32(1))
    check(lambda x: (x.ndim, x.size), np.int8(1))
    for use in (lambda x: x[0], lambda x: x.shape[0], lambda x: x["a"]):
        check(use, np.float64(1))
        check(use, np.int8(1))


def test_texts_have_elements():
    def f(t):
        r = 0
        for c in t:
            r = r + c
        return r

    check(f, b"abc")
    check(f, "abc")
    check(lambda t, i: t[i], b"abc", np.int64(1))
    check(lambda t, i: t[i], "abc", 7)
    check(lambda t, i: t[i], "abc", 1.5)


@pytest.mark.parametrize("dtype", ["bool", "int32", "float32", "complex64"])
@pytest.mark.parametrize("shape", [(1,), (2,), (0,), (1, 1)])
def test_an_array_is_no_element(dtype, shape):
    def f(a, v):
        a[1] = v
        return a

    check(f, np.zeros(3, dtype), np.ones(shape, np.float32))


def test_flags_are_no_lengths_and_are_not_subtracted():
    check(lambda n: np.zeros((n, 2)), True)
    check(lambda a: a - a, np.array([True]))
    check(lambda a: a[0] - a[0], np.array([True]))


def test_complex_numbers_of_numpy_lose_their_imaginary_part():
    import math

    check(lambda x: math.sin(x), np.complex64(0.5), bound=1e-15)
    check(lambda x: math.sin(x), 0.5j)
    check(lambda x: (int(x), float(x)), np.complex128(3.5))
    check(lambda x: np.linalg.norm(x), np.array([3j, 4 + 1j]), bound=1e-15)
    check(lambda x: np.linalg.norm(x), np.array([3, 4], np.int8))


def test_a_flag_of_no_axes_is_an_index():
    check(lambda a: int(np.ones(2)[0]) + int(a), np.array(3.0))
    check(lambda a: a[a > 1.0], np.array(3.0))
    check(lambda a: a[a > 4.0], np.array(3.0))
    check(lambda x: int(x), np.ones(2))


def test_an_iteration_of_prange_may_raise():
    def f(a, v):
        for i in ingot.prange(len(a)):
            a[i] = v[i] + None

    check(f, np.zeros(3), np.ones(3))
    check(f, np.zeros(0), np.ones(3))


def test_matmul_wants_axes():
    def f(a, b):
        return a @ b

    for a, b in ((np.ones((2, 2)), None), (None, np.ones(2)), (np.float64, np.ones(2)), (None, None), ("", "")):
        _, error, _ = outcome(f, (a, b))
        assert raises(f, a, b)[0] is type(error)


def test_matmul_repeats_axes_of_one():
    for x, y in (((1, 2, 3), (4, 3, 2)), ((4, 2, 3), (1, 3, 2)), ((4, 2, 3), (4, 3, 2)), ((1, 2, 3), (0, 3, 2))):
        check(lambda a, b: a @ b, np.ones(x), np.ones(y))
    assert raises(lambda a, b: a @ b, np.ones((2, 2, 3)), np.ones((4, 3, 2)))[0] is ValueError


def test_slices_are_arguments():
    check(lambda a, s: a[s], np.arange(6.0), slice(1, 4))
    function = Function(lambda a, s: a[s])
    assert [function(np.arange(6.0), s).size for s in (slice(1, 4), slice(2), slice(1, 4))] == [3, 2, 3]


def test_the_fuzzer_runs_from_the_command_line():
    assert os.access(Path(__file__).resolve().parents[2] / "tools" / "fuzz", os.X_OK)


def test_arrays_of_no_axes_and_large_integers_are_indices():
    a = np.arange(5)
    large = np.uint64(2**64 - 1)
    check(lambda a, n: a[:n], a, np.array(2))
    check(lambda a, n: (a[:n], a[n:], a[::-1][:n]), a, large)
    check(lambda a, n: a[n], a, large)
    check(lambda n: np.zeros(n), np.array(2))
    check(lambda n: np.zeros((n, 2)), np.array(2))
    check(lambda n: np.zeros(n), large)
    refused(lambda n: np.zeros(n), np.array([2]), words="a shape that is an array")
    assert raises(lambda n: np.zeros(n), np.array([2.0]))[0] is TypeError

    def f(n):
        s = 0
        for i in range(n):
            s += i
        return s

    check(f, np.array(3))
    check(f, np.array([3, 4]))
    assert raises(f, large)[0] is OverflowError
    check(lambda d: len(d), np.dtype("f8"))


def test_lengths_that_no_memory_has():
    """NumPy makes such arrays by `view` alone, without elements; their lengths in bytes have no number."""
    x = np.zeros((2**62, 0), np.int8).view(np.float64)
    with pytest.raises(ingot.UnsupportedError):
        ingot.jit(lambda x: x.sum(axis=1))(x)
    assert ingot.jit(lambda x: x.sum(axis=0))(np.zeros((2**62, 0), np.int8)).shape == (0,)
    assert ingot.jit(lambda x: x.shape)(np.broadcast_to(np.int8(1), (2**63 - 1,))) == (2**63 - 1,)
