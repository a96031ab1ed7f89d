#include "base/packages.h"
#include "frontend/evaluator_parts.h"
#include "frontend/kinds/fields.h"
#include "frontend/kinds/members.h"
#include "frontend/kinds/pooled_values.h"
#include "frontend/kinds/value_kind.h"
#include "frontend/parameters.h"

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

constexpr const char* kStandsFor = "__ingot_stands_for__";

nb::object object_class() { return nb::borrow<nb::object>(reinterpret_cast<PyObject*>(&PyBaseObject_Type)); }

PyTypeObject* as_type(const nb::object& type) { return reinterpret_cast<PyTypeObject*>(type.ptr()); }

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

}  // namespace

bool is_counted(nb::handle object) {
  if (PyFunction_Check(object.ptr())) {
    // A generator or coroutine: a Python function with a mark.
    PyObject* const own = reinterpret_cast<PyFunctionObject*>(object.ptr())->func_dict;
    return own != nullptr &&
           PyDict_GetItemString(own, "__ingot_counted__") == PyFunction_GET_CODE(object.ptr());
  }
  return !is_plain(object) &&
         nb::isinstance(object, imported("ingot._ingot").attr("profile").attr("Profiled"));
}

nb::object uncounted(const nb::object& object) {
  return attribute(object, PyFunction_Check(object.ptr()) ? "__wrapped__" : "__ingot_function__");
}

bool is_type(nb::handle object) {
  if (std::string_view(Py_TYPE(object.ptr())->tp_name) == "Type" &&
      object.type().is(imported("ingot._signatures").attr("Type")))
    return true;
  const nb::object module = attribute_or(object.type(), "__module__", nb::none());
  return PyUnicode_Check(module.ptr()) && text_of(module).starts_with("numba.core.types.");
}

nb::object meant_by(const nb::object& object) {
  if (is_counted(object)) return uncounted(object);
  if (is_plain(object) || !is_type(object)) return object;
  nb::object scalar = imported("ingot._signatures").attr("scalar_class")(object);
  return scalar.is_none() ? object : scalar;
}

bool is_jitted(nb::handle object) {
  if (is_plain(object)) return false;
  const nb::object kind = imported("ingot._ingot").attr("Callable");
  return PyObject_TypeCheck(object.ptr(), reinterpret_cast<PyTypeObject*>(kind.ptr())) != 0 ||
         is_counted(object);
}

bool is_of_closed_package(const nb::object& function) {
  if (!PyFunction_Check(function.ptr()) && !PyType_Check(function.ptr())) return false;
  const nb::object module = attribute_or(function, "__module__", nb::none());
  return PyUnicode_Check(module.ptr()) && base::is_closed_package(text_of(module));
}

nb::object stood_for(const nb::object& type) {
  const nb::object own = lookup(type, kStandsFor);
  return own.is_valid() ? own : type;
}

bool is_in_order(const nb::object& function) {
  return is_jitted(function) && attribute_or(function, "_in_order", nb::bool_(false)).is(Py_True);
}

bool is_generated(const nb::object& raw) {
  if (!PyFunction_Check(raw.ptr())) return false;
  const std::string module = text_of(raw.attr("__globals__").attr("get")("__name__", nb::str("")));
  const bool is_wrapper = module == "dataclasses" || module == "reprlib";
  const nb::object function = is_wrapper ? attribute_or(raw, "__wrapped__", raw) : raw;
  return text_of(function.attr("__code__").attr("co_qualname")).starts_with("__create_fn__.<locals>.");
}

nb::object lookup(nb::handle type, const std::string& name) {
  PyObject* const found =
      _PyType_Lookup(reinterpret_cast<PyTypeObject*>(type.ptr()), nb::str(name.c_str()).ptr());
  return found == nullptr ? nb::object() : nb::borrow<nb::object>(found);
}

bool is_member_of_enum(nb::handle object) {
  if (Py_TYPE(Py_TYPE(object.ptr())) == &PyType_Type) return false;
  const nb::object metaclass = imported("enum").attr("EnumType");
  return PyObject_TypeCheck(reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())), as_type(metaclass)) != 0;
}

bool is_enum(nb::handle type) {
  if (Py_IS_TYPE(type.ptr(), &PyType_Type)) return false;
  const nb::object metaclass = imported("enum").attr("EnumType");
  return PyObject_TypeCheck(type.ptr(), as_type(metaclass)) != 0;
}

