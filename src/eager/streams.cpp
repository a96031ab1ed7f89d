#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <string>

#include "devices/toolkit.h"
#include "eager/bind.h"
#include "eager/device_array.h"
#include "eager/pending.h"
#include "interop/numpy.h"

namespace ingot::eager {

namespace {

using devices::Device;
using nb::literals::operator""_a;

/// A stream, which is never destroyed: memory knows the stream that has used it last.
struct StreamHandle {
  devices::Stream* it;
};

struct EventHandle {
  std::unique_ptr<devices::Event> it;
};

/// Pinned memory of an array of NumPy's.
struct Pinned {
  Device* device;
  void* memory;
};

void free_pinned(PyObject* capsule) {
  const std::unique_ptr<Pinned> pinned(static_cast<Pinned*>(PyCapsule_GetPointer(capsule, nullptr)));
  pinned->device->free_pinned(pinned->memory);
}

/// So many bytes of a kind of memory as an array of NumPy's; None: there is no such memory.
nb::object pinned_bytes(const DeviceHandle& device, int64_t bytes, const std::string& kind) {
  void* const memory = kind == "mapped"    ? device.it->allocate_mapped(bytes)
                       : kind == "managed" ? device.it->allocate_managed(bytes)
                                           : device.it->allocate_pinned(bytes);
  if (memory == nullptr) return nb::none();
  nb::object owner = nb::steal(PyCapsule_New(new Pinned{device.it, memory}, nullptr, &free_pinned));
  if (!owner.is_valid()) throw nb::python_error();
  return array_on({base::DType::UInt8, 1, static_cast<std::byte*>(memory), {bytes}, {1}}, true,
                  std::move(owner));
}

PyArrayObject* plain(nb::handle array) {
  if (!PyArray_Check(array.ptr())) throw nb::type_error("an array of NumPy's is wanted");
  return as_array(array.ptr());
}

void pin(const DeviceHandle& device, nb::handle array) {
  device.it->pin(PyArray_DATA(plain(array)), PyArray_NBYTES(plain(array)));
}

void unpin(const DeviceHandle& device, nb::handle array) { device.it->unpin(PyArray_DATA(plain(array))); }

/// (registers, bytes of local memory, bytes of shared memory, blocks of so many threads that a processor
/// holds)
nb::tuple kernel_needs(const DeviceHandle& device, const std::string& text, const std::string& name,
                       int threads, int64_t dynamic_shared, const devices::LoadOptions& options) {
  const std::unique_ptr<devices::Code> code = device.it->load(text, options);
  const devices::Kernel& kernel = code->kernel(name);
  return nb::make_tuple(kernel.registers(), kernel.local_bytes(), kernel.shared_bytes(),
                        kernel.resident_blocks(threads, dynamic_shared));
}

/// `linked`: (kind, name, bytes) of each, where a kind is the number of one.
std::shared_ptr<devices::LoadOptions> load_options(const nb::list& linked, int max_registers) {
  auto options = std::make_shared<devices::LoadOptions>();
  options->max_registers = max_registers;
  for (const nb::handle each : linked) {
    const auto [kind, name, bytes] = nb::cast<std::tuple<int, std::string, nb::bytes>>(each);
    options->linked.push_back(
        {static_cast<devices::LinkInput::Kind>(kind), name, {bytes.c_str(), bytes.size()}});
  }
  return options;
}

/// What the vendor's linker makes of PTX for a capability. RuntimeError where it is not there.
nb::bytes cubin(const std::string& text, const devices::LoadOptions& options, int capability) {
  const devices::LoadOptions compiled = devices::with_compiled_sources(options, capability);
  const std::optional<std::string> made = devices::link_cubin(text, compiled, capability);
  if (!made) {
    const std::string& why = devices::jit_linker().why_none;
    throw devices::DeviceError(why.empty() ? "nvJitLink does not know this kind of GPU"
                                           : "there is no nvJitLink: " + why);
  }
  return nb::bytes(made->data(), made->size());
}

/// All that waits comes before, and all copies that overlap it.
void complete(devices::Stream& stream) {
  compute_all();
  devices::CopyQueues* const queues = stream.device().copies();
  if (queues != nullptr && &queues->own() == &stream) queues->join();
}

void wait_for(devices::Stream& stream) {
  complete(stream);
  const nb::gil_scoped_release released;
  stream.synchronize();
}

void wait_for(devices::Event& event) {
  compute_all();
  const nb::gil_scoped_release released;
  event.synchronize();
}

}  // namespace

void bind_streams(nb::module_& m) {
  nb::class_<StreamHandle>(m, "StreamHandle")
      .def_prop_ro("address", [](const StreamHandle& it) { return reinterpret_cast<uintptr_t>(it.it); })
      .def("synchronize", [](const StreamHandle& it) { wait_for(*it.it); })
      .def("is_done", [](const StreamHandle& it) {
        complete(*it.it);
        return it.it->is_done();
      });
  nb::class_<EventHandle>(m, "EventHandle")
      .def("record",
           [](const EventHandle& it, const StreamHandle& stream) {
             complete(*stream.it);
             it.it->record(*stream.it);
           })
      .def("let_wait",
           [](const EventHandle& it, const StreamHandle& stream) {
             compute_all();
             it.it->let_wait(*stream.it);
           })
      .def("synchronize", [](const EventHandle& it) { wait_for(*it.it); })
      .def("is_done", [](const EventHandle& it) { return it.it->is_done(); })
      .def("since", [](const EventHandle& it, const EventHandle& start) { return it.it->since(*start.it); });
  m.def("make_stream", [](const DeviceHandle& device, int priority) {
    return StreamHandle{device.it->make_stream(priority).release()};
  });
  m.def(
      "stream_of", [](const DeviceHandle& device) { return StreamHandle{&device.it->stream()}; },
      "The one of the calling thread.");
  m.def(
      "use_stream",
      [](const DeviceHandle& device, const StreamHandle* stream) {
        device.it->use_stream(stream == nullptr ? nullptr : stream->it);
        compute_all();
      },
      "device"_a, "stream"_a.none());
  m.def("make_event", [](const DeviceHandle& device) { return EventHandle{device.it->make_event()}; });
  m.def("free_memory", [](const DeviceHandle& device) { return device.it->free_memory(); });
  m.def("pinned_bytes", &pinned_bytes, "device"_a, "bytes"_a, "kind"_a);
  m.def("pin", &pin);
  m.def("unpin", &unpin);
  nb::class_<devices::LoadOptions>(m, "LoadOptions");  // NOLINT(bugprone-unused-raii)
  m.def("load_options", &load_options, "linked"_a, "max_registers"_a);
  m.def("kernel_needs", &kernel_needs);
  m.def("cubin", &cubin);
  m.def("set_toolkit_folders", &devices::set_toolkit_folders, "folders"_a);
}

}  // namespace ingot::eager
