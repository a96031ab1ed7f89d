// The vendor's libraries, by their stand-ins for the software device.

#include "devices/libraries.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <numeric>

#include "devices/libraries/blas.h"
#include "devices/libraries/fft.h"
#include "devices/libraries/random.h"
#include "devices/libraries/solver.h"
#include "devices/libraries/sparse.h"
#include "support.h"

namespace ingot::devices {

namespace {

using base::DType;
using Numbers = std::vector<double>;

class LibrariesTest : public DevicesTest {
 protected:
  Libraries& libraries() { return *device_->libraries(); }

  DeviceView put(const Numbers& values, std::vector<int64_t> lengths) {
    const auto bytes = static_cast<int64_t>(values.size() * sizeof(double));
    const Address address = device_->allocate(bytes);
    device_->write(address, values.data(), bytes);
    std::vector<int64_t> strides(lengths.size());
    int64_t inside = sizeof(double);
    for (size_t axis = lengths.size(); axis-- > 0; inside *= lengths[axis]) strides[axis] = inside;
    return {DType::Float64, address, std::move(lengths), std::move(strides)};
  }
  DeviceView zeros(std::vector<int64_t> lengths) {
    const int64_t size = std::accumulate(lengths.begin(), lengths.end(), int64_t{1}, std::multiplies<>());
    return put(Numbers(static_cast<size_t>(size)), std::move(lengths));
  }
  Numbers get(const DeviceView& view) {
    Numbers values(static_cast<size_t>(view.size()));
    device_->read(values.data(), view.data, static_cast<int64_t>(values.size() * sizeof(double)));
    return values;
  }
  /// Handles and plans that a stand-in has made, and that still exist.
  static int live(const std::string& file) {
    const std::string driver = INGOT_SOFTGPU_DRIVER;
    const std::string path = driver.substr(0, driver.rfind('/')) + "/libraries/" + file;
    void* const opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(opened, nullptr) << dlerror();
    return reinterpret_cast<int (*)()>(dlsym(opened, "ingot_stand_in_live"))();
  }
};

TEST_F(LibrariesTest, AreThere) {
  for (const LibraryKind kind :
       {LibraryKind::Blas, LibraryKind::Fft, LibraryKind::Solver, LibraryKind::Random, LibraryKind::Sparse}) {
    EXPECT_EQ(libraries().why_none(kind), "");
    EXPECT_NE(libraries().description(kind).find("/libraries/libcu"), std::string::npos);
  }
  EXPECT_FALSE(libraries().is_for_compiled_code());
}

TEST_F(LibrariesTest, MatricesOfAnyOrderAreMultiplied) {
  const DeviceView a = put({1, 2, 3, 4, 5, 6}, {2, 3});
  const DeviceView b = put({1, 0, 2, 1, 0, 3}, {3, 2});
  const DeviceView c = zeros({2, 2});
  libraries().blas().product(1, {a}, {b}, 0, c);
  EXPECT_EQ(get(c), Numbers({5, 11, 14, 23}));
  libraries().blas().product(2, {b.transposed()}, {a.transposed()}, 1, c.transposed());
  EXPECT_EQ(get(c), Numbers({15, 33, 42, 69}));
  // Every other row, from the last one on.
  DeviceView backward = put({5, 5, 9, 9, 1, 2, 9, 9}, {2, 2});
  backward.data += 4 * sizeof(double);
  backward.strides[0] = -4 * static_cast<int64_t>(sizeof(double));
  libraries().blas().product(1, {backward}, {put({1, 0, 0, 1}, {2, 2})}, 0, c);
  EXPECT_EQ(get(c), Numbers({1, 2, 5, 5}));
}

TEST_F(LibrariesTest, ProductsRunLateAndInTheOrderOfTheirStream) {
  const std::unique_ptr<Stream> other = device_->make_stream();
  const DeviceView a = put({1, 2, 3, 4}, {2, 2});
  const DeviceView c = zeros({2, 2});
  device_->use_stream(other.get());
  libraries().blas().product(1, {a}, {a}, 0, c);
  EXPECT_FALSE(other->is_done());
  libraries().blas().product(1, {a}, {a}, 1, c);
  EXPECT_EQ(get(c), Numbers({14, 20, 30, 44}));
}

TEST_F(LibrariesTest, WhatIsMadeForAStreamGoesWithIt) {
  libraries().release();
  const int handles = live("libcublas.so.13");
  const int plans = live("libcufft.so.12");
  {
    const std::unique_ptr<Stream> other = device_->make_stream();
    device_->use_stream(other.get());
    (void)libraries().blas().norm(put({3, 4}, {2}));
    DeviceView x = put({1, 2, 3, 4}, {2});
    x.dtype = DType::Complex128;
    x.strides = {16};
    libraries().fft().transform(x, x, 1, false);
    EXPECT_EQ(live("libcublas.so.13"), handles + 1);
    EXPECT_EQ(live("libcufft.so.12"), plans + 1);
    device_->use_stream(nullptr);
  }
  EXPECT_EQ(live("libcublas.so.13"), handles);
  EXPECT_EQ(live("libcufft.so.12"), plans);
}

TEST_F(LibrariesTest, PlansAreKeptAndTheOldestGoes) {
  libraries().release();
  const int before = live("libcufft.so.12");
  const auto transform = [&](int64_t n) {
    DeviceView x = zeros({2 * n});
    x.dtype = DType::Complex128;
    x.lengths = {n};
    x.strides = {16};
    libraries().fft().transform(x, x, 1, false);
    device_->free(x.data);
  };
  for (int64_t n = 1; n <= 100; ++n) {
    transform(n);
    transform(1);  // is used again and again, and stays
  }
  EXPECT_EQ(live("libcufft.so.12"), before + static_cast<int>(Fft::kMostPlans));
  device_->release_memory();
  EXPECT_EQ(live("libcufft.so.12"), before);
}

TEST_F(LibrariesTest, AResetBeginsAnew) {
  EXPECT_EQ(libraries().blas().norm(put({3, 4}, {2})), 5);
  ASSERT_TRUE(device_->reset());
  EXPECT_EQ(libraries().blas().norm(put({3, 4}, {2})), 5);
  const DeviceView x = put({1, 2, 3, 4}, {2, 2});
  EXPECT_TRUE(libraries().solver().inverse(x, x));
}

TEST_F(LibrariesTest, AFaultOfAKernelIsReportedByWhatFollows) {
  const Address memory = words({1});
  launch("stray", memory, 1);
  EXPECT_THROW((void)device_->stream().synchronize(), DeviceError);
  EXPECT_THROW((void)libraries().blas().norm({DType::Float64, memory, {1}, {8}}), DeviceError);
}

TEST_F(LibrariesTest, AStatusThatIsNoSuccessIsAnErrorWithItsName) {
  try {
    const RandomGenerator none(libraries(), 7);
    FAIL();
  } catch (const LibraryError& error) {
    EXPECT_EQ(error.status(), "CURAND_STATUS_TYPE_ERROR");
    EXPECT_STREQ(error.what(), "emulated 0: cuRAND: a generator: CURAND_STATUS_TYPE_ERROR");
  }
}

TEST_F(LibrariesTest, EquationsAreSolved) {
  const DeviceView a = put({4, 1, 2, 3, 0, 0, 0, 0}, {2, 2, 2});
  const DeviceView x = zeros({2, 2, 1});
  EXPECT_FALSE(libraries().solver().solve(a, put({1, 2, 1, 2}, {2, 2, 1}), x));  // the second one is singular
  const DeviceView first = a.part(0, 2);
  EXPECT_TRUE(libraries().solver().solve(first, put({9, 7}, {2, 1}), x.part(0, 2)));
  const Numbers got = get(x.part(0, 2));
  EXPECT_NEAR(got[0], 2, 1e-14);
  EXPECT_NEAR(got[1], 1, 1e-14);
}

TEST_F(LibrariesTest, DrawsFollowEachOtherWhateverStreamTheyGoInto) {
  RandomGenerator generator(libraries(), 101);
  generator.set_seed(7);
  const DeviceView all = zeros({9});
  generator.normal(all, 0, 1);
  generator.set_seed(7);
  const DeviceView parts = zeros({10});
  DeviceView part = parts;
  part.lengths = {4};
  generator.normal(part, 0, 1);
  const std::unique_ptr<Stream> other = device_->make_stream();
  device_->use_stream(other.get());
  part.data += 4 * sizeof(double);
  part.lengths = {6};
  generator.normal(part, 0, 1);
  Numbers wanted = get(all), got = get(parts);
  got.pop_back();
  EXPECT_EQ(got, wanted);
}

TEST_F(LibrariesTest, SparseMatricesAreMultiplied) {
  const std::vector<int32_t> starts = {0, 2, 3}, columns = {0, 2, 1};
  const auto integers = [&](const std::vector<int32_t>& values) {
    const auto bytes = static_cast<int64_t>(values.size() * sizeof(int32_t));
    const Address address = device_->allocate(bytes);
    device_->write(address, values.data(), bytes);
    return DeviceView{DType::Int32, address, {static_cast<int64_t>(values.size())}, {4}};
  };
  const SparseRows a{2, 3, integers(starts), integers(columns), put({1, 2, 3}, {3})};
  const DeviceView y = put({1, 1}, {2});
  libraries().sparse().product(kAsIs, 2, a, put({1, 10, 100}, {3}), 1, y);
  EXPECT_EQ(get(y), Numbers({403, 61}));
  const DeviceView z = zeros({3});
  libraries().sparse().product(kTransposed, 1, a, put({1, 10}, {2}), 0, z);
  EXPECT_EQ(get(z), Numbers({1, 30, 2}));
}

/// Throws DeviceError; what is computed is right.
void use_all(Device& device) {
  Libraries& libraries = *device.libraries();
  const auto code = device.load(kKernels);
  std::vector<Address> memory;
  const auto put = [&](const Numbers& values, std::vector<int64_t> lengths, std::vector<int64_t> strides) {
    const auto bytes = static_cast<int64_t>(values.size() * sizeof(double));
    memory.push_back(device.allocate(bytes));
    device.write(memory.back(), values.data(), bytes);
    return DeviceView{DType::Float64, memory.back(), std::move(lengths), std::move(strides)};
  };
  const auto get = [&](const DeviceView& view) {
    Numbers values(static_cast<size_t>(view.size()));
    device.read(values.data(), view.data, static_cast<int64_t>(values.size() * sizeof(double)));
    return values;
  };
  try {
    const DeviceView a =
        put({4, 0, 1, 9, 2, 0, 3, 9}, {2, 2}, {32, 16});  // with gaps: the library gets a copy
    const DeviceView c = put({0, 0, 0, 0}, {2, 2}, {16, 8});
    libraries.blas().product(1, {a}, {a}, 0, c);
    EXPECT_EQ(get(c), Numbers({18, 7, 14, 11}));
    EXPECT_EQ(libraries.blas().dot(put({1, 2}, {2}, {8}), put({3, 4}, {2}, {8}), false), 11.0);
    EXPECT_TRUE(libraries.solver().solve(a, put({9, 7}, {2, 1}, {8, 8}), put({0, 0}, {2, 1}, {8, 8})));
    DeviceView z = put({1, 0, 3, 0}, {2}, {16});
    z.dtype = DType::Complex128;
    libraries.fft().transform(z, z, 1, false);
    z.dtype = DType::Float64;
    z.lengths = {4};
    EXPECT_EQ(get(z), Numbers({4, 0, -2, 0}));
    RandomGenerator generator(libraries, 101);
    generator.normal(put({0, 0, 0}, {3}, {8}), 0, 1);
    device.synchronize();
  } catch (const DeviceError&) {
    for (const Address address : memory) device.free(address);
    throw;
  }
  for (const Address address : memory) device.free(address);
}

TEST_F(LibrariesTest, ACallOfTheDriverThatFailsOnceLeavesNothingBehind) {
  using Fail = int(uint64_t, int, uint64_t*);
  Fail* const fail = Library().function<Fail>("ingot_emulator_fail");
  use_all(*device_);
  for (const int result : {2, 999}) {
    for (uint64_t n = 1;; ++n) {
      ASSERT_LT(n, 2000u);
      ASSERT_TRUE(device_->reset());
      ASSERT_EQ(fail(n, result, nullptr), 0);
      bool has_failed = false;
      try {
        use_all(*device_);
      } catch (const DeviceError&) {
        has_failed = true;
      }
      uint64_t missing = 0;
      ASSERT_EQ(fail(0, 0, &missing), 0);
      if (HasFailure()) FAIL() << n;
      if (missing != 0) {
        EXPECT_FALSE(has_failed);
        break;
      }
      ASSERT_EQ(device_->memory().in_use, 0) << n;
      use_all(*device_);
      ASSERT_EQ(device_->memory().in_use, 0) << n;
      if (HasFailure()) FAIL() << n;
    }
  }
}

TEST_F(LibrariesTest, OtherDevicesHaveNone) {
  for (Device* const device : devices("opencl")) EXPECT_EQ(device->libraries(), nullptr);
}

}  // namespace

}  // namespace ingot::devices
