// The host's time of Device::launch of four arguments besides the driver's own function: nanoseconds, the
// least of many rounds that alternate. The launches run outside of the clock.

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <limits>

#include "devices/device.h"

namespace {

using namespace ingot::devices;  // NOLINT(google-build-using-namespace): a program

constexpr const char* kText = R"(.version 7.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 n, .param .f64 x) { ret; }
)";
constexpr int kRounds = 400;
constexpr int kLaunches = 500;

template <class F>
double nanoseconds_each(F&& f) {
  const auto start = std::chrono::steady_clock::now();
  for (int k = 0; k < kLaunches; ++k) f();
  const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
  return taken.count() / kLaunches;
}

}  // namespace

int main(int argc, char** argv) {
  const char* const kind = argc > 1 ? argv[1] : "emulated";
  const auto found = devices(kind);
  if (found.empty()) {
    std::printf("no device: %s\n", why_none(kind).c_str());
    return 1;
  }
  Device& device = *found[0];
  const auto code = device.load(kText);
  const Kernel& kernel = code->kernel("k");
  Address a = device.allocate(8), b = device.allocate(8), n = 1;
  double x = 2;
  std::array<void*, 4> arguments{&a, &b, &n, &x};

  void* const driver =
      dlopen(kind == std::string_view("gpu") ? "libcuda.so.1" : INGOT_SOFTGPU_DRIVER, RTLD_NOW);
  void *module = nullptr, *function = nullptr, *stream = nullptr;
  const auto resolve = [&]<class F>(F*& into, const char* name) {
    into = reinterpret_cast<F*>(dlsym(driver, name));
  };
  int (*load)(void**, const void*) = nullptr;
  int (*get)(void**, void*, const char*) = nullptr;
  int (*make)(void**, unsigned) = nullptr;
  int (*wait)(void*) = nullptr;
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                void**) = nullptr;
  resolve(load, "cuModuleLoadData");
  resolve(get, "cuModuleGetFunction");
  resolve(make, "cuStreamCreate");
  resolve(wait, "cuStreamSynchronize");
  resolve(launch, "cuLaunchKernel");
  if (load(&module, kText) != 0 || get(&function, module, "k") != 0 || make(&stream, 1) != 0) return 1;

  constexpr double kNever = std::numeric_limits<double>::infinity();
  double plain = kNever, ours = kNever, memory = kNever;
  for (int round = 0; round < kRounds; ++round) {
    plain = std::min(plain, nanoseconds_each([&] {
                       launch(function, 1, 1, 1, 32, 1, 1, 0, stream, arguments.data(), nullptr);
                     }));
    wait(stream);
    ours = std::min(ours, nanoseconds_each([&] { device.launch(kernel, {.block = {32, 1, 1}}, arguments); }));
    device.synchronize();
    memory = std::min(memory, nanoseconds_each([&] { device.free(device.allocate(1 << 20)); }));
  }
  std::printf("driver %.1f\ningot %.1f\nan allocation %.1f\n", plain, ours, memory);
  return 0;
}
