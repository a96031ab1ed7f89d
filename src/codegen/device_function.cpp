#include "codegen/device_function.h"

#include "base/abi.h"
#include "codegen/device_code.h"

namespace ingot::codegen {

using llvm::Value;

namespace {

/// Where arrays of a thread or block are best aligned: the size that one instruction loads.
constexpr uint64_t kAlignment = 16;

}  // namespace

DeviceFunction::DeviceFunction(Unit& unit, LineTable& lines, const ir::Function& source,
                               llvm::Function* target)
    : Body(unit, source, target), lines_(lines), kernels_(*unit.target.kernels) {}

std::optional<Parts> DeviceFunction::emit_nodes(RegionId region) {
  for (const NodeId node : source_.region_body(region)) {
    const base::SourceLocation location = unit_.source.location(source_[node].span);
    if (!location.file.empty()) b_.SetCurrentDebugLocation(lines_.at(*target_, location));
    emit_node(node);
  }
  const NodeId last = source_.terminator(region);
  if (source_.op(last) != ir::Op::yield) return std::nullopt;
  release_buffers(region, last);
  return gather(source_.operands(last));
}

void DeviceFunction::emit(NodeId launch, std::span<const std::pair<NodeId, Parts>> used) {
  const base::SourceLocation location = unit_.source.location(source_[launch].span);
  lines_.add(*target_, location);
  b_.SetCurrentDebugLocation(lines_.at(*target_, location));
  for (const auto& [node, parts] : used) set(node, parts);
  find_stored(launch);
  using GridValue = KernelTarget::GridValue;
  Parts indices;
  for (const GridValue what : {GridValue::Block, GridValue::Thread})
    for (unsigned axis = 0; axis < 3; ++axis) indices.push_back(kernels_.grid_value(b_, what, axis));
  const RegionId region = source_.region(launch);
  if (source_.region_parameters(region).size() > indices.size()) indices.push_back(dynamic_memory());
  if (emit_region(region, indices)) b_.CreateRetVoid();
}

/// The iteration is that of the thread, in the order of the last axis of the grid first.
void DeviceFunction::leave(base::ExceptionKind kind, uint32_t site, std::span<Value* const> shown) {
  may_raise_ = true;
  using GridValue = KernelTarget::GridValue;
  Value* iteration = b_.getInt64(0);
  for (unsigned axis = 3; axis-- > 0;) {
    Value* const threads = kernels_.grid_value(b_, GridValue::Threads, axis);
    Value* const own = b_.CreateAdd(b_.CreateMul(kernels_.grid_value(b_, GridValue::Block, axis), threads),
                                    kernels_.grid_value(b_, GridValue::Thread, axis));
    Value* const all = b_.CreateMul(kernels_.grid_value(b_, GridValue::Blocks, axis), threads);
    iteration = b_.CreateAdd(b_.CreateMul(iteration, all), own);
  }
  if (base::follows_others(kind))
    iteration = b_.CreateOr(iteration, b_.getInt64(entry::KernelError::kFollowing));
  const auto status = static_cast<uint32_t>(entry::status_of(kind));
  Parts given{target_->getArg(0), iteration, b_.getInt32(status), b_.getInt32(site)};
  given.insert(given.end(), shown.begin(), shown.end());
  b_.CreateCall(report_function(unit_, shown.size()), given);
  b_.CreateRetVoid();
}

/// The block's, of as many bytes as the launch gives.
Value* DeviceFunction::dynamic_memory() {
  constexpr const char* kName = "ingot_dynamic";
  llvm::GlobalVariable* memory = unit_.module.getNamedGlobal(kName);
  if (memory == nullptr) {
    memory = new llvm::GlobalVariable(unit_.module, llvm::ArrayType::get(b_.getInt8Ty(), 0), false,
                                      llvm::GlobalValue::ExternalLinkage, nullptr, kName, nullptr,
                                      llvm::GlobalValue::NotThreadLocal, kernels_.shared_space());
    memory->setAlignment(llvm::Align(kAlignment));
  }
  return b_.CreateAddrSpaceCast(memory, b_.getPtrTy());
}

Value* DeviceFunction::own_memory(uint64_t bytes) {
  Builder at_entry(&target_->getEntryBlock(), target_->getEntryBlock().begin());
  llvm::AllocaInst* const memory = at_entry.CreateAlloca(llvm::ArrayType::get(b_.getInt8Ty(), bytes));
  memory->setAlignment(llvm::Align(kAlignment));
  return memory;
}

Value* DeviceFunction::allocate(Value* bytes, std::optional<NodeId>) {
  if (const auto* const known = llvm::dyn_cast<llvm::ConstantInt>(bytes))
    return own_memory(known->getZExtValue());
  auto* const type = llvm::FunctionType::get(b_.getPtrTy(), {b_.getInt64Ty()}, false);
  Value* const memory = b_.CreateCall(unit_.outside("malloc", type, false), {bytes});
  Block* const failed = new_block("no_memory");
  leave_if(b_.CreateIsNull(memory), failed);
  const auto point = b_.saveIP();
  b_.SetInsertPoint(failed);
  leave(base::ExceptionKind::MemoryError, entry::Error::kNoSite, {{bytes}});
  b_.restoreIP(point);
  return memory;
}

/// Local and shared memory need no release.
void DeviceFunction::release(Value* buffer) {
  if (!llvm::isa<llvm::CallInst>(buffer)) return;
  auto* const type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy()}, false);
  b_.CreateCall(unit_.outside("free", type, false), {buffer});
}

Value* DeviceFunction::buffer_size(Value*) { fail_not_lowered("the size of a buffer in a kernel"); }

void DeviceFunction::emit_return_(NodeId) { fail_not_lowered("a return in a kernel"); }

void DeviceFunction::emit_alloc(NodeId id) {
  const NodeId size = source_.operand(id, 0);
  if (source_.type(id) != ir::Type::buffer(ir::Space::Shared)) return set(id, {allocate(value(size), id)});
  shares_memory_ = true;
  const auto bytes = static_cast<uint64_t>(source_.constant(size).as<int64_t>());
  llvm::Type* const type = llvm::ArrayType::get(b_.getInt8Ty(), bytes);
  auto* const memory = new llvm::GlobalVariable(unit_.module, type, false, llvm::GlobalValue::InternalLinkage,
                                                llvm::PoisonValue::get(type), "shared", nullptr,
                                                llvm::GlobalValue::NotThreadLocal, kernels_.shared_space());
  memory->setAlignment(llvm::Align(kAlignment));
  set(id, {b_.CreateAddrSpaceCast(memory, b_.getPtrTy())});
}

/// Elements are aligned on a device.
void DeviceFunction::emit_load(NodeId id) {
  const auto operands = source_.operands(id);
  const Parts loaded = load_element(dtype(id), element_address(operands[0], operands.subspan(1)), true);
  for (Value* part : loaded) {
    const auto* const compared = llvm::dyn_cast<llvm::ICmpInst>(part);
    if (auto* const load = llvm::dyn_cast<llvm::LoadInst>(compared ? compared->getOperand(0) : part))
      mark_constant(*load, operands[0]);
  }
  set(id, loaded);
}

void DeviceFunction::emit_store(NodeId id) {
  const auto operands = source_.operands(id);
  const size_t last = operands.size() - 1;
  Value* const address = element_address(operands[0], operands.subspan(1, last - 1));
  store_element(dtype(operands[0]), parts(operands[last]), address, true);
}

}  // namespace ingot::codegen
