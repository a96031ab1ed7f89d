#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "devices/device.h"

namespace ingot::devices {

inline const char* const kKernels = R"(.version 7.8
.target sm_90
.address_size 64
.visible .entry add(.param .u64 p, .param .u32 n, .param .u32 v)
{ .reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %d<3>;
ld.param.u64 %d1, [p]; ld.param.u32 %r1, [n]; ld.param.u32 %r2, [v];
mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x; mad.lo.u32 %r5, %r3, %r4, %r5;
setp.ge.u32 %p1, %r5, %r1; @%p1 ret;
mad.wide.u32 %d1, %r5, 4, %d1; ld.global.u32 %r6, [%d1]; add.u32 %r6, %r6, %r2; st.global.u32 [%d1], %r6; ret; }
.visible .entry square(.param .u64 p, .param .u32 n, .param .u32 v)
{ .reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %d<3>;
ld.param.u64 %d1, [p]; ld.param.u32 %r1, [n];
mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x; mad.lo.u32 %r5, %r3, %r4, %r5;
setp.ge.u32 %p1, %r5, %r1; @%p1 ret;
mad.wide.u32 %d1, %r5, 4, %d1; ld.global.u32 %r6, [%d1]; mul.lo.u32 %r6, %r6, %r6; st.global.u32 [%d1], %r6; ret; }
.visible .entry stray(.param .u64 p, .param .u32 n, .param .u32 v)
{ .reg .b32 %r<3>; .reg .b64 %d<3>;
ld.param.u64 %d1, [p]; mov.u32 %r1, 5; st.global.u32 [%d1+1048576], %r1; ret; }
.visible .entry misaligned(.param .u64 p, .param .u32 n, .param .u32 v)
{ .reg .b32 %r<3>; .reg .b64 %d<3>;
ld.param.u64 %d1, [p]; mov.u32 %r1, 5; st.global.u32 [%d1+2], %r1; ret; }
.visible .entry traps(.param .u64 p, .param .u32 n, .param .u32 v)
{ trap; }
.shared .align 4 .b8 fixed[1024];
.extern .shared .align 4 .b8 dynamic[];
.visible .entry iterations(.param .u64 p)
{ .reg .b32 %r<9>; .reg .b64 %d<3>;
ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ntid.x;
mov.u32 %r3, dynamic; mad.lo.u32 %r4, %r1, 4, %r3; st.shared.u32 [%r4], %r1;
mov.u32 %r7, fixed; st.shared.u32 [%r7], %r1;
bar.sync 0;
sub.u32 %r5, %r2, %r1; sub.u32 %r5, %r5, 1; mad.lo.u32 %r4, %r5, 4, %r3; ld.shared.u32 %r6, [%r4];
mad.wide.u32 %d1, %r1, 4, %d1; st.global.u32 [%d1], %r6; ret; }
)";

/// The same as OpenCL C, without the faulty ones.
inline const char* const kOpenClKernels = R"(
__kernel void add(__global uint* p, uint n, uint v) { size_t i = get_global_id(0); if (i < n) p[i] += v; }
__kernel void square(ulong p, uint n, uint v) {
  size_t i = get_global_id(0);
  __global uint* q = (__global uint*)p;
  if (i < n) q[i] *= q[i];
}
__kernel void traps(__global uint* p, uint n, uint v) { p[n] = v; }
__kernel void iterations(__global uint* p, __local uint* dynamic) {
  __local uint fixed[256];
  uint i = get_local_id(0);
  dynamic[i] = i;
  fixed[0] = i;
  barrier(CLK_LOCAL_MEM_FENCE);
  p[i] = dynamic[get_local_size(0) - i - 1];
}
)";

inline const char* kernels_for(const Device& device) {
  return device.properties().code == "opencl" ? kOpenClKernels : kKernels;
}

/// From now on, look-ups of HIP's driver and linker find those of the tests (`hip/`), which are loaded under
/// their names already.
inline void open_hip_stand_ins() {
  for (const char* const path : {INGOT_HIP, INGOT_COMGR})
    ASSERT_NE(dlopen(path, RTLD_NOW | RTLD_LOCAL), nullptr) << dlerror();
}

/// The software device's shared object, as another program opens it.
class Library {
 public:
  Library() : handle_(dlopen(INGOT_SOFTGPU_DRIVER, RTLD_NOW | RTLD_LOCAL)) {
    EXPECT_NE(handle_, nullptr) << dlerror();
  }
  template <class F>
  F* function(const char* name) const {
    void* const found = dlsym(handle_, name);
    EXPECT_NE(found, nullptr) << name;
    return reinterpret_cast<F*>(found);
  }

 private:
  void* handle_;
};

/// The software device, reset for each test.
class DevicesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto found = devices("emulated");
    ASSERT_EQ(found.size(), 1u) << why_none("emulated");
    device_ = found[0];
    begin();
  }
  void TearDown() override {
    code_.reset();
    if (device_ != nullptr) {
      device_->use_stream(nullptr);
      unsetenv("INGOT_EMULATOR_SEED");
      unsetenv("INGOT_EMULATOR_MEMORY");
      device_->reset();
      device_->set_memory_limit(0);
    }
  }
  /// Resets it, with this seed of the order of streams.
  void begin(int seed = 0) {
    code_.reset();
    setenv("INGOT_EMULATOR_SEED", std::to_string(seed).c_str(), 1);
    ASSERT_TRUE(device_->reset());
    device_->reset_memory_peak();
    code_ = device_->load(kKernels);
  }

  /// Memory with these values.
  Address words(const std::vector<uint32_t>& values) {
    const Address address = device_->allocate(static_cast<int64_t>(values.size() * 4));
    device_->write(address, values.data(), static_cast<int64_t>(values.size() * 4));
    return address;
  }
  std::vector<uint32_t> read(Address address, size_t count) {
    std::vector<uint32_t> got(count);
    device_->read(got.data(), address, static_cast<int64_t>(count * 4));
    return got;
  }
  void launch(const char* kernel, Address p, uint32_t n, uint32_t v = 0) {
    void* const arguments[] = {&p, &n, &v};
    device_->launch(code_->kernel(kernel), {.grid = {(n + 63) / 64, 1, 1}, .block = {64, 1, 1}}, arguments);
  }
  /// The message of the DeviceError that a call throws; fails the test if it does not.
  template <class F>
  static std::string error_of(F&& f) {
    try {
      f();
    } catch (const DeviceError& error) {
      return error.what();
    }
    ADD_FAILURE() << "no error";
    return {};
  }

  Device* device_ = nullptr;
  std::unique_ptr<Code> code_;
};

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace ingot::devices
