// `match`. A pattern returns its condition, known or a node; its captures are bound meanwhile.

#include "frontend/statements/patterns.h"

#include "frontend/arrays/arrays.h"
#include "frontend/arrays/operators.h"
#include "frontend/arrays/scalars.h"
#include "frontend/expressions/expressions.h"
#include "frontend/kinds/lists.h"
#include "frontend/kinds/objects.h"
#include "frontend/kinds/pooled_values.h"
#include "frontend/tracer/builtins.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"
#include "frontend/tracer/scopes.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

/// Whether a walrus in an expression binds a name.
bool assigns(nb::handle expression, const std::string& name) {
  for (const nb::handle part : imported("ast").attr("walk")(expression))
    if (class_of(part) == "NamedExpr" && text_of(part.attr("target").attr("id")) == name) return true;
  return false;
}

Value match_pattern(Tracer& t, nb::handle pattern, const Value& subject, const Reading& read = {});

Value both_of(Tracer& t, const Value& a, const std::function<Value()>& b, nb::handle node) {
  if (const std::optional<bool> known = static_truth(t, a))
    return *known ? b() : Value(Static{nb::bool_(false)});
  return fork(t, truth(t, a, node), b, [] { return Value(Static{nb::bool_(false)}); });
}

Value match_sequence(Tracer& t, nb::handle pattern, const Value& subject, const Reading& read) {
  const nb::list patterns = pattern.attr("patterns");
  Value no = Static{nb::bool_(false)};
  const List* list = subject.as<List>();
  if (!subject.is<Tuple>() && list == nullptr) {
    if (subject.is<Range>()) unsupported(t, pattern, "matching a range", "compare its elements");
    return no;  // arrays and strings are no sequences here
  }
  const std::vector<Value> members =
      list != nullptr ? contents(t, list->object, pattern).values : parts_of(subject);
  const size_t count = nb::len(patterns);
  size_t star = count;
  for (size_t i = 0; i < count; ++i)
    if (class_of(patterns[i]) == "MatchStar") star = i;
  if (star == count ? members.size() != count : members.size() + 1 < count) return no;
  const std::function<Value(size_t)> from = [&](size_t i) -> Value {
    if (i == count) return Static{nb::bool_(true)};
    if (i == star) {
      const nb::object name = attribute(patterns[i], "name");
      const auto first = members.begin() + static_cast<ptrdiff_t>(star);
      if (!name.is_none() && read)
        unsupported(t, patterns[i], "a star in a pattern of an attribute", "match the attribute by itself");
      if (!name.is_none()) {
        t.captures.push_back(
            {text_of(name),
             Tuple{std::vector<Value>(first, first + static_cast<ptrdiff_t>(members.size() + 1 - count))},
             true});
      }
      return from(i + 1);
    }
    const size_t at = i < star ? i : i + members.size() - count;
    const Reading part = read ? Reading([=] { return parts_of(read()).at(at); }) : Reading();  // of a tuple
    return both_of(t, match_pattern(t, patterns[i], members[at], part), [&] { return from(i + 1); }, pattern);
  };
  return from(0);
}

