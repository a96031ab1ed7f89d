"""base/math against NumPy: every elementwise card of the op table, every dtype it accepts, and all casts.

The values come from the program `math_cli`, which `find_program` finds.
Exact operations are compared bit for bit (NaN equals NaN). Elementary functions are measured against
`longdouble` in units in the last place (ulp) of the result's dtype, complex ones by the modulus of the
difference over the modulus of the result.
"""

import decimal
import fractions
import functools
import math
import re
import subprocess
import warnings

import numpy as np
import pytest

from programs import ROOT, find_program

DTYPES = {
    "bool": np.bool_, "i8": np.int8, "u8": np.uint8, "i16": np.int16, "u16": np.uint16, "i32": np.int32,
    "u32": np.uint32, "i64": np.int64, "u64": np.uint64, "f16": np.float16, "f32": np.float32,
    "f64": np.float64, "c64": np.complex64, "c128": np.complex128,
}  # fmt: skip
LETTERS = {"b": "B", "i": "I", "u": "I", "f": "F", "c": "C"}

# Largest errors allowed, in ulp: the contract is 1 in float64 and 2 in float32. float16 is float32's result,
# rounded. Complex: ulp of the modulus.
REAL_BOUND = {"f16": 0.51, "f32": 2.0, "f64": 1.0}
COMPLEX_BOUND = {"c64": 2.0, "c128": 1.0}
OF_PARTS = ("exp", "sqrt", "sin", "cos", "sinh", "cosh")
"""Functions of complex numbers that are made of functions of the parts: their bound is 2 ulp."""
ELEMENTARY = set(
    "cbrt hypot exp exp2 expm1 log log2 log10 log1p logaddexp logaddexp2 sin cos tan arcsin arccos arctan arctan2 "
    "sinh cosh tanh arcsinh arccosh arctanh erf erfc gamma lgamma".split()
)
ELEMENTARY_COMPLEX = ELEMENTARY | {"sqrt", "absolute"}
# NumPy's vector code returns either zero of +0 and -0, by dtype, length and position; ours the first.
ZERO_SIGN_FREE = {"minimum", "maximum", "fmin", "fmax"}


class Card:
    def __init__(self, name, operands, accepts, gives, numpy):
        self.name, self.operands, self.accepts, self.gives = name, int(operands), accepts, gives
        self.numpy = re.findall(r'"(\w+)"', numpy or "")

    def accepted(self, key):
        letter = LETTERS[np.dtype(DTYPES[key]).kind]
        return letter in self.accepts and not (self.gives == "Complex" and key == "f16")

    def result(self, key):
        dtype = np.dtype(DTYPES[key])
        if self.gives == "Bool":
            return np.dtype(np.bool_)
        if self.gives == "Int32":
            return np.dtype(np.int32)
        if self.gives == "Complex":
            return np.result_type(dtype, np.complex64)
        return dtype.type(0).real.dtype if self.gives == "Component" else dtype


def read_cards():
    text = (ROOT / "src/ir/ops.def").read_text()
    pattern = r"^OP\((\w+), (\d), (\w+), (\w+)\)(?:[ \t]*NUMPY\(([^)]*)\))?"
    cards = [Card(*m.groups()) for m in re.finditer(pattern, text, re.M)]
    assert len(cards) == len(re.findall(r"^OP\(", text, re.M)), "a card that this test cannot read"
    return {card.name: card for card in cards}


CARDS = read_cards()
POWERS = ("cube", "fourth_power")
"""NumPy has no functions for these: `test_small_powers_have_the_same_bits_in_every_way` has them."""
CASES = [(name, key) for name, card in CARDS.items() for key in DTYPES if card.accepted(key) and name not in POWERS]


def ask(request, data):
    done = subprocess.run([find_program("math_cli")], input=request.encode() + b"\n" + data, capture_output=True, timeout=120)
    assert done.returncode == 0 and not done.stderr, done.stderr.decode()
    return done.stdout


def compute(name, key, *operands):
    data = b"".join(np.ascontiguousarray(x).tobytes() for x in operands)
    out = ask(f"{name} {key} {len(operands[0])}", data)
    return np.frombuffer(out, dtype=CARDS[name].result(key))


