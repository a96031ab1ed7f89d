#include "base/random.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/fills.h"

// NumPy's functions are declared here by their interface (numpy/random/distributions.h): that header needs
// Python's.

namespace ingot::base {

namespace {

/// What NumPy's RandomState adds: the second number of a pair of normal ones.
struct LegacyStream {
  Stream* stream;
  int has_normal;
  double normal;
};

/// NumPy's `binomial_t`: the constants computed for parameters, if `has_binomial`.
struct Binomial {
  int has_binomial = 0;
  double words[16] = {};
};

}  // namespace

extern "C" {
double random_standard_uniform(Stream*);
float random_standard_uniform_f(Stream*);
void random_standard_exponential_inv_fill(Stream*, intptr_t, double*);
void random_standard_exponential_inv_fill_f(Stream*, intptr_t, float*);
double random_uniform(Stream*, double, double);
double random_standard_gamma(Stream*, double);
float random_standard_gamma_f(Stream*, float);
double random_gamma(Stream*, double, double);
double random_beta(Stream*, double, double);
double random_chisquare(Stream*, double);
double random_f(Stream*, double, double);
double random_standard_cauchy(Stream*);
double random_pareto(Stream*, double);
double random_weibull(Stream*, double);
double random_power(Stream*, double);
double random_laplace(Stream*, double, double);
double random_gumbel(Stream*, double, double);
double random_logistic(Stream*, double, double);
double random_lognormal(Stream*, double, double);
double random_rayleigh(Stream*, double);
double random_standard_t(Stream*, double);
double random_noncentral_chisquare(Stream*, double, double);
double random_noncentral_f(Stream*, double, double, double);
double random_wald(Stream*, double, double);
double random_vonmises(Stream*, double, double);
double random_triangular(Stream*, double, double, double);
int64_t random_poisson(Stream*, double);
int64_t random_negative_binomial(Stream*, double, double);
int64_t random_binomial(Stream*, double, int64_t, Binomial*);
int64_t random_logseries(Stream*, double);
int64_t random_geometric(Stream*, double);
int64_t random_zipf(Stream*, double);
int64_t random_hypergeometric(Stream*, int64_t, int64_t, int64_t);
uint64_t random_interval(Stream*, uint64_t);
uint64_t random_bounded_uint64(Stream*, uint64_t, uint64_t, uint64_t, bool);
uint32_t random_buffered_bounded_uint32(Stream*, uint32_t, uint32_t, uint32_t, bool, int*, uint32_t*);
uint16_t random_buffered_bounded_uint16(Stream*, uint16_t, uint16_t, uint16_t, bool, int*, uint32_t*);
uint8_t random_buffered_bounded_uint8(Stream*, uint8_t, uint8_t, uint8_t, bool, int*, uint32_t*);
unsigned char random_buffered_bounded_bool(Stream*, unsigned char, unsigned char, unsigned char, bool, int*,
                                           uint32_t*);
void random_bounded_uint64_fill(Stream*, uint64_t, uint64_t, intptr_t, bool, uint64_t*);
void random_bounded_uint32_fill(Stream*, uint32_t, uint32_t, intptr_t, bool, uint32_t*);
void random_bounded_uint16_fill(Stream*, uint16_t, uint16_t, intptr_t, bool, uint16_t*);
void random_bounded_uint8_fill(Stream*, uint8_t, uint8_t, intptr_t, bool, uint8_t*);
void random_bounded_bool_fill(Stream*, unsigned char, unsigned char, intptr_t, bool, unsigned char*);
void random_multinomial(Stream*, int64_t, int64_t*, double*, intptr_t, Binomial*);
}

namespace {

/// A whole array by one call.
template <auto fill, class T>
void filled(Stream* stream, T* data, int64_t count) noexcept {
  fill(stream, count, data);
}

double normal(Stream* stream, double loc, double scale) noexcept {
  return loc + scale * standard_normal(stream);
}

double exponential(Stream* stream, double scale) noexcept { return scale * standard_exponential(stream); }

/// The binomial distribution computes constants of its parameters, once for an array.
int64_t binomial(Stream* stream, double p, int64_t n) noexcept {
  Binomial constants;
  return random_binomial(stream, p, n, &constants);
}

void binomial_fill(Stream* stream, double p, int64_t n, int64_t* data, int64_t count) noexcept {
  Binomial constants;
  for (int64_t i = 0; i < count; ++i) data[i] = random_binomial(stream, p, n, &constants);
}

void multinomial(Stream* stream, int64_t n, double* p, int64_t kinds, int64_t* counts, int64_t) noexcept {
  Binomial constants;
  for (int64_t i = 0; i < kinds; ++i) counts[i] = 0;
  random_multinomial(stream, n, counts, p, kinds, &constants);
}

/// The smallest 2**k - 1 that is not below a number.
uint64_t mask_of(uint64_t range) { return range == 0 ? 0 : ~uint64_t{0} >> std::countl_zero(range); }

/// Integers from `low` to `low + range`, their bits in 64 bits; `is_masked` as the legacy streams draw them.
uint64_t bounded(Stream* stream, uint64_t low, uint64_t range, int64_t is_masked) noexcept {
  return random_bounded_uint64(stream, low, range, mask_of(range), is_masked != 0);
}

/// One of them of a smaller type: draws what an array of one draws.
template <auto fill, class T>
uint64_t bounded_one(Stream* stream, uint64_t low, uint64_t range, int64_t is_masked) noexcept {
  T drawn = 0;
  fill(stream, static_cast<T>(low), static_cast<T>(range), 1, is_masked != 0, &drawn);
  return drawn;
}

template <auto fill, class T>
void bounded_fill(Stream* stream, uint64_t low, uint64_t range, int64_t is_masked, T* data,
                  int64_t count) noexcept {
  using Bits = std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>;
  fill(stream, static_cast<Bits>(low), static_cast<Bits>(range), count, is_masked != 0,
       reinterpret_cast<Bits*>(data));
}

/// The same with bounds for each; the smaller integers share the words that are drawn.
template <auto draw, class T>
void bounded_each(Stream* stream, int64_t is_masked, uint64_t* lows, int64_t, uint64_t* ranges, int64_t,
                  T* data, int64_t count) noexcept {
  using Bits = std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>;
  int left = 0;
  uint32_t buffer = 0;
  for (int64_t i = 0; i < count; ++i) {
    const auto range = static_cast<Bits>(ranges[i]);
    const Bits drawn = draw(stream, static_cast<Bits>(lows[i]), range, static_cast<Bits>(mask_of(range)),
                            is_masked != 0, &left, &buffer);
    std::memcpy(data + i, &drawn, sizeof(drawn));
  }
}

double next(LegacyStream* stream) { return stream->stream->next_double(stream->stream->state); }

/// By the polar method, in pairs.
double legacy_standard_normal(LegacyStream* stream) noexcept {
  if (stream->has_normal != 0) {
    stream->has_normal = 0;
    return std::exchange(stream->normal, 0.0);
  }
  double x = 0;
  double y = 0;
  double square = 0;
  do {
    x = 2.0 * next(stream) - 1.0;
    y = 2.0 * next(stream) - 1.0;
    square = x * x + y * y;
  } while (square >= 1.0 || square == 0.0);
  const double factor = std::sqrt(-2.0 * std::log(square) / square);
  stream->normal = factor * x;
  stream->has_normal = 1;
  return factor * y;
}

double legacy_normal(LegacyStream* stream, double loc, double scale) noexcept {
  return loc + scale * legacy_standard_normal(stream);
}

/// The same numbers, of pairs that are drawn many at once: each takes two numbers at least.
void fill_legacy_normal(LegacyStream* stream, double* data, int64_t count) noexcept {
  struct Point {
    double x;
    double y;
    double square;
  };
  constexpr int64_t kBlock = 128;
  std::array<double, 2 * kBlock> drawn;
  std::array<Point, kBlock> points;
  if (count > 0 && stream->has_normal != 0) {
    *data++ = legacy_standard_normal(stream);
    --count;
  }
  while (count > 0) {
    const int64_t some = std::min((count + 1) / 2, kBlock);
    fill_uniform(stream->stream, drawn.data(), 2 * some);
    size_t kept = 0;
    for (size_t i = 0; i < static_cast<size_t>(some); ++i) {
      const double x = 2.0 * drawn[2 * i] - 1.0;
      const double y = 2.0 * drawn[2 * i + 1] - 1.0;
      const double square = x * x + y * y;
      points[kept] = {x, y, square};
      kept += static_cast<size_t>(square < 1.0) & static_cast<size_t>(square != 0.0);
    }
    for (size_t i = 0; i < kept; ++i) {
      const auto& [x, y, square] = points[i];
      const double factor = std::sqrt(-2.0 * std::log(square) / square);
      *data++ = factor * y;
      stream->has_normal = --count == 0 ? 1 : 0;
      stream->normal = count == 0 ? factor * x : 0.0;
      if (count == 0) return;
      *data++ = factor * x;
      --count;
    }
  }
}

double legacy_standard_exponential(LegacyStream* stream) noexcept { return -std::log(1.0 - next(stream)); }

void fill_legacy_exponential(LegacyStream* stream, double* data, int64_t count) noexcept {
  fill_uniform(stream->stream, data, count);
  for (int64_t i = 0; i < count; ++i) data[i] = -std::log(1.0 - data[i]);
}

double legacy_exponential(LegacyStream* stream, double scale) noexcept {
  return scale * legacy_standard_exponential(stream);
}

/// NumPy's pcg64_state: a pointer to state and increment, then half a word that was left over.
struct Pcg64 {
  void* pcg;
  int has_half;
  uint32_t half;
};

void point_to_itself(Stream* stream) noexcept {
  auto* const state = reinterpret_cast<Pcg64*>(stream + 1);
  state->pcg = reinterpret_cast<uint64_t*>(stream) + 8;
  stream->state = state;
}

/// Makes a stream of a PCG64 and its functions, with the 256 bits of its state after it in memory.
void settle_pcg64(Stream* stream) noexcept {
  *reinterpret_cast<Pcg64*>(stream + 1) = {.pcg = nullptr, .has_half = 0, .half = 0};
  point_to_itself(stream);
}

template <class T>
constexpr DType kDTypeOf = std::is_same_v<T, bool>       ? DType::Bool
                           : std::is_same_v<T, uint8_t>  ? DType::UInt8
                           : std::is_same_v<T, uint16_t> ? DType::UInt16
                           : std::is_same_v<T, uint32_t> ? DType::UInt32
                           : std::is_same_v<T, uint64_t> ? DType::UInt64
                           : std::is_same_v<T, int64_t>  ? DType::Int64
                           : std::is_same_v<T, float>    ? DType::Float32
                                                         : DType::Float64;

template <class T>
T from_word(uint64_t word) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<T>(word);  // NOLINT(performance-no-int-to-ptr)
  } else {
    T value;
    std::memcpy(&value, &word, sizeof(value));
    return value;
  }
}

