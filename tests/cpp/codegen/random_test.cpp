#include <gtest/gtest.h>

#include <cmath>

#include "../ir/random_function.h"
#include "ir/interpreter.h"
#include "run.h"
#include "sample.h"

// Random loop-stage functions, compiled, against the interpreter: results, the exception and its message, and
// the views' elements afterwards.

namespace ingot::codegen {
namespace {

struct Arguments {
  double a, b;
  int64_t n, m;
  bool c;
  std::vector<double> v, w;
};

Arguments arguments_of(std::mt19937_64& random) {
  const auto number = [&] { return static_cast<double>(static_cast<int64_t>(random() % 41) - 20) / 4; };
  Arguments x{number(),
              number(),
              static_cast<int64_t>(random() % 12) - 3,
              static_cast<int64_t>(random()),
              random() % 2 == 0,
              {},
              {}};
  x.v.resize(random() % 6);
  x.w.resize(1 + random() % 6);
  for (double& e : x.v) e = number();
  for (double& e : x.w) e = number();
  return x;
}

/// The visible effects.
struct Seen {
  bool raised = false;
  base::ExceptionKind kind{};
  std::string message;
  double x = 0;
  int64_t i = 0;
  bool flag = false;
  std::vector<double> v, w;
};

Seen interpreted(const ir::Module& module, ir::FunctionId f, Arguments x) {
  const auto view = [](std::vector<double>& data) {
    auto block = std::make_shared<ir::MemoryBlock>();
    block->data = reinterpret_cast<std::byte*>(data.data());
    block->size = static_cast<int64_t>(8 * data.size());
    return ir::ViewValue{base::DType::Float64, block, 0, {static_cast<int64_t>(data.size())}, {8}};
  };
  const ir::Value arguments[] = {base::Scalar::of(x.a),
                                 base::Scalar::of(x.b),
                                 base::Scalar::of(x.n),
                                 base::Scalar::of(x.m),
                                 base::Scalar::of(x.c),
                                 view(x.v),
                                 view(x.w)};
  const ir::Outcome outcome = ir::interpret(module, f, arguments);
  Seen seen;
  seen.raised = outcome.raised;
  if (outcome.raised) {
    seen.kind = outcome.exception.kind;
    seen.message = outcome.exception.message;
  } else {
    seen.x = std::get<base::Scalar>(outcome.results[0]).as<double>();
    seen.i = std::get<base::Scalar>(outcome.results[1]).as<int64_t>();
    seen.flag = std::get<base::Scalar>(outcome.results[2]).as<bool>();
  }
  seen.v = x.v;
  seen.w = x.w;
  return seen;
}

Seen called(Program& program, Arguments x) {
  ViewArgument v(x.v.data(), {static_cast<int64_t>(x.v.size())}, 8);
  ViewArgument w(x.w.data(), {static_cast<int64_t>(x.w.size())}, 8);
  Seen seen;
  const runtime::Status status =
      program.call({&x.a, &x.b, &x.n, &x.m, &x.c, &v.slot, &w.slot, &seen.x, &seen.i, &seen.flag});
  seen.raised = status != 0;
  if (seen.raised) {
    seen.kind = runtime::exception_of(status);
    seen.message = program.message();
  }
  seen.v = x.v;
  seen.w = x.w;
  return seen;
}

bool same(double a, double b) { return std::memcmp(&a, &b, 8) == 0 || (std::isnan(a) && std::isnan(b)); }
bool same(const Seen& a, const Seen& b) {
  if (a.raised != b.raised || a.kind != b.kind || a.message != b.message || !same(a.x, b.x) || a.i != b.i ||
      a.flag != b.flag)
    return false;
  for (size_t i = 0; i < a.v.size(); ++i)
    if (!same(a.v[i], b.v[i])) return false;
  for (size_t i = 0; i < a.w.size(); ++i)
    if (!same(a.w[i], b.w[i])) return false;
  return true;
}

std::string show(const Seen& s) {
  std::string text = s.raised
                         ? std::string(base::name_of(s.kind)) + ": " + s.message
                         : std::to_string(s.x) + " " + std::to_string(s.i) + " " + std::to_string(s.flag);
  for (double e : s.v) text += " " + std::to_string(e);
  text += " |";
  for (double e : s.w) text += " " + std::to_string(e);
  return text;
}

/// Of so many seeds one in two.
void check_seeds(uint64_t first, uint64_t count, const driver::CompileOptions& options,
                 const ir::test::RandomOptions& shape) {
  int functions = 0, calls = 0, raised = 0, different = 0;
  const Sample sample = Sample::one_in(2, std::to_string(first));
  for (uint64_t seed = first + sample.first; seed < first + count; seed += sample.step, ++functions) {
    auto module = std::make_unique<ir::Module>();
    ir::test::RandomFunction(*module, seed, shape).build();
    Program program(std::move(module), options);
    std::mt19937_64 random(seed);
    for (int iteration = 0; iteration < 6; ++iteration) {
      const Arguments x = arguments_of(random);
      const Seen expected = interpreted(*program.module, *program.module->find("f"), x);
      const Seen got = called(program, x);
      ++calls;
      raised += expected.raised;
      if (same(expected, got)) continue;
      if (++different <= 3)
        ADD_FAILURE() << "seed " << seed << "\nexpected " << show(expected) << "\ngot      " << show(got)
                      << '\n'
                      << ir::print(*program.module);
    }
  }
  EXPECT_EQ(different, 0);
  std::printf("%d functions, %d calls, %d raised\n", functions, calls, raised);
}

TEST(Random, EqualsTheInterpreter) {
  check_seeds(0, 300, {Target::host(), {.verify = true}}, {.nodes = 60, .arrays = false});
}
TEST(Random, EqualsTheInterpreterDeep) {
  check_seeds(1000, 100, {Target::host(), {.effort = Effort::Full, .verify = true}},
              {.nodes = 200, .depth = 6, .arrays = false});
}
TEST(Random, EqualsTheInterpreterOnTheOldestCpu) {
  check_seeds(2000, 150, {Target::generic(1), {.effort = Effort::Quick, .verify = true}},
              {.nodes = 60, .folding = true, .arrays = false});
}

}  // namespace
}  // namespace ingot::codegen
