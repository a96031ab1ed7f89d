#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>

#include "bindings/described.h"
#include "bindings/words.h"
#include "interop/numpy.h"

/// Arrays of NumPy's structured dtypes, whose elements are records of fields, and single records. Compiled
/// code gets the memory of their first bytes; the frontend makes views of fields from there.
namespace ingot::bindings {

namespace nb = nanobind;

/// What an object holds records as: an `ndarray` or `recarray` without attributes of its own, of a dtype with
/// fields, or an element of one (`np.void`, `np.record`); none: it is something else, or of a class derived
/// from these. Runs no code.
std::optional<Holder> holder_of(PyObject* object);

/// The dtype of what holds records. Borrowed.
PyArray_Descr* descr_of(PyObject* object, Holder holder);

/// Whether all that a dtype consists of is what compiled code has: numbers in the machine's byte order,
/// arrays of a fixed shape, and records of such, with names and titles that are plain strings, and no
/// metadata.
bool has_known_fields(PyArray_Descr* descr);

/// Whether two dtypes are of one form: the same numbers, names, titles, offsets, sizes and shapes, both
/// aligned or not, and with elements of one class. They are dtypes. Runs no code of the user's. That of a
/// dtype that others hold may change: NumPy renames fields in place. What is kept is compared by a copy.
bool same_fields(PyObject* a, PyObject* b);

/// A dtype of the same form whose fields, and those inside them, nobody else renames; the same one if it has
/// none.
nb::object private_descr(PyArray_Descr* descr);
/// A private copy of a dtype, tuple or description; any other object itself.
nb::object private_of(PyObject* object);
/// Whether an object is a dtype whose fields may be renamed, or a tuple with such a one.
bool is_renamed_in_place(PyObject* object);

/// A number that dtypes of one form have in common.
uint64_t hash_of_form(const PyArray_Descr* descr);
/// The word of a dtype that holds records; equal forms have equal ones.
uint64_t word_of_fields(Holder holder, const PyArray_Descr* descr);
inline Holder holder_of_word(uint64_t word) { return static_cast<Holder>(word >> 8 & 0xff); }

/// An array without axes of the memory of a record, which is its base: a new reference, or null with an
/// exception set.
PyObject* array_of_record(PyObject* record);

/// The layout of an array of records; its elements count as bytes.
[[gnu::always_inline]] inline bool lay_out_records(PyArrayObject* array, ArrayLayout& laid) {
  if (PyArray_NDIM(array) >= kMaxLeaves) return false;  // the bytes of a record are an axis more
  laid = laid_of(array, base::DType::UInt8);
  return true;
}

/// Whether all numbers in the records of an array are aligned for their dtypes.
bool are_fields_aligned(PyArrayObject* records);

/// The array of the bytes of one of records; its last axis is that of a record's bytes, its base the array.
nb::object bytes_of_records(PyArrayObject* array);

/// What holds records on an array of their bytes, whose last axis is that of a record's. An array that owns
/// its memory passes that on.
nb::object records_on(const nb::object& bytes, Holder holder, const nb::object& dtype);

/// The record that an array without axes is, on its memory.
nb::object record_of(const nb::object& array);

}  // namespace ingot::bindings
