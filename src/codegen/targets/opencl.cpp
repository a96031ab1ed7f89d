// The kernel target of devices that take OpenCL C.
//
// LLVM's passes work on a module of the triple and layout of NVIDIA's GPUs, which are as any 64-bit device's:
// the text is written from their result, and names neither.

#include "codegen/targets/opencl.h"

#include "codegen/emit.h"
#include "codegen/targets/device.h"
#include "codegen/targets/device_math.h"
#include "codegen/targets/instructions.h"
#include "codegen/targets/kernel_target.h"
#include "codegen/targets/opencl_text.h"

namespace ingot::codegen {

namespace {

class OpenClInstructions final : public Instructions {
 public:
  bool has_fma() const override { return true; }
  bool has_halves() const override { return true; }
  /// Results are passed like arguments, however many they are.
  size_t returned_parts() const override { return 8; }
};

/// Calls of functions of OpenCL C are in the module as calls of declarations.
class OpenCl final : public KernelTarget {
 public:
  const Instructions& instructions() const override { return instructions_; }
  void prepare(llvm::Module& module) const override { prepare_device_module(module); }
  void mark_kernel(llvm::Function& function, unsigned /*threads*/, unsigned /*blocks*/) const override {
    function.setCallingConv(llvm::CallingConv::SPIR_KERNEL);
  }
  std::unique_ptr<llvm::TargetMachine> machine() const override { return make_device_machine({}); }
  void link(llvm::Module& module) const override { link_device_math(module); }
  std::string code_of(llvm::Module& module, llvm::TargetMachine&) const override {
    return opencl_text(module);
  }

  llvm::Function* linked(llvm::Module&, const std::string&, llvm::FunctionType*) const override {
    refuse_for_opencl("a call of a function that is linked (`cuda.declare_device`)");
  }

  Value* grid_value(Builder& b, GridValue what, unsigned axis) const override {
    static constexpr const char* kFunctions[] = {"get_group_id", "get_local_id", "get_num_groups",
                                                 "get_local_size"};
    llvm::CallInst* const index =
        call(b, kFunctions[static_cast<size_t>(what)], b.getInt64Ty(), {b.getInt32(axis)});
    index->setDoesNotAccessMemory();
    return index;
  }
  int64_t warp_threads() const override { return 0; }
  void barrier(Builder& b) const override { call(b, kOpenClBarrier, b.getVoidTy(), {})->setConvergent(); }
  void barrier(Builder&, Value*) const override { refuse_lanes(); }
  void fence(Builder& b, ir::Scope) const override { call(b, kOpenClFence, b.getVoidTy(), {}); }

  Value* vote(Builder&, ir::Question, Value*) const override {
    refuse_for_opencl("a barrier that counts (`syncthreads_count` and the like)");
  }
  Value* vote(Builder&, ir::Question, Value*, Value*) const override { refuse_lanes(); }
  Value* match(Builder&, ir::Agreement, Value*, Value*) const override { refuse_lanes(); }
  Value* shuffle(Builder&, ir::Source, Value*, Value*, Value*, unsigned) const override { refuse_lanes(); }
  Value* active(Builder&) const override { refuse_lanes(); }
  /// A thread need not wait.
  void nanosleep(Builder&, Value*) const override {}

  unsigned shared_space() const override { return 3; }
  unsigned global_space() const override { return 1; }

 private:
  OpenClInstructions instructions_;

  [[noreturn]] static void refuse_lanes() {
    refuse_for_opencl("an operation of a warp (shuffles, votes, barriers of lanes)");
  }
  static llvm::CallInst* call(Builder& b, const char* name, llvm::Type* type,
                              llvm::ArrayRef<Value*> operands) {
    std::vector<llvm::Type*> types;
    for (const Value* operand : operands) types.push_back(operand->getType());
    llvm::Module& module = *b.GetInsertBlock()->getModule();
    llvm::FunctionCallee callee =
        module.getOrInsertFunction(name, llvm::FunctionType::get(type, types, false));
    auto* const function = llvm::cast<llvm::Function>(callee.getCallee());
    function->setDoesNotThrow();
    mark_of_device(*function);
    if (llvm::StringRef(name) == kOpenClBarrier) function->setConvergent();
    return b.CreateCall(callee, operands);
  }
};

}  // namespace

const KernelTarget& opencl_target() {
  static const OpenCl target;
  return target;
}

}  // namespace ingot::codegen
