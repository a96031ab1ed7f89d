#pragma once

#include "frontend/evaluator_parts.h"

namespace ingot::frontend {

/// Instances that are known by their places in a pool. That a class has a pool is a fact of the function: it
/// is asked for where an instance that the function made is put into a growing list or an attribute of such
/// an instance, or is used where paths bring different ones. From then on all that the function makes of the
/// class stand there once their `__init__` has ended, or earlier where something is to hold them: a pool is a
/// growing list of tuples of their attributes. Nothing leaves a pool before the call ends.
class Evaluator::Records {
 public:
  explicit Records(Evaluator& evaluator) : e_(evaluator) {}

  /// Makes the pools, empty, before anything is evaluated.
  void make_pools();
  /// An empty list that is a pool, or a part of one.
  uint32_t new_pool(const std::string& purpose);
  /// Asks for pools of classes; of several ones, for these to be of one family.
  [[noreturn]] void ask_for(const std::vector<nb::object>& types, nb::handle node);
  /// Asks for instances to stand in the pool of their class before `__init__`: it puts them somewhere on some
  /// of its paths.
  [[noreturn]] void ask_for_early(const nb::object& type, nb::handle node);
  /// An instance is about to be filled.
  void begun(const Object& instance, nb::handle node);
  /// An instance, which `__init__` has filled, as code goes on with it: a record where its class has a pool.
  Value made(const Object& instance, nb::handle node);

  /// The record that a value is, or that an instance has become; none: it is something else.
  std::optional<Record> of(const Value& value) const;
  /// A value as something holds it whose place is not known when compiling: instances in it are records, or
  /// ask for a pool; the caller's own are left as they are.
  Value held(const Value& value, nb::handle node);
  /// What a record is on one path, and None, nothing or another record of its family on another; none:
  /// neither is.
  static std::optional<Record> join(const Value& a, const Value& b);
  /// The conflict of two values, which a pool may settle.
  Conflict conflict(const Value& a, const Value& b, std::string reason) const;

  /// The place of a record, None, or what is not bound.
  NodeId place_of(const Value& value);
  NodeId is_there(const Record& record);  ///< it is not None
  /// The record, where it is not None; raises.
  Record present(const Record& record, base::ExceptionKind kind, const std::string& message);
  /// The record, where it is bound; raises.
  Record bound(const Record& record, base::ExceptionKind kind, const std::string& message);
  /// What is made of a record where it is there, and of None.
  Value on_both(const Record& record, const std::function<Value(const Value&)>& make);
  /// Whether two values, one of them a record, are the same.
  NodeId is_same(const Value& a, const Value& b);

  /// A record that is there.
  static Record certain(const Record& record);

  // kin.cpp: records of which the class is not known
  /// The record as one of a class of its family.
  Record of_type(const Record& record, const nb::object& type) const;
  /// The classes that an instance may be of.
  std::vector<nb::object> classes_of(const Record& record) const;
  /// An instance that may be of several classes; null: it is of one, or something else.
  static const Record* open(const Value& value);
  /// Whether an instance that is there is of one of the classes for which this is true.
  Value is_of(const Record& record, const std::function<bool(const nb::object&)>& is_it);
  /// An instance as one of those of its classes that are subclasses of another.
  Value of_subclasses(const Value& instance, const nb::object& base) const;
  /// Whether all that an instance may be have a plain attribute or a method of a name; none: some have, or
  /// a property.
  std::optional<bool> has_attribute(const Value& instance, const std::string& name, nb::handle node);
  /// What is made of a record that is there, for each of its classes on a path of its own.
  Value on_each(const Record& record, const std::function<Value(const Value&)>& make);
  /// What an attribute of an open record is: a method that is looked up again when it is called, or what it
  /// is for each of the classes.
  Value open_attribute(const Record& record, const std::string& name, nb::handle node);
  /// The record whose class decides what a method is, or whose class a value is; null: another value.
  static const Record* decides(const Value& value);
  /// Whether a value is the class of an open record.
  static bool is_open_class(const Value& value);
  /// A call of a method of a record that is known by its name alone.
  Value call_by_class(const Method& method, Call& call);
  /// What two methods of records are on two paths; none: they are something else.
  std::optional<Value> joined_method(const Value& a, const Value& b) const;
  /// Behind a branch on the class of a record, what stands for it in all variables may be of fewer classes.
  void narrow(NodeId condition, bool holds);

  /// The pool that a record of one class stands in.
  HeapObject& pool_of(const Record& record) const;
  /// Attributes by their numbers: `Unbound`, where an instance does not have it.
  Value attribute(const Record& record, size_t number);
  void set_attribute(const Record& record, size_t number, const Value& value, nb::handle node);

  /// How a result shows a record, whose pool it then needs.
  nb::object describe(const Record& record, Outward& outward);
  /// The pool of a number: the names of attributes (None: it is one of lists), and the list that it is; of
  /// lists, the store too. The columns join the leaves.
  nb::object describe_pool(uint32_t pool, Outward& outward);

  /// Puts a record in the place of what it has been made of, in all variables and containers.
  void replace(const std::function<bool(const Value&)>& is_it, const Record& record);

 private:
  std::string early_fact(const nb::object& type) const;
  struct Test;
  std::optional<Test> test_of(NodeId condition) const;
  const std::vector<nb::object>& kin_of(const Record& record) const { return e_.pools_.kin.at(record.pool); }
  int bits_of(const Record& record) const;  ///< of a place, how many are the class's number
  NodeId row(const Record& record);         ///< its place in the pool of its class
  /// The record of the n-th class of its family.
  static Record of_class(const Record& record, size_t n);
  Value on_some(const Record& record, const std::vector<uint64_t>& groups,
                const std::function<Value(const Record&)>& make);
  NodeId is_among(const Record& record, uint64_t classes);
  nb::object method_of(const Record& record, const std::string& name, nb::handle node);
  /// Whether a function does the same for instances of all classes that have it.
  static bool is_for_all(const nb::object& method);
  bool has_pool(const nb::object& type) const { return e_.pools_.by_class.contains(type.ptr()); }
  Record moved(const Object& instance, nb::handle node);

  Evaluator& e_;
};

}  // namespace ingot::frontend
