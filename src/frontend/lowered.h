#pragma once

#include <nanobind/nanobind.h>

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "frontend/description.h"
#include "ir/function.h"

/// What comes of evaluating a function.
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

/// A fact that an evaluation lacks, which is repeated with it. Thrown while evaluating.
struct NeedsFact {
  enum class Kind : uint8_t {
    Site,      ///< what is at `site` is evaluated otherwise: a loop unrolled, a list made a list buffer
    Sets,      ///< what was refused may not be with other sets, or other list buffers
    Routines,  ///< what is known of routines was too narrow
    Cells,     ///< containers of the caller are written into
    // What the caller describes its arguments with:
    Value,       ///< the numbers of an argument are known
    Lengths,     ///< the lengths of its short last axes are
    Characters,  ///< its strings are described as characters; of no argument: all strings are known
    Elements,    ///< its lists of elements that are alike are described as list buffers
    Capture,     ///< what `owner` holds under a name is a hidden argument
    Attributes,  ///< the instances of the class `owner` have the attributes of these names
  };

  static NeedsFact at(std::string site, base::SourceLocation location) {
    return {.kind = Kind::Site, .site = std::move(site), .location = std::move(location)};
  }
  static NeedsFact of(int argument, base::SourceLocation location, Kind kind = Kind::Value) {
    return {.kind = kind, .argument = argument, .location = std::move(location)};
  }
  static NeedsFact capture(nb::object owner, std::string name) {
    return {.kind = Kind::Capture, .owner = std::move(owner), .names = {std::move(name)}};
  }

  bool is_of_caller() const { return kind >= Kind::Value; }
  bool is_of_argument() const {
    return kind == Kind::Value || kind == Kind::Lengths || kind == Kind::Characters || kind == Kind::Elements;
  }

  Kind kind = Kind::Site;
  std::string site{};  ///< the key of a location, with what is asked of it
  int argument = -1;
  base::SourceLocation location{};
  /// A dict, cell (no name), tuple (name: its index) or object with attributes; or a class.
  nb::object owner{};
  std::vector<std::string> names{};
};

/// The name of a fact of the caller's.
constexpr std::string_view name_of(NeedsFact::Kind kind) {
  constexpr std::string_view kNames[] = {"value",    "lengths", "characters",
                                         "elements", "capture", "attributes"};
  return kNames[static_cast<size_t>(kind) - static_cast<size_t>(NeedsFact::Kind::Value)];
}

/// What a function is lowered for.
struct Request {
  nb::tuple arguments{};    ///< descriptions, one a parameter: of `*args` a tuple, of `**kwargs` a dict
  nb::tuple captures{};     ///< further arguments: (owner, name, description) each
  nb::dict attributes{};    ///< by class: a tuple of the attributes that its instances are described with
  bool opens_texts = true;  ///< false: all strings are known
  ir::Relaxations relaxations{};
  bool on_device = false;  ///< the code is for a device
  bool in_order = false;   ///< loops over `prange` run as those over `range`
  std::vector<ir::Directive> directives{};
  std::set<std::string> loop_names{};  ///< that the function has in its source
};

}  // namespace ingot::frontend
