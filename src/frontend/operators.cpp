#include <cmath>
#include <limits>

#include "frontend/evaluator_parts.h"
#include "frontend/kinds/fields.h"
#include "frontend/kinds/members.h"
#include "frontend/kinds/optionals.h"
#include "frontend/kinds/strings.h"
#include "frontend/kinds/value_kind.h"
#include "frontend/known_sizes.h"
#include "frontend/rows.h"

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
  return is_sequence(value) || Evaluator::Strings::is_string(value) || is_known_string(value);
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

}  // namespace

Value Evaluator::binary(Operator op, const Value& left, const Value& right, nb::handle node) {
  if (const std::optional<Value> result = binary_of_objects(op, left, right, node)) return *result;
  const bool are_known = left.is<Static>() && right.is<Static>();  // a Flag has operators of its own
  const Value a = are_known ? left : plain_number(left);
  const Value b = are_known ? right : plain_number(right);
  const auto with = [&](const Value& x, const Value& y) { return binary(op, x, y, node); };
  if (std::optional<Value> result = Members(*this).on_each(a, b, with)) return *result;
  if (std::optional<Value> result = binary_of_known(op, a, b, node)) return *result;
  const auto by_kind = [&](const ValueKind& kind) { return kind.binary(*this, op, a, b, node); };
  if (std::optional<Value> result = answer_of_kinds(a, b, by_kind)) return *result;
  if (kind_of(a) && kind_of(b)) return binary_of_numbers(op, a, b, node);
  const char* const symbol = info(op).symbol;
  // The characters of a format decide what it takes.
  if (!(op == Operator::Mod && a.is<Characters>())) raise_by_type("binary", symbol, {a, b});
  if (op == Operator::Mod)
    if (const std::optional<Value> text = formatted(a, b, node)) return *text;
  if (const std::optional<std::pair<Value, Value>> arrays = as_arrays(a, b, node))
    return binary(op, arrays->first, arrays->second, node);
  if (is_iterated(a) || is_iterated(b)) {
    unsupported(node, std::string("'") + symbol + "' of " + type_name(a) + " and " + type_name(b),
                "make arrays of them with np.array(...), or take their elements one by one");
  }
  if (op == Operator::MatMult && (a.is<Array>() || b.is<Array>())) return matmul(a, b, node);
  raise(ExceptionKind::TypeError, std::string("unsupported operand type(s) for ") + symbol + ": '" +
                                      type_name(a) + "' and '" + type_name(b) + "'");
}

/// An operator of two known values, which Python computes; none: another one.
std::optional<Value> Evaluator::binary_of_known(Operator op, const Value& a, const Value& b,
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
  if (large.starts_with("an int")) unsupported(node, "an int of more than a million bits", "use floats");
  if (!large.empty()) unsupported(node, large, "use arrays, or an argument that is as large");
  return by_python(*this, [&] { return Static{imported("operator").attr(info(op).host)(x, y)}; });
}

/// An operator of numbers and arrays.
Value Evaluator::binary_of_numbers(Operator op, const Value& a, const Value& b, nb::handle node) {
  const Kind j = base::known(kind_of(a));
  const Kind k = base::known(kind_of(b));
  if (op == Operator::MatMult && j.is_python() && k.is_python()) raise_by_type("binary", "@", {a, b});
  if (op == Operator::MatMult) return matmul(a, b, node);
  if (is_pythons_own(a, b)) return python_arithmetic(op, a, b, node);
  // NumPy squares arrays, which gives int8 for bools; their other powers by ints have 64 bits. Squares of
  // complex zeros have signs, powers have not.
  if (op == Operator::Pow && a.is<Array>() && k == Kind::py_int()) {
    const bool is_bool = base::is_bool(j.dtype());
    const Value exponent =
        is_bool ? Value(Static{require_static(b, "the exponent of an array of bools", node)}) : b;
    if ((is_bool || base::is_complex(j.dtype())) && static_int(exponent) == 2)
      return elementwise(Op::square, {a}, "square", node);
  }
  return elementwise(base::known(info(op).op), {a, b}, info(op).numpy, node);
}

bool Evaluator::is_pythons_own(const Value& a, const Value& b) const {
  const Kind left = base::known(kind_of(a));
  const Kind right = base::known(kind_of(b));
  if (left.is_python() && right.is_python()) return true;
  // np.float64 is a subclass of float, which complex's own operators take.
  return left == Kind::py_complex() && right == Kind(DType::Float64) && !rank_of(b);
}

