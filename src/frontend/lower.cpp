// Hidden arguments. Values from outside the function are guarded. An array or a container from outside
// becomes a further argument: the evaluator throws NeedsFact, the caller describes it together with the
// others - which detects shared memory - and lowers again. So does a number whose guard has failed twice.

#include "base/packages.h"
#include "frontend/kernels.h"
#include "frontend/kinds/callers_lists.h"
#include "frontend/kinds/fields.h"
#include "frontend/kinds/members.h"
#include "frontend/kinds/sets.h"
#include "frontend/kinds/strings.h"
#include "frontend/parameters.h"
#include "frontend/rows.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

constexpr size_t kMostOperands = 3;  ///< of an expression, in a message

}  // namespace

Evaluator::Facts::Facts(const ir::Module& module) : effort(module) {}
Evaluator::Facts::~Facts() = default;

Evaluator::Evaluator(const Registry& registry, ir::Module& module, Request request, Facts& facts)
    : registry_(registry),
      module_(module),
      request_(std::move(request)),
      effort_(facts.effort),
      next_object_(facts.next_object),
      unrolled_(facts.unrolled),
      counted_(facts.counted),
      peeled_(facts.peeled),
      grown_(facts.grown),
      pools_(facts.pools),
      in_order_(request_.in_order),
      suffixes_(facts.suffixes),
      frames_(facts.frames),
      launch_(facts.launch),
      routines_(facts.routines),
      writes_(facts.writes),
      errors_made_(facts.errors_made) {}
Evaluator::~Evaluator() = default;

Evaluator::Here::Here(Evaluator& evaluator, nb::handle node)
    : evaluator_(evaluator), before_(evaluator.here_), span_before_(evaluator.builder_->span()) {
  evaluator_.here_ = node;
  if (evaluator_.frame_->of_library) return;
  const auto number = [&](const char* name) { return nb::cast<uint32_t>(node.attr(name)); };
  const Frame& frame = *evaluator.frame_;
  const uint32_t line = number("lineno");
  const uint32_t end = number("end_lineno") == line ? number("end_col_offset") : 0;
  evaluator_.builder_->set_span(
      evaluator_.module_.span({frame.file, line, number("col_offset"), end, frame.name, frame.called_at}));
}

base::SourceLocation Evaluator::location_of(nb::handle node) const {
  const nb::handle at = node.is_valid() ? node : here_;
  if (!at.is_valid() || frame_ == nullptr) return result_location_;
  if (frame_->of_library) return module_.location(builder_->span());
  const auto number = [&](const char* name) { return nb::cast<uint32_t>(at.attr(name)); };
  const uint32_t end = number("end_lineno") == number("lineno") ? number("end_col_offset") : 0;
  return {module_.text(frame_->file), number("lineno"), number("col_offset"), end};
}

void Evaluator::step(nb::handle node) {
  if (effort_.step()) return;
  unsupported(
      node,
      "what grows to more than 2 000 000 steps when compiling: calls in calls, or loops that are unrolled,",
      "use loops over arrays or ranges of run time, and call fewer functions");
}

void Evaluator::unsupported(nb::handle node, const std::string& reason, const std::string& advice) {
  throw refusal(node, reason, advice);
}

base::Unsupported Evaluator::refusal(nb::handle node, const std::string& reason,
                                     const std::string& advice) const {
  const Frame* outermost = nullptr;  // of the library functions around this location
  for (const Frame* at = frame_; at != nullptr && at->of_library; at = at->caller) outermost = at;
  const bool in_python = outermost != nullptr && outermost->of_python;
  const auto [shown, remedy] = in_python ? refusal_of_call(outermost->function) : std::pair(reason, advice);
  base::Unsupported refused(location_of(node), shown, remedy);
  if (frame_ != nullptr) {
    refused.sites = module_.sites(frame_->of_library ? builder_->span() : frame_->called_at);
    if (!frame_->of_library)
      refused.sites.insert(refused.sites.begin(), {refused.location, module_.text(frame_->name)});
    refused.operands = operands_of(node.is_valid() ? node : here_);
  }
  return refused;
}

