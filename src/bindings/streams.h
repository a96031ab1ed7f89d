#pragma once

#include <Python.h>

#include <cstdint>
#include <span>
#include <vector>

/// The streams of random numbers that NumPy's `Generator` and `RandomState` draw from.
namespace ingot::bindings {

/// Where an object has its stream.
struct Stream {
  uint64_t* words;         ///< NumPy's `bitgen_t`
  uint64_t* legacy_words;  ///< what a RandomState has besides (base/random.h); null: a Generator
  PyObject* lock;          ///< held while numbers are drawn; borrowed

  static constexpr size_t kWords = 5;
  static constexpr size_t kLegacyWords = 3;
};

/// Whether an object is a Generator or a RandomState, of no subclass, whose stream was found. Runs no code of
/// the user's.
bool is_stream(PyObject* object);
/// Its stream, which it keeps. The object is one of these.
Stream stream_of(PyObject* object);

/// Has the words of a Generator's or RandomState's bit generator drawn many at once from now on, by any of
/// its class, if they are of a class of NumPy's and what is drawn so is the same. Throws what making two of
/// the class raises.
void know_bits_of(PyObject* object);

/// Holds locks (of Python's) while it lives, always in one order, so that two calls that want the same ones
/// do not wait for each other. Wants the GIL.
class Locked {
 public:
  /// Throws what waiting raises.
  explicit Locked(std::span<PyObject* const> locks);
  ~Locked() {
    if (!held_.empty()) release();
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  void release() noexcept;

  std::vector<PyObject*> held_;
  bool is_counted_ = false;
};

}  // namespace ingot::bindings
