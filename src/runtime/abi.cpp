#include "runtime/abi.h"

#include <type_traits>

namespace ingot::runtime {

template <class T>
inline constexpr bool is_plain = std::is_standard_layout_v<T> && std::is_trivially_copyable_v<T>;

static_assert(is_plain<Context> && is_plain<Error> && is_plain<Buffer> && is_plain<ViewSlot>);
static_assert(sizeof(void*) == 8, "the ABI is that of 64-bit targets");

static_assert(offsetof(Context, attention) == kContextAttentionOffset);
static_assert(offsetof(Context, error) == kContextErrorOffset);
static_assert(offsetof(Context, buffers) == 336);
static_assert(offsetof(Context, hooks) == kContextHooksOffset);
static_assert(offsetof(Context, user) == 352);
static_assert(offsetof(Context, stack_limit) == kContextStackLimitOffset);
static_assert(offsetof(Context, float_state) == kContextFloatStateOffset);
static_assert(offsetof(Context, functions) == kContextFunctionsOffset);
static_assert(sizeof(Context) == 416 && alignof(Context) == 8);

static_assert(offsetof(Error, status) == kErrorStatusOffset);
static_assert(offsetof(Error, site) == kErrorSiteOffset);
static_assert(offsetof(Error, arguments) == kErrorArgumentsOffset);
static_assert(offsetof(Error, caller_count) == kErrorCallersOffset);
static_assert(offsetof(Error, callers) == kErrorCallersOffset + 4);
static_assert(sizeof(Error) == kErrorCallersOffset + 4 + 4 * Error::kMaxCallers);

static_assert(offsetof(Buffer, data) == kBufferDataOffset);
static_assert(offsetof(Buffer, size) == kBufferSizeOffset);
static_assert(offsetof(Buffer, owner) == 16);
static_assert(sizeof(Buffer) == 48 && alignof(Buffer) == 8);

static_assert(offsetof(ViewSlot, data) == kViewDataOffset);
static_assert(offsetof(ViewSlot, buffer) == kViewBufferOffset);
static_assert(sizeof(ViewSlot) == kViewExtentOffset && alignof(ViewSlot) == alignof(int64_t));

static_assert(status_of(base::ExceptionKind::ValueError) == 1, "0 is success");

}  // namespace ingot::runtime
