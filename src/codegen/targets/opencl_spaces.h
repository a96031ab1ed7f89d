#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <string>

namespace ingot::codegen {

/// The space of a pointer of OpenCL C.
enum class Space : uint8_t { None, Global, Local, Private, Constant };

/// The spaces of a module's pointers, each of which has one: OpenCL C 1.2 has no generic pointers. Memory of
/// arrays, and a kernel's arguments are global.
class Spaces {
 public:
  /// Throws base::Unsupported where a pointer may be of two spaces.
  explicit Spaces(const llvm::Module& module);

  /// `None` of a value that is no pointer; a null pointer is global.
  Space of(const llvm::Value* value) const;
  /// Of a function's result.
  Space returned(const llvm::Function* function) const { return returned_.lookup(function); }

 private:
  llvm::DenseMap<const llvm::Value*, Space> known_;
  llvm::DenseMap<const llvm::Function*, Space> returned_;
  bool has_changed_ = true;

  Space look(const llvm::Value* value) const;
  void add(Space& known, Space more);
  Space of_result(const llvm::Instruction& instruction);
  void visit(const llvm::Instruction& instruction);
};

/// Refuses what OpenCL C cannot express.
[[noreturn]] void refuse_for_opencl(const std::string& what);

}  // namespace ingot::codegen
