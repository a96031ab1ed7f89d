#include <nanobind/stl/complex.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "devices/libraries/blas.h"
#include "devices/libraries/fft.h"
#include "devices/libraries/random.h"
#include "devices/libraries/sparse.h"
#include "eager/bind.h"
#include "eager/device_array.h"
#include "eager/pending.h"

namespace ingot::eager {

namespace {

using devices::DeviceView;
using devices::Libraries;
using devices::LibraryKind;
using nb::literals::operator""_a;
using Number = std::complex<double>;

Libraries& libraries_of(devices::Device& device) {
  Libraries* const found = device.libraries();
  if (found == nullptr)
    throw devices::DeviceError(name_of(device) + " has no libraries: there are some for the kind \"gpu\"");
  return *found;
}

LibraryKind kind_of(const std::string& name) {
  constexpr const char* kNames[] = {"blas", "fft", "solver", "random", "sparse"};
  for (size_t i = 0; i < devices::kLibraryKinds; ++i)
    if (name == kNames[i]) return static_cast<LibraryKind>(i);
  throw nb::value_error("no such library");
}

std::string why_none(const DeviceHandle& device, const std::string& name) {
  Libraries* const found = device.it->libraries();
  return found == nullptr ? name_of(*device.it) + " has no libraries" : found->why_none(kind_of(name));
}

DeviceArray& checked(nb::handle array) {
  if (!is_device_array(array.ptr())) throw nb::type_error("an ingot.Array is wanted");
  return device_array(array.ptr());
}

Libraries& libraries_of(nb::handle array) { return libraries_of(checked(array).device()); }

/// The layout of an array, which the calling thread's stream may use, and write into, from now on.
DeviceView view_of(nb::handle array) {
  const DeviceArray& own = checked(array);
  compute(array.ptr());
  compute_readers(*own.memory);
  own.memory->use();
  const Window& window = own.window;
  return {window.dtype,
          address_of(window.data),
          {window.lengths, window.lengths + window.rank},
          {window.strides, window.strides + window.rank}};
}

/// Calls it without the GIL.
template <class Fn>
auto released(Fn&& fn) {
  const nb::gil_scoped_release release;
  return fn();
}

void bind_blas(nb::module_& m) {
  m.def("blas_product", [](Number alpha, nb::handle a, bool conjugates_a, nb::handle b, bool conjugates_b,
                           Number beta, nb::handle c) {
    const devices::Factor left{view_of(a), conjugates_a};
    const devices::Factor right{view_of(b), conjugates_b};
    const DeviceView target = view_of(c);
    released([&] { libraries_of(c).blas().product(alpha, left, right, beta, target); });
  });
  m.def("blas_axpy", [](Number alpha, nb::handle x, nb::handle y) {
    const DeviceView from = view_of(x), to = view_of(y);
    released([&] { libraries_of(y).blas().axpy(alpha, from, to); });
  });
  m.def("blas_scale", [](Number alpha, nb::handle x) {
    const DeviceView view = view_of(x);
    released([&] { libraries_of(x).blas().scale(alpha, view); });
  });
  m.def("blas_copy", [](nb::handle x, nb::handle y) {
    const DeviceView from = view_of(x), to = view_of(y);
    released([&] { libraries_of(y).blas().copy(from, to); });
  });
  m.def("blas_swap", [](nb::handle x, nb::handle y) {
    const DeviceView one = view_of(x), other = view_of(y);
    released([&] { libraries_of(y).blas().swap(one, other); });
  });
  m.def("blas_dot", [](nb::handle x, nb::handle y, bool conjugates) {
    const DeviceView one = view_of(x), other = view_of(y);
    return released([&] { return libraries_of(y).blas().dot(one, other, conjugates); });
  });
  m.def("blas_norm", [](nb::handle x) {
    const DeviceView view = view_of(x);
    return released([&] { return libraries_of(x).blas().norm(view); });
  });
  m.def("blas_sizes", [](nb::handle x) {
    const DeviceView view = view_of(x);
    return released([&] { return libraries_of(x).blas().sizes(view); });
  });
  m.def("blas_largest", [](nb::handle x) {
    const DeviceView view = view_of(x);
    return released([&] { return libraries_of(x).blas().largest(view); });
  });
  m.def("blas_smallest", [](nb::handle x) {
    const DeviceView view = view_of(x);
    return released([&] { return libraries_of(x).blas().smallest(view); });
  });
}

/// A generator; one thread at a time has it without the GIL.
struct Generator {
  std::unique_ptr<devices::RandomGenerator> it;

