#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ingot::codegen {

/// The CPU that code is made for.
struct Target {
  std::string cpu;       ///< LLVM's name: `znver4`
  std::string features;  ///< LLVM's list: `+avx2,-avx512f`
  std::string needs;     ///< what code may use: features of base/cpu.h, commas between
  int level = 1;         ///< of the x86-64 psABI, 1 to 4
  bool has_f16c = false;
  int vector_bits = 0;  ///< of the registers that vector loops use; 0: loops take one turn at a time

  /// Which loops whose turns threads may share are given to the runtime's threads.
  enum class Sharing : uint8_t {
    Never,
    Large,   ///< those with work enough, when they are entered
    Always,  ///< all of more than one turn, for tests
  };
  Sharing sharing = Sharing::Large;

  /// Arrays of so many bytes are written past the caches; 0: none.
  uint64_t streamed_bytes = 8 << 20;

  /// The CPU this runs on.
  static Target host();
  /// Any x86-64 CPU of a psABI level.
  static Target generic(int level);
  /// What a word asks for: `scalar`, `sse`, `avx2` and `avx512` are loops of one turn at a time on this CPU
  /// and the CPUs of levels 2 to 4; any other word is this CPU.
  static Target named(std::string_view word);

  bool operator==(const Target&) const = default;
};

}  // namespace ingot::codegen