# --- Values to try -------------------------------------------------------------------------------------------


def real_lattice(dtype):
    info = np.finfo(dtype)
    one = dtype(1)
    values = [0.0, 1.0, 0.5, 1.5, 2.5, 2.0, 3.0, 7.0, 10.0, 100.0, math.pi, math.pi / 2, 0.1, 1e-3, 11.09, 88.72, 89.0,
              103.9, 709.78, 710.0, 745.1, 1023.5, 2.0**31, 2.0**52, 2.0**53, 2.0**63, 1e16, 1e22, 1e300,
              info.max, info.tiny, info.smallest_subnormal, info.tiny - info.smallest_subnormal, math.inf,
              info.eps, info.max / 2, np.sqrt(info.max), np.sqrt(info.tiny)]  # fmt: skip
    with np.errstate(all="ignore"):
        base = np.array(values).astype(dtype)
        near = [np.nextafter(one, dtype(0)), np.nextafter(one, dtype(2)), np.nextafter(dtype(2), dtype(0)),
                np.nextafter(dtype(1024), dtype(0)), np.nextafter(dtype(0.5), one)]  # fmt: skip
        base = np.concatenate([base, np.array(near, dtype)])
    return np.concatenate([base, -base, np.array([np.nan], dtype)])


def lattice(key):
    dtype = DTYPES[key]
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.array([False, True])
    if kind in "iu":
        info = np.iinfo(dtype)
        powers = [2**i + d for i in range(0, info.bits, 1 if info.bits < 32 else 5) for d in (-1, 0, 1)]
        values = [0, 1, 2, 3, 5, 7, 10, 11, info.bits - 1, info.bits, info.bits + 1, info.max, info.max - 1, info.min,
                  info.min + 1, *powers]  # fmt: skip
        values += [-v for v in values]
        return np.array(sorted({v for v in values if info.min <= v <= info.max}), dtype)
    if kind == "f":
        return real_lattice(dtype)
    part = dtype(0).real.dtype.type
    info = np.finfo(part)
    parts = np.array([0.0, 0.5, 1.0, 2.0, math.pi, 50.0, info.eps, info.tiny, info.smallest_subnormal, np.inf], part)
    parts = np.concatenate([parts, -parts, np.array([np.nan, info.max], part)])
    values = np.empty(len(parts) ** 2, dtype)
    values.real = np.repeat(parts, len(parts))
    values.imag = np.tile(parts, len(parts))
    return values


def random_values(key, n, seed):
    dtype = np.dtype(DTYPES[key])
    rng = np.random.default_rng([seed, list(DTYPES).index(key)])
    if dtype.kind == "b":
        return rng.integers(0, 2, n).astype(bool)
    if dtype.kind in "iu":
        bits = rng.integers(0, 256, n * dtype.itemsize, dtype=np.uint8).tobytes()
        return np.frombuffer(bits, dtype) >> rng.integers(0, dtype.itemsize * 8, n).astype(dtype)
    part = dtype.type(0).real.dtype

    def real():
        pieces = [rng.standard_normal(n), rng.uniform(-1, 1, n), rng.uniform(-30, 30, n),
                  rng.standard_normal(n) * 2.0 ** rng.uniform(-40, 40, n)]  # fmt: skip
        with np.errstate(over="ignore"):
            return np.choose(rng.integers(0, 4, n), pieces).astype(part)

    return (real() + 1j * real()).astype(dtype) if dtype.kind == "c" else real()


def operands(card, key, n=4000):
    points = lattice(key)
    if card.operands == 1:
        if np.dtype(DTYPES[key]).itemsize <= 2 and key != "bool":
            return (np.arange(1 << 8 * np.dtype(DTYPES[key]).itemsize).astype(f"u{DTYPES[key](0).itemsize}")
                    .view(DTYPES[key]),)  # fmt: skip
        return (np.concatenate([points, random_values(key, n, 1)]),)
    if key in ("c64", "c128"):
        points = points[::5] if len(points) % 5 else points[::7]
    a, b = np.repeat(points, len(points)), np.tile(points, len(points))
    more = random_values(key, n, 1)
    return (np.concatenate([a, more, more[:50]]), np.concatenate([b, random_values(key, n, 2), more[:50]]))


