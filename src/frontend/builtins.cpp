#include "frontend/kinds/fields.h"
#include "frontend/kinds/strings.h"
#include "frontend/kinds/value_kind.h"
#include "frontend/rows.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

const Value* Evaluator::argument(Call& call, size_t position, const char* name) {
  const auto keyword = std::ranges::find_if(call.keywords, [&](const auto& k) { return k.first == name; });
  if (position < call.positional.size()) {
    if (keyword != call.keywords.end())
      raise(ExceptionKind::TypeError, call.name + "() got multiple values for argument '" + name + "'");
    return &call.positional[position];
  }
  if (keyword == call.keywords.end()) return nullptr;
  keyword->first = "";  // asked for
  return &keyword->second;
}

const Value& Evaluator::need(Call& call, size_t position, const char* name) {
  const Value* value = argument(call, position, name);
  if (value == nullptr) {
    raise_as_called(call);
    raise(ExceptionKind::TypeError, call.name + "() missing required argument '" + name + "' (pos " +
                                        std::to_string(position + 1) + ")");
  }
  return *value;
}

void Evaluator::finish(Call& call, size_t positional) {
  if (call.positional.size() > positional) {
    raise_as_called(call);
    raise(ExceptionKind::TypeError, call.name + "() takes at most " + std::to_string(positional) +
                                        " positional arguments (" + std::to_string(call.positional.size()) +
                                        " given)");
  }
  for (const auto& [name, value] : call.keywords) {
    if (!name.empty())
      unsupported(call.node, "the keyword `" + name + "` of `" + call.name + "`", "leave it out");
  }
}

Value Evaluator::builtin_len(Call& call) {
  const Value value = need(call, 0, "obj");
  finish(call, 1);
  if (const std::optional<Value> length = kind_of_value(value).length(*this, value, call.node))
    return *length;
  if (const std::optional<Value> iterated = iterated_of(value)) {
    Call keys{.positional = {iterated->is<Zip>() ? iterated->as<Zip>()->members->at(0) : *iterated},
              .keywords = {},
              .name = "len",
              .node = call.node};
    return builtin_len(keys);
  }
  if (const auto elements = static_elements(value, call.node)) return Static{nb::int_(elements->size())};
  raise(ExceptionKind::TypeError, "object of type '" + type_name(value) + "' has no len()");
}

Value Evaluator::builtin_range(Call& call) {
  if (call.positional.empty()) raise(ExceptionKind::TypeError, "range expected at least 1 argument, got 0");
  finish(call, 3);
  for (Value& bound : call.positional) {
    if (bound.is<Static>() && static_int(bound)) continue;
    const NodeId integer = stage_index(bound);
    if (bound.is<Array>()) bound = Scalar{Kind::py_int(), integer};
  }
  std::array<Value, 3> bounds = {Static{nb::int_(0)}, call.positional[0], Static{nb::int_(1)}};
  if (call.positional.size() > 1) {
    bounds[0] = call.positional[0];
    bounds[1] = call.positional[1];
  }
  if (call.positional.size() > 2) bounds[2] = call.positional[2];
  return Range{share(std::move(bounds))};
}

Value Evaluator::builtin_prange(Call& call) {
  Range range = *builtin_range(call).as<Range>();
  range.parallel = !in_order_;
  return range;
}

Value Evaluator::builtin_print(Call& call) {
  nb::list arguments;
  nb::dict keywords;
  Outward outward;
  for (const Value& value : call.positional) {
    const Error* error = value.as<Error>();
    const bool has_text = has_class(value);
    arguments.append(describe_result(error != nullptr ? text_of_error(*error)
                                     : has_text       ? text_of_value(value, "{!s}", call.node)
                                                      : value,
                                     outward));
  }
  for (const auto& [name, value] : call.keywords)
    keywords[name.c_str()] = require_static(value, "a keyword of print", call.node);
  hosts_.push_back({imported("builtins").attr("print"), nb::make_tuple(nb::tuple(arguments), keywords)});
  const int64_t attributes[] = {static_cast<int64_t>(hosts_.size() - 1), module_.text("print").index};
  builder_->make(Op::host, outward.leaves, attributes);
  return Static{nb::none()};
}

