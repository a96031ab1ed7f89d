#include "base/refused.h"
#include "frontend/fields.h"
#include "frontend/members.h"
#include "frontend/pooled_values.h"

// Arguments of unsupported types. Only their types are known, so every use of one is decided here:
// `ingot._objects.foreign` determines what Python raises for such types, if that is certain.
//
// For arrays NumPy is called with stand-ins of the same dtype and rank; for other objects the operations of
// the type decide. If that is inconclusive, the use is refused. Arrays have a known shape.

namespace ingot::frontend {

bool Evaluator::is_foreign(const Value& value) const {
  const auto any = [this](const auto& values) {
    return std::ranges::any_of(values, [this](const Value& v) { return is_foreign(v); });
  };
  if (value.is<Foreign>()) return true;
  if (const Tuple* t = value.as<Tuple>()) return any(t->members);
  if (const Slice* s = value.as<Slice>()) return any(*s->parts);
  if (const Reference* r = value.as<Reference>()) return any(state_.heap.at(r->object).values);
  return false;
}

nb::object Evaluator::stand_in(const Value& value) const {
  const nb::module_ numpy = imported("numpy");
  if (const Static* s = value.as<Static>()) return s->object;
  if (const Foreign* f = value.as<Foreign>())
    return imported("ingot._objects.foreign").attr("stand_in")(f->description);
  if (const auto* s = value.as<Scalar>()) {
    const std::string name(s->kind.name());
    if (s->kind.is_python()) return imported("builtins").attr(name.c_str())(1);
    return numpy.attr("dtype")(name).attr("type")(1);
  }
  if (const Structured* s = value.as<Structured>()) return Fields::stand_in(*s);
  if (const Array* a = value.as<Array>()) {
    nb::list shape;
    for (int i = 0; i < a->type.rank(); ++i) shape.append(1);
    return numpy.attr("ones")(nb::tuple(shape), std::string(base::info(a->type.dtype()).numpy));
  }
  const auto parts_of = [this](const auto& values) -> nb::object {
    nb::list parts;
    for (const Value& v : values) {
      const nb::object part = stand_in(v);
      if (!part.is_valid()) return {};
      parts.append(part);
    }
    return nb::object(parts);
  };
  if (const Tuple* t = value.as<Tuple>()) {
    nb::object parts = parts_of(t->members);
    if (!parts.is_valid()) return parts;
    nb::tuple members{parts};
    if (!t->type.is_valid()) return members;
    return imported("builtins").attr("tuple").attr("__new__")(t->type, members);
  }
  if (const Slice* s = value.as<Slice>()) {
    nb::object parts = parts_of(*s->parts);
    if (!parts.is_valid()) return parts;
    return imported("builtins").attr("slice")(parts[0], parts[1], parts[2]);
  }
  if (const Maybe* m = value.as<Maybe>()) return stand_in(*m->present);
  if (const Member* m = value.as<Member>()) return Members::members_of(m->type)[0];
  if (row_of(value) != nullptr) return nb::list();
  const nb::object kind_of_class = imported("ingot._objects.foreign").attr("Kind");
  if (const Pooled* r = PooledValues::open(value))
    return kind_of_class(PooledValues(const_cast<Evaluator&>(*this)).classes_of(*r)[0]);
  if (is_instance(value)) return kind_of_class(class_of_value(value));
  if (value.is<String>() || value.is<Characters>()) return imported("ingot._objects.foreign").attr("TEXT");
  if (value.is<Closure>()) return value.as<Closure>()->definition->hollow;
  if (value.is<Range>()) return imported("builtins").attr("range")(1);
  if (const Set* s = value.as<Set>()) {
    const Value& history = state_.heap.at(s->cell).values[0];
    if (!history.is<Static>()) return {};
    return imported("ingot._objects.sets").attr("build")(history.as<Static>()->object);
  }
  if (const Iterator* i = value.as<Iterator>()) {
    const nb::object made = imported("ingot._objects.foreign").attr("iterator")(i->name);
    return made.is_none() ? nb::object() : made;
  }
  if (const Reference* r = value.as<Reference>()) {
    const HeapObject& object = state_.heap.at(r->object);
    if (object.element != nullptr) return parts_of(std::vector<Value>{*object.element});
    nb::object parts = parts_of(object.values);
    if (!parts.is_valid() || object.type == HeapObject::Type::List) return parts;
    const nb::dict dict;
    for (size_t i = 0; i < object.keys.size(); ++i) dict[object.keys[i]] = parts[i];
    return nb::object(dict);
  }
  return {};
}

std::optional<Value> Evaluator::foreign_part(const Foreign& array, const Value& index, nb::handle node) {
  const auto is_plain = [this](const Value& part) {
    const std::optional<Kind> kind = kind_of(part);
    return part.is<Slice>() || (kind && !part.is<Array>() && base::is_int(kind->dtype()));
  };
  const Tuple* parts = index.as<Tuple>();
  const bool plain = parts != nullptr ? std::ranges::all_of(parts->members, is_plain) : is_plain(index);
  if (!array.shape || !plain || is_foreign(index)) return std::nullopt;
  const Value part = index_array(*array.shape->as<Array>(), index, node);
  const Array* view = part.as<Array>();
  const int rank = view == nullptr ? 0 : view->type.rank();
  const nb::object description = imported("ingot._objects.foreign").attr("part")(array.description, rank);
  if (description.is_none()) return std::nullopt;
  Foreign result{description, array.name};
  if (view != nullptr) result.shape = share(part);
  return result;
}

void Evaluator::raise_by_type(const char* operation, const std::string& symbol,
                              const std::vector<Value>& operands, nb::object function,
                              const std::vector<std::pair<std::string, Value>>& keywords) {
  nb::list given;
  nb::dict named;
  for (const auto& [name, value] : keywords) {
    const nb::object one = stand_in(value);
    if (!one.is_valid()) return;
    named[name.c_str()] = one;
  }
  for (const Value& operand : operands) {
    if (operand.is<Conflict>()) present(operand, "the value", here_);  // it has no type to raise by
    if (PooledValues::open(operand) != nullptr) return;
    const nb::object one = stand_in(operand);
    if (!one.is_valid()) return;
    given.append(one);
  }
  const nb::object probe = imported("ingot._objects.foreign").attr("probe");
  const nb::object error = probe(operation, symbol, std::move(function), given, named);
  if (!error.is_none()) raise_object(error);
}

void Evaluator::use_foreign(const char* operation, const std::string& symbol,
                            const std::vector<Value>& operands, nb::handle node, nb::object function) {
  const nb::module_ foreign = imported("ingot._objects.foreign");
  if (*operation != '\0') raise_by_type(operation, symbol, operands, std::move(function));
  std::vector<Value> pending(operands);
  while (!pending.empty()) {
    const Value value = std::move(pending.back());
    pending.pop_back();
    if (const Foreign* f = value.as<Foreign>()) {
      const std::string what = text_of(foreign.attr("words")(f->description));
      const std::string hint = text_of(foreign.attr("hint")(f->description));
      constexpr std::string_view kOutside = "outside.";
      const bool is_outside = f->name.starts_with(kOutside);
      const std::string name =
          is_outside ? captured_names_.at(std::stoul(f->name.substr(kOutside.size()))) : f->name;
      const std::string advice =
          hint.empty() ? "pass numbers, NumPy arrays of their dtypes, or containers of at most 16 elements"
                       : hint;
      if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0)
        unsupported(node, what + " from outside the function,", advice);
      const base::Unsupported refused = refusal(node, "`" + name + "`, " + what + ",", advice);
      if (is_outside) throw refused;
      throw base::Refused(refused, base::Refusal::Argument, name);
    }
    const auto push = [&](const auto& values) {
      pending.insert(pending.end(), values.begin(), values.end());
    };
    if (const Tuple* t = value.as<Tuple>()) push(t->members);
    if (const Slice* s = value.as<Slice>()) push(*s->parts);
    if (const Reference* r = value.as<Reference>()) push(state_.heap.at(r->object).values);
  }
  throw base::InternalError("no operand is foreign");
}

void Evaluator::raise_object(nb::handle error) {
  const std::string message = text_of(nb::str(error));
  const nb::object types = attribute(error.type(), "__mro__");
  for (const nb::handle type : types) {
    const auto kind = base::exception_from_name(text_of(type.attr("__name__")));
    if (!kind) continue;
    if (type.is(error.type()) && *kind == base::ExceptionKind::KeyError) {
      std::vector<Value> arguments;
      for (const nb::handle argument : attribute(error, "args"))
        arguments.push_back(host_value(nb::borrow<nb::object>(argument), "a key", {}));
      raise_error(make_error(nb::borrow(error.type()), std::move(arguments)));
    }
    if (type.is(error.type())) raise(*kind, base::escape_message(message));
    if (*kind == base::ExceptionKind::TypeError || *kind == base::ExceptionKind::AttributeError)
      need_one_kind(*kind);
    raise_error({.type = nb::borrow(error.type()),
                 .kind = kind,
                 .message = base::escape_message(message),
                 .parts = share(std::vector<Value>{}),
                 .original = nb::borrow(error),
                 .number = ++errors_made_});
  }
  throw base::InternalError("an exception of no kind: " + message);
}

}  // namespace ingot::frontend
