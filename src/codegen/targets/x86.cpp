#include "codegen/targets/x86.h"

#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Target/TargetOptions.h>

#include <algorithm>
#include <bit>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "codegen/targets/target_machine.h"

extern "C" {
void LLVMInitializeX86TargetInfo();
void LLVMInitializeX86Target();
void LLVMInitializeX86TargetMC();
void LLVMInitializeX86AsmPrinter();
}

namespace ingot::codegen {

using llvm::Value;

namespace {

constexpr const char* kTriple = "x86_64-unknown-linux-gnu";

const llvm::Target& x86() {
  static const llvm::Target* const found = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    // Our loops count so that addresses use the counter directly, and values stay in the registers of their
    // kind: the analyses of these passes cost a third of the time.
    for (const char* option : {"disable-lsr", "disable-x86-domain-reassignment"}) {
      if (llvm::cl::Option* const known = llvm::cl::getRegisteredOptions().lookup(option))
        known->addOccurrence(1, option, "true");
    }
    std::string error;
    return llvm::TargetRegistry::lookupTarget(kTriple, error);
  }();
  INGOT_ASSERT(found != nullptr, "codegen: LLVM has no x86-64 target");
  return *found;
}

unsigned lanes(llvm::Type* type) {
  const auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector != nullptr ? vector->getNumElements() : 1;
}

/// A piece of a vector: `count` lanes from `first` on.
Value* lanes_of(llvm::IRBuilder<>& b, Value* vector, unsigned first, unsigned count) {
  llvm::SmallVector<int, 16> mask;
  for (unsigned i = 0; i < count; ++i) mask.push_back(static_cast<int>(first + i));
  return b.CreateShuffleVector(vector, mask);
}

Value* join(llvm::IRBuilder<>& b, std::span<Value* const> pieces) {
  if (pieces.size() == 1) return pieces[0];
  const size_t half = pieces.size() / 2;
  Value* const low = join(b, pieces.first(half));
  Value* const high = join(b, pieces.subspan(half));
  llvm::SmallVector<int, 32> mask;
  for (unsigned i = 0; i < 2 * lanes(low->getType()); ++i) mask.push_back(static_cast<int>(i));
  return b.CreateShuffleVector(low, high, mask);
}

/// An instruction of AVX-512 that takes vectors of 128 to 512 bits: `call` is given operands of such a type,
/// once for each such part of the operands' type; wider ones are split, scalars widened.
template <class Call>
Value* in_registers(llvm::IRBuilder<>& b, std::span<Value* const> operands, Call call) {
  llvm::Type* const type = operands[0]->getType();
  const unsigned count = lanes(type);
  const unsigned bits = type->getScalarSizeInBits();
  const unsigned least = 128 / bits;
  const unsigned width = std::clamp(std::bit_ceil(count), least, 512 / bits);
  if (count == width) return call(operands, width);
  llvm::SmallVector<Value*, 4> pieces;
  for (unsigned first = 0; first < count; first += width) {
    llvm::SmallVector<Value*, 2> piece;
    for (Value* operand : operands) {
      if (count >= width) {
        piece.push_back(lanes_of(b, operand, first, width));
      } else {
        auto* const wide = llvm::FixedVectorType::get(type->getScalarType(), width);
        Value* filled = llvm::Constant::getNullValue(wide);
        for (unsigned i = 0; i < count; ++i) {
          Value* const lane = type->isVectorTy() ? b.CreateExtractElement(operand, i) : operand;
          filled = b.CreateInsertElement(filled, lane, i);
        }
        piece.push_back(filled);
      }
    }
    pieces.push_back(call(piece, width));
  }
  if (!type->isVectorTy()) return b.CreateExtractElement(pieces[0], uint64_t{0});
  return count < width ? lanes_of(b, pieces[0], 0, count) : join(b, pieces);
}

/// The intrinsics of one instruction: of double at 128, 256 and 512 bits, then of float.
using Widths = llvm::Intrinsic::ID[6];

Value* call_avx512(llvm::IRBuilder<>& b, const Widths& ids, std::span<Value* const> operands,
                   std::optional<int> immediate) {
  return in_registers(b, operands, [&](std::span<Value* const> piece, unsigned width) {
    llvm::Type* const type = piece[0]->getType();
    const bool is_double = type->getScalarType()->isDoubleTy();
    const unsigned bits = width * type->getScalarSizeInBits();
    llvm::SmallVector<Value*, 6> arguments(piece.begin(), piece.end());
    if (immediate) arguments.push_back(b.getInt32(static_cast<uint32_t>(*immediate)));
    arguments.push_back(llvm::Constant::getNullValue(type));
    arguments.push_back(llvm::Constant::getAllOnesValue(b.getIntNTy(std::max(width, 8u))));
    constexpr uint32_t kCurrentRounding = 4;
    if (bits == 512) arguments.push_back(b.getInt32(kCurrentRounding));
    const size_t size = bits == 512 ? 2 : bits == 256 ? 1 : 0;
    return b.CreateIntrinsic(ids[size + (is_double ? 0 : 3)], {}, arguments);
  });
}

}  // namespace

