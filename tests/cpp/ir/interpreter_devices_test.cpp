#include <numeric>

#include "interpreter_helpers.h"

namespace ingot::ir {
namespace {

/// A block reduction in shared memory, 64 threads a block, one partial sum a block.
constexpr std::string_view kBlockSum = R"(
func @f(%x: view<f64, 1, device> alias 1, %out: view<f64, 1, device> alias 2, %blocks: i64) -> () {
  %one = constant 1 : i64
  %zero = constant 0 : i64
  %threads = constant 64 : i64
  launch %blocks, %one, %one, %threads, %one, %one {
  ^(%bx: i64, %by: i64, %bz: i64, %tx: i64, %ty: i64, %tz: i64):
    %bytes = constant 512 : i64
    %eight = constant 8 : i64
    %buffer = alloc %bytes {life=call} : buffer<shared>
    %s = view %buffer, %zero, %threads, %eight : view<f64, 1, shared>
    %base = multiply %bx, %threads : i64
    %i = add %base, %tx : i64
    %v = load %x, %i : f64
    store %s, %tx, %v
    FIRST
    %six = constant 6 : i64
    %end = for %six, %threads {schedule=serial, width=0} : i64 {
    ^(%k: i64, %w: i64):
      %two = constant 2 : i64
      %half = floor_divide %w, %two : i64
      %mine = less %tx, %half : bool
      if %mine {
        %j = add %tx, %half : i64
        %a = load %s, %tx : f64
        %b = load %s, %j : f64
        %c = add %a, %b : f64
        store %s, %tx, %c
        yield
      } {
        yield
      }
      barrier {scope=block}
      yield %half
    }
    %first = equal %tx, %zero : bool
    if %first {
      %sum = load %s, %zero : f64
      store %out, TARGET, %sum
      yield
    } {
      yield
    }
    yield
  }
  return
})";

std::string block_sum(const std::string& first, const std::string& target) {
  std::string text(kBlockSum);
  text.replace(text.find("FIRST"), 5, first);
  return text.replace(text.find("TARGET"), 6, target);
}

TEST(InterpreterDevices, ReducesBlocksInAnyOrderOfThreads) {
  const Program program(block_sum("barrier {scope=block}", "%bx"), Stage::Loop);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<double> x(192);
    std::vector<double> out(3);
    std::iota(x.begin(), x.end(), 0.0);
    InterpretOptions options;
    options.seed = seed;
    program.results({view_of(x, {}, Space::Device), view_of(out, {}, Space::Device), number<int64_t>(3)},
                    options);
    EXPECT_EQ(out, (std::vector<double>{2016, 6112, 10208}));
  }
}

TEST(InterpreterDevices, FindsAMissingBarrier) {
  const Program program(block_sum("", "%bx"), Stage::Loop);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<double> x(64);
    std::vector<double> out(1);
    InterpretOptions options;
    options.seed = seed;
    EXPECT_NE(program
                  .fault({view_of(x, {}, Space::Device), view_of(out, {}, Space::Device), number<int64_t>(1)},
                         options)
                  .find("race"),
              std::string::npos);
  }
}

TEST(InterpreterDevices, AWarpBarrierIsNotEnoughBetweenWarps) {
  const Program program(block_sum("barrier {scope=warp}", "%bx"), Stage::Loop);
  std::vector<double> x(64);
  std::vector<double> out(1);
  EXPECT_NE(
      program.fault({view_of(x, {}, Space::Device), view_of(out, {}, Space::Device), number<int64_t>(1)})
          .find("race"),
      std::string::npos);
}

TEST(InterpreterDevices, FindsRacesBetweenBlocks) {
  const Program program(block_sum("barrier {scope=block}", "%zero"), Stage::Loop);
  std::vector<double> x(128);
  std::vector<double> out(2);
  const auto arguments = [&](int64_t blocks) {
    return std::vector<Value>{view_of(x, {}, Space::Device), view_of(out, {}, Space::Device), number(blocks)};
  };
  EXPECT_FALSE(program.run(arguments(1)).raised);
  EXPECT_NE(program.fault(arguments(2)).find("race"), std::string::npos);
}

