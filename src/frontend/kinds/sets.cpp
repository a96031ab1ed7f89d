// Sets. If all elements are known when compiling, a cell of the shadow heap holds the history of a set, the
// operations that made it. Repeating these on a host set gives CPython's set, with its order of iteration. If
// an element is not known, the set becomes an instance of `ingot.library.sets.HashSet`: that is a fact about
// the expression that makes it, `made_at` of the cell, and the function is evaluated again with it.

#include "frontend/kinds/sets.h"

#include "frontend/arrays/arguments.h"
#include "frontend/arrays/operators.h"
#include "frontend/arrays/scalars.h"
#include "frontend/expressions/closures.h"
#include "frontend/expressions/expressions.h"
#include "frontend/kinds/dicts.h"
#include "frontend/kinds/generators.h"
#include "frontend/kinds/list_buffers.h"
#include "frontend/kinds/lists.h"
#include "frontend/kinds/parameters.h"
#include "frontend/kinds/special_methods.h"
#include "frontend/kinds/structure.h"
#include "frontend/tracer/checkpoint.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

using base::ExceptionKind;

namespace {

constexpr const char* kSite = "#set";
constexpr const char* kKnown = "#known";
constexpr const char* kWanted = "#wanted";

nb::module_ histories() { return imported("ingot._objects.sets"); }

nb::module_ staged() { return imported("ingot.library.sets"); }

constexpr const char* kChanges[] = {"add",
                                    "discard",
                                    "remove",
                                    "clear",
                                    "update",
                                    "intersection_update",
                                    "difference_update",
                                    "symmetric_difference_update"};

/// Applies `convert`, which needs known elements. A loop over a constant range is unrolled for that; if that
/// is too much, or an argument would have to be known, demands that the set made at `site` has unknown
/// elements.
template <class Convert>
auto with_known(std::set<std::string>& facts, const std::string& site, const base::SourceLocation& location,
                const Convert& convert) {
  try {
    return convert();
  } catch (const NeedsFact& fact) {
    if (fact.is_of_argument()) ask_for_staged_set(facts, site, location);
    else if (fact.kind == NeedsFact::Kind::Site && !site.empty() && !facts.contains(site + kKnown))
      facts.insert(site + kWanted);
    throw;
  } catch (const base::Unsupported&) {
    ask_for_staged_set(facts, site, location);
    throw;
  }
}

}  // namespace

void ask_for_staged_set(const std::set<std::string>& facts, const std::string& site,
                        const base::SourceLocation& location) {
  if (!site.empty() && !facts.contains(site + kKnown)) throw NeedsFact::at(site, location);
}

bool try_other_sets(std::set<std::string>& facts) {
  std::vector<std::string> staged_ones;
  std::vector<std::string> wanted;
  for (const std::string& fact : facts) {
    if (fact.ends_with(kSite)) staged_ones.push_back(fact);
    if (fact.ends_with(kWanted)) wanted.push_back(fact);
  }
  for (const std::string& site : staged_ones) {
    facts.erase(site);
    facts.insert(site + kKnown);
  }
  if (!staged_ones.empty()) return true;
  if (!wanted.empty())
    std::erase_if(facts, [](const std::string& fact) { return fact.find('#') == std::string::npos; });
  for (const std::string& fact : wanted) {
    facts.erase(fact);
    facts.insert(fact.substr(0, fact.size() - std::string_view(kWanted).size()));
  }
  return !wanted.empty();
}

namespace {

Value set_method(Tracer& t, const Set& set, const std::string& name, Call& call);

}  // namespace

nb::object history_of(Tracer& t, const Set& set, nb::handle node) {
  const HeapObject& cell = t.state.heap.at(set.cell);
  const Maybe* m = cell.values[0].as<Maybe>();
  if ((m == nullptr || !m->may_be_unbound) && !cell.values[0].is<Static>())
    ask_for_staged_set(t.facts.unrolled, cell.made_at, location_of(t, node));
  const Value history = present(t, cell.values[0], "the set", node);
  if (!history.is<Static>())
    unsupported(t, node, "a set that differs between paths", "use a dict or an array");
  return history.as<Static>()->object;
}

