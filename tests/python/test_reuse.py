"""Arrays that each iteration of a loop makes of the one before: put into the memory of that, where nobody sees it."""

import numpy as np
import pytest

import ingot
from support import check, jitted


def numbers(*shape, dtype=np.float64):
    count = int(np.prod(shape))
    return ((np.arange(count) * 37 % 23 - 7) / 4).astype(dtype).reshape(shape)


def passes(function, *arguments):
    f = jitted(function)
    f(*arguments)
    return dict(f.specialisations[0].compile(texts=True)["passes"])


# Programs of x, w (arrays of one shape) and n: the memory of x may be used again.


def logistic(x, w, n):
    for _ in range(n):
        x = 3 * x * (1 - x)
    return x


def with_others(x, w, n):
    for k in range(n):
        x = np.where(w > k, x + w, -x)
    return x


def from_zeros(x, w, n):
    y = np.zeros_like(x)
    for k in range(n):
        y = y * x + w
    return y


def written_before(x, w, n):
    y = x.copy()
    y[:1] = 3
    for k in range(n):
        y = y + w
    return y


def written_after(x, w, n):
    for k in range(n):
        x = x * w
        x[:1] = k
        x[-1:] += 2
    return x


def two(x, w, n):
    for k in range(n):
        x = x + w
        w = w - x
    return x, w


def counted(x, w, n):
    z, iterations = np.zeros_like(x), np.zeros(x.shape, np.int64)
    for _ in range(n):
        z = z * z + x
        iterations += abs(z) < 2
    return z, iterations


def nested(x, w, n):
    for _ in range(n):
        for k in range(3):
            x = x + k * w
    return x


def looked_at(x, w, n):
    seen = x.max()
    for _ in range(n):
        seen = seen + x.max()
        x = x + w
        seen = seen - x.min()
    return x, seen


# The memory of x must not be used again, or not at once.


def together(x, w, n):
    for _ in range(n):
        x, w = x + w, x - w
    return x, w


def seen_later(x, w, n):
    for _ in range(n):
        before = x
        x = x + w
        w = w - before
    return x, w


def part_seen_later(x, w, n):
    for _ in range(n):
        before = x[1:]
        x = x + w
        w[1:] -= before
    return x, w


def waiting(x, w, n):
    for _ in range(n):
        double = x * 2
        x = x + w
        w = w - double
    return x, w


def element_waits(x, w, n):
    total = x.max()
    for _ in range(n):
        first = x.max()
        x = x + w
        total = total + first
    return x, total


def backwards(x, w, n):
    for _ in range(n):
        x = x + x[::-1]
    return x


def along(x, w, n):
    for _ in range(n):
        x = x + x.sum(axis=0) + x.max()
    return x


def of_first(x, w, n):
    for _ in range(n):
        x = x + x[0]
    return x


def shifted(x, w, n):
    for _ in range(n):
        x = np.concatenate((x[1:], x[:1])) + x
    return x


def begins_with_what_is_written(x, w, n):
    y = x
    for k in range(n):
        x[:1] = k
        y = y + w
    return x, y


def writes_to_the_first(x, w, n):
    for k in range(n):
        x[:1] = 1
        x = x + w
    return x


def writes_through_another(x, w, n):
    kept = x[1:]
    for k in range(n):
        kept[:] = k
        x = x * w
    return x


def in_a_list(x, w, n):
    kept = [x, w]
    for k in range(n):
        kept[0][:1] = k
        x = x + w
    return x, kept[0]


def all_kept(x, w, n):
    kept = []
    for _ in range(n):
        x = x + w
        kept.append(x)
    return np.array(kept), x


def kept_before(x, w, n):
    kept = []
    for _ in range(n):
        kept.append(x)
        x = x + w
    return np.array(kept), x


def begin_kept(x, w, n):
    begin = np.ones_like(x)
    y = begin
    for _ in range(n):
        y = y + w
    return begin, y


def begin_written(x, w, n):
    begin = np.ones_like(x)
    y = begin
    for k in range(n):
        begin[:1] = k
        y = y + w
    return begin, y


