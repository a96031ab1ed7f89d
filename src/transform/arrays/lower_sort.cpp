#include <algorithm>
#include <bit>

#include "ir/builder.h"
#include "transform/arrays/lowering.h"
#include "transform/kernels/digit_select.h"
#include "transform/kernels/kernel_sort.h"
#include "transform/writers/block_tree.h"

namespace ingot::transform {

namespace {

/// In lines up to this length, an element is compared with all others.
constexpr int64_t kShortLine = 32;
/// So many in all, known while compiling, are sorted by loops alone.
constexpr int64_t kFewElements = 256;

/// The integers of the same size.
DType unsigned_of(DType dtype) {
  constexpr DType kBySize[] = {DType::UInt8, DType::UInt16, DType::UInt32, DType::UInt64};
  return kBySize[std::countr_zero(base::size_of(dtype))];
}

/// Numbers of as many bits as the elements of a dtype have, which order them as a sort does: of floats, all
/// NaN are one number, the greatest.
class ElementBits {
 public:
  ElementBits(LoopWriter& loops, DType dtype, DType bits_dtype)
      : loops_(loops), dtype_(dtype), bits_dtype_(bits_dtype) {
    const size_t size = base::size_of(dtype);
    top_ = uint64_t{1} << (8 * size - 1);
    infinity_ = size == 2 ? 0x7c00 : size == 4 ? 0x7f800000 : 0x7ff0000000000000;
    quiet_ = size == 2 ? 0x7e00 : size == 4 ? 0x7fc00000 : 0x7ff8000000000000;
  }

  /// Zeros are one number.
  SortKey sort_key() const {
    const auto key = [own = *this](NodeId bits) { return own.key_of_float(bits, Zeros::Equal); };
    if (base::is_float(dtype_)) return {key, number(0), number(~top_)};
    const uint64_t flipped = is_plain() ? 0 : top_;
    return {same, number(flipped), number(~flipped)};
  }
  /// Negative zeros are less; elements come back.
  RankKey rank_key() const {
    if (is_plain()) return {same, same};
    const auto flipped = [own = *this](NodeId bits) { return own.flipped(bits); };
    if (!base::is_float(dtype_)) return {flipped, flipped};
    return {[own = *this](NodeId bits) { return own.key_of_float(bits, Zeros::Ordered); },
            [own = *this](NodeId key) { return own.float_of_key(key); }};
  }

 private:
  enum class Zeros : uint8_t { Equal, Ordered };

  static NodeId same(NodeId bits) { return bits; }
  bool is_plain() const { return base::is_bool(dtype_) || !base::is_signed(dtype_); }
  NodeId number(uint64_t value) const {
    return loops_.builder().constant(Type::scalar(bits_dtype_),
                                     ir::evaluate_cast(DType::UInt64, bits_dtype_, base::Scalar::of(value)));
  }
  NodeId flipped(NodeId bits) const { return loops_.builder().make(Op::bitwise_xor, {bits, number(top_)}); }

  NodeId key_of_float(NodeId bits, Zeros zeros) const {
    const NodeId sign = number(top_);
    const NodeId is_nan = loops_.less(number(infinity_), loops_.both(bits, number(~top_)));
    const NodeId is_negative =
        zeros == Zeros::Equal ? loops_.less(sign, bits) : loops_.less_equal(sign, bits);
    const NodeId key = loops_.select(is_negative, loops_.negate(bits), loops_.either(bits, sign));
    return loops_.select(is_nan, number(~uint64_t{0}), key);
  }
  NodeId float_of_key(NodeId key) const {
    const NodeId is_nan = loops_.equal(key, number(~uint64_t{0}));
    const NodeId is_positive = loops_.less_equal(number(top_), key);
    const NodeId bits = loops_.select(is_positive, flipped(key), loops_.negate(key));
    return loops_.select(is_nan, number(quiet_), bits);
  }

