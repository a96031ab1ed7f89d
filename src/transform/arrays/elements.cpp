#include <algorithm>

#include "transform/analyses/disjoint.h"
#include "transform/arrays/lowering.h"

namespace ingot::transform {

NodeId Lowering::element(NodeId old, Indices indices) {
  if (!source_.type(old).is_array()) return use(old);
  if (indices.empty()) return evaluated_element(old, indices);
  if (elements_region_ != b_.current()) elements_.clear();
  elements_region_ = b_.current();
  // Two arrays in one view have the same elements.
  const NodeId view = whole(old).view;
  std::vector<uint32_t> key{view ? 1U : 0U, view ? view.index : old.index};
  for (const NodeId index : indices) key.push_back(index.index);
  if (const auto known = elements_.find(key); known != elements_.end()) return known->second;
  const ir::SpanId location = b_.span();
  if (source_[old].span) b_.set_span(source_[old].span);
  const NodeId made = evaluated_element(old, indices);
  b_.set_span(location);
  if (elements_region_ == b_.current()) elements_[key] = made;
  return made;
}

NodeId Lowering::evaluated_element(NodeId old, Indices indices) {
  if (whole(old).view) return loops_.load(by_number_ ? flat_view(whole(old).view) : whole(old).view, indices);
  switch (source_.op(old)) {
    case Op::iota: return indices[static_cast<size_t>(source_.attribute(old, 0))];
    case Op::broadcast: return element_of_broadcast(old, indices);
    case Op::transpose:
    case Op::slice:
    case Op::squeeze:
    case Op::expand: return element(source_.operand(old, 0), place_before(old, indices));
    case Op::reduce: return element_of_short(old, indices);
    case Op::sized: return element(source_.operand(old, 0), indices);
    default: return element_of_elementwise(old, indices);
  }
}

NodeId Lowering::element_of_elementwise(NodeId old, Indices indices) {
  Nodes operands;
  for (const NodeId operand : source_.operands(old)) operands.push_back(element(operand, indices));
  const Type type = ir::info(source_.op(old)).typed ? source_.type(old).element() : Type();
  return b_.make(source_.op(old), operands, source_.attributes(old), type);
}

NodeId Lowering::element_of_broadcast(NodeId old, Indices indices) {
  const NodeId x = source_.operand(old, 0);
  if (!source_.type(x).is_array()) return element(x, {});
  if (by_number_) return element(x, indices);
  const Nodes& own = whole(x).lengths;
  const size_t added = indices.size() - own.size();
  Nodes at;
  for (size_t i = 0; i < own.size(); ++i) {
    if (is_identity_[old.index]) {
      at.push_back(indices[added + i]);
      continue;
    }
    const NodeId same = repeats_not(own[i], whole(old).lengths[added + i]);
    at.push_back(loops_.select(same, indices[added + i], b_.index(0)));
  }
  return element(x, at);
}

/// The indices, in what is rearranged, of an element of a rearrangement.
Nodes Lowering::place_before(NodeId old, Indices indices) {
  const Op op = source_.op(old);
  Nodes at(static_cast<size_t>(source_.type(source_.operand(old, 0)).rank()), b_.index(0));
  if (op == Op::slice) {
    for (size_t i = 0; i < at.size(); ++i) {
      at[i] = loops_.add(use(source_.operand(old, 1 + 3 * i)),
                         loops_.multiply(indices[i], use(source_.operand(old, 3 + 3 * i))));
    }
    return at;
  }
  const auto axes = source_.ints(old);
  const auto listed = [&](size_t i) {
    return std::ranges::find(axes, static_cast<int64_t>(i)) != axes.end();
  };
  size_t next = 0;
  if (op == Op::transpose) {
    for (size_t i = 0; i < at.size(); ++i) at[static_cast<size_t>(axes[i])] = indices[i];
  } else if (op == Op::squeeze) {
    for (size_t i = 0; i < at.size(); ++i)
      if (!listed(i)) at[i] = indices[next++];
  } else {
    for (size_t i = 0; i < indices.size(); ++i)
      if (!listed(i)) at[next++] = indices[i];
  }
  return at;
}

void Lowering::add_reads(Whole& to, const Whole& from) {
  for (const Root& root : from.reads)
    if (std::ranges::find(to.reads, root) == to.reads.end()) to.reads.push_back(root);
}

/// Broadcasts of what is not cheap in the evaluation of elements of `old`, operands first.
void Lowering::collect_broadcasts(NodeId old, Nodes& found, std::vector<bool>& seen) const {
  if (!source_.type(old).is_array() || whole(old).view || seen[old.index]) return;
  seen[old.index] = true;
  const bool is_broadcast = source_.op(old) == Op::broadcast;
  for (const NodeId operand : source_.operands(old).first(is_broadcast ? 1 : source_.operands(old).size()))
    collect_broadcasts(operand, found, seen);
  const NodeId x = source_.operands(old).empty() ? NodeId() : source_.operand(old, 0);
  if (is_broadcast && source_.type(x).is_array() && !whole(x).view && whole(x).cost > 0) found.push_back(old);
}

/// Whether the lengths of a broadcast are those of its operand, of the same rank.
NodeId Lowering::is_identity(NodeId broadcast) {
  NodeId all = b_.constant(true);
  const Nodes& own = whole(source_.operand(broadcast, 0)).lengths;
  for (size_t i = 0; i < own.size(); ++i)
    all = loops_.both(all, are_equal(own[i], whole(broadcast).lengths[i]));
  return all;
}

Nodes Lowering::in_versions(std::span<const NodeId> roots, const std::vector<Type>& types,
                            const std::function<Nodes()>& loops) {
  Nodes broadcasts;
  std::vector<bool> seen(source_.node_count());
  for (const NodeId root : roots) collect_broadcasts(root, broadcasts, seen);
  NodeId all = b_.constant(true);
  for (const NodeId id : broadcasts) all = loops_.both(all, is_identity(id));
  const auto assume = [&](bool identity) {
    for (const NodeId id : broadcasts) is_identity_[id.index] = identity;
  };
  const auto as_identities = [&] {
    assume(true);
    const Nodes given = loops();
    assume(false);
    return given;
  };
  if (b_.function().is_constant(all) && b_.function().constant(all).bits[0] != 0) return as_identities();
  ++versions_;
  const auto repeated = [&] {
    std::vector<std::pair<NodeId, Whole>> before;
    loops_.set_one_by_one(true);
    for (const NodeId id : broadcasts) {
      const NodeId x = source_.operand(id, 0);
      if (whole(x).view) continue;
      before.emplace_back(x, whole(x));
      wholes_[x.index] = evaluated(x);
    }
    const Nodes given = loops();
    for (const auto& [x, whole] : before) wholes_[x.index] = whole;
    loops_.set_one_by_one(false);
    return given;
  };
  const Nodes given = loops_.branch(all, types, as_identities, repeated);
  --versions_;
  return given;
}

/// An element is evaluated from those of the operands at the same indices.
bool Lowering::is_pointwise(NodeId old) const {
  const Op op = source_.op(old);
  return ir::info(op).elementwise || op == Op::cast || op == Op::select || repeats_nothing(old);
}

/// Whether a node broadcasts what has no memory of its own to the lengths that it has.
bool Lowering::repeats_nothing(NodeId old) const {
  if (source_.op(old) != Op::broadcast || !source_.type(source_.operand(old, 0)).is_array()) return false;
  const Whole& x = whole(source_.operand(old, 0));
  const auto wanted = source_.operands(old).subspan(1);
  if (x.view || x.lengths.size() != wanted.size()) return false;
  return std::ranges::equal(x.lengths, wanted, [&](NodeId own, NodeId length) {
    return made(length) && canonical(own) == canonical(made(length));
  });
}

/// Whether evaluating elements of `old` reads memory of this root only at the element of `view` of the same
/// indices.
bool Lowering::reads_only_at(NodeId old, NodeId view, const Root& root) const {
  return all_below({&old, 1}, [&](NodeId each) -> std::optional<bool> {
    const Whole& w = whole(each);
    if (!may_read(w, root)) return true;
    if (w.view) return view && is_beside(b_.function(), w.view, view);
    return is_pointwise(each) ? std::nullopt : std::optional(false);
  });
}

bool Lowering::may_read(const Whole& w, const Root& root) const {
  return std::ranges::any_of(w.reads, [&](const Root& read) { return may_overlap(source_, read, root); });
}

/// Whether `decides` holds for all that elements of some arrays are evaluated from; where it returns none,
/// the operands decide. An array with several users is looked at once.
bool Lowering::all_below(std::span<const NodeId> arrays, const Decision& decides) const {
  Nodes open(arrays.begin(), arrays.end());
  std::set<uint32_t> seen;
  while (!open.empty()) {
    const NodeId old = open.back();
    open.pop_back();
    if (!source_.type(old).is_array() || !seen.insert(old.index).second) continue;
    const std::optional<bool> decided = decides(old);
    if (decided == false) return false;
    if (!decided) std::ranges::copy(source_.operands(old), std::back_inserter(open));
  }
  return true;
}

void Lowering::lower_pointwise(NodeId id) {
  Whole w{.dtype = dtype_of(id), .cost = 1};
  w.work.time = ir::cost_of(source_.op(id), w.dtype);
  const auto operands = source_.operands(id);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!source_.type(operands[i]).is_array()) continue;
    const Whole& x = whole(operands[i]);
    if (w.lengths.empty()) w.lengths = x.lengths;
    // What several use is evaluated once for all.
    if (!is_output(operands[i])) w.cost += uses_[operands[i].index] == 1 ? x.cost : std::min(x.cost, 1);
    const bool seen =
        std::ranges::find(operands.first(i), operands[i]) != operands.begin() + static_cast<ptrdiff_t>(i);
    if (!seen) w.work.add(work_of(operands[i]));
    add_reads(w, x);
  }
  define(id, std::move(w));
}

