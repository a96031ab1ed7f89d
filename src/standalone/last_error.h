#pragma once

#include <cstdint>
#include <string>

#include "base/exception.h"

/// A thread's last error.
namespace ingot::standalone {

struct Failure {
  base::ExceptionKind kind = base::ExceptionKind::RuntimeError;
  std::string message{};
  std::string file{};  ///< empty: no location is known
  int32_t line = 0;
  std::string function{};
};

/// Keeps it as the calling thread's last error. Returns the status that it is; where memory has run out, that
/// of MemoryError.
int32_t remember(Failure&& failure) noexcept;
int32_t remember(base::ExceptionKind kind, const char* message) noexcept;

/// The same, of memory that has run out. Needs none.
int32_t remember_no_memory() noexcept;

}  // namespace ingot::standalone
