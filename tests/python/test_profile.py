"""Profiles: the rules of docs/profiling.md on regions and decorated functions; the others: test_profile_code.py, test_profile_files.py."""

import asyncio
import contextlib
import copy
import gc
import inspect
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path

import ingot
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def counting():
    ingot.profile.reset()
    ingot.profile.start()
    yield
    ingot.profile.stop()
    ingot.profile.reset()


def rows():
    """The rows of regions by their paths."""
    return {"|".join(row.path): row for row in ingot.profile.rows()}


def calls():
    return {path: row.calls for path, row in rows().items()}


def check_sums(found=None):
    """The seconds of a path are its own ones and those of the paths inside, but for what recursion counts elsewhere."""
    found = rows() if found is None else found
    own = sum(row.own for row in found.values())
    whole = sum(row.seconds for row in found.values() if len(row.path) == 1)
    assert own == pytest.approx(whole, rel=1e-6, abs=1e-7)


@ingot.profile
def outer(n):
    """Calls others."""
    for _ in range(n):
        inner()
    with ingot.profile("part"):
        inner()


@ingot.profile
def inner():
    time.sleep(0.001)


@ingot.profile
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def test_a_row_for_each_path():
    outer(3)
    inner()
    assert calls() == {"outer": 1, "outer|inner": 3, "outer|part": 1, "outer|part|inner": 1, "inner": 1}
    row = rows()["outer|inner"]
    assert row.path == ("outer", "inner") and row.name == "inner" and row.kind == "region" and row.implementation == ""
    assert 0.001 <= row.shortest <= row.longest and row.seconds >= 0.003 and row.own == row.seconds
    assert row.shortest + row.longest <= row.seconds


def test_own_seconds_come_to_the_whole():
    outer(2)
    fib(8)
    with ingot.profile("a"), ingot.profile("b"):
        outer(1)
    check_sums()
    row = rows()["outer"]
    assert row.seconds >= row.own + rows()["outer|inner"].seconds + rows()["outer|part"].seconds - 1e-6


def test_recursion_has_one_row():
    assert fib(15) == 610
    assert calls() == {"fib": 1973}
    row = rows()["fib"]
    assert row.longest == pytest.approx(row.seconds) and row.own == pytest.approx(row.seconds)


def test_recursion_through_others():
    @ingot.profile
    def even(n):
        return True if n == 0 else odd(n - 1)

    @ingot.profile
    def odd(n):
        with ingot.profile("step"):
            return False if n == 0 else even(n - 1)

    assert even(6) is True
    assert calls() == {"even": 4, "even|odd": 3, "even|odd|step": 3}
    check_sums()
    found = rows()
    assert max(row.seconds for row in found.values()) == found["even"].seconds


def test_exceptions_end_regions():
    @ingot.profile
    def fails(n):
        if n:
            fails(n - 1)
        raise KeyError("no")

    def plain(n):
        if n:
            plain(n - 1)
        raise KeyError("no")

    def frames(function):
        with pytest.raises(KeyError) as raised:
            function(2)
        return [frame.name for frame in traceback.extract_tb(raised.value.__traceback__)][1:]

    assert frames(fails) == ["fails"] * 3 and frames(plain) == ["plain"] * 3
    with pytest.raises(ZeroDivisionError), ingot.profile("region"):
        1 / 0
    inner()
    assert calls() == {"fails": 3, "region": 1, "inner": 1}
    with pytest.raises(TypeError, match=r"inner\(\) takes 0 positional arguments but 1 was given"):
        inner(1)
    assert calls()["inner"] == 2


def test_generators_have_the_time_of_their_steps():
    @ingot.profile
    def numbers(n):
        """Counts."""
        for i in range(n):
            inner()
            yield i
        return "done"

    def through():
        return (yield from numbers(2))

    assert inspect.isgeneratorfunction(numbers) and numbers.__name__ == "numbers" and numbers.__doc__ == "Counts."
    start = time.perf_counter()
    for _ in numbers(3):
        time.sleep(0.005)
    whole = time.perf_counter() - start
    found = rows()
    assert {path: row.calls for path, row in found.items()} == {"numbers": 1, "numbers|inner": 3}
    row = found["numbers"]
    assert row.seconds == pytest.approx(row.longest) and row.shortest == row.longest
    assert 0.003 <= row.seconds <= whole - 0.015  # what was slept outside
    generator = through()
    with pytest.raises(StopIteration) as stop:
        while True:
            next(generator)
    assert stop.value.value == "done"
    assert calls() == {"numbers": 2, "numbers|inner": 5}
    check_sums()


