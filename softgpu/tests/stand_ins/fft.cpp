// cuFFT.

#include <cmath>
#include <map>
#include <mutex>
#include <numbers>
#include <vector>

#include "stand_in.h"

using namespace softgpu::stand_ins;  // NOLINT: all of it is of the ABI

namespace {

/// cufftResult.
enum Status : int {
  kSuccess = 0,
  kInvalidPlan = 1,
  kInvalidType = 3,
  kInvalidValue = 4,
  kFailed = 6,
  kSetupFailed = 7,
  kInvalidSize = 8,
  kNoWorkspace = 13,
  kNotSupported = 16,
};

/// cufftType.
enum Type : int { kR2C = 0x2a, kC2R = 0x2c, kC2C = 0x29, kD2Z = 0x6a, kZ2D = 0x6c, kZ2Z = 0x69 };

constexpr size_t kWorkBytes = 64;  ///< a caller that gives no memory is found

struct Plan {
  Stream stream = nullptr;
  std::vector<long long> lengths{};
  int type = 0;
  long long batch = 0;
  bool is_made = false;
  bool allocates = true;
  void* work = nullptr;
};

struct Plans {
  std::mutex mutex;
  std::map<int, Plan> all;
  int last = 0;

  static Plans& instance() {
    static Plans& made = *new Plans;
    return made;
  }
};

/// A copy of a plan.
bool find(int number, Plan& found) {
  Plans& plans = Plans::instance();
  const std::lock_guard lock(plans.mutex);
  const auto at = plans.all.find(number);
  if (at != plans.all.end()) found = at->second;
  return at != plans.all.end();
}

template <class Fn>
int change(int number, Fn&& fn) {
  Plans& plans = Plans::instance();
  const std::lock_guard lock(plans.mutex);
  const auto at = plans.all.find(number);
  if (at == plans.all.end()) return kInvalidPlan;
  return fn(at->second);
}

using Complex = std::complex<double>;

/// Transforms numbers with a step between them, in place.
void transform(Complex* x, size_t n, size_t step, int sign) {
  if (n == 1) return;
  std::vector<Complex> result(n);
  if (n % 2 == 0) {
    std::vector<Complex> even(n / 2), odd(n / 2);
    for (size_t i = 0; i < n / 2; ++i) even[i] = x[2 * i * step], odd[i] = x[(2 * i + 1) * step];
    transform(even.data(), n / 2, 1, sign);
    transform(odd.data(), n / 2, 1, sign);
    for (size_t k = 0; k < n / 2; ++k) {
      const Complex turned =
          std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n)) *
          odd[k];
      result[k] = even[k] + turned;
      result[k + n / 2] = even[k] - turned;
    }
  } else {
    for (size_t k = 0; k < n; ++k)
      for (size_t i = 0; i < n; ++i)
        result[k] +=
            x[i * step] * std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(i * k % n) /
                                              static_cast<double>(n));
  }
  for (size_t k = 0; k < n; ++k) x[k * step] = result[k];
}

/// Transforms all axes of one batch in C order.
void transform_axes(std::vector<Complex>& x, const std::vector<size_t>& lengths, int sign) {
  size_t inside = 1;
  for (size_t axis = lengths.size(); axis-- > 0;) {
    const size_t n = lengths[axis];
    for (size_t start = 0; start < x.size(); ++start)
      if (start / inside % n == 0) transform(x.data() + start, n, inside, sign);
    inside *= n;
  }
}

/// The index of a frequency's opposite.
size_t opposite(size_t index, const std::vector<size_t>& lengths) {
  size_t found = 0, inside = 1;
  for (size_t axis = lengths.size(); axis-- > 0;) {
    const size_t at = index / inside % lengths[axis];
    found += (lengths[axis] - at) % lengths[axis] * inside;
    inside *= lengths[axis];
  }
  return found;
}

/// The numbers of one batch: of halved frequencies those that are left out are conjugates of others.
template <class From>
std::vector<Complex> taken(const From* from, const std::vector<size_t>& lengths, bool is_halved) {
  size_t size = 1;
  for (const size_t length : lengths) size *= length;
  std::vector<Complex> x(size);
  const size_t last = lengths.back(), half = last / 2 + 1;
  for (size_t i = 0; i < size; ++i) {
    if (!is_halved) {
      x[i] = from[i];
      continue;
    }
    const bool is_there = i % last < half;
    const size_t index = is_there ? i : opposite(i, lengths);
    const Complex value = from[index / last * half + index % last];
    x[i] = is_there ? value : std::conj(value);
  }
  return x;
}

template <class To>
To narrowed(Complex x) {
  if constexpr (std::is_floating_point_v<To>) return static_cast<To>(x.real());
  else
    return To(static_cast<typename To::value_type>(x.real()), static_cast<typename To::value_type>(x.imag()));
}

