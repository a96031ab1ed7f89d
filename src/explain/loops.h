#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "explain/host_reader.h"

namespace ingot::explain {

/// A loop of the source, or several in one line: strips, versions with and without checks. It is as quick as
/// the quickest of them.
struct Loop {
  std::string file;
  uint32_t line;
  int64_t lanes_of_plain = 0;  ///< how many iterations run at once; 0: there are reductions alone
  /// The same of reductions, as which what a loop may raise is looked for, too.
  int64_t lanes_of_reductions = 1;
  bool is_shared = false;
  bool is_inside_shared = false;
  std::vector<Loop*> inside{};
  std::vector<Loop*> around{};
  std::set<uint32_t> lines{};  ///< those of the operations in it, in the same file
  std::vector<std::string>
      checks{};  ///< the kinds of exceptions that are looked for in it, and in no loop inside

  int64_t lanes() const { return lanes_of_plain != 0 ? lanes_of_plain : lanes_of_reductions; }
};

/// The loops of a module as codegen is given it. Files whose names begin with `own` are Ingot's: of a loop
/// there, as what comes of derivatives is written by, the line is that of the last operation in it that is
/// not.
std::deque<Loop> loops_of(const ir::Module& module, std::string_view own);

}  // namespace ingot::explain
