#pragma once

#include <Python.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/dtype.h"
#include "base/strided.h"
#include "bindings/inline_vector.h"
#include "interop/numpy.h"
#include "ir/function.h"

/// The words that descriptions of arguments are made of (signature.h), as `Signature` writes and `Recogniser`
/// reads them.
namespace ingot::bindings {

/// What a word is about: its lowest byte. The rest of it:
///   Array     8: dtype, 16: axes, 21: writable, 22: layout, 24: orders, 26: length of a short last axis,
///             30: measured, 31: a memory map, 32: alias set, 48: ones
///   Scalar    8: dtype, or one of Python's kinds
///   Constant  8: hash; an object
///   Slice, Range  three values follow, those of a range are numbers
///   Tuple, List, Dict  8: length; a dict's keys are constants, before the values
///   ListBuffer  8: number of columns; what an element is like follows - numbers, tuples, or Absent of an
///             empty list -, then the columns, which are arrays
///   Mapping   a list buffer of keys and one of values follow
///   Named     8: length; an object, the class of the namedtuple
///   Object    8: number of attributes that are described; an object, the class; then each, or Absent
///   Stream    8: number of arrays, which follow; an object, the class
///   Copied    an object, the class of the library's; then what is known of a container, and what is in it
///   Method    the function follows, then what it is bound to
///   Partial   the function, a tuple and a dict follow
///   Same      8: the number of a container
///   Characters   the array of a string's code points follows
///   Fields    8: what holds records, 16: hash; an object, their dtype; the array of their first bytes
///   follows Foreign   32: alias set; an object, the description Device    8: the address of the device that
///   the call runs on, and 1 if its libraries are used; last
enum class Tag : uint64_t {
  Array,
  Scalar,
  Constant,
  Slice,
  Method,
  Partial,
  Tuple,
  List,
  ListBuffer,
  Mapping,
  Dict,
  Named,
  Object,
  Absent,
  Stream,
  Same,
  Foreign,
  Characters,
  Fields,
  Guarded,
  Range,
  Device,
  Copied
};

constexpr uint64_t word_of(Tag tag, uint64_t rest = 0) { return static_cast<uint64_t>(tag) | rest << 8; }
constexpr Tag tag_of(uint64_t word) { return static_cast<Tag>(word & 0xff); }

inline constexpr int kAliasShift = 32;
inline constexpr uint64_t kMaxAliasSet = 0xffff;
inline constexpr Py_ssize_t kMaxLeaves = 16;   ///< of a container that is described element by element,
inline constexpr Py_ssize_t kMaxUnlike = 64;   ///< or of one that is no list buffer,
inline constexpr size_t kMaxAllUnlike = 512;   ///< where there are not more leaves in all
inline constexpr size_t kMaxContainers = 256;  ///< of which instances can be some

inline constexpr uint64_t kMeasured = 16;  ///< next to the length of a last axis, 0 if it is not short
static_assert(ir::kLongestShort < kMeasured);
constexpr bool is_measured(uint64_t array_word) { return (array_word >> 26 & kMeasured) != 0; }
inline constexpr uint64_t kMapped = uint64_t{1} << 31;  ///< in the word of an array

using ir::Layout;
enum PythonKind : uint64_t { kBool = base::kDTypeCount, kInt, kFloat, kComplex };

/// The hash of strings and numbers, which runs no code of the user's; the address of everything else.
uint64_t word_of_constant(PyObject* value);
/// Whether an int fits 64 bits.
inline bool fits(PyObject* number) {
  int overflow = 0;
  PyLong_AsLongLongAndOverflow(number, &overflow);
  return overflow == 0;
}
/// Whether an object stands for itself: its value is what it is.
bool is_constant(PyObject* value);
bool is_key(PyObject* key);

inline constexpr size_t kRangeParts = 3;
/// The start, stop or step of Python's range: a new reference. Null: an exception is set.
inline PyObject* part_of_range(PyObject* range, size_t i) {
  static constexpr const char* kNames[kRangeParts] = {"start", "stop", "step"};
  return PyObject_GetAttrString(range, kNames[i]);
}
/// Whether a part of a range is a step of 1, which is known when compiling.
inline bool is_usual_step(PyObject* part, size_t i) {
  return i + 1 == kRangeParts && fits(part) && PyLong_AsLongLong(part) == 1;
}

/// The layout of an array in memory.
struct ArrayLayout : base::Strided {
  base::DType dtype;
  uintptr_t data;
  bool is_writable;
  bool is_c_order;  ///< as NumPy has it: axes of length 1 do not count
  bool is_f_order;

