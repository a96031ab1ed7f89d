#include "transform/functions/lower_exits.h"

#include "ir/walk.h"
#include "transform/compare.h"
#include "transform/random_exits.h"
#include "transform/writers/dummy.h"

namespace ingot::transform {
namespace {

using ir::NodeId;
using ir::Op;

/// The pass has removed everything that it is to remove.
void expect_lowered(const ir::Function& function) {
  for (uint32_t i = 0; i < function.node_count(); ++i) {
    const NodeId id(i);
    EXPECT_NE(function.op(id), Op::block);
    EXPECT_NE(function.op(id), Op::exit_);
    EXPECT_TRUE(function.op(id) != Op::return_ || function[id].parent == function.body());
  }
}

/// Runs `@f(n: i64, x: f64, c: bool, log: view<i64, 1>, v: view<f64, 1>)` before and after the pass.
void check(const Comparison& comparison, const std::string& what) {
  expect_lowered(comparison.after());
  ir::InterpretOptions options;
  options.in_order = true;
  for (int64_t n = -1; n < 5; ++n) {
    for (const bool c : {false, true}) {
      const std::vector<ir::Value> arguments = {
          base::Scalar::of(n), base::Scalar::of(0.25 * static_cast<double>(n)), base::Scalar::of(c),
          make_view(base::DType::Int64, {2}, Layout::Contiguous, 1),
          make_view(base::DType::Float64, {5}, Layout::Spread, 2)};
      const std::string call = what + ", n = " + std::to_string(n) + (c ? ", c" : "");
      comparison.check(arguments, call, options);
      if (testing::Test::HasFailure()) {
        FAIL() << comparison.text();
      }
    }
  }
}

constexpr std::string_view kHead = R"(
func @f(%n: i64, %x: f64, %c: bool, %log: view<i64, 1> alias 1, %v: view<f64, 1> alias 2) -> (RESULTS) {
  %0 = constant 0 : i64
  %1 = constant 1 : i64
  %2 = constant 2 : i64
  %3 = constant 3 : i64
  %true = constant true : bool
)";
constexpr std::string_view kLog = R"(
  %31.K = constant 31 : i64
  %old.K = load %log, %0 : i64
  %product.K = multiply %old.K, %31.K : i64
  %sum.K = add %product.K, VALUE : i64
  store %log, %0, %sum.K
)";

/// `@f` with a body in which `LOG %3` multiplies the log by 31 and adds 3.
Comparison program(std::string body, const std::string& results) {
  int number = 0;
  for (size_t at = 0; (at = body.find("LOG ")) != std::string::npos;) {
    const size_t end = body.find('\n', at);
    const std::string value = body.substr(at + 4, end - at - 4);
    const std::string nodes = replaced(std::string(kLog), ".K", "." + std::to_string(number++));
    body.replace(at, end - at, replaced(nodes, "VALUE", value));
  }
  return Comparison(replaced(std::string(kHead), "RESULTS", results) + body + "}\n", {"lower_exits"});
}

size_t count_of(const ir::Function& function, Op op) {
  size_t count = 0;
  for (uint32_t i = 0; i < function.node_count(); ++i) count += function.op(NodeId(i)) == op ? 1 : 0;
  return count;
}

TEST(LowerExits, LeavesFunctionsWithoutExitsAlone) {
  const auto module = ir::parse(R"(
func @f(%n: i64, %c: bool) -> (i64) {
  %i = for %n, %n {schedule=serial, width=0} : i64 {
  ^(%k: i64, %s: i64):
    if %c { raise {kind=ValueError, message="no"} } { yield }
    yield %k
  }
  return %i
}
)",
                                "test.ir");
  EXPECT_EQ(lower_exits(*module->function(ir::FunctionId(0))), nullptr);
}

TEST(LowerExits, EarlyReturnsNeedNoFlags) {
  const Comparison comparison = program(R"(
  %r = block : f64 {
  ^(%out: label):
    LOG %1
    if %c { exit %out, %x } { yield }
    LOG %2
    %small = less %n, %1 : bool
    if %small {
      yield
    } {
      LOG %3
      %e = exp %x : f64
      exit %out, %e
    }
    %two = equal %n, %2 : bool
    if %two { raise {kind=ValueError, message="two"} } { yield }
    LOG %n
    %s = sin %x : f64
    yield %s
  }
  return %r
)",
                                        "f64");
  check(comparison, "early returns");
  EXPECT_EQ(count_of(comparison.after(), Op::equal), 1U) << comparison.text();
  EXPECT_EQ(count_of(comparison.after(), Op::sin), 1U) << comparison.text();
}

