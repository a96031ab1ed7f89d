// Stages run where they are read (`compute_at`, `store_at`, `inline`). The elements that an iteration reads
// are between bounds, which are computed at its start from the indices of all loads in it (`windows`);
// the loops of the stage run between them, and write into an array of as many elements. Where the bounds
// differ by a constant at most, its lengths are constants. What is outside the stage's own indices is in
// that array as little computed as it was before.
//
// Where what is read runs in two versions - checks hold, or run one by one -, the version without the loop
// has the whole stage before it. So has all of it where a view may not be a part of the array that it seems
// to be.

#include "transform/loops/move_stage.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"
#include "ir/directives.h"
#include "ir/loops.h"
#include "ir/walk.h"
#include "transform/analyses/known_equal.h"
#include "transform/analyses/ranges.h"
#include "transform/functions/simplify.h"
#include "transform/loops/find_stage.h"
#include "transform/loops/nest_steps.h"

namespace ingot::transform {

using ir::index_sum;

namespace {

/// Arrays have the most that they may need, where that is known and takes no more bytes.
constexpr int64_t kMostBytes = int64_t{1} << 22;
/// Elements that are computed where they are read become so many nodes at most.
constexpr size_t kMostNodes = 8192;
/// The bytes that rows of such an array are multiples of.
constexpr int64_t kRow = 64;

class StageWriter : public Rewriter {
 public:
  StageWriter(const Function& source, const Stage& stage)
      : Rewriter(source), stage_(stage), loops_(b_), whole_(stage.elsewhere.begin(), stage.elsewhere.end()) {}

  std::unique_ptr<Function> compute_at(NodeId at, NodeId stored) {
    at_ = at;
    stored_ = stored;
    find_path();
    return run();
  }
  std::unique_ptr<Function> compute_inline() {
    is_inline_ = true;
    find_element();
    return run();
  }

 protected:
  void visit(NodeId id) override {
    const bool is_own = stage_.has(id);
    if (mode_ == Mode::Outside) {
      if (id == stage_.nest || (is_own && sinks())) return;
      if (is_inline_ && std::ranges::find(stage_.readers, id) != stage_.readers.end()) nest_ = id;
      return id == nest_ ? write_versions(id) : clone(id);
    }
    if (mode_ == Mode::Whole) return clone(id);
    if (is_own && sinks()) return;
    if (const int axis = stage_.axis_of(id); axis >= 0) return write_loop(id, static_cast<size_t>(axis));
    const bool is_access = source_.op(id) == Op::load || source_.op(id) == Op::store;
    if (!is_access || !stage_.has(source_.operand(id, 0))) return clone(id);
    if (is_inline_) return bind(id, write_element(id));
    write_access(id);
  }
  void set_location(NodeId id) override {
    Rewriter::set_location(id);
    if (mode_ == Mode::Whole && is_open(source_, id)) b_.set_span(named_location(source_, id, ""));
  }
  void set_attributes(NodeId id, std::span<int64_t> attributes) override {
    if (mode_ == Mode::Arranged && in_order_.contains(id))
      attributes[0] = static_cast<int64_t>(ir::Schedule::Serial);
  }
  void enter_region(RegionId region) override {
    if (mode_ == Mode::Whole) return;
    if (whole_.contains(region)) {
      before_ = std::exchange(mode_, Mode::Whole);
      return write_whole_where_needed(region);
    }
    if (mode_ != Mode::Arranged || is_inline_) return;
    if (region == source_.region(stored_)) write_array();
    if (region == source_.region(at_)) write_stage();
  }
  void leave_region(RegionId region) override {
    if (whole_.contains(region) && before_) mode_ = std::exchange(before_, std::nullopt).value_or(mode_);
  }

 private:
  enum class Mode : uint8_t {
    Outside,
    Arranged,  ///< in the version that reads what is computed there
    Whole,     ///< in a version before which all of the array is computed
  };
  [[noreturn]] void refuse(NodeId at, const std::string& what, const std::string& advice,
                           std::span<const NodeId> nodes = {}) const {
    refuse_directive(source_, at, what, advice, nodes);
  }
  /// Whether the array is made only where all of it is computed.
  bool sinks() const { return stage_.computed == stage_.nest; }

