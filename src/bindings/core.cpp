#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include "base/refused.h"
#include "base/strided.h"
#include "bindings/explained.h"
#include "bindings/scalar_bits.h"
#include "devices/device.h"
#include "driver/lowering.h"
#include "driver/program.h"
#include "driver/targets.h"
#include "frontend/calls/trees.h"
#include "frontend/lowering/lowering.h"
#include "interop/exceptions.h"
#include "interop/gil.h"
#include "ir/calls.h"
#include "ir/counts.h"
#include "ir/interpreter.h"
#include "ir/raises.h"
#include "ir/text.h"
#include "runtime/object_info.h"

// The core: everything of the compiler that is loaded at the first compile, as the Python module `_core`.

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace ingot::bindings {

namespace {

using base::DType;

/// The dtype of an array; of one of records, that of their bytes.
DType dtype_of(nb::handle array) {
  if (!nb::handle(array.attr("dtype").attr("names")).is_none()) return DType::UInt8;
  return base::known(base::dtype_from_numpy(nb::cast<std::string>(array.attr("dtype").attr("name"))));
}

ir::ViewValue view_of(nb::handle array) {
  ir::ViewValue view;
  view.dtype = dtype_of(array);
  view.lengths = nb::cast<std::vector<int64_t>>(array.attr("shape"));
  view.strides = nb::cast<std::vector<int64_t>>(array.attr("strides"));
  // The block spans the lowest to the highest byte of the array.
  const base::Reach reach =
      base::Strided{view.lengths, view.strides, nb::cast<int64_t>(array.attr("itemsize"))}.reach();
  const auto address = nb::cast<uintptr_t>(array.attr("ctypes").attr("data"));
  view.block = std::make_shared<ir::MemoryBlock>();
  view.block->data = reinterpret_cast<std::byte*>(address) + reach.low;  // NOLINT(performance-no-int-to-ptr)
  view.block->size = reach.size();
  view.offset = -reach.low;
  return view;
}

nb::object array_of(const ir::ArrayValue& value) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  const nb::object flat = numpy.attr("frombuffer")(nb::bytes(value.data.data(), value.data.size()),
                                                   "dtype"_a = std::string(base::info(value.dtype).numpy));
  return flat.attr("reshape")(nb::tuple(nb::cast(value.lengths)));
}

/// The memory of a view in C order as an array, for the time of a call.
nb::object memory_of(const ir::ViewValue& view) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  const std::string dtype(base::info(view.dtype).numpy);
  const nb::tuple shape(nb::cast(view.lengths));
  const int64_t size =
      base::Strided{view.lengths, view.strides, static_cast<int64_t>(base::size_of(view.dtype))}.bytes();
  if (size == 0) return numpy.attr("empty")(shape, dtype);
  const nb::module_ ctypes = nb::module_::import_("ctypes");
  const auto start = reinterpret_cast<uintptr_t>(view.block->data + view.offset);
  const nb::object bytes = (ctypes.attr("c_char") * nb::int_(size)).attr("from_address")(start);
  return numpy.attr("frombuffer")(bytes, "dtype"_a = dtype).attr("reshape")(shape);
}

/// What a view shows, as an array, for the time of a call.
nb::object window_of(const ir::ViewValue& view) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  const nb::module_ ctypes = nb::module_::import_("ctypes");
  const auto start = reinterpret_cast<uintptr_t>(view.block->data);
  const nb::object bytes = (ctypes.attr("c_char") * nb::int_(view.block->size)).attr("from_address")(start);
  return numpy.attr("ndarray")(nb::tuple(nb::cast(view.lengths)), std::string(base::info(view.dtype).numpy),
                               "buffer"_a = bytes, "offset"_a = view.offset,
                               "strides"_a = nb::tuple(nb::cast(view.strides)));
}

