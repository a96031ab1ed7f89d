#pragma once

#include "frontend/joins/objects.h"
#include "frontend/kinds/sequences.h"
#include "frontend/tracer/evaluate.h"

namespace ingot::frontend {

/// A kind whose parts are what one member of the alternative holds: a value, several ones, or three.
template <class T, auto held, class Base = ValueKind>
class KindOfParts : public Base {
 public:
  std::vector<Value> parts(const Value& value) const override { return all(value.as<T>()->*held); }
  Value with_parts(const Value& value, std::vector<Value> parts) const override {
    T other = *value.as<T>();
    put(other.*held, parts);
    return other;
  }

 protected:
  ~KindOfParts() = default;

 private:
  using Values = std::vector<Value>;
  using Three = std::array<Value, 3>;

  static Values all(const std::shared_ptr<const Value>& one) { return {*one}; }
  static Values all(const std::shared_ptr<const Values>& several) { return *several; }
  static Values all(const std::shared_ptr<const Three>& three) {
    return Values(three->begin(), three->end());
  }
  static void put(std::shared_ptr<const Value>& held_there, Values& parts) { held_there = share(parts[0]); }
  static void put(std::shared_ptr<const Values>& held_there, Values& parts) { held_there = share(parts); }
  static void put(std::shared_ptr<const Three>& held_there, Values& parts) {
    held_there = share(Three{parts[0], parts[1], parts[2]});
  }
};

/// A kind of what refers to one object of the shadow heap: values of one object are the same object.
template <class T, uint32_t T::* number, class Base = ValueKind>
class KindOfObjects : public Base {
 public:
  bool same_form(const Value& a, const Value& b) const override {
    return a.as<T>()->*number == b.as<T>()->*number;
  }
  void each_object(const Value& value, const ValueKind::Visit& visit) const override {
    visit(value.as<T>()->*number);
  }
  void renumber(Value& value, const ValueKind::Renumber& object, const ValueKind::Renumber&) const override {
    uint32_t& own = value.as<T>()->*number;
    own = object(own);
  }
  std::optional<bool> identical(Tracer& t, const Value& a, const Value& b, nb::handle node) const override {
    need_known_identity(t, a.as<T>()->*number, b.as<T>()->*number, node);
    return same_form(a, b);
  }

 protected:
  ~KindOfObjects() = default;
};

/// What the kinds of lists and of dicts have in common.
template <class T>
class KindOfContainers : public KindOfObjects<T, &T::object, BuiltinKind> {
 public:
  std::string words(const Tracer& t, const Value& value) const override {
    return words_of_object(t, value, *this);
  }
  bool has_methods(const Tracer&, const Value&) const override { return true; }
  bool is_foreign(const Tracer& t, const Value& value) const override {
    return std::ranges::any_of(held(t, value).values,
                               [&](const Value& v) { return frontend::is_foreign(t, v); });
  }
  bool may_change_length(const Value&) const override { return true; }
  Precedence precedence() const override { return Precedence::Containers; }
  std::optional<Value> binary(Tracer& t, Operator op, const Value& a, const Value& b,
                              nb::handle node) const override {
    return binary_of_sequences(t, op, a, b, node);
  }

 protected:
  ~KindOfContainers() = default;
  static const HeapObject& held(const Tracer& t, const Value& value) {
    return t.state.heap.at(value.as<T>()->object);
  }
};

}  // namespace ingot::frontend
