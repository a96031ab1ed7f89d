#include <bit>

#include "frontend/arrays/operators.h"
#include "frontend/arrays/scalars.h"
#include "frontend/expressions/expressions.h"
#include "frontend/kinds/containers.h"
#include "frontend/kinds/generators.h"
#include "frontend/kinds/list_buffers.h"
#include "frontend/kinds/objects.h"
#include "frontend/kinds/parameters.h"
#include "frontend/kinds/rows.h"
#include "frontend/kinds/sequences.h"
#include "frontend/kinds/special_methods.h"
#include "frontend/kinds/structure.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

using ir::Op;

namespace {

/// Stands for an instance of a class, without running code of the class.
nb::object stand_in_of(const nb::object& type) {
  return imported("ingot._objects.foreign").attr("Kind")(type);
}

std::optional<Value> call_instance(Tracer& t, const Value& callee, Call& call) {
  const nb::object raw = class_attribute(t, class_of_value(t, callee), "__call__");
  if (!raw.is_valid()) return std::nullopt;
  if (!PyFunction_Check(raw.ptr()) && !is_jitted(raw))
    unsupported(t, call.node, "a call of a " + type_name(t, callee), "write its `__call__` as a method");
  call.positional.insert(call.positional.begin(), callee);
  return call_value(t, Static{raw}, call);
}

/// What a loop over an instance iterates over.
std::optional<Value> iterated_instance(Tracer& t, const Value& value, nb::handle node) {
  const std::optional<Value> made = iterator_of_object(t, value, node);
  return made ? std::optional(begin_iterate(t, *made, node)) : std::nullopt;
}

void refuse_iterate_instance(Tracer& t, const Value& value, nb::handle node) {
  const nb::object type = class_of_value(t, value);
  for (const char* method : {"__iter__", "__getitem__"})
    if (class_attribute(t, type, method).is_valid())
      unsupported(t, node, "iterating over a " + type_name(t, value), "iterate over its parts");
}

class InstanceKind final : public KindOfObjects<Object, &Object::object> {
 public:
  Answer form(Tracer& t, const Value& value) const override {
    if (const std::optional<Pooled> record = PooledValues(t).of(value)) return record->at({});
    const auto made = t.facts.pools.makings.classes.find(value.as<Object>()->object);
    if (made != t.facts.pools.makings.classes.end()) PooledValues(t).ask_for({made->second}, {});
    return std::nullopt;
  }
  std::optional<Description> describe(Tracer& t, const Value& value, Outward& outward) const override;
  std::string words(const Tracer& t, const Value& value) const override {
    return words_of_object(t, value, *this);
  }
  std::string type_name(const Tracer& t, const Value& value) const override {
    return text_of(class_of(t, value).attr("__name__"));
  }
  nb::object class_of(const Tracer& t, const Value& value) const override {
    return t.state.heap.at(value.as<Object>()->object).type_of;
  }
  nb::object stand_in(const Tracer& t, const Value& value) const override {
    return stand_in_of(class_of(t, value));
  }
  Answer call(Tracer& t, const Value& value, Call& call) const override {
    return call_instance(t, value, call);
  }
  Answer in_place(Tracer& t, Operator op, const Value& value, const Value& right,
                  nb::handle node) const override {
    return in_place_of_object(t, op, value, right, node);
  }
  std::optional<bool> known_truth(Tracer&, const Value&) const override { return true; }
  void refuse_iterate(Tracer& t, const Value& value, nb::handle node) const override {
    refuse_iterate_instance(t, value, node);
  }
  Answer iterated(Tracer& t, const Value& value, nb::handle node) const override {
    return iterated_instance(t, value, node);
  }

