#include "transform/kernels.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "ir/walk.h"
#include "transform/apart.h"
#include "transform/kernel_plan.h"
#include "transform/kernel_scan.h"
#include "transform/kernel_team.h"
#include "transform/kernel_tiles.h"
#include "transform/kernel_together.h"
#include "transform/kernel_writer.h"
#include "transform/loop_writer.h"
#include "transform/rewriter.h"

namespace ingot::transform {

namespace {

/// Cells of one launch stand so many bytes apart.
constexpr int64_t kCell = 16;
/// Rows that are shorter are one thread's; a warp takes those up to the other length, and a block the longer
/// ones.
constexpr int64_t kShortRow = 64;
constexpr int64_t kLongRow = 2048;

/// What is said of a loop that writes into an array by which its turns meet.
constexpr std::string_view kMeeting =
    "a loop on a device writes into an array that has an element in two places; make it write into a copy of "
    "the array, made by `.copy()`";

class Parter : public Rewriter {
 public:
  Parter(const Function& source, const base::Machine& machine)
      : Rewriter(source),
        plan_(source, machine),
        loops_(b_),
        kernels_(loops_, machine),
        cells_(source.node_count()) {}

  bool changes() const { return plan_.any(); }

 protected:
  void visit(NodeId id) override {
    if (team_.team != nullptr) return write_in_team(id);
    if (inside_ && !stores_ && source_.op(id) == Op::store) return;
    if (inside_) return write_inside(id);
    finish_task_before(id);
    if (plan_.is_shared(id)) check_layouts(id);
    switch (plan_.part(id)) {
      case KernelPlan::Part::Task: return;
      case KernelPlan::Part::Nest: return write_nest(id);
      case KernelPlan::Part::Reduction: return write_reduction(id);
      case KernelPlan::Part::Scan: return write_scan(id);
      case KernelPlan::Part::Launch: return write_launch(id);
      case KernelPlan::Part::Host: break;
    }
    if (plan_.is_deferred(id)) return;
    clone(id);
  }
  void terminate(NodeId terminator) override {
    if (!inside_) finish_task_before(terminator);
    Rewriter::terminate(terminator);
  }

 private:
  void write_inside(NodeId id) {
    const Accumulation* const own = source_.op(id) == Op::store ? plan_.accumulation_of(id) : nullptr;
    if (own == nullptr) return clone(id);
    const auto operands = source_.operands(id);
    const NodeId sum = operands.back();
    const bool is_left = source_.operand(sum, 0) == own->load;
    NodeId value = use(source_.operand(sum, is_left ? 1 : 0));
    if (source_.op(sum) == Op::subtract) value = b_.make(Op::negative, {value});
    Nodes all = use_all(operands.first(operands.size() - 1));
    all.push_back(value);
    const int64_t attributes[] = {static_cast<int64_t>(own->combiner),
                                  static_cast<int64_t>(ir::Scope::Device),
                                  static_cast<int64_t>(ir::Order::Relaxed)};
    b_.make(Op::atomic, all, attributes);
  }
  using Part = KernelPlan::Part;
  /// Of the turn of a nest that a block of threads does.
  struct Team {
    KernelTeam* team = nullptr;
    std::vector<LaneReduction>* reductions = nullptr;
    std::vector<Nodes>* places = nullptr;
    size_t next = 0;         ///< of the reductions
    bool has_loads = false;  ///< since threads have waited for each other
  };

  /// @name Numbers that stay on the device
  void make_cells(std::span<const NodeId> values) {
    const NodeId bytes = b_.index(kCell * static_cast<int64_t>(values.size()));
    const NodeId buffer = b_.make(Op::alloc, {bytes}, {static_cast<int64_t>(ir::Life::Call)}, Type::buffer());
    const NodeId one = b_.index(1);
    for (size_t i = 0; i < values.size(); ++i)
      cells_[values[i].index] = loops_.c_view(buffer, b_.index(kCell * static_cast<int64_t>(i)), {&one, 1},
                                              source_.type(values[i]).dtype());
  }
  Nodes cells_of(std::span<const NodeId> values) const {
    Nodes cells;
    for (const NodeId value : values) cells.push_back(cells_[value.index]);
    return cells;
  }
  NodeId load_cell(NodeId value) {
    const NodeId zero = b_.index(0);
    return loops_.load(cells_[value.index], {&zero, 1});
  }
  /// After a launch: the host loads what it needs.
  void give(std::span<const NodeId> values) {
    for (const NodeId value : values) bind(value, plan_.is_deferred(value) ? NodeId() : load_cell(value));
  }
  /// At the top of a launch: what its nodes use of numbers that the host does not have. A task makes its own.
  void prepare(std::span<const NodeId> nodes, const KernelPlan::Task* task = nullptr) {
    ready_.clear();
    for (const NodeId node : nodes)
      ir::walk(source_, node, [&](NodeId at) {
        for (const NodeId operand : source_.operands(at))
          if (task == nullptr || !plan_.is_member(operand, *task)) make_ready(operand);
      });
  }
  void make_ready(NodeId value) {
    if (!plan_.is_deferred(value) || std::ranges::find(ready_, value) != ready_.end()) return;
    if (cells_[value.index]) {
      bind(value, load_cell(value));
    } else {
      for (const NodeId operand : source_.operands(value)) make_ready(operand);
      clone(value);
    }
    ready_.push_back(value);
  }
  void forget_ready() {
    for (const NodeId value : ready_) bind(value, NodeId());
    ready_.clear();
  }

