#include "profile/profile.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <new>
#include <utility>

namespace ingot::profile {

namespace nb = nanobind;

std::atomic<bool> is_running{false};

namespace {

/// Of ended threads, so many are kept separately.
constexpr size_t kMostEnded = 64;
/// Events of one thread; the next ones are counted alone.
constexpr size_t kMostEvents = size_t{1} << 22;
/// Names of threads that a row has.
constexpr size_t kMostNames = 32;

/// Puts the rows of several threads together.
class Gathering {
 public:
  void add(const Thread& thread, const Tree& tree, const std::vector<Work>& work);
  std::vector<Row> rows() const;

 private:
  struct GatheredNode {
    Row row{};
    std::vector<NodeId> inside{};
    uint32_t last = 0;  ///< the number of the thread that was counted last
  };

  NodeId node_of(NodeId parent, LabelId label);
  void count(NodeId index, const Node& node, const Thread& thread);
  void put(NodeId index, std::vector<Row>& rows) const;

  std::vector<GatheredNode> places_{GatheredNode{}};
  std::map<std::pair<NodeId, LabelId>, NodeId> known_;
};

/// All that a process has counted. Part of the closed list of process-wide state.
struct Profile {
  std::mutex mutex;  ///< of `threads` and `began`: threads without the GIL may be new
  std::vector<std::shared_ptr<Thread>> threads;
  uint32_t began = 0;
  Gathering ended;  ///< threads that are no more among `threads`
  std::atomic<bool> traces{false};

