#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "bindings/elements.h"
#include "bindings/invocation.h"
#include "bindings/signature.h"
#include "runtime/context.h"

/// Results as Python objects; those that own their data are NumPy arrays over the runtime's blocks.
namespace ingot::bindings {

/// Whether a view's elements are all the bytes of its buffer, each once, from its first byte on.
bool covers(runtime::ViewSlot& view, base::DType dtype, int rank);

/// A writable array that owns `buffer`, all of which `view` covers, through NumPy's memory handler `ingot`:
/// its base is None, and the block goes back to the allocator when the array dies or changes its size. A new
/// reference, or null with an exception set. Wants the GIL; numpy's C API has been imported.
PyObject* owning_array(runtime::OwnedBuffer buffer, runtime::ViewSlot& view, int type_number, int rank);

/// A view of an array's memory, so many bytes behind its first element, whose base is who owns that memory.
nb::object view_at(const nb::object& owner, int64_t offset, nb::handle dtype,
                   const std::vector<int64_t>& lengths, const std::vector<int64_t>& strides,
                   bool is_writable);

/// What a function returns, made of the results of its code as `_core` describes it.
class ResultPlan {
 public:
  /// None: a part that is not there.
  ResultPlan() = default;
  explicit ResultPlan(const nb::tuple& description);

  /// The object that a call with these arguments has given.
  nb::object make(Invocation& call, const Signature& arguments) const;

  int traverse(visitproc visit, void* argument) const;
  void clear();

 private:
  enum class Kind : uint8_t {
    Static,
    Argument,
    Number,
    NumpyNumber,
    Array,
    Maybe,
    Text,
    Letters,
    Tuple,
    Named,
    List,
    Growing,
    Mapping,
    Dict,
    Object,
    Record,
    Pooled,
    Holding,
    Again
  };
  /// A list of unknown length: its length, and so many columns.
  struct List {
    Form form;
    size_t columns;
  };
  struct Maker;

  Kind kind_ = Kind::Static;
  bool is_writable_ = false;      ///< of an array
  bool may_be_argument_ = false;  ///< of an array: a number after it says which one, -1 none
  bool owns_ = false;             ///< of an array: others that own the same memory are the same object
  int64_t argument_ = -1;         ///< of an array: the leaf that it is; of the caller's container, which;
                           ///< of what has been made before: its place among arrays, containers and instances
  nb::object object_;  ///< what is static; what an element is like; keys, names of attributes; a text with
                       ///< holes; a namedtuple's class; pools
  nb::object type_;    ///< of an instance
  std::vector<List> lists_;  ///< of unknown length, borrowing from `object_`: itself, or those of pools
  std::vector<size_t>
      numbers_;  ///< of the results that are columns of numbers of buffers; of a record's pools
  std::vector<ResultPlan> parts_;
};

}  // namespace ingot::bindings