std::vector<std::string> Evaluator::operands_of(nb::handle node) const {
  std::vector<std::string> all;
  for (const auto& [name, value] : variables_in(node)) {
    if (all.size() == kMostOperands) break;
    if (const std::string words = kind_of_value(*value).words(*this, *value); !words.empty())
      all.push_back("`" + name + "` is " + words);
  }
  return all;
}

std::vector<std::pair<std::string, const Value*>> Evaluator::variables_in(nb::handle node) const {
  const Frame* frame = frame_;
  const std::map<std::string, Value>* locals = &state_.locals;
  for (; frame->of_library && frame->caller != nullptr; frame = frame->caller) {
    node = frame->call;
    if (frame->consumer == nullptr) locals = &frame->callers_locals;
  }
  std::vector<std::pair<std::string, const Value*>> all;
  if (!node.is_valid() || has_attribute(node, "body")) return all;
  std::set<std::string> seen;
  for (const nb::handle part : imported("ast").attr("walk")(node)) {
    if (class_of(part) != "Name") continue;
    const std::string name = text_of(part.attr("id"));
    const auto cell = frame->shared.find(name);
    const Value* value = nullptr;
    if (cell != frame->shared.end()) {
      const auto object = state_.heap.find(cell->second);
      if (object != state_.heap.end()) value = object->second.values.data();
    } else if (const auto known = locals->find(frame->own_name(name)); known != locals->end()) {
      value = &known->second;
    }
    if (value != nullptr && seen.insert(name).second) all.emplace_back(name, value);
  }
  return all;
}

void rethrow_lack_of_memory(const nb::python_error& error) {
  // A SystemError is how Python reports C code that fails without an exception.
  if (error.matches(PyExc_MemoryError) || error.matches(PyExc_SystemError)) throw nb::python_error(error);
}

void Evaluator::raise_host_error(nb::python_error& error) {
  rethrow_lack_of_memory(error);
  const nb::object value = nb::borrow<nb::object>(error.value());
  error.restore();
  PyErr_Clear();
  raise_object(value);
}

namespace {

/// Whether a call simply fits a function: each parameter has one argument, or a default.
bool fits(const nb::object& function, size_t positional,
          const std::vector<std::pair<std::string, Value>>& keywords) {
  const nb::object code = attribute(function, "__code__");
  const size_t count = nb::cast<size_t>(code.attr("co_argcount"));
  const size_t keyword_only = nb::cast<size_t>(code.attr("co_kwonlyargcount"));
  const size_t positional_only = nb::cast<size_t>(code.attr("co_posonlyargcount"));
  const unsigned flags = nb::cast<unsigned>(code.attr("co_flags"));
  if (positional > count && (flags & CO_VARARGS) == 0) return false;
  const nb::tuple names = code.attr("co_varnames");
  std::vector<bool> given(count + keyword_only);
  std::fill_n(given.begin(), std::min(positional, count), true);
  for (const auto& [keyword, value] : keywords) {
    size_t i = positional_only;
    while (i < given.size() && PyUnicode_CompareWithASCIIString(names[i].ptr(), keyword.c_str()) != 0) ++i;
    if (i == given.size() || given[i]) return false;
    given[i] = true;
  }
  const nb::object defaults = attribute(function, "__defaults__");
  const size_t with_default = defaults.is_none() ? 0 : nb::len(defaults);
  if (with_default > count) return false;
  std::fill_n(given.begin() + static_cast<ptrdiff_t>(count - with_default), with_default, true);
  const nb::object keyword_defaults = attribute(function, "__kwdefaults__");
  for (size_t i = count; i < given.size(); ++i)
    given[i] = given[i] || (PyDict_Check(keyword_defaults.ptr()) &&
                            PyDict_Contains(keyword_defaults.ptr(), names[i].ptr()) == 1);
  return std::ranges::find(given, false) == given.end();
}

/// Binds arguments to a function's parameters without running its body: raises Python's TypeError.
void bind_nothing(const nb::object& function, size_t positional,
                  const std::vector<std::pair<std::string, Value>>& keywords) {
  if (fits(function, positional, keywords)) return;
  nb::list nothing;
  for (size_t i = 0; i < positional; ++i) nothing.append(nb::none());
  nb::dict named;
  for (const auto& keyword : keywords) named[keyword.first.c_str()] = nb::none();
  imported("ingot._signatures.parameters").attr("without_body")(function)(*nb::tuple(nothing), **named);
}

}  // namespace

