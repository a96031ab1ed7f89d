#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>

#include "base/dtype.h"
#include "bindings/described.h"
#include "bindings/elements.h"
#include "bindings/invocation.h"
#include "bindings/signature.h"
#include "interop/arrays.h"

/// What results are made of: the numbers and the memory that a call gives.
namespace ingot::bindings {

/// Memory that a value shows.
struct Shown {
  Window window;
  int64_t leaf;        ///< the argument whose memory it is; -1: it is the call's own
  const void* memory;  ///< identifies the memories of a call's own
  bool is_array;       ///< ... is an array that can be given as it is
};

/// The values of a call, one after the other in the order in which a description takes them.
class Values {
 public:
  virtual ~Values() = default;

  /// The next value, as a number; of Python's kinds, or NumPy's number of a dtype.
  virtual int64_t integer() = 0;
  virtual nb::object number(std::optional<base::DType> numpys) = 0;
  /// The memory that the next value shows.
  virtual Shown shown() = 0;
  /// The same, of memory that the host reads.
  virtual Shown column() = 0;
  /// The memory of an array in a list of unknown length, with its layout there.
  virtual Shown shown(const HeldArray& held) = 0;
  /// Counts the memories whose numbers are the elements of these results: lists hold arrays of them.
  virtual void hold(std::span<const size_t> results) = 0;

  /// An argument that is a number or an array; one that is a container.
  virtual nb::object leaf(int64_t number) = 0;
  virtual nb::object container(int64_t number) = 0;

  /// The array that is all of a memory of the call's, where nothing else shows it; an invalid object: it is
  /// not, or something does.
  virtual nb::object whole(const Shown& shown) = 0;
  /// The bytes of a memory of the call's, as an array.
  virtual nb::object bytes_of(const Shown& shown) = 0;
  /// Whether nothing else shows a memory of the call's.
  virtual bool is_alone(const Shown& shown) = 0;
  /// The array that such a memory was made with; the first caller stores it there.
  virtual nb::object& made_with(const Shown& shown) = 0;
};

/// Those in the slots of a call of compiled code.
class FrameValues final : public Values {
 public:
  /// Both outlive it.
  FrameValues(Invocation& call, const Given& arguments) : call_(call), arguments_(arguments) {}

  int64_t integer() override;
  nb::object number(std::optional<base::DType> numpys) override;
  Shown shown() override;
  Shown column() override;
  Shown shown(const HeldArray& held) override;
  void hold(std::span<const size_t> results) override;
  nb::object leaf(int64_t number) override;
  nb::object container(int64_t number) override;
  nb::object whole(const Shown& shown) override;
  nb::object bytes_of(const Shown& shown) override;
  bool is_alone(const Shown& shown) override;
  nb::object& made_with(const Shown& shown) override;

 private:
  /// What few calls need.
  struct Memories {
    std::unordered_map<const void*, size_t> held;  ///< how often lists of unknown length hold it
    std::map<const void*, nb::object> made_with;
  };

  Memories& memories();

  Invocation& call_;
  const Given& arguments_;
  size_t next_ = 0;  ///< result of the code
  std::unique_ptr<Memories> memories_;
};

inline int64_t FrameValues::integer() {
  const size_t result = next_++;
  const bool is_wide = base::size_of(call_.code().results()[result].dtype) == sizeof(int64_t);
  const void* const element = call_.frame().result(result);
  return is_wide ? *static_cast<const int64_t*>(element) : *static_cast<const int8_t*>(element);
}

inline nb::object FrameValues::number(std::optional<base::DType> numpys) {
  const size_t result = next_++;
  const auto made = numpys ? &numpy_number : &python_number;
  return made(call_.code().results()[result].dtype, call_.frame().result(result));
}

inline Shown FrameValues::shown() {
  const size_t result = next_++;
  Shown shown;
  shown.leaf = call_.show(result, shown.window);
  shown.memory = call_.frame().result_view(result).buffer;
  shown.is_array = false;
  return shown;
}

inline Shown FrameValues::column() {
  call_.bring_home(next_);
  return shown();
}

inline nb::object FrameValues::leaf(int64_t number) {
  return nb::borrow(arguments_.leaves[static_cast<size_t>(number)]);
}

/// What the objects that leave one call are made of, where Python makes the call or the interpreter does: its
/// arguments, and what has left it already. For Python.
class Objects {
 public:
  /// The arguments that are numbers and arrays, and those that are containers.
  Objects(nb::list leaves, nb::list containers);

  /// Makes what a description specifies of values, which are numbers, arrays that are given as they are, and
  /// memory as `Invocation::results` lists it.
  nb::object make(const Description& description, const nb::list& values);
  /// A callee keeps the memory of these values.
  void keep(const nb::list& values);

  /// For Python's collector (collected.h).
  int traverse(visitproc visit, void* arg) const;
  void clear();

  /// Adds the class to the extension.
  static void bind(nb::module_& m);

 private:
  class Listed;

  nb::list leaves_;
  nb::list containers_;
  std::map<const void*, nb::object> kept_;  ///< memory
  struct Made {
    nb::object memory;
    nb::object array;
  };
  std::map<const void*, Made> made_with_;
};

}  // namespace ingot::bindings
