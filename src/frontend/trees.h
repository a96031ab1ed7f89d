#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ingot::frontend {

namespace nb = nanobind;

/// The ASTs of a module of the library as the build has kept them; `tools/library_trees.py` has the format.
class Trees {
 public:
  /// `kinds` are the classes of nodes.
  Trees(const nb::bytes& nodes, const nb::tuple& kinds, const nb::tuple& texts, const nb::tuple& constants);

  /// The AST that begins at a place. ValueError where none does.
  nb::object at(size_t start) const;

 private:
  struct Kind {
    nb::object type;
    std::vector<nb::object> fields;
    std::vector<bool> is_none;  ///< of each field: whether a node that has not set it has None there
    bool has_place = false;
    nb::object only;  ///< the one node of a kind without fields and place, as `ast.Load`
  };
  class Reader;

  nb::bytes nodes_;
  nb::tuple texts_, constants_;
  std::vector<Kind> kinds_;
  std::vector<nb::object> place_;  ///< the attributes that say where a node stands
};

}  // namespace ingot::frontend