Value Evaluator::equal_members(const Value& a, const Value& b, nb::handle node) {
  if (a.is<Array>() || b.is<Array>())
    unsupported(node, "comparing containers of arrays", "compare the arrays themselves");
  // For containers an object equals itself, even NaN.
  const bool is_static = a.is<Static>() && b.is<Static>();
  const bool is_one =
      is_static ? a.as<Static>()->object.is(b.as<Static>()->object) : !a.is<Tuple>() && same(a, b);
  if (is_one) return Static{nb::bool_(true)};
  const auto is_no_number = [](const Value& v) { return is_known_string(v) || is_none(v); };
  if (is_no_number(a) != is_no_number(b) && (kind_of(a) || kind_of(b))) return Static{nb::bool_(false)};
  const auto settled = [&](const Value& v) { return v.is<Maybe>() ? v : present(v, "the element", node); };
  return compare(Operator::Eq, settled(a), settled(b), node);
}

Value Evaluator::answer(Operator op, const Value& is, nb::handle node) {
  return is_negated(op) ? unary(Operator::Not, is, node) : is;
}

Value Evaluator::answer(Operator op, NodeId is) { return as_bool(is_negated(op) ? negate(is) : is); }

Value Evaluator::as_bool(NodeId node) const {
  if (!builder_->function().is_constant(node)) return Scalar{Kind::py_bool(), node};
  return Static{nb::bool_(builder_->function().constant(node).bits[0] != 0)};
}

/// A comparison of `a` with a value that equals no number: of an array for each element; for a NumPy number
/// the result is NumPy's, except with None.
Value Evaluator::of_no_number(const Value& a, const Value& other, bool answer) {
  const std::optional<Kind> kind = kind_of(a);
  if (!kind || kind->is_python() || (!a.is<Array>() && is_none(other))) return Static{nb::bool_(answer)};
  const NodeId flag = builder_->constant(answer);
  std::vector<NodeId> operands{flag};
  if (a.is<Array>())
    for (const NodeId length : lengths_of(whole(a))) operands.push_back(length);
  return from_node(operands.size() == 1 ? flag : builder_->make(Op::broadcast, operands));
}

Value Evaluator::compare(Operator op, const Value& first, const Value& second, nb::handle node) {
  if (const std::optional<Value> result = Members(*this).compare(op, first, second)) return *result;
  if (is_comparison(op))
    if (const std::optional<Value> result = compare_objects(op, first, second, node)) return *result;
  if (!is_identity(op))
    if (const std::optional<Value> result = Rows(*this).compare(op, first, second, node)) return *result;
  if (is_membership(op)) return contains(op, first, second, node);
  if (is_comparison(op))
    if (const std::optional<Value> result = compared_optional(*this, op, first, second, node)) return *result;
  if (const std::optional<Value> result = compare_open_classes(op, first, second, node)) return *result;
  if (is_identity(op)) return compare_identity(op, first, second, node);
  const bool are_known = first.is<Static>() && second.is<Static>();
  return compare_values(op, are_known ? first : plain_number(first),
                        are_known ? second : plain_number(second), node);
}

/// A comparison of classes of which one is that of an instance of unknown class; none: another comparison.
std::optional<Value> Evaluator::compare_open_classes(Operator op, const Value& a, const Value& b,
                                                     nb::handle node) {
  const bool is_first = PooledValues::is_open_class(a);
  if (is_of(OperatorGroup::Order, op) || !(is_first || PooledValues::is_open_class(b))) return std::nullopt;
  const Value& other = is_first ? b : a;
  const Pooled& record = *PooledValues::decides(is_first ? a : b);
  if (PooledValues::is_open_class(other)) {
    return PooledValues(*this).on_each(
        record, [&](const Value& known) { return compare(op, Static{class_of_value(known)}, other, node); });
  }
  return PooledValues(*this).is_of(record, [&](const nb::object& type) {
    return !is_negated(op) == (other.is<Static>() && other.as<Static>()->object.is(type));
  });
}

/// `a is b` and `a is not b`.
Value Evaluator::compare_identity(Operator op, const Value& a, const Value& b, nb::handle node) {
  if (PooledValues(*this).of(a) || PooledValues(*this).of(b))
    return answer(op, PooledValues(*this).is_same(a, b));
  const Value& other = is_none(a) ? b : a;
  if (const Maybe* m = other.as<Maybe>(); m != nullptr && (is_none(a) || is_none(b))) {
    const NodeId tag = builder_->make(Op::tag, {m->node});
    return Scalar{Kind::py_bool(), builder_->make(is_negated(op) ? Op::not_equal : Op::equal,
                                                  {tag, builder_->constant<int8_t>(1)})};
  }
  std::optional<bool> identical;
  if (a.v.index() == b.v.index()) identical = kind_of_value(a).identical(*this, a, b, node);
  if (!identical && is_distinct(a, b)) identical = false;
  const Static* known = a.is<Static>() ? a.as<Static>() : b.as<Static>();
  const auto is_new = [](const Value& v) { return v.is<Scalar>() || v.is<Reference>(); };
  if (!identical && known != nullptr && !kind_of(*known) && (is_new(a) || is_new(b))) identical = false;
  if (!identical && !is_none(a) && !is_none(b))
    unsupported(node, "`is` between " + type_name(a) + " and " + type_name(b), "compare values with ==");
  return Static{nb::bool_(identical.value_or(false) != is_negated(op))};
}

