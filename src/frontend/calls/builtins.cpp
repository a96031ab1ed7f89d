#include "frontend/tracer/builtins.h"

#include "frontend/arrays/arguments.h"
#include "frontend/arrays/arrays.h"
#include "frontend/arrays/mathematics.h"
#include "frontend/arrays/operators.h"
#include "frontend/arrays/scalars.h"
#include "frontend/calls/python_builtins.h"
#include "frontend/kinds/generators.h"
#include "frontend/kinds/objects.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

Value builtin_len(Tracer& t, Call& call) {
  const Value value = need(t, call, 0, "obj");
  finish(t, call, 1);
  if (const std::optional<Value> length = kind_of_value(value).length(t, value, call.node)) return *length;
  if (const std::optional<Value> iterated = iterated_of(t, value)) {
    Call listed{.positional = {*iterated}, .name = "len", .node = call.node};
    return builtin_len(t, listed);
  }
  if (const auto elements = static_elements(t, value, call.node)) return Static{nb::int_(elements->size())};
  raise(t, ExceptionKind::TypeError, "object of type '" + type_name(t, value) + "' has no len()");
}

Value builtin_range(Tracer& t, Call& call) {
  if (call.positional.empty())
    raise(t, ExceptionKind::TypeError, "range expected at least 1 argument, got 0");
  finish(t, call, 3);
  for (Value& bound : call.positional) {
    if (static_int(bound)) continue;
    const NodeId integer = stage_index(t, bound);
    if (array_type_of(bound)) bound = Scalar{Kind::py_int(), integer};
  }
  std::array<Value, 3> bounds = {Static{nb::int_(0)}, call.positional[0], Static{nb::int_(1)}};
  if (call.positional.size() > 1) std::ranges::copy(call.positional, bounds.begin());
  return Range{share(std::move(bounds))};
}

Value builtin_prange(Tracer& t, Call& call) {
  Range range = *builtin_range(t, call).as<Range>();
  range.parallel = !t.in_order;
  return range;
}

Value builtin_print(Tracer& t, Call& call) {
  nb::list arguments;
  nb::dict keywords;
  Outward outward;
  for (const Value& value : call.positional) {
    const Error* error = value.as<Error>();
    const bool has_text = has_class(t, value);
    arguments.append(describe_result(t,
                                     error != nullptr ? text_of_error(t, *error)
                                     : has_text       ? text_of_value(t, value, "{!s}", call.node)
                                                      : value,
                                     outward));
  }
  for (const auto& [name, value] : call.keywords)
    keywords[name.c_str()] = require_static(t, value, "a keyword of print", call.node);
  t.hosts.push_back({imported("builtins").attr("print"), nb::make_tuple(nb::tuple(arguments), keywords)});
  const int64_t attributes[] = {static_cast<int64_t>(t.hosts.size() - 1), t.module.text("print").index};
  t.builder->make(Op::host, outward.leaves, attributes);
  return Static{nb::none()};
}

Value builtin_abs(Tracer& t, Call& call) {
  const Value value = need(t, call, 0, "x");
  finish(t, call, 1);
  const std::optional<Kind> kind = kind_of(value);
  if (!kind) raise(t, ExceptionKind::TypeError, "bad operand type for abs(): '" + type_name(t, value) + "'");
  if (const nb::object known = known_of(value); known.is_valid() && !base::is_complex(kind->dtype()))
    return Static{nb::steal(PyNumber_Absolute(known.ptr()))};
  if (!kind->is_python()) return elementwise(t, Op::absolute, {value}, "absolute", call.node);
  const Kind number = *kind == Kind::py_bool() ? Kind::py_int() : *kind;
  const NodeId x = stage(t, value, number);
  if (number == Kind::py_int())
    need_64_bits(t, t.builder->make(Op::not_equal, {x, t.builder->index(INT64_MIN)}));
  return Scalar{number == Kind::py_complex() ? Kind::py_float() : number, t.builder->make(Op::absolute, {x})};
}

