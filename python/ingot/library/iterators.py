"""Python's iterators and `itertools`, as generators: Ingot evaluates these where they are iterated over."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np

from . import primitives
from .registry import implements


@implements(map)
def map_(function: Any, /, *iterables: Any) -> Any:
    if not iterables:
        raise TypeError("map() must have at least two arguments.")
    return _map(function, zip(*iterables))


def _map(function: Any, arguments: Any) -> Any:
    for given in arguments:
        yield function(*given)


@implements(filter)
def filter_(function: Any, iterable: Any, /) -> Any:
    return _filter(function, iter(iterable))


def _filter(function: Any, iterator: Any) -> Any:
    for element in iterator:
        if function is None:
            if element:
                yield element
        elif function(element):
            yield element


def _count(position: int) -> str:
    return " " if position == 1 else "s 1-"


def strict_zip(*iterables: Any) -> Any:
    """`zip` with `strict`."""
    return _strict_zip(*[_sequence(iterable) for iterable in iterables])


def _strict_zip(*sequences: Any) -> Any:
    yield from zip(*sequences)
    shortest = min([len(sequence) for sequence in sequences])
    if len(sequences[0]) == shortest:
        for i in range(1, len(sequences)):
            if len(sequences[i]) != shortest:
                raise ValueError(f"zip() argument {i + 1} is longer than argument{_count(i)}{i}")
    else:
        for i in range(1, len(sequences)):
            if len(sequences[i]) == shortest:
                raise ValueError(f"zip() argument {i + 1} is shorter than argument{_count(i)}{i}")


def _sequence(iterable: Any) -> Any:
    """Itself where it has a length and items."""
    if isinstance(iterable, (tuple, list, range, np.ndarray, str)):
        return iterable
    if isinstance(iterable, dict):
        return tuple(iterable)
    primitives.refuse("comparing the length of an iterator with others", "iterate sequences")


def _pool(iterable: Any) -> Any:
    """The elements as they are now, to be taken many times."""
    if isinstance(iterable, np.ndarray):
        return iterable.copy() if iterable.ndim == 1 else iterable
    if isinstance(iterable, (tuple, range, str)):
        return iterable
    return tuple(iterable)


@implements(itertools.chain)
def chain(*iterables: Any) -> Any:
    for iterable in iterables:
        yield from iterable


@implements(itertools.chain.from_iterable)
def chain_from_iterable(iterables: Any, /) -> Any:
    return _chain(iter(iterables))


def _chain(iterables: Any) -> Any:
    for iterable in iterables:
        yield from iterable


def counted(start: Any, step: Any) -> Any:
    """`itertools.count` of what is no int."""
    while True:
        yield start
        start = start + step


@implements(itertools.cycle)
def cycle(iterable: Any, /) -> Any:
    return _cycle(_pool(iterable))


def _cycle(pool: Any) -> Any:
    if len(pool) > 0:
        while True:
            yield from pool


@implements(itertools.repeat)
def repeat(object: Any, *times: Any) -> Any:
    if times:
        return _repeat(object, operator.index(times[0]))
    return _repeat_forever(object)


def _repeat(element: Any, times: int) -> Any:
    for _ in range(times):
        yield element


def _repeat_forever(element: Any) -> Any:
    while True:
        yield element


@implements(itertools.accumulate)
def accumulate(iterable: Any, func: Any = None, *, initial: Any = None) -> Any:
    if func is None:
        func = operator.add
    return _accumulate(iter(iterable), func, initial)


def _accumulate(iterator: Any, function: Any, initial: Any) -> Any:
    if initial is not None:
        total = initial
        yield total
        for element in iterator:
            total = function(total, element)
            yield total
    else:
        seen = False
        for element in iterator:
            if seen:
                total = function(total, element)
            else:
                total = element
                seen = True
            yield total


@implements(itertools.islice)
def islice(iterable: Any, /, *bounds: Any) -> Any:
    if not bounds:
        raise TypeError("islice expected at least 2 arguments, got 1")
    if len(bounds) > 3:
        raise TypeError(f"islice expected at most 4 arguments, got {len(bounds) + 1}")
    stop = bounds[0] if len(bounds) == 1 else bounds[1]
    start = 0 if len(bounds) == 1 or bounds[0] is None else bounds[0]
    step = 1 if len(bounds) < 3 or bounds[2] is None else bounds[2]
    if stop is not None and stop < 0:
        if len(bounds) == 1:
            raise ValueError("Stop argument for islice() must be None or an integer: 0 <= x <= sys.maxsize.")
        raise ValueError("Indices for islice() must be None or an integer: 0 <= x <= sys.maxsize.")
    if start < 0:
        raise ValueError("Indices for islice() must be None or an integer: 0 <= x <= sys.maxsize.")
    if step < 1:
        raise ValueError("Step for islice() must be a positive integer or None.")
    return _islice(iter(iterable), start, stop, step)


def _islice(iterator: Any, start: int, stop: Any, step: int) -> Any:
    if stop is None or stop > 0:
        wanted = start
        for place, element in enumerate(iterator):
            if place == wanted:
                if stop is None or place < stop:
                    yield element
                wanted += step
            if stop is not None and place + 1 >= stop:
                return


@implements(itertools.pairwise)
def pairwise(iterable: Any, /) -> Any:
    return _pairwise(iter(iterable))


def _pairwise(iterator: Any) -> Any:
    seen = False
    for element in iterator:
        if seen:
            yield before, element  # noqa: F821
        before = element  # noqa: F841
        seen = True


@implements(itertools.takewhile)
def takewhile(predicate: Any, iterable: Any, /) -> Any:
    return _takewhile(predicate, iter(iterable))


def _takewhile(predicate: Any, iterator: Any) -> Any:
    for element in iterator:
        if not predicate(element):
            break
        yield element


@implements(itertools.dropwhile)
def dropwhile(predicate: Any, iterable: Any, /) -> Any:
    return _dropwhile(predicate, iter(iterable))


def _dropwhile(predicate: Any, iterator: Any) -> Any:
    drops = True
    for element in iterator:
        if drops and predicate(element):
            continue
        drops = False
        yield element


@implements(itertools.filterfalse)
def filterfalse(predicate: Any, iterable: Any, /) -> Any:
    return _filterfalse(predicate, iter(iterable))


def _filterfalse(predicate: Any, iterator: Any) -> Any:
    for element in iterator:
        if predicate is None:
            if not element:
                yield element
        elif not predicate(element):
            yield element


@implements(itertools.compress)
def compress(data: Any, selectors: Any) -> Any:
    return _compress(zip(data, selectors))


def _compress(pairs: Any) -> Any:
    for element, selected in pairs:
        if selected:
            yield element


@implements(itertools.starmap)
def starmap(function: Any, iterable: Any, /) -> Any:
    return _starmap(function, iter(iterable))


def _starmap(function: Any, iterator: Any) -> Any:
    for arguments in iterator:
        yield function(*arguments)


@implements(itertools.zip_longest)
def zip_longest(*iterables: Any, fillvalue: Any = None) -> Any:
    return _zip_longest([_sequence(iterable) for iterable in iterables], fillvalue)


def _zip_longest(sequences: Any, fillvalue: Any) -> Any:
    longest = max([0, *[len(sequence) for sequence in sequences]])
    for place in range(longest):
        yield tuple([sequence[place] if place < len(sequence) else fillvalue for sequence in sequences])


@implements(itertools.product)
def product(*iterables: Any, repeat: Any = 1) -> Any:
    if repeat < 0:
        raise ValueError("repeat argument cannot be negative")
    return _product(tuple([_pool(iterable) for iterable in iterables]) * repeat)


def _product(pools: Any) -> Any:
    if len(pools) == 0:
        yield ()
    else:
        for first in pools[0]:
            for rest in _product(pools[1:]):
                yield (first, *rest)


@implements(itertools.combinations)
def combinations(iterable: Any, r: Any) -> Any:
    if r < 0:
        raise ValueError("r must be non-negative")
    return _combinations(_pool(iterable), r, 0)


def _combinations(pool: Any, r: int, start: int) -> Any:
    if r == 0:
        yield ()
    else:
        for i in range(start, len(pool) - r + 1):
            for rest in _combinations(pool, r - 1, i + 1):
                yield (pool[i], *rest)


@implements(itertools.combinations_with_replacement)
def combinations_with_replacement(iterable: Any, r: Any) -> Any:
    if r < 0:
        raise ValueError("r must be non-negative")
    return _combinations_with_replacement(_pool(iterable), r, 0)


def _combinations_with_replacement(pool: Any, r: int, start: int) -> Any:
    if r == 0:
        yield ()
    else:
        for i in range(start, len(pool)):
            for rest in _combinations_with_replacement(pool, r - 1, i):
                yield (pool[i], *rest)


@implements(itertools.permutations)
def permutations(iterable: Any, r: Any = None) -> Any:
    pool = _pool(iterable)
    if r is not None and r < 0:
        raise ValueError("r must be non-negative")
    return _permutations(pool, len(pool) if r is None else r, ())


def _permutations(pool: Any, r: int, taken: Any) -> Any:
    if r == 0:
        yield ()
    else:
        for i in range(len(pool)):
            if i not in taken:
                for rest in _permutations(pool, r - 1, (*taken, i)):
                    yield (pool[i], *rest)
