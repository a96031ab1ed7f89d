// Operators of numbers and arrays: Python's own arithmetic, which checks, or NumPy's.

#include <cmath>
#include <limits>

#include "frontend/arrays/arrays.h"
#include "frontend/arrays/operators.h"
#include "frontend/arrays/products.h"
#include "frontend/arrays/scalars.h"
#include "frontend/kinds/numbers.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

/// Up to this number float64 represents all ints exactly.
constexpr int64_t kExactInFloat = int64_t{1} << 53;

/// Whether an operator of two numbers is Python's own, without NumPy.
bool is_pythons_own(const Value& a, const Value& b) {
  const Kind left = base::known(kind_of(a));
  const Kind right = base::known(kind_of(b));
  if (left.is_python() && right.is_python()) return true;
  // np.float64 is a subclass of float, which complex's own operators take.
  return left == Kind::py_complex() && right == Kind(DType::Float64) && !array_type_of(b);
}

/// The kind in which Python computes an operator of two numbers; np.float64 is a float.
Kind common_kind(const Value& a, const Value& b) {
  const auto weak = [](Kind kind) { return kind.is_python() ? kind : Kind::py_float(); };
  return base::known(frontend::join(weak(base::known(kind_of(a))), weak(base::known(kind_of(b)))));
}

/// Python's quotient of complex numbers: divides by the larger part of y; NumPy multiplies by a reciprocal.
NodeId quotient_of_complex(ir::Builder& b, NodeId x, NodeId y) {
  const auto part = [&](Op op, NodeId z) { return b.make(op, {z}); };
  const auto times = [&](NodeId p, NodeId q) { return b.make(Op::multiply, {p, q}); };
  const NodeId real = part(Op::real, y);
  const NodeId imaginary = part(Op::imaginary, y);
  const NodeId is_real = b.make(Op::greater_equal, {part(Op::absolute, real), part(Op::absolute, imaginary)});
  const auto choose = [&](NodeId p, NodeId q) { return b.make(Op::select, {is_real, p, q}); };
  const NodeId large = choose(real, imaginary);
  const NodeId small = choose(imaginary, real);
  const NodeId ratio = b.make(Op::divide, {small, large});
  const NodeId denominator = b.make(Op::add, {large, times(small, ratio)});
  const NodeId first = choose(part(Op::real, x), part(Op::imaginary, x));
  const NodeId second = choose(part(Op::imaginary, x), part(Op::real, x));
  const NodeId sum = b.make(Op::add, {first, times(second, ratio)});
  const NodeId scaled = times(first, ratio);
  const NodeId difference =
      choose(b.make(Op::subtract, {second, scaled}), b.make(Op::subtract, {scaled, second}));
  return b.make(Op::make_complex,
                {b.make(Op::divide, {sum, denominator}), b.make(Op::divide, {difference, denominator})});
}

Value python_int(Tracer& t, Operator op, NodeId a, NodeId b) {
  const auto no_overflow = [&](Op predicate) {
    need_64_bits(t, t.builder->make(Op::invert, {t.builder->make(predicate, {a, b})}));
  };
  const auto no_zero = [&](const char* message) {
    check(t, t.builder->make(Op::not_equal, {b, t.builder->index(0)}), ExceptionKind::ZeroDivisionError,
          message);
  };
  const auto result = [&](Op made) { return Scalar{Kind::py_int(), t.builder->make(made, {a, b})}; };
  if (op == Operator::Add) return no_overflow(Op::add_overflows), result(Op::add);
  if (op == Operator::Sub) return no_overflow(Op::subtract_overflows), result(Op::subtract);
  if (op == Operator::Mult) return no_overflow(Op::multiply_overflows), result(Op::multiply);
  if (op == Operator::FloorDiv) {
    no_zero("integer division or modulo by zero");
    // Only MIN // -1 overflows.
    const NodeId least = t.builder->make(Op::equal, {a, t.builder->index(INT64_MIN)});
    const NodeId minus_one = t.builder->make(Op::equal, {b, t.builder->index(-1)});
    need_64_bits(t, t.builder->make(Op::invert, {t.builder->make(Op::bitwise_and, {least, minus_one})}));
    return result(Op::floor_divide);
  }
  if (op == Operator::Mod) return no_zero("integer modulo by zero"), result(Op::remainder);
  if (op == Operator::Div) {
    no_zero("division by zero");
    // Operands within 2**53 convert exactly, so the quotient is rounded once, as Python's.
    const NodeId x = t.builder->cast(a, DType::Float64);
    const NodeId y = t.builder->cast(b, DType::Float64);
    for (const auto& [integer, number] : {std::pair{a, x}, std::pair{b, y}}) {
      t.builder->check(t.builder->make(Op::equal, {t.builder->cast(number, DType::Int64), integer}),
                       ExceptionKind::OverflowError, "int {} is too large for exact division", {integer});
    }
    return Scalar{Kind::py_float(), t.builder->make(Op::divide, {x, y})};
  }
  check(t, t.builder->make(Op::greater_equal, {b, t.builder->index(0)}), ExceptionKind::ValueError,
        "negative shift count");
  if (op == Operator::RShift) return result(Op::right_shift);
  const NodeId shifted = t.builder->make(Op::left_shift, {a, b});
  const NodeId back = t.builder->make(Op::right_shift, {shifted, b});
  const NodeId small = t.builder->make(Op::less, {b, t.builder->index(64)});
  const NodeId exact = t.builder->make(Op::bitwise_and, {small, t.builder->make(Op::equal, {back, a})});
  const NodeId zero = t.builder->make(Op::equal, {a, t.builder->index(0)});
  need_64_bits(t, t.builder->make(Op::bitwise_or, {exact, zero}));
  return Scalar{Kind::py_int(), shifted};
}

