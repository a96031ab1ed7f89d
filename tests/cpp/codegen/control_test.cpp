#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "ir/interpreter.h"
#include "run.h"

namespace ingot::codegen {
namespace {

using base::Scalar;

/// Calls f with these scalars, compiled and interpreted: equal results and exceptions. Gives the status.
runtime::Status compare(Program& program, const std::vector<Scalar>& arguments) {
  std::vector<ir::Value> values(arguments.begin(), arguments.end());
  const ir::Outcome expected = ir::interpret(*program.module, *program.module->find("f"), values);
  std::vector<Scalar> given = arguments;
  std::vector<Scalar> results(program.f.interface.results.size());
  std::vector<void*> slots;
  for (Scalar& argument : given) slots.push_back(&argument.bits);
  for (Scalar& result : results) slots.push_back(&result.bits);
  const runtime::Status status = program.call(slots);
  EXPECT_EQ(status != 0, expected.raised) << program.message();
  if (status != 0) {
    EXPECT_EQ(runtime::exception_of(status), expected.exception.kind);
    EXPECT_EQ(program.message(), expected.exception.message);
    return status;
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const Scalar wanted = std::get<Scalar>(expected.results[i]);
    EXPECT_EQ(results[i], wanted) << i << ": " << results[i].as<double>() << ", not " << wanted.as<double>();
  }
  return status;
}

TEST(Control, LeavesThreeLoopsByOneExit) {
  Program p(R"(func @f(%n: i64, %stop: i64) -> (i64, i64) {
  %zero = constant 0 : i64
  %one = constant 1 : i64
  %a, %b = block : (i64, i64) {
  ^(%out: label):
    %s = for %n, %zero {schedule=serial, width=0} : i64 {
    ^(%i: i64, %t: i64):
      %u = for %n, %t {schedule=serial, width=0} : i64 {
      ^(%j: i64, %v: i64):
        %w = while %v : i64 {
        ^(%x: i64):
          %y = remainder %x, %n : i64
          %more = not_equal %y, %zero : bool
          yield %more, %x
        } {
        ^(%x2: i64):
          %x3 = add %x2, %one : i64
          %hit = equal %x3, %stop : bool
          if %hit {
            exit %out, %x3, %j
          } {
            yield
          }
          yield %x3
        }
        %w2 = add %w, %one : i64
        yield %w2
      }
      yield %u
    }
    yield %s, %n
  }
  return %a, %b
})");
  for (int64_t n : {-1, 0, 1, 2, 7})
    for (int64_t stop : {0, 1, 5, 17, 40}) compare(p, {Scalar::of(n), Scalar::of(stop)});
}

TEST(Control, NothingFollowsWhatIsAlwaysLeft) {
  Program p(R"(func @f(%n: i64) -> (i64) {
  %r = block : i64 {
  ^(%out: label):
    %zero = constant 0 : i64
    %big = less %zero, %n : bool
    %x = if %big : i64 {
      exit %out, %n
    } {
      raise %n {kind=ValueError, message="not positive: {}"}
    }
    unreachable
  }
  return %r
})");
  for (int64_t n : {-1, 0, 1, 2}) compare(p, {Scalar::of(n)});
}

TEST(Control, LoopsOfManyStripsCarryTheirValues) {
  Program p(R"(func @f(%n: i64) -> (f64, i64) {
  %x0 = constant 0.0 : f64
  %i0 = constant 1 : i64
  %x, %i = for %n, %x0, %i0 {schedule=serial, width=0} : (f64, i64) {
  ^(%k: i64, %a: f64, %b: i64):
    %r = cast %k : f64
    %q = constant 0.1 : f64
    %s = multiply %r, %q : f64
    %t = add %a, %s : f64
    %c = multiply %b, %k : i64
    %d = add %c, %k : i64
    yield %t, %d
  }
  return %x, %i
})");
  for (int64_t n : {0, 1, 65535, 65536, 65537, 131072, 200000}) compare(p, {Scalar::of(n)});
}

const char* const kReduction = R"(func @f(%n: i64, %init: T) -> (T, i64) {
  %zero = constant 0 : i64
  %r, %m = parallel_for %n, %init, %zero {schedule=serial, width=0, combiners=[OP, add]} : (T, i64) {
  ^(%k: i64):
    %seven = constant 2654435761 : i64
    %a = multiply %k, %seven : i64
    %mask = constant 1023 : i64
    %b = bitwise_and %a, %mask : i64
    %c = subtract %b, %zero : i64
    %x = cast %c : T
    %y = OTHER
    %z = multiply %x, %y : T
    yield %z, %b
  }
  return %r, %m
})";

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

