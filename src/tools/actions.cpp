#include "tools/actions.h"

#include <fstream>
#include <iterator>
#include <new>
#include <optional>
#include <ostream>

#include "driver/session.h"
#include "driver/targets.h"
#include "ir/text.h"
#include "ir/verifier.h"
#include "ir/walk.h"
#include "tools/replay.h"
#include "transform/passes.h"

namespace ingot::tools {

namespace {

std::string read_file(const std::string& path, Streams& streams) {
  std::ifstream file;
  const bool standard = path == "-";
  if (!standard) file.open(path, std::ios::binary);
  std::istream& in = standard ? streams.in : file;
  std::string text;
  char part[1 << 16];
  while (in.read(part, sizeof part) || in.gcount() > 0) text.append(part, static_cast<size_t>(in.gcount()));
  if (!in.eof()) throw UsageError{"cannot read " + path};
  return text;
}

std::unique_ptr<ir::Module> read_module(const std::string& path, Streams& streams) {
  return ir::parse(read_file(path, streams), path == "-" ? "<stdin>" : path);
}

ReplayFile read_replay_file(const std::string& path, Streams& streams) {
  return parse_replay_file(read_file(path, streams), path);
}

/// A replay file with the outcome of the call.
ReplayFile read_ended(const std::string& path, Streams& streams) {
  ReplayFile replay = read_replay_file(path, streams);
  if (!replay.outcome) throw base::UserError({path, 1}, "the replay file does not state how the call ended");
  return replay;
}

/// All faults at a stage.
std::vector<std::string> faults_of(const ir::Module& module, ir::Stage stage) {
  std::vector<std::string> faults;
  for (uint32_t i = 0; i < module.function_count(); ++i) {
    const ir::Function* function = module.function(ir::FunctionId(i));
    if (function == nullptr) continue;
    for (const ir::Fault& fault : ir::verify(*function, stage))
      faults.push_back("@" + function->name() + ": " + ir::to_string(*function, fault));
  }
  return faults;
}

bool is_at_loop_stage(const ir::Module& module) { return faults_of(module, ir::Stage::Loop).empty(); }

bool verify(const ir::Module& module, ir::Stage stage, Streams& streams) {
  const std::vector<std::string> faults = faults_of(module, stage);
  for (const std::string& fault : faults) streams.err << fault << "\n";
  return faults.empty();
}

void run_passes(ir::Module& module, const Options& options) {
  for (const std::string& name : options.passes) {
    const transform::Pass* pass = transform::find_pass(name);
    if (pass == nullptr) throw UsageError{"no pass " + name};
    transform::run_on_all(module, *pass, options.machine);
  }
}

/// What is done with one module's function, and the call that it is done with.
struct Work {
  bool interpret = false;
  Emit emit = Emit::Nothing;
  bool run = false;
  devices::Device* device = nullptr;
  const ReplayFile& call;
  const std::optional<Outcome>& expected;  ///< none: outcomes are printed
};

/// Prints an outcome, or holds it to what is expected.
bool report(const Outcome& outcome, const Work& work, const std::string& how, Streams& streams) {
  if (!work.expected) {
    streams.out << "; " << how << "\n";
    write_outcome(streams.out, outcome);
    return true;
  }
  const std::string found = difference(work.call, *work.expected, outcome);
  if (!found.empty()) streams.err << how << ": " << found << "\n";
  return found.empty();
}

/// Does `act`, whether it was good: false, having reported what was wrong, if the replay file does not allow
/// it. None, if the text is no program: it does what only the interpreter sees, or wants too much memory.
template <class Fn>
std::optional<bool> attempt(const std::string& how, Streams& streams, Fn&& act) {
  std::optional<bool> good;
  std::string fault;
  try {
    return act();
  } catch (const ReplayFault& found) {
    fault = found.message;
    good = false;
  } catch (const base::InternalError& found) {
    fault = found.what();
  } catch (const std::bad_alloc&) {
    fault = "not enough memory";
  }
  streams.err << how << ": " << fault << "\n";
  return good;
}

bool has_launch(const ir::Function& function) {
  return ir::any_within(function, function.body(),
                        [&](ir::NodeId node) { return function.op(node) == ir::Op::launch; });
}

/// Compiles a function, prints what is made of it, and runs it. A text at the loop stage is taken as it
/// is; another is lowered to it first, which uses the module up.
bool compile(ir::Module& module, ir::FunctionId function, bool at_loop_stage, const Work& work,
             const std::string& how, Streams& streams) {
  driver::CompileOptions options{.target = driver::asked_for(), .codegen = {}, .run_passes = !at_loop_stage};
  // What loads and stores on the host is not parted yet.
  if (work.device != nullptr)
    options.run_passes = options.run_passes || !has_launch(*module.function(function));
  if (work.device != nullptr) options.target = options.target.with_device(work.device->properties().code);
  options.codegen.want_llvm_ir = work.emit == Emit::Llvm;
  options.codegen.want_assembly =
      work.emit == Emit::Assembly || (work.device != nullptr && options.codegen.want_llvm_ir);
  driver::Session session(options);
  const driver::CompiledFunction compiled = session.compile(module, function);
  if (work.emit == Emit::Llvm)
    streams.out << session.code().llvm_ir_optimized << session.code().kernels_llvm_ir;
  if (work.emit == Emit::Assembly) streams.out << session.code().assembly << session.code().kernels;
  if (work.emit == Emit::Object) streams.out << compiled.bytes;
  return !work.run || report(run_call(compiled, work.call, work.device), work, how, streams);
}

/// Interprets, compiles and runs, as asked. The module is then used up.
bool work_on(ir::Module& module, const Work& work, const std::string& name, Streams& streams) {
  const bool at_loop_stage = is_at_loop_stage(module);
  if (!at_loop_stage && !verify(module, ir::Stage::Array, streams)) return false;
  ir::FunctionId function;
  const std::optional<bool> is_call = attempt(name, streams, [&] {
    function = find_function(module, work.call.function);
    if (work.interpret || work.run) check_call(module, function, work.call);
    return true;
  });
  if (!is_call.value_or(false)) return false;
  std::optional<bool> good = true;
  if (work.interpret) {
    const std::string how = name + ", interpreted";
    good = attempt(how, streams,
                   [&] { return report(interpret_call(module, function, work.call), work, how, streams); });
  }
  // Machine code does not see what the interpreter has refused: an index that leaves its memory.
  Work rest = work;
  rest.run = work.run && good;
  if (rest.emit == Emit::Nothing && !rest.run) return good.value_or(false);
  const std::string how = name + ", compiled";
  const std::optional<bool> compiled =
      attempt(how, streams, [&] { return compile(module, function, at_loop_stage, rest, how, streams); });
  return good.value_or(false) && compiled.value_or(false);
}

bool treat_file(const std::string& path, const Options& options, const Work& work, Streams& streams) {
  const std::unique_ptr<ir::Module> module = read_module(path, streams);
  // Passes take what is valid alone.
  const bool is_sound = options.passes.empty() || is_at_loop_stage(*module);
  if (!is_sound && !verify(*module, ir::Stage::Array, streams)) return false;
  run_passes(*module, options);
  if (options.verify && !verify(*module, options.stage, streams)) return false;
  if (options.print) streams.out << ir::print(*module, {.spans = options.spans});
  if (!work.interpret && !work.run && work.emit == Emit::Nothing) return true;
  return work_on(*module, work, path, streams);
}

/// The first device of a kind; null: the host.
devices::Device* find_device(const std::string& kind) {
  if (kind.empty()) return nullptr;
  const std::span<devices::Device* const> found = devices::devices(kind);
  if (found.empty()) throw UsageError{"no device " + kind + ": " + devices::why_none(kind)};
  return found.front();
}

/// Makes the call of a folder that `f.record` wrote again, from each of its texts.
bool replay_folder(const std::string& folder, Streams& streams) {
  const std::string file = folder + "/call.txt";
  const ReplayFile replay = read_ended(file, streams);
  if (replay.stages.empty()) throw base::UserError({file, 1}, "the replay file names no texts");
  const Work work{.interpret = true, .run = true, .call = replay, .expected = replay.outcome};
  bool good = true;
  for (const std::string& stage : replay.stages) {
    std::string path = folder;
    path.append("/").append(stage);
    good = work_on(*read_module(path, streams), work, path, streams) && good;
  }
  if (good)
    streams.out << folder << ": " << replay.stages.size() << " texts, interpreted and compiled, the same\n";
  return good;
}

}  // namespace

int run(const Options& options, Streams& streams) {
  bool good = true;
  if (options.replay) {
    for (const std::string& folder : options.inputs) good = replay_folder(folder, streams) && good;
    return good ? 0 : 1;
  }
  const ReplayFile call = options.call.empty() ? ReplayFile{} : read_replay_file(options.call, streams);
  const ReplayFile expected = options.expect.empty() ? ReplayFile{} : read_ended(options.expect, streams);
  const Work work{options.interpret,           options.emit, options.run,
                  find_device(options.device), call,         expected.outcome};
  for (const std::string& input : options.inputs) good = treat_file(input, options, work, streams) && good;
  return good ? 0 : 1;
}

}  // namespace ingot::tools
