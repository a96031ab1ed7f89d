"""Calls that `f.record` wrote, made again by `ingot-opt`: every stage, interpreted and compiled, the same bits."""

import collections
import contextlib
import io
import random
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import ingot
from ingot._calls.function import Function
from ingot.tour.programs import PROGRAMS
from programs import find_program
from support import DTYPES, jitted


def opt(*words):
    """Exit status, standard output and standard error of `ingot-opt`."""
    done = subprocess.run([find_program("ingot-opt"), *map(str, words)], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def recorded(function, *arguments, path, mode="compiled"):
    """Records a call of a plain function; its result or exception, and the text of the replay file."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            ended = jitted(function, mode).record(*arguments, path=path)
    except Exception as error:
        ended = error
    return ended, (path / "call.txt").read_text()


def stages(path):
    """The names of the IR files of a replay file, in the order of the compiler's passes."""
    return re.findall(r'^stage "(.*)"$', (path / "call.txt").read_text(), re.M)


def with_few_stages(text):
    """The text of a replay file with three stages: the first one, `to_loops`, and the last one."""
    last = re.findall(r'^stage "(\d+)-', text, re.M)[-1]
    return re.sub(rf'^stage "(?!1-|6-|{last}-).*"\n', "", text, flags=re.M)


def replays(*paths):
    status, out, err = opt("--replay", *paths)
    assert (status, err) == (0, ""), err
    assert out.splitlines() == [f"{p}: {len(stages(p))} texts, interpreted and compiled, the same" for p in paths]


DRAWING = ("spca_unopt", "spca_unopt_int")  # they draw random numbers, which is not recorded


@pytest.mark.sampled(40)
@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.name not in DRAWING], ids=lambda p: p.name)
def test_tour(program, tmp_path, monkeypatch):
    """Each call of a program of the tour at its small size."""
    folders = []

    def call(self, *arguments, **keywords):
        folders.append(tmp_path / str(len(folders)))
        return self.record(*arguments, path=folders[-1], **keywords)

    monkeypatch.setattr(Function, "__call__", call)
    function, arguments = program.compiled(program.plain), program.arguments(True)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(TypeError, np.linalg.LinAlgError):
        program.calls(function, arguments) if program.calls else function(*arguments)
    assert folders
    replays(*folders)


# What arguments may be.


def test_a_call_does_what_it_does_without_a_record(tmp_path):
    def f(x, s):
        x[0] = s
        return x, x[1:], x * 2

    x, y = np.arange(4.0), np.arange(4.0)
    (a, b, c), text = recorded(f, x, 9, path=tmp_path)
    p, q, r = jitted(f)(y, 9)
    assert a is x and p is y and np.shares_memory(b, x) and np.shares_memory(q, y)
    assert all(np.array_equal(*pair) for pair in ((a, p), (b, q), (c, r)))
    assert {p.name for p in tmp_path.iterdir()} == {*stages(tmp_path), "call.txt"}
    assert stages(tmp_path)[0] == "1-frontend.ir" and "6-to_loops.ir" in stages(tmp_path)
    assert "argument i64 0900000000000000 ; 9\n" in text
    replays(tmp_path)


def test_keywords_and_defaults(tmp_path):
    def f(x, y=2.0, *, z=3.0):
        return x - y * z

    assert ingot.jit(f).record(1.0, z=0.5, path=tmp_path) == 0.0
    replays(tmp_path)


def test_lists_of_a_length_of_run_time(tmp_path):
    def f(n):
        pairs = []
        for i in range(n):
            pairs.append((i, i * 0.5))
        return pairs, n

    ended, text = recorded(f, 3, path=tmp_path)
    assert ended == ([(0, 0.0), (1, 0.5), (2, 1.0)], 3)
    assert text.count("\nresult ") == 4  # the length, two columns, n
    replays(tmp_path)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype, tmp_path):
    def f(x, s):
        return x[::-1], x + s, s

    x = np.array([0, 1, 1], dtype)
    ended, text = recorded(f, x, x[1], path=tmp_path)
    assert "raised" not in text and isinstance(ended, tuple)
    replays(tmp_path)


@pytest.mark.parametrize("dtype, unsigned", [("float16", "uint16"), ("float32", "uint32"), ("float64", "uint64")])
def test_bits_of_floats(dtype, unsigned, tmp_path):
    """Signs of zero, subnormal numbers, infinities, and what a NaN carries."""

    def f(x, s):
        x[1:] = x[:-1].copy()
        return s

    size = np.dtype(dtype).itemsize * 8
    bits = [0, 1 << (size - 1), 1, int(np.array(np.inf, dtype).view(unsigned)), (1 << size) - 5, int(np.array(np.nan, dtype).view(unsigned)) + 3]
    x = np.array(bits, unsigned).view(dtype)
    _, text = recorded(f, x, x[-1], path=tmp_path)
    before = np.array(bits, unsigned).tobytes().hex()
    after = np.array(bits[:1] + bits[:-1], unsigned).tobytes().hex()
    assert f"\n  {before}\n" in text and f"\n  {after}\n" in text
    assert f"argument {'f' + str(size)} {np.array(bits[-1], unsigned).tobytes().hex()} " in text
    replays(tmp_path)


