#pragma once

#include "frontend/kinds/pooled_values.h"
#include "frontend/routines/routines.h"

namespace ingot::frontend {

/// Lists whose holder is known only at run time: in list buffers, in attributes of pooled instances, in dicts
/// of unknown keys. They are in a pool of lists (`Pooled`): a list buffer of tuples (start, length,
/// capacity), each a range of the pool's store, which is a list buffer of the elements of all of them. A list
/// that outgrows its capacity moves to the end of the store. Lists that one variable may hold share a pool:
/// they are identified by the locations in the program where they are made, and the pool is demanded like one
/// of instances. The rest is Python, in `ingot.library.rows` and `ingot.library.lists`.
class Rows {
 public:
  explicit Rows(Tracer& t) : t_(t) {}

  void make_pools();
  /// Notes where a list was made.
  void made_at(uint32_t list, nb::handle node);
  /// A list that has just been made, as the following code uses it.
  Value made(const Value& list, nb::handle node);
  /// A list as a holder of run time stores it; the caller's own are left as they are.
  Value held(List list, nb::handle node);
  /// Asks for one pool for all lists that are made at these locations.
  [[noreturn]] void ask_for(const std::vector<std::string>& sites, nb::handle node);
  /// Asks for one pool for the lists in lists that two calls of a recursive function are passed: with pools
  /// of their own, lists that are made anew at each level would have another type at each level.
  void unite(const std::map<std::string, Value>& before, const std::map<std::string, Value>& now,
             nb::handle node);
  /// Where the lists of a value are made; empty: it is no list made by the function.
  std::vector<std::string> sites_of(const Value& value) const;

  NodeId length(const Pooled& list);
  Value item(const Pooled& list, const Value& index, nb::handle node);
  void set_item(const Pooled& list, const Value& index, const Value& value, nb::handle node);
  Value method(const Pooled& list, const std::string& name, Call& call);
  void delete_item(const Pooled& list, const Value& index, nb::handle node);
  Value iterated(const Pooled& list, const Value& from, nb::handle node);  ///< from a place on
  /// An operator or comparison of lists of which one is pooled; none: another one.
  std::optional<Value> binary(Operator op, const Value& a, const Value& b, nb::handle node);
  std::optional<Value> compare(Operator op, const Value& a, const Value& b, nb::handle node);
  /// An array of a list of such lists, or of arrays; none: it is another list.
  std::optional<Value> array_of(const Value& rows, std::optional<DType> wanted, nb::handle node);

 private:
  bool is_list(const Value& value) const;
  std::string family(std::string site) const;
  List store_of(const Pooled& list) const { return {pool_at(t_, list.pool).store}; }
  /// Makes the store of a list a list buffer of elements of this form.
  void open_store(const Pooled& list, const std::optional<Value>& form);
  NodeId header(const Pooled& list, size_t part);
  NodeId index_of(const Pooled& list, const Value& index, const char* missing);
  Value stacked(const Value& arrays, std::optional<DType> wanted, nb::handle node);
  /// An array made of a list by a function of `ingot.library.rows`, converted to a wanted dtype.
  Value array_by(const char* name, const Value& list, DType own, std::optional<DType> wanted,
                 nb::handle node);
  Value by_library(const char* name, const Pooled& list, std::vector<Value> more, nb::handle node);
  Value moved(List list, uint32_t pool, nb::handle node);

  Tracer& t_;
};

}  // namespace ingot::frontend