bool Evaluator::binds(const nb::object& function, const Call& call) const {
  try {
    bind_nothing(function, call.positional.size(), call.keywords);
  } catch (nb::python_error& error) {
    rethrow_lack_of_memory(error);
    return false;
  }
  return true;
}

void Evaluator::guard_binding(const nb::object& function) {
  const nb::object code = attribute(function, "__code__");
  const nb::object keyword_defaults = attribute(function, "__kwdefaults__");
  guards_.push_back({function, "__code__", code});
  guards_.push_back({function, "__defaults__", attribute(function, "__defaults__")});
  guards_.push_back({function, "__kwdefaults__", keyword_defaults});
  if (keyword_defaults.is_none()) return;
  const size_t first = nb::cast<size_t>(code.attr("co_argcount"));
  const size_t count = nb::cast<size_t>(code.attr("co_kwonlyargcount"));
  const nb::tuple names = code.attr("co_varnames");
  for (size_t i = first; i < first + count; ++i) {
    const nb::object held = nb::borrow(PyDict_GetItemWithError(keyword_defaults.ptr(), names[i].ptr()));
    guards_.push_back({keyword_defaults, text_of(names[i]), held});
  }
}

std::map<std::string, Value> Evaluator::bind_arguments(
    const nb::object& function, std::vector<Value> positional,
    const std::vector<std::pair<std::string, Value>>& keywords, nb::handle node, const Closure* closure) {
  const nb::object code = attribute(function, "__code__");
  const size_t count = nb::cast<size_t>(code.attr("co_argcount"));
  const size_t keyword_only = nb::cast<size_t>(code.attr("co_kwonlyargcount"));
  const unsigned flags = nb::cast<unsigned>(code.attr("co_flags"));
  const nb::tuple names = code.attr("co_varnames");
  std::map<std::string, Value> locals;
  try {
    bind_nothing(function, positional.size(), keywords);
  } catch (nb::python_error& error) {
    if (closure == nullptr) guard_binding(function);
    raise_host_error(error);
  }
  const size_t positional_only = nb::cast<size_t>(code.attr("co_posonlyargcount"));
  const auto is_name = [&](const std::string& wanted) {
    for (size_t i = positional_only; i < count + keyword_only; ++i)
      if (text_of(names[i]) == wanted) return true;
    return false;
  };
  for (size_t i = 0; i < std::min(count, positional.size()); ++i) locals[text_of(names[i])] = positional[i];
  size_t next = count + keyword_only;
  if ((flags & CO_VARARGS) != 0) {
    Tuple rest;
    for (size_t i = count; i < positional.size(); ++i) rest.members.push_back(positional[i]);
    locals[text_of(names[next++])] = rest;
  }
  HeapObject extra{.type = HeapObject::Type::Dict, .values = {}, .keys = {}};
  for (auto& [key, value] : keywords) {
    if (is_name(key)) {
      locals[key] = value;
    } else {
      extra.keys.emplace_back(nb::str(key.c_str()));
      extra.values.push_back(value);
    }
  }
  if ((flags & CO_VARKEYWORDS) != 0) {
    const uint32_t id = next_object_++;
    state_.heap.emplace(id, std::move(extra));
    locals[text_of(names[next])] = Reference{id};
  }
  const nb::object defaults = attribute(function, "__defaults__");
  const size_t with_default = defaults.is_none() ? 0 : nb::len(defaults);
  for (size_t i = 0; i < count; ++i) {
    const std::string parameter_name = text_of(names[i]);
    if (locals.contains(parameter_name)) continue;
    if (closure != nullptr) {
      locals[parameter_name] = (*closure->defaults)[i + with_default - count];
      continue;
    }
    guards_.push_back({function, "__defaults__", defaults});
    const size_t index = i + with_default - count;
    locals[parameter_name] =
        outside(defaults, std::to_string(index), nb::object(defaults[index]), parameter_name, node);
  }
  const nb::object keyword_defaults = attribute(function, "__kwdefaults__");
  for (size_t i = count; i < count + keyword_only; ++i) {
    const std::string parameter_name = text_of(names[i]);
    if (locals.contains(parameter_name)) continue;
    if (closure != nullptr) {
      locals[parameter_name] = (*closure->defaults)[with_default + i - count];
      continue;
    }
    guards_.push_back({function, "__kwdefaults__", keyword_defaults});
    locals[parameter_name] =
        outside(keyword_defaults, parameter_name, keyword_defaults[names[i]], parameter_name, node);
  }
  return locals;
}

