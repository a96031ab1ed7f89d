#include "eager/graph.h"

#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "eager/bind.h"
#include "eager/pending.h"
#include "interop/collected.h"
#include "interop/exceptions.h"
#include "interop/numpy.h"
#include "interop/same.h"
#include "runtime/device_calls.h"

namespace ingot::eager {

using devices::Address;
using devices::Recording;
using nb::literals::operator""_a;

namespace {

thread_local constinit GraphRecorder* open_recorder = nullptr;

std::vector<PyObject*> pointers(const nb::list& list) {
  std::vector<PyObject*> all;
  for (const nb::handle item : list) all.push_back(item.ptr());
  return all;
}

/// The addresses of an array's elements.
base::ByteRange reach_on_device(PyObject* array) {
  const Window& window = device_array(array).window;
  return window.strided().reach().at(window.data);
}

bool same_layout(const Window& a, const Window& b) {
  return a.dtype == b.dtype && a.rank == b.rank && std::equal(a.lengths, a.lengths + a.rank, b.lengths) &&
         std::equal(a.strides, a.strides + a.rank, b.strides);
}

}  // namespace

GraphRecorder::GraphRecorder(const DeviceHandle& device)
    : recording_((compute_all(), *device.it)), outer_(std::exchange(open_recorder, this)) {}

void GraphRecorder::close() noexcept {
  recording_.close();
  if (open_recorder == this) open_recorder = outer_;
}

void GraphRecorder::note(std::shared_ptr<DeviceMemory> memory) {
  if (open_recorder == nullptr) return;
  std::vector<std::shared_ptr<DeviceMemory>>& known = open_recorder->outside_;
  if (std::ranges::find(known, memory) == known.end()) known.push_back(std::move(memory));
}

void GraphRecorder::begin_call(nb::object code, const runtime::ObjectInfo& info, nb::handle errors) {
  if (open_recorder == nullptr) return;
  GraphRecorder& recorder = *open_recorder;
  recorder.recording_.set_caller(recorder.callers_.size());
  recorder.callers_.push_back({std::move(code), &info, nb::borrow(errors)});
}

nb::list GraphRecorder::stand_ins(const nb::list& leaves) {
  const std::vector<PyObject*> given = pointers(leaves);
  const GraphGroups groups(given);
  std::vector<std::shared_ptr<DeviceMemory>> memories;
  for (const base::ByteRange& group : groups.groups) {
    memories.push_back(DeviceMemory::allocate(recording_.device(), group.size()));
    stand_ins_.push_back(address_of(memories.back()->data()));
  }
  nb::list made;
  for (size_t i = 0; i < given.size(); ++i) {
    if (!is_device_array(given[i])) {
      made.append(nb::handle(given[i]));
      continue;
    }
    const DeviceArray& array = device_array(given[i]);
    const std::shared_ptr<DeviceMemory>& memory = memories[groups.positions[i].group];
    Window window = array.window;
    window.data = memory->data() + groups.positions[i].offset - window.strided().reach().low;
    made.append(new_device_array(window, array.is_writable, memory));
  }
  return made;
}

std::unique_ptr<CapturedGraph> GraphRecorder::finish(const nb::list& leaves, const nb::list& results) {
  close();
  const std::vector<PyObject*> given = pointers(leaves);
  std::erase_if(outside_, [&](const std::shared_ptr<DeviceMemory>& memory) {
    return std::ranges::any_of(
        given, [&](PyObject* leaf) { return is_device_array(leaf) && device_array(leaf).memory == memory; });
  });
  return std::make_unique<CapturedGraph>(std::make_unique<devices::Graph>(recording_), std::move(outside_),
                                         std::move(callers_), std::move(stand_ins_), given, results);
}

GraphGroups::GraphGroups(const std::vector<PyObject*>& leaves) : positions(leaves.size()) {
  std::vector<size_t> arrays;  // the numbers of leaves
  std::vector<base::ByteRange> ranges;
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (!is_device_array(leaves[i])) continue;
    arrays.push_back(i);
    ranges.push_back(reach_on_device(leaves[i]));
  }
  for (const base::Overlaps& group : base::Overlaps::among(ranges)) {
    for (const size_t i : group.members)
      positions[arrays[i]] = {groups.size(), static_cast<int64_t>(ranges[i].low - group.low)};
    groups.push_back(group);
  }
}

