#include "codegen/scalars.h"

#include <algorithm>

#include "codegen/branches.h"
#include "codegen/rules.h"
#include "codegen/vecmath.h"

namespace ingot::codegen {

using llvm::Value;

namespace {

/// A stack slot of the function that the builder is in.
llvm::AllocaInst* stack_slot(Builder& b, llvm::Type* type, unsigned count) {
  llvm::BasicBlock& entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  Builder at_entry(&entry, entry.begin());
  return at_entry.CreateAlloca(type, at_entry.getInt32(count));
}

llvm::Attribute::AttrKind extension_of(DType dtype) {
  return base::is_signed(dtype) ? llvm::Attribute::SExt : llvm::Attribute::ZExt;
}

/// A rule on each lane, if the operands are vectors.
bool any_vector(std::span<const Parts> operands) {
  return std::ranges::any_of(operands, [](const Parts& parts) { return lanes_of(parts[0]) > 0; });
}

bool is_narrow(DType dtype) { return base::size_of(dtype) < 4; }

}  // namespace

llvm::Type* like(llvm::Type* shape, llvm::Type* scalar) {
  const auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(shape);
  return vector == nullptr ? scalar : llvm::FixedVectorType::get(scalar, vector->getNumElements());
}

unsigned lanes_of(const Value* value) {
  const auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return vector == nullptr ? 0 : vector->getNumElements();
}

/// A stack slot for one number of each lane that is not in use; marks it as used.
llvm::AllocaInst* Scalars::lane_slot(llvm::Type* type, unsigned lanes,
                                     llvm::SmallVectorImpl<llvm::AllocaInst*>& taken) {
  const auto fits = [&](llvm::AllocaInst* slot) {
    const auto* const count = llvm::cast<llvm::ConstantInt>(slot->getArraySize());
    return slot->getAllocatedType() == type && count->getZExtValue() == lanes &&
           std::ranges::find(taken, slot) == taken.end();
  };
  const auto known = std::ranges::find_if(lane_slots_, fits);
  llvm::AllocaInst* const slot = known != lane_slots_.end() ? *known : stack_slot(b, type, lanes);
  if (known == lane_slots_.end()) lane_slots_.push_back(slot);
  taken.push_back(slot);
  return slot;
}

Parts Scalars::by_lane(unsigned lanes, std::span<const Parts> operands, const Types& results, OfLane body) {
  const auto element = [&](llvm::Type* type, Value* array, Value* lane) {
    return b.CreateGEP(type, array, lane);
  };
  llvm::SmallVector<llvm::AllocaInst*, 8> taken;
  llvm::SmallVector<llvm::SmallVector<Value*, 2>, 4> homes;
  for (const Parts& operand : operands) {
    homes.emplace_back();
    for (Value* part : operand) {
      llvm::Type* const type = unit_.memory_type(part->getType()->getScalarType());
      homes.back().push_back(lane_slot(type, lanes, taken));
      b.CreateAlignedStore(b.CreateZExtOrBitCast(part, like(part->getType(), type)), homes.back().back(),
                           llvm::Align(1));
    }
  }
  llvm::SmallVector<Value*, 2> given;
  for (llvm::Type* type : results) given.push_back(lane_slot(unit_.memory_type(type), lanes, taken));

  emit_repeat(b, lanes, [&](Value* lane) {
    llvm::SmallVector<Parts, 4> one;
    for (size_t i = 0; i < operands.size(); ++i) {
      one.emplace_back();
      for (size_t k = 0; k < operands[i].size(); ++k) {
        llvm::Type* const part = operands[i][k]->getType()->getScalarType();
        llvm::Type* const type = unit_.memory_type(part);
        Value* const loaded = b.CreateLoad(type, element(type, homes[i][k], lane));
        one.back().push_back(part == type ? loaded : b.CreateTrunc(loaded, part));
      }
    }
    const Parts values = body(one);
    for (size_t k = 0; k < values.size(); ++k) {
      llvm::Type* const type = unit_.memory_type(results[k]);
      b.CreateStore(b.CreateZExtOrBitCast(values[k], type), element(type, given[k], lane));
    }
  });
  Parts all;
  for (size_t k = 0; k < results.size(); ++k) {
    llvm::Type* const type = unit_.memory_type(results[k]);
    Value* const loaded =
        b.CreateAlignedLoad(llvm::FixedVectorType::get(type, lanes), given[k], llvm::Align(1));
    all.push_back(type == results[k] ? loaded
                                     : b.CreateTrunc(loaded, llvm::FixedVectorType::get(results[k], lanes)));
  }
  return all;
}

Parts Scalars::constant(DType dtype, const base::Scalar& bits) {
  const DType component = base::component_of(dtype);
  llvm::Type* const type = unit_.part_type(component);
  const auto width = static_cast<unsigned>(8 * base::size_of(component));
  Parts parts;
  for (unsigned i = 0; i < (base::is_complex(dtype) ? 2u : 1u); ++i) {
    const uint64_t word = width == 32 ? bits.bits[0] >> (32 * i) : bits.bits[i];
    if (base::is_bool(dtype)) {
      parts.push_back(b.getInt1((word & 0xff) != 0));
    } else if (type->isIntegerTy()) {
      parts.push_back(llvm::ConstantInt::get(type, llvm::APInt(64, word).trunc(width)));
    } else {
      const llvm::fltSemantics& semantics =
          width == 32 ? llvm::APFloat::IEEEsingle() : llvm::APFloat::IEEEdouble();
      parts.push_back(
          llvm::ConstantFP::get(type, llvm::APFloat(semantics, llvm::APInt(64, word).trunc(width))));
    }
  }
  return parts;
}

Parts Scalars::select(Value* condition, const Parts& yes, const Parts& no) {
  Parts parts;
  for (size_t i = 0; i < yes.size(); ++i) parts.push_back(b.CreateSelect(condition, yes[i], no[i]));
  return parts;
}

Scalars::Scalars(Unit& unit, Builder& builder, ir::Relaxations relaxations, FloatStates states)
    : unit_(unit), states_(states), b(builder) {
  using ir::Relaxation;
  relaxed_.setNoNaNs(relaxations.has(Relaxation::nnan));
  relaxed_.setNoInfs(relaxations.has(Relaxation::ninf));
  relaxed_.setNoSignedZeros(relaxations.has(Relaxation::nsz));
  relaxed_.setAllowReciprocal(relaxations.has(Relaxation::arcp));
  relaxed_.setAllowContract(relaxations.has(Relaxation::contract));
  relaxed_.setApproxFunc(relaxations.has(Relaxation::afn));
  relaxed_.setAllowReassoc(relaxations.has(Relaxation::reassoc));
}

Parts Scalars::elementwise(ir::Op op, DType dtype, std::span<const Parts> operands) {
  if (states_ == FloatStates::Any && ir::wants_default_state(op, dtype))
    return call_math(op, dtype, operands);
  if (base::is_float(dtype) && has_math(unit_.target, op, dtype))
    return short_ && !any_vector(operands) ? call_math(op, dtype, operands) : kernel(op, dtype, operands);
  if (base::is_complex(dtype) && any_vector(operands) && is_of_parts(op, dtype))
    return of_parts(op, dtype, operands[0]);
  if (is_called(op, dtype)) return call_math(op, dtype, operands);
  const OpRule& rule = rule_of(op);
  const Builder::FastMathFlagGuard guard(b);
  if (rule.relaxes) b.setFastMathFlags(relaxed_);
  if (dtype != DType::Float16) return rule.emit({*this, b, dtype, operands.data()});
  llvm::SmallVector<Parts, 2> wide;
  for (const Parts& operand : operands) wide.push_back({widen_half(operand[0])});
  Parts result = rule.emit({*this, b, DType::Float32, wide.data()});
  if (ir::result_dtype(op, dtype) == DType::Float16) result[0] = narrow_to_half(result[0]);
  return result;
}

Parts Scalars::kernel(ir::Op op, DType dtype, std::span<const Parts> operands) {
  const bool is_half = dtype == DType::Float16;
  llvm::SmallVector<Value*, 2> numbers;
  for (const Parts& operand : operands) numbers.push_back(is_half ? widen_half(operand[0]) : operand[0]);
  Value* const value = emit_math(unit_, b, op, {numbers.data(), numbers.size()});
  return {is_half ? narrow_to_half(value) : value};
}

Value* Scalars::call_argument(DType dtype, const Parts& value, llvm::AllocaInst*& home) {
  if (base::is_bool(dtype)) return b.CreateZExt(value[0], b.getInt8Ty());
  if (!base::is_complex(dtype)) return value[0];
  home = stack_slot(b, value[0]->getType(), 2);
  b.CreateStore(value[0], home);
  b.CreateStore(value[1], b.CreateConstGEP1_32(value[0]->getType(), home, 1));
  return home;
}

Parts Scalars::call_math(ir::Op op, DType dtype, std::span<const Parts> operands) {
  const DType result = ir::result_dtype(op, dtype);
  if (any_vector(operands))
    return by_lane(lanes_of(operands[0][0]), operands, unit_.types_of(ir::Type::scalar(result)),
                   [&](std::span<const Parts> lane) { return call_math(op, dtype, lane); });
  llvm::SmallVector<Value*, 4> arguments;
  Types types;
  for (const Parts& operand : operands) {
    llvm::AllocaInst* home = nullptr;
    arguments.push_back(call_argument(dtype, operand, home));
  }
  llvm::Type* component = unit_.memory_type(unit_.part_type(base::component_of(result)));
  llvm::AllocaInst* home = nullptr;
  if (base::is_complex(result)) arguments.push_back(home = stack_slot(b, component, 2));
  for (Value* argument : arguments) types.push_back(argument->getType());
  auto* const type = llvm::FunctionType::get(home != nullptr ? b.getVoidTy() : component, types, false);
  llvm::Function* callee = unit_.outside(math_symbol(op, dtype), type, true);
  if (base::is_int(dtype) && is_narrow(dtype))
    for (unsigned i = 0; i < operands.size(); ++i) callee->addParamAttr(i, extension_of(dtype));
  if (states_ == FloatStates::Any && ir::wants_default_state(op, dtype)) callee = in_default_state(callee);
  Value* const value = b.CreateCall(callee, arguments);
  if (home != nullptr)
    return {b.CreateLoad(component, home), b.CreateLoad(component, b.CreateConstGEP1_32(component, home, 1))};
  return {base::is_bool(result) ? b.CreateTrunc(value, b.getInt1Ty()) : value};
}

/// A function that calls another one in the default state. LLVM moves arithmetic across changes of the state,
/// so there is none in it, and it is not inlined.
llvm::Function* Scalars::in_default_state(llvm::Function* callee) {
  const std::string name = "ingot_default_" + callee->getName().str();
  if (llvm::Function* known = unit_.find(name)) return known;
  auto* const function = llvm::Function::Create(callee->getFunctionType(), llvm::GlobalValue::InternalLinkage,
                                                name, unit_.module);
  function->setDoesNotThrow();
  function->addFnAttr(llvm::Attribute::OptimizeNone);
  function->addFnAttr(llvm::Attribute::NoInline);
  Builder body(llvm::BasicBlock::Create(unit_.context, "", function));
  llvm::SmallVector<Value*, 4> arguments;
  for (llvm::Argument& argument : function->args()) arguments.push_back(&argument);
  llvm::Type* const word = body.getInt32Ty();
  Value* const before = body.CreateCall(
      unit_.outside("ingot_v1_enter_default_state", llvm::FunctionType::get(word, false), false));
  Value* const result = body.CreateCall(callee, arguments);
  auto* const leaves = llvm::FunctionType::get(body.getVoidTy(), {word}, false);
  body.CreateCall(unit_.outside("ingot_v1_leave_default_state", leaves, false), {before});
  if (result->getType()->isVoidTy()) body.CreateRetVoid();
  else body.CreateRet(result);
  return function;
}

/// Whether f16 is converted by the CPU's instructions, which round by the state.
bool Scalars::converts_halves() const {
  return unit_.instructions.has_halves() && states_ == FloatStates::Default;
}

Value* Scalars::widen_half(Value* bits) {
  if (!converts_halves()) return half_by_helper(true, bits);
  llvm::Type* const shape = bits->getType();
  return b.CreateFPExt(b.CreateBitCast(bits, like(shape, b.getHalfTy())), like(shape, b.getFloatTy()));
}

Value* Scalars::narrow_to_half(Value* value) {
  llvm::Type* const shape = value->getType();
  if (!converts_halves() || !shape->getScalarType()->isFloatTy()) return half_by_helper(false, value);
  return b.CreateBitCast(b.CreateFPTrunc(value, like(shape, b.getHalfTy())), like(shape, b.getInt16Ty()));
}

Value* Scalars::half_by_helper(bool widen, Value* value) {
  const auto call = [&](Value* one) -> Value* {
    Value* const argument = widen ? one : b.CreateFPExt(one, b.getDoubleTy());
    return b.CreateCall(half_helper(widen, argument->getType()), {argument});
  };
  if (lanes_of(value) == 0) return call(value);
  const Parts operand{value};
  return by_lane(lanes_of(value), {&operand, 1},
                 {widen ? b.getFloatTy() : static_cast<llvm::Type*>(b.getInt16Ty())},
                 [&](std::span<const Parts> lane) { return Parts{call(lane[0][0])}; })[0];
}

namespace {

/// base::half_value on integers; the number of a denormal comes from a multiplication.
Value* widening(Builder& b, Value* bits) {
  Value* const wide = b.CreateZExt(bits, b.getInt32Ty());
  Value* const sign = b.CreateShl(b.CreateAnd(wide, b.getInt32(0x8000)), 16);
  Value* const magnitude = b.CreateAnd(wide, b.getInt32(0x7fff));
  Value* const shifted = b.CreateShl(magnitude, 13);
  Value* const special = b.CreateICmpUGE(magnitude, b.getInt32(0x7c00));
  Value* const offset =
      b.CreateSelect(special, b.getInt32(0x7f800000 - 0x0f800000), b.getInt32((127 - 15) << 23));
  Value* const normal = b.CreateAdd(shifted, offset);
  Value* const scale = llvm::ConstantFP::get(b.getFloatTy(), 0x1p-24);
  Value* const small = b.CreateFMul(b.CreateSIToFP(magnitude, b.getFloatTy()), scale);
  Value* const is_small = b.CreateICmpULT(magnitude, b.getInt32(0x400));
  Value* const chosen = b.CreateSelect(is_small, b.CreateBitCast(small, b.getInt32Ty()), normal);
  return b.CreateBitCast(b.CreateOr(chosen, sign), b.getFloatTy());
}

/// base::half_bits: the significand of 53 bits is shifted to units of the result and rounded to even.
Value* narrowing(Builder& b, Value* value) {
  Value* const bits = b.CreateBitCast(value, b.getInt64Ty());
  Value* const sign = b.CreateAnd(b.CreateLShr(bits, 48), b.getInt64(0x8000));
  Value* const magnitude = b.CreateAnd(bits, b.getInt64(0x7fffffffffffffff));
  Value* const exponent = b.CreateSub(b.CreateLShr(magnitude, 52), b.getInt64(1023));
  Value* const is_normal = b.CreateICmpSGE(exponent, b.getInt64(-14));
  Value* const wanted = b.CreateSelect(is_normal, b.getInt64(42), b.CreateSub(b.getInt64(28), exponent));
  Value* const gone = b.CreateICmpSLT(exponent, b.getInt64(-25));
  Value* const dropped = b.CreateSelect(gone, b.getInt64(53), wanted);
  Value* const fraction = b.CreateAnd(magnitude, b.getInt64((uint64_t{1} << 52) - 1));
  Value* const significand = b.CreateOr(fraction, b.getInt64(uint64_t{1} << 52));
  Value* const cut = b.CreateLShr(significand, dropped);
  Value* const rest = b.CreateSub(significand, b.CreateShl(cut, dropped));
  Value* const half_way = b.CreateShl(b.getInt64(1), b.CreateSub(dropped, b.getInt64(1)));
  Value* const odd = b.CreateICmpNE(b.CreateAnd(cut, b.getInt64(1)), b.getInt64(0));
  Value* const tie_up = b.CreateAnd(b.CreateICmpEQ(rest, half_way), odd);
  Value* const up = b.CreateOr(b.CreateICmpUGT(rest, half_way), tie_up);
  Value* const rounded = b.CreateAdd(cut, b.CreateZExt(up, b.getInt64Ty()));
  Value* const start =
      b.CreateSelect(is_normal, b.CreateShl(b.CreateAdd(exponent, b.getInt64(14)), 10), b.getInt64(0));
  Value* result = b.CreateSelect(gone, b.getInt64(0), b.CreateAdd(start, rounded));
  Value* const overflow = b.CreateICmpUGE(magnitude, b.getInt64(0x40effe0000000000));  // 65520
  result = b.CreateSelect(overflow, b.getInt64(0x7c00), result);
  Value* const is_nan = b.CreateICmpUGT(magnitude, b.getInt64(0x7ff0000000000000));
  result = b.CreateSelect(is_nan, b.getInt64(0x7e00), result);
  return b.CreateTrunc(b.CreateOr(result, sign), b.getInt16Ty());
}

}  // namespace

llvm::Function* Scalars::half_helper(bool widen, llvm::Type* from) {
  const char* const name = widen ? "ingot_half_to_float" : "ingot_double_to_half";
  if (llvm::Function* known = unit_.find(name)) return known;
  llvm::Type* const to = widen ? b.getFloatTy() : static_cast<llvm::Type*>(b.getInt16Ty());
  auto* const function = llvm::Function::Create(llvm::FunctionType::get(to, {from}, false),
                                                llvm::GlobalValue::InternalLinkage, name, unit_.module);
  function->setDoesNotThrow();
  function->setWillReturn();
  function->setDoesNotAccessMemory();
  Builder body(llvm::BasicBlock::Create(unit_.context, "", function));
  Value* const argument = function->getArg(0);
  body.CreateRet(widen ? widening(body, argument) : narrowing(body, argument));
  return function;
}

Value* Scalars::float_to_int(Value* value, DType to) {
  llvm::Type* const type = like(value->getType(), unit_.part_type(to));
  if (to == DType::UInt64) {
    Value* const edge = llvm::ConstantFP::get(value->getType(), 0x1p63);
    Value* const sign = llvm::ConstantInt::get(type, uint64_t{1} << 63);
    Value* const low = unit_.instructions.truncated(b, value, true);
    Value* const high = b.CreateXor(unit_.instructions.truncated(b, b.CreateFSub(value, edge), true), sign);
    return b.CreateSelect(b.CreateFCmpOGE(value, edge), high, low);
  }
  const bool to_64_bits = base::size_of(to) == 8 || to == DType::UInt32;
  return b.CreateTrunc(unit_.instructions.truncated(b, value, to_64_bits), type);
}

Value* Scalars::cast_real(DType from, DType to, Value* value) {
  llvm::Type* const type = like(value->getType(), unit_.part_type(to));
  if (from == to) return value;
  if (from == DType::Float16) return cast_real(DType::Float32, to, widen_half(value));
  if (base::is_bool(to)) {
    if (base::is_float(from)) return b.CreateFCmpUNE(value, llvm::Constant::getNullValue(value->getType()));
    return b.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
  }
  if (base::is_float(from)) {
    if (base::is_int(to)) return float_to_int(value, to);
    return to == DType::Float16 ? narrow_to_half(value) : b.CreateFPCast(value, type);
  }
  if (base::is_int(to))
    return base::is_signed(from) ? b.CreateSExtOrTrunc(value, type) : b.CreateZExtOrTrunc(value, type);
  llvm::Type* const number = to == DType::Float16 ? like(type, b.getFloatTy()) : type;
  Value* const converted =
      base::is_signed(from) ? b.CreateSIToFP(value, number) : b.CreateUIToFP(value, number);
  return to == DType::Float16 ? narrow_to_half(converted) : converted;
}

Parts Scalars::cast(DType from, DType to, const Parts& value) {
  if (from == to) return value;
  const DType part = base::component_of(from);
  if (base::is_complex(from) && base::is_bool(to))
    return {b.CreateOr(cast_real(part, to, value[0]), cast_real(part, to, value[1]))};
  if (!base::is_complex(to)) return {cast_real(part, to, value[0])};
  const DType to_part = base::component_of(to);
  Value* const im = base::is_complex(from)
                        ? cast_real(part, to_part, value[1])
                        : llvm::Constant::getNullValue(like(value[0]->getType(), unit_.part_type(to_part)));
  return {cast_real(part, to_part, value[0]), im};
}

}  // namespace ingot::codegen
