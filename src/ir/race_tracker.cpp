#include "ir/race_tracker.h"

#include <algorithm>

namespace ingot::ir {

bool RaceTracker::note(uint32_t turn, const void* address, size_t size, Access access) {
  const uint32_t me = turn % (kSeveral - 1) + 1;
  const auto begin = reinterpret_cast<uintptr_t>(address);
  bool free = true;
  for (uintptr_t at = begin; at < begin + size;) {
    Page& page = pages_[at / kPageBytes];
    const uintptr_t end = std::min(begin + size, (at / kPageBytes + 1) * kPageBytes);
    for (; at < end; ++at) {
      Marks& marks = page[at % kPageBytes];
      for (Access other : {Access::Read, Access::Write, Access::Atomic}) {
        const uint32_t by = marks.by[static_cast<size_t>(other)];
        const bool harmless = other == access && access != Access::Write;
        if (!harmless && by != kNobody && by != me) free = false;
      }
      uint32_t& mine = marks.by[static_cast<size_t>(access)];
      mine = mine == kNobody || mine == me ? me : kSeveral;
    }
  }
  return free;
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

}  // namespace ingot::ir
