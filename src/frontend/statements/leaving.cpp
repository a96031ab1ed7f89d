// How exceptions leave the call. A simple exception is its message with holes for numbers. Others have the
// number, among `Tracer::errors`, of a description that `ingot._host.exceptions` makes them of - arguments,
// and the exceptions that they were raised from -, and the numbers in that. If a description holds values
// other than numbers, a host call raises the exception.

#include "base/message.h"
#include "frontend/statements/exceptions.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

constexpr size_t kMostValues = 32;

bool is_py_int(const Value& part) { return part.is<Scalar>() && part.as<Scalar>()->kind == Kind::py_int(); }

std::vector<NodeId> nodes_of(const std::vector<Value>& numbers) {
  std::vector<NodeId> nodes;
  for (const Value& number : numbers) nodes.push_back(number.as<Scalar>()->node);
  return nodes;
}

/// The kind of an exception: of the first class among its class and bases that has one.
ExceptionKind kind_of_type(const nb::object& type) {
  const nb::object all = attribute(type, "__mro__");
  for (const nb::handle each : all) {
    const auto kind = base::exception_from_name(text_of(each.attr("__name__")));
    if (kind && !base::leaves_at_once(*kind)) return *kind;
  }
  return ExceptionKind::Exception;
}

/// A string's form, its holes without formats.
std::string with_plain_holes(std::string_view form) {
  std::string plain;
  for (size_t i = 0; i < form.size(); ++i) {
    const bool is_brace = form[i] == '{' || form[i] == '}';
    plain += form[i];
    if (is_brace && i + 1 < form.size() && form[i + 1] == form[i]) {
      plain += form[++i];
    } else if (form[i] == '{') {
      plain += '}';
      i = std::min(form.find('}', i), form.size());
    }
  }
  return plain;
}

/// The string or number that is an exception's only argument, with holes for so many numbers; empty: it has
/// other arguments.
std::string text_of_one(const Error& error, size_t numbers) {
  if (error.original.is_valid() || error.parts == nullptr) return "";
  if (error.kind) return error.parts->size() == numbers ? error.message : "";
  if (error.parts->size() != 1) return "";
  const Value& only = error.parts->front();
  if (only.is<Scalar>()) return numbers == 1 ? "{}" : "";
  const nb::object text = known_of(only);
  if (text.is_valid() && PyUnicode_CheckExact(text.ptr())) {
    const nb::object shown = text.attr("encode")("utf-8", "backslashreplace");
    return numbers == 0 ? base::escape_message(text_of(shown.attr("decode")())) : "";
  }
  const String* const composed = only.as<String>();
  const bool is_of_numbers =
      composed != nullptr && composed->parts->size() == numbers &&
      std::ranges::all_of(*composed->parts, [](const Value& part) { return part.is<Scalar>(); });
  const std::string plain = is_of_numbers ? with_plain_holes(composed->form) : "";
  return base::count_holes(plain) == static_cast<int>(numbers) ? plain : "";
}

/// The message of an exception for callers that cannot make the object, with holes for so many numbers: its
/// string, or its class and the numbers among its arguments.
std::string message_of(const Error& error, ExceptionKind kind, size_t numbers) {
  const std::string name = base::escape_message(text_of(error.type.attr("__name__")));
  if (const std::string text = text_of_one(error, numbers); !text.empty())
    return name == base::name_of(kind) ? text : name + ": " + text;
  std::string message = name + "(";
  for (size_t i = 0; i < numbers; ++i) message += i == 0 ? "{}" : ", {}";
  return message + ")";
}

Error without(Error error, uint32_t number) {
  if (!error.context) return error;
  const bool is_it = error.context->number == number;
  error.context = is_it ? nullptr : share(without(*error.context, number));
  return error;
}

/// An exception and its chain of causes and contexts, each once.
void collect(const Error& error, std::vector<const Error*>& all) {
  const auto is_it = [&](const Error* other) { return other->number == error.number; };
  if (std::ranges::any_of(all, is_it)) return;
  all.push_back(&error);
  if (error.cause) collect(*error.cause, all);
  if (error.context) collect(*error.context, all);
}

}  // namespace

Error in_context(const Tracer& t, Error error) {
  if (!error.raised_at) error.raised_at = t.builder->span();
  if (t.handled.empty() || t.handled.back()->number == error.number) return error;
  error.context = share(without(*t.handled.back(), error.number));
  return error;
}

Error in_outer_context(Tracer& t, Error error) {
  std::map<uint32_t, uint32_t> numbers;
  const std::function<void(Error&, bool)> settle = [&](Error& each, bool may_end) {
    const auto [it, is_new] = numbers.emplace(each.number, t.facts.errors_made + 1);
    if (is_new) ++t.facts.errors_made;
    each.number = it->second;
    const bool is_one = each.is_caused_by_context();
    if (each.context) {
      Error context = *each.context;
      settle(context, may_end);
      each.context = share(std::move(context));
    } else if (may_end && !t.handled.empty()) {
      each.context = share(*t.handled.back());
    }
    if (!each.cause) return;
    Error cause = *each.cause;
    settle(cause, false);
    each.cause = is_one ? each.context : share(std::move(cause));
  };
  settle(error, true);
  error.raised_at = t.builder->span();
  return error;
}

Error caught(const Tracer& t, Error error, const Catcher& handler) {
  const size_t all = t.module.sites(error.raised_at).size();
  error.frames = all - std::min(all, t.module.sites(handler.frame->called_at).size());
  return error;
}

