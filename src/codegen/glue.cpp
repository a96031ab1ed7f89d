// Glue. The code that an entry runs once a call, or once a step of a loop of much code around nests - shapes,
// checks, allocations, calls of nests -, is a third of LLVM's input, and little of the time of a call.
// `codegen/glue` makes functions of all other loops of the entry, and marks the rest: it gets LLVM's fast
// instruction selection and registers in one pass, in the pipeline of the others (`codegen/emit`). Steps are
// left as they are where less than half of the entry is glue: of a step of some hundred instructions that
// runs often, quick code would take twice the time.

#include "codegen/glue.h"

#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/CodeExtractor.h>

#include <vector>

#include "codegen/shares.h"

namespace ingot::codegen {

namespace {

/// Less glue than so many instructions is not worth it; nor is less than such a part of an entry, as its
/// loops then take more arguments than is gained. Steps are glue where half of the entry is, for they run
/// often.
constexpr size_t kLeastGlue = 300;
constexpr size_t kLeastPart = 8;

/// Whether code of this module is called: a nest, or a routine.
bool calls_nests(const llvm::Loop& loop) {
  for (const llvm::BasicBlock* block : loop.blocks()) {
    for (const llvm::Instruction& instruction : *block) {
      const auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (call == nullptr || call->getCalledFunction() == nullptr) continue;
      if (is_inside(*call->getCalledFunction())) return true;
    }
  }
  return false;
}

size_t size_of(llvm::ArrayRef<llvm::BasicBlock*> blocks) {
  size_t size = 0;
  for (const llvm::BasicBlock* block : blocks) size += block->size();
  return size;
}

/// What is in the loop but in no loop inside.
size_t own_size(const llvm::Loop& loop) {
  size_t size = size_of(loop.getBlocks());
  for (const llvm::Loop* inner : loop.getSubLoops()) size -= size_of(inner->getBlocks());
  return size;
}

/// The blocks of a loop and the beginnings of those that it is left for: its results are then known when it
/// ends, and not in each iteration.
std::vector<llvm::BasicBlock*> region_of(const llvm::Loop& loop) {
  std::vector<llvm::BasicBlock*> blocks(loop.block_begin(), loop.block_end());
  llvm::SmallVector<llvm::BasicBlock*, 8> exits;
  loop.getUniqueExitBlocks(exits);
  for (llvm::BasicBlock* exit : exits) {
    blocks.push_back(exit);
    if (!llvm::succ_empty(exit)) llvm::SplitBlock(exit, exit->getFirstNonPHIIt());
  }
  return blocks;
}

/// Addresses in the frame and in call blocks are computed where they are used, so that they are not passed.
void sink_addresses(llvm::ArrayRef<llvm::BasicBlock*> region) {
  const llvm::SmallPtrSet<const llvm::BasicBlock*, 32> inside(region.begin(), region.end());
  for (llvm::BasicBlock* block : region) {
    for (llvm::Instruction& user : *block) {
      if (llvm::isa<llvm::PHINode>(user)) continue;
      for (llvm::Use& use : user.operands()) {
        auto* const address = llvm::dyn_cast<llvm::GetElementPtrInst>(use);
        if (address == nullptr || !address->hasAllConstantIndices() || inside.contains(address->getParent()))
          continue;
        llvm::Instruction* const copy = address->clone();
        copy->insertBefore(&user);
        use.set(copy);
      }
    }
  }
}

/// The loops that may run often. In a loop over steps, each with much glue, these are the loops inside if
/// `in_steps`.
std::vector<const llvm::Loop*> hot_loops(const llvm::LoopInfo& loops, bool in_steps) {
  std::vector<const llvm::Loop*> hot;
  std::vector<const llvm::Loop*> open(loops.begin(), loops.end());
  while (!open.empty()) {
    const llvm::Loop* const loop = open.back();
    open.pop_back();
    if (in_steps && calls_nests(*loop) && own_size(*loop) >= kLeastGlue) {
      open.insert(open.end(), loop->begin(), loop->end());
    } else {
      hot.push_back(loop);
    }
  }
  return hot;
}

size_t glue_outside(llvm::ArrayRef<const llvm::Loop*> hot, size_t all) {
  for (const llvm::Loop* loop : hot) all -= size_of(loop->getBlocks());
  return all;
}

}  // namespace

void separate_glue(llvm::Function& entry, const llvm::LoopInfo& loops) {
  const size_t all = entry.getInstructionCount();
  std::vector<const llvm::Loop*> hot = hot_loops(loops, true);
  if (glue_outside(hot, all) < all / 2) hot = hot_loops(loops, false);
  const size_t size = glue_outside(hot, all);
  if (size < kLeastGlue || size < all / kLeastPart) return;
  std::vector<std::vector<llvm::BasicBlock*>> regions;
  for (const llvm::Loop* loop : hot) {
    regions.push_back(region_of(*loop));
    if (!llvm::CodeExtractor(regions.back()).isEligible()) return;
  }
  const llvm::CodeExtractorAnalysisCache cache(entry);
  for (const std::vector<llvm::BasicBlock*>& region : regions) {
    sink_addresses(region);
    llvm::CodeExtractor(region, nullptr, false, nullptr, nullptr, nullptr, false, false, nullptr, "loop")
        .extractCodeRegion(cache);
  }
  entry.addFnAttr(llvm::Attribute::OptimizeNone);
  entry.addFnAttr(llvm::Attribute::NoInline);  // which `optnone` asks for
}

bool is_glue(const llvm::Function& function) { return function.hasOptNone(); }

}  // namespace ingot::codegen
