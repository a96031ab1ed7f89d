#pragma once

#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/BasicAliasAnalysis.h>
#include <llvm/Analysis/BlockFrequencyInfo.h>
#include <llvm/Analysis/BranchProbabilityInfo.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/MemorySSA.h>
#include <llvm/Analysis/OptimizationRemarkEmitter.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/Analysis/ProfileSummaryInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>

namespace ingot::codegen {

/// The analyses that LLVM's passes use. (PassBuilder would register all that LLVM has, and bring it into the
/// binary.)
struct Analyses {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::ModuleAnalysisManager modules;

  explicit Analyses(llvm::TargetMachine& machine) {
    modules.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
    modules.registerPass([] { return llvm::ProfileSummaryAnalysis(); });
    modules.registerPass([this] { return llvm::FunctionAnalysisManagerModuleProxy(functions); });
    functions.registerPass([this] { return llvm::ModuleAnalysisManagerFunctionProxy(modules); });
    functions.registerPass([this] { return llvm::LoopAnalysisManagerFunctionProxy(loops); });
    loops.registerPass([this] { return llvm::FunctionAnalysisManagerLoopProxy(functions); });
    loops.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
    functions.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
    functions.registerPass([&machine] { return machine.getTargetIRAnalysis(); });
    functions.registerPass([] { return llvm::TargetLibraryAnalysis(); });
    functions.registerPass([] { return llvm::AssumptionAnalysis(); });
    functions.registerPass([] { return llvm::DominatorTreeAnalysis(); });
    functions.registerPass([] { return llvm::PostDominatorTreeAnalysis(); });
    functions.registerPass([] { return llvm::LoopAnalysis(); });
    functions.registerPass([] { return llvm::ScalarEvolutionAnalysis(); });
    functions.registerPass([] { return llvm::MemorySSAAnalysis(); });
    functions.registerPass([] { return llvm::BlockFrequencyAnalysis(); });
    functions.registerPass([] { return llvm::BranchProbabilityAnalysis(); });
    functions.registerPass([] { return llvm::OptimizationRemarkEmitterAnalysis(); });
    functions.registerPass([] { return llvm::BasicAA(); });
    functions.registerPass([] {
      llvm::AAManager aliases;
      aliases.registerFunctionAnalysis<llvm::BasicAA>();
      return aliases;
    });
  }
};

}  // namespace ingot::codegen
