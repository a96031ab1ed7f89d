#include "codegen/targets/device_math/bitcode.h"

// INGOT_DEVICE_MATH is the file's path, which CMakeLists.txt gives.
__asm__(
    ".pushsection .rodata\n"
    ".balign 16\n"
    ".hidden ingot_device_math\n"
    ".globl ingot_device_math\n"
    "ingot_device_math:\n"
    ".incbin \"" INGOT_DEVICE_MATH
    "\"\n"
    ".hidden ingot_device_math_end\n"
    ".globl ingot_device_math_end\n"
    "ingot_device_math_end:\n"
    ".popsection\n");

extern "C" {
extern const char ingot_device_math[];
extern const char ingot_device_math_end[];
}

namespace ingot::codegen {

llvm::StringRef device_math_bitcode() {
  return {ingot_device_math, static_cast<size_t>(ingot_device_math_end - ingot_device_math)};
}

}  // namespace ingot::codegen