/// The patterns of attributes; the subject is an instance of the class.
Value match_instance(Tracer& t, nb::handle pattern, const nb::object& type, const Value& subject,
                     const Reading& read) {
  std::vector<std::pair<std::string, nb::object>> parts;
  const nb::list positional = pattern.attr("patterns");
  const std::string shown = text_of(type.attr("__name__"));
  const nb::object own = class_attribute(t, type, "__match_args__");
  const nb::object names = own.is_valid() ? own : nb::tuple();
  const bool is_named = nb::len(positional) > 0;
  if (is_named && PyTuple_CheckExact(names.ptr()) == 0)
    unsupported(t, pattern, "a `__match_args__` that is no tuple", "write a tuple of names");
  if (is_named && nb::len(positional) > nb::len(names)) {
    const std::string count = std::to_string(nb::len(names));
    raise(t, ExceptionKind::TypeError,
          shown + "() accepts " + count + " positional sub-pattern" + (count == "1" ? "" : "s") + " (" +
              std::to_string(nb::len(positional)) + " given)");
  }
  parts.reserve(nb::len(positional));
  for (size_t i = 0; i < nb::len(positional); ++i) parts.emplace_back(text_of(names[i]), positional[i]);
  const nb::list keywords = pattern.attr("kwd_attrs");
  const nb::list inner = pattern.attr("kwd_patterns");
  for (size_t i = 0; i < nb::len(keywords); ++i) parts.emplace_back(text_of(keywords[i]), inner[i]);
  std::set<std::string> seen;
  for (const auto& [name, part] : parts) {
    if (!seen.insert(name).second) {
      raise(t, ExceptionKind::TypeError,
            (shown + "() got multiple sub-patterns for attribute '").append(name).append("'"));
    }
  }
  const std::function<Value(size_t)> from = [&](size_t i) -> Value {
    if (i == parts.size()) return Static{nb::bool_(true)};
    const std::string name = parts[i].first;
    if (const std::optional<bool> has = PooledValues(t).has_attribute(subject, name, pattern); !has) {
      unsupported(t, pattern,
                  "the pattern `" + as_written(pattern) + "`, whose attribute `" + name +
                      "` is a property, or missing in some instances,",
                  "use if and isinstance");
    } else if (!*has) {
      return Static{nb::bool_(false)};
    }
    const Reading part = [&t, name, pattern, subject, read] {
      return attribute_of(t, read ? read() : subject, name, pattern);
    };
    return both_of(
        t, match_pattern(t, parts[i].second, attribute_of(t, subject, name, pattern), part),
        [&] { return from(i + 1); }, pattern);
  };
  return from(0);
}

/// An alternative of patterns.
Value match_any(Tracer& t, nb::handle pattern, const Value& subject, const Reading& read) {
  const nb::list patterns = pattern.attr("patterns");
  const std::function<Value(size_t)> from = [&](size_t i) -> Value {
    if (i == nb::len(patterns)) return Static{nb::bool_(false)};
    const size_t captured = t.captures.size();
    const Value matched = match_pattern(t, patterns[i], subject, read);
    if (const std::optional<bool> known = static_truth(t, matched); known && *known)
      return Static{nb::bool_(true)};
    if (t.captures.size() > captured && !static_truth(t, matched))
      unsupported(t, pattern, "names in alternatives that are not known when compiling", "use several cases");
    t.captures.resize(captured);
    if (static_truth(t, matched)) return from(i + 1);
    return fork(
        t, truth(t, matched, pattern), [] { return Value(Static{nb::bool_(true)}); },
        [&] { return from(i + 1); });
  };
  return from(0);
}

Value match_class(Tracer& t, nb::handle pattern, const Value& subject, const Reading& read) {
  const Value type = eval(t, pattern.attr("cls"));
  static constexpr std::array kSelf = {"bool", "int", "float", "str", "bytes", "tuple", "list", "dict"};
  const nb::object known = known_of(type);
  const nb::object builtins = imported("builtins");
  const bool own = known.is_valid() && std::ranges::any_of(kSelf, [&](const char* name) {
                     return known.is(builtins.attr(name));
                   });
  const size_t keywords = nb::len(nb::list(pattern.attr("kwd_attrs")));
  const size_t positional = nb::len(nb::list(pattern.attr("patterns")));
  const bool plain = positional == 0 && keywords == 0;
  const bool is_simple = plain || (own && positional <= 1 && keywords == 0);
  if (!known.is_valid() || !PyType_Check(known.ptr()) || (!is_simple && !is_instance(subject)))
    unsupported(t, pattern, "the pattern `" + as_written(pattern) + "`", "use if and isinstance");
  Call test{.positional = {subject, type}, .name = "isinstance", .node = pattern};
  Value is = builtin_isinstance(t, test);
  if (plain) return is;
  if (!is_simple) {
    const Value instance = PooledValues(t).of_subclasses(subject, known);
    return both_of(t, is, [&] { return match_instance(t, pattern, known, instance, read); }, pattern);
  }
  return both_of(
      t, is, [&] { return match_pattern(t, pattern.attr("patterns")[nb::int_(0)], subject, read); }, pattern);
}