std::shared_ptr<const ir::ArrayValue> array_value(nb::handle given) {
  const nb::object array = nb::module_::import_("numpy").attr("ascontiguousarray")(given);
  auto value = std::make_shared<ir::ArrayValue>();
  value->dtype = dtype_of(array);
  value->lengths = nb::cast<std::vector<int64_t>>(given.attr("shape"));
  const nb::bytes raw = nb::cast<nb::bytes>(array.attr("tobytes")());
  const auto* begin = reinterpret_cast<const std::byte*>(raw.c_str());
  value->data.assign(begin, begin + raw.size());
  return value;
}

/// The memory of a block as an array, which holds it.
nb::object bytes_on(const ir::BlockRef& block) {
  const nb::capsule owner(new ir::BlockRef(block),
                          [](void* held) noexcept { delete static_cast<ir::BlockRef*>(held); });
  using Bytes = nb::ndarray<nb::numpy, uint8_t, nb::ndim<1>>;
  return nb::cast(Bytes(block->data, {static_cast<size_t>(block->size)}, owner), nb::rv_policy::reference);
}

/// What adds the memories of blocks to a list; None: nothing.
std::function<void(const ir::BlockRef&)> listing(const nb::object& memories) {
  if (memories.is_none()) return {};
  return [memories](const ir::BlockRef& block) { memories.attr("append")(bytes_on(block)); };
}

/// Values that leave the interpreter: numbers, and views as (owner of the memory, offset, lengths, strides,
/// dtype), as `Invocation::results` lists them.
class Outward {
 public:
  explicit Outward(std::span<const ir::Value> arguments) {
    for (size_t i = 0; i < arguments.size(); ++i)
      if (const auto* view = std::get_if<ir::ViewValue>(&arguments[i])) arguments_[view->block.get()] = i;
  }

  nb::object operator()(const ir::Value& value, ir::Type type) {
    if (const auto* bits = std::get_if<base::Scalar>(&value)) return numpy_scalar_bits(type.dtype(), *bits);
    if (const auto* view = std::get_if<ir::ViewValue>(&value)) {
      return nb::make_tuple(owner_of(view->block), int64_t{view->offset}, nb::tuple(nb::cast(view->lengths)),
                            nb::tuple(nb::cast(view->strides)), std::string(base::info(view->dtype).numpy));
    }
    throw base::InternalError("a value that no result can be");
  }

  /// The number of an argument, or the memory of a block.
  nb::object owner_of(const ir::BlockRef& block) {
    if (const auto argument = arguments_.find(block.get()); argument != arguments_.end())
      return nb::int_(argument->second);
    auto& kept = memories_[block.get()];
    if (!kept.is_valid()) {
      kept = nb::module_::import_("numpy")
                 .attr("frombuffer")(nb::bytes(block->data, static_cast<size_t>(block->size)),
                                     "dtype"_a = "uint8")
                 .attr("copy")();
    }
    return kept;
  }

  /// From now on the memory of a view is shared with what leaves, not copied.
  void keep(const ir::Value& value) {
    const auto* view = std::get_if<ir::ViewValue>(&value);
    if (view == nullptr || arguments_.contains(view->block.get())) return;
    auto& kept = memories_[view->block.get()];
    if (!kept.is_valid()) kept = bytes_on(view->block);
  }

 private:
  std::map<const ir::MemoryBlock*, size_t> arguments_;
  std::map<const ir::MemoryBlock*, nb::object> memories_;
};

/// Set once nobody waits for what this thread compiles; null: nobody ever waits.
const std::atomic<bool>* abandonment() {
  const nb::object flag = nb::module_::import_("ingot._ingot").attr("abandonment")();
  return flag.is_none() ? nullptr : static_cast<const std::atomic<bool>*>(nb::cast<nb::capsule>(flag).data());
}

/// A function lowered to IR, for Python: its IR as text, its code, and running it in the interpreter.
struct Program {
  driver::Program program;
  frontend::Lowered lowered;
  driver::Report front;  ///< of the passes that made it

