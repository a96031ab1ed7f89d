#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

#include "bindings/interrupts.h"

/// Objects of mpi4py's, each of which holds a handle of the MPI library's: communicators, requests, statuses,
/// datatypes.
namespace ingot::bindings {

/// Where an object has its handle, as an array of NumPy's, and the class of the library's that stands for its
/// class.
struct Handle {
  void* memory;      ///< within the object
  int dtype;         ///< NumPy's number of it
  Py_ssize_t count;  ///< of elements
  PyObject* type;    ///< borrowed
};

/// Whether compiled code has an object's handle, which it reads at each call. The object is of a class of
/// mpi4py's itself. Runs no code of the user's.
bool is_handle(PyObject* object);
/// The object is one of these, and keeps its handle.
Handle handle_of(PyObject* object);
/// Whether an object is one of mpi4py's constants that compiled code knows: an op or a datatype of MPI's own,
/// `IN_PLACE`, `BOTTOM`.
bool is_constant_handle(PyObject* object);

/// The functions of the MPI library that mpi4py has loaded which are called here: set before code that waits
/// for messages is loaded (`ingot._routines.mpi`).
struct MpiLibrary {
  using Test = int(void* request, int* is_done, void* status);
  using OfRequest = int(void* request);
  using Wait = int(void* request, void* status);

  Test* test = nullptr;
  OfRequest* cancel = nullptr;
  Wait* wait = nullptr;
};
void set_mpi(MpiLibrary library);

/// For compiled code, which calls it without the GIL: waits for a request, at first at full speed; the code
/// of MPI's. Python's main thread handles signals meanwhile, if the request is of a receive: what a handler
/// raises cancels it and is pending then, and the code is `kInterrupted`.
extern "C" int32_t ingot_mpi_receive(void* request, void* status);
/// Counts requests that compiled code has started (`by` = 1) and waited for (-1). While there are some,
/// receives are not interrupted: the memory of the others would be gone.
extern "C" int32_t ingot_mpi_count(int64_t by);

/// Parcels: memory of messages that derivatives have on their way, under numbers, which tangents and
/// cotangents can be. A parcel has the request, in 16 bytes, the elements, and after them the number of the
/// sender's parcel, which goes with the message: what comes back is known by it.
///
/// Makes one for so many bytes of elements, copied from `elements` if that is not null: `made` is its number.
extern "C" int32_t ingot_mpi_parcel(int64_t bytes, const void* elements, int64_t* made);
/// Where a parcel is; 1: there is none of the number.
extern "C" int32_t ingot_mpi_find(int64_t number, int64_t* address);
/// Frees a parcel. Of a message of so many bytes, its elements are copied, and `sender` is the number that
/// came after them, or 0: no message has come.
extern "C" int32_t ingot_mpi_unpack(int64_t number, int64_t bytes, void* elements, int64_t* sender);

void bind_mpi(nanobind::module_& m);

}  // namespace ingot::bindings
