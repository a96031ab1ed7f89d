#include "frontend/expressions/expressions.h"

#include <nanobind/stl/vector.h>

#include "frontend/arrays/known_sizes.h"
#include "frontend/arrays/operators.h"
#include "frontend/arrays/primitives.h"
#include "frontend/arrays/scalars.h"
#include "frontend/arrays/ufuncs.h"
#include "frontend/calls/c_functions.h"
#include "frontend/calls/python_builtins.h"
#include "frontend/expressions/closures.h"
#include "frontend/kernels/kernels.h"
#include "frontend/kinds/dicts.h"
#include "frontend/kinds/fields.h"
#include "frontend/kinds/generators.h"
#include "frontend/kinds/lists.h"
#include "frontend/kinds/mappings.h"
#include "frontend/kinds/members.h"
#include "frontend/kinds/objects.h"
#include "frontend/kinds/rows.h"
#include "frontend/kinds/sequences.h"
#include "frontend/kinds/sets.h"
#include "frontend/kinds/special_methods.h"
#include "frontend/kinds/strings.h"
#include "frontend/tracer/builtins.h"
#include "frontend/tracer/checkpoint.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"
#include "frontend/tracer/scopes.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

Value eval_name_open(Tracer& t, nb::handle e);
Value load_global(Tracer& t, const std::string& name, nb::handle node);
/// `and` and `or`; `by_truth`: no more than the truth of the result is wanted.
Value eval_bool_by(Tracer& t, nb::handle e, bool by_truth);
std::vector<Value> eval_elements(Tracer& t, nb::handle elements);  ///< of a display, starred ones among them

}  // namespace

Value eval(Tracer& t, nb::handle e) {
  Value value = eval_open(t, e);
  const Conflict* conflict = value.as<Conflict>();
  const bool is_to_be_settled = conflict != nullptr && conflict->can_be_settled();
  if (!value.is<Maybe>() && !is_to_be_settled) return value;
  const Here here(t, e);
  return present(t, value, class_of(e) == "Name" ? text_of(e.attr("id")) : "the value", e);
}

std::pair<ExceptionKind, std::string> absence_of(const Tracer& t, const std::string& name) {
  const bool own = t.frame == nullptr || t.frame->renamed.contains(name) ||
                   (t.frame->local_names.contains(name) && !t.frame->is_nested);
  const std::string rest = "' where it is not associated with a value";
  if (own) return {ExceptionKind::UnboundLocalError, "cannot access local variable '" + name + rest};
  return {ExceptionKind::NameError, "cannot access free variable '" + name + rest + " in enclosing scope"};
}

Value open(Tracer& t, const Value& value, const std::string& name, nb::handle node) {
  const Maybe* m = value.as<Maybe>();
  return m != nullptr && m->may_be_none ? value : present(t, value, name, node);
}

Value eval_name(Tracer& t, nb::handle e) { return open(t, eval_name_open(t, e), text_of(e.attr("id")), e); }

namespace {

Value eval_name_open(Tracer& t, nb::handle e) {
  const std::string name = text_of(e.attr("id"));
  const Value* value = local(t, name);
  if (value == nullptr && t.frame->local_names.contains(name)) return Unbound{};
  if (value == nullptr) return load_global(t, name, e);
  const Value found = *value;  // a check may replace the state
  return kind_of_value(found).bound(t, found, name);
}

/// Whether a name means what Python has for it. In functions whose globals have `__builtins__` of their own
/// it may not.
void need_pythons_own(Tracer& t, const std::string& name, const nb::object& found, nb::handle e) {
  const nb::object own = builtins_of(t.frame->globals);
  if (own.is(attribute(imported("builtins"), "__dict__"))) return;
  const bool is_known = PyDict_CheckExact(own.ptr());
  PyObject* const held = is_known ? PyDict_GetItemWithError(own.ptr(), nb::str(name.c_str()).ptr()) : nullptr;
  if (!is_known || held != found.ptr())
    unsupported(t, e, "a name in `__builtins__` that is not Python's", "put it among the globals");
  t.guards.push_back({own, name, found});
}

Value load_global(Tracer& t, const std::string& name, nb::handle e) {
  if (const auto it = t.frame->cells.find(name); it != t.frame->cells.end()) {
    const nb::object content = attribute_or(it->second, "cell_contents", nb::object());
    if (!content.is_valid()) {
      t.guards.push_back({it->second, {}, {}});
      const auto [kind, message] = absence_of(t, name);
      raise(t, kind, message);
    }
    return outside(t, it->second, {}, content, name, e);
  }
  const nb::str key(name.c_str());
  if (t.frame->globals.contains(key)) {
    const nb::object content = t.frame->globals[key];
    return outside(t, t.frame->globals, name, content, name, e);
  }
  const nb::object builtins = imported("builtins");
  const nb::object found = attribute_or(builtins, name.c_str(), nb::object());
  if (!t.frame->of_library) need_pythons_own(t, name, found, e);
  if (!t.frame->of_library || !found.is_valid()) {
    t.guards.push_back({t.frame->globals, name, {}});
    t.guards.push_back({attribute(builtins, "__dict__"), name, found});
  }
  if (!found.is_valid()) raise(t, ExceptionKind::NameError, "name '" + name + "' is not defined");
  return Static{found};
}

}  // namespace

