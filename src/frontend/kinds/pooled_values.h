#pragma once

#include "frontend/kinds/value_kind.h"

namespace ingot::frontend {

/// Instances in pools, each known by its index (`Pooled`). That a class has a pool is a fact of the function.
/// It is demanded where an instance that the function made is stored in a list buffer or in an attribute of a
/// pooled instance, or is used after a join of paths with different instances. From then on all of the
/// function's new instances of the class move to the pool: after their `__init__`, or earlier where something
/// holds them. A pool is a list buffer of tuples of attributes. Nothing leaves a pool before the call ends.
class PooledValues {
 public:
  explicit PooledValues(Tracer& t) : t_(t) {}

  /// Makes the pools, empty, before anything is evaluated.
  void make_pools();
  /// An empty list that is a pool, or a part of one.
  uint32_t new_pool(const std::string& purpose);
  /// Asks for pools of classes; of several ones, for these to be of one family.
  [[noreturn]] void ask_for(const std::vector<nb::object>& types, nb::handle node);
  /// Asks for instances to be in the pool of their class before `__init__`, which stores them somewhere on
  /// some of its paths.
  [[noreturn]] void ask_for_early(const nb::object& type, nb::handle node);
  /// An instance is about to be filled.
  void begun(const Object& instance, nb::handle node);
  /// An instance after its `__init__`, as the following code uses it: pooled if its class has a pool.
  Value made(const Object& instance, nb::handle node);

  /// The pooled instance that a value is, or that it has become; none: it is something else.
  std::optional<Pooled> of(const Value& value) const;
  /// A value as a holder of run time stores it: its instances are pooled, or ask for a pool; the caller's own
  /// are left as they are.
  Value held(const Value& value, nb::handle node);
  /// The join of a pooled instance with None, Unbound or another one of its family; none: neither is pooled.
  static std::optional<Pooled> join(const Value& a, const Value& b);
  /// The conflict of two values, which a pool may resolve.
  Conflict conflict(const Value& a, const Value& b, std::string reason) const;

  /// The index of a pooled instance, of None, or of Unbound.
  NodeId index_of(const Value& value);
  /// One that may be None; null: it is something else.
  static const Pooled* optional(const Value& value) {
    const Pooled* record = value.as<Pooled>();
    return record != nullptr && record->may_be_none ? record : nullptr;
  }
  NodeId is_there(const Pooled& record);  ///< neither None nor unbound
  /// The same, checked not to be None; else raises.
  Pooled present(Pooled record, base::ExceptionKind kind, const std::string& message);
  /// The same, checked to be bound; else raises.
  Pooled bound(Pooled record, base::ExceptionKind kind, const std::string& message);
  /// Applies `make` on two paths: to a pooled instance that is there, and to None.
  Value on_both(const Pooled& record, const std::function<Value(const Value&)>& make);
  /// Applies `make` to two values of which one may be None, or of several classes, on a path for each; none:
  /// neither may be.
  std::optional<Value> on_certain(const Value& a, const Value& b,
                                  const std::function<Value(const Value&, const Value&)>& make);
  /// Whether two values, one of them pooled, are the same object.
  NodeId is_same(const Value& a, const Value& b);

  /// The same as one that is there.
  static Pooled certain(const Pooled& record);

  // kin.cpp: pooled instances of unknown class
  /// The same as an instance of one class of its family.
  Pooled of_type(const Pooled& record, const nb::object& type) const;
  /// The possible classes of an instance.
  std::vector<nb::object> classes_of(const Pooled& record) const;
  /// An instance that may be of several classes; null: it is of one, or something else.
  static const Pooled* open(const Value& value);
  /// Whether the class of an instance that is there fulfils a condition.
  Value is_of(const Pooled& record, const std::function<bool(const nb::object&)>& is_it);
  /// An instance, its possible classes limited to subclasses of `base`.
  Value of_subclasses(const Value& instance, const nb::object& base) const;
  /// Whether all possible classes of an instance have a plain attribute or a method of a name; none: only
  /// some have, or it is a property.
  std::optional<bool> has_attribute(const Value& instance, const std::string& name, nb::handle node);
  /// Applies `make` to an instance that is there, for each possible class on its own path.
  Value on_each(const Pooled& record, const std::function<Value(const Value&)>& make);
  /// An attribute of an instance of unknown class: a method, which is looked up again when it is called, or
  /// the join over the possible classes.
  Value open_attribute(const Pooled& record, const std::string& name, nb::handle node);
  /// The instance whose class decides which function a method is, or whose class a value is; else null.
  static const Pooled* decides(const Value& value);
  /// Whether a value is the class of an instance of unknown class.
  static bool is_open_class(const Value& value);
  /// Calls a method that is known only by its name.
  Value call_by_class(const Method& method, Call& call);
  /// The join of two methods of pooled instances; none: other values.
  std::optional<Value> joined_method(const Value& a, const Value& b) const;
  /// After a branch on the class of an instance: removes possible classes of that instance in all variables.
  void narrow(NodeId condition, bool holds);

  /// The pool that holds an instance of one class.
  HeapObject& pool_of(const Pooled& record) const;
  /// An attribute by its number; `Unbound` if the instance lacks it.
  Value attribute(const Pooled& record, size_t number);
  void set_attribute(const Pooled& record, size_t number, const Value& value, nb::handle node);

  /// The description of a pooled instance in a result, which then includes the pool.
  Description describe(const Pooled& record, Outward& outward);
  /// The description of a pool. Adds the columns to the leaves.
  Description describe_pool(uint32_t pool, Outward& outward);

  /// Replaces the values for which `is_it` is true by a pooled instance, in all variables and containers.
  void replace(const std::function<bool(const Value&)>& is_it, const Pooled& record);

 private:
  std::string early_fact(const nb::object& type) const;
  struct Test;
  std::optional<Test> test_of(NodeId condition) const;
  const std::vector<nb::object>& kin_of(const Pooled& record) const {
    return t_.facts.pools.kin.at(record.pool);
  }
  int bits_of(const Pooled& record) const;  ///< how many bits of an index are the class's number
  NodeId row(const Pooled& record);         ///< its index in the pool of its class
  /// The same as an instance of the n-th class of its family.
  static Pooled of_class(const Pooled& record, size_t n);
  Value on_some(const Pooled& record, const std::vector<uint64_t>& groups,
                const std::function<Value(const Pooled&)>& make);
  NodeId is_among(const Pooled& record, uint64_t classes);
  nb::object method_of(const Pooled& record, const std::string& name, nb::handle node);
  /// Whether a function does the same for instances of all classes that have it.
  static bool is_for_all(const nb::object& method);
  bool has_pool(const nb::object& type) const { return t_.facts.pools.by_class.contains(type.ptr()); }
  Pooled moved(const Object& instance, nb::handle node);

  Tracer& t_;
};

}  // namespace ingot::frontend
