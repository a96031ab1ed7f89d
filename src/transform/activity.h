#pragma once

#include <cstdint>
#include <vector>

#include "ir/function.h"

namespace ingot::transform {

/// Whether values of a type have tangents: floats and complex numbers.
inline bool has_tangents(ir::Type type) {
  return type.has_dtype() && (base::is_float(type.dtype()) || base::is_complex(type.dtype()));
}

/// Which values of an array-stage function may depend, in floats or complex numbers, on the variables of one
/// derivative. Memory is looked at as a whole: all views and buffers that one flows into are one memory, and
/// what is stored there at some time may be loaded at any.
class Activity {
 public:
  Activity(const ir::Function& function, int64_t tag);

  /// Of a number, an array or an optional; of a view or buffer, what its memory may hold.
  bool is_varied(ir::NodeId value) const { return varied_[root(value)]; }

 private:
  uint32_t root(ir::NodeId value) const;
  void unite(ir::NodeId a, ir::NodeId b);
  void mark(ir::NodeId value);
  void flow(ir::NodeId from, ir::NodeId to);
  void flow_all(std::span<const ir::NodeId> from, std::span<const ir::NodeId> to);
  void visit(ir::NodeId node);
  void visit_memory(ir::NodeId node);
  void visit_control(ir::NodeId node);
  void visit_outside(ir::NodeId node);

  const ir::Function& f_;
  int64_t tag_;
  mutable std::vector<uint32_t> parent_;
  std::vector<bool> varied_;  ///< by root
  ir::NodeId kept_;           ///< some buffer that has a number
  bool has_changed_ = false;
};

}  // namespace ingot::transform
