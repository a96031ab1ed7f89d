#include "base/random.h"
#include "codegen/host_function.h"
#include "codegen/loops.h"

namespace ingot::codegen {

using llvm::Value;

/// Puts the operands into slots on the stack, as an entry's caller does, and calls the embedding program.
Value* HostFunction::call_outside(llvm::StringRef what, int64_t number, std::span<const NodeId> operands) {
  llvm::Type* const pointer = b_.getPtrTy();
  Builder at_entry(&target_->getEntryBlock(), target_->getEntryBlock().begin());
  Value* const slots =
      at_entry.CreateAlloca(pointer, at_entry.getInt32(static_cast<uint32_t>(operands.size())));
  std::string layout;
  for (size_t i = 0; i < operands.size(); ++i) {
    const ir::Type type = source_.type(operands[i]);
    // One space separates the words, so a view's own space goes.
    for (char c : unit_.source.types.to_string(type))
      if (c != ' ') layout += c;
    layout += ' ';
    const uint32_t words = type.is_view() ? 2 + 2 * static_cast<uint32_t>(type.rank()) : 2;
    llvm::AllocaInst* const slot = at_entry.CreateAlloca(b_.getInt64Ty(), at_entry.getInt32(words));
    slot->setAlignment(llvm::Align(16));
    store_slot(type, parts(operands[i]), slot);
    b_.CreateStore(slot, field(slots, 8 * i));
  }
  llvm::Type* const parameters[] = {pointer, pointer, pointer, b_.getInt64Ty(), pointer};
  auto* const type = llvm::FunctionType::get(b_.getInt32Ty(), parameters, false);
  return b_.CreateCall(
      unit_.outside(has_device() ? "ingot_v1_device_outside" : "ingot_v1_outside", type, false),
      {context_, b_.CreateGlobalString(what), b_.CreateGlobalString(layout),
       b_.getInt64(static_cast<uint64_t>(number)), slots});
}

void HostFunction::emit_library(NodeId id) {
  const bool catches = source_.attribute(id, 1) != 0;
  if (source_.result_count(id) != (catches ? 1 : 0))
    fail_not_lowered("a library routine that gives new arrays");
  emit_poll();
  const std::string& routine = unit_.source.text(ir::TextId(static_cast<uint32_t>(source_.attribute(id, 0))));
  Value* const status = call_outside(routine, 0, source_.operands(id));
  leave_with(status, source_.attribute(id, 1), {}, id);
  if (catches) set(id, {status});
}

/// The routine gets the address of the stream; of arrays, address and length. A large array is filled in
/// pieces, between which the call can be left.
void HostFunction::emit_draw(NodeId id) {
  const std::string& routine = unit_.source.text(ir::TextId(static_cast<uint32_t>(source_.attribute(id, 0))));
  const base::DrawInfo& info = *base::find_draw(routine);
  const std::optional<base::DrawType> result = info.result;
  std::vector<Value*> arguments;
  std::vector<Staged> staged;
  for (const NodeId operand : source_.operands(id)) {
    const bool is_view = source_.type(operand).is_view();
    const bool is_array = is_view && !arguments.empty();
    if (is_view && has_device()) {
      Value* const size = b_.getInt64(base::size_of(dtype(operand)));
      staged.push_back({parts(operand)[0], b_.CreateMul(parts(operand)[2], size), nullptr, !is_array});
      staged.back().copy = stage(id, staged.back());
      arguments.push_back(staged.back().copy);
    } else {
      arguments.push_back(parts(operand)[0]);
    }
    if (is_array) arguments.push_back(parts(operand)[2]);
  }
  std::vector<llvm::Type*> types;
  for (Value* const argument : arguments) types.push_back(argument->getType());
  llvm::Type* const gives = result ? unit_.part_type(result->dtype) : b_.getVoidTy();
  llvm::Function* const draw =
      unit_.outside("ingot_v1_draw_" + routine, llvm::FunctionType::get(gives, types, false), false);
  Value* drawn = nullptr;
  if (info.fills_in_pieces) {
    draw_in_pieces(draw, arguments, base::size_of(dtype(source_.operands(id).back())));
  } else {
    if (!result) emit_poll();
    drawn = b_.CreateCall(draw, arguments);
  }
  for (const Staged& array : staged) write_back(id, array);
  if (result) set(id, {drawn});
}

void HostFunction::draw_in_pieces(llvm::Function* draw, std::vector<Value*> arguments, uint64_t size) {
  constexpr uint64_t kPieceBits = 15;
  Value*& data = arguments[arguments.size() - 2];
  Value*& count = arguments.back();
  Value* const all = count;
  Value* const begin = data;
  Value* const piece = b_.getInt64(uint64_t{1} << kPieceBits);
  Value* const pieces =
      b_.CreateLShr(b_.CreateAdd(all, b_.CreateSub(piece, b_.getInt64(1))), b_.getInt64(kPieceBits));
  emit_counted(pieces, {}, Poll::Always, [&](Value* k, const Parts&) -> std::optional<Parts> {
    Value* const first = b_.CreateShl(k, b_.getInt64(kPieceBits));
    data = b_.CreateGEP(b_.getInt8Ty(), begin, b_.CreateMul(first, b_.getInt64(size)));
    count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateSub(all, first), piece);
    b_.CreateCall(draw, arguments);
    return Parts{};
  });
}

void HostFunction::emit_host(NodeId id) {
  leave_with(call_outside("host", source_.attribute(id, 0), source_.operands(id)), 0, {}, id);
}

/// Calls what sorts a line: with `indices`, the function that puts indices there.
void HostFunction::sort_line(NodeId id, const char* function, NodeId view, std::optional<NodeId> indices) {
  emit_poll();
  const ir::Type type = source_.type(view);
  llvm::Type* const pointer = b_.getPtrTy();
  llvm::SmallVector<llvm::Type*> types{pointer, b_.getInt32Ty(), b_.getInt32Ty(), pointer};
  llvm::SmallVector<Value*> operands{context_, b_.getInt32(static_cast<uint32_t>(type.dtype())),
                                     b_.getInt32(static_cast<uint32_t>(source_.attribute(id, 0))),
                                     parts(view)[0]};
  if (indices) {
    types.push_back(pointer);
    operands.push_back(parts(*indices)[0]);
  }
  types.push_back(b_.getInt64Ty());
  operands.push_back(parts(view)[2]);
  auto* const signature = llvm::FunctionType::get(b_.getInt32Ty(), types, false);
  leave_with(b_.CreateCall(unit_.outside(function, signature, false), operands), false, {}, id);
}

void HostFunction::emit_sort_line(NodeId id) {
  sort_line(id, has_device() ? "ingot_v1_device_sort" : "ingot_v1_sort", source_.operand(id, 0),
            std::nullopt);
}

void HostFunction::emit_argsort_line(NodeId id) {
  sort_line(id, has_device() ? "ingot_v1_device_argsort" : "ingot_v1_argsort", source_.operand(id, 1),
            source_.operand(id, 0));
}

}  // namespace ingot::codegen
