// Less code. LLVM's time grows with the code it is given, so shared nests are given only the values they use,
// those that are the same become one function (`MergeFunctions`), and loops around whole nests keep what
// nests are prepared with where it is needed (`codegen/compile`). InstCombine, whose time grows with the
// square of the conditions on a value, is left out of functions of more than a thousand branches.

#include "codegen/compile.h"

#include <llvm/Transforms/IPO/DeadArgumentElimination.h>
#include <llvm/Transforms/IPO/MergeFunctions.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <atomic>
#include <ctime>
#include <memory>
#include <optional>

#include "base/abi.h"
#include "codegen/analyses.h"
#include "codegen/compile_module.h"
#include "codegen/device_code.h"
#include "codegen/emit.h"
#include "codegen/glue.h"
#include "codegen/hoist.h"
#include "codegen/join.h"
#include "codegen/quick.h"
#include "codegen/shares.h"
#include "codegen/targets/target_machine.h"
#include "codegen/with_llvm.h"

namespace ingot::codegen {

namespace {

double cpu_ms() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

/// Adds the CPU time of its lifetime to a phase.
class Timer {
 public:
  explicit Timer(double& phase) : phase_(phase), start_(cpu_ms()) {}
  ~Timer() { phase_ += cpu_ms() - start_; }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  double& phase_;
  double start_;
};

llvm::CodeGenOptLevel level_of(Effort effort) {
  switch (effort) {
    case Effort::Quick: return llvm::CodeGenOptLevel::None;
    case Effort::Normal: return llvm::CodeGenOptLevel::Less;
    case Effort::Full: return llvm::CodeGenOptLevel::Default;
  }
  __builtin_unreachable();
}

/// For each value, InstCombine looks at all conditions on the values that it is made of: where there are more
/// branches than these, at too many.
constexpr size_t kMostBranches = 1000;

class CombineFewBranches : public llvm::PassInfoMixin<CombineFewBranches> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
    size_t branches = 0;
    for (const llvm::BasicBlock& block : function)
      branches += block.getTerminator()->getNumSuccessors() > 1 ? 1 : 0;
    return branches > kMostBranches ? llvm::PreservedAnalyses::all() : combine_.run(function, analyses);
  }

 private:
  llvm::InstCombinePass combine_;
};

/// The passes that clean SSA still needs, in order: expand stack slots, find equal values, canonical
/// instructions, then loop invariants move out of loops, and blocks are merged. Parts of arrays that a
/// function is passed and does not need are then known, and not passed. Entries are split into loops and
/// glue.
void optimize(llvm::Module& module, llvm::TargetMachine& machine, const ir::Module& source) {
  Analyses analyses(machine);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(CombineFewBranches());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(HoistFromSmallLoops(), /*UseMemorySSA=*/true));
  std::vector<llvm::Function*> entries;
  for (llvm::Function& function : module) {
    if (function.isDeclaration() || is_glue(function)) continue;  // of any floating-point state
    source.go_on();
    passes.run(function, analyses.functions);
    if (!is_inside(function)) entries.push_back(&function);
  }
  for (llvm::Function* entry : entries)
    separate_glue(*entry, analyses.functions.getResult<llvm::LoopAnalysis>(*entry));
  llvm::DeadArgumentEliminationPass().run(module, analyses.modules);
  llvm::MergeFunctionsPass().run(module, analyses.modules);
}

/// A program as a module of LLVM, that becomes an object.
class Translation {
 public:
  Translation(const ir::Module& source, const Target& target, const Options& options,
              const std::function<void(Unit&)>& emit)
      : source_(source), options_(options), machine_(target_machine(target, level_of(options.effort))) {
    context_.setDiscardValueNames(!options.want_llvm_ir);
    module_.setTargetTriple(machine_->getTargetTriple().str());
    module_.setDataLayout(machine_->createDataLayout());
    module_.setPICLevel(llvm::PICLevel::SmallPIC);
    const Timer timer(compiled.times.emit);
    Unit unit(source, target, module_);
    emit(unit);
    compiled.sites = std::move(unit.sites);
    compiled.wants_default_state = unit.wants_default_state();
    const DeviceCode* const device = unit.device_if_any();
    has_kernels_ = device != nullptr;
    if (has_kernels_ && options.want_assembly) {
      compiled.kernels_llvm_ir = device->llvm_ir();
      compiled.kernels = device->shown();
      compiled.kernel_names = device->names();
    }
  }

