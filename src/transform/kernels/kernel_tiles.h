#pragma once

#include <algorithm>
#include <functional>
#include <optional>

#include "transform/kernels/kernel_writer.h"
#include "transform/kernels/nest_copies.h"

namespace ingot::transform {

/// A nest in tiles: each iteration of its two innermost levels, the *rows* and the *columns*, runs a loop
/// (the *depth*) that carries numbers or changes one in memory, where some loads miss the columns and others
/// the rows, as in a product of matrices, however it is written. What a row loads then serves all columns of
/// a block of threads.
struct Tiling {
  std::vector<NodeId> levels;  ///< of the nest; the last two are the rows and the columns
  NodeId depth;                ///< the loop in the innermost level
  Nodes of_rows;               ///< loads in it that depend on the row and the iteration of the depth alone
  Nodes of_columns;            ///< ... on the column
  NodeId load;                 ///< of the number in memory that the depth changes; none: it carries numbers
  NodeId store;

  NodeId rows() const { return levels[levels.size() - 2]; }
  NodeId columns() const { return levels.back(); }

  /// Of a nest with these levels, which is known to have independent iterations; none: it is not so.
  static std::optional<Tiling> find(const Function& f, std::span<const NodeId> levels);
};

/// Writes launches of a nest in tiles. A block of threads has a rectangle of rows and columns, each thread a
/// few of both; what they load of some iterations of the depth is put into the block's memory first, by all
/// threads. Each iteration of the nest does what it did, in its order: the values are the same to the bit.
class KernelTiles {
 public:
  /// `use`: what a value from outside of the nest has become.
  KernelTiles(KernelWriter& kernels, LoopWriter& loops, const Function& source, const Tiling& tiling,
              std::function<NodeId(NodeId)> use);

  /// Whether there are tiles of which a thread's numbers fit into its registers, and the block's into its
  /// memory.
  bool fits() const { return !shapes_.empty(); }
  /// Launches for nests that are worth tiles, of a size that suits them; `plain` writes what others do.
  /// `prepare` writes what is at the top of each launch.
  void write(const std::function<void()>& prepare, const std::function<void()>& plain);

 private:
  /// Of a thread: rows, columns; of a block: iterations of the depth at once.
  struct Shape {
    int64_t rows;
    int64_t columns;
    int64_t depth;
  };
  /// A rectangle of what a load gives, in the memory of the block.
  struct Stage {
    NodeId load;
    bool is_of_rows;
    bool along_depth;  ///< neighbours in memory are neighbours of the depth
    NodeId view;
    int64_t length;  ///< of rows or columns
    int64_t stride;  ///< elements from one iteration of the depth to the next

    /// Neighbours in memory, and how many of them a thread has that the block's threads do not reach at once.
    int64_t inner(int64_t depth) const { return along_depth ? depth : length; }
    int64_t rounds(int64_t depth, int64_t threads) const {
      return std::max<int64_t>(inner(depth) / threads, 1);
    }
    /// The elements of a thread.
    int64_t count(int64_t depth, int64_t threads) const { return length * depth / threads; }
  };
  /// Of a thread's rows or columns: so many are neighbours, as one instruction loads them; groups of
  /// neighbouring threads are neighbours.
  struct Group {
    int64_t size;
    int64_t offset(int64_t lane, int64_t threads) const { return lane / size * size * threads + lane % size; }
  };
  using Lane = NestCopies::Lane;
  /// The rows or the columns of a thread, in a tile: where its first one is, and that of the block.
  struct Side {
    NodeId level;
    int64_t lanes;
    int64_t threads;
    Group group;
    NodeId begin;  ///< of the tile, which begins before its end
    NodeId first;
    NodeId start;
    bool is_used = false;  ///< by what comes before the depth, or is in it
  };

  void find_shapes();
  int64_t bytes_of(const Shape& shape) const;
  int64_t stride_of(NodeId load, int64_t length) const;
  bool is_along_depth(NodeId load) const;
  NodeId tiles_of(const Shape& shape);
  NodeId has_tile(const Shape& shape);

  void write_launch(const Shape& shape, const std::function<void()>& prepare);
  void place_stages(const Shape& shape);
  void write_tile(const Shape& shape, std::span<const NodeId> at, NodeId thread);
  void make_lanes(const Shape& shape, std::span<const NodeId> at, NodeId thread);
  NodeId position(const Side& side, int64_t lane);
  NodeId is_inside(const Side& side, int64_t lane);
  Nodes loads_before() const;
  bool is_used_before(NodeId level) const;
  void prepare_lane(Lane& lane);
  Nodes run_depth(const Shape& shape, NodeId thread, const Nodes& inits);
  void fill_stages(const Shape& shape, NodeId thread, NodeId first, NodeId there);
  void fill_part(const Shape& shape, NodeId thread, NodeId first, NodeId there, NodeId part, int64_t parts);
  Nodes inits_of(Lane& lane);
  std::vector<Type> types_of_sums() const;
  Nodes run_iteration(const Shape& shape, NodeId thread, NodeId at, NodeId iteration, const Nodes& carried);
  void finish_lanes(const Shape& shape, const Nodes& given);

  Group group_of(int64_t lanes, const Nodes& loads) const;
  NodeId parameter(NodeId loop, size_t i = 0) const {
    return source_.region_parameters(source_.region(loop))[i];
  }

  KernelWriter& kernels_;
  LoopWriter& loops_;
  ir::Builder& b_;
  const Function& source_;
  const Tiling& tiling_;
  std::function<NodeId(NodeId)> use_;
  NestCopies copies_;
  int64_t across_;  ///< threads of a block along its columns, and its rows
  int64_t down_;
  bool clamps_ = false;        ///< the last tile goes beyond the end
  std::vector<Shape> shapes_;  ///< the largest first
  std::vector<Stage> stages_;
  Lane outside_;  ///< of what all rows and columns of a block have in common
  std::vector<Lane> lanes_;
  Side rows_;
  Side columns_;
};

}  // namespace ingot::transform
