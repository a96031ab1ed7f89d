#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/machine.h"
#include "transform/analyses/alias.h"
#include "transform/writers/block_tree.h"
#include "transform/writers/loop_writer.h"
#include "transform/writers/rewriter.h"

/// The inside of `to_loops`.
namespace ingot::transform {

/// What the evaluation of an element takes: additions' worth of arithmetic, and elements of memory.
struct Work {
  int time = 0;
  int loads = 0;
  void add(const Work& other);
};

/// Past this cost an array is evaluated for itself.
constexpr int kLargestCost = 400;

/// What stands for an array of the source.
struct Whole {
  DType dtype = DType::Bool;
  Nodes lengths = {};
  NodeId view = {};         ///< where its elements are stored; none: they are evaluated where they are used
  bool contiguous = false;  ///< the view is in C order without gaps
  bool fresh = false;       ///< the view is all of a buffer that nothing else refers to
  int cost = 0;             ///< elementwise ops in the evaluation of an element, about
  Work work = {};           ///< that evaluation, where nothing of it is shared with others
  bool repeats = false;     ///< a broadcast, or what came of one: in the cache if it is in memory
  std::vector<Root> reads = {};  ///< memory that the program may change, read when an element is evaluated
};

class Lowering : public Rewriter {
 public:
  Lowering(const Function& source, const base::Machine& machine);

 protected:
  void visit(NodeId id) override;
  NodeId use(NodeId old) override;
  void bind(NodeId old, NodeId made) override;
  Type convert(Type type) override;
  void enter_region(RegionId region) override { regions_.push_back({region, {}, {}}); }
  void leave_region(RegionId) override;

 private:
  using Indices = std::span<const NodeId>;

  struct OpenRegion {
    RegionId region;
    Nodes reading;                     ///< arrays defined here whose evaluation reads memory
    std::map<uint32_t, NodeId> equal;  ///< by length: another one that a check here has found to be equal
  };

  /// @name What is known of the source (to_loops.cpp)
  void count_uses();
  void find_sinks(std::span<const NodeId> in_order);
  bool is_step(NodeId user) const;
  bool may_wait(NodeId old) const;
  bool crosses_loop(RegionId from, RegionId to) const;
  bool is_cheap_again(NodeId old) const;

  /// @name Order of memory (to_loops.cpp)
  struct Written {
    bool anything = false;
    std::vector<Root> roots;
  };
  Written written_by(NodeId id) const;
  /// Evaluates what is needed after `id` and would not have the same value then.
  void settle_before(NodeId id);

  /// @name Arrays (to_loops.cpp)
  const Whole& whole(NodeId old) const { return wholes_[old.index]; }
  void define(NodeId old, Whole whole);
  /// Evaluates into a new view in C order.
  Whole evaluated(NodeId old);
  /// ... arrays of the same lengths, in one nest.
  std::vector<Whole> evaluated(const Nodes& arrays);
  /// The array in a view; evaluated now, and for later users too, if it is in none.
  Whole in_view(NodeId old);
  /// ... that nothing will write to.
  Whole settled(NodeId old);
  void keep(NodeId old, const Whole& whole);
  Whole stored(const Nodes& lengths, DType dtype, const std::function<NodeId(Indices)>& element);
  static Whole fresh(NodeId view, Nodes lengths, DType dtype);
  void define_stored(NodeId id, Nodes lengths, const std::function<NodeId(Indices)>& element);
  DType dtype_of(NodeId old) const { return source_.type(old).dtype(); }