  // Before writing.

  /// Finds the regions that are versions without the loop, and refuses what reads the array around it.
  void find_path() {
    if (!source_.encloses(stage_.used, at_) && stage_.used != at_) {
      refuse(at_,
             "the stage " + quoted(stage_.name) + " computed in " + quoted(ir::loop_name(source_, at_)) +
                 ", which is not in the nest that reads it,",
             "name a loop that holds what reads it");
    }
    if (stored_ != at_ && !source_.encloses(stored_, at_)) {
      refuse(at_,
             "the stage " + quoted(stage_.name) + " stored in " + quoted(ir::loop_name(source_, stored_)) +
                 ", which is no loop around " + quoted(ir::loop_name(source_, at_)) + ",",
             "store it in a loop around the one that it is computed in");
    }
    if (stored_ != stage_.used && !source_.encloses(stage_.used, stored_)) {
      refuse(at_,
             "the stage " + quoted(stage_.name) + " stored in " + quoted(ir::loop_name(source_, stored_)) +
                 ", which is around its own loops, too,",
             "store it in a loop of the nest that reads it");
    }
    if (stored_ != at_) {
      for (NodeId loop = at_; loop != stored_; loop = source_[source_[loop].parent].owner)
        if (ir::is_counted_loop(source_.op(loop))) in_order_.insert(loop);
    }
    // Versions that hold no loop have all of the array before what reads it; so have nodes before the loop.
    bool is_in_loop = false;
    for (NodeId node = stage_.used; node != at_;) {
      if (!is_in_loop) nest_ = node;
      is_in_loop = is_in_loop || source_.op(node) != Op::if_;
      const RegionId region = region_to(node);
      for (size_t i = 0; i < source_[node].region_count && !is_in_loop; ++i) {
        if (source_.region(node, i) != region && reads(source_.region(node, i)))
          whole_.insert(source_.region(node, i));
      }
      NodeId next;
      for (const NodeId inner : source_.region_body(region)) {
        if (inner == at_ || source_.encloses(inner, at_)) next = inner;
        else if (!is_in_loop) find_version(inner);
      }
      node = next;
    }
    if (!is_in_loop) nest_ = at_;
    for (const NodeId load : stage_.loads) {
      const bool is_elsewhere =
          !source_.encloses(stage_.used, load) ||
          std::ranges::any_of(whole_, [&](RegionId region) { return source_.encloses(region, load); });
      if (!source_.encloses(at_, load) && !is_elsewhere) {
        const NodeId nodes[] = {load};
        refuse(at_,
               "the stage " + quoted(stage_.name) + " computed in " + quoted(ir::loop_name(source_, at_)) +
                   ", outside of which {} reads it,",
               "name a loop that holds all that reads it", nodes);
      }
    }
  }
  /// Of a node next to the nest: an arm that reads the array has all of it before.
  void find_version(NodeId node) {
    for (size_t i = 0; source_.op(node) == Op::if_ && i < source_[node].region_count; ++i)
      if (reads(source_.region(node, i))) whole_.insert(source_.region(node, i));
  }
  RegionId region_to(NodeId node) const {
    for (size_t i = 0; i < source_[node].region_count; ++i)
      if (source_.encloses(source_.region(node, i), at_)) return source_.region(node, i);
    return {};
  }
  bool reads(RegionId region) const {
    return std::ranges::any_of(stage_.loads, [&](NodeId load) { return source_.encloses(region, load); });
  }
  /// Finds how one element is computed; refuses a stage of which not each element is, by one store.
  void find_element() {
    const auto refuse_stage = [&](NodeId node, const std::string& why, const std::string& advice) {
      const NodeId nodes[] = {node};
      refuse(stage_.nest, "the stage " + quoted(stage_.name) + " inline, " + why + ",", advice, nodes);
    };
    const std::string other = "compute it in a loop: `compute_at(...)`";
    if (stage_.stores.size() != 1) refuse_stage(stage_.stores[1], "which stores at {}, too", other);
    const NodeId store = stage_.stores[0];
    for (NodeId loop = source_[source_[store].parent].owner;; loop = source_[source_[loop].parent].owner) {
      if (stage_.axis_of(loop) < 0)
        refuse_stage(store, "which stores {} in a branch or a loop of its own", other);
      if (loop == stage_.nest) break;
    }
    for (const Stage::Axis& axis : stage_.axes) {
      if (!stage_.covers(source_, axis))
        refuse_stage(store, "which does not compute all of its array at {}", other);
    }
    size_t nodes = 0;
    ir::walk(source_, stage_.nest, [&](NodeId node) {
      const bool reads_own = source_.op(node) == Op::load && stage_.has(source_.operand(node, 0));
      if (reads_own || source_.op(node) == Op::alloc) refuse_stage(node, "which keeps elements at {}", other);
      ++nodes;
    });
    if (nodes * stage_.loads.size() > kMostNodes)
      refuse_stage(store, "which becomes too much code where {} is read", other);
  }

