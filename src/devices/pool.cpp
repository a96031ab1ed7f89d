// A free does nothing for other streams. An allocation that looks for a block among those of another stream
// first checks whether this stream is idle, and otherwise puts a mark at its end, for the next time: a
// program with one stream makes no marks.

#include "devices/pool.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace ingot::devices {

namespace {

int64_t rounded(int64_t bytes, int64_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

int64_t Pool::block_size(int64_t bytes) {
  if (bytes >= kLarge) return rounded(bytes, kLargeUnit);
  const auto width = static_cast<int>(std::bit_width(static_cast<uint64_t>(std::max(bytes, kUnit) - 1)));
  return rounded(std::max<int64_t>(bytes, 1), std::max(kUnit, int64_t{1} << std::max(width - 4, 0)));
}

Address Pool::allocate(int64_t bytes, const Stream& stream) {
  const std::lock_guard lock(mutex_);
  if (bytes < 0 || bytes > kMaxBytes) fail(bytes);
  const int64_t wanted = block_size(bytes);
  auto [address, size] = reuse(wanted, stream);
  if (address == 0) std::tie(address, size) = fetch(wanted, stream, bytes);
  live_.emplace(address, size);
  in_use_ += size;
  peak_ = std::max(peak_, in_use_);
  return address;
}

void Pool::free(Address address, const Stream& stream) noexcept {
  const std::lock_guard lock(mutex_);
  if (lost_.erase(address) != 0) {
    if (shadows_.erase(address) != 0) source_.give_back(address);
    return;
  }
  const auto found = live_.find(address);
  if (found == live_.end()) return;
  Kept& kept = kept_of(&stream);
  kept.blocks[found->second].push_back({address, ++kept.freed});
  kept_bytes_ += found->second;
  in_use_ -= found->second;
  live_.erase(found);
}

void Pool::wait_in(const Stream& stream) {
  const std::lock_guard lock(mutex_);
  kept_of(&stream).waits = true;
}

MemoryUse Pool::use() const {
  const std::lock_guard lock(mutex_);
  return {limit_, in_use_, kept_bytes_, peak_};
}

void Pool::set_limit(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  const int64_t above = bytes <= 0 ? 0 : in_use_ + kept_bytes_ - bytes;
  if (above > 0 && kept_bytes_ != 0) {
    wait_for_streams();
    give_back(above);
  }
  limit_ = std::max<int64_t>(bytes, 0);
}

void Pool::reset_peak() {
  const std::lock_guard lock(mutex_);
  peak_ = in_use_;
}

int64_t Pool::release() {
  const std::lock_guard lock(mutex_);
  wait_for_streams();
  return give_back(std::numeric_limits<int64_t>::max());
}

void Pool::retire(const Stream& stream, bool is_done) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(kept_, &stream, [](const auto& kept) { return kept->stream; });
  if (found == kept_.end()) return;
  const std::unique_ptr<Kept> gone = std::move(*found);
  kept_.erase(found);
  all_passed(*gone);
  Kept& into = kept_of(nullptr);
  for (auto& [size, blocks] : gone->blocks)
    for (const Block& block : blocks)
      if (is_done) into.blocks[size].push_back({block.address, 0});
      else if (source_.give_back(block.address)) kept_bytes_ -= size;
}

void Pool::forget() {
  const std::lock_guard lock(mutex_);
  for (const auto& [address, size] : live_) lost_.insert(address);
  live_.clear();
  kept_.clear();
  shadows_.clear();
  in_use_ = kept_bytes_ = peak_ = 0;
}

Pool::Kept& Pool::kept_of(const Stream* stream) {
  for (const auto& kept : kept_)
    if (kept->stream == stream) return *kept;
  kept_.push_back(std::make_unique<Kept>(Kept{.stream = stream}));
  return *kept_.back();
}

std::pair<Address, int64_t> Pool::reuse(int64_t size, const Stream& stream) {
  const auto candidates = [&](Kept& kept) {
    auto found = kept.blocks.lower_bound(size);
    while (found != kept.blocks.end() && found->second.empty()) found = kept.blocks.erase(found);
    return found != kept.blocks.end() && found->first <= size + size / 8 ? found : kept.blocks.end();
  };
  for (const auto& kept : kept_) {  // its own: the one that was freed last
    if (kept->stream != &stream) continue;
    const auto found = candidates(*kept);
    if (found == kept->blocks.end()) break;
    const Address address = found->second.back().address;
    found->second.pop_back();
    kept_bytes_ -= found->first;
    return {address, found->first};
  }
  const bool waits =
      std::ranges::any_of(kept_, [&](const auto& kept) { return kept->stream == &stream && kept->waits; });
  for (const auto& kept : kept_) {  // those of others: the one that was freed first
    if (kept->stream == &stream) continue;
    const auto found = candidates(*kept);
    if (found == kept->blocks.end()) continue;
    const uint64_t number = found->second.front().number;
    if (!has_passed(*kept, number)) {
      if (!waits) continue;
      mark(*kept);  // for the next ones: this one waits for the first that is late enough
      if (found->second.size() < kBusy) continue;
      source_.let_wait(stream, std::ranges::lower_bound(kept->marks, number, {}, [](const auto& mark) {
                                 return mark.first;
                               })->second);
    }
    const Address address = found->second.front().address;
    found->second.pop_front();
    kept_bytes_ -= found->first;
    return {address, found->first};
  }
  return {0, 0};
}

std::pair<Address, int64_t> Pool::fetch(int64_t size, const Stream& stream, int64_t bytes) {
  const auto above_limit = [&] { return limit_ == 0 ? 0 : in_use_ + kept_bytes_ + size - limit_; };
  if (above_limit() <= 0)
    if (const Address address = take_new(size); address != 0) return {address, size};
  if (kept_bytes_ != 0) {
    wait_for_streams();
    if (const auto found = reuse(size, stream); found.first != 0) return found;
    if (above_limit() > 0) give_back(above_limit());
    else give_back(std::numeric_limits<int64_t>::max());
    if (above_limit() <= 0) {
      Address address = take_new(size);
      if (address == 0 && give_back(std::numeric_limits<int64_t>::max()) != 0) address = take_new(size);
      if (address != 0) return {address, size};
    }
  }
  fail(bytes);
}

Address Pool::take_new(int64_t size) {
  for (;;) {
    const Address address = source_.take(size);
    if (address == 0 || !lost_.contains(address)) return address;
    shadows_.insert(address);
  }
}

bool Pool::has_passed(Kept& kept, uint64_t number) {
  if (kept.stream == nullptr || number <= kept.passed) return true;
  while (!kept.marks.empty() && source_.is_passed(kept.marks.front().second)) {
    kept.passed = kept.marks.front().first;
    source_.drop(kept.marks.front().second);
    kept.marks.pop_front();
  }
  if (number <= kept.passed) return true;
  if (source_.is_idle(*kept.stream)) {
    all_passed(kept);
    return true;
  }
  if (kept.marks.empty() || kept.marks.back().first < number) mark(kept);
  return false;
}

void Pool::mark(Kept& kept) {
  if (kept.marks.empty() || kept.marks.back().first < kept.freed)
    kept.marks.emplace_back(kept.freed, source_.mark(*kept.stream));
}

void Pool::all_passed(Kept& kept) noexcept {
  kept.passed = kept.freed;
  for (const auto& [number, mark] : kept.marks) source_.drop(mark);
  kept.marks.clear();
}

void Pool::wait_for_streams() {
  for (const auto& kept : kept_) {
    if (kept->stream == nullptr || kept->passed == kept->freed) continue;
    source_.wait(*kept->stream);
    all_passed(*kept);
  }
}

int64_t Pool::give_back(int64_t bytes) noexcept {
  int64_t given = 0;
  for (const auto& kept : kept_) {
    for (auto at = kept->blocks.rbegin(); at != kept->blocks.rend(); ++at) {  // the largest first
      auto& [size, blocks] = *at;
      while (given < bytes && !blocks.empty() && source_.give_back(blocks.front().address)) {
        blocks.pop_front();
        kept_bytes_ -= size;
        given += size;
      }
    }
  }
  return given;
}

void Pool::fail(int64_t bytes) const {
  std::string message = "no device memory for " + std::to_string(bytes) +
                        " bytes: " + std::to_string(in_use_) + " are in use, " + std::to_string(kept_bytes_) +
                        " are kept";
  if (limit_ != 0) message += ", the limit is " + std::to_string(limit_);
  throw OutOfMemory(bytes, message);
}

}  // namespace ingot::devices