nb::object Evaluator::class_of_value(const Value& value) const {
  return kind_of_value(value).class_of(*this, value);
}

nb::object Evaluator::class_attribute(const nb::object& type, const std::string& name) {
  const nb::object raw = lookup(type, name);
  guards_.push_back({type, name, raw, true});
  return raw;
}

void Evaluator::need_no_instances(const Builtin& builtin, Call& call) {
  static const std::set<std::string> kShares = {"asarray", "asanyarray", "ascontiguousarray"};
  static const std::set<std::string> kReads = {"array", "sum", "prod", "mean",   "std",    "var",
                                               "min",   "max", "amin", "amax",   "argmin", "argmax",
                                               "any",   "all", "sort", "median", "cumsum", "count_nonzero"};
  const bool makes_array =
      builtin.module == "numpy" && (kShares.contains(builtin.name) || kReads.contains(builtin.name));
  for (Value& value : call.positional) {
    if (!is_instance(value)) continue;
    const nb::object type = PooledValues::decides(value) ? nb::object() : class_of_value(value);
    const bool is_stand_in = type.is_valid() && lookup(type, kStandsFor).is_valid();
    const bool is_buffer = is_stand_in && lookup(type, "__ingot_buffer__").is_valid();
    const bool is_sequence = is_stand_in && !is_buffer && lookup(type, "__reversed__").is_valid();
    // Elements that are copied out of memory are no array that others share.
    const nb::object made = is_buffer ? lookup(type, "elements") : nb::object();
    const bool is_copied = made.is_valid() && is_property(made);
    if (makes_array && is_sequence) value = listed(value, call.node);
    else if (makes_array && is_buffer && !(is_copied && kShares.contains(builtin.name)))
      value = object_attribute(value, "elements", call.node);
    else if (is_buffer)
      unsupported(call.node, "the buffer of a " + type_name(value) + " in `" + call.name + "`",
                  "give it np.asarray(...) of it");
    else
      unsupported(call.node, "`" + call.name + "` of a " + type_name(value),
                  "give it the parts of the instance");
  }
}

bool Evaluator::has_class(const Value& value) const {
  return PooledValues::open(value) != nullptr || class_of_value(value).is_valid();
}

bool Evaluator::inherits(const nb::object& type, const std::string& name, nb::handle from) {
  return class_attribute(type, name).is(lookup(from, name));
}

size_t Evaluator::index_of_attribute(const HeapObject& instance, const std::string& name, nb::handle node) {
  if (!instance.conflict.empty()) PooledValues(*this).ask_for_early(instance.type_of, node);
  for (size_t i = 0; i < instance.keys.size(); ++i)
    if (text_of(instance.keys[i]) == name) return i;
  // Other attributes of the same variable are likely to be of the same class.
  std::vector<std::string> names{name};
  if (node.is_valid() && class_of(node) == "Attribute" && class_of(node.attr("value")) == "Name") {
    for (const nb::handle other :
         imported("ingot._code.scope").attr("attributes")(frame_->node, node.attr("value").attr("id")))
      names.push_back(text_of(other));
  }
  throw NeedsFact{.kind = NeedsFact::Kind::Attributes, .owner = instance.type_of, .names = std::move(names)};
}

void Evaluator::raise_no_attribute(const nb::object& type, const std::string& name) {
  const std::string shown = as_type(type)->tp_name;  // of a class of an extension, with its module
  raise(ExceptionKind::AttributeError, "'" + shown + "' object has no attribute '" + name + "'");
}

