#include <algorithm>

#include "base/float_state.h"
#include "base/message.h"
#include "base/random.h"
#include "base/reduction.h"
#include "base/text.h"
#include "ir/builder.h"
#include "ir/evaluate.h"
#include "ir/interpreter_machine.h"
#include "ir/library.h"

namespace ingot::ir {

namespace {

constexpr size_t kMostCallers = 15;  ///< that an exception keeps

std::string show(DType dtype, const Scalar& value) {
  return base::visit_dtype(dtype, [&]<class T>() -> std::string {
    if constexpr (std::is_same_v<T, bool>) return base::repr(value.bits[0] != 0);
    else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
      return base::repr(static_cast<int64_t>(value.as<T>()));
    else if constexpr (std::is_integral_v<T>) return base::repr(static_cast<uint64_t>(value.as<T>()));
    else return base::repr(value.as<T>());
  });
}

void pop_frame(Strand& strand) {
  Frame& frame = strand.frames.back();
  if (frame.parallel) strand.watches.pop_back();
  if (frame.own) --strand.calls;
  strand.frames.pop_back();
}

/// Restarts the region of the topmost frame.
void restart(Frame& frame, size_t region, std::span<const Value> parameters) {
  const Function& function = *frame.activation->function;
  frame.region = function.region(frame.owner, region);
  frame.next = 0;
  const auto nodes = function.region_parameters(frame.region);
  for (size_t i = 0; i < nodes.size(); ++i) frame.activation->values[nodes[i].index] = parameters[i];
}

/// The topmost frame's node is done and has these results.
void leave(Strand& strand, std::span<const Value> results) {
  Activation& activation = *strand.frames.back().activation;
  const NodeId owner = strand.frames.back().owner;
  pop_frame(strand);
  give_results(activation, owner, results);
}

std::vector<Value> with_number(int64_t number, std::span<const Value> values) {
  std::vector<Value> all{Scalar::of(number)};
  all.insert(all.end(), values.begin(), values.end());
  return all;
}

/// combine(init, contributions in the order of reductions).
Scalar combine_contributions(Op op, DType dtype, const Scalar& init, std::span<const Scalar> contributions) {
  if (contributions.empty()) return init;
  const DType lane = base::lane_dtype(dtype);
  const auto widened = [&](const Scalar& x) { return evaluate_cast(dtype, lane, x); };
  const Combiner combine(op, lane);
  const auto accumulate = [&](Scalar& sum, int64_t k) {
    sum = combine(sum, widened(contributions[static_cast<size_t>(k)]));
  };
  const Scalar start = combine.start(widened(contributions[0]));
  const Scalar all = base::reduce_in_order(base::kOrderOfElements, static_cast<int64_t>(contributions.size()),
                                           start, accumulate, combine);
  return evaluate_cast(lane, dtype, combine(widened(init), all));
}

void finish_parallel(Machine& machine, Strand& strand) {
  Frame& frame = strand.frames.back();
  const Function& function = *frame.activation->function;
  ParallelLoop& loop = *frame.parallel;
  if (loop.failed_iteration >= 0) {
    Raised failure = std::move(loop.failure);
    pop_frame(strand);
    strand.raised = std::move(failure);
    return unwind(machine, strand);
  }
  std::vector<Value> results;
  const auto combiners = function.ints(frame.owner);
  for (size_t i = 0; i < combiners.size(); ++i) {
    const NodeId init = function.operand(frame.owner, i + 1);
    results.push_back(combine_contributions(static_cast<Op>(combiners[i]), function.type(init).dtype(),
                                            std::get<Scalar>(frame.activation->values[init.index]),
                                            loop.contributions[i]));
  }
  leave(strand, results);
}

/// Continues with the next iteration whose result may still count: none after the lowest that raised.
void next_parallel_iteration(Machine& machine, Strand& strand) {
  Frame& frame = strand.frames.back();
  ParallelLoop& loop = *frame.parallel;
  while (loop.position < loop.order.size()) {
    const int64_t iteration = loop.order[loop.position++];
    if (loop.failed_iteration >= 0 && iteration > loop.failed_iteration) continue;
    frame.iteration = iteration;
    strand.watches.back().iteration = static_cast<uint32_t>(iteration);
    const Value parameters[] = {Scalar::of(iteration)};
    return restart(frame, 0, parameters);
  }
  finish_parallel(machine, strand);
}

void yield_to_for(Strand& strand, std::span<const Value> carried) {
  Frame& frame = strand.frames.back();
  if (++frame.iteration >= frame.count) return leave(strand, carried);
  restart(frame, 0, with_number(frame.iteration, carried));
}

void yield_to_while(const Step& step, std::span<const Value> values) {
  Frame& frame = step.strand.frames.back();
  if (frame.region != step.function.region(frame.owner, 0)) return restart(frame, 0, values);
  if (!step.truth(0)) return leave(step.strand, values.subspan(1));
  restart(frame, 1, values.subspan(1));
}

void yield_to_parallel(const Step& step, std::span<const Value> values) {
  ParallelLoop& loop = *step.strand.frames.back().parallel;
  const auto iteration = static_cast<size_t>(step.strand.frames.back().iteration);
  for (size_t i = 0; i < values.size(); ++i) loop.contributions[i][iteration] = step.scalar(i);
  next_parallel_iteration(step.machine, step.strand);
}

/// Status first, then stand-ins for the results that are not there.
std::vector<Value> failed_results(const Function& function, NodeId node, base::ExceptionKind kind) {
  std::vector<Value> results{Scalar::of(static_cast<int32_t>(kind) + 1)};
  for (size_t i = 1; i < function.result_count(node); ++i)
    results.push_back(unspecified(function.type(function.result(node, i))));
  return results;
}

}  // namespace

Combiner::Combiner(Op op, DType dtype)
    : apply_(element_loop(op, dtype)),
      in_default_state_(wants_default_state(op, dtype)),
      identity_(identity_of(op, dtype)) {}

Scalar Combiner::operator()(const Scalar& a, const Scalar& b) const {
  Scalar result;
  const base::InFloatState state(in_default_state_ ? base::FloatState() : base::FloatState::current());
  apply_(a.bits.data(), 0, b.bits.data(), 0, result.bits.data(), 1);
  return result;
}

void enter_region(Strand& strand, NodeId owner, size_t region, std::span<const Value> parameters) {
  Frame frame;
  frame.activation = strand.frames.back().activation;
  frame.owner = owner;
  restart(frame, region, parameters);
  strand.frames.push_back(std::move(frame));
}

void give_results(Activation& activation, NodeId node, std::span<const Value> values) {
  for (size_t i = 0; i < values.size(); ++i)
    activation.values[activation.function->result(node, i).index] = values[i];
}

void unwind(Machine& machine, Strand& strand) {
  while (!strand.frames.empty()) {
    Frame& frame = strand.frames.back();
    if (ParallelLoop* loop = frame.parallel.get()) {
      if (loop->failed_iteration < 0 || frame.iteration < loop->failed_iteration) {
        loop->failed_iteration = frame.iteration;
        loop->failure = std::move(*strand.raised);
      }
      strand.raised.reset();
      return next_parallel_iteration(machine, strand);
    }
    const bool is_call = frame.own && frame.owner;
    const NodeId owner = frame.owner;
    pop_frame(strand);
    if (!is_call || strand.frames.empty()) continue;
    Activation& caller = *strand.frames.back().activation;
    if (caller.function->op(owner) != Op::call) continue;
    const FunctionId callee(static_cast<uint32_t>(caller.function->attribute(owner, 0)));
    if (!machine.is_of_recursion(*caller.function, callee)) {
      std::vector<SpanId>& callers = strand.raised->callers;
      if (callers.size() == kMostCallers) callers.pop_back();
      callers.push_back((*caller.function)[owner].span);
    }
    if (!base::catches(caller.function->attribute(owner, 1), strand.raised->kind)) continue;
    give_results(caller, owner, failed_results(*caller.function, owner, strand.raised->kind));
    strand.raised.reset();
    return;
  }
  strand.state = Strand::State::Failed;
}

std::string format_message(const Step& step, TextId text, size_t first) {
  std::vector<std::string> values;
  for (size_t i = first; i < step.count(); ++i) values.push_back(show(step.type(i).dtype(), step.scalar(i)));
  return base::fill_message(step.function.module().text(text), values);
}

void interp_param(Step&) {}
void interp_result(Step&) {}
void interp_constant(Step& step) { step.give(step.function.constant(step.node)); }

void interp_if_(Step& step) { enter_region(step.strand, step.node, step.truth(0) ? 0 : 1, {}); }

void interp_for_(Step& step) {
  const int64_t count = step.index(0);
  const std::vector<Value> inits = step.values(1);
  if (count <= 0) return give_results(step.activation, step.node, inits);
  enter_region(step.strand, step.node, 0, with_number(0, inits));
  step.strand.frames.back().count = count;
}

void interp_while_(Step& step) { enter_region(step.strand, step.node, 0, step.values()); }

void interp_parallel_for(Step& step) {
  const int64_t count = std::max<int64_t>(step.index(0), 0);
  const int64_t lengths[] = {count};
  byte_count(lengths, DType::Int64);
  auto loop = std::make_unique<ParallelLoop>();
  loop->order = step.machine.shuffled(count);
  loop->contributions.assign(step.count() - 1, std::vector<Scalar>(static_cast<size_t>(count)));
  Strand& strand = step.strand;
  strand.watches.push_back({&loop->tracker, 0});
  const Value first[] = {Scalar::of(int64_t{0})};
  enter_region(strand, step.node, 0, first);
  strand.frames.back().parallel = std::move(loop);
  next_parallel_iteration(step.machine, strand);
}

void interp_share(Step& step) { enter_region(step.strand, step.node, 0, {}); }

void interp_block(Step& step) {
  const Value label[] = {Value()};
  enter_region(step.strand, step.node, 0, label);
}

void interp_yield(Step& step) {
  Strand& strand = step.strand;
  Frame& frame = strand.frames.back();
  const std::vector<Value> values = step.values();
  if (frame.own) {
    // A thread of a launch: its region is its whole stack.
    strand.state = Strand::State::Done;
    return;
  }
  switch (step.function.op(frame.owner)) {
    case Op::for_: return yield_to_for(strand, values);
    case Op::while_: return yield_to_while(step, values);
    case Op::parallel_for: return yield_to_parallel(step, values);
    default: return leave(strand, values);
  }
}

void interp_exit_(Step& step) {
  Strand& strand = step.strand;
  const std::vector<Value> values = step.values(1);
  const RegionId target = step.function[step.operand(0)].parent;
  for (;;) {
    const Frame& frame = strand.frames.back();
    if (frame.region == target) return leave(strand, values);
    if (frame.own || frame.parallel) step.fail("exits from a region that it may not leave");
    pop_frame(strand);
  }
}

void interp_unreachable(Step& step) { step.fail("is reached"); }

void interp_return_(Step& step) {
  Strand& strand = step.strand;
  const std::vector<Value> values = step.values();
  while (!strand.frames.back().own) {
    if (strand.frames.back().parallel) step.fail("returns from a parallel loop");
    pop_frame(strand);
  }
  const NodeId owner = strand.frames.back().owner;
  if (strand.block != nullptr && strand.frames.size() == 1) step.fail("returns from a launch");
  pop_frame(strand);
  if (strand.frames.empty()) {
    strand.results = values;
    strand.state = Strand::State::Done;
    return;
  }
  Activation& caller = *strand.frames.back().activation;
  const bool catches = caller.function->attribute(owner, 1) != 0;
  std::vector<Value> results;
  if (catches) results.push_back(Scalar::of(int32_t{0}));
  results.insert(results.end(), values.begin(), values.end());
  give_results(caller, owner, results);
}

/// What `raise` and `check` raise, with the operands from `first` on.
void raise_own(const Step& step, size_t first) {
  const TextId text(static_cast<uint32_t>(step.attribute(1)));
  step.raise(static_cast<base::ExceptionKind>(step.attribute(0)), format_message(step, text, first));
  if (step.function.attributes(step.node).size() < 3) return;
  step.strand.raised->made = step.attribute(2);
  for (size_t i = first; i < step.count(); ++i)
    step.strand.raised->values.emplace_back(step.type(i).dtype(), step.scalar(i));
}

void interp_raise(Step& step) { raise_own(step, 0); }

void interp_check(Step& step) {
  if (!step.truth(0)) raise_own(step, 1);
}

void interp_call(Step& step) {
  const FunctionId callee(static_cast<uint32_t>(step.attribute(0)));
  const std::vector<Value> arguments = step.values();
  step.machine.enter_call(step.strand, callee, step.node, arguments);
  if (!step.strand.raised) return;
  step.strand.raised->span = step.function[step.node].span;
  if (step.attribute(1) == 0) return;
  give_results(step.activation, step.node,
               failed_results(step.function, step.node, step.strand.raised->kind));
  step.strand.raised.reset();
}

namespace {

/// Checks values from outside against the node's types, from result `first` on.
void check_results(const Step& step, size_t first, std::span<const Value> results) {
  const size_t count = step.function.result_count(step.node);
  step.need(results.size() + first == count, "gave another number of results");
  for (size_t i = 0; i < results.size(); ++i) {
    const Type type = step.function.type(step.function.result(step.node, first + i));
    step.need(conforms(step.function.module().types, type, results[i]), "gave a result of another type");
  }
}

}  // namespace

void interp_library(Step& step) {
  const Externals* externals = step.machine.options.externals;
  step.need(externals != nullptr && externals->library, "wants a library");
  const bool catches = step.attribute(1) != 0;
  std::vector<Value> results;
  Raised raised{base::ExceptionKind::Exception, "", step.function[step.node].span};
  const std::string& routine = step.function.module().text(TextId(static_cast<uint32_t>(step.attribute(0))));
  if (externals->library(routine, step.values(), results, raised)) {
    check_results(step, catches ? 1 : 0, results);
    if (catches) results.insert(results.begin(), Scalar::of(int32_t{0}));
    return give_results(step.activation, step.node, results);
  }
  if (catches && !base::leaves_at_once(raised.kind))
    return give_results(step.activation, step.node, failed_results(step.function, step.node, raised.kind));
  step.strand.raised = std::move(raised);
}

void interp_draw(Step& step) {
  const auto start = [](const ViewValue& view) { return view.block->data + view.offset; };
  const std::string& routine = step.function.module().text(TextId(static_cast<uint32_t>(step.attribute(0))));
  const base::DrawInfo& info = *base::find_draw(routine);
  std::vector<uint64_t> words;
  for (size_t i = 1; i < step.count(); ++i) {
    if (!step.type(i).is_view()) {
      words.push_back(step.scalar(i).bits[0]);
      continue;
    }
    const ViewValue& view = step.view(i);
    words.push_back(reinterpret_cast<uint64_t>(start(view)));
    words.push_back(static_cast<uint64_t>(view.lengths[0]));
  }
  const uint64_t bits = info.invoke(start(step.view(0)), words.data());
  if (!info.result) return;
  Scalar result;
  result.bits[0] = bits;
  step.give(result);
}

void interp_host(Step& step) {
  const Externals* externals = step.machine.options.externals;
  step.need(externals != nullptr && externals->host, "wants a host");
  std::vector<Value> results;
  Raised raised{base::ExceptionKind::Exception, "", step.function[step.node].span};
  if (!externals->host(step.attribute(0), step.values(), results, raised)) {
    step.strand.raised = std::move(raised);
    return;
  }
  check_results(step, 0, results);
  give_results(step.activation, step.node, results);
}

void interp_c_call(Step& step) {
  const Externals* externals = step.machine.options.externals;
  step.need(externals != nullptr && externals->c_function, "wants C functions");
  std::vector<Type> types;
  for (size_t i = 0; i < step.count(); ++i) types.push_back(step.type(i));
  const Type asked = step.function.type(step.node);
  std::vector<Type> wanted;
  if (asked.is(TypeKind::Results)) {
    const auto members = step.function.module().types.members(asked);
    wanted.assign(members.begin(), members.end());
  } else if (!asked.is_void()) {
    wanted.push_back(asked);
  }
  std::vector<Value> results;
  Raised raised{base::ExceptionKind::Exception, "", step.function[step.node].span};
  if (!externals->c_function(step.attribute(0), step.attribute(2) == 1, step.values(), types, wanted, results,
                             raised)) {
    step.strand.raised = std::move(raised);
    return;
  }
  const auto* const code = results.empty() ? nullptr : std::get_if<Scalar>(&results.front());
  if (step.attribute(2) == 3 && code != nullptr && static_cast<int32_t>(code->bits[0]) == -1) {
    raised.kind = base::ExceptionKind::KeyboardInterrupt;
    step.strand.raised = std::move(raised);
    return;
  }
  give_results(step.activation, step.node, results);
}
void interp_c_value(Step& step) { interp_c_call(step); }

}  // namespace ingot::ir
