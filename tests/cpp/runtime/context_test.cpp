#include "runtime/context.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "base/error.h"
#include "runtime/symbols.h"
#include "support.h"

namespace ingot::runtime {
namespace {

using base::ExceptionKind;

std::vector<Buffer*> live_buffers(const Context& context) {
  std::vector<Buffer*> result;
  for (Buffer* b = context.buffers; b; b = b->next) result.push_back(b);
  return result;
}

void** buffer_slots(Buffer** slots, void** addresses, int n) {
  for (int i = 0; i < n; ++i) addresses[i] = static_cast<void*>(&slots[i]);
  return addresses;
}

TEST(Allocate, gives_aligned_memory_of_any_size) {
  Context context = make_context();
  const Call call(context);
  for (const int64_t size : {0, 1, 63, 64, 65, 4096, 1'000'003}) {
    Buffer* buffer = ingot_v1_allocate(&context, size);
    ASSERT_NE(buffer, nullptr);
    ASSERT_NE(buffer->data, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data) % 64, 0u);
    EXPECT_EQ(buffer->size, size);
    std::memset(buffer->data, 0xa5, static_cast<size_t>(size));
  }
  EXPECT_EQ(live_buffers(context).size(), 7u);
}

TEST(Allocate, refuses_impossible_sizes_with_a_memory_error) {
  for (const int64_t size :
       {int64_t{-1}, INT64_MIN, INT64_MAX, INT64_MAX - 63, int64_t{1} << 62, int64_t{1} << 46}) {
    Context context = make_context();
    const Call call(context);
    EXPECT_EQ(ingot_v1_allocate(&context, size), nullptr) << size;
    EXPECT_EQ(context.error.status, status_of(ExceptionKind::MemoryError));
    EXPECT_EQ(context.error.site, Error::kNoSite);
    EXPECT_EQ(context.error.arguments[0], static_cast<uint64_t>(size));
    EXPECT_EQ(context.buffers, nullptr);
  }
}

TEST(Call, runs_in_the_floating_point_state_of_the_caller_without_traps) {
  constexpr uint32_t kUpward = 0x4000;
  constexpr uint32_t kDivisionTraps = 0x0200;
  const auto entry = [](Context* context, void** slots) -> Status {
    EXPECT_EQ(base::FloatState::current().word(), context->float_state);
    *static_cast<uint32_t*>(slots[0]) = context->float_state;
    return 0;
  };
  for (const uint32_t word : {0u, kUpward, kUpward | kDivisionTraps}) {
    const base::InFloatState state(base::FloatState::of_word(word));
    Context context = make_context();
    Call call(context);
    uint32_t seen = 1;
    void* slots[] = {&seen};
    EXPECT_EQ(call.run(entry, slots), 0);
    EXPECT_EQ(seen, word & kUpward);
    EXPECT_EQ(base::FloatState::current().word(), word);
    int device = 0;  // code for a device runs in the default state
    context.device = &device;
    EXPECT_EQ(call.run(entry, slots), 0);
    EXPECT_EQ(seen, 0u);
    EXPECT_EQ(base::FloatState::current().word(), word);
  }
}

TEST(Release, leaves_null_and_arguments_alone) {
  Context context = make_context();
  const Call call(context);
  double storage[2] = {1, 2};
  Buffer argument{reinterpret_cast<std::byte*>(storage), sizeof storage, nullptr, nullptr, nullptr};
  Buffer* own = ingot_v1_allocate(&context, 8);
  ingot_v1_release(&context, &argument);
  ingot_v1_release(&context, nullptr);
  EXPECT_EQ(live_buffers(context), std::vector{own});
  ingot_v1_release(&context, own);
  EXPECT_EQ(context.buffers, nullptr);
}

TEST(Release, keeps_the_list_whole_in_any_order) {
  std::mt19937 random(1);
  Context context = make_context();
  const Call call(context);
  std::vector<Buffer*> model;
  for (int step = 0; step < 2000; ++step) {
    if (model.empty() || random() % 5 < 3) {
      model.insert(model.begin(), ingot_v1_allocate(&context, static_cast<int64_t>(random() % 100)));
    } else {
      auto chosen = model.begin() + static_cast<ptrdiff_t>(random() % model.size());
      ingot_v1_release(&context, *chosen);
      model.erase(chosen);
    }
    ASSERT_EQ(live_buffers(context), model);
  }
}

Status allocate_two_and_return_first(Context* context, void** slots) {
  Buffer* first = ingot_v1_allocate(context, 16);
  ingot_v1_allocate(context, 16);
  *static_cast<Buffer**>(slots[0]) = first;
  *static_cast<Buffer**>(slots[1]) = first;
  return 0;
}

TEST(Call, hands_out_the_buffers_of_results_once) {
  Context context = make_context();
  Buffer* results[2] = {};
  void* slots[2];
  OwnedBuffer kept;
  {
    Call call(context);
    ASSERT_EQ(call.run(allocate_two_and_return_first, buffer_slots(results, slots, 2)), 0);
    kept = call.take(results[0]);
    EXPECT_EQ(kept.get(), results[0]);
    EXPECT_EQ(call.take(results[1]), nullptr) << "taken twice";
    EXPECT_EQ(live_buffers(context).size(), 1u);
  }
  EXPECT_EQ(context.buffers, nullptr);
  EXPECT_EQ(kept->owner, nullptr);
  std::memset(kept->data, 1, 16);
}

TEST(Call, does_not_hand_out_what_is_not_its_own) {
  Context context = make_context();
  Context other = make_context();
  Call call(context);
  const Call other_call(other);
  int owner = 0;
  Buffer argument{nullptr, 0, &owner, nullptr, nullptr};
  EXPECT_EQ(call.take(&argument), nullptr);
  EXPECT_EQ(call.take(nullptr), nullptr);
  Buffer* foreign = ingot_v1_allocate(&other, 1);
  EXPECT_EQ(call.take(foreign), nullptr);
  EXPECT_EQ(live_buffers(other), std::vector{foreign});
}

Status allocate_and_fail(Context* context, void**) {
  ingot_v1_allocate(context, 16);
  ingot_v1_allocate(context, 16);
  context->error.site = 7;
  context->error.arguments[2] = 42;
  return status_of(ExceptionKind::IndexError);
}

TEST(Call, frees_everything_on_error_and_keeps_the_error) {
  Context context = make_context();
  Call call(context);
  ASSERT_NE(call.run(allocate_and_fail, nullptr), 0);
  EXPECT_EQ(context.buffers, nullptr);
  EXPECT_EQ(exception_of(context.error.status), ExceptionKind::IndexError);
  EXPECT_EQ(context.error.site, 7u);
  EXPECT_EQ(context.error.arguments[2], 42u);
}

TEST(Call, starts_each_run_afresh) {
  Context context = make_context();
  Call call(context);
  Buffer* results[2] = {};
  void* slots[2];
  call.run(allocate_and_fail, nullptr);
  ASSERT_EQ(call.run(allocate_two_and_return_first, buffer_slots(results, slots, 2)), 0);
  EXPECT_EQ(context.error.status, 0);
  EXPECT_EQ(context.error.arguments[2], 0u);
  ASSERT_EQ(call.run(allocate_two_and_return_first, buffer_slots(results, slots, 2)), 0);
  EXPECT_EQ(live_buffers(context).size(), 2u) << "the first run's buffers are gone";
}

TEST(Call, refuses_a_context_in_use) {
  Context context = make_context();
  const Call call(context);
  ingot_v1_allocate(&context, 1);
  EXPECT_THROW(Call{context}, base::InternalError);
}

TEST(Context, can_always_be_polled) {
  Context context = make_context();
  ASSERT_NE(context.attention, nullptr);
  EXPECT_EQ(*context.attention, 0u);
  ASSERT_NE(context.hooks, nullptr);
  context.hooks->long_call(&context);

  uint32_t flag = 1;
  int user = 0;
  static constexpr Hooks hooks = {[](Context* c) -> Status { return *static_cast<int*>(c->user) += 5; },
                                  nullptr};
  context = make_context(&flag, &hooks, &user);
  EXPECT_EQ(*context.attention, 1u);
  context.hooks->long_call(&context);
  EXPECT_EQ(user, 5);
}

/// A context whose hook counts long calls, and gives `answer`.
struct Counted {
  uint32_t attention = 0;
  int long_calls = 0;
  Status answer = 0;
  Context context = make_context(&attention, &hooks, this);

