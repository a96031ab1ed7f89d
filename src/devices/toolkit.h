#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "devices/device.h"

/// The vendor's compilers, of a toolkit that is optional: `libnvrtc.so` and `libnvJitLink.so`, opened when
/// they are first needed, in `$CUDA_HOME` or `$CUDA_PATH`, where the loader looks, or in `/usr/local/cuda`.
/// They work without a GPU.
namespace ingot::devices {

/// Folders where they are looked for first, if they have not been opened yet.
void set_toolkit_folders(std::vector<std::string> folders);

/// What each kind of input is, in words.
std::string_view name_of(LinkInput::Kind kind);

/// PTX of CUDA C++ that others may be linked with, for a capability times ten or the newest below it that
/// NVRTC knows. `#include` finds what is next to the source and the toolkit's headers. Throws DeviceError
/// with the compiler's words, or the reason why there is none.
std::string compile_source(const LinkInput& source, int capability);

/// The version times ten of nvJitLink (130: 13.0), or why there is none.
struct JitLinker {
  int version = 0;
  std::string why_none;
};
const JitLinker& jit_linker();

/// A cubin of PTX and its link inputs, none of which is a source. None: there is no nvJitLink, or it does not
/// know GPUs of the capability. Throws DeviceError with the linker's words.
std::optional<std::string> link_cubin(std::string_view text, const LoadOptions& options, int capability);

/// The same options with PTX instead of each source.
LoadOptions with_compiled_sources(const LoadOptions& options, int capability);

}  // namespace ingot::devices