Value Evaluator::bind_attribute(const Value& self, const nb::object& type, const nb::object& raw,
                                const std::string& name, nb::handle node) {
  PyObject* const o = raw.ptr();
  if (PyFunction_Check(o)) return Method{share(self), name, raw};
  if (Py_TYPE(o)->tp_descr_get != nullptr && is_jitted(raw))
    return Method{share(self), name, attribute(raw, "__ingot_function__")};
  if (Py_IS_TYPE(o, &PyStaticMethod_Type)) return host_value(attribute(raw, "__func__"), name, node);
  if (Py_IS_TYPE(o, &PyClassMethod_Type))
    return Method{share(Value(Static{type})), name, attribute(raw, "__func__")};
  if (is_property(raw)) {
    const nb::object getter = attribute(raw, "fget");
    if (getter.is_none()) {
      raise(ExceptionKind::AttributeError,
            "property '" + name + "' of '" + name_of(type) + "' object has no getter");
    }
    Call call{.positional = {self}, .keywords = {}, .name = name, .node = node};
    return present(this->call(Static{getter}, call), name, node);
  }
  if (Py_IS_TYPE(o, &PyWrapperDescr_Type)) return Method{share(self), name, raw};
  if (Py_TYPE(o)->tp_descr_get == nullptr) return outside(type, name, raw, name, node);
  if (registry_.find(raw) != nullptr) return Method{share(self), name, raw};
  const std::string kind = text_of(raw.type().attr("__name__"));
  if (kind == "partialmethod" || kind == "_lru_cache_wrapper") {
    unsupported(node, "the attribute `" + name + "`, a method that is a " + kind + ",",
                "write a method that calls the function in it");
  }
  unsupported(node, "the attribute `" + name + "`, a " + kind + ",",
              "use a method, a property or a plain attribute");
}

Value Evaluator::member_attribute(const Static& member, const nb::object& type, const std::string& name,
                                  nb::handle node) {
  const nb::object raw = class_attribute(type, name);
  const nb::object own = nb::steal(PyObject_GenericGetDict(member.object.ptr(), nullptr));
  if (!own.is_valid()) throw nb::python_error();
  const auto of_instance = [&](const std::string& key) {
    const nb::object value = own[key.c_str()];
    guards_.push_back({own, key, value});
    return host_value(value, name, node);
  };
  const nb::object base = imported("enum").attr("Enum");
  for (const char* key : {"value", "name"})
    if (name == key && raw.is_valid() && raw.is(lookup(base, key))) return of_instance("_" + name + "_");
  if (nb::cast<bool>(own.attr("__contains__")(name)) && !(raw.is_valid() && is_data_descriptor(raw)))
    return of_instance(name);
  if (name == "__class__") return Static{type};
  if (raw.is_valid()) return bind_attribute(member, type, raw, name, node);
  raise_no_attribute(type, name);
}

Value Evaluator::object_attribute(const Value& given, const std::string& name, nb::handle node) {
  Value value = given;
  std::optional<Pooled> record = PooledValues(*this).of(given);
  if (record) {
    record = PooledValues(*this).present(*record, ExceptionKind::AttributeError,
                                         "'NoneType' object has no attribute '" + name + "'");
    value = *record;
    if (PooledValues::open(value) != nullptr) return PooledValues(*this).open_attribute(*record, name, node);
  }
  const nb::object type = class_of_value(value);
  if (name == "__class__") return Static{stood_for(type)};
  if (const Member* m = value.as<Member>()) {
    if (const std::optional<Value> found = Members(*this).attribute(*m, name, node)) return *found;
    return bind_attribute(value, type, class_attribute(type, name), name, node);
  }
  if (!inherits(type, "__getattribute__", object_class()) && !value.is<Static>() && !value.is<Tuple>()) {
    unsupported(node,
                "an attribute of a " + name_of(type) + ", whose class has a `__getattribute__` of its own",
                "read attributes as Python does it by itself");
  }
  if (const Static* s = value.as<Static>()) return member_attribute(*s, type, name, node);
  const nb::object raw = class_attribute(type, name);
  if (const Tuple* t = value.as<Tuple>()) {
    if (raw.is_valid() && text_of(raw.type().attr("__name__")) == "_tuplegetter") {
      const nb::object parts = attribute(raw, "__reduce__")();
      return present(t->members.at(nb::cast<size_t>(parts[1][0])), name, node);
    }
    if (raw.is_valid() && Py_IS_TYPE(raw.ptr(), &PyMethodDescr_Type)) return Method{share(value), name};
    if (raw.is_valid()) return bind_attribute(value, type, raw, name, node);
    raise_no_attribute(type, name);
  }
  if (raw.is_valid() && is_data_descriptor(raw) && !is_slot(raw))
    return bind_attribute(value, type, raw, name, node);
  const bool is_own_slot = raw.is_valid() && is_slot(raw);
  if (is_own_slot || as_type(type)->tp_dictoffset != 0) {
    const HeapObject& holder =
        record ? PooledValues(*this).pool_of(*record) : state_.heap.at(value.as<Object>()->object);
    const size_t index = index_of_attribute(holder, name, node);
    Value found = record ? PooledValues(*this).attribute(*record, index) : holder.values[index];
    const std::string missing = "'" + name_of(type) + "' object has no attribute '" + name + "'";
    if (const Pooled* r = found.as<Pooled>()) {
      const Pooled there = PooledValues(*this).bound(*r, ExceptionKind::AttributeError, missing);
      return there.pool == Pooled::kNoPool ? Value(Static{nb::none()}) : Value(there);
    }
    if (Maybe* m = found.as<Maybe>(); m != nullptr && m->may_be_unbound) {
      if (raw.is_valid() && !is_own_slot) {
        unsupported(node, "the attribute `" + name + "`, which the instance has on some paths only",
                    "set it before the branch");
      }
      const NodeId tag = builder_->make(ir::Op::tag, {m->node});
      check(builder_->make(ir::Op::not_equal, {tag, builder_->constant<int8_t>(2)}),
            ExceptionKind::AttributeError, missing);
      m->may_be_unbound = false;
      if (!m->may_be_none) return present(found, name, node);
    }
    if (!found.is<Unbound>()) return found;
  }
  if (raw.is_valid() && !is_own_slot) return bind_attribute(value, type, raw, name, node);
  if (class_attribute(type, "__getattr__").is_valid()) {
    unsupported(node, "the attribute `" + name + "`, which the `__getattr__` of " + name_of(type) + " makes",
                "call the function that makes it");
  }
  raise_no_attribute(type, name);
}

