#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "softgpu/machine/device.h"

/// What the driver's functions work on. Their names and numbers are those of the CUDA driver's ABI, defined
/// here; handles are pointers to the objects below, looked up before they are used.
namespace softgpu::driver {

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
  kPeerUnsupported = 217,
  kInvalidImage = 200,
  kFileNotFound = 301,
  kPeerNotEnabled = 705,
  kAlreadyRegistered = 712,
  kNotRegistered = 713,
  kAssert = 710,
  kStackError = 714,
  kIllegalInstruction = 715,
  kMisaligned = 716,
  kLaunchFailed = 719,
  kTooLarge = 720,
  kNotPermitted = 800,
  kNotSupported = 801,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
  kCaptureUnmatched = 904,
  kCaptureUnjoined = 905,
  kCaptureImplicit = 906,
  kGraphUpdateFailed = 910,
  kUnknown = 999,
};

/// The properties of the device that several functions report.
constexpr int kCapabilityMajor = 9;
constexpr int kCapabilityMinor = 0;
constexpr int kMultiprocessors = 4;
constexpr int kThreadsPerMultiprocessor = 2048;
constexpr int kBlocksPerMultiprocessor = 32;
constexpr int kSharedPerBlock = 48 * 1024;
constexpr int kSharedOptIn = 227 * 1024;
constexpr int kSharedPerMultiprocessor = 228 * 1024;
constexpr int kVersion = 13000;  ///< of the driver
constexpr int kMostDevices = 16;
constexpr int kGreatestPriority = -5;  ///< of streams; the least is 0

struct Module;

struct FunctionHandle {
  std::shared_ptr<const Program> program;
  Module* module = nullptr;
  const Function* function = nullptr;
  uint32_t most_dynamic = kSharedPerBlock;
};

struct Module {
  std::shared_ptr<const Program> program;
  std::unordered_map<std::string, std::unique_ptr<FunctionHandle>> functions;
};

/// A launch with all that it needs.
struct KernelWork {
  const void* handle = nullptr;  ///< of the function
  std::shared_ptr<const Program> program;
  const Function* function = nullptr;
  LaunchShape shape;
  std::vector<std::byte> bytes{};   ///< of the parameters
  std::vector<void*> parameters{};  ///< each in `bytes`
  bool is_cooperative = false;
};

struct Graph;

/// An operation of a stream, or of a node of a graph. The types are CUgraphNodeType.
struct Work {
  enum Type : int { Kernel = 0, Copy = 1, Fill = 2, Host = 3, Child = 4, Empty = 5 } type = Empty;
  Device::Operation run{};
  std::shared_ptr<const KernelWork> kernel{};
  std::shared_ptr<const Graph> child{};
};

struct Node {
  Graph* graph = nullptr;
  Work work;
  std::vector<Node*> after{};  ///< what it waits for
};

/// A program's object, destroyed when nothing keeps it.
struct Kept {
  Kept(void* of, void (*how)(void*)) : object(of), destroy(how) {}
  ~Kept() { destroy(object); }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  void* object;
  void (*destroy)(void*);
};

struct UserObject {
  std::shared_ptr<Kept> object;
  unsigned references = 0;
};

struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<std::shared_ptr<Kept>> kept;

  Node* add(Work work, std::vector<Node*> after);
  /// A graph of its own with the same nodes, in the same order.
  std::unique_ptr<Graph> copy() const;
};

/// A graph that can be launched: nodes as they were when it was made.
struct GraphExec {
  std::unique_ptr<Graph> graph;
  std::unordered_map<const Node*, Node*> own;  ///< by node of the graph that it was made of
};

/// Streams that are captured into a graph instead of running.
struct Capture {
  uint64_t number = 0;
  Graph* graph = nullptr;
  const void* origin = nullptr;  ///< the stream that began it
  bool is_broken = false;        ///< something was asked for that cannot be captured
};

struct Stream {
  uint32_t number = 0;
  unsigned flags = 0;
  int priority = 0;
  std::shared_ptr<Capture> capture{};  ///< null: it is not captured
  std::vector<Node*> last{};           ///< what the next node of the capture waits for
};

struct Event {
  bool is_recorded = false;
  std::shared_ptr<Capture> capture{};  ///< that it was captured in
  std::vector<Node*> last{};
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
  void remove_if(F&& is_unused) {
    std::erase_if(objects_, [&](const auto& item) { return is_unused(*item.second); });
  }
  template <class F>
  void for_each(F&& f) const {
    for (const auto& [handle, object] : objects_) f(*object);
  }

 private:
  std::unordered_map<const void*, std::unique_ptr<T>> objects_;
};

struct Context {
  Context(const DeviceOptions& options, int number) : device(options), ordinal(number) {}
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Device device;
  int ordinal;  ///< of the device
  Handles<Module> modules;
  std::unordered_map<const void*, FunctionHandle*> functions;
  Handles<Stream> streams;
  Handles<Event> events;
  std::unordered_map<void*, Allocation*> pinned;  ///< what cuMemHostAlloc gave
  std::unordered_map<int, uint64_t> pool;         ///< attributes of the pool that were set
  std::array<size_t, 7> limits{1024, 1 << 20, 8 << 20, 2, 2048, 128, 0};
  bool is_reset = false;    ///< the primary one, until somebody retains it again
  uint64_t own_number = 0;  ///< no other context of the process has it

