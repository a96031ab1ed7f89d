#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/abi.h"
#include "runtime/pool.h"

namespace ingot::runtime {

/// The external symbols of compiled code: an object that uses any other is not loaded. Ingot's own symbols
/// carry the version of the ABI in their names; a changed meaning is a new name, and the old one stays as
/// long as objects that use it may be loaded.
///
/// They are the `ingot_v1_*` functions below and of sorts.h, those of base/random.h as `ingot_v1_draw_NAME`,
/// the functions of math_symbols.h, and of the C library memcpy, memmove, memset and the mathematical
/// functions, for double and float, that the code generator asks for or that LLVM makes of others (`sincos`,
/// `exp10`).

/// Their names, but for those that math_symbols.h and base/random.h list.
std::span<const std::string_view> symbol_names();

/// The address of a symbol of the list, null for every other name.
void* find_symbol(std::string_view name);

extern "C" {
/// A buffer of `bytes` bytes, their values unspecified, 0 included, that belongs to the call. Null if `bytes`
/// is negative or too large or memory has run out: the context's error is then MemoryError without a site.
Buffer* ingot_v1_allocate(Context* context, int64_t bytes) noexcept;
/// The same for a buffer that is gone when the call ends. One of 0 bytes is shared by all calls: it costs
/// nothing.
Buffer* ingot_v1_allocate_temporary(Context* context, int64_t bytes) noexcept;
/// Frees a buffer that the call allocated. Does nothing for null and for the buffers of arguments, so that
/// code in which a variable may hold either needs no distinction.
void ingot_v1_release(Context* context, Buffer* buffer) noexcept;
/// `Hooks::outside`; RuntimeError where the embedding program has none.
Status ingot_v1_outside(Context* context, const char* what, const char* layout, int64_t number,
                        void** slots) noexcept;
/// Before a call of C that may wait for other threads: releases what these wait for.
void ingot_v1_let_go(Context* context) noexcept;
/// A poll that finds `*Context::attention` not 0: returns 0, or the status to leave with.
Status ingot_v1_poll(Context* context) noexcept;
/// `Pool::run` of iterations that the code itself has.
Status ingot_v1_parallel(Context* context, Iterations iterations, void* data, int64_t count,
                         int64_t grain) noexcept;
/// Makes the thread's floating-point state the default one; the word of what it was (base/float_state.h).
uint32_t ingot_v1_enter_default_state() noexcept;
/// Restores it.
void ingot_v1_leave_default_state(uint32_t before) noexcept;
/// Replaces, where x[i] > limit, the parts of x[i] = quadrant * pi/2 + (high + low) by those of
/// base::math::kernels::reduce_by_half_pi; for float those of x[i] + turn * pi/2 = half_turns * pi + rest.
void ingot_v1_reduce_angles_f64(const double* x, double* high, double* low, int64_t* quadrant, double limit,
                                int64_t count) noexcept;
void ingot_v1_reduce_angles_f32(const float* x, float* rest, int32_t* half_turns, float limit, int64_t count,
                                int32_t turn) noexcept;
/// The C library's fmod of each a[i] and b[i].
void ingot_v1_remainders_f64(const double* a, const double* b, double* rest, int64_t count) noexcept;
void ingot_v1_remainders_f32(const float* a, const float* b, float* rest, int64_t count) noexcept;
/// Replaces, where x[i] < 0, the results by the C library's gamma function and its logarithm.
void ingot_v1_gammas_f64(const double* x, double* result, int64_t count) noexcept;
void ingot_v1_log_gammas_f64(const double* x, double* result, int64_t count) noexcept;
}

}  // namespace ingot::runtime
