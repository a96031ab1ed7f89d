#include "codegen/targets/device.h"

#include <gtest/gtest.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include "base/error.h"

namespace ingot::codegen {
namespace {

/// y[i] = a * x[i] + y[i], one thread for each element.
std::unique_ptr<llvm::Module> axpy(llvm::LLVMContext& context) {
  auto module = std::make_unique<llvm::Module>("axpy", context);
  prepare_device_module(*module);
  llvm::IRBuilder<> b(context);
  llvm::Type* const global = b.getPtrTy(1);
  auto* const type = llvm::FunctionType::get(b.getVoidTy(), {b.getDoubleTy(), global, global}, false);
  auto* const kernel = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "axpy", *module);
  mark_kernel(*kernel);
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", kernel));
  llvm::Value* const i =
      b.CreateSExt(b.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {}, {}), b.getInt64Ty());
  llvm::Value* const x = b.CreateGEP(b.getDoubleTy(), kernel->getArg(1), i);
  llvm::Value* const y = b.CreateGEP(b.getDoubleTy(), kernel->getArg(2), i);
  llvm::Value* const product = b.CreateFMul(kernel->getArg(0), b.CreateLoad(b.getDoubleTy(), x));
  b.CreateStore(b.CreateFAdd(product, b.CreateLoad(b.getDoubleTy(), y)), y);
  b.CreateRetVoid();
  return module;
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST(Device, AKernelBecomesPtx) {
  llvm::LLVMContext context;
  const std::string ptx = emit_ptx(*axpy(context), *DeviceTarget::of(90));
  for (const char* part : {".version 7.8", ".target sm_90\n", ".address_size 64", ".visible .entry axpy(",
                           "%tid.x", "ld.global.f64", "st.global.f64", "ret;"})
    EXPECT_TRUE(has(ptx, part)) << part << " is not in\n" << ptx;
}

TEST(Device, ProductsAndSumsAreNotContracted) {
  llvm::LLVMContext context;
  const std::string ptx = emit_ptx(*axpy(context), *DeviceTarget::of(90));
  EXPECT_TRUE(has(ptx, "mul.rn.f64") && has(ptx, "add.rn.f64") && !has(ptx, "fma")) << ptx;
}

TEST(Device, GenerationsAreClampedToThoseOfLlvm) {
  const auto name = [](int capability) { return DeviceTarget::of(capability)->cpu(); };
  EXPECT_EQ(name(75), "sm_75");
  EXPECT_EQ(name(88), "sm_87");
  EXPECT_EQ(name(90), "sm_90");
  EXPECT_EQ(name(100), "sm_90");
  EXPECT_EQ(name(121), "sm_90");
  EXPECT_FALSE(DeviceTarget::of(70));
}

TEST(Device, EveryGenerationHasAPtxVersion) {
  const std::vector<DeviceTarget> targets = device_targets();
  ASSERT_EQ(targets.size(), 6u);
  for (const DeviceTarget& target : targets) {
    llvm::LLVMContext context;
    EXPECT_EQ(DeviceTarget::of(target.capability), target);
    const std::string version =
        ".version " + std::to_string(target.ptx / 10) + '.' + std::to_string(target.ptx % 10);
    const std::string ptx = emit_ptx(*axpy(context), target);
    EXPECT_TRUE(has(ptx, version.c_str()) && has(ptx, (".target " + target.cpu()).c_str())) << ptx;
  }
}

TEST(Device, FaultyModulesAreRefused) {
  llvm::LLVMContext context;
  llvm::Module unprepared("m", context);
  EXPECT_THROW(emit_ptx(unprepared, {}), base::InternalError);

  llvm::Module open_ended("m", context);
  prepare_device_module(open_ended);
  auto* const type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), false);
  auto* const f = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "f", open_ended);
  llvm::BasicBlock::Create(context, "entry", f);
  EXPECT_THROW(emit_ptx(open_ended, {}), base::InternalError);
}

}  // namespace
}  // namespace ingot::codegen