Value python_float(Tracer& t, Operator op, NodeId a, NodeId b) {
  if (op == Operator::Div || op == Operator::FloorDiv || op == Operator::Mod) {
    const char* message = op == Operator::Div   ? "float division by zero"
                          : op == Operator::Mod ? "float modulo"
                                                : "float floor division by zero";
    check(t, t.builder->make(Op::not_equal, {b, t.builder->constant(0.0)}), ExceptionKind::ZeroDivisionError,
          message);
  }
  return Scalar{Kind::py_float(), t.builder->make(base::known(info(op).op), {a, b})};
}

/// Python's power, with its exceptions.
Value complex_power(Tracer& t, NodeId x, NodeId y) {
  const NodeId zero = t.builder->constant(0.0);
  const NodeId real = t.builder->make(Op::real, {y});
  const NodeId is_complex = t.builder->make(Op::not_equal, {t.builder->make(Op::imaginary, {y}), zero});
  const NodeId is_bad =
      t.builder->make(Op::bitwise_or, {is_complex, t.builder->make(Op::less, {real, zero})});
  const NodeId is_zero = t.builder->make(Op::equal, {x, t.builder->constant(std::complex<double>(0, 0))});
  check(t, negate(t, both(t, is_zero, is_bad)), ExceptionKind::ZeroDivisionError,
        "0.0 to a negative or complex power");
  return Scalar{Kind::py_complex(), t.builder->make(Op::power, {x, y})};
}