Work Lowering::work_of(NodeId old) const {
  Work work = whole(old).view || is_output(old) ? Work{.time = 0, .loads = 1} : whole(old).work;
  if (whole(old).repeats) work.loads = 0;
  return work;
}

void Lowering::lower_iota(NodeId id) {
  define(id, {.dtype = DType::Int64, .lengths = use_all(source_.operands(id))});
}

void Lowering::lower_read(NodeId id) {
  const NodeId view = use(source_.operand(id, 0));
  define(id, {.dtype = dtype_of(id),
              .lengths = lengths_of_view(view),
              .view = view,
              .contiguous = is_contiguous(view),
              .reads = {root_of(source_, source_.operand(id, 0))}});
}

/// Whether different indices of a view are known to be different locations.
bool Lowering::is_disjoint_from_others(NodeId old_view) const {
  for (NodeId at = old_view;; at = source_.operand(at, 0)) {
    const ir::Effects effects = ir::info(source_.op(at)).effects;
    if (source_.op(at) == Op::param) {
      return source_[at].parent == source_.body() &&
             source_.parameters()[static_cast<size_t>(source_.attribute(at, 0))].layout != ir::Layout::Any;
    }
    if (effects == ir::effect::Allocate) return true;
    if (!effects.pure() || source_.operands(at).empty() || source_.op(at) == Op::broadcast) return false;
    if (source_.op(at) == Op::view) return is_in_c_order(source_, at);
  }
}

