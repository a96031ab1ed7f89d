// Operators and builtin functions of instances: the special methods of their classes, in the order in which
// Python calls them.

#include "frontend/kinds/special_methods.h"

#include "frontend/arrays/arrays.h"
#include "frontend/arrays/operators.h"
#include "frontend/arrays/scalars.h"
#include "frontend/calls/python_builtins.h"
#include "frontend/kinds/dicts.h"
#include "frontend/kinds/objects.h"
#include "frontend/kinds/pooled_values.h"
#include "frontend/kinds/sequences.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

bool is_not_implemented(const Value& value) {
  const Static* s = value.as<Static>();
  return s != nullptr && s->object.ptr() == Py_NotImplemented;
}

/// Whether Python would run it as a Python function; the frontend implements methods written in C, and those
/// of namedtuples and Enums.
bool is_function(const nb::object& raw) {
  if (!raw.is_valid()) return false;
  if (PyFunction_Check(raw.ptr())) {
    const bool is_of_enum = attribute(raw, "__globals__").is(attribute(imported("enum"), "__dict__"));
    return !is_of_enum && !is_of_namedtuple(raw);
  }
  return is_jitted(raw);
}

bool is_subtype(const nb::object& a, const nb::object& b) {
  return PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(a.ptr()),
                          reinterpret_cast<PyTypeObject*>(b.ptr())) != 0;
}

}  // namespace

namespace {

/// The fields of a dataclass for which `wanted` is true.
Tuple fields_of(Tracer& t, const Value& object, const nb::object& type, const char* wanted, nb::handle node) {
  Tuple members;
  for (const auto [key, field] : nb::cast<nb::dict>(class_attribute(t, type, "__dataclass_fields__"))) {
    const bool is_field = attribute(field, "_field_type").is(imported("dataclasses").attr("_FIELD"));
    if (is_field && nb::cast<bool>(nb::bool_(field.attr(wanted))))
      members.members.push_back(
          present(t, object_attribute(t, object, text_of(key), node), text_of(key), node));
  }
  return members;
}

}  // namespace

std::optional<Value> call_special(Tracer& t, const Value& given, const std::string& method,
                                  std::vector<Value> arguments, nb::handle node) {
  if (PooledValues::open(given) != nullptr) {
    unsupported(t, node, "`" + method + "` of what may be an instance of several classes",
                "write a method, and call it");
  }
  const nb::object type = class_of_value(t, given);
  if (!type.is_valid()) return std::nullopt;
  const nb::object raw = class_attribute(t, type, method);
  if (!is_function(raw)) return std::nullopt;
  Value self = given;
  if (const Pooled* r = given.as<Pooled>())
    self = PooledValues(t).present(*r, ExceptionKind::TypeError, "unsupported operand type: 'NoneType'");
  if (is_generated(raw)) {
    const std::optional<Operator> op = comparison_of(method);
    if (!op || *op == Operator::NotEq) {
      unsupported(t, node, "the `" + method + "` that `dataclass` has made of `" + type_name(t, self) + "`",
                  "use the fields");
    }
    const nb::object other = class_of_value(t, arguments[0]);
    if (!other.is_valid() || !other.is(type)) return Static{nb::borrow<nb::object>(Py_NotImplemented)};
    return compare(t, *op, fields_of(t, self, type, "compare", node),
                   fields_of(t, arguments[0], type, "compare", node), node);
  }
  Call call{.positional = std::move(arguments), .name = method, .node = node};
  call.positional.insert(call.positional.begin(), self);
  return call_value(t, Static{raw}, call);
}

namespace {

/// Applies an operator, in Python's order; none: neither operand implements it.
std::optional<Value> ask_both(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node) {
  const OperatorInfo& special = info(op);
  const bool compares = is_comparison(op);
  const nb::object left = class_of_value(t, a);
  const nb::object right = class_of_value(t, b);
  const bool of_one_class = left.is_valid() && right.is_valid() && left.is(right);
  const bool reflects = right.is_valid() && (!of_one_class || compares);
  bool reflected_first = left.is_valid() && right.is_valid() && !of_one_class && is_subtype(right, left);
  if (reflected_first && !compares)
    reflected_first =
        !class_attribute(t, right, special.reflected).is(class_attribute(t, left, special.reflected));
  std::optional<Value> result;
  const auto ask = [&](const Value& self, const char* method, const Value& other) {
    result = call_special(t, self, method, {other}, node);
    return result && !is_not_implemented(*result);
  };
  if (reflected_first && ask(b, special.reflected, a)) return result;
  if (left.is_valid() && ask(a, special.method, b)) return result;
  if (reflects && !reflected_first && ask(b, special.reflected, a)) return result;
  return std::nullopt;
}

}  // namespace