  // Versions.

  /// Writes the node that reads the array, in the versions that there have to be.
  void write_versions(NodeId id) {
    const ir::SpanId location = b_.span();
    const Nodes results = source_.op(id) == Op::load ? Nodes{id} : source_.results_of(id);
    std::vector<Type> types;
    for (const NodeId result : results) types.push_back(source_.type(result));
    const auto version = [&](Mode mode, bool computes) {
      return [&, mode, computes] {
        mode_ = mode;
        for (const NodeId node : stage_.from_around)
          if (mode == Mode::Arranged || computes) clone(node);
        if (mode == Mode::Whole && computes) write_whole(source_[id].parent, id);
        set_location(id);
        visit(id);
        mode_ = Mode::Outside;
        return use_all(results);
      };
    };
    const auto where_views_fit = [&] {
      return loops_.branch(views_fit(), types, version(Mode::Arranged, false), version(Mode::Whole, true));
    };
    Nodes given;
    if (sinks()) {
      given = where_views_fit();
    } else {
      const NodeId condition = use(source_.operand(stage_.computed, 0));
      const auto computed = version(Mode::Whole, false);
      given = is_first_version() ? loops_.branch(condition, types, where_views_fit, computed)
                                 : loops_.branch(condition, types, computed, where_views_fit);
    }
    b_.set_span(location);
    for (size_t i = 0; i < results.size(); ++i) bind(results[i], given[i]);
  }
  /// All of the array, in another version, unless it has been computed there.
  void write_whole_where_needed(RegionId version) {
    if (sinks()) return write_whole(version, {});
    const auto computed = [&] {
      for (const NodeId node : stage_.from_around) clone(node);
      write_whole(version, {});
    };
    const NodeId condition = use(source_.operand(stage_.computed, 0));
    loops_.when(is_first_version() ? condition : loops_.negate(condition), computed);
  }
  /// Whether the nest runs where the condition holds.
  bool is_first_version() const { return source_[stage_.nest].parent == source_.region(stage_.computed, 0); }

  /// All of the array, at the start of a region, or before a node in it.
  void write_whole(RegionId region, NodeId before) {
    if (sinks()) {
      clone(stage_.alloc);
      for (const NodeId view : stage_.views) {
        const bool is_behind = before ? view > before : source_.encloses(region, view);
        if (!is_behind && source_.reaches(view, region)) clone(view);
      }
    }
    set_location(stage_.nest);
    clone(stage_.nest);
  }