# --- Comparisons ---------------------------------------------------------------------------------------------


def parts(x):
    return (x.real, x.imag) if x.dtype.kind == "c" else (x,)


def same(got, want, zero_signs=True):
    """Elementwise: the same bits, any NaN being like any other."""
    assert got.dtype == want.dtype
    agree = np.ones(len(got), bool)
    for g, w in zip(parts(got), parts(want)):
        equal = g == w
        if g.dtype.kind == "f":
            if zero_signs:
                equal &= np.signbit(g) == np.signbit(w)
            equal |= np.isnan(g) & np.isnan(w)
        agree &= equal
    return agree


def demand(agree, got, want, args, what):
    bad = np.flatnonzero(~agree)
    lines = [f"({', '.join(repr(x[i]) for x in args)}) -> {got[i]!r}, wanted {want[i]!r}" for i in bad[:8]]
    assert not len(bad), f"{what}: {len(bad)} of {len(agree)} differ\n" + "\n".join(lines)


def ulp_of(magnitude, dtype):
    """The distance of dtype's numbers there, in longdouble."""
    info = np.finfo(dtype)
    _, exponent = np.frexp(magnitude)
    lowest = np.frexp(np.longdouble(info.smallest_subnormal))[1]
    return np.ldexp(np.longdouble(1), np.maximum(exponent - 1 - info.nmant, lowest - 1))


def errors(got, reference, scale=None):
    """In ulp, where both are finite; 0 elsewhere."""
    dtype = got.real.dtype
    with np.errstate(all="ignore"):
        wide = got.astype(reference.dtype)
        size = np.abs(reference) if scale is None else scale
        fits = np.isfinite(reference) & np.isfinite(wide) & (np.abs(reference) <= np.finfo(dtype).max)
        return np.where(fits, np.abs(wide - reference) / ulp_of(np.where(fits, size, 1), dtype), 0)


def classes_agree(got, want):
    """NaN in the same places, infinities and zeros too, with their signs."""
    agree = np.ones(len(got), bool)
    for g, w in zip(parts(got), parts(want)):
        for test in (np.isnan, np.isinf):
            agree &= test(g) == test(w)
        special = np.isinf(w) | (w == 0)
        agree &= ~special | (np.signbit(g) == np.signbit(w))
    return agree


# --- References ----------------------------------------------------------------------------------------------


def exact_ints(fn):
    def reference(*args):
        info = np.iinfo(args[0].dtype)
        return np.array([not info.min <= fn(*map(int, xs)) <= info.max for xs in zip(*args)])

    return reference


def exact_power(a, b):
    if b < 0:
        return 0
    if abs(a) <= 1:
        return a**b if b < 2 else a ** (2 + b % 2)
    return a ** min(b, 70)


def integer_power(a, b):
    """NumPy's power, and the truncated real value for the negative exponents that it refuses."""
    result = np.power(a, np.where(b < 0, 0, b).astype(b.dtype))
    for i in np.flatnonzero(b < 0):
        base = int(a[i])
        result[i] = 0 if base == 0 else math.trunc(fractions.Fraction(base) ** (-1 if int(b[i]) % 2 else -2))
    return result


def textbook(a, b):
    out = np.empty(len(a), a.dtype)
    out.real = a.real * b.real - a.imag * b.imag
    out.imag = a.real * b.imag + a.imag * b.real
    return out


def fresh_complex(a, b):
    out = np.empty(len(a), np.result_type(a.dtype, np.complex64))
    out.real, out.imag = a, b
    return out


def scaled(a, b):
    powers = np.clip(np.nan_to_num(b.astype(np.float64)), -9999, 9999).astype(np.int32)
    return np.where(np.isnan(b), b, np.ldexp(a, powers))