  const ir::Module& module() const { return program.module(); }
  std::string text(bool spans) const { return ir::print(module(), {.spans = spans}); }

  nb::tuple guards() const {
    nb::list guards;
    std::set<std::tuple<PyObject*, std::string_view, PyObject*, bool>> seen;
    for (const frontend::Guard& g : lowered.guards) {
      if (!seen.emplace(g.owner.ptr(), g.name, g.expected.ptr(), g.in_class).second) continue;
      guards.append(nb::make_tuple(g.owner, g.name, g.expected.is_valid() ? g.expected : nb::none(),
                                   g.expected.is_valid(), g.in_class));
    }
    return nb::tuple(guards);
  }
  /// What each host call calls, the description of its arguments, and its location.
  nb::tuple hosts() const {
    std::vector<ir::SpanId> spans(lowered.hosts.size());
    for (const ir::HostCall& call : ir::host_calls(module()))
      spans[static_cast<size_t>(call.site)] = (*call.function)[call.node].span;
    nb::list hosts;
    for (size_t i = 0; i < spans.size(); ++i) {
      const frontend::HostSite& host = lowered.hosts[i];
      hosts.append(nb::make_tuple(host.function, host.arguments, tuple_of(module().sites(spans[i]))));
    }
    return nb::tuple(hosts);
  }
  /// The types of what each host call is given, by site.
  std::map<int64_t, std::vector<ir::Type>> host_types() const {
    std::map<int64_t, std::vector<ir::Type>> types;
    for (const auto& [site, function, node] : ir::host_calls(module())) {
      std::vector<ir::Type>& of_site = types[site];
      of_site.clear();
      for (const ir::NodeId operand : function->operands(node)) of_site.push_back(function->type(operand));
    }
    return types;
  }
  /// The function's name, and the dtypes of its parameters, its results and, by site, its host calls'
  /// operands.
  nb::tuple interface() const {
    const auto dtypes = [](const std::vector<ir::Type>& types) {
      nb::list names;
      for (const ir::Type type : types) names.append(std::string(base::info(type.dtype()).name));
      return names;
    };
    const auto& [name, parameters, results] = program.signature();
    nb::dict hosts;
    for (const auto& [site, types] : host_types()) hosts[nb::int_(site)] = dtypes(types);
    return nb::make_tuple(name, dtypes(parameters), dtypes(results), hosts);
  }

  nb::object interpret(const nb::list& leaves, nb::object host, nb::object library, const nb::object& keeps,
                       uint64_t seed, const nb::object& memories) const;
  nb::dict compile(bool texts, int threads, const std::string& device, bool has_products,
                   unsigned most_threads, unsigned fewest_blocks, bool quick, bool any_state,
                   nb::handle assembler) const;
  nb::dict compile_ahead(int level, int threads) const;

  /// Whether it multiplies matrices by a routine of the library table.
  bool multiplies() const { return ir::calls_routine(module(), "matmul"); }

  /// Of each parameter, whether it may be a number that decides how much there is to do.
  nb::list counts() const {
    nb::list all;
    for (const bool counts : ir::may_count(module(), program.entry())) all.append(counts);
    return all;
  }
  /// The exceptions that it looks for: the name of each, and what decides whether it is raised.
  nb::list raises() const {
    nb::list all;
    for (const auto& [kind, depends] : ir::may_raise(module(), program.entry())) {
      const char* const names[] = {"nothing", "lengths", "numbers", "elements"};
      all.append(nb::make_tuple(std::string(base::name_of(kind)), names[static_cast<size_t>(depends)]));
    }
    return all;
  }
};