  /// The length of the array along an axis.
  NodeId length_of(const Stage::Axis& axis) {
    if (axis.length) return use(axis.length);
    return b_.make(Op::floor_divide, {use(axis.bytes), loops_.maximum(use(axis.bytes_of_step), b_.index(1))});
  }
  /// Whether all views are parts of the array, as their first elements and steps have it.
  NodeId views_fit() {
    NodeId all = loops_.truth(true);
    for (const NodeId view : stage_.views) {
      if (!is_used_here(view)) continue;
      const auto own = static_cast<size_t>(source_.type(view).rank());
      for (const NodeId operand : source_.operands(view).subspan(1)) {
        if (!source_.encloses(nest_, operand) && !source_.encloses(stage_.nest, operand)) continue;
        const NodeId nodes[] = {view};
        refuse(stage_.nest,
               "the stage " + quoted(stage_.name) + ", of which a part is taken at {} in a loop,",
               "read and write elements: `array[i, j]`", nodes);
      }
      Placement placement;
      place(source_, stage_, view, placement);
      NodeId holds = loops_.truth(true);
      for (const NodeId condition : placement.conditions) holds = loops_.both(holds, use(condition));
      NodeId is_empty = loops_.truth(false);
      for (size_t axis = 0; axis < stage_.axes.size(); ++axis) {
        IndexSum low = made(placement.first[axis]);
        IndexSum high = low;
        for (size_t i = 0; i < own; ++i) {
          const int64_t step = placement.steps[i][axis];
          IndexSum last = index_sum(b_.function(), use(source_.operand(view, 2 + i)));
          last.constant -= 1;
          (step > 0 ? high : low).add(last, step);
        }
        const NodeId length = length_of(stage_.axes[axis]);
        holds = loops_.both(holds, compared(Op::less_equal, b_.index(0), write(b_, low)));
        holds = loops_.both(holds, compared(Op::less, write(b_, high), length));
      }
      for (size_t i = 0; i < own; ++i)
        is_empty = loops_.either(is_empty, loops_.less(use(source_.operand(view, 2 + i)), b_.index(1)));
      if (!b_.function().is_constant(holds, 1)) holds = loops_.either(holds, is_empty);
      all = loops_.both(all, holds);
    }
    return all;
  }
  /// Whether what is computed where it is read uses a view.
  bool is_used_here(NodeId view) const {
    const auto uses = [&](NodeId node) {
      return !source_.operands(node).empty() && source_.operand(node, 0) == view;
    };
    return ir::any_within(source_, source_.region(stage_.nest), uses) ||
           std::ranges::any_of(stage_.loads, [&](NodeId load) {
             return uses(load) && (load == nest_ || source_.encloses(nest_, load));
           });
  }
  NodeId compared(Op op, NodeId a, NodeId b) {
    const std::optional<bool> known = known_comparison(b_.function(), op, a, b);
    return known ? loops_.truth(*known) : b_.make(op, {a, b});
  }

  // Computed at a loop.

  BoundWriter bounds_at(NodeId loop) {
    return BoundWriter(source_, b_, source_.region(loop), [this](NodeId old) { return use(old); });
  }
  /// What all loads in a loop read along an axis.
  Window window_of(BoundWriter& bounds, NodeId loop, size_t axis) {
    const NodeId length = length_of(stage_.axes[axis]);
    Window whole{b_.index(0), length, {}, {}};
    if (!stage_.axes[axis].loop) return whole;
    std::vector<IndexSum> indices;
    for (const NodeId load : stage_.loads)
      if (source_.encloses(loop, load)) indices.push_back(position_in(source_, stage_, load)[axis]);
    return bounds.window(indices, length).value_or(whole);
  }
  std::vector<Window> windows_of(BoundWriter& bounds, NodeId loop) {
    std::vector<Window> all;
    for (size_t axis = 0; axis < stage_.axes.size(); ++axis) all.push_back(window_of(bounds, loop, axis));
    return all;
  }

  /// Makes the array for what an iteration of the loop reads that it is stored in.
  void write_array() {
    BoundWriter bounds = bounds_at(stored_);
    array_ = windows_of(bounds, stored_);
    Nodes lengths;
    auto bytes = static_cast<int64_t>(base::size_of(stage_.dtype));
    for (const Window& window : array_) {
      const bool is_short = window.most && std::max<int64_t>(*window.most, 1) <= kMostBytes / bytes;
      if (is_short) bytes *= std::max<int64_t>(*window.most, 1);
      lengths.push_back(is_short ? b_.index(std::max<int64_t>(*window.most, 0))
                                 : loops_.maximum(window.count, b_.index(0)));
    }
    // Rows begin where vectors do.
    const NodeId vector =
        b_.index(std::max<int64_t>(1, kRow / static_cast<int64_t>(base::size_of(stage_.dtype))));
    if (lengths.size() > 1) lengths.back() = loops_.multiply(loops_.ceiling(lengths.back(), vector), vector);
    view_ = loops_.new_view(lengths, stage_.dtype);
  }

