#include "frontend/arrays/operators.h"
#include "frontend/arrays/scalars.h"
#include "frontend/kinds/dicts.h"
#include "frontend/kinds/list_buffers.h"
#include "frontend/kinds/sequences.h"
#include "frontend/kinds/sets.h"
#include "frontend/kinds/value_kind.h"
#include "frontend/tracer/evaluate.h"

namespace ingot::frontend {

bool is_of_sets(Operator op) {
  return op == Operator::BitOr || op == Operator::BitAnd || op == Operator::Sub || op == Operator::BitXor;
}

bool is_like_set(const Value& value) {
  const View* view = value.as<View>();
  return view != nullptr && !view->from_back && view->skip == 0 &&
         (view->name == "dict_keys" || view->name == "dict_items");
}

namespace {

/// The keys, values or items of a dict, or a list from its back.
class ViewKind final : public ValueKind {
 public:
  bool same_form(const Value& a, const Value& b) const override {
    const View& v = *a.as<View>();
    const View& w = *b.as<View>();
    return v.object == w.object && v.name == w.name && v.from_back == w.from_back && v.skip == w.skip;
  }
  void each_object(const Value& value, const Visit& visit) const override { visit(value.as<View>()->object); }
  void renumber(Value& value, const Renumber& object, const Renumber&) const override {
    View& own = *value.as<View>();
    own.object = object(own.object);
  }
  std::string words(const Tracer&, const Value&) const override { return {}; }
  std::string type_name(const Tracer&, const Value& value) const override { return value.as<View>()->name; }
  nb::object type_of(Tracer&, const Value& value, nb::handle) const override {
    const std::string& name = value.as<View>()->name;
    const bool is_of_dict = name.starts_with("dict_") && !value.as<View>()->from_back;
    return is_of_dict ? nb::borrow(nb::dict().attr(name.substr(5).c_str())().type()) : nb::object();
  }
  Answer rest(Tracer&, const Value& value, const Value&, Known known, nb::handle) const override {
    if (!known) return std::nullopt;
    View rest = *value.as<View>();
    rest.skip += static_cast<size_t>(*known);
    return rest;
  }
  bool may_change_length(const Value&) const override { return true; }
  Answer reversed(Tracer& t, const Value& value, nb::handle node) const override {
    const View& view = *value.as<View>();
    const HeapObject& object = contents(t, view.object, node);
    const bool is_list = object.type == HeapObject::Type::List;
    const std::string part = is_list ? "" : view.name.substr(5, view.name.size() - 6);  // key, value, item
    return iterator(t, (is_list ? "list_" : "dict_") + ("reverse" + part) + "iterator",
                    View{view.object, view.name, object.values.size()});
  }
  Answer binary(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node) const override;
  Answer contains(Tracer& t, const Value& value, const Value& wanted, nb::handle node) const override {
    const View& view = *value.as<View>();
    if (is_like_set(value) && view.name == "dict_keys") {
      const Value dict = Dict{view.object};
      return kind_of_value(dict).contains(t, dict, wanted, node);
    }
    if (wanted.is<Array>()) return std::nullopt;
    const Tuple* item = wanted.as<Tuple>();
    if (is_like_set(value) && item != nullptr && item->members.size() == 2)
      need_hashable(t, item->members[0], node);
    return is_among(t, *elements(t, value, node), wanted, node);
  }
  std::optional<bool> known_truth(Tracer& t, const Value& value) const override {
    return !contents(t, value.as<View>()->object, t.here).values.empty();
  }
  std::optional<Elements> elements(Tracer& t, const Value& value, nb::handle node) const override {
    const View& view = *value.as<View>();
    const HeapObject& object = contents(t, view.object, node);
    std::vector<Value> all;
    for (size_t i = 0; i < object.values.size(); ++i) {
      if (view.name == "dict_keys") all.emplace_back(Static{object.keys[i]});
      else if (view.name == "dict_items") all.emplace_back(Tuple{{Static{object.keys[i]}, object.values[i]}});
      else all.push_back(object.values[i]);
    }
    if (view.from_back) {
      all.resize(*view.from_back, Unbound{});
      std::ranges::reverse(all);
    }
    all.erase(all.begin(), all.begin() + static_cast<ptrdiff_t>(std::min(view.skip, all.size())));
    return all;
  }
};

/// The operators of sets, which the keys and items of dicts have with all iterables.
std::optional<Value> ViewKind::binary(Tracer& t, Operator op, const Value& a, const Value& b,
                                      nb::handle node) const {
  const bool is_left = is_like_set(a);
  if ((!is_left && !is_like_set(b)) || !is_of_sets(op) || is_numpys(a)) return std::nullopt;
  const auto is_of_keys = [](const Value& value) { return value.as<View>()->name == "dict_keys"; };
  const auto dict_of = [](const Value& value) { return Value(Dict{value.as<View>()->object}); };
  const auto elements = [&](const Value& value) {
    return is_like_set(value) ? listed(t, value, node) : value;
  };
  const auto make = [&](const char* name, const Value& first, const Value& second) {
    return call_library(t, "dicts", name, {first, second}, node);
  };
  const bool are_views = is_left && is_like_set(b);
  if (op == Operator::BitAnd) {
    if (are_views && is_of_keys(a) == is_of_keys(b))
      return make(is_of_keys(a) ? "common_keys_of" : "common_items_of", dict_of(a), dict_of(b));
    const Value& asked = is_left ? a : b;
    return make(is_of_keys(asked) ? "common_keys" : "common_items", dict_of(asked),
                elements(is_left ? b : a));
  }
  if (op == Operator::BitXor && are_views && !is_of_keys(a) && !is_of_keys(b))
    return make("items_in_one", dict_of(a), dict_of(b));
  // CPython makes a set of the dict, not of its keys.
  const Value left = is_left && is_of_keys(a) ? dict_of(a) : elements(a);
  return make(op == Operator::BitOr ? "united"
              : op == Operator::Sub ? "without"
                                    : "in_one",
              left, elements(b));
}

}  // namespace

INGOT_VALUE_KIND(View, ViewKind)

}  // namespace ingot::frontend
