#include "transform/writers/loop_writer.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace ingot::transform {

namespace {

std::vector<Type> types_of(const Function& function, std::span<const NodeId> nodes) {
  std::vector<Type> types;
  for (const NodeId node : nodes) types.push_back(function.type(node));
  return types;
}

}  // namespace

Nodes LoopWriter::nest(std::span<const NodeId> lengths, Nodes& indices, std::span<const NodeId> inits,
                       const Iteration& iteration) {
  if (indices.size() == lengths.size()) return iteration(indices, inits);
  Nodes operands{lengths[indices.size()]};
  operands.insert(operands.end(), inits.begin(), inits.end());
  const bool independent = independent_ && inits.empty();
  const ir::Schedule schedule = one_by_one_   ? ir::Schedule::Vector
                                : independent ? ir::Schedule::Independent
                                              : ir::Schedule::Serial;
  const int64_t attributes[] = {static_cast<int64_t>(schedule), one_by_one_ ? 1 : 0};
  const ir::SpanId location = b_.span();
  const NodeId loop = b_.begin(Op::for_, operands, attributes);
  std::vector<Type> types{ir::kInt64};
  for (const NodeId init : inits) types.push_back(b_.function().type(init));
  const Nodes entered = b_.enter(loop, 0, types);
  indices.push_back(entered[0]);
  b_.yield(nest(lengths, indices, std::span(entered).subspan(1), iteration));
  indices.pop_back();
  b_.set_span(location);
  return b_.end(loop);
}

Nodes LoopWriter::nest(std::span<const NodeId> lengths, std::span<const NodeId> inits,
                       const Iteration& iteration) {
  Nodes indices;
  return nest(lengths, indices, inits, iteration);
}

void LoopWriter::nest(std::span<const NodeId> lengths,
                      const std::function<void(std::span<const NodeId>)>& iteration) {
  nest(lengths, {}, [&](std::span<const NodeId> indices, std::span<const NodeId>) {
    iteration(indices);
    return Nodes();
  });
}

Nodes LoopWriter::branch(NodeId condition, const std::vector<Type>& types, const std::function<Nodes()>& then,
                         const std::function<Nodes()>& otherwise) {
  if (b_.function().is_constant(condition))
    return b_.function().constant(condition).bits[0] != 0 ? then() : otherwise();
  const NodeId choice = b_.begin(Op::if_, {&condition, 1}, {}, types);
  b_.enter(choice, 0, {});
  b_.yield(then());
  b_.enter(choice, 1, {});
  b_.yield(otherwise());
  return b_.end(choice);
}

void LoopWriter::when(NodeId condition, const std::function<void()>& then) {
  branch(condition, {}, [&] { return then(), Nodes(); }, [] { return Nodes(); });
}

Nodes LoopWriter::repeat(std::span<const NodeId> inits, const Step& test, const Step& body) {
  const std::vector<Type> types = types_of(b_.function(), inits);
  const NodeId loop = b_.begin(Op::while_, inits, {}, types);
  b_.yield(test(b_.enter(loop, 0, types)));
  b_.yield(body(b_.enter(loop, 1, types)));
  return b_.end(loop);
}

Nodes LoopWriter::combined(std::span<const Op> combiners, NodeId count, std::span<const NodeId> inits,
                           const std::function<Nodes(NodeId)>& iteration) {
  Nodes operands{count};
  operands.insert(operands.end(), inits.begin(), inits.end());
  std::vector<int64_t> attributes{static_cast<int64_t>(ir::Schedule::Serial), 0};
  for (const Op combiner : combiners) attributes.push_back(static_cast<int64_t>(combiner));
  const ir::SpanId location = b_.span();
  const NodeId loop = b_.begin(Op::parallel_for, operands, attributes);
  const Type index[] = {ir::kInt64};
  b_.yield(iteration(b_.enter(loop, 0, index)[0]));
  b_.set_span(location);
  return b_.end(loop);
}

