// Routines that compiled code calls, by the libraries: the operands are those of NumPy's inner loops, inputs
// before outputs, and last, but for `matmul`, a number that states whether the routine failed.

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "devices/cuda_device.h"
#include "devices/libraries.h"
#include "devices/libraries/blas.h"
#include "devices/libraries/fft.h"
#include "devices/libraries/placing.h"
#include "devices/libraries/solver.h"

namespace ingot::devices {

using base::DType;

namespace {

using Views = std::span<const DeviceView>;

/// A vector, or a batch of them, as matrices of one column.
DeviceView with_column(const DeviceView& vectors) {
  DeviceView view = vectors;
  view.lengths.push_back(1);
  view.strides.push_back(0);
  return view;
}

/// A routine: the libraries it needs, and its function, which returns whether it has worked.
struct Routine {
  std::vector<LibraryKind> needs;
  std::function<bool(Views)> run;
  bool reports = true;  ///< in the last operand, whether it has failed
};

bool is_transform(std::string_view name) { return name.starts_with("fft."); }

/// The routines of the libraries of one device.
class Routines {
 public:
  Routines(CudaDevice& device, Libraries& libraries) : device_(device), libraries_(libraries) {}

  /// By name; nothing: there is none.
  std::optional<Routine> find(std::string_view name) {
    const auto solver = [&](auto&& run) { return Routine{{LibraryKind::Solver}, run}; };
    const auto fft = [&](bool is_inverse) {
      return Routine{{LibraryKind::Fft}, [=, this](Views v) { return transform(v, is_inverse); }};
    };
    if (name == "matmul")
      return Routine{{LibraryKind::Blas},
                     [&](Views v) {
                       libraries_.blas().product(1, {v[0]}, {v[1]}, 0, v[2]);
                       return true;
                     },
                     false};
    if (name == "fft.fft" || name == "fft.rfft_n_even" || name == "fft.rfft_n_odd") return fft(false);
    if (name == "fft.ifft" || name == "fft.irfft") return fft(true);
    if (name == "linalg.solve")
      return solver([&](Views v) { return libraries_.solver().solve(v[0], v[1], v[2]); });
    if (name == "linalg.solve1")
      return solver(
          [&](Views v) { return libraries_.solver().solve(v[0], with_column(v[1]), with_column(v[2])); });
    if (name == "linalg.inv") return solver([&](Views v) { return libraries_.solver().inverse(v[0], v[1]); });
    if (name == "linalg.det") return solver([&](Views v) { return determinant(v, false); });
    if (name == "linalg.slogdet") return solver([&](Views v) { return determinant(v, true); });
    for (const bool is_upper : {false, true})
      if (name == (is_upper ? "linalg.cholesky_up" : "linalg.cholesky_lo"))
        return solver([=, this](Views v) { return libraries_.solver().cholesky(v[0], v[1], is_upper); });
    if (name == "linalg.qr_r_raw") return solver([&](Views v) { return libraries_.solver().qr(v[0], v[1]); });
    if (name == "linalg.qr_reduced" || name == "linalg.qr_complete")
      return solver([&](Views v) { return libraries_.solver().qr_columns(v[0], v[1], v[2]); });
    if (name == "linalg.svd")
      return solver([&](Views v) { return libraries_.solver().svd(v[0], v[1], nullptr, nullptr); });
    if (name == "linalg.svd_f" || name == "linalg.svd_s")
      return solver([&](Views v) { return libraries_.solver().svd(v[0], v[2], &v[1], &v[3]); });
    for (const bool is_upper : {false, true}) {
      if (name == (is_upper ? "linalg.eigh_up" : "linalg.eigh_lo"))
        return solver([=, this](Views v) { return libraries_.solver().eigen(v[0], v[1], &v[2], is_upper); });
      if (name == (is_upper ? "linalg.eigvalsh_up" : "linalg.eigvalsh_lo"))
        return solver(
            [=, this](Views v) { return libraries_.solver().eigen(v[0], v[1], nullptr, is_upper); });
    }
    if (name == "linalg.lstsq")
      return Routine{{LibraryKind::Solver, LibraryKind::Blas}, [&](Views v) { return least_squares(v); }};
    return std::nullopt;
  }

 private:
  CudaDevice& device_;
  Libraries& libraries_;

  /// points, factor → result
  bool transform(Views v, bool is_inverse) {
    libraries_.fft().transform(v[0], v[2], 1, is_inverse);
    const int64_t parts = base::is_complex(v[2].dtype) ? 2 : 1;
    libraries_.placing().multiply(v[2].data, v[2].size() * parts, v[1].dtype, v[1].data);
    return true;
  }

  void write(const DeviceView& to, const std::vector<std::complex<double>>& numbers) {
    std::vector<std::byte> bytes;
    for (const std::complex<double>& number : numbers) {
      const LibraryScalar scalar(to.dtype, number);
      const auto* const begin = static_cast<const std::byte*>(scalar.get());
      bytes.insert(bytes.end(), begin, begin + to.element());
    }
    device_.write(to.data, bytes.data(), static_cast<int64_t>(bytes.size()));
  }

  std::vector<double> read(const DeviceView& from) {
    const auto size = static_cast<size_t>(from.element());
    std::vector<std::byte> bytes(static_cast<size_t>(from.size()) * size);
    device_.read(bytes.data(), from.data, static_cast<int64_t>(bytes.size()));
    std::vector<double> numbers;
    for (size_t i = 0; i < bytes.size(); i += size)
      numbers.push_back(library_number(from.dtype, bytes.data() + i).real());
    return numbers;
  }

