#include "devices/libraries/sparse.h"

#include "base/error.h"

namespace ingot::devices {

namespace {

constexpr size_t kMostHandles = 64;  ///< of streams

/// A description, destroyed at the end.
template <class Handle>
class Described {
 public:
  Described(Handle handle, LibraryStatus (*destroy)(Handle)) : it(handle), destroy_(destroy) {}
  ~Described() { (void)destroy_(it); }
  Described(const Described&) = delete;
  Described& operator=(const Described&) = delete;

  Handle it;

 private:
  LibraryStatus (*destroy_)(Handle);
};

}  // namespace

Sparse::Sparse(CudaDevice& device, const std::vector<std::string>& folders)
    : device_(device), file_(device, LibraryKind::Sparse, folders) {
#define INGOT_SPARSE_RESOLVE(name, symbol, parameters) \
  functions_.name = reinterpret_cast<LibraryStatus(*) parameters>(file_.function(#symbol));
  INGOT_SPARSE_FUNCTIONS(INGOT_SPARSE_RESOLVE)
#undef INGOT_SPARSE_RESOLVE
  const CudaSession session(device_);
  (void)handle(session.stream());
}

StreamHandles<SparseHandle>::Entry Sparse::handle(CudaStreamHandle stream) {
  const auto make = [&] {
    SparseHandle handle = nullptr;
    check(functions_.create(&handle), "its start");
    auto made = std::make_shared<StreamHandle<SparseHandle>>(handle, functions_.destroy);
    check(functions_.set_stream(handle, stream), "its stream");
    return made;
  };
  return handles_.find(stream, make, kMostHandles, [&] { device_.synchronize(); });
}

std::string Sparse::description() {
  const CudaSession session(device_);
  const auto entry = handle(session.stream());
  const std::lock_guard lock(entry->mutex);
  int version = 0;
  check(functions_.version(entry->it, &version), "its version");
  return file_.path() + ", version " + std::to_string(version);
}

DenseMatrixHandle Sparse::dense(const DeviceView& matrix) {
  const int64_t element = matrix.element();
  const auto [rows, columns] = std::pair(matrix.lengths[0], matrix.lengths[1]);
  const bool is_by_rows = columns == 1 || matrix.strides[1] == element;
  // With one row, or one column, the stride to the next is not used.
  int64_t lead = matrix.strides[is_by_rows ? 0 : 1] / element;
  if (is_by_rows && rows == 1) lead = columns;
  if (!is_by_rows && columns == 1) lead = rows;
  DenseMatrixHandle made = nullptr;
  check(functions_.create_dense(&made, rows, columns, lead, pointer_of(matrix.data),
                                library_type(matrix.dtype), is_by_rows ? kSparseRows : kSparseColumns),
        "a matrix");
  return made;
}

void Sparse::product(LibraryOperation operation, Number alpha, const SparseRows& a, const DeviceView& x,
                     Number beta, const DeviceView& y) {
  if (y.size() == 0) return;
  const CudaSession session(device_);
  const auto entry = handle(session.stream());
  const std::lock_guard lock(entry->mutex);
  const auto index = [](const DeviceView& indices) {
    return indices.dtype == base::DType::Int32 ? kSparseInt32 : kSparseInt64;
  };
  SparseMatrixHandle made = nullptr;
  check(functions_.create_rows(&made, a.rows, a.columns, a.values.size(), pointer_of(a.starts.data),
                               pointer_of(a.column_indices.data), pointer_of(a.values.data), index(a.starts),
                               index(a.column_indices), kSparseFromZero, library_type(a.values.dtype)),
        "a sparse matrix");
  const Described<SparseMatrixHandle> matrix(made, functions_.destroy_matrix);
  const LibraryScalar factor(x.dtype, alpha);
  const LibraryScalar kept(x.dtype, beta);
  if (y.rank() == 1) by_vector(entry->it, operation, factor, matrix.it, x, kept, y);
  else by_matrix(entry->it, operation, factor, matrix.it, x, kept, y);
}

void Sparse::by_vector(SparseHandle handle, LibraryOperation operation, const LibraryScalar& alpha,
                       SparseMatrixHandle a, const DeviceView& x, const LibraryScalar& beta,
                       const DeviceView& y) {
  const LibraryType type = library_type(x.dtype);
  const auto vector = [&](const DeviceView& view) {
    DenseVectorHandle made = nullptr;
    check(functions_.create_vector(&made, view.lengths[0], pointer_of(view.data), type), "a vector");
    return made;
  };
  const Described<DenseVectorHandle> from(vector(x), functions_.destroy_vector);
  const Described<DenseVectorHandle> to(vector(y), functions_.destroy_vector);
  size_t bytes = 0;
  check(functions_.by_vector_bytes(handle, operation, alpha.get(), a, from.it, beta.get(), to.it, type,
                                   kSparseAlgorithm, &bytes),
        "a product");
  const Scratch work(device_, static_cast<int64_t>(bytes));
  check(functions_.by_vector(handle, operation, alpha.get(), a, from.it, beta.get(), to.it, type,
                             kSparseAlgorithm, work.pointer()),
        "a product");
}

void Sparse::by_matrix(SparseHandle handle, LibraryOperation operation, const LibraryScalar& alpha,
                       SparseMatrixHandle a, const DeviceView& x, const LibraryScalar& beta,
                       const DeviceView& y) {
  const LibraryType type = library_type(x.dtype);
  const Described<DenseMatrixHandle> from(dense(x), functions_.destroy_dense);
  const Described<DenseMatrixHandle> to(dense(y), functions_.destroy_dense);
  size_t bytes = 0;
  check(functions_.by_matrix_bytes(handle, operation, kAsIs, alpha.get(), a, from.it, beta.get(), to.it, type,
                                   kSparseAlgorithm, &bytes),
        "a product");
  const Scratch work(device_, static_cast<int64_t>(bytes));
  check(functions_.by_matrix(handle, operation, kAsIs, alpha.get(), a, from.it, beta.get(), to.it, type,
                             kSparseAlgorithm, work.pointer()),
        "a product");
}

}  // namespace ingot::devices