  /// Turns that run at once must not meet.
  void check_layouts(NodeId id) {
    const Layouts layouts = written_layouts(source_, id);
    const NodeId apart = are_apart(loops_, source_, layouts.views, [&](NodeId old) { return use(old); });
    const Function& made = b_.function();
    if (made.is_constant(apart) && made.constant(apart).bits[0] != 0) return;
    set_place(id);
    const int64_t attributes[] = {static_cast<int64_t>(base::ExceptionKind::RuntimeError),
                                  b_.function().module().text(kMeeting).index};
    b_.make(Op::check, {{apart}}, attributes);
  }

  /// @name Launches
  void finish_task_before(NodeId id) {
    const KernelPlan::Task* const task = plan_.task_before(id);
    if (task == nullptr) return;
    const ir::SpanId place = b_.span();
    inside_ = true;
    if (task->is_read) {
      for (const NodeId node : task->nodes) visit_at_place(node);
    } else {
      inside_ = false;
      if (!task->results.empty()) make_cells(task->results);
      set_place(task->nodes.front());
      kernels_.single([&] {
        prepare(task->nodes, task);
        inside_ = true;
        for (const NodeId node : task->nodes) visit_at_place(node);
        const NodeId zero = b_.index(0);
        for (const NodeId result : task->results) loops_.store(cells_[result.index], {&zero, 1}, use(result));
        inside_ = false;
        forget_ready();
      });
      give(task->results);
    }
    inside_ = false;
    b_.set_span(place);
  }
  void visit_at_place(NodeId node) {
    set_place(node);
    visit(node);
  }

  void write_launch(NodeId id) {
    inside_ = true;
    clone(id);
    inside_ = false;
  }

  void write_nest(NodeId id) {
    const Nodes levels = plan_.levels_of(id);
    Nodes lengths;
    for (const NodeId level : levels) lengths.push_back(use(source_.operand(level, 0)));
    // Of threads that raise, the first one is that of the first turn where each has one turn.
    const bool is_flat = levels.size() > 1 && may_raise(id);
    Nodes axes = is_flat ? Nodes{loops_.product(lengths)} : lengths;
    // Turns that meet add up in memory, one by one.
    const bool is_plain = !may_raise(id) && plan_.has_independent_turns(id);
    together_ = is_plain ? turns_together(source_, levels) : 1;
    if (together_ > 1) {
      const NodeId up = loops_.add(axes.back(), b_.index(together_ - 1));
      axes.back() = b_.make(Op::floor_divide, {up, b_.index(together_)});
    }
    const auto by_threads = [&] {
      const auto thread = [&](std::span<const NodeId> at) {
        prepare({&id, 1});
        inside_ = true;
        write_level(levels, is_flat ? loops_.unflatten(at[0], lengths) : Nodes(at.begin(), at.end()), 0);
        inside_ = false;
        forget_ready();
      };
      kernels_.grid(axes, thread, together_ > 1);
      return Nodes();
    };
    if (const auto tiling = plan_.tiling_of(id)) return write_tiles(id, *tiling, by_threads);
    if (!plan_.suits_team(id)) return void(by_threads());
    const NodeId length = use(source_.operand(first_reduction_of(levels.back()), 0));
    const auto by_teams = [&] {
      const NodeId is_short = loops_.less_equal(length, b_.index(kLongRow));
      const NodeId threads =
          loops_.select(is_short, b_.index(KernelWriter::kWarp), b_.index(kernels_.block_threads()));
      write_teams(id, levels, lengths, threads);
      return Nodes();
    };
    loops_.branch(loops_.less(length, b_.index(kShortRow)), {}, by_threads, by_teams);
  }
  void write_tiles(NodeId id, const Tiling& tiling, const std::function<void()>& by_threads) {
    KernelTiles tiles(kernels_, loops_, source_, tiling, [this](NodeId old) { return use(old); });
    if (!tiles.fits()) return by_threads();
    const auto at_top = [&] {
      forget_ready();
      prepare({&id, 1});
    };
    const auto plain = [&] {
      forget_ready();
      by_threads();
    };
    tiles.write(at_top, plain);
    forget_ready();
  }
  NodeId first_reduction_of(NodeId level) const {
    return *std::ranges::find_if(source_.region_body(source_.region(level)), [&](NodeId node) {
      return source_.op(node) == Op::parallel_for && source_.result_count(node) > 0;
    });
  }

