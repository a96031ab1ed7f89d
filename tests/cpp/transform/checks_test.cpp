#include "transform/loops/checks.h"

#include "../ir/random_function.h"
#include "transform/compare.h"

namespace ingot::transform {
namespace {

using base::DType;

/// Loops over `start + k * step` in both axes, with the checks that Python's indices have.
constexpr const char* kLoops = R"(
func @f(%x: view<f64, 2> alias 1, %y: view<f64, 1> alias 2, %n: i64, %start: i64, %step: i64) -> (f64) {
  %0 = constant 0 : i64
  %zero = constant 0.0 : f64
  %lx = length %x {axis=0} : i64
  %mx = length %x {axis=1} : i64
  %ly = length %y {axis=0} : i64
  %r = for %n, %zero {schedule=serial, width=0} : f64 {
  ^(%k: i64, %t: f64):
    %wide = multiply_overflows %k, %step : bool
    %fine = invert %wide : bool
    check %fine {kind=OverflowError, message="wide"}
    %ks = multiply %k, %step : i64
    %over = add_overflows %start, %ks : bool
    %good = invert %over : bool
    check %good {kind=OverflowError, message="over"}
    %i = add %start, %ks : i64
    %low = negative %ly : i64
    %a = less %i, %ly : bool
    %b = greater_equal %i, %low : bool
    %c = bitwise_and %a, %b : bool
    check %c, %i, %ly {kind=IndexError, message="index {} of {}"}
    %d = less %i, %0 : bool
    %e = add %i, %ly : i64
    %j = select %d, %e, %i : i64
    %v = load %y, %j : f64
    for %k {schedule=serial, width=0} {
    ^(%q: i64):
      %in = less %q, %mx : bool
      check %in, %q, %mx {kind=IndexError, message="column {} of {}"}
      %on = less %k, %lx : bool
      check %on, %k, %lx {kind=IndexError, message="row {} of {}"}
      %w = load %x, %k, %q : f64
      %z = add %w, %v : f64
      store %x, %k, %q, %z
      yield
    }
    %s = add %t, %v : f64
    yield %s
  }
  return %r
}
)";

TEST(Checks, LoopsRaiseWhatTheyRaised) {
  const Comparison comparison(kLoops, {"simplify", "checks", "dce", "schedule"});
  EXPECT_NE(comparison.text().find("schedule=vector"), std::string::npos);
  constexpr int64_t kNumbers[] = {-9, -5, -1, 0, 1, 2, 4, 5, 9};
  constexpr int64_t kSteps[] = {-2, -1, 0, 1, 3, INT64_MAX, INT64_MIN};
  for (int64_t n : kNumbers)
    for (int64_t start : {int64_t{-7}, int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{3}, INT64_MAX, INT64_MIN})
      for (int64_t step : kSteps)
        for (int64_t length : {0, 1, 5, 9})
          comparison.check({make_view(DType::Float64, {5, length}, Layout::Contiguous, 1),
                            make_view(DType::Float64, {length}, Layout::Reversed, 2), base::Scalar::of(n),
                            base::Scalar::of(start), base::Scalar::of(step)},
                           std::to_string(n) + ", " + std::to_string(start) + ", " + std::to_string(step) +
                               ", " + std::to_string(length));
}

TEST(Checks, AllPassesKeepRandomFunctions) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const auto made = [&] {
      auto module = std::make_unique<ir::Module>();
      ir::test::RandomFunction(*module, seed, {.nodes = 60}).build();
      return module;
    };
    const Comparison comparison(made(), made(),
                                {"simplify", "fuse", "to_loops", "simplify", "checks", "dce", "schedule"});
    std::mt19937_64 random(seed);
    for (int iteration = 0; iteration < 4; ++iteration) {
      const auto length = [&] { return static_cast<int64_t>(random() % 7); };
      const std::vector<ir::Value> arguments{base::Scalar::of(0.5),
                                             base::Scalar::of(-3.0),
                                             base::Scalar::of(static_cast<int64_t>(random() % 9) - 2),
                                             base::Scalar::of(static_cast<int64_t>(random())),
                                             base::Scalar::of(random() % 2 == 0),
                                             make_view(DType::Float64, {length()}, Layout::Contiguous, seed),
                                             make_view(DType::Float64, {length()}, Layout::Spread, seed + 1)};
      comparison.check(arguments, "seed " + std::to_string(seed));
      if (HasFatalFailure()) return;
    }
  }
}

/// Arrays with several users, broadcasts of computed values, and writes between.
TEST(Fuse, ArraysOfEveryLength) {
  const std::string text = R"(
func @f(%x: view<f64, 2>, %y: view<f64, 2>, %o: view<f64, 2>) -> (f64, view<f64, 2>) {
  %0 = constant 0 : i64
  %1 = constant 1 : i64
  %n = length %o {axis=0} : i64
  %m = length %o {axis=1} : i64
  %a = read %x : array<f64, 2>
  %b = read %y : array<f64, 2>
  %c = multiply %a, %a : array<f64, 2>
  %d = broadcast %c, %n, %m : array<f64, 2>
  %p = materialize %d : view<f64, 2>
  %e = negative %b : array<f64, 2>
  %g = broadcast %e, %n, %m : array<f64, 2>
  %q = read %p : array<f64, 2>
  %h = add %q, %g : array<f64, 2>
  %i = multiply %h, %q : array<f64, 2>
  %j = materialize %i : view<f64, 2>
  write %o, %h
  %k = read %j : array<f64, 2>
  %l = read %p : array<f64, 2>
  %r = add %k, %l : array<f64, 2>
  %s = reduce %r {combiner=add, axes=[0, 1]} : f64
  %t = materialize %r : view<f64, 2>
  write %o, %k
  return %s, %t
}
)";
  const Comparison comparison(text,
                              {"simplify", "fuse", "to_loops", "simplify", "checks", "dce", "schedule"});
  for (int64_t n : {0, 1, 3, 40})
    for (int64_t m : {0, 1, 5, 33})
      for (const auto& [rows, columns] :
           {std::pair(n, m), std::pair(int64_t{1}, m), std::pair(n, int64_t{1})})
        comparison.check({make_view(DType::Float64, {rows, columns}, Layout::Transposed, 3),
                          make_view(DType::Float64, {n, m}, Layout::Contiguous, 4),
                          make_view(DType::Float64, {n, m}, Layout::Spread, 5)},
                         std::to_string(n) + " x " + std::to_string(m));
}

}  // namespace
}  // namespace ingot::transform
