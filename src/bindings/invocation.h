#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bindings/call_target.h"
#include "bindings/cells.h"
#include "bindings/code.h"
#include "bindings/execution.h"
#include "bindings/host_calls.h"
#include "bindings/layout.h"
#include "bindings/moved.h"
#include "interop/arrays.h"
#include "runtime/context.h"

namespace ingot::bindings {

struct Gufunc;

/// Where compiled code finds what only Python has. Borrowed; null: there are no host calls, library routines
/// are those of `ingot._routines`.
struct Outside {
  nb::handle host{};  ///< of a site's number and a list of values
  /// Of a routine's name and a list of arrays and numbers, the last of which it fills.
  nb::handle library{};
  nb::handle
      keeps{};  ///< a dict of the sites whose callee keeps what it gets, but for so many arrays at first
  const HostCalls* quick = nullptr;  ///< calls that need nothing of `host`
  Watched watched{};                 ///< after those of them that are watched
  nb::handle errors{};               ///< a list of what exceptions are made of (`ErrorSite::made`)
  nb::handle host_from{};            ///< where `host` is not valid: gives it, of the leaves and containers
  Cells* cells = nullptr;            ///< are put into the caller's containers before each call of the host
  std::span<PyObject* const> containers{};  ///< these
};

/// One call of compiled code, from its slots to its results. Wants the GIL, which a long call lets go of. A
/// device's code gets the arrays of NumPy's among its arguments as copies on the device, and what it has
/// written into them is copied back.
class Invocation : public Execution {
 public:
  /// Leaves and `outside` outlive it.
  Invocation(const Code& code, std::span<PyObject* const> leaves, const Outside& outside,
             const CallTarget& target);

  bool run() {
    if (target_.device == nullptr) return Execution::run(frame_.slots());
    return run_on_device();
  }

  /// The results as a list of numbers, and of views as (owner of the memory, offset, lengths, strides,
  /// dtype). The owner is the number of an argument, or an array; without offset (None) that is the finished
  /// array. Where some results are columns of numbers of `buffers`, last a dict of the owners by these
  /// numbers.
  nb::object results(const nb::tuple& buffers);

  Frame& frame() { return frame_; }
  /// Sets the view that a result is, which shows the memory of this argument (-1: of none).
  int64_t show(size_t result, Window& window);
  /// Where an address in an argument's memory is in the array that the caller has; another one as it is.
  std::byte* at_home(int64_t argument, std::byte* address) const;
  /// The buffers whose numbers, which op `keep` gave, are the elements of a result.
  std::vector<runtime::Buffer*> held_buffers(size_t result);
  /// Has the host read a result that is a view of the call's own memory.
  void bring_home(size_t result);
  /// A buffer, all of which a window covers, as an array that owns it.
  nb::object owning(const Window& window, runtime::Buffer* buffer);
  /// The bytes of a buffer that the code allocated, as an array that owns them from now on.
  nb::object memory_of(runtime::Buffer* buffer);

 private:
  static const runtime::Hooks kHooks;

  /// What few calls need.
  struct Rare {
    std::map<runtime::Buffer*, runtime::Buffer*> homes;  ///< of a device's buffers: copies on the host
    std::vector<runtime::OwnedBuffer> away;              ///< those of them that outlive the call's code
    std::map<const runtime::Buffer*, nb::object> memories;
  };
  Rare& rare() {
    if (!rare_) rare_ = std::make_unique<Rare>();
    return *rare_;
  }

  static runtime::Status call_outside(runtime::Context* context, const char* what, const char* layout,
                                      int64_t number, void** slots);
  /// The gufunc that a location in the code names, if the call has been there before: taking the GIL each
  /// time would begin the watch of the call's length anew, and loops of short routines would not be left.
  const Gufunc* known_gufunc(const char* what, const char* layout) const;
  nb::list host_values(const char* layout, bool kept, size_t direct, void** slots,
                       std::vector<std::unique_ptr<eager::Lent>>& lent);
  void call_host(const char* layout, int64_t number, void** slots);
  void call_host_in_python(int64_t number, const nb::list& values);
  nb::object copied(const SlotType& type, void* slot);
  nb::object outward(runtime::ViewSlot& view, const SlotType& type);
  bool run_on_device();
  void take_stream();
  std::shared_ptr<eager::DeviceMemory> written(runtime::OwnedBuffer buffer) const;
  bool is_written(size_t leaf) const;
  void finish(bool has_returned);
  runtime::Buffer* home_of(runtime::Buffer* buffer);
  void renew_homes();
  template <class Fn>
  void with_homes(Fn&& fn);

  const Outside& outside_;
  const CallTarget target_;
  const std::span<PyObject* const> leaves_;
  devices::Stream* const stream_;  ///< of a device's call, from its begin to its end
  eager::DeviceMemory::Position position_ = devices::CopyQueues::kEnd;  ///< of a device's call that is over
  std::optional<Moved> moved_;
  Frame frame_;
  std::unique_ptr<Rare> rare_;  ///< made when it is first asked for
  struct KnownGufunc {
    const char* what;  ///< texts of the code
    const char* layout;
    const Gufunc* gufunc;
  };
  std::vector<KnownGufunc> gufuncs_;
  nb::object host_;  ///< of `host_from`
};

}  // namespace ingot::bindings