Value Evaluator::type_attribute(const nb::object& type, const std::string& name, nb::handle node) {
  const nb::object raw = class_attribute(type, name);
  if (PyFunction_Check(raw.ptr())) return Static{raw};
  if (is_property(raw) || is_slot(raw) || is_data_descriptor(raw)) {
    unsupported(node,
                "the attribute `" + name + "` of a class, a " + text_of(raw.type().attr("__name__")) + ",",
                "ask an instance for it");
  }
  return bind_attribute(Static{type}, type, raw, name, node);
}

std::optional<Value> Evaluator::super_attribute(nb::handle e) {
  const nb::object inner = attribute(e, "value");
  if (class_of(inner) != "Call" || class_of(inner.attr("func")) != "Name" ||
      text_of(inner.attr("func").attr("id")) != "super" || local("super") != nullptr)
    return std::nullopt;
  const Value callee = eval(inner.attr("func"));
  const nb::object builtin = imported("builtins").attr("super");
  if (!callee.is<Static>() || !callee.as<Static>()->object.is(builtin)) return std::nullopt;
  const nb::list arguments = inner.attr("args");
  nb::object after;
  Value self;
  if (nb::len(arguments) == 2) {
    after = require_static(eval(arguments[0]), "the class of `super`", inner);
    self = eval(arguments[1]);
  } else {
    const auto cell = frame_->cells.find("__class__");
    const nb::list parameters = frame_->node.attr("args").attr("args");
    if (nb::len(arguments) != 0 || cell == frame_->cells.end() || nb::len(parameters) == 0) {
      unsupported(inner, "`" + as_written(inner) + "` outside of a method, or with such arguments",
                  "call it in a method, without arguments");
    }
    after = attribute(cell->second, "cell_contents");
    guards_.push_back({cell->second, "", after});
    self = *local(text_of(parameters[0].attr("arg")));
  }
  const Static* known = self.as<Static>();
  const bool is_class = known != nullptr && PyType_Check(known->object.ptr()) != 0;
  const nb::object type = is_class ? known->object : class_of_value(self);
  if (!type.is_valid()) unsupported(inner, "`super` of a " + type_name(self), "call it in a method");
  const nb::object order = attribute(type, "__mro__");
  guards_.push_back({type, "__mro__", order, true});
  const std::string name = text_of(e.attr("attr"));
  bool passed = false;
  for (const nb::handle base : order) {
    if (passed) {
      const nb::object own = attribute(base, "__dict__");
      guards_.push_back({nb::borrow<nb::object>(base), name, lookup(base, name), true});
      if (nb::cast<bool>(own.attr("__contains__")(name))) {
        if (is_class && PyFunction_Check(nb::object(own[name.c_str()]).ptr()))
          return Static{own[name.c_str()]};
        return bind_attribute(self, type, own[name.c_str()], name, e);
      }
    }
    passed = passed || base.is(after);
  }
  raise(ExceptionKind::AttributeError, "'super' object has no attribute '" + name + "'");
}

