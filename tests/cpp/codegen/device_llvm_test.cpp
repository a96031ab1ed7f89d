#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

#include <cmath>

#include "codegen/targets/device.h"
#include "softgpu/tests/support.h"

// PTX that LLVM makes.

namespace ingot::codegen {
namespace {

std::string ptx_of(const std::string& ir, const std::string& kernel) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  const std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(ir, error, context);
  if (module == nullptr) {
    ADD_FAILURE() << error.getMessage().str();
    return "";
  }
  prepare_device_module(*module);
  mark_kernel(*module->getFunction(kernel));
  return emit_ptx(*module, {});
}

TEST(Llvm, AReductionWithSharedMemoryAndACall) {
  softgpu::Bench bench(ptx_of(R"(
@tile = internal addrspace(3) global [64 x double] undef, align 8
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare void @llvm.nvvm.barrier0()
declare double @llvm.sqrt.f64(double)
define internal double @root(double %x) noinline { %r = call double @llvm.sqrt.f64(double %x) ret double %r }
define void @k(ptr addrspace(1) %x, ptr addrspace(1) %out, i64 %n) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %i0 = zext i32 %tid to i64
  %st = zext i32 %ntid to i64
  br label %head
head:
  %i = phi i64 [ %i0, %entry ], [ %i1, %body ]
  %acc = phi double [ 0.0, %entry ], [ %acc1, %body ]
  %in = icmp slt i64 %i, %n
  br i1 %in, label %body, label %done
body:
  %xp = getelementptr double, ptr addrspace(1) %x, i64 %i
  %v = load double, ptr addrspace(1) %xp, align 8
  %r = call double @root(double %v)
  %acc1 = fadd double %acc, %r
  %i1 = add i64 %i, %st
  br label %head
done:
  %tp = getelementptr [64 x double], ptr addrspace(3) @tile, i64 0, i64 %i0
  store double %acc, ptr addrspace(3) %tp, align 8
  call void @llvm.nvvm.barrier0()
  %h0 = lshr i32 %ntid, 1
  br label %tree
tree:
  %h = phi i32 [ %h0, %done ], [ %h1, %next ]
  %more = icmp ne i32 %h, 0
  br i1 %more, label %step, label %fin
step:
  %act = icmp ult i32 %tid, %h
  br i1 %act, label %add, label %next
add:
  %o = add i32 %tid, %h
  %o64 = zext i32 %o to i64
  %op = getelementptr [64 x double], ptr addrspace(3) @tile, i64 0, i64 %o64
  %ov = load double, ptr addrspace(3) %op, align 8
  %tv = load double, ptr addrspace(3) %tp, align 8
  %sv = fadd double %ov, %tv
  store double %sv, ptr addrspace(3) %tp, align 8
  br label %next
next:
  call void @llvm.nvvm.barrier0()
  %h1 = lshr i32 %h, 1
  br label %tree
fin:
  %z = icmp eq i32 %tid, 0
  br i1 %z, label %last, label %exit
last:
  %total = load double, ptr addrspace(3) %tp, align 8
  %old = atomicrmw fadd ptr addrspace(1) %out, double %total syncscope("device") monotonic
  br label %exit
exit:
  ret void
})",
                              "k"));
  std::vector<double> x(1000);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i * i);
  const uint64_t out = bench.put(std::vector<double>{0.5});
  bench.run("k", 1, 64, {bench.put(x), out, x.size()});
  EXPECT_EQ(bench.get<double>(out, 1)[0], 999 * 500 + 0.5);
}

