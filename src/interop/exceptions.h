#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <new>
#include <span>
#include <string>

#include "base/error.h"
#include "base/exception.h"
#include "devices/device.h"
#include "devices/libraries.h"
#include "devices/recording.h"
#include "interop/gil.h"
#include "runtime/abi.h"
#include "runtime/object_info.h"

namespace ingot::inline interop {

/// Raises what a device throws: sets it.
inline void set_device_error(const devices::DeviceError& error) {
  if (const auto* const of_library = dynamic_cast<const devices::LibraryError*>(&error)) {
    const nanobind::object made = nanobind::module_::import_("ingot._errors")
                                      .attr("LibraryError")(of_library->what(), of_library->status());
    PyErr_SetObject(made.type().ptr(), made.ptr());
    return;
  }
  if (const auto* const refusal = dynamic_cast<const devices::NotRecordable*>(&error)) {
    const nanobind::object made =
        nanobind::module_::import_("ingot._errors")
            .attr("unsupported")(nanobind::make_tuple(), refusal->what(), refusal->advice());
    return PyErr_SetObject(made.type().ptr(), made.ptr());
  }
  const bool is_memory = dynamic_cast<const devices::OutOfMemory*>(&error) != nullptr;
  const nanobind::object type =
      is_memory ? nanobind::borrow(PyExc_MemoryError)
                : nanobind::object(nanobind::module_::import_("ingot._errors").attr("DeviceError"));
  PyErr_SetString(type.ptr(), error.what());
}

/// Runs something of C++'s for Python: exceptions become Python's.
template <class Fn>
auto guarded(Fn&& fn, decltype(fn()) failed) -> decltype(fn()) {
  try {
    return resting_at_the_end(fn);
  } catch (nanobind::python_error& error) {
    error.restore();
  } catch (const devices::DeviceError& error) {
    set_device_error(error);
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return failed;
}

/// Raises an exception that is there: sets it.
inline void set_error(nanobind::handle exception) {
  PyErr_SetObject(exception.type().ptr(), exception.ptr());
}

/// The kind of a Python exception: that of the first of its classes that has one.
inline base::ExceptionKind kind_of(nanobind::handle exception) {
  for (const nanobind::handle type : nanobind::cast<nanobind::tuple>(exception.type().attr("__mro__"))) {
    const nanobind::str name(type.attr("__name__"));
    if (const auto kind = base::exception_from_name(name.c_str())) return *kind;
  }
  return base::ExceptionKind::Exception;
}

/// Locations in the user's source for `_host.frames.traceback`: (file, line, column, end column, function)
/// each, the innermost first.
inline nanobind::tuple tuple_of(std::span<const base::Site> sites) {
  nanobind::list all;
  for (const auto& [location, function] : sites)
    all.append(
        nanobind::make_tuple(location.file, location.line, location.column, location.end_column, function));
  return nanobind::tuple(all);
}

/// The error that a location of compiled code raises, or the runtime: (kind, message, sites, None, what it is
/// made of or None), as `_host.exceptions.exception` takes it.
nanobind::tuple failure_of(const runtime::ObjectInfo& code, const runtime::Error& error);

}  // namespace ingot::inline interop
