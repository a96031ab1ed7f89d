#include "transform/analyses/disjoint.h"

#include <gtest/gtest.h>

#include "ir/text.h"

namespace ingot::transform {
namespace {

bool apart(const std::vector<int64_t>& lengths, const std::vector<int64_t>& strides) {
  return base::is_disjoint(lengths, strides, 8);
}

TEST(Apart, OfNumbers) {
  EXPECT_TRUE(apart({}, {}));
  EXPECT_TRUE(apart({5}, {8}));
  EXPECT_TRUE(apart({5}, {-8}));
  EXPECT_FALSE(apart({5}, {4}));
  EXPECT_FALSE(apart({5}, {0}));
  EXPECT_TRUE(apart({1}, {0}));
  EXPECT_TRUE(apart({3, 4}, {32, 8}));
  EXPECT_TRUE(apart({4, 3}, {8, -32}));
  EXPECT_FALSE(apart({3, 4}, {24, 8}));
  EXPECT_FALSE(apart({3, 3}, {8, 8}));
  EXPECT_TRUE(apart({3, 1}, {8, 8}));
  EXPECT_TRUE(apart({2, 3, 4}, {96, 32, 8}));
  EXPECT_FALSE(apart({2, 3, 4}, {88, 32, 8}));
}

/// The conditions to check before the loop of a program of views `x` and `c` (in C order) and i64 `n`, whose
/// loop has this body; `before` comes before it.
struct Looked {
  bool known;
  size_t views;
};
Looked looked_at(const std::string& before, const std::string& body) {
  const std::string text =
      "func @f(%x: view<f64, 2> alias 1, %c: view<f64, 2> alias 2 layout C, %n: i64) -> () {\n"
      "  %0 = constant 0 : i64\n  %8 = constant 8 : i64\n  %v = constant 0.0 : f64\n" +
      before + "  for %n {schedule=independent, width=0} {\n  ^(%k: i64):\n" + body +
      "    yield\n  }\n  return\n}\n";
  const std::unique_ptr<ir::Module> module = ir::parse(text, "test.ir");
  const ir::Function& f = *module->function(ir::FunctionId(0));
  for (uint32_t i = 0; i < f.node_count(); ++i) {
    if (f.op(ir::NodeId(i)) != ir::Op::for_) continue;
    const Layouts found = written_layouts(f, ir::NodeId(i));
    return {found.known, found.views.size()};
  }
  ADD_FAILURE() << "no loop";
  return {};
}

TEST(Apart, OfWhatALoopWrites) {
  const auto expect = [](const Looked& found, bool known, size_t views) {
    EXPECT_EQ(found.known, known);
    EXPECT_EQ(found.views, views);
  };
  expect(looked_at("", "    %a = load %x, %k, %0 : f64\n"), true, 0);
  expect(looked_at("", "    store %x, %k, %0, %v\n    store %x, %0, %k, %v\n"), true, 1);
  expect(looked_at("", "    store %c, %k, %0, %v\n"), true, 0);
  const std::string memory = "  %m = multiply %n, %8 : i64\n  %b = alloc %m {life=call} : buffer\n";
  // In C order; windows; and windows that an iteration makes of what is known before, and of what is not.
  const std::string store = "    store %w, %k, %0, %v\n";
  const std::string windows = " = view %b, %0, %n, %8, %8, %8 : view<f64, 2>\n";
  expect(looked_at(memory + "  %w = view %b, %0, %n, %8 : view<f64, 1>\n", "    store %w, %k, %v\n"), true,
         0);
  expect(looked_at(memory + "  %w" + windows, store), true, 1);
  expect(looked_at(memory, "    %w" + windows + store), true, 1);
  expect(looked_at(memory, "    %w = view %b, %0, %n, %k, %8, %8 : view<f64, 2>\n" + store), false, 0);
  // A part of what is in C order, of a length of the iteration; memory of the iteration's own.
  expect(looked_at(memory, "    %w = view %b, %0, %n, %k, %m, %8 : view<f64, 2>\n" + store), true, 0);
  expect(looked_at("  %m = multiply %n, %8 : i64\n",
                   "    %b = alloc %m {life=call} : buffer\n    %w" + windows + store),
         true, 0);
  // Parts of an array.
  const std::string parts =
      "    %b = buffer %x : buffer\n    %o = offset %x : i64\n"
      "    %s = stride %x {axis=0} : i64\n    %t = stride %x {axis=1} : i64\n"
      "    %u = multiply %s, %n : i64\n";
  expect(looked_at("",
                   parts + "    %p = view %b, %o, %n, %k, %u, %t : view<f64, 2>\n    store %p, %k, %0, %v\n"),
         true, 1);
  expect(looked_at("",
                   parts + "    %p = view %b, %o, %n, %k, %s, %s : view<f64, 2>\n    store %p, %k, %0, %v\n"),
         false, 0);
}

}  // namespace
}  // namespace ingot::transform
