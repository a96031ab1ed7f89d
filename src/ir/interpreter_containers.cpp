#include <algorithm>

#include "ir/builder.h"
#include "ir/interpreter_machine.h"

namespace ingot::ir {

namespace {

using Aggregate = std::shared_ptr<const AggregateValue>;

void give_aggregate(Step& step, int tag, std::vector<Value> members) {
  step.give(std::make_shared<const AggregateValue>(AggregateValue{tag, std::move(members)}));
}

}  // namespace

void interp_some(Step& step) { give_aggregate(step, 0, step.values()); }
void interp_none(Step& step) { give_aggregate(step, static_cast<int>(step.attribute(0)), {}); }
void interp_tag(Step& step) { step.give_number(static_cast<int8_t>(step.as<Aggregate>(0)->tag)); }
void interp_value(Step& step) {
  const AggregateValue& optional = *step.as<Aggregate>(0);
  step.give(optional.tag == 0 ? optional.members[0] : unspecified(step.type()));
}
void interp_tuple(Step& step) { give_aggregate(step, 0, step.values()); }
void interp_member(Step& step) {
  step.give(step.as<Aggregate>(0)->members[static_cast<size_t>(step.attribute(0))]);
}

namespace {

// Races on objects: an item or field is its own place; the object's address stands for its length and keys.

void touch_object(const Step& step, const ObjectValue& object, Access access) {
  step.touch(&object, 1, access);
}
void touch_item(const Step& step, const ObjectValue& object, size_t i, Access access) {
  step.touch(&object.items[i], 1, access);
}
/// The items have new places.
void forget_items(const Step& step, const ObjectValue& object) {
  step.forget(object.items.data(), object.items.size() * sizeof(Value));
}

void give_object(Step& step, std::vector<Value> items) {
  auto object = step.machine.new_object();
  object->items = std::move(items);
  step.forget(object.get(), 1);
  forget_items(step, *object);
  step.give(std::move(object));
}

/// A position operand, at most `last`.
size_t position(const Step& step, size_t i, size_t end) {
  const int64_t at = step.index(i);
  step.need(at >= 0 && static_cast<uint64_t>(at) < end, "takes a position out of range");
  return static_cast<size_t>(at);
}

ptrdiff_t distance(size_t i) { return static_cast<ptrdiff_t>(i); }

}  // namespace

void interp_list_new(Step& step) { give_object(step, step.values()); }
void interp_list_length(Step& step) {
  touch_object(step, step.object(0), Access::Read);
  step.give_number(static_cast<int64_t>(step.object(0).items.size()));
}
void interp_list_get(Step& step) {
  const ObjectValue& list = step.object(0);
  touch_object(step, list, Access::Read);
  const size_t i = position(step, 1, list.items.size());
  touch_item(step, list, i, Access::Read);
  step.give(list.items[i]);
}
void interp_list_set(Step& step) {
  ObjectValue& list = step.object(0);
  touch_object(step, list, Access::Read);
  const size_t i = position(step, 1, list.items.size());
  touch_item(step, list, i, Access::Write);
  list.items[i] = step.value(2);
}
void interp_list_insert(Step& step) {
  ObjectValue& list = step.object(0);
  touch_object(step, list, Access::Write);
  const size_t i = position(step, 1, list.items.size() + 1);
  list.items.insert(list.items.begin() + distance(i), step.value(2));
  forget_items(step, list);
}
void interp_list_remove(Step& step) {
  ObjectValue& list = step.object(0);
  touch_object(step, list, Access::Write);
  const size_t i = position(step, 1, list.items.size());
  list.items.erase(list.items.begin() + distance(i));
  forget_items(step, list);
}

namespace {

/// Keys: scalars by value (0.0 is -0.0, a NaN is no key's equal), tuples and optionals by their members,
/// objects and buffers by identity.
class Keys {
 public:
  explicit Keys(const TypeTable& types) : types_(types) {}

  size_t hash(Type type, const Value& key) const {
    if (type.is_scalar()) return hash_scalar(type.dtype(), key);
    if (const auto* aggregate = std::get_if<Aggregate>(&key)) {
      size_t h = static_cast<size_t>((*aggregate)->tag);
      for (size_t i = 0; i < (*aggregate)->members.size(); ++i)
        h = h * 1000003 + hash(types_.members(type)[i], (*aggregate)->members[i]);
      return h;
    }
    return 0;
  }

