#include "softgpu/machine/watch.h"

#include <algorithm>

namespace softgpu {

const char* name_of(Access access) {
  switch (access) {
    case Access::Read: return "a read";
    case Access::Write: return "a write";
    case Access::Atomic: return "an atomic access";
  }
  return "";
}

void Watch::fence(uint32_t block) {
  std::vector<uint64_t>& own = fences_[block];
  if (has_touched_ || own.empty() || own.back() != time_) own.push_back(++time_);
  has_touched_ = false;
  look(block);
}

bool Watch::races(const Touch& before, const Touch& now) const {
  if (before.block == UINT32_MAX || (before.is_strong && now.is_strong)) return false;
  const std::vector<uint64_t>& fences = fences_[before.block];
  const auto after = std::ranges::upper_bound(fences, before.time);
  if (after != fences.end() && *after <= looked_[now.block]) return false;
  if (before.block != now.block) return true;
  if (before.thread == now.thread || before.barriers < now.barriers) return false;
  return before.thread / kLanes != now.thread / kLanes || before.together == now.together;
}

const Watch::Touch* Watch::touch(const Allocation* allocation, uint64_t at, uint64_t bytes, Touch now,
                                 Access access) {
  has_touched_ = true;
  now.time = time_;
  if (now.is_strong) look(now.block);
  auto& cells = allocation == nullptr ? shared_[now.block] : global_[allocation];
  for (uint64_t k = at; k < at + bytes; ++k) {
    Cell& cell = cells[k];
    if (races(cell.write, now)) return &cell.write;
    if (access == Access::Read) {
      if (cell.read.block != now.block || cell.read.thread != now.thread) cell.other_read = cell.read;
      cell.read = now;
      continue;
    }
    if (races(cell.read, now)) return &cell.read;
    if (races(cell.other_read, now)) return &cell.other_read;
    cell.write = now;
  }
  return nullptr;
}

}  // namespace softgpu