Value Evaluator::builtin_abs(Call& call) {
  const Value value = need(call, 0, "x");
  finish(call, 1);
  const std::optional<Kind> kind = kind_of(value);
  if (!kind) raise(ExceptionKind::TypeError, "bad operand type for abs(): '" + type_name(value) + "'");
  if (value.is<Static>() && !base::is_complex(kind->dtype()))
    return Static{nb::steal(PyNumber_Absolute(value.as<Static>()->object.ptr()))};
  if (!kind->is_python()) return elementwise(Op::absolute, {value}, "absolute", call.node);
  const Kind number = *kind == Kind::py_bool() ? Kind::py_int() : *kind;
  const NodeId x = stage(value, number);
  if (number == Kind::py_int()) {
    builder_->check(builder_->make(Op::not_equal, {x, builder_->index(INT64_MIN)}),
                    ExceptionKind::OverflowError, "a Python int leaves 64 bits here");
  }
  return Scalar{number == Kind::py_complex() ? Kind::py_float() : number, builder_->make(Op::absolute, {x})};
}

Value Evaluator::minmax(Call& call, bool is_max) {
  std::vector<Value> values = call.positional;
  const Call given = call;
  const Value* const key = argument(call, values.size(), "key");
  const Value* const otherwise = argument(call, values.size(), "default");
  if (values.empty() || (values.size() > 1 && otherwise != nullptr)) raise_as_called(given);
  finish(call, values.size());
  if (values.size() == 1) {
    call.positional[0] = values[0] = begin_iterate(values[0], call.node);
    const auto elements = static_elements(values[0], call.node);
    const bool is_ranked = key != nullptr && !is_none(*key);
    if (!elements && is_ranked && otherwise != nullptr) {
      unsupported(call.node,
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
      return inline_function(imported("ingot.library.python").attr(function), call);
    }
    values = *elements;
    if (values.empty() && otherwise != nullptr) return *otherwise;
    if (values.empty()) raise(ExceptionKind::ValueError, call.name + "() arg is an empty sequence");
  }
  const auto rank = [&](const Value& value) {
    if (key == nullptr || is_none(*key)) return value;
    Call ranked{.positional = {value}, .keywords = {}, .name = "key", .node = call.node};
    return present(this->call(*key, ranked), "the key", call.node);
  };
  Tuple best{{values[0], rank(values[0])}};  // the element, and what it is compared by
  for (size_t i = 1; i < values.size(); ++i) {
    const Tuple next{{values[i], rank(values[i])}};
    const Value better =
        compare(is_max ? Operator::Gt : Operator::Lt, next.members[1], best.members[1], call.node);
    if (const std::optional<bool> known = static_truth(better)) {
      if (*known) best = next;
      continue;
    }
    const Value chosen =
        fork(truth(better, call.node), [&] { return Value(next); }, [&] { return Value(best); });
    for (size_t k = 0; k < 2; ++k)
      best.members[k] = present(chosen.as<Tuple>()->members[k], call.name, call.node);
  }
  return best.members[0];
}
Value Evaluator::builtin_min(Call& call) { return minmax(call, false); }
Value Evaluator::builtin_max(Call& call) { return minmax(call, true); }

Value Evaluator::builtin_int(Call& call) {
  const bool has_base =
      call.positional.size() > 1 || (call.keywords.size() == 1 && call.keywords[0].first == "base");
  if (has_base) return by_host(call, "an integer in a base");
  if (!call.keywords.empty()) raise_as_called(call);
  if (call.positional.empty()) return Static{nb::int_(0)};
  Value value = call.positional[0];
  finish(call, 1);
  if (const Static* s = value.as<Static>()) {
    return by_python(*this, [&] { return Static{imported("builtins").attr("int")(s->object)}; });
  }
  const std::optional<Kind> kind = kind_of(value);
  value = without_0d(*this, value);
  if (rank_of(value)) raise_by_type("call", "int", {value}, imported("builtins").attr("int"));
  if (!number_kind(value)) unsupported(call.node, "int() of a " + type_name(value), "take one element");
  if (*kind == Kind::py_complex()) {
    raise(ExceptionKind::TypeError,
          "int() argument must be a string, a bytes-like object or a real number, not '" + type_name(value) +
              "'");
  }
  // A NumPy complex number loses its imaginary part (NumPy warns).
  if (base::is_float(kind->dtype()) || base::is_complex(kind->dtype())) {
    const NodeId x = stage(value, Kind::py_float());
    check(negate(builder_->make(Op::isnan, {x})), ExceptionKind::ValueError,
          "cannot convert float NaN to integer");
    check(negate(builder_->make(Op::isinf, {x})), ExceptionKind::OverflowError,
          "cannot convert float infinity to integer");
    builder_->check(both(builder_->make(Op::less, {x, builder_->constant(0x1p63)}),
                         builder_->make(Op::greater_equal, {x, builder_->constant(-0x1p63)})),
                    ExceptionKind::OverflowError, "a Python int leaves 64 bits here");
    return Scalar{Kind::py_int(), builder_->cast(x, DType::Int64)};
  }
  const NodeId integer = stage(value, Kind::py_int());
  if (kind->dtype() == DType::UInt64) {
    builder_->check(builder_->make(Op::greater_equal, {integer, builder_->index(0)}),
                    ExceptionKind::OverflowError, "a Python int leaves 64 bits here");
  }
  return Scalar{Kind::py_int(), integer};
}

Value Evaluator::builtin_float(Call& call) {
  if (call.positional.empty()) return Static{nb::float_(0.0)};
  Value value = call.positional[0];
  finish(call, 1);
  if (const Static* s = value.as<Static>()) {
    return by_python(*this, [&] { return Static{imported("builtins").attr("float")(s->object)}; });
  }
  const std::optional<Kind> kind = kind_of(value);
  value = without_0d(*this, value);
  if (rank_of(value)) raise_by_type("call", "float", {value}, imported("builtins").attr("float"));
  if (!number_kind(value)) unsupported(call.node, "float() of a " + type_name(value), "take one element");
  if (*kind == Kind::py_complex()) {
    raise(ExceptionKind::TypeError,
          "float() argument must be a string or a real number, not '" + type_name(value) + "'");
  }
  return Scalar{Kind::py_float(), stage(value, Kind::py_float())};
}

Value Evaluator::builtin_complex(Call& call) {
  const Value* real = argument(call, 0, "real");
  const Value* imaginary = argument(call, 1, "imag");
  finish(call, 2);
  const nb::object type = imported("builtins").attr("complex");
  std::array<Value, 2> given = {real == nullptr ? Value(Static{nb::int_(0)}) : *real,
                                imaginary == nullptr ? Value(Static{nb::int_(0)}) : *imaginary};
  if (given[0].is<Static>() && given[1].is<Static>()) {
    return by_python(*this, [&] {
      const nb::object& a = given[0].as<Static>()->object;
      return Static{imaginary == nullptr ? type(a) : type(a, given[1].as<Static>()->object)};
    });
  }
  std::array<NodeId, 2> reals;
  std::array<NodeId, 2> rests;  // invalid: of a real number
  for (size_t i = 0; i < 2; ++i) {
    given[i] = without_0d(*this, given[i]);
    const std::optional<Kind> kind = number_kind(given[i]);
    if (!kind) {
      std::vector<Value> operands{given[0]};
      if (imaginary != nullptr) operands.push_back(given[1]);
      raise_by_type("call", "complex", operands, type);
      unsupported(call.node, "complex() of a " + type_name(given[i]), "give it numbers");
    }
    if (!base::is_complex(kind->dtype())) {
      reals[i] = stage(given[i], Kind::py_float());
      continue;
    }
    const NodeId z = stage(given[i], Kind::py_complex());
    reals[i] = builder_->make(Op::real, {z});
    // NumPy's complex64 is no `complex`: CPython asks it for a float where it is the second.
    if (i == 0 || kind->dtype() == DType::Complex128) rests[i] = builder_->make(Op::imaginary, {z});
  }
  if (imaginary == nullptr && rests[0])
    return Scalar{Kind::py_complex(), stage(given[0], Kind::py_complex())};
  // As in CPython: the imaginary part of one argument is added to the real part of the other.
  if (rests[1]) reals[0] = builder_->make(Op::subtract, {reals[0], rests[1]});
  if (rests[0]) reals[1] = builder_->make(Op::add, {reals[1], rests[0]});
  return Scalar{Kind::py_complex(), builder_->make(Op::make_complex, {reals[0], reals[1]})};
}

Value Evaluator::builtin_bool(Call& call) {
  if (call.positional.empty()) return Static{nb::bool_(false)};
  const Value value = call.positional[0];
  finish(call, 1);
  if (const std::optional<bool> known = static_truth(value)) return Static{nb::bool_(*known)};
  return Scalar{Kind::py_bool(), truth(value, call.node)};
}

Value Evaluator::builtin_enumerate(Call& call) {
  const Value iterable = need(call, 0, "iterable");
  need_iterable(iterable);
  const Value* start = argument(call, 1, "start");
  const Value first = start == nullptr ? Value(Static{nb::int_(0)}) : *start;
  finish(call, 2);
  const Range numbers{share(std::array<Value, 3>{first, Static{nb::none()}, Static{nb::int_(1)}}), false,
                      true};
  return iterator("enumerate", Zip{share(std::vector<Value>{numbers, iterable})});
}

Value Evaluator::builtin_zip(Call& call) {
  const Value* strict = argument(call, 99, "strict");
  finish(call, call.positional.size());
  for (const Value& member : call.positional) need_iterable(member);
  if (strict != nullptr && static_truth(*strict) != false) {
    if (!static_truth(*strict)) require_static(*strict, "`strict`", call.node);
    call.keywords.clear();
    return inline_function(imported("ingot.library.iterators").attr("strict_zip"), call);
  }
  if (call.positional.empty()) return iterator("zip", Tuple{});
  return iterator("zip", Zip{share(call.positional)});
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

Value Evaluator::math_function(Call& call) {
  const MathInfo* entry = std::ranges::find_if(kMath, [&](const MathInfo& m) { return call.name == m.name; });
  const size_t wanted = ir::info(entry->op).operands;
  const bool has_base = call.name == "log" && call.positional.size() == 2;
  if ((has_base || (call.name == "hypot" && call.positional.size() != 2)) && call.keywords.empty()) {
    const nb::object of_any =
        imported("ingot.library.mathematics").attr(has_base ? "log_to_base" : "hypot_of");
    return inline_function(of_any, call);
  }
  if (call.positional.size() != wanted || !call.keywords.empty()) {
    unsupported(call.node,
                "math." + call.name + " with " + std::to_string(call.positional.size()) + " arguments",
                "give it " + std::to_string(wanted));
  }
  std::vector<NodeId> operands;
  NodeId finite = builder_->constant(true);
  NodeId known = builder_->constant(true);
  for (const Value& value : call.positional) {
    const NodeId x = real_number(value);
    operands.push_back(x);
    finite = both(finite, builder_->make(Op::isfinite, {x}));
    known = both(known, negate(builder_->make(Op::isnan, {x})));
  }
  const NodeId result = builder_->make(entry->op, operands);
  check(negate(both(builder_->make(Op::isnan, {result}), known)), ExceptionKind::ValueError,
        "math domain error");
  const std::string infinite = entry->infinite;
  if (!infinite.empty()) {
    const NodeId bad = both(builder_->make(Op::isinf, {result}), finite);
    NodeId pole = builder_->constant(infinite == "domain");
    // gamma and lgamma have poles at 0, -1, -2, ...; pow at 0 with a negative exponent.
    if (entry->op == Op::gamma || entry->op == Op::lgamma) {
      pole = both(builder_->make(Op::less_equal, {operands[0], builder_->constant(0.0)}),
                  builder_->make(Op::equal, {builder_->make(Op::floor, {operands[0]}), operands[0]}));
    }
    if (entry->op == Op::power) pole = builder_->make(Op::equal, {operands[0], builder_->constant(0.0)});
    check(negate(both(bad, pole)), ExceptionKind::ValueError, "math domain error");
    check(negate(bad), ExceptionKind::OverflowError, "math range error");
  }
  return Scalar{Kind::py_float(), result};
}

Value Evaluator::math_test(Call& call) {
  const Value value = need(call, 0, "x");
  finish(call, 1);
  const std::optional<Kind> kind = number_kind(value);
  if (!kind || *kind == Kind::py_complex())
    raise(ExceptionKind::TypeError, "must be real number, not " + type_name(value));
  const Op op = call.name == "isnan" ? Op::isnan : call.name == "isinf" ? Op::isinf : Op::isfinite;
  return Scalar{Kind::py_bool(), builder_->make(op, {stage(value, Kind::py_float())})};
}

Value Evaluator::math_round(Call& call) {
  Value value = need(call, 0, "x");
  const std::optional<Kind> kind = kind_of(value);
  const bool is_float = kind && (*kind == Kind::py_float() || *kind == DType::Float64);
  if (call.name == "trunc" && kind && !kind->is_python() && !is_float)
    raise(ExceptionKind::TypeError, "type " + type_name(value) + " doesn't define __trunc__ method");
  // NumPy's numbers have no `__floor__`: Python converts them to float.
  const bool as_float = kind && (*kind == Kind::py_float() || !kind->is_python());
  if (as_float && number_kind(value)) {
    const Op op = call.name == "floor" ? Op::floor : call.name == "ceil" ? Op::ceil : Op::trunc;
    value = Scalar{Kind::py_float(), builder_->make(op, {stage(value, Kind::py_float())})};
  }
  Call conversion{.positional = {value}, .keywords = {}, .name = "int", .node = call.node};
  return builtin_int(conversion);
}

}  // namespace ingot::frontend
