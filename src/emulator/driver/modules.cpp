#include <algorithm>
#include <cstring>

#include "emulator/driver/state.h"

// Modules, functions, launches.

using namespace ingot::emulator;  // NOLINT(google-build-using-namespace): the functions are the ABI's, in no
using namespace ingot::emulator::driver;  // NOLINT(google-build-using-namespace): namespace

namespace {

/// Where the caller wants to read why PTX was refused: options 5 and 6 of a load.
void write_log(const std::string& message, unsigned count, const int* options, void** values) {
  char* buffer = nullptr;
  size_t bytes = 0;
  for (unsigned k = 0; k < count; ++k) {
    if (options[k] == 5) buffer = static_cast<char*>(values[k]);
    if (options[k] == 6) bytes = reinterpret_cast<uintptr_t>(values[k]) & UINT32_MAX;
  }
  if (buffer == nullptr || bytes == 0) return;
  const size_t length = std::min(bytes - 1, message.size());
  std::memcpy(buffer, message.data(), length);
  buffer[length] = '\0';
  for (unsigned k = 0; k < count; ++k)
    if (options[k] == 6) values[k] = reinterpret_cast<void*>(static_cast<uintptr_t>(length));
}

Result load_module(void** handle, const void* image, unsigned count, const int* options, void** values) {
  return with_context([&](Context& context) {
    if (handle == nullptr || image == nullptr || (count != 0 && (options == nullptr || values == nullptr)))
      return kInvalidValue;
    const auto* const text = static_cast<const char*>(image);
    const bool is_object = std::memcmp(text,
                                       "\x7f"
                                       "ELF",
                                       4) == 0 ||
                           std::memcmp(text, "\x50\xed\x55\xba", 4) == 0;
    if (is_object) return kNoBinary;
    try {
      auto made = std::make_unique<Module>();
      made->program = load(text, context.device.memory());
      *handle = context.modules.add(std::move(made));
    } catch (const LoadError& error) {
      write_log(error.what(), count, options, values);
      throw;
    }
    return kSuccess;
  });
}

/// The function of a handle, or null.
FunctionHandle* function_of(const Context& context, const void* handle) {
  const auto found = context.functions.find(handle);
  return found == context.functions.end() ? nullptr : found->second;
}

int blocks_that_fit(const Function& function, int threads, size_t dynamic) {
  const int warps = (threads + 31) / 32;
  const size_t shared = function.shared_bytes + dynamic;
  int fit = std::min(kBlocksPerMultiprocessor, kThreadsPerMultiprocessor / (warps * 32));
  if (shared > 0) fit = std::min(fit, static_cast<int>(kSharedPerMultiprocessor / (shared + 1024)));
  return fit;
}

/// The bytes of a kernel's parameters, of pointers to each, or as `extra` says.
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
  if (threads > handle.function->max_threads) return kOutOfResources;
  const uint64_t shared = uint64_t{handle.function->shared_bytes} + shape.dynamic_shared;
  if (shape.dynamic_shared > handle.most_dynamic || shared > kSharedOptIn) return kInvalidValue;
  if (handle.most_dynamic <= kSharedPerBlock && shared > kSharedPerBlock) return kInvalidValue;
  if (!is_cooperative) return kSuccess;
  const int fit = blocks_that_fit(*handle.function, static_cast<int>(threads), shape.dynamic_shared);
  return uint64_t{gx} * gy * gz > static_cast<uint64_t>(fit) * kMultiprocessors ? kTooLarge : kSuccess;
}

Result launch_later(const void* function, const LaunchShape& shape, const void* stream_handle,
                    void** parameters, void** extra, bool is_cooperative) {
  return with_context([&](Context& context) {
    const FunctionHandle* const found = function_of(context, function);
    const Stream* const stream = context.stream(stream_handle);
    if (found == nullptr || stream == nullptr) return kInvalidHandle;
    if (const Result wrong = check_shape(*found, shape, is_cooperative); wrong != kSuccess) return wrong;
    std::vector<std::byte> bytes;
    if (const Result wrong = pack(*found->function, parameters, extra, bytes); wrong != kSuccess)
      return wrong;
    context.device.enqueue(stream->number, [program = found->program, kernel = found->function, shape, bytes,
                                            is_cooperative](Device& device) {
      device.launch(*program, *kernel, shape, bytes, is_cooperative);
    });
    return kSuccess;
  });
}

}  // namespace

INGOT_DRIVER cuModuleLoadData(void** module, const void* image) {
  return load_module(module, image, 0, nullptr, nullptr);
}

INGOT_DRIVER cuModuleLoadDataEx(void** module, const void* image, unsigned count, int* options,
                                void** values) {
  return load_module(module, image, count, options, values);
}

