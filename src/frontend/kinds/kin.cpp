#include <bit>

#include "frontend/arrays/operators.h"
#include "frontend/kinds/objects.h"
#include "frontend/kinds/pooled_values.h"
#include "frontend/routines/routines.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

// Families of classes: one variable may hold instances of several classes. A `Pooled` has the set of its
// possible classes; operations that depend on the class are evaluated on a path for each of these, where that
// is the only possible class. The number of the class is in the lowest bits of the index, so it takes no
// memory, and the index alone identifies an instance.
//
// Each class has a pool of its own, so kinds of attributes are joined only within classes. Methods and
// attributes with the same function are evaluated on one path. Conditions that test the class narrow the sets
// of all variables with the same index.

namespace ingot::frontend {

using ir::Op;

namespace {

constexpr size_t kMostKin = 64;

bool holds_class(uint64_t classes, size_t number) { return (classes >> number & 1) != 0; }

}  // namespace

void PooledValues::ask_for(const std::vector<nb::object>& types, nb::handle node) {
  Pools& pools = t_.facts.pools;
  std::vector<size_t> indices;
  for (const nb::object& type : types) {
    const auto known =
        std::ranges::find_if(pools.classes, [&](const nb::object& one) { return one.is(type); });
    indices.push_back(static_cast<size_t>(known - pools.classes.begin()));
    if (known != pools.classes.end()) continue;
    pools.first_of_kin.push_back(pools.classes.size());
    pools.classes.push_back(type);
  }
  std::set<size_t> families;
  for (const size_t index : indices) families.insert(pools.first_of_kin[index]);
  for (size_t& first : pools.first_of_kin)
    if (families.contains(first)) first = *families.begin();
  const auto size = std::ranges::count(pools.first_of_kin, *families.begin());
  if (static_cast<size_t>(size) > kMostKin) {
    unsupported(t_, node, "instances of more than " + std::to_string(kMostKin) + " classes in one place",
                "use fewer classes");
  }
  std::string fact = "instances of " + std::to_string(pools.classes.size()) + " classes";
  for (const size_t first : pools.first_of_kin) fact += " " + std::to_string(first);
  throw NeedsFact::at(fact, location_of(t_, node));
}

std::vector<nb::object> PooledValues::classes_of(const Pooled& record) const {
  std::vector<nb::object> classes;
  if (record.classes == 0) return classes;
  const std::vector<nb::object>& kin = kin_of(record);
  for (size_t i = 0; i < kin.size(); ++i)
    if (holds_class(record.classes, i)) classes.push_back(kin[i]);
  return classes;
}

const Pooled* PooledValues::open(const Value& value) {
  const Pooled* record = value.as<Pooled>();
  return record != nullptr && std::popcount(record->classes) > 1 ? record : nullptr;
}

int PooledValues::bits_of(const Pooled& record) const {
  return static_cast<int>(std::bit_width(kin_of(record).size() - 1));
}

HeapObject& PooledValues::pool_of(const Pooled& record) const {
  const auto number = static_cast<size_t>(std::countr_zero(record.classes));
  return pool_at(t_, t_.facts.pools.by_class.at(kin_of(record).at(number).ptr()));
}

NodeId PooledValues::row(const Pooled& record) {
  const int bits = bits_of(record);
  return bits == 0 ? record.index
                   : t_.builder->make(Op::right_shift, {record.index, t_.builder->index(bits)});
}

Pooled PooledValues::of_class(const Pooled& record, size_t n) {
  Pooled known = certain(record);
  known.classes = uint64_t{1} << n;
  return known;
}

Pooled PooledValues::of_type(const Pooled& record, const nb::object& type) const {
  const std::vector<nb::object>& kin = kin_of(record);
  const auto found = std::ranges::find_if(kin, [&](const nb::object& one) { return one.is(type); });
  return of_class(record, static_cast<size_t>(found - kin.begin()));
}

/// Tests for the classes or for the others, whichever are fewer.
NodeId PooledValues::is_among(const Pooled& record, uint64_t classes) {
  ir::Builder& builder = *t_.builder;
  const uint64_t asked = classes & record.classes;
  if (2 * std::popcount(asked) > std::popcount(record.classes))
    return builder.make(Op::invert, {is_among(record, record.classes & ~asked)});
  const int64_t mask = (int64_t{1} << bits_of(record)) - 1;
  const NodeId own = builder.make(Op::bitwise_and, {record.index, builder.index(mask)});
  NodeId among{};
  for (size_t i = 0; i < kMostKin; ++i) {
    if (!holds_class(asked, i)) continue;
    const NodeId is = builder.make(Op::equal, {own, builder.index(static_cast<int64_t>(i))});
    among = among ? builder.make(Op::bitwise_or, {among, is}) : is;
  }
  return among ? among : builder.constant(false);
}

Value PooledValues::is_of(const Pooled& record, const std::function<bool(const nb::object&)>& is_it) {
  const std::vector<nb::object>& kin = kin_of(record);
  uint64_t found = 0;
  for (size_t i = 0; i < kin.size(); ++i)
    if (holds_class(record.classes, i) && is_it(kin[i])) found |= uint64_t{1} << i;
  if (found == 0 || found == record.classes) return Static{nb::bool_(found != 0)};
  return as_bool(t_, is_among(record, found));
}

Value PooledValues::on_some(const Pooled& record, const std::vector<uint64_t>& groups,
                            const std::function<Value(const Pooled&)>& make) {
  const std::function<Value(size_t, Pooled)> from = [&](size_t i, const Pooled& left) -> Value {
    Pooled known = left;
    Pooled others = left;
    known.classes = groups[i];
    others.classes &= ~groups[i];
    if (i + 1 == groups.size()) return make(known);
    return fork(
        t_, is_among(left, groups[i]), [&] { return make(known); }, [&] { return from(i + 1, others); });
  };
  return from(0, certain(record));
}

Value PooledValues::on_each(const Pooled& record, const std::function<Value(const Value&)>& make) {
  std::vector<uint64_t> groups;
  for (size_t i = 0; i < kMostKin; ++i)
    if (holds_class(record.classes, i)) groups.push_back(uint64_t{1} << i);
  return on_some(record, groups, [&](const Pooled& known) { return make(known); });
}

Value PooledValues::of_subclasses(const Value& instance, const nb::object& base) const {
  const std::optional<Pooled> record = of(instance);
  if (!record || record->classes == 0) return instance;
  Pooled fewer = certain(*record);
  const std::vector<nb::object>& kin = kin_of(*record);
  for (size_t i = 0; i < kin.size(); ++i) {
    if (PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(kin[i].ptr()),
                         reinterpret_cast<PyTypeObject*>(base.ptr())) == 0)
      fewer.classes &= ~(uint64_t{1} << i);
  }
  return fewer.classes == 0 ? *record : fewer;
}

