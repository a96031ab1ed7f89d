#include <llvm/IR/MDBuilder.h>

#include "base/abi.h"
#include "codegen/body.h"

namespace ingot::codegen {

using llvm::Value;

void Body::leave_if(Value* condition, Block* leaving) {
  Block* const on = new_block("on");
  b_.CreateCondBr(condition, leaving, on, llvm::MDBuilder(unit_.context).createBranchWeights(1, 1 << 20));
  b_.SetInsertPoint(on);
}

Value* Body::widened(NodeId id) {
  const DType type = dtype(id);
  if (base::is_float(type)) {
    const Parts wide = scalars_.cast(type, DType::Float64, parts(id));
    return b_.CreateBitCast(wide[0], b_.getInt64Ty());
  }
  return scalars_.cast(type, base::is_signed(type) ? DType::Int64 : DType::UInt64, parts(id))[0];
}

ErrorSite Body::site_of(NodeId id) const {
  ErrorSite site;
  site.callers = unit_.source.sites(source_[id].span);
  if (!site.callers.empty()) {
    site.location = site.callers.front().location;
    site.function = site.callers.front().function;
    site.callers.erase(site.callers.begin());
  }
  if (site.function.empty()) site.function = source_.name();
  return site;
}

void Body::leave_at(NodeId id, base::ExceptionKind kind, std::string message, std::span<const NodeId> shown,
                    int64_t made) {
  if (shown.size() > entry::Error::kMaxArguments) fail_not_lowered("a message with more than 32 values");
  ErrorSite site = site_of(id);
  site.kind = kind;
  site.message = std::move(message);
  site.made = made;
  for (NodeId value : shown) {
    if (base::is_complex(dtype(value))) fail_not_lowered("a complex number in a message");
    site.arguments.push_back(dtype(value));
  }
  llvm::SmallVector<Value*, 4> words;
  for (NodeId value : shown) words.push_back(widened(value));
  leave(kind, unit_.site(site), words);
}

void Body::leave_with_own(NodeId id, std::span<const NodeId> shown) {
  const bool has_made = source_.attributes(id).size() > 2;
  leave_at(id, static_cast<base::ExceptionKind>(source_.attribute(id, 0)),
           unit_.source.text(ir::TextId(static_cast<uint32_t>(source_.attribute(id, 1)))), shown,
           has_made ? source_.attribute(id, 2) : -1);
}

void Body::emit_unreachable(NodeId) { b_.CreateUnreachable(); }

void Body::emit_raise(NodeId id) { leave_with_own(id, source_.operands(id)); }

void Body::emit_check(NodeId id) {
  Block* const raising = new_block("raise");
  leave_if(b_.CreateNot(value(source_.operand(id, 0))), raising);
  const auto point = b_.saveIP();
  b_.SetInsertPoint(raising);
  leave_with_own(id, source_.operands(id).subspan(1));
  b_.restoreIP(point);
}

}  // namespace ingot::codegen
