#include <algorithm>
#include <fstream>
#include <sstream>

#include "softgpu/driver/state.h"

// Libraries, which are loaded into a context when it uses them, and files of the linker.

namespace softgpu::driver {

Module* module_of(Context& context, Library& library, Result& result) {
  const auto known = library.modules.find(&context);
  if (known != library.modules.end()) return context.modules.find(known->second);
  Module* made = nullptr;
  result = load_image(context, library.image.c_str(), made);
  if (made != nullptr) library.modules[&context] = made;
  return made;
}

}  // namespace softgpu::driver

using namespace softgpu;          // NOLINT(google-build-using-namespace): the functions are the ABI's, in no
using namespace softgpu::driver;  // NOLINT(google-build-using-namespace): namespace

namespace {

Result read_file(const char* path, std::string& into) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return kFileNotFound;
  std::stringstream text;
  text << file.rdbuf();
  into = text.str();
  return kSuccess;
}

/// `f(kernel)`, with the function of the current context where one is requested.
template <class F>
Result with_kernel(void* handle, F&& f) {
  return with_context([&](Context& context) -> Result {
    Kernel* const kernel = Driver::instance().kernels.find(handle);
    if (kernel == nullptr) return kInvalidHandle;
    FunctionHandle* const function = function_of(context, handle);
    return function == nullptr ? kNotFound : f(context, *kernel, *function);
  });
}

template <class F>
Result with_library(void* handle, F&& f) {
  return with_context([&](Context& context) -> Result {
    Library* const library = Driver::instance().libraries.find(handle);
    if (library == nullptr) return kInvalidHandle;
    Result result = kSuccess;
    Module* const module = module_of(context, *library, result);
    return module == nullptr ? result : f(context, *library, *module);
  });
}

/// The handle of a library's kernel, always the same.
void* kernel_handle(Library& library, const std::string& name) {
  Driver& driver = Driver::instance();
  void* found = nullptr;
  driver.kernels.for_each([&](Kernel& kernel) {
    if (kernel.library == &library && kernel.name == name) found = &kernel;
  });
  if (found != nullptr) return found;
  auto made = std::make_unique<Kernel>();
  made->library = &library;
  made->name = name;
  return driver.kernels.add(std::move(made));
}

}  // namespace

SOFTGPU_API cuLibraryLoadData(void** handle, const void* image, const int*, void**, unsigned, const int*,
                              void**, unsigned) {
  return guarded([&](Driver& driver) -> Result {
    if (handle == nullptr || image == nullptr) return kInvalidValue;
    auto made = std::make_unique<Library>();
    made->image = static_cast<const char*>(image);
    // What is wrong with it is reported now, where there is a context to load it into.
    const std::vector<Context*>& stack = current_contexts();
    Context* const context = stack.empty() ? nullptr : driver.contexts.find(stack.back());
    if (context != nullptr) {
      if (context->device.failure()) return result_of(*context->device.failure());
      Result result = kSuccess;
      if (module_of(*context, *made, result) == nullptr) return result;
    }
    *handle = driver.libraries.add(std::move(made));
    return kSuccess;
  });
}

SOFTGPU_API cuLibraryLoadFromFile(void** handle, const char* path, const int* a, void** b, unsigned c,
                                  const int* d, void** e, unsigned f) {
  if (path == nullptr) return kInvalidValue;
  std::string text;
  const Result result = read_file(path, text);
  return result != kSuccess ? result : cuLibraryLoadData(handle, text.c_str(), a, b, c, d, e, f);
}

SOFTGPU_API cuLibraryUnload(void* handle) {
  return guarded([&](Driver& driver) {
    Library* const found = driver.libraries.find(handle);
    if (found == nullptr) return kInvalidHandle;
    driver.contexts.for_each([&](Context& context) {
      const auto loaded = found->modules.find(&context);
      Module* const module = loaded == found->modules.end() ? nullptr : context.modules.find(loaded->second);
      if (module != nullptr) unload(context, *module);
    });
    std::vector<const Kernel*> own;
    driver.kernels.for_each([&](const Kernel& kernel) {
      if (kernel.library == found) own.push_back(&kernel);
    });
    for (const Kernel* const kernel : own) driver.kernels.remove(kernel);
    driver.libraries.remove(handle);
    return kSuccess;
  });
}

SOFTGPU_API cuLibraryGetKernel(void** kernel, void* handle, const char* name) {
  return with_library(handle, [&](Context&, Library& library, Module& module) {
    if (kernel == nullptr || name == nullptr) return kInvalidValue;
    if (module.program->kernel(name) == nullptr) return kNotFound;
    *kernel = kernel_handle(library, name);
    return kSuccess;
  });
}