@pytest.mark.rotated(3)
def test_generators_that_are_left():
    seen = []

    @ingot.profile
    def receives():
        try:
            got = None
            while True:
                try:
                    got = yield got
                except KeyError as error:
                    got = error.args[0]
        finally:
            inner()
            seen.append("closed")

    generator = receives()
    assert next(generator) is None and generator.send(5) == 5 and generator.throw(KeyError("key")) == "key"
    generator.close()
    assert seen == ["closed"] and calls() == {"receives": 1, "receives|inner": 1}
    generator = receives()
    next(generator)
    with pytest.raises(ValueError, match="no"):
        generator.throw(ValueError("no"))
    generator = receives()
    next(generator)
    del generator
    gc.collect()
    assert seen == ["closed"] * 3 and calls() == {"receives": 3, "receives|inner": 3}
    with ingot.profile("later"):
        inner()
    assert calls()["later|inner"] == 1
    check_sums()

    @ingot.profile
    def ignores():
        with contextlib.suppress(GeneratorExit):
            yield 1
        yield 2

    generator = ignores()
    next(generator)
    with pytest.raises(RuntimeError, match="generator ignored GeneratorExit"):
        generator.close()


def test_coroutines():
    @ingot.profile
    async def waits(n):
        inner()
        await asyncio.sleep(0.02)
        if n == 0:
            raise LookupError("zero")
        return n

    async def both():
        return await asyncio.gather(waits(1), waits(2), waits(0), return_exceptions=True)

    assert inspect.iscoroutinefunction(waits)
    first, second, third = asyncio.run(both())
    assert (first, second) == (1, 2) and type(third) is LookupError
    assert calls() == {"waits": 3, "waits|inner": 3}
    ingot.profile.reset()
    start = time.perf_counter()
    asyncio.run(waits(1))
    assert 0.001 <= rows()["waits"].seconds <= time.perf_counter() - start - 0.02
    assert calls()["waits"] == 1

    async def cancelled():
        task = asyncio.create_task(waits(1))
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())
    assert calls()["waits"] == 2


def test_asynchronous_generators():
    @ingot.profile
    async def numbers(n):
        try:
            for i in range(n):
                inner()
                await asyncio.sleep(0)
                got = yield i
                if got is not None:
                    yield got
        finally:
            inner()

    async def whole():
        return [i async for i in numbers(3)]

    async def left():
        async with contextlib.aclosing(numbers(3)) as source:
            assert await source.__anext__() == 0
            assert await source.asend("sent") == "sent"
            with pytest.raises(OSError, match="thrown"):
                await source.athrow(OSError("thrown"))

    assert inspect.isasyncgenfunction(numbers)
    assert asyncio.run(whole()) == [0, 1, 2]
    assert calls() == {"numbers": 1, "numbers|inner": 4}
    asyncio.run(left())
    assert calls() == {"numbers": 2, "numbers|inner": 6}
    check_sums()


def test_regions_end_in_any_order():
    def leaves_open():
        with ingot.profile("inside"):
            time.sleep(0.002)
            yield

    generator = leaves_open()
    start = time.perf_counter()
    next(generator)
    with ingot.profile("around"):
        time.sleep(0.002)
        generator.close()
        time.sleep(0.004)
        with ingot.profile("later"):
            time.sleep(0.001)
    whole = time.perf_counter() - start
    found = rows()
    assert set(found) == {"inside", "inside|around", "inside|around|later"}
    assert found["inside"].seconds >= 0.004 and 0.002 <= found["inside"].own <= found["inside"].seconds - 0.002
    assert found["inside|around"].seconds >= 0.007 and found["inside|around"].own >= 0.006
    assert 0.009 <= sum(row.own for row in found.values()) <= whole
    region = ingot.profile("again")
    with region, region:
        pass
    assert calls()["again"] == 2


def test_threads_are_put_together():
    def work():
        for _ in range(3):
            inner()

    threads = [threading.Thread(target=work, name=f"worker {i}") for i in range(4)]
    with ingot.profile("main"):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        inner()
    row = rows()["inner"]
    assert row.calls == 12 and row.threads == 4 and sorted(row.thread_names) == [f"worker {i}" for i in range(4)]
    assert rows()["main|inner"].threads == 1 and rows()["main"].thread_names == ("MainThread",)


