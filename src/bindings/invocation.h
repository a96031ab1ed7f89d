#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <map>
#include <span>

#include "bindings/arrays.h"
#include "bindings/code.h"
#include "bindings/execution.h"
#include "bindings/layout.h"
#include "runtime/context.h"

namespace ingot::bindings {

/// Where compiled code finds what only Python has. Borrowed; null: host calls there are none, library
/// routines are those of `ingot._routines`.
struct Outside {
  nb::handle host{};  ///< of a site's number and a list of values
  /// Of a routine's name and a list of arrays and numbers, the last of which it fills.
  nb::handle library{};
  nb::handle
      keeps{};  ///< a dict of the sites whose callee keeps what it gets, but for so many arrays at first
};

/// One call of compiled code, from its slots to its results. Wants the GIL, which a long call lets go of.
class Invocation : public Execution {
 public:
  /// Leaves and `outside` outlive it.
  Invocation(const Code& code, std::span<PyObject* const> leaves, const Outside& outside);

  bool run() { return Execution::run(frame_.slots()); }

  /// The results as a list of numbers, and of views as (owner of the memory, offset, lengths, strides,
  /// dtype). The owner is the number of an argument, or an array; without offset (None) that is the finished
  /// array. Where some results are columns of numbers of `buffers`, last a dict of the owners by these
  /// numbers.
  nb::object results(const nb::tuple& buffers);

  Frame& frame() { return frame_; }
  /// A buffer, all of which a window covers, as an array that owns it.
  nb::object owning(const Window& window, runtime::Buffer* buffer);
  /// The bytes of a buffer that the code allocated, as an array that owns them from now on.
  nb::object memory_of(runtime::Buffer* buffer);

 private:
  static const runtime::Hooks kHooks;

  static runtime::Status call_outside(runtime::Context* context, const char* what, const char* layout,
                                      int64_t number, void** slots);
  nb::list host_values(const char* layout, bool kept, size_t direct, void** slots);
  nb::object outward(runtime::ViewSlot& view, const SlotType& type);

  const Outside& outside_;
  Frame frame_;
  std::map<const runtime::Buffer*, nb::object> memories_;
};

}  // namespace ingot::bindings