/// Runs a launch of 2 blocks of 64 threads with these lines inside; `%v` is device memory of 128 i64.
Outcome run_lines(const std::string& lines, std::vector<int64_t>& memory, uint64_t seed = 0) {
  const std::string text = R"(
func @f(%v: view<i64, 1, device>) -> () {
  %one = constant 1 : i64
  %two = constant 2 : i64
  %zero = constant 0 : i64
  %threads = constant 64 : i64
  launch %two, %one, %one, %threads, %one, %one {
  ^(%bx: i64, %by: i64, %bz: i64, %tx: i64, %ty: i64, %tz: i64):
    )" + lines + R"(
    yield
  }
  return
})";
  const auto module = parse(text, "test.ir");
  InterpretOptions options;
  options.seed = seed;
  const Value arguments[] = {view_of(memory, {}, Space::Device)};
  return interpret(*module, *module->find("f"), arguments, options);
}

std::string fault_of(const std::string& lines) {
  std::vector<int64_t> memory(128);
  try {
    run_lines(lines, memory);
  } catch (const base::InternalError& error) {
    return error.what();
  }
  return "";
}

TEST(InterpreterDevices, AtomicsMayConflict) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<int64_t> memory(128);
    EXPECT_FALSE(run_lines("%old = atomic %v, %zero, %tx {combiner=add, scope=device, order=relaxed} : i64",
                           memory, seed)
                     .raised);
    EXPECT_EQ(memory[0], 2 * 2016);
  }
  EXPECT_NE(fault_of("%old = atomic %v, %zero, %tx {combiner=add, scope=device, order=relaxed} : i64\n"
                     "    %now = load %v, %zero : i64")
                .find("race"),
            std::string::npos);
}

TEST(InterpreterDevices, AllThreadsMustReachABarrier) {
  const std::string lines =
      "%first = equal %tx, %zero : bool\n"
      "    if %first {\n      barrier {scope=SCOPE}\n      yield\n    } {\n      barrier {scope=OTHER}\n"
      "      yield\n    }";
  const std::pair<const char*, const char*> scopes[] = {
      {"block", "block"}, {"block", "warp"}, {"warp", "block"}};
  for (const auto& [one, other] : scopes) {
    std::string text = lines;
    text.replace(text.find("SCOPE"), 5, one);
    const std::string fault = fault_of(text.replace(text.find("OTHER"), 5, other));
    EXPECT_NE(fault.find("not all threads of the block reach the barrier"), std::string::npos) << fault;
    EXPECT_NE(fault.find("barrier {scope="), std::string::npos) << fault;
  }
}

TEST(InterpreterDevices, ThreadsThatHaveEndedAreWaitedForNoMore) {
  std::vector<int64_t> memory(128);
  EXPECT_FALSE(
      run_lines("%nine = constant 9 : i64\n    %mine = less %tx, %nine : bool\n"
                "    if %mine {\n      barrier {scope=block}\n"
                "      %old = atomic %v, %bx, %two {combiner=add, scope=device, order=relaxed} : i64\n"
                "      yield\n    } {\n      yield\n    }",
                memory)
          .raised);
  EXPECT_EQ(memory[0], 18);
  EXPECT_EQ(memory[1], 18);
}

TEST(InterpreterDevices, WarpBarriersOrderAWarp) {
  const std::string exchange =
      "%warp = constant 32 : i64\n"
      "    %base = multiply %bx, %threads : i64\n"
      "    %i = add %base, %tx : i64\n"
      "    store %v, %i, %tx\n"
      "    BARRIER\n"
      "    %flip = bitwise_xor %i, MASK : i64\n"
      "    %x = load %v, %flip : i64\n"
      "    barrier {scope=block}\n"
      "    store %v, %i, %x\n";
  const auto lines = [&](const std::string& barrier, const std::string& mask) {
    std::string text = exchange;
    text.replace(text.find("BARRIER"), 7, barrier);
    return text.replace(text.find("MASK"), 4, mask);
  };
  std::vector<int64_t> memory(128);
  EXPECT_FALSE(run_lines(lines("barrier {scope=warp}", "%one"), memory, 7).raised);
  EXPECT_EQ(memory[0], 1);
  EXPECT_EQ(memory[67], 2);
  EXPECT_NE(fault_of(lines("", "%one")).find("race"), std::string::npos);
  EXPECT_NE(fault_of(lines("barrier {scope=warp}", "%warp")).find("race"), std::string::npos);
  EXPECT_EQ(fault_of(lines("barrier {scope=block}", "%warp")), "");
}

