"""Python's own `random`: the functions of its module, over the stream that they share, and `random.Random`.

The stream is the memory of the module's hidden instance, the index of the next word and 624 words; a `Random` that is made
in compiled code has an array of these. What is made of its numbers is Python's own code, compiled with another `self`.
"""

from __future__ import annotations

import ctypes
import random as pythons
from typing import Any

import numpy as np

from .._host import host
from . import primitives
from .registry import implements

_SIZE = 624


def _words_of(stream: pythons.Random) -> Any:
    """The index and the words of a stream, where Python keeps them; None: it keeps them elsewhere."""
    if pythons.Random.__base__ is None or pythons.Random.__base__.__basicsize__ < object.__basicsize__ + 4 * (_SIZE + 1):
        return None
    memory: Any = (ctypes.c_uint32 * (_SIZE + 1)).from_address(id(stream) + object.__basicsize__)
    words = np.frombuffer(memory, np.uint32)
    version, state, _ = stream.getstate()
    return words if version == 3 and tuple(words.tolist()) == (state[_SIZE], *state[:_SIZE]) else None


_stream = getattr(pythons, "_inst", None)
_words = _words_of(_stream) if type(_stream) is pythons.Random else None


def _set_gauss_next(value: float) -> None:
    pythons._inst.gauss_next = value  # type: ignore[attr-defined]


def _taken_gauss_next() -> float:
    """The second normal number of a pair; NaN: there is none."""
    value, pythons._inst.gauss_next = pythons._inst.gauss_next, None  # type: ignore[attr-defined]
    return float("nan") if value is None else value


_seed = host(pythons.seed, result=None, pure=True)
_put = host(_set_gauss_next, result=None, pure=True)
_take = host(_taken_gauss_next, result=float, pure=True)


def _state_of(seed: Any) -> Any:
    version, state, _ = pythons.Random(seed).getstate()
    return np.array((state[_SIZE], *state[:_SIZE]), np.uint32)


_seeded = host(_state_of, result="uint32[:]", pure=True)


def _refill(words: Any) -> None:
    """The next 624 words of MT19937."""
    for k in range(_SIZE):
        y = (int(words[1 + k]) & 0x80000000) | (int(words[1 + (k + 1) % _SIZE]) & 0x7FFFFFFF)
        words[1 + k] = int(words[1 + (k + 397) % _SIZE]) ^ (y >> 1) ^ (0x9908B0DF if y & 1 else 0)


def _next(words: Any) -> int:
    place = int(words[0])
    if place >= _SIZE:
        _refill(words)
        place = 0
    y = int(words[1 + place])
    words[0] = place + 1
    y ^= y >> 11
    y ^= (y << 7) & 0x9D2C5680
    y ^= (y << 15) & 0xEFC60000
    return y ^ (y >> 18)


def _start(words: Any, seed: int) -> None:
    """What a seed of at most two words makes of the state."""
    number = abs(seed)
    key = (number & 0xFFFFFFFF, number >> 32)
    count = 2 if number >> 32 else 1
    words[1] = 19650218
    for k in range(1, _SIZE):
        before = int(words[k])
        words[1 + k] = (1812433253 * (before ^ (before >> 30)) + k) & 0xFFFFFFFF
    place = 1
    for k in range(_SIZE):
        before = int(words[place])
        mixed = int(words[1 + place]) ^ ((before ^ (before >> 30)) * 1664525)
        words[1 + place] = (mixed + (key[1] + 1 if k % count else key[0])) & 0xFFFFFFFF
        place += 1
        if place == _SIZE:
            words[1] = words[_SIZE]
            place = 1
    for _ in range(_SIZE - 1):
        before = int(words[place])
        words[1 + place] = ((int(words[1 + place]) ^ ((before ^ (before >> 30)) * 1566083941)) - place) & 0xFFFFFFFF
        place += 1
        if place == _SIZE:
            words[1] = words[_SIZE]
            place = 1
    words[1] = 0x80000000
    words[0] = _SIZE


