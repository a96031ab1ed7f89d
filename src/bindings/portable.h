#pragma once

#include <nanobind/nanobind.h>

/// Python values as bytes that another process reads: the form in which what a specialisation is made of is
/// stored.
namespace ingot::bindings {

namespace nb = nanobind;

/// The bytes of a value: of None, bool, int, float, complex, str, bytes, slice, range, Ellipsis, numbers and
/// dtypes of NumPy's, with fields too, and of tuples, lists, dicts and frozensets of such - of Python's own
/// types, not derived ones. Equal values of equal types have equal bytes, in every process - frozensets if
/// they have the same order -; NaN keeps its bits. A code object has the bytes of what it does: all but its
/// file and its first line; those of code inside it count from there. Of every other object, `name` - a
/// callable - gives the number that it is read by, or raises.
nb::bytes encode(nb::handle value, const nb::callable& name);

/// The value of bytes that `encode` gave, with `objects` - a list - by their numbers. ValueError: they are
/// none, or of a code object. No bytes do harm.
nb::object decode(const nb::bytes& bytes, const nb::list& objects);

/// Adds both, and `digest`, to the extension.
void bind_portable(nb::module_& m);

}  // namespace ingot::bindings