/// Of narrow numbers from AVX-512 on; AVX2 has no scatter.
bool X86Instructions::masks(Access access, unsigned bits) const {
  if (access == Access::Load || access == Access::Store) return level_ >= (bits < 32 ? 4 : 3);
  return bits >= 32 && level_ >= (access == Access::Gather ? 3 : 4);
}

namespace {

/// Integral doubles below 2**63 in magnitude as i64, of any other some i64: the upper half and the lower half
/// are each added to a power of 2, whose significand then ends in them.
Value* words_of(llvm::IRBuilder<>& b, Value* integral) {
  llvm::Type* const type = integral->getType();
  auto* const words = llvm::FixedVectorType::get(b.getInt64Ty(), lanes(type));
  const auto constant = [&](double value) { return llvm::ConstantFP::get(type, value); };
  Value* const upper =
      b.CreateUnaryIntrinsic(llvm::Intrinsic::floor, b.CreateFMul(integral, constant(0x1p-32)));
  Value* const lower = b.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {upper, constant(-0x1p32), integral});
  Value* const high = b.CreateBitCast(b.CreateFAdd(upper, constant(0x1.8p52)), words);
  Value* const low = b.CreateBitCast(b.CreateFAdd(lower, constant(0x1p52)), words);
  return b.CreateOr(b.CreateShl(high, 32), b.CreateAnd(low, llvm::ConstantInt::get(words, 0xffffffff)));
}

}  // namespace

Value* X86Instructions::truncated(Builder& b, Value* number, bool to_64_bits) const {
  if (number->getType()->isVectorTy() && to_64_bits && has_fma() && !converts_words()) {
    auto* const doubles = llvm::FixedVectorType::get(b.getDoubleTy(), lanes(number->getType()));
    Value* const wide = b.CreateFPExt(number, doubles);
    const auto constant = [&](double value) { return llvm::ConstantFP::get(doubles, value); };
    // The least integer is what it becomes, too, where it is out of range.
    Value* const in_range =
        b.CreateFCmpOLT(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, wide), constant(0x1p63));
    Value* const words = words_of(b, b.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, wide));
    return b.CreateSelect(in_range, words,
                          llvm::ConstantInt::get(words->getType(), llvm::APInt::getSignedMinValue(64)));
  }
  if (number->getType()->isVectorTy()) return Instructions::truncated(b, number, to_64_bits);
  auto* const vector = llvm::FixedVectorType::get(b.getDoubleTy(), 2);
  Value* const wide = b.CreateFPExt(number, b.getDoubleTy());
  Value* const operand = b.CreateInsertElement(llvm::Constant::getNullValue(vector), wide, b.getInt64(0));
  return b.CreateIntrinsic(
      to_64_bits ? llvm::Intrinsic::x86_sse2_cvttsd2si64 : llvm::Intrinsic::x86_sse2_cvttsd2si, {},
      {operand});
}

Value* X86Instructions::scaled(Builder& b, Value* y, Value* n) const {
  static constexpr Widths kIds = {
      llvm::Intrinsic::x86_avx512_mask_scalef_pd_128, llvm::Intrinsic::x86_avx512_mask_scalef_pd_256,
      llvm::Intrinsic::x86_avx512_mask_scalef_pd_512, llvm::Intrinsic::x86_avx512_mask_scalef_ps_128,
      llvm::Intrinsic::x86_avx512_mask_scalef_ps_256, llvm::Intrinsic::x86_avx512_mask_scalef_ps_512};
  Value* const operands[] = {y, n};
  return call_avx512(b, kIds, operands, std::nullopt);
}

Value* X86Instructions::exponent(Builder& b, Value* x) const {
  static constexpr Widths kIds = {
      llvm::Intrinsic::x86_avx512_mask_getexp_pd_128, llvm::Intrinsic::x86_avx512_mask_getexp_pd_256,
      llvm::Intrinsic::x86_avx512_mask_getexp_pd_512, llvm::Intrinsic::x86_avx512_mask_getexp_ps_128,
      llvm::Intrinsic::x86_avx512_mask_getexp_ps_256, llvm::Intrinsic::x86_avx512_mask_getexp_ps_512};
  return call_avx512(b, kIds, {&x, 1}, std::nullopt);
}

Value* X86Instructions::mantissa(Builder& b, Value* x) const {
  static constexpr Widths kIds = {
      llvm::Intrinsic::x86_avx512_mask_getmant_pd_128, llvm::Intrinsic::x86_avx512_mask_getmant_pd_256,
      llvm::Intrinsic::x86_avx512_mask_getmant_pd_512, llvm::Intrinsic::x86_avx512_mask_getmant_ps_128,
      llvm::Intrinsic::x86_avx512_mask_getmant_ps_256, llvm::Intrinsic::x86_avx512_mask_getmant_ps_512};
  constexpr int kFromThreeQuarters = 0b11;
  constexpr int kNoSignAndNaNOfNegative = 0b1100;
  return call_avx512(b, kIds, {&x, 1}, kFromThreeQuarters | kNoSignAndNaNOfNegative);
}