void Evaluator::set_plain_attribute(const Value& target, const std::string& name, Value value,
                                    nb::handle node) {
  const nb::object type = class_of_value(target);
  const nb::object raw = class_attribute(type, name);
  if (name == "__class__" || name == "__dict__")
    unsupported(node, "an assignment to `" + name + "`", "make an instance of the other class");
  if (raw.is_valid() && is_property(raw)) {
    const nb::object setter = attribute(raw, "fset");
    if (setter.is_none()) {
      raise(ExceptionKind::AttributeError,
            "property '" + name + "' of '" + name_of(type) + "' object has no setter");
    }
    Call call{.positional = {target, std::move(value)}, .keywords = {}, .name = name, .node = node};
    this->call(Static{setter}, call);
    return;
  }
  if (raw.is_valid() && is_data_descriptor(raw) && !is_slot(raw)) {
    unsupported(
        node,
        "an assignment to the attribute `" + name + "`, a " + text_of(raw.type().attr("__name__")) + ",",
        "use a property or a plain attribute");
  }
  const bool is_own_slot = raw.is_valid() && is_slot(raw);
  if (!is_own_slot && as_type(type)->tp_dictoffset == 0) {
    if (raw.is_valid()) {
      raise(ExceptionKind::AttributeError,
            "'" + name_of(type) + "' object attribute '" + name + "' is read-only");
    }
    raise_no_attribute(type, name);
  }
  if (const std::optional<Pooled> record = PooledValues(*this).of(target)) {
    const Pooled there = PooledValues(*this).present(*record, ExceptionKind::AttributeError,
                                                     "'NoneType' object has no attribute '" + name + "'");
    const size_t index = index_of_attribute(PooledValues(*this).pool_of(there), name, node);
    return PooledValues(*this).set_attribute(there, index, stored(std::move(value)), node);
  }
  const Object object = *target.as<Object>();
  const size_t index = index_of_attribute(state_.heap.at(object.object), name, node);
  value = stored(std::move(value));
  if (const Maybe* m = value.as<Maybe>(); m != nullptr && m->may_be_none) {
    unsupported(node, "an attribute that is None on some paths", "use NaN, or another attribute as a flag");
  }
  if (value.is<Maybe>() || value.is<Conflict>()) value = present(value, name, node);
  const Value before = state_.heap.at(object.object).values[index];
  if (same(before, value) && !value.is<Unbound>() && !value.is<Static>()) return;
  need_own(state_.heap.at(object.object), node);
  write_back(Reference{object.object}, index, nb::str(name.c_str()), value, node);
  state_.heap.at(object.object).values[index] = std::move(value);
}

void Evaluator::set_attribute(const Value& target, const std::string& name, Value value, nb::handle node) {
  if (const Pooled* r = PooledValues::open(target)) {
    const Pooled there = PooledValues(*this).present(*r, ExceptionKind::AttributeError,
                                                     "'NoneType' object has no attribute '" + name + "'");
    const Value held = PooledValues(*this).held(stored(std::move(value)), node);
    PooledValues(*this).on_each(there, [&](const Value& known) {
      set_attribute(known, name, held, node);
      return Value(Static{nb::none()});
    });
    return;
  }
  const nb::object type = class_of_value(target);
  if (!is_instance(target)) {
    if (kind_of_value(target).set_attribute(*this, target, name, value, node)) return;
    unsupported(node, "an assignment to an attribute of a " + type_name(target),
                "assign to a name or an element");
  }
  const Object* own = target.as<Object>();
  if (own != nullptr && !frame_->of_library && lookup(type, kTakes).is_valid() &&
      !lookup(type, name).is_valid() &&
      std::ranges::none_of(state_.heap.at(own->object).keys,
                           [&](const nb::object& key) { return text_of(key) == name; }))
    unsupported(node, "an attribute `" + name + "` of a " + type_name(target), "keep it in a variable");
  if (inherits(type, "__setattr__", object_class()))
    return set_plain_attribute(target, name, std::move(value), node);
  if (refuses_assignment(type, "__setattr__", name)) {
    raise_error(make_error(imported("dataclasses").attr("FrozenInstanceError"),
                           {Static{nb::str(("cannot assign to field '" + name + "'").c_str())}}));
  }
  if (is_generated(class_attribute(type, "__setattr__")))
    return set_plain_attribute(target, name, std::move(value), node);
  unsupported(
      node,
      "an assignment to an attribute of a " + name_of(type) + ", whose class has a `__setattr__` of its own",
      "set attributes as Python does it by itself");
}