namespace {

Value minmax(Tracer& t, Call& call, bool is_max) {
  std::vector<Value> values = call.positional;
  const Call given = call;
  const Value* const key = argument(t, call, values.size(), "key");
  const Value* const otherwise = argument(t, call, values.size(), "default");
  if (values.empty() || (values.size() > 1 && otherwise != nullptr)) raise_as_called(t, given);
  finish(t, call, values.size());
  if (values.size() == 1) {
    call.positional[0] = values[0] = begin_iterate(t, values[0], call.node);
    const auto elements = static_elements(t, values[0], call.node);
    const bool is_ranked = key != nullptr && !is_none(*key);
    if (!elements && is_ranked && otherwise != nullptr) {
      unsupported(t, call.node,
                  "`" + call.name + "` with `key` and `default` of what is not known when compiling",
                  "ask for its length before");
    }
    if (!elements) {
      const char* function = is_max ? "largest" : "smallest";
      if (is_ranked || otherwise != nullptr) {
        function = is_ranked ? "extreme_by" : "extreme_or";
        call.positional.emplace_back(Static{nb::bool_(is_max)});
        call.positional.push_back(is_ranked ? *key : *otherwise);
      }
      call.keywords.clear();
      return inline_function(t, imported("ingot.library.python").attr(function), call);
    }
    values = *elements;
    if (values.empty() && otherwise != nullptr) return *otherwise;
    if (values.empty()) raise(t, ExceptionKind::ValueError, call.name + "() arg is an empty sequence");
  }
  const auto rank = [&](const Value& value) {
    if (key == nullptr || is_none(*key)) return value;
    Call ranked{.positional = {value}, .name = "key", .node = call.node};
    return present(t, call_value(t, *key, ranked), "the key", call.node);
  };
  Tuple best{{values[0], rank(values[0])}};  // the element, and what it is compared by
  for (size_t i = 1; i < values.size(); ++i) {
    const Tuple next{{values[i], rank(values[i])}};
    const Value better =
        compare(t, is_max ? Operator::Gt : Operator::Lt, next.members[1], best.members[1], call.node);
    if (const std::optional<bool> known = static_truth(t, better)) {
      if (*known) best = next;
      continue;
    }
    const Value chosen =
        fork(t, truth(t, better, call.node), [&] { return Value(next); }, [&] { return Value(best); });
    for (size_t k = 0; k < 2; ++k) best.members[k] = present(t, parts_of(chosen)[k], call.name, call.node);
  }
  return best.members[0];
}

}  // namespace
Value builtin_min(Tracer& t, Call& call) { return minmax(t, call, false); }
Value builtin_max(Tracer& t, Call& call) { return minmax(t, call, true); }

namespace {

/// The number that `int` or `float` converts: that of an array without axes is its element.
Value convertible(Tracer& t, const Value& given, const std::string& name, const std::string& others,
                  nb::handle node) {
  const Value value = without_0d(t, given);
  if (rank_of(value)) raise_by_type(t, "call", name, {value}, imported("builtins").attr(name.c_str()));
  if (!number_kind(value)) unsupported(t, node, name + "() of a " + type_name(t, value), "take one element");
  if (number_kind(value) != Kind::py_complex()) return value;
  raise(t, ExceptionKind::TypeError,
        name + "() argument must be " + others + " or a real number, not '" + type_name(t, value) + "'");
}

}  // namespace