/// Why loops are not vectorised and not shared among threads: by the location of each, a message with the two
/// locations that it is about and the name of its kind, or None.
nb::list described(const std::vector<driver::LoopReport>& loops) {
  const auto place = [](const base::SourceLocation& of) {
    return nb::make_tuple(of.file, of.line, of.column);
  };
  const auto reason = [&](const std::optional<driver::Reason>& of) -> nb::object {
    if (!of) return nb::none();
    return nb::make_tuple(of->what, place(of->first), place(of->second), of->kind);
  };
  nb::list all;
  for (const driver::LoopReport& loop : loops)
    all.append(nb::make_tuple(place(loop.location), reason(loop.lanes), reason(loop.threads)));
  return all;
}

/// The CPU milliseconds of each phase, by its name; of a pass that runs twice, of both.
nb::dict times_of(const driver::Report& front, const driver::Report& back, const codegen::Times& codegen) {
  std::vector<std::pair<std::string, double>> all;
  const auto add = [&](const std::string& name, double cpu_ms) {
    const auto known = std::ranges::find(all, name, &std::pair<std::string, double>::first);
    if (known == all.end()) all.emplace_back(name, cpu_ms);
    else known->second += cpu_ms;
  };
  for (const auto& phase : front.phases) add(phase.name, phase.cpu_ms);
  for (const auto& phase : back.phases) add(phase.name, phase.cpu_ms);
  add("codegen: emit", codegen.emit);
  add("codegen: passes", codegen.passes);
  add("codegen: select", codegen.select);
  nb::dict times;
  for (const auto& [name, cpu_ms] : all) times[name.c_str()] = cpu_ms;
  return times;
}

/// From array IR to a sealed object, by so many threads; with a kind of device code, for arrays on a
/// device that takes it, and has a library's products or not; its launches are of so many threads a block at
/// most; in little time, to slower code of the same values; for any floating-point state of the thread, or
/// the default one. With `texts`, also the IR between the stages. `assembler`: of the device that assembles
/// kernels, or None.
nb::dict Program::compile(bool texts, int threads, const std::string& device, bool has_products,
                          unsigned most_threads, unsigned fewest_blocks, bool quick, bool any_state,
                          nb::handle assembler) const {
  driver::CompileOptions options{.target = driver::asked_for(), .codegen = {}};
  const bool has_device = !device.empty();
  if (has_device) options.target = options.target.with_device(device, has_products);
  options.target.most_threads = most_threads;
  options.target.fewest_blocks = fewest_blocks;
  if (quick) options.codegen.effort = codegen::Effort::Quick;
  options.codegen.states = any_state ? codegen::States::Any : codegen::States::Default;
  options.codegen.want_llvm_ir = texts;
  options.codegen.want_assembly = texts;
  options.codegen.threads = static_cast<unsigned>(std::max(threads, 1));
  if (!assembler.is_none()) {
    const auto* const by =
        static_cast<const devices::Device*>(nb::cast<nb::capsule>(assembler).data(devices::kAssemblerName));
    options.codegen.assemble = [by](std::string_view text) { return by->assemble(text); };
  }
  options.stop = abandonment();
  driver::Report report;
  nb::list after;  // each pass: its name, the IR that it left
  std::string last;
  Stage nests;
  Stage final_stage;
  if (texts) {
    report.dump = [&](std::string_view pass, const ir::Module& left) {
      std::string text = ir::print(left);
      final_stage = Stage(left);
      const bool is_less = pass == kPassThatDropsArrays && text != last;
      if (pass == kPassThatMakesLoops || is_less) nests = final_stage;
      last = std::move(text);
      after.append(nb::make_tuple(std::string(pass), ir::print(left, {.spans = true})));
    };
  }
  Gil gil;
  if (!texts) gil.release();  // nothing of Python's is needed
  const driver::CompileResult result = program.compile(options, report);
  gil.hold();
  nb::dict stages;
  stages["object"] = nb::bytes(result.bytes.data(), result.bytes.size());
  if (texts) {
    stages["passes"] = after;
    for (const auto& [function, launch, name] : result.code.kernel_names)
      final_stage.kernels.emplace(std::pair(function, launch), name);
    stages["nests"] = nests;
    stages["final"] = final_stage;
    stages["obstacles"] = described(report.loops);
    stages["schedule"] = final_stage.module->nests;
    stages["loop IR"] = last;
    stages["LLVM IR"] = result.code.llvm_ir_optimized;
    stages["assembly"] = result.code.assembly;
    if (has_device) {
      stages["kernels: LLVM IR"] = result.code.kernels_llvm_ir;
      stages["kernels"] = result.code.kernels;
    }
  }
  stages["times"] = times_of(front, report, result.code.times);
  return stages;
}

