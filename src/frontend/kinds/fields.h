#pragma once

#include "frontend/kinds/value_kind.h"

namespace ingot::frontend {

/// Arrays of records, of NumPy's structured dtypes, and single records (`Structured`). Fields and parts of an
/// array are views of the same memory. A record is an index into an array, so that `a[i]["x"]` is
/// `a["x"][i]`. New memory - for copies, gathered records, `np.empty` - is an array of bytes, whose last axis
/// holds the bytes of one record. `library/structured.py` implements what can be expressed by fields and such
/// arrays.
class Fields {
 public:
  explicit Fields(Tracer& t) : t_(t) {}

  /// Whether a value is an array of records (even without axes), not a single record.
  static bool is_array(const Value& value);
  static int rank_of(const Structured& records);

  /// An argument that is described as records.
  Value parameter(const Description& given, const std::string& name);
  Description describe(const Structured& records, Outward& outward);
  /// The leaf of the argument that has this dtype; -1: no argument has it.
  int leaf_of(const nb::object& dtype) const;
  /// Makes views of all fields of the records in a value as soon as the value is made, outside of the loops
  /// that use them. Unused ones are removed later.
  void open(const Value& value);
  /// Both values in a common form, for a join; none: they have none.
  static std::optional<std::pair<Value, Value>> alike(const Value& a, const Value& b);

  /// Whether two are known to be the same object.
  static bool is_same(const Structured& a, const Structured& b);
  /// Whether two may be the same object, but are not known to be: two arguments, or a record taken twice.
  static bool may_be_same(const Structured& a, const Structured& b);
  /// Whether two objects are dtypes with the same fields: they may be the same object, or not.
  static bool may_be_same(const nb::object& a, const nb::object& b);

  /// Its description in messages.
  static std::string words(const Structured& records);
  /// Its class in Python.
  static nb::object class_of(const Structured& records);
  /// An object of the same type, for what depends on types only.
  static nb::object stand_in(const Structured& records);

  Value attribute(const Structured& records, const std::string& name, nb::handle node);
  void set_attribute(const Structured& records, const std::string& name, const Value& value, nb::handle node);
  Value item(const Structured& records, const Value& index, nb::handle node);
  void set_item(const Structured& records, const Value& index, const Value& value, nb::handle node);
  /// The fields of a record, in order.
  std::vector<Value> members(const Structured& record, nb::handle node);
  NodeId length(const Structured& records);  ///< of an array along its first axis, which must exist

  void fill_records(const Value& target, const Value& value, nb::handle node);

  /// The known object that a dtype is made of; also from lists and tuples.
  nb::object spelled(const Value& value, nb::handle node);
  /// Calls a function that takes or makes records; none: it needs no special treatment.
  std::optional<Value> call(const Builtin& builtin, Call& call);
  Value copy(const Structured& records, nb::handle node);
  Value method(const Structured& records, const std::string& name, Call& call);
  /// None: neither holds records.
  std::optional<Value> compare(Operator op, const Value& a, const Value& b, nb::handle node);

  /// An array of the bytes of records; its last axis holds the bytes of one record.
  Array bytes(const Structured& records, nb::handle node);
  /// Records on an array of their bytes.
  Structured on_bytes(const Value& bytes, const nb::object& dtype, Holder holder);

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
  /// A prepared index.
  struct Index {
    std::vector<Value>
        parts;  ///< arrays for sequences, and numbers for arrays without axes; with an Ellipsis
    bool has_arrays = false;
    bool takes_one = false;  ///< it has only integers, one for each axis, at its beginning
  };
  Structured record_at(const Structured& records, const Index& index);
  Index prepared(const Structured& records, const Value& index, nb::handle node);
  void fill(const Structured& records, const Value& field, const Value& value, nb::handle node);
  Value by_library(const char* name, std::vector<Value> arguments, nb::handle node);
  std::optional<Value> by_table(const char* table, const nb::object& key, Call& call);
  bool holds_records(const Value& value, int depth) const;  ///< whether it is or contains some

  Tracer& t_;
};

}  // namespace ingot::frontend
