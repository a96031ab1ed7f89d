#include <algorithm>

#include "softgpu/driver/state.h"

// Launches with attributes, and sizes of blocks.

using namespace softgpu;          // NOLINT(google-build-using-namespace): the functions are the ABI's, in no
using namespace softgpu::driver;  // NOLINT(google-build-using-namespace): namespace

namespace {

/// CUlaunchAttribute and CUlaunchConfig.
struct LaunchAttribute {
  int which;
  int padding;
  union {
    int number;
    unsigned numbers[16];
  } value;
};
struct LaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared;
  void* stream;
  const LaunchAttribute* attributes;
  unsigned count;
};

/// Block sizes of whole warps, the largest that fill a multiprocessor most.
void best_block(const Function& function, size_t (*dynamic)(int), size_t fixed, int limit, int& blocks,
                int& threads) {
  int most = 0;
  if (limit <= 0 || limit > static_cast<int>(function.max_threads))
    limit = static_cast<int>(function.max_threads);
  for (int size = (limit + 31) / 32 * 32; size > 0; size -= 32) {
    const int tried = std::min(size, limit);
    const int fit = blocks_that_fit(function, tried, dynamic != nullptr ? dynamic(tried) : fixed);
    if (fit * tried <= most) continue;
    most = fit * tried;
    threads = tried;
    blocks = fit * kMultiprocessors;
  }
}

}  // namespace

SOFTGPU_API cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* function, int threads,
                                                        size_t dynamic);

SOFTGPU_API cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, void* function, int threads,
                                                                 size_t dynamic, unsigned) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, dynamic);
}

SOFTGPU_API cuOccupancyMaxPotentialBlockSize(int* blocks, int* threads, void* function,
                                             size_t (*dynamic)(int), size_t fixed, int limit) {
  return with_context([&](Context& context) {
    const FunctionHandle* const found = function_of(context, function);
    if (found == nullptr) return kInvalidHandle;
    if (blocks == nullptr || threads == nullptr) return kInvalidValue;
    best_block(*found->function, dynamic, fixed, limit, *blocks, *threads);
    return kSuccess;
  });
}

SOFTGPU_API cuOccupancyMaxPotentialBlockSizeWithFlags(int* blocks, int* threads, void* function,
                                                      size_t (*dynamic)(int), size_t fixed, int limit,
                                                      unsigned) {
  return cuOccupancyMaxPotentialBlockSize(blocks, threads, function, dynamic, fixed, limit);
}

SOFTGPU_API cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, void* function, int blocks, int threads) {
  return with_context([&](Context& context) {
    const FunctionHandle* const found = function_of(context, function);
    if (found == nullptr) return kInvalidHandle;
    if (bytes == nullptr || blocks <= 0 || threads <= 0) return kInvalidValue;
    const int64_t each = kSharedPerMultiprocessor / blocks - 1024 - int64_t{found->function->shared_bytes};
    *bytes = static_cast<size_t>(std::clamp<int64_t>(each, 0, kSharedOptIn));
    return kSuccess;
  });
}

SOFTGPU_API cuLaunchKernelEx(const LaunchConfig* config, void* function, void** parameters, void** extra) {
  if (config == nullptr || (config->count != 0 && config->attributes == nullptr)) return kInvalidValue;
  bool is_cooperative = false;
  for (unsigned k = 0; k < config->count; ++k) {
    const LaunchAttribute& attribute = config->attributes[k];
    if (attribute.which == 2) is_cooperative = attribute.value.number != 0;
    const auto* const cluster = attribute.value.numbers;
    if (attribute.which == 4 && cluster[0] * cluster[1] * cluster[2] > 1) return kNotSupported;
    if (attribute.which == 7) return kNotSupported;  // an event in the middle of it
  }
  const auto& [gx, gy, gz] = config->grid;
  const auto& [bx, by, bz] = config->block;
  return launch_later(function, {{gx, gy, gz}, {bx, by, bz}, config->shared}, config->stream, parameters,
                      extra, is_cooperative);
}
