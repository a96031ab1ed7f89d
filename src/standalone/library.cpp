#include "standalone/library.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cpu.h"
#include "base/dtype.h"
#include "runtime/allocator.h"
#include "runtime/context.h"
#include "runtime/object_info.h"
#include "runtime/pool.h"
#include "standalone/last_error.h"

namespace ingot::standalone {

namespace {

using base::ExceptionKind;
using runtime::Status;
using runtime::ViewSlot;

static_assert(sizeof(runtime::Buffer) + sizeof(ViewSlot) == INGOT_ARRAY_WORDS(0) * sizeof(int64_t));

/// The caller's description of an array has the layout of a view, with an owner instead of the buffer.
struct Owner {
  std::atomic<uint32_t> holders = 1;
  runtime::Buffer* buffer = nullptr;
};

std::string_view level_asked_for() {
  const char* const word = std::getenv("INGOT_CPU_LEVEL");
  return word == nullptr ? "" : word;
}

const ingot_level* find_level(const ingot_library& library) {
  const std::string_view wanted = level_asked_for();
  const ingot_level* found = nullptr;
  for (const ingot_level& level : std::span(library.levels, library.level_count)) {
    if (!wanted.empty() && wanted != std::to_string(level.number)) continue;
    if (base::missing_feature(level.features, base::cpu_features()).empty()) found = &level;
  }
  return found;
}

/// The level whose code runs; null: none.
const ingot_level* level_of(const ingot_library& library) {
  static const ingot_level* const level = find_level(library);
  return level;
}

std::string message_of(const char* name, const std::string& why) {
  return "argument `" + std::string(name) + "` " + why;
}

[[noreturn]] void refuse(const ingot_value& value, const std::string& why) {
  throw Failure{ExceptionKind::ValueError, message_of(value.name, why)};
}

/// Sets the strides that elements without gaps have. False: they have others.
bool settle_order(const ingot_value& value, int64_t* lengths, int64_t* strides, int64_t itemsize) {
  const int rank = value.rank;
  bool is_empty = false;
  for (int axis = 0; axis < rank; ++axis) is_empty = is_empty || lengths[axis] == 0;
  int64_t stride = itemsize;
  for (int i = 0; i < rank; ++i) {
    const int axis = value.order == 'C' ? rank - 1 - i : i;
    if (!is_empty && lengths[axis] != 1 && strides[axis] != stride) return false;
    strides[axis] = stride;
    stride = static_cast<int64_t>(static_cast<uint64_t>(stride) * static_cast<uint64_t>(lengths[axis]));
  }
  return true;
}

/// The bytes of memory that the elements of a view are in; nothing: memory does not reach so far.
std::optional<std::span<std::byte>> extent_of(const ingot_value& value, ViewSlot& view, int64_t itemsize) {
  int64_t below = 0;
  int64_t size = itemsize;
  bool is_too_far = false;
  for (int axis = 0; axis < value.rank; ++axis) {
    const int64_t length = view.lengths()[axis];
    if (length == 0) return std::span(view.data, 0);
    int64_t reach = 0;
    is_too_far |= __builtin_mul_overflow(length - 1, view.strides(value.rank)[axis], &reach);
    if (reach < 0) is_too_far |= __builtin_sub_overflow(below, reach, &below);
    is_too_far |=
        reach < 0 ? __builtin_sub_overflow(size, reach, &size) : __builtin_add_overflow(size, reach, &size);
  }
  uintptr_t first = reinterpret_cast<uintptr_t>(view.data);
  uintptr_t end = 0;
  is_too_far |= __builtin_sub_overflow(first, static_cast<uintptr_t>(below), &first);
  is_too_far |= __builtin_add_overflow(first, static_cast<uintptr_t>(size), &end);
  if (is_too_far) return std::nullopt;
  return std::span(view.data - below, static_cast<size_t>(size));
}

/// Makes the view of an array argument in `work`, with a buffer of the bytes that it reaches.
ViewSlot* take_array(const ingot_value& value, void* given, int64_t* work) {
  if (given == nullptr) refuse(value, "is a null pointer");
  auto* const buffer = reinterpret_cast<runtime::Buffer*>(work);
  auto* const view = reinterpret_cast<ViewSlot*>(buffer + 1);
  auto& array = *static_cast<ViewSlot*>(given);
  int64_t* const lengths = view->lengths();
  int64_t* const strides = view->strides(value.rank);
  const auto itemsize = static_cast<int64_t>(base::size_of(static_cast<base::DType>(value.dtype)));
  bool is_empty = false;
  int64_t bytes = itemsize;
  for (int axis = 0; axis < value.rank; ++axis) {
    lengths[axis] = array.lengths()[axis];
    strides[axis] = array.strides(value.rank)[axis];
    if (lengths[axis] < 0) refuse(value, "has a negative length");
    is_empty = is_empty || lengths[axis] == 0;
    const int64_t factor = lengths[axis] == 0 ? 1 : lengths[axis];
    if (__builtin_mul_overflow(bytes, factor, &bytes)) refuse(value, "has more elements than memory");
  }
  if (array.data == nullptr && !is_empty) refuse(value, "has no elements: its pointer is null");
  if (value.order != 'A' && !settle_order(value, lengths, strides, itemsize))
    refuse(value, std::string("is not in ") + value.order + " order without gaps");
  // An array without elements may have no memory, and a buffer has some.
  view->data = array.data == nullptr ? reinterpret_cast<std::byte*>(work) : array.data;
  const std::optional<std::span<std::byte>> extent = extent_of(value, *view, itemsize);
  if (!extent) refuse(value, "has strides that reach beyond memory");
  *buffer = {extent->data(), static_cast<int64_t>(extent->size()), nullptr, nullptr, nullptr};
  view->buffer = buffer;
  return view;
}

bool overlaps(const runtime::Buffer& a, const runtime::Buffer& b) {
  return a.size > 0 && b.size > 0 && a.data < b.data + b.size && b.data < a.data + a.size;
}

/// Two arguments that share memory, one of which is written to.
struct Shared {
  const ingot_value& first;
  const ingot_value& second;
};

/// Puts views into the slots of array arguments.
std::optional<Shared> take_arguments(const ingot_function& function, void** slots, int64_t* work) {
  std::optional<Shared> shared;
  const std::span values(function.parameters, function.parameter_count);
  for (size_t i = 0; i < values.size(); ++i) {
    const ingot_value& value = values[i];
    if (value.rank < 0) continue;
    const ViewSlot* const view = take_array(value, slots[i], work);
    slots[i] = work + sizeof(runtime::Buffer) / sizeof(int64_t);
    work += INGOT_ARRAY_WORDS(value.rank);
    for (size_t k = 0; k < i; ++k) {
      const bool is_written = value.is_written != 0 || values[k].is_written != 0;
      if (values[k].rank < 0 || !is_written) continue;
      if (overlaps(*view->buffer, *static_cast<ViewSlot*>(slots[k])->buffer))
        shared.emplace(values[k], value);
    }
  }
  return shared;
}

/// The caller's memory for a result.
std::span<const std::byte> memory_of(const ingot_value& value, const void* slot) {
  const size_t number = base::size_of(static_cast<base::DType>(value.dtype));
  const size_t array = sizeof(ViewSlot) + 2 * sizeof(int64_t) * static_cast<size_t>(value.rank);
  return {static_cast<const std::byte*>(slot), value.rank < 0 ? number : array};
}

/// Refuses results that have no memory of their own.
void check_results(const ingot_function& function, void* const* slots) {
  const std::span values(function.results, function.result_count);
  for (size_t i = 0; i < values.size(); ++i) {
    if (slots[i] == nullptr) refuse(values[i], "is a null pointer");
    const std::span<const std::byte> own = memory_of(values[i], slots[i]);
    for (size_t k = 0; k < i; ++k) {
      const std::span<const std::byte> other = memory_of(values[k], slots[k]);
      if (own.data() < other.data() + other.size() && other.data() < own.data() + own.size())
        refuse(values[i], "is the memory of `" + std::string(values[k].name) + "`, too");
    }
  }
}

/// Owners for as many results as may need one, before the call: if memory runs out, nothing has happened yet.
std::vector<std::unique_ptr<Owner>> make_owners(const ingot_function& function) {
  std::vector<std::unique_ptr<Owner>> owners;
  for (const ingot_value& value : std::span(function.results, function.result_count))
    if (value.rank >= 0) owners.push_back(std::make_unique<Owner>());
  return owners;
}

/// Gives the buffers that results view to owners. Several of one buffer share it.
void take_results(const ingot_function& function, void** slots, runtime::Call& call,
                  std::span<std::unique_ptr<Owner>> owners) noexcept {
  const std::span values(function.results, function.result_count);
  size_t taken = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].rank < 0) continue;
    auto& view = *static_cast<ViewSlot*>(slots[i]);
    runtime::Buffer* const buffer = view.buffer;
    view.buffer = nullptr;
    Owner* owner = nullptr;
    if (runtime::OwnedBuffer own = call.take(buffer)) {
      owner = owners[taken++].release();
      owner->buffer = own.release();
    }
    for (size_t k = 0; k < i && owner == nullptr; ++k) {
      if (values[k].rank < 0) continue;
      auto* const other = reinterpret_cast<Owner*>(static_cast<ViewSlot*>(slots[k])->buffer);
      if (other == nullptr || other->buffer != buffer) continue;
      other->holders.fetch_add(1, std::memory_order_relaxed);
      owner = other;
    }
    view.buffer = reinterpret_cast<runtime::Buffer*>(owner);
  }
}