  static Counted& of(Context* context) { return *static_cast<Counted*>(context->user); }
  static constexpr Hooks hooks = {[](Context* c) -> Status {
                                    ++of(c).long_calls;
                                    return of(c).answer;
                                  },
                                  nullptr};

  /// Polls until the hook has been called this often.
  void poll_until(int calls) {
    while (long_calls < calls) EXPECT_EQ(ingot_v1_poll(&context), 0);
  }
};

TEST(Poll, calls_the_hook_again_and_again_in_a_long_call) {
  Counted counted;
  const auto start = std::chrono::steady_clock::now();
  watch_length(counted.context);
  EXPECT_EQ(counted.attention, Context::kLength);
  counted.poll_until(1);
  EXPECT_GT(std::chrono::steady_clock::now() - start, std::chrono::nanoseconds(kLongCall / 8));
  counted.poll_until(2);
  EXPECT_GT(std::chrono::steady_clock::now() - start, std::chrono::nanoseconds(kBetweenLooks / 8));
  unwatch_length(counted.context);
  EXPECT_EQ(counted.attention, 0u);
  counted.context.next_look = 1;
  counted.context.unread = 0;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(ingot_v1_poll(&counted.context), 0);
  EXPECT_EQ(counted.long_calls, 2);
  watch_length(counted.context);
  counted.poll_until(3);
}

TEST(Poll, reads_the_clock_each_time_where_polls_are_rare) {
  Counted counted;
  watch_length(counted.context);
  for (int i = 0; i < 1000; ++i) ingot_v1_poll(&counted.context);
  EXPECT_GT(counted.context.skipped, 0u);
  while (counted.context.unread > 0) ingot_v1_poll(&counted.context);
  for (int i = 0; i < 3; ++i) {
    counted.context.last_read -= 2 * kLongCall;  // as if so much time had passed
    counted.context.next_look = 1;
    const int before = counted.long_calls;
    ingot_v1_poll(&counted.context);
    EXPECT_EQ(counted.long_calls, before + 1);
  }
}

TEST(Poll, leaves_a_short_call_alone) {
  Counted counted;
  watch_length(counted.context);
  EXPECT_EQ(ingot_v1_poll(&counted.context), 0);  // the first one reads the clock
  counted.context.next_look += int64_t{1} << 40;  // as if no time passed
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(ingot_v1_poll(&counted.context), 0);
  EXPECT_EQ(counted.long_calls, 0);
  unwatch_length(counted.context);
  EXPECT_EQ(counted.attention, 0u);
}

TEST(Poll, leaves_with_a_keyboard_interrupt) {
  uint32_t attention = Context::kInterrupt;
  Context context = make_context(&attention);
  const Status status = status_of(ExceptionKind::KeyboardInterrupt);
  EXPECT_EQ(ingot_v1_poll(&context), status);
  EXPECT_EQ(context.error.site, Error::kNoSite);
  EXPECT_EQ(attention, Context::kInterrupt) << "it is the caller's";
}

TEST(Poll, leaves_with_what_the_hook_gives) {
  Counted counted;
  counted.answer = status_of(ExceptionKind::ValueError);
  watch_length(counted.context);
  Status status = 0;
  while (status == 0) status = ingot_v1_poll(&counted.context);
  EXPECT_EQ(status, counted.answer);
  EXPECT_EQ(counted.long_calls, 1);
}

TEST(Poll, can_be_asked_for_by_no_one_of_a_context_without_attention) {
  Context context = make_context();
  watch_length(context);
  EXPECT_EQ(*context.attention, 0u);
  unwatch_length(context);
}

Status remember_stack(Context* context, void** slots) {
  *static_cast<std::byte**>(slots[0]) = static_cast<std::byte*>(__builtin_frame_address(0));
  *static_cast<std::byte**>(slots[1]) = context->stack_limit;
  return 0;
}

TEST(Call, knows_how_deep_its_thread_may_recurse) {
  std::byte* limits[2] = {};
  auto check = [](std::byte** limit) {
    std::byte* here = nullptr;
    void* slots[] = {static_cast<void*>(&here), static_cast<void*>(limit)};
    Context context = make_context();
    Call call(context);
    call.run(remember_stack, slots);
    const ptrdiff_t room = here - *limit;
    EXPECT_GT(room, 64 << 10);
  };
  check(&limits[0]);
  std::thread([&] { check(&limits[1]); }).join();
  EXPECT_NE(limits[0], limits[1]);
}

TEST(Abi, is_what_c_code_sees) {
  EXPECT_EQ(exception_of(status_of(ExceptionKind::TypeChangeError)), ExceptionKind::TypeChangeError);
  testing::ViewArgument<2> view;
  EXPECT_EQ(view.slot.lengths(), view.lengths);
  EXPECT_EQ(view.slot.strides(2), view.strides);
}

}  // namespace
}  // namespace ingot::runtime
