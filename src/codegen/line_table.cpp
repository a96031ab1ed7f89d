#include "codegen/line_table.h"

#include <algorithm>

namespace ingot::codegen {

LineTable::LineTable(llvm::Module& module) : module_(module), builder_(module) {}

/// What assemblers take between quotes.
std::string LineTable::plain(std::string path) {
  std::ranges::replace(path, '"', '\'');
  std::ranges::replace(path, '\\', '/');
  return path;
}

llvm::DIFile* LineTable::file(const std::string& given) {
  const std::string path = plain(given);
  llvm::DIFile*& known = files_[path];
  if (known == nullptr) known = builder_.createFile(path, "");
  return known;
}

void LineTable::add(llvm::Function& function, const base::SourceLocation& location) {
  if (location.file.empty()) return;
  if (unit_ == nullptr) {
    module_.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
    unit_ = builder_.createCompileUnit(llvm::dwarf::DW_LANG_Python, file(location.file), "ingot", true, "", 0,
                                       "", llvm::DICompileUnit::DebugDirectivesOnly);
  }
  llvm::DISubroutineType* const type = builder_.createSubroutineType(builder_.getOrCreateTypeArray({}));
  const auto line = static_cast<unsigned>(location.line);
  function.setSubprogram(builder_.createFunction(unit_, function.getName(), "", file(location.file), line,
                                                 type, line, llvm::DINode::FlagZero,
                                                 llvm::DISubprogram::SPFlagDefinition));
}

llvm::DebugLoc LineTable::at(llvm::Function& function, const base::SourceLocation& location) {
  llvm::DISubprogram* const own = function.getSubprogram();
  if (own == nullptr) return {};
  llvm::DIScope* scope = own;
  if (!location.file.empty() && plain(location.file) != own->getFilename())
    scope = builder_.createLexicalBlockFile(own, file(location.file));
  return llvm::DILocation::get(module_.getContext(), static_cast<unsigned>(location.line),
                               static_cast<unsigned>(location.column), scope);
}

void LineTable::finish() {
  if (unit_ != nullptr) builder_.finalize();
}

}  // namespace ingot::codegen
