#include "speed.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include "loops.h"
#include "vector_library.h"

namespace ingot::accuracy {

namespace {

constexpr int64_t kCount = 1024;

template <class T>
struct Arrays {
  alignas(64) T x[kCount];
  alignas(64) T y[kCount];
  alignas(64) T result[kCount];
};

/// The least time of an element over many passes, in ns.
template <class T, class Pass>
double time_of(Pass pass) {
  double best = 1e9;
  for (int round = 0; round < 40; ++round) {
    const auto start = std::chrono::steady_clock::now();
    constexpr int kPasses = 40;
    for (int i = 0; i < kPasses; ++i) pass();
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
    best = std::min(best, spent.count() / kPasses / static_cast<double>(kCount));
  }
  return best;
}

template <class T>
void fill(const Function& f, Arrays<T>& a) {
  std::mt19937_64 random(1);
  const auto in = [&](std::pair<double, double> range) {
    return static_cast<T>(std::uniform_real_distribution<double>(range.first, range.second)(random));
  };
  for (int64_t i = 0; i < kCount; ++i) {
    a.x[i] = in(f.speed_range);
    a.y[i] = in({-8, 8});
  }
}

double compile_ms(std::span<const codegen::MathLoop> loops, const codegen::Target& target) {
  double best = 1e9;
  for (int i = 0; i < 7; ++i) {
    const codegen::Times t = codegen::compile_math_loops(loops, target).times;
    best = std::min(best, t.emit + t.passes + t.select);
  }
  return best;
}

/// What the loop costs more than another one.
double compile_ms_of(const codegen::MathLoop& loop, const codegen::Target& target) {
  codegen::MathLoop other = loop;
  other.lanes = loop.lanes == 1 ? 2 : loop.lanes / 2;
  const codegen::MathLoop both[] = {other, loop};
  return compile_ms(both, target) - compile_ms({both, 1}, target);
}

template <class T>
Times measure_of(const Function& f) {
  constexpr bool kDouble = sizeof(T) == 8;
  static Arrays<T> a;
  fill(f, a);
  Times times;
  const auto own = [&](int level, unsigned lanes) {
    const codegen::MathLoop loop{f.op, kDouble ? base::DType::Float64 : base::DType::Float32, lanes};
    codegen::Target target = codegen::Target::host();
    if (level < target.level) target = codegen::Target::generic(level);
    const Loops loops({&loop, 1}, target);
    const auto run = loops.get<T>(loop);
    times.compile_ms = compile_ms_of(loop, target);
    return time_of<T>([&] { run(a.x, a.y, a.result, kCount); });
  };
  times.own_scalar = own(3, 1);
  times.own_256 = own(3, kDouble ? 4 : 8);
  times.own_512 = own(4, kDouble ? 8 : 16);
  const auto library = [&](const char* which, int bits) {
    const Pass<T> pass = find_pass<T>(f.libm, f.binary, which, bits);
    return pass == nullptr ? 0 : time_of<T>([&] { pass(a.x, a.y, a.result, kCount); });
  };
  times.libmvec_256 = library("libmvec", 256);
  times.libmvec_512 = library("libmvec", 512);
  times.sleef_256 = library("sleef", 256);
  times.sleef_512 = library("sleef", 512);
  times.libm = time_of<T>([&] {
    for (int64_t i = 0; i < kCount; ++i) {
      if constexpr (kDouble) a.result[i] = f.libm_double(a.x[i], a.y[i]);
      else a.result[i] = f.libm_float(a.x[i], a.y[i]);
    }
  });
  return times;
}

}  // namespace

Times measure_speed(const Function& f, bool is_double) {
  return is_double ? measure_of<double>(f) : measure_of<float>(f);
}

}  // namespace ingot::accuracy