TEST(InterpreterDevices, LocalMemoryIsTheThreadsOwn) {
  std::vector<int64_t> memory(128);
  EXPECT_FALSE(run_lines("%eight = constant 8 : i64\n"
                         "    %b = alloc %eight {life=call} : buffer<local>\n"
                         "    %w = view %b, %zero : view<i64, 0, local>\n"
                         "    store %w, %tx\n"
                         "    barrier {scope=block}\n"
                         "    %x = load %w : i64\n"
                         "    %base = multiply %bx, %threads : i64\n"
                         "    %i = add %base, %tx : i64\n"
                         "    store %v, %i, %x",
                         memory, 3)
                   .raised);
  EXPECT_EQ(memory[100], 36);
}

TEST(InterpreterDevices, RaisesWhatTheLowestThreadRaises) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<int64_t> memory(128);
    const Outcome outcome = run_lines(
        "%nine = constant 9 : i64\n    %small = less %tx, %nine : bool\n"
        "    check %small, %bx, %tx {kind=ValueError, message=\"{} {}\"}\n    barrier {scope=block}",
        memory, seed);
    ASSERT_TRUE(outcome.raised);
    EXPECT_EQ(outcome.exception.message, "0 9");
  }
}

/// What the lines give as `%r`, an i64, for each thread of the first block.
std::vector<int64_t> of_threads(const std::string& lines, uint64_t seed = 5) {
  std::vector<int64_t> memory(128);
  const Outcome outcome = run_lines(
      "%all = constant 4294967295 : u32\n    " + lines +
          "\n    %base = multiply %bx, %threads : i64\n    %i = add %base, %tx : i64\n    store %v, %i, %r",
      memory, seed);
  EXPECT_FALSE(outcome.raised);
  memory.resize(64);
  return memory;
}

/// `fn(thread)` for each of 64.
template <class Fn>
std::vector<int64_t> each(Fn&& fn) {
  std::vector<int64_t> all;
  for (int64_t t = 0; t < 64; ++t) all.push_back(fn(t));
  return all;
}

TEST(InterpreterDevices, Shuffles) {
  const auto shuffled = [](const std::string& source, int width, const std::string& by) {
    return of_threads("%three = constant 3 : i32\n    %own = cast %tx : i32\n    %r = shuffle %all, %tx, " +
                      by + " {source=" + source + ", width=" + std::to_string(width) + "} : i64");
  };
  EXPECT_EQ(shuffled("index", 32, "%three"), each([](int64_t t) { return t / 32 * 32 + 3; }));
  EXPECT_EQ(shuffled("index", 8, "%own"), each([](int64_t t) { return t; }));
  EXPECT_EQ(shuffled("index", 2, "%three"), each([](int64_t t) { return t / 2 * 2 + 1; }));
  EXPECT_EQ(shuffled("up", 8, "%three"), each([](int64_t t) { return t % 8 < 3 ? t : t - 3; }));
  EXPECT_EQ(shuffled("down", 32, "%three"), each([](int64_t t) { return t % 32 > 28 ? t : t + 3; }));
  EXPECT_EQ(shuffled("exclusive", 32, "%three"), each([](int64_t t) { return t ^ 3; }));
  EXPECT_EQ(shuffled("exclusive", 2, "%three"), each([](int64_t t) { return t % 4 < 2 ? t : t ^ 3; }));
}

TEST(InterpreterDevices, LanesOutsideTheMaskHaveNoValue) {
  const std::string fault = fault_of(
      "%four = constant 4 : i64\n    %few = less %tx, %four : bool\n    if %few {\n"
      "      %m = constant 15 : u32\n      %l = constant 7 : i32\n"
      "      %x = shuffle %m, %tx, %l {source=index, width=32} : i64\n      yield\n    } {\n      yield\n    "
      "}");
  EXPECT_NE(fault.find("a lane that is not in the mask"), std::string::npos) << fault;
}

TEST(InterpreterDevices, WhoComesIsInTheMaskAndAllOfTheMaskCome) {
  const std::string outside = fault_of("%m = constant 15 : u32\n    barrier %m {scope=warp}");
  EXPECT_NE(outside.find("comes with a mask that it is not in"), std::string::npos) << outside;
  const std::string absent = fault_of(
      "%five = constant 5 : i64\n    %few = less %tx, %five : bool\n    %m = constant 4294967264 : u32\n"
      "    %n = constant 63 : u32\n    if %few {\n"
      "      barrier %n {scope=warp}\n      yield\n    } {\n      yield\n    }\n    barrier {scope=block}");
  EXPECT_NE(absent.find("not all threads of the mask come here"), std::string::npos) << absent;
}

