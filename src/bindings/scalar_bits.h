#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

#include "base/scalar.h"

namespace ingot::bindings {

/// The number of Python's that has the bits of an element.
inline nanobind::object numpy_scalar_bits(base::DType dtype, const base::Scalar& bits) {
  const nanobind::object kind =
      nanobind::module_::import_("numpy").attr(std::string(base::info(dtype).numpy).c_str());
  const nanobind::object array = nanobind::module_::import_("numpy").attr("frombuffer")(
      nanobind::bytes(bits.bits.data(), base::size_of(dtype)), nanobind::arg("dtype") = kind);
  return array[0].attr("item")();
}

/// The bits of a number as an element of a dtype.
inline base::Scalar scalar_bits(base::DType dtype, nanobind::handle value) {
  const nanobind::object kind =
      nanobind::module_::import_("numpy").attr(std::string(base::info(dtype).numpy).c_str());
  const nanobind::bytes raw = nanobind::cast<nanobind::bytes>(kind(value).attr("tobytes")());
  return base::Scalar::load(dtype, raw.c_str());
}

}  // namespace ingot::bindings
