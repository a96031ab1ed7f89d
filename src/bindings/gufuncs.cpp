#include "bindings/gufuncs.h"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cfenv>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "bindings/layout.h"
#include "bindings/numpy.h"
#define NO_IMPORT_UFUNC
#include <numpy/ufuncobject.h>

namespace ingot::bindings {

namespace nb = nanobind;

/// Where a gufunc stands in NumPy, and what an operand of one call is.
struct Gufunc {
  struct Operand {
    SlotType slot;
    std::vector<size_t> core;  ///< the numbers of the lengths that its last axes have
  };
  PyUFuncGenericFunction function = nullptr;
  void* data = nullptr;
  size_t lengths = 0;  ///< how many lengths the core axes have among them
  std::vector<Operand> operands;
  bool tells_failure = false;
};

namespace {

/// About so many elements of operands take ten microseconds.
constexpr int64_t kLongCall = 2000;

/// By routine and layout. Part of the closed list of process-wide state.
std::map<std::pair<std::string, std::string>, Gufunc> found;

nb::object ufunc_of(std::string_view routine) {
  const size_t dot = routine.find('.');
  if (dot == std::string_view::npos) return nb::module_::import_("numpy").attr(std::string(routine).c_str());
  const char* module =
      routine.substr(0, dot) == "fft" ? "numpy.fft._pocketfft_umath" : "numpy.linalg._umath_linalg";
  return nb::module_::import_(module).attr(std::string(routine.substr(dot + 1)).c_str());
}

}  // namespace

const Gufunc* find_gufunc(std::string_view routine, std::string_view layout) {
  const bool is_product = routine == "matmul";
  if (!is_product && routine.find('.') == std::string_view::npos) return nullptr;
  const auto [place, is_new] = found.try_emplace({std::string(routine), std::string(layout)}, Gufunc());
  Gufunc& gufunc = place->second;
  if (gufunc.function != nullptr) return &gufunc;
  const nb::object object = ufunc_of(routine);
  const auto* ufunc = reinterpret_cast<const PyUFuncObject*>(object.ptr());
  gufunc.operands.clear();
  for (const SlotType& slot : slots_of(layout)) gufunc.operands.push_back({slot, {}});
  gufunc.tells_failure = !is_product;
  if (gufunc.tells_failure) gufunc.operands.pop_back();
  const auto count = static_cast<size_t>(ufunc->nargs);
  INGOT_ASSERT(gufunc.operands.size() == count, "bindings: a gufunc of other operands");
  gufunc.lengths = static_cast<size_t>(ufunc->core_num_dim_ix);
  for (size_t i = 0; i < count; ++i) {
    const int* const axes = ufunc->core_dim_ixs + ufunc->core_offsets[i];
    gufunc.operands[i].core.assign(axes, axes + ufunc->core_num_dims[i]);
  }
  for (size_t loop = 0; loop < static_cast<size_t>(ufunc->ntypes); ++loop) {
    const auto fits = [&](size_t i) {
      return dtype_of(ufunc->types[loop * count + i]) == gufunc.operands[i].slot.dtype;
    };
    size_t i = 0;
    while (i < count && fits(i)) ++i;
    if (i < count) continue;
    gufunc.data = ufunc->data == nullptr ? nullptr : ufunc->data[loop];
    gufunc.function = ufunc->functions[loop];
    return &gufunc;
  }
  throw base::InternalError("bindings: no inner loop of " + std::string(routine));
}

void call_gufunc(const Gufunc& gufunc, void** slots, Gil& gil) {
  std::vector<npy_intp> lengths(1 + gufunc.lengths);
  std::vector<npy_intp> steps;
  std::vector<npy_intp> core_steps;
  std::vector<char*> data;
  int64_t batch = 1;
  int64_t size = 0;
  for (size_t i = 0; i < gufunc.operands.size(); ++i) {
    const Gufunc::Operand& operand = gufunc.operands[i];
    auto* const view = static_cast<runtime::ViewSlot*>(slots[i]);
    data.push_back(reinterpret_cast<char*>(view->data));
    const int64_t* const own = view->lengths();
    const size_t outer = static_cast<size_t>(operand.slot.rank) - operand.core.size();
    int64_t repeats = 1;
    for (size_t axis = 0; axis < outer; ++axis) repeats *= own[axis];
    if (outer > 0) batch = repeats;
    const int64_t* const strides = view->strides(operand.slot.rank);
    int64_t block = static_cast<int64_t>(base::size_of(operand.slot.dtype));
    for (size_t k = 0; k < operand.core.size(); ++k) {
      lengths[1 + operand.core[k]] = own[outer + k];
      core_steps.push_back(strides[outer + k]);
      block *= own[outer + k];
    }
    steps.push_back(outer > 0 ? block : 0);
    size += repeats * block;
  }
  lengths[0] = batch;
  steps.insert(steps.end(), core_steps.begin(), core_steps.end());
  if (size / 8 > kLongCall) gil.release();
  std::feclearexcept(FE_ALL_EXCEPT);
  gufunc.function(data.data(), lengths.data(), steps.data(), gufunc.data);
  if (!gufunc.tells_failure) return;
  auto* const failed = static_cast<runtime::ViewSlot*>(slots[gufunc.operands.size()]);
  *reinterpret_cast<int64_t*>(failed->data) = std::fetestexcept(FE_INVALID) != 0 ? 1 : 0;
}

}  // namespace ingot::bindings