TEST(LowerExits, CodeIsNotThereTwice) {
  const Comparison comparison = program(R"(
  %r = block : i64 {
  ^(%out: label):
    %small = less %n, %2 : bool
    %m = if %small : i64 {
      if %c { exit %out, %n } { yield }
      LOG %1
      yield %3
    } {
      %three = equal %n, %3 : bool
      if %three { exit %out, %0 } { yield }
      LOG %2
      yield %n
    }
    LOG %m
    %p = power %m, %m : i64
    yield %p
  }
  return %r
)",
                                        "i64");
  check(comparison, "both arms go on");
  EXPECT_EQ(count_of(comparison.after(), Op::power), 1U) << comparison.text();
}

TEST(LowerExits, ReturnsFromNestedLoops) {
  check(program(R"(
  %r, %s = block : (i64, f64) {
  ^(%out: label):
    %sum = for %n, %0 {schedule=serial, width=0} : i64 {
    ^(%i: i64, %p: i64):
      %q = for %i, %p {schedule=serial, width=0} : i64 {
      ^(%j: i64, %t: i64):
        LOG %j
        %both = add %i, %j : i64
        %found = equal %both, %3 : bool
        if %found { exit %out, %both, %x } { yield }
        %u = add %t, %j : i64
        yield %u
      }
      LOG %q
      yield %q
    }
    LOG %sum
    %y = cast %sum : f64
    yield %sum, %y
  }
  return %r, %s
)",
                "i64, f64"),
        "nested loops");
}

TEST(LowerExits, BreakContinueAndElse) {
  check(program(R"(
  %r, %a = block : (i64, array<f64, 1>) {
  ^(%break: label):
    %first = read %v : array<f64, 1>
    %s, %b = for %n, %0, %first {schedule=serial, width=0} : (i64, array<f64, 1>) {
    ^(%k: i64, %p: i64, %w: array<f64, 1>):
      LOG %k
      %t = block : i64 {
      ^(%continue: label):
        %odd = remainder %k, %2 : i64
        %is = equal %odd, %1 : bool
        if %is { exit %continue, %p } { yield }
        %last = equal %k, %2 : bool
        if %last {
          if %c { exit %break, %k, %w } { yield }
          LOG %1
          yield
        } { yield }
        LOG %2
        %u = add %p, %k : i64
        yield %u
      }
      %z = add %w, %w : array<f64, 1>
      yield %t, %z
    }
    LOG %3
    %neg = negative %b : array<f64, 1>
    yield %s, %neg
  }
  LOG %r
  %total = reduce %a {combiner=add, axes=[0]} : f64
  return %r, %total
)",
                "i64, f64"),
        "break, continue and else");
}

TEST(LowerExits, TheTestOfALoopIsNotEvaluatedOnceItIsLeft) {
  check(program(R"(
  %r = block : i64 {
  ^(%out: label):
    %i, %d = while %0, %x : (i64, f64) {
    ^(%k: i64, %y: f64):
      LOG %1
      %e = load %v, %k : f64
      %go = less %k, %n : bool
      if %c {
        %two = equal %k, %2 : bool
        if %two { exit %out, %k } { yield }
        yield
      } { yield }
      yield %go, %k, %e
    } {
    ^(%k: i64, %e: f64):
      %next = add %k, %1 : i64
      %end = equal %next, %3 : bool
      LOG %2
      if %end { exit %out, %n } { yield }
      yield %next, %e
    }
    %j = cast %d : i64
    yield %j
  }
  return %r
)",
                "i64"),
        "test of a while");
}

TEST(LowerExits, ATestWithoutEffectsNeedsNoBranch) {
  const Comparison comparison = program(R"(
  %r = block : i64 {
  ^(%out: label):
    %i, %twice = while %n, %x : (i64, i64) {
    ^(%k: i64, %y: f64):
      %go = less %k, %3 : bool
      %two = add %k, %k : i64
      yield %go, %two, %k
    } {
    ^(%two: i64, %k: i64):
      LOG %two
      if %c { exit %out, %two } { yield }
      %next = add %k, %1 : i64
      yield %next, %x
    }
    LOG %i
    yield %twice
  }
  return %r
)",
                                        "i64");
  check(comparison, "test of a while");
}

TEST(LowerExits, ExitsOfOuterBlocksFromInnerLoops) {
  check(program(R"(
  %r, %s = block : (i64, bool) {
  ^(%outer: label):
    %t = block : f64 {
    ^(%middle: label):
      %w = block : i64 {
      ^(%inner: label):
        %i = while %0 : i64 {
        ^(%k: i64):
          yield %true, %k
        } {
        ^(%k: i64):
          for %k {schedule=serial, width=0} {
          ^(%j: i64):
            LOG %j
            %a = equal %j, %n : bool
            if %a { exit %outer, %k, %c } { yield }
            %b = equal %k, %2 : bool
            if %b {
              if %c { exit %inner, %j } { exit %middle, %x }
              unreachable
            } { yield }
            yield
          }
          %l = add %k, %1 : i64
          yield %l
        }
        yield %i
      }
      LOG %w
      %f = cast %w : f64
      exit %middle, %f
    }
    %z = cast %t : i64
    LOG %z
    yield %z, %true
  }
  return %r, %s
)",
                "i64, bool"),
        "outer blocks");
}