std::optional<Value> binary_of_objects(Tracer& t, Operator op, const Value& a, const Value& b,
                                       nb::handle node) {
  if (!has_class(t, a) && !has_class(t, b)) return std::nullopt;
  if (is_of_sets(op) && is_like_set(a)) return std::nullopt;  // it is asked first
  const auto with = [&](const Value& x, const Value& y) { return binary(t, op, x, y, node); };
  if (std::optional<Value> result = PooledValues(t).on_certain(a, b, with)) return result;
  const OperatorInfo& special = info(op);
  if (!class_of_value(t, a).is_valid() && is_numpys(a) && !class_of_value(t, b).is_valid())
    return std::nullopt;
  if (is_numpys(a) && is_instance(b)) {
    unsupported(t, node,
                std::string("'") + special.symbol + "' of " + type_name(t, a) + " and " + type_name(t, b),
                "put the instance first, or use its parts");
  }
  if (a.is<Foreign>()) use_foreign(t, "binary", special.symbol, {a, b}, node);  // it is asked first
  if (std::optional<Value> result = ask_both(t, op, a, b, node)) return result;
  if (!is_instance(a) && !is_instance(b)) return std::nullopt;  // tuples and members of an Enum
  if (is_of_sets(op) && is_like_set(b)) return std::nullopt;    // asked next
  const auto is_simple = [&t](const Value& v) {
    const std::optional<Kind> kind = kind_of(v);
    return is_instance(v) || is_none(v) || (kind && kind->is_python());
  };
  if (!is_simple(a) || !is_simple(b)) {
    unsupported(t, node,
                std::string("'") + special.symbol + "' of " + type_name(t, a) + " and " + type_name(t, b),
                "use the parts of the instance");
  }
  raise(t, ExceptionKind::TypeError,
        std::string("unsupported operand type(s) for ") + special.symbol + ": '" + type_name(t, a) +
            "' and '" + type_name(t, b) + "'");
}

std::optional<Value> in_place_of_object(Tracer& t, Operator op, const Value& a, const Value& b,
                                        nb::handle node) {
  if (const Pooled* r = PooledValues::open(a); r != nullptr && !r->may_be_none) {
    return PooledValues(t).on_each(*r, [&](const Value& one) {
      const std::optional<Value> changed = in_place_of_object(t, op, one, b, node);
      return changed ? *changed : binary(t, op, one, b, node);
    });
  }
  const std::string method = "__i" + std::string(info(op).method).substr(2);
  std::optional<Value> result = call_special(t, a, method, {b}, node);
  return result && !is_not_implemented(*result) ? result : std::nullopt;
}

