#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "frontend/description.h"
#include "ir/function.h"

/// The results of evaluating a function, and the requests that it throws.
namespace ingot::frontend {

namespace nb = nanobind;

/// A value from outside that has to be the same at each call: `owner` (a module's dict, a cell) gives
/// `expected` under `name`. `in_class`: the owner is a class, `expected` a raw attribute in it or its bases.
struct Guard {
  nb::object owner;
  std::string name;
  nb::object expected;
  bool in_class = false;
};

/// A host call, with the descriptions of its arguments, a tuple, and a dict of those by name, which are
/// known; their leaves are the operands of the `host` node.
struct HostSite {
  nb::object function, arguments;
};

/// A function as IR, with what its caller needs.
struct Lowered {
  ir::FunctionId function;
  Description result;  ///< how to make the returned object of the results
  std::vector<Guard> guards;
  std::vector<HostSite> hosts;
  std::vector<nb::object> functions;  ///< C functions, by number: how `ingot._objects.c_functions` finds each
  std::vector<nb::object> linked;     ///< the functions of `cuda.declare_device` that are called
  bool writes = false;  ///< into containers of the caller: their cells follow the other arguments
  nb::tuple layouts;    ///< by container of the caller: the names that its cells represent; None: its keys
  nb::list errors;      ///< descriptions of exceptions, by the attribute `made` of `raise` and `check`
};

/// Thrown where control does not go on: the current region has ended, or was suspended.
struct Diverged {};

/// A new fact that contradicts an earlier part of the evaluation, which then has to be repeated.
struct Demand {
  std::string loop;   ///< the key of a loop to unroll; empty: none
  int argument = -1;  ///< an argument with numbers that have to be static
  base::SourceLocation location;
  bool of_lengths = false;     ///< ... with lengths of short last axes that have to be
  bool of_characters = false;  ///< ... with strings to describe as characters; -1: no string may be
};

/// A request to make an array or container (or a number that keeps changing) from outside a hidden argument:
/// its owner - a dict, cell (no name), tuple (name: its index) or object with attributes - and name.
struct Capture {
  nb::object owner;
  std::string name;
};

/// A request to describe attributes of a class for all of the caller's instances.
struct Uses {
  nb::object type;
  nb::list names;
};

}  // namespace ingot::frontend