/// To an object for any CPU of a level, for linkers: with its metadata, encoded; the CPU features that it
/// needs; which parameters it writes to; its results; what it calls of the embedding program, and where.
nb::dict Program::compile_ahead(int level, int threads) const {
  driver::CompileOptions options{.target = driver::ahead_of_time(level), .codegen = {}, .want_outside = true};
  options.codegen.threads = static_cast<unsigned>(std::max(threads, 1));
  options.stop = abandonment();
  driver::Report report;
  Gil gil;
  gil.release();
  const driver::CompileResult result = program.compile(options, report);
  const std::string info = runtime::encode(result.info);
  gil.hold();
  nb::dict made;
  made["object"] = nb::bytes(result.code.object.data(), result.code.object.size());
  made["info"] = nb::bytes(info.data(), info.size());
  made["features"] = result.info.features;
  made["symbol"] = result.info.entries.front().symbol;
  nb::list written;
  for (const runtime::SlotInfo& slot : result.info.entries.front().params) written.append(slot.is_written);
  made["written"] = written;
  nb::list results;  // the dtype of each, and its axes, -1 for a number
  for (const runtime::SlotInfo& slot : result.info.entries.front().results) {
    const bool is_view = slot.kind == runtime::SlotInfo::Kind::View;
    results.append(nb::make_tuple(std::string(base::info(slot.dtype).numpy),
                                  is_view ? static_cast<int>(slot.rank) : -1));
  }
  made["results"] = results;
  nb::list outside;
  for (const driver::OutsideCall& call : result.outside)
    outside.append(nb::make_tuple(call.what, call.number, tuple_of(call.sites)));
  made["outside"] = outside;
  return made;
}

/// Runs a library routine or host call in Python; what it raises is kept for the caller of the interpreter.
bool run_outside(const std::function<void()>& call, nb::object& pending, ir::Raised& raised) {
  try {
    call();
    return true;
  } catch (nb::python_error& error) {
    pending = nb::borrow<nb::object>(error.value());
    raised.kind = kind_of(pending);
    raised.message = nb::str(error.value()).c_str();
    return false;
  }
}

/// Calls a C function for the interpreter.
void call_c(const frontend::Lowered& lowered, int64_t number, bool loop, std::span<const ir::Value> operands,
            std::span<const ir::Type> types, std::span<const ir::Type> wanted,
            std::vector<ir::Value>& results) {
  nb::list values;
  nb::list dtypes;
  for (size_t i = 0; i < operands.size(); ++i) {
    const auto* const view = std::get_if<ir::ViewValue>(&operands[i]);
    const std::string name(base::info(types[i].dtype()).numpy);
    dtypes.append((view != nullptr ? "*" : "") + name);
    values.append(view != nullptr ? window_of(*view)
                                  : numpy_scalar_bits(types[i].dtype(), std::get<base::Scalar>(operands[i])));
  }
  nb::list given;
  for (const ir::Type type : wanted) given.append(std::string(base::info(type.dtype()).numpy));
  nb::list forms;
  for (const nb::object& form : lowered.functions) forms.append(form);
  const nb::object numbers = nb::module_::import_("ingot._objects.c_functions")
                                 .attr("interpreted")(nb::tuple(forms), number, loop, values, dtypes, given);
  for (size_t i = 0; i < wanted.size(); ++i)
    results.emplace_back(scalar_bits(wanted[i].dtype(), nb::object(numbers[nb::int_(i)])));
}

