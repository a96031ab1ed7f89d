#pragma once

#include "frontend/evaluator_parts.h"

namespace ingot::frontend {

/// Arrays of records - NumPy's structured dtypes, whose elements have fields -, and single records
/// (`Structured`). A field is a view of the same memory, and so are all parts of an array; a record is its
/// place in an array, so that `a[i]["x"]` is `a["x"][i]`. What has new memory - copies, what an index array
/// takes, `np.empty` - is made of an array of bytes, whose last axis is that of a record's. What can be said
/// by fields and such arrays stands in `library/structured.py`.
class Evaluator::Fields {
 public:
  explicit Fields(Evaluator& evaluator) : e_(evaluator) {}

  /// Whether a value is an array of records, of no axes too, not a single record.
  static bool is_array(const Value& value);
  static int rank_of(const Structured& records);

  /// An argument: `("fields", holder, dtype, array)`.
  Value parameter(const nb::tuple& description, const std::string& name);
  nb::object describe(const Structured& records, Outward& outward);
  /// The leaf of the argument whose dtype this is; -1: it is no argument's.
  int leaf_of(const nb::object& dtype) const;
  /// Makes the views of all fields of records in a value where it is made, so that they stand outside of the
  /// loops in which they are used. What nobody uses goes.
  void open(const Value& value);
  /// The same two with what their forms have in common, where paths meet; none: they cannot be one value.
  static std::optional<std::pair<Value, Value>> alike(const Value& a, const Value& b);

  /// Whether two are known to be one object.
  static bool is_same(const Structured& a, const Structured& b);
  /// Whether it is not known of two that are not: two arguments, or a record that is taken twice.
  static bool may_be_same(const Structured& a, const Structured& b);
  /// Whether two objects are dtypes of the same fields, which do not say whose they are.
  static bool may_be_same(const nb::object& a, const nb::object& b);

  /// What a message calls it.
  static std::string words(const Structured& records);
  /// The class that Python has of it.
  static nb::object class_of(const Structured& records);
  /// An object that behaves as it does, where types decide.
  static nb::object stand_in(const Structured& records);

  Value attribute(const Structured& records, const std::string& name, nb::handle node);
  void set_attribute(const Structured& records, const std::string& name, const Value& value, nb::handle node);
  Value item(const Structured& records, const Value& index, nb::handle node);
  void set_item(const Structured& records, const Value& index, const Value& value, nb::handle node);
  /// The fields of a record, in order.
  std::vector<Value> members(const Structured& record, nb::handle node);
  NodeId length(const Structured& records);  ///< of an array along its first axis, which it has

  void fill_records(const Value& target, const Value& value, nb::handle node);

  /// What a dtype is made of, known when compiling: lists and tuples too.
  nb::object spelled(const Value& value, nb::handle node);
  /// A function that is given records, or asked to make some; none: it takes them as it takes all else.
  std::optional<Value> call(const Builtin& builtin, Call& call);
  Value copy(const Structured& records, nb::handle node);
  Value method(const Structured& records, const std::string& name, Call& call);
  /// None: neither is of records.
  std::optional<Value> compare(const std::string& ast, const Value& a, const Value& b, nb::handle node);

  /// An array of the bytes of records, whose last axis is that of a record's.
  Array bytes(const Structured& records, nb::handle node);
  /// Records on an array of their bytes.
  Structured on_bytes(const Value& bytes, const nb::object& dtype, Structured::Holder holder);

 private:
  std::vector<NodeId> strides(const Structured& records);
  Array view_of(const Structured& records, DType dtype, int64_t offset, const nb::object& inner);
  Structured on(const Array& first, const Structured& like) const;
  std::optional<Value> field(const Structured& records, const std::string& name, bool is_used = true);
  Value part(const Structured& records, const nb::object& dtype, int64_t offset);
  void need_aligned(const Structured& records, const nb::object& dtype, int64_t offset);
  Value named_field(const Structured& records, const std::string& name);
  [[noreturn]] void raise_no_attribute(const Structured& records, const std::string& name);
  Structured alone(const Structured& record, nb::handle node);
  Value placed(const Structured& records, const Value& field, nb::handle node);
  Structured several(const Structured& records, const nb::list& names);
  std::optional<Value> by_name(const Structured& records, const Value& index, nb::handle node);
  std::optional<Value> by_place(const Structured& record, const Value& index, nb::handle node);
  /// An index, prepared.
  struct Index {
    std::vector<Value>
        parts;  ///< arrays for sequences, and numbers for arrays without axes; with an Ellipsis
    bool has_arrays = false;
    bool takes_one = false;  ///< it is of integers alone, one for each axis, which come first
  };
  Structured record_at(const Structured& records, const Index& index);
  Index prepared(const Structured& records, const Value& index, nb::handle node);
  void fill(const Structured& records, const Value& field, const Value& value, nb::handle node);
  Value by_library(const char* name, std::vector<Value> arguments, nb::handle node);
  std::optional<Value> by_table(const char* table, const nb::object& key, Call& call);
  bool holds_records(const Value& value, int depth) const;  ///< it is or contains some

  Evaluator& e_;
};

}  // namespace ingot::frontend
