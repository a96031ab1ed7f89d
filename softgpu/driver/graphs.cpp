#include <algorithm>
#include <cstring>

#include "softgpu/driver/state.h"

// Graphs, what they are launched as, and streams that write one.

namespace softgpu::driver {

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

}  // namespace

void enqueue_graph(Context& context, uint32_t stream, const Graph& graph) {
  for (const Node* const node : in_order(graph)) {
    if (node->work.child != nullptr) enqueue_graph(context, stream, *node->work.child);
    else if (node->work.run) context.device.enqueue(stream, node->work.run);
  }
}

}  // namespace softgpu::driver

using namespace softgpu;          // NOLINT(google-build-using-namespace): the functions are the ABI's, in no
using namespace softgpu::driver;  // NOLINT(google-build-using-namespace): namespace

namespace {

/// CUDA_KERNEL_NODE_PARAMS_v2, CUDA_MEMSET_NODE_PARAMS, CUDA_HOST_NODE_PARAMS.
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
struct HostParams {
  void (*function)(void*);
  void* data;
};
struct UpdateResult {
  int result;
  void* node;
  void* other;
};
constexpr size_t kEdgeBytes = 8;  // CUgraphEdgeData, all zero here

template <class F>
Result with_graph(const void* handle, F&& f) {
  return with_context([&](Context& context) -> Result {
    Graph* const graph = Driver::instance().graphs.find(handle);
    return graph == nullptr ? kInvalidValue : f(context, *graph);
  });
}

template <class F>
Result with_exec(const void* handle, F&& f) {
  return with_context([&](Context& context) -> Result {
    GraphExec* const exec = Driver::instance().execs.find(handle);
    return exec == nullptr ? kInvalidValue : f(context, *exec);
  });
}

/// Objects that neither the program nor a graph keeps.
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

/// Adds a node that waits for others of the graph.
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

Result copy_work(Context& context, const void* box, Work& into) {
  if (box == nullptr) return kInvalidValue;
  Result wrong = kSuccess;
  into = box_copy(context, box, wrong);
  return wrong;
}

Result host_work(const HostParams* params, Work& into) {
  if (params == nullptr || params->function == nullptr) return kInvalidValue;
  into.type = Work::Host;
  into.run = [params = *params](Device&) {
    is_in_callback() = true;
    params.function(params.data);
    is_in_callback() = false;
  };
  return kSuccess;
}

/// Gives a node of an executable graph other work of its type.
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

/// Whether two graphs have the same nodes and edges; `node` is of the second where they differ.
bool are_alike(const Graph& own, const Graph& other, const Node*& node) {
  std::unordered_map<const Node*, size_t> index_of;
  for (size_t k = 0; k < other.nodes.size(); ++k) index_of[other.nodes[k].get()] = k;
  if (own.nodes.size() != other.nodes.size()) return false;
  for (size_t k = 0; k < own.nodes.size(); ++k) {
    node = other.nodes[k].get();
    if (own.nodes[k]->work.type != node->work.type || own.nodes[k]->after.size() != node->after.size())
      return false;
    for (size_t e = 0; e < node->after.size(); ++e)
      if (own.nodes[index_of[node->after[e]]].get() != own.nodes[k]->after[e]) return false;
  }
  node = nullptr;
  return true;
}

Result give_edges(const Graph& graph, void** from, void** to, void* data, size_t* count) {
  if (count == nullptr) return kInvalidValue;
  size_t at = 0;
  for (const auto& node : graph.nodes)
    for (Node* const before : node->after) {
      if (from != nullptr && to != nullptr && at < *count) {
        from[at] = before;
        to[at] = node.get();
        if (data != nullptr) std::memset(static_cast<std::byte*>(data) + at * kEdgeBytes, 0, kEdgeBytes);
      }
      ++at;
    }
  *count = from == nullptr ? at : std::min(at, *count);
  return kSuccess;
}

Result give(const std::vector<Node*>& from, void** nodes, size_t* count) {
  if (count == nullptr) return kInvalidValue;
  if (nodes != nullptr)
    for (size_t k = 0; k < std::min(from.size(), *count); ++k) nodes[k] = from[k];
  *count = nodes == nullptr ? from.size() : std::min(from.size(), *count);
  return kSuccess;
}

Result give_nodes(const Graph& graph, void** nodes, size_t* count, bool only_roots) {
  std::vector<Node*> found;
  for (const auto& node : graph.nodes)
    if (!only_roots || node->after.empty()) found.push_back(node.get());
  return give(found, nodes, count);
}

Result capture_info(void* handle, int* status, uint64_t* number, void** graph, const void* const** nodes,
                    size_t* count) {
  return with_context([&](Context& context) {
    Stream* const stream = context.stream(handle);
    if (stream == nullptr) return kInvalidHandle;
    if (status == nullptr) return kInvalidValue;
    *status = stream->capture == nullptr ? 0 : stream->capture->is_broken ? 2 : 1;
    if (*status != 1) return kSuccess;
    if (number != nullptr) *number = stream->capture->number;
    if (graph != nullptr) *graph = stream->capture->graph;
    if (nodes != nullptr) *nodes = reinterpret_cast<const void* const*>(stream->last.data());
    if (count != nullptr) *count = stream->last.size();
    return kSuccess;
  });
}

}  // namespace

