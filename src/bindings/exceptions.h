#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "base/exception.h"

namespace ingot::bindings {

/// The kind of a Python exception: that of the first of its classes that has one.
inline base::ExceptionKind kind_of(nanobind::handle exception) {
  for (const nanobind::handle type : nanobind::cast<nanobind::tuple>(exception.type().attr("__mro__"))) {
    const auto name = nanobind::cast<std::string>(nanobind::str(type.attr("__name__")));
    if (const auto kind = base::exception_from_name(name)) return *kind;
  }
  return base::ExceptionKind::Exception;
}

}  // namespace ingot::bindings