def test_arguments_that_are_one_array(tmp_path):
    def f(a, b):
        for i in range(1, len(a)):
            a[i] = b[i - 1] + 1
        return a, b

    x = np.arange(5.0)
    _, text = recorded(f, x, x, path=tmp_path)
    assert text.count("\nmemory ") == 1 and text.count("argument view f64 in 0 at 0 ") == 2
    assert text.count("result view f64 in 0 at 0 ") == 2
    replays(tmp_path)


def test_arguments_that_overlap(tmp_path):
    def f(a, b):
        a[:] = b * 2
        return b

    x = np.arange(8.0)
    _, text = recorded(f, x[:6], x[2:], path=tmp_path)
    assert "memory 0 bytes 64 " in text and "argument view f64 in 0 at 16 " in text
    replays(tmp_path)


def test_arguments_of_two_dtypes_on_one_memory(tmp_path):
    def f(a, b):
        a[0] = 1.0
        return b[1]

    x = np.zeros(2)
    got, text = recorded(f, x, x.view(np.int32), path=tmp_path)
    assert got == 0x3FF00000 and text.count("\nmemory ") == 1
    replays(tmp_path)


@pytest.mark.rotated(4)
def test_strides(tmp_path):
    def f(a, b, c):
        a += 1
        return b.T, b[::-1], c[0]

    a = np.arange(24.0).reshape(4, 6)[::-2, ::3]
    _, text = recorded(f, a, np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.broadcast_to(np.float64(3), (2, 3)), path=tmp_path)
    assert "lengths (2, 2) strides (-96, 24)" in text and "strides (0, 0)" in text
    replays(tmp_path)


def test_bytes_between_elements_are_compared(tmp_path):
    def f(x):
        x[:] = 7.0

    x = np.zeros(5)
    recorded(f, x[::2], path=tmp_path)
    replays(tmp_path)
    file = tmp_path / "call.txt"
    text = file.read_text()
    bytes_before, bytes_after = re.findall(r"^  (\w+)$", text, re.M)
    assert len(bytes_before) == len(bytes_after) == 80
    file.write_text(text.replace(bytes_after, bytes_after[:16] + "01" + bytes_after[18:]))
    status, _, err = opt("--replay", tmp_path)
    assert status == 1 and "memory 0 afterwards: byte 8, which is no argument's, differs" in err


def test_misaligned_memory(tmp_path):
    def f(x):
        x += 1

    raw = np.zeros(33, np.uint8)
    _, text = recorded(f, raw[1:].view(np.float64), path=tmp_path)
    misalignment = (raw.ctypes.data + 1) % 64
    assert f"memory 0 bytes 32 at {misalignment}\n" in text
    replays(tmp_path)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0, 2)])
def test_arrays_without_elements(shape, tmp_path):
    def f(x, y):
        x += 1
        return x, x * 2, y.sum(), x[:0]

    _, text = recorded(f, np.zeros(shape), np.zeros(0, np.int32), path=tmp_path)
    assert "memory 0 bytes 0 at" in text
    replays(tmp_path)


def test_arrays_without_axes(tmp_path):
    def f(x):
        x[()] += 1
        return x

    recorded(f, np.array(1.5), path=tmp_path)
    replays(tmp_path)


def test_containers_and_none(tmp_path):
    def f(d, t, n):
        return {"a": d["a"] + t[0][0], "b": n}, None

    recorded(f, {"a": np.arange(3.0)}, (np.arange(3.0), 2), None, path=tmp_path)
    replays(tmp_path)


class Moved:
    def __init__(self, place, by):
        self.place = place + by
        self.by = by


@pytest.mark.rotated(3)
def test_instances_and_elements_that_occur_twice(tmp_path):
    Pair = collections.namedtuple("Pair", "first second")

    def f(x, s):
        y = x * s
        moved = Moved(y, s)
        return Pair(moved, [y, y]), moved, (s if s > 2 else None)

    (pair, moved, number), text = recorded(f, np.arange(3.0), 2.5, path=tmp_path)
    assert type(pair) is Pair and pair.first is moved and pair.second[0] is pair.second[1] and moved.by == number == 2.5
    assert (moved.place == [2.5, 5.0, 7.5]).all() and "result" in text
    replays(tmp_path)