/// `wanted in container` and `wanted not in container`.
Value Evaluator::contains(Operator op, const Value& wanted, const Value& container, nb::handle node) {
  const ValueKind& kind = kind_of_value(container);
  const ValueKind& own = kind_of_value(wanted);
  std::optional<Value> inside;
  if (kind.precedence() <= own.precedence()) inside = own.contained(*this, wanted, container, node);
  if (!inside && iterates_generator(container)) inside = is_yielded(wanted, container, node);
  if (!inside) {
    inside = call_special(container, "__contains__", {wanted}, node);
    if (inside) inside = as_bool(truth(*inside, node));
  }
  if (!inside) inside = kind.contains(*this, container, wanted, node);
  if (!inside) unsupported(node, "`in` with " + type_name(container), "compare in a loop");
  return answer(op, *inside, node);
}

/// Whether one of several values equals another one, as containers compare.
Value Evaluator::is_among(std::vector<Value> values, const Value& wanted, nb::handle node) {
  NodeId found = builder_->constant(false);
  for (const Value& value : values)
    found = builder_->make(Op::bitwise_or, {found, truth(equal_members(wanted, value, node), node)});
  return as_bool(found);
}

/// A comparison of values, which no class of the user's decides.
Value Evaluator::compare_values(Operator op, const Value& a, const Value& b, nb::handle node) {
  const auto by_kind = [&](const ValueKind& kind) { return kind.compare(*this, op, a, b, node); };
  if (std::optional<Value> result = answer_of_kinds(a, b, by_kind)) return *result;
  if (a.is<Static>() && b.is<Static>()) return binary(op, a, b, node);
  const std::optional<Kind> j = kind_of(a);
  const std::optional<Kind> k = kind_of(b);
  if (j && k) return compare_numbers(op, a, b);
  const Value& other = j ? b : a;
  const bool is_sequence = other.is<Tuple>() || is_list(other);
  const bool pythons = j ? j->is_python() : k && k->is_python();
  if (is_equality(op) &&
      (is_none(a) || is_none(b) || ((j || k) && is_known_string(other)) || (is_sequence && pythons)))
    return of_no_number(j ? a : b, other, op == Operator::NotEq);
  raise_by_type("compare", info(op).symbol, {a, b});
  if (const std::optional<std::pair<Value, Value>> arrays = as_arrays(a, b, node))
    return compare(op, arrays->first, arrays->second, node);
  unsupported(node, "comparing " + type_name(a) + " with " + type_name(b), "compare numbers or arrays");
}

/// A comparison of numbers and arrays.
Value Evaluator::compare_numbers(Operator op, const Value& a, const Value& b) {
  const OperatorInfo& entry = info(op);
  const Op by = base::known(entry.op);
  const Kind j = base::known(kind_of(a));
  const Kind k = base::known(kind_of(b));
  // Python's complex has no order, so the NumPy scalar decides.
  const bool asks_numpy = (!j.is_python() || !k.is_python()) && !is_equality(op);
  if (asks_numpy || !is_pythons_own(a, b)) {
    if (const std::optional<Value> scalar = compare_complex_scalars(by, a, b)) return *scalar;
    return elementwise(by, {a, b}, entry.numpy, here_);
  }
  const Kind common = j.is_python() && k.is_python() ? base::known(frontend::join(j, k)) : Kind::py_complex();
  if (common == Kind::py_complex() && !is_equality(op)) {
    raise(ExceptionKind::TypeError, std::string("'") + entry.symbol +
                                        "' not supported between instances of '" + type_name(a) + "' and '" +
                                        type_name(b) + "'");
  }
  if (common == Kind::py_int()) {
    if (const int side = side_of_64_bits(a); side != 0)
      return Static{nb::bool_(compare_out_of_range(by, side))};
    if (const int side = side_of_64_bits(b); side != 0)
      return Static{nb::bool_(compare_out_of_range(mirrored(by), side))};
  }
  const auto is_large = [this](const Value& v, Kind kind) {
    const std::optional<int64_t> known = kind == Kind::py_int() ? static_int(v) : std::nullopt;
    return kind == Kind::py_int() && (!known || *known < -kExactInFloat || *known > kExactInFloat);
  };
  if (common != Kind::py_int() && is_large(a, j)) return Scalar{Kind::py_bool(), compare_int(by, a, b)};
  if (common != Kind::py_int() && is_large(b, k))
    return Scalar{Kind::py_bool(), compare_int(mirrored(by), b, a)};
  return Scalar{Kind::py_bool(), builder_->make(by, {stage(a, common), stage(b, common)})};
}

