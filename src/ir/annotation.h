#pragma once

#include <memory>

#include "ir/function.h"

namespace ingot::ir {

/// A function with other attributes, and the same otherwise: what a pass gives that only decides.
class Annotation {
 public:
  explicit Annotation(const Function& function);

  /// Sets the `index`-th word of a node's attributes, which decides nothing about its type.
  void set(NodeId node, size_t index, int64_t word);
  std::unique_ptr<Function> finish() { return std::move(copy_); }

 private:
  std::unique_ptr<Function> copy_;
};

}  // namespace ingot::ir
