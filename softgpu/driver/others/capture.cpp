#include <algorithm>
#include <utility>

#include "softgpu/driver/graphs.h"

// Streams that write a graph.

using namespace softgpu;          // NOLINT(google-build-using-namespace): the functions are the ABI's, in no
using namespace softgpu::driver;  // NOLINT(google-build-using-namespace): namespace

namespace {

Result capture_info(void* handle, int* status, uint64_t* number, void** graph, const void* const** nodes,
                    size_t* count) {
  return with_context([&](Context& context) {
    Stream* const stream = context.stream(handle);
    if (stream == nullptr) return kInvalidHandle;
    if (status == nullptr) return kInvalidValue;
    *status = stream->capture == nullptr ? 0 : stream->capture->is_broken ? 2 : 1;
    if (*status != 1) return kSuccess;
    if (number != nullptr) *number = stream->capture->number;
    if (graph != nullptr) *graph = stream->capture->graph;
    if (nodes != nullptr) *nodes = reinterpret_cast<const void* const*>(stream->last.data());
    if (count != nullptr) *count = stream->last.size();
    return kSuccess;
  });
}

}  // namespace

SOFTGPU_API cuStreamBeginCapture_v2(void* handle, int mode) {
  return with_context([&](Context& context) {
    Stream* const stream = context.stream(handle);
    if (stream == nullptr) return kInvalidHandle;
    if (mode < 0 || mode > 2) return kInvalidValue;
    if (stream->number == Device::kDefault) return kCaptureUnsupported;
    if (stream->capture != nullptr) return kInvalidValue;
    Driver& driver = Driver::instance();
    stream->capture = std::make_shared<Capture>();
    stream->capture->number = ++driver.captures;
    stream->capture->graph = driver.graphs.add(std::make_unique<Graph>());
    stream->capture->origin = stream;
    stream->last.clear();
    return kSuccess;
  });
}

SOFTGPU_API cuStreamEndCapture(void* handle, void** graph) {
  return with_context([&](Context& context) {
    Stream* const stream = context.stream(handle);
    if (stream == nullptr) return kInvalidHandle;
    if (graph == nullptr || stream->capture == nullptr) return kInvalidValue;
    const std::shared_ptr<Capture> capture = stream->capture;
    if (capture->origin != stream) {
      capture->is_broken = true;
      return kCaptureUnmatched;
    }
    // What other streams did has to be waited for by this one.
    std::vector<const Node*> reached(stream->last.begin(), stream->last.end());
    for (size_t k = 0; k < reached.size(); ++k)
      for (const Node* const before : reached[k]->after)
        if (std::ranges::find(reached, before) == reached.end()) reached.push_back(before);
    const bool is_joined = reached.size() == capture->graph->nodes.size();
    context.streams.for_each([&](Stream& other) {
      if (other.capture == capture) other.capture = nullptr;
    });
    Graph* const made = std::exchange(capture->graph, nullptr);
    *graph = nullptr;
    if (capture->is_broken || !is_joined) {
      Driver::instance().graphs.remove(made);
      return capture->is_broken ? kCaptureInvalidated : kCaptureUnjoined;
    }
    *graph = made;
    return kSuccess;
  });
}

SOFTGPU_API cuStreamIsCapturing(void* handle, int* status) {
  return capture_info(handle, status, nullptr, nullptr, nullptr, nullptr);
}

SOFTGPU_API cuStreamGetCaptureInfo_v2(void* handle, int* status, uint64_t* number, void** graph,
                                      const void* const** nodes, size_t* count) {
  return capture_info(handle, status, number, graph, nodes, count);
}

SOFTGPU_API cuStreamGetCaptureInfo_v3(void* handle, int* status, uint64_t* number, void** graph,
                                      const void* const** nodes, const void** edges, size_t* count) {
  if (edges != nullptr) *edges = nullptr;
  return capture_info(handle, status, number, graph, nodes, count);
}

SOFTGPU_API cuThreadExchangeStreamCaptureMode(int* mode) {
  return guarded([&](Driver&) {
    thread_local int own = 0;
    if (mode == nullptr || *mode < 0 || *mode > 2) return kInvalidValue;
    std::swap(own, *mode);
    return kSuccess;
  });
}