  /// matrices → determinants, or their signs and logarithms
  bool determinant(Views v, bool is_disjoint) {
    std::vector<std::complex<double>> first, second;
    for (const Solver::Determinant& found : libraries_.solver().determinants(v[0])) {
      first.push_back(is_disjoint ? found.sign : found.sign * std::exp(found.logarithm));
      second.emplace_back(found.logarithm);
    }
    write(v[1], first);
    if (is_disjoint) write(v[2], second);
    return true;
  }

  /// a[m, n], b[m, sides], limit → x[n, sides], residuals[sides], rank, s[min(m, n)]: x = V S⁻¹ U^H b, where
  /// singular values of at most `limit` times the largest singular value count as 0.
  bool least_squares(Views v) {
    const DeviceView& a = v[0];
    const DeviceView& b = v[1];
    const DeviceView& x = v[3];
    const DeviceView& s = v[6];
    const int64_t m = a.lengths[0], n = a.lengths[1], sides = b.lengths[1], k = s.lengths[0];
    const int64_t element = a.element();
    const Scratch u_memory(device_, m * k * element);
    const Scratch v_memory(device_, k * n * element);
    const DeviceView u = columns(a.dtype, u_memory.address(), m, k);
    const DeviceView vh = columns(a.dtype, v_memory.address(), k, n);
    if (!libraries_.solver().svd(a, s, &u, &vh)) return false;
    const std::vector<double> values = read(s);
    double limit = read(v[2])[0];
    if (limit < 0) limit = std::numeric_limits<double>::epsilon();
    std::vector<std::complex<double>> inverses;
    int32_t rank = 0;
    for (const double value : values) {
      const bool counts = value > limit * values[0];
      inverses.emplace_back(counts ? 1 / value : 0);
      rank += counts ? 1 : 0;
    }
    // The inverses as a diagonal matrix, since the library multiplies matrices.
    const Scratch i_memory(device_, k * element);
    const Scratch d_memory(device_, k * k * element);
    const Scratch p_memory(device_, k * sides * element);
    const Scratch q_memory(device_, k * sides * element);
    const DeviceView line = vector(a.dtype, i_memory.address(), k);
    write(line, inverses);
    const DeviceView diagonal = columns(a.dtype, d_memory.address(), k, k);
    libraries_.placing().place(diagonal, {a.dtype, line.data, {k, k}, {0, element}}, Band::diagonal());
    const DeviceView p = columns(a.dtype, p_memory.address(), k, sides);
    const DeviceView q = columns(a.dtype, q_memory.address(), k, sides);
    Blas& blas = libraries_.blas();
    blas.product(1, {u.transposed(), true}, {b}, 0, p);
    blas.product(1, {diagonal}, {p}, 0, q);
    blas.product(1, {vh.transposed(), true}, {q}, 0, x);
    device_.write(v[5].data, &rank, sizeof rank);
    if (rank == n && m > n) write(v[4], residuals(a, x, b));
    return true;
  }

  /// The sums of squares of the columns of b - a @ x.
  std::vector<std::complex<double>> residuals(const DeviceView& a, const DeviceView& x, const DeviceView& b) {
    const int64_t m = b.lengths[0], sides = b.lengths[1];
    const Scratch memory(device_, m * sides * a.element());
    const DeviceView rest = columns(a.dtype, memory.address(), m, sides);
    libraries_.placing().place(rest, b);
    libraries_.blas().product(-1, {a}, {x}, 1, rest);
    std::vector<std::complex<double>> sums;
    for (int64_t side = 0; side < sides; ++side) {
      const double norm = libraries_.blas().norm(
          vector(a.dtype, rest.data + static_cast<Address>(side * rest.strides[1]), m));
      sums.emplace_back(norm * norm);
    }
    return sums;
  }
};

/// Whether the libraries compute with all of these: numbers of theirs, of lengths that they take, and outputs
/// that are contiguous.
bool fits(Views operands) {
  return std::ranges::all_of(operands, [](const DeviceView& view) {
    return view.size() > 0 && std::ranges::all_of(view.lengths, is_library_int) &&
           (has_library_type(view.dtype) || view.dtype == DType::Int32);
  });
}

}  // namespace

bool Libraries::has(std::string_view name, Views operands) {
  Routines routines(device_, *this);
  const std::optional<Routine> routine = routines.find(name);
  const size_t numbers = routine && routine->reports ? 1 : 0;
  if (!routine || !fits(operands.first(operands.size() - numbers))) return false;
  if (is_transform(name) && !(operands[0].is_dense() && operands[2].is_dense())) return false;
  return std::ranges::all_of(routine->needs, [&](LibraryKind kind) { return why_none(kind).empty(); });
}

bool Libraries::runs_late(std::string_view name) { return name == "matmul" || is_transform(name); }

bool Libraries::run(std::string_view name, Views operands) {
  if (!has(name, operands)) return false;
  const Routine routine = *Routines(device_, *this).find(name);
  const int64_t has_failed = routine.run(operands) ? 0 : 1;
  if (routine.reports) device_.write(operands.back().data, &has_failed, sizeof has_failed);
  return true;
}

}  // namespace ingot::devices
