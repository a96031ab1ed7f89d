#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/function.h"

namespace ingot::transform {

/// Whether values of a type have tangents: floats and complex numbers.
inline bool has_tangents(ir::Type type) {
  return type.has_dtype() && (base::is_float(type.dtype()) || base::is_complex(type.dtype()));
}

/// Whether a value is memory: a view, a buffer, or an optional one.
inline bool is_memory(const ir::Function& function, ir::NodeId value) {
  ir::Type type = function.type(value);
  while (type.is(ir::TypeKind::Optional)) type = function.module().types.members(type)[0];
  return type.is_view() || type.is_buffer();
}

/// Whether a type may stand for the number of a buffer (`keep`), which has the number of its shadow for a
/// tangent.
inline bool may_be_number(ir::Type type) { return type.has_dtype() && type.dtype() == base::DType::Int64; }

/// The tag of the derivative to make next; none: the function has no nodes of any.
std::optional<int64_t> largest_tag(const ir::Function& function);

/// Whether a node writes zeros to bytes: new memory of shadows.
bool clears_bytes(const ir::Function& function, ir::NodeId node);

/// Which values of an array-stage function may depend, in floats or complex numbers, on the variables of one
/// derivative. Memory is looked at as a whole: all views and buffers that one flows into are one memory, and
/// what is stored there at some time may be loaded at any. Numbers of buffers (`keep`) vary with what the
/// buffers hold, wherever they are copied to; what numbers of one origin stand for is one memory.
class Activity {
 public:
  Activity(const ir::Function& function, int64_t tag) : Activity(function, std::optional(tag)) {}
  /// Of no derivative: nothing varies, and arrays are the same memory whether they are lifted or not.
  explicit Activity(const ir::Function& function) : Activity(function, std::nullopt) {}

  /// Of a number, an array or an optional; of a view or buffer, what its memory may hold.
  bool is_varied(ir::NodeId value) const { return varied_[root(value)]; }
  /// Whether floats or complex numbers have been seen in the memory of a view or buffer.
  bool holds_floats(ir::NodeId value) const { return holds_floats_[root(value)]; }
  /// A number of the memory of a view or buffer.
  uint32_t memory_of(ir::NodeId value) const { return root(value); }
  /// Of views and buffers: whether what is stored by one may be loaded by the other.
  bool is_same_memory(ir::NodeId a, ir::NodeId b) const { return root(a) == root(b); }

 private:
  Activity(const ir::Function& function, std::optional<int64_t> tag);
  void unite_parameters();
  void find_outside();
  /// Whether a value may be, or hold, numbers of buffers: no constant is one.
  bool is_number(ir::NodeId value) const {
    const bool is_repeated = f_.op(value) == ir::Op::broadcast && f_.is_constant(f_.operand(value, 0));
    if (is_repeated || f_.is_constant(value)) return false;
    ir::Type type = f_.type(value);
    if (type.is(ir::TypeKind::Optional)) type = f_.module().types.members(type)[0];
    return may_be_number(type);
  }
  uint32_t root(ir::NodeId value) const { return root_in(parent_, value.index); }
  static uint32_t root_in(std::vector<uint32_t>& parent, uint32_t at);
  void unite(ir::NodeId a, ir::NodeId b);
  void unite_numbers(ir::NodeId a, ir::NodeId b);
  void stand_for(ir::NodeId number, ir::NodeId memory);
  void visit_kept(ir::NodeId node);
  void mark(ir::NodeId value);
  void flow(ir::NodeId from, ir::NodeId to, bool copies = true);
  void flow_all(std::span<const ir::NodeId> from, std::span<const ir::NodeId> to);
  void visit(ir::NodeId node);
  void visit_memory(ir::NodeId node);
  void visit_control(ir::NodeId node);
  void visit_outside(ir::NodeId node);

  const ir::Function& f_;
  std::optional<int64_t> tag_;
  mutable std::vector<uint32_t> parent_;
  std::vector<bool> varied_;        ///< by root
  std::vector<bool> holds_floats_;  ///< by root
  /// Numbers, and memory that holds some: those that may be copies of each other are one.
  mutable std::vector<uint32_t> numbers_;
  std::vector<ir::NodeId> stands_for_;  ///< by root of numbers: some memory that they stand for
  ir::NodeId outside_;                  ///< a number that came from outside
  bool has_changed_ = false;
};

}  // namespace ingot::transform
