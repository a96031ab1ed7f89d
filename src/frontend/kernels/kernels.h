#pragma once

/// Kernels: functions that a launch runs once for each thread. A kernel is evaluated once, in the region of
/// a `launch`; the indices of a thread are the region's parameters.

#include "frontend/tracer/frame.h"

namespace ingot::frontend {

class Kernels {
 public:
  explicit Kernels(Tracer& t) : t_(t) {}

  /// The value of an object of `ingot.cuda` that is no function, such as `threadIdx`; none: another object.
  std::optional<Value> special(nb::handle object);
  /// Calls a kernel, for all of its threads.
  void launch(Call& call);
  /// Memory of the block or of the thread.
  Value memory(Call& call, ir::Space space);
  /// An atomic access; `exchanges`: a compare_exchange.
  Value atomic(Call& call);
  Value compare_exchange(Call& call);
  Value vote(Call& call);
  Value shuffle(Call& call);
  Value match(Call& call);
  void barrier(Call& call);
  /// A call of a function that is linked with the kernels.
  Value linked(Call& call);
  /// The thread's index, or the extent, along an axis of all threads of the launch.
  Value in_grid(size_t axis, bool extent);
  /// The launch around this location; if there is none, refuses a name of `ingot.cuda`, or the call of a
  /// linked function.
  Launch& around(nb::handle node, const std::string& name);
  Launch& around_call(nb::handle node, const std::string& name);
  /// Requires another evaluation if memory was requested that has to be allocated earlier.
  void settle();
  /// Refuses operations that kernels cannot do, and collectives that not all threads come to.
  void check(const ir::Function& function);

 private:
  Value triple(std::span<const NodeId> nodes, bool extents);
  Value linear(const Launch& launch);
  DType type_argument(Call& call, size_t position);
  NodeId mask(const Value& value);
  void declare(const nb::object& declaration, const std::string& name, nb::handle node);
  NodeId passed(const Value& value, const std::string& type, const std::string& name, nb::handle node);
  NodeId dynamic_memory();
  NodeId static_memory(int64_t bytes, ir::Space space, nb::handle node);
  std::string text(Call& call, size_t position);
  std::vector<NodeId> element(Call& call, const Array& array, const std::string& name);
  Array accessed(Call& call, const std::string& name);
  NodeId operand(const Value& value, const Array& array, const std::string& name, nb::handle node);
  [[noreturn]] void refuse(ir::SpanId span, const std::string& reason, const std::string& advice);

  Tracer& t_;
};

}  // namespace ingot::frontend
