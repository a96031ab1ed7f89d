#include "frontend/arrays/known_sizes.h"

#include <functional>
#include <limits>
#include <set>

#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

namespace {

constexpr double kMostBits = 1e6;       ///< of an int
constexpr size_t kMostDigits = 6;       ///< of a width in a format
constexpr size_t kMostParts = 100'000;  ///< of a tuple

constexpr const char* kLargeTuple =
    "a tuple that holds more than 100 000 values, those of the tuples in it among them,";
constexpr const char* kLargeInt = "an int of more than a million bits";

bool is_string(nb::handle object) { return PyUnicode_Check(object.ptr()) || PyBytes_Check(object.ptr()); }
bool is_int(nb::handle object) { return PyLong_Check(object.ptr()); }

/// An integer as a float; infinite if it is too large.
double number(nb::handle integer) {
  const double value = PyLong_AsDouble(integer.ptr());
  if (PyErr_Occurred() == nullptr) return value;
  PyErr_Clear();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return nb::cast<bool>(integer.attr("__lt__")(0)) ? -infinity : infinity;
}

double bits(nb::handle integer) { return nb::cast<double>(integer.attr("bit_length")()); }
double length(nb::handle text) { return static_cast<double>(nb::len(text)); }

double bits_of_result(Operator op, nb::handle a, nb::handle b) {
  const double own = bits(a);
  if (op == Operator::Mult) return own + bits(b);
  if (own == 0 || number(b) <= 0) return 0;
  if (op == Operator::LShift) return own + number(b);
  return op == Operator::Pow && own > 1 ? own * number(b) : 0;
}

}  // namespace

std::string too_large_by(Operator op, nb::handle a, nb::handle b) {
  if (is_int(a) && is_int(b)) return bits_of_result(op, a, b) > kMostBits ? kLargeInt : "";
  double size = 0;
  if (op == Operator::Mult && is_string(a) && is_int(b)) size = length(a) * number(b);
  if (op == Operator::Mult && is_int(a) && is_string(b)) size = length(b) * number(a);
  if (op == Operator::Add && is_string(a) && is_string(b)) size = length(a) + length(b);
  if (op == Operator::Mod && is_string(a)) return too_large_by_format(a);
  return size > kMostCharacters ? kLargeText : "";
}

std::string too_large_by_method(nb::handle self, const std::string& name, const nb::list& arguments) {
  static const std::set<std::string> kWidening = {"center", "ljust", "rjust", "zfill", "expandtabs"};
  if (name == "format") return too_large_by_format(self);
  double size = 0;
  if (kWidening.contains(name) && nb::len(arguments) > 0 && is_int(arguments[0])) size = number(arguments[0]);
  if (name == "replace" && nb::len(arguments) > 1 && is_string(arguments[1]))
    size = (length(self) + 1) * length(arguments[1]);
  if (name == "join" && nb::len(arguments) == 1) {
    for (const nb::handle part : arguments[0])
      if (is_string(part)) size += length(self) + length(part);
  }
  return size > kMostCharacters ? kLargeText : "";
}

std::string too_large_by_format(nb::handle format) {
  if (!PyUnicode_Check(format.ptr())) return {};
  size_t digits = 0;
  for (const char c : text_of(format)) {
    digits = c >= '0' && c <= '9' ? digits + (digits > 0 || c != '0' ? 1 : 0) : 0;
    if (digits > kMostDigits) return kLargeText;
  }
  return {};
}

std::string too_large_outside(nb::handle tuple) {
  size_t count = 0;
  std::vector<PyObject*> open{tuple.ptr()};
  while (!open.empty() && count <= kMostParts) {
    PyObject* const object = open.back();
    open.pop_back();
    ++count;
    if (!PyTuple_Check(object)) continue;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) open.push_back(PyTuple_GET_ITEM(object, i));
  }
  return count > kMostParts ? kLargeTuple : "";
}

std::string too_large(const Value& tuple) {
  size_t count = 0;
  const std::function<void(const Value&)> add = [&](const Value& value) {
    const Tuple* inner = value.as<Tuple>();
    if (++count > kMostParts || inner == nullptr) return;
    for (const Value& member : inner->members) {
      add(member);
      if (count > kMostParts) return;
    }
  };
  add(tuple);
  return count > kMostParts ? kLargeTuple : "";
}

}  // namespace ingot::frontend
