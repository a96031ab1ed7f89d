#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/machine.h"
#include "ir/function.h"
#include "transform/analyses/accumulations.h"
#include "transform/kernels/kernel_tiles.h"
#include "transform/kernels/kernel_transposes.h"

namespace ingot::transform {

/// Which parts of a function become launches, and which numbers stay on the device.
class KernelPlan {
 public:
  enum class Part : uint8_t {
    Host,       ///< the host's: control flow, shapes, views, allocations, what only the host can do
    Nest,       ///< a nest of loops whose iterations are independent
    Reduction,  ///< a parallel loop with values
    Scan,  ///< a loop whose iterations combine what they carry (recurrence.h), and are independent otherwise
    Scatter,  ///< a nest whose iterations conflict in sums or stores that keep the order of the iterations
    Launch,   ///< unchanged
    Task,     ///< runs in one thread, in one launch with the tasks next to it
  };
  /// Nodes of one region that one thread runs.
  struct Task {
    std::vector<ir::NodeId> nodes;
    std::vector<ir::NodeId> results;  ///< values that are used outside
    /// Nothing but loads of numbers that the host needs: it loads them itself.
    bool is_read = false;
  };

  KernelPlan(const ir::Function& function, const base::Machine& machine);

  Part part(ir::NodeId node) const { return parts_[node.index]; }
  /// Axes of a grid.
  static constexpr size_t kMostLevels = 3;
  /// Whether the iterations of a node run at once, as a launch of many threads.
  bool is_shared(ir::NodeId node) const {
    const Part own = part(node);
    return own == Part::Nest || own == Part::Reduction || own == Part::Scan || own == Part::Scatter;
  }
  /// The loops of a nest, the outermost first: its iterations are those of all of them.
  std::vector<ir::NodeId> levels_of(ir::NodeId nest, size_t most = kMostLevels) const;
  bool has_independent_iterations(ir::NodeId nest) const { return is_parallel(nest); }
  /// How a nest is done in tiles; none: it has none.
  std::optional<Tiling> tiling_of(ir::NodeId nest) const;
  /// How it is done in squares; none: it loads nothing across what it stores.
  std::optional<Transposition> transposition_of(ir::NodeId nest) const;
  bool is_member(ir::NodeId node, const Task& task) const {
    return task_of_[node.index] != kNone && &tasks_[task_of_[node.index]] == &task;
  }
  /// What an iteration of a nest does that threads may do together, where all it does besides is one thread's
  /// or shared: it iterates over rows, which it may reduce, or along which it combines what it carries (as a
  /// scan does).
  enum class Rows : uint8_t { None, Reduced, Scanned };
  Rows rows_of(ir::NodeId nest) const;
  /// The allocations of an iteration of a nest that does rows: each iteration has memory of its own, of a
  /// size that is known before the nest, which loads and stores of views made in the iteration use alone.
  std::vector<ir::NodeId> memory_of_rows(ir::NodeId nest) const;
  /// Whether a thread can do an iteration of a nest alone, with all memory that it has.
  bool fits_in_thread(ir::NodeId nest) const { return fits_in_kernel(nest); }
  /// Whether the iterations of a nest come, after loads, arithmetic and checks, to one loop whose iterations
  /// are independent, or to a choice of such loops, that is no axis of the nest: its length differs from
  /// iteration to iteration, or what is before it may raise. Threads then share the iterations of that loop
  /// (`is_along`).
  bool has_rows_of_its_own(ir::NodeId nest) const;
  bool is_along(ir::NodeId loop) const;
  /// What a store adds to an element that other iterations of its nest add to, which is to be one step or, if
  /// it is not exact, to have an order; null: it does not.
  const Accumulation* accumulation_of(ir::NodeId store) const;
  /// The loop of an iteration of a nest whose iterations each add to one element of a row, by one store;
  /// null: the iteration adds once.
  ir::NodeId row_of(ir::NodeId nest, ir::NodeId store) const;
  /// The tasks that are done before a node of the host's region; none: null.
  const Task* task_before(ir::NodeId node) const;
  /// The loads in a loop of the host's that the host makes itself.
  std::vector<ir::NodeId> reads_in(ir::NodeId loop) const;
  /// Whether a number is not known to the host, but in a cell, or computed where it is used.
  bool is_deferred(ir::NodeId value) const { return deferred_[value.index]; }
  bool any() const { return any_; }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};

  void find_escapes();
  void plan(ir::RegionId region);
  Part classify(ir::NodeId node) const;
  bool is_loop(ir::NodeId node) const;
  bool is_parallel(ir::NodeId loop) const;
  bool meet_alike(ir::NodeId nest, ir::NodeId inner) const;
  bool raises_apart(ir::NodeId nest, ir::NodeId inner) const;
  std::vector<Accumulation> meeting_in(ir::NodeId loop) const;
  bool is_row(ir::NodeId nest, ir::NodeId loop, const Accumulation& sum) const;
  bool is_scatter(ir::NodeId nest, const std::vector<Accumulation>& meeting) const;
  bool fits_in_kernel(ir::NodeId node, std::span<const ir::NodeId> other_memory = {}) const;
  bool fits_as_rows(ir::NodeId nest) const;
  bool is_memory_of_row(ir::NodeId nest, ir::NodeId alloc) const;
  bool is_scan(ir::NodeId loop) const;
  bool is_running(ir::NodeId loop) const;
  bool fits_in_block(ir::NodeId loop, int64_t indices) const;
  bool fit_in_block(std::span<const ir::NodeId> loops) const;
  bool has_only_numbers(ir::NodeId node) const;
  bool needs_host_inside(ir::NodeId node) const;
  bool has_launch_inside(ir::NodeId node) const;
  std::optional<Part> meeting_part(ir::NodeId node) const;
  enum class Tail : uint8_t { Other, Alone, Along };
  Tail tail_of(ir::RegionId region) const;
  bool is_changed(std::span<const ir::NodeId> loads, ir::NodeId inside) const;
  bool uses_task(ir::NodeId node, uint32_t task) const;
  bool goes_past(ir::NodeId node) const;
  void add_to_task(ir::NodeId node);
  void find_results();
  void find_needed();
  bool only_reads(ir::NodeId node) const;
  bool is_in_loop(ir::NodeId node) const;
  bool find_reads();
  void find_deferred();
  void need(ir::NodeId value);
  bool is_pure_number(ir::NodeId node) const;
  bool is_in_cell(ir::NodeId value) const;

  const ir::Function& f_;
  const base::Machine& machine_;
  std::vector<Part> parts_;  ///< by node, of those at the host's level
  std::vector<bool>
      escapes_;  ///< by node that allocates: something other than loads and stores has its memory
  std::vector<bool> host_level_;   ///< by node: the host runs it
  std::vector<uint32_t> task_of_;  ///< by node, with what is in it
  std::vector<uint32_t> before_;   ///< by node: the task that ends there
  std::vector<Task> tasks_;
  std::vector<Accumulation> accumulations_;  ///< of nests whose iterations conflict there alone
  std::vector<bool> needed_;                 ///< by value: by the host
  std::vector<bool> deferred_;
  uint32_t open_ = kNone;
  bool any_ = false;
};

}  // namespace ingot::transform
