#pragma once

#include "frontend/records.h"

namespace ingot::frontend {

/// Lists that stand where their place is not known when compiling: in growing lists, in attributes of
/// records, in dicts of unknown keys. They are records of a pool of lists: a growing list of tuples (start,
/// length, room), each a stretch of the pool's store, which is a growing list of the elements of them all. A
/// list that outgrows its stretch moves to the end of the store. Lists have one pool together where they may
/// stand in one place: this is found by the places in the program where they are made, and asked for like a
/// pool of instances. All else is Python, in `ingot.library.rows` and `ingot.library.lists`.
class Evaluator::Rows {
 public:
  explicit Rows(Evaluator& evaluator) : e_(evaluator) {}

  void make_pools();
  /// Remembers where a list was made.
  void made_at(uint32_t list, nb::handle node);
  /// A list that has just been made, as code goes on with it.
  Value made(const Value& list, nb::handle node);
  /// A list as something holds it whose place is not known when compiling; the caller's own are left as they
  /// are.
  Value held(const Reference& list, nb::handle node);
  /// Asks for a pool of lists that are made at these places, one for all.
  [[noreturn]] void ask_for(const std::vector<std::string>& sites, nb::handle node);
  /// Asks for one pool of the lists in lists that a recursive function is given in two calls: made anew at
  /// each level, with pools of their own, they would be of other types level by level.
  void unite(const std::map<std::string, Value>& before, const std::map<std::string, Value>& now,
             nb::handle node);
  /// Where the lists of a value are made; empty: it is no list of the function's.
  std::vector<std::string> sites_of(const Value& value) const;

  NodeId length(const Record& list);
  Value item(const Record& list, const Value& index, nb::handle node);
  void set_item(const Record& list, const Value& index, const Value& value, nb::handle node);
  Value method(const Record& list, const std::string& name, Call& call);
  void delete_item(const Record& list, const Value& index, nb::handle node);
  Value iterated(const Record& list, nb::handle node);
  /// An operator or comparison of lists of which one is a record; none: another one.
  std::optional<Value> binary(const std::string& ast, const Value& a, const Value& b, nb::handle node);
  std::optional<Value> compare(const std::string& ast, const Value& a, const Value& b, nb::handle node);
  /// An array of a list of such lists, or of arrays; none: it is another list.
  std::optional<Value> array_of(const Value& rows, std::optional<DType> wanted, nb::handle node);

 private:
  bool is_list(const Value& value) const;
  std::string family(std::string site) const;
  Reference store_of(const Record& list) const { return {e_.pool_at(list.pool).store}; }
  /// Lets the store of a list grow, of which elements have this form.
  void open_store(const Record& list, const std::optional<Value>& form);
  NodeId header(const Record& list, size_t part);
  NodeId place_of(const Record& list, const Value& index, const char* missing);
  Value stacked(const Value& arrays, std::optional<DType> wanted, nb::handle node);
  /// What a function of `ingot.library.rows` makes of a list, of another dtype if one is wanted.
  Value array_by(const char* name, const Value& list, DType own, std::optional<DType> wanted,
                 nb::handle node);
  Value by_library(const char* name, const Record& list, std::vector<Value> more, nb::handle node);
  Value moved(const Reference& list, uint32_t pool, nb::handle node);

  Evaluator& e_;
};

}  // namespace ingot::frontend