  /// Whether strides are those of an array without gaps, those of axes of length 1 too. C if both are, and
  /// for arrays without elements, whose strides nobody uses.
  [[gnu::always_inline]] Layout layout() const {
    if (has_c_strides() || is_empty()) return Layout::C;
    return has_f_strides() ? Layout::F : Layout::Any;
  }
};

/// The layout of a NumPy array, whose elements count as numbers of a dtype.
[[gnu::always_inline]] inline ArrayLayout laid_of(PyArrayObject* array, base::DType dtype) {
  return {strided_of(array),
          dtype,
          reinterpret_cast<uintptr_t>(PyArray_DATA(array)),
          static_cast<bool>(PyArray_ISWRITEABLE(array)),
          static_cast<bool>(PyArray_IS_C_CONTIGUOUS(array)),
          static_cast<bool>(PyArray_IS_F_CONTIGUOUS(array))};
}

/// An array of NumPy's; false: it is none that compiled code can have.
[[gnu::always_inline]] inline bool lay_out(PyObject* value, ArrayLayout& laid) {
  PyArrayObject* const array = as_array(value);
  const std::optional<base::DType> dtype = dtype_of(PyArray_TYPE(array));
  const bool has_numbers = dtype && PyArray_ISNBO(PyArray_DESCR(array)->byteorder);
  if (!has_numbers || PyArray_NDIM(array) > kMaxLeaves) return false;
  laid = laid_of(array, *dtype);
  return true;
}

/// The word of an array, without its alias set; false where the bytes of its elements have no number:
/// compiled code relies on it, and `zeros((2**62, 0), "i1").view("f8")` has none.
[[gnu::always_inline]] inline bool word_of_array(const ArrayLayout& laid, bool sees_layout, bool is_measured,
                                                 uint64_t& word) {
  uint64_t orders = 0;
  if (sees_layout)
    orders = static_cast<uint64_t>(laid.is_c_order ? 1 : 0) | static_cast<uint64_t>(laid.is_f_order ? 2 : 0);
  uint64_t ones = 0;
  int64_t longest = 0;
  for (size_t axis = 0; axis < laid.rank(); ++axis) {
    ones |= static_cast<uint64_t>(laid.lengths[axis] == 1 ? 1 : 0) << axis;
    longest = std::max(longest, laid.lengths[axis]);
  }
  uint64_t last = 0;
  if (is_measured && laid.rank() >= 2) {
    const int64_t length = laid.lengths[laid.rank() - 1];
    last = kMeasured | static_cast<uint64_t>(length >= 2 && length <= ir::kLongestShort ? length : 0);
  }
  if (longest > NPY_MAX_INTP / 16 && longest > NPY_MAX_INTP / laid.itemsize) return false;
  word = word_of(Tag::Array, static_cast<uint64_t>(laid.dtype) | static_cast<uint64_t>(laid.rank()) << 8 |
                                 static_cast<uint64_t>(laid.is_writable ? 1 : 0) << 13 |
                                 static_cast<uint64_t>(laid.layout()) << 14 | orders << 16 | last << 18 |
                                 ones << 40);
  return true;
}

/// Which arrays of a call may share memory, as np.may_share_memory: the bytes between their lowest and
/// highest overlap. An array is of the set of the first array that it may share memory with; of its own
/// otherwise. Where it may share memory with two sets, all arrays are of one.
class Memories {
 public:
  /// `word`: the number of the array's word.
  [[gnu::always_inline]] void add(const ArrayLayout& laid, size_t word) {
    Memory memory{laid.reach().at(laid.data), 0, word};
    for (const Memory& other : all_) {
      if (!memory.overlaps(other)) continue;
      if (memory.alias_set != 0 && memory.alias_set != other.alias_set) together_ = true;
      if (memory.alias_set == 0) memory.alias_set = other.alias_set;
    }
    if (memory.alias_set == 0) memory.alias_set = all_.size() + 1;
    together_ = together_ || memory.alias_set > kMaxAliasSet;
    all_.push_back(memory);
  }

  /// Calls `fn` with the number of each array's word and its set, in place; stops at the first `false`.
  template <class Fn>
  bool all_of(Fn&& fn) const {
    for (const Memory& memory : all_)
      if (!fn(memory.word, (together_ ? uint64_t{1} : memory.alias_set) << kAliasShift)) return false;
    return true;
  }

 private:
  struct Memory : base::ByteRange {
    uint64_t alias_set;
    size_t word;
  };

  InlineVector<Memory, 24> all_;
  bool together_ = false;  ///< all arrays count as sharing memory
};

/// References to objects, which it lets go of in the end.
class Held {
 public:
  Held() {}  // NOLINT: as InlineVector
  ~Held() {
    for (PyObject* object : all_) Py_DECREF(object);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  void add(PyObject* new_reference) { all_.push_back(new_reference); }

 private:
  InlineVector<PyObject*, 24> all_;
};

}  // namespace ingot::bindings
