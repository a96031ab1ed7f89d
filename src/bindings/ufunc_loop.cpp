#include "bindings/ufunc_loop.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <string>
#include <utility>

#include "bindings/execution.h"
#include "bindings/specialisation.h"
#include "interop/arrays.h"
#include "interop/collected.h"
#include "interop/exceptions.h"
#include "interop/gil.h"
#include "interop/numpy.h"

namespace ingot::bindings {

using nb::literals::operator""_a;
using Kind = OperandLayout::Kind;
using Mode = OperandLayout::Mode;

namespace {

/// So many iterations are worth code of their own for operands that are one number.
constexpr int64_t kManyIterations = 64;

}  // namespace

struct UfuncLoop::Operands {
  char* const* data;
  const int64_t* strides;
  int64_t count;

  std::pair<const char*, const char*> bytes(size_t i, int64_t size) const {
    const int64_t last = (count - 1) * strides[i];
    return {data[i] + std::min<int64_t>(last, 0), data[i] + std::max<int64_t>(last, 0) + size};
  }
};

UfuncLoop::UfuncLoop(const nb::tuple& dtypes, size_t inputs, nb::object element, bool is_closed)
    : inputs_(inputs), element_(std::move(element)), is_closed_(is_closed) {
  for (const nb::handle dtype : dtypes) {
    dtypes_.push_back(dtype_of(nb::cast<int>(dtype.attr("num"))).value());
    type_numbers_.push_back(type_number(dtypes_.back()));
    sizes_.push_back(static_cast<int64_t>(base::size_of(dtypes_.back())));
  }
}

UfuncLoop::~UfuncLoop() {
  for (Variant* variant = first_.load(); variant != nullptr;) delete std::exchange(variant, variant->next);
}

bool UfuncLoop::is_current() const {
  return is_closed_ && nb::cast<const Specialisation&>(element_).guards().changed() == nullptr;
}

/// Whether the first input and the output are one number, and the other input is disjoint from it.
bool UfuncLoop::folds(const Operands& operands) const {
  const bool is_one_number = count() == 3 && inputs_ == 2 && operands.count > 1 &&
                             operands.data[0] == operands.data[2] && operands.strides[0] == 0 &&
                             operands.strides[2] == 0 && dtypes_[0] == dtypes_[2];
  if (!is_one_number) return false;
  const auto [low, high] = operands.bytes(1, sizes_[1]);
  return high <= operands.data[2] || operands.data[2] + sizes_[2] <= low;
}

OperandLayout UfuncLoop::layout_of(const Operands& operands) const {
  const auto is_contiguous = [&](size_t i) {
    return operands.count == 1 || operands.strides[i] == sizes_[i];
  };
  if (folds(operands)) {
    OperandLayout layout(2, Mode::Fold);
    if (!is_contiguous(1)) layout.set(0, Kind::Strided);
    return layout;
  }
  const auto is_shared = [&](size_t input) {
    const auto [low, high] = operands.bytes(input, sizes_[input]);
    for (size_t output = inputs_; output < count(); ++output) {
      const auto [first, last] = operands.bytes(output, sizes_[output]);
      if (first < high && low < last) return true;
    }
    return false;
  };
  bool shares = false;
  for (size_t i = 0; i < inputs_; ++i) shares = shares || is_shared(i);
  OperandLayout layout(count(), shares ? Mode::Shared : Mode::Disjoint);
  bool is_strided = false;
  for (size_t i = 0; i < count(); ++i) {
    if (is_contiguous(i)) continue;
    const bool is_number = i < inputs_ && operands.strides[i] == 0 && operands.count >= kManyIterations;
    if (is_number && (!shares || !is_shared(i))) layout.set(i, Kind::Number);
    else is_strided = true;
  }
  // Code for strided operands is slower anyway: one for all that are not numbers.
  for (size_t i = 0; is_strided && i < count(); ++i)
    if (layout.kind(i) == Kind::Contiguous) layout.set(i, Kind::Strided);
  return layout;
}

const UfuncLoop::Variant* UfuncLoop::find(Key key) const {
  const Variant* variant = first_.load(std::memory_order_acquire);
  while (variant != nullptr && variant->key != key) variant = variant->next;
  return variant;
}

const UfuncLoop::Variant& UfuncLoop::keep(Key key, nb::object made, size_t operands) {
  if (const Variant* other = find(key)) return *other;  // of another thread
  // Held, since a specialisation may get better code.
  nb::object loaded = nb::none();
  if (!made.is_none()) loaded = nb::cast<const Specialisation&>(made).loaded();
  const Code* code = loaded.is_none() ? nullptr : nb::cast<const Code*>(loaded);
  if (code != nullptr && (code->params().size() != operands || code->calls_outside())) code = nullptr;
  auto* const variant = new Variant{key, std::move(made), std::move(loaded), code, first_.load()};
  first_.store(variant, std::memory_order_release);
  return *variant;
}

const UfuncLoop::Variant& UfuncLoop::made(const OperandLayout& layout) {
  static constexpr const char* kModes[] = {"apart", "shared", "fold"};
  static constexpr char kLetters[] = {'C', 'A', 'N'};
  std::string layouts;
  for (size_t i = 0; i < layout.count(); ++i) layouts += kLetters[static_cast<size_t>(layout.kind(i))];
  const nb::object self = nb::find(*this);
  return keep({layout.word(), 0}, self.attr("compile")(layouts, kModes[static_cast<size_t>(layout.mode())]),
              layout.count());
}

void UfuncLoop::prepare() { made(OperandLayout(count(), Mode::Disjoint)); }

int UfuncLoop::run(char* const* data, const int64_t* dimensions, const int64_t* strides) {
  if (dimensions[0] <= 0) return 0;
  const Operands operands{data, strides, dimensions[0]};
  const OperandLayout layout = layout_of(operands);
  const Variant* variant = find({layout.word(), 0});
  if (variant != nullptr && variant->code != nullptr) return run_code(*variant, layout, operands);
  {
    const EnsuredGil gil;
    const int status = guarded(
        [&] {
          if (variant == nullptr) variant = &made(layout);
          if (variant->code == nullptr) run_in_python(operands);
          return 0;
        },
        -1);
    if (status != 0 || variant->code == nullptr) return status;
  }
  return run_code(*variant, layout, operands);
}

int UfuncLoop::run_code(const Variant& variant, const OperandLayout& layout, const Operands& operands) const {
  struct View {
    runtime::ViewSlot slot;
    int64_t length;
    int64_t stride;
  };
  View views[OperandLayout::kMost];
  runtime::Buffer buffers[OperandLayout::kMost];
  void* slots[OperandLayout::kMost];
  const bool folds = layout.mode() == Mode::Fold;
  for (size_t i = 0; i < layout.count(); ++i) {
    const size_t operand = i + (folds ? 1 : 0);
    slots[i] = operands.data[operand];
    if (layout.kind(i) == Kind::Number) continue;
    const int64_t length = folds && i == 1 ? 1 : operands.count;
    // Where there is one iteration, the stride may be any.
    const int64_t stride = length == 1 ? sizes_[operand] : operands.strides[operand];
    auto* const data = reinterpret_cast<std::byte*>(operands.data[operand]);
    buffers[i] = {};
    buffers[i].data = data + std::min<int64_t>(0, (length - 1) * stride);
    views[i] = {{data, &buffers[i]}, length, stride};
    slots[i] = &views[i];
  }
  const Code* const code = in_this_state(variant.code);
  if (code == nullptr) return -1;
  Execution execution(*code);
  return execution.run(slots) ? 0 : fail(variant, execution);
}

const Code* UfuncLoop::in_this_state(const Code* code) {
  if (code->is_of_this_state()) return code;
  const EnsuredGil gil;
  return guarded([&] { return &code->of_this_state(); }, nullptr);
}

int UfuncLoop::fail(const Variant& variant, const Execution& execution) const {
  const EnsuredGil gil;
  return guarded(
      [&] {
        const nb::object errors = nb::cast<const Specialisation&>(variant.specialisation).errors();
        set_error(nb::find(*this).attr("exception")(execution.failure(), errors));
        return -1;
      },
      -1);
}

void UfuncLoop::run_in_python(const Operands& operands) {
  nb::list all[2];
  for (size_t i = 0; i < count(); ++i) {
    const bool is_output = this->is_output(i);
    auto* const data = reinterpret_cast<std::byte*>(operands.data[i]);
    const Window window{dtypes_[i], 1, data, {operands.count}, {operands.strides[i]}};
    all[is_output ? 1 : 0].append(array_on(window, is_output));
  }
  call_in_python(all[0], all[1]);
}

void UfuncLoop::call_in_python(const nb::list& inputs, const nb::list& outputs) const {
  const nb::object self = nb::find(*this);
  try {
    self.attr("run")(nb::tuple(inputs), nb::tuple(outputs));
  } catch (nb::python_error& error) {
    set_error(self.attr("shown")(error.value()));
    throw nb::python_error();
  }
}

int UfuncLoop::traverse(visitproc visit, void* arg) const {
  Py_VISIT(element_.ptr());
  for (const Variant* variant = first_.load(); variant != nullptr; variant = variant->next) {
    Py_VISIT(variant->specialisation.ptr());
    Py_VISIT(variant->loaded.ptr());
  }
  return 0;
}

void UfuncLoop::clear() {
  element_ = nb::none();
  for (Variant* variant = first_.load(); variant != nullptr; variant = variant->next) {
    variant->code = nullptr;
    variant->specialisation = nb::none();
    variant->loaded = nb::none();
  }
}

void UfuncLoop::bind(nb::module_& m) {
  nb::class_<UfuncLoop>(m, "UfuncLoop", nb::type_slots(Collected<UfuncLoop>::slots()))
      .def(nb::init<const nb::tuple&, size_t, nb::object, bool>(), "dtypes"_a, "inputs"_a, "element"_a,
           "closed"_a)
      .def("is_current", &UfuncLoop::is_current,
           "Whether what the function read outside is known to be as it was when it was compiled.")
      .def("prepare", &UfuncLoop::prepare, "Compiles code for contiguous operands now.");
}

}  // namespace ingot::bindings
