#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>

#include "ir/op.h"

namespace ingot::codegen {

class Instructions;

/// What kernels for one kind of device are written with, and how a module of them becomes code that its
/// driver loads.
class KernelTarget {
 public:
  using Builder = llvm::IRBuilder<>;
  using Value = llvm::Value;

  virtual ~KernelTarget() = default;

  virtual const Instructions& instructions() const = 0;

  /// @name Modules
  /// Gives a module without target the device's triple and data layout.
  virtual void prepare(llvm::Module& module) const = 0;
  /// Makes a function one that the host launches, with at most so many threads of a block.
  virtual void mark_kernel(llvm::Function& function, unsigned threads) const = 0;
  virtual std::unique_ptr<llvm::TargetMachine> machine() const = 0;
  /// What is called and not defined is defined.
  virtual void link(llvm::Module& module) const = 0;
  /// The text that the driver takes. The module is not fit for use afterwards.
  virtual std::string text_of(llvm::Module& module, llvm::TargetMachine& machine) const = 0;

  /// @name Threads
  /// An i64: the index of the block along an axis, and of the thread in it; how many blocks there are, and
  /// threads in each.
  enum class Place : uint8_t { Block, Thread, Blocks, Threads };
  virtual Value* place(Builder& b, Place what, unsigned axis) const = 0;
  virtual void barrier(Builder& b, ir::Scope scope) const = 0;
  /// What this thread has stored is seen before what it stores later.
  virtual void fence(Builder& b, ir::Scope scope) const = 0;

  /// @name Memory
  virtual unsigned shared_space() const = 0;
  virtual unsigned global_space() const = 0;
};

}  // namespace ingot::codegen
