#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <span>

#include "bindings/inline_vector.h"
#include "bindings/words.h"

namespace ingot::bindings {

namespace nb = nanobind;

/// The values of the parameters in a call.
struct Bound {
  std::span<PyObject* const> values;  ///< those that the caller gave, or `own`
  InlineVector<PyObject*, 24> own;
  Held held;
};

/// How a call's arguments become values of a function's parameters, in the order: by position, `*args`, by
/// name alone, `**kwargs`. Wants the GIL.
class Binding {
 public:
  /// Of a function with this code. Throws ValueError: these are not the parameters of the code object.
  Binding(nb::object code, nb::tuple names, size_t positional, size_t positional_only, bool has_rest,
          bool has_others);

  /// The values of the parameters of a function in a vectorcall, one for each name; false: Python binds them,
  /// or reports what is wrong, or an exception is set. The function may have got another code object.
  bool bind(PyObject* function, PyObject* const* arguments, size_t count, PyObject* keywords,
            Bound& bound) const;

  const nb::tuple& names() const { return names_; }
  size_t count() const { return count_; }
  size_t positional() const { return positional_; }

 private:
  bool bind_anew(PyObject* function, PyObject* const* arguments, size_t count, PyObject* keywords,
                 Bound& bound) const;
  bool bind_keyword(PyObject* keyword, PyObject* value, Bound& bound) const;
  size_t parameter_of(PyObject* keyword, size_t others) const;
  PyObject* default_of(PyObject* function, size_t parameter) const;
  PyObject* rest(PyObject* const* arguments, size_t count, Held& holder) const;
  PyObject* name(size_t parameter) const;

  nb::object code_;
  nb::tuple names_;
  size_t count_;  ///< of the parameters
  size_t positional_;
  size_t positional_only_;
  bool has_rest_;
  bool has_others_;
};

}  // namespace ingot::bindings
