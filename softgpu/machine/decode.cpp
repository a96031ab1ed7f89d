#include "softgpu/machine/decode.h"

#include <algorithm>
#include <bit>
#include <charconv>

// Names, operands and ops that compute; the others are in decode_ops.cpp.

namespace softgpu {

namespace {

uint32_t aligned(uint64_t at, uint64_t alignment) {
  return static_cast<uint32_t>((at + alignment - 1) / alignment * alignment);
}

uint8_t register_width(ptx::Type type) {
  if (type.kind == 'p') return kPredicate;
  return static_cast<uint8_t>(std::max(type.bytes(), 2u));
}

}  // namespace

FunctionDecoder::FunctionDecoder(const ptx::Function& source, const ModuleNames& names, Function& into)
    : source_(source),
      names_(names),
      into_(into),
      variables_(source.scopes.size()),
      declared_(source.scopes.size()) {}

void FunctionDecoder::fail(const std::string& message) const {
  throw LoadError(now_ == nullptr ? source_.location.line : now_->location.line,
                  message + (now_ == nullptr ? "" : " in `" + std::string(now_->opcode) + "`"));
}

void FunctionDecoder::unknown() const {
  throw LoadError(now_->location.line, "the op `" + std::string(now_->opcode) + "` is not known");
}

void FunctionDecoder::run() {
  lay_out();
  if (!source_.has_body) return;
  into_.has_body = true;
  size_t next = 0;
  for (size_t k = 0; k <= source_.statements.size(); ++k) {
    for (; next < source_.labels.size() && source_.labels[next].at == k; ++next)
      labels_[source_.labels[next].name] = static_cast<uint32_t>(into_.code.size());
    if (k < source_.statements.size()) decode(source_.statements[k]);
  }
  // Control that reaches the end returns.
  now_ = nullptr;
  Instruction last;
  last.run = handlers::give_back;
  into_.code.push_back(last);
  into_.locations.push_back(source_.statements.empty() ? source_.location
                                                       : source_.statements.back().location);
  into_.texts.emplace_back("ret");
  flow_.push_back({Flow::Leave});
  for (const auto& [at, name] : jumps_) into_.code[at].target = label(name, into_.locations[at].line);
  for (const auto& [list, targets] : switches_)
    for (const std::string_view name : targets->labels)
      into_.lists[list].push_back(static_cast<Slot>(label(name, source_.location.line)));
  add_joins(into_, flow_);
}

uint32_t FunctionDecoder::label(std::string_view name, uint32_t line) const {
  const auto found = labels_.find(name);
  if (found == labels_.end()) throw LoadError(line, "no label `" + std::string(name) + "`");
  return found->second;
}

void FunctionDecoder::lay_out() {
  // Formal parameters first: a launch's bytes are copied there.
  const uint64_t most = source_.is_kernel ? names_.most_parameters : ptx::most::kStack;
  const auto place = [&](const ptx::Variable& variable, std::vector<Parameter>& into) {
    const uint32_t at = offset_at_end(variable, into_.param_bytes, most);
    into.push_back({at, static_cast<uint32_t>(variable.size)});
    variables_[0][variable.name] = {ptx::Space::Param, at};
  };
  for (const ptx::Variable& parameter : source_.parameters) place(parameter, into_.parameters);
  for (const ptx::Variable& result : source_.results) place(result, into_.results);
  if (source_.is_kernel) into_.shared_bytes = names_.shared_bytes;
  for (uint32_t scope = 0; scope < source_.scopes.size(); ++scope) lay_out_scope(scope);
  into_.param_bytes = aligned(into_.param_bytes, 16);
  into_.local_bytes = aligned(into_.local_bytes, 16);
}

uint32_t FunctionDecoder::offset_at_end(const ptx::Variable& variable, uint32_t& end, uint64_t most) const {
  const uint32_t at = aligned(end, variable.alignment);
  if (variable.size > most || at > most - variable.size)
    fail("`" + variable.name + "` of `" + source_.name + "` ends at byte " +
         std::to_string(at + variable.size) + " of its space, which has at most " + std::to_string(most) +
         " bytes");
  end = at + static_cast<uint32_t>(variable.size);
  return at;
}

void FunctionDecoder::lay_out_scope(uint32_t scope) {
  for (const ptx::Variable& variable : source_.scopes[scope].variables) {
    if (variable.space == ptx::Space::Register) {
      auto& kind = variable.count == 0 ? declared_[scope].single : declared_[scope].several;
      kind.try_emplace(variable.name, &variable);
      continue;
    }
    if (variable.space == ptx::Space::Shared && (variable.is_external || variable.size == 0)) {
      variables_[scope][variable.name] = {ptx::Space::Shared, names_.dynamic_at};
      continue;
    }
    uint32_t* const end = variable.space == ptx::Space::Param    ? &into_.param_bytes
                          : variable.space == ptx::Space::Local  ? &into_.local_bytes
                          : variable.space == ptx::Space::Shared ? &into_.shared_bytes
                                                                 : nullptr;
    const bool is_shared = variable.space == ptx::Space::Shared;
    const bool is_of_module = end == nullptr || (is_shared && !source_.is_kernel);
    if (is_of_module) {  // which has placed it
      variables_[scope][variable.name] = names_.variables.at(variable.name);
      continue;
    }
    // The size of a thread's local memory is known at the launch.
    const uint64_t most = is_shared                             ? ptx::most::kShared
                          : variable.space == ptx::Space::Local ? uint64_t{1} << 31
                                                                : ptx::most::kStack;
    variables_[scope][variable.name] = {variable.space, offset_at_end(variable, *end, most)};
  }
}

FunctionDecoder::Register FunctionDecoder::new_register(uint8_t width) {
  const uint32_t bytes = width == kPredicate ? 4 : width * kLanes;
  const uint32_t at = aligned(into_.register_bytes, width == kPredicate ? 4 : 64);
  if (at + bytes > ptx::most::kRegisters) fail("`" + source_.name + "` uses too many registers");
  into_.register_bytes = at + bytes;
  ++into_.registers;
  return {static_cast<Slot>(at), width};
}

const ptx::Variable* FunctionDecoder::Declared::find(std::string_view name) const {
  if (const auto found = single.find(name); found != single.end()) return found->second;
  const std::string_view stem = name.substr(0, name.find_last_not_of("0123456789") + 1);
  const auto found = several.find(stem);
  if (found == several.end() || stem.size() == name.size()) return nullptr;
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(name.data() + stem.size(), name.data() + name.size(), number);
  return error == std::errc() && number < found->second->count ? found->second : nullptr;
}

const FunctionDecoder::Register* FunctionDecoder::find_register(std::string_view name) {
  for (uint32_t scope = now_->scope;; scope = source_.scopes[scope].parent) {
    const auto known = registers_.find({scope, name});
    if (known != registers_.end()) return &known->second;
    if (const ptx::Variable* const variable = declared_[scope].find(name)) {
      if (variable->type.bits > 64) fail("registers of 128 bits");
      return &(registers_[{scope, name}] = new_register(register_width(variable->type)));
    }
    if (scope == 0) break;
  }
  const auto known = registers_.find({UINT32_MAX, name});
  if (known != registers_.end()) return &known->second;
  if (const std::optional<Register> found = special(name)) return &(registers_[{UINT32_MAX, name}] = *found);
  return nullptr;
}

std::optional<FunctionDecoder::Register> FunctionDecoder::special(std::string_view name) {
  using S = Special;
  static constexpr struct {
    std::string_view name;
    S::Kind kind;
    uint8_t bytes;
  } kKnown[] = {{"%tid.x", S::TidX, 4},
                {"%tid.y", S::TidY, 4},
                {"%tid.z", S::TidZ, 4},
                {"%ntid.x", S::NtidX, 4},
                {"%ntid.y", S::NtidY, 4},
                {"%ntid.z", S::NtidZ, 4},
                {"%ctaid.x", S::CtaidX, 4},
                {"%ctaid.y", S::CtaidY, 4},
                {"%ctaid.z", S::CtaidZ, 4},
                {"%nctaid.x", S::NctaidX, 4},
                {"%nctaid.y", S::NctaidY, 4},
                {"%nctaid.z", S::NctaidZ, 4},
                {"%laneid", S::LaneId, 4},
                {"%warpid", S::WarpId, 4},
                {"%nwarpid", S::Nwarpid, 4},
                {"%smid", S::SmId, 4},
                {"%nsmid", S::Nsmid, 4},
                {"%gridid", S::GridId, 8},
                {"%lanemask_eq", S::LanemaskEq, 4},
                {"%lanemask_lt", S::LanemaskLt, 4},
                {"%lanemask_le", S::LanemaskLe, 4},
                {"%lanemask_gt", S::LanemaskGt, 4},
                {"%lanemask_ge", S::LanemaskGe, 4},
                {"%dynamic_smem_size", S::DynamicShared, 4},
                {"%total_smem_size", S::TotalShared, 4},
                {"%envreg1", S::WorkspaceHigh, 4},
                {"%envreg2", S::WorkspaceLow, 4}};
  for (const auto& known : kKnown) {
    if (known.name != name) continue;
    const Register made = new_register(known.bytes);
    into_.specials.push_back({known.kind, made.slot, known.bytes});
    return made;
  }
  if (name.starts_with("%envreg")) {
    const Register made = new_register(4);
    into_.specials.push_back({S::Zero, made.slot, 4});
    return made;
  }
  return std::nullopt;
}

std::optional<Storage> FunctionDecoder::find_variable(std::string_view name) const {
  for (uint32_t scope = now_->scope;; scope = source_.scopes[scope].parent) {
    const auto found = variables_[scope].find(name);
    if (found != variables_[scope].end()) return found->second;
    if (scope == 0) break;
  }
  const auto found = names_.variables.find(name);
  return found == names_.variables.end() ? std::nullopt : std::optional(found->second);
}

Slot FunctionDecoder::constant(uint64_t bits, uint8_t width) {
  if (width == kPredicate) bits = bits != 0 ? kAll : 0;
  const auto known = constants_.find({bits, width});
  if (known != constants_.end()) return known->second;
  const size_t at = (into_.constants.size() + 63) / 64 * 64;
  const size_t bytes = width == kPredicate ? 4 : width;
  if (at + bytes * kLanes > ptx::most::kConstants) fail("`" + source_.name + "` has too many numbers");
  into_.constants.resize(at + bytes * kLanes);
  for (size_t lane = 0; lane < kLanes; ++lane)
    std::memcpy(into_.constants.data() + at + lane * bytes, &bits, bytes);
  const auto slot = static_cast<Slot>(kConstant + static_cast<int64_t>(at));
  constants_[{bits, width}] = slot;
  return slot;
}

const ptx::Operand& FunctionDecoder::operand(size_t which) const {
  if (which >= now_->operands.size()) fail("an operand is missing");
  return now_->operands[which];
}

Slot FunctionDecoder::address_of(const Storage& storage) {
  if (storage.space != ptx::Space::Local) return constant(storage.at, 8);
  const Register made = new_register(8);
  Instruction i;
  i.run = handlers::local_address;
  i.d = made.slot;
  i.offset = static_cast<int64_t>(storage.at);
  add(i);
  return made.slot;
}

Slot FunctionDecoder::value(const ptx::Operand& operand, uint8_t width) {
  using Kind = ptx::Operand;
  if (operand.is_negated) fail("a negated operand");
  if (operand.kind == Kind::Integer) return constant(operand.integer, width);
  if (operand.kind == Kind::Float) {
    uint64_t bits = operand.integer;
    if (operand.bits == 64 && width == 4)
      bits = std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
    if (operand.bits == 32 && width != 4) fail("a float of 32 bits");
    return constant(bits, width);
  }
  if (operand.kind != Kind::Name) fail("an operand of this form");
  if (const Register* const found = operand.integer == 0 ? find_register(operand.name) : nullptr) {
    if (found->width != width)
      fail("`" + std::string(operand.name) + "` has " + std::to_string(found->width * 8) + " bits, not " +
           std::to_string(width * 8) + ",");
    return found->slot;
  }
  if (operand.name == "WARP_SZ") return constant(kLanes, width);
  if (std::optional<Storage> storage = find_variable(operand.name)) {
    if (width != 8 && !(width == 4 && storage->space == ptx::Space::Shared)) fail("an address of 64 bits");
    storage->at += operand.integer;
    if (width == 4) return constant(storage->at, 4);
    return address_of(*storage);
  }
  const auto function = names_.functions.find(operand.name);
  if (function != names_.functions.end() && width == 8)
    return constant(kFunctionWindow + function->second, 8);
  fail("`" + std::string(operand.name) + "` is not declared,");
}

Slot FunctionDecoder::result(const ptx::Operand& operand, uint8_t width) {
  if (operand.kind == ptx::Operand::Sink) return new_register(width).slot;
  const Register* const found = operand.kind == ptx::Operand::Name ? find_register(operand.name) : nullptr;
  if (found == nullptr || operand.is_negated) fail("a result that is no register");
  if (found->width != width)
    fail("`" + std::string(operand.name) + "` has " + std::to_string(found->width * 8) + " bits, not " +
         std::to_string(width * 8) + ",");
  return found->slot;
}

uint8_t FunctionDecoder::width_of_operand(const ptx::Operand& operand, uint8_t otherwise) {
  if (operand.kind != ptx::Operand::Name) return otherwise;
  const Register* const found = find_register(operand.name);
  return found == nullptr ? otherwise : found->width;
}

Slot FunctionDecoder::negatable(const ptx::Operand& operand, Instruction& i, uint16_t flag) {
  if (!operand.is_negated) return value(operand, kPredicate);
  i.flags |= flag;
  ptx::Operand plain = operand;
  plain.is_negated = false;
  return value(plain, kPredicate);
}

ptx::Type FunctionDecoder::first_type(size_t from) const {
  for (size_t k = from; k < now_->parts.size(); ++k)
    if (const ptx::Type type = ptx::type_named(now_->parts[k])) return type;
  return {};
}

ptx::Type FunctionDecoder::last_type() const {
  for (size_t k = now_->parts.size(); k-- > 1;)
    if (const ptx::Type type = ptx::type_named(now_->parts[k])) return type;
  return {};
}

ptx::Space FunctionDecoder::space() const {
  for (const std::string_view part : now_->parts) {
    if (part == "global") return ptx::Space::Global;
    if (part == "shared" || part == "shared::cta") return ptx::Space::Shared;
    if (part == "local") return ptx::Space::Local;
    if (part == "param" || part == "param::entry" || part == "param::func") return ptx::Space::Param;
    if (part == "const") return ptx::Space::Const;
    if (part == "shared::cluster") fail("a cluster's shared memory");
  }
  return ptx::Space::Generic;
}

uint32_t FunctionDecoder::vector_lanes() const {
  if (now_->has("v2")) return 2;
  if (now_->has("v4")) return 4;
  return now_->has("v8") ? 8 : 1;
}

Instruction FunctionDecoder::begin(Handler handler) {
  Instruction i;
  i.run = handler;
  return i;
}

void FunctionDecoder::add(const Instruction& instruction, Flow::Kind kind) {
  into_.code.push_back(instruction);
  Instruction& i = into_.code.back();
  if (!now_->guard.empty()) {
    const Register* const guard = find_register(now_->guard);
    if (guard == nullptr || guard->width != kPredicate)
      fail("`" + std::string(now_->guard) + "` is no predicate,");
    i.guard = guard->slot;
    i.is_guard_negated = now_->is_guard_negated;
  }
  into_.locations.push_back(now_->location);
  into_.texts.emplace_back(now_->opcode);
  flow_.push_back({kind});
}

void FunctionDecoder::decode(const ptx::Statement& statement) {
  now_ = &statement;
  if (decode_memory() || decode_async() || decode_matrix() || decode_stack() || decode_warp() ||
      decode_control() || decode_moves())
    return;
  if (!decode_computing()) unknown();
}

bool FunctionDecoder::decode_computing() {
  const Op op{*now_, now_->parts[0], first_type(), last_type()};
  Plan plan;
  if (op.name == "cvt") {
    const auto natural = [](ptx::Type type) { return static_cast<uint8_t>(std::max(type.bytes(), 2u)); };
    plan = plan_convert_packed(op);
    if (!plan && !op.has("tf32"))
      plan = plan_convert(op, width_of_operand(operand(0), natural(op.type)),
                          width_of_operand(operand(1), natural(op.last)));
  } else {
    for (const auto family : {plan_packed, plan_compare, plan_float, plan_integer, plan_bits})
      if (!plan) plan = family(op);
  }
  if (!plan) return false;

  Instruction i = begin(plan.run);
  i.flags = plan.flags;
  std::vector<const ptx::Operand*> given;
  const bool has_pair = operand(0).kind == ptx::Operand::Pair;
  given.push_back(has_pair ? &operand(0).list[0] : &operand(0));
  for (size_t k = 1; k < operands(); ++k) given.push_back(&operand(k));
  const bool carries = plan.widths.back() == kPredicate && op.type.kind != 'p' &&
                       (op.has("cc") || op.name == "addc" || op.name == "subc" || op.name == "madc");
  if (given.size() + (carries ? 1 : 0) != plan.widths.size()) fail("the number of operands");
  Slot* const slots[] = {&i.d, &i.a, &i.b, &i.c, &i.e};
  *slots[0] = result(*given[0], plan.widths[0]);
  if (has_pair) i.e = result(operand(0).list[1], kPredicate);
  for (size_t k = 1; k < given.size(); ++k)
    *slots[k] = k == 3 && plan.widths[k] == kPredicate ? negatable(*given[k], i, flag::kNotC)
                                                       : value(*given[k], plan.widths[k]);
  if (carries) {
    if (!carry_) carry_ = new_register(kPredicate);
    *slots[given.size()] = carry_->slot;
  }
  if (op.name == "cvt" && plan.widths.size() == 2) {
    i.lanes = plan.widths[1];
    i.offset = plan.widths[0];
  }
  if (given[0]->kind == ptx::Operand::Sink && !has_pair) fail("a result");
  add(i);
  return true;
}

}  // namespace softgpu
