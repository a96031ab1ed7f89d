#pragma once

#include <functional>
#include <optional>

#include "transform/analyses/alias.h"
#include "transform/kernels/kernel_writer.h"

namespace ingot::transform {

/// What the loops of a row - of an iteration of a nest - load and store. Each thread has the same elements of
/// the row in all of its loops, and keeps what it has loaded or stored of them in registers for later loops:
/// each element is loaded once, and arrays that the row alone uses are not in memory at all.
class RowPlan {
 public:
  /// A location in memory; `is_element`: that of the iteration's element, else one for all of the row.
  struct Place {
    NodeId view;
    Nodes indices;  ///< the iteration's: none
    std::optional<BufferLocation> location;
    bool is_element = false;
    bool operator==(const Place& other) const;
  };
  static constexpr size_t kNone = ~size_t{0};

  /// Of the last level of a nest whose iterations are independent; none: its loops are not alike, hold more
  /// than arithmetic, loads and stores, or too much of it, or have no element in common.
  static std::optional<RowPlan> find(const Function& f, NodeId nest, NodeId level);

  /// How many elements a thread has at most: a power of two.
  size_t slots() const { return slots_; }
  /// Bytes of an element that are kept from one loop to the next, at most.
  int64_t kept_bytes() const { return kept_bytes_; }
  std::span<const NodeId> loops() const { return loops_; }
  NodeId count() const;

  size_t place_count() const { return places_.size(); }
  Type type_of(size_t place) const;
  /// The place of a load or store; `kNone`: not known, or not one of the row.
  size_t place_number(NodeId access) const { return accesses_[access.index].place; }
  bool is_element(size_t place) const { return place != kNone && places_[place].is_element; }
  /// Whether a load gives what threads have in registers.
  bool is_known(NodeId load) const { return accesses_[load.index].is_known; }
  /// ... which is this value, if it is of no element.
  NodeId number_of(NodeId load) const { return accesses_[load.index].number; }
  /// Whether nobody reads what a store writes.
  bool is_dropped(NodeId store) const { return accesses_[store.index].is_dropped; }
  /// Whether threads have in memory what the row has in a buffer that it allocates.
  bool needs(NodeId alloc) const;
  /// The places of elements that loop number `loop` loads or stores, and that later ones load.
  std::vector<size_t> kept_after(size_t loop) const;

 private:
  struct Access {
    size_t place = kNone;
    NodeId number;
    bool is_known = false;
    bool is_dropped = false;
  };
  struct Known {
    size_t place;
    NodeId number;
  };

  explicit RowPlan(const Function& f) : f_(&f), accesses_(f.node_count()) {}
  bool look(NodeId level);
  bool look_in(NodeId loop);
  void look_at(NodeId access, NodeId loop);
  std::optional<Place> place_at(NodeId access, NodeId loop) const;
  size_t add_place(const Place& place);
  void drop_stores();
  bool choose_slots();
  bool is_known_in_row(NodeId view) const;

  const Function* f_;
  Nodes loops_;
  std::vector<Place> places_;
  std::vector<Access> accesses_;           ///< by node
  Nodes in_row_;                           ///< the row's loads and stores
  std::vector<Known> known_;               ///< while looking
  std::vector<std::vector<size_t>> made_;  ///< by loop: the places of elements that it loads or stores
  std::vector<size_t> last_use_;           ///< by place: the last loop that has it from registers; none: 0
  size_t slots_ = 0;
  int64_t kept_bytes_ = 0;
  int cost_ = 0;
};

/// Writes the rows of a nest: a part of a warp has a row, if it is short, a warp, or a block, of a warp for
/// each block of iterations.
class RowWriter {
 public:
  /// What the rewriter does with old nodes.
  struct Old {
    std::function<NodeId(NodeId)> use;
    std::function<void(NodeId, NodeId)> bind;
    std::function<void(NodeId)> clone;
    std::function<std::vector<LaneReduction::Slot>(NodeId)> slots;
  };
  enum class Threads : uint8_t { Part, Warp, Block };
  /// The threads of a part of a warp.
  static constexpr int64_t kPart = 8;
  static constexpr size_t kSlotsOfPart = 2;

  RowWriter(KernelWriter& kernels, LoopWriter& loops, const Function& source, const RowPlan& plan,
            Threads kind, Old old);

  /// How many elements such threads have registers for; the threads of a block for a row of that length.
  static int64_t most_elements(const RowPlan& plan, Threads kind);
  static NodeId threads_for(LoopWriter& loops, const RowPlan& plan, NodeId length);

  /// At the top of a launch.
  void prepare();
  /// Begins a row: `thread` is one of the part, warp or block. Without `has_row` it only comes to what
  /// threads of a warp do together.
  void begin(NodeId thread, NodeId has_row);
  /// A node of the row, or before it.
  void write(NodeId id);
  void end();

 private:
  struct Touched {
    Root root;
    size_t place;
    bool is_stored;
  };
  void write_loop(NodeId loop);
  Nodes write_chunk(NodeId loop, LaneReduction* lanes, size_t first, size_t last, const Nodes& own,
                    const std::vector<size_t>& kept);
  Nodes write_iteration(NodeId loop, size_t slot);
  void write_access(NodeId id, size_t slot);
  Nodes first_of(size_t loop, const Nodes& values);
  Nodes reduce_chunks(NodeId loop, size_t number, LaneReduction* lanes, const std::vector<size_t>& kept,
                      const Nodes& inits);
  Nodes combine(size_t loop, LaneReduction& lanes, const Nodes& own);
  NodeId from_first(NodeId value);
  void touch(std::span<const NodeId> accesses);
  void wait();
  NodeId is_there(size_t slot);
  /// Elements from one slot of a thread to the next; slots that it has.
  int64_t apart() const { return kind_ == Threads::Part ? kPart : KernelWriter::kWarp; }
  size_t slots() const { return kind_ == Threads::Part ? kSlotsOfPart : plan_.slots(); }
  NodeId whole(int64_t number) { return b_.constant(static_cast<int32_t>(number)); }

  KernelWriter& kernels_;
  LoopWriter& loops_;
  ir::Builder& b_;
  const Function& source_;
  const RowPlan& plan_;
  Threads kind_;
  Old old_;
  std::vector<Nodes> shared_;  ///< by loop: what warps exchange, by slot of the reduction
  std::vector<Nodes> firsts_;  ///< ... and the first iteration's value
  NodeId lane_;
  NodeId warp_;
  NodeId has_row_;
  NodeId first_;  ///< the first element of the thread
  NodeId left_;   ///< elements from there on, and from the warp's first one on
  NodeId left_of_warp_;
  NodeId count_;
  std::vector<Nodes> values_;     ///< by place and slot
  std::vector<Touched> touched_;  ///< in memory, since threads have waited for each other
  size_t loop_ = 0;
  bool has_all_ = false;  ///< a warp's threads have the slots that are written
};

}  // namespace ingot::transform
