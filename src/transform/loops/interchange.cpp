// Loops that go inside (`interchange`). A loop of which each iteration goes through the same arrays - a
// convolution by slices, steps in time without neighbours - runs for a strip of 16 KiB of them at a time, if
// no iteration of the nest touches what another one does in any iteration around (`find_conflict_between`).
// Four iterations are written after each other, for `fuse_nests` to make one: the element stays in a
// register. Strips are shared by threads.

#include "transform/loops/interchange.h"

#include <algorithm>
#include <array>
#include <optional>

#include "ir/directives.h"
#include "ir/walk.h"
#include "transform/analyses/dependence.h"
#include "transform/analyses/known_equal.h"
#include "transform/writers/loop_writer.h"

namespace ingot::transform {

namespace {

/// Strips of loops without others inside are multiples of this many iterations.
constexpr int64_t kStripGrain = 64;
/// The loop around the strips is unrolled by so many iterations, which `fuse_nests` makes one of; where they
/// have no more nodes than this.
constexpr int64_t kIterationsAtOnce = 4;
constexpr size_t kMostNodes = 40;

/// What is to be run by strips.
struct Strips {
  NodeId around;  ///< the loop that holds them
  Nodes loops;    ///< of one count, in that order
  NodeId count;
  Nodes lengths;              ///< of the loops in them, from outside
  int64_t element_bytes = 0;  ///< of an element of each view
  size_t nodes = 0;           ///< in an iteration of the loop around
};

/// Whether, and how, a loop goes into the nests in it.
class StripJudge {
 public:
  StripJudge(const Function& function, NodeId loop) : f_(function), loop_(loop), depends_(f_.node_count()) {}

  std::optional<Strips> judge() {
    NodeId around = loop_;
    for (;;) {
      if (f_.operands(around).size() != 1 || f_.result_count(around) > 0) return std::nullopt;
      if (ir::is_directed(f_, around)) return std::nullopt;
      const auto serial = static_cast<int64_t>(ir::Schedule::Serial);
      if (f_.attribute(around, 0) != serial) return std::nullopt;
      depends_[f_.region_parameters(f_.region(around))[0].index] = true;
      Nodes loops;
      for (const NodeId node : f_.region_body(f_.region(around))) {
        if (f_.op(node) == Op::for_) {
          loops.push_back(node);
          continue;
        }
        const ir::OpInfo& card = ir::info(f_.op(node));
        const bool harmless =
            card.effects.pure() || card.effects == ir::effect::Read || f_.op(node) == Op::yield;
        if (f_[node].region_count > 0 || !harmless) return std::nullopt;
        mark(node);
      }
      if (loops.empty()) return std::nullopt;
      if (can_be_strips(loops)) return describe(around, loops);
      if (loops.size() > 1) return std::nullopt;
      around = loops[0];
    }
  }

 private:
  void mark(NodeId node) {
    depends_[node.index] =
        std::ranges::any_of(f_.operands(node), [&](NodeId operand) { return depends_[operand.index]; });
  }
  bool is_outside(NodeId node) const { return !f_.encloses(loop_, node); }

  bool can_be_strips(const Nodes& loops) {
    const NodeId count = f_.operand(loops[0], 0);
    if (!is_outside(count) && !f_.is_constant(count)) return false;
    const ir::Effects allowed = ir::effect::Read | ir::effect::Write;
    for (const NodeId loop : loops) {
      if (f_.operands(loop).size() != 1 || f_.result_count(loop) > 0) return false;
      if (ir::is_directed(f_, loop)) return false;
      if (!known_equal(f_, loop_, f_.operand(loop, 0), count)) return false;
      if ((ir::effects_of(f_, loop).bits & ~allowed.bits) != 0) return false;
    }
    const bool rewrites =
        std::ranges::any_of(loops, [&](NodeId each) { return rewrites_in(f_.region(each)); });
    if (!rewrites) return false;
    const RegionId around[] = {f_.region(loop_)};
    return !find_conflict_between(f_, around, loops);
  }
  /// Whether something is stored at locations that are the same in all iterations around.
  bool rewrites_in(RegionId region) {
    bool any = false;
    ir::walk(f_, region, [&](NodeId node) {
      mark(node);
      if (f_.op(node) != Op::store) return;
      const auto position = f_.operands(node).first(f_.operands(node).size() - 1);
      any = any || std::ranges::none_of(position, [&](NodeId part) { return depends_[part.index]; });
    });
    return any;
  }

