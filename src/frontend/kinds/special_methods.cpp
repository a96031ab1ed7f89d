#include "frontend/evaluator_parts.h"
#include "frontend/kinds/pooled_values.h"

// Operators and builtin functions of instances: the special methods of their classes, in the order in which
// Python calls them.

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

bool is_not_implemented(const Value& value) {
  const Static* s = value.as<Static>();
  return s != nullptr && s->object.ptr() == Py_NotImplemented;
}

/// Whether Python would run it as a Python function; the evaluator implements methods written in C, and those
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

Tuple Evaluator::fields_of(const Value& object, const nb::object& type, const char* wanted, nb::handle node) {
  Tuple members;
  for (const auto [key, field] : nb::cast<nb::dict>(class_attribute(type, "__dataclass_fields__"))) {
    const bool is_field = attribute(field, "_field_type").is(imported("dataclasses").attr("_FIELD"));
    if (is_field && nb::cast<bool>(nb::bool_(field.attr(wanted))))
      members.members.push_back(present(object_attribute(object, text_of(key), node), text_of(key), node));
  }
  return members;
}

std::optional<Value> Evaluator::call_special(const Value& given, const std::string& method,
                                             std::vector<Value> arguments, nb::handle node) {
  if (PooledValues::open(given) != nullptr) {
    unsupported(node, "`" + method + "` of what may be an instance of several classes",
                "write a method, and call it");
  }
  const nb::object type = class_of_value(given);
  if (!type.is_valid()) return std::nullopt;
  const nb::object raw = class_attribute(type, method);
  if (!is_function(raw)) return std::nullopt;
  Value self = given;
  if (const Pooled* r = given.as<Pooled>())
    self = PooledValues(*this).present(*r, ExceptionKind::TypeError, "unsupported operand type: 'NoneType'");
  if (is_generated(raw)) {
    const std::optional<Operator> op = comparison_of(method);
    if (!op || *op == Operator::NotEq) {
      unsupported(node, "the `" + method + "` that `dataclass` has made of `" + type_name(self) + "`",
                  "use the fields");
    }
    const nb::object other = class_of_value(arguments[0]);
    if (!other.is_valid() || !other.is(type)) return Static{nb::borrow<nb::object>(Py_NotImplemented)};
    return compare(*op, fields_of(self, type, "compare", node),
                   fields_of(arguments[0], type, "compare", node), node);
  }
  Call call{.positional = std::move(arguments), .keywords = {}, .name = method, .node = node};
  call.positional.insert(call.positional.begin(), self);
  return this->call(Static{raw}, call);
}

std::optional<Value> Evaluator::ask_both(Operator op, const Value& a, const Value& b, nb::handle node) {
  const OperatorInfo& special = info(op);
  const bool compares = is_comparison(op);
  const nb::object left = class_of_value(a);
  const nb::object right = class_of_value(b);
  const bool of_one_class = left.is_valid() && right.is_valid() && left.is(right);
  const bool reflects = right.is_valid() && (!of_one_class || compares);
  bool reflected_first = left.is_valid() && right.is_valid() && !of_one_class && is_subtype(right, left);
  if (reflected_first && !compares)
    reflected_first = !class_attribute(right, special.reflected).is(class_attribute(left, special.reflected));
  std::optional<Value> result;
  const auto ask = [&](const Value& self, const char* method, const Value& other) {
    result = call_special(self, method, {other}, node);
    return result && !is_not_implemented(*result);
  };
  if (reflected_first && ask(b, special.reflected, a)) return result;
  if (left.is_valid() && ask(a, special.method, b)) return result;
  if (reflects && !reflected_first && ask(b, special.reflected, a)) return result;
  return std::nullopt;
}

std::optional<Value> Evaluator::binary_of_objects(Operator op, const Value& a, const Value& b,
                                                  nb::handle node) {
  if (!has_class(a) && !has_class(b)) return std::nullopt;
  const auto with = [&](const Value& x, const Value& y) { return binary(op, x, y, node); };
  if (std::optional<Value> result = PooledValues(*this).on_certain(a, b, with)) return result;
  const OperatorInfo& special = info(op);
  if (!class_of_value(a).is_valid() && is_numpys(a) && !class_of_value(b).is_valid()) return std::nullopt;
  if (is_numpys(a) && is_instance(b)) {
    unsupported(node, std::string("'") + special.symbol + "' of " + type_name(a) + " and " + type_name(b),
                "put the instance first, or use its parts");
  }
  if (a.is<Foreign>()) use_foreign("binary", special.symbol, {a, b}, node);  // it is asked first
  if (std::optional<Value> result = ask_both(op, a, b, node)) return result;
  if (!is_instance(a) && !is_instance(b)) return std::nullopt;  // tuples and members of an Enum
  const auto is_simple = [this](const Value& v) {
    const std::optional<Kind> kind = kind_of(v);
    return is_instance(v) || is_none(v) || (kind && kind->is_python());
  };
  if (!is_simple(a) || !is_simple(b)) {
    unsupported(node, std::string("'") + special.symbol + "' of " + type_name(a) + " and " + type_name(b),
                "use the parts of the instance");
  }
  raise(ExceptionKind::TypeError, std::string("unsupported operand type(s) for ") + special.symbol + ": '" +
                                      type_name(a) + "' and '" + type_name(b) + "'");
}