bool Evaluator::refuses_assignment(const nb::object& type, const char* method, const std::string& name) {
  if (!is_generated(class_attribute(type, method))) return false;
  const nb::object definer = definer_of(type, method);
  if (definer.is(type)) return true;
  return nb::cast<bool>(attribute(definer, "__dataclass_fields__").attr("__contains__")(name));
}

void Evaluator::delete_attribute(const Value& target, const std::string& name, nb::handle node) {
  const Object* given = target.as<Object>();
  if (given == nullptr || !inherits(class_of_value(target), "__delattr__", object_class()))
    unsupported(node, "`del` of an attribute of a " + type_name(target), "assign to it");
  const Object object = *given;
  if (PooledValues(*this).of(target))
    unsupported(node, "`del` of an attribute of a " + type_name(target), "assign to it");
  const nb::object type = class_of_value(target);
  const nb::object raw = class_attribute(type, name);
  if (raw.is_valid() && is_data_descriptor(raw) && !is_slot(raw))
    unsupported(node, "`del` of the attribute `" + name + "`", "assign to it");
  const size_t index = index_of_attribute(state_.heap.at(object.object), name, node);
  const Value before = state_.heap.at(object.object).values[index];
  if (before.is<Maybe>())
    unsupported(node, "`del` of an attribute that is there on some paths", "assign to it");
  if (before.is<Unbound>()) raise(ExceptionKind::AttributeError, name);
  need_own(state_.heap.at(object.object), node);
  replay(Reference{object.object}, "__delattr__", {Static{nb::str(name.c_str())}}, node);
  state_.heap.at(object.object).values[index] = Unbound{};
}

Value Evaluator::make_instance(const nb::object& type, Call& call) {
  const nb::object metaclass = nb::borrow<nb::object>(type.type());
  if (is_enum(type)) return enum_member(type, call);
  if (!lookup(metaclass, "__call__")
           .is(lookup(nb::borrow(reinterpret_cast<PyObject*>(&PyType_Type)), "__call__"))) {
    unsupported(call.node, "a call of `" + name_of(type) + "`, whose metaclass has a `__call__` of its own",
                "make the instance outside");
  }
  if (PyType_IsSubtype(as_type(type), &PyTuple_Type) != 0) return make_namedtuple(type, call);
  const Object made = begin_instance(type, call.node);
  const nb::object init = class_attribute(type, "__init__");
  if (init.is(lookup(object_class(), "__init__"))) {
    if (!call.positional.empty() || !call.keywords.empty())
      raise(ExceptionKind::TypeError, name_of(type) + "() takes no arguments");
    return PooledValues(*this).made(made, call.node);
  }
  if (!PyFunction_Check(init.ptr()) && !is_jitted(init))
    unsupported(call.node, "the `__init__` of `" + name_of(type) + "`", "write it in Python");
  call.positional.insert(call.positional.begin(), Value(made));
  const Value none =
      is_generated(init) ? run_generated_init(made, init, call) : this->call(Static{init}, call);
  if (!is_none(none))
    raise(ExceptionKind::TypeError, "__init__() should return None, not '" + type_name(none) + "'");
  return PooledValues(*this).made(made, call.node);
}

