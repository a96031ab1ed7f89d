#include <algorithm>
#include <cstring>

#include "softgpu/driver/state.h"
#include "softgpu/machine/warp.h"

// Launches, and how many blocks fit.

namespace softgpu::driver {

namespace {

/// The bytes of a kernel's parameters, of pointers to each, or as `extra` gives them.
Result pack(const Function& function, void** parameters, void** extra, std::vector<std::byte>& into) {
  if (!function.parameters.empty())
    into.resize(function.parameters.back().offset + function.parameters.back().bytes);
  if (extra != nullptr) {  // 1: a buffer, 2: its size, 0: the end
    const void* buffer = nullptr;
    size_t bytes = 0;
    for (size_t k = 0; extra[k] != nullptr; k += 2) {
      if (extra[k] == reinterpret_cast<void*>(1)) buffer = extra[k + 1];
      if (extra[k] == reinterpret_cast<void*>(2)) bytes = *static_cast<size_t*>(extra[k + 1]);
    }
    if (buffer == nullptr || bytes < into.size()) return kInvalidValue;
    std::memcpy(into.data(), buffer, into.size());
    return kSuccess;
  }
  if (parameters == nullptr && !function.parameters.empty()) return kInvalidValue;
  for (size_t k = 0; k < function.parameters.size(); ++k)
    std::memcpy(into.data() + function.parameters[k].offset, parameters[k], function.parameters[k].bytes);
  return kSuccess;
}

Result check_shape(const FunctionHandle& handle, const LaunchShape& shape, bool is_cooperative) {
  const auto& [gx, gy, gz] = shape.grid;
  const auto& [bx, by, bz] = shape.block;
  if (gx == 0 || gy == 0 || gz == 0 || bx == 0 || by == 0 || bz == 0) return kInvalidValue;
  if (gx > 2147483647u || gy > 65535 || gz > 65535 || bx > 1024 || by > 1024 || bz > 64) return kInvalidValue;
  const uint64_t threads = uint64_t{bx} * by * bz;
  if (threads > 1024) return kInvalidValue;
  if (threads > handle.function->max_threads) return kInvalidValue;
  if (handle.function->local_bytes > Warp::kMostLocal) return kOutOfMemory;
  const uint64_t shared = uint64_t{handle.function->shared_bytes} + shape.dynamic_shared;
  if (shape.dynamic_shared > handle.most_dynamic || shared > kSharedOptIn) return kInvalidValue;
  if (handle.most_dynamic <= kSharedPerBlock && shared > kSharedPerBlock) return kInvalidValue;
  if (!is_cooperative) return kSuccess;
  const int fit = blocks_that_fit(*handle.function, static_cast<int>(threads), shape.dynamic_shared);
  return uint64_t{gx} * gy * gz > static_cast<uint64_t>(fit) * kMultiprocessors ? kTooLarge : kSuccess;
}

}  // namespace

int blocks_that_fit(const Function& function, int threads, size_t dynamic) {
  const int warps = (threads + 31) / 32;
  const size_t shared = function.shared_bytes + dynamic;
  int fit = std::min(kBlocksPerMultiprocessor, kThreadsPerMultiprocessor / (warps * 32));
  if (shared > 0) fit = std::min(fit, static_cast<int>(kSharedPerMultiprocessor / (shared + 1024)));
  return fit;
}

Result prepare(Context& context, const void* function, const LaunchShape& shape, void** parameters,
               void** extra, bool is_cooperative, Work& into) {
  const FunctionHandle* const found = function_of(context, function);
  if (found == nullptr) return kInvalidHandle;
  if (const Result wrong = check_shape(*found, shape, is_cooperative); wrong != kSuccess) return wrong;
  const auto made = std::make_shared<KernelWork>();
  *made = {function, found->program, found->function, shape};
  made->is_cooperative = is_cooperative;
  if (const Result wrong = pack(*found->function, parameters, extra, made->bytes); wrong != kSuccess)
    return wrong;
  for (const Parameter& parameter : found->function->parameters)
    made->parameters.push_back(made->bytes.data() + parameter.offset);
  into.type = Work::Kernel;
  into.kernel = made;
  into.run = [made](Device& device) {
    device.launch(*made->program, *made->function, made->shape, made->bytes, made->is_cooperative);
  };
  return kSuccess;
}

Result submit(Context& context, Stream& stream, Work work) {
  if (stream.capture != nullptr) {
    if (stream.capture->is_broken) return kCaptureInvalidated;
    Node* const node = stream.capture->graph->add(std::move(work), stream.last);
    stream.last = {node};
    return kSuccess;
  }
  if (stream.number == Device::kDefault) {
    bool is_waiting = false;
    context.streams.for_each([&](const Stream& other) {
      if (other.capture == nullptr || other.flags != 0) return;
      other.capture->is_broken = true;
      is_waiting = true;
    });
    if (is_waiting) return kCaptureImplicit;
  }
  if (work.child != nullptr) enqueue_graph(context, stream.number, *work.child);
  else if (work.run) context.device.enqueue(stream.number, std::move(work.run));
  return kSuccess;
}

Result launch_later(const void* function, const LaunchShape& shape, const void* stream_handle,
                    void** parameters, void** extra, bool is_cooperative) {
  return with_context([&](Context& context) {
    Stream* const stream = context.stream(stream_handle);
    if (stream == nullptr) return kInvalidHandle;
    Work work;
    const Result wrong = prepare(context, function, shape, parameters, extra, is_cooperative, work);
    return wrong != kSuccess ? wrong : submit(context, *stream, std::move(work));
  });
}

}  // namespace softgpu::driver

using namespace softgpu;          // NOLINT(google-build-using-namespace): the functions are the ABI's, in no
using namespace softgpu::driver;  // NOLINT(google-build-using-namespace): namespace

SOFTGPU_API cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* function, int threads,
                                                        size_t dynamic) {
  return with_context([&](Context& context) {
    const FunctionHandle* const found = function_of(context, function);
    if (found == nullptr) return kInvalidHandle;
    if (blocks == nullptr || threads <= 0 || threads > 1024) return kInvalidValue;
    *blocks = blocks_that_fit(*found->function, threads, dynamic);
    return kSuccess;
  });
}

SOFTGPU_API cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                           unsigned bz, unsigned shared, void* stream, void** parameters, void** extra) {
  return launch_later(function, {{gx, gy, gz}, {bx, by, bz}, shared}, stream, parameters, extra, false);
}

SOFTGPU_API cuLaunchCooperativeKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                      unsigned by, unsigned bz, unsigned shared, void* stream,
                                      void** parameters) {
  return launch_later(function, {{gx, gy, gz}, {bx, by, bz}, shared}, stream, parameters, nullptr, true);
}
