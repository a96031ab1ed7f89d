#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "ir/function.h"

/// What evaluating a function gives, or asks for.
namespace ingot::frontend {

namespace nb = nanobind;

/// What an argument is, as the caller's signature says: nested tuples `("scalar", kind)`, `("array", dtype,
/// rank, writable, alias set, layout ("C", "F", or "A" for any), axes of length 1 as bits)`, `("static",
/// object)`, `("tuple", parts)`, `("list", parts)`, `("dict", keys, parts)`, `("slice", start, stop, step)`,
/// `("same", number of a container)`, `("named", class, parts)` for namedtuples, `("object", class, names,
/// parts)` for instances with the attributes `names`, each described or `("absent",)`, `("fields", holder,
/// dtype, array)` for records, `("foreign", type, dtype, rank, alias set)` for what compiled code does not
/// have (arrays of an alias set other than 0 have a leaf of their shape).
using Description = nb::tuple;

/// What came from outside and must still be so at each call: `owner` (a module's dict, a cell) gives
/// `expected` under `name`. `in_class`: the owner is a class, and it or its bases hold that itself.
struct Guard {
  nb::object owner;
  std::string name;
  nb::object expected;
  bool in_class = false;
};

/// A call out of compiled code, and the description of its arguments, whose leaves are the `host` node's.
struct HostSite {
  nb::object function, arguments;
};

/// A function as IR, with what its caller needs to know.
struct Lowered {
  ir::FunctionId function;
  nb::object result;  ///< how the results make the returned object: nested tuples as descriptions
  std::vector<Guard> guards;
  std::vector<HostSite> hosts;
  std::vector<nb::object> functions;  ///< of C, by number: how `ingot._c_functions` finds each
  std::vector<nb::object> linked;     ///< the functions of `cuda.declare_device` that are called
  bool writes = false;  ///< into containers of the caller: their cells follow the other arguments
  nb::tuple layouts;  ///< by container of the caller: the names that its cells stand for; None: its own keys
  nb::list errors;    ///< of what exceptions are made, by the attribute `made` of `raise` and `check`
};

/// Control does not go on from here: the current region has ended, or was suspended.
struct Diverged {};

/// A fact that contradicts an earlier part of the evaluation, which is done again.
struct Demand {
  std::string loop;   ///< the key of a loop to unroll; empty: none
  int argument = -1;  ///< an argument whose numbers are to be known statically
  base::Place place;
  bool of_lengths = false;     ///< ... whose short last axes are
  bool of_characters = false;  ///< ... whose texts are to be described as characters; -1: no text is to be
};

/// An array or container (or a number that keeps changing) outside, which is to be a hidden argument: what
/// holds it - a dict, cell (no name), tuple (its place) or object with attributes - and its name there.
struct Capture {
  nb::object owner;
  std::string name;
};

/// Attributes of a class whose values must be known for all of its instances that the caller gave.
struct Uses {
  nb::object type;
  nb::list names;
};

}  // namespace ingot::frontend