nb::object host_set(Tracer& t, const Set& set, nb::handle node) {
  return histories().attr("build")(history_of(t, set, node));
}

namespace {

Value new_set(Tracer& t, const nb::object& history) {
  return by_python(t, [&] {
    const bool is_frozen = PyFrozenSet_Check(nb::object(histories().attr("build")(history)).ptr()) != 0;
    return Set{new_cell(t, Static{history}), is_frozen};
  });
}

}  // namespace

void need_hashable(Tracer& t, const Value& value, nb::handle node) {
  const bool is_mutable_set = value.is<Set>() && !value.as<Set>()->is_frozen;
  if (value.is<Array>() || container_of(value) != 0 || is_mutable_set)
    raise(t, ExceptionKind::TypeError, "unhashable type: '" + type_name(t, value) + "'");
  if (const Tuple* tuple = value.as<Tuple>())
    for (const Value& member : tuple->members) need_hashable(t, member, node);
  const Static* s = value.as<Static>();
  const bool is_own = s != nullptr && is_member_of_enum(s->object) &&
                      has_own_equality(t, nb::borrow<nb::object>(s->object.type()));
  if (is_instance(value) || is_own)
    unsupported(t, node, "an element of a set that is a " + type_name(t, value), "use numbers and strings");
}

namespace {

nb::object element_of_set(Tracer& t, const Value& value, nb::handle node) {
  need_hashable(t, value, node);
  if (const Set* set = value.as<Set>()) return host_set(t, *set, node);
  return require_static(t, value, "an element of a set", node);
}

/// The elements of an iterable, as histories hold them.
nb::object iterable_of_set(Tracer& t, const Value& value, nb::handle node) {
  if (const Set* set = value.as<Set>()) return history_of(t, *set, node);
  need_iterable(t, value);
  nb::list elements;
  for (const Value& element : elements_of(t, value, node)) elements.append(element_of_set(t, element, node));
  if (!value.is<Dict>()) return nb::tuple(elements);
  return imported("builtins").attr("dict").attr("fromkeys")(elements);  // merged, not added
}

}  // namespace

Value eval_set(Tracer& t, nb::handle e) {
  const std::string site = key_of(t, e) + kSite;
  const bool is_staged = t.facts.unrolled.contains(site);
  const nb::object function = t.frame->function.is_valid() ? t.frame->function : nb::none();
  nb::object history = histories().attr("display")(e, function);
  Call none{.positional = {Tuple{}}, .name = "set", .node = e};
  Value set = is_staged ? inline_function(t, staged().attr("of"), none)
                        : new_set(t, history.is_none() ? nb::object(histories().attr("empty")()) : history);
  if (!is_staged) t.state.heap.at(set.as<Set>()->cell).made_at = site;
  if (!is_staged && !history.is_none()) return set;
  for (const nb::handle element : e.attr("elts")) {
    const bool is_starred = class_of(element) == "Starred";
    Call call{.positional = {is_starred ? eval(t, element.attr("value")) : eval_open(t, element)},
              .name = is_starred ? "update" : "add",
              .node = e};
    if (is_staged) call_special(t, set, call.name, call.positional, e);
    else set_method(t, *set.as<Set>(), call.name, call);
  }
  return set;
}

Value eval_set_comp(Tracer& t, nb::handle e) {
  const std::string site = key_of(t, e) + kSite;
  const Value first = first_iterable(t, e);
  if (t.facts.unrolled.contains(site)) {
    Call of{.positional = {list_buffer_comprehension(t, e, first)}, .name = "set", .node = e};
    return inline_function(t, staged().attr("of"), of);
  }
  if (has_open_length(t, first)) ask_for_staged_set(t.facts.unrolled, site, location_of(t, e));
  const Set set = *new_set(t, histories().attr("empty")()).as<Set>();
  t.state.heap.at(set.cell).made_at = site;
  comprehend(t, e, first, [&] {
    Call call{.positional = {eval_open(t, e.attr("elt"))}, .name = "add", .node = e};
    set_method(t, set, "add", call);
  });
  return set;
}

