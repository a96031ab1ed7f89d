#include "interpreter_helpers.h"

namespace ingot::ir {
namespace {

TEST(InterpreterControl, CarriesValuesThroughFor) {
  const Program program(R"(
func @f(%n: i64) -> (i64) {
  %zero = constant 0 : i64
  %sum = for %n, %zero {schedule=serial, width=0} : i64 {
  ^(%k: i64, %s: i64):
    %next = add %s, %k : i64
    yield %next
  }
  return %sum
})");
  EXPECT_EQ(as_number<int64_t>(program.results({number<int64_t>(10)})[0]), 45);
  EXPECT_EQ(as_number<int64_t>(program.results({number<int64_t>(0)})[0]), 0);
  EXPECT_EQ(as_number<int64_t>(program.results({number<int64_t>(-3)})[0]), 0);
}

TEST(InterpreterControl, OptionalsHaveTags) {
  const Program program(R"(
func @f(%c: bool, %x: f64) -> (i8, f64, optional<f64>) {
  %o = if %c : optional<f64> {
    %some = some %x : optional<f64>
    yield %some
  } {
    %none = none {tag=2} : optional<f64>
    yield %none
  }
  %tag = tag %o : i8
  %value = value %o : f64
  return %tag, %value, %o
})");
  const auto full = program.results({number(true), number(2.5)});
  EXPECT_EQ(as_number<int8_t>(full[0]), 0);
  EXPECT_EQ(as_number<double>(full[1]), 2.5);
  const auto empty = program.results({number(false), number(2.5)});
  EXPECT_EQ(as_number<int8_t>(empty[0]), 2);
  EXPECT_EQ(std::get<std::shared_ptr<const OptionalValue>>(empty[2])->tag, 2);
}

TEST(InterpreterControl, RunsWhileUntilItsConditionFails) {
  const Program program(R"(
func @f(%a: i64, %b: i64) -> (i64) {
  %g, %h = while %a, %b : (i64, i64) {
  ^(%x: i64, %y: i64):
    %zero = constant 0 : i64
    %more = not_equal %y, %zero : bool
    yield %more, %x, %y
  } {
  ^(%u: i64, %v: i64):
    %r = remainder %u, %v : i64
    yield %v, %r
  }
  return %g
})");
  EXPECT_EQ(as_number<int64_t>(program.results({number<int64_t>(84), number<int64_t>(36)})[0]), 12);
}

TEST(InterpreterControl, ExitsOutOfThreeLoops) {
  const Program program(R"(
func @f(%n: i64, %wanted: i64) -> (i64, i64, i64) {
  %i0, %j0, %k0 = block : (i64, i64, i64) {
  ^(%found: label):
    for %n {schedule=serial, width=0} {
    ^(%i: i64):
      for %n {schedule=serial, width=0} {
      ^(%j: i64):
        %one = constant 1 : i64
        %end = while %n : i64 {
        ^(%m: i64):
          %zero = constant 0 : i64
          %go = less %zero, %m : bool
          yield %go, %m
        } {
        ^(%m: i64):
          %k = subtract %m, %one : i64
          %ij = multiply %i, %j : i64
          %product = multiply %ij, %k : i64
          %hit = equal %product, %wanted : bool
          if %hit {
            exit %found, %i, %j, %k
          } {
            yield
          }
          yield %k
        }
        yield
      }
      yield
    }
    %none = constant -1 : i64
    yield %none, %none, %none
  }
  return %i0, %j0, %k0
})");
  const auto found = program.results({number<int64_t>(8), number<int64_t>(30)});
  EXPECT_EQ(as_number<int64_t>(found[0]), 1);
  EXPECT_EQ(as_number<int64_t>(found[1]), 5);
  EXPECT_EQ(as_number<int64_t>(found[2]), 6);
  EXPECT_EQ(as_number<int64_t>(program.results({number<int64_t>(4), number<int64_t>(1000)})[0]), -1);
}

constexpr std::string_view kFactorial = R"(
func @factorial(%n: i64) -> (i64) {
  %zero = constant 0 : i64
  %one = constant 1 : i64
  %fine = less_equal %zero, %n : bool
  check %fine, %n {kind=ValueError, message="n is {}"}
  %last = equal %n, %zero : bool
  %result = if %last : i64 {
    yield %one
  } {
    %m = subtract %n, %one : i64
    %rest = call %m {function=@factorial, catches=0} : i64
    %product = multiply %n, %rest : i64
    yield %product
  }
  return %result
}

func @f(%n: i64) -> (i64) {
  %r = call %n {function=@factorial, catches=0} : i64
  return %r
}

func @g(%n: i64) -> (i32, i64) {
  %s, %r = call %n {function=@factorial, catches=1} : (i32, i64)
  return %s, %r
})";

TEST(InterpreterControl, CallsRecursively) {
  const Program program(kFactorial);
  EXPECT_EQ(as_number<int64_t>(program.results({number<int64_t>(10)})[0]), 3628800);
}

TEST(InterpreterControl, RaisesWithTheMessageFilled) {
  const Program program(kFactorial);
  const Outcome outcome = program.run({number<int64_t>(-7)});
  ASSERT_TRUE(outcome.raised);
  EXPECT_EQ(outcome.exception.kind, base::ExceptionKind::ValueError);
  EXPECT_EQ(outcome.exception.message, "n is -7");
}

TEST(InterpreterControl, RunawayRecursionRaises) {
  const Program program(kFactorial);
  const Outcome outcome = program.run({number<int64_t>(1 << 20)});
  ASSERT_TRUE(outcome.raised);
  EXPECT_EQ(outcome.exception.kind, base::ExceptionKind::RecursionError);
}

TEST(InterpreterControl, SomeErrorsOfTheLibraryCannotBeCaught) {
  const auto module = parse(R"(func @f(%e: array<i64, 1>, %n: i64) -> (i32) {
  %s, %r = library %e, %n, %n {routine="default_rng", catches=1} : (i32, array<u64, 1>)
  return %s
})",
                            "test.ir");
  using Kind = base::ExceptionKind;
  for (const Kind kind : {Kind::ValueError, Kind::MemoryError, Kind::KeyboardInterrupt}) {
    Externals externals;
    externals.library = [&](std::string_view, std::span<const Value>, std::vector<Value>&, Raised& raised) {
      raised.kind = kind;
      return false;
    };
    const Value arguments[] = {array_of<int64_t>({1}, {7}), number<int64_t>(1)};
    const Outcome outcome = interpret(*module, *module->find("f"), arguments, {.externals = &externals});
    EXPECT_EQ(outcome.raised, kind != Kind::ValueError);
    if (outcome.raised) EXPECT_EQ(outcome.exception.kind, kind);
    else EXPECT_EQ(as_number<int32_t>(outcome.results[0]), 1 + static_cast<int32_t>(kind));
  }
}

