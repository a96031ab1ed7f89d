#include "bindings/invocation.h"

#include <nanobind/stl/string.h>

#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "bindings/gufuncs.h"
#include "eager/graph.h"
#include "eager/pending.h"
#include "interop/numpy.h"
#include "runtime/allocator.h"
#include "runtime/buffer_list.h"

namespace ingot::bindings {

using base::DType;
using runtime::SlotInfo;
using runtime::ViewSlot;

namespace {

void free_memory(PyObject* capsule) {
  runtime::FreeBuffer{}(static_cast<runtime::Buffer*>(PyCapsule_GetPointer(capsule, nullptr)));
}

nb::object described(const nb::object& owner, const nb::object& offset, const Window& window) {
  nb::list lengths;
  nb::list strides;
  for (int axis = 0; axis < window.rank; ++axis) {
    lengths.append(window.lengths[axis]);
    strides.append(window.strides[axis]);
  }
  return nb::make_tuple(owner, offset, nb::tuple(lengths), nb::tuple(strides),
                        std::string(base::info(window.dtype).numpy));
}

/// An operand of a call outside, for the time of the call.
nb::object operand(const SlotType& type, void* slot) {
  if (type.rank < 0) return python_number(type.dtype, slot);
  return array_on(Window::of(*static_cast<ViewSlot*>(slot), type.dtype, type.rank), true);
}

}  // namespace

const runtime::Hooks Invocation::kHooks = {&Execution::attend, &Invocation::call_outside, &Execution::let_go,
                                           &Execution::may_leave_errands, &Execution::run_errand};

namespace {

std::optional<Moved> moved(const Code& code, const CallTarget& target, std::span<PyObject* const> leaves) {
  if (target.device == nullptr || !Moved::has_any(leaves)) return std::nullopt;
  return std::make_optional<Moved>(*target.device, leaves, code.params());
}

}  // namespace

Invocation::Invocation(const Code& code, std::span<PyObject* const> leaves, const Outside& outside,
                       const CallTarget& target)
    : Execution(code, kHooks),
      outside_(outside),
      target_(target),
      leaves_(leaves),
      stream_(target.device == nullptr ? nullptr : &target.device->stream()),
      moved_(moved(code, target, leaves)),
      frame_(Execution::code(), moved_ ? moved_->leaves() : leaves,
             outside.cells == nullptr ? std::span<const Cells::Strip>() : outside.cells->strips()) {
  if (target.device != nullptr) set_device(*target.device);
}

/// What other streams do with the arguments' memory comes before, or after.
bool Invocation::run_on_device() {
  take_stream();
  if (devices::Recording::of_thread() != nullptr)
    eager::GraphRecorder::begin_call(nb::find(code()), code().info(), outside_.errors);
  const bool has_returned = Execution::run(frame_.slots());
  if (devices::CopyQueues* const queues = target_.device->copies();
      queues != nullptr && stream_ == &queues->own() && devices::Recording::of_thread() == nullptr)
    position_ = queues->advance();
  for (size_t i = 0; i < leaves_.size(); ++i)
    if (eager::is_device_array(leaves_[i]))
      eager::device_array(leaves_[i]).memory->used_in(*stream_, position_, is_written(i));
  finish(has_returned);
  return has_returned;
}

/// Whatever stream has been set and used outside.
void Invocation::take_stream() {
  if (&target_.device->stream() != stream_) target_.device->use_stream(stream_);
  for (size_t i = 0; i < leaves_.size(); ++i)
    if (eager::is_device_array(leaves_[i])) eager::device_array(leaves_[i]).memory->use(is_written(i));
  if (moved_) moved_->use();
  for (const auto& [buffer, array] : rare().memories)
    if (eager::is_device_array(array.ptr())) eager::device_array(array.ptr()).memory->use();
}

/// After the code of a device has run.
void Invocation::finish(bool has_returned) {
  if (moved_) {
    try {
      moved_->bring_back();
    } catch (const devices::DeviceError&) {
      if (has_returned) throw;  // else the call's own error has more details
    }
  }
  if (!target_.brings_home) return;
  try {
    renew_homes();  // the caller's containers have these
  } catch (const devices::DeviceError&) {
    if (has_returned) throw;
  }
  if (!has_returned) return;
  for (size_t i = 0; i < code().results().size(); ++i)
    if (code().results()[i].kind == SlotInfo::Kind::View) bring_home(i);
}

/// A copy on the host of a device's buffer, which becomes the call's.
runtime::Buffer* Invocation::home_of(runtime::Buffer* buffer) {
  runtime::Buffer*& home = rare().homes[buffer];
  if (home != nullptr) return home;
  home = runtime::Allocator::allocate(buffer->size);
  if (home == nullptr) throw std::bad_alloc();
  runtime::link_buffer(context(), *home);
  if (buffer->size > 0) {
    const nb::gil_scoped_release released;
    target_.device->read(home->data, eager::address_of(buffer->data), buffer->size);
  }
  rare().homes[home] = home;
  return home;
}

/// Copies that were made while the code ran are what has become of the buffers since.
void Invocation::renew_homes() {
  if (rare().homes.empty()) return;
  const nb::gil_scoped_release released;
  for (const auto& [buffer, home] : rare().homes)
    if (buffer != home && buffer->size > 0)
      target_.device->read(home->data, eager::address_of(buffer->data), buffer->size);
}

void Invocation::bring_home(size_t result) {
  ViewSlot& view = frame_.result_view(result);
  if (target_.device == nullptr || frame_.parameter_of(view.buffer) >= 0) return;
  runtime::Buffer* const home = home_of(view.buffer);
  view.data = home->data + (view.data - view.buffer->data);
  view.buffer = home;
}

std::vector<runtime::Buffer*> Invocation::held_buffers(size_t result) {
  bring_home(result);
  if (target_.brings_home) {
    const ViewSlot& column = frame_.result_view(result);
    const std::vector<runtime::Buffer*> buffers = frame_.held_buffers(result);
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (frame_.parameter_of(buffers[i]) >= 0) continue;
      runtime::Buffer* const home = home_of(buffers[i]);
      const int64_t stride = frame_.result_view(result).strides(1)[0];
      std::memcpy(column.data + static_cast<int64_t>(i) * stride, &home, sizeof home);
    }
  }
  return frame_.held_buffers(result);
}

