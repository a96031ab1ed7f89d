// Short rows. Where lanes step along the rows of an array whose last axis has a few elements, its length
// known - points, quaternions, colours -, what they take at one index of each row is at the stride of that
// length. All rows of the lanes are loaded at once then, as whole registers, and the elements picked in
// registers; the loads of other indices in the rows are the same ones. Stores to all indices of a row are one
// store, made at the last of them.

#include <algorithm>

#include "codegen/lane_body.h"
#include "ir/builder.h"

namespace ingot::codegen {

using llvm::Value;

namespace {

bool is_number(Value* v, uint64_t number) {
  const auto* const constant = llvm::dyn_cast<llvm::ConstantInt>(v);
  return constant != nullptr && constant->getZExtValue() == number;
}

}  // namespace

/// Of an access at some indices: which index of which rows it is to, if they are short and contiguous.
std::optional<LaneBody::RowElement> LaneBody::row_element(NodeId view, std::span<const NodeId> indices,
                                                          const LaneAddress& address, uint64_t size) {
  const size_t rank = indices.size();
  if (rank < 2 || address.offsets != nullptr) return std::nullopt;
  const Parts& v = parts(view);
  const auto* const length = llvm::dyn_cast<llvm::ConstantInt>(v[1 + rank]);
  const auto* const index = llvm::dyn_cast<llvm::ConstantInt>(value(indices.back()));
  if (length == nullptr || index == nullptr || !is_number(v[1 + 2 * rank], size)) return std::nullopt;
  const uint64_t count = length->getZExtValue();
  if (count < 2 || count > ir::kLongestShort || index->getZExtValue() >= count) return std::nullopt;
  if (!is_number(address.step, count * size)) return std::nullopt;
  return RowElement{static_cast<unsigned>(count), static_cast<unsigned>(index->getZExtValue())};
}

Value* LaneBody::load_of_rows(llvm::Type* number, Value* address, const RowElement& element) {
  const uint64_t size = number->getPrimitiveSizeInBits().getFixedValue() / 8;
  Value* const first =
      b_.CreateGEP(b_.getInt8Ty(), address, b_.getInt64(-static_cast<uint64_t>(element.index * size)));
  Value* const all = load_neighbours(number, element.length, first);
  llvm::SmallVector<int, 64> order;
  for (unsigned i = 0; i < lanes_.width; ++i)
    order.push_back(static_cast<int>(i * element.length + element.index));
  return b_.CreateShuffleVector(all, order);
}

/// The stores to all indices of the row that a store is to, by index, if nothing between them touches memory
/// and none of them is to an index again; else none.
std::vector<ir::NodeId> LaneBody::stores_to_row(NodeId id, unsigned length) const {
  const auto operands = source_.operands(id);
  const auto rank = static_cast<size_t>(source_.type(operands[0]).rank());
  const auto is_of_row = [&](NodeId node) {
    const auto other = source_.operands(node);
    return source_.op(node) == source_.op(id) &&
           std::ranges::equal(other.first(rank), operands.first(rank)) && source_.is_constant(other[rank]) &&
           std::ranges::equal(other.subspan(rank + 2), operands.subspan(rank + 2));
  };
  const auto body = source_.region_body(source_[id].parent);
  const auto at = std::ranges::find(body, id);
  std::vector<NodeId> found(length);
  size_t count = 0;
  const auto take = [&](NodeId node) {
    if (!is_of_row(node)) return ir::effects_of(source_, node).pure();
    const auto index = source_.constant(source_.operand(node, rank)).as<int64_t>();
    if (index < 0 || index >= static_cast<int64_t>(length) || found[static_cast<size_t>(index)]) return false;
    found[static_cast<size_t>(index)] = node;
    ++count;
    return true;
  };
  take(id);
  for (auto before = at; before != body.begin() && take(*std::prev(before)); --before) continue;
  for (auto after = std::next(at); after != body.end() && take(*after); ++after) continue;
  return count == length ? found : std::vector<NodeId>();
}

/// Stores a row where a store to it is the last one; false: it is no store to a whole row.
bool LaneBody::store_row(NodeId id, const LaneAddress& address, const RowElement& element, DType type,
                         Value* past) {
  llvm::Type* const number = unit_.memory_type(unit_.part_type(type));
  if (!moves_neighbours(Instructions::Access::Store, number, element.length)) return false;
  const std::vector<NodeId> stores = stores_to_row(id, element.length);
  if (stores.empty()) return false;
  const auto last = std::ranges::max_element(stores, {}, [&](NodeId store) {
    return std::ranges::find(source_.region_body(source_[id].parent), store);
  });
  if (*last != id) return true;
  const auto rank = static_cast<size_t>(source_.type(source_.operand(id, 0)).rank());
  std::vector<Value*> elements;
  for (NodeId store : stores) {
    Value* stored = widen(parts(source_.operand(store, rank + 1)))[0];
    if (base::is_bool(type)) stored = b_.CreateZExt(stored, like(stored->getType(), b_.getInt8Ty()));
    elements.push_back(stored);
  }
  const uint64_t size = number->getPrimitiveSizeInBits().getFixedValue() / 8;
  Value* const first =
      b_.CreateGEP(b_.getInt8Ty(), address.base, b_.getInt64(-static_cast<uint64_t>(element.index * size)));
  store_neighbours(rows_of(elements), element.length, first, past);
  return true;
}

/// Contiguous rows, of what lanes have for each index.
Value* LaneBody::rows_of(std::vector<Value*> elements) {
  const auto length = static_cast<unsigned>(elements.size());
  unsigned width = lanes_.width;
  // All indices in one vector, one after the other.
  while (elements.size() > 1) {
    llvm::SmallVector<int, 64> order;
    for (unsigned i = 0; i < 2 * width; ++i) order.push_back(static_cast<int>(i));
    std::vector<Value*> pairs;
    for (size_t i = 0; i < elements.size(); i += 2) {
      Value* const second =
          i + 1 < elements.size() ? elements[i + 1] : llvm::PoisonValue::get(elements[i]->getType());
      pairs.push_back(b_.CreateShuffleVector(elements[i], second, order));
    }
    elements = std::move(pairs);
    width *= 2;
  }
  llvm::SmallVector<int, 64> order;
  for (unsigned i = 0; i < lanes_.width * length; ++i)
    order.push_back(static_cast<int>(i % length * lanes_.width + i / length));
  return b_.CreateShuffleVector(elements[0], order);
}

}  // namespace ingot::codegen