Object Evaluator::begin_instance(const nb::object& type, nb::handle node) {
  for (const nb::handle base : type.attr("__mro__")) {
    if (!base.is(object_class()) &&
        (reinterpret_cast<PyTypeObject*>(base.ptr())->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0) {
      refuse_call(type, node);
    }
  }
  if ((as_type(type)->tp_flags & Py_TPFLAGS_IS_ABSTRACT) != 0)
    unsupported(node, "an instance of the abstract class `" + name_of(type) + "`", "define its methods");
  guards_.push_back({type, "__mro__", attribute(type, "__mro__"), true});
  if (!inherits(type, "__new__", object_class())) {
    unsupported(node, "an instance of `" + name_of(type) + "`, whose class has a `__new__` of its own",
                "write an `__init__`");
  }
  if (class_attribute(type, "__del__").is_valid()) {
    unsupported(node, "an instance of `" + name_of(type) + "`, whose class has a `__del__`",
                "make the instance outside");
  }
  HeapObject instance{.type = HeapObject::Type::Object, .values = {}, .keys = {}};
  instance.type_of = type;
  if (request_.attributes.contains(type))
    for (const nb::handle name : request_.attributes[type])
      instance.keys.push_back(nb::borrow<nb::object>(name));
  instance.values.resize(instance.keys.size());
  const uint32_t id = next_object_++;
  state_.heap.emplace(id, std::move(instance));
  if (!pools_.by_class.contains(type.ptr())) pools_.makings.classes.emplace(id, type);
  const Object made{id};
  PooledValues(*this).begun(made, node);
  return made;
}

Value Evaluator::call_wrapper(const nb::object& wrapper, Call& call) {
  const bool plain = !call.positional.empty() && is_instance(call.positional[0]) && call.keywords.empty();
  if (plain && wrapper.is(lookup(object_class(), "__init__")) && call.positional.size() == 1)
    return Static{nb::none()};
  if (plain && wrapper.is(lookup(object_class(), "__setattr__")) && call.positional.size() == 3) {
    const nb::object name = require_static(call.positional[1], "the name of an attribute", call.node);
    if (PyUnicode_CheckExact(name.ptr())) {
      set_plain_attribute(call.positional[0], text_of(name), call.positional[2], call.node);
      return Static{nb::none()};
    }
  }
  unsupported(call.node, "a call of `" + text_of(wrapper.attr("__qualname__")) + "` with these arguments",
              "write the method in Python");
}

Value Evaluator::run_generated_init(const Object& made, const nb::object& init, Call& call) {
  const nb::object type = class_of_value(made);
  const nb::object definer = definer_of(type, "__init__");
  const nb::object fields = class_attribute(definer, "__dataclass_fields__");
  const nb::module_ dataclasses = imported("dataclasses");
  const nb::object missing = dataclasses.attr("MISSING");
  for (Value& value : call.positional) value = stored(std::move(value));
  for (auto& [name, value] : call.keywords) value = stored(std::move(value));
  std::map<std::string, Value> given = bind_arguments(init, call.positional, call.keywords, call.node);
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
      Call make{.positional = {}, .keywords = {}, .name = name, .node = call.node};
      value = this->call(host_value(factory, name, call.node), make);
    }
    if (is_kind(field, "_FIELD_INITVAR")) {
      if (value) passed.push_back(*value);
      continue;
    }
    if (!value && lookup(type, name).is_valid() && is_slot(lookup(type, name)) &&
        !attribute(field, "default").is(missing))
      value = host_value(attribute(field, "default"), name, call.node);
    if (!value) continue;
    if (is_frozen) set_plain_attribute(made, name, *value, call.node);
    else set_attribute(made, name, *value, call.node);
  }
  const nb::object code_names = attribute(attribute(init, "__code__"), "co_names");
  if (nb::cast<bool>(code_names.attr("__contains__")("__post_init__"))) {
    Call after{.positional = passed, .keywords = {}, .name = "__post_init__", .node = call.node};
    const nb::object raw = class_attribute(type, "__post_init__");
    if (!raw.is_valid() || !PyFunction_Check(raw.ptr()))
      unsupported(call.node, "the `__post_init__` of `" + name_of(type) + "`", "write it as a method");
    this->call(Static{raw}, after);
  }
  return Static{nb::none()};
}

bool is_of_namedtuple(const nb::object& function) {
  static const std::set<PyObject*> kCodes = [] {
    const nb::object type = imported("collections").attr("namedtuple")("made", "field");
    std::set<PyObject*> codes;
    for (const char* name : {"__repr__", "__getnewargs__", "_asdict", "_replace", "_make"}) {
      const nb::object method = attribute(type, name);
      codes.insert(attribute(attribute_or(method, "__func__", method), "__code__").release().ptr());
    }
    return codes;
  }();
  return PyFunction_Check(function.ptr()) && kCodes.contains(PyFunction_GET_CODE(function.ptr()));
}

namespace {

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

}  // namespace

