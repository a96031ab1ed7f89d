#include <fstream>
#include <string>

#include "base/error.h"
#include "base/strided.h"
#include "ingot/call.h"
#include "runtime/context.h"
#include "runtime/object.h"

namespace ingot {

static_assert(static_cast<int>(ElementType::Complex128) == static_cast<int>(base::DType::Complex128));
static_assert(static_cast<int>(ElementType::Float16) == static_cast<int>(base::DType::Float16));

struct Function::State {
  std::string bytes;
  runtime::Object object;
  runtime::EntryInfo interface;
  runtime::Entry entry;
};

namespace {

using runtime::SlotInfo;
using Kind = SlotInfo::Kind;

base::DType dtype_of(ElementType type) { return static_cast<base::DType>(type); }
ElementType type_of(base::DType dtype) { return static_cast<ElementType>(dtype); }

/// The memory that one slot points to.
struct Slot {
  Scalar scalar;
  std::vector<int64_t> view;  ///< a ViewSlot, lengths, strides
  runtime::Buffer buffer{};

  runtime::ViewSlot& header() { return *reinterpret_cast<runtime::ViewSlot*>(view.data()); }
  void* address() { return view.empty() ? static_cast<void*>(scalar.bytes.data()) : view.data(); }
  void make_view(size_t rank) { view.resize(sizeof(runtime::ViewSlot) / sizeof(int64_t) + 2 * rank); }
};

[[noreturn]] void refuse(size_t i, const std::string& why) {
  throw std::invalid_argument("argument " + std::to_string(i + 1) + ": " + why);
}

/// The bytes between the lowest and the highest that a view reaches.
runtime::Buffer range_of(const View& view) {
  const auto itemsize = static_cast<int64_t>(base::size_of(dtype_of(view.type)));
  const base::Reach reach = base::Strided{view.lengths, view.strides, itemsize}.reach();
  return {static_cast<std::byte*>(view.data) + reach.low, reach.size(), nullptr, nullptr, nullptr};
}

void fill(Slot& slot, size_t i, const SlotInfo& wanted, const Argument& argument) {
  if (const auto* scalar = std::get_if<Scalar>(&argument)) {
    if (wanted.kind != Kind::Scalar || dtype_of(scalar->type) != wanted.dtype) refuse(i, "wrong type");
    slot.scalar = *scalar;
    return;
  }
  const View& view = std::get<View>(argument);
  if (wanted.kind != Kind::View || dtype_of(view.type) != wanted.dtype) refuse(i, "wrong type");
  const size_t rank = view.lengths.size();
  if (rank != wanted.rank || view.strides.size() != rank) refuse(i, "wrong rank");
  slot.make_view(rank);
  slot.buffer = range_of(view);
  slot.header() = {static_cast<std::byte*>(view.data), &slot.buffer};
  std::copy(view.lengths.begin(), view.lengths.end(), slot.header().lengths());
  std::copy(view.strides.begin(), view.strides.end(), slot.header().strides(static_cast<int>(rank)));
}

Array take_array(Slot& slot, const SlotInfo& info, runtime::Call& call,
                 std::vector<std::pair<runtime::Buffer*, std::shared_ptr<void>>>& taken) {
  Array array;
  runtime::ViewSlot& header = slot.header();
  array.view.type = type_of(info.dtype);
  array.view.data = header.data;
  array.view.lengths.assign(header.lengths(), header.lengths() + info.rank);
  array.view.strides.assign(header.strides(info.rank), header.strides(info.rank) + info.rank);
  for (const auto& [buffer, owner] : taken)
    if (buffer == header.buffer) array.owner = owner;
  if (array.owner == nullptr) {
    runtime::OwnedBuffer buffer = call.take(header.buffer);
    if (buffer != nullptr) {
      array.owner = std::shared_ptr<runtime::Buffer>(std::move(buffer));
      taken.emplace_back(header.buffer, array.owner);
    }
  }
  return array;
}

[[noreturn]] void raise(const runtime::Object& object, const runtime::Error& error) {
  const std::vector<base::Site> sites = runtime::sites_of(object.info(), error);
  const base::SourceLocation location = sites.empty() ? base::SourceLocation{} : sites.front().location;
  throw Raised(std::string(base::name_of(runtime::exception_of(error.status))),
               runtime::format_error(object.info(), error), location.file, location.line);
}

}  // namespace

Function Function::from_bytes(std::string bytes, std::string_view name) {
  runtime::Object object = runtime::Object::open(std::as_bytes(std::span(bytes)));
  const std::string symbol = std::string(runtime::kEntryPrefix) + std::string(name);
  for (const runtime::EntryInfo& entry : object.info().entries) {
    if (entry.symbol != symbol) continue;
    const runtime::Entry address = object.entry(symbol);
    runtime::EntryInfo interface = entry;
    return Function(std::make_shared<const State>(
        State{std::move(bytes), std::move(object), std::move(interface), address}));
  }
  throw std::runtime_error("the object has no function " + std::string(name));
}

Function Function::open(const std::string& path, std::string_view name) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) throw std::runtime_error("cannot read " + path);
  return from_bytes(std::move(bytes), name);
}

void Function::save(const std::string& path) const {
  std::ofstream file(path, std::ios::binary);
  file.write(state_->bytes.data(), static_cast<std::streamsize>(state_->bytes.size()));
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
}

std::vector<Result> Function::operator()(std::span<const Argument> arguments) const {
  const auto& [params, results] = std::tie(state_->interface.params, state_->interface.results);
  if (arguments.size() != params.size())
    throw std::invalid_argument("wants " + std::to_string(params.size()) + " arguments");
  std::vector<Slot> slots(params.size() + results.size());
  std::vector<void*> addresses;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (i < params.size()) fill(slots[i], i, params[i], arguments[i]);
    else if (const SlotInfo& info = results[i - params.size()]; info.kind == Kind::View)
      slots[i].make_view(info.rank);
    addresses.push_back(slots[i].address());
  }
  runtime::Context context = runtime::make_context();
  runtime::Call call(context);
  if (call.run(state_->entry, addresses.data()) != 0) raise(state_->object, context.error);
  std::vector<Result> given;
  std::vector<std::pair<runtime::Buffer*, std::shared_ptr<void>>> taken;
  for (size_t i = 0; i < results.size(); ++i) {
    Slot& slot = slots[params.size() + i];
    if (results[i].kind == Kind::View) {
      given.emplace_back(take_array(slot, results[i], call, taken));
    } else if (results[i].kind == Kind::Scalar) {
      slot.scalar.type = type_of(results[i].dtype);
      given.emplace_back(slot.scalar);
    } else {
      throw std::invalid_argument("a function that gives a buffer cannot be called from here");
    }
  }
  return given;
}

}  // namespace ingot
