#include "runtime/device_calls.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/dtype.h"
#include "base/error.h"
#include "base/random.h"
#include "base/strided.h"
#include "devices/device.h"
#include "devices/libraries.h"
#include "devices/observer.h"
#include "devices/recording.h"
#include "runtime/buffer_list.h"
#include "runtime/context.h"
#include "runtime/device_error.h"
#include "runtime/kernel_report.h"
#include "runtime/sorts.h"
#include "runtime/symbols.h"

namespace ingot::runtime {

namespace {

using devices::Address;
using devices::Device;
using devices::GraphMemory;
using devices::Recording;

Device& device_of(const Context* context) { return *static_cast<Device*>(context->device); }
Address address_of(const void* pointer) { return reinterpret_cast<Address>(pointer); }

Status fail(Context& context, const char* message) {
  set_last_device_error(message);
  context.error = Error{status_of(base::ExceptionKind::RuntimeError), Error::kNoSite, {}, 0, {}};
  return context.error.status;
}

Status fail_without_memory(Context& context, int64_t bytes) {
  context.error = Error{status_of(base::ExceptionKind::MemoryError), Error::kNoSite, {}, 0, {}};
  context.error.arguments[0] = static_cast<uint64_t>(bytes);
  return context.error.status;
}

void let_go(Context& context) {
  if (context.hooks->let_go != nullptr) context.hooks->let_go(&context);
}

/// Runs a function that calls a device; its exceptions become the context's error.
template <class Fn>
Status guarded(Context& context, Fn&& fn) noexcept {
  try {
    return fn();
  } catch (const devices::NotRecordable& error) {
    (void)fail(context, (std::string(error.what()) + "\n" + error.advice()).c_str());
    context.error.arguments[Error::kIsRefusal] = 1;
    return context.error.status;
  } catch (const devices::OutOfMemory& error) {
    return fail_without_memory(context, error.bytes());
  } catch (const std::bad_alloc&) {
    return fail_without_memory(context, 0);
  } catch (const std::exception& error) {
    return fail(context, error.what());
  }
}

struct DeviceBuffer {
  Buffer buffer;
  Device* device;
  std::shared_ptr<GraphMemory> memory;  ///< of a graph's; null: it is the buffer's own
};
static_assert(offsetof(DeviceBuffer, buffer) == 0);

void release_on_device(Buffer* buffer) {
  auto* const own = reinterpret_cast<DeviceBuffer*>(buffer);
  if (own->memory == nullptr) own->device->free(address_of(buffer->data));
  delete own;
}

/// The code that is loaded on devices, by the addresses of texts and names in objects. Part of the closed
/// list of process-wide state.
class Kernels {
 public:
  const devices::Kernel& find(Context& context, const KernelCall& call) {
    Device& device = device_of(&context);
    const std::scoped_lock lock(mutex_);
    const devices::Kernel*& known = kernels_[{&device, call.name}];
    if (known == nullptr) {
      let_go(context);
      const KernelCode& own = *call.code;
      std::unique_ptr<devices::Code>& code = codes_[{&device, own.data()}];
      const std::string_view bytes(own.data(), static_cast<size_t>(own.bytes));
      if (!code)
        code =
            own.is_assembled != 0 ? device.load_assembled(bytes) : device.load(bytes, options_of(own.data()));
      known = &code->kernel(call.name);
    }
    return *known;
  }
  void load_with(std::span<const std::byte> texts, std::shared_ptr<const devices::LoadOptions> options) {
    const std::scoped_lock lock(mutex_);
    options_[texts.data()] = {texts.data() + texts.size(), std::move(options)};
  }
  void forget(const std::byte* begin, const std::byte* end) noexcept {
    const std::scoped_lock lock(mutex_);
    options_.erase(begin);
    const auto is_inside = [&](const auto& entry) {
      const auto* const at = reinterpret_cast<const std::byte*>(entry.first.second);
      return std::less_equal<>()(begin, at) && std::less<>()(at, end);
    };
    std::erase_if(kernels_, is_inside);
    std::erase_if(codes_, is_inside);
  }

