#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "devices/device.h"
#include "eager/device_array.h"
#include "runtime/object_info.h"

namespace ingot::bindings {

namespace nb = nanobind;

/// Arrays of NumPy's among a call's arguments, on a device for the time of the call. Those that share memory
/// share it there, too: all bytes that they reach are copied, each once. Those that the code may write into
/// are copied back. Wants the GIL.
class Moved {
 public:
  /// Throws UnsupportedError of an array whose elements are not aligned.
  Moved(devices::Device& device, std::span<PyObject* const> leaves,
        std::span<const runtime::SlotInfo> parameters);

  /// Whether there are arrays of NumPy's among the leaves.
  static bool has_any(std::span<PyObject* const> leaves);

  /// The leaves, with the device's arrays instead of NumPy's.
  std::span<PyObject* const> leaves() const { return leaves_; }
  /// Copies back what has changed of the elements of arrays that the code may write into. Waits, if there are
  /// any.
  void bring_back();
  /// Runs something of the host's that may look at the arrays, and write into them.
  template <class Fn>
  void with_arrays(Fn&& fn) {
    bring_back();
    const std::vector<runtime::OwnedBuffer> before = kept();
    try {
      fn();
    } catch (...) {
      send_again(before);
      throw;
    }
    send_again(before);
  }
  /// Before the thread's stream is given the call.
  void use() {
    for (const Region& region : regions_) region.memory->use();
  }
  bool is_moved(size_t leaf) const { return leaves_[leaf] != given_[leaf]; }
  /// What a device's address in a leaf's memory is in the array that was moved.
  std::byte* home_of(size_t leaf, std::byte* address) const;

 private:
  /// Memory that arrays share.
  struct Region {
    std::byte* low;
    int64_t size;
    std::vector<size_t> leaves;
    std::byte* there = nullptr;  ///< of `low`, on the device
    std::shared_ptr<eager::DeviceMemory> memory{};
    bool is_mapped = false;  ///< kernels use the host's memory itself
  };

  void find_regions(std::span<PyObject* const> leaves);
  void move(Region& region);
  void bring_back(const Region& region);
  bool is_written(size_t leaf) const;
  std::vector<runtime::OwnedBuffer> kept() const;
  void send_again(std::span<const runtime::OwnedBuffer> before);

  devices::Device& device_;
  std::span<const runtime::SlotInfo> parameters_;
  std::vector<PyObject*> given_;
  std::vector<PyObject*> leaves_;
  std::vector<nb::object> made_;
  std::vector<Region> regions_;
};

}  // namespace ingot::bindings
