#include "softgpu/driver/graphs.h"

#include <algorithm>

#include "softgpu/driver/memory.h"

// Graphs, and what they are launched as.

namespace softgpu::driver {

namespace {

/// The nodes in an order in which each comes after those that it waits for; fewer, where there is a circle.
std::vector<const Node*> in_order(const Graph& graph) {
  std::vector<const Node*> order;
  std::unordered_map<const Node*, bool> is_done;
  for (bool changes = true; changes;) {
    changes = false;
    for (const auto& node : graph.nodes) {
      const auto done = [&](const Node* before) { return is_done[before]; };
      if (is_done[node.get()] || !std::ranges::all_of(node->after, done)) continue;
      is_done[node.get()] = true;
      order.push_back(node.get());
      changes = true;
    }
  }
  return order;
}

/// A launch's work as one whose blocks are all there at once, or are not.
Result make_cooperative(Context& context, Work& work, bool is_cooperative) {
  if (work.kernel == nullptr) return kInvalidValue;
  const KernelWork known = *work.kernel;
  std::vector<void*> parameters = known.parameters;
  Work made;
  const Result wrong =
      prepare(context, known.handle, known.shape, parameters.data(), nullptr, is_cooperative, made);
  // The parameters point into the work that was.
  if (wrong == kSuccess) work = std::move(made);
  return wrong;
}

Result fill_work(Context& context, const FillParams* params, Work& into) {
  if (params == nullptr) return kInvalidValue;
  Result wrong = kSuccess;
  into = rows_fill(context, params->to, params->pitch, params->value, params->width, params->columns,
                   params->rows, wrong);
  return wrong;
}

Result copy_work(Context& context, const Box* box, Work& into) {
  if (box == nullptr) return kInvalidValue;
  Result wrong = kSuccess;
  into = box_copy(context, *box, wrong);
  return wrong;
}

}  // namespace

Node* Graph::add(Work work, std::vector<Node*> after) {
  nodes.push_back(std::make_unique<Node>(this, std::move(work), std::move(after)));
  return nodes.back().get();
}

std::unique_ptr<Graph> Graph::copy() const {
  auto made = std::make_unique<Graph>();
  made->kept = kept;
  std::unordered_map<const Node*, Node*> own;
  for (const auto& node : nodes) own[node.get()] = made->add(node->work, {});
  for (const auto& node : nodes)
    for (const Node* const before : node->after) own[node.get()]->after.push_back(own[before]);
  return made;
}

void enqueue_graph(Context& context, uint32_t stream, const Graph& graph) {
  for (const Node* const node : in_order(graph)) {
    if (node->work.child != nullptr) enqueue_graph(context, stream, *node->work.child);
    else if (node->work.run) context.device.enqueue(stream, node->work.run);
  }
}

void drop_unused(Driver& driver) {
  driver.user_objects.remove_if(
      [](const UserObject& object) { return object.references == 0 && object.object.use_count() == 1; });
}

Node* node_of(const void* handle) {
  Node* found = nullptr;
  Driver::instance().graphs.for_each([&](const Graph& graph) {
    for (const auto& node : graph.nodes)
      if (node.get() == handle) found = node.get();
  });
  return found;
}

Result add_node(Graph& graph, void** handle, void* const* after, size_t count, Work work) {
  if (handle == nullptr || (count != 0 && after == nullptr)) return kInvalidValue;
  std::vector<Node*> nodes;
  for (size_t k = 0; k < count; ++k) {
    Node* const node = node_of(after[k]);
    if (node == nullptr || node->graph != &graph) return kInvalidValue;
    nodes.push_back(node);
  }
  *handle = graph.add(std::move(work), std::move(nodes));
  return kSuccess;
}

Result kernel_work(Context& context, const KernelParams* params, Work& into) {
  if (params == nullptr) return kInvalidValue;
  const auto& [gx, gy, gz] = params->grid;
  const auto& [bx, by, bz] = params->block;
  const void* const function = params->function != nullptr ? params->function : params->kernel;
  return prepare(context, function, {{gx, gy, gz}, {bx, by, bz}, params->shared}, params->parameters,
                 params->extra, false, into);
}

Result replace(GraphExec& exec, const void* node, Result made, Work work) {
  const auto own = exec.own.find(static_cast<const Node*>(node));
  if (own == exec.own.end() || own->second->work.type != work.type) return kInvalidValue;
  if (made == kSuccess) own->second->work = std::move(work);
  return made;
}

Result instantiate(void** handle, const void* graph_handle) {
  return with_graph(graph_handle, [&](Context&, const Graph& graph) {
    if (handle == nullptr || in_order(graph).size() != graph.nodes.size()) return kInvalidValue;
    auto made = std::make_unique<GraphExec>();
    made->graph = graph.copy();
    for (size_t k = 0; k < graph.nodes.size(); ++k)
      made->own[graph.nodes[k].get()] = made->graph->nodes[k].get();
    *handle = Driver::instance().execs.add(std::move(made));
    return kSuccess;
  });
}

}  // namespace softgpu::driver

