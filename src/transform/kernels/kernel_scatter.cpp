#include "transform/kernels/kernel_scatter.h"

#include <algorithm>
#include <utility>

#include "transform/kernels/kernel_sort.h"
#include "transform/writers/block_tree.h"

namespace ingot::transform {

KernelScatter::KernelScatter(KernelWriter& kernels, LoopWriter& loops, NodeId view, std::vector<Store> stores,
                             NodeId iterations)
    : kernels_(kernels), loops_(loops), b_(loops.builder()), view_(view), stores_(std::move(stores)) {
  const int axes = b_.function().type(view).rank() - (is_together() ? 1 : 0);
  for (int axis = 0; axis < axes; ++axis) lengths_.push_back(b_.length(view, axis));
  elements_ = loops_.product(lengths_);
  const size_t keys = is_together() ? 1 : stores_.size();
  size_ = loops_.multiply(iterations, b_.index(static_cast<int64_t>(keys)));
  const KernelSort sort(kernels_, loops_);
  // Keys go up to the number of elements.
  const NodeId digits = loops_.ceiling(count_digits(loops_, elements_), b_.index(sort.digit_bits()));
  digits_ = loops_.maximum(digits, b_.index(1));
  keys_ = loops_.new_view({&size_, 1}, DType::UInt64);
  for (const Store& store : stores_) {
    Nodes lengths{iterations};
    if (is_row()) lengths.push_back(store.count);
    summands_.push_back(loops_.new_view(lengths, store.summand));
  }
}

NodeId KernelScatter::index_of(NodeId iteration, size_t store) {
  if (is_together()) return iteration;
  const NodeId first = loops_.multiply(iteration, b_.index(static_cast<int64_t>(stores_.size())));
  return loops_.add(first, b_.index(static_cast<int64_t>(store)));
}

void KernelScatter::begin(NodeId iteration) {
  for (size_t i = 0; i < (is_together() ? 1 : stores_.size()); ++i) {
    const NodeId index = index_of(iteration, i);
    loops_.store(keys_, {&index, 1}, b_.cast(elements_, DType::UInt64));
  }
}

void KernelScatter::keep(size_t store, NodeId iteration, std::span<const NodeId> indices, NodeId summand) {
  const NodeId index = index_of(iteration, store);
  if (!is_together() || store == 0) {
    NodeId number = b_.index(0);
    for (size_t i = 0; i < lengths_.size(); ++i)
      number = loops_.add(loops_.multiply(number, lengths_[i]), indices[i]);
    loops_.store(keys_, {&index, 1}, b_.cast(number, DType::UInt64));
  }
  Nodes at{iteration};
  if (is_row()) at.push_back(indices.back());
  loops_.store(summands_[store], at, summand);
}

void KernelScatter::add_up() {
  const Nodes sorted{loops_.new_view({&size_, 1}, DType::UInt64), loops_.new_view({&size_, 1}, DType::Int64)};
  const SortKey key{[](NodeId element) { return element; }, b_.constant(uint64_t{0}),
                    b_.constant(~uint64_t{0})};
  KernelSort(kernels_, loops_).by_digits({b_.index(1), size_, digits_, keys_, sorted[0], sorted[1]}, key);
  Nodes axes{size_};
  if (is_row()) axes.push_back(stores_[0].count);
  kernels_.grid(axes,
                [&](std::span<const NodeId> at) { add_element(at[0], is_row() ? at[1] : NodeId(), sorted); });
}

/// What an element gets, by the thread that finds its first summand.
void KernelScatter::add_element(NodeId first, NodeId last_index, const Nodes& sorted) {
  const auto key_at = [&](NodeId k) { return loops_.load(sorted[0], {&k, 1}); };
  const NodeId zero = b_.index(0);
  const NodeId one = b_.index(1);
  const NodeId key = key_at(first);
  const NodeId number = b_.cast(key, DType::Int64);
  const NodeId last = loops_.maximum(loops_.subtract(first, one), zero);
  const NodeId is_first =
      loops_.either(loops_.equal(first, zero), loops_.negate(loops_.equal(key_at(last), key)));
  kernels_.when(loops_.both(is_first, loops_.less(number, elements_)), [&] {
    const Nodes indices = loops_.unflatten(number, lengths_);
    std::vector<Nodes> elements;
    Nodes start{first};
    for (size_t i = 0; i < (is_together() ? stores_.size() : 1); ++i) {
      elements.push_back(indices);
      if (is_together()) elements.back().push_back(last_index ? last_index : b_.index(*stores_[i].last));
      start.push_back(loops_.load(view_, elements.back()));
    }
    const auto is_more = [&](std::span<const NodeId> now) {
      const NodeId more = loops_.branch(
          loops_.less(now[0], size_), {ir::kBool}, [&] { return Nodes{loops_.equal(key_at(now[0]), key)}; },
          [&] { return Nodes{loops_.truth(false)}; })[0];
      Nodes next{more};
      next.insert(next.end(), now.begin(), now.end());
      return next;
    };
    const Nodes end = loops_.repeat(start, is_more, [&](std::span<const NodeId> now) {
      const NodeId place = loops_.load(sorted[1], now.first(1));
      Nodes next =
          is_together() ? all_after(place, now.subspan(1), last_index) : Nodes{after(place, now[1], 0)};
      next.insert(next.begin(), loops_.add(now[0], one));
      return next;
    });
    for (size_t i = 0; i < elements.size(); ++i) loops_.store(view_, elements[i], end[i + 1]);
  });
}

/// The elements of all stores after what an iteration contributes.
Nodes KernelScatter::all_after(NodeId iteration, std::span<const NodeId> elements, NodeId last) {
  Nodes made;
  Nodes at{iteration};
  if (last) at.push_back(last);
  for (size_t i = 0; i < stores_.size(); ++i)
    made.push_back(stores_[i].add(elements[i], loops_.load(summands_[i], at)));
  return made;
}

/// An element after the contribution at `place`, which is of this store or of a later one.
NodeId KernelScatter::after(NodeId index, NodeId element, size_t store) {
  const NodeId count = b_.index(static_cast<int64_t>(stores_.size()));
  const auto own = [&] {
    const NodeId iteration = b_.make(Op::floor_divide, {index, count});
    return Nodes{stores_[store].add(element, loops_.load(summands_[store], {&iteration, 1}))};
  };
  if (store + 1 == stores_.size()) return own()[0];
  const NodeId is_own =
      loops_.equal(b_.make(Op::fmod, {index, count}), b_.index(static_cast<int64_t>(store)));
  return loops_.branch(is_own, {b_.function().type(element)}, own,
                       [&] { return Nodes{after(index, element, store + 1)}; })[0];
}

}  // namespace ingot::transform