std::optional<Value> Evaluator::in_place_of_object(Operator op, const Value& a, const Value& b,
                                                   nb::handle node) {
  if (const Pooled* r = PooledValues::open(a); r != nullptr && !r->may_be_none) {
    return PooledValues(*this).on_each(*r, [&](const Value& one) {
      const std::optional<Value> changed = in_place_of_object(op, one, b, node);
      return changed ? *changed : binary(op, one, b, node);
    });
  }
  const std::string method = "__i" + std::string(info(op).method).substr(2);
  std::optional<Value> result = call_special(a, method, {b}, node);
  return result && !is_not_implemented(*result) ? result : std::nullopt;
}

std::optional<Value> Evaluator::compare_objects(Operator op, const Value& a, const Value& b,
                                                nb::handle node) {
  if (!has_class(a) && !has_class(b)) return std::nullopt;
  const auto with = [&](const Value& x, const Value& y) { return compare(op, x, y, node); };
  if (std::optional<Value> result = PooledValues(*this).on_certain(a, b, with)) return result;
  const OperatorInfo& special = info(op);
  if (is_instance(a) != is_instance(b) && (is_numpys(a) || is_numpys(b)))
    unsupported(node, "comparing " + type_name(a) + " with " + type_name(b), "compare numbers or arrays");
  if (a.is<Foreign>()) use_foreign("compare", special.symbol, {a, b}, node);  // it is asked first
  if (std::optional<Value> result = ask_both(op, a, b, node)) return result;
  if (op == Operator::NotEq) {
    // object's own `__ne__` asks `__eq__`.
    if (const std::optional<Value> equal = ask_both(Operator::Eq, a, b, node)) {
      if (const std::optional<bool> known = static_truth(*equal)) return Static{nb::bool_(!*known)};
      return as_bool(negate(truth(*equal, node)));
    }
  }
  const auto is_plain_member = [&](const Value& v) {
    return v.is<Static>() && class_of_value(v).is_valid() &&
           plain_number(v).as<Static>()->object.is(v.as<Static>()->object);
  };
  const bool by_identity = is_instance(a) || is_instance(b) || is_plain_member(a) || is_plain_member(b);
  if (!by_identity) return std::nullopt;
  if (b.is<Foreign>()) use_foreign("compare", special.symbol, {a, b}, node);
  if (is_equality(op)) {
    if (a.is<Maybe>() || b.is<Maybe>() || a.is<Conflict>() || b.is<Conflict>()) return std::nullopt;
    if (PooledValues(*this).of(a) || PooledValues(*this).of(b)) {
      const NodeId is = PooledValues(*this).is_same(a, b);
      return answer(op, is);
    }
    return Static{nb::bool_(same(a, b) == (op == Operator::Eq))};
  }
  raise(ExceptionKind::TypeError, std::string("'") + special.symbol +
                                      "' not supported between instances of '" + type_name(a) + "' and '" +
                                      type_name(b) + "'");
}

std::optional<Value> Evaluator::unary_of_object(Operator op, const Value& a, nb::handle node) {
  const std::string complaint = std::string("bad operand type for unary ") + info(op).symbol + ": '";
  if (const Pooled* r = PooledValues::open(a)) {
    const Pooled there = PooledValues(*this).present(*r, ExceptionKind::TypeError, complaint + "NoneType'");
    return PooledValues(*this).on_each(there, [&](const Value& one) { return unary(op, one, node); });
  }
  if (std::optional<Value> result = call_special(a, info(op).method, {}, node)) return result;
  if (!is_instance(a) && !a.is<Tuple>()) return std::nullopt;
  raise(ExceptionKind::TypeError, complaint + type_name(a) + "'");
}

Value Evaluator::truth_of_object(const Value& value, nb::handle node) {
  if (const Pooled* r = PooledValues::open(value)) {
    return PooledValues(*this).on_each(
        *r, [&](const Value& known) { return Value(Scalar{Kind::py_bool(), truth(known, node)}); });
  }
  if (const std::optional<Value> result = call_special(value, "__bool__", {}, node)) {
    const std::optional<Kind> kind = kind_of(*result);
    if (kind != Kind::py_bool())
      raise(ExceptionKind::TypeError, "__bool__ should return bool, returned " + type_name(*result));
    return *result;
  }
  if (const std::optional<Value> length = call_special(value, "__len__", {}, node))
    return compare(Operator::NotEq, *length, Static{nb::int_(0)}, node);
  return Static{nb::bool_(true)};
}

bool Evaluator::has_truth(const nb::object& type) {
  return is_function(class_attribute(type, "__bool__")) || is_function(class_attribute(type, "__len__"));
}

