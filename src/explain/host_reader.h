#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/scalar.h"
#include "ir/function.h"

// What a function does with given arguments, as far as it is known without running it.
namespace ingot::explain {

/// A count or a number of bytes; none: not known, or beyond 64 bits.
using Count = std::optional<int64_t>;

Count sum(Count a, Count b);
Count product(Count a, Count b);
Count product(std::span<const Count> counts);
/// The size, but no more than the bound, where that is known.
Count bounded(Count size, Count bound);
/// The larger of two sizes, of which `bound` is the largest.
Count largest(Count a, Count b, Count bound);

/// A line of a source; none: an operation without a location.
using Line = std::optional<std::pair<std::string, uint32_t>>;
Line line_of(const ir::Function& function, ir::NodeId node);
std::optional<base::SourceLocation> location_of(const ir::Function& function, ir::NodeId node);

/// Whether an op looks for an exception, or raises one.
bool is_check(ir::Op op);

/// Memory: an argument's, or allocated by the function.
struct Buffer {
  enum class Kind : uint8_t { Argument, Temporary, Result, Host };
  std::string name;
  Count bytes;
  Kind kind = Kind::Temporary;
  std::string dtype{};                           ///< NumPy's name; empty: not known
  std::optional<std::vector<Count>> shape = {};  ///< none: not known
  int64_t itemsize = 0;                          ///< 0: not known
};

/// A window on memory.
struct View {
  Buffer* buffer;
  std::vector<Count> lengths;
  int64_t itemsize;
  Count offset;  ///< of its first element in the buffer, in bytes
  std::vector<Count> strides;

  Count elements() const { return product(lengths); }
  Count bytes() const { return product(elements(), itemsize); }
  bool operator==(const View&) const = default;
};

struct Number {
  base::DType dtype;
  base::Scalar bits;
  bool operator==(const Number&) const = default;
};

/// A value; monostate: it is not known. Views are shared: a view that is passed on is the same one.
using Known = std::variant<std::monostate, Number, std::shared_ptr<const View>, Buffer*>;

/// An array that a function is called with; arguments that are one object have one `identity`.
struct ArrayArgument {
  const void* identity;
  int64_t bytes;
  std::string dtype;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  int64_t itemsize;
};
/// By parameter; monostate: it is not known.
using Argument = std::variant<std::monostate, base::Scalar, ArrayArgument>;

/// Iterates over the nodes of a function as they run, and evaluates lengths, and the conditions that choose
/// between versions of loops. What depends on the contents of arrays stays unknown: then both branches are
/// read.
class HostReader {
 public:
  explicit HostReader(const ir::Function& function);
  virtual ~HostReader() = default;
  HostReader(const HostReader&) = delete;
  HostReader& operator=(const HostReader&) = delete;

  /// Gives the parameters their values. Arrays that share memory with no other begin with their buffer.
  void give(std::span<const Argument> arguments);
  /// Reads the function, which is called so many times.
  void read(Count times) { read(function_.body(), times); }

  const ir::Function& function() const { return function_; }
  const Known& known(ir::NodeId node) const { return values_[node.index]; }
  /// Of a view that is known; else null.
  std::shared_ptr<const View> view(ir::NodeId node) const;
  /// Of an integer that is known.
  Count integer(ir::NodeId node) const;
  /// Evaluates a node that has no regions.
  void evaluate(ir::NodeId node) { values_[node.index] = value_of(node); }
  void forget(ir::NodeId node) { values_[node.index] = {}; }

 protected:
  using Nodes = std::vector<ir::NodeId>;

  /// Reads a region that runs so many times; what it yields.
  Nodes read(ir::RegionId region, Count times);
  virtual void visit(ir::NodeId node, Count times);
  virtual void visit_if(ir::NodeId node, Count times);
  /// A loop, or an op that takes whole arrays.
  virtual void visit_loop(ir::NodeId node, Count times) = 0;
  virtual Known value_of(ir::NodeId node);
  /// `to` is what `from` is.
  virtual void pass(ir::NodeId to, ir::NodeId from) { values_[to.index] = values_[from.index]; }
  void pass(std::span<const ir::NodeId> to, std::span<const ir::NodeId> from);
  void set(ir::NodeId node, Known value) { values_[node.index] = std::move(value); }
  std::optional<bool> condition(ir::NodeId node) const;

  /// Where an exit has gone: its label, and the values that it took there; a return has no label.
  struct Exit {
    ir::NodeId label;
    Nodes values;
  };

  const ir::Function& function_;
  std::deque<Buffer> buffers_;
  Nodes results_;
  std::optional<Exit> left_;

 private:
  void visit_block(ir::NodeId node, Count times);
  Known view_value(ir::NodeId node);
  Known number_value(ir::NodeId node) const;
  Known same_object(ir::NodeId node) const;

  std::vector<Known> values_;
  std::set<ir::NodeId> unsure_;     ///< the labels that an exit may have gone to
  std::set<const Buffer*> shared_;  ///< of arguments that may share memory
};

}  // namespace ingot::explain