Value Evaluator::make_namedtuple(const nb::object& type, Call& call) {
  const nb::object raw = class_attribute(type, "__new__");
  const nb::object function = raw.is_valid() ? attribute_or(raw, "__func__", raw) : raw;
  if (!makes_namedtuple(function, class_attribute(type, "_fields")) ||
      !inherits(type, "__init__", object_class())) {
    unsupported(call.node,
                "a call of `" + name_of(type) + "`, whose class has a `__new__` or `__init__` of its own",
                "use a namedtuple, or a class that derives from none");
  }
  const nb::object tuple = nb::borrow<nb::object>(reinterpret_cast<PyObject*>(&PyTuple_Type));
  for (const char* method : {"__iter__", "__getitem__", "__len__", "__contains__", "__getattribute__"}) {
    if (!inherits(type, method, tuple)) {
      unsupported(call.node, "a namedtuple with a `" + std::string(method) + "` of its own",
                  "use another method");
    }
  }
  std::vector<Value> given = call.positional;
  given.insert(given.begin(), Value(Static{type}));
  for (Value& value : given) value = stored(std::move(value));
  for (auto& [name, value] : call.keywords) value = stored(std::move(value));
  std::map<std::string, Value> bound = bind_arguments(function, given, call.keywords, call.node);
  Tuple made{{}, type};
  for (const nb::handle field : class_attribute(type, "_fields"))
    made.members.push_back(bound.at(text_of(field)));
  return made;
}

Value Evaluator::namedtuple_method(const nb::object& function, Call& call) {
  const std::string name = text_of(function.attr("__name__"));
  const Value self = call.positional.at(0);
  if (name == "_make" && self.is<Static>() && call.positional.size() == 2 && call.keywords.empty()) {
    const nb::object type = self.as<Static>()->object;
    Tuple made{elements_of(call.positional[1], call.node), type};
    const size_t count = nb::len(class_attribute(type, "_fields"));
    if (made.members.size() != count) {
      raise(ExceptionKind::TypeError,
            "Expected " + std::to_string(count) + " arguments, got " + std::to_string(made.members.size()));
    }
    return made;
  }
  const Tuple* t = self.as<Tuple>();
  if (t == nullptr || call.positional.size() != 1) {
    unsupported(call.node, "the method `" + name + "` of a namedtuple with these arguments",
                "use its fields");
  }
  const nb::object fields = class_attribute(t->type, "_fields");
  if (name == "_asdict" && call.keywords.empty()) {
    std::vector<nb::object> keys;
    for (const nb::handle field : fields) keys.push_back(nb::borrow<nb::object>(field));
    return new_dict(std::move(keys), t->members);
  }
  if (name != "_replace")
    unsupported(call.node, "the method `" + name + "` of a namedtuple", "use its fields");
  Tuple made = *t;
  nb::list unknown;
  for (auto& [key, value] : call.keywords) {
    size_t index = 0;
    while (index < made.members.size() && text_of(fields[index]) != key) ++index;
    if (index < made.members.size()) made.members[index] = stored(value);
    else unknown.append(key);
  }
  if (nb::len(unknown) > 0) {
    raise(ExceptionKind::ValueError,
          base::escape_message("Got unexpected field names: " + text_of(nb::repr(unknown))));
  }
  return made;
}

Value Evaluator::enum_member(const nb::object& type, Call& call) {
  const nb::object members = class_attribute(type, "_value2member_map_");
  const bool is_found = call.positional.size() == 1 && call.keywords.empty() && members.is_valid();
  if (!is_found) {
    unsupported(call.node, "a call of the Enum `" + name_of(type) + "` with these arguments",
                "name the member");
  }
  const Value given = call.positional[0];
  if (const Member* m = given.as<Member>(); m != nullptr && m->type.is(type)) return given;
  const nb::object base = imported("enum").attr("Enum");
  const nb::object flag = imported("enum").attr("Flag");
  const bool is_flag = PyType_IsSubtype(as_type(type), as_type(flag)) != 0;
  if (given.is<Scalar>() && !is_flag && class_attribute(type, "_missing_").is(lookup(base, "_missing_")))
    return Members(*this).by_value(type, *given.as<Scalar>(), call.node);
  const nb::object value = require_static(given, "the value of a member", call.node);
  if (is_member_of_enum(value) && nb::borrow(value.type()).is(type)) return Static{value};
  const bool is_plain = PyLong_CheckExact(value.ptr()) || PyFloat_CheckExact(value.ptr()) ||
                        PyUnicode_CheckExact(value.ptr()) || PyBool_Check(value.ptr());
  if (is_plain && nb::cast<bool>(members.attr("__contains__")(value))) return Static{members[value]};
  unsupported(call.node, "a member of `" + name_of(type) + "` by a value that is no number or string",
              "name the member");
}

Value Evaluator::plain_number(const Value& value) {
  if (const Member* m = value.as<Member>()) return Members(*this).number(*m).value_or(value);
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
