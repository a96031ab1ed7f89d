#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "base/dtype.h"

/// Calls of host functions that take and give numbers, without Python's code but the function's own.
namespace ingot::bindings {

namespace nb = nanobind;

class HostCalls {
 public:
  /// By site a tuple (function, what converts other results than the expected ones, parts, dtype, python,
  /// sites, watched): parts are the kinds of numbers, as descriptions name them, or tuples of one static
  /// object; the dtype is that of the result, None: there is none; `python`: it is Python's number of that
  /// dtype; `watched`: something is to be called after it.
  explicit HostCalls(const nb::dict& calls);

  /// Whether it makes the call of a site.
  bool has(int64_t site) const { return calls_.contains(site); }
  /// Makes it: the slots are those of the operands, the first of which is where the result goes. Throws what
  /// the function raises, which has come through the places of the site; after a watched one, calls `check`
  /// with the site. Wants the GIL.
  void call(int64_t site, void** slots, nb::handle check) const;

  int traverse(visitproc visit, void* argument) const;
  void clear() { calls_.clear(); }
  static void bind(nb::module_& m);

 private:
  struct Part {
    nb::object object{};  ///< of what is static
    base::DType dtype{};
    bool is_numpys = false;
  };
  struct Call {
    nb::object function;
    nb::object convert;
    std::vector<Part> parts;
    std::optional<base::DType> result;
    bool is_python = false;
    nb::object sites;
    bool is_watched = false;
  };

  std::map<int64_t, Call> calls_;
};

}  // namespace ingot::bindings
