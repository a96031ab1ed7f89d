#include "runtime/allocator.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "runtime/available_memory.h"
#include "runtime/context.h"
#include "runtime/symbols.h"

namespace ingot::runtime {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr auto kHeader = static_cast<int64_t>(Allocator::kHeader);

/// Starts with nothing kept, and a limit that the tests do not reach.
class Allocation : public testing::Test {
 protected:
  void SetUp() override {
    Allocator::trim(0);
    Allocator::set_limit(1024 * kMiB);
    in_use_ = Allocator::use().in_use;
  }
  void TearDown() override { EXPECT_EQ(Allocator::use().in_use, in_use_) << "a test lost a buffer"; }

  int64_t in_use_ = 0;
};

TEST_F(Allocation, gives_the_block_that_was_freed_last) {
  for (const int64_t size : {int64_t{0}, int64_t{1}, int64_t{80}, int64_t{100'000}, 5 * kMiB}) {
    Buffer* first = Allocator::allocate(size);
    Buffer* second = Allocator::allocate(size);
    Allocator::free(first);
    Allocator::free(second);
    EXPECT_EQ(Allocator::allocate(size), second) << size;
    EXPECT_EQ(Allocator::allocate(size), first) << size;
    EXPECT_EQ(first->size, size);
    Allocator::free(first);
    Allocator::free(second);
  }
}

TEST_F(Allocation, passes_small_temporaries_of_a_call_on) {
  Context context = make_context();
  Call call(context);
  Buffer* first = ingot_v1_allocate_temporary(&context, 80);
  Buffer* second = ingot_v1_allocate_temporary(&context, 80);
  ingot_v1_release(&context, first);
  ingot_v1_release(&context, second);
  const int64_t kept = Allocator::use().kept;
  EXPECT_EQ(ingot_v1_allocate_temporary(&context, 90), second);
  EXPECT_EQ(second->size, 90);
  EXPECT_EQ(ingot_v1_allocate_temporary(&context, 80), first);
  ingot_v1_release(&context, first);
  EXPECT_EQ(Allocator::use().kept, kept) << "a thread asks the process for what it has itself";
}

TEST_F(Allocation, keeps_few_temporaries_and_frees_them_with_the_call) {
  {
    Context context = make_context();
    Call call(context);
    std::vector<Buffer*> buffers(100);
    for (Buffer*& buffer : buffers) buffer = ingot_v1_allocate_temporary(&context, 8);
    for (Buffer* buffer : buffers) ingot_v1_release(&context, buffer);
    EXPECT_GT(Allocator::use().kept, 0) << "the thread keeps them all";
    EXPECT_GT(Allocator::use().in_use, in_use_);
  }
  EXPECT_EQ(Allocator::use().in_use, in_use_);
}

TEST_F(Allocation, serves_sizes_of_the_same_class_from_one_block) {
  Buffer* buffer = Allocator::allocate(1'000'000);
  Allocator::free(buffer);
  Buffer* shorter = Allocator::allocate(999'000);
  EXPECT_EQ(shorter, buffer);
  EXPECT_EQ(shorter->size, 999'000);
  Allocator::free(shorter);
  Buffer* far_shorter = Allocator::allocate(500'000);
  EXPECT_NE(far_shorter, buffer);
  Allocator::free(far_shorter);
}

TEST_F(Allocation, aligns_and_holds_every_size) {
  std::vector<int64_t> sizes;
  for (int64_t size = 0; size < 3000; ++size) sizes.push_back(size);
  for (int64_t power = 4096; power <= 16 * kMiB; power *= 2)
    for (const int64_t delta : {-129, -65, -64, -63, -1, 0, 1, 63, 64}) sizes.push_back(power + delta);
  for (const int64_t size : sizes) {
    const int64_t before = Allocator::use().in_use;
    Buffer* buffer = Allocator::allocate(size);
    ASSERT_NE(buffer, nullptr) << size;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data) % Allocator::kAlignment, 0u);
    const int64_t block = Allocator::use().in_use - before;
    const int64_t wanted = size + static_cast<int64_t>(Allocator::kHeader);
    EXPECT_GE(block, wanted);
    EXPECT_LE(block, wanted + std::max<int64_t>(wanted / 8, 64));
    if (size > 0) buffer->data[0] = buffer->data[size - 1] = std::byte{1};
    Allocator::free(buffer);
  }
}

TEST_F(Allocation, keeps_no_more_than_the_limit_and_lets_the_oldest_go) {
  Allocator::set_limit(3 * kMiB);
  EXPECT_EQ(Allocator::use().limit, 3 * kMiB);
  Buffer* old = Allocator::allocate(kMiB - kHeader);
  Buffer* middle = Allocator::allocate(kMiB - kHeader);
  Buffer* young = Allocator::allocate(2 * kMiB - kHeader);
  Allocator::free(old);
  Allocator::free(middle);
  EXPECT_EQ(Allocator::use().kept, 2 * kMiB);
  Allocator::free(young);
  EXPECT_EQ(Allocator::use().kept, 3 * kMiB);
  Buffer* again = Allocator::allocate(2 * kMiB - kHeader);
  EXPECT_EQ(again, young);
  Allocator::free(again);
  Allocator::free(Allocator::allocate(8 * kMiB));
  EXPECT_EQ(Allocator::use().kept, 3 * kMiB) << "a block above the limit drives out no other";
  Allocator::set_limit(kMiB);
  EXPECT_EQ(Allocator::use().kept, 0) << "what is left does not fit";
  Allocator::set_limit(0);
  Allocator::free(Allocator::allocate(10));
  EXPECT_EQ(Allocator::use().kept, 0);
}

TEST_F(Allocation, counts) {
  const int64_t before = Allocator::use().in_use;
  Buffer* buffer = Allocator::allocate(4 * kMiB - kHeader);
  EXPECT_EQ(Allocator::use().in_use, before + 4 * kMiB);
  EXPECT_GE(Allocator::use().peak, before + 4 * kMiB);
  Allocator::free(buffer);
  EXPECT_EQ(Allocator::use().in_use, before);
  EXPECT_EQ(Allocator::use().kept, 4 * kMiB);
  const int64_t peak = Allocator::use().peak;
  EXPECT_EQ(Allocator::allocate(int64_t{1} << 46), nullptr);
  EXPECT_EQ(Allocator::use().peak, peak);
  EXPECT_EQ(Allocator::use().in_use, before);
}

TEST_F(Allocation, trims) {
  std::vector<Buffer*> buffers;
  for (int i = 0; i < 8; ++i) buffers.push_back(Allocator::allocate(kMiB - kHeader));
  for (Buffer* buffer : buffers) Allocator::free(buffer);
  Allocator::trim(3 * kMiB + 1);
  EXPECT_EQ(Allocator::use().kept, 3 * kMiB);
  Buffer* last = Allocator::allocate(kMiB - kHeader);
  EXPECT_EQ(last, buffers.back());
  Allocator::free(last);
  Allocator::trim(0);
  EXPECT_EQ(Allocator::use().kept, 0);
}

TEST_F(Allocation, reallocates) {
  Buffer* buffer = Allocator::allocate(1000);
  std::memset(buffer->data, 7, 1000);
  Buffer* same = Allocator::reallocate(buffer, 1010);
  EXPECT_EQ(same, buffer) << "the block is large enough";
  EXPECT_EQ(same->size, 1010);
  Buffer* larger = Allocator::reallocate(same, 3 * kMiB);
  ASSERT_NE(larger, nullptr);
  EXPECT_EQ(larger->size, 3 * kMiB);
  EXPECT_EQ(larger->data[999], std::byte{7});
  EXPECT_EQ(Allocator::reallocate(larger, -1), nullptr);
  EXPECT_EQ(Allocator::reallocate(larger, int64_t{1} << 46), nullptr);
  EXPECT_EQ(larger->data[999], std::byte{7}) << "it stays as it is";
  Buffer* smaller = Allocator::reallocate(larger, 500);
  EXPECT_EQ(smaller->data[499], std::byte{7});
  Allocator::free(smaller);
}

TEST_F(Allocation, does_not_grow_over_calls_of_many_sizes) {
  Allocator::set_limit(64 * kMiB);
  std::mt19937 random(1);
  std::vector<Buffer*> live(8);
  for (int i = 0; i < 10'000; ++i) {
    Buffer*& buffer = live[random() % live.size()];
    Allocator::free(buffer);
    buffer = Allocator::allocate(static_cast<int64_t>(random() % (8 * kMiB)));
    ASSERT_LE(Allocator::use().kept, 64 * kMiB);
  }
  for (Buffer* buffer : live) Allocator::free(buffer);
}

Status allocate_and_fail(Context* context, void**) {
  for (int i = 0; i < 10; ++i) ingot_v1_allocate(context, 1000 * i);
  return status_of(base::ExceptionKind::ValueError);
}

TEST_F(Allocation, of_a_failed_call_is_undone) {
  Context context = make_context();
  Call call(context);
  EXPECT_NE(call.run(allocate_and_fail, nullptr), 0);
  EXPECT_EQ(Allocator::use().in_use, in_use_);
}

TEST_F(Allocation, works_from_many_threads) {
  std::vector<std::thread> threads;
  std::atomic<int> damaged = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&damaged, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      const auto mark = static_cast<std::byte>(t + 1);
      std::vector<Buffer*> live(16);
      for (int i = 0; i < 4000; ++i) {
        Buffer*& buffer = live[random() % live.size()];
        if (buffer != nullptr && buffer->data[buffer->size - 1] != mark) ++damaged;
        Allocator::free(buffer);
        buffer = Allocator::allocate(1 + static_cast<int64_t>(random() % 5000));
        buffer->data[buffer->size - 1] = mark;
        if (i % 500 == 0) Allocator::trim(1000);
      }
      for (Buffer* buffer : live) Allocator::free(buffer);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(damaged, 0);
}

TEST_F(Allocation, works_in_a_child_that_was_forked_while_others_allocate) {
  std::atomic<bool> ends = false;
  std::thread other([&ends] {
    while (!ends) Allocator::free(Allocator::allocate(100));
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      Buffer* buffer = Allocator::allocate(3 * kMiB);
      if (buffer == nullptr) _exit(1);
      std::memset(buffer->data, 1, 1000);
      Allocator::free(buffer);
      _exit(Allocator::allocate(3 * kMiB) == buffer ? 0 : 2);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  ends = true;
  other.join();
}

// The sanitizers reserve more addresses than such a limit allows.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(Allocation, gives_no_more_than_the_machine_has) {
  const int64_t available = available_memory();
  ASSERT_GT(available, 0);
  ASSERT_LT(available, Allocator::kMaxBytes / 2) << "the system reports it";
  EXPECT_EQ(Allocator::allocate(available + (int64_t{256} << 20)), nullptr);
}

TEST_F(Allocation, gives_what_it_keeps_back_when_memory_runs_out) {
  const pid_t child = fork();
  if (child == 0) {
    Allocator::set_limit(int64_t{1} << 40);
    std::vector<Buffer*> buffers;
    for (int i = 0; i < 16; ++i) buffers.push_back(Allocator::allocate(32 * kMiB));
    for (Buffer* buffer : buffers) Allocator::free(buffer);
    long pages = 0;
    FILE* file = std::fopen("/proc/self/statm", "r");
    if (file == nullptr || std::fscanf(file, "%ld", &pages) != 1) _exit(3);
    const auto limit = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + 64 * kMiB);
    const rlimit addresses{limit, limit};
    if (setrlimit(RLIMIT_AS, &addresses) != 0) _exit(4);
    // It fits only if what is kept is freed.
    Buffer* buffer = Allocator::allocate(400 * kMiB);
    if (buffer == nullptr) _exit(1);
    _exit(Allocator::use().kept == 0 ? 0 : 2);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}
#endif

#ifdef __SANITIZE_ADDRESS__
TEST_F(Allocation, is_poisoned_while_it_is_kept) {
  Buffer* buffer = Allocator::allocate(100);
  std::byte* data = buffer->data;
  EXPECT_DEATH(data[100] = std::byte{1}, "use-after-poison");
  Allocator::free(buffer);
  EXPECT_DEATH(data[50] = std::byte{1}, "use-after-poison");
}
#endif

TEST(CacheLimit, is_a_decimal_number) {
  EXPECT_EQ(parse_kept_limit("0"), 0);
  EXPECT_EQ(parse_kept_limit("1000000"), 1'000'000);
  for (const char* text : {"", "x", "-1", "10 ", "10MB", "1e9", "99999999999999999999"})
    EXPECT_EQ(parse_kept_limit(text), std::nullopt) << text;
}

}  // namespace
}  // namespace ingot::runtime