Value builtin_int(Tracer& t, Call& call) {
  const bool has_base =
      call.positional.size() > 1 || (call.keywords.size() == 1 && call.keywords[0].first == "base");
  if (has_base) return by_host(t, call, "an integer in a base");
  if (!call.keywords.empty()) raise_as_called(t, call);
  if (call.positional.empty()) return Static{nb::int_(0)};
  Value value = call.positional[0];
  finish(t, call, 1);
  if (const nb::object known = known_of(value); known.is_valid())
    return by_python(t, [&] { return Static{imported("builtins").attr("int")(known)}; });
  value = convertible(t, value, "int", "a string, a bytes-like object", call.node);
  const DType dtype = number_kind(value)->dtype();
  // A NumPy complex number loses its imaginary part (NumPy warns).
  if (base::is_float(dtype) || base::is_complex(dtype)) {
    const NodeId x = stage(t, value, Kind::py_float());
    check(t, negate(t, t.builder->make(Op::isnan, {x})), ExceptionKind::ValueError,
          "cannot convert float NaN to integer");
    check(t, negate(t, t.builder->make(Op::isinf, {x})), ExceptionKind::OverflowError,
          "cannot convert float infinity to integer");
    need_64_bits(t, both(t, t.builder->make(Op::less, {x, t.builder->constant(0x1p63)}),
                         t.builder->make(Op::greater_equal, {x, t.builder->constant(-0x1p63)})));
    return Scalar{Kind::py_int(), t.builder->cast(x, DType::Int64)};
  }
  const NodeId integer = stage(t, value, Kind::py_int());
  if (dtype == DType::UInt64)
    need_64_bits(t, t.builder->make(Op::greater_equal, {integer, t.builder->index(0)}));
  return Scalar{Kind::py_int(), integer};
}

Value builtin_float(Tracer& t, Call& call) {
  if (call.positional.empty()) return Static{nb::float_(0.0)};
  Value value = call.positional[0];
  finish(t, call, 1);
  if (const nb::object known = known_of(value); known.is_valid())
    return by_python(t, [&] { return Static{imported("builtins").attr("float")(known)}; });
  value = convertible(t, value, "float", "a string", call.node);
  return Scalar{Kind::py_float(), stage(t, value, Kind::py_float())};
}

Value builtin_complex(Tracer& t, Call& call) {
  const Value* real = argument(t, call, 0, "real");
  const Value* imaginary = argument(t, call, 1, "imag");
  finish(t, call, 2);
  const nb::object type = imported("builtins").attr("complex");
  std::array<Value, 2> given = {real == nullptr ? Value(Static{nb::int_(0)}) : *real,
                                imaginary == nullptr ? Value(Static{nb::int_(0)}) : *imaginary};
  const nb::object a = known_of(given[0]);
  const nb::object b = known_of(given[1]);
  if (a.is_valid() && b.is_valid())
    return by_python(t, [&] { return Static{imaginary == nullptr ? type(a) : type(a, b)}; });
  std::array<NodeId, 2> reals;
  std::array<NodeId, 2> rests;  // invalid: of a real number
  for (size_t i = 0; i < 2; ++i) {
    given[i] = without_0d(t, given[i]);
    const std::optional<Kind> kind = number_kind(given[i]);
    if (!kind) {
      std::vector<Value> operands{given[0]};
      if (imaginary != nullptr) operands.push_back(given[1]);
      raise_by_type(t, "call", "complex", operands, type);
      unsupported(t, call.node, "complex() of a " + type_name(t, given[i]), "give it numbers");
    }
    if (!base::is_complex(kind->dtype())) {
      reals[i] = stage(t, given[i], Kind::py_float());
      continue;
    }
    const NodeId z = stage(t, given[i], Kind::py_complex());
    reals[i] = t.builder->make(Op::real, {z});
    // NumPy's complex64 is no `complex`: CPython asks it for a float where it is the second.
    if (i == 0 || kind->dtype() == DType::Complex128) rests[i] = t.builder->make(Op::imaginary, {z});
  }
  if (imaginary == nullptr && rests[0])
    return Scalar{Kind::py_complex(), stage(t, given[0], Kind::py_complex())};
  // As in CPython: the imaginary part of one argument is added to the real part of the other.
  if (rests[1]) reals[0] = t.builder->make(Op::subtract, {reals[0], rests[1]});
  if (rests[0]) reals[1] = t.builder->make(Op::add, {reals[1], rests[0]});
  return Scalar{Kind::py_complex(), t.builder->make(Op::make_complex, {reals[0], reals[1]})};
}