Value outside(Tracer& t, const nb::object& owner, const std::string& name, const nb::object& object,
              const std::string& what, nb::handle e) {
  if (const Value* known = captured(t, owner.ptr(), name)) return *known;
  const auto guard = [&] {
    if (!PyTuple_CheckExact(owner.ptr())) t.guards.push_back({owner, name, object});
  };
  if (std::optional<Value> special = Kernels(t).special(object)) {
    guard();
    return *special;
  }
  if (is_plain(object)) {
    guard();
    return host_value(t, object, what, e);
  }
  const nb::module_ extension = imported("ingot._ingot");
  if (c_function(object).is_valid() || host_function(object).is_valid() || is_type(object) ||
      is_library_of_c(object) || object.is(imported("dataclasses").attr("_HAS_DEFAULT_FACTORY"))) {
    guard();
    return Static{object};
  }
  if (nb::cast<bool>(extension.attr("is_captured")(object))) throw NeedsFact::capture(owner, name);
  guard();
  if (PyMethod_Check(object.ptr()) && t.registry.find(object) != nullptr) return Static{object};
  // The parts of methods and partials are guarded in these objects.
  const auto part = [&](const char* of) { return outside(t, object, of, attribute(object, of), what, e); };
  if (PyMethod_Check(object.ptr())) {
    nb::object function = attribute(object, "__func__");
    if (is_counted(function)) function = uncounted(function);
    else if (is_jitted(function)) function = attribute(function, "__ingot_function__");
    if (PyFunction_Check(function.ptr()))
      return Method{share(part("__self__")), text_of(function.attr("__name__")), function};
  }
  if (nb::cast<bool>(extension.attr("is_partial")(object))) {
    Call call{.positional = {part("func")}, .name = "partial", .node = e};
    for (const Value& given : parts_of(part("args"))) call.positional.push_back(given);
    for (const auto& [key, value] : items_of(t, part("keywords"), e))
      call.keywords.emplace_back(text_of(known_of(key)), value);
    return call_value(t, Static{imported("functools").attr("partial")}, call);
  }
  return host_value(t, object, what, e);
}

Value host_value(Tracer& t, nb::object object, const std::string& what, nb::handle e) {
  // Besides numbers and strings: objects that calls and attributes support (methods of C types, such as
  // object.__init__, are wrapper descriptors), and the values of Python's own protocols.
  if (std::optional<Value> special = Kernels(t).special(object)) return *special;
  Value value = Static{object};
  PyObject* o = object.ptr();
  if (is_plain(object) || kind_of(value) || PyUnicode_CheckExact(o) || PyBytes_CheckExact(o) ||
      PyType_Check(o) || PyModule_Check(o) || PyFunction_Check(o) || PyCFunction_Check(o) ||
      Py_IS_TYPE(o, &PyWrapperDescr_Type) || o == Py_Ellipsis || o == Py_NotImplemented ||
      t.registry.find(object) != nullptr || is_member_of_enum(object) || is_jitted(object) ||
      is_vectorized(object) || object.is(imported("dataclasses").attr("_HAS_DEFAULT_FACTORY")))
    return value;
  if (is_of_numpy(object) || is_of_scipy(object) || is_type(object)) return value;
  if (PyTuple_CheckExact(o) || nb::cast<bool>(imported("ingot._ingot").attr("is_namedtuple")(object))) {
    if (const std::string large = too_large_outside(object); !large.empty())
      unsupported(t, e, "the captured `" + what + "`, " + large + ",", "pass its parts");
    Tuple tuple;
    if (!PyTuple_CheckExact(o)) tuple.type = nb::borrow<nb::object>(object.type());
    for (const nb::handle member : object)
      tuple.members.push_back(host_value(t, nb::borrow<nb::object>(member), what, e));
    return tuple;
  }
  const nb::object extension = imported("ingot._ingot");
  if (nb::cast<bool>(extension.attr("is_constant_handle")(object))) return value;
  const nb::object profile = extension.attr("profile");
  if (nb::isinstance(object, profile.attr("Maker")) || nb::isinstance(object, profile.attr("Region"))) {
    unsupported(t, e, "a region of `ingot.profile` in compiled code",
                "open it around the call, or call the parts that are to have rows from Python");
  }
  if (Py_IS_TYPE(o, &PyStaticMethod_Type)) return host_value(t, attribute(object, "__func__"), what, e);
  if (object.type().is(imported("functools").attr("_lru_cache_wrapper"))) {
    unsupported(t, e, "`" + what + "`, a function that keeps its results,",
                "call what it wraps: give its `__wrapped__` a name of its own outside");
  }
  const nb::object known = imported("ingot._refusals.advice").attr("of_outside")(what, object);
  unsupported(t, e, text_of(known[0]), text_of(known[1]));
}

