#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "devices/recording.h"
#include "eager/device_array.h"
#include "runtime/object_info.h"

/// Graphs of what functions launch: what `ingot.graph` is in C++.
namespace ingot::eager {

/// Code whose launch may raise, and what its exceptions are made of.
struct GraphCaller {
  nb::object code;
  const runtime::ObjectInfo* info;  ///< which `code` has
  nb::object errors;
};

class CapturedGraph;

/// While it is open, what the calling thread gives a device is recorded. Wants the GIL.
class GraphRecorder {
 public:
  /// Throws NotRecordable if the thread records already.
  explicit GraphRecorder(const DeviceHandle& device);
  ~GraphRecorder() { close(); }
  GraphRecorder(const GraphRecorder&) = delete;
  GraphRecorder& operator=(const GraphRecorder&) = delete;

  void close() noexcept;
  /// New arrays of the same layouts and overlaps, which nobody else has; other leaves as they are.
  nb::list stand_ins(const nb::list& leaves);
  /// The graph, closed. `leaves`: the arrays and numbers that it may be given others for; `results`: arrays.
  std::unique_ptr<CapturedGraph> finish(const nb::list& leaves, const nb::list& results);

  /// @name From a thread that records
  /// The memory of an array that is used.
  static void note(std::shared_ptr<DeviceMemory> memory);
  /// Compiled code that begins.
  static void begin_call(nb::object code, const runtime::ObjectInfo& info, nb::handle errors);

 private:
  devices::Recording recording_;
  GraphRecorder* const outer_;
  std::vector<std::shared_ptr<DeviceMemory>> outside_;
  std::vector<GraphCaller> callers_;
  std::vector<devices::Address> stand_ins_;
};

/// How arrays among leaves overlap.
struct GraphGroups {
  struct Position {
    size_t group = 0;    ///< of arrays whose reaches overlap, counted by their first leaves
    int64_t offset = 0;  ///< of the array's lowest byte in it
    bool operator==(const Position&) const = default;
  };
  explicit GraphGroups(const std::vector<PyObject*>& leaves);

  std::vector<Position> positions;  ///< by leaf
  std::vector<base::ByteRange> groups;
};

/// A graph with the leaves that it was recorded with. Wants the GIL; one thread at a time uses it.
class CapturedGraph {
 public:
  CapturedGraph(std::unique_ptr<devices::Graph> graph, std::vector<std::shared_ptr<DeviceMemory>> outside,
                std::vector<GraphCaller> callers, std::vector<devices::Address> stand_ins,
                const std::vector<PyObject*>& leaves, const nb::list& results);

  /// The result arrays for these leaves: fresh ones, or what shows the leaves' memory; None: the graph is not
  /// one for them. Throws what a launch raises.
  nb::object replay(const nb::list& leaves);
  bool is_shared() const { return graph_->is_shared(); }
  /// Releases the arrays that were stand-ins for others during the capture.
  void settle();
  size_t launches() const;
  size_t waits() const { return graph_->waits().size(); }

  /// For Python's collector (collected.h).
  int traverse(visitproc visit, void* argument) const;
  void clear();

 private:
  struct Leaf {
    bool is_array = false;
    bool is_writable = false;
    Window window{};
    nb::object value;  ///< of what is no array
  };
  /// An address in a step that is one of a leaf's memory.
  struct Patch {
    size_t step;
    size_t number;
    size_t group;
    int64_t offset;
  };
  struct Result {
    enum class Kind : uint8_t { Leaf, View, Copy, Same } kind = Kind::Same;
    size_t number = 0;   ///< of the leaf, or among `copies_`
    int64_t offset = 0;  ///< of a view or copy: of its first element, from the leaf's, or in the memory
    Window window{};
    bool is_writable = false;
    nb::object object;  ///< what is the same each time
  };
  struct Copy {
    const DeviceMemory* memory;
    devices::Address from;
    int64_t bytes;
  };

  bool fits(const std::vector<PyObject*>& leaves, const GraphGroups& groups) const;
  void refuse_shared(const std::vector<PyObject*>& leaves) const;
  void find_patches();
  Result result_of(PyObject* array, const std::vector<PyObject*>& leaves);
  void move_to(const GraphGroups& groups);
  void launch();
  [[noreturn]] void raise(const runtime::Error& error, size_t caller) const;

  std::unique_ptr<devices::Graph> graph_;
  std::vector<std::shared_ptr<DeviceMemory>> outside_;
  std::vector<GraphCaller> callers_;
  std::vector<devices::Address> stand_ins_;
  std::vector<Leaf> leaves_;
  GraphGroups groups_;  ///< as the graph has them now
  std::vector<Patch> patches_;
  std::vector<Copy> copies_;
  std::vector<Result> results_;
};

}  // namespace ingot::eager
