#pragma once

#include <Python.h>

#include <atomic>

/// Runs the compiler on a stack that is large enough, for any thread.
namespace ingot::bindings {

/// The result of a callable for arguments; null: a Python exception is set. Python's handlers of signals do
/// not run amid the compiler's work, which could mistake what they raise for what the program raises: a call
/// of Python's main thread is made, in its context, by a thread of its own, while the main thread handles
/// signals. What a handler raises leaves the call at once; what the other thread does is abandoned. The same
/// is done where less than 2 MiB of the calling thread's stack are left, since the compiler recurses over
/// what it compiles; the new thread has 64 MiB. Where the system gives no such thread, the call is made by
/// the calling one; RuntimeError where that has too little stack, too.
PyObject* call_with_room(PyObject* callable, PyObject* const* arguments, size_t count);

/// Whether the call that this thread was made for is abandoned, as long as the thread lives; null: it was
/// made for none.
const std::atomic<bool>* abandonment();

/// Waits until the calls of `call_with_room` that are under way, and all errands, have ended, and lets other
/// threads than this one make no more of these calls: those rest; this one makes its own. For the end of
/// Python, which must not end threads amid C++.
void finish_calls_with_room();

/// Before a fork: waits until all errands have ended, and for some seconds at most until the calls of other
/// threads that are under way have, and lets none begin. What they have locked - modules that are being
/// imported, LLVM's tables - would stay locked in the child.
void hold_calls_with_room(double seconds);
/// After it, in both processes.
void let_calls_with_room_go_on();

}  // namespace ingot::bindings