# Ops that NumPy does not have under one name, or has only in part.
REFERENCES = {
    "add_overflows": exact_ints(lambda a, b: a + b),
    "subtract_overflows": exact_ints(lambda a, b: a - b),
    "multiply_overflows": exact_ints(lambda a, b: a * b),
    "power_overflows": exact_ints(exact_power),
    "count_up": lambda a, b: np.where(a >= b, 0, a + np.ones(1, a.dtype)).astype(a.dtype),
    "count_down": lambda a, b: np.where((a == 0) | (a > b), b, a - np.ones(1, a.dtype)),
    "bitwise_count": lambda a: np.bitwise_count(a).astype(a.dtype),
    "scale_by_power": scaled,
    "mantissa": lambda a: np.frexp(a)[0],
    "exponent": lambda a: np.frexp(a)[1],
    "make_complex": fresh_complex,
    "real": lambda z: z.real,
    "imaginary": lambda z: z.imag,
}

DECIMAL = decimal.Context(prec=80, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)


@functools.cache
def pi(digits):
    """Machin's formula."""
    one = 10 ** (digits + 10)

    def inverse_tangent(k):
        total, power, n = 0, one // k, 1
        while power:
            total += power // n if n % 4 == 1 else -(power // n)
            power //= k * k
            n += 2
        return total

    number = 4 * (4 * inverse_tangent(5) - inverse_tangent(239))
    return decimal.Decimal(number).scaleb(-(digits + 10), decimal.Context(prec=digits + 15))


def decimal_erf(x, complement):
    """The Taylor series, with digits enough for its cancellation; zero beyond erfc's smallest numbers."""
    if abs(x) > 28:
        return decimal.Decimal((0 if x > 0 else 2) if complement else math.copysign(1, x))
    with decimal.localcontext(decimal.Context(prec=60 + int(0.9 * x * x), Emin=decimal.MIN_EMIN)) as context:
        z = decimal.Decimal(x)
        term, total, n = z, z, 0
        while abs(term) > abs(total).scaleb(-context.prec):
            n += 1
            term *= -z * z / n
            total += term / (2 * n + 1)
        value = 2 * total / pi(context.prec).sqrt()
        return 1 - value if complement else value


@functools.cache
def bernoulli(count):
    rows, numbers = [], []
    for m in range(count):
        rows.append(fractions.Fraction(1, m + 1))
        for j in range(m, 0, -1):
            rows[j - 1] = j * (rows[j - 1] - rows[j])
        numbers.append(rows[0])
    return numbers


def decimal_log_gamma(x):
    """(log|gamma|, sign): Stirling's series at x + n and the recurrence back; far below zero, the reflection."""
    with decimal.localcontext(DECIMAL):
        z, product = decimal.Decimal(x), decimal.Decimal(1)
        if z < -200:
            angle = (z - math.floor(x)) * pi(90)
            term = sine = angle
            for n in range(2, 120, 2):
                term *= -angle * angle / (n * (n + 1))
                sine += term
            return (pi(90) / sine).ln() - decimal_log_gamma(1 - z)[0], 1 if math.floor(x) % 2 == 0 else -1
        while z < 60:
            product *= z
            z += 1
        total = (z - decimal.Decimal("0.5")) * z.ln() - z + (2 * pi(90)).ln() / 2
        numbers = bernoulli(62)
        for k in range(1, 31):
            b = numbers[2 * k]
            total += decimal.Decimal(b.numerator) / b.denominator / (2 * k * (2 * k - 1)) / z ** (2 * k - 1)
        return total - abs(product).ln(), 1 if product > 0 else -1


def from_decimal(value):
    """A longdouble within 2**-64 of a decimal."""
    head = float(value)
    if math.isinf(head) or head == 0:
        return np.longdouble(head)
    with decimal.localcontext(DECIMAL):
        return np.longdouble(head) + np.longdouble(float(decimal.Decimal(value) - decimal.Decimal(head)))


