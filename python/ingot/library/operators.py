"""`operator` and `functools`."""

from __future__ import annotations

import functools
import operator
from typing import Any

from .registry import implements


@implements(functools.reduce)
def reduce(function: Any, iterable: Any, /, *initial: Any) -> Any:
    if len(initial) > 1:
        raise TypeError(f"reduce expected at most 3 arguments, got {len(initial) + 2}")
    try:
        iterator = iter(iterable)
    except TypeError:
        raise TypeError("reduce() arg 2 must support iteration")
    if initial:
        result = initial[0]
        for element in iterator:
            result = function(result, element)
        return result
    seen = False
    for element in iterator:
        if seen:
            result = function(result, element)
        else:
            result = element
            seen = True
    if not seen:
        raise TypeError("reduce() of empty iterable with no initial value")
    return result


@implements(functools.partial)
def partial(function: Any, /, *arguments: Any, **keywords: Any) -> Any:
    def call(*more: Any, **others: Any) -> Any:
        return function(*arguments, *more, **{**keywords, **others})

    return call


def call_partial(bound: Any, /, *more: Any, **others: Any) -> Any:
    """A call of a partial that the caller has made."""
    function, arguments, keywords = bound
    return function(*arguments, *more, **{**keywords, **others})


@implements(operator.itemgetter)
def itemgetter(item: Any, /, *items: Any) -> Any:
    def get(value: Any) -> Any:
        if items:
            return tuple([value[i] for i in (item, *items)])
        return value[item]

    return get


@implements(operator.attrgetter)
def attrgetter(attribute: Any, /, *attributes: Any) -> Any:
    def get(value: Any) -> Any:
        if attributes:
            return tuple([_attribute(value, name) for name in (attribute, *attributes)])
        return _attribute(value, attribute)

    return get


def _attribute(value: Any, names: str) -> Any:
    for name in names.split("."):
        value = getattr(value, name)
    return value


@implements(operator.methodcaller)
def methodcaller(name: Any, /, *arguments: Any, **keywords: Any) -> Any:
    def call(value: Any) -> Any:
        return getattr(value, name)(*arguments, **keywords)

    return call


@implements(operator.add)
def add(a: Any, b: Any, /) -> Any:
    return a + b


@implements(operator.sub)
def sub(a: Any, b: Any, /) -> Any:
    return a - b


@implements(operator.mul)
def mul(a: Any, b: Any, /) -> Any:
    return a * b


@implements(operator.truediv)
def truediv(a: Any, b: Any, /) -> Any:
    return a / b


@implements(operator.floordiv)
def floordiv(a: Any, b: Any, /) -> Any:
    return a // b


@implements(operator.mod)
def mod(a: Any, b: Any, /) -> Any:
    return a % b


@implements(operator.pow)
def pow_(a: Any, b: Any, /) -> Any:
    return a ** b


@implements(operator.matmul)
def matmul(a: Any, b: Any, /) -> Any:
    return a @ b


@implements(operator.lshift)
def lshift(a: Any, b: Any, /) -> Any:
    return a << b


@implements(operator.rshift)
def rshift(a: Any, b: Any, /) -> Any:
    return a >> b


@implements(operator.and_)
def and_(a: Any, b: Any, /) -> Any:
    return a & b


@implements(operator.or_)
def or_(a: Any, b: Any, /) -> Any:
    return a | b


@implements(operator.xor)
def xor(a: Any, b: Any, /) -> Any:
    return a ^ b


@implements(operator.eq)
def eq(a: Any, b: Any, /) -> Any:
    return a == b


@implements(operator.ne)
def ne(a: Any, b: Any, /) -> Any:
    return a != b


@implements(operator.lt)
def lt(a: Any, b: Any, /) -> Any:
    return a < b


@implements(operator.le)
def le(a: Any, b: Any, /) -> Any:
    return a <= b


@implements(operator.gt)
def gt(a: Any, b: Any, /) -> Any:
    return a > b


@implements(operator.ge)
def ge(a: Any, b: Any, /) -> Any:
    return a >= b


@implements(operator.is_)
def is_(a: Any, b: Any, /) -> Any:
    return a is b


@implements(operator.is_not)
def is_not(a: Any, b: Any, /) -> Any:
    return a is not b


@implements(operator.neg)
def neg(a: Any, /) -> Any:
    return -a


@implements(operator.pos)
def pos(a: Any, /) -> Any:
    return +a


@implements(operator.invert)
def invert(a: Any, /) -> Any:
    return ~a


@implements(operator.not_)
def not_(a: Any, /) -> Any:
    return not a


@implements(operator.truth)
def truth(a: Any, /) -> Any:
    return bool(a)


@implements(operator.abs)
def abs_(a: Any, /) -> Any:
    return abs(a)


@implements(operator.iadd)
def iadd(a: Any, b: Any, /) -> Any:
    a += b
    return a


@implements(operator.isub)
def isub(a: Any, b: Any, /) -> Any:
    a -= b
    return a


@implements(operator.imul)
def imul(a: Any, b: Any, /) -> Any:
    a *= b
    return a


@implements(operator.itruediv)
def itruediv(a: Any, b: Any, /) -> Any:
    a /= b
    return a


@implements(operator.ifloordiv)
def ifloordiv(a: Any, b: Any, /) -> Any:
    a //= b
    return a


@implements(operator.imod)
def imod(a: Any, b: Any, /) -> Any:
    a %= b
    return a


@implements(operator.ipow)
def ipow(a: Any, b: Any, /) -> Any:
    a **= b
    return a


@implements(operator.ilshift)
def ilshift(a: Any, b: Any, /) -> Any:
    a <<= b
    return a


@implements(operator.irshift)
def irshift(a: Any, b: Any, /) -> Any:
    a >>= b
    return a


@implements(operator.iand)
def iand(a: Any, b: Any, /) -> Any:
    a &= b
    return a


@implements(operator.ior)
def ior(a: Any, b: Any, /) -> Any:
    a |= b
    return a


@implements(operator.ixor)
def ixor(a: Any, b: Any, /) -> Any:
    a ^= b
    return a


@implements(operator.contains)
def contains(a: Any, b: Any, /) -> Any:
    return b in a


@implements(operator.getitem)
def getitem(a: Any, b: Any, /) -> Any:
    return a[b]


@implements(operator.setitem)
def setitem(a: Any, b: Any, c: Any, /) -> None:
    a[b] = c


@implements(operator.delitem)
def delitem(a: Any, b: Any, /) -> None:
    del a[b]
