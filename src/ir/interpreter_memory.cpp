#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/sort.h"
#include "ir/interpreter_machine.h"

namespace ingot::ir {

namespace {

std::byte* address(const Step& step, const ViewValue& view, int64_t offset) {
  // A view is checked to be inside its block when it is made; this is a second check.
  step.need(offset >= 0 && offset <= view.block->size - static_cast<int64_t>(base::size_of(view.dtype)),
            "reaches outside its buffer");
  return view.block->data + offset;
}

/// Reads one element whose bytes the trackers have.
Scalar load(DType dtype, const std::byte* at) {
  Scalar value = Scalar::load(dtype, at);
  if (base::is_bool(dtype)) value.bits[0] = value.bits[0] != 0;
  return value;
}

}  // namespace

std::byte* element_at(const Step& step, const ViewValue& view, size_t first) {
  const std::vector<int64_t> at = step.indices(first, view.lengths.size());
  for (size_t i = 0; i < at.size(); ++i)
    if (at[i] < 0 || at[i] >= view.lengths[i])
      step.fail("index " + std::to_string(at[i]) + " is out of range " + std::to_string(view.lengths[i]));
  // All lengths are at least 1 here, so that the extent is inside the block and nothing overflows.
  const int64_t offset = view.offset + dot_product(at, view.strides);
  return address(step, view, offset);
}

ArrayValue read_view(const Step& step, const ViewValue& view) {
  ArrayValue array = make_array(view.dtype, view.lengths);
  if (array.data.empty()) return array;
  const size_t size = base::size_of(view.dtype);
  std::byte* to = array.data.data();
  for_each_index(view.lengths, [&](std::span<const int64_t> index) {
    const std::byte* at = address(step, view, view.offset + dot_product(index, view.strides));
    step.touch(at, size, Access::Read);
    std::memcpy(to, at, size);
    to += size;
  });
  normalise(array.dtype, array.data);
  return array;
}

void write_view(const Step& step, const ViewValue& view, const std::byte* elements, bool repeat) {
  const size_t size = base::size_of(view.dtype);
  for_each_index(view.lengths, [&](std::span<const int64_t> index) {
    std::byte* at = address(step, view, view.offset + dot_product(index, view.strides));
    step.touch(at, size, Access::Write);
    std::memcpy(at, elements, size);
    if (!repeat) elements += size;
  });
}

namespace {

/// A shared buffer at the top of a launch is the block's: the first thread that comes allocates it.
BlockRef allocate_shared(const Step& step, int64_t size) {
  ThreadBlock& block = *step.strand.block;
  BlockRef& shared = block.shared[step.node.index];
  if (!shared) {
    shared = step.machine.allocate(size, Space::Shared);
    step.forget(shared->data, static_cast<size_t>(size));
    for (RaceTracker& tracker : block.in_warp) tracker.forget(shared->data, static_cast<size_t>(size));
  }
  step.need(shared->size == size, "allocates a shared buffer of another size than another thread");
  return shared;
}

}  // namespace

void interp_alloc(Step& step) {
  const int64_t size = step.index(0);
  step.need(size >= 0, "allocates a negative number of bytes");
  const ThreadBlock* block = step.strand.block;
  if (step.type().space() == Space::Shared && block != nullptr && block->function == &step.function &&
      block->region == step.function[step.node].parent)
    return step.give(allocate_shared(step, size));
  BlockRef buffer = step.machine.allocate(size, step.type().space());
  step.forget(buffer->data, static_cast<size_t>(size));
  step.give(std::move(buffer));
}

void interp_clear(Step& step) {
  const BlockRef& buffer = step.as<BlockRef>(0);
  const auto size = static_cast<size_t>(buffer->size);
  step.touch(buffer->data, size, Access::Write);
  std::fill_n(buffer->data, size, std::byte{0});
}

void interp_view(Step& step) {
  const auto rank = static_cast<size_t>(step.type().rank());
  ViewValue view{step.type().dtype(), step.as<BlockRef>(0), step.index(1), step.indices(2, rank),
                 step.indices(2 + rank, rank)};
  if (const char* fault = view_fault(view)) step.fail(fault);
  step.give(std::move(view));
}

void interp_buffer(Step& step) { step.give(step.view(0).block); }
void interp_offset(Step& step) { step.give_number(step.view(0).offset); }

void interp_distance(Step& step) {
  const auto place = [&](size_t operand) {
    const ViewValue& view = step.view(operand);
    return static_cast<int64_t>(reinterpret_cast<uintptr_t>(view.block->data)) + view.offset;
  };
  step.give_number(place(1) - place(0));
}

void interp_keep(Step& step) {
  step.machine.kept.push_back(step.as<BlockRef>(0));
  const Externals* externals = step.machine.options.externals;
  if (externals != nullptr && externals->keep) externals->keep(step.machine.kept.back());
  step.give_number(static_cast<int64_t>(step.machine.kept.size()) - 1);
}

void interp_kept(Step& step) {
  const auto number = static_cast<size_t>(step.index(0));
  step.need(number < step.machine.kept.size(), "wants a buffer that has not been kept");
  step.give(step.machine.kept[number]);
}

void interp_same_object(Step& step) { step.give_number(step.as<BlockRef>(0) == step.as<BlockRef>(1)); }

void interp_materialize(Step& step) {
  const ArrayValue& x = step.array(0);
  BlockRef buffer = step.machine.allocate(static_cast<int64_t>(x.data.size()), Space::Host);
  step.forget(buffer->data, x.data.size());
  buffer->own = x.data;
  buffer->data = buffer->own.data();
  step.give(ViewValue{x.dtype, std::move(buffer), 0, x.lengths, c_strides(x.lengths, x.dtype)});
}

void interp_read(Step& step) { step.give(read_view(step, step.view(0))); }

void interp_write(Step& step) {
  const ViewValue& view = step.view(0);
  if (step.type(1).is_scalar())
    return write_view(step, view, reinterpret_cast<const std::byte*>(step.scalar(1).bits.data()), true);
  step.need(step.array(1).lengths == view.lengths, "writes an array of other lengths");
  write_view(step, view, step.array(1).data.data(), false);
}

void interp_load(Step& step) {
  const ViewValue& view = step.view(0);
  const std::byte* at = element_at(step, view, 1);
  step.touch(at, base::size_of(view.dtype), Access::Read);
  step.give(load(view.dtype, at));
}

namespace {

void store_operand(Step& step, size_t value) {
  const ViewValue& view = step.view(0);
  std::byte* at = element_at(step, view, 1);
  step.touch(at, base::size_of(view.dtype), Access::Write);
  step.scalar(value).store(view.dtype, at);
}

}  // namespace

void interp_store(Step& step) { store_operand(step, step.count() - 1); }
void interp_stream(Step& step) { store_operand(step, step.count() - 2); }
void interp_prefetch(Step& /*step*/) {}

namespace {

void scatter_element(const Step& step, const ViewValue& view, std::byte* at, const Scalar& value,
                     const Combiner* combine) {
  const size_t size = base::size_of(view.dtype);
  if (combine != nullptr) step.touch(at, size, Access::Read);
  step.touch(at, size, Access::Write);
  (combine != nullptr ? (*combine)(load(view.dtype, at), value) : value).store(view.dtype, at);
}

}  // namespace

void interp_scatter(Step& step) {
  const ViewValue& view = step.view(0);
  const ArrayValue& x = step.array(1);
  const auto axes = step.function.ints(step.node);
  const IndexArrays index = index_arrays(step, 2, view.lengths);
  std::vector<int64_t> lengths = index.lengths;
  std::vector<int64_t> rest_lengths;
  std::vector<int64_t> rest_strides;
  for (int64_t axis : index.rest) {
    rest_lengths.push_back(view.lengths[static_cast<size_t>(axis)]);
    rest_strides.push_back(view.strides[static_cast<size_t>(axis)]);
  }
  lengths.insert(lengths.end(), rest_lengths.begin(), rest_lengths.end());
  step.need(lengths == x.lengths, "scatters an array of other lengths");
  if (x.data.empty()) return;
  const Op op = step.function.op_attribute(step.node, 0);
  std::optional<Combiner> combine;
  if (op != Op::constant) combine.emplace(op, view.dtype);
  const std::byte* from = x.data.data();
  for (int64_t k = 0; k < element_count(index.lengths); ++k) {
    int64_t offset = view.offset;
    for (size_t i = 0; i < axes.size(); ++i)
      offset += index.at[i][k] * view.strides[static_cast<size_t>(axes[i])];
    for_each_index(rest_lengths, [&](std::span<const int64_t> at) {
      scatter_element(step, view, address(step, view, offset + dot_product(at, rest_strides)),
                      Scalar::load(view.dtype, from), combine ? &*combine : nullptr);
      from += base::size_of(view.dtype);
    });
  }
}

namespace {

/// The elements of a view in C order.
std::byte* line_of(const Step& step, const ViewValue& view, Access access) {
  const auto size = static_cast<int64_t>(base::size_of(view.dtype));
  step.need(view.lengths[0] < 2 || view.strides[0] == size, "sorts what is not in C order");
  if (view.lengths[0] == 0) return nullptr;
  std::byte* const first = address(step, view, view.offset);
  step.touch(first, static_cast<size_t>(view.lengths[0] * size), access);
  return first;
}

}  // namespace

void interp_sort_line(Step& step) {
  const ViewValue& view = step.view(0);
  line_of(step, view, Access::Read);
  base::sort_line(view.dtype, line_of(step, view, Access::Write), view.lengths[0]);
}

void interp_argsort_line(Step& step) {
  const ViewValue& order = step.view(0);
  const ViewValue& view = step.view(1);
  step.need(order.lengths == view.lengths, "has another number of indices");
  auto* const first = reinterpret_cast<int64_t*>(line_of(step, order, Access::Write));
  std::iota(first, first + view.lengths[0], int64_t{0});
  base::argsort_line(view.dtype, line_of(step, view, Access::Read), first, view.lengths[0]);
}

void interp_copy(Step& step) {
  step.need(step.view(0).lengths == step.view(1).lengths, "copies between views of different lengths");
  const ArrayValue values = read_view(step, step.view(1));
  write_view(step, step.view(0), values.data.data(), false);
}

}  // namespace ingot::ir
