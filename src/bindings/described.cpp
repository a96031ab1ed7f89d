#include "bindings/described.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <concepts>
#include <string>
#include <type_traits>
#include <utility>

#include "bindings/fields.h"
#include "bindings/guards.h"
#include "interop/collected.h"
#include "interop/numpy.h"
#include "interop/same.h"

namespace ingot::bindings {

namespace described = frontend::described;
using base::DType;
using frontend::Kind;
using nb::literals::operator""_a;

namespace {

template <class T>
concept IsObject = std::is_base_of_v<nb::handle, T>;

/// What has a name in Python: all that there are of it, and the name of each.
template <class E>
constexpr auto kAll = std::array<E, 0>{};
template <>
constexpr std::array kAll<ir::Layout> = {ir::Layout::Any, ir::Layout::C, ir::Layout::F};
template <>
constexpr std::array kAll<Holder> = {Holder::Array, Holder::RecArray, Holder::Record};
template <>
constexpr auto kAll<DType> = [] {
  std::array<DType, base::kDTypeCount> all{};
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<DType>(i);
  return all;
}();
template <>
constexpr auto kAll<Kind> = [] {
  std::array<Kind, base::kDTypeCount + 4> all{Kind::py_bool(), Kind::py_int(), Kind::py_float(),
                                              Kind::py_complex()};
  std::ranges::copy(kAll<DType>, all.begin() + 4);
  return all;
}();
template <class E>
concept Named = !kAll<E>.empty();

std::string name_of(ir::Layout layout) { return std::array{"A", "C", "F"}.at(static_cast<size_t>(layout)); }
std::string name_of(Holder holder) { return frontend::kHolders.at(static_cast<size_t>(holder)); }
std::string name_of(DType dtype) { return std::string(base::info(dtype).numpy); }
std::string name_of(Kind kind) {
  if (!kind.is_python()) return "numpy." + name_of(kind.dtype());
  const auto number = static_cast<size_t>(std::ranges::find(kAll<Kind>, kind) - kAll<Kind>.begin());
  return std::array{"bool", "int", "float", "complex"}.at(number);
}

nb::object to_python(Named auto value) { return nb::str(name_of(value).c_str()); }
nb::object to_python(std::integral auto number) { return nb::cast(number); }
nb::object to_python(const nb::object& object) { return object; }
nb::object to_python(const std::vector<size_t>& numbers) {
  nb::list all;
  for (const size_t number : numbers) all.append(number);
  return nb::tuple(all);
}
template <class T>
nb::object to_python(const std::optional<T>& number) {
  return number ? to_python(*number) : nb::none();
}

/// The other way round; false: it is none.
bool from_python(nb::handle given, bool& to) {
  to = given.ptr() == Py_True;
  return PyBool_Check(given.ptr());
}
template <std::integral T>
bool from_python(nb::handle given, T& to) {
  int overflow = 0;
  const int64_t number = PyLong_Check(given.ptr()) ? PyLong_AsLongLongAndOverflow(given.ptr(), &overflow) : 0;
  to = static_cast<T>(number);
  return PyLong_Check(given.ptr()) && overflow == 0 && std::in_range<T>(number);
}
template <class T>
  requires IsObject<T>
bool from_python(nb::handle given, T& to) {
  if (!nb::isinstance<T>(given)) return false;
  to = nb::borrow<T>(given);
  return true;
}
bool from_python(nb::handle given, std::vector<size_t>& to) {
  return nb::isinstance<nb::tuple>(given) &&
         std::ranges::all_of(nb::borrow<nb::tuple>(given),
                             [&](nb::handle number) { return from_python(number, to.emplace_back()); });
}
template <class T>
bool from_python(nb::handle given, std::optional<T>& to) {
  to.reset();
  return given.is_none() || from_python(given, to.emplace());
}
template <Named E>
bool from_python(nb::handle given, E& to) {
  const auto* const found = std::ranges::find_if(kAll<E>, [&](E each) {
    return PyUnicode_Check(given.ptr()) &&
           PyUnicode_CompareWithASCIIString(given.ptr(), name_of(each).c_str()) == 0;
  });
  if (found == kAll<E>.end()) return false;
  to = *found;
  return true;
}

bool is_one_tuple(PyObject* a, PyObject* b) {
  if (PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); ++i)
    if (!is_one_object(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i))) return false;
  return true;
}