namespace {

Value eval_constant(Tracer&, nb::handle e) { return Static{attribute(e, "value")}; }

Value eval_binary(Tracer& t, nb::handle e) {
  const Value left = eval(t, e.attr("left"));
  const Value right = eval(t, e.attr("right"));
  return Rows(t).made(binary(t, operator_of(e.attr("op")), left, right, e), e);
}

Value eval_unary(Tracer& t, nb::handle e) {
  const Operator op = operator_of(e.attr("op"));
  return unary(t, op, op == Operator::Not ? eval_condition(t, e.attr("operand")) : eval(t, e.attr("operand")),
               e);
}

Value eval_compare(Tracer& t, nb::handle e) {
  const nb::list ops = e.attr("ops");
  const nb::list comparators = e.attr("comparators");
  const std::function<Value(const Value&, size_t)> chain = [&](const Value& left, size_t i) -> Value {
    const nb::handle node = comparators[i];
    const Operator op = operator_of(ops[i]);
    const Value right = [&] {
      const bool is_searched = class_of(node) == "Set" && is_membership(op);
      if (!is_searched || !imported("ingot._objects.sets").attr("display")(node).is_none())
        return eval_open(t, node);
      // The right operand is a set that nothing else sees: its elements need not be known.
      Tuple elements{eval_elements(t, node.attr("elts"))};
      need_hashable(t, left, e);
      need_hashable(t, elements, e);
      return Value(elements);
    }();
    Value first = compare(t, op, left, right, e);
    if (i + 1 == nb::len(ops)) return first;
    if (const std::optional<bool> known = static_truth(t, first)) return *known ? chain(right, i + 1) : first;
    return fork(t, truth(t, first, e), [&] { return chain(right, i + 1); }, [&] { return first; });
  };
  return chain(eval_open(t, e.attr("left")), 0);
}

Value eval_bool(Tracer& t, nb::handle e) { return eval_bool_by(t, e, false); }

Value eval_bool_by(Tracer& t, nb::handle e, bool by_truth) {
  const Here here(t, e);
  const bool is_and = class_of(e.attr("op")) == "And";
  const nb::list values = e.attr("values");
  const auto given = [&](const Value& value) -> Value {
    if (!by_truth || static_truth(t, value)) return value;
    return Scalar{Kind::py_bool(), truth(t, value, e)};
  };
  const std::function<Value(size_t)> chain = [&](size_t i) -> Value {
    const Value first = by_truth ? eval_condition(t, values[i]) : eval_open(t, values[i]);
    if (i + 1 == nb::len(values)) return given(first);
    if (const std::optional<bool> known = static_truth(t, first))
      return *known == is_and ? chain(i + 1) : first;
    const NodeId condition = truth(t, first, e);
    const auto rest = [&] { return chain(i + 1); };
    const auto stop = [&] { return by_truth ? Value(Static{nb::bool_(!is_and)}) : first; };
    return is_and ? fork(t, condition, rest, stop) : fork(t, condition, stop, rest);
  };
  return chain(0);
}

}  // namespace

Value eval_condition(Tracer& t, nb::handle e) {
  return class_of(e) == "BoolOp" ? eval_bool_by(t, e, true) : eval_open(t, e);
}

