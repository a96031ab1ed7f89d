// Loops that become one (`fuse_nests`). Loops after each other that share memory, of one count, are one if no
// iteration of one touches what another iteration of the other does: statements that change an array in place
// go through it once, and stores of one are forwarded to loads of the next. What is raised between them comes
// first where what was written is not seen.
//
// Where rows are reduced and what is made of them is used on the rows again - a normalisation - the loops
// stay as they are, each with lanes of its own, and go through a strip of rows one after the other, which the
// cache holds meanwhile.

#include "transform/loops/fuse_nests.h"

#include <algorithm>
#include <array>

#include "ir/directives.h"
#include "ir/loops.h"
#include "ir/walk.h"
#include "transform/analyses/alias.h"
#include "transform/analyses/dependence.h"
#include "transform/analyses/disjoint.h"
#include "transform/analyses/known_equal.h"
#include "transform/analyses/lane_judge.h"
#include "transform/functions/simplify.h"
#include "transform/writers/loop_writer.h"

namespace ingot::transform {

namespace {

/// Of more loops the one that they become holds too much for registers, and each asks about all others.
constexpr size_t kMostLoops = 32;
/// What an element of a row is taken for.
constexpr int64_t kElementBytes = 8;

/// What loops after each other may become.
enum class Form : uint8_t {
  One,     ///< a loop that does all iterations' work
  Strips,  ///< a loop over strips of iterations, in which they follow each other
};

/// Loops that become one.
struct Group {
  Nodes loops;    ///< in order
  Nodes between;  ///< what is between them, to be computed before
};

/// Finds, from a loop on, those after it in its region that can become one with it.
class Neighbours {
 public:
  Neighbours(const Function& function, NodeId first, const base::Machine& machine, Form form = Form::One)
      : f_(function), machine_(machine), form_(form), none_(function.node_count()) {
    if (!add_first(first)) return;
    const auto body = f_.region_body(f_[first].parent);
    auto next = std::ranges::find(body, first);
    Nodes between;
    while (++next != body.end()) {
      const NodeId node = *next;
      if (f_.op(node) == Op::result) continue;
      if (f_.op(node) == Op::for_) {
        if (!joins(node)) break;
        add(node);
        group_.between.insert(group_.between.end(), between.begin(), between.end());
        between.clear();
      } else if (may_go_first(node)) {
        between.push_back(node);
      } else {
        break;
      }
    }
  }

  const Group& group() const { return group_; }

 private:
  struct Memory {
    NodeId view;
    bool written;
  };

