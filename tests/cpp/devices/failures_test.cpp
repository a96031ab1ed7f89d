#include <deque>
#include <set>

#include "support.h"

// Each call of the driver fails once: as if memory had run out, for an unknown reason, and for good.

namespace ingot::devices {
namespace {

using Words = std::vector<uint32_t>;

class FailuresTest : public DevicesTest {
 protected:
  using Fail = int(uint64_t, int, uint64_t*);
  using Live = int(uint64_t*, uint64_t*);

  Library library_;
  Fail* const fail_ = library_.function<Fail>("ingot_emulator_fail");
  std::deque<Words>
      registered_;  ///< each its own: where the driver fails to let one go it cannot be pinned again
  Live* const live_ = library_.function<Live>("ingot_emulator_live");

  struct Freed {
    Device* device;
    Address address;
    ~Freed() { device->free(address); }
  };
  struct Unpinned {
    Device* device;
    void* memory;
    ~Unpinned() { device->free_pinned(memory); }
  };
  struct Registered {
    Device* device;
    void* memory;
    ~Registered() { device->unpin(memory); }
  };
  struct Unset {
    Device* device;
    ~Unset() { device->use_stream(nullptr); }
  };

  /// Nearly all operations of a device. Throws DeviceError; the values that it gives are right.
  void use_all() {
    const auto code = device_->load(kKernels);
    const Kernel& add = code->kernel("add");
    const auto a = device_->make_stream();
    const auto b = device_->make_stream();
    const auto start = device_->make_event();
    const auto end = device_->make_event();
    const Unset unset{device_};
    Words values(1000, 3);
    device_->use_stream(a.get());
    const Freed p{device_, device_->allocate(4000)};
    {
      const Freed early{device_, device_->allocate(4000)};
      device_->write(early.address, values.data(), 4000);
      run(add, early.address, 1000, 1);
    }
    device_->write(p.address, values.data(), 4000);
    start->record(*a);
    run(add, p.address, 1000, 4);
    end->record(*a);
    device_->use_stream(b.get());
    const Freed q{device_, device_->allocate(4000)};  // marks
    end->let_wait(*b);
    device_->order(*a, *b);
    device_->copy(q.address, p.address, 4000);
    device_->fill(q.address, std::byte{}, 40);
    const Unpinned pinned{device_, device_->allocate_pinned(4000)};
    if (pinned.memory == nullptr) throw OutOfMemory(4000, "no pinned memory");
    device_->read(pinned.memory, q.address, 4000);
    const Unpinned mapped{device_, device_->allocate_mapped(4000)};
    if (mapped.memory == nullptr) throw OutOfMemory(4000, "no pinned memory");
    ASSERT_NE(device_->mapped(mapped.memory, 4000), 0u);
    {
      Words& words = registered_.emplace_back(1000);
      device_->pin(words.data(), 4000);
      const Registered registered{device_, words.data()};
      ASSERT_GT(device_->free_memory(), 0);
    }
    b->synchronize();
    ASSERT_EQ(static_cast<uint32_t*>(pinned.memory)[9], 0u);
    ASSERT_EQ(static_cast<uint32_t*>(pinned.memory)[10], 7u);
    device_->read(values.data(), q.address, 4000);
    ASSERT_EQ(values[0], 0u);
    ASSERT_EQ(values[999], 7u);
    const Freed r{device_, device_->allocate(4000)};
    Address s = r.address;
    void* const arguments[] = {&s};
    device_->launch(code->kernel("iterations"), {.block = {64, 1, 1}, .shared_bytes = 60 << 10}, arguments);
    ASSERT_GE(code->kernel("iterations").resident_blocks(64, 60 << 10), 1);
    if (!end->is_done() || !a->is_done()) end->synchronize();
    ASSERT_GE(end->since(*start), 0);
    device_->synchronize();
    device_->set_memory_limit(1 << 20);
    device_->set_memory_limit(0);
    device_->release_memory();
  }
  void run(const Kernel& kernel, Address p, uint32_t n, uint32_t v) {
    void* const arguments[] = {&p, &n, &v};
    device_->launch(kernel, {.grid = {(n + 63) / 64, 1, 1}, .block = {64, 1, 1}}, arguments);
  }
  std::pair<uint64_t, uint64_t> live() const {
    std::pair<uint64_t, uint64_t> found;
    EXPECT_EQ(live_(&found.first, &found.second), 0);
    return found;
  }
  /// Device memory and objects that remain after all is used and freed.
  std::pair<uint64_t, uint64_t> after_use() {
    use_all();
    device_->release_memory();
    EXPECT_EQ(device_->memory().in_use, 0);
    EXPECT_EQ(device_->memory().kept, 0);
    return live();
  }
};

TEST_F(FailuresTest, ACallThatFailsOnceLeavesNothingBehind) {
  code_.reset();
  const auto sound = after_use();
  for (const int result : {2, 999}) {
    std::set<std::string> errors;
    for (uint64_t n = 1;; ++n) {
      ASSERT_LT(n, 2000u);
      ASSERT_TRUE(device_->reset());
      ASSERT_EQ(fail_(n, result, nullptr), 0);
      std::string error;
      try {
        use_all();
      } catch (const DeviceError& thrown) {
        error = thrown.what();
        errors.insert(error);
      }
      uint64_t missing = 0;
      ASSERT_EQ(fail_(0, 0, &missing), 0);
      if (HasFatalFailure()) FAIL() << n << ": " << error;
      device_->set_memory_limit(0);
      if (missing != 0) {
        EXPECT_EQ(error, "");
        break;
      }
      ASSERT_EQ(device_->memory().in_use, 0) << n;
      const auto left = after_use();
      if (HasFatalFailure()) FAIL() << n << ": " << error;
      // An object whose destruction failed is all that may stay: there is nobody to report it to.
      if (left != sound) {
        EXPECT_EQ(error, "") << n;
        EXPECT_EQ(left.second, sound.second + 1) << n << ": " << left.first << ", " << sound.first;
      }
    }
    EXPECT_GT(errors.size(), 15u);
    for (const std::string& error : errors)
      EXPECT_TRUE(has(error, result == 2 ? "memory" : "CUDA_ERROR_UNKNOWN")) << error;
  }
}

TEST_F(FailuresTest, ACallThatFailsForGoodIsReportedByAllThatFollow) {
  code_.reset();
  for (uint64_t n = 1;; ++n) {
    ASSERT_LT(n, 2000u);
    ASSERT_TRUE(device_->reset());
    ASSERT_EQ(fail_(n, 719, nullptr), 0);
    std::string error;
    try {
      use_all();
    } catch (const DeviceError& thrown) {
      error = thrown.what();
    }
    uint64_t missing = 0;
    ASSERT_EQ(fail_(0, 0, &missing), 0);
    if (missing != 0) break;
    if (HasFatalFailure()) FAIL() << n << ": " << error;
    if (error.empty()) continue;  // a destruction
    EXPECT_TRUE(has(error, "emulated 0 has failed: ")) << error;
    EXPECT_EQ(error_of([&] { use_all(); }), error);
    EXPECT_EQ(device_->memory().in_use, 0);
  }
}

}  // namespace
}  // namespace ingot::devices
