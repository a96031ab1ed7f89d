#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "ir/lexicon.h"
#include "ir/text.h"

namespace ingot::ir {
namespace {

std::string error_of(const std::string& text) {
  try {
    parse(text, "t.ir");
  } catch (const base::UserError& error) {
    return error.what();
  }
  return "no error";
}

/// The error of a function of one line, which begins at column 3 of line 2.
std::string body_error(const std::string& line) {
  return error_of("func @f(%x: f64, %n: i64, %c: bool) -> () {\n  " + line + "\n  return\n}\n");
}

std::string repeated(const std::string& text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

struct ErrorCase {
  std::string text;
  const char* message;
};

/// Holds `error` to the messages of its texts.
void check(const std::function<std::string(const std::string&)>& error, const std::vector<ErrorCase>& cases) {
  for (const ErrorCase& c : cases) EXPECT_EQ(error(c.text), c.message) << c.text.substr(0, 200);
}

TEST(Parser, ErrorsOfTheWhole) {
  check(error_of,
        {
            {"fun @f", "t.ir:1:1: expected 'func', found 'fun'"},
            {"func f", "t.ir:1:6: expected a name like @f, found 'f'"},
            {"func @", "t.ir:1:6: a name is missing after '@'"},
            {"func @f(", "t.ir:1:9: expected a parameter like %x, found the end of the text"},
            {"func @f() -> () {\n  return", "t.ir:2:9: the function has no closing '}'"},
            {"func @f() -> ()\nfunc @f(%x: f64) -> ()",
             "t.ir:2:6: function @f is declared with another signature"},
            {"func @f() -> () { return }\nfunc @f() -> () { return }",
             "t.ir:2:6: function @f is defined already"},
            {"func @f(%x: f64, %x: f64) -> () { return }", "t.ir:1:18: %x is defined already"},
            {"func @f(%x: f64 alias -1) -> () { return }", "t.ir:1:23: '-1' is not an integer in range"},
            {"func @f() -> () { return } !", "t.ir:1:28: unexpected character \"!\""},
            {std::string("\0", 1), "t.ir:1:1: unexpected character \"\\x00\""},
            {"func @\"f\n\"", "t.ir:1:6: the text has no closing quote"},
            {"func @\"\\q\"() -> ()", "t.ir:1:6: unknown escape in a text; known are \\\" \\\\ \\n \\x00"},
        });
}

TEST(Parser, ErrorsOfTypes) {
  const auto type_error = [](const std::string& type) { return error_of("func @f(%x: " + type + ") -> ()"); };
  check(type_error, {
                        {"f65", "t.ir:1:13: no type 'f65'"},
                        {"array<f64>", "t.ir:1:22: expected ',', found '>'"},
                        {"array<f65, 1>", "t.ir:1:19: no dtype 'f65'"},
                        {"array<f64, 17>", "t.ir:1:24: a rank is at least 0 and at most 16"},
                        {"view<f64, -1>", "t.ir:1:23: a rank is at least 0 and at most 16"},
                        {"view<f64, 1, moon>", "t.ir:1:26: no memory space 'moon'"},
                        {"optional<void>", "t.ir:1:22: no type 'void'"},
                        {"label", "t.ir:1:13: no type 'label'"},
                        {"(f64, f64)", "t.ir:1:13: expected a type, found '('"},
                        {repeated("optional<", 100000), "t.ir:1:598: types nest too deeply"},
                    });
}

TEST(Parser, ErrorsOfNodes) {
  check(body_error,
        {
            {"%y = frob %x", "t.ir:2:8: no op 'frob'"},
            {"%y = result %x {index=0}", "t.ir:2:8: 'result' nodes are not written: they are names"},
            {"%y = if_ %c", "t.ir:2:8: no op 'if_'"},
            {"%y = sin %z : f64", "t.ir:2:12: %z is not defined here"},
            {"%x = sin %x : f64", "t.ir:2:3: %x is defined already"},
            {"%y, %z = sin %x : f64", "t.ir:2:3: 'sin' gives 1 values"},
            {"%y = check %c {kind=ValueError, message=\"\"}", "t.ir:2:3: 'check' gives 0 values"},
            {"sin %x,", "t.ir:3:3: expected an operand like %x, found 'return'"},
            {"sin %x, %x", "t.ir:2:3: sin: wants 1 operands; operands (f64, f64)"},
            {"sin %n", "t.ir:2:3: sin: has no loop for this dtype; operands (i64)"},
            {"sin %x : f32", "t.ir:2:3: 'sin' gives f64, not f32"},
            {"check %c {kind=ValueError, message=\"\"} : f64", "t.ir:2:3: 'check' gives void, not f64"},
            {"cast %x", "t.ir:2:3: cast: keeps the shape; operands (f64)"},
            {"yield", "t.ir:3:3: expected '}', found 'return'"},
            {"%y = return", "t.ir:2:3: a terminator gives no value"},
            {"return : f64", "t.ir:2:3: a terminator has no type"},
            {"exit %x", "t.ir:2:3: exit: wants a label; operands (f64)"},
            {"block { ^(%l: label): some %l yield }",
             "t.ir:2:30: a label is the first operand of an exit and nothing else"},
        });
}

TEST(Parser, ErrorsOfAttributes) {
  check(body_error,
        {
            {"check %c", "t.ir:3:3: expected '{', found 'return'"},
            {"check %c {message=\"\"}", "t.ir:2:13: expected 'kind', found 'message'"},
            {"check %c {kind=Oops, message=\"\"}", "t.ir:2:18: 'Oops' is no kind"},
            {"check %c {kind=ValueError, message=no}", "t.ir:2:38: expected a text in quotes, found 'no'"},
            {"barrier {scope=here}", "t.ir:2:18: 'here' is no scope"},
            {"call {function=@g, catches=0}", "t.ir:2:18: no function @g"},
            {"library {routine=\"cook\", catches=0}", "t.ir:2:3: library: no routine cook; operands ()"},
            {"parallel_for %n, %x {schedule=serial, width=0, combiners=[plus]} {yield}",
             "t.ir:2:61: 'plus' is no combiners"},
            {"parallel_for %n, %x {schedule=serial, width=0, combiners=[subtract]} : f64 {yield}",
             "t.ir:2:3: parallel_for: combiner is an associative elementwise op for this dtype; operands "
             "(i64, f64)"},
            {"parallel_for %n {schedule=serial, width=1.5, combiners=[]} {yield}",
             "t.ir:2:43: '1.5' is not an integer in range"},
            {"parallel_for %n {schedule=serial, width=9223372036854775808, combiners=[]} {yield}",
             "t.ir:2:43: '9223372036854775808' is not an integer in range"},
        });
}

TEST(Parser, ErrorsOfRegions) {
  const std::string deep = "block { ";
  check(body_error,
        {
            {"if %c { yield }", "t.ir:3:3: expected '{', found 'return'"},
            {"if %c { } { yield }", "t.ir:2:11: the region does not end in a terminator"},
            {"if %c { ^(): yield } { yield }", "t.ir:2:13: expected a parameter like %x, found ')'"},
            {"if %c { ^(%x: f64): yield } { yield }", "t.ir:2:13: %x is defined already"},
            {"%i = if %c : f64 { sin %i yield %x } { yield %x }", "t.ir:2:26: %i is not defined here"},
            {repeated(deep, 100000) + repeated("}", 100000), "t.ir:2:4009: regions nest too deeply"},
        });
}

TEST(Parser, ErrorsOfConstants) {
  const auto constant_error = [](const std::string& text) { return body_error("constant " + text); };
  check(constant_error,
        {
            {"1 : array<f64, 1>", "t.ir:2:16: constants are scalars"},
            {"300 : u8", "t.ir:2:12: '300' is no u8"},
            {"-1 : u64", "t.ir:2:12: '-1' is no u64"},
            {"1.5 : i64", "t.ir:2:12: '1.5' is no i64"},
            {"1 : bool", "t.ir:2:12: '1' is no bool"},
            {"0x2 : bool", "t.ir:2:12: '0x2' is no bool"},
            {"0x100 : i8", "t.ir:2:12: '0x100' is no i8"},
            {"0x10000000000000000 : f64", "t.ir:2:12: '0x10000000000000000' is no f64"},
            {"1e999 : f64", "t.ir:2:12: '1e999' is no f64"},
            {"65520.0 : f16", "t.ir:2:12: '65520.0' is no f16"},
            {"-nan : f64", "t.ir:2:12: '-nan' is no f64"},
            {"infinity : f64", "t.ir:2:12: 'infinity' is no f64"},
            {"1.0 : c128", "t.ir:2:12: complex constants, and no others, are written (re, im)"},
            {"(1, 2) : f64", "t.ir:2:12: complex constants, and no others, are written (re, im)"},
        });
}

TEST(Parser, ErrorsOfLocations) {
  check(body_error, {
                        {"sin %x at 3", "t.ir:2:13: expected a text in quotes, found '3'"},
                        {"sin %x at \"f.py\":3:-4-9", "t.ir:2:22: '-4' is not an integer in range"},
                        {"sin %x at \"f.py\":3:4-9 inlined", "t.ir:3:3: expected 'at', found 'return'"},
                    });
}

TEST(Parser, ReadsIntoAModule) {
  Module module;
  parse_into(module, "func @f(%x: i64) -> (i64)\n", "one.ir");
  EXPECT_EQ(module.function(FunctionId(0)), nullptr);
  parse_into(module,
             "func @g(%a: i64) -> (i64) {\n"
             "  %b = call %a {function=@f, catches=0} : i64\n  return %b }\n"
             "func @f(%x: i64) -> (i64) { return %x }\n",
             "two.ir");
  EXPECT_NE(module.function(FunctionId(0)), nullptr);
  EXPECT_EQ(module.function_count(), 2u);
  EXPECT_THROW(parse_into(module, "func @f(%x: i64) -> (i64) { return %x }", "three.ir"), base::UserError);
}

TEST(Parser, DeepRegionsRoundTrip) {
  std::string body;
  for (int i = 0; i < 400; ++i) body += "block { ^(%l" + std::to_string(i) + ": label): ";
  const auto module = parse("func @f() -> () { " + body + repeated("yield } ", 400) + "return }", "deep.ir");
  const std::string once = print(*module);
  EXPECT_EQ(print(*parse(once, "deep.ir")), once);
}

TEST(Parser, NodesAreAsWritten) {
  const auto module = parse(
      "func @f(%x: f64) -> (f64) {\n  %a = constant 1.0 : f64\n  %b = constant 1.0 : f64\n"
      "  %c = add %a, %b : f64\n  return %c\n}\n",
      "t.ir");
  EXPECT_EQ(module->function(FunctionId(0))->node_count(), 5u);
}

TEST(Parser, NamesOfClosedRegionsMayBeUsedAgain) {
  EXPECT_EQ(body_error("if %c { %y = sin %x yield } { %y = cos %x yield } %y = tan %x"), "no error");
}

/// Every bit pattern of a dtype's literal is read back, NaNs included.
TEST(Literals, EveryHalfReadsBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const base::Scalar value{{bits, 0}};
    const std::string text = literal(DType::Float16, value);
    ASSERT_EQ(read_number(DType::Float16, text), value) << text;
  }
}

TEST(Literals, RandomBitsReadBack) {
  uint64_t state = 1;
  for (int i = 0; i < 20000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const base::Scalar wide{{state, 0}};
    EXPECT_EQ(read_number(DType::Float64, literal(DType::Float64, wide)), wide);
    EXPECT_EQ(read_number(DType::Int64, literal(DType::Int64, wide)), wide);
    EXPECT_EQ(read_number(DType::UInt64, literal(DType::UInt64, wide)), wide);
    const base::Scalar narrow{{state >> 32, 0}};
    EXPECT_EQ(read_number(DType::Float32, literal(DType::Float32, narrow)), narrow);
    EXPECT_EQ(read_number(DType::UInt32, literal(DType::UInt32, narrow)), narrow);
  }
}

TEST(Printer, OneNodeOnOneLine) {
  const auto module = parse(
      "func @f(%n: i64) -> () {\n  %s = for %n, %n {schedule=serial, width=0} : i64 {\n"
      "  ^(%i: i64, %a: i64):\n    yield %i\n  }\n  return\n}\n",
      "t.ir");
  const Function& function = *module->function(FunctionId(0));
  EXPECT_EQ(print_node(function, NodeId(1)), "%1 = for %n, %n {schedule=serial, width=0} : i64 {...}");
  EXPECT_EQ(print_node(function, NodeId(0)), "%n = param {index=0} : i64");
}

}  // namespace
}  // namespace ingot::ir