TEST(InterpreterControl, CatchingCallsGiveTheStatus) {
  const auto module = parse(kFactorial, "test.ir");
  const auto run = [&](int64_t n) {
    const Value arguments[] = {number(n)};
    return interpret(*module, *module->find("g"), arguments).results;
  };
  EXPECT_EQ(as_number<int32_t>(run(5)[0]), 0);
  EXPECT_EQ(as_number<int64_t>(run(5)[1]), 120);
  EXPECT_EQ(as_number<int32_t>(run(-5)[0]), 1 + static_cast<int32_t>(base::ExceptionKind::ValueError));
  EXPECT_EQ(as_number<int32_t>(run(1 << 20)[0]),
            1 + static_cast<int32_t>(base::ExceptionKind::RecursionError));
}

TEST(InterpreterControl, StopsAtTheStepLimit) {
  const Program program(R"(
func @f() -> () {
  while {
    %yes = constant true : bool
    yield %yes
  } {
    yield
  }
  return
})");
  InterpretOptions options;
  options.step_limit = 1000;
  EXPECT_EQ(program.fault({}, options), "step limit");
}

TEST(InterpreterControl, ReachesTheOutsideThroughExternals) {
  const Program program(R"(
func @f(%e: array<i64, 1>, %n: i64, %x: f64) -> (array<u64, 1>, f64) {
  %a = library %e, %n, %n {routine="default_rng", catches=0} : array<u64, 1>
  %y = host %x {site=3, what="twice"} : f64
  return %a, %y
})");
  Externals externals;
  externals.library = [](std::string_view routine, std::span<const Value> operands,
                         std::vector<Value>& results, Raised&) {
    EXPECT_EQ(routine, "default_rng");
    results.push_back(array_of<uint64_t>({as_number<int64_t>(operands[1])}, {5, 15}));
    return true;
  };
  externals.host = [](int64_t site, std::span<const Value> operands, std::vector<Value>& results,
                      Raised& raised) {
    EXPECT_EQ(site, 3);
    if (as_number<double>(operands[0]) < 0) {
      raised.kind = base::ExceptionKind::TypeError;
      return false;
    }
    results.push_back(number(2 * as_number<double>(operands[0])));
    return true;
  };
  InterpretOptions options;
  options.externals = &externals;
  const Value seed = array_of<int64_t>({1}, {7});
  const auto results = program.results({seed, number<int64_t>(2), number(4.0)}, options);
  EXPECT_EQ(elements_of<uint64_t>(results[0]), (std::vector<uint64_t>{5, 15}));
  EXPECT_EQ(as_number<double>(results[1]), 8.0);
  EXPECT_EQ(program.run({seed, number<int64_t>(2), number(-4.0)}, options).exception.kind,
            base::ExceptionKind::TypeError);
  EXPECT_NE(program.fault({seed, number<int64_t>(2), number(4.0)}).find("wants a library"),
            std::string::npos);
}