TEST(InterpreterDevices, VotesOfWarps) {
  const auto voted = [](const std::string& question, const std::string& type, const std::string& limit) {
    return of_threads("%limit = constant " + limit +
                      " : i64\n    %c = less %tx, %limit : bool\n"
                      "    %a = vote %all, %c {question=" +
                      question + ", scope=warp} : " + type + "\n    %r = cast %a : i64");
  };
  EXPECT_EQ(voted("all", "bool", "40"), each([](int64_t t) { return t < 32; }));
  EXPECT_EQ(voted("any", "bool", "33"), each([](int64_t) { return 1; }));
  EXPECT_EQ(voted("any", "bool", "32"), each([](int64_t t) { return t < 32; }));
  EXPECT_EQ(voted("equal", "bool", "32"), each([](int64_t) { return 1; }));
  EXPECT_EQ(voted("equal", "bool", "31"), each([](int64_t t) { return t >= 32; }));
  EXPECT_EQ(voted("ballot", "u32", "35"), each([](int64_t t) { return t < 32 ? 0xffffffff : 7; }));
}

TEST(InterpreterDevices, VotesOfBlocksAreBarriers) {
  const auto voted = [](const std::string& question, const std::string& type) {
    return of_threads(
        "%limit = constant 35 : i64\n    %c = less %tx, %limit : bool\n"
        "    %a = vote %c {question=" +
        question + ", scope=block} : " + type + "\n    %r = cast %a : i64");
  };
  EXPECT_EQ(voted("count", "i32"), each([](int64_t) { return 35; }));
  EXPECT_EQ(voted("all", "bool"), each([](int64_t) { return 0; }));
  EXPECT_EQ(voted("any", "bool"), each([](int64_t) { return 1; }));
}

TEST(InterpreterDevices, MatchesBits) {
  const auto matched = [](const std::string& value, const std::string& agreement) {
    return of_threads("%m = " + value + "\n    %a = match %all, %m {agreement=" + agreement +
                      "} : u32\n    %r = cast %a : i64");
  };
  EXPECT_EQ(matched("bitwise_and %tx, %one : i64", "some"),
            each([](int64_t t) { return t % 2 == 0 ? 0x55555555 : 0xaaaaaaaa; }));
  EXPECT_EQ(matched("bitwise_and %tx, %one : i64", "all"), each([](int64_t) { return 0; }));
  EXPECT_EQ(matched("multiply %bx, %two : i64", "all"), each([](int64_t) { return 0xffffffff; }));
}

TEST(InterpreterDevices, ActiveLanesAreThoseOfTheBranch) {
  const std::string lines =
      "%limit = constant 40 : i64\n    %c = less %tx, %limit : bool\n"
      "    %a = if %c : u32 {\n      %x = active : u32\n      yield %x\n    } {\n      %y = active : u32\n"
      "      yield %y\n    }\n    %r = cast %a : i64";
  for (uint64_t seed = 0; seed < 5; ++seed) {
    EXPECT_EQ(of_threads(lines, seed), each([](int64_t t) {
                return t < 32 ? 0xffffffff : t < 40 ? 0xff : 0xffffff00;
              }));
  }
}

TEST(InterpreterDevices, ExchangesAndCounts) {
  std::vector<int64_t> memory(128);
  const std::string how = " {combiner=OP, scope=device, order=relaxed} : i64";
  const auto with = [&](const std::string& op) {
    std::string text = how;
    return text.replace(text.find("OP"), 2, op);
  };
  run_lines("%hundred = constant 100 : i64\n    %a = atomic %v, %zero, %hundred" + with("count_up") +
                "\n    %b = atomic %v, %one, %hundred" + with("count_down") +
                "\n    %c = atomic %v, %two, %hundred" + with("constant"),
            memory);
  EXPECT_EQ(memory[0], 128 - 101);
  EXPECT_EQ(memory[1], 101 - 27);
  EXPECT_EQ(memory[2], 100);
}

TEST(InterpreterDevices, CompareExchangeIsALock) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    std::vector<int64_t> memory(128);
    run_lines(
        "while {\n      %old = compare_exchange %v, %zero, %zero, %one {scope=device, order=relaxed} : i64\n"
        "      %taken = not_equal %old, %zero : bool\n      yield %taken\n    } {\n      yield\n    }\n"
        "    fence {scope=device}\n"
        "    %x = load %v, %one : i64\n    %y = add %x, %one : i64\n    store %v, %one, %y\n"
        "    fence {scope=device}\n"
        "    %was = atomic %v, %zero, %zero {combiner=constant, scope=device, order=relaxed} : i64",
        memory, seed);
    EXPECT_EQ(memory[1], 128);
  }
}

