#pragma once

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/Module.h>

#include <string>
#include <unordered_map>

#include "base/error.h"

namespace ingot::codegen {

/// The lines of the user's source that a module's instructions are of, as drivers and debuggers show them.
class LineTable {
 public:
  explicit LineTable(llvm::Module& module);

  /// Functions that stand at a place: instructions in it can be of lines.
  void add(llvm::Function& function, const base::Place& place);
  /// A line of a function that has been added; null: none is known.
  llvm::DebugLoc at(llvm::Function& function, const base::Place& place);
  /// Nothing is added afterwards.
  void finish();

 private:
  static std::string plain(std::string path);
  llvm::DIFile* file(const std::string& given);

  llvm::Module& module_;
  llvm::DIBuilder builder_;
  llvm::DICompileUnit* unit_ = nullptr;
  std::unordered_map<std::string, llvm::DIFile*> files_;
};

}  // namespace ingot::codegen
