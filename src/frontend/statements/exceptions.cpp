// Exceptions. Each location that raises has a known exception, so the clause that catches it is known, too:
// its body is evaluated there, and control goes on after the `try`. A `finally` is evaluated on each exit
// from its body. An exception that no clause catches leaves the call (leaving.cpp).
//
// Raise or refuse. If Python raises for operands of these types, the code becomes a `raise` node; code that
// Python would run is refused by `Unsupported`.
//
// The clause of an exception is searched on the stack of open handlers. Checks inside of a `try` that may
// catch them become branches.

#include "frontend/statements/exceptions.h"

#include "base/message.h"
#include "frontend/arrays/operators.h"
#include "frontend/arrays/scalars.h"
#include "frontend/calls/python_builtins.h"
#include "frontend/expressions/closures.h"
#include "frontend/expressions/expressions.h"
#include "frontend/joins/joins.h"
#include "frontend/kinds/parameters.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"
#include "frontend/tracer/scopes.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

bool is_subclass(const nb::object& type, const nb::object& of) {
  return PyObject_IsSubclass(type.ptr(), of.ptr()) == 1;
}

/// Whether NumPy, or Python itself, has made a class.
bool is_of_numpy_or_python(const nb::object& type) {
  const std::string module = text_of(type.attr("__module__"));
  return module == "builtins" || module.starts_with("numpy.");
}

std::string repr_of(Kind kind) { return kind.is_python() ? "{}" : "np." + std::string(kind.name()) + "({})"; }

}  // namespace

/// Enters the activation of a handler to evaluate its code, outside of the loops in its `try`.
class AtHandler {
 public:
  AtHandler(Tracer& t, const Catcher& handler)
      : frame_(t.frame, handler.frame),
        breaks_(handler.frame->breaks, first_of(handler.frame->breaks, handler.breaks)),
        continues_(handler.frame->continues, first_of(handler.frame->continues, handler.continues)),
        closing_(handler.frame->is_closing, handler.frame->is_closing || handler.closes),
        handled_(t.handled, first_of(t.handled, handler.handled)) {}

  static void run_finally(Tracer& t, const Catcher& handler) {
    if (handler.stores) Parameters(t).store_copies();
    else run_body(t, handler.finalbody);
  }

 private:
  Restored<Frame*> frame_;
  Restored<std::vector<Target*>> breaks_;
  Restored<std::vector<Target*>> continues_;
  Restored<bool> closing_;
  Restored<std::vector<const Error*>> handled_;
};

/// The tracer's state for a handler at the location of a raise: the activation of its `try`, the handlers
/// outside of it, and no expressions under evaluation.
class Handling {
 public:
  Handling(Tracer& t, size_t number)
      : handlers_(t.handlers, first_of(t.handlers, number)),
        outputs_(t.outputs, {}),
        captures_(t.captures, {}) {
    const Catcher& handler = *handlers_.before()[number];
    const Frame* const home = handler.frame->home();
    std::map<std::string, Value> locals = t.state.locals;
    for (const Frame* at = t.frame->home(); at != home; at = at->caller->home()) locals = at->callers_locals;
    t.state.locals = std::move(locals);
    at_handler_.emplace(t, handler);
  }

 private:
  Restored<std::vector<Catcher*>> handlers_;
  Restored<std::vector<NodeId>> outputs_;
  Restored<std::vector<Capturing>> captures_;
  std::optional<AtHandler> at_handler_;
};

namespace {

std::optional<Error> instance_of_exception(Tracer& t, const Value& value);
void run_clauses(Tracer& t, nb::handle s);

bool catches(const Tracer& t, const Catcher& handler, const Error& error) {
  if (handler.stores) return Parameters(const_cast<Tracer&>(t)).has_changes();
  if (handler.barrier || handler.is_final() || !handler.refusal.empty()) return true;
  if (error.own) return false;
  if (handler.of_routine) return true;
  if (handler.of_generator) return is_subclass(error.type, imported("builtins").attr("StopIteration"));
  return std::ranges::any_of(handler.clauses, [&](const Clause& clause) {
    return clause.types.empty() || std::ranges::any_of(clause.types, [&](const nb::object& type) {
             return is_subclass(error.type, type);
           });
  });
}

}  // namespace

bool may_be_caught(const Tracer& t, const Error& error) {
  return std::ranges::any_of(t.handlers,
                             [&](const Catcher* h) { return !h->barrier && catches(t, *h, error); });
}

