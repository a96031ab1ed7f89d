#include "bindings/sets.h"

#include <algorithm>
#include <bit>
#include <new>
#include <vector>

namespace ingot::bindings {

namespace {

using nb::literals::operator""_a;

/// Of a slot of a table, as `ingot.library.sets` has them.
enum State : long { kEmpty, kHeld, kGone };

PySetObject* as_set(nb::handle set) { return reinterpret_cast<PySetObject*>(set.ptr()); }

State state_of(const setentry& slot) {
  if (slot.key == nullptr) return kEmpty;
  return slot.hash == -1 ? kGone : kHeld;
}

/// What CPython has in slots whose element is gone.
PyObject* gone() {
  static PyObject* const mark = [] {
    const nb::object set = nb::steal(PySet_New(nullptr));
    const nb::int_ number(0);
    if (!set.is_valid() || PySet_Add(set.ptr(), number.ptr()) != 0) throw nb::python_error();
    const auto* const table = as_set(set)->table;
    if (PySet_Discard(set.ptr(), number.ptr()) != 1) throw nb::python_error();
    return table[0].key;
  }();
  return mark;
}

/// Of each slot, what is in it, or None, and its state; and where `pop` looks first.
nb::tuple table_of_set(nb::handle set) {
  if (!PyAnySet_Check(set.ptr())) throw nb::type_error("a set has a table");
  const PySetObject* const it = as_set(set);
  nb::list elements;
  nb::list states;
  for (Py_ssize_t i = 0; i <= it->mask; ++i) {
    const State state = state_of(it->table[i]);
    elements.append(state == kHeld ? nb::handle(it->table[i].key) : nb::handle(Py_None));
    states.append(static_cast<long>(state));
  }
  return nb::make_tuple(elements, states, it->finger);
}

/// Has a set, which is empty once `clear` has run, hold such a table, as the operations have left it that
/// `ingot.library.sets` has taken over. The elements are numbers or strings, each once.
template <class Clear>
void put_table(nb::handle set, const nb::list& elements, const nb::list& states, Py_ssize_t finger,
               Clear&& clear) {
  const size_t size = nb::len(states);
  constexpr size_t kFewest = PySet_MINSIZE;
  std::vector<State> all;
  for (const nb::handle state : states) all.push_back(static_cast<State>(nb::cast<long>(state)));
  const auto fill = static_cast<size_t>(std::ranges::count_if(all, [](State it) { return it != kEmpty; }));
  const auto last = std::ranges::find(all.rbegin(), all.rend(), kHeld);
  if (!std::has_single_bit(size) || size < kFewest || fill >= size ||
      nb::len(elements) < static_cast<size_t>(all.rend() - last))
    throw nb::value_error("no table of a set");
  clear();
  PySetObject* const it = as_set(set);
  setentry* table = it->smalltable;
  if (size > kFewest) {
    table = static_cast<setentry*>(PyMem_Calloc(size, sizeof(setentry)));
    if (table == nullptr) throw std::bad_alloc();
  }
  for (size_t i = 0; i < size; ++i) {
    PyObject* const element =
        all[i] == kHeld ? PyList_GET_ITEM(elements.ptr(), static_cast<Py_ssize_t>(i)) : gone();
    if (all[i] != kEmpty) table[i] = {Py_NewRef(element), all[i] == kHeld ? PyObject_Hash(element) : -1};
  }
  it->table = table;
  it->mask = static_cast<Py_ssize_t>(size) - 1;
  it->fill = static_cast<Py_ssize_t>(fill);
  it->used = std::ranges::count(all, kHeld);
  it->finger = finger & it->mask;
}

void fill_set(nb::handle set, const nb::list& elements, const nb::list& states, Py_ssize_t finger) {
  put_table(set, elements, states, finger, [&] {
    if (PySet_Clear(set.ptr()) != 0) throw nb::python_error();
  });
}

nb::object frozenset_of_table(const nb::list& elements, const nb::list& states, Py_ssize_t finger) {
  nb::object made = nb::steal(PyFrozenSet_New(nullptr));
  if (!made.is_valid()) throw nb::python_error();
  put_table(made, elements, states, finger, [] {});
  return made;
}

}  // namespace

void bind_sets(nb::module_& m) {
  m.def("table_of_set", &table_of_set, "set"_a,
        "Of each slot of a set's table, what is in it, or None, and its state: 0, or 1 where there is an "
        "element, 2 where there was one; and where `pop` looks first.");
  m.def("fill_set", &fill_set, "set"_a, "elements"_a, "states"_a, "finger"_a,
        "Has a set hold these elements in these slots.");
  m.def("frozenset_of_table", &frozenset_of_table, "elements"_a, "states"_a, "finger"_a,
        "A new frozenset of these elements in these slots.");
}

}  // namespace ingot::bindings
