#include "ir/interpreter.h"

#include <algorithm>

#include "ir/calls.h"
#include "ir/interpreter_machine.h"
#include "ir/text.h"

namespace ingot::ir {

namespace {

constexpr size_t kRecursionLimit = 1000;

void execute(Step& step) {
  switch (step.op()) {
#define OP(name, ...) \
  case Op::name: return interp_elementwise(step);
#define STRUCT(name, ...) \
  case Op::name: return interp_##name(step);
#include "ir/ops.def"
  }
}

}  // namespace

std::vector<int64_t> Step::indices(size_t first, size_t count) const {
  std::vector<int64_t> all(count);
  for (size_t i = 0; i < count; ++i) all[i] = index(first + i);
  return all;
}

std::vector<Value> Step::values(size_t first) const {
  std::vector<Value> all;
  for (size_t i = first; i < count(); ++i) all.push_back(value(i));
  return all;
}

void Step::fail(const std::string& what) const {
  std::string message = what + " in @" + function.name() + ": " + print_node(function, node);
  const base::SourceLocation location = function.module().location(function[node].span);
  if (location.line != 0) message += " at " + location.file + ":" + std::to_string(location.line);
  throw base::InternalError(message);
}

void Step::raise(base::ExceptionKind kind, std::string message) const {
  strand.raised = Raised{kind, std::move(message), function[node].span};
}

void Step::touch(const void* address, size_t size, Access access) const {
  for (const Watch& watch : strand.watches)
    if (!watch.tracker->note(watch.iteration, address, size, access) && !machine.options.in_order)
      fail("race: two iterations touch one byte, and one of them writes,");
}

void Step::fence(Scope scope) const {
  for (const Watch& watch : strand.watches) {
    const ThreadBlock* block = strand.block;
    const bool in_block = block != nullptr && (watch.tracker == &block->between_warps ||
                                               watch.tracker == &block->in_warp[strand.thread / kWarp]);
    if (in_block || scope >= Scope::Device) watch.tracker->fence(watch.iteration);
  }
}

void Step::forget(const void* address, size_t size) const {
  for (const Watch& watch : strand.watches) watch.tracker->forget(address, size);
}

std::vector<int64_t> Machine::shuffled(int64_t count) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  if (options.in_order) return order;
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_() % i]);
  return order;
}

BlockRef Machine::allocate(int64_t size, Space space) {
  const int64_t lengths[] = {size};
  auto block = std::make_shared<MemoryBlock>();
  // Unspecified contents: different for different seeds.
  const auto fill = static_cast<std::byte>(0xa5 ^ options.seed);
  block->own.assign(byte_count(lengths, DType::UInt8), fill);
  block->data = block->own.data();
  block->size = size;
  block->space = space;
  return block;
}

bool Machine::is_of_recursion(const Function& caller, FunctionId callee) {
  if (recursive_.empty()) recursive_ = recursive_functions(module);
  const auto id = module.find(caller.name());
  return id && recursive_[id->index] && recursive_[callee.index];
}

void Machine::enter_call(Strand& strand, FunctionId id, NodeId owner, std::span<const Value> arguments) {
  const Function* function = module.function(id);
  if (function == nullptr)
    throw base::InternalError("call of @" + module.signature(id).name + ", which has no body");
  if (strand.calls >= kRecursionLimit) {
    strand.raised = Raised{base::ExceptionKind::RecursionError, "maximum recursion depth exceeded", {}};
    return;
  }
  ++strand.calls;
  Frame frame;
  frame.own = std::make_unique<Activation>();
  frame.own->function = function;
  frame.own->values.resize(function->node_count());
  frame.activation = frame.own.get();
  frame.owner = owner;
  frame.region = function->body();
  const auto parameters = function->region_parameters(function->body());
  for (size_t i = 0; i < parameters.size(); ++i) frame.own->values[parameters[i].index] = arguments[i];
  strand.frames.push_back(std::move(frame));
}

void Machine::advance(Strand& strand) {
  if (options.step_limit >= 0 && steps_++ >= options.step_limit) throw base::InternalError("step limit");
  Frame& frame = strand.frames.back();
  const NodeId node = frame.activation->function->region_body(frame.region)[frame.next++];
  Step step(*this, strand, *frame.activation, node);
  execute(step);
  if (strand.raised) unwind(*this, strand);
}

void Machine::run(Strand& strand) {
  strand.yields = false;
  while (strand.state == Strand::State::Running && !strand.yields) {
    try {
      while (strand.state == Strand::State::Running && !strand.yields) advance(strand);
    } catch (const std::bad_alloc&) {
      strand.raised = Raised{base::ExceptionKind::MemoryError, "", {}};
      unwind(*this, strand);
    }
  }
}

Outcome Machine::call(FunctionId function, std::span<const Value> arguments) {
  const Module::Signature& signature = module.signature(function);
  INGOT_ASSERT(signature.parameters.size() == arguments.size(), "arguments of @" + signature.name);
  for (size_t i = 0; i < arguments.size(); ++i)
    if (!conforms(module.types, signature.parameters[i], arguments[i]))
      throw base::InternalError("argument " + std::to_string(i) + " of @" + signature.name + " is no " +
                                module.types.to_string(signature.parameters[i]));
  Strand strand;
  enter_call(strand, function, {}, arguments);
  run(strand);
  Outcome outcome;
  outcome.raised = strand.state == Strand::State::Failed;
  if (outcome.raised) outcome.exception = std::move(*strand.raised);
  outcome.results = std::move(strand.results);
  outcome.kept = kept;
  return outcome;
}

Outcome interpret(const Module& module, FunctionId function, std::span<const Value> arguments,
                  const InterpretOptions& options) {
  Machine machine(module, options);
  return machine.call(function, arguments);
}

}  // namespace ingot::ir
