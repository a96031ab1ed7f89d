#include <algorithm>
#include <array>

#include "ir/walk.h"
#include "transform/derivatives/reverse.h"
#include "transform/writers/loop_writer.h"

// Tapes: made before the outermost node around, filled by the recorded range, read by the sweep.

namespace ingot::transform {

namespace {

/// The initial capacity of a tape, in iterations.
constexpr int64_t kFirstCapacity = 16;

Type value_of(const Function& f, Type type) { return f.module().types.members(type)[0]; }

}  // namespace

/// Makes the tapes of all that is kept in a node's regions.
void Reverse::prepare(NodeId node) {
  const auto each = [&](NodeId value) {
    if (recording_.is_taped(value)) prepare(value, kept_[value]);
  };
  ir::walk(source_, node, [&](NodeId inside) {
    if (inside != node) each(inside);
    for (size_t i = 0; i < source_[inside].region_count; ++i)
      for (const NodeId parameter : source_.region_parameters(source_.region(inside, i))) each(parameter);
    const int own = recording_.loop_at(inside);
    if (own == Recording::kNone || !loop(own).has_tape || loop(own).is_regular || inside == node) return;
    const int around = recording_.loop_of(source_[inside].parent);
    starts_[inside] = add_tape(around, base::DType::Int64);
    if (source_.op(inside) == Op::while_) trips_[inside] = add_tape(around, base::DType::Int64);
  });
  std::vector<int> states = states_in(node);
  if (const int own = recording_.loop_at(node); own != Recording::kNone && !loop(own).is_regular)
    if (std::ranges::find(states, own) == states.end()) states.push_back(own);
  for (const int one : states) {
    State& its = state(one);
    its.top = its.capacity = b_.index(0);
    its.buffers.clear();
    for (size_t i = 0; i < dtypes_[static_cast<size_t>(one)].size(); ++i)
      its.buffers.push_back(b_.make(Op::alloc, {b_.index(0)}, {0}, Type::buffer()));
  }
}

void Reverse::prepare(NodeId value, Kept& kept) {
  const int around = recording_.loop_of(source_[value].parent);
  const Type type = source_.type(value);
  const auto numbers = [&](size_t count) {
    for (size_t i = 0; i < count; ++i) kept.tapes.push_back(add_tape(around, base::DType::Int64));
  };
  const auto rank = static_cast<size_t>(type.rank());
  if (type.is_scalar()) {
    kept.tapes.push_back(add_tape(around, type.dtype()));
  } else if (type.is_buffer()) {
    numbers(1);
  } else if (type.is_view()) {
    kept.parts = known_parts(value);
    numbers(1 + static_cast<size_t>(std::ranges::count(kept.parts, NodeId())));
  } else if (type.is_array() && is_dense(value)) {
    LoopWriter w(b_);
    // What is a length inside may be negative where nothing is.
    for (const NodeId length : shadowed_.lengths.at(value))
      kept.lengths.push_back(make(Op::maximum, {hoist(length), w.index(0)}));
    Nodes all = axes_of(around);
    all.insert(all.end(), kept.lengths.begin(), kept.lengths.end());
    kept.elements = make(Op::buffer, {w.new_view(all, type.dtype())});
  } else if (type.is_array()) {
    kept.parts.resize(1 + 2 * rank);
    numbers(2 + 2 * rank);
  } else if (type.is(ir::TypeKind::Optional) && value_of(source_, type).is_scalar()) {
    kept.tapes.push_back(add_tape(around, base::DType::Int8));
    kept.tapes.push_back(add_tape(around, value_of(source_, type).dtype()));
  } else {
    refuse_derivative(source_, value,
                      "the derivative of a loop with a variable that may be None or an array");
  }
}

/// Offset, lengths and strides of a view, those that are the same in all iterations.
Nodes Reverse::known_parts(NodeId view) {
  Nodes parts(1 + 2 * static_cast<size_t>(source_.type(view).rank()));
  if (source_.op(view) != Op::view) return parts;
  const auto own = source_.operands(view).subspan(1);
  for (size_t i = 0; i < parts.size(); ++i)
    if (recording_.is_hoistable(own[i])) parts[i] = hoist(own[i]);
  return parts;
}

/// Whether the elements of all iterations can be stored in one array.
bool Reverse::is_dense(NodeId value) {
  const int around = recording_.loop_of(source_[value].parent);
  if (around != Recording::kNone && !loop(around).is_regular) return false;
  const auto known = shadowed_.lengths.find(value);
  return known != shadowed_.lengths.end() &&
         std::ranges::all_of(known->second, [&](NodeId length) { return recording_.is_hoistable(length); });
}

size_t Reverse::add_tape(int around, base::DType dtype) {
  Tape tape{around, dtype, {}, 0};
  if (around == Recording::kNone || loop(around).is_regular) {
    tape.memory = LoopWriter(b_).new_view(axes_of(around), dtype);
  } else {
    tape.slot = dtypes_[static_cast<size_t>(around)].size();
    dtypes_[static_cast<size_t>(around)].push_back(dtype);
  }
  tapes_.push_back(tape);
  return tapes_.size() - 1;
}

const Nodes& Reverse::axes_of(int number) {
  const auto [known, is_new] = axes_.try_emplace(number);
  if (!is_new || number == Recording::kNone) return known->second;
  Nodes axes = axes_of(loop(number).outer);
  axes.push_back(make(Op::maximum, {hoist(source_.operand(loop(number).node, 0)), b_.index(0)}));
  return axes_[number] = axes;
}

NodeId Reverse::hoist(NodeId old) {
  if (!recording_.is_inner(old)) return use(old);
  if (const auto known = hoisted_.find(old); known != hoisted_.end()) return known->second;
  Nodes operands;
  for (const NodeId operand : source_.operands(old)) operands.push_back(hoist(operand));
  const Type asked = ir::info(source_.op(old)).typed ? source_.type(old) : Type();
  return hoisted_[old] = b_.make(source_.op(old), operands, source_.attributes(old), asked);
}

NodeId Reverse::tape_view(const Tape& tape) {
  const State& its = state(tape.loop);
  return LoopWriter(b_).c_view(its.buffers[tape.slot], b_.index(0), {&its.capacity, 1}, tape.dtype);
}

void Reverse::put(size_t number, NodeId made) {
  const Tape& tape = tapes_[number];
  static const Nodes kNowhere;
  const Nodes& at = tape.loop == Recording::kNone ? kNowhere : indices_[static_cast<size_t>(tape.loop)];
  LoopWriter(b_).store(tape.memory ? tape.memory : tape_view(tape), at, made);
}

NodeId Reverse::get(size_t number) {
  const Tape& tape = tapes_[number];
  static const Nodes kNowhere;
  const Nodes& at = tape.loop == Recording::kNone ? kNowhere : indices_[static_cast<size_t>(tape.loop)];
  return LoopWriter(b_).load(tape.memory ? tape.memory : tape_view(tape), at);
}

/// Reserves capacity for so many iterations on the tapes of an irregular loop.
void Reverse::reserve(int number, NodeId count) {
  State& its = state(number);
  if (its.buffers.empty()) return;
  LoopWriter w(b_);
  Nodes before{its.capacity};
  before.insert(before.end(), its.buffers.begin(), its.buffers.end());
  std::vector<Type> types;
  for (const NodeId one : before) types.push_back(b_.function().type(one));
  const Nodes after = w.branch(
      w.less(its.capacity, count), types,
      [&] {
        const NodeId twice = w.add(its.capacity, its.capacity);
        const NodeId least = make(Op::maximum, {count, w.index(kFirstCapacity)});
        Nodes grown{make(Op::maximum, {twice, least})};
        for (size_t i = 0; i < its.buffers.size(); ++i) {
          const base::DType dtype = dtypes_[static_cast<size_t>(number)][i];
          const auto size = static_cast<int64_t>(base::size_of(dtype));
          const NodeId bytes = w.multiply(grown[0], w.index(size));
          const NodeId buffer = b_.make(Op::alloc, {bytes}, {0}, Type::buffer());
          const NodeId from = w.c_view(its.buffers[i], w.index(0), {&its.top, 1}, dtype);
          const NodeId to = w.c_view(buffer, w.index(0), {&its.top, 1}, dtype);
          make(Op::write, {to, make(Op::read, {from})});
          grown.push_back(buffer);
        }
        return grown;
      },
      [&] { return before; });
  its.capacity = after[0];
  std::copy(after.begin() + 1, after.end(), its.buffers.begin());
}

/// The number of an iteration in C order.
NodeId Reverse::number_of_iteration(int number, const Nodes& indices) {
  LoopWriter w(b_);
  NodeId all = w.index(0);
  const Nodes& axes = axes_of(number);
  for (size_t i = 0; i < axes.size(); ++i) all = w.add(w.multiply(all, axes[i]), indices[i]);
  return all;
}

NodeId Reverse::elements_at(const Kept& kept, NodeId number, Type type) {
  LoopWriter w(b_);
  const NodeId size = w.index(static_cast<int64_t>(base::size_of(type.dtype())));
  const NodeId offset = w.multiply(w.multiply(number, w.product(kept.lengths)), size);
  return w.c_view(kept.elements, offset, kept.lengths, type.dtype());
}

void Reverse::keep_view(const Kept& kept, NodeId view) {
  put(kept.tapes[0], make(Op::keep, {make(Op::buffer, {view})}));
  const auto rank = static_cast<size_t>(b_.function().type(view).rank());
  size_t next = 1;
  for (size_t i = 0; i < kept.parts.size(); ++i) {
    if (kept.parts[i]) continue;
    NodeId part = i == 0 ? make(Op::offset, {view}) : NodeId();
    if (i > rank) part = b_.make(Op::stride, {view}, {static_cast<int64_t>(i - rank - 1)});
    else if (i > 0) part = b_.length(view, static_cast<int>(i - 1));
    put(kept.tapes[next++], part);
  }
}

void Reverse::keep(NodeId value, NodeId made) {
  const Kept& kept = kept_.at(value);
  const Type type = source_.type(value);
  if (type.is_scalar()) return put(kept.tapes[0], made);
  if (type.is_buffer()) return put(kept.tapes[0], make(Op::keep, {made}));
  if (type.is_view()) return keep_view(kept, made);
  if (kept.elements) {
    const int around = recording_.loop_of(source_[value].parent);
    static const Nodes kNowhere;
    const Nodes& at = around == Recording::kNone ? kNowhere : indices_[static_cast<size_t>(around)];
    make(Op::write, {elements_at(kept, number_of_iteration(around, at), type), made});
  } else if (type.is_array()) {
    keep_view(kept, make(Op::materialize, {made}));
  } else {
    put(kept.tapes[0], make(Op::tag, {made}));
    put(kept.tapes[1], make(Op::value, {made}));
  }
}

NodeId Reverse::view_again(const Kept& kept, Type type) {
  const auto rank = static_cast<size_t>(type.rank());
  Nodes parts = kept.parts;
  size_t next = 1;
  for (NodeId& part : parts)
    if (!part) part = get(kept.tapes[next++]);
  const NodeId buffer = make(Op::kept, {get(kept.tapes[0])});
  const auto of = std::span(parts).subspan(1);
  return LoopWriter(b_).view(buffer, parts[0], of.first(rank), of.last(rank), type);
}

NodeId Reverse::kept_again(NodeId value) {
  const Kept& kept = kept_.at(value);
  const Type type = source_.type(value);
  if (type.is_scalar()) return get(kept.tapes[0]);
  if (type.is_buffer()) return make(Op::kept, {get(kept.tapes[0])});
  if (type.is_view()) return view_again(kept, type);
  if (kept.elements) {
    const int around = recording_.loop_of(source_[value].parent);
    static const Nodes kNowhere;
    const Nodes& at = around == Recording::kNone ? kNowhere : indices_[static_cast<size_t>(around)];
    return make(Op::read, {elements_at(kept, number_of_iteration(around, at), type)});
  }
  if (type.is_array()) return make(Op::read, {view_again(kept, type.as_view())});
  const NodeId tag = get(kept.tapes[0]);
  LoopWriter w(b_);
  const NodeId number = get(kept.tapes[1]);
  const auto tagged = [&](int64_t which) { return Nodes{b_.make(Op::none, {}, {which}, type)}; };
  const std::vector<Type> types{type};
  const NodeId is_value = make(Op::equal, {tag, b_.constant<int8_t>(0)});
  const NodeId is_none = make(Op::equal, {tag, b_.constant<int8_t>(1)});
  return w.branch(
      is_value, types, [&] { return Nodes{make(Op::some, {number})}; },
      [&] { return w.branch(is_none, types, [&] { return tagged(1); }, [&] { return tagged(2); }); })[0];
}

}  // namespace ingot::transform
