#include "devices/libraries/fft.h"

#include "base/error.h"
#include "devices/libraries/placing.h"

namespace ingot::devices {

using base::DType;

namespace {

FftType type_of(DType input, DType output) {
  const bool is_double = base::component_of(input) == DType::Float64;
  if (!base::is_complex(input)) return is_double ? kFftRealToComplex64 : kFftRealToComplex32;
  if (!base::is_complex(output)) return is_double ? kFftComplexToReal64 : kFftComplexToReal32;
  return is_double ? kFftComplex64 : kFftComplex32;
}

}  // namespace

Fft::Fft(CudaDevice& device, const std::vector<std::string>& folders)
    : device_(device), file_(device, LibraryKind::Fft, folders) {
#define INGOT_FFT_RESOLVE(name, symbol, parameters) \
  functions_.name = reinterpret_cast<LibraryStatus(*) parameters>(file_.function(#symbol));
  INGOT_FFT_FUNCTIONS(INGOT_FFT_RESOLVE)
#undef INGOT_FFT_RESOLVE
  (void)description();
}

std::string Fft::description() {
  int version = 0;
  check(functions_.version(&version), "its version");
  return file_.path() + ", version " + std::to_string(version);
}

std::shared_ptr<StreamHandle<Fft::Plan>> Fft::make(const Key& key) {
  Plan plan{0, 0, functions_.destroy};
  check(functions_.create(&plan.number), "a plan");
  const auto made = std::make_shared<StreamHandle<Plan>>(plan, [](Plan it) { return it.destroy(it.number); });
  check(functions_.set_allocation(plan.number, 0), "a plan");
  std::vector<long long> lengths(key.lengths.begin(), key.lengths.end());
  check(functions_.make_plan(plan.number, static_cast<int>(lengths.size()), lengths.data(), nullptr, 1, 0,
                             nullptr, 1, 0, key.type, key.batch, &made->it.work_bytes),
        "a plan");
  check(functions_.set_stream(plan.number, key.stream), "a plan's stream");
  return made;
}

void Fft::transform(const DeviceView& input, const DeviceView& output, size_t axes, bool is_inverse) {
  INGOT_ASSERT(input.is_dense() && output.is_dense() && input.rank() == output.rank() && axes >= 1 &&
                   axes <= input.rank() && axes <= 3,
               "devices: a transform's operands");
  if (input.size() == 0 || output.size() == 0) return;
  const CudaSession session(device_);
  const FftType type = type_of(input.dtype, output.dtype);
  const DeviceView& points = base::is_complex(output.dtype) ? input : output;
  const Key key{session.stream(),
                {points.lengths.end() - static_cast<ptrdiff_t>(axes), points.lengths.end()},
                type,
                points.parts(axes)};
  const auto plan = plans_.find(key, [&] { return make(key); }, kMostPlans, [&] { device_.synchronize(); });
  const Scratch work(device_, static_cast<int64_t>(plan->it.work_bytes));
  const std::lock_guard lock(plan->mutex);
  check(functions_.set_work_area(plan->it.number, work.pointer()), "a plan's memory");
  if (base::is_complex(output.dtype)) {
    check(execute(plan->it.number, type, pointer_of(input.data), pointer_of(output.data), is_inverse),
          "a transform");
    return;
  }
  // The library writes into the input of a transform to real numbers, and assumes that the frequencies that
  // are their own opposites are real, while NumPy ignores their imaginary parts.
  const Scratch copy(device_, input.size() * input.element());
  device_.copy(copy.address(), input.data, input.size() * input.element());
  if (axes == 1) make_real(input, copy.address(), points.lengths.back());
  check(execute(plan->it.number, type, copy.pointer(), pointer_of(output.data), true), "a transform");
}

void Fft::make_real(const DeviceView& frequencies, Address copy, int64_t length) {
  const int64_t count = frequencies.lengths.back();
  for (const int64_t index : {int64_t{0}, count - 1}) {
    if (index != 0 && length % 2 != 0) continue;
    const int64_t component = frequencies.element() / 2;
    const DeviceView imaginary{base::component_of(frequencies.dtype),
                               copy + static_cast<Address>(index * frequencies.element() + component),
                               {frequencies.parts(1), 1},
                               {count * frequencies.element(), 0}};
    device_.libraries()->placing().place(imaginary, imaginary, Band::none());
  }
}

LibraryStatus Fft::execute(int plan, FftType type, void* input, void* output, bool is_inverse) const {
  const int direction = is_inverse ? kFftInverse : kFftForward;
  switch (type) {
    case kFftComplex32: return functions_.complex32(plan, input, output, direction);
    case kFftRealToComplex32: return functions_.to_complex32(plan, input, output);
    case kFftComplexToReal32: return functions_.to_real32(plan, input, output);
    case kFftComplex64: return functions_.complex64(plan, input, output, direction);
    case kFftRealToComplex64: return functions_.to_complex64(plan, input, output);
    case kFftComplexToReal64: return functions_.to_real64(plan, input, output);
  }
  return 0;
}

}  // namespace ingot::devices
