#include "bindings/streams.h"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <optional>
#include <vector>

#include "base/bits.h"
#include "bindings/shards.h"

// NumPy's objects keep a copy of their bit generator's `bitgen_t`, and a RandomState the second number of a
// pair of normal ones, which its methods return only with the whole state. So these are looked for in an
// object of each class, once: five words that are those after the capsule of its bit generator, the address
// of its lock, and for a RandomState the address of the five words, after which the number must be. What is
// not found is not used.
//
// A stream - a Generator or RandomState - is described as an instance whose attributes are arrays on NumPy's
// own struct: `bitgen_t`, the address of the state and the functions that draw from it, and of a RandomState
// the pair of normal numbers. `bindings/streams` finds both in the object, where they were found, and
// checked, in one of each class; no Python runs. A call holds the locks of its streams. The op `draw` names a
// routine of the table in `base/random.h`, takes the struct, and is a call of C in compiled code and
// interpreter alike. All else is Python (`random*.py` of `ingot/library`): sizes, broadcasting, checks,
// shuffles and choices. A generator that the function makes is a buffer: NumPy computes the state of the
// seed, once, and the state of the PCG64 comes after the struct.
//
// The routines are those of NumPy's `libnpyrandom.a`, linked from the wheel that the build finds. Written
// anew, the distributions would have to be followed by hand when NumPy changes a stream. What is written anew
// is what arrays spend their time in: the words of its bit generators (`base/bits`), compared with NumPy's
// when a class is first met, and the fast paths of its distributions (`base/fills`). (NumPy's extension
// modules on Linux export them as well, which nothing promises.) A library that is linked can differ from the
// NumPy that is imported, so the versions are compared when a draw is compiled, and another one is refused.
// The legacy distributions are not in that library: the few that are there (normal, exponential) are a few
// lines each. The library has the licences in NumPy's `random/LICENSE.md`, BSD and MIT, which the package
// carries.