TEST(Control, ParallelLoopsCombineInTheOrderOfReductions) {
  const struct {
    const char *type, *op, *constant;
  } cases[] = {{"f64", "add", "constant 0.1 : f64"},        {"f32", "add", "constant 0.1 : f32"},
               {"f64", "multiply", "constant 0.003 : f64"}, {"f64", "minimum", "constant -0.0 : f64"},
               {"f32", "fmax", "constant -0.0 : f32"},      {"c128", "add", "cast %x : c128"},
               {"c64", "multiply", "cast %x : c64"},        {"f16", "add", "cast %x : f16"},
               {"i32", "add", "constant 3 : i32"},          {"u8", "maximum", "constant 3 : u8"},
               {"u16", "lcm", "constant 3 : u16"},          {"i64", "gcd", "constant 6 : i64"}};
  for (const auto& c : cases) {
    SCOPED_TRACE(std::string(c.op) + " " + c.type);
    Program p(replaced(replaced(replaced(kReduction, "OTHER", c.constant), "OP", c.op), "T", c.type));
    const base::DType type = *base::dtype_from_name(c.type);
    for (int64_t n : {-3, 0, 1, 2, 31, 32, 33, 1023, 1024, 1025, 2048, 3000, 5000, 7 * 1024, 66000})
      compare(p, {Scalar::of(n), ir::evaluate_cast(base::DType::Float64, type, Scalar::of(0.7))});
  }
}

TEST(Control, ParallelLoopsRaiseWhatTheFirstIterationRaises) {
  Program p(R"(func @f(%n: i64) -> (f64) {
  %x = constant 0.0 : f64
  %r = parallel_for %n, %x {schedule=serial, width=0, combiners=[add]} : f64 {
  ^(%k: i64):
    %limit = constant 3000 : i64
    %ok = less %k, %limit : bool
    check %ok, %k {kind=IndexError, message="iteration {}"}
    yield %x
  }
  return %r
})");
  compare(p, {Scalar::of<int64_t>(3000)});
  compare(p, {Scalar::of<int64_t>(3001)});
  EXPECT_EQ(p.message(), "iteration 3000");
}

const char* const kMessages = R"(func @f(%a: i8, %b: u16, %c: f16, %d: bool, %e: f32, %g: u64) -> () {
  raise %a, %b, %c, %d, %e, %g {kind=ValueError, message="{} {} {} {} {} {}"}
})";

TEST(Control, MessagesShowTheirArguments) {
  Program p(kMessages);
  compare(p, {Scalar::of<int8_t>(-5), Scalar::of<uint16_t>(65535), Scalar::of(base::Half(1.5f)),
              Scalar::of(true), Scalar::of(0.25f), Scalar::of(~uint64_t{0})});
}

const char* const kCalls = R"(func @inner(%n: i64, %x: c128) -> (i64, bool, c128) {
  %zero = constant 0 : i64
  %ok = greater_equal %n, %zero : bool
  check %ok, %n {kind=KeyError, message="inner {}"}
  %y = multiply %x, %x : c128
  return %n, %ok, %y
}
func @f(%n: i64) -> (i32, i64, f64) {
  %x = cast %n : c128
  %status, %m, %b, %y = call %n, %x {function=@inner, catches=1} : (i32, i64, bool, c128)
  %zero32 = constant 0 : i32
  %failed = not_equal %status, %zero32 : bool
  %r = if %failed : f64 {
    %minus = constant -1.0 : f64
    yield %minus
  } {
    %m2, %b2, %y2 = call %m, %y {function=@inner, catches=0} : (i64, bool, c128)
    %re = real %y2 : f64
    yield %re
  }
  %two = constant 2 : i64
  %small = less %n, %two : bool
  %out = select %small, %n, %two : i64
  %one = constant 7 : i64
  %less = subtract %out, %one : i64
  %big = greater %n, %one : bool
  if %big {
    %m3, %b3, %y3 = call %less, %x {function=@inner, catches=0} : (i64, bool, c128)
    yield
  } {
    yield
  }
  return %status, %out, %r
})";

TEST(Control, CallsGiveResultsStatusesAndExceptions) {
  Program p(kCalls);
  for (int64_t n : {0, 3, -4}) EXPECT_EQ(compare(p, {Scalar::of(n)}), 0);
  EXPECT_NE(compare(p, {Scalar::of<int64_t>(9)}), 0);
  EXPECT_EQ(p.message(), "inner -5");
}

TEST(Control, OptionalsAreValues) {
  Program p(R"(func @f(%n: i64) -> (i8, i8, c128) {
  %two = constant 2 : i64
  %nought = constant (0.0, 0.0) : c128
  %unset = constant 9 : i8
  %odd = remainder %n, %two : i64
  %is = cast %odd : bool
  %o = if %is : optional<optional<c128>> {
    %x = constant (1.5, -2.5) : c128
    %inner = some %x : optional<c128>
    %s = some %inner : optional<optional<c128>>
    yield %s
  } {
    %e = none {tag=2} : optional<optional<c128>>
    yield %e
  }
  %tag = tag %o : i8
  %r, %q = if %is : (i8, c128) {
    %v = value %o : optional<c128>
    %inner_tag = tag %v : i8
    %number = value %v : c128
    yield %inner_tag, %number
  } {
    yield %unset, %nought
  }
  return %tag, %r, %q
})");
  for (int64_t n : {1, 4, 7}) compare(p, {Scalar::of(n)});
}

