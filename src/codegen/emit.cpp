#include "codegen/emit.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <memory>

#include "base/error.h"
#include "codegen/glue.h"

namespace ingot::codegen {

namespace {

/// Registers for functions that are marked `optnone`, in one pass over each block: the allocator for all
/// others, which comes later in the pipeline, then finds nothing left to do in them.
class AllocateQuickly : public llvm::MachineFunctionPass {
 public:
  AllocateQuickly() : MachineFunctionPass(id), allocator_(llvm::createFastRegisterAllocator()) {}

  bool runOnMachineFunction(llvm::MachineFunction& function) override {
    if (!is_glue(function.getFunction())) return false;
    struct Access : MachineFunctionPass {
      using MachineFunctionPass::runOnMachineFunction;
    };
    auto& pass = static_cast<MachineFunctionPass&>(*allocator_);
    return (pass.*(&Access::runOnMachineFunction))(function);
  }
  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

 private:
  static char id;
  std::unique_ptr<llvm::FunctionPass> allocator_;
};

char AllocateQuickly::id = 0;

/// Leaves functions empty once nobody waits for the code any more: no exception may pass LLVM.
class LeaveOut : public llvm::FunctionPass {
 public:
  explicit LeaveOut(const std::function<bool()>& is_over) : FunctionPass(id), is_over_(is_over) {}

  bool runOnFunction(llvm::Function& function) override {
    if (!is_over_ || !is_over_()) return false;
    for (llvm::BasicBlock& block : function) block.dropAllReferences();
    while (!function.empty()) function.begin()->eraseFromParent();
    llvm::BasicBlock* const block = llvm::BasicBlock::Create(function.getContext(), "", &function);
    new llvm::UnreachableInst(function.getContext(), block);
    return true;
  }

 private:
  static char id;
  const std::function<bool()>& is_over_;
};

char LeaveOut::id = 0;

/// Collects errors for which LLVM would otherwise end the process.
struct Listener final : llvm::DiagnosticHandler {
  explicit Listener(std::string& found) : errors(found) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error) return true;
    llvm::raw_string_ostream stream(errors);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    stream << ' ';
    return true;
  }
  std::string& errors;
};

}  // namespace

std::string text_of(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return stream.str();
}

void verify(const llvm::Module& module) {
  std::string faults;
  llvm::raw_string_ostream stream(faults);
  if (llvm::verifyModule(module, &stream))
    throw base::InternalError("codegen: LLVM's verifier: " + stream.str() + "\n" + text_of(module));
}

std::string emit_file(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType kind,
                      const std::function<bool()>& is_over) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  // As `addPassesToEmitFile` does it, with one pass more.
  auto& generator = static_cast<llvm::LLVMTargetMachine&>(machine);
  auto* const info = new llvm::MachineModuleInfoWrapperPass(&generator);
  llvm::TargetPassConfig* const config = generator.createPassConfig(passes);
  config->setDisableVerify(true);
  config->insertPass(&llvm::TwoAddressInstructionPassID, new AllocateQuickly);
  passes.add(new LeaveOut(is_over));
  passes.add(config);
  passes.add(info);
  bool failed = config->addISelPasses();
  config->addMachinePasses();
  config->setInitialized();
  failed |= generator.addAsmPrinter(passes, stream, nullptr, kind, info->getMMI().getContext());
  passes.add(llvm::createFreeMachineFunctionPass());
  INGOT_ASSERT(!failed, "codegen: LLVM emits files of this kind");
  passes.run(module);
  return {bytes.data(), bytes.size()};
}

std::string emit_for_device(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType kind) {
  std::string errors;
  llvm::LLVMContext& context = module.getContext();
  std::unique_ptr<llvm::DiagnosticHandler> before = context.getDiagnosticHandler();
  context.setDiagnosticHandler(std::make_unique<Listener>(errors));
  std::string code = emit_file(module, machine, kind);
  context.setDiagnosticHandler(std::move(before));
  if (!errors.empty())
    throw base::InternalError("codegen: " + machine.getTargetTriple().str() + ": " + errors);
  return code;
}

}  // namespace ingot::codegen