TEST(InterpreterDevices, ALockWithoutFencesOrdersNothing) {
  const std::string fault = fault_of(
      "while {\n      %old = compare_exchange %v, %zero, %zero, %one {scope=device, order=relaxed} : i64\n"
      "      %taken = not_equal %old, %zero : bool\n      yield %taken\n    } {\n      yield\n    }\n"
      "    %x = load %v, %one : i64\n    %y = add %x, %one : i64\n    store %v, %one, %y\n"
      "    %was = atomic %v, %zero, %zero {combiner=constant, scope=device, order=relaxed} : i64");
  EXPECT_NE(fault.find("race"), std::string::npos);
}

TEST(InterpreterDevices, BlocksWaitAtBarriersOfTheDevice) {
  const std::string lines =
      "%base = multiply %bx, %threads : i64\n    %i = add %base, %tx : i64\n    store %v, %i, %i\n"
      "    barrier {scope=device}\n    %flip = bitwise_xor %i, %threads : i64\n    %x = load %v, %flip : "
      "i64\n"
      "    barrier {scope=device}\n    store %v, %i, %x";
  for (uint64_t seed = 0; seed < 5; ++seed) {
    std::vector<int64_t> memory(128);
    EXPECT_FALSE(run_lines(lines, memory, seed).raised);
    EXPECT_EQ(memory[0], 64);
    EXPECT_EQ(memory[127], 63);
  }
  std::string without = lines;
  without.replace(without.find("barrier {scope=device}"), 22, "fence {scope=device}");
  EXPECT_NE(fault_of(without).find("race"), std::string::npos);
}

/// Two arrays in the block's dynamic memory.
TEST(InterpreterDevices, DynamicSharedMemory) {
  const Program program(R"(
func @f(%v: view<i64, 1, device>, %bytes: i64) -> () {
  %one = constant 1 : i64
  %two = constant 2 : i64
  %zero = constant 0 : i64
  %eight = constant 8 : i64
  %threads = constant 64 : i64
  launch %two, %one, %one, %threads, %one, %one, %bytes {
  ^(%bx: i64, %by: i64, %bz: i64, %tx: i64, %ty: i64, %tz: i64, %shared: buffer<shared>):
    %length = floor_divide %bytes, %eight : i64
    %s = view %shared, %zero, %length, %eight : view<i64, 1, shared>
    store %s, %tx, %tx
    barrier {scope=block}
    %last = subtract %length, %one : i64
    %j = subtract %last, %tx : i64
    %x = load %s, %j : i64
    %base = multiply %bx, %threads : i64
    %i = add %base, %tx : i64
    store %v, %i, %x
    yield
  }
  return
})",
                        Stage::Array);
  for (uint64_t seed = 0; seed < 5; ++seed) {
    std::vector<int64_t> memory(128);
    InterpretOptions options;
    options.seed = seed;
    program.results({view_of(memory, {}, Space::Device), number<int64_t>(512)}, options);
    EXPECT_EQ(memory[0], 63);
    EXPECT_EQ(memory[127], 0);
  }
  std::vector<int64_t> memory(128);
  const std::vector<Value> small{view_of(memory, {}, Space::Device), number<int64_t>(256)};
  EXPECT_NE(program.fault(small).find("out of range"), std::string::npos);
}

/// The thread that fails later is the lower one.
TEST(InterpreterDevices, FailuresAreThoseOfTheLowestThreadOfAll) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    std::vector<int64_t> memory(128);
    const Outcome outcome = run_lines(
        "%nine = constant 9 : i64\n    %small = not_equal %tx, %nine : bool\n"
        "    check %small, %bx, %tx {kind=ValueError, message=\"{} {}\"}\n    barrier {scope=block}\n"
        "    %five = constant 5 : i64\n    %other = not_equal %tx, %five : bool\n"
        "    check %other, %bx, %tx {kind=ValueError, message=\"{} {}\"}",
        memory, seed);
    ASSERT_TRUE(outcome.raised);
    EXPECT_EQ(outcome.exception.message, "0 5");
  }
}

}  // namespace
}  // namespace ingot::ir
