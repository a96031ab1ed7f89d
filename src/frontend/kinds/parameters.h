#pragma once

#include "frontend/tracer/frame.h"

namespace ingot::frontend {

/// The function that gives the history of a set of what is described of it.
inline constexpr const char* kHistory = "__ingot_history__";
/// The method by which an instance of a class of the library's becomes a copy of a container of the caller's.
inline constexpr const char* kTakes = "__ingot_take__";

/// The values of arguments, and of what is outside, by their descriptions: parameters of the IR, and the
/// caller's containers in the shadow heap.
class Parameters {
 public:
  explicit Parameters(Tracer& t) : t_(t) {}

  /// `number`: of the argument that it is part of; -1: none. `is_named`: in a dict or an instance.
  Value value(const Description& given, const std::string& name, int number, bool is_named = false);
  Value array(const described::Array& given, const std::string& name, int number);

  // kinds/copies.cpp
  /// Makes the copies of those of the caller's containers that have classes of the library's. Whether there
  /// are any.
  bool make_copies();
  /// Runs the body of the outermost function, and stores what has changed of copies, also where it raises.
  Value with_copies(Frame& frame, const std::function<Value()>& body);
  void store_copies();
  bool has_changes() const;  ///< whether a copy may have changed, at this point
  /// Asks for the fact that something is stored, where a set that is a copy is about to change.
  void will_change(const Set& set) const;
  /// The number of the caller's container whose copy an object is; none: it is no copy.
  std::optional<int64_t> number_of_copy(uint32_t object) const;

 private:
  Value container(HeapObject object, const Description& given, const std::string& name, int number,
                  bool is_named);
  static int copy_of(size_t number) { return -2 - static_cast<int>(number); }
  std::vector<uint32_t> copies() const;  ///< that the function can see
  Value known_set(const Description& given);
  void store_copy(uint32_t object, const nb::object& node);
  void store_set(uint32_t cell, nb::handle node);
  /// The host function stores something in the caller's container.
  void call_store(const nb::object& function, int64_t number, const std::vector<Value>& parts);
  std::vector<Value> parts(const Description& given, const std::string& name, int number, bool is_named);

  Tracer& t_;
};

}  // namespace ingot::frontend
