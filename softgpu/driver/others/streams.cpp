#include "softgpu/driver/state.h"

// Streams and events: properties, and functions of the host.

using namespace softgpu;          // NOLINT(google-build-using-namespace): the functions are the ABI's, in no
using namespace softgpu::driver;  // NOLINT(google-build-using-namespace): namespace

namespace {

Work host_work(const std::function<void()>& function) {
  Work work;
  work.type = Work::Host;
  work.run = [function](Device&) {
    is_in_callback() = true;
    function();
    is_in_callback() = false;
  };
  return work;
}

}  // namespace

SOFTGPU_API cuStreamCreateWithPriority(void** handle, unsigned flags, int priority);
SOFTGPU_API cuEventRecord(void* handle, void* stream_handle);
SOFTGPU_API cuEventElapsedTime(float* milliseconds, void* from, void* to);

SOFTGPU_API cuStreamCreate(void** handle, unsigned flags) {
  return cuStreamCreateWithPriority(handle, flags, 0);
}

SOFTGPU_API cuStreamGetId(void* handle, uint64_t* number) {
  return with_context([&](Context& context) {
    const Stream* const found = context.stream(handle);
    if (found == nullptr) return kInvalidHandle;
    if (number == nullptr) return kInvalidValue;
    *number = found->number;
    return kSuccess;
  });
}

SOFTGPU_API cuStreamGetDevice(void* handle, int* device) {
  return with_context([&](Context& context) {
    if (context.stream(handle) == nullptr) return kInvalidHandle;
    if (device == nullptr) return kInvalidValue;
    *device = context.ordinal;
    return kSuccess;
  });
}

SOFTGPU_API cuStreamGetFlags(void* handle, unsigned* flags) {
  return with_context([&](Context& context) {
    Stream* const found = context.stream(handle);
    if (found == nullptr) return kInvalidHandle;
    if (flags == nullptr) return kInvalidValue;
    *flags = found->flags;
    return kSuccess;
  });
}

SOFTGPU_API cuStreamGetPriority(void* handle, int* priority) {
  return with_context([&](Context& context) {
    const Stream* const found = context.stream(handle);
    if (found == nullptr) return kInvalidHandle;
    if (priority == nullptr) return kInvalidValue;
    *priority = found->priority;
    return kSuccess;
  });
}

SOFTGPU_API cuStreamGetCtx(void* handle, void** of) {
  return with_context([&](Context& context) {
    if (context.stream(handle) == nullptr) return kInvalidHandle;
    if (of == nullptr) return kInvalidValue;
    *of = &context;
    return kSuccess;
  });
}

SOFTGPU_API cuLaunchHostFunc(void* handle, void (*function)(void*), void* data) {
  return with_context([&](Context& context) {
    Stream* const stream = context.stream(handle);
    if (stream == nullptr) return kInvalidHandle;
    if (function == nullptr) return kInvalidValue;
    return submit(context, *stream, host_work([=] { function(data); }));
  });
}

SOFTGPU_API cuStreamAddCallback(void* handle, void (*function)(void*, int, void*), void* data,
                                unsigned flags) {
  return with_context([&](Context& context) {
    Stream* const stream = context.stream(handle);
    if (stream == nullptr) return kInvalidHandle;
    if (function == nullptr || flags != 0) return kInvalidValue;
    if (refuses(*stream)) return kCaptureUnsupported;
    return submit(context, *stream, host_work([=] { function(handle, kSuccess, data); }));
  });
}

SOFTGPU_API cuEventRecordWithFlags(void* handle, void* stream, unsigned flags) {
  return flags > 1 ? kInvalidValue : cuEventRecord(handle, stream);
}

SOFTGPU_API cuEventElapsedTime_v2(float* milliseconds, void* from, void* to) {
  return cuEventElapsedTime(milliseconds, from, to);
}
