#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "ir/cursor.h"
#include "transform/analyses/accumulations.h"
#include "transform/analyses/distances.h"

namespace ingot::transform {

/// Two locations for which it is not shown that iterations of a loop do not depend on each other.
struct Conflict {
  ir::NodeId first;
  ir::NodeId second;  ///< may be `first`: with itself in another iteration
  std::string reason;
  enum class Kind : uint8_t {
    Other,
    Elements,  ///< both touch memory
    Carried,   ///< what the loop carries, and what it becomes
    Leaving,
    Drawing,
  };
  Kind kind = Kind::Other;
};

/// Whether a node is a loop over `prange`.
inline bool is_over_prange(const ir::Function& function, ir::NodeId node) {
  return function.op(node) == ir::Op::for_ &&
         ir::has_threads(static_cast<ir::Schedule>(function.attribute(node, 0)));
}

/// Whether the iterations of a `for` may run in any order, at the same time: none when that is proved, else
/// the first conflict found. At either stage, after `simplify`, which drops unused carried values. What is
/// proved, of each two accesses to memory in two iterations, one of which writes:
///
///  - They touch different roots (alias sets, buffers made here), or memory made in the iteration itself,
///    also where a loop inside has carried it through several values.
///  - They are of parts of one view (slices of slices, axes in another order, an element or all of them), or
///    of fields of the same records (`axes_of_records`), and along an axis their indices differ, or they
///    could not be equal along all axes at once. Indices are polynomials (`TwoIterations`) of the iteration's
///    number, of those of loops inside, and of values from outside; the numbers of the two iterations differ
///    by at least 1. The indices differ where their difference has a sign, by the counts of loops,
///    conditions, checks and lengths that hold at the accesses; or where it is a multiple of a number plus a
///    remainder.
///  - Both are stores into one view of one value, a constant or one from outside the loop.
///
/// And of what is not memory:
///
///  - `carried_of` knows how iterations use each carried value.
///  - Nothing in the body is seen outside (host calls, random numbers), calls, or leaves the loop. An
///    iteration may raise, and call routines (`library`), which one thread runs after the other: such loops
///    are not shared (`can_share`), but their iterations are in no order.
///
/// Accesses of a loop whose schedule states that it is independent are taken as independent.
///
/// Different indices of a view are taken for different locations: see `written_layouts`.
///
/// `cursors`: carried values of the loop that are followed in the order of its iterations; stores at their
/// locations do not conflict. `carries`: whether carried values are checked.
enum class Carries : uint8_t { Checked, Ignored };
std::optional<Conflict> find_race(const ir::Function& function, ir::NodeId loop,
                                  std::span<const ir::Cursor> cursors = {},
                                  Carries carries = Carries::Checked);

/// A table of the indices along an axis at which the iterations of a loop write: iterations conflict where
/// two of its numbers are equal. Iteration k finds the number at index k + bases + constant.
struct Table {
  ir::NodeId view;                ///< from outside the loop, which does not write into it
  std::vector<ir::NodeId> bases;  ///< from outside the loop
  int64_t constant = 0;
  /// A view that the iterations write at the numbers, and along which axis; none of a table that is not asked
  /// for by what is written.
  ir::NodeId named = {};
  size_t axis = 0;
  /// Whether iterations find the same numbers in both.
  bool operator==(const Table& other) const {
    return view == other.view && bases == other.bases && constant == other.constant;
  }
};

/// As `find_race`, where the numbers in `tables`, which it fills, are taken to be natural and different, and
/// the values in `assumed`, if it is given, which come from outside the loop and which it fills, to be at
/// least those numbers, 0 or 1.
std::optional<Conflict> find_race(const ir::Function& function, ir::NodeId loop,
                                  std::vector<Accumulation>& meeting, std::vector<Table>& tables,
                                  std::map<ir::NodeId, int64_t>* assumed = nullptr);
/// As `find_race`, but for pairs of accesses whose order can be asked for before the loop (`keeps_order`):
/// they are put into `open`.
std::optional<Conflict> find_race(const ir::Function& function, ir::NodeId loop,
                                  std::vector<AccessPair>& open);
/// As `find_race`, but for accesses through a view of one axis without gaps that an iteration makes: whether
/// the spans of memory that iterations see so follow each other can be asked before the loop. These views are
/// put into `spans`.
std::optional<Conflict> find_race_but_in_spans(const ir::Function& function, ir::NodeId loop,
                                               std::vector<ir::NodeId>& spans);
/// The checks in a loop of the numbers that iterations find in tables: their conditions are computed from
/// these, constants and values from outside alone. `tables`, which has some, receives those that are not
/// among it.
std::vector<ir::NodeId> checks_of_tables(const ir::Function& function, ir::NodeId loop,
                                         std::vector<Table>& tables, bool in_branches);
/// The table of which a node in a loop is a number, perhaps in another dtype; none: it is no such number.
std::optional<Table> table_of_number(const ir::Function& function, ir::NodeId loop, ir::NodeId node);
/// Whether a loop has numbers that may be those of a table; where not, `find_race` finds no tables.
bool reads_tables(const ir::Function& function, ir::NodeId loop);
/// Whether a loop may store at an index from a table, whatever else it does.
bool stores_by_table(const ir::Function& function, ir::NodeId loop);

/// Whether iterations of different numbers of `loops`, of one count, touch different memory, be they
/// iterations of one of them or of two: none when that is proved. The accesses in `around`, and in loops
/// there, are taken into account - in other iterations of loops around them, too. What the loops carry is not
/// checked. Of two loops that only follow each other, `around` is the regions of the two.
std::optional<Conflict> find_conflict_between(const ir::Function& function,
                                              std::span<const ir::RegionId> around,
                                              std::span<const ir::NodeId> loops);

/// Whether two iterations of a loop may load one element of a view from before the loop, by one load.
bool may_load_again(const ir::Function& function, ir::NodeId loop, ir::NodeId load);

/// As `find_race` of a loop over `prange`, whose accumulations (of one view by one op, if the loop does
/// nothing else with that memory) may conflict: those that may are put into `meeting`. `stores`: stores into
/// one view may conflict, too, if the loop does nothing else with that memory; they are put there as
/// accumulations by `constant`.
enum class Stores : uint8_t { Disjoint, Shared };
std::optional<Conflict> find_race(const ir::Function& function, ir::NodeId loop,
                                  std::vector<Accumulation>& meeting, Stores stores = Stores::Disjoint);

}  // namespace ingot::transform
