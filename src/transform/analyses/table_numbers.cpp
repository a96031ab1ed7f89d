#include "transform/analyses/table_numbers.h"

namespace ingot::transform {

TableNumbers::TableNumbers(LoopWriter& loops, const Table& table, NodeId iterations,
                           const std::function<NodeId(NodeId)>& use)
    : loops_(loops),
      view_(use(table.view)),
      iterations_(iterations),
      first_(loops.index(table.constant)),
      named_(table.named ? use(table.named) : NodeId()),
      axis_(table.axis) {
  for (const NodeId base : table.bases) first_ = loops_.add(first_, use(base));
}

NodeId TableNumbers::are_there() {
  const NodeId zero = loops_.index(0);
  const NodeId natural = loops_.maximum(iterations_, zero);
  const NodeId last = loops_.subtract(loops_.builder().length(view_, 0), natural);
  return loops_.both(loops_.less_equal(zero, first_), loops_.less_equal(first_, last));
}

/// That of an iteration, int64, where they are there.
NodeId TableNumbers::at(NodeId iteration) {
  const NodeId index = loops_.add(first_, iteration);
  return loops_.builder().cast(loops_.load(view_, {&index, 1}), DType::Int64);
}

NodeId TableNumbers::differ() {
  const auto look = [&] {
    const NodeId zero = loops_.index(0);
    const NodeId ends[] = {zero, zero};
    const Nodes range = loops_.loop(iterations_, ends, [&](auto iteration, auto found) {
      const NodeId here = at(iteration[0]);
      return Nodes{loops_.minimum(found[0], here), loops_.maximum(found[1], here)};
    });
    const NodeId fits =
        loops_.both(loops_.equal(range[0], zero), loops_.less(range[1], loops_.index(kMostMarks)));
    return loops_.both(fits, [&] { return differ_up_to(range[1]); });
  };
  return loops_.both(are_there(), look);
}

NodeId TableNumbers::differ_up_to(NodeId largest) {
  const NodeId count = loops_.add(largest, loops_.index(1));
  const NodeId marks = loops_.new_view({&count, 1}, DType::Bool);
  loops_.nest({&count, 1}, [&](auto at) { loops_.store(marks, at, loops_.truth(false)); });
  const NodeId none[] = {loops_.truth(false)};
  const Nodes twice = loops_.loop(iterations_, none, [&](auto iteration, auto found) {
    const NodeId here = at(iteration[0]);
    const NodeId before = loops_.load(marks, {&here, 1});
    loops_.store(marks, {&here, 1}, loops_.truth(true));
    return Nodes{loops_.either(found[0], before)};
  });
  return loops_.negate(twice[0]);
}

/// As many rows as there are iterations must have one mark.
NodeId TableNumbers::name_rows_apart(LoopWriter& loops, std::span<TableNumbers> numbers,
                                     const std::function<NodeId(NodeId)>& holds) {
  ir::Builder& b = loops.builder();
  const NodeId iterations = numbers[0].iterations_;
  NodeId fits = loops.truth(true);
  Nodes rows;
  for (const TableNumbers& each : numbers) {
    rows.push_back(b.length(each.named_, static_cast<int>(each.axis_)));
    fits = loops.both(fits, loops.less_equal(rows.back(), loops.index(kMostMarks)));
  }
  const auto mark = [&] {
    const auto one = [&] { return b.constant(int32_t{1}); };
    Nodes marks;
    for (const NodeId count : rows) {
      const NodeId none =
          b.make(Op::broadcast, {b.constant(int32_t{0}), count}, {}, Type::array(DType::Int32, 1));
      marks.push_back(b.make(Op::materialize, {none}));
    }
    loops.loop(iterations, {}, [&](auto at, auto) {
      NodeId is_right = holds(at[0]);
      Nodes found;
      for (size_t i = 0; i < rows.size(); ++i) {
        found.push_back(numbers[i].at(at[0]));
        is_right = loops.both(is_right, loops.less_equal(loops.index(0), found[i]));
        is_right = loops.both(is_right, loops.less(found[i], rows[i]));
      }
      const auto add = [&] {
        for (size_t i = 0; i < rows.size(); ++i) {
          const NodeId before = loops.load(marks[i], {&found[i], 1});
          loops.store(marks[i], {&found[i], 1}, loops.add(before, one()));
        }
      };
      loops.when(is_right, add);
      return Nodes();
    });
    NodeId all = loops.truth(true);
    for (size_t i = 0; i < rows.size(); ++i) {
      const NodeId marked = loops.combined(Op::add, rows[i], loops.index(0), [&](NodeId row) {
        return b.cast(loops.equal(loops.load(marks[i], {&row, 1}), one()), DType::Int64);
      });
      all = loops.both(all, loops.equal(marked, iterations));
    }
    return all;
  };
  return loops.both(fits, mark);
}

}  // namespace ingot::transform
