#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "devices/device.h"
#include "runtime/abi.h"

/// The functions that device code calls: the memory and the kernels of `Context::device`, which is not null.
/// What waits calls `Hooks::let_go` first.
namespace ingot::runtime {

/// A buffer of a device's memory that belongs to no call. While the thread captures a graph, the memory is
/// the graph's, too. Throws devices::DeviceError.
Buffer* allocate_on_device(void* device, int64_t bytes);

/// Reads the error report, at a device's address, of a launch that may raise; nothing: no thread has raised.
/// Waits. The report is then ready for the next launch.
std::optional<Error> look_at_record(void* device, const void* report);

/// The kernels whose texts are in some memory: they are unloaded when it goes.
class LoadedKernels {
 public:
  LoadedKernels() = default;
  explicit LoadedKernels(std::span<const std::byte> texts) : texts_(texts) {}
  ~LoadedKernels();
  /// How their texts are loaded; given before the first launch.
  void load_with(std::shared_ptr<const devices::LoadOptions> options);
  LoadedKernels(LoadedKernels&& other) noexcept : texts_(std::exchange(other.texts_, {})) {}
  LoadedKernels& operator=(LoadedKernels&& other) noexcept {
    std::swap(texts_, other.texts_);
    return *this;
  }

 private:
  std::span<const std::byte> texts_;
};

extern "C" {
/// A buffer that belongs to the call. Null if there is no memory: the context's error is then MemoryError
/// without a site.
Buffer* ingot_v1_device_allocate(Context* context, int64_t bytes) noexcept;
/// Puts the kernel into the device's stream. One that may raise is waited for: 0, or the status that it has
/// left. RuntimeError where the driver fails.
Status ingot_v1_device_launch(Context* context, const KernelCall* call) noexcept;
/// Bytes of the device's memory become 0, in the order of the stream.
Status ingot_v1_device_clear(Context* context, void* memory, int64_t bytes) noexcept;
/// Waits for all before, and reads from the device's memory.
Status ingot_v1_device_read(Context* context, void* to, const void* from, int64_t bytes) noexcept;
/// ... `count` elements of `size` bytes, at a stride of `stride` bytes, put into contiguous memory.
Status ingot_v1_device_read_row(Context* context, void* to, const void* from, int64_t count, int64_t stride,
                                int64_t size) noexcept;
/// A routine that the device's libraries have runs there. Else `ingot_v1_outside` with copies of the views'
/// memory on the host, which are written back. Views of one memory share one copy.
Status ingot_v1_device_outside(Context* context, const char* what, const char* layout, int64_t number,
                               void** slots) noexcept;
/// A copy of device memory on the host, until it is written back. Null on failure, with the error in the
/// context.
void* ingot_v1_device_stage(Context* context, const void* from, int64_t bytes) noexcept;
/// ... of the words of a stream of random numbers, which can be drawn from there.
void* ingot_v1_device_stage_stream(Context* context, const void* from, int64_t bytes) noexcept;
Status ingot_v1_device_write_back(Context* context, void* copy, void* to, int64_t bytes) noexcept;
/// `ingot_v1_sort` and `ingot_v1_argsort` of device memory, on the host.
Status ingot_v1_device_sort(Context* context, int32_t dtype, int32_t stable, void* elements,
                            int64_t count) noexcept;
Status ingot_v1_device_argsort(Context* context, int32_t dtype, int32_t stable, void* elements,
                               int64_t* indices, int64_t count) noexcept;
}

}  // namespace ingot::runtime