namespace {

Value eval_conditional(Tracer& t, nb::handle e) {
  const Value condition = eval_condition(t, e.attr("test"));
  if (const std::optional<bool> known = static_truth(t, condition))
    return eval_open(t, e.attr(*known ? "body" : "orelse"));
  return fork(
      t, truth(t, condition, e), [&] { return eval_open(t, e.attr("body")); },
      [&] { return eval_open(t, e.attr("orelse")); });
}

std::vector<Value> eval_elements(Tracer& t, nb::handle elements) {
  std::vector<Value> values;
  for (const nb::handle element : elements) {
    if (class_of(element) != "Starred") {
      values.push_back(eval_open(t, element));
      continue;
    }
    const std::vector<Value> several = elements_of(t, eval(t, element.attr("value")), element);
    values.insert(values.end(), several.begin(), several.end());
  }
  return values;
}

Value eval_tuple(Tracer& t, nb::handle e) {
  Value tuple = Tuple{eval_elements(t, e.attr("elts"))};
  need_small(t, tuple, e);
  return tuple;
}

}  // namespace

void need_small(Tracer& t, const Value& tuple, nb::handle node) {
  if (const std::string large = too_large(tuple); !large.empty())
    unsupported(t, node, large, "use an array, or lists, which are held and not copied");
}

namespace {

Value eval_list(Tracer& t, nb::handle e) {
  const auto is_starred = [](nb::handle element) { return class_of(element) == "Starred"; };
  if (std::ranges::any_of(nb::list(e.attr("elts")), is_starred)) {
    const List list = new_list(t, {});
    for (const nb::handle element : e.attr("elts")) {
      if (!is_starred(element)) {
        append(t, list, eval_open(t, element), e);
        continue;
      }
      Call call{.positional = {eval(t, element.attr("value"))}, .name = "extend", .node = element};
      list_method(t, list, "extend", call);
    }
    return Rows(t).made(list, e);
  }
  return Rows(t).made(new_list(t, eval_elements(t, e.attr("elts"))), e);
}

Value eval_dict(Tracer& t, nb::handle e) {
  const Dict dict = make_dict(t, e);
  const nb::list keys = e.attr("keys");
  const nb::list values = e.attr("values");
  for (size_t i = 0; i < nb::len(keys); ++i) {
    if (!nb::handle(keys[i]).is_none()) {
      const Value key = eval(t, keys[i]);
      put(t, dict, key, eval_open(t, values[i]), e);
      continue;
    }
    const Value other = eval(t, values[i]);
    if (mapping(t, other) != nullptr) {
      by_update(t, dict, other, e);
      continue;
    }
    if (!other.is<Dict>()) {
      if (is_foreign(t, other)) use_foreign(t, "", "", {other}, e);
      raise(t, ExceptionKind::TypeError, "'" + type_name(t, other) + "' object is not a mapping");
    }
    for (const auto& [key, value] : items_of(t, other, e)) put(t, dict, key, value, e);
  }
  return dict;
}

Value eval_slice(Tracer& t, nb::handle e) {
  std::array<Value, 3> parts;
  const char* names[] = {"lower", "upper", "step"};
  for (size_t i = 0; i < 3; ++i) {
    const nb::object part = attribute(e, names[i]);
    parts[i] = part.is_none() ? Value(Static{part}) : eval_bound(t, part);
    if (is_instance(parts[i]))
      unsupported(t, part, "a bound that is a " + type_name(t, parts[i]), "use a number");
  }
  return Slice{share(std::move(parts))};
}

Value eval_attribute(Tracer& t, nb::handle e) {
  if (std::optional<Value> value = super_attribute(t, e)) return *value;
  return attribute_of(t, eval(t, e.attr("value")), text_of(e.attr("attr")), e);
}

}  // namespace

std::optional<Value> made_by_module(Tracer& t, const nb::object& module, const std::string& name,
                                    nb::handle e) {
  const nb::dict names = nb::borrow<nb::dict>(PyModule_GetDict(module.ptr()));
  const nb::str key(name.c_str());
  const nb::object of_class = lookup(nb::borrow(module.type()), name);
  const bool is_plain = PyModule_CheckExact(module.ptr());
  const bool decides = Py_TYPE(module.ptr())->tp_getattro != PyModule_Type.tp_getattro;
  if (!is_plain && (decides || (of_class.is_valid() && !names.contains(key)))) {
    if (is_of_numpy(module)) return std::nullopt;
    unsupported(t, e, "the attribute `" + name + "`, which the class of the module makes",
                "assign it in the module");
  }
  if (names.contains(key) || of_class.is_valid() || !names.contains("__getattr__")) return std::nullopt;
  const nb::object getter = names["__getattr__"];
  const std::string own = names.contains("__name__") ? text_of(names["__name__"]) : std::string();
  const std::string package = own.substr(0, own.find('.'));
  if (package == "numpy" || package == "ingot") return std::nullopt;
  t.guards.push_back({names, name, {}});
  t.guards.push_back({names, "__getattr__", getter});
  Call call{.positional = {Static{key}}, .name = "__getattr__", .node = e};
  return present(t, call_value(t, host_value(t, getter, "__getattr__", e), call), name, e);
}

