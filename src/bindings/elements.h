#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "bindings/described.h"
#include "interop/arrays.h"

/// Lists of unknown length as Python objects, made of the columns that compiled code gives, with the
/// instances and lists of the pools that they refer to.
namespace ingot::bindings {

/// An array in such a list, as the columns have it.
struct HeldArray {
  static constexpr int64_t kOwner = -2;  ///< an `argument`: none; the object that its memory was made with

  int64_t buffer;    ///< the number that op `keep` gave
  int64_t offset;    ///< of the first element in it, in bytes
  int64_t argument;  ///< the leaf that it is; below 0: none
  bool is_writable;
  bool owns;      ///< of one memory, such arrays are one object
  Window window;  ///< without address
};

/// The numbers of a column.
struct Column {
  const std::byte* data;
  int64_t stride;  ///< in bytes
  base::DType dtype;

  const std::byte* at(int64_t index) const { return data + index * stride; }
  int64_t integer(int64_t index) const;  ///< of int64 or int8
};

/// A string of one code point; the empty string for a number below 0.
nb::object text_of_code(int64_t code);

/// Makes lists. Columns and descriptions stay valid until `fill`.
class Elements {
 public:
  using Columns = std::vector<Column>;
  using MakeArray = std::function<nb::object(const HeldArray&)>;

  explicit Elements(MakeArray make_array) : make_array_(std::move(make_array)) {}

  /// The pools, in the order of their numbers, before anything refers to them: one of instances with these
  /// attributes, which are the parts of `form`,
  void add_instances(nb::handle names, const Description& form, int64_t length, Columns columns);
  /// or one of lists: their headers, and the list buffer of the elements of them all.
  void add_rows(int64_t length, Columns headers, const Description& buffer, Columns store);
  /// Fills the instances and lists that have been referred to, and those that these refer to.
  void fill();

  /// A list of so many elements.
  nb::object list(const Description& form, int64_t length, const Columns& columns);
  /// Has a list these elements. Those that are in it stay where they are what they are to be.
  void refill(PyObject* list, const Description& form, int64_t length, const Columns& columns);
  /// Has a dict these keys and values, in this order.
  struct Listed {
    const Description& form;
    const Columns& columns;
  };
  void refill(PyObject* dict, const Listed& keys, const Listed& values, int64_t length);
  /// An instance, or list, of a pool; None at -1, an invalid object at -2. Of several pools, the lowest bits
  /// of the index are the number of the pool, and of its type.
  nb::object record(std::span<const size_t> pools, nb::handle types, int64_t index);

 private:
  struct Pool {
    nb::handle names;         ///< of attributes; not valid: it is one of lists
    const Description* form;  ///< of an instance's attributes, as a tuple, or of an element of a list
    bool refers;              ///< ... to other instances and lists
    Columns columns;
    Columns headers;
    std::vector<nb::object> made;
  };
  struct Waiting {
    size_t pool;
    int64_t index;
  };

  /// A new reference; null: it is not there.
  PyObject* make(const Description& form, const Columns& columns, int64_t index);
  PyObject* part(const Description& form, const Columns& columns, int64_t index);
  nb::object part_of_list(const Description& form, int64_t first, int64_t end, const Columns& columns);
  nb::object held(const frontend::described::Array& form, size_t column, const Columns& columns,
                  int64_t index);
  void fill_row(const Pool& pool, int64_t index);
  void fill_instance(const Pool& pool, int64_t index);

  MakeArray make_array_;
  std::vector<Pool> pools_;
  std::vector<Waiting> waiting_;
};

}  // namespace ingot::bindings
