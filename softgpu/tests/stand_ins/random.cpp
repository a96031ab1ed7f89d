// cuRAND: other numbers than the vendor's, of the same distributions; draws of equal seeds are equal, and an
// offset leaves so many numbers out.

#include <cmath>
#include <numbers>

#include "stand_in.h"

using namespace softgpu::stand_ins;  // NOLINT: all of it is of the ABI

namespace {

/// curandStatus_t.
enum Status : int {
  kSuccess = 0,
  kNotInitialized = 101,
  kTypeError = 103,
  kOutOfRange = 104,
  kNotMultiple = 105,
  kFailed = 201,
};

struct Generator {
  Stream stream = nullptr;
  int type = 0;
  uint64_t seed = 0;
  uint64_t position = 0;  ///< of the next number
  unsigned dimensions = 1;

  bool is_quasi() const { return type >= 200; }
};

/// The number at this index: splitmix64 of both.
uint64_t bits_at(uint64_t seed, uint64_t position) {
  uint64_t z = seed * 0x9e3779b97f4a7c15U + (position + 1) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

/// More than 0, at most 1.
double uniform_at(uint64_t seed, uint64_t position) {
  return (static_cast<double>(bits_at(seed, position) >> 11U) + 1) / 9007199254740992.0;
}

double normal_at(uint64_t seed, uint64_t position) {
  const double u = uniform_at(seed, position & ~uint64_t{1});
  const double v = uniform_at(seed, position | 1U);
  const double radius = std::sqrt(-2 * std::log(u));
  return radius *
         (position % 2 == 0 ? std::cos(2 * std::numbers::pi * v) : std::sin(2 * std::numbers::pi * v));
}

template <class T, class Draw>
int fill(Generator* generator, T* output, size_t count, Draw&& draw) {
  if (generator->is_quasi() && count % generator->dimensions != 0) return kNotMultiple;
  const uint64_t seed = generator->seed, position = generator->position;
  generator->position += count;
  Job job(generator->stream);
  T* const to = job.out<T>(output, count);
  const bool was_taken = job.run([=] {
    for (size_t i = 0; i < count; ++i) to[i] = static_cast<T>(draw(seed, position + i));
  });
  return was_taken ? kSuccess : kFailed;
}

template <class T, class Draw>
int fill_normal(Generator* generator, T* output, size_t count, Draw&& draw) {
  if (count % 2 != 0) return kNotMultiple;
  return fill(generator, output, count, draw);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const int ingot_stand_in = 1;
INGOT_LIBRARY ingot_stand_in_live() { return live(); }
INGOT_LIBRARY ingot_stand_in_jobs() { return jobs(); }

INGOT_LIBRARY curandGetVersion(int* version) {
  *version = 100400;
  return kSuccess;
}

INGOT_LIBRARY curandCreateGenerator(Generator** generator, int type) {
  if (Driver::instance() == nullptr) return kNotInitialized;
  constexpr int kTypes[] = {100, 101, 121, 141, 142, 161, 200, 201, 202, 203, 204};
  for (const int known : kTypes)
    if (known == type) {
      create(generator);
      (*generator)->type = type;
      return kSuccess;
    }
  return kTypeError;
}

INGOT_LIBRARY curandDestroyGenerator(Generator* generator) {
  destroy(generator);
  return kSuccess;
}

INGOT_LIBRARY curandSetStream(Generator* generator, Stream stream) {
  generator->stream = stream;
  return kSuccess;
}

INGOT_LIBRARY curandSetPseudoRandomGeneratorSeed(Generator* generator, unsigned long long seed) {
  if (generator->is_quasi()) return kTypeError;
  generator->seed = seed;
  generator->position = 0;
  return kSuccess;
}

INGOT_LIBRARY curandSetGeneratorOffset(Generator* generator, unsigned long long offset) {
  generator->position = offset;
  return kSuccess;
}

INGOT_LIBRARY curandSetQuasiRandomGeneratorDimensions(Generator* generator, unsigned dimensions) {
  if (!generator->is_quasi()) return kTypeError;
  if (dimensions < 1 || dimensions > 20000) return kOutOfRange;
  generator->dimensions = dimensions;
  return kSuccess;
}

INGOT_LIBRARY curandGenerate(Generator* generator, uint32_t* output, size_t count) {
  if (generator->type >= 203) return kTypeError;
  return fill(generator, output, count, [](uint64_t seed, uint64_t position) {
    return static_cast<uint32_t>(bits_at(seed, position) >> 32U);
  });
}

INGOT_LIBRARY curandGenerateLongLong(Generator* generator, unsigned long long* output, size_t count) {
  if (generator->type < 203) return kTypeError;
  return fill(generator, output, count, bits_at);
}

INGOT_LIBRARY curandGenerateUniform(Generator* generator, float* output, size_t count) {
  return fill(generator, output, count, uniform_at);
}

INGOT_LIBRARY curandGenerateUniformDouble(Generator* generator, double* output, size_t count) {
  return fill(generator, output, count, uniform_at);
}

INGOT_LIBRARY curandGenerateNormal(Generator* generator, float* output, size_t count, float mean,
                                   float deviation) {
  return fill_normal(generator, output, count, [=](uint64_t seed, uint64_t position) {
    return mean + deviation * static_cast<float>(normal_at(seed, position));
  });
}

INGOT_LIBRARY curandGenerateNormalDouble(Generator* generator, double* output, size_t count, double mean,
                                         double deviation) {
  return fill_normal(generator, output, count, [=](uint64_t seed, uint64_t position) {
    return mean + deviation * normal_at(seed, position);
  });
}

INGOT_LIBRARY curandGenerateLogNormal(Generator* generator, float* output, size_t count, float mean,
                                      float deviation) {
  return fill_normal(generator, output, count, [=](uint64_t seed, uint64_t position) {
    return std::exp(mean + deviation * static_cast<float>(normal_at(seed, position)));
  });
}

INGOT_LIBRARY curandGenerateLogNormalDouble(Generator* generator, double* output, size_t count, double mean,
                                            double deviation) {
  return fill_normal(generator, output, count, [=](uint64_t seed, uint64_t position) {
    return std::exp(mean + deviation * normal_at(seed, position));
  });
}

INGOT_LIBRARY curandGeneratePoisson(Generator* generator, uint32_t* output, size_t count, double mean) {
  if (!(mean > 0)) return kOutOfRange;
  return fill(generator, output, count, [=](uint64_t seed, uint64_t position) {
    // The first whose part of the distribution is beyond a uniform number.
    double rest = uniform_at(seed, position);
    double part = std::exp(-mean);
    uint32_t found = 0;
    while (rest > part && found < 1'000'000) {
      rest -= part;
      part *= mean / ++found;
    }
    return found;
  });
}
