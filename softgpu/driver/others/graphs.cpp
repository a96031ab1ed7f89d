#include "softgpu/driver/graphs.h"

#include <algorithm>
#include <cstring>

// Graphs: what is asked and changed of their nodes and edges, and objects that they keep.

using namespace softgpu;          // NOLINT(google-build-using-namespace): the functions are the ABI's, in no
using namespace softgpu::driver;  // NOLINT(google-build-using-namespace): namespace

namespace {

/// CUDA_HOST_NODE_PARAMS, CUgraphExecUpdateResultInfo.
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

}  // namespace

SOFTGPU_API cuGraphClone(void** clone, void* handle) {
  return with_graph(handle, [&](Context&, const Graph& graph) {
    if (clone == nullptr) return kInvalidValue;
    *clone = Driver::instance().graphs.add(graph.copy());
    return kSuccess;
  });
}

SOFTGPU_API cuGraphAddHostNode(void** node, void* handle, void* const* after, size_t count,
                               const HostParams* params) {
  return with_graph(handle, [&](Context&, Graph& graph) {
    Work work;
    const Result wrong = host_work(params, work);
    return wrong != kSuccess ? wrong : add_node(graph, node, after, count, std::move(work));
  });
}

SOFTGPU_API cuGraphAddEmptyNode(void** node, void* handle, void* const* after, size_t count) {
  return with_graph(handle,
                    [&](Context&, Graph& graph) { return add_node(graph, node, after, count, Work{}); });
}

