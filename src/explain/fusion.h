#pragma once

#include <deque>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "explain/host_reader.h"

namespace ingot::explain {

/// An op of the array IR in the nest that it was fused into.
struct FusedOp {
  enum class Kind : uint8_t {
    Load,
    Store,
    Move,  ///< chooses or converts values
    Reduce,
    Compute,
  };
  std::string name;
  Kind kind;
  std::string dtype;
  std::optional<base::SourceLocation> location;
  /// Ops and memory that it takes values from.
  std::vector<std::variant<const FusedOp*, const Buffer*>> uses;
  const Buffer* puts = nullptr;  ///< the memory that it stores to
};

/// The bytes of memory that are touched, in the order of the first access.
using Touched = std::vector<std::pair<const Buffer*, Count>>;

/// One loop nest, or one call of a routine (`loops` 0); it runs `iterations` times.
struct Nest {
  std::vector<const FusedOp*> ops{};
  int loops = 0;
  Count iterations = {};
  Touched read{};
  Touched written{};
  bool hidden = false;  ///< it touches memory besides, of which is not known whose it is

  /// The bytes that it reads and writes.
  Count moved() const;
};

/// The nests of a function in their order, the memory between them, and what must at least be moved.
/// Owns all of it.
struct Fusion {
  std::string name;
  std::vector<Nest> nests;
  std::vector<const Buffer*> buffers;  ///< those that nests touch
  Count least;                         ///< the bytes of arguments and results

  /// The bytes that all nests read and write, each of its arrays once a nest.
  Count moved() const;

  std::deque<FusedOp> all_ops;
  std::deque<Buffer> memory;
};

/// What was fused in a function that has its loops (the pass `to_loops`), called with these arguments. A loop
/// that runs an unknown number of times counts as one over all elements of the arrays that it touches.
Fusion fusion_of(const ir::Function& function, std::span<const Argument> arguments);

}  // namespace ingot::explain
