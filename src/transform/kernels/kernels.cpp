#include "transform/kernels/kernels.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "ir/calls.h"
#include "ir/evaluate.h"
#include "ir/walk.h"
#include "transform/analyses/alias.h"
#include "transform/analyses/disjoint.h"
#include "transform/analyses/recurrence.h"
#include "transform/kernels/cooperative_group.h"
#include "transform/kernels/kernel_bins.h"
#include "transform/kernels/kernel_plan.h"
#include "transform/kernels/kernel_rows.h"
#include "transform/kernels/kernel_scan.h"
#include "transform/kernels/kernel_scatter.h"
#include "transform/kernels/kernel_tiles.h"
#include "transform/kernels/kernel_together.h"
#include "transform/kernels/kernel_writer.h"
#include "transform/kernels/row_memory.h"
#include "transform/writers/loop_writer.h"
#include "transform/writers/rewriter.h"

namespace ingot::transform {

namespace {

/// Cells of one launch are so many bytes apart.
constexpr int64_t kCell = 16;
/// Rows up to this length are one thread's; a warp takes those up to the other length, and a block the longer
/// ones.
constexpr int64_t kShortRow = ThreadGroup::kMostIterations;
constexpr int64_t kLongRow = WarpGroup::kMostIterations;
/// Numbers up to this size are counted in 32 bits.
constexpr int64_t kLargestCount = 1 << 10;
/// So many rows keep all threads busy.
constexpr int64_t kManyRows = 1 << 14;
/// Where threads do an iteration together, there are so many warps.
constexpr int64_t kWarpsAlong = 1 << 12;
/// Elements of an array that a loop of the host's reads one by one are read at once, if they have up to so
/// many bytes, and are up to so many bytes apart.
constexpr int64_t kReadAtOnce = 4096;
constexpr int64_t kReadStride = 128;
/// ... at so many loads of a function.
constexpr size_t kMostReadAtOnce = 16;

/// The message for a loop that writes into an array through which its iterations conflict.
constexpr std::string_view kMeeting =
    "a loop on a device writes into an array that has an element in two places; make it write into a copy of "
    "the array, made by `.copy()`";

class KernelOutliner : public Rewriter {
 public:
  KernelOutliner(const Function& source, const base::Machine& machine)
      : Rewriter(source),
        plan_(source, machine),
        loops_(b_),
        kernels_(loops_, machine),
        cells_(source.node_count()) {
    const auto own = source.module().find(source.name());
    if (own && ir::recursive_functions(source.module())[own->index]) copied_ = kMostReadAtOnce;
  }

  bool changes() const { return plan_.any(); }

 protected:
  void visit(NodeId id) override {
    if (inside_ && memory_ != nullptr && write_in_memory(id)) return;
    if (group_.group != nullptr) return write_in_group(id);
    if (row_ != nullptr) return row_->write(id);
    if (reads_ && source_.op(id) == Op::load) return read(id);
    if (inside_ && !stores_ && source_.op(id) == Op::store) return;
    if (inside_ && is_known_after(id)) return;
    if (inside_ && along_.step && source_.op(id) == Op::for_) return write_along(id);
    if (inside_) return write_inside(id);
    finish_task_before(id);
    if (plan_.is_shared(id)) check_layouts(id);
    switch (plan_.part(id)) {
      case KernelPlan::Part::Task: return;
      case KernelPlan::Part::Nest: return write_nest(id);
      case KernelPlan::Part::Reduction: return write_reduction(id);
      case KernelPlan::Part::Scan: return write_scan(id);
      case KernelPlan::Part::Scatter: return write_scatter(id);
      case KernelPlan::Part::Launch: return write_launch(id);
      case KernelPlan::Part::Host: break;
    }
    if (plan_.is_deferred(id)) return;
    if (source_.op(id) == Op::for_ && plan_.part(id) == Part::Host) return write_host_loop(id);
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
    if (!own->exact) return keep_summand(*own);
    const auto operands = source_.operands(id);
    const NodeId sum = operands.back();
    const bool is_left = source_.operand(sum, 0) == own->load;
    NodeId value = use(source_.operand(sum, is_left ? 1 : 0));
    if (source_.op(sum) == Op::subtract) value = b_.make(Op::negative, {value});
    if (bins_ != nullptr) return bins_->add(use(operands[1]), value);
    Nodes all = use_all(operands.first(operands.size() - 1));
    all.push_back(value);
    kernels_.atomic(own->combiner, ir::Scope::Device, all);
  }
  using Part = KernelPlan::Part;
  /// Which iterations a thread runs of the loop that an iteration comes to: `first`, `first + step`, ...
  struct Along {
    NodeId first;
    NodeId step;
  };
  /// What does the iteration of a nest that reduces rows.
  struct Group {
    CooperativeGroup* group = nullptr;
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

  /// What comes at the top of each launch of a node.
  std::function<void()> top_of(NodeId id) {
    return [this, id] {
      forget_ready();
      prepare({&id, 1});
    };
  }

