#include <gtest/gtest.h>

#include "codegen/scalars.h"
#include "elementwise_cases.h"
#include "run.h"
#include "runtime/math_symbols.h"
#include "sample.h"

// Every elementwise op at every dtype, and every cast, compiled, against ir::evaluate.

namespace ingot::codegen {
namespace {

using ir::NodeId;
using ir::Type;

/// `f(a, b, out)` of a case.
ir::FunctionId add_function(ir::Module& module, const Case& c) {
  std::vector<Type> parameters;
  ir::Builder b(module, c.name);
  for (int i = 0; i < c.operands; ++i) {
    parameters.push_back(Type::view(c.from, 1));
    b.add_parameter(parameters.back(), {"x" + std::to_string(i), static_cast<uint32_t>(i), false});
  }
  parameters.push_back(Type::view(c.to, 1));
  const NodeId out = b.add_parameter(parameters.back(), {"out", 9, true});
  const ir::FunctionId id = module.declare(c.name, parameters, {});
  const NodeId count = b.length(out, 0);
  const NodeId loop = b.begin(Op::for_, {&count, 1}, std::vector<int64_t>{0, 0});
  const NodeId k = b.enter(loop, 0, std::vector<Type>{ir::kInt64})[0];
  std::vector<NodeId> operands;
  for (int i = 0; i < c.operands; ++i)
    operands.push_back(b.make(Op::load, {NodeId(static_cast<uint32_t>(i)), k}));
  const NodeId value =
      c.op == Op::cast ? b.make(Op::cast, operands, {}, Type::scalar(c.to)) : b.make(c.op, operands);
  b.make(Op::store, {out, k, value});
  b.yield({});
  b.end(loop);
  b.terminate(Op::return_, {});
  module.define(id, b.finish({}));
  return id;
}

int check_case(const Case& c, runtime::Entry entry) {
  const size_t size = base::size_of(c.from);
  const std::vector<std::vector<Scalar>> rows = rows_of(c);
  const auto n = static_cast<int64_t>(rows.size());
  std::vector<std::byte> in[2], out(rows.size() * base::size_of(c.to));
  std::vector<ViewArgument> views;
  for (int k = 0; k < c.operands; ++k) {
    in[k].resize(rows.size() * size);
    for (size_t i = 0; i < rows.size(); ++i)
      rows[i][static_cast<size_t>(k)].store(c.from, in[k].data() + i * size);
    views.emplace_back(in[k].data(), std::initializer_list<int64_t>{n}, static_cast<int64_t>(size));
  }
  views.emplace_back(out.data(), std::initializer_list<int64_t>{n},
                     static_cast<int64_t>(base::size_of(c.to)));
  std::vector<void*> slots;
  for (ViewArgument& view : views) slots.push_back(&view.slot);
  runtime::Context context = runtime::make_context();
  runtime::Call call(context);
  EXPECT_EQ(call.run(entry, slots.data()), 0) << c.name;
  int wrong = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Scalar got = Scalar::load(c.to, out.data() + i * base::size_of(c.to));
    if (same(c.to, expected_of(c, rows[i]), got)) continue;
    if (++wrong <= 3) ADD_FAILURE() << described(c, rows[i], got);
  }
  return static_cast<int>(rows.size());
}

void check_all(const Target& target, Effort effort, Sample sample = {}) {
  ir::Module module;
  const std::vector<Case> all = all_cases();
  std::vector<Case> cases;
  for (size_t i = sample.first; i < all.size(); i += sample.step) cases.push_back(all[i]);
  std::vector<ir::FunctionId> ids;
  for (const Case& c : cases) ids.push_back(add_function(module, c));
  driver::Report report;
  const driver::CompileResult compiled =
      driver::compile(module, ids, {target, {.effort = effort, .verify = true}}, report);
  const runtime::Object object = runtime::Object::open(std::as_bytes(std::span(compiled.bytes)));
  int64_t rows = 0;
  for (const Case& c : cases) rows += check_case(c, object.entry(entry_symbol(c.name)));
  std::printf("%zu op x dtype, %lld values\n", cases.size(), static_cast<long long>(rows));
}

TEST(Elementwise, EqualsEvaluateOnThisCpu) { check_all(Target::host(), Effort::Normal); }
TEST(Elementwise, EqualsEvaluateOnTheOldestCpu) {
  check_all(Target::generic(1), Effort::Full, Sample::one_in(4, "oldest CPU"));
}
TEST(Elementwise, EqualsEvaluateUnoptimized) { check_all(Target::generic(3), Effort::Quick); }

TEST(Elementwise, TheRuntimeHasExactlyTheCalledFunctions) {
  size_t called = 0;
  for (const Case& c : all_cases()) {
    if (c.op == Op::cast) continue;
    const bool found = runtime::find_math_function(math_symbol(c.op, c.from)) != nullptr;
    EXPECT_EQ(found, is_called(c.op, c.from)) << c.name;
    // Elementary functions need the default floating-point state; code for any state calls it.
    EXPECT_EQ(ir::wants_default_state(c.op, c.from), found && !base::is_int(c.from)) << c.name;
    called += found;
  }
  EXPECT_EQ(called, runtime::math_functions().size());
}

}  // namespace
}  // namespace ingot::codegen
