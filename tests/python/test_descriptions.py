"""Descriptions of arguments and results: equal where what is compiled is, stored and read again, made once in a call."""

import collections
import enum
import gc
import weakref

import numpy as np
import pytest

import ingot
from ingot import _ingot
from ingot._calls.function import Function
from ingot._ingot import Description
from support import DTYPES

RECORD = np.dtype([("a", "f4"), ("b", "i2", 3)], align=True)
Pair = collections.namedtuple("Pair", "first second")


class Thing:
    def __init__(self):
        self.a, self.b = 1, [2.0]


class Colour(enum.Enum):
    RED = 1


SAMPLES = [
    *(np.dtype(name).type(1) for name in DTYPES),
    *(np.zeros((2, 1), name) for name in DTYPES),
    *(1, True, 1.5, 2j, None, "text", b"bytes", len, Colour.RED, RECORD, slice(1, None), range(2, 9, 3), Pair(1, 2.0)),
    *((), (1, (2.0,)), [1, [2]], {"a": 1, 3: [None]}, Thing(), np.zeros(3, RECORD), np.zeros(3, RECORD)[1], np.zeros(3, RECORD).view(np.recarray)),
    *(np.zeros(3, ">f4"), object(), np.float32, np.random.default_rng(), Thing().__init__, np.asfortranarray(np.zeros((3, 4)))),
]


def described(value):
    return Function(lambda value: None)._describe([value]).key[0]


@pytest.mark.parametrize("value", SAMPLES, ids=lambda value: type(value).__name__)
def test_what_is_stored_is_read_again(value):
    it, objects = described(value), []

    def name(each):
        objects.append(each)
        return len(objects) - 1

    again = _ingot.decode(_ingot.encode((it, 1), name), objects)
    assert again == (it, 1) and hash(again[0]) == hash(it) and repr(again[0]) == repr(it)
    assert it != described("another")


@pytest.mark.parametrize("value", [(1, "a", 2.5), np.zeros((2, 3)), [1, {"a": np.zeros(3)}], np.zeros(3, RECORD)], ids=lambda value: type(value).__name__)
def test_damaged_descriptions_are_refused_or_are_others(value):
    whole = _ingot.encode(described(value), lambda each: 0)
    draw = np.random.default_rng(5)
    for _ in range(500):
        damaged = bytearray(whole)
        damaged[draw.integers(len(whole))] = draw.integers(256)
        try:
            read = _ingot.decode(bytes(damaged), [None])
        except (ValueError, TypeError, MemoryError, OverflowError):
            continue
        assert isinstance(repr(read), str)


def test_descriptions_tell_types_and_bits_apart():
    def static(value):
        return Description(Description.STATIC, object=value)

    values = [1, True, 1.0, 0.0, -0.0, float("nan"), np.float64(1), np.int64(1), (1, 2), (True, 2), "1", b"1", None, frozenset([1]), frozenset([True])]
    for i, a in enumerate(values):
        for j, b in enumerate(values):
            assert (static(a) == static(b)) == (i == j)
    for a, b in [
        (float("nan"), float("nan")),
        (frozenset([1, 2]), frozenset([2, 1])),
        (slice(1, 2), slice(1, 2)),
        (RECORD, np.dtype([("a", "f4"), ("b", "i2", 3)], align=True)),
    ]:
        assert static(a) == static(b) and hash(static(a)) == hash(static(b))
    assert static(Thing()) != static(Thing())


@pytest.mark.parametrize(
    "kind, parts, fields",
    [
        (99, (), {}),
        (Description.ARRAY, (), {"dtype": "object"}),
        (Description.ARRAY, (), {"layout": "B"}),
        (Description.ARRAY, (), {"ndim": 1 << 40}),
        (Description.SCALAR, (), {"number": "numpy.object"}),
        (Description.SCALAR, (), {"dtype": "int8"}),
        (Description.CHARACTERS, (), {}),
        (Description.DICT, (), {"keys": ("a",)}),
        (Description.DICT, (), {"keys": ["a"]}),
        (Description.ARRAY, (), {"ndim": -1}),
        (Description.TUPLE, (), {"type": int}),
        (Description.RECORDS, (Description(Description.SCALAR),), {}),
        (Description.MEMBER, (), {}),
        (Description.POOLS, (Description(Description.STATIC), Description(Description.STATIC)), {}),
        (Description.POOL, (Description(Description.STATIC),), {"names": ()}),
        (Description.LIST_BUFFER, (Description(Description.SCALAR),), {}),
        (Description.INSTANCE, (Description(Description.ABSENT),), {"type": Thing, "names": (1,)}),
    ],
)
def test_descriptions_are_checked(kind, parts, fields):
    with pytest.raises(ValueError):
        Description(kind, parts, **fields)


def test_any_description_is_shown():
    assert repr(Description(Description.STATIC, object=type("Odd", (), {"__qualname__": "U\ud800"}))).count("\\ud800") == 1


def test_descriptions_do_not_change():
    it = described((1, np.zeros(3)))
    with pytest.raises(AttributeError):
        it.kind = 1
    with pytest.raises(AttributeError):
        it.parts[1].ndim = 2
    with pytest.raises(AttributeError):
        it.no_such_part  # noqa: B018


@pytest.mark.rotated(3)
def test_cycles_through_descriptions_are_collected():
    thing = Thing()
    thing.description = Description(Description.LIST, (Description(Description.STATIC, object=thing),))
    gone = weakref.ref(thing)
    del thing
    gc.collect()
    assert gone() is None


def test_a_cold_call_binds_and_describes_once(monkeypatch):
    made = []
    for name in ("_bind", "_describe"):
        plain = getattr(Function, name)
        monkeypatch.setattr(Function, name, lambda self, *given, name=name, plain=plain: made.append(name) or plain(self, *given))

    @ingot.jit
    def f(x, n=2, *, scale=1.0):
        return x * n + scale

    assert f(3) == 7.0 and f(2.0, scale=np.float32(3)) == 7.0
    assert np.array_equal(f(np.arange(3.0), n=1), np.arange(3.0) + 1)
    assert made == []
    assert f(1 + 0j, 3) == 4.0 and made == []