  std::optional<Strips> describe(NodeId around, const Nodes& loops) {
    Strips strips{.around = around, .loops = loops, .count = f_.operand(loops[0], 0), .lengths = {}};
    std::vector<uint32_t> views;
    ir::walk(f_, f_.region(around), [&](NodeId) { ++strips.nodes; });
    for (const NodeId loop : loops) collect(f_.region(loop), strips, views);
    // The lengths of the deepest nest.
    for (const NodeId loop : loops) {
      Nodes lengths;
      if (!lengths_in(f_.region(loop), lengths)) lengths.clear();
      if (lengths.size() > strips.lengths.size()) strips.lengths = std::move(lengths);
    }
    return strips;
  }
  void collect(RegionId region, Strips& strips, std::vector<uint32_t>& views) {
    ir::walk(f_, region, [&](NodeId node) {
      if (f_.op(node) != Op::load && f_.op(node) != Op::store) return;
      const NodeId view = f_.operand(node, 0);
      if (std::ranges::find(views, view.index) != views.end()) return;
      views.push_back(view.index);
      strips.element_bytes += static_cast<int64_t>(base::size_of(f_.type(view).dtype()));
    });
  }
  bool lengths_in(RegionId region, Nodes& lengths) {
    for (const NodeId node : f_.region_body(region)) {
      if (f_.op(node) != Op::for_) continue;
      const NodeId count = f_.operand(node, 0);
      if (!is_outside(count) && !f_.is_constant(count)) return false;
      lengths.push_back(count);
      return lengths_in(f_.region(node), lengths);
    }
    return true;
  }

  const Function& f_;
  NodeId loop_;
  std::vector<bool> depends_;  ///< by node: on the iterations of the loops around
};

class Interchanger : public Rewriter {
 public:
  Interchanger(const Function& source, const base::Machine& machine)
      : Rewriter(source), loops_(b_), cache_(machine.near_cache / 2) {}

 protected:
  void visit(NodeId id) override {
    if (source_.op(id) != Op::for_) return clone(id);
    if (first_) {
      if (std::ranges::find(strips_.loops, id) != strips_.loops.end()) return write_strip(id);
      return id == strips_.around && strips_.nodes <= kMostNodes ? write_unrolled(id) : clone(id);
    }
    std::optional<Strips> found = StripJudge(source_, id).judge();
    if (!found) return clone(id);
    strips_ = std::move(*found);
    write(id);
  }

 private:
  /// The new node of a count before the loops; a constant may be further in.
  NodeId outside(NodeId count) {
    return source_.is_constant(count) ? b_.constant(source_.type(count), source_.constant(count))
                                      : use(count);
  }
  /// Iterations of a strip, of which the cache holds what it touches of all arrays.
  NodeId strip_length() {
    Nodes lengths;
    for (const NodeId length : strips_.lengths) lengths.push_back(outside(length));
    NodeId iterations = loops_.iterations_in(cache_, loops_.bytes_in(cache_, strips_.element_bytes, lengths));
    if (lengths.empty()) iterations = b_.make(Op::bitwise_and, {iterations, b_.index(-kStripGrain)});
    return loops_.maximum(iterations, b_.index(1));
  }

  void write(NodeId loop) {
    const ir::SpanId location = b_.span();
    const NodeId total = loops_.maximum(outside(strips_.count), b_.index(0));
    loops_.blocks(total, strip_length(), true, [&](NodeId first, NodeId iterations) {
      first_ = first;
      iterations_ = iterations;
      visit(loop);
      first_ = {};
    });
    b_.set_span(location);
  }
  void write_strip(NodeId loop) {
    const ir::SpanId location = b_.span();
    const NodeId made = b_.begin(Op::for_, {&iterations_, 1}, source_.attributes(loop));
    const NodeId index = b_.enter(made, 0, std::array{ir::kInt64})[0];
    bind(source_.region_parameters(source_.region(loop))[0], loops_.add(first_, index));
    visit_body(source_.region(loop));
    b_.yield({});
    b_.set_span(location);
    b_.end(made);
  }

  /// Several iterations of a loop after each other, and what is left.
  void write_unrolled(NodeId loop) {
    const ir::SpanId location = b_.span();
    const RegionId body = source_.region(loop);
    const NodeId index = source_.region_parameters(body)[0];
    const NodeId several = b_.index(kIterationsAtOnce);
    const NodeId count = loops_.maximum(use(source_.operand(loop, 0)), b_.index(0));
    const NodeId blocks = b_.make(Op::floor_divide, {count, several});
    const auto loop_of = [&](NodeId iterations, const std::function<void(NodeId)>& write) {
      const NodeId made = b_.begin(Op::for_, {&iterations, 1}, source_.attributes(loop));
      write(b_.enter(made, 0, std::array{ir::kInt64})[0]);
      b_.yield({});
      b_.set_span(location);
      b_.end(made);
    };
    loop_of(blocks, [&](NodeId block) {
      const NodeId iteration = loops_.multiply(block, several);
      for (int64_t i = 0; i < kIterationsAtOnce; ++i) {
        bind(index, loops_.add(iteration, b_.index(i)));
        visit_body(body);
      }
    });
    const NodeId done = loops_.multiply(blocks, several);
    loop_of(loops_.subtract(count, done), [&](NodeId iteration) {
      bind(index, loops_.add(iteration, done));
      visit_body(body);
    });
  }

  LoopWriter loops_;
  int64_t cache_;      ///< bytes of the near cache that a block takes
  Strips strips_;      ///< that are being written
  NodeId first_;       ///< iteration of the strip; none: no strips are being written
  NodeId iterations_;  ///< of the strip
};

}  // namespace

std::unique_ptr<ir::Function> interchange(const ir::Function& function, const base::Machine& machine) {
  return Interchanger(function, machine).run();
}

}  // namespace ingot::transform
