#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "softgpu/driver/state.h"

// Libraries, which are loaded into a context when it uses them, and the linker, which joins modules of PTX to
// one image.

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

/// CUjitInputType.
constexpr int kPtxInput = 1;
constexpr int kLibraryInput = 4;

/// Fails a link with a message.
Result fail(Link& link, const std::string& message, Result result) {
  link.has_failed = true;
  Driver::instance().last_error = message;
  if (link.log != nullptr && link.log_bytes != 0) {
    const size_t length = std::min(link.log_bytes - 1, message.size());
    std::memcpy(link.log, message.data(), length);
    link.log[length] = '\0';
  }
  return result;
}

Result add_input(Link& link, int type, const std::string& text, const std::string& name) {
  // A library of the vendor's adds functions that kernels call; missing ones are reported when they are
  // called.
  if (type == kLibraryInput || text.starts_with("!<arch>")) return kSuccess;
  const size_t begin = text.find_first_not_of(" \t\r\n");
  const bool is_text = begin != std::string::npos && (text[begin] == '.' || text[begin] == '/');
  if (type != kPtxInput || !is_text)
    return fail(link, "`" + name + "` is no PTX text: the software device links nothing else",
                type == kPtxInput ? kInvalidPtx : kNoBinary);
  link.image += text;
  link.image += '\n';
  return kSuccess;
}

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

