#pragma once

#include "frontend/kinds/value_kind.h"

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
  std::optional<bool> identical(Tracer&, const Value& a, const Value& b, nb::handle) const override {
    return same_form(a, b);
  }

 protected:
  ~KindOfObjects() = default;
};

}  // namespace ingot::frontend
