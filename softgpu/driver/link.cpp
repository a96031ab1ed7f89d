#include <algorithm>
#include <cstdio>
#include <cstring>

#include "softgpu/driver/state.h"

// The linker, which joins modules of PTX to one image.

namespace softgpu::driver {

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

}  // namespace

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

}  // namespace softgpu::driver

using namespace softgpu;          // NOLINT(google-build-using-namespace): the functions are the ABI's, in no
using namespace softgpu::driver;  // NOLINT(google-build-using-namespace): namespace

SOFTGPU_API cuLinkCreate_v2(unsigned count, const int* options, void** values, void** handle) {
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

SOFTGPU_API cuLinkAddData_v2(void* handle, int type, void* data, size_t bytes, const char* name, unsigned,
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

/// The image is the modules of PTX, one after the other. They are loaded once here, to report what is wrong.
SOFTGPU_API cuLinkComplete(void* handle, void** image, size_t* bytes) {
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

SOFTGPU_API cuLinkDestroy(void* handle) {
  return guarded([&](Driver&) {
    if (Driver::instance().links.find(handle) == nullptr) return kInvalidHandle;
    Driver::instance().links.remove(handle);
    return kSuccess;
  });
}
