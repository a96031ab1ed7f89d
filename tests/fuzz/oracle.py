"""CPython and NumPy, with elementary functions, float sums and products taken from Ingot's own eager calls.

Each such call is also compared with NumPy's (or CPython's) own value, within BOUNDS, so that everything else can be
compared bitwise.
"""

import ast
import functools
import linecache
import math
import operator
import types
import warnings

import numpy as np

import ingot
from ingot._calls.function import Function

from . import limits

# Relative bounds, in units of the last place of the result's type: elementary functions (Ingot is within 1 or 2,
# NumPy within 4), and sums and products, for each of the numbers that go in.
ELEMENTARY_ULP = 8
REDUCTION_ULP = 4

ELEMENTARY = set(
    "power cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh "
    "arctanh degrees rad2deg radians deg2rad hypot logaddexp logaddexp2 arctan2".split()
)
# Complex products belong here: where the CPU has FMA, NumPy's arrays round one product less than its numbers do.
COMPLEX_ELEMENTARY = {"sqrt", "absolute", "sign", "reciprocal", "multiply", "square"}
EITHER_ZERO = {"maximum", "minimum", "fmax", "fmin", "max", "min"}  # which zero of 0.0 and -0.0 depends on the position
REDUCTIONS = {"sum", "prod", "mean", "dot", "matmul"}
WATCHED = ELEMENTARY | COMPLEX_ELEMENTARY | EITHER_ZERO | REDUCTIONS
MATH = set(
    "exp expm1 exp2 log1p log2 log10 log sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc gamma "
    "lgamma cbrt degrees radians atan2 hypot pow".split()
)


class EagerDifference(Exception):
    """One call differs from NumPy's by more than its bound."""


@functools.cache
def _eager(expression: str, count: int) -> Function:
    parameters = ", ".join("abc"[:count])
    source = f"def eager({parameters}):\n    return {expression}\n"
    return Function(define(source, "eager", {"np": np, "math": math}))


_defined = 0


def define(source: str, name: str, space: dict) -> types.FunctionType:
    """The function that a source text defines, whose source Ingot finds."""
    global _defined
    _defined += 1
    file = f"<program {_defined}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    exec(compile(source, file, "exec"), space)
    return space[name]


def _float_type(*values) -> np.dtype | None:
    """The type that a call computes in, where that is a floating-point or complex one."""
    try:
        dtype = np.result_type(*values)
    except (TypeError, OverflowError, ValueError):
        return None
    return dtype if dtype.kind in "fc" else None


def _near(got, expected, operands, units: float, scale=None) -> bool:
    if type(got) is not type(expected):
        return False
    g, e = np.asarray(got), np.asarray(expected)
    if g.dtype != e.dtype or g.shape != e.shape:
        return False
    if e.dtype.kind not in "fc":
        return np.array_equal(g, e)
    eps = np.finfo(e.dtype).eps
    if e.dtype.itemsize == (8 if e.dtype.kind == "c" else 4) or e.dtype == np.float16:
        wide = np.complex128 if e.dtype.kind == "c" else np.float64
        g, e = g.astype(wide), e.astype(wide)
    with np.errstate(all="ignore"):
        size = abs(e) if scale is None else scale
        tiny = np.finfo(got.dtype if hasattr(got, "dtype") else np.float64).tiny
        close = (abs(g - e) <= units * (eps * size + tiny * eps)) | (g == e) | (np.isnan(g) & np.isnan(e))
        if scale is not None or e.dtype.kind == "c":
            close |= ~(np.isfinite(g) & np.isfinite(e))  # where the order decides whether the sum overflows
    return bool(np.all(close))