int64_t Invocation::show(size_t result, Window& window) {
  const SlotInfo& info = code().results()[result];
  ViewSlot& view = frame_.result_view(result);
  window.set(view, info.dtype, info.rank);
  const int64_t argument = frame_.parameter_of(view.buffer);
  window.data = at_home(argument, window.data);
  return argument;
}

std::byte* Invocation::at_home(int64_t argument, std::byte* address) const {
  if (argument < 0 || !moved_ || !moved_->is_moved(static_cast<size_t>(argument))) return address;
  return moved_->home_of(static_cast<size_t>(argument), address);
}

nb::object Invocation::results(const nb::tuple& buffers) {
  nb::dict held;
  for (const nb::handle result : buffers) {
    for (runtime::Buffer* const buffer : held_buffers(nb::cast<size_t>(result))) {
      const int64_t argument = frame_.parameter_of(buffer);
      held[nb::int_(reinterpret_cast<int64_t>(buffer))] =
          argument >= 0 ? nb::object(nb::int_(argument)) : memory_of(buffer);
    }
  }
  nb::list results;
  for (size_t i = 0; i < code().results().size(); ++i) {
    const SlotInfo& info = code().results()[i];
    if (info.kind != SlotInfo::Kind::View) {
      results.append(python_number(info.dtype, frame_.result(i)));
      continue;
    }
    ViewSlot& view = frame_.result_view(i);
    if (!rare().memories.contains(view.buffer) && frame_.is_all_of_its_buffer(i)) {
      const Window window = Window::of(view, info.dtype, info.rank);
      results.append(described(owning(window, view.buffer), nb::none(), window));
    } else {
      results.append(outward(view, {info.dtype, info.rank}));
    }
  }
  if (buffers.size() > 0) results.append(held);
  return results;
}

