#pragma once

#include <atomic>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

/// What the stand-ins have in common: libraries with the vendor's ABI, for the software device, that compute
/// by plain loops on the host. A call puts copies from the device, a function of the host, and copies back
/// into the stream, and so runs asynchronously and in the stream's order, as the vendor's does.
namespace softgpu::stand_ins {

#define INGOT_LIBRARY extern "C" __attribute__((visibility("default"))) int

/// cudaDataType.
enum Type : int { kFloat32 = 0, kFloat64 = 1, kComplex64 = 4, kComplex128 = 5 };

/// cublasOperation_t, cusparseOperation_t.
enum Operation : int { kAsIs = 0, kTransposed = 1, kConjugateTransposed = 2 };

using Stream = void*;

/// The functions that are called of the driver: the software device's, which the process has opened.
struct Driver {
  int (*allocate)(void** memory, size_t bytes, unsigned flags) = nullptr;
  int (*free)(void* memory) = nullptr;
  int (*to_device)(uint64_t to, const void* from, size_t bytes, Stream stream) = nullptr;
  int (*to_host)(void* to, uint64_t from, size_t bytes, Stream stream) = nullptr;
  int (*host_function)(Stream stream, void (*function)(void*), void* data) = nullptr;
  int (*synchronize)(Stream stream) = nullptr;

  /// Null: it is not loaded.
  static const Driver* instance();
};

/// One call.
class Job {
 public:
  explicit Job(Stream stream);

  /// The memory that the function reads, and that it reads and writes: a copy of so many bytes of the
  /// device's memory.
  template <class T>
  const T* in(const void* device, size_t count) {
    return static_cast<const T*>(copy(device, count * sizeof(T), false));
  }
  template <class T>
  T* out(void* device, size_t count) {
    return static_cast<T*>(copy(device, count * sizeof(T), true));
  }
  /// Puts all of it into the stream; whether the driver took it. With `waits`, it is then done.
  bool run(std::function<void()> function, bool waits = false);

 private:
  struct Copy {
    uint64_t device;
    void* host;
    size_t bytes;
    bool is_output;
  };
  /// Kept until the stream has passed it; of one that failed, for ever.
  struct State {
    std::vector<Copy> copies{};
    std::function<void()> function{};
    std::atomic<bool> is_done{false};
  };

  struct Pending;

  Stream stream_;
  bool has_failed_ = false;
  State* state_;

  void* copy(const void* device, size_t bytes, bool is_output);
};

/// How many handles, plans and descriptions are live.
std::atomic<int>& live();
/// How many jobs there have been.
std::atomic<int>& jobs();

/// An object of the ABI: the address of one of these.
struct Handle {
  Stream stream = nullptr;
};

template <class T>
void create(T** handle) {
  *handle = new T;
  ++live();
}
template <class T>
void destroy(T* handle) {
  delete handle;
  --live();
}

template <class T>
T conjugate(T x) {
  return x;
}
template <class T>
std::complex<T> conjugate(std::complex<T> x) {
  return std::conj(x);
}

template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using type = T;
};
template <class T>
using Real = typename RealOf<T>::type;

/// Calls it with a number of the type; `failed` for another type.
template <class Fn>
int with_type(int type, int failed, Fn&& fn) {
  switch (type) {
    case kFloat32: return fn(float{});
    case kFloat64: return fn(double{});
    case kComplex64: return fn(std::complex<float>{});
    case kComplex128: return fn(std::complex<double>{});
    default: return failed;
  }
}

/// The first of the elements of a vector with such a step, as BLAS has it, counted from the lowest one.
inline size_t first_of(int64_t n, int64_t step) { return step < 0 ? static_cast<size_t>((1 - n) * step) : 0; }
inline size_t span_of(int64_t n, int64_t step) {
  return n <= 0 ? 0 : static_cast<size_t>((n - 1) * (step < 0 ? -step : step) + 1);
}

}  // namespace softgpu::stand_ins
