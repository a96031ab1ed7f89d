#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace softgpu {

/// The faults of a launch.
enum class FaultKind : uint8_t {
  Illegal,      ///< an address outside of all memory that the kernel may touch, or of freed memory
  Misaligned,   ///< an address that is no multiple of the access's size
  Race,         ///< threads that touch the same memory, unordered
  Unwritten,    ///< a read of memory that nobody has written
  Barrier,      ///< a barrier that not all threads come to
  Deadlock,     ///< no thread can go on
  Timeout,      ///< more instructions than the launch may take
  Trap,         ///< the program's own trap
  Assertion,    ///< the program's own assertion
  Instruction,  ///< an instruction that cannot be executed as it is
  Stack,        ///< more local memory than a thread may have
};

/// A launch that failed. The message is whole: fault, kernel, block, thread, line.
class Fault : public std::runtime_error {
 public:
  Fault(FaultKind what, const std::string& message) : std::runtime_error(message), kind(what) {}
  FaultKind kind;
};

}  // namespace softgpu
