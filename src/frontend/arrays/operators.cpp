#include "frontend/arrays/operators.h"

#include <cmath>
#include <limits>

#include "frontend/arrays/arrays.h"
#include "frontend/arrays/known_sizes.h"
#include "frontend/arrays/products.h"
#include "frontend/arrays/scalars.h"
#include "frontend/kinds/generators.h"
#include "frontend/kinds/members.h"
#include "frontend/kinds/objects.h"
#include "frontend/kinds/optionals.h"
#include "frontend/kinds/rows.h"
#include "frontend/kinds/sequences.h"
#include "frontend/kinds/special_methods.h"
#include "frontend/kinds/strings.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

/// Up to this number float64 represents all ints exactly.
constexpr int64_t kExactInFloat = int64_t{1} << 53;

/// The comparison with its operands exchanged.
Op mirrored(Op op) {
  switch (op) {
    case Op::less: return Op::greater;
    case Op::less_equal: return Op::greater_equal;
    case Op::greater: return Op::less;
    case Op::greater_equal: return Op::less_equal;
    default: return op;
  }
}

/// `a op b` for an a on this side of b: above it for 1.
bool compare_out_of_range(Op op, int side) {
  if (op == Op::equal || op == Op::not_equal) return op == Op::not_equal;
  return (op == Op::greater || op == Op::greater_equal) == (side > 0);
}

/// Whether operators with other operands would make arrays of it, or are not those of numbers.
bool is_iterated(const Value& value) {
  return is_sequence(value) || Strings::is_string(value) || is_known_string(value);
}

/// What the kinds of two values answer, `ask(kind)`, that of the greater precedence first; none: neither
/// does.
template <class Ask>
std::optional<Value> answer_of_kinds(const Value& a, const Value& b, Ask ask) {
  const ValueKind& left = kind_of_value(a);
  const ValueKind& right = kind_of_value(b);
  const bool is_left_first = left.precedence() >= right.precedence();
  if (std::optional<Value> result = ask(is_left_first ? left : right)) return result;
  return &left == &right ? std::nullopt : ask(is_left_first ? right : left);
}

nb::object numpy_function(std::string_view name) {
  return attribute_or(imported("numpy"), std::string(name).c_str(), nb::none());
}

std::optional<Value> binary_of_known(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node);
Value binary_of_numbers(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node);
/// Whether an operator of two numbers is Python's own, without NumPy.
bool is_pythons_own(const Value& a, const Value& b);
std::optional<Value> compare_open_classes(Tracer& t, Operator op, const Value& a, const Value& b,
                                          nb::handle node);
Value compare_identity(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node);
Value contains(Tracer& t, Operator op, const Value& wanted, const Value& container, nb::handle node);
Value compare_values(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node);
Value compare_numbers(Tracer& t, Operator op, const Value& a, const Value& b);
/// Compares Python's int with its float or complex exactly.
NodeId compare_int(Tracer& t, ir::Op op, const Value& number, const Value& other);
Value python_arithmetic(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node);
Value python_int(Tracer& t, Operator op, NodeId a, NodeId b, nb::handle node);
Value python_float(Tracer& t, Operator op, NodeId a, NodeId b, nb::handle node);
Value python_power(Tracer& t, const Value& a, const Value& b, nb::handle node);
Value complex_power(Tracer& t, NodeId x, NodeId y);  ///< Python's power, with its exceptions
std::optional<Value> compare_complex_scalars(Tracer& t, ir::Op op, const Value& a, const Value& b);

}  // namespace

