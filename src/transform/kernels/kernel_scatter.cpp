#include "transform/kernels/kernel_scatter.h"

#include <algorithm>
#include <utility>

#include "transform/kernels/kernel_sort.h"
#include "transform/writers/block_tree.h"

namespace ingot::transform {

KernelScatter::KernelScatter(KernelWriter& kernels, LoopWriter& loops, NodeId view, Stores stores,
                             NodeId iterations)
    : kernels_(kernels),
      loops_(loops),
      b_(loops.builder()),
      view_(view),
      stores_(std::move(stores.all)),
      mode_(std::move(stores.mode)) {
  const int axes = b_.function().type(view).rank() - (sorts_each() ? 0 : 1);
  for (int axis = 0; axis < axes; ++axis) lengths_.push_back(b_.length(view, axis));
  elements_ = loops_.product(lengths_);
  size_ = loops_.multiply(iterations, b_.index(static_cast<int64_t>(keys())));
  const KernelSort sort(kernels_, loops_);
  // Keys go up to the number of elements.
  const NodeId digits = loops_.ceiling(count_digits(loops_, elements_), b_.index(sort.digit_bits()));
  digits_ = loops_.maximum(digits, b_.index(1));
  keys_ = loops_.new_view({&size_, 1}, DType::UInt64);
  Nodes lengths{iterations};
  if (const Row* const row = std::get_if<Row>(&mode_)) lengths.push_back(row->count);
  for (const Store& store : stores_) summands_.push_back(loops_.new_view(lengths, store.summand));
}

NodeId KernelScatter::index_of_key(NodeId iteration, size_t store) {
  const NodeId first = loops_.multiply(iteration, b_.index(static_cast<int64_t>(keys())));
  return loops_.add(first, b_.index(static_cast<int64_t>(store)));
}

void KernelScatter::begin(NodeId iteration) {
  for (size_t i = 0; i < keys(); ++i) {
    const NodeId index = index_of_key(iteration, i);
    loops_.store(keys_, {&index, 1}, b_.cast(elements_, DType::UInt64));
  }
}

void KernelScatter::keep(size_t store, NodeId iteration, std::span<const NodeId> indices, NodeId summand) {
  if (store < keys()) {
    const NodeId index = index_of_key(iteration, store);
    NodeId number = b_.index(0);
    for (size_t i = 0; i < lengths_.size(); ++i)
      number = loops_.add(loops_.multiply(number, lengths_[i]), indices[i]);
    loops_.store(keys_, {&index, 1}, b_.cast(number, DType::UInt64));
  }
  Nodes at{iteration};
  if (std::holds_alternative<Row>(mode_)) at.push_back(indices.back());
  loops_.store(summands_[store], at, summand);
}

void KernelScatter::add_up() {
  const Nodes sorted{loops_.new_view({&size_, 1}, DType::UInt64), loops_.new_view({&size_, 1}, DType::Int64)};
  const SortKey key{[](NodeId element) { return element; }, b_.constant(uint64_t{0}),
                    b_.constant(~uint64_t{0})};
  KernelSort(kernels_, loops_).by_digits({b_.index(1), size_, digits_, keys_, sorted[0], sorted[1]}, key);
  Nodes axes{size_};
  if (const Row* const row = std::get_if<Row>(&mode_)) axes.push_back(row->count);
  kernels_.grid(axes, [&](std::span<const NodeId> at) { add_element(at[0], at.subspan(1), sorted); });
}

/// What an element gets, by the thread that finds its first summand.
void KernelScatter::add_element(NodeId first, std::span<const NodeId> row_index, const Nodes& sorted) {
  const auto key_at = [&](NodeId k) { return loops_.load(sorted[0], {&k, 1}); };
  const NodeId zero = b_.index(0);
  const NodeId one = b_.index(1);
  const NodeId key = key_at(first);
  const NodeId number = b_.cast(key, DType::Int64);
  const NodeId last = loops_.maximum(loops_.subtract(first, one), zero);
  const NodeId is_first =
      loops_.either(loops_.equal(first, zero), loops_.negate(loops_.equal(key_at(last), key)));
  kernels_.when(loops_.both(is_first, loops_.less(number, elements_)), [&] {
    Nodes indices = loops_.unflatten(number, lengths_);
    indices.insert(indices.end(), row_index.begin(), row_index.end());
    std::vector<Nodes> elements{indices};
    if (const Together* const together = std::get_if<Together>(&mode_)) {
      elements.assign(stores_.size(), indices);
      for (size_t i = 0; i < elements.size(); ++i) elements[i].push_back(b_.index(together->lasts[i]));
    }
    Nodes start{first};
    for (const Nodes& element : elements) start.push_back(loops_.load(view_, element));
    const auto is_more = [&](std::span<const NodeId> now) {
      const auto is_same = [&] { return loops_.equal(key_at(now[0]), key); };
      Nodes next{loops_.both(loops_.less(now[0], size_), is_same)};
      next.insert(next.end(), now.begin(), now.end());
      return next;
    };
    const Nodes end = loops_.repeat(start, is_more, [&](std::span<const NodeId> now) {
      const NodeId place = loops_.load(sorted[1], now.first(1));
      Nodes next =
          sorts_each() ? Nodes{after(place, now[1], 0)} : all_after(place, now.subspan(1), row_index);
      next.insert(next.begin(), loops_.add(now[0], one));
      return next;
    });
    for (size_t i = 0; i < elements.size(); ++i) loops_.store(view_, elements[i], end[i + 1]);
  });
}

/// The elements of all stores after what an iteration contributes.
Nodes KernelScatter::all_after(NodeId iteration, std::span<const NodeId> elements,
                               std::span<const NodeId> row_index) {
  Nodes made;
  Nodes at{iteration};
  at.insert(at.end(), row_index.begin(), row_index.end());
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
