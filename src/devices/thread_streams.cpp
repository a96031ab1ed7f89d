#include "devices/thread_streams.h"

#include <pthread.h>

#include <array>
#include <memory>
#include <new>
#include <optional>

namespace ingot::devices {

namespace {

struct ThreadStream {
  const Device* device;
  Stream* stream;
};
constexpr size_t kMostDevices = 64;
using ThreadStreams = std::array<ThreadStream, kMostDevices>;

/// The streams by thread. Not a `thread_local`, whose memory is scarce for libraries that are loaded later.
std::optional<pthread_key_t> key() noexcept {
  static const std::optional<pthread_key_t> made = []() -> std::optional<pthread_key_t> {
    pthread_key_t number{};
    const auto forget = [](void* of_thread) { delete static_cast<ThreadStreams*>(of_thread); };
    if (pthread_key_create(&number, forget) != 0) return std::nullopt;
    return number;
  }();
  return made;
}

/// Null: the thread has set none.
ThreadStreams* streams_of_thread() noexcept {
  return key() ? static_cast<ThreadStreams*>(pthread_getspecific(*key())) : nullptr;
}

}  // namespace

Stream* stream_of_thread(const Device& device) noexcept {
  const ThreadStreams* const all = streams_of_thread();
  if (all == nullptr) return nullptr;
  for (const ThreadStream& set : *all) {
    if (set.device == &device) return set.stream;
    if (set.device == nullptr) break;
  }
  return nullptr;
}

bool set_stream_of_thread(const Device& device, Stream* stream) {
  ThreadStreams* all = streams_of_thread();
  if (all == nullptr) {
    if (stream == nullptr) return true;
    auto made = std::make_unique<ThreadStreams>();
    if (!key() || pthread_setspecific(*key(), made.get()) != 0) throw std::bad_alloc();
    all = made.release();
  }
  for (ThreadStream& entry : *all) {
    if (entry.device != &device && entry.device != nullptr) continue;
    entry = {&device, stream};
    return true;
  }
  return false;
}

void forget_stream_of_thread(const Stream& stream) noexcept {
  ThreadStreams* const all = streams_of_thread();
  if (all == nullptr) return;
  for (ThreadStream& entry : *all)
    if (entry.stream == &stream) entry.stream = nullptr;
}

}  // namespace ingot::devices
