#include "frontend/registry.h"

namespace ingot::frontend {

namespace {

/// The object at a dotted path, imported; none when this NumPy or Python does not have it.
nb::object resolve(const std::string& path) {
  const size_t dot = path.rfind('.');
  const nb::object owner = nb::steal(PyImport_ImportModule(path.substr(0, dot).c_str()));
  if (!owner.is_valid()) {
    PyErr_Clear();
    return {};
  }
  return nb::getattr(owner, path.substr(dot + 1).c_str(), nb::object());
}

constexpr const char* kHandlerPaths[][34] = {
#define INGOT_BUILTIN(handler, ...) {__VA_ARGS__},
#include "frontend/builtins.def"
};

}  // namespace

Registry::Registry() {
  for (int i = 0; i < ir::kOpCount; ++i) {
    const ir::OpInfo& card = ir::info(static_cast<ir::Op>(i));
    if (!card.elementwise) continue;
    for (const std::string_view name : card.numpy)
      if (!name.empty()) add("numpy." + std::string(name), {.op = static_cast<ir::Op>(i)});
  }
  int number = 0;
  for (const auto& paths : kHandlerPaths) {
    for (const char* path : paths) {
      if (path == nullptr) break;
      if (*path == '.') methods_[path + 1] = number;
      else add(path, {.handler = number});
    }
    ++number;
  }
  const nb::object implementations = nb::module_::import_("ingot.library").attr("implementations");
  for (auto [function, stand_in] : nb::cast<nb::dict>(implementations)) {
    const std::string name = nb::cast<std::string>(function.attr("__name__"));
    kept_.push_back(nb::borrow(function));
    builtins_[function.ptr()] = {
        .name = name, .module = "ingot.library", .op = {}, .library = nb::borrow(stand_in)};
  }
}

void Registry::add(const std::string& path, Builtin builtin) {
  const nb::object function = resolve(path);
  if (!function.is_valid()) return;
  const size_t dot = path.rfind('.');
  builtin.module = path.substr(0, dot);
  builtin.name = path.substr(dot + 1);
  kept_.push_back(function);
  builtins_.emplace(function.ptr(), std::move(builtin));
}

const Builtin* Registry::find(nb::handle function) const {
  const auto it = builtins_.find(function.ptr());
  return it == builtins_.end() ? nullptr : &it->second;
}

int Registry::method(const std::string& name) const {
  const auto it = methods_.find(name);
  return it == methods_.end() ? -1 : it->second;
}

}  // namespace ingot::frontend