INGOT_DRIVER cuLibraryLoadData(void** handle, const void* image, const int*, void**, unsigned, const int*,
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

INGOT_DRIVER cuLibraryLoadFromFile(void** handle, const char* path, const int* a, void** b, unsigned c,
                                   const int* d, void** e, unsigned f) {
  if (path == nullptr) return kInvalidValue;
  std::string text;
  const Result result = read_file(path, text);
  return result != kSuccess ? result : cuLibraryLoadData(handle, text.c_str(), a, b, c, d, e, f);
}

INGOT_DRIVER cuLibraryUnload(void* handle) {
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

INGOT_DRIVER cuLibraryGetKernel(void** kernel, void* handle, const char* name) {
  return with_library(handle, [&](Context&, Library& library, Module& module) {
    if (kernel == nullptr || name == nullptr) return kInvalidValue;
    if (module.program->kernel(name) == nullptr) return kNotFound;
    *kernel = kernel_handle(library, name);
    return kSuccess;
  });
}

INGOT_DRIVER cuLibraryGetKernelCount(unsigned* count, void* handle) {
  return with_library(handle, [&](Context&, Library&, Module& module) {
    if (count == nullptr) return kInvalidValue;
    *count = static_cast<unsigned>(module.program->kernels().size());
    return kSuccess;
  });
}

INGOT_DRIVER cuLibraryEnumerateKernels(void** kernels, unsigned most, void* handle) {
  return with_library(handle, [&](Context&, Library& library, Module& module) {
    if (kernels == nullptr) return kInvalidValue;
    const std::vector<std::string> names = module.program->kernels();
    for (size_t k = 0; k < std::min<size_t>(most, names.size()); ++k)
      kernels[k] = kernel_handle(library, names[k]);
    return kSuccess;
  });
}

INGOT_DRIVER cuLibraryGetModule(void** into, void* handle) {
  return with_library(handle, [&](Context&, Library&, Module& module) {
    if (into == nullptr) return kInvalidValue;
    *into = &module;
    return kSuccess;
  });
}

INGOT_DRIVER cuLibraryGetGlobal(uint64_t* address, size_t* bytes, void* handle, const char* name) {
  return with_library(handle, [&](Context&, Library&, Module& module) {
    if (name == nullptr) return kInvalidValue;
    const auto global = module.program->globals.find(name);
    if (global == module.program->globals.end()) return kNotFound;
    if (address != nullptr) *address = global->second.address;
    if (bytes != nullptr) *bytes = global->second.bytes;
    return kSuccess;
  });
}

INGOT_DRIVER cuLibraryGetManaged(uint64_t* address, size_t* bytes, void* handle, const char* name) {
  return cuLibraryGetGlobal(address, bytes, handle, name);
}

INGOT_DRIVER cuKernelGetFunction(void** function, void* handle) {
  return with_kernel(handle, [&](Context&, Kernel&, FunctionHandle& found) {
    if (function == nullptr) return kInvalidValue;
    *function = &found;
    return kSuccess;
  });
}

INGOT_DRIVER cuKernelGetLibrary(void** library, void* handle) {
  return with_kernel(handle, [&](Context&, Kernel& kernel, FunctionHandle&) {
    if (library == nullptr) return kInvalidValue;
    *library = kernel.library;
    return kSuccess;
  });
}

INGOT_DRIVER cuKernelGetName(const char** name, void* handle) {
  return with_kernel(handle, [&](Context&, Kernel& kernel, FunctionHandle&) {
    if (name == nullptr) return kInvalidValue;
    *name = kernel.name.c_str();
    return kSuccess;
  });
}

INGOT_DRIVER cuKernelGetAttribute(int* value, int which, void* handle, int device) {
  return with_kernel(handle, [&](Context&, Kernel&, FunctionHandle& found) {
    if (!Driver::instance().has_device(device)) return kInvalidDevice;
    if (value == nullptr) return kInvalidValue;
    *value = function_attribute(found, which);
    return kSuccess;
  });
}

INGOT_DRIVER cuKernelSetAttribute(int which, int value, void* handle, int device) {
  return with_kernel(handle, [&](Context&, Kernel& kernel, FunctionHandle& found) {
    if (!Driver::instance().has_device(device)) return kInvalidDevice;
    if (which == 9) return kSuccess;
    if (which != 8 || value < 0 || value + static_cast<int>(found.function->shared_bytes) > kSharedOptIn)
      return kInvalidValue;
    kernel.most_dynamic = static_cast<uint32_t>(value);
    return kSuccess;
  });
}

INGOT_DRIVER cuKernelSetCacheConfig(void* handle, int, int device) {
  return with_kernel(handle, [&](Context&, Kernel&, FunctionHandle&) {
    return Driver::instance().has_device(device) ? kSuccess : kInvalidDevice;
  });
}

INGOT_DRIVER cuKernelGetParamInfo(void* handle, size_t which, size_t* offset, size_t* bytes) {
  return with_kernel(handle, [&](Context&, Kernel&, FunctionHandle& found) {
    if (offset == nullptr || which >= found.function->parameters.size()) return kInvalidValue;
    *offset = found.function->parameters[which].offset;
    if (bytes != nullptr) *bytes = found.function->parameters[which].bytes;
    return kSuccess;
  });
}

INGOT_DRIVER cuLinkCreate_v2(unsigned count, const int* options, void** values, void** handle) {
  return with_context([&](Context&) {
    if (handle == nullptr || (count != 0 && (options == nullptr || values == nullptr))) return kInvalidValue;
    auto made = std::make_unique<Link>();
    for (unsigned k = 0; k < count; ++k) {
      if (options[k] == 5) made->log = static_cast<char*>(values[k]);
      if (options[k] == 6) made->log_bytes = reinterpret_cast<uintptr_t>(values[k]) & UINT32_MAX;
    }
    *handle = Driver::instance().links.add(std::move(made));
    return kSuccess;
  });
}

INGOT_DRIVER cuLinkAddData_v2(void* handle, int type, void* data, size_t bytes, const char* name, unsigned,
                              const int*, void**) {
  return with_context([&](Context&) {
    Link* const link = Driver::instance().links.find(handle);
    if (link == nullptr) return kInvalidHandle;
    if (data == nullptr || bytes == 0) return kInvalidValue;
    std::string text(static_cast<const char*>(data), bytes);
    if (type == kPtxInput) text.resize(std::min(text.find('\0'), text.size()));
    return add_input(*link, type, text, name == nullptr ? "" : name);
  });
}

INGOT_DRIVER cuLinkAddFile_v2(void* handle, int type, const char* path, unsigned, const int*, void**) {
  return with_context([&](Context&) {
    Link* const link = Driver::instance().links.find(handle);
    if (link == nullptr) return kInvalidHandle;
    if (path == nullptr) return kInvalidValue;
    std::string text;
    const Result result = read_file(path, text);
    return result != kSuccess ? result : add_input(*link, type, text, path);
  });
}

/// The image is the modules of PTX, one after the other. They are loaded once here, to report what is wrong.
INGOT_DRIVER cuLinkComplete(void* handle, void** image, size_t* bytes) {
  return with_context([&](Context& context) {
    Link* const link = Driver::instance().links.find(handle);
    if (link == nullptr) return kInvalidHandle;
    if (image == nullptr || link->has_failed || link->image.empty()) return kInvalidValue;
    try {
      const std::unique_ptr<Program> tried = load(link->image, context.device.memory());
      for (Allocation* const made : tried->memory) context.device.memory().free(*made);
    } catch (const LoadError& error) {
      if (context.device.options().is_loud) std::fprintf(stderr, "ingot emulator: %s\n", error.what());
      return fail(*link, error.what(), kInvalidPtx);
    }
    *image = link->image.data();
    if (bytes != nullptr) *bytes = link->image.size() + 1;
    return kSuccess;
  });
}

INGOT_DRIVER cuLinkDestroy(void* handle) {
  return guarded([&](Driver&) {
    if (Driver::instance().links.find(handle) == nullptr) return kInvalidHandle;
    Driver::instance().links.remove(handle);
    return kSuccess;
  });
}
