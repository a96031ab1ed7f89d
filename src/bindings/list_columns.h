#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "bindings/words.h"

/// Lists whose elements are alike, as columns: an array for each number of an element.
namespace ingot::bindings {

namespace nb = nanobind;

/// What the elements of a list are like: a number, or a tuple or namedtuple of such parts.
struct ElementForm {
  Tag tag = Tag::Scalar;
  uint64_t kind = 0;         ///< of a number, as the rest of its word
  PyObject* type = nullptr;  ///< of a namedtuple, borrowed of an element
  size_t column = 0;         ///< of a number
  std::vector<ElementForm> parts{};
};

/// The kind of a number that compiled code has, as the rest of its word; none: it is another object.
std::optional<uint64_t> kind_of_number(PyObject* value);
/// The dtype of such a kind.
base::DType dtype_of_kind(uint64_t kind);

/// The kind of Python's numbers of a dtype.
uint64_t python_kind(base::DType dtype);
/// Stores the bytes of a number of a kind; false: it is another object, or does not fit.
bool store_number_of(PyObject* value, uint64_t kind, std::byte* to);

/// A list as columns.
struct ListColumns {
  ElementForm form{.tag = Tag::Absent};  ///< of all elements; of an empty list `Absent`
  std::vector<nb::object> columns{};     ///< new arrays
};

/// None: the elements are not all alike and made of numbers, or an int does not fit 64 bits, or there is a
/// NaN among `are_keys`. Runs no code. Throws MemoryError.
std::optional<ListColumns> columns_of_list(PyObject* list, bool are_keys = false);

/// The keys and values of a dict as lists, as they are at one time. Throws MemoryError.
std::pair<nb::object, nb::object> items_of_dict(PyObject* dict);

}  // namespace ingot::bindings