  bool add_first(NodeId loop) {
    if (!is_simple(loop)) return false;
    add(loop);
    return true;
  }
  void add(NodeId loop) {
    group_.loops.push_back(loop);
    collect(f_.region(loop), memory_);
  }
  /// Whether a loop carries nothing, and reads and writes memory at most.
  bool is_simple(NodeId loop) const {
    if (f_.operands(loop).size() != 1 || f_.result_count(loop) > 0) return false;
    if (ir::is_directed(f_, loop)) return false;
    const ir::Effects allowed = ir::effect::Read | ir::effect::Write;
    return (ir::effects_of(f_, loop).bits & ~allowed.bits) == 0;
  }
  void collect(RegionId region, std::vector<Memory>& found) const {
    ir::walk(f_, region, [&](NodeId node) {
      const ir::Effects effects = ir::info(f_.op(node)).effects;
      const bool writes = effects.any(ir::effect::Write);
      if (!writes && !effects.any(ir::effect::Read)) return;
      for (const NodeId operand : f_.operands(node)) {
        if (!f_.type(operand).is_view()) continue;
        const auto known = std::ranges::find(found, operand, &Memory::view);
        if (known == found.end()) found.push_back({operand, writes});
        else known->written = known->written || writes;
      }
    });
  }
  /// Whether one of them writes what the other one touches.
  bool shares(const std::vector<Memory>& others) const {
    return std::ranges::any_of(others, [&](const Memory& other) {
      return std::ranges::any_of(memory_, [&](const Memory& own) {
        return (own.written || other.written) && have_one_buffer(own.view, other.view);
      });
    });
  }
  bool have_one_buffer(NodeId a, NodeId b) const {
    if (a == b) return true;
    return f_.op(a) == Op::view && f_.op(b) == Op::view && f_.operand(a, 0) == f_.operand(b, 0);
  }
  bool joins(NodeId loop) const {
    const NodeId first = group_.loops[0];
    if (group_.loops.size() == kMostLoops) return false;
    if (!is_simple(loop) || !known_equal(f_, first, f_.operand(first, 0), f_.operand(loop, 0))) return false;
    if (!std::ranges::equal(f_.attributes(first), f_.attributes(loop))) return false;
    std::vector<Memory> own;
    collect(f_.region(loop), own);
    if (!shares(own)) return false;
    return (form_ == Form::Strips || may_be_one(loop, own)) && keep_order(loop);
  }
  /// Whether one loop does the work of the group and of another loop well.
  bool may_be_one(NodeId loop, const std::vector<Memory>& own) const {
    const NodeId first = group_.loops[0];
    const auto is_new = [&](const Memory& m) {
      return std::ranges::find(memory_, m.view, &Memory::view) == memory_.end();
    };
    if (memory_.size() + static_cast<size_t>(std::ranges::count_if(own, is_new)) > machine_.streams)
      return false;
    const bool nests = ir::has_loop(f_, f_.region(loop));
    const bool first_nests = ir::has_loop(f_, f_.region(first));
    if (nests != first_nests && !is_of_rows(loop)) return false;
    return nests || first_nests || fits_lanes(f_, loop, none_) == fits_lanes(f_, first, none_);
  }
  /// Whether different elements of what a loop writes are at different locations.
  bool writes_disjoint(NodeId loop) const {
    const Layouts written = written_layouts(f_, loop);
    return written.known && written.views.empty();
  }
  bool keep_order(NodeId loop) const {
    if (!writes_disjoint(loop) ||
        !std::ranges::all_of(group_.loops, [&](NodeId each) { return writes_disjoint(each); }))
      return false;
    // Nothing in one loop is made of what is computed in another: two at a time are all that there is.
    return std::ranges::none_of(group_.loops, [&](NodeId each) {
      return find_conflict_between(f_, std::array{f_.region(each), f_.region(loop)}, std::array{each, loop})
          .has_value();
    });
  }
  /// Whether kernels do the iterations of the group, and of a loop that may join it, as rows: some of them
  /// reduce.
  bool is_of_rows(NodeId loop) const {
    const auto reduces = [&](NodeId each) {
      return ir::any_within(f_, f_.region(each), [&](NodeId node) {
        return f_.op(node) == Op::parallel_for && f_.result_count(node) > 0;
      });
    };
    return machine_.has_kernels() && (reduces(loop) || std::ranges::any_of(group_.loops, reduces));
  }
  /// Whether somebody may see, after an exception, what the group has written.
  bool is_written_seen() const {
    for (uint32_t i = 0; i < f_.node_count(); ++i)
      if (f_.op(NodeId(i)) == Op::keep) return true;
    return std::ranges::any_of(
        memory_, [&](const Memory& m) { return m.written && root_of(f_, m.view).kind != Root::Kind::Fresh; });
  }
  /// Whether a node after loops of the group gives the same before them.
  bool may_go_first(NodeId node) const {
    const ir::OpInfo& card = ir::info(f_.op(node));
    if (card.terminator || card.regions > 0) return false;
    if (card.effects.pure() || card.effects == ir::effect::Allocate) return true;
    if (card.effects == ir::effect::Raise) return !is_written_seen();
    if (card.effects != ir::effect::Read || !f_.type(f_.operand(node, 0)).is_view()) return false;
    const Root root = root_of(f_, f_.operand(node, 0));
    return std::ranges::none_of(
        memory_, [&](const Memory& m) { return m.written && may_overlap(f_, root, root_of(f_, m.view)); });
  }

  const Function& f_;
  const base::Machine& machine_;
  const Form form_;
  std::vector<bool> none_;  ///< no check is gone
  Group group_;
  std::vector<Memory> memory_;  ///< of the loops of the group
};

class NestFuser : public Rewriter {
 public:
  NestFuser(const Function& source, const base::Machine& machine)
      : Rewriter(source), machine_(machine), is_done_(source.node_count()) {}

  /// Whether loops have become one.
  bool has_fused() const { return has_fused_; }
  /// ... that hold others.
  bool has_new_neighbours() const { return has_new_neighbours_; }

 protected:
  void visit(NodeId id) override {
    if (is_done_[id.index]) return;
    if (source_.op(id) == Op::store) return visit_store(id);
    if (source_.op(id) == Op::load) return visit_load(id);
    const ir::Effects changes = ir::effect::Write | ir::effect::Host | ir::effect::Sync;
    if (ir::info(source_.op(id)).effects.any(changes)) stored_.clear();
    if (source_.op(id) != Op::for_) return clone(id);
    const Neighbours neighbours(source_, id, machine_);
    const Group& group = neighbours.group();
    if (group.loops.size() < 2) return clone(id);
    write(group);
  }
  void enter_region(RegionId) override { stored_.clear(); }
  void leave_region(RegionId) override { stored_.clear(); }