namespace {

/// Whether a number depends on one that was of another kind on another path.
bool comes_of_mixed(const Tracer& t, const Value& value) {
  if (t.mixed.empty()) return false;
  const ir::Function& f = t.builder->function();
  std::vector<bool> seen(f.node_count());
  std::vector<NodeId> waiting;
  const auto add = [&](NodeId node) {
    if (!node || seen[node.index]) return;
    seen[node.index] = true;
    waiting.push_back(node);
  };
  std::set<uint32_t> objects;
  const std::function<void(const Value&)> visit = [&](const Value& part) {
    if (kind_of_value(part).is_leaf()) {
      Value copy = part;
      kind_of_value(part).change_nodes(copy, [&](NodeId node) {
        add(node);
        return node;
      });
    }
    const uint32_t object = object_of(part);
    const auto held = t.state.heap.find(object);
    if (held != t.state.heap.end() && objects.insert(object).second)
      for (const Value& each : held->second.values) visit(each);
    for (const Value& each : parts_of(part)) visit(each);
  };
  visit(value);
  while (!waiting.empty()) {
    const NodeId node = waiting.back();
    waiting.pop_back();
    if (t.mixed.contains(node.index)) return true;
    if (f.op(node) != Op::if_)  // its condition decides no kind
      for (const NodeId operand : f.operands(node)) add(operand);
    if (f.op(node) == Op::param) add(f[f[node].parent].owner);
    for (size_t i = 0; i < f[node].region_count; ++i) {
      const auto body = f.region_body(f.region(node, i));
      if (!body.empty() && ir::info(f.op(body.back())).terminator) add(body.back());
    }
  }
  return false;
}

}  // namespace

void need_one_kind(Tracer& t, ExceptionKind kind, const std::vector<Value>& operands) {
  if (t.mixed.empty()) return;
  const auto need = [&](const std::string& what, const Value& value) {
    if (!comes_of_mixed(t, value)) return;
    unsupported(t, t.here,
                "an expression that raises " + std::string(base::name_of(kind)) +
                    " for one of the kinds of number that " + what + " comes from on different paths",
                "let it be of one kind on all paths, as 0.0 where others give a float");
  };
  for (const auto& [name, held] : variables_in(t, t.here)) need("`" + name + "`", *held);
  for (const Value& operand : operands) need("an operand", operand);
}

namespace {

Error error_of(Tracer& t, ExceptionKind kind, std::string_view message, std::span<const NodeId> values) {
  Error error;
  error.number = ++t.facts.errors_made;
  error.kind = kind;
  error.message = message;
  error.own = kind == ExceptionKind::TypeChangeError;
  std::vector<Value> parts;
  for (const NodeId value : values) {
    const DType dtype = t.builder->function().type(value).dtype();
    const Kind shown = base::is_bool(dtype)  ? Kind::py_bool()
                       : base::is_int(dtype) ? Kind::py_int()
                                             : Kind::py_float();
    parts.push_back(Scalar{shown.dtype() == dtype ? shown : Kind(dtype), value});
  }
  error.parts = share(std::move(parts));
  error.type = imported("ingot._host.exceptions")
                   .attr("exception_type")(std::string(base::name_of(kind)), std::string(message));
  return error;
}

}  // namespace

void raise(Tracer& t, ExceptionKind kind, std::string_view message, std::initializer_list<NodeId> values) {
  if (kind == ExceptionKind::TypeError || kind == ExceptionKind::AttributeError) need_one_kind(t, kind);
  raise_error(t, error_of(t, kind, message, std::span(values.begin(), values.size())));
}

void check(Tracer& t, NodeId condition, ExceptionKind kind, std::string_view message,
           std::span<const NodeId> values) {
  const ir::Function& f = t.builder->function();
  const bool holds = f.is_constant(condition) && f.constant(condition).bits[0] != 0;
  if (holds) return;
  std::optional<Notice> notice = Notice{kind, t.module.text(message), {values.begin(), values.end()}};
  if (!t.handlers.empty() || !t.handled.empty()) {
    const Error error = error_of(t, kind, message, values);
    const bool is_caught = may_be_caught(t, error);
    if (!is_caught) notice = notice_of(t, in_context(t, error));
    if (is_caught || !notice) {
      fork(t, condition, [] { return Value(Static{nb::none()}); }, [&]() -> Value { raise_error(t, error); });
      return;
    }
  }
  std::vector<NodeId> operands{condition};
  operands.insert(operands.end(), notice->values.begin(), notice->values.end());
  t.builder->make(Op::check, operands, notice->attributes());
}