def special_reference(name, x):
    out = np.empty(len(x), np.longdouble)
    for i, value in enumerate(map(float, x)):
        if math.isnan(value):
            out[i] = value
        elif name in ("erf", "erfc"):
            small = value if name == "erf" else 1.0
            out[i] = from_decimal(decimal_erf(value, name == "erfc")) if value else small
        elif value == -math.inf:
            out[i] = math.inf if name == "lgamma" else math.nan
        elif value <= 0 and value == math.floor(value):
            if name == "lgamma":
                out[i] = math.inf
            else:
                out[i] = math.copysign(math.inf, value) if value == 0 else math.nan
        elif math.isinf(value):
            out[i] = math.inf
        else:
            log, sign = decimal_log_gamma(value)
            if name == "lgamma":
                out[i] = 0 if value in (1, 2) else from_decimal(log)
            else:
                with decimal.localcontext(DECIMAL):
                    out[i] = math.copysign(math.inf, sign) if log > 12000 else sign * from_decimal(log.exp())
    return out


def wide(x):
    return x.astype(np.clongdouble if x.dtype.kind == "c" else np.longdouble)


def complex_log1p(z):
    """Accurate also near 0, where NumPy's own is not."""
    x, y = z.real, z.imag
    near = np.maximum(abs(x), abs(y)) < 0.3
    out = np.log(1 + z)
    out.real[near] = np.log1p(x[near] * (2 + x[near]) + y[near] ** 2) / 2
    out.imag = np.arctan2(y, 1 + x)
    return out


def complex_exp2(z):
    out = np.empty_like(z)
    angle = z.imag * np.log(np.longdouble(2))
    out.real, out.imag = np.exp2(z.real) * np.cos(angle), np.exp2(z.real) * np.sin(angle)
    return out


WIDE = {"log1p": complex_log1p, "exp2": complex_exp2}


# --- Tests ---------------------------------------------------------------------------------------------------


def numpy_result(card, key, args):
    """What NumPy makes of it, by the first of the card's names that gives the card's dtype."""
    if card.name in REFERENCES:
        return REFERENCES[card.name](*args)
    if card.name == "power" and np.dtype(DTYPES[key]).kind in "iu":
        return integer_power(*args)
    if card.name in ("multiply", "square") and key in ("c64", "c128"):
        return textbook(args[0], args[-1])
    for name in card.numpy:
        result = getattr(np, name)(*args)
        if result.dtype == card.result(key):
            return result
    raise AssertionError(f"no NumPy function for {card.name} of {key}: add a reference")


def small_power(b):
    return (b.imag == 0) & (abs(b.real) < 100) & (b.real == np.trunc(b.real))


def check_elementary(card, key, args):
    """Returns the largest error."""
    if card.name == "exp2" and key in ("c64", "c128"):
        # imag * ln 2 is rounded, so the angle is lost.
        args = (args[0][~(np.abs(args[0].imag) > 1024) | np.isinf(args[0].imag)],)
    got = compute(card.name, key, *args)
    finite = functools.reduce(np.logical_and, [np.isfinite(x) for x in args])
    special = card.name in ("erf", "erfc", "gamma", "lgamma")
    if special:
        reference = special_reference(card.name, args[0])
        usual = reference.astype(got.dtype)
    else:
        usual = numpy_result(card, key, args)
        fn = WIDE.get(card.name) if args[0].dtype.kind == "c" else None
        reference = (fn or getattr(np, card.numpy[0]))(*map(wide, args))
    scale = None
    if card.name.startswith("logaddexp"):
        scale = functools.reduce(np.maximum, [np.abs(wide(x)) for x in (*args, reference)])
        scale = np.where(np.isfinite(scale), scale, 1)
    if args[0].dtype.kind == "c":
        bound = 2.0 if card.name in OF_PARTS else COMPLEX_BOUND[key]
        # Where NumPy's formula overflows or cancels between, the reference decides; of infinities and NaN,
        # NumPy does.
        rounded = reference.astype(got.dtype)
        agree = classes_agree(got, usual) | (finite & classes_agree(got, rounded))
        demand(agree, got, usual, args, "special values")
    else:
        bound = REAL_BOUND[key]
        rounded = reference.astype(got.dtype)
        agree = classes_agree(got, rounded)
        if card.name.startswith("logaddexp"):
            agree |= got == rounded  # the sign of a zero depends on what is lost where the two cancel
        demand(agree, got, rounded, args, "special values")
    ulps = np.where(finite, errors(got, reference, scale), 0)
    demand(ulps <= bound, got, rounded, args, f"more than {bound} ulp, at most {ulps.max():.3f}")
    return float(ulps.max())


