// Arrays that are computed where they are read (`rematerialize`). Of `x * y` whose elements a reduction
// combines in blocks, the loops that make the array have another shape than those that read it, so
// `fuse_nests` cannot make them one. But each element is read once, and a load of it can become a load of x,
// one of y and a product: 24 bytes an element less go through memory. One array after the other is taken,
// from the first one on, so that chains end in their last readers.

#include "transform/loops/rematerialize.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "ir/directives.h"
#include "ir/loops.h"
#include "ir/uses.h"
#include "ir/walk.h"
#include "transform/analyses/alias.h"
#include "transform/analyses/dependence.h"
#include "transform/analyses/known_equal.h"
#include "transform/analyses/lane_judge.h"
#include "transform/functions/simplify.h"

namespace ingot::transform {

namespace {

/// Arrays that are taken at most, one after the other.
constexpr int kMostArrays = 16;
/// An element of an array that is taken is made by so many ops at most,
constexpr size_t kMostOps = 40;
/// ... read by so many loads,
constexpr size_t kMostLoads = 24;
/// ... and, where lanes make it, but no lanes read it, or where several loads read it, at this cost at most.
constexpr int kCheap = 8;

/// An array that can be computed where it is read.
struct Producer {
  NodeId view;
  NodeId nest;  ///< its outermost loop
  NodeId store;
  std::vector<NodeId> indices;  ///< of the store: the numbers of the nest's iterations
  std::vector<NodeId> ops;      ///< in the nest that make an element, in order
  std::vector<NodeId> loads;    ///< of the array
};

/// A load, and the loops that it is in after the nest.
struct Reader {
  NodeId load;
  std::vector<NodeId> loops;
};

class ProducerFinder {
 public:
  ProducerFinder(const Function& function, const base::Machine& machine)
      : f_(function), machine_(machine), uses_(function), none_(function.node_count()) {}

  /// The first one that pays.
  std::optional<Producer> find() const {
    for (uint32_t i = 0; i < f_.node_count(); ++i)
      if (auto found = producer_of(NodeId(i)); found && is_unchanged(*found) && pays(*found)) return found;
    return std::nullopt;
  }

 private:
  std::optional<Producer> producer_of(NodeId alloc) const {
    if (f_.op(alloc) != Op::alloc || f_.type(alloc) != Type::buffer(ir::Space::Host)) return std::nullopt;
    const auto users = uses_.of(alloc);
    if (users.size() != 1 || f_.op(users[0]) != Op::view || f_.operand(users[0], 0) != alloc)
      return std::nullopt;
    Producer found;
    found.view = users[0];
    for (const NodeId user : uses_.of(found.view)) {
      if (f_.op(user) == Op::load) found.loads.push_back(user);
      else if (f_.op(user) == Op::store && !found.store && f_.operands(user).back() != found.view)
        found.store = user;
      else return std::nullopt;
    }
    if (!found.store || found.loads.empty() || found.loads.size() > kMostLoads) return std::nullopt;
    if (!is_nest(found, f_[found.view].parent) || !collect(found)) return std::nullopt;
    const RegionId home = f_[found.nest].parent;
    const bool are_after = std::ranges::all_of(found.loads, [&](NodeId load) {
      return f_.encloses(home, load) && position(home, ancestor(home, load)) > position(home, found.nest);
    });
    return are_after ? std::optional(std::move(found)) : std::nullopt;
  }

  /// Whether the store is in loops over all indices of the view, in a region, which do nothing else.
  bool is_nest(Producer& found, RegionId home) const {
    const auto rank = static_cast<size_t>(f_.type(found.view).rank());
    const auto indices = f_.operands(found.store).subspan(1, rank);
    found.indices.assign(indices.begin(), indices.end());
    if (rank == 0) return false;
    std::set<NodeId> loops;
    for (size_t axis = 0; axis < rank; ++axis) {
      if (f_.op(indices[axis]) != Op::param) return false;
      const NodeId loop = f_[f_[indices[axis]].parent].owner;
      if (!loop || f_.op(loop) != Op::for_ || f_.attribute(indices[axis], 0) != 0) return false;
      if (f_.operands(loop).size() != 1 || ir::is_careful(f_, loop) || ir::is_directed(f_, loop))
        return false;
      if (!known_equal(f_, loop, f_.operand(loop, 0), f_.operand(found.view, 2 + axis))) return false;
      loops.insert(loop);
    }
    if (loops.size() != rank) return false;
    NodeId node = found.store;
    for (size_t i = 0; i < rank; ++i) {
      const NodeId loop = f_[f_[node].parent].owner;
      if (!loop || !loops.contains(loop)) return false;
      node = loop;
    }
    found.nest = node;
    const ir::Effects allowed = ir::effect::Read | ir::effect::Write;
    return f_[node].parent == home && (ir::effects_of(f_, node).bits & ~allowed.bits) == 0;
  }

