#pragma once

#include <cstdint>
#include <string_view>

#include "base/exception.h"

/// The parts of runtime/abi.h that emitted code uses; this component does not include it. The driver includes
/// both and checks by static_asserts that the numbers are equal.
namespace ingot::codegen::abi {

inline constexpr std::string_view kEntryPrefix = "ingot_entry_";
inline constexpr uint64_t kContextAttention = 0;
inline constexpr uint64_t kContextError = 8;
inline constexpr uint64_t kContextStackLimit = 360;
inline constexpr uint64_t kContextFloatState = 400;
inline constexpr uint64_t kContextFunctions = 408;
inline constexpr uint64_t kErrorStatus = 0;
inline constexpr uint64_t kErrorSite = 4;
inline constexpr uint64_t kErrorArguments = 8;
inline constexpr int kMaxErrorArguments = 32;
inline constexpr uint64_t kErrorLocation = 1;  ///< the argument
inline constexpr uint64_t kErrorCallers = 264;
inline constexpr uint32_t kMaxErrorCallers = 15;
inline constexpr uint32_t kNoSite = 0xffffffff;
inline constexpr uint64_t kBufferData = 0;
inline constexpr uint64_t kBufferSize = 8;
inline constexpr uint64_t kViewData = 0;
inline constexpr uint64_t kViewBuffer = 8;
inline constexpr uint64_t kViewExtent = 16;

inline constexpr uint64_t kKernelCallText = 0;
inline constexpr uint64_t kKernelCallBytes = 8;
inline constexpr uint64_t kKernelCallName = 16;
inline constexpr uint64_t kKernelCallGrid = 24;
inline constexpr uint64_t kKernelCallBlock = 48;
inline constexpr uint64_t kKernelCallShared = 72;
inline constexpr uint64_t kKernelCallMayRaise = 80;
inline constexpr uint64_t kKernelCallArguments = 88;
inline constexpr uint64_t kKernelCallCount = 96;
inline constexpr uint64_t kKernelCallCooperative = 104;
inline constexpr uint64_t kKernelCallPacked = 112;
inline constexpr uint64_t kKernelCallPackedBytes = 120;
inline constexpr uint64_t kKernelCallKinds = 128;
inline constexpr uint64_t kKernelCallSize = 136;
inline constexpr uint8_t kKernelCallAddress = 0x80;
inline constexpr uint64_t kKernelErrorIteration = 0;
inline constexpr uint64_t kKernelErrorLock = 8;
inline constexpr uint64_t kKernelErrorStatus = 12;
inline constexpr uint64_t kKernelErrorSite = 16;
inline constexpr uint64_t kKernelErrorArguments = 24;

constexpr int32_t status_of(base::ExceptionKind kind) { return 1 + static_cast<int32_t>(kind); }

}  // namespace ingot::codegen::abi
