#include "transform/derivatives/min_cut.h"

#include <algorithm>

namespace ingot::transform {

int MinCut::add_vertex(int64_t cost) {
  of_.resize(of_.size() + 2);
  connect(in(vertices_), out(vertices_), cost);
  return vertices_++;
}

void MinCut::add_edge(int from, int to) { connect(out(from), in(to), kNever); }
void MinCut::add_source(int vertex) { connect(0, in(vertex), kNever); }
void MinCut::add_target(int vertex) { connect(out(vertex), 1, kNever); }

void MinCut::connect(int from, int to, int64_t capacity) {
  of_[static_cast<size_t>(from)].push_back(static_cast<int>(edges_.size()));
  edges_.push_back({to, capacity});
  of_[static_cast<size_t>(to)].push_back(static_cast<int>(edges_.size()));
  edges_.push_back({from, 0});
}

bool MinCut::find_levels() {
  level_.assign(of_.size(), -1);
  level_[0] = 0;
  std::vector<int> queue{0};
  for (size_t i = 0; i < queue.size(); ++i) {
    for (const int e : of_[static_cast<size_t>(queue[i])]) {
      const Edge& edge = edges_[static_cast<size_t>(e)];
      int& level = level_[static_cast<size_t>(edge.to)];
      if (edge.left == 0 || level >= 0) continue;
      level = level_[static_cast<size_t>(queue[i])] + 1;
      queue.push_back(edge.to);
    }
  }
  return level_[1] >= 0;
}

// A path is as long as a chain of nodes in a loop's body, so the search has a stack of its own.
int64_t MinCut::push() {
  std::vector<int> path;
  int at = 0;
  for (;;) {
    if (at == 1) {
      int64_t most = kNever;
      for (const int e : path) most = std::min(most, edges_[static_cast<size_t>(e)].left);
      for (const int e : path) {
        edges_[static_cast<size_t>(e)].left -= most;
        edges_[static_cast<size_t>(e) ^ 1].left += most;
      }
      return most;
    }
    size_t& next = next_[static_cast<size_t>(at)];
    const auto& own = of_[static_cast<size_t>(at)];
    bool has_gone = false;
    for (; next < own.size(); ++next) {
      const Edge& edge = edges_[static_cast<size_t>(own[next])];
      if (edge.left == 0 || level_[static_cast<size_t>(edge.to)] != level_[static_cast<size_t>(at)] + 1)
        continue;
      path.push_back(own[next]);
      at = edge.to;
      has_gone = true;
      break;
    }
    if (has_gone) continue;
    if (path.empty()) return 0;
    const int back = path.back();
    path.pop_back();
    at = edges_[static_cast<size_t>(back) ^ 1].to;
    ++next_[static_cast<size_t>(at)];
  }
}

std::vector<bool> MinCut::find() {
  while (find_levels()) {
    next_.assign(of_.size(), 0);
    while (push() > 0) {
    }
  }
  // Nodes that can still reach the sink are after the cut.
  std::vector<bool> behind(of_.size());
  behind[1] = true;
  std::vector<int> queue{1};
  for (size_t i = 0; i < queue.size(); ++i) {
    for (const int e : of_[static_cast<size_t>(queue[i])]) {
      const int from = edges_[static_cast<size_t>(e)].to;
      if (edges_[static_cast<size_t>(e) ^ 1].left == 0 || behind[static_cast<size_t>(from)]) continue;
      behind[static_cast<size_t>(from)] = true;
      queue.push_back(from);
    }
  }
  std::vector<bool> cut(static_cast<size_t>(vertices_));
  for (int v = 0; v < vertices_; ++v)
    cut[static_cast<size_t>(v)] = !behind[static_cast<size_t>(in(v))] && behind[static_cast<size_t>(out(v))];
  return cut;
}

}  // namespace ingot::transform
