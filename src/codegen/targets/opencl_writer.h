#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>

#include <set>
#include <string>
#include <vector>

#include "codegen/targets/opencl_spaces.h"

namespace ingot::codegen {

/// Writes a module as OpenCL C: each value a variable, each block a label.
///
/// Integers are unsigned numbers of the smallest type that holds them, whose bits above their width are 0;
/// those of 128 bits are `ulong2`, the low word first. Halves are
/// their bits, and are computed with as floats, whose results round to them as to halves at once. A pointer
/// is one to `uchar` in its space. Structs and arrays are structs.
class OpenClWriter {
 public:
  explicit OpenClWriter(const llvm::Module& module);

  std::string text();

 private:
  using Value = llvm::Value;
  using Type = llvm::Type;

  const llvm::Module& module_;
  const llvm::DataLayout& layout_;
  const Spaces spaces_;
  std::set<std::string> helpers_;  ///< names of functions of opencl_helpers.h
  std::string structs_;
  llvm::DenseMap<Type*, std::string> names_;  ///< of structs and arrays
  std::set<std::string> accesses_;            ///< names of types for loads and stores
  std::string access_types_;

  // Of the function that is being written.
  llvm::DenseMap<const Value*, unsigned> numbers_;
  std::string declarations_;
  std::string body_;

  // opencl_text.cpp: modules, functions, control
  std::string constants() const;
  std::string prototype(const llvm::Function& function);
  std::string function_text(const llvm::Function& function);
  void declare_shared(const llvm::Function& function);
  void write_block(const llvm::BasicBlock& block);
  void write_end(const llvm::Instruction& end);
  std::string jump(const llvm::BasicBlock& from, const llvm::BasicBlock& to);
  std::string label(const llvm::BasicBlock& block);

  // opencl_values.cpp: types and operands
  std::string type_name(Type* type, Space space = Space::None);
  std::string type_of(const Value* value) { return type_name(value->getType(), spaces_.of(value)); }
  std::string struct_name(Type* type);
  std::string variable(const Value* value);
  std::string operand(const Value* value, Space space = Space::None);
  std::string constant(const llvm::Constant& constant);
  /// An operand to compute with: of halves, the float that it is.
  std::string number(const Value* value);
  /// A number that has been computed, as one of the type: a half is rounded.
  std::string rounded(Type* type, const std::string& expression);
  std::string zero(Type* type, Space space = Space::None);
  std::string as_signed(const Value* value);
  /// An operand in the type that arithmetic is done in: `uint` or `ulong`.
  std::string widened(const Value* value);
  /// The part of an expression that is in a type's bits.
  std::string masked(Type* type, const std::string& expression);
  /// A type for accesses of this alignment.
  std::string access_type(Type* type, llvm::Align alignment);
  /// An lvalue.
  std::string lvalue(const Value* address, Type* type, llvm::Align alignment, bool is_volatile);
  std::string helper(const char* name) {
    helpers_.insert(name);
    return name;
  }

  // opencl_operations.cpp: instructions
  void write(const llvm::Instruction& instruction);
  void set(const llvm::Instruction& instruction, const std::string& expression);
  void write_alloca(const llvm::AllocaInst& alloca);
  void write_store(const llvm::StoreInst& store);
  void write_atomic(const llvm::AtomicRMWInst& atomic);
  void write_exchange(const llvm::AtomicCmpXchgInst& exchange);
  void write_insertion(const llvm::InsertValueInst& insertion);
  std::string expression(const llvm::Instruction& instruction);
  std::string binary(const llvm::BinaryOperator& op);
  std::string wide_binary(const llvm::BinaryOperator& op);
  std::string cast(const llvm::CastInst& cast);
  std::string compare(const llvm::ICmpInst& compare);
  std::string compare(const llvm::FCmpInst& compare);
  std::string offset(const llvm::GEPOperator& offset);
  std::string load(const llvm::LoadInst& load);
  std::string shuffled(const llvm::ShuffleVectorInst& shuffle);
  std::string atomic_pointer(const Value* address, Type* type, bool is_signed);

  // opencl_calls.cpp
  void write_call(const llvm::CallInst& call);
  void write_overflow(const llvm::IntrinsicInst& call);
  void write_memory(const llvm::MemIntrinsic& call);
  std::string intrinsic(const llvm::IntrinsicInst& call);
  std::string float_intrinsic(const llvm::IntrinsicInst& call);
  std::string integer_intrinsic(const llvm::IntrinsicInst& call);
  std::string called(const std::string& name, const llvm::CallInst& call);
};

/// The width of integers, and of halves as integers.
unsigned opencl_bits(const llvm::Type* type);
/// The width of the type that holds them: 8, 16, 32, 64, 128.
unsigned opencl_container(const llvm::Type* type);

}  // namespace ingot::codegen