std::optional<bool> PooledValues::has_attribute(const Value& instance, const std::string& name,
                                                nb::handle node) {
  const std::optional<Pooled> record = of(instance);
  std::set<bool> answers;
  const auto ask = [&](const nb::object& type, const HeapObject& holder, const auto& form_at) {
    const nb::object raw = class_attribute(t_, type, name);
    const bool is_slot = raw.is_valid() && Py_IS_TYPE(raw.ptr(), &PyMemberDescr_Type);
    const bool decides_itself = raw.is_valid() && !is_slot && Py_TYPE(raw.ptr())->tp_descr_set != nullptr;
    if (decides_itself || class_attribute(t_, type, "__getattr__").is_valid()) return false;
    const bool is_of_class = raw.is_valid() && !is_slot;
    if (!is_slot && reinterpret_cast<PyTypeObject*>(type.ptr())->tp_dictoffset == 0) {
      answers.insert(is_of_class);
      return true;
    }
    const Value form = form_at(index_of_attribute(t_, holder, name, node));
    const Maybe* maybe = form.template as<Maybe>();
    const Pooled* other = form.template as<Pooled>();
    if ((maybe != nullptr && maybe->may_be_unbound) || (other != nullptr && other->may_be_unbound))
      return false;
    answers.insert(is_of_class || !form.template is<Unbound>());
    return true;
  };
  if (!record) {
    const HeapObject& object = t_.state.heap.at(instance.as<Object>()->object);
    if (!ask(object.type_of, object, [&](size_t index) { return object.values[index]; })) return std::nullopt;
  } else {
    for (const nb::object& type : classes_of(*record)) {
      const HeapObject& pool = pool_of(of_type(*record, type));
      const auto form_at = [&](size_t index) {
        return pool.element == nullptr ? Value(Unbound{}) : parts_of(*pool.element)[index];
      };
      if (!ask(type, pool, form_at)) return std::nullopt;
    }
  }
  if (answers.size() != 1) return std::nullopt;
  return *answers.begin();
}

