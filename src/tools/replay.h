#pragma once

#include <string>

#include "devices/device.h"
#include "driver/session.h"
#include "ir/function.h"
#include "tools/replay_file.h"

/// Making the call of a replay file again, in the interpreter or in machine code. What the function called
/// outside itself is not called: the replay file has what it gave.
namespace ingot::tools {

/// The call cannot be made, or was not the one in the file: an outside call in another order or with other
/// operands, or code that the interpreter finds at fault.
struct ReplayFault {
  std::string message;
};

/// The function of this name, or the module's first if `name` is empty. Throws ReplayFault if there is none,
/// or one without a body.
ir::FunctionId find_function(const ir::Module& module, const std::string& name);
/// Throws ReplayFault if something draws from a stream, and unless the function takes as many arguments as
/// the replay file has, overlapping no more than its alias sets allow and of the layouts and lengths that it
/// knows, and gives what a replay file can hold; UserError, at the argument, if one is not of its parameter's
/// type.
void check_call(const ir::Module& module, ir::FunctionId function, const ReplayFile& replay);

/// Of a call that has been checked. Throws ReplayFault; InternalError where the function does what machine
/// code would not see, such as leaving its memory.
Outcome interpret_call(const ir::Module& module, ir::FunctionId function, const ReplayFile& replay);
/// Of a call that has been checked; with its arrays on a device, if the function is compiled for one. Throws
/// ReplayFault.
Outcome run_call(const driver::CompiledFunction& function, const ReplayFile& replay,
                 devices::Device* device = nullptr);

/// Empty, or in words where two outcomes of a replay file's call differ. Numbers are the same when their bits
/// are; all NaNs are the same. The location of an exception is compared where both are known.
std::string difference(const ReplayFile& call, const Outcome& expected, const Outcome& got);

}  // namespace ingot::tools