Value attribute_of(Tracer& t, const Value& value, const std::string& name, nb::handle e) {
  if (has_class(t, value)) return open(t, object_attribute(t, value, name, e), name, e);
  const ValueKind& kind = kind_of_value(value);
  if (std::optional<Value> own = kind.attribute(t, value, name, e)) return *own;
  raise_by_type(t, "attribute", name, {value});
  if (kind.has_methods(t, value))
    if (const nb::object model = stand_in(t, value); model.is_valid())
      if (PyCallable_Check(attribute(model, name.c_str()).ptr())) return Method{share(value), name};
  const nb::object known = known_of(value);
  if (known.is_valid() && (PyFunction_Check(known.ptr()) || is_jitted(known)))
    unsupported(t, e, "the attribute `" + name + "` of a function", "use it outside of compiled code");
  unsupported(t, e, "the attribute `" + name + "` of a " + type_name(t, value),
              "read it outside of the function, and pass what it is");
}

Value eval_index(Tracer& t, nb::handle e) {
  const std::function<Value(const Value&)> number = [&](const Value& index) -> Value {
    if (const Tuple* tuple = index.as<Tuple>()) {
      Tuple all = *tuple;
      for (Value& member : all.members) member = number(member);
      return all;
    }
    const Maybe* m = index.as<Maybe>();
    if (m != nullptr && m->may_be_none)
      t.builder->check(is_there(t, *m), ExceptionKind::TypeChangeError, "an index is None here");
    return m != nullptr ? present(t, index, "the index", e) : index;
  };
  return number(eval_open(t, e));
}

namespace {

Value eval_subscript(Tracer& t, nb::handle e) {
  const Value value = eval(t, e.attr("value"));
  return eval_item(t, value, eval_index(t, e.attr("slice")), e);
}

/// `np.mgrid`.
std::optional<Value> item_by_library(Tracer& t, const Value& value, const Value& index, nb::handle e) {
  const nb::object known = known_of(value);
  const Builtin* builtin = known.is_valid() ? t.registry.find(known) : nullptr;
  if (builtin == nullptr || !builtin->library.is_valid() || PyCallable_Check(known.ptr()) != 0)
    return std::nullopt;
  Call call{.positional = {index}, .name = builtin->name, .node = e};
  return inline_function(t, builtin->library, call);
}

}  // namespace

Value eval_item(Tracer& t, const Value& value, const Value& index, nb::handle e) {
  const auto under = [&](const Value& known) { return eval_item(t, value, known, e); };
  if (std::optional<Value> found = Members(t).by_index(value, index, under)) return *found;
  const ValueKind& kind = kind_of_value(value);
  if (const Maybe* bound = open_bound(index);
      bound != nullptr && !kind.takes_open_bounds() && !is_instance(value))
    return by_bound(t, *bound, index, under);
  if (is_foreign(t, index)) use_foreign(t, "subscript", "", {value, index}, e);
  if (std::optional<Value> made = item_by_library(t, value, index, e)) return *made;
  if (const Pooled* r = PooledValues::open(value)) {
    const Pooled there =
        PooledValues(t).present(*r, ExceptionKind::TypeError, "'NoneType' object is not subscriptable");
    return PooledValues(t).on_each(there, [&](const Value& known) { return eval_item(t, known, index, e); });
  }
  if (const std::optional<Value> item = call_special(t, value, "__getitem__", {index}, e)) return *item;
  if (is_instance(index) && !is_instance(value) && kind.precedence() != Precedence::Foreign)
    unsupported(t, e, "an index that is a " + type_name(t, index), "use a number");
  if (is_instance(value))
    raise(t, ExceptionKind::TypeError, "'" + type_name(t, value) + "' object is not subscriptable");
  if (std::optional<Value> item = kind.item(t, value, index, e)) return *item;
  raise_by_type(t, "subscript", "", {value, index});
  unsupported(t, e, "an element of a " + type_name(t, value), "use an array, a list, a tuple or a dict");
}

