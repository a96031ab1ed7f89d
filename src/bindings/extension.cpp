#define INGOT_IMPORTS_NUMPY  // in this file alone, before all that includes `bindings/numpy.h`
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>

#include "base/cpu.h"
#include "base/exception_room.h"
#include "bindings/c_function.h"
#include "bindings/callable.h"
#include "bindings/described.h"
#include "bindings/host_calls.h"
#include "bindings/interrupts.h"
#include "bindings/mpi.h"
#include "bindings/portable.h"
#include "bindings/profiled.h"
#include "bindings/sets.h"
#include "bindings/shards.h"
#include "bindings/specialisation.h"
#include "bindings/stacks.h"
#include "bindings/ufuncs.h"
#include "bindings/values.h"
#include "eager/bind.h"
#include "interop/numpy.h"
#include "runtime/allocator.h"
#include "runtime/context.h"
#include "runtime/pool.h"
#include "runtime/sorts.h"

#define PY_UFUNC_UNIQUE_SYMBOL ingot_ufunc
#include <numpy/ufuncobject.h>

// The extension: what a call of a compiled function needs, without LLVM. Imported with the package.

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace ingot::bindings {

namespace {

nb::dict memory() {
  const runtime::MemoryUse use = runtime::Allocator::use();
  nb::dict all;
  all["limit"] = use.limit;
  all["kept"] = use.kept;
  all["in_use"] = use.in_use;
  all["peak"] = use.peak;
  return all;
}

/// What the first call would otherwise find out, which takes as long as the rest of a short one.
void look_around() {
  base::make_room_for_exceptions();
  runtime::stack_left();
  runtime::Allocator::use();
  runtime::Pool::threads();
}

/// Lets compiled code sort as NumPy does: equal elements are in its order.
void use_numpys_sorts() {
  for (size_t i = 0; i < base::kDTypeCount; ++i) {
    const auto dtype = static_cast<base::DType>(i);
    const nb::object descr =
        nb::steal(reinterpret_cast<PyObject*>(PyArray_DescrFromType(type_number(dtype))));
    const PyArray_ArrFuncs& functions =
        *PyDataType_GetArrFuncs(reinterpret_cast<PyArray_Descr*>(descr.ptr()));
    runtime::Sorts sorts;
    for (const auto& [index, kind] : {std::pair(0, NPY_QUICKSORT), std::pair(1, NPY_STABLESORT)}) {
      sorts.sort[index] = functions.sort[kind];
      sorts.argsort[index] = functions.argsort[kind];
    }
    runtime::use_sorts(dtype, sorts);
  }
}

}  // namespace

NB_MODULE(_ingot, m) {
  nb::set_leak_warnings(false);
  if (_import_array() < 0 || _import_umath() < 0) throw nb::python_error();
  use_numpys_sorts();
  find_main_thread();
  look_around();
  Specialisation::bind(m);
  eager::bind(m);
  bind_description(m);
  bind_callable(m);
  bind_portable(m);
  bind_profile(m);
  Objects::bind(m);
  Cells::bind(m);
  bind_ufuncs(m);
  bind_c_functions(m);
  bind_sets(m);
  bind_mpi(m);
  bind_shards(m);
  bindings::HostCalls::bind(m);
  m.def("cpu_features", &base::cpu_features);
  m.def("memory", &memory);
  m.def("set_kept_memory_limit", &runtime::Allocator::set_limit, "bytes"_a);
  m.def("fail_allocation", &runtime::Allocator::fail_at, "number"_a,
        "For tests: of the blocks of memory that calls ask of the system from now on, this one is not there; "
        "0: all are. How many were to come before the one asked for last.");
  m.def(
      "with_room",
      [](nb::handle function, const nb::args& arguments) {
        PyObject* const* const given = PySequence_Fast_ITEMS(arguments.ptr());
        const nb::object result = nb::steal(call_with_room(function.ptr(), given, arguments.size()));
        if (!result.is_valid()) throw nb::python_error();
        return result;
      },
      "function"_a, "arguments"_a,
      "Calls a function of the compiler where the stack is large enough for it; its result, or what it "
      "raises.");
  m.def(
      "abandonment",
      []() -> nb::object {
        const std::atomic<bool>* const it = abandonment();
        return it == nullptr ? nb::none() : nb::object(nb::capsule(it));
      },
      "Whether anybody still waits for the call of `with_room` that this thread was made for, as long "
      "as "
      "the thread lives: a capsule of an atomic bool; None: it was made for none.");
  m.def("finish_calls_with_room", &finish_calls_with_room,
        "Waits for the compiler's functions that other threads run, and lets them run no more.");
  m.def("hold_calls_with_room", &hold_calls_with_room, "seconds"_a,
        "Before a fork: waits so long at most for the compiler's functions that other threads run, and lets "
        "them run no more.");
  m.def("let_calls_with_room_go_on", &let_calls_with_room_go_on, "After it.");
  m.attr("MAX_THREADS") = runtime::Pool::kMaxThreads;
  m.def("get_num_threads", &runtime::Pool::threads);
  m.def("set_num_threads", &runtime::Pool::set_threads, "count"_a);
}

}  // namespace ingot::bindings