INGOT_DRIVER cuGraphCreate(void** handle, unsigned flags) {
  return guarded([&](Driver& driver) {
    if (handle == nullptr || flags != 0) return kInvalidValue;
    *handle = driver.graphs.add(std::make_unique<Graph>());
    return kSuccess;
  });
}

INGOT_DRIVER cuGraphDestroy(void* handle) {
  return guarded([&](Driver& driver) {
    if (driver.graphs.find(handle) == nullptr) return kInvalidValue;
    driver.graphs.remove(handle);
    drop_unused(driver);
    return kSuccess;
  });
}

INGOT_DRIVER cuGraphClone(void** clone, void* handle) {
  return with_graph(handle, [&](Context&, const Graph& graph) {
    if (clone == nullptr) return kInvalidValue;
    *clone = Driver::instance().graphs.add(graph.copy());
    return kSuccess;
  });
}

INGOT_DRIVER cuGraphAddKernelNode_v2(void** node, void* handle, void* const* after, size_t count,
                                     const KernelParams* params) {
  return with_graph(handle, [&](Context& context, Graph& graph) {
    Work work;
    const Result wrong = kernel_work(context, params, work);
    return wrong != kSuccess ? wrong : add_node(graph, node, after, count, std::move(work));
  });
}

INGOT_DRIVER cuGraphAddMemcpyNode(void** node, void* handle, void* const* after, size_t count,
                                  const void* params, void*) {
  return with_graph(handle, [&](Context& context, Graph& graph) {
    Work work;
    const Result wrong = copy_work(context, params, work);
    return wrong != kSuccess ? wrong : add_node(graph, node, after, count, std::move(work));
  });
}

INGOT_DRIVER cuGraphAddMemsetNode(void** node, void* handle, void* const* after, size_t count,
                                  const FillParams* params, void*) {
  return with_graph(handle, [&](Context& context, Graph& graph) {
    Work work;
    const Result wrong = fill_work(context, params, work);
    return wrong != kSuccess ? wrong : add_node(graph, node, after, count, std::move(work));
  });
}

INGOT_DRIVER cuGraphAddHostNode(void** node, void* handle, void* const* after, size_t count,
                                const HostParams* params) {
  return with_graph(handle, [&](Context&, Graph& graph) {
    Work work;
    const Result wrong = host_work(params, work);
    return wrong != kSuccess ? wrong : add_node(graph, node, after, count, std::move(work));
  });
}

INGOT_DRIVER cuGraphAddEmptyNode(void** node, void* handle, void* const* after, size_t count) {
  return with_graph(handle,
                    [&](Context&, Graph& graph) { return add_node(graph, node, after, count, Work{}); });
}

INGOT_DRIVER cuGraphAddChildGraphNode(void** node, void* handle, void* const* after, size_t count,
                                      void* child) {
  return with_graph(handle, [&](Context&, Graph& graph) {
    const Graph* const found = Driver::instance().graphs.find(child);
    if (found == nullptr || found == &graph) return kInvalidValue;
    Work work;
    work.type = Work::Child;
    work.child = found->copy();
    return add_node(graph, node, after, count, std::move(work));
  });
}

