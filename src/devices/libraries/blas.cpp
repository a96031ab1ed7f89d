#include "devices/libraries/blas.h"

#include <cstdlib>
#include <optional>
#include <utility>

#include "base/error.h"
#include "devices/libraries/placing.h"

namespace ingot::devices {

namespace {

constexpr size_t kMostHandles = 64;  ///< of streams

/// A matrix, or a batch of them, in the library's form: in column-major order, or transposed.
struct ArrayLayout {
  Address data = 0;
  int64_t lead = 1;   ///< from one column to the next, in elements
  int64_t batch = 0;  ///< from one matrix to the next
  LibraryOperation operation = kAsIs;
};

/// The stride with which all axes before the last two can be iterated over as one; nothing if there is none.
std::optional<int64_t> batch_stride(const DeviceView& view) {
  std::optional<int64_t> found;
  for (size_t axis = view.rank() - 2; axis-- > 0;) {
    if (view.lengths[axis] == 1) continue;
    int64_t inside = 1;
    for (size_t k = axis + 1; k + 2 < view.rank(); ++k) inside *= view.lengths[k];
    if (!found) found = view.strides[axis] / inside;
    if (view.strides[axis] != *found * inside) return std::nullopt;
  }
  return found.value_or(0);
}

bool is_lead(int64_t stride, int64_t length, int64_t element) {
  return stride % element == 0 && stride >= length * element;
}

/// Whether the columns are contiguous, and follow each other; else the rows.
bool has_columns(const DeviceView& view, size_t row, size_t column) {
  const int64_t rows = view.lengths[row];
  const int64_t element = view.element();
  return (rows == 1 || view.strides[row] == element) &&
         (view.lengths[column] == 1 || is_lead(view.strides[column], rows, element));
}

/// The library's form of a view, if it has one; `is_conjugate` needs one that is transposed.
std::optional<ArrayLayout> laid(const DeviceView& view, bool is_conjugate) {
  const size_t row = view.rank() - 2;
  const size_t column = view.rank() - 1;
  const int64_t element = view.element();
  const std::optional<int64_t> batch = batch_stride(view);
  if (!batch || *batch < 0 || *batch % element != 0) return std::nullopt;
  const auto lead = [&](size_t along, size_t across) {
    return view.lengths[along] == 1 ? std::max<int64_t>(view.lengths[across], 1)
                                    : view.strides[along] / element;
  };
  if (!is_conjugate && has_columns(view, row, column))
    return ArrayLayout{view.data, lead(column, row), *batch / element, kAsIs};
  if (has_columns(view, column, row))
    return ArrayLayout{view.data, lead(row, column), *batch / element,
                       is_conjugate ? kConjugateTransposed : kTransposed};
  return std::nullopt;
}

}  // namespace

/// The context is current, the handle of the thread's stream is this thread's. With work memory for the call.
class Blas::Call {
 public:
  explicit Call(Blas& blas) : session_(blas.device_), blas_(blas), entry_(find()), lock_(entry_->mutex) {}

  BlasHandle handle() const { return entry_->it; }

  /// The factor, or a copy in the library's form.
  ArrayLayout factor(const Factor& factor) {
    const bool is_conjugate = factor.is_conjugate && base::is_complex(factor.matrix.dtype);
    if (const std::optional<ArrayLayout> found = laid(factor.matrix, is_conjugate)) return *found;
    return *laid(dense(factor.matrix), is_conjugate);
  }
  /// A copy in C order.
  DeviceView dense(const DeviceView& view) {
    const int64_t element = view.element();
    DeviceView copy = view;
    int64_t inside = element;
    for (size_t axis = view.rank(); axis-- > 0;) {
      copy.strides[axis] = inside;
      inside *= view.lengths[axis];
    }
    scratch_.push_back(std::make_unique<Scratch>(blas_.device_, inside));
    copy.data = scratch_.back()->address();
    Placing& placing = blas_.device_.libraries()->placing();
    for (int64_t i = 0; i < view.parts(2); ++i) placing.place(copy.part(i, 2), view.part(i, 2));
    return copy;
  }

 private:
  CudaSession session_;
  Blas& blas_;
  std::vector<std::unique_ptr<Scratch>> scratch_;
  StreamHandles<BlasHandle>::Entry entry_;
  std::unique_lock<std::mutex> lock_;

