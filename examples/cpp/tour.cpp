// Programs of the tour without Python: compiles the IR files in a folder, which Python's `f.record` has
// written as `1-frontend.ir`, runs them, and checks what they give.
#include <cmath>
#include <fstream>
#include <iostream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "ingot/ingot.h"

namespace {

using Numbers = std::vector<double>;

ingot::View view(Numbers& numbers) {
  return ingot::View::of(numbers.data(), {static_cast<int64_t>(numbers.size())});
}
ingot::View matrix(Numbers& numbers, int64_t rows, int64_t columns) {
  return ingot::View::of(numbers.data(), {rows, columns});
}

/// 0, 1, 2, ... less an offset.
Numbers counted(size_t count, double offset) {
  Numbers numbers(count);
  std::iota(numbers.begin(), numbers.end(), -offset);
  return numbers;
}

class Tour {
 public:
  explicit Tour(std::string folder) : folder_(std::move(folder)) {}

  ingot::Function program(const std::string& name) {
    std::ifstream file(folder_ + "/" + name + ".ir");
    if (!file) throw std::runtime_error("cannot read " + folder_ + "/" + name + ".ir");
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    return compiler_.compile(text, name);
  }
  void check(const char* name, bool holds) {
    std::cout << name << (holds ? ": right\n" : ": WRONG\n");
    is_right_ = is_right_ && holds;
  }
  bool is_right() const { return is_right_; }

 private:
  std::string folder_;
  ingot::Compiler compiler_;
  bool is_right_ = true;
};

/// Roots of a x^2 + b x + c: whole-array arithmetic in one loop, into a new array.
void quadratic_formula(Tour& tour) {
  Numbers a = counted(1000, -1);
  Numbers b = counted(1000, -5000);
  Numbers c = counted(1000, 3);
  const ingot::Function formula = tour.program("quadratic_formula");
  const auto results = formula({view(a), view(b), view(c)});
  const auto* roots = static_cast<const double*>(std::get<ingot::Array>(results[0]).view.data);
  bool holds = true;
  for (size_t i = 0; i < a.size(); ++i)
    holds = holds && roots[i] == (-b[i] + std::sqrt(b[i] * b[i] - 4 * a[i] * c[i])) / (2 * a[i]);
  tour.check("quadratic_formula", holds);
  c.pop_back();
  try {
    formula({view(a), view(b), view(c)});
    tour.check("lengths that do not fit", false);
  } catch (const ingot::Raised& raised) {
    tour.check("lengths that do not fit", raised.kind == "ValueError");
  }
}

/// A mask, and a sum of what it leaves; of integers, so that its order makes no difference.
void sum_greater_than_three(Tour& tour) {
  Numbers numbers = counted(10'000, 50);
  double sum = 0;
  for (const double number : numbers) sum += number > 3 ? number : 0;
  const auto results = tour.program("sum_greater_than_three")({view(numbers)});
  tour.check("sum_greater_than_three", std::get<ingot::Scalar>(results[0]).as<double>() == sum);
}

/// Loops over two axes, of an array without gaps.
void sum2d(Tour& tour) {
  Numbers numbers = counted(12 * 34, 7);
  const double sum = std::accumulate(numbers.begin(), numbers.end(), 0.0);
  const auto results = tour.program("sum2d")({matrix(numbers, 12, 34)});
  tour.check("sum2d", std::get<ingot::Scalar>(results[0]).as<double>() == sum);
}

/// Three loops inside each other, which write into an argument.
void square_matrix_mult(Tour& tour) {
  constexpr size_t kSize = 65;
  Numbers a = counted(kSize * kSize, 40);
  Numbers b = counted(kSize * kSize, -2);
  Numbers c(kSize * kSize, -1.0);
  tour.program("square_matrix_mult")(
      {matrix(a, kSize, kSize), matrix(b, kSize, kSize), matrix(c, kSize, kSize)});
  bool holds = true;
  for (size_t y = 0; y < kSize; ++y) {
    for (size_t x = 0; x < kSize; ++x) {
      double sum = 0;
      for (size_t i = 0; i < kSize; ++i) sum += a[y * kSize + i] * b[i * kSize + x];
      holds = holds && c[y * kSize + x] == sum;
    }
  }
  tour.check("square_matrix_mult", holds);
}

/// A loop whose iterations threads share.
void triad_prange(Tour& tour) {
  Numbers left(300'000);
  Numbers first = counted(left.size(), 0.5);
  Numbers second = counted(left.size(), 0.25);
  tour.program("triad_prange")({view(left), view(first), view(second), ingot::Scalar::of(3.0)});
  bool holds = true;
  for (size_t i = 0; i < left.size(); ++i) holds = holds && left[i] == first[i] + 3.0 * second[i];
  tour.check("triad_prange", holds);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: tour FOLDER\n";
    return 2;
  }
  Tour tour(argv[1]);
  quadratic_formula(tour);
  sum_greater_than_three(tour);
  sum2d(tour);
  square_matrix_mult(tour);
  triad_prange(tour);
  return tour.is_right() ? 0 : 1;
}