def test_many_short_threads():
    region = ingot.profile("left open")
    thread = threading.Thread(target=region.__enter__)
    thread.start()
    thread.join()
    for i in range(150):
        thread = threading.Thread(target=fib, args=(2,), name=f"short {i}")
        thread.start()
        thread.join()
    row = rows()["fib"]
    assert row.calls == 450 and row.threads == 150 and len(row.thread_names) == 32
    assert set(row.thread_names) <= {f"short {i}" for i in range(150)}
    before = rows()["left open"].seconds
    region.__exit__(None, None, None)
    row = rows()["left open"]
    assert row.calls == 1 and row.seconds > before > 0
    ingot.profile.reset()
    assert rows() == {}


@pytest.mark.rotated(3)
def test_threads_at_once():
    """Many threads that open and close regions, while rows are asked for and the switch is moved."""
    is_done = threading.Event()

    def work():
        while not is_done.is_set():
            fib(6)
            with contextlib.suppress(ValueError), ingot.profile("failing"):
                raise ValueError

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for i in range(32):
        rows()
        (ingot.profile.stop, ingot.profile.start, ingot.profile.reset, ingot.profile.start)[i % 4]()
        time.sleep(0.001)
    is_done.set()
    for thread in threads:
        thread.join()
    ingot.profile.reset()
    fib(3)
    assert calls() == {"fib": 5}


def test_a_region_may_end_in_another_thread():
    region = ingot.profile("moves")
    region.__enter__()
    thread = threading.Thread(target=region.__exit__, args=(None, None, None))
    thread.start()
    thread.join()
    inner()
    assert calls() == {"moves": 1, "inner": 1} and rows()["moves"].threads == 1


def test_switching_amid_open_regions():
    ingot.profile.stop()
    with ingot.profile("before"):
        ingot.profile.start()
        begin = time.perf_counter()
        with ingot.profile("inside"):
            time.sleep(0.002)
            ingot.profile.stop()
            until_stopped = time.perf_counter() - begin
            time.sleep(0.02)
            inner()
        assert not ingot.profile.is_on
        ingot.profile.start()
        inner()
    assert ingot.profile.is_on
    found = rows()
    assert {path: row.calls for path, row in found.items()} == {"inside": 1, "inner": 1}
    assert 0.002 <= found["inside"].seconds <= until_stopped

    @ingot.profile
    def switches(on):
        (ingot.profile.start if on else ingot.profile.stop)()

    ingot.profile.stop()
    ingot.profile.reset()
    switches(True)
    assert calls() == {}
    switches(False)
    assert calls() == {"switches": 1}

    @ingot.profile("steps")
    def three():
        yield from [1, 2, 3]

    steps = three()
    next(steps)
    ingot.profile.start()
    assert list(steps) == [2, 3]
    assert calls() == {"switches": 1, "steps": 1}


def test_rows_of_what_is_open():
    with ingot.profile("open"):
        time.sleep(0.002)
        with ingot.profile("within"):
            first = rows()
            time.sleep(0.002)
        second = rows()
    last = rows()
    assert [found["open"].calls for found in (first, second, last)] == [1, 1, 1]
    assert 0.002 <= first["open"].seconds < second["open"].seconds < last["open"].seconds
    assert first["open|within"].calls == 1
    check_sums(first)
    check_sums(last)


def test_reset_amid_open_regions():
    region = ingot.profile("forgotten")
    with region:
        ingot.profile.reset()
        region.bytes_up += 5
        assert region.bytes_up == 0
        inner()
    assert calls() == {"inner": 1}


def test_forked_children_begin_anew():
    with ingot.profile("parent"):
        inner()
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                is_on = ingot.profile.is_on
                fib(4)
                with ingot.profile("child"):
                    inner()
                os.write(writing, repr((is_on, calls())).encode())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
    os.close(writing)
    with open(reading) as told:
        assert eval(told.read()) == (True, {"fib": 9, "child": 1, "child|inner": 1})
    assert calls() == {"parent": 1, "parent|inner": 1}