bool PooledValues::is_for_all(const nb::object& method) {
  if (!PyFunction_Check(method.ptr())) return false;
  const nb::object code = method.attr("__code__");
  return !nb::cast<bool>(code.attr("co_freevars").attr("__contains__")("__class__")) &&
         !nb::cast<bool>(code.attr("co_names").attr("__contains__")("super"));
}

/// A class's attribute that is called with the instance or the class; invalid: it is something else, or
/// instances may have an attribute of that name.
nb::object PooledValues::method_of(const Pooled& record, const std::string& name, nb::handle node) {
  const nb::object type = class_of_value(t_, record);
  nb::object raw = class_attribute(t_, type, name);
  if (!raw.is_valid()) return {};
  const bool is_method = PyFunction_Check(raw.ptr()) || Py_IS_TYPE(raw.ptr(), &PyStaticMethod_Type) ||
                         Py_IS_TYPE(raw.ptr(), &PyClassMethod_Type) || is_jitted(raw);
  if (!is_method) return {};
  if (reinterpret_cast<PyTypeObject*>(type.ptr())->tp_dictoffset != 0) {
    const HeapObject& pool = pool_of(record);
    const size_t index = index_of_attribute(t_, pool, name, node);
    if (pool.element != nullptr && !parts_of(*pool.element)[index].is<Unbound>()) return {};
  }
  return raw;
}

Value PooledValues::open_attribute(const Pooled& record, const std::string& name, nb::handle node) {
  if (name == "__class__") return Method{share(Value(record)), name};
  std::vector<nb::object> methods;
  for (size_t i = 0; i < kMostKin; ++i)
    if (holds_class(record.classes, i)) methods.push_back(method_of(of_class(record, i), name, node));
  if (!std::ranges::all_of(methods, &nb::object::is_valid))
    return on_each(record, [&](const Value& known) { return object_attribute(t_, known, name, node); });
  const bool is_one = is_for_all(methods[0]) && std::ranges::all_of(methods, [&](const nb::object& method) {
                        return method.is(methods[0]);
                      });
  return Method{share(Value(record)), name, is_one ? methods[0] : nb::object()};
}

const Pooled* PooledValues::decides(const Value& value) {
  const Method* method = value.as<Method>();
  if (method == nullptr || method->function.is_valid() || !is_instance(*method->self)) return nullptr;
  return method->self->as<Pooled>();
}

bool PooledValues::is_open_class(const Value& value) {
  return decides(value) != nullptr && value.as<Method>()->name == "__class__";
}

Value PooledValues::call_by_class(const Method& method, Call& call) {
  const Pooled record = *method.self->as<Pooled>();
  std::vector<uint64_t> groups;
  std::vector<nb::object> functions;
  for (size_t i = 0; i < kMostKin; ++i) {
    if (!holds_class(record.classes, i)) continue;
    const nb::object function =
        method.name == "__class__" ? nb::object() : method_of(of_class(record, i), method.name, call.node);
    const auto known = std::ranges::find_if(functions, [&](const nb::object& one) {
      return function.is_valid() && one.is(function) && is_for_all(function);
    });
    if (known != functions.end()) {
      groups[static_cast<size_t>(known - functions.begin())] |= uint64_t{1} << i;
      continue;
    }
    groups.push_back(uint64_t{1} << i);
    functions.push_back(function);
  }
  return on_some(record, groups, [&](const Pooled& known) {
    Call again = call;
    const Value callee = object_attribute(t_, known, method.name, call.node);
    return call_value(t_, callee, again);
  });
}