 private:
  static std::vector<Description> attributes_of(Tracer& t, const HeapObject& object, nb::list& names,
                                                Outward& outward);
};

/// A pooled instance that it may have become is described as one.
std::optional<Description> InstanceKind::describe(Tracer& t, const Value& value, Outward& outward) const {
  if (const std::optional<Pooled> record = PooledValues(t).of(value))
    return describe_result(t, *record, outward);
  const uint32_t number = value.as<Object>()->object;
  const HeapObject object = t.state.heap.at(number);
  if (object.argument >= 0) return Description{described::Argument{object.argument}};
  if (const auto copied = Parameters(t).number_of_copy(number))
    return Description{described::Argument{*copied}};
  need_own(t, object, {});
  if (text_of(object.type_of.attr("__module__")) == "numpy.random._generator") {
    unsupported(t, {}, "a Generator that is made in the function and leaves it",
                "make it outside, or return what it draws");
  }
  const bool leaves = lookup(object.type_of, "__ingot_result__").is_valid();
  const bool is_plain = lookup(object.type_of, "__ingot_plain__").is_valid();
  const nb::object outer = stood_for(object.type_of);
  if (!leaves && !is_plain && !outer.is(object.type_of)) {
    unsupported(t, {}, "a " + text_of(outer.attr("__name__")) + " that is made in the function and leaves it",
                "make it outside, or return what it gives");
  }
  contents(t, number, {});
  if (std::optional<Description> again = outward.again(number)) return *again;
  return described_joined(t, number, outward, [&] {
    nb::list names;
    std::vector<Description> parts = attributes_of(t, object, names, outward);
    return Description{described::Instance{is_plain ? outer : object.type_of, nb::tuple(names), leaves},
                       std::move(parts)};
  });
}

std::vector<Description> InstanceKind::attributes_of(Tracer& t, const HeapObject& object, nb::list& names,
                                                     Outward& outward) {
  std::vector<Description> parts;
  for (size_t i = 0; i < object.keys.size(); ++i) {
    const Maybe* maybe = object.values[i].as<Maybe>();
    if (maybe != nullptr && maybe->may_be_unbound) {
      unsupported(t, {},
                  "an instance that has the attribute `" + text_of(object.keys[i]) + "` on some paths only",
                  "set it on every path");
    }
    if (object.values[i].is<Unbound>()) continue;
    names.append(object.keys[i]);
    parts.push_back(describe_result(t, object.values[i], outward));
  }
  return parts;
}

/// An instance in a pool, or a list in one.
class PooledKind final : public BuiltinKind {
 public:
  bool is_leaf() const override { return true; }
  void change_nodes(Value& value, const OtherNode& other) const override {
    Pooled& own = *value.as<Pooled>();
    own.index = other(own.index);
  }
  bool same_form(const Value& a, const Value& b) const override {
    return a.as<Pooled>()->pool == b.as<Pooled>()->pool;
  }

  Value shape(const Value& value, const Stays& stays) const override {
    const Pooled& record = *value.as<Pooled>();
    return record.at(record.index && stays(record.index) ? record.index : NodeId());
  }
  bool is_same(const Value& a, const Value& b) const override {
    const Pooled& r = *a.as<Pooled>();
    const Pooled& s = *b.as<Pooled>();
    return r.pool == s.pool && r.index == s.index && r.may_be_none == s.may_be_none &&
           r.may_be_unbound == s.may_be_unbound && r.classes == s.classes;
  }
  void slot_types(ir::TypeTable&, const Value& shape, Types& out) const override {
    if (!shape.as<Pooled>()->index) out.push_back(ir::kInt64);
  }
  void carry(Tracer& t, const Value& shape, const Value& actual, Nodes& out) const override {
    if (!shape.as<Pooled>()->index) out.push_back(PooledValues(t).index_of(actual));
  }
  Value fill(Tracer&, const Value& shape, const NextNode& next) const override {
    const Pooled& record = *shape.as<Pooled>();
    return record.at(record.index ? record.index : next());
  }
  Value blank(Tracer&, const Value& shape) const override {
    return shape.as<Pooled>()->index ? shape : Static{nb::none()};
  }
  Value present(Tracer& t, const Value& value, const std::string& name, nb::handle) const override {
    return bound(t, value, name);
  }
  Value bound(Tracer& t, const Value& value, const std::string& name) const override {
    if (!value.as<Pooled>()->may_be_unbound) return value;
    const auto [kind, message] = absence_of(t, name);
    return PooledValues(t).bound(*value.as<Pooled>(), kind, message);
  }
  std::optional<NodeId> is_missing(Tracer& t, const Value& value) const override {
    const Pooled& record = *value.as<Pooled>();
    if (!record.may_be_none) return std::nullopt;
    return t.builder->make(Op::invert, {PooledValues(t).is_there(record)});
  }
  Answer by_presence(Tracer& t, const Value& value, const Use& use, nb::handle) const override {
    const Pooled& record = *value.as<Pooled>();
    return record.may_be_none ? Answer(PooledValues(t).on_both(record, use)) : std::nullopt;
  }
  bool has_same_key(const Value& a, const Value& b) const override {
    const Pooled* x = a.as<Pooled>();
    const Pooled* y = b.as<Pooled>();
    return y != nullptr && x->is_list == y->is_list &&
           (x->pool == y->pool || x->pool == Pooled::kNoPool || y->pool == Pooled::kNoPool);
  }
  Value key(const Tracer&, const Value& value) const override {
    const Pooled& record = *value.as<Pooled>();
    return Pooled{.pool = record.pool, .is_list = record.is_list};
  }
  Answer form(Tracer&, const Value& value) const override { return value.as<Pooled>()->at({}); }
  void column_kinds(const Value&, std::vector<Kind>& kinds) const override {
    kinds.push_back(Kind::py_int());
  }
  void numbers(Tracer& t, const Value&, const Value& element, Nodes& out) const override {
    out.push_back(PooledValues(t).index_of(element));
  }
  Value element(Tracer&, const Value& form, const NextNode& next) const override {
    return form.as<Pooled>()->at(next());
  }
  void convert(Tracer& t, const Value& from, const Value&, Conversion& columns) const override {
    if (from.is<Pooled>()) columns.add(columns.next());
    else columns.fill(PooledValues(t).index_of(from));
  }
  std::optional<Description> describe(Tracer& t, const Value& value, Outward& outward) const override {
    const Pooled& record = *value.as<Pooled>();
    outward.leaves.push_back(record.index);
    return PooledValues(t).describe(record, outward);
  }

