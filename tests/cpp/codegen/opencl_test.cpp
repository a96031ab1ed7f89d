#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/SourceMgr.h>

#include "base/error.h"
#include "codegen/targets/opencl_text.h"

namespace ingot::codegen {
namespace {

/// The text of a module whose functions are these.
std::string text_of(const std::string& functions) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  const std::string head =
      "target datalayout = \"e-i64:64-i128:128-v16:16-v32:32-n16:32:64\"\n"
      "target triple = \"nvptx64-nvidia-cuda\"\n"
      "@shared = internal addrspace(3) global [64 x i8] poison, align 16\n"
      "@table = internal constant [3 x double] [double 1.0, double 2.0, double 4.0]\n"
      "declare i64 @get_local_id(i32)\n";
  const std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(head + functions, error, context);
  if (module == nullptr) throw std::runtime_error(error.getMessage().str());
  return opencl_text(*module);
}

std::string refusal_of(const std::string& functions) {
  try {
    text_of(functions);
  } catch (const base::Unsupported& refused) {
    return refused.what();
  }
  return "";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(OpenClText, PointersHaveTheSpaceOfWhatTheyAreMadeOf) {
  const std::string text = text_of(R"(
define internal double @fmod(ptr %from, ptr %to) {
  %x = load double, ptr %from, align 8
  store double %x, ptr %to, align 8
  ret double %x
}
define spir_kernel void @k(ptr %out, i64 %n) {
  %own = alloca [2 x double], align 16
  %i = call i64 @get_local_id(i32 0)
  %at = getelementptr double, ptr addrspacecast (ptr addrspace(3) @shared to ptr), i64 %i
  %known = getelementptr [3 x double], ptr @table, i64 0, i64 %n
  %x = load double, ptr %known, align 8
  store double %x, ptr %at, align 8
  %y = call double @fmod(ptr %out, ptr %own)
  store double %y, ptr %out, align 8
  ret void
}
)");
  EXPECT_TRUE(has(text, "__kernel void k(__global uchar* v0, ulong v1) {\n__local uchar ingot_g"));
  EXPECT_TRUE(has(text, "(__global uchar* v0, __private uchar* v1) {")) << text;
  EXPECT_TRUE(has(text, "__constant ulong ingot_g")) << text;
  EXPECT_TRUE(has(text, "{4607182418800017408UL,4611686018427387904UL,4616189618054758400UL};")) << text;
  EXPECT_FALSE(has(text, "fmod")) << text;
}

TEST(OpenClText, APointerOfTwoSpacesIsRefused) {
  const std::string refused = refusal_of(R"(
define spir_kernel void @k(ptr %out, i1 %c) {
  %either = select i1 %c, ptr %out, ptr addrspacecast (ptr addrspace(3) @shared to ptr)
  store double 1.0, ptr %either, align 8
  ret void
}
)");
  EXPECT_TRUE(has(refused, "an array that is sometimes one of a thread or block")) << refused;
  EXPECT_TRUE(has(refused, "in a kernel for an OpenCL device")) << refused;
}

TEST(OpenClText, WhatCannotBeExpressedIsRefused) {
  EXPECT_TRUE(has(refusal_of("declare void @other()\n"
                             "define spir_kernel void @k() { call void @other()\nret void }"),
                  "the function `other`"));
  EXPECT_TRUE(has(refusal_of("define spir_kernel void @k(ptr %p, i128 %a) { %q = udiv i128 %a, 3\n"
                             "store i128 %q, ptr %p\nret void }"),
                  "a division of 128 bits"));
  EXPECT_TRUE(has(refusal_of("define spir_kernel void @k(i64 %a) { %p = inttoptr i64 %a to ptr\n"
                             "store i8 1, ptr %p\nret void }"),
                  "a pointer that is made by \"inttoptr\""));
}

}  // namespace
}  // namespace ingot::codegen
