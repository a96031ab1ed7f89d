#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/function.h"

namespace ingot::transform {

/// The memory that a view or buffer is of, as far as it is known.
struct Root {
  enum class Kind : uint8_t {
    Unknown,    ///< may be any that was known where a node's value was found, or anywhere
    Parameter,  ///< of an alias set
    Fresh,      ///< made by a node of this function
    Carried,    ///< what a loop carries in one slot in one iteration, where iterations swap disjoint memory
  };
  Kind kind = Kind::Unknown;
  uint32_t number = 0;  ///< the alias set, the node (0: none), or the parameter of the loop's region
  bool operator==(const Root&) const = default;
};

/// The root that a view or buffer is made of by pure nodes. Views of one root are parts of one buffer: their
/// offsets can be compared.
ir::NodeId memory_of(const ir::Function& function, ir::NodeId view_or_buffer);

/// Follows views to where their buffer comes from.
Root root_of(const ir::Function& function, ir::NodeId view_or_buffer);

/// Whether two roots may share memory. (What is fresh may have been given on and come back as unknown, but
/// not as what was found before it was made.) Of two that a loop carries, in one and the same iteration.
bool may_overlap(const ir::Function& function, const Root& a, const Root& b);

/// All memory that a value may be of, none of it `Unknown`; none: that is not known.
std::optional<std::vector<Root>> origins_of(const ir::Function& function, ir::NodeId view_or_buffer);

/// Whether all that an op writes is in the view that is its first operand.
bool writes_one_view(ir::Op op);

/// Whether nodes of a region, or of regions inside, may write into memory of a root, or into any.
bool may_write(const ir::Function& function, ir::RegionId region, const Root& memory);
/// Whether what is in the regions of a node may write into the memory of a view.
bool may_write(const ir::Function& function, ir::NodeId node, ir::NodeId view);

/// An element of a view, as a location in a buffer; other views of that buffer may have the same location.
/// Axes along which the index or the stride is 0 are left out.
struct BufferLocation {
  base::DType dtype;
  ir::NodeId buffer;
  ir::NodeId offset;
  std::vector<ir::NodeId> indices;
  std::vector<ir::NodeId> strides;
  bool operator==(const BufferLocation&) const = default;
  /// Whether locations of both differ by their indices alone.
  bool is_of_the_axes_of(const BufferLocation& other) const {
    return dtype == other.dtype && buffer == other.buffer && offset == other.offset &&
           strides == other.strides;
  }
};
/// None: the view is not made of a buffer by one node.
std::optional<BufferLocation> element_of(const ir::Function& function, ir::NodeId view,
                                         std::span<const ir::NodeId> indices);

/// Along how many axes, from the first one on, two views are fields of the same records: they are of one
/// buffer, with the same lengths and strides along these axes, the records are contiguous in C order, and the
/// stride of the last axis is at least what both views use of a record. Other indices along them are other
/// records. 0: not known.
size_t axes_of_records(const ir::Function& function, ir::NodeId a, ir::NodeId b);

/// Whether each element of a view shares memory only with the element of another view that has the same
/// indices, if that view's elements share none with each other: it is the same view, or both are fields of
/// the same records.
bool is_beside(const ir::Function& function, ir::NodeId view, ir::NodeId other);

}  // namespace ingot::transform