bool is_one_set(PyObject* a, PyObject* b) {
  const nb::handle x = a;
  const nb::handle y = b;
  return nb::len(x) == nb::len(y) && std::ranges::all_of(nb::iter(x), [&](nb::handle one) {
           return std::ranges::any_of(
               nb::iter(y), [&](nb::handle other) { return is_one_object(one.ptr(), other.ptr()); });
         });
}

uint64_t hash_of_object(PyObject* object) {
  if (PyFloat_CheckExact(object) && PyFloat_AS_DOUBLE(object) != PyFloat_AS_DOUBLE(object)) return 0;
  if (is_plain(object) && !PyComplex_CheckExact(object)) return static_cast<uint64_t>(PyObject_Hash(object));
  if (PyArray_DescrCheck(object)) return hash_of_form(reinterpret_cast<PyArray_Descr*>(object));
  const auto by_address = [](const void* of) { return reinterpret_cast<uintptr_t>(of) >> 4; };
  if (PyAnySet_CheckExact(object)) {
    uint64_t all = by_address(Py_TYPE(object));
    for (const nb::handle one : nb::handle(object)) all += hash_of_object(one.ptr()) * 0x9e3779b97f4a7c15U;
    return all;
  }
  const bool is_compared = PyComplex_CheckExact(object) || PyArray_IsScalar(object, Generic) ||
                           PySlice_Check(object) || PyRange_Check(object);
  if (is_compared) return by_address(Py_TYPE(object));
  if (!PyTuple_CheckExact(object)) return by_address(object);
  uint64_t hash = 7;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
    hash = hash * 0x100000001b3U ^ hash_of_object(PyTuple_GET_ITEM(object, i));
  return hash;
}

template <class T>
uint64_t hash_of_part(const T& part) {
  if constexpr (IsObject<T>) return hash_of_object(part.ptr());
  else if constexpr (std::same_as<T, Kind>)
    return static_cast<uint64_t>(part.dtype()) * 2 + (part.is_python() ? 1 : 0);
  else if constexpr (requires { part.has_value(); }) return part ? static_cast<uint64_t>(*part) + 1 : 0;
  else if constexpr (requires { part.size(); }) return part.size();
  else return static_cast<uint64_t>(part);
}

uint64_t hash_of(const Description& it) {
  uint64_t hash = it.of.index();
  const auto add = [&](uint64_t more) { hash = (hash ^ more) * 0x100000001b3U; };
  it.for_each_field([&](const char*, const auto& part) { add(hash_of_part(part)); });
  for (const Description& part : it.parts) add(hash_of(part));
  return hash;
}

template <class T>
bool is_one_field(const T& a, const T& b) {
  if constexpr (IsObject<T>) return is_one_object(a.ptr(), b.ptr());
  else return a == b;
}

#define INGOT_FIELD(type, name, initial) &&is_one_field(a.name, b.name)
#define INGOT_KIND(kind, name, is_whole, fields)                     \
  bool have_same_fields([[maybe_unused]] const described::kind& a,   \
                        [[maybe_unused]] const described::kind& b) { \
    return true fields;                                              \
  }
#include "frontend/descriptions.def"
#undef INGOT_FIELD
#undef INGOT_KIND

bool is_one(const Description& a, const Description& b) {
  return a.of.index() == b.of.index() && a.column == b.column &&
         std::visit([&]<class T>(const T& of) { return have_same_fields(of, b.get<T>()); }, a.of) &&
         std::ranges::equal(a.parts, b.parts, &is_one);
}

/// By the number of a kind: an alternative without content.
Description::Kinds fresh(size_t kind) {
  return [&]<size_t... kEach>(std::index_sequence<kEach...>) {
    Description::Kinds made;
    ((kEach == kind ? void(made.emplace<kEach>()) : void()), ...);
    return made;
  }(std::make_index_sequence<std::variant_size_v<Description::Kinds>>());
}

