#include "driver_support.h"

// The shared object as a program opens it: by name, with the ABI's numbers.

namespace softgpu {
namespace {

TEST_F(DriverTest, ReportsTheDevice) {
  int value = 0;
  EXPECT_EQ(call<int(int*)>("cuDriverGetVersion")(&value), 0);
  EXPECT_GE(value, 12000);
  EXPECT_EQ(call<int(int*, int, int)>("cuDeviceGetAttribute")(&value, 10, 0), 0);
  EXPECT_EQ(value, 32);
  EXPECT_EQ(call<int(int*, int)>("cuDeviceGet")(&value, 1), 101);
  char name[64];
  EXPECT_EQ(call<int(char*, int, int)>("cuDeviceGetName")(name, 64, 0), 0);
  EXPECT_STREQ(name, "Ingot software device");
  size_t bytes = 0, available = 0;
  EXPECT_EQ(call<int(size_t*, int)>("cuDeviceTotalMem")(&bytes, 0), 0);
  memory(1 << 20);
  size_t total = 0;
  EXPECT_EQ(call<int(size_t*, size_t*)>("cuMemGetInfo")(&available, &total), 0);
  EXPECT_EQ(total, bytes);
  EXPECT_LE(available, total - (1 << 20));
  const char* text = nullptr;
  EXPECT_EQ(call<int(int, const char**)>("cuGetErrorName")(700, &text), 0);
  EXPECT_STREQ(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
  void* none = nullptr;
  auto* const resolve = reinterpret_cast<int (*)(const char*, void**, int, uint64_t, int*)>(
      dlsym(library_, "cuGetProcAddress_v2"));
  EXPECT_EQ(resolve("cuNothing", &none, 12000, 0, nullptr), 500);
}

TEST_F(DriverTest, LaunchesCopiesAndSets) {
  const Address p = memory(400);
  EXPECT_EQ(call<int(Address, unsigned, size_t)>("cuMemsetD32")(p, 5, 100), 0);
  EXPECT_EQ(launch(p, 100, 1), 0);
  EXPECT_EQ(words(p, 100), std::vector<uint32_t>(100, 16));
  Address shift = 0;
  size_t bytes = 0;
  EXPECT_EQ(
      call<int(Address*, size_t*, void*, const char*)>("cuModuleGetGlobal")(&shift, &bytes, module_, "shift"),
      0);
  EXPECT_EQ(bytes, 4u);
  const uint32_t two = 2;
  EXPECT_EQ(call<int(Address, const void*, size_t)>("cuMemcpyHtoD")(shift, &two, 4), 0);
  EXPECT_EQ(launch(p, 100, 0), 0);
  const Address q = memory(400);
  EXPECT_EQ(call<int(Address, Address, size_t)>("cuMemcpyDtoD")(q, p, 400), 0);
  EXPECT_EQ(words(q, 100), std::vector<uint32_t>(100, 32));
  EXPECT_EQ(call<int(Address)>("cuMemFree")(q), 0);
  EXPECT_EQ(call<int(Address)>("cuMemFree")(q), 1);
  std::vector<uint32_t> back(100);
  EXPECT_EQ(call<int(void*, Address, size_t)>("cuMemcpyDtoH")(back.data(), q, 400), 1);
  int value = 0;
  EXPECT_EQ(call<int(int*, void*, int, size_t)>("cuOccupancyMaxActiveBlocksPerMultiprocessor")(&value, add_,
                                                                                               256, 0),
            0);
  EXPECT_EQ(value, 8);
  EXPECT_EQ(call<int(int*, int, void*)>("cuFuncGetAttribute")(&value, 0, add_), 0);
  EXPECT_EQ(value, 1024);
}

TEST_F(DriverTest, StreamsRunLateAndEventsOrderThem) {
  void *a = nullptr, *b = nullptr, *event = nullptr;
  EXPECT_EQ(call<int(void**, unsigned)>("cuStreamCreate")(&a, 1), 0);
  EXPECT_EQ(call<int(void**, unsigned)>("cuStreamCreate")(&b, 1), 0);
  EXPECT_EQ(call<int(void**, unsigned)>("cuEventCreate")(&event, 0), 0);
  void* host = nullptr;
  EXPECT_EQ(call<int(void**, size_t, unsigned)>("cuMemHostAlloc")(&host, 400, 0), 0);
  auto* const pinned = static_cast<uint32_t*>(host);
  for (uint32_t i = 0; i < 100; ++i) pinned[i] = i;
  Address p = 0;
  EXPECT_EQ(call<int(Address*, size_t, void*)>("cuMemAllocAsync")(&p, 400, a), 0);
  EXPECT_EQ(call<int(Address, const void*, size_t, void*)>("cuMemcpyHtoDAsync")(p, host, 400, a), 0);
  pinned[0] = 77;  // the copy has not run
  EXPECT_EQ(launch(p, 100, 1, a), 0);
  EXPECT_EQ(call<int(void*, void*)>("cuEventRecord")(event, a), 0);
  EXPECT_EQ(call<int(void*, void*, unsigned)>("cuStreamWaitEvent")(b, event, 0), 0);
  EXPECT_EQ(call<int(void*, Address, size_t, void*)>("cuMemcpyDtoHAsync")(host, p, 400, b), 0);
  EXPECT_EQ(call<int(Address, void*)>("cuMemFreeAsync")(p, b), 0);
  EXPECT_EQ(pinned[5], 5u);
  EXPECT_EQ(call<int(void*)>("cuEventQuery")(event), 600);
  EXPECT_EQ(call<int(void*)>("cuStreamSynchronize")(b), 0);
  EXPECT_EQ(pinned[0], 77u * 3 + 1);
  EXPECT_EQ(pinned[99], 99u * 3 + 1);
  float time = -1;
  EXPECT_EQ(call<int(float*, void*, void*)>("cuEventElapsedTime")(&time, event, event), 0);
  EXPECT_EQ(time, 0);
  EXPECT_EQ(call<int(void*)>("cuMemFreeHost")(host), 0);
  EXPECT_EQ(call<int(void*)>("cuStreamDestroy")(a), 0);
  EXPECT_EQ(call<int(void*)>("cuStreamSynchronize")(a), 400);
}

TEST_F(DriverTest, ACallFailsByPlan) {
  auto* const plan =
      reinterpret_cast<int (*)(uint64_t, int, uint64_t*)>(dlsym(library_, "ingot_emulator_fail"));
  auto* const live = reinterpret_cast<int (*)(uint64_t*, uint64_t*)>(dlsym(library_, "ingot_emulator_live"));
  uint64_t bytes = 0, objects = 0, missing = 0;
  auto* const allocate = call<int(Address*, size_t)>("cuMemAlloc");
  auto* const release = call<int(Address)>("cuMemFree");
  EXPECT_EQ(live(&bytes, &objects), 0);
  EXPECT_EQ(objects, 1u);  // the module
  const uint64_t before = bytes;
  EXPECT_EQ(plan(2, 999, nullptr), 0);
  const Address p = memory(1000);
  EXPECT_EQ(release(p), 999);
  EXPECT_EQ(live(&bytes, &objects), 0);
  EXPECT_GE(bytes, before + 1000);
  EXPECT_EQ(release(p), 0);
  EXPECT_EQ(live(&bytes, &objects), 0);
  EXPECT_EQ(bytes, before);
  EXPECT_EQ(plan(5, 2, nullptr), 0);
  EXPECT_EQ(plan(1, 2, &missing), 0);
  EXPECT_EQ(missing, 5u);
  Address q = 0;
  EXPECT_EQ(allocate(&q, 1000), 2);
  EXPECT_EQ(plan(0, 0, &missing), 0);
  EXPECT_EQ(missing, 0u);
}

TEST_F(DriverTest, APinnedArrayIsReachedByKernels) {
  std::vector<uint32_t> mine(100, 2);
  const auto address = reinterpret_cast<Address>(mine.data());
  EXPECT_EQ(call<int(void*, size_t, unsigned)>("cuMemHostRegister")(mine.data(), 400, 0), 0);
  EXPECT_EQ(call<int(void*, size_t, unsigned)>("cuMemHostRegister")(mine.data(), 400, 0), 712);
  EXPECT_EQ(launch(address, 100, 0), 0);
  EXPECT_EQ(synchronise(), 0);
  EXPECT_EQ(mine[50], 6u);
  EXPECT_EQ(call<int(void*)>("cuMemHostUnregister")(mine.data()), 0);
  EXPECT_EQ(launch(address, 100, 0), 0);
  EXPECT_EQ(synchronise(), 700);
}

TEST_F(DriverTest, AFaultStaysUntilTheContextIsReset) {
  const Address p = memory(400);
  EXPECT_EQ(launch(p, 101, 0), 0);
  EXPECT_EQ(synchronise(), 700);
  EXPECT_TRUE(has(message(),
                  "0 bytes after the end of an allocation of 400 bytes\n  in kernel `add`, block (1, 0, 0), "
                  "thread (36, 0, 0)"))
      << message();
  EXPECT_EQ(launch(p, 1, 0), 700);
  Address more = 0;
  EXPECT_EQ(call<int(Address*, size_t)>("cuMemAlloc")(&more, 4), 700);
  EXPECT_EQ(call<int(int)>("cuDevicePrimaryCtxReset")(0), 0);
  EXPECT_EQ(synchronise(), 201);
  SetUp();
  EXPECT_EQ(launch(memory(400), 100, 0), 0);
  EXPECT_EQ(synchronise(), 0);
}

TEST_F(DriverTest, WrongArgumentsAreRefused) {
  const Address p = memory(4);
  EXPECT_EQ(launch(p, 0, 0), 1);
  void* module = nullptr;
  EXPECT_EQ(
      call<int(void**, const void*)>("cuModuleLoadData")(&module, ".version 7.8\n.entry k() { frob.u32; }"),
      218);
  EXPECT_TRUE(has(message(), "PTX line 2: the op `frob.u32` is not known"));
  char log[100] = "";
  int options[] = {5, 6};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  EXPECT_EQ(call<int(void**, const void*, unsigned, int*, void**)>("cuModuleLoadDataEx")(
                &module, ".version 7.8\n.entry k() { frob.u32; }", 2, options, values),
            218);
  EXPECT_TRUE(has(log, "`frob.u32`"));
  EXPECT_EQ(call<int(void**, const void*)>("cuModuleLoadData")(&module,
                                                               "\x7f"
                                                               "ELF"),
            209);
  EXPECT_EQ(call<int(void**, void*, const char*)>("cuModuleGetFunction")(&module, module_, "none"), 500);
  EXPECT_EQ(call<int(void**, void*, const char*)>("cuModuleGetFunction")(&module, &module, "add"), 400);
  Address huge = 0;
  EXPECT_EQ(call<int(Address*, size_t)>("cuMemAlloc")(&huge, size_t{1} << 50), 2);
  EXPECT_EQ(call<int(Address, unsigned, size_t)>("cuMemsetD32")(p, 0, 2), 1);
  EXPECT_EQ(call<int(void*)>("cuModuleUnload")(module_), 0);
  EXPECT_EQ(launch(p, 1, 0), 400);
}

}  // namespace
}  // namespace softgpu
