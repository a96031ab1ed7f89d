#include "devices/thread_streams.h"

#include <array>

namespace ingot::devices {

namespace {

/// By device: nothing that has to be destroyed at a thread's end. All that the extension has for each thread
/// stands in memory that threads are made with, of which there is little.
struct ThreadStream {
  const Device* device;
  Stream* stream;
};
constexpr size_t kMostDevices = 24;
thread_local constinit std::array<ThreadStream, kMostDevices> thread_streams{};

}  // namespace

Stream* stream_of_thread(const Device& device) noexcept {
  for (const ThreadStream& set : thread_streams) {
    if (set.device == &device) return set.stream;
    if (set.device == nullptr) break;
  }
  return nullptr;
}

bool set_stream_of_thread(const Device& device, Stream* stream) noexcept {
  for (ThreadStream& place : thread_streams) {
    if (place.device != &device && place.device != nullptr) continue;
    place = {&device, stream};
    return true;
  }
  return false;
}

void forget_stream_of_thread(const Stream& stream) noexcept {
  for (ThreadStream& place : thread_streams)
    if (place.stream == &stream) place.stream = nullptr;
}

}  // namespace ingot::devices