Value binary(Tracer& t, Operator op, const Value& left, const Value& right, nb::handle node) {
  if (const std::optional<Value> result = binary_of_objects(t, op, left, right, node)) return *result;
  const bool are_known = left.is<Static>() && right.is<Static>();  // a Flag has operators of its own
  const Value a = are_known ? left : plain_number(t, left);
  const Value b = are_known ? right : plain_number(t, right);
  const auto with = [&](const Value& x, const Value& y) { return binary(t, op, x, y, node); };
  if (std::optional<Value> result = Members(t).on_each(a, b, with)) return *result;
  if (std::optional<Value> result = binary_of_known(t, op, a, b, node)) return *result;
  const auto by_kind = [&](const ValueKind& kind) { return kind.binary(t, op, a, b, node); };
  if (std::optional<Value> result = answer_of_kinds(a, b, by_kind)) return *result;
  if (kind_of(a) && kind_of(b)) return binary_of_numbers(t, op, a, b, node);
  const char* const symbol = info(op).symbol;
  // The characters of a format decide what it takes.
  if (!(op == Operator::Mod && a.is<Characters>())) raise_by_type(t, "binary", symbol, {a, b});
  if (op == Operator::Mod)
    if (const std::optional<Value> text = formatted(t, a, b, node)) return *text;
  if (const std::optional<std::pair<Value, Value>> arrays = as_arrays(t, a, b, node))
    return binary(t, op, arrays->first, arrays->second, node);
  if (is_iterated(a) || is_iterated(b)) {
    unsupported(t, node, std::string("'") + symbol + "' of " + type_name(t, a) + " and " + type_name(t, b),
                "make arrays of them with np.array(...), or take their elements one by one");
  }
  if (op == Operator::MatMult && (a.is<Array>() || b.is<Array>())) return matmul(t, a, b, node);
  raise(t, ExceptionKind::TypeError,
        std::string("unsupported operand type(s) for ") + symbol + ": '" + type_name(t, a) + "' and '" +
            type_name(t, b) + "'");
}

namespace {

/// An operator of two known values, which Python computes; none: another one.
std::optional<Value> binary_of_known(Tracer& t, Operator op, const Value& a, const Value& b,
                                     nb::handle node) {
  if (!a.is<Static>() || !b.is<Static>()) return std::nullopt;
  // Powers of floats are computed by Ingot's own function, even if the operands are known.
  const auto is_inexact = [&](const Value& value) {
    const std::optional<Kind> kind = kind_of(value);
    return kind && (base::is_float(kind->dtype()) || base::is_complex(kind->dtype()));
  };
  if (op == Operator::Pow && (is_inexact(a) || is_inexact(b))) return std::nullopt;
  const nb::object& x = a.as<Static>()->object;
  const nb::object& y = b.as<Static>()->object;
  const std::string large = too_large_by(op, x, y);
  if (large.starts_with("an int")) unsupported(t, node, "an int of more than a million bits", "use floats");
  if (!large.empty()) unsupported(t, node, large, "use arrays, or an argument that is as large");
  return by_python(t, [&] { return Static{imported("operator").attr(info(op).host)(x, y)}; });
}

/// An operator of numbers and arrays.
Value binary_of_numbers(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node) {
  const Kind j = base::known(kind_of(a));
  const Kind k = base::known(kind_of(b));
  if (op == Operator::MatMult && j.is_python() && k.is_python()) raise_by_type(t, "binary", "@", {a, b});
  if (op == Operator::MatMult) return matmul(t, a, b, node);
  if (is_pythons_own(a, b)) return python_arithmetic(t, op, a, b, node);
  // NumPy squares arrays, which gives int8 for bools; their other powers by ints have 64 bits. Squares of
  // complex zeros have signs, powers have not.
  if (op == Operator::Pow && a.is<Array>() && k == Kind::py_int()) {
    const bool is_bool = base::is_bool(j.dtype());
    const Value exponent =
        is_bool ? Value(Static{require_static(t, b, "the exponent of an array of bools", node)}) : b;
    if ((is_bool || base::is_complex(j.dtype())) && static_int(exponent) == 2)
      return elementwise(t, Op::square, {a}, "square", node);
  }
  return elementwise(t, base::known(info(op).op), {a, b}, info(op).numpy, node);
}

bool is_pythons_own(const Value& a, const Value& b) {
  const Kind left = base::known(kind_of(a));
  const Kind right = base::known(kind_of(b));
  if (left.is_python() && right.is_python()) return true;
  // np.float64 is a subclass of float, which complex's own operators take.
  return left == Kind::py_complex() && right == Kind(DType::Float64) && !rank_of(b);
}

}  // namespace

