"""Whether the random numbers of the NumPy that runs are those that compiled code draws.

Compiled code has the distributions of the NumPy that Ingot was built with. With another one each method of `numpy.random` is
asked for a few numbers when it is first used, and is compiled where they are the known ones.
"""

from __future__ import annotations

import functools
import hashlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

_SEED = 20240229
_WEIGHTS = np.array([0.1, 0.2, 0.3, 0.4])
_ROW = np.arange(12).reshape(3, 4)
_MEAN, _COVARIANCE = np.array([1.0, -2.0]), np.array([[2.0, 0.5], [0.5, 1.0]])
_REALS: dict[str, tuple[Any, ...]] = {
    "standard_cauchy": (), "standard_t": (3.5,), "vonmises": (0.5, 2.0), "pareto": (2.5,), "weibull": (1.5,), "power": (2.5,),
    "laplace": (1.0, 2.0), "gumbel": (1.0, 2.0), "logistic": (1.0, 2.0), "lognormal": (0.5, 0.25), "rayleigh": (2.0,),
    "wald": (1.0, 2.0), "triangular": (0.0, 1.0, 4.0), "f": (3.0, 5.0), "noncentral_f": (3.0, 5.0, 1.5), "chisquare": (2.5,),
    "noncentral_chisquare": (2.5, 1.5), "normal": (1.0, 2.0), "uniform": (-1.0, 3.0), "exponential": (2.0,),
    "geometric": (0.25,), "zipf": (2.5,), "logseries": (0.7,), "negative_binomial": (3.5, 0.4),
}  # fmt: skip


def _plain(name: str, parameters: tuple[Any, ...]) -> Callable[[Any], list[Any]]:
    return lambda stream: [getattr(stream, name)(*parameters), getattr(stream, name)(*parameters, size=40)]


def _several(name: str, *calls: tuple[Any, ...], **keywords: Any) -> Callable[[Any], list[Any]]:
    return lambda stream: [getattr(stream, name)(*call, **keywords) for call in calls]


def _shuffled(name: str) -> Callable[[Any], list[Any]]:
    def ask(stream: Any) -> list[Any]:
        numbers, rows = np.arange(60), _ROW.copy()
        getattr(stream, name)(numbers)
        getattr(stream, name)(rows)
        return [numbers, rows]

    return ask