Value builtin_bool(Tracer& t, Call& call) {
  if (call.positional.empty()) return Static{nb::bool_(false)};
  const Value value = call.positional[0];
  finish(t, call, 1);
  if (const std::optional<bool> known = static_truth(t, value)) return Static{nb::bool_(*known)};
  return Scalar{Kind::py_bool(), truth(t, value, call.node)};
}

Value builtin_enumerate(Tracer& t, Call& call) {
  const Value iterable = need(t, call, 0, "iterable");
  need_iterable(t, iterable);
  const Value* start = argument(t, call, 1, "start");
  const Value first = start == nullptr ? Value(Static{nb::int_(0)}) : *start;
  finish(t, call, 2);
  const Range numbers{share(std::array<Value, 3>{first, Static{nb::none()}, Static{nb::int_(1)}}), false,
                      true};
  return iterator(t, "enumerate", Zip{share(std::vector<Value>{numbers, iterable})});
}

Value builtin_zip(Tracer& t, Call& call) {
  const Value* strict = argument(t, call, 99, "strict");
  finish(t, call, call.positional.size());
  for (const Value& member : call.positional) need_iterable(t, member);
  if (strict != nullptr && static_truth(t, *strict) != false) {
    if (!static_truth(t, *strict)) require_static(t, *strict, "`strict`", call.node);
    call.keywords.clear();
    return inline_function(t, imported("ingot.library.iterators").attr("strict_zip"), call);
  }
  if (call.positional.empty()) return iterator(t, "zip", Tuple{});
  return iterator(t, "zip", Zip{share(call.positional)});
}

namespace {

struct MathInfo {
  const char* name;
  Op op;
  const char*
      infinite;  ///< the error of an infinite result of finite arguments: "overflow", "domain", or "" (none)
};

constexpr MathInfo kMath[] = {
    {"sqrt", Op::sqrt, ""},
    {"exp", Op::exp, "overflow"},
    {"expm1", Op::expm1, "overflow"},
    {"exp2", Op::exp2, "overflow"},
    {"log1p", Op::log1p, "domain"},
    {"log2", Op::log2, "domain"},
    {"log10", Op::log10, "domain"},
    {"log", Op::log, "domain"},
    {"sin", Op::sin, ""},
    {"cos", Op::cos, ""},
    {"tan", Op::tan, ""},
    {"asin", Op::arcsin, ""},
    {"acos", Op::arccos, ""},
    {"atan", Op::arctan, ""},
    {"sinh", Op::sinh, "overflow"},
    {"cosh", Op::cosh, "overflow"},
    {"tanh", Op::tanh, ""},
    {"asinh", Op::arcsinh, ""},
    {"acosh", Op::arccosh, ""},
    {"atanh", Op::arctanh, "domain"},
    {"erf", Op::erf, ""},
    {"erfc", Op::erfc, ""},
    {"gamma", Op::gamma, "overflow"},
    {"lgamma", Op::lgamma, "overflow"},
    {"fabs", Op::absolute, ""},
    {"cbrt", Op::cbrt, ""},
    {"degrees", Op::degrees, ""},
    {"radians", Op::radians, ""},
    {"atan2", Op::arctan2, ""},
    {"hypot", Op::hypot, "overflow"},
    {"copysign", Op::copysign, ""},
    {"pow", Op::power, "overflow"},
    {"fmod", Op::fmod, ""},
};

}  // namespace

