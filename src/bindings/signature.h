#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bindings/call_target.h"
#include "bindings/described.h"
#include "bindings/inline_vector.h"
#include "bindings/list_columns.h"
#include "bindings/words.h"

/// What arguments are, as far as it decides what is compiled for them: kinds of scalars; dtype, number of
/// axes, writability and shared memory of arrays; values of what is static; structure of containers.
namespace ingot::bindings {

namespace nb = nanobind;

/// A value outside that a function takes as a further argument.
struct Capture {
  PyObject* owner;
  PyObject* name;
};

/// The attributes of a class whose values are described, for each of its instances.
struct Attributes {
  PyTypeObject* type;
  std::vector<PyObject*> names;  ///< strings
};

/// Whether an object is an instance of a class that is made of Python's `object` and classes of the user's
/// alone, or a SimpleNamespace.
bool is_instance(PyObject* object);
/// Whether an object is a namedtuple without attributes of its own that is read as a tuple is.
bool is_namedtuple(PyObject* object);

/// Whether a value outside a function is described at each call, as a further argument: an array, list, dict,
/// instance of a user's class, stream of random numbers or object of mpi4py's, or a tuple that leads to one
/// of these. Runs no code.
bool is_captured(PyObject* object);

/// What is described of an argument or capture besides.
struct Detail {
  bool is_demanded = false;  ///< the values of numbers, and of those in it, are part of its kind
  bool is_measured = false;  ///< ... short last axes of arrays are
  bool is_opened = false;    ///< strings are described by their characters
  bool has_buffers = false;  ///< short lists of elements that are alike are list buffers, as long ones are
  bool is_static = false;    ///< as if demanded; what has no description is what it is, by identity
};

/// What must be known of a function to describe its arguments.
struct Parameters {
  nb::tuple names;              ///< of the arguments, strings
  std::vector<Detail> details;  ///< by argument and capture
  std::vector<Capture> captures;
  std::vector<Attributes> attributes;
  std::vector<size_t> static_positions;  ///< what is static of the arguments in `*args`, which is `rest`
  std::vector<PyObject*> static_names;   ///< ... and in `**kwargs`, which comes last: strings
  size_t rest = 0;
  /// Whether arrays that NumPy counts as in C or Fortran order are of kinds of their own.
  bool sees_layout = false;
  devices::Device* device = nullptr;  ///< where all calls run; null: where their arrays are
  bool only_reads = false;            ///< calls write into no argument
  bool has_alike = false;  ///< a function among what is static may be another one that does the same

  /// What is described of a class's instances; null: nothing.
  const Attributes* attributes_of(const PyTypeObject* type) const {
    for (const Attributes& each : attributes)
      if (each.type == type) return &each;
    return nullptr;
  }
};

/// What an instance holds itself, in its dict or the slots of its class; what its class holds is guarded.
class OwnAttributes {
 public:
  /// Of what outlives this. Throws MemoryError.
  explicit OwnAttributes(PyObject* instance);
  /// A new reference; null: nothing, or an exception is set.
  PyObject* find(PyObject* name) const;

 private:
  PyObject* instance_;
  nb::object dict_;
};

/// What a call gets of its arguments.
struct Given {
  std::span<PyObject* const> leaves;      ///< numbers and arrays, in order
  std::span<PyObject* const> containers;  ///< lists, dicts and instances, each once, in order
  std::span<PyObject* const> locks;       ///< of the streams of random numbers
  CallTarget target;                      ///< where it runs
};

/// The descriptions of one list of arguments, and the leaves that compiled code gets of it. They are words
/// and the objects that some of them stand for: equal ones are equal descriptions. Wants the GIL.
class Signature {
 public:
  Signature() {}  // NOLINT: as InlineVector
  Signature(const Signature&) = delete;
  Signature& operator=(const Signature&) = delete;

  /// Describes what can be described without running any code, holding what only containers and captures
  /// hold; the arguments themselves are the caller's. False: `describe` must see them.
  bool describe_quickly(const Parameters& parameters, PyObject* const* values, size_t count);

  /// Describes any arguments, and holds them. Foreign ones are described by `ingot._objects.foreign`. False
  /// with an exception set, or an exception thrown: an int does not fit 64 bits, or an argument is refused,
  /// of which `refusal` (a callable that takes name, message and advice) makes an exception.
  bool describe(const Parameters& parameters, PyObject* const* values, size_t count, PyObject* refusal);

