#include "ir/walk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "ir/text.h"
#include "ir/uses.h"

namespace ingot::ir {
namespace {

constexpr const char* kText = R"(
func @f(%n: i64, %x: f64, %c: bool) -> (f64) {
  %y = negative %x
  %r = for %n, %y {schedule=serial, width=0} {
  ^(%k: i64, %s: f64):
    %t = if %c : f64 {
      %a = sin %s
      yield %a
    } {
      %b = cos %s
      yield %b
    }
    %u = add %t, %x
    yield %u
  }
  %z = sqrt %r
  return %z
}
)";

/// The names of the ops that an iteration over nodes visits, and whether it came to its end.
template <class Next>
std::pair<std::string, bool> visited(const Next& next) {
  const auto module = parse(kText, "walk.ir");
  const Function& f = *module->function(FunctionId(0));
  std::string names;
  const bool ended = walk(f, f.body(), [&](NodeId node) {
    names += std::string(name_of(f.op(node))) + " ";
    return next(f.op(node));
  });
  return {names, ended};
}

TEST(Walk, VisitsANodeBeforeWhatIsInIt) {
  const auto [names, ended] = visited([](Op) { return Walk::Into; });
  EXPECT_EQ(names, "negative for if sin yield cos yield add yield sqrt return ");
  EXPECT_TRUE(ended);
}

TEST(Walk, PassesRegionsOver) {
  const auto [names, ended] = visited([](Op op) { return op == Op::if_ ? Walk::Past : Walk::Into; });
  EXPECT_EQ(names, "negative for if add yield sqrt return ");
  EXPECT_TRUE(ended);
}

TEST(Walk, StopsInsideOfRegions) {
  const auto [names, ended] = visited([](Op op) { return op == Op::cos ? Walk::Stop : Walk::Into; });
  EXPECT_EQ(names, "negative for if sin yield cos ");
  EXPECT_FALSE(ended);
}

TEST(Walk, FindsWhatIsWithin) {
  const auto module = parse(kText, "walk.ir");
  const Function& f = *module->function(FunctionId(0));
  const auto is_sine = [&](NodeId node) { return f.op(node) == Op::sin; };
  EXPECT_TRUE(any_within(f, f.body(), is_sine));
  EXPECT_TRUE(has_loop(f, f.body()));
  walk(f, f.body(), [&](NodeId node) {
    const bool is_around = f.op(node) == Op::for_ && has_loop(f, f.region(node));
    EXPECT_FALSE(is_around);
  });
}

TEST(NodeOrder, IsNotThatOfIds) {
  Module module;
  Builder builder(module, "f");
  const NodeId condition = builder.add_parameter(kBool, {.name = "c"});
  const NodeId node = builder.begin(Op::if_, {&condition, 1});
  builder.enter(node, 0, {});
  const RegionId suspended = builder.suspend();
  builder.enter(node, 1, {});
  builder.yield({});
  builder.end(node);
  const NodeId after = builder.make(Op::invert, {condition});
  builder.resume(suspended);
  const NodeId late = builder.index(1);
  builder.yield({});
  builder.terminate(Op::return_, {&after, 1});
  const auto function = builder.finish(std::vector<Type>{kBool});
  ASSERT_LT(after, late);
  const NodeOrder order(*function);
  EXPECT_LT(order.begin[late.index], order.begin[after.index]);
  EXPECT_EQ(order.begin[condition.index], 0u);
  EXPECT_EQ(order.end[node.index], order.begin[after.index]);
  EXPECT_GT(order.end[node.index], order.begin[late.index]);
}

TEST(Walk, FindsWhetherANodeIsInside) {
  const auto module = parse(kText, "walk.ir");
  const Function& f = *module->function(FunctionId(0));
  NodeId loop;
  NodeId branch;
  walk(f, f.body(), [&](NodeId node) {
    if (f.op(node) == Op::for_) loop = node;
    if (f.op(node) == Op::if_) branch = node;
  });
  const auto inside = [&](auto outer) {
    std::string names;
    walk(f, f.body(), [&](NodeId node) {
      if (f.encloses(outer, node)) names += std::string(name_of(f.op(node))) + " ";
    });
    return names;
  };
  EXPECT_EQ(inside(loop), "if sin yield cos yield add yield ");
  EXPECT_EQ(inside(branch), "sin yield cos yield ");
  EXPECT_EQ(inside(f.region(branch, 1)), "cos yield ");
}

TEST(Uses, HaveEachUserAsOftenAsItUsesAValue) {
  const auto module = parse(kText, "walk.ir");
  const Function& f = *module->function(FunctionId(0));
  const Uses uses(f);
  for (uint32_t i = 0; i < f.node_count(); ++i) {
    std::vector<NodeId> users;
    for (uint32_t k = 0; k < f.node_count(); ++k)
      for (const NodeId operand : f.operands(NodeId(k)))
        if (operand == NodeId(i)) users.emplace_back(k);
    EXPECT_TRUE(std::ranges::equal(uses.of(NodeId(i)), users)) << i;
  }
  EXPECT_EQ(uses.of(f.region_parameters(f.body())[1]).size(), 2u);
}

}  // namespace
}  // namespace ingot::ir
