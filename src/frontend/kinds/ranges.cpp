#include "frontend/arrays/arrays.h"
#include "frontend/arrays/operators.h"
#include "frontend/arrays/scalars.h"
#include "frontend/kinds/sequences.h"
#include "frontend/kinds/structure.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

/// `start`, `stop` or `step` of three parts; none: another name.
std::optional<Value> part_named(const std::array<Value, 3>& parts, const std::string& name) {
  static constexpr std::array kNames = {"start", "stop", "step"};
  const auto* const part = std::ranges::find(kNames, name);
  if (part == kNames.end()) return std::nullopt;
  return parts[static_cast<size_t>(part - kNames.begin())];
}

class RangeKind final : public KindOfParts<Range, &Range::bounds, BuiltinKind> {
 public:
  bool same_form(const Value& a, const Value& b) const override {
    return a.as<Range>()->parallel == b.as<Range>()->parallel &&
           a.as<Range>()->endless == b.as<Range>()->endless;
  }

  std::string type_name(const Tracer&, const Value&) const override { return "range"; }
  nb::object stand_in(const Tracer&, const Value&) const override {
    return imported("builtins").attr("range")(1);
  }
  bool has_methods(const Tracer&, const Value&) const override { return true; }

  Answer attribute(Tracer&, const Value& value, const std::string& name, nb::handle) const override {
    return part_named(*value.as<Range>()->bounds, name);
  }
  Answer item(Tracer& t, const Value& value, const Value& index, nb::handle node) const override {
    if (side_of_64_bits(index) != 0) raise(t, ExceptionKind::IndexError, "range object index out of range");
    if (const Slice* s = index.as<Slice>()) {
      if (value.as<Range>()->parallel) {
        unsupported(t, node, "a part of `prange`, as `ingot.progress` takes it,",
                    "iterate over all of it, or count the iterations of a loop around it, over `range`");
      }
      return by_ranges(t, "part", {value, (*s->parts)[0], (*s->parts)[1], (*s->parts)[2]}, node);
    }
    raise_by_type(t, "subscript", "", {value, index});
    return by_ranges(t, "item", {value, index}, node);
  }
  Answer method(Tracer& t, const Value& value, const std::string& name, Call& call) const override {
    call.positional.insert(call.positional.begin(), value);
    return by_ranges(t, name.c_str(), call.positional, call.node);
  }
  Answer array(Tracer& t, const Value& value, std::optional<DType> wanted, nb::handle node) const override {
    if (counts_on(value)) return std::nullopt;
    const Value made = array_of_range(t, *value.as<Range>(), node);
    if (wanted) return owner(t, materialized(t, t.builder->cast(whole(t, made), *wanted)));
    check(t, t.builder->make(Op::greater, {size_of(t, made.as<Array>()->node), t.builder->index(0)}),
          ExceptionKind::TypeChangeError, "an empty range makes an array of float64 here");
    return made;
  }
  Answer length(Tracer& t, const Value& value, nb::handle) const override {
    return Scalar{Kind::py_int(), trips_of(t, *value.as<Range>()).count};
  }
  std::optional<Elements> elements(Tracer& t, const Value& value, nb::handle node) const override;
  std::optional<Trips> trips(Tracer& t, const Value& value, nb::handle node) const override {
    if (!counts_on(value)) return trips_of(t, *value.as<Range>());
    return Trips{t.builder->index(INT64_MAX), [&t, value, node](NodeId k) {
                   return counted(t, value, known_number(t, Scalar{Kind::py_int(), k}), node);
                 }};
  }
  Indexed indexed(Tracer& t, const Value& value, nb::handle node) const override {
    if (!counts_on(value)) return ValueKind::indexed(t, value, node);
    return {[](const Value&) { return Value(Static{nb::bool_(true)}); },
            [&t, value, node](const Value& index) { return counted(t, value, index, node); }};
  }
  Answer rest(Tracer& t, const Value& value, const Value& taken, Known, nb::handle node) const override {
    std::vector<Value> bounds = parts(value);
    bounds[0] = known_number(t, counted(t, value, taken, node));
    return with_parts(value, std::move(bounds));
  }
  Answer reversed(Tracer& t, const Value& value, nb::handle node) const override {
    const auto& [start, stop, step] = *value.as<Range>()->bounds;
    const Value count = known_number(t, Scalar{Kind::py_int(), trips_of(t, *value.as<Range>()).count});
    const Value before = frontend::binary(t, Operator::Sub, count, Static{nb::int_(1)}, node);
    const Value last = known_number(t, counted(t, value, before, node));
    const Value end = known_number(t, frontend::binary(t, Operator::Sub, start, step, node));
    const Value back = known_number(t, frontend::unary(t, Operator::USub, step, node));
    return iterator(t, "range_iterator", Range{share(std::array<Value, 3>{last, end, back})});
  }
  bool has_open_length(const Tracer&, const Value& value) const override {
    return std::ranges::any_of(*value.as<Range>()->bounds,
                               [&](const Value& bound) { return !static_int(bound); });
  }
  std::optional<NodeId> truth(Tracer& t, const Value& value, nb::handle) const override {
    return t.builder->make(Op::not_equal, {trips_of(t, *value.as<Range>()).count, t.builder->index(0)});
  }
  Precedence precedence() const override { return Precedence::Ranges; }
  Answer compare(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node) const override {
    if (!is_equality(op) || !a.is<Range>() || !b.is<Range>()) return std::nullopt;
    return answer(t, op, by_ranges(t, "equal", {a, b}, node), node);
  }
  Answer contains(Tracer& t, const Value& value, const Value& wanted, nb::handle node) const override {
    return by_ranges(t, "contains", {value, wanted}, node);
  }

