#pragma once

#include <array>
#include <atomic>
#include <complex>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/strided.h"
#include "devices/device.h"

/// The libraries that a vendor has for its devices: products, transforms, linear algebra, random numbers,
/// sparse matrices. Each is a shared object that is opened when it is first asked for, and works on the
/// calling thread's stream and in the device's memory.
namespace ingot::devices {

/// A library's status other than success: "gpu 0: cuBLAS: a product: CUBLAS_STATUS_NOT_SUPPORTED".
class LibraryError : public DeviceError {
 public:
  LibraryError(std::string status, const std::string& message)
      : DeviceError(message), status_(std::move(status)) {}
  /// As the library names it.
  const std::string& status() const { return status_; }

 private:
  std::string status_;
};

enum class LibraryKind : uint8_t { Blas, Fft, Solver, Random, Sparse };
inline constexpr size_t kLibraryKinds = 5;

/// The layout of an array in a device's memory.
struct DeviceView {
  base::DType dtype{};
  Address data = 0;                ///< of the first element
  std::vector<int64_t> lengths{};  ///< of the axes
  std::vector<int64_t> strides{};  ///< in bytes

  size_t rank() const { return lengths.size(); }
  int64_t element() const { return static_cast<int64_t>(base::size_of(dtype)); }
  /// Elements.
  int64_t size() const { return strided().size(); }
  base::Strided strided() const { return {lengths, strides, element()}; }
  /// With the last two axes exchanged.
  DeviceView transposed() const;
  /// The part of this number where all axes but the last `core` are counted in C order.
  DeviceView part(int64_t number, size_t core) const;
  /// How many such parts there are.
  int64_t parts(size_t core) const;
  /// In C order, without gaps.
  bool is_dense() const { return strided().is_c(); }
};

class CudaDevice;
using CudaStreamHandle = struct CudaStreamObject*;
class Blas;
class Fft;
class Placing;
class Random;
class Solver;
class Sparse;

/// Those of one device. Usable from any thread.
class Libraries {
 public:
  explicit Libraries(CudaDevice& device);
  ~Libraries();
  Libraries(const Libraries&) = delete;
  Libraries& operator=(const Libraries&) = delete;

  /// Folders where libraries are looked for before the system's loader looks for them, from now on.
  void set_folders(std::vector<std::string> folders);
  /// Why a library cannot be used: a sentence; empty if it can.
  std::string why_none(LibraryKind kind);
  /// Path and version of one that can be used.
  std::string description(LibraryKind kind);

  /// Whether compiled code uses them, where they can be used. At first it does on a vendor's device, and does
  /// not on the software device, whose libraries are stand-ins.
  bool is_for_compiled_code() const { return is_for_compiled_code_.load(std::memory_order_relaxed); }
  void set_for_compiled_code(bool is_used) {
    is_for_compiled_code_.store(is_used, std::memory_order_relaxed);
  }

  /// @name The libraries. They throw DeviceError where one cannot be used.
  Blas& blas();
  Fft& fft();
  Solver& solver();
  Random& random();
  Sparse& sparse();
  Placing& placing() { return *placing_; }

  /// Whether the libraries that can be used have a routine of the IR's library table (`matmul`, `fft.fft`,
  /// `linalg.solve`) for views of inputs and outputs.
  bool has(std::string_view routine, std::span<const DeviceView> operands);
  /// Whether the host need not wait for what the routine finds.
  static bool runs_late(std::string_view routine);
  /// Puts it into the stream, as it is called outside of compiled code. False, with nothing done: the
  /// libraries do not have it. Throws LibraryError, DeviceError.
  bool run(std::string_view routine, std::span<const DeviceView> operands);

  /// Destroys what was made for a stream that is about to be destroyed. The context is current.
  void forget(CudaStreamHandle stream) noexcept;
  /// Destroys all that was made for streams, when they are done; it is made again when it is needed. The
  /// context is current. Throws DeviceError if the device has failed.
  void release();
  /// All that was made is gone with the device's context.
  void abandon() noexcept;

 private:
  /// Finds and starts one; throws DeviceError.
  void open(LibraryKind kind);
  /// Opens it if nobody has tried yet; throws DeviceError where it cannot be used.
  void need(LibraryKind kind);

  CudaDevice& device_;
  std::atomic<bool> is_for_compiled_code_{false};
  std::mutex mutex_;  ///< of what follows
  std::vector<std::string> folders_{};
  struct State {
    std::atomic<bool> is_tried{false};
    std::string why_none{};  ///< set before `is_tried`
  };
  std::array<State, kLibraryKinds> states_{};
  std::unique_ptr<Blas> blas_;
  std::unique_ptr<Fft> fft_;
  std::unique_ptr<Solver> solver_;
  std::unique_ptr<Random> random_;
  std::unique_ptr<Sparse> sparse_;
  std::unique_ptr<Placing> placing_;
};

}  // namespace ingot::devices
