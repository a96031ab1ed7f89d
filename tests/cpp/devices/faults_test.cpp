#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

#include "support.h"

// Faults of kernels, and calls after them; forked children.

namespace ingot::devices {
namespace {

using Words = std::vector<uint32_t>;

TEST_F(DevicesTest, AFaultReportsWhatTheKernelDid) {
  const struct {
    const char* kernel;
    std::vector<const char*> parts;
  } cases[] = {
      {"stray", {"emulated 0 has failed: ", "stray", "CUDA_ERROR_ILLEGAL_ADDRESS", "allocation"}},
      {"misaligned", {"emulated 0 has failed: ", "misaligned", "CUDA_ERROR_MISALIGNED_ADDRESS"}},
      {"traps", {"emulated 0 has failed: ", "traps", "CUDA_ERROR_LAUNCH_FAILED"}},
  };
  for (const auto& [kernel, parts] : cases) {
    begin();
    const Address p = words(Words(10, 1));
    launch(kernel, p, 10);
    const std::string error = error_of([&] { device_->synchronize(); });
    for (const char* const part : parts) EXPECT_TRUE(has(error, part)) << error;
  }
}

TEST_F(DevicesTest, AFaultStays) {
  const auto stream = device_->make_stream();
  const auto event = device_->make_event();
  const Kernel& add = code_->kernel("add");
  Address p = words(Words(10, 1));
  Words host(10);
  void* const pinned = device_->allocate_pinned(40);
  launch("stray", p, 10);
  const std::string error = error_of([&] { device_->read(host.data(), p, 40); });
  const std::function<void()> calls[] = {
      [&] { device_->allocate(40); },
      [&] { device_->read(host.data(), p, 40); },
      [&] { device_->write(p, host.data(), 40); },
      [&] { device_->copy(p, p, 40); },
      [&] { device_->fill(p, std::byte{}, 40); },
      [&] { device_->load(kKernels); },
      [&] { code_->kernel("square"); },
      [&] { device_->launch(add, {}, {}); },
      [&] { add.resident_blocks(64, 0); },
      [&] { device_->make_stream(); },
      [&] { device_->make_event(); },
      [&] { device_->allocate_pinned(40); },
      [&] { device_->synchronize(); },
      [&] { device_->release_memory(); },
      [&] { stream->synchronize(); },
      [&] { (void)stream->is_done(); },
      [&] { event->record(*stream); },
      [&] { event->let_wait(*stream); },
      [&] { event->synchronize(); },
      [&] { (void)event->is_done(); },
      [&] { (void)event->since(*event); },
  };
  for (const auto& call : calls) EXPECT_EQ(error_of(call), error);
  device_->free(p);
  device_->free_pinned(pinned);
  EXPECT_EQ(device_->memory().in_use, 0);
}

TEST_F(DevicesTest, AfterAResetAllIsAnew) {
  const Address p = words(Words(10, 1));
  launch("traps", p, 10);
  error_of([&] { device_->synchronize(); });
  ASSERT_TRUE(device_->reset());
  EXPECT_EQ(device_->memory().in_use, 0);
  code_ = device_->load(kKernels);
  const Address q = words(Words(10, 1));
  launch("add", q, 10, 1);
  EXPECT_EQ(read(q, 10), Words(10, 2));
  device_->free(p);  // of before, wherever it is
  EXPECT_EQ(read(q, 10), Words(10, 2));
  EXPECT_EQ(device_->memory().in_use, 512);
}

TEST_F(DevicesTest, ObjectsFromBeforeAResetAreRefused) {
  auto stream = device_->make_stream();
  auto event = device_->make_event();
  auto code = device_->load(kKernels);
  const Kernel& add = code->kernel("add");
  device_->use_stream(stream.get());
  ASSERT_TRUE(device_->reset());
  const std::function<void()> calls[] = {
      [&] { device_->allocate(40); },  // in the stream that is set
      [&] { stream->synchronize(); }, [&] { device_->use_stream(stream.get()); },
      [&] { event->synchronize(); },  [&] { event->record(device_->stream()); },
      [&] { code->kernel("add"); },   [&] { add.resident_blocks(64, 0); },
  };
  for (const auto& call : calls) EXPECT_EQ(error_of(call), "emulated 0: something from before a reset");
  device_->use_stream(nullptr);
  EXPECT_EQ(error_of([&] { device_->launch(add, {}, {}); }), "emulated 0: something from before a reset");
  stream.reset();
  event.reset();
  code.reset();
  const Address p = device_->allocate(40);
  device_->free(p);
}

/// Runs `f` in a forked child, which must end by itself; its exit status, or -1.
int in_child(const std::function<int()>& f) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    _exit(f());
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(DevicesTest, AForkedChildIsRefused) {
  auto stream = device_->make_stream();
  auto event = device_->make_event();
  const Kernel& add = code_->kernel("add");
  const Address p = words(Words(10, 1));
  Words host(10);
  void* const pinned = device_->allocate_pinned(40);
  const std::function<void()> calls[] = {
      [&] { device_->allocate(40); },
      [&] { device_->memory(); },
      [&] { device_->reset_memory_peak(); },
      [&] { device_->set_memory_limit(0); },
      [&] { device_->release_memory(); },
      [&] { device_->read(host.data(), p, 40); },
      [&] { device_->write(p, host.data(), 40); },
      [&] { device_->copy(p, p, 40); },
      [&] { device_->fill(p, std::byte{}, 40); },
      [&] { device_->load(kKernels); },
      [&] { code_->kernel("square"); },
      [&] { device_->launch(add, {}, {}); },
      [&] { add.resident_blocks(64, 0); },
      [&] { device_->use_stream(stream.get()); },
      [&] { device_->make_stream(); },
      [&] { device_->make_event(); },
      [&] { device_->allocate_pinned(40); },
      [&] { device_->synchronize(); },
      [&] { device_->reset(); },
      [&] { stream->synchronize(); },
      [&] { (void)stream->is_done(); },
      [&] { event->record(*stream); },
      [&] { event->let_wait(*stream); },
      [&] { event->synchronize(); },
      [&] { (void)event->is_done(); },
      [&] { (void)event->since(*event); },
  };
  std::atomic<bool> stops{false};
  std::thread busy([&] {  // locks are held when the process forks
    while (!stops) device_->free(device_->allocate(1000));
  });
  for (int iteration = 0; iteration < 10; ++iteration) {
    const int wrong = in_child([&] {
      if (devices("emulated").size() != 1 || !why_none("emulated").empty()) return 100;
      int which = 1;
      for (const auto& call : calls) {
        if (!has(error_of(call), "emulated 0: the process was forked after devices had been used"))
          return which;
        ++which;
      }
      device_->free(p);
      device_->free_pinned(pinned);
      stream.reset();
      event.reset();
      code_.reset();
      return 0;
    });
    EXPECT_EQ(wrong, 0);
  }
  stops = true;
  busy.join();
  EXPECT_EQ(read(p, 10), Words(10, 1));  // the parent goes on
  device_->free_pinned(pinned);
}

}  // namespace
}  // namespace ingot::devices