  bool equal(Type type, const Value& a, const Value& b) const {
    if (a.index() != b.index()) return false;
    if (type.is_scalar()) {
      const Scalar both[] = {std::get<Scalar>(a), std::get<Scalar>(b)};
      return evaluate(Op::equal, type.dtype(), both).bits[0] != 0;
    }
    if (const auto* x = std::get_if<Aggregate>(&a)) {
      const AggregateValue& y = *std::get<Aggregate>(b);
      if ((*x)->tag != y.tag || (*x)->members.size() != y.members.size()) return false;
      for (size_t i = 0; i < y.members.size(); ++i)
        if (!equal(types_.members(type)[i], (*x)->members[i], y.members[i])) return false;
      return true;
    }
    if (const auto* x = std::get_if<std::shared_ptr<ObjectValue>>(&a))
      return *x == std::get<std::shared_ptr<ObjectValue>>(b);
    if (const auto* x = std::get_if<BlockRef>(&a)) return *x == std::get<BlockRef>(b);
    return false;
  }

 private:
  size_t hash_scalar(DType dtype, const Value& key) const {
    const auto* scalar = std::get_if<Scalar>(&key);
    if (scalar == nullptr) return 0;
    Scalar bits = *scalar;
    if (base::is_float(dtype) || base::is_complex(dtype)) {
      // -0.0 + 0.0 = 0.0: equal numbers have equal bits then.
      const Scalar both[] = {bits, Scalar{}};
      bits = evaluate(Op::add, dtype, both);
    }
    return std::hash<uint64_t>()(bits.bits[0] * 0x9e3779b97f4a7c15u ^ bits.bits[1]);
  }
  const TypeTable& types_;
};

/// A dictionary operand 0 and the type of its keys.
struct Dictionary {
  explicit Dictionary(const Step& step)
      : object(step.object(0)),
        key_type(step.function.module().types.members(step.type(0))[0]),
        keys(step.function.module().types) {}

  int64_t find(const Value& key) {
    if (object.positions.size() != object.keys.size()) {
      object.positions.clear();
      for (size_t i = 0; i < object.keys.size(); ++i)
        object.positions.emplace(keys.hash(key_type, object.keys[i]), i);
    }
    const auto [first, last] = object.positions.equal_range(keys.hash(key_type, key));
    for (auto it = first; it != last; ++it)
      if (keys.equal(key_type, object.keys[it->second], key)) return static_cast<int64_t>(it->second);
    return -1;
  }

  ObjectValue& object;
  Type key_type;
  Keys keys;
};

}  // namespace

void interp_dict_new(Step& step) { give_object(step, {}); }
void interp_dict_length(Step& step) {
  touch_object(step, step.object(0), Access::Read);
  step.give_number(static_cast<int64_t>(step.object(0).keys.size()));
}
void interp_dict_find(Step& step) {
  Dictionary dictionary(step);
  touch_object(step, dictionary.object, Access::Read);
  step.give_number(dictionary.find(step.value(1)));
}
void interp_dict_key(Step& step) {
  const ObjectValue& object = step.object(0);
  touch_object(step, object, Access::Read);
  step.give(object.keys[position(step, 1, object.keys.size())]);
}
void interp_dict_value(Step& step) {
  const ObjectValue& object = step.object(0);
  touch_object(step, object, Access::Read);
  const Value value = object.items[position(step, 1, object.items.size())];
  if (!step.type().is_void()) step.give(value);
}
void interp_dict_set(Step& step) {
  Dictionary dictionary(step);
  ObjectValue& object = dictionary.object;
  touch_object(step, object, Access::Write);
  const Value value = step.count() > 2 ? step.value(2) : Value();
  const int64_t found = dictionary.find(step.value(1));
  if (found >= 0) {
    object.items[static_cast<size_t>(found)] = value;
    return;
  }
  object.positions.emplace(dictionary.keys.hash(dictionary.key_type, step.value(1)), object.keys.size());
  object.keys.push_back(step.value(1));
  object.items.push_back(value);
}
void interp_dict_remove(Step& step) {
  ObjectValue& object = step.object(0);
  touch_object(step, object, Access::Write);
  const size_t i = position(step, 1, object.keys.size());
  object.keys.erase(object.keys.begin() + distance(i));
  object.items.erase(object.items.begin() + distance(i));
  object.positions.clear();
}

void interp_record_new(Step& step) { give_object(step, step.values()); }
void interp_field_get(Step& step) {
  const ObjectValue& record = step.object(0);
  const auto field = static_cast<size_t>(step.attribute(0));
  touch_item(step, record, field, Access::Read);
  step.give(record.items[field]);
}
void interp_field_set(Step& step) {
  ObjectValue& record = step.object(0);
  const auto field = static_cast<size_t>(step.attribute(0));
  touch_item(step, record, field, Access::Write);
  record.items[field] = step.value(1);
}

void interp_same_object(Step& step) {
  if (step.type(0).is_buffer()) return step.give_number(step.as<BlockRef>(0) == step.as<BlockRef>(1));
  step.give_number(&step.object(0) == &step.object(1));
}

}  // namespace ingot::ir
