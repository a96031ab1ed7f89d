"""Functions whose asserts fail: pytest rewrites those of test modules, and with them their messages."""


def text(x, n):
    assert n > 7, f"n={n}"
    return x


def total(x):
    assert x.sum() < 0, f"sum {x.sum()}"


def pair(x):
    assert x < 0, (x, 1)


def bare(x):
    assert x < 0
