#include "bindings/mpi.h"

#include <nanobind/nanobind.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <new>
#include <string_view>
#include <unordered_map>
#include <vector>

// mpi4py's objects are structs of C: after the header of Python's comes the handle of the MPI library's.
// `ingot._objects.mpi` asks mpi4py for its address in one object of each class, when the class is first met.
// An object is described as an instance whose attribute is an array on its handle, so that no handle is part
// of compiled code; the constants of MPI's own are known by name, and their handles are asked for by number.

namespace ingot::bindings {

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace {

/// What is known of a class.
struct Class {
  PyTypeObject* type = nullptr;
  PyObject* own = nullptr;  ///< the class that stands for it; null: compiled code has no handles of it
  size_t offset = 0;
  int dtype = 0;
  Py_ssize_t count = 0;
};

/// Part of the closed list of process-wide state: the classes that have been met, mpi4py's constants, and the
/// library.
std::vector<Class>& classes() {
  static std::vector<Class> all;
  return all;
}
std::vector<PyObject*>& constants() {
  static std::vector<PyObject*> all;
  return all;
}
MpiLibrary& library() {
  static MpiLibrary known;
  return known;
}

bool is_of_mpi(const PyTypeObject* type) { return std::strncmp(type->tp_name, "mpi4py.MPI.", 11) == 0; }

const Class& class_of(PyObject* object) {
  PyTypeObject* const type = Py_TYPE(object);
  for (const Class& known : classes())
    if (known.type == type) return known;
  const nb::module_ mpi = nb::module_::import_("ingot._objects.mpi");
  if (constants().empty()) {
    const nb::object all = mpi.attr("constants")();
    for (const nb::handle each : all) constants().push_back(nb::borrow(each).release().ptr());
  }
  Class found;
  found.type = reinterpret_cast<PyTypeObject*>(Py_NewRef(reinterpret_cast<PyObject*>(type)));
  const nb::object told = mpi.attr("layout_of")(nb::handle(object));
  if (!told.is_none()) {
    found.own = nb::object(told[0]).release().ptr();
    found.offset = nb::cast<size_t>(told[1]);
    found.dtype = nb::cast<int>(told[2]);
    found.count = nb::cast<Py_ssize_t>(told[3]);
  }
  classes().push_back(found);
  return classes().back();
}

}  // namespace

bool is_constant_handle(PyObject* object) {
  const std::string_view name = Py_TYPE(object)->tp_name;  // two classes are Python's
  if (name != "InPlaceType" && name != "BottomType" && !is_of_mpi(Py_TYPE(object))) return false;
  class_of(object);
  return std::ranges::find(constants(), object) != constants().end();
}

bool is_handle(PyObject* object) {
  return is_of_mpi(Py_TYPE(object)) && class_of(object).own != nullptr && !is_constant_handle(object);
}

Handle handle_of(PyObject* object) {
  const Class& known = class_of(object);
  return {reinterpret_cast<char*>(object) + known.offset, known.dtype, known.count, known.own};
}

void set_mpi(MpiLibrary given) { library() = given; }

namespace {

/// Part of the closed list of process-wide state.
std::atomic<int64_t> pending_requests = 0;

}  // namespace

int32_t ingot_mpi_count(int64_t by) {
  pending_requests += by;
  return 0;
}

int32_t ingot_mpi_receive(void* request, void* status) {
  using Clock = std::chrono::steady_clock;
  constexpr int kAtOnce = 4096;  // tests without a look at the clock
  constexpr auto kAtFullSpeed = std::chrono::milliseconds(1);
  constexpr auto kBetweenLooks = std::chrono::milliseconds(50);
  int is_done = 0;
  for (int i = 0; i < kAtOnce; ++i)
    if (const int code = library().test(request, &is_done, status); code != 0 || is_done != 0) return code;
  const bool handles_signals = is_main_thread() && pending_requests == 0;
  const Clock::time_point start = Clock::now();
  Clock::time_point look = start + kBetweenLooks;
  while (true) {
    if (const int code = library().test(request, &is_done, status); code != 0 || is_done != 0) return code;
    const Clock::time_point now = Clock::now();
    if (now > start + kAtFullSpeed) sched_yield();
    if (!handles_signals || now < look) continue;
    look = now + kBetweenLooks;
    if (!is_interrupted()) continue;
    library().cancel(request);
    library().wait(request, status);
    return kInterrupted;
  }
}

namespace {

/// Part of the closed list of process-wide state. What derivatives leave that an exception ended stays in it:
/// MPI may still write there.
struct Parcels {
  std::mutex mutex;
  int64_t last = 0;
  std::unordered_map<int64_t, std::vector<char>> by_number;
};
Parcels& parcels() {
  static Parcels all;
  return all;
}

constexpr size_t kBytesOfRequest = 16;

/// What goes with a message, after its elements.
struct Label {
  int64_t number = 0;
  uint64_t mark = kMark;
  static constexpr uint64_t kMark = 0x6c6563726170f00d;
};

}  // namespace

int32_t ingot_mpi_parcel(int64_t bytes, const void* elements, int64_t* made) {
  const auto size = static_cast<size_t>(bytes);
  try {
    std::vector<char> parcel(kBytesOfRequest + size + sizeof(Label));
    const std::scoped_lock lock(parcels().mutex);
    *made = ++parcels().last;
    if (elements != nullptr) {
      const Label label{.number = *made};
      if (size > 0) std::memcpy(parcel.data() + kBytesOfRequest, elements, size);
      std::memcpy(parcel.data() + kBytesOfRequest + size, &label, sizeof label);
    }
    parcels().by_number.emplace(*made, std::move(parcel));
  } catch (const std::bad_alloc&) {
    return 1;
  }
  return 0;
}

int32_t ingot_mpi_find(int64_t number, int64_t* address) {
  const std::scoped_lock lock(parcels().mutex);
  const auto found = parcels().by_number.find(number);
  if (found == parcels().by_number.end()) return 1;
  *address = reinterpret_cast<int64_t>(found->second.data());
  return 0;
}

int32_t ingot_mpi_unpack(int64_t number, int64_t bytes, void* elements, int64_t* sender) {
  std::vector<char> parcel;
  {
    const std::scoped_lock lock(parcels().mutex);
    const auto found = parcels().by_number.find(number);
    if (found == parcels().by_number.end()) return 1;
    parcel = std::move(found->second);
    parcels().by_number.erase(found);
  }
  *sender = 0;
  const auto size =
      std::min(static_cast<size_t>(std::max<int64_t>(bytes, 0)), parcel.size() - kBytesOfRequest);
  if (size == 0) return 0;
  if (size < sizeof(Label)) return 2;
  const char* const message = parcel.data() + kBytesOfRequest;
  const size_t of_elements = size - sizeof(Label);
  Label label;
  std::memcpy(&label, message + of_elements, sizeof label);
  if (label.mark != Label::kMark) return 2;
  if (of_elements > 0) std::memcpy(elements, message, of_elements);
  *sender = label.number;
  return 0;
}

void bind_mpi(nb::module_& m) {
  m.def(
      "is_handle", [](nb::handle object) { return is_handle(object.ptr()); }, "object"_a.none(),
      "Whether an object is one of mpi4py's whose handle compiled code reads at each call.");
  m.def(
      "is_constant_handle", [](nb::handle object) { return is_constant_handle(object.ptr()); },
      "object"_a.none(), "Whether an object is one of mpi4py's constants that compiled code knows.");
  m.def(
      "set_mpi",
      [](uintptr_t test, uintptr_t cancel, uintptr_t wait) {
        set_mpi({reinterpret_cast<MpiLibrary::Test*>(test),         // NOLINT
                 reinterpret_cast<MpiLibrary::OfRequest*>(cancel),  // NOLINT
                 reinterpret_cast<MpiLibrary::Wait*>(wait)});       // NOLINT
        nb::dict own;
        own["receive"] = reinterpret_cast<uintptr_t>(&ingot_mpi_receive);
        own["count"] = reinterpret_cast<uintptr_t>(&ingot_mpi_count);
        own["parcel"] = reinterpret_cast<uintptr_t>(&ingot_mpi_parcel);
        own["find"] = reinterpret_cast<uintptr_t>(&ingot_mpi_find);
        own["unpack"] = reinterpret_cast<uintptr_t>(&ingot_mpi_unpack);
        return own;
      },
      "test"_a, "cancel"_a, "wait"_a,
      "Sets functions of the MPI library; returns the addresses of the functions here, by name.");
}

}  // namespace ingot::bindings