def without_rests(got, reference):
    """Zeros where the reference has them and a part is small compared with the modulus: what is left where two cancel."""
    result = got.copy()
    for part, zero in ((result.real, reference.real), (result.imag, reference.imag)):
        rest = (zero == 0) & (np.abs(part) < 1e-18 * np.abs(reference))
        part[rest] = zero[rest]
    return result


def check_power(card, key, args):
    got = compute(card.name, key, *args)
    if args[0].dtype.kind in "iu":
        want = numpy_result(card, key, args)
        demand(same(got, want), got, want, args, "power")
        return 0.0
    usual = np.power(*args)
    reference = np.power(*map(wide, args))
    finite = np.isfinite(args[0]) & np.isfinite(args[1])
    if args[0].dtype.kind == "c":
        exact = small_power(args[1]) | (args[0] == 0)
        demand(~exact | same(got, usual), got, usual, args, "power")
        rounded = reference.astype(got.dtype)
        agree = classes_agree(got, usual) | (finite & classes_agree(got, rounded))
        agree |= finite & classes_agree(without_rests(got, rounded), rounded)
        # exponent * log(base) is rounded in the reference: of large ones the angle is lost, and with it all signs.
        lost = finite & ~(np.abs(wide(args[1]) * np.log(wide(args[0]))) < 1000)
        demand(exact | agree | lost, got, usual, args, "special values")
        finite &= ~exact & ~lost
        bound = COMPLEX_BOUND[key]
    else:
        squares = args[1] == 2
        demand(~squares | same(got, args[0] * args[0]), got, usual, args, "squares")
        want = np.where(finite, reference.astype(got.dtype), usual)
        demand(classes_agree(got, want), got, want, args, "special values")
        bound = REAL_BOUND[key]
    ulps = np.where(finite, errors(got, reference), 0)
    demand(ulps <= bound, got, usual, args, f"more than {bound} ulp, at most {ulps.max():.3f}")
    return float(ulps.max())


def check(name, key):
    card = CARDS[name]
    slow = name in ("erf", "erfc", "gamma", "lgamma")
    args = operands(card, key, 300 if slow else 4000)
    if slow and key == "f16":
        args = (args[0][::97],)
    elementary = ELEMENTARY_COMPLEX if key in ("c64", "c128") else ELEMENTARY
    with np.errstate(all="ignore"):
        if name == "power":
            return check_power(card, key, args)
        if name in elementary:
            return check_elementary(card, key, args)
        got = compute(name, key, *args)
        want = numpy_result(card, key, args)
        if name == "sign" and key in ("c64", "c128"):
            # NumPy's modulus errs by up to 1 ulp.
            ulps = errors(got, wide(want))
            demand(classes_agree(got, want) & (ulps <= 3), got, want, args, f"{ulps.max()} ulp")
            return float(ulps.max())
        zero_signs = not (name in ZERO_SIGN_FREE and key in ("f32", "f64"))
        demand(same(got, want, zero_signs), got, want, args, name)
    return 0.0


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name, key", CASES, ids=[f"{name}-{key}" for name, key in CASES])
def test_op(name, key):
    check(name, key)


def test_dtype_tables():
    lines = ask("dtypes - 0", b"").decode().splitlines()
    assert len(lines) == len(DTYPES) ** 2
    for a, b, casts, both in map(str.split, lines):
        assert (casts == "1") == np.can_cast(DTYPES[a], DTYPES[b], "safe"), (a, b)
        assert np.dtype(DTYPES[both]) == np.promote_types(DTYPES[a], DTYPES[b]), (a, b)


@pytest.mark.parametrize("key", ["c64", "c128"])
def test_complex_products_are_those_of_numpy_scalars(key):
    a, b = random_values(key, 500, 5), random_values(key, 500, 6)
    want = np.array([x * y for x, y in zip(a, b)], a.dtype)
    got = compute("multiply", key, a, b)
    demand(same(got, want), got, want, (a, b), "scalar products")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.parametrize("target", DTYPES)
