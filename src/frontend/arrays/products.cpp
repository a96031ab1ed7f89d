// Matrix products. Products with a vector are sums of products, which fuse with the code around them;
// products of float matrices are calls of the library, others are the op.

#include "frontend/arrays/products.h"

#include "frontend/arrays/arrays.h"
#include "frontend/tracer/errors.h"
#include "frontend/tracer/frame.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

/// Whether a product with a vector is accumulated in its own dtype: that of f16 is in f32.
bool sums_in_own_dtype(DType dtype) { return dtype != DType::Float16; }
bool has_library(DType dtype) { return dtype >= DType::Float32; }

Value sum_of_products(Tracer& t, NodeId left, NodeId right);
Value product_of_matrices(Tracer& t, NodeId left, NodeId right);

}  // namespace

Value matmul(Tracer& t, const Value& a, const Value& b, nb::handle node, bool is_dot) {
  const std::optional<ir::Type> x = array_type_of(a);
  const std::optional<ir::Type> y = array_type_of(b);
  if (!x || !y || x->rank() == 0 || y->rank() == 0)
    raise(t, ExceptionKind::ValueError,
          "matmul: Input operand " + std::to_string(!x || x->rank() == 0 ? 0 : 1) +
              " does not have enough dimensions (has 0, gufunc core with "
              "signature (n?,k),(k,m?)->(n?,m?) requires 1)");
  const Kind kinds[] = {Kind(x->dtype()), Kind(y->dtype())};
  const DType dtype = result_kind(kinds).dtype();
  const NodeId left = t.builder->cast(whole(t, a), dtype);
  const NodeId right = t.builder->cast(whole(t, b), dtype);
  const int m = x->rank();
  const int n = y->rank();
  const NodeId inner = t.builder->length(left, m - 1);
  const NodeId other = t.builder->length(right, n == 1 ? 0 : n - 2);
  const NodeId fits = t.builder->make(Op::equal, {inner, other});
  if (is_dot) {
    std::vector<NodeId> numbers = lengths_of(t, left);
    for (const NodeId length : lengths_of(t, right)) numbers.push_back(length);
    numbers.push_back(inner);
    numbers.push_back(other);
    const auto shape = [](int rank) { return rank == 1 ? "({},)" : "({},{})"; };
    check(t, fits, ExceptionKind::ValueError,
          std::string("shapes ") + shape(m) + " and " + shape(n) + " not aligned: {} (dim " +
              std::to_string(m - 1) + ") != {} (dim 0)",
          numbers);
  } else {
    check(t, fits, ExceptionKind::ValueError,
          "matmul: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature "
          "(n?,k),(k,m?)->(n?,m?) (size {} is different from {})",
          {other, inner});
  }
  if (m > 1 && n > 1) return product_of_matrices(t, left, right);
  if (sums_in_own_dtype(dtype)) return sum_of_products(t, left, right);
  if (m > 2 || n > 2)
    unsupported(t, node, "a product of float16 arrays of more than two axes", "use float32");
  return from_node(t, t.builder->make(Op::dot, {left, right}));
}

namespace {

Value sum_of_products(Tracer& t, NodeId left, NodeId right) {
  const ir::Function& f = t.builder->function();
  const int m = f.type(left).rank();
  const int n = f.type(right).rank();
  if (m == 1 && n == 1)
    return from_node(t, reduce_all(t, {t.builder->make(Op::multiply, {left, right})}, Op::add));
  NodeId& vector = m == 1 ? left : right;
  const NodeId matrix = m == 1 ? right : left;
  const int64_t axis = m == 1 ? n - 2 : m - 1;
  if (m == 1) vector = t.builder->make(Op::expand, {vector}, {1});
  vector = repeated(t, vector, lengths_of(t, matrix));
  const NodeId products = by_element(
      t, {left, right}, [&](const auto& factors) { return t.builder->make(Op::multiply, factors); });
  return from_node(t, reduce(t, {products}, Op::add, {&axis, 1}));
}

Value product_of_matrices(Tracer& t, NodeId left, NodeId right) {
  const ir::Function& f = t.builder->function();
  const int rank = std::max(f.type(left).rank(), f.type(right).rank());
  const ir::Type type = ir::Type::array(f.type(left).dtype(), rank);
  const auto by_library = [&] {
    return from_node(t,
                     t.builder->make(Op::library, {left, right}, {t.module.text("matmul").index, 0}, type));
  };
  // The library takes one matrix for the whole batch.
  if (f.type(right).rank() == 2 && has_library(type.dtype())) return by_library();
  for (NodeId* operand : {&left, &right})
    while (f.type(*operand).rank() < rank) *operand = t.builder->make(Op::expand, {*operand}, {0});
  std::vector<NodeId> common;
  const NodeId one = t.builder->index(1);
  for (int axis = 0; axis + 2 < rank; ++axis) {
    const NodeId x_length = t.builder->length(left, axis);
    const NodeId y_length = t.builder->length(right, axis);
    const NodeId x_is_one = t.builder->make(Op::equal, {x_length, one});
    const NodeId y_is_one = t.builder->make(Op::equal, {y_length, one});
    const NodeId either = t.builder->make(Op::bitwise_or, {x_is_one, y_is_one});
    check(t, t.builder->make(Op::bitwise_or, {either, t.builder->make(Op::equal, {x_length, y_length})}),
          ExceptionKind::ValueError, "operands could not be broadcast together");
    common.push_back(t.builder->make(Op::select, {x_is_one, y_length, x_length}));
  }
  if (!common.empty())
    for (NodeId* operand : {&left, &right}) {
      std::vector<NodeId> lengths = common;
      for (int axis = rank - 2; axis < rank; ++axis) lengths.push_back(t.builder->length(*operand, axis));
      *operand = repeated(t, *operand, lengths);
    }
  if (has_library(type.dtype())) return by_library();
  return from_node(t, t.builder->make(Op::dot, {left, right}));
}

}  // namespace

}  // namespace ingot::frontend