def _without_warnings(name: str, *calls: tuple[Any, ...]) -> Callable[[Any], list[Any]]:
    def ask(stream: Any) -> list[Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _several(name, *calls)(stream)

    return ask


def _reals(name: str) -> Callable[[Any], list[Any]]:
    """`random` and `standard_*`: of both dtypes."""
    return lambda stream: [getattr(stream, name)(size, t) for size in (None, 40) for t in (np.float64, np.float32)]


def _integers(name: str, *keywords: dict[Any, Any]) -> Callable[[Any], list[Any]]:
    def ask(stream: Any) -> list[Any]:
        draw, given = getattr(stream, name), []
        dtype: Any
        for dtype in (np.int64, np.int32, np.uint16, np.int8, np.bool):
            high = 1 if np.dtype(dtype) == np.bool else min(1000, int(np.iinfo(np.dtype(dtype)).max))
            for more in keywords or ({},):
                given += [draw(0, high, None, dtype, **more), draw(0, high, 20, dtype, **more)]
        wide = [draw(-(2**62), 2**62, 9), draw(0, np.array([5, 70, 900]))]
        return given + wide

    return ask


_OF_GENERATORS: dict[str, Callable[[Any], list[Any]]] = {
    **{name: _plain(name, parameters) for name, parameters in _REALS.items()},
    "random": _reals("random"),
    "standard_normal": _reals("standard_normal"),
    "standard_exponential": lambda s: _reals("standard_exponential")(s) + [s.standard_exponential(9, t, method="inv") for t in "df"],
    "standard_gamma": lambda s: [s.standard_gamma(a, 20, t) for a in (0.5, 1.0, 3.5) for t in (np.float64, np.float32)],
    "gamma": lambda s: [s.gamma(a, 2.0, 20) for a in (0.5, 3.5)],
    "beta": lambda s: [s.beta(a, b, 20) for a, b in ((0.5, 0.7), (2.5, 1.5))],
    "integers": _integers("integers", {}, {"endpoint": True}),
    "poisson": lambda s: [s.poisson(rate, 30) for rate in (0.0, 2.5, 40.0)],
    "binomial": lambda s: [s.binomial(n, p, 30) for n, p in ((9, 0.3), (9, 0.8), (900, 0.3), (900, 0.8))],
    "hypergeometric": lambda s: [s.hypergeometric(*three, 30) for three in ((9, 7, 5), (900, 700, 500))],
    "multinomial": lambda s: [s.multinomial(20, _WEIGHTS, 9)],
    "dirichlet": lambda s: [s.dirichlet(_WEIGHTS * k, 9) for k in (0.1, 9.0)],
    # The factor of a matrix is that of the NumPy that runs, in compiled code too.
    "multivariate_normal": lambda s: [s.multivariate_normal(_MEAN, _COVARIANCE, 9, method=m).round(6) for m in ("svd", "eigh", "cholesky")],
    "shuffle": lambda s: [*_shuffled("shuffle")(s), *_axis_shuffled(s)],
    "permutation": lambda s: [s.permutation(60), s.permutation(_ROW), s.permutation(_ROW, axis=1)],
    "permuted": lambda s: [s.permuted(_ROW), s.permuted(_ROW, axis=1)],
    "choice": lambda s: [
        s.choice(50), s.choice(50, 20), s.choice(4, 20, p=_WEIGHTS), s.choice(50, 9, replace=False), s.choice(20000, 9, replace=False),
        s.choice(50, 40, replace=False, shuffle=False), s.choice(4, 3, replace=False, p=_WEIGHTS), s.choice(_ROW, 2, axis=1),
    ],
}  # fmt: skip


def _axis_shuffled(stream: np.random.Generator) -> list[Any]:
    rows = _ROW.copy()
    stream.shuffle(rows, axis=1)
    return [rows]


_OF_STATES: dict[str, Callable[[Any], list[Any]]] = {
    **{name: _plain(name, parameters) for name, parameters in _REALS.items()},
    **{name: _several(name, (), (40,)) for name in ("random_sample", "random", "standard_normal", "standard_exponential")},
    **{name: _several(name, (), (5, 8)) for name in ("rand", "randn")},
    "seed": lambda s: [s.seed(5), s.random_sample(9), s.seed([1, 2, 3]), s.random_sample(9)][1::2],
    "randint": _integers("randint"),
    "random_integers": _without_warnings("random_integers", (9,), (-5, 300), (0, 2**40, 9)),
    "standard_gamma": lambda s: [s.standard_gamma(a, 20) for a in (0.5, 1.0, 3.5)],
    **{name: _OF_GENERATORS[name] for name in ("gamma", "beta", "binomial", "hypergeometric", "multinomial", "dirichlet")},
    "poisson": lambda s: [s.poisson(rate, 30) for rate in (0.0, 2.5, 40.0)],
    "shuffle": _shuffled("shuffle"),
    "permutation": lambda s: [s.permutation(60), s.permutation(_ROW)],
    "choice": lambda s: [
        s.choice(50), s.choice(50, 20), s.choice(4, 20, p=_WEIGHTS), s.choice(50, 9, replace=False), s.choice(4, 3, replace=False, p=_WEIGHTS),
    ],
    "multivariate_normal": lambda s: [s.multivariate_normal(_MEAN, _COVARIANCE, 9).round(6)],
}  # fmt: skip


def questions() -> list[str]:
    """All methods that have an answer, and `default_rng`."""
    return ["default_rng", *(f"Generator.{n}" for n in _OF_GENERATORS), *(f"RandomState.{n}" for n in _OF_STATES)]


def answer(name: str) -> str:
    """A short string that distinguishes the numbers that a method gives from others."""
    owner, _, method = name.rpartition(".")
    if not owner:
        given = [np.random.default_rng(seed).integers(0, 2**63, 5) for seed in (0, 12345, [7, 2**40], np.random.SeedSequence(3))]
    elif owner == "Generator":
        given = _OF_GENERATORS[method](np.random.Generator(np.random.PCG64(_SEED)))
    else:
        given = _OF_STATES[method](np.random.RandomState(_SEED))
    digest = hashlib.sha256()
    for each in given:
        array = np.asarray(each)
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()[:16]


def _method_of(path: str) -> str:
    """The method that a name in `numpy.random` is of the global stream."""
    if "." in path or path == "default_rng":
        return path
    return "RandomState." + {"ranf": "random_sample", "sample": "random_sample"}.get(path, path)


@functools.cache
def is_as_known(path: str) -> bool:
    """Whether what `numpy.random` has under this path gives the numbers that compiled code draws."""
    name = _method_of(path)
    try:
        return answer(name) == ANSWERS.get(name)
    except (TypeError, ValueError, AttributeError):  # it takes other arguments
        return False


ANSWERS = {
    "default_rng": "6e48a8f836771147",
    "Generator.standard_cauchy": "ae35f66392c2f6c8",
    "Generator.standard_t": "f5cdc370eb1bb9d9",
    "Generator.vonmises": "3e62d55419a24a10",
    "Generator.pareto": "8097f904f7c11e72",
    "Generator.weibull": "c51ebfa5003529ed",
    "Generator.power": "6ffcfa4dff66e042",
    "Generator.laplace": "7f32807521b65cd4",
    "Generator.gumbel": "71c5d1e350bdb97f",
    "Generator.logistic": "fbc3ab2cf54a4f00",
    "Generator.lognormal": "b4cb399efec35213",
    "Generator.rayleigh": "d01ec3bc3b834178",
    "Generator.wald": "6d6b8db64de47c83",
    "Generator.triangular": "8a0a9b31a4f434b4",
    "Generator.f": "c9a6f67f644e8359",
    "Generator.noncentral_f": "18064866d2bedabf",
    "Generator.chisquare": "70ceb76768153321",
    "Generator.noncentral_chisquare": "24ab1502e2d19ec9",
    "Generator.normal": "9c3fce8a7bbe54dd",
    "Generator.uniform": "68a09399c2aa43a8",
    "Generator.exponential": "f56cf1a7b1559200",
    "Generator.geometric": "fafdf788db908c82",
    "Generator.zipf": "2caaf042861a4375",
    "Generator.logseries": "33fa7726a3079c65",
    "Generator.negative_binomial": "17ce54c1ad791795",
    "Generator.random": "2712641e4aad361e",
    "Generator.standard_normal": "7f6396ea6d1ae072",
    "Generator.standard_exponential": "d509f98ea06118e1",
    "Generator.standard_gamma": "73c552adaa841040",
    "Generator.gamma": "9667594e05903de6",
    "Generator.beta": "83826aa021fe8896",
    "Generator.integers": "cce611545eb6c43d",
    "Generator.poisson": "2c95d25375355292",
    "Generator.binomial": "cb2b5684c46a6000",
    "Generator.hypergeometric": "e1be333cce81a8eb",
    "Generator.multinomial": "71d82e5015a3e7ae",
    "Generator.dirichlet": "54522f1526f3a63e",
    "Generator.multivariate_normal": "94570664c69908ad",
    "Generator.shuffle": "c76f581b364ac4a3",
    "Generator.permutation": "c76f581b364ac4a3",
    "Generator.permuted": "39761dfe593a98c5",
    "Generator.choice": "70efbb7e3dc564fa",
    "RandomState.standard_cauchy": "4a3c24e63ef91011",
    "RandomState.standard_t": "60cddb6bd0d8ad3e",
    "RandomState.vonmises": "1c00de4677f70c50",
    "RandomState.pareto": "dc08e3771cc71e97",
    "RandomState.weibull": "70d35f9c7c4e30cc",
    "RandomState.power": "439b57b4e1380584",
    "RandomState.laplace": "8b62e06e4681b31a",
    "RandomState.gumbel": "3032435252d542ad",
    "RandomState.logistic": "9f089dea6803b1a1",
    "RandomState.lognormal": "950d417c3601b813",
    "RandomState.rayleigh": "3e6ea311c6dbcd90",
    "RandomState.wald": "2e48e9d80d67f1ce",
    "RandomState.triangular": "0095e2ad26f33464",
    "RandomState.f": "6b68fba74d3fedf5",
    "RandomState.noncentral_f": "0617806ce6fe1858",
    "RandomState.chisquare": "667c016203d34c0d",
    "RandomState.noncentral_chisquare": "066bc7c0d73f1361",
    "RandomState.normal": "21c2af9496a72b79",
    "RandomState.uniform": "56033dd7ce2d3d28",
    "RandomState.exponential": "b3158d59c6ef66f9",
    "RandomState.geometric": "a91b5ca18a9b0510",
    "RandomState.zipf": "50a8cae0fc804a7b",
    "RandomState.logseries": "35e6b6c0baa3a823",
    "RandomState.negative_binomial": "25023217b0587ee7",
    "RandomState.random_sample": "12012a9193de168a",
    "RandomState.random": "12012a9193de168a",
    "RandomState.standard_normal": "883e1b7c207dcd15",
    "RandomState.standard_exponential": "fa82082a50ae4d86",
    "RandomState.rand": "c5bcc07bc1d0f8c4",
    "RandomState.randn": "2698138a8435a3c2",
    "RandomState.seed": "6bb94abdfb918d3b",
    "RandomState.randint": "cb97205d612c2a2a",
    "RandomState.random_integers": "8494d8323a43a8f8",
    "RandomState.standard_gamma": "52bef140846815e0",
    "RandomState.gamma": "6d6f865cd4fd8131",
    "RandomState.beta": "2efc335173e6b690",
    "RandomState.binomial": "e0bf34320e0b1651",
    "RandomState.hypergeometric": "f850d107d5b0cc49",
    "RandomState.multinomial": "dce14aaaa229915b",
    "RandomState.dirichlet": "03f08d050818c324",
    "RandomState.poisson": "592777cd379d9d73",
    "RandomState.shuffle": "e636408e4d916081",
    "RandomState.permutation": "e636408e4d916081",
    "RandomState.choice": "892dc4fbe1e8f0a2",
    "RandomState.multivariate_normal": "8979cd54f31c66a5",
}
"""Of the NumPy that Ingot is built with: `test_known_answers_of_random_numbers` shows what they are."""
