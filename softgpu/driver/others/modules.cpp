#include <algorithm>
#include <fstream>
#include <sstream>

#include "softgpu/driver/state.h"

// Modules and functions: other ways to load and to ask.

using namespace softgpu;          // NOLINT(google-build-using-namespace): the functions are the ABI's, in no
using namespace softgpu::driver;  // NOLINT(google-build-using-namespace): namespace

SOFTGPU_API cuModuleLoadDataEx(void** module, const void* image, unsigned count, int* options, void** values);

SOFTGPU_API cuModuleLoadData(void** module, const void* image) {
  return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}

SOFTGPU_API cuModuleLoadFatBinary(void** module, const void* image) {
  return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}

SOFTGPU_API cuModuleLoad(void** module, const char* path) {
  if (path == nullptr) return kInvalidValue;
  std::ifstream file(path);
  if (!file) return kFileNotFound;
  std::stringstream text;
  text << file.rdbuf();
  return cuModuleLoadData(module, text.str().c_str());
}

SOFTGPU_API cuModuleGetLoadingMode(int* mode) {
  return guarded([&](Driver&) {
    if (mode == nullptr) return kInvalidValue;
    *mode = 1;  // all at once
    return kSuccess;
  });
}

SOFTGPU_API cuModuleGetFunctionCount(unsigned* count, void* module) {
  return with_context([&](Context& context) {
    const Module* const found = context.modules.find(module);
    if (found == nullptr) return kInvalidHandle;
    if (count == nullptr) return kInvalidValue;
    *count = static_cast<unsigned>(found->program->kernels().size());
    return kSuccess;
  });
}

SOFTGPU_API cuModuleEnumerateFunctions(void** functions, unsigned most, void* module) {
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

SOFTGPU_API cuModuleGetGlobal_v2(uint64_t* address, size_t* bytes, void* module, const char* name) {
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

SOFTGPU_API cuFuncSetCacheConfig(void* function, int) {
  return with_context([&](Context& context) {
    return function_of(context, function) != nullptr ? kSuccess : kInvalidHandle;
  });
}

SOFTGPU_API cuFuncSetSharedMemConfig(void* function, int) { return cuFuncSetCacheConfig(function, 0); }

SOFTGPU_API cuFuncLoad(void* function) { return cuFuncSetCacheConfig(function, 0); }

SOFTGPU_API cuFuncIsLoaded(int* state, void* function) {
  return with_context([&](Context& context) {
    if (function_of(context, function) == nullptr) return kInvalidHandle;
    if (state == nullptr) return kInvalidValue;
    *state = 1;
    return kSuccess;
  });
}

SOFTGPU_API cuFuncGetModule(void** module, void* function) {
  return with_context([&](Context& context) {
    const FunctionHandle* const found = function_of(context, function);
    if (found == nullptr) return kInvalidHandle;
    if (module == nullptr) return kInvalidValue;
    *module = found->module;
    return kSuccess;
  });
}

SOFTGPU_API cuFuncGetName(const char** name, void* function) {
  return with_context([&](Context& context) {
    const FunctionHandle* const found = function_of(context, function);
    if (found == nullptr) return kInvalidHandle;
    if (name == nullptr) return kInvalidValue;
    *name = found->function->name.c_str();
    return kSuccess;
  });
}

SOFTGPU_API cuFuncGetParamInfo(void* function, size_t which, size_t* offset, size_t* bytes) {
  return with_context([&](Context& context) {
    const FunctionHandle* const found = function_of(context, function);
    if (found == nullptr) return kInvalidHandle;
    if (offset == nullptr || which >= found->function->parameters.size()) return kInvalidValue;
    *offset = found->function->parameters[which].offset;
    if (bytes != nullptr) *bytes = found->function->parameters[which].bytes;
    return kSuccess;
  });
}
