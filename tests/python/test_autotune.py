"""`ingot.autotune` (docs/guides/schedules.md): schedules found by measuring."""

import math
import subprocess
import sys
import time

import numpy as np
import pytest
from caching import environment

import ingot
from ingot._calls.autotuning import _Search

S = ingot.schedule


def product(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


def shifted(x, y):
    with ingot.loop("row", "column"):
        y[1:] = x[:-1] * 2
    for i in range(len(x)):
        x[i, 0] += 1


def given(n=24):
    rng = np.random.default_rng(1)
    return rng.random((n, n)), rng.random((n, n)), np.zeros((n, n))


def test_what_is_found_computes_the_same():
    a, b, c = given()
    tuned = ingot.autotune(product, a, b, c, budget=1.0, store=False)
    assert not c.any(), "a call that is measured gets copies"
    tuned.function(a, b, c)
    own = given()
    product(*own)
    assert c.tobytes() == own[2].tobytes()
    assert tuned.trials[0].schedule == S() and tuned.trials[0].seconds == tuned.unscheduled
    assert tuned.seconds == min(trial.seconds for trial in tuned.trials) > 0
    assert len(tuned.trials) > 3 and tuned.function._directives == tuned.schedule._directives


def test_copies_are_tried():
    search = _Search(ingot.jit(product), given(), 0.0)
    plans = list(search._cached(S().tile(i=4, j=8), ("i", "j", "k")))
    assert len(plans) == 15 and S().tile(i=4, j=8).cache("b", "j_outer") in plans
    for plan in plans:
        search.end = math.inf
        search.try_one(plan)
    assert {trial.refused for trial in search.trials if "cache('b', 'j_outer')" in str(trial.schedule)} == {""}


def test_the_budget_ends_the_search():
    start = time.perf_counter()
    tuned = ingot.autotune(product, *given(), budget=0.0, store=False)
    assert len(tuned.trials) == 1 and tuned.schedule == S()
    ingot.autotune(product, *given(), budget=0.3, store=False)
    assert time.perf_counter() - start < 20


def test_schedules_that_are_refused_are_reported():
    tuned = ingot.autotune(product, *given(), schedules=[S().vectorize("k"), S().tile(i=4, j=8), S().parallel("q")], store=False)
    refused = {str(trial.schedule): trial.refused for trial in tuned.trials if trial.seconds == math.inf}
    assert set(refused) == {"ingot.schedule().vectorize('k')", "ingot.schedule().parallel('q')"}
    assert "in lanes" in refused["ingot.schedule().vectorize('k')"]
    assert [str(t.schedule) for t in tuned.trials][2] == "ingot.schedule().tile(i=4, j=8)"


def test_array_statements_and_several_loops():
    x, y = np.arange(300.0).reshape(20, 15), np.zeros((20, 15))
    tuned = ingot.autotune(shifted, x, y, budget=1.0, store=False)
    tried = " ".join(str(trial.schedule) for trial in tuned.trials)
    assert "'row'" in tried or "row=" in tried
    tuned.function(x, y)
    assert (y[1:] == np.arange(300.0).reshape(20, 15)[:-1] * 2).all()


def test_options_of_a_compiled_function_are_kept():
    fast = ingot.jit(product, fastmath="contract")
    assert ingot.autotune(fast, *given(), budget=0.0, store=False).function._relaxed == ("contract",)


def test_arguments_are_copied_deeply():
    def pair(both):
        a, b = both
        for i in range(len(a)):
            a[i] += b[i]

    a, b = np.zeros(30), np.ones(30)
    ingot.autotune(pair, (a, b), budget=0.2, store=False)
    assert not a.any()
    with pytest.raises(ValueError, match="share memory"):
        ingot.autotune(product, a.reshape(5, 6), a.reshape(6, 5), np.zeros((5, 5)))
    with pytest.raises(TypeError, match="a schedule is made by"):
        ingot.autotune(product, *given(), schedules=["x"])


def test_short_calls_are_measured_when_they_are_warm():
    tuned = ingot.autotune(product, *given(8), schedules=[S().split("i", 4), S().reorder("j", "i")], budget=3.0, store=False)
    assert max(trial.seconds for trial in tuned.trials) < 20 * tuned.seconds


@pytest.mark.parametrize("budget", [-1, math.nan, "1", None])
def test_budgets_are_checked(budget):
    with pytest.raises((TypeError, ValueError), match="a budget is a number of seconds"):
        ingot.autotune(product, *given(), budget=budget)


def test_results_are_on_disk(tmp_path):
    (tmp_path / "one.py").write_text(
        "import numpy as np, ingot, sys\n"
        "def f(a, c):\n    for i in range(a.shape[0]):\n        for j in range(a.shape[1]):\n            c[i, j] = a[i, j] * 3\n"
        "n = int(sys.argv[1])\n"
        "tuned = ingot.autotune(f, np.ones((n, n)), np.zeros((n, n)), schedules=[ingot.schedule().reorder('j', 'i')], budget=2.0)\n"
        "print(len(tuned.trials))\n"
    )

    def trials(n):
        done = subprocess.run([sys.executable, "one.py", str(n)], capture_output=True, text=True, cwd=tmp_path, env=environment(tmp_path), timeout=100)
        assert done.returncode == 0, done.stderr
        return int(done.stdout)

    assert [trials(40), trials(40), trials(50), trials(100)] == [2, 0, 0, 2]


def test_what_is_on_disk_is_tried(monkeypatch):
    """A helper that has changed since may not allow any more what was found."""
    from ingot._calls import autotuning

    def put(a, c, i, j):
        c[i, j] = a[i, j] + (c[i - 1, j + 1] if i > 0 and j + 1 < a.shape[1] else 0.0)

    def f(a, c):
        for j in range(a.shape[1]):
            for i in range(a.shape[0]):
                put(a, c, i, j)

    monkeypatch.setattr(autotuning, "_key", lambda *_: b"key")
    monkeypatch.setattr(autotuning, "_kept", lambda *_: (S().reorder("i", "j"), 1.0, 2.0))
    monkeypatch.setattr(autotuning, "_keep", lambda *_: None)
    a, c, expected = np.ones((30, 40)), np.zeros((30, 40)), np.zeros((30, 40))
    tuned = ingot.autotune(f, a, c, schedules=[], budget=0.0)
    tuned.function(a, c)
    f(a, expected)
    assert tuned.trials and tuned.schedule == S() and np.array_equal(c, expected)


def test_a_search_that_was_cut_off_is_not_the_last(tmp_path, monkeypatch):
    from ingot._calls import autotuning

    kept = {}
    monkeypatch.setattr(autotuning, "_key", lambda *_: b"key")
    monkeypatch.setattr(autotuning, "_keep", lambda key, *what: kept.update({key: what}))
    monkeypatch.setattr(autotuning, "_kept", lambda key, budget: None)
    ingot.autotune(product, *given(), budget=0.0)
    assert kept[b"key"][2] == 0.0
    ingot.autotune(product, *given(), schedules=[S().split("i", 4)], budget=5.0)
    assert kept[b"key"][2] == math.inf