  /// Never destroyed: threads may end after it.
  static Profile& instance() {
    static Profile& profile = *new Profile;
    return profile;
  }
};

thread_local constinit Thread* own = nullptr;

/// Notes that a thread has ended.
struct Ending {
  std::shared_ptr<Thread> thread;
  ~Ending() {
    own = nullptr;
    if (thread) thread->has_ended.store(true, std::memory_order_release);
  }
};
thread_local Ending ending;

/// Counts threads that have ended as one, where there are many. What is drawn over time stays separate.
void put_ended_together(Profile& profile) {
  const auto is_done = [](const std::shared_ptr<Thread>& thread) {
    return thread->has_ended.load(std::memory_order_acquire) && thread->events.empty() &&
           thread->work_events.empty() && thread->waits == 0 && thread->tree.frames().empty();
  };
  std::vector<std::shared_ptr<Thread>> done;
  {
    const std::lock_guard lock(profile.mutex);
    if (static_cast<size_t>(std::ranges::count_if(profile.threads, is_done)) < kMostEnded) return;
    std::ranges::copy_if(profile.threads, std::back_inserter(done), is_done);
    std::erase_if(profile.threads, is_done);
  }
  for (const std::shared_ptr<Thread>& thread : done) {
    thread->find_name();
    const std::lock_guard lock(thread->mutex);
    profile.ended.add(*thread, thread->tree, thread->work);
  }
}

/// Keeps an event, unless there are too many, or there is no memory for it.
template <class T>
void keep(std::vector<T>& events, int64_t& lost, const T& event) noexcept {
  if (events.size() >= kMostEvents) {
    ++lost;
    return;
  }
  try {
    events.push_back(event);
  } catch (const std::bad_alloc&) {
    ++lost;
  }
}

Thread& begin_thread() {
  Profile& profile = Profile::instance();
  auto made = std::make_shared<Thread>();
  made->identity = PyThread_get_thread_ident();
  {
    const std::lock_guard lock(profile.mutex);
    made->number = ++profile.began;
    profile.threads.push_back(made);
  }
  ending.thread = made;
  own = made.get();
  if (PyGILState_Check() != 0) {
    own->find_name();
    put_ended_together(profile);
  }
  return *own;
}

}  // namespace

Thread& Thread::here() { return own != nullptr ? *own : begin_thread(); }

/// Looks only at what `threading` has now; runs no code of the user's.
void Thread::find_name() {
  if (!name.empty()) return;
  name = "thread " + std::to_string(number);
  const nb::object module = nb::steal(PyImport_GetModule(nb::str("threading").ptr()));
  const nb::object known = module.is_valid() ? nb::getattr(module, "_active", nb::none()) : nb::none();
  if (PyErr_Occurred() != nullptr) PyErr_Clear();
  if (!PyDict_CheckExact(known.ptr())) return;
  const nb::int_ key(identity);
  PyObject* const thread = PyDict_GetItem(known.ptr(), key.ptr());
  const nb::object text = thread == nullptr ? nb::none() : nb::getattr(thread, "_name", nb::none());
  if (PyUnicode_CheckExact(text.ptr())) name = nb::cast<const char*>(text);
}

void Thread::leave(size_t at, int64_t now) {
  if (Profile::instance().traces.load(std::memory_order_relaxed)) [[unlikely]] {
    const Frame& frame = tree.frames()[at];
    keep(events, lost_events, {frame.node, frame.start, now});
  }
  tree.close(at, now);
  settle();
}

std::vector<WorkEvent> Thread::copied_work_events() {
  const std::lock_guard lock(mutex);
  return work_events;
}

Spot Thread::spot() {
  const std::lock_guard lock(mutex);
  return {current.load(std::memory_order_relaxed), age};
}

void Thread::add_work(Spot at, LabelId label, int64_t start, int64_t length, const Counts& counts) {
  const std::lock_guard lock(mutex);
  const NodeId node = at.node;
  if (at.age != age) return;
  if (Profile::instance().traces.load(std::memory_order_relaxed)) {
    keep(work_events, lost_work_events, {node, label, start, start + length});
  }
  auto found = std::find_if(work.begin(), work.end(),
                            [&](const Work& each) { return each.node == node && each.label == label; });
  if (found == work.end()) found = work.insert(work.end(), {.node = node, .label = label});
  ++found->calls;
  found->length += length;
  found->shortest = std::min(found->shortest, length);
  found->longest = std::max(found->longest, length);
  found->counts.add(counts);
}

bool is_tracing() { return Profile::instance().traces; }

uint64_t next_number() {
  static constinit uint64_t last = 0;  // the GIL is held, so that nobody counts at once
  return ++last;
}

void start(bool traces) {
  if (traces) Profile::instance().traces = true;
  watch_devices(true);
  is_running = true;
}

void stop() {
  watch_devices(false);
  settle_kernels(true);
  is_running = false;
  const int64_t now = ticks();
  for (const std::shared_ptr<Thread>& thread : threads())
    while (!thread->tree.frames().empty()) thread->leave(thread->tree.frames().size() - 1, now);
  Profile::instance().traces = false;
}

void reset() {
  Profile& profile = Profile::instance();
  forget_kernels(false);
  profile.ended = {};
  const std::lock_guard lock(profile.mutex);
  std::erase_if(profile.threads, [](const auto& thread) { return thread->has_ended.load(); });
  for (const std::shared_ptr<Thread>& thread : profile.threads) {
    const std::lock_guard own_lock(thread->mutex);
    thread->tree = Tree();
    thread->events.clear();
    thread->lost_events = 0;
    ++thread->age;
    thread->work.clear();
    thread->work_events.clear();
    thread->lost_work_events = 0;
    thread->settle();
  }
}

Activation::Activation(LabelId around, LabelId label) : thread_(&Thread::here()), number_(next_number()) {
  NodeId outer = thread_->tree.current();
  const bool is_inside_call =
      outer != kRoot && label_of(thread_->tree.node(outer).label).kind == Kind::Compiled;
  if (!is_inside_call) outer = thread_->tree.child(outer, around);
  thread_->tree.enter_at(thread_->tree.child(outer, label), ticks(), number_);
  thread_->settle();
}

void Activation::leave_late(int64_t now) {
  const size_t at = thread_->tree.find(number_);
  if (at < thread_->tree.frames().size()) thread_->leave(at, now);
}

std::vector<std::shared_ptr<Thread>> threads() {
  Profile& profile = Profile::instance();
  const std::lock_guard lock(profile.mutex);
  return profile.threads;
}

void leave_owner(const void* owner, int64_t now) {
  Thread& here = Thread::here();
  if (const size_t at = here.tree.find(owner); at < here.tree.frames().size()) return here.leave(at, now);
  for (const std::shared_ptr<Thread>& thread : threads()) {
    if (const size_t at = thread->tree.find(owner); at < thread->tree.frames().size())
      return thread->leave(at, now);
  }
}

void forget_owner(const void* owner) {
  for (const std::shared_ptr<Thread>& thread : threads()) {
    for (Frame& frame : thread->tree.frames())
      if (frame.owner == owner) frame.owner = nullptr;
  }
}

Frame* frame_of(const void* owner) {
  Tree& tree = Thread::here().tree;
  const size_t at = tree.find(owner);
  return at < tree.frames().size() ? &tree.frames()[at] : nullptr;
}

namespace {

void Gathering::add(const Thread& thread, const Tree& tree, const std::vector<Work>& work) {
  std::vector<NodeId> places(tree.nodes().size(), kRoot);
  for (NodeId id = 1; id < tree.nodes().size(); ++id) {
    const Node& node = tree.nodes()[id];
    places[id] = node_of(places[node.parent], node.label);
    count(places[id], node, thread);
  }
  for (const Work& each : work) {
    Node node;
    node.calls = each.calls;
    node.total = node.own = each.length;
    node.shortest = each.shortest;
    node.longest = each.longest;
    node.counts = each.counts;
    count(node_of(places[each.node], each.label), node, thread);
    // The thread was busy with it, except with kernels; so it does not count as the region's own time.
    const bool is_inside = each.node != kRoot && label_of(each.label).kind != Kind::Kernel;
    if (is_inside) places_[places[each.node]].row.counted.own -= each.length;
  }
}

NodeId Gathering::node_of(NodeId parent, LabelId label) {
  const auto [found, is_new] = known_.try_emplace({parent, label}, static_cast<NodeId>(places_.size()));
  if (is_new) {
    GatheredNode made;
    made.row.path = places_[parent].row.path;
    made.row.path.push_back(label);
    places_[parent].inside.push_back(found->second);
    places_.push_back(std::move(made));
  }
  return found->second;
}

void Gathering::count(NodeId index, const Node& node, const Thread& thread) {
  if (node.calls == 0 && node.total == 0 && node.own == 0) return;
  GatheredNode& it = places_[index];
  Node& all = it.row.counted;
  all.calls += node.calls;
  all.total += node.total;
  all.own += node.own;
  all.shortest = std::min(all.shortest, node.shortest);
  all.longest = std::max(all.longest, node.longest);
  all.counts.add(node.counts);
  if (it.last == thread.number) return;
  it.last = thread.number;
  ++it.row.threads;
  if (it.row.names.size() < kMostNames) it.row.names.push_back(thread.name);
}

void Gathering::put(NodeId index, std::vector<Row>& rows) const {
  if (places_[index].row.threads > 0) rows.push_back(places_[index].row);
  for (const NodeId each : places_[index].inside) put(each, rows);
}

std::vector<Row> Gathering::rows() const {
  std::vector<Row> all;
  put(kRoot, all);
  return all;
}

}  // namespace

std::vector<Row> rows() {
  settle_kernels(true);
  const int64_t now = ticks();
  Gathering all = Profile::instance().ended;
  for (const std::shared_ptr<Thread>& thread : threads()) {
    thread->find_name();
    Tree tree = thread->tree;
    tree.close_all(now);
    const std::lock_guard lock(thread->mutex);
    all.add(*thread, tree, thread->work);
  }
  return all.rows();
}

void begin_in_child() {
  forget_kernels(true);
  const bool traces = is_tracing();
  Profile& profile = *new (&Profile::instance()) Profile;
  profile.traces = traces;
  own = nullptr;
  ending.thread.reset();
}

}  // namespace ingot::profile
