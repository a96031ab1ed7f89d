#include "devices/libraries/random.h"

#include "base/error.h"

namespace ingot::devices {

using base::DType;

Random::Random(CudaDevice& device, const std::vector<std::string>& folders)
    : device_(device), file_(device, LibraryKind::Random, folders) {
#define INGOT_RANDOM_RESOLVE(name, symbol, parameters) \
  functions_.name = reinterpret_cast<LibraryStatus(*) parameters>(file_.function(#symbol));
  INGOT_RANDOM_FUNCTIONS(INGOT_RANDOM_RESOLVE)
#undef INGOT_RANDOM_RESOLVE
  (void)description();
}

std::string Random::description() {
  int version = 0;
  check(functions_.version(&version), "its version");
  return file_.path() + ", version " + std::to_string(version);
}

/// The stream is done.
void Random::forget(CudaStreamHandle stream) noexcept {
  const std::lock_guard lock(mutex_);
  for (RandomGenerator* const generator : generators_) {
    const std::lock_guard draws(generator->mutex_);
    if (generator->last_handle_ != stream) continue;
    generator->last_ = nullptr;
    generator->last_handle_ = nullptr;
  }
}

RandomGenerator::RandomGenerator(Libraries& libraries, int type)
    : random_(libraries.random()), life_(random_.device_.life()) {
  const CudaSession session(random_.device_);
  random_.check(random_.functions_.create(&handle_, type), "a generator");
  const std::lock_guard lock(random_.mutex_);
  random_.generators_.insert(this);
}

/// After its draws: the library frees its state.
RandomGenerator::~RandomGenerator() {
  {
    const std::lock_guard lock(random_.mutex_);
    random_.generators_.erase(this);
  }
  if (!random_.device_.lives(life_)) return;
  const CudaSession session(random_.device_, std::nothrow);
  try {
    if (last_ != nullptr) last_->synchronize();
  } catch (const DeviceError&) {  // it has failed
  }
  (void)random_.functions_.destroy(handle_);
}

Device& RandomGenerator::device() const { return random_.device_; }

void RandomGenerator::require_life() const {
  if (life_ != random_.device_.life())
    throw DeviceError(random_.device_.name() + ": something from before a reset");
}

void RandomGenerator::set_seed(uint64_t seed) {
  const CudaSession session(random_.device_);
  require_life();
  random_.check(random_.functions_.set_seed(handle_, seed), "a seed");
}

void RandomGenerator::set_offset(uint64_t offset) {
  const CudaSession session(random_.device_);
  require_life();
  random_.check(random_.functions_.set_offset(handle_, offset), "an offset");
}

void RandomGenerator::set_dimensions(unsigned dimensions) {
  const CudaSession session(random_.device_);
  require_life();
  random_.check(random_.functions_.set_dimensions(handle_, dimensions), "dimensions");
}

template <class Draw>
void RandomGenerator::draw(const DeviceView& target, bool is_even, const char* what, Draw&& draw) {
  const int64_t count = target.size();
  if (count == 0) return;
  const CudaSession session(random_.device_);
  require_life();
  const std::lock_guard lock(mutex_);
  Stream& now = random_.device_.stream();
  if (last_ != &now) {
    if (last_ != nullptr) random_.device_.order(*last_, now);
    random_.check(random_.functions_.set_stream(handle_, session.stream()), "a generator's stream");
    last_ = &now;
    last_handle_ = session.stream();
  }
  if (!is_even || count % 2 == 0) {
    random_.check(draw(pointer_of(target.data), static_cast<size_t>(count)), what);
    return;
  }
  const Scratch pairs(random_.device_, (count + 1) * target.element());
  random_.check(draw(pairs.pointer(), static_cast<size_t>(count + 1)), what);
  random_.device_.copy(target.data, pairs.address(), count * target.element());
}

void RandomGenerator::bits(const DeviceView& target) {
  const RandomFunctions& f = random_.functions_;
  draw(target, false, "bits", [&](void* to, size_t count) {
    return target.dtype == DType::UInt32 ? f.bits32(handle_, static_cast<uint32_t*>(to), count)
                                         : f.bits64(handle_, static_cast<unsigned long long*>(to), count);
  });
}

void RandomGenerator::uniform(const DeviceView& target) {
  const RandomFunctions& f = random_.functions_;
  draw(target, false, "uniform", [&](void* to, size_t count) {
    return target.dtype == DType::Float32 ? f.uniform32(handle_, static_cast<float*>(to), count)
                                          : f.uniform64(handle_, static_cast<double*>(to), count);
  });
}

void RandomGenerator::normal(const DeviceView& target, double mean, double deviation) {
  const RandomFunctions& f = random_.functions_;
  draw(target, true, "normal", [&](void* to, size_t count) {
    if (target.dtype == DType::Float64)
      return f.normal64(handle_, static_cast<double*>(to), count, mean, deviation);
    return f.normal32(handle_, static_cast<float*>(to), count, static_cast<float>(mean),
                      static_cast<float>(deviation));
  });
}

void RandomGenerator::log_normal(const DeviceView& target, double mean, double deviation) {
  const RandomFunctions& f = random_.functions_;
  draw(target, true, "lognormal", [&](void* to, size_t count) {
    if (target.dtype == DType::Float64)
      return f.log_normal64(handle_, static_cast<double*>(to), count, mean, deviation);
    return f.log_normal32(handle_, static_cast<float*>(to), count, static_cast<float>(mean),
                          static_cast<float>(deviation));
  });
}

void RandomGenerator::poisson(const DeviceView& target, double mean) {
  draw(target, false, "poisson", [&](void* to, size_t count) {
    return random_.functions_.poisson(handle_, static_cast<uint32_t*>(to), count, mean);
  });
}

}  // namespace ingot::devices
