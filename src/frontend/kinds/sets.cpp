#include "frontend/kinds/sets.h"

#include "frontend/kinds/structure.h"
#include "frontend/parameters.h"

// Sets. If all elements are known when compiling, a cell of the shadow heap holds the history of a set, the
// operations that made it. Repeating these on a host set gives CPython's set, with its order of iteration. If
// an element is not known, the set becomes an instance of `ingot.library.sets.HashSet`: that is a fact about
// the expression that makes it, `made_at` of the cell, and the function is evaluated again with it.

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

nb::object Evaluator::history_of(const Set& set, nb::handle node) {
  const HeapObject& cell = state_.heap.at(set.cell);
  const Maybe* m = cell.values[0].as<Maybe>();
  if ((m == nullptr || !m->may_be_unbound) && !cell.values[0].is<Static>())
    ask_for_staged_set(unrolled_, cell.made_at, location_of(node));
  const Value history = present(cell.values[0], "the set", node);
  if (!history.is<Static>()) unsupported(node, "a set that differs between paths", "use a dict or an array");
  return history.as<Static>()->object;
}

nb::object Evaluator::host_set(const Set& set, nb::handle node) {
  return histories().attr("build")(history_of(set, node));
}

Value Evaluator::new_set(const nb::object& history) {
  return by_python(*this, [&] {
    const bool is_frozen = PyFrozenSet_Check(nb::object(histories().attr("build")(history)).ptr()) != 0;
    return Set{new_cell(Static{history}), is_frozen};
  });
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
    unsupported(node, "an element of a set that is a " + type_name(value), "use numbers and strings");
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
  const std::string site = key_of(e) + kSite;
  const bool is_staged = unrolled_.contains(site);
  const nb::object function = frame_->function.is_valid() ? frame_->function : nb::none();
  nb::object history = histories().attr("display")(e, function);
  Call none{.positional = {Tuple{}}, .keywords = {}, .name = "set", .node = e};
  Value set = is_staged ? inline_function(staged().attr("of"), none)
                        : new_set(history.is_none() ? nb::object(histories().attr("empty")()) : history);
  if (!is_staged) state_.heap.at(set.as<Set>()->cell).made_at = site;
  if (!is_staged && !history.is_none()) return set;
  for (const nb::handle element : e.attr("elts")) {
    const bool is_starred = class_of(element) == "Starred";
    Call call{.positional = {is_starred ? eval(element.attr("value")) : eval_open(element)},
              .keywords = {},
              .name = is_starred ? "update" : "add",
              .node = e};
    if (is_staged) call_special(set, call.name, call.positional, e);
    else set_method(*set.as<Set>(), call.name, call);
  }
  return set;
}

Value Evaluator::eval_set_comp(nb::handle e) {
  const std::string site = key_of(e) + kSite;
  const Value first = first_iterable(e);
  if (unrolled_.contains(site)) {
    Call of{.positional = {list_buffer_comprehension(e, first)}, .keywords = {}, .name = "set", .node = e};
    return inline_function(staged().attr("of"), of);
  }
  if (has_open_length(first)) ask_for_staged_set(unrolled_, site, location_of(e));
  const Set set = *new_set(histories().attr("empty")()).as<Set>();
  state_.heap.at(set.cell).made_at = site;
  comprehend(e, first, [&] {
    Call call{.positional = {eval_open(e.attr("elt"))}, .keywords = {}, .name = "add", .node = e};
    set_method(set, "add", call);
  });
  return set;
}

Value Evaluator::builtin_set(Call& call) {
  finish(call, 1);
  const nb::object type = imported("builtins").attr(call.name.c_str());
  const std::string site = call.name == "set" ? key_of(call.node) + kSite : "";
  const Value given = call.positional.empty() ? Value(Tuple{}) : call.positional[0];
  if (unrolled_.contains(site)) {
    Call of{.positional = {given}, .keywords = {}, .name = "set", .node = call.node};
    return inline_function(staged().attr("of"), of);
  }
  if (const Set* set = given.as<Set>(); set != nullptr && set->is_frozen && call.name == "frozenset")
    return given;
  const nb::object elements = with_known(unrolled_, site, location_of(call.node), [&] {
    return call.positional.empty() ? nb::none() : iterable_of_set(given, call.node);
  });
  const Value set = new_set(histories().attr("made")(type, elements));
  state_.heap.at(set.as<Set>()->cell).made_at = site;
  return set;
}

Value Evaluator::set_method(const Set& set, const std::string& name, Call& call) {
  const nb::handle node = call.node;
  const nb::object before = history_of(set, node);
  const bool takes_element = name == "add" || name == "discard" || name == "remove";
  const std::string site = state_.heap.at(set.cell).made_at;
  nb::list given;
  with_known(unrolled_, site, location_of(node), [&] {
    for (const Value& value : call.positional)
      given.append(takes_element ? element_of_set(value, node) : iterable_of_set(value, node));
  });
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
  if (changes) Parameters(*this).will_change(set);
  if (changes) state_.heap.at(set.cell).values[0] = Static{after};
  if (changes && !is_pop) return Static{nb::none()};
  if (is_pop || !PyAnySet_Check(result.ptr())) return static_value(result);
  if (set.is_frozen && name == "copy") return set;
  const Value made = new_set(after);
  state_.heap.at(made.as<Set>()->cell).made_at = site;
  return made;
}

