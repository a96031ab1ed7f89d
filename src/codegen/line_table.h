#pragma once

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/Module.h>

#include <string>
#include <unordered_map>

#include "base/error.h"

namespace ingot::codegen {

/// The lines in the user's source of a module's instructions, as drivers and debuggers show them.
class LineTable {
 public:
  explicit LineTable(llvm::Module& module);

  /// Adds a function with a location: its instructions can have lines.
  void add(llvm::Function& function, const base::SourceLocation& location);
  /// The debug location in a function that has been added; null: none is known.
  llvm::DebugLoc at(llvm::Function& function, const base::SourceLocation& location);
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