nb::object Program::interpret(const nb::list& leaves, nb::object host, nb::object library,
                              const nb::object& keeps, uint64_t seed, const nb::object& memories) const {
  const auto& signature = program.signature();
  std::vector<ir::Value> arguments;
  for (size_t i = 0; i < signature.parameters.size(); ++i) {
    const nb::handle leaf = leaves[i];
    const ir::Type type = signature.parameters[i];
    arguments.push_back(type.is_view() ? ir::Value(view_of(leaf))
                                       : ir::Value(scalar_bits(type.dtype(), leaf)));
  }
  Outward outward(arguments);
  nb::object pending;
  ir::Externals externals;
  const std::map<int64_t, std::vector<ir::Type>> types_at = host_types();
  externals.host = [&](int64_t site, std::span<const ir::Value> operands, std::vector<ir::Value>&,
                       ir::Raised& raised) {
    return run_outside(
        [&] {
          nb::list values;
          const bool kept = nb::cast<bool>(keeps.attr("__contains__")(site));
          Outward as_it_is_now(arguments);
          for (size_t i = 0; i < operands.size(); ++i) {
            if (kept) outward.keep(operands[i]);
            values.append((kept ? outward : as_it_is_now)(operands[i], types_at.at(site)[i]));
          }
          host(site, values);
        },
        pending, raised);
  };
  externals.library = [&](std::string_view routine, std::span<const ir::Value> operands,
                          std::vector<ir::Value>& results, ir::Raised& raised) {
    return run_outside(
        [&] {
          nb::list values;
          for (const ir::Value& value : operands) {
            if (const auto* view = std::get_if<ir::ViewValue>(&value)) {
              values.append(memory_of(*view));
              continue;
            }
            const auto* array = std::get_if<std::shared_ptr<const ir::ArrayValue>>(&value);
            values.append(array != nullptr ? array_of(**array)
                                           : numpy_scalar_bits(DType::Int64, std::get<base::Scalar>(value)));
          }
          const nb::object result = library(std::string(routine), values);
          if (!result.is_none()) results.emplace_back(array_value(result));
        },
        pending, raised);
  };
  externals.c_function = [&](int64_t number, bool loop, std::span<const ir::Value> operands,
                             std::span<const ir::Type> types, std::span<const ir::Type> wanted,
                             std::vector<ir::Value>& results, ir::Raised& raised) {
    return run_outside([&] { call_c(lowered, number, loop, operands, types, wanted, results); }, pending,
                       raised);
  };
  externals.keep = listing(memories);
  const ir::Outcome outcome = program.interpret(arguments, externals, seed);
  if (outcome.raised) {
    const ir::Raised& raised = outcome.exception;
    nb::object made = nb::none();
    if (raised.made) {
      nb::list values;
      for (const auto& [dtype, bits] : raised.values) values.append(numpy_scalar_bits(dtype, bits));
      made = nb::make_tuple(*raised.made, values);
    }
    std::vector<base::Site> sites = module().sites(raised.span);
    for (const ir::SpanId call : raised.callers) {
      const std::vector<base::Site> callers = module().sites(call);
      sites.insert(sites.end(), callers.begin(), callers.end());
    }
    return nb::make_tuple(std::string(base::name_of(raised.kind)), raised.message, tuple_of(sites),
                          pending.is_valid() ? pending : nb::none(), made);
  }
  nb::list results;
  for (size_t i = 0; i < outcome.results.size(); ++i)
    results.append(outward(outcome.results[i], signature.results[i]));
  nb::dict held;
  for (size_t i = 0; i < outcome.kept.size(); ++i) held[nb::int_(i)] = outward.owner_of(outcome.kept[i]);
  if (!outcome.kept.empty()) results.append(held);
  return results;
}

