#include <algorithm>
#include <atomic>

#include "ir/lexicon.h"
#include "ir/text.h"

namespace ingot::ir {

namespace {

std::atomic<bool> are_ops_renamed = false;

std::string shown_name(Op op) {
  const std::string name(name_of(op));
  return are_ops_renamed.load(std::memory_order_relaxed) ? "renamed_" + name : name;
}

/// Prints one function. Relies on no invariant of the verifier, whose messages it prints.
class Printer {
 public:
  Printer(const Function& function, PrintOptions options)
      : function_(function),
        module_(function.module()),
        options_(options),
        numbers_(function.node_count(), NodeId::kNone),
        numbered_(function.region_count()) {
    name_parameters();
    number_region(function.body());
  }

  std::string print_function();
  std::string print_line(NodeId node);
  uint32_t number(NodeId node) const { return numbers_[node.index]; }

 private:
  void number_region(RegionId id);
  void name_parameters();
  void print_parameter(size_t index);
  void print_region(RegionId id, size_t depth);
  void print_block(NodeId node, size_t depth);
  void print_head(NodeId node);
  size_t print_names(NodeId node);
  void print_operands(NodeId node);
  void print_attributes(NodeId node);
  std::string attribute_text(const AttributeInfo& attribute, int64_t word) const;
  void print_span(SpanId id);
  void indent(size_t depth) { out_.append(2 * depth, ' '); }
  std::string name(NodeId id) const;
  std::span<const NodeId> results_after(NodeId node) const;