Failure failure_of(const ingot_code& code, const runtime::Error& error) {
  const runtime::ObjectInfo info = runtime::decode(std::as_bytes(std::span(code.info, code.info_size)));
  Failure failure{runtime::exception_of(error.status), runtime::format_error(info, error)};
  const std::vector<base::Site> sites = runtime::sites_of(info, error);
  if (!sites.empty()) {
    failure.file = sites.front().location.file;
    failure.line = static_cast<int32_t>(sites.front().location.line);
    failure.function = sites.front().function;
  }
  return failure;
}

const ingot_version& version_for(const ingot_library& library, const ingot_function& function) {
  if (const ingot_level* const level = level_of(library)) return function.versions[level - library.levels];
  const std::string asked(level_asked_for());
  throw Failure{ExceptionKind::RuntimeError,
                asked.empty() ? std::string(library.name) + " has no code for this CPU"
                              : std::string(library.name) + " has no code of the level INGOT_CPU_LEVEL=" +
                                    asked + " that this CPU can run"};
}

void run(const ingot_library& library, const ingot_function& function, void** slots, int64_t* work) {
  const ingot_version& version = version_for(library, function);
  const std::optional<Shared> shared = take_arguments(function, slots, work);
  const ingot_code& code = shared ? version.together : version.apart;
  if (shared && code.entry == nullptr) {
    refuse(shared->second,
           "shares memory with `" + std::string(shared->first.name) + "`, and one of them is written to");
  }
  void** const results = slots + function.parameter_count;
  check_results(function, results);
  std::vector<std::unique_ptr<Owner>> owners = make_owners(function);
  runtime::Context context = runtime::make_context();
  runtime::Call call(context);
  if (call.run(reinterpret_cast<runtime::Entry>(code.entry), slots) != 0)
    throw failure_of(code, context.error);
  take_results(function, results, call, owners);
}

}  // namespace

}  // namespace ingot::standalone