  /// Finds the ops that make an element; false: not all are pure, or loads.
  bool collect(Producer& found) const {
    std::set<NodeId> known;
    std::vector<NodeId> waiting{f_.operands(found.store).back()};
    while (!waiting.empty()) {
      const NodeId node = waiting.back();
      waiting.pop_back();
      if (!f_.encloses(found.nest, node) || known.contains(node)) continue;
      if (f_.op(node) == Op::param) {
        if (std::ranges::find(found.indices, node) == found.indices.end()) return false;
        continue;
      }
      const ir::OpInfo& card = ir::info(f_.op(node));
      const bool is_load = f_.op(node) == Op::load;
      if (card.regions > 0 || f_.op(node) == Op::result || !(card.effects.pure() || is_load)) return false;
      known.insert(node);
      if (known.size() > kMostOps) return false;
      for (const NodeId operand : f_.operands(node)) waiting.push_back(operand);
    }
    found.ops.assign(known.begin(), known.end());
    return true;
  }

  /// Whether nothing writes what an element is made of, from the nest to the last load.
  bool is_unchanged(const Producer& found) const {
    const RegionId home = f_[found.nest].parent;
    std::vector<Root> sources;
    for (const NodeId op : found.ops)
      if (f_.op(op) == Op::load) sources.push_back(root_of(f_, f_.operand(op, 0)));
    const auto body = f_.region_body(home);
    size_t last = 0;
    for (const NodeId load : found.loads) last = std::max(last, position(home, ancestor(home, load)));
    for (size_t i = position(home, found.nest); i <= last; ++i)
      if (ends(body[i], sources)) return false;
    return true;
  }
  /// Whether a node may write what is in some memory, or do what is not known.
  bool ends(NodeId node, const std::vector<Root>& sources) const {
    return !ir::walk(f_, node, [&](NodeId inner) {
      const ir::Effects effects = ir::info(f_.op(inner)).effects;
      if (effects.any(ir::effect::Control)) return ir::Walk::Into;
      const ir::Effects all = ir::effects_of(f_, inner);
      if (all.any(ir::effect::Host | ir::effect::Sync)) return ir::Walk::Stop;
      if (!all.any(ir::effect::Write)) return ir::Walk::Into;
      const bool may_meet = std::ranges::any_of(sources, [&](const Root& source) {
        return !writes_one_view(f_.op(inner)) || may_overlap(f_, source, root_of(f_, f_.operand(inner, 0)));
      });
      return may_meet ? ir::Walk::Stop : ir::Walk::Into;
    });
  }

