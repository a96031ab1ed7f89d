#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "bindings/inline_vector.h"
#include "bindings/signature.h"
#include "bindings/words.h"

namespace ingot::bindings {

/// Sees whether arguments are of a known description, by iterating over both at once: the cost of a call that
/// has been made before. Nothing is written but what compiled code gets. It knows numbers, NumPy's arrays,
/// those of records and single ones, constants, and slices, tuples, lists, dicts and instances of these;
/// other arguments, as lists that are list buffers, `Signature` describes. Code may run where
/// `describe_quickly` has some run: a collection of garbage, keys of instances' dicts that compare
/// themselves. Wants the GIL, and holds what only containers and captures hold.
class Recogniser {
 public:
  /// Whether a description has no other parts.
  static bool knows(std::span<const uint64_t> words);

  /// Whether `Signature::describe_quickly` would describe the arguments by these words and objects, which
  /// have been described by the same parameters; false may also mean that it must see them, or that an
  /// exception is set. All outlive this. Once for each object of the class.
  bool recognise(const Parameters& parameters, std::span<PyObject* const> values,
                 std::span<const uint64_t> words, std::span<PyObject* const> objects);

  std::span<PyObject* const> leaves() const { return leaves_.span(); }
  std::span<PyObject* const> containers() const { return containers_.span(); }

 private:
  uint64_t next_word();
  PyObject* next_object();
  bool value(PyObject* value, bool is_inside);
  bool array(PyObject* value, uint64_t wanted);
  bool records(PyObject* value, uint64_t wanted);
  bool tuple(PyObject* tuple);
  bool list(PyObject* list);
  bool dict(PyObject* dict);
  bool range(PyObject* range);
  bool namedtuple(PyObject* value);
  bool partial(PyObject* value);
  bool instance(PyObject* value, uint64_t count);
  bool capture(const Capture& capture);
  bool is_new(PyObject* container);

  std::span<const uint64_t> words_;
  std::span<PyObject* const> objects_;
  size_t word_ = 0;  ///< the next one
  size_t object_ = 0;
  const Parameters* parameters_ = nullptr;
  InlineVector<PyObject*, 24> leaves_;
  InlineVector<PyObject*, 8> containers_;
  Memories memories_;
  Held held_;
};

}  // namespace ingot::bindings