SOFTGPU_API cuGraphAddChildGraphNode(void** node, void* handle, void* const* after, size_t count,
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

SOFTGPU_API cuGraphAddDependencies(void* handle, void* const* from, void* const* to, size_t count) {
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

SOFTGPU_API cuGraphAddDependencies_v2(void* handle, void* const* from, void* const* to, const void*,
                                      size_t count) {
  return cuGraphAddDependencies(handle, from, to, count);
}

SOFTGPU_API cuGraphRemoveDependencies(void* handle, void* const* from, void* const* to, size_t count) {
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

SOFTGPU_API cuGraphRemoveDependencies_v2(void* handle, void* const* from, void* const* to, const void*,
                                         size_t count) {
  return cuGraphRemoveDependencies(handle, from, to, count);
}

SOFTGPU_API cuGraphDestroyNode(void* handle) {
  return guarded([&](Driver&) {
    Node* const node = node_of(handle);
    if (node == nullptr) return kInvalidValue;
    Graph& graph = *node->graph;
    for (const auto& other : graph.nodes) std::erase(other->after, node);
    std::erase_if(graph.nodes, [&](const auto& other) { return other.get() == node; });
    return kSuccess;
  });
}

SOFTGPU_API cuGraphNodeGetDependencies(void* handle, void** nodes, size_t* count) {
  return guarded([&](Driver&) {
    const Node* const node = node_of(handle);
    return node == nullptr ? kInvalidValue : give({node->after.begin(), node->after.end()}, nodes, count);
  });
}

SOFTGPU_API cuGraphNodeGetDependentNodes(void* handle, void** nodes, size_t* count) {
  return guarded([&](Driver&) {
    Node* const node = node_of(handle);
    if (node == nullptr) return kInvalidValue;
    std::vector<Node*> found;
    for (const auto& other : node->graph->nodes)
      if (std::ranges::find(other->after, node) != other->after.end()) found.push_back(other.get());
    return give(found, nodes, count);
  });
}

SOFTGPU_API cuGraphNodeGetDependencies_v2(void* handle, void** nodes, void* data, size_t* count) {
  const int result = cuGraphNodeGetDependencies(handle, nodes, count);
  if (result == kSuccess && nodes != nullptr && data != nullptr) std::memset(data, 0, *count * kEdgeBytes);
  return result;
}

SOFTGPU_API cuGraphNodeGetDependentNodes_v2(void* handle, void** nodes, void* data, size_t* count) {
  const int result = cuGraphNodeGetDependentNodes(handle, nodes, count);
  if (result == kSuccess && nodes != nullptr && data != nullptr) std::memset(data, 0, *count * kEdgeBytes);
  return result;
}

SOFTGPU_API cuGraphGetEdges(void* handle, void** from, void** to, size_t* count) {
  return with_graph(
      handle, [&](Context&, const Graph& graph) { return give_edges(graph, from, to, nullptr, count); });
}

SOFTGPU_API cuGraphGetEdges_v2(void* handle, void** from, void** to, void* data, size_t* count) {
  return with_graph(handle,
                    [&](Context&, const Graph& graph) { return give_edges(graph, from, to, data, count); });
}

SOFTGPU_API cuGraphGetNodes(void* handle, void** nodes, size_t* count) {
  return with_graph(handle,
                    [&](Context&, const Graph& graph) { return give_nodes(graph, nodes, count, false); });
}

SOFTGPU_API cuGraphGetRootNodes(void* handle, void** nodes, size_t* count) {
  return with_graph(handle,
                    [&](Context&, const Graph& graph) { return give_nodes(graph, nodes, count, true); });
}

SOFTGPU_API cuGraphNodeGetType(void* handle, int* type) {
  return guarded([&](Driver&) {
    const Node* const node = node_of(handle);
    if (node == nullptr || type == nullptr) return kInvalidValue;
    *type = node->work.type;
    return kSuccess;
  });
}

SOFTGPU_API cuGraphKernelNodeGetParams_v2(void* handle, KernelParams* into) {
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

SOFTGPU_API cuGraphKernelNodeSetParams_v2(void* handle, const KernelParams* params) {
  return with_context([&](Context& context) {
    Node* const node = node_of(handle);
    if (node == nullptr || node->work.type != Work::Kernel) return kInvalidValue;
    Work work;
    const Result wrong = kernel_work(context, params, work);
    if (wrong == kSuccess) node->work = std::move(work);
    return wrong;
  });
}

/// CUDA_GRAPH_INSTANTIATE_PARAMS: flags, a stream to upload on, and where the result goes.
struct InstantiateParams {
  uint64_t flags;
  void* stream;
  void* node;
  int result;
};

SOFTGPU_API cuGraphInstantiateWithParams(void** handle, void* graph, InstantiateParams* params) {
  if (params == nullptr) return kInvalidValue;
  const Result result = instantiate(handle, graph);
  params->node = nullptr;
  params->result = result == kSuccess ? 0 : 1;
  return result;
}

SOFTGPU_API cuGraphExecGetFlags(void* handle, uint64_t* flags) {
  return with_exec(handle, [&](Context&, GraphExec&) {
    if (flags == nullptr) return kInvalidValue;
    *flags = 0;
    return kSuccess;
  });
}

SOFTGPU_API cuGraphUpload(void* handle, void* stream) {
  return with_exec(handle, [&](Context& context, GraphExec&) {
    return context.stream(stream) == nullptr ? kInvalidHandle : kSuccess;
  });
}

SOFTGPU_API cuGraphExecHostNodeSetParams(void* handle, void* node, const HostParams* params) {
  return with_exec(handle, [&](Context&, GraphExec& exec) {
    Work work;
    const Result made = host_work(params, work);
    return made != kSuccess ? made : replace(exec, node, made, std::move(work));
  });
}

/// The graph's nodes and edges must be those of the one that the executable was made of.
SOFTGPU_API cuGraphExecUpdate_v2(void* handle, void* graph_handle, UpdateResult* result) {
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

SOFTGPU_API cuUserObjectCreate(void** handle, void* object, void (*destroy)(void*), unsigned references,
                               unsigned flags) {
  return guarded([&](Driver& driver) {
    if (handle == nullptr || destroy == nullptr || references == 0 || flags != 1) return kInvalidValue;
    *handle = driver.user_objects.add(
        std::make_unique<UserObject>(std::make_shared<Kept>(object, destroy), references));
    return kSuccess;
  });
}

SOFTGPU_API cuUserObjectRetain(void* handle, unsigned count) {
  return guarded([&](Driver& driver) {
    UserObject* const found = driver.user_objects.find(handle);
    if (found == nullptr || count == 0) return kInvalidValue;
    found->references += count;
    return kSuccess;
  });
}

SOFTGPU_API cuUserObjectRelease(void* handle, unsigned count) {
  return guarded([&](Driver& driver) {
    UserObject* const found = driver.user_objects.find(handle);
    if (found == nullptr || count == 0 || count > found->references) return kInvalidValue;
    found->references -= count;
    drop_unused(driver);
    return kSuccess;
  });
}

SOFTGPU_API cuGraphRetainUserObject(void* handle, void* object, unsigned count, unsigned flags) {
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

SOFTGPU_API cuGraphReleaseUserObject(void* handle, void* object, unsigned count) {
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