  bool pays(const Producer& found) const {
    int cost = 0;
    int64_t loads = 0;
    for (const NodeId op : found.ops) {
      const ir::OpInfo& card = ir::info(f_.op(op));
      cost += !card.elementwise                                                  ? 1
              : f_.type(op).is_scalar() && base::is_complex(f_.type(op).dtype()) ? 4 * card.cost
                                                                                 : card.cost;
      loads += f_.op(op) == Op::load ? 1 : 0;
    }
    const bool is_copy = loads == 1 && f_.op(f_.operands(found.store).back()) == Op::load;
    if (is_small(found.view) && !is_copy) return false;
    std::vector<Reader> readers;
    size_t deepest = 0;
    for (const NodeId load : found.loads) {
      auto loops = loops_around(found, load);
      if (!loops) return false;
      if (std::ranges::any_of(*loops, [&](NodeId loop) { return ir::is_careful(f_, loop); })) continue;
      deepest = std::max(deepest, loops->size());
      readers.push_back({load, std::move(*loops)});
    }
    const bool has_lanes = fits_lanes(f_, f_[f_[found.store].parent].owner, none_);
    std::vector<NodeId> counted;
    for (const auto& [load, loops] : readers) {
      const bool is_rest = loops.size() < deepest;
      if (is_rest && (cost <= kCheap || steps_with(load, loops))) continue;
      if (is_rest) return false;
      counted.push_back(load);
      if (std::ranges::any_of(loops, [&](NodeId loop) { return may_load_again(f_, loop, load); }))
        return false;
      if (cost > kCheap && has_lanes && (loops.empty() || !fits_lanes(f_, loops[0], none_))) return false;
    }
    if (readers.empty()) return false;
    const int64_t times = most_together(counted);
    return times * loads <= loads + 2 + times && (times <= 1 || cost <= kCheap);
  }
  /// How many of some loads there are at most that are not in different arms of a branch.
  int64_t most_together(std::span<const NodeId> loads) const {
    int64_t most = 0;
    for (const NodeId one : loads)
      most = std::max<int64_t>(
          most, std::ranges::count_if(loads, [&](NodeId other) { return !excludes(one, other); }));
    return most;
  }
  /// Whether two nodes are in different arms of a branch.
  bool excludes(NodeId one, NodeId other) const {
    for (RegionId region = f_[one].parent; f_[region].owner; region = f_[f_[region].owner].parent) {
      const NodeId owner = f_[region].owner;
      if (f_.encloses(owner, other)) return f_.op(owner) == Op::if_ && !f_.encloses(region, other);
    }
    return false;
  }
  /// Whether the indices of a load are computed of the numbers of all these loops' iterations, and of no
  /// number in memory.
  bool steps_with(NodeId load, const std::vector<NodeId>& loops) const {
    std::set<NodeId> seen;
    const auto indices = f_.operands(load).subspan(1);
    std::vector<NodeId> waiting(indices.begin(), indices.end());
    while (!waiting.empty()) {
      const NodeId node = waiting.back();
      waiting.pop_back();
      if (!seen.insert(node).second || f_.op(node) == Op::param) continue;
      if (f_.op(node) == Op::result || !ir::info(f_.op(node)).effects.pure()) return false;
      for (const NodeId operand : f_.operands(node)) waiting.push_back(operand);
    }
    return std::ranges::all_of(
        loops, [&](NodeId loop) { return seen.contains(f_.region_parameters(f_.region(loop))[0]); });
  }
  /// Whether an array is so small that the cache holds it, whatever the arguments are.
  bool is_small(NodeId view) const {
    const auto rank = static_cast<size_t>(f_.type(view).rank());
    auto bytes = static_cast<int64_t>(base::size_of(f_.type(view).dtype()));
    for (const NodeId length : f_.operands(view).subspan(2, rank)) {
      if (!f_.is_constant(length)) return false;
      bytes *= std::clamp<int64_t>(f_.constant(length).as<int64_t>(), 1, machine_.near_cache);
      bytes = std::min(bytes, machine_.near_cache);
    }
    return bytes < machine_.near_cache;
  }
  /// The loops around a load that are after the nest, the innermost first; none: it may be run again by
  /// others.
  std::optional<std::vector<NodeId>> loops_around(const Producer& found, NodeId load) const {
    const RegionId home = f_[found.nest].parent;
    std::vector<NodeId> loops;
    for (RegionId region = f_[load].parent; region != home; region = f_[f_[region].owner].parent) {
      const NodeId owner = f_[region].owner;
      if (ir::is_counted_loop(f_.op(owner))) loops.push_back(owner);
      else if (f_.op(owner) != Op::if_ && f_.op(owner) != Op::block) return std::nullopt;
    }
    return loops;
  }
  /// The node in a region that is, or encloses, another one.
  NodeId ancestor(RegionId home, NodeId node) const {
    while (f_[node].parent != home) node = f_[f_[node].parent].owner;
    return node;
  }
  size_t position(RegionId region, NodeId node) const {
    const auto body = f_.region_body(region);
    return static_cast<size_t>(std::ranges::find(body, node) - body.begin());
  }

  const Function& f_;
  const base::Machine& machine_;
  ir::Uses uses_;
  std::vector<bool> none_;  ///< no check is gone
};

class Rematerializer : public Rewriter {
 public:
  Rematerializer(const Function& source, const Producer& producer) : Rewriter(source), producer_(producer) {}

 protected:
  void visit(NodeId id) override {
    if (source_.op(id) != Op::load || source_.operand(id, 0) != producer_.view) return clone(id);
    std::map<NodeId, NodeId> made;
    for (size_t axis = 0; axis < producer_.indices.size(); ++axis)
      made[producer_.indices[axis]] = use(source_.operand(id, 1 + axis));
    const auto now = [&](NodeId old) {
      const auto known = made.find(old);
      return known != made.end() ? known->second : use(old);
    };
    for (const NodeId op : producer_.ops) {
      Nodes operands;
      for (const NodeId operand : source_.operands(op)) operands.push_back(now(operand));
      const Type type = ir::info(source_.op(op)).typed ? source_.type(op) : Type();
      made[op] = b_.make(source_.op(op), operands, source_.attributes(op), type);
    }
    bind(id, now(source_.operands(producer_.store).back()));
  }

 private:
  const Producer& producer_;
};

}  // namespace

std::unique_ptr<ir::Function> rematerialize(const ir::Function& function, const base::Machine& machine) {
  std::unique_ptr<ir::Function> made;
  for (int i = 0; i < kMostArrays; ++i) {
    const ir::Function& now = made ? *made : function;
    const auto producer = ProducerFinder(now, machine).find();
    if (!producer) break;
    made = dce(*Rematerializer(now, *producer).run());
  }
  return made;
}

}  // namespace ingot::transform