  /// @name What is written together (outputs.cpp)
  struct Output {
    NodeId node;                   ///< an array, or a reduction
    NodeId buffer_of;              ///< the `materialize` whose buffer the array becomes, or none
    std::vector<Root> reads = {};  ///< memory that the program may change
  };
  using Sources = std::set<std::pair<bool, uint32_t>>;
  /// Outputs that one nest will write: arrays of the same lengths, or reductions of such over the same axes.
  struct Nest {
    Nodes lengths;
    std::vector<bool> is_reduced;                      ///< by axis; empty: of arrays
    std::set<std::pair<uint32_t, uint32_t>> compared;  ///< lengths whose equality decides between versions
    Sources sources;
    int cost = 0;
    size_t lane_bytes = 0;  ///< of one lane of each reduction
    std::vector<Output> outputs;
  };
  bool is_output(NodeId old) const { return is_output_[old.index]; }
  void write_later(NodeId node, NodeId buffer_of = {});
  void write_outputs();
  void write_arrays(const std::vector<Output>& outputs);
  void write_reductions(const std::vector<Output>& outputs);
  void drop_outputs();
  using OnlyNests = std::map<uint32_t, std::optional<size_t>>;
  std::optional<size_t> only_nest(NodeId old, OnlyNests& known) const;
  bool joins(const Nest& nest, const Nest& other) const;
  static void merge(Nest& nest, const Nest& other);
  size_t collect_sources(NodeId old, Sources& sources, std::vector<bool>& seen) const;
  bool needs_outputs(NodeId old, std::vector<bool>& seen) const;
  std::set<std::pair<uint32_t, uint32_t>> compared_lengths(NodeId old) const;
  /// Writes what waits if elements of `old` cannot be evaluated without it.
  void make_ready(NodeId old);
  void prepare(NodeId id);
  bool can_defer(NodeId id) const;
  void become_buffer(NodeId buffer, NodeId array, const Whole& made);
  void add_root(NodeId array, const Root& root);
  NodeId canonical(NodeId length) const;
  NodeId are_equal(NodeId a, NodeId b);
  NodeId repeats_not(NodeId own, NodeId length);
  void learn(NodeId condition);

  /// @name Elements (elements.cpp)
  NodeId element(NodeId old, Indices indices);
  NodeId evaluated_element(NodeId old, Indices indices);
  /// Writes loops that evaluate elements of `roots` - in two versions, if they broadcast what is not cheap:
  /// for lengths that make the broadcasts the identity, and for others, where what repeats is evaluated
  /// before.
  Nodes in_versions(std::span<const NodeId> roots, const std::vector<Type>& types,
                    const std::function<Nodes()>& loops);
  void collect_broadcasts(NodeId old, Nodes& found, std::vector<bool>& seen) const;
  NodeId is_identity(NodeId broadcast);
  /// Adds the memory that one array reads to what another does.
  static void add_reads(Whole& to, const Whole& from);
  NodeId element_of_elementwise(NodeId old, Indices indices);
  NodeId element_of_broadcast(NodeId old, Indices indices);
  Nodes place_before(NodeId old, Indices indices);
  bool is_pointwise(NodeId old) const;
  bool repeats_nothing(NodeId old) const;
  Work work_of(NodeId old) const;
  using Decision = std::function<std::optional<bool>(NodeId)>;
  bool all_below(std::span<const NodeId> arrays, const Decision& decides) const;
  bool may_read(const Whole& w, const Root& root) const;
  bool is_disjoint_from_others(NodeId old_view) const;
  NodeId is_disjoint(NodeId view);
  bool reads_only_at(NodeId old, NodeId view, const Root& root) const;

  /// @name Assignments to what is read at other indices (in_place.cpp)
  class InPlaceWriter;
  bool reads_one_buffer(NodeId old, NodeId view, const Root& root) const;
  void write_in_place(NodeId x, NodeId view, bool is_disjoint);

  /// @name Elements by their number (flat.cpp)
  bool is_contiguous(NodeId view);
  bool is_flat(NodeId old) const;
  bool are_flat(std::span<const NodeId> arrays) const;
  NodeId flat_view(NodeId view);
  void flatten(NodeId old);
  void by_number(std::span<const NodeId> arrays, const std::function<void()>& loops);