INGOT_DRIVER cuGraphAddDependencies(void* handle, void* const* from, void* const* to, size_t count) {
  return with_graph(handle, [&](Context&, const Graph& graph) {
    if (count != 0 && (from == nullptr || to == nullptr)) return kInvalidValue;
    for (size_t k = 0; k < count; ++k) {
      Node* const before = node_of(from[k]);
      Node* const node = node_of(to[k]);
      if (before == nullptr || node == nullptr || before->graph != &graph || node->graph != &graph)
        return kInvalidValue;
      if (std::ranges::find(node->after, before) != node->after.end()) return kInvalidValue;
      node->after.push_back(before);
    }
    return kSuccess;
  });
}

INGOT_DRIVER cuGraphAddDependencies_v2(void* handle, void* const* from, void* const* to, const void*,
                                       size_t count) {
  return cuGraphAddDependencies(handle, from, to, count);
}

INGOT_DRIVER cuGraphRemoveDependencies(void* handle, void* const* from, void* const* to, size_t count) {
  return with_graph(handle, [&](Context&, const Graph& graph) {
    if (count != 0 && (from == nullptr || to == nullptr)) return kInvalidValue;
    for (size_t k = 0; k < count; ++k) {
      Node* const node = node_of(to[k]);
      if (node == nullptr || node->graph != &graph || std::erase(node->after, node_of(from[k])) == 0)
        return kInvalidValue;
    }
    return kSuccess;
  });
}

INGOT_DRIVER cuGraphRemoveDependencies_v2(void* handle, void* const* from, void* const* to, const void*,
                                          size_t count) {
  return cuGraphRemoveDependencies(handle, from, to, count);
}

INGOT_DRIVER cuGraphDestroyNode(void* handle) {
  return guarded([&](Driver&) {
    Node* const node = node_of(handle);
    if (node == nullptr) return kInvalidValue;
    Graph& graph = *node->graph;
    for (const auto& other : graph.nodes) std::erase(other->after, node);
    std::erase_if(graph.nodes, [&](const auto& other) { return other.get() == node; });
    return kSuccess;
  });
}

INGOT_DRIVER cuGraphNodeGetDependencies(void* handle, void** nodes, size_t* count) {
  return guarded([&](Driver&) {
    const Node* const node = node_of(handle);
    return node == nullptr ? kInvalidValue : give({node->after.begin(), node->after.end()}, nodes, count);
  });
}

INGOT_DRIVER cuGraphNodeGetDependentNodes(void* handle, void** nodes, size_t* count) {
  return guarded([&](Driver&) {
    Node* const node = node_of(handle);
    if (node == nullptr) return kInvalidValue;
    std::vector<Node*> found;
    for (const auto& other : node->graph->nodes)
      if (std::ranges::find(other->after, node) != other->after.end()) found.push_back(other.get());
    return give(found, nodes, count);
  });
}

INGOT_DRIVER cuGraphNodeGetDependencies_v2(void* handle, void** nodes, void* data, size_t* count) {
  const int result = cuGraphNodeGetDependencies(handle, nodes, count);
  if (result == kSuccess && nodes != nullptr && data != nullptr) std::memset(data, 0, *count * kEdgeBytes);
  return result;
}

INGOT_DRIVER cuGraphNodeGetDependentNodes_v2(void* handle, void** nodes, void* data, size_t* count) {
  const int result = cuGraphNodeGetDependentNodes(handle, nodes, count);
  if (result == kSuccess && nodes != nullptr && data != nullptr) std::memset(data, 0, *count * kEdgeBytes);
  return result;
}

INGOT_DRIVER cuGraphGetEdges(void* handle, void** from, void** to, size_t* count) {
  return with_graph(
      handle, [&](Context&, const Graph& graph) { return give_edges(graph, from, to, nullptr, count); });
}

INGOT_DRIVER cuGraphGetEdges_v2(void* handle, void** from, void** to, void* data, size_t* count) {
  return with_graph(handle,
                    [&](Context&, const Graph& graph) { return give_edges(graph, from, to, data, count); });
}