CapturedGraph::CapturedGraph(std::unique_ptr<devices::Graph> graph,
                             std::vector<std::shared_ptr<DeviceMemory>> outside,
                             std::vector<GraphCaller> callers, std::vector<devices::Address> stand_ins,
                             const std::vector<PyObject*>& leaves, const nb::list& results)
    : graph_(std::move(graph)),
      outside_(std::move(outside)),
      callers_(std::move(callers)),
      stand_ins_(std::move(stand_ins)),
      groups_(leaves) {
  for (PyObject* const leaf : leaves) {
    const bool is_array = is_device_array(leaf);
    leaves_.push_back({is_array, is_array && device_array(leaf).is_writable,
                       is_array ? device_array(leaf).window : Window{},
                       is_array ? nb::object() : nb::borrow(leaf)});
  }
  find_patches();
  for (const nb::handle result : results) results_.push_back(result_of(result.ptr(), leaves));
}

void CapturedGraph::find_patches() {
  for (size_t i = 0; i < graph_->steps().size(); ++i) {
    size_t number = 0;
    graph_->steps()[i].each_address([&](Address address) {
      const auto found = std::ranges::find_if(
          groups_.groups, [&](const base::ByteRange& group) { return group.contains(address); });
      if (found != groups_.groups.end()) {
        const auto group = static_cast<size_t>(found - groups_.groups.begin());
        patches_.push_back({i, number, group, static_cast<int64_t>(address - found->low)});
      }
      ++number;
    });
  }
}

CapturedGraph::Result CapturedGraph::result_of(PyObject* object, const std::vector<PyObject*>& leaves) {
  const DeviceArray& array = device_array(object);
  Result result;
  result.window = array.window;
  result.is_writable = array.is_writable;
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i] != object) continue;
    result.kind = Result::Kind::Leaf;
    result.number = i;
    return result;
  }
  const base::ByteRange reach = reach_on_device(object);
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (!is_device_array(leaves[i]) || device_array(leaves[i]).memory != array.memory) continue;
    if (!reach_on_device(leaves[i]).contains(reach)) continue;
    result.kind = Result::Kind::View;
    result.number = i;
    result.offset = array.window.data - device_array(leaves[i]).window.data;
    return result;
  }
  if (!array.memory->is_of_graph()) {
    result.object = nb::borrow(object);
    return result;
  }
  const DeviceMemory& memory = *array.memory;
  const auto known = std::ranges::find(copies_, &memory, &Copy::memory);
  result.kind = Result::Kind::Copy;
  result.number = static_cast<size_t>(known - copies_.begin());
  result.offset = array.window.data - memory.data();
  if (known == copies_.end()) copies_.push_back({&memory, address_of(memory.data()), memory.size()});
  return result;
}

bool CapturedGraph::fits(const std::vector<PyObject*>& leaves, const GraphGroups& groups) const {
  if (leaves.size() != leaves_.size()) return false;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const Leaf& own = leaves_[i];
    if (is_device_array(leaves[i]) != own.is_array) return false;
    if (!own.is_array) {
      if (leaves[i] == own.value.ptr()) continue;
      const bool is_number = is_plain(leaves[i]) || PyArray_IsScalar(leaves[i], Generic);
      if (!is_number || same_plain(leaves[i], own.value.ptr()) != 1) return false;
      continue;
    }
    const DeviceArray& array = device_array(leaves[i]);
    if (&array.device() != &graph_->device() || array.is_writable != own.is_writable ||
        !same_layout(array.window, own.window))
      return false;
  }
  return groups.positions == groups_.positions;
}

/// The compiled code relies on its arguments being disjoint from the arrays that it has from elsewhere.
void CapturedGraph::refuse_shared(const std::vector<PyObject*>& leaves) const {
  for (PyObject* const leaf : leaves) {
    if (!is_device_array(leaf)) continue;
    const std::shared_ptr<DeviceMemory>& memory = device_array(leaf).memory;
    const bool is_shared = std::ranges::any_of(outside_, [&](const std::shared_ptr<DeviceMemory>& other) {
      return other == memory || (other->data() < memory->data() + memory->size() &&
                                 memory->data() < other->data() + other->size());
    });
    if (is_shared)
      throw devices::NotRecordable(
          "an argument that shares memory with an array which the function has from elsewhere, in a graph",
          "pass the other array, too, or a copy");
  }
}

void CapturedGraph::move_to(const GraphGroups& groups) {
  for (const Patch& patch : patches_) {
    const Address low = groups.groups[patch.group].low;
    if (low != groups_.groups[patch.group].low)
      graph_->set_address(patch.step, patch.number, low + static_cast<Address>(patch.offset));
  }
  groups_ = groups;
}

