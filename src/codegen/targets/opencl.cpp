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

/// Calls of functions of OpenCL C are in the module as calls of declarations.
class OpenCl final : public WithoutWarps {
 public:
  int64_t shared_bytes() const override { return 32 << 10; }
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
  void barrier(Builder& b) const override { call(b, kOpenClBarrier, b.getVoidTy(), {})->setConvergent(); }
  void fence(Builder& b, ir::Scope) const override { call(b, kOpenClFence, b.getVoidTy(), {}); }
  /// A thread need not wait.
  void nanosleep(Builder&, Value*) const override {}

  unsigned shared_space() const override { return 3; }
  unsigned global_space() const override { return 1; }

 private:
  DeviceInstructions instructions_;

  [[noreturn]] void refuse(const std::string& what) const override { refuse_for_opencl(what); }
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