/// `number op other`, with a float or complex, exact although the int may be no float: if the rounded int
/// equals the float, the float is an int itself, of 64 bits or 2**63, and the ints are compared.
NodeId Evaluator::compare_int(Op op, const Value& number, const Value& other) {
  if (base::known(kind_of(other)).dtype() == DType::Complex128) {
    const NodeId z = stage(other, Kind::py_complex());
    const Value real = Scalar{Kind::py_float(), builder_->make(Op::real, {z})};
    const NodeId flat =
        builder_->make(Op::equal, {builder_->make(Op::imaginary, {z}), builder_->constant(0.0)});
    const NodeId equal = both(compare_int(Op::equal, number, real), flat);
    return op == Op::equal ? equal : negate(equal);
  }
  const NodeId f = stage(other, Kind::py_float());
  if (const Static* s = number.as<Static>()) {
    double rounded = PyLong_AsDouble(s->object.ptr());
    if (PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      rounded = std::copysign(std::numeric_limits<double>::infinity(), s->object < nb::int_(0) ? -1.0 : 1.0);
    }
    const NodeId constant = builder_->constant(rounded);
    const nb::object python = imported("operator").attr(info(comparison_of(op)).host);
    const bool of_tie = nb::cast<bool>(python(s->object, nb::float_(rounded)));
    return builder_->make(Op::select, {builder_->make(Op::equal, {constant, f}), builder_->constant(of_tie),
                                       builder_->make(op, {constant, f})});
  }
  const NodeId i = stage(number, Kind::py_int());
  const NodeId rounded = builder_->cast(i, DType::Float64);
  const NodeId ties = builder_->make(Op::equal, {rounded, f});
  const NodeId fits = builder_->make(Op::less, {f, builder_->constant(0x1p63)});
  const NodeId exact = builder_->cast(
      builder_->make(Op::select, {both(ties, fits), f, builder_->constant(0.0)}), DType::Int64);
  const bool is_equality = op == Op::equal || op == Op::not_equal;
  if (is_equality) {
    const NodeId equal = both(both(ties, fits), builder_->make(Op::equal, {i, exact}));
    return op == Op::equal ? equal : negate(equal);
  }
  const NodeId of_ints = builder_->make(op, {i, exact});
  const NodeId below = builder_->constant(op == Op::less || op == Op::less_equal);
  return builder_->make(Op::select, {ties, builder_->make(Op::select, {fits, of_ints, below}),
                                     builder_->make(op, {rounded, f})});
}

Value Evaluator::unary(Operator op, const Value& a, nb::handle node) {
  if (op == Operator::Not) {
    if (const std::optional<bool> known = static_truth(a)) return Static{nb::bool_(!*known)};
    return Scalar{Kind::py_bool(), builder_->make(Op::invert, {truth(a, node)})};
  }
  const OperatorInfo& entry = info(op);
  if (const std::optional<Value> result = unary_of_object(op, a, node)) return *result;
  if (const std::optional<Value> result = kind_of_value(a).unary(*this, op, a, node)) return *result;
  const std::optional<Kind> kind = kind_of(a);
  if (!kind) {
    raise(ExceptionKind::TypeError,
          std::string("bad operand type for unary ") + entry.symbol + ": '" + type_name(a) + "'");
  }
  if (!kind->is_python()) {
    if (*kind == Kind(DType::Bool) && op == Operator::USub) {
      raise(ExceptionKind::TypeError,
            "The numpy boolean negative, the `-` operator, is not supported, use the `~` operator or the "
            "logical_not "
            "function instead.");
    }
    if (*kind == Kind(DType::Bool) && op == Operator::UAdd) {
      raise(ExceptionKind::TypeError,
            "ufunc 'positive' did not contain a loop with signature matching types <class "
            "'numpy.dtypes.BoolDType'> -> "
            "None");
    }
    if (entry.op) return elementwise(base::known(entry.op), {a}, entry.numpy, node);
    return a.is<Array>() ? from_node(whole(a)) : a;
  }
  const Kind number = *kind == Kind::py_bool() ? Kind::py_int() : *kind;
  const NodeId x = stage(a, number);
  if (!entry.op) return Scalar{number, x};
  if (op == Operator::Invert && number != Kind::py_int())
    raise(ExceptionKind::TypeError, "bad operand type for unary ~: '" + type_name(a) + "'");
  if (op == Operator::USub && number == Kind::py_int())
    return python_int(Operator::Sub, builder_->index(0), x, node);
  return Scalar{number, builder_->make(base::known(entry.op), {x})};
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

}  // namespace

