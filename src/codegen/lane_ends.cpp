// Loads and stores of the first few lanes, in the last step of a loop: of numbers that the CPU has no masks
// for, too. Those are moved by whole words under a mask of words, and what is after the last whole word by at
// most two more instructions; a few bytes by one instruction for each power of two of them. Numbers are in
// memory with their lowest byte first.

#include <algorithm>
#include <bit>

#include "codegen/branches.h"
#include "codegen/lane_body.h"

namespace ingot::codegen {

using llvm::Value;

namespace {

constexpr unsigned kWord = 4;
constexpr unsigned kMostFew = 8;

unsigned bytes_of(llvm::Type* type) {
  return static_cast<unsigned>(type->getPrimitiveSizeInBits().getFixedValue() / 8);
}

/// Part of some bytes: `size` of them after all larger parts, if their number has this power of two.
struct Portion {
  Value* is_there;
  Value* address;
  Value* shift;  ///< in bits, from the last multiple of the size of `number`
};

Portion portion_of(Builder& b, Value* address, Value* bytes, unsigned size, llvm::Type* number) {
  Value* const offset = b.CreateAnd(bytes, b.CreateNeg(b.getInt64(2 * size)));
  Value* const within = b.CreateAnd(offset, b.getInt64(bytes_of(number) - 1));
  return {.is_there = b.CreateICmpNE(b.CreateAnd(bytes, b.getInt64(size)), b.getInt64(0)),
          .address = b.CreateGEP(b.getInt8Ty(), address, offset),
          .shift = b.CreateZExtOrTrunc(b.CreateShl(within, 3), number)};
}

/// The bytes from the last multiple of the size of `number` on, as such a number; in portions of `most` to
/// `least` bytes.
Value* load_few(Builder& b, llvm::Type* number, Value* address, Value* bytes, unsigned most, unsigned least) {
  Value* all = llvm::ConstantInt::get(number, 0);
  for (unsigned size = most; size >= least; size /= 2) {
    const Portion portion = portion_of(b, address, bytes, size, number);
    all = emit_when(b, portion.is_there, {all}, [&] {
      Value* const loaded = b.CreateAlignedLoad(b.getIntNTy(8 * size), portion.address, llvm::Align(1));
      return Parts{b.CreateOr(all, b.CreateShl(b.CreateZExt(loaded, number), portion.shift))};
    })[0];
  }
  return all;
}

void store_few(Builder& b, Value* number, Value* address, Value* bytes, unsigned most, unsigned least) {
  for (unsigned size = most; size >= least; size /= 2) {
    const Portion portion = portion_of(b, address, bytes, size, number->getType());
    emit_when(b, portion.is_there, [&] {
      Value* const stored = b.CreateTrunc(b.CreateLShr(number, portion.shift), b.getIntNTy(8 * size));
      b.CreateAlignedStore(stored, portion.address, llvm::Align(1));
    });
  }
}

/// The numbers of a vector's elements, compared with one.
Value* compare_numbers(Builder& b, llvm::CmpInst::Predicate predicate, llvm::Type* type, Value* number) {
  Value* const narrow = b.CreateZExtOrTrunc(number, type->getScalarType());
  const unsigned count = llvm::cast<llvm::FixedVectorType>(type)->getNumElements();
  return b.CreateICmp(predicate, b.CreateStepVector(type), b.CreateVectorSplat(count, narrow));
}

}  // namespace

/// How many lanes run, if they are the first ones and others are masked out; else null.
Value* LaneBody::first_lanes() const { return lanes_.mask == first_mask_ ? lanes_.first : nullptr; }

bool LaneBody::moves_first(Instructions::Access access, llvm::Type* number, unsigned count) const {
  const unsigned size = bytes_of(number);
  const unsigned bytes = size * count;
  if (bytes <= kMostFew) return size < kMostFew && std::has_single_bit(bytes);
  return bytes % 16 == 0 && unit_.instructions.masks(access, 8 * std::max(size, kWord));
}

Value* LaneBody::load_first(llvm::Type* number, unsigned count, Value* address, Value* first) {
  const unsigned size = bytes_of(number);
  const unsigned total = size * count;
  auto* const vector = llvm::FixedVectorType::get(number, count);
  Value* const bytes = b_.CreateMul(first, b_.getInt64(size));
  if (total <= kMostFew)
    return b_.CreateBitCast(load_few(b_, b_.getIntNTy(8 * total), address, bytes, total, size), vector);
  const unsigned unit = std::max(size, kWord);
  auto* const words = llvm::FixedVectorType::get(b_.getIntNTy(8 * unit), total / unit);
  Value* const whole = b_.CreateUDiv(bytes, b_.getInt64(unit));
  Value* all = b_.CreateMaskedLoad(words, address, llvm::Align(1),
                                   compare_numbers(b_, llvm::CmpInst::ICMP_SLT, words, whole),
                                   llvm::Constant::getNullValue(words));
  if (size < kWord) {
    Value* const rest = load_few(b_, b_.getInt32Ty(), address, bytes, kWord / 2, size);
    Value* const is_last = compare_numbers(b_, llvm::CmpInst::ICMP_EQ, words, whole);
    all = b_.CreateSelect(is_last, b_.CreateVectorSplat(total / unit, rest), all);
  }
  return b_.CreateBitCast(all, vector);
}

void LaneBody::store_first(Value* stored, Value* address, Value* first) {
  auto* const vector = llvm::cast<llvm::FixedVectorType>(stored->getType());
  const unsigned size = bytes_of(vector->getElementType());
  const unsigned total = size * vector->getNumElements();
  Value* const bytes = b_.CreateMul(first, b_.getInt64(size));
  if (total <= kMostFew)
    return store_few(b_, b_.CreateBitCast(stored, b_.getIntNTy(8 * total)), address, bytes, total, size);
  const unsigned unit = std::max(size, kWord);
  auto* const words = llvm::FixedVectorType::get(b_.getIntNTy(8 * unit), total / unit);
  Value* const whole = b_.CreateUDiv(bytes, b_.getInt64(unit));
  Value* const all = b_.CreateBitCast(stored, words);
  b_.CreateMaskedStore(all, address, llvm::Align(1),
                       compare_numbers(b_, llvm::CmpInst::ICMP_SLT, words, whole));
  if (size == unit) return;
  store_few(b_, b_.CreateExtractElement(all, whole), address, bytes, kWord / 2, size);
}

}  // namespace ingot::codegen
