#include <bit>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/half.h"
#include "base/message.h"
#include "base/text.h"
#include "runtime/device_error.h"
#include "runtime/object_info.h"

namespace ingot::runtime {

namespace {

std::string show(base::DType t, uint64_t bits) {
  if (base::is_bool(t)) return base::repr(bits != 0);
  if (base::is_int(t)) return base::is_signed(t) ? base::repr(static_cast<int64_t>(bits)) : base::repr(bits);
  const auto value = std::bit_cast<double>(bits);
  if (t == base::DType::Float16) return base::repr(base::Half(value));
  return t == base::DType::Float32 ? base::repr(static_cast<float>(value)) : base::repr(value);
}

std::string format_without_site(const Error& error) {
  if (error.status == status_of(base::ExceptionKind::MemoryError))
    return "Unable to allocate " + std::to_string(static_cast<int64_t>(error.arguments[0])) + " bytes";
  if (error.status == status_of(base::ExceptionKind::RecursionError))
    return "maximum recursion depth exceeded";
  if (error.status == status_of(base::ExceptionKind::RuntimeError)) return last_device_error();
  return "";
}

}  // namespace

std::string format_error(const ObjectInfo& info, const Error& error) {
  if (error.site == Error::kNoSite) return format_without_site(error);
  INGOT_ASSERT(error.site < info.sites.size(), "runtime: an error of an unknown site");
  const ErrorSite& site = info.sites[error.site];
  INGOT_ASSERT(site.arguments.size() <= Error::kMaxArguments, "runtime: a site with too many arguments");
  std::vector<std::string> values;
  values.reserve(site.arguments.size());
  for (size_t i = 0; i < site.arguments.size(); ++i)
    values.push_back(show(site.arguments[i], error.arguments[i]));
  return base::fill_message(site.message, values);
}

std::vector<base::Site> sites_of(const ObjectInfo& info, const Error& error) {
  std::vector<base::Site> sites;
  const uint64_t location = error.arguments[Error::kLocation];
  const bool has_location = error.site != Error::kNoSite || (location > 0 && location <= info.sites.size());
  if (!has_location) return sites;
  const auto add = [&](uint32_t number) {
    const ErrorSite& site = info.sites.at(number);
    // A site without a location gets that of its call.
    if (!site.location.file.empty()) sites.push_back({site.location, site.function});
    sites.insert(sites.end(), site.callers.begin(), site.callers.end());
  };
  add(error.site != Error::kNoSite ? error.site : static_cast<uint32_t>(location - 1));
  for (uint32_t i = 0; i < error.caller_count; ++i) add(error.callers[i]);
  return sites;
}

}  // namespace ingot::runtime