std::optional<Value> compare_objects(Tracer& t, Operator op, const Value& a, const Value& b,
                                     nb::handle node) {
  if (!has_class(t, a) && !has_class(t, b)) return std::nullopt;
  const auto with = [&](const Value& x, const Value& y) { return compare(t, op, x, y, node); };
  if (std::optional<Value> result = PooledValues(t).on_certain(a, b, with)) return result;
  const OperatorInfo& special = info(op);
  if (is_instance(a) != is_instance(b) && (is_numpys(a) || is_numpys(b)))
    unsupported(t, node, "comparing " + type_name(t, a) + " with " + type_name(t, b),
                "compare numbers or arrays");
  if (a.is<Foreign>()) use_foreign(t, "compare", special.symbol, {a, b}, node);  // it is asked first
  if (std::optional<Value> result = ask_both(t, op, a, b, node)) return result;
  if (op == Operator::NotEq) {
    // object's own `__ne__` asks `__eq__`.
    if (const std::optional<Value> equal = ask_both(t, Operator::Eq, a, b, node)) {
      if (const std::optional<bool> known = static_truth(t, *equal)) return Static{nb::bool_(!*known)};
      return as_bool(t, negate(t, truth(t, *equal, node)));
    }
  }
  const auto is_plain_member = [&](const Value& v) {
    return v.is<Static>() && class_of_value(t, v).is_valid() &&
           plain_number(t, v).as<Static>()->object.is(v.as<Static>()->object);
  };
  const bool by_identity = is_instance(a) || is_instance(b) || is_plain_member(a) || is_plain_member(b);
  if (!by_identity) return std::nullopt;
  if (b.is<Foreign>()) use_foreign(t, "compare", special.symbol, {a, b}, node);
  if (is_equality(op)) {
    if (a.is<Maybe>() || b.is<Maybe>() || a.is<Conflict>() || b.is<Conflict>()) return std::nullopt;
    if (PooledValues(t).of(a) || PooledValues(t).of(b)) {
      const NodeId is = PooledValues(t).is_same(a, b);
      return answer(t, op, is);
    }
    return Static{nb::bool_(same(a, b) == (op == Operator::Eq))};
  }
  raise(t, ExceptionKind::TypeError,
        std::string("'") + special.symbol + "' not supported between instances of '" + type_name(t, a) +
            "' and '" + type_name(t, b) + "'");
}

std::optional<Value> unary_of_object(Tracer& t, Operator op, const Value& a, nb::handle node) {
  const std::string complaint = std::string("bad operand type for unary ") + info(op).symbol + ": '";
  if (const Pooled* r = PooledValues::open(a)) {
    const Pooled there = PooledValues(t).present(*r, ExceptionKind::TypeError, complaint + "NoneType'");
    return PooledValues(t).on_each(there, [&](const Value& one) { return unary(t, op, one, node); });
  }
  if (std::optional<Value> result = call_special(t, a, info(op).method, {}, node)) return result;
  if (!is_instance(a) && !a.is<Tuple>()) return std::nullopt;
  raise(t, ExceptionKind::TypeError, complaint + type_name(t, a) + "'");
}

Value truth_of_object(Tracer& t, const Value& value, nb::handle node) {
  if (const Pooled* r = PooledValues::open(value)) {
    return PooledValues(t).on_each(
        *r, [&](const Value& known) { return Value(Scalar{Kind::py_bool(), truth(t, known, node)}); });
  }
  if (const std::optional<Value> result = call_special(t, value, "__bool__", {}, node)) {
    const std::optional<Kind> kind = kind_of(*result);
    if (kind != Kind::py_bool())
      raise(t, ExceptionKind::TypeError, "__bool__ should return bool, returned " + type_name(t, *result));
    return *result;
  }
  if (const std::optional<Value> length = call_special(t, value, "__len__", {}, node))
    return compare(t, Operator::NotEq, *length, Static{nb::int_(0)}, node);
  return Static{nb::bool_(true)};
}

bool has_truth(Tracer& t, const nb::object& type) {
  return is_function(class_attribute(t, type, "__bool__")) ||
         is_function(class_attribute(t, type, "__len__"));
}

