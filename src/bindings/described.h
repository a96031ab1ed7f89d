#pragma once

#include <nanobind/nanobind.h>

#include <functional>

#include "frontend/description.h"

/// Descriptions as Python has them: immutable objects with `kind`, `parts`, and the fields of their kind as
/// attributes.
namespace ingot::bindings {

namespace nb = nanobind;

using frontend::Described;
using frontend::Description;
using frontend::Holder;

/// Whether two objects are one to what is compiled for them: by identity, or by value if they stand for it,
/// of one type, floats by their bits. Runs no code of the user's.
bool is_one_object(PyObject* a, PyObject* b);

/// A description with other objects in it.
Description with_objects(Description it, const std::function<nb::object(const nb::object&)>& other);
/// With dtypes whose fields nobody else renames.
Description private_of(const Description& it);

/// What is stored of it: kind, first column, parts, fields.
nb::tuple state_of(const Description& it);
/// Of what has been stored. Throws nb::value_error: it is no such state.
Description of_state(const nb::tuple& state);

/// Adds the class to the extension.
void bind_description(nb::module_& m);

}  // namespace ingot::bindings