Value python_power(Tracer& t, const Value& a, const Value& b, nb::handle node) {
  const Kind common = base::known(frontend::join(common_kind(a, b), Kind::py_int()));
  if (common == Kind::py_int()) {
    const NodeId x = stage(t, a, common);
    const NodeId y = stage(t, b, common);
    if (const std::optional<int64_t> exponent = static_int(b); exponent && *exponent < 0)
      return python_power(t, Scalar{Kind::py_float(), t.builder->cast(x, DType::Float64)}, b, node);
    const NodeId none = t.builder->index(0);
    check(t, negate(t, both(t, t.builder->make(Op::equal, {x, none}), t.builder->make(Op::less, {y, none}))),
          ExceptionKind::ZeroDivisionError, "0.0 cannot be raised to a negative power");
    t.builder->check(t.builder->make(Op::greater_equal, {y, t.builder->index(0)}),
                     ExceptionKind::TypeChangeError, "int ** {} is a float; write float(base) ** exponent",
                     {y});
    need_64_bits(t, t.builder->make(Op::invert, {t.builder->make(Op::power_overflows, {x, y})}));
    return Scalar{common, t.builder->make(Op::power, {x, y})};
  }
  if (common == Kind::py_complex()) {
    const NodeId x = stage(t, a, common);
    const NodeId y = stage(t, b, common);
    const NodeId exponent = t.builder->make(Op::real, {y});
    const NodeId zero = t.builder->constant(0.0);
    const NodeId is_real = t.builder->make(Op::equal, {t.builder->make(Op::imaginary, {y}), zero});
    const NodeId whole = t.builder->make(Op::equal, {t.builder->make(Op::floor, {exponent}), exponent});
    const NodeId size = t.builder->make(Op::absolute, {exponent});
    const NodeId is_small = t.builder->make(Op::less_equal, {size, t.builder->constant(100.0)});
    const auto either = [&](NodeId condition, const std::function<Value()>& then,
                            const std::function<Value()>& other) {
      const std::optional<bool> known = static_truth(t, as_bool(t, condition));
      return known ? (*known ? then() : other()) : fork(t, condition, then, other);
    };
    const auto multiplied = [&] {
      const Value n = known_number(t, Scalar{Kind::py_int(), t.builder->cast(size, DType::Int64)});
      const Value power = call_library(t, "mathematics", "power_of_complex", {Scalar{common, x}, n}, node);
      const NodeId product = stage(t, power, common);
      const auto inverse = [&]() -> Value {
        check(t, t.builder->make(Op::not_equal, {product, t.builder->constant(std::complex<double>())}),
              ExceptionKind::ZeroDivisionError, "0.0 to a negative or complex power");
        const NodeId one = t.builder->constant(std::complex<double>(1));
        return Scalar{common, quotient_of_complex(*t.builder, one, product)};
      };
      return either(t.builder->make(Op::less_equal, {exponent, zero}), inverse, [&] { return power; });
    };
    const Value power = either(both(t, is_real, both(t, whole, is_small)), multiplied,
                               [&] { return complex_power(t, x, y); });
    for (const Op part : {Op::real, Op::imaginary}) {
      check(t, negate(t, t.builder->make(Op::isinf, {t.builder->make(part, {stage(t, power, common)})})),
            ExceptionKind::OverflowError, "complex exponentiation");
    }
    return power;
  }
  const NodeId x = stage(t, a, common);
  const NodeId y = stage(t, b, common);
  const NodeId zero = t.builder->constant(0.0);
  const NodeId negative = both(t, t.builder->make(Op::less, {y, zero}), t.builder->make(Op::isfinite, {y}));
  check(t, negate(t, both(t, t.builder->make(Op::equal, {x, zero}), negative)),
        ExceptionKind::ZeroDivisionError, "0.0 cannot be raised to a negative power");
  const NodeId finite = both(t, t.builder->make(Op::isfinite, {x}), t.builder->make(Op::isfinite, {y}));
  const NodeId fractional = t.builder->make(Op::not_equal, {t.builder->make(Op::floor, {y}), y});
  t.builder->check(negate(t, both(t, both(t, t.builder->make(Op::less, {x, zero}), fractional), finite)),
                   ExceptionKind::TypeChangeError, "({}) ** {} is complex; write complex(base) ** exponent",
                   {x, y});
  const NodeId power = t.builder->make(Op::power, {x, y});
  check(t, negate(t, both(t, finite, t.builder->make(Op::isinf, {power}))), ExceptionKind::OverflowError,
        "(34, 'Numerical result out of range')");
  return Scalar{common, power};
}

Value python_arithmetic(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node) {
  Kind common = common_kind(a, b);
  const bool bits = op == Operator::BitAnd || op == Operator::BitOr || op == Operator::BitXor;
  if (common == Kind::py_bool() && !bits) common = Kind::py_int();
  const OperatorInfo& entry = info(op);
  const bool shift = op == Operator::LShift || op == Operator::RShift;
  if ((bits || shift) && common != Kind::py_int() && common != Kind::py_bool())
    raise_of_operands(t, op, a, b);
  if (bits)
    return Scalar{common, t.builder->make(base::known(entry.op), {stage(t, a, common), stage(t, b, common)})};
  if (op == Operator::Pow) return python_power(t, a, b, node);
  if (common == Kind::py_int()) return python_int(t, op, stage(t, a, common), stage(t, b, common));
  if (common == Kind::py_float()) {
    // An int operand is converted as Python's float(int) does; beyond 2**53 it rounds, as there.
    return python_float(t, op, stage(t, a, common), stage(t, b, common));
  }
  if (op == Operator::FloorDiv || op == Operator::Mod) raise_of_operands(t, op, a, b);
  const NodeId x = stage(t, a, common);
  const NodeId y = stage(t, b, common);
  if (op == Operator::Div) {
    const NodeId zero = t.builder->constant(std::complex<double>(0, 0));
    check(t, t.builder->make(Op::not_equal, {y, zero}), ExceptionKind::ZeroDivisionError,
          "complex division by zero");
    return Scalar{common, quotient_of_complex(*t.builder, x, y)};
  }
  return Scalar{common, t.builder->make(base::known(entry.op), {x, y})};
}

}  // namespace