namespace {

Value eval_call(Tracer& t, nb::handle e) {
  const Value callee = eval(t, e.attr("func"));
  if (const std::optional<Value> result = call_of_generator(t, callee, e)) return *result;
  Call call{.positional = {}, .name = {}, .node = e};
  for (const nb::handle argument : e.attr("args")) {
    if (class_of(argument) != "Starred") {
      call.positional.push_back(eval_open(t, argument));
      continue;
    }
    const std::vector<Value> elements = elements_of(t, eval(t, argument.attr("value")), argument);
    call.positional.insert(call.positional.end(), elements.begin(), elements.end());
  }
  for (const nb::handle keyword : e.attr("keywords")) {
    if (keyword.attr("arg").is_none()) {
      for (const auto& [key, value] : items_of(t, eval(t, keyword.attr("value")), keyword)) {
        const nb::object name = require_static(t, key, "a name of an argument", keyword);
        if (!PyUnicode_Check(name.ptr())) raise(t, ExceptionKind::TypeError, "keywords must be strings");
        call.keywords.emplace_back(text_of(name), value);
      }
      continue;
    }
    call.keywords.emplace_back(text_of(keyword.attr("arg")), eval_open(t, keyword.attr("value")));
  }
  const nb::object known = known_of(callee);
  call.is_last = callee.is<Closure>() || (known.is_valid() && PyFunction_Check(known.ptr()));
  return call_value(t, callee, call);
}

const Foreign* only_argument(const Call& call) {
  return call.positional.size() == 1 && call.keywords.empty() ? call.positional[0].as<Foreign>() : nullptr;
}

}  // namespace

void refuse_foreign(Tracer& t, const Call& call, const std::string& name, nb::object function) {
  const std::vector<Value> given = call.values();
  if (std::ranges::none_of(given, [&t](const Value& v) { return is_foreign(t, v); })) return;
  if (!function.is_none())
    raise_by_type(t, "call", name, call.positional, std::move(function), call.keywords);
  use_foreign(t, "", name, given, call.node);
}

void raise_as_called(Tracer& t, const Call& call) {
  if (call.function.is_valid())
    return raise_by_type(t, "call", call.name, call.positional, call.function, call.keywords);
  // A method: the first argument is the object that it is bound to.
  if (call.positional.empty()) return;
  const nb::object self = stand_in(t, call.positional[0]);
  if (!self.is_valid() || !has_attribute(self, call.name.c_str())) return;
  const std::vector<Value> rest(call.positional.begin() + 1, call.positional.end());
  raise_by_type(t, "call", call.name, rest, attribute(self, call.name.c_str()), call.keywords);
}

Value handle(Tracer& t, const Builtin& builtin, Call& call) {
  static constexpr Handler kHandlers[] = {
#define INGOT_BUILTIN(handler, ...) &handler,
#include "frontend/builtins.def"
  };
  const Call given = call;
  // Nothing but a handler sees the state of a call that raises.
  const auto is_seen = [](const Catcher* handler) { return handler->catches_some(); };
  const Checkpoint before = checkpoint(t, std::ranges::any_of(t.handlers, is_seen));
  try {
    return builtin.op ? elementwise_call(t, *builtin.op, call) : kHandlers[builtin.handler](t, call);
  } catch (const base::Unsupported&) {
    go_back(t, before);
    raise_as_called(t, given);
    throw;
  }
}

void need_present(Tracer& t, Call& call) {
  for (Value& value : call.positional) value = present(t, value, "the argument", call.node);
  for (auto& [name, value] : call.keywords) value = present(t, value, name, call.node);
}

