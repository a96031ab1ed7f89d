// Imports inside of functions. A loaded module is found as by Python's `import`, in `sys.modules`, and
// guarded there. Loading a module runs its code, which may do anything, so only modules of Python and NumPy
// are loaded here; others are refused until the program has loaded them.

#include "frontend/statements/imports.h"

#include "frontend/statements/exceptions.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

using base::ExceptionKind;

namespace {

nb::object modules_of_python() { return imported("sys").attr("modules"); }

Value imported_module(Tracer& t, const std::string& name, nb::handle s) {
  const nb::object helper = imported("ingot._objects.importing").attr("loaded");
  const nb::object modules = modules_of_python();
  const nb::object module = helper(name);
  if (PyModule_Check(module.ptr()) == 0) {
    const nb::module_ importing = imported("ingot._objects.importing");
    if (const nb::object error = importing.attr("absent")(name); !error.is_none()) {
      t.guards.push_back({modules, name, {}});
      t.guards.push_back({importing.attr("Findable"), name, nb::bool_(false)});
      // A clause gets an error made of the message; the object itself, with the name, may leave the call.
      const Error caught = make_error(t, nb::borrow(error.type()), {Static{nb::str(error)}});
      if (may_be_caught(t, caught)) raise_error(t, caught);
      raise_object(t, error);
    }
    nb::list names;
    names.append(name);
    unsupported(t, s, "an `import` of `" + name + "` inside a function, which is not loaded,",
                text_of(imported("ingot._refusals.advice").attr("of_import")(names)));
  }
  t.guards.push_back({modules, name, module});
  return Static{module};
}

}  // namespace

void run_import(Tracer& t, nb::handle s) {
  for (const nb::handle alias : s.attr("names")) {
    const std::string name = text_of(alias.attr("name"));
    // Python also loads each enclosing package, the outermost one first.
    Value first;
    Value module;
    for (size_t dot = name.find('.');; dot = name.find('.', dot + 1)) {
      module = imported_module(t, name.substr(0, dot), s);
      if (first.is<Unbound>()) first = module;
      if (dot == std::string::npos) break;
    }
    const bool is_renamed = !alias.attr("asname").is_none();
    if (!is_renamed) {
      bind_variable(t, name.substr(0, name.find('.')), first);
      continue;
    }
    Value found = first;
    for (size_t dot = name.find('.'); dot != std::string::npos;) {
      const size_t next = name.find('.', dot + 1);
      found = attribute_of(t, found, name.substr(dot + 1, next - dot - 1), s);
      dot = next;
    }
    bind_variable(t, text_of(alias.attr("asname")), found);
  }
}

void run_import_from(Tracer& t, nb::handle s) {
  const nb::module_ importing = imported("ingot._objects.importing");
  const nb::object name =
      importing.attr("absolute")(t.frame->globals, attribute(s, "module"), s.attr("level"));
  if (name.is_none())
    unsupported(t, s, "a relative `import` of what is in no package", "name the whole module");
  const std::string whole = text_of(name);
  for (const char* key : {"__package__", "__spec__", "__name__"}) {
    if (nb::cast<int>(s.attr("level")) == 0) break;
    const nb::object held = nb::borrow(PyDict_GetItemString(t.frame->globals.ptr(), key));
    t.guards.push_back({t.frame->globals, key, held});
  }
  Value module;
  for (size_t dot = whole.find('.');; dot = whole.find('.', dot + 1)) {
    module = imported_module(t, whole.substr(0, dot), s);
    if (dot == std::string::npos) break;
  }
  const nb::object object = known_of(module);
  for (const nb::handle alias : s.attr("names")) {
    const std::string wanted = text_of(alias.attr("name"));
    const std::string own = alias.attr("asname").is_none() ? wanted : text_of(alias.attr("asname"));
    const nb::object dict = attribute(object, "__dict__");
    const bool is_there = nb::cast<bool>(importing.attr("has")(object, wanted));
    if (is_there) {
      bind_variable(t, own, attribute_of(t, module, wanted, s));
      continue;
    }
    const std::string inner = whole + "." + wanted;
    if (!importing.attr("loaded")(inner).is_none()) {
      bind_variable(t, own, imported_module(t, inner, s));
      continue;
    }
    if (nb::cast<bool>(importing.attr("may_be_found")(inner)))
      unsupported(t, s, "an `import` of `" + inner + "` inside a function, which is not loaded,",
                  "import it at the top of the file");
    t.guards.push_back({dict, wanted, {}});
    t.guards.push_back({modules_of_python(), inner, {}});
    raise_object(t, importing.attr("missing")(object, wanted));
  }
}

}  // namespace ingot::frontend
