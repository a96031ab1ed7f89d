"""Compiled functions under engines that run functions in threads and other processes: Dask, xarray, joblib, concurrent.futures.

Each engine is started once. What it gives is what NumPy gives, with the same dtypes and exceptions.
"""

import multiprocessing
import os
import pickle
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import cloudpickle
import dask
import dask.array as da
import dask.bag
import engines_module
import ingot
import joblib
import numpy as np
import pytest
import xarray as xr
from engines_module import how_compiled, limited, root, smooth, spread, threads, threads_and_total

pytestmark = pytest.mark.alone
HERE = os.path.dirname(__file__)
SECONDS = 60
"""After which a wait for an engine has failed."""
X = np.random.default_rng(0).random((40, 6))
PLAIN = smooth.__ingot_function__


@pytest.fixture(scope="module")
def variables(tmp_path_factory):
    """Of workers: the cache of a program, in a folder of these tests."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.endswith("_NUM_THREADS")]:
            patch.delenv(name)
        patch.setenv("INGOT_CACHE", "on")
        patch.setenv("INGOT_CACHE_WAIT", str(SECONDS))
        patch.setenv("INGOT_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("PYTHONPATH", os.pathsep.join([HERE, *sys.path]))
        yield


@pytest.fixture(scope="module")
def processes(variables):
    """A client of a cluster of two processes."""
    from distributed import Client, LocalCluster

    settings = {"distributed.comm.timeouts.connect": SECONDS, "distributed.worker.use-file-locking": False}
    with (
        dask.config.set(settings),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster, timeout=SECONDS) as client,
    ):
        yield client


@pytest.fixture(scope="module", params=["processes", "threads"])
def scheduler(request):
    """Dask's ways to run a graph: on a cluster of processes, in threads of this one."""
    if request.param == "processes":
        client = request.getfixturevalue("processes")
        with dask.config.set(scheduler=client):
            yield client
    else:
        with dask.config.set(scheduler="threads", num_workers=4):
            yield None


def same(got, wanted):
    np.testing.assert_array_equal(got, wanted, strict=True)


def test_delayed(scheduler):
    parts = [dask.delayed(smooth)(x) for x in np.split(X, 4)]
    for got, wanted in zip(dask.compute(*parts), map(PLAIN, np.split(X, 4)), strict=True):
        same(got, wanted)


def test_closures_and_lambdas_are_delayed(scheduler):
    k = 3.0
    scaled = ingot.jit(lambda x: x * k)
    slope = ingot.grad(lambda x: x * x * k)
    same(dask.delayed(scaled)(X).compute(), X * 3)
    assert dask.delayed(slope)(2.0).compute() == 12.0


@pytest.mark.parametrize("dtype", ["float64", "float32", "int16", "complex128"])
def test_blocks(scheduler, dtype):
    x = (100 * X).astype(dtype)
    doubled = ingot.jit(lambda block: block * 2)
    for chunks in ((10, 6), (7, 4)):
        lazy = da.from_array(x, chunks=chunks).map_blocks(doubled)
        assert lazy.dtype == x.dtype
        same(lazy.compute(), x * 2)


def test_blocks_without_elements(scheduler):
    same(da.from_array(X[:0], chunks=(10, 6)).map_blocks(smooth, dtype=float).compute(), PLAIN(X[:0]))


def test_overlap(scheduler):
    lazy = da.from_array(X, chunks=(13, 6)).map_overlap(smooth, depth=(1, 0), boundary="none", dtype=float)
    same(lazy.compute()[1:-1], PLAIN(X)[1:-1])


def test_gufuncs(scheduler):
    x = da.from_array(X, chunks=(10, -1))
    same(da.apply_gufunc(spread, "(n)->()", x, output_dtypes=float).compute(), X.max(1) - X.min(1))


def test_ufuncs(scheduler):
    x = da.from_array(X, chunks=(10, 3))
    lazy = limited(x, 0.5)
    assert isinstance(lazy, da.Array)
    same(lazy.compute(), np.minimum(X, 0.5))
    same(np.asarray(limited(x, 0.5) + 1), np.minimum(X, 0.5) + 1)


def test_bags(scheduler):
    bag = dask.bag.from_sequence([1.0, 4.0, 9.0], npartitions=2)
    assert bag.map(root).compute() == [1.0, 2.0, 3.0]


