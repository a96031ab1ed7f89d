#include "tools/replay.h"

#include <algorithm>
#include <memory>
#include <span>
#include <tuple>

#include "devices/device.h"
#include "ir/interpreter.h"
#include "ir/walk.h"
#include "runtime/context.h"
#include "runtime/object_info.h"
#include "tools/outside.h"

namespace ingot::tools {

namespace {

/// What memory of the host, or of a device, holds.
Bytes bytes_of(devices::Device* device, const std::byte* data, int64_t size) {
  if (device == nullptr) return {data, data + size};
  Bytes bytes(static_cast<size_t>(size));
  if (size > 0) device->read(bytes.data(), reinterpret_cast<devices::Address>(data), size);
  return bytes;
}

/// Memory aligned as a replay file gives it, of the host or of a device.
class AlignedBytes {
 public:
  AlignedBytes(const Memory& memory, devices::Device* device)
      : device_(device), size_(memory.bytes.size()), block_(size_ + 2 * Memory::kAlignment) {
    if (device_ != nullptr) {
      address_ = device_->allocate(static_cast<int64_t>(size_ + memory.misalignment));
      data_ = reinterpret_cast<std::byte*>(address_) + memory.misalignment;
      if (size_ > 0)
        device_->write(address_ + memory.misalignment, memory.bytes.data(), static_cast<int64_t>(size_));
      return;
    }
    void* at = block_.data();
    size_t space = block_.size();
    data_ = static_cast<std::byte*>(std::align(Memory::kAlignment, size_ + Memory::kAlignment, at, space)) +
            memory.misalignment;
    std::ranges::copy(memory.bytes, data_);
  }

  AlignedBytes(const AlignedBytes&) = delete;
  AlignedBytes& operator=(const AlignedBytes&) = delete;
  ~AlignedBytes() {
    if (device_ != nullptr) device_->free(address_);
  }

  std::byte* data() const { return data_; }
  Bytes contents() const { return bytes_of(device_, data_, static_cast<int64_t>(size_)); }

 private:
  devices::Device* device_;
  devices::Address address_ = 0;
  size_t size_;
  Bytes block_;
  std::byte* data_;
};

/// The arguments' memories during a call, and those of its results.
class CallMemory {
 public:
  explicit CallMemory(const ReplayFile& replay, devices::Device* device = nullptr)
      : replay_(replay), device_(device) {
    for (const auto& [number, memory] : replay.memories) live_.try_emplace(number, memory, device);
    next_ = replay.memories.empty() ? 0 : replay.memories.rbegin()->first + 1;
  }

  std::byte* first_element(const Slot& slot) const { return live_.at(slot.memory).data() + slot.offset; }

  /// Finds where a result is: in an argument's memory, or in that of `owner`, which is new.
  void locate(Slot& result, const std::byte* first, const Slot& argument) const {
    result.memory = argument.memory;
    result.offset = first - live_.at(argument.memory).data();
  }
  void locate(Slot& result, const std::byte* first, const void* owner, const std::byte* data, int64_t size,
              Outcome& outcome) {
    const auto [known, is_new] = fresh_.try_emplace(owner, next_);
    if (is_new) outcome.fresh[next_++] = {bytes_of(device_, data, size), 0};
    result.memory = known->second;
    result.offset = first - data;
  }

  void note_changes(Outcome& outcome) const {
    for (const auto& [number, memory] : replay_.memories) {
      Bytes now = live_.at(number).contents();
      if (now != memory.bytes) outcome.after.emplace(number, std::move(now));
    }
  }

