#include "devices/libraries/solver.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "devices/libraries/placing.h"

namespace ingot::devices {

using base::DType;

namespace {

constexpr size_t kMostHandles = 64;  ///< of streams

DeviceView with_columns(const DeviceView& matrix, int64_t columns) {
  DeviceView part = matrix;
  part.lengths.back() = columns;
  return part;
}

}  // namespace

/// The context is current, the handles of the thread's stream are this thread's; with work memory for the
/// call. The library writes for each matrix whether it has worked.
class Solver::Call {
 public:
  Call(Solver& solver, int64_t matrices)
      : session_(solver.device_),
        solver_(solver),
        infos_(static_cast<size_t>(matrices)),
        info_(solver.device_, matrices * static_cast<int64_t>(sizeof(int))),
        entry_(find()),
        lock_(entry_->mutex) {
    solver.device_.fill(info_.address(), std::byte{0}, matrices * static_cast<int64_t>(sizeof(int)));
  }

  SolverHandle handle() const { return entry_->it.solver; }
  SolverParameters parameters() const { return entry_->it.parameters; }
  Placing& placing() const { return solver_.device_.libraries()->placing(); }
  int* info(int64_t matrix) const { return info_.pointer<int>() + matrix; }

  Scratch& memory(int64_t bytes) {
    scratch_.push_back(std::make_unique<Scratch>(solver_.device_, bytes));
    return *scratch_.back();
  }
  /// A matrix in column-major order, of unspecified elements.
  DeviceView matrix(DType dtype, int64_t rows, int64_t columns) {
    return devices::columns(
        dtype, memory(rows * columns * static_cast<int64_t>(base::size_of(dtype))).address(), rows, columns);
  }
  /// The work memory of a function.
  void work(size_t on_device, size_t on_host) {
    if (!work_ || device_bytes_ < on_device) work_ = &memory(static_cast<int64_t>(on_device));
    device_bytes_ = std::max(device_bytes_, on_device);
    if (host_.size() < on_host) host_.resize(on_host);
  }
  void* on_device() const { return work_->pointer(); }
  size_t device_bytes() const { return device_bytes_; }
  void* on_host() { return host_.data(); }
  size_t host_bytes() const { return host_.size(); }

  /// Waits. The library's status of each matrix: 0: it has worked; above: it has not.
  const std::vector<int>& infos() {
    solver_.device_.read(infos_.data(), info_.address(), static_cast<int64_t>(infos_.size() * sizeof(int)));
    return infos_;
  }
  bool has_worked() {
    return std::ranges::all_of(infos(), [](int info) { return info == 0; });
  }

 private:
  CudaSession session_;
  Solver& solver_;
  std::vector<int> infos_;
  Scratch info_;
  std::vector<std::unique_ptr<Scratch>> scratch_;
  const Scratch* work_ = nullptr;
  size_t device_bytes_ = 0;
  std::vector<std::byte> host_;
  StreamHandles<Handles>::Entry entry_;
  std::unique_lock<std::mutex> lock_;

