"""What profilers see of compiled functions."""

import cProfile
import pstats
import sys
import traceback

import ingot
import numpy as np
import pytest


@ingot.jit
def compiled(x):
    total = 0.0
    for i in range(len(x)):
        total += x[i] * x[i]
    return total


@ingot.jit
def failing(x):
    return x[5]


def caller(x):
    return compiled(x) + compiled(x)


def entry_of(profile, function):
    code = function.__ingot_function__.__code__
    return pstats.Stats(profile).stats.get((code.co_filename, code.co_firstlineno, code.co_name))


def test_cprofile_shows_compiled_functions():
    x = np.arange(200_000.0)
    expected = compiled(x)
    with cProfile.Profile():
        compiled(x)  # the first call that a profiler sees makes what it is shown
    profile = cProfile.Profile()
    with profile:
        assert caller(x) == 2 * expected
        assert compiled(x=x) == expected
    calls, _, own, cumulative, callers = entry_of(profile, compiled)
    assert calls == 3 and cumulative > 0 and own > 0
    assert (__file__, caller.__code__.co_firstlineno, "caller") in callers
    assert not any("ingot" in file for file, _, _ in pstats.Stats(profile).stats)


def test_first_calls_are_shown():
    @ingot.jit
    def fresh(x):
        return x + 1

    profile = cProfile.Profile()
    with profile:
        assert fresh(1) == 2
    assert entry_of(profile, fresh)[0] == 1


def test_functions_of_setprofile_see_calls():
    compiled(np.ones(3))
    seen = []

    def look(frame, event, argument):
        if frame.f_code.co_name == "compiled":
            seen.append((event, frame.f_code.co_filename, frame.f_code.co_firstlineno, argument))

    sys.setprofile(look)
    try:
        compiled(np.ones(3))
    finally:
        sys.setprofile(None)
    line = compiled.__ingot_function__.__code__.co_firstlineno
    assert seen == [("call", __file__, line, None), ("return", __file__, line, 3.0)]


def test_tracebacks_are_the_same_under_a_profiler():
    def lines():
        with pytest.raises(IndexError) as raised:
            failing(np.ones(3))
        return traceback.format_exception(raised.value)

    plain = lines()
    profile = cProfile.Profile()
    profile.enable()
    try:
        profiled = lines()
    finally:
        profile.disable()
    assert profiled == plain