INGOT_DRIVER cuModuleGetLoadingMode(int* mode) {
  return guarded([&](Driver&) {
    if (mode == nullptr) return kInvalidValue;
    *mode = 1;  // all at once
    return kSuccess;
  });
}

INGOT_DRIVER cuModuleUnload(void* handle) {
  return with_context([&](Context& context) {
    const Module* const found = context.modules.find(handle);
    if (found == nullptr) return kInvalidHandle;
    context.device.run_all();
    for (Allocation* const memory : found->program->memory) context.device.memory().free(*memory);
    for (const auto& [name, function] : found->functions) context.functions.erase(function.get());
    context.modules.remove(handle);
    return kSuccess;
  });
}

INGOT_DRIVER cuModuleGetFunction(void** function, void* module, const char* name) {
  return with_context([&](Context& context) {
    Module* const found = context.modules.find(module);
    if (found == nullptr) return kInvalidHandle;
    if (function == nullptr || name == nullptr) return kInvalidValue;
    const Function* const kernel = found->program->kernel(name);
    if (kernel == nullptr) return kNotFound;
    std::unique_ptr<FunctionHandle>& made = found->functions[name];
    if (made == nullptr) {
      made = std::make_unique<FunctionHandle>();
      made->program = found->program;
      made->function = kernel;
      context.functions[made.get()] = made.get();
    }
    *function = made.get();
    return kSuccess;
  });
}

INGOT_DRIVER cuModuleGetGlobal_v2(uint64_t* address, size_t* bytes, void* module, const char* name) {
  return with_context([&](Context& context) {
    const Module* const found = context.modules.find(module);
    if (found == nullptr) return kInvalidHandle;
    if (name == nullptr) return kInvalidValue;
    const auto global = found->program->globals.find(name);
    if (global == found->program->globals.end()) return kNotFound;
    if (address != nullptr) *address = global->second.address;
    if (bytes != nullptr) *bytes = global->second.bytes;
    return kSuccess;
  });
}

INGOT_DRIVER cuFuncGetAttribute(int* value, int which, void* function) {
  return with_context([&](Context& context) {
    const FunctionHandle* const found = function_of(context, function);
    if (found == nullptr) return kInvalidHandle;
    if (value == nullptr) return kInvalidValue;
    const Function& kernel = *found->function;
    switch (which) {
      case 0: *value = static_cast<int>(kernel.max_threads); break;
      case 1: *value = static_cast<int>(kernel.shared_bytes); break;
      case 2: *value = static_cast<int>(found->program->const_bytes); break;
      case 3: *value = static_cast<int>(kernel.local_bytes); break;
      case 4: *value = static_cast<int>(std::min(kernel.registers, 255u)); break;
      case 5:
      case 6: *value = kCapabilityMajor * 10 + kCapabilityMinor; break;
      case 8: *value = static_cast<int>(found->most_dynamic); break;
      case 9: *value = -1; break;
      default: *value = 0; break;
    }
    return kSuccess;
  });
}

INGOT_DRIVER cuFuncSetAttribute(void* function, int which, int value) {
  return with_context([&](Context& context) {
    FunctionHandle* const found = function_of(context, function);
    if (found == nullptr) return kInvalidHandle;
    if (which == 9) return kSuccess;
    if (which != 8 || value < 0 || value + static_cast<int>(found->function->shared_bytes) > kSharedOptIn)
      return kInvalidValue;
    found->most_dynamic = static_cast<uint32_t>(value);
    return kSuccess;
  });
}

INGOT_DRIVER cuFuncSetCacheConfig(void* function, int) {
  return with_context([&](Context& context) {
    return function_of(context, function) != nullptr ? kSuccess : kInvalidHandle;
  });
}

INGOT_DRIVER cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* function, int threads,
                                                         size_t dynamic) {
  return with_context([&](Context& context) {
    const FunctionHandle* const found = function_of(context, function);
    if (found == nullptr) return kInvalidHandle;
    if (blocks == nullptr || threads <= 0 || threads > 1024) return kInvalidValue;
    *blocks = blocks_that_fit(*found->function, threads, dynamic);
    return kSuccess;
  });
}

INGOT_DRIVER cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, void* function, int threads,
                                                                  size_t dynamic, unsigned) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, dynamic);
}

INGOT_DRIVER cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                            unsigned bz, unsigned shared, void* stream, void** parameters, void** extra) {
  return launch_later(function, {{gx, gy, gz}, {bx, by, bz}, shared}, stream, parameters, extra, false);
}

INGOT_DRIVER cuLaunchCooperativeKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                       unsigned by, unsigned bz, unsigned shared, void* stream,
                                       void** parameters) {
  return launch_later(function, {{gx, gy, gz}, {bx, by, bz}, shared}, stream, parameters, nullptr, true);
}
