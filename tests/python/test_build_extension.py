"""`python -m ingot build --kind extension`: modules, compared with the functions as `ingot.jit` compiles them: same values, same objects."""

import gc
import inspect
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import threading
import traceback
import weakref
from pathlib import Path

import numpy as np
import pytest

import ingot
from ingot.__main__ import main
from ingot._ahead import extension, linking, lowering
from ingot._ahead.collect import Wanted
from ingot._ahead.export import Export
from ingot._calls.function import Function
from ingot._signatures import Signature, Type
from ingot.tour.programs import PROGRAMS
from support import LEVELS, module_of, need_vectors

pytestmark = pytest.mark.skipif(not linking.RUNTIME.exists(), reason="builds with sanitizers have no runtime for libraries")

CASES = '''
import collections

import numpy as np

import ingot

__version__ = "3.1"
TABLE = np.arange(12.0).reshape(3, 4)[:, ::2]
SCALE = np.array(3.0)
Pair = collections.namedtuple("Pair", "low high")


class Failure(ValueError):
    pass


NUMBERS = "(bool, int8, uint8, int16, uint16, int32, uint32, int64, uint64, float16, float32, float64, complex64, complex128)"


@ingot.export(NUMBERS)
def numbers(a, b, c, d, e, f, g, h, i, j, k, l, m, n):
    return not a, b + b, c + c, d + d, e + e, f + f, g + g, h + h, i + i, j + j, k + k, l + l, m + m, n + n


@ingot.export("(float64[:], int64)")
def made(x, n):
    """What "results" may be: a \\\\ b, ?"""
    new = np.exp(x)
    return {"new": [new, new[::2]], "view": x[1:], "table": TABLE[n:], "none": None, "one": 1, "half": np.float32(0.1), "yes": n > 0}, float(n), (n * 1j, 2 * n)


@ingot.export("void(float64[:], float64[:])")
def shifted(x, out):
    out[1:] = x[:-1] + 1.0


@ingot.export("void(float64[:], float64[:])")
def apart(x, out):
    for i in ingot.prange(len(out) - 1):
        out[i + 1] = x[i] + 1.0


@ingot.export("(float64[:], bool)")
def one_of(x, itself):
    return x if itself else x * 2


@ingot.export("(float64[:, :],)")
def itself(x):
    return x


@ingot.export("float64(float64[::1], float64, int64)")
def power(x, by=0.5, n=2):
    return np.sum(x * by) ** n * SCALE


@ingot.export("float64(float64, complex128, float64, bool)")
def clipped(x, low=-1 + 0j, high=np.inf, largest=True):
    return max(min(x, high), low.real) if largest else x


@ingot.export("void(int64)")
def failing(n):
    if n < 2:
        raise ValueError(f"{n} is below 2")
    if n == 7:
        raise KeyError(n)
    if n > 2:
        raise Failure(n)
    raise KeyError("two")


@ingot.export("int64(int64)")
def deep(n):
    return 0 if n == 0 else 1 + deep(n - 1)


@ingot.export("float64[:](int64)")
def much(n):
    return np.ones(n)


@ingot.export("float64(float64[:, :])")
def energy(field):
    total = 0.0
    for i in ingot.prange(field.shape[0]):
        total += np.sum(field[i] * field[i])
    return total
'''

SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    file = tmp_path_factory.mktemp("extension") / "cases.py"
    file.write_text(CASES)
    return file


@pytest.fixture(scope="module")
def plain(source):
    return module_of(source, "cases")


@pytest.fixture(scope="module")
def built(source):
    folder = source.parent / "built"
    command = [sys.executable, "-m", "ingot", "build", source, "--kind", "extension", "-o", folder]
    strict = {**os.environ, "CC": "cc -Wextra -Werror"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=strict)
    assert (done.returncode, done.stdout) == (0, f"{folder / f'cases{SUFFIX}'}\n"), done.stderr
    return folder


@pytest.fixture(scope="module", params=[2, 3, 4])
def module(built, request):
    """The module with the code of each level of CPUs, by a copy of its file for each, as it chooses one once."""
    level = request.param
    need_vectors(LEVELS[level])
    folder = built / str(level)
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INGOT_CPU_LEVEL", str(level))
        it = module_of(Path(shutil.copy(built / f"cases{SUFFIX}", folder)), "cases")
        assert it.cpu_level() == level
    return it


