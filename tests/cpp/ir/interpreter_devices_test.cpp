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

TEST(InterpreterDevices, AtomicsMayMeet) {
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
      "    if %first {\n      barrier {scope=SCOPE}\n      yield\n    } {\n      yield\n    }";
  for (const char* scope : {"block", "warp"}) {
    std::string text = lines;
    const std::string fault = fault_of(text.replace(text.find("SCOPE"), 5, scope));
    EXPECT_NE(fault.find("not all threads of the block reach the barrier"), std::string::npos) << fault;
    EXPECT_NE(fault.find("barrier {scope="), std::string::npos) << fault;
  }
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

}  // namespace
}  // namespace ingot::ir
