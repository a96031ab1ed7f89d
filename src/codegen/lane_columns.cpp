// Columns. Where lanes step from row to row, and an iteration takes a few neighbours of its row, as loops do
// that are unrolled along the rows, the rows' pieces are loaded whole, and what the lanes take becomes
// columns in registers (a transposition): a gathered element costs a load of its own, and one that is
// scattered a store. Stores go the other way, at the last of them. Bits are moved, so values are the same.

#include <algorithm>

#include "codegen/lane_body.h"
#include "ir/index_sum.h"

namespace ingot::codegen {

using ir::NodeId;
using llvm::Value;

namespace {

using Builder = llvm::IRBuilder<>;

/// How many neighbours of a row are taken together.
constexpr unsigned kTogether = 4;
/// Rows from so many bytes on are asked for early, in arrays from so many on.
constexpr int64_t kLongRow = 512;
constexpr int64_t kLarge = int64_t{32} << 20;

/// What a view is of: an argument, or memory that a function makes; else invalid.
NodeId memory_of(const ir::Function& f, NodeId view) {
  while (f.op(view) == ir::Op::view) view = f.operand(view, 0);
  const bool is_argument = f.op(view) == ir::Op::param && f[view].parent == f.body();
  return is_argument || f.op(view) == ir::Op::alloc ? view : NodeId();
}

/// Whether two views share no memory, one of which the function has made the memory of.
bool are_disjoint(const ir::Function& f, NodeId a, NodeId b) {
  const NodeId mine = memory_of(f, a);
  const NodeId theirs = memory_of(f, b);
  return mine && theirs && mine != theirs && (f.op(mine) == ir::Op::alloc || f.op(theirs) == ir::Op::alloc);
}

/// The first or second half of an exchange: some lanes of one vector in turn with as many of another.
llvm::SmallVector<int, 64> exchange(unsigned width, unsigned distance, bool is_second) {
  llvm::SmallVector<int, 64> order;
  for (unsigned i = 0; i < width; ++i) {
    const unsigned from = (i & ~distance) | (is_second ? distance : 0);
    order.push_back(static_cast<int>((i & distance) == 0 ? from : width + from));
  }
  return order;
}

/// The accesses that are made together with one: to neighbours along the last axis, in order; nothing between
/// them may touch the same memory otherwise. Empty: it is alone.
std::vector<NodeId> columns_of(const ir::Function& f, NodeId id) {
  const bool is_store = f.op(id) != ir::Op::load;
  const auto operands = f.operands(id);
  const NodeId view = operands[0];
  const auto rank = static_cast<size_t>(f.type(view).rank());
  const ir::IndexSum own = ir::index_sum(f, operands[rank]);
  std::vector<std::pair<int64_t, NodeId>> found;
  const auto take = [&](NodeId node) {
    const ir::Effects effects = ir::effects_of(f, node);
    if (effects.pure()) return true;
    const ir::Op op = f.op(node);
    if (op != ir::Op::load && op != ir::Op::store) return false;
    const auto other = f.operands(node);
    if (op == f.op(id) && std::ranges::equal(other.first(rank), operands.first(rank))) {
      const ir::IndexSum sum = ir::index_sum(f, other[rank]);
      if (sum.terms != own.terms) return !is_store;
      found.emplace_back(sum.constant, node);
      return true;
    }
    return (op == ir::Op::load && !is_store) || are_disjoint(f, view, other[0]);
  };
  const auto body = f.region_body(f[id].parent);
  const auto at = std::ranges::find(body, id);
  take(id);
  for (auto before = at; before != body.begin() && take(*std::prev(before)); --before) continue;
  for (auto after = std::next(at); after != body.end() && take(*after); ++after) continue;
  std::ranges::sort(found);
  const auto is_repeated = [](const auto& a, const auto& b) { return a.first == b.first; };
  if (is_store && std::ranges::adjacent_find(found, is_repeated) != found.end()) return {};
  std::vector<NodeId> together;
  for (size_t i = 0; i < found.size(); ++i) {
    if (together.size() == kTogether || (i > 0 && found[i].first != found[i - 1].first + 1)) {
      if (std::ranges::find(together, id) != together.end()) break;
      together.clear();
    }
    together.push_back(found[i].second);
  }
  const bool has_it = std::ranges::find(together, id) != together.end();
  return has_it && together.size() == kTogether ? together : std::vector<NodeId>();
}

/// Of a piece of each lane's row, by lane: the columns; or of columns the pieces, one after the other in as
/// many vectors. Each is a transposition of squares.
std::vector<Value*> transposed(Builder& b, std::vector<Value*> vectors) {
  const unsigned width = lanes_of(vectors[0]);
  for (unsigned distance = 1; distance < kTogether; distance *= 2) {
    std::vector<Value*> made = vectors;
    for (unsigned i = 0; i < kTogether; ++i) {
      if ((i & distance) != 0) continue;
      made[i] = b.CreateShuffleVector(vectors[i], vectors[i + distance], exchange(width, distance, false));
      made[i + distance] =
          b.CreateShuffleVector(vectors[i], vectors[i + distance], exchange(width, distance, true));
    }
    vectors = std::move(made);
  }
  return vectors;
}

/// Vectors one after the other, as many as a power of two.
Value* joined(Builder& b, std::vector<Value*> vectors) {
  while (vectors.size() > 1) {
    const auto width = lanes_of(vectors[0]);
    llvm::SmallVector<int, 64> order;
    for (unsigned i = 0; i < 2 * width; ++i) order.push_back(static_cast<int>(i));
    std::vector<Value*> pairs;
    for (size_t i = 0; i < vectors.size(); i += 2)
      pairs.push_back(b.CreateShuffleVector(vectors[i], vectors[i + 1], order));
    vectors = std::move(pairs);
  }
  return vectors[0];
}

}  // namespace

/// Whether an access of numbers of some bytes, at a stride, may be one of columns.
bool LaneBody::may_be_column(NodeId view, const LaneAddress& address, uint64_t size) const {
  const auto rank = static_cast<size_t>(source_.type(view).rank());
  if (rank == 0 || lanes_.mask != nullptr || address.offsets != nullptr || size < 4) return false;
  if (lanes_.width < kTogether || lanes_.width % kTogether != 0 || lanes_.width * size > 64) return false;
  const auto* const stride = llvm::dyn_cast<llvm::ConstantInt>(parts(view)[1 + 2 * rank]);
  return stride != nullptr && stride->getZExtValue() == size;
}

/// How many bytes further the rows are that are asked for early: of arrays that caches do not hold, CPUs
/// foresee no reads from as many long rows as there are lanes. Null: none are.
Value* LaneBody::ahead_of_rows(NodeId view, const LaneAddress& address) {
  const auto* const step = llvm::dyn_cast<llvm::ConstantInt>(address.step);
  if (step == nullptr || step->getSExtValue() < kLongRow) return nullptr;
  const auto rank = static_cast<size_t>(source_.type(view).rank());
  const Parts& v = parts(view);
  Value* const is_large = b_.CreateICmpSGE(b_.CreateMul(v[2], v[2 + rank]), b_.getInt64(kLarge));
  const int64_t rows = 2 * static_cast<int64_t>(lanes_.width);
  return b_.CreateSelect(is_large, b_.getInt64(static_cast<uint64_t>(rows * step->getSExtValue())),
                         b_.getInt64(0));
}

/// The column that a load is, if it is one of several, which are loaded by the first of them; else null.
Value* LaneBody::load_column(NodeId id, llvm::Type* number, const LaneAddress& address, uint64_t size) {
  if (const auto known = columns_.find(id.index); known != columns_.end()) {
    Value* const column = known->second;
    columns_.erase(known);
    return column;
  }
  if (!may_be_column(source_.operand(id, 0), address, size)) return nullptr;
  const std::vector<NodeId> together = columns_of(source_, id);
  if (together.empty()) return nullptr;
  const auto own = static_cast<uint64_t>(std::ranges::find(together, id) - together.begin());
  Value* const first = b_.CreateGEP(b_.getInt8Ty(), address.base, b_.getInt64(-(own * size)));
  llvm::Type* const piece = llvm::FixedVectorType::get(number, kTogether);
  std::vector<Value*> rows;
  Value* const ahead = ahead_of_rows(source_.operand(id, 0), address);
  for (unsigned lane = 0; lane < lanes_.width; ++lane) {
    Value* const row = moved(first, b_.getInt64(lane), address.step);
    rows.push_back(b_.CreateAlignedLoad(piece, row, llvm::Align(1)));
    if (ahead != nullptr) {
      b_.CreateIntrinsic(
          llvm::Intrinsic::prefetch, {row->getType()},
          {b_.CreateGEP(b_.getInt8Ty(), row, ahead), b_.getInt32(0), b_.getInt32(2), b_.getInt32(1)});
    }
  }
  std::vector<Value*> vectors;
  for (unsigned i = 0; i < kTogether; ++i) {
    std::vector<Value*> pieces;
    for (unsigned lane = i; lane < lanes_.width; lane += kTogether) pieces.push_back(rows[lane]);
    vectors.push_back(joined(b_, std::move(pieces)));
  }
  vectors = transposed(b_, std::move(vectors));
  for (size_t i = 0; i < kTogether; ++i) columns_[together[i].index] = vectors[i];
  Value* const column = vectors[own];
  columns_.erase(id.index);
  return column;
}

/// Stores columns where a store to one is the last of them; false: it is no such store.
bool LaneBody::store_column(NodeId id, const LaneAddress& address, uint64_t size) {
  if (!may_be_column(source_.operand(id, 0), address, size)) return false;
  const std::vector<NodeId> together = columns_of(source_, id);
  if (together.empty()) return false;
  const auto body = source_.region_body(source_[id].parent);
  const auto last =
      std::ranges::max_element(together, {}, [&](NodeId node) { return std::ranges::find(body, node); });
  if (*last != id) return true;
  const auto own = static_cast<uint64_t>(last - together.begin());
  Value* const first = b_.CreateGEP(b_.getInt8Ty(), address.base, b_.getInt64(-(own * size)));
  std::vector<Value*> columns;
  for (const NodeId store : together) columns.push_back(widen(parts(source_.operands(store).back()))[0]);
  const std::vector<Value*> vectors = transposed(b_, std::move(columns));
  for (unsigned lane = 0; lane < lanes_.width; ++lane) {
    llvm::SmallVector<int, 64> order;
    for (unsigned i = 0; i < kTogether; ++i)
      order.push_back(static_cast<int>(lane / kTogether * kTogether + i));
    b_.CreateAlignedStore(b_.CreateShuffleVector(vectors[lane % kTogether], order),
                          moved(first, b_.getInt64(lane), address.step), llvm::Align(1));
  }
  return true;
}

}  // namespace ingot::codegen
