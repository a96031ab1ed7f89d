#include "frontend/arrays/operators.h"

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

std::optional<Value> compare_open_classes(Tracer& t, Operator op, const Value& a, const Value& b,
                                          nb::handle node);
Value compare_identity(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node);
Value contains(Tracer& t, Operator op, const Value& wanted, const Value& container, nb::handle node);
Value compare_values(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node);

}  // namespace

namespace {

/// The numbers and strings that members of Enums are; two known members have operators of their own.
std::pair<Value, Value> plain_numbers(Tracer& t, const Value& a, const Value& b) {
  if (known_of(a).is_valid() && known_of(b).is_valid()) return {a, b};
  return {plain_number(t, a), plain_number(t, b)};
}

}  // namespace

Value binary(Tracer& t, Operator op, const Value& left, const Value& right, nb::handle node) {
  if (const std::optional<Value> result = binary_of_objects(t, op, left, right, node)) return *result;
  const auto [a, b] = plain_numbers(t, left, right);
  const auto with = [&](const Value& x, const Value& y) { return binary(t, op, x, y, node); };
  if (std::optional<Value> result = Members(t).on_each(a, b, with)) return *result;
  const auto by_kind = [&](const ValueKind& kind) { return kind.binary(t, op, a, b, node); };
  if (std::optional<Value> result = answer_of_kinds(a, b, by_kind)) return *result;
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
  if (op == Operator::MatMult && (array_type_of(a) || array_type_of(b))) return matmul(t, a, b, node);
  raise_of_operands(t, op, a, b);
}

void raise_of_operands(Tracer& t, Operator op, const Value& a, const Value& b) {
  raise(t, ExceptionKind::TypeError,
        std::string("unsupported operand type(s) for ") + info(op).symbol + ": '" + type_name(t, a) +
            "' and '" + type_name(t, b) + "'");
}

Value equal_members(Tracer& t, const Value& a, const Value& b, nb::handle node) {
  if (array_type_of(a) || array_type_of(b))
    unsupported(t, node, "comparing containers of arrays", "compare the arrays themselves");
  // For containers an object equals itself, even NaN.
  const nb::object x = known_of(a);
  const bool is_one =
      x.is_valid() && known_of(b).is_valid() ? x.is(known_of(b)) : !a.is<Tuple>() && same(a, b);
  if (is_one) return Static{nb::bool_(true)};
  const auto is_no_number = [](const Value& v) { return is_known_string(v) || is_none(v); };
  if (is_no_number(a) != is_no_number(b) && (kind_of(a) || kind_of(b))) return Static{nb::bool_(false)};
  const auto settled = [&](const Value& v) { return open(t, v, "the element", node); };
  return compare(t, Operator::Eq, settled(a), settled(b), node);
}

Value answer(Tracer& t, Operator op, const Value& is, nb::handle node) {
  return is_negated(op) ? unary(t, Operator::Not, is, node) : is;
}

Value answer(Tracer& t, Operator op, NodeId is) { return as_bool(t, is_negated(op) ? negate(t, is) : is); }

std::optional<bool> compared_beyond_64_bits(Op op, const Value& a, const Value& b) {
  const int of_b = side_of_64_bits(b);
  const int side = of_b != 0 ? -of_b : side_of_64_bits(a);
  if (side == 0) return std::nullopt;
  if (op == Op::equal || op == Op::not_equal) return op == Op::not_equal;
  return (op == Op::greater || op == Op::greater_equal) == (side > 0);
}

Value as_bool(const Tracer& t, NodeId node) {
  if (!t.builder->function().is_constant(node)) return Scalar{Kind::py_bool(), node};
  return Static{nb::bool_(t.builder->function().constant(node).bits[0] != 0)};
}

