// Collectives: what the threads of a launch exchange.

#include "base/error.h"
#include "codegen/device_function.h"

namespace ingot::codegen {

using llvm::Value;

namespace {

constexpr uint32_t kAllLanes = ~uint32_t{0};

}  // namespace

void DeviceFunction::emit_barrier(NodeId id) {
  const auto scope = static_cast<ir::Scope>(source_.attribute(id, 0));
  const auto operands = source_.operands(id);
  if (scope == ir::Scope::Block) return kernels_.barrier(b_);
  if (scope != ir::Scope::Warp) return wait_for_grid();
  kernels_.barrier(b_, operands.empty() ? b_.getInt32(kAllLanes) : value(operands[0]));
}

/// One thread of each block adds to a number whose highest bit flips when all have: the first block adds the
/// number that the others leave missing.
void DeviceFunction::wait_for_grid() {
  using GridValue = KernelTarget::GridValue;
  is_cooperative_ = true;
  constexpr const char* kName = "ingot_arrived";
  llvm::GlobalVariable* arrived = unit_.module.getNamedGlobal(kName);
  if (arrived == nullptr)
    arrived = new llvm::GlobalVariable(unit_.module, b_.getInt32Ty(), false,
                                       llvm::GlobalValue::InternalLinkage, b_.getInt32(0), kName, nullptr,
                                       llvm::GlobalValue::NotThreadLocal, kernels_.global_space());
  Value* const address = b_.CreateAddrSpaceCast(arrived, b_.getPtrTy());
  Value* blocks = b_.getInt64(1);
  Value* position = b_.getInt64(0);
  for (unsigned axis = 0; axis < 3; ++axis) {
    blocks = b_.CreateMul(blocks, kernels_.grid_value(b_, GridValue::Blocks, axis));
    position =
        b_.CreateOr(position, b_.CreateOr(kernels_.grid_value(b_, GridValue::Thread, axis),
                                          b_.CreateShl(kernels_.grid_value(b_, GridValue::Block, axis), 32)));
  }
  kernels_.barrier(b_);
  Value* const is_one = b_.CreateIsNull(b_.CreateAnd(position, b_.getInt64(0xffffffff)));
  Block* const one = new_block("arrive");
  Block* const wait = new_block("wait");
  Block* const on = new_block("on");
  b_.CreateCondBr(is_one, one, on);
  b_.SetInsertPoint(one);
  kernels_.fence(b_, ir::Scope::Device);
  Value* const others = b_.CreateTrunc(b_.CreateSub(blocks, b_.getInt64(1)), b_.getInt32Ty());
  Value* const first = b_.CreateSub(b_.getInt32(0x80000000), others);
  Value* const own = b_.CreateSelect(b_.CreateIsNull(position), first, b_.getInt32(1));
  Value* const before =
      b_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, address, own, {}, llvm::AtomicOrdering::Monotonic);
  b_.CreateBr(wait);
  b_.SetInsertPoint(wait);
  Value* const now = b_.CreateLoad(b_.getInt32Ty(), address, /*isVolatile=*/true);
  Value* const flipped = b_.CreateICmpSLT(b_.CreateXor(before, now), b_.getInt32(0));
  Block* const seen = new_block("seen");
  b_.CreateCondBr(flipped, seen, wait);
  b_.SetInsertPoint(seen);
  kernels_.fence(b_, ir::Scope::Device);
  b_.CreateBr(on);
  b_.SetInsertPoint(on);
  kernels_.barrier(b_);
}

void DeviceFunction::emit_vote(NodeId id) {
  const auto question = static_cast<ir::Question>(source_.attribute(id, 0));
  const auto scope = static_cast<ir::Scope>(source_.attribute(id, 1));
  const auto operands = source_.operands(id);
  if (scope == ir::Scope::Block) return set(id, {kernels_.vote(b_, question, value(operands[0]))});
  set(id, {kernels_.vote(b_, question, value(operands[0]), value(operands[1]))});
}

/// A number of up to 32 bits as an i32.
Value* DeviceFunction::as_word(Value* part) {
  llvm::Type* const type = part->getType();
  if (type->isFloatTy()) return b_.CreateBitCast(part, b_.getInt32Ty());
  return type->isIntegerTy(32) ? part : b_.CreateZExt(part, b_.getInt32Ty());
}

void DeviceFunction::emit_match(NodeId id) {
  const auto agreement = static_cast<ir::Agreement>(source_.attribute(id, 0));
  const NodeId compared = source_.operand(id, 1);
  Value* const mask = value(source_.operand(id, 0));
  Value* lanes = nullptr;
  // Of several parts, those that agree in all.
  for (Value* part : parts(compared)) {
    Value* const bits = part->getType()->isDoubleTy()      ? b_.CreateBitCast(part, b_.getInt64Ty())
                        : part->getType()->isIntegerTy(64) ? part
                                                           : as_word(part);
    Value* const own = kernels_.match(b_, agreement, mask, bits);
    lanes = lanes == nullptr ? own : b_.CreateAnd(lanes, own);
  }
  set(id, {lanes});
}

