#include <bit>
#include <cmath>
#include <map>
#include <random>

#include "interpreter_helpers.h"
#include "ir/builder.h"
#include "random_function.h"

namespace ingot::ir {
namespace {

using base::Scalar;

/// Random straight-line programs over scalars and square matrices. The same seed asks the Builder for the
/// same nodes, whether it folds or not.
class RandomExpression {
 public:
  RandomExpression(uint64_t seed, bool folding) : random_(seed), b_(module_, "f") {
    b_.set_folding(folding);
    for (int t = 0; t < base::kDTypeCount; ++t) add_parameters(static_cast<DType>(t));
    // Two dtypes carry most of a program, so that nodes combine.
    main_[0] = static_cast<DType>(random_() % base::kDTypeCount);
    main_[1] = static_cast<DType>(random_() % base::kDTypeCount);
    for (DType t : main_) add_constants(t);
    for (int i = 0; i < 60; ++i) add_node();
    finish();
  }
  Outcome run(std::span<const Value> arguments) const {
    EXPECT_TRUE(verify(*module_.function(*module_.find("f")), Stage::Array).empty());
    return interpret(module_, *module_.find("f"), arguments);
  }
  size_t node_count() const { return module_.function(*module_.find("f"))->node_count(); }
  std::span<const Type> types() const { return types_; }
  std::string text() const { return print(module_); }

 private:
  void keep(NodeId node) {
    const Type type = b_.function().type(node);
    pool_[type.bits()].push_back(node);
    results_.push_back(node);
    types_.push_back(type);
  }
  NodeId pick(Type type) {
    const auto found = pool_.find(type.bits());
    return found == pool_.end() ? NodeId() : found->second[random_() % found->second.size()];
  }
  void add_parameters(DType t) {
    for (Type type : {Type::scalar(t), Type::scalar(t), Type::array(t, 2), Type::array(t, 2)}) {
      parameters_.push_back(type);
      pool_[type.bits()].push_back(
          b_.add_parameter(type, {.name = "p" + std::to_string(parameters_.size())}));
    }
  }
  void add_constants(DType t) {
    for (double x : {0.0, -0.0, 1.0, 2.0, -1.0, 5.0})
      keep(b_.constant(Type::scalar(t), evaluate_cast(DType::Float64, t, Scalar::of(x))));
  }
  void add_node() {
    const DType t = main_[random_() % 2];
    switch (random_() % 10) {
      case 0: return add_cast(t);
      case 1: return add_select(t);
      case 2: return add_rearrangement(t);
      case 3: return add_optional(t);
      case 4: return add_lengths(t);
      default: return add_elementwise(t);
    }
  }
  NodeId pick_like(DType t, bool array) { return pick(array ? Type::array(t, 2) : Type::scalar(t)); }
  void add_elementwise(DType t) {
    const Op op = static_cast<Op>(random_() % kOpCount);
    if (!info(op).elementwise || !accepts(op, t)) return add_elementwise(t);
    const NodeId a = pick_like(t, random_() % 3 == 0);
    const NodeId b = random_() % 6 == 0 ? a : pick_like(t, random_() % 3 == 0);
    keep(info(op).operands == 1 ? b_.make(op, {a}) : b_.make(op, {a, b}));
    // Again on the same: involutions, idempotents, negations of comparisons.
    const NodeId made = results_.back();
    if (info(op).operands == 1 && accepts(op, b_.function().type(made).dtype())) keep(b_.make(op, {made}));
    if (b_.function().type(made).dtype() == DType::Bool) keep(b_.make(Op::invert, {made}));
  }
  void add_cast(DType t) {
    const DType through = static_cast<DType>(random_() % base::kDTypeCount);
    const NodeId first = b_.cast(pick_like(t, random_() % 3 == 0), through);
    keep(first);
    keep(b_.cast(first, main_[random_() % 2]));
  }
  void add_select(DType t) {
    const NodeId condition = pick_like(DType::Bool, random_() % 3 == 0);
    const NodeId a = pick_like(t, random_() % 3 == 0);
    const NodeId b = random_() % 4 == 0 ? a : pick_like(t, random_() % 3 == 0);
    keep(b_.make(Op::select, {condition, a, b}));
  }
  void add_rearrangement(DType t) {
    const NodeId a = pick_like(t, true);
    const NodeId n = b_.length(a, 0);
    const NodeId m = b_.length(a, 1);
    const NodeId zero = b_.index(0);
    const NodeId one = b_.index(1);
    switch (random_() % 6) {
      case 0: return keep(b_.make(Op::transpose, {a}, {1, 0}));
      case 1: return keep(b_.make(Op::slice, {a, zero, n, one, zero, m, one}));
      case 2: return keep(b_.make(Op::broadcast, {pick_like(t, false), n, m}));
      case 3: return keep(b_.make(Op::reshape, {a, m, n}));
      case 4: return keep(b_.make(Op::squeeze, {b_.make(Op::expand, {a}, {1})}, {1}));
      default:
        return keep(
            b_.make(Op::concat,
                    {b_.make(Op::slice, {a, zero, one, one, zero, m, one}),
                     b_.make(Op::slice, {a, one, b_.make(Op::subtract, {n, one}), one, zero, m, one})},
                    {0}));
    }
  }
  void add_optional(DType t) {
    const NodeId some = b_.make(Op::some, {pick_like(t, false)});
    keep(b_.make(Op::value, {some}));
    keep(b_.make(Op::tag, {some}));
  }
  void add_lengths(DType t) {
    const NodeId a = pick_like(t, true);
    const NodeId picked = b_.make(Op::gather, {a, b_.make(Op::iota, {b_.length(a, 1)}, {0})}, {1});
    keep(b_.length(picked, static_cast<int>(random_() % 2)));
    keep(b_.length(b_.make(Op::reduce, {a}, {static_cast<int64_t>(Op::maximum), 0}), 0));
    keep(b_.length(b_.make(Op::argsort, {a}, {1, 1}), 1));
  }
  void finish() {
    b_.terminate(Op::return_, results_);
    const FunctionId id = module_.declare("f", parameters_, types_);
    module_.define(id, b_.finish(types_));
  }

