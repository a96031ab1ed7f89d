#pragma once

#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>

namespace ingot::codegen {

/// Moves what is the same in all iterations of a loop to before it. Loops of more instructions keep that
/// where it is needed: before a loop around whole nests, or around the tiles or rows that a block of a
/// device's threads goes through, it would take more registers than there are.
class HoistFromSmallLoops : public llvm::PassInfoMixin<HoistFromSmallLoops> {
 public:
  llvm::PreservedAnalyses run(llvm::Loop& loop, llvm::LoopAnalysisManager& analyses,
                              llvm::LoopStandardAnalysisResults& results, llvm::LPMUpdater& updater) {
    size_t size = 0;
    for (const llvm::BasicBlock* block : loop.blocks()) size += block->size();
    return size > kMost ? llvm::PreservedAnalyses::all() : hoist_.run(loop, analyses, results, updater);
  }

 private:
  static constexpr size_t kMost = 500;
  llvm::LICMPass hoist_{llvm::LICMOptions()};
};

}  // namespace ingot::codegen