Value Evaluator::python_arithmetic(Operator op, const Value& a, const Value& b, nb::handle node) {
  const auto weak = [](Kind kind) { return kind.is_python() ? kind : Kind::py_float(); };
  Kind common = base::known(frontend::join(weak(base::known(kind_of(a))), weak(base::known(kind_of(b)))));
  const bool bits = op == Operator::BitAnd || op == Operator::BitOr || op == Operator::BitXor;
  if (common == Kind::py_bool() && !bits) common = Kind::py_int();
  const OperatorInfo& entry = info(op);
  const bool shift = op == Operator::LShift || op == Operator::RShift;
  if ((bits || shift) && common != Kind::py_int() && common != Kind::py_bool()) {
    raise(ExceptionKind::TypeError, std::string("unsupported operand type(s) for ") + entry.symbol + ": '" +
                                        type_name(a) + "' and '" + type_name(b) + "'");
  }
  if (bits)
    return Scalar{common, builder_->make(base::known(entry.op), {stage(a, common), stage(b, common)})};
  if (op == Operator::Pow) return python_power(a, b, node);
  if (common == Kind::py_int()) return python_int(op, stage(a, common), stage(b, common), node);
  if (common == Kind::py_float()) {
    // An int operand is converted as Python's float(int) does; beyond 2**53 it rounds, as there.
    return python_float(op, stage(a, common), stage(b, common), node);
  }
  if (op == Operator::FloorDiv || op == Operator::Mod) {
    raise(ExceptionKind::TypeError, std::string("unsupported operand type(s) for ") + entry.symbol + ": '" +
                                        type_name(a) + "' and '" + type_name(b) + "'");
  }
  const NodeId x = stage(a, common);
  const NodeId y = stage(b, common);
  if (op == Operator::Div) {
    const NodeId zero = builder_->constant(std::complex<double>(0, 0));
    check(builder_->make(Op::not_equal, {y, zero}), ExceptionKind::ZeroDivisionError,
          "complex division by zero");
    return Scalar{common, quotient_of_complex(*builder_, x, y)};
  }
  return Scalar{common, builder_->make(base::known(entry.op), {x, y})};
}

Value Evaluator::python_int(Operator op, NodeId a, NodeId b, nb::handle) {
  const auto no_overflow = [&](Op predicate) {
    builder_->check(builder_->make(Op::invert, {builder_->make(predicate, {a, b})}),
                    ExceptionKind::OverflowError, "a Python int leaves 64 bits here");
  };
  const auto no_zero = [&](const char* message) {
    check(builder_->make(Op::not_equal, {b, builder_->index(0)}), ExceptionKind::ZeroDivisionError, message);
  };
  const auto result = [&](Op made) { return Scalar{Kind::py_int(), builder_->make(made, {a, b})}; };
  if (op == Operator::Add) return no_overflow(Op::add_overflows), result(Op::add);
  if (op == Operator::Sub) return no_overflow(Op::subtract_overflows), result(Op::subtract);
  if (op == Operator::Mult) return no_overflow(Op::multiply_overflows), result(Op::multiply);
  if (op == Operator::FloorDiv) {
    no_zero("integer division or modulo by zero");
    // Only MIN // -1 overflows.
    const NodeId least = builder_->make(Op::equal, {a, builder_->index(INT64_MIN)});
    const NodeId minus_one = builder_->make(Op::equal, {b, builder_->index(-1)});
    builder_->check(builder_->make(Op::invert, {builder_->make(Op::bitwise_and, {least, minus_one})}),
                    ExceptionKind::OverflowError, "a Python int leaves 64 bits here");
    return result(Op::floor_divide);
  }
  if (op == Operator::Mod) return no_zero("integer modulo by zero"), result(Op::remainder);
  if (op == Operator::Div) {
    no_zero("division by zero");
    // Operands within 2**53 convert exactly, so the quotient is rounded once, as Python's.
    const NodeId x = builder_->cast(a, DType::Float64);
    const NodeId y = builder_->cast(b, DType::Float64);
    for (const auto& [integer, number] : {std::pair{a, x}, std::pair{b, y}}) {
      builder_->check(builder_->make(Op::equal, {builder_->cast(number, DType::Int64), integer}),
                      ExceptionKind::OverflowError, "int {} is too large for exact division", {integer});
    }
    return Scalar{Kind::py_float(), builder_->make(Op::divide, {x, y})};
  }
  check(builder_->make(Op::greater_equal, {b, builder_->index(0)}), ExceptionKind::ValueError,
        "negative shift count");
  if (op == Operator::RShift) return result(Op::right_shift);
  const NodeId shifted = builder_->make(Op::left_shift, {a, b});
  const NodeId back = builder_->make(Op::right_shift, {shifted, b});
  const NodeId small = builder_->make(Op::less, {b, builder_->index(64)});
  const NodeId exact = builder_->make(Op::bitwise_and, {small, builder_->make(Op::equal, {back, a})});
  const NodeId zero = builder_->make(Op::equal, {a, builder_->index(0)});
  builder_->check(builder_->make(Op::bitwise_or, {exact, zero}), ExceptionKind::OverflowError,
                  "a Python int leaves 64 bits here");
  return Scalar{Kind::py_int(), shifted};
}

