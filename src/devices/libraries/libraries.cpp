#include "devices/libraries.h"

#include <cstdlib>
#include <functional>
#include <numeric>
#include <string_view>

#include "base/error.h"
#include "devices/cuda_device.h"
#include "devices/libraries/blas.h"
#include "devices/libraries/fft.h"
#include "devices/libraries/placing.h"
#include "devices/libraries/random.h"
#include "devices/libraries/solver.h"
#include "devices/libraries/sparse.h"

namespace ingot::devices {

DeviceView DeviceView::transposed() const {
  DeviceView other = *this;
  std::swap(other.lengths[rank() - 1], other.lengths[rank() - 2]);
  std::swap(other.strides[rank() - 1], other.strides[rank() - 2]);
  return other;
}

int64_t DeviceView::parts(size_t core) const {
  return std::accumulate(lengths.begin(), lengths.end() - static_cast<ptrdiff_t>(core), int64_t{1},
                         std::multiplies<>());
}

DeviceView DeviceView::part(int64_t number, size_t core) const {
  const size_t outer = rank() - core;
  DeviceView found{dtype,
                   data,
                   {lengths.begin() + static_cast<ptrdiff_t>(outer), lengths.end()},
                   {strides.begin() + static_cast<ptrdiff_t>(outer), strides.end()}};
  for (size_t axis = outer; axis-- > 0;) {
    found.data += static_cast<Address>(number % lengths[axis] * strides[axis]);
    number /= lengths[axis];
  }
  return found;
}

Libraries::Libraries(CudaDevice& device) : device_(device), placing_(std::make_unique<Placing>(device)) {}

Libraries::~Libraries() = default;

void Libraries::set_folders(std::vector<std::string> folders) {
  const std::lock_guard lock(mutex_);
  folders_ = std::move(folders);
  for (State& state : states_)  // libraries that were not found are looked for again
    if (state.is_tried && !state.why_none.empty()) state.is_tried = false;
}

void Libraries::open(LibraryKind kind) {
  const char* const word = std::getenv("INGOT_DEVICE_LIBRARIES");
  const std::string_view given = word == nullptr ? "" : word;
  if (given == "0") throw DeviceError("INGOT_DEVICE_LIBRARIES=0 in the environment disables them");
  std::vector<std::string> folders = folders_;
  if (!given.empty()) folders.insert(folders.begin(), std::string(given));
  switch (kind) {
    case LibraryKind::Blas: blas_ = std::make_unique<Blas>(device_, folders); return;
    case LibraryKind::Fft: fft_ = std::make_unique<Fft>(device_, folders); return;
    case LibraryKind::Solver: solver_ = std::make_unique<Solver>(device_, folders); return;
    case LibraryKind::Random: random_ = std::make_unique<Random>(device_, folders); return;
    case LibraryKind::Sparse: sparse_ = std::make_unique<Sparse>(device_, folders); return;
  }
}

std::string Libraries::why_none(LibraryKind kind) {
  State& state = states_[static_cast<size_t>(kind)];
  if (state.is_tried.load(std::memory_order_acquire) && state.why_none.empty()) return {};
  (void)device_.stream().is_done();  // throws where the device cannot be used at all
  const std::lock_guard lock(mutex_);
  if (state.is_tried.load(std::memory_order_relaxed)) return state.why_none;
  state.why_none.clear();
  try {
    open(kind);
  } catch (const OutOfMemory&) {  // there may be some later
    throw;
  } catch (const DeviceError& error) {
    state.why_none = error.what();
  }
  state.is_tried.store(true, std::memory_order_release);
  return state.why_none;
}

void Libraries::need(LibraryKind kind) {
  if (const std::string why = why_none(kind); !why.empty()) throw DeviceError(why);
}

std::string Libraries::description(LibraryKind kind) {
  switch (kind) {
    case LibraryKind::Blas: return blas().description();
    case LibraryKind::Fft: return fft().description();
    case LibraryKind::Solver: return solver().description();
    case LibraryKind::Random: return random().description();
    case LibraryKind::Sparse: return sparse().description();
  }
  return {};
}

Blas& Libraries::blas() {
  need(LibraryKind::Blas);
  return *blas_;
}
Fft& Libraries::fft() {
  need(LibraryKind::Fft);
  return *fft_;
}
Solver& Libraries::solver() {
  need(LibraryKind::Solver);
  return *solver_;
}
Random& Libraries::random() {
  need(LibraryKind::Random);
  return *random_;
}
Sparse& Libraries::sparse() {
  need(LibraryKind::Sparse);
  return *sparse_;
}

void Libraries::forget(CudaStreamHandle stream) noexcept {
  const std::lock_guard lock(mutex_);
  if (blas_) blas_->forget(stream);
  if (fft_) fft_->forget(stream);
  if (solver_) solver_->forget(stream);
  if (random_) random_->forget(stream);
  if (sparse_) sparse_->forget(stream);
}

void Libraries::release() {
  const std::lock_guard lock(mutex_);
  if (!blas_ && !fft_ && !solver_ && !sparse_) return;
  device_.synchronize();
  if (blas_) blas_->release();
  if (fft_) fft_->release();
  if (solver_) solver_->release();
  if (sparse_) sparse_->release();
}

void Libraries::abandon() noexcept {
  const std::lock_guard lock(mutex_);
  if (blas_) blas_->abandon();
  if (fft_) fft_->abandon();
  if (solver_) solver_->abandon();
  if (sparse_) sparse_->abandon();
  placing_->abandon();
}

}  // namespace ingot::devices