Value equal_members(Tracer& t, const Value& a, const Value& b, nb::handle node) {
  if (a.is<Array>() || b.is<Array>())
    unsupported(t, node, "comparing containers of arrays", "compare the arrays themselves");
  // For containers an object equals itself, even NaN.
  const bool is_static = a.is<Static>() && b.is<Static>();
  const bool is_one =
      is_static ? a.as<Static>()->object.is(b.as<Static>()->object) : !a.is<Tuple>() && same(a, b);
  if (is_one) return Static{nb::bool_(true)};
  const auto is_no_number = [](const Value& v) { return is_known_string(v) || is_none(v); };
  if (is_no_number(a) != is_no_number(b) && (kind_of(a) || kind_of(b))) return Static{nb::bool_(false)};
  const auto settled = [&](const Value& v) { return v.is<Maybe>() ? v : present(t, v, "the element", node); };
  return compare(t, Operator::Eq, settled(a), settled(b), node);
}

Value answer(Tracer& t, Operator op, const Value& is, nb::handle node) {
  return is_negated(op) ? unary(t, Operator::Not, is, node) : is;
}

Value answer(Tracer& t, Operator op, NodeId is) { return as_bool(t, is_negated(op) ? negate(t, is) : is); }

Value as_bool(const Tracer& t, NodeId node) {
  if (!t.builder->function().is_constant(node)) return Scalar{Kind::py_bool(), node};
  return Static{nb::bool_(t.builder->function().constant(node).bits[0] != 0)};
}

namespace {

/// A comparison of `a` with a value that equals no number: of an array for each element; for a NumPy number
/// the result is NumPy's, except with None.
Value of_no_number(Tracer& t, const Value& a, const Value& other, bool answer) {
  const std::optional<Kind> kind = kind_of(a);
  if (!kind || kind->is_python() || (!a.is<Array>() && is_none(other))) return Static{nb::bool_(answer)};
  const NodeId flag = t.builder->constant(answer);
  std::vector<NodeId> operands{flag};
  if (a.is<Array>())
    for (const NodeId length : lengths_of(t, whole(t, a))) operands.push_back(length);
  return from_node(t, operands.size() == 1 ? flag : t.builder->make(Op::broadcast, operands));
}

}  // namespace

Value compare(Tracer& t, Operator op, const Value& first, const Value& second, nb::handle node) {
  if (const std::optional<Value> result = Members(t).compare(op, first, second)) return *result;
  if (is_comparison(op))
    if (const std::optional<Value> result = compare_objects(t, op, first, second, node)) return *result;
  if (!is_identity(op))
    if (const std::optional<Value> result = Rows(t).compare(op, first, second, node)) return *result;
  if (is_membership(op)) return contains(t, op, first, second, node);
  if (is_comparison(op))
    if (const std::optional<Value> result = compared_optional(t, op, first, second, node)) return *result;
  if (const std::optional<Value> result = compare_open_classes(t, op, first, second, node)) return *result;
  if (is_identity(op)) return compare_identity(t, op, first, second, node);
  const bool are_known = first.is<Static>() && second.is<Static>();
  return compare_values(t, op, are_known ? first : plain_number(t, first),
                        are_known ? second : plain_number(t, second), node);
}