/// The name, and the types that the function has.
template <auto fn, class R, class S, class... A>
DrawInfo described(R (*function)(S*, A...), std::string_view name) {
  DrawInfo info{.name = name,
                .is_legacy = std::is_same_v<S, LegacyStream>,
                .fills_in_pieces = false,
                .result = {},
                .parameter_types = {},
                .parameter_count = 0,
                .address = reinterpret_cast<void*>(function),
                .invoke = [](void* stream, const uint64_t* words) -> uint64_t {
                  return [&]<size_t... i>(std::index_sequence<i...>) -> uint64_t {
                    if constexpr (std::is_void_v<R>) {
                      fn(static_cast<S*>(stream), from_word<A>(words[i])...);
                      return 0;
                    } else {
                      const R result = fn(static_cast<S*>(stream), from_word<A>(words[i])...);
                      uint64_t bits = 0;
                      std::memcpy(&bits, &result, sizeof(result));
                      return bits;
                    }
                  }(std::index_sequence_for<A...>{});
                }};
  if constexpr (!std::is_void_v<R>) info.result = DrawType{kDTypeOf<R>};
  [[maybe_unused]] bool is_count = false;  // of the array before
  [[maybe_unused]] const auto add = [&]<class T>() {
    if (!is_count) {
      info.parameter_types[info.parameter_count++] = {kDTypeOf<std::remove_pointer_t<T>>,
                                                      std::is_pointer_v<T>};
    }
    is_count = std::is_pointer_v<T>;
  };
  (add.template operator()<A>(), ...);
  return info;
}