@pytest.mark.parametrize("c", [True, False])
def test_a_number_or_none(c, tmp_path):
    def f(c, x):
        return (x if c else None), x

    got, text = recorded(f, c, 2.5, path=tmp_path)
    assert got == (2.5 if c else None, 2.5)
    assert ("result f64 unspecified\n" in text) is not c
    replays(tmp_path)


def test_results_that_share_new_memory(tmp_path):
    def f(x):
        y = x + 1
        return y, y[1:], x + 2

    _, text = recorded(f, np.arange(3.0), path=tmp_path)
    assert re.findall(r"result view f64 in (\d+) at (\d+)", text) == [("1", "0"), ("1", "8"), ("2", "0")]
    replays(tmp_path)
    file = tmp_path / "call.txt"
    file.write_text(text.replace("result view f64 in 1 at 8 lengths (2)", "result view f64 in 2 at 0 lengths (2)"))
    status, _, err = opt("--replay", tmp_path)
    assert status == 1 and "result 2: memory shared with other results" in err


def test_eager_signatures_and_guvectorize(tmp_path):
    @ingot.jit("float64(float64[:], float64)")
    def f(x, s):
        return x[0] * s

    assert f.record(np.arange(3.0) + 1, 2, path=tmp_path) == 2.0
    replays(tmp_path)


# How calls end.


def test_exceptions(tmp_path):
    def f(x, i):
        x[0] = 1.0
        return x[i]

    error, text = recorded(f, np.zeros(3), 3, path=tmp_path)
    assert type(error) is IndexError
    line = f.__code__.co_firstlineno + 2
    assert f'raised IndexError "index 3 is out of bounds for axis 0 with size 3" at "{__file__}":{line}\n' in text
    assert "\nafter 0 bytes 24\n" in text
    replays(tmp_path)


def test_exceptions_with_odd_messages(tmp_path):
    def f(x):
        if x:
            raise ValueError('"quoted" \\ {braces}\n\tünd\x00')
        return x

    error, _ = recorded(f, True, path=tmp_path)
    assert str(error) == '"quoted" \\ {braces}\n\tünd\x00'
    replays(tmp_path)


def test_key_errors(tmp_path):
    def f(d):
        return d["b"]

    error, text = recorded(f, {"a": 1.0}, path=tmp_path)
    assert type(error) is KeyError and "raised KeyError \"'b'\"" in text
    replays(tmp_path)


def test_a_refused_call_leaves_nothing(tmp_path):
    def f(x):
        with x:
            pass

    with pytest.raises(ingot.UnsupportedError):
        ingot.jit(f).record(1.0, path=tmp_path / "call")
    assert not (tmp_path / "call").exists()


# What is called outside.


@pytest.mark.parametrize("mode", ["compiled", "interpreted"])
def test_library_routines(mode, tmp_path):
    def f(a, b):
        x = np.linalg.solve(a, b)
        return x, np.linalg.solve(a.T, b)

    a = np.array([[2.0, 1.0], [1.0, 3.0]])
    got, text = recorded(f, a, np.array([[1.0], [2.0]]), path=tmp_path, mode=mode)
    assert np.array_equal(got[0], np.linalg.solve(a, [[1.0], [2.0]]))
    assert text.count('library "linalg.solve" (') == 2 and text.count("gives array f64 (2, 1)") == 2
    replays(tmp_path)


def test_a_library_routine_that_raises(tmp_path):
    def f(a, b):
        a[0, 0] = 1.0
        return np.linalg.solve(a, b)

    error, text = recorded(f, np.zeros((2, 2)), np.ones((2, 1)), path=tmp_path)
    assert type(error) is np.linalg.LinAlgError
    assert 'raised LinAlgError "Singular matrix"' in text
    replays(tmp_path)


@pytest.mark.parametrize("mode", ["compiled", "interpreted"])
def test_host_calls(mode, tmp_path):
    def f(x, y, n):
        for i in range(n):
            print("iteration", i, x[i], x)
            x[i] = y
        print(x + 1, n > 1, np.float32(0.1) + x.astype(np.float32)[0])

    _, text = recorded(f, np.arange(3.0), 0.5, 2, path=tmp_path, mode=mode)
    assert text.count("\nhost ") == 3 and "f32 " in text and "bool 01" in text
    replays(tmp_path)


def test_a_host_call_that_raises(tmp_path):
    def f(x):
        x[0] = 1.0
        print(x[0])
        x[1] = 1.0

    class Closed(io.StringIO):
        def write(self, text):
            raise OSError("no space\udc80")

    with contextlib.redirect_stdout(Closed()), pytest.raises(OSError, match="no space"):
        ingot.jit(f).record(np.zeros(2), path=tmp_path)
    assert 'raised Exception "no space?"' in (tmp_path / "call.txt").read_text()
    replays(tmp_path)


