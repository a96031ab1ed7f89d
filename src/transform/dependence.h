#pragma once

#include <optional>
#include <string>

#include "ir/cursor.h"
#include "transform/accumulations.h"

namespace ingot::transform {

/// Two places for which nobody has shown that turns of a loop do not depend on each other.
struct Conflict {
  ir::NodeId first;
  ir::NodeId second;  ///< may be `first`: with itself in another turn
  std::string reason;
};

/// Whether the turns of a `for` may run in any order, at the same time: none when that is proved, else the
/// first conflict found. At either stage, after `simplify`, which drops what is carried for nobody. What is
/// proved:
///
///  - Two accesses to memory, one of which writes, touch different roots (alias sets, buffers made here), or
///    memory made in the turn itself; or both are of the same view, or of fields of the same records
///    (`axes_of_records`), and index one of its axes with the loop's
///    index plus the same constant or value from outside the loop, or with a multiple of it plus the index of
///    a loop inside of fewer turns.
///  - Two stores into one view are of one value, a constant or one from outside the loop.
///  - A carried value is one of which `carried_of` knows how turns deal with it.
///  - Nothing in the body is seen outside (host calls, random numbers), calls, or leaves the loop. A turn may
///    raise.
///
/// What a loop of schedule `independent` does with memory is taken as shown.
///
/// `cursors`: carried values of the loop that are followed in the order of its turns; what is stored at their
/// places does not meet. `carries`: nothing is said of any carried value.
enum class Carries : uint8_t { Checked, Ignored };
std::optional<Conflict> find_race(const ir::Function& function, ir::NodeId loop,
                                  std::span<const ir::Cursor> cursors = {},
                                  Carries carries = Carries::Checked);

/// A table that names the row - a place along one of several axes - where a turn of a loop writes: turns meet
/// where two of its numbers are one. Turn k finds the number at index k + bases + constant.
struct Table {
  ir::NodeId view;                ///< from outside the loop, which does not write into it
  std::vector<ir::NodeId> bases;  ///< from outside the loop
  int64_t constant = 0;
  bool operator==(const Table&) const = default;
};

/// As `find_race`, where the numbers in `tables`, which it fills, are taken to be natural and different.
std::optional<Conflict> find_race(const ir::Function& function, ir::NodeId loop,
                                  std::vector<Accumulation>& meeting, std::vector<Table>& tables);
/// Whether a loop may store where a table names the place, whatever else it does.
bool stores_by_table(const ir::Function& function, ir::NodeId loop);

/// Whether turns of different numbers of `loops`, of one count, touch different memory, be they turns of one
/// of them or of two: none when that is proved. What stands in `around`, and the loops there, is taken into
/// account - in other turns of loops around them, too. Nothing is said of what the loops carry. Of two
/// loops that stand after each other alone, `around` is the regions of the two.
std::optional<Conflict> find_meeting(const ir::Function& function, std::span<const ir::RegionId> around,
                                     std::span<const ir::NodeId> loops);

/// As `find_race` of a loop over `prange`, whose accumulations (of one view by one op, if the loop does
/// nothing else with that memory) may meet: those that may are put into `meeting`. `stores`: so may stores
/// into one view, if the loop does nothing else with that memory, as accumulations by `constant`.
enum class Stores : uint8_t { Apart, Meeting };
std::optional<Conflict> find_race(const ir::Function& function, ir::NodeId loop,
                                  std::vector<Accumulation>& meeting, Stores stores = Stores::Apart);

}  // namespace ingot::transform
