#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/dtype.h"
#include "bindings/elements.h"
#include "bindings/fields.h"
#include "bindings/values.h"

/// Results as Python objects.
namespace ingot::bindings {

/// How Python objects - what a function returns, what a host function is given - are made of the values of a
/// call, as `_core` describes it.
class ResultPlan {
 public:
  /// None: a part that is not there.
  ResultPlan() = default;
  explicit ResultPlan(const nb::tuple& description);

  /// The object that the next values are described to be. `V` is `Values`, or what makes calls of it quick:
  /// `FrameValues`.
  template <class V>
  nb::object make(V& values) const;

  int traverse(visitproc visit, void* argument) const;
  void clear();

 private:
  enum class Kind : uint8_t {
    Static,
    Argument,
    Number,
    Array,
    Maybe,
    Member,
    Text,
    Characters,
    Fields,
    DType,
    Tuple,
    Named,
    List,
    ListBuffer,
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
  template <class V>
  struct Maker;

  Kind kind_ = Kind::Static;
  std::optional<base::DType> numpys_;  ///< of a number: the dtype that NumPy's has; none: it is Python's
  bool is_writable_ = false;           ///< of an array
  bool is_stand_in_ = false;           ///< of an instance: its class stands for another one
  bool may_be_argument_ = false;   ///< of an array: a number after it is the index of the argument, -1 none
  bool owns_ = false;              ///< of an array: others that own the same memory are the same object
  Holder holder_ = Holder::Array;  ///< of records, whose dtype is as `object_`, a copy of the plan's own
  int64_t dtype_leaf_ =
      -1;  ///< of a dtype, or of records: the leaf of records whose dtype it is; -1: a new one
  int64_t argument_ = -1;  ///< of an array: the leaf that it is; of the caller's container, which;
                           ///< of what has been made before: its index among arrays, containers and instances
  nb::object object_;  ///< what is static; what an element is like; keys, names of attributes; a string with
                       ///< holes; a namedtuple's class; pools
  nb::object type_;    ///< of an instance
  std::vector<List> lists_;  ///< of unknown length, borrowing from `object_`: itself, or those of pools
  std::vector<size_t>
      numbers_;  ///< of the results that are columns of numbers of buffers; of an instance's pools
  std::vector<ResultPlan> parts_;
};

}  // namespace ingot::bindings