Value Evaluator::python_float(Operator op, NodeId a, NodeId b, nb::handle) {
  if (op == Operator::Div || op == Operator::FloorDiv || op == Operator::Mod) {
    const char* message = op == Operator::Div   ? "float division by zero"
                          : op == Operator::Mod ? "float modulo"
                                                : "float floor division by zero";
    check(builder_->make(Op::not_equal, {b, builder_->constant(0.0)}), ExceptionKind::ZeroDivisionError,
          message);
  }
  return Scalar{Kind::py_float(), builder_->make(base::known(info(op).op), {a, b})};
}

Value Evaluator::python_power(const Value& a, const Value& b, nb::handle node) {
  const auto weak = [](Kind kind) { return kind.is_python() ? kind : Kind::py_float(); };
  const Kind both_kinds =
      base::known(frontend::join(weak(base::known(kind_of(a))), weak(base::known(kind_of(b)))));
  const Kind common = base::known(frontend::join(both_kinds, Kind::py_int()));
  if (common == Kind::py_int()) {
    const NodeId x = stage(a, common);
    const NodeId y = stage(b, common);
    if (const std::optional<int64_t> exponent = static_int(b); exponent && *exponent < 0)
      return python_power(Scalar{Kind::py_float(), builder_->cast(x, DType::Float64)}, b, node);
    const NodeId none = builder_->index(0);
    check(negate(both(builder_->make(Op::equal, {x, none}), builder_->make(Op::less, {y, none}))),
          ExceptionKind::ZeroDivisionError, "0.0 cannot be raised to a negative power");
    builder_->check(builder_->make(Op::greater_equal, {y, builder_->index(0)}),
                    ExceptionKind::TypeChangeError, "int ** {} is a float; write float(base) ** exponent",
                    {y});
    builder_->check(builder_->make(Op::invert, {builder_->make(Op::power_overflows, {x, y})}),
                    ExceptionKind::OverflowError, "a Python int leaves 64 bits here");
    return Scalar{common, builder_->make(Op::power, {x, y})};
  }
  if (common == Kind::py_complex()) {
    const NodeId x = stage(a, common);
    const NodeId y = stage(b, common);
    const NodeId exponent = builder_->make(Op::real, {y});
    const NodeId zero = builder_->constant(0.0);
    const NodeId is_real = builder_->make(Op::equal, {builder_->make(Op::imaginary, {y}), zero});
    const NodeId whole = builder_->make(Op::equal, {builder_->make(Op::floor, {exponent}), exponent});
    const NodeId size = builder_->make(Op::absolute, {exponent});
    const NodeId is_small = builder_->make(Op::less_equal, {size, builder_->constant(100.0)});
    const auto either = [&](NodeId condition, const std::function<Value()>& then,
                            const std::function<Value()>& other) {
      const std::optional<bool> known = static_truth(as_bool(condition));
      return known ? (*known ? then() : other()) : fork(condition, then, other);
    };
    const auto multiplied = [&] {
      const Value n = known_number(Scalar{Kind::py_int(), builder_->cast(size, DType::Int64)});
      const Value power =
          call_library(*this, "mathematics", "power_of_complex", {Scalar{common, x}, n}, node);
      const NodeId product = stage(power, common);
      const auto inverse = [&]() -> Value {
        check(builder_->make(Op::not_equal, {product, builder_->constant(std::complex<double>())}),
              ExceptionKind::ZeroDivisionError, "0.0 to a negative or complex power");
        const NodeId one = builder_->constant(std::complex<double>(1));
        return Scalar{common, quotient_of_complex(*builder_, one, product)};
      };
      return either(builder_->make(Op::less_equal, {exponent, zero}), inverse, [&] { return power; });
    };
    const Value power =
        either(both(is_real, both(whole, is_small)), multiplied, [&] { return complex_power(x, y); });
    for (const Op part : {Op::real, Op::imaginary}) {
      check(negate(builder_->make(Op::isinf, {builder_->make(part, {stage(power, common)})})),
            ExceptionKind::OverflowError, "complex exponentiation");
    }
    return power;
  }
  const NodeId x = stage(a, common);
  const NodeId y = stage(b, common);
  const NodeId zero = builder_->constant(0.0);
  const NodeId negative = both(builder_->make(Op::less, {y, zero}), builder_->make(Op::isfinite, {y}));
  check(negate(both(builder_->make(Op::equal, {x, zero}), negative)), ExceptionKind::ZeroDivisionError,
        "0.0 cannot be raised to a negative power");
  const NodeId finite = both(builder_->make(Op::isfinite, {x}), builder_->make(Op::isfinite, {y}));
  const NodeId fractional = builder_->make(Op::not_equal, {builder_->make(Op::floor, {y}), y});
  builder_->check(negate(both(both(builder_->make(Op::less, {x, zero}), fractional), finite)),
                  ExceptionKind::TypeChangeError, "({}) ** {} is complex; write complex(base) ** exponent",
                  {x, y});
  const NodeId power = builder_->make(Op::power, {x, y});
  check(negate(both(finite, builder_->make(Op::isinf, {power}))), ExceptionKind::OverflowError,
        "(34, 'Numerical result out of range')");
  return Scalar{common, power};
}

