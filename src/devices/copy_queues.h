#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "devices/device.h"

namespace ingot::devices {

/// Copies from and to the host that overlap the kernels of a device's own stream: a queue for uploads, one
/// for downloads, and points of the own stream that they wait for. The caller gives the order: what a copy
/// waits for, and who waits for it. But for `upload`, one thread at a time calls this. Begins anew when the
/// device has been reset; queues are never destroyed.
class CopyQueues {
 public:
  /// `own`: the stream of threads that have set none.
  CopyQueues(Device& device, Stream& own) : device_(device), own_(own) {}

  Stream& own() const { return own_; }

  /// During its lifetime, the calling thread's stream is this one.
  class Inside {
   public:
    Inside(Device& device, Stream& stream) : device_(device), before_(device.stream()) {
      device_.use_stream(&stream);
    }
    ~Inside() { device_.use_stream(&before_); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    Device& device_;
    Stream& before_;
  };

  /// @name Points of the own stream
  /// How much has been put into the own stream, counted in calls.
  using Position = uint64_t;
  static constexpr Position kEnd =
      std::numeric_limits<Position>::max();  ///< where the stream ends, when asked
  /// A call has been put into the own stream: its position. Here and there it makes a mark, which costs an
  /// event: after each of the `kExact` calls that follow a copy, then after each `kSparse`th.
  Position advance() noexcept {
    ++now_;
    if (--until_mark_ == 0) [[unlikely]]
      mark_here();
    return now_;
  }
  /// Whether no call was put there later.
  bool is_last(Position position) const { return position == now_ || position == kEnd; }
  /// There are copies: the next calls get marks. Throws DeviceError.
  void be_exact() {
    renew();
    exact_ = kExact;
    until_mark_ = 1;
  }
  /// What is put into `queue` from now on waits for what the own stream was given up to a position, and for
  /// what it was given later only where there is no mark between. Throws DeviceError.
  void let_wait(Stream& queue, Position position);

  static constexpr int kExact = 64;
  static constexpr int kSparse = 16;

  /// @name Uploads
  /// The queue that they go into. Throws DeviceError.
  Stream& uploads();
  /// Copies to the device in that queue, and reads the host's memory, which is not pinned, before it returns:
  /// it is copied to pinned memory, of at most `kSlots * kSlotBytes`. From any thread, after `uploads`.
  /// Throws DeviceError.
  void upload(Address to, const void* from, int64_t bytes);
  /// A point after all uploads until now. Throws DeviceError.
  std::shared_ptr<Event> upload_point();
  /// What the own stream is given from now on comes after all uploads until now. Throws DeviceError.
  void join();

  static constexpr int kSlots = 4;
  static constexpr int64_t kSlotBytes = int64_t{4} << 20;
  /// Smaller ones are better put into the own stream: an event takes longer.
  static constexpr int64_t kLeast = int64_t{64} << 10;

  /// @name Downloads
  /// Their queue, after a position of the own stream, or after a point. Throws DeviceError.
  Stream& downloads_after(Position position);
  Stream& downloads_after(Event& point);

 private:
  struct Mark {
    Position position;
    std::unique_ptr<Event> event;
  };
  struct Slot {
    void* memory = nullptr;
    std::unique_ptr<Event> point{};  ///< after its last copy; null while that is not known
    bool is_used = false;
  };

  Device& device_;
  Stream& own_;
  uint64_t life_ = 0;  ///< of the device, that the objects below are of
  Stream* uploads_ = nullptr;
  Stream* downloads_ = nullptr;

  Position now_ = 0;
  int until_mark_ = 1;
  int exact_ = kExact;  ///< calls that are marked at once
  std::deque<Mark> marks_{};
  bool has_uploads_ = false;  ///< that the own stream may not have waited for

  std::mutex staging_mutex_;
  Slot slots_[kSlots];
  int next_ = 0;
  int slots_there_ = kSlots;  ///< fewer where the driver has refused one

  /// Makes the queues, if there are none of this life of the device.
  void renew();
  void mark_here() noexcept;
  Event& mark();
  Slot* next_slot();
  void stage(Slot& slot, Address to, const std::byte* from, int64_t bytes);
};

}  // namespace ingot::devices