namespace ingot::bindings {

namespace nb = nanobind;

namespace {

/// Offsets in the objects of a class, in words.
struct Layout {
  PyTypeObject* type = nullptr;
  size_t stream = 0;
  size_t lock = 0;
  size_t legacy = 0;  ///< 0: none
};

const uint64_t* words_of(PyObject* object) { return reinterpret_cast<const uint64_t*>(object); }

/// The offset in an object, after its header, where `fits` holds; none if that is not exactly one.
std::optional<size_t> find_words(PyObject* object, size_t count,
                                 const std::function<bool(const uint64_t*)>& fits) {
  const auto size = static_cast<size_t>(Py_TYPE(object)->tp_basicsize) / sizeof(uint64_t);
  std::optional<size_t> found;
  for (size_t i = sizeof(PyObject) / sizeof(uint64_t); i + count <= size; ++i) {
    if (!fits(words_of(object) + i)) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

/// Whether an object has the second normal number where it is thought to be.
bool has_normal_at(const nb::object& object, size_t legacy) {
  for (int i = 0; i < 2; ++i) {
    object.attr("standard_normal")();
    const nb::object state = object.attr("get_state")(nb::arg("legacy") = false);
    int has_normal = 0;
    double normal = 0;
    std::memcpy(&has_normal, words_of(object.ptr()) + legacy + 1, sizeof(has_normal));
    std::memcpy(&normal, words_of(object.ptr()) + legacy + 2, sizeof(normal));
    if (has_normal != nb::cast<int>(state["has_gauss"]) || normal != nb::cast<double>(state["gauss"]))
      return false;
  }
  return true;
}

Layout look_into(const nb::module_& random, const char* name) {
  const nb::object bits = random.attr("MT19937")(0);
  const nb::object object = random.attr(name)(bits);
  const nb::object capsule = bits.attr("capsule");
  const void* const stream = PyCapsule_GetPointer(capsule.ptr(), "BitGenerator");
  if (stream == nullptr) throw nb::python_error();
  const nb::object lock = bits.attr("lock");
  const auto at = find_words(object.ptr(), Stream::kWords, [&](const uint64_t* words) {
    return std::memcmp(words, stream, Stream::kWords * sizeof(uint64_t)) == 0;
  });
  const auto lock_at = find_words(
      object.ptr(), 1, [&](const uint64_t* word) { return *word == reinterpret_cast<uint64_t>(lock.ptr()); });
  if (!at || !lock_at) return {};
  Layout layout{Py_TYPE(object.ptr()), *at, *lock_at};
  if (std::strcmp(name, "RandomState") != 0) return layout;
  const auto legacy_at = find_words(object.ptr(), Stream::kLegacyWords, [&](const uint64_t* words) {
    return *words == reinterpret_cast<uint64_t>(words_of(object.ptr()) + *at);
  });
  if (!legacy_at || !has_normal_at(object, *legacy_at)) return {};
  layout.legacy = *legacy_at;
  return layout;
}

/// Those of Generator and RandomState; null while numpy.random is not loaded.
const std::array<Layout, 2>* layouts() {
  static std::optional<std::array<Layout, 2>> known;
  if (known) return &*known;
  const nb::object random = nb::steal(PyImport_GetModule(nb::str("numpy.random").ptr()));
  if (!random.is_valid() || !nb::hasattr(random, "RandomState")) {
    PyErr_Clear();
    return nullptr;
  }
  const nb::module_ module = nb::borrow<nb::module_>(random);
  known = {look_into(module, "Generator"), look_into(module, "RandomState")};
  return &*known;
}

const Layout* layout_of(PyObject* object) {
  if (std::strncmp(Py_TYPE(object)->tp_name, "numpy.random.", 13) != 0) return nullptr;
  const auto* const all = layouts();
  if (all == nullptr) return nullptr;
  for (const Layout& layout : *all)
    if (layout.type == Py_TYPE(object)) return &layout;
  return nullptr;
}

}  // namespace

bool is_stream(PyObject* object) {
  const Layout* const layout = layout_of(object);
  return layout != nullptr && words_of(object)[layout->stream] != 0;  // made by `__init__`
}

Stream stream_of(PyObject* object) {
  const Layout& layout = *layout_of(object);
  auto* const words = reinterpret_cast<uint64_t*>(object);
  return {words + layout.stream, layout.legacy == 0 ? nullptr : words + layout.legacy,
          reinterpret_cast<PyObject*>(words[layout.lock])};  // NOLINT(performance-no-int-to-ptr)
}

namespace {

/// The names of the classes, in the order of `BitKind`.
constexpr std::array<const char*, base::kBitKinds> kBitClasses = {"PCG64", "PCG64DXSM", "Philox", "SFC64",
                                                                  "MT19937"};

base::Stream* stream_of_bits(const nb::object& bits) {
  auto* const stream =
      static_cast<base::Stream*>(PyCapsule_GetPointer(bits.attr("capsule").ptr(), "BitGenerator"));
  if (stream == nullptr) throw nb::python_error();
  return stream;
}

}  // namespace

void know_bits_of(PyObject* object) {
  // Part of the closed list of process-wide state: the functions that have been looked at.
  static std::vector<uint64_t (*)(void*)> seen;
  const auto& stream = *reinterpret_cast<const base::Stream*>(stream_of(object).words);
  if (std::ranges::find(seen, stream.next_uint64) != seen.end()) return;
  seen.push_back(stream.next_uint64);
  const bool is_legacy = layout_of(object)->legacy != 0;
  const nb::object bits = nb::handle(object).attr(is_legacy ? "_bit_generator" : "bit_generator");
  const nb::handle type = bits.type();
  const nb::module_ random = nb::module_::import_("numpy.random");
  for (size_t kind = 0; kind < base::kBitKinds; ++kind) {
    if (!type.is(random.attr(kBitClasses[kind]))) continue;
    const nb::object one = type(0);
    const nb::object other = type(0);
    base::know_bits(static_cast<base::BitKind>(kind), *stream_of_bits(one), *stream_of_bits(other));
  }
}

namespace {

/// A name that is made once, and throws only then.
PyObject* interned(PyObject*& known, const char* name) {
  if (known == nullptr) known = PyUnicode_InternFromString(name);
  if (known == nullptr) throw nb::python_error();
  return known;
}

/// Part of the closed list of process-wide state.
constinit PyObject* acquire_name = nullptr;
constinit PyObject* release_name = nullptr;

}  // namespace

Locked::Locked(std::span<PyObject* const> locks) {
  if (locks.empty()) return;
  // What is held can be let go of without memory.
  interned(acquire_name, "acquire");
  interned(release_name, "release");
  held_.reserve(locks.size());
  std::vector<PyObject*> sorted(locks.begin(), locks.end());
  std::ranges::sort(sorted);
  for (PyObject* const lock : sorted) {
    const nb::object got = nb::steal(PyObject_CallMethodNoArgs(lock, acquire_name));
    if (!got.is_valid()) {
      nb::python_error error;
      release();
      throw error;
    }
    held_.push_back(lock);
  }
  holds_streams(1);
  is_counted_ = true;
}

void Locked::release() noexcept {
  if (is_counted_) holds_streams(-1);
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  for (PyObject* const lock : held_) {
    Py_XDECREF(PyObject_CallMethodNoArgs(lock, release_name));
    if (PyErr_Occurred() != nullptr) PyErr_WriteUnraisable(lock);
  }
  PyErr_Restore(type, value, trace);
  held_.clear();
}

}  // namespace ingot::bindings