TEST(LowerExits, ValuesOfAllTypes) {
  const Comparison comparison = program(R"(
  %b0 = buffer %v : buffer
  %empty = none {tag=2} : optional<f64>
  %array, %view, %point, %buffer, %optional = block : (array<f64, 1>, view<f64, 1>, view<f64, 0>, buffer, optional<f64>) {
  ^(%out: label):
    for %n {schedule=serial, width=0} {
    ^(%k: i64):
      LOG %k
      %is = equal %k, %2 : bool
      if %is {
        %a = read %v : array<f64, 1>
        %p = view %b0, %0 : view<f64, 0>
        %o = some %x : optional<f64>
        exit %out, %a, %v, %p, %b0, %o
      } { yield }
      yield
    }
    %a = read %v : array<f64, 1>
    %m = materialize %a : view<f64, 1>
    %b = buffer %m : buffer
    %p = view %b, %0 : view<f64, 0>
    yield %a, %m, %p, %b, %empty
  }
  %sum = reduce %array {combiner=add, axes=[0]} : f64
  %e = load %point : f64
  %same = same_object %buffer, %b0 : bool
  %tag = tag %optional : i8
  return %sum, %view, %e, %same, %tag
)",
                                        "f64, view<f64, 1>, f64, bool, i8");
  check(comparison, "types");
  EXPECT_EQ(count_of(comparison.after(), Op::none), 2U) << comparison.text();
}

TEST(LowerExits, BodiesThatNeverReturn) {
  const Comparison comparison = program(R"(
  block {
  ^(%out: label):
    if %c {
      exit %out
    } {
      LOG %n
      raise {kind=ValueError, message="no"}
    }
    unreachable
  }
  raise {kind=IndexError, message="yes"}
)",
                                        "i64");
  check(comparison, "raises");
}

TEST(LowerExits, ReturnsInsideRegions) {
  const Comparison comparison = program(R"(
  for %n {schedule=serial, width=0} {
  ^(%k: i64):
    LOG %k
    %is = equal %k, %3 : bool
    if %is { return %k } { yield }
    yield
  }
  return %n
)",
                                        "i64");
  check(comparison, "returns");
}

TEST(LowerExits, KeepsWhatRandomFunctionsDo) {
  size_t loops = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    std::unique_ptr<ir::Module> modules[2];
    for (auto& module : modules) {
      module = std::make_unique<ir::Module>();
      const ir::FunctionId id = test::RandomExits(*module, seed, seed % 3 == 0).build();
      ir::verify_or_throw(*module->function(id), ir::Stage::Array, "building");
    }
    const ir::Function& before = *modules[0]->function(ir::FunctionId(0));
    const size_t whiles = count_of(before, Op::while_);
    const Comparison comparison(std::move(modules[0]), std::move(modules[1]), {"lower_exits"});
    if (count_of(comparison.after(), Op::while_) > whiles) ++loops;
    check(comparison, "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
  EXPECT_GT(loops, 50U);
}

TEST(Dummy, IsWellFormedWhateverTheType) {
  ir::Module module;
  ir::Builder b(module, "f");
  std::vector<ir::Type> types;
  for (int i = 0; i < base::kDTypeCount; ++i) {
    const auto dtype = static_cast<base::DType>(i);
    types.push_back(ir::Type::scalar(dtype));
    types.push_back(module.types.optional(ir::Type::scalar(dtype)));
    for (int rank = 0; rank < 4; ++rank) {
      types.push_back(ir::Type::array(dtype, rank));
      types.push_back(ir::Type::view(dtype, rank));
    }
  }
  types.push_back(ir::Type::buffer());
  types.push_back(ir::Type::buffer(ir::Space::Pinned));
  types.push_back(module.types.optional(ir::Type::view(base::DType::Float64, 2)));
  for (const ir::Type type : types) {
    const NodeId made = dummy(b, type);
    EXPECT_EQ(b.function().type(made), type) << module.types.to_string(type);
  }
  b.terminate(Op::return_, {});
  const ir::FunctionId id = module.declare("f", {}, {});
  module.define(id, b.finish({}));
  ir::verify_or_throw(*module.function(id), ir::Stage::Array, "dummy");
  EXPECT_FALSE(ir::interpret(module, id, {}).raised);
}

}  // namespace
}  // namespace ingot::transform