std::optional<Value> builtin_of_object(Tracer& t, const Builtin& builtin, Call& call) {
  static const std::map<std::string, const char*> kMethods = {
      {"abs", "__abs__"},   {"len", "__len__"},     {"float", "__float__"},
      {"int", "__int__"},   {"round", "__round__"}, {"floor", "__floor__"},
      {"ceil", "__ceil__"}, {"trunc", "__trunc__"}, {"reversed", "__reversed__"},
  };
  if (builtin.module != "builtins" && builtin.module != "math") return std::nullopt;
  const auto method = kMethods.find(builtin.name);
  if (method == kMethods.end() || call.positional.empty() || !call.keywords.empty()) return std::nullopt;
  if (!has_class(t, call.positional[0])) return std::nullopt;
  const Value self = call.positional[0];
  if (const Pooled* r = PooledValues::open(self); r != nullptr && !r->may_be_none) {
    return PooledValues(t).on_each(*r, [&](const Value& known) {
      Call again = call;
      again.positional[0] = known;
      return call_value(t, Static{call.function}, again);
    });
  }
  const std::vector<Value> rest(call.positional.begin() + 1, call.positional.end());
  if (std::optional<Value> result = call_special(t, self, method->second, rest, call.node)) {
    const std::optional<Kind> kind = kind_of(*result);
    const bool wants_int = builtin.name == "len" || builtin.name == "int";
    const bool fits =
        builtin.name == "float" ? kind == Kind::py_float() : !wants_int || kind == Kind::py_int();
    if (!fits || result->is<Array>()) {
      unsupported(t, call.node,
                  "a `" + std::string(method->second) + "` that returns a " + type_name(t, *result),
                  "return a number of that type");
    }
    if (const std::optional<int64_t> length = static_int(*result); builtin.name == "len") {
      if (length && *length < 0) raise(t, ExceptionKind::ValueError, "__len__() should return >= 0");
      if (!length) {
        check(t, t.builder->make(Op::greater_equal, {stage(t, *result, Kind::py_int()), t.builder->index(0)}),
              ExceptionKind::ValueError, "__len__() should return >= 0");
      }
    }
    return result;
  }
  if (!is_instance(self)) return std::nullopt;
  if (builtin.name == "len")
    raise(t, ExceptionKind::TypeError, "object of type '" + type_name(t, self) + "' has no len()");
  if (builtin.name == "abs")
    raise(t, ExceptionKind::TypeError, "bad operand type for abs(): '" + type_name(t, self) + "'");
  return std::nullopt;
}

bool has_own_equality(Tracer& t, const nb::object& type) {
  return is_function(class_attribute(t, type, "__eq__")) || is_function(class_attribute(t, type, "__hash__"));
}

bool has_text(Tracer& t, const nb::object& type) {
  return is_function(class_attribute(t, type, "__str__")) ||
         is_function(class_attribute(t, type, "__repr__")) ||
         is_function(class_attribute(t, type, "__format__"));
}

Value text_of_object(Tracer& t, const Value& value, const std::string& form, nb::handle node) {
  const nb::object type = class_of_value(t, value);
  const bool wants_repr = form.starts_with("{!r");
  if (form != "{}" && form != "{!s}" && form != "{!r}")
    unsupported(t, node, "a format of a " + type_name(t, value), "format its parts");
  if (form == "{}" && is_function(class_attribute(t, type, "__format__")))
    unsupported(t, node, "the `__format__` of a " + type_name(t, value), "write a method, and call it");
  std::optional<Value> text;
  if (!wants_repr) text = call_special(t, value, "__str__", {}, node);
  const nb::object repr = class_attribute(t, type, "__repr__");
  if (!text && is_function(repr) && is_generated(repr)) {
    std::vector<Value> pieces{Static{nb::str((text_of(type.attr("__qualname__")) + "(").c_str())}};
    bool first = true;
    for (const auto [key, field] : nb::cast<nb::dict>(class_attribute(t, type, "__dataclass_fields__"))) {
      const bool is_field = attribute(field, "_field_type").is(imported("dataclasses").attr("_FIELD"));
      if (!is_field || !nb::cast<bool>(field.attr("repr"))) continue;
      const std::string name = text_of(key);
      pieces.emplace_back(Static{nb::str(((first ? "" : ", ") + name + "=").c_str())});
      const Value part = present(t, object_attribute(t, value, name, node), name, node);
      pieces.push_back(text_of_value(t, part, "{!r}", node));
      first = false;
    }
    pieces.emplace_back(Static{nb::str(")")});
    return joined_text(t, pieces);
  }
  if (!text) text = call_special(t, value, "__repr__", {}, node);
  if (text) {
    const Static* known = text->as<Static>();
    if (!text->is<String>() && !(known != nullptr && PyUnicode_Check(known->object.ptr()))) {
      unsupported(t, node, "a text of a " + type_name(t, value) + " that is a " + type_name(t, *text),
                  "return a text");
    }
    return *text;
  }
  unsupported(t, node, "the text of a " + type_name(t, value), "show its parts");
}

}  // namespace ingot::frontend
