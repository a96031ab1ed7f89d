#pragma once

#include <llvm/ADT/StringRef.h>

namespace ingot::codegen {

/// LLVM's bitcode of functions.cpp, as it was when Ingot was built.
llvm::StringRef device_math_bitcode();

}  // namespace ingot::codegen
