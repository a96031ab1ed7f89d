// cuBLAS.

#include <algorithm>
#include <cmath>

#include "stand_in.h"

using namespace softgpu::stand_ins;  // NOLINT: all of it is of the ABI

namespace {

/// cublasStatus_t.
enum Status : int { kSuccess = 0, kNotInitialized = 1, kInvalidValue = 7, kFailed = 13, kNotSupported = 15 };

int status_of(bool was_taken) { return was_taken ? kSuccess : kFailed; }

/// An element of op(a), whose column-major matrix is given.
template <class T>
T element(const T* a, int64_t lead, int operation, int64_t row, int64_t column) {
  if (operation == kAsIs) return a[row + column * lead];
  const T value = a[column + row * lead];
  return operation == kConjugateTransposed ? conjugate(value) : value;
}

template <class T>
double size_of(T x) {
  return std::abs(x);
}
template <class T>
double size_of(std::complex<T> x) {
  return std::abs(x.real()) + std::abs(x.imag());
}

template <class T>
int extreme(Handle* handle, int n, const void* x, int step, int* result, bool is_largest) {
  *result = 0;
  if (n <= 0 || step <= 0) return kSuccess;
  Job job(handle->stream);
  const T* const from = job.in<T>(x, span_of(n, step));
  return status_of(job.run(
      [=] {
        int best = 0;
        for (int i = 1; i < n; ++i) {
          const double size = size_of(from[i * int64_t{step}]);
          const double known = size_of(from[best * int64_t{step}]);
          if (is_largest ? size > known : size < known) best = i;
        }
        *result = best + 1;
      },
      true));
}

template <class Add>
int sum(Handle* handle, int n, const void* x, int type, int step, void* result, Add&& add) {
  return with_type(type, kNotSupported, [&]<class T>(T) {
    *static_cast<Real<T>*>(result) = 0;
    if (n <= 0 || step <= 0) return int{kSuccess};
    Job job(handle->stream);
    const T* const from = job.in<T>(x, span_of(n, step));
    return status_of(job.run(
        [=] {
          double total = 0;
          for (int64_t i = 0; i < n; ++i) add(total, from[i * step]);
          *static_cast<Real<T>*>(result) = static_cast<Real<T>>(total);
        },
        true));
  });
}

int inner(Handle* handle, int n, const void* x, int type, int step_x, const void* y, int step_y, void* result,
          bool conjugates) {
  return with_type(type, kNotSupported, [&]<class T>(T) {
    *static_cast<T*>(result) = T{};
    if (n <= 0) return int{kSuccess};
    Job job(handle->stream);
    const T* const a = job.in<T>(x, span_of(n, step_x)) + first_of(n, step_x);
    const T* const b = job.in<T>(y, span_of(n, step_y)) + first_of(n, step_y);
    return status_of(job.run(
        [=] {
          T total{};
          for (int64_t i = 0; i < n; ++i)
            total += (conjugates ? conjugate(a[i * step_x]) : a[i * step_x]) * b[i * step_y];
          *static_cast<T*>(result) = total;
        },
        true));
  });
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const int ingot_stand_in = 1;
INGOT_LIBRARY ingot_stand_in_live() { return live(); }
INGOT_LIBRARY ingot_stand_in_jobs() { return jobs(); }

INGOT_LIBRARY cublasCreate_v2(Handle** handle) {
  if (Driver::instance() == nullptr) return kNotInitialized;
  create(handle);
  return kSuccess;
}

INGOT_LIBRARY cublasDestroy_v2(Handle* handle) {
  destroy(handle);
  return kSuccess;
}

INGOT_LIBRARY cublasSetStream_v2(Handle* handle, Stream stream) {
  handle->stream = stream;
  return kSuccess;
}

INGOT_LIBRARY cublasGetVersion_v2(Handle*, int* version) {
  *version = 130000;
  return kSuccess;
}

INGOT_LIBRARY cublasGemmStridedBatchedEx(Handle* handle, int op_a, int op_b, int m, int n, int k,
                                         const void* alpha, const void* a, int type, int lead_a,
                                         long long stride_a, const void* b, int type_b, int lead_b,
                                         long long stride_b, const void* beta, void* c, int type_c,
                                         int lead_c, long long stride_c, int batch, int compute, int) {
  const int64_t rows_a = op_a == kAsIs ? m : k, columns_a = op_a == kAsIs ? k : m;
  const int64_t rows_b = op_b == kAsIs ? k : n, columns_b = op_b == kAsIs ? n : k;
  if (m < 0 || n < 0 || k < 0 || batch < 0 || lead_a < std::max<int64_t>(1, rows_a) ||
      lead_b < std::max<int64_t>(1, rows_b) || lead_c < std::max(1, m))
    return kInvalidValue;
  const bool is_double = type == kFloat64 || type == kComplex128;
  if (type != type_b || type != type_c || compute != (is_double ? 70 : 68)) return kNotSupported;
  if (m == 0 || n == 0 || batch == 0) return kSuccess;
  return with_type(type, kNotSupported, [&]<class T>(T) {
    const auto span = [&](int64_t columns, int64_t rows, int64_t lead, long long stride) {
      return columns == 0 || rows == 0
                 ? size_t{0}
                 : static_cast<size_t>((columns - 1) * lead + rows + (batch - 1) * stride);
    };
    Job job(handle->stream);
    const T* const x = job.in<T>(a, k == 0 ? 0 : span(columns_a, rows_a, lead_a, stride_a));
    const T* const y = job.in<T>(b, k == 0 ? 0 : span(columns_b, rows_b, lead_b, stride_b));
    T* const z = job.out<T>(c, span(n, m, lead_c, stride_c));
    const T factor = *static_cast<const T*>(alpha);
    const T kept = *static_cast<const T*>(beta);
    return status_of(job.run([=] {
      for (int64_t i = 0; i < batch; ++i)
        for (int64_t column = 0; column < n; ++column)
          for (int64_t row = 0; row < m; ++row) {
            T total{};
            for (int64_t inside = 0; inside < k; ++inside)
              total += element(x + i * stride_a, lead_a, op_a, row, inside) *
                       element(y + i * stride_b, lead_b, op_b, inside, column);
            T& target = z[i * stride_c + row + column * lead_c];
            target = kept == T{} ? factor * total : factor * total + kept * target;
          }
    }));
  });
}

INGOT_LIBRARY cublasAxpyEx(Handle* handle, int n, const void* alpha, int type_alpha, const void* x, int type,
                           int step_x, void* y, int type_y, int step_y, int compute) {
  if (type != type_alpha || type != type_y || type != compute) return kNotSupported;
  if (n <= 0) return kSuccess;
  return with_type(type, kNotSupported, [&]<class T>(T) {
    Job job(handle->stream);
    const T* const from = job.in<T>(x, span_of(n, step_x)) + first_of(n, step_x);
    T* const to = job.out<T>(y, span_of(n, step_y)) + first_of(n, step_y);
    const T factor = *static_cast<const T*>(alpha);
    return status_of(job.run([=] {
      for (int64_t i = 0; i < n; ++i) to[i * step_y] += factor * from[i * step_x];
    }));
  });
}

INGOT_LIBRARY cublasScalEx(Handle* handle, int n, const void* alpha, int type_alpha, void* x, int type,
                           int step, int compute) {
  if (type != type_alpha || type != compute) return kNotSupported;
  if (n <= 0 || step <= 0) return kSuccess;
  return with_type(type, kNotSupported, [&]<class T>(T) {
    Job job(handle->stream);
    T* const to = job.out<T>(x, span_of(n, step));
    const T factor = *static_cast<const T*>(alpha);
    return status_of(job.run([=] {
      for (int64_t i = 0; i < n; ++i) to[i * step] *= factor;
    }));
  });
}

INGOT_LIBRARY cublasCopyEx(Handle* handle, int n, const void* x, int type, int step_x, void* y, int type_y,
                           int step_y) {
  if (type != type_y) return kNotSupported;
  if (n <= 0) return kSuccess;
  return with_type(type, kNotSupported, [&]<class T>(T) {
    Job job(handle->stream);
    const T* const from = job.in<T>(x, span_of(n, step_x)) + first_of(n, step_x);
    T* const to = job.out<T>(y, span_of(n, step_y)) + first_of(n, step_y);
    return status_of(job.run([=] {
      for (int64_t i = 0; i < n; ++i) to[i * step_y] = from[i * step_x];
    }));
  });
}

INGOT_LIBRARY cublasSwapEx(Handle* handle, int n, void* x, int type, int step_x, void* y, int type_y,
                           int step_y) {
  if (type != type_y) return kNotSupported;
  if (n <= 0) return kSuccess;
  return with_type(type, kNotSupported, [&]<class T>(T) {
    Job job(handle->stream);
    T* const one = job.out<T>(x, span_of(n, step_x)) + first_of(n, step_x);
    T* const other = job.out<T>(y, span_of(n, step_y)) + first_of(n, step_y);
    return status_of(job.run([=] {
      for (int64_t i = 0; i < n; ++i) std::swap(one[i * step_x], other[i * step_y]);
    }));
  });
}

INGOT_LIBRARY cublasDotEx(Handle* handle, int n, const void* x, int type, int step_x, const void* y,
                          int type_y, int step_y, void* result, int type_result, int compute) {
  if (type != type_y || type != type_result || type != compute) return kNotSupported;
  return inner(handle, n, x, type, step_x, y, step_y, result, false);
}

INGOT_LIBRARY cublasDotcEx(Handle* handle, int n, const void* x, int type, int step_x, const void* y,
                           int type_y, int step_y, void* result, int type_result, int compute) {
  if (type != type_y || type != type_result || type != compute) return kNotSupported;
  return inner(handle, n, x, type, step_x, y, step_y, result, true);
}

INGOT_LIBRARY cublasNrm2Ex(Handle* handle, int n, const void* x, int type, int step, void* result,
                           int type_result, int compute) {
  if (type_result != (type & ~4) || compute != type_result) return kNotSupported;
  const int status = sum(handle, n, x, type, step, result,
                         [](double& total, auto number) { total += static_cast<double>(std::norm(number)); });
  if (type_result == kFloat32) *static_cast<float*>(result) = std::sqrt(*static_cast<float*>(result));
  else *static_cast<double*>(result) = std::sqrt(*static_cast<double*>(result));
  return status;
}

INGOT_LIBRARY cublasAsumEx(Handle* handle, int n, const void* x, int type, int step, void* result,
                           int type_result, int compute) {
  if (type_result != (type & ~4) || compute != type_result) return kNotSupported;
  return sum(handle, n, x, type, step, result, [](double& total, auto number) { total += size_of(number); });
}

INGOT_LIBRARY cublasIamaxEx(Handle* handle, int n, const void* x, int type, int step, int* result) {
  return with_type(type, kNotSupported,
                   [&]<class T>(T) { return extreme<T>(handle, n, x, step, result, true); });
}

INGOT_LIBRARY cublasIaminEx(Handle* handle, int n, const void* x, int type, int step, int* result) {
  return with_type(type, kNotSupported,
                   [&]<class T>(T) { return extreme<T>(handle, n, x, step, result, false); });
}