NodeId LoopWriter::load(NodeId view, std::span<const NodeId> indices) {
  Nodes operands{view};
  operands.insert(operands.end(), indices.begin(), indices.end());
  return b_.make(Op::load, operands);
}

void LoopWriter::store(NodeId view, std::span<const NodeId> indices, NodeId value) {
  Nodes operands{view};
  operands.insert(operands.end(), indices.begin(), indices.end());
  operands.push_back(value);
  b_.make(Op::store, operands);
}

NodeId LoopWriter::bytes_in(int64_t cache, int64_t element, std::span<const NodeId> lengths) {
  const NodeId most = b_.index(cache);
  NodeId bytes = b_.index(element);
  for (const NodeId length : lengths) bytes = minimum(multiply(bytes, minimum(length, most)), most);
  return bytes;
}

NodeId LoopWriter::iterations_in(int64_t cache, NodeId bytes) {
  return b_.make(Op::floor_divide, {b_.index(cache), b_.make(Op::maximum, {bytes, b_.index(1)})});
}

void LoopWriter::blocks(NodeId total, NodeId length, bool are_independent,
                        const std::function<void(NodeId first, NodeId iterations)>& block) {
  const NodeId count = ceiling(total, length);
  const bool before = std::exchange(independent_, are_independent);
  nest({&count, 1}, [&](std::span<const NodeId> at) {
    independent_ = before;
    const NodeId first = multiply(at[0], length);
    block(first, minimum(length, subtract(total, first)));
  });
}

NodeId LoopWriter::product(std::span<const NodeId> lengths) {
  NodeId count = b_.index(1);
  for (const NodeId length : lengths) count = multiply(count, length);
  return count;
}

Nodes LoopWriter::unflatten(NodeId k, std::span<const NodeId> lengths) {
  Nodes indices(lengths.size());
  for (size_t i = lengths.size(); i-- > 1;) {
    indices[i] = b_.make(Op::fmod, {k, lengths[i]});
    k = b_.make(Op::floor_divide, {k, lengths[i]});
  }
  if (!indices.empty()) indices[0] = k;
  return indices;
}

NodeId LoopWriter::view(NodeId buffer, NodeId offset, std::span<const NodeId> lengths,
                        std::span<const NodeId> strides, Type type) {
  Nodes operands{buffer, offset};
  operands.insert(operands.end(), lengths.begin(), lengths.end());
  operands.insert(operands.end(), strides.begin(), strides.end());
  return b_.make(Op::view, operands, {}, type);
}

NodeId LoopWriter::c_view(NodeId buffer, NodeId offset, std::span<const NodeId> lengths, DType dtype) {
  Nodes strides(lengths.size());
  NodeId stride = b_.index(static_cast<int64_t>(base::size_of(dtype)));
  for (size_t i = lengths.size(); i-- > 0;) {
    strides[i] = stride;
    if (i > 0) stride = multiply(stride, lengths[i]);
  }
  const ir::Space space = b_.function().type(buffer).space();
  return view(buffer, offset, lengths, strides, Type::view(dtype, static_cast<int>(lengths.size()), space));
}

NodeId LoopWriter::new_view(std::span<const NodeId> lengths, DType dtype, ir::Space space) {
  NodeId bytes = b_.index(static_cast<int64_t>(base::size_of(dtype)));
  // A product that is too large is one that no allocation gives.
  const NodeId most = b_.index(std::numeric_limits<int64_t>::max());
  for (size_t i = lengths.size(); i-- > 0;) {
    const NodeId overflows = b_.make(Op::multiply_overflows, {bytes, lengths[i]});
    bytes = b_.make(Op::select, {overflows, most, multiply(bytes, lengths[i])});
  }
  const NodeId buffer =
      b_.make(Op::alloc, {bytes}, {static_cast<int64_t>(ir::Life::Call)}, Type::buffer(space));
  return c_view(buffer, b_.index(0), lengths, dtype);
}

}  // namespace ingot::transform