void raise_error(Tracer& t, const Error& error) { pass_on(t, in_context(t, error)); }

void pass_on(Tracer& t, const Error& error) {
  for (size_t i = t.handlers.size(); i-- > 0;) {
    const Catcher& handler = *t.handlers[i];
    if (!catches(t, handler, error)) continue;
    if (handler.barrier) {
      for (size_t k = 0; k < i; ++k) {
        if (!t.handlers[k]->barrier && catches(t, *t.handlers[k], error)) {
          unsupported(t, t.here, "an exception that leaves a prange loop inside a `try`",
                      "put the `try` into the loop");
        }
      }
      break;
    }
    if (!handler.refusal.empty()) unsupported(t, t.here, handler.refusal, "iterate over it to its end");
    if (handler.of_routine) report(t, handler, error);
    const Handling handling(t, i);
    if (handler.of_generator) {
      Error converted = error_of(t, ExceptionKind::RuntimeError, "generator raised StopIteration", {});
      converted.cause = converted.context = share(caught(t, error, handler));
      converted.is_suppressing = true;
      pass_on(t, converted);
    }
    const Error held = caught(t, error, handler);
    const Pins pins(t, {held});
    const Pushed<const Error*> current(t.handled, &held);
    if (handler.is_final()) {
      AtHandler::run_finally(t, handler);
      pass_on(t, error);
    }
    for (const Clause& clause : handler.clauses) {
      const bool is = clause.types.empty() || std::ranges::any_of(clause.types, [&](const nb::object& type) {
                        return is_subclass(error.type, type);
                      });
      if (!is) continue;
      if (++*handler.sites > 200)
        unsupported(t, clause.node, "a `try` around more than 200 places that may raise", "put less into it");
      const nb::object name = attribute(clause.node, "name");
      if (!name.is_none()) bind_variable(t, text_of(name), held);
      run_body(t, clause.node.attr("body"));
      if (!name.is_none()) set_local(t, text_of(name), Unbound{});
      leave_to(t, *handler.after, Static{nb::none()});
    }
  }
  raise_uncaught(t, error);
}

const std::vector<Value>& arguments_of(Tracer& t, const Error& error, const std::string& what) {
  const nb::object os_error = imported("builtins").attr("OSError");
  const bool is_own = PyFunction_Check(nb::object(error.type.attr("__init__")).ptr()) ||
                      PyFunction_Check(nb::object(error.type.attr("__new__")).ptr());
  if ((is_own && !is_of_numpy_or_python(error.type)) ||
      (is_subclass(error.type, os_error) && error.parts->size() > 2))
    unsupported(t, t.here, what + " an exception whose class has an `__init__`",
                "catch it outside, or keep what you need of it in variables");
  return *error.parts;
}

Value text_of_error(Tracer& t, const Error& error) {
  if (error.kind) {
    if (error.parts->empty()) return Static{nb::str(base::fill_message(error.message, {}).c_str())};
    // NumPy's `format` prints other digits than its `str`.
    return String{base::replace_holes(error.message, "{!s}"), error.parts};
  }
  const std::vector<Value>& arguments = arguments_of(t, error, "the text of");
  const nb::module_ builtins = imported("builtins");
  const bool is_key = is_subclass(error.type, builtins.attr("KeyError"));
  const nb::object text = error.type.attr("__str__");
  if (!text.is(builtins.attr(is_key ? "KeyError" : "BaseException").attr("__str__"))) {
    const bool is_known =
        std::ranges::all_of(arguments, [](const Value& part) { return known_of(part).is_valid(); });
    if (!is_known || (PyFunction_Check(text.ptr()) && !is_of_numpy_or_python(error.type)))
      unsupported(t, t.here, "the text of an exception whose class has a `__str__`", "show its arguments");
    nb::list given;
    for (const Value& part : arguments) given.append(known_of(part));
    return Static{nb::str(error.type(*nb::tuple(given)))};
  }
  if (arguments.empty()) return Static{nb::str("")};
  if (arguments.size() == 1) return text_of_value(t, arguments[0], is_key ? "{!r}" : "{!s}", t.here);
  return text_of_value(t, Tuple{arguments}, "{!s}", t.here);
}