namespace {

/// A comparison of classes of which one is that of an instance of unknown class; none: another comparison.
std::optional<Value> compare_open_classes(Tracer& t, Operator op, const Value& a, const Value& b,
                                          nb::handle node) {
  const bool is_first = PooledValues::is_open_class(a);
  if (is_of(OperatorGroup::Order, op) || !(is_first || PooledValues::is_open_class(b))) return std::nullopt;
  const Value& other = is_first ? b : a;
  const Pooled& record = *PooledValues::decides(is_first ? a : b);
  if (PooledValues::is_open_class(other)) {
    return PooledValues(t).on_each(record, [&](const Value& known) {
      return compare(t, op, Static{class_of_value(t, known)}, other, node);
    });
  }
  return PooledValues(t).is_of(record, [&](const nb::object& type) {
    return !is_negated(op) == (other.is<Static>() && other.as<Static>()->object.is(type));
  });
}

/// `a is b` and `a is not b`.
Value compare_identity(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node) {
  if (PooledValues(t).of(a) || PooledValues(t).of(b)) return answer(t, op, PooledValues(t).is_same(a, b));
  const Value& other = is_none(a) ? b : a;
  if (const Maybe* m = other.as<Maybe>(); m != nullptr && (is_none(a) || is_none(b))) {
    const NodeId tag = t.builder->make(Op::tag, {m->node});
    return Scalar{Kind::py_bool(), t.builder->make(is_negated(op) ? Op::not_equal : Op::equal,
                                                   {tag, t.builder->constant<int8_t>(1)})};
  }
  std::optional<bool> identical;
  if (a.v.index() == b.v.index()) identical = kind_of_value(a).identical(t, a, b, node);
  if (!identical && is_distinct(a, b)) identical = false;
  const Static* known = a.is<Static>() ? a.as<Static>() : b.as<Static>();
  const auto is_new = [](const Value& v) { return v.is<Scalar>() || container_of(v) != 0; };
  if (!identical && known != nullptr && !kind_of(*known) && (is_new(a) || is_new(b))) identical = false;
  if (!identical && !is_none(a) && !is_none(b))
    unsupported(t, node, "`is` between " + type_name(t, a) + " and " + type_name(t, b),
                "compare values with ==");
  return Static{nb::bool_(identical.value_or(false) != is_negated(op))};
}

/// `wanted in container` and `wanted not in container`.
Value contains(Tracer& t, Operator op, const Value& wanted, const Value& container, nb::handle node) {
  const ValueKind& kind = kind_of_value(container);
  const ValueKind& own = kind_of_value(wanted);
  std::optional<Value> inside;
  if (kind.precedence() <= own.precedence()) inside = own.contained(t, wanted, container, node);
  if (!inside && iterates_generator(container)) inside = is_yielded(t, wanted, container, node);
  if (!inside) {
    inside = call_special(t, container, "__contains__", {wanted}, node);
    if (inside) inside = as_bool(t, truth(t, *inside, node));
  }
  if (!inside) inside = kind.contains(t, container, wanted, node);
  if (!inside) unsupported(t, node, "`in` with " + type_name(t, container), "compare in a loop");
  return answer(t, op, *inside, node);
}

}  // namespace

/// Whether one of several values equals another one, as containers compare.
Value is_among(Tracer& t, std::vector<Value> values, const Value& wanted, nb::handle node) {
  NodeId found = t.builder->constant(false);
  for (const Value& value : values)
    found = t.builder->make(Op::bitwise_or, {found, truth(t, equal_members(t, wanted, value, node), node)});
  return as_bool(t, found);
}

