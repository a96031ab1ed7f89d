"""Programs as users write them, in `samples`, unchanged: what they give is what CPython gives."""

import sys
from pathlib import Path

import numpy as np
import pytest
from samples import barnes_hut, queues
from support import check, jitted

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.programs import PROGRAMS, difference  # noqa: E402


@pytest.mark.rotated(2)
@pytest.mark.parametrize("count, theta", [(1, 0.5), (2, 0.0), (40, 0.5), (40, 2.0)])
@pytest.mark.sampled(6)
def test_stars_in_a_tree(count, theta):
    random = np.random.default_rng(count)
    positions, velocities = random.normal(size=(2, count, 2))
    check(barnes_hut.simulate, positions, velocities, random.uniform(0.5, 1.5, count), 2, 0.01, theta)


@pytest.mark.parametrize("counters, customers", [(1, 0), (1, 12), (3, 60)])
def test_customers_in_a_queue(counters, customers):
    check(queues.simulate, counters, customers, 7)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_over_arrays(name):
    program = PROGRAMS[name]
    arguments = program.arguments(True)
    expected = program.function(*program.arguments(True))
    result = jitted(program.function)(*arguments)
    problem = difference(result, expected, program.bound) or difference(arguments, program.arguments(True), 0)
    assert problem is None, problem