  /// Runs the stage for what an iteration of the loop reads.
  void write_stage() {
    std::vector<Window> windows = array_;
    if (stored_ != at_) windows = new_windows();
    runs_.assign(stage_.axes.size(), {});
    for (size_t i = 0; i < stage_.axes.size(); ++i) {
      const Stage::Axis& axis = stage_.axes[i];
      if (!axis.loop) continue;
      const NodeId own = use(source_.operand(axis.loop, 0));
      Window run = windows[i];
      if (axis.runs_down || !stage_.covers(source_, axis)) {
        const NodeId first = write(b_, made(axis.offset)), one = b_.index(1);
        const NodeId least = axis.runs_down ? loops_.subtract(loops_.add(first, one), own) : first;
        const NodeId begin = loops_.maximum(run.low, least);
        const NodeId end = loops_.minimum(loops_.add(run.low, run.count), loops_.add(least, own));
        run.low = axis.runs_down ? difference(loops_.add(first, one), end) : difference(begin, first);
        run.count = difference(end, begin);
        limit(loops_, run);
      }
      runs_[i] = run;
    }
    set_location(stage_.nest);
    visit(stage_.nest);
  }
  /// A sum of the source as one of what its values have become.
  IndexSum made(const IndexSum& sum) {
    return index_sum(b_.function(), sum, [this](NodeId old) { return use(old); });
  }
  NodeId difference(NodeId a, NodeId b) {
    IndexSum sum = index_sum(b_.function(), a);
    sum.add(index_sum(b_.function(), b), -1);
    return write(b_, sum);
  }

  /// What an iteration reads and the one before has not.
  std::vector<Window> new_windows() {
    const NodeId index = source_.region_parameters(source_.region(at_))[0];
    const NodeId now = use(index);
    BoundWriter here = bounds_at(at_), before = bounds_at(at_);
    before.replace(index, loops_.subtract(now, b_.index(1)));
    std::vector<Window> windows = windows_of(here, at_);
    const std::vector<Window> earlier = windows_of(before, at_);
    const NodeId is_first = loops_.less(now, b_.index(1));
    std::optional<size_t> moves;
    for (size_t i = 0; i < windows.size(); ++i) {
      if (windows[i].low == earlier[i].low && windows[i].count == earlier[i].count) continue;
      if (moves) {
        refuse(at_,
               "the stage " + quoted(stage_.name) + " stored outside of " +
                   quoted(ir::loop_name(source_, at_)) +
                   ", whose iterations read windows that move along two axes,",
               "store it where it is computed");
      }
      moves = i;
    }
    for (size_t i = 0; i < windows.size(); ++i) {
      Window& window = windows[i];
      if (!stage_.axes[i].loop) continue;
      if (!moves) window.count = loops_.select(is_first, window.count, b_.index(0));
      if (moves == i) {
        leave_out(window, earlier[i], is_first);
      }
      clip(window, array_[i]);
    }
    return windows;
  }
  /// Leaves out what the window before has had: what this one begins with, or ends with where each is known
  /// to be before the one before.
  void leave_out(Window& window, const Window& before, NodeId is_first) {
    IndexSum moved = window.start;
    moved.add(before.start, -1);
    const bool is_back = moved.is_constant() && moved.constant < 0;
    const NodeId end = loops_.add(window.low, window.count);
    const NodeId before_end = loops_.add(before.low, before.count);
    const NodeId goes_on =
        loops_.both(loops_.negate(is_first),
                    is_back ? loops_.less_equal(end, before_end) : loops_.less_equal(before.low, window.low));
    if (is_back) {
      window.count = difference(loops_.select(goes_on, loops_.minimum(before.low, end), end), window.low);
    } else {
      window.low = loops_.select(goes_on, loops_.maximum(before_end, window.low), window.low);
      window.count = difference(end, window.low);
    }
  }
  /// Keeps a window within the array.
  void clip(Window& window, const Window& array) {
    const NodeId begin = loops_.maximum(window.low, array.low);
    const NodeId most = array.most
                            ? loops_.minimum(loops_.maximum(array.count, b_.index(0)), b_.index(*array.most))
                            : loops_.maximum(array.count, b_.index(0));
    const NodeId end = loops_.minimum(loops_.add(window.low, window.count), loops_.add(array.low, most));
    window.low = begin;
    window.count = difference(end, begin);
    limit(loops_, window);
  }