const char* kind_of(const Description& it) {
  return std::visit([](const auto& of) { return of.kName; }, it.of);
}

/// Whether the numbers that an element of a list buffer is made of are in so many columns.
bool has_columns_below(const Description& element, size_t columns) {
  const bool has_none = element.is<described::Tuple>() || element.is<described::Static>();
  return (has_none || element.column < columns) &&
         std::ranges::all_of(element.parts,
                             [&](const Description& part) { return has_columns_below(part, columns); });
}

bool are_strings(const nb::tuple& names) {
  return std::ranges::all_of(nb::iter(names), [](nb::handle name) { return PyUnicode_Check(name.ptr()); });
}

/// Whether what makes results can take its content as it is: what files hold may be anything.
bool is_sound(const Description& it) {
  const auto has_axes = [](int ndim) { return ndim >= 0 && ndim <= ir::kMaxRank; };
  const auto all_parts_from = [&](size_t first, auto is_it) {
    return std::all_of(it.parts.begin() + static_cast<ptrdiff_t>(first), it.parts.end(), is_it);
  };
  const auto is_array = [](const Description& part) { return part.is<described::Array>(); };
  if (const auto* array = it.as<described::Array>()) return has_axes(array->ndim);
  if (const auto* foreign = it.as<described::Foreign>()) return foreign->ndim >= 0;
  if (const auto* tuple = it.as<described::Tuple>()) {
    const auto* const type = reinterpret_cast<PyTypeObject*>(tuple->type.ptr());
    return tuple->type.is_none() || PyType_IsSubtype(const_cast<PyTypeObject*>(type), &PyTuple_Type) != 0;
  }
  if (const auto* instance = it.as<described::Instance>()) return are_strings(instance->names);
  if (const auto* member = it.as<described::Member>()) return member->members.size() > 0;
  if (it.is<described::Records>()) return is_array(it.parts[0]);
  if (it.is<described::ListBuffer>())
    return all_parts_from(1, is_array) && has_columns_below(it.parts[0], it.parts.size() - 1);
  if (it.is<described::Pool>())
    return all_parts_from(0, [](const Description& part) { return part.is<described::ListBuffer>(); });
  if (it.is<described::Pools>())
    return all_parts_from(1, [](const Description& part) { return part.is<described::Pool>(); });
  return true;
}

/// `field(name)`: what a field is in Python; invalid: as it is in a fresh one.
Description made_of(size_t kind, const std::function<nb::object(const char*)>& field,
                    std::vector<Description> parts) {
  if (kind >= std::variant_size_v<Description::Kinds>) throw nb::value_error("a description has a kind");
  Description made{fresh(kind), std::move(parts)};
  made.for_each_field([&](const char* name, auto& to) {
    if (const nb::object given = field(name); given.is_valid() && !from_python(given, to))
      throw nb::value_error(name);
  });
  if (!made.is_whole() || !is_sound(made)) throw nb::value_error("a description of its kind has other parts");
  return made;
}

nb::object attribute_of(const Description& it, const std::string& name) {
  nb::object found;
  it.for_each_field([&](const char* field, const auto& part) {
    if (name == field) found = to_python(part);
  });
  if (!found.is_valid()) throw nb::attribute_error(name.c_str());
  return found;
}

/// A string in UTF-8; halves of surrogate pairs, which it does not have, as Python's literals write them.
std::string utf8_of(const nb::str& text) {
  const nb::object bytes = nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace"));
  if (!bytes.is_valid()) throw nb::python_error();
  return {PyBytes_AS_STRING(bytes.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(bytes.ptr()))};
}

std::string shown(const Description& it) {
  std::string inside;
  const auto add = [&](const std::string& more) { inside += (inside.empty() ? "" : ", ") + more; };
  it.for_each_field([&](const char* name, const auto& field) {
    add(std::string(name) + "=" + utf8_of(nb::repr(to_python(field))));
  });
  for (const Description& part : it.parts) add(shown(part));
  return std::string(kind_of(it)) + "(" + inside + ")";
}

}  // namespace