class Stream:
    """What stands for the hidden instance in the methods of its class."""

    def _word(self) -> int:
        if _words is None:
            primitives.refuse("`random` of another Python than CPython", "use np.random")
        return _next(_words)

    def random(self) -> float:
        high = self._word() >> 5
        low = self._word() >> 6
        return (high * 67108864.0 + low) * (1.0 / 9007199254740992.0)

    def getrandbits(self, k: Any) -> int:
        if k < 0:
            raise ValueError("number of bits must be non-negative")
        if k > 63:
            raise OverflowError("getrandbits(k) of more than 63 bits leaves 64 bits")
        if k == 0:
            return 0
        if k <= 32:
            return self._word() >> (32 - k)
        low = self._word()
        return low | ((self._word() >> (64 - k)) << 32)

    def _randbelow(self, n: Any) -> int:
        k = 0
        while n >> k > 0:
            k += 1
        r = self.getrandbits(k)
        while r >= n:
            r = self.getrandbits(k)
        return r

    def gauss(self, mu: float = 0.0, sigma: float = 1.0) -> float:
        z = _take()
        if z != z:
            x2pi = self.random() * pythons.TWOPI  # type: ignore[attr-defined]
            g2rad = pythons._sqrt(-2.0 * pythons._log(1.0 - self.random()))  # type: ignore[attr-defined]
            z = pythons._cos(x2pi) * g2rad  # type: ignore[attr-defined]
            _put(pythons._sin(x2pi) * g2rad)  # type: ignore[attr-defined]
        return mu + z * sigma

    randrange: Any = pythons.Random.randrange
    randint: Any = pythons.Random.randint
    choice: Any = pythons.Random.choice
    shuffle: Any = pythons.Random.shuffle
    uniform: Any = pythons.Random.uniform
    triangular: Any = pythons.Random.triangular
    normalvariate: Any = pythons.Random.normalvariate
    lognormvariate: Any = pythons.Random.lognormvariate
    expovariate: Any = pythons.Random.expovariate
    vonmisesvariate: Any = pythons.Random.vonmisesvariate
    gammavariate: Any = pythons.Random.gammavariate
    betavariate: Any = pythons.Random.betavariate
    paretovariate: Any = pythons.Random.paretovariate
    weibullvariate: Any = pythons.Random.weibullvariate
    choices: Any = pythons.Random.choices

    def sample(self, population: Any, k: Any, *, counts: Any = None) -> list[Any]:
        """Python's, whose pool and choices are lists that grow here."""
        if counts is not None:
            primitives.refuse("`counts` of `random.sample`", "repeat the elements")
        if isinstance(population, (dict, set, frozenset, np.ndarray, int, float, complex, np.generic)):
            raise TypeError("Population must be a sequence.  For dicts or sets, use sorted(d).")
        n = len(population)
        if k < 0 or k > n:
            raise ValueError("Sample larger than population or is negative")
        result = []
        size = 21
        if k > 5:
            size += 4 ** pythons._ceil(pythons._log(k * 3, 4))  # type: ignore[attr-defined]
        if n <= size:
            pool = []
            for element in population:
                pool.append(element)
            primitives.open_list(pool)
            for i in range(k):
                j = self._randbelow(n - i)
                result.append(pool[j])
                pool[j] = pool[n - i - 1]
        else:
            selected = {}
            for _ in range(k):
                j = self._randbelow(n)
                while j in selected:
                    j = self._randbelow(n)
                selected[j] = True
                result.append(population[j])
        return result


