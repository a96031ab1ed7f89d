#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace softgpu {

/// A piece of memory that kernels may touch.
struct Allocation {
  uint64_t base = 0;          ///< the address that kernels use
  uint64_t size = 0;          ///< bytes that may be touched now; 0 before its time, and after
  uint64_t whole = 0;         ///< bytes it was made with
  std::byte* host = nullptr;  ///< where its bytes are
  enum State : uint8_t { Live, Freed, Waiting } state = Live;
  bool is_host = false;            ///< the host's own memory: pinned or registered, or managed
  bool is_managed = false;         ///< the host's, which the driver reports as the device's, too
  bool is_heap = false;            ///< a kernel's malloc made it
  std::vector<uint8_t> written{};  ///< by byte, where that is watched; else empty

  bool holds(uint64_t address, uint64_t bytes) const {
    const uint64_t at = address - base;
    return at < size && bytes <= size - at;
  }
};

/// The memory of a device: addresses of a range that is reserved and that the host cannot touch - it faults
/// -, backed by bytes elsewhere. Every allocation has a gap around it, and the addresses of freed ones are
/// not given out again as long as others are left, so that wrong accesses hit nothing.
class Memory {
 public:
  /// A device of this many bytes.
  /// `watches_writes`: of each byte of an allocation it is known whether it was written.
  explicit Memory(uint64_t bytes, bool watches_writes = false);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// New memory, or null if there is not enough left. Its bytes are 0xA5 (of large ones the first 64 MiB; the
  /// rest is 0). `is_waiting`: it may be touched after `begin` only.
  Allocation* allocate(uint64_t bytes, bool is_waiting = false);
  /// The same of zeros, which are written.
  Allocation* allocate_zeros(uint64_t bytes);
  void begin(Allocation& allocation);
  /// Frees it; its entry stays, to explain later accesses.
  void free(Allocation& allocation);

  /// Lets kernels touch the host's memory at its own address; null where some of it is known already.
  Allocation* add_host(void* memory, uint64_t bytes);
  void remove_host(Allocation& allocation);

  /// The allocation, freed or not, that holds an address or is the nearest one below; null: none is below.
  Allocation* near(uint64_t address);
  /// The live allocation that begins there, or null.
  Allocation* starting(uint64_t address);
  /// The bytes of `[address, address + bytes)`, or null where they are not wholly in one live allocation.
  std::byte* bytes_at(uint64_t address, uint64_t bytes);
  /// What is at an address, in words: "8 bytes after the end of an allocation of 800 bytes".
  std::string describe(uint64_t address);

  /// Marks bytes as written, by a copy for instance.
  void mark_written(uint64_t address, uint64_t bytes);
  bool watches_writes() const { return watches_; }

  uint64_t total() const { return total_; }
  uint64_t available() const { return total_ - used_; }
  bool is_device_address(uint64_t address) const { return address - range_ < range_bytes_; }

 private:
  uint64_t total_;
  uint64_t used_ = 0;
  bool watches_ = false;
  uint64_t range_ = 0;  ///< the reserved range
  uint64_t range_bytes_ = 0;
  uint64_t next_ = 0;  ///< the first address that was never given out, from the range's begin
  std::deque<Allocation> allocations_;  ///< never moved
  std::map<uint64_t, Allocation*> by_base_;
  std::vector<Allocation*> retired_;        ///< of the host's, removed: used again
  std::map<Allocation*, uint64_t> mapped_;  ///< bytes of backing by allocation

  uint64_t address_for(uint64_t bytes);
};

}  // namespace softgpu