namespace {

/// Whether a function of Python's own has parameters that may be named.
bool takes_keywords(const Builtin& builtin) {
  static const std::set<std::string> kNamed = {"complex", "dict",  "enumerate", "int", "max", "min", "pow",
                                               "print",   "round", "sorted",    "str", "sum", "zip"};
  return kNamed.contains(builtin.name);
}

/// The values, besides numbers and arrays, that a builtin function takes unchanged.
struct Takes {
  bool instances = false;
  bool members = false;  ///< of an Enum; else they become their numbers or strings
  bool none = false;     ///< optionals that may be None
  bool foreign = false;
};

Takes takes_of(const Builtin& builtin, const Call& call) {
  static const std::map<std::string, Takes> kKnown = {
      {"print", {true, true, true, true}},     {"isinstance", {true, true, true, true}},
      {"type", {true, true, false, true}},     {"str", {true, true, false, false}},
      {"repr", {true, true, false, false}},    {"bool", {true, false, false, false}},
      {"list", {true, true, true, false}},     {"tuple", {true, true, true, false}},
      {"dict", {true, true, false, false}},    {"iter", {true, true, false, false}},
      {"next", {true, true, true, false}},     {"enumerate", {true, true, false, false}},
      {"zip", {true, true, false, false}},     {"sorted", {true, true, false, false}},
      {"min", {true, false, false, false}},    {"max", {true, false, false, false}},
      {"getattr", {true, true, false, false}}, {"frombuffer", {true, false, false, false}},
      {"changes", {true, true, true, true}},
  };
  const bool is_extreme = builtin.name == "min" || builtin.name == "max";
  if (is_extreme && builtin.module == "numpy") return {};
  if (is_extreme && call.positional.size() > 1) return {.instances = true};
  // Library functions that implement Python's functions check their arguments themselves.
  if (builtin.library.is_valid() &&
      !text_of(attribute_or(call.function, "__module__", nb::str("numpy"))).starts_with("numpy"))
    return {.instances = true, .members = true, .none = true};
  // Methods of Generator and RandomState, and the primitives that they are made of.
  const bool draws = builtin.name == "draw" || builtin.name == "reseed" || builtin.name == "new_stream";
  if (builtin.module == "numpy.random" || (builtin.module == "ingot.library.primitives" && draws))
    return {.instances = true, .members = false, .none = true};
  const auto known = kKnown.find(builtin.name);
  return known == kKnown.end() ? Takes{} : known->second;
}

/// Checks that a method of Generator or RandomState is called with one.
void need_stream(Tracer& t, const Builtin& method, Call& call) {
  need_same_draws(t, method.path.empty() ? method.name : method.path, call.node);
  const size_t dot = method.path.find('.');
  if (dot == std::string::npos) return;
  const std::string wanted = method.path.substr(0, dot);
  if (!call.positional.empty()) call.positional[0] = present(t, call.positional[0], "the stream", call.node);
  const uint32_t self = call.positional.empty() ? 0 : object_of(call.positional[0]);
  const nb::object type = imported("numpy.random").attr(wanted.c_str());
  if (self == 0 || !t.state.heap.at(self).type_of.is(type))
    unsupported(t, call.node, "`" + method.path + "` of what is no " + wanted, "call it as a method of one");
}

}  // namespace

void refuse_keywords(Tracer& t, const nb::object& function, Call& call) {
  const nb::object code = function.attr("__code__");
  if ((nb::cast<int>(code.attr("co_flags")) & CO_VARKEYWORDS) != 0) return;
  const auto taken =
      nb::cast<size_t>(code.attr("co_argcount")) + nb::cast<size_t>(code.attr("co_kwonlyargcount"));
  std::set<std::string> names;
  for (const nb::handle name : code.attr("co_varnames"))
    if (names.size() < taken) names.insert(text_of(name));
  for (const auto& [name, value] : call.keywords) {
    if (names.contains(name)) continue;
    raise_as_called(t, call);
    unsupported(t, call.node, "the keyword `" + name + "` of `" + call.name + "`", "leave it out");
  }
}

std::pair<std::string, std::string> refusal_of_call(const nb::object& function) {
  const nb::object known = imported("ingot._refusals.advice").attr("of_call")(function);
  return {"a call of `" + text_of(known[0]) + "`", text_of(known[1])};
}

void refuse_call(Tracer& t, const nb::object& function, nb::handle node) {
  const auto [reason, advice] = refusal_of_call(function);
  unsupported(t, node, reason, advice);
}

namespace {

/// The implementation that a user has registered for a function by `ingot.implements`; invalid: none.
nb::object implementation_of(Tracer& t, const nb::object& function) {
  const nb::module_ registry = imported("ingot.library.registry");
  const nb::object users = registry.attr("users");
  // Other hash functions may be user code.
  if (nb::len(users) == 0 || Py_TYPE(function.ptr())->tp_hash != PyBaseObject_Type.tp_hash) return {};
  const nb::object found = nb::borrow(PyDict_GetItemWithError(users.ptr(), function.ptr()));
  if (!found.is_valid()) return {};
  t.guards.push_back(
      {nb::borrow<nb::object>(registry.attr("__dict__")), "changed", registry.attr("changed")});
  return is_jitted(found) ? nb::object(found.attr("__ingot_function__")) : found;
}

}  // namespace

