#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "bindings/guards.h"

/// Calls of host functions that take and give numbers, of `print` with numbers and strings made of them, and
/// of what changes the caller's containers, without Python's code but the function's own.
namespace ingot::bindings {

namespace nb = nanobind;

/// What is looked at after a call that is watched: what compiled code holds must not have changed.
struct Watched {
  nb::handle check{};  ///< is called with the site, if there are no `guards`
  const Guards* guards =
      nullptr;  ///< else these have to hold, and arrays among the leaves have the layouts of before
  std::span<PyObject* const> leaves{};
};

class HostCalls {
 public:
  /// By site a tuple (function, what converts other results than the expected ones, parts, dtype, python,
  /// sites, watched, names, leaf): parts are the kinds of numbers, as descriptions name them, tuples of one
  /// static object, numbers of containers of the caller's, or (literals, fields, parts) of texts: a literal
  /// before each field, a pair of conversion and format, and one after the last. The dtype is that of the
  /// result, None: there is none; `python`: it is Python's number of that dtype; `watched`: something is to
  /// be called after it. The last parts are keywords of these names. The first slot of a number is that of
  /// this leaf.
  explicit HostCalls(const nb::dict& calls);

  /// Whether it makes the call of a site.
  bool has(int64_t site) const { return calls_.contains(site); }
  /// Makes it: the slots are those of the operands, the first of which is where a result goes; containers are
  /// the caller's. Throws what the function raises, which has come through the locations of the site. Wants
  /// the GIL.
  void call(int64_t site, void** slots, const Watched& watched, std::span<PyObject* const> containers) const;

  int traverse(visitproc visit, void* argument) const;
  void clear() { calls_.clear(); }
  static void bind(nb::module_& m);

 private:
  struct Values {
    void** slots;
    size_t next;  ///< slot
    std::span<PyObject* const> containers;
  };
  struct Field {
    char conversion;  ///< one of "sra"; 0: none
    nb::object format;
  };
  struct Part {
    nb::object object{};  ///< of what is static; the literals of a text
    base::DType dtype{};
    bool is_numpys = false;
    int64_t container = -1;       ///< of the caller's
    std::vector<Field> fields{};  ///< of a text
    std::vector<Part> parts{};    ///< ... what is in them

    explicit Part(nb::handle described);
    nb::object make(Values& values) const;
    nb::object text(Values& values) const;
    int traverse(visitproc visit, void* argument) const;
  };
  struct Call {
    nb::object function;
    nb::object convert;
    std::vector<Part> parts;
    std::optional<base::DType> result;
    bool is_python = false;
    nb::object sites;
    bool is_watched = false;
    bool is_print = false;
    nb::object names{};     ///< of keywords; invalid: there are none
    size_t first_leaf = 0;  ///< of the arguments
  };

  std::map<int64_t, Call> calls_;
};

}  // namespace ingot::bindings