  StreamHandles<Handles>::Entry find() {
    const SolverFunctions& functions = solver_.functions_;
    const auto make = [&] {
      Handles handles{nullptr, nullptr, &functions};
      solver_.check(functions.create(&handles.solver), "its start");
      auto made = std::make_shared<StreamHandle<Handles>>(handles, [](Handles it) {
        if (it.parameters != nullptr) (void)it.functions->destroy_parameters(it.parameters);
        return it.functions->destroy(it.solver);
      });
      solver_.check(functions.create_parameters(&made->it.parameters), "its parameters");
      solver_.check(functions.set_stream(handles.solver, session_.stream()), "its stream");
      return made;
    };
    return solver_.handles_.find(session_.stream(), make, kMostHandles,
                                 [&] { solver_.device_.synchronize(); });
  }
};

Solver::Solver(CudaDevice& device, const std::vector<std::string>& folders)
    : device_(device), file_(device, LibraryKind::Solver, folders) {
#define INGOT_SOLVER_RESOLVE(name, symbol, parameters) \
  functions_.name = reinterpret_cast<LibraryStatus(*) parameters>(file_.function(#symbol));
  INGOT_SOLVER_FUNCTIONS(INGOT_SOLVER_RESOLVE)
#undef INGOT_SOLVER_RESOLVE
  const Call starts(*this, 1);
}

std::string Solver::description() {
  int version = 0;
  check(functions_.version(&version), "its version");
  return file_.path() + ", version " + std::to_string(version);
}

bool Solver::solve(const DeviceView& a, const DeviceView& b, const DeviceView& x) {
  const int64_t count = x.parts(2);
  const int64_t n = a.lengths.back();
  const int64_t sides = x.lengths.back();
  const LibraryType type = library_type(a.dtype);
  Call call(*this, count);
  const DeviceView lu = call.matrix(a.dtype, n, n);
  const DeviceView right = call.matrix(a.dtype, n, sides);
  auto* const pivots = call.memory(n * static_cast<int64_t>(sizeof(int64_t))).pointer<int64_t>();
  // The status of the second one is ignored: it fails for wrong arguments only.
  int* const solved = call.memory(sizeof(int)).pointer<int>();
  size_t on_device = 0, on_host = 0;
  check(functions_.lu_bytes(call.handle(), call.parameters(), n, n, type, pointer_of(lu.data), n, type,
                            &on_device, &on_host),
        "getrf");
  call.work(on_device, on_host);
  for (int64_t i = 0; i < count; ++i) {
    call.placing().place(lu, a.part(i, 2));
    call.placing().place(right, b.part(i, 2));
    check(functions_.lu(call.handle(), call.parameters(), n, n, type, pointer_of(lu.data), n, pivots, type,
                        call.on_device(), on_device, call.on_host(), on_host, call.info(i)),
          "getrf");
    check(functions_.lu_solve(call.handle(), call.parameters(), kAsIs, n, sides, type, pointer_of(lu.data), n,
                              pivots, type, pointer_of(right.data), n, solved),
          "getrs");
    call.placing().place(x.part(i, 2), right);
  }
  return call.has_worked();
}

bool Solver::inverse(const DeviceView& a, const DeviceView& result) {
  const LibraryScalar one(a.dtype, 1);
  const Scratch memory(device_, a.element());
  device_.write(memory.address(), one.get(), a.element());
  // The identity is the number 1, repeated, of which only the diagonal is used.
  const int64_t n = a.lengths.back();
  const Scratch identity(device_, n * n * a.element());
  const DeviceView whole = columns(a.dtype, identity.address(), n, n);
  device_.libraries()->placing().place(whole, {a.dtype, memory.address(), {n, n}, {0, 0}}, Band::diagonal());
  DeviceView repeated = result;
  repeated.data = whole.data;
  std::fill(repeated.strides.begin(), repeated.strides.end(), 0);
  std::copy(whole.strides.begin(), whole.strides.end(), repeated.strides.end() - 2);
  return solve(a, repeated, result);
}

std::vector<Solver::Determinant> Solver::determinants(const DeviceView& a) {
  const int64_t count = a.parts(2);
  const int64_t n = a.lengths.back();
  const LibraryType type = library_type(a.dtype);
  Call call(*this, count);
  const DeviceView lu = call.matrix(a.dtype, n, n);
  const Scratch& pivots = call.memory(n * static_cast<int64_t>(sizeof(int64_t)));
  const DeviceView diagonal = vector(a.dtype, call.memory(n * a.element()).address(), n);
  const DeviceView on_lu{a.dtype, lu.data, {n, 1}, {lu.strides[0] + lu.strides[1], 0}};
  size_t on_device = 0, on_host = 0;
  check(functions_.lu_bytes(call.handle(), call.parameters(), n, n, type, pointer_of(lu.data), n, type,
                            &on_device, &on_host),
        "getrf");
  call.work(on_device, on_host);
  std::vector<Determinant> found;
  std::vector<std::byte> numbers(static_cast<size_t>(n * a.element()));
  std::vector<int64_t> exchanged(static_cast<size_t>(n));
  for (int64_t i = 0; i < count; ++i) {
    call.placing().place(lu, a.part(i, 2));
    check(functions_.lu(call.handle(), call.parameters(), n, n, type, pointer_of(lu.data), n,
                        pivots.pointer<int64_t>(), type, call.on_device(), on_device, call.on_host(), on_host,
                        call.info(i)),
          "getrf");
    call.placing().place(as_column(diagonal), on_lu);
    device_.read(numbers.data(), diagonal.data, n * a.element());
    device_.read(exchanged.data(), pivots.address(), n * static_cast<int64_t>(sizeof(int64_t)));
    Determinant result{1, 0};
    for (int64_t k = 0; k < n; ++k) {
      const auto at = static_cast<size_t>(k);
      const std::complex<double> number =
          library_number(a.dtype, numbers.data() + at * base::size_of(a.dtype));
      const double size = std::abs(number);
      result.sign *= size == 0 ? 0 : number / size;
      if (exchanged[at] != k + 1) result.sign = -result.sign;
      result.logarithm += std::log(size);
    }
    if (result.sign == 0.0) result = {0, -INFINITY};
    found.push_back(result);
  }
  return found;
}

bool Solver::cholesky(const DeviceView& a, const DeviceView& result, bool is_upper) {
  const int64_t count = a.parts(2);
  const int64_t n = a.lengths.back();
  const LibraryType type = library_type(a.dtype);
  const LibraryTriangle triangle = is_upper ? kUpper : kLower;
  Call call(*this, count);
  const DeviceView factor = call.matrix(a.dtype, n, n);
  size_t on_device = 0, on_host = 0;
  check(functions_.cholesky_bytes(call.handle(), call.parameters(), triangle, n, type,
                                  pointer_of(factor.data), n, type, &on_device, &on_host),
        "potrf");
  call.work(on_device, on_host);
  for (int64_t i = 0; i < count; ++i) {
    call.placing().place(factor, a.part(i, 2));
    check(functions_.cholesky(call.handle(), call.parameters(), triangle, n, type, pointer_of(factor.data), n,
                              type, call.on_device(), on_device, call.on_host(), on_host, call.info(i)),
          "potrf");
    call.placing().place(result.part(i, 2), factor, is_upper ? Band::upper() : Band::lower());
  }
  return call.has_worked();
}

bool Solver::qr(const DeviceView& a, const DeviceView& tau) {
  const int64_t count = a.parts(2);
  const int64_t m = a.lengths[a.rank() - 2];
  const int64_t n = a.lengths.back();
  const LibraryType type = library_type(a.dtype);
  Call call(*this, count);
  const DeviceView factored = call.matrix(a.dtype, m, n);
  const DeviceView factors =
      vector(a.dtype, call.memory(std::min(m, n) * a.element()).address(), std::min(m, n));
  size_t on_device = 0, on_host = 0;
  check(functions_.qr_bytes(call.handle(), call.parameters(), m, n, type, pointer_of(factored.data), m, type,
                            pointer_of(factors.data), type, &on_device, &on_host),
        "geqrf");
  call.work(on_device, on_host);
  for (int64_t i = 0; i < count; ++i) {
    call.placing().place(factored, a.part(i, 2));
    check(functions_.qr(call.handle(), call.parameters(), m, n, type, pointer_of(factored.data), m, type,
                        pointer_of(factors.data), type, call.on_device(), on_device, call.on_host(), on_host,
                        call.info(i)),
          "geqrf");
    call.placing().place(a.part(i, 2), factored);
    call.placing().place(as_column(tau.part(i, 1)), as_column(factors));
  }
  return call.has_worked();
}

bool Solver::qr_columns(const DeviceView& factored, const DeviceView& tau, const DeviceView& q) {
  const int64_t count = q.parts(2);
  const int64_t k = tau.lengths.back();
  const int64_t columns = q.lengths.back();
  const int m = library_int(device_, q.lengths[q.rank() - 2]);
  const int n = library_int(device_, columns);
  const int reflectors = static_cast<int>(k);
  Call call(*this, count);
  const DeviceView made = call.matrix(q.dtype, m, columns);
  const DeviceView factors = vector(q.dtype, call.memory(k * q.element()).address(), k);
  int length = 0;
  check(q_length(q.dtype, call.handle(), m, n, reflectors, pointer_of(made.data), pointer_of(factors.data),
                 &length),
        "orgqr");
  void* const work = call.memory(length * q.element()).pointer();
  for (int64_t i = 0; i < count; ++i) {
    call.placing().place(with_columns(made, k), with_columns(factored.part(i, 2), k));
    call.placing().place(as_column(factors), as_column(tau.part(i, 1)));
    check(this->q(q.dtype, call.handle(), m, n, reflectors, pointer_of(made.data), pointer_of(factors.data),
                  work, length, call.info(i)),
          "orgqr");
    call.placing().place(q.part(i, 2), made);
  }
  return call.has_worked();
}

bool Solver::svd(const DeviceView& given, const DeviceView& s, const DeviceView* u, const DeviceView* vh) {
  // The library wants no fewer rows than columns. The transposed matrix has the same values, and the vectors
  // of either side are those of the other: A^T = U S V^H makes A = (V^H)^T S U^T.
  const bool is_wide = given.lengths.back() > given.lengths[given.rank() - 2];
  const DeviceView a = is_wide ? given.transposed() : given;
  const int64_t count = a.parts(2);
  const int64_t m = a.lengths[a.rank() - 2];
  const int64_t n = a.lengths.back();
  const LibraryType type = library_type(a.dtype);
  const LibraryType real = library_type(s.dtype);
  Call call(*this, count);
  const DeviceView from = call.matrix(a.dtype, m, n);
  const DeviceView values = vector(s.dtype, call.memory(n * s.element()).address(), n);
  std::optional<DeviceView> left_target, right_target;
  if (u != nullptr) {
    left_target = is_wide ? vh->transposed() : *u;
    right_target = is_wide ? u->transposed() : *vh;
  }
  const int64_t left_columns = u == nullptr ? 0 : left_target->lengths.back();
  const DeviceView left = call.matrix(a.dtype, m, left_columns);
  const DeviceView right = call.matrix(a.dtype, u == nullptr ? 0 : n, n);
  const auto job = static_cast<signed char>(u == nullptr ? 'N' : left_columns == m ? 'A' : 'S');
  const auto job_right = static_cast<signed char>(u == nullptr ? 'N' : 'A');
  size_t on_device = 0, on_host = 0;
  check(functions_.svd_bytes(call.handle(), call.parameters(), job, job_right, m, n, type,
                             pointer_of(from.data), m, real, pointer_of(values.data), type,
                             pointer_of(left.data), m, type, pointer_of(right.data), n, type, &on_device,
                             &on_host),
        "gesvd");
  call.work(on_device, on_host);
  for (int64_t i = 0; i < count; ++i) {
    call.placing().place(from, a.part(i, 2));
    check(functions_.svd(call.handle(), call.parameters(), job, job_right, m, n, type, pointer_of(from.data),
                         m, real, pointer_of(values.data), type, pointer_of(left.data), m, type,
                         pointer_of(right.data), n, type, call.on_device(), on_device, call.on_host(),
                         on_host, call.info(i)),
          "gesvd");
    call.placing().place(as_column(s.part(i, 1)), as_column(values));
    if (u == nullptr) continue;
    call.placing().place(left_target->part(i, 2), left);
    call.placing().place(right_target->part(i, 2), right);
  }
  return call.has_worked();
}

bool Solver::eigen(const DeviceView& a, const DeviceView& values, const DeviceView* vectors, bool is_upper) {
  const int64_t count = a.parts(2);
  const int64_t n = a.lengths.back();
  const LibraryType type = library_type(a.dtype);
  const LibraryType real = library_type(values.dtype);
  const LibraryTriangle triangle = is_upper ? kUpper : kLower;
  const SolverVectors wants = vectors == nullptr ? kWithoutVectors : kWithVectors;
  Call call(*this, count);
  const DeviceView from = call.matrix(a.dtype, n, n);
  const DeviceView found = vector(values.dtype, call.memory(n * values.element()).address(), n);
  size_t on_device = 0, on_host = 0;
  check(functions_.eigen_bytes(call.handle(), call.parameters(), wants, triangle, n, type,
                               pointer_of(from.data), n, real, pointer_of(found.data), type, &on_device,
                               &on_host),
        "syevd");
  call.work(on_device, on_host);
  for (int64_t i = 0; i < count; ++i) {
    call.placing().place(from, a.part(i, 2));
    check(functions_.eigen(call.handle(), call.parameters(), wants, triangle, n, type, pointer_of(from.data),
                           n, real, pointer_of(found.data), type, call.on_device(), on_device, call.on_host(),
                           on_host, call.info(i)),
          "syevd");
    call.placing().place(as_column(values.part(i, 1)), as_column(found));
    if (vectors != nullptr) call.placing().place(vectors->part(i, 2), from);
  }
  return call.has_worked();
}

LibraryStatus Solver::q_length(DType dtype, SolverHandle handle, int m, int n, int k, const void* a,
                               const void* tau, int* length) const {
  switch (library_type(dtype)) {
    case kLibraryFloat32: return functions_.q_length_float32(handle, m, n, k, a, m, tau, length);
    case kLibraryFloat64: return functions_.q_length_float64(handle, m, n, k, a, m, tau, length);
    case kLibraryComplex64: return functions_.q_length_complex64(handle, m, n, k, a, m, tau, length);
    case kLibraryComplex128: return functions_.q_length_complex128(handle, m, n, k, a, m, tau, length);
  }
  return 0;
}

LibraryStatus Solver::q(DType dtype, SolverHandle handle, int m, int n, int k, void* a, const void* tau,
                        void* work, int length, int* info) const {
  switch (library_type(dtype)) {
    case kLibraryFloat32: return functions_.q_float32(handle, m, n, k, a, m, tau, work, length, info);
    case kLibraryFloat64: return functions_.q_float64(handle, m, n, k, a, m, tau, work, length, info);
    case kLibraryComplex64: return functions_.q_complex64(handle, m, n, k, a, m, tau, work, length, info);
    case kLibraryComplex128: return functions_.q_complex128(handle, m, n, k, a, m, tau, work, length, info);
  }
  return 0;
}

}  // namespace ingot::devices