nb::object Invocation::owning(const Window& window, runtime::Buffer* buffer) {
  runtime::OwnedBuffer owned = call().take(buffer);
  if (owned->release == nullptr) return owning_array(std::move(owned), window);
  return eager::new_device_array(window, true, written(std::move(owned)));
}

/// What the call has made, on its device.
std::shared_ptr<eager::DeviceMemory> Invocation::written(runtime::OwnedBuffer buffer) const {
  auto memory = std::make_shared<eager::DeviceMemory>(*target_.device, std::move(buffer));
  if (&memory->last() == stream_) memory->set_written(position_);
  return memory;
}

/// Whether the code may write into the memory of an argument.
bool Invocation::is_written(size_t leaf) const {
  return leaf >= code().params().size() || code().params()[leaf].is_written;
}

nb::object Invocation::memory_of(runtime::Buffer* buffer) {
  nb::object& memory = rare().memories[buffer];
  if (memory.is_valid()) return memory;
  if (buffer->release != nullptr) {
    memory = eager::bytes_on(written(call().take(buffer)));
    return memory;
  }
  nb::object owner = nb::steal(PyCapsule_New(call().take(buffer).release(), nullptr, free_memory));
  if (!owner.is_valid()) throw nb::python_error();
  memory = array_on({DType::UInt8, 1, buffer->data, {buffer->size}, {1}}, true, std::move(owner));
  return memory;
}

nb::object Invocation::outward(ViewSlot& view, const SlotType& type) {
  const int64_t argument = frame_.parameter_of(view.buffer);
  if (argument < 0 && target_.brings_home) {
    runtime::Buffer* const home = home_of(view.buffer);
    if (home != view.buffer) {
      if (runtime::OwnedBuffer away = call().take(view.buffer)) rare().away.push_back(std::move(away));
    }
    return described(memory_of(home), nb::int_(view.data - view.buffer->data),
                     Window::of(view, type.dtype, type.rank));
  }
  const nb::object owner = argument >= 0 ? nb::object(nb::int_(argument)) : memory_of(view.buffer);
  return described(owner, nb::int_(view.data - view.buffer->data), Window::of(view, type.dtype, type.rank));
}

nb::object Invocation::copied(const SlotType& type, void* slot) {
  if (target_.device == nullptr) return operand(type, slot).attr("copy")();
  const Window window = Window::of(*static_cast<ViewSlot*>(slot), type.dtype, type.rank);
  return eager::Lent(*target_.device, window).array().attr("copy")();
}

/// What a host call gets is its own: a copy, described as results are; or what the callee keeps itself. The
/// first `direct` ones are arrays that nobody keeps.
nb::list Invocation::host_values(const char* layout, bool kept, size_t direct, void** slots,
                                 std::vector<std::unique_ptr<eager::Lent>>& lent) {
  nb::list values;
  const std::vector<SlotType> types = slots_of(layout);
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i].rank >= 0 && i < direct && target_.device != nullptr) {
      const Window window = Window::of(*static_cast<ViewSlot*>(slots[i]), types[i].dtype, types[i].rank);
      lent.push_back(std::make_unique<eager::Lent>(*target_.device, window));
      values.append(lent.back()->array());
    } else if (types[i].rank < 0 || i < direct) {
      values.append(operand(types[i], slots[i]));
    } else if (kept) {
      values.append(outward(*static_cast<ViewSlot*>(slots[i]), types[i]));
    } else {
      const nb::object copy = copied(types[i], slots[i]);
      values.append(nb::make_tuple(copy.attr("reshape")(-1).attr("view")("uint8"), 0, copy.attr("shape"),
                                   copy.attr("strides"), std::string(base::info(types[i].dtype).numpy)));
    }
  }
  return values;
}

