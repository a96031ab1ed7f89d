// cuSOLVER.

#include <algorithm>

#include "factors.h"
#include "stand_in.h"

using namespace softgpu::stand_ins;  // NOLINT: all of it is of the ABI

namespace {

/// cusolverStatus_t.
enum Status : int { kSuccess = 0, kNotInitialized = 1, kInvalidValue = 3, kFailed = 6, kNotSupported = 9 };

constexpr size_t kWorkBytes = 128;
constexpr int kWorkLength = 8;
constexpr int kUpper = 1;

struct Parameters {};

template <class T>
Complex wide(T x) {
  return Complex(x);
}

template <class T>
T narrow(Complex x) {
  if constexpr (std::is_floating_point_v<T>) return static_cast<T>(x.real());
  else return T(static_cast<Real<T>>(x.real()), static_cast<Real<T>>(x.imag()));
}

template <class T>
Matrix loaded(const T* from, int64_t lead, int64_t rows, int64_t columns) {
  Matrix matrix(rows, columns);
  for (int64_t column = 0; column < columns; ++column)
    for (int64_t row = 0; row < rows; ++row) matrix.at(row, column) = wide(from[row + column * lead]);
  return matrix;
}

template <class T>
void store(T* to, int64_t lead, const Matrix& matrix) {
  for (int64_t column = 0; column < matrix.columns; ++column)
    for (int64_t row = 0; row < matrix.rows; ++row)
      to[row + column * lead] = narrow<T>(matrix.at(row, column));
}

size_t span(int64_t rows, int64_t columns, int64_t lead) {
  return rows == 0 || columns == 0 ? 0 : static_cast<size_t>((columns - 1) * lead + rows);
}

int bytes(size_t* on_device, size_t* on_host) {
  *on_device = kWorkBytes;
  *on_host = 0;
  return kSuccess;
}

bool is_wrong(int64_t rows, int64_t columns, int64_t lead, const void* work, size_t work_bytes) {
  return rows < 0 || columns < 0 || lead < std::max<int64_t>(1, rows) || work == nullptr ||
         work_bytes < kWorkBytes;
}

int status_of(bool was_taken) { return was_taken ? kSuccess : kFailed; }

int q_of(Handle* handle, int type, int m, int n, int k, void* a, int lead, const void* tau, void* work,
         int length, int* info) {
  if (m < n || n < k || k < 0 || lead < std::max(1, m) || work == nullptr || length < kWorkLength)
    return kInvalidValue;
  return with_type(type, kNotSupported, [&]<class T>(T) {
    Job job(handle->stream);
    T* const matrix = job.out<T>(a, span(m, n, lead));
    const T* const factors = job.in<T>(tau, static_cast<size_t>(k));
    int* const result = job.out<int>(info, 1);
    return status_of(job.run([=] {
      Matrix x = loaded(matrix, lead, m, n);
      std::vector<Complex> tau_values;
      for (int i = 0; i < k; ++i) tau_values.push_back(wide(factors[i]));
      softgpu::stand_ins::q_of(x, tau_values);
      store(matrix, lead, x);
      *result = 0;
    }));
  });
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const int ingot_stand_in = 1;
INGOT_LIBRARY ingot_stand_in_live() { return live(); }
INGOT_LIBRARY ingot_stand_in_jobs() { return jobs(); }

INGOT_LIBRARY cusolverDnCreate(Handle** handle) {
  if (Driver::instance() == nullptr) return kNotInitialized;
  create(handle);
  return kSuccess;
}

INGOT_LIBRARY cusolverDnDestroy(Handle* handle) {
  destroy(handle);
  return kSuccess;
}

INGOT_LIBRARY cusolverDnSetStream(Handle* handle, Stream stream) {
  handle->stream = stream;
  return kSuccess;
}

INGOT_LIBRARY cusolverGetVersion(int* version) {
  *version = 12000;
  return kSuccess;
}

INGOT_LIBRARY cusolverDnCreateParams(Parameters** parameters) {
  create(parameters);
  return kSuccess;
}

INGOT_LIBRARY cusolverDnDestroyParams(Parameters* parameters) {
  destroy(parameters);
  return kSuccess;
}

INGOT_LIBRARY cusolverDnXgetrf_bufferSize(Handle*, Parameters*, int64_t, int64_t, int, const void*, int64_t,
                                          int, size_t* on_device, size_t* on_host) {
  return bytes(on_device, on_host);
}

INGOT_LIBRARY cusolverDnXgetrf(Handle* handle, Parameters*, int64_t m, int64_t n, int type, void* a,
                               int64_t lead, int64_t* pivots, int, void* work, size_t work_bytes, void*,
                               size_t, int* info) {
  if (is_wrong(m, n, lead, work, work_bytes)) return kInvalidValue;
  return with_type(type, kNotSupported, [&]<class T>(T) {
    Job job(handle->stream);
    T* const matrix = job.out<T>(a, span(m, n, lead));
    int64_t* const exchanged = job.out<int64_t>(pivots, static_cast<size_t>(std::min(m, n)));
    int* const result = job.out<int>(info, 1);
    return status_of(job.run([=] {
      Matrix x = loaded(matrix, lead, m, n);
      std::vector<int64_t> found(static_cast<size_t>(std::min(m, n)));
      *result = lu(x, found);
      std::copy(found.begin(), found.end(), exchanged);
      store(matrix, lead, x);
    }));
  });
}

INGOT_LIBRARY cusolverDnXgetrs(Handle* handle, Parameters*, int operation, int64_t n, int64_t sides, int type,
                               const void* a, int64_t lead_a, const int64_t* pivots, int type_b, void* b,
                               int64_t lead_b, int* info) {
  if (n < 0 || sides < 0 || lead_a < std::max<int64_t>(1, n) || lead_b < std::max<int64_t>(1, n))
    return kInvalidValue;
  if (operation != kAsIs || type != type_b) return kNotSupported;
  return with_type(type, kNotSupported, [&]<class T>(T) {
    Job job(handle->stream);
    const T* const factors = job.in<T>(a, span(n, n, lead_a));
    const int64_t* const exchanged = job.in<int64_t>(pivots, static_cast<size_t>(n));
    T* const right = job.out<T>(b, span(n, sides, lead_b));
    int* const result = job.out<int>(info, 1);
    return status_of(job.run([=] {
      Matrix x = loaded(right, lead_b, n, sides);
      lu_solve(loaded(factors, lead_a, n, n), {exchanged, exchanged + n}, x);
      store(right, lead_b, x);
      *result = 0;
    }));
  });
}

INGOT_LIBRARY cusolverDnXpotrf_bufferSize(Handle*, Parameters*, int, int64_t, int, const void*, int64_t, int,
                                          size_t* on_device, size_t* on_host) {
  return bytes(on_device, on_host);
}

INGOT_LIBRARY cusolverDnXpotrf(Handle* handle, Parameters*, int triangle, int64_t n, int type, void* a,
                               int64_t lead, int, void* work, size_t work_bytes, void*, size_t, int* info) {
  if (is_wrong(n, n, lead, work, work_bytes)) return kInvalidValue;
  return with_type(type, kNotSupported, [&]<class T>(T) {
    Job job(handle->stream);
    T* const matrix = job.out<T>(a, span(n, n, lead));
    int* const result = job.out<int>(info, 1);
    return status_of(job.run([=] {
      Matrix x = loaded(matrix, lead, n, n);
      *result = cholesky(x, triangle == kUpper);
      store(matrix, lead, x);
    }));
  });
}

INGOT_LIBRARY cusolverDnXgeqrf_bufferSize(Handle*, Parameters*, int64_t, int64_t, int, const void*, int64_t,
                                          int, const void*, int, size_t* on_device, size_t* on_host) {
  return bytes(on_device, on_host);
}

INGOT_LIBRARY cusolverDnXgeqrf(Handle* handle, Parameters*, int64_t m, int64_t n, int type, void* a,
                               int64_t lead, int type_tau, void* tau, int, void* work, size_t work_bytes,
                               void*, size_t, int* info) {
  if (is_wrong(m, n, lead, work, work_bytes)) return kInvalidValue;
  if (type != type_tau) return kNotSupported;
  return with_type(type, kNotSupported, [&]<class T>(T) {
    Job job(handle->stream);
    T* const matrix = job.out<T>(a, span(m, n, lead));
    T* const factors = job.out<T>(tau, static_cast<size_t>(std::min(m, n)));
    int* const result = job.out<int>(info, 1);
    return status_of(job.run([=] {
      Matrix x = loaded(matrix, lead, m, n);
      std::vector<Complex> found(static_cast<size_t>(std::min(m, n)));
      qr(x, found);
      std::transform(found.begin(), found.end(), factors, narrow<T>);
      store(matrix, lead, x);
      *result = 0;
    }));
  });
}

INGOT_LIBRARY cusolverDnXsyevd_bufferSize(Handle*, Parameters*, int, int, int64_t, int, const void*, int64_t,
                                          int, const void*, int, size_t* on_device, size_t* on_host) {
  return bytes(on_device, on_host);
}

INGOT_LIBRARY cusolverDnXsyevd(Handle* handle, Parameters*, int wants_vectors, int triangle, int64_t n,
                               int type, void* a, int64_t lead, int type_w, void* w, int, void* work,
                               size_t work_bytes, void*, size_t, int* info) {
  if (is_wrong(n, n, lead, work, work_bytes)) return kInvalidValue;
  if (type_w != (type & ~4)) return kNotSupported;
  return with_type(type, kNotSupported, [&]<class T>(T) {
    Job job(handle->stream);
    T* const matrix = job.out<T>(a, span(n, n, lead));
    Real<T>* const values = job.out<Real<T>>(w, static_cast<size_t>(n));
    int* const result = job.out<int>(info, 1);
    return status_of(job.run([=] {
      Matrix x = loaded(matrix, lead, n, n);
      std::vector<double> found(static_cast<size_t>(n));
      *result = eigen(x, found, triangle == kUpper);
      std::ranges::transform(found, values, [](double value) { return static_cast<Real<T>>(value); });
      if (wants_vectors != 0) store(matrix, lead, x);
    }));
  });
}

INGOT_LIBRARY cusolverDnXgesvd_bufferSize(Handle*, Parameters*, signed char, signed char, int64_t, int64_t,
                                          int, const void*, int64_t, int, const void*, int, const void*,
                                          int64_t, int, const void*, int64_t, int, size_t* on_device,
                                          size_t* on_host) {
  return bytes(on_device, on_host);
}

INGOT_LIBRARY cusolverDnXgesvd(Handle* handle, Parameters*, signed char job_u, signed char job_v, int64_t m,
                               int64_t n, int type, void* a, int64_t lead_a, int type_s, void* s, int type_u,
                               void* u, int64_t lead_u, int type_v, void* v, int64_t lead_v, int, void* work,
                               size_t work_bytes, void*, size_t, int* info) {
  if (is_wrong(m, n, lead_a, work, work_bytes) || m < n) return kInvalidValue;
  if (type_s != (type & ~4) || type_u != type || type_v != type) return kNotSupported;
  const bool has_vectors = job_u != 'N';
  if (has_vectors != (job_v != 'N') || (has_vectors && (lead_u < m || lead_v < n))) return kInvalidValue;
  return with_type(type, kNotSupported, [&]<class T>(T) {
    const int64_t columns = job_u == 'A' ? m : has_vectors ? n : 0;
    Job job(handle->stream);
    const T* const matrix = job.in<T>(a, span(m, n, lead_a));
    Real<T>* const values = job.out<Real<T>>(s, static_cast<size_t>(n));
    T* const left = job.out<T>(u, span(m, columns, lead_u));
    T* const right = job.out<T>(v, has_vectors ? span(n, n, lead_v) : 0);
    int* const result = job.out<int>(info, 1);
    return status_of(job.run([=] {
      std::vector<double> found(static_cast<size_t>(n));
      Matrix u_matrix(m, columns), v_matrix(n, n);
      *result = svd(loaded(matrix, lead_a, m, n), found, u_matrix, v_matrix);
      std::ranges::transform(found, values, [](double value) { return static_cast<Real<T>>(value); });
      if (!has_vectors) return;
      store(left, lead_u, u_matrix);
      for (int64_t row = 0; row < n; ++row)
        for (int64_t column = 0; column < n; ++column)
          right[row + column * lead_v] = narrow<T>(std::conj(v_matrix.at(column, row)));
    }));
  });
}

#define INGOT_Q(letters, type)                                                                               \
  INGOT_LIBRARY cusolverDn##letters##_bufferSize(Handle*, int, int, int, const void*, int, const void*,      \
                                                 int* length) {                                              \
    *length = kWorkLength;                                                                                   \
    return kSuccess;                                                                                         \
  }                                                                                                          \
  INGOT_LIBRARY cusolverDn##letters(Handle* handle, int m, int n, int k, void* a, int lead, const void* tau, \
                                    void* work, int length, int* info) {                                     \
    return q_of(handle, type, m, n, k, a, lead, tau, work, length, info);                                    \
  }
INGOT_Q(Sorgqr, kFloat32)
INGOT_Q(Dorgqr, kFloat64)
INGOT_Q(Cungqr, kComplex64)
INGOT_Q(Zungqr, kComplex128)
#undef INGOT_Q
