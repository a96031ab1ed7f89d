#include "runtime/pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

#include "runtime/context.h"
#include "runtime/symbols.h"

namespace ingot::runtime {
namespace {

using base::ExceptionKind;
using Body = std::function<Status(Context*, int64_t, int64_t)>;

Status call_body(Context* context, void* data, int64_t begin, int64_t end) {
  return (*static_cast<Body*>(data))(context, begin, end);
}

Status run(Context& context, int64_t count, int64_t grain, Body body) {
  return Pool::run(&context, call_body, &body, count, grain);
}

Status raise_at(Context* context, uint32_t site) {
  context->error = Error{0, site, {}, 0, {}};
  return status_of(ExceptionKind::ValueError);
}

/// A number of threads for the time of a test.
class Threads {
 public:
  explicit Threads(int count) : before_(Pool::threads()) { Pool::set_threads(count); }
  ~Threads() { Pool::set_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

TEST(Pool, runs_each_iteration_once) {
  for (const int threads : {1, 2, 3, 7, 16}) {
    const Threads set(threads);
    for (const int64_t count : {0, 1, 2, 3, 63, 64, 65, 1000, 99'991}) {
      for (const int64_t grain : {1, 2, 64, 1000}) {
        std::vector<std::atomic<int>> runs(static_cast<size_t>(count));
        Context context = make_context();
        const Call call(context);
        EXPECT_EQ(run(context, count, grain,
                      [&](Context*, int64_t begin, int64_t end) {
                        EXPECT_TRUE(end - begin >= std::min(grain, count) || end == count);
                        for (int64_t i = begin; i < end; ++i) ++runs[static_cast<size_t>(i)];
                        return 0;
                      }),
                  0);
        for (const auto& n : runs) ASSERT_EQ(n.load(), 1) << threads << ' ' << count << ' ' << grain;
      }
    }
  }
}

TEST(Pool, uses_several_threads) {
  const Threads set(2);
  std::atomic<int> inside = 0;
  std::atomic<bool> met = false;
  Context context = make_context();
  const Call call(context);
  run(context, 2, 1, [&](Context*, int64_t, int64_t) {
    ++inside;
    for (int wait = 0; wait < 5000 && inside < 2; ++wait)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (inside == 2) met = true;
    return 0;
  });
  EXPECT_TRUE(met);
}

TEST(Pool, runs_a_loop_in_the_floating_point_state_of_the_caller) {
  const Threads set(2);
  constexpr uint32_t kUpward = 0x4000;
  for (const uint32_t word : {0u, kUpward, 0u}) {
    const base::InFloatState state(base::FloatState::of_word(word));
    std::atomic<int> inside = 0;
    std::atomic<int> strange = 0;
    Context context = make_context();
    const Call call(context);
    run(context, 2, 1, [&](Context* used, int64_t, int64_t) {
      ++inside;
      for (int wait = 0; wait < 5000 && inside < 2; ++wait)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (base::FloatState::current().word() != word) ++strange;
      if (used != &context && used->float_state != word) ++strange;
      return 0;
    });
    EXPECT_EQ(inside, 2);
    EXPECT_EQ(strange, 0);
  }
}

TEST(Pool, runs_small_loops_and_those_of_one_thread_on_the_caller) {
  const auto self = std::this_thread::get_id();
  const auto is_alone = [&](int threads, int64_t count, int64_t grain) {
    const Threads set(threads);
    int calls = 0;
    Context context = make_context();
    const Call call(context);
    run(context, count, grain, [&](Context* used, int64_t begin, int64_t end) {
      ++calls;
      EXPECT_EQ(used, &context);
      EXPECT_TRUE(begin == 0 && end == count && std::this_thread::get_id() == self);
      return 0;
    });
    return calls == 1;
  };
  EXPECT_TRUE(is_alone(1, 1'000'000, 1));
  EXPECT_TRUE(is_alone(16, 199, 100));
  EXPECT_TRUE(is_alone(16, 1, 1));
  EXPECT_TRUE(is_alone(16, 0, 1));
}

TEST(Pool, gives_the_error_of_the_lowest_failing_iteration) {
  for (const int threads : {1, 2, 3, 16}) {
    const Threads set(threads);
    for (int repeat = 0; repeat < 50; ++repeat) {
      const int64_t first = 137 * repeat % 5000;
      Context context = make_context();
      const Call call(context);
      const Status status = run(context, 5000, 1, [&](Context* used, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          if (i >= first && (i - first) % 7 == 0) return raise_at(used, static_cast<uint32_t>(i));
        return 0;
      });
      EXPECT_EQ(status, status_of(ExceptionKind::ValueError));
      EXPECT_EQ(context.error.site, static_cast<uint32_t>(first));
    }
  }
}

TEST(Pool, runs_all_iterations_below_the_lowest_failing_one) {
  const Threads set(4);
  std::vector<std::atomic<int>> runs(1000);
  Context context = make_context();
  const Call call(context);
  run(context, 1000, 1, [&](Context* used, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (i == 900) return raise_at(used, 1);
      ++runs[static_cast<size_t>(i)];
    }
    return 0;
  });
  for (size_t i = 0; i < 900; ++i) ASSERT_EQ(runs[i].load(), 1) << i;
}

TEST(Pool, gives_the_calls_that_the_error_itself_has_left) {
  for (const int threads : {1, 2, 3}) {
    const Threads set(threads);
    for (int repeat = 0; repeat < 50; ++repeat) {
      Context context = make_context();
      const Call call(context);
      EXPECT_NE(run(context, 1000, 1,
                    [](Context* own, int64_t, int64_t end) -> Status {
                      if (end <= 100) return 0;
                      Error& error = own->error;
                      error.site = 3;
                      error.callers[error.caller_count++] = 7;  // as compiled code does
                      return status_of(ExceptionKind::ValueError);
                    }),
                0);
      ASSERT_EQ(context.error.caller_count, 1u) << threads;
    }
  }
}

TEST(Pool, leaves_at_once_when_interrupted) {
  for (const int threads : {1, 2, 4}) {
    const Threads set(threads);
    uint32_t attention = 0;
    Context context = make_context(&attention);
    const Call call(context);
    std::thread signal([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      std::atomic_ref(attention).fetch_or(Context::kInterrupt);
    });
    const Status status = run(context, 1 << 20, 1, [&](Context* used, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (std::atomic_ref(*used->attention).load() == 0) continue;
        if (const Status left = ingot_v1_poll(used)) return left;
      }
      return 0;
    });
    signal.join();
    EXPECT_EQ(status, status_of(ExceptionKind::KeyboardInterrupt));
    EXPECT_EQ(context.error.site, Error::kNoSite);
  }
}

TEST(Pool, polls_while_it_waits_for_others) {
  const Threads set(2);
  static std::atomic<int> asked;
  asked = 0;
  static const Hooks hooks = {[](Context* context) -> Status {
                                ++asked;
                                unwatch_length(*context);
                                return 0;
                              },
                              nullptr};
  uint32_t attention = 0;
  Context context = make_context(&attention, &hooks);
  const Call call(context);
  const auto self = std::this_thread::get_id();
  std::atomic<bool> has_begun = false;
  const Status status = run(context, 2, 1, [&](Context*, int64_t, int64_t) {
    if (std::this_thread::get_id() != self) {
      has_begun = true;
      for (int wait = 0; wait < 5000 && asked == 0; ++wait)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return 0;
    }
    while (!has_begun) std::this_thread::yield();
    watch_length(context);
    return 0;
  });
  EXPECT_EQ(status, 0) << "the hook returned to go on";
  EXPECT_EQ(asked, 1);
}

TEST(Pool, runs_nested_loops_serially) {
  const Threads set(4);
  std::vector<std::atomic<int>> runs(64 * 64);
  Context context = make_context();
  const Call call(context);
  run(context, 64, 1, [&](Context* used, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto self = std::this_thread::get_id();
      run(*used, 64, 1, [&](Context*, int64_t from, int64_t to) {
        EXPECT_EQ(std::this_thread::get_id(), self);
        for (int64_t k = from; k < to; ++k) ++runs[static_cast<size_t>(64 * i + k)];
        return 0;
      });
    }
    return 0;
  });
  for (const auto& n : runs) ASSERT_EQ(n.load(), 1);
}

TEST(Pool, serves_many_callers_at_once) {
  const Threads set(4);
  std::vector<std::thread> callers;
  std::atomic<int64_t> total = 0;
  for (int c = 0; c < 8; ++c)
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 300; ++repeat) {
        std::atomic<int64_t> sum = 0;
        Context context = make_context();
        const Call call(context);
        run(context, 1000, 10, [&](Context*, int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) sum += i;
          return 0;
        });
        EXPECT_EQ(sum, 499'500);
        total += sum;
      }
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total, 8 * 300 * 499'500);
}

TEST(Pool, gives_each_thread_a_context_whose_buffers_are_freed) {
  const Threads set(4);
  Context context = make_context();
  {
    const Call call(context);
    run(context, 256, 1, [&](Context* used, int64_t, int64_t) {
      EXPECT_NE(ingot_v1_allocate(used, 100), nullptr);
      EXPECT_NE(used->stack_limit, used == &context ? reinterpret_cast<std::byte*>(1) : nullptr);
      return 0;
    });
  }
  EXPECT_EQ(context.buffers, nullptr);
}

#ifndef __SANITIZE_THREAD__
int64_t sum_in_pool() {
  std::atomic<int64_t> sum = 0;
  Context context = make_context();
  const Call call(context);
  run(context, 1000, 1, [&](Context*, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) sum += i;
    return 0;
  });
  return sum;
}

