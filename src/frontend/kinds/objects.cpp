#include "frontend/kinds/objects.h"

#include "base/message.h"
#include "base/packages.h"
#include "frontend/arrays/scalars.h"
#include "frontend/expressions/closures.h"
#include "frontend/expressions/expressions.h"
#include "frontend/joins/objects.h"
#include "frontend/kinds/containers.h"
#include "frontend/kinds/dicts.h"
#include "frontend/kinds/list_buffers.h"
#include "frontend/kinds/members.h"
#include "frontend/kinds/parameters.h"
#include "frontend/kinds/pooled_values.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

// Instances of the user's classes, namedtuples and members of an Enum. Attributes of classes are looked up as
// Python does, without running its code: the values in the classes are guarded, functions among them are
// inlined. An instance has a slot for each attribute that the function uses of its class anywhere; these are
// found while evaluating, and requested as a fact, so that the caller describes no others.
//
// An instance is an object of the shadow heap. Classes are read by `_PyType_Lookup`, which runs no code, and
// each look-up is a guard. This file has attributes and construction, special_methods.cpp operators, and
// instances.cpp their kinds.

namespace ingot::frontend {

using base::ExceptionKind;

namespace {

nb::object object_class() { return nb::borrow<nb::object>(reinterpret_cast<PyObject*>(&PyBaseObject_Type)); }

bool is_property(const nb::object& raw) { return Py_IS_TYPE(raw.ptr(), &PyProperty_Type); }
bool is_slot(const nb::object& raw) { return Py_IS_TYPE(raw.ptr(), &PyMemberDescr_Type); }
bool is_data_descriptor(const nb::object& raw) { return Py_TYPE(raw.ptr())->tp_descr_set != nullptr; }

/// The class, among a class and its bases, that defines a name.
nb::object definer_of(const nb::object& type, const std::string& name) {
  for (const nb::handle base : type.attr("__mro__"))
    if (nb::cast<bool>(base.attr("__dict__").attr("__contains__")(name))) return nb::borrow<nb::object>(base);
  return {};
}

std::string name_of(const nb::object& type) { return text_of(type.attr("__name__")); }

/// Whether a frozen dataclass refuses to set or delete an attribute.
bool refuses_assignment(Tracer& t, const nb::object& type, const char* method, const std::string& name);
Value run_generated_init(Tracer& t, const Object& made, const nb::object& init, Call& call);
Value make_namedtuple(Tracer& t, const nb::object& type, Call& call);
Value enum_member(Tracer& t, const nb::object& type, Call& call);

}  // namespace

nb::object class_of_value(const Tracer& t, const Value& value) {
  return kind_of_value(value).class_of(t, value);
}

nb::object class_attribute(Tracer& t, const nb::object& type, const std::string& name) {
  const nb::object raw = lookup(type, name);
  t.guards.push_back({type, name, raw, true});
  return raw;
}

void need_no_instances(Tracer& t, const Builtin& builtin, Call& call) {
  static const std::set<std::string> kShares = {"asarray", "asanyarray", "ascontiguousarray"};
  static const std::set<std::string> kReads = {"array", "sum", "prod", "mean",   "std",    "var",
                                               "min",   "max", "amin", "amax",   "argmin", "argmax",
                                               "any",   "all", "sort", "median", "cumsum", "count_nonzero"};
  const bool makes_array =
      builtin.module == "numpy" && (kShares.contains(builtin.name) || kReads.contains(builtin.name));
  for (Value& value : call.positional) {
    if (!is_instance(value)) continue;
    const nb::object type = PooledValues::decides(value) ? nb::object() : class_of_value(t, value);
    const bool is_stand_in = type.is_valid() && lookup(type, kStandsFor).is_valid();
    const bool is_buffer = is_stand_in && lookup(type, "__ingot_buffer__").is_valid();
    const bool is_sequence = is_stand_in && !is_buffer && lookup(type, "__reversed__").is_valid();
    // Elements that are copied out of memory are no array that others share.
    const nb::object made = is_buffer ? lookup(type, "elements") : nb::object();
    const bool is_copied = made.is_valid() && is_property(made);
    if (makes_array && is_sequence) value = listed(t, value, call.node);
    else if (makes_array && is_buffer && !(is_copied && kShares.contains(builtin.name)))
      value = object_attribute(t, value, "elements", call.node);
    else if (is_buffer)
      unsupported(t, call.node, "the buffer of a " + type_name(t, value) + " in `" + call.name + "`",
                  "give it np.asarray(...) of it");
    else
      unsupported(t, call.node, "`" + call.name + "` of a " + type_name(t, value),
                  "give it the parts of the instance");
  }
}

bool has_class(const Tracer& t, const Value& value) {
  return PooledValues::open(value) != nullptr || class_of_value(t, value).is_valid();
}

namespace {

/// Whether a class has the same attribute of this name as `from`.
bool inherits(Tracer& t, const nb::object& type, const std::string& name, nb::handle from) {
  return class_attribute(t, type, name).is(lookup(from, name));
}

}  // namespace

size_t index_of_attribute(Tracer& t, const HeapObject& instance, const std::string& name, nb::handle node) {
  if (!instance.conflict.empty()) PooledValues(t).ask_for_early(instance.type_of, node);
  for (size_t i = 0; i < instance.keys.size(); ++i)
    if (text_of(instance.keys[i]) == name) return i;
  // Other attributes of the same variable are likely to be of the same class.
  std::vector<std::string> names{name};
  if (node.is_valid() && class_of(node) == "Attribute" && class_of(node.attr("value")) == "Name") {
    for (const nb::handle other :
         imported("ingot._code.scope").attr("attributes")(t.frame->node, node.attr("value").attr("id")))
      names.push_back(text_of(other));
  }
  throw NeedsFact{.kind = NeedsFact::Kind::Attributes, .owner = instance.type_of, .names = std::move(names)};
}

namespace {

[[noreturn]] void raise_no_attribute(Tracer& t, const nb::object& type, const std::string& name) {
  const std::string shown = as_type(type)->tp_name;  // of a class of an extension, with its module
  raise(t, ExceptionKind::AttributeError, "'" + shown + "' object has no attribute '" + name + "'");
}

/// A class's attribute, bound to an instance (class methods: to the class).
Value bind_attribute(Tracer& t, const Value& self, const nb::object& type, const nb::object& raw,
                     const std::string& name, nb::handle node) {
  PyObject* const o = raw.ptr();
  if (PyFunction_Check(o)) return Method{share(self), name, raw};
  if (Py_TYPE(o)->tp_descr_get != nullptr && is_jitted(raw))
    return Method{share(self), name, attribute(raw, "__ingot_function__")};
  if (Py_IS_TYPE(o, &PyStaticMethod_Type)) return host_value(t, attribute(raw, "__func__"), name, node);
  if (Py_IS_TYPE(o, &PyClassMethod_Type)) {
    const nb::object function = attribute(raw, "__func__");
    if (!PyFunction_Check(function.ptr()))  // of an extension's class
      if (const nb::object bound = attribute(type, name.c_str()); t.registry.find(bound) != nullptr)
        return Static{bound};
    return Method{share(Value(Static{type})), name, function};
  }
  if (is_property(raw)) {
    const nb::object getter = attribute(raw, "fget");
    if (getter.is_none()) {
      raise(t, ExceptionKind::AttributeError,
            "property '" + name + "' of '" + name_of(type) + "' object has no getter");
    }
    Call call{.positional = {self}, .name = name, .node = node};
    return present(t, call_value(t, Static{getter}, call), name, node);
  }
  if (Py_IS_TYPE(o, &PyWrapperDescr_Type)) return Method{share(self), name, raw};
  if (Py_TYPE(o)->tp_descr_get == nullptr) return outside(t, type, name, raw, name, node);
  if (t.registry.find(raw) != nullptr) return Method{share(self), name, raw};
  const std::string kind = text_of(raw.type().attr("__name__"));
  if (kind == "partialmethod" || kind == "_lru_cache_wrapper") {
    unsupported(t, node, "the attribute `" + name + "`, a method that is a " + kind + ",",
                "write a method that calls the function in it");
  }
  unsupported(t, node, "the attribute `" + name + "`, a " + kind + ",",
              "use a method, a property or a plain attribute");
}

Value member_attribute(Tracer& t, const Static& member, const nb::object& type, const std::string& name,
                       nb::handle node) {
  const nb::object raw = class_attribute(t, type, name);
  const nb::object own = nb::steal(PyObject_GenericGetDict(member.object.ptr(), nullptr));
  if (!own.is_valid()) throw nb::python_error();
  const auto of_instance = [&](const std::string& key) {
    const nb::object value = own[key.c_str()];
    t.guards.push_back({own, key, value});
    return host_value(t, value, name, node);
  };
  const nb::object base = imported("enum").attr("Enum");
  for (const char* key : {"value", "name"})
    if (name == key && raw.is_valid() && raw.is(lookup(base, key))) return of_instance("_" + name + "_");
  if (nb::cast<bool>(own.attr("__contains__")(name)) && !(raw.is_valid() && is_data_descriptor(raw)))
    return of_instance(name);
  if (name == "__class__") return Static{type};
  if (raw.is_valid()) return bind_attribute(t, member, type, raw, name, node);
  raise_no_attribute(t, type, name);
}

}  // namespace

Value object_attribute(Tracer& t, const Value& given, const std::string& name, nb::handle node) {
  Value value = given;
  std::optional<Pooled> record = PooledValues(t).of(given);
  if (record) {
    record = PooledValues(t).present(*record, ExceptionKind::AttributeError,
                                     "'NoneType' object has no attribute '" + name + "'");
    value = *record;
    if (PooledValues::open(value) != nullptr) return PooledValues(t).open_attribute(*record, name, node);
  }
  const nb::object type = class_of_value(t, value);
  if (name == "__class__") return Static{stood_for(type)};
  if (const Member* m = value.as<Member>()) {
    if (const std::optional<Value> found = Members(t).attribute(*m, name, node)) return *found;
    return bind_attribute(t, value, type, class_attribute(t, type, name), name, node);
  }
  if (!inherits(t, type, "__getattribute__", object_class()) && !value.is<Static>() && !value.is<Tuple>()) {
    unsupported(t, node,
                "an attribute of a " + name_of(type) + ", whose class has a `__getattribute__` of its own",
                "read attributes as Python does it by itself");
  }
  if (const Static* s = value.as<Static>()) return member_attribute(t, *s, type, name, node);
  const nb::object raw = class_attribute(t, type, name);
  if (const Tuple* tuple = value.as<Tuple>()) {
    if (raw.is_valid() && text_of(raw.type().attr("__name__")) == "_tuplegetter") {
      const nb::object parts = attribute(raw, "__reduce__")();
      return present(t, tuple->members.at(nb::cast<size_t>(parts[1][0])), name, node);
    }
    if (raw.is_valid() && Py_IS_TYPE(raw.ptr(), &PyMethodDescr_Type)) return Method{share(value), name};
    if (raw.is_valid()) return bind_attribute(t, value, type, raw, name, node);
    raise_no_attribute(t, type, name);
  }
  if (raw.is_valid() && is_data_descriptor(raw) && !is_slot(raw))
    return bind_attribute(t, value, type, raw, name, node);
  const bool is_own_slot = raw.is_valid() && is_slot(raw);
  if (is_own_slot || as_type(type)->tp_dictoffset != 0) {
    const HeapObject& holder =
        record ? PooledValues(t).pool_of(*record) : t.state.heap.at(value.as<Object>()->object);
    const size_t index = index_of_attribute(t, holder, name, node);
    Value found = record ? PooledValues(t).attribute(*record, index) : holder.values[index];
    const std::string missing = "'" + name_of(type) + "' object has no attribute '" + name + "'";
    if (const Pooled* r = found.as<Pooled>()) {
      const Pooled there = PooledValues(t).bound(*r, ExceptionKind::AttributeError, missing);
      return there.pool == Pooled::kNoPool ? Value(Static{nb::none()}) : Value(there);
    }
    if (Maybe* m = found.as<Maybe>(); m != nullptr && m->may_be_unbound) {
      if (raw.is_valid() && !is_own_slot) {
        unsupported(t, node, "the attribute `" + name + "`, which the instance has on some paths only",
                    "set it before the branch");
      }
      const NodeId tag = t.builder->make(ir::Op::tag, {m->node});
      check(t, t.builder->make(ir::Op::not_equal, {tag, t.builder->constant<int8_t>(2)}),
            ExceptionKind::AttributeError, missing);
      m->may_be_unbound = false;
      if (!m->may_be_none) return present(t, found, name, node);
    }
    if (!found.is<Unbound>()) return found;
  }
  if (raw.is_valid() && !is_own_slot) return bind_attribute(t, value, type, raw, name, node);
  if (class_attribute(t, type, "__getattr__").is_valid()) {
    unsupported(t, node,
                "the attribute `" + name + "`, which the `__getattr__` of " + name_of(type) + " makes",
                "call the function that makes it");
  }
  raise_no_attribute(t, type, name);
}

Value type_attribute(Tracer& t, const nb::object& type, const std::string& name, nb::handle node) {
  const nb::object raw = class_attribute(t, type, name);
  if (PyFunction_Check(raw.ptr())) return Static{raw};
  if (is_property(raw) || is_slot(raw) || is_data_descriptor(raw)) {
    unsupported(t, node,
                "the attribute `" + name + "` of a class, a " + text_of(raw.type().attr("__name__")) + ",",
                "ask an instance for it");
  }
  return bind_attribute(t, Static{type}, type, raw, name, node);
}

std::optional<Value> super_attribute(Tracer& t, nb::handle e) {
  const nb::object inner = attribute(e, "value");
  if (class_of(inner) != "Call" || class_of(inner.attr("func")) != "Name" ||
      text_of(inner.attr("func").attr("id")) != "super" || local(t, "super") != nullptr)
    return std::nullopt;
  const Value callee = eval(t, inner.attr("func"));
  const nb::object builtin = imported("builtins").attr("super");
  if (!callee.is<Static>() || !callee.as<Static>()->object.is(builtin)) return std::nullopt;
  const nb::list arguments = inner.attr("args");
  nb::object after;
  Value self;
  if (nb::len(arguments) == 2) {
    after = require_static(t, eval(t, arguments[0]), "the class of `super`", inner);
    self = eval(t, arguments[1]);
  } else {
    const auto cell = t.frame->cells.find("__class__");
    const nb::list parameters = t.frame->node.attr("args").attr("args");
    if (nb::len(arguments) != 0 || cell == t.frame->cells.end() || nb::len(parameters) == 0) {
      unsupported(t, inner, "`" + as_written(inner) + "` outside of a method, or with such arguments",
                  "call it in a method, without arguments");
    }
    after = attribute(cell->second, "cell_contents");
    t.guards.push_back({cell->second, "", after});
    self = *local(t, text_of(parameters[0].attr("arg")));
  }
  const Static* known = self.as<Static>();
  const bool is_class = known != nullptr && PyType_Check(known->object.ptr()) != 0;
  const nb::object type = is_class ? known->object : class_of_value(t, self);
  if (!type.is_valid()) unsupported(t, inner, "`super` of a " + type_name(t, self), "call it in a method");
  const nb::object order = attribute(type, "__mro__");
  t.guards.push_back({type, "__mro__", order, true});
  const std::string name = text_of(e.attr("attr"));
  bool passed = false;
  for (const nb::handle base : order) {
    if (passed) {
      const nb::object own = attribute(base, "__dict__");
      t.guards.push_back({nb::borrow<nb::object>(base), name, lookup(base, name), true});
      if (nb::cast<bool>(own.attr("__contains__")(name))) {
        if (is_class && PyFunction_Check(nb::object(own[name.c_str()]).ptr()))
          return Static{own[name.c_str()]};
        return bind_attribute(t, self, type, own[name.c_str()], name, e);
      }
    }
    passed = passed || base.is(after);
  }
  raise(t, ExceptionKind::AttributeError, "'super' object has no attribute '" + name + "'");
}

void set_plain_attribute(Tracer& t, const Value& target, const std::string& name, Value value,
                         nb::handle node) {
  const nb::object type = class_of_value(t, target);
  const nb::object raw = class_attribute(t, type, name);
  if (name == "__class__" || name == "__dict__")
    unsupported(t, node, "an assignment to `" + name + "`", "make an instance of the other class");
  if (raw.is_valid() && is_property(raw)) {
    const nb::object setter = attribute(raw, "fset");
    if (setter.is_none()) {
      raise(t, ExceptionKind::AttributeError,
            "property '" + name + "' of '" + name_of(type) + "' object has no setter");
    }
    Call call{.positional = {target, std::move(value)}, .name = name, .node = node};
    call_value(t, Static{setter}, call);
    return;
  }
  if (raw.is_valid() && is_data_descriptor(raw) && !is_slot(raw)) {
    unsupported(
        t, node,
        "an assignment to the attribute `" + name + "`, a " + text_of(raw.type().attr("__name__")) + ",",
        "use a property or a plain attribute");
  }
  const bool is_own_slot = raw.is_valid() && is_slot(raw);
  if (!is_own_slot && as_type(type)->tp_dictoffset == 0) {
    if (raw.is_valid()) {
      raise(t, ExceptionKind::AttributeError,
            "'" + name_of(type) + "' object attribute '" + name + "' is read-only");
    }
    raise_no_attribute(t, type, name);
  }
  if (const std::optional<Pooled> record = PooledValues(t).of(target)) {
    const Pooled there = PooledValues(t).present(*record, ExceptionKind::AttributeError,
                                                 "'NoneType' object has no attribute '" + name + "'");
    const size_t index = index_of_attribute(t, PooledValues(t).pool_of(there), name, node);
    return PooledValues(t).set_attribute(there, index, stored(t, std::move(value)), node);
  }
  const Object object = *target.as<Object>();
  const size_t index = index_of_attribute(t, t.state.heap.at(object.object), name, node);
  value = stored(t, std::move(value));
  if (const Maybe* m = value.as<Maybe>(); m != nullptr && m->may_be_none) {
    unsupported(t, node, "an attribute that is None on some paths",
                "use NaN, or another attribute as a flag");
  }
  if (value.is<Maybe>() || value.is<Conflict>()) value = present(t, value, name, node);
  const Value before = t.state.heap.at(object.object).values[index];
  if (same(before, value) && !value.is<Unbound>() && !value.is<Static>()) return;
  need_own(t, t.state.heap.at(object.object), node);
  will_change(t, object.object, node);
  write_back(t, object.object, index, nb::str(name.c_str()), value, node);
  t.state.heap.at(object.object).values[index] = std::move(value);
}

void set_attribute(Tracer& t, const Value& target, const std::string& name, Value value, nb::handle node) {
  if (const Pooled* r = PooledValues::open(target)) {
    const Pooled there = PooledValues(t).present(*r, ExceptionKind::AttributeError,
                                                 "'NoneType' object has no attribute '" + name + "'");
    const Value held = PooledValues(t).held(stored(t, std::move(value)), node);
    PooledValues(t).on_each(there, [&](const Value& known) {
      set_attribute(t, known, name, held, node);
      return Value(Static{nb::none()});
    });
    return;
  }
  const nb::object type = class_of_value(t, target);
  if (!is_instance(target)) {
    if (kind_of_value(target).set_attribute(t, target, name, value, node)) return;
    unsupported(t, node, "an assignment to an attribute of a " + type_name(t, target),
                "assign to a name or an element");
  }
  const Object* own = target.as<Object>();
  if (own != nullptr && !t.frame->of_library && lookup(type, kTakes).is_valid() &&
      !lookup(type, name).is_valid() &&
      std::ranges::none_of(t.state.heap.at(own->object).keys,
                           [&](const nb::object& key) { return text_of(key) == name; }))
    unsupported(t, node, "an attribute `" + name + "` of a " + type_name(t, target), "keep it in a variable");
  if (inherits(t, type, "__setattr__", object_class()))
    return set_plain_attribute(t, target, name, std::move(value), node);
  if (refuses_assignment(t, type, "__setattr__", name)) {
    raise_error(t, make_error(t, imported("dataclasses").attr("FrozenInstanceError"),
                              {Static{nb::str(("cannot assign to field '" + name + "'").c_str())}}));
  }
  if (is_generated(class_attribute(t, type, "__setattr__")))
    return set_plain_attribute(t, target, name, std::move(value), node);
  unsupported(
      t, node,
      "an assignment to an attribute of a " + name_of(type) + ", whose class has a `__setattr__` of its own",
      "set attributes as Python does it by itself");
}

namespace {

bool refuses_assignment(Tracer& t, const nb::object& type, const char* method, const std::string& name) {
  if (!is_generated(class_attribute(t, type, method))) return false;
  const nb::object definer = definer_of(type, method);
  if (definer.is(type)) return true;
  return nb::cast<bool>(attribute(definer, "__dataclass_fields__").attr("__contains__")(name));
}

}  // namespace

void delete_attribute(Tracer& t, const Value& target, const std::string& name, nb::handle node) {
  const Object* given = target.as<Object>();
  if (given == nullptr || !inherits(t, class_of_value(t, target), "__delattr__", object_class()))
    unsupported(t, node, "`del` of an attribute of a " + type_name(t, target), "assign to it");
  const Object object = *given;
  if (PooledValues(t).of(target))
    unsupported(t, node, "`del` of an attribute of a " + type_name(t, target), "assign to it");
  const nb::object type = class_of_value(t, target);
  const nb::object raw = class_attribute(t, type, name);
  if (raw.is_valid() && is_data_descriptor(raw) && !is_slot(raw))
    unsupported(t, node, "`del` of the attribute `" + name + "`", "assign to it");
  const size_t index = index_of_attribute(t, t.state.heap.at(object.object), name, node);
  const Value before = t.state.heap.at(object.object).values[index];
  if (before.is<Maybe>())
    unsupported(t, node, "`del` of an attribute that is there on some paths", "assign to it");
  if (before.is<Unbound>()) raise(t, ExceptionKind::AttributeError, name);
  need_own(t, t.state.heap.at(object.object), node);
  will_change(t, object.object, node);
  replay(t, object.object, "__delattr__", {Static{nb::str(name.c_str())}}, node);
  t.state.heap.at(object.object).values[index] = Unbound{};
}

Value make_instance(Tracer& t, const nb::object& type, Call& call) {
  const nb::object metaclass = nb::borrow<nb::object>(type.type());
  if (is_enum(type)) return enum_member(t, type, call);
  if (!lookup(metaclass, "__call__")
           .is(lookup(nb::borrow(reinterpret_cast<PyObject*>(&PyType_Type)), "__call__"))) {
    unsupported(t, call.node,
                "a call of `" + name_of(type) + "`, whose metaclass has a `__call__` of its own",
                "make the instance outside");
  }
  if (PyType_IsSubtype(as_type(type), &PyTuple_Type) != 0) return make_namedtuple(t, type, call);
  const Object made = begin_instance(t, type, call.node);
  const nb::object init = class_attribute(t, type, "__init__");
  if (init.is(lookup(object_class(), "__init__"))) {
    if (!call.positional.empty() || !call.keywords.empty())
      raise(t, ExceptionKind::TypeError, name_of(type) + "() takes no arguments");
    return PooledValues(t).made(made, call.node);
  }
  if (!PyFunction_Check(init.ptr()) && !is_jitted(init))
    unsupported(t, call.node, "the `__init__` of `" + name_of(type) + "`", "write it in Python");
  call.positional.insert(call.positional.begin(), Value(made));
  const Value none =
      is_generated(init) ? run_generated_init(t, made, init, call) : call_value(t, Static{init}, call);
  if (!is_none(none))
    raise(t, ExceptionKind::TypeError, "__init__() should return None, not '" + type_name(t, none) + "'");
  return PooledValues(t).made(made, call.node);
}

Object begin_instance(Tracer& t, const nb::object& type, nb::handle node) {
  for (const nb::handle base : type.attr("__mro__")) {
    if (!base.is(object_class()) &&
        (reinterpret_cast<PyTypeObject*>(base.ptr())->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0) {
      refuse_call(t, type, node);
    }
  }
  if ((as_type(type)->tp_flags & Py_TPFLAGS_IS_ABSTRACT) != 0)
    unsupported(t, node, "an instance of the abstract class `" + name_of(type) + "`", "define its methods");
  t.guards.push_back({type, "__mro__", attribute(type, "__mro__"), true});
  if (!inherits(t, type, "__new__", object_class())) {
    unsupported(t, node, "an instance of `" + name_of(type) + "`, whose class has a `__new__` of its own",
                "write an `__init__`");
  }
  if (class_attribute(t, type, "__del__").is_valid()) {
    unsupported(t, node, "an instance of `" + name_of(type) + "`, whose class has a `__del__`",
                "make the instance outside");
  }
  HeapObject instance{.type = HeapObject::Type::Object, .values = {}, .keys = {}};
  instance.type_of = type;
  if (t.request.attributes.contains(type))
    for (const nb::handle name : t.request.attributes[type])
      instance.keys.push_back(nb::borrow<nb::object>(name));
  instance.values.resize(instance.keys.size());
  const uint32_t id = t.facts.next_object++;
  t.state.heap.emplace(id, std::move(instance));
  if (!t.facts.pools.by_class.contains(type.ptr())) t.facts.pools.makings.classes.emplace(id, type);
  const Object made{id};
  PooledValues(t).begun(made, node);
  return made;
}

Value call_wrapper(Tracer& t, const nb::object& wrapper, Call& call) {
  const bool plain = !call.positional.empty() && is_instance(call.positional[0]) && call.keywords.empty();
  if (plain && wrapper.is(lookup(object_class(), "__init__")) && call.positional.size() == 1)
    return Static{nb::none()};
  if (plain && wrapper.is(lookup(object_class(), "__setattr__")) && call.positional.size() == 3) {
    const nb::object name = require_static(t, call.positional[1], "the name of an attribute", call.node);
    if (PyUnicode_CheckExact(name.ptr())) {
      set_plain_attribute(t, call.positional[0], text_of(name), call.positional[2], call.node);
      return Static{nb::none()};
    }
  }
  unsupported(t, call.node, "a call of `" + text_of(wrapper.attr("__qualname__")) + "` with these arguments",
              "write the method in Python");
}

namespace {

Value run_generated_init(Tracer& t, const Object& made, const nb::object& init, Call& call) {
  const nb::object type = class_of_value(t, made);
  const nb::object definer = definer_of(type, "__init__");
  const nb::object fields = class_attribute(t, definer, "__dataclass_fields__");
  const nb::module_ dataclasses = imported("dataclasses");
  const nb::object missing = dataclasses.attr("MISSING");
  for (Value& value : call.positional) value = stored(t, std::move(value));
  for (auto& [name, value] : call.keywords) value = stored(t, std::move(value));
  std::map<std::string, Value> given = bind_arguments(t, init, call.positional, call.keywords, call.node);
  const auto is_kind = [&](const nb::object& field, const char* kind) {
    return attribute(field, "_field_type").is(dataclasses.attr(kind));
  };
  const bool is_frozen = nb::cast<bool>(attribute(definer, "__dataclass_params__").attr("frozen"));
  std::vector<Value> passed{made};
  for (const auto [key, one] : nb::cast<nb::dict>(fields)) {
    const std::string name = text_of(key);
    const nb::object field = nb::borrow<nb::object>(one);
    if (is_kind(field, "_FIELD_CLASSVAR")) continue;
    const auto it = given.find(name);
    std::optional<Value> value;
    if (it != given.end()) value = it->second;
    const nb::object factory = attribute(field, "default_factory");
    const bool by_factory =
        value
            ? value->is<Static>() && value->as<Static>()->object.is(dataclasses.attr("_HAS_DEFAULT_FACTORY"))
            : !factory.is(missing);
    if (by_factory) {
      Call make{.positional = {}, .name = name, .node = call.node};
      value = call_value(t, host_value(t, factory, name, call.node), make);
    }
    if (is_kind(field, "_FIELD_INITVAR")) {
      if (value) passed.push_back(*value);
      continue;
    }
    if (!value && lookup(type, name).is_valid() && is_slot(lookup(type, name)) &&
        !attribute(field, "default").is(missing))
      value = host_value(t, attribute(field, "default"), name, call.node);
    if (!value) continue;
    if (is_frozen) set_plain_attribute(t, made, name, *value, call.node);
    else set_attribute(t, made, name, *value, call.node);
  }
  const nb::object code_names = attribute(attribute(init, "__code__"), "co_names");
  if (nb::cast<bool>(code_names.attr("__contains__")("__post_init__"))) {
    Call after{.positional = passed, .name = "__post_init__", .node = call.node};
    const nb::object raw = class_attribute(t, type, "__post_init__");
    if (!raw.is_valid() || !PyFunction_Check(raw.ptr()))
      unsupported(t, call.node, "the `__post_init__` of `" + name_of(type) + "`", "write it as a method");
    call_value(t, Static{raw}, after);
  }
  return Static{nb::none()};
}

/// Whether a function is the `__new__` that `collections.namedtuple` gives a class of these fields.
bool makes_namedtuple(const nb::object& function, const nb::object& fields) {
  if (!PyFunction_Check(function.ptr()) || !fields.is_valid() || !PyTuple_CheckExact(fields.ptr()))
    return false;
  const nb::object model = imported("collections").attr("namedtuple")("made", fields).attr("__new__");
  const nb::object maker = function.attr("__globals__").attr("get")("_tuple_new");
  return maker.equal(model.attr("__globals__")["_tuple_new"]) &&
         function.attr("__code__").attr("co_names").equal(model.attr("__code__").attr("co_names")) &&
         function.attr("__code__").attr("co_code").equal(model.attr("__code__").attr("co_code"));
}

Value make_namedtuple(Tracer& t, const nb::object& type, Call& call) {
  const nb::object raw = class_attribute(t, type, "__new__");
  const nb::object function = raw.is_valid() ? attribute_or(raw, "__func__", raw) : raw;
  if (!makes_namedtuple(function, class_attribute(t, type, "_fields")) ||
      !inherits(t, type, "__init__", object_class())) {
    unsupported(t, call.node,
                "a call of `" + name_of(type) + "`, whose class has a `__new__` or `__init__` of its own",
                "use a namedtuple, or a class that derives from none");
  }
  const nb::object tuple = nb::borrow<nb::object>(reinterpret_cast<PyObject*>(&PyTuple_Type));
  for (const char* method : {"__iter__", "__getitem__", "__len__", "__contains__", "__getattribute__"}) {
    if (!inherits(t, type, method, tuple)) {
      unsupported(t, call.node, "a namedtuple with a `" + std::string(method) + "` of its own",
                  "use another method");
    }
  }
  std::vector<Value> given = call.positional;
  given.insert(given.begin(), Value(Static{type}));
  for (Value& value : given) value = stored(t, std::move(value));
  for (auto& [name, value] : call.keywords) value = stored(t, std::move(value));
  std::map<std::string, Value> bound = bind_arguments(t, function, given, call.keywords, call.node);
  Tuple made{{}, type};
  for (const nb::handle field : class_attribute(t, type, "_fields"))
    made.members.push_back(bound.at(text_of(field)));
  return made;
}

}  // namespace

Value namedtuple_method(Tracer& t, const nb::object& function, Call& call) {
  const std::string name = text_of(function.attr("__name__"));
  const Value self = call.positional.at(0);
  if (name == "_make" && self.is<Static>() && call.positional.size() == 2 && call.keywords.empty()) {
    const nb::object type = self.as<Static>()->object;
    Tuple made{elements_of(t, call.positional[1], call.node), type};
    const size_t count = nb::len(class_attribute(t, type, "_fields"));
    if (made.members.size() != count) {
      raise(t, ExceptionKind::TypeError,
            "Expected " + std::to_string(count) + " arguments, got " + std::to_string(made.members.size()));
    }
    return made;
  }
  const Tuple* tuple = self.as<Tuple>();
  if (tuple == nullptr || call.positional.size() != 1) {
    unsupported(t, call.node, "the method `" + name + "` of a namedtuple with these arguments",
                "use its fields");
  }
  const nb::object fields = class_attribute(t, tuple->type, "_fields");
  if (name == "_asdict" && call.keywords.empty()) {
    std::vector<nb::object> keys;
    for (const nb::handle field : fields) keys.push_back(nb::borrow<nb::object>(field));
    return new_dict(t, std::move(keys), tuple->members);
  }
  if (name != "_replace")
    unsupported(t, call.node, "the method `" + name + "` of a namedtuple", "use its fields");
  Tuple made = *tuple;
  nb::list unknown;
  for (auto& [key, value] : call.keywords) {
    size_t index = 0;
    while (index < made.members.size() && text_of(fields[index]) != key) ++index;
    if (index < made.members.size()) made.members[index] = stored(t, value);
    else unknown.append(key);
  }
  if (nb::len(unknown) > 0) {
    raise(t, ExceptionKind::ValueError,
          base::escape_message("Got unexpected field names: " + text_of(nb::repr(unknown))));
  }
  return made;
}

namespace {

Value enum_member(Tracer& t, const nb::object& type, Call& call) {
  const nb::object members = class_attribute(t, type, "_value2member_map_");
  const bool is_found = call.positional.size() == 1 && call.keywords.empty() && members.is_valid();
  if (!is_found) {
    unsupported(t, call.node, "a call of the Enum `" + name_of(type) + "` with these arguments",
                "name the member");
  }
  const Value given = call.positional[0];
  if (const Member* m = given.as<Member>(); m != nullptr && m->type.is(type)) return given;
  const nb::object base = imported("enum").attr("Enum");
  const nb::object flag = imported("enum").attr("Flag");
  const bool is_flag = PyType_IsSubtype(as_type(type), as_type(flag)) != 0;
  if (given.is<Scalar>() && !is_flag && class_attribute(t, type, "_missing_").is(lookup(base, "_missing_")))
    return Members(t).by_value(type, *given.as<Scalar>(), call.node);
  const nb::object value = require_static(t, given, "the value of a member", call.node);
  if (is_member_of_enum(value) && nb::borrow(value.type()).is(type)) return Static{value};
  const bool is_plain = PyLong_CheckExact(value.ptr()) || PyFloat_CheckExact(value.ptr()) ||
                        PyUnicode_CheckExact(value.ptr()) || PyBool_Check(value.ptr());
  if (is_plain && nb::cast<bool>(members.attr("__contains__")(value))) return Static{members[value]};
  unsupported(t, call.node, "a member of `" + name_of(type) + "` by a value that is no number or string",
              "name the member");
}

}  // namespace

Value plain_number(Tracer& t, const Value& value) {
  if (const Member* m = value.as<Member>()) return Members(t).number(*m).value_or(value);
  const Static* s = value.as<Static>();
  if (s == nullptr || !is_member_of_enum(s->object)) return value;
  PyObject* const o = s->object.ptr();
  PyObject* plain = nullptr;
  if (PyLong_Check(o)) plain = PyLong_Type.tp_as_number->nb_int(o);
  else if (PyFloat_Check(o)) plain = PyFloat_FromDouble(PyFloat_AS_DOUBLE(o));
  else if (PyComplex_Check(o)) plain = PyComplex_FromCComplex(PyComplex_AsCComplex(o));
  else if (PyUnicode_Check(o)) plain = PyUnicode_FromObject(o);
  else return value;
  if (plain == nullptr) throw nb::python_error();
  return Static{nb::steal(plain)};
}

}  // namespace ingot::frontend