std::span<const char* const> bodies_of(std::string_view statement) {
  static constexpr const char* kParts[] = {"body", "orelse", "handlers", "finalbody", "cases"};
  const std::span<const char* const> parts(kParts);
  if (statement == "If" || statement == "For" || statement == "While") return parts.first(2);
  if (statement == "Try" || statement == "TryStar") return parts.first(4);
  if (statement == "With" || statement == "ExceptHandler" || statement == "match_case") return parts.first(1);
  if (statement == "Match") return parts.last(1);
  return {};
}

int count_returns(nb::handle statements) {
  int count = 0;
  for (const nb::handle s : statements) {
    const std::string name = class_of(s);
    if (name == "Return") ++count;
    if (name == "FunctionDef") continue;
    for (const char* part : bodies_of(name)) count += count_returns(s.attr(part));
  }
  return count;
}

namespace {

/// Restores the evaluator's frame and the caller's names when an inlined call ends, even by an exception.
template <class Frame, class Locals>
class Activation {
 public:
  Activation(Frame*& current, Frame& frame, Locals& locals, Locals inner)
      : current_(current), frame_(frame), caller_(current), locals_(locals) {
    frame.callers_locals = std::exchange(locals, std::move(inner));
    current_ = &frame;
  }
  ~Activation() {
    current_ = caller_;
    locals_ = std::move(frame_.callers_locals);
  }
  Activation(const Activation&) = delete;
  Activation& operator=(const Activation&) = delete;

 private:
  Frame*& current_;
  Frame& frame_;
  Frame* caller_;
  Locals& locals_;
};

}  // namespace

Value Evaluator::run_function(nb::object function, std::map<std::string, Value> locals, nb::handle node) {
  Frame frame;
  frame.function = function;
  const nb::tuple source = nb::cast<nb::tuple>(imported("ingot._code.source").attr("find")(function));
  frame.node = nb::borrow<nb::object>(source[0]);
  frame.file = module_.text(text_of(source[1]));
  frame.globals = nb::cast<nb::dict>(function.attr("__globals__"));
  frame.qualname = text_of(function.attr("__qualname__"));
  const nb::object code = attribute(function, "__code__");
  for (const char* part : {"co_varnames", "co_cellvars"})
    for (const nb::handle name : code.attr(part)) frame.local_names.insert(text_of(name));
  const nb::object closure = attribute(function, "__closure__");
  size_t cell = 0;
  for (const nb::handle name : code.attr("co_freevars")) frame.cells[text_of(name)] = closure[cell++];
  guards_.push_back({function, "__code__", code});
  frame.code = code;

  return run_frame(frame, std::move(locals), node);
}

