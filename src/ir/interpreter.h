#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/exception.h"
#include "base/scalar.h"
#include "ir/function.h"

namespace ingot::ir {

/// Memory of the interpreter: its own, or the caller's (arguments).
struct MemoryBlock {
  std::vector<std::byte> own;
  std::byte* data = nullptr;
  int64_t size = 0;
  Space space = Space::Host;
};
using BlockRef = std::shared_ptr<MemoryBlock>;

/// A whole array: elements in C order.
struct ArrayValue {
  DType dtype;
  std::vector<int64_t> lengths;
  std::vector<std::byte> data;
};

/// A window on a block; `offset` and strides in bytes.
struct ViewValue {
  DType dtype;
  BlockRef block;
  int64_t offset = 0;
  std::vector<int64_t> lengths;
  std::vector<int64_t> strides;
};

struct OptionalValue;

/// What a node gave. Arrays are shared and never change.
using Value = std::variant<std::monostate, base::Scalar, std::shared_ptr<const ArrayValue>, ViewValue,
                           BlockRef, std::shared_ptr<const OptionalValue>>;

/// The tag of an optional, and the value of one that is not empty.
struct OptionalValue {
  int tag = 0;
  Value inside;
};

/// An exception that left the function.
struct Raised {
  base::ExceptionKind kind = base::ExceptionKind::Exception;
  std::string message;  ///< holes filled
  SpanId span;
  std::optional<int64_t> made{};  ///< which exception the program around makes of the values shown
  std::vector<std::pair<base::DType, base::Scalar>> values{};  ///< the values shown
  /// The calls that it has left, the innermost first; where there are too many, the outermost is the last.
  std::vector<SpanId> callers{};
};

/// What a function calls outside the IR: the routines of the library table and host calls. The driver fills
/// it; compiled code calls the same routines.
struct Externals {
  /// Runs a library routine; false: it raised, `raised` is set.
  std::function<bool(std::string_view routine, std::span<const Value> operands, std::vector<Value>& results,
                     Raised& raised)>
      library;
  std::function<bool(int64_t site, std::span<const Value> operands, std::vector<Value>& results,
                     Raised& raised)>
      host;
  /// Calls a C function by its number, on numbers and views, or with `loop` a loop of a ufunc, on numbers or
  /// on views; `results`: its outputs, of the types that are wanted.
  std::function<bool(int64_t function, bool loop, std::span<const Value> operands,
                     std::span<const Type> types, std::span<const Type> wanted, std::vector<Value>& results,
                     Raised& raised)>
      c_function;
  /// Sees the buffers of op `keep`, in the order of their numbers.
  std::function<void(const BlockRef&)> keep{};
};

struct InterpretOptions {
  uint64_t seed = 0;        ///< of the order of parallel iterations and threads, and of what new memory holds
  int64_t step_limit = -1;  ///< nodes executed before InternalError("step limit"); -1: none
  const Externals* externals = nullptr;
  /// Parallel iterations run in order, and may touch the same bytes: as in machine code where an array has
  /// one element at two indices.
  bool in_order = false;
};

struct Outcome {
  bool raised = false;
  Raised exception;
  std::vector<Value> results;
  std::vector<BlockRef> kept;  ///< by the numbers that op `keep` gave
};

/// Runs a function, at either stage, without optimisation. Elementwise values are `base::math`; reductions
/// are in the order of docs/semantics.md. Every load, store, index and view is checked: what a check in the
/// program should have caught throws InternalError, as are two iterations of a `parallel_for` or two threads
/// between barriers touching one byte when one of them writes (other than atomics), and a barrier not all
/// threads of a block reach.
Outcome interpret(const Module& module, FunctionId function, std::span<const Value> arguments,
                  const InterpretOptions& options = {});

}  // namespace ingot::ir
