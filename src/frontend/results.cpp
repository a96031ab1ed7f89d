#include "frontend/results.h"

#include "frontend/kinds/fields.h"
#include "frontend/kinds/members.h"
#include "frontend/parameters.h"
#include "frontend/pooled_values.h"

namespace ingot::frontend {

using ir::Op;

namespace {

constexpr uint32_t kUnnumbered = 0x4000'0000;  ///< with the number of its node: a view without a number

}  // namespace

std::optional<Description> Evaluator::Outward::again(uint32_t object) {
  if (object != 0) {
    const auto [known, is_new] = made.emplace(object, count);
    if (!is_new) return Description{described::Same{known->second}};
  }
  ++count;
  return std::nullopt;
}

std::vector<Description> Evaluator::Results::all(const std::vector<Value>& values) {
  std::vector<Description> parts;
  parts.reserve(values.size());
  for (const Value& value : values) parts.push_back(describe(value));
  return parts;
}

Description Evaluator::Results::array(const Array& a) {
  if (a.access == Access::Differs)
    e_.unsupported({}, "a result that is a read-only array on one path only", "return a copy of it");
  // A view that a loop has carried has no number: its node identifies it.
  const uint32_t number = a.object != 0 ? a.object : kUnnumbered | a.node.index;
  if (std::optional<Description> again = outward_.again(number)) return *again;
  outward_.leaves.push_back(a.node);
  if (a.origin) outward_.leaves.push_back(a.origin);
  described::Array array{.dtype = a.type.dtype(),
                         .ndim = a.type.rank(),
                         .is_writable = a.access == Access::Writable,
                         .argument = a.argument,
                         .owns = a.owns};
  if (a.origin) array.argument.reset();
  return {array};
}

Description Evaluator::Results::container(const Reference& container, const Value& value) {
  const HeapObject object = e_.state_.heap.at(container.object);
  if (object.argument >= 0) return {described::Argument{object.argument}};
  if (e_.growing(value) == nullptr && e_.mapping(value) == nullptr) e_.contents(container, {});
  e_.need_own(object, {});
  if (std::optional<Description> again = outward_.again(container.object)) return *again;
  if (object.element != nullptr) return e_.describe_list_buffer(object, outward_);
  if (object.is_mapping) return {described::Mapping{}, all({object.values[0], object.values[1]})};
  std::vector<Description> parts = all(object.values);
  if (object.type == HeapObject::Type::List) return {described::List{}, std::move(parts)};
  nb::list keys;
  for (const nb::object& key : object.keys) keys.append(key);
  return {described::Dict{nb::tuple(keys)}, std::move(parts)};
}

Description Evaluator::Results::instance(const Object& instance) {
  const HeapObject object = e_.state_.heap.at(instance.object);
  if (object.argument >= 0) return {described::Argument{object.argument}};
  if (const auto number = Parameters(e_).number_of_copy(instance.object))
    return {described::Argument{*number}};
  e_.need_own(object, {});
  if (text_of(object.type_of.attr("__module__")) == "numpy.random._generator") {
    e_.unsupported({}, "a Generator that is made in the function and leaves it",
                   "make it outside, or return what it draws");
  }
  const bool leaves = lookup(object.type_of, "__ingot_result__").is_valid();
  const bool is_plain = lookup(object.type_of, "__ingot_plain__").is_valid();
  const nb::object outer = stood_for(object.type_of);
  if (!leaves && !is_plain && !outer.is(object.type_of)) {
    e_.unsupported({}, "a " + text_of(outer.attr("__name__")) + " that is made in the function and leaves it",
                   "make it outside, or return what it gives");
  }
  if (std::optional<Description> again = outward_.again(instance.object)) return *again;
  nb::list names;
  std::vector<Description> parts;
  for (size_t i = 0; i < object.keys.size(); ++i) {
    const Maybe* maybe = object.values[i].as<Maybe>();
    if (maybe != nullptr && maybe->may_be_unbound) {
      e_.unsupported(
          {}, "an instance that has the attribute `" + text_of(object.keys[i]) + "` on some paths only",
          "set it on every path");
    }
    if (object.values[i].is<Unbound>()) continue;
    names.append(object.keys[i]);
    parts.push_back(describe(object.values[i]));
  }
  return {described::Instance{is_plain ? outer : object.type_of, nb::tuple(names), leaves}, std::move(parts)};
}

/// Of known elements. A new set is made by what was done to make it.
Description Evaluator::Results::set(const Set& set) {
  if (const auto number = Parameters(e_).number_of_copy(set.cell)) return {described::Argument{*number}};
  if (set.is_frozen) return {described::Static{e_.host_set(set, {})}};
  const nb::object made = imported("ingot._objects.sets").attr("packed")(e_.history_of(set, {}));
  if (std::optional<Description> again = outward_.again(set.cell)) return *again;
  const nb::object type = imported("ingot.library.sets").attr("KnownSet");
  return {described::Instance{type, nb::make_tuple("history"), true}, {{described::Static{made}}}};
}

Description Evaluator::Results::describe(const Value& given) {
  if (const Maybe* m = given.as<Maybe>()) {
    const Scalar* s = m->present->as<Scalar>();
    if (s == nullptr || m->may_be_unbound)
      e_.unsupported({}, "a result that is an array on one path and None on another",
                     "return an array on every path, an empty one if need be");
    outward_.leaves.push_back(e_.builder_->make(Op::tag, {m->node}));
    outward_.leaves.push_back(e_.builder_->make(Op::value, {m->node}));
    return {described::Maybe{}, {{described::Scalar{s->kind}}}};
  }
  const Value value = e_.present(given, "the result", {});
  if (value.is<Foreign>()) e_.use_foreign("", "", {value}, {});
  if (const Static* s = value.as<Static>())
    return {
        described::Static{s->object, PyUnicode_Check(s->object.ptr()) ? -1 : Fields(e_).leaf_of(s->object)}};
  if (const Scalar* s = value.as<Scalar>()) {
    outward_.leaves.push_back(s->node);
    return {described::Scalar{s->kind}};
  }
  if (value.is<Array>()) return array(e_.named(value));
  if (const Structured* s = value.as<Structured>()) return Fields(e_).describe(*s, outward_);
  if (const Tuple* t = value.as<Tuple>()) {
    described::Tuple tuple;
    if (t->type.is_valid()) tuple.type = t->type;
    return {tuple, all(t->members)};
  }
  if (const Member* m = value.as<Member>()) {
    outward_.leaves.push_back(m->index->as<Scalar>()->node);
    return {described::Member{nb::cast<nb::tuple>(Members::tuple_of(m->type))}};
  }
  if (const String* t = value.as<String>())
    return {described::Text{nb::str(t->form.c_str(), t->form.size())}, all(*t->parts)};
  if (const Characters* l = value.as<Characters>()) return {described::Characters{}, all({*l->codes})};
  if (const Reference* r = value.as<Reference>()) return container(*r, value);
  if (const std::optional<Pooled> record = PooledValues(e_).of(value)) {
    outward_.leaves.push_back(record->index);
    return PooledValues(e_).describe(*record, outward_);
  }
  if (const Object* o = value.as<Object>()) return instance(*o);
  if (const Set* s = value.as<Set>()) return set(*s);
  e_.unsupported({}, "a result that is a " + e_.type_name(value),
                 "return numbers, arrays, instances, or tuples, lists and dicts of them");
}

Description Evaluator::describe_result(const Value& value, Outward& outward) {
  return Results(*this, outward).describe(value);
}

}  // namespace ingot::frontend