def test_cast(source, target):
    values = np.concatenate([lattice(source), random_values(source, 300, 7)])
    if np.dtype(DTYPES[source]).kind == "f":
        edges = [s * 2.0**k + d for s in (1, -1) for k in (7, 8, 15, 16, 31, 32, 63, 64) for d in (-1, -0.5, 0, 0.5, 1)]
        with np.errstate(all="ignore"):
            values = np.concatenate([values, np.array([*edges, 65519.0, 65520.0, 2049.0, 300.7]).astype(values.dtype)])
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        one_by_one = [values[i : i + 1].astype(DTYPES[target]) for i in range(len(values))]
        want = np.concatenate(one_by_one)
        together = values.astype(DTYPES[target])
    got = np.frombuffer(ask(f"cast {source}:{target} {len(values)}", values.tobytes()), DTYPES[target])
    demand(same(got, want), got, want, (values,), "cast")
    # NumPy's vector loops convert out-of-range floats to uint32 in another way.
    if target == "u32" and np.dtype(DTYPES[source]).kind in "fc":
        real = values.real.astype(np.float64)
        inside = (real > -1) & (real < 2.0**32)
        demand(~inside | same(got, together), got, together, (values,), "cast of arrays")
    else:
        demand(same(got, together), got, together, (values,), "cast of arrays")


@pytest.mark.parametrize("key", ["bool", "i64", "u64", "f32", "f64", "c64", "c128"])
def test_repr(key):
    values = np.concatenate([lattice(key), random_values(key, 3000, 8)])
    if key in ("f32", "f64"):
        with np.errstate(over="ignore"):
            powers = np.array([d * 10.0**k for k in range(-50, 51) for d in (1, 1.5, 9.999999)]).astype(values.dtype)
        bits = np.random.default_rng(9).integers(0, 256, 3000 * values.itemsize, dtype=np.uint8)
        values = np.concatenate([values, powers, bits.view(values.dtype)])
    got = ask(f"repr {key} {len(values)}", values.tobytes()).decode().splitlines()
    want = [str(x) if key in ("f32", "c64") else repr(x.item()) for x in values]
    assert [(g, w) for g, w in zip(got, want, strict=True) if g != w] == []


def test_parse_float():
    good = ["0", "-0", "+1", "1.", ".5", "1e5", "1E-5", "-1.5e+300", "inf", "-inf", "+infinity", "nan", "-NaN", "1e400",
            "-1e400", "1e-400", "0." + "0" * 400 + "1e390", "1" + "0" * 400 + "e-390", "1e99999999999999999999",
            "1e-99999999999999999999", "4.9e-324", "2.4703282292062327e-324", "2.4703282292062328e-324",
            "1.7976931348623158e308", "1.7976931348623159e308", "9007199254740993", "0.1", "1e-320"]  # fmt: skip
    good += [repr(x) for x in real_lattice(np.float64).tolist()]
    bad = ["", "+", "-", "e5", "1e", ".", "1x", " 1", "1 ", "+-1", "--1", "nan(1)", "0x10", "1_0", "infx"]
    lines = good + bad
    out = np.frombuffer(ask(f"parse - {len(lines)}", ("\n".join(lines) + "\n").encode()), np.float64)
    for text, got in zip(good, out):
        want = float(text)
        # No number is answered by a NaN with a sign.
        assert same(np.array([got]), np.array([want])).all(), text
        assert got == got or "-" in text or not np.signbit(got), text
    for text, got in zip(bad, out[len(good) :]):
        assert np.isnan(got) and np.signbit(got), text


if __name__ == "__main__":
    names = sorted(ELEMENTARY | {"power", "sqrt", "absolute", "sign"})
    for op in names:
        measured = {key: check(op, key) for key in ("f16", "f32", "f64", "c64", "c128") if (op, key) in CASES}
        print(f"{op:12}", "  ".join(f"{key} {worst:.3f}" for key, worst in measured.items()))
