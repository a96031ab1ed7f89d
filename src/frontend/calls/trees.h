#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ingot::frontend {

namespace nb = nanobind;

/// The ASTs of a module of the library, as stored by the build; `tools/library_trees.py` defines the format.
class Trees {
 public:
  /// `kinds` are the classes of nodes.
  Trees(const nb::bytes& nodes, const nb::tuple& kinds, const nb::tuple& texts, const nb::tuple& constants);

  /// The AST that begins at an offset. ValueError if none does.
  nb::object at(size_t start) const;

 private:
  struct Kind {
    nb::object type;
    std::vector<nb::object> fields;
    std::vector<bool> is_none;  ///< by field: whether it is None where a node does not set it
    bool has_place = false;
    nb::object only;  ///< the single node of a kind without fields and location, such as `ast.Load`
  };
  class Reader;

  nb::bytes nodes_;
  nb::tuple texts_, constants_;
  std::vector<Kind> kinds_;
  std::vector<nb::object> place_;  ///< the attributes of a node's location
};

}  // namespace ingot::frontend
