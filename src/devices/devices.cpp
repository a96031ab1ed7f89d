#include <dlfcn.h>

#include <array>
#include <filesystem>

#include "devices/cuda_device.h"
#include "devices/cuda_driver.h"
#include "devices/forks.h"
#include "devices/hip_driver.h"
#include "devices/opencl_device.h"
#include "devices/opencl_driver.h"

namespace ingot::devices {

namespace {

struct Kind {
  std::string name;
  bool is_asked = false;  ///< for the first time; the fields below are incomplete until `is_known`
  bool is_known = false;
  uint64_t forks = 0;  ///< when it was asked for
  std::unique_ptr<CudaDriver> driver;
  std::unique_ptr<OpenClDriver> opencl_driver;
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<Device*> list;
  std::string why_none;
};

/// The devices of the process, never destroyed: memory may live longer than static objects.
struct Registry {
  std::array<Kind, 4> kinds;
  std::string emulated_driver;

  static Registry& instance() {
    static Registry* const made = [] {
      auto* const registry = new Registry;
      registry->kinds[0].name = "gpu";
      registry->kinds[1].name = "emulated";
      registry->kinds[2].name = "opencl";
      registry->kinds[3].name = "amd";
      return registry;
    }();
    return *made;
  }
};

/// The software device in a folder `softgpu` next to the binary that holds this function, or next to one of
/// the folders around it. Throws DeviceError if there is none.
std::string find_emulated_driver() {
  namespace fs = std::filesystem;
  constexpr int kFolders = 4;
  Dl_info here{};
  std::error_code error;
  fs::path binary;
  if (dladdr(reinterpret_cast<void*>(&find_emulated_driver), &here) != 0 && here.dli_fname != nullptr)
    binary = fs::canonical(here.dli_fname, error);
  if (binary.empty() || error) binary = fs::canonical("/proc/self/exe", error);
  fs::path folder = binary.parent_path();
  for (int k = 0; k < kFolders && !folder.empty(); ++k, folder = folder.parent_path()) {
    const fs::path found = folder / "softgpu" / "libcuda.so.1";
    if (fs::exists(found, error)) return found.string();
  }
  throw DeviceError(
      "this build of Ingot has no software device: no softgpu/libcuda.so.1 is next to " + binary.string() +
      "; a build with INGOT_SOFTGPU=ON, the default, has it, and `cmake -S softgpu` builds it alone");
}

void open_opencl(Kind& kind) {
  kind.opencl_driver = OpenClDriver::open("libOpenCL.so.1");
  kind.devices = opencl_devices(*kind.opencl_driver);
  for (const std::unique_ptr<Device>& device : kind.devices) kind.list.push_back(device.get());
}

void open(Kind& kind, const std::string& emulated_driver) {
  if (kind.name == "opencl") return open_opencl(kind);
  std::string path = "libcuda.so.1";
  if (kind.name == "emulated") path = emulated_driver.empty() ? find_emulated_driver() : emulated_driver;
  kind.driver =
      kind.name == "amd" ? open_hip("libamdhip64.so.6", "libamd_comgr.so.2") : CudaDriver::open(path);
  int count = 0;
  if (const CudaResult result = kind.driver->device_count(&count); result != kCudaSuccess)
    throw DeviceError("the driver reports no devices: " + kind.driver->text(result));
  if (count == 0) throw DeviceError("the driver has no device");
  for (int index = 0; index < count; ++index) {
    kind.devices.push_back(std::make_unique<CudaDevice>(*kind.driver, kind.name, index));
    kind.list.push_back(kind.devices.back().get());
  }
}

/// The kind of this name, initialised; null if there is no such kind.
const Kind* kind_of(std::string_view name) {
  const std::lock_guard lock(fork_safe_mutex());
  Registry& registry = Registry::instance();
  for (Kind& kind : registry.kinds) {
    if (kind.name != name) continue;
    if (kind.is_asked && !kind.is_known && kind.forks != forks())
      throw DeviceError("the process was forked while devices were looked for; its child has none");
    if (kind.is_known) return &kind;
    kind.is_asked = true;
    kind.forks = forks();
    kind.why_none.clear();
    try {
      open(kind, registry.emulated_driver);
    } catch (const std::exception& error) {
      kind.list.clear();
      kind.devices.clear();
      kind.why_none = error.what();
    }
    kind.is_known = true;
    return &kind;
  }
  return nullptr;
}

}  // namespace

std::span<Device* const> devices(std::string_view kind) {
  const Kind* const found = kind_of(kind);
  return found != nullptr ? std::span<Device* const>(found->list) : std::span<Device* const>{};
}

std::string why_none(std::string_view kind) {
  const Kind* const found = kind_of(kind);
  if (found != nullptr) return found->why_none;
  return "there is no kind of device \"" + std::string(kind) +
         "\"; there are \"gpu\", \"emulated\", \"opencl\" and \"amd\"";
}

void set_emulated_driver(std::string path) {
  const std::lock_guard lock(fork_safe_mutex());
  Registry& registry = Registry::instance();
  registry.emulated_driver = std::move(path);
  Kind& emulated = registry.kinds[1];
  if (emulated.is_known && emulated.list.empty()) emulated.is_known = false;  // looked for again
}

}  // namespace ingot::devices