 private:
  const ReplayFile& replay_;
  devices::Device* device_;
  std::map<uint64_t, AlignedBytes> live_;
  std::map<const void*, uint64_t> fresh_;
  uint64_t next_ = 0;
};

Slot result_of(ir::Type type) {
  Slot slot;
  slot.dtype = type.dtype();
  slot.is_view = type.is_view();
  return slot;
}

ir::Value argument_value(const Slot& slot, const CallMemory& memory) {
  if (!slot.is_view) return slot.number;
  ir::ViewValue view;
  view.dtype = slot.dtype;
  view.block = std::make_shared<ir::MemoryBlock>();
  view.block->data = memory.first_element(slot) + slot.reach.low;
  view.block->size = slot.reach.size();
  view.offset = -slot.reach.low;
  view.lengths = slot.lengths;
  view.strides = slot.strides;
  return view;
}

Outcome interpret_with(const ir::Module& module, ir::FunctionId function, const ReplayFile& replay,
                       const ir::Externals& externals) {
  CallMemory memory(replay);
  std::vector<ir::Value> arguments;
  arguments.reserve(replay.arguments.size());
  for (const Slot& slot : replay.arguments) arguments.push_back(argument_value(slot, memory));
  const ir::Outcome ended = ir::interpret(module, function, arguments, {.externals = &externals});
  Outcome outcome;
  if (ended.raised) {
    outcome.raised =
        Exception{ended.exception.kind, ended.exception.message, module.location(ended.exception.span)};
  }
  for (size_t i = 0; i < ended.results.size(); ++i) {
    Slot& result = outcome.results.emplace_back(result_of(module.signature(function).results[i]));
    if (!result.is_view) {
      result.number = std::get<base::Scalar>(ended.results[i]);
      continue;
    }
    const auto& view = std::get<ir::ViewValue>(ended.results[i]);
    result.lengths = view.lengths;
    result.strides = view.strides;
    const std::byte* first = view.block->data + view.offset;
    const auto argument = std::ranges::find_if(arguments, [&](const ir::Value& value) {
      const auto* given = std::get_if<ir::ViewValue>(&value);
      return given != nullptr && given->block == view.block;
    });
    if (argument != arguments.end()) {
      memory.locate(result, first, replay.arguments[static_cast<size_t>(argument - arguments.begin())]);
    } else {
      memory.locate(result, first, view.block.get(), view.block->data, view.block->size, outcome);
    }
  }
  memory.note_changes(outcome);
  return outcome;
}

/// What an entry's slot points to.
struct EntrySlot {
  alignas(16) std::byte number[16] = {};
  std::vector<int64_t> view;  ///< a ViewSlot, lengths, strides
  runtime::Buffer buffer{};

  runtime::ViewSlot& header() { return *reinterpret_cast<runtime::ViewSlot*>(view.data()); }
  void* prepare(const runtime::SlotInfo& info) {
    if (info.kind != runtime::SlotInfo::Kind::View) return number;
    view.resize(sizeof(runtime::ViewSlot) / sizeof(int64_t) + 2 * size_t{info.rank});
    return view.data();
  }
  void fill(const Slot& slot, const CallMemory& memory) {
    if (!slot.is_view) return slot.number.store(slot.dtype, number);
    std::byte* const first = memory.first_element(slot);
    buffer = {first + slot.reach.low, slot.reach.size(), nullptr, nullptr, nullptr};
    header() = {first, &buffer};
    std::ranges::copy(slot.lengths, header().lengths());
    std::ranges::copy(slot.strides, header().strides(static_cast<int>(slot.lengths.size())));
  }
};

Exception exception_of(const runtime::ObjectInfo& info, const runtime::Error& error, const Player& player) {
  const base::ExceptionKind kind = runtime::exception_of(error.status);
  if (error.site == runtime::Error::kNoSite) {
    const std::string& message = player.last_message();
    return {kind, message.empty() ? runtime::format_error(info, error) : message, {}};
  }
  const std::vector<base::Site> sites = runtime::sites_of(info, error);
  return {kind, runtime::format_error(info, error),
          sites.empty() ? base::SourceLocation{} : sites.front().location};
}

base::ByteRange range_of(const Slot& view) { return view.reach.at(static_cast<uintptr_t>(view.offset)); }

bool overlap(const Slot& a, const Slot& b) {
  return a.is_view && b.is_view && a.memory == b.memory && range_of(a).overlaps(range_of(b));
}

/// Throws ReplayFault for arguments that overlap although the function takes them to be disjoint.
void check_alias_sets(const ir::Function& function, const ReplayFile& replay) {
  const auto parameters = function.parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (parameters[i].alias_set == parameters[j].alias_set ||
          !overlap(replay.arguments[i], replay.arguments[j]))
        continue;
      throw ReplayFault{"arguments " + std::to_string(j + 1) + " and " + std::to_string(i + 1) +
                        " overlap, but are of different alias sets"};
    }
  }
}

/// Throws ReplayFault for arguments that are not as the function takes them to be.
void check_shapes(const ir::Function& function, const ReplayFile& replay) {
  for (size_t i = 0; i < replay.arguments.size(); ++i) {
    const ir::ParameterInfo& known = function.parameters()[i];
    const Slot& slot = replay.arguments[i];
    const size_t rank = slot.lengths.size();
    const base::Strided strided{slot.lengths, slot.strides, static_cast<int64_t>(base::size_of(slot.dtype))};
    bool fits = known.layout == ir::Layout::Any || strided.is_empty() ||
                (known.layout == ir::Layout::C ? strided.has_c_strides() : strided.has_f_strides());
    for (size_t axis = 0; axis < rank && known.ones; ++axis)
      fits = fits && (slot.lengths[axis] == 1) == ((*known.ones >> axis & 1) != 0);
    fits = fits && (known.last == 0 || slot.lengths[rank - 1] == known.last);
    if (!fits)
      throw ReplayFault{"argument " + std::to_string(i + 1) + " has other lengths or strides than are known"};
  }
}

/// Ends a call: if what was made outside is not what the replay file has, that is the fault.
Outcome checked(Outcome outcome, const Player& player) {
  if (std::string fault = player.fault(); !fault.empty()) throw ReplayFault{std::move(fault)};
  return outcome;
}

