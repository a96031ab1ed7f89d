#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/exception.h"
#include "base/scalar.h"
#include "ir/op.h"
#include "ir/relaxation.h"
#include "ir/type.h"

namespace ingot::ir {

/// A 32-bit id, a type of its own for each kind.
template <class Tag>
struct Id {
  static constexpr uint32_t kNone = 0xffffffff;
  uint32_t index = kNone;

  constexpr Id() = default;
  constexpr explicit Id(uint32_t i) : index(i) {}
  constexpr explicit operator bool() const { return index != kNone; }
  constexpr bool operator==(const Id&) const = default;
  constexpr auto operator<=>(const Id&) const = default;
};

using NodeId = Id<struct NodeTag>;
using RegionId = Id<struct RegionTag>;
using SpanId = Id<struct SpanTag>;
using FunctionId = Id<struct FunctionTag>;
using TextId = Id<struct TextTag>;

/// A node: an op, what it takes, what it gives. Nodes are born in `Builder::make` and never change; a pass
/// builds a new function. Ids ascend within a region, and are greater than that of the node that owns it; an
/// operand is older than its user.
struct Node {
  Op op;
  uint16_t region_count;
  Type type;  ///< Void: no value; Results: the `result` nodes after it give the values
  uint32_t operand_begin;
  uint32_t operand_count;
  uint32_t attribute_begin;
  uint32_t attribute_count;
  uint32_t first_region;  ///< its regions have consecutive ids
  SpanId span;
  RegionId parent;  ///< the region it is in
};

/// A sequence of nodes, the last a terminator, with parameters.
struct Region {
  NodeId owner;  ///< none: the function's body
  uint32_t parameter_count = 0;
  std::vector<NodeId> nodes;  ///< parameters first, then the body in order
};

/// A location in the source, and that of the call that brought it here by inlining.
struct Span {
  TextId file;
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t end_column = 0;
  TextId function;
  SpanId inlined_at;
  TextId loops =
      {};  ///< names of the loops made here, from the outside in, with commas between (directives.h)
  bool operator==(const Span&) const = default;
};

/// Which strides a view has: those of an array without gaps whose last (C) or first (F) axis is the
/// innermost, or any. A view without elements has each of them, whatever its strides.
enum class Layout : uint8_t { Any, C, F };

/// Axes of up to this length are short: what runs along them can be written out.
inline constexpr int64_t kLongestShort = 8;

/// What is known of a function's parameter beyond its type. Buffers and views whose alias sets differ never
/// share memory.
struct ParameterInfo {
  std::string name;
  uint32_t alias_set = 0;
  bool writable = true;
  Layout layout = Layout::Any;
  std::optional<uint32_t> ones = {};  ///< bit i: whether axis i has length 1; none: not known of any axis
  int64_t last = 0;                   ///< the length of the last axis, 2 to kLongestShort; 0: not known
  bool operator==(const ParameterInfo&) const = default;
};

/// One of the steps by which a user arranges loops, which have names (directives.h); each step finds them as
/// the one before has left them.
struct Directive {
  enum class Kind : uint8_t {
    Split,      ///< a loop into an outer and an inner one, of `number` iterations: the loop, outer, inner
    Reorder,    ///< loops inside each other, as they are to be from the outside in
    Fuse,       ///< two loops inside each other into one: outer, inner, the one
    Vectorize,  ///< a loop runs in `number` lanes; 0: as many as fit
    Unroll,     ///< the iterations of a loop are written after each other
    Parallel,   ///< threads share a loop
    Cache,      ///< each iteration of a loop reads a copy of the elements that it reads of an array
    Prefetch,   ///< ... asks for those that it reads `number` iterations later
    ComputeAt,  ///< a nest, named by its outermost loop, runs in each iteration of a loop: the nest, the loop
    StoreAt,    ///< ... and what it computes is kept during an iteration of a loop around that one
    Inline,     ///< a nest computes each element where it is read
  };
  Kind kind;
  std::vector<std::string> loops;
  int64_t number = 0;
  std::string array = {};  ///< a parameter of the function
};

class Module;

/// One function: an arena of nodes and regions.
class Function {
 public:
  Function(Module& module, std::string name) : module_(&module), name_(std::move(name)) {}
  Function& operator=(const Function&) = delete;

  Module& module() const { return *module_; }
  const std::string& name() const { return name_; }

  /// The body; its parameters are the function's.
  RegionId body() const { return RegionId(0); }
  std::span<const ParameterInfo> parameters() const { return parameters_; }
  std::span<const Type> results() const { return results_; }
  /// The relaxations of its own float arithmetic, not of that of its callees.
  Relaxations relaxations() const { return relaxations_; }

  const Node& operator[](NodeId id) const { return nodes_[id.index]; }
  const Region& operator[](RegionId id) const { return regions_[id.index]; }
  size_t node_count() const { return nodes_.size(); }
  size_t region_count() const { return regions_.size(); }

  std::span<const NodeId> operands(NodeId id) const {
    const Node& n = nodes_[id.index];
    return std::span(operands_).subspan(n.operand_begin, n.operand_count);
  }
  NodeId operand(NodeId id, size_t i) const { return operands_[nodes_[id.index].operand_begin + i]; }
  Type type(NodeId id) const { return nodes_[id.index].type; }
  Op op(NodeId id) const { return nodes_[id.index].op; }

