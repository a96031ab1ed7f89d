#include <numeric>

#include "interpreter_helpers.h"

namespace ingot::ir {
namespace {

std::vector<double> counted(size_t count) {
  std::vector<double> values(count);
  std::iota(values.begin(), values.end(), 0.0);
  return values;
}

TEST(InterpreterMemory, ReadsViewsOfAnyStride) {
  const Program program(
      "func @f(%v: view<f64, 2>) -> (array<f64, 2>) {\n  %a = read %v : array<f64, 2>\n  return %a\n}");
  std::vector<double> memory = counted(12);
  ViewValue view = view_of(memory, {3, 4});
  view.lengths = {4, 3};
  view.strides = {8, 32};
  EXPECT_EQ(elements_of<double>(program.results({view})[0]),
            (std::vector<double>{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
  view.lengths = {2, 3};
  view.strides = {0, -16};
  view.offset = 11 * 8;
  EXPECT_EQ(elements_of<double>(program.results({view})[0]), (std::vector<double>{11, 9, 7, 11, 9, 7}));
  view.lengths = {0, 3};
  EXPECT_TRUE(elements_of<double>(program.results({view})[0]).empty());
}

TEST(InterpreterMemory, ReadsMisalignedViewsAndOddBools) {
  std::vector<std::byte> memory(33);
  const double x = 2.5;
  std::memcpy(memory.data() + 1, &x, sizeof x);
  memory[32] = std::byte{0xa5};
  auto block = std::make_shared<MemoryBlock>();
  block->data = memory.data();
  block->size = 33;
  const Program program(R"(
func @f(%v: view<f64, 1>, %b: view<bool, 1>, %i: i64) -> (f64, bool, array<bool, 1>) {
  %x = load %v, %i : f64
  %y = load %b, %i : bool
  %a = read %b : array<bool, 1>
  return %x, %y, %a
})");
  const auto results = program.results({ViewValue{DType::Float64, block, 1, {4}, {8}},
                                        ViewValue{DType::Bool, block, 32, {1}, {1}}, number<int64_t>(0)});
  EXPECT_EQ(as_number<double>(results[0]), 2.5);
  EXPECT_EQ(std::get<base::Scalar>(results[1]).bits[0], 1u);
  EXPECT_EQ(elements_of<uint8_t>(results[2]), (std::vector<uint8_t>{1}));
}

TEST(InterpreterMemory, RefusesViewsOutsideTheirBlock) {
  const Program program("func @f(%v: view<f64, 1>) -> () {\n  return\n}");
  std::vector<double> memory = counted(4);
  ViewValue view = view_of(memory);
  view.lengths = {5};
  EXPECT_NE(program.fault({view}).find("argument 0"), std::string::npos);
  view.lengths = {4};
  view.strides = {std::numeric_limits<int64_t>::max()};
  EXPECT_NE(program.fault({view}).find("argument 0"), std::string::npos);
  view.strides = {-8};
  EXPECT_NE(program.fault({view}).find("argument 0"), std::string::npos);
  view.offset = 24;
  EXPECT_FALSE(program.run({view}).raised);
}

constexpr std::string_view kView = R"(
func @f(%b: buffer, %o: i64, %n: i64, %s: i64, %i: i64) -> (f64) {
  %v = view %b, %o, %n, %s : view<f64, 1>
  %x = load %v, %i : f64
  return %x
})";

TEST(InterpreterMemory, FindsBadViewsAndIndices) {
  const Program program(kView);
  std::vector<double> memory = counted(4);
  const BlockRef block = view_of(memory).block;
  const auto fault = [&](int64_t offset, int64_t length, int64_t stride, int64_t index) {
    return program.fault({block, number(offset), number(length), number(stride), number(index)});
  };
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  EXPECT_NE(fault(0, 5, 8, 0).find("outside its buffer"), std::string::npos);
  EXPECT_NE(fault(-8, 2, 8, 0).find("outside its buffer"), std::string::npos);
  EXPECT_NE(fault(kMax, kMax, kMax, 0).find("outside its buffer"), std::string::npos);
  EXPECT_NE(fault(0, -1, 8, 0).find("negative length"), std::string::npos);
  EXPECT_NE(fault(0, 4, 8, 4).find("index 4 is out of range 4"), std::string::npos);
  EXPECT_NE(fault(0, 4, 8, -1).find("load"), std::string::npos);
  EXPECT_NE(fault(kMax, 0, kMax, kMax).find("out of range"), std::string::npos);
  const auto results = program.results(
      {block, number<int64_t>(24), number<int64_t>(4), number<int64_t>(-8), number<int64_t>(1)});
  EXPECT_EQ(as_number<double>(results[0]), 2.0);
}

TEST(InterpreterMemory, StoresBehaveAsIfEvaluatedFirst) {
  // v[1:] = v[:-1] moves, in any order of the copying.
  const Program program(R"(
func @f(%v: view<f64, 1>) -> () {
  %zero = constant 0 : i64
  %one = constant 1 : i64
  %n = length %v {axis=0} : i64
  %m = subtract %n, %one : i64
  %left = slice %v, %zero, %m, %one : view<f64, 1>
  %right = slice %v, %one, %m, %one : view<f64, 1>
  copy %right, %left
  %a = read %left : array<f64, 1>
  %b = add %a, %a : array<f64, 1>
  write %right, %b
  return
})");
  std::vector<double> memory = counted(5);
  program.results({view_of(memory)});
  EXPECT_EQ(memory, (std::vector<double>{0, 0, 0, 2, 4}));
}

TEST(InterpreterMemory, ScattersInOrder) {
  const std::string_view text = R"(
func @f(%v: view<f64, 1>, %x: array<f64, 1>, %i: array<i64, 1>) -> () {
  scatter %v, %x, %i {combiner=OP, axes=[0]}
  return
})";
  const auto run = [&](const std::string& op, const std::vector<int64_t>& at) {
    std::string program(text);
    program.replace(program.find("OP"), 2, op);
    std::vector<double> memory{1, 1, 1};
    Program(program).results(
        {view_of(memory), array_of<double>({4}, {5, 6, 7, 8}), array_of<int64_t>({4}, at)});
    return memory;
  };
  EXPECT_EQ(run("constant", {0, 2, 0, 2}), (std::vector<double>{7, 1, 8}));
  EXPECT_EQ(run("add", {0, 2, 0, 2}), (std::vector<double>{13, 1, 15}));
  EXPECT_EQ(run("subtract", {1, 1, 1, 1}), (std::vector<double>{1, -25, 1}));
  EXPECT_THROW(run("add", {0, 3, 0, 0}), base::InternalError);
  EXPECT_THROW(run("add", {0, -1, 0, 0}), base::InternalError);
}

TEST(InterpreterMemory, RefusesUnequalLengths) {
  const Program program(R"(
func @f(%a: array<f64, 1>, %b: array<f64, 1>) -> (array<f64, 1>) {
  %c = add %a, %b : array<f64, 1>
  return %c
})");
  const Value two = array_of<double>({2}, {1, 2});
  const Value three = array_of<double>({3}, {1, 2, 3});
  EXPECT_NE(program.fault({two, three}).find("different lengths"), std::string::npos);
  EXPECT_EQ(elements_of<double>(program.results({three, three})[0]), (std::vector<double>{2, 4, 6}));
}

TEST(InterpreterMemory, RearrangesViewsWithoutCopying) {
  const Program program(R"(
func @f(%v: view<f64, 2>, %n: i64) -> (view<f64, 2>, view<f64, 1>, i64, i64) {
  %zero = constant 0 : i64
  %one = constant 1 : i64
  %back = constant -1 : i64
  %t = transpose %v {axes=[1, 0]} : view<f64, 2>
  %rows = length %t {axis=0} : i64
  %last = subtract %rows, %one : i64
  %columns = length %t {axis=1} : i64
  %turned = slice %t, %last, %rows, %back, %zero, %columns, %one : view<f64, 2>
  %flat = reshape %v, %n : view<f64, 1>
  %o = offset %turned : i64
  %s = stride %turned {axis=0} : i64
  return %turned, %flat, %o, %s
})");
  std::vector<double> memory = counted(6);
  const auto results = program.results({view_of(memory, {2, 3}), number<int64_t>(6)});
  const auto& turned = std::get<ViewValue>(results[0]);
  EXPECT_EQ(turned.lengths, (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(turned.strides, (std::vector<int64_t>{-8, 24}));
  EXPECT_EQ(as_number<int64_t>(results[2]), 16);
  EXPECT_EQ(as_number<int64_t>(results[3]), -8);
  EXPECT_EQ(std::get<ViewValue>(results[1]).block, turned.block);
  EXPECT_NE(program.fault({view_of(memory, {2, 3}), number<int64_t>(5)}).find("another number"),
            std::string::npos);
  ViewValue strided = view_of(memory, {2, 2});
  strided.strides = {24, 8};
  EXPECT_NE(program.fault({strided, number<int64_t>(4)}).find("not C-contiguous"), std::string::npos);
}

TEST(InterpreterMemory, RefusesWhatDoesNotFit) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"%r = squeeze %a {axes=[0]} : array<f64, 0>", "not 1 long"},
      {"%r = broadcast %a, %big : array<f64, 1>", "not 1 long"},
      {"%r = slice %a, %k, %k, %k : array<f64, 1>", "outside of the axis"},
      {"%r = slice %a, %zero, %k, %minus : array<f64, 1>", "outside of the axis"},
      {"%r = slice %a, %big, %k, %big : array<f64, 1>", "outside of the axis"},
      {"%r = reshape %a, %minus : array<f64, 1>", "negative length"},
      {"%r = reshape %a, %k : array<f64, 1>", "another number"},
      {"%r = iota %minus {axis=0} : array<i64, 1>", "negative length"},
      {"%r = compress %a, %m : array<f64, 1>", "mask of other lengths"},
      {"%e = slice %a, %k, %zero, %k : array<f64, 1>\n  %r = reduce %e {combiner=minimum, axes=[0]} : f64",
       "empty range"},
      {"%e = slice %a, %k, %zero, %k : array<f64, 1>\n  %r = arg_reduce %e {combiner=minimum, axis=-1} : i64",
       "empty range"},
      {"%r = alloc %minus {life=call} : buffer", "negative number"},
  };
  for (const auto& [line, message] : bad) {
    const Program program(
        "func @f(%a: array<f64, 1>, %m: array<bool, 1>) -> () {\n  %k = constant 2 : i64\n"
        "  %zero = constant 0 : i64\n  %minus = constant -2 : i64\n"
        "  %big = constant 9223372036854775807 : i64\n  " +
        line + "\n  return\n}");
    const Value no_mask = std::make_shared<const ArrayValue>(ArrayValue{DType::Bool, {0}, {}});
    const std::string fault = program.fault({array_of<double>({3}, {1, 2, 3}), no_mask});
    EXPECT_NE(fault.find(message), std::string::npos) << line << ": " << fault;
  }
}

TEST(InterpreterMemory, TooLargeIsMemoryError) {
  const Program program(R"(
func @f(%n: i64) -> () {
  %a = iota %n, %n {axis=0} : array<i64, 2>
  return
})");
  for (int64_t n : {int64_t{1} << 20, int64_t{1} << 40, std::numeric_limits<int64_t>::max()}) {
    const Outcome outcome = program.run({number(n)});
    ASSERT_TRUE(outcome.raised);
    EXPECT_EQ(outcome.exception.kind, base::ExceptionKind::MemoryError);
  }
}

TEST(InterpreterMemory, FreshMemoryDependsOnTheSeed) {
  const Program program(R"(
func @f() -> (i64) {
  %eight = constant 8 : i64
  %zero = constant 0 : i64
  %b = alloc %eight {life=call} : buffer
  %v = view %b, %zero : view<i64, 0>
  %x = load %v : i64
  return %x
})");
  InterpretOptions options;
  options.seed = 1;
  EXPECT_NE(as_number<int64_t>(program.results({})[0]), as_number<int64_t>(program.results({}, options)[0]));
}

}  // namespace
}  // namespace ingot::ir
