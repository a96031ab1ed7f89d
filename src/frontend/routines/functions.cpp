#include "frontend/routines/functions.h"

#include "base/packages.h"
#include "frontend/expressions/closures.h"
#include "frontend/expressions/expressions.h"
#include "frontend/joins/joins.h"
#include "frontend/kinds/callers_lists.h"
#include "frontend/kinds/generators.h"
#include "frontend/kinds/parameters.h"
#include "frontend/routines/routines.h"
#include "frontend/statements/statements.h"
#include "frontend/tracer/checkpoint.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"
#include "frontend/tracer/scopes.h"

namespace ingot::frontend {

using base::ExceptionKind;

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

/// Guards what decides how a function's arguments are bound.
void guard_binding(Tracer& t, const nb::object& function) {
  const nb::object code = attribute(function, "__code__");
  const nb::object keyword_defaults = attribute(function, "__kwdefaults__");
  t.guards.push_back({function, "__code__", code});
  t.guards.push_back({function, "__defaults__", attribute(function, "__defaults__")});
  t.guards.push_back({function, "__kwdefaults__", keyword_defaults});
  if (keyword_defaults.is_none()) return;
  const size_t first = nb::cast<size_t>(code.attr("co_argcount"));
  const size_t count = nb::cast<size_t>(code.attr("co_kwonlyargcount"));
  const nb::tuple names = code.attr("co_varnames");
  for (size_t i = first; i < first + count; ++i) {
    const nb::object held = nb::borrow(PyDict_GetItemWithError(keyword_defaults.ptr(), names[i].ptr()));
    t.guards.push_back({keyword_defaults, text_of(names[i]), held});
  }
}

/// Whether a frame is a generator's.
bool yields(const Frame& frame) {
  if (frame.code.is_valid()) return (nb::cast<unsigned>(frame.code.attr("co_flags")) & CO_GENERATOR) != 0;
  return nb::cast<bool>(imported("ingot._code.scope").attr("yields")(frame.node));
}

}  // namespace

bool binds(const nb::object& function, const Call& call) {
  try {
    bind_nothing(function, call.positional.size(), call.keywords);
  } catch (nb::python_error& error) {
    rethrow_lack_of_memory(error);
    return false;
  }
  return true;
}

