// Atomics. Operations that the device has an instruction for are that instruction; all others are a
// compare-and-exchange that is repeated until it succeeds, on the aligned word around narrower numbers.

#include "codegen/device_function.h"

namespace ingot::codegen {

using llvm::Value;

namespace {

using Kind = llvm::AtomicRMWInst::BinOp;

std::optional<Kind> instruction_of(ir::Op combiner, base::DType dtype) {
  const bool is_wide = base::size_of(dtype) >= 4;
  if (base::is_complex(dtype) || !is_wide) return std::nullopt;
  if (base::is_float(dtype)) return combiner == ir::Op::add ? std::optional(Kind::FAdd) : std::nullopt;
  const bool is_signed = base::is_signed(dtype);
  switch (combiner) {
    case ir::Op::constant: return Kind::Xchg;
    case ir::Op::add: return Kind::Add;
    case ir::Op::bitwise_and: return Kind::And;
    case ir::Op::bitwise_or: return Kind::Or;
    case ir::Op::bitwise_xor: return Kind::Xor;
    case ir::Op::minimum: return is_signed ? Kind::Min : Kind::UMin;
    case ir::Op::maximum: return is_signed ? Kind::Max : Kind::UMax;
    default: return std::nullopt;
  }
}

constexpr auto kRelaxed = llvm::AtomicOrdering::Monotonic;

}  // namespace

void DeviceFunction::order(NodeId id) {
  const size_t last = source_.attributes(id).size() - 1;
  if (static_cast<ir::Order>(source_.attribute(id, last)) == ir::Order::Relaxed) return;
  kernels_.fence(b_, static_cast<ir::Scope>(source_.attribute(id, last - 1)));
}

Value* DeviceFunction::bits_of(DType dtype, const Parts& number) {
  const auto component = static_cast<unsigned>(8 * base::size_of(base::component_of(dtype)));
  const auto word = [&](Value* part) {
    if (part->getType()->isIntegerTy(1)) return b_.CreateZExt(part, b_.getInt8Ty());
    return b_.CreateBitCast(part, b_.getIntNTy(component));
  };
  if (number.size() == 1) return word(number[0]);
  llvm::Type* const all = b_.getIntNTy(2 * component);
  return b_.CreateOr(b_.CreateZExt(word(number[0]), all),
                     b_.CreateShl(b_.CreateZExt(word(number[1]), all), component));
}

Parts DeviceFunction::of_bits(DType dtype, Value* bits) {
  if (base::is_bool(dtype)) return {b_.CreateIsNotNull(bits)};
  const DType component = base::component_of(dtype);
  llvm::Type* const type = unit_.part_type(component);
  if (!base::is_complex(dtype)) return {b_.CreateBitCast(bits, type)};
  const auto width = static_cast<unsigned>(8 * base::size_of(component));
  llvm::Type* const word = b_.getIntNTy(width);
  return {b_.CreateBitCast(b_.CreateTrunc(bits, word), type),
          b_.CreateBitCast(b_.CreateTrunc(b_.CreateLShr(bits, width), word), type)};
}

unsigned DeviceFunction::atomic_bytes(DType dtype) const {
  const auto bytes = static_cast<unsigned>(base::size_of(dtype));
  if (bytes > 8) fail_not_lowered("an atomic of 128 bits");
  return bytes;
}

/// Replaces so many bytes by the result of `change`. Returns their old value.
Value* DeviceFunction::exchange_bits(Value* address, unsigned bytes, Change change) {
  if (bytes > 8) fail_not_lowered("an atomic of 128 bits");
  llvm::Type* const own = b_.getIntNTy(8 * bytes);
  llvm::Type* const word = bytes <= 4 ? b_.getInt32Ty() : b_.getInt64Ty();
  Value* shift = nullptr;
  Value* aligned = address;
  if (bytes < 4) {
    Value* const number = b_.CreatePtrToInt(address, b_.getInt64Ty());
    Value* const below = b_.CreateAnd(number, 3);
    aligned = b_.CreateGEP(b_.getInt8Ty(), address, b_.CreateNeg(below));
    shift = b_.CreateTrunc(b_.CreateShl(below, 3), word);
  }
  Value* const first = b_.CreateLoad(word, aligned, /*isVolatile=*/true);
  Block* const before = here();
  Block* const iteration = new_block("try");
  Block* const done = new_block("tried");
  b_.CreateBr(iteration);
  b_.SetInsertPoint(iteration);
  llvm::PHINode* const now = b_.CreatePHI(word, 2);
  now->addIncoming(first, before);
  Value* const old = shift == nullptr ? now : b_.CreateTrunc(b_.CreateLShr(now, shift), own);
  Value* const made = change(old);
  Value* wanted = made;
  if (shift != nullptr) {
    Value* const mask = b_.CreateShl(b_.CreateZExt(llvm::Constant::getAllOnesValue(own), word), shift);
    wanted =
        b_.CreateOr(b_.CreateAnd(now, b_.CreateNot(mask)), b_.CreateShl(b_.CreateZExt(made, word), shift));
  }
  Value* const tried = b_.CreateAtomicCmpXchg(aligned, now, wanted, {}, kRelaxed, kRelaxed);
  now->addIncoming(b_.CreateExtractValue(tried, 0), here());
  b_.CreateCondBr(b_.CreateExtractValue(tried, 1), done, iteration);
  b_.SetInsertPoint(done);
  return old;
}

void DeviceFunction::emit_atomic(NodeId id) {
  const auto operands = source_.operands(id);
  const size_t last = operands.size() - 1;
  const DType type = dtype(operands[0]);
  const ir::Op combiner = source_.op_attribute(id, 0);
  Value* const address = element_address(operands[0], operands.subspan(1, last - 1));
  const Parts& given = parts(operands[last]);
  order(id);
  if (const auto kind = instruction_of(combiner, type)) {
    set(id, {b_.CreateAtomicRMW(*kind, address, given[0], {}, kRelaxed)});
  } else {
    Value* const old = exchange_bits(address, static_cast<unsigned>(base::size_of(type)), [&](Value* bits) {
      if (combiner == ir::Op::constant) return bits_of(type, given);
      const Parts both[] = {of_bits(type, bits), given};
      return bits_of(type, scalars_.elementwise(combiner, type, both));
    });
    set(id, of_bits(type, old));
  }
  order(id);
}

void DeviceFunction::emit_compare_exchange(NodeId id) {
  const auto operands = source_.operands(id);
  const size_t last = operands.size() - 1;
  const DType type = dtype(operands[0]);
  Value* const address = element_address(operands[0], operands.subspan(1, last - 2));
  Value* const expected = bits_of(type, parts(operands[last - 1]));
  Value* const wanted = bits_of(type, parts(operands[last]));
  order(id);
  // Where another number is stored, it is exchanged for itself.
  Value* const old = exchange_bits(address, static_cast<unsigned>(base::size_of(type)), [&](Value* bits) {
    return b_.CreateSelect(b_.CreateICmpEQ(bits, expected), wanted, bits);
  });
  set(id, of_bits(type, old));
  order(id);
}

void DeviceFunction::emit_atomic_load(NodeId id) {
  const auto operands = source_.operands(id);
  const DType type = dtype(operands[0]);
  const unsigned bytes = atomic_bytes(type);
  Value* const address = element_address(operands[0], operands.subspan(1));
  llvm::LoadInst* const bits = b_.CreateAlignedLoad(b_.getIntNTy(8 * bytes), address, llvm::Align(bytes));
  bits->setAtomic(kRelaxed);
  set(id, of_bits(type, bits));
  order(id);
}

void DeviceFunction::emit_atomic_store(NodeId id) {
  const auto operands = source_.operands(id);
  const size_t last = operands.size() - 1;
  const DType type = dtype(operands[0]);
  Value* const address = element_address(operands[0], operands.subspan(1, last - 1));
  Value* const bits = bits_of(type, parts(operands[last]));
  order(id);
  b_.CreateAlignedStore(bits, address, llvm::Align(atomic_bytes(type)))->setAtomic(kRelaxed);
}

}  // namespace ingot::codegen