bool Evaluator::yields(const Frame& frame) {
  if (frame.code.is_valid()) return (nb::cast<unsigned>(frame.code.attr("co_flags")) & CO_GENERATOR) != 0;
  return nb::cast<bool>(imported("ingot._code.scope").attr("yields")(frame.node));
}

std::string Evaluator::module_of(const Frame& frame) {
  return frame.globals.contains("__name__") ? text_of(frame.globals["__name__"]) : std::string();
}

namespace {

/// The name of a capture, which is an owner and a name there: for a cell of the function, that of the
/// variable; empty: it has none.
std::string captured_name(const nb::object& function, const nb::tuple& capture) {
  const std::string name = text_of(capture[1]);
  const nb::object cells = attribute(function, "__closure__");
  if (!name.empty() || cells.is_none()) return name;
  const nb::object names = attribute(attribute(function, "__code__"), "co_freevars");
  for (size_t i = 0; i < nb::len(cells); ++i)
    if (nb::object(cells[i]).is(capture[0])) return text_of(names[i]);
  return name;
}

/// Whether messages locate code of a module's functions at their calls, by the module's name: that of Python,
/// NumPy, SciPy and the like, and of Ingot's private modules.
bool is_named_by_call(const std::string& module) {
  const std::string package = module.substr(0, module.find('.'));
  if (package == "ingot") return module.find("._") != std::string::npos;
  if (package == "numpy" || base::is_closed_package(package)) return true;
  const nb::object of_python = imported("sys").attr("stdlib_module_names");
  return nb::cast<bool>(of_python.attr("__contains__")(package));
}

}  // namespace

void Evaluator::prepare(Frame& frame, nb::handle node) {
  frame.number = ++frames_;
  frame.name = module_.text(text_of(frame.function.attr("__name__")));
  frame.caller = frame_;
  frame.call = node.is_valid() ? node : here_;
  const std::string module = module_of(frame);
  // The results of `grad`, `vmap` and the like are closures of these modules, which refuse code themselves.
  const bool is_transform = module.starts_with("ingot._transforms.");
  frame.of_python = frame_ != nullptr && !is_transform && is_named_by_call(module);
  frame.of_library = frame.of_python || module.starts_with(kLibrary) || (frame_ != nullptr && is_transform);
  const bool is_kernel = launch_ != nullptr && std::exchange(launch_->enters, false);
  if (frame_ != nullptr && !is_kernel) frame.called_at = builder_->span();
  frame.depth = frame_ == nullptr ? 0 : frame_->depth + 1;
  if (frame.depth > 64) {
    if (yields(frame)) {
      unsupported(
          node,
          "the generator `" + text_of(frame.function.attr("__name__")) + "`, which iterates over itself,",
          "write a function that appends to a list, or a loop with a stack of its own");
    }
    unsupported(node,
                "recursion of `" + text_of(frame.function.attr("__name__")) +
                    "` with arguments of other types from call to call",
                "write it as a loop");
  }
  frame.path = (frame_ == nullptr ? root_path() : key_of(node) + ">") + frame.qualname;
}

Value Evaluator::run_frame(Frame& frame, std::map<std::string, Value> locals, nb::handle node) {
  if (yields(frame)) return suspended(frame, locals);
  if (std::optional<Value> result = call_recursive(frame, locals, node)) return std::move(*result);
  return activate(frame, std::move(locals), node);
}

