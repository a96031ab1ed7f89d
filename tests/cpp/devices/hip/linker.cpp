// A linker of code objects that returns its input, for tests of its callers.

#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace {

struct Object {
  int kind = 0;
  std::string bytes;
  std::vector<uint64_t> held;
};

std::mutex mutex;
std::map<uint64_t, Object> objects;
uint64_t last = 0;

int make(uint64_t* handle, Object object) {
  const std::lock_guard lock(mutex);
  objects[*handle = ++last] = std::move(object);
  return 0;
}

int drop(uint64_t handle) {
  const std::lock_guard lock(mutex);
  return objects.erase(handle) == 1 ? 0 : 2;
}

}  // namespace

extern "C" {

void amd_comgr_get_version(size_t* major, size_t* minor) { *major = 2, *minor = 8; }
int amd_comgr_create_data(int kind, uint64_t* data) { return make(data, {kind, {}, {}}); }
int amd_comgr_create_data_set(uint64_t* set) { return make(set, {}); }
int amd_comgr_create_action_info(uint64_t* action) { return make(action, {}); }
int amd_comgr_release_data(uint64_t data) { return drop(data); }
int amd_comgr_destroy_data_set(uint64_t set) { return drop(set); }
int amd_comgr_destroy_action_info(uint64_t action) { return drop(action); }
int amd_comgr_set_data_name(uint64_t, const char*) { return 0; }
int amd_comgr_action_info_set_logging(uint64_t, bool) { return 0; }
int amd_comgr_action_info_set_isa_name(uint64_t, const char* name) {
  return std::strcmp(name, "amdgcn-amd-amdhsa--gfx90a") == 0 ? 0 : 2;
}
int amd_comgr_set_data(uint64_t data, size_t size, const char* bytes) {
  const std::lock_guard lock(mutex);
  objects.at(data).bytes.assign(bytes, size);
  return 0;
}
int amd_comgr_data_set_add(uint64_t set, uint64_t data) {
  const std::lock_guard lock(mutex);
  objects.at(set).held.push_back(data);
  return 0;
}
int amd_comgr_do_action(int kind, uint64_t, uint64_t input, uint64_t result) {
  const std::lock_guard lock(mutex);
  std::string bytes = objects.at(objects.at(input).held.at(0)).bytes;
  const bool is_fault = kind != 9 || bytes.find("unresolved") != std::string::npos;
  objects[++last] = {is_fault ? 5 : 8, is_fault ? "undefined symbol: unresolved" : bytes, {}};
  objects.at(result).held.push_back(last);
  return is_fault ? 1 : 0;
}
int amd_comgr_action_data_get_data(uint64_t set, int kind, size_t, uint64_t* data) {
  std::unique_lock lock(mutex);
  for (const uint64_t held : objects.at(set).held) {
    if (objects.at(held).kind != kind) continue;
    const Object found = objects.at(held);
    lock.unlock();
    return make(data, found);
  }
  return 2;
}
int amd_comgr_get_data(uint64_t data, size_t* size, char* bytes) {
  const std::lock_guard lock(mutex);
  const std::string& held = objects.at(data).bytes;
  if (bytes != nullptr) std::memcpy(bytes, held.data(), *size);
  else *size = held.size();
  return 0;
}
}
