#include <algorithm>

#include "base/random.h"
#include "ir/builder.h"
#include "ir/library.h"

namespace ingot::ir {

namespace {

/// A query for the type of a node
struct Query {
  const Function& function;
  Op op;
  std::span<const NodeId> operands;
  std::span<const int64_t> attributes;
  Type asked;

  TypeTable& types() const { return function.module().types; }
  Type type(size_t i) const { return function.type(operands[i]); }
  std::span<const int64_t> ints() const { return attributes.subspan(info(op).attribute_count - 1u); }

  [[noreturn]] void fail(const std::string& what) const {
    std::string message(name_of(op));
    message += ": " + what + "; operands (";
    for (size_t i = 0; i < operands.size(); ++i) message += (i == 0 ? "" : ", ") + types().to_string(type(i));
    throw base::InternalError(message + ")");
  }
  void need(bool holds, const char* what) const {
    if (!holds) fail(what);
  }
  void need_count(size_t count) const {
    if (operands.size() != count) fail("wants " + std::to_string(count) + " operands");
  }
  /// The type of the only operand.
  Type only(bool (Type::*is_right)() const, const char* wants) const {
    need_count(1);
    need((type(0).*is_right)(), wants);
    return type(0);
  }
  Type only_array() const { return only(&Type::is_array, "wants an array"); }
  Type only_view() const { return only(&Type::is_view, "wants a view"); }
  Type only_shaped() const { return only(&Type::has_shape, "wants an array or view"); }
  void need_indices(size_t from) const {
    for (size_t i = from; i < operands.size(); ++i) need(type(i) == kInt64, "wants i64 lengths and indices");
  }
  void need_axis(int64_t axis, int rank) const { need(axis >= 0 && axis < rank, "axis out of range"); }
  /// Axes ascending, each once.
  void need_axes(std::span<const int64_t> axes, int rank) const {
    for (size_t i = 0; i < axes.size(); ++i) {
      need_axis(axes[i], rank);
      need(i == 0 || axes[i - 1] < axes[i], "axes ascend");
    }
  }
  void need_combiner(int64_t op_number, DType dtype) const {
    need(op_number >= 0 && op_number < kOpCount, "combiner is an op");
    const Op combiner = static_cast<Op>(op_number);
    need(info(combiner).elementwise && info(combiner).laws.associative && accepts(combiner, dtype),
         "combiner is an associative elementwise op for this dtype");
  }
};

Type infer_elementwise(const Query& q) {
  q.need_count(info(q.op).operands);
  Type shape = q.type(0);
  for (size_t i = 0; i < q.operands.size(); ++i) {
    q.need(q.type(i).is_scalar() || q.type(i).is_array(), "wants scalars and arrays");
    q.need(q.type(i).dtype() == q.type(0).dtype(), "wants operands of one dtype");
    if (q.type(i).is_scalar()) continue;
    q.need(shape.is_scalar() || shape.rank() == q.type(i).rank(), "wants arrays of one rank");
    shape = q.type(i);
  }
  q.need(accepts(q.op, shape.dtype()), "has no loop for this dtype");
  return shape.with_dtype(result_dtype(q.op, shape.dtype()));
}

Type infer_param(const Query& q) { return q.asked; }
Type infer_constant(const Query& q) {
  q.need_count(0);
  q.need(q.asked.is_scalar(), "constants are scalars");
  return q.asked;
}
Type infer_result(const Query& q) {
  q.need_count(1);
  q.need(q.type(0).is(TypeKind::Results), "wants a node with several results");
  const auto members = q.types().members(q.type(0));
  q.need(q.attributes[0] >= 0 && static_cast<size_t>(q.attributes[0]) < members.size(), "no such result");
  return members[static_cast<size_t>(q.attributes[0])];
}
Type infer_cast(const Query& q) {
  q.need_count(1);
  q.need((q.type(0).is_scalar() || q.type(0).is_array()) && q.asked == q.type(0).with_dtype(q.asked.dtype()),
         "keeps the shape");
  return q.asked;
}
Type infer_select(const Query& q) {
  q.need_count(3);
  Type shape = q.type(1);
  for (size_t i = 0; i < 3; ++i) {
    q.need(q.type(i).is_scalar() || q.type(i).is_array(), "wants scalars and arrays");
    if (q.type(i).is_array()) {
      q.need(shape.is_scalar() || shape.rank() == q.type(i).rank(), "wants arrays of one rank");
      shape = q.type(i);
    }
  }
  q.need(q.type(0).dtype() == DType::Bool, "wants a bool condition");
  q.need(q.type(1).dtype() == q.type(2).dtype(), "wants arms of one dtype");
  return shape.with_dtype(q.type(1).dtype());
}

// Control: from the operands alone; the verifier checks the regions against it.
Type infer_if_(const Query& q) {
  q.need_count(1);
  q.need(q.type(0) == kBool, "wants a bool");
  return q.asked;
}
Type infer_carried(const Query& q) {
  q.need(!q.operands.empty() && q.type(0) == kInt64, "wants an i64 count");
  std::vector<Type> carried;
  for (size_t i = 1; i < q.operands.size(); ++i) carried.push_back(q.type(i));
  return q.types().results(carried);
}
Type infer_for_(const Query& q) { return infer_carried(q); }
Type infer_while_(const Query& q) { return q.asked; }
Type infer_parallel_for(const Query& q) {
  q.need(q.ints().size() + 1 == q.operands.size(), "wants a combiner for each init");
  for (size_t i = 1; i < q.operands.size(); ++i) {
    q.need(q.type(i).is_scalar(), "combines scalars");
    q.need_combiner(q.ints()[i - 1], q.type(i).dtype());
  }
  return infer_carried(q);
}
Type infer_share(const Query& q) {
  q.need_count(1);
  q.need_indices(0);
  return q.asked;
}
Type infer_block(const Query& q) {
  q.need_count(0);
  return q.asked;
}
Type infer_nothing(const Query& q) {
  q.need_count(0);
  return {};
}
Type infer_yield(const Query&) { return {}; }
Type infer_exit_(const Query& q) {
  q.need(!q.operands.empty() && q.type(0) == Type::label(), "wants a label");
  return {};
}
Type infer_return_(const Query&) { return {}; }
Type infer_unreachable(const Query& q) { return infer_nothing(q); }
Type infer_raise(const Query& q) {
  for (size_t i = 0; i < q.operands.size(); ++i) q.need(q.type(i).is_scalar(), "shows scalars");
  return {};
}
Type infer_check(const Query& q) {
  q.need(!q.operands.empty() && q.type(0) == kBool, "wants a bool condition");
  return infer_raise(q);
}
/// The results without the status that a catching call gives first.
std::vector<Type> values_of_call(const Query& q, bool catches) {
  const auto all = q.asked.is(TypeKind::Results) ? q.types().members(q.asked)
                   : q.asked.is_void()           ? std::span<const Type>()
                                                 : std::span(&q.asked, 1);
  std::vector<Type> values(all.begin(), all.end());
  if (catches) {
    q.need(!values.empty() && values[0] == kInt32, "a catching call gives its i32 status first");
    values.erase(values.begin());
  }
  return values;
}
Type infer_call(const Query& q) {
  const Module& module = q.function.module();
  q.need(q.attributes[0] >= 0 && static_cast<size_t>(q.attributes[0]) < module.function_count(),
         "no such function");
  const Module::Signature& callee = module.signature(FunctionId(static_cast<uint32_t>(q.attributes[0])));
  q.need_count(callee.parameters.size());
  for (size_t i = 0; i < q.operands.size(); ++i)
    q.need(q.type(i) == callee.parameters[i], "wants the callee's parameter types");
  q.need(std::ranges::equal(values_of_call(q, q.attributes[1] != 0), callee.results),
         "gives the callee's results");
  return q.asked;
}
Type infer_library(const Query& q) {
  const std::string& routine = q.function.module().text(TextId(static_cast<uint32_t>(q.attributes[0])));
  const LibraryInfo* entry = find_library(routine);
  if (entry == nullptr) q.fail("no routine " + routine);
  const auto as_array = [](Type type) { return type.is_view() ? type.as_array() : type; };
  std::vector<Type> types;
  for (size_t i = 0; i < q.operands.size(); ++i) types.push_back(as_array(q.type(i)));
  std::vector<Type> values = values_of_call(q, q.attributes[1] != 0);
  // At the loop stage the last operand is the result's memory.
  if (values.empty() && !types.empty() && q.type(types.size() - 1).is_view()) {
    values.push_back(types.back());
    types.pop_back();
  }
  if (!entry->fits(types, values)) q.fail("wrong types for " + routine);
  return q.asked;
}
Type infer_draw(const Query& q) {
  const std::string& routine = q.function.module().text(TextId(static_cast<uint32_t>(q.attributes[0])));
  const base::DrawInfo* info = base::find_draw(routine);
  if (info == nullptr) q.fail("no routine " + routine);
  q.need_count(1 + info->parameter_count);
  q.need(q.type(0) == Type::view(DType::UInt64, 1), "wants a stream");
  for (size_t i = 0; i < info->parameter_count; ++i) {
    const auto [dtype, is_array] = info->parameter_types[i];
    q.need(q.type(i + 1) == (is_array ? Type::view(dtype, 1) : Type::scalar(dtype)),
           "wants other parameters");
  }
  q.need(q.asked == (info->result ? Type::scalar(info->result->dtype) : Type()), "gives another type");
  return q.asked;
}
Type infer_host(const Query& q) { return q.asked; }
Type infer_c_call(const Query& q) {
  const bool is_loop = q.attributes[2] == 1;
  for (size_t i = 0; i < q.operands.size(); ++i) {
    const Type type = q.type(i);
    const bool fits = is_loop ? type.is_view() && type.rank() == 1 : type.is_view() || type.is_scalar();
    q.need(fits, is_loop ? "wants views of one axis" : "wants numbers and views");
  }
  q.need(q.asked.is_void() || (q.asked.is_scalar() && !is_loop), "gives a number or nothing");
  return q.asked;
}
Type infer_c_value(const Query& q) {
  for (size_t i = 0; i < q.operands.size(); ++i) q.need(q.type(i).is_scalar(), "wants numbers");
  const bool is_several = q.asked.is(TypeKind::Results) && q.attributes[2] != 0;
  q.need(q.asked.is_scalar() || is_several, "gives a number, or the outputs of a loop");
  return q.asked;
}

Type infer_length(const Query& q) {
  q.need_axis(q.attributes[0], q.only_shaped().rank());
  return kInt64;
}
Type infer_stride(const Query& q) {
  q.need_axis(q.attributes[0], q.only_view().rank());
  return kInt64;
}

/// The type of operand 0 with another rank.
Type with_rank(const Query& q, size_t rank) {
  q.need(rank <= kMaxRank, "has more than 16 axes");
  const Type t = q.type(0);
  return t.is_view() ? Type::view(t.dtype(), static_cast<int>(rank), t.space())
                     : Type::array(t.dtype(), static_cast<int>(rank));
}
Type infer_broadcast(const Query& q) {
  q.need(!q.operands.empty() && q.type(0).has_dtype(), "wants a scalar, array or view");
  q.need_indices(1);
  q.need(static_cast<size_t>(q.type(0).rank()) < q.operands.size(), "does not drop axes");
  return with_rank(q, q.operands.size() - 1);
}
Type infer_transpose(const Query& q) {
  const Type x = q.only_shaped();
  std::vector<int64_t> axes(q.ints().begin(), q.ints().end());
  std::ranges::sort(axes);
  q.need(axes.size() == static_cast<size_t>(x.rank()), "wants each axis once");
  for (size_t i = 0; i < axes.size(); ++i) q.need(axes[i] == static_cast<int64_t>(i), "wants each axis once");
  return x;
}
Type infer_slice(const Query& q) {
  q.need(!q.operands.empty() && q.type(0).has_shape(), "wants an array or view");
  q.need_count(1 + 3 * static_cast<size_t>(q.type(0).rank()));
  q.need_indices(1);
  return q.type(0);
}
Type infer_squeeze(const Query& q) {
  const Type x = q.only_shaped();
  q.need_axes(q.ints(), x.rank());
  return with_rank(q, static_cast<size_t>(x.rank()) - q.ints().size());
}
Type infer_expand(const Query& q) {
  const Type x = q.only_shaped();
  const size_t rank = static_cast<size_t>(x.rank()) + q.ints().size();
  const Type type = with_rank(q, rank);
  q.need_axes(q.ints(), static_cast<int>(rank));
  return type;
}
Type infer_reshape(const Query& q) {
  q.need(!q.operands.empty() && q.type(0).has_shape(), "wants an array or view");
  q.need_indices(1);
  return with_rank(q, q.operands.size() - 1);
}
Type infer_sized(const Query& q) {
  q.need(!q.operands.empty() && q.type(0).is_array(), "wants an array");
  q.need_count(1 + static_cast<size_t>(q.type(0).rank()));
  q.need_indices(1);
  return q.type(0);
}

Type infer_iota(const Query& q) {
  q.need_indices(0);
  q.need(q.operands.size() <= kMaxRank, "has more than 16 axes");
  q.need_axis(q.attributes[0], static_cast<int>(q.operands.size()));
  return Type::array(DType::Int64, static_cast<int>(q.operands.size()));
}
/// The type left when `dropped` axes of array operand 0 are gone: a scalar when none is left.
Type reduced(const Query& q, size_t dropped, DType dtype) {
  const int rank = q.type(0).rank() - static_cast<int>(dropped);
  return rank == 0 ? Type::scalar(dtype) : Type::array(dtype, rank);
}
Type infer_reduce(const Query& q) {
  q.need(q.operands.size() == 1 || q.operands.size() == 2, "wants an array and perhaps a mask");
  q.need(q.type(0).is_array(), "wants an array");
  if (q.operands.size() == 2) {
    q.need(q.type(1) == q.type(0).with_dtype(DType::Bool), "wants a mask of the array's rank");
    q.need(!info(static_cast<Op>(q.attributes[0])).laws.extreme, "this combiner has no identity for a mask");
  }
  q.need_combiner(q.attributes[0], q.type(0).dtype());
  q.need_axes(q.ints(), q.type(0).rank());
  return reduced(q, q.ints().size(), q.type(0).dtype());
}
Type infer_scan(const Query& q) {
  const Type x = q.only_array();
  q.need_combiner(q.attributes[0], x.dtype());
  q.need_axis(q.attributes[1], x.rank());
  return x;
}
Type infer_arg_reduce(const Query& q) {
  const Type x = q.only_array();
  const Op combiner = static_cast<Op>(q.attributes[0]);
  q.need(combiner == Op::minimum || combiner == Op::maximum, "finds minimum or maximum");
  if (q.attributes[1] == -1) return kInt64;
  q.need_axis(q.attributes[1], x.rank());
  return reduced(q, 1, DType::Int64);
}
/// The common rank of the index arrays from operand `from` on, one for each axis.
int index_rank(const Query& q, size_t from) {
  q.need(q.operands.size() == from + q.ints().size() && !q.ints().empty(),
         "wants an index array for each axis");
  q.need_axes(q.ints(), q.type(0).rank());
  for (size_t i = from; i < q.operands.size(); ++i) {
    q.need(q.type(i).is_array() && q.type(i).dtype() == DType::Int64 && q.type(i) == q.type(from),
           "wants i64 index arrays of one rank");
  }
  return q.type(from).rank();
}
Type infer_gather(const Query& q) {
  q.need(!q.operands.empty() && q.type(0).is_array(), "wants an array");
  const int rank = index_rank(q, 1) + q.type(0).rank() - static_cast<int>(q.ints().size());
  return with_rank(q, static_cast<size_t>(rank));
}
Type infer_compress(const Query& q) {
  q.need_count(2);
  q.need(q.type(0).is_array() && q.type(1).is_array() && q.type(1).dtype() == DType::Bool,
         "wants an array and a mask");
  q.need(q.type(1).rank() >= 1 && q.type(1).rank() <= q.type(0).rank(), "wants a mask over leading axes");
  return with_rank(q, static_cast<size_t>(q.type(0).rank() - q.type(1).rank() + 1));
}
Type infer_concat(const Query& q) {
  q.need(!q.operands.empty() && q.type(0).is_array(), "wants arrays");
  for (size_t i = 0; i < q.operands.size(); ++i) q.need(q.type(i) == q.type(0), "wants arrays of one type");
  q.need_axis(q.attributes[0], q.type(0).rank());
  return q.type(0);
}
Type infer_sort(const Query& q) {
  const Type x = q.only_array();
  q.need_axis(q.attributes[0], x.rank());
  return x;
}
Type infer_argsort(const Query& q) { return infer_sort(q).with_dtype(DType::Int64); }
Type infer_dot(const Query& q) {
  q.need_count(2);
  q.need(q.type(0).is_array() && q.type(1).is_array() && q.type(0).dtype() == q.type(1).dtype(),
         "wants arrays of one dtype");
  const int a = q.type(0).rank();
  const int b = q.type(1).rank();
  q.need(a >= 1 && b >= 1 && (a == b || a + b == 3), "wants matrices, vectors, or batches of one rank");
  if (a == 1 && b == 1) return q.type(0).element();
  return a + b == 3 ? Type::array(q.type(0).dtype(), 1) : q.type(0);
}

Type infer_alloc(const Query& q) {
  q.need_count(1);
  q.need_indices(0);
  q.need(q.asked.is_buffer(), "gives a buffer");
  return q.asked;
}
Type infer_view(const Query& q) {
  q.need(q.asked.is_view(), "gives a view");
  q.need_count(2 + 2 * static_cast<size_t>(q.asked.rank()));
  q.need(q.type(0) == Type::buffer(q.asked.space()), "wants a buffer of the view's space");
  q.need_indices(1);
  return q.asked;
}
Type infer_buffer(const Query& q) { return Type::buffer(q.only_view().space()); }
Type infer_offset(const Query& q) {
  q.only_view();
  return kInt64;
}
Type infer_distance(const Query& q) {
  q.need_count(2);
  q.need(q.type(0).is_view() && q.type(1).is_view() && q.type(0).space() == q.type(1).space(),
         "wants two views of one space");
  return kInt64;
}
Type infer_keep(const Query& q) {
  q.need_count(1);
  q.need(q.type(0) == Type::buffer(), "wants a buffer of the host");
  return kInt64;
}
Type infer_kept(const Query& q) {
  q.need_count(1);
  q.need(q.type(0) == kInt64, "wants a number of a buffer");
  return Type::buffer();
}
Type infer_materialize(const Query& q) { return q.only_array().as_view(); }
Type infer_read(const Query& q) { return q.only_view().as_array(); }
Type infer_write(const Query& q) {
  q.need_count(2);
  q.need(q.type(0).is_view(), "wants a view");
  q.need(q.type(1) == q.type(0).as_array() || q.type(1) == q.type(0).element(),
         "wants an array like the view");
  return {};
}
void need_element(const Query& q) {
  q.need(!q.operands.empty() && q.type(0).is_view(), "wants a view");
  q.need_count(1 + static_cast<size_t>(q.type(0).rank()));
  q.need_indices(1);
}
Type infer_load(const Query& q) {
  need_element(q);
  return q.type(0).element();
}
Type infer_prefetch(const Query& q) {
  need_element(q);
  return {};
}
/// A store's operands, and `more` after them.
void need_store(const Query& q, size_t more) {
  q.need(!q.operands.empty() && q.type(0).is_view(), "wants a view");
  const auto rank = static_cast<size_t>(q.type(0).rank());
  q.need_count(2 + rank + more);
  for (size_t i = 1; i <= rank; ++i) q.need(q.type(i) == kInt64, "wants i64 indices");
  q.need(q.type(1 + rank) == q.type(0).element(), "wants a value of the view's dtype");
}
Type infer_store(const Query& q) {
  need_store(q, 0);
  return {};
}
Type infer_stream(const Query& q) {
  need_store(q, 1);
  q.need(q.type(q.operands.size() - 1) == kBool, "wants a bool");
  return {};
}
Type infer_scatter(const Query& q) {
  q.need(q.operands.size() >= 2 && q.type(0).is_view() && q.type(1).is_array(), "wants a view and an array");
  const int rank = index_rank(q, 2) + q.type(0).rank() - static_cast<int>(q.ints().size());
  q.need(q.type(1) == Type::array(q.type(0).dtype(), rank), "wants values of the gathered shape");
  if (static_cast<Op>(q.attributes[0]) != Op::constant) {
    const Op combiner = static_cast<Op>(q.attributes[0]);
    q.need(info(combiner).elementwise && info(combiner).operands == 2 && accepts(combiner, q.type(0).dtype()),
           "combiner is a binary op for this dtype");
  }
  return {};
}
Type infer_copy(const Query& q) {
  q.need_count(2);
  q.need(q.type(0).is_view() && q.type(1).is_view() && q.type(0).as_array() == q.type(1).as_array(),
         "wants views of one dtype and rank");
  return {};
}
Type infer_sort_line(const Query& q) {
  q.need_count(1);
  q.need(q.type(0).is_view() && q.type(0).rank() == 1, "wants a view of one axis");
  return {};
}
Type infer_argsort_line(const Query& q) {
  q.need_count(2);
  q.need(q.type(0).is_view() && q.type(0).rank() == 1 && q.type(0).dtype() == DType::Int64 &&
             q.type(1).is_view() && q.type(1).rank() == 1,
         "wants a view of i64 and another, of one axis each");
  return {};
}

Type infer_some(const Query& q) {
  q.need_count(1);
  return q.types().optional(q.type(0));
}
Type infer_none(const Query& q) {
  q.need_count(0);
  q.need(q.asked.is(TypeKind::Optional) && (q.attributes[0] == 1 || q.attributes[0] == 2),
         "gives an empty optional, tag 1 or 2");
  return q.asked;
}
Type infer_tag(const Query& q) {
  q.need_count(1);
  q.need(q.type(0).is(TypeKind::Optional), "wants an optional");
  return Type::scalar(DType::Int8);
}
Type infer_value(const Query& q) {
  q.need_count(1);
  q.need(q.type(0).is(TypeKind::Optional), "wants an optional");
  return q.types().members(q.type(0))[0];
}
Type infer_same_object(const Query& q) {
  q.need_count(2);
  q.need(q.type(0).is_buffer() && q.type(0) == q.type(1), "wants two buffers of one space");
  return kBool;
}

Type infer_lift(const Query& q) {
  q.need_count(2);
  q.need(q.type(0).has_dtype() && q.type(0) == q.type(1), "wants a number or an array and its like");
  return q.type(0);
}
Type infer_tangent(const Query& q) { return q.only(&Type::has_dtype, "wants a number or an array"); }
Type infer_primal(const Query& q) { return infer_tangent(q); }
Type infer_back(const Query& q) { return infer_nothing(q); }
Type infer_cotangent(const Query& q) { return infer_tangent(q); }
Type infer_give(const Query& q) {
  infer_lift(q);
  return {};
}
Type infer_pull(const Query& q) {
  const auto outputs = static_cast<size_t>(q.attributes[1]);
  q.need(q.operands.size() >= 2 * outputs, "wants a cotangent for each value");
  for (size_t i = 0; i < outputs; ++i)
    q.need(q.type(i).has_dtype() && q.type(i) == q.type(outputs + i), "wants cotangents like the values");
  return q.asked;
}

Type infer_launch(const Query& q) {
  q.need(q.operands.size() == 6 || q.operands.size() == 7, "wants six extents and perhaps a size");
  q.need_indices(0);
  return {};
}
void need_mask(const Query& q) {
  q.need(!q.operands.empty() && q.type(0).is_scalar(DType::UInt32), "wants a u32 mask");
}
Type infer_barrier(const Query& q) {
  if (q.operands.empty()) return {};
  q.need_count(1);
  q.need(static_cast<Scope>(q.attributes[0]) == Scope::Warp, "of a block has no mask");
  need_mask(q);
  return {};
}
Type infer_vote(const Query& q) {
  const auto question = static_cast<Question>(q.attributes[0]);
  const auto scope = static_cast<Scope>(q.attributes[1]);
  q.need(scope == Scope::Warp || scope == Scope::Block, "asks a warp or a block");
  q.need_count(scope == Scope::Warp ? 2 : 1);
  if (scope == Scope::Warp) need_mask(q);
  q.need(q.type(q.operands.size() - 1) == kBool, "wants a bool");
  const bool of_block = question == Question::Count;
  const bool of_warp = question == Question::Ballot || question == Question::Equal;
  q.need(scope == Scope::Warp ? !of_block : !of_warp, "is not asked in this scope");
  if (of_block) return kInt32;
  return question == Question::Ballot ? Type::scalar(DType::UInt32) : kBool;
}
Type infer_match(const Query& q) {
  q.need_count(2);
  need_mask(q);
  q.need(q.type(1).is_scalar(), "compares scalars");
  return q.type(0);
}
Type infer_shuffle(const Query& q) {
  q.need_count(3);
  need_mask(q);
  q.need(q.type(1).is_scalar() && q.type(2) == kInt32, "wants a scalar and an i32 lane");
  const int64_t width = q.attributes[1];
  q.need(width > 0 && width <= 32 && (width & (width - 1)) == 0, "has a power of two up to 32 as its width");
  return q.type(1);
}
Type infer_active(const Query& q) {
  q.need_count(0);
  return Type::scalar(DType::UInt32);
}
Type infer_fence(const Query& q) { return infer_nothing(q); }
Type infer_nanosleep(const Query& q) {
  q.need_count(1);
  q.need(q.type(0) == kInt32, "wants an i32 time");
  return {};
}
Type infer_linked(const Query& q) {
  for (size_t i = 0; i < q.operands.size(); ++i) {
    const bool is_number = q.type(i).is_scalar() && !base::is_complex(q.type(i).dtype());
    q.need(is_number || q.type(i).is_view(), "wants real numbers and views");
  }
  q.need(q.asked.is_void() || (q.asked.is_scalar() && !base::is_complex(q.asked.dtype())),
         "gives a real number or nothing");
  return q.asked;
}
Type infer_atomic(const Query& q) {
  infer_store(q);
  const Op combiner = static_cast<Op>(q.attributes[0]);
  const bool combines = info(combiner).elementwise && info(combiner).operands == 2 &&
                        accepts(combiner, q.type(0).dtype()) && info(combiner).gives == Gives::Same;
  q.need(combiner == Op::constant || combines, "combiner is a binary op for this dtype");
  return q.type(0).element();
}
Type infer_compare_exchange(const Query& q) {
  need_store(q, 1);
  q.need(q.type(q.operands.size() - 1) == q.type(0).element(), "wants a value of the view's dtype");
  return q.type(0).element();
}
Type infer_atomic_load(const Query& q) { return infer_load(q); }
Type infer_atomic_store(const Query& q) { return infer_store(q); }
Type infer_clear(const Query& q) {
  q.need_count(1);
  q.need(q.type(0) == Type::buffer(), "wants a buffer");
  return {};
}

void check_attributes(const Query& q) {
  const auto schema = info(q.op).schema();
  q.need(is_count_of_attributes(schema, q.attributes.size()), "wrong number of attributes");
  for (size_t i = 0; i < std::min(schema.size(), q.attributes.size()); ++i)
    if (schema[i].kind == AttributeKind::OpCode)
      q.need(q.attributes[i] >= 0 && q.attributes[i] < kOpCount, "no such op");
}

}  // namespace

Type infer(const Function& function, Op op, std::span<const NodeId> operands,
           std::span<const int64_t> attributes, Type asked) {
  const Query q{function, op, operands, attributes, asked};
  check_attributes(q);
  switch (op) {
#define OP(name, ...) \
  case Op::name: return infer_elementwise(q);
#define STRUCT(name, ...) \
  case Op::name: return infer_##name(q);
#include "ir/ops.def"
  }
  __builtin_unreachable();
}

}  // namespace ingot::ir