bool is_one_object(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  if (PyArray_DescrCheck(a)) return same_fields(a, b);
  if (PyTuple_CheckExact(a)) return is_one_tuple(a, b);
  if (PyFrozenSet_CheckExact(a)) return is_one_set(a, b);
  if (PySlice_Check(a) || PyRange_Check(a)) return nb::handle(a).equal(nb::handle(b));
  return (is_plain(a) || dtype_of_scalar(Py_TYPE(a))) && same(a, b) == 1;
}

Description with_objects(Description it, const std::function<nb::object(const nb::object&)>& other) {
  it.for_each_field([&]<class T>(const char* name, T& part) {
    if constexpr (IsObject<T>)
      if (!from_python(other(part), part)) throw nb::value_error(name);
  });
  for (Description& part : it.parts) part = with_objects(std::move(part), other);
  return it;
}

Description private_of(const Description& it) {
  return with_objects(it, [](const nb::object& object) { return private_of(object.ptr()); });
}

nb::tuple state_of(const Description& it) {
  nb::list parts;
  for (const Description& part : it.parts) parts.append(state_of(part));
  nb::list all;
  all.append(it.of.index());
  all.append(it.column);
  all.append(nb::tuple(parts));
  it.for_each_field([&](const char*, const auto& part) { all.append(to_python(part)); });
  return nb::tuple(all);
}

Description of_state(const nb::tuple& state) {
  size_t next = 0;
  const auto read = [&](auto to) {
    if (next == state.size() || !from_python(nb::object(state[next++]), to))
      throw nb::value_error("no description");
    return to;
  };
  const auto kind = read(size_t{});
  const auto column = read(uint32_t{});
  std::vector<Description> parts;
  for (const nb::handle part : read(nb::tuple())) {
    if (!nb::isinstance<nb::tuple>(part)) throw nb::value_error("no description");
    parts.push_back(of_state(nb::borrow<nb::tuple>(part)));
  }
  Description made = made_of(kind, [&](const char*) { return read(nb::object()); }, std::move(parts));
  made.column = column;
  if (next != state.size()) throw nb::value_error("no description");
  return made;
}

void bind_description(nb::module_& m) {
  nb::class_<Description> type(m, "Description", nb::type_slots(Collected<Description>::slots()));
  type.def(
          "__init__",
          [](Description* self, size_t kind, const nb::tuple& parts, const nb::kwargs& fields) {
            size_t known = 0;
            const auto field = [&](const char* name) {
              if (!fields.contains(name)) return nb::object();
              ++known;
              return nb::object(fields[name]);
            };
            std::vector<Description> own;
            for (const nb::handle part : parts) own.push_back(nb::cast<const Description&>(part));
            Description made = made_of(kind, field, std::move(own));
            if (known != fields.size()) throw nb::value_error("a description of its kind has other fields");
            new (self) Description(std::move(made));
          },
          "kind"_a, "parts"_a = nb::tuple(), "fields"_a)
      .def_prop_ro("kind", [](const Description& it) { return it.of.index(); })
      .def_prop_ro("kind_name", &kind_of)
      .def_prop_ro("parts",
                   [](const Description& it) {
                     nb::list parts;
                     for (const Description& part : it.parts) parts.append(part);
                     return nb::tuple(parts);
                   })
      .def("__getattr__", &attribute_of)
      .def("__repr__", &shown)
      .def("__eq__", &is_one, nb::is_operator())
      .def("__hash__", [](const Description& it) { return static_cast<int64_t>(hash_of(it)); })
      .def(
          "with_objects",
          [](const Description& it, const nb::callable& other) {
            return with_objects(it, [&](const nb::object& object) { return other(object); });
          },
          "other"_a, "The same with what `other` gives for each object in it.");
  for (size_t kind = 0; kind < std::variant_size_v<Description::Kinds>; ++kind) {
    std::string name = kind_of(Description{fresh(kind)});
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
    type.attr(name.c_str()) = kind;
  }
}

}  // namespace ingot::bindings
