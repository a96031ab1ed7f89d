// Calls the functions of signals.py. Prints numbers by their bits, so that other programs can compare them.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "signals.h"

namespace {

/// Throws what a function has raised.
void check(int32_t status) {
  if (status != SIGNALS_OK) throw std::runtime_error(signals_last_error());
}

/// The memory of an array that is a result.
using Owner = std::unique_ptr<void, void (*)(void*)>;

void print(const char* name, double number) {
  uint64_t bits = 0;
  std::memcpy(&bits, &number, sizeof bits);
  std::printf("%s %016llx\n", name, static_cast<unsigned long long>(bits));
}

void run() {
  std::array<double, 6> samples = {1.0, 2.5, -0.5, 4.0, 3.25, 0.125};
  const signals_float64_1d x = signals_float64_1d_of(samples.data(), 6);
  double moment = 0;
  check(signals_moment(&x, 3, &moment));
  print("moment", moment);

  signals_float64_1d backwards = x;
  backwards.data = &samples[5];
  backwards.lengths[0] = 3;
  backwards.strides[0] = -2 * static_cast<int64_t>(sizeof(double));
  check(signals_moment(&backwards, 2, &moment));
  print("backwards", moment);

  signals_float64_1d smooth{};
  check(signals_smoothed(&x, &smooth));
  const Owner of_smooth(smooth.owner, signals_free);
  for (int64_t i = 0; i < smooth.lengths[0]; ++i) print("smoothed", smooth.data[i]);

  std::array<double, 6> rows = {3.0, 4.0, 12.0, 0.1, 0.2, 0.2};
  const signals_float64_2d table = signals_float64_2d_of(rows.data(), 2, 3);
  int64_t shorter = 0;
  double longest = 0;
  check(signals_normalize(&table, 1.0, &shorter, &longest));
  std::printf("shorter %lld\n", static_cast<long long>(shorter));
  print("longest", longest);
  for (size_t i = 0; i < 3; ++i) print("row", rows[i]);

  signals_complex128_1d turned{};
  check(signals_rotated(&x, {0.6, 0.8}, &turned));
  const Owner of_turned(turned.owner, signals_free);
  print("turned", turned.data[5].real);
  print("turned", turned.data[5].imag);

  const signals_float64_1d empty = signals_float64_1d_of(samples.data(), 0);
  const int32_t status = signals_moment(&empty, 2, &moment);
  std::printf("status %d %s: %s\n", status, signals_last_error_kind(), signals_last_error_message());
}

}  // namespace

int main() {
  try {
    run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
