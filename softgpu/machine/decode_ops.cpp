#include <algorithm>

#include "softgpu/machine/decode.h"

// Memory, moves, operations of warps, and control.

namespace softgpu {

namespace {

constexpr uint32_t kNone = UINT32_MAX;

/// The index of the first part that is one of the words.
template <size_t N>
uint32_t which_of(const ptx::Statement& statement, const std::string_view (&words)[N]) {
  for (const std::string_view part : statement.parts)
    for (uint32_t k = 0; k < N; ++k)
      if (part == words[k]) return k;
  return kNone;
}

}  // namespace

bool FunctionDecoder::put_address(const ptx::Operand& operand, Instruction& i, ptx::Space& where) {
  if (operand.kind != ptx::Operand::Address) fail("an address is missing");
  i.offset = static_cast<int64_t>(operand.integer);
  if (operand.name.empty()) return true;
  if (const Register* const base = find_register(operand.name)) {
    if (base->width != 4 && base->width != 8) fail("the width of an address");
    i.a = base->slot;
    if (base->width == 4) i.flags |= flag::kAddress32;
    return true;
  }
  const std::optional<Storage> storage = find_variable(operand.name);
  if (!storage) fail("`" + std::string(operand.name) + "` is not declared,");
  i.offset = static_cast<int64_t>(operand.integer + storage->at);
  // The address of a variable, in a generic access too.
  const bool is_generic = where == ptx::Space::Generic;
  if (is_generic) where = storage->space;
  const auto group = [](ptx::Space space) { return space == ptx::Space::Const ? ptx::Space::Global : space; };
  if (group(where) != group(storage->space)) fail("`" + std::string(operand.name) + "` is in another space,");
  if (where == ptx::Space::Local) i.flags |= flag::kOfFrame;
  return true;
}

void FunctionDecoder::decode_access(bool loads) {
  const ptx::Type type = last_type();
  const uint32_t lanes = vector_lanes();
  ptx::Space where = space();
  Instruction i;
  put_address(operand(loads ? 1 : 0), i, where);
  const ptx::Operand& other = operand(loads ? 0 : 1);
  const auto natural = static_cast<uint8_t>(std::max(type.bytes(), 2u));
  uint8_t width = natural;
  if (lanes == 1) {
    const ptx::Operand& one =
        other.kind == ptx::Operand::Vector && other.list.size() == 1 ? other.list[0] : other;
    width = width_of_operand(one, natural);
    if (loads) i.d = result(one, width);
    else i.b = value(one, width);
  } else {
    if (other.kind != ptx::Operand::Vector || other.list.size() != lanes) fail("a vector of other length");
    for (const ptx::Operand& one : other.list)
      if (one.kind == ptx::Operand::Name) width = width_of_operand(one, natural);
    std::vector<Slot> slots;
    for (const ptx::Operand& one : other.list)
      slots.push_back(loads ? result(one, width) : value(one, width));
    i.lanes = static_cast<uint8_t>(lanes);
    i.target = static_cast<uint32_t>(into_.lists.size());
    into_.lists.push_back(std::move(slots));
  }
  i.run = loads ? load_handler(where, type, width) : store_handler(where, type, width);
  if (i.run == nullptr) unknown();
  put_order(i);
  add(i);
}

void FunctionDecoder::put_order(Instruction& i) const {
  for (const std::string_view word : {"volatile", "relaxed", "acquire", "release", "mmio", "acq_rel"})
    if (now_->has(word)) i.flags |= flag::kStrong;
  if (now_->has("release") || now_->has("acq_rel")) i.flags |= flag::kRelease;
}

void FunctionDecoder::decode_atomic() {
  const bool gives = now_->parts[0] == "atom";
  static constexpr std::string_view kOps[] = {"add", "min",  "max", "and", "or",
                                              "xor", "exch", "cas", "inc", "dec"};
  const uint32_t which = which_of(*now_, kOps);
  const ptx::Type type = last_type();
  if (which == kNone) unknown();
  if (vector_lanes() != 1) {
    decode_vector_atomic(gives, kOps[which]);
    return;
  }
  ptx::Space where = space();
  Instruction i;
  const size_t first = gives ? 1 : 0;
  put_address(operand(first), i, where);
  const auto width = static_cast<uint8_t>(type.bytes());
  i.b = value(operand(first + 1), width);
  if (kOps[which] == "cas") i.c = value(operand(first + 2), width);
  if (gives) i.d = result(operand(0), width);
  i.run = atomic_handler(kOps[which], type, where);
  put_order(i);
  if (i.run == nullptr) unknown();
  add(i);
}

bool FunctionDecoder::decode_memory() {
  const std::string_view name = now_->parts[0];
  if (name == "ld" || name == "ldu") {
    decode_access(true);
  } else if (name == "st") {
    decode_access(false);
  } else if (name == "atom" || name == "red") {
    if (now_->has("async")) unknown();
    decode_atomic();
  } else if (name == "membar" || name == "fence" || name == "prefetch" || name == "prefetchu" ||
             name == "discard" || name == "applypriority") {
    if (now_->has("proxy") && now_->has("tensormap::generic")) unknown();
    add(begin(name == "membar" || name == "fence" ? handlers::fence : handlers::nothing));
  } else {
    return false;
  }
  return true;
}

void FunctionDecoder::decode_mov() {
  const ptx::Operand& to = operand(0);
  const ptx::Operand& from = operand(1);
  const ptx::Type type = last_type();
  const auto bytes = static_cast<uint8_t>(type.bytes());
  if (to.kind != ptx::Operand::Vector && from.kind != ptx::Operand::Vector) {
    const bool wide = from.name == "%clock64" || from.name == "%globaltimer";
    if (wide || from.name == "%clock" || from.name == "%clock_hi" || from.name.starts_with("%globaltimer_") ||
        from.name.starts_with("%pm")) {
      Instruction i = begin(handlers::clock);
      i.lanes = wide ? 8 : 4;
      i.offset = from.name.ends_with("hi") ? 1 : 0;
      i.d = result(to, i.lanes);
      add(i);
    } else if (!decode_computing()) {
      unknown();
    }
    return;
  }
  const bool packs = from.kind == ptx::Operand::Vector;
  const std::vector<ptx::Operand>& list = packs ? from.list : to.list;
  const auto count = static_cast<uint32_t>(list.size());
  const auto piece = static_cast<uint8_t>(count == 0 ? 0 : bytes / count);
  Instruction i = begin(packs ? pack_handler(count, piece) : unpack_handler(count, piece));
  if (i.run == nullptr) unknown();
  std::vector<Slot> slots;
  const auto width = std::max(piece, uint8_t{2});  // bytes have registers of two
  for (const ptx::Operand& one : list) slots.push_back(packs ? value(one, width) : result(one, width));
  if (packs) i.d = result(to, bytes);
  else i.a = value(from, bytes);
  i.target = static_cast<uint32_t>(into_.lists.size());
  into_.lists.push_back(std::move(slots));
  add(i);
}

void FunctionDecoder::decode_cvta() {
  const ptx::Space where = space();
  const uint64_t window = where == ptx::Space::Shared  ? kSharedWindow
                          : where == ptx::Space::Local ? kLocalWindow
                          : where == ptx::Space::Param ? kParamWindow
                                                       : 0;
  if (last_type().bits != 64) unknown();
  const bool is_to = now_->has("to");
  const Plan plan = is_to ? plan2<uint64_t, uint64_t, uint64_t>([](uint64_t a, uint64_t b) { return a - b; })
                          : plan2<uint64_t, uint64_t, uint64_t>([](uint64_t a, uint64_t b) { return a + b; });
  Instruction i = begin(plan.run);
  i.d = result(operand(0), 8);
  i.a = value(operand(1), 8);
  i.b = constant(window, 8);
  add(i);
}

bool FunctionDecoder::decode_moves() {
  const std::string_view name = now_->parts[0];
  if (name == "mov") {
    decode_mov();
  } else if (name == "cvta") {
    decode_cvta();
  } else if (name == "isspacep") {
    Instruction i = begin(handlers::is_in_space);
    i.d = result(operand(0), kPredicate);
    i.a = value(operand(1), 8);
    i.offset = static_cast<int64_t>(space() == ptx::Space::Const ? ptx::Space::Global : space());
    add(i);
  } else {
    return false;
  }
  return true;
}

void FunctionDecoder::decode_shuffle() {
  static constexpr std::string_view kModes[] = {"up", "down", "bfly", "idx"};
  Instruction i = begin(handlers::shuffle);
  i.target = which_of(*now_, kModes);
  if (i.target == kNone || !now_->has("sync")) unknown();
  const bool pair = operand(0).kind == ptx::Operand::Pair;
  i.d = result(pair ? operand(0).list[0] : operand(0), 4);
  if (pair) i.e = result(operand(0).list[1], kPredicate);
  i.a = value(operand(1), 4);
  i.b = value(operand(2), 4);
  i.c = value(operand(3), 4);
  i.offset = value(operand(4), 4);
  add(i);
}

bool FunctionDecoder::decode_warp() {
  const std::string_view name = now_->parts[0];
  Instruction i;
  if (name == "shfl") {
    decode_shuffle();
  } else if (name == "vote") {
    static constexpr std::string_view kModes[] = {"all", "any", "uni", "ballot"};
    i.run = handlers::vote;
    i.target = which_of(*now_, kModes);
    if (i.target == kNone || !now_->has("sync")) unknown();
    i.d = result(operand(0), i.target == 3 ? 4 : kPredicate);
    i.a = negatable(operand(1), i, 1);
    i.b = value(operand(2), 4);
    add(i);
  } else if (name == "match") {
    i.run = handlers::match;
    i.target = now_->has("all") ? 1 : 0;
    const bool pair = operand(0).kind == ptx::Operand::Pair;
    i.lanes = static_cast<uint8_t>(last_type().bytes());
    if (i.lanes != 4 && i.lanes != 8) unknown();
    i.d = result(pair ? operand(0).list[0] : operand(0), 4);
    if (pair) i.e = result(operand(0).list[1], kPredicate);
    i.a = value(operand(1), i.lanes);
    i.b = value(operand(2), 4);
    add(i);
  } else if (name == "redux") {
    static constexpr std::string_view kOps[] = {"add", "min", "max", "and", "or", "xor"};
    i.run = handlers::reduce;
    i.target = which_of(*now_, kOps);
    if (i.target == kNone || last_type().bits != 32 || last_type().kind == 'f') unknown();
    i.flags = last_type().kind == 's' ? 1 : 0;
    i.d = result(operand(0), 4);
    i.a = value(operand(1), 4);
    i.b = value(operand(2), 4);
    add(i);
  } else if (name == "activemask") {
    i.run = handlers::active_mask;
    i.d = result(operand(0), 4);
    add(i);
  } else if (name == "elect") {
    i.run = handlers::elect;
    if (operand(0).kind != ptx::Operand::Pair) fail("two results are missing");
    i.d = result(operand(0).list[0], 4);
    i.e = result(operand(0).list[1], kPredicate);
    i.a = value(operand(1), 4);
    add(i);
  } else if (name == "bar" || name == "barrier") {
    decode_barrier();
  } else {
    return false;
  }
  return true;
}

void FunctionDecoder::decode_barrier() {
  Instruction i;
  if (now_->has("cluster")) unknown();
  if (now_->has("warp")) {
    i.run = handlers::warp_barrier;
    i.a = value(operand(0), 4);
    add(i);
    return;
  }
  static constexpr std::string_view kForms[] = {"sync", "arrive", "red"};
  const uint32_t form = which_of(*now_, kForms);
  if (form == kNone) unknown();
  if (form == 2) {
    static constexpr std::string_view kOps[] = {"popc", "and", "or"};
    i.run = handlers::barrier_reduce;
    i.target = which_of(*now_, kOps);
    if (i.target == kNone) unknown();
    i.d = result(operand(0), i.target == 0 ? 4 : kPredicate);
    i.a = value(operand(1), 4);
    if (operands() == 4) i.b = value(operand(2), 4);
    i.c = negatable(operand(operands() - 1), i, flag::kOfFrame);
  } else {
    i.run = form == 0 ? handlers::barrier : handlers::barrier_arrive;
    i.a = value(operand(0), 4);
    if (operands() > 1) i.b = value(operand(1), 4);
  }
  add(i);
}

void FunctionDecoder::decode_branch() {
  Instruction i = begin(now_->guard.empty() ? handlers::jump : handlers::branch);
  jumps_.emplace_back(into_.code.size(), operand(0).name);
  add(i, Flow::Jump);
}

void FunctionDecoder::decode_switch() {
  const auto found = std::ranges::find(source_.targets, operand(1).name, &ptx::Targets::name);
  if (found == source_.targets.end()) fail("the targets are missing");
  Instruction i = begin(handlers::branch_indexed);
  i.a = value(operand(0), 4);
  i.target = static_cast<uint32_t>(into_.lists.size());
  into_.lists.emplace_back();
  switches_.emplace_back(i.target, &*found);
  add(i, Flow::Switch);
}

uint32_t FunctionDecoder::parameter_at(const ptx::Operand& operand) const {
  const std::optional<Storage> storage = find_variable(operand.name);
  if (!storage || storage->space != ptx::Space::Param)
    fail("`" + std::string(operand.name) + "` is no parameter,");
  return static_cast<uint32_t>(storage->at);
}

CallSite FunctionDecoder::call_site() {
  // call (results), function, (arguments), prototype
  CallSite site;
  size_t at = 0;
  if (operand(0).kind == ptx::Operand::List) {
    for (const ptx::Operand& result : operand(0).list) site.results.push_back(parameter_at(result));
    ++at;
  }
  const ptx::Operand& callee = operand(at++);
  if (at < operands() && operand(at).kind == ptx::Operand::List)
    for (const ptx::Operand& argument : operand(at).list) site.arguments.push_back(parameter_at(argument));
  const auto function = names_.functions.find(callee.name);
  if (function != names_.functions.end()) site.callee = function->second;
  return site;
}

void FunctionDecoder::decode_call() {
  CallSite site = call_site();
  const ptx::Operand& callee = operand(operand(0).kind == ptx::Operand::List ? 1 : 0);
  Instruction i;
  i.target = static_cast<uint32_t>(into_.calls.size());
  Flow::Kind flow = Flow::Next;
  const bool is_defined = site.callee != kNever && names_.defined[site.callee];
  if (const BuiltIn known = is_defined ? BuiltIn{} : built_in(callee.name); known.run != nullptr) {
    i.run = known.run;
    flow = known.returns ? Flow::Next : Flow::Stop;
  } else if (site.callee != kNever) {
    i.run = handlers::call;
  } else {
    i.run = handlers::call_indirect;
    i.a = value(callee, 8);
  }
  into_.calls.push_back(std::move(site));
  add(i, flow);
}

bool FunctionDecoder::decode_control() {
  const std::string_view name = now_->parts[0];
  if (name == "bra") {
    decode_branch();
  } else if (name == "brx") {
    decode_switch();
  } else if (name == "call") {
    decode_call();
  } else if (name == "ret") {
    add(begin(handlers::give_back), Flow::Leave);
  } else if (name == "exit") {
    add(begin(handlers::exit), Flow::Leave);
  } else if (name == "trap" || name == "brkpt") {
    Instruction i = begin(handlers::trap);
    i.offset = name == "brkpt" ? 1 : 0;
    add(i, Flow::Stop);
  } else if (name == "nanosleep") {
    add(begin(handlers::pause));
  } else if (name == "pmevent" || name == "setmaxnreg" || name == "griddepcontrol") {
    add(begin(handlers::nothing));
  } else {
    return false;
  }
  return true;
}

}  // namespace softgpu