@pytest.mark.rotated(4)
def test_forks_amid_other_threads():
    is_done = threading.Event()

    def names_regions(number):
        for i in range(1 << 20):
            with ingot.profile(f"{number} {i}"):
                if is_done.is_set():
                    return

    threads = [threading.Thread(target=names_regions, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(15):
            child = os.fork()
            if child == 0:
                signal.alarm(20)  # one that hangs ends
                with ingot.profile("child of threads"):
                    pass
                os._exit(0 if list(calls()) == ["child of threads"] else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        is_done.set()
        for thread in threads:
            thread.join()


def test_signal_handlers():
    @ingot.profile
    def handler(number, frame):
        fib(2)

    before = signal.signal(signal.SIGALRM, handler)
    try:
        with ingot.profile("interrupted"):
            signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
            end = time.perf_counter() + 0.1
            while time.perf_counter() < end:
                fib(5)
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, before)
    found = {path: row.calls for path, row in rows().items()}
    assert sum(count for path, count in found.items() if path.endswith("handler")) > 5
    assert all(path.startswith("interrupted") for path in found)
    check_sums()


@pytest.mark.rotated(3)
def test_decorated_functions_are_as_before():
    def plain(a, /, b: int = 2, *rest, c, **others) -> tuple:
        """What it does."""
        return a, b, rest, c, others

    plain.mark = "own"
    decorated = ingot.profile(plain)
    assert decorated(1, 3, 4, c=5, d=6) == plain(1, 3, 4, c=5, d=6)
    assert decorated.__wrapped__ is plain and decorated.mark == "own" and callable(decorated)
    for name in ("__name__", "__qualname__", "__module__", "__doc__", "__annotations__"):
        assert getattr(decorated, name) == getattr(plain, name)
    assert inspect.signature(decorated) == inspect.signature(plain) and inspect.unwrap(decorated) is plain
    assert decorated.__code__ is plain.__code__ and decorated.__defaults__ == (2,)
    assert repr(decorated) == f"<ingot.profile {plain!r}>"
    with pytest.raises(AttributeError):
        decorated.missing
    named = ingot.profile("other name")(plain)
    named(1, c=1)
    ingot.profile(implementation="fast")(plain)(1, c=1)
    assert {(row.path, row.implementation) for row in ingot.profile.rows()} == {(("plain",), ""), (("plain",), "fast"), (("other name",), "")}
    gone = []
    temporary = ingot.profile(lambda: None)
    temporary.itself = temporary
    temporary.__dict__["marker"] = type("Marker", (), {"__del__": lambda self: gone.append(1)})()
    del temporary
    gc.collect()
    assert gone == [1]


def test_methods():
    class Thing:
        factor = 3

        def __init__(self, x):
            self.x = x

        @ingot.profile
        def method(self, y):
            return self.x + y

        @classmethod
        @ingot.profile
        def of_class(cls, y):
            return cls.factor * y

        @ingot.profile
        @classmethod
        def of_class_too(cls, y):
            return cls.factor * y

        @ingot.profile
        @staticmethod
        def alone(y):
            return y

        @property
        @ingot.profile
        def doubled(self):
            return 2 * self.x

        @ingot.profile
        def __call__(self):
            return self.x

    class Kin(Thing):
        factor = 5

        def method(self, y):
            return super().method(y) * 10

    thing, kin = Thing(1), Kin(2)
    assert (thing.method(2), Thing.method(thing, 3), kin.method(1)) == (3, 4, 30)
    assert (Thing.of_class(2), kin.of_class(2), Kin.of_class_too(3), kin.alone(4), thing.doubled, kin()) == (6, 10, 15, 4, 2, 2)
    bound = thing.method
    assert inspect.ismethod(bound) and bound.__self__ is thing and bound(y=5) == 6
    assert calls() == {
        "Thing.method": 4,
        "Thing.of_class": 2,
        "Thing.of_class_too": 1,
        "Thing.alone": 1,
        "Thing.doubled": 1,
        "Thing.__call__": 1,
    }
    assert ingot.profile(thing)() == 1 and ingot.profile(len)([1]) == 1
    assert calls()["Thing"] == 1 and calls()["len"] == 1


def test_pickle_and_copy():
    assert pickle.loads(pickle.dumps(outer)) is outer and copy.copy(outer) is outer and copy.deepcopy([outer])[0] is outer
    hidden = ingot.profile("hidden name")(time.sleep)
    again = pickle.loads(pickle.dumps(hidden))
    again(0)
    assert calls() == {"hidden name": 1}
    region = pickle.loads(pickle.dumps(ingot.profile("region", implementation="x")))
    with region:
        pass
    assert rows()["region"].implementation == "x"


def test_what_is_no_function_is_refused():
    for given, message in ((3, "takes a function or a name, not int"), (type("C", (), {}), "not the class C"), (property(len), "below @property")):
        with pytest.raises(TypeError, match=message):
            ingot.profile(given)
    with pytest.raises(TypeError, match="a name in a profile is a string, not int"):
        ingot.profile("name", implementation=3)
    with ingot.profile("\ud800"):  # in no encoding of files
        pass
    assert calls() == {"\\ud800": 1}


def test_counts_of_regions():
    with ingot.profile("build", implementation="ingot") as region:
        region.bytes_up += 100
        region.bytes_up += 20
        with region:
            region.bytes_down = 7
            assert region.bytes_up == 0
        region.flops += 1e9
        assert (region.bytes_up, region.bytes_down, region.flops) == (120, 0, 1e9)
        with pytest.raises(TypeError):
            region.bytes_up = "many"
        with pytest.raises(AttributeError):
            del region.flops
    row = rows()["build"]
    assert (row.bytes_up, row.bytes_down, row.flops, row.implementation, row.calls) == (120, 7, 1e9, "ingot", 2)
    assert region.bytes_up == 0
    ingot.profile.stop()
    with region:
        region.bytes_up += 5
        assert region.bytes_up == 0
    assert rows()["build"].bytes_up == 120
    inner()
    assert rows()["build"].flops == 1e9 and "inner" not in rows()


def test_rows_that_are_added():
    with ingot.profile("around"):
        time.sleep(0.004)
        ingot.profile.add("Allreduce", 0.001, bytes_up=8, bytes_down=16, implementation="mpi")
        ingot.profile.add("Allreduce", 0.002, calls=2, implementation="mpi")
        ingot.profile.add("kernel", 5.0, device="gpu:0", flops=1e6)
    found = rows()
    row = found["around|Allreduce"]
    assert (row.calls, row.bytes_up, row.bytes_down, row.implementation) == (3, 8, 16, "mpi")
    assert row.seconds == pytest.approx(0.003) and row.shortest == pytest.approx(0.001)
    assert found["around"].own == pytest.approx(found["around"].seconds - 0.003, abs=1e-6)
    assert found["around|kernel"].seconds == pytest.approx(5) and found["around|kernel"].device == "gpu:0"
    assert found["around|kernel"].flops == 1e6
    with pytest.raises(ValueError, match="not negative"):
        ingot.profile.add("wrong", -1.0)
    ingot.profile.stop()
    ingot.profile.add("off", 1.0)
    assert "off" not in rows()


ENVIRONMENT = """
import os, sys
import ingot

@ingot.profile
def work(n):
    return n

work(3)
if os.fork() == 0:
    work(1); work(2)
    sys.exit(0)
os.wait()
"""


@pytest.mark.rotated(4)
def test_the_environment_switches_on(tmp_path):
    def files(**variables):
        environment = {k: v for k, v in os.environ.items() if "RANK" not in k} | variables
        subprocess.run([sys.executable, "-c", ENVIRONMENT], env=environment, check=True, timeout=60, cwd=tmp_path)
        found = {path.name: path for path in tmp_path.iterdir()}
        for path in found.values():
            path.rename(tmp_path.parent / path.name)
        return {name: (tmp_path.parent / name).read_text() for name in found}

    assert files() == {}
    found = files(INGOT_PROFILE="run.csv", INGOT_PROFILE_TRACE="run.json")
    assert len(found) == 4 and all(re.fullmatch(r"run(\.\d+)?\.(csv|json)", name) for name in found)
    assert "work" in found["run.csv"] and '"work"' in found["run.json"]
    other = next(text for name, text in found.items() if name.endswith(".csv") and name != "run.csv")
    assert ",2," in other.splitlines()[1]
    assert {"run.3.csv"} < set(files(INGOT_PROFILE="run.csv", PMI_RANK="3"))
    failed = subprocess.run(
        [sys.executable, "-c", "import ingot"], env=os.environ | {"INGOT_PROFILE": "/nowhere/run.csv"}, capture_output=True, text=True, timeout=60
    )
    assert failed.returncode == 0 and "ingot.profile: FileNotFoundError" in failed.stderr


def test_every_rule_has_its_test():
    text = (ROOT / "docs" / "profiling.md").read_text()
    named = set(re.findall(r"`(test_\w+)`", text)) - {"test_profile"}
    sources = "".join((ROOT / "tests" / "python" / f"test_profile{kind}.py").read_text() for kind in ("", "_code", "_files"))
    written = set(re.findall(r"^def (test_\w+)", sources, flags=re.M))
    report = set(re.findall(r"^def (test_\w+)", (ROOT / "tests" / "python" / "test_report.py").read_text(), flags=re.M))
    assert named - written - report == set()
    assert written - named <= {"test_threads_at_once", "test_every_rule_has_its_test"}
