#include "explain/launches.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "ir/walk.h"

namespace ingot::explain {

namespace {

using ir::NodeId;
using ir::Op;

/// Nodes that are read at most, where the iterations of the host's loops are read one by one.
constexpr int64_t kMostNodes = 300'000;

using Sizes = std::vector<std::pair<const Buffer*, Count>>;

Count total(const Sizes& sizes) {
  Count all = 0;
  for (const auto& [buffer, size] : sizes) all = sum(all, size);
  return all;
}

/// Of a buffer, from zero on.
Count& size_in(Sizes& sizes, const Buffer* buffer) {
  const auto at = std::ranges::find(sizes, buffer, &Sizes::value_type::first);
  return at != sizes.end() ? at->second : sizes.emplace_back(buffer, 0).second;
}

bool reads_element(Op op) {
  return op == Op::load || op == Op::atomic || op == Op::compare_exchange || op == Op::atomic_load;
}
bool writes_element(Op op) {
  return op == Op::store || op == Op::stream || op == Op::atomic || op == Op::compare_exchange ||
         op == Op::atomic_store;
}
/// Whether the host runs an op, with copies of arrays there and back.
bool is_for_host(Op op) { return op != Op::call && ir::host_only(op) && !ir::info(op).effects.pure(); }

/// The bytes of device memory that a launch reads and writes, by buffer: each view's once, no more than there
/// are.
class KernelReader {
 public:
  KernelReader(HostReader& host, NodeId launch, Count iterations)
      : host_(host), function_(host.function()), iterations_(iterations), varies_(function_.node_count()) {
    const ir::RegionId region = function_.region(launch);
    for (const NodeId parameter : function_.region_parameters(region)) varies_[parameter.index] = true;
    visit(region, iterations);
  }

  Sizes read() const { return by_buffer(read_); }
  Sizes written() const { return by_buffer(written_); }

 private:
  /// A view, and which elements of it all iterations share; none: each has its own.
  using Part = std::vector<NodeId>;
  struct PartSize {
    Part part;
    const Buffer* buffer;
    Count size;                                ///< of what iterations have at different indices, together,
    Count bound;                               ///< ... which are no more than these
    std::vector<std::vector<NodeId>> indices;  ///< by which it is
  };

  /// `times`: how often the region runs at most, by all threads; none: that is not known.
  void visit(ir::RegionId region, Count times);
  void visit(NodeId node, Count times);
  void visit_arms(NodeId choice, Count times);
  static void add_other(std::vector<PartSize>& to, const std::vector<PartSize>& from);
  void touch(NodeId node, Count times, std::vector<PartSize>& sizes);
  bool varies(NodeId node) const { return varies_[node.index]; }
  static Sizes by_buffer(const std::vector<PartSize>& sizes);

