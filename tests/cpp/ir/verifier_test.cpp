#include "ir/verifier.h"

#include <gtest/gtest.h>

#include <functional>

#include "corrupt.h"
#include "ir/builder.h"
#include "ir/text.h"

namespace ingot::ir {
namespace {

using test::Corrupt;

// Node numbers: parameters 0 %n, 1 %x, 2 %c; then as commented.
constexpr const char* kText = R"(
func @f(%n: i64, %x: f64, %c: bool) -> (f64) {
  %3 = constant true : bool
  %7, %8 = for %n, %x, %n {schedule=serial, width=0} : (f64, i64) {
  ^(%5: i64, %6: f64, %k: i64):
    yield %6, %5
  }
  check %c {kind=ValueError, message="no"}
  %12 = if %c : f64 {
    %13 = add %x, %x : f64
    yield %13
  } {
    yield %x
  }
  %16 = sqrt %7 : f64
  return %12
}
)";
constexpr NodeId kConstant(3), kFor(4), kLoopIndex(5), kLoopYield(8), kFirstResult(9), kSecondResult(10),
    kCheck(11), kIf(12), kInner(13), kInnerYield(14), kSqrt(16), kReturn(17);

/// A good function to be broken.
struct Subject {
  std::unique_ptr<Module> module = parse(kText, "subject.ir");
  Function& function = *module->function(FunctionId(0));
  Corrupt corrupt{function};
};

void expect_fault(const Function& function, int invariant, Stage stage = Stage::Array) {
  const std::vector<Fault> faults = verify(function, stage);
  ASSERT_FALSE(faults.empty());
  for (const Fault& fault : faults) EXPECT_EQ(fault.invariant, invariant) << to_string(function, fault);
  EXPECT_LE(faults.size(), 20u);
}

/// Breaks the subject in one way; only that invariant is named.
void expect_broken(int invariant, const std::function<void(Subject&)>& breaks) {
  Subject subject;
  ASSERT_TRUE(verify(subject.function, Stage::Array).empty());
  breaks(subject);
  expect_fault(subject.function, invariant);
}

TEST(Verifier, SubjectIsAsNumbered) {
  const Subject s;
  EXPECT_EQ(s.function.op(kConstant), Op::constant);
  EXPECT_EQ(s.function.op(kFor), Op::for_);
  EXPECT_EQ(s.function.op(kLoopYield), Op::yield);
  EXPECT_EQ(s.function.op(kSecondResult), Op::result);
  EXPECT_EQ(s.function.op(kCheck), Op::check);
  EXPECT_EQ(s.function.op(kIf), Op::if_);
  EXPECT_EQ(s.function.op(kInner), Op::add);
  EXPECT_EQ(s.function.op(kSqrt), Op::sqrt);
  EXPECT_EQ(s.function.op(kReturn), Op::return_);
}

TEST(Verifier, EmptyRegion) {
  Module module;
  Builder builder(module, "f");
  builder.set_folding(false);
  const NodeId condition = builder.add_parameter(kBool, {.name = "c"});
  const NodeId node = builder.begin(Op::if_, {&condition, 1});
  builder.enter(node, 0, {});
  builder.yield({});
  builder.end(node);
  builder.terminate(Op::return_, {});
  expect_fault(*builder.finish({}), 1);
}

TEST(Verifier, RegionsEndInTheirOnlyTerminator) {
  expect_broken(1, [](Subject& s) { s.corrupt.nodes[kInner.index].op = Op::yield; });
  expect_broken(1, [](Subject& s) { s.corrupt.nodes[kInnerYield.index].op = Op::some; });
}

TEST(Verifier, ParametersComeFirst) {
  expect_broken(1, [](Subject& s) { s.corrupt.regions[1].parameter_count = 2; });
  expect_broken(1, [](Subject& s) { s.corrupt.set_attribute(kLoopIndex, 0, 1); });
  expect_broken(1, [](Subject& s) { s.corrupt.regions[0].parameter_count = 2; });
}

TEST(Verifier, OperandsDominate) {
  expect_broken(2, [](Subject& s) { s.corrupt.set_operand(kSqrt, 0, kSqrt); });
  expect_broken(2, [](Subject& s) { s.corrupt.set_operand(kInner, 0, kSqrt); });
  expect_broken(2, [](Subject& s) { s.corrupt.set_operand(kSqrt, 0, NodeId()); });
  expect_broken(2, [](Subject& s) { s.corrupt.set_operand(kSqrt, 0, NodeId(1000)); });
  expect_broken(2, [](Subject& s) { s.corrupt.set_operand(kSqrt, 0, kInner); });
  expect_broken(2, [](Subject& s) { s.corrupt.set_operand(kInner, 0, kIf); });
  expect_broken(2, [](Subject& s) { s.corrupt.set_operand(kReturn, 0, kCheck); });
}

/// A region that was suspended may not use nodes made meanwhile outside, though it is older.
TEST(Verifier, ResumedRegionsSeeOnlyWhatComesBefore) {
  Module module;
  Builder builder(module, "f");
  builder.set_folding(false);
  const NodeId condition = builder.add_parameter(kBool, {.name = "c"});
  const NodeId node = builder.begin(Op::if_, {&condition, 1}, {}, std::vector<Type>{kBool});
  builder.enter(node, 0, {});
  const RegionId arm = builder.suspend();
  builder.enter(node, 1, {});
  builder.yield({condition});
  builder.end(node);
  const NodeId late = builder.make(Op::invert, {condition});
  builder.resume(arm);
  builder.yield({late});
  builder.terminate(Op::return_, {});
  const auto function = builder.finish({});
  expect_fault(*function, 2);
  EXPECT_EQ(text_number(*function, late), 4u);
}

TEST(Verifier, TypesAreInferred) {
  expect_broken(3, [](Subject& s) { s.corrupt.nodes[kSqrt.index].type = kInt64; });
  expect_broken(3, [](Subject& s) { s.corrupt.nodes[kInner.index].op = Op::bitwise_or; });
  expect_broken(3, [](Subject& s) { s.corrupt.nodes[kFirstResult.index].type = kInt64; });
  expect_broken(3, [](Subject& s) { s.corrupt.set_operand(kCheck, 0, NodeId(1)); });
}

TEST(Verifier, AttributesFollowTheSchema) {
  expect_broken(4, [](Subject& s) { s.corrupt.set_attribute(kFor, 0, 9); });
  expect_broken(4, [](Subject& s) { s.corrupt.set_attribute(kFor, 0, -1); });
  expect_broken(4, [](Subject& s) { s.corrupt.set_attribute(kCheck, 0, base::kExceptionCount); });
  expect_broken(4, [](Subject& s) { s.corrupt.set_attribute(kCheck, 1, 1000); });
  expect_broken(4, [](Subject& s) { s.corrupt.set_attribute(kConstant, 0, 2); });
  expect_broken(4, [](Subject& s) { s.corrupt.set_attribute(kConstant, 1, 1); });
  expect_broken(4, [](Subject& s) { s.corrupt.nodes[kFor.index].attribute_count = 1; });
  expect_broken(4, [](Subject& s) { s.corrupt.nodes[kSqrt.index].attribute_count = 1; });
}

TEST(Verifier, AttributesOfCallsAndCombiners) {
  const auto module = parse(
      "func @f(%n: i64, %a: array<f64, 1>) -> () {\n"
      "  call %n, %a {function=@f, catches=0}\n"
      "  %s = reduce %a {combiner=add, axes=[0]} : f64\n"
      "  return\n"
      "}\n",
      "calls.ir");
  Function& function = *module->function(FunctionId(0));
  ASSERT_TRUE(verify(function, Stage::Array).empty());
  Corrupt corrupt(function);
  corrupt.set_attribute(NodeId(2), 0, 1);
  corrupt.set_attribute(NodeId(3), 0, kOpCount);
  expect_fault(function, 4);
}

TEST(Verifier, ResultsFollowTheirNode) {
  expect_broken(5, [](Subject& s) { s.corrupt.set_attribute(kFirstResult, 0, 1); });
  expect_broken(5, [](Subject& s) { s.corrupt.nodes[kFor.index].type = kFloat64; });
  expect_broken(5, [](Subject& s) { s.corrupt.set_operand(kSqrt, 0, kFor); });
  expect_broken(5, [](Subject& s) { s.corrupt.set_operand(kSecondResult, 0, kConstant); });
}

TEST(Verifier, ResultsOccurNowhereElse) {
  Module module;
  Builder builder(module, "f");
  builder.set_folding(false);
  const NodeId n = builder.add_parameter(kInt64, {.name = "n"});
  const NodeId node = builder.begin(Op::for_, std::vector<NodeId>{n, n, n}, std::vector<int64_t>{0, 0});
  builder.enter(node, 0, std::vector<Type>(3, kInt64));
  builder.yield({n, n});
  builder.end(node);
  builder.make(Op::result, {node}, {1});
  builder.terminate(Op::return_, {});
  const auto function = builder.finish({});
  expect_fault(*function, 5);
  EXPECT_NE(print(*function).find("%8 = result %1 {index=1} : i64"), std::string::npos) << print(*function);
}

TEST(Verifier, TypesOfRegions) {
  expect_broken(7, [](Subject& s) { s.corrupt.nodes[kLoopIndex.index].type = kInt32; });
  expect_broken(7, [](Subject& s) { s.corrupt.set_operand(kInnerYield, 0, NodeId(2)); });
}

TEST(Verifier, LabelsAreForExits) {
  Module module;
  Builder builder(module, "f");
  builder.set_folding(false);
  const NodeId node = builder.begin(Op::block, {});
  const auto label = builder.enter(node, 0, std::vector<Type>{Type::label()});
  builder.make(Op::some, label);
  builder.yield({});
  builder.end(node);
  builder.terminate(Op::return_, {});
  expect_fault(*builder.finish({}), 8);
}

TEST(Verifier, RegionsListTheirNodes) {
  expect_broken(13, [](Subject& s) { s.corrupt.nodes[kSqrt.index].parent = RegionId(1); });
  expect_broken(13, [](Subject& s) { s.corrupt.nodes[kSqrt.index].parent = RegionId(); });
  expect_broken(13,
                [](Subject& s) { std::swap(s.corrupt.regions[2].nodes[0], s.corrupt.regions[2].nodes[1]); });
  expect_broken(13, [](Subject& s) { s.corrupt.regions[2].nodes.erase(s.corrupt.regions[2].nodes.begin()); });
  expect_broken(13, [](Subject& s) { s.corrupt.regions[2].nodes.push_back(NodeId(1000)); });
  expect_broken(13, [](Subject& s) { s.corrupt.regions[2].owner = kFor; });
  expect_broken(13, [](Subject& s) { s.corrupt.regions[2].owner = NodeId(); });
  expect_broken(13, [](Subject& s) { s.corrupt.nodes[kIf.index].first_region = 3; });
  expect_broken(13, [](Subject& s) { s.corrupt.nodes[kIf.index].region_count = 1; });
}

TEST(Verifier, AtMostTwentyFaults) {
  std::string text = "func @f(%a: array<f64, 1>) -> () {\n";
  for (int i = 0; i < 50; ++i) text += "  add %a, %a : array<f64, 1>\n";
  const auto module = parse(text + "  return\n}\n", "many.ir");
  EXPECT_EQ(verify(*module->function(FunctionId(0)), Stage::Loop).size(), 20u);
  EXPECT_TRUE(verify(*module->function(FunctionId(0)), Stage::Array).empty());
}

TEST(Verifier, ThrowsWithTheBlame) {
  Subject subject;
  EXPECT_NO_THROW(verify_or_throw(subject.function, Stage::Array, "parse"));
  subject.corrupt.nodes[kSqrt.index].type = kInt64;
  try {
    verify_or_throw(subject.function, Stage::Array, "simplify");
    FAIL() << "nothing was thrown";
  } catch (const base::InternalError& error) {
    EXPECT_STREQ(error.what(),
                 "after simplify, function f:\n"
                 "  invariant 3 at node 16, %16 = sqrt %9 : i64: is of type i64, should be f64");
  }
}

/// A launch around a body; the barriers in it that are reported, by node.
size_t faulty_barriers(const std::string& body) {
  const std::string text =
      "func @f(%n: i64, %v: view<i64, 1>) -> () {\n"
      "launch %n, %n, %n, %n, %n, %n {\n"
      "^(%bx: i64, %by: i64, %bz: i64, %tx: i64, %ty: i64, %tz: i64):\n"
      "%zero = constant 0 : i64\n"
      "%mine = equal %tx, %zero : bool\n" +
      body + "yield }\nreturn }\n";
  const auto module = parse(text, "launch.ir");
  const auto faults = verify(*module->function(FunctionId(0)), Stage::Loop);
  for (const Fault& fault : faults) EXPECT_EQ(fault.invariant, 10);
  return faults.size();
}

TEST(Verifier, UniformValuesMayDecideOverBarriers) {
  EXPECT_EQ(faulty_barriers("barrier {scope=block}\n"), 0u);
  EXPECT_EQ(faulty_barriers("%c = less %bz, %n : bool if %c { barrier {scope=block} yield } { yield }\n"),
            0u);
  EXPECT_EQ(
      faulty_barriers("%k, %l = if %mine : (i64, i64) { yield %n, %n } { yield %n, %zero }\n"
                      "for %k {schedule=serial, width=0} { ^(%i: i64): barrier {scope=block} yield }\n"),
      1u);
  EXPECT_EQ(faulty_barriers("%w = while %n : i64 { ^(%i: i64): %c = less %zero, %i : bool yield %c, %i }\n"
                            "{ ^(%i: i64): barrier {scope=block} yield %zero }\n"),
            0u);
}

TEST(Verifier, WhatAllThreadsSeeIsUniform) {
  const std::string loop = "for %x {schedule=serial, width=0} { ^(%i: i64): barrier {scope=block} yield }\n";
  EXPECT_EQ(faulty_barriers("%x = load %v, %bx : i64\n" + loop), 0u);
  EXPECT_EQ(faulty_barriers("%y = vote %mine {question=count, scope=block} : i32\n"
                            "%x = cast %y : i64\n" +
                            loop),
            0u);
  EXPECT_EQ(faulty_barriers("%m = constant 1 : u32 %y = vote %m, %mine {question=ballot, scope=warp} : u32\n"
                            "%x = cast %y : i64\n" +
                            loop),
            1u);
  EXPECT_EQ(
      faulty_barriers("%y = vote %mine {question=count, scope=block} : i32 %x = cast %y : i64\n"
                      "for %x {schedule=serial, width=0} { ^(%i: i64): barrier {scope=device} yield }\n"),
      1u);
}

TEST(Verifier, BarriersOfAllBlocksWantWhatAllBlocksSee) {
  EXPECT_EQ(faulty_barriers("barrier {scope=device}\n"), 0u);
  EXPECT_EQ(faulty_barriers("%c = less %bz, %n : bool if %c { barrier {scope=device} yield } { yield }\n"),
            1u);
  EXPECT_EQ(faulty_barriers("%x = load %v, %zero : i64 %c = less %x, %n : bool\n"
                            "if %c { barrier {scope=device} yield } { yield }\n"),
            0u);
}

TEST(Verifier, MasksDefineWhoComes) {
  EXPECT_EQ(faulty_barriers("if %mine { %m = constant 1 : u32 barrier %m {scope=warp}\n"
                            "  %c = vote %m, %mine {question=any, scope=warp} : bool\n"
                            "  %s = match %m, %n {agreement=some} : u32\n"
                            "  %l = constant 0 : i32 %y = shuffle %m, %n, %l {source=index, width=32} : i64\n"
                            "  %a = active : u32 yield } { yield }\n"),
            0u);
  EXPECT_EQ(
      faulty_barriers("if %mine { %c = vote %mine {question=any, scope=block} : bool yield } { yield }\n"),
      1u);
}

TEST(Verifier, VaryingValuesSpread) {
  // Through a loop's carried value, in its second iteration.
  EXPECT_EQ(faulty_barriers("for %n, %zero, %zero {schedule=serial, width=0} : (i64, i64) {\n"
                            "^(%i: i64, %a: i64, %b: i64):\n"
                            "  %c = less %a, %i : bool\n"
                            "  if %c { barrier {scope=block} yield } { yield }\n"
                            "  yield %b, %tx }\n"),
            1u);
  // Through an exit's value, and through the threads that took it.
  EXPECT_EQ(
      faulty_barriers("%r = block : i64 { ^(%l: label):\n"
                      "  if %mine { exit %l, %n } { yield }\n"
                      "  yield %zero }\n"
                      "for %r {schedule=serial, width=0} { ^(%i: i64): barrier {scope=block} yield }\n"),
      1u);
  EXPECT_EQ(
      faulty_barriers("%x = load %v, %tx : i64\n"
                      "for %x {schedule=serial, width=0} { ^(%i: i64): barrier {scope=block} yield }\n"),
      1u);
  EXPECT_EQ(
      faulty_barriers("%eight = constant 8 : i64 %b = alloc %eight {life=call} : buffer<local>\n"
                      "%w = view %b, %zero : view<i64, 0, local> %x = load %w : i64\n"
                      "for %x {schedule=serial, width=0} { ^(%i: i64): barrier {scope=block} yield }\n"),
      1u);
  EXPECT_EQ(
      faulty_barriers("%x = atomic %v, %zero, %n {combiner=add, scope=block, order=relaxed} : i64\n"
                      "for %x {schedule=serial, width=0} { ^(%i: i64): barrier {scope=block} yield }\n"),
      1u);
}

/// The exit is younger than the barrier, and comes before it all the same.
TEST(Verifier, ResumedExitsAreWhereTheirRegionIs) {
  Module module;
  Builder builder(module, "f");
  builder.set_folding(false);
  const NodeId n = builder.add_parameter(kInt64, {.name = "n"});
  const NodeId launch = builder.begin(Op::launch, std::vector<NodeId>(6, n));
  const auto indices = builder.enter(launch, 0, std::vector<Type>(6, kInt64));
  const NodeId condition = builder.make(Op::equal, {indices[3], n});
  const NodeId block = builder.begin(Op::block, {});
  const auto label = builder.enter(block, 0, std::vector<Type>{Type::label()});
  const NodeId choice = builder.begin(Op::if_, {&condition, 1});
  builder.enter(choice, 0, {});
  const RegionId arm = builder.suspend();
  builder.enter(choice, 1, {});
  builder.yield({});
  builder.end(choice);
  builder.make(Op::barrier, {}, {static_cast<int64_t>(Scope::Block)});
  builder.resume(arm);
  builder.terminate(Op::exit_, label);
  builder.yield({});
  builder.end(block);
  builder.make(Op::fence, {}, {static_cast<int64_t>(Scope::Block)});
  builder.yield({});
  builder.end(launch);
  builder.terminate(Op::return_, {});
  expect_fault(*builder.finish({}), 10, Stage::Loop);
}

TEST(Verifier, ThreadsThatLeftMissLaterBarriers) {
  const std::string leave = "  if %mine { exit %l } { yield }\n";
  const std::string barrier = "  barrier {scope=block}\n";
  const auto block = [](const std::string& body) { return "block { ^(%l: label):\n" + body + "  yield }\n"; };
  const auto loop = [](const std::string& body) {
    return "for %n {schedule=serial, width=0} { ^(%i: i64):\n" + body + "  yield }\n";
  };
  const std::string more = "  fence {scope=block}\n";
  EXPECT_EQ(faulty_barriers(block(leave + barrier) + more), 1u);
  EXPECT_EQ(faulty_barriers(block(barrier + leave)), 0u);
  EXPECT_EQ(faulty_barriers(block(leave) + barrier), 0u);
  EXPECT_EQ(faulty_barriers(block(loop(barrier + leave)) + more), 1u);
  EXPECT_EQ(faulty_barriers(loop(block(barrier + leave))), 0u);
  EXPECT_EQ(faulty_barriers(block(loop(barrier) + leave)), 0u);
  // Threads that have ended are not waited for.
  EXPECT_EQ(faulty_barriers(block(leave + barrier)), 0u);
  EXPECT_EQ(faulty_barriers(block(loop(barrier + leave))), 0u);
  EXPECT_EQ(faulty_barriers(loop(block(leave + barrier))), 1u);
  EXPECT_EQ(faulty_barriers("block { ^(%k: label):\n" + block(leave + barrier) + "  yield }\n"), 0u);
}

/// Derived from effects; the list is that of today.
TEST(HostOnly, IsWhatTheHostAloneRuns) {
  std::string names;
  for (int i = 0; i < kOpCount; ++i)
    if (host_only(static_cast<Op>(i))) names += std::string(name_of(static_cast<Op>(i))) + " ";
  EXPECT_EQ(names, "call library draw host c_call c_value keep sort_line argsort_line ");
}

}  // namespace
}  // namespace ingot::ir
