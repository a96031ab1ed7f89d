#include <map>

#include "codegen/targets/device_math.h"
#include "codegen/targets/opencl.h"
#include "device_kernels.h"
#include "devices/device.h"
#include "elementwise_cases.h"
#include "sample.h"

// Every elementwise op at every dtype, and every cast, on the software device and on OpenCL's, against
// ir::evaluate.

namespace ingot::codegen {
namespace {

using Bytes = std::vector<std::byte>;

/// Where kernels run.
class Judge {
 public:
  virtual ~Judge() = default;
  virtual const KernelTarget& target() const = 0;
  /// Loads a module, instead of the one before.
  virtual void load(DeviceKernels& kernels, Op op) = 0;
  /// As `run_over`.
  virtual Bytes run(const std::string& name, std::span<const Bytes> operands, size_t count,
                    size_t result_size) = 0;
};

/// The software device's interpreter of PTX.
class PtxJudge final : public Judge {
 public:
  explicit PtxJudge(int capability) : target_(base::known(DeviceTarget::of(capability))) {}
  const KernelTarget& target() const override { return kernel_target(target_); }
  void load(DeviceKernels& kernels, Op op) override {
    link_device_math(kernels.module);
    const std::string ptx = emit_ptx(kernels.module, target_);
    for (const char* part : {".approx", ".ftz", ".full", ".extern"})
      EXPECT_EQ(ptx.find(part), std::string::npos) << ir::name_of(op);
    bench_.emplace(ptx);
  }
  Bytes run(const std::string& name, std::span<const Bytes> operands, size_t count,
            size_t result_size) override {
    return run_over(*bench_, name, operands, count, result_size);
  }

 private:
  const DeviceTarget target_;
  std::optional<softgpu::Bench> bench_;
};

/// The first device of OpenCL's drivers.
class OpenClJudge final : public Judge {
 public:
  OpenClJudge() {
    const auto found = devices::devices("opencl");
    if (found.empty()) throw std::runtime_error(devices::why_none("opencl"));
    device_ = found[0];
  }
  const KernelTarget& target() const override { return opencl_target(); }
  void load(DeviceKernels& kernels, Op) override {
    const std::unique_ptr<llvm::TargetMachine> machine = target().machine();
    target().link(kernels.module);
    code_.reset();
    code_ = device_->load(target().code_of(kernels.module, *machine));
  }
  Bytes run(const std::string& name, std::span<const Bytes> operands, size_t count,
            size_t result_size) override {
    std::vector<devices::Address> addresses;
    for (const Bytes& operand : operands) {
      addresses.push_back(device_->allocate(static_cast<int64_t>(operand.size())));
      device_->write(addresses.back(), operand.data(), static_cast<int64_t>(operand.size()));
    }
    Bytes result(count * result_size);
    addresses.push_back(device_->allocate(static_cast<int64_t>(result.size())));
    std::vector<void*> arguments;
    for (devices::Address& address : addresses) arguments.push_back(&address);
    arguments.push_back(&count);
    constexpr uint32_t kThreads = DeviceKernels::kThreads;
    const auto blocks = static_cast<uint32_t>((count + kThreads - 1) / kThreads);
    device_->launch(code_->kernel(name), {.grid = {blocks, 1, 1}, .block = {kThreads, 1, 1}}, arguments);
    device_->read(result.data(), addresses.back(), static_cast<int64_t>(result.size()));
    for (const devices::Address address : addresses) device_->free(address);
    return result;
  }