  /// @name Order of loops (traversal.cpp)
  struct Reached {
    std::vector<Nodes> strides;  ///< of the first few arrays in memory
    bool in_c_order = true;      ///< whether all of them are known to be
  };
  const Reached& reach(NodeId old, std::unordered_map<uint32_t, Reached>& reached);
  bool collect_strides(NodeId old, std::vector<Nodes>& found);
  NodeId lies_closer(NodeId old, size_t axis, size_t than, bool in_c_order);
  NodeId is_turned(const Nodes& strides);
  /// Elements that are to be stored in views of the same lengths.
  struct Elements {
    Nodes views;
    std::function<Nodes(Indices)> values;  ///< one for each view
    std::vector<Nodes> strides;            ///< of arrays in memory that may not be in C order
    int time = 0;                          ///< that it takes to compute one of each
    bool fresh = false;                    ///< the views are in C order; nothing else refers to their memory
    Nodes flat = {};                       ///< what they are evaluated from, if all is without gaps
    NodeId part = {};                      ///< the one view, of the source, that is a part of `whole`
    NodeId whole = {};                     ///< of the source; none: elements are stored in `views`
  };
  void store_at(const Elements& all, Indices at);
  void nest_tiles(const Nodes& lengths, const std::function<void(const Nodes&, const Nodes&)>& tile);
  void store_tile(const Elements& all, const Nodes& first, const Nodes& counts);
  /// In an order that suits memory; in C order if elements of a view may share a location.
  void store_elements(const Elements& all);

  /// @name Rearrangements (rearrangements.cpp)
  Nodes rearranged_lengths(NodeId id, const Nodes& lengths);
  Nodes rearranged_strides(NodeId id, const Nodes& lengths, const Nodes& strides);
  NodeId rearranged_view(NodeId id, NodeId view);
  bool is_one(NodeId length) const;
  bool repeats_for_certain(NodeId broadcast, const Whole& x);
  void lower_rearrangement(NodeId id);
  Nodes lengths_of_view(NodeId view);
  Nodes strides_of_view(NodeId view);
  void lower_pointwise(NodeId id);

  /// @name Reductions (lower_reductions.cpp)
  struct Axes {
    Nodes kept;
    Nodes reduced;
    std::vector<bool> is_reduced;
    Nodes join(Indices kept_indices, Indices reduced_indices) const;
    /// The last axis that is reduced, or kept; there is one.
    size_t index_of(bool reduced_axis) const;
  };
  Axes split_axes(NodeId old, std::span<const int64_t> axes) const;
  struct Reduction {
    NodeId id;
    Op combiner;
    DType dtype;   ///< of the elements
    DType lane;    ///< ... of partial values
    bool ordered;  ///< the order in which elements are combined matters
  };
  /// Reductions of arrays of the same lengths over the same axes.
  using Reductions = std::vector<Reduction>;
  Reduction describe_reduction(NodeId id) const;
  /// How many elements a reduction combines that is evaluated where its elements are used; 0: it is not.
  int64_t find_short_length(NodeId id) const;
  bool is_reduction(NodeId id) const { return source_.op(id) == Op::reduce && short_lengths_[id.index] == 0; }
  void lower_short(NodeId id);
  NodeId element_of_short(NodeId id, Indices kept);
  Nodes contributions(const Reductions& all, Indices at);
  Nodes starts(const Reductions& all, const Axes& axes, Indices kept);
  Nodes combine_range(const Reductions& all, NodeId count, Indices inits,
                      const std::function<Nodes(NodeId)>& values);
  void scan_lines(NodeId id, const Axes& axes, NodeId view);
  void scan_columns(NodeId id, const Axes& axes, NodeId view);
  NodeId arg_reduce_range(NodeId id, const Axes& axes, Indices kept);
  void define_reduced(std::span<const NodeId> ids, const Axes& axes,
                      const std::function<Nodes(Indices)>& values, const Reductions& of_rows = {});

  bool is_flat_reduction(const Reductions& all) const;
  Nodes reduce_flat(const Reductions& all, const Axes& axes);
  void reduce_together(std::span<const NodeId> ids);