@pytest.mark.rotated(4)
def test_other_outside_calls_than_recorded(tmp_path):
    def f(a, b):
        print(a[0, 0])
        return np.linalg.solve(a, b)

    a, b = np.eye(2) * 2.0, np.ones((2, 1))
    text = with_few_stages(recorded(f, a, b, path=tmp_path)[1])
    file = tmp_path / "call.txt"
    two = "0000000000000040"
    host, library = re.search(r"^host 0 \((?:.|\n)*?\)\n", text, re.M)[0], re.search(r"^library .*\n(?:  .*\n)*", text, re.M)[0]
    for wrong, message in [
        (text.replace(host, host.replace(two, two[::-1])), "outside call 1, host 0, has other operands than in the replay file"),
        (text.replace(host, ""), "outside call 1 is host 0, not what the replay file has there"),
        (text.replace(library, ""), "outside call 2, library linalg.solve, is not in the replay file"),
        (text.replace(library, library * 2), "of 3 outside calls in the replay file 2 were made"),
        (text.replace("gives array f64 (2, 1)", "gives array f64 (1, 2)"), "wants a result of another type or shape"),
    ]:
        assert wrong != text
        file.write_text(wrong)
        status, out, err = opt("--replay", tmp_path)
        assert (status, out) == (1, "") and message in err, err
        if "shape" not in message:
            assert err.count(message) == 2 * len(stages(tmp_path)), err


# Differences are found.


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    def f(x, y, s):
        x[1:] = y[:-1] + s
        return x.sum(), x * s, s

    path = tmp_path_factory.mktemp("sample")
    recorded(f, np.arange(3.0), np.arange(3, dtype=np.float32), 0.25, path=path)
    return path


def changed(sample, tmp_path, old, new):
    """A copy of the sample with one thing changed in its replay file, which has few stages."""
    for name in stages(sample):
        (tmp_path / name).write_bytes((sample / name).read_bytes())
    text = with_few_stages((sample / "call.txt").read_text())
    assert old in text
    (tmp_path / "call.txt").write_text(new.join(text.rsplit(old, 1)))
    return tmp_path


QUARTER, ONE_QUARTER = "000000000000d03f", "000000000000f43f"


@pytest.mark.parametrize(
    "old, new, message",
    [
        (f"result f64 {QUARTER}", f"result f64 {ONE_QUARTER}", "result 3: 0.25 for 1.25"),
        ("result f64", "result f32 00000000 result f64", "3 results for 4"),
        (f"result f64 {QUARTER}", "result f32 00000000", "result 3: another type"),
        ("in 2 at 0 lengths (3)", "in 2 at 0 lengths (2)", "result 2: other lengths"),
        ("lengths (3) strides (8)", "lengths (3) strides (-8)", "the view leaves its memory"),
        ("in 2 at 0 lengths (3)", "in 0 at 0 lengths (3)", "result 2: a view of other memory"),
        ("returned", 'raised ValueError "x"', 'returned, expected: raised ValueError "x"'),
        (f"{QUARTER}{ONE_QUARTER}\n", f"{ONE_QUARTER}{ONE_QUARTER}\n", "argument 1 afterwards: element 1 is 0.25 for 1.25"),
        ("in 2 at 0 lengths (3) strides (8)", "in 2 at 0 lengths (3) strides (0)", "result 2: other strides"),
    ],
)
@pytest.mark.sampled(2)
def test_differences(old, new, message, sample, tmp_path):
    status, out, err = opt("--replay", changed(sample, tmp_path, old, new))
    assert (status, out) == (1, "") and message in err, err


def test_short_axes_are_those_that_are_known(tmp_path):
    path = tmp_path / "given"
    recorded(lambda x: x.sum(axis=1), np.arange(12.0).reshape(4, 3), path=path)
    replays(path)
    other = tmp_path / "other"
    other.mkdir()
    status, _, err = opt("--replay", changed(path, other, "lengths (4, 3) strides (24, 8)", "lengths (6, 2) strides (16, 8)"))
    assert status == 1 and "argument 1 has other lengths or strides than are known" in err, err


def test_a_wrong_text_is_found(sample, tmp_path):
    folder = changed(sample, tmp_path, "returned", "returned")
    file = folder / "6-to_loops.ir"
    text = file.read_text()
    wrong, count = re.subn(r" add (%\w+, %\w+ : f)", r" subtract \1", text, count=1)
    assert count == 1
    file.write_text(wrong)
    status, _, err = opt("--replay", folder)
    assert status == 1
    assert {line.split(":")[0].rsplit("/")[-1] for line in err.splitlines()} == {
        "6-to_loops.ir, interpreted",
        "6-to_loops.ir, compiled",
    }, err


