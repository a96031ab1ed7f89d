#pragma once

#include <cstdint>
#include <string_view>

#include "base/exception.h"

/// What emitted code knows of runtime/abi.h, which this room does not see. The driver, which sees both, holds
/// the numbers equal by static_asserts.
namespace ingot::codegen::abi {

inline constexpr std::string_view kEntryPrefix = "ingot_entry_";
inline constexpr uint64_t kContextAttention = 0;
inline constexpr uint64_t kContextError = 8;
inline constexpr uint64_t kContextStackLimit = 360;
inline constexpr uint64_t kErrorSite = 4;
inline constexpr uint64_t kErrorArguments = 8;
inline constexpr int kMaxErrorArguments = 32;
inline constexpr uint64_t kErrorCallers = 264;
inline constexpr uint32_t kMaxErrorCallers = 15;
inline constexpr uint32_t kNoSite = 0xffffffff;
inline constexpr uint64_t kBufferData = 0;
inline constexpr uint64_t kBufferSize = 8;
inline constexpr uint64_t kViewData = 0;
inline constexpr uint64_t kViewBuffer = 8;
inline constexpr uint64_t kViewExtent = 16;

constexpr int32_t status_of(base::ExceptionKind kind) { return 1 + static_cast<int32_t>(kind); }

}  // namespace ingot::codegen::abi
