#include "interop/exceptions.h"

#include <nanobind/stl/string.h>

#include <bit>
#include <string>

#include "runtime/context.h"
#include "runtime/object_info.h"

namespace ingot::inline interop {

namespace nb = nanobind;

namespace {

/// The values that an error shows, as numbers of Python's.
nb::list shown_by(const runtime::ErrorSite& site, const runtime::Error& error) {
  nb::list values;
  for (size_t i = 0; i < site.arguments.size(); ++i) {
    const base::DType dtype = site.arguments[i];
    const uint64_t bits = error.arguments[i];
    if (base::is_bool(dtype)) values.append(bits != 0);
    else if (base::is_float(dtype)) values.append(std::bit_cast<double>(bits));
    else if (base::is_signed(dtype)) values.append(static_cast<int64_t>(bits));
    else values.append(bits);
  }
  return values;
}

}  // namespace

nb::tuple failure_of(const runtime::ObjectInfo& code, const runtime::Error& error) {
  nb::object made = nb::none();
  if (error.site != runtime::Error::kNoSite) {
    const runtime::ErrorSite& site = code.sites[error.site];
    if (site.made >= 0) made = nb::make_tuple(site.made, shown_by(site, error));
  }
  return nb::make_tuple(std::string(base::name_of(runtime::exception_of(error.status))),
                        runtime::format_error(code, error), tuple_of(runtime::sites_of(code, error)),
                        nb::none(), made);
}

}  // namespace ingot::inline interop
