#pragma once

#include "frontend/tracer/frame.h"

namespace ingot::frontend {

/// Lists of the caller's that are list buffers (kinds/list_buffers.h), and dicts that are two of them
/// (kinds/mappings.h): those of more than a few elements, and those that get elements as the call runs.
/// Their columns are arrays that the call is given; what the code makes of them, the caller's list becomes
/// when the call ends, even by an exception, and before host calls. For that the cells of such a list hold
/// its length and, once it has outgrown its columns, the numbers of their buffers. Only a list that is
/// changed has cells, and the form of its elements never changes.
class CallersLists {
 public:
  explicit CallersLists(Tracer& t) : t_(t) {}

  Value parameter(const Description& given, const std::string& name, int number);
  /// When all parameters are there: takes the lengths, and makes list buffers of the empty ones of which it
  /// is known what they get.
  void open();
  /// Makes the tables of dicts, where the function begins.
  void open_dicts(nb::handle node);
  /// Of all containers of the caller's, see Lowered.
  nb::tuple layouts();
  /// Whether a list or dict that is described element by element could be one of list buffers.
  static bool may_be_list_buffer(const Description& container);

  /// Asks for a list or dict of known structure to be described otherwise, if it can be.
  void ask_for(const HeapObject& container) const;
  /// The same of one that two paths have changed, if it still has numbers alone.
  void ask_at_join(const HeapObject& a, const HeapObject& b) const;
  /// Whether it is an empty one that becomes a list buffer, or two, when it gets elements.
  bool is_waiting(const HeapObject& container) const;
  /// Before elements are added to a list of known length.
  void add_first(const HeapObject& list, std::span<const Value> elements, nb::handle node);
  /// Before an item is added to a dict.
  void add_first(const HeapObject& dict, const Value& key, const Value& value, nb::handle node);
  /// Refuses an element of another form, which all are to have then.
  void need_element(const HeapObject& list, const Value& form, const Value& element, nb::handle node);
  /// Before a list buffer is changed: the caller's is to be changed, too.
  void need_writes(const HeapObject& list, nb::handle node);
  /// After a change of its length, or of its columns to new ones.
  void set_length(const HeapObject& list);
  void set_columns(const HeapObject& list, std::span<const Value> columns);

 private:
  std::optional<Value> form_of_numbers(const Value& element) const;
  /// A list of columns that the call is given, or an empty one of this form.
  HeapObject given(const Description& list, const std::string& name);
  HeapObject empty(int argument, const Value& form, size_t cell);
  Value form_of_first(const Value& element, nb::handle node);
  nb::object layout(const HeapObject& container);
  Description layout(const HeapObject& list, int leaf);
  uint32_t add(HeapObject object);
  void set_cell(const HeapObject& list, size_t number, NodeId value);
  const CallersContainer& container(const HeapObject& list) const {
    return t_.containers[static_cast<size_t>(list.argument)];
  }

  Tracer& t_;
};

}  // namespace ingot::frontend
