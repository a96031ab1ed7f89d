#include "frontend/registry.h"

#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <tuple>

#include "frontend/value.h"

namespace ingot::frontend {

namespace {

constexpr const char* kHandlerPaths[][34] = {
#define INGOT_BUILTIN(handler, ...) {__VA_ARGS__},
#include "frontend/builtins.def"
};

/// Clears Python's error indicator; throws if it is a lack of memory.
void forget_error() {
  if (PyErr_Occurred() == nullptr) return;
  const nb::python_error error;
  rethrow_lack_of_memory(error);
}

/// A module by its name; None if it is not loaded.
nb::object loaded_module(nb::handle name) {
  PyObject* const modules = PyImport_GetModuleDict();
  if (PyDict_CheckExact(modules) && PyDict_Contains(modules, name.ptr()) == 0) return nb::none();
  nb::object module = nb::steal(PyImport_GetModule(name.ptr()));
  if (module.is_valid()) return module;
  forget_error();
  return nb::none();
}

}  // namespace

nb::module_ imported(const char* name) {
  const nb::object key = nb::steal(PyUnicode_InternFromString(name));
  nb::object module = nb::steal(key.is_valid() ? PyImport_GetModule(key.ptr()) : nullptr);
  if (module.is_valid() && PyModule_Check(module.ptr())) return nb::borrow<nb::module_>(module);
  forget_error();
  return nb::module_::import_(name);
}

nb::object attribute_or(nb::handle object, const char* name, nb::object otherwise) {
  nb::object found = nb::steal(PyObject_GetAttrString(object.ptr(), name));
  if (found.is_valid()) return found;
  forget_error();
  return otherwise;
}

Registry::Registry() {
  std::unordered_map<std::string, nb::object> loaded;  // by name; None: it is not loaded
  std::unordered_map<std::string, size_t> indices;     // in `unloaded_`
  const auto add = [&](Builtin builtin) {
    const auto [module, is_new] = loaded.try_emplace(builtin.module);
    if (is_new) module->second = loaded_module(nb::cast(builtin.module));
    if (!module->second.is_none()) return enter(module->second, builtin);
    const auto [index, is_first] = indices.try_emplace(builtin.module, unloaded_.size());
    if (is_first) unloaded_.push_back({nb::cast(builtin.module), {}});
    unloaded_[index->second].builtins.push_back(std::move(builtin));
  };
  const auto add_path = [&](const std::string& path, Builtin builtin) {
    const size_t dot = path.rfind('.');
    builtin.module = path.substr(0, dot);
    builtin.name = path.substr(dot + 1);
    add(std::move(builtin));
  };
  for (int i = 0; i < ir::kOpCount; ++i) {
    const ir::OpInfo& card = ir::info(static_cast<ir::Op>(i));
    if (!card.elementwise) continue;
    for (const std::string_view name : card.numpy)
      if (!name.empty()) add_path("numpy." + std::string(name), {.op = static_cast<ir::Op>(i)});
  }
  int number = 0;
  for (const auto& paths : kHandlerPaths) {
    for (const char* path : paths) {
      if (path == nullptr) break;
      if (*path == '.') methods_[path + 1] = number;
      else add_path(path, {.handler = number});
    }
    ++number;
  }
  for (const nb::handle entry : imported("ingot.library._index").attr("INDEX")) {
    // nanobind's casts to std::string terminate the process if there is no memory for them.
    const std::string module = nb::cast<const char*>(entry[0]);
    const std::string path = nb::cast<const char*>(entry[1]);
    const std::string subject = nb::cast<const char*>(entry[2]);
    add({.name = path.substr(path.rfind('.') + 1), .module = module, .path = path, .subject = subject});
  }
}

void Registry::enter(nb::handle module, const Builtin& builtin) const {
  const std::string& path = builtin.path.empty() ? builtin.name : builtin.path;
  nb::object function = nb::borrow(module);
  for (size_t start = 0; function.is_valid() && start <= path.size();) {
    const size_t end = std::min(path.find('.', start), path.size());
    function = attribute_or(function, path.substr(start, end - start).c_str(), nb::object());
    start = end + 1;
  }
  if (!function.is_valid()) return;
  kept_.push_back(function);
  builtins_[function.ptr()] = builtin;
}

bool Registry::enter_loaded() const {
  return std::erase_if(unloaded_, [&](const Unloaded& unloaded) {
           const nb::object module = loaded_module(unloaded.module);
           if (module.is_none()) return false;
           for (const Builtin& builtin : unloaded.builtins) enter(module, builtin);
           return true;
         }) > 0;
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
  // A class method is a new object at each look-up.
  PyObject* const f = function.ptr();
  PyObject* self = PyCFunction_Check(f) ? PyCFunction_GET_SELF(f) : nullptr;
  if (PyMethod_Check(f)) self = PyMethod_GET_SELF(f);
  if (self != nullptr && PyType_Check(self)) {
    for (auto& [own, builtin] : builtins_)
      if (Py_TYPE(own) == Py_TYPE(f) && PyObject_RichCompareBool(own, f, Py_EQ) == 1)
        return loaded(own, builtin);
  }
  if (!enter_loaded()) return nullptr;
  return find(function);
}

int Registry::method(const std::string& name) const {
  const auto it = methods_.find(name);
  return it == methods_.end() ? -1 : it->second;
}

nb::object Registry::member(const std::string& name) const {
  const nb::object found = attribute_or(imported("numpy").attr("ndarray"), name.c_str(), nb::object());
  return found.is_valid() && find(found) != nullptr ? found : nb::object();
}

}  // namespace ingot::frontend