Value Evaluator::complex_power(NodeId x, NodeId y) {
  const NodeId zero = builder_->constant(0.0);
  const NodeId real = builder_->make(Op::real, {y});
  const NodeId is_complex = builder_->make(Op::not_equal, {builder_->make(Op::imaginary, {y}), zero});
  const NodeId is_bad = builder_->make(Op::bitwise_or, {is_complex, builder_->make(Op::less, {real, zero})});
  const NodeId is_zero = builder_->make(Op::equal, {x, builder_->constant(std::complex<double>(0, 0))});
  check(negate(both(is_zero, is_bad)), ExceptionKind::ZeroDivisionError,
        "0.0 to a negative or complex power");
  return Scalar{Kind::py_complex(), builder_->make(Op::power, {x, y})};
}

std::optional<Value> Evaluator::compare_complex_scalars(Op op, const Value& a, const Value& b) {
  // NumPy orders two complex scalars by the real parts, or if these are equal by the imaginary ones, whether
  // or not the other parts are NaN. Arrays differ: an element with a NaN part has no order. np.bool compares
  // like arrays.
  const Kind kinds[] = {base::known(kind_of(a)), base::known(kind_of(b))};
  const DType common = result_kind(kinds).dtype();
  const bool own = std::ranges::any_of(kinds, [&](Kind k) { return k == Kind(common); });
  if (!base::is_complex(common) || !own || op == Op::equal || op == Op::not_equal) return std::nullopt;
  if (a.is<Array>() || b.is<Array>() || kinds[0] == Kind(DType::Bool)) return std::nullopt;
  const NodeId x = stage(a, common);
  const NodeId y = stage(b, common);
  const NodeId left = builder_->make(Op::real, {x});
  const NodeId right = builder_->make(Op::real, {y});
  const NodeId by_imaginary =
      builder_->make(op, {builder_->make(Op::imaginary, {x}), builder_->make(Op::imaginary, {y})});
  return from_node(builder_->make(Op::select, {builder_->make(Op::equal, {left, right}), by_imaginary,
                                               builder_->make(op, {left, right})}));
}

/// A comparison of NumPy integers with a Python int, or of signed integers with uint64, which is exact for
/// all values; none: it is another one.
std::optional<Value> Evaluator::compare_with_int(Op op, const std::vector<Value>& operands,
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
      return elementwise(op, std::move(both), "", {});
    }
    return of_no_number(operands[1 - at], operands[at],
                        compare_out_of_range(at == 0 ? op : mirrored(op), side));
  }
  const bool unsigned_64 = strong == DType::UInt64;
  const DType loop = unsigned_64 ? DType::UInt64 : DType::Int64;
  std::vector<NodeId> nodes(2);
  nodes[at] = is_int(at) ? stage(operands[at], Kind::py_int()) : node_as(*this, operands[at], DType::Int64);
  nodes[1 - at] = node_as(*this, operands[1 - at], loop);
  nodes = broadcast_together(std::move(nodes));
  const NodeId integer = nodes[at];
  nodes[at] = builder_->cast(integer, loop);
  const NodeId compared = by_element(nodes, [&](const auto& both) { return builder_->make(op, both); });
  if (!unsigned_64) return from_node(compared);
  // A negative int is less than every number of uint64.
  std::vector<NodeId> sides(2);
  sides[at] = builder_->index(0);
  sides[1 - at] = builder_->index(1);
  const NodeId negative = by_element({integer, builder_->index(0)},
                                     [&](const auto& both) { return builder_->make(Op::less, both); });
  return from_node(by_element({negative, builder_->make(op, sides), compared},
                              [&](const auto& all) { return builder_->make(Op::select, all); }));
}

/// An elementwise function of only Python's numbers, of which one is beyond the range of int64: to NumPy,
/// such an int is an object, or an element of uint64. None: others.
std::optional<Value> Evaluator::of_large_ints(const std::vector<Value>& operands, std::span<const Kind> kinds,
                                              std::string_view numpy_name) {
  const auto is_large = [](const Value& value) { return side_of_64_bits(value) != 0; };
  if (std::ranges::none_of(operands, is_large)) return {};
  if (!std::ranges::all_of(kinds, [](Kind k) { return k.is_python(); })) return {};
  nb::list given;
  for (const Value& value : operands)
    given.append(require_static(value, "a number together with an int of more than 64 bits", here_));
  return by_python(*this, [&] { return Static{numpy_function(numpy_name)(*given)}; });
}