  /// A block of threads for each turn of a nest.
  void write_teams(NodeId id, const Nodes& levels, const Nodes& lengths, NodeId threads) {
    std::vector<LaneReduction> reductions;
    std::vector<Nodes> places;
    // Reductions come one after the other, and have their places of each dtype in common.
    std::map<DType, Nodes> known;
    const auto places_of = [&](const LaneReduction& reduction) {
      std::map<DType, size_t> used;
      Nodes all;
      for (size_t i = 0; i < reduction.slots().size(); ++i) {
        const DType dtype = reduction.lane_of(i);
        const size_t at = used[dtype]++;
        if (at == known[dtype].size()) known[dtype].push_back(reduction.place(i));
        all.push_back(known[dtype][at]);
      }
      return all;
    };
    const auto at_top = [&] {
      prepare({&id, 1});
      for (const NodeId node : source_.region_body(source_.region(levels.back()))) {
        if (source_.op(node) != Op::parallel_for || source_.result_count(node) == 0) continue;
        reductions.emplace_back(kernels_, loops_, slots_of(node));
        places.push_back(places_of(reductions.back()));
      }
    };
    kernels_.teams(loops_.product(lengths), threads, at_top, [&](NodeId row, NodeId thread) {
      KernelTeam team(kernels_, loops_, thread, threads);
      team_ = {&team, &reductions, &places, 0, false};
      inside_ = true;
      write_level(levels, loops_.unflatten(row, lengths), 0);
      inside_ = false;
      team_ = {};
    });
    forget_ready();
  }
  /// A node of the turn that a team does.
  void write_in_team(NodeId id) {
    KernelTeam* const team = std::exchange(team_.team, nullptr);
    const RegionId region = source_[id].region_count > 0 ? source_.region(id) : RegionId();
    const auto turn = [&](NodeId index) {
      bind(source_.region_parameters(region)[0], index);
      visit_body(region);
      return use_all(source_.operands(source_.terminator(region)));
    };
    const bool is_step = source_.op(id) == Op::store || source_[id].region_count > 0;
    // What all threads have loaded may change now.
    if (is_step && team_.has_loads) kernels_.barrier();
    team_.has_loads = !is_step && (team_.has_loads || source_.op(id) == Op::load);
    if (source_.op(id) == Op::store) {
      team->alone([&] { clone(id); });
    } else if (source_[id].region_count == 0) {
      clone(id);
    } else if (source_.result_count(id) == 0) {
      team->share(use(source_.operand(id, 0)), [&](NodeId index) { turn(index); });
    } else {
      const size_t at = team_.next++;
      const Nodes given = team->reduce((*team_.reductions)[at], use(source_.operand(id, 0)),
                                       use_all(source_.operands(id).subspan(1)), turn, (*team_.places)[at]);
      const Nodes results = source_.results_of(id);
      for (size_t i = 0; i < results.size(); ++i) bind(results[i], given[i]);
    }
    team_.team = team;
  }
  std::vector<LaneReduction::Slot> slots_of(NodeId loop) const {
    const auto combiners = source_.ints(loop);
    std::vector<LaneReduction::Slot> slots;
    for (size_t i = 0; i < combiners.size(); ++i)
      slots.push_back({static_cast<Op>(combiners[i]), source_.type(source_.result(loop, i)).dtype()});
    return slots;
  }
  void write_level(std::span<const NodeId> levels, std::span<const NodeId> indices, size_t level) {
    const RegionId region = source_.region(levels[level]);
    if (level + 1 == levels.size() && together_ > 1) return write_together(levels[level], indices[level]);
    bind(source_.region_parameters(region)[0], indices[level]);
    if (level + 1 == levels.size()) {
      visit_body(region);
      return;
    }
    for (const NodeId node : source_.region_body(region)) {
      if (source_.op(node) == Op::yield || source_.op(node) == Op::result) continue;
      if (node == levels[level + 1]) write_level(levels, indices, level + 1);
      else visit_at_place(node);
    }
  }