Value Evaluator::activate(Frame& frame, std::map<std::string, Value> locals, nb::handle node) {
  prepare(frame, node);
  const Activation activation(frame_, frame, state_.locals, std::move(locals));
  share_locals();
  if (frame.caller == nullptr && routine_ == nullptr) CallersLists(*this).open_dicts(frame.node);
  const nb::object body = attribute(frame.node, "body");
  if (frame.caller == nullptr)
    result_location_ = location_of(class_of(frame.node) == "Lambda" ? body : frame.node);
  const auto run_all = [&]() -> Value {
    if (class_of(frame.node) == "Lambda") return eval_open(body);
    const nb::list statements = nb::cast<nb::list>(body);
    const nb::handle last = statements[nb::len(statements) - 1];
    const int returns = count_returns(statements);
    if (returns == 0) {
      run_body(statements);
      return Static{nb::none()};
    }
    if (returns == 1 && class_of(last) == "Return") {
      for (size_t i = 0; i + 1 < nb::len(statements); ++i) run(statements[i]);
      const Here here(*this, last);
      if (frame.caller == nullptr) result_location_ = location_of(last);
      const nb::object value = attribute(last, "value");
      return value.is_none() ? Value(Static{nb::none()}) : eval_open(value);
    }
    return block([&](Target& target) {
      frame.returns = &target;
      run_body(statements);
      state_.locals.clear();  // as by `return`
      return Value(Static{nb::none()});
    });
  };
  const bool is_outermost = frame.caller == nullptr && routine_ == nullptr;
  if (!is_outermost || !Parameters(*this).make_copies()) return run_all();
  return Parameters(*this).with_copies(frame, run_all);
}

Value call_library(Evaluator& e, const char* module, const char* name, std::vector<Value> arguments,
                   nb::handle node, std::vector<std::pair<std::string, Value>> keywords) {
  Evaluator::Call call{
      .positional = std::move(arguments), .keywords = std::move(keywords), .name = name, .node = node};
  return e.inline_function(attribute(imported((std::string(kLibrary) + module).c_str()), name), call);
}

Value Evaluator::inline_function(const nb::object& function, Call& call) {
  for (Value& value : call.positional) value = stored(std::move(value));
  for (auto& [name, value] : call.keywords) value = stored(std::move(value));
  auto locals = bind_arguments(function, call.positional, call.keywords, call.node);
  const Pins pins(*this, call.is_last ? std::vector<Value>() : call.values());
  return run_function(function, std::move(locals), call.node);
}

namespace {

/// In the order of the signature; the code object has the keyword-only ones before `*args`.
std::vector<std::string> parameter_names(nb::handle code) {
  const nb::tuple names = code.attr("co_varnames");
  const size_t count = nb::cast<size_t>(code.attr("co_argcount"));
  const size_t keyword_only = nb::cast<size_t>(code.attr("co_kwonlyargcount"));
  const unsigned flags = nb::cast<unsigned>(code.attr("co_flags"));
  std::vector<std::string> ordered;
  ordered.reserve(count);
  for (size_t i = 0; i < count; ++i) ordered.push_back(text_of(names[i]));
  size_t next = count + keyword_only;
  if ((flags & CO_VARARGS) != 0) ordered.push_back(text_of(names[next++]));
  for (size_t i = count; i < count + keyword_only; ++i) ordered.push_back(text_of(names[i]));
  if ((flags & CO_VARKEYWORDS) != 0) ordered.push_back(text_of(names[next]));
  return ordered;
}

}  // namespace

void Evaluator::begin(const nb::object& function) {
  effort_.begin();
  pools_.begin();
  builder_ = std::make_unique<ir::Builder>(module_, text_of(function.attr("__name__")));
  builder_->relax(request_.relaxations);
  const nb::object code = attribute(function, "__code__");
  builder_->set_span(module_.span({.file = module_.text(text_of(code.attr("co_filename"))),
                                   .line = nb::cast<uint32_t>(code.attr("co_firstlineno")),
                                   .function = module_.text(text_of(function.attr("__name__"))),
                                   .inlined_at = {}}));
  result_location_ = module_.location(builder_->span());
}

