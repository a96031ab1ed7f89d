// Kernels whose PTX is in kernels.ptx: nvcc 13.0 -arch=sm_90 -ptx kernels.cu
#include <cassert>
#include <cstdint>
__constant__ float weights[4] = {1.f, 2.f, 3.f, 4.f};
__device__ int counter = 5;
__device__ const char* names[2] = {"one", "two"};
__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
extern "C" __global__ void fibs(int* out) { out[threadIdx.x] = fib(threadIdx.x % 10); }
extern "C" __global__ void sum_shuffle(const float* x, float* out, int n) {
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
  for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
  __shared__ float part[32];
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0;
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    if (threadIdx.x == 0) atomicAdd(out, v);
  }
}
extern "C" __global__ void tiled(const float* a, const float* b, float* c, int n) {
  __shared__ float ta[16][16], tb[16][16];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  float s = 0;
  for (int k = 0; k < n; k += 16) {
    ta[threadIdx.y][threadIdx.x] = a[y * n + k + threadIdx.x];
    tb[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + x];
    __syncthreads();
    for (int j = 0; j < 16; ++j) s += ta[threadIdx.y][j] * tb[j][threadIdx.x];
    __syncthreads();
  }
  c[y * n + x] = s;
}
struct P {
  double a;
  int k[3];
};
extern "C" __global__ void byval(P p, double* out) { out[threadIdx.x] = p.a + p.k[threadIdx.x % 3]; }
extern "C" __global__ void locals(int* out, int n) {
  int a[16];
  for (int i = 0; i < 16; ++i) a[i] = i * threadIdx.x;
  int s = 0;
  for (int i = 0; i < n; ++i) {
    a[i & 15] += a[(i * 7) & 15];
    s ^= a[i & 15];
  }
  out[threadIdx.x] = s;
}
extern "C" __global__ void dynamic(int* out) {
  extern __shared__ int s[];
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] =
      s[blockDim.x - 1 - threadIdx.x] + counter + (int)weights[threadIdx.x & 3] + names[threadIdx.x & 1][0];
}
extern "C" __global__ void votes(unsigned* out) {
  int t = threadIdx.x;
  out[t] = __ballot_sync(~0u, t & 1) ^ __match_any_sync(~0u, t / 3) ^ __reduce_add_sync(~0u, t) ^
           __activemask() ^ (__all_sync(~0u, t < 40) ? 7 : 0) ^ __popc(__brev(t)) ^ __clz(t) ^ __ffs(t);
  if (t < 16) out[t] += __shfl_sync(0xffff, t * t, (t + 3) & 15, 8);
  int c = __syncthreads_count(t & 1);
  out[t] += c + __syncthreads_or(t == 3);
}
typedef int (*fn)(int);
__device__ __noinline__ int f0(int x) { return x + 1; }
__device__ __noinline__ int f1(int x) { return x * x; }
__device__ fn table[2] = {f0, f1};
extern "C" __global__ void indirect(int* out) { out[threadIdx.x] = table[threadIdx.x & 1](threadIdx.x); }
extern "C" __global__ void lock(int* mutex, int* value) {
  for (bool done = false; !done;) {
    if (atomicCAS(mutex, 0, 1) == 0) {
      *(volatile int*)value += 1;
      __threadfence();
      atomicExch(mutex, 0);
      done = true;
    }
  }
}
extern "C" __global__ void ints(const long long* x, const long long* y, long long* z) {
  int i = threadIdx.x;
  z[i] = x[i] / (y[i] | 1) + x[i] % (y[i] | 1) + __mul64hi(x[i], y[i]) + (int)x[i] / ((int)y[i] | 1) +
         __popcll(x[i]) + __clzll(y[i]) + (long long)__brevll(x[i]) +
         __funnelshift_l((unsigned)x[i], (unsigned)y[i], 5) +
         __byte_perm((unsigned)x[i], (unsigned)y[i], 0x3175) + (short)x[i] * (signed char)y[i] +
         min((unsigned)x[i], (unsigned)y[i]) + __sad((int)x[i], (int)y[i], 3u);
}
extern "C" __global__ void asserts(int n) { assert(n < 3); }
extern "C" __global__ void switches(int* out) {
  int t = threadIdx.x, r = 0;
  switch (t % 9) {
    case 0: r = 3; break;
    case 1: r = t * t; break;
    case 2:
      for (int i = 0; i < t; ++i) r += i;
      break;
    case 3: r = -t; break;
    case 4: r = t ^ 77; break;
    case 5: r = 12; break;
    case 6: r = t / 3;
    case 7: r += 1; break;
    default: r = 99;
  }
  out[t] = r;
}
