#include "bindings/host_calls.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <string>
#include <utility>

#include "bindings/code.h"
#include "bindings/collected.h"
#include "bindings/elements.h"
#include "runtime/abi.h"

namespace ingot::bindings {

using base::DType;
using nb::literals::operator""_a;

namespace {

constexpr size_t kMostOnStack = 8;

/// Whether a result is what it is declared to be, and needs no conversion.
bool is_expected(PyObject* value, DType dtype, bool is_python) {
  if (!is_python) return false;
  switch (dtype) {
    case DType::Float64: return PyFloat_CheckExact(value);
    case DType::Bool: return PyBool_Check(value);
    case DType::Complex128: return PyComplex_CheckExact(value);
    default: return false;
  }
}

[[noreturn]] void raise_through(nb::python_error& error, const nb::object& sites) {
  const nb::object value = nb::borrow<nb::object>(error.value());
  (void)nb::module_::import_("ingot._callbacks").attr("raise_through")(value, sites);
  throw nb::python_error();
}

}  // namespace

HostCalls::HostCalls(const nb::dict& calls) {
  for (const auto [site, given] : calls) {
    const auto told = nb::cast<nb::tuple>(given);
    Call call{.function = told[0], .convert = told[1], .parts = {}, .result = {}, .sites = told[5]};
    for (const nb::handle part : told[2]) {
      if (PyTuple_CheckExact(part.ptr())) {
        call.parts.push_back({.object = nb::borrow<nb::object>(nb::cast<nb::tuple>(part)[0])});
        continue;
      }
      const std::optional<DType> numpys = dtype_of_kind(part);
      call.parts.push_back({.is_numpys = numpys.has_value()});
      if (numpys) {
        call.parts.back().dtype = *numpys;
        continue;
      }
      const auto name = nb::cast<std::string>(part);
      DType& dtype = call.parts.back().dtype;
      if (name == "bool") dtype = DType::Bool;
      else if (name == "int") dtype = DType::Int64;
      else dtype = name == "float" ? DType::Float64 : DType::Complex128;
    }
    if (!nb::object(told[3]).is_none()) call.result = base::dtype_from_numpy(nb::cast<std::string>(told[3]));
    call.is_python = nb::cast<bool>(told[4]);
    call.is_watched = nb::cast<bool>(told[6]);
    calls_.emplace(nb::cast<int64_t>(site), std::move(call));
  }
}

void HostCalls::call(int64_t site, void** slots, nb::handle check) const {
  const Call& call = calls_.at(site);
  nb::object given[kMostOnStack];
  PyObject* arguments[kMostOnStack];
  size_t leaf = 1;
  for (size_t i = 0; i < call.parts.size(); ++i) {
    const Part& part = call.parts[i];
    if (part.object.is_valid()) given[i] = part.object;
    else given[i] = (part.is_numpys ? numpy_number : python_number)(part.dtype, slots[leaf++]);
    arguments[i] = given[i].ptr();
  }
  nb::object value =
      nb::steal(PyObject_Vectorcall(call.function.ptr(), arguments, call.parts.size(), nullptr));
  try {
    if (!value.is_valid()) throw nb::python_error();
    const bool is_nothing = !call.result && value.is_none();
    if (!is_nothing && (!call.result || !is_expected(value.ptr(), *call.result, call.is_python)))
      value = call.convert(value);
  } catch (nb::python_error& error) {
    raise_through(error, call.sites);
  }
  if (call.result) store_number(*call.result, static_cast<runtime::ViewSlot*>(slots[0])->data, value.ptr());
  if (call.is_watched) (void)check(site);
}

int HostCalls::traverse(visitproc visit, void* arg) const {
  for (const auto& [site, call] : calls_) {
    Py_VISIT(call.function.ptr());
    Py_VISIT(call.convert.ptr());
    for (const Part& part : call.parts) Py_VISIT(part.object.ptr());
  }
  return 0;
}

void HostCalls::bind(nb::module_& m) {
  nb::class_<HostCalls>(m, "HostCalls", nb::type_slots(Collected<HostCalls>::slots()))
      .def(nb::init<const nb::dict&>(), "calls"_a);
}

}  // namespace ingot::bindings