  HostReader& host_;
  const ir::Function& function_;
  Count iterations_;          ///< threads of the launch
  std::vector<bool> varies_;  ///< between threads or iterations
  std::vector<PartSize> read_;
  std::vector<PartSize> written_;
};

void KernelReader::visit(ir::RegionId region, Count times) {
  for (const NodeId node : function_.region_body(region)) {
    const Op op = function_.op(node);
    if (op == Op::result) continue;
    visit(node, times);
    if (op == Op::if_) {
      visit_arms(node, times);
      continue;
    }
    Count inner = times;
    if (ir::is_loop(op))
      inner = product(times, op == Op::while_ ? std::nullopt : host_.integer(function_.operand(node, 0)));
    for (size_t i = 0; i < function_[node].region_count; ++i) {
      const ir::RegionId part = function_.region(node, i);
      for (const NodeId parameter : function_.region_parameters(part)) varies_[parameter.index] = true;
      visit(part, inner);
    }
  }
}

/// An iteration comes to one of them.
void KernelReader::visit_arms(NodeId choice, Count times) {
  const std::vector<PartSize> read = read_;
  const std::vector<PartSize> written = written_;
  visit(function_.region(choice, 0), times);
  const std::vector<PartSize> other_read = std::exchange(read_, read);
  const std::vector<PartSize> other_written = std::exchange(written_, written);
  visit(function_.region(choice, 1), times);
  add_other(read_, other_read);
  add_other(written_, other_written);
}

void KernelReader::add_other(std::vector<PartSize>& to, const std::vector<PartSize>& from) {
  for (const PartSize& other : from) {
    const auto at = std::ranges::find(to, other.part, &PartSize::part);
    if (at == to.end()) {
      to.push_back(other);
      continue;
    }
    at->size = largest(at->size, other.size, std::nullopt);
    for (const auto& indices : other.indices)
      if (std::ranges::find(at->indices, indices) == at->indices.end()) at->indices.push_back(indices);
  }
}

void KernelReader::visit(NodeId node, Count times) {
  const Op op = function_.op(node);
  const auto operands = function_.operands(node);
  const bool depends = std::ranges::any_of(operands, [&](NodeId operand) { return varies(operand); });
  const std::vector<NodeId> results = function_.results_of(node);
  if (function_[node].region_count > 0 || reads_element(op) || depends)
    for (const NodeId result : results) varies_[result.index] = true;
  if (reads_element(op)) touch(node, times, read_);
  if (writes_element(op)) touch(node, times, written_);
  if (results.size() != 1 || function_[node].region_count > 0 || !ir::info(op).effects.pure()) return;
  // A view that differs between threads is one of a known buffer.
  if (op == Op::view || op == Op::buffer || !depends) host_.evaluate(node);
  else host_.forget(node);
}

void KernelReader::touch(NodeId node, Count times, std::vector<PartSize>& sizes) {
  const auto operands = function_.operands(node);
  const auto view = host_.view(operands[0]);
  if (view == nullptr) return;  // the thread's own memory, or the block's
  Part part{operands[0]};
  std::vector<Count> lengths;
  for (size_t i = 0; i < view->lengths.size(); ++i) {
    const NodeId index = operands[1 + i];
    part.push_back(varies(index) ? NodeId() : index);
    lengths.push_back(varies(index) ? view->lengths[i] : Count(1));
  }
  Count elements = product(lengths);
  const Count bound = varies(operands[0]) ? view->buffer->bytes : product(elements, view->itemsize);
  // Each iteration has a view of its own; or a thread has one element.
  if (varies(operands[0]) || (!elements && times == iterations_)) elements = times;
  const Count size = product(bounded(elements, times), view->itemsize);
  const auto own = operands.subspan(1, view->lengths.size());
  const std::vector<NodeId> indices(own.begin(), own.end());
  const auto at = std::ranges::find(sizes, part, &PartSize::part);
  if (at == sizes.end()) {
    sizes.push_back({part, view->buffer, size, bound, {indices}});
  } else if (std::ranges::find(at->indices, indices) != at->indices.end()) {
    at->size = largest(at->size, size, std::nullopt);
  } else {
    at->size = bounded(sum(at->size, size), at->bound);
    at->indices.push_back(indices);
  }
}

Sizes KernelReader::by_buffer(const std::vector<PartSize>& sizes) {
  Sizes found;
  for (const PartSize& each : sizes)
    size_in(found, each.buffer) = sum(size_in(found, each.buffer), each.size);
  for (auto& [buffer, size] : found) size = bounded(size ? size : buffer->bytes, buffer->bytes);
  return found;
}

/// Iterates over what the host does; launches are found in the order of the text.
class LaunchReader final : public HostReader {
 public:
  explicit LaunchReader(const ir::Function& function);

  const std::vector<Launch>& launches() const { return found_.launches; }
  const std::vector<OnHost>& on_host() const { return found_.on_host; }
  Count numbers() const { return found_.numbers; }
  Count least() const;

 private:
  struct Sides {
    Sizes read;
    Sizes written;
  };
  struct Found {
    std::vector<Launch> launches;
    std::vector<Sides> touched;
    std::vector<OnHost> on_host;
    Count numbers = 0;
  };

  void visit(NodeId node, Count times) override;
  void visit_if(NodeId node, Count times) override {
    HostReader::visit_if(node, condition(function_.operand(node, 0)) ? times : std::nullopt);
  }
  void visit_loop(NodeId node, Count times) override;
  Known value_of(NodeId node) override;
  bool each_iteration(NodeId node, Count times);
  void all_iterations(NodeId node, Count times);
  void carry(std::span<const NodeId> to, std::span<const NodeId> from);
  void assign(std::span<const NodeId> to, const std::vector<Known>& values);
  void add_launch(NodeId node, Count times);
  void add_on_host(NodeId node, Count times);
  bool is_of_host(NodeId access) const {
    const auto to = view(function_.operand(access, 0));
    return to != nullptr && to->buffer->kind == Buffer::Kind::Host;
  }

