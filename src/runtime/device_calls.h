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

/// A launch, as compiled code describes it.
struct KernelCall {
  const char* text;  ///< what the driver loads; its address is its identity as long as the object is loaded
  int64_t bytes;
  const char* name;  ///< the kernel's; its address, too
  int64_t grid[3];
  int64_t block[3];
  int64_t shared_bytes;  ///< dynamic
  int64_t may_raise;     ///< then the first argument is the address of the error report, which is put there
  void** arguments;      ///< the address of each
  int64_t count;         ///< of arguments
  int64_t cooperative;   ///< 1: all blocks are there at once
  /// Not null: more values than a launch takes, packed into so many bytes; the last argument is the address
  /// of a copy of them on the device, which is put there.
  const void* packed;
  int64_t packed_bytes;
  const char* kinds;  ///< of each argument: its bytes, with `kKernelCallAddress` if it is an address
};

/// The error report of threads that raise: that of the lowest iteration stays.
struct KernelError {
  static constexpr uint64_t kNone = ~uint64_t{0};
  uint64_t iteration;
  int32_t lock;
  Status status;
  uint32_t site;
  uint64_t arguments[Error::kMaxArguments];
};

// The offsets in these structures that compiled code uses.
inline constexpr size_t kKernelCallTextOffset = 0;
inline constexpr size_t kKernelCallBytesOffset = 8;
inline constexpr size_t kKernelCallNameOffset = 16;
inline constexpr size_t kKernelCallGridOffset = 24;
inline constexpr size_t kKernelCallBlockOffset = 48;
inline constexpr size_t kKernelCallSharedOffset = 72;
inline constexpr size_t kKernelCallMayRaiseOffset = 80;
inline constexpr size_t kKernelCallArgumentsOffset = 88;
inline constexpr size_t kKernelCallCountOffset = 96;
inline constexpr size_t kKernelCallCooperativeOffset = 104;
inline constexpr size_t kKernelCallPackedOffset = 112;
inline constexpr size_t kKernelCallPackedBytesOffset = 120;
inline constexpr size_t kKernelCallKindsOffset = 128;
inline constexpr uint8_t kKernelCallAddress = 0x80;
inline constexpr size_t kKernelErrorIterationOffset = 0;
inline constexpr size_t kKernelErrorLockOffset = 8;
inline constexpr size_t kKernelErrorStatusOffset = 12;
inline constexpr size_t kKernelErrorSiteOffset = 16;
inline constexpr size_t kKernelErrorArgumentsOffset = 24;

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
