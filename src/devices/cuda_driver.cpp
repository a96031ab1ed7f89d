#include "devices/cuda_driver.h"

#include <dlfcn.h>

#include <algorithm>

#include "devices/forks.h"

namespace ingot::devices {

bool is_lasting(CudaResult result) {
  switch (static_cast<int>(result)) {
    case 214:  // memory errors that cannot be corrected
    case 700:  // an illegal address
    case 702:  // a timeout
    case 710:  // an assertion
    case 714:  // a full stack
    case 715:  // an illegal instruction
    case 716:  // a misaligned address
    case 717:  // an address of a wrong space
    case 718:  // an invalid program counter
    case 719:  // any other failure of a launch
      return true;
    default: return false;
  }
}

std::unique_ptr<CudaDriver> CudaDriver::open(const std::string& path, CudaDialect dialect) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const error = dlerror();
    throw DeviceError("there is no driver: " + std::string(error != nullptr ? error : path));
  }
  auto driver = std::unique_ptr<CudaDriver>(new CudaDriver);
  const auto resolve = [&](const char* cuda) -> void* {
    const std::string symbol = dialect.symbol != nullptr ? dialect.symbol(cuda) : cuda;
    if (symbol.empty()) return nullptr;
    void* const found = dlsym(library, symbol.c_str());
    if (found == nullptr)
      throw DeviceError("the driver " + path + " is too old, or none: it has no function " + symbol);
    return found;
  };
#define INGOT_CUDA_RESOLVE(name, symbol, parameters) \
  driver->name = reinterpret_cast<CudaResult(*) parameters>(resolve(symbol));
  INGOT_CUDA_FUNCTIONS(INGOT_CUDA_RESOLVE)
#undef INGOT_CUDA_RESOLVE
#define INGOT_CUDA_RESOLVE(name, symbol, parameters) \
  driver->name = reinterpret_cast<CudaResult(*) parameters>(dlsym(library, symbol));
  INGOT_CUDA_MORE_FUNCTIONS(INGOT_CUDA_RESOLVE)
#undef INGOT_CUDA_RESOLVE
  driver->last_error_ = reinterpret_cast<int (*)(char*, size_t)>(dlsym(library, "ingot_emulator_last_error"));
  driver->library_ = library;
  driver->dialect_ = std::move(dialect);
  driver->path_ = path;
  driver->forks_ = forks();
  if (const CudaResult result = driver->init(0); result != kCudaSuccess)
    throw DeviceError("the driver does not start: " + driver->text(result));
  return driver;
}

std::string CudaDriver::code_of(int device, int capability) const {
  return dialect_.code ? dialect_.code(library_, device) : "sm_" + std::to_string(capability);
}

bool CudaDriver::has_graphs() const {
  const bool is_made = graph_create != nullptr && graph_destroy != nullptr && graph_add_kernel != nullptr &&
                       graph_add_copy != nullptr && graph_add_fill != nullptr &&
                       graph_set_attribute != nullptr && graph_instantiate != nullptr;
  return is_made && exec_destroy != nullptr && exec_launch != nullptr && exec_set_kernel != nullptr &&
         exec_set_copy != nullptr && exec_set_fill != nullptr;
}

std::string CudaDriver::text(CudaResult result) const {
  const char* name = nullptr;
  const char* words = nullptr;
  std::string found;
  if (is_lasting(result) && last_error_ != nullptr) {
    std::string buffer(4096, '\0');
    if (last_error_(buffer.data(), buffer.size()) == kCudaSuccess) found = buffer.c_str();
  }
  if (found.empty() && error_text(result, &words) == kCudaSuccess && words != nullptr) found = words;
  if (found.empty()) found = "error";
  const bool has_name = error_name(result, &name) == kCudaSuccess && name != nullptr;
  const std::string number = has_name ? name : std::to_string(static_cast<int>(result));
  return found.insert(std::min(found.find('\n'), found.size()), " (" + number + ")");
}

}  // namespace ingot::devices
