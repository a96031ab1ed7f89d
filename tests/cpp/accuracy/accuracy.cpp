// Measures accuracy and speed of the elementary functions: `accuracy [--samples N] [--every N] [--speed]
// NAME...`, all if no name is given. One line for each function and dtype, fields separated by spaces:
//   error NAME DTYPE ulp x y count wrong-specials
//   speed NAME DTYPE own-scalar own-256 own-512 libmvec-256 libmvec-512 sleef-256 sleef-512 libm compile-ms
//   peer NAME DTYPE LIBRARY ulp
// Float functions of one operand are measured at all floats, or every Nth 64 k of them, the others at N
// samples.

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "loops.h"
#include "speed.h"
#include "vector_library.h"

namespace {

using namespace ingot;
using namespace ingot::accuracy;

unsigned thread_count() { return std::max(1u, std::thread::hardware_concurrency()); }

/// Runs `part(i, n)` for each of n threads and merges what they find.
template <class Part>
Largest in_threads(Part part) {
  const unsigned count = thread_count();
  std::vector<Largest> found(count);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < count; ++i) threads.emplace_back([&, i] { found[i] = part(i, count); });
  for (std::thread& thread : threads) thread.join();
  Largest all;
  for (const Largest& one : found) all.merge(one);
  return all;
}

constexpr int64_t kChunk = 1 << 16;

Largest measure_doubles(const Function& f, int64_t count) {
  return in_threads([&](unsigned thread, unsigned threads) {
    Largest largest;
    for (int64_t done = 0; done < count / threads; done += kChunk) {
      const auto arguments = samples(f, kChunk, static_cast<uint64_t>(done) * threads + thread);
      std::vector<double> results;
      for (const auto& [x, y] : arguments) results.push_back(f.of_double(x, y));
      largest.merge(measure(f, arguments, results));
    }
    return largest;
  });
}

Largest measure_pairs_of_floats(const Function& f, int64_t count) {
  return in_threads([&](unsigned thread, unsigned threads) {
    Largest largest;
    for (int64_t done = 0; done < count / threads; done += kChunk)
      for (const auto& [x, y] : samples(f, kChunk, static_cast<uint64_t>(done) * threads + thread)) {
        const auto a = static_cast<float>(x);
        const auto b = static_cast<float>(y);
        measure_float(f, a, b, f.of_float(a, b), largest);
      }
    return largest;
  });
}

Largest measure_all_floats(const Function& f, uint64_t every) {
  const codegen::Target target = codegen::Target::host();
  const codegen::MathLoop loops[] = {{f.op, base::DType::Float32, 8}, {f.op, base::DType::Float64, 4}};
  const Loops code(loops, target);
  const auto of_floats = code.get<float>(loops[0]);
  const auto of_doubles = code.get<double>(loops[1]);
  return in_threads([&](unsigned thread, unsigned threads) {
    Largest largest;
    std::vector<float> x(kChunk), results(kChunk);
    std::vector<double> wide(kChunk), exact(kChunk);
    for (uint64_t begin = thread * kChunk; begin < (uint64_t{1} << 32); begin += every * threads * kChunk) {
      for (size_t i = 0; i < x.size(); ++i) {
        x[i] = std::bit_cast<float>(static_cast<uint32_t>(begin + i));
        wide[i] = static_cast<double>(x[i]);
      }
      of_floats(x.data(), nullptr, results.data(), kChunk);
      of_doubles(wide.data(), nullptr, exact.data(), kChunk);
      measure_floats(f, x, results, exact, largest);
    }
    return largest;
  });
}

void print_error(const Function& f, const char* dtype, const Largest& largest) {
  std::printf("error %s %s %.3f %.17g %.17g %lld %lld\n", f.name.c_str(), dtype, largest.ulp, largest.x,
              largest.y, static_cast<long long>(largest.count),
              static_cast<long long>(largest.wrong_specials));
  std::fflush(stdout);
}

template <class T>
struct AlignedDeleter {
  void operator()(T* memory) const { std::free(memory); }
};
template <class T>
using Aligned = std::unique_ptr<T[], AlignedDeleter<T>>;
template <class T>
Aligned<T> aligned(size_t count) {
  return Aligned<T>(static_cast<T*>(std::aligned_alloc(64, count * sizeof(T))));
}

template <class T>
void print_peer(const Function& f, const char* library) {
  const Pass<T> pass = find_pass<T>(f.libm, f.binary, library, 512);
  if (pass == nullptr) return;
  const auto arguments = samples(f, 3 * kChunk, 1);
  const auto count = arguments.size() / 64 * 64;
  const Aligned<T> x = aligned<T>(count), y = aligned<T>(count), results = aligned<T>(count);
  for (size_t i = 0; i < count; ++i) {
    x[i] = static_cast<T>(arguments[i].first);
    y[i] = static_cast<T>(arguments[i].second);
  }
  pass(x.get(), y.get(), results.get(), static_cast<int64_t>(count));
  Largest largest;
  if constexpr (sizeof(T) == 8) {
    largest = measure(f, {arguments.data(), count}, {results.get(), count}, /*reports=*/false);
  } else {
    for (size_t i = 0; i < count; ++i) measure_float(f, x[i], y[i], results[i], largest, /*reports=*/false);
  }
  std::printf("peer %s %s %s %.3f\n", f.name.c_str(), sizeof(T) == 8 ? "f64" : "f32", library, largest.ulp);
}

void print_speed(const Function& f) {
  for (const bool is_double : {true, false}) {
    const Times t = measure_speed(f, is_double);
    std::printf("speed %s %s %.3f %.3f %.3f %.3f %.3f %.3f %.3f %.3f %.2f\n", f.name.c_str(),
                is_double ? "f64" : "f32", t.own_scalar, t.own_256, t.own_512, t.libmvec_256, t.libmvec_512,
                t.sleef_256, t.sleef_512, t.libm, t.compile_ms);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int64_t count = 10'000'000;
  uint64_t every = 1;
  bool only_speed = false;
  std::vector<std::string> names;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--samples") == 0 && i + 1 < argc) count = std::atoll(argv[++i]);
    else if (std::strcmp(argv[i], "--every") == 0 && i + 1 < argc)
      every = std::strtoull(argv[++i], nullptr, 10);
    else if (std::strcmp(argv[i], "--speed") == 0) only_speed = true;
    else names.emplace_back(argv[i]);
  }
  for (const Function& f : functions()) {
    if (!names.empty() && std::ranges::find(names, f.name) == names.end()) continue;
    if (f.kernel) print_speed(f);
    if (only_speed) continue;
    if (f.kernel)
      for (const char* library : {"libmvec", "sleef"}) {
        print_peer<double>(f, library);
        print_peer<float>(f, library);
      }
    print_error(f, "f64", measure_doubles(f, count));
    print_error(f, "f32",
                f.kernel && !f.binary ? measure_all_floats(f, every) : measure_pairs_of_floats(f, count));
  }
}