Value Evaluator::elementwise(Op op, std::vector<Value> operands, std::string_view numpy_name, nb::handle) {
  std::vector<Kind> kinds;
  for (const Value& value : operands) {
    const std::optional<Kind> kind = kind_of(value);
    if (is_none(value))
      unsupported(here_, "np." + std::string(numpy_name) + " of None", "pass numbers or arrays");
    if (!kind) raise_by_type("call", std::string(numpy_name), operands, numpy_function(numpy_name));
    if (is_sequence(value) || is_known_string(value)) {
      unsupported({}, "np." + std::string(numpy_name) + " of a " + type_name(value),
                  "make an array of it with np.array(...)");
    }
    if (!kind) {
      raise(ExceptionKind::TypeError,
            "ufunc '" + std::string(numpy_name) + "' not supported for the input types");
    }
    kinds.push_back(*kind);
  }
  if (const std::optional<Value> made = of_large_ints(operands, kinds, numpy_name)) return *made;
  const bool whole_numbers =
      std::ranges::all_of(kinds, [](Kind k) { return base::is_int(k.dtype()) || base::is_bool(k.dtype()); });
  const bool rounds = op == Op::floor || op == Op::ceil || op == Op::trunc;
  if (rounds && whole_numbers) return from_node(node_as(*this, operands[0], kinds[0].dtype()));
  const bool is_fabs = op == Op::absolute && numpy_name == "fabs";
  if (is_fabs && whole_numbers) kinds[0] = *loop_dtype(Op::sqrt, kinds);
  std::optional<DType> loop = loop_dtype(op, kinds);
  if (is_fabs && loop && base::is_complex(*loop)) loop.reset();
  const bool flags = std::ranges::all_of(kinds, [](Kind k) { return base::is_bool(k.dtype()); });
  if (!loop || ((op == Op::subtract || op == Op::negative || op == Op::sign) && flags))
    raise_by_type("call", std::string(numpy_name), operands, numpy_function(numpy_name));
  if (!loop) {
    raise(ExceptionKind::TypeError,
          "ufunc '" + std::string(numpy_name) +
              "' not supported for the input types, and the inputs could not be safely "
              "coerced to any supported types according to the casting rule ''safe''");
  }
  if (const std::optional<Value> exact = compare_with_int(op, operands, kinds)) return *exact;
  std::vector<NodeId> nodes;
  for (const Value& value : operands) {
    if (value.is<Array>()) nodes.push_back(builder_->cast(whole(value), *loop));
    else nodes.push_back(stage_for_loop(value, *loop));
  }
  nodes = broadcast_together(std::move(nodes));
  if (op == Op::power && base::is_int(*loop) && base::is_signed(*loop)) {
    const NodeId zero = builder_->cast(builder_->index(0), *loop);
    const NodeId negative = builder_->make(Op::less, {nodes[1], zero});
    NodeId any = negative;
    if (builder_->function().type(negative).is_array()) any = reduce_all({negative}, Op::bitwise_or);
    else if (builder_->function().type(nodes[0]).is_array()) {
      any = builder_->make(Op::bitwise_and,
                           {any, builder_->make(Op::not_equal, {size_of(nodes[0]), builder_->index(0)})});
    }
    check(builder_->make(Op::invert, {any}), ExceptionKind::ValueError,
          "Integers to negative integer powers are not allowed.");
  }
  return from_node(by_element(std::move(nodes), [&](const auto& each) { return builder_->make(op, each); }));
}

std::optional<bool> Evaluator::static_truth(const Value& value) {
  if (const Pooled* r = PooledValues::open(value)) {
    for (const nb::object& type : PooledValues(*this).classes_of(*r))
      if (has_truth(type)) return std::nullopt;
  } else if (const nb::object type = class_of_value(value); type.is_valid() && has_truth(type)) {
    return std::nullopt;
  }
  if (const std::optional<Value> iterated = iterated_of(value))
    return static_truth(iterated->is<Zip>() ? iterated->as<Zip>()->members->at(0) : *iterated);
  return kind_of_value(value).known_truth(*this, value);
}

NodeId Evaluator::truth(const Value& value, nb::handle node) {
  if (const std::optional<bool> known = static_truth(value)) return builder_->constant(*known);
  if (const std::optional<Value> iterated = iterated_of(value))
    return truth(iterated->is<Zip>() ? iterated->as<Zip>()->members->at(0) : *iterated, node);
  if (const std::optional<NodeId> own = kind_of_value(value).truth(*this, value, node)) return *own;
  if (has_class(value)) return truth(truth_of_object(value, node), node);
  unsupported(node, "the truth of a " + type_name(value), "compare explicitly");
}

}  // namespace ingot::frontend