  std::map<NodeId, size_t> numbers_of_;
  Found found_;
  int64_t left_to_read_ = kMostNodes;
};

LaunchReader::LaunchReader(const ir::Function& function) : HostReader(function) {
  ir::walk(function, function.body(), [&](NodeId node) {
    if (function.op(node) == Op::launch) numbers_of_.emplace(node, numbers_of_.size());
  });
}

void LaunchReader::visit(NodeId node, Count times) {
  const Op op = function_.op(node);
  if (op == Op::launch) return add_launch(node, times);
  if (is_for_host(op)) return add_on_host(node, times);
  if (op == Op::load || op == Op::copy) {
    if (is_of_host(node) == (op == Op::copy)) found_.numbers = sum(found_.numbers, times);
    return;
  }
  if (op != Op::call) HostReader::visit(node, times);
}

/// A loop of the host's: iteration by iteration, or, where its numbers are not known or there are very many,
/// all at once.
void LaunchReader::visit_loop(NodeId node, Count times) {
  Found kept = found_;
  if (each_iteration(node, times)) return;
  found_ = std::move(kept);
  all_iterations(node, times);
}

/// False: a number is not known, or it takes too long.
bool LaunchReader::each_iteration(NodeId node, Count times) {
  const size_t counts = function_.op(node) == Op::while_ ? 0 : 1;
  const Count count = counts > 0 ? integer(function_.operand(node, 0)) : std::nullopt;
  int64_t cost = 0;
  ir::walk(function_, node, [&](NodeId) { ++cost; });
  const Count whole = product(count, cost);
  if (counts > 0 && (!whole || *whole > left_to_read_)) return false;
  const auto values_of = [&](std::span<const NodeId> nodes) {
    std::vector<Known> values;
    for (const NodeId each : nodes) values.push_back(known(each));
    return values;
  };
  const ir::RegionId body = function_.region(node);
  std::vector<Known> carried = values_of(function_.operands(node).subspan(counts));
  for (int64_t iteration = 0; !count || iteration < *count; ++iteration) {
    left_to_read_ -= cost;
    if (left_to_read_ < 0) return false;
    const auto parameters = function_.region_parameters(body);
    if (counts > 0) set(parameters[0], Number{base::DType::Int64, base::Scalar::of(iteration)});
    assign(parameters.subspan(counts), carried);
    Nodes given = read(body, times);
    if (counts == 0 && !left_) {
      if (given.empty()) return false;
      const std::optional<bool> goes_on = condition(given[0]);
      carried = values_of(std::span(given).subspan(1));
      if (!goes_on) return false;
      if (!*goes_on) break;
      assign(function_.region_parameters(function_.region(node, 1)), carried);
      given = read(function_.region(node, 1), times);
    }
    if (left_) return true;
    carried = values_of(given);
  }
  if (function_.op(node) != Op::parallel_for) assign(function_.results_of(node), carried);
  return true;
}

/// What the loop carries is known if it is an array; the number of the iteration is not.
void LaunchReader::all_iterations(NodeId node, Count times) {
  const size_t counts = function_.op(node) == Op::while_ ? 0 : 1;
  const Count count = counts > 0 ? integer(function_.operand(node, 0)) : std::nullopt;
  Nodes given;
  for (size_t i = 0; i < function_[node].region_count; ++i) {
    const auto parameters = function_.region_parameters(function_.region(node, i));
    if (counts > 0) forget(parameters[0]);
    carry(parameters.subspan(counts), function_.operands(node).subspan(counts));
    given = read(function_.region(node, i), product(times, count));
    left_.reset();
  }
  const std::vector<NodeId> results = function_.results_of(node);
  carry(results, std::span(given).subspan(given.size() - std::min(given.size(), results.size())));
}

void LaunchReader::carry(std::span<const NodeId> to, std::span<const NodeId> from) {
  for (size_t i = 0; i < std::min(to.size(), from.size()); ++i)
    set(to[i], std::holds_alternative<Number>(known(from[i])) ? Known() : known(from[i]));
}

void LaunchReader::assign(std::span<const NodeId> to, const std::vector<Known>& values) {
  for (size_t i = 0; i < std::min(to.size(), values.size()); ++i) set(to[i], values[i]);
}

Known LaunchReader::value_of(NodeId node) {
  Known value = HostReader::value_of(node);
  const bool is_alloc = function_.op(node) == Op::alloc;
  if (is_alloc && static_cast<ir::Life>(function_.attribute(node, 0)) == ir::Life::Stack)
    std::get<Buffer*>(value)->kind = Buffer::Kind::Host;
  return value;
}

void LaunchReader::add_on_host(NodeId node, Count times) {
  const Op op = function_.op(node);
  OnHost made{std::string(ir::name_of(op)), line_of(function_, node), times, 0};
  for (const NodeId operand : function_.operands(node))
    if (const auto array = view(operand)) made.bytes = sum(made.bytes, array->bytes());
  const auto schema = ir::info(op).schema();
  const auto text = std::ranges::find(schema, ir::AttributeKind::Text, &ir::AttributeInfo::kind);
  if (text != schema.end()) {
    const int64_t word = function_.attribute(node, static_cast<size_t>(text - schema.begin()));
    const std::string& given = function_.module().text(ir::TextId(static_cast<uint32_t>(word)));
    if (!given.empty()) made.what = given;
  }
  found_.on_host.push_back(std::move(made));
}

void LaunchReader::add_launch(NodeId node, Count times) {
  std::array<Count, 6> extents;
  for (size_t i = 0; i < extents.size(); ++i) extents[i] = integer(function_.operand(node, i));
  const KernelReader kernel(*this, node, product(extents));
  Launch made{.function = function_.name(),
              .number = numbers_of_.at(node),
              .node = node,
              .line = {},
              .times = times,
              .grid = {extents[0], extents[1], extents[2]},
              .block = {extents[3], extents[4], extents[5]},
              .read = total(kernel.read()),
              .written = total(kernel.written()),
              .dynamic_shared = 0,
              .waits = false};
  if (function_.operands(node).size() > 6) made.dynamic_shared = integer(function_.operand(node, 6));
  ir::walk(function_, node, [&](NodeId inner) {
    if (!made.line) made.line = line_of(function_, inner);
    made.waits = made.waits || is_check(function_.op(inner));
  });
  found_.launches.push_back(std::move(made));
  found_.touched.push_back({kernel.read(), kernel.written()});
}

/// The bytes of arguments that are read before they are written, and of arguments and results that are
/// written.
Count LaunchReader::least() const {
  std::vector<const Buffer*> results;
  for (const NodeId result : results_)
    if (const auto of = view(result)) results.push_back(of->buffer);
  Sizes arguments;
  Sizes written;
  const auto add = [](Sizes& to, const Buffer* buffer, Count size) {
    size_in(to, buffer) = largest(size_in(to, buffer), size, buffer->bytes);
  };
  for (const Sides& sides : found_.touched) {
    for (const auto& [buffer, size] : sides.read) {
      const bool is_new = std::ranges::find(written, buffer, &Sizes::value_type::first) == written.end();
      if (buffer->kind == Buffer::Kind::Argument && is_new) add(arguments, buffer, size);
    }
    for (const auto& [buffer, size] : sides.written)
      if (buffer->kind == Buffer::Kind::Argument || std::ranges::find(results, buffer) != results.end())
        add(written, buffer, size);
  }
  return sum(total(arguments), total(written));
}

auto what_is_alike(const Launch& of) {
  return std::tuple(of.number, of.grid, of.block, of.read, of.written, of.dynamic_shared,
                    of.times.has_value());
}
auto what_is_alike(const OnHost& of) { return std::tuple(of.what, of.line, of.bytes, of.times.has_value()); }

/// Adds those of one function; those that are alike as one, which runs as often as all of them.
template <class T>
void add_together(std::vector<T>& all, const std::vector<T>& more) {
  std::map<decltype(what_is_alike(more[0])), size_t> known;
  for (const T& one : more) {
    const auto [at, is_new] = known.emplace(what_is_alike(one), all.size());
    if (is_new) all.push_back(one);
    else all[at->second].times = sum(all[at->second].times, one.times);
  }
}

}  // namespace

Launches launches_of(const ir::Module& module, ir::FunctionId entry, std::span<const Argument> arguments) {
  Launches all;
  const auto add = [&](ir::FunctionId id) {
    const bool is_entry = id == entry;
    LaunchReader reader(*module.function(id));
    if (is_entry) reader.give(arguments);
    reader.read(is_entry ? Count(1) : std::nullopt);
    add_together(all.launches, reader.launches());
    add_together(all.on_host, reader.on_host());
    all.numbers = sum(all.numbers, reader.numbers());
    if (is_entry) all.least = reader.least();
  };
  add(entry);
  for (uint32_t i = 0; i < module.function_count(); ++i)
    if (ir::FunctionId(i) != entry && module.function(ir::FunctionId(i)) != nullptr) add(ir::FunctionId(i));
  return all;
}

}  // namespace ingot::explain
