#pragma once

#include <string>

#include "devices/device.h"
#include "driver/session.h"
#include "ir/function.h"
#include "tools/record.h"

/// Making a recorded call again, in the interpreter or in machine code. What the function called outside
/// itself is not called: the record says what it gave.
namespace ingot::tools {

/// The call cannot be made, or was not the recorded one: an outside call in another order or with other
/// operands, or code that the interpreter finds at fault.
struct ReplayFault {
  std::string message;
};

/// The function of this name, or the module's first if `name` is empty. Throws ReplayFault if there is none,
/// or one without a body.
ir::FunctionId find_function(const ir::Module& module, const std::string& name);
/// Throws ReplayFault if something draws from a stream, and unless the function takes as many arguments as
/// the record has, overlapping no more than its alias sets allow and of the layouts and lengths that it
/// knows, and gives what a record can hold; UserError, at the argument, if one is not of its parameter's
/// type.
void check_call(const ir::Module& module, ir::FunctionId function, const Record& record);

/// Of a call that has been checked. Throws ReplayFault; InternalError where the function does what machine
/// code would not see, such as leaving its memory.
Outcome interpret_call(const ir::Module& module, ir::FunctionId function, const Record& record);
/// Of a call that has been checked; with its arrays on a device, if the function is compiled for one. Throws
/// ReplayFault.
Outcome run_call(const driver::CompiledFunction& function, const Record& record,
                 devices::Device* device = nullptr);

/// Empty, or in words where two outcomes of a record's call differ. Numbers are the same when their bits are;
/// all NaNs are the same. The place of an exception is compared where both are known.
std::string difference(const Record& call, const Outcome& expected, const Outcome& got);

}  // namespace ingot::tools
