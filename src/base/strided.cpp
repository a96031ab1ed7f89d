#include "base/strided.h"

#include <numeric>

namespace ingot::base {

bool Strided::covers(int64_t count) const {
  if (is_empty()) return count == 0;
  int64_t inside = itemsize;
  for (size_t axis = 0; axis < rank();) {
    if (lengths[axis] != 1 && strides[axis] == inside) {
      inside *= lengths[axis];
      axis = 0;
    } else {
      ++axis;
    }
  }
  return inside == bytes() && inside == count;
}

std::vector<Overlaps> Overlaps::among(std::span<const ByteRange> ranges) {
  std::vector<size_t> sorted(ranges.size());
  std::iota(sorted.begin(), sorted.end(), size_t{0});
  std::ranges::stable_sort(sorted, {}, [&](size_t i) { return ranges[i].low; });
  std::vector<Overlaps> all;
  Overlaps open;
  const auto close = [&] {
    if (!open.members.empty()) all.push_back(std::move(open));
    open = {};
  };
  for (const size_t i : sorted) {
    if (ranges[i].is_empty()) {
      all.push_back({ranges[i], {i}});
      continue;
    }
    if (ranges[i].low >= open.high) close();
    if (open.members.empty()) open = {ranges[i], {}};
    open.high = std::max(open.high, ranges[i].high);
    open.members.push_back(i);
  }
  close();
  for (Overlaps& group : all) std::ranges::sort(group.members);
  std::ranges::sort(all, {}, [](const Overlaps& group) { return group.members.front(); });
  return all;
}

}  // namespace ingot::base
