#include "transform/kernels/digit_select.h"

#include <algorithm>
#include <bit>

namespace ingot::transform {

namespace {

/// Elements that a thread loads before it waits for the first; blocks at most.
constexpr int64_t kAtOnce = 8;
constexpr int64_t kMostBlocks = 1 << 10;
constexpr int64_t kMostAtOnce = 1 << 16;
/// Steps that read all elements; the last of them keeps those that others read.
constexpr int64_t kDigitsRead = 2;

}  // namespace

DigitSelect::DigitSelect(KernelWriter& kernels, LoopWriter& loops, const RankedLines& what,
                         const RankKey& key)
    : kernels_(kernels),
      loops_(loops),
      b_(loops.builder()),
      what_(what),
      key_(key),
      dtype_(b_.function().type(what.keys).dtype()),
      scan_(kernels, loops, {{Op::add, DType::UInt32, base::Scalar{}}}),
      digit_bits_(std::countr_zero(static_cast<uint64_t>(kernels.block_threads()))),
      digits_((8 * static_cast<int64_t>(base::size_of(dtype_)) + digit_bits_ - 1) / digit_bits_) {
  INGOT_ASSERT(is_possible(kernels), "blocks have a thread for each value of a digit");
  INGOT_ASSERT(!base::is_signed(dtype_) && b_.function().type(what.sorted) == Type::view(dtype_, 1),
               "elements are unsigned, in views of one axis");
}

NodeId DigitSelect::takes(LoopWriter& loops, const RankedLines& what) {
  const NodeId are_few = loops.less_equal(what.ranks, loops.index(kMostRanks));
  const NodeId is_counted = loops.less(what.count, loops.index(int64_t{1} << 32));
  return loops.both(are_few, is_counted);
}

void DigitSelect::write() {
  const NodeId one = b_.index(1);
  const auto cleared = [&](NodeId length) {
    const NodeId view = loops_.new_view({&length, 1}, DType::UInt32);
    b_.make(Op::clear, {b_.make(Op::buffer, {view})});
    return view;
  };
  const NodeId digits = b_.index(digits_);
  const NodeId rows = loops_.multiply(loops_.multiply(what_.lines, digits), what_.ranks);
  counts_ = cleared(loops_.multiply(rows, b_.index(bins())));
  begins_ = loops_.new_view({&rows, 1}, dtype_);
  rests_ = loops_.new_view({&rows, 1}, DType::UInt32);
  const NodeId all = loops_.multiply(what_.lines, what_.count);
  const NodeId length = digits_ > kDigitsRead ? all : b_.index(0);
  kept_ = loops_.new_view({&length, 1}, dtype_);
  number_ = cleared(what_.lines);
  const NodeId chunks = loops_.ceiling(what_.count, b_.index(kAtOnce * bins()));
  const NodeId share = b_.make(Op::floor_divide, {b_.index(kMostBlocks), loops_.maximum(what_.lines, one)});
  parts_ = loops_.maximum(loops_.minimum(loops_.ceiling(chunks, b_.index(2)), share), one);
  write_step(b_.index(0), Reads::All);
  if (digits_ > 1) write_step(one, digits_ > kDigitsRead ? Reads::AllAndKeeps : Reads::All);
  const NodeId rest = b_.index(std::max<int64_t>(digits_ - kDigitsRead, 0));
  loops_.nest({&rest, 1}, [&](std::span<const NodeId> k) {
    write_step(loops_.add(k[0], b_.index(kDigitsRead)), Reads::Kept);
  });
  each_line(what_.lines, one, digits, [&](Block& own) {
    know(own);
    give(own);
  });
}

void DigitSelect::write_step(NodeId step, Reads reads) {
  each_line(loops_.multiply(what_.lines, parts_), parts_, step, [&](Block& own) {
    const NodeId elements = reads == Reads::Kept ? index(load(number_, own.line)) : what_.count;
    const NodeId first = loops_.multiply(own.part, b_.index(kAtOnce * bins()));
    // The first one stores what is known for the next step.
    const NodeId is_first = loops_.equal(own.part, b_.index(0));
    kernels_.when(loops_.either(is_first, loops_.less(first, elements)), [&] {
      know(own);
      count(own, elements, reads);
    });
  });
}

DigitSelect::Shared DigitSelect::place() {
  Shared shared;
  shared.bins = kernels_.shared(kMostRanks * bins(), DType::UInt32);
  shared.begins = kernels_.shared(kMostRanks, dtype_);
  shared.rests = kernels_.shared(kMostRanks, DType::UInt32);
  shared.next = kernels_.shared(kMostRanks, DType::UInt32);
  shared.digits = kernels_.shared(kMostRanks, DType::UInt32);
  shared.leaders = kernels_.shared(kMostRanks, DType::UInt32);
  shared.distinct = kernels_.shared(kMostRanks, DType::UInt32);
  shared.number = kernels_.shared(1, DType::UInt32);
  shared.places = scan_.places();
  return shared;
}

/// `parts` blocks a line; `blocks` in all.
void DigitSelect::each_line(NodeId blocks, NodeId parts, NodeId step,
                            const std::function<void(Block&)>& body) {
  const NodeId at_once = loops_.minimum(blocks, b_.index(kMostAtOnce));
  kernels_.blocks(at_once, [&](NodeId block, NodeId thread) {
    const Shared shared = place();
    kernels_.strided(block, blocks, at_once, [&](NodeId number) {
      Block own{step,
                b_.make(Op::floor_divide, {number, parts}),
                b_.make(Op::fmod, {number, parts}),
                parts,
                thread,
                shared};
      body(own);
      kernels_.barrier();
    });
  });
}

void DigitSelect::each(NodeId count, const std::function<void(NodeId)>& body) {
  loops_.nest({&count, 1}, [&](std::span<const NodeId> k) { body(k[0]); });
}

/// The first number by rank of a line and digit.
NodeId DigitSelect::row(const Block& own, NodeId step) {
  return loops_.multiply(loops_.add(loops_.multiply(own.line, b_.index(digits_)), step), what_.ranks);
}

/// Of the digit's lowest bit; of a step before the first or after the last one, of any bit.
NodeId DigitSelect::shift_of(NodeId step) {
  const NodeId left = loops_.subtract(b_.index(digits_ - 1), step);
  const NodeId shift = loops_.multiply(loops_.maximum(left, b_.index(0)), b_.index(digit_bits_));
  const auto last = static_cast<int64_t>(8 * base::size_of(dtype_) - 1);
  return b_.cast(loops_.minimum(shift, b_.index(last)), dtype_);
}

/// Leaves in the block's memory what is known of the wanted elements before a digit is counted.
void DigitSelect::know(Block& own) {
  const auto first = [&] { return start(own), Nodes(); };
  const auto later = [&] {
    const NodeId before = row(own, loops_.subtract(own.step, b_.index(1)));
    kernels_.when(in_rank(own), [&] {
      store(own.shared.begins, own.thread, load(begins_, loops_.add(before, own.thread)));
      store(own.shared.rests, own.thread, load(rests_, loops_.add(before, own.thread)));
    });
    kernels_.barrier();
    Block previous = own;
    find_distinct(previous);
    go_on(previous);
    return Nodes();
  };
  loops_.branch(loops_.equal(own.step, b_.index(0)), {}, first, later);
  find_distinct(own);
  const NodeId is_stored =
      loops_.both(loops_.equal(own.part, b_.index(0)), loops_.less(own.step, b_.index(digits_)));
  kernels_.when(loops_.both(in_rank(own), is_stored), [&] {
    const NodeId at = loops_.add(row(own, own.step), own.thread);
    store(begins_, at, load(own.shared.begins, own.thread));
    store(rests_, at, load(own.shared.rests, own.thread));
  });
}

void DigitSelect::start(const Block& own) {
  kernels_.when(in_rank(own), [&] {
    store(own.shared.begins, own.thread, b_.cast(u32(0), dtype_));
    store(own.shared.rests, own.thread, narrow(what_.rank(own.thread)));
  });
  kernels_.barrier();
}

/// By the counts of the step before.
void DigitSelect::go_on(const Block& own) {
  const NodeId before = loops_.subtract(own.step, b_.index(1));
  each(own.beginnings, [&](NodeId k) {
    const NodeId leader = load(own.shared.distinct, k);
    const NodeId bin = loops_.multiply(loops_.add(row(own, before), index(leader)), b_.index(bins()));
    const NodeId counted = load(counts_, loops_.add(bin, own.thread));
    const NodeId lower = scan_.scan(own.shared.places, own.thread, {counted}).before[0];
    each(what_.ranks, [&](NodeId rank) {
      const NodeId rest = load(own.shared.rests, rank);
      const NodeId is_here =
          loops_.both(loops_.less_equal(lower, rest), loops_.less(loops_.subtract(rest, lower), counted));
      const NodeId is_so = loops_.equal(load(own.shared.leaders, rank), leader);
      kernels_.when(loops_.both(is_here, is_so), [&] {
        store(own.shared.next, rank, loops_.subtract(rest, lower));
        store(own.shared.digits, rank, narrow(own.thread));
      });
    });
    kernels_.barrier();
  });
  kernels_.when(in_rank(own), [&] {
    const NodeId digit = b_.cast(load(own.shared.digits, own.thread), dtype_);
    const NodeId bits = b_.make(Op::left_shift, {digit, shift_of(before)});
    store(own.shared.begins, own.thread, loops_.either(load(own.shared.begins, own.thread), bits));
    store(own.shared.rests, own.thread, load(own.shared.next, own.thread));
  });
  kernels_.barrier();
}

void DigitSelect::find_distinct(Block& own) {
  kernels_.when(in_rank(own), [&] {
    const NodeId begin = load(own.shared.begins, own.thread);
    const NodeId leader = loops_.loop(what_.ranks, {&own.thread, 1}, [&](auto k, auto found) {
      const NodeId is_so =
          loops_.both(loops_.less(k[0], found[0]), loops_.equal(load(own.shared.begins, k[0]), begin));
      return Nodes{loops_.select(is_so, k[0], found[0])};
    })[0];
    store(own.shared.leaders, own.thread, narrow(leader));
  });
  kernels_.barrier();
  kernels_.when(loops_.equal(own.thread, b_.index(0)), [&] {
    const NodeId zero = b_.index(0);
    const NodeId number = loops_.loop(what_.ranks, {&zero, 1}, [&](auto k, auto found) {
      const NodeId is_first = loops_.equal(index(load(own.shared.leaders, k[0])), k[0]);
      kernels_.when(is_first, [&] { store(own.shared.distinct, found[0], narrow(k[0])); });
      return Nodes{loops_.add(found[0], b_.cast(is_first, DType::Int64))};
    })[0];
    store(own.shared.number, zero, narrow(number));
  });
  kernels_.barrier();
  own.beginnings = index(load(own.shared.number, b_.index(0)));
  kernels_.barrier();
}

/// Counts the digit of those of a line's first `elements` that begin as a wanted one does.
void DigitSelect::count(const Block& own, NodeId elements, Reads reads) {
  const NodeId size = b_.index(kAtOnce * bins());
  each(own.beginnings, [&](NodeId k) {
    store(own.shared.bins, loops_.add(loops_.multiply(k, b_.index(bins())), own.thread), u32(0));
  });
  kernels_.barrier();
  const NodeId from = reads == Reads::Kept ? kept_ : what_.keys;
  kernels_.strided(own.part, loops_.ceiling(elements, size), own.parts, [&](NodeId chunk) {
    const NodeId first = loops_.add(loops_.multiply(chunk, size), own.thread);
    Nodes loaded;
    Nodes begin_so;
    count_chunk(own, from, first, elements, loaded, begin_so);
    if (reads == Reads::AllAndKeeps) keep(own, loaded, begin_so);
  });
  kernels_.barrier();
  flush(own);
}

void DigitSelect::count_chunk(const Block& own, NodeId from, NodeId first, NodeId elements, Nodes& loaded,
                              Nodes& begin_so) {
  const NodeId line = loops_.multiply(own.line, what_.count);
  const NodeId zero = b_.cast(u32(0), dtype_);
  Nodes are_there;
  for (int64_t i = 0; i < kAtOnce; ++i) {
    const NodeId at = loops_.add(first, b_.index(i * bins()));
    are_there.push_back(loops_.less(at, elements));
    loaded.push_back(loops_.branch(
        are_there.back(), {Type::scalar(dtype_)}, [&] { return Nodes{load(from, loops_.add(line, at))}; },
        [&] { return Nodes{zero}; })[0]);
  }
  const NodeId is_first = loops_.equal(own.step, b_.index(0));
  const NodeId above = shift_of(loops_.subtract(own.step, b_.index(1)));
  const NodeId known = loops_.select(is_first, zero, b_.make(Op::left_shift, {loops_.negate(zero), above}));
  const NodeId shift = shift_of(own.step);
  Nodes digits;
  Nodes begins;
  for (const NodeId element : loaded) {
    const NodeId key = key_.of(element);
    const NodeId rest = narrow(b_.make(Op::right_shift, {key, shift}));
    digits.push_back(index(loops_.both(rest, u32(static_cast<uint32_t>(bins() - 1)))));
    begins.push_back(loops_.both(key, known));
  }
  const auto add = [&](size_t i, NodeId row) {
    kernels_.atomic(Op::add, ir::Scope::Block, {own.shared.bins, loops_.add(row, digits[i]), u32(1)});
  };
  if (b_.function().is_constant(own.step, 0)) {
    for (size_t i = 0; i < loaded.size(); ++i) kernels_.when(are_there[i], [&] { add(i, b_.index(0)); });
    return;
  }
  const Nodes none(loaded.size(), loops_.truth(false));
  begin_so = loops_.loop(own.beginnings, none, [&](auto k, auto found) {
    const NodeId wanted = load(own.shared.begins, index(load(own.shared.distinct, k[0])));
    const NodeId row = loops_.multiply(k[0], b_.index(bins()));
    Nodes found_now;
    for (size_t i = 0; i < loaded.size(); ++i) {
      const NodeId is_so = loops_.both(are_there[i], loops_.equal(begins[i], wanted));
      kernels_.when(is_so, [&] { add(i, row); });
      found_now.push_back(loops_.either(found[i], is_so));
    }
    return found_now;
  });
}

/// Stores the elements that begin so after what other blocks have kept, in any order.
void DigitSelect::keep(const Block& own, const Nodes& loaded, const Nodes& begin_so) {
  NodeId number = u32(0);
  for (const NodeId is_so : begin_so) number = loops_.add(number, b_.cast(is_so, DType::UInt32));
  const auto scanned = scan_.scan(own.shared.places, own.thread, {number});
  const NodeId zero = b_.index(0);
  kernels_.when(loops_.equal(own.thread, zero), [&] {
    const NodeId before = b_.make(Op::atomic, {number_, own.line, scanned.all[0]},
                                  {static_cast<int64_t>(Op::add), static_cast<int64_t>(ir::Scope::Device),
                                   static_cast<int64_t>(ir::Order::Relaxed)});
    store(own.shared.number, zero, before);
  });
  kernels_.barrier();
  NodeId to = index(loops_.add(load(own.shared.number, zero), scanned.before[0]));
  to = loops_.add(loops_.multiply(own.line, what_.count), to);
  for (size_t i = 0; i < loaded.size(); ++i) {
    kernels_.when(begin_so[i], [&] { store(kept_, to, loaded[i]); });
    to = loops_.add(to, b_.cast(begin_so[i], DType::Int64));
  }
  kernels_.barrier();
}

void DigitSelect::flush(const Block& own) {
  each(own.beginnings, [&](NodeId k) {
    const NodeId counted =
        load(own.shared.bins, loops_.add(loops_.multiply(k, b_.index(bins())), own.thread));
    kernels_.when(loops_.less(u32(0), counted), [&] {
      const NodeId rank = loops_.add(row(own, own.step), index(load(own.shared.distinct, k)));
      const NodeId bin = loops_.add(loops_.multiply(rank, b_.index(bins())), own.thread);
      kernels_.atomic(Op::add, ir::Scope::Device, {counts_, bin, counted});
    });
  });
}

/// Of equal ranks the first one stores.
void DigitSelect::give(const Block& own) {
  kernels_.when(in_rank(own), [&] {
    const NodeId rank = what_.rank(own.thread);
    const NodeId none = loops_.truth(false);
    const NodeId is_again = loops_.loop(own.thread, {&none, 1}, [&](auto k, auto found) {
      return Nodes{loops_.either(found[0], loops_.equal(what_.rank(k[0]), rank))};
    })[0];
    kernels_.when(loops_.negate(is_again), [&] {
      const NodeId to = loops_.add(loops_.multiply(own.line, what_.count), rank);
      store(what_.sorted, to, key_.element(load(own.shared.begins, own.thread)));
    });
  });
}

}  // namespace ingot::transform
