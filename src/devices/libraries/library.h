#pragma once

#include <algorithm>
#include <complex>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "devices/cuda_device.h"
#include "devices/libraries/abi.h"

/// What the libraries have in common.
namespace ingot::devices {

/// A library's shared object. It is never closed: its threads and handlers may live as long as the process.
class LibraryFile {
 public:
  /// Opens the first existing one of a library's names, newest first: in the folders, then where the loader
  /// finds it; for the software device in `libraries` next to its driver alone, which holds the stand-ins.
  /// Throws DeviceError with the reason if there is none.
  LibraryFile(const CudaDevice& device, LibraryKind kind, const std::vector<std::string>& folders);

  /// Throws DeviceError: it is too old, or none.
  void* function(const char* symbol) const;
  /// `cuBLAS`.
  const char* name() const;
  const std::string& path() const { return path_; }
  /// The name, in its headers, of a number that its functions return.
  std::string status_name(LibraryStatus status) const;
  LibraryKind kind() const { return kind_; }

 private:
  LibraryKind kind_;
  void* handle_ = nullptr;
  std::string path_;
};

/// Memory of the device for the time of a call: freed in the order of the stream.
class Scratch {
 public:
  Scratch(CudaDevice& device, int64_t bytes) : device_(device), address_(device.allocate(bytes)) {}
  ~Scratch() { device_.free(address_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  Address address() const { return address_; }
  template <class T = void>
  T* pointer() const {
    return reinterpret_cast<T*>(address_);  // NOLINT(performance-no-int-to-ptr)
  }

 private:
  CudaDevice& device_;
  Address address_;
};

inline void* pointer_of(Address address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

/// A handle that a library has made for a stream; one thread uses it at a time.
template <class Handle>
class StreamHandle {
 public:
  using Destroy = LibraryStatus (*)(Handle);
  StreamHandle(Handle handle, Destroy destroy) : it(handle), destroy_(destroy) {}
  ~StreamHandle() {
    if (destroy_ != nullptr) (void)destroy_(it);
  }
  StreamHandle(const StreamHandle&) = delete;
  StreamHandle& operator=(const StreamHandle&) = delete;

  /// It is gone with its context.
  void abandon() { destroy_ = nullptr; }

  Handle it;
  std::mutex mutex{};  ///< of the library's user

 private:
  Destroy destroy_;
};

/// Such handles by keys that begin with a stream.
template <class Handle, class Key = CudaStreamHandle>
class StreamHandles {
 public:
  using Entry = std::shared_ptr<StreamHandle<Handle>>;

  /// The one of this key, made by `make` if there is none. At most `most` are kept: beyond that
  /// `before_dropping` is called, and the least recently used one goes.
  template <class Make, class BeforeDropping>
  Entry find(const Key& key, Make&& make, size_t most, BeforeDropping&& before_dropping) {
    const std::lock_guard lock(mutex_);
    auto found = entries_.find(key);
    if (found == entries_.end()) {
      if (entries_.size() >= most) {
        before_dropping();
        entries_.erase(std::min_element(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
          return a.second.second < b.second.second;
        }));
      }
      found = entries_.emplace(key, std::pair(make(), uint64_t{0})).first;
    }
    found->second.second = ++uses_;
    return found->second.first;
  }
  template <class IsOf>
  void remove_if(IsOf&& is_of) {
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [&](const auto& entry) { return is_of(entry.first); });
  }
  void abandon() {
    const std::lock_guard lock(mutex_);
    for (auto& [key, entry] : entries_) entry.first->abandon();
    entries_.clear();
  }

 private:
  std::mutex mutex_;
  std::map<Key, std::pair<Entry, uint64_t>> entries_;
  uint64_t uses_ = 0;
};

/// Throws the error that a status other than success means: OutOfMemory, what has failed the device, or
/// LibraryError.
[[noreturn]] void fail_in_library(CudaDevice& device, const LibraryFile& file, LibraryStatus status,
                                  const char* what);

/// cudaDataType of one of the four dtypes that libraries compute with. Throws InternalError for another.
LibraryType library_type(base::DType dtype);
bool has_library_type(base::DType dtype);

/// A number of a dtype, in the form that a library reads.
class LibraryScalar {
 public:
  LibraryScalar(base::DType dtype, std::complex<double> value);
  const void* get() const { return bytes_; }

 private:
  alignas(16) std::byte bytes_[16]{};
};

/// The number that a library has written, of a dtype.
std::complex<double> library_number(base::DType dtype, const std::byte* bytes);

/// A length or step in the type that libraries take. Throws DeviceError for one of more than 31 bits.
int library_int(const CudaDevice& device, int64_t number);
inline bool is_library_int(int64_t number) { return number >= INT32_MIN && number <= INT32_MAX; }

}  // namespace ingot::devices
