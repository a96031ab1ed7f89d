#pragma once

#include <span>
#include <string>

namespace ingot::codegen {

/// One relocatable object of several that LLVM has made of one program, as `ld -r` joins them: all their
/// sections, one table of symbols. What one names and another defines is one symbol. Symbols of hidden
/// visibility are local in the joined object. No two objects define the same global symbol.
std::string join(std::span<const std::string> objects);

}  // namespace ingot::codegen
