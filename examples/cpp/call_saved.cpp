// Opens the object that the example `add` saved and calls it. Linked with the runtime alone: no compiler.
#include <array>
#include <iostream>

#include "ingot/call.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: call_saved FILE\n";
    return 2;
  }
  const ingot::Function add = ingot::Function::open(argv[1], "add");
  std::array<double, 3> x = {1, 2, 3};
  std::array<double, 3> y = {10, 20, 30};
  const auto results = add({ingot::View::of(x.data(), {3}), ingot::View::of(y.data(), {3})});
  const auto* values = static_cast<const double*>(std::get<ingot::Array>(results[0]).view.data);
  for (size_t i = 0; i < x.size(); ++i) std::cout << values[i] << ' ';
  std::cout << '\n';
  return values[0] == 11 && values[1] == 22 && values[2] == 33 ? 0 : 1;
}
