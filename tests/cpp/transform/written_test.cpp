#include "transform/analyses/written.h"

#include <gtest/gtest.h>

#include "ir/text.h"

namespace ingot::transform {
namespace {

using Written = std::vector<bool>;

Written written(const char* text) {
  const std::unique_ptr<ir::Module> module = ir::parse(text, "test.ir");
  return written_parameters(*module->function(*module->find("f")));
}

TEST(Written, WhatIsStoredInto) {
  EXPECT_EQ(written(R"(
func @f(%x: view<f64, 1> alias 1, %y: view<f64, 1> alias 2, %z: view<f64, 1> alias 2, %n: i64) -> () {
  %v = load %x, %n : f64
  store %y, %n, %v
  return
}
)"),
            (Written{false, true, true, false}));
}

TEST(Written, WhatIsCopiedFromIsRead) {
  EXPECT_EQ(written(R"(
func @f(%x: view<f64, 1> alias 1, %y: view<f64, 1> alias 2) -> () {
  copy %x, %y
  return
}
)"),
            (Written{true, false}));
}

TEST(Written, ViewsAndLaunchesAreFollowed) {
  EXPECT_EQ(written(R"(
func @f(%x: view<f64, 1> alias 1, %y: view<f64, 1> alias 2, %n: i64) -> () {
  %b = buffer %y : buffer
  %0 = constant 0 : i64
  %1 = constant 1 : i64
  %8 = constant 8 : i64
  %w = view %b, %8, %1, %8 : view<f64, 1>
  launch %1, %1, %1, %1, %1, %1, %8 {
  ^(%i: i64, %j: i64, %k: i64, %l: i64, %m: i64, %o: i64, %s: buffer):
    %t = view %s, %0, %1, %8 : view<f64, 1>
    %v = load %x, %n : f64
    store %t, %0, %v
    store %w, %0, %v
    yield
  }
  return
}
)"),
            (Written{false, true, false}));
}

TEST(Written, WhatALoopExchangesIsAnyOfIt) {
  EXPECT_EQ(written(R"(
func @f(%x: view<f64, 1> alias 1, %y: view<f64, 1> alias 2, %z: view<f64, 1> alias 3, %n: i64) -> () {
  %a, %b = for %n, %x, %y {schedule=serial, width=0} : (view<f64, 1>, view<f64, 1>) {
  ^(%k: i64, %p: view<f64, 1>, %q: view<f64, 1>):
    yield %q, %p
  }
  %v = load %z, %n : f64
  store %a, %n, %v
  return
}
)"),
            (Written{true, true, false, false}));
}

TEST(Written, CalleesThatWriteMayWriteIntoAllThatTheyGet) {
  const char* const text = R"(
func @f(%x: view<f64, 1> alias 1, %y: view<f64, 1> alias 2, %z: view<f64, 1> alias 3, %n: i64) -> () {
  %1 = call %x, %n {function=@looks, catches=0} : f64
  call %y, %n, %1 {function=@puts, catches=0}
  %3 = load %z, %n : f64
  return
}

func @looks(%x: view<f64, 1>, %n: i64) -> (f64) {
  %2 = load %x, %n : f64
  return %2
}

func @puts(%x: view<f64, 1>, %n: i64, %v: f64) -> () {
  store %x, %n, %v
  return
}
)";
  EXPECT_EQ(written(text), (Written{false, true, false, false}));
}

}  // namespace
}  // namespace ingot::transform
