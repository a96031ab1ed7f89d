#pragma once

#include <dlfcn.h>

#include <cstdlib>

#include "support.h"

namespace softgpu {

using Address = uint64_t;

inline const char* const kKernels = R"(.version 7.8
.target sm_90
.address_size 64
.visible .global .align 4 .u32 shift = 3;
.visible .entry add(.param .u64 p, .param .u32 n, .param .u32 v)
{ .reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %d<3>;
ld.param.u64 %d1, [p]; ld.param.u32 %r1, [n]; ld.param.u32 %r2, [v];
mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x; mad.lo.u32 %r5, %r3, %r4, %r5;
setp.ge.u32 %p1, %r5, %r1; @%p1 ret;
mad.wide.u32 %d1, %r5, 4, %d1; ld.global.u32 %r6, [%d1]; ld.global.u32 %r7, [shift]; mad.lo.u32 %r6, %r6, %r7, %r2; st.global.u32 [%d1], %r6; ret; }
)";

class DriverTest : public ::testing::Test {
 protected:
  void SetUp() override {
    library_ = dlopen(INGOT_SOFTGPU_DRIVER, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
    ASSERT_EQ(call<int(unsigned)>("cuInit")(0), 0);
    ASSERT_EQ(call<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context_, 0), 0);
    ASSERT_EQ(call<int(void*)>("cuCtxSetCurrent")(context_), 0);
    ASSERT_EQ(call<int(void**, const void*)>("cuModuleLoadData")(&module_, kKernels), 0);
    ASSERT_EQ(call<int(void**, void*, const char*)>("cuModuleGetFunction")(&add_, module_, "add"), 0);
  }
  void TearDown() override { call<int(int)>("cuDevicePrimaryCtxReset")(0); }

  /// A function by the name without suffix, as programs resolve them.
  template <class F>
  F* call(const char* name) {
    auto* const resolve = reinterpret_cast<int (*)(const char*, void**, int, uint64_t, int*)>(
        dlsym(library_, "cuGetProcAddress_v2"));
    void* found = nullptr;
    int status = -1;
    EXPECT_EQ(resolve(name, &found, 13000, 0, &status), 0) << name;
    return reinterpret_cast<F*>(found);
  }

  Address memory(size_t bytes) {
    Address address = 0;
    EXPECT_EQ(call<int(Address*, size_t)>("cuMemAlloc")(&address, bytes), 0);
    return address;
  }
  int launch(Address p, uint32_t n, uint32_t v, void* stream = nullptr) {
    void* parameters[] = {&p, &n, &v};
    return call<int(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                    void**, void**)>("cuLaunchKernel")(add_, (n + 63) / 64, 1, 1, 64, 1, 1, 0, stream,
                                                       parameters, nullptr);
  }
  std::vector<uint32_t> words(Address address, size_t count) {
    std::vector<uint32_t> got(count);
    EXPECT_EQ(call<int(void*, Address, size_t)>("cuMemcpyDtoH")(got.data(), address, count * 4), 0);
    return got;
  }
  int synchronise() { return call<int()>("cuCtxSynchronize")(); }
  std::string message() {
    char text[1000];
    reinterpret_cast<int (*)(char*, size_t)>(dlsym(library_, "ingot_emulator_last_error"))(text, sizeof text);
    return text;
  }

  void* library_ = nullptr;
  void* context_ = nullptr;
  void* module_ = nullptr;
  void* add_ = nullptr;
};

}  // namespace softgpu