template <class From, class To>
int execute(int number, int type, void* input, void* output, int direction) {
  Plan plan;
  if (!find(number, plan) || !plan.is_made) return kInvalidPlan;
  if (plan.type != type) return kInvalidType;
  if (!plan.allocates && plan.work == nullptr) return kNoWorkspace;
  if (direction != -1 && direction != 1) return kInvalidValue;
  std::vector<size_t> lengths(plan.lengths.begin(), plan.lengths.end());
  size_t whole = 1;
  for (const size_t length : lengths) whole *= length;
  const size_t half = whole / lengths.back() * (lengths.back() / 2 + 1);
  const bool is_real_input = std::is_floating_point_v<From>, is_real_output = std::is_floating_point_v<To>;
  const size_t from_size = is_real_output ? half : whole, to_size = is_real_input ? half : whole;
  const auto batch = static_cast<size_t>(plan.batch);
  Job job(plan.stream);
  // The input of a transform to real numbers is overwritten, too.
  From* const from = is_real_output ? job.out<From>(input, from_size * batch)
                                    : const_cast<From*>(job.in<From>(input, from_size * batch));
  To* const to = job.out<To>(output, to_size * batch);
  const bool was_taken = job.run([=] {
    for (size_t i = 0; i < batch; ++i) {
      std::vector<Complex> x = taken(from + i * from_size, lengths, is_real_output);
      transform_axes(x, lengths, direction);
      const size_t last = lengths.back(), kept = is_real_input ? last / 2 + 1 : last;
      for (size_t k = 0; k < to_size; ++k) to[i * to_size + k] = narrowed<To>(x[k / kept * last + k % kept]);
      if (is_real_output)
        for (size_t k = 0; k < from_size; ++k) from[i * from_size + k] = From{};
    }
  });
  return was_taken ? kSuccess : kFailed;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const int ingot_stand_in = 1;
INGOT_LIBRARY ingot_stand_in_live() { return live(); }
INGOT_LIBRARY ingot_stand_in_jobs() { return jobs(); }

INGOT_LIBRARY cufftCreate(int* number) {
  if (Driver::instance() == nullptr) return kSetupFailed;
  Plans& plans = Plans::instance();
  const std::lock_guard lock(plans.mutex);
  *number = ++plans.last;
  plans.all[*number] = Plan();
  ++live();
  return kSuccess;
}

INGOT_LIBRARY cufftDestroy(int number) {
  Plans& plans = Plans::instance();
  const std::lock_guard lock(plans.mutex);
  if (plans.all.erase(number) == 0) return kInvalidPlan;
  --live();
  return kSuccess;
}

INGOT_LIBRARY cufftGetVersion(int* version) {
  *version = 12000;
  return kSuccess;
}

INGOT_LIBRARY cufftSetStream(int number, Stream stream) {
  return change(number, [&](Plan& plan) {
    plan.stream = stream;
    return kSuccess;
  });
}

INGOT_LIBRARY cufftSetAutoAllocation(int number, int allocates) {
  return change(number, [&](Plan& plan) {
    plan.allocates = allocates != 0;
    return kSuccess;
  });
}

INGOT_LIBRARY cufftSetWorkArea(int number, void* memory) {
  return change(number, [&](Plan& plan) {
    plan.work = memory;
    return kSuccess;
  });
}

INGOT_LIBRARY cufftMakePlanMany64(int number, int rank, long long* lengths, long long* input_lengths,
                                  long long, long long, long long* output_lengths, long long, long long,
                                  int type, long long batch, size_t* work_bytes) {
  if (input_lengths != nullptr || output_lengths != nullptr) return kNotSupported;
  return change(number, [&](Plan& plan) {
    if (rank < 1 || rank > 3 || batch < 1) return kInvalidValue;
    for (int axis = 0; axis < rank; ++axis)
      if (lengths[axis] < 1) return kInvalidSize;
    plan.lengths.assign(lengths, lengths + rank);
    plan.type = type;
    plan.batch = batch;
    plan.is_made = true;
    *work_bytes = kWorkBytes;
    return kSuccess;
  });
}

INGOT_LIBRARY cufftExecC2C(int plan, void* input, void* output, int direction) {
  return execute<std::complex<float>, std::complex<float>>(plan, kC2C, input, output, direction);
}

INGOT_LIBRARY cufftExecR2C(int plan, void* input, void* output) {
  return execute<float, std::complex<float>>(plan, kR2C, input, output, -1);
}

INGOT_LIBRARY cufftExecC2R(int plan, void* input, void* output) {
  return execute<std::complex<float>, float>(plan, kC2R, input, output, 1);
}

INGOT_LIBRARY cufftExecZ2Z(int plan, void* input, void* output, int direction) {
  return execute<std::complex<double>, std::complex<double>>(plan, kZ2Z, input, output, direction);
}

INGOT_LIBRARY cufftExecD2Z(int plan, void* input, void* output) {
  return execute<double, std::complex<double>>(plan, kD2Z, input, output, -1);
}

INGOT_LIBRARY cufftExecZ2D(int plan, void* input, void* output) {
  return execute<std::complex<double>, double>(plan, kZ2D, input, output, 1);
}