/// Runs something of the host's that may write into copies of the device's buffers.
template <class Fn>
void Invocation::with_homes(Fn&& fn) {
  if (rare().homes.empty()) return fn();
  std::map<runtime::Buffer*, std::vector<std::byte>> before;
  for (const auto& [buffer, home] : rare().homes)
    if (buffer != home) before[buffer].assign(home->data, home->data + home->size);
  fn();
  for (const auto& [buffer, bytes] : before) {
    const runtime::Buffer* const home = rare().homes[buffer];
    if (!bytes.empty() && std::memcmp(home->data, bytes.data(), bytes.size()) != 0)
      target_.device->write(eager::address_of(buffer->data), home->data, buffer->size);
  }
}

/// What `host_from` gives returns what it raises.
void Invocation::call_host_in_python(int64_t number, const nb::list& values) {
  if (outside_.host.is_valid()) {
    outside_.host(number, values);
    return;
  }
  const auto list_of = [](std::span<PyObject* const> objects) {
    nb::list all;
    for (PyObject* object : objects) all.append(nb::handle(object));
    return all;
  };
  if (!host_.is_valid()) host_ = outside_.host_from(list_of(leaves_), list_of(outside_.containers));
  const nb::object raised = host_(number, values);
  if (raised.is_none()) return;
  set_error(raised);
  throw nb::python_error();
}

void Invocation::call_host(const char* layout, int64_t number, void** slots) {
  if (outside_.cells != nullptr) outside_.cells->flush();
  const HostCalls* const quick = target_.device == nullptr ? outside_.quick : nullptr;
  if (quick != nullptr && quick->has(number))
    return quick->call(number, slots, outside_.watched, outside_.containers);
  const nb::object direct = outside_.keeps.attr("get")(number);
  const bool kept = !direct.is_none();
  std::vector<std::unique_ptr<eager::Lent>> lent;
  const auto call = [&] {
    renew_homes();
    const nb::list values = host_values(layout, kept, kept ? nb::cast<size_t>(direct) : 0, slots, lent);
    with_homes([&] { call_host_in_python(number, values); });
    if (target_.device != nullptr) eager::compute_all();  // what the code may write into next
    if (target_.device != nullptr) take_stream();
  };
  if (moved_) moved_->with_arrays(call);
  else call();
  for (const auto& each : lent) each->give_back();
}

const Gufunc* Invocation::known_gufunc(const char* what, const char* layout) const {
  for (const KnownGufunc& known : gufuncs_)
    if (known.what == what && known.layout == layout) return known.gufunc;
  return nullptr;
}

runtime::Status Invocation::call_outside(runtime::Context* context, const char* what, const char* layout,
                                         int64_t number, void** slots) {
  auto& self = static_cast<Invocation&>(of(context));
  if (std::strcmp(what, "host") != 0 && !self.outside_.library.is_valid()) {
    const Gufunc* gufunc = self.known_gufunc(what, layout);
    if (gufunc == nullptr) {
      const runtime::Status status = self.with_gil([&] { gufunc = find_gufunc(what, layout); });
      if (status != 0) return status;
      if (gufunc != nullptr) self.gufuncs_.push_back({what, layout, gufunc});
    }
    if (gufunc != nullptr) {
      const runtime::Status status = call_gufunc(*context, *gufunc, slots, self.gil());
      if (status != 0 || !is_raising()) return status;
      return self.with_gil([] { throw nb::python_error(); });
    }
  }
  return self.with_gil([&] {
    const Outside& outside = self.outside_;
    if (std::strcmp(what, "host") == 0) {
      try {
        self.call_host(layout, number, slots);
      } catch (const devices::DeviceError& error) {
        set_device_error(error);
        throw nb::python_error();
      } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
        throw nb::python_error();
      }
      return;
    }
    nb::list values;
    for (const SlotType& type : slots_of(layout)) values.append(operand(type, slots[nb::len(values)]));
    const nb::object library = outside.library.is_valid()
                                   ? nb::borrow<nb::object>(outside.library)
                                   : nb::object(nb::module_::import_("ingot._routines").attr("library_into"));
    library(std::string(what), values);
  });
}

}  // namespace ingot::bindings
