#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "devices/copy_queues.h"
#include "devices/device.h"
#include "devices/recording.h"
#include "interop/arrays.h"
#include "runtime/context.h"

/// Arrays on devices: what `ingot.Array` is in C++, and what it has in common with NumPy's arrays.
namespace ingot::eager {

namespace nb = nanobind;

/// An allocation of a device's memory, which the arrays on it share.
class DeviceMemory : public std::enable_shared_from_this<DeviceMemory> {
 public:
  /// Of unspecified values. Throws devices::OutOfMemory.
  static std::shared_ptr<DeviceMemory> allocate(devices::Device& device, int64_t bytes);
  /// The same, for `write`.
  static std::shared_ptr<DeviceMemory> allocate_for_copy(devices::Device& device, int64_t bytes);
  /// What compiled code has allocated.
  DeviceMemory(devices::Device& device, runtime::OwnedBuffer buffer);
  /// What somebody else has allocated, and `owner` keeps alive.
  DeviceMemory(devices::Device& device, std::byte* data, int64_t size, nb::object owner);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  devices::Device& device() const { return device_; }
  std::byte* data() const { return data_; }  ///< a device's address
  int64_t size() const { return size_; }

  /// @name The order of streams; wants the GIL
  using Position = devices::CopyQueues::Position;
  /// Before the calling thread's stream is given something that uses the memory: it waits for the stream that
  /// has used the memory last.
  void use(bool is_written = true) {
    if (devices::Recording::of_thread() != nullptr) [[unlikely]]
      note();
    used_ = devices::CopyQueues::kEnd;
    if (is_written) {
      await_readers();
      written_ = devices::CopyQueues::kEnd;
    }
    if (devices::Stream& now = device_.stream(); last_ != &now) [[unlikely]]
      use_in(now);
  }
  /// After a stream has been given such things, up to a position if it is the device's own: if another stream
  /// has used the memory in between, that one waits.
  void used_in(devices::Stream& stream, Position position, bool is_written) {
    if (last_ != &stream) [[unlikely]]
      return used_besides(stream);
    used_ = position;
    if (is_written || written_ == devices::CopyQueues::kEnd) written_ = position;
  }
  /// Of new memory: what has been put into the device's own stream up to there has written it.
  void set_written(Position position) { used_ = written_ = position; }
  /// Waits, without the GIL, for what uses it, and for nothing else where that is known.
  void wait();

  /// @name Copies from and to the host; want the GIL
  /// Where the device has queues for copies, and the thread has set no stream, they overlap kernels that
  /// do not use the memory (`overlap_copies`); but of pinned memory, which copies that end later may use as
  /// well: they are in the device's own stream. The host's memory may be changed when `write` returns, and is
  /// written when `read` does. `read` lets go of the GIL, and so does `write_new`, into memory that nobody
  /// else has yet: what uses the memory meanwhile sees it before the copy or after it.
  void write(devices::Address to, const void* from, int64_t bytes);
  void write_new(devices::Address to, const void* from, int64_t bytes);
  void read(void* to, devices::Address from, int64_t bytes);
  /// The stream that has used it last, after all others.
  devices::Stream& last() const { return *last_; }
  /// Whether it is the memory of a graph, made while that was recorded.
  bool is_of_graph() const { return is_of_graph_; }

  /// @name What waits (pending.h)
  /// Whether something that waits may read it.
  bool is_read() const { return is_read_; }
  void set_read(bool is_read) { is_read_ = is_read; }
  /// Whether others than compiled functions may write into it.
  bool is_shared() const { return is_shared_; }
  void set_shared() { is_shared_ = true; }

 private:
  DeviceMemory(devices::Device& device, devices::Address address, int64_t size);
  template <class Run>
  void put(devices::Address to, const void* from, int64_t bytes, Run&& run);
  void use_in(devices::Stream& stream);
  void used_besides(devices::Stream& stream);
  void note();
  /// Before the memory is written: threads that copy from it end that, for which they need no GIL.
  void await_readers() {
    for (int readers = readers_; readers != 0; readers = readers_) [[unlikely]]
      readers_.wait(readers);
  }
  /// For copies of the calling thread; null: they go into its stream.
  devices::CopyQueues* queues() const;
  void give_back() noexcept;

  devices::Device& device_;
  std::byte* data_;
  int64_t size_;
  bool is_own_ = false;  ///< allocated here
  bool is_of_graph_ = false;
  bool is_read_ = false;
  bool is_shared_ = false;
  devices::Stream* last_;
  Position used_ = devices::CopyQueues::kEnd;  ///< of the last use, where that was in the device's own stream
  Position written_ = devices::CopyQueues::kEnd;  ///< of the last use that may have written it
  std::shared_ptr<devices::Event> after_;         ///< the last use, an upload; null: the end of `last_`
  std::atomic<int> readers_ = 0;                  ///< threads that copy from it without the GIL
  runtime::OwnedBuffer buffer_;
  nb::object owner_;
};

class Pending;

/// An object of `ingot.Array`. One that waits to be computed has no memory yet (pending.h): code that looks
/// at the memory computes it before.
struct DeviceArray {
  PyObject_HEAD PyObject* weak_references;
  std::shared_ptr<DeviceMemory> memory;
  Window window;     ///< its data is a device's address
  Pending* pending;  ///< null: it is computed
  bool is_writable;

  devices::Device& device() const;
};

inline devices::Address address_of(const std::byte* data) { return reinterpret_cast<devices::Address>(data); }
inline std::byte* pointer_of(devices::Address address) {
  return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr)
}
/// `gpu:0`.
std::string name_of(const devices::Device& device);

bool is_device_array(PyObject* object);
inline DeviceArray& device_array(PyObject* object) { return *reinterpret_cast<DeviceArray*>(object); }

nb::object new_device_array(const Window& window, bool is_writable, std::shared_ptr<DeviceMemory> memory);
/// The bytes of a memory, one by one.
nb::object bytes_on(std::shared_ptr<DeviceMemory> memory);
/// A copy of an array of NumPy's on a device, in its order. `is_late`: pinned memory is read later.
nb::object to_device(nb::handle array, devices::Device& device, bool is_late = false);
/// A copy as an array of NumPy's, in its order. Waits, without the GIL.
nb::object to_host(const DeviceArray& array);

/// Whether copies overlap kernels: from now on.
void overlap_copies(bool is_wanted);

/// Copies to the device, and waits where the host's memory would be read later.
void write_now(devices::Device& device, devices::Address to, const void* from, int64_t bytes);

/// Elements of a device's on the host, for a time: those that are changed there are written back.
class Lent {
 public:
  Lent(devices::Device& device, const Window& window);
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;

  /// A NumPy array of the window's layout, which is there as long as this.
  const nb::object& array() const { return array_; }
  void give_back();

 private:
  devices::Device& device_;
  std::byte* from_;  ///< the lowest byte, on the device
  runtime::OwnedBuffer now_;
  runtime::OwnedBuffer before_;
  nb::object array_;
};

/// @name Arrays of either kind
/// The lowest byte of an array's elements.
std::byte* lowest_of(PyObject* array);
bool is_writable(PyObject* array);
/// From now on it is not.
void protect(PyObject* array);
/// An array on the memory of another one, of whose kind it is.
nb::object array_like(const Window& window, bool is_writable, nb::object owner);

/// A device, for Python.
struct DeviceHandle {
  devices::Device* it;
};

}  // namespace ingot::eager
