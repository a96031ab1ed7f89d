#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "codegen/scalars.h"
#include "run.h"
#include "runtime/math_symbols.h"

// Every elementwise op at every dtype, and every cast, compiled, against ir::evaluate. The table makes the
// programs, so that no card can be forgotten.

namespace ingot::codegen {
namespace {

using base::Scalar;
using ir::NodeId;
using ir::Op;
using ir::Type;

std::vector<double> float_edges(DType t) {
  const double inf = std::numeric_limits<double>::infinity();
  std::vector<double> v = {0.0,
                           -0.0,
                           1,
                           -1,
                           2,
                           -2,
                           3,
                           -3,
                           0.5,
                           -0.5,
                           1.5,
                           -1.5,
                           2.5,
                           -2.5,
                           0.1,
                           -0.1,
                           0.3,
                           7,
                           -7,
                           10,
                           100.25,
                           -100.25,
                           1e-5,
                           1024,
                           65504,
                           65520,
                           -65520,
                           65519.996,
                           70000,
                           2147483647,
                           2147483648.0,
                           -2147483648.0,
                           -2147483649.0,
                           4294967295.0,
                           4294967296.0,
                           9223372036854775807.0,
                           -9223372036854775808.0,
                           18446744073709551616.0,
                           1e19,
                           -1e19,
                           1.8e19,
                           1e30,
                           -1e30,
                           inf,
                           -inf,
                           std::nan(""),
                           6.103515625e-05,
                           5.960464477539063e-08,
                           2.9802322387695312e-08,
                           3e-8,
                           8.9e-8,
                           1e-40,
                           -1e-310,
                           3.14159,
                           -2.71828,
                           255.5,
                           256,
                           127,
                           128,
                           -128,
                           -129};
  if (t == DType::Float64)
    v.insert(v.end(), {1e300, -1e300, 1e-300, std::numeric_limits<double>::denorm_min(),
                       std::numeric_limits<double>::max(), 0.99999999999999989});
  if (t == DType::Float32) v.insert(v.end(), {1e38, -3.4e38, 1.2e-38, 1e-45});
  return v;
}

std::vector<Scalar> edges(DType t) {
  std::vector<Scalar> values;
  if (base::is_bool(t)) return {Scalar::of(false), Scalar::of(true)};
  if (base::is_int(t)) {
    const int width = static_cast<int>(8 * base::size_of(t));
    const uint64_t top = uint64_t{1} << (width - 1);
    for (uint64_t word : {uint64_t{0},   uint64_t{1},
                          ~uint64_t{0},  uint64_t{2},
                          ~uint64_t{1},  uint64_t{3},
                          uint64_t{5},   uint64_t{7},
                          ~uint64_t{6},  uint64_t{10},
                          uint64_t{12},  uint64_t{31},
                          uint64_t{63},  uint64_t{64},
                          uint64_t{100}, ~uint64_t{99},
                          top,           top - 1,
                          top + 1,       top / 2,
                          top / 3,       uint64_t{0x5a5a5a5a5a5a5a5a}}) {
      Scalar s;
      s.bits[0] = width == 64 ? word : word & ((uint64_t{1} << width) - 1);
      values.push_back(s);
    }
    return values;
  }
  const DType part = base::component_of(t);
  std::vector<Scalar> parts;
  for (double x : float_edges(part)) parts.push_back(ir::evaluate_cast(DType::Float64, part, Scalar::of(x)));
  if (!base::is_complex(t)) return parts;
  const size_t size = base::size_of(part);
  for (size_t i = 0; i < parts.size(); ++i)
    for (size_t j = i % 3; j < parts.size(); j += i % 5 + 3) {
      Scalar s;
      std::memcpy(s.bits.data(), &parts[i].bits, size);
      std::memcpy(reinterpret_cast<char*>(s.bits.data()) + size, &parts[j].bits, size);
      values.push_back(s);
    }
  return values;
}

bool same_part(DType t, const char* a, const char* b) {
  const auto is_nan = [t](const char* at) {
    const Scalar wide = ir::evaluate_cast(t, DType::Float64, Scalar::load(t, at));
    return std::isnan(wide.as<double>());
  };
  return std::memcmp(a, b, base::size_of(t)) == 0 || (base::is_float(t) && is_nan(a) && is_nan(b));
}
bool same(DType t, const Scalar& a, const Scalar& b) {
  const DType part = base::component_of(t);
  for (size_t at = 0; at < base::size_of(t); at += base::size_of(part))
    if (!same_part(part, reinterpret_cast<const char*>(a.bits.data()) + at,
                   reinterpret_cast<const char*>(b.bits.data()) + at))
      return false;
  return true;
}

/// `f(a, b, out)`: out[i] = op(a[i], b[i]), of ops with the same operand dtype; one function for each op.
struct Case {
  std::string name;
  DType from, to;
  int operands;
  Op op;  ///< cast for casts
};

ir::FunctionId add_function(ir::Module& module, const Case& c) {
  std::vector<Type> parameters;
  ir::Builder b(module, c.name);
  for (int i = 0; i < c.operands; ++i) {
    parameters.push_back(Type::view(c.from, 1));
    b.add_parameter(parameters.back(), {"x" + std::to_string(i), static_cast<uint32_t>(i), false});
  }
  parameters.push_back(Type::view(c.to, 1));
  const NodeId out = b.add_parameter(parameters.back(), {"out", 9, true});
  const ir::FunctionId id = module.declare(c.name, parameters, {});
  const NodeId count = b.length(out, 0);
  const NodeId loop = b.begin(Op::for_, {&count, 1}, std::vector<int64_t>{0, 0});
  const NodeId k = b.enter(loop, 0, std::vector<Type>{ir::kInt64})[0];
  std::vector<NodeId> operands;
  for (int i = 0; i < c.operands; ++i)
    operands.push_back(b.make(Op::load, {NodeId(static_cast<uint32_t>(i)), k}));
  const NodeId value =
      c.op == Op::cast ? b.make(Op::cast, operands, {}, Type::scalar(c.to)) : b.make(c.op, operands);
  b.make(Op::store, {out, k, value});
  b.yield({});
  b.end(loop);
  b.terminate(Op::return_, {});
  module.define(id, b.finish({}));
  return id;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (int t = 0; t < base::kDTypeCount; ++t) {
    const auto from = static_cast<DType>(t);
    const std::string suffix = "_" + std::string(base::info(from).name);
#define OP(op_name, count, ...)       \
  if (ir::accepts(Op::op_name, from)) \
    cases.push_back({#op_name + suffix, from, ir::result_dtype(Op::op_name, from), count, Op::op_name});
#include "ir/ops.def"
    for (int u = 0; u < base::kDTypeCount; ++u) {
      const auto to = static_cast<DType>(u);
      cases.push_back({"cast" + suffix + "_" + std::string(base::info(to).name), from, to, 1, Op::cast});
    }
  }
  return cases;
}

int check_case(const Case& c, runtime::Entry entry) {
  const std::vector<Scalar> lattice = edges(c.from);
  const size_t size = base::size_of(c.from);
  std::vector<std::vector<Scalar>> rows;
  for (size_t i = 0; i < lattice.size(); ++i) {
    if (c.operands == 1) {
      rows.push_back({lattice[i]});
      continue;
    }
    const size_t step = lattice.size() > 300 ? 17 : 1;
    for (size_t j = i % step; j < lattice.size(); j += step) rows.push_back({lattice[i], lattice[j]});
  }
  const auto n = static_cast<int64_t>(rows.size());
  std::vector<std::byte> in[2], out(rows.size() * base::size_of(c.to));
  std::vector<ViewArgument> views;
  for (int k = 0; k < c.operands; ++k) {
    in[k].resize(rows.size() * size);
    for (size_t i = 0; i < rows.size(); ++i)
      rows[i][static_cast<size_t>(k)].store(c.from, in[k].data() + i * size);
    views.emplace_back(in[k].data(), std::initializer_list<int64_t>{n}, static_cast<int64_t>(size));
  }
  views.emplace_back(out.data(), std::initializer_list<int64_t>{n},
                     static_cast<int64_t>(base::size_of(c.to)));
  std::vector<void*> slots;
  for (ViewArgument& view : views) slots.push_back(&view.slot);
  runtime::Context context = runtime::make_context();
  runtime::Call call(context);
  EXPECT_EQ(call.run(entry, slots.data()), 0) << c.name;
  int wrong = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Scalar expected =
        c.op == Op::cast ? ir::evaluate_cast(c.from, c.to, rows[i][0]) : ir::evaluate(c.op, c.from, rows[i]);
    const Scalar got = Scalar::load(c.to, out.data() + i * base::size_of(c.to));
    if (same(c.to, expected, got)) continue;
    if (++wrong <= 3)
      ADD_FAILURE() << std::hex << c.name << " of " << rows[i][0].bits[0] << ':' << rows[i][0].bits[1] << ", "
                    << rows[i].back().bits[0] << ':' << rows[i].back().bits[1] << " gave " << got.bits[0]
                    << ':' << got.bits[1] << ", not " << expected.bits[0] << ':' << expected.bits[1];
  }
  return static_cast<int>(rows.size());
}

void check_all(const Target& target, Effort effort) {
  ir::Module module;
  std::vector<Case> cases = all_cases();
  std::vector<ir::FunctionId> ids;
  for (const Case& c : cases) ids.push_back(add_function(module, c));
  driver::Report report;
  const driver::CompileResult compiled =
      driver::compile(module, ids, {target, {.effort = effort, .verify = true}}, report);
  const runtime::Object object = runtime::Object::open(std::as_bytes(std::span(compiled.bytes)));
  int64_t rows = 0;
  for (const Case& c : cases) rows += check_case(c, object.entry(entry_symbol(c.name)));
  std::printf("%zu op x dtype, %lld values\n", cases.size(), static_cast<long long>(rows));
}

TEST(Elementwise, EqualsEvaluateOnThisCpu) { check_all(Target::host(), Effort::Normal); }
TEST(Elementwise, EqualsEvaluateOnTheOldestCpu) { check_all(Target::generic(1), Effort::Full); }
TEST(Elementwise, EqualsEvaluateUnoptimized) { check_all(Target::generic(3), Effort::Quick); }

TEST(Elementwise, TheRuntimeHasExactlyTheCalledFunctions) {
  size_t called = 0;
  for (const Case& c : all_cases()) {
    if (c.op == Op::cast) continue;
    const bool found = runtime::find_math_function(math_symbol(c.op, c.from)) != nullptr;
    EXPECT_EQ(found, is_called(c.op, c.from)) << c.name;
    called += found;
  }
  EXPECT_EQ(called, runtime::math_functions().size());
}

}  // namespace
}  // namespace ingot::codegen