SOFTGPU_API cuLibraryGetKernelCount(unsigned* count, void* handle) {
  return with_library(handle, [&](Context&, Library&, Module& module) {
    if (count == nullptr) return kInvalidValue;
    *count = static_cast<unsigned>(module.program->kernels().size());
    return kSuccess;
  });
}

SOFTGPU_API cuLibraryEnumerateKernels(void** kernels, unsigned most, void* handle) {
  return with_library(handle, [&](Context&, Library& library, Module& module) {
    if (kernels == nullptr) return kInvalidValue;
    const std::vector<std::string> names = module.program->kernels();
    for (size_t k = 0; k < std::min<size_t>(most, names.size()); ++k)
      kernels[k] = kernel_handle(library, names[k]);
    return kSuccess;
  });
}

SOFTGPU_API cuLibraryGetModule(void** into, void* handle) {
  return with_library(handle, [&](Context&, Library&, Module& module) {
    if (into == nullptr) return kInvalidValue;
    *into = &module;
    return kSuccess;
  });
}

SOFTGPU_API cuLibraryGetGlobal(uint64_t* address, size_t* bytes, void* handle, const char* name) {
  return with_library(handle, [&](Context&, Library&, Module& module) {
    if (name == nullptr) return kInvalidValue;
    const auto global = module.program->globals.find(name);
    if (global == module.program->globals.end()) return kNotFound;
    if (address != nullptr) *address = global->second.address;
    if (bytes != nullptr) *bytes = global->second.bytes;
    return kSuccess;
  });
}

SOFTGPU_API cuLibraryGetManaged(uint64_t* address, size_t* bytes, void* handle, const char* name) {
  return cuLibraryGetGlobal(address, bytes, handle, name);
}

SOFTGPU_API cuKernelGetFunction(void** function, void* handle) {
  return with_kernel(handle, [&](Context&, Kernel&, FunctionHandle& found) {
    if (function == nullptr) return kInvalidValue;
    *function = &found;
    return kSuccess;
  });
}

SOFTGPU_API cuKernelGetLibrary(void** library, void* handle) {
  return with_kernel(handle, [&](Context&, Kernel& kernel, FunctionHandle&) {
    if (library == nullptr) return kInvalidValue;
    *library = kernel.library;
    return kSuccess;
  });
}

SOFTGPU_API cuKernelGetName(const char** name, void* handle) {
  return with_kernel(handle, [&](Context&, Kernel& kernel, FunctionHandle&) {
    if (name == nullptr) return kInvalidValue;
    *name = kernel.name.c_str();
    return kSuccess;
  });
}

SOFTGPU_API cuKernelGetAttribute(int* value, int which, void* handle, int device) {
  return with_kernel(handle, [&](Context&, Kernel&, FunctionHandle& found) {
    if (!Driver::instance().has_device(device)) return kInvalidDevice;
    if (value == nullptr) return kInvalidValue;
    *value = function_attribute(found, which);
    return kSuccess;
  });
}

SOFTGPU_API cuKernelSetAttribute(int which, int value, void* handle, int device) {
  return with_kernel(handle, [&](Context&, Kernel& kernel, FunctionHandle& found) {
    if (!Driver::instance().has_device(device)) return kInvalidDevice;
    if (which == 9) return kSuccess;
    if (which != 8 || value < 0 || value + static_cast<int>(found.function->shared_bytes) > kSharedOptIn)
      return kInvalidValue;
    kernel.most_dynamic = static_cast<uint32_t>(value);
    return kSuccess;
  });
}

SOFTGPU_API cuKernelSetCacheConfig(void* handle, int, int device) {
  return with_kernel(handle, [&](Context&, Kernel&, FunctionHandle&) {
    return Driver::instance().has_device(device) ? kSuccess : kInvalidDevice;
  });
}

SOFTGPU_API cuKernelGetParamInfo(void* handle, size_t which, size_t* offset, size_t* bytes) {
  return with_kernel(handle, [&](Context&, Kernel&, FunctionHandle& found) {
    if (offset == nullptr || which >= found.function->parameters.size()) return kInvalidValue;
    *offset = found.function->parameters[which].offset;
    if (bytes != nullptr) *bytes = found.function->parameters[which].bytes;
    return kSuccess;
  });
}

SOFTGPU_API cuLinkAddFile_v2(void* handle, int type, const char* path, unsigned, const int*, void**) {
  return with_context([&](Context&) {
    Link* const link = Driver::instance().links.find(handle);
    if (link == nullptr) return kInvalidHandle;
    if (path == nullptr) return kInvalidValue;
    std::string text;
    const Result result = read_file(path, text);
    return result != kSuccess ? result : add_input(*link, type, text, path);
  });
}