TEST(Control, RunawayRecursionRaises) {
  Program p(R"(func @f(%n: i64) -> (i64) {
  %one = constant 1 : i64
  %more = add %n, %one : i64
  %r = call %more {function=@f, catches=0} : i64
  %s = add %r, %one : i64
  return %s
})");
  int64_t n = 0;
  int64_t result = 0;
  EXPECT_EQ(p.call({&n, &result}), runtime::status_of(base::ExceptionKind::RecursionError));
  EXPECT_EQ(p.message(), "maximum recursion depth exceeded");
  runtime::Status status = 0;
  std::thread([&] { status = p.call({&n, &result}); }).join();
  EXPECT_EQ(status, runtime::status_of(base::ExceptionKind::RecursionError));
}

TEST(Control, RecursionCounts) {
  Program p(R"(func @f(%n: i64) -> (i64) {
  %two = constant 2 : i64
  %small = less %n, %two : bool
  %r = if %small : i64 {
    yield %n
  } {
    %one = constant 1 : i64
    %a = subtract %n, %one : i64
    %b = subtract %n, %two : i64
    %x = call %a {function=@f, catches=0} : i64
    %y = call %b {function=@f, catches=0} : i64
    %s = add %x, %y : i64
    yield %s
  }
  return %r
})");
  compare(p, {Scalar::of<int64_t>(15)});
}

/// Loops that would run for hours; each must see the flag within a second.
const char* const kEndless[] = {
    R"(func @f(%n: i64) -> () {
  for %n {schedule=serial, width=0} {
  ^(%k: i64):
    yield
  }
  return
})",
    R"(func @f(%n: i64) -> () {
  %small = constant 60000 : i64
  for %n {schedule=serial, width=0} {
  ^(%i: i64):
    for %small {schedule=serial, width=0} {
    ^(%j: i64):
      for %small {schedule=serial, width=0} {
      ^(%k: i64):
        yield
      }
      yield
    }
    yield
  }
  return
})",
    R"(func @f(%n: i64) -> () {
  while %n {
  ^(%i: i64):
    %zero = constant 0 : i64
    %more = greater_equal %i, %zero : bool
    yield %more, %i
  } {
  ^(%i2: i64):
    yield %i2
  }
  return
})",
    R"(func @f(%n: i64) -> () {
  %zero = constant 0.0 : f64
  %s = parallel_for %n, %zero {schedule=serial, width=0, combiners=[add]} : f64 {
  ^(%k: i64):
    %x = cast %k : f64
    yield %x
  }
  return
})"};

TEST(Control, EveryLoopSeesTheInterruptFlag) {
  for (const char* text : kEndless) {
    // `while %n` gives a value, which the text must name.
    const std::string whole = replaced(text, "  while %n {", "  %w = while %n : i64 {");
    for (Effort effort : {Effort::Quick, Effort::Normal}) {
      // Passes would drop loops that do nothing.
      Program p(whole, {Target::host(), {.effort = effort, .verify = true}, /*run_passes=*/false});
      uint32_t flag = 0;
      p.context = runtime::make_context(&flag);
      int64_t n = int64_t{1} << 55;
      std::thread setter([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        std::atomic_ref(flag).store(1);
      });
      const auto start = std::chrono::steady_clock::now();
      EXPECT_EQ(p.call({&n}), runtime::status_of(base::ExceptionKind::KeyboardInterrupt));
      EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
      setter.join();
    }
  }
}

TEST(Control, SomeErrorsOfTheLibraryCannotBeCaught) {
  Program p(R"(func @f(%n: i64, %e: view<i64, 1>, %v: view<u64, 1>) -> (i32) {
  %s = library %e, %n, %n, %v {routine="default_rng", catches=1} : i32
  return %s
})");
  static constexpr runtime::Hooks hooks = {
      nullptr, [](runtime::Context*, const char*, const char*, int64_t, void** slots) {
        return runtime::Status(*static_cast<int64_t*>(slots[1]));
      }};
  p.context = runtime::make_context(nullptr, &hooks);
  int64_t element = 0;
  ViewArgument view(&element, {1}, 8);
  const auto status = [&](base::ExceptionKind kind) { return int64_t{runtime::status_of(kind)}; };
  for (int64_t n : {int64_t{0}, status(base::ExceptionKind::ValueError)}) {
    int32_t caught = -1;
    EXPECT_EQ(p.call({&n, &view.slot, &view.slot, &caught}), 0);
    EXPECT_EQ(caught, n);
  }
  for (int64_t n :
       {status(base::ExceptionKind::MemoryError), status(base::ExceptionKind::KeyboardInterrupt)}) {
    int32_t caught = -1;
    EXPECT_EQ(p.call({&n, &view.slot, &view.slot, &caught}), n);
    EXPECT_EQ(caught, -1);
  }
}

TEST(Control, WhatIsNotLoweredIsNamed) {
  const char* const text = R"(func @f(%n: i64) -> (i64) {
  launch %n, %n, %n, %n, %n, %n {
  ^(%bx: i64, %by: i64, %bz: i64, %tx: i64, %ty: i64, %tz: i64):
    barrier {scope=block}
    yield
  }
  return %n
})";
  try {
    Program p(text);
    FAIL();
  } catch (const base::InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("launch"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace ingot::codegen
