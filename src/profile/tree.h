#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

/// What a profile counts: a tree of call paths, and the regions that are open.
namespace ingot::profile {

enum class Kind : uint8_t { Region, Compiled, Compile, Load, Upload, Download, Fill, Kernel };

/// What a region or row is, apart from its position in the tree.
struct Label {
  std::string name;
  std::string implementation{};  ///< which of several that do the same
  std::string device{};          ///< whose the time is, or the other end of a copy
  Kind kind = Kind::Region;

  bool operator==(const Label&) const = default;
};

using LabelId = uint32_t;
/// The number of a label, for ever. From any thread.
LabelId number_of(const Label& label);
/// How many there are, and the label of a number.
size_t label_count();
Label label_of(LabelId id);

/// Before a fork, and after it in both processes: nobody is numbering labels meanwhile. For `pthread_atfork`.
void hold_labels();
void release_labels();

/// What a caller states of a call.
struct Counts {
  int64_t bytes_up = 0;
  int64_t bytes_down = 0;
  double flops = 0;

  void add(const Counts& other) {
    bytes_up += other.bytes_up;
    bytes_down += other.bytes_down;
    flops += other.flops;
  }
};

using NodeId = uint32_t;
constexpr NodeId kRoot = 0;

/// One path: the regions around, and a label. Times are in ticks.
struct Node {
  static constexpr LabelId kNone = std::numeric_limits<LabelId>::max();

  NodeId parent = kRoot;
  LabelId label = kNone;
  LabelId last_label = kNone;  ///< of the child that was entered last
  NodeId last_child = kRoot;
  uint32_t open = 0;   ///< activations, of which one may be inside the other
  int64_t opened = 0;  ///< when the first of these began
  int64_t calls = 0;
  int64_t total = 0;  ///< while one was open, or more
  int64_t own = 0;    ///< of that, not inside another region
  int64_t shortest = std::numeric_limits<int64_t>::max();
  int64_t longest = 0;
  Counts counts{};

  /// The length of a call that has ended.
  void end_call(int64_t length) {
    if (length < shortest) shortest = length;
    if (length > longest) longest = length;
  }
};

/// An activation of a region that is open.
struct Frame {
  uint64_t number = 0;          ///< no other activation has it
  const void* owner = nullptr;  ///< the object that has opened it, where that is to close it
  NodeId node = kRoot;
  bool is_step = false;  ///< a part of a call, whose length is not a call's
  int64_t start = 0;
  int64_t counted = 0;  ///< since when its time is inside of the frame below
  int64_t inner = 0;    ///< ticks inside of frames above
  Counts counts{};
};

/// The paths of one thread, and what is open there. A region that is entered while one of its label is open
/// is counted as a further call of that, so that the tree of a recursion ends.
///
/// Regions may end in any order: those that one leaves open go on inside what is around it.
class Tree {
 public:
  Tree() : nodes_(1) {}

  const std::vector<Node>& nodes() const { return nodes_; }
  std::vector<Frame>& frames() { return frames_; }
  const std::vector<Frame>& frames() const { return frames_; }
  /// The innermost region that is open.
  NodeId current() const { return frames_.empty() ? kRoot : frames_.back().node; }
  Node& node(NodeId id) { return nodes_[id]; }

  /// The child of a node, made if there is none.
  NodeId child(NodeId parent, LabelId label);
  /// Opens a region, at the innermost one.
  void enter(LabelId label, int64_t now, uint64_t number, const void* owner = nullptr) {
    open(node_of(label), now, number, owner);
    ++nodes_[frames_.back().node].calls;
  }
  /// Opens a part of a call. Whether the call is a new one is the caller's to count.
  void enter_step(LabelId label, int64_t now, uint64_t number) {
    open(node_of(label), now, number, nullptr);
    frames_.back().is_step = true;
  }
  /// The same below a node that is not open.
  void enter_at(NodeId node, int64_t now, uint64_t number) {
    open(node, now, number, nullptr);
    ++nodes_[node].calls;
  }
  /// Closes the innermost region, or another.
  void leave(int64_t now) { close(frames_.size() - 1, now); }
  void close(size_t at, int64_t now);
  void close_all(int64_t now) {
    while (!frames_.empty()) leave(now);
  }
  /// The index of the frame of a number, or of the innermost one of an owner; the count of frames: there is
  /// none.
  size_t find(uint64_t number) const;
  size_t find(const void* owner) const;

  /// Adds calls that were measured elsewhere, where a region of the label would be. Their time is inside the
  /// innermost region, unless another clock's.
  void add(LabelId label, int64_t calls, int64_t length, const Counts& counts, bool is_inside);

 private:
  NodeId node_of(LabelId label) {
    if (label < open_.size() && open_[label] != kRoot) return open_[label];
    const NodeId parent = current();
    const Node& around = nodes_[parent];
    return around.last_label == label ? around.last_child : child(parent, label);
  }
  void open(NodeId node, int64_t now, uint64_t number, const void* owner);

  std::vector<Node> nodes_;
  std::vector<Frame> frames_;
  std::vector<NodeId> open_;  ///< by label: the node that is open, or kRoot
  std::unordered_map<uint64_t, NodeId> children_;
};

}  // namespace ingot::profile
