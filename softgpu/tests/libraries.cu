// Kernels whose PTX is in libraries.ptx: nvcc 13.0 -arch=sm_90 -std=c++17 -ptx libraries.cu
#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_pipeline.h>
#include <mma.h>

#include <cuda/barrier>

namespace cg = cooperative_groups;

// Rows come through two buffers, the next while the one before is summed.
extern "C" __global__ void pipelined(const float4* rows, int count, float4* sums) {
  __shared__ float4 buffer[2][128];
  const int t = threadIdx.x;
  float4 sum = make_float4(0, 0, 0, 0);
  __pipeline_memcpy_async(&buffer[0][t], &rows[t], sizeof(float4));
  __pipeline_commit();
  for (int k = 0; k < count; ++k) {
    if (k + 1 < count)
      __pipeline_memcpy_async(&buffer[(k + 1) & 1][t], &rows[(k + 1) * 128 + t], sizeof(float4));
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    const float4 other = buffer[k & 1][127 - t];
    sum.x += other.x, sum.y += other.y, sum.z += other.z, sum.w += other.w;
    __syncthreads();
  }
  sums[t] = sum;
}

// A barrier that is an object: half of the threads give, the others take.
extern "C" __global__ void handed_over(int* out) {
  using Barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ alignas(8) char storage[2 * sizeof(Barrier)];
  __shared__ int box[64];
  Barrier* full = reinterpret_cast<Barrier*>(storage);
  Barrier* empty = full + 1;
  const int t = threadIdx.x;
  if (t == 0) {
    init(full, 128);
    init(empty, 128);
  }
  __syncthreads();
  for (int round = 0; round < 5; ++round) {
    if (t < 64) {
      if (round > 0) empty->arrive_and_wait();
      box[t] = 100 * round + t;
      full->arrive();
    } else {
      full->arrive_and_wait();
      out[round * 64 + t - 64] = box[127 - t];
      if (round < 4) empty->arrive();
    }
  }
}

// 16 by 16 times 16 by 8, by the tensor core's op.
extern "C" __global__ void multiply(const half* a, const half* b, float* c) {
  __shared__ alignas(16) half left[16 * 16], right[16 * 8];
  const int t = threadIdx.x;
  for (int k = t; k < 256; k += 32) left[k] = a[k];
  for (int k = t; k < 128; k += 32) right[k] = b[k];
  __syncwarp();
  unsigned p[4], q[2];
  const unsigned from = __cvta_generic_to_shared(left + (t % 16) * 16 + (t / 16) * 8);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(p[0]), "=r"(p[1]), "=r"(p[2]), "=r"(p[3])
               : "r"(from));
  const unsigned by = __cvta_generic_to_shared(right + (t % 16) * 8);
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
               : "=r"(q[0]), "=r"(q[1])
               : "r"(by));
  float d[4] = {1, 1, 1, 1};
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(p[0]), "r"(p[1]), "r"(p[2]), "r"(p[3]), "r"(q[0]), "r"(q[1]));
  const int row = t / 4, column = 2 * (t % 4);
  c[row * 8 + column] = d[0], c[row * 8 + column + 1] = d[1];
  c[(row + 8) * 8 + column] = d[2], c[(row + 8) * 8 + column + 1] = d[3];
}

// The same in doubles, 8 by 4 times 4 by 8.
extern "C" __global__ void multiply_doubles(const double* a, const double* b, double* c) {
  const int t = threadIdx.x;
  double d[2] = {0, 0};
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
               : "+d"(d[0]), "+d"(d[1])
               : "d"(a[t / 4 * 4 + t % 4]), "d"(b[t % 4 * 8 + t / 4]));
  c[t / 4 * 8 + 2 * (t % 4)] = d[0], c[t / 4 * 8 + 2 * (t % 4) + 1] = d[1];
}

// The library's fragments.
extern "C" __global__ void multiply_fragments(const half* a, const half* b, float* c) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, half, row_major> left;
  fragment<matrix_b, 16, 16, 16, half, col_major> right;
  fragment<accumulator, 16, 16, 16, float> sum;
  fill_fragment(sum, 0.0f);
  load_matrix_sync(left, a, 16);
  load_matrix_sync(right, b, 16);
  mma_sync(sum, left, right, sum);
  store_matrix_sync(c, sum, 16, mem_row_major);
}

// Each thread has as many numbers as its own count.
extern "C" __global__ void on_the_stack(const int* counts, int* sums) {
  const int n = counts[threadIdx.x];
  int* const numbers = static_cast<int*>(alloca(n * sizeof(int)));
  for (int k = 0; k < n; ++k) numbers[k] = k * (threadIdx.x + 1);
  int sum = 0;
  for (int k = 0; k < n; ++k) sum += numbers[n - 1 - k];
  sums[threadIdx.x] = sum;
}

extern "C" __global__ void print_things(int value, double number) {
  if (threadIdx.x < 2)
    printf("thread %d: %5d %-4u|%lld %.3f %c %s %%\n", threadIdx.x, value, 7u, 1ll << 40, number, 'x',
           "text");
}

// A list of the heap's pieces, made and given back.
extern "C" __global__ void on_the_heap(int count, int* sums) {
  struct Node {
    Node* next;
    int value;
  };
  Node* head = nullptr;
  for (int k = 0; k < count; ++k) {
    Node* const node = static_cast<Node*>(malloc(sizeof(Node)));
    node->next = head, node->value = k + threadIdx.x;
    head = node;
  }
  int sum = 0;
  while (head != nullptr) {
    Node* const node = head;
    sum += node->value;
    head = node->next;
    free(node);
  }
  sums[threadIdx.x] = sum;
}

extern "C" __global__ void through_bytes(const float* from, float* fours, float* fives) {
  const int t = threadIdx.x;
  const __nv_fp8x2_e4m3 four(make_float2(from[2 * t], from[2 * t + 1]));
  const __nv_fp8x2_e5m2 five(make_float2(from[2 * t], from[2 * t + 1]));
  const float2 a = static_cast<float2>(four), b = static_cast<float2>(five);
  fours[2 * t] = a.x, fours[2 * t + 1] = a.y, fives[2 * t] = b.x, fives[2 * t + 1] = b.y;
}

extern "C" __global__ void in_pairs(const half2* a, const half2* b, half2* equal, unsigned* least,
                                    float4* sum) {
  const int t = threadIdx.x;
  equal[t] = __heq2(a[t], b[t]);
  least[t] = __vminu2(*reinterpret_cast<const unsigned*>(a + t), *reinterpret_cast<const unsigned*>(b + t));
  atomicAdd(sum, make_float4(1, t, 2 * t, 0.5f));
}

// Each block writes, all wait, each reads what its neighbour has written.
extern "C" __global__ void all_together(int* numbers, int* out) {
  const cg::grid_group grid = cg::this_grid();
  numbers[grid.thread_rank()] = static_cast<int>(grid.thread_rank());
  grid.sync();
  out[grid.thread_rank()] = numbers[(grid.thread_rank() + blockDim.x) % grid.size()];
}