void DeviceFunction::emit_shuffle(NodeId id) {
  const auto source = static_cast<ir::Source>(source_.attribute(id, 0));
  const auto width = static_cast<unsigned>(source_.attribute(id, 1));
  const auto operands = source_.operands(id);
  Value* const mask = value(operands[0]);
  Value* const lane = value(operands[2]);
  const auto word = [&](Value* bits) { return kernels_.shuffle(b_, source, mask, bits, lane, width); };
  Parts given;
  for (Value* part : parts(operands[1])) {
    llvm::Type* const type = part->getType();
    if (type->isIntegerTy(64) || type->isDoubleTy()) {
      Value* const bits = b_.CreateBitCast(part, b_.getInt64Ty());
      Value* const low = word(b_.CreateTrunc(bits, b_.getInt32Ty()));
      Value* const high = word(b_.CreateTrunc(b_.CreateLShr(bits, 32), b_.getInt32Ty()));
      Value* const both = b_.CreateOr(b_.CreateZExt(low, b_.getInt64Ty()),
                                      b_.CreateShl(b_.CreateZExt(high, b_.getInt64Ty()), 32));
      given.push_back(b_.CreateBitCast(both, type));
    } else if (type->isFloatTy()) {
      given.push_back(b_.CreateBitCast(word(as_word(part)), type));
    } else {
      given.push_back(b_.CreateTrunc(word(as_word(part)), type));
    }
  }
  set(id, given);
}

void DeviceFunction::emit_active(NodeId id) { set(id, {kernels_.active(b_)}); }

void DeviceFunction::emit_fence(NodeId id) {
  kernels_.fence(b_, static_cast<ir::Scope>(source_.attribute(id, 0)));
}

void DeviceFunction::emit_nanosleep(NodeId id) {
  waits_for_blocks_ = true;
  kernels_.nanosleep(b_, value(source_.operand(id, 0)));
}

/// A number that a kernel computes.
void DeviceFunction::emit_c_value(NodeId id) {
  const ir::Module& module = unit_.source;
  const std::string& name = module.text(ir::TextId(static_cast<uint32_t>(source_.attribute(id, 1))));
  base::Unsupported refusal(module.location(source_[id].span), "the C function `" + name + "` on a device",
                            "compute its value before, from numbers of the host's");
  refusal.sites = module.sites(source_[id].span);
  throw base::Unsupported(std::move(refusal));
}

/// Numbers below 32 bits are passed as C does it: extended.
void DeviceFunction::emit_linked(NodeId id) {
  std::vector<Value*> given;
  Types types;
  llvm::SmallVector<llvm::AttributeSet, 4> extended;
  const auto extension = [&](const ir::Type& type) {
    if (!type.is_scalar() || base::is_float(type.dtype()) || base::size_of(type.dtype()) >= 4)
      return llvm::AttributeSet();
    const auto kind = base::is_signed(type.dtype()) ? llvm::Attribute::SExt : llvm::Attribute::ZExt;
    return llvm::AttributeSet::get(b_.getContext(), {llvm::Attribute::get(b_.getContext(), kind)});
  };
  for (const NodeId operand : source_.operands(id)) {
    Value* const part = value(operand);
    llvm::Type* const type = unit_.memory_type(part->getType());
    given.push_back(type == part->getType() ? part : b_.CreateZExt(part, type));
    types.push_back(type);
    extended.push_back(extension(source_.type(operand)));
  }
  const ir::Type result = source_.type(id);
  llvm::Type* const own = result.is_void() ? b_.getVoidTy() : unit_.part_type(result.dtype());
  llvm::Type* const type = result.is_void() ? own : unit_.memory_type(own);
  const std::string& name = unit_.source.text(ir::TextId(static_cast<uint32_t>(source_.attribute(id, 0))));
  llvm::Function* const function =
      kernels_.linked(unit_.module, name, llvm::FunctionType::get(type, types, false));
  function->setAttributes(llvm::AttributeList::get(b_.getContext(), function->getAttributes().getFnAttrs(),
                                                   extension(result), extended));
  llvm::CallInst* const call = b_.CreateCall(function, given);
  call->setAttributes(function->getAttributes());
  if (!result.is_void()) set(id, {own == type ? static_cast<Value*>(call) : b_.CreateIsNotNull(call)});
}

}  // namespace ingot::codegen