 private:
  static constexpr size_t kMostIterations = 20'000;  ///< of a loop that is unrolled

  static Trips trips_of(Tracer& t, const Range& range);
  /// The number at an index, without a look at `stop`.
  static Value counted(Tracer& t, const Value& range, const Value& index, nb::handle node) {
    const auto& [start, stop, step] = *range.as<Range>()->bounds;
    return frontend::binary(t, Operator::Add, start, frontend::binary(t, Operator::Mult, index, step, node),
                            node);
  }
};

Trips RangeKind::trips_of(Tracer& t, const Range& range) {
  ir::Builder& builder = *t.builder;
  const NodeId start = stage_index(t, (*range.bounds)[0]);
  const NodeId stop = stage_index(t, (*range.bounds)[1]);
  const NodeId step = stage_index(t, (*range.bounds)[2]);
  const NodeId zero = builder.index(0);
  const NodeId one = builder.index(1);
  check(t, builder.make(Op::not_equal, {step, zero}), ExceptionKind::ValueError,
        "range() arg 3 must not be zero");
  const NodeId up = builder.make(Op::greater, {step, zero});
  const NodeId high = builder.make(Op::select, {up, stop, start});
  const NodeId low = builder.make(Op::select, {up, start, stop});
  const NodeId some = builder.make(Op::greater, {high, low});
  const NodeId too_long =
      builder.make(Op::bitwise_and, {some, builder.make(Op::subtract_overflows, {high, low})});
  const NodeId distance = builder.make(Op::subtract, {high, low});
  const NodeId stride = builder.make(Op::absolute, {step});
  const ir::Function& f = builder.function();
  const bool is_unit = f.is_constant(stride) && f.constant(stride).as<int64_t>() == 1;
  const bool fits_always =
      f.is_constant(too_long) && f.constant(too_long).bits[0] == 0 && f.is_constant(step);
  const auto counted = [&](NodeId from, NodeId by, NodeId unit) {
    const NodeId before = builder.make(Op::floor_divide, {builder.make(Op::subtract, {from, unit}), by});
    return builder.make(Op::add, {before, unit});
  };
  NodeId fits = builder.make(Op::invert, {too_long});
  NodeId count = counted(distance, stride, one);
  if (!is_unit && (!fits_always || f.constant(step).as<int64_t>() == INT64_MIN)) {
    // Unsigned, because distances and steps may be 2**63 or more.
    const auto wide = [&](NodeId x) { return builder.cast(x, base::DType::UInt64); };
    count = builder.cast(counted(wide(distance), wide(stride), wide(one)), base::DType::Int64);
    fits = builder.make(Op::bitwise_or, {fits, builder.make(Op::less, {zero, count})});
  }
  builder.check(fits, ExceptionKind::OverflowError, "a range of more than 2**63 numbers");
  return {builder.make(Op::select, {some, count, zero}), [&builder, start, step](NodeId k) {
            return Value(Scalar{Kind::py_int(),
                                builder.make(Op::add, {start, builder.make(Op::multiply, {k, step})})});
          }};
}

std::optional<std::vector<Value>> RangeKind::elements(Tracer& t, const Value& value, nb::handle node) const {
  std::array<int64_t, 3> bounds{};
  for (size_t i = 0; i < 3; ++i) {
    const std::optional<int64_t> bound = static_int((*value.as<Range>()->bounds)[i]);
    if (!bound) return std::nullopt;
    bounds[i] = *bound;
  }
  std::vector<Value> elements;
  if (bounds[2] == 0) raise(t, ExceptionKind::ValueError, "range() arg 3 must not be zero");
  for (int64_t i = bounds[0]; bounds[2] > 0 ? i < bounds[1] : i > bounds[1];) {
    if (elements.size() >= kMostIterations)
      unsupported(t, node, "unrolling a loop to more than 20 000 iterations", "use an array");
    elements.emplace_back(Static{nb::int_(i)});
    if (__builtin_add_overflow(i, bounds[2], &i)) break;
  }
  return elements;
}

class SliceKind final : public KindOfParts<Slice, &Slice::parts, BuiltinKind> {
 public:
  std::string type_name(const Tracer&, const Value&) const override { return "slice"; }
  IndexPart index_part(const Value&) const override { return IndexPart::Slice; }
  nb::object stand_in(const Tracer& t, const Value& value) const override {
    const nb::object parts = stand_ins(t, *value.as<Slice>()->parts);
    return parts.is_valid() ? imported("builtins").attr("slice")(parts[0], parts[1], parts[2]) : nb::object();
  }
  bool is_foreign(const Tracer& t, const Value& value) const override {
    return std::ranges::any_of(*value.as<Slice>()->parts,
                               [&](const Value& v) { return frontend::is_foreign(t, v); });
  }
  Answer attribute(Tracer&, const Value& value, const std::string& name, nb::handle) const override {
    return part_named(*value.as<Slice>()->parts, name);
  }
};

}  // namespace

bool counts_on(const Value& iterable) { return iterable.is<Range>() && iterable.as<Range>()->endless; }

INGOT_VALUE_KIND(Range, RangeKind)
INGOT_VALUE_KIND(Slice, SliceKind)

}  // namespace ingot::frontend
