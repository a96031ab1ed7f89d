#include "profile/tree.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <tuple>

namespace ingot::profile {

namespace {

/// Part of the closed list of process-wide state.
struct Labels {
  std::mutex mutex;
  std::vector<Label> all;
  std::map<std::tuple<std::string, std::string, std::string, Kind>, LabelId> numbers;

  /// Never destroyed: threads may end after it.
  static Labels& instance() {
    static Labels& labels = *new Labels;
    return labels;
  }
};

}  // namespace

LabelId number_of(const Label& label) {
  Labels& labels = Labels::instance();
  const std::lock_guard lock(labels.mutex);
  const auto number = static_cast<LabelId>(labels.all.size());
  const auto [index, is_new] =
      labels.numbers.try_emplace({label.name, label.implementation, label.device, label.kind}, number);
  if (is_new) labels.all.push_back(label);
  return index->second;
}

size_t label_count() {
  Labels& labels = Labels::instance();
  const std::lock_guard lock(labels.mutex);
  return labels.all.size();
}

Label label_of(LabelId id) {
  Labels& labels = Labels::instance();
  const std::lock_guard lock(labels.mutex);
  return labels.all.at(id);
}

void hold_labels() { Labels::instance().mutex.lock(); }
void release_labels() { Labels::instance().mutex.unlock(); }

NodeId Tree::child(NodeId parent, LabelId label) {
  const uint64_t key = (static_cast<uint64_t>(parent) << 32) | label;
  const auto [index, is_new] = children_.try_emplace(key, static_cast<NodeId>(nodes_.size()));
  if (is_new) {
    Node& made = nodes_.emplace_back();
    made.parent = parent;
    made.label = label;
  }
  nodes_[parent].last_label = label;
  nodes_[parent].last_child = index->second;
  return index->second;
}

void Tree::open(NodeId id, int64_t now, uint64_t number, const void* owner) {
  Frame& frame = frames_.emplace_back();
  frame.number = number;
  frame.owner = owner;
  frame.node = id;
  frame.start = frame.counted = now;
  Node& node = nodes_[id];
  if (node.open++ != 0) return;
  node.opened = now;
  if (node.label >= open_.size()) open_.resize(node.label + 32, kRoot);
  open_[node.label] = id;
}

void Tree::close(size_t at, int64_t now) {
  Frame& frame = frames_[at];
  if (at + 1 < frames_.size()) {
    Frame& above = frames_[at + 1];
    frame.inner += now - above.counted;
    above.counted = now;
  }
  if (at > 0) frames_[at - 1].inner += now - frame.counted;
  Node& node = nodes_[frame.node];
  const int64_t length = now - frame.start;
  node.own += length - frame.inner;
  if (!frame.is_step) node.end_call(length);
  node.counts.add(frame.counts);
  if (--node.open == 0) {
    node.total += now - node.opened;
    open_[node.label] = kRoot;
  }
  if (at + 1 == frames_.size()) frames_.pop_back();
  else frames_.erase(frames_.begin() + static_cast<ptrdiff_t>(at));
}

size_t Tree::find(uint64_t number) const {
  const auto found = std::find_if(frames_.rbegin(), frames_.rend(),
                                  [&](const Frame& frame) { return frame.number == number; });
  return found == frames_.rend() ? frames_.size() : static_cast<size_t>(frames_.rend() - found) - 1;
}

size_t Tree::find(const void* owner) const {
  const auto found = std::find_if(frames_.rbegin(), frames_.rend(),
                                  [&](const Frame& frame) { return frame.owner == owner; });
  return found == frames_.rend() ? frames_.size() : static_cast<size_t>(frames_.rend() - found) - 1;
}

void Tree::add(LabelId label, int64_t calls, int64_t length, const Counts& counts, bool is_inside) {
  Node& node = nodes_[node_of(label)];
  node.calls += calls;
  node.own += length;
  if (node.open == 0) node.total += length;
  if (calls > 0) node.end_call(length / calls);
  node.counts.add(counts);
  if (is_inside && !frames_.empty()) frames_.back().inner += length;
}

}  // namespace ingot::profile