void raise_key_error(Tracer& t, const Value& key) {
  raise_error(t, make_error(t, imported("builtins").attr("KeyError"), {key}));
}

void raise_showing(Tracer& t, ExceptionKind kind, const Scalar& number, const std::string& rest) {
  if (kind == ExceptionKind::KeyError) raise_key_error(t, number);
  if (!base::is_complex(number.kind.dtype())) raise(t, kind, repr_of(number.kind) + rest, {number.node});
  const nb::object type = imported("builtins").attr(std::string(base::name_of(kind)).c_str());
  raise_error(t, make_error(t, type, {text_of_value(t, number, "{!r}" + rest, t.here)}));
}

void check_showing(Tracer& t, NodeId condition, ExceptionKind kind, const Scalar& number,
                   const std::string& rest) {
  const bool is_key_seen = kind == ExceptionKind::KeyError && (!t.handlers.empty() || !t.handled.empty());
  if (!base::is_complex(number.kind.dtype()) && !is_key_seen)
    return check(t, condition, kind, repr_of(number.kind) + rest, {number.node});
  fork(
      t, condition, [] { return Value(Static{nb::none()}); },
      [&]() -> Value { raise_showing(t, kind, number, rest); });
}

void run_finals(Tracer& t, size_t outside) {
  if (t.handlers.size() <= outside) return;
  const std::vector<Catcher*> all = t.handlers;
  const Restored<std::vector<Catcher*>> restored(t.handlers, all);
  for (size_t i = all.size(); i-- > outside;) {
    t.handlers.resize(i);
    if (!all[i]->refusal.empty()) unsupported(t, t.here, all[i]->refusal, "iterate over it to its end");
    const AtHandler at_handler(t, *all[i]);
    if (all[i]->is_final()) AtHandler::run_finally(t, *all[i]);
  }
}

void run_raise(Tracer& t, nb::handle s) {
  if (s.attr("exc").is_none()) {
    if (t.handled.empty() && t.routine != nullptr)
      unsupported(t, s, "`raise` without an exception in a recursive function, outside a clause", "name one");
    if (t.handled.empty()) raise(t, ExceptionKind::RuntimeError, "No active exception to reraise");
    pass_on(t, Error(*t.handled.back()));
  }
  const Value value = eval_open(t, s.attr("exc"));
  const bool has_cause = !s.attr("cause").is_none();
  const Value cause = has_cause ? eval_open(t, s.attr("cause")) : Static{nb::none()};
  std::optional<Error> error = instance_of_exception(t, value);
  if (!error && is_foreign(t, value)) use_foreign(t, "", "", {value}, s);
  if (!error) raise(t, ExceptionKind::TypeError, "exceptions must derive from BaseException");
  if (has_cause) {
    const std::optional<Error> given = instance_of_exception(t, cause);
    if (!given && !is_none(cause)) {
      if (is_foreign(t, cause)) use_foreign(t, "", "", {cause}, s);
      raise(t, ExceptionKind::TypeError, "exception causes must derive from BaseException");
    }
    error->cause = given ? share(*given) : nullptr;
    error->is_suppressing = true;
  }
  raise_error(t, *error);
}

namespace {

std::optional<Error> instance_of_exception(Tracer& t, const Value& value) {
  if (const Error* error = value.as<Error>()) return *error;
  const nb::object type = known_of(value);
  const nb::object base = imported("builtins").attr("BaseException");
  if (!type.is_valid() || !PyType_Check(type.ptr()) || !is_subclass(type, base)) return std::nullopt;
  return make_error(t, type, {});
}

}  // namespace

Error make_error(Tracer& t, nb::object type, std::vector<Value> arguments) {
  for (Value& argument : arguments) argument = stored(t, std::move(argument));
  Error error;
  error.number = ++t.facts.errors_made;
  error.type = std::move(type);
  error.parts = share(std::move(arguments));
  return error;
}

void run_assert(Tracer& t, nb::handle s) {
  const Value condition = eval_condition(t, s.attr("test"));
  const std::optional<bool> known = static_truth(t, condition);
  if (known && *known) return;
  const auto fail = [&]() -> Value {
    std::vector<Value> arguments;
    if (!s.attr("msg").is_none()) arguments.push_back(eval_open(t, s.attr("msg")));
    raise_error(t, make_error(t, imported("builtins").attr("AssertionError"), std::move(arguments)));
  };
  if (known) fail();
  const NodeId holds = truth(t, condition, s);
  const bool plain = s.attr("msg").is_none() || class_of(s.attr("msg")) == "Constant";
  if (!plain) {
    fork(t, holds, [] { return Value(Static{nb::none()}); }, fail);
    return;
  }
  std::string message;
  if (!s.attr("msg").is_none()) message = base::escape_message(text_of(s.attr("msg").attr("value")));
  check(t, holds, ExceptionKind::AssertionError, message);
}