  std::mt19937_64 random_;
  Module module_;
  Builder b_;
  DType main_[2];
  std::map<uint32_t, std::vector<NodeId>> pool_;
  std::vector<NodeId> results_;
  std::vector<Type> types_;
  std::vector<Type> parameters_;
};

constexpr int64_t kSide = 3;

Scalar random_scalar(DType t, std::mt19937_64& random) {
  constexpr double kOdd[] = {0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 127.0, 1e300, INFINITY, -INFINITY, NAN, 3.25};
  const double x = kOdd[random() % std::size(kOdd)];
  if (base::is_int(t))
    return evaluate_cast(DType::UInt64, t, Scalar::of<uint64_t>(random() >> random() % 64));
  Scalar real = evaluate_cast(DType::Float64, t, Scalar::of(x));
  if (!base::is_complex(t)) return real;
  const DType part = base::component_of(t);
  const Scalar parts[] = {evaluate_cast(DType::Float64, part, Scalar::of(x)), random_scalar(part, random)};
  return evaluate(Op::make_complex, part, parts);
}

std::vector<Value> random_arguments(std::mt19937_64& random) {
  std::vector<Value> arguments;
  for (int i = 0; i < base::kDTypeCount; ++i) {
    const DType t = static_cast<DType>(i);
    for (int k = 0; k < 2; ++k) arguments.push_back(random_scalar(t, random));
    for (int k = 0; k < 2; ++k) {
      ArrayValue array{t, {kSide, kSide}, std::vector<std::byte>(kSide * kSide * base::size_of(t))};
      for (size_t at = 0; at < array.data.size(); at += base::size_of(t))
        random_scalar(t, random).store(t, array.data.data() + at);
      arguments.push_back(std::make_shared<const ArrayValue>(std::move(array)));
    }
  }
  return arguments;
}

/// The bits of a value, one NaN like the other.
std::vector<Scalar> canonical(Type type, const Value& value) {
  std::vector<Scalar> all;
  if (const auto* scalar = std::get_if<Scalar>(&value)) {
    all.push_back(*scalar);
  } else {
    const ArrayValue& array = *std::get<std::shared_ptr<const ArrayValue>>(value);
    for (size_t at = 0; at < array.data.size(); at += base::size_of(array.dtype))
      all.push_back(Scalar::load(array.dtype, array.data.data() + at));
  }
  const DType part = base::component_of(type.dtype());
  for (Scalar& s : all) {
    if (!base::is_float(part)) continue;
    for (size_t at = 0; at < base::size_of(type.dtype()); at += base::size_of(part)) {
      std::byte* bytes = reinterpret_cast<std::byte*>(s.bits.data()) + at;
      const Scalar component = Scalar::load(part, bytes);
      if (evaluate(Op::isnan, part, {&component, 1}).bits[0] != 0)
        evaluate_cast(DType::Float64, part, Scalar::of(double{NAN})).store(part, bytes);
    }
  }
  return all;
}

TEST(Fold, KeepsEveryBit) {
  size_t folded_nodes = 0;
  size_t plain_nodes = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const RandomExpression plain(seed, false);
    const RandomExpression folded(seed, true);
    ASSERT_TRUE(std::ranges::equal(plain.types(), folded.types()));
    plain_nodes += plain.node_count();
    folded_nodes += folded.node_count();
    std::mt19937_64 random(seed);
    for (int k = 0; k < 3; ++k) {
      const std::vector<Value> arguments = random_arguments(random);
      const Outcome a = plain.run(arguments);
      const Outcome b = folded.run(arguments);
      ASSERT_EQ(a.results.size(), b.results.size());
      for (size_t i = 0; i < a.results.size(); ++i)
        ASSERT_EQ(canonical(plain.types()[i], a.results[i]), canonical(plain.types()[i], b.results[i]))
            << "seed " << seed << ", result " << i << "\n"
            << plain.text() << folded.text();
    }
  }
  EXPECT_LT(folded_nodes, plain_nodes * 9 / 10);
}

/// Loops, branches, exits, loads and stores: one run of a random function, results and memory as bits.
std::vector<uint64_t> run_random(uint64_t seed, bool folding) {
  Module module;
  const FunctionId id = test::RandomFunction(module, seed, {.folding = folding}).build();
  EXPECT_TRUE(verify(*module.function(id), Stage::Array).empty());
  std::vector<double> v{0.5, -0.0, 3, -2};
  std::vector<double> w{1, 2.5, -7, 0, 11};
  const Value arguments[] = {number(1.5),  number(-0.0), number<int64_t>(3), number<int64_t>(-5),
                             number(true), view_of(v),   view_of(w)};
  const Outcome outcome = interpret(module, id, arguments);
  std::vector<uint64_t> bits{outcome.raised};
  if (outcome.raised) bits.push_back(static_cast<uint64_t>(outcome.exception.kind));
  const auto add = [&](double x) { bits.push_back(std::isnan(x) ? 1 : std::bit_cast<uint64_t>(x)); };
  if (!outcome.raised) {
    add(as_number<double>(outcome.results[0]));
    bits.push_back(std::get<Scalar>(outcome.results[1]).bits[0]);
    bits.push_back(std::get<Scalar>(outcome.results[2]).bits[0]);
  }
  for (double x : v) add(x);
  for (double x : w) add(x);
  return bits;
}

TEST(Fold, KeepsEveryBitOfProgramsWithControlFlow) {
  for (uint64_t seed = 0; seed < 2000; ++seed)
    ASSERT_EQ(run_random(seed, false), run_random(seed, true)) << "seed " << seed;
}

/// Where functions are NaN or infinite is found from their arguments: as if they had been computed.
TEST(Fold, KnowsWhereFunctionsAreNanOrInfinite) {
  std::vector<double> numbers = {0.0, -0.0, 0.5,  -0.5,  1,      -1,      2,      -2,       3.25,      11, 89,
                                 128, 1e5,  -1e5, 1e300, 5e-324, -5e-324, 1e-310, INFINITY, -INFINITY, NAN};
  for (double bound : {0x1.62e42fefa39efp+9, 0x1.fffffffffffffp+9, 0x1.633ce8fb9f87dp+9, 1.0, 0x1p1023})
    for (double sign : {1.0, -1.0})
      for (double towards : {double{INFINITY}, 0.0})
        for (double x = bound * sign, n = 0; n < 40; ++n, x = std::nextafter(x, towards * sign))
          numbers.push_back(x);
  size_t not_computed = 0;
  for (int i = 0; i < kOpCount; ++i)
    for (DType t : {DType::Float16, DType::Float32, DType::Float64})
      for (Op predicate : {Op::isnan, Op::isinf}) {
        const Op function = static_cast<Op>(i);
        if (!info(function).elementwise || info(function).operands != 1 || !accepts(function, t)) continue;
        Module module;
        Builder b(module, "f");
        const Type type = Type::scalar(t);
        const NodeId value = b.make(function, {b.add_parameter(type, {.name = "x"})});
        if (!base::is_float(b.function().type(value).dtype())) continue;
        const NodeId is = b.make(predicate, {value});
        if (b.function().is_constant(is) || b.function().operand(is, 0) != value) ++not_computed;
        b.terminate(Op::return_, {&is, 1});
        const FunctionId id = module.declare("f", {type}, {kBool});
        module.define(id, b.finish({{kBool}}));
        for (double x : numbers) {
          const Scalar argument = evaluate_cast(DType::Float64, t, Scalar::of(x));
          const Scalar computed = evaluate(function, t, {&argument, 1});
          const Value arguments[] = {argument};
          ASSERT_EQ(std::get<Scalar>(interpret(module, id, arguments).results[0]),
                    evaluate(predicate, t, {&computed, 1}))
              << info(predicate).name << " of " << info(function).name << " of " << x;
        }
      }
  EXPECT_GT(not_computed, 100u);
}

class FoldTo : public ::testing::Test {
 protected:
  FoldTo() : b(module, "f") {
    x = b.add_parameter(kFloat64, {.name = "x"});
    n = b.add_parameter(kInt64, {.name = "n"});
    a = b.add_parameter(Type::array(DType::Float64, 2), {.name = "a"});
    v = b.add_parameter(Type::view(DType::Float64, 2), {.name = "v"});
  }
  bool is_true(NodeId node) const {
    return b.function().is_constant(node) && b.function().constant(node).bits[0] == 1;
  }
  Module module;
  Builder b;
  NodeId x, n, a, v;
};

TEST_F(FoldTo, IdentitiesOfFloatsOnlyWhereTheyAreExact) {
  const NodeId plus_zero = b.constant(0.0);
  const NodeId minus_zero = b.constant(-0.0);
  EXPECT_EQ(b.make(Op::add, {x, minus_zero}), x);
  EXPECT_NE(b.make(Op::add, {x, plus_zero}), x);
  EXPECT_EQ(b.make(Op::subtract, {x, plus_zero}), x);
  EXPECT_NE(b.make(Op::subtract, {x, minus_zero}), x);
  EXPECT_EQ(b.make(Op::multiply, {b.constant(1.0), x}), x);
  EXPECT_FALSE(b.function().is_constant(b.make(Op::multiply, {x, plus_zero})));
  EXPECT_FALSE(b.function().is_constant(b.make(Op::subtract, {x, x})));
  EXPECT_FALSE(b.function().is_constant(b.make(Op::equal, {x, x})));
  EXPECT_TRUE(is_true(b.make(Op::equal, {n, n})));
  EXPECT_EQ(b.make(Op::power, {x, b.constant(2.0)}), b.make(Op::square, {x}));
  EXPECT_EQ(b.make(Op::power, {x, b.constant(3.0)}), b.make(Op::cube, {x}));
  EXPECT_EQ(b.make(Op::power, {x, b.constant(4.0)}), b.make(Op::fourth_power, {x}));
  EXPECT_EQ(b.make(Op::power, {n, b.index(3)}), b.make(Op::multiply, {b.make(Op::square, {n}), n}));
}

TEST_F(FoldTo, TheSameNodeForCommutedOperands) {
  const NodeId seven = b.index(7);
  EXPECT_EQ(b.make(Op::add, {seven, n}), b.make(Op::add, {n, seven}));
  EXPECT_NE(b.make(Op::minimum, {seven, n}), b.make(Op::minimum, {n, seven}));
}

TEST_F(FoldTo, LengthsOfOperands) {
  const NodeId rows = b.length(a, 0);
  const NodeId columns = b.length(a, 1);
  const NodeId sum = b.make(Op::add, {x, b.make(Op::sin, {a})});
  EXPECT_EQ(b.length(sum, 1), columns);
  EXPECT_EQ(b.length(b.make(Op::transpose, {sum}, {1, 0}), 0), columns);
  EXPECT_EQ(b.length(b.make(Op::broadcast, {a, n, rows, columns}), 0), n);
  EXPECT_EQ(b.length(b.make(Op::reduce, {sum}, {static_cast<int64_t>(Op::add), 0}), 0), columns);
  EXPECT_TRUE(is_true(b.length(b.make(Op::expand, {a}, {1}), 1)));
  EXPECT_EQ(b.length(b.make(Op::expand, {a}, {1}), 2), columns);
  EXPECT_EQ(b.length(b.make(Op::materialize, {a}), 0), rows);
  EXPECT_EQ(b.length(b.make(Op::read, {v}), 0), b.length(v, 0));
  EXPECT_EQ(b.make(Op::broadcast, {sum, rows, columns}), sum);
  EXPECT_EQ(b.make(Op::transpose, {b.make(Op::transpose, {a}, {1, 0})}, {1, 0}), a);
}

TEST_F(FoldTo, PartsOfViews) {
  const NodeId buffer = b.make(Op::buffer, {v});
  const NodeId view = b.make(Op::view, {buffer, n, n, n, n, n}, {}, Type::view(DType::Float32, 2));
  EXPECT_EQ(b.make(Op::buffer, {b.make(Op::transpose, {view}, {1, 0})}), buffer);
  EXPECT_EQ(b.make(Op::offset, {view}), n);
  EXPECT_EQ(b.make(Op::stride, {view}, {1}), n);
  EXPECT_EQ(b.length(view, 0), n);
}

TEST_F(FoldTo, NothingForACheckOfTrue) {
  const size_t before = b.function().node_count();
  b.check(b.make(Op::equal, {n, n}), base::ExceptionKind::ValueError, "never");
  EXPECT_EQ(b.function().node_count(), before + 1);
}

TEST_F(FoldTo, CastsThroughWiderTypes) {
  const auto through = [&](NodeId from, DType middle, DType to) { return b.cast(b.cast(from, middle), to); };
  EXPECT_EQ(through(x, DType::Complex128, DType::Float64), x);
  EXPECT_NE(through(n, DType::Float64, DType::Int64), n);
  EXPECT_NE(through(x, DType::Float32, DType::Float64), x);
  const NodeId small = b.cast(n, DType::Int16);
  EXPECT_EQ(through(small, DType::Int32, DType::Int8), b.cast(small, DType::Int8));
  EXPECT_EQ(through(small, DType::Float32, DType::Int16), small);
}

}  // namespace
}  // namespace ingot::ir
