#pragma once

#include <cstdint>

#include "base/bits.h"

/// The standard distributions, and whole arrays of them: NumPy's numbers, of words that are drawn many at
/// once where the stream is of a known kind.
namespace ingot::base {

double standard_normal(Stream* stream) noexcept;
float standard_normal_f32(Stream* stream) noexcept;
double standard_exponential(Stream* stream) noexcept;
float standard_exponential_f32(Stream* stream) noexcept;

void fill_uniform(Stream* stream, double* data, int64_t count) noexcept;
void fill_uniform_f32(Stream* stream, float* data, int64_t count) noexcept;
void fill_normal(Stream* stream, double* data, int64_t count) noexcept;
void fill_normal_f32(Stream* stream, float* data, int64_t count) noexcept;
void fill_exponential(Stream* stream, double* data, int64_t count) noexcept;
void fill_exponential_f32(Stream* stream, float* data, int64_t count) noexcept;

/// Integers from `low` to `low + range`; `is_masked`: as the legacy streams draw them.
void fill_bounded_64(Stream* stream, uint64_t low, uint64_t range, int64_t is_masked, uint64_t* data,
                     int64_t count) noexcept;
void fill_bounded_32(Stream* stream, uint64_t low, uint64_t range, int64_t is_masked, uint32_t* data,
                     int64_t count) noexcept;

/// An index for each step of a shuffle: from 0 to `last`, to `last - 1`, and so on; `count` of them, at most
/// `last + 1`.
void fill_intervals(Stream* stream, uint64_t last, uint64_t* data, int64_t count) noexcept;

}  // namespace ingot::base
