#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "codegen/compile.h"
#include "codegen/targets/instructions.h"
#include "ir/function.h"

/// What is shared by the functions of one LLVM module while it is emitted.
///
/// A value of the IR is a sequence of *parts*, LLVM values of the simple types:
///  - a scalar: one part; bool i1, integers iN, f16 its bits as i16, f32 and f64; a complex number two;
///  - a view: address of the element 0, buffer, lengths, strides (bytes);
///  - a buffer: one pointer;
///  - an optional: its tag (i8), then the value.
namespace ingot::codegen {

using base::DType;
using Parts = llvm::SmallVector<llvm::Value*, 2>;
using Types = llvm::SmallVector<llvm::Type*, 4>;

class DeviceCode;

/// The floating-point states of the thread (base/float_state.h) that code gives the right values in. Code for
/// the default one is fast; in code for any, functions that want the default state are called and switch to
/// it.
enum class FloatStates : uint8_t { Default, Any };

class Unit {
 public:
  /// `outer`: the unit of the host that this one's kernels belong to, which numbers their sites.
  Unit(const ir::Module& source, const Target& target, llvm::Module& module, Unit* outer = nullptr);
  ~Unit();

  const ir::Module& source;
  const Target& target;
  const Instructions& instructions;  ///< the target's
  llvm::Module& module;
  llvm::LLVMContext& context;
  std::vector<ErrorSite> sites;

  /// @name Types
  llvm::Type* part_type(DType component) const;  ///< of a real dtype, in registers
  void append_types(ir::Type type, Types& types) const;
  Types types_of(ir::Type type) const;
  size_t part_count(ir::Type type) const;
  /// The type in memory of a part: i1 is i8.
  llvm::Type* memory_type(llvm::Type* part) const;
  /// The struct through which an IR function hands out its results.
  llvm::StructType* result_struct(std::span<const ir::Type> results) const;
  /// Whether those are in memory of the caller. Few parts are returned after the status, in registers.
  bool returns_in_memory(std::span<const ir::Type> results) const;

  /// @name Functions
  /// `Status (Context*, parts..., result_struct*)`, or without the last parameter where results are not in
  /// memory: `{Status, results...} (Context*, parts...)`. Asks for its body.
  /// `states`: what the caller is for.
  llvm::Function* internal(ir::FunctionId id, FloatStates states);
  /// Emits entries and all they reach, with their kernels.
  void emit(std::span<const ir::FunctionId> entries, const Options& options);
  /// Whether the function may call itself, perhaps through others.
  bool recursive(ir::FunctionId id) const { return recursive_[id.index]; }
  /// Whether values of the function, or of those that it calls, depend on the thread's floating-point state
  /// otherwise than arithmetic does. Code for devices has a state of its own.
  bool depends_on_state(ir::FunctionId id) const { return depends_on_state_[id.index]; }

  /// Whether an entry has been emitted for the default state alone that depends on the state.
  bool wants_default_state() const { return wants_default_state_; }

  /// A declared function of the outside; `pure`: depends on its arguments' values alone.
  llvm::Function* outside(std::string_view name, llvm::FunctionType* type, bool pure);
  /// The function of this name in the module, or null.
  llvm::Function* find(std::string_view name) const;

  /// How often each elementary function has been emitted (vecmath.h), by its name.
  std::unordered_map<std::string, int> math_uses;

  /// The kernels that the functions launch.
  DeviceCode& device();
  /// Null: they launch none.
  const DeviceCode* device_if_any() const { return device_.get(); }

  /// The number of an error site; equal sites share one.
  uint32_t site(const ErrorSite& site);

 private:
  const ir::Function& body(ir::FunctionId id) const;

  Unit* outer_;
  std::unique_ptr<DeviceCode> device_;
  std::map<std::pair<uint32_t, FloatStates>, llvm::Function*> internals_;
  std::deque<std::pair<ir::FunctionId, FloatStates>> wanted_;
  std::vector<bool> recursive_;
  std::vector<bool> depends_on_state_;
  bool wants_default_state_ = false;
  std::unordered_map<std::string, uint32_t> site_numbers_;
};

/// Throws InternalError: `what` has no lowering.
[[noreturn]] void fail_not_lowered(std::string_view what);

}  // namespace ingot::codegen