/// Lowers a function for a call, which is described by Python: `caller.request()` gives the descriptions of
/// the arguments, the captures, the attributes by class, whether strings may be described by their
/// characters, and whether the code is for a device; `caller.learn(kind, argument, owner, names, sites)` has
/// the next request describe more.
class Frontend {
 public:
  /// `options`: a request in which the caller's part is missing.
  Frontend(const frontend::Registry& registry, nb::object function, nb::object caller,
           frontend::Request options)
      : registry_(registry),
        function_(std::move(function)),
        caller_(std::move(caller)),
        request_(std::move(options)) {
    begin();
  }

  frontend::Lowering::Outcome attempt() { return lowering_->attempt(); }
  void learn(const frontend::NeedsFact& fact) {
    if (!fact.is_of_caller()) return;
    const std::vector<base::Site> sites{{fact.location, ""}};
    caller_.attr("learn")(std::string(frontend::name_of(fact.kind)), fact.argument,
                          fact.owner.is_valid() ? fact.owner : nb::none(), nb::tuple(nb::cast(fact.names)),
                          tuple_of(sites));
    begin();
  }
  std::unique_ptr<ir::Module> take_module() { return lowering_->take_module(); }

 private:
  /// Begins anew, in a module of its own, with what the caller describes now.
  void begin() {
    const nb::tuple described = nb::cast<nb::tuple>(caller_.attr("request")());
    request_.arguments = nb::cast<nb::tuple>(described[0]);
    request_.captures = nb::cast<nb::tuple>(described[1]);
    request_.attributes = nb::cast<nb::dict>(described[2]);
    request_.opens_texts = nb::cast<bool>(described[3]);
    request_.on_device = nb::cast<bool>(described[4]);
    auto module = std::make_unique<ir::Module>();
    module->heed(abandonment());
    module->directives = request_.directives;
    module->loop_names = request_.loop_names;
    lowering_.emplace(registry_, std::move(module), function_, request_);
  }

  const frontend::Registry& registry_;
  nb::object function_;
  nb::object caller_;
  frontend::Request request_;
  std::optional<frontend::Lowering> lowering_;
};

std::unique_ptr<Program> lower(const frontend::Registry& registry, const nb::object& function,
                               const nb::object& caller, const std::vector<std::string>& relaxed,
                               bool in_order, const nb::list& directives,
                               const std::vector<std::string>& loop_names) {
  frontend::Request options{.in_order = in_order};
  for (const nb::handle each : directives) {
    ir::Directive directive{static_cast<ir::Directive::Kind>(nb::cast<int>(each[0])),
                            {},
                            nb::cast<int64_t>(each[2]),
                            nb::cast<std::string>(each[3])};
    for (const nb::handle name : each[1]) directive.loops.push_back(nb::cast<std::string>(name));
    options.directives.push_back(std::move(directive));
  }
  options.loop_names.insert(loop_names.begin(), loop_names.end());
  for (const std::string& name : relaxed) options.relaxations.add(base::known(ir::Relaxations::named(name)));
  Frontend frontend(registry, function, caller, std::move(options));
  frontend::Lowered lowered = driver::lower(frontend);
  std::unique_ptr<ir::Module> module = frontend.take_module();
  ir::Module& made = *module;
  driver::Report report;
  driver::Program program(std::move(module), lowered.function, report);
  made.heed(nullptr);  // the thread of the flag ends
  return std::make_unique<Program>(std::move(program), std::move(lowered), std::move(report));
}

nb::dict targets() {
  const driver::Targets found = driver::targets();
  nb::dict all;
  all["x86-64"] = found.cpu;
  all["nvptx"] = found.devices;
  return all;
}

}  // namespace