def _checked(expression: str, operands: tuple, own, units: float, scale=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = own(*operands)
        try:
            got = _eager(expression, len(operands))(*operands)
        except ingot.UnsupportedError:
            return expected
        except ingot.TypeChangeError:
            return expected
        except OverflowError:
            if any(type(o) is int and not -(2**63) <= o < 2**63 for o in operands):
                return expected
            raise
        except Exception as error:
            shown = ", ".join(map(repr, operands))
            raise EagerDifference(f"{expression} of ({shown}): {error!r} for {expected!r}") from None
    if np.iscomplexobj(expected):
        units, scale = _complex_bound(expression, operands, expected, units, scale)
    elif expression in ("math.lgamma(a)", "math.gamma(a)"):
        scale = max(abs(expected), 1.0)  # CPython's own is no closer near a root
    elif "logaddexp" in expression and np.all(np.isfinite(expected)):  # nor is NumPy's where the two logarithms cancel
        scale = np.maximum(np.maximum(*[abs(np.asarray(o, np.float64)) for o in operands]), abs(expected))
        scale = np.where(np.isfinite(scale), scale, 1.0)
    if not _near(got, expected, operands, units, scale):
        shown = ", ".join(map(repr, operands))
        raise EagerDifference(f"{expression} of ({shown}): {got!r} for {expected!r}")
    return got


def _complex_bound(expression: str, operands: tuple, expected, units, scale):
    """The bound where NumPy's own complex functions lose accuracy."""
    wide = [np.asarray(o, np.complex128) for o in operands]
    with np.errstate(all="ignore"):
        if expression in ("a ** b", "np.power(a, b)"):  # exp(b * log(a)) loses the bits of b * log(a) before the point
            units = units * (1 + np.nan_to_num(abs(wide[1] * np.log(wide[0])), posinf=1e6))
        elif expression == "np.exp2(a)":
            units = units * (1 + abs(wide[0]))
        elif expression in ("np.log1p(a)", "np.expm1(a)"):  # log(1 + x), exp(x) - 1
            scale = np.maximum(abs(np.asarray(expected)), 1.0)
    return units, scale


def _numpy(name: str, own):
    def call(*operands, **options):
        kind = _float_type(*operands)
        if name not in REDUCTIONS:
            # Integers become floats in these, but not in power.
            relevant = name != "power" and name in ELEMENTARY or name == "power" and kind is not None
            relevant = relevant or name in COMPLEX_ELEMENTARY and kind is not None and kind.kind == "c"
            if name in EITHER_ZERO and kind is not None:
                text = ", ".join([*"abc"[: len(operands)], *(f"{k}={v!r}" for k, v in options.items())])
                return _checked(f"np.{name}({text})", operands, functools.partial(own, **options), 0)
            if not relevant or options:
                return own(*operands, **options)
            return _checked(f"np.{name}({', '.join('abc'[: len(operands)])})", operands, own, ELEMENTARY_ULP)
        if kind is None and name != "mean":
            return own(*operands, **options)
        if isinstance(mask := options.get("where"), np.ndarray):
            rest = {k: v for k, v in options.items() if k != "where"}
            text = "".join(f", {k}={v!r}" for k, v in rest.items())
            zeros = np.zeros((), np.asarray(operands[0]).dtype)
            scale = np.sum(abs(np.where(mask, operands[0], zeros)).astype(np.float64), **rest)
            units = REDUCTION_ULP * (np.size(operands[0]) + 1)
            masked = lambda a, b: own(a, where=b, **rest)  # noqa: E731
            return _checked(f"np.{name}(a, where=b{text})", (*operands, mask), masked, units, scale)
        text = "".join(f", {k}={v!r}" for k, v in options.items())
        return _reduction(f"np.{name}({', '.join('abc'[: len(operands)])}{text})", operands, functools.partial(own, **options), name, options)

    return call


def _reduction(expression, operands, own, name, options):
    parts = [np.asarray(o) for o in operands]
    with np.errstate(all="ignore"):
        wide = [abs(p.astype(np.complex128 if p.dtype.kind == "c" else np.float64)) for p in parts]
        if name in ("sum", "mean"):
            scale = np.sum(wide[0], **options)
            count = max(wide[0].size, 1)
            scale = scale / (count if not options else max(wide[0].shape[options["axis"]], 1)) if name == "mean" else scale
        elif name == "prod":
            scale, count = None, max(wide[0].size, 1)
        else:
            scale, count = own(*wide), 8
    units = REDUCTION_ULP * (count + 1)
    if name == "prod":
        try:
            return _checked(expression, operands, own, units)
        except EagerDifference:
            value = np.asarray(own(*operands))
            limits = np.finfo(value.dtype)
            with np.errstate(all="ignore"):
                most, least = (np.prod(bound(wide[0], 1), **options) for bound in (np.maximum, np.minimum))
            if np.any(most > limits.max) or np.any(least < limits.tiny) or value.dtype.kind == "c":
                return _eager(expression, len(operands))(*operands)  # the order decides about overflow and underflow
            raise
    return _checked(expression, operands, own, units, scale)


class _Linalg:
    @staticmethod
    def norm(value):
        wide = abs(np.asarray(value)).astype(np.float64)
        own = np.linalg.norm
        return _checked("np.linalg.norm(a)", (value,), own, REDUCTION_ULP * (wide.size + 1), own(wide))

    def __getattr__(self, name):
        return getattr(np.linalg, name)


class _Numpy:
    linalg = _Linalg()

    def __getattr__(self, name):
        own = getattr(np, name)
        value = _numpy("absolute" if name == "fabs" else name, own) if name in WATCHED else own
        setattr(self, name, value)
        return value


class _Math:
    def __getattr__(self, name):
        own = getattr(math, name)
        if name not in MATH:
            return own
        return lambda *operands: _checked(f"math.{name}({', '.join('abc'[: len(operands)])})", operands, own, ELEMENTARY_ULP)


OPERATORS = {ast.Pow: "_power", ast.MatMult: "_matmul", ast.Mult: "_multiply", ast.LShift: "_left_shift", ast.Div: "_divide"}
INTO = {ast.Mult: "_multiply_into", ast.LShift: "_left_shift_into"}


class _Rewrite(ast.NodeTransformer):
    def visit_BinOp(self, node):
        self.generic_visit(node)
        name = OPERATORS.get(type(node.op))
        inner = ast.Call(ast.Name(name, ast.Load()), [node.left, node.right], []) if name else node
        return ast.Call(ast.Name("_watch", ast.Load()), [inner], [])

    def visit_Assign(self, node):
        self.generic_visit(node)
        target = node.targets[0]
        if isinstance(target, ast.Subscript) and not _has_calls(target.value):  # NumPy reads what it writes where the index is a mask
            node.value = ast.Call(ast.Name("_copied", ast.Load()), [node.value, target.value], [])
        return node

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        return ast.Call(ast.Name("_watch", ast.Load()), [node], [])

    def visit_Call(self, node):
        self.generic_visit(node)
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr in ("copysign", "signbit") and node.args:
            node.args[-1] = ast.Call(ast.Name("_sign", ast.Load()), [node.args[-1]], [])
        if isinstance(function, ast.Attribute) and function.attr == "astype":
            return ast.Call(ast.Name("_astype", ast.Load()), [function.value, *node.args], node.keywords)
        if isinstance(function, ast.Attribute) and function.attr in REDUCTIONS | {"min", "max"}:
            if not (isinstance(function.value, ast.Name) and function.value.id == "np"):
                name = ast.Constant(function.attr)
                node = ast.Call(ast.Name("_method", ast.Load()), [name, function.value, *node.args], node.keywords)
        return ast.Call(ast.Name("_watch", ast.Load()), [node], [])

    def visit_MatchValue(self, node):
        return node

    def visit_Try(self, node):
        """No clause of the program catches what stops the program, or reports that an eager call differs."""
        self.generic_visit(node)
        if node.handlers:
            stops = ast.ExceptHandler(ast.Name("_stops", ast.Load()), None, [ast.Raise(None, None)])
            node.handlers.insert(0, stops)
        return node

    def visit_AugAssign(self, node):
        is_plain = not _has_calls(node.target) and not _reads_elements(node.target)
        self.generic_visit(node)
        target = node.target
        name = INTO.get(type(node.op))
        if name and isinstance(target, (ast.Name, ast.Attribute)):
            return ast.Assign([target], ast.Call(ast.Name(name, ast.Load()), [_read(target), node.value], []))
        if isinstance(node.op, ast.Mult):
            element = ast.Call(ast.Name("_element", ast.Load()), [target.value, _index(target.slice)], [])
            return ast.Expr(ast.Call(ast.Name("_multiply_at", ast.Load()), [element, node.value], []))
        if isinstance(target, (ast.Name, ast.Attribute)):
            return [node, ast.Expr(ast.Call(ast.Name("_watch", ast.Load()), [_read(target)], []))]
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and is_plain:
            element = ast.Subscript(ast.Name(target.value.id, ast.Load()), target.slice, ast.Load())
            return [node, ast.Expr(ast.Call(ast.Name("_watch", ast.Load()), [element], []))]
        return node


def _read(target: ast.Name | ast.Attribute) -> ast.expr:
    """What an assignment has bound."""
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    return ast.Attribute(target.value, target.attr, ast.Load())


def _reads_elements(target):
    """Whether an index is made of elements, which an assignment may change."""
    if not isinstance(target, ast.Subscript):
        return False
    names = {part.id for part in ast.walk(target.value) if isinstance(part, ast.Name)}
    return any(isinstance(part, ast.Subscript) or getattr(part, "id", None) in names for part in ast.walk(target.slice))


def _has_calls(node):
    return any(isinstance(part, (ast.Call, ast.NamedExpr)) for part in ast.walk(node))


def _power(a, b):
    are_ints = isinstance(a, int) and isinstance(b, int)
    if are_ints and b < 0:
        a, b = float(a), float(b)
    if _float_type(a, b) is None:
        return limits.power(a, b)
    return _checked("a ** b", (a, b), lambda x, y: x**y, ELEMENTARY_ULP)


def _multiply(a, b):
    kind = _float_type(a, b) if isinstance(a, _NUMPY) or isinstance(b, _NUMPY) else None
    return _proxy.multiply(a, b) if kind is not None and kind.kind == "c" else a * b


def _multiply_into(target, value):
    """`target *= value`, and what is then bound to its name."""
    if isinstance(target, np.ndarray) and np.iscomplexobj(target):
        target[...] = _multiply(target, value)
        return target
    return _multiply(target, value) if np.iscomplexobj(target) else operator.imul(target, value)


def _left_shift_into(target, value):
    return limits.left_shift(target, value) if type(target) is int else operator.ilshift(target, value)


def _element(container, index):
    return container, index, container[index]


def _copied(value, container):
    """What is assigned to elements of a container."""
    if not isinstance(value, np.ndarray) or not isinstance(container, np.ndarray):
        return value
    return _astype(value, container.dtype) if value.ndim else value.copy()


def _multiply_at(place, value) -> None:
    container, index, element = place
    container[index] = _multiply_into(element, value)


def _index(node: ast.expr) -> ast.expr:
    """What is in brackets, as an expression."""
    if isinstance(node, ast.Slice):
        parts = [part or ast.Constant(None) for part in (node.lower, node.upper, node.step)]
        return ast.Call(ast.Name("slice", ast.Load()), parts, [])
    if isinstance(node, ast.Tuple):
        return ast.Tuple([_index(element) for element in node.elts], ast.Load())
    return node


_NUMPY = (np.generic, np.ndarray)


def _astype(value, *operands, **options):
    """A cast; what no integer of the dtype is depends on the CPU and the position in NumPy."""
    expected = value.astype(*operands, **options)
    if not isinstance(value, _NUMPY) or expected.dtype.kind not in "iu" or value.dtype.kind not in "fc":
        return expected
    name = expected.dtype.name
    got = _eager(f"a.astype(np.{name})", 1)(value)
    numbers, limits_ = np.asarray(value).real.astype(np.float64), np.iinfo(name)
    inside = (numbers > limits_.min - 1.0) & (numbers < limits_.max + 1.0)
    if not np.array_equal(np.asarray(got)[inside], np.asarray(expected)[inside]) or got.dtype != expected.dtype:
        raise EagerDifference(f"a.astype(np.{name}) of ({value!r}): {got!r} for {expected!r}")
    return got


def _matmul(a, b):
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return _proxy.matmul(a, b)
    return a @ b


def _absolute(value):
    return _proxy.absolute(value) if np.iscomplexobj(value) else abs(value)


def _method(name, value, *operands, **options):
    if type(value) is np.ndarray or isinstance(value, np.generic):
        return getattr(_proxy, name)(value, *operands, **options)
    return getattr(value, name)(*operands, **options)


_proxy = _Numpy()


def namespace(source: str, steps: float = limits.STEPS) -> tuple[dict, limits.Limits]:
    """What a source text defines as a module, with the oracle's functions in place of NumPy's and math's."""
    bounds = limits.Limits(steps)
    tree = ast.fix_missing_locations(_Rewrite().visit(ast.parse(source)))
    own = {"__name__": limits.MODULE, "np": _proxy, "math": _Math(), "abs": _absolute, "pow": _power}
    space = {**own, "_watch": bounds.watch, "_power": _power, "_matmul": _matmul, "_method": _method}
    space |= {"_astype": _astype, "_multiply": _multiply, "_element": _element, "_multiply_at": _multiply_at}
    space["_multiply_into"] = lambda target, value: bounds.watch(_multiply_into(target, value))
    space["_left_shift_into"] = lambda target, value: bounds.watch(_left_shift_into(target, value))
    space["_left_shift"] = limits.left_shift
    space["_stops"] = (limits.Endless, EagerDifference)
    space["_divide"] = lambda a, b: bounds.exact(a) / bounds.exact(b)
    space["_copied"] = _copied
    space["_sign"] = bounds.sign
    space["sum"] = lambda values, start=0: functools.reduce(lambda a, b: bounds.watch(a + b), values, start)
    exec(compile(tree, "<oracle>", "exec"), space)
    for alias, value in list(space.items()):
        if isinstance(value, types.ModuleType) and value in (np, math):
            space[alias] = _proxy if value is np else own["math"]
    return space, bounds


def oracle(source: str, name: str) -> tuple[types.FunctionType, limits.Limits]:
    space, bounds = namespace(source)
    return space[name], bounds
