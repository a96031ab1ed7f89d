// Element j of a row is of the lane j % 32, and of the warp j / 1024 of a block: these are the lanes and the
// blocks of iterations of base/reduction.h. In a short row it is of thread j % 8, which has two lanes. So a
// thread combines its elements in the order in which it has them, and warps combine what their threads have
// come to.

#include "transform/kernels/kernel_rows.h"

#include <algorithm>
#include <array>

#include "base/dtype.h"
#include "ir/walk.h"
#include "transform/analyses/known_equal.h"

namespace ingot::transform {

namespace {

constexpr size_t kMostSlots = base::kReductionBlock / base::kReductionLanes;
constexpr size_t kFewestSlots = 8;
/// Elements of a thread up to these numbers are begun together, if there are any of them in the warp.
constexpr std::array<size_t, 7> kChunks{1, 2, 4, 8, 16, 24, 32};
static_assert(kChunks.back() == kMostSlots);
/// Of so many, those that are all there are written without a question for each.
constexpr size_t kFewestAtOnce = 4;
/// Bytes of registers for a thread's elements, and additions that all of its iterations take, at most.
constexpr int64_t kKeptBytes = 512;
constexpr int kMostCost = 6400;
constexpr size_t kMostNodes = 96;
/// A block of so many threads leaves each of them registers for so many bytes of each element.
constexpr int64_t kMostThreads = 1024;
constexpr int64_t kBytesOfMostThreads = 4;
constexpr int64_t kRegister = 4;

}  // namespace

bool RowPlan::Place::operator==(const Place& other) const {
  if (view == other.view && indices == other.indices) return true;
  return location && location == other.location;
}

std::optional<RowPlan> RowPlan::find(const Function& f, NodeId nest, NodeId level) {
  RowPlan plan(f);
  if (!plan.look(level)) return std::nullopt;
  const NodeId count = plan.count();
  const bool is_outside = !f.encloses(nest, count);
  const bool are_alike = std::ranges::all_of(
      plan.loops_, [&](NodeId loop) { return known_equal(f, plan.loops_[0], count, f.operand(loop, 0)); });
  if (!is_outside || !are_alike || !plan.choose_slots()) return std::nullopt;
  plan.drop_stores();
  return plan;
}

NodeId RowPlan::count() const { return f_->operand(loops_[0], 0); }

Type RowPlan::type_of(size_t place) const { return Type::scalar(f_->type(places_[place].view).dtype()); }

bool RowPlan::look(NodeId level) {
  for (const NodeId node : f_->region_body(f_->region(level))) {
    const Op op = f_->op(node);
    if (op == Op::result || op == Op::yield) continue;
    if (ir::is_counted_loop(op)) {
      if (!look_in(node)) return false;
    } else if (op == Op::load || op == Op::store) {
      look_at(node, NodeId());
    } else if ((*f_)[node].region_count > 0 || (!ir::info(op).effects.pure() && op != Op::alloc)) {
      return false;
    }
  }
  return !loops_.empty();
}

bool RowPlan::look_in(NodeId loop) {
  loops_.push_back(loop);
  made_.emplace_back();
  for (const NodeId node : f_->region_body(f_->region(loop))) {
    const Op op = f_->op(node);
    if (op == Op::yield) continue;
    if ((*f_)[node].region_count > 0) return false;
    if (op == Op::load || op == Op::store) {
      look_at(node, loop);
      ++cost_;
    } else if (!ir::info(op).effects.pure()) {
      return false;
    } else if (ir::info(op).elementwise) {
      cost_ += ir::cost_of(op, f_->type(f_->operand(node, 0)).dtype());
    }
  }
  return true;
}

/// Where an access is. All iterations of the loop have the view; one index at most is the iteration, and the
/// others are the same in all of them.
std::optional<RowPlan::Place> RowPlan::place_at(NodeId access, NodeId loop) const {
  const auto operands = f_->operands(access);
  const size_t rank = static_cast<size_t>(f_->type(operands[0]).rank());
  const auto indices = operands.subspan(1, rank);
  const NodeId own = loop ? f_->region_parameters(f_->region(loop))[0] : NodeId();
  const auto is_of_row = [&](NodeId value) {
    return !loop || f_->is_constant(value) || !f_->encloses(f_->region(loop), value);
  };
  if (!is_of_row(operands[0])) return std::nullopt;
  const auto without = [&](Nodes all) {
    for (NodeId& index : all)
      if (index == own) index = NodeId();
    return all;
  };
  for (const NodeId index : indices)
    if (index != own && !is_of_row(index)) return std::nullopt;
  Place place{operands[0], without({indices.begin(), indices.end()}), element_of(*f_, operands[0], indices)};
  if (place.location) place.location->indices = without(std::move(place.location->indices));
  const auto times = std::ranges::count(place.location ? place.location->indices : place.indices, NodeId());
  if (times > 1) return std::nullopt;
  place.is_element = times == 1;
  return place;
}

size_t RowPlan::add_place(const Place& place) {
  const auto found = std::ranges::find(places_, place);
  const auto number = static_cast<size_t>(found - places_.begin());
  if (found == places_.end()) {
    places_.push_back(place);
    last_use_.push_back(0);
  }
  return number;
}

void RowPlan::look_at(NodeId node, NodeId loop) {
  in_row_.push_back(node);
  Access& access = accesses_[node.index];
  const std::optional<Place> place = place_at(node, loop);
  if (place) access.place = add_place(*place);
  const auto own = std::ranges::find(known_, access.place, &Known::place);
  const bool is_load = f_->op(node) == Op::load;
  if (is_load && place && own != known_.end()) {
    access.is_known = true;
    access.number = own->number;
    if (place->is_element) last_use_[access.place] = std::max(last_use_[access.place], loops_.size() - 1);
    return;
  }
  if (!is_load) {
    const Root root = root_of(*f_, f_->operand(node, 0));
    std::erase_if(known_, [&](const Known& each) {
      return each.place == access.place || may_overlap(*f_, root, root_of(*f_, places_[each.place].view));
    });
  }
  if (!place) return;
  if (place->is_element) {
    known_.push_back({access.place, NodeId()});
    if (std::ranges::find(made_.back(), access.place) == made_.back().end())
      made_.back().push_back(access.place);
  } else if (!loop) {
    const NodeId number = is_load ? node : f_->operands(node).back();
    if (f_->type(number) == type_of(access.place)) known_.push_back({access.place, number});
  }
}

std::vector<size_t> RowPlan::kept_after(size_t loop) const {
  std::vector<size_t> kept;
  for (const size_t place : made_[loop])
    if (last_use_[place] > loop) kept.push_back(place);
  return kept;
}

/// Whether a view is of memory that is used in the row alone, all loads of which are known.
bool RowPlan::is_known_in_row(NodeId view) const {
  if (f_->op(view) != Op::view || f_->op(f_->operand(view, 0)) != Op::alloc) return false;
  const NodeId buffer = f_->operand(view, 0);
  Nodes views;
  const auto is_one = [&](NodeId node) { return std::ranges::find(views, node) != views.end(); };
  return ir::walk(*f_, f_->body(), [&](NodeId node) {
    const auto operands = f_->operands(node);
    const bool uses_buffer = std::ranges::find(operands, buffer) != operands.end();
    const bool uses_view = std::ranges::any_of(operands, is_one);
    if (uses_buffer && f_->op(node) == Op::view) views.push_back(node);
    else if (uses_buffer) return ir::Walk::Stop;
    if (!uses_view) return ir::Walk::Into;
    const bool is_own = std::ranges::find(in_row_, node) != in_row_.end();
    const bool is_known = is_own && (f_->op(node) == Op::store || accesses_[node.index].is_known);
    return is_known ? ir::Walk::Into : ir::Walk::Stop;
  });
}

void RowPlan::drop_stores() {
  for (const NodeId node : in_row_)
    if (f_->op(node) == Op::store) accesses_[node.index].is_dropped = is_known_in_row(f_->operand(node, 0));
}

bool RowPlan::needs(NodeId alloc) const {
  return std::ranges::any_of(in_row_, [&](NodeId node) {
    const Access& access = accesses_[node.index];
    const bool is_kept = f_->op(node) == Op::store ? access.is_dropped : access.is_known;
    return !is_kept && memory_of(*f_, f_->operand(node, 0)) == alloc;
  });
}

bool RowPlan::choose_slots() {
  size_t nodes = 0;
  for (size_t loop = 0; loop < loops_.size(); ++loop) {
    nodes += f_->region_body(f_->region(loops_[loop])).size();
    int64_t bytes = 0;
    for (size_t place = 0; place < places_.size(); ++place) {
      const auto is_made = [&](size_t by) { return std::ranges::find(made_[by], place) != made_[by].end(); };
      bool is_kept = false;
      for (size_t before = 0; before <= loop; ++before) is_kept = is_kept || is_made(before);
      if (is_kept && last_use_[place] > loop)
        bytes += std::max(static_cast<int64_t>(base::size_of(type_of(place).dtype())), kRegister);
    }
    kept_bytes_ = std::max(kept_bytes_, bytes);
  }
  slots_ = kMostSlots;
  while (slots_ >= kFewestSlots && (static_cast<int64_t>(slots_) * kept_bytes_ > kKeptBytes ||
                                    static_cast<int>(slots_) * cost_ > kMostCost))
    slots_ /= 2;
  return kept_bytes_ > 0 && nodes <= kMostNodes && slots_ >= kFewestSlots;
}

RowWriter::RowWriter(KernelWriter& kernels, LoopWriter& loops, const Function& source, const RowPlan& plan,
                     Threads kind, Old old)
    : kernels_(kernels),
      loops_(loops),
      b_(loops.builder()),
      source_(source),
      plan_(plan),
      kind_(kind),
      old_(std::move(old)) {}

int64_t RowWriter::most_elements(const RowPlan& plan, Threads kind) {
  if (kind == Threads::Part) return static_cast<int64_t>(kSlotsOfPart) * kPart;
  if (kind == Threads::Warp) return static_cast<int64_t>(plan.slots()) * KernelWriter::kWarp;
  if (plan.slots() < kMostSlots) return 0;
  int64_t threads = kMostThreads;
  for (int64_t bytes = kBytesOfMostThreads; bytes < plan.kept_bytes(); bytes *= 2) threads /= 2;
  return threads / KernelWriter::kWarp * base::kReductionBlock;
}

NodeId RowWriter::threads_for(LoopWriter& loops, const RowPlan& plan, NodeId length) {
  const int64_t most = most_elements(plan, Threads::Block) / base::kReductionBlock;
  NodeId threads = loops.index(most * KernelWriter::kWarp);
  for (int64_t warps = most / 2; warps > 0; warps /= 2) {
    threads = loops.select(loops.less_equal(length, loops.index(warps * base::kReductionBlock)),
                           loops.index(warps * KernelWriter::kWarp), threads);
  }
  return threads;
}

void RowWriter::prepare() {
  shared_.clear();
  firsts_.clear();
  for (const NodeId loop : plan_.loops()) {
    Nodes& shared = shared_.emplace_back();
    Nodes& firsts = firsts_.emplace_back();
    if (kind_ != Threads::Block || source_.result_count(loop) == 0) continue;
    const LaneReduction lanes(kernels_, loops_, old_.slots(loop));
    for (size_t i = 0; i < lanes.slots().size(); ++i) {
      shared.push_back(kernels_.shared(KernelWriter::kWarp, lanes.lane_of(i)));
      if (lanes.starts_from_first()) firsts.push_back(kernels_.shared(1, lanes.lane_of(i)));
    }
  }
}

void RowWriter::begin(NodeId thread, NodeId has_row) {
  loop_ = 0;
  touched_.clear();
  has_row_ = has_row;
  values_.assign(plan_.place_count(), Nodes(slots()));
  count_ = loops_.maximum(old_.use(plan_.count()), b_.index(0));
  lane_ = first_ = thread;
  NodeId left = count_;
  if (kind_ == Threads::Block) {
    lane_ = loops_.both(thread, b_.index(KernelWriter::kWarp - 1));
    warp_ = b_.make(Op::floor_divide, {thread, b_.index(KernelWriter::kWarp)});
    const NodeId of_warp = loops_.multiply(warp_, b_.index(base::kReductionBlock));
    left = loops_.subtract(count_, of_warp);
    first_ = loops_.add(of_warp, lane_);
  }
  left_of_warp_ = b_.cast(left, DType::Int32);
  left_ = b_.cast(loops_.select(has_row_, loops_.subtract(left, lane_), b_.index(0)), DType::Int32);
}

void RowWriter::end() {
  const auto reduces = [&](NodeId loop) { return source_.result_count(loop) > 0; };
  if (kind_ == Threads::Block && std::ranges::any_of(plan_.loops(), reduces)) kernels_.barrier();
}

void RowWriter::wait() {
  if (kind_ == Threads::Block) kernels_.barrier();
  else kernels_.warp_barrier();
  touched_.clear();
}

/// Before memory is loaded from or stored to: threads wait where another one may have touched it before.
/// Accesses of one loop do not conflict with each other.
void RowWriter::touch(std::span<const NodeId> accesses) {
  std::vector<Touched> made;
  for (const NodeId access : accesses) {
    const bool is_store = source_.op(access) == Op::store;
    if (!is_store && source_.op(access) != Op::load) continue;
    if (is_store ? plan_.is_dropped(access) : plan_.is_known(access)) continue;
    const Touched own{root_of(source_, source_.operand(access, 0)), plan_.place_number(access), is_store};
    const bool meets = std::ranges::any_of(touched_, [&](const Touched& each) {
      if (!each.is_stored && !is_store) return false;
      if (each.place == own.place && plan_.is_element(own.place)) return false;
      return may_overlap(source_, each.root, own.root);
    });
    if (meets) wait();
    made.push_back(own);
  }
  touched_.insert(touched_.end(), made.begin(), made.end());
}

void RowWriter::write(NodeId id) {
  const Op op = source_.op(id);
  if (ir::is_counted_loop(op)) return write_loop(id);
  if (op == Op::load && plan_.is_known(id)) return old_.bind(id, old_.use(plan_.number_of(id)));
  touch({&id, 1});
  if (op == Op::load) {
    const auto from_memory = [&] {
      old_.clone(id);
      return Nodes{old_.use(id)};
    };
    const Type type = source_.type(id);
    const auto nothing = [&] { return Nodes{loops_.zero(type.dtype())}; };
    return old_.bind(id, loops_.branch(has_row_, {type}, from_memory, nothing)[0]);
  }
  if (op != Op::store) return old_.clone(id);
  if (plan_.is_dropped(id)) return;
  const NodeId is_first = loops_.both(has_row_, loops_.equal(first_, b_.index(0)));
  kernels_.when(is_first, [&] { old_.clone(id); });
}

NodeId RowWriter::is_there(size_t slot) {
  if (has_all_) return loops_.truth(true);
  return loops_.less(whole(static_cast<int64_t>(slot) * apart()), left_);
}

void RowWriter::write_access(NodeId id, size_t slot) {
  const size_t place = plan_.place_number(id);
  NodeId* const own = plan_.is_element(place) ? &values_[place][slot] : nullptr;
  if (source_.op(id) == Op::store) {
    if (own != nullptr) *own = old_.use(source_.operands(id).back());
    if (!plan_.is_dropped(id)) kernels_.when(is_there(slot), [&] { old_.clone(id); });
    return;
  }
  if (plan_.is_known(id)) return old_.bind(id, own != nullptr ? *own : old_.use(plan_.number_of(id)));
  const Type type = source_.type(id);
  const auto from_memory = [&] {
    old_.clone(id);
    return Nodes{old_.use(id)};
  };
  const auto nothing = [&] { return Nodes{loops_.zero(type.dtype())}; };
  const NodeId value = loops_.branch(is_there(slot), {type}, from_memory, nothing)[0];
  if (own != nullptr) *own = value;
  old_.bind(id, value);
}

/// What the iteration of a slot gives; there may be none.
Nodes RowWriter::write_iteration(NodeId loop, size_t slot) {
  const RegionId region = source_.region(loop);
  const NodeId step = b_.index(static_cast<int64_t>(slot) * apart());
  old_.bind(source_.region_parameters(region)[0], loops_.add(first_, step));
  for (const NodeId node : source_.region_body(region)) {
    const Op op = source_.op(node);
    if (op == Op::yield) continue;
    if (op == Op::load || op == Op::store) write_access(node, slot);
    else old_.clone(node);
  }
  Nodes given;
  for (const NodeId value : source_.operands(source_.terminator(region))) given.push_back(old_.use(value));
  return given;
}

/// The iterations of some slots, if the warp has any of them: what lanes have come to - of the first slot,
/// and of each of a part of a warp, what it gives - and what is kept of the elements.
Nodes RowWriter::write_chunk(NodeId loop, LaneReduction* lanes, size_t first, size_t last, const Nodes& own,
                             const std::vector<size_t>& kept) {
  std::vector<Type> types = lanes != nullptr ? lanes->lane_types() : std::vector<Type>();
  for (const size_t place : kept) types.insert(types.end(), last - first, plan_.type_of(place));
  const bool is_begin = first == 0 || kind_ == Threads::Part;
  const auto write = [&] {
    Nodes now = own;
    for (size_t slot = first; slot < last; ++slot) {
      const Nodes given = write_iteration(loop, slot);
      if (lanes == nullptr) continue;
      const Nodes combined = is_begin ? Nodes() : lanes->combine_all(now, given);
      for (size_t i = 0; i < now.size(); ++i) {
        now[i] = is_begin ? b_.cast(given[i], lanes->lane_of(i))
                          : loops_.select(is_there(slot), combined[i], now[i]);
      }
    }
    for (const size_t place : kept)
      for (size_t slot = first; slot < last; ++slot) now.push_back(values_[place][slot]);
    return now;
  };
  const auto all = [&] {
    const std::vector<Nodes> values = values_;
    has_all_ = true;
    Nodes given = write();
    has_all_ = false;
    values_ = values;
    return given;
  };
  const auto before = [&](size_t slot) { return whole(static_cast<int64_t>(slot) * apart()); };
  const auto some = [&] {
    if (last - first < kFewestAtOnce) return write();
    return loops_.branch(loops_.less_equal(before(last), left_of_warp_), types, all, write);
  };
  const auto none = [&] {
    Nodes now = own;
    for (const size_t place : kept)
      now.insert(now.end(), last - first, loops_.zero(plan_.type_of(place).dtype()));
    return now;
  };
  Nodes given = loops_.branch(loops_.less(before(first), left_of_warp_), types, some, none);
  size_t next = own.size();
  for (const size_t place : kept)
    for (size_t slot = first; slot < last; ++slot) values_[place][slot] = given[next++];
  given.resize(own.size());
  return given;
}

/// The value of the first thread of the warp, or of its part.
NodeId RowWriter::from_first(NodeId value) {
  return kernels_.shuffle(ir::Source::Index, value, whole(0), apart());
}

/// The value of the row's first iteration, which its first thread has.
Nodes RowWriter::first_of(size_t loop, const Nodes& values) {
  Nodes first;
  const NodeId zero = b_.index(0);
  if (kind_ != Threads::Block) {
    for (const NodeId value : values) first.push_back(from_first(value));
    return first;
  }
  kernels_.when(loops_.equal(first_, zero), [&] {
    for (size_t i = 0; i < values.size(); ++i) loops_.store(firsts_[loop][i], {&zero, 1}, values[i]);
  });
  kernels_.barrier();
  for (const NodeId view : firsts_[loop]) first.push_back(loops_.load(view, {&zero, 1}));
  return first;
}

/// The value of all lanes, which all threads get.
Nodes RowWriter::combine(size_t loop, LaneReduction& lanes, const Nodes& own) {
  Nodes all = lanes.across_warp(own, apart());
  if (kind_ == Threads::Block) {
    kernels_.when(loops_.equal(lane_, b_.index(0)), [&] {
      for (size_t i = 0; i < all.size(); ++i) loops_.store(shared_[loop][i], {&warp_, 1}, all[i]);
    });
    kernels_.barrier();
    const NodeId there = lanes.blocks_of(count_);
    const int64_t warps = most_elements(plan_, kind_) / base::kReductionBlock;
    for (size_t i = 0; i < all.size(); ++i) {
      all[i] = loops_.branch(
          loops_.less(lane_, there), {Type::scalar(lanes.lane_of(i))},
          [&] { return Nodes{loops_.load(shared_[loop][i], {&lane_, 1})}; },
          [&] { return Nodes{loops_.zero(lanes.lane_of(i))}; })[0];
      for (int64_t step = 1; step < warps; step *= 2) {
        const NodeId next = kernels_.shuffle(ir::Source::Down, all[i], static_cast<int32_t>(step));
        const NodeId is_left = loops_.equal(loops_.both(lane_, b_.index(2 * step - 1)), b_.index(0));
        const NodeId has_next = loops_.less(loops_.add(lane_, b_.index(step)), there);
        all[i] = loops_.select(loops_.both(is_left, has_next), lanes.combine(i, all[i], next), all[i]);
      }
    }
  }
  for (NodeId& value : all) value = from_first(value);
  return all;
}

/// What the thread's elements come to, those of all chunks. A part of a warp has two lanes of
/// base/reduction.h in each thread, and no iteration reaches the other half of the lanes.
Nodes RowWriter::reduce_chunks(NodeId id, size_t loop, LaneReduction* lanes, const std::vector<size_t>& kept,
                               const Nodes& inits) {
  Nodes own = lanes != nullptr ? lanes->zeros() : Nodes();
  Nodes starts;
  std::vector<Nodes> of_slots;
  size_t first = 0;
  for (const size_t end : kChunks) {
    if (end > slots()) break;
    own = write_chunk(id, lanes, first, end, own, kept);
    const bool is_begin = first == 0 || kind_ == Threads::Part;
    if (is_begin && lanes != nullptr) {
      if (first == 0)
        starts = lanes->starts([&](NodeId) { return first_of(loop, own); }, [&] { return inits; });
      const Nodes after = lanes->combine_all(starts, own);
      for (size_t i = 0; i < own.size(); ++i) own[i] = loops_.select(is_there(first), after[i], starts[i]);
      of_slots.push_back(own);
    }
    first = end;
  }
  if (kind_ != Threads::Part || lanes == nullptr) return own;
  static_assert(2 * kSlotsOfPart * kPart == base::kReductionLanes && kSlotsOfPart == 2);
  return lanes->combine_all(lanes->combine_all(of_slots[0], starts), lanes->combine_all(of_slots[1], starts));
}

void RowWriter::write_loop(NodeId id) {
  const size_t loop = loop_++;
  touch(source_.region_body(source_.region(id)));
  const std::vector<size_t> kept = plan_.kept_after(loop);
  const Nodes results = source_.results_of(id);
  std::optional<LaneReduction> lanes;
  Nodes inits;
  if (!results.empty()) {
    lanes.emplace(kernels_, loops_, old_.slots(id));
    for (const NodeId init : source_.operands(id).subspan(1)) inits.push_back(old_.use(init));
  }
  const Nodes own = reduce_chunks(id, loop, lanes ? &*lanes : nullptr, kept, inits);
  if (!lanes) return;
  const Nodes all = combine(loop, *lanes, own);
  for (size_t i = 0; i < results.size(); ++i)
    old_.bind(results[i], lanes->finish(i, count_, inits[i], [&] { return all[i]; }));
}

}  // namespace ingot::transform
