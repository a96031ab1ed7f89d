#pragma once

#include <memory>

#include "ir/function.h"

namespace ingot::ir {

/// A copy of a function with other attributes, for passes that change nothing else.
class Annotation {
 public:
  explicit Annotation(const Function& function);

  /// Sets the `index`-th word of a node's attributes; one that does not affect its type.
  void set(NodeId node, size_t index, int64_t word);
  std::unique_ptr<Function> finish() { return std::move(copy_); }

 private:
  std::unique_ptr<Function> copy_;
};

}  // namespace ingot::ir
