#include <algorithm>

#include "softgpu/driver/state.h"

// Streams and events.

namespace softgpu::driver {

bool refuses(Stream& stream) {
  if (stream.capture != nullptr) stream.capture->is_broken = true;
  return stream.capture != nullptr;
}

}  // namespace softgpu::driver

using namespace softgpu;          // NOLINT(google-build-using-namespace): the functions are the ABI's, in no
using namespace softgpu::driver;  // NOLINT(google-build-using-namespace): namespace

namespace {

constexpr unsigned kNonBlocking = 1;  // of streams
constexpr unsigned kNoTiming = 2;     // of events

Result ready(Device& device, const Moment& moment) { return device.is_passed(moment) ? kSuccess : kNotReady; }

/// A stream that waits for an event of a capture takes part in it.
Result join_capture(Stream& stream, const Event& event) {
  if (event.capture->is_broken) return kCaptureInvalidated;
  if (stream.number == Device::kDefault || (stream.capture != nullptr && stream.capture != event.capture)) {
    event.capture->is_broken = true;
    return stream.capture == nullptr ? kCaptureImplicit : kCaptureUnsupported;
  }
  if (event.capture->graph == nullptr) return kInvalidValue;  // it has ended
  if (stream.capture == nullptr) stream.last.clear();
  stream.capture = event.capture;
  for (Node* const node : event.last)
    if (std::ranges::find(stream.last, node) == stream.last.end()) stream.last.push_back(node);
  return kSuccess;
}

/// Polling makes the device go on.
Result asked(Device& device, const Moment& moment) {
  if (!device.is_reached(moment)) device.step();
  return ready(device, moment);
}

/// After a wait: a moment that was not reached never will be.
Result waited(Device& device, const Moment& moment) {
  device.run_until(moment);
  return device.is_reached(moment) || device.failure() ? kSuccess : kUnknown;
}

/// A stream that waits for an event of another context: that device goes on until the event is reached.
Result wait_for_other(Context& context, Stream& stream, const void* handle) {
  const Event* event = nullptr;
  const void* of = nullptr;
  Driver::instance().contexts.for_each([&](Context& other) {
    const Event* const found = other.events.find(handle);
    if (found != nullptr) event = found, of = &other;
  });
  if (event == nullptr) return kInvalidHandle;
  if (event->capture != nullptr || stream.capture != nullptr) return kCaptureUnsupported;
  if (!event->is_recorded) return kSuccess;
  Work work;
  work.type = Work::Host;
  work.run = [of, moment = event->moment](Device&) {
    Context* const other = Driver::instance().contexts.find(of);
    if (other != nullptr) other->device.run_until(moment);
  };
  context.device.wait_elsewhere(stream.number);
  return submit(context, stream, std::move(work));
}

}  // namespace

SOFTGPU_API cuStreamCreateWithPriority(void** handle, unsigned flags, int priority) {
  return with_context([&](Context& context) {
    if (handle == nullptr || flags > kNonBlocking) return kInvalidValue;
    auto made = std::make_unique<Stream>();
    made->priority = std::clamp(priority, kGreatestPriority, 0);
    made->number = context.device.create_stream(flags != kNonBlocking, made->priority);
    made->flags = flags;
    *handle = context.streams.add(std::move(made));
    return kSuccess;
  });
}

SOFTGPU_API cuStreamDestroy_v2(void* handle) {
  return with_context([&](Context& context) {
    const Stream* const found = context.streams.find(handle);
    if (found == nullptr) return kInvalidHandle;
    context.device.destroy_stream(found->number);
    context.streams.remove(handle);
    return kSuccess;
  });
}

SOFTGPU_API cuStreamSynchronize(void* handle) {
  return with_context([&](Context& context) {
    Stream* const found = context.stream(handle);
    if (found == nullptr) return kInvalidHandle;
    if (refuses(*found)) return kCaptureUnsupported;
    return waited(context.device, context.device.now(found->number));
  });
}