  /// Into shares for threads. What launches kernels, and what texts are asked of, is one share.
  Division divide() const {
    const bool is_whole = options_.want_llvm_ir || options_.want_assembly || has_kernels_;
    return codegen::divide(module_, is_whole ? 1 : options_.threads);
  }
  void keep_share(const Division& division, uint32_t share) { codegen::keep_share(module_, division, share); }

  /// Makes LLVM initialise what it initialises once, under its locks, before several threads emit code: a
  /// thread that leaves LLVM during that would block the others for ever.
  void prepare_for_others() {
    static constinit std::atomic<bool> is_done = false;
    if (is_done) return;
    llvm::Module nothing("", context_);
    nothing.setDataLayout(machine_->createDataLayout());
    emit_file(nothing, *machine_, llvm::CodeGenFileType::ObjectFile);
    is_done = true;
  }

  /// From what has been emitted to the object and the text forms that are asked for.
  void finish() {
    if (options_.verify) verify(module_);
    if (options_.want_llvm_ir) compiled.llvm_ir = text_of(module_);
    {
      const Timer timer(compiled.times.passes);
      if (options_.effort == Effort::Quick) prepare_quickly(module_, *machine_, source_);
      else optimize(module_, *machine_, source_);
    }
    source_.go_on();
    if (options_.want_llvm_ir) compiled.llvm_ir_optimized = text_of(module_);
    if (options_.want_assembly) {
      const std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module_);
      compiled.assembly = emit_file(*copy, *machine_, llvm::CodeGenFileType::AssemblyFile);
    }
    const Timer timer(compiled.times.select);
    compiled.object = emit_file(module_, *machine_, llvm::CodeGenFileType::ObjectFile,
                                [this] { return source_.is_abandoned(); });
    source_.go_on();
  }

  Compiled compiled;

 private:
  const ir::Module& source_;
  const Options& options_;
  llvm::LLVMContext context_;
  llvm::Module module_{"ingot", context_};
  HeldMachine machine_;
  bool has_kernels_ = false;
};

}  // namespace

std::string entry_symbol(std::string_view function) {
  return std::string(entry::kEntryPrefix) + std::string(function);
}

Compiled compile(const ir::Module& source, std::span<const ir::FunctionId> entries, const Target& target,
                 const Options& options) {
  return compile_module(source, target, options, [&](Unit& unit) { unit.emit(entries, options); });
}

namespace {

Compiled compile_inside(const ir::Module& source, const Target& target, const Options& options,
                        const std::function<void(Unit&)>& emit) {
  Translation first(source, target, options, emit);
  const Division division = first.divide();
  const uint32_t count = division.count;
  if (count == 1) {
    first.finish();
    return std::move(first.compiled);
  }
  first.prepare_for_others();
  std::vector<Compiled> parts(count);
  at_once(count, [&](uint32_t share) {
    std::optional<Translation> own;
    if (share > 0) own.emplace(source, target, options, emit);
    Translation& translation = share > 0 ? *own : first;
    translation.keep_share(division, share);
    translation.finish();
    parts[share] = std::move(translation.compiled);
  });
  std::vector<std::string> objects;
  for (Compiled& part : parts) {
    objects.push_back(std::move(part.object));
    if (&part != &parts[0]) parts[0].times.add(part.times);
  }
  parts[0].object = join(objects);
  return std::move(parts[0]);
}

}  // namespace

Compiled compile_module(const ir::Module& source, const Target& target, const Options& options,
                        const std::function<void(Unit&)>& emit) {
  Compiled compiled;
  with_llvm([&] { compiled = compile_inside(source, target, options, emit); });
  return compiled;
}

}  // namespace ingot::codegen
