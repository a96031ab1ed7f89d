#pragma once

#include <cstddef>
#include <cstdint>

#include "devices/cuda_driver.h"

/// The ABI of the libraries for the CUDA driver's devices, as far as it is used here: cuBLAS from version 11
/// on, cuFFT from 10, cuSOLVER from 11, cuRAND from 10, cuSPARSE from 11. Names and numbers are written anew;
/// handles are pointers, but cuFFT's, which are ints. `tests/cpp/devices/signatures_test.cpp` compares all
/// of it with the toolkit's headers.
namespace ingot::devices {

/// What functions return: 0, or a number that `Library::status_name` knows.
using LibraryStatus = int;

/// cudaDataType.
enum LibraryType : int {
  kLibraryFloat32 = 0,
  kLibraryFloat64 = 1,
  kLibraryComplex64 = 4,
  kLibraryComplex128 = 5,
};

/// cublasOperation_t, cusparseOperation_t.
enum LibraryOperation : int { kAsIs = 0, kTransposed = 1, kConjugateTransposed = 2 };

/// cublasComputeType_t.
enum BlasCompute : int { kBlasCompute32 = 68, kBlasCompute64 = 70 };
constexpr int kBlasAlgorithm = -1;  ///< cublasGemmAlgo_t: the library chooses

/// cublasFillMode_t.
enum LibraryTriangle : int { kLower = 0, kUpper = 1 };

/// cusolverEigMode_t.
enum SolverVectors : int { kWithoutVectors = 0, kWithVectors = 1 };

/// cufftType.
enum FftType : int {
  kFftRealToComplex32 = 0x2a,
  kFftComplexToReal32 = 0x2c,
  kFftComplex32 = 0x29,
  kFftRealToComplex64 = 0x6a,
  kFftComplexToReal64 = 0x6c,
  kFftComplex64 = 0x69,
};
constexpr int kFftForward = -1;
constexpr int kFftInverse = 1;

/// cusparseOrder_t, cusparseIndexType_t, cusparseIndexBase_t.
enum SparseOrder : int { kSparseColumns = 1, kSparseRows = 2 };
enum SparseIndex : int { kSparseInt32 = 2, kSparseInt64 = 3 };
constexpr int kSparseFromZero = 0;
constexpr int kSparseAlgorithm = 0;  ///< cusparseSpMVAlg_t, cusparseSpMMAlg_t: the library chooses

using LibraryStream = CudaStreamHandle;
using BlasHandle = struct BlasObject*;
using SolverHandle = struct SolverObject*;
using SolverParameters = struct SolverParametersObject*;
using RandomHandle = struct RandomObject*;
using SparseHandle = struct SparseObject*;
using SparseMatrixHandle = struct SparseMatrixObject*;
using DenseMatrixHandle = struct DenseMatrixObject*;
using DenseVectorHandle = struct DenseVectorObject*;

// name here, name of the ABI, parameters
// clang-format off
#define INGOT_BLAS_FUNCTIONS(FUNCTION) \
  FUNCTION(create, cublasCreate_v2, (BlasHandle* handle)) \
  FUNCTION(destroy, cublasDestroy_v2, (BlasHandle handle)) \
  FUNCTION(set_stream, cublasSetStream_v2, (BlasHandle handle, LibraryStream stream)) \
  FUNCTION(version, cublasGetVersion_v2, (BlasHandle handle, int* version)) \
  FUNCTION(gemm, cublasGemmStridedBatchedEx, \
           (BlasHandle handle, LibraryOperation transposes_a, LibraryOperation transposes_b, int m, int n, int k, \
            const void* alpha, const void* a, LibraryType type_a, int lead_a, long long stride_a, const void* b, \
            LibraryType type_b, int lead_b, long long stride_b, const void* beta, void* c, LibraryType type_c, \
            int lead_c, long long stride_c, int batch, BlasCompute compute, int algorithm)) \
  FUNCTION(axpy, cublasAxpyEx, \
           (BlasHandle handle, int n, const void* alpha, LibraryType type_alpha, const void* x, LibraryType type_x, \
            int step_x, void* y, LibraryType type_y, int step_y, LibraryType compute)) \
  FUNCTION(dot, cublasDotEx, \
           (BlasHandle handle, int n, const void* x, LibraryType type_x, int step_x, const void* y, LibraryType type_y, \
            int step_y, void* result, LibraryType type_result, LibraryType compute)) \
  FUNCTION(dot_conjugate, cublasDotcEx, \
           (BlasHandle handle, int n, const void* x, LibraryType type_x, int step_x, const void* y, LibraryType type_y, \
            int step_y, void* result, LibraryType type_result, LibraryType compute)) \
  FUNCTION(scale, cublasScalEx, \
           (BlasHandle handle, int n, const void* alpha, LibraryType type_alpha, void* x, LibraryType type_x, int step_x, \
            LibraryType compute)) \
  FUNCTION(norm, cublasNrm2Ex, \
           (BlasHandle handle, int n, const void* x, LibraryType type_x, int step_x, void* result, \
            LibraryType type_result, LibraryType compute)) \
  FUNCTION(sizes, cublasAsumEx, \
           (BlasHandle handle, int n, const void* x, LibraryType type_x, int step_x, void* result, \
            LibraryType type_result, LibraryType compute)) \
  FUNCTION(largest, cublasIamaxEx, \
           (BlasHandle handle, int n, const void* x, LibraryType type_x, int step_x, int* result)) \
  FUNCTION(smallest, cublasIaminEx, \
           (BlasHandle handle, int n, const void* x, LibraryType type_x, int step_x, int* result)) \
  FUNCTION(copy, cublasCopyEx, \
           (BlasHandle handle, int n, const void* x, LibraryType type_x, int step_x, void* y, LibraryType type_y, \
            int step_y)) \
  FUNCTION(swap, cublasSwapEx, \
           (BlasHandle handle, int n, void* x, LibraryType type_x, int step_x, void* y, LibraryType type_y, int step_y))

#define INGOT_FFT_FUNCTIONS(FUNCTION) \
  FUNCTION(create, cufftCreate, (int* plan)) \
  FUNCTION(destroy, cufftDestroy, (int plan)) \
  FUNCTION(set_stream, cufftSetStream, (int plan, LibraryStream stream)) \
  FUNCTION(version, cufftGetVersion, (int* version)) \
  FUNCTION(set_allocation, cufftSetAutoAllocation, (int plan, int allocates)) \
  FUNCTION(set_work_area, cufftSetWorkArea, (int plan, void* memory)) \
  FUNCTION(make_plan, cufftMakePlanMany64, \
           (int plan, int rank, long long* lengths, long long* input_lengths, long long input_step, \
            long long input_distance, long long* output_lengths, long long output_step, \
            long long output_distance, FftType type, long long batch, size_t* work_bytes)) \
  FUNCTION(complex32, cufftExecC2C, (int plan, void* input, void* output, int direction)) \
  FUNCTION(to_complex32, cufftExecR2C, (int plan, void* input, void* output)) \
  FUNCTION(to_real32, cufftExecC2R, (int plan, void* input, void* output)) \
  FUNCTION(complex64, cufftExecZ2Z, (int plan, void* input, void* output, int direction)) \
  FUNCTION(to_complex64, cufftExecD2Z, (int plan, void* input, void* output)) \
  FUNCTION(to_real64, cufftExecZ2D, (int plan, void* input, void* output))

#define INGOT_SOLVER_FUNCTIONS(FUNCTION) \
  FUNCTION(create, cusolverDnCreate, (SolverHandle* handle)) \
  FUNCTION(destroy, cusolverDnDestroy, (SolverHandle handle)) \
  FUNCTION(set_stream, cusolverDnSetStream, (SolverHandle handle, LibraryStream stream)) \
  FUNCTION(version, cusolverGetVersion, (int* version)) \
  FUNCTION(create_parameters, cusolverDnCreateParams, (SolverParameters* parameters)) \
  FUNCTION(destroy_parameters, cusolverDnDestroyParams, (SolverParameters parameters)) \
  FUNCTION(lu_bytes, cusolverDnXgetrf_bufferSize, \
           (SolverHandle handle, SolverParameters parameters, int64_t m, int64_t n, LibraryType type_a, const void* a, \
            int64_t lead_a, LibraryType compute, size_t* on_device, size_t* on_host)) \
  FUNCTION(lu, cusolverDnXgetrf, \
           (SolverHandle handle, SolverParameters parameters, int64_t m, int64_t n, LibraryType type_a, void* a, \
            int64_t lead_a, int64_t* pivots, LibraryType compute, void* on_device, size_t device_bytes, \
            void* on_host, size_t host_bytes, int* info)) \
  FUNCTION(lu_solve, cusolverDnXgetrs, \
           (SolverHandle handle, SolverParameters parameters, LibraryOperation transposes, int64_t n, int64_t columns, \
            LibraryType type_a, const void* a, int64_t lead_a, const int64_t* pivots, LibraryType type_b, void* b, \
            int64_t lead_b, int* info)) \
  FUNCTION(cholesky_bytes, cusolverDnXpotrf_bufferSize, \
           (SolverHandle handle, SolverParameters parameters, LibraryTriangle triangle, int64_t n, LibraryType type_a, \
            const void* a, int64_t lead_a, LibraryType compute, size_t* on_device, size_t* on_host)) \
  FUNCTION(cholesky, cusolverDnXpotrf, \
           (SolverHandle handle, SolverParameters parameters, LibraryTriangle triangle, int64_t n, LibraryType type_a, \
            void* a, int64_t lead_a, LibraryType compute, void* on_device, size_t device_bytes, void* on_host, \
            size_t host_bytes, int* info)) \
  FUNCTION(qr_bytes, cusolverDnXgeqrf_bufferSize, \
           (SolverHandle handle, SolverParameters parameters, int64_t m, int64_t n, LibraryType type_a, const void* a, \
            int64_t lead_a, LibraryType type_tau, const void* tau, LibraryType compute, size_t* on_device, \
            size_t* on_host)) \
  FUNCTION(qr, cusolverDnXgeqrf, \
           (SolverHandle handle, SolverParameters parameters, int64_t m, int64_t n, LibraryType type_a, void* a, \
            int64_t lead_a, LibraryType type_tau, void* tau, LibraryType compute, void* on_device, \
            size_t device_bytes, void* on_host, size_t host_bytes, int* info)) \
  FUNCTION(eigen_bytes, cusolverDnXsyevd_bufferSize, \
           (SolverHandle handle, SolverParameters parameters, SolverVectors vectors, LibraryTriangle triangle, \
            int64_t n, LibraryType type_a, const void* a, int64_t lead_a, LibraryType type_w, const void* w, \
            LibraryType compute, size_t* on_device, size_t* on_host)) \
  FUNCTION(eigen, cusolverDnXsyevd, \
           (SolverHandle handle, SolverParameters parameters, SolverVectors vectors, LibraryTriangle triangle, \
            int64_t n, LibraryType type_a, void* a, int64_t lead_a, LibraryType type_w, void* w, \
            LibraryType compute, void* on_device, size_t device_bytes, void* on_host, size_t host_bytes, \
            int* info)) \
  FUNCTION(svd_bytes, cusolverDnXgesvd_bufferSize, \
           (SolverHandle handle, SolverParameters parameters, signed char job_u, signed char job_v, int64_t m, \
            int64_t n, LibraryType type_a, const void* a, int64_t lead_a, LibraryType type_s, const void* s, \
            LibraryType type_u, const void* u, int64_t lead_u, LibraryType type_v, const void* v, int64_t lead_v, \
            LibraryType compute, size_t* on_device, size_t* on_host)) \
  FUNCTION(svd, cusolverDnXgesvd, \
           (SolverHandle handle, SolverParameters parameters, signed char job_u, signed char job_v, int64_t m, \
            int64_t n, LibraryType type_a, void* a, int64_t lead_a, LibraryType type_s, void* s, \
            LibraryType type_u, void* u, int64_t lead_u, LibraryType type_v, void* v, int64_t lead_v, \
            LibraryType compute, void* on_device, size_t device_bytes, void* on_host, size_t host_bytes, \
            int* info)) \
  FUNCTION(q_length_float32, cusolverDnSorgqr_bufferSize, \
           (SolverHandle handle, int m, int n, int k, const void* a, int lead_a, const void* tau, int* length)) \
  FUNCTION(q_length_float64, cusolverDnDorgqr_bufferSize, \
           (SolverHandle handle, int m, int n, int k, const void* a, int lead_a, const void* tau, int* length)) \
  FUNCTION(q_length_complex64, cusolverDnCungqr_bufferSize, \
           (SolverHandle handle, int m, int n, int k, const void* a, int lead_a, const void* tau, int* length)) \
  FUNCTION(q_length_complex128, cusolverDnZungqr_bufferSize, \
           (SolverHandle handle, int m, int n, int k, const void* a, int lead_a, const void* tau, int* length)) \
  FUNCTION(q_float32, cusolverDnSorgqr, \
           (SolverHandle handle, int m, int n, int k, void* a, int lead_a, const void* tau, void* work, int length, \
            int* info)) \
  FUNCTION(q_float64, cusolverDnDorgqr, \
           (SolverHandle handle, int m, int n, int k, void* a, int lead_a, const void* tau, void* work, int length, \
            int* info)) \
  FUNCTION(q_complex64, cusolverDnCungqr, \
           (SolverHandle handle, int m, int n, int k, void* a, int lead_a, const void* tau, void* work, int length, \
            int* info)) \
  FUNCTION(q_complex128, cusolverDnZungqr, \
           (SolverHandle handle, int m, int n, int k, void* a, int lead_a, const void* tau, void* work, int length, \
            int* info))

#define INGOT_RANDOM_FUNCTIONS(FUNCTION) \
  FUNCTION(version, curandGetVersion, (int* version)) \
  FUNCTION(create, curandCreateGenerator, (RandomHandle* generator, int type)) \
  FUNCTION(destroy, curandDestroyGenerator, (RandomHandle generator)) \
  FUNCTION(set_stream, curandSetStream, (RandomHandle generator, LibraryStream stream)) \
  FUNCTION(set_seed, curandSetPseudoRandomGeneratorSeed, \
           (RandomHandle generator, unsigned long long seed)) \
  FUNCTION(set_offset, curandSetGeneratorOffset, \
           (RandomHandle generator, unsigned long long offset)) \
  FUNCTION(set_dimensions, curandSetQuasiRandomGeneratorDimensions, \
           (RandomHandle generator, unsigned dimensions)) \
  FUNCTION(bits32, curandGenerate, (RandomHandle generator, uint32_t* output, size_t count)) \
  FUNCTION(bits64, curandGenerateLongLong, \
           (RandomHandle generator, unsigned long long* output, size_t count)) \
  FUNCTION(uniform32, curandGenerateUniform, \
           (RandomHandle generator, float* output, size_t count)) \
  FUNCTION(uniform64, curandGenerateUniformDouble, \
           (RandomHandle generator, double* output, size_t count)) \
  FUNCTION(normal32, curandGenerateNormal, \
           (RandomHandle generator, float* output, size_t count, float mean, float deviation)) \
  FUNCTION(normal64, curandGenerateNormalDouble, \
           (RandomHandle generator, double* output, size_t count, double mean, double deviation)) \
  FUNCTION(log_normal32, curandGenerateLogNormal, \
           (RandomHandle generator, float* output, size_t count, float mean, float deviation)) \
  FUNCTION(log_normal64, curandGenerateLogNormalDouble, \
           (RandomHandle generator, double* output, size_t count, double mean, double deviation)) \
  FUNCTION(poisson, curandGeneratePoisson, \
           (RandomHandle generator, uint32_t* output, size_t count, double mean))

#define INGOT_SPARSE_FUNCTIONS(FUNCTION) \
  FUNCTION(create, cusparseCreate, (SparseHandle* handle)) \
  FUNCTION(destroy, cusparseDestroy, (SparseHandle handle)) \
  FUNCTION(set_stream, cusparseSetStream, (SparseHandle handle, LibraryStream stream)) \
  FUNCTION(version, cusparseGetVersion, (SparseHandle handle, int* version)) \
  FUNCTION(create_rows, cusparseCreateCsr, \
           (SparseMatrixHandle* matrix, int64_t rows, int64_t columns, int64_t count, void* starts, void* column_indices, \
            void* values, SparseIndex type_starts, SparseIndex type_columns, int base, LibraryType type)) \
  FUNCTION(destroy_matrix, cusparseDestroySpMat, (SparseMatrixHandle matrix)) \
  FUNCTION(create_vector, cusparseCreateDnVec, \
           (DenseVectorHandle* vector, int64_t length, void* values, LibraryType type)) \
  FUNCTION(destroy_vector, cusparseDestroyDnVec, (DenseVectorHandle vector)) \
  FUNCTION(create_dense, cusparseCreateDnMat, \
           (DenseMatrixHandle* matrix, int64_t rows, int64_t columns, int64_t lead, void* values, LibraryType type, \
            SparseOrder order)) \
  FUNCTION(destroy_dense, cusparseDestroyDnMat, (DenseMatrixHandle matrix)) \
  FUNCTION(by_vector_bytes, cusparseSpMV_bufferSize, \
           (SparseHandle handle, LibraryOperation transposes, const void* alpha, SparseMatrixHandle a, DenseVectorHandle x, \
            const void* beta, DenseVectorHandle y, LibraryType compute, int algorithm, size_t* bytes)) \
  FUNCTION(by_vector, cusparseSpMV, \
           (SparseHandle handle, LibraryOperation transposes, const void* alpha, SparseMatrixHandle a, DenseVectorHandle x, \
            const void* beta, DenseVectorHandle y, LibraryType compute, int algorithm, void* work)) \
  FUNCTION(by_matrix_bytes, cusparseSpMM_bufferSize, \
           (SparseHandle handle, LibraryOperation transposes_a, LibraryOperation transposes_b, const void* alpha, \
            SparseMatrixHandle a, DenseMatrixHandle b, const void* beta, DenseMatrixHandle c, LibraryType compute, int algorithm, \
            size_t* bytes)) \
  FUNCTION(by_matrix, cusparseSpMM, \
           (SparseHandle handle, LibraryOperation transposes_a, LibraryOperation transposes_b, const void* alpha, \
            SparseMatrixHandle a, DenseMatrixHandle b, const void* beta, DenseMatrixHandle c, LibraryType compute, int algorithm, \
            void* work))
// clang-format on

#define INGOT_LIBRARY_MEMBER(name, symbol, parameters) LibraryStatus(*name) parameters = nullptr;
struct BlasFunctions {
  INGOT_BLAS_FUNCTIONS(INGOT_LIBRARY_MEMBER)
};
struct FftFunctions {
  INGOT_FFT_FUNCTIONS(INGOT_LIBRARY_MEMBER)
};
struct SolverFunctions {
  INGOT_SOLVER_FUNCTIONS(INGOT_LIBRARY_MEMBER)
};
struct RandomFunctions {
  INGOT_RANDOM_FUNCTIONS(INGOT_LIBRARY_MEMBER)
};
struct SparseFunctions {
  INGOT_SPARSE_FUNCTIONS(INGOT_LIBRARY_MEMBER)
};
#undef INGOT_LIBRARY_MEMBER

}  // namespace ingot::devices