INGOT_DRIVER cuGraphGetNodes(void* handle, void** nodes, size_t* count) {
  return with_graph(handle,
                    [&](Context&, const Graph& graph) { return give_nodes(graph, nodes, count, false); });
}

INGOT_DRIVER cuGraphGetRootNodes(void* handle, void** nodes, size_t* count) {
  return with_graph(handle,
                    [&](Context&, const Graph& graph) { return give_nodes(graph, nodes, count, true); });
}

INGOT_DRIVER cuGraphNodeGetType(void* handle, int* type) {
  return guarded([&](Driver&) {
    const Node* const node = node_of(handle);
    if (node == nullptr || type == nullptr) return kInvalidValue;
    *type = node->work.type;
    return kSuccess;
  });
}

INGOT_DRIVER cuGraphKernelNodeGetParams_v2(void* handle, KernelParams* into) {
  return guarded([&](Driver&) {
    const Node* const node = node_of(handle);
    if (node == nullptr || into == nullptr || node->work.kernel == nullptr) return kInvalidValue;
    const KernelWork& kernel = *node->work.kernel;
    *into = {};
    into->function = const_cast<void*>(kernel.handle);
    std::ranges::copy(kernel.shape.grid, into->grid);
    std::ranges::copy(kernel.shape.block, into->block);
    into->shared = kernel.shape.dynamic_shared;
    into->parameters = const_cast<void**>(kernel.parameters.data());
    return kSuccess;
  });
}

INGOT_DRIVER cuGraphKernelNodeSetParams_v2(void* handle, const KernelParams* params) {
  return with_context([&](Context& context) {
    Node* const node = node_of(handle);
    if (node == nullptr || node->work.type != Work::Kernel) return kInvalidValue;
    Work work;
    const Result wrong = kernel_work(context, params, work);
    if (wrong == kSuccess) node->work = std::move(work);
    return wrong;
  });
}

/// Of the attributes, whether all blocks of a launch are there at once.
INGOT_DRIVER cuGraphKernelNodeSetAttribute(void* handle, int which, const int* value) {
  return with_context([&](Context& context) {
    constexpr int kCooperative = 2;
    Node* const node = node_of(handle);
    if (node == nullptr || value == nullptr || node->work.type != Work::Kernel) return kInvalidValue;
    if (which != kCooperative) return kNotSupported;
    return make_cooperative(context, node->work, *value != 0);
  });
}

INGOT_DRIVER cuGraphInstantiateWithFlags(void** handle, void* graph, uint64_t) {
  return instantiate(handle, graph);
}

/// CUDA_GRAPH_INSTANTIATE_PARAMS: flags, a stream to upload on, and where the result goes.
struct InstantiateParams {
  uint64_t flags;
  void* stream;
  void* node;
  int result;
};

INGOT_DRIVER cuGraphInstantiateWithParams(void** handle, void* graph, InstantiateParams* params) {
  if (params == nullptr) return kInvalidValue;
  const Result result = instantiate(handle, graph);
  params->node = nullptr;
  params->result = result == kSuccess ? 0 : 1;
  return result;
}

INGOT_DRIVER cuGraphExecGetFlags(void* handle, uint64_t* flags) {
  return with_exec(handle, [&](Context&, GraphExec&) {
    if (flags == nullptr) return kInvalidValue;
    *flags = 0;
    return kSuccess;
  });
}

INGOT_DRIVER cuGraphExecDestroy(void* handle) {
  return guarded([&](Driver& driver) {
    if (driver.execs.find(handle) == nullptr) return kInvalidValue;
    driver.execs.remove(handle);
    drop_unused(driver);
    return kSuccess;
  });
}

INGOT_DRIVER cuGraphUpload(void* handle, void* stream) {
  return with_exec(handle, [&](Context& context, GraphExec&) {
    return context.stream(stream) == nullptr ? kInvalidHandle : kSuccess;
  });
}