def test_what_leaves_its_memory_is_not_run(tmp_path):
    """Machine code would read the memory there."""
    text = tmp_path / "far.ir"
    text.write_text("func @f(%v: view<f64, 1>) -> (f64) {\n  %i = constant 1000000000000 : i64\n  %x = load %v, %i : f64\n  return %x\n}\n")
    call = tmp_path / "call.txt"
    call.write_text("record 1 memory 0 bytes 8 at 0 0000000000000000 argument view f64 in 0 at 0 lengths (1) strides (8)\n")
    status, _, err = opt("--interpret", "--run", "--call", call, text)
    assert status == 1 and "interpreted: " in err and "compiled" not in err, err


def test_a_stream_of_numpys_is_not_taken_from_a_record(tmp_path):
    """It would be memory with the addresses of functions in it."""
    text = tmp_path / "draw.ir"
    text.write_text('func @f(%s: view<u64, 1>) -> (f64) {\n  %x = draw %s {routine="standard_uniform"} : f64\n  return %x\n}\n')
    call = tmp_path / "call.txt"
    call.write_text("record 1 memory 0 bytes 16 at 0 41414141414141414141414141414141 argument view u64 in 0 at 0 lengths (2) strides (8)\n")
    status, _, err = opt("--interpret", "--run", "--call", call, text)
    assert status == 1 and "draws from a stream of NumPy's" in err, err


NUMBERS = ("0", "-1", "64", "4294967296", "9223372036854775807", "-9223372036854775808", "18446744073709551616")


def spoiled(text, dice):
    """A text with a byte, a number or a line that is another, or missing, or there again, or deep in brackets."""
    kind = dice.randrange(6)
    at = dice.randrange(len(text))
    if kind == 0:
        return text[:at] + chr(dice.randrange(1, 127)) + text[at + 1 :]
    if kind == 1:
        return text[:at] + text[at + dice.randrange(60) :]
    if kind == 2:
        word = dice.choice(list(re.finditer(r"\b\d+\b", text)))
        return text[: word.start()] + dice.choice(NUMBERS) + text[word.end() :]
    if kind == 3:
        word, other = (dice.choice(list(re.finditer(r"\w+", text))) for _ in range(2))
        return text[: word.start()] + other.group() + text[word.end() :]
    if kind == 4:
        lines = text.splitlines(True)
        lines.insert(dice.randrange(len(lines)), dice.choice(lines))
        return "".join(lines)
    return text[:at] + dice.choice("{([<") * 20_000 + text[at:]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(5))
def test_spoiled_records_are_refused_or_played(seed, sample, tmp_path):
    dice = random.Random(seed)
    kept = ("1-frontend.ir", "6-to_loops.ir")
    record = re.sub(r'stage "(?!1-|6-).*"\n', "", (sample / "call.txt").read_text())
    texts = {name: (sample / name).read_text() for name in kept} | {"call.txt": record}
    folders = []
    for k in range(12):
        folders.append(tmp_path / str(k))
        folders[-1].mkdir()
        which = dice.choice(("call.txt", *kept))
        for name, text in texts.items():
            (folders[-1] / name).write_text(spoiled(text, dice) if name == which else text)
    for folder in folders:
        status, _, err = opt("--replay", folder)
        assert status in (0, 1, 2), (folder, err)


def test_passes_take_valid_texts_alone(tmp_path):
    text = tmp_path / "label.ir"
    text.write_text("func @f(%n: i64) -> () {\n  for %n {schedule=serial, width=0} {\n  ^(%i: i64, %l: label):\n    exit %l\n  }\n  return\n}\n")
    status, _, err = opt("--passes", "to_loops", text)
    assert status == 1 and "invariant 8" in err, err


def test_loops_over_prange_that_carry_values_are_made_parallel_first():
    text = Path(__file__).parents[1] / "ir/transform/parallel.ir"
    status, _, err = opt("--emit", "object", text)
    assert status == 1 and "`parallel` has not run" in err, err


def test_nans_are_one(tmp_path):
    """A NaN's sign and payload are unspecified: docs/semantics.md."""

    def f(x):
        x += 1
        return x[0], x * 1

    _, text = recorded(f, np.array([np.nan, 1 + 1j * np.nan]), path=tmp_path)
    nan = "000000000000f87f"
    assert text.count(nan) > 3
    head, ended, tail = text.partition("returned")
    (tmp_path / "call.txt").write_text(head + ended + tail.replace(nan, "010000000000f8ff"))
    replays(tmp_path)


