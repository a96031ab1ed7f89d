"""Values that may be None, or that something else decides about: what is asked of them may fork, and replace what it was asked of."""

import datetime
import enum

import numpy as np
import pytest

import ingot
from support import check, jitted, refused


class Number:
    def __init__(self, value, following=None):
        self.value = value
        self.following = following

    def __call__(self, x):
        return x

    def __lt__(self, other):
        return self.value < other.value

    def __gt__(self, other):
        return self.value > other.value


class Color(enum.Enum):
    RED = 1
    GREEN = 2
    BLUE = 3


RECORDS = np.array([(1, 2.0), (3, 4.0)], [("a", "i8"), ("b", "f8")])


def chain(n):
    p = None
    for i in range(n):
        p = Number(i, p)
    return p


def test_calls_of_what_may_be_none():
    def called(n):
        p = chain(n).following
        return p(3)

    check(called, 2)
    check(called, 1)


def test_types_of_what_may_be_none():
    def types(n):
        p = chain(n).following
        if p is None:
            return isinstance(p, Number), False
        return isinstance(p, Number), type(p) is Number

    check(types, 2)
    check(types, 1)
    with pytest.raises(ingot.TypeChangeError, match="`type` of None"):
        jitted(lambda n: type(chain(n).following) is Number)(1)


def test_patterns_of_what_may_be_none():
    def matched(n):
        match chain(n).following:
            case Number():
                return 1
            case None:
                return 2
        return 3

    check(matched, 2)
    check(matched, 1)


def test_extremes_of_generators_in_a_try():
    def largest(n):
        numbers = []
        for i in range(n):
            numbers.append(Number(i * 7 % 5))
        found = -1
        try:
            found = max(p for p in numbers).value
        except ValueError:
            pass
        return found

    check(largest, 4)
    check(largest, 0)


def test_generators_beside_records_in_a_try():
    def counted(n, records):
        count = 0
        try:
            for _, _ in zip(records[1], (i for i in range(n))):
                count += 1
        except ValueError:
            count = -1
        return count

    check(counted, 3, RECORDS)
    check(counted, 1, RECORDS)


def test_reversed_records():
    def backwards(records):
        return [x for x in reversed(records[0])]

    check(backwards, RECORDS)


def test_elements_beside_foreign_ones_are_changed():
    def changed(delta):
        items = [delta, 1]
        items[1] += 1
        return items[1]

    assert jitted(changed)(datetime.timedelta(1)) == 2


def test_iterators_of_enums_that_have_begun():
    def rest():
        it = iter(Color)
        first = next(it)
        return first is Color.RED, len([c for c in it])

    assert "that has been iterated over already" in refused(rest)


def test_arrays_are_added_to_rows():
    def added(n):
        rows = []
        for i in range(n):
            rows.append([i, i + 1])
        row = rows[1]
        row += np.arange(2)
        return row, rows[1]

    assert "'+' of a list in another container" in refused(added, 3)