std::optional<Value> PooledValues::joined_method(const Value& a, const Value& b) const {
  const Method* x = a.as<Method>();
  const Method* y = b.as<Method>();
  if (x == nullptr || y == nullptr || x->name != y->name) return std::nullopt;
  for (const Method* method : {x, y}) {
    const Pooled* record = method->self->as<Pooled>();
    if (record == nullptr || record->classes == 0 || record->may_be_none) return std::nullopt;
    for (const nb::object& type : classes_of(*record)) {
      if (method->function.is_valid() && !method->function.is(lookup(type, method->name)))
        return std::nullopt;
    }
  }
  const std::optional<Pooled> self = join(*x->self, *y->self);
  if (!self) return std::nullopt;
  const bool is_one = x->function.is_valid() && x->function.is(y->function) && is_for_all(x->function);
  return Method{share(Value(*self)), x->name, is_one ? x->function : nb::object()};
}

/// A condition on the class of the instance at an index.
struct PooledValues::Test {
  NodeId index;
  uint64_t classes = 0;  ///< where it is true
};

std::optional<PooledValues::Test> PooledValues::test_of(NodeId condition) const {
  const ir::Function& f = t_.builder->function();
  const auto constant = [&](NodeId node) -> std::optional<int64_t> {
    if (!f.is_constant(node) || f.type(node) != ir::kInt64) return std::nullopt;
    return static_cast<int64_t>(f.constant(node).bits[0]);
  };
  const Op op = f.op(condition);
  if (op == Op::invert) {
    std::optional<Test> test = test_of(f.operand(condition, 0));
    if (test) test->classes = ~test->classes;
    return test;
  }
  if (op == Op::bitwise_and || op == Op::bitwise_or) {
    if (f.type(condition) != ir::Type::scalar(DType::Bool)) return std::nullopt;
    const std::optional<Test> a = test_of(f.operand(condition, 0));
    const std::optional<Test> b = test_of(f.operand(condition, 1));
    if (!a || !b || a->index != b->index) return std::nullopt;
    const bool both = op == Op::bitwise_and;
    return Test{a->index, both ? a->classes & b->classes : a->classes | b->classes};
  }
  if (op != Op::equal && op != Op::not_equal) return std::nullopt;
  const std::optional<int64_t> number = constant(f.operand(condition, 1));
  const NodeId own = f.operand(condition, 0);
  if (!number || f.op(own) != Op::bitwise_and || !constant(f.operand(own, 1))) return std::nullopt;
  if (*number < 0 || static_cast<size_t>(*number) >= kMostKin) return std::nullopt;
  const uint64_t classes = uint64_t{1} << *number;
  return Test{f.operand(own, 0), op == Op::equal ? classes : ~classes};
}

void PooledValues::narrow(NodeId condition, bool holds) {
  if (t_.facts.pools.kin.size() == t_.facts.pools.classes.size()) return;  // each has a family of its own
  const std::optional<Test> test = test_of(condition);
  if (!test) return;
  const uint64_t classes = holds ? test->classes : ~test->classes;
  const std::function<Value(const Value&)> narrowed = [&](const Value& value) -> Value {
    if (const Pooled* r = value.as<Pooled>()) {
      if (r->index != test->index || (r->classes & classes) == 0) return value;
      Pooled record = certain(*r);
      record.classes &= classes;
      return record;
    }
    std::vector<Value> parts = parts_of(value);
    if (parts.empty()) return value;
    for (Value& part : parts) part = narrowed(part);
    return with_parts(value, std::move(parts));
  };
  for (auto& [name, local] : t_.state.locals) local = narrowed(local);
  for (auto& [id, object] : t_.state.heap)
    for (Value& value : object.values) value = narrowed(value);
}

}  // namespace ingot::frontend