  /// The attributes, one word each, an `Ints` or `OpCodes` as its words at the end.
  std::span<const int64_t> attributes(NodeId id) const {
    const Node& n = nodes_[id.index];
    return std::span(attributes_).subspan(n.attribute_begin, n.attribute_count);
  }
  int64_t attribute(NodeId id, size_t i) const { return attributes(id)[i]; }
  /// The words of an `Ints` or `OpCodes` attribute, which is the op's last.
  std::span<const int64_t> ints(NodeId id) const {
    return attributes(id).subspan(info(op(id)).attribute_count - 1u);
  }
  Op op_attribute(NodeId id, size_t i) const { return static_cast<Op>(attribute(id, i)); }

  RegionId region(NodeId id, size_t i = 0) const {
    return RegionId(nodes_[id.index].first_region + static_cast<uint32_t>(i));
  }
  std::span<const NodeId> region_parameters(RegionId id) const {
    const Region& r = regions_[id.index];
    return std::span(r.nodes).first(r.parameter_count);
  }
  std::span<const NodeId> region_body(RegionId id) const {
    const Region& r = regions_[id.index];
    return std::span(r.nodes).subspan(r.parameter_count);
  }
  /// The last node of a region.
  NodeId terminator(RegionId id) const { return regions_[id.index].nodes.back(); }

  /// How many values a node gives: 0, 1, or the members of its Results.
  size_t result_count(NodeId id) const;
  /// The i-th value of a node: itself, or the `result` node after it.
  NodeId result(NodeId id, size_t i) const;
  std::vector<NodeId> results_of(NodeId id) const;

  /// The bits of a constant.
  base::Scalar constant(NodeId id) const {
    return {{static_cast<uint64_t>(attribute(id, 0)), static_cast<uint64_t>(attribute(id, 1))}};
  }
  bool is_constant(NodeId id) const { return op(id) == Op::constant; }
  /// A constant bool or i64 of this value.
  bool is_constant(NodeId id, int64_t value) const {
    const Type t = type(id);
    return is_constant(id) && (t.is_scalar(DType::Bool) || t.is_scalar(DType::Int64)) &&
           constant(id) == base::Scalar::of(value);
  }

  /// Whether region `inner` is `outer` or inside it.
  bool encloses(RegionId outer, RegionId inner) const;
  /// Whether a node is in a region, or inside it; in a region of another node.
  bool encloses(RegionId region, NodeId node) const { return encloses(region, nodes_[node.index].parent); }
  bool encloses(NodeId owner, NodeId node) const;
  /// Whether a node's value is available to the next node appended to a region: it is in that region, or in
  /// an enclosing one before the node through which that region is entered. (Ids alone do not show it: a
  /// region may be resumed after later nodes of an enclosing one.)
  bool reaches(NodeId definition, RegionId region) const;

 private:
  friend class Annotation;
  friend class Builder;
  friend class Module;
  Function(const Function&) = default;

  Module* module_;
  std::string name_;
  std::vector<ParameterInfo> parameters_;
  std::vector<Type> results_;
  Relaxations relaxations_;
  std::vector<Node> nodes_;
  std::vector<NodeId> operands_;
  std::vector<int64_t> attributes_;
  std::vector<Region> regions_;
};

/// Functions that belong together, and the types, strings and locations they use. Owns all of it.
class Module {
 public:
  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  std::unique_ptr<Module> clone() const;

  TypeTable types;
  std::vector<Directive> directives;  ///< which the pass of that name follows
  /// The names that the program gives loops, each with its line too (`i` and `i:12`): also of those that have
  /// been written out, or have become nothing.
  std::set<std::string> loop_names;
  std::string nests;  ///< the loops as the directives have left them, as text for users

  /// Once the flag is set, work on the module ends: `go_on` throws. Null: it is never set.
  void heed(const std::atomic<bool>* stop) { stop_ = stop; }
  /// Whether nobody waits for the result of work on the module any more.
  bool is_abandoned() const { return stop_ != nullptr && stop_->load(std::memory_order_relaxed); }
  /// Throws base::Abandoned if so.
  void go_on() const {
    if (is_abandoned()) throw base::Abandoned();
  }

  TextId text(std::string_view text);
  const std::string& text(TextId id) const { return texts_[id.index]; }
  size_t text_count() const { return texts_.size(); }

  SpanId span(const Span& span);
  const Span& span(SpanId id) const { return spans_[id.index]; }
  /// file, line and columns of a span; an empty location for none.
  base::SourceLocation location(SpanId id) const;
  /// A span's location, and those of the calls that it is inlined at, the innermost first; nothing for none.
  std::vector<base::Site> sites(SpanId id) const;

  /// Reserves a function's number before it is built, so that calls can name it (recursion).
  FunctionId declare(std::string name, std::vector<Type> parameters, std::vector<Type> results);
  /// Gives a declared function without a body other types: calls made before are void.
  void redeclare(FunctionId id, std::vector<Type> parameters, std::vector<Type> results);
  /// Gives the declared function its body; replaces an earlier one.
  void define(FunctionId id, std::unique_ptr<Function> function);
  std::optional<FunctionId> find(std::string_view name) const;
  /// Functions that no call leads to from these become declared only.
  void keep_reachable(std::span<const FunctionId> entries);

  struct Signature {
    std::string name;
    std::vector<Type> parameters;
    std::vector<Type> results;
  };
  const Signature& signature(FunctionId id) const { return signatures_[id.index]; }
  /// Null: declared only.
  Function* function(FunctionId id) const { return functions_[id.index].get(); }
  size_t function_count() const { return functions_.size(); }

 private:
  std::vector<std::string> texts_;
  std::unordered_map<std::string, uint32_t> text_ids_;
  std::vector<Span> spans_;
  std::vector<Signature> signatures_;
  std::vector<std::unique_ptr<Function>> functions_;
  const std::atomic<bool>* stop_ = nullptr;
};

}  // namespace ingot::ir