nb::object CapturedGraph::replay(const nb::list& list) {
  compute_all();
  const std::vector<PyObject*> leaves = pointers(list);
  const GraphGroups groups(leaves);
  if (!fits(leaves, groups)) return nb::none();
  refuse_shared(leaves);
  std::vector<std::shared_ptr<DeviceMemory>> fresh;
  for (const Copy& copy : copies_) fresh.push_back(DeviceMemory::allocate(graph_->device(), copy.bytes));
  move_to(groups);
  for (PyObject* const leaf : leaves)
    if (is_device_array(leaf)) device_array(leaf).memory->use();
  for (const std::shared_ptr<DeviceMemory>& memory : outside_) memory->use();
  launch();
  for (size_t i = 0; i < copies_.size(); ++i)
    if (copies_[i].bytes > 0)
      graph_->device().copy(address_of(fresh[i]->data()), copies_[i].from, copies_[i].bytes);
  nb::list made;
  for (const Result& result : results_) {
    if (result.kind == Result::Kind::Leaf) {
      made.append(nb::handle(leaves[result.number]));
    } else if (result.kind == Result::Kind::Same) {
      made.append(result.object);
    } else {
      Window window = result.window;
      const bool is_view = result.kind == Result::Kind::View;
      const std::shared_ptr<DeviceMemory>& memory =
          is_view ? device_array(leaves[result.number]).memory : fresh[result.number];
      window.data =
          (is_view ? device_array(leaves[result.number]).window.data : memory->data()) + result.offset;
      made.append(new_device_array(window, result.is_writable, memory));
    }
  }
  return nb::object(std::move(made));
}

void CapturedGraph::launch() {
  graph_->begin();
  for (size_t i = 0; i < graph_->pieces(); ++i) {
    graph_->launch(i);
    if (i >= graph_->waits().size()) continue;
    const Recording::Wait& wait = graph_->waits()[i];
    std::optional<runtime::Error> error;
    {
      const nb::gil_scoped_release released;
      error = runtime::look_at_record(&graph_->device(), pointer_of(wait.looks_at->address()));
    }
    if (error) raise(*error, wait.caller);
  }
}

void CapturedGraph::raise(const runtime::Error& error, size_t caller) const {
  const auto& [code, info, errors] = callers_[caller];
  const nb::tuple failure = failure_of(*info, error);
  const nb::object made = nb::module_::import_("ingot._host.exceptions").attr("exception")(*failure, errors);
  set_error(made);
  throw nb::python_error();
}

void CapturedGraph::settle() {
  for (const Address address : stand_ins_) graph_->release(address);
  stand_ins_.clear();
}

size_t CapturedGraph::launches() const {
  return static_cast<size_t>(
      std::ranges::count(graph_->steps(), devices::Step::Kind::Launch, &devices::Step::kind));
}

int CapturedGraph::traverse(visitproc visit, void* arg) const {
  for (const auto& [code, info, errors] : callers_) {
    Py_VISIT(code.ptr());
    Py_VISIT(errors.ptr());
  }
  for (const Leaf& leaf : leaves_) Py_VISIT(leaf.value.ptr());
  for (const Result& result : results_) Py_VISIT(result.object.ptr());
  return 0;
}

void CapturedGraph::clear() {
  for (GraphCaller& caller : callers_) caller.errors.reset();
  for (Leaf& leaf : leaves_) leaf.value.reset();
  for (Result& result : results_) result.object.reset();
}

void bind_graphs(nb::module_& m) {
  nb::class_<GraphRecorder>(m, "GraphRecorder")
      .def(nb::init<const DeviceHandle&>(), "device"_a)
      .def("close", &GraphRecorder::close)
      .def("stand_ins", &GraphRecorder::stand_ins, "leaves"_a)
      .def("finish", &GraphRecorder::finish, "leaves"_a, "results"_a);
  nb::class_<CapturedGraph>(m, "CapturedGraph", nb::type_slots(Collected<CapturedGraph>::slots()))
      .def("replay", &CapturedGraph::replay, "leaves"_a)
      .def("settle", &CapturedGraph::settle)
      .def_prop_ro("is_shared", &CapturedGraph::is_shared)
      .def_prop_ro("launches", &CapturedGraph::launches)
      .def_prop_ro("waits", &CapturedGraph::waits);
  m.def("is_recording", [] { return Recording::of_thread() != nullptr; });
}

}  // namespace ingot::eager