def two_of_one(x, w, n):
    begin = np.ones_like(x)
    y = z = begin
    for _ in range(n):
        y = y + w
        z = z + y
    return y, z


def passed_on(x, w, n):
    old = w
    for _ in range(n):
        old = x
        x = x + w
    return x, old


def sometimes(x, w, n):
    for k in range(n):
        if k % 2:
            x = x + w
    return x


def left(x, w, n):
    for k in range(n):
        if k == 2:
            break
        x = x + w
    return x


def caught(x, w, n):
    try:
        for k in range(n):
            x = x + w
            _ = 1 // (k - 1)
            x = x * 2
    except ZeroDivisionError:
        return x, -1
    return x, n


def raised(x, w, n):
    for k in range(n):
        x = x + w
        if k == 1:
            raise ValueError("two")
    return x


def grown(x, w, n):
    for _ in range(n):
        x = x + w[None, :]
    return x


def column_and_row(x, w, n):
    for _ in range(n):
        x = x * w[..., :1] + w[:1]
    return x


def until(x, w, n):
    k = 0
    while k < n:
        x = x + w
        k += 1
    return x


SAFE = [logistic, with_others, from_zeros, written_before, written_after, two, counted, nested, looked_at]
OTHERS = [
    together,
    seen_later,
    part_seen_later,
    waiting,
    element_waits,
    backwards,
    along,
    of_first,
    shifted,
    begins_with_what_is_written,
    writes_to_the_first,
    writes_through_another,
    in_a_list,
    all_kept,
    kept_before,
    begin_kept,
    begin_written,
    two_of_one,
    passed_on,
    sometimes,
    left,
    caught,
    raised,
    column_and_row,
    until,
]


@pytest.mark.rotated(4)
@pytest.mark.sampled(40)
@pytest.mark.parametrize("function", SAFE + OTHERS)
def test_iterations_that_make_arrays(function):
    for dtype in (np.float64, np.float16, np.int64, np.complex128):
        for shape in ((6,), (3, 4), (700,)):
            x, w = numbers(*shape, dtype=dtype), numbers(*shape, dtype=dtype)[::-1].copy()
            for n in (1, 4) if function in (all_kept, kept_before) else (0, 1, 4):
                check(function, x, w, n)
    x, w = numbers(5, 4), numbers(5, 4) + 1
    for a in (np.asfortranarray(x), x[::-1], np.repeat(x, 2, axis=1)[:, ::2], numbers(4, 5).T):
        check(function, a, w, 3)
        check(function, a, a, 3)
    one = numbers(4, 4)
    check(function, one, one.T, 3)
    check(function, one[:3], one[1:], 3)
    check(function, numbers(1, 4), w, 3)
    if function not in (of_first, along, looked_at, element_waits):
        check(function, np.zeros((0, 4)), np.zeros((0, 4)), 3)
        check(function, np.zeros(0), np.zeros(0), 3)


def test_shapes_that_grow():
    for n in (0, 1, 3):
        check(grown, numbers(1, 4), numbers(4), n)
        check(grown, numbers(3, 4), numbers(4), n)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("function", [logistic, from_zeros, written_before, written_after, two, counted, looked_at])
def test_memory_is_used_again(function):
    text = passes(function, numbers(40, 50), numbers(40, 50), 3)["to_loops"]
    assert text.count("alloc ") == (2 if function in (two, counted) else 1)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("function", [together, backwards, along, writes_to_the_first, begins_with_what_is_written])
def test_memory_is_not_used_again(function):
    text = passes(function, numbers(40, 50), numbers(40, 50), 3)["reuse"]
    assert "materialize" in text[text.index(" for ") :]


def test_in_parallel_loops_it_is_a_race():
    def each(x, w, n):
        for _ in ingot.prange(n):
            x = x + w
        return x

    f = ingot.jit(each)
    with pytest.raises(ingot.UnsupportedError):
        f(numbers(4), numbers(4), 3)