std::optional<Value> OperandKind::binary(Tracer& t, Operator op, const Value& a, const Value& b,
                                         nb::handle node) const {
  if (!kind_of(a) || !kind_of(b)) return std::nullopt;
  const Kind j = base::known(kind_of(a));
  const Kind k = base::known(kind_of(b));
  if (op == Operator::MatMult && j.is_python() && k.is_python()) raise_by_type(t, "binary", "@", {a, b});
  if (op == Operator::MatMult) return matmul(t, a, b, node);
  if (is_pythons_own(a, b)) return python_arithmetic(t, op, a, b, node);
  // NumPy squares arrays, which gives int8 for bools; their other powers by ints have 64 bits. Squares of
  // complex zeros have signs, powers have not; roots and reciprocals of infinities are numbers.
  if (op == Operator::Pow && array_type_of(a) && k == Kind::py_int()) {
    const bool is_bool = base::is_bool(j.dtype());
    const Value exponent =
        is_bool ? Value(Static{require_static(t, b, "the exponent of an array of bools", node)}) : b;
    if ((is_bool || base::is_complex(j.dtype())) && static_int(exponent) == 2)
      return elementwise(t, Op::square, {a}, "square", node);
    if (base::is_complex(j.dtype()) && static_int(exponent) == -1)
      return elementwise(t, Op::reciprocal, {a}, "reciprocal", node);
  }
  // The power of elements that are float or double is their root anyway.
  const bool has_roots = base::is_complex(j.dtype()) || j.dtype() == DType::Float16;
  if (op == Operator::Pow && array_type_of(a) && has_roots && k == Kind::py_float())
    if (const nb::object exponent = known_of(b); exponent.is_valid() && nb::cast<double>(exponent) == 0.5)
      return elementwise(t, Op::sqrt, {a}, "sqrt", node);
  return elementwise(t, base::known(info(op).op), {a, b}, info(op).numpy, node);
}

namespace {

/// A comparison of two complex scalars as NumPy does it; none: it is another one.
std::optional<Value> compare_complex_scalars(Tracer& t, Op op, const Value& a, const Value& b) {
  // NumPy orders two complex scalars by the real parts, or if these are equal by the imaginary ones, whether
  // or not the other parts are NaN. Arrays differ: an element with a NaN part has no order. np.bool compares
  // like arrays.
  const Kind kinds[] = {base::known(kind_of(a)), base::known(kind_of(b))};
  const DType common = result_kind(kinds).dtype();
  const bool own = std::ranges::any_of(kinds, [&](Kind k) { return k == Kind(common); });
  if (!base::is_complex(common) || !own || op == Op::equal || op == Op::not_equal) return std::nullopt;
  if (array_type_of(a) || array_type_of(b) || kinds[0] == Kind(DType::Bool)) return std::nullopt;
  const NodeId x = stage(t, a, common);
  const NodeId y = stage(t, b, common);
  const NodeId left = t.builder->make(Op::real, {x});
  const NodeId right = t.builder->make(Op::real, {y});
  const NodeId by_imaginary =
      t.builder->make(op, {t.builder->make(Op::imaginary, {x}), t.builder->make(Op::imaginary, {y})});
  return from_node(t, t.builder->make(Op::select, {t.builder->make(Op::equal, {left, right}), by_imaginary,
                                                   t.builder->make(op, {left, right})}));
}

/// `number op other`, with a float or complex, exact although the int may be no float: if the rounded int
/// equals the float, the float is an int itself, of 64 bits or 2**63, and the ints are compared.
NodeId compare_int(Tracer& t, Op op, const Value& number, const Value& other) {
  if (base::known(kind_of(other)).dtype() == DType::Complex128) {
    const NodeId z = stage(t, other, Kind::py_complex());
    const Value real = Scalar{Kind::py_float(), t.builder->make(Op::real, {z})};
    const NodeId flat =
        t.builder->make(Op::equal, {t.builder->make(Op::imaginary, {z}), t.builder->constant(0.0)});
    const NodeId equal = both(t, compare_int(t, Op::equal, number, real), flat);
    return op == Op::equal ? equal : negate(t, equal);
  }
  const NodeId f = stage(t, other, Kind::py_float());
  if (const nb::object known = known_of(number); known.is_valid()) {
    double rounded = PyLong_AsDouble(known.ptr());
    if (PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      rounded = std::copysign(std::numeric_limits<double>::infinity(), known < nb::int_(0) ? -1.0 : 1.0);
    }
    const NodeId constant = t.builder->constant(rounded);
    const nb::object python = imported("operator").attr(info(comparison_of(op)).host);
    const bool of_tie = nb::cast<bool>(python(known, nb::float_(rounded)));
    return t.builder->make(Op::select, {t.builder->make(Op::equal, {constant, f}),
                                        t.builder->constant(of_tie), t.builder->make(op, {constant, f})});
  }
  const NodeId i = stage(t, number, Kind::py_int());
  const NodeId rounded = t.builder->cast(i, DType::Float64);
  const NodeId ties = t.builder->make(Op::equal, {rounded, f});
  const NodeId fits = t.builder->make(Op::less, {f, t.builder->constant(0x1p63)});
  const NodeId exact = t.builder->cast(
      t.builder->make(Op::select, {both(t, ties, fits), f, t.builder->constant(0.0)}), DType::Int64);
  const bool is_equality = op == Op::equal || op == Op::not_equal;
  if (is_equality) {
    const NodeId equal = both(t, both(t, ties, fits), t.builder->make(Op::equal, {i, exact}));
    return op == Op::equal ? equal : negate(t, equal);
  }
  const NodeId of_ints = t.builder->make(op, {i, exact});
  const NodeId below = t.builder->constant(op == Op::less || op == Op::less_equal);
  return t.builder->make(Op::select, {ties, t.builder->make(Op::select, {fits, of_ints, below}),
                                      t.builder->make(op, {rounded, f})});
}

}  // namespace

