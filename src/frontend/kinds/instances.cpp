#include <bit>

#include "frontend/kinds/sequences.h"
#include "frontend/kinds/structure.h"
#include "frontend/parameters.h"
#include "frontend/rows.h"

namespace ingot::frontend {

using ir::Op;

namespace {

/// Stands for an instance of a class, without running code of the class.
nb::object stand_in_of(const nb::object& type) {
  return imported("ingot._objects.foreign").attr("Kind")(type);
}

std::optional<Value> call_instance(Evaluator& e, const Value& callee, Evaluator::Call& call) {
  const nb::object raw = e.class_attribute(e.class_of_value(callee), "__call__");
  if (!raw.is_valid()) return std::nullopt;
  if (!PyFunction_Check(raw.ptr()) && !is_jitted(raw))
    e.unsupported(call.node, "a call of a " + e.type_name(callee), "write its `__call__` as a method");
  call.positional.insert(call.positional.begin(), callee);
  return e.call(Static{raw}, call);
}

/// What a loop over an instance iterates over.
std::optional<Value> iterated_instance(Evaluator& e, const Value& value, nb::handle node) {
  const std::optional<Value> made = e.iterator_of_object(value, node);
  return made ? std::optional(e.begin_iterate(*made, node)) : std::nullopt;
}

void refuse_iterate_instance(Evaluator& e, const Value& value, nb::handle node) {
  const nb::object type = e.class_of_value(value);
  for (const char* method : {"__iter__", "__getitem__"})
    if (e.class_attribute(type, method).is_valid())
      e.unsupported(node, "iterating over a " + e.type_name(value), "iterate over its parts");
}

class InstanceKind final : public KindOfObjects<Object, &Object::object> {
 public:
  Answer form(Evaluator& e, const Value& value) const override {
    if (const std::optional<Pooled> record = PooledValues(e).of(value)) return record->at({});
    const auto made = e.pools_.makings.classes.find(value.as<Object>()->object);
    if (made != e.pools_.makings.classes.end()) PooledValues(e).ask_for({made->second}, {});
    return std::nullopt;
  }
  std::optional<Description> describe(Evaluator& e, const Value& value, Outward& outward) const override;
  std::string words(const Evaluator& e, const Value& value) const override {
    return words_of_object(e, value, *this);
  }
  std::string type_name(const Evaluator& e, const Value& value) const override {
    return text_of(class_of(e, value).attr("__name__"));
  }
  nb::object class_of(const Evaluator& e, const Value& value) const override {
    return e.state_.heap.at(value.as<Object>()->object).type_of;
  }
  nb::object stand_in(const Evaluator& e, const Value& value) const override {
    return stand_in_of(class_of(e, value));
  }
  Answer call(Evaluator& e, const Value& value, Call& call) const override {
    return call_instance(e, value, call);
  }
  Answer in_place(Evaluator& e, Operator op, const Value& value, const Value& right,
                  nb::handle node) const override {
    return e.in_place_of_object(op, value, right, node);
  }
  std::optional<bool> known_truth(Evaluator&, const Value&) const override { return true; }
  void refuse_iterate(Evaluator& e, const Value& value, nb::handle node) const override {
    refuse_iterate_instance(e, value, node);
  }
  Answer iterated(Evaluator& e, const Value& value, nb::handle node) const override {
    return iterated_instance(e, value, node);
  }
};

/// A pooled instance that it may have become is described as one.
std::optional<Description> InstanceKind::describe(Evaluator& e, const Value& value,
                                                  Evaluator::Outward& outward) const {
  if (const std::optional<Pooled> record = PooledValues(e).of(value))
    return e.describe_result(*record, outward);
  const uint32_t number = value.as<Object>()->object;
  const HeapObject object = e.state_.heap.at(number);
  if (object.argument >= 0) return Description{described::Argument{object.argument}};
  if (const auto copied = Evaluator::Parameters(e).number_of_copy(number))
    return Description{described::Argument{*copied}};
  e.need_own(object, {});
  if (text_of(object.type_of.attr("__module__")) == "numpy.random._generator") {
    e.unsupported({}, "a Generator that is made in the function and leaves it",
                  "make it outside, or return what it draws");
  }
  const bool leaves = lookup(object.type_of, "__ingot_result__").is_valid();
  const bool is_plain = lookup(object.type_of, "__ingot_plain__").is_valid();
  const nb::object outer = stood_for(object.type_of);
  if (!leaves && !is_plain && !outer.is(object.type_of)) {
    e.unsupported({}, "a " + text_of(outer.attr("__name__")) + " that is made in the function and leaves it",
                  "make it outside, or return what it gives");
  }
  if (std::optional<Description> again = outward.again(number)) return *again;
  nb::list names;
  std::vector<Description> parts;
  for (size_t i = 0; i < object.keys.size(); ++i) {
    const Maybe* maybe = object.values[i].as<Maybe>();
    if (maybe != nullptr && maybe->may_be_unbound) {
      e.unsupported({},
                    "an instance that has the attribute `" + text_of(object.keys[i]) + "` on some paths only",
                    "set it on every path");
    }
    if (object.values[i].is<Unbound>()) continue;
    names.append(object.keys[i]);
    parts.push_back(e.describe_result(object.values[i], outward));
  }
  return Description{described::Instance{is_plain ? outer : object.type_of, nb::tuple(names), leaves},
                     std::move(parts)};
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
  void carry(Evaluator& e, const Value& shape, const Value& actual, Nodes& out) const override {
    if (!shape.as<Pooled>()->index) out.push_back(PooledValues(e).index_of(actual));
  }
  Value fill(Evaluator&, const Value& shape, const NextNode& next) const override {
    const Pooled& record = *shape.as<Pooled>();
    return record.at(record.index ? record.index : next());
  }
  Value blank(Evaluator&, const Value& shape) const override {
    return shape.as<Pooled>()->index ? shape : Static{nb::none()};
  }
  Value present(Evaluator& e, const Value& value, const std::string& name, nb::handle) const override {
    if (!value.as<Pooled>()->may_be_unbound) return value;
    const auto [kind, message] = e.absence_of(name);
    return PooledValues(e).bound(*value.as<Pooled>(), kind, message);
  }
  Value key(const Evaluator&, const Value& value) const override {
    const Pooled& record = *value.as<Pooled>();
    return Pooled{.pool = record.pool, .is_list = record.is_list};
  }
  Answer form(Evaluator&, const Value& value) const override { return value.as<Pooled>()->at({}); }
  void column_kinds(const Value&, std::vector<Kind>& kinds) const override {
    kinds.push_back(Kind::py_int());
  }
  void numbers(Evaluator& e, const Value&, const Value& element, Nodes& out) const override {
    out.push_back(PooledValues(e).index_of(element));
  }
  Value element(Evaluator&, const Value& form, const NextNode& next) const override {
    return form.as<Pooled>()->at(next());
  }
  void convert(Evaluator& e, const Value& from, const Value&, Conversion& columns) const override {
    if (from.is<Pooled>()) columns.add(columns.next());
    else columns.fill(PooledValues(e).index_of(from));
  }
  std::optional<Description> describe(Evaluator& e, const Value& value, Outward& outward) const override {
    const Pooled& record = *value.as<Pooled>();
    outward.leaves.push_back(record.index);
    return PooledValues(e).describe(record, outward);
  }

  std::string words(const Evaluator& e, const Value& value) const override {
    return e.state_.heap.contains(value.as<Pooled>()->pool) ? ValueKind::words(e, value) : "";
  }
  std::string type_name(const Evaluator& e, const Value& value) const override {
    if (value.as<Pooled>()->is_list) return "list";
    if (const Pooled* r = PooledValues::open(value)) {
      std::string names;
      for (const nb::object& type : classes_of(e, *r))
        names += (names.empty() ? "" : " or ") + text_of(type.attr("__name__"));
      return names;
    }
    const nb::object type = class_of(e, value);
    return type.is_valid() ? text_of(type.attr("__name__")) : "object";
  }
  nb::object class_of(const Evaluator& e, const Value& value) const override {
    if (PooledValues::open(value) != nullptr) {
      throw base::Unsupported(e.location_of(e.here_),
                              "this use of what may be an instance of several classes",
                              "call a method of it");
    }
    const Pooled& record = *value.as<Pooled>();
    if (record.classes == 0) return {};
    return e.pools_.kin.at(record.pool)[static_cast<size_t>(std::countr_zero(record.classes))];
  }
  nb::object stand_in(const Evaluator& e, const Value& value) const override {
    if (value.as<Pooled>()->is_list) return nb::list();
    if (const Pooled* r = PooledValues::open(value)) return stand_in_of(classes_of(e, *r)[0]);
    return stand_in_of(class_of(e, value));
  }
  bool has_methods(const Evaluator&, const Value& value) const override {
    return value.as<Pooled>()->is_list;
  }
  Answer item(Evaluator& e, const Value& value, const Value& index, nb::handle node) const override {
    const Pooled& row = *value.as<Pooled>();
    if (!row.is_list) return std::nullopt;
    return Evaluator::Rows(e).item(row, index, node);
  }
  Answer length(Evaluator& e, const Value& value, nb::handle) const override {
    const Pooled& row = *value.as<Pooled>();
    if (!row.is_list) return std::nullopt;
    return Scalar{Kind::py_int(), Evaluator::Rows(e).length(row)};
  }
  bool set_item(Evaluator& e, const Value& value, const Value& index, const Value& item,
                nb::handle node) const override {
    const Pooled& row = *value.as<Pooled>();
    if (row.is_list) Evaluator::Rows(e).set_item(row, index, item, node);
    return row.is_list;
  }
  bool delete_item(Evaluator& e, const Value& value, const Value& index, nb::handle node) const override {
    const Pooled& row = *value.as<Pooled>();
    if (row.is_list) Evaluator::Rows(e).delete_item(row, index, node);
    return row.is_list;
  }
  Answer call(Evaluator& e, const Value& value, Call& call) const override {
    if (value.as<Pooled>()->is_list) return std::nullopt;
    const Pooled there = PooledValues(e).present(*value.as<Pooled>(), base::ExceptionKind::TypeError,
                                                 "'NoneType' object is not callable");
    if (PooledValues::open(there) == nullptr) return call_instance(e, there, call);
    return PooledValues(e).on_each(there, [&](const Value& known) {
      Call again = call;
      return e.call(known, again);
    });
  }
  Answer method(Evaluator& e, const Value& value, const std::string& name, Call& call) const override {
    const Pooled& row = *value.as<Pooled>();
    if (!row.is_list) return std::nullopt;
    raise_as_method(e, value, name, call);
    return Evaluator::Rows(e).method(row, name, call);
  }
  Answer in_place(Evaluator& e, Operator op, const Value& value, const Value& right,
                  nb::handle node) const override {
    if (!value.as<Pooled>()->is_list) {
      return e.in_place_of_object(op, value, right, node);
    }
    if (op == Operator::Mult) return repeat_in_place(e, value, right, node);
    if (op != Operator::Add || e.is_numpys(right)) return std::nullopt;
    Call call{.positional = {right}, .keywords = {}, .name = "extend", .node = node};
    Evaluator::Rows(e).method(*value.as<Pooled>(), "extend", call);
    return Unbound{};
  }
  Answer array(Evaluator& e, const Value& value, std::optional<DType> wanted,
               nb::handle node) const override {
    if (!value.as<Pooled>()->is_list) return std::nullopt;
    return e.array_of(e.by_library("listed", {value}, node), node, wanted);
  }
  Answer reversed(Evaluator& e, const Value& value, nb::handle node) const override {
    if (!value.as<Pooled>()->is_list) return std::nullopt;
    return e.iterator("list_reverseiterator", e.by_library("turned", {value}, node));
  }
  void refuse_iterate(Evaluator& e, const Value& value, nb::handle node) const override {
    if (!value.as<Pooled>()->is_list) refuse_iterate_instance(e, value, node);
  }
  Answer iterated(Evaluator& e, const Value& value, nb::handle node) const override {
    const Pooled& row = *value.as<Pooled>();
    if (!row.is_list) return iterated_instance(e, value, node);
    return e.begin_iterate(Evaluator::Rows(e).iterated(row, node), node);
  }
  std::optional<bool> known_truth(Evaluator&, const Value& value) const override {
    const Pooled& record = *value.as<Pooled>();
    return record.is_list || record.may_be_none ? std::nullopt : std::optional(true);
  }
  std::optional<NodeId> truth(Evaluator& e, const Value& value, nb::handle node) const override {
    const Pooled& record = *value.as<Pooled>();
    if (record.may_be_none) return truth_of_optional(e, record, node);
    if (!record.is_list) return std::nullopt;
    return e.builder_->make(Op::not_equal, {Evaluator::Rows(e).length(record), e.builder_->index(0)});
  }
  Precedence precedence() const override { return Precedence::Rows; }
  Answer binary(Evaluator& e, Operator op, const Value& a, const Value& b, nb::handle node) const override {
    return Evaluator::Rows(e).binary(op, a, b, node);
  }

 private:
  static NodeId truth_of_optional(Evaluator& e, const Pooled& record, nb::handle node) {
    const Pooled there = PooledValues::certain(record);
    const NodeId is_there = PooledValues(e).is_there(record);
    if (e.static_truth(there)) return is_there;
    const auto own = [&] { return Value(Scalar{Kind::py_bool(), e.truth(there, node)}); };
    return e.truth(e.fork(is_there, own, [] { return Value(Static{nb::bool_(false)}); }), node);
  }
  static std::vector<nb::object> classes_of(const Evaluator& e, const Pooled& record) {
    return Evaluator::PooledValues(const_cast<Evaluator&>(e)).classes_of(record);
  }
};

}  // namespace

INGOT_VALUE_KIND(Object, InstanceKind)
INGOT_VALUE_KIND(Pooled, PooledKind)

}  // namespace ingot::frontend