Value builtin_set(Tracer& t, Call& call) {
  finish(t, call, 1);
  const nb::object type = imported("builtins").attr(call.name.c_str());
  const std::string site = call.name == "set" ? key_of(t, call.node) + kSite : "";
  const Value given = call.positional.empty() ? Value(Tuple{}) : call.positional[0];
  if (t.facts.unrolled.contains(site)) {
    Call of{.positional = {given}, .name = "set", .node = call.node};
    return inline_function(t, staged().attr("of"), of);
  }
  if (const Set* set = given.as<Set>(); set != nullptr && set->is_frozen && call.name == "frozenset")
    return given;
  const nb::object elements = with_known(t.facts.unrolled, site, location_of(t, call.node), [&] {
    return call.positional.empty() ? nb::none() : iterable_of_set(t, given, call.node);
  });
  const Value set = new_set(t, histories().attr("made")(type, elements));
  t.state.heap.at(set.as<Set>()->cell).made_at = site;
  return set;
}

namespace {

Value set_method(Tracer& t, const Set& set, const std::string& name, Call& call) {
  const nb::handle node = call.node;
  const nb::object before = history_of(t, set, node);
  const bool takes_element = name == "add" || name == "discard" || name == "remove";
  const std::string site = t.state.heap.at(set.cell).made_at;
  nb::list given;
  with_known(t.facts.unrolled, site, location_of(t, node), [&] {
    for (const Value& value : call.positional)
      given.append(takes_element ? element_of_set(t, value, node) : iterable_of_set(t, value, node));
  });
  const nb::object host = histories().attr("build")(before);
  const nb::object result = by_python(t, [&] {
    nb::list built;
    for (const nb::handle one : given) built.append(histories().attr("build")(one));
    return nb::object(attribute(host, name.c_str())(*nb::tuple(built)));
  });
  const bool is_pop = name == "pop";
  const bool changes =
      is_pop || std::ranges::any_of(kChanges, [&](const char* change) { return name == change; });
  const nb::object after = histories().attr("then")(before, name, nb::tuple(given), changes);
  if (changes) Parameters(t).will_change(set);
  if (changes) t.state.heap.at(set.cell).values[0] = Static{after};
  if (changes && !is_pop) return Static{nb::none()};
  if (is_pop || !PyAnySet_Check(result.ptr())) return static_value(t, result);
  if (set.is_frozen && name == "copy") return set;
  const Value made = new_set(t, after);
  t.state.heap.at(made.as<Set>()->cell).made_at = site;
  return made;
}

/// An operator or comparison of two sets; none: another one.
std::optional<Value> binary_of_sets(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node) {
  if (!a.is<Set>() || !b.is<Set>()) return std::nullopt;
  if (!is_of_sets(op) && !is_comparison(op)) return std::nullopt;
  Call call{.positional = {b}, .name = info(op).method, .node = node};
  return set_method(t, *a.as<Set>(), info(op).method, call);
}

/// `set op= right`; false: it becomes another set.
bool change_set(Tracer& t, const Set& set, Operator op, const Value& right, nb::handle node) {
  const std::map<Operator, const char*> kMethods = {{Operator::BitOr, "__ior__"},
                                                    {Operator::BitAnd, "__iand__"},
                                                    {Operator::Sub, "__isub__"},
                                                    {Operator::BitXor, "__ixor__"}};
  const auto method = kMethods.find(op);
  if (set.is_frozen || method == kMethods.end() || !right.is<Set>()) return false;
  const nb::object given = history_of(t, *right.as<Set>(), node);
  Parameters(t).will_change(set);
  t.state.heap.at(set.cell).values[0] =
      Static{histories().attr("then")(history_of(t, set, node), method->second, nb::make_tuple(given), true)};
  return true;
}

}  // namespace

std::vector<Value> elements_of_set(Tracer& t, const Set& set, nb::handle node) {
  std::vector<Value> elements;
  for (const nb::handle element : host_set(t, set, node))
    elements.push_back(static_value(t, nb::borrow<nb::object>(element)));
  return elements;
}

