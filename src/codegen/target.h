#pragma once

#include <string>

namespace ingot::codegen {

/// The CPU that code is made for.
struct Target {
  std::string cpu;       ///< LLVM's name: `znver4`
  std::string features;  ///< LLVM's list: `+avx2,-avx512f`
  std::string needs;     ///< what code may use: features of base/cpu.h, commas between
  int level = 1;         ///< of the x86-64 psABI, 1 to 4
  bool has_f16c = false;

  /// The CPU this runs on.
  static Target host();
  /// Any x86-64 CPU of a psABI level.
  static Target generic(int level);

  bool operator==(const Target&) const = default;
};

}  // namespace ingot::codegen