void run_try(Tracer& t, nb::handle s) {
  Catcher final_part(t, t.frame);
  final_part.finalbody = nb::list(s.attr("finalbody"));
  if (!final_part.is_final()) return run_clauses(t, s);
  {
    const Pushed<Catcher*> open(t.handlers, &final_part);
    run_clauses(t, s);
  }
  run_body(t, s.attr("finalbody"));
}

namespace {

void run_clauses(Tracer& t, nb::handle s) {
  const nb::list nodes = s.attr("handlers");
  if (nb::len(nodes) == 0) return run_body(t, s.attr("body"));
  Catcher handler(t, t.frame);
  size_t sites = 0;
  handler.sites = &sites;
  for (const nb::handle node : nodes) {
    Clause clause{nb::borrow<nb::object>(node), {}};
    if (!node.attr("type").is_none()) {
      const nb::object types =
          require_static(t, eval(t, node.attr("type")), "the exceptions of a clause", node);
      const auto add = [&](nb::handle type) {
        if (!PyType_Check(type.ptr()))
          unsupported(t, node, "a clause that catches what is no class", "name the exceptions");
        clause.types.push_back(nb::borrow<nb::object>(type));
      };
      if (PyTuple_Check(types.ptr())) {
        for (const nb::handle type : types) add(type);
      } else {
        add(types);
      }
      if (clause.types.empty()) continue;
    }
    handler.clauses.push_back(std::move(clause));
  }
  block(t, [&](Target& after) {
    handler.after = &after;
    {
      const Pushed<Catcher*> open(t.handlers, &handler);
      run_body(t, s.attr("body"));
    }
    run_body(t, s.attr("orelse"));
    return Value(Static{nb::none()});
  });
}

}  // namespace

namespace {

/// The names that `ingot.loop(...)` gives.
ir::TextId names_given(Tracer& t, nb::handle call) {
  const auto refuse = [&] {
    unsupported(t, call, "`" + as_written(call) + "`, which does not name loops",
                "give ingot.loop identifiers as strings: `with ingot.loop(\"y\", \"x\"):`");
  };
  if (nb::len(nb::list(call.attr("args"))) == 0 || nb::len(nb::list(call.attr("keywords"))) > 0) refuse();
  std::string all;
  for (const nb::handle name : call.attr("args")) {
    const nb::object known = require_static(t, eval(t, name), "the name of a loop", name);
    if (!nb::isinstance<nb::str>(known) || !nb::cast<bool>(known.attr("isidentifier")())) refuse();
    t.module.loop_names.insert(text_of(known));
    all += (all.empty() ? "" : ",") + text_of(known);
  }
  return t.module.text(all);
}

}  // namespace

void run_with(Tracer& t, nb::handle s) {
  ir::TextId names = t.loop_names;
  for (const nb::handle item : s.attr("items")) {
    const nb::handle manager = item.attr("context_expr");
    const auto refuse = [&] {
      unsupported(t, manager, "the context manager `" + as_written(manager) + "`",
                  "use try and finally; np.errstate takes 'ignore' only, ingot.loop names that are known");
    };
    if (class_of(manager) != "Call" || !item.attr("optional_vars").is_none()) refuse();
    const Value callee = eval(t, manager.attr("func"));
    if (known_of(callee).is(imported("ingot._calls.schedules").attr("loop"))) {
      names = names_given(t, manager);
      continue;
    }
    if (!known_of(callee).is(imported("numpy").attr("errstate"))) refuse();
    if (nb::len(nb::list(manager.attr("args"))) > 0) refuse();
    for (const nb::handle keyword : manager.attr("keywords")) {
      const nb::object mode =
          require_static(t, eval(t, keyword.attr("value")), "a mode of np.errstate", keyword);
      if (keyword.attr("arg").is_none() || !mode.equal(nb::str("ignore"))) refuse();
    }
  }
  const Restored<ir::TextId> inside(t.loop_names, names);
  run_body(t, s.attr("body"));
}

}  // namespace ingot::frontend
