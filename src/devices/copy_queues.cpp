#include "devices/copy_queues.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ingot::devices {

namespace {

constexpr size_t kMostMarks = 128;  ///< the oldest are used again

}  // namespace

void CopyQueues::renew() {
  const uint64_t life = device_.life();
  if (uploads_ != nullptr && life == life_) return;
  marks_.clear();
  has_uploads_ = false;
  uploads_ = downloads_ = nullptr;
  const std::lock_guard lock(staging_mutex_);
  for (Slot& slot : slots_) slot = {};
  slots_there_ = kSlots;
  std::unique_ptr<Stream> uploads = device_.make_upload_stream();
  downloads_ = device_.make_stream().release();
  uploads_ = uploads.release();
  life_ = life;
}

void CopyQueues::mark_here() noexcept {
  try {
    if (uploads_ != nullptr) mark();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): who waits makes one
  }
  until_mark_ = exact_ > 0 ? 1 : kSparse;
  exact_ = std::max(exact_ - 1, 0);
}

Event& CopyQueues::mark() {
  renew();
  if (!marks_.empty() && marks_.back().position == now_) {
    marks_.back().event->record(own_);
    return *marks_.back().event;
  }
  std::unique_ptr<Event> event;
  if (marks_.size() == kMostMarks) {
    event = std::move(marks_.front().event);
    marks_.pop_front();
  } else {
    event = device_.make_point();
  }
  event->record(own_);
  marks_.push_back({now_, std::move(event)});
  return *marks_.back().event;
}

void CopyQueues::let_wait(Stream& queue, Position position) {
  be_exact();
  const auto found = std::ranges::lower_bound(marks_, position, {}, &Mark::position);  // none of kEnd
  (found == marks_.end() ? mark() : *found->event).let_wait(queue);
}

Stream& CopyQueues::uploads() {
  renew();
  return *uploads_;
}

void CopyQueues::upload(Address to, const void* from, int64_t bytes) {
  const Inside inside(device_, *uploads_);
  const std::lock_guard lock(staging_mutex_);
  const auto* at = static_cast<const std::byte*>(from);
  while (bytes > 0) {
    const int64_t part = std::min(bytes, kSlotBytes);
    Slot* const slot = next_slot();
    if (slot == nullptr) return device_.write(to, at, bytes);
    stage(*slot, to, at, part);
    to += static_cast<Address>(part);
    at += part;
    bytes -= part;
  }
}

/// Null: there is no pinned memory.
CopyQueues::Slot* CopyQueues::next_slot() {
  if (next_ < slots_there_ && slots_[next_].memory == nullptr) {
    try {
      slots_[next_].memory = device_.allocate_pinned(kSlotBytes);
    } catch (const DeviceError&) {  // NOLINT(bugprone-empty-catch): there is none, then
    }
    if (slots_[next_].memory == nullptr) slots_there_ = next_;
  }
  if (slots_there_ == 0) return nullptr;
  Slot& slot = slots_[next_ % slots_there_];
  next_ = (next_ % slots_there_ + 1) % slots_there_;
  return &slot;
}

void CopyQueues::stage(Slot& slot, Address to, const std::byte* from, int64_t bytes) {
  if (slot.point != nullptr) slot.point->synchronize();
  else if (slot.is_used) uploads_->synchronize();
  std::memcpy(slot.memory, from, static_cast<size_t>(bytes));
  std::unique_ptr<Event> point = std::move(slot.point);
  if (point == nullptr) point = device_.make_point();
  slot.is_used = true;
  device_.write(to, slot.memory, bytes);
  point->record(*uploads_);
  slot.point = std::move(point);
}

std::shared_ptr<Event> CopyQueues::upload_point() {
  be_exact();
  has_uploads_ = true;
  std::shared_ptr<Event> point = device_.make_point();
  point->record(*uploads_);
  return point;
}

void CopyQueues::join() {
  if (!has_uploads_) return;
  renew();
  if (has_uploads_) device_.order(*uploads_, own_);
  has_uploads_ = false;
}

Stream& CopyQueues::downloads_after(Position position) {
  renew();
  let_wait(*downloads_, position);
  return *downloads_;
}

Stream& CopyQueues::downloads_after(Event& point) {
  be_exact();
  point.let_wait(*downloads_);
  return *downloads_;
}

}  // namespace ingot::devices