TEST(Pool, works_in_forked_children) {
  const Threads set(3);
  EXPECT_EQ(sum_in_pool(), 499'500);
  for (int repeat = 0; repeat < 20; ++repeat) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      _exit(sum_in_pool() == 499'500 && sum_in_pool() == 499'500 ? 0 : 1);
    }
    EXPECT_EQ(sum_in_pool(), 499'500);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}

TEST(Pool, ends_in_a_child_that_is_forked_by_the_hook) {
  const Threads set(2);
  static pid_t child;
  child = -1;
  static const Hooks hooks = {[](Context* context) -> Status {
                                child = fork();
                                if (child == 0) alarm(20);
                                unwatch_length(*context);
                                return 0;
                              },
                              nullptr};
  uint32_t attention = 0;
  Context context = make_context(&attention, &hooks);
  const Call call(context);
  watch_length(context);
  const Status status = run(context, 64, 1, [&](Context*, int64_t, int64_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return 0;
  });
  if (child == 0) _exit(status == status_of(ExceptionKind::RuntimeError) && sum_in_pool() == 499'500 ? 0 : 1);
  EXPECT_EQ(status, 0);
  int ended = 0;
  waitpid(child, &ended, 0);
  EXPECT_TRUE(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
}
#endif

TEST(Pool, reads_numbers_of_threads) {
  EXPECT_EQ(parse_thread_count("1"), 1);
  EXPECT_EQ(parse_thread_count("256"), 256);
  for (const char* text : {"", "0", "-1", "257", "2.5", "two", "2 ", "99999999999"})
    EXPECT_FALSE(parse_thread_count(text)) << text;
}

TEST(Pool, reads_numbers_of_threads_as_openmp_does) {
  EXPECT_EQ(parse_openmp_threads("1"), 1);
  EXPECT_EQ(parse_openmp_threads(" 4 "), 4);
  EXPECT_EQ(parse_openmp_threads("8,2, 1"), 8);
  EXPECT_EQ(parse_openmp_threads("1000"), 1000);
  for (const char* text : {"", " ", ",2", "0", "-1", "2.5", "two", "2 2", "99999999999"})
    EXPECT_FALSE(parse_openmp_threads(text)) << text;
}

}  // namespace
}  // namespace ingot::runtime
