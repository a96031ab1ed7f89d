// The programs of tools/device_counts as one writes them in CUDA C. Arithmetic is in the written order, as Ingot's
// is: nvcc gets -fmad=false. Sorts are CUB's.

#include <cstdint>
#include <cub/device/device_radix_sort.cuh>

extern "C" {

__global__ void copy(const double* __restrict__ x, double* __restrict__ y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}

__global__ void scale(const double* __restrict__ x, double* __restrict__ y, double s, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = s * x[i];
}

__global__ void add(const double* __restrict__ x, const double* __restrict__ y, double* __restrict__ z, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] + y[i];
}

__global__ void triad(const double* __restrict__ x, const double* __restrict__ y, double* __restrict__ z, double s,
                      int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] + s * y[i];
}

__global__ void triad_float32(const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ z,
                              float s, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] + s * y[i];
}

__global__ void roots(const double* __restrict__ a, const double* __restrict__ b, const double* __restrict__ c,
                      double* __restrict__ x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = (-b[i] + sqrt(b[i] * b[i] - 4 * a[i] * c[i])) / (2 * a[i]);
}

__global__ void axpy(const double* __restrict__ x, double* __restrict__ y, double s, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += s * x[i];
}

__global__ void sine(const double* __restrict__ x, double* __restrict__ y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = sin(x[i]);
}

__global__ void sum(const double* __restrict__ x, double* __restrict__ partial, int n) {
  __shared__ double shared[8];
  double own = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) own += x[i];
  for (int s = 16; s > 0; s /= 2) own += __shfl_down_sync(~0u, own, s);
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = own;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int k = 1; k < 8; ++k) own += shared[k];
    partial[blockIdx.x] = own;
  }
}

__global__ void softmax(const float* __restrict__ x, float* __restrict__ y, int rows, int columns) {
  const int row = blockIdx.x * 8 + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (row >= rows) return;
  const float* const from = x + int64_t(row) * columns;
  float* const to = y + int64_t(row) * columns;
  float most = -INFINITY;
  for (int i = lane; i < columns; i += 32) most = fmaxf(most, from[i]);
  for (int s = 16; s > 0; s /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, s));
  float all = 0;
  for (int i = lane; i < columns; i += 32) all += expf(from[i] - most);
  for (int s = 16; s > 0; s /= 2) all += __shfl_xor_sync(~0u, all, s);
  for (int i = lane; i < columns; i += 32) to[i] = expf(from[i] - most) / all;
}

__global__ void heat(const double* __restrict__ u, double* __restrict__ v, double c, int rows, int columns) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x + 1;
  const int i = blockIdx.y * blockDim.y + threadIdx.y + 1;
  if (i >= rows - 1 || j >= columns - 1) return;
  const double* const at = u + int64_t(i) * columns + j;
  v[int64_t(i) * columns + j] =
      at[0] + c * (at[-columns] + at[columns] + at[-1] + at[1] - 4 * at[0]);
}

__global__ void histogram(const int64_t* __restrict__ x, unsigned long long* __restrict__ counts, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&counts[x[i]], 1ull);
}

__global__ void positive(const double* __restrict__ x, double* __restrict__ y, const int* __restrict__ before,
                         int n) {
  __shared__ int of_warps[8];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const double value = i < n ? x[i] : 0;
  const unsigned taken = __ballot_sync(~0u, value > 0);
  if (lane == 0) of_warps[warp] = __popc(taken);
  __syncthreads();
  int at = before[blockIdx.x];
  for (int k = 0; k < warp; ++k) at += of_warps[k];
  if (value > 0) y[at + __popc(taken & ((1u << lane) - 1))] = value;
}

}  // extern "C"

/// Tiles in the memory of the block, a rectangle of each thread's own in registers.
template <class T, int kRows, int kColumns>
__device__ void product(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c, int m, int n, int k) {
  constexpr int kSide = 16;
  constexpr int kDepth = 16;
  constexpr int kGroup = 16 / sizeof(T);
  __shared__ T as[kDepth][kRows * kSide + kGroup];
  __shared__ T bs[kDepth][kColumns * kSide + kGroup];
  const int x = threadIdx.x % kSide;
  const int y = threadIdx.x / kSide;
  const int row = blockIdx.y * kRows * kSide;
  const int column = blockIdx.x * kColumns * kSide;
  T sums[kRows][kColumns] = {};
  for (int first = 0; first < k; first += kDepth) {
    for (int e = threadIdx.x; e < kDepth * kRows * kSide; e += 256) {
      const int i = row + e / kDepth;
      const int p = first + e % kDepth;
      as[e % kDepth][e / kDepth] = i < m && p < k ? a[int64_t(i) * k + p] : T(0);
    }
    for (int e = threadIdx.x; e < kDepth * kColumns * kSide; e += 256) {
      const int p = first + e / (kColumns * kSide);
      const int j = column + e % (kColumns * kSide);
      bs[e / (kColumns * kSide)][e % (kColumns * kSide)] = p < k && j < n ? b[int64_t(p) * n + j] : T(0);
    }
    __syncthreads();
#pragma unroll
    for (int p = 0; p < kDepth; ++p) {
      T left[kRows];
      T right[kColumns];
#pragma unroll
      for (int i = 0; i < kRows; ++i) left[i] = as[p][i / kGroup * kGroup * kSide + y * kGroup + i % kGroup];
#pragma unroll
      for (int j = 0; j < kColumns; ++j) right[j] = bs[p][j / kGroup * kGroup * kSide + x * kGroup + j % kGroup];
#pragma unroll
      for (int i = 0; i < kRows; ++i)
#pragma unroll
        for (int j = 0; j < kColumns; ++j) sums[i][j] += left[i] * right[j];
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kRows; ++i)
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
      const int at = row + i / kGroup * kGroup * kSide + y * kGroup + i % kGroup;
      const int other = column + j / kGroup * kGroup * kSide + x * kGroup + j % kGroup;
      if (at < m && other < n) c[int64_t(at) * n + other] = sums[i][j];
    }
}

extern "C" __global__ void __launch_bounds__(256)
    product_float32(const float* a, const float* b, float* c, int m, int n, int k) {
  product<float, 8, 8>(a, b, c, m, n, k);
}

extern "C" __global__ void __launch_bounds__(256)
    product_float64(const double* a, const double* b, double* c, int m, int n, int k) {
  product<double, 4, 8>(a, b, c, m, n, k);
}

extern "C" __global__ void transposed(const float* __restrict__ x, float* __restrict__ y, int rows, int columns) {
  __shared__ float tile[32][33];
  const int column = blockIdx.x * 32 + threadIdx.x;
  const int row = blockIdx.y * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8)
    if (column < columns && row + k < rows) tile[threadIdx.y + k][threadIdx.x] = x[(row + k) * columns + column];
  __syncthreads();
  const int to_column = blockIdx.y * 32 + threadIdx.x;
  const int to_row = blockIdx.x * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8)
    if (to_column < rows && to_row + k < columns) y[(to_row + k) * rows + to_column] = tile[threadIdx.x][threadIdx.y + k];
}

void sort(size_t& bytes, const int* i, int* j, const int64_t* k, int64_t* l, const double* x, double* y, int n) {
  cub::DeviceRadixSort::SortKeys(nullptr, bytes, i, j, n);
  cub::DeviceRadixSort::SortKeys(nullptr, bytes, x, y, n);
  cub::DeviceRadixSort::SortPairs(nullptr, bytes, i, j, k, l, n);
}