/// The parameters by name. Those and captures are opened.
std::map<std::string, Value> Evaluator::take_arguments(const nb::object& function) {
  const nb::tuple& arguments = request_.arguments;
  const nb::tuple& captures = request_.captures;
  const std::vector<std::string> names = parameter_names(attribute(function, "__code__"));
  std::vector<Value> values;
  INGOT_ASSERT(nb::len(arguments) == names.size(),
               "a function is compiled for other parameters than its own");
  values.reserve(nb::len(arguments));
  for (size_t i = 0; i < nb::len(arguments); ++i)
    values.push_back(
        Parameters(*this).value(nb::cast<const Description&>(arguments[i]), names[i], static_cast<int>(i)));
  std::map<std::string, Value> locals;
  for (size_t i = 0; i < values.size(); ++i) locals[names[i]] = values[i];
  for (size_t i = 0; i < nb::len(captures); ++i) {
    const nb::tuple capture = nb::cast<nb::tuple>(captures[i]);
    const auto& description = nb::cast<const Description&>(capture[2]);
    captured_names_.push_back(captured_name(function, capture));
    if (description.is<described::Guarded>()) continue;
    const Value value = Parameters(*this).value(description, "outside." + std::to_string(i),
                                                static_cast<int>(values.size() + i));
    captured_.emplace(std::pair(nb::handle(capture[0]).ptr(), text_of(capture[1])), value);
  }
  if (writes_.any) add_cells();
  for (const Value& value : values) Fields(*this).open(value);
  for (const auto& [index, value] : captured_) Fields(*this).open(value);
  for (const auto& [number, object] : state_.heap)
    for (const Value& value : object.values) Fields(*this).open(value);
  CallersLists(*this).open();
  given_captures_ = captured_;
  return locals;
}

/// The description of the result, with the pools that it refers to.
Description Evaluator::returned(const Value& value, Outward& outward) {
  outward.is_result = true;
  Description result = describe_result(value, outward);
  const size_t own = outward.leaves.size();
  if (!outward.pools.empty()) result = {described::Pools{}, {result}};
  for (size_t i = 0; i < outward.pools.size(); ++i)
    result.parts.push_back(PooledValues(*this).describe_pool(outward.pools[i], outward));
  // The pools come first: the values that refer to them are made of them.
  const auto first = outward.leaves.begin();
  std::rotate(first, first + static_cast<std::ptrdiff_t>(own), outward.leaves.end());
  for (size_t& buffer : outward.buffers)
    buffer = buffer < own ? buffer + outward.leaves.size() - own : buffer - own;
  if (!outward.buffers.empty()) result = {described::Holding{std::move(outward.buffers)}, {result}};
  return result;
}

/// Defines the function, and gives what its caller needs.
void Evaluator::finish(Lowered& lowered, const std::vector<ir::Type>& results) {
  Kernels(*this).settle();
  std::vector<ir::Type> parameters;
  for (const NodeId p : builder_->function().region_parameters(ir::RegionId(0)))
    parameters.push_back(builder_->function().type(p));
  lowered.function = module_.declare(builder_->function().name(), parameters, results);
  module_.define(lowered.function, builder_->finish(results));
  finish_routines();
  Kernels(*this).check(*module_.function(lowered.function));
  lowered.guards = std::move(guards_);
  lowered.hosts = std::move(hosts_);
  lowered.functions = std::move(functions_);
  if (launch_ != nullptr) lowered.linked = launch_->linked;
  lowered.errors = errors_;
}

Lowered Evaluator::lower(const nb::object& function) {
  begin(function);
  std::map<std::string, Value> locals = take_arguments(function);
  Lowered lowered;
  lowered.writes = writes_.any;
  lowered.layouts = CallersLists(*this).layouts();
  PooledValues(*this).make_pools();
  Rows(*this).make_pools();
  begin_routines();
  std::vector<ir::Type> results;
  try {
    const Value value = run_function(function, std::move(locals), {});
    Outward outward;
    lowered.result = returned(value, outward);
    for (const NodeId leaf : outward.leaves) results.push_back(builder_->function().type(leaf));
    builder_->terminate(Op::return_, outward.leaves);
  } catch (const Diverged&) {
    lowered.result = {described::Static{nb::none()}};
  }
  finish(lowered, results);
  return lowered;
}

}  // namespace ingot::frontend