NodeId Lowering::is_disjoint(NodeId view) {
  const Nodes lengths = lengths_of_view(view);
  const Nodes strides = strides_of_view(view);
  const auto element = static_cast<int64_t>(base::size_of(b_.function().type(view).dtype()));
  return transform::is_disjoint<LoopWriter, NodeId>(loops_, lengths, strides, element);
}

namespace {

/// So many assignments of a function that read what they write are made in chunks (in_place.cpp), in code
/// that is three times as long as that of others: values of later ones are computed first.
constexpr size_t kMostInChunks = 50;

}  // namespace

void Lowering::lower_write(NodeId id) {
  const NodeId old_view = source_.operand(id, 0);
  const NodeId x = source_.operand(id, 1);
  const NodeId view = use(old_view);
  const Root root = root_of(source_, old_view);
  const bool in_place = reads_only_at(x, view, root);
  const bool known_disjoint = is_disjoint_from_others(old_view) || is_contiguous(view);
  const bool may_chunk = !in_place && source_.type(old_view).rank() > 0 && in_chunks_ < kMostInChunks;
  if (may_chunk && reads_one_buffer(x, view, root)) {
    ++in_chunks_;
    in_versions({&x, 1}, {}, [&] { return write_in_place(x, view, known_disjoint), Nodes(); });
    return;
  }
  std::optional<Whole> held;
  if (!in_place) held = settled(x);
  const auto loops = [&] {
    Elements all{
        .views = {view},
        .values = [&](Indices at) { return Nodes{held ? loops_.load(held->view, at) : element(x, at)}; },
        .strides = {strides_of_view(view)},
        .time = held ? 0 : whole(x).work.time,
        .part = old_view,
    };
    if (held) all.strides.push_back(strides_of_view(held->view));
    else collect_strides(x, all.strides);
    // Iterations that write to parts of their own are seen to be independent by the indices of the whole.
    NodeId around = old_view;
    while (source_.op(around) == Op::slice || source_.op(around) == Op::squeeze ||
           source_.op(around) == Op::transpose)
      around = source_.operand(around, 0);
    if (crosses_loop(source_[old_view].parent, source_[around].parent) && !may_read(whole(x), root))
      all.whole = around;
    if (!held && !all.whole && is_contiguous(view) && is_flat(x)) all.flat = {x};
    store_elements(all);
    return Nodes();
  };
  const auto loops_or_chunks = [&] {
    return loops_.branch(is_disjoint(view), {}, loops,
                         [&] { return write_in_place(x, view, false), Nodes(); });
  };
  if (held) loops();
  else if (known_disjoint || source_.type(old_view).rank() == 0 || !may_read(whole(x), root))
    in_versions({&x, 1}, {}, loops);
  else in_versions({&x, 1}, {}, loops_or_chunks);
}

void Lowering::lower_materialize(NodeId id) {
  const NodeId x = source_.operand(id, 0);
  const bool here = source_[x].parent == regions_.back().region;
  const bool last = uses_[x.index] == 1 && !crosses_loop(source_[id].parent, source_[x].parent);
  if (is_output(x) && here) {
    for (Nest& nest : nests_) {
      for (Output& output : nest.outputs) {
        if (output.node != x || output.buffer_of || is_reduction(x)) continue;
        output.buffer_of = id;
        is_deferred_[id.index] = true;
        return;
      }
    }
  }
  if (here && !whole(x).view && !is_output(x)) return write_later(x, id);
  make_ready(x);
  if (whole(x).fresh && here) return become_buffer(id, x, Whole(whole(x)));
  bind(id, whole(x).fresh && last ? whole(x).view : evaluated(x).view);
}

}  // namespace ingot::transform