  const Function& function_;
  const Module& module_;
  PrintOptions options_;
  std::vector<std::string> parameter_names_;  ///< empty: a number
  std::vector<uint32_t> numbers_;             ///< by node, in the order of the text
  std::vector<bool> numbered_;                ///< by region
  uint32_t next_number_ = 0;
  std::string out_;
};

bool is_number(std::string_view name) {
  return std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

void Printer::name_parameters() {
  for (const ParameterInfo& parameter : function_.parameters()) {
    const bool good = is_word(parameter.name) && !is_number(parameter.name) &&
                      std::ranges::find(parameter_names_, parameter.name) == parameter_names_.end();
    parameter_names_.push_back(good ? parameter.name : "");
  }
}

/// Numbers the nodes of a region and of the regions in it; visits no region twice, even in a malformed
/// function.
void Printer::number_region(RegionId id) {
  if (id.index >= numbered_.size() || numbered_[id.index]) return;
  numbered_[id.index] = true;
  for (const NodeId node : function_[id].nodes) {
    if (node.index >= numbers_.size()) continue;
    numbers_[node.index] = next_number_++;
    for (size_t i = 0; i < function_[node].region_count; ++i) number_region(function_.region(node, i));
  }
}

std::string Printer::name(NodeId id) const {
  if (id.index >= numbers_.size()) return "%none";
  if (id.index < parameter_names_.size() && !parameter_names_[id.index].empty())
    return "%" + parameter_names_[id.index];
  return "%" + std::to_string(numbers_[id.index]);
}

/// The `result` nodes that come right after a node, as they should: all of them, or none.
std::span<const NodeId> Printer::results_after(NodeId node) const {
  if (!function_.type(node).is(TypeKind::Results)) return {};
  if (function_[node].parent.index >= function_.region_count()) return {};
  const std::vector<NodeId>& siblings = function_[function_[node].parent].nodes;
  const auto at = std::ranges::find(siblings, node);
  const size_t count = function_.result_count(node);
  if (siblings.end() - at <= static_cast<ptrdiff_t>(count)) return {};
  const std::span<const NodeId> results(at + 1, count);
  for (size_t i = 0; i < count; ++i) {
    if (function_.op(results[i]) != Op::result ||
        !std::ranges::equal(function_.operands(results[i]), std::span(&node, 1)) ||
        function_.attribute(results[i], 0) != static_cast<int64_t>(i))
      return {};
  }
  return results;
}

/// The names on the left; the number of `result` nodes they represent.
size_t Printer::print_names(NodeId node) {
  const std::span<const NodeId> results = results_after(node);
  for (NodeId const result : results) out_ += (result == results[0] ? "" : ", ") + name(result);
  if (results.empty() && !function_.type(node).is_void()) out_ += name(node);
  if (!function_.type(node).is_void()) out_ += " = ";
  return results.size();
}

void Printer::print_operands(NodeId node) {
  for (size_t i = 0; i < function_.operands(node).size(); ++i)
    out_ += (i == 0 ? " " : ", ") + name(function_.operand(node, i));
}

std::string Printer::attribute_text(const AttributeInfo& attribute, int64_t word) const {
  const auto within = [&](size_t count) { return word >= 0 && static_cast<size_t>(word) < count; };
  const auto id = static_cast<uint32_t>(word);
  switch (attribute.kind) {
    case AttributeKind::Int:
    case AttributeKind::Ints:
    case AttributeKind::Option: break;
    case AttributeKind::OpCode:
    case AttributeKind::OpCodes:
      if (within(kOpCount)) return shown_name(static_cast<Op>(word));
      break;
    case AttributeKind::Exception:
      if (within(base::kExceptionCount))
        return std::string(base::name_of(static_cast<base::ExceptionKind>(word)));
      break;
    case AttributeKind::Text:
      if (within(module_.text_count())) return quoted(module_.text(TextId(id)));
      break;
    case AttributeKind::Symbol:
      if (within(module_.function_count())) return symbol(module_.signature(FunctionId(id)).name);
      break;
    case AttributeKind::Choice:
      if (within(choices(attribute.name).size()))
        return std::string(choices(attribute.name)[static_cast<size_t>(word)]);
      break;
  }
  return std::to_string(word);
}

void Printer::print_attributes(NodeId node) {
  const auto schema = info(function_.op(node)).schema();
  const auto words = function_.attributes(node);
  if (schema.empty()) return;
  out_ += " {";
  for (size_t i = 0; i < schema.size(); ++i) {
    if (is_optional(schema[i].kind) && i >= words.size()) break;
    out_ += (i == 0 ? "" : ", ") + std::string(schema[i].name) + "=";
    if (is_list(schema[i].kind)) {
      out_ += "[";
      for (size_t k = i; k < words.size(); ++k)
        out_ += (k == i ? "" : ", ") + attribute_text(schema[i], words[k]);
      out_ += "]";
    } else if (i < words.size()) {
      out_ += attribute_text(schema[i], words[i]);
    }
  }
  out_ += "}";
}

void Printer::print_span(SpanId id) {
  if (!options_.spans || !id) return;
  const auto text = [&](TextId text_id) { return quoted(text_id ? module_.text(text_id) : ""); };
  out_ += " at ";
  for (;;) {
    const Span& span = module_.span(id);
    out_ += text(span.file) + ":" + std::to_string(span.line) + ":" + std::to_string(span.column) + "-" +
            std::to_string(span.end_column);
    if (span.function) out_ += " in " + text(span.function);
    if (span.loops) out_ += " loops " + text(span.loops);
    if (!span.inlined_at) return;
    out_ += " inlined at ";
    id = span.inlined_at;
  }
}

/// A node's line without its names and regions.
void Printer::print_head(NodeId node) {
  const Type type = function_.type(node);
  out_ += shown_name(function_.op(node));
  if (function_.is_constant(node) && type.is_scalar() && function_.attributes(node).size() == 2) {
    out_ += " " + literal(type.dtype(), function_.constant(node));
  } else {
    print_operands(node);
    print_attributes(node);
  }
  if (!type.is_void()) out_ += " : " + module_.types.to_string(type);
  print_span(function_[node].span);
}

std::string Printer::print_line(NodeId node) {
  print_names(node);
  print_head(node);
  if (function_[node].region_count > 0) out_ += " {...}";
  return std::move(out_);
}

void Printer::print_block(NodeId node, size_t depth) {
  for (size_t i = 0; i < function_[node].region_count; ++i) {
    const RegionId region = function_.region(node, i);
    out_ += i == 0 ? " {\n" : "} {\n";
    if (function_[region].parameter_count > 0) {
      indent(depth);
      out_ += "^(";
      for (NodeId const parameter : function_.region_parameters(region)) {
        out_ += (parameter == function_[region].nodes[0] ? "" : ", ") + name(parameter) + ": " +
                module_.types.to_string(function_.type(parameter));
      }
      out_ += "):\n";
    }
    print_region(region, depth + 1);
    indent(depth);
  }
  out_ += "}";
}

void Printer::print_region(RegionId id, size_t depth) {
  const auto nodes = function_.region_body(id);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const NodeId node = nodes[i];
    indent(depth);
    const size_t results = print_names(node);
    print_head(node);
    if (function_[node].region_count > 0) print_block(node, depth);
    out_ += "\n";
    i += results;
  }
}

std::string lengths_text(const ParameterInfo& parameter, int rank) {
  std::string out = "(";
  for (int axis = 0; axis < rank; ++axis) {
    const bool is_one = (*parameter.ones >> axis & 1) != 0;
    const bool is_short = axis + 1 == rank && parameter.last > 0;
    out += axis == 0 ? "" : ", ";
    out += is_one ? "1" : is_short ? std::to_string(parameter.last) : "n";
  }
  return out += ")";
}

void Printer::print_parameter(size_t index) {
  const ParameterInfo& parameter = function_.parameters()[index];
  const NodeId node = function_[function_.body()].nodes[index];
  out_ += name(node) + ": " + module_.types.to_string(function_.type(node));
  if (parameter.alias_set != 0) out_ += " alias " + std::to_string(parameter.alias_set);
  if (!parameter.writable) out_ += " readonly";
  if (parameter.layout != Layout::Any) out_ += parameter.layout == Layout::C ? " layout C" : " layout F";
  if (parameter.ones && function_.type(node).rank() > 0)
    out_ += " lengths " + lengths_text(parameter, function_.type(node).rank());
  if (parameter_names_[index].empty() && !parameter.name.empty()) out_ += " name " + quoted(parameter.name);
}

std::string types_text(const Module& module, std::span<const Type> types) {
  std::string out = "(";
  for (size_t i = 0; i < types.size(); ++i) out += (i == 0 ? "" : ", ") + module.types.to_string(types[i]);
  return out += ")";
}

std::string Printer::print_function() {
  out_ += "func " + symbol(function_.name()) + "(";
  for (size_t i = 0; i < function_.parameters().size(); ++i) {
    if (i > 0) out_ += ", ";
    print_parameter(i);
  }
  out_ += ") -> " + types_text(module_, function_.results());
  if (!function_.relaxations().empty()) out_ += " relaxed(" + function_.relaxations().text() + ")";
  out_ += " {\n";
  print_region(function_.body(), 1);
  out_ += "}\n";
  return std::move(out_);
}

std::string declaration(const Module& module, const Module::Signature& signature) {
  std::string out = "func " + symbol(signature.name) + "(";
  for (size_t i = 0; i < signature.parameters.size(); ++i) {
    out +=
        (i == 0 ? "%" : ", %") + std::to_string(i) + ": " + module.types.to_string(signature.parameters[i]);
  }
  return out + ") -> " + types_text(module, signature.results) + "\n";
}

}  // namespace

void rename_ops_in_text() { are_ops_renamed = true; }

std::string print(const Module& module, PrintOptions options) {
  std::string out;
  for (uint32_t i = 0; i < module.function_count(); ++i) {
    if (!out.empty()) out += "\n";
    const Function* function = module.function(FunctionId(i));
    out += function != nullptr ? print(*function, options)
                               : declaration(module, module.signature(FunctionId(i)));
  }
  return out;
}

std::string print(const Function& function, PrintOptions options) {
  return Printer(function, options).print_function();
}

std::string print_node(const Function& function, NodeId node) {
  return Printer(function, {}).print_line(node);
}

uint32_t text_number(const Function& function, NodeId node) { return Printer(function, {}).number(node); }

}  // namespace ingot::ir
