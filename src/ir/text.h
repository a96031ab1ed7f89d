#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "ir/function.h"

namespace ingot::ir {

struct PrintOptions {
  bool spans = false;  ///< also the location of each node: `at "f.py":3:4-9`
};

/// The text form. Reading it back gives the same nodes in the same order: printing what `parse` read from a
/// printed text gives that text again. Grammar: docs/ir.md.
std::string print(const Module& module, PrintOptions options = {});
std::string print(const Function& function, PrintOptions options = {});
/// One node on one line, for messages.
std::string print_node(const Function& function, NodeId node);
/// The number that names a node in the text form: its position in the order of the text. (Ids differ from it
/// where a region was suspended and resumed.)
uint32_t text_number(const Function& function, NodeId node);

/// For tests that nothing depends on the text: from now on it has another name for each op, in this process.
void rename_ops_in_text();

/// Reads a text; `file` names it in errors. Types are inferred and compared with those written. Nodes are
/// appended as written: nothing is folded. Throws base::UserError with the location.
std::unique_ptr<Module> parse(std::string_view text, const std::string& file);
/// Reads functions into an existing module.
void parse_into(Module& module, std::string_view text, const std::string& file);

}  // namespace ingot::ir
