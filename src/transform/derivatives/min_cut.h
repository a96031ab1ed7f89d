#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ingot::transform {

/// The cheapest set of vertices of a graph without which no path leads from a source to a target; of equal
/// ones, that which is nearest to the targets. Vertices are numbers from 0 on; a source or a target may be in
/// the set. Costs are positive.
class MinCut {
 public:
  static constexpr int64_t kNever = int64_t{1} << 40;

  /// Gives the vertex's number.
  int add_vertex(int64_t cost);
  void add_edge(int from, int to);
  void add_source(int vertex);
  void add_target(int vertex);
  std::vector<bool> find();

 private:
  struct Edge {
    int to;
    int64_t left;
  };
  void connect(int from, int to, int64_t capacity);
  bool find_levels();
  int64_t push();

  // Each vertex is two nodes, in and out, with an edge of its cost between them. Node 0 is where all paths
  // begin, 1 where they end.
  static int in(int vertex) { return 2 + 2 * vertex; }
  static int out(int vertex) { return 3 + 2 * vertex; }

  std::vector<Edge> edges_;                   ///< the reverse of edge e is e ^ 1
  std::vector<std::vector<int>> of_{{}, {}};  ///< by node
  std::vector<int> level_;
  std::vector<std::size_t> next_;
  int vertices_ = 0;
};

}  // namespace ingot::transform