Value match_pattern(Tracer& t, nb::handle pattern, const Value& subject, const Reading& read) {
  const Here here(t, pattern);
  const std::string kind = class_of(pattern);
  Value yes = Static{nb::bool_(true)};
  Value no = Static{nb::bool_(false)};
  if (kind == "MatchSingleton" && attribute(pattern, "value").is_none())
    if (const std::optional<NodeId> is = kind_of_value(subject).is_missing(t, subject))
      return as_bool(t, *is);
  if (const Maybe* m = subject.as<Maybe>(); m != nullptr && kind != "MatchAs" && kind != "MatchOr") {
    if (kind == "MatchClass")
      unsupported(t, pattern, "matching what may be None by its type", "test for None before");
    return fork(
        t, is_there(t, *m),
        [&] { return match_pattern(t, pattern, present(t, subject, "the subject", pattern), read); },
        [&] { return no; });
  }
  if (kind == "MatchValue") {
    const Value value = eval(t, pattern.attr("value"));
    if (subject.is<String>() || is_foreign(t, subject))
      unsupported(t, pattern, "matching a " + type_name(t, subject), "compare it yourself");
    return compare(t, Operator::Eq, subject, value, pattern);
  }
  if (kind == "MatchSingleton") {
    const nb::object wanted = attribute(pattern, "value");
    if (const nb::object known = known_of(subject); known.is_valid())
      return Static{nb::bool_(known.is(wanted))};
    const std::optional<Kind> of = kind_of(subject);
    if (!wanted.is_none() && of == Kind::py_bool()) {
      return Scalar{Kind::py_bool(),
                    t.builder->make(Op::equal, {stage(t, subject, *of),
                                                t.builder->constant(wanted.is(nb::bool_(true)))})};
    }
    return no;
  }
  if (kind == "MatchAs") {
    const nb::object inner = attribute(pattern, "pattern");
    const auto bound = [&] {
      if (!attribute(pattern, "name").is_none())
        t.captures.push_back({text_of(pattern.attr("name")), subject, false, read});
      return yes;
    };
    return inner.is_none() ? bound() : both_of(t, match_pattern(t, inner, subject, read), bound, pattern);
  }
  if (kind == "MatchOr") return match_any(t, pattern, subject, read);
  if (kind == "MatchSequence") return match_sequence(t, pattern, subject, read);
  if (kind == "MatchClass") return match_class(t, pattern, subject, read);
  unsupported(t, pattern, "the pattern `" + as_written(pattern) + "`", "use if and isinstance");
}

}  // namespace

void run_match(Tracer& t, nb::handle s) {
  Value subject = eval_open(t, s.attr("subject"));
  subject = stored(t, std::move(subject));
  const nb::list cases = s.attr("cases");
  const Pins pins(t, {subject});
  const std::function<Value(size_t)> from = [&](size_t i) -> Value {
    if (i == nb::len(cases)) return Static{nb::none()};
    const nb::handle one = cases[i];
    const nb::object guard = attribute(one, "guard");
    t.captures.clear();
    const Value fits = match_pattern(t, one.attr("pattern"), subject);
    const std::vector<Capturing> captured = std::move(t.captures);
    const auto bind_captured = [&](const auto& wanted) {
      for (const Capturing& name : captured) {
        if (wanted(name)) {
          bind_variable(t, name.name,
                        name.is_list ? new_list(t, parts_of(name.value))
                        : name.read  ? name.read()
                                     : name.value);
        }
      }
    };
    // Without a guard, names are bound in the body, so that a case that is not taken does not affect their
    // types; else before the guard, and again in the body with the types that they have there, except for
    // those that the guard may have changed.
    Value matched = fits;
    const auto is_bound_by_body = [&](const Capturing& bound) {
      return guard.is_none() || (!bound.is_list && !bound.read && !t.frame->shared.contains(bound.name) &&
                                 !assigns(guard, bound.name));
    };
    if (!guard.is_none()) {
      matched = both_of(
          t, fits,
          [&]() -> Value {
            bind_captured([](const Capturing&) { return true; });
            const Value test = eval_condition(t, guard);
            if (const std::optional<bool> known = static_truth(t, test)) return Static{nb::bool_(*known)};
            return Scalar{Kind::py_bool(), truth(t, test, guard)};
          },
          s);
    }
    const auto run_case = [&]() -> Value {
      bind_captured(is_bound_by_body);
      run_body(t, one.attr("body"));
      return Static{nb::none()};
    };
    if (const std::optional<bool> known = static_truth(t, matched)) return *known ? run_case() : from(i + 1);
    return fork(t, truth(t, matched, s), run_case, [&] { return from(i + 1); });
  };
  from(0);
}

}  // namespace ingot::frontend
