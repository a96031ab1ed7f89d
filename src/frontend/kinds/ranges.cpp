#include "frontend/kinds/sequences.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

std::vector<Value> three(const std::array<Value, 3>& parts) {
  return std::vector<Value>(parts.begin(), parts.end());
}

std::shared_ptr<const std::array<Value, 3>> three(std::vector<Value>& parts) {
  return share(std::array<Value, 3>{std::move(parts[0]), std::move(parts[1]), std::move(parts[2])});
}

/// `start`, `stop` or `step` of three parts; none: another name.
std::optional<Value> part_named(const std::array<Value, 3>& parts, const std::string& name) {
  static constexpr std::array kNames = {"start", "stop", "step"};
  const auto* const part = std::ranges::find(kNames, name);
  if (part == kNames.end()) return std::nullopt;
  return parts[static_cast<size_t>(part - kNames.begin())];
}

class RangeKind final : public BuiltinKind {
 public:
  std::vector<Value> parts(const Value& value) const override { return three(*value.as<Range>()->bounds); }
  Value with_parts(const Value& value, std::vector<Value> parts) const override {
    return Range{three(parts), value.as<Range>()->parallel, value.as<Range>()->endless};
  }
  bool same_form(const Value& a, const Value& b) const override {
    return a.as<Range>()->parallel == b.as<Range>()->parallel &&
           a.as<Range>()->endless == b.as<Range>()->endless;
  }

  std::string type_name(const Evaluator&, const Value&) const override { return "range"; }
  nb::object stand_in(const Evaluator&, const Value&) const override {
    return imported("builtins").attr("range")(1);
  }
  bool has_methods(const Evaluator&, const Value&) const override { return true; }

  std::optional<Value> attribute(Evaluator&, const Value& value, const std::string& name,
                                 nb::handle) const override {
    return part_named(*value.as<Range>()->bounds, name);
  }
  std::optional<Value> item(Evaluator& e, const Value& value, const Value& index,
                            nb::handle node) const override {
    if (side_of_64_bits(index) != 0) e.raise(ExceptionKind::IndexError, "range object index out of range");
    if (const Slice* s = index.as<Slice>()) {
      if (value.as<Range>()->parallel) {
        e.unsupported(node, "a part of `prange`, as `ingot.progress` takes it,",
                      "iterate over all of it, or count the iterations of a loop around it, over `range`");
      }
      return e.by_ranges("part", {value, (*s->parts)[0], (*s->parts)[1], (*s->parts)[2]}, node);
    }
    e.raise_by_type("subscript", "", {value, index});
    return e.by_ranges("item", {value, index}, node);
  }
  std::optional<Value> length(Evaluator& e, const Value& value, nb::handle) const override {
    return Scalar{Kind::py_int(), e.trips_of_range(*value.as<Range>()).count};
  }
  std::optional<NodeId> truth(Evaluator& e, const Value& value, nb::handle) const override {
    return e.builder_->make(Op::not_equal,
                            {e.trips_of_range(*value.as<Range>()).count, e.builder_->index(0)});
  }
  Precedence precedence() const override { return Precedence::Ranges; }
  std::optional<Value> compare(Evaluator& e, Operator op, const Value& a, const Value& b,
                               nb::handle node) const override {
    if (!is_equality(op) || !a.is<Range>() || !b.is<Range>()) return std::nullopt;
    return e.answer(op, e.by_ranges("equal", {a, b}, node), node);
  }
  std::optional<Value> contains(Evaluator& e, const Value& value, const Value& wanted,
                                nb::handle node) const override {
    return e.by_ranges("contains", {value, wanted}, node);
  }
};

class SliceKind final : public BuiltinKind {
 public:
  std::vector<Value> parts(const Value& value) const override { return three(*value.as<Slice>()->parts); }
  Value with_parts(const Value&, std::vector<Value> parts) const override { return Slice{three(parts)}; }

  std::string type_name(const Evaluator&, const Value&) const override { return "slice"; }
  nb::object stand_in(const Evaluator& e, const Value& value) const override {
    const nb::object parts = stand_ins(e, *value.as<Slice>()->parts);
    return parts.is_valid() ? imported("builtins").attr("slice")(parts[0], parts[1], parts[2]) : nb::object();
  }
  bool is_foreign(const Evaluator& e, const Value& value) const override {
    return std::ranges::any_of(*value.as<Slice>()->parts, [&](const Value& v) { return e.is_foreign(v); });
  }
  std::optional<Value> attribute(Evaluator&, const Value& value, const std::string& name,
                                 nb::handle) const override {
    return part_named(*value.as<Slice>()->parts, name);
  }
};

}  // namespace

INGOT_VALUE_KIND(Range, RangeKind)
INGOT_VALUE_KIND(Slice, SliceKind)

}  // namespace ingot::frontend