# Broken files.


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    "text, message",
    [
        ("", "1:1: expected 'record'"),
        ("record 2", "1:8: replay files of version 1 can be read"),
        ("record 1\nnonsense", "2:1: 'nonsense' is not expected here"),
        ("record 1 argument f65 00", "1:19: expected a dtype"),
        ("record 1 argument f64", "1:22: expected 8 more bytes, in hexadecimal digits"),
        ("record 1\nargument f64 0000", "2:18: expected 6 more bytes, in hexadecimal digits"),
        ("record 1 argument f64 000", "1:23: expected 8 more bytes, in hexadecimal digits"),
        ("record 1 argument i8 0g", "1:22: a byte is two of the digits 0-9 a-f"),
        ("record 1 argument i8 0000", "1:22: these are more than 1 bytes"),
        ("record 1 argument view f64 in 0 at 0 lengths () strides ()", "1:19: there is no memory 0"),
        ("record 1 argument view f64 in 0 at 0 lengths (0) strides (8) returned memory 0 bytes 0 at 0", "1:19: there is no memory 0"),
        ("record 1 memory 0 bytes 8 at 0 0000000000000000 argument view f64 in 0 at 1 lengths () strides ()", "the view leaves its memory"),
        ("record 1 memory 0 bytes 8 at 0 0000000000000000 argument view i8 in 0 at 0 lengths (9) strides (1)", "the view leaves its memory"),
        ("record 1 memory 0 bytes 8 at 0 0000000000000000 argument view i8 in 0 at 0 lengths (2) strides (-1)", "the view leaves its memory"),
        (
            "record 1 memory 0 bytes 0 at 0 argument view i8 in 0 at 0 lengths (9223372036854775807, 3) strides (9223372036854775807, 1)",
            "the view leaves its memory",
        ),
        ("record 1 memory 0 bytes 0 at 0 argument view i8 in 0 at 0 lengths (0) strides ()", "as many strides as lengths are wanted"),
        ("record 1 memory 0 bytes 0 at 0 argument view i8 in 0 at 0 lengths (-1) strides (1)", "a length is negative"),
        ("record 1 memory 0 bytes 0 at 0 argument view i8 in 0 at 9223372036854775808 lengths () strides ()", "expected an integer"),
        ("record 1 memory 0 bytes -1 at 0", "1:25: expected a number that is not negative"),
        ("record 1 memory 0 bytes 99999999999999 at 0 00", "more bytes, in hexadecimal digits"),
        ("record 1 memory 0 bytes 0 at 64", "an address modulo 64 is below 64"),
        ("record 1 memory 0 bytes 0 at 0\nmemory 0 bytes 0 at 0", "2:1: there is a memory 0 already"),
        ('record 1 stage "../x"', "1:16: a stage's file is next to the replay file"),
        ("record 1 function f", "1:19: expected a function's name: @name"),
        ("record 1 library solve ()", "1:18: expected a text in quotes"),
        ('record 1 library "solve" (array f64 (9223372036854775807, 9223372036854775807))', "the array is too large"),
        ('record 1 library "solve" (f64', "expected 8 more bytes"),
        ('record 1 raised Oops ""', "1:17: expected an exception's name"),
        ("record 1 raised ValueError x", "expected a text in quotes"),
        ('record 1 raised ValueError "x', "the text has no closing quote"),
        ('record 1 raised ValueError "x" at "f.py":99999999999', "no file has that line"),
        ("record 1 returned returned", "1:19: 'returned' is not expected here"),
        ("record 1 result i8 00", "'result' is not expected here"),
        ("record 1 returned argument i8 00", "'argument' is not expected here"),
        ("record 1 memory 0 bytes 0 at 0 returned after 0 bytes 1 00", "memory 0 has another size"),
        ("record 1 returned after 0 bytes 0 after 0 bytes 0", "memory 0 is there twice"),
        ("record 1 returned result view i8 in 5 at 0 lengths (1) strides (1) memory 5 bytes 0 at 0", "the view leaves its memory"),
        ("record 1 \x01", "1:10: unexpected character"),
    ],
)
def test_broken_records(text, message, tmp_path):
    file = tmp_path / "call.txt"
    file.write_text(text)
    (tmp_path / "f.ir").write_text("func @f() -> () { return }")
    status, out, err = opt("--interpret", "--call", file, tmp_path / "f.ir")
    assert (status, out) == (1, "") and err.startswith(f"{file}:") and message in err, err