def check_same(a, b):
    """Objects of the same types, with the same bits."""
    assert type(a) is type(b), (a, b)
    if isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            check_same(x, y)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            check_same(a[key], b[key])
    elif isinstance(a, (np.ndarray, np.generic)):
        assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
        if isinstance(a, np.ndarray):
            assert a.flags.writeable == b.flags.writeable or a.size == 0
    else:
        assert a == b


@pytest.mark.rotated(4)
def test_importing_needs_numpy_alone(built):
    text = """
import sys, cases, numpy as np
assert "ingot" not in sys.modules and cases.__version__ == "3.1"
maps = open("/proc/self/maps").read()
assert "LLVM" not in maps and "_core" not in maps.replace("numpy/_core", "") and "_ingot" not in maps
assert cases.made(np.ones(3), 1)[1] == 1.0
"""
    environment = {**os.environ, "PYTHONPATH": str(built)}
    done = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    file = built / f"cases{SUFFIX}"
    needed = subprocess.run(["readelf", "-d", file], capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"NEEDED.*\[(.*)\]", needed)) <= {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}
    shown = subprocess.run(["nm", "-D", "--defined-only", file], capture_output=True, text=True, check=True).stdout
    assert [line.split()[-1] for line in shown.splitlines()] == ["PyInit_cases"]


def test_numbers_of_all_types(module, plain):
    kinds = [np.dtype(name).type for name in plain.NUMBERS.strip("()").split(", ")]
    given = [True, -3, 200, -300, 60000, -70000, 2**31, -(2**40), 2**63 + 1, 1.5, 0.1, 0.1, 0.1 - 2j, 0.3 + 1j]
    numbers = [kind(number) for kind, number in zip(kinds, given)]
    with np.errstate(all="ignore"):
        wanted = ingot.jit(plain.NUMBERS)(plain.numbers)(*numbers)
        check_same(module.numbers(*numbers), wanted)
        check_same(module.numbers(*given), wanted)  # Python's are converted
        check_same(module.numbers(*given[:9], 1, 2, 3, 4, 5), ingot.jit(plain.NUMBERS)(plain.numbers)(*given[:9], 1, 2, 3, 4, 5))


@pytest.mark.parametrize(
    "place, wrong", [(0, 1), (1, True), (1, 1.0), (7, 1.5), (7, np.int32(1)), (8, 1j), (11, 1j), (11, np.float32(1)), (11, "1"), (13, None)]
)
def test_numbers_of_other_types_are_refused(module, place, wrong):
    given = [True, 1, 1, 1, 1, 1, 1, 1, 1, 1.0, 1.0, 1.0, 1j, 1j]
    given[place] = wrong
    with pytest.raises(TypeError, match=rf"^`numbers` takes \w+ for `{'abcdefghijklmn'[place]}`, not [\w.]+$"):
        module.numbers(*given)


@pytest.mark.parametrize("place, far", [(1, 128), (2, -1), (5, 2**31), (7, 2**63), (7, -(2**63) - 1), (8, -1), (8, 2**64)])
def test_numbers_out_of_range(module, place, far):
    given = [True, 1, 1, 1, 1, 1, 1, 1, 1, 1.0, 1.0, 1.0, 1j, 1j]
    given[place] = far
    with pytest.raises(OverflowError):
        module.numbers(*given)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("count", [0, 1, 2, 9, 1000])
@pytest.mark.parametrize("step", [1, 3, -2])
def test_results_are_the_same_objects(module, plain, count, step):
    memory = np.linspace(-1, 1, 3000)
    x = memory[::step][:count]
    check_same(module.made(x, 1), ingot.jit(plain.made)(x, np.int64(1)))
    x.flags.writeable = False
    check_same(module.made(x, np.int64(0)), ingot.jit(plain.made)(x, np.int64(0)))


