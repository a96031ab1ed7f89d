// Loads and stores of lanes: of neighbours at once, of others by gathering and scattering. Lanes that are
// masked out touch nothing. Without an instruction of the CPU, they are done lane by lane.

#include <algorithm>

#include "codegen/branches.h"
#include "codegen/lane_body.h"

namespace ingot::codegen {

using llvm::Value;

namespace {

/// The most lanes whose loads are emitted one after the other.
constexpr unsigned kUnrolled = 32;

bool is_number(Value* v, uint64_t number) {
  const auto* const constant = llvm::dyn_cast<llvm::ConstantInt>(v);
  return constant != nullptr && constant->getZExtValue() == number;
}

llvm::SmallVector<int, 64> interleaving(unsigned lanes) {
  llvm::SmallVector<int, 64> order;
  for (unsigned i = 0; i < lanes; ++i) {
    order.push_back(static_cast<int>(i));
    order.push_back(static_cast<int>(lanes + i));
  }
  return order;
}

llvm::SmallVector<int, 64> every_second(unsigned lanes, unsigned first) {
  llvm::SmallVector<int, 64> order;
  for (unsigned i = 0; i < lanes; ++i) order.push_back(static_cast<int>(2 * i + first));
  return order;
}

Types types_of(const Parts& parts) {
  Types types;
  for (Value* part : parts) types.push_back(part->getType());
  return types;
}

}  // namespace

LaneBody::LaneAddress LaneBody::lane_address(NodeId view, std::span<const NodeId> indices) {
  const Parts& v = parts(view);
  const size_t rank = indices.size();
  if (lanes_of(v[0]) > 0) fail_not_lowered("a view that varies in a vector loop");
  LaneAddress address{.base = v[0], .step = b_.getInt64(0)};
  const bool from_outside = !source_.encloses(lanes_.loop, view);
  // Where neighbours are along the last axis, they are along no other one.
  const bool in_rows = rank > 0 && is_number(v[1 + 2 * rank], base::size_of(source_.type(view).dtype()));
  for (size_t i = 0; i < rank; ++i) {
    Value* const stride = v[2 + rank + i];
    const auto affine = affine_of(indices[i]);
    if (!affine) {
      Value* const more = b_.CreateMul(value(indices[i]), widen(stride));
      address.offsets = address.offsets == nullptr ? more : b_.CreateAdd(address.offsets, more);
      continue;
    }
    const bool first = is_number(address.step, 0);
    if (first && from_outside && is_number(affine->step, 1) && (!in_rows || i + 1 == rank)) {
      address.step = address.unit = stride;
      address.index = affine->base;
      continue;
    }
    address.base = moved(address.base, affine->base, stride);
    if (is_number(affine->step, 0)) continue;
    Value* const step = is_number(affine->step, 1) ? stride : b_.CreateMul(affine->step, stride);
    address.step = first ? step : b_.CreateAdd(address.step, step);
    if (address.unit == nullptr) continue;
    address.base = moved(address.base, address.index, address.unit);
    address.unit = nullptr;
  }
  return address;
}

Value* LaneBody::moved(Value* address, Value* index, Value* stride) {
  return b_.CreateGEP(b_.getInt8Ty(), address, b_.CreateMul(index, stride));
}

/// Whether lanes are contiguous, at a stride of `size` bytes; assumed of a stride that is a value from
/// outside the loop. Completes the address.
bool LaneBody::is_contiguous(LaneAddress& address, uint64_t size) {
  const bool may_assume =
      address.offsets == nullptr && address.unit != nullptr && !llvm::isa<llvm::ConstantInt>(address.unit);
  if (may_assume) {
    const UnitStride assumed(address.unit, size);
    if (std::ranges::find(unit_strides_, assumed) == unit_strides_.end()) unit_strides_.push_back(assumed);
    address.base = moved(address.base, address.index, b_.getInt64(size));
  } else if (address.unit != nullptr) {
    address.base = moved(address.base, address.index, address.unit);
  }
  return may_assume || (address.offsets == nullptr && is_number(address.step, size));
}

/// Addresses at a stride are computed one by one where the CPU fetches the elements so.
Value* LaneBody::lane_pointers(const LaneAddress& address, uint64_t offset) {
  if (address.offsets == nullptr && lanes_.width <= kUnrolled && !unit_.instructions.masks_all()) {
    Value* const first = field(address.base, offset);
    Value* all = llvm::PoisonValue::get(llvm::FixedVectorType::get(b_.getPtrTy(), lanes_.width));
    for (uint64_t k = 0; k < lanes_.width; ++k)
      all = b_.CreateInsertElement(all, moved(first, b_.getInt64(k), address.step), k);
    return all;
  }
  llvm::Type* const type = llvm::FixedVectorType::get(b_.getInt64Ty(), lanes_.width);
  Value* bytes = b_.CreateMul(b_.CreateStepVector(type), widen(address.step));
  if (address.offsets != nullptr) bytes = b_.CreateAdd(bytes, address.offsets);
  return b_.CreateGEP(b_.getInt8Ty(), field(address.base, offset), bytes);
}

/// Whether an access touches just the lanes of a mask. Not of less than a register: LLVM 19 may take bits
/// after the mask for lanes.
bool LaneBody::masks_memory(Instructions::Access access, llvm::Type* number) const {
  const auto bits = static_cast<unsigned>(number->getPrimitiveSizeInBits().getFixedValue());
  return unit_.instructions.masks(access, bits) && bits * lanes_.width >= 128;
}

bool LaneBody::moves_neighbours(Instructions::Access access, llvm::Type* number, unsigned each) const {
  return lanes_.mask == nullptr || masks_memory(access, number) ||
         (first_lanes() != nullptr && moves_first(access, number, lanes_.width * each));
}

/// A mask with a bit for each of some numbers of each lane.
Value* LaneBody::mask_of_each(unsigned each) {
  llvm::SmallVector<int, 64> order;
  for (unsigned i = 0; i < lanes_.width * each; ++i) order.push_back(static_cast<int>(i / each));
  return each == 1 ? lanes_.mask : b_.CreateShuffleVector(lanes_.mask, order);
}

Value* LaneBody::load_neighbours(llvm::Type* number, unsigned each, Value* address) {
  const unsigned count = lanes_.width * each;
  llvm::Type* const all = llvm::FixedVectorType::get(number, count);
  if (lanes_.mask == nullptr) return b_.CreateAlignedLoad(all, address, llvm::Align(1));
  if (masks_memory(Instructions::Access::Load, number))
    return b_.CreateMaskedLoad(all, address, llvm::Align(1), mask_of_each(each),
                               llvm::Constant::getNullValue(all));
  return load_first(number, count, address, b_.CreateMul(first_lanes(), b_.getInt64(each)));
}

void LaneBody::store_neighbours(Value* stored, unsigned each, Value* address, Value* past) {
  if (lanes_.mask == nullptr) return store_lanes(stored, address, past);
  if (masks_memory(Instructions::Access::Store, stored->getType()->getScalarType()))
    b_.CreateMaskedStore(stored, address, llvm::Align(1), mask_of_each(each));
  else store_first(stored, address, b_.CreateMul(first_lanes(), b_.getInt64(each)));
}

template <class All, class Some>
Parts LaneBody::emit_if_all_lanes(All all, Some some) {
  if (lanes_.mask == nullptr) return all();
  Block* const every = new_block("every");
  Block* const part = new_block("part");
  Join join = new_join("every.end");
  b_.CreateCondBr(b_.CreateAndReduce(lanes_.mask), every, part);
  b_.SetInsertPoint(every);
  const Parts given = all();
  arrive(join, given);
  b_.SetInsertPoint(part);
  arrive(join, some());
  return close(join, types_of(given));
}

Value* LaneBody::masked_load(llvm::Type* type, Value* address) {
  if (moves_neighbours(Instructions::Access::Load, type, 1)) return load_neighbours(type, 1, address);
  llvm::Type* const vector = llvm::FixedVectorType::get(type, lanes_.width);
  llvm::Type* const numbers = llvm::FixedVectorType::get(b_.getInt64Ty(), lanes_.width);
  const uint64_t size = type->getPrimitiveSizeInBits().getFixedValue() / 8;
  return emit_if_all_lanes([&] { return Parts{b_.CreateAlignedLoad(vector, address, llvm::Align(1))}; },
                           [&] {
                             Value* const offsets =
                                 b_.CreateMul(b_.CreateStepVector(numbers), widen(b_.getInt64(size)));
                             return Parts{gather_lanes(type, b_.CreateGEP(b_.getInt8Ty(), address, offsets))};
                           })[0];
}

void LaneBody::masked_store(Value* stored, Value* address, Value* past) {
  const uint64_t bits = stored->getType()->getScalarSizeInBits();
  if (moves_neighbours(Instructions::Access::Store, stored->getType()->getScalarType(), 1))
    return store_neighbours(stored, 1, address, past);
  llvm::Type* const numbers = llvm::FixedVectorType::get(b_.getInt64Ty(), lanes_.width);
  emit_if_all_lanes(
      [&] {
        b_.CreateAlignedStore(stored, address, llvm::Align(1));
        return Parts{};
      },
      [&] {
        Value* const offsets = b_.CreateMul(b_.CreateStepVector(numbers), widen(b_.getInt64(bits / 8)));
        scatter_lanes(stored, b_.CreateGEP(b_.getInt8Ty(), address, offsets));
        return Parts{};
      });
}

Value* LaneBody::gather_lanes(llvm::Type* type, Value* pointers) {
  llvm::Type* const vector = llvm::FixedVectorType::get(type, lanes_.width);
  if (masks_memory(Instructions::Access::Gather, type))
    return b_.CreateMaskedGather(vector, pointers, llvm::Align(1), full_mask(),
                                 llvm::Constant::getNullValue(vector));
  if (lanes_.mask == nullptr && lanes_.width <= kUnrolled) {
    Value* all = llvm::PoisonValue::get(vector);
    for (uint64_t k = 0; k < lanes_.width; ++k) {
      Value* const one = b_.CreateAlignedLoad(type, b_.CreateExtractElement(pointers, k), llvm::Align(1));
      all = b_.CreateInsertElement(all, one, k);
    }
    return all;
  }
  const Parts operands[] = {{pointers}, {full_mask()}};
  return scalars_.by_lane(lanes_.width, operands, {type}, [&](std::span<const Parts> lane) {
    const auto load = [&] { return Parts{b_.CreateAlignedLoad(type, lane[0][0], llvm::Align(1))}; };
    return emit_when(b_, lane[1][0], {llvm::Constant::getNullValue(type)}, load);
  })[0];
}

void LaneBody::scatter_lanes(Value* stored, Value* pointers) {
  if (masks_memory(Instructions::Access::Scatter, stored->getType()->getScalarType())) {
    b_.CreateMaskedScatter(stored, pointers, llvm::Align(1), full_mask());
    return;
  }
  const auto one_by_one = [&] {
    const Parts operands[] = {{pointers}, {full_mask()}, {stored}};
    scalars_.by_lane(lanes_.width, operands, {}, [&](std::span<const Parts> lane) {
      emit_when(b_, lane[1][0], [&] { b_.CreateAlignedStore(lane[2][0], lane[0][0], llvm::Align(1)); });
      return Parts{};
    });
    return Parts{};
  };
  if (lanes_.width > kUnrolled) {
    one_by_one();
    return;
  }
  emit_if_all_lanes(
      [&] {
        for (uint64_t k = 0; k < lanes_.width; ++k)
          b_.CreateAlignedStore(b_.CreateExtractElement(stored, k), b_.CreateExtractElement(pointers, k),
                                llvm::Align(1));
        return Parts{};
      },
      one_by_one);
}

/// All lanes; of a complex dtype, which is stored as pairs.
Parts LaneBody::load_contiguous(DType dtype, Value* address) {
  llvm::Type* const part = unit_.memory_type(unit_.part_type(base::component_of(dtype)));
  if (!base::is_complex(dtype)) return {masked_load(part, address)};
  Value* const pairs = load_neighbours(part, 2, address);
  return {b_.CreateShuffleVector(pairs, every_second(lanes_.width, 0)),
          b_.CreateShuffleVector(pairs, every_second(lanes_.width, 1))};
}

Value* LaneBody::load_every_second(llvm::Type* number, Value* address) {
  const unsigned width = lanes_.width;
  llvm::Type* const vector = llvm::FixedVectorType::get(number, width);
  const uint64_t size = number->getPrimitiveSizeInBits().getFixedValue() / 8;
  Value* const front = b_.CreateAlignedLoad(vector, address, llvm::Align(1));
  Value* const back = b_.CreateAlignedLoad(vector, field(address, (width - 1) * size), llvm::Align(1));
  llvm::SmallVector<int, 64> order;
  // Elements that both have are taken from the first; numbers of the second are counted after it.
  for (unsigned i = 0; i < width; ++i) order.push_back(static_cast<int>(2 * i < width ? 2 * i : 2 * i + 1));
  return b_.CreateShuffleVector(front, back, order);
}

void LaneBody::store_contiguous(DType dtype, const Parts& stored, Value* address, Value* past) {
  if (!base::is_complex(dtype)) return masked_store(stored[0], address, past);
  Value* const pairs = b_.CreateShuffleVector(stored[0], stored[1], interleaving(lanes_.width));
  store_neighbours(pairs, 2, address, past);
}

void LaneBody::emit_load(NodeId id) {
  if (in_lanes()) emit_load_in_lanes(id);
  else Body::emit_load(id);
}
void LaneBody::emit_store(NodeId id) {
  if (in_lanes()) emit_store_in_lanes(id, source_.operands(id), nullptr);
  else Body::emit_store(id);
}
void LaneBody::emit_stream(NodeId id) {
  if (!in_lanes()) return Body::emit_stream(id);
  const auto operands = source_.operands(id);
  emit_store_in_lanes(id, operands.first(operands.size() - 1), value(operands.back()));
}

/// Lanes fetch several lines at once by themselves.
void LaneBody::emit_prefetch(NodeId id) {
  if (!in_lanes()) Body::emit_prefetch(id);
}

void LaneBody::emit_load_in_lanes(NodeId id) {
  const auto operands = source_.operands(id);
  const DType type = dtype(id);
  LaneAddress address = lane_address(operands[0], operands.subspan(1));
  if (address.offsets == nullptr && is_number(address.step, 0))
    return set(id, load_element(type, address.base, false));
  const uint64_t size = base::size_of(type);
  llvm::Type* const part = unit_.memory_type(unit_.part_type(base::component_of(type)));
  const bool is_pair = base::is_complex(type);
  Parts loaded;
  if (is_contiguous(address, size) && (!is_pair || moves_neighbours(Instructions::Access::Load, part, 2))) {
    loaded = load_contiguous(type, address.base);
  } else {
    const auto element =
        is_pair ? std::optional<RowElement>() : row_element(operands[0], operands.subspan(1), address, size);
    const bool picks = element && moves_neighbours(Instructions::Access::Load, part, element->length);
    const bool in_pairs =
        address.offsets == nullptr && is_number(address.step, 2 * size) && lanes_.mask == nullptr && !is_pair;
    Value* const column =
        picks || in_pairs || is_pair || base::is_bool(type) ? nullptr : load_column(id, part, address, size);
    loaded.push_back(picks               ? load_of_rows(part, address.base, *element)
                     : in_pairs          ? load_every_second(part, address.base)
                     : column != nullptr ? column
                                         : gather_lanes(part, lane_pointers(address, 0)));
    if (is_pair) loaded.push_back(gather_lanes(part, lane_pointers(address, size / 2)));
  }
  if (base::is_bool(type))
    loaded[0] = b_.CreateICmpNE(loaded[0], llvm::Constant::getNullValue(loaded[0]->getType()));
  set(id, std::move(loaded));
}

void LaneBody::emit_store_in_lanes(NodeId id, std::span<const NodeId> operands, Value* past) {
  if (cursor_of_store(id) != nullptr) return emit_store_at_cursor(id);
  const size_t last = operands.size() - 1;
  const DType type = dtype(operands[last]);
  LaneAddress address = lane_address(operands[0], operands.subspan(1, last - 1));
  Parts stored = widen(parts(operands[last]));
  if (base::is_bool(type)) stored[0] = b_.CreateZExt(stored[0], like(stored[0]->getType(), b_.getInt8Ty()));
  const uint64_t size = base::size_of(type);
  llvm::Type* const part = unit_.memory_type(unit_.part_type(base::component_of(type)));
  const bool is_pair = base::is_complex(type);
  if (is_contiguous(address, size) && (!is_pair || moves_neighbours(Instructions::Access::Store, part, 2)))
    return store_contiguous(type, stored, address.base, past);
  const auto indices = operands.subspan(1, last - 1);
  const auto element = row_element(operands[0], indices, address, size);
  if (element && !is_pair && store_row(id, address, *element, type, past)) return;
  const bool may_join = past == nullptr && !is_pair && !base::is_bool(type);
  if (may_join && store_column(id, address, size)) return;
  scatter_lanes(stored[0], lane_pointers(address, 0));
  if (is_pair) scatter_lanes(stored[1], lane_pointers(address, size / 2));
}

}  // namespace ingot::codegen