template <auto fn>
DrawInfo routine(std::string_view name) {
  return described<fn>(fn, name);
}

/// One that draws the elements of an array one by one. Small integers are not: they share words of the
/// stream.
template <auto fn>
DrawInfo fills(std::string_view name) {
  DrawInfo info = described<fn>(fn, name);
  info.fills_in_pieces = true;
  return info;
}

}  // namespace

std::span<const DrawInfo> draws() {
  static const DrawInfo all[] = {
      routine<&random_standard_uniform>("standard_uniform"),
      routine<&random_standard_uniform_f>("standard_uniform_f32"),
      fills<&fill_uniform>("fill_standard_uniform"),
      fills<&fill_uniform_f32>("fill_standard_uniform_f32"),
      routine<&standard_normal>("standard_normal"),
      routine<&standard_normal_f32>("standard_normal_f32"),
      fills<&fill_normal>("fill_standard_normal"),
      fills<&fill_normal_f32>("fill_standard_normal_f32"),
      routine<&standard_exponential>("standard_exponential"),
      routine<&standard_exponential_f32>("standard_exponential_f32"),
      fills<&fill_exponential>("fill_standard_exponential"),
      fills<&fill_exponential_f32>("fill_standard_exponential_f32"),
      fills<&filled<&random_standard_exponential_inv_fill, double>>("fill_inverse_exponential"),
      fills<&filled<&random_standard_exponential_inv_fill_f, float>>("fill_inverse_exponential_f32"),
      routine<&normal>("normal"),
      routine<&random_uniform>("uniform"),
      routine<&exponential>("exponential"),
      routine<&random_standard_gamma>("standard_gamma"),
      routine<&random_standard_gamma_f>("standard_gamma_f32"),
      routine<&random_gamma>("gamma"),
      routine<&random_beta>("beta"),
      routine<&random_chisquare>("chisquare"),
      routine<&random_f>("f"),
      routine<&random_standard_cauchy>("standard_cauchy"),
      routine<&random_pareto>("pareto"),
      routine<&random_weibull>("weibull"),
      routine<&random_power>("power"),
      routine<&random_laplace>("laplace"),
      routine<&random_gumbel>("gumbel"),
      routine<&random_logistic>("logistic"),
      routine<&random_lognormal>("lognormal"),
      routine<&random_rayleigh>("rayleigh"),
      routine<&random_standard_t>("standard_t"),
      routine<&random_noncentral_chisquare>("noncentral_chisquare"),
      routine<&random_noncentral_f>("noncentral_f"),
      routine<&random_wald>("wald"),
      routine<&random_vonmises>("vonmises"),
      routine<&random_triangular>("triangular"),
      routine<&random_poisson>("poisson"),
      routine<&random_negative_binomial>("negative_binomial"),
      routine<&binomial>("binomial"),
      fills<&binomial_fill>("fill_binomial"),
      routine<&multinomial>("multinomial"),
      routine<&random_logseries>("logseries"),
      routine<&random_geometric>("geometric"),
      routine<&random_zipf>("zipf"),
      routine<&random_hypergeometric>("hypergeometric"),
      routine<&random_interval>("interval"),
      routine<&fill_intervals>("fill_intervals"),
      routine<&bounded>("bounded"),
      routine<&bounded_one<&random_bounded_uint64_fill, uint64_t>>("bounded_uint64"),
      routine<&bounded_one<&random_bounded_uint32_fill, uint32_t>>("bounded_uint32"),
      routine<&bounded_one<&random_bounded_uint16_fill, uint16_t>>("bounded_uint16"),
      routine<&bounded_one<&random_bounded_uint8_fill, uint8_t>>("bounded_uint8"),
      routine<&bounded_one<&random_bounded_bool_fill, unsigned char>>("bounded_bool"),
      fills<&fill_bounded_64>("fill_bounded_uint64"),
      fills<&fill_bounded_32>("fill_bounded_uint32"),
      routine<&bounded_fill<&random_bounded_uint16_fill, uint16_t>>("fill_bounded_uint16"),
      routine<&bounded_fill<&random_bounded_uint8_fill, uint8_t>>("fill_bounded_uint8"),
      routine<&bounded_fill<&random_bounded_bool_fill, bool>>("fill_bounded_bool"),
      routine<&bounded_each<&random_buffered_bounded_uint32, uint32_t>>("each_bounded_uint32"),
      routine<&bounded_each<&random_buffered_bounded_uint16, uint16_t>>("each_bounded_uint16"),
      routine<&bounded_each<&random_buffered_bounded_uint8, uint8_t>>("each_bounded_uint8"),
      routine<&bounded_each<&random_buffered_bounded_bool, bool>>("each_bounded_bool"),
      routine<&legacy_standard_normal>("legacy_standard_normal"),
      routine<&legacy_normal>("legacy_normal"),
      routine<&legacy_standard_exponential>("legacy_standard_exponential"),
      routine<&legacy_exponential>("legacy_exponential"),
      fills<&fill_legacy_normal>("fill_legacy_standard_normal"),
      fills<&fill_legacy_exponential>("fill_legacy_standard_exponential"),
      routine<&settle_pcg64>("settle_pcg64"),
  };
  return all;
}

std::string_view version_of_draws() { return INGOT_NUMPY_VERSION; }

void move_own_stream(uint64_t* words) noexcept { point_to_itself(reinterpret_cast<Stream*>(words)); }

const DrawInfo* find_draw(std::string_view name) {
  for (const DrawInfo& draw : draws())
    if (draw.name == name) return &draw;
  return nullptr;
}

}  // namespace ingot::base