namespace base = ingot::base;
namespace runtime = ingot::runtime;
namespace standalone = ingot::standalone;

int32_t ingot_standalone_call(const ingot_library* library, const ingot_function* function, void** slots,
                              int64_t* work) {
  try {
    standalone::run(*library, *function, slots, work);
    return 0;
  } catch (standalone::Failure& failure) {
    return standalone::remember(std::move(failure));
  } catch (const std::bad_alloc&) {
    return standalone::remember_no_memory();
  } catch (const std::exception& error) {
    return standalone::remember(base::ExceptionKind::RuntimeError, error.what());
  }
}

int32_t ingot_standalone_null(const char* name) {
  try {
    return standalone::remember(
        {base::ExceptionKind::ValueError, standalone::message_of(name, "is a null pointer")});
  } catch (const std::bad_alloc&) {
    return standalone::remember_no_memory();
  }
}

void ingot_standalone_free(void* owner) {
  auto* const it = static_cast<standalone::Owner*>(owner);
  if (it == nullptr || it->holders.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  runtime::Allocator::free(it->buffer);
  delete it;
}

int32_t ingot_standalone_level(const ingot_library* library) {
  const ingot_level* const level = standalone::level_of(*library);
  return level == nullptr ? 0 : level->number;
}

int32_t ingot_standalone_threads() { return runtime::Pool::threads(); }
void ingot_standalone_set_threads(int32_t count) { runtime::Pool::set_threads(count); }
void ingot_standalone_trim() { runtime::Allocator::trim(0); }