  LoopWriter& loops_;
  DType dtype_;
  DType bits_dtype_;
  uint64_t top_;  ///< the highest bit
  uint64_t infinity_;
  uint64_t quiet_;
};

}  // namespace

/// Sorts each line along an axis; the result is the sorted keys or, with them, their indices before. A line
/// along the last axis is sorted where the result has it.
void Lowering::sort_lines(NodeId id, bool gives_indices) {
  const NodeId x = source_.operand(id, 0);
  if (machine_.has_kernels()) return sort_by_kernels(id, gives_indices);
  const int64_t along[] = {source_.attribute(id, 0)};
  const int64_t stable = source_.attribute(id, 1);
  const Axes axes = split_axes(x, along);
  const NodeId count = axes.reduced[0];
  const Nodes lengths = whole(x).lengths;
  const NodeId result = loops_.new_view(lengths, dtype_of(id));
  const bool is_last = along[0] + 1 == static_cast<int64_t>(lengths.size());
  NodeId scratch;
  if (gives_indices || !is_last) scratch = loops_.new_view({&count, 1}, dtype_of(x));
  NodeId positions;
  if (gives_indices && !is_last) positions = loops_.new_view({&count, 1}, DType::Int64);
  loops_.nest(axes.kept, [&](Indices kept) {
    const NodeId line = is_last ? line_of(result, kept) : positions;
    const NodeId keys = scratch ? scratch : line;
    loops_.nest({&count, 1}, [&](Indices k) { loops_.store(keys, k, element(x, axes.join(kept, k))); });
    if (gives_indices) b_.make(Op::argsort_line, {line, keys}, {stable});
    else b_.make(Op::sort_line, {keys}, {stable});
    if (is_last) return;
    const NodeId sorted = gives_indices ? positions : keys;
    loops_.nest({&count, 1},
                [&](Indices k) { loops_.store(result, axes.join(kept, k), loops_.load(sorted, k)); });
  });
  define(id, fresh(result, lengths, dtype_of(id)));
}

/// For devices: all lines at once, the keys being copied so that lines are contiguous. Equal elements keep
/// their order.
void Lowering::sort_by_kernels(NodeId id, bool gives_indices) {
  const NodeId x = source_.operand(id, 0);
  const int64_t along[] = {source_.attribute(id, 0)};
  const bool is_last = along[0] + 1 == source_.type(x).rank();
  const NodeId ranks = gives_indices || !is_last ? NodeId() : ranks_of(id);
  if (ranks) make_ready(ranks);
  const Axes axes = split_axes(x, along);
  const NodeId count = axes.reduced[0];
  Nodes lengths = axes.kept;
  lengths.push_back(count);
  const auto in_line = [](Indices at) { return at.first(at.size() - 1); };
  // Few elements a thread may sort as well.
  const NodeId all = loops_.product(lengths);
  const bool are_few =
      b_.function().is_constant(all) && b_.function().constant(all).as<int64_t>() <= kFewElements;
  const bool has_digits = !base::is_complex(dtype_of(x)) && !are_few;
  // Lines that are contiguous stay where they are; merged ones are changed.
  NodeId keys;
  if (has_digits && is_last && in_view(x).contiguous) keys = whole(x).view;
  if (!keys) {
    keys = loops_.new_view(lengths, dtype_of(x));
    loops_.nest(lengths,
                [&](Indices at) { loops_.store(keys, at, element(x, axes.join(in_line(at), at.last(1)))); });
  }
  const Nodes whole_lengths = whole(x).lengths;
  const NodeId result = loops_.new_view(whole_lengths, dtype_of(id));
  const SortedLines lines{lengths, keys, is_last ? result : loops_.new_view(lengths, dtype_of(id)),
                          gives_indices, ranks};
  const auto by_ranks = [&] { return rank_lines(lines), Nodes(); };
  const auto by_digits = [&] { return sort_by_digits(lines), Nodes(); };
  const auto by_merging = [&] { return merge_lines(lines), Nodes(); };
  const NodeId is_short = loops_.less_equal(count, b_.index(kShortLine));
  if (has_digits) loops_.branch(is_short, {}, by_ranks, by_digits);
  else loops_.branch(is_short, {}, by_ranks, by_merging);
  if (!is_last) {
    loops_.nest(lengths, [&](Indices at) {
      loops_.store(result, axes.join(in_line(at), at.last(1)), loops_.load(lines.sorted, at));
    });
  }
  define(id, fresh(result, whole_lengths, dtype_of(id)));
}

/// The indices along its axis at which a sorted array is read, if it is read at no others, they are known
/// before it, and of equal elements any one may be there.
NodeId Lowering::ranks_of(NodeId id) const {
  const Nodes& users = users_[id.index];
  const bool is_stable = source_.attribute(id, 1) != 0;
  if (base::is_complex(dtype_of(id)) || is_stable || users.size() != 1) return {};
  if (source_.op(users[0]) != Op::gather || source_.operands(users[0]).size() != 2) return {};
  const NodeId ranks = source_.operand(users[0], 1);
  const bool are_known = ranks != id && source_.type(ranks).rank() == 1 && order_[ranks.index] < now_;
  return are_known && source_.ints(users[0])[0] == source_.attribute(id, 0) ? ranks : NodeId();
}

/// The new index of each element is the number of elements that sort before it and of equal ones that were
/// before it.
void Lowering::rank_lines(const SortedLines& lines) {
  const bool before = loops_.independent();
  loops_.set_independent(true);
  loops_.nest(lines.lengths, [&](Indices at) {
    loops_.set_independent(before);
    const NodeId key = loops_.load(lines.keys, at);
    const NodeId zero = b_.index(0);
    Nodes place(at.begin(), at.end());
    place.back() = loops_.loop(lines.lengths.back(), {&zero, 1}, [&](Indices k, Indices found) {
      Nodes there(at.begin(), at.end());
      there.back() = k[0];
      const NodeId other = loops_.load(lines.keys, there);
      const NodeId goes_before = loops_.select(
          loops_.less(k[0], at.back()), loops_.negate(sorts_before(key, other)), sorts_before(other, key));
      return Nodes{loops_.add(found[0], b_.cast(goes_before, DType::Int64))};
    })[0];
    loops_.store(lines.sorted, place, lines.gives_indices ? at.back() : key);
    loops_.set_independent(true);
  });
  loops_.set_independent(before);
}

/// By radix sort, of lines in blocks or of any length.
void Lowering::sort_by_digits(const SortedLines& lines) {
  const DType dtype = b_.function().type(lines.keys).dtype();
  const DType bits_dtype = unsigned_of(dtype);
  const int64_t bits = 8 * static_cast<int64_t>(base::size_of(dtype));
  const NodeId count = lines.lengths.back();
  const NodeId rows = loops_.product(std::span(lines.lengths).first(lines.lengths.size() - 1));
  const NodeId all = loops_.product(lines.lengths);
  const auto flat = [&](NodeId view, DType as) {
    return loops_.c_view(b_.make(Op::buffer, {view}), b_.make(Op::offset, {view}), {&all, 1}, as);
  };
  const NodeId keys = flat(lines.keys, bits_dtype);
  const NodeId sorted = flat(lines.sorted, lines.gives_indices ? DType::Int64 : bits_dtype);
  KernelWriter kernels(loops_, machine_);
  KernelSort sort(kernels, loops_);
  const ElementBits order(loops_, dtype, bits_dtype);
  const SortKey key = order.sort_key();
  const auto in_blocks = [&] {
    sort.in_blocks(rows, count, keys, bits, key, [&](NodeId line, NodeId place, NodeId from) {
      const NodeId first = loops_.multiply(line, count);
      const NodeId to = loops_.add(first, place);
      const NodeId there = loops_.add(first, from);
      loops_.store(sorted, {&to, 1}, lines.gives_indices ? from : loops_.load(keys, {&there, 1}));
    });
    return Nodes();
  };
  const auto sort_all = [&] {
    const NodeId digits = b_.index(sort.digits_of(dtype));
    sort.by_digits({rows, count, digits, keys, lines.gives_indices ? NodeId() : sorted,
                    lines.gives_indices ? sorted : NodeId()},
                   key);
    return Nodes();
  };
  const auto by_digits = [&] {
    if (!lines.ranks || !DigitSelect::is_possible(kernels)) return sort_all();
    const auto rank = [&](NodeId k) { return element(lines.ranks, {&k, 1}); };
    const RankedLines ranked{rows, count, keys, whole(lines.ranks).lengths[0], rank, sorted};
    const auto select = [&] {
      DigitSelect(kernels, loops_, ranked, order.rank_key()).write();
      return Nodes();
    };
    return loops_.branch(DigitSelect::takes(loops_, ranked), {}, select, sort_all);
  };
  loops_.branch(loops_.less_equal(count, b_.index(sort.tile())), {}, in_blocks, by_digits);
}

/// Runs of one element are merged in pairs, then those of two, and so on, where each element finds its
/// position in the other run of its pair by bisection.
void Lowering::merge_lines(const SortedLines& lines) {
  const NodeId count = lines.lengths.back();
  Nodes views{lines.keys, loops_.new_view(lines.lengths, b_.function().type(lines.keys).dtype())};
  if (lines.gives_indices) {
    for (size_t i = 0; i < 2; ++i) views.push_back(loops_.new_view(lines.lengths, DType::Int64));
    loops_.nest(lines.lengths, [&](Indices at) { loops_.store(views[2], at, at.back()); });
  }
  const NodeId one = b_.index(1);
  const NodeId steps = count_digits(loops_, loops_.maximum(loops_.subtract(count, one), b_.index(0)));
  const bool before = loops_.independent();
  const Nodes sorted = loops_.loop(steps, views, [&](Indices step, Indices now) {
    const NodeId width = b_.make(Op::left_shift, {one, step[0]});
    loops_.set_independent(true);
    loops_.nest(lines.lengths, [&](Indices at) {
      Nodes to(at.begin(), at.end());
      to.back() = index_in_pair(now[0], at, width, count);
      loops_.store(now[1], to, loops_.load(now[0], at));
      if (lines.gives_indices) loops_.store(now[3], to, loops_.load(now[2], at));
    });
    loops_.set_independent(before);
    Nodes next{now[1], now[0]};
    if (lines.gives_indices) next.insert(next.end(), {now[3], now[2]});
    return next;
  });
  loops_.nest(lines.lengths, [&](Indices at) {
    loops_.store(lines.sorted, at, loops_.load(sorted[lines.gives_indices ? 2 : 0], at));
  });
}

/// As base/sort.h has it.
NodeId Lowering::sorts_before(NodeId a, NodeId b) {
  const DType dtype = b_.function().type(a).dtype();
  if (base::is_complex(dtype)) return complex_sorts_before(a, b);
  const NodeId less = loops_.less(a, b);
  if (!base::is_float(dtype)) return less;
  const NodeId is_last = loops_.both(b_.make(Op::not_equal, {b, b}), loops_.equal(a, a));
  return loops_.either(less, is_last);
}

NodeId Lowering::complex_sorts_before(NodeId a, NodeId b) {
  const auto real = [&](NodeId z) { return b_.make(Op::real, {z}); };
  const auto imaginary = [&](NodeId z) { return b_.make(Op::imaginary, {z}); };
  const auto has_nan = [&](NodeId number) { return b_.make(Op::not_equal, {number, number}); };
  const NodeId a_nan = has_nan(imaginary(a));
  const NodeId b_nan = has_nan(imaginary(b));
  const NodeId by_less = loops_.either(loops_.negate(a_nan), b_nan);
  const NodeId by_greater = loops_.both(b_nan, loops_.negate(a_nan));
  const NodeId both_nan = loops_.both(has_nan(real(a)), has_nan(real(b)));
  const NodeId are_equal = loops_.either(loops_.equal(real(a), real(b)), both_nan);
  const NodeId otherwise =
      loops_.select(are_equal, sorts_before(imaginary(a), imaginary(b)), has_nan(real(b)));
  return loops_.select(loops_.less(real(a), real(b)), by_less,
                       loops_.select(loops_.less(real(b), real(a)), by_greater, otherwise));
}

/// Where the element at an index of a line comes when the two sorted runs of its pair are merged.
NodeId Lowering::index_in_pair(NodeId line, Indices at, NodeId width, NodeId count) {
  const NodeId one = b_.index(1);
  const NodeId key = loops_.load(line, at);
  const NodeId mask = loops_.subtract(loops_.add(width, width), one);
  const NodeId base = loops_.both(at.back(), loops_.negate(mask));
  const NodeId middle = loops_.minimum(loops_.add(base, width), count);
  const NodeId is_left = loops_.less(at.back(), middle);
  const NodeId end = loops_.minimum(loops_.add(middle, width), count);
  // The other run: of those in the right one, the lesser go before; of those in the left one, equal ones,
  // too.
  const NodeId low = loops_.select(is_left, middle, base);
  const NodeId high = loops_.select(is_left, end, middle);
  const NodeId bounds[] = {low, high};
  const Nodes found = loops_.repeat(
      bounds, [&](Indices range) { return Nodes{loops_.less(range[0], range[1]), range[0], range[1]}; },
      [&](Indices range) {
        const NodeId half = b_.make(Op::right_shift, {loops_.add(range[0], range[1]), one});
        Nodes there(at.begin(), at.end());
        there.back() = half;
        const NodeId other = loops_.load(line, there);
        const NodeId goes_before =
            loops_.select(is_left, sorts_before(other, key), loops_.negate(sorts_before(key, other)));
        return Nodes{loops_.select(goes_before, loops_.add(half, one), range[0]),
                     loops_.select(goes_before, range[1], half)};
      });
  const NodeId own =
      loops_.select(is_left, loops_.subtract(at.back(), base), loops_.subtract(at.back(), middle));
  return loops_.add(loops_.add(base, own), loops_.subtract(found[0], low));
}

/// The line along the last axis of a view in C order, at indices of the others.
NodeId Lowering::line_of(NodeId view, Indices indices) {
  if (indices.empty()) return view;
  const Nodes lengths = lengths_of_view(view);
  const Nodes strides = strides_of_view(view);
  NodeId offset = b_.make(Op::offset, {view});
  for (size_t i = 0; i < indices.size(); ++i)
    offset = loops_.add(offset, loops_.multiply(indices[i], strides[i]));
  return loops_.c_view(b_.make(Op::buffer, {view}), offset, {&lengths.back(), 1},
                       b_.function().type(view).dtype());
}

void Lowering::lower_sort(NodeId id) { sort_lines(id, false); }
void Lowering::lower_argsort(NodeId id) { sort_lines(id, true); }

}  // namespace ingot::transform
