#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <string>

namespace ingot::codegen {

/// Where a pointer of OpenCL C points.
enum class Space : uint8_t { None, Global, Local, Private, Constant };

/// The spaces of a module's pointers, each of which has one: OpenCL C 1.2 has no generic pointers. Memory of
/// arrays, and what a kernel is given, is global.
class Spaces {
 public:
  /// Throws base::Unsupported where a pointer may be of two spaces.
  explicit Spaces(const llvm::Module& module);

  /// `None` of what is no pointer; a null pointer is global.
  Space of(const llvm::Value* value) const;
  /// Of what a function returns.
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

/// Refuses what OpenCL C cannot say.
[[noreturn]] void refuse_for_opencl(const std::string& what);

}  // namespace ingot::codegen