/// Throws ReplayFault for what draws: a stream of NumPy's is memory with the addresses of functions in it.
void refuse_draws(const ir::Module& module) {
  for (uint32_t i = 0; i < module.function_count(); ++i) {
    const ir::Function* const function = module.function(ir::FunctionId(i));
    if (function == nullptr) continue;
    const auto draws = [&](ir::NodeId node) { return function->op(node) == ir::Op::draw; };
    if (ir::any_within(*function, function->body(), draws))
      throw ReplayFault{"@" + function->name() +
                        " draws from a stream of NumPy's, which no replay file holds"};
  }
}

}  // namespace

ir::FunctionId find_function(const ir::Module& module, const std::string& name) {
  if (module.function_count() == 0) throw ReplayFault{"the text has no function"};
  const auto found = name.empty() ? std::optional(ir::FunctionId(0)) : module.find(name);
  if (!found) throw ReplayFault{"the text has no function @" + name};
  if (module.function(*found) == nullptr)
    throw ReplayFault{"the function @" + module.signature(*found).name + " has no body"};
  return *found;
}

void check_call(const ir::Module& module, ir::FunctionId function, const ReplayFile& replay) {
  refuse_draws(module);
  const auto& [name, parameters, results] = module.signature(function);
  if (parameters.size() != replay.arguments.size()) {
    throw ReplayFault{"@" + name + " takes " + std::to_string(parameters.size()) +
                      " arguments, the replay file has " + std::to_string(replay.arguments.size())};
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Slot& slot = replay.arguments[i];
    const ir::Type type = parameters[i];
    const bool fits = slot.is_view ? type.is_view() && static_cast<size_t>(type.rank()) == slot.lengths.size()
                                   : type.is_scalar() && !slot.unspecified;
    if (!fits || type.dtype() != slot.dtype) {
      throw base::UserError(slot.location,
                            "the function's parameter is of type " + module.types.to_string(type));
    }
  }
  check_alias_sets(*module.function(function), replay);
  check_shapes(*module.function(function), replay);
  for (const ir::Type type : results) {
    if (!type.is_scalar() && !type.is_view())
      throw ReplayFault{"@" + name + " gives a " + module.types.to_string(type) +
                        ", which no replay file holds"};
  }
}

Outcome interpret_call(const ir::Module& module, ir::FunctionId function, const ReplayFile& replay) {
  Player player(replay.calls);
  const ir::Externals externals = player.externals();
  return checked(interpret_with(module, function, replay, externals), player);
}

Outcome run_call(const driver::CompiledFunction& function, const ReplayFile& replay,
                 devices::Device* device) {
  const auto& [params, results] = std::tie(function.interface.params, function.interface.results);
  CallMemory memory(replay, device);
  std::vector<EntrySlot> slots(params.size() + results.size());
  std::vector<void*> addresses;
  for (size_t i = 0; i < slots.size(); ++i) {
    addresses.push_back(slots[i].prepare(i < params.size() ? params[i] : results[i - params.size()]));
    if (i < params.size()) slots[i].fill(replay.arguments[i], memory);
  }
  Player player(replay.calls);
  const runtime::Hooks hooks{.long_call = nullptr, .outside = &Player::call_outside};
  runtime::Context context = runtime::make_context(nullptr, &hooks, &player);
  context.device = device;
  runtime::Call call(context);
  Outcome outcome;
  if (call.run(function.entry, addresses.data()) != 0) {
    outcome.raised = exception_of(function.object->info(), context.error, player);
    memory.note_changes(outcome);
    return checked(std::move(outcome), player);
  }
  const auto given = std::span(slots).first(params.size());
  for (size_t i = 0; i < results.size(); ++i) {
    EntrySlot& slot = slots[params.size() + i];
    Slot& result = outcome.results.emplace_back();
    result.dtype = results[i].dtype;
    result.is_view = results[i].kind == runtime::SlotInfo::Kind::View;
    if (!result.is_view) {
      result.number = base::Scalar::load(result.dtype, slot.number);
      continue;
    }
    runtime::ViewSlot& view = slot.header();
    const int rank = results[i].rank;
    result.lengths.assign(view.lengths(), view.lengths() + rank);
    result.strides.assign(view.strides(rank), view.strides(rank) + rank);
    const auto argument = std::ranges::find_if(
        given, [&](const EntrySlot& argument_slot) { return &argument_slot.buffer == view.buffer; });
    if (argument != given.end()) {
      memory.locate(result, view.data, replay.arguments[static_cast<size_t>(argument - given.begin())]);
    } else {
      memory.locate(result, view.data, view.buffer, view.buffer->data, view.buffer->size, outcome);
    }
  }
  memory.note_changes(outcome);
  return checked(std::move(outcome), player);
}

}  // namespace ingot::tools
