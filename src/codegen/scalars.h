#pragma once

#include <span>
#include <utility>

#include "codegen/unit.h"

namespace ingot::codegen {

using Builder = llvm::IRBuilder<>;

/// `scalar`, or a vector of it where `shape` is a vector.
llvm::Type* like(llvm::Type* shape, llvm::Type* scalar);
/// The lanes of a value; 0: it is no vector.
unsigned lanes_of(const llvm::Value* value);

/// Emits scalar operations at a builder's insertion point, each exactly as `base::math` defines it; but
/// arithmetic (`OpRule::relaxes`) may differ as the relaxations allow. Operands may be vectors, all of one
/// length: the operation is on each lane.
class Scalars {
 public:
  Scalars(Unit& unit, Builder& builder, ir::Relaxations relaxations = {},
          FloatStates states = FloatStates::Default);

  /// From now on, code is short rather than fast: kernels of single numbers are called. Returns the setting
  /// before.
  bool set_short(bool on) { return std::exchange(short_, on); }

  const Instructions& instructions() const { return unit_.instructions; }

  Parts constant(DType dtype, const base::Scalar& bits);
  /// An elementwise op: a kernel (vecmath.h) or, in lanes of complex numbers, kernels of their parts; inline
  /// where rules.cpp has a rule for the dtype's class, else a call.
  Parts elementwise(ir::Op op, DType dtype, std::span<const Parts> operands);
  Parts cast(DType from, DType to, const Parts& value);
  Parts select(llvm::Value* condition, const Parts& yes, const Parts& no);

  /// Emits a loop over the lanes of vectors: `body` gets the numbers of one lane, and gives those of the
  /// results' lane, of the types `results`.
  using OfLane = llvm::function_ref<Parts(std::span<const Parts> lane)>;
  Parts by_lane(unsigned lanes, std::span<const Parts> operands, const Types& results, OfLane body);

  /// @name binary16, given and taken as bits
  llvm::Value* widen_half(llvm::Value* bits);       ///< to float, exact
  llvm::Value* narrow_to_half(llvm::Value* value);  ///< from float or double, rounded once

  /// A call of `ingot_v1_math_<op>_<dtype>`: real numbers by value (f16 as its bits, bool as a byte), complex
  /// ones, and a complex result after them, by address.
  Parts call_math(ir::Op op, DType dtype, std::span<const Parts> operands);

 private:
  Parts kernel(ir::Op op, DType dtype, std::span<const Parts> operands);
  bool is_of_parts(ir::Op op, DType dtype) const;
  /// The value, in lanes, of such a function of complex numbers (complex_lanes.cpp).
  Parts of_parts(ir::Op op, DType dtype, const Parts& operand);
  Parts product_of_parts(ir::Op op, const Parts& z, llvm::Value*& is_usual);
  Parts root_of_parts(const Parts& z, llvm::Value*& is_usual);
  llvm::Function* in_default_state(llvm::Function* callee);
  bool converts_halves() const;
  llvm::Value* float_to_int(llvm::Value* value, DType to);
  llvm::Value* cast_real(DType from, DType to, llvm::Value* value);
  llvm::Value* half_by_helper(bool widen, llvm::Value* value);
  llvm::Function* half_helper(bool widen, llvm::Type* from);
  llvm::Value* call_argument(DType dtype, const Parts& value, llvm::AllocaInst*& home);
  llvm::AllocaInst* lane_slot(llvm::Type* type, unsigned lanes,
                              llvm::SmallVectorImpl<llvm::AllocaInst*>& taken);

  Unit& unit_;
  llvm::FastMathFlags relaxed_;
  FloatStates states_;
  bool short_ = false;
  llvm::SmallVector<llvm::AllocaInst*, 8> lane_slots_;  ///< of all `by_lane`, which share them

 public:
  Builder& b;
};

/// Whether the op's value at this dtype is an external call, where it is no kernel; and the called symbol.
bool is_called(ir::Op op, DType dtype);
std::string math_symbol(ir::Op op, DType dtype);

}  // namespace ingot::codegen