namespace {

/// The arguments of `_host.exceptions.built`: the description of an error and of those that it was raised
/// from, and their arguments.
std::pair<nb::tuple, Description> describe_error(Tracer& t, const Error& error, Outward& outward) {
  std::vector<const Error*> all;
  collect(error, all);
  const auto index_of = [&](const std::shared_ptr<const Error>& other) -> nb::object {
    if (!other) return nb::none();
    const auto is_it = [&](const Error* each) { return each->number == other->number; };
    return nb::int_(std::ranges::find_if(all, is_it) - all.begin());
  };
  nb::list known;
  Tuple arguments;
  for (const Error* each : all) {
    nb::list sites;
    const std::vector<base::Site> raised_at = t.module.sites(each->raised_at);
    for (size_t i = 0; each != all.front() && i < std::min(raised_at.size(), each->frames); ++i) {
      const auto& [location, function] = raised_at[i];
      sites.append(
          nb::make_tuple(location.file, location.line, location.column, location.end_column, function));
    }
    const nb::object made_of = each->original.is_valid() ? each->original
                               : each->kind
                                   ? nb::object(nb::str(std::string(base::name_of(*each->kind)).c_str()))
                                   : each->type;
    known.append(nb::make_tuple(made_of, index_of(each->cause), index_of(each->context), each->is_suppressing,
                                nb::tuple(sites)));
    std::vector<Value> parts;
    if (!each->original.is_valid())
      parts = each->kind ? std::vector<Value>{text_of_error(t, *each)} : *each->parts;
    arguments.members.emplace_back(Tuple{std::move(parts)});
  }
  return {nb::tuple(known), describe_result(t, arguments, outward)};
}

/// The message of an exception of one of the core's kinds with a single string; none: it is another one.
std::optional<Notice> text_notice_of(Tracer& t, const Error& error) {
  if (error.original.is_valid()) return std::nullopt;
  if (error.kind) return Notice{*error.kind, t.module.text(error.message), nodes_of(*error.parts)};
  const std::vector<Value>& arguments = *error.parts;
  const auto kind = base::exception_from_name(text_of(error.type.attr("__name__")));
  const std::string module = text_of(error.type.attr("__module__"));
  const bool is_own = kind && (module == "builtins" || module == "numpy.linalg" || module == "ingot");
  if (!is_own || arguments.size() > 1) return std::nullopt;
  if (arguments.empty()) return Notice{*kind, t.module.text(""), {}};
  const nb::object text = known_of(arguments[0]);
  if (text.is_valid() && PyUnicode_CheckExact(text.ptr())) {
    const bool is_key = *kind == ExceptionKind::KeyError;
    const nb::object shown = is_key ? nb::object(nb::repr(text)) : text;
    if (PyUnicode_AsUTF8(shown.ptr()) == nullptr) {
      const nb::python_error unencodable;  // half of a surrogate pair, which messages cannot hold
      rethrow_lack_of_memory(unencodable);
      return std::nullopt;
    }
    return Notice{*kind, t.module.text(base::escape_message(text_of(shown))), {}};
  }
  // A string composed of ints is a message with holes.
  const String* composed = arguments[0].as<String>();
  const bool is_plain = composed != nullptr && std::ranges::all_of(*composed->parts, is_py_int) &&
                        composed->form.find("{!") == std::string::npos &&
                        composed->form.find("{:") == std::string::npos;
  if (!is_plain || *kind == ExceptionKind::KeyError) return std::nullopt;
  return Notice{*kind, t.module.text(composed->form), nodes_of(*composed->parts)};
}

}  // namespace

std::vector<int64_t> Notice::attributes() const {
  std::vector<int64_t> words{static_cast<int64_t>(kind), message.index};
  if (made) words.push_back(*made);
  return words;
}

std::optional<Notice> notice_of(Tracer& t, const Error& error) {
  if (error.is_plain())
    if (std::optional<Notice> text = text_notice_of(t, error)) return text;
  Outward outward;
  const auto [known, arguments] = describe_error(t, error, outward);
  if (outward.leaves.size() > kMostValues) return std::nullopt;
  for (const NodeId leaf : outward.leaves) {
    const ir::Type type = t.builder->function().type(leaf);
    if (!type.is_scalar() || base::is_complex(type.dtype())) return std::nullopt;
  }
  const auto number = static_cast<int64_t>(nb::len(t.errors));
  t.errors.append(nb::make_tuple(known, arguments));
  const ExceptionKind kind = error.kind ? *error.kind : kind_of_type(error.type);
  const std::string message = message_of(error, kind, outward.leaves.size());
  return Notice{kind, t.module.text(message), std::move(outward.leaves), number};
}

void raise_uncaught(Tracer& t, const Error& error) {
  std::optional<Notice> notice = notice_of(t, error);
  if (!notice) {
    Outward outward;
    const auto [known, arguments] = describe_error(t, error, outward);
    const nb::tuple given = nb::make_tuple(Description{described::Static{known}}, arguments);
    const nb::object thrower = imported("ingot._host.exceptions").attr("throw");
    t.hosts.push_back({thrower, nb::make_tuple(given, nb::dict())});
    const int64_t attributes[] = {static_cast<int64_t>(t.hosts.size() - 1), t.module.text("throw").index};
    t.builder->make(Op::host, outward.leaves, attributes);
    notice = Notice{ExceptionKind::RuntimeError, t.module.text("not raised"), {}};
  }
  t.builder->terminate(Op::raise, notice->values, notice->attributes());
  throw Diverged{};
}

}  // namespace ingot::frontend