namespace {

Value is_element(Tracer& t, const Value& wanted, const Value& set, nb::handle node) {
  if (!wanted.is<Set>()) need_hashable(t, wanted, node);
  const std::function<bool(const Value&)> is_known = [&](const Value& value) {
    const Tuple* tuple = value.as<Tuple>();
    return value.is<Static>() || (tuple != nullptr && std::ranges::all_of(tuple->members, is_known));
  };
  if (is_known(wanted)) {
    const nb::object host = host_set(t, *set.as<Set>(), node);
    return Static{nb::bool_(PySet_Contains(host.ptr(), element_of_set(t, wanted, node).ptr()) == 1)};
  }
  // An unknown number can equal only numbers.
  std::vector<Value> elements = elements_of_set(t, *set.as<Set>(), node);
  if (wanted.is<Scalar>()) std::erase_if(elements, [&](const Value& v) { return !kind_of(v); });
  return compare(t, Operator::In, wanted, Tuple{std::move(elements)}, node);
}

/// A set of known elements.
class SetKind final : public KindOfObjects<Set, &Set::cell, BuiltinKind> {
 public:
  /// A new set is made by what was done to make it.
  std::optional<Description> describe(Tracer& t, const Value& value, Outward& outward) const override {
    const Set& set = *value.as<Set>();
    if (const auto number = Parameters(t).number_of_copy(set.cell))
      return Description{described::Argument{*number}};
    if (set.is_frozen) return Description{described::Static{host_set(t, set, {})}};
    const nb::object made = imported("ingot._objects.sets").attr("packed")(history_of(t, set, {}));
    if (std::optional<Description> again = outward.again(set.cell)) return *again;
    const nb::object type = imported("ingot.library.sets").attr("KnownSet");
    return Description{described::Instance{type, nb::make_tuple("history"), true},
                       {{described::Static{made}}}};
  }
  std::string type_name(const Tracer&, const Value& value) const override {
    return value.as<Set>()->is_frozen ? "frozenset" : "set";
  }
  nb::object stand_in(const Tracer& t, const Value& value) const override {
    const Value& history = t.state.heap.at(value.as<Set>()->cell).values[0];
    if (!history.is<Static>()) return {};
    return imported("ingot._objects.sets").attr("build")(history.as<Static>()->object);
  }
  bool has_methods(const Tracer&, const Value&) const override { return true; }
  Answer method(Tracer& t, const Value& value, const std::string& name, Call& call) const override {
    return set_method(t, *value.as<Set>(), name, call);
  }
  Answer in_place(Tracer& t, Operator op, const Value& value, const Value& right,
                  nb::handle node) const override {
    return change_set(t, *value.as<Set>(), op, right, node) ? Answer(Unbound{}) : std::nullopt;
  }
  Answer attribute(Tracer& t, const Value& value, const std::string&, nb::handle node) const override {
    history_of(t, *value.as<Set>(), node);
    return std::nullopt;
  }
  std::optional<bool> known_truth(Tracer& t, const Value& value) const override {
    return nb::len(host_set(t, *value.as<Set>(), t.here)) > 0;
  }
  std::optional<Elements> elements(Tracer& t, const Value& value, nb::handle node) const override {
    return elements_of_set(t, *value.as<Set>(), node);
  }
  Answer reversed(Tracer& t, const Value& value, nb::handle) const override {
    raise(t, ExceptionKind::TypeError, "'" + type_name(t, value) + "' object is not reversible");
  }
  Precedence precedence() const override { return Precedence::Sets; }
  Answer compare(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node) const override {
    return binary_of_sets(t, op, a, b, node);
  }
  Answer contains(Tracer& t, const Value& value, const Value& wanted, nb::handle node) const override {
    return is_element(t, wanted, value, node);
  }
  Answer binary(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node) const override {
    return binary_of_sets(t, op, a, b, node);
  }
};

}  // namespace

INGOT_VALUE_KIND(Set, SetKind)

}  // namespace ingot::frontend