def test_a_record_cut_anywhere_is_no_crash(sample, tmp_path):
    text = (sample / "call.txt").read_bytes()
    file = tmp_path / "call.txt"
    for end in range(0, len(text), 61):
        file.write_bytes(text[:end])
        status, _, err = opt("--interpret", "--call", file, "--expect", sample / "call.txt", sample / stages(sample)[0])
        assert status in (0, 1) and "internal" not in err, err


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "call, message",
    [
        ("", "@g takes 2 arguments, the replay file has 0"),
        ("function @h", "the text has no function @h"),
        ("function @d", "the function @d has no body"),
        ("function @b", "@b gives a buffer, which no replay file holds"),
        ("argument f32 00000000 argument f32 00000000", "call.txt:1:19: the function's parameter is of type f64"),
        (
            "memory 0 bytes 0 at 0 argument view f64 in 0 at 0 lengths (0) strides (8) argument f32 00000000",
            "call.txt:1:41: the function's parameter is of type f64",
        ),
        ("argument f64 0000000000000000 argument f32 00000000", "call.txt:1:49: the function's parameter is of type view<f64, 1>"),
        (
            "memory 0 bytes 0 at 0 argument f64 unspecified argument view f64 in 0 at 0 lengths (0) strides (8)",
            "call.txt:1:41: the function's parameter is of type f64",
        ),
    ],
)
def test_records_of_other_functions(call, message, tmp_path):
    (tmp_path / "call.txt").write_text("record 1 " + call)
    text = """func @g(%a: f64, %b: view<f64, 1>) -> () { return }
        func @d() -> ()
        func @b() -> (buffer) { %n = constant 8 : i64 %b = alloc %n {life=call} : buffer return %b }"""
    (tmp_path / "f.ir").write_text(text)
    for way in ("--interpret", "--run"):
        status, out, err = opt(way, "--call", tmp_path / "call.txt", tmp_path / "f.ir")
        assert (status, out) == (1, "") and message in err, err


def test_alias_sets_are_held_to_what_overlaps(tmp_path):
    memory = "record 1 memory 0 bytes 24 at 0 " + "00" * 24
    (tmp_path / "f.ir").write_text("func @f(%a: view<f64, 1> alias 1, %b: view<f64, 1> alias 2) -> () { return }")
    for offset, length, step, right in [(16, 1, 8, True), (8, 1, 8, False), (8, 2, 8, False), (16, 2, -8, False), (8, 0, 8, True)]:
        (tmp_path / "call.txt").write_text(
            f"{memory} argument view f64 in 0 at 0 lengths (2) strides (8) argument view f64 in 0 at {offset} lengths ({length}) strides ({step})"
        )
        status, _, err = opt("--interpret", "--run", "--call", tmp_path / "call.txt", tmp_path / "f.ir")
        message = "arguments 1 and 2 overlap, but are of different alias sets" in err
        assert (status, message) == ((0, False) if right else (1, True)), err


def test_an_empty_part_of_another_argument(tmp_path):
    def f(x, y):
        x += 1
        return y

    x = np.arange(3.0)
    recorded(f, x, x[1:1], path=tmp_path)
    replays(tmp_path)


def test_broken_folders(sample, tmp_path):
    def lines(*words):
        status, out, err = opt(*words)
        assert out == ""
        return status, err

    assert lines("--replay", tmp_path) == (2, f"ingot-opt: cannot read {tmp_path}/call.txt; --help shows the options\n")
    (tmp_path / "call.txt").write_text('record 1 stage "x.ir"')
    assert lines("--replay", tmp_path) == (1, f"{tmp_path}/call.txt:1:1: the replay file does not state how the call ended\n")
    (tmp_path / "call.txt").write_text("record 1 returned")
    assert lines("--replay", tmp_path) == (1, f"{tmp_path}/call.txt:1:1: the replay file names no texts\n")
    (tmp_path / "call.txt").write_text('record 1 stage "x.ir" returned')
    assert f"cannot read {tmp_path}/x.ir" in lines("--replay", tmp_path)[1]
    (tmp_path / "x.ir").write_text("func @f() -> () { return 1 }")
    assert lines("--replay", tmp_path) == (1, f"{tmp_path}/x.ir:1:26: expected '}}', found '1'\n")
    (tmp_path / "x.ir").write_text("func @f() -> () { exit %x }")
    assert lines("--replay", tmp_path)[0] == 1
    assert lines("--interpret", tmp_path)[1].startswith(f"ingot-opt: cannot read {tmp_path};")


# The options one by one.


TEXT = """func @f(%x: f64, %v: view<f64, 1>) -> (f64) {
  %i = constant 0 : i64
  store %v, %i, %x
  %s = multiply %x, %x
  return %s
}
func @g() -> (i64) { %1 = constant 7 : i64 return %1 }
"""
CALL = """record 1
memory 3 bytes 16 at 8 00000000000000000000000000000000
argument f64 0000000000000840
argument view f64 in 3 at 8 lengths (1) strides (8)
"""
ENDED = """record 1
returned
result f64
  0000000000002240 ; 9.0
after 3 bytes 16
  00000000000000000000000000000840
"""


