"""numpy.polynomial.polynomial."""

import ingot
import numpy as np
import numpy.polynomial.polynomial as P
import pytest
from support import check, jitted, refused

SERIES = [[1, 2, 3], np.array([0.5, -1.0, 0.0, 2.0]), np.array([2.0, 1.0, 0.0], np.float32), np.array([1 + 1j, 2.0]), np.zeros(2), [4]]


@pytest.mark.rotated(2)
@pytest.mark.sampled(6)
@pytest.mark.parametrize("c", SERIES, ids=str)
def test_series(c):
    def made(c, x):
        return P.polyval(x, c), P.polyval(2.0, c), P.polyder(c), P.polyder(c, 2, 3), P.polyint(c), P.polyint(c, 2, [1, 2], -1), P.polymulx(c)

    check(made, c, np.array([[0.5, 1.0], [2.0, -3.0]]), bound=1e-6)
    check(lambda c: (P.polypow(c, 0), P.polypow(c, 1), P.polypow(c, 3)), c, bound=1e-6)
    for d in SERIES:
        check(lambda c, d: (P.polyadd(c, d), P.polysub(c, d), P.polymul(c, d)), c, d, bound=1e-6)


def test_fits():
    x = np.linspace(-1, 2, 12)
    y = 1 + 2 * x - x**3
    check(lambda x: (P.polyvander(x, 3), P.polyvander(x[:, None], 0)), x)
    check(lambda x, y: P.polyfit(x, y, 3), x, y, bound=1e-9)
    check(lambda x, y: P.polyfit(x, y, 2, w=x + 2), x, np.stack([y, 2 * y + 1], 1), bound=1e-9)
    check(lambda x, y: P.polyfit(x, y, 2), x, y[1:])
    refused(lambda x, y: P.polyfit(x, y, [0, 2]), x, y, words="a list of degrees")


def test_roots():
    check(lambda c: P.polycompanion(c), np.array([1.0, 2.0, 3.0, 0.0]))
    check(lambda c: P.polycompanion(c), np.array([1.0]))
    check(lambda c: P.polyroots(c), np.array([4.0, 0.0, 1.0]), bound=1e-12)
    check(lambda c: P.polyroots(c), np.array([1j, 2.0]), bound=1e-12)
    for c in ([6.0, -5.0, 1.0], [1.0, 2.0]):
        with pytest.raises(ingot.TypeChangeError):
            jitted(lambda c: P.polyroots(c))(np.array(c))


def test_errors():
    check(lambda c: P.polyadd(c, c), np.zeros(0))
    check(lambda c: P.polyadd(c, c), np.zeros((2, 2)))
    check(lambda c: P.polypow(c, -1), np.ones(2))
    check(lambda c: P.polyder(c, -1), np.ones(2))
    check(lambda c: P.polyint(c, 1, [1, 2]), np.ones(2))