SOFTGPU_API cuStreamQuery(void* handle) {
  return with_context([&](Context& context) {
    Stream* const found = context.stream(handle);
    if (found == nullptr) return kInvalidHandle;
    if (refuses(*found)) return kCaptureUnsupported;
    return asked(context.device, context.device.now(found->number));
  });
}

SOFTGPU_API cuStreamWaitEvent(void* handle, void* event, unsigned) {
  return with_context([&](Context& context) {
    Stream* const stream = context.stream(handle);
    const Event* const found = context.events.find(event);
    if (stream != nullptr && found == nullptr) return wait_for_other(context, *stream, event);
    if (stream == nullptr || found == nullptr) return kInvalidHandle;
    if (found->capture != nullptr) return join_capture(*stream, *found);
    if (stream->capture != nullptr) return stream->capture->is_broken ? kCaptureInvalidated : kSuccess;
    if (found->is_recorded) context.device.wait_for(stream->number, found->moment);
    return kSuccess;
  });
}

SOFTGPU_API cuEventCreate(void** handle, unsigned flags) {
  return with_context([&](Context& context) {
    if (handle == nullptr || flags > 7) return kInvalidValue;
    auto made = std::make_unique<Event>();
    made->has_time = (flags & kNoTiming) == 0;
    *handle = context.events.add(std::move(made));
    return kSuccess;
  });
}

SOFTGPU_API cuEventDestroy_v2(void* handle) {
  return with_context([&](Context& context) {
    if (context.events.find(handle) == nullptr) return kInvalidHandle;
    context.events.remove(handle);
    return kSuccess;
  });
}

SOFTGPU_API cuEventRecord(void* handle, void* stream_handle) {
  return with_context([&](Context& context) {
    Event* const event = context.events.find(handle);
    const Stream* const stream = context.stream(stream_handle);
    if (event == nullptr || stream == nullptr) return kInvalidHandle;
    event->capture = stream->capture;
    event->last = stream->last;
    if (stream->capture != nullptr) return stream->capture->is_broken ? kCaptureInvalidated : kSuccess;
    event->time = std::make_shared<uint64_t>(0);
    context.device.enqueue(stream->number,
                           [time = event->time](Device& device) { *time = device.counts().instructions; });
    event->moment = context.device.now(stream->number);
    event->is_recorded = true;
    return kSuccess;
  });
}

SOFTGPU_API cuEventSynchronize(void* handle) {
  return with_context([&](Context& context) {
    const Event* const event = context.events.find(handle);
    if (event == nullptr) return kInvalidHandle;
    if (event->capture != nullptr) return kCaptureUnsupported;
    return event->is_recorded ? waited(context.device, event->moment) : kSuccess;
  });
}

SOFTGPU_API cuEventQuery(void* handle) {
  return with_context([&](Context& context) {
    const Event* const event = context.events.find(handle);
    if (event == nullptr) return kInvalidHandle;
    if (event->capture != nullptr) return kCaptureUnsupported;
    return event->is_recorded ? asked(context.device, event->moment) : kSuccess;
  });
}

/// Time is counted in instructions of threads, a nanosecond each, so that it is the same in each run.
SOFTGPU_API cuEventElapsedTime(float* milliseconds, void* from, void* to) {
  return with_context([&](Context& context) {
    const Event* const first = context.events.find(from);
    const Event* const last = context.events.find(to);
    if (first == nullptr || last == nullptr) return kInvalidHandle;
    if (milliseconds == nullptr || !first->is_recorded || !last->is_recorded) return kInvalidValue;
    if (!first->has_time || !last->has_time) return kInvalidHandle;
    if (!context.device.is_reached(first->moment) || !context.device.is_reached(last->moment))
      return kNotReady;
    *milliseconds = (static_cast<float>(*last->time) - static_cast<float>(*first->time)) * 1e-6f;
    return kSuccess;
  });
}
