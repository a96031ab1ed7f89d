#include <new>

#include "base/float_state.h"
#include "base/math/kernels/rare.h"
#include "runtime/allocator.h"
#include "runtime/buffer_list.h"
#include "runtime/symbols.h"

// The functions that compiled code calls directly; the table of all symbols is in symbols.cpp, which
// libraries that are linked ahead of time do not need.

namespace ingot::runtime {

namespace {

/// A buffer that was allocated, as the call's; where it is null, the error is MemoryError.
Buffer* owned(Context* context, Buffer* buffer, int64_t bytes) {
  if (!buffer) {
    context->error = Error{status_of(base::ExceptionKind::MemoryError), Error::kNoSite, {}, 0, {}};
    context->error.arguments[0] = static_cast<uint64_t>(bytes);
    return nullptr;
  }
  link_buffer(*context, *buffer);
  return buffer;
}

}  // namespace

Buffer* ingot_v1_allocate(Context* context, int64_t bytes) noexcept {
  return owned(context, Allocator::allocate(bytes), bytes);
}

Buffer* ingot_v1_allocate_temporary(Context* context, int64_t bytes) noexcept {
  static constinit std::byte nothing{};
  static constinit Buffer empty{&nothing, 0, nullptr, nullptr, nullptr, nullptr};
  return bytes == 0 ? &empty : owned(context, Allocator::allocate_temporary(bytes), bytes);
}

void ingot_v1_release(Context* context, Buffer* buffer) noexcept {
  if (!buffer || !is_linked(*context, *buffer)) return;
  unlink_buffer(*context, *buffer);
  if (buffer->release != nullptr || !Allocator::keep_temporary(buffer)) free_buffer(buffer);
}

Status ingot_v1_outside(Context* context, const char* what, const char* layout, int64_t number,
                        void** slots) noexcept {
  if (context->hooks->outside != nullptr) {
    try {
      return context->hooks->outside(context, what, layout, number, slots);
    } catch (const std::bad_alloc&) {
      context->error = Error{status_of(base::ExceptionKind::MemoryError), Error::kNoSite, {}, 0, {}};
      return context->error.status;
    }
  }
  context->error = Error{status_of(base::ExceptionKind::RuntimeError), Error::kNoSite, {}, 0, {}};
  return context->error.status;
}

Status ingot_v1_parallel(Context* context, Iterations iterations, void* data, int64_t count,
                         int64_t grain) noexcept {
  // Stores of the owner past the caches become visible to the others.
  __builtin_ia32_sfence();
  return Pool::run(context, iterations, data, count, grain);
}

uint32_t ingot_v1_enter_default_state() noexcept {
  const auto before = base::FloatState::current();
  base::FloatState().set();
  return before.word();
}

void ingot_v1_leave_default_state(uint32_t before) noexcept { base::FloatState::of_word(before).set(); }

namespace kernels = base::math::kernels;

void ingot_v1_reduce_angles_f64(const double* x, double* high, double* low, int64_t* quadrant, double limit,
                                int64_t count) noexcept {
  kernels::reduce_angles(x, high, low, quadrant, limit, count);
}

void ingot_v1_reduce_angles_f32(const float* x, float* rest, int32_t* half_turns, float limit, int64_t count,
                                int32_t turn) noexcept {
  kernels::reduce_angles(x, rest, half_turns, limit, count, turn);
}

void ingot_v1_remainders_f64(const double* a, const double* b, double* rest, int64_t count) noexcept {
  kernels::remainders(a, b, rest, count);
}

void ingot_v1_remainders_f32(const float* a, const float* b, float* rest, int64_t count) noexcept {
  kernels::remainders(a, b, rest, count);
}

void ingot_v1_gammas_f64(const double* x, double* result, int64_t count) noexcept {
  kernels::gammas(x, result, count);
}

void ingot_v1_log_gammas_f64(const double* x, double* result, int64_t count) noexcept {
  kernels::log_gammas(x, result, count);
}

}  // namespace ingot::runtime
