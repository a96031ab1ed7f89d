// cuSPARSE.

#include <vector>

#include "stand_in.h"

using namespace softgpu::stand_ins;  // NOLINT: all of it is of the ABI

namespace {

/// cusparseStatus_t.
enum Status : int { kSuccess = 0, kNotInitialized = 1, kInvalidValue = 3, kFailed = 6, kNotSupported = 10 };

constexpr size_t kWorkBytes = 64;

struct Matrix {
  int64_t rows = 0, columns = 0, count = 0;
  void *starts = nullptr, *column_indices = nullptr, *values = nullptr;
  int type_starts = 0, type_columns = 0, type = 0;
};

struct Vector {
  int64_t length = 0;
  void* values = nullptr;
  int type = 0;
};

struct Dense {
  int64_t rows = 0, columns = 0, lead = 0;
  void* values = nullptr;
  int type = 0, order = 0;

  int64_t step_row() const { return order == 2 ? lead : 1; }
  int64_t step_column() const { return order == 2 ? 1 : lead; }
  size_t span() const {
    return rows == 0 || columns == 0
               ? 0
               : static_cast<size_t>((rows - 1) * step_row() + (columns - 1) * step_column() + 1);
  }
};

/// Whole numbers of either width.
struct Indices {
  const void* data;
  bool is_wide;
  int64_t operator[](int64_t i) const {
    return is_wide ? static_cast<const int64_t*>(data)[i] : static_cast<const int32_t*>(data)[i];
  }
};

Indices indices_of(Job& job, const void* data, int type, int64_t count) {
  const auto n = static_cast<size_t>(count);
  if (type == 3) return {job.in<int64_t>(data, n), true};
  return {job.in<int32_t>(data, n), false};
}

/// y = alpha * op(a) @ x + beta * y
int multiply(Handle* handle, int operation, const void* alpha, const Matrix& a, const Dense& x,
             const void* beta, const Dense& y) {
  const int64_t inner = operation == kAsIs ? a.columns : a.rows;
  const int64_t outer = operation == kAsIs ? a.rows : a.columns;
  if (x.rows != inner || y.rows != outer || x.columns != y.columns) return kInvalidValue;
  if (a.type != x.type || a.type != y.type) return kNotSupported;
  return with_type(a.type, kNotSupported, [&]<class T>(T) {
    Job job(handle->stream);
    const Indices starts = indices_of(job, a.starts, a.type_starts, a.rows + 1);
    const Indices column_indices = indices_of(job, a.column_indices, a.type_columns, a.count);
    const T* const values = job.in<T>(a.values, static_cast<size_t>(a.count));
    const T* const from = job.in<T>(x.values, x.span());
    T* const to = job.out<T>(y.values, y.span());
    const T factor = *static_cast<const T*>(alpha);
    const T kept = *static_cast<const T*>(beta);
    const bool was_taken = job.run([=] {
      for (int64_t side = 0; side < y.columns; ++side) {
        std::vector<T> sums(static_cast<size_t>(outer));
        for (int64_t row = 0; row < a.rows; ++row)
          for (int64_t at = starts[row]; at < starts[row + 1]; ++at) {
            const int64_t column = column_indices[at];
            const T value = operation == kConjugateTransposed ? conjugate(values[at]) : values[at];
            const int64_t source = operation == kAsIs ? column : row;
            const int64_t target = operation == kAsIs ? row : column;
            sums[static_cast<size_t>(target)] += value * from[source * x.step_row() + side * x.step_column()];
          }
        for (int64_t row = 0; row < outer; ++row) {
          T& element = to[row * y.step_row() + side * y.step_column()];
          const T sum = factor * sums[static_cast<size_t>(row)];
          element = kept == T{} ? sum : sum + kept * element;
        }
      }
    });
    return int{was_taken ? kSuccess : kFailed};
  });
}

Dense as_matrix(const Vector& vector) {
  return {vector.length, 1, vector.length, vector.values, vector.type, 1};
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const int ingot_stand_in = 1;
INGOT_LIBRARY ingot_stand_in_live() { return live(); }
INGOT_LIBRARY ingot_stand_in_jobs() { return jobs(); }

INGOT_LIBRARY cusparseCreate(Handle** handle) {
  if (Driver::instance() == nullptr) return kNotInitialized;
  create(handle);
  return kSuccess;
}

INGOT_LIBRARY cusparseDestroy(Handle* handle) {
  destroy(handle);
  return kSuccess;
}

INGOT_LIBRARY cusparseSetStream(Handle* handle, Stream stream) {
  handle->stream = stream;
  return kSuccess;
}

INGOT_LIBRARY cusparseGetVersion(Handle*, int* version) {
  *version = 12600;
  return kSuccess;
}

INGOT_LIBRARY cusparseCreateCsr(Matrix** matrix, int64_t rows, int64_t columns, int64_t count, void* starts,
                                void* column_indices, void* values, int type_starts, int type_columns,
                                int base, int type) {
  if (rows < 0 || columns < 0 || count < 0 || base != 0) return kInvalidValue;
  create(matrix);
  **matrix = {rows, columns, count, starts, column_indices, values, type_starts, type_columns, type};
  return kSuccess;
}

INGOT_LIBRARY cusparseDestroySpMat(Matrix* matrix) {
  destroy(matrix);
  return kSuccess;
}

INGOT_LIBRARY cusparseCreateDnVec(Vector** vector, int64_t length, void* values, int type) {
  create(vector);
  **vector = {length, values, type};
  return kSuccess;
}

INGOT_LIBRARY cusparseDestroyDnVec(Vector* vector) {
  destroy(vector);
  return kSuccess;
}

INGOT_LIBRARY cusparseCreateDnMat(Dense** matrix, int64_t rows, int64_t columns, int64_t lead, void* values,
                                  int type, int order) {
  if (lead < (order == 2 ? columns : rows)) return kInvalidValue;
  create(matrix);
  **matrix = {rows, columns, lead, values, type, order};
  return kSuccess;
}

INGOT_LIBRARY cusparseDestroyDnMat(Dense* matrix) {
  destroy(matrix);
  return kSuccess;
}

INGOT_LIBRARY cusparseSpMV_bufferSize(Handle*, int, const void*, Matrix*, Vector*, const void*, Vector*, int,
                                      int, size_t* bytes) {
  *bytes = kWorkBytes;
  return kSuccess;
}

INGOT_LIBRARY cusparseSpMV(Handle* handle, int operation, const void* alpha, Matrix* a, Vector* x,
                           const void* beta, Vector* y, int compute, int, void* work) {
  if (compute != a->type || work == nullptr) return kInvalidValue;
  return multiply(handle, operation, alpha, *a, as_matrix(*x), beta, as_matrix(*y));
}

INGOT_LIBRARY cusparseSpMM_bufferSize(Handle*, int, int, const void*, Matrix*, Dense*, const void*, Dense*,
                                      int, int, size_t* bytes) {
  *bytes = kWorkBytes;
  return kSuccess;
}

INGOT_LIBRARY cusparseSpMM(Handle* handle, int operation, int operation_x, const void* alpha, Matrix* a,
                           Dense* x, const void* beta, Dense* y, int compute, int, void* work) {
  if (compute != a->type || work == nullptr || operation_x != kAsIs) return kInvalidValue;
  return multiply(handle, operation, alpha, *a, *x, beta, *y);
}