std::map<std::string, Value> bind_arguments(Tracer& t, const nb::object& function,
                                            std::vector<Value> positional,
                                            const std::vector<std::pair<std::string, Value>>& keywords,
                                            nb::handle node, const Closure* closure) {
  const nb::object code = attribute(function, "__code__");
  const size_t count = nb::cast<size_t>(code.attr("co_argcount"));
  const size_t keyword_only = nb::cast<size_t>(code.attr("co_kwonlyargcount"));
  const unsigned flags = nb::cast<unsigned>(code.attr("co_flags"));
  const nb::tuple names = code.attr("co_varnames");
  std::map<std::string, Value> locals;
  try {
    bind_nothing(function, positional.size(), keywords);
  } catch (nb::python_error& error) {
    if (closure == nullptr) guard_binding(t, function);
    raise_host_error(t, error);
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
    const uint32_t id = t.facts.next_object++;
    t.state.heap.emplace(id, std::move(extra));
    locals[text_of(names[next])] = Dict{id};
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
    t.guards.push_back({function, "__defaults__", defaults});
    const size_t index = i + with_default - count;
    locals[parameter_name] =
        outside(t, defaults, std::to_string(index), nb::object(defaults[index]), parameter_name, node);
  }
  const nb::object keyword_defaults = attribute(function, "__kwdefaults__");
  for (size_t i = count; i < count + keyword_only; ++i) {
    const std::string parameter_name = text_of(names[i]);
    if (locals.contains(parameter_name)) continue;
    if (closure != nullptr) {
      locals[parameter_name] = (*closure->defaults)[with_default + i - count];
      continue;
    }
    t.guards.push_back({function, "__kwdefaults__", keyword_defaults});
    locals[parameter_name] =
        outside(t, keyword_defaults, parameter_name, keyword_defaults[names[i]], parameter_name, node);
  }
  return locals;
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

std::string module_of(const Frame& frame) {
  return frame.globals.contains("__name__") ? text_of(frame.globals["__name__"]) : std::string();
}

namespace {

/// Restores the tracer's frame and the caller's names when an inlined call ends, even by an exception.
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

void refuse_recursion(Tracer& t, const Frame& frame, nb::handle node) {
  unsupported(t, node,
              "recursion of `" + text_of(frame.function.attr("__name__")) +
                  "` with arguments of other types from call to call",
              "write it as a loop");
}

void prepare(Tracer& t, Frame& frame, nb::handle node) {
  frame.number = ++t.facts.frames;
  frame.name = t.module.text(text_of(frame.function.attr("__name__")));
  frame.caller = t.frame;
  frame.call = node.is_valid() ? node : t.here;
  const std::string module = module_of(frame);
  // The results of `grad`, `vmap` and the like are closures of these modules, which refuse code themselves.
  const bool is_transform = module.starts_with("ingot._transforms.");
  frame.of_python = t.frame != nullptr && !is_transform && is_named_by_call(module);
  frame.of_library = frame.of_python || module.starts_with(kLibrary) || (t.frame != nullptr && is_transform);
  const bool is_kernel = t.facts.launch != nullptr && std::exchange(t.facts.launch->enters, false);
  if (t.frame != nullptr && !is_kernel) frame.called_at = t.builder->span();
  frame.depth = t.frame == nullptr ? 0 : t.frame->depth + 1;
  if (frame.depth > 64) {
    if (yields(frame)) {
      unsupported(
          t, node,
          "the generator `" + text_of(frame.function.attr("__name__")) + "`, which iterates over itself,",
          "write a function that appends to a list, or a loop with a stack of its own");
    }
    refuse_recursion(t, frame, node);
  }
  frame.path = (t.frame == nullptr ? root_path(t) : key_of(t, node) + ">") + frame.qualname;
}

Value run_frame(Tracer& t, Frame& frame, std::map<std::string, Value> locals, nb::handle node) {
  if (yields(frame)) return suspended(t, frame, locals);
  if (std::optional<Value> result = call_recursive(t, frame, locals, node)) return std::move(*result);
  return activate(t, frame, std::move(locals), node);
}

Value activate(Tracer& t, Frame& frame, std::map<std::string, Value> locals, nb::handle node) {
  prepare(t, frame, node);
  const Activation activation(t.frame, frame, t.state.locals, std::move(locals));
  share_locals(t);
  if (frame.caller == nullptr && t.routine == nullptr) CallersLists(t).open_dicts(frame.node);
  const nb::object body = attribute(frame.node, "body");
  if (frame.caller == nullptr)
    t.result_location = location_of(t, class_of(frame.node) == "Lambda" ? body : frame.node);
  const auto run_all = [&]() -> Value {
    if (class_of(frame.node) == "Lambda") return eval_open(t, body);
    const nb::list statements = nb::cast<nb::list>(body);
    const nb::handle last = statements[nb::len(statements) - 1];
    const int returns = count_returns(statements);
    if (returns == 0) {
      run_body(t, statements);
      return Static{nb::none()};
    }
    if (returns == 1 && class_of(last) == "Return") {
      for (size_t i = 0; i + 1 < nb::len(statements); ++i) run(t, statements[i]);
      const Here here(t, last);
      if (frame.caller == nullptr) t.result_location = location_of(t, last);
      const nb::object value = attribute(last, "value");
      return value.is_none() ? Value(Static{nb::none()}) : eval_open(t, value);
    }
    return block(t, [&](Target& target) {
      frame.returns = &target;
      run_body(t, statements);
      t.state.locals.clear();  // as by `return`
      return Value(Static{nb::none()});
    });
  };
  const bool is_outermost = frame.caller == nullptr && t.routine == nullptr;
  if (!is_outermost || !Parameters(t).make_copies()) return run_all();
  return Parameters(t).with_copies(frame, run_all);
}

Value run_function(Tracer& t, nb::object function, std::map<std::string, Value> locals, nb::handle node) {
  Frame frame;
  frame.function = function;
  nb::object code;
  nb::tuple source;
  do {  // another thread may give it other code meanwhile
    code = attribute(function, "__code__");
    source = nb::cast<nb::tuple>(imported("ingot._code.source").attr("find")(function));
  } while (!attribute(function, "__code__").is(code));
  frame.node = nb::borrow<nb::object>(source[0]);
  frame.file = t.module.text(text_of(source[1]));
  frame.globals = nb::cast<nb::dict>(function.attr("__globals__"));
  if (!attribute(function, "__builtins__").is(builtins_of(frame.globals)))
    unsupported(t, node, "a function whose globals have got other `__builtins__` since it was made",
                "set them before");
  frame.qualname = text_of(function.attr("__qualname__"));
  for (const char* part : {"co_varnames", "co_cellvars"})
    for (const nb::handle name : code.attr(part)) frame.local_names.insert(text_of(name));
  const nb::object closure = attribute(function, "__closure__");
  size_t cell = 0;
  for (const nb::handle name : code.attr("co_freevars")) frame.cells[text_of(name)] = closure[cell++];
  t.guards.push_back({function, "__code__", code});
  frame.code = code;

  return run_frame(t, frame, std::move(locals), node);
}

Value call_library(Tracer& t, const char* module, const char* name, std::vector<Value> arguments,
                   nb::handle node, std::vector<std::pair<std::string, Value>> keywords) {
  Call call{.positional = std::move(arguments), .keywords = std::move(keywords), .name = name, .node = node};
  return inline_function(t, attribute(imported((std::string(kLibrary) + module).c_str()), name), call);
}

Value inline_function(Tracer& t, const nb::object& function, Call& call) {
  for (Value& value : call.positional) value = stored(t, std::move(value));
  for (auto& [name, value] : call.keywords) value = stored(t, std::move(value));
  auto locals = bind_arguments(t, function, call.positional, call.keywords, call.node);
  const Pins pins(t, call.is_last ? std::vector<Value>() : call.values());
  return run_function(t, function, std::move(locals), call.node);
}

}  // namespace ingot::frontend