INGOT_DRIVER cuGraphLaunch(void* handle, void* stream_handle) {
  return with_exec(handle, [&](Context& context, const GraphExec& exec) {
    Stream* const stream = context.stream(stream_handle);
    if (stream == nullptr) return kInvalidHandle;
    Work work;
    work.type = Work::Child;
    work.child = exec.graph->copy();
    return submit(context, *stream, std::move(work));
  });
}

INGOT_DRIVER cuGraphExecKernelNodeSetParams_v2(void* handle, void* node, const KernelParams* params) {
  return with_exec(handle, [&](Context& context, GraphExec& exec) {
    Work work;
    Result made = kernel_work(context, params, work);
    const auto own = exec.own.find(static_cast<const Node*>(node));
    if (made == kSuccess && own != exec.own.end() && own->second->work.kernel != nullptr)
      made = make_cooperative(context, work, own->second->work.kernel->is_cooperative);
    return made != kSuccess ? made : replace(exec, node, made, std::move(work));
  });
}

INGOT_DRIVER cuGraphExecMemcpyNodeSetParams(void* handle, void* node, const void* params, void*) {
  return with_exec(handle, [&](Context& context, GraphExec& exec) {
    Work work;
    const Result made = copy_work(context, params, work);
    return made != kSuccess ? made : replace(exec, node, made, std::move(work));
  });
}

INGOT_DRIVER cuGraphExecMemsetNodeSetParams(void* handle, void* node, const FillParams* params, void*) {
  return with_exec(handle, [&](Context& context, GraphExec& exec) {
    Work work;
    const Result made = fill_work(context, params, work);
    return made != kSuccess ? made : replace(exec, node, made, std::move(work));
  });
}

INGOT_DRIVER cuGraphExecHostNodeSetParams(void* handle, void* node, const HostParams* params) {
  return with_exec(handle, [&](Context&, GraphExec& exec) {
    Work work;
    const Result made = host_work(params, work);
    return made != kSuccess ? made : replace(exec, node, made, std::move(work));
  });
}

/// The graph's nodes and edges must be those of the one that the executable was made of.
INGOT_DRIVER cuGraphExecUpdate_v2(void* handle, void* graph_handle, UpdateResult* result) {
  return with_exec(handle, [&](Context&, GraphExec& exec) {
    const Graph* const graph = Driver::instance().graphs.find(graph_handle);
    if (graph == nullptr || result == nullptr) return kInvalidValue;
    *result = {};
    const Node* different = nullptr;
    if (!are_alike(*exec.graph, *graph, different)) {
      result->result = different == nullptr ? 2 : 3;  // the topology, or the type of a node
      result->node = const_cast<Node*>(different);
      return kGraphUpdateFailed;
    }
    for (size_t k = 0; k < graph->nodes.size(); ++k) {
      exec.graph->nodes[k]->work = graph->nodes[k]->work;
      exec.own[graph->nodes[k].get()] = exec.graph->nodes[k].get();
    }
    return kSuccess;
  });
}

// Objects that a graph keeps alive.

INGOT_DRIVER cuUserObjectCreate(void** handle, void* object, void (*destroy)(void*), unsigned references,
                                unsigned flags) {
  return guarded([&](Driver& driver) {
    if (handle == nullptr || destroy == nullptr || references == 0 || flags != 1) return kInvalidValue;
    *handle = driver.user_objects.add(
        std::make_unique<UserObject>(std::make_shared<Kept>(object, destroy), references));
    return kSuccess;
  });
}

INGOT_DRIVER cuUserObjectRetain(void* handle, unsigned count) {
  return guarded([&](Driver& driver) {
    UserObject* const found = driver.user_objects.find(handle);
    if (found == nullptr || count == 0) return kInvalidValue;
    found->references += count;
    return kSuccess;
  });
}

INGOT_DRIVER cuUserObjectRelease(void* handle, unsigned count) {
  return guarded([&](Driver& driver) {
    UserObject* const found = driver.user_objects.find(handle);
    if (found == nullptr || count == 0 || count > found->references) return kInvalidValue;
    found->references -= count;
    drop_unused(driver);
    return kSuccess;
  });
}