TEST(Llvm, IntegersStructsArraysAndSwitches) {
  softgpu::Bench bench(ptx_of(R"(
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.ctpop.i32(i32)
declare i32 @llvm.fshl.i32(i32, i32, i32)
declare i64 @llvm.smax.i64(i64, i64)
@words = internal addrspace(4) constant [4 x i16] [i16 5, i16 -6, i16 7, i16 8]
define void @k(ptr addrspace(1) %out, i64 %n) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %a = alloca [8 x i32], align 4
  %low = and i32 %t, 7
  %i = zext i32 %low to i64
  %p = getelementptr [8 x i32], ptr %a, i64 0, i64 %i
  store i32 %t, ptr %p
  %v = load i32, ptr %p
  switch i32 %low, label %other [ i32 0, label %zero  i32 1, label %one  i32 2, label %two  i32 3, label %three i32 4, label %four ]
zero:  br label %join
one:   br label %join
two:   br label %join
three: br label %join
four:  br label %join
other: br label %join
join:
  %s = phi i32 [ 10, %zero ], [ 21, %one ], [ 35, %two ], [ 41, %three ], [ 53, %four ], [ %v, %other ]
  %j = and i32 %t, 3
  %wp = getelementptr [4 x i16], ptr addrspace(4) @words, i32 0, i32 %j
  %w = load i16, ptr addrspace(4) %wp
  %we = sext i16 %w to i64
  %c = call i32 @llvm.ctpop.i32(i32 %t)
  %f = call i32 @llvm.fshl.i32(i32 %c, i32 %t, i32 3)
  %f64 = zext i32 %f to i64
  %s64 = sext i32 %s to i64
  %m = call i64 @llvm.smax.i64(i64 %we, i64 %s64)
  %q = sdiv i64 %m, 3
  %r = add i64 %q, %f64
  %o64 = zext i32 %t to i64
  %op = getelementptr i64, ptr addrspace(1) %out, i64 %o64
  store i64 %r, ptr addrspace(1) %op
  ret void
})",
                              "k"));
  const uint64_t out = bench.put(std::vector<int64_t>(50));
  bench.run("k", 1, 50, {out, 0});
  const int64_t cases[] = {10, 21, 35, 41, 53};
  const int64_t words[] = {5, -6, 7, 8};
  for (int64_t t = 0; t < 50; ++t) {
    const int64_t s = t % 8 < 5 ? cases[t % 8] : t;
    const int64_t f =
        std::popcount(static_cast<uint32_t>(t)) * 8 + static_cast<int64_t>(static_cast<uint32_t>(t) >> 29);
    EXPECT_EQ(bench.get<int64_t>(out, 50)[static_cast<size_t>(t)], std::max(words[t % 4], s) / 3 + f) << t;
  }
}

TEST(Llvm, Float16AndVectors) {
  softgpu::Bench bench(ptx_of(R"(
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare half @llvm.fma.f16(half, half, half)
define void @k(ptr addrspace(1) %x, ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext i32 %t to i64
  %p = getelementptr <4 x float>, ptr addrspace(1) %x, i64 %i
  %v = load <4 x float>, ptr addrspace(1) %p, align 16
  %w = fmul <4 x float> %v, <float 2.0, float 3.0, float 4.0, float 5.0>
  store <4 x float> %w, ptr addrspace(1) %p, align 16
  %e = extractelement <4 x float> %v, i32 1
  %h = fptrunc float %e to half
  %f = call half @llvm.fma.f16(half %h, half %h, half %h)
  %c = fcmp ogt half %f, 0xH4000
  %s = select i1 %c, half %f, half %h
  %d = fpext half %s to double
  %op = getelementptr double, ptr addrspace(1) %out, i64 %i
  store double %d, ptr addrspace(1) %op
  ret void
})",
                              "k"));
  std::vector<float> x(4 * 40);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) / 4;
  const uint64_t in = bench.put(x);
  const uint64_t out = bench.put(std::vector<double>(40));
  bench.run("k", 1, 40, {in, out});
  EXPECT_EQ(bench.get<float>(in, 8)[6], 1.5f * 4);
  EXPECT_EQ(bench.get<double>(out, 40)[0], 0.25);
  EXPECT_EQ(bench.get<double>(out, 40)[3], 3.25 * 3.25 + 3.25);
}

}  // namespace
}  // namespace ingot::codegen
