#include "bindings/invocation.h"

#include <nanobind/stl/string.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "bindings/gufuncs.h"
#include "bindings/numpy.h"

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

/// What an operand of a call outside is, for the time of the call.
nb::object operand(const SlotType& type, void* slot) {
  if (type.rank < 0) return python_number(type.dtype, slot);
  return array_on(Window::of(*static_cast<ViewSlot*>(slot), type.dtype, type.rank), true);
}

}  // namespace

const runtime::Hooks Invocation::kHooks = {&Execution::attend, &Invocation::call_outside};

Invocation::Invocation(const Code& code, std::span<PyObject* const> leaves, const Outside& outside)
    : Execution(code, kHooks), outside_(outside), frame_(code, leaves) {}

nb::object Invocation::results(const nb::tuple& buffers) {
  nb::dict held;
  for (const nb::handle result : buffers) {
    for (runtime::Buffer* const buffer : frame_.held_buffers(nb::cast<size_t>(result))) {
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
    if (!memories_.contains(view.buffer) && frame_.is_all_of_its_buffer(i)) {
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
  return owning_array(call().take(buffer), window);
}

nb::object Invocation::memory_of(runtime::Buffer* buffer) {
  nb::object& memory = memories_[buffer];
  if (memory.is_valid()) return memory;
  nb::object owner = nb::steal(PyCapsule_New(call().take(buffer).release(), nullptr, free_memory));
  if (!owner.is_valid()) throw nb::python_error();
  memory = array_on({DType::UInt8, 1, buffer->data, {buffer->size}, {1}}, true, std::move(owner));
  return memory;
}

nb::object Invocation::outward(ViewSlot& view, const SlotType& type) {
  const int64_t argument = frame_.parameter_of(view.buffer);
  const nb::object owner = argument >= 0 ? nb::object(nb::int_(argument)) : memory_of(view.buffer);
  return described(owner, nb::int_(view.data - view.buffer->data), Window::of(view, type.dtype, type.rank));
}

/// What a host call gets is its own: a copy, described as results are; or what the callee keeps itself. The
/// first `direct` ones are arrays that nobody keeps.
nb::list Invocation::host_values(const char* layout, bool kept, size_t direct, void** slots) {
  nb::list values;
  const std::vector<SlotType> types = slots_of(layout);
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i].rank < 0 || i < direct) {
      values.append(operand(types[i], slots[i]));
    } else if (kept) {
      values.append(outward(*static_cast<ViewSlot*>(slots[i]), types[i]));
    } else {
      const nb::object copy = operand(types[i], slots[i]).attr("copy")();
      values.append(nb::make_tuple(copy.attr("reshape")(-1).attr("view")("uint8"), 0, copy.attr("shape"),
                                   copy.attr("strides"), std::string(base::info(types[i].dtype).numpy)));
    }
  }
  return values;
}

runtime::Status Invocation::call_outside(runtime::Context* context, const char* what, const char* layout,
                                         int64_t number, void** slots) {
  auto& self = static_cast<Invocation&>(of(context));
  if (std::strcmp(what, "host") != 0 && !self.outside_.library.is_valid()) {
    const Gufunc* gufunc = nullptr;
    const runtime::Status status = self.with_gil([&] { gufunc = find_gufunc(what, layout); });
    if (status != 0) return status;
    if (gufunc != nullptr) {
      call_gufunc(*gufunc, slots, self.gil());
      return 0;
    }
  }
  return self.with_gil([&] {
    const Outside& outside = self.outside_;
    if (std::strcmp(what, "host") == 0) {
      const nb::object direct = outside.keeps.attr("get")(number);
      const bool kept = !direct.is_none();
      outside.host(number, self.host_values(layout, kept, kept ? nb::cast<size_t>(direct) : 0, slots));
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
