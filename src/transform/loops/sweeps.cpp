// Sweeps through windows that become one (`sweeps`). A loop whose window begins s elements after the array
// changes element i + s in iteration i. With S the largest s, iteration t of all together is iteration t + S
// - s of each: they all change element t + S, so the order of changes of an element stays. The first S - s
// iterations of each loop come before, and what is left of it comes after; these are of other elements.

#include "transform/loops/sweeps.h"

#include <algorithm>
#include <array>
#include <optional>

#include "ir/directives.h"
#include "ir/loops.h"
#include "ir/walk.h"
#include "transform/analyses/alias.h"
#include "transform/writers/loop_writer.h"

namespace ingot::transform {

namespace {

/// Windows begin at most so many elements after the first, and this is written out for each.
constexpr int64_t kMostShift = 2;
constexpr size_t kMostLoops = 8;

struct Sweep {
  NodeId loop;
  NodeId window;
  std::optional<int64_t> shift;  ///< of the window, in elements; none: `node` is
  NodeId node;
  int64_t most;  ///< that it may be
  NodeId store;
};

class SweepJudge {
 public:
  explicit SweepJudge(const Function& function) : f_(function) {}

  /// What a loop does with a window; none: it is another loop.
  std::optional<Sweep> judge(NodeId loop) const {
    const bool is_plain = f_.op(loop) == Op::for_ && f_.result_count(loop) == 0 &&
                          !ir::is_careful(f_, loop) && !ir::is_directed(f_, loop) &&
                          !ir::has_lanes(ir::schedule_of(f_, loop));
    if (!is_plain) return std::nullopt;
    Sweep sweep{.loop = loop, .window = {}, .shift = {}, .node = {}, .most = 0, .store = {}};
    for (const NodeId node : f_.region_body(f_.region(loop))) {
      if (f_.op(node) != Op::store) continue;
      if (sweep.store) return std::nullopt;
      sweep.store = node;
    }
    if (!sweep.store || !find_window(sweep) || !fits(sweep)) return std::nullopt;
    return sweep;
  }

 private:
  NodeId index_of(NodeId loop) const { return f_.region_parameters(f_.region(loop))[0]; }
  std::optional<int64_t> number(NodeId node) const {
    if (!f_.is_constant(node)) return std::nullopt;
    return f_.constant(node).as<int64_t>();
  }

  bool find_window(Sweep& sweep) const {
    sweep.window = f_.operand(sweep.store, 0);
    const Type type = f_.type(sweep.window);
    if (f_.op(sweep.window) != Op::view || type.rank() != 1) return false;
    if (f_.operand(sweep.store, 1) != index_of(sweep.loop)) return false;
    const auto operands = f_.operands(sweep.window);
    const auto size = static_cast<int64_t>(base::size_of(type.dtype()));
    if (f_.op(operands[0]) != Op::alloc || number(operands[3]) != size) return false;
    if (const auto offset = number(operands[1])) {
      sweep.shift = sweep.most = *offset / size;
      return *offset >= 0 && *offset % size == 0 && *sweep.shift <= kMostShift;
    }
    if (f_.op(operands[1]) != Op::multiply) return false;
    for (const size_t i : {0, 1})
      if (number(f_.operand(operands[1], i)) == size) sweep.node = f_.operand(operands[1], 1 - i);
    sweep.most = sweep.node ? most_of(sweep.node) : 0;
    return sweep.most > 0;
  }
  /// The most that a value from 0 on may be, the smaller of a constant and a length; 0: it may be more than
  /// the largest shift.
  int64_t most_of(NodeId node) const {
    if (f_.op(node) != Op::minimum) return 0;
    for (const size_t i : {0, 1}) {
      const auto most = number(f_.operand(node, i));
      if (most && *most > 0 && *most <= kMostShift && f_.op(f_.operand(node, 1 - i)) == Op::length)
        return *most;
    }
    return 0;
  }
  /// Whether a loop computes numbers and touches of the array only what it stores.
  bool fits(const Sweep& sweep) const {
    const Root own = root_of(f_, sweep.window);
    return std::ranges::all_of(f_.region_body(f_.region(sweep.loop)), [&](NodeId node) {
      const ir::OpInfo& card = ir::info(f_.op(node));
      if (node == sweep.store) return true;
      if (card.terminator) return f_.op(node) == Op::yield;
      if (f_.op(node) != Op::load)
        return card.regions == 0 && card.effects.pure() && f_.type(node).is_scalar();
      const NodeId view = f_.operand(node, 0);
      if (view == sweep.window) return f_.operand(node, 1) == index_of(sweep.loop);
      return !may_overlap(f_, own, root_of(f_, view));
    });
  }

  const Function& f_;
};

class Sweeper : public Rewriter {
 public:
  explicit Sweeper(const Function& source) : Rewriter(source), loops_(b_), is_done_(source.node_count()) {}

  bool any() const { return any_; }

 protected:
  void visit(NodeId id) override {
    if (is_done_[id.index]) return;
    if (base_) {
      if (source_.op(id) == Op::store) return void(value_ = use(source_.operands(id).back()));
      if (source_.op(id) == Op::load && source_.operand(id, 0) == current_ && value_) return bind(id, value_);
    } else if (source_.op(id) == Op::for_) {
      Nodes between;
      const std::vector<Sweep> found = neighbours(id, between);
      if (found.size() > 1) return write(found, between);
    }
    clone(id);
  }

