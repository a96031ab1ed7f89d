#include "codegen/targets/device_lowering.h"

#include <llvm/AsmParser/Parser.h>
#include <llvm/Support/SourceMgr.h>

#include <chrono>

#include "base/math.h"
#include "codegen/targets/device_instructions.h"
#include "codegen/targets/device_math.h"
#include "device_kernels.h"

namespace ingot::codegen {
namespace {

/// A module with a function `k` of these types and this body, which gives `%r`.
std::unique_ptr<llvm::Module> parsed(llvm::LLVMContext& context, const std::string& result,
                                     const std::vector<std::string>& operands, const std::string& body,
                                     const std::string& declarations = "") {
  std::string text = declarations + "\ndefine " + result + " @k(";
  for (size_t i = 0; i < operands.size(); ++i)
    text += (i == 0 ? "" : ", ") + operands[i] + " %" + std::string(1, static_cast<char>('a' + i));
  text += ") {\n" + body + "\nret " + result + " %r\n}\n";
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, error, context);
  if (module == nullptr) throw base::InternalError(error.getMessage().str() + "\n" + text);
  prepare_device_module(*module);
  return module;
}

std::unique_ptr<llvm::Module> intrinsic(llvm::LLVMContext& context, const std::string& name,
                                        const std::string& result, const std::vector<std::string>& operands,
                                        const std::string& last = "") {
  std::string types;
  std::string values;
  for (size_t i = 0; i < operands.size(); ++i) {
    types += (i == 0 ? "" : ", ") + operands[i];
    values += (i == 0 ? "" : ", ") + operands[i] + " %" + std::string(1, static_cast<char>('a' + i));
  }
  if (!last.empty()) {
    types += ", " + last.substr(0, last.find(' '));
    values += ", " + last;
  }
  const std::string signature = result + " @llvm." + name + "(";
  return parsed(context, result, operands, "%r = call " + signature + values + ")",
                "declare " + signature + types + ")");
}

/// All that has no precision of IEEE's, and calls.
void expect_plain(llvm::Module& module, const std::string& what, int capability) {
  const std::string ptx = emit_ptx(module, *DeviceTarget::of(capability));
  for (const char* part : {".approx", ".ftz", ".full", ".extern"})
    EXPECT_EQ(ptx.find(part), std::string::npos) << what << "\n" << ptx;
}

void check_intrinsics(int capability) {
  const auto check = [&](const std::string& name, const std::string& result,
                         const std::vector<std::string>& operands, const std::string& last = "") {
    llvm::LLVMContext context;
    expect_plain(*intrinsic(context, name, result, operands, last), name, capability);
  };
  for (const char* type : {"float", "double"}) {
    const std::string t = type;
    const std::string suffix = t == "float" ? ".f32" : ".f64";
    for (const char* name : {"floor", "ceil", "trunc", "roundeven", "rint", "nearbyint", "fabs", "sqrt"})
      check(name + suffix, t, {t});
    for (const char* name : {"copysign", "minnum", "maxnum", "minimum", "maximum"})
      check(name + suffix, t, {t, t});
    check("fma" + suffix, t, {t, t, t});
    check("is.fpclass" + suffix, "i1", {t}, "i32 3");
    for (const char* to : {"i8", "i16", "i32", "i64"})
      for (const char* name : {"fptosi.sat.", "fptoui.sat."}) check(name + std::string(to) + suffix, to, {t});
  }
  for (const char* type : {"i8", "i16", "i32", "i64", "i128"}) {
    const std::string t = type;
    const std::string suffix = "." + t;
    for (const char* name : {"ctpop", "bitreverse"}) check(name + suffix, t, {t});
    if (t != "i8") check("bswap" + suffix, t, {t});
    for (const char* name : {"ctlz", "cttz", "abs"})
      for (const char* last : {"i1 false", "i1 true"}) check(name + suffix, t, {t}, last);
    for (const char* name : {"smin", "smax", "umin", "umax", "sadd.sat", "uadd.sat", "ssub.sat", "usub.sat"})
      check(name + suffix, t, {t, t});
    for (const char* name : {"sadd", "uadd", "ssub", "usub", "smul", "umul"})
      check(name + (".with.overflow" + suffix), "{" + t + ", i1}", {t, t});
    for (const char* name : {"fshl", "fshr"}) check(name + suffix, t, {t, t, t});
  }
}

TEST(DeviceLowering, IntrinsicsAreSelectedOnTheOldestGeneration) { check_intrinsics(DeviceTarget::kOldest); }
TEST(DeviceLowering, IntrinsicsAreSelectedOnTheNewestGeneration) { check_intrinsics(DeviceTarget::kNewest); }

TEST(DeviceLowering, OperationsAreSelected) {
  for (const int capability : {DeviceTarget::kOldest, DeviceTarget::kNewest}) {
    const auto check = [&](const std::string& result, const std::vector<std::string>& operands,
                           const std::string& body) {
      llvm::LLVMContext context;
      expect_plain(*parsed(context, result, operands, body), body, capability);
    };
    for (const std::string t : {"i8", "i16", "i32", "i64", "i128"})
      for (const char* op : {"add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr"})
        check(t, {t, t}, "%r = " + std::string(op) + " " + t + " %a, %b");
    for (const std::string real : {"half", "float", "double"}) {
      for (const char* op : {"fadd", "fsub", "fmul", "fdiv"})
        check(real, {real, real}, "%r = " + std::string(op) + " " + real + " %a, %b");
      for (const std::string t : {"i8", "i16", "i32", "i64"}) {
        check(real, {t}, "%r = sitofp " + t + " %a to " + real);
        check(real, {t}, "%r = uitofp " + t + " %a to " + real);
        check(t, {real}, "%r = fptosi " + real + " %a to " + t);
        check(t, {real}, "%r = fptoui " + real + " %a to " + t);
      }
    }
    for (const std::string n : {"2", "4", "8"})
      for (const std::string t : {"i1", "i32", "i64", "float", "double"}) {
        const std::string vector = "<" + n + " x " + t + ">";
        check(vector, {"<" + n + " x i1>", vector, vector},
              "%r = select <" + n + " x i1> %a, " + vector + " %b, " + vector + " %c");
      }
    check("{i32, i8, double, i64}", {"i32"},
          "%r = insertvalue {i32, i8, double, i64} zeroinitializer, i32 %a, 0");
  }
}

TEST(DeviceLowering, WhatWouldEndTheProcessIsRefused) {
  const auto refused = [](const std::string& what,
                          const std::function<std::unique_ptr<llvm::Module>(llvm::LLVMContext&)>& make) {
    llvm::LLVMContext context;
    const std::unique_ptr<llvm::Module> module = make(context);
    EXPECT_THROW(emit_ptx(*module, {}), base::InternalError) << what;
  };
  for (const std::string name : {"sin", "cos", "exp", "exp10", "log", "canonicalize"})
    refused(name, [&](llvm::LLVMContext& c) { return intrinsic(c, name + ".f64", "double", {"double"}); });
  for (const std::string name : {"lrint", "llround"})
    refused(name, [&](llvm::LLVMContext& c) { return intrinsic(c, name + ".i64.f64", "i64", {"double"}); });
  refused("powi",
          [](llvm::LLVMContext& c) { return intrinsic(c, "powi.f64.i32", "double", {"double", "i32"}); });
  const std::vector<std::array<std::string, 3>> operations = {
      {"double", "double", "%r = frem double %a, %a"},
      {"double", "i128", "%r = sitofp i128 %a to double"},
      {"i128", "float", "%r = fptoui float %a to i128"},
      {"i32", "ptr", "%r = load atomic i32, ptr %a acquire, align 4"},
      {"i128", "ptr", "%r = atomicrmw add ptr %a, i128 1 monotonic"},
      {"ptr", "i64", "%r = alloca i8, i64 %a"},
      {"fp128", "fp128", "%r = fadd fp128 %a, %a"},
      {"bfloat", "bfloat", "%r = fadd bfloat %a, %a"},
  };
  for (const auto& [result, operand, body] : operations)
    refused(body, [&](llvm::LLVMContext& c) { return parsed(c, result, {operand}, body); });
}

TEST(DeviceLowering, ElementaryIntrinsicsAreThoseOfBase) {
  DeviceKernels kernels;
  const DType one[] = {DType::Float64};
  const auto add = [&](const std::string& name, llvm::Intrinsic::ID id) {
    kernels.add(name, one, DType::Float64, [id](Scalars& scalars, std::span<const Parts> x) {
      return Parts{scalars.b.CreateUnaryIntrinsic(id, x[0][0])};
    });
  };
  add("sin", llvm::Intrinsic::sin);
  add("log2", llvm::Intrinsic::log2);
  kernels.add("fenced", one, DType::Float64, [](Scalars& scalars, std::span<const Parts> x) {
    device_instructions().fence_streams(scalars.b);
    return x[0];
  });
  link_device_math(kernels.module);
  softgpu::Bench bench(emit_ptx(kernels.module, {}));
  const std::vector<double> x = {0.5, 1e300, -0.0, 3.25};
  const auto run = [&](const std::string& name) {
    const uint64_t out = bench.put(std::vector<double>(x.size()));
    bench.run(name, 1, 32, {bench.put(x), out, x.size()});
    return bench.get<double>(out, x.size());
  };
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(run("sin")[i], base::math::sin(x[i]));
    EXPECT_EQ(run("log2")[i], base::math::log2(x[i]));
    EXPECT_EQ(run("fenced")[i], x[i]);
  }
}

TEST(DeviceLowering, TheCostOfComplexPowers) {
  using Clock = std::chrono::steady_clock;
  const auto ms = [](Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); };
  for (const bool has_power : {false, true, true}) {
    DeviceKernels kernels;
    const DType two[] = {DType::Complex128, DType::Complex128};
    kernels.add("k", two, DType::Complex128, [&](Scalars& scalars, std::span<const Parts> x) {
      return scalars.elementwise(has_power ? ir::Op::power : ir::Op::add, DType::Complex128, x);
    });
    const Clock::time_point start = Clock::now();
    link_device_math(kernels.module);
    const Clock::time_point linked = Clock::now();
    size_t instructions = 0;
    for (const llvm::Function& function : kernels.module) instructions += function.getInstructionCount();
    const std::string ptx = emit_ptx(kernels.module, {});
    std::printf("%s: %.1f ms to link, %.1f ms to emit %zu instructions, %zu bytes of PTX\n",
                has_power ? "power" : "add", ms(linked - start), ms(Clock::now() - linked), instructions,
                ptx.size());
    EXPECT_GT(ptx.size(), 500u);
  }
}

}  // namespace
}  // namespace ingot::codegen