namespace {

/// For each mask of `lanes` lanes of a register of 256 bits the numbers of its 32-bit words, a byte each,
/// those of lanes that the mask selects first.
llvm::GlobalVariable* table_of_orders(llvm::Module& module, unsigned lanes) {
  constexpr unsigned kWords = 8;
  const std::string name = "ingot_orders_" + std::to_string(lanes);
  if (auto* const made = module.getNamedGlobal(name)) return made;
  const unsigned words = kWords / lanes;
  std::vector<uint64_t> orders(size_t{1} << lanes);
  for (size_t mask = 0; mask < orders.size(); ++mask) {
    unsigned filled = 0;
    for (unsigned lane = 0; lane < lanes; ++lane)
      for (unsigned word = 0; (mask >> lane & 1) != 0 && word < words; ++word)
        orders[mask] |= uint64_t{lane * words + word} << (8 * filled++);
  }
  llvm::Constant* const table = llvm::ConstantDataArray::get(module.getContext(), orders);
  auto* const made = new llvm::GlobalVariable(module, table->getType(), true,
                                              llvm::GlobalValue::PrivateLinkage, table, name);
  made->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  return made;
}

}  // namespace

/// AVX2 moves the words of a register in an order that it finds in a table, by the mask.
Value* X86Instructions::compressed(Builder& b, Value* lanes, Value* mask) const {
  auto* const type = llvm::cast<llvm::FixedVectorType>(lanes->getType());
  if (has_avx512()) {
    return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_compress, {type},
                             {lanes, llvm::Constant::getNullValue(type), mask});
  }
  const unsigned count = type->getNumElements();
  const unsigned width = 256 / type->getScalarSizeInBits();
  INGOT_ASSERT(count <= width, "codegen: more lanes than a register has are compressed");
  llvm::SmallVector<int, 8> all;
  for (unsigned i = 0; i < width; ++i) all.push_back(static_cast<int>(i < count ? i : count));
  Value* const none = llvm::Constant::getNullValue(type);
  Value* const wide = count < width ? b.CreateShuffleVector(lanes, none, all) : lanes;
  Value* const words = b.CreateBitCast(wide, llvm::FixedVectorType::get(b.getInt32Ty(), 8));
  Value* const number = b.CreateZExt(b.CreateBitCast(mask, b.getIntNTy(count)), b.getInt64Ty());
  llvm::Module& module = *b.GetInsertBlock()->getModule();
  llvm::GlobalVariable* const table = table_of_orders(module, width);
  Value* const entry = b.CreateGEP(b.getInt64Ty(), table, number);
  Value* const order =
      b.CreateAlignedLoad(llvm::FixedVectorType::get(b.getInt8Ty(), 8), entry, llvm::Align(8));
  Value* const moved =
      b.CreateIntrinsic(llvm::Intrinsic::x86_avx2_permd, {}, {words, b.CreateZExt(order, words->getType())});
  Value* const first = b.CreateBitCast(moved, wide->getType());
  return count < width ? lanes_of(b, first, 0, count) : first;
}

void X86Instructions::fence_streams(Builder& b) const {
  b.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
}

namespace {

/// The machines that no compile holds. Never destroyed: threads may compile while the process ends.
struct Kept {
  static constexpr size_t kMost = 8;

  std::mutex mutex;
  std::vector<std::unique_ptr<llvm::TargetMachine>> machines;  ///< reserved for kMost

  Kept() { machines.reserve(kMost); }

  static Kept& all() {
    static Kept& kept = *new Kept;
    return kept;
  }
};

}  // namespace

void KeepMachine::operator()(llvm::TargetMachine* machine) const {
  std::unique_ptr<llvm::TargetMachine> left(machine);
  Kept& kept = Kept::all();
  const std::lock_guard lock(kept.mutex);
  if (kept.machines.size() < Kept::kMost) kept.machines.push_back(std::move(left));
}

void prepare_machines() {
  x86();
  Kept::all();
}

HeldMachine target_machine(const Target& target, llvm::CodeGenOptLevel level) {
  {
    Kept& kept = Kept::all();
    const std::lock_guard lock(kept.mutex);
    const auto found = std::ranges::find_if(kept.machines, [&](const auto& machine) {
      return machine->getTargetCPU() == target.cpu && machine->getTargetFeatureString() == target.features &&
             machine->getOptLevel() == level;
    });
    if (found != kept.machines.end()) {
      HeldMachine held(found->release());
      kept.machines.erase(found);
      return held;
    }
  }
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  options.TrapUnreachable = true;
  HeldMachine made(x86().createTargetMachine(kTriple, target.cpu, target.features, options, llvm::Reloc::PIC_,
                                             llvm::CodeModel::Small, level, /*JIT=*/false));
  INGOT_ASSERT(made != nullptr, "codegen: LLVM knows the CPU " + target.cpu);
  return made;
}

}  // namespace ingot::codegen