  template <class Draw>
  void draw(nb::handle target, Draw&& draw) {
    const DeviceView view = view_of(target);
    released([&] { draw(*it, view); });
  }
};

void bind_random(nb::module_& m) {
  using devices::RandomGenerator;
  nb::class_<Generator>(m, "RandomGenerator")
      .def("set_seed", [](Generator& g, uint64_t seed) { g.it->set_seed(seed); })
      .def("set_offset", [](Generator& g, uint64_t offset) { g.it->set_offset(offset); })
      .def("set_dimensions", [](Generator& g, unsigned dimensions) { g.it->set_dimensions(dimensions); })
      .def("bits",
           [](Generator& g, nb::handle target) {
             g.draw(target, [](RandomGenerator& it, const DeviceView& view) { it.bits(view); });
           })
      .def("uniform",
           [](Generator& g, nb::handle target) {
             g.draw(target, [](RandomGenerator& it, const DeviceView& view) { it.uniform(view); });
           })
      .def("normal",
           [](Generator& g, nb::handle target, double mean, double deviation) {
             g.draw(target,
                    [&](RandomGenerator& it, const DeviceView& view) { it.normal(view, mean, deviation); });
           })
      .def("log_normal",
           [](Generator& g, nb::handle target, double mean, double deviation) {
             g.draw(target, [&](RandomGenerator& it, const DeviceView& view) {
               it.log_normal(view, mean, deviation);
             });
           })
      .def("poisson", [](Generator& g, nb::handle target, double mean) {
        g.draw(target, [&](RandomGenerator& it, const DeviceView& view) { it.poisson(view, mean); });
      });
  m.def("random_generator", [](const DeviceHandle& device, int type) {
    return Generator{std::make_unique<RandomGenerator>(libraries_of(*device.it), type)};
  });
}

}  // namespace

void bind_libraries(nb::module_& m) {
  m.def("why_no_library", &why_none, "Why a device has no library of this name; empty: it has.");
  m.def("library_description", [](const DeviceHandle& device, const std::string& name) {
    return libraries_of(*device.it).description(kind_of(name));
  });
  m.def("uses_libraries", [](const DeviceHandle& device) {
    const Libraries* const found = device.it->libraries();
    return found != nullptr && found->is_for_compiled_code();
  });
  m.def("set_uses_libraries", [](const DeviceHandle& device, bool is_used) {
    libraries_of(*device.it).set_for_compiled_code(is_used);
  });
  m.def("set_library_folders", [](const DeviceHandle& device, std::vector<std::string> folders) {
    if (Libraries* const found = device.it->libraries()) found->set_folders(std::move(folders));
  });
  m.def(
      "library_routine",
      [](const std::string& name, const nb::list& arrays) {
        std::vector<DeviceView> views;
        for (const nb::handle array : arrays) views.push_back(view_of(array));
        Libraries& libraries = libraries_of(nb::handle(arrays[0]));
        return released([&] { return libraries.run(name, views); });
      },
      "Calls a routine of compiled code's; false, with nothing done: the libraries do not have it.");
  bind_blas(m);
  bind_random(m);
  m.def("fft_transform", [](nb::handle input, nb::handle output, size_t axes, bool is_inverse) {
    const DeviceView from = view_of(input), to = view_of(output);
    released([&] { libraries_of(output).fft().transform(from, to, axes, is_inverse); });
  });
  m.def("sparse_product", [](int operation, Number alpha, int64_t rows, int64_t columns, nb::handle starts,
                             nb::handle indices, nb::handle values, nb::handle x, Number beta, nb::handle y) {
    const devices::SparseRows a{rows, columns, view_of(starts), view_of(indices), view_of(values)};
    const DeviceView from = view_of(x), to = view_of(y);
    released([&] {
      libraries_of(y).sparse().product(static_cast<devices::LibraryOperation>(operation), alpha, a, from,
                                       beta, to);
    });
  });
}

}  // namespace ingot::eager
