#include "tools/actions.h"

#include <fstream>
#include <iterator>
#include <ostream>

#include "ir/text.h"
#include "ir/verifier.h"
#include "transform/passes.h"

namespace ingot::tools {

std::unique_ptr<ir::Module> read_input(const Options& options, Streams& streams) {
  std::ifstream file;
  const bool standard = options.input == "-";
  if (!standard) file.open(options.input, std::ios::binary);
  if (!standard && !file) throw UsageError{"cannot read " + options.input};
  std::istream& in = standard ? streams.in : file;
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  return ir::parse(text, standard ? "<stdin>" : options.input);
}

bool run_passes(ir::Module& module, const Options& options, Streams&) {
  for (const std::string& name : options.passes) {
    const transform::Pass* pass = transform::find_pass(name);
    if (pass == nullptr) throw UsageError{"no pass " + name};
    transform::run_on_all(module, *pass);
  }
  return true;
}

bool verify(const ir::Module& module, const Options& options, Streams& streams) {
  bool good = true;
  for (uint32_t i = 0; i < module.function_count(); ++i) {
    const ir::Function* function = module.function(ir::FunctionId(i));
    if (function == nullptr) continue;
    for (const ir::Fault& fault : ir::verify(*function, options.stage)) {
      good = false;
      streams.err << "@" << function->name() << ": " << ir::to_string(*function, fault) << "\n";
    }
  }
  return good;
}

bool print(const ir::Module& module, const Options& options, Streams& streams) {
  streams.out << ir::print(module, {.spans = options.spans});
  return true;
}

int run(const Options& options, Streams& streams) {
  const std::unique_ptr<ir::Module> module = read_input(options, streams);
  bool good = run_passes(*module, options, streams);
  if (good && options.verify) good = verify(*module, options, streams);
  if (good && options.print) good = print(*module, options, streams);
  return good ? 0 : 1;
}

}  // namespace ingot::tools