 private:
  /// The loops from one on that become one, and what is between them.
  std::vector<Sweep> neighbours(NodeId first, Nodes& between) const {
    const SweepJudge judge(source_);
    std::vector<Sweep> found;
    const auto start = judge.judge(first);
    if (!start) return found;
    found.push_back(*start);
    const auto body = source_.region_body(source_[first].parent);
    Nodes pending;
    for (auto next = std::ranges::find(body, first) + 1; next != body.end() && found.size() < kMostLoops;
         ++next) {
      const ir::OpInfo& card = ir::info(source_.op(*next));
      if (source_.op(*next) == Op::result) continue;
      if (source_.op(*next) == Op::for_) {
        const auto other = judge.judge(*next);
        if (!other || !are_alike(*start, *other)) break;
        found.push_back(*other);
        between.insert(between.end(), pending.begin(), pending.end());
        pending.clear();
      } else if (card.regions == 0 && card.effects.pure() && !card.terminator) {
        pending.push_back(*next);
      } else {
        break;
      }
    }
    const bool differ = std::ranges::any_of(
        found, [&](const Sweep& each) { return each.shift != start->shift || each.node != start->node; });
    if (!differ) found.clear();
    return found;
  }
  bool are_alike(const Sweep& a, const Sweep& b) const {
    return source_.operand(a.loop, 0) == source_.operand(b.loop, 0) &&
           source_.operand(a.window, 0) == source_.operand(b.window, 0) &&
           source_.type(a.window) == source_.type(b.window);
  }

  NodeId shift_of(const Sweep& sweep) { return sweep.shift ? b_.index(*sweep.shift) : use(sweep.node); }

  void write(const std::vector<Sweep>& found, const Nodes& between) {
    const ir::SpanId location = b_.span();
    any_ = true;
    for (const NodeId node : between) {
      visit(node);
      is_done_[node.index] = true;
    }
    const NodeId count = loops_.maximum(use(source_.operand(found[0].loop, 0)), b_.index(0));
    // The window that begins last, as far as that is known, has the loop's own index.
    const auto last = std::ranges::max_element(
        found, {}, [](const Sweep& each) { return each.shift ? *each.shift : kMostShift + 1; });
    NodeId most = shift_of(*last);
    for (const Sweep& each : found)
      if (each.node != last->node && each.shift != 0) most = loops_.maximum(most, shift_of(each));
    Nodes delays;
    for (const Sweep& each : found)
      delays.push_back(&each == &*last && most == shift_of(each) ? b_.index(0)
                                                                 : loops_.subtract(most, shift_of(each)));
    const int64_t furthest = std::ranges::max_element(found, {}, &Sweep::most)->most;
    const auto is_none = [&](NodeId delay) {
      return b_.function().is_constant(delay) && b_.function().constant(delay).as<int64_t>() == 0;
    };
    for (size_t i = 0; i < found.size(); ++i)
      if (!is_none(delays[i])) write_some(found[i], b_.index(0), loops_.minimum(delays[i], count), furthest);
    const NodeId together = loops_.maximum(loops_.subtract(count, most), b_.index(0));
    write_together(found, delays, together, static_cast<size_t>(last - found.begin()));
    for (size_t i = 0; i < found.size(); ++i)
      write_some(found[i], loops_.add(loops_.minimum(delays[i], count), together), count, found[i].most);
    for (const Sweep& each : found) is_done_[each.loop.index] = true;
    b_.set_span(location);
  }
  /// The iterations of one loop from `first` on that are before `end`: at most so many.
  void write_some(const Sweep& sweep, NodeId first, NodeId end, int64_t iterations) {
    const RegionId body = source_.region(sweep.loop);
    for (int64_t k = 0; k < iterations; ++k) {
      const NodeId at = loops_.add(first, b_.index(k));
      loops_.when(loops_.less(at, end), [&] {
        bind(source_.region_parameters(body)[0], at);
        visit_body(body);
      });
    }
  }
  void write_together(const std::vector<Sweep>& found, const Nodes& delays, NodeId count, size_t last) {
    set_location(found[0].loop);
    const ir::SpanId location = b_.span();
    const NodeId made = b_.begin(Op::for_, {&count, 1}, source_.attributes(found[0].loop));
    const NodeId index = b_.enter(made, 0, std::array{ir::kInt64})[0];
    base_ = found[last].window;
    value_ = loops_.load(use(base_), Nodes{loops_.add(index, delays[last])});
    for (size_t i = 0; i < found.size(); ++i) {
      const RegionId body = source_.region(found[i].loop);
      current_ = found[i].window;
      bind(source_.region_parameters(body)[0], loops_.add(index, delays[i]));
      visit_body(body);
    }
    loops_.store(use(base_), Nodes{loops_.add(index, delays[last])}, value_);
    base_ = current_ = value_ = {};
    b_.yield({});
    b_.set_span(location);
    b_.end(made);
  }

  LoopWriter loops_;
  std::vector<bool> is_done_;  ///< by node: it is in a loop made for several, or before it
  bool any_ = false;
  // While all are written together:
  NodeId base_;     ///< the window through which the array is loaded and stored
  NodeId current_;  ///< the window of the loop that is being written
  NodeId value_;    ///< of the element
};

}  // namespace

std::unique_ptr<ir::Function> sweeps(const ir::Function& function) {
  Sweeper sweeper(function);
  std::unique_ptr<Function> made = sweeper.run();
  return sweeper.any() ? std::move(made) : nullptr;
}

}  // namespace ingot::transform