@pytest.mark.rotated(2)
@pytest.mark.sampled(4)
def test_results_hold_whose_memory_they_show(module):
    x = np.linspace(0, 1, 1000).copy()
    before, expected = x.copy(), module.made(x, 0)[0]["new"][0].copy()
    new, half = module.made(x, 0)[0]["new"]
    del new
    gc.collect()
    assert (half == expected[::2]).all()
    view = module.made(x, 0)[0]["view"]
    assert view.base is x and np.shares_memory(view, x)
    gone = weakref.ref(x)
    del x
    gc.collect()
    assert gone() is not None and (view == before[1:]).all()
    del view
    gc.collect()
    assert gone() is None
    x = np.ones(5)
    assert module.one_of(x, True) is x and module.one_of(x, False).base is not x
    square = np.ones((2, 2))
    assert module.itself(square) is square
    count = sys.getrefcount(x)
    for _ in range(100):
        module.one_of(x, True)
        module.one_of(x, False)
        module.made(x, 0)
        with pytest.raises(TypeError):
            module.one_of(x, 1.0)
    assert sys.getrefcount(x) == count


def test_arrays_that_overlap_or_do_not_fit(module, plain):
    for shift in (0, 1, 7, -3):
        one, other = np.arange(50.0), np.arange(50.0)
        module.shifted(one[10:30], one[10 + shift : 30 + shift])
        ingot.jit(plain.shifted)(other[10:30], other[10 + shift : 30 + shift])
        assert (one == other).all()
    x = np.arange(20.0)
    with pytest.raises(ValueError, match="`out` shares memory with `x`"):
        module.apart(x, x[1:])
    with pytest.raises(ValueError, match="assignment destination is read-only"):
        module.shifted(x, np.broadcast_to(1.0, (20,)))
    for wrong in (x.astype("f4"), x.astype(">f8"), x.reshape(4, 5), np.ma.array(x, mask=x > 3), [1.0], None):
        with pytest.raises(TypeError, match="^`power` takes an array of float64 with 1 axes for `x`, not "):
            module.power(wrong)
    with pytest.raises(ValueError, match="argument `x` is not in C order without gaps"):
        module.power(x[::2])


def test_arguments_by_name(module, plain):
    x = np.arange(4.0)
    check_same(module.power(x), ingot.jit(plain.power)(x, 0.5, 2))
    check_same(module.power(n=3, x=x), ingot.jit(plain.power)(x, 0.5, 3))
    check_same(module.power(x, 2, n=1), ingot.jit(plain.power)(x, 2.0, 1))
    assert str(inspect.signature(module.power)) == "(x, by=0.5, n=2)"
    assert str(inspect.signature(module.clipped)) == "(x, low=Ellipsis, high=Ellipsis, largest=True)" and module.clipped(1.0) == 1.0
    assert module.made.__doc__ == plain.made.__doc__ and module.deep.__doc__ is None
    for arguments, keywords, message in (
        ((), {}, "power() missing required argument: 'x'"),
        ((x, 1.0, 1, 1), {}, "power() takes 3 positional arguments but 4 were given"),
        ((x,), {"m": 1}, "power() got an unexpected keyword argument 'm'"),
        ((x,), {"x": x}, "power() got multiple values for argument 'x'"),
    ):
        with pytest.raises(TypeError, match=re.escape(message)):
            module.power(*arguments, **keywords)


def test_exceptions(module, source):
    for n, kind, message in ((1, ValueError, "1 is below 2"), (2, KeyError, "'two'"), (7, KeyError, "7"), (3, ValueError, "Failure: 3")):
        with pytest.raises(kind) as caught:
            module.failing(n)
        assert type(caught.value) is kind and str(caught.value) == message and caught.value.args == ({"'two'": "two", "7": 7}.get(message, message),)
        last = traceback.extract_tb(caught.value.__traceback__)[-1]
        assert (last.filename, last.name) == (str(source), "failing") and "raise" in last.line
    with pytest.raises(RecursionError):
        module.deep(2**40)
    with pytest.raises(MemoryError):
        module.much(2**44)
    assert module.deep(1000) == 1000


def test_threads_run_at_the_same_time(module, plain):
    field = np.random.default_rng(5).normal(size=(500, 500))
    wanted = ingot.jit(plain.energy)(field)
    module.set_num_threads(4)
    assert module.num_threads() == 4
    with pytest.raises(ValueError, match="1 to 256"):
        module.set_num_threads(0)
    wrong = []

    def work():
        for _ in range(20):
            if module.energy(field) != wanted or module.one_of(field[0], False)[0] != field[0, 0] * 2:
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    module.trim_memory()


