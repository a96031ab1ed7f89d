#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "softgpu/machine/program.h"

namespace softgpu {

enum class Access : uint8_t { Read, Write, Atomic };

/// How an access is called in messages: "a read".
const char* name_of(Access access);

/// Watches the accesses of one launch for races: two threads touch a byte, one of them writes, not both by
/// atomic or strong accesses, and nothing comes between - no barrier of the block, no op of the warp
/// together, no fence of the first one's block after which the second one's block came to a fence, or to a
/// strong access. What is reported is a race; a chain of synchronisation that is too short may hide one.
class Watch {
 public:
  explicit Watch(uint64_t blocks) : fences_(blocks), looked_(blocks, 0) {}

  /// Who touches something, and when.
  struct Touch {
    uint32_t block = UINT32_MAX;  ///< UINT32_MAX: nobody
    uint16_t thread = 0;
    bool is_strong = false;
    uint32_t barriers = 0;  ///< of the block until then
    uint32_t together = 0;  ///< ops of the warp until then
    uint64_t time = 0;      ///< fences of the launch until then
  };

  /// The earlier access that one of `bytes` races with, or null. Memory is shared memory of the running block
  /// (`allocation` null) or an allocation.
  const Touch* touch(const Allocation* allocation, uint64_t at, uint64_t bytes, Touch now, Access access);

  /// What the block did until now is seen by those who look afterwards.
  void fence(uint32_t block);
  /// The block sees what others did before their fences until now.
  void look(uint32_t block) { looked_[block] = time_; }
  /// Forgets what a block did in its shared memory.
  void end_block(uint32_t block) { shared_.erase(block); }

 private:
  struct Cell {
    Touch write, read, other_read;  ///< the last ones; `other_read` is of another thread than `read`
  };

  uint64_t time_ = 1;                          ///< counts fences
  std::vector<std::vector<uint64_t>> fences_;  ///< by block: their times
  std::vector<uint64_t> looked_;               ///< by block: when it last came to a fence or a strong access
  bool has_touched_ = false;                   ///< anybody, since the last fence
  std::unordered_map<uint32_t, std::unordered_map<uint64_t, Cell>> shared_;
  std::unordered_map<const Allocation*, std::unordered_map<uint64_t, Cell>> global_;

  bool races(const Touch& before, const Touch& now) const;
};

}  // namespace softgpu
