#include "ir/verifier.h"

#include <algorithm>
#include <map>

#include "base/exception.h"
#include "ir/builder.h"
#include "ir/cursor.h"
#include "ir/loops.h"
#include "ir/text.h"
#include "ir/uniformity.h"

namespace ingot::ir {

namespace {

constexpr size_t kMaxFaults = 20;

using Types = std::vector<Type>;

/// One function `check_...` for each invariant; those of the first group make the others safe to run.
class Verifier {
 public:
  Verifier(const Function& function, Stage stage) : function_(function), stage_(stage) {}
  std::vector<Fault> run();

 private:
  void check_regions_list_nodes();     // 13
  void check_regions_end();            // 1
  void check_parameters_come_first();  // 1
  void check_attributes();             // 4
  void check_results_follow();         // 5
  void check_operands_dominate();      // 2
  void check_types();                  // 3
  void check_stage();                  // 6
  void check_region_types();           // 7
  void check_exits();                  // 8
  void check_labels();                 // 8
  void check_exits_stay_inside();      // 9
  void check_returns();                // 9
  void check_collectives();            // 10
  void check_spans();                  // 11
  void check_shared_buffers();         // 12
  void check_vector_loops();           // 14
  void check_host_only();              // 15

  void check_listing(RegionId region, std::vector<int>& listings);
  void check_owned_regions(NodeId node);
  void check_attribute(NodeId node, const AttributeInfo& attribute, int64_t word);
  void check_constant(NodeId node);
  void check_region(NodeId node, size_t index, const Types& parameters, const Types& yields);
  void check_while(NodeId node, const Types& inits, const Types& results);
  void check_share(NodeId node, const Types& results);
  void check_launch(NodeId node, size_t operands);

  void add(int invariant, NodeId node, std::string message) {
    if (faults_.size() < kMaxFaults) faults_.push_back({invariant, node, std::move(message)});
  }
  void need(bool holds, int invariant, NodeId node, const char* message) {
    if (!holds) add(invariant, node, message);
  }
  template <class Fn>
  void each_node(Fn&& fn) const {
    for (uint32_t i = 0; i < function_.node_count(); ++i) fn(NodeId(i));
  }
  Types types_of(std::span<const NodeId> values) const {
    Types types;
    for (NodeId const value : values) types.push_back(function_.type(value));
    return types;
  }
  std::string text(const Types& types) const {
    std::string out = "(";
    for (size_t i = 0; i < types.size(); ++i) out += (i == 0 ? "" : ", ") + this->types().to_string(types[i]);
    return out += ")";
  }
  const TypeTable& types() const { return function_.module().types; }
  bool contains_array(Type type) const;
  NodeId owner(RegionId region) const { return function_[region].owner; }
  /// The launch around a node, or none.
  NodeId enclosing_launch(NodeId node) const;