 private:
  using Key = std::pair<Device*, const char*>;
  struct Hash {
    size_t operator()(const Key& key) const {
      return std::hash<const void*>()(key.first) * 31 + std::hash<const void*>()(key.second);
    }
  };

  struct Options {
    const std::byte* end;  ///< of the memory that the texts are in
    std::shared_ptr<const devices::LoadOptions> options;
  };
  devices::LoadOptions options_of(const char* text) const {
    const auto* const at = reinterpret_cast<const std::byte*>(text);
    const auto behind = options_.upper_bound(at);
    if (behind == options_.begin()) return {};
    const Options& before = std::prev(behind)->second;
    return std::less<>()(at, before.end) ? *before.options : devices::LoadOptions{};
  }

  std::mutex mutex_;
  std::map<const std::byte*, Options, std::less<>> options_;  ///< by where that memory begins
  std::unordered_map<Key, const devices::Kernel*, Hash> kernels_;
  std::map<Key, std::unique_ptr<devices::Code>> codes_;
};

/// Never destroyed: drivers may be unloaded before.
Kernels& kernels() {
  static Kernels& all = *new Kernels;
  return all;
}

/// Captures a launch instead of doing it.
void record_launch(Recording& recording, Device& device, devices::Step step, const KernelCall& call) {
  Address address = 0;
  std::shared_ptr<GraphMemory> report;
  if (call.may_raise != 0) {
    report = recording.allocate_separate(sizeof kNoKernelError);
    address = report->address();
    const Recording::Suspended suspended;
    device.write(address, &kNoKernelError, sizeof kNoKernelError);
    call.arguments[0] = &address;
  }
  for (int64_t i = 0; i < call.count; ++i) {
    const auto kind = static_cast<uint8_t>(call.kinds[i]);
    devices::Argument argument;
    argument.is_address = (kind & KernelCall::kAddress) != 0;
    const size_t bytes = kind & (KernelCall::kAddress - 1U);
    if (bytes > argument.value.size()) throw devices::DeviceError("an argument that is no number");
    std::memcpy(argument.value.data(), call.arguments[i], bytes);
    step.arguments.push_back(argument);
  }
  recording.add(device, std::move(step));
  if (report != nullptr) recording.wait(std::move(report));
}

uint32_t extent_of(int64_t length, int64_t most) {
  if (length > most) throw devices::DeviceError("a launch of more blocks than there may be");
  return static_cast<uint32_t>(length);
}

/// Views of device memory which, during its lifetime, are views of copies on the host.
class Staged {
 public:
  explicit Staged(Device& device) : device_(device) {}
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;
  ~Staged() {
    for (const Given& given : views_) given.view->data = given.data, given.view->buffer = given.buffer;
  }

  void add(ViewSlot& view, int rank, int64_t element) {
    const auto axes = static_cast<size_t>(rank);
    const base::Strided strided{{view.lengths(), axes}, {view.strides(rank), axes}, element};
    views_.push_back({&view, view.data, view.buffer});
    ranges_.push_back(strided.reach().at(view.data));
  }

  /// Views whose reaches overlap get one copy.
  void read() {
    for (const base::Overlaps& group : base::Overlaps::among(ranges_)) {
      Copy& copy = *copies_.emplace_back(std::make_unique<Copy>());
      copy.from = group.low;
      copy.now.resize(static_cast<size_t>(group.size()));
      if (!copy.now.empty()) device_.read(copy.now.data(), copy.from, group.size());
      copy.before = copy.now;
      copy.buffer.data = copy.now.data();
      copy.buffer.size = group.size();
      for (const size_t i : group.members) {
        views_[i].view->data = copy.now.data() + (address_of(views_[i].data) - copy.from);
        views_[i].view->buffer = &copy.buffer;
      }
    }
  }

  void write_back() {
    for (const auto& copy : copies_)
      if (copy->now != copy->before) device_.write(copy->from, copy->now.data(), copy->buffer.size);
  }

 private:
  struct Given {
    ViewSlot* view;
    std::byte* data;  ///< of the view, on the device
    Buffer* buffer;
  };
  struct Copy {
    Address from = 0;
    std::vector<std::byte> now{};
    std::vector<std::byte> before{};
    Buffer buffer{};
  };

