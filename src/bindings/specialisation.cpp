#include "bindings/specialisation.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "bindings/invocation.h"
#include "bindings/results.h"
#include "bindings/streams.h"
#include "interop/collected.h"
#include "interop/exceptions.h"

namespace ingot::bindings {

using nb::literals::operator""_a;

namespace {

/// Processors count between one and five of these a nanosecond.
constexpr double kTicksPerSecond = 2.5e9;

int64_t ticks() { return static_cast<int64_t>(__builtin_ia32_rdtsc()); }

/// A call whose host calls and results are Python's business (`library` may be None): a list of numbers and
/// views (see `Invocation::results`, with the results that are `buffers`), or what failed, as a tuple. The
/// arrays of `cells` are among the leaves; these are put into the caller's containers when the code has run.
nb::object run(const Code& code, const nb::list& leaves, nb::handle host, nb::handle library,
               nb::handle keeps, const nb::tuple& buffers, const CallTarget& target, nb::handle errors,
               const HostCalls* quick, nb::handle check, nb::handle cells) {
  std::vector<PyObject*> given;
  for (const nb::handle leaf : leaves) given.push_back(leaf.ptr());
  if (given.size() < code.params().size()) throw nb::value_error("too few arguments");
  const Outside outside{host,  library.is_none() ? nb::handle() : library, keeps, quick, {.check = check},
                        errors};
  Invocation invocation(code, given, outside, target);
  const bool has_returned = invocation.run();
  if (!cells.is_none()) Cells::of(cells).flush();
  return has_returned ? invocation.results(buffers) : invocation.failure();
}

}  // namespace

Specialisation::Specialisation(const nb::tuple& guards, Description result, nb::list errors, bool is_direct)
    : guards_(guards), result_(std::move(result)), errors_(std::move(errors)), is_direct_(is_direct) {}

void Specialisation::load(nb::object code) {
  if (code_ == nullptr) improve(std::move(code));
}

void Specialisation::improve(nb::object code) {
  code_ = nb::cast<const Code*>(code);
  std::swap(loaded_, code);
  ticks_left_ = 0;
}

void Specialisation::call_directly(nb::object calls, nb::object layouts, nb::object keeps) {
  if (!keeps.is_none()) keeps_ = std::move(keeps);
  if (!calls.is_none()) calls_ = std::move(calls);
  if (!layouts.is_none()) layouts_ = std::move(layouts);
  is_direct_ = true;
}

void Specialisation::watch(double seconds) {
  ticks_left_ = std::max<int64_t>(1, static_cast<int64_t>(seconds * kTicksPerSecond));
}

void Specialisation::add_run(double seconds) { report_run(static_cast<int64_t>(seconds * kTicksPerSecond)); }

void Specialisation::report_run(int64_t run) const {
  if (ticks_left_ == 0 || (ticks_left_ -= run) > 0) return;
  ticks_left_ = 0;
  const nb::object reported = nb::find(*this).attr("_has_run")();
}

nb::object Specialisation::call(const Given& arguments) const {
  ++call_count_;
  const nb::object held = loaded_;  // others may load better code meanwhile
  const nb::object calls = calls_;
  const nb::object keeps = keeps_;
  nb::object host_from;
  if (keeps.is_valid()) host_from = nb::find(*this).attr("_host_of");
  std::optional<Cells> cells;
  if (layouts_.is_valid())
    cells.emplace(nb::borrow<nb::tuple>(layouts_), arguments.containers, arguments.leaves);
  const Outside outside{.host = {},
                        .library = {},
                        .keeps = keeps,
                        .quick = calls.is_valid() ? nb::inst_ptr<HostCalls>(calls) : nullptr,
                        .watched = {.guards = &guards_, .leaves = arguments.leaves},
                        .errors = errors_,
                        .host_from = host_from,
                        .cells = cells ? &*cells : nullptr,
                        .containers = arguments.containers};
  const Locked locked(arguments.locks);
  Invocation invocation(*code_, arguments.leaves, outside, arguments.target);
  const int64_t start = ticks_left_ == 0 ? 0 : ticks();
  const bool has_returned = invocation.run();
  if (cells) cells->flush();
  if (start != 0) report_run(ticks() - start);
  if (has_returned) {
    FrameValues values(invocation, arguments);
    return make_result(result_, values);
  }
  const nb::object failure = invocation.failure();
  const nb::object error = nb::module_::import_("ingot._host.exceptions")
                               .attr("exception")(*nb::cast<nb::tuple>(failure), errors_);
  set_error(error);
  throw nb::python_error();
}

int Specialisation::traverse(visitproc visit, void* arg) const {
  if (const int stop = guards_.traverse(visit, arg); stop != 0) return stop;
  if (const int stop = result_.traverse(visit, arg); stop != 0) return stop;
  Py_VISIT(errors_.ptr());
  Py_VISIT(loaded_.ptr());
  Py_VISIT(calls_.ptr());
  Py_VISIT(layouts_.ptr());
  Py_VISIT(keeps_.ptr());
  return 0;
}

void Specialisation::clear() {
  is_direct_ = false;
  guards_.clear();
  result_.clear();
  errors_.reset();
  calls_.reset();
  layouts_.reset();
  keeps_.reset();
}

void Specialisation::bind(nb::module_& m) {
  nb::class_<CallTarget>(m, "CallTarget");  // NOLINT(bugprone-unused-raii)
  nb::class_<Code>(m, "Code")               // NOLINT(performance-unnecessary-value-param)
      .def_static("load", &Code::load, "object"_a, "options"_a.none() = nb::none(), "moves"_a = nb::tuple())
      .def("run", &run, "leaves"_a, "host"_a.none(), "library"_a.none(), "keeps"_a, "buffers"_a,
           "target"_a = CallTarget(), "errors"_a = nb::list(), "quick"_a.none() = nb::none(),
           "check"_a.none() = nb::none(), "cells"_a.none() = nb::none())
      .def(
          "_set_functions",
          [](Code& code, const std::vector<std::pair<uintptr_t, uintptr_t>>& functions) {
            std::vector<void*> all;
            for (const auto& [address, data] : functions) {
              all.push_back(reinterpret_cast<void*>(address));  // NOLINT(performance-no-int-to-ptr)
              all.push_back(reinterpret_cast<void*>(data));     // NOLINT(performance-no-int-to-ptr)
            }
            code.set_functions(std::move(all));
          },
          "functions"_a,
          "The C functions that it calls: of each its address, and the data of a ufunc's loop.")
      .def("_other_from", &Code::set_other_from, "maker"_a,
           "What makes the code for any floating-point state, when a call first has another than the "
           "default.");
  nb::class_<Specialisation>(m, "Specialisation", nb::type_slots(Collected<Specialisation>::slots()))
      .def(nb::init<const nb::tuple&, Description, nb::list, bool>(), "guards"_a, "result"_a, "errors"_a,
           "direct"_a)
      .def_prop_rw("loaded", &Specialisation::loaded, &Specialisation::load, "The code, or None.")
      .def_prop_ro("errors", &Specialisation::errors)
      .def("_improve", &Specialisation::improve, "code"_a,
           "Calls from now on are those of better code; those that are under way keep what they have.")
      .def("_watch", &Specialisation::watch, "seconds"_a,
           "Has `_has_run` called once, when calls have taken so long from now on.")
      .def("_call_directly", &Specialisation::call_directly, "calls"_a.none(), "layouts"_a.none(),
           "keeps"_a.none(), "From now on `call` makes its calls of the host: see specialisation.h.")
      .def_prop_ro("calls", &Specialisation::calls, "How many calls of it were made.")
      .def("_add_call", &Specialisation::add_call, "One is made elsewhere.")
      .def("_add_run", &Specialisation::add_run, "seconds"_a, "Calls have taken so long elsewhere.")
      .def(
          "changed",
          [](const Specialisation& it) {
            PyObject* const guard = it.guards_.changed();
            return guard == nullptr ? nb::none() : nb::borrow(guard);
          },
          "None, or the guard (owner, name, expected, present) of what has changed outside since it was "
          "compiled.");
}

}  // namespace ingot::bindings