  std::string words(const Tracer& t, const Value& value) const override {
    return t.state.heap.contains(value.as<Pooled>()->pool) ? ValueKind::words(t, value) : "";
  }
  std::string type_name(const Tracer& t, const Value& value) const override {
    if (value.as<Pooled>()->is_list) return "list";
    if (const Pooled* r = PooledValues::open(value)) {
      std::string names;
      for (const nb::object& type : classes_of(t, *r))
        names += (names.empty() ? "" : " or ") + text_of(type.attr("__name__"));
      return names;
    }
    const nb::object type = class_of(t, value);
    return type.is_valid() ? text_of(type.attr("__name__")) : "object";
  }
  nb::object class_of(const Tracer& t, const Value& value) const override {
    if (PooledValues::open(value) != nullptr) {
      throw base::Unsupported(location_of(t, t.here),
                              "this use of what may be an instance of several classes",
                              "call a method of it");
    }
    const Pooled& record = *value.as<Pooled>();
    if (record.classes == 0) return {};
    return t.facts.pools.kin.at(record.pool)[static_cast<size_t>(std::countr_zero(record.classes))];
  }
  nb::object stand_in(const Tracer& t, const Value& value) const override {
    if (value.as<Pooled>()->is_list) return nb::list();
    if (const Pooled* r = PooledValues::open(value)) return stand_in_of(classes_of(t, *r)[0]);
    return stand_in_of(class_of(t, value));
  }
  bool has_methods(const Tracer&, const Value& value) const override { return value.as<Pooled>()->is_list; }
  Answer item(Tracer& t, const Value& value, const Value& index, nb::handle node) const override {
    const Pooled& row = *value.as<Pooled>();
    if (!row.is_list) return std::nullopt;
    return Rows(t).item(row, index, node);
  }
  Answer length(Tracer& t, const Value& value, nb::handle) const override {
    const Pooled& row = *value.as<Pooled>();
    if (!row.is_list) return std::nullopt;
    return Scalar{Kind::py_int(), Rows(t).length(row)};
  }
  bool set_item(Tracer& t, const Value& value, const Value& index, const Value& item,
                nb::handle node) const override {
    const Pooled& row = *value.as<Pooled>();
    if (row.is_list) Rows(t).set_item(row, index, item, node);
    return row.is_list;
  }
  bool delete_item(Tracer& t, const Value& value, const Value& index, nb::handle node) const override {
    const Pooled& row = *value.as<Pooled>();
    if (row.is_list) Rows(t).delete_item(row, index, node);
    return row.is_list;
  }
  Answer call(Tracer& t, const Value& value, Call& call) const override {
    if (value.as<Pooled>()->is_list) return std::nullopt;
    const Pooled there = PooledValues(t).present(*value.as<Pooled>(), base::ExceptionKind::TypeError,
                                                 "'NoneType' object is not callable");
    if (PooledValues::open(there) == nullptr) return call_instance(t, there, call);
    return PooledValues(t).on_each(there, [&](const Value& known) {
      Call again = call;
      return call_value(t, known, again);
    });
  }
  Answer method(Tracer& t, const Value& value, const std::string& name, Call& call) const override {
    const Pooled& row = *value.as<Pooled>();
    if (!row.is_list) return std::nullopt;
    raise_as_method(t, value, name, call);
    return Rows(t).method(row, name, call);
  }
  Answer in_place(Tracer& t, Operator op, const Value& value, const Value& right,
                  nb::handle node) const override {
    if (!value.as<Pooled>()->is_list) return in_place_of_object(t, op, value, right, node);
    if (op == Operator::Mult) return repeat_in_place(t, value, right, node);
    if (op != Operator::Add || is_numpys(right)) return std::nullopt;
    Call call{.positional = {right}, .name = "extend", .node = node};
    Rows(t).method(*value.as<Pooled>(), "extend", call);
    return Unbound{};
  }
  Answer array(Tracer& t, const Value& value, std::optional<DType> wanted, nb::handle node) const override {
    if (!value.as<Pooled>()->is_list) return std::nullopt;
    return array_of(t, by_library(t, "listed", {value}, node), node, wanted);
  }
  Answer reversed(Tracer& t, const Value& value, nb::handle node) const override {
    if (!value.as<Pooled>()->is_list) return std::nullopt;
    return iterator(t, "list_reverseiterator", by_library(t, "turned", {value}, node));
  }
  void refuse_iterate(Tracer& t, const Value& value, nb::handle node) const override {
    if (!value.as<Pooled>()->is_list) refuse_iterate_instance(t, value, node);
  }
  Answer iterated(Tracer& t, const Value& value, nb::handle node) const override {
    const Pooled& row = *value.as<Pooled>();
    if (!row.is_list) return iterated_instance(t, value, node);
    return begin_iterate(t, Rows(t).iterated(row, Static{nb::int_(0)}, node), node);
  }
  Indexed indexed(Tracer& t, const Value& value, nb::handle node) const override {
    if (!value.as<Pooled>()->is_list) return ValueKind::indexed(t, value, node);
    const Pooled row = PooledValues(t).present(*value.as<Pooled>(), base::ExceptionKind::TypeError,
                                               "'NoneType' object is not iterable");
    return {[&t, row, node](const Value& index) {
              const Scalar length{Kind::py_int(), Rows(t).length(row)};
              return frontend::compare(t, Operator::Lt, index, length, node);
            },
            [&t, row, node](const Value& index) { return Rows(t).item(row, index, node); }};
  }
  Answer rest(Tracer& t, const Value& value, const Value& taken, Known, nb::handle node) const override {
    const Pooled& row = *value.as<Pooled>();
    return row.is_list ? Answer(Rows(t).iterated(row, taken, node)) : std::nullopt;
  }
  std::optional<bool> known_truth(Tracer&, const Value& value) const override {
    const Pooled& record = *value.as<Pooled>();
    return record.is_list || record.may_be_none ? std::nullopt : std::optional(true);
  }
  std::optional<NodeId> truth(Tracer& t, const Value& value, nb::handle node) const override {
    const Pooled& record = *value.as<Pooled>();
    if (record.may_be_none) return truth_of_optional(t, record, node);
    if (!record.is_list) return std::nullopt;
    return t.builder->make(Op::not_equal, {Rows(t).length(record), t.builder->index(0)});
  }
  Precedence precedence() const override { return Precedence::Rows; }
  Answer binary(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node) const override {
    return Rows(t).binary(op, a, b, node);
  }

 private:
  static NodeId truth_of_optional(Tracer& t, const Pooled& record, nb::handle node) {
    if (static_truth(t, PooledValues::certain(record))) return PooledValues(t).is_there(record);
    const auto of_one = [&](const Value& one) { return as_bool(t, frontend::truth(t, one, node)); };
    return frontend::truth(t, PooledValues(t).on_both(record, of_one), node);
  }
  static std::vector<nb::object> classes_of(const Tracer& t, const Pooled& record) {
    return PooledValues(const_cast<Tracer&>(t)).classes_of(record);
  }
};

}  // namespace

INGOT_VALUE_KIND(Object, InstanceKind)
INGOT_VALUE_KIND(Pooled, PooledKind)

}  // namespace ingot::frontend
