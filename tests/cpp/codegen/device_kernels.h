#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "codegen/scalars.h"
#include "codegen/targets/device.h"
#include "codegen/targets/kernel_target.h"
#include "codegen/targets/target.h"
#include "softgpu/tests/support.h"

// Kernels over arrays, one thread for each element, and the software device to run them.

namespace ingot::codegen {

/// The target of a kind of device.
inline Target code_for(const KernelTarget& kernels) {
  Target target;
  target.instructions = &kernels.instructions();
  return target;
}

/// A module of kernels `name(x..., out, n)`: out[i] is made of x[i]....
class DeviceKernels {
 public:
  explicit DeviceKernels(const KernelTarget& kernels = kernel_target({}))
      : kernels_(kernels), target_(code_for(kernels)) {
    kernels.prepare(module);
  }

  using Write = std::function<Parts(Scalars&, std::span<const Parts> operands)>;
  void add(const std::string& name, std::span<const DType> operands, DType result, const Write& write) {
    llvm::IRBuilder<> b(context);
    Types types(operands.size() + 1, b.getPtrTy());
    types.push_back(b.getInt64Ty());
    auto* const kernel = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), types, false),
                                                llvm::GlobalValue::ExternalLinkage, name, module);
    kernels_.mark_kernel(*kernel, kThreads, 1);
    const auto block = [&](const char* block_name) {
      return llvm::BasicBlock::Create(context, block_name, kernel);
    };
    llvm::BasicBlock* const entry = block("entry");
    llvm::BasicBlock* const iteration = block("iteration");
    llvm::BasicBlock* const end = block("end");
    b.SetInsertPoint(entry);
    using GridValue = KernelTarget::GridValue;
    llvm::Value* const first = b.CreateMul(kernels_.grid_value(b, GridValue::Block, 0),
                                           kernels_.grid_value(b, GridValue::Threads, 0));
    llvm::Value* const i = b.CreateAdd(first, kernels_.grid_value(b, GridValue::Thread, 0));
    b.CreateCondBr(b.CreateICmpSLT(i, kernel->getArg(static_cast<unsigned>(types.size() - 1))), iteration,
                   end);
    b.SetInsertPoint(iteration);
    llvm::SmallVector<Parts, 2> values;
    for (size_t k = 0; k < operands.size(); ++k)
      values.push_back(load(b, operands[k], kernel->getArg(static_cast<unsigned>(k)), i));
    Scalars scalars(unit_, b);
    const Parts made = write(scalars, values);
    store(b, result, kernel->getArg(static_cast<unsigned>(operands.size())), i, made);
    b.CreateBr(end);
    b.SetInsertPoint(end);
    b.CreateRetVoid();
  }

  static constexpr uint32_t kThreads = 128;  ///< of a block

  llvm::LLVMContext context;
  llvm::Module module{"kernels", context};

 private:
  struct Element {
    llvm::Type* memory;
    llvm::Type* part;
    unsigned parts;
  };
  Element element(DType dtype) {
    llvm::Type* const part = unit_.part_type(base::component_of(dtype));
    return {unit_.memory_type(part), part, base::is_complex(dtype) ? 2u : 1u};
  }
  llvm::Value* address(llvm::IRBuilder<>& b, const Element& type, llvm::Value* array, llvm::Value* i,
                       unsigned part) {
    llvm::Value* const at = b.CreateAdd(b.CreateMul(i, b.getInt64(type.parts)), b.getInt64(part));
    return b.CreateGEP(type.memory, array, at);
  }
  Parts load(llvm::IRBuilder<>& b, DType dtype, llvm::Value* array, llvm::Value* i) {
    const Element type = element(dtype);
    Parts parts;
    for (unsigned k = 0; k < type.parts; ++k) {
      llvm::Value* const loaded = b.CreateLoad(type.memory, address(b, type, array, i, k));
      parts.push_back(type.memory == type.part ? loaded : b.CreateTrunc(loaded, type.part));
    }
    return parts;
  }
  void store(llvm::IRBuilder<>& b, DType dtype, llvm::Value* array, llvm::Value* i, const Parts& parts) {
    const Element type = element(dtype);
    for (unsigned k = 0; k < type.parts; ++k) {
      llvm::Value* const value = type.memory == type.part ? parts[k] : b.CreateZExt(parts[k], type.memory);
      b.CreateStore(value, address(b, type, array, i, k));
    }
  }

  const KernelTarget& kernels_;
  const ir::Module source_;
  const Target target_;
  Unit unit_{source_, target_, module};
};

/// Runs a kernel of `DeviceKernels` over `count` elements of `size` bytes given; the results' bytes.
inline std::vector<std::byte> run_over(softgpu::Bench& bench, const std::string& name,
                                       std::span<const std::vector<std::byte>> operands, size_t count,
                                       size_t result_size) {
  std::vector<uint64_t> arguments;
  for (const std::vector<std::byte>& operand : operands) arguments.push_back(bench.put(operand));
  const uint64_t out = bench.put(std::vector<std::byte>(count * result_size));
  arguments.push_back(out);
  arguments.push_back(count);
  constexpr uint32_t kThreads = DeviceKernels::kThreads;
  bench.run(name, static_cast<uint32_t>((count + kThreads - 1) / kThreads), kThreads, arguments);
  return bench.get<std::byte>(out, count * result_size);
}

}  // namespace ingot::codegen
