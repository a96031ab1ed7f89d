/* Calls the functions of signals.py. Prints numbers by their bits, so that other programs can compare them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "signals.h"

static void print(const char *name, double number) {
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  printf("%s %016" PRIx64 "\n", name, bits);
}

int main(void) {
  double samples[6] = {1.0, 2.5, -0.5, 4.0, 3.25, 0.125};
  const signals_float64_1d x = signals_float64_1d_of(samples, 6);

  double moment;
  if (signals_moment(&x, 3, &moment) != SIGNALS_OK) {
    fprintf(stderr, "%s\n", signals_last_error());
    return 1;
  }
  print("moment", moment);

  /* Every other sample, from the last one on: strides are bytes. */
  signals_float64_1d backwards = x;
  backwards.data = samples + 5;
  backwards.lengths[0] = 3;
  backwards.strides[0] = -2 * (int64_t)sizeof(double);
  if (signals_moment(&backwards, 2, &moment) != SIGNALS_OK) return 1;
  print("backwards", moment);

  /* A new array, whose memory is ours to give back. */
  signals_float64_1d smooth;
  if (signals_smoothed(&x, &smooth) != SIGNALS_OK) return 1;
  for (int64_t i = 0; i < smooth.lengths[0]; ++i) print("smoothed", smooth.data[i]);
  signals_free(smooth.owner);

  /* An argument that is written to, and two results. */
  double rows[2][3] = {{3.0, 4.0, 12.0}, {0.1, 0.2, 0.2}};
  const signals_float64_2d table = signals_float64_2d_of(&rows[0][0], 2, 3);
  int64_t shorter;
  double longest;
  if (signals_normalize(&table, 1.0, &shorter, &longest) != SIGNALS_OK) return 1;
  printf("shorter %" PRId64 "\n", shorter);
  print("longest", longest);
  for (int i = 0; i < 3; ++i) print("row", rows[0][i]);

  const signals_complex128 factor = {0.6, 0.8};
  signals_complex128_1d turned;
  if (signals_rotated(&x, factor, &turned) != SIGNALS_OK) return 1;
  print("turned", turned.data[5].real);
  print("turned", turned.data[5].imag);
  signals_free(turned.owner);

  /* What Python raises is a status. */
  const signals_float64_1d empty = signals_float64_1d_of(samples, 0);
  const int32_t status = signals_moment(&empty, 2, &moment);
  printf("status %d %s: %s\n", (int)status, signals_last_error_kind(), signals_last_error_message());
  return status == SIGNALS_VALUE_ERROR ? 0 : 1;
}
