// Loads code onto a device. nvJitLink makes a cubin if it is installed and no newer than the driver, which
// otherwise compiles and links PTX itself; the software device's driver always does.

#include <algorithm>
#include <array>

#include "devices/cuda_device.h"
#include "devices/toolkit.h"

namespace ingot::devices {

namespace {

/// The options of loading and linking: where to report what is wrong, and a limit.
struct LoadWords {
  explicit LoadWords(int max_registers)
      : values{log.data(), reinterpret_cast<void*>(log.size() - 1),
               reinterpret_cast<void*>(static_cast<intptr_t>(max_registers))},
        count(max_registers > 0 ? 3 : 2) {}
  LoadWords(const LoadWords&) = delete;
  LoadWords& operator=(const LoadWords&) = delete;

  std::array<char, 8192> log{};
  std::array<int, 3> options{kCudaErrorLog, kCudaErrorLogBytes, kCudaMaxRegisters};
  std::array<void*, 3> values;
  unsigned count;
};

/// CUjitInputType.
int driver_kind(LinkInput::Kind kind) {
  switch (kind) {
    case LinkInput::Kind::Cubin: return 0;
    case LinkInput::Kind::Fatbin: return 2;
    case LinkInput::Kind::Object: return 3;
    case LinkInput::Kind::Archive: return 4;
    default: return 1;  // PTX
  }
}

/// Destroys a link when it is done, also if it fails.
class Link {
 public:
  explicit Link(const CudaDriver& driver) : driver_(driver) {}
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link() {
    if (handle != nullptr) (void)driver_.link_destroy(handle);
  }
  CudaLinkHandle handle = nullptr;

 private:
  const CudaDriver& driver_;
};

}  // namespace

void CudaDevice::refuse_code(CudaResult result, const char* log) const {
  if (log[0] != '\0' && !is_lasting(result))
    refuse("code cannot be loaded: " + driver_.text(result) + ": " + log);
  fail(result, "code cannot be loaded");
}

std::unique_ptr<Code> CudaDevice::load_image(const void* image, int max_registers) {
  LoadWords words(max_registers);
  CudaModuleHandle handle = nullptr;
  const CudaResult result =
      driver_.module_load(&handle, image, words.count, words.options.data(), words.values.data());
  if (result != kCudaSuccess) refuse_code(result, words.log.data());
  return std::make_unique<CudaCode>(*this, life_.load(std::memory_order_relaxed), handle);
}

std::unique_ptr<Code> CudaDevice::link_by_driver(std::string_view text, const LoadOptions& options) {
  LoadWords words(options.max_registers);
  const auto need = [&](CudaResult result) {
    if (result != kCudaSuccess) refuse_code(result, words.log.data());
  };
  Link link(driver_);
  need(driver_.link_create(words.count, words.options.data(), words.values.data(), &link.handle));
  const auto add = [&](LinkInput::Kind kind, std::string bytes, const std::string& name) {
    const size_t size = bytes.size() + (kind == LinkInput::Kind::Ptx ? 1 : 0);  // PTX ends with 0
    need(driver_.link_add(link.handle, driver_kind(kind), bytes.data(), size, name.c_str(), 0, nullptr,
                          nullptr));
  };
  add(LinkInput::Kind::Ptx, std::string(text), "the kernels");
  for (const LinkInput& input : options.linked) {
    if (input.kind == LinkInput::Kind::LtoIr)
      refuse(input.name + " is LTO IR, which nvJitLink links: " + jit_linker().why_none);
    add(input.kind, input.bytes, input.name);
  }
  void* image = nullptr;
  size_t bytes = 0;
  need(driver_.link_complete(link.handle, &image, &bytes));
  return load_image(image, 0);
}

void CudaDevice::refuse_binaries(const LoadOptions& options) const {
  for (const LinkInput& input : options.linked) {
    if (input.kind == LinkInput::Kind::Ptx || input.kind == LinkInput::Kind::Source) continue;
    refuse("the software device links PTX and CUDA C++ alone, and " + input.name + " is " +
           std::string(name_of(input.kind)));
  }
}

/// A cubin of nvJitLink's; nothing where there is none, or the driver is older.
std::optional<std::string> CudaDevice::cubin_of(std::string_view text, const LoadOptions& options) const {
  if (driver_.is_software() || jit_linker().version / 10 > properties_.driver / 1000) return std::nullopt;
  return link_cubin(text, options, properties_.capability);
}

std::optional<std::string> CudaDevice::assemble(std::string_view text) const noexcept {
  if (!driver_.has_capabilities()) return std::nullopt;
  try {
    if (driver_.is_software()) return std::string(text);  // which it interprets
    return cubin_of(text, {});
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::unique_ptr<Code> CudaDevice::load_assembled(std::string_view code) {
  const Active active(*this);
  return load_image(std::string(code).c_str(), 0);
}

std::unique_ptr<Code> CudaDevice::load(std::string_view text, const LoadOptions& options) {
  if (!driver_.has_capabilities()) {
    if (!options.linked.empty()) refuse("nothing is linked with kernels there: " + options.linked[0].name);
    const std::string image = driver_.loadable(text, properties_.code);
    const Active active(*this);
    return load_image(image.c_str(), 0);
  }
  if (driver_.is_software()) refuse_binaries(options);
  const LoadOptions compiled = with_compiled_sources(options, properties_.capability);
  const std::optional<std::string> cubin = cubin_of(text, compiled);
  const Active active(*this);
  if (cubin) return load_image(cubin->data(), 0);
  if (!compiled.linked.empty()) return link_by_driver(text, compiled);
  return load_image(std::string(text).c_str(), compiled.max_registers);
}

}  // namespace ingot::devices
