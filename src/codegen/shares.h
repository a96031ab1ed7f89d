#pragma once

#include <llvm/IR/Module.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

/// Compiles functions of one program in parallel: each of several threads emits the whole module, which is
/// quick and deterministic, and compiles its share of the functions.
namespace ingot::codegen {

/// The functions of a module, in its order.
struct Division {
  uint32_t count = 1;            ///< of shares
  std::vector<size_t> sizes;     ///< instructions of each function
  std::vector<uint32_t> shares;  ///< the share of each
};

/// At most `most` shares of about the same size, fewer where they would be small. A routine whose signature
/// may still change is in one share with all that call it.
Division divide(const llvm::Module& module, unsigned most);

/// Leaves one share of a module that is the same as the one that was divided: functions of other shares are
/// external, and its own are visible to them.
void keep_share(llvm::Module& module, const Division& division, uint32_t share);

/// Calls `work` with 0 ... count - 1 in parallel, with stack enough for LLVM; where the system gives no
/// threads, one after another. Throws what the first of them throws, when all have ended.
void at_once(uint32_t count, const std::function<void(uint32_t)>& work);

/// Whether only the program itself calls a function, in whichever share it is.
inline bool is_inside(const llvm::Function& function) {
  return function.hasLocalLinkage() || function.hasHiddenVisibility();
}

}  // namespace ingot::codegen