  StreamHandles<BlasHandle>::Entry find() {
    const BlasFunctions& functions = blas_.functions_;
    const auto make = [&] {
      BlasHandle handle = nullptr;
      blas_.check(functions.create(&handle), "its start");
      auto made = std::make_shared<StreamHandle<BlasHandle>>(handle, functions.destroy);
      blas_.check(functions.set_stream(handle, session_.stream()), "its stream");
      return made;
    };
    return blas_.handles_.find(session_.stream(), make, kMostHandles, [&] { blas_.device_.synchronize(); });
  }
};

Blas::Blas(CudaDevice& device, const std::vector<std::string>& folders)
    : device_(device), file_(device, LibraryKind::Blas, folders) {
#define INGOT_BLAS_RESOLVE(name, symbol, parameters) \
  functions_.name = reinterpret_cast<LibraryStatus(*) parameters>(file_.function(#symbol));
  INGOT_BLAS_FUNCTIONS(INGOT_BLAS_RESOLVE)
#undef INGOT_BLAS_RESOLVE
  const Call starts(*this);
}

std::string Blas::description() {
  const Call call(*this);
  int version = 0;
  check(functions_.version(call.handle(), &version), "its version");
  return file_.path() + ", version " + std::to_string(version);
}

void Blas::product(Number alpha, const Factor& a, const Factor& b, Number beta, const DeviceView& c) {
  const int64_t m = c.lengths[c.rank() - 2];
  const int64_t n = c.lengths[c.rank() - 1];
  const int64_t k = a.matrix.lengths[a.matrix.rank() - 1];
  const int64_t batch = c.parts(2);
  if (m == 0 || n == 0 || batch == 0) return;
  const std::optional<ArrayLayout> target = laid(c, false);
  if (!target)
    throw DeviceError(device_.name() + ": a product has neither contiguous rows nor contiguous columns");
  if (target->operation != kAsIs)
    return product(alpha, {b.matrix.transposed(), b.is_conjugate}, {a.matrix.transposed(), a.is_conjugate},
                   beta, c.transposed());
  Call call(*this);
  const base::DType dtype = c.dtype;
  const LibraryType type = library_type(dtype);
  const BlasCompute compute =
      base::component_of(dtype) == base::DType::Float32 ? kBlasCompute32 : kBlasCompute64;
  const ArrayLayout left = k == 0 ? ArrayLayout{c.data, m, 0, kAsIs} : call.factor(a);
  const ArrayLayout right = k == 0 ? ArrayLayout{c.data, 1, 0, kAsIs} : call.factor(b);
  const auto narrow = [&](int64_t number) { return library_int(device_, number); };
  check(functions_.gemm(call.handle(), left.operation, right.operation, narrow(m), narrow(n), narrow(k),
                        LibraryScalar(dtype, alpha).get(), pointer_of(left.data), type, narrow(left.lead),
                        left.batch, pointer_of(right.data), type, narrow(right.lead), right.batch,
                        LibraryScalar(dtype, beta).get(), pointer_of(target->data), type,
                        narrow(target->lead), target->batch, narrow(batch), compute, kBlasAlgorithm),
        "a product");
}

namespace {

/// A vector in the library's form: the address of its lowest element, and the step from one to the next.
struct Line {
  int n;
  void* data;
  int step;

  Line(const CudaDevice& device, const DeviceView& x)
      : n(library_int(device, x.lengths[0])),
        data(pointer_of(x.data)),
        step(library_int(device, x.strides[0] / x.element())) {
    if (n > 0 && step < 0) data = pointer_of(x.data + static_cast<Address>((n - 1) * x.strides[0]));
    if (n <= 1) step = 1;
  }
};

}  // namespace

void Blas::axpy(Number alpha, const DeviceView& x, const DeviceView& y) {
  const Call call(*this);
  const Line from(device_, x);
  const Line to(device_, y);
  const LibraryType type = library_type(x.dtype);
  check(functions_.axpy(call.handle(), from.n, LibraryScalar(x.dtype, alpha).get(), type, from.data, type,
                        from.step, to.data, type, to.step, type),
        "axpy");
}

void Blas::scale(Number alpha, const DeviceView& x) {
  const Call call(*this);
  const Line line(device_, x);
  const LibraryType type = library_type(x.dtype);
  check(functions_.scale(call.handle(), line.n, LibraryScalar(x.dtype, alpha).get(), type, line.data, type,
                         std::abs(line.step), type),
        "scal");
}

void Blas::copy(const DeviceView& x, const DeviceView& y) {
  const Call call(*this);
  const Line from(device_, x);
  const Line to(device_, y);
  const LibraryType type = library_type(x.dtype);
  check(functions_.copy(call.handle(), from.n, from.data, type, from.step, to.data, type, to.step), "copy");
}

void Blas::swap(const DeviceView& x, const DeviceView& y) {
  const Call call(*this);
  const Line one(device_, x);
  const Line other(device_, y);
  const LibraryType type = library_type(x.dtype);
  check(functions_.swap(call.handle(), one.n, one.data, type, one.step, other.data, type, other.step),
        "swap");
}

Blas::Number Blas::dot(const DeviceView& x, const DeviceView& y, bool conjugates) {
  const Call call(*this);
  const Line one(device_, x);
  const Line other(device_, y);
  const LibraryType type = library_type(x.dtype);
  alignas(16) std::byte result[16]{};
  check((conjugates ? functions_.dot_conjugate : functions_.dot)(
            call.handle(), one.n, one.data, type, one.step, other.data, type, other.step, result, type, type),
        "dot");
  return library_number(x.dtype, result);
}

double Blas::reduced(const DeviceView& x,
                     LibraryStatus (*function)(BlasHandle, int, const void*, LibraryType, int, void*,
                                               LibraryType, LibraryType),
                     const char* what) {
  const Call call(*this);
  const Line line(device_, x);
  const base::DType real = base::component_of(x.dtype);
  alignas(16) std::byte result[16]{};
  check(function(call.handle(), line.n, line.data, library_type(x.dtype), std::abs(line.step), result,
                 library_type(real), library_type(real)),
        what);
  return library_number(real, result).real();
}

double Blas::norm(const DeviceView& x) { return reduced(x, functions_.norm, "nrm2"); }
double Blas::sizes(const DeviceView& x) { return reduced(x, functions_.sizes, "asum"); }

int64_t Blas::index_of(const DeviceView& x,
                       LibraryStatus (*function)(BlasHandle, int, const void*, LibraryType, int, int*),
                       const char* what) {
  Call call(*this);
  // Of equal elements the first counts, so the iteration begins there.
  const Line line(device_,
                  x.strides[0] > 0 ? x : vector(x.dtype, call.dense(as_column(x)).data, x.lengths[0]));
  int result = 0;
  check(function(call.handle(), line.n, line.data, library_type(x.dtype), line.step, &result), what);
  return result - 1;  // the library counts from 1
}

int64_t Blas::largest(const DeviceView& x) { return index_of(x, functions_.largest, "amax"); }
int64_t Blas::smallest(const DeviceView& x) { return index_of(x, functions_.smallest, "amin"); }

}  // namespace ingot::devices
