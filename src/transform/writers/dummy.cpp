#include "transform/writers/dummy.h"

#include "transform/writers/loop_writer.h"

namespace ingot::transform {

namespace {

NodeId new_buffer(ir::Builder& b, int64_t bytes, ir::Space space) {
  return b.make(Op::alloc, {b.index(bytes)}, {static_cast<int64_t>(ir::Life::Call)}, Type::buffer(space));
}

}  // namespace

NodeId dummy(ir::Builder& b, Type type) {
  const Nodes lengths(static_cast<size_t>(type.rank()), b.index(0));
  switch (type.kind()) {
    case ir::TypeKind::Scalar: return b.constant(type, base::Scalar{});
    case ir::TypeKind::Array: {
      Nodes operands{b.constant(type.element(), base::Scalar{})};
      operands.insert(operands.end(), lengths.begin(), lengths.end());
      return b.make(Op::broadcast, operands);
    }
    case ir::TypeKind::View: {
      const int64_t bytes = lengths.empty() ? static_cast<int64_t>(base::size_of(type.dtype())) : 0;
      return LoopWriter(b).c_view(new_buffer(b, bytes, type.space()), b.index(0), lengths, type.dtype());
    }
    case ir::TypeKind::Buffer: return new_buffer(b, 0, type.space());
    case ir::TypeKind::Optional: return b.make(Op::none, {}, {1}, type);
    default: INGOT_ASSERT(false, "a dummy of a type that has values");
  }
  return {};
}

}  // namespace ingot::transform
