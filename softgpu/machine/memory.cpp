#include "softgpu/machine/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <stdexcept>

namespace softgpu {

namespace {

constexpr uint64_t kAlignment = 512;  // of allocations; also the least gap between two
constexpr uint64_t kFilled = uint64_t{64} << 20;
constexpr uintptr_t kWished = 0x620000000000;  // so that addresses are the same in most runs
constexpr uint64_t kPassable = uint64_t{8} << 40;
constexpr int kFill = 0xA5;

uint64_t rounded(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

/// The addresses that contexts before have given out, in bytes. They stay reserved, up to a bound: code may
/// still free them.
std::atomic<uint64_t>& passed() {
  static std::atomic<uint64_t> bytes{0};
  return bytes;
}

}  // namespace

Memory::Memory(uint64_t bytes, bool watches_writes) : total_(bytes), watches_(watches_writes) {
  // Addresses enough for freed ones to stay unused, as far as the host allows.
  for (range_bytes_ = std::max(bytes * 64, uint64_t{1} << 40); range_bytes_ >= bytes; range_bytes_ /= 2) {
    void* const got = mmap(reinterpret_cast<void*>(kWished + passed() % kPassable), range_bytes_, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED) continue;
    range_ = reinterpret_cast<uint64_t>(got);
    return;
  }
  throw std::runtime_error("no range of addresses for the device's memory");
}

Memory::~Memory() {
  const uint64_t given = std::min(rounded(next_, uint64_t{2} << 20), range_bytes_);
  const uint64_t reserved = (passed() += given) <= kPassable ? given : 0;
  for (const auto& [allocation, bytes] : mapped_) munmap(allocation->host, bytes);
  if (reserved != range_bytes_) munmap(reinterpret_cast<void*>(range_ + reserved), range_bytes_ - reserved);
}

uint64_t Memory::address_for(uint64_t bytes) {
  const uint64_t needed = rounded(bytes, kAlignment) + kAlignment;
  if (needed <= range_bytes_ - next_) {
    const uint64_t start = range_ + next_;
    next_ += needed;
    return start;
  }
  // All addresses were given out once: the first gap between live ones that is large enough.
  uint64_t from = range_;
  for (auto at = by_base_.lower_bound(range_); at != by_base_.end() && is_device_address(at->first); ++at) {
    if (at->second->state == Allocation::Freed) continue;
    if (at->first - from >= needed) break;
    from = at->first + rounded(at->second->whole, kAlignment) + kAlignment;
  }
  if (from + needed > range_ + range_bytes_) return 0;
  by_base_.erase(by_base_.lower_bound(from), by_base_.lower_bound(from + needed));
  return from;
}

Allocation* Memory::allocate(uint64_t bytes, bool is_waiting) {
  if (bytes == 0 || bytes > available()) return nullptr;
  const uint64_t start = address_for(bytes);
  if (start == 0) return nullptr;
  const uint64_t backing = rounded(bytes, 4096);
  void* const got =
      mmap(nullptr, backing, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) return nullptr;
  std::memset(got, kFill, std::min(bytes, kFilled));
  used_ += bytes;
  Allocation& made = allocations_.emplace_back();
  made = {start, is_waiting ? 0 : bytes, bytes, static_cast<std::byte*>(got),
          is_waiting ? Allocation::Waiting : Allocation::Live};
  if (watches_) made.written.resize(bytes);
  mapped_[&made] = backing;
  by_base_[start] = &made;
  return &made;
}

Allocation* Memory::allocate_zeros(uint64_t bytes) {
  Allocation* const made = allocate(bytes);
  if (made == nullptr) return nullptr;
  std::memset(made->host, 0, std::min(bytes, kFilled));  // the rest is
  mark_written(made->base, bytes);
  return made;
}

void Memory::begin(Allocation& allocation) {
  allocation.size = allocation.whole;
  allocation.state = Allocation::Live;
}

void Memory::free(Allocation& allocation) {
  const auto backing = mapped_.find(&allocation);
  if (backing == mapped_.end()) return;
  munmap(allocation.host, backing->second);
  mapped_.erase(backing);
  used_ -= allocation.whole;
  allocation.size = 0;
  allocation.host = nullptr;
  allocation.written = {};
  allocation.state = Allocation::Freed;
}

Allocation* Memory::add_host(void* memory, uint64_t bytes) {
  const auto base = reinterpret_cast<uint64_t>(memory);
  if (bytes == 0 || is_device_address(base)) return nullptr;
  const auto above = by_base_.lower_bound(base + bytes);
  if (above != by_base_.begin()) {
    const Allocation& below = *std::prev(above)->second;
    if (below.is_host && below.base + below.whole > base) return nullptr;
  }
  Allocation* made = nullptr;
  if (retired_.empty()) {
    made = &allocations_.emplace_back();
  } else {
    made = retired_.back();
    retired_.pop_back();
  }
  *made = {base, bytes, bytes, static_cast<std::byte*>(memory), Allocation::Live, true};
  by_base_[base] = made;
  return made;
}

void Memory::remove_host(Allocation& allocation) {
  by_base_.erase(allocation.base);
  allocation.size = 0;
  allocation.state = Allocation::Freed;
  retired_.push_back(&allocation);
}

Allocation* Memory::near(uint64_t address) {
  const auto above = by_base_.upper_bound(address);
  return above == by_base_.begin() ? nullptr : std::prev(above)->second;
}

Allocation* Memory::starting(uint64_t address) {
  const auto found = by_base_.find(address);
  return found == by_base_.end() || found->second->state == Allocation::Freed ? nullptr : found->second;
}

std::byte* Memory::bytes_at(uint64_t address, uint64_t bytes) {
  const Allocation* const found = near(address);
  return found != nullptr && found->holds(address, bytes) ? found->host + (address - found->base) : nullptr;
}

void Memory::mark_written(uint64_t address, uint64_t bytes) {
  Allocation* const found = near(address);
  if (found == nullptr || found->written.empty() || !found->holds(address, bytes)) return;
  std::memset(found->written.data() + (address - found->base), 1, bytes);
}

std::string Memory::describe(uint64_t address) {
  if (address < 4096) return "a null pointer";
  const bool is_device = is_device_address(address);
  const Allocation* const below = near(address);
  if (below != nullptr && below->is_host != is_device) {
    const std::string size = "an allocation of " + std::to_string(below->whole) + " bytes";
    const uint64_t at = address - below->base;
    if (at < below->whole) {
      const std::string where = "byte " + std::to_string(at) + " of " + size;
      if (below->state == Allocation::Freed) return where + " that was freed";
      if (below->state == Allocation::Waiting) return where + " whose stream has not come to it";
      return where;
    }
    const uint64_t past = at - below->whole;
    if (past < kAlignment / 2 || (is_device && near(address + kAlignment) == below))
      return std::to_string(past) + " bytes after the end of " + size;
  }
  const auto above = by_base_.upper_bound(address);
  if (above != by_base_.end() && above->first - address <= kAlignment)
    return std::to_string(above->first - address) + " bytes before an allocation of " +
           std::to_string(above->second->whole) + " bytes";
  return is_device ? "device memory that was never allocated"
                   : "no memory of the device: a pointer of the host?";
}

}  // namespace softgpu
