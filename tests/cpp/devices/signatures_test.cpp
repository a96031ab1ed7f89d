// Our declarations of the vendor's libraries are those of their headers: compared when this is compiled, if
// the headers are installed. Pointers count as pointers and enumerations as ints: the ABI knows no more of
// them.

#include <gtest/gtest.h>

#include "devices/libraries/abi.h"

#ifdef INGOT_HAS_VENDOR_HEADERS

#include <cublas_v2.h>
#include <cufft.h>
#include <curand.h>
#include <cusolverDn.h>
#include <cusparse.h>
#include <dlfcn.h>

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace ingot::devices {

namespace {

template <class T>
struct AbiOf {
  using type = T;
};
template <class T>
  requires std::is_pointer_v<T>
struct AbiOf<T> {
  using type = void*;
};
template <class T>
  requires std::is_enum_v<T>
struct AbiOf<T> {
  static_assert(sizeof(T) == sizeof(int));
  using type = int;
};
template <class T>
  requires(std::is_integral_v<T> && sizeof(T) == 8)
struct AbiOf<T> {
  using type = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
};

template <class T>
struct AbiOfFunction;
template <class R, class... A>
struct AbiOfFunction<R (*)(A...)> {
  using type = typename AbiOf<R>::type (*)(typename AbiOf<A>::type...);
};

template <class Ours, class Theirs>
constexpr bool is_same_abi =
    std::is_same_v<typename AbiOfFunction<Ours>::type, typename AbiOfFunction<Theirs>::type>;

// In C++ the header has this function for other types, too.
using Gemm = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                                const void*, const void*, cudaDataType, int, long long, const void*,
                                cudaDataType, int, long long, const void*, void*, cudaDataType, int,
                                long long, int, cublasComputeType_t, cublasGemmAlgo_t);
template <class Ours>
constexpr auto theirs(Gemm function) {
  return function;
}
template <class Ours, class Theirs>
constexpr auto theirs(Theirs* function) {
  return function;
}

#define INGOT_CHECK(table, name, symbol) \
  static_assert(is_same_abi<decltype(table::name), decltype(theirs<void>(&::symbol))>, #symbol);
#define INGOT_CHECK_BLAS(name, symbol, parameters) INGOT_CHECK(BlasFunctions, name, symbol)
#define INGOT_CHECK_FFT(name, symbol, parameters) INGOT_CHECK(FftFunctions, name, symbol)
#define INGOT_CHECK_SOLVER(name, symbol, parameters) INGOT_CHECK(SolverFunctions, name, symbol)
#define INGOT_CHECK_RANDOM(name, symbol, parameters) INGOT_CHECK(RandomFunctions, name, symbol)
#define INGOT_CHECK_SPARSE(name, symbol, parameters) INGOT_CHECK(SparseFunctions, name, symbol)
INGOT_BLAS_FUNCTIONS(INGOT_CHECK_BLAS)
INGOT_FFT_FUNCTIONS(INGOT_CHECK_FFT)
INGOT_SOLVER_FUNCTIONS(INGOT_CHECK_SOLVER)
INGOT_RANDOM_FUNCTIONS(INGOT_CHECK_RANDOM)
INGOT_SPARSE_FUNCTIONS(INGOT_CHECK_SPARSE)

#define INGOT_CHECK_NUMBER(ours, theirs) \
  static_assert(static_cast<int>(ours) == static_cast<int>(theirs), #ours);
INGOT_CHECK_NUMBER(kLibraryFloat32, CUDA_R_32F)
INGOT_CHECK_NUMBER(kLibraryFloat64, CUDA_R_64F)
INGOT_CHECK_NUMBER(kLibraryComplex64, CUDA_C_32F)
INGOT_CHECK_NUMBER(kLibraryComplex128, CUDA_C_64F)
INGOT_CHECK_NUMBER(kAsIs, CUBLAS_OP_N)
INGOT_CHECK_NUMBER(kTransposed, CUBLAS_OP_T)
INGOT_CHECK_NUMBER(kConjugateTransposed, CUBLAS_OP_C)
INGOT_CHECK_NUMBER(kAsIs, CUSPARSE_OPERATION_NON_TRANSPOSE)
INGOT_CHECK_NUMBER(kTransposed, CUSPARSE_OPERATION_TRANSPOSE)
INGOT_CHECK_NUMBER(kConjugateTransposed, CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE)
INGOT_CHECK_NUMBER(kBlasCompute32, CUBLAS_COMPUTE_32F)
INGOT_CHECK_NUMBER(kBlasCompute64, CUBLAS_COMPUTE_64F)
INGOT_CHECK_NUMBER(kBlasAlgorithm, CUBLAS_GEMM_DEFAULT)
INGOT_CHECK_NUMBER(kLower, CUBLAS_FILL_MODE_LOWER)
INGOT_CHECK_NUMBER(kUpper, CUBLAS_FILL_MODE_UPPER)
INGOT_CHECK_NUMBER(kWithoutVectors, CUSOLVER_EIG_MODE_NOVECTOR)
INGOT_CHECK_NUMBER(kWithVectors, CUSOLVER_EIG_MODE_VECTOR)
INGOT_CHECK_NUMBER(kFftRealToComplex32, CUFFT_R2C)
INGOT_CHECK_NUMBER(kFftComplexToReal32, CUFFT_C2R)
INGOT_CHECK_NUMBER(kFftComplex32, CUFFT_C2C)
INGOT_CHECK_NUMBER(kFftRealToComplex64, CUFFT_D2Z)
INGOT_CHECK_NUMBER(kFftComplexToReal64, CUFFT_Z2D)
INGOT_CHECK_NUMBER(kFftComplex64, CUFFT_Z2Z)
INGOT_CHECK_NUMBER(kFftForward, CUFFT_FORWARD)
INGOT_CHECK_NUMBER(kFftInverse, CUFFT_INVERSE)
INGOT_CHECK_NUMBER(kSparseColumns, CUSPARSE_ORDER_COL)
INGOT_CHECK_NUMBER(kSparseRows, CUSPARSE_ORDER_ROW)
INGOT_CHECK_NUMBER(kSparseInt32, CUSPARSE_INDEX_32I)
INGOT_CHECK_NUMBER(kSparseInt64, CUSPARSE_INDEX_64I)
INGOT_CHECK_NUMBER(kSparseFromZero, CUSPARSE_INDEX_BASE_ZERO)
INGOT_CHECK_NUMBER(kSparseAlgorithm, CUSPARSE_SPMV_ALG_DEFAULT)
INGOT_CHECK_NUMBER(kSparseAlgorithm, CUSPARSE_SPMM_ALG_DEFAULT)

}  // namespace

TEST(Signatures, AreThoseOfTheVendorsHeaders) { SUCCEED() << "this was compiled"; }

TEST(Signatures, AreOfFunctionsThatTheVendorsLibrariesHave) {
#define INGOT_NAME(name, symbol, parameters) #symbol,
  const std::pair<const char*, std::vector<const char*>> kFunctions[] = {
      {"libcublas.so", {INGOT_BLAS_FUNCTIONS(INGOT_NAME)}},
      {"libcufft.so", {INGOT_FFT_FUNCTIONS(INGOT_NAME)}},
      {"libcusolver.so", {INGOT_SOLVER_FUNCTIONS(INGOT_NAME)}},
      {"libcurand.so", {INGOT_RANDOM_FUNCTIONS(INGOT_NAME)}},
      {"libcusparse.so", {INGOT_SPARSE_FUNCTIONS(INGOT_NAME)}},
  };
  for (const auto& [file, functions] : kFunctions) {
    const std::string path = std::string(INGOT_VENDOR_LIBRARIES) + "/" + file;
    void* const opened = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (opened == nullptr)
      GTEST_SKIP() << "the vendor's libraries are not next to the headers: " << dlerror();
    for (const char* const function : functions) EXPECT_NE(dlsym(opened, function), nullptr) << function;
  }
}

}  // namespace ingot::devices

#else

TEST(Signatures, AreThoseOfTheVendorsHeaders) {
  GTEST_SKIP() << "the vendor's headers were not there when this was compiled";
}

#endif
