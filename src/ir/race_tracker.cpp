#include "ir/race_tracker.h"

#include <algorithm>

namespace ingot::ir {

/// Whether the mark's access happened before what iteration `me` does now.
bool RaceTracker::is_ordered(const Mark& mark, uint32_t me) const {
  const auto mine = fences_.find(me);
  if (mine == fences_.end()) return false;
  if (mark.by == kSeveral) return mine->second.last > mark.at;
  const auto other = fences_.find(mark.by);
  if (other == fences_.end()) return false;
  const auto fence = std::ranges::upper_bound(other->second.times, mark.at);
  return fence != other->second.times.end() && mine->second.last > *fence;
}

bool RaceTracker::note(uint32_t iteration, const void* address, size_t size, Access access) {
  const uint32_t me = iteration % (kSeveral - 1) + 1;
  if (access == Access::Atomic) fences_[me].last = ++now_;
  const auto begin = reinterpret_cast<uintptr_t>(address);
  bool free = true;
  for (uintptr_t at = begin; at < begin + size;) {
    Page& page = pages_[at / kPageBytes];
    const uintptr_t end = std::min(begin + size, (at / kPageBytes + 1) * kPageBytes);
    for (; at < end; ++at) {
      Marks& marks = page[at % kPageBytes];
      for (Access other : {Access::Read, Access::Write, Access::Atomic}) {
        const Mark& mark = marks.of[static_cast<size_t>(other)];
        const bool harmless = other == access && access != Access::Write;
        if (!harmless && mark.by != kNobody && mark.by != me && !is_ordered(mark, me)) free = false;
      }
      Mark& mine = marks.of[static_cast<size_t>(access)];
      mine.by = mine.by == kNobody || mine.by == me || is_ordered(mine, me) ? me : kSeveral;
      mine.at = now_;
    }
  }
  return free;
}

void RaceTracker::fence(uint32_t iteration) {
  Fences& fences = fences_[iteration % (kSeveral - 1) + 1];
  fences.times.push_back(++now_);
  fences.last = now_;
}

void RaceTracker::forget(const void* address, size_t size) {
  const auto begin = reinterpret_cast<uintptr_t>(address);
  for (uintptr_t at = begin; at < begin + size;) {
    const uintptr_t end = std::min(begin + size, (at / kPageBytes + 1) * kPageBytes);
    const auto page = pages_.find(at / kPageBytes);
    if (page != pages_.end())
      for (uintptr_t byte = at; byte < end; ++byte) page->second[byte % kPageBytes] = {};
    at = end;
  }
}

void RaceTracker::forget_iterations(uint32_t mask) {
  for (auto& [number, page] : pages_)
    for (Marks& marks : page)
      for (Mark& mark : marks.of)
        if (mark.by == kSeveral || (mark.by != kNobody && (mask >> (mark.by - 1) & 1) != 0)) mark = {};
}

}  // namespace ingot::ir
