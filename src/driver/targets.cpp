#include "driver/targets.h"

#include <cstdlib>
#include <string_view>

#include "codegen/targets/device.h"

namespace ingot::driver {

namespace {

std::string_view variable(const char* name) {
  const char* const word = std::getenv(name);
  return word == nullptr ? "" : word;
}

codegen::Target as_asked_for(codegen::Target target) {
  using Sharing = base::Machine::Sharing;
  const std::string_view sharing = variable("INGOT_THREADS");
  target.machine.sharing = sharing == "always"  ? Sharing::Always
                           : sharing == "never" ? Sharing::Never
                                                : Sharing::Large;
  if (variable("INGOT_STREAMS") == "always") target.machine.streamed_bytes = 1;
  return target;
}

}  // namespace

Targets targets() {
  Targets all{.cpu = codegen::Target::host().cpu, .devices = {}};
  for (const codegen::DeviceTarget& device : codegen::device_targets()) all.devices.push_back(device.cpu());
  return all;
}

codegen::Target asked_for() { return as_asked_for(codegen::Target::named(variable("INGOT_VECTORS"))); }

codegen::Target ahead_of_time(int level) {
  codegen::Target target = as_asked_for(codegen::Target::generic(level));
  target.machine.products = base::Machine::Products::Loops;
  return target;
}

}  // namespace ingot::driver