Value math_function(Tracer& t, Call& call) {
  const MathInfo* entry = std::ranges::find_if(kMath, [&](const MathInfo& m) { return call.name == m.name; });
  const size_t wanted = ir::info(entry->op).operands;
  const bool has_base = call.name == "log" && call.positional.size() == 2;
  if ((has_base || (call.name == "hypot" && call.positional.size() != 2)) && call.keywords.empty()) {
    const nb::object of_any =
        imported("ingot.library.mathematics").attr(has_base ? "log_to_base" : "hypot_of");
    return inline_function(t, of_any, call);
  }
  if (call.positional.size() != wanted || !call.keywords.empty()) {
    unsupported(t, call.node,
                "math." + call.name + " with " + std::to_string(call.positional.size()) + " arguments",
                "give it " + std::to_string(wanted));
  }
  std::vector<NodeId> operands;
  NodeId finite = t.builder->constant(true);
  NodeId known = t.builder->constant(true);
  for (const Value& value : call.positional) {
    const NodeId x = real_number(t, value);
    operands.push_back(x);
    finite = both(t, finite, t.builder->make(Op::isfinite, {x}));
    known = both(t, known, negate(t, t.builder->make(Op::isnan, {x})));
  }
  const NodeId result = t.builder->make(entry->op, operands);
  check(t, negate(t, both(t, t.builder->make(Op::isnan, {result}), known)), ExceptionKind::ValueError,
        "math domain error");
  const std::string infinite = entry->infinite;
  if (!infinite.empty()) {
    const NodeId bad = both(t, t.builder->make(Op::isinf, {result}), finite);
    NodeId pole = t.builder->constant(infinite == "domain");
    // gamma and lgamma have poles at 0, -1, -2, ...; pow at 0 with a negative exponent.
    if (entry->op == Op::gamma || entry->op == Op::lgamma) {
      pole = both(t, t.builder->make(Op::less_equal, {operands[0], t.builder->constant(0.0)}),
                  t.builder->make(Op::equal, {t.builder->make(Op::floor, {operands[0]}), operands[0]}));
    }
    if (entry->op == Op::power) pole = t.builder->make(Op::equal, {operands[0], t.builder->constant(0.0)});
    check(t, negate(t, both(t, bad, pole)), ExceptionKind::ValueError, "math domain error");
    check(t, negate(t, bad), ExceptionKind::OverflowError, "math range error");
  }
  return Scalar{Kind::py_float(), result};
}

Value math_test(Tracer& t, Call& call) {
  const Value value = need(t, call, 0, "x");
  finish(t, call, 1);
  const std::optional<Kind> kind = number_kind(value);
  if (!kind || *kind == Kind::py_complex())
    raise(t, ExceptionKind::TypeError, "must be real number, not " + type_name(t, value));
  const Op op = call.name == "isnan" ? Op::isnan : call.name == "isinf" ? Op::isinf : Op::isfinite;
  return Scalar{Kind::py_bool(), t.builder->make(op, {stage(t, value, Kind::py_float())})};
}

Value math_round(Tracer& t, Call& call) {
  Value value = need(t, call, 0, "x");
  const std::optional<Kind> kind = kind_of(value);
  const bool is_float = kind && (*kind == Kind::py_float() || *kind == DType::Float64);
  if (call.name == "trunc" && kind && !kind->is_python() && !is_float)
    raise(t, ExceptionKind::TypeError, "type " + type_name(t, value) + " doesn't define __trunc__ method");
  // NumPy's numbers have no `__floor__`: Python converts them to float.
  const bool as_float = kind && (*kind == Kind::py_float() || !kind->is_python());
  if (as_float && number_kind(value)) {
    const Op op = call.name == "floor" ? Op::floor : call.name == "ceil" ? Op::ceil : Op::trunc;
    value = Scalar{Kind::py_float(), t.builder->make(op, {stage(t, value, Kind::py_float())})};
  }
  Call conversion{.positional = {value}, .name = "int", .node = call.node};
  return builtin_int(t, conversion);
}

}  // namespace ingot::frontend