  /// @name Orders of iteration over what is reduced (reduce_lanes.cpp, reduce_several.cpp,
  /// reduce_columns.cpp)
  NodeId reduce_lanes(NodeId id, const Axes& axes, Indices kept);
  Nodes reduce_rows(const Reductions& all, const Axes& axes, Indices kept);
  /// Buffers for the elements of a block, and the values of blocks.
  struct Blocks {
    NodeId total;
    NodeId count;
    NodeId at_once;  ///< blocks whose elements the buffers hold
    NodeId reach;    ///< ... those elements
    NodeId columns;  ///< ... which are evaluated in strips of so many columns
    Nodes elements;
    std::vector<BlockTree> trees;
  };
  Blocks make_blocks(const Reductions& all, const Axes& axes);
  Nodes reduce_blocks(const Reductions& all, const Axes& axes, Indices kept, Blocks& blocks);
  void reduce_block(const Reductions& all, Blocks& blocks, NodeId number, NodeId first, NodeId end);
  void fill_blocks(const Reductions& all, const Axes& axes, Indices kept, const Blocks& blocks, NodeId first,
                   NodeId end);
  class RowWriter;
  void reduce_columns(const Reductions& all, const Axes& axes, const Nodes& to);

  /// @name Others
  Nodes gathered_indices(NodeId id, size_t first, int rank, Indices at, Indices rest);
  void compress_in_tiles(NodeId id, const Nodes& rest);
  NodeId count_of(NodeId mask);
  Whole for_library(NodeId old);
  bool is_matrix_in_memory(const Whole& x);
  void lower_library(NodeId id);
  /// @name Sorts (lower_sort.cpp)
  struct SortedLines {
    Nodes lengths;  ///< the last is that of a line
    NodeId keys;    ///< merged ones may be changed
    NodeId sorted;  ///< where the keys go, or their indices before
    bool gives_indices;
    NodeId ranks;  ///< the indices of sorted lines at which elements are wanted, one axis; none: all
  };
  NodeId ranks_of(NodeId id) const;
  void sort_by_kernels(NodeId id, bool gives_indices);
  void rank_lines(const SortedLines& lines);
  void sort_by_digits(const SortedLines& lines);
  void merge_lines(const SortedLines& lines);
  NodeId sorts_before(NodeId a, NodeId b);
  NodeId complex_sorts_before(NodeId a, NodeId b);
  NodeId index_in_pair(NodeId line, Indices at, NodeId width, NodeId count);
  void sort_lines(NodeId id, bool gives_indices);
  NodeId line_of(NodeId view, Indices indices);

#define OP(...)
#define LOWER_Array(name) void lower_##name(NodeId id);
#define LOWER_Loop(name)
#define LOWER_Both(name)
#define STRUCT(name, stage, effects) LOWER_##stage(name)
#include "ir/ops.def"
#undef LOWER_Array
#undef LOWER_Loop
#undef LOWER_Both

  const base::Machine& machine_;
  LoopWriter loops_;
  std::vector<Whole> wholes_;
  std::vector<uint32_t> order_;     ///< by node: its position in the program
  std::vector<uint32_t> last_use_;  ///< by node: the position of its last user
  std::vector<uint32_t> uses_;
  std::vector<Nodes> users_;             ///< by array
  std::vector<bool> user_crosses_loop_;  ///< by node: a user is in a loop that it is not in itself
  /// By node: the one node whose loops evaluate all uses of its elements, at the same indices, directly or
  /// through arrays that are evaluated where they are used; else the node itself.
  Nodes sink_;
  std::vector<uint32_t> sinks_;            ///< by node: how many there are, if there is no such node
  bool by_number_ = false;                 ///< elements are asked for by their number in C order
  std::map<uint32_t, NodeId> flat_views_;  ///< then: by view, that of one axis
  std::vector<int64_t> short_lengths_;     ///< by reduction: what `find_short_length` has found
  std::vector<bool> is_identity_;          ///< by broadcast: known to be in the loops being written
  int versions_ = 0;                       ///< being written: what is made there does not reach what follows
  std::map<std::vector<uint32_t>, NodeId> elements_;  ///< made in one region: by node and indices
  RegionId elements_region_;
  std::vector<OpenRegion> regions_;
  std::vector<Nest> nests_;        ///< that wait to be written, in this order
  std::vector<bool> is_output_;    ///< by node: it is in one of them
  std::vector<bool> is_deferred_;  ///< by number or view: made when the nests have been written
  Nodes deferred_;                 ///< the numbers among these, in order, but for reductions
  uint32_t now_ = 0;               ///< the position of the node that is visited
  size_t in_chunks_ = 0;           ///< assignments that have been written in place, in chunks
};

}  // namespace ingot::transform