  /// The turns of a level that a thread does together, those of its number `group`.
  void write_together(NodeId level, NodeId group) {
    const NodeId width = b_.index(together_);
    const NodeId first = loops_.multiply(group, width);
    const NodeId count = loops_.minimum(loops_.subtract(use(source_.operand(level, 0)), first), width);
    const int64_t attributes[] = {static_cast<int64_t>(ir::Schedule::Vector), together_};
    const ir::SpanId place = b_.span();
    const NodeId loop = b_.begin(Op::for_, {&count, 1}, attributes);
    const NodeId turn = b_.enter(loop, 0, {{ir::kInt64}})[0];
    bind(source_.region_parameters(source_.region(level))[0], loops_.add(first, turn));
    visit_body(source_.region(level));
    b_.set_span(place);
    b_.yield({});
    b_.end(loop);
  }

  bool may_raise(NodeId id) const { return ir::effects_of(source_, id).any(ir::effect::Raise); }
  /// Does the turns of a loop for their exceptions alone, a thread each: those that combine values wait for
  /// each other, and must not leave.
  void write_exceptions(NodeId id) {
    const NodeId count = use(source_.operand(id, 0));
    const RegionId region = source_.region(id);
    kernels_.grid({&count, 1}, [&](std::span<const NodeId> indices) {
      prepare({&id, 1});
      bind(source_.region_parameters(region)[0], indices[0]);
      inside_ = true;
      visit_body(region);
      inside_ = false;
      forget_ready();
    });
  }

  void write_reduction(NodeId id) {
    const Nodes results = source_.results_of(id);
    const auto operands = source_.operands(id);
    if (may_raise(id)) write_exceptions(id);
    make_cells(results);
    const RegionId region = source_.region(id);
    KernelReduction reduction(kernels_, loops_, slots_of(id));
    reduction.write(
        use(operands[0]),
        [&] {
          forget_ready();
          prepare({&id, 1});
        },
        [&](NodeId turn) {
          bind(source_.region_parameters(region)[0], turn);
          inside_ = true;
          visit_body(region);
          inside_ = false;
          return use_all(source_.operands(source_.terminator(region)));
        },
        [&] { return use_all(operands.subspan(1)); }, cells_of(results));
    forget_ready();
    give(results);
  }

  void write_scan(NodeId id) {
    const Nodes results = source_.results_of(id);
    make_cells(results);
    const RegionId region = source_.region(id);
    const auto parameters = source_.region_parameters(region);
    const auto run = [&](NodeId turn, std::span<const NodeId> counters, bool stores) {
      bind(parameters[0], turn);
      for (size_t i = 0; i < counters.size(); ++i) bind(parameters[i + 1], counters[i]);
      inside_ = true;
      stores_ = stores;
      visit_body(region);
      inside_ = false;
      stores_ = true;
      return use_all(source_.operands(source_.terminator(region)));
    };
    KernelScan(kernels_, loops_, results.size())
        .write(
            use(source_.operand(id, 0)),
            [&] {
              forget_ready();
              prepare({&id, 1});
            },
            [&](NodeId turn) { return run(turn, Nodes(results.size(), b_.index(0)), false); },
            [&](NodeId turn, std::span<const NodeId> counters) { run(turn, counters, true); },
            [&] { return use_all(source_.operands(id).subspan(1)); }, cells_of(results));
    forget_ready();
    give(results);
  }

  KernelPlan plan_;
  LoopWriter loops_;
  KernelWriter kernels_;
  Nodes cells_;           ///< by value: a view of one element, of those that a launch gives
  Nodes ready_;           ///< deferred values that the open launch has
  int64_t together_ = 1;  ///< turns of a nest's last level that a thread does
  bool inside_ = false;   ///< nodes are written as they are
  bool stores_ = true;    ///< ... those that store among them
  Team team_;
};

}  // namespace

std::unique_ptr<ir::Function> kernels(const ir::Function& function, const base::Machine& machine) {
  Parter parter(function, machine);
  return parter.changes() ? parter.run() : nullptr;
}

}  // namespace ingot::transform