TEST(InterpreterControl, HoldsArgumentsToTheirTypes) {
  const Program program("func @f(%a: array<f64, 1>) -> () {\n  return\n}");
  EXPECT_NE(program.fault({number(1.0)}).find("argument 0"), std::string::npos);
  EXPECT_NE(program.fault({array_of<float>({1}, {1})}).find("argument 0"), std::string::npos);
  EXPECT_NE(program.fault({array_of<double>({2}, {1})}).find("argument 0"), std::string::npos);
}

constexpr std::string_view kParallel = R"(
func @f(%v: view<f64, 1>, %n: i64, %shift: i64, %init: f64) -> (f64) {
  %length = length %v {axis=0} : i64
  %sum = parallel_for %n, %init {schedule=threads, width=0, combiners=[add]} : f64 {
  ^(%k: i64):
    %from = add %k, %shift : i64
    %at = remainder %from, %length : i64
    %x = load %v, %at : f64
    %y = add %x, %x : f64
    store %v, %k, %y
    yield %x
  }
  return %sum
})";

TEST(InterpreterParallel, CombinesContributionsInTheOrderOfReductions) {
  const Program program(kParallel);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<double> memory(1500);
    std::vector<double> lanes(64);
    for (size_t i = 0; i < memory.size(); ++i) memory[i] = 1.0 / static_cast<double>(i + 3);
    for (size_t i = 0; i < memory.size(); ++i) lanes[i / 1024 * 32 + i % 32] += memory[i];
    for (size_t s = 16; s > 0; s /= 2)
      for (size_t j = 0; j < s; ++j) {
        lanes[j] += lanes[j + s];
        lanes[32 + j] += lanes[32 + j + s];
      }
    InterpretOptions options;
    options.seed = seed;
    const auto results =
        program.results({view_of(memory), number<int64_t>(1500), number<int64_t>(0), number(0.25)}, options);
    EXPECT_EQ(as_number<double>(results[0]), 0.25 + (lanes[0] + lanes[32]));
    EXPECT_EQ(memory[0], 2.0 / 3);
  }
}

TEST(InterpreterParallel, GivesTheInitOfNoIterations) {
  std::vector<double> memory(1);
  const auto results =
      Program(kParallel).results({view_of(memory), number<int64_t>(0), number<int64_t>(0), number(-0.0)});
  EXPECT_TRUE(std::signbit(as_number<double>(results[0])));
}

TEST(InterpreterParallel, FindsRacesInAnyOrder) {
  const Program program(kParallel);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<double> memory(8);
    InterpretOptions options;
    options.seed = seed;
    EXPECT_NE(program.fault({view_of(memory), number<int64_t>(8), number<int64_t>(1), number(0.0)}, options)
                  .find("race"),
              std::string::npos);
  }
}

TEST(InterpreterParallel, FindsRacesThroughOverlappingArguments) {
  const Program program(R"(
func @f(%v: view<f64, 1> alias 1, %w: view<f64, 1> alias 1, %n: i64) -> () {
  parallel_for %n {schedule=threads, width=0, combiners=[]} {
  ^(%k: i64):
    %x = load %v, %k : f64
    store %w, %k, %x
    yield
  }
  return
})");
  std::vector<double> memory(9);
  ViewValue left = view_of(memory, {8});
  ViewValue right = left;
  // A block of its own on the same memory, shifted by half an element.
  right.block = std::make_shared<MemoryBlock>();
  right.block->data = left.block->data + 4;
  right.block->size = 68;
  EXPECT_NE(program.fault({left, right, number<int64_t>(8)}).find("race"), std::string::npos);
  EXPECT_FALSE(program.run({left, left, number<int64_t>(8)}).raised);
}

TEST(InterpreterParallel, MemoryOfAnIterationIsItsOwn) {
  const Program program(R"(
func @f(%n: i64) -> (i64) {
  %zero = constant 0 : i64
  %eight = constant 8 : i64
  %sum = parallel_for %n, %zero {schedule=threads, width=0, combiners=[add]} : i64 {
  ^(%k: i64):
    %buffer = alloc %eight {life=call} : buffer
    %v = view %buffer, %zero : view<i64, 0>
    store %v, %k
    %x = load %v : i64
    yield %x
  }
  return %sum
})");
  EXPECT_EQ(as_number<int64_t>(program.results({number<int64_t>(100)})[0]), 4950);
}

TEST(InterpreterParallel, RaisesWhatTheLowestIterationRaises) {
  const Program program(R"(
func @f(%n: i64) -> () {
  parallel_for %n {schedule=threads, width=0, combiners=[]} {
  ^(%k: i64):
    %five = constant 5 : i64
    %small = less %k, %five : bool
    check %small, %k {kind=IndexError, message="iteration {}"}
    yield
  }
  return
})");
  for (uint64_t seed = 0; seed < 20; ++seed) {
    InterpretOptions options;
    options.seed = seed;
    const Outcome outcome = program.run({number<int64_t>(30)}, options);
    ASSERT_TRUE(outcome.raised);
    EXPECT_EQ(outcome.exception.message, "iteration 5");
  }
}

}  // namespace
}  // namespace ingot::ir
