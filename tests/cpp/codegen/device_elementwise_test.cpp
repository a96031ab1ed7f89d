#include <map>

#include "codegen/vecmath.h"
#include "device_kernels.h"
#include "elementwise_cases.h"

// Every elementwise op at every dtype, and every cast, on the software device, against ir::evaluate.

namespace ingot::codegen {
namespace {

bool is_called_on_devices(const Case& c) {
  if (c.op == Op::cast) return false;
  return is_called(c.op, c.from) && !(base::is_float(c.from) && has_math(device_code(), c.op, c.from));
}

void add_case(DeviceKernels& kernels, const Case& c) {
  const std::vector<DType> operands(static_cast<size_t>(c.operands), c.from);
  kernels.add(c.name, operands, c.to, [&](Scalars& scalars, std::span<const Parts> values) {
    return c.op == Op::cast ? scalars.cast(c.from, c.to, values[0])
                            : scalars.elementwise(c.op, c.from, values);
  });
}

void check_case(const Case& c, emulator::Bench& bench) {
  const std::vector<std::vector<Scalar>> rows = rows_of(c);
  const size_t size = base::size_of(c.from);
  std::vector<std::vector<std::byte>> in(static_cast<size_t>(c.operands));
  for (size_t k = 0; k < in.size(); ++k) {
    in[k].resize(rows.size() * size);
    for (size_t i = 0; i < rows.size(); ++i) rows[i][k].store(c.from, in[k].data() + i * size);
  }
  const std::vector<std::byte> out = run_over(bench, c.name, in, rows.size(), base::size_of(c.to));
  int wrong = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Scalar got = Scalar::load(c.to, out.data() + i * base::size_of(c.to));
    if (same(c.to, expected_of(c, rows[i]), got)) continue;
    if (++wrong <= 3) ADD_FAILURE() << told(c, rows[i], got);
  }
}

bool asks_the_outside(const llvm::Module& module) {
  return std::ranges::any_of(module, [](const llvm::Function& function) {
    return function.isDeclaration() && !function.isIntrinsic();
  });
}

/// A module for each op that needs nothing but itself.
void check_all(int capability) {
  std::map<Op, std::vector<Case>> by_op;
  for (const Case& c : all_cases())
    if (!is_called_on_devices(c)) by_op[c.op].push_back(c);
  for (const auto& [op, cases] : by_op) {
    DeviceKernels kernels;
    for (const Case& c : cases) add_case(kernels, c);
    if (asks_the_outside(kernels.module)) continue;
    emulator::Bench bench(emit_ptx(kernels.module, *DeviceTarget::of(capability)));
    for (const Case& c : cases) check_case(c, bench);
  }
}

TEST(DeviceElementwise, EqualsEvaluateOnTheOldestGeneration) { check_all(DeviceTarget::kOldest); }
TEST(DeviceElementwise, EqualsEvaluateOnTheNewestGeneration) { check_all(DeviceTarget::kNewest); }

}  // namespace
}  // namespace ingot::codegen