  /// Writes a loop of the stage for the indices that are needed.
  void write_loop(NodeId id, size_t axis) {
    const ir::SpanId before = b_.span();
    const ir::SpanId location = named_location(source_, id, ir::loop_name(source_, id));
    b_.set_span(location);
    const NodeId made = b_.begin(Op::for_, {&runs_[axis].count, 1}, source_.attributes(id));
    const Type index[] = {ir::kInt64};
    const NodeId within = b_.enter(made, 0, index)[0];
    bind(source_.region_parameters(source_.region(id))[0], loops_.add(runs_[axis].low, within));
    visit_body(source_.region(id));
    b_.set_span(location);
    b_.yield({});
    b_.end(made);
    b_.set_span(before);
  }

  Nodes indices_of(NodeId access) {
    const std::vector<IndexSum> position = position_in(source_, stage_, access);
    Nodes indices(position.size());
    for (size_t i = 0; i < indices.size(); ++i) indices[i] = write(b_, made(position[i]));
    return indices;
  }
  void write_access(NodeId id) {
    Nodes operands = indices_of(id);
    for (size_t i = 0; i < operands.size(); ++i) operands[i] = difference(operands[i], array_[i].low);
    operands.insert(operands.begin(), view_);
    if (source_.op(id) == Op::store) operands.push_back(use(source_.operands(id).back()));
    const NodeId made = b_.make(source_.op(id), operands, source_.attributes(id));
    if (source_.op(id) == Op::load) bind(id, made);
  }

  // Computed where it is read.

  NodeId write_element(NodeId load) {
    const Nodes indices = indices_of(load);
    for (size_t i = 0; i < indices.size(); ++i) {
      const Stage::Axis& axis = stage_.axes[i];
      if (!axis.loop) continue;
      const NodeId index = axis.runs_down ? difference(write(b_, made(axis.offset)), indices[i]) : indices[i];
      bind(source_.region_parameters(source_.region(axis.loop))[0], index);
    }
    write_until_store(source_.region(stage_.nest));
    return use(source_.operands(stage_.stores[0]).back());
  }
  void write_until_store(RegionId region) {
    for (const NodeId node : source_.region_body(region)) {
      if (node == stage_.stores[0]) return;
      if (stage_.axis_of(node) >= 0) return write_until_store(source_.region(node));
      if (source_.op(node) == Op::result) continue;
      set_location(node);
      clone(node);
    }
  }

  const Stage& stage_;
  LoopWriter loops_;
  NodeId at_;
  NodeId stored_;
  NodeId nest_;  ///< that is, or encloses, the loop, without the versions around it
  bool is_inline_ = false;
  Mode mode_ = Mode::Outside;
  std::optional<Mode> before_;  ///< what it was around a version
  std::set<RegionId> whole_;    ///< arms that read the array, and have all of it before
  std::set<NodeId> in_order_;   ///< loops whose iterations need those before
  std::vector<Window> array_;   ///< what the new array has
  std::vector<Window> runs_;    ///< the iterations that the stage's loops have
  NodeId view_;
};

}  // namespace

std::unique_ptr<Function> compute_at(const Function& function, NodeId nest, NodeId at, NodeId stored) {
  const Stage stage = find_stage(function, nest, false);
  return dce(*StageWriter(function, stage).compute_at(at, stored));
}

std::unique_ptr<Function> compute_inline(const Function& function, NodeId nest) {
  const Stage stage = find_stage(function, nest, true);
  return dce(*StageWriter(function, stage).compute_inline());
}

}  // namespace ingot::transform