NB_MODULE(_core, m) {
  nb::set_leak_warnings(false);
  nb::dict dtypes;  // NumPy's names by the IR's
  for (const base::DTypeInfo& dtype : base::kDTypes)
    dtypes[std::string(dtype.name).c_str()] = std::string(dtype.numpy);
  m.attr("DTYPES") = dtypes;
  nb::list exceptions;
  for (const std::string_view name : base::kExceptionNames) exceptions.append(std::string(name));
  nb::list relaxations;
  for (const std::string_view name : ir::kRelaxationNames) relaxations.append(std::string(name));
  m.attr("RELAXATIONS") = nb::tuple(relaxations);
  m.attr("EXCEPTIONS") = nb::tuple(exceptions);

  nb::class_<frontend::Registry>(m, "Registry")
      .def(nb::init<>())
      .def("knows", [](const frontend::Registry& r, nb::handle f) { return r.find(f) != nullptr; });
  nb::class_<frontend::Trees>(m, "Trees")
      .def(nb::init<nb::bytes, nb::tuple, nb::tuple, nb::tuple>())
      .def("at", &frontend::Trees::at);
  nb::class_<Program>(m, "Program")
      .def("text", &Program::text, "spans"_a = false)
      .def_prop_ro("result", [](const Program& p) { return p.lowered.result; })
      .def_prop_ro("guards", &Program::guards)
      .def_prop_ro("hosts", &Program::hosts)
      .def_prop_ro("functions",
                   [](const Program& p) {
                     nb::list all;
                     for (const nb::object& form : p.lowered.functions) all.append(form);
                     return nb::tuple(all);
                   })
      .def_prop_ro("linked", [](const Program& p) { return p.lowered.linked; })
      .def_prop_ro("interface", &Program::interface)
      .def_prop_ro("writes", [](const Program& p) { return p.lowered.writes; })
      .def_prop_ro("layouts", [](const Program& p) { return p.lowered.layouts; })
      .def_prop_ro("errors", [](const Program& p) { return p.lowered.errors; })
      .def_prop_ro("multiplies", &Program::multiplies)
      .def_prop_ro("counts", &Program::counts)
      .def_prop_ro("raises", &Program::raises)
      .def("compile", &Program::compile, "texts"_a = false, "threads"_a = 1, "device"_a = "",
           "has_products"_a = false, "most_threads"_a = 0, "fewest_blocks"_a = 0, "quick"_a = false,
           "any_state"_a = false, "assembler"_a.none() = nb::none())
      .def("compile_ahead", &Program::compile_ahead, "level"_a, "threads"_a = 1)
      .def("interpret", &Program::interpret, "leaves"_a, "host"_a, "library"_a, "keeps"_a, "seed"_a = 0,
           "memories"_a.none() = nb::none());
  add_explained(m);
  m.def("targets", &targets);
  m.def("rename_ops_in_text", &ir::rename_ops_in_text);  // for tests
  m.def("lower", &lower, "registry"_a, "function"_a, "caller"_a, "relaxed"_a, "in_order"_a = false,
        "directives"_a = nb::list(), "loop_names"_a = std::vector<std::string>());

  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    const nb::module_ errors = nb::module_::import_("ingot._errors");
    try {
      std::rethrow_exception(pointer);
    } catch (const base::Unsupported& u) {
      const nb::tuple sites =
          u.sites.empty() ? tuple_of(std::vector<base::Site>{{u.location, ""}}) : tuple_of(u.sites);
      nb::list quoted;
      for (const std::vector<base::Site>& chain : u.quoted) quoted.append(tuple_of(chain));
      const nb::object error =
          errors.attr("unsupported")(sites, std::string(u.what()), u.advice, u.operands, nb::tuple(quoted));
      const base::Refused refused = base::with_code(u);
      error.attr("_code") = std::string(base::name_of(refused.code));
      error.attr("_argument") = refused.argument;
      set_error(error);
    } catch (const base::Abandoned&) {
      PyErr_SetNone(PyExc_KeyboardInterrupt);
    } catch (const std::logic_error& fault) {  // base::InternalError, and the standard library's
      PyErr_SetString(errors.attr("InternalError").ptr(), fault.what());
    }
  });
}

}  // namespace ingot::bindings