 private:
  void write(const Group& group) {
    has_fused_ = true;
    for (const NodeId node : group.between) {
      set_location(node);
      clone(node);
      is_done_[node.index] = true;
    }
    const NodeId first = group.loops[0];
    set_location(first);
    const ir::SpanId location = b_.span();
    const NodeId count = use(source_.operand(first, 0));
    const NodeId made = b_.begin(Op::for_, {&count, 1}, source_.attributes(first));
    const NodeId index = b_.enter(made, 0, std::array{ir::kInt64})[0];
    stored_.clear();
    for (const NodeId loop : group.loops) {
      const RegionId body = source_.region(loop);
      for (const NodeId node : source_.region_body(body))
        has_new_neighbours_ = has_new_neighbours_ || source_.op(node) == Op::for_;
      bind(source_.region_parameters(body)[0], index);
      visit_body(body);
      is_done_[loop.index] = true;
    }
    stored_.clear();
    b_.set_span(location);
    b_.yield({});
    b_.end(made);
  }

  /// What has just been stored is not loaded.
  void visit_store(NodeId id) {
    Nodes operands = use_all(source_.operands(id));
    const NodeId value = operands.back();
    clone(id);
    operands.pop_back();
    std::erase_if(stored_, [&](const Stored& each) {
      return may_overlap(b_.function(), root_of(b_.function(), each.position[0]),
                         root_of(b_.function(), operands[0]));
    });
    auto element = element_of(b_.function(), operands[0], std::span(operands).subspan(1));
    stored_.push_back({std::move(operands), std::move(element), value});
  }
  void visit_load(NodeId id) {
    const Nodes position = use_all(source_.operands(id));
    const auto element = element_of(b_.function(), position[0], std::span(position).subspan(1));
    const auto known = std::ranges::find_if(stored_, [&](const Stored& each) {
      return each.position == position || (element && each.element == element);
    });
    if (known == stored_.end()) return clone(id);
    bind(id, known->value);
  }

  struct Stored {
    Nodes position;  ///< a view and indices
    std::optional<BufferLocation> element;
    NodeId value;
  };
  const base::Machine& machine_;
  std::vector<bool> is_done_;  ///< by node: it is in a loop made for several, or before it
  std::vector<Stored> stored_;
  bool has_fused_ = false;
  bool has_new_neighbours_ = false;
};

/// Has loops go through strips of rows together.
class StripWriter : public Rewriter {
 public:
  StripWriter(const Function& source, const base::Machine& machine)
      : Rewriter(source),
        loops_(b_),
        machine_(machine),
        cache_(machine.far_cache / 8),
        is_done_(source.node_count()) {}

 protected:
  void visit(NodeId id) override {
    if (is_done_[id.index]) return;
    if (iterations_ || !is_of_rows(id)) return clone(id);
    const Neighbours neighbours(source_, id, machine_, Form::Strips);
    if (!pays(neighbours.group())) return clone(id);
    write(neighbours.group());
  }

 private:
  /// Whether a loop, for which nothing is decided yet, has others in it.
  bool is_of_rows(NodeId id) const {
    if (source_.op(id) != Op::for_ || ir::width_of(source_, id) != 0) return false;
    if (ir::is_directed(source_, id)) return false;
    const ir::Schedule schedule = ir::schedule_of(source_, id);
    const bool is_open = schedule == ir::Schedule::Serial || schedule == ir::Schedule::Independent;
    return is_open && ir::has_loop(source_, source_.region(id));
  }
  /// Whether a loop reduces rows, and another one goes through the same array.
  bool pays(const Group& group) const {
    Nodes seen;
    bool reduces = false;
    bool again = false;
    for (const NodeId loop : group.loops) {
      const Nodes own = arrays_of_rows(loop);
      again = again || (reduces && std::ranges::any_of(own, [&](NodeId array) {
                          return std::ranges::find(seen, array) != seen.end();
                        }));
      seen.insert(seen.end(), own.begin(), own.end());
      reduces = reduces || ir::any_within(source_, source_.region(loop), [&](NodeId node) {
                  return source_.op(node) == Op::parallel_for && source_.result_count(node) > 0;
                });
    }
    // Threads share the strips.
    return again && std::ranges::none_of(group.loops,
                                         [&](NodeId loop) { return find_race(source_, loop).has_value(); });
  }
  /// The arrays whose elements the loops in a loop go through: views, or the buffers that they are made of.
  Nodes arrays_of_rows(NodeId loop) const {
    Nodes arrays;
    ir::walk(source_, source_.region(loop), [&](NodeId node) {
      if (source_.op(node) != Op::load && source_.op(node) != Op::store) return;
      const NodeId view = source_.operand(node, 0);
      if (source_.type(view).rank() < 2) return;
      const NodeId array = source_.op(view) == Op::view ? source_.operand(view, 0) : view;
      if (std::ranges::find(arrays, array) == arrays.end()) arrays.push_back(array);
    });
    return arrays;
  }

