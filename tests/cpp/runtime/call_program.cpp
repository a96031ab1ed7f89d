// call FILE ENTRY A X...: calls ENTRY(A, [X...]) -> array, all float64, of a saved object and prints the
// result.

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "runtime/context.h"
#include "runtime/object.h"

namespace {

using namespace ingot::runtime;  // NOLINT(google-build-using-namespace)

struct Vector {
  ViewSlot slot;
  int64_t length;
  int64_t stride;
};

int report(const Object& object, const Error& error) {
  const ErrorSite& site = object.info().sites.at(error.site);
  std::printf("%s:%u:%u: %s: %s\n", site.location.file.c_str(), site.location.line, site.location.column + 1,
              std::string(name_of(site.kind)).c_str(), format_error(object.info(), error).c_str());
  return 1;
}

int run(int count, char** words) {
  if (count < 4) throw std::runtime_error("usage: call FILE ENTRY A X...");
  const Object object = Object::read_file(words[1]);
  double a = std::strtod(words[3], nullptr);
  std::vector<double> numbers;
  for (int i = 4; i < count; ++i) numbers.push_back(std::strtod(words[i], nullptr));

  Buffer buffer{reinterpret_cast<std::byte*>(numbers.data()), static_cast<int64_t>(8 * numbers.size()),
                nullptr, nullptr, nullptr};
  Vector x{{buffer.data, &buffer}, static_cast<int64_t>(numbers.size()), 8};
  Vector y{};
  void* slots[] = {&a, &x, &y};
  Context context = make_context();
  Call call(context);
  if (call.run(object.entry(words[2]), slots) != 0) return report(object, context.error);
  for (int64_t i = 0; i < y.length; ++i)
    std::printf("%s%g", i ? " " : "", *reinterpret_cast<double*>(y.slot.data + i * y.stride));
  std::printf("\n");
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return run(count, words);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "call: %s\n", e.what());
    return 2;
  }
}