std::optional<Value> OperandKind::compare(Tracer& t, Operator op, const Value& a, const Value& b,
                                          nb::handle) const {
  if (!kind_of(a) || !kind_of(b)) return std::nullopt;
  const OperatorInfo& entry = info(op);
  const Op by = base::known(entry.op);
  const Kind j = base::known(kind_of(a));
  const Kind k = base::known(kind_of(b));
  // Python's complex has no order, so the NumPy scalar decides.
  const bool asks_numpy = (!j.is_python() || !k.is_python()) && !is_equality(op);
  if (asks_numpy || !is_pythons_own(a, b)) {
    if (const std::optional<Value> scalar = compare_complex_scalars(t, by, a, b)) return *scalar;
    return elementwise(t, by, {a, b}, entry.numpy, t.here);
  }
  const Kind common = j.is_python() && k.is_python() ? base::known(frontend::join(j, k)) : Kind::py_complex();
  if (common == Kind::py_complex() && !is_equality(op)) {
    raise(t, ExceptionKind::TypeError,
          std::string("'") + entry.symbol + "' not supported between instances of '" +
              frontend::type_name(t, a) + "' and '" + frontend::type_name(t, b) + "'");
  }
  if (common == Kind::py_int())
    if (const std::optional<bool> known = compared_beyond_64_bits(by, a, b)) return Static{nb::bool_(*known)};
  const auto is_large = [](const Value& v, Kind kind) {
    const std::optional<int64_t> known = kind == Kind::py_int() ? static_int(v) : std::nullopt;
    return kind == Kind::py_int() && (!known || *known < -kExactInFloat || *known > kExactInFloat);
  };
  if (common != Kind::py_int() && is_large(a, j)) return Scalar{Kind::py_bool(), compare_int(t, by, a, b)};
  if (common != Kind::py_int() && is_large(b, k)) {
    const Operator mirrored = base::known(comparison_of(std::string(entry.reflected)));
    return Scalar{Kind::py_bool(), compare_int(t, base::known(info(mirrored).op), b, a)};
  }
  return Scalar{Kind::py_bool(), t.builder->make(by, {stage(t, a, common), stage(t, b, common)})};
}

std::optional<Value> OperandKind::unary(Tracer& t, Operator op, const Value& a, nb::handle node) const {
  const OperatorInfo& entry = info(op);
  const Kind kind = base::known(kind_of(a));
  if (!kind.is_python()) {
    if (kind == Kind(DType::Bool) && op == Operator::USub) {
      raise(t, ExceptionKind::TypeError,
            "The numpy boolean negative, the `-` operator, is not supported, use the `~` operator or the "
            "logical_not function instead.");
    }
    if (kind == Kind(DType::Bool) && op == Operator::UAdd) {
      raise(t, ExceptionKind::TypeError,
            "ufunc 'positive' did not contain a loop with signature matching types <class "
            "'numpy.dtypes.BoolDType'> -> None");
    }
    if (entry.op) return elementwise(t, base::known(entry.op), {a}, entry.numpy, node);
    return array_type_of(a) ? from_node(t, whole(t, a)) : a;
  }
  const Kind number = kind == Kind::py_bool() ? Kind::py_int() : kind;
  const NodeId x = stage(t, a, number);
  if (!entry.op) return Scalar{number, x};
  if (op == Operator::Invert && number != Kind::py_int())
    raise(t, ExceptionKind::TypeError, "bad operand type for unary ~: '" + type_name(t, a) + "'");
  if (op == Operator::USub && number == Kind::py_int())
    return python_int(t, Operator::Sub, t.builder->index(0), x);
  return Scalar{number, t.builder->make(base::known(entry.op), {x})};
}

}  // namespace ingot::frontend
