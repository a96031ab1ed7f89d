#include "bindings/products.h"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/dtype.h"
#include "base/error.h"
#include "bindings/numpy.h"
#define NO_IMPORT_UFUNC
#include <numpy/ufuncobject.h>

namespace ingot::bindings {

namespace {

namespace nb = nanobind;
using base::DType;

/// So many multiplications take about ten microseconds.
constexpr double kLongProducts = 1e5;

struct InnerLoop {
  PyUFuncGenericFunction function = nullptr;
  void* data = nullptr;
};

/// By dtype: f32, f64, c64, c128. Part of the closed list of process-wide state.
std::array<InnerLoop, 4> loops;
constexpr std::array kTypes = {NPY_FLOAT, NPY_DOUBLE, NPY_CFLOAT, NPY_CDOUBLE};
constexpr std::array kDTypes = {DType::Float32, DType::Float64, DType::Complex64, DType::Complex128};

}  // namespace

void find_matmul() {
  const nb::object ufunc = nb::module_::import_("numpy").attr("matmul");
  const auto* matmul = reinterpret_cast<const PyUFuncObject*>(ufunc.ptr());
  for (int i = 0; i < matmul->ntypes; ++i) {
    const auto at = std::ranges::find(kTypes, matmul->types[i * matmul->nargs]);
    if (at != kTypes.end())
      loops[static_cast<size_t>(at - kTypes.begin())] = {matmul->functions[i], matmul->data[i]};
  }
  for (const InnerLoop& loop : loops)
    if (loop.function == nullptr) throw nb::import_error("numpy.matmul has no inner loop of this dtype");
}

void matmul(std::string_view layout, void** slots, Gil& gil) {
  // Three words such as `view<f64,2>`.
  const std::string_view word = layout.substr(5, layout.find('>') - 5);
  const size_t comma = word.find(',');
  const DType dtype = base::dtype_from_name(word.substr(0, comma)).value();
  const int rank = std::stoi(std::string(word.substr(comma + 1)));
  const auto size = static_cast<npy_intp>(base::size_of(dtype));
  const auto view = [&](size_t i) { return static_cast<runtime::ViewSlot*>(slots[i]); };
  const int64_t* const left = view(0)->lengths();
  const npy_intp rows = left[rank - 2];
  const npy_intp inner = left[rank - 1];
  const npy_intp columns = view(1)->lengths()[rank - 1];
  npy_intp batch = 1;
  for (int axis = 0; axis + 2 < rank; ++axis) batch *= left[axis];
  char* data[] = {reinterpret_cast<char*>(view(0)->data), reinterpret_cast<char*>(view(1)->data),
                  reinterpret_cast<char*>(view(2)->data)};
  const npy_intp lengths[] = {batch, rows, inner, columns};
  const npy_intp steps[] = {rows * inner * size,
                            inner * columns * size,
                            rows * columns * size,
                            inner * size,
                            size,
                            columns * size,
                            size,
                            columns * size,
                            size};
  const auto at = std::ranges::find(kDTypes, dtype);
  INGOT_ASSERT(at != kDTypes.end(), "bindings: matmul of such numbers");
  const InnerLoop& loop = loops[static_cast<size_t>(at - kDTypes.begin())];
  const double products = static_cast<double>(batch * rows) * static_cast<double>(inner * columns);
  if (products > kLongProducts) gil.release();
  loop.function(data, lengths, steps, loop.data);
}

}  // namespace ingot::bindings