class Random(Stream):
    """`random.Random` that compiled code makes."""

    __ingot_stands_for__ = pythons.Random

    def __init__(self, x: Any = None) -> None:
        self._words = np.empty(_SIZE + 1, np.uint32)
        self.seed(x)

    def seed(self, a: Any = None, version: int = 2) -> None:
        if version != 2:
            primitives.refuse("`Random.seed` of an old version", "leave `version` out")
        if isinstance(a, int):
            _start(self._words, int(a))
        else:
            self._words[:] = _seeded(a)
        self._gauss_next = float("nan")

    def _word(self) -> int:
        return _next(self._words)

    def gauss(self, mu: float = 0.0, sigma: float = 1.0) -> float:
        z = self._gauss_next
        self._gauss_next = float("nan")
        if z != z:
            x2pi = self.random() * pythons.TWOPI  # type: ignore[attr-defined]
            g2rad = pythons._sqrt(-2.0 * pythons._log(1.0 - self.random()))  # type: ignore[attr-defined]
            z = pythons._cos(x2pi) * g2rad  # type: ignore[attr-defined]
            self._gauss_next = pythons._sin(x2pi) * g2rad  # type: ignore[attr-defined]
        return mu + z * sigma

    def shuffle(self, x: Any) -> None:
        if isinstance(x, list):
            primitives.open_list(x)
        return Stream.shuffle(self, x)  # type: ignore[arg-type]

    @property
    def other(self) -> Any:
        primitives.refuse("this attribute of a `random.Random`", "make it outside")


for name in (*dir(pythons.Random), "gauss_next"):
    if not name.startswith("_") and not hasattr(Random, name):
        setattr(Random, name, Random.other)


@implements(pythons.Random)
def made(x: Any = None) -> Any:
    return Random(x)


@implements(pythons.seed)
def seed(a: Any = None, version: int = 2) -> None:
    if version != 2:
        primitives.refuse("`random.seed` of an old version", "leave `version` out")
    _seed(a)


@implements(pythons.random)
def random_() -> Any:
    return Stream().random()


@implements(pythons.getrandbits)
def getrandbits(k: Any, /) -> Any:
    return Stream().getrandbits(k)


@implements(pythons.gauss)
def gauss(mu: Any = 0.0, sigma: Any = 1.0) -> Any:
    return Stream().gauss(mu, sigma)


@implements(pythons.randrange)
def randrange(start: Any, stop: Any = None, step: Any = pythons._ONE) -> Any:
    return Stream().randrange(start, stop, step)


@implements(pythons.randint)
def randint(a: Any, b: Any) -> Any:
    return Stream().randint(a, b)


@implements(pythons.choice)
def choice(seq: Any) -> Any:
    return Stream().choice(seq)


@implements(pythons.shuffle)
def shuffle(x: Any) -> Any:
    if isinstance(x, list):
        primitives.open_list(x)
    return Stream().shuffle(x)


@implements(pythons.uniform)
def uniform(a: Any, b: Any) -> Any:
    return Stream().uniform(a, b)


@implements(pythons.triangular)
def triangular(low: Any = 0.0, high: Any = 1.0, mode: Any = None) -> Any:
    return Stream().triangular(low, high, mode)


@implements(pythons.normalvariate)
def normalvariate(mu: Any = 0.0, sigma: Any = 1.0) -> Any:
    return Stream().normalvariate(mu, sigma)


@implements(pythons.lognormvariate)
def lognormvariate(mu: Any, sigma: Any) -> Any:
    return Stream().lognormvariate(mu, sigma)


@implements(pythons.expovariate)
def expovariate(lambd: Any) -> Any:
    return Stream().expovariate(lambd)


@implements(pythons.vonmisesvariate)
def vonmisesvariate(mu: Any, kappa: Any) -> Any:
    return Stream().vonmisesvariate(mu, kappa)


@implements(pythons.gammavariate)
def gammavariate(alpha: Any, beta: Any) -> Any:
    return Stream().gammavariate(alpha, beta)


@implements(pythons.betavariate)
def betavariate(alpha: Any, beta: Any) -> Any:
    return Stream().betavariate(alpha, beta)


@implements(pythons.paretovariate)
def paretovariate(alpha: Any) -> Any:
    return Stream().paretovariate(alpha)


@implements(pythons.weibullvariate)
def weibullvariate(alpha: Any, beta: Any) -> Any:
    return Stream().weibullvariate(alpha, beta)


@implements(pythons.choices)
def choices(population: Any, weights: Any = None, *, cum_weights: Any = None, k: Any = 1) -> Any:
    return Stream().choices(population, weights, cum_weights=cum_weights, k=k)


@implements(pythons.sample)
def sample(population: Any, k: Any, *, counts: Any = None) -> Any:
    return Stream().sample(population, k, counts=counts)
