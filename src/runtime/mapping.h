#pragma once

#include <cstddef>
#include <span>
#include <utility>

namespace ingot::runtime {

/// Pages of memory, readable and writable at first, unmapped on destruction.
class Mapping {
 public:
  static constexpr size_t kPage = 4096;
  enum class Access { ReadExecute, Read };

  Mapping() = default;
  /// Throws std::bad_alloc if there is no memory. `low`: below 2 GiB if there are addresses free.
  Mapping(size_t size, bool low);
  ~Mapping();
  Mapping(Mapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  std::span<std::byte> bytes() const { return bytes_; }
  /// Changes the access of whole pages. Throws LoadError if the system refuses.
  void protect(size_t offset, size_t size, Access access) const;

 private:
  std::span<std::byte> bytes_;
};

}  // namespace ingot::runtime
