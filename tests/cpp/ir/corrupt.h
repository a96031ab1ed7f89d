#pragma once

#include <vector>

#include "ir/function.h"

namespace ingot::ir::test {

// Faults that no Builder makes are made by hand. An explicit instantiation may name private members.
template <class Tag, typename Tag::Member member>
struct Expose {
  friend typename Tag::Type& part(Tag, Function& function) { return function.*member; }
};

#define INGOT_EXPOSE(name, type, member)         \
  struct name {                                  \
    using Type = type;                           \
    using Member = Type Function::*;             \
    friend Type& part(name, Function& function); \
  };                                             \
  template struct Expose<name, &Function::member>

INGOT_EXPOSE(NodesTag, std::vector<Node>, nodes_);
INGOT_EXPOSE(OperandsTag, std::vector<NodeId>, operands_);
INGOT_EXPOSE(AttributesTag, std::vector<int64_t>, attributes_);
INGOT_EXPOSE(RegionsTag, std::vector<Region>, regions_);

#undef INGOT_EXPOSE

/// Opens a function to changes that break its invariants.
struct Corrupt {
  explicit Corrupt(Function& function)
      : nodes(part(NodesTag(), function)),
        operands(part(OperandsTag(), function)),
        attributes(part(AttributesTag(), function)),
        regions(part(RegionsTag(), function)) {}

  void set_operand(NodeId node, size_t i, NodeId value) {
    operands[nodes[node.index].operand_begin + i] = value;
  }
  void set_attribute(NodeId node, size_t i, int64_t word) {
    attributes[nodes[node.index].attribute_begin + i] = word;
  }

  std::vector<Node>& nodes;
  std::vector<NodeId>& operands;
  std::vector<int64_t>& attributes;
  std::vector<Region>& regions;
};

}  // namespace ingot::ir::test
