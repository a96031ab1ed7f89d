#include "frontend/registry.h"

#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <sstream>
#include <tuple>

namespace ingot::frontend {

namespace {

constexpr const char* kHandlerPaths[][34] = {
#define INGOT_BUILTIN(handler, ...) {__VA_ARGS__},
#include "frontend/builtins.def"
};

}  // namespace

nb::module_ imported(const char* name) {
  const nb::object key = nb::steal(PyUnicode_InternFromString(name));
  nb::object module = nb::steal(key.is_valid() ? PyImport_GetModule(key.ptr()) : nullptr);
  if (module.is_valid() && PyModule_Check(module.ptr())) return nb::borrow<nb::module_>(module);
  PyErr_Clear();
  return nb::module_::import_(name);
}

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
  for (const nb::handle entry : imported("ingot.library._index").attr("INDEX")) {
    const auto [module, path, subject] = nb::cast<std::tuple<std::string, std::string, std::string>>(entry);
    Builtin builtin{
        .name = path.substr(path.rfind('.') + 1), .module = module, .path = path, .subject = subject};
    if (!enter(builtin)) unloaded_[builtin.module].push_back(std::move(builtin));
  }
}

void Registry::add(const std::string& path, Builtin builtin) {
  const size_t dot = path.rfind('.');
  builtin.module = path.substr(0, dot);
  builtin.name = path.substr(dot + 1);
  if (!enter(builtin)) unloaded_[builtin.module].push_back(std::move(builtin));
}

bool Registry::enter(const Builtin& builtin) const {
  const nb::object name = nb::cast(builtin.module);
  const nb::object module = nb::steal(PyImport_GetModule(name.ptr()));
  if (!module.is_valid()) {
    PyErr_Clear();
    return false;
  }
  nb::object function = module;
  std::istringstream path(builtin.path.empty() ? builtin.name : builtin.path);
  for (std::string part; function.is_valid() && std::getline(path, part, '.');)
    function = nb::getattr(function, part.c_str(), nb::object());
  if (function.is_valid()) {
    kept_.push_back(function);
    builtins_[function.ptr()] = builtin;
  }
  return true;
}

const Builtin* Registry::loaded(PyObject* function, Builtin& builtin) {
  if (builtin.subject.empty() || builtin.library.is_valid()) return &builtin;
  imported(("ingot.library." + builtin.subject).c_str());
  builtin.library = imported("ingot.library.registry").attr("implementations")[nb::handle(function)];
  return &builtin;
}

const Builtin* Registry::find(nb::handle function) const {
  if (const auto it = builtins_.find(function.ptr()); it != builtins_.end())
    return loaded(it->first, it->second);
  // A method of a class is another object each time.
  if (PyCFunction_Check(function.ptr()) && PyCFunction_GET_SELF(function.ptr()) != nullptr &&
      PyType_Check(PyCFunction_GET_SELF(function.ptr()))) {
    for (auto& [own, builtin] : builtins_)
      if (Py_IS_TYPE(own, &PyCFunction_Type) && PyObject_RichCompareBool(own, function.ptr(), Py_EQ) == 1)
        return loaded(own, builtin);
  }
  const auto enters = [&](const auto& module) {
    return std::ranges::count_if(module.second, [&](const Builtin& builtin) { return enter(builtin); }) > 0;
  };
  if (std::erase_if(unloaded_, enters) == 0) return nullptr;
  return find(function);
}

int Registry::method(const std::string& name) const {
  const auto it = methods_.find(name);
  return it == methods_.end() ? -1 : it->second;
}

nb::object Registry::member(const std::string& name) const {
  const nb::object found = nb::getattr(imported("numpy").attr("ndarray"), name.c_str(), nb::object());
  return found.is_valid() && find(found) != nullptr ? found : nb::object();
}

}  // namespace ingot::frontend