std::optional<Value> Evaluator::builtin_of_object(const Builtin& builtin, Call& call) {
  static const std::map<std::string, const char*> kMethods = {
      {"abs", "__abs__"},   {"len", "__len__"},     {"float", "__float__"},
      {"int", "__int__"},   {"round", "__round__"}, {"floor", "__floor__"},
      {"ceil", "__ceil__"}, {"trunc", "__trunc__"}, {"reversed", "__reversed__"},
  };
  if (builtin.module != "builtins" && builtin.module != "math") return std::nullopt;
  const auto method = kMethods.find(builtin.name);
  if (method == kMethods.end() || call.positional.empty() || !call.keywords.empty()) return std::nullopt;
  if (!has_class(call.positional[0])) return std::nullopt;
  const Value self = call.positional[0];
  if (const Pooled* r = PooledValues::open(self); r != nullptr && !r->may_be_none) {
    return PooledValues(*this).on_each(*r, [&](const Value& known) {
      Call again = call;
      again.positional[0] = known;
      return this->call(Static{call.function}, again);
    });
  }
  const std::vector<Value> rest(call.positional.begin() + 1, call.positional.end());
  if (std::optional<Value> result = call_special(self, method->second, rest, call.node)) {
    const std::optional<Kind> kind = kind_of(*result);
    const bool wants_int = builtin.name == "len" || builtin.name == "int";
    const bool fits =
        builtin.name == "float" ? kind == Kind::py_float() : !wants_int || kind == Kind::py_int();
    if (!fits || result->is<Array>()) {
      unsupported(call.node, "a `" + std::string(method->second) + "` that returns a " + type_name(*result),
                  "return a number of that type");
    }
    if (const std::optional<int64_t> length = static_int(*result); builtin.name == "len") {
      if (length && *length < 0) raise(ExceptionKind::ValueError, "__len__() should return >= 0");
      if (!length) {
        check(builder_->make(Op::greater_equal, {stage(*result, Kind::py_int()), builder_->index(0)}),
              ExceptionKind::ValueError, "__len__() should return >= 0");
      }
    }
    return result;
  }
  if (!is_instance(self)) return std::nullopt;
  if (builtin.name == "len")
    raise(ExceptionKind::TypeError, "object of type '" + type_name(self) + "' has no len()");
  if (builtin.name == "abs")
    raise(ExceptionKind::TypeError, "bad operand type for abs(): '" + type_name(self) + "'");
  return std::nullopt;
}

bool Evaluator::has_own_equality(const nb::object& type) {
  return is_function(class_attribute(type, "__eq__")) || is_function(class_attribute(type, "__hash__"));
}

bool Evaluator::has_text(const nb::object& type) {
  return is_function(class_attribute(type, "__str__")) || is_function(class_attribute(type, "__repr__")) ||
         is_function(class_attribute(type, "__format__"));
}

Value Evaluator::text_of_object(const Value& value, const std::string& form, nb::handle node) {
  const nb::object type = class_of_value(value);
  const bool wants_repr = form.starts_with("{!r");
  if (form != "{}" && form != "{!s}" && form != "{!r}")
    unsupported(node, "a format of a " + type_name(value), "format its parts");
  if (form == "{}" && is_function(class_attribute(type, "__format__")))
    unsupported(node, "the `__format__` of a " + type_name(value), "write a method, and call it");
  std::optional<Value> text;
  if (!wants_repr) text = call_special(value, "__str__", {}, node);
  const nb::object repr = class_attribute(type, "__repr__");
  if (!text && is_function(repr) && is_generated(repr)) {
    std::vector<Value> pieces{Static{nb::str((text_of(type.attr("__qualname__")) + "(").c_str())}};
    bool first = true;
    for (const auto [key, field] : nb::cast<nb::dict>(class_attribute(type, "__dataclass_fields__"))) {
      const bool is_field = attribute(field, "_field_type").is(imported("dataclasses").attr("_FIELD"));
      if (!is_field || !nb::cast<bool>(field.attr("repr"))) continue;
      const std::string name = text_of(key);
      pieces.emplace_back(Static{nb::str(((first ? "" : ", ") + name + "=").c_str())});
      const Value part = present(object_attribute(value, name, node), name, node);
      pieces.push_back(text_of_value(part, "{!r}", node));
      first = false;
    }
    pieces.emplace_back(Static{nb::str(")")});
    return joined_text(pieces);
  }
  if (!text) text = call_special(value, "__repr__", {}, node);
  if (text) {
    const Static* known = text->as<Static>();
    if (!text->is<String>() && !(known != nullptr && PyUnicode_Check(known->object.ptr()))) {
      unsupported(node, "a text of a " + type_name(value) + " that is a " + type_name(*text),
                  "return a text");
    }
    return *text;
  }
  unsupported(node, "the text of a " + type_name(value), "show its parts");
}

}  // namespace ingot::frontend