namespace {

/// A comparison of `a` with a value that equals no number: of an array for each element; for a NumPy number
/// the result is NumPy's, except with None.
Value of_no_number(Tracer& t, const Value& a, const Value& other, bool answer) {
  const std::optional<Kind> kind = kind_of(a);
  if (!kind || kind->is_python() || (!array_type_of(a) && is_none(other))) return Static{nb::bool_(answer)};
  const NodeId flag = t.builder->constant(answer);
  const std::vector<NodeId> lengths = array_type_of(a) ? lengths_of(t, whole(t, a)) : std::vector<NodeId>();
  return from_node(t, lengths.empty() ? flag : repeated(t, flag, lengths));
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
  const auto [a, b] = plain_numbers(t, first, second);
  return compare_values(t, op, a, b, node);
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
  return PooledValues(t).is_of(
      record, [&](const nb::object& type) { return !is_negated(op) == known_of(other).is(type); });
}

/// `a is b` and `a is not b`.
Value compare_identity(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node) {
  if (PooledValues(t).of(a) || PooledValues(t).of(b)) return answer(t, op, PooledValues(t).is_same(a, b));
  const Value& other = is_none(a) ? b : a;
  if (is_none(a) || is_none(b))
    if (const std::optional<NodeId> is = kind_of_value(other).is_missing(t, other)) return answer(t, op, *is);
  std::optional<bool> identical;
  if (a.v.index() == b.v.index()) identical = kind_of_value(a).identical(t, a, b, node);
  if (!identical && is_distinct(a, b)) identical = false;
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
  const std::optional<Kind> j = kind_of(a);
  const std::optional<Kind> k = kind_of(b);
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

}  // namespace

Value unary(Tracer& t, Operator op, const Value& a, nb::handle node) {
  if (op == Operator::Not) {
    if (const std::optional<bool> known = static_truth(t, a)) return Static{nb::bool_(!*known)};
    return Scalar{Kind::py_bool(), t.builder->make(Op::invert, {truth(t, a, node)})};
  }
  if (const std::optional<Value> result = unary_of_object(t, op, a, node)) return *result;
  if (const std::optional<Value> result = kind_of_value(a).unary(t, op, a, node)) return *result;
  raise(t, ExceptionKind::TypeError,
        std::string("bad operand type for unary ") + info(op).symbol + ": '" + type_name(t, a) + "'");
}

namespace {

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
    const nb::object number = known_of(operands[at]);
    if (strong == DType::UInt64 && side > 0 && number < (nb::int_(1) << nb::int_(64))) {
      std::vector<Value> both = operands;
      both[at] = Static{numpy_function("uint64")(number)};
      return elementwise(t, op, std::move(both), "", {});
    }
    return of_no_number(t, operands[1 - at], operands[at],
                        base::known(compared_beyond_64_bits(op, operands[0], operands[1])));
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

/// The elements of an array of floats to the power of one number. NumPy takes the root for an exponent of
/// 1/2, which is another number for -0 and for negative infinity.
Value power_of_elements(Tracer& t, NodeId x, NodeId exponent) {
  ir::Builder& b = *t.builder;
  const DType dtype = b.function().type(exponent).dtype();
  const NodeId half = b.cast(b.constant(0.5), dtype);
  if (exponent == half) return from_node(t, b.make(Op::sqrt, {x}));
  if (b.function().is_constant(exponent)) return from_node(t, b.make(Op::power, {x, exponent}));
  const NodeId is_half = b.make(Op::equal, {exponent, half});
  const NodeId zero = b.cast(b.constant(0.0), dtype);
  return from_node(
      t, by_element(t, {x}, [&](const auto& each) {
        const NodeId is_finite = b.make(Op::equal, {b.make(Op::subtract, {each[0], each[0]}), zero});
        const NodeId is_odd =
            b.make(Op::bitwise_or, {b.make(Op::equal, {each[0], zero}), b.make(Op::invert, {is_finite})});
        return b.make(Op::select, {b.make(Op::bitwise_and, {is_odd, is_half}), b.make(Op::sqrt, {each[0]}),
                                   b.make(Op::power, {each[0], exponent})});
      }));
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
  for (const Value& value : operands)
    nodes.push_back(number_kind(value) ? stage_for_loop(t, value, *loop) : node_as(t, value, *loop));
  const auto is_array = [&](NodeId node) { return t.builder->function().type(node).is_array(); };
  const bool has_roots = loop == DType::Float32 || loop == DType::Float64;
  if (op == Op::power && has_roots && is_array(nodes[0]) && !is_array(nodes[1]))
    return power_of_elements(t, nodes[0], nodes[1]);
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
  if (const std::optional<Value> iterated = iterated_of(t, value)) return static_truth(t, *iterated);
  return kind_of_value(value).known_truth(t, value);
}

NodeId truth(Tracer& t, const Value& value, nb::handle node) {
  if (const std::optional<bool> known = static_truth(t, value)) return t.builder->constant(*known);
  if (const std::optional<Value> iterated = iterated_of(t, value)) return truth(t, *iterated, node);
  if (const std::optional<NodeId> own = kind_of_value(value).truth(t, value, node)) return *own;
  if (has_class(t, value)) return truth(t, truth_of_object(t, value, node), node);
  unsupported(t, node, "the truth of a " + type_name(t, value), "compare explicitly");
}

}  // namespace ingot::frontend