std::optional<Value> Evaluator::binary_of_sets(Operator op, const Value& a, const Value& b, nb::handle node) {
  if (!a.is<Set>() || !b.is<Set>()) return std::nullopt;
  const bool is_of_sets = op == Operator::BitOr || op == Operator::BitAnd || op == Operator::Sub ||
                          op == Operator::BitXor || is_comparison(op);
  if (!is_of_sets) return std::nullopt;
  Call call{.positional = {b}, .keywords = {}, .name = info(op).method, .node = node};
  return set_method(*a.as<Set>(), info(op).method, call);
}

bool Evaluator::change_set(const Set& set, Operator op, const Value& right, nb::handle node) {
  const std::map<Operator, const char*> kMethods = {{Operator::BitOr, "__ior__"},
                                                    {Operator::BitAnd, "__iand__"},
                                                    {Operator::Sub, "__isub__"},
                                                    {Operator::BitXor, "__ixor__"}};
  const auto method = kMethods.find(op);
  if (set.is_frozen || method == kMethods.end() || !right.is<Set>()) return false;
  const nb::object given = history_of(*right.as<Set>(), node);
  Parameters(*this).will_change(set);
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
  // An unknown number can equal only numbers.
  std::vector<Value> elements = elements_of_set(*set.as<Set>(), node);
  if (wanted.is<Scalar>()) std::erase_if(elements, [&](const Value& v) { return !kind_of(v); });
  return compare(Operator::In, wanted, Tuple{std::move(elements)}, node);
}

namespace {

/// A set of known elements.
class SetKind final : public KindOfObjects<Set, &Set::cell, BuiltinKind> {
 public:
  /// A new set is made by what was done to make it.
  std::optional<Description> describe(Evaluator& e, const Value& value, Outward& outward) const override {
    const Set& set = *value.as<Set>();
    if (const auto number = Evaluator::Parameters(e).number_of_copy(set.cell))
      return Description{described::Argument{*number}};
    if (set.is_frozen) return Description{described::Static{e.host_set(set, {})}};
    const nb::object made = imported("ingot._objects.sets").attr("packed")(e.history_of(set, {}));
    if (std::optional<Description> again = outward.again(set.cell)) return *again;
    const nb::object type = imported("ingot.library.sets").attr("KnownSet");
    return Description{described::Instance{type, nb::make_tuple("history"), true},
                       {{described::Static{made}}}};
  }
  std::string type_name(const Evaluator&, const Value& value) const override {
    return value.as<Set>()->is_frozen ? "frozenset" : "set";
  }
  nb::object stand_in(const Evaluator& e, const Value& value) const override {
    const Value& history = e.state_.heap.at(value.as<Set>()->cell).values[0];
    if (!history.is<Static>()) return {};
    return imported("ingot._objects.sets").attr("build")(history.as<Static>()->object);
  }
  bool has_methods(const Evaluator&, const Value&) const override { return true; }
  Answer method(Evaluator& e, const Value& value, const std::string& name, Call& call) const override {
    return e.set_method(*value.as<Set>(), name, call);
  }
  Answer in_place(Evaluator& e, Operator op, const Value& value, const Value& right,
                  nb::handle node) const override {
    return e.change_set(*value.as<Set>(), op, right, node) ? Answer(Unbound{}) : std::nullopt;
  }
  Answer attribute(Evaluator& e, const Value& value, const std::string&, nb::handle node) const override {
    e.history_of(*value.as<Set>(), node);
    return std::nullopt;
  }
  std::optional<bool> known_truth(Evaluator& e, const Value& value) const override {
    return nb::len(e.host_set(*value.as<Set>(), e.here_)) > 0;
  }
  std::optional<Elements> elements(Evaluator& e, const Value& value, nb::handle node) const override {
    return e.elements_of_set(*value.as<Set>(), node);
  }
  Precedence precedence() const override { return Precedence::Sets; }
  Answer compare(Evaluator& e, Operator op, const Value& a, const Value& b, nb::handle node) const override {
    return e.binary_of_sets(op, a, b, node);
  }
  Answer contains(Evaluator& e, const Value& value, const Value& wanted, nb::handle node) const override {
    return e.is_element(wanted, value, node);
  }
  Answer binary(Evaluator& e, Operator op, const Value& a, const Value& b, nb::handle node) const override {
    return e.binary_of_sets(op, a, b, node);
  }
};

}  // namespace

INGOT_VALUE_KIND(Set, SetKind)

}  // namespace ingot::frontend
