#include "stand_in.h"

#include <dlfcn.h>

#include <cstring>
#include <list>
#include <mutex>
#include <string>

namespace softgpu::stand_ins {

namespace {

const Driver* find_driver() {
  Dl_info here{};
  if (dladdr(reinterpret_cast<void*>(&find_driver), &here) == 0) return nullptr;
  const std::string path = here.dli_fname;
  const std::string folder = path.substr(0, path.rfind('/'));
  void* const opened = dlopen((folder + "/../libcuda.so.1").c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (opened == nullptr) return nullptr;
  auto* const driver = new Driver;
  const auto get = [&](auto& member, const char* name) {
    member = reinterpret_cast<std::remove_reference_t<decltype(member)>>(dlsym(opened, name));
  };
  get(driver->allocate, "cuMemHostAlloc");
  get(driver->free, "cuMemFreeHost");
  get(driver->to_device, "cuMemcpyHtoDAsync_v2");
  get(driver->to_host, "cuMemcpyDtoHAsync_v2");
  get(driver->host_function, "cuLaunchHostFunc");
  get(driver->synchronize, "cuStreamSynchronize");
  return driver;
}

}  // namespace

const Driver* Driver::instance() {
  static const Driver* const found = find_driver();
  return found;
}

std::atomic<int>& live() {
  static std::atomic<int>& count = *new std::atomic<int>(0);
  return count;
}

std::atomic<int>& jobs() {
  static std::atomic<int>& count = *new std::atomic<int>(0);
  return count;
}

struct Job::Pending {
  std::mutex mutex;
  std::list<State*> jobs;

  static Pending& instance() {
    static Pending& made = *new Pending;
    return made;
  }
};

Job::Job(Stream stream) : stream_(stream), state_(new State) {
  Pending& pending = Pending::instance();
  const std::lock_guard lock(pending.mutex);
  // Frees the memory of finished jobs here, since functions that a stream calls may not call the driver.
  pending.jobs.remove_if([](const State* job) {
    if (!job->is_done) return false;
    for (const Copy& copy : job->copies) (void)Driver::instance()->free(copy.host);
    delete job;
    return true;
  });
  pending.jobs.push_back(state_);
  ++stand_ins::jobs();
}

void* Job::copy(const void* device, size_t bytes, bool is_output) {
  void* host = nullptr;
  if (bytes == 0) bytes = 1, device = nullptr;
  if (Driver::instance()->allocate(&host, bytes, 0) != 0) {
    has_failed_ = true;
    return nullptr;
  }
  const auto address = reinterpret_cast<uint64_t>(device);
  state_->copies.push_back({address, host, bytes, is_output});
  if (device != nullptr && Driver::instance()->to_host(host, address, bytes, stream_) != 0)
    has_failed_ = true;
  return host;
}

bool Job::run(std::function<void()> function, bool waits) {
  const Driver& driver = *Driver::instance();
  state_->function = std::move(function);
  if (has_failed_) return false;
  const auto call = [](void* state) { static_cast<State*>(state)->function(); };
  bool is_taken = driver.host_function(stream_, call, state_) == 0;
  for (const Copy& copy : state_->copies)
    if (copy.is_output && copy.device != 0)
      is_taken = is_taken && driver.to_device(copy.device, copy.host, copy.bytes, stream_) == 0;
  const auto finish = [](void* state) { static_cast<State*>(state)->is_done = true; };
  is_taken = is_taken && driver.host_function(stream_, finish, state_) == 0;
  if (is_taken && waits) is_taken = driver.synchronize(stream_) == 0;
  return is_taken;
}

}  // namespace softgpu::stand_ins