NOT_AHEAD = {
    "sum_dict_values": "takes a dict",
    "accumulate_if": "prints",
    "stream_guvectorize_copy": "is a ufunc",
    "stream_guvectorize_triad": "is a ufunc",
    "spca_unopt": "has defaults that are no numbers",
    "spca_unopt_int": "has defaults that are no numbers",
    "jax_intro_ones": "solves by NumPy's routine",
    "jax_intro_print": "prints",
    "jax_intro_cond": "returns one thing or another",
}
BY_LIBRARY = ("matmul", "jax_intro_key")
"""Whose products NumPy's library makes in a process of Python's, with other last bits."""


def type_of(value) -> Type:
    return Type(value.dtype.name, value.ndim) if isinstance(value, np.ndarray) else Type(np.asarray(value).dtype.name)


@pytest.fixture(scope="module")
def tour(tmp_path_factory):
    """A module of the programs of the tour, for arguments with any lengths, and the programs with their signatures."""
    programs, made = [p for p in PROGRAMS if p.name not in NOT_AHEAD], []
    for program in programs:
        jitted = program.compiled(program.plain)
        assert isinstance(jitted, Function)
        signature = Signature(None, tuple(map(type_of, program.arguments(True))))
        name = re.sub(r"\W", "_", program.name)
        made.append(lowering.compile_export(Wanted(Export(jitted.__ingot_function__, signature, name), jitted), [2, 3, 4]))
    (file,) = extension.write(tmp_path_factory.mktemp("tour"), "tour", "1.0", made, [2, 3, 4])
    return file, list(zip(programs, (m.export for m in made)))


def outcome(function, arguments):
    try:
        return function(*arguments)
    except ValueError as error:  # of a program that is given an array as a condition
        return str(error)


@pytest.mark.slow
@pytest.mark.parametrize("level", [2, 3, 4])
def test_programs_of_the_tour(tour, level, monkeypatch):
    need_vectors(LEVELS[level])
    file, programs = tour
    folder = file.parent / str(level)
    folder.mkdir()
    monkeypatch.setenv("INGOT_CPU_LEVEL", str(level))
    it = module_of(Path(shutil.copy(file, folder)), "tour")
    assert it.cpu_level() == level
    for program, export in programs:
        given, other = program.arguments(True), program.arguments(True)
        jitted = Function(export.function, [export.signature], relaxed=program.compiled(program.plain)._relaxed)
        result, wanted = outcome(getattr(it, export.name), given), outcome(jitted, other)
        if program.name in BY_LIBRARY:
            assert np.allclose(result, wanted, rtol=1e-5, atol=1e-5)
        elif not jitted._relaxed:  # what `fastmath` allows depends on the kind of code
            check_same(result, wanted)
            check_same(given, other)


REFUSED = [
    ("Pair = collections.namedtuple('Pair', 'a b')\n@ingot.export('(int64,)')\ndef f(i):\n    return Pair(i, i)", "`f` returns a Pair"),
    ("@ingot.export('(int64,)')\ndef num_threads(i):\n    return i", "`num_threads` is a name of each module's own"),
    ("@ingot.export('(int64,)')\ndef f(i):\n    return f'{i}'", "returning a string from `f`"),
]


@pytest.mark.parametrize("text, message", REFUSED, ids=["named tuple", "name", "text"])
def test_refusals(tmp_path, text, message, capsys):
    file = tmp_path / "stand.py"
    file.write_text(f"import collections\nimport ingot\n{text}\n")
    assert main(["build", str(file), "--kind", "extension", "-o", str(tmp_path / "out")]) == 1
    assert message in capsys.readouterr().err and not (tmp_path / "out").exists()
    file.write_text("import ingot\n@ingot.export('(int64,)')\ndef f(i):\n    return i\n")
    assert main(["build", str(file), "--kind", "extension", "-o", str(tmp_path / "out"), "--name", "a-b"]) == 1
    assert "no name of a module" in capsys.readouterr().err
