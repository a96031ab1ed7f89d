#pragma once

#include <Python.h>

/// Room on the stack for the compiler, whatever thread asks.
namespace ingot::bindings {

/// What a callable gives for arguments; null: a Python exception is set. The compiler recurses over what it
/// compiles: where less than 2 MiB of the calling thread's stack are left, the call is made, in the calling
/// thread's context, by a thread of its own with 64 MiB. RuntimeError where there can be no such thread.
PyObject* call_with_room(PyObject* callable, PyObject* const* arguments, size_t count);

}  // namespace ingot::bindings