def test_interpret_run_and_expect(tmp_path):
    file, call, ended = tmp_path / "f.ir", tmp_path / "call.txt", tmp_path / "ended.txt"
    file.write_text(TEXT)
    call.write_text(CALL)
    assert opt("--interpret", "--call", call, file) == (0, f"; {file}, interpreted\n{ENDED}", "")
    assert opt("--run", "--call", call, file) == (0, f"; {file}, compiled\n{ENDED}", "")
    ended.write_text(ENDED)
    ways = ("--interpret", "--run", "--call", call, "--expect", ended)
    assert opt(*ways, file, file) == (0, "", "")
    assert opt(*ways, "--passes", "simplify,to_loops", file) == (0, "", "")
    ended.write_text(ENDED.replace("2240", "2340"))
    status, out, err = opt(*ways, file)
    assert (status, out) == (1, "")
    assert err == "".join(f"{file}, {way}: result 1: 9.0 for 9.5\n" for way in ("interpreted", "compiled"))


def test_functions_without_arguments_need_no_record(tmp_path):
    (tmp_path / "f.ir").write_text("func @f() -> (bool) { %1 = constant true : bool return %1 }")
    status, out, err = opt("--interpret", "--run", tmp_path / "f.ir")
    assert (status, err) == (0, "") and out.count("result bool\n  01 ; true\n") == 2


def test_raised_exceptions_are_printed(tmp_path):
    text = 'func @f() -> () { %n = constant 3 : i64 raise %n {kind=ValueError, message="n is {}"} at "a.py":3:1-2 in "f" }'
    (tmp_path / "f.ir").write_text(text)
    status, out, err = opt("--interpret", "--run", tmp_path / "f.ir")
    assert (status, err) == (0, ""), err
    assert out.count('raised ValueError "n is 3" at "a.py":3\n') == 2


def test_faults_that_the_interpreter_sees(tmp_path):
    (tmp_path / "f.ir").write_text("func @f(%v: view<f64, 1>) -> (f64) { %i = constant 5 : i64 %x = load %v, %i return %x }")
    (tmp_path / "call.txt").write_text("record 1 memory 0 bytes 0 at 0 argument view f64 in 0 at 0 lengths (0) strides (8)")
    status, out, err = opt("--interpret", "--call", tmp_path / "call.txt", tmp_path / "f.ir")
    assert (status, out) == (1, "") and err.startswith(f"{tmp_path}/f.ir, interpreted: ") and "load" in err


def test_what_is_not_compiled_is_reported(tmp_path):
    launch = "launch %n, %n, %n, %n, %n, %n { ^(%a: i64, %b: i64, %c: i64, %d: i64, %e: i64, %g: i64): barrier {scope=block} yield }"
    (tmp_path / "f.ir").write_text(f"func @f() -> () {{ %n = constant 1 : i64 {launch} return }}")
    status, out, err = opt("--run", tmp_path / "f.ir")
    assert (status, out) == (1, "") and err.startswith(f"{tmp_path}/f.ir, compiled: "), err


def test_an_invalid_text_is_not_run(tmp_path):
    (tmp_path / "f.ir").write_text("func @f() -> (f64) { %1 = constant 1 : i64 return %1 }")
    for way in ("--interpret", "--run"):
        status, out, err = opt(way, tmp_path / "f.ir")
        assert (status, out) == (1, "") and "invariant" in err, err


def test_emit(tmp_path):
    file = tmp_path / "f.ir"
    file.write_text(TEXT)
    status, out, _ = opt("--emit", "llvm", file)
    assert status == 0 and "define i32 @ingot_entry_f(" in out and "fmul" in out
    status, out, _ = opt("--emit", "asm", file)
    assert status == 0 and "ingot_entry_f:" in out and "mulsd" in out
    done = subprocess.run([find_program("ingot-opt"), "--emit", "object", file], capture_output=True, timeout=60)
    assert done.returncode == 0 and done.stdout.startswith(b"\x7fELF")


@pytest.mark.parametrize(
    "words, message",
    [
        (["--emit", "wasm"], "--emit is llvm, asm or object, not 'wasm'"),
        (["--call", "x"], "--call and --expect want --interpret or --run"),
        (["--replay", "--print", "x"], "--replay combines with no other option"),
        (["--replay"], "--replay wants a folder"),
    ],
)
def test_command_line(words, message):
    status, _, err = opt(*words)
    assert status == 2 and message in err


def test_the_last_text_is_what_was_compiled(sample):
    """Codegen makes the same of the last stage as of the first: nothing happens between text and machine code."""
    texts = [opt("--emit", "asm", sample / name)[1] for name in (stages(sample)[0], stages(sample)[-1])]
    assert "ingot_entry_f" in texts[0] and texts[0] == texts[1]


def test_functions_that_change_containers_are_not_recorded(tmp_path):
    @ingot.jit
    def count(seen):
        seen["n"] = seen["n"] + 1

    with pytest.raises(ingot.UnsupportedError, match="changes the caller's containers(.|\n)*instead: record"):
        count.record({"n": 1}, path=tmp_path / "call")
    assert not (tmp_path / "call").exists()
