#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "devices/device.h"

namespace ingot::devices {

/// The operations of its device that a pool uses. Called with the pool's mutex held.
class PoolSource {
 public:
  virtual ~PoolSource() = default;

  using Mark = void*;

  /// New memory; 0: there is none left. Throws DeviceError.
  virtual Address take(int64_t bytes) = 0;
  /// Returns whether it could be given back.
  virtual bool give_back(Address address) noexcept = 0;
  /// Whether all that is in the stream is done. Throws DeviceError.
  virtual bool is_idle(const Stream& stream) = 0;
  /// Waits for all that is in the stream. Throws DeviceError.
  virtual void wait(const Stream& stream) = 0;
  /// A mark at the end of the stream. Throws DeviceError.
  virtual Mark mark(const Stream& stream) = 0;
  /// Whether the stream has come to the mark. Throws DeviceError.
  virtual bool is_passed(Mark mark) = 0;
  /// What is put into the stream from now on waits for the mark. Throws DeviceError.
  virtual void let_wait(const Stream& stream, Mark mark) = 0;
  virtual void drop(Mark mark) noexcept = 0;
};

/// A device's memory: freed blocks are kept for the next allocations. A block that was freed in a stream is
/// given at once to an allocation in the same stream - whose work on it comes later there -, and to others
/// when the stream has passed the free. Where the limit or the device's memory would be passed, the pool
/// waits for the streams, and gives back kept blocks. Usable from any thread.
class Pool {
 public:
  explicit Pool(PoolSource& source) : source_(source) {}

  static constexpr int64_t kUnit = 512;                  ///< sizes of blocks are multiples of it
  static constexpr int64_t kLarge = int64_t{256} << 20;  ///< from here on, of `kLargeUnit`
  static constexpr int64_t kLargeUnit = int64_t{2} << 20;
  static constexpr int64_t kMaxBytes = int64_t{1} << 47;

  /// The size of the block for so many bytes: at most an eighth more, or a unit.
  static int64_t block_size(int64_t bytes);

  /// Throws OutOfMemory, or DeviceError for a failure of the source.
  Address allocate(int64_t bytes, const Stream& stream);
  /// From now on an allocation in the stream is given a block that another stream has freed and not passed,
  /// and the stream waits for that free, where there are `kBusy` such blocks: who only copies into new memory
  /// would else take more and more, ahead of who uses it.
  void wait_in(const Stream& stream);
  static constexpr size_t kBusy = 2;
  /// Does nothing for what it did not allocate.
  void free(Address address, const Stream& stream) noexcept;
  MemoryUse use() const;
  void set_limit(int64_t bytes);
  void reset_peak();
  /// Bytes given back. Throws DeviceError.
  int64_t release();
  /// A stream that will not be used again. Blocks that were freed in it go to others if it is done, else to
  /// the source.
  void retire(const Stream& stream, bool is_done) noexcept;
  /// All memory is gone, with the device's context. What was in use may still be freed.
  void forget();

 private:
  struct Block {
    Address address;
    uint64_t number;  ///< of its free, in its stream
  };
  struct Kept {
    const Stream* stream;  ///< null: of streams that are destroyed, or have been waited for
    uint64_t freed = 0;    ///< how many blocks have been freed in it
    uint64_t passed = 0;   ///< how many of these frees it has passed
    std::deque<std::pair<uint64_t, PoolSource::Mark>> marks{};  ///< number of the last free before each
    std::map<int64_t, std::deque<Block>> blocks{};              ///< by size
    bool waits = false;                                         ///< `wait_in`
  };

  PoolSource& source_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Kept>> kept_;  ///< by stream, in the order of their first free
  std::unordered_map<Address, int64_t> live_;
  std::unordered_set<Address> lost_;     ///< in use when memory was forgotten
  std::unordered_set<Address> shadows_;  ///< new memory that begins where something lost did
  int64_t limit_ = 0, in_use_ = 0, kept_bytes_ = 0, peak_ = 0;

  Kept& kept_of(const Stream* stream);
  /// A kept block of about this size, or one of address 0.
  std::pair<Address, int64_t> reuse(int64_t size, const Stream& stream);
  std::pair<Address, int64_t> fetch(int64_t size, const Stream& stream, int64_t bytes);
  Address take_new(int64_t size);
  bool has_passed(Kept& kept, uint64_t number);
  /// A mark after all frees until now.
  void mark(Kept& kept);
  void all_passed(Kept& kept) noexcept;
  void wait_for_streams();
  int64_t give_back(int64_t bytes) noexcept;
  [[noreturn]] void fail(int64_t bytes) const;
};

}  // namespace ingot::devices