 private:
  devices::Device* device_;
  std::unique_ptr<devices::Code> code_;
};

/// With `is_short`, kernels of mathematics are called.
void add_case(DeviceKernels& kernels, const Case& c, bool is_short) {
  const std::vector<DType> operands(static_cast<size_t>(c.operands), c.from);
  kernels.add(c.name, operands, c.to, [&](Scalars& scalars, std::span<const Parts> values) {
    scalars.set_short(is_short);
    return c.op == Op::cast ? scalars.cast(c.from, c.to, values[0])
                            : scalars.elementwise(c.op, c.from, values);
  });
}

void check_case(const Case& c, Judge& judge) {
  const std::vector<std::vector<Scalar>> rows = rows_of(c);
  const size_t size = base::size_of(c.from);
  std::vector<Bytes> in(static_cast<size_t>(c.operands));
  for (size_t k = 0; k < in.size(); ++k) {
    in[k].resize(rows.size() * size);
    for (size_t i = 0; i < rows.size(); ++i) rows[i][k].store(c.from, in[k].data() + i * size);
  }
  const Bytes out = judge.run(c.name, in, rows.size(), base::size_of(c.to));
  int wrong = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Scalar got = Scalar::load(c.to, out.data() + i * base::size_of(c.to));
    if (same(c.to, expected_of(c, rows[i]), got)) continue;
    if (++wrong <= 3) ADD_FAILURE() << described(c, rows[i], got);
  }
}

/// A module for each op.
void check_all(Judge& judge, bool is_short, Sample sample) {
  std::map<Op, std::vector<Case>> by_op;
  const std::vector<Case> all = all_cases();
  for (size_t i = sample.first; i < all.size(); i += sample.step) by_op[all[i].op].push_back(all[i]);
  for (const auto& [op, cases] : by_op) {
    DeviceKernels kernels(judge.target());
    for (const Case& c : cases) add_case(kernels, c, is_short);
    judge.load(kernels, op);
    for (const Case& c : cases) check_case(c, judge);
  }
}

void check_ptx(int capability, bool is_short, Sample sample) {
  PtxJudge judge(capability);
  check_all(judge, is_short, sample);
}

TEST(DeviceElementwise, EqualsEvaluateOnTheOldestGeneration) {
  check_ptx(DeviceTarget::kOldest, false, Sample::one_in(3, "oldest generation"));
}
TEST(DeviceElementwise, EqualsEvaluateOnTheNewestGeneration) { check_ptx(DeviceTarget::kNewest, false, {}); }
TEST(DeviceElementwise, EqualsEvaluateInShortCode) {
  check_ptx(DeviceTarget::kNewest, true, Sample::one_in(3, "short code"));
}
TEST(DeviceElementwise, EqualsEvaluateOnOpenCl) {
  OpenClJudge judge;
  check_all(judge, false, Sample::one_in(7, "OpenCL"));  // a driver's compiler takes minutes for all
}

TEST(DeviceMath, WhatIsNotThereIsNamed) {
  DeviceKernels kernels;
  const DType operands[] = {DType::Float64};
  kernels.add("k", operands, DType::Float64, [&](Scalars& scalars, std::span<const Parts> values) {
    llvm::Type* const type = scalars.b.getDoubleTy();
    const llvm::FunctionCallee callee =
        kernels.module.getOrInsertFunction("no_such_function", llvm::FunctionType::get(type, {type}, false));
    return Parts{scalars.b.CreateCall(callee, {values[0][0]})};
  });
  try {
    link_device_math(kernels.module);
    FAIL() << "no error";
  } catch (const base::InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("no_such_function"), std::string::npos) << error.what();
  }
}

TEST(DeviceMath, OnlyWhatIsCalledIsLinked) {
  DeviceKernels kernels;
  const DType operands[] = {DType::Float64};
  kernels.add("k", operands, DType::Float64, [](Scalars& scalars, std::span<const Parts> values) {
    return scalars.call_math(Op::sin, DType::Float64, values);
  });
  link_device_math(kernels.module);
  size_t functions = 0;
  for (const llvm::Function& function : kernels.module) {
    if (function.isIntrinsic()) continue;
    ++functions;
    EXPECT_FALSE(function.isDeclaration()) << function.getName().str();
    EXPECT_FALSE(function.hasFnAttribute("target-cpu")) << function.getName().str();
    EXPECT_EQ(function.hasInternalLinkage(), function.getName() != "k") << function.getName().str();
  }
  EXPECT_LE(functions, 6u);
  EXPECT_LE(kernels.module.global_size(), 3u);
}

TEST(DeviceMath, RemaindersAndPowersOfTwoThatLlvmHasNoCodeFor) {
  DeviceKernels kernels;
  const DType doubles[] = {DType::Float64, DType::Float64};
  const DType floats[] = {DType::Float32, DType::Float32};
  const auto rest = [](Scalars& scalars, std::span<const Parts> x) {
    return Parts{scalars.b.CreateFRem(x[0][0], x[1][0])};
  };
  const auto scaled = [](Scalars& scalars, std::span<const Parts> x) {
    llvm::Value* const power = scalars.b.CreateFPToSI(x[1][0], scalars.b.getInt32Ty());
    return Parts{scalars.b.CreateIntrinsic(llvm::Intrinsic::ldexp, {x[0][0]->getType(), power->getType()},
                                           {x[0][0], power})};
  };
  kernels.add("rest64", doubles, DType::Float64, rest);
  kernels.add("rest32", floats, DType::Float32, rest);
  kernels.add("scaled64", doubles, DType::Float64, scaled);
  kernels.add("scaled32", floats, DType::Float32, scaled);
  link_device_math(kernels.module);
  softgpu::Bench bench(emit_ptx(kernels.module, {}));
  const std::vector<double> a = {7.5, -1e300, 0x1p1023, 5e-324, -0.0, 3.0},
                            b = {2, 3, 0x1.8p-1060, 2, 5, -1074};
  const std::vector<float> c = {7.5f, -1e38f, 0x1p127f, 1e-45f, -0.0f, 3.0f},
                           d = {2, 3, 0x1.8p-140f, 2, 5, -149};
  const auto run = [&]<class T>(const std::string& name, const std::vector<T>& x, const std::vector<T>& y) {
    const uint64_t out = bench.put(std::vector<T>(x.size()));
    bench.run(name, 1, 32, {bench.put(x), bench.put(y), out, x.size()});
    return bench.get<T>(out, x.size());
  };
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(run("rest64", a, b)[i], std::fmod(a[i], b[i]));
    EXPECT_EQ(run("rest32", c, d)[i], std::fmod(c[i], d[i]));
    EXPECT_EQ(run("scaled64", a, b)[i], std::ldexp(a[i], static_cast<int>(b[i])));
    EXPECT_EQ(run("scaled32", c, d)[i], std::ldexp(c[i], static_cast<int>(d[i])));
  }
}

}  // namespace
}  // namespace ingot::codegen
