#include "frontend/evaluator_parts.h"

// Sets, whose elements are known when compiling. A cell of the shadow heap holds the history of a set: what
// was done to make it. Doing that again on a host set gives what CPython has, the order of walking included.

namespace ingot::frontend {

using base::ExceptionKind;

namespace {

nb::module_ histories() { return imported("ingot._sets"); }

constexpr const char* kChanges[] = {"add",
                                    "discard",
                                    "remove",
                                    "clear",
                                    "update",
                                    "intersection_update",
                                    "difference_update",
                                    "symmetric_difference_update"};

}  // namespace

nb::object Evaluator::history_of(const Set& set, nb::handle node) {
  const Value history = present(state_.heap.at(set.cell).values[0], "the set", node);
  if (!history.is<Static>()) unsupported(node, "a set that differs between paths", "use a dict or an array");
  return history.as<Static>()->object;
}

nb::object Evaluator::host_set(const Set& set, nb::handle node) {
  return histories().attr("build")(history_of(set, node));
}

Value Evaluator::new_set(const nb::object& history) {
  try {
    const bool is_frozen = PyFrozenSet_Check(nb::object(histories().attr("build")(history)).ptr()) != 0;
    return Set{new_cell(Static{history}), is_frozen};
  } catch (nb::python_error& error) {
    raise_host_error(error);
  }
}

void Evaluator::need_hashable(const Value& value, nb::handle node) {
  const bool is_mutable_set = value.is<Set>() && !value.as<Set>()->is_frozen;
  if (value.is<Array>() || value.is<Reference>() || is_mutable_set)
    raise(ExceptionKind::TypeError, "unhashable type: '" + type_name(value) + "'");
  if (const Tuple* t = value.as<Tuple>())
    for (const Value& member : t->members) need_hashable(member, node);
  const Static* s = value.as<Static>();
  const bool is_own = s != nullptr && is_member_of_enum(s->object) &&
                      has_own_equality(nb::borrow<nb::object>(s->object.type()));
  if (is_instance(value) || is_own)
    unsupported(node, "an element of a set that is a " + type_name(value), "use numbers and texts");
}

nb::object Evaluator::element_of_set(const Value& value, nb::handle node) {
  need_hashable(value, node);
  if (const Set* set = value.as<Set>()) return host_set(*set, node);
  return require_static(value, "an element of a set", node);
}

nb::object Evaluator::iterable_of_set(const Value& value, nb::handle node) {
  if (const Set* set = value.as<Set>()) return history_of(*set, node);
  need_iterable(value);
  nb::list elements;
  for (const Value& element : elements_of(value, node)) elements.append(element_of_set(element, node));
  const Reference* r = value.as<Reference>();
  if (r == nullptr || state_.heap.at(r->object).type == HeapObject::Type::List) return nb::tuple(elements);
  return imported("builtins").attr("dict").attr("fromkeys")(elements);  // merged, not added
}

Value Evaluator::eval_set(nb::handle e) {
  const nb::object function = frame_->function.is_valid() ? frame_->function : nb::none();
  nb::object history = histories().attr("display")(e, function);
  if (!history.is_none()) return new_set(history);
  history = histories().attr("empty")();
  for (const nb::handle element : e.attr("elts")) {
    const bool is_starred = class_of(element) == "Starred";
    const Value value = is_starred ? eval(element.attr("value")) : eval_open(element);
    const nb::object given = is_starred ? iterable_of_set(value, e) : element_of_set(value, e);
    history = histories().attr("then")(history, is_starred ? "update" : "add", nb::make_tuple(given), true);
  }
  return new_set(history);
}

Value Evaluator::eval_set_comp(nb::handle e) {
  const Set set = *new_set(histories().attr("empty")()).as<Set>();
  comprehend(e, first_iterable(e), [&] {
    Call call{.positional = {eval_open(e.attr("elt"))}, .keywords = {}, .name = "add", .node = e};
    set_method(set, "add", call);
  });
  return set;
}

Value Evaluator::builtin_set(Call& call) {
  finish(call, 1);
  const nb::object type = imported("builtins").attr(call.name.c_str());
  if (call.positional.empty()) return new_set(histories().attr("made")(type, nb::none()));
  const Value& given = call.positional[0];
  if (const Set* set = given.as<Set>(); set != nullptr && set->is_frozen && call.name == "frozenset")
    return given;
  return new_set(histories().attr("made")(type, iterable_of_set(given, call.node)));
}

Value Evaluator::set_method(const Set& set, const std::string& name, Call& call) {
  const nb::handle node = call.node;
  const nb::object before = history_of(set, node);
  const bool takes_element = name == "add" || name == "discard" || name == "remove";
  nb::list given;
  for (const Value& value : call.positional)
    given.append(takes_element ? element_of_set(value, node) : iterable_of_set(value, node));
  nb::object result;
  const nb::object host = histories().attr("build")(before);
  try {
    nb::list built;
    for (const nb::handle one : given) built.append(histories().attr("build")(one));
    result = attribute(host, name.c_str())(*nb::tuple(built));
  } catch (nb::python_error& error) {
    raise_host_error(error);
  }
  const bool is_pop = name == "pop";
  const bool changes =
      is_pop || std::ranges::any_of(kChanges, [&](const char* change) { return name == change; });
  const nb::object after = histories().attr("then")(before, name, nb::tuple(given), changes);
  if (changes) state_.heap.at(set.cell).values[0] = Static{after};
  if (changes && !is_pop) return Static{nb::none()};
  if (is_pop || !PyAnySet_Check(result.ptr())) return static_value(result);
  if (set.is_frozen && name == "copy") return set;
  return new_set(after);
}

std::optional<Value> Evaluator::binary_of_sets(const std::string& op, const Value& a, const Value& b,
                                               nb::handle node) {
  if (!a.is<Set>() || !b.is<Set>()) return std::nullopt;
  const std::map<std::string, std::pair<const char*, const char*>> kMethods = {
      {"BitOr", {"union", "__or__"}},
      {"BitAnd", {"intersection", "__and__"}},
      {"Sub", {"difference", "__sub__"}},
      {"BitXor", {"symmetric_difference", "__xor__"}},
      {"Eq", {"", "__eq__"}},
      {"NotEq", {"", "__ne__"}},
      {"Lt", {"", "__lt__"}},
      {"LtE", {"", "__le__"}},
      {"Gt", {"", "__gt__"}},
      {"GtE", {"", "__ge__"}}};
  const auto method = kMethods.find(op);
  if (method == kMethods.end()) return std::nullopt;
  Call call{.positional = {b}, .keywords = {}, .name = method->second.second, .node = node};
  return set_method(*a.as<Set>(), method->second.second, call);
}

bool Evaluator::change_set(const Set& set, const std::string& op, const Value& right, nb::handle node) {
  const std::map<std::string, const char*> kMethods = {
      {"BitOr", "__ior__"}, {"BitAnd", "__iand__"}, {"Sub", "__isub__"}, {"BitXor", "__ixor__"}};
  const auto method = kMethods.find(op);
  if (set.is_frozen || method == kMethods.end() || !right.is<Set>()) return false;
  const nb::object given = history_of(*right.as<Set>(), node);
  state_.heap.at(set.cell).values[0] =
      Static{histories().attr("then")(history_of(set, node), method->second, nb::make_tuple(given), true)};
  return true;
}

std::vector<Value> Evaluator::elements_of_set(const Set& set, nb::handle node) {
  std::vector<Value> elements;
  for (const nb::handle element : host_set(set, node))
    elements.push_back(static_value(nb::borrow<nb::object>(element)));
  return elements;
}

Value Evaluator::is_element(const Value& wanted, const Value& set, nb::handle node) {
  if (!wanted.is<Set>()) need_hashable(wanted, node);
  const std::function<bool(const Value&)> is_known = [&](const Value& value) {
    const Tuple* t = value.as<Tuple>();
    return value.is<Static>() || (t != nullptr && std::ranges::all_of(t->members, is_known));
  };
  if (is_known(wanted)) {
    const nb::object host = host_set(*set.as<Set>(), node);
    return Static{nb::bool_(PySet_Contains(host.ptr(), element_of_set(wanted, node).ptr()) == 1)};
  }
  // A number that is not known equals numbers alone.
  std::vector<Value> elements = elements_of_set(*set.as<Set>(), node);
  if (wanted.is<Scalar>()) std::erase_if(elements, [&](const Value& v) { return !kind_of(v); });
  return compare("In", wanted, Tuple{std::move(elements)}, node);
}

}  // namespace ingot::frontend
