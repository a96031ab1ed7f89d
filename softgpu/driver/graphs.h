#pragma once

#include "softgpu/driver/state.h"

/// Graphs, by their handles.
namespace softgpu::driver {

/// CUDA_KERNEL_NODE_PARAMS_v2, CUDA_MEMSET_NODE_PARAMS.
struct KernelParams {
  void* function;
  unsigned grid[3];
  unsigned block[3];
  unsigned shared;
  void** parameters;
  void** extra;
  void* kernel;
  void* context;
};
struct FillParams {
  uint64_t to;
  size_t pitch;
  unsigned value;
  unsigned width;
  size_t columns, rows;
};

/// `f(context, graph)`.
template <class F>
Result with_graph(const void* handle, F&& f) {
  return with_context([&](Context& context) -> Result {
    Graph* const graph = Driver::instance().graphs.find(handle);
    return graph == nullptr ? kInvalidValue : f(context, *graph);
  });
}

/// `f(context, exec)`.
template <class F>
Result with_exec(const void* handle, F&& f) {
  return with_context([&](Context& context) -> Result {
    GraphExec* const exec = Driver::instance().execs.find(handle);
    return exec == nullptr ? kInvalidValue : f(context, *exec);
  });
}

/// Destroys objects that neither the program nor a graph keeps.
void drop_unused(Driver& driver);
/// Null: there is none.
Node* node_of(const void* handle);
/// Adds a node that waits for others of the graph.
Result add_node(Graph& graph, void** handle, void* const* after, size_t count, Work work);
/// A launch, checked.
Result kernel_work(Context& context, const KernelParams* params, Work& into);
/// Gives a node of an executable graph other work of its type.
Result replace(GraphExec& exec, const void* node, Result made, Work work);
/// Makes a graph executable.
Result instantiate(void** handle, const void* graph_handle);

}  // namespace softgpu::driver