namespace {

/// A comparison of values, which no class of the user's decides.
Value compare_values(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node) {
  const auto by_kind = [&](const ValueKind& kind) { return kind.compare(t, op, a, b, node); };
  if (std::optional<Value> result = answer_of_kinds(a, b, by_kind)) return *result;
  if (a.is<Static>() && b.is<Static>()) return binary(t, op, a, b, node);
  const std::optional<Kind> j = kind_of(a);
  const std::optional<Kind> k = kind_of(b);
  if (j && k) return compare_numbers(t, op, a, b);
  const Value& other = j ? b : a;
  const bool is_sequence = other.is<Tuple>() || other.is<List>();
  const bool pythons = j ? j->is_python() : k && k->is_python();
  if (is_equality(op) &&
      (is_none(a) || is_none(b) || ((j || k) && is_known_string(other)) || (is_sequence && pythons)))
    return of_no_number(t, j ? a : b, other, op == Operator::NotEq);
  raise_by_type(t, "compare", info(op).symbol, {a, b});
  if (const std::optional<std::pair<Value, Value>> arrays = as_arrays(t, a, b, node))
    return compare(t, op, arrays->first, arrays->second, node);
  unsupported(t, node, "comparing " + type_name(t, a) + " with " + type_name(t, b),
              "compare numbers or arrays");
}

/// A comparison of numbers and arrays.
Value compare_numbers(Tracer& t, Operator op, const Value& a, const Value& b) {
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
          std::string("'") + entry.symbol + "' not supported between instances of '" + type_name(t, a) +
              "' and '" + type_name(t, b) + "'");
  }
  if (common == Kind::py_int()) {
    if (const int side = side_of_64_bits(a); side != 0)
      return Static{nb::bool_(compare_out_of_range(by, side))};
    if (const int side = side_of_64_bits(b); side != 0)
      return Static{nb::bool_(compare_out_of_range(mirrored(by), side))};
  }
  const auto is_large = [&t](const Value& v, Kind kind) {
    const std::optional<int64_t> known = kind == Kind::py_int() ? static_int(v) : std::nullopt;
    return kind == Kind::py_int() && (!known || *known < -kExactInFloat || *known > kExactInFloat);
  };
  if (common != Kind::py_int() && is_large(a, j)) return Scalar{Kind::py_bool(), compare_int(t, by, a, b)};
  if (common != Kind::py_int() && is_large(b, k))
    return Scalar{Kind::py_bool(), compare_int(t, mirrored(by), b, a)};
  return Scalar{Kind::py_bool(), t.builder->make(by, {stage(t, a, common), stage(t, b, common)})};
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
  if (const Static* s = number.as<Static>()) {
    double rounded = PyLong_AsDouble(s->object.ptr());
    if (PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      rounded = std::copysign(std::numeric_limits<double>::infinity(), s->object < nb::int_(0) ? -1.0 : 1.0);
    }
    const NodeId constant = t.builder->constant(rounded);
    const nb::object python = imported("operator").attr(info(comparison_of(op)).host);
    const bool of_tie = nb::cast<bool>(python(s->object, nb::float_(rounded)));
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

Value unary(Tracer& t, Operator op, const Value& a, nb::handle node) {
  if (op == Operator::Not) {
    if (const std::optional<bool> known = static_truth(t, a)) return Static{nb::bool_(!*known)};
    return Scalar{Kind::py_bool(), t.builder->make(Op::invert, {truth(t, a, node)})};
  }
  const OperatorInfo& entry = info(op);
  if (const std::optional<Value> result = unary_of_object(t, op, a, node)) return *result;
  if (const std::optional<Value> result = kind_of_value(a).unary(t, op, a, node)) return *result;
  const std::optional<Kind> kind = kind_of(a);
  if (!kind) {
    raise(t, ExceptionKind::TypeError,
          std::string("bad operand type for unary ") + entry.symbol + ": '" + type_name(t, a) + "'");
  }
  if (!kind->is_python()) {
    if (*kind == Kind(DType::Bool) && op == Operator::USub) {
      raise(t, ExceptionKind::TypeError,
            "The numpy boolean negative, the `-` operator, is not supported, use the `~` operator or the "
            "logical_not "
            "function instead.");
    }
    if (*kind == Kind(DType::Bool) && op == Operator::UAdd) {
      raise(t, ExceptionKind::TypeError,
            "ufunc 'positive' did not contain a loop with signature matching types <class "
            "'numpy.dtypes.BoolDType'> -> "
            "None");
    }
    if (entry.op) return elementwise(t, base::known(entry.op), {a}, entry.numpy, node);
    return a.is<Array>() ? from_node(t, whole(t, a)) : a;
  }
  const Kind number = *kind == Kind::py_bool() ? Kind::py_int() : *kind;
  const NodeId x = stage(t, a, number);
  if (!entry.op) return Scalar{number, x};
  if (op == Operator::Invert && number != Kind::py_int())
    raise(t, ExceptionKind::TypeError, "bad operand type for unary ~: '" + type_name(t, a) + "'");
  if (op == Operator::USub && number == Kind::py_int())
    return python_int(t, Operator::Sub, t.builder->index(0), x, node);
  return Scalar{number, t.builder->make(base::known(entry.op), {x})};
}

namespace {

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

Value python_arithmetic(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node) {
  const auto weak = [](Kind kind) { return kind.is_python() ? kind : Kind::py_float(); };
  Kind common = base::known(frontend::join(weak(base::known(kind_of(a))), weak(base::known(kind_of(b)))));
  const bool bits = op == Operator::BitAnd || op == Operator::BitOr || op == Operator::BitXor;
  if (common == Kind::py_bool() && !bits) common = Kind::py_int();
  const OperatorInfo& entry = info(op);
  const bool shift = op == Operator::LShift || op == Operator::RShift;
  if ((bits || shift) && common != Kind::py_int() && common != Kind::py_bool()) {
    raise(t, ExceptionKind::TypeError,
          std::string("unsupported operand type(s) for ") + entry.symbol + ": '" + type_name(t, a) +
              "' and '" + type_name(t, b) + "'");
  }
  if (bits)
    return Scalar{common, t.builder->make(base::known(entry.op), {stage(t, a, common), stage(t, b, common)})};
  if (op == Operator::Pow) return python_power(t, a, b, node);
  if (common == Kind::py_int()) return python_int(t, op, stage(t, a, common), stage(t, b, common), node);
  if (common == Kind::py_float()) {
    // An int operand is converted as Python's float(int) does; beyond 2**53 it rounds, as there.
    return python_float(t, op, stage(t, a, common), stage(t, b, common), node);
  }
  if (op == Operator::FloorDiv || op == Operator::Mod) {
    raise(t, ExceptionKind::TypeError,
          std::string("unsupported operand type(s) for ") + entry.symbol + ": '" + type_name(t, a) +
              "' and '" + type_name(t, b) + "'");
  }
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

Value python_int(Tracer& t, Operator op, NodeId a, NodeId b, nb::handle) {
  const auto no_overflow = [&](Op predicate) {
    t.builder->check(t.builder->make(Op::invert, {t.builder->make(predicate, {a, b})}),
                     ExceptionKind::OverflowError, "a Python int leaves 64 bits here");
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
    t.builder->check(t.builder->make(Op::invert, {t.builder->make(Op::bitwise_and, {least, minus_one})}),
                     ExceptionKind::OverflowError, "a Python int leaves 64 bits here");
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
  t.builder->check(t.builder->make(Op::bitwise_or, {exact, zero}), ExceptionKind::OverflowError,
                   "a Python int leaves 64 bits here");
  return Scalar{Kind::py_int(), shifted};
}

Value python_float(Tracer& t, Operator op, NodeId a, NodeId b, nb::handle) {
  if (op == Operator::Div || op == Operator::FloorDiv || op == Operator::Mod) {
    const char* message = op == Operator::Div   ? "float division by zero"
                          : op == Operator::Mod ? "float modulo"
                                                : "float floor division by zero";
    check(t, t.builder->make(Op::not_equal, {b, t.builder->constant(0.0)}), ExceptionKind::ZeroDivisionError,
          message);
  }
  return Scalar{Kind::py_float(), t.builder->make(base::known(info(op).op), {a, b})};
}

Value python_power(Tracer& t, const Value& a, const Value& b, nb::handle node) {
  const auto weak = [](Kind kind) { return kind.is_python() ? kind : Kind::py_float(); };
  const Kind both_kinds =
      base::known(frontend::join(weak(base::known(kind_of(a))), weak(base::known(kind_of(b)))));
  const Kind common = base::known(frontend::join(both_kinds, Kind::py_int()));
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
    t.builder->check(t.builder->make(Op::invert, {t.builder->make(Op::power_overflows, {x, y})}),
                     ExceptionKind::OverflowError, "a Python int leaves 64 bits here");
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

std::optional<Value> compare_complex_scalars(Tracer& t, Op op, const Value& a, const Value& b) {
  // NumPy orders two complex scalars by the real parts, or if these are equal by the imaginary ones, whether
  // or not the other parts are NaN. Arrays differ: an element with a NaN part has no order. np.bool compares
  // like arrays.
  const Kind kinds[] = {base::known(kind_of(a)), base::known(kind_of(b))};
  const DType common = result_kind(kinds).dtype();
  const bool own = std::ranges::any_of(kinds, [&](Kind k) { return k == Kind(common); });
  if (!base::is_complex(common) || !own || op == Op::equal || op == Op::not_equal) return std::nullopt;
  if (a.is<Array>() || b.is<Array>() || kinds[0] == Kind(DType::Bool)) return std::nullopt;
  const NodeId x = stage(t, a, common);
  const NodeId y = stage(t, b, common);
  const NodeId left = t.builder->make(Op::real, {x});
  const NodeId right = t.builder->make(Op::real, {y});
  const NodeId by_imaginary =
      t.builder->make(op, {t.builder->make(Op::imaginary, {x}), t.builder->make(Op::imaginary, {y})});
  return from_node(t, t.builder->make(Op::select, {t.builder->make(Op::equal, {left, right}), by_imaginary,
                                                   t.builder->make(op, {left, right})}));
}

/// A comparison of NumPy integers with a Python int, or of signed integers with uint64, which is exact for
/// all values; none: it is another one.
std::optional<Value> compare_with_int(Tracer& t, Op op, const std::vector<Value>& operands,
                                      std::span<const Kind> kinds) {
  const ir::OpInfo& card = ir::info(op);
  if (operands.size() != 2 || card.gives != ir::Gives::Bool || !ir::accepts(op, DType::Bool)) return {};
  const auto is_int = [&](size_t i) { return kinds[i] == Kind::py_int(); };
  const auto is_beside_unsigned = [&](size_t i) {
    const DType dtype = kinds[i].dtype();
    return kinds[1 - i] == Kind(DType::UInt64) && base::is_int(dtype) && base::is_signed(dtype);
  };
  if (is_int(0) && is_int(1)) return {};
  if (!is_int(0) && !is_int(1) && !is_beside_unsigned(0) && !is_beside_unsigned(1)) return {};
  const size_t at = is_int(0) || is_beside_unsigned(0) ? 0 : 1;
  const DType strong = kinds[1 - at].dtype();
  if (!base::is_int(strong)) return {};
  if (const int side = side_of_64_bits(operands[at]); side != 0) {
    const nb::object number = operands[at].as<Static>()->object;
    if (strong == DType::UInt64 && side > 0 && number < (nb::int_(1) << nb::int_(64))) {
      std::vector<Value> both = operands;
      both[at] = Static{numpy_function("uint64")(number)};
      return elementwise(t, op, std::move(both), "", {});
    }
    return of_no_number(t, operands[1 - at], operands[at],
                        compare_out_of_range(at == 0 ? op : mirrored(op), side));
  }
  const bool unsigned_64 = strong == DType::UInt64;
  const DType loop = unsigned_64 ? DType::UInt64 : DType::Int64;
  std::vector<NodeId> nodes(2);
  nodes[at] = is_int(at) ? stage(t, operands[at], Kind::py_int()) : node_as(t, operands[at], DType::Int64);
  nodes[1 - at] = node_as(t, operands[1 - at], loop);
  nodes = broadcast_together(t, std::move(nodes));
  const NodeId integer = nodes[at];
  nodes[at] = t.builder->cast(integer, loop);
  const NodeId compared = by_element(t, nodes, [&](const auto& both) { return t.builder->make(op, both); });
  if (!unsigned_64) return from_node(t, compared);
  // A negative int is less than every number of uint64.
  std::vector<NodeId> sides(2);
  sides[at] = t.builder->index(0);
  sides[1 - at] = t.builder->index(1);
  const NodeId negative = by_element(t, {integer, t.builder->index(0)},
                                     [&](const auto& both) { return t.builder->make(Op::less, both); });
  return from_node(t, by_element(t, {negative, t.builder->make(op, sides), compared},
                                 [&](const auto& all) { return t.builder->make(Op::select, all); }));
}

/// An elementwise function of only Python's numbers, of which one is beyond the range of int64: to NumPy,
/// such an int is an object, or an element of uint64. None: others.
std::optional<Value> of_large_ints(Tracer& t, const std::vector<Value>& operands, std::span<const Kind> kinds,
                                   std::string_view numpy_name) {
  const auto is_large = [](const Value& value) { return side_of_64_bits(value) != 0; };
  if (std::ranges::none_of(operands, is_large)) return {};
  if (!std::ranges::all_of(kinds, [](Kind k) { return k.is_python(); })) return {};
  nb::list given;
  for (const Value& value : operands)
    given.append(require_static(t, value, "a number together with an int of more than 64 bits", t.here));
  return by_python(t, [&] { return Static{numpy_function(numpy_name)(*given)}; });
}

}  // namespace

Value elementwise(Tracer& t, Op op, std::vector<Value> operands, std::string_view numpy_name, nb::handle) {
  std::vector<Kind> kinds;
  for (const Value& value : operands) {
    const std::optional<Kind> kind = kind_of(value);
    if (is_none(value))
      unsupported(t, t.here, "np." + std::string(numpy_name) + " of None", "pass numbers or arrays");
    if (!kind) raise_by_type(t, "call", std::string(numpy_name), operands, numpy_function(numpy_name));
    if (is_sequence(value) || is_known_string(value)) {
      unsupported(t, {}, "np." + std::string(numpy_name) + " of a " + type_name(t, value),
                  "make an array of it with np.array(...)");
    }
    if (!kind) {
      raise(t, ExceptionKind::TypeError,
            "ufunc '" + std::string(numpy_name) + "' not supported for the input types");
    }
    kinds.push_back(*kind);
  }
  if (const std::optional<Value> made = of_large_ints(t, operands, kinds, numpy_name)) return *made;
  const bool whole_numbers =
      std::ranges::all_of(kinds, [](Kind k) { return base::is_int(k.dtype()) || base::is_bool(k.dtype()); });
  const bool rounds = op == Op::floor || op == Op::ceil || op == Op::trunc;
  if (rounds && whole_numbers) return from_node(t, node_as(t, operands[0], kinds[0].dtype()));
  const bool is_fabs = op == Op::absolute && numpy_name == "fabs";
  if (is_fabs && whole_numbers) kinds[0] = *loop_dtype(Op::sqrt, kinds);
  std::optional<DType> loop = loop_dtype(op, kinds);
  if (is_fabs && loop && base::is_complex(*loop)) loop.reset();
  const bool flags = std::ranges::all_of(kinds, [](Kind k) { return base::is_bool(k.dtype()); });
  if (!loop || ((op == Op::subtract || op == Op::negative || op == Op::sign) && flags))
    raise_by_type(t, "call", std::string(numpy_name), operands, numpy_function(numpy_name));
  if (!loop) {
    raise(t, ExceptionKind::TypeError,
          "ufunc '" + std::string(numpy_name) +
              "' not supported for the input types, and the inputs could not be safely "
              "coerced to any supported types according to the casting rule ''safe''");
  }
  if (const std::optional<Value> exact = compare_with_int(t, op, operands, kinds)) return *exact;
  std::vector<NodeId> nodes;
  for (const Value& value : operands) {
    if (value.is<Array>()) nodes.push_back(t.builder->cast(whole(t, value), *loop));
    else nodes.push_back(stage_for_loop(t, value, *loop));
  }
  nodes = broadcast_together(t, std::move(nodes));
  if (op == Op::power && base::is_int(*loop) && base::is_signed(*loop)) {
    const NodeId zero = t.builder->cast(t.builder->index(0), *loop);
    const NodeId negative = t.builder->make(Op::less, {nodes[1], zero});
    NodeId any = negative;
    if (t.builder->function().type(negative).is_array()) any = reduce_all(t, {negative}, Op::bitwise_or);
    else if (t.builder->function().type(nodes[0]).is_array()) {
      any =
          t.builder->make(Op::bitwise_and,
                          {any, t.builder->make(Op::not_equal, {size_of(t, nodes[0]), t.builder->index(0)})});
    }
    check(t, t.builder->make(Op::invert, {any}), ExceptionKind::ValueError,
          "Integers to negative integer powers are not allowed.");
  }
  return from_node(
      t, by_element(t, std::move(nodes), [&](const auto& each) { return t.builder->make(op, each); }));
}

std::optional<bool> static_truth(Tracer& t, const Value& value) {
  if (const Pooled* r = PooledValues::open(value)) {
    for (const nb::object& type : PooledValues(t).classes_of(*r))
      if (has_truth(t, type)) return std::nullopt;
  } else if (const nb::object type = class_of_value(t, value); type.is_valid() && has_truth(t, type)) {
    return std::nullopt;
  }
  if (const std::optional<Value> iterated = iterated_of(t, value))
    return static_truth(t, iterated->is<Zip>() ? iterated->as<Zip>()->members->at(0) : *iterated);
  return kind_of_value(value).known_truth(t, value);
}

NodeId truth(Tracer& t, const Value& value, nb::handle node) {
  if (const std::optional<bool> known = static_truth(t, value)) return t.builder->constant(*known);
  if (const std::optional<Value> iterated = iterated_of(t, value))
    return truth(t, iterated->is<Zip>() ? iterated->as<Zip>()->members->at(0) : *iterated, node);
  if (const std::optional<NodeId> own = kind_of_value(value).truth(t, value, node)) return *own;
  if (has_class(t, value)) return truth(t, truth_of_object(t, value, node), node);
  unsupported(t, node, "the truth of a " + type_name(t, value), "compare explicitly");
}

}  // namespace ingot::frontend
