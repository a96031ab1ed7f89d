#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "softgpu/machine/memory.h"
#include "softgpu/machine/ptx.h"

/// A program decoded for running: each instruction is a function for its op and types with the slots of its
/// operands in a warp's registers.
namespace softgpu {

class Warp;
struct Instruction;

/// One bit for each thread of a warp.
using Mask = uint32_t;
constexpr uint32_t kLanes = 32;
constexpr Mask kAll = ~Mask{0};

/// Executes an instruction for the threads of the mask, which is not empty.
using Handler = void (*)(Warp&, const Instruction&, Mask);

/// Where the 32 values of an operand are: bytes from the begin of the frame's registers, or, negative, from
/// that of the function's constants.
using Slot = int32_t;
constexpr Slot kConstant = INT32_MIN;  ///< added to the slot of a constant
constexpr Slot kNoSlot = INT32_MAX;
constexpr uint32_t kNever = UINT32_MAX;  ///< no instruction

/// Generic addresses of what is not global have these top bytes, which no pointer of the host has.
constexpr uint64_t kSharedWindow = uint64_t{1} << 56;
constexpr uint64_t kLocalWindow = uint64_t{2} << 56;
constexpr uint64_t kParamWindow = uint64_t{3} << 56;
constexpr uint64_t kFunctionWindow = uint64_t{4} << 56;  ///< and the function's index

/// Instruction::flags of accesses.
namespace flag {
constexpr uint16_t kStrong = 1 << 13;   ///< volatile, relaxed, acquire, release
constexpr uint16_t kRelease = 1 << 14;  ///< earlier accesses are visible with it
}  // namespace flag

struct Instruction {
  Handler run = nullptr;
  Slot d = kNoSlot, a = kNoSlot, b = kNoSlot, c = kNoSlot, e = kNoSlot;  ///< result and operands
  Slot guard = kNoSlot;                                                  ///< a predicate
  bool is_guard_negated = false;
  uint8_t lanes = 1;                         ///< of a vector access
  uint16_t flags = 0;                        ///< what the handler sets
  uint32_t target = kNever;                  ///< of a branch; index of a list of slots, of a call
  uint32_t join = kNever;                    ///< where the paths of a branch join again
  int64_t offset = 0;                        ///< of an address, and other numbers
  mutable const Allocation* last = nullptr;  ///< what the last access touched
};

/// A call: the callee, and which bytes of the caller's parameters are which of the callee's.
struct CallSite {
  uint32_t callee = kNever;  ///< kNever: by the address in operand a
  struct Copy {
    uint32_t ours, theirs, bytes;
  };
  std::vector<uint32_t> arguments{};  ///< offsets in the caller's parameters
  std::vector<uint32_t> results{};
};

/// Special registers, whose values are put into a frame when it begins.
struct Special {
  enum Kind : uint8_t {
    TidX,
    TidY,
    TidZ,
    NtidX,
    NtidY,
    NtidZ,
    CtaidX,
    CtaidY,
    CtaidZ,
    NctaidX,
    NctaidY,
    NctaidZ,
    LaneId,
    WarpId,
    Nwarpid,
    SmId,
    Nsmid,
    GridId,
    LanemaskEq,
    LanemaskLt,
    LanemaskLe,
    LanemaskGt,
    LanemaskGe,
    DynamicShared,
    TotalShared,
    WorkspaceHigh,  ///< %envreg1 and 2: memory of a cooperative launch that its barriers use
    WorkspaceLow,
    Zero
  };
  Kind kind;
  Slot slot;
  uint8_t bytes;
};

struct Parameter {
  uint32_t offset = 0;
  uint32_t bytes = 0;
};

struct Function {
  std::string name;
  bool is_kernel = false;
  bool has_body = false;
  std::vector<Instruction> code{};
  std::vector<ptx::Location> locations{};  ///< by instruction
  std::vector<std::string> texts{};        ///< the opcode, by instruction
  std::vector<std::byte> constants{};      ///< 32 times each
  std::vector<std::vector<Slot>> lists{};
  std::vector<CallSite> calls{};
  std::vector<Special> specials{};
  uint32_t register_bytes = 0;
  uint32_t registers = 0;     ///< how many are declared and used
  uint32_t param_bytes = 0;   ///< of one thread: parameters, results, and those of calls
  uint32_t local_bytes = 0;   ///< of one thread
  uint32_t shared_bytes = 0;  ///< of the module's functions together, static
  uint32_t max_threads = 1024;
  std::vector<Parameter> parameters{};
  std::vector<Parameter> results{};
};

struct Program {
  std::vector<Function> functions{};
  std::unordered_map<std::string, uint32_t> by_name{};
  std::vector<std::string> files{};
  struct Global {
    uint64_t address = 0;
    uint64_t bytes = 0;
  };
  std::unordered_map<std::string, Global> globals{};
  std::vector<Allocation*> memory{};  ///< of the globals; unloading frees it
  uint32_t shared_bytes = 0;          ///< static shared memory
  uint32_t const_bytes = 0;

  const Function* kernel(std::string_view name) const;
  /// The names of all kernels, in their order.
  std::vector<std::string> kernels() const;
};

/// Decodes PTX, one text or several one after the other, which are linked: what one declares `.extern` is
/// what another defines `.visible` or `.weak`. Variables of memory are allocated in `memory`. Throws
/// LoadError, and leaves nothing allocated then.
std::unique_ptr<Program> load(std::string_view ptx, Memory& memory);

}  // namespace softgpu
