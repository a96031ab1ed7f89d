#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>

#include "ir/op.h"

namespace ingot::codegen {

class Instructions;

/// The operations that kernels for one kind of device are emitted with, and how a module of them becomes code
/// that its driver loads.
class KernelTarget {
 public:
  using Builder = llvm::IRBuilder<>;
  using Value = llvm::Value;

  virtual ~KernelTarget() = default;

  virtual const Instructions& instructions() const = 0;

  /// @name Modules
  /// Gives a module without target the device's triple and data layout.
  virtual void prepare(llvm::Module& module) const = 0;
  /// Makes a function one that the host launches, with at most so many threads of a block; so many blocks
  /// should run on a processor at once.
  virtual void mark_kernel(llvm::Function& function, unsigned threads, unsigned blocks) const = 0;
  virtual std::unique_ptr<llvm::TargetMachine> machine() const = 0;
  /// Defines the functions that are called and not defined.
  virtual void link(llvm::Module& module) const = 0;
  /// The code for the driver: a text, or an object's bytes. The module cannot be used afterwards.
  virtual std::string code_of(llvm::Module& module, llvm::TargetMachine& machine) const = 0;
  /// The result of `code_of` in readable form; empty: it is a text itself.
  virtual std::string shown(const llvm::Module& /*module*/, llvm::TargetMachine& /*machine*/) const {
    return {};
  }

  /// A function that is linked with the kernels, which may be a collective.
  virtual llvm::Function* linked(llvm::Module& module, const std::string& name,
                                 llvm::FunctionType* type) const = 0;

  /// @name Threads
  /// An i64: the index of the block along an axis, and of the thread in it; how many blocks there are, and
  /// threads in each.
  enum class GridValue : uint8_t { Block, Thread, Blocks, Threads };
  virtual Value* grid_value(Builder& b, GridValue what, unsigned axis) const = 0;
  /// Waits for all threads of the block.
  virtual void barrier(Builder& b) const = 0;
  /// Waits for the lanes of a mask (i32).
  virtual void barrier(Builder& b, Value* mask) const = 0;
  /// Earlier stores of this thread are visible before its later ones.
  virtual void fence(Builder& b, ir::Scope scope) const = 0;

  /// @name Collectives, as the ops of the IR define them
  /// How many threads are a warp; 0: there are no warps, and operations on their lanes are refused.
  virtual int64_t warp_threads() const = 0;
  /// Bytes that the threads of a block may have in common on any device of the kind, without asking for more.
  virtual int64_t shared_bytes() const = 0;
  /// Whether a block that has begun goes on whatever others do (`base::Machine::blocks_in_order`).
  virtual bool blocks_in_order() const { return false; }
  /// A barrier of the block: whether a condition (i1) holds for all or for any (i1), or for how many (i32).
  virtual Value* vote(Builder& b, ir::Question question, Value* condition) const = 0;
  /// Of the lanes of a mask; the ballot is an i32.
  virtual Value* vote(Builder& b, ir::Question question, Value* mask, Value* condition) const = 0;
  /// Of an i32 or i64: the lanes (i32).
  virtual Value* match(Builder& b, ir::Agreement agreement, Value* mask, Value* value) const = 0;
  /// Of an i32.
  virtual Value* shuffle(Builder& b, ir::Source source, Value* mask, Value* value, Value* lane,
                         unsigned width) const = 0;
  virtual Value* active(Builder& b) const = 0;
  virtual void nanosleep(Builder& b, Value* time) const = 0;

  /// @name Memory
  virtual unsigned shared_space() const = 0;
  virtual unsigned global_space() const = 0;
  /// The most bytes of parameters on any device of the kind.
  virtual uint64_t most_parameter_bytes() const { return 1024; }
  /// The bytes of neighbouring elements, aligned to as many, that one instruction loads or stores; 0: one
  /// element only.
  virtual uint64_t access_bytes() const { return 0; }
};

/// A device whose warps are not known: what they do together is refused.
class WithoutWarps : public KernelTarget {
 public:
  int64_t warp_threads() const final { return 0; }
  void barrier(Builder&, Value*) const final { refuse_warps(); }
  Value* vote(Builder&, ir::Question, Value*) const final { refuse_counts(); }
  Value* vote(Builder&, ir::Question, Value*, Value*) const final { refuse_warps(); }
  Value* match(Builder&, ir::Agreement, Value*, Value*) const final { refuse_warps(); }
  Value* shuffle(Builder&, ir::Source, Value*, Value*, Value*, unsigned) const final { refuse_warps(); }
  Value* active(Builder&) const final { refuse_warps(); }

 private:
  [[noreturn]] virtual void refuse(const std::string& what) const = 0;
  [[noreturn]] void refuse_counts() const {
    refuse("a barrier that counts (`syncthreads_count` and the like)");
    __builtin_unreachable();
  }
  [[noreturn]] void refuse_warps() const {
    refuse("an operation of a warp (shuffles, votes, barriers of lanes)");
    __builtin_unreachable();
  }
};

}  // namespace ingot::codegen
