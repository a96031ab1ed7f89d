#include "frontend/arrays/known_sizes.h"
#include "frontend/arrays/operators.h"
#include "frontend/arrays/scalars.h"
#include "frontend/calls/c_functions.h"
#include "frontend/expressions/expressions.h"
#include "frontend/kinds/fields.h"
#include "frontend/kinds/lists.h"
#include "frontend/kinds/members.h"
#include "frontend/kinds/numbers.h"
#include "frontend/kinds/objects.h"
#include "frontend/kinds/sequences.h"
#include "frontend/kinds/special_methods.h"
#include "frontend/kinds/strings.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

using base::ExceptionKind;

namespace {

bool is_function_or_jitted(const nb::object& object) {
  return PyFunction_Check(object.ptr()) || is_jitted(object);
}

/// Whether compiled code may read an attribute of a function: names, defaults, what it wraps, users' own.
bool is_readable(const nb::object& object, const std::string& name) {
  static const std::set<std::string> kKnown = {"__name__",    "__qualname__", "__module__",    "__doc__",
                                               "__wrapped__", "__defaults__", "__kwdefaults__"};
  if (!is_function_or_jitted(object)) return false;
  if (kKnown.contains(name)) return attribute_or(object, name.c_str(), nb::object()).is_valid();
  const nb::object own = attribute_or(is_jitted(object) ? uncounted(object) : object, "__dict__", nb::dict());
  if (name.starts_with("__") || !PyDict_Check(own.ptr())) return false;
  const auto* const held = PyDict_GetItemString(own.ptr(), name.c_str());
  return held != nullptr && held == attribute_or(object, name.c_str(), nb::object()).ptr();
}

bool is_module(const nb::object& object) { return PyModule_Check(object.ptr()); }
bool is_class(const nb::object& object) { return PyType_Check(object.ptr()); }
bool is_string(const nb::object& object) {
  return PyUnicode_Check(object.ptr()) || PyBytes_Check(object.ptr());
}
bool is_dtype(const nb::object& object) { return nb::isinstance(object, imported("numpy").attr("dtype")); }

/// Whether the attributes of a module or class do not change: of Python's and NumPy's own.
bool is_trusted(const nb::object& object) {
  static const std::set<std::string> kOwn = {"math",      "builtins", "itertools",
                                             "functools", "operator", "_operator"};
  const std::string module = text_of(object.attr(is_module(object) ? "__name__" : "__module__"));
  const std::string package = module.substr(0, module.find('.'));
  const bool is_users = !is_module(object) &&
                        (reinterpret_cast<PyTypeObject*>(object.ptr())->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0;
  return package == "numpy" || package == "ingot" ||
         (kOwn.contains(module) && !(is_users && module == "builtins"));
}

/// A value known when compiling: an immutable object of Python's.
class KnownKind final : public OperandKind {
 public:
  /// Whether type and value are the same: 1, 1.0 and True differ, 0.0 and -0.0 differ.
  bool is_same(const Value& a, const Value& b) const override;
  Answer join(Tracer& t, const Value& a, const Value& b, const std::string& what) const override {
    if (Answer member = Members::join(a, b)) return member;
    return joined_numbers(t, a, b, what);
  }
  Value key(const Tracer&, const Value& value) const override {
    const std::optional<Kind> kind = number_kind(value);
    return kind ? Scalar{*kind} : value;
  }
  Answer form(Tracer& t, const Value& value) const override { return key(t, value); }
  nb::object known(const Value& value) const override { return value.as<Static>()->object; }
  bool is_function(const Value& value) const override {
    return PyCallable_Check(value.as<Static>()->object.ptr()) != 0;
  }
  std::optional<Description> describe(Tracer& t, const Value& value, Outward&) const override {
    const nb::object& object = value.as<Static>()->object;
    const int leaf = PyUnicode_Check(object.ptr()) ? -1 : Fields(t).leaf_of(object);
    return Description{described::Static{object, leaf}};
  }

  std::string type_name(const Tracer&, const Value& value) const override {
    return text_of(value.as<Static>()->object.type().attr("__name__"));
  }
  nb::object class_of(const Tracer&, const Value& value) const override {
    const nb::object& object = value.as<Static>()->object;
    return is_member_of_enum(object) ? nb::borrow<nb::object>(object.type()) : nb::object();
  }
  std::string words(const Tracer& t, const Value& value) const override {
    PyObject* const o = value.as<Static>()->object.ptr();
    if (PyCallable_Check(o) != 0 || PyModule_Check(o)) return {};
    return is_none(value) ? "None" : ValueKind::words(t, value);
  }
  nb::object type_of(Tracer&, const Value& value, nb::handle) const override {
    return nb::borrow<nb::object>(value.as<Static>()->object.type());
  }
  nb::object stand_in(const Tracer&, const Value& value) const override { return value.as<Static>()->object; }
  bool has_methods(const Tracer&, const Value&) const override { return true; }
  Answer attribute(Tracer& t, const Value& value, const std::string& name, nb::handle node) const override;
  Answer item(Tracer& t, const Value& value, const Value& index, nb::handle node) const override;
  Answer length(Tracer&, const Value& value, nb::handle) const override {
    const nb::object& object = value.as<Static>()->object;
    return is_dtype(object) ? Answer(Static{nb::int_(nb::len(object))}) : std::nullopt;
  }
  Answer method(Tracer& t, const Value& value, const std::string& name, Call& call) const override;
  Answer text(Tracer& t, const Value& value, const std::string& form, nb::handle node) const override;
  IndexPart index_part(const Value& value) const override;
  Answer unary(Tracer& t, Operator op, const Value& value, nb::handle) const override {
    return by_python(
        t, [&] { return Static{imported("operator").attr(info(op).host)(value.as<Static>()->object)}; });
  }
  Answer binary(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node) const override;
  Answer compare(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node) const override {
    if (known_of(a).is_valid() && known_of(b).is_valid()) return frontend::binary(t, op, a, b, node);
    return OperandKind::compare(t, op, a, b, node);
  }
  std::optional<bool> known_truth(Tracer&, const Value& value) const override {
    const int truth = PyObject_IsTrue(value.as<Static>()->object.ptr());
    if (truth < 0) throw nb::python_error();
    return truth != 0;
  }
  std::optional<Elements> elements(Tracer& t, const Value& value, nb::handle node) const override;
  Answer iterated(Tracer& t, const Value& value, nb::handle node) const override {
    return Strings(t).opened(value, true, node);
  }
  Answer reversed(Tracer& t, const Value& value, nb::handle node) const override {
    const Answer characters = iterated(t, value, node);
    return characters ? reversed_slice(t, *characters, node) : std::nullopt;
  }
  Answer rest(Tracer&, const Value& value, const Value&, Known known, nb::handle) const override {
    PyObject* const o = value.as<Static>()->object.ptr();
    if (!known || PySequence_Check(o) == 0) return std::nullopt;
    const nb::object left = nb::steal(PySequence_GetSlice(o, *known, PY_SSIZE_T_MAX));
    if (left.is_valid()) return Static{left};
    nb::python_error error;  // a class has no slices
    rethrow_lack_of_memory(error);
    return std::nullopt;
  }

  std::optional<bool> identical(Tracer& t, const Value& a, const Value& b, nb::handle node) const override {
    const nb::object& x = a.as<Static>()->object;
    const nb::object& y = b.as<Static>()->object;
    if (!x.is(y) && Fields::may_be_same(x, y))
      unsupported(t, node, "`is` between dtypes with equal fields", "compare them with ==");
    return x.is(y);
  }
  Answer contains(Tracer& t, const Value& value, const Value& wanted, nb::handle node) const override;

 private:
  [[noreturn]] static void raise_no_attribute(Tracer& t, const Value& value, const std::string& name);
  static Value attribute_of_holder(Tracer& t, const nb::object& holder, const std::string& name,
                                   const nb::object& member, nb::handle node);
};

bool KnownKind::is_same(const Value& a, const Value& b) const {
  const nb::object& x = a.as<Static>()->object;
  const nb::object& y = b.as<Static>()->object;
  if (x.is(y)) return true;
  if (!x.type().is(y.type())) return false;
  if (nb::isinstance<nb::float_>(x) || PyComplex_CheckExact(x.ptr()))
    return text_of(nb::repr(x)) == text_of(nb::repr(y));
  const bool is_compared = PyLong_CheckExact(x.ptr()) || PyBool_Check(x.ptr()) || PyUnicode_Check(x.ptr()) ||
                           PyBytes_CheckExact(x.ptr());
  return is_compared && x.equal(y);
}

std::optional<Value> KnownKind::method(Tracer& t, const Value& value, const std::string& name,
                                       Call& call) const {
  const nb::object& self = value.as<Static>()->object;
  if (is_vectorized(self)) {
    unsupported(t, call.node, "the method `" + name + "` of a ufunc of `ingot.vectorize`",
                "call it outside of the function, or write a loop");
  }
  if (number_kind(value)) return call_number_method(t, value, name, call);
  const auto host_of = [&](const Value& given) -> nb::object {
    if (const List* list = given.as<List>()) {
      nb::list elements;
      for (const Value& member : contents(t, list->object, call.node).values)
        elements.append(require_static(t, member, "an argument of a method of a text", call.node));
      return nb::object(elements);
    }
    return require_static(t, given, "an argument of a method of a text", call.node);
  };
  nb::list all;
  for (const Value& each : call.positional) all.append(host_of(each));
  nb::dict named;
  for (const auto& [key, each] : call.keywords) named[key.c_str()] = host_of(each);
  if (PyUnicode_Check(self.ptr()) || PyBytes_Check(self.ptr())) {
    if (const std::string large = too_large_by_method(self, name, all); !large.empty())
      unsupported(t, call.node, large, "use a smaller one, or make it an argument");
  }
  return by_python(
      t, [&] { return static_value(t, frontend::attribute(self, name.c_str())(*nb::tuple(all), **named)); });
}

std::optional<Value> KnownKind::text(Tracer& t, const Value& value, const std::string& form,
                                     nb::handle node) const {
  if (const nb::object type = class_of(t, value); type.is_valid() && has_text(t, type)) return std::nullopt;
  if (const std::string large = too_large_by_format(nb::str(form.c_str())); !large.empty())
    unsupported(t, node, large, "use a smaller width");
  return by_python(t,
                   [&] { return Static{nb::str(form.c_str()).attr("format")(value.as<Static>()->object)}; });
}

IndexPart KnownKind::index_part(const Value& value) const {
  if (is_none(value)) return IndexPart::NewAxis;
  if (value.as<Static>()->object.is(nb::ellipsis())) return IndexPart::Ellipsis;
  return is_object_of_numpy(value) ? IndexPart::Other : index_part_of_number(number_kind(value));
}

/// Python computes an operator of two known values.
std::optional<Value> KnownKind::binary(Tracer& t, Operator op, const Value& a, const Value& b,
                                       nb::handle node) const {
  const nb::object x = known_of(a);
  const nb::object y = known_of(b);
  // Powers of floats are computed by Ingot's own function, even if the operands are known.
  const auto is_inexact = [&](const Value& value) {
    const std::optional<Kind> kind = kind_of(value);
    return kind && (base::is_float(kind->dtype()) || base::is_complex(kind->dtype()));
  };
  if (!x.is_valid() || !y.is_valid() || (op == Operator::Pow && (is_inexact(a) || is_inexact(b))))
    return OperandKind::binary(t, op, a, b, node);
  const std::string large = too_large_by(op, x, y);
  if (large.starts_with("an int")) unsupported(t, node, "an int of more than a million bits", "use floats");
  if (!large.empty()) unsupported(t, node, large, "use arrays, or an argument that is as large");
  return by_python(t, [&] { return Static{imported("operator").attr(info(op).host)(x, y)}; });
}

/// An attribute that a module or class does not have.
void KnownKind::raise_no_attribute(Tracer& t, const Value& value, const std::string& name) {
  const nb::object& object = value.as<Static>()->object;
  if (is_class(object)) {
    t.guards.push_back({object, name, {}});
    by_python(t, [&] { object.attr(name.c_str()).type(); });
  }
  if (is_module(object)) {
    const nb::object names = frontend::attribute(object, "__dict__");
    t.guards.push_back({names, name, {}});
    t.guards.push_back({names, "__getattr__", {}});
  }
  raise(t, ExceptionKind::AttributeError,
        is_module(object)
            ? "module '" + text_of(object.attr("__name__")) + "' has no attribute '" + name + "'"
            : "'" + frontend::type_name(t, value) + "' object has no attribute '" + name + "'");
}

/// An attribute of a module or class, which it has.
Value KnownKind::attribute_of_holder(Tracer& t, const nb::object& holder, const std::string& name,
                                     const nb::object& member, nb::handle node) {
  const nb::object names = is_module(holder) ? frontend::attribute(holder, "__dict__") : nb::object();
  if (is_trusted(holder)) {
    const bool is_held = is_module(holder) && PyDict_GetItemString(names.ptr(), name.c_str()) == member.ptr();
    if (is_held && !t.frame->of_library) t.guards.push_back({names, name, member});
    return host_value(t, member, name, node);
  }
  const bool is_plain_class =
      !is_module(holder) && nb::borrow(reinterpret_cast<PyObject*>(&PyType_Type)).is(holder.type());
  if (!is_module(holder) && lookup(holder, name).is_valid() &&
      (is_plain_class || !lookup(holder.type(), name).is_valid()))
    return type_attribute(t, holder, name, node);
  return outside(t, is_module(holder) ? names : holder, name, member, name, node);
}

std::optional<Value> KnownKind::attribute(Tracer& t, const Value& value, const std::string& name,
                                          nb::handle node) const {
  const nb::object& object = value.as<Static>()->object;
  if (is_module(object))
    if (std::optional<Value> made = made_by_module(t, object, name, node)) return *made;
  // ctypes adds it to the library's attributes at the first use.
  if (const nb::object function = function_of_library(object, name); function.is_valid())
    return outside(t, frontend::attribute(object, "__dict__"), name, function, name, node);
  if (is_readable(object, name))
    return outside(t, object, name, frontend::attribute(object, name.c_str()), name, node);
  const bool is_number = kind_of(value).has_value();
  if (!is_module(object) && !is_class(object) && !is_number && !is_of_numpy(object)) return std::nullopt;
  const nb::object of_type = attribute_or(object.type(), name.c_str(), nb::object());
  if (of_type.is_valid() && Py_IS_TYPE(of_type.ptr(), &PyMethodDescr_Type) &&
      t.registry.find(of_type) != nullptr)
    return Method{share(value), name, of_type};
  const nb::object member = attribute_or(object, name.c_str(), nb::object());
  if (!member.is_valid()) raise_no_attribute(t, value, name);
  if (is_module(object) || is_class(object)) return attribute_of_holder(t, object, name, member, node);
  if (is_number && PyCallable_Check(member.ptr())) return Method{share(value), name};
  return host_value(t, member, name, node);
}

std::optional<Value> KnownKind::item(Tracer& t, const Value& value, const Value& index,
                                     nb::handle node) const {
  const nb::object& object = value.as<Static>()->object;
  if (is_enum(object)) {
    const nb::object members = class_attribute(t, object, "_member_map_");
    const nb::object name = require_static(t, index, "the name of a member", node);
    if (PyUnicode_CheckExact(name.ptr()) && nb::cast<bool>(members.attr("__contains__")(name)))
      return Static{members[name]};
    raise_key_error(t, Static{name});
  }
  if (const std::optional<Kind> kind = kind_of(value); kind && !kind->is_python())
    return item_of_numpy_number(t, value, *kind, index, node);
  const bool is_text = is_string(object);
  if (is_text && (index.is<Scalar>() || index.is<Slice>())) {
    if (const std::optional<Value> characters = Strings(t).opened(value, false, node))
      return Strings(t).item(*characters, index, node);
  }
  if (is_text && index.is<Scalar>() && base::is_int(index.as<Scalar>()->kind.dtype()))
    require_static(t, index, "an index into a text", node);
  if (!index.is<Static>() || !(is_text || is_dtype(object))) return std::nullopt;
  return by_python(t, [&] { return Static{object[index.as<Static>()->object]}; });
}

std::optional<Value> KnownKind::contains(Tracer& t, const Value& value, const Value& wanted,
                                         nb::handle) const {
  const nb::object& object = value.as<Static>()->object;
  const Static* known = wanted.as<Static>();
  if (known == nullptr || !(is_string(object) || Members::holds_members(value))) return std::nullopt;
  return by_python(t, [&] { return Static{imported("operator").attr("contains")(object, known->object)}; });
}

std::optional<std::vector<Value>> KnownKind::elements(Tracer& t, const Value& value, nb::handle) const {
  const nb::object& object = value.as<Static>()->object;
  std::vector<Value> all;
  if (is_enum(object)) {
    const nb::object map = class_attribute(t, object, "_member_map_");
    for (const nb::handle name : class_attribute(t, object, "_member_names_"))
      all.push_back(Static{map[name]});
    return all;
  }
  if (!is_string(object)) return std::nullopt;
  for (const nb::handle element : object) all.push_back(Static{nb::borrow<nb::object>(element)});
  return all;
}

}  // namespace

INGOT_VALUE_KIND(Static, KnownKind)

}  // namespace ingot::frontend
