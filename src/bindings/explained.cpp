#include "bindings/explained.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/scalar_bits.h"
#include "explain/fusion.h"
#include "explain/launches.h"
#include "explain/loops.h"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace ingot::bindings {

namespace {

using explain::Buffer;
using explain::FusedOp;
using explain::Fusion;
using explain::Loop;
using explain::Nest;

/// A part of what `owner` holds. Each part is one object of Python's as long as that is referred to.
template <class T>
nb::object part_of(nb::handle owner, const T* part) {
  return nb::cast(std::shared_ptr<T>(const_cast<T*>(part), [held = nb::borrow(owner)](T*) {}));
}

template <class Parts>
nb::list parts_of(nb::handle owner, const Parts& parts) {
  nb::list all;
  for (const auto* part : parts) all.append(part_of(owner, part));
  return all;
}

nb::dict sizes_of(nb::handle nest, const explain::Touched& touched) {
  nb::dict sizes;
  for (const auto& [buffer, bytes] : touched) sizes[part_of(nest, buffer)] = nb::cast(bytes);
  return sizes;
}

/// Of what an op takes values from: the ops, or the memory.
template <class T>
nb::list uses_of(nb::handle op) {
  nb::list all;
  for (const auto& use : nb::cast<const FusedOp&>(op).uses)
    if (const auto* const part = std::get_if<const T*>(&use)) all.append(part_of(op, *part));
  return all;
}

const ir::Function& function_of(const Stage& stage, const std::string& name) {
  return *stage.module->function(base::known(stage.module->find(name)));
}

/// A number, or an array of the host's or a device's; anything else is not known.
explain::Argument argument_of(ir::Type type, nb::handle leaf) {
  if (type.is_view() && nb::hasattr(leaf, "strides")) {
    return explain::ArrayArgument{.identity = leaf.ptr(),
                                  .bytes = nb::cast<int64_t>(leaf.attr("nbytes")),
                                  .dtype = nb::cast<std::string>(leaf.attr("dtype").attr("name")),
                                  .shape = nb::cast<std::vector<int64_t>>(leaf.attr("shape")),
                                  .strides = nb::cast<std::vector<int64_t>>(leaf.attr("strides")),
                                  .itemsize = nb::cast<int64_t>(leaf.attr("itemsize"))};
  }
  if (type.is_scalar()) return scalar_bits(type.dtype(), leaf);
  return {};
}

std::vector<explain::Argument> arguments_of(const ir::Function& function, const nb::list& leaves) {
  const auto parameters = function.region_parameters(function.body());
  std::vector<explain::Argument> arguments;
  for (size_t i = 0; i < std::min(parameters.size(), leaves.size()); ++i)
    arguments.push_back(argument_of(function.type(parameters[i]), leaves[i]));
  return arguments;
}

Fusion fusion_of(const Stage& stage, const std::string& name, const nb::list& leaves) {
  const ir::Function& function = function_of(stage, name);
  return explain::fusion_of(function, arguments_of(function, leaves));
}

/// The launches, and what runs on the host between them, by the names of their fields; then the bytes of what
/// the call is given and gives, and how many numbers the host reads.
nb::tuple launches_of(const Stage& stage, const std::string& name, const nb::list& leaves) {
  const ir::Module& module = *stage.module;
  const ir::FunctionId entry = base::known(module.find(name));
  const explain::Launches found =
      explain::launches_of(module, entry, arguments_of(*module.function(entry), leaves));
  nb::list launches;
  for (const explain::Launch& launch : found.launches) {
    const auto kernel = stage.kernels.find({launch.function, launch.node});
    nb::dict row;
    row["kernel"] = kernel != stage.kernels.end() ? kernel->second : "";
    row["function"] = launch.function;
    row["number"] = launch.number;
    row["place"] = launch.line;
    row["times"] = launch.times;
    row["grid"] = nb::make_tuple(launch.grid[0], launch.grid[1], launch.grid[2]);
    row["block"] = nb::make_tuple(launch.block[0], launch.block[1], launch.block[2]);
    row["read"] = launch.read;
    row["written"] = launch.written;
    row["dynamic_shared"] = launch.dynamic_shared;
    row["waits"] = launch.waits;
    launches.append(row);
  }
  nb::list on_host;
  for (const explain::OnHost& part : found.on_host) {
    nb::dict row;
    row["what"] = part.what;
    row["place"] = part.line;
    row["times"] = part.times;
    row["bytes"] = part.bytes;
    on_host.append(row);
  }
  return nb::make_tuple(launches, on_host, found.least, found.numbers);
}

nb::list loops_of(const Stage& stage, const std::string& own) {
  const auto loops = std::make_shared<std::deque<Loop>>(explain::loops_of(*stage.module, own));
  nb::list all;
  for (Loop& loop : *loops) all.append(std::shared_ptr<Loop>(loops, &loop));
  return all;
}

nb::object python_location(const std::optional<base::SourceLocation>& location) {
  if (!location) return nb::none();
  return nb::make_tuple(location->file, location->line, location->column, location->end_column);
}

void add_fusion(nb::module_& core) {
  nb::class_<Buffer>(core, "Buffer")
      .def_ro("name", &Buffer::name)
      .def_ro("bytes", &Buffer::bytes)
      .def_ro("dtype", &Buffer::dtype)
      .def_ro("itemsize", &Buffer::itemsize)
      .def_ro("shape", &Buffer::shape)
      .def_prop_ro("kind", [](const Buffer& buffer) {
        const char* const names[] = {"argument", "temporary", "result", "host"};
        return names[static_cast<size_t>(buffer.kind)];
      });
  nb::class_<FusedOp>(core, "Op")
      .def_ro("name", &FusedOp::name)
      .def_ro("dtype", &FusedOp::dtype)
      .def_prop_ro("kind",
                   [](const FusedOp& op) {
                     const char* const names[] = {"load", "store", "move", "reduce", "compute"};
                     return names[static_cast<size_t>(op.kind)];
                   })
      .def_prop_ro("place", [](const FusedOp& op) { return python_location(op.location); })
      .def_prop_ro("puts",
                   [](nb::handle self) -> nb::object {
                     const Buffer* const puts = nb::cast<const FusedOp&>(self).puts;
                     return puts == nullptr ? nb::none() : part_of(self, puts);
                   })
      .def_prop_ro("takes", &uses_of<FusedOp>)
      .def_prop_ro("reads", &uses_of<Buffer>);
  nb::class_<Nest>(core, "Nest")
      .def_ro("loops", &Nest::loops)
      .def_ro("iterations", &Nest::iterations)
      .def_ro("hidden", &Nest::hidden)
      .def_prop_ro("moved", &Nest::moved)
      .def_prop_ro("ops", [](nb::handle self) { return parts_of(self, nb::cast<const Nest&>(self).ops); })
      .def_prop_ro("read", [](nb::handle self) { return sizes_of(self, nb::cast<const Nest&>(self).read); })
      .def_prop_ro("written",
                   [](nb::handle self) { return sizes_of(self, nb::cast<const Nest&>(self).written); });
  nb::class_<Fusion>(core, "Fusion")
      .def_ro("name", &Fusion::name)
      .def_ro("least", &Fusion::least)
      .def_prop_ro("moved", &Fusion::moved)
      .def_prop_ro("buffers",
                   [](nb::handle self) { return parts_of(self, nb::cast<const Fusion&>(self).buffers); })
      .def_prop_ro("nests", [](nb::handle self) {
        nb::list all;
        for (const Nest& nest : nb::cast<const Fusion&>(self).nests) all.append(part_of(self, &nest));
        return all;
      });
}

void add_loops(nb::module_& core) {
  nb::class_<Loop>(core, "Loop")
      .def_prop_ro("line", [](const Loop& loop) { return std::pair(loop.file, loop.line); })
      .def_prop_ro("lanes", &Loop::lanes)
      .def_ro("is_shared", &Loop::is_shared)
      .def_ro("is_inside_shared", &Loop::is_inside_shared)
      .def_ro("lines", &Loop::lines)
      .def_ro("checks", &Loop::checks)
      .def_prop_ro("inside",
                   [](nb::handle self) { return parts_of(self, nb::cast<const Loop&>(self).inside); })
      .def_prop_ro("around",
                   [](nb::handle self) { return parts_of(self, nb::cast<const Loop&>(self).around); });
}

}  // namespace

void add_explained(nb::module_& core) {
  add_fusion(core);
  add_loops(core);
  nb::class_<Stage>(core, "Stage")
      .def_prop_ro("kernels",
                   [](const Stage& stage) {
                     nb::list names;
                     for (const auto& [launch, name] : stage.kernels) names.append(name);
                     return names;
                   })
      .def("fusion", &fusion_of, "function"_a, "leaves"_a)
      .def("launches", &launches_of, "function"_a, "leaves"_a)
      .def("loops", &loops_of, "own"_a);
}

}  // namespace ingot::bindings
