#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "run.h"

namespace ingot::codegen {
namespace {

constexpr int kNests = 24;

/// A nest of a chain over the view; `#` is replaced by its number.
constexpr std::string_view kNest = R"(  %c# = constant #.25 : f64
  for %axis {schedule=threads_vector, width=0} {
  ^(%i#: i64):
    %e# = load %v, %i# : f64
    %s# = OP %e# : f64
    %a# = add %s#, %c# : f64
    store %v, %i#, %a#
    yield
  }
)";

/// Many nests over a view, a routine that calls itself, and at last a check that may fail.
std::string many_nests() {
  std::string text = R"(func @f(%v: view<f64, 1>, %m: i64) -> (i64) {
  %axis = length %v {axis=0} : i64
)";
  constexpr const char* ops[] = {"sin", "exp", "sqrt"};
  for (int i = 0; i < kNests; ++i) {
    std::string nest(kNest);
    nest.replace(nest.find("OP"), 2, ops[i % 3]);
    for (size_t at = nest.find('#'); at != std::string::npos; at = nest.find('#', at))
      nest.replace(at, 1, std::to_string(i));
    text += nest;
  }
  return text + R"(  %r = call %m {function=@factorial, catches=0} : i64
  %most = constant 1000 : i64
  %small = less %r, %most : bool
  check %small, %r {kind=ValueError, message="too large: {}"}
  return %r
}
func @factorial(%n: i64) -> (i64) {
  %one = constant 1 : i64
  %more = greater %n, %one : bool
  %r = if %more : i64 {
    %m = subtract %n, %one : i64
    %rest = call %m {function=@factorial, catches=0} : i64
    %p = multiply %n, %rest : i64
    yield %p
  } {
    yield %one
  }
  return %r
})";
}

driver::CompileOptions with_threads(unsigned threads) {
  return {Target::host(), {.verify = true, .threads = threads}};
}

struct Seen {
  std::vector<double> values;
  int64_t result = 0;
  runtime::Status status = 0;
  std::string message;
};

Seen run(Program& program, int64_t m) {
  Seen seen;
  for (int i = 0; i < 1000; ++i) seen.values.push_back(0.37 * i);
  ViewArgument view(seen.values.data(), {1000}, sizeof(double));
  seen.status = program.call({&view, &m, &seen.result});
  if (seen.status != 0) seen.message = program.message();
  return seen;
}

TEST(Shares, AreOneProgramAgain) {
  Program whole(many_nests(), with_threads(1));
  for (const unsigned threads : {2U, 3U, 8U, 64U}) {
    Program parts(many_nests(), with_threads(threads));
    for (const int64_t m : {0, 5, 6, 8}) {
      const Seen expected = run(whole, m);
      const Seen seen = run(parts, m);
      EXPECT_EQ(seen.values, expected.values) << threads;
      EXPECT_EQ(seen.status, expected.status);
      EXPECT_EQ(seen.message, expected.message);
      EXPECT_EQ(seen.message.empty(), m < 8);
      EXPECT_EQ(seen.result, expected.result);
    }
  }
}

TEST(Shares, ShowOnlyTheEntry) {
  const Program parts(many_nests(), with_threads(4));
  size_t functions = 0;
  for (const auto& symbol : parts.f.object->code().symbols()) {
    functions += symbol.is_function ? 1 : 0;
    EXPECT_EQ(symbol.is_global, symbol.name == entry_symbol("f")) << symbol.name;
  }
  EXPECT_GT(functions, 4U);
}

TEST(Shares, SameThreadsGiveTheSameBytes) {
  EXPECT_EQ(Program(many_nests(), with_threads(4)).f.bytes, Program(many_nests(), with_threads(4)).f.bytes);
}

TEST(Shares, OfSmallProgramsAreOne) {
  constexpr const char* text = "func @f(%a: i64) -> (i64) {\n  %b = add %a, %a : i64\n  return %b\n}";
  EXPECT_EQ(Program(text, with_threads(8)).f.bytes, Program(text, with_threads(1)).f.bytes);
}

}  // namespace
}  // namespace ingot::codegen