Value call_value(Tracer& t, const Value& callee, Call& call) {
  if (std::optional<Value> result = kind_of_value(callee).call(t, callee, call)) return *std::move(result);
  nb::object function = known_of(callee);
  if (!function.is_valid())
    raise(t, ExceptionKind::TypeError, "'" + type_name(t, callee) + "' object is not callable");
  if (const nb::object meant = meant_by(function); !meant.is(function))
    return call_value(t, Static{meant}, call);
  if (const Builtin* builtin = t.registry.find(function)) {
    call.name = builtin->name;
    call.function = function;
    if (std::optional<Value> result = builtin_of_object(t, *builtin, call)) return *result;
    if (builtin->module == "numpy.random") need_stream(t, *builtin, call);
    const Takes takes = takes_of(*builtin, call);
    if (!takes.instances) need_no_instances(t, *builtin, call);
    if (!takes.members)
      for (Value& value : call.positional) value = plain_number(t, value);
    if (!takes.members)
      if (std::optional<Value> result = Members(t).call(callee, call)) return *result;
    if (std::optional<Value> result = Fields(t).call(*builtin, call)) return *result;
    if (builtin->module == "builtins" && !call.keywords.empty() && !takes_keywords(*builtin))
      raise_as_called(t, call);
    if (!builtin->library.is_valid() && !takes.none) need_present(t, call);
    Strings(t).need_known(call);
    if (const Foreign* f = only_argument(call); f != nullptr && f->shape && call.name == "len")
      call.positional[0] = Value(*f->shape);
    if (!takes.foreign) refuse_foreign(t, call, builtin->name, function);
    if (!builtin->library.is_valid()) return handle(t, *builtin, call);
    if (!call.keywords.empty() || call.positional.size() > 1) {
      if (const std::optional<Value> result = ufunc_of_library(t, call)) return *result;
    }
    refuse_keywords(t, builtin->library, call);
    if (!binds(builtin->library, call)) raise_as_called(t, call);
    Value result = inline_function(t, builtin->library, call);
    // A class whose instances are iterators.
    if (Iterator* i = result.as<Iterator>(); i != nullptr && PyType_Check(function.ptr()))
      i->name = builtin->name;
    return result;
  }
  if (PyExceptionClass_Check(function.ptr()) && call.keywords.empty())
    return make_error(t, function, call.positional);
  if (const nb::object own = implementation_of(t, function); own.is_valid())
    return inline_function(t, own, call);
  const Restored<bool> order(t.in_order, t.in_order || is_in_order(function));
  if (is_jitted(function)) function = function.attr("__ingot_function__");
  if (is_vectorized(function)) {
    call.positional.insert(call.positional.begin(), {Static{function.attr("refreshed")()},
                                                     Static{attribute(function, "__ingot_function__")}});
    return inline_function(t, attribute(imported("ingot.library.vectorized"), "call"), call);
  }
  if (std::optional<Value> result = call_of_c(t, function, call)) return *result;
  if (is_of_closed_package(function)) refuse_call(t, function, call.node);
  if (PyFunction_Check(function.ptr())) {
    if (is_of_namedtuple(function)) return namedtuple_method(t, function, call);
    return inline_function(t, function, call);
  }
  if (Py_IS_TYPE(function.ptr(), &PyWrapperDescr_Type)) return call_wrapper(t, function, call);
  if (PyType_Check(function.ptr())) return make_instance(t, function, call);
  if (!PyCallable_Check(function.ptr()))
    raise(t, ExceptionKind::TypeError, "'" + type_name(t, callee) + "' object is not callable");
  if (const nb::object host = host_function(function); host.is_valid())
    return call_host_function(t, host, call);
  refuse_call(t, function, call.node);
}

Value eval_open(Tracer& t, nb::handle e) {
  using Step = Value (*)(Tracer&, nb::handle);
  static const std::unordered_map<std::string, Step> kSteps = {
      {"Name", &eval_name},
      {"Constant", &eval_constant},
      {"BinOp", &eval_binary},
      {"UnaryOp", &eval_unary},
      {"Compare", &eval_compare},
      {"BoolOp", &eval_bool},
      {"IfExp", &eval_conditional},
      {"Attribute", &eval_attribute},
      {"Subscript", &eval_subscript},
      {"Call", &eval_call},
      {"Tuple", &eval_tuple},
      {"List", &eval_list},
      {"Dict", &eval_dict},
      {"Slice", &eval_slice},
      {"NamedExpr", &eval_walrus},
      {"Lambda", &eval_lambda},
      {"ListComp", &eval_list_comp},
      {"DictComp", &eval_dict_comp},
      {"JoinedStr", &eval_joined_str},
      {"Set", &eval_set},
      {"SetComp", &eval_set_comp},
      {"GeneratorExp", &eval_generator},
      {"Yield", &eval_yield},
      {"YieldFrom", &eval_yield_from},
  };
  const std::string name = class_of(e);
  const auto method = kSteps.find(name);
  const Here here(t, e);
  step(t, e);
  if (method == kSteps.end())
    unsupported(t, e, "the expression `" + as_written(e) + "`", "write it with loops, calls and operators");
  try {
    return method->second(t, e);
  } catch (const LoneSurrogate&) {
    unsupported(t, e, "a string with half of a surrogate pair in it, used here,", "use another string");
  }
}

}  // namespace ingot::frontend