  const Function& function_;
  Stage stage_;
  std::vector<Fault> faults_;
};

void Verifier::check_listing(RegionId region, std::vector<int>& listings) {
  NodeId last;
  for (NodeId const node : function_[region].nodes) {
    if (!node || node.index >= function_.node_count())
      return add(13, {}, "region " + std::to_string(region.index) + " lists a node that does not exist");
    need(function_[node].parent == region, 13, node, "is in another region than the one that lists it");
    need(!last || last < node, 13, node, "ids do not ascend in the region");
    ++listings[node.index];
    last = node;
  }
}

void Verifier::check_owned_regions(NodeId node) {
  const Node& n = function_[node];
  need(n.region_count == info(n.op).regions, 13, node, "has not the regions its card gives");
  if (n.first_region + size_t{n.region_count} > function_.region_count())
    return add(13, node, "owns a region that does not exist");
  for (size_t i = 0; i < n.region_count; ++i) {
    const RegionId region = function_.region(node, i);
    need(owner(region) == node && n.parent < region, 13, node, "does not own its region");
  }
}

void Verifier::check_regions_list_nodes() {
  std::vector<int> listings(function_.node_count());
  for (uint32_t i = 0; i < function_.region_count(); ++i) check_listing(RegionId(i), listings);
  each_node([&](NodeId node) {
    need(listings[node.index] == 1, 13, node, "is not listed once");
    check_owned_regions(node);
  });
  for (uint32_t i = 1; i < function_.region_count(); ++i) {
    const NodeId node = owner(RegionId(i));
    if (!node || node.index >= function_.node_count())
      add(13, {}, "region " + std::to_string(i) + " has no owner");
  }
}

void Verifier::check_regions_end() {
  for (uint32_t i = 0; i < function_.region_count(); ++i) {
    const Region& region = function_[RegionId(i)];
    if (region.nodes.empty()) {
      add(1, region.owner, "has an empty region");
      continue;
    }
    for (NodeId const node : region.nodes) {
      const bool last = node == region.nodes.back();
      if (info(function_.op(node)).terminator != last)
        add(1, node, last ? "ends its region and is no terminator" : "is a terminator inside its region");
    }
  }
}

void Verifier::check_parameters_come_first() {
  need(function_[function_.body()].parameter_count == function_.parameters().size(), 1, {},
       "the body's parameters are not the function's");
  for (uint32_t i = 0; i < function_.region_count(); ++i) {
    const Region& region = function_[RegionId(i)];
    for (size_t k = 0; k < region.nodes.size(); ++k) {
      const NodeId node = region.nodes[k];
      const bool parameter = function_.op(node) == Op::param;
      need(parameter == (k < region.parameter_count), 1, node, "parameters are not first in their region");
      if (parameter && function_.attributes(node).size() == 1) {
        need(function_.attribute(node, 0) == static_cast<int64_t>(k), 1, node,
             "parameters are not numbered in order");
      }
    }
  }
}

void Verifier::check_attribute(NodeId node, const AttributeInfo& attribute, int64_t word) {
  const auto within = [&](size_t count) { return word >= 0 && static_cast<size_t>(word) < count; };
  const Module& module = function_.module();
  bool good = true;
  switch (attribute.kind) {
    case AttributeKind::Int:
    case AttributeKind::Ints: break;
    case AttributeKind::Option: good = word >= 0; break;
    case AttributeKind::OpCode:
    case AttributeKind::OpCodes: good = within(kOpCount); break;
    case AttributeKind::Exception: good = within(base::kExceptionCount); break;
    case AttributeKind::Text: good = within(module.text_count()); break;
    case AttributeKind::Symbol: good = within(module.function_count()); break;
    case AttributeKind::Choice: good = within(choices(attribute.name).size()); break;
  }
  if (!good) add(4, node, std::string(attribute.name) + " is out of range");
}

/// The bits beyond the dtype are zero, and a bool is 0 or 1.
void Verifier::check_constant(NodeId node) {
  const Type type = function_.type(node);
  if (!type.is_scalar()) return;
  const base::Scalar value = function_.constant(node);
  const auto kept = base::Scalar::load(type.dtype(), value.bits.data());
  const bool is_bool = type.dtype() == DType::Bool;
  need(value == kept && (!is_bool || value.bits[0] <= 1), 4, node,
       "the constant's bits do not fit its dtype");
}

void Verifier::check_attributes() {
  each_node([&](NodeId node) {
    const auto schema = info(function_.op(node)).schema();
    const auto words = function_.attributes(node);
    if (!is_count_of_attributes(schema, words.size())) return add(4, node, "wrong number of attributes");
    for (size_t i = 0; i < words.size(); ++i)
      check_attribute(node, schema[std::min(i, schema.size() - 1)], words[i]);
    if (function_.is_constant(node)) check_constant(node);
  });
}

void Verifier::check_results_follow() {
  std::vector<bool> in_place(function_.node_count());
  for (uint32_t r = 0; r < function_.region_count(); ++r) {
    const std::vector<NodeId>& nodes = function_[RegionId(r)].nodes;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (!function_.type(nodes[i]).is(TypeKind::Results)) continue;
      const size_t count = function_.result_count(nodes[i]);
      for (size_t k = 0; k < count; ++k) {
        const NodeId result = i + 1 + k < nodes.size() ? nodes[i + 1 + k] : NodeId();
        const bool good = result && function_.op(result) == Op::result &&
                          function_.operands(result).size() == 1 &&
                          function_.operand(result, 0) == nodes[i] &&
                          function_.attribute(result, 0) == static_cast<int64_t>(k);
        if (!good) {
          add(5, nodes[i], "is not followed by its results");
          break;
        }
        in_place[result.index] = true;
      }
    }
  }
  each_node([&](NodeId node) {
    if (function_.op(node) == Op::result) {
      need(in_place[node.index], 5, node, "does not follow the node whose result it is");
      return;
    }
    for (NodeId const operand : function_.operands(node)) {
      if (operand.index < function_.node_count() && function_.type(operand).is(TypeKind::Results))
        add(5, node, "uses several results as one value");
    }
  });
}

void Verifier::check_operands_dominate() {
  each_node([&](NodeId node) {
    for (NodeId const operand : function_.operands(node)) {
      if (!operand || operand >= node) {
        add(2, node, "an operand is not older");
        continue;
      }
      need(!function_.type(operand).is_void(), 2, node, "an operand gives no value");
      need(function_.reaches(operand, function_[node].parent), 2, node,
           "an operand is where it does not reach this node");
    }
  });
}

void Verifier::check_types() {
  each_node([&](NodeId node) {
    const Type type = function_.type(node);
    try {
      const Type inferred =
          infer(function_, function_.op(node), function_.operands(node), function_.attributes(node), type);
      if (inferred != type)
        add(3, node, "is of type " + types().to_string(type) + ", should be " + types().to_string(inferred));
    } catch (const base::InternalError& error) {
      add(3, node, error.what());
    }
  });
}

bool Verifier::contains_array(Type type) const {
  switch (type.kind()) {
    case TypeKind::Array: return true;
    case TypeKind::Optional:
    case TypeKind::Results:
      return std::ranges::any_of(types().members(type), [&](Type member) { return contains_array(member); });
    default: return false;
  }
}

void Verifier::check_stage() {
  const bool arrays = (static_cast<int>(stage_) & static_cast<int>(Stage::Array)) != 0;
  each_node([&](NodeId node) {
    const auto allowed = static_cast<int>(info(function_.op(node)).stage);
    need((allowed & static_cast<int>(stage_)) != 0, 6, node, "the op may not occur at this stage");
    need(arrays || !contains_array(function_.type(node)), 6, node, "whole arrays are gone at the loop stage");
  });
}

void Verifier::check_region(NodeId node, size_t index, const Types& parameters, const Types& yields) {
  const RegionId region = function_.region(node, index);
  const Types found = types_of(function_.region_parameters(region));
  if (found != parameters) {
    add(7, node,
        "region " + std::to_string(index) + " has parameters " + text(found) + ", should have " +
            text(parameters));
  }
  const NodeId last = function_.terminator(region);
  if (function_.op(last) != Op::yield) return;
  const Types given = types_of(function_.operands(last));
  if (given != yields) add(7, last, "yields " + text(given) + ", should yield " + text(yields));
}

void Verifier::check_while(NodeId node, const Types& inits, const Types& results) {
  Types values{kBool};
  values.insert(values.end(), results.begin(), results.end());
  check_region(node, 0, inits, values);
  check_region(node, 1, results, inits);
}

void Verifier::check_region_types() {
  each_node([&](NodeId node) {
    if (function_[node].region_count == 0) return;
    const Types operands = types_of(function_.operands(node));
    const Types results = types_of(function_.results_of(node));
    Types iteration{kInt64};
    switch (function_.op(node)) {
      case Op::if_:
        check_region(node, 0, {}, results);
        check_region(node, 1, {}, results);
        break;
      case Op::for_:
        iteration.insert(iteration.end(), results.begin(), results.end());
        check_region(node, 0, iteration, results);
        break;
      case Op::while_: check_while(node, operands, results); break;
      case Op::parallel_for: check_region(node, 0, iteration, results); break;
      case Op::block: check_region(node, 0, {Type::label()}, results); break;
      case Op::share: check_share(node, results); break;
      case Op::back: check_region(node, 0, {}, {}); break;
      case Op::launch: check_launch(node, operands.size()); break;
      default: add(7, node, "no rule defines its regions"); break;
    }
  });
}

void Verifier::check_launch(NodeId node, size_t operands) {
  Types parameters(6, kInt64);
  if (operands > 6) parameters.push_back(Type::buffer(Space::Shared));
  check_region(node, 0, parameters, {});
}

void Verifier::check_share(NodeId node, const Types& results) {
  check_region(node, 0, {}, results);
  const auto body = function_.region_body(function_.region(node));
  const bool is_loop = is_counted_loop(function_.op(body[0]));
  const bool is_alone = std::ranges::all_of(body.subspan(1), [&](NodeId other) {
    return function_.op(other) == Op::result || function_.op(other) == Op::yield;
  });
  need(is_loop && is_alone, 7, node, "shares one loop");
}

void Verifier::check_exits() {
  each_node([&](NodeId node) {
    if (function_.op(node) != Op::exit_) return;
    const NodeId label = function_.operand(node, 0);
    const NodeId block = owner(function_[label].parent);
    if (!block || function_.op(block) != Op::block || function_.op(label) != Op::param)
      return add(8, node, "leaves no block");
    const Types carried = types_of(function_.operands(node).subspan(1));
    const Types wanted = types_of(function_.results_of(block));
    if (carried != wanted) add(8, node, "carries " + text(carried) + ", the block gives " + text(wanted));
  });
}

void Verifier::check_labels() {
  each_node([&](NodeId node) {
    if (function_.op(node) == Op::param && function_.type(node) == Type::label()) {
      const NodeId around = owner(function_[node].parent);
      need(around && function_.op(around) == Op::block, 8, node, "a label is the parameter of a block");
    }
    for (size_t i = 0; i < function_.operands(node).size(); ++i) {
      const bool label = function_.type(function_.operand(node, i)) == Type::label();
      need(!label || (function_.op(node) == Op::exit_ && i == 0), 8, node, "uses a label and is no exit");
    }
  });
}

void Verifier::check_exits_stay_inside() {
  each_node([&](NodeId node) {
    if (function_.op(node) != Op::exit_) return;
    const RegionId target = function_[function_.operand(node, 0)].parent;
    for (RegionId region = function_[node].parent; region != target && owner(region);
         region = function_[owner(region)].parent) {
      const Op around = function_.op(owner(region));
      need(around != Op::parallel_for && around != Op::launch, 9, node, "leaves a parallel_for or launch");
    }
  });
}

void Verifier::check_returns() {
  each_node([&](NodeId node) {
    if (function_.op(node) != Op::return_) return;
    if (function_[node].parent != function_.body()) return add(9, node, "returns inside a region");
    const Types given = types_of(function_.operands(node));
    const Types wanted(function_.results().begin(), function_.results().end());
    if (given != wanted) add(9, node, "returns " + text(given) + ", the function gives " + text(wanted));
  });
  const NodeId last = function_.terminator(function_.body());
  need(function_.op(last) != Op::yield, 9, last, "the body ends in yield");
}

NodeId Verifier::enclosing_launch(NodeId node) const {
  NodeId around = owner(function_[node].parent);
  while (around && function_.op(around) != Op::launch) around = owner(function_[around].parent);
  return around;
}

void Verifier::check_collectives() {
  std::map<std::pair<NodeId, Scope>, Uniformity> known;
  each_node([&](NodeId node) {
    if (!is_collective(function_.op(node))) return;
    const NodeId launch = enclosing_launch(node);
    if (!launch) return add(10, node, "is in no launch");
    const std::optional<Scope> scope = scope_of_collective(function_, node);
    if (!scope) return;
    const auto key = std::pair(launch, *scope);
    auto found = known.find(key);
    if (found == known.end()) found = known.emplace(key, Uniformity(function_, launch, *scope)).first;
    need(found->second.is_uniform(node), 10, node,
         *scope == Scope::Block ? "not all threads of the block may come here together"
                                : "not all threads of the launch may come here together");
  });
}

void Verifier::check_spans() {
  bool any = false;
  each_node([&](NodeId node) { any = any || function_[node].span; });
  if (!any) return;
  const Effects silent = effect::Read | effect::Allocate;
  each_node([&](NodeId node) {
    const bool seen = ((effects_of(function_, node).bits) & ~silent.bits) != 0;
    need(!seen || function_[node].span, 11, node, "has an effect and no location in the source");
  });
}

void Verifier::check_shared_buffers() {
  each_node([&](NodeId node) {
    if (function_.op(node) != Op::alloc || function_.type(node) != Type::buffer(Space::Shared)) return;
    const NodeId around = owner(function_[node].parent);
    need(around && function_.op(around) == Op::launch, 12, node,
         "a shared buffer is allocated at the top of a launch");
    need(function_.is_constant(function_.operand(node, 0)), 12, node, "a shared buffer has a constant size");
  });
}

void Verifier::check_vector_loops() {
  each_node([&](NodeId node) {
    const Op op = function_.op(node);
    if (op != Op::for_ && op != Op::parallel_for) return;
    if (!has_lanes(schedule_of(function_, node))) return;
    const int64_t width = function_.attribute(node, 1);
    const bool is_power = width >= 0 && (width & (width - 1)) == 0;
    need(is_power && width <= 64, 14, node, "the width of a vector loop is 0 or a power of two up to 64");
    if (width == 1) return;
    need(op == Op::parallel_for || cursors_of(function_, node).has_value(), 14, node,
         "a vector loop carries nothing but cursors");
    const Effects good = effect::Read | effect::Write;
    need((effects_of(function_, node).bits & ~good.bits) == 0, 14, node,
         "the iterations of a vector loop only read and write memory");
  });
}

void Verifier::check_host_only() {
  each_node([&](NodeId node) {
    if (!host_only(function_, node)) return;
    need(!enclosing_launch(node), 15, node, "is for the host alone and is in a launch");
    if (function_.op(node) == Op::call) return;
    for (NodeId const operand : function_.operands(node)) {
      const Type type = function_.type(operand);
      const bool memory = type.is_view() || type.is_buffer();
      need(!memory || type.space() == Space::Host || type.space() == Space::Pinned, 15, node,
           "is for the host alone and takes memory that is not the host's");
    }
  });
}

std::vector<Fault> Verifier::run() {
  check_regions_list_nodes();
  if (!faults_.empty()) return faults_;
  check_regions_end();
  check_parameters_come_first();
  check_attributes();
  if (!faults_.empty()) return faults_;
  check_operands_dominate();
  check_results_follow();
  if (!faults_.empty()) return faults_;
  check_types();
  if (!faults_.empty()) return faults_;
  check_stage();
  check_region_types();
  check_exits();
  check_labels();
  check_exits_stay_inside();
  if (faults_.empty()) check_collectives();
  check_returns();
  check_spans();
  check_shared_buffers();
  check_vector_loops();
  check_host_only();
  return faults_;
}

}  // namespace

std::vector<Fault> verify(const Function& function, Stage stage) { return Verifier(function, stage).run(); }

std::string to_string(const Function& function, const Fault& fault) {
  std::string where = "invariant " + std::to_string(fault.invariant);
  if (fault.node) {
    where += " at node " + std::to_string(text_number(function, fault.node)) + ", " +
             print_node(function, fault.node);
  }
  return where + ": " + fault.message;
}

void verify_or_throw(const Function& function, Stage stage, const std::string& after) {
  const std::vector<Fault> faults = verify(function, stage);
  if (faults.empty()) return;
  std::string message = "after " + after + ", function " + function.name() + ":";
  for (const Fault& fault : faults) message += "\n  " + to_string(function, fault);
  throw base::InternalError(message);
}

}  // namespace ingot::ir
