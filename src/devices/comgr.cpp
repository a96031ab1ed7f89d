#include "devices/comgr.h"

#include <dlfcn.h>

#include <cstdint>

#include "devices/device.h"

namespace ingot::devices {

namespace {

/// amd_comgr_data_kind_t and amd_comgr_action_kind_t of version 2.
enum Kind : int { kLog = 5, kRelocatable = 7, kExecutable = 8 };
constexpr int kLinkToExecutable = 9;
constexpr size_t kVersion = 2;

struct Handle {
  uint64_t number = 0;
};

}  // namespace

// name here, name of the ABI, parameters
// clang-format off
#define INGOT_COMGR_FUNCTIONS(FUNCTION)                                                                     \
  FUNCTION(create_data, "amd_comgr_create_data", (Kind kind, Handle* data))                                 \
  FUNCTION(release_data, "amd_comgr_release_data", (Handle data))                                           \
  FUNCTION(set_data, "amd_comgr_set_data", (Handle data, size_t size, const char* bytes))                   \
  FUNCTION(set_name, "amd_comgr_set_data_name", (Handle data, const char* name))                            \
  FUNCTION(get_data, "amd_comgr_get_data", (Handle data, size_t* size, char* bytes))                        \
  FUNCTION(create_set, "amd_comgr_create_data_set", (Handle* set))                                          \
  FUNCTION(destroy_set, "amd_comgr_destroy_data_set", (Handle set))                                         \
  FUNCTION(add, "amd_comgr_data_set_add", (Handle set, Handle data))                                        \
  FUNCTION(take, "amd_comgr_action_data_get_data", (Handle set, Kind kind, size_t index, Handle* data))     \
  FUNCTION(create_action, "amd_comgr_create_action_info", (Handle* action))                                 \
  FUNCTION(destroy_action, "amd_comgr_destroy_action_info", (Handle action))                                \
  FUNCTION(set_processor, "amd_comgr_action_info_set_isa_name", (Handle action, const char* name))          \
  FUNCTION(set_logging, "amd_comgr_action_info_set_logging", (Handle action, bool logging))                 \
  FUNCTION(run, "amd_comgr_do_action", (int kind, Handle action, Handle input, Handle result))
// clang-format on

struct Comgr::Functions {
#define INGOT_COMGR_MEMBER(name, symbol, parameters) int(*name) parameters = nullptr;
  INGOT_COMGR_FUNCTIONS(INGOT_COMGR_MEMBER)
#undef INGOT_COMGR_MEMBER
};

namespace {

void check(int status, const char* what) {
  if (status != 0)
    throw DeviceError("AMD's linker: " + std::string(what) + " failed (" + std::to_string(status) + ")");
}

/// An object of the library's, which is destroyed by one of its functions.
class Owned {
 public:
  using Destroy = int (*)(Handle);
  explicit Owned(Destroy destroy) : destroy_(destroy) {}
  ~Owned() {
    if (handle.number != 0) (void)destroy_(handle);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;

  Handle handle;

 private:
  Destroy destroy_;
};

}  // namespace

std::unique_ptr<Comgr> Comgr::open(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const error = dlerror();
    throw DeviceError("there is no linker for AMD's GPUs: " + std::string(error != nullptr ? error : path));
  }
  auto functions = std::make_shared<Functions>();
  const auto resolve = [&](const char* symbol) {
    void* const found = dlsym(library, symbol);
    if (found == nullptr) throw DeviceError(path + " has no function " + symbol);
    return found;
  };
#define INGOT_COMGR_RESOLVE(name, symbol, parameters) \
  functions->name = reinterpret_cast<int(*) parameters>(resolve(symbol));
  INGOT_COMGR_FUNCTIONS(INGOT_COMGR_RESOLVE)
#undef INGOT_COMGR_RESOLVE
  size_t major = 0, minor = 0;
  reinterpret_cast<void (*)(size_t*, size_t*)>(resolve("amd_comgr_get_version"))(&major, &minor);
  if (major != kVersion)
    throw DeviceError(path + " is of version " + std::to_string(major) + "; version 2 is known here");
  auto opened = std::unique_ptr<Comgr>(new Comgr);
  opened->functions_ = std::move(functions);
  return opened;
}

std::string Comgr::link(std::string_view object, const std::string& processor) const {
  const Functions& f = *functions_;
  Owned data(f.release_data), input(f.destroy_set), output(f.destroy_set), action(f.destroy_action);
  check(f.create_data(kRelocatable, &data.handle), "an object");
  check(f.set_data(data.handle, object.size(), object.data()), "an object");
  check(f.set_name(data.handle, "kernels.o"), "an object's name");
  check(f.create_set(&input.handle), "a set of objects");
  check(f.create_set(&output.handle), "a set of objects");
  check(f.add(input.handle, data.handle), "a set of objects");
  check(f.create_action(&action.handle), "an action");
  check(f.set_processor(action.handle, ("amdgcn-amd-amdhsa--" + processor).c_str()), "the processor's name");
  check(f.set_logging(action.handle, true), "the action's log");
  const auto bytes_of = [&](Kind kind) {
    Owned found(f.release_data);
    check(f.take(output.handle, kind, 0, &found.handle), "the result");
    size_t size = 0;
    check(f.get_data(found.handle, &size, nullptr), "the result");
    std::string bytes(size, '\0');
    check(f.get_data(found.handle, &size, bytes.data()), "the result");
    return bytes;
  };
  if (f.run(kLinkToExecutable, action.handle, input.handle, output.handle) != 0)
    throw DeviceError("AMD's linker: " + bytes_of(kLog));
  return bytes_of(kExecutable);
}

}  // namespace ingot::devices