def test_exceptions_are_those_of_python(scheduler):
    for bad in (root, ingot.jit(lambda x: 1 // x)):
        expected = type(_raised(lambda: bad.__ingot_function__(-4 if bad is root else 0)))
        with pytest.raises(expected) as raised:
            dask.delayed(bad)(-4 if bad is root else 0).compute()
        assert str(raised.value) == str(_raised(lambda: bad.__ingot_function__(-4 if bad is root else 0)))
    with pytest.raises(ingot.UnsupportedError, match="open"):
        dask.delayed(ingot.jit(lambda x: open(x)))(1.0).compute()  # noqa: SIM115


def _raised(call):
    try:
        call()
    except Exception as error:
        return error
    return None


def test_xarray(scheduler):
    plain = xr.DataArray(X, dims=("time", "x"), coords={"time": np.arange(40)})
    lazy = plain.chunk({"time": 10})
    options = {"dask": "parallelized", "output_dtypes": [float]}
    got = xr.apply_ufunc(spread, lazy, input_core_dims=[["x"]], **options)
    assert got.chunks is not None
    xr.testing.assert_identical(got.compute(), xr.apply_ufunc(spread.ufunc, plain, input_core_dims=[["x"]]))
    got = xr.apply_ufunc(limited, lazy, 0.5, **options)
    xr.testing.assert_identical(got.compute(), xr.DataArray(np.minimum(X, 0.5), plain.coords, plain.dims))
    got = xr.apply_ufunc(smooth, lazy, **options)
    same(got.values, np.concatenate([PLAIN(x) for x in np.split(X, 4)]))


def test_workers_compile_once(processes):
    """Two workers that start at once, with a function that neither has seen."""
    anew = ingot.jit(lambda x: np.sqrt(x) * 7 + np.cos(x[::-1]))

    def called(number):
        value = anew(np.arange(5.0))
        return value[0], how_compiled(anew)[0]

    futures = [processes.submit(called, i, workers=[worker], pure=False) for i, worker in enumerate(processes.scheduler_info()["workers"])]
    got = processes.gather(futures)
    assert len(got) == 2 and {value for value, _ in got} == {7 * 0.0 + np.cos(4.0)}
    assert sorted(why for _, why in got) == ["the cache", "the first call"]


def test_workers_have_their_share_of_threads(processes):
    assert set(processes.run(threads).values()) == {1}  # Dask sets OMP_NUM_THREADS


def test_calls_in_threads_run_at_the_same_time():
    """They release the GIL: a thread of Python's goes on."""
    sums = ingot.jit(lambda x, n: sum(np.sin(x).sum() + i for i in range(n)))
    sums(X, 1)
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    with ThreadPoolExecutor(2) as pool:
        assert len(set(pool.map(lambda _: sums(X, 1_000_000), range(2), timeout=SECONDS))) == 1
    done.set()
    counter.join()
    assert counted[0] > 10


def test_threads_begin_with_one_function(scheduler):
    anew = ingot.jit(lambda x: np.exp(x) - x)
    with ThreadPoolExecutor(8) as pool:
        for got in pool.map(anew, [X] * 16, timeout=SECONDS):
            same(got, anew(X))
    assert len(anew.specialisations) == 1


@pytest.fixture(scope="module", params=["spawn", "forkserver"])
def pool(request, variables):
    with ProcessPoolExecutor(2, multiprocessing.get_context(request.param)) as made:
        yield made
        for process in (made._processes or {}).values():
            process.terminate()


def test_pools_of_processes(pool):
    for got, wanted in zip(pool.map(smooth, np.split(X, 4), timeout=SECONDS), map(PLAIN, np.split(X, 4)), strict=True):
        same(got, wanted)
    with pytest.raises(ValueError, match="a negative number"):
        pool.submit(root, -1.0).result(SECONDS)
    assert pool.submit(threads_and_total, np.ones(1000)).result(SECONDS) == 1000
    with pytest.raises((pickle.PicklingError, AttributeError)):  # as of a plain lambda
        pool.submit(ingot.jit(lambda x: x), 1.0).result(SECONDS)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib(variables, backend):
    k = 2.0
    scaled = ingot.jit(lambda x: x * k)
    with joblib.parallel_config(backend, n_jobs=2):
        for got, x in zip(joblib.Parallel(timeout=SECONDS)(joblib.delayed(scaled)(x) for x in np.split(X, 4)), np.split(X, 4), strict=True):
            same(got, x * 2)
        with pytest.raises(ValueError, match="a negative number"):
            joblib.Parallel(timeout=SECONDS)(joblib.delayed(root)(x) for x in (1.0, -1.0))
    if backend == "loky":
        share = max(1, joblib.cpu_count() // 2)
        assert set(joblib.Parallel(2, timeout=SECONDS)(joblib.delayed(threads)() for _ in range(2))) == {share}


def test_joblib_remembers_results(tmp_path):
    memory = joblib.Memory(tmp_path, verbose=0)
    kept = memory.cache(engines_module.root.__ingot_function__)
    assert kept(4.0) == kept(4.0) == 2.0


@pytest.mark.parametrize(
    "value, way",
    [
        (da.ones(3), r"use \.map_blocks\(f\), which calls `f` for each chunk, or \.compute\(\)"),
        (xr.DataArray(X), r"use \.values, or xarray\.apply_ufunc\(f, x\)"),
        (xr.DataArray(X).chunk(10), r"use \.values, or xarray\.apply_ufunc\(f, x\)"),
        (xr.Dataset({"a": 1}), r"use \.values of one of its variables, or \.map\(f\)"),
        (dask.bag.from_sequence([1]), r"use \.map_partitions\(f\)"),
        (dask.delayed(1), r"\.compute\(\)"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_lazy_arguments_are_refused_with_the_way(value, way):
    for f in (lambda x: x + 1, lambda x: np.sum(x), lambda x: x[0]):
        with pytest.raises(ingot.UnsupportedError, match=way):
            ingot.jit(f)(value)
        with pytest.raises(ingot.UnsupportedError, match=way):
            ingot.jit(lambda pair, f=f: f(pair[1]))((1.0, value))


def test_what_is_pickled_is_small():
    """Source and options, and no machine code; in cells and `__main__`, too (`test_objects_of_jit.py`)."""
    k = 2.0
    anew = ingot.jit(lambda x: np.sin(x) * k + np.cos(x) * np.exp(x))
    sizes = [len(cloudpickle.dumps(anew))]
    plain = len(cloudpickle.dumps(anew.__ingot_function__))
    anew(X)
    anew.compile(X)
    sizes.append(len(cloudpickle.dumps(anew)))
    assert sizes[0] == sizes[1] < plain + 1500
    assert len(pickle.dumps(smooth)) < 100
    assert b"\x7fELF" not in cloudpickle.dumps(anew)


def test_programs_and_cells_pickle_small_functions(tmp_path):
    script = textwrap.dedent("""
        import cloudpickle, ingot, numpy as np
        from IPython.core.interactiveshell import InteractiveShell

        @ingot.jit
        def of_main(x):
            return helper(x) + 1

        def helper(x):
            return x * 2

        NUMBERS = [
            "a long program",
        ]

        @ingot.jit
        def fails(x):
            if x > 0:
                raise ValueError("too large")
            return np.sin(x)

        of_main(np.ones(3))
        shell = InteractiveShell.instance()
        shell.run_cell("import ingot\\n@ingot.jit\\ndef cell(x):\\n    return x * 3")
        cell = shell.user_ns["cell"]
        cell(np.ones(3))
        pickled = cloudpickle.dumps((of_main, cell, fails))
        print(len(pickled), b"\\x7fELF" in pickled)
        open("functions", "wb").write(pickled)
    """)
    script = script.replace('"a long program",', "1,\n" * 2000)
    (tmp_path / "program.py").write_text(script)
    reader = """
import pickle
f, g, fails = pickle.load(open("functions", "rb"))
print(f(1.0), g(1.0), fails(0.0))
try:
    fails(1.0)
except ValueError as error:
    print(error.__traceback__.tb_next.tb_lineno)
"""

    def run(*command):
        return subprocess.run([sys.executable, *command], cwd=tmp_path, text=True, capture_output=True, timeout=SECONDS, check=True).stdout.split()

    size, has_code = run("program.py")
    assert int(size) < 4000 and has_code == "False"
    line = script.splitlines().index('        raise ValueError("too large")') + 1
    assert run("-c", reader) == ["3.0", "3.0", "0.0", str(line)]
