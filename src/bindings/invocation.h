#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <map>
#include <span>

#include "bindings/code.h"
#include "bindings/gil.h"
#include "runtime/context.h"

namespace ingot::bindings {

/// Where compiled code finds what only Python has. Borrowed; null: host calls there are none, library
/// routines are those of `ingot._jit`.
struct Outside {
  nb::handle host{};  ///< of a site's number and a list of values
  /// Of a routine's name and a list of arrays and numbers, the last of which it fills.
  nb::handle library{};
  nb::handle
      keeps{};  ///< a dict of the sites whose callee keeps what it gets, but for so many arrays at first
};

/// What an error of a call of code was: (kind, message, sites, pending).
nb::object failure_of(const Code& code, const runtime::Error& error, const nb::object& pending);

/// One call of compiled code, from its slots to its results. Wants the GIL, which a long call lets go of.
class Invocation {
 public:
  /// Leaves and `outside` outlive it.
  Invocation(const Code& code, std::span<PyObject* const> leaves, const Outside& outside);
  Invocation(const Invocation&) = delete;
  Invocation& operator=(const Invocation&) = delete;

  /// Whether the code returned; else `failure` says why not.
  bool run();
  /// (kind, message, file, line, pending exception or None).
  nb::object failure() const;

  /// The results as a list of numbers, and of views as (key of the buffer, memory, offset, lengths, strides,
  /// dtype): the buffer of an argument has the argument's number as key and no memory; the memory of a whole
  /// buffer is the finished array, without offset. Where some results are columns of numbers of `buffers`,
  /// last a dict of (key, memory) by these numbers.
  nb::object results(const nb::tuple& buffers);

  const Code& code() const { return code_; }
  Frame& frame() { return frame_; }
  /// A whole buffer, as an array that owns it.
  nb::object owning(runtime::ViewSlot& view, base::DType dtype, int rank);
  /// The bytes of a buffer that the code allocated, as an array that owns them from now on.
  nb::object memory_of(runtime::Buffer* buffer);

 private:
  struct Word;

  static Invocation& of(runtime::Context* context) { return *static_cast<Invocation*>(context->user); }
  static runtime::Status attend(runtime::Context* context);
  static runtime::Status call_outside(runtime::Context* context, const char* what, const char* layout,
                                      int64_t number, void** slots);
  nb::object key_of(const runtime::Buffer* buffer) const;
  template <class Fn>
  runtime::Status with_gil(Fn&& fn);
  nb::list host_values(const char* layout, bool kept, size_t direct, void** slots);
  nb::object outward(runtime::ViewSlot& view, base::DType dtype, int rank);

  const Code& code_;
  const Outside& outside_;
  uint32_t attention_ = 0;  ///< what the call polls
  runtime::Context context_;
  runtime::Call call_;
  Frame frame_;
  std::map<const runtime::Buffer*, nb::object> memories_;
  nb::object pending_;
  Gil gil_;
};

}  // namespace ingot::bindings
