#include "softgpu/machine/queue_watch.h"

#include <algorithm>

#include "softgpu/machine/fault.h"

namespace softgpu {

namespace {

constexpr size_t kMostTouches = 256;  ///< of an allocation; the oldest are forgotten

const char* doing(Access access) {
  switch (access) {
    case Access::Read: return "reads";
    case Access::Write: return "writes";
    case Access::Atomic: return "changes";
  }
  return "";
}

}  // namespace

bool Footprint::meets(const Footprint& other) const {
  const uint64_t begin = std::max(low, other.low);
  const uint64_t end = std::min(high, other.high);
  if (begin >= end) return false;
  if (bits.empty() && other.bits.empty()) return true;
  const auto word = [](const Footprint& of, uint64_t n) {
    return of.bits.empty() ? ~uint64_t{0} : of.bits[n];
  };
  for (uint64_t n = begin / 64; n <= (end - 1) / 64; ++n) {
    uint64_t common = word(*this, n) & word(other, n);
    if (n == begin / 64) common &= ~uint64_t{0} << (begin % 64);
    if (n == (end - 1) / 64) common &= ~uint64_t{0} >> (63 - (end - 1) % 64);
    if (common != 0) return true;
  }
  return false;
}

bool Footprint::is_whole() const {
  if (bits.empty()) return true;
  for (uint64_t n = low / 64; n <= (high - 1) / 64; ++n) {
    uint64_t wanted = ~uint64_t{0};
    if (n == low / 64) wanted &= ~uint64_t{0} << (low % 64);
    if (n == (high - 1) / 64) wanted &= ~uint64_t{0} >> (63 - (high - 1) % 64);
    if ((bits[n] & wanted) != wanted) return false;
  }
  return true;
}

void Touched::add(const Allocation& where, uint64_t at, uint64_t bytes, Access access) {
  Footprint& into = all_[&where][static_cast<size_t>(access)];
  if (into.bits.empty()) {
    into.bits.resize(where.whole / 64 + 1);
    into.low = at;
  }
  into.low = std::min(into.low, at);
  into.high = std::max(into.high, at + bytes);
  for (uint64_t k = at; k < at + bytes; ++k) into.bits[k / 64] |= uint64_t{1} << (k % 64);
}

void QueueWatch::join(Clock& into, const Clock& from) {
  if (into.size() < from.size()) into.resize(from.size());
  for (size_t k = 0; k < from.size(); ++k) into[k] = std::max(into[k], from[k]);
}

void QueueWatch::join(Clock& into, const Moment& moment) const {
  if (moment.number != 0) join(into, clocks_[moment.stream][moment.number - 1]);
}

void QueueWatch::put(uint32_t stream, std::span<const Moment> waits) {
  if (clocks_.size() <= stream) clocks_.resize(stream + 1), gathered_.resize(stream + 1);
  Clock clock = host_;
  if (!clocks_[stream].empty()) join(clock, clocks_[stream].back());
  for (const Moment& moment : waits) join(clock, moment);
  join(clock, gathered_[stream]);
  if (clock.size() <= stream) clock.resize(stream + 1);
  clock[stream] = clocks_[stream].size() + 1;
  clocks_[stream].push_back(std::move(clock));
}

void QueueWatch::pass(const Moment& moment) { join(host_, moment); }

void QueueWatch::pass_all() {
  for (const std::vector<Clock>& stream : clocks_)
    if (!stream.empty()) join(host_, stream.back());
}

void QueueWatch::gather(uint32_t stream) {
  if (gathered_.size() <= stream) clocks_.resize(stream + 1), gathered_.resize(stream + 1);
  for (const std::vector<Clock>& other : clocks_)
    if (!other.empty()) join(gathered_[stream], other.back());
}

void QueueWatch::touch(const Moment& now, const std::string& who, const Allocation& where, Access access,
                       const Footprint& footprint) {
  const Clock& clock = clocks_[now.stream][now.number - 1];
  std::vector<Touch>& touches = touches_[&where];
  for (const Touch& before : touches) {
    if (access == before.access && access != Access::Write) continue;
    const uint32_t stream = before.when.stream;
    const bool is_ordered =
        stream == now.stream || (stream < clock.size() && clock[stream] >= before.when.number);
    if (is_ordered || !before.footprint.meets(footprint)) continue;
    throw Fault(FaultKind::Race, "a race between streams: " + who + " " + doing(access) +
                                     " memory of an allocation of " + std::to_string(where.whole) +
                                     " bytes that " + before.who + " " + doing(before.access) +
                                     " in another stream, and nothing orders the two");
  }
  const bool is_whole = footprint.is_whole();
  std::erase_if(touches, [&](const Touch& before) {
    const bool is_inside = footprint.low <= before.footprint.low && before.footprint.high <= footprint.high;
    const bool is_same = before.when.stream == now.stream && before.access == access;
    return is_whole && is_inside && (access == Access::Write || is_same);
  });
  if (touches.size() >= kMostTouches) touches.erase(touches.begin());
  touches.push_back({now, access, {footprint.low, footprint.high}, who});
  if (!is_whole) touches.back().footprint.bits = footprint.bits;
}

}  // namespace softgpu
