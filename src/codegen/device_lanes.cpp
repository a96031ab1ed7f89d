// Neighbouring iterations that a thread runs together: a `for` of a width. Where all iterations of the width
// exist, each node is done for all of them before the next one, and where their loads and stores of
// neighbouring elements are aligned, neighbours are one access. Where some are missing, the iterations run
// one after the other.

#include <algorithm>
#include <functional>

#include "codegen/device_function.h"
#include "ir/loops.h"
#include "ir/neighbours.h"
#include "ir/walk.h"

namespace ingot::codegen {

using llvm::Value;

void DeviceFunction::emit_for_(NodeId id) {
  const auto schedule = ir::schedule_of(source_, id);
  const auto width = static_cast<uint64_t>(source_.attribute(id, 1));
  if (!ir::has_lanes(schedule) || width <= 1 || kernels_.access_bytes() == 0) return Body::emit_for_(id);
  const ir::Neighbours iterations(source_, id);
  if (!iterations.are_plain()) return Body::emit_for_(id);
  const std::vector<Together> together = find_together(iterations, id, width);
  if (together.empty()) return Body::emit_for_(id);
  Block* const other = new_block("other");
  Block* const at_once = new_block("at_once");
  Block* const disjoint = new_block("disjoint");
  Block* const one_by_one = new_block("one_by_one");
  Block* const done = new_block("done");
  // One condition, whose other path has a loop: assemblers run both paths where both are short.
  Value* const are_there = b_.CreateICmpEQ(value(source_.operand(id, 0)), b_.getInt64(width));
  b_.CreateCondBr(b_.CreateAnd(are_there, are_aligned(together)), at_once, other);
  b_.SetInsertPoint(at_once);
  emit_at_once(iterations, id, width, together);
  b_.CreateBr(done);
  b_.SetInsertPoint(other);
  b_.CreateCondBr(are_there, disjoint, one_by_one);
  b_.SetInsertPoint(disjoint);
  emit_at_once(iterations, id, width, {});
  b_.CreateBr(done);
  b_.SetInsertPoint(one_by_one);
  Body::emit_for_(id);
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
}

Value* DeviceFunction::are_aligned(std::span<const Together> together) {
  Value* holds = b_.getTrue();
  for (uint64_t bytes = 2; bytes <= kernels_.access_bytes(); bytes *= 2) {
    Value* all = nullptr;
    for (const Together& access : together) {
      if (access.alignment != bytes) continue;
      Value* const own = b_.CreatePtrToInt(access.address, b_.getInt64Ty());
      all = all == nullptr ? own : b_.CreateOr(all, own);
    }
    if (all == nullptr) continue;
    holds = b_.CreateAnd(holds, b_.CreateICmpEQ(b_.CreateAnd(all, b_.getInt64(bytes - 1)), b_.getInt64(0)));
  }
  return holds;
}

/// The accesses of neighbours, with the address of the first iteration's.
std::vector<DeviceFunction::Together> DeviceFunction::find_together(const ir::Neighbours& iterations,
                                                                    NodeId loop, uint64_t width) {
  std::vector<Together> together;
  for (const NodeId node : source_.region_body(source_.region(loop))) {
    if (source_.op(node) != ir::Op::load && source_.op(node) != ir::Op::store) continue;
    const NodeId view = source_.operand(node, 0);
    const std::optional<size_t> axis = iterations.axis_of(node);
    if (!axis) continue;
    const auto rank = static_cast<size_t>(source_.type(view).rank());
    const uint64_t size = base::size_of(dtype(view));
    const auto indices = source_.operands(node).subspan(1, rank);
    std::vector<NodeId> slice;
    // It may be computed in the iteration.
    if (!iterations.add_slice(view, slice)) continue;
    if (!std::ranges::all_of(indices, [&](NodeId index) { return iterations.add_slice(index, slice); }))
      continue;
    set(iterations.index(), {b_.getInt64(0)});
    for (const NodeId value : slice) emit_node(value);
    const auto* const stride = llvm::dyn_cast<llvm::ConstantInt>(parts(view)[2 + rank + *axis]);
    if (stride == nullptr || stride->getZExtValue() != size) continue;
    together.push_back(
        {node, element_address(view, indices), std::min<uint64_t>(size * width, kernels_.access_bytes())});
  }
  return together;
}

void DeviceFunction::emit_at_once(const ir::Neighbours& iterations, NodeId loop, uint64_t width,
                                  std::span<const Together> together) {
  std::vector<std::vector<Parts>> lanes(width, std::vector<Parts>(source_.node_count()));
  for (uint64_t lane = 0; lane < width; ++lane) lanes[lane][iterations.index().index] = {b_.getInt64(lane)};
  const auto each_lane = [&](NodeId node, const std::function<void(uint64_t)>& act) {
    for (uint64_t lane = 0; lane < width; ++lane) {
      for (const NodeId operand : source_.operands(node))
        if (iterations.varies(operand)) set(operand, lanes[lane][operand.index]);
      act(lane);
    }
  };
  for (const NodeId node : source_.region_body(source_.region(loop))) {
    const ir::Op op = source_.op(node);
    if (op == ir::Op::yield) continue;
    const base::SourceLocation location = unit_.source.location(source_[node].span);
    if (!location.file.empty()) b_.SetCurrentDebugLocation(lines_.at(*target_, location));
    const auto known = std::ranges::find(together, node, &Together::access);
    if (!iterations.varies(node) && op != ir::Op::store) {
      emit_node(node);
    } else if (known == together.end()) {
      each_lane(node, [&](uint64_t lane) {
        emit_node(node);
        lanes[lane][node.index] = op == ir::Op::store ? Parts() : parts(node);
      });
    } else if (op == ir::Op::load) {
      const std::vector<Parts> loaded = load_together(*known, width);
      for (uint64_t lane = 0; lane < width; ++lane) lanes[lane][node.index] = loaded[lane];
    } else {
      std::vector<Parts> stored;
      each_lane(node, [&](uint64_t) { stored.push_back(parts(source_.operands(node).back())); });
      store_together(*known, stored);
    }
  }
}

/// The memory of neighbours, in pieces of one access each: `act(pointer, type, first part, parts)`.
void DeviceFunction::each_piece(const Together& access, uint64_t width,
                                const std::function<void(Value*, llvm::FixedVectorType*, uint64_t)>& act) {
  const DType dtype = this->dtype(source_.operand(access.access, 0));
  const DType component = base::component_of(dtype);
  llvm::Type* const number = unit_.memory_type(unit_.part_type(component));
  const uint64_t size = base::size_of(component);
  const uint64_t all = width * (base::is_complex(dtype) ? 2 : 1);
  const uint64_t at_once = std::min(all, kernels_.access_bytes() / size);
  for (uint64_t first = 0; first < all; first += at_once)
    act(field(access.address, first * size),
        llvm::FixedVectorType::get(number, static_cast<unsigned>(at_once)), first);
}

std::vector<Parts> DeviceFunction::load_together(const Together& access, uint64_t width) {
  const DType dtype = this->dtype(access.access);
  const uint64_t parts_of_each = base::is_complex(dtype) ? 2 : 1;
  std::vector<Parts> loaded(width);
  each_piece(access, width, [&](Value* address, llvm::FixedVectorType* type, uint64_t first) {
    llvm::LoadInst* const all = b_.CreateAlignedLoad(type, address, llvm::Align(access.alignment));
    mark_constant(*all, source_.operand(access.access, 0));
    for (unsigned i = 0; i < type->getNumElements(); ++i) {
      Value* const part = b_.CreateExtractElement(all, i);
      loaded[(first + i) / parts_of_each].push_back(
          base::is_bool(dtype) ? b_.CreateICmpNE(part, b_.getInt8(0)) : part);
    }
  });
  return loaded;
}

void DeviceFunction::store_together(const Together& access, std::span<const Parts> values) {
  const DType dtype = this->dtype(source_.operand(access.access, 0));
  const uint64_t parts_of_each = base::is_complex(dtype) ? 2 : 1;
  each_piece(access, values.size(), [&](Value* address, llvm::FixedVectorType* type, uint64_t first) {
    Value* all = llvm::PoisonValue::get(type);
    for (unsigned i = 0; i < type->getNumElements(); ++i) {
      Value* const part = values[(first + i) / parts_of_each][(first + i) % parts_of_each];
      all = b_.CreateInsertElement(all, base::is_bool(dtype) ? b_.CreateZExt(part, b_.getInt8Ty()) : part, i);
    }
    b_.CreateAlignedStore(all, address, llvm::Align(access.alignment));
  });
}

/// Where a view's memory comes from: the alias set of a parameter, or a node that allocates; none: not known.
std::optional<uint64_t> DeviceFunction::origin_of(NodeId view) const {
  constexpr uint64_t kAllocated = uint64_t{1} << 32;
  for (NodeId at = view;;) {
    const ir::Op op = source_.op(at);
    if (op == ir::Op::alloc) return kAllocated | at.index;
    if (op == ir::Op::param) {
      if (source_[at].parent != source_.body()) return std::nullopt;
      return source_.parameters()[static_cast<size_t>(source_.attribute(at, 0))].alias_set;
    }
    NodeId from;
    if (op == ir::Op::result || !ir::info(op).effects.pure()) return std::nullopt;
    for (const NodeId operand : source_.operands(at)) {
      const ir::Type type = source_.type(operand);
      if (!type.is_view() && !type.is_buffer()) continue;
      if (from) return std::nullopt;
      from = operand;
    }
    if (!from) return std::nullopt;
    at = from;
  }
}

/// Finds the memory that a launch of loops stores into. Of a kernel that is written out, threads may wait for
/// what others store.
void DeviceFunction::find_stored(NodeId launch) {
  const RegionId region = source_.region(launch);
  constexpr size_t kOfLoops = 6;
  is_of_loops_ = source_.region_parameters(region).size() == kOfLoops;
  knows_stored_ = is_of_loops_;
  ir::walk(source_, region, [&](NodeId node) {
    const ir::Effects effects = ir::info(source_.op(node)).effects;
    if (!effects.any(ir::effect::Write) || effects.any(ir::effect::Control)) return;
    const auto operands = source_.operands(node);
    const bool has_view = !operands.empty() && source_.type(operands[0]).is_view();
    const auto origin = has_view ? origin_of(operands[0]) : std::nullopt;
    if (origin) stored_.push_back(*origin);
    else knows_stored_ = false;
  });
}

/// No thread stores where it loads during the launch.
void DeviceFunction::mark_constant(llvm::LoadInst& load, NodeId view) {
  if (!knows_stored_ || source_.type(view).space() == ir::Space::Shared) return;
  const auto origin = origin_of(view);
  if (!origin || std::ranges::find(stored_, *origin) != stored_.end()) return;
  load.setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b_.getContext(), {}));
}

}  // namespace ingot::codegen
