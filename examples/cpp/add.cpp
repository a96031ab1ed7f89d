// Compiles x + y, given as loop-stage IR, calls it, and saves it to the file named on the command line.
#include <array>
#include <iostream>

#include "ingot/ingot.h"

namespace {

constexpr const char* kText = R"(func @add(%x: view<f64, 1>, %y: view<f64, 1>) -> (view<f64, 1>) {
  %size = constant 8 : i64
  %zero = constant 0 : i64
  %n = length %x {axis=0} : i64
  %m = length %y {axis=0} : i64
  %fits = equal %n, %m : bool
  check %fits, %n, %m {kind=ValueError, message="operands could not be broadcast together: {} and {}"}
  %bytes = multiply %n, %size : i64
  %buffer = alloc %bytes {life=call} : buffer
  %out = view %buffer, %zero, %n, %size : view<f64, 1>
  for %n {schedule=serial, width=0} {
  ^(%i: i64):
    %a = load %x, %i : f64
    %b = load %y, %i : f64
    %c = add %a, %b : f64
    store %out, %i, %c
    yield
  }
  return %out
})";

bool is_right(const ingot::Function& add) {
  std::array<double, 4> x = {1, 2, 3, 4};
  std::array<double, 4> y = {0.5, 0.25, 0.125, 0.0625};
  const auto results = add({ingot::View::of(x.data(), {4}), ingot::View::of(y.data(), {4})});
  const auto& sum = std::get<ingot::Array>(results[0]);
  const auto* values = static_cast<const double*>(sum.view.data);
  bool right = true;
  for (size_t i = 0; i < x.size(); ++i) {
    std::cout << values[i] << ' ';
    right = right && values[i] == x[i] + y[i];
  }
  std::cout << '\n';
  return right;
}

bool refuses_other_lengths(const ingot::Function& add) {
  std::array<double, 4> x = {};
  try {
    add({ingot::View::of(x.data(), {4}), ingot::View::of(x.data(), {3})});
  } catch (const ingot::Raised& raised) {
    std::cout << raised.kind << ": " << raised.what() << '\n';
    return raised.kind == "ValueError";
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  ingot::Compiler compiler;
  const ingot::Function add = compiler.compile(kText, "add");
  if (argc > 1) add.save(argv[1]);
  return is_right(add) && refuses_other_lengths(add) ? 0 : 1;
}
