#include "ir/annotation.h"

namespace ingot::ir {

Annotation::Annotation(const Function& function) : copy_(new Function(function)) {}

void Annotation::set(NodeId node, size_t index, int64_t word) {
  copy_->attributes_[copy_->nodes_[node.index].attribute_begin + index] = word;
}

}  // namespace ingot::ir
