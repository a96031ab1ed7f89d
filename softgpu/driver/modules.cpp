#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

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

INGOT_DRIVER cuModuleLoadData(void** module, const void* image) {
  return load_module(module, image, 0, nullptr, nullptr);
}

INGOT_DRIVER cuModuleLoadDataEx(void** module, const void* image, unsigned count, int* options,
                                void** values) {
  return load_module(module, image, count, options, values);
}

INGOT_DRIVER cuModuleLoadFatBinary(void** module, const void* image) {
  return load_module(module, image, 0, nullptr, nullptr);
}

INGOT_DRIVER cuModuleLoad(void** module, const char* path) {
  if (path == nullptr) return kInvalidValue;
  std::ifstream file(path);
  if (!file) return kFileNotFound;
  std::stringstream text;
  text << file.rdbuf();
  return cuModuleLoadData(module, text.str().c_str());
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
    Module* const found = context.modules.find(handle);
    if (found == nullptr) return kInvalidHandle;
    unload(context, *found);
    return kSuccess;
  });
}

INGOT_DRIVER cuModuleGetFunction(void** function, void* module, const char* name) {
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

INGOT_DRIVER cuModuleGetFunctionCount(unsigned* count, void* module) {
  return with_context([&](Context& context) {
    const Module* const found = context.modules.find(module);
    if (found == nullptr) return kInvalidHandle;
    if (count == nullptr) return kInvalidValue;
    *count = static_cast<unsigned>(found->program->kernels().size());
    return kSuccess;
  });
}

INGOT_DRIVER cuModuleEnumerateFunctions(void** functions, unsigned most, void* module) {
  return with_context([&](Context& context) {
    Module* const found = context.modules.find(module);
    if (found == nullptr) return kInvalidHandle;
    if (functions == nullptr) return kInvalidValue;
    const std::vector<std::string> names = found->program->kernels();
    for (size_t k = 0; k < std::min<size_t>(most, names.size()); ++k)
      functions[k] = function_of_module(context, *found, names[k]);
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
    *value = function_attribute(*found, which);
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

INGOT_DRIVER cuFuncSetSharedMemConfig(void* function, int) { return cuFuncSetCacheConfig(function, 0); }

INGOT_DRIVER cuFuncLoad(void* function) { return cuFuncSetCacheConfig(function, 0); }

INGOT_DRIVER cuFuncIsLoaded(int* state, void* function) {
  return with_context([&](Context& context) {
    if (function_of(context, function) == nullptr) return kInvalidHandle;
    if (state == nullptr) return kInvalidValue;
    *state = 1;
    return kSuccess;
  });
}

INGOT_DRIVER cuFuncGetModule(void** module, void* function) {
  return with_context([&](Context& context) {
    const FunctionHandle* const found = function_of(context, function);
    if (found == nullptr) return kInvalidHandle;
    if (module == nullptr) return kInvalidValue;
    *module = found->module;
    return kSuccess;
  });
}

INGOT_DRIVER cuFuncGetName(const char** name, void* function) {
  return with_context([&](Context& context) {
    const FunctionHandle* const found = function_of(context, function);
    if (found == nullptr) return kInvalidHandle;
    if (name == nullptr) return kInvalidValue;
    *name = found->function->name.c_str();
    return kSuccess;
  });
}

INGOT_DRIVER cuFuncGetParamInfo(void* function, size_t which, size_t* offset, size_t* bytes) {
  return with_context([&](Context& context) {
    const FunctionHandle* const found = function_of(context, function);
    if (found == nullptr) return kInvalidHandle;
    if (offset == nullptr || which >= found->function->parameters.size()) return kInvalidValue;
    *offset = found->function->parameters[which].offset;
    if (bytes != nullptr) *bytes = found->function->parameters[which].bytes;
    return kSuccess;
  });
}
