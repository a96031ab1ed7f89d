#include "bindings/gufunc_loop.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstring>
#include <ranges>
#include <string>
#include <utility>

#include "bindings/execution.h"
#include "interop/arrays.h"
#include "interop/collected.h"
#include "interop/exceptions.h"
#include "interop/gil.h"

namespace ingot::bindings {

using nb::literals::operator""_a;
using runtime::SlotInfo;

namespace {

/// Iterations that go through so many bytes are worth a call each, where code with strides would run else.
constexpr int64_t kLongIteration = int64_t{1} << 13;

}  // namespace

GufuncLoop::GufuncLoop(const nb::tuple& dtypes, size_t inputs, nb::object element, bool is_closed,
                       const nb::tuple& cores)
    : UfuncLoop(dtypes, inputs, std::move(element), is_closed) {
  for (const nb::handle given : cores) {
    Core& core = cores_.emplace_back();
    core.is_number = given.is_none();
    if (core.is_number) continue;
    for (const nb::handle number : given) core.lengths.push_back(nb::cast<size_t>(number));
    for (const size_t number : core.lengths) lengths_ = std::max(lengths_, number + 1);
  }
}

/// Makes it one in C order: strides along axes of length 1, which may be any, become those of that order.
void GufuncLoop::Operand::close_gaps(int64_t size) {
  int64_t inside = size;
  for (int axis = rank; axis > 0; --axis) {
    strides[axis] = inside;
    inside *= lengths[axis];
  }
  strides[0] = inside;
}

std::vector<GufuncLoop::Operand> GufuncLoop::operands_of(char* const* data, const int64_t* dimensions,
                                                         const int64_t* strides) const {
  std::vector<Operand> all(count());
  const int64_t* core_strides = strides + count();
  for (size_t i = 0; i < count(); ++i) {
    const Core& core = cores_[i];
    Operand& operand = all[i];
    operand.data = reinterpret_cast<std::byte*>(data[i]);
    operand.rank = static_cast<int>(core.lengths.size());
    operand.lengths[0] = dimensions[0];
    operand.strides[0] = strides[i];
    for (int axis = 0; axis < operand.rank; ++axis) {
      operand.lengths[axis + 1] = dimensions[1 + core.lengths[static_cast<size_t>(axis)]];
      operand.strides[axis + 1] = *core_strides++;
    }
    if (operand.rank == 0 && !core.is_number) {  // an array of one element
      operand.rank = 1;
      operand.lengths[1] = 1;
      operand.strides[1] = size(i);
    }
    operand.is_dense = true;
    operand.bytes = size(i);
    for (int axis = operand.rank; axis > 0; --axis) {
      const bool is_next = operand.lengths[axis] == 1 || operand.strides[axis] == operand.bytes;
      operand.is_dense = operand.is_dense && is_next;
      operand.bytes *= operand.lengths[axis];
    }
    operand.is_dense = operand.is_dense || operand.bytes == 0;
  }
  return all;
}

GufuncLoop::Layout GufuncLoop::layout_of(const Operand& operand, size_t i) const {
  if (!operand.is_dense) return Layout::Strided;
  if (operand.lengths[0] == 1 || operand.strides[0] == operand.bytes) return Layout::Contiguous;
  return operand.strides[0] == 0 && !is_output(i) ? Layout::Same : Layout::Strided;
}

UfuncLoop::Key GufuncLoop::key_of(const std::vector<Operand>& operands, const int64_t* dimensions) const {
  Key key{0, 0};
  for (size_t i = 0; i < count(); ++i)
    key.layouts |= static_cast<uint64_t>(layout_of(operands[i], i)) << 2 * i;
  for (size_t i = 0; i < lengths_; ++i)
    key.lengths |= static_cast<uint64_t>(dimensions[1 + i] == 1 ? 1 : 0) << i;
  return key;
}

std::vector<std::byte> GufuncLoop::Operand::move_to_copy(int64_t size) {
  std::vector<std::byte> copy(static_cast<size_t>(lengths[0] * bytes));
  std::byte* to = copy.data();
  const int last = is_dense ? 0 : rank;  // what is copied at once is inside of this axis
  const int64_t piece = is_dense ? bytes : size;
  const auto copy_axis = [&](const auto& self, int axis, const std::byte* from) -> void {
    for (int64_t k = 0; k < lengths[axis]; ++k, from += strides[axis]) {
      if (axis < last) {
        self(self, axis + 1, from);
      } else {
        std::memcpy(to, from, static_cast<size_t>(piece));
        to += piece;
      }
    }
  };
  copy_axis(copy_axis, 0, data);
  data = copy.data();
  is_dense = true;
  close_gaps(size);
  return copy;
}

std::vector<std::vector<std::byte>> GufuncLoop::copy_shared(std::vector<Operand>& operands) const {
  std::vector<std::vector<std::byte>> copies;
  for (size_t i = 0; i < count() && !is_output(i); ++i) {
    if (cores_[i].is_number || operands[i].bytes == 0) continue;
    const auto shares = [&](size_t j) { return is_output(j) && operands[j].data == operands[i].data; };
    if (std::ranges::any_of(std::views::iota(i + 1, count()), shares))
      copies.push_back(operands[i].move_to_copy(size(i)));
  }
  return copies;
}

int GufuncLoop::run(char* const* data, const int64_t* dimensions, const int64_t* strides) {
  if (dimensions[0] <= 0) return 0;
  std::vector<Operand> operands = operands_of(data, dimensions, strides);
  const std::vector<std::vector<std::byte>> copies = copy_shared(operands);
  int64_t bytes = 0;
  bool is_dense = true;
  bool is_strided = false;
  for (size_t i = 0; i < count(); ++i) {
    is_dense = is_dense && operands[i].is_dense;
    is_strided = is_strided || layout_of(operands[i], i) == Layout::Strided;
    bytes += operands[i].bytes;
  }
  if (!is_dense || !is_strided || bytes < kLongIteration) return run_iterations(operands, dimensions);
  const int64_t iterations = dimensions[0];
  for (Operand& operand : operands) operand.lengths[0] = 1;
  for (int64_t iteration = 0; iteration < iterations; ++iteration) {
    if (const int status = run_iterations(operands, dimensions); status != 0) return status;
    for (size_t i = 0; i < count(); ++i) operands[i].data += operands[i].strides[0];
  }
  return 0;
}

int GufuncLoop::run_iterations(std::vector<Operand>& operands, const int64_t* dimensions) {
  const Key key = key_of(operands, dimensions);
  const Variant* variant = find(key);
  if (variant != nullptr && variant->code != nullptr) return run_code(*variant, operands);
  {
    const EnsuredGil gil;
    const int status = guarded(
        [&] {
          if (variant == nullptr) {
            static constexpr char kLetters[] = {'C', 'A', 'N'};
            std::string layouts;
            for (size_t i = 0; i < count(); ++i) layouts += kLetters[key.layouts >> 2 * i & 3];
            const nb::object self = nb::find(*this);
            variant = &keep(key, self.attr("compile")(layouts, key.lengths), count());
          }
          if (variant->code == nullptr) run_in_python(operands);
          return 0;
        },
        -1);
    if (status != 0 || variant->code == nullptr) return status;
  }
  return run_code(*variant, operands);
}

int GufuncLoop::run_code(const Variant& variant, const std::vector<Operand>& operands) const {
  struct View {
    runtime::ViewSlot slot;
    int64_t axes[2 * SlotInfo::kMaxRank];
  };
  View views[OperandLayout::kMost];
  runtime::Buffer buffers[OperandLayout::kMost];
  void* slots[OperandLayout::kMost];
  for (size_t i = 0; i < count(); ++i) {
    Operand operand = operands[i];
    const Layout layout = layout_of(operand, i);
    slots[i] = operand.data;
    const bool is_one = layout == Layout::Same;
    if (is_one && cores_[i].is_number) continue;
    if (layout != Layout::Strided) operand.close_gaps(size(i));
    const int first = is_one ? 1 : 0;
    const int rank = operand.rank + 1 - first;
    for (int axis = 0; axis < rank; ++axis) {
      views[i].axes[axis] = operand.lengths[first + axis];
      views[i].axes[rank + axis] = operand.strides[first + axis];
    }
    buffers[i] = {};
    const auto axes = static_cast<size_t>(rank);
    const int64_t low =
        base::Strided{{operand.lengths + first, axes}, {operand.strides + first, axes}}.reach().low;
    buffers[i].data = operand.data + (operand.bytes == 0 ? 0 : low);
    views[i].slot = {operand.data, &buffers[i]};
    slots[i] = &views[i];
  }
  const Code* const code = in_this_state(variant.code);
  if (code == nullptr) return -1;
  Execution execution(*code);
  return execution.run(slots) ? 0 : fail(variant, execution);
}

void GufuncLoop::run_in_python(const std::vector<Operand>& operands) {
  nb::list all[2];
  for (size_t i = 0; i < count(); ++i) {
    const auto axes = static_cast<size_t>(operands[i].rank) + 1;
    const Window window =
        Window::of(dtype(i), operands[i].data, {{operands[i].lengths, axes}, {operands[i].strides, axes}});
    all[is_output(i) ? 1 : 0].append(array_on(window, is_output(i)));
  }
  call_in_python(all[0], all[1]);
}

void GufuncLoop::bind(nb::module_& m) {
  nb::class_<GufuncLoop, UfuncLoop>(m, "GufuncLoop", nb::type_slots(Collected<GufuncLoop>::slots()))
      .def(nb::init<const nb::tuple&, size_t, nb::object, bool, const nb::tuple&>(), "dtypes"_a, "inputs"_a,
           "element"_a.none(), "closed"_a, "cores"_a);
}

}  // namespace ingot::bindings
