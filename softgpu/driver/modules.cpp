#include <algorithm>
#include <cstdio>
#include <cstring>

#include "softgpu/driver/state.h"

// Modules and functions.

namespace softgpu::driver {

namespace {

/// Whether an image is a program for the vendor's GPUs, or a container of such; by its first bytes.
bool is_binary(const char* image) {
  const auto begins = [&](const char* with) { return std::strncmp(image, with, 4) == 0; };
  return begins(
             "\x7f"
             "ELF") ||
         begins("\x50\xed\x55\xba") || begins("\xb1\x43\x62\x46");
}

}  // namespace

Result load_image(Context& context, const char* image, Module*& into) {
  if (is_binary(image)) {
    Driver::instance().last_error =
        "an image for the vendor's GPUs (a cubin or fat binary), but the software device runs PTX: have the "
        "program keep it, with a target such as compute_90";
    return kNoBinary;
  }
  auto made = std::make_unique<Module>();
  try {
    made->program = load(image, context.device.memory());
  } catch (const LoadError& error) {
    if (context.device.options().is_loud) std::fprintf(stderr, "ingot emulator: %s\n", error.what());
    throw;
  }
  into = context.modules.add(std::move(made));
  return kSuccess;
}

void unload(Context& context, Module& module) {
  context.device.run_all();
  for (Allocation* const memory : module.program->memory) context.device.memory().free(*memory);
  for (const auto& [name, function] : module.functions) context.functions.erase(function.get());
  context.modules.remove(&module);
}

FunctionHandle* function_of_module(Context& context, Module& module, const std::string& name) {
  const Function* const kernel = module.program->kernel(name);
  if (kernel == nullptr) return nullptr;
  std::unique_ptr<FunctionHandle>& made = module.functions[name];
  if (made == nullptr) {
    made = std::make_unique<FunctionHandle>();
    made->program = module.program;
    made->function = kernel;
    made->module = &module;
    context.functions[made.get()] = made.get();
  }
  return made.get();
}

FunctionHandle* function_of(Context& context, const void* handle) {
  const auto found = context.functions.find(handle);
  if (found != context.functions.end()) return found->second;
  const Kernel* const kernel = Driver::instance().kernels.find(handle);
  if (kernel == nullptr) return nullptr;
  Result result = kSuccess;
  Module* const module = module_of(context, *kernel->library, result);
  FunctionHandle* const function =
      module == nullptr ? nullptr : function_of_module(context, *module, kernel->name);
  if (function != nullptr && kernel->most_dynamic) function->most_dynamic = *kernel->most_dynamic;
  return function;
}

int function_attribute(const FunctionHandle& handle, int which) {
  const Function& kernel = *handle.function;
  switch (which) {
    case 0: return static_cast<int>(kernel.max_threads);
    case 1: return static_cast<int>(kernel.shared_bytes);
    case 2: return static_cast<int>(handle.program->const_bytes);
    case 3: return static_cast<int>(kernel.local_bytes);
    case 4: return static_cast<int>(std::clamp(kernel.registers, 1u, 255u));
    case 5:
    case 6: return kCapabilityMajor * 10 + kCapabilityMinor;
    case 8: return static_cast<int>(handle.most_dynamic);
    case 9: return -1;
    default: return 0;
  }
}

}  // namespace softgpu::driver

using namespace softgpu;          // NOLINT(google-build-using-namespace): the functions are the ABI's, in no
using namespace softgpu::driver;  // NOLINT(google-build-using-namespace): namespace

namespace {

/// The caller's buffer for the reason why PTX was refused: options 5 and 6 of a load.
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
    try {
      Module* made = nullptr;
      const Result result = load_image(context, static_cast<const char*>(image), made);
      if (result == kSuccess) *handle = made;
      else write_log(Driver::instance().last_error, count, options, values);
      return result;
    } catch (const LoadError& error) {
      write_log(error.what(), count, options, values);
      throw;
    }
  });
}

}  // namespace

SOFTGPU_API cuModuleLoadDataEx(void** module, const void* image, unsigned count, int* options,
                               void** values) {
  return load_module(module, image, count, options, values);
}

SOFTGPU_API cuModuleUnload(void* handle) {
  return with_context([&](Context& context) {
    Module* const found = context.modules.find(handle);
    if (found == nullptr) return kInvalidHandle;
    unload(context, *found);
    return kSuccess;
  });
}

SOFTGPU_API cuModuleGetFunction(void** function, void* module, const char* name) {
  return with_context([&](Context& context) {
    Module* const found = context.modules.find(module);
    if (found == nullptr) return kInvalidHandle;
    if (function == nullptr || name == nullptr) return kInvalidValue;
    FunctionHandle* const made = function_of_module(context, *found, name);
    if (made == nullptr) return kNotFound;
    *function = made;
    return kSuccess;
  });
}

SOFTGPU_API cuFuncGetAttribute(int* value, int which, void* function) {
  return with_context([&](Context& context) {
    const FunctionHandle* const found = function_of(context, function);
    if (found == nullptr) return kInvalidHandle;
    if (value == nullptr) return kInvalidValue;
    *value = function_attribute(*found, which);
    return kSuccess;
  });
}

SOFTGPU_API cuFuncSetAttribute(void* function, int which, int value) {
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
