#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/abi.h"

namespace ingot::runtime {

/// The outside world of compiled code: an object that names any other symbol is not loaded. Ingot's own
/// symbols carry the version of the ABI in their names; a changed meaning is a new name, and the old one
/// stays as long as objects that use it may be loaded.
///
/// Besides `ingot_v1_*` these are memcpy, memmove, memset, and the C library's mathematical functions, for
/// double and float, that the code generator asks for or that LLVM makes of others (`sincos`, `exp10`).
/// The functions of math_symbols.h belong to the list too, but are not among these names.
std::span<const std::string_view> symbol_names();

/// The address of a symbol of the list, null for every other name.
void* find_symbol(std::string_view name);

extern "C" {
/// A buffer of `bytes` bytes, their values unspecified, 0 included, that belongs to the call. Null if `bytes`
/// is negative or too large or memory has run out: the context's error is then MemoryError without a site.
Buffer* ingot_v1_allocate(Context* context, int64_t bytes) noexcept;
/// Frees a buffer that the call allocated. Does nothing for null and for the buffers of arguments, so that
/// code in which a variable holds the one or the other need not know which.
void ingot_v1_release(Context* context, Buffer* buffer) noexcept;
}

}  // namespace ingot::runtime
