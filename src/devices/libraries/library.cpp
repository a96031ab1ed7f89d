#include "devices/libraries/library.h"

#include <dlfcn.h>

#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace ingot::devices {

namespace {

/// The names, in a library's headers, of the numbers that its functions return.
struct StatusName {
  LibraryStatus status;
  const char* name;
};

struct LibraryInfo {
  const char* name;
  std::array<const char*, 4> files;  ///< newest first
  const char* prefix;                ///< of the names of statuses
  std::span<const StatusName> statuses;
};

constexpr StatusName kBlasStatuses[] = {
    {1, "NOT_INITIALIZED"}, {3, "ALLOC_FAILED"},   {7, "INVALID_VALUE"},
    {8, "ARCH_MISMATCH"},   {11, "MAPPING_ERROR"}, {13, "EXECUTION_FAILED"},
    {14, "INTERNAL_ERROR"}, {15, "NOT_SUPPORTED"}, {16, "LICENSE_ERROR"}};
constexpr StatusName kFftStatuses[] = {{1, "INVALID_PLAN"},    {2, "ALLOC_FAILED"},   {3, "INVALID_TYPE"},
                                       {4, "INVALID_VALUE"},   {5, "INTERNAL_ERROR"}, {6, "EXEC_FAILED"},
                                       {7, "SETUP_FAILED"},    {8, "INVALID_SIZE"},   {9, "UNALIGNED_DATA"},
                                       {11, "INVALID_DEVICE"}, {13, "NO_WORKSPACE"},  {14, "NOT_IMPLEMENTED"},
                                       {16, "NOT_SUPPORTED"}};
constexpr StatusName kSolverStatuses[] = {{1, "NOT_INITIALIZED"},  {2, "ALLOC_FAILED"},
                                          {3, "INVALID_VALUE"},    {4, "ARCH_MISMATCH"},
                                          {5, "MAPPING_ERROR"},    {6, "EXECUTION_FAILED"},
                                          {7, "INTERNAL_ERROR"},   {8, "MATRIX_TYPE_NOT_SUPPORTED"},
                                          {9, "NOT_SUPPORTED"},    {10, "ZERO_PIVOT"},
                                          {11, "INVALID_LICENSE"}, {31, "INVALID_WORKSPACE"}};
constexpr StatusName kRandomStatuses[] = {{100, "VERSION_MISMATCH"},
                                          {101, "NOT_INITIALIZED"},
                                          {102, "ALLOCATION_FAILED"},
                                          {103, "TYPE_ERROR"},
                                          {104, "OUT_OF_RANGE"},
                                          {105, "LENGTH_NOT_MULTIPLE"},
                                          {106, "DOUBLE_PRECISION_REQUIRED"},
                                          {201, "LAUNCH_FAILURE"},
                                          {202, "PREEXISTING_FAILURE"},
                                          {203, "INITIALIZATION_FAILED"},
                                          {204, "ARCH_MISMATCH"},
                                          {999, "INTERNAL_ERROR"}};
constexpr StatusName kSparseStatuses[] = {{1, "NOT_INITIALIZED"},
                                          {2, "ALLOC_FAILED"},
                                          {3, "INVALID_VALUE"},
                                          {4, "ARCH_MISMATCH"},
                                          {5, "MAPPING_ERROR"},
                                          {6, "EXECUTION_FAILED"},
                                          {7, "INTERNAL_ERROR"},
                                          {8, "MATRIX_TYPE_NOT_SUPPORTED"},
                                          {9, "ZERO_PIVOT"},
                                          {10, "NOT_SUPPORTED"},
                                          {11, "INSUFFICIENT_RESOURCES"}};

/// By `LibraryKind`.
constexpr LibraryInfo kLibraries[] = {
    {"cuBLAS", {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"}, "CUBLAS_STATUS_", kBlasStatuses},
    {"cuFFT", {"libcufft.so.12", "libcufft.so.11", "libcufft.so.10"}, "CUFFT_", kFftStatuses},
    {"cuSOLVER", {"libcusolver.so.12", "libcusolver.so.11"}, "CUSOLVER_STATUS_", kSolverStatuses},
    {"cuRAND", {"libcurand.so.10"}, "CURAND_STATUS_", kRandomStatuses},
    {"cuSPARSE", {"libcusparse.so.12", "libcusparse.so.11"}, "CUSPARSE_STATUS_", kSparseStatuses},
};

const LibraryInfo& info_of(LibraryKind kind) { return kLibraries[static_cast<size_t>(kind)]; }

/// That a library is a stand-in for the software device.
constexpr const char* kStandIn = "ingot_stand_in";

}  // namespace

LibraryFile::LibraryFile(const CudaDevice& device, LibraryKind kind, const std::vector<std::string>& folders)
    : kind_(kind) {
  namespace fs = std::filesystem;
  const bool is_emulated = device.properties().kind == "emulated";
  std::vector<std::string> candidates;
  const auto add = [&](const fs::path& folder) {
    for (const char* const file : info_of(kind).files)
      if (std::error_code error; file != nullptr && fs::exists(folder / file, error))
        candidates.push_back(folder / file);
  };
  if (is_emulated) {
    add(fs::path(device.driver().path()).parent_path() / "libraries");
  } else {
    for (const std::string& folder : folders) add(folder);
    for (const char* const file : info_of(kind).files)
      if (file != nullptr) candidates.emplace_back(file);
    add("/usr/local/cuda/lib64");
  }
  std::string why =
      is_emulated ? "the software device has none, but for its tests (INGOT_TESTS=ON)" : "it was not found";
  for (const std::string& candidate : candidates) {
    void* const opened = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    const char* const error = opened == nullptr ? dlerror() : nullptr;
    if (opened != nullptr && (dlsym(opened, kStandIn) != nullptr) == is_emulated) {
      handle_ = opened;
      path_ = candidate;
      return;
    }
    // The loader's message for a missing file is too short.
    if (error != nullptr && candidate.find('/') != std::string::npos) why = error;
    if (opened != nullptr) why = candidate + " is for another kind of device";
  }
  throw DeviceError(device.name() + ": there is no " + name() + ": " + why);
}

const char* LibraryFile::name() const { return info_of(kind_).name; }

void* LibraryFile::function(const char* symbol) const {
  void* const found = dlsym(handle_, symbol);
  if (found == nullptr) throw DeviceError(path_ + " is too old, or none: it has no function " + symbol);
  return found;
}

std::string LibraryFile::status_name(LibraryStatus status) const {
  const LibraryInfo& info = info_of(kind_);
  for (const StatusName& known : info.statuses)
    if (known.status == status) return std::string(info.prefix) + known.name;
  return "status " + std::to_string(status);
}

void fail_in_library(CudaDevice& device, const LibraryFile& file, LibraryStatus status, const char* what) {
  (void)device.stream().is_done();  // throws the failure of the device
  const std::string name = file.status_name(status);
  const std::string message = device.name() + ": " + file.name() + ": " + what + ": " + name;
  if (name.find("ALLOC") != std::string::npos) throw OutOfMemory(0, message);
  throw LibraryError(name, message);
}

bool has_library_type(base::DType dtype) { return dtype >= base::DType::Float32; }

LibraryType library_type(base::DType dtype) {
  switch (dtype) {
    case base::DType::Float32: return kLibraryFloat32;
    case base::DType::Float64: return kLibraryFloat64;
    case base::DType::Complex64: return kLibraryComplex64;
    case base::DType::Complex128: return kLibraryComplex128;
    default: throw base::InternalError("devices: libraries do not compute with this dtype");
  }
}

LibraryScalar::LibraryScalar(base::DType dtype, std::complex<double> value) {
  const auto put = [&](const auto& number) { std::memcpy(bytes_, &number, sizeof number); };
  switch (library_type(dtype)) {
    case kLibraryFloat32: put(static_cast<float>(value.real())); break;
    case kLibraryFloat64: put(value.real()); break;
    case kLibraryComplex64:
      put(std::complex<float>(static_cast<float>(value.real()), static_cast<float>(value.imag())));
      break;
    case kLibraryComplex128: put(value); break;
  }
}

std::complex<double> library_number(base::DType dtype, const std::byte* bytes) {
  const auto get = [&]<class T>(T number) {
    std::memcpy(&number, bytes, sizeof number);
    return std::complex<double>(number);
  };
  switch (library_type(dtype)) {
    case kLibraryFloat32: return get(0.0F);
    case kLibraryFloat64: return get(0.0);
    case kLibraryComplex64: return get(std::complex<float>());
    case kLibraryComplex128: return get(std::complex<double>());
  }
  return {};
}

int library_int(const CudaDevice& device, int64_t number) {
  if (!is_library_int(number))
    throw DeviceError(device.name() + ": a library takes no length of " + std::to_string(number));
  return static_cast<int>(number);
}

}  // namespace ingot::devices