  void write(const Group& group) {
    for (const NodeId node : group.between) {
      set_location(node);
      clone(node);
      is_done_[node.index] = true;
    }
    const NodeId first = group.loops[0];
    set_location(first);
    const NodeId total = loops_.maximum(use(source_.operand(first, 0)), b_.index(0));
    loops_.blocks(total, strip_length(group), true, [&](NodeId begin, NodeId iterations) {
      iterations_ = iterations;
      for (const NodeId loop : group.loops) write_strip(loop, begin);
      iterations_ = {};
    });
  }
  void write_strip(NodeId loop, NodeId begin) {
    set_location(loop);
    const ir::SpanId location = b_.span();
    const NodeId made = b_.begin(Op::for_, {&iterations_, 1}, source_.attributes(loop));
    const NodeId index = b_.enter(made, 0, std::array{ir::kInt64})[0];
    bind(source_.region_parameters(source_.region(loop))[0], loops_.add(begin, index));
    visit_body(source_.region(loop));
    b_.yield({});
    b_.set_span(location);
    b_.end(made);
    is_done_[loop.index] = true;
  }
  /// Iterations of which the cache holds the rows of all arrays: those of the longest loops that are known.
  NodeId strip_length(const Group& group) {
    Nodes arrays;
    Nodes counts;
    const auto add = [](Nodes& to, NodeId node) {
      if (std::ranges::find(to, node) == to.end()) to.push_back(node);
    };
    for (const NodeId loop : group.loops) {
      for (const NodeId array : arrays_of_rows(loop)) add(arrays, array);
      ir::walk(source_, source_.region(loop), [&](NodeId node) {
        if (!ir::is_counted_loop(source_.op(node))) return;
        const NodeId count = source_.operand(node, 0);
        if (!source_.encloses(loop, count)) add(counts, use(count));
      });
    }
    NodeId longest = b_.index(1);
    for (const NodeId count : counts) longest = loops_.maximum(longest, count);
    const auto bytes = kElementBytes * static_cast<int64_t>(arrays.size());
    const NodeId row = loops_.bytes_in(cache_, bytes, {&longest, 1});
    return loops_.maximum(loops_.iterations_in(cache_, row), b_.index(1));
  }

  LoopWriter loops_;
  const base::Machine& machine_;
  int64_t cache_;              ///< bytes that a strip takes
  std::vector<bool> is_done_;  ///< by node: it is in a strip, or before it
  NodeId iterations_;          ///< of the strip that is being written; none: none is
};

/// Drops stores after which the same location is stored to in the same region, and not read between (dead
/// stores).
class OverwrittenStores : public Rewriter {
 public:
  explicit OverwrittenStores(const Function& source) : Rewriter(source), is_dead_(source.node_count()) {
    look_in(source.body());
  }

 protected:
  void visit(NodeId id) override {
    if (!is_dead_[id.index]) clone(id);
  }

 private:
  std::span<const NodeId> index_of(NodeId store) const {
    return source_.operands(store).first(source_.operands(store).size() - 1);
  }
  void look_in(RegionId region) {
    Nodes later;
    const auto body = source_.region_body(region);
    for (size_t i = body.size(); i-- > 0;) {
      const NodeId node = body[i];
      for (size_t k = 0; k < source_[node].region_count; ++k) look_in(source_.region(node, k));
      const ir::OpInfo& card = ir::info(source_.op(node));
      if (card.terminator || (card.regions == 0 && card.effects.pure())) continue;
      if (source_.op(node) == Op::load) {
        const Root root = root_of(source_, source_.operand(node, 0));
        std::erase_if(later, [&](NodeId store) {
          return may_overlap(source_, root, root_of(source_, source_.operand(store, 0)));
        });
      } else if (source_.op(node) == Op::store) {
        is_dead_[node.index] = std::ranges::any_of(
            later, [&](NodeId store) { return std::ranges::equal(index_of(store), index_of(node)); });
        later.push_back(node);
      } else {
        later.clear();
      }
    }
  }

  std::vector<bool> is_dead_;
};

}  // namespace

std::unique_ptr<ir::Function> fuse_nests(const ir::Function& function, const base::Machine& machine) {
  std::unique_ptr<Function> made;
  for (bool again = true, any = false; again;) {
    NestFuser fuser(made ? *made : function, machine);
    std::unique_ptr<Function> next = fuser.run();
    made = std::move(next);
    any = any || fuser.has_fused();
    again = fuser.has_new_neighbours();
    if (!again && any) made = dce(*OverwrittenStores(*made).run());
  }
  return machine.has_lanes() ? StripWriter(*made, machine).run() : std::move(made);
}

}  // namespace ingot::transform
