#include "frontend/registry.h"

namespace ingot::frontend {

namespace {

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
    const std::string name =
        nb::cast<std::string>(nb::getattr(function, "__name__", function.type().attr("__name__")));
    kept_.push_back(nb::borrow(function));
    builtins_[function.ptr()] = {
        .name = name, .module = "ingot.library", .op = {}, .library = nb::borrow(stand_in)};
  }
}

void Registry::add(const std::string& path, Builtin builtin) {
  const size_t dot = path.rfind('.');
  builtin.module = path.substr(0, dot);
  builtin.name = path.substr(dot + 1);
  if (!enter(builtin)) unloaded_.push_back(std::move(builtin));
}

bool Registry::enter(const Builtin& builtin) const {
  const nb::object name = nb::cast(builtin.module);
  const nb::object module = nb::steal(PyImport_GetModule(name.ptr()));
  if (!module.is_valid()) {
    PyErr_Clear();
    return false;
  }
  const nb::object function = nb::getattr(module, builtin.name.c_str(), nb::object());
  if (function.is_valid()) {
    kept_.push_back(function);
    builtins_.emplace(function.ptr(), builtin);
  }
  return true;
}

const Builtin* Registry::find(nb::handle function) const {
  if (const auto it = builtins_.find(function.ptr()); it != builtins_.end()) return &it->second;
  // A method of a class is another object each time.
  if (PyCFunction_Check(function.ptr()) && PyCFunction_GET_SELF(function.ptr()) != nullptr &&
      PyType_Check(PyCFunction_GET_SELF(function.ptr()))) {
    for (const auto& [own, builtin] : builtins_)
      if (Py_IS_TYPE(own, &PyCFunction_Type) && PyObject_RichCompareBool(own, function.ptr(), Py_EQ) == 1)
        return &builtin;
  }
  if (std::erase_if(unloaded_, [&](const Builtin& builtin) { return enter(builtin); }) == 0) return nullptr;
  return find(function);
}

int Registry::method(const std::string& name) const {
  const auto it = methods_.find(name);
  return it == methods_.end() ? -1 : it->second;
}

nb::object Registry::member(const std::string& name) const {
  const nb::object found =
      nb::getattr(nb::module_::import_("numpy").attr("ndarray"), name.c_str(), nb::object());
  return found.is_valid() && find(found) != nullptr ? found : nb::object();
}

}  // namespace ingot::frontend