  Device& device_;
  std::vector<Given> views_;
  std::vector<base::ByteRange> ranges_;
  std::vector<std::unique_ptr<Copy>> copies_;
};

/// Calls it with view, dtype and rank of each view; `layout` as `Hooks::outside` has it.
template <class Fn>
void for_each_view(std::string_view layout, void** slots, Fn&& fn) {
  constexpr std::string_view kView = "view<";
  for (size_t i = 0; !layout.empty(); ++i) {
    std::string_view word = layout.substr(0, layout.find(' '));
    layout.remove_prefix(word.size() + 1);
    if (!word.starts_with(kView)) continue;
    const size_t comma = word.find(',');
    const int rank = std::stoi(std::string(word.substr(comma + 1)));
    const auto dtype = base::known(base::dtype_from_name(word.substr(kView.size(), comma - kView.size())));
    fn(*static_cast<ViewSlot*>(slots[i]), dtype, rank);
  }
}

void stage(Staged& staged, std::string_view layout, void** slots) {
  for_each_view(layout, slots, [&](ViewSlot& view, base::DType dtype, int rank) {
    staged.add(view, rank, static_cast<int64_t>(base::size_of(dtype)));
  });
  staged.read();
}

/// Captures a routine instead of doing it, if a library of the device has it.
bool record_routine(Recording& recording, Device& device, const char* what,
                    std::vector<devices::DeviceView> views) {
  {
    const Recording::Suspended suspended;
    if (!device.libraries()->has(what, views)) return false;
  }
  if (!devices::Libraries::runs_late(what)) Recording::refuse("a routine whose result the host waits for");
  devices::Step step{devices::Step::Kind::Routine};
  step.routine = what;
  step.views = std::move(views);
  recording.add(device, std::move(step));
  return true;
}

/// Whether a library of the device has done it.
bool run_by_library(Device& device, const char* what, std::string_view layout, void** slots) {
  devices::Libraries* const libraries = device.libraries();
  if (libraries == nullptr || !libraries->is_for_compiled_code()) return false;
  std::vector<devices::DeviceView> views;
  for_each_view(layout, slots, [&](ViewSlot& view, base::DType dtype, int rank) {
    const int64_t* const lengths = view.lengths();
    const int64_t* const strides = view.strides(rank);
    views.push_back({dtype, address_of(view.data), {lengths, lengths + rank}, {strides, strides + rank}});
  });
  if (Recording* const recording = Recording::of_thread(); recording != nullptr) [[unlikely]] {
    return record_routine(*recording, device, what, std::move(views));
  }
  devices::ObservedLaunch observed(device, what);
  const bool has_run = libraries->run(what, views);
  if (!has_run) observed.forget();
  return has_run;
}

/// A copy on the host of elements of device memory.
template <class Fn>
Status on_host(Context& context, int32_t dtype, void* elements, int64_t count, Fn&& fn) {
  if (count == 0) return 0;  // NumPy's sorts need an address even for no elements
  let_go(context);
  return guarded(context, [&] {
    Recording::refuse("a sort that runs on the host");
    const auto bytes = static_cast<int64_t>(base::size_of(static_cast<base::DType>(dtype))) * count;
    std::vector<std::byte> copy(static_cast<size_t>(bytes));
    if (bytes > 0) device_of(&context).read(copy.data(), address_of(elements), bytes);
    return fn(copy, bytes);
  });
}

}  // namespace

Buffer* allocate_on_device(void* device, int64_t bytes) {
  auto& on = *static_cast<Device*>(device);
  if (bytes < 0) throw devices::OutOfMemory(bytes, "a negative number of bytes");
  if (Recording* const recording = Recording::of_thread(); recording != nullptr) [[unlikely]] {
    if (&recording->device() != &on) Recording::refuse("memory of another device");
    std::shared_ptr<GraphMemory> own = recording->allocate(bytes);
    auto* const data = reinterpret_cast<std::byte*>(own->address());
    const Buffer buffer{data, bytes, nullptr, nullptr, nullptr, release_on_device};
    return &(new DeviceBuffer{buffer, &on, std::move(own)})->buffer;
  }
  auto* const memory = reinterpret_cast<std::byte*>(on.allocate(bytes));
  return &(new DeviceBuffer{{memory, bytes, nullptr, nullptr, nullptr, release_on_device}, &on, nullptr})
              ->buffer;
}

LoadedKernels::~LoadedKernels() {
  if (!texts_.empty()) kernels().forget(texts_.data(), texts_.data() + texts_.size());
}

void LoadedKernels::load_with(std::shared_ptr<const devices::LoadOptions> options) {
  if (!texts_.empty()) kernels().load_with(texts_, std::move(options));
}

Buffer* ingot_v1_device_allocate(Context* context, int64_t bytes) noexcept {
  Buffer* buffer = nullptr;
  const Status status = guarded(*context, [&] {
    buffer = allocate_on_device(context->device, bytes);
    link_buffer(*context, *buffer);
    return 0;
  });
  return status == 0 ? buffer : nullptr;
}

Status ingot_v1_device_launch(Context* context, const KernelCall* call) noexcept {
  return guarded(*context, [&]() -> Status {
    constexpr int64_t kMost = (int64_t{1} << 31) - 1;
    devices::Launch launch;
    for (size_t i = 0; i < 3; ++i) {
      if (call->grid[i] <= 0 || call->block[i] <= 0) return 0;
      launch.grid[i] = extent_of(call->grid[i], kMost);
      launch.block[i] = extent_of(call->block[i], kMost);
    }
    launch.shared_bytes =
        static_cast<uint32_t>(std::min(call->shared_bytes, kMost));  // no device has as much
    launch.cooperative = call->cooperative != 0;
    Device& device = device_of(context);
    const devices::Kernel& kernel = kernels().find(*context, *call);
    const auto count = static_cast<size_t>(call->count);
    if (Recording* const recording = Recording::of_thread(); recording != nullptr) [[unlikely]] {
      if (call->packed != nullptr) Recording::refuse("a launch that takes more values than a driver passes");
      devices::Step step;
      step.kernel = &kernel;
      step.launch = launch;
      record_launch(*recording, device, std::move(step), *call);
      return 0;
    }
    std::unique_ptr<Buffer, FreeBuffer> values;
    Address packed = 0;
    if (call->packed != nullptr) {
      values.reset(allocate_on_device(&device, call->packed_bytes));
      packed = address_of(values->data);
      device.write(packed, call->packed, call->packed_bytes);
      call->arguments[count - 1] = &packed;
    }
    if (call->may_raise == 0) {
      const devices::ObservedLaunch observed(device, call->name);
      device.launch(kernel, launch, {call->arguments, count});
      return 0;
    }
    KernelReport report(device);
    Address address = report.address();
    call->arguments[0] = &address;
    {
      const devices::ObservedLaunch observed(device, call->name);
      device.launch(kernel, launch, {call->arguments, count});
      report.use();
    }
    let_go(*context);
    const std::optional<KernelError> error = report.wait();
    if (!error) return 0;
    context->error.site = error->site;
    std::copy_n(error->arguments, Error::kMaxArguments, context->error.arguments);
    return error->status;
  });
}

std::optional<Error> look_at_record(void* device, const void* report) {
  auto& on = *static_cast<Device*>(device);
  KernelError found{};
  on.read(&found.iteration, address_of(report), sizeof found.iteration);
  if (found.iteration == KernelError::kNone) return std::nullopt;
  on.read(&found, address_of(report), sizeof found);
  on.write(address_of(report), &kNoKernelError, sizeof kNoKernelError);
  Error error{found.status, found.site, {}, 0, {}};
  std::copy_n(found.arguments, Error::kMaxArguments, error.arguments);
  return error;
}

Status ingot_v1_device_clear(Context* context, void* memory, int64_t bytes) noexcept {
  return guarded(*context, [&] {
    if (bytes > 0) device_of(context).fill(address_of(memory), std::byte{0}, bytes);
    return 0;
  });
}

Status ingot_v1_device_read(Context* context, void* to, const void* from, int64_t bytes) noexcept {
  let_go(*context);
  return guarded(*context, [&] {
    Recording::refuse("a number that the host needs");
    device_of(context).read(to, address_of(from), bytes);
    return 0;
  });
}

Status ingot_v1_device_read_row(Context* context, void* to, const void* from, int64_t count, int64_t stride,
                                int64_t size) noexcept {
  if (count <= 0) return 0;
  const int64_t last = (count - 1) * stride;
  if (stride == size) return ingot_v1_device_read(context, to, from, last + size);
  const auto* const first = static_cast<const std::byte*>(from) + std::min<int64_t>(last, 0);
  Status status = 0;
  std::vector<std::byte> span;
  status = guarded(*context, [&] {
    span.resize(static_cast<size_t>(std::abs(last) + size));
    return 0;
  });
  if (status == 0)
    status = ingot_v1_device_read(context, span.data(), first, static_cast<int64_t>(span.size()));
  const std::byte* const start = span.data() - std::min<int64_t>(last, 0);
  for (int64_t i = 0; status == 0 && i < count; ++i)
    std::memcpy(static_cast<std::byte*>(to) + i * size, start + i * stride, static_cast<size_t>(size));
  return status;
}

Status ingot_v1_device_outside(Context* context, const char* what, const char* layout, int64_t number,
                               void** slots) noexcept {
  const bool is_host = std::strcmp(what, "host") == 0;
  if (is_host && Recording::of_thread() == nullptr)
    return ingot_v1_outside(context, what, layout, number, slots);
  let_go(*context);
  return guarded(*context, [&]() -> Status {
    if (is_host) Recording::refuse("a call of Python");
    if (run_by_library(device_of(context), what, layout, slots)) return 0;
    Recording::refuse("a routine that runs on the host");
    Staged staged(device_of(context));
    stage(staged, layout, slots);
    const Status status = ingot_v1_outside(context, what, layout, number, slots);
    staged.write_back();
    return status;
  });
}

void* ingot_v1_device_stage(Context* context, const void* from, int64_t bytes) noexcept {
  std::unique_ptr<std::byte[]> copy;
  let_go(*context);
  const Status status = guarded(*context, [&] {
    Recording::refuse("what the host computes");
    copy = std::make_unique<std::byte[]>(static_cast<size_t>(bytes) + 1);
    if (bytes > 0) device_of(context).read(copy.get(), address_of(from), bytes);
    return 0;
  });
  return status == 0 ? copy.release() : nullptr;
}

void* ingot_v1_device_stage_stream(Context* context, const void* from, int64_t bytes) noexcept {
  void* const copy = ingot_v1_device_stage(context, from, bytes);
  constexpr auto kOwn = static_cast<int64_t>(base::kOwnStreamWords * sizeof(uint64_t));
  if (copy != nullptr && bytes == kOwn) base::move_own_stream(static_cast<uint64_t*>(copy));
  return copy;
}

Status ingot_v1_device_write_back(Context* context, void* copy, void* to, int64_t bytes) noexcept {
  const std::unique_ptr<std::byte[]> owner(static_cast<std::byte*>(copy));
  let_go(*context);
  return guarded(*context, [&] {
    if (bytes > 0) device_of(context).write(address_of(to), copy, bytes);
    return 0;
  });
}

Status ingot_v1_device_sort(Context* context, int32_t dtype, int32_t stable, void* elements,
                            int64_t count) noexcept {
  return on_host(*context, dtype, elements, count, [&](std::vector<std::byte>& copy, int64_t bytes) {
    const Status status = ingot_v1_sort(context, dtype, stable, copy.data(), count);
    if (status == 0 && bytes > 0) device_of(context).write(address_of(elements), copy.data(), bytes);
    return status;
  });
}

Status ingot_v1_device_argsort(Context* context, int32_t dtype, int32_t stable, void* elements,
                               int64_t* indices, int64_t count) noexcept {
  return on_host(*context, dtype, elements, count, [&](std::vector<std::byte>& copy, int64_t) {
    std::vector<int64_t> order(static_cast<size_t>(count));
    const Status status = ingot_v1_argsort(context, dtype, stable, copy.data(), order.data(), count);
    if (status == 0 && count > 0)
      device_of(context).write(address_of(indices), order.data(),
                               count * static_cast<int64_t>(sizeof(int64_t)));
    return status;
  });
}

}  // namespace ingot::runtime