using namespace softgpu;          // NOLINT(google-build-using-namespace): the functions are the ABI's, in no
using namespace softgpu::driver;  // NOLINT(google-build-using-namespace): namespace

SOFTGPU_API cuGraphCreate(void** handle, unsigned flags) {
  return guarded([&](Driver& driver) {
    if (handle == nullptr || flags != 0) return kInvalidValue;
    *handle = driver.graphs.add(std::make_unique<Graph>());
    return kSuccess;
  });
}

SOFTGPU_API cuGraphDestroy(void* handle) {
  return guarded([&](Driver& driver) {
    if (driver.graphs.find(handle) == nullptr) return kInvalidValue;
    driver.graphs.remove(handle);
    drop_unused(driver);
    return kSuccess;
  });
}

SOFTGPU_API cuGraphAddKernelNode_v2(void** node, void* handle, void* const* after, size_t count,
                                    const KernelParams* params) {
  return with_graph(handle, [&](Context& context, Graph& graph) {
    Work work;
    const Result wrong = kernel_work(context, params, work);
    return wrong != kSuccess ? wrong : add_node(graph, node, after, count, std::move(work));
  });
}

SOFTGPU_API cuGraphAddMemcpyNode(void** node, void* handle, void* const* after, size_t count,
                                 const Box* params, void*) {
  return with_graph(handle, [&](Context& context, Graph& graph) {
    Work work;
    const Result wrong = copy_work(context, params, work);
    return wrong != kSuccess ? wrong : add_node(graph, node, after, count, std::move(work));
  });
}

SOFTGPU_API cuGraphAddMemsetNode(void** node, void* handle, void* const* after, size_t count,
                                 const FillParams* params, void*) {
  return with_graph(handle, [&](Context& context, Graph& graph) {
    Work work;
    const Result wrong = fill_work(context, params, work);
    return wrong != kSuccess ? wrong : add_node(graph, node, after, count, std::move(work));
  });
}

/// Of the attributes, whether all blocks of a launch are there at once.
SOFTGPU_API cuGraphKernelNodeSetAttribute(void* handle, int which, const int* value) {
  return with_context([&](Context& context) {
    constexpr int kCooperative = 2;
    Node* const node = node_of(handle);
    if (node == nullptr || value == nullptr || node->work.type != Work::Kernel) return kInvalidValue;
    if (which != kCooperative) return kNotSupported;
    return make_cooperative(context, node->work, *value != 0);
  });
}

SOFTGPU_API cuGraphInstantiateWithFlags(void** handle, void* graph, uint64_t) {
  return instantiate(handle, graph);
}

SOFTGPU_API cuGraphExecDestroy(void* handle) {
  return guarded([&](Driver& driver) {
    if (driver.execs.find(handle) == nullptr) return kInvalidValue;
    driver.execs.remove(handle);
    drop_unused(driver);
    return kSuccess;
  });
}

SOFTGPU_API cuGraphLaunch(void* handle, void* stream_handle) {
  return with_exec(handle, [&](Context& context, const GraphExec& exec) {
    Stream* const stream = context.stream(stream_handle);
    if (stream == nullptr) return kInvalidHandle;
    Work work;
    work.type = Work::Child;
    work.child = exec.graph->copy();
    return submit(context, *stream, std::move(work));
  });
}

SOFTGPU_API cuGraphExecKernelNodeSetParams_v2(void* handle, void* node, const KernelParams* params) {
  return with_exec(handle, [&](Context& context, GraphExec& exec) {
    Work work;
    Result made = kernel_work(context, params, work);
    const auto own = exec.own.find(static_cast<const Node*>(node));
    if (made == kSuccess && own != exec.own.end() && own->second->work.kernel != nullptr)
      made = make_cooperative(context, work, own->second->work.kernel->is_cooperative);
    return made != kSuccess ? made : replace(exec, node, made, std::move(work));
  });
}

SOFTGPU_API cuGraphExecMemcpyNodeSetParams(void* handle, void* node, const Box* params, void*) {
  return with_exec(handle, [&](Context& context, GraphExec& exec) {
    Work work;
    const Result made = copy_work(context, params, work);
    return made != kSuccess ? made : replace(exec, node, made, std::move(work));
  });
}

SOFTGPU_API cuGraphExecMemsetNodeSetParams(void* handle, void* node, const FillParams* params, void*) {
  return with_exec(handle, [&](Context& context, GraphExec& exec) {
    Work work;
    const Result made = fill_work(context, params, work);
    return made != kSuccess ? made : replace(exec, node, made, std::move(work));
  });
}