  /// The descriptions of the arguments, the captures and the device.
  nb::tuple key() const;

  std::span<const uint64_t> words() const { return words_.span(); }
  /// What static values, keys and foreign arguments are, in the order of their words.
  std::span<PyObject* const> objects() const { return objects_.span(); }
  /// Numbers and arrays, in order.
  std::span<PyObject* const> leaves() const { return leaves_.span(); }
  /// Lists, dicts and instances, each once, in order.
  std::span<PyObject* const> containers() const { return containers_.span(); }
  /// The locks of the streams of random numbers among the arguments.
  std::span<PyObject* const> locks() const { return locks_.span(); }
  /// Where the call runs: on the device of its arrays.
  CallTarget target() const { return {device_, parameters_->device != nullptr && !has_device_arrays_}; }
  Given given() const { return {leaves(), containers(), locks(), target()}; }
  /// Whether equal words and objects are equal descriptions: there is nothing foreign.
  bool is_closed() const { return is_closed_; }
  /// Takes care of an object until the end.
  void hold(PyObject* new_reference) { held_.add(new_reference); }

 private:
  struct Path;

  bool describe_all(const Parameters& parameters, PyObject* const* values, size_t count);
  bool describe_value(PyObject* value, const Path& path);
  bool other(PyObject* value, const Path& path);
  bool array(PyObject* array, const Path& path);
  bool records(PyObject* value, const Path& path);
  bool range(PyObject* value, const Path& path);
  bool buffer(PyObject* value, const Path& path);
  bool copied(PyObject* value, const Path& path);
  bool memory_map(PyObject* value, const Path& path);
  bool device_array(PyObject* array, const Path& path);
  bool is_computed(PyObject* array) const;
  bool is_moved_to(devices::Device& device);
  /// Whether the device's libraries are used by what is compiled for it.
  bool uses_libraries() const;
  bool described(PyObject* array, const ArrayLayout& laid, const Path& path);
  bool number(PyObject* value, const Path& path);
  bool characters(PyObject* text, const Path& path);
  bool capture(const Parameters& parameters, size_t number);
  bool is_repeated(PyObject* container);
  bool container(PyObject* value, const Path& path);
  bool items(PyObject* value, const Path& path);
  std::optional<bool> list_buffer(PyObject* container, const Path& path);
  bool words_of_list(const ListColumns& list);
  void words_of_element(const ElementForm& form);
  bool values(PyObject* dict, const Path& path);
  bool rest(PyObject* tuple, const Path& path);
  bool is_static_name(PyObject* name) const;
  bool sequence(PyObject* tuple, const Path& path);
  bool instance(PyObject* value, const Path& path);
  bool stream(PyObject* value, const Path& path);
  bool handle(PyObject* value, const Path& path);
  bool stand_in(PyObject* value, PyObject* type, const char* name, PyObject* array, const Path& path);
  bool method(PyObject* value, const Path& path);
  bool partial(PyObject* value, const Path& path);
  bool words_of_stream(uint64_t* words, size_t count, const Path& path);
  bool attributes(PyObject* value, const Attributes* wanted, const Path& path);
  bool foreign(PyObject* value);
  void constant(PyObject* value, const Path& path);
  void scalar(PyObject* value, uint64_t kind, const Path& path);
  bool refuse(PyObject* container, const Path& path);
  template <class Fn>
  static bool nested(const char* where, Fn&& describe);
  void leaf(PyObject* value, const Path& path);
  void keep(PyObject* value, const Path& path);
  Description description(size_t& word, size_t& object) const;
  Description list_buffer(uint64_t columns, size_t& word, size_t& object) const;

  InlineVector<uint64_t, 64> words_;
  InlineVector<PyObject*, 24> objects_;
  InlineVector<PyObject*, 24> leaves_;
  InlineVector<PyObject*, 8> containers_;
  InlineVector<PyObject*, 8> open_;  ///< containers that are being described
  Held held_;
  InlineVector<PyObject*, 2> locks_;
  Memories memories_;
  const Parameters* parameters_ = nullptr;
  devices::Device* device_ = nullptr;
  bool has_device_arrays_ = false;
  PyObject* refusal_ = nullptr;
  PyObject* others_ = nullptr;  ///< `**kwargs`, if some of it is static
  bool is_quick_ = true;
  Detail detail_;  ///< of the argument that is being described
  bool is_closed_ = true;
};

}  // namespace ingot::bindings