INGOT_DRIVER cuGraphRetainUserObject(void* handle, void* object, unsigned count, unsigned flags) {
  return with_graph(handle, [&](Context&, Graph& graph) {
    UserObject* const found = Driver::instance().user_objects.find(object);
    if (found == nullptr || count == 0 || flags > 1) return kInvalidValue;
    for (unsigned k = 0; k < count; ++k) graph.kept.push_back(found->object);
    if (flags == 0) return kSuccess;  // else the references are the caller's
    if (count > found->references) return kInvalidValue;
    found->references -= count;
    return kSuccess;
  });
}

INGOT_DRIVER cuGraphReleaseUserObject(void* handle, void* object, unsigned count) {
  return with_graph(handle, [&](Context&, Graph& graph) {
    const UserObject* const found = Driver::instance().user_objects.find(object);
    if (found == nullptr || count == 0) return kInvalidValue;
    for (unsigned k = 0; k < count; ++k) {
      const auto one = std::ranges::find(graph.kept, found->object);
      if (one == graph.kept.end()) return kInvalidValue;
      graph.kept.erase(one);
    }
    drop_unused(Driver::instance());
    return kSuccess;
  });
}

INGOT_DRIVER cuStreamBeginCapture_v2(void* handle, int mode) {
  return with_context([&](Context& context) {
    Stream* const stream = context.stream(handle);
    if (stream == nullptr) return kInvalidHandle;
    if (mode < 0 || mode > 2) return kInvalidValue;
    if (stream->number == Device::kDefault) return kCaptureUnsupported;
    if (stream->capture != nullptr) return kInvalidValue;
    Driver& driver = Driver::instance();
    stream->capture = std::make_shared<Capture>();
    stream->capture->number = ++driver.captures;
    stream->capture->graph = driver.graphs.add(std::make_unique<Graph>());
    stream->capture->origin = stream;
    stream->last.clear();
    return kSuccess;
  });
}

INGOT_DRIVER cuStreamEndCapture(void* handle, void** graph) {
  return with_context([&](Context& context) {
    Stream* const stream = context.stream(handle);
    if (stream == nullptr) return kInvalidHandle;
    if (graph == nullptr || stream->capture == nullptr) return kInvalidValue;
    const std::shared_ptr<Capture> capture = stream->capture;
    if (capture->origin != stream) {
      capture->is_broken = true;
      return kCaptureUnmatched;
    }
    // What other streams did has to be waited for by this one.
    std::vector<const Node*> reached(stream->last.begin(), stream->last.end());
    for (size_t k = 0; k < reached.size(); ++k)
      for (const Node* const before : reached[k]->after)
        if (std::ranges::find(reached, before) == reached.end()) reached.push_back(before);
    const bool is_joined = reached.size() == capture->graph->nodes.size();
    context.streams.for_each([&](Stream& other) {
      if (other.capture == capture) other.capture = nullptr;
    });
    Graph* const made = std::exchange(capture->graph, nullptr);
    *graph = nullptr;
    if (capture->is_broken || !is_joined) {
      Driver::instance().graphs.remove(made);
      return capture->is_broken ? kCaptureInvalidated : kCaptureUnjoined;
    }
    *graph = made;
    return kSuccess;
  });
}

INGOT_DRIVER cuStreamIsCapturing(void* handle, int* status) {
  return capture_info(handle, status, nullptr, nullptr, nullptr, nullptr);
}

INGOT_DRIVER cuStreamGetCaptureInfo_v2(void* handle, int* status, uint64_t* number, void** graph,
                                       const void* const** nodes, size_t* count) {
  return capture_info(handle, status, number, graph, nodes, count);
}

INGOT_DRIVER cuStreamGetCaptureInfo_v3(void* handle, int* status, uint64_t* number, void** graph,
                                       const void* const** nodes, const void** edges, size_t* count) {
  if (edges != nullptr) *edges = nullptr;
  return capture_info(handle, status, number, graph, nodes, count);
}

INGOT_DRIVER cuThreadExchangeStreamCaptureMode(int* mode) {
  return guarded([&](Driver&) {
    thread_local int own = 0;
    if (mode == nullptr || *mode < 0 || *mode > 2) return kInvalidValue;
    std::swap(own, *mode);
    return kSuccess;
  });
}