  /// The stream of a handle; that of null, 1 and 2 is the default one. Null: there is none.
  Stream* stream(const void* handle);
  /// For an operation that cannot be captured: all captures of the context end without a graph. Returns
  /// whether there were any.
  bool break_captures();

 private:
  Stream default_{};
};

/// Code that is loaded into a context when it is used there.
struct Library {
  std::string image;
  std::unordered_map<const Context*, void*> modules{};  ///< handles
};

/// A function of a library, in the context that is current.
struct Kernel {
  Library* library = nullptr;
  std::string name;
  std::optional<uint32_t> most_dynamic{};
};

/// An image that is being linked, and where its messages go.
struct Link {
  std::string image;
  char* log = nullptr;
  size_t log_bytes = 0;
  bool has_failed = false;
};

/// All of a process.
struct Driver {
  std::mutex mutex;
  bool is_initialized = false;
  Handles<Context> contexts;
  struct Primary {
    Context* context = nullptr;
    uint32_t uses = 0;
  };
  std::vector<Primary> primaries;  ///< by device
  Handles<Library> libraries;
  Handles<Kernel> kernels;
  Handles<Link> links;
  Handles<Graph> graphs;
  Handles<GraphExec> execs;
  Handles<UserObject> user_objects;
  uint64_t captures = 0;  ///< how many began
  uint64_t made = 0;      ///< contexts until now
  std::string last_error;
  uint64_t until_failure = 0;             ///< calls until the one that fails by plan; 0: none does
  Result planned_failure = kOutOfMemory;  ///< its result

  static Driver& instance();
  bool has_device(int number) const { return number >= 0 && static_cast<size_t>(number) < primaries.size(); }

 private:
  /// With the devices that INGOT_EMULATOR_DEVICES counts and the planned failure that INGOT_EMULATOR_FAIL
  /// names.
  Driver();
};

/// The contexts that a thread has made current, the last one on top.
std::vector<Context*>& current_contexts();

/// The result that reports a fault.
Result result_of(const Fault& fault);

/// Whether the thread is in a function that a stream called; then it may not call the driver.
bool& is_in_callback();

/// Calls `f(driver)` under the lock, and turns exceptions into results. Before cuInit it is not called.
template <class F>
Result guarded(F&& f, bool needs_initialized = true) {
  if (is_in_callback()) return kNotPermitted;
  Driver& driver = Driver::instance();
  const std::lock_guard lock(driver.mutex);
  if (driver.until_failure != 0 && --driver.until_failure == 0) {
    driver.last_error = "a call that fails by plan";
    return driver.planned_failure;
  }
  if (needs_initialized && !driver.is_initialized) return kNotInitialized;
  try {
    return f(driver);
  } catch (const NoMemory& error) {
    driver.last_error = error.what();
    return kOutOfMemory;
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
    if (context.is_reset) return kInvalidContext;
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

// Contexts.

Context* new_context(Driver& driver, int device);
/// Destroys it, with all that libraries have loaded into it.
void drop_context(Driver& driver, Context* context);

// Modules.

/// Loads an image into the context. Throws LoadError.
Result load_image(Context& context, const char* image, Module*& into);
void unload(Context& context, Module& module);
/// A kernel of a module; null: there is none of this name.
FunctionHandle* function_of_module(Context& context, Module& module, const std::string& name);
/// The function of a handle, also of one of a library's; null: there is none.
FunctionHandle* function_of(Context& context, const void* handle);
/// The module of a library in this context; null with a result: it cannot be loaded.
Module* module_of(Context& context, Library& library, Result& result);
/// The value of an attribute of a function.
int function_attribute(const FunctionHandle& handle, int which);
/// Adds a text of PTX to what is linked; `type` is a CUjitInputType.
Result add_input(Link& link, int type, const std::string& text, const std::string& name);

// Work.

/// A launch, checked: parameters are read now.
Result prepare(Context& context, const void* function, const LaunchShape& shape, void** parameters,
               void** extra, bool is_cooperative, Work& into);
/// The same, put into a stream.
Result launch_later(const void* function, const LaunchShape& shape, const void* stream_handle,
                    void** parameters, void** extra, bool is_cooperative);
/// How many blocks of so many threads a multiprocessor holds at once.
int blocks_that_fit(const Function& function, int threads, size_t dynamic);
/// Whether the stream is captured: an operation that cannot be captured then breaks the capture.
bool refuses(Stream& stream);
/// Gives a stream something to do, or its capture a node.
Result submit(Context& context, Stream& stream, Work work);
/// All of a graph.
void enqueue_graph(Context& context, uint32_t stream, const Graph& graph);

}  // namespace softgpu::driver

/// A function of the driver.
#define SOFTGPU_API extern "C" __attribute__((visibility("default"))) int