  /// Iterations that run at once must not conflict.
  void check_layouts(NodeId id) {
    const Layouts layouts = written_layouts(source_, id);
    const NodeId apart = are_disjoint(loops_, source_, layouts.views, [&](NodeId old) { return use(old); });
    const Function& made = b_.function();
    if (made.is_constant(apart) && made.constant(apart).bits[0] != 0) return;
    set_location(id);
    const int64_t attributes[] = {static_cast<int64_t>(base::ExceptionKind::RuntimeError),
                                  b_.function().module().text(kMeeting).index};
    b_.make(Op::check, {{apart}}, attributes);
  }

  /// @name Launches
  void finish_task_before(NodeId id) {
    const KernelPlan::Task* const task = plan_.task_before(id);
    if (task == nullptr) return;
    const ir::SpanId location = b_.span();
    inside_ = true;
    if (task->is_read) {
      reads_ = true;
      for (const NodeId node : task->nodes) visit_at_place(node);
      reads_ = false;
    } else {
      inside_ = false;
      if (!task->results.empty()) make_cells(task->results);
      set_location(task->nodes.front());
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
    b_.set_span(location);
  }
  /// What the host has of an array, where that `is_there`.
  struct HostCopy {
    NodeId view;
    NodeId copy;
    NodeId is_there;
  };
  const HostCopy* copy_of(NodeId view) const {
    const auto found = std::ranges::find(copies_, view, &HostCopy::view);
    return found == copies_.end() ? nullptr : &*found;
  }
  void read(NodeId node) {
    const HostCopy* const known = copy_of(source_.operand(node, 0));
    if (known == nullptr) return clone(node);
    const HostCopy own = *known;
    const Nodes at = use_all(source_.operands(node).subspan(1));
    const auto from_copy = [&] { return Nodes{loops_.load(own.copy, at)}; };
    const auto from_array = [&] { return Nodes{loops_.load(use(own.view), at)}; };
    bind(node, loops_.branch(own.is_there, {source_.type(node)}, from_copy, from_array)[0]);
  }
  /// A loop of the host's: of small arrays that it reads, and that nothing in it writes, it has a copy.
  void write_host_loop(NodeId id) {
    const size_t known = copies_.size();
    for (const NodeId load : plan_.reads_in(id)) {
      const NodeId view = source_.operand(load, 0);
      const bool is_row = source_.type(view).rank() == 1 && !source_.encloses(source_.region(id), view);
      if (is_row && copied_ < kMostReadAtOnce && copy_of(view) == nullptr && !may_write(source_, id, view))
        copy_to_host(load);
    }
    clone(id);
    copies_.resize(known);
  }
  void copy_to_host(NodeId load) {
    const ir::SpanId location = b_.span();
    set_location(load);
    const NodeId old = source_.operand(load, 0);
    const NodeId view = use(old);
    const DType dtype = source_.type(old).dtype();
    const NodeId length = b_.length(view, 0);
    const NodeId apart = loops_.absolute(b_.make(Op::stride, {view}, {0}));
    const NodeId most = b_.index(kReadAtOnce / static_cast<int64_t>(base::size_of(dtype)));
    const NodeId is_there =
        loops_.both(loops_.less_equal(length, most), loops_.less_equal(apart, b_.index(kReadStride)));
    const NodeId home =
        b_.make(Op::alloc, {b_.index(kReadAtOnce)}, {static_cast<int64_t>(ir::Life::Stack)}, Type::buffer());
    const NodeId copy = loops_.c_view(home, b_.index(0), {&length, 1}, dtype);
    loops_.when(is_there, [&] { b_.make(Op::copy, {copy, view}); });
    copies_.push_back({old, copy, is_there});
    ++copied_;
    b_.set_span(location);
  }
  void visit_at_place(NodeId node) {
    set_location(node);
    visit(node);
  }

  void write_launch(NodeId id) {
    const Nodes operands = use_all(source_.operands(id));
    const NodeId made = b_.begin(Op::launch, operands);
    const RegionId region = source_.region(id);
    const auto parameters = source_.region_parameters(region);
    std::vector<Type> types;
    for (const NodeId parameter : parameters) types.push_back(source_.type(parameter));
    const Nodes entered = b_.enter(made, 0, types);
    for (size_t i = 0; i < entered.size(); ++i) bind(parameters[i], entered[i]);
    prepare({&id, 1});
    inside_ = true;
    clone_body(region);
    inside_ = false;
    forget_ready();
    b_.end(made);
  }

  void write_nest(NodeId id) {
    const Nodes levels = plan_.levels_of(id);
    Nodes lengths;
    for (const NodeId level : levels) lengths.push_back(use(source_.operand(level, 0)));
    const auto by_threads = [&] {
      forget_ready();
      write_iterations(id, levels, lengths);
    };
    if (const auto tiling = plan_.tiling_of(id)) return write_tiles(id, *tiling, by_threads);
    if (const auto transposition = plan_.transposition_of(id))
      return write_squares(id, *transposition, by_threads);
    const KernelPlan::Rows rows = plan_.rows_of(id);
    if (rows == KernelPlan::Rows::Reduced) return write_rows(id, levels, lengths);
    if (rows == KernelPlan::Rows::Scanned) return write_scanned_rows(id, levels, lengths);
    if (const Accumulation* const only = only_sum_of(id)) return write_bins(id, levels, lengths, *only);
    if (plan_.has_rows_of_its_own(id)) return write_threads_along(id, levels, lengths);
    write_iterations(id, levels, lengths);
  }
  /// The only accumulation by which the iterations of a nest conflict, in a view of one axis; null: there is
  /// none.
  const Accumulation* only_sum_of(NodeId id) const {
    const Accumulation* only = nullptr;
    bool is_one = true;
    ir::walk(source_, id, [&](NodeId node) {
      const Accumulation* const own = source_.op(node) == Op::store ? plan_.accumulation_of(node) : nullptr;
      if (own == nullptr) return;
      is_one = is_one && (only == nullptr || (only->view == own->view && only->combiner == own->combiner));
      only = own;
    });
    const bool fits = is_one && only != nullptr && source_.type(only->view).rank() == 1;
    return fits ? only : nullptr;
  }
  /// The most that an iteration adds to one element in all; 0: that is not known.
  int64_t largest_summand_of(NodeId id, NodeId level) const {
    int64_t largest = 0;
    bool is_known = true;
    ir::walk(source_, id, [&](NodeId node) {
      const Accumulation* const own = source_.op(node) == Op::store ? plan_.accumulation_of(node) : nullptr;
      if (own == nullptr) return;
      const NodeId summand = own->load ? steps_of(source_, *own).summand : NodeId();
      is_known = is_known && summand && source_.is_constant(summand) && source_.type(summand) == ir::kInt64 &&
                 is_once(node, level);
      const int64_t number = is_known ? source_.constant(summand).as<int64_t>() : 0;
      is_known = is_known && -kLargestCount <= number && number <= kLargestCount;
      largest += std::abs(number);
    });
    return is_known ? largest : 0;
  }
  /// Whether an iteration of a loop comes to a node once at most.
  bool is_once(NodeId node, NodeId loop) const {
    RegionId region = source_[node].parent;
    while (region != source_.region(loop) && source_.op(source_[region].owner) == Op::if_)
      region = source_[source_[region].owner].parent;
    return region == source_.region(loop);
  }
  /// Few elements that many iterations add to: each block adds to elements of its own first.
  void write_bins(NodeId id, const Nodes& levels, const Nodes& lengths, const Accumulation& sum) {
    Nodes counts;
    for (const NodeId length : lengths) counts.push_back(loops_.maximum(length, b_.index(0)));
    const NodeId iterations = loops_.product(counts);
    KernelBins bins(kernels_, loops_, sum.combiner, use(sum.view), largest_summand_of(id, levels.back()));
    const auto in_blocks = [&](KernelBins::Size size) {
      bins_ = &bins;
      bins.write(size, iterations, top_of(id),
                 [&](NodeId iteration) { write_iteration_at(levels, loops_.unflatten(iteration, lengths)); });
      bins_ = nullptr;
      forget_ready();
      return Nodes();
    };
    const auto by_threads = [&] { return write_iterations(id, levels, lengths), Nodes(); };
    using enum KernelBins::Size;
    const auto of_more = [&] {
      if (!bins.fit(Many)) return by_threads();
      return loops_.branch(bins.are_worth(Many, iterations), {}, [&] { return in_blocks(Many); }, by_threads);
    };
    loops_.branch(bins.are_worth(Few, iterations), {}, [&] { return in_blocks(Few); }, of_more);
  }
  void write_tiles(NodeId id, const Tiling& tiling, const std::function<void()>& by_threads) {
    KernelTiles tiles(kernels_, loops_, source_, tiling, [this](NodeId old) { return use(old); });
    if (!tiles.fits()) return by_threads();
    tiles.write(top_of(id), by_threads);
    forget_ready();
  }
  void write_squares(NodeId id, const Transposition& nest, const std::function<void()>& by_threads) {
    KernelTransposes squares(kernels_, loops_, source_, nest, [this](NodeId old) { return use(old); });
    squares.write(top_of(id), by_threads);
    forget_ready();
  }
  /// A thread for each iteration.
  void write_iterations(NodeId id, const Nodes& levels, const Nodes& lengths) {
    // Of threads that raise, the first one is that of the first iteration where each has one iteration.
    const bool is_flat = levels.size() > 1 && may_raise(id);
    Nodes axes = is_flat ? Nodes{loops_.product(lengths)} : lengths;
    // Iterations that conflict add up in memory, one by one.
    const bool is_plain = !may_raise(id) && plan_.has_independent_iterations(id);
    together_ = is_plain ? iterations_together(source_, levels) : 1;
    if (together_ > 1) axes.back() = loops_.ceiling(axes.back(), b_.index(together_));
    const auto thread = [&](std::span<const NodeId> at) {
      prepare({&id, 1});
      write_iteration_at(levels, is_flat ? loops_.unflatten(at[0], lengths) : Nodes(at.begin(), at.end()));
      forget_ready();
    };
    kernels_.grid(axes, thread, together_ > 1);
    together_ = 1;
  }

  /// A nest whose iterations come to a loop of their own: where there are not so many of them that they keep
  /// all threads busy, some threads do an iteration together.
  void write_threads_along(NodeId id, const Nodes& levels, const Nodes& lengths) {
    Nodes all;
    for (const NodeId length : lengths) all.push_back(loops_.maximum(length, b_.index(0)));
    const NodeId iterations = loops_.product(all);
    const auto together = [&] {
      const NodeId warps =
          b_.make(Op::floor_divide, {b_.index(kWarpsAlong), loops_.maximum(iterations, b_.index(1))});
      const NodeId step = loops_.multiply(loops_.maximum(warps, b_.index(1)), b_.index(KernelWriter::kWarp));
      all.push_back(step);
      const NodeId threads = loops_.multiply(iterations, step);
      kernels_.grid({&threads, 1}, [&](std::span<const NodeId> at) {
        prepare({&id, 1});
        const Nodes indices = loops_.unflatten(at[0], all);
        along_ = {indices.back(), step};
        write_iteration_at(levels, std::span(indices).first(levels.size()));
        along_ = {};
        forget_ready();
      });
      return Nodes();
    };
    loops_.branch(loops_.less(iterations, b_.index(kManyRows)), {}, together,
                  [&] { return write_iterations(id, levels, lengths), Nodes(); });
  }
  /// A loop in such an iteration. One that threads cannot share is the first one's.
  void write_along(NodeId loop) {
    const Along along = std::exchange(along_, {});
    const RegionId region = source_.region(loop);
    if (plan_.is_along(loop)) {
      kernels_.strided(along.first, use(source_.operand(loop, 0)), along.step, [&](NodeId index) {
        bind(source_.region_parameters(region)[0], index);
        visit_body(region);
      });
    } else {
      kernels_.when(loops_.equal(along.first, b_.index(0)), [&] { clone(loop); });
    }
    along_ = along;
  }

  /// A nest whose iterations reduce rows: each is of a thread, of eight, of a warp or of a block.
  void write_rows(NodeId id, const Nodes& levels, const Nodes& lengths) {
    const NodeId longest = longest_in(levels.back());
    RowMemory memory = memory_of(id);
    const auto by_threads = [&] {
      write_row_of_threads(id, lengths, memory, [&](std::span<const NodeId> at) {
        ThreadGroup group(kernels_, loops_);
        write_row(group, levels, at);
      });
      return Nodes();
    };
    const auto by_warps = [&] {
      return in_strips(memory, lengths, all_memory, [&] { write_warps(id, levels); });
    };
    const NodeId is_middle = loops_.less_equal(longest, b_.index(kLongRow));
    const auto by_blocks = [&] {
      NodeId threads = b_.index(kernels_.block_threads());
      if (!kernels_.has_warps()) threads = loops_.select(is_middle, b_.index(KernelWriter::kWarp), threads);
      return in_strips(memory, lengths, all_memory, [&] { write_blocks(id, levels, threads); });
    };
    const auto in_memory = [&](int64_t shorter) {
      const bool may_be_middle = kernels_.has_warps() && shorter < kLongRow;
      return may_be_middle ? loops_.branch(is_middle, {}, by_warps, by_blocks) : by_blocks();
    };
    const bool may_keep = kernels_.has_warps() && plan_.has_independent_iterations(id);
    const std::optional<RowPlan> plan = may_keep ? RowPlan::find(source_, id, levels.back()) : std::nullopt;
    if (plan) return write_kept_rows(id, levels, lengths, memory, *plan, in_memory);
    const NodeId is_short = loops_.less_equal(longest, b_.index(kShortRow));
    loops_.branch(is_short, {}, by_threads, [&] { return in_memory(0); });
  }
  /// A nest whose rows fit into the registers of a part of a warp, a warp or a block; `in_memory` writes
  /// those of others, which are longer than its argument.
  void write_kept_rows(NodeId id, const Nodes& levels, const Nodes& lengths, RowMemory& memory,
                       const RowPlan& plan, const std::function<Nodes(int64_t)>& in_memory) {
    const NodeId length = use(plan.count());
    const auto fit = [&](RowWriter::Threads kind) {
      return loops_.less_equal(length, b_.index(RowWriter::most_elements(plan, kind)));
    };
    using enum RowWriter::Threads;
    const auto of = [&](RowWriter::Threads kind) {
      const auto needed = [&](NodeId alloc) { return plan.needs(alloc); };
      return in_strips(memory, lengths, needed, [&] { write_rows_of(id, levels, plan, kind); });
    };
    const auto of_others = [&] {
      return loops_.branch(
          fit(Block), {}, [&] { return of(Block); },
          [&] { return in_memory(RowWriter::most_elements(plan, Block)); });
    };
    const auto of_middle = [&] { return loops_.branch(fit(Warp), {}, [&] { return of(Warp); }, of_others); };
    loops_.branch(fit(Part), {}, [&] { return of(Part); }, of_middle);
  }
  void write_rows_of(NodeId id, const Nodes& levels, const RowPlan& plan, RowWriter::Threads kind) {
    constexpr int64_t kParts = KernelWriter::kWarp / RowWriter::kPart;
    RowWriter row(
        kernels_, loops_, source_, plan, kind,
        {[this](NodeId old) { return use(old); }, [this](NodeId old, NodeId made) { bind(old, made); },
         [this](NodeId old) {
           set_location(old);
           clone(old);
         },
         [this](NodeId loop) { return slots_of(loop); }});
    const auto at_top = [&] {
      prepare({&id, 1});
      row.prepare();
    };
    const auto write_row = [&](NodeId index, NodeId thread, NodeId has_row) {
      row.begin(thread, has_row);
      row_ = &row;
      write_iteration_at(levels, memory_->begin_row(index));
      row_ = nullptr;
      row.end();
    };
    const NodeId rows = memory_->rows();
    const auto write = [&](NodeId index, NodeId thread) { write_row(index, thread, loops_.truth(true)); };
    const auto write_part = [&](NodeId warp, NodeId lane) {
      const NodeId own = b_.make(Op::floor_divide, {lane, b_.index(RowWriter::kPart)});
      const NodeId index = loops_.add(loops_.multiply(warp, b_.index(kParts)), own);
      write_row(index, loops_.both(lane, b_.index(RowWriter::kPart - 1)), loops_.less(index, rows));
    };
    if (kind == RowWriter::Threads::Part)
      kernels_.warps(loops_.ceiling(rows, b_.index(kParts)), at_top, write_part);
    else if (kind == RowWriter::Threads::Warp) kernels_.warps(rows, at_top, write);
    else kernels_.groups(rows, RowWriter::threads_for(loops_, plan, use(plan.count())), at_top, write);
    forget_ready();
  }
  /// A nest whose iterations combine what they carry along rows: each is a warp's or, of many or short ones,
  /// a thread's.
  void write_scanned_rows(NodeId id, const Nodes& levels, const Nodes& lengths) {
    const NodeId longest = longest_in(levels.back());
    const NodeId are_few = loops_.less(loops_.product(lengths), b_.index(kManyRows));
    const NodeId are_long = loops_.less(b_.index(kShortRow), longest);
    RowMemory memory = memory_of(id);
    const auto by_warps = [&] {
      return in_strips(memory, lengths, all_memory, [&] { write_warps(id, levels); });
    };
    const auto by_threads = [&] {
      if (!memory.any() || plan_.fits_in_thread(id)) return write_iterations(id, levels, lengths), Nodes();
      write_row_of_threads(id, lengths, memory,
                           [&](std::span<const NodeId> at) { write_iteration_at(levels, at); });
      return Nodes();
    };
    loops_.branch(loops_.both(are_few, are_long), {}, by_warps, by_threads);
  }
  /// The memory that rows of a nest have of their own.
  RowMemory memory_of(NodeId id) {
    const Nodes allocs = plan_.memory_of_rows(id);
    Nodes bytes;
    for (const NodeId alloc : allocs) bytes.push_back(before(id, source_.operand(alloc, 0)));
    return RowMemory(loops_, source_, allocs, bytes);
  }
  /// A number of an iteration that all iterations of a nest have, before the nest.
  NodeId before(NodeId nest, NodeId value) {
    if (source_.encloses(nest, value)) {
      for (const NodeId operand : source_.operands(value)) before(nest, operand);
      clone(value);
    }
    return use(value);
  }
  static bool all_memory(NodeId) { return true; }
  /// Launches of a nest, whose rows have `memory`.
  Nodes in_strips(RowMemory& memory, const Nodes& lengths, const std::function<bool(NodeId)>& needed,
                  const std::function<void()>& launch) {
    memory_ = &memory;
    memory.in_strips(lengths, needed, launch);
    memory_ = nullptr;
    return {};
  }
  bool write_in_memory(NodeId id) {
    NodeId made;
    const bool is_known = memory_->write(id, [this](NodeId old) { return use(old); }, made);
    if (made) bind(id, made);
    return is_known;
  }
  /// A row for each thread, which has its memory itself if it is little.
  void write_row_of_threads(NodeId id, const Nodes& lengths, RowMemory& memory,
                            const std::function<void(std::span<const NodeId>)>& row) {
    const auto thread = [&](std::span<const NodeId> at) {
      prepare({&id, 1});
      row(memory_ == nullptr ? Nodes(at.begin(), at.end()) : memory_->begin_row(at[0]));
    };
    if (!memory.any() || plan_.fits_in_thread(id)) {
      kernels_.grid(lengths, thread);
    } else {
      in_strips(memory, lengths, all_memory, [&] { kernels_.grid({&memory.rows(), 1}, thread); });
    }
    forget_ready();
  }
  void write_warps(NodeId id, const Nodes& levels) {
    kernels_.warps(memory_->rows(), top_of(id), [&](NodeId row, NodeId lane) {
      WarpGroup group(kernels_, loops_, lane);
      write_row(group, levels, memory_->begin_row(row));
    });
    forget_ready();
  }
  NodeId longest_in(NodeId level) {
    NodeId longest = b_.index(0);
    for (const NodeId loop : loops_in(level))
      longest = loops_.maximum(longest, use(source_.operand(loop, 0)));
    return longest;
  }
  Nodes loops_in(NodeId level) const {
    Nodes found;
    for (const NodeId node : source_.region_body(source_.region(level)))
      if (ir::is_counted_loop(source_.op(node))) found.push_back(node);
    return found;
  }
  /// A block of threads for each iteration of a nest.
  void write_blocks(NodeId id, const Nodes& levels, NodeId threads) {
    BlockGroup::Slots positions;
    const auto at_top = [&] {
      prepare({&id, 1});
      for (const NodeId loop : loops_in(levels.back()))
        if (source_.result_count(loop) > 0)
          positions.add(kernels_, LaneReduction(kernels_, loops_, slots_of(loop)));
    };
    kernels_.groups(memory_->rows(), threads, at_top, [&](NodeId row, NodeId thread) {
      BlockGroup group(kernels_, loops_, thread, threads, positions);
      write_row(group, levels, memory_->begin_row(row));
    });
    forget_ready();
  }
  void write_row(CooperativeGroup& group, const Nodes& levels, std::span<const NodeId> indices) {
    group_ = {&group, false};
    write_iteration_at(levels, indices);
    group_ = {};
  }
  /// A node of the iteration that a group does.
  void write_in_group(NodeId id) {
    CooperativeGroup* const group = std::exchange(group_.group, nullptr);
    const auto iteration = [&](NodeId index) { return write_iteration(id, index, {}, true); };
    const bool is_step = source_.op(id) == Op::store || source_[id].region_count > 0;
    // What all threads have loaded may change now.
    if (is_step && group_.has_loads) group->wait();
    group_.has_loads = !is_step && (group_.has_loads || source_.op(id) == Op::load);
    if (source_.op(id) == Op::store) {
      group->alone([&] { clone(id); });
    } else if (source_[id].region_count == 0) {
      clone(id);
    } else if (source_.result_count(id) == 0) {
      group->share(use(source_.operand(id, 0)), [&](NodeId index) { iteration(index); });
    } else {
      const NodeId count = use(source_.operand(id, 0));
      const Nodes inits = use_all(source_.operands(id).subspan(1));
      const auto reduce = [&] {
        LaneReduction lanes(kernels_, loops_, slots_of(id));
        return group->reduce(lanes, count, inits, iteration);
      };
      const Nodes given = source_.op(id) == Op::for_ ? scan_in_group(*group, id, count, inits) : reduce();
      const Nodes results = source_.results_of(id);
      for (size_t i = 0; i < results.size(); ++i) bind(results[i], given[i]);
    }
    group_.group = group;
  }
  Nodes scan_in_group(CooperativeGroup& group, NodeId id, NodeId count, const Nodes& inits) {
    const std::vector<Recurrence> recurrences = *recurrences_of(source_, id);
    const bool in_order = std::ranges::any_of(recurrences, &Recurrence::ordered);
    const auto iteration = [&](NodeId index, std::span<const NodeId> before, bool stores) {
      return write_iteration(id, index, before, stores);
    };
    return group.scan(slots_of(recurrences), in_order, count, inits, iteration);
  }
  static std::vector<BlockScan::Slot> slots_of(std::span<const Recurrence> recurrences) {
    std::vector<BlockScan::Slot> slots;
    for (const Recurrence& each : recurrences) slots.push_back({each.combiner, each.dtype, each.identity});
    return slots;
  }
  std::vector<LaneReduction::Slot> slots_of(NodeId loop) const {
    const auto combiners = source_.ints(loop);
    std::vector<LaneReduction::Slot> slots;
    for (size_t i = 0; i < combiners.size(); ++i)
      slots.push_back({static_cast<Op>(combiners[i]), source_.type(source_.result(loop, i)).dtype()});
    return slots;
  }
  /// The iteration of a nest at these indices.
  void write_iteration_at(const Nodes& levels, std::span<const NodeId> indices) {
    inside_ = true;
    write_level(levels, indices, 0);
    inside_ = false;
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

  /// The iterations of a level that a thread does together, those of its number `group`.
  void write_together(NodeId level, NodeId group) {
    const NodeId width = b_.index(together_);
    const NodeId first = loops_.multiply(group, width);
    const NodeId count = loops_.minimum(loops_.subtract(use(source_.operand(level, 0)), first), width);
    const int64_t attributes[] = {static_cast<int64_t>(ir::Schedule::Vector), together_};
    const ir::SpanId location = b_.span();
    const NodeId loop = b_.begin(Op::for_, {&count, 1}, attributes);
    const NodeId iteration = b_.enter(loop, 0, {{ir::kInt64}})[0];
    bind(source_.region_parameters(source_.region(level))[0], loops_.add(first, iteration));
    visit_body(source_.region(level));
    b_.set_span(location);
    b_.yield({});
    b_.end(loop);
  }

  bool may_raise(NodeId id) const { return ir::effects_of(source_, id).any(ir::effect::Raise); }
  /// Does the iterations of a loop for their exceptions alone, a thread each: those that combine values wait
  /// for each other, and must not leave.
  void write_exceptions(NodeId id) {
    const NodeId count = use(source_.operand(id, 0));
    kernels_.grid({&count, 1}, [&](std::span<const NodeId> indices) {
      prepare({&id, 1});
      write_iteration(id, indices[0], {}, true);
      forget_ready();
    });
  }

  void write_reduction(NodeId id) {
    const Nodes results = source_.results_of(id);
    const auto operands = source_.operands(id);
    if (may_raise(id)) write_exceptions(id);
    make_cells(results);
    KernelReduction reduction(kernels_, loops_, slots_of(id));
    reduction.write(
        use(operands[0]), top_of(id),
        [&](NodeId iteration) { return write_iteration(id, iteration, {}, true); },
        [&] { return use_all(operands.subspan(1)); }, cells_of(results));
    forget_ready();
    give(results);
  }

  /// An iteration of a loop, with what it carries before; gives what it carries then.
  Nodes write_iteration(NodeId id, NodeId iteration, std::span<const NodeId> before, bool stores) {
    const RegionId region = source_.region(id);
    const auto parameters = source_.region_parameters(region);
    bind(parameters[0], iteration);
    for (size_t i = 0; i < before.size(); ++i) bind(parameters[i + 1], before[i]);
    const bool around = std::exchange(inside_, true);
    stores_ = stores;
    visit_body(region);
    inside_ = around;
    stores_ = true;
    return use_all(source_.operands(source_.terminator(region)));
  }
  /// What an iteration ends with needs nothing that was loaded for it.
  bool is_known_after(NodeId id) {
    const auto known = std::ranges::find(after_, id, &std::pair<NodeId, NodeId>::first);
    if (known == after_.end()) return false;
    bind(id, known->second);
    return true;
  }
  void write_scan(NodeId id) {
    const Nodes results = source_.results_of(id);
    const std::vector<Recurrence> recurrences = *recurrences_of(source_, id);
    make_cells(results);
    KernelScan scan(kernels_, loops_, slots_of(recurrences));
    const NodeId count = use(source_.operand(id, 0));
    const auto growth = [&](NodeId iteration) {
      Nodes nothing;
      for (const Recurrence& each : recurrences)
        nothing.push_back(b_.constant(Type::scalar(each.dtype), each.identity));
      return write_iteration(id, iteration, nothing, false);
    };
    const auto run = [&](NodeId iteration, std::span<const NodeId> before, std::span<const NodeId> after) {
      const auto given = source_.operands(source_.terminator(source_.region(id)));
      for (size_t i = 0; i < after.size(); ++i)
        if (source_[given[i]].region_count == 0) after_.emplace_back(given[i], after[i]);
      write_iteration(id, iteration, before, true);
      after_.clear();
    };
    const auto inits = [&] { return use_all(source_.operands(id).subspan(1)); };
    const bool stores = ir::effects_of(source_, id).any(ir::effect::Write);
    const KernelScan::Iteration iteration = stores ? KernelScan::Iteration(run) : KernelScan::Iteration();
    const bool is_ordered = std::ranges::any_of(recurrences, &Recurrence::ordered);
    if (is_ordered && !source_.relaxations().has(ir::Relaxation::reassoc)) {
      scan.run_in_order(count, top_of(id), growth, iteration, inits, cells_of(results));
    } else {
      scan.run(count, top_of(id), growth, iteration, inits, cells_of(results),
               is_ordered ? LookBack::Order::Fixed : LookBack::Order::Any);
    }
    forget_ready();
    give(results);
  }

  /// @name Sums at locations that iterations share, in the order of the iterations
  /// Into one view, by some stores.
  struct Scatter {
    NodeId view;
    std::vector<Accumulation> sums;
  };
  std::vector<Scatter> scatters_in(NodeId id) const {
    std::vector<Scatter> found;
    ir::walk(source_, id, [&](NodeId node) {
      const Accumulation* const own = source_.op(node) == Op::store ? plan_.accumulation_of(node) : nullptr;
      if (own == nullptr || own->exact) return;
      auto known = std::ranges::find(found, own->view, &Scatter::view);
      if (known == found.end()) known = found.insert(found.end(), Scatter{own->view, {}});
      known->sums.push_back(*own);
    });
    return found;
  }
  KernelScatter::Store store_of(const Accumulation& sum) {
    const Accumulating way = steps_of(source_, sum);
    const auto add = [this, sum, way](NodeId element, NodeId summand) {
      if (!sum.load) return summand;
      const NodeId around = made(way.summand);
      bind(sum.load, element);
      bind(way.summand, summand);
      for (const NodeId step : way.steps) clone(step);
      bind(way.summand, around);
      return use(source_.operands(sum.store).back());
    };
    return {source_.type(way.summand).dtype(), add};
  }
  /// The last indices, which are known, of stores that are made together, at indices that differ in this one
  /// alone, and none of them twice; none: of others.
  std::vector<int64_t> different_lasts(std::span<const Accumulation> sums) const {
    const auto indices_of = [&](const Accumulation& sum) {
      const auto operands = source_.operands(sum.store);
      return operands.subspan(1, operands.size() - 2);
    };
    std::vector<int64_t> lasts;
    for (const Accumulation& sum : sums) {
      const auto own = indices_of(sum);
      const auto first = indices_of(sums[0]);
      const bool is_alike = source_[sum.store].parent == source_[sums[0].store].parent && own.size() > 1 &&
                            std::ranges::equal(own.first(own.size() - 1), first.first(first.size() - 1));
      if (!is_alike || !source_.is_constant(own.back())) return {};
      lasts.push_back(source_.constant(own.back()).as<int64_t>());
    }
    const bool differ = std::set(lasts.begin(), lasts.end()).size() == lasts.size();
    return lasts.size() > 1 && differ ? lasts : std::vector<int64_t>();
  }
  void keep_summand(const Accumulation& sum) {
    for (size_t i = 0; i < scatters_.size(); ++i) {
      const auto& sums = scatters_[i].sums;
      const auto own = std::ranges::find(sums, sum.store, &Accumulation::store);
      if (own == sums.end()) continue;
      const auto operands = source_.operands(sum.store);
      const Nodes indices = use_all(operands.subspan(1, operands.size() - 2));
      writers_[i].keep(static_cast<size_t>(own - sums.begin()), iteration_, indices,
                       use(steps_of(source_, sum).summand));
    }
  }
  KernelScatter::Stores stores_of(NodeId id, const Scatter& scatter) {
    KernelScatter::Stores stores;
    for (const Accumulation& sum : scatter.sums) stores.all.push_back(store_of(sum));
    if (const NodeId row = plan_.row_of(id, scatter.sums[0].store))
      stores.mode = KernelScatter::Row{loops_.maximum(use(source_.operand(row, 0)), b_.index(0))};
    else if (std::vector<int64_t> lasts = different_lasts(scatter.sums); !lasts.empty())
      stores.mode = KernelScatter::Together{std::move(lasts)};
    return stores;
  }
  /// Iterations that each leave a summand for all of a row are done in rounds, which take no more memory than
  /// so many of them.
  void write_scatter(NodeId id) {
    constexpr int64_t kMostSummands = int64_t{1} << 24;
    const Nodes levels = plan_.levels_of(id);
    Nodes lengths;
    for (const NodeId level : levels)
      lengths.push_back(loops_.maximum(use(source_.operand(level, 0)), b_.index(0)));
    const NodeId iterations = loops_.product(lengths);
    scatters_ = scatters_in(id);
    std::vector<KernelScatter::Stores> stores;
    NodeId longest;
    for (const Scatter& scatter : scatters_) {
      stores.push_back(stores_of(id, scatter));
      if (const auto* const row = std::get_if<KernelScatter::Row>(&stores.back().mode))
        longest = longest ? loops_.maximum(longest, row->count) : row->count;
    }
    const auto write = [&](NodeId first, NodeId count) {
      for (size_t i = 0; i < scatters_.size(); ++i)
        writers_.emplace_back(kernels_, loops_, use(scatters_[i].view), stores[i], count);
      kernels_.grid({&count, 1}, [&](std::span<const NodeId> at) {
        prepare({&id, 1});
        iteration_ = at[0];
        for (KernelScatter& writer : writers_) writer.begin(iteration_);
        write_iteration_at(levels, loops_.unflatten(loops_.add(first, iteration_), lengths));
        forget_ready();
      });
      for (KernelScatter& writer : writers_) writer.add_up();
      writers_.clear();
    };
    if (longest) {
      const NodeId fitting =
          b_.make(Op::floor_divide, {b_.index(kMostSummands), loops_.maximum(longest, b_.index(1))});
      const NodeId most = loops_.maximum(fitting, b_.index(1));
      const NodeId rounds = loops_.ceiling(iterations, most);
      loops_.nest({&rounds, 1}, [&](std::span<const NodeId> round) {
        const NodeId first = loops_.multiply(round[0], most);
        write(first, loops_.minimum(most, loops_.subtract(iterations, first)));
      });
    } else {
      write(b_.index(0), iterations);
    }
    scatters_.clear();
  }

  KernelPlan plan_;
  LoopWriter loops_;
  KernelWriter kernels_;
  Nodes cells_;                    ///< by value: a view of one element, of those that a launch gives
  Nodes ready_;                    ///< deferred values that the open launch has
  std::vector<Scatter> scatters_;  ///< of the nest that is written
  std::vector<KernelScatter> writers_;
  NodeId iteration_;
  int64_t together_ = 1;  ///< iterations of a nest's last level that a thread does
  Along along_;
  size_t copied_ = 0;             ///< of these so far, or as many as there may be: none
  std::vector<HostCopy> copies_;  ///< that the host's loops around have
  KernelBins* bins_ = nullptr;    ///< of blocks, where iterations add to these
  bool reads_ = false;            ///< the host loads numbers
  bool inside_ = false;           ///< nodes are written as they are
  bool stores_ = true;            ///< ... those that store among them
  std::vector<std::pair<NodeId, NodeId>>
      after_;  ///< nodes of a scan's iteration, and what they are known to be
  Group group_;
  RowMemory* memory_ = nullptr;  ///< of the rows that are written
  RowWriter* row_ = nullptr;     ///< what writes the rows of a nest, where they are kept in registers
};

}  // namespace

std::unique_ptr<ir::Function> kernels(const ir::Function& function, const base::Machine& machine) {
  KernelOutliner parter(function, machine);
  return parter.changes() ? parter.run() : nullptr;
}

}  // namespace ingot::transform
