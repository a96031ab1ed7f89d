#include "bindings/stacks.h"

#include <pthread.h>

#include "runtime/context.h"

namespace ingot::bindings {

namespace {

constexpr size_t kLeast = size_t{2} << 20;
constexpr size_t kGiven = size_t{64} << 20;

struct CallElsewhere {
  PyObject* callable;
  PyObject* const* arguments;
  size_t count;
  PyObject* context;
  PyObject* result = nullptr;
  PyObject* error[3] = {};

  void make() {
    const PyGILState_STATE state = PyGILState_Ensure();
    if (PyContext_Enter(context) == 0) {
      result = PyObject_Vectorcall(callable, arguments, count, nullptr);
      PyErr_Fetch(&error[0], &error[1], &error[2]);
      PyContext_Exit(context);
    } else {
      PyErr_Fetch(&error[0], &error[1], &error[2]);
    }
    PyGILState_Release(state);
  }
};

void* make_call(void* call) {
  static_cast<CallElsewhere*>(call)->make();
  return nullptr;
}

bool run_to_its_end(CallElsewhere& call) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setstacksize(&attributes, kGiven);
  pthread_t thread{};
  const bool started = pthread_create(&thread, &attributes, make_call, &call) == 0;
  pthread_attr_destroy(&attributes);
  if (!started) return false;
  Py_BEGIN_ALLOW_THREADS;
  pthread_join(thread, nullptr);
  Py_END_ALLOW_THREADS;
  return true;
}

}  // namespace

PyObject* call_with_room(PyObject* callable, PyObject* const* arguments, size_t count) {
  if (runtime::stack_left() >= kLeast) return PyObject_Vectorcall(callable, arguments, count, nullptr);
  PyObject* const context = PyContext_CopyCurrent();
  if (context == nullptr) return nullptr;
  CallElsewhere call{callable, arguments, count, context};
  const bool made = run_to_its_end(call);
  Py_DECREF(context);
  if (!made) PyErr_SetString(PyExc_RuntimeError, "can't start new thread");
  else PyErr_Restore(call.error[0], call.error[1], call.error[2]);
  return call.result;
}

}  // namespace ingot::bindings
