#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "emulator/device.h"

/// What stands behind the driver's functions. Their names and numbers are those of the CUDA driver's ABI,
/// written anew here; handles are pointers to the objects below, looked up before they are used.
namespace ingot::emulator::driver {

/// CUresult.
enum Result : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kInvalidDevice = 101,
  kInvalidContext = 201,
  kNoBinary = 209,
  kInvalidPtx = 218,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kOutOfResources = 701,
  kTimeout = 702,
  kAlreadyRegistered = 712,
  kNotRegistered = 713,
  kAssert = 710,
  kStackError = 714,
  kIllegalInstruction = 715,
  kMisaligned = 716,
  kLaunchFailed = 719,
  kTooLarge = 720,
  kNotSupported = 801,
  kUnknown = 999,
};

/// The properties of the device that several functions tell.
constexpr int kCapabilityMajor = 9;
constexpr int kCapabilityMinor = 0;
constexpr int kMultiprocessors = 4;
constexpr int kThreadsPerMultiprocessor = 2048;
constexpr int kBlocksPerMultiprocessor = 32;
constexpr int kSharedPerBlock = 48 * 1024;
constexpr int kSharedOptIn = 227 * 1024;
constexpr int kSharedPerMultiprocessor = 228 * 1024;
constexpr int kVersion = 12080;  ///< of the driver

struct FunctionHandle {
  std::shared_ptr<const Program> program;
  const Function* function = nullptr;
  uint32_t most_dynamic = kSharedPerBlock;
};

struct Module {
  std::shared_ptr<const Program> program;
  std::unordered_map<std::string, std::unique_ptr<FunctionHandle>> functions;
};

struct Stream {
  uint32_t number = 0;
  unsigned flags = 0;
};

struct Event {
  bool is_recorded = false;
  Moment moment{};
  bool has_time = true;
  std::shared_ptr<uint64_t> time = std::make_shared<uint64_t>(0);  ///< in instructions
};

/// Objects by their addresses, which are the handles.
template <class T>
class Handles {
 public:
  T* add(std::unique_ptr<T> object) {
    T* const handle = object.get();
    objects_[handle] = std::move(object);
    return handle;
  }
  T* find(const void* handle) const {
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second.get();
  }
  void remove(const void* handle) { objects_.erase(handle); }
  size_t size() const { return objects_.size(); }
  template <class F>
  void for_each(F&& f) const {
    for (const auto& [handle, object] : objects_) f(*object);
  }

 private:
  std::unordered_map<const void*, std::unique_ptr<T>> objects_;
};

struct Context {
  explicit Context(const DeviceOptions& options) : device(options) {}
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Device device;
  Handles<Module> modules;
  std::unordered_map<const void*, FunctionHandle*> functions;
  Handles<Stream> streams;
  Handles<Event> events;
  std::unordered_map<void*, Allocation*> pinned;  ///< what cuMemHostAlloc gave
  std::unordered_map<int, uint64_t> pool;         ///< attributes of the pool that were set

  /// The stream of a handle; that of null, 1 and 2 is the default one. Null: there is none.
  const Stream* stream(const void* handle) const;

 private:
  Stream default_{};
};

/// All of a process.
struct Driver {
  std::mutex mutex;
  bool is_initialized = false;
  Handles<Context> contexts;
  Context* primary = nullptr;
  uint32_t primary_uses = 0;
  std::string last_error;
  uint64_t until_failure = 0;             ///< calls until the one that fails by plan; 0: none does
  Result planned_failure = kOutOfMemory;  ///< its result

  static Driver& instance();

 private:
  /// With the planned failure that INGOT_EMULATOR_FAIL names.
  Driver();
};

/// The contexts that a thread has made current, the last one on top.
std::vector<Context*>& current_contexts();

/// The result that a fault is told by.
Result result_of(const Fault& fault);

/// Calls `f(driver)` alone, and makes a result of what it throws. Before cuInit it is not called.
template <class F>
Result guarded(F&& f, bool needs_initialized = true) {
  Driver& driver = Driver::instance();
  const std::lock_guard lock(driver.mutex);
  if (driver.until_failure != 0 && --driver.until_failure == 0) {
    driver.last_error = "a call that fails by plan";
    return driver.planned_failure;
  }
  if (needs_initialized && !driver.is_initialized) return kNotInitialized;
  try {
    return f(driver);
  } catch (const LoadError& error) {
    driver.last_error = error.what();
    return kInvalidPtx;
  } catch (const std::bad_alloc&) {
    return kOutOfMemory;
  } catch (const std::exception& error) {
    driver.last_error = error.what();
    return kUnknown;
  }
}

/// The same with the thread's context: `f(context)`. A context that has failed gives its failure, before and
/// after.
template <class F>
Result with_context(F&& f) {
  return guarded([&](Driver& driver) -> Result {
    std::vector<Context*>& stack = current_contexts();
    if (stack.empty() || driver.contexts.find(stack.back()) == nullptr) return kInvalidContext;
    Context& context = *stack.back();
    const auto failure = [&]() -> Result {
      const std::optional<Fault>& fault = context.device.failure();
      if (!fault) return kSuccess;
      driver.last_error = fault->what();
      return result_of(*fault);
    };
    if (const Result failed = failure(); failed != kSuccess) return failed;
    const Result result = f(context);
    const Result failed = failure();
    return failed != kSuccess ? failed : result;
  });
}

/// The function of this name without suffix (`cuMemAlloc`) in its newest form that there is, or null.
void* function_named(const char* name);

}  // namespace ingot::emulator::driver

/// A function of the driver.
#define INGOT_DRIVER extern "C" __attribute__((visibility("default"))) int
