#include "devices/opencl_driver.h"

#include <dlfcn.h>

#include <algorithm>

#include "devices/device.h"
#include "devices/forks.h"

namespace ingot::devices {

namespace {

struct Name {
  int result;
  const char* text;
};

constexpr Name kNames[] = {
    {-1, "CL_DEVICE_NOT_FOUND"},
    {-2, "CL_DEVICE_NOT_AVAILABLE"},
    {-3, "CL_COMPILER_NOT_AVAILABLE"},
    {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {-5, "CL_OUT_OF_RESOURCES"},
    {-6, "CL_OUT_OF_HOST_MEMORY"},
    {-7, "CL_PROFILING_INFO_NOT_AVAILABLE"},
    {-8, "CL_MEM_COPY_OVERLAP"},
    {-11, "CL_BUILD_PROGRAM_FAILURE"},
    {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    {-30, "CL_INVALID_VALUE"},
    {-34, "CL_INVALID_CONTEXT"},
    {-36, "CL_INVALID_COMMAND_QUEUE"},
    {-44, "CL_INVALID_PROGRAM"},
    {-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
    {-46, "CL_INVALID_KERNEL_NAME"},
    {-48, "CL_INVALID_KERNEL"},
    {-49, "CL_INVALID_ARG_INDEX"},
    {-50, "CL_INVALID_ARG_VALUE"},
    {-51, "CL_INVALID_ARG_SIZE"},
    {-52, "CL_INVALID_KERNEL_ARGS"},
    {-54, "CL_INVALID_WORK_GROUP_SIZE"},
    {-55, "CL_INVALID_WORK_ITEM_SIZE"},
    {-58, "CL_INVALID_EVENT"},
    {-59, "CL_INVALID_OPERATION"},
    {-63, "CL_INVALID_GLOBAL_WORK_SIZE"},
};

}  // namespace

std::unique_ptr<OpenClDriver> OpenClDriver::open(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const error = dlerror();
    throw DeviceError("there is no driver: " + std::string(error != nullptr ? error : path));
  }
  auto driver = std::unique_ptr<OpenClDriver>(new OpenClDriver);
// NOLINTBEGIN(bugprone-macro-parentheses): types
#define INGOT_OPENCL_RESOLVE(name, symbol, gives, parameters)                   \
  driver->name = reinterpret_cast<gives(*) parameters>(dlsym(library, symbol)); \
  if (driver->name == nullptr)                                                  \
    throw DeviceError("the driver " + path + " is too old, or none: it has no function " symbol);
  INGOT_OPENCL_FUNCTIONS(INGOT_OPENCL_RESOLVE)
#undef INGOT_OPENCL_RESOLVE
  // NOLINTEND(bugprone-macro-parentheses)
  driver->forks_ = forks();
  return driver;
}

std::string OpenClDriver::text(OpenClResult result) {
  const int number = result;
  const auto* const known = std::ranges::find(kNames, number, &Name::result);
  return std::string(known != std::end(kNames) ? known->text : "error") + " (" + std::to_string(number) + ")";
}

}  // namespace ingot::devices
