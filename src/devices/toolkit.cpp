#include "devices/toolkit.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <vector>

namespace ingot::devices {

namespace {

using NvrtcProgram = struct NvrtcProgramObject*;
using JitLinkHandle = struct JitLinkObject*;

// name here, name of the ABI, parameters; each gives an int, 0 where all is well
// clang-format off
#define INGOT_NVRTC_FUNCTIONS(FUNCTION)                                                                         \
  FUNCTION(count_generations, "nvrtcGetNumSupportedArchs", (int* count))                                        \
  FUNCTION(generations, "nvrtcGetSupportedArchs", (int* capabilities))                                          \
  FUNCTION(create, "nvrtcCreateProgram",                                                                        \
           (NvrtcProgram* program, const char* source, const char* name, int headers, const char* const* texts, \
            const char* const* names))                                                                          \
  FUNCTION(destroy, "nvrtcDestroyProgram", (NvrtcProgram* program))                                             \
  FUNCTION(compile, "nvrtcCompileProgram", (NvrtcProgram program, int count, const char* const* options))       \
  FUNCTION(ptx_size, "nvrtcGetPTXSize", (NvrtcProgram program, size_t* bytes))                                  \
  FUNCTION(ptx, "nvrtcGetPTX", (NvrtcProgram program, char* text))                                              \
  FUNCTION(log_size, "nvrtcGetProgramLogSize", (NvrtcProgram program, size_t* bytes))                           \
  FUNCTION(log, "nvrtcGetProgramLog", (NvrtcProgram program, char* text))

#define INGOT_JITLINK_FUNCTIONS(FUNCTION)                                                                       \
  FUNCTION(version, "nvJitLinkVersion", (unsigned* major, unsigned* minor))                                     \
  FUNCTION(create, "nvJitLinkCreate", (JitLinkHandle* handle, unsigned count, const char** options))            \
  FUNCTION(destroy, "nvJitLinkDestroy", (JitLinkHandle* handle))                                                \
  FUNCTION(add, "nvJitLinkAddData",                                                                             \
           (JitLinkHandle handle, int kind, const void* data, size_t bytes, const char* name))                  \
  FUNCTION(complete, "nvJitLinkComplete", (JitLinkHandle handle))                                               \
  FUNCTION(cubin_size, "nvJitLinkGetLinkedCubinSize", (JitLinkHandle handle, size_t* bytes))                    \
  FUNCTION(cubin, "nvJitLinkGetLinkedCubin", (JitLinkHandle handle, void* cubin))                               \
  FUNCTION(log_size, "nvJitLinkGetErrorLogSize", (JitLinkHandle handle, size_t* bytes))                         \
  FUNCTION(log, "nvJitLinkGetErrorLog", (JitLinkHandle handle, char* text))
// clang-format on

/// Folders that a program has named. Part of the closed list of process-wide state.
struct Folders {
  std::mutex mutex;
  std::vector<std::string> all;

  static Folders& instance() {
    static Folders& made = *new Folders;
    return made;
  }
};

/// Opens a library of the toolkit, or states why there is none.
void* open_library(const std::string& name, std::string& why) {
  std::vector<std::string> folders;
  {
    const std::scoped_lock lock(Folders::instance().mutex);
    folders = Folders::instance().all;
  }
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* const folder = std::getenv(variable)) folders.push_back(std::string(folder) + "/lib64");
  folders.emplace_back("");  // where the loader looks
  folders.emplace_back("/usr/local/cuda/lib64");
  for (const std::string& folder : folders) {
    for (const char* const version : {".13", ".12", ""}) {
      const std::string path = (folder.empty() ? "" : folder + "/") + name + version;
      if (void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    }
  }
  const char* const error = dlerror();
  why = error != nullptr ? error : name;
  return nullptr;
}

/// The folder of the headers of a function's library.
std::string headers_of(const void* function) {
  Dl_info info{};
  std::error_code error;
  if (dladdr(function, &info) == 0 || info.dli_fname == nullptr) return "";
  const std::filesystem::path library = std::filesystem::canonical(info.dli_fname, error);
  const std::filesystem::path headers = library.parent_path().parent_path() / "include";
  return !error && std::filesystem::is_directory(headers, error) ? headers.string() : "";
}

struct Nvrtc {
  std::string why_none;
  std::string headers;
#define INGOT_MEMBER(name, symbol, parameters) int(*name) parameters = nullptr;
  INGOT_NVRTC_FUNCTIONS(INGOT_MEMBER)

  Nvrtc() {
    void* const library = open_library("libnvrtc.so", why_none);
    if (library == nullptr) return;
#define INGOT_RESOLVE(name, symbol, parameters)                       \
  name = reinterpret_cast<int(*) parameters>(dlsym(library, symbol)); \
  if (name == nullptr) why_none = "it has no function " symbol;
    INGOT_NVRTC_FUNCTIONS(INGOT_RESOLVE)
    headers = headers_of(reinterpret_cast<const void*>(compile));
  }
  /// Opened once in a process and never closed. Part of the closed list of process-wide state.
  static const Nvrtc& instance() {
    static const Nvrtc& opened = *new Nvrtc;
    return opened;
  }
};

struct NvJitLink {
  JitLinker found;
  INGOT_JITLINK_FUNCTIONS(INGOT_MEMBER)

  NvJitLink() {
    void* const library = open_library("libnvJitLink.so", found.why_none);
    if (library == nullptr) return;
    std::string& why_none = found.why_none;
    INGOT_JITLINK_FUNCTIONS(INGOT_RESOLVE)
    unsigned major = 0;
    unsigned minor = 0;
    if (why_none.empty() && version(&major, &minor) != 0) why_none = "it does not report its version";
    found.version = static_cast<int>(10 * major + minor);
  }
  static const NvJitLink& instance() {
    static const NvJitLink& opened = *new NvJitLink;
    return opened;
  }
};
#undef INGOT_MEMBER
#undef INGOT_RESOLVE

/// A tool's output, without its last line's end.
template <class Tool, class Handle>
std::string log_of(const Tool& tool, Handle handle) {
  size_t bytes = 0;
  if (tool.log_size(handle, &bytes) != 0 || bytes == 0) return "";
  std::string text(bytes, '\0');
  if (tool.log(handle, text.data()) != 0) return "";
  text.resize(std::min(text.find('\0'), text.size()));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

/// An object that a tool has made, destroyed at the end.
template <class Tool, class Handle>
class Owned {
 public:
  explicit Owned(const Tool& tool) : tool_(tool) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (handle != nullptr) (void)tool_.destroy(&handle);
  }
  Handle handle = nullptr;

 private:
  const Tool& tool_;
};

int newest_known(const Nvrtc& nvrtc, int capability) {
  int count = 0;
  if (nvrtc.count_generations(&count) != 0 || count <= 0) return capability;
  std::vector<int> known(static_cast<size_t>(count));
  if (nvrtc.generations(known.data()) != 0) return capability;
  int newest = 0;
  for (const int one : known)
    if (one <= capability) newest = std::max(newest, one);
  if (newest == 0) {
    throw DeviceError("NVRTC does not know GPUs of capability " + std::to_string(capability / 10) + "." +
                      std::to_string(capability % 10));
  }
  return newest;
}

/// nvJitLinkInputType.
int jit_kind(LinkInput::Kind kind) {
  switch (kind) {
    case LinkInput::Kind::Cubin: return 1;
    case LinkInput::Kind::LtoIr: return 3;
    case LinkInput::Kind::Fatbin: return 4;
    case LinkInput::Kind::Object: return 5;
    case LinkInput::Kind::Archive: return 6;
    default: return 2;  // PTX
  }
}

}  // namespace

std::string_view name_of(LinkInput::Kind kind) {
  static constexpr std::array<std::string_view, 7> kNames = {
      "PTX", "CUDA C++", "a cubin", "an object file", "a fat binary", "an archive", "LTO IR"};
  return kNames[static_cast<size_t>(kind)];
}

std::string compile_source(const LinkInput& source, int capability) {
  const Nvrtc& nvrtc = Nvrtc::instance();
  if (!nvrtc.why_none.empty()) {
    throw DeviceError(source.name + " is CUDA C++, and there is no NVRTC to compile it (" + nvrtc.why_none +
                      "); install the CUDA toolkit, set CUDA_HOME, or link PTX");
  }
  std::vector<std::string> options = {
      "--gpu-architecture=compute_" + std::to_string(newest_known(nvrtc, capability)),
      "--relocatable-device-code=true", "--std=c++17"};
  const std::string folder_of_source = std::filesystem::path(source.name).parent_path().string();
  for (const std::string& folder : {folder_of_source, nvrtc.headers})
    if (!folder.empty()) options.push_back("--include-path=" + folder);
  std::vector<const char*> words;
  words.reserve(options.size());
  for (const std::string& option : options) words.push_back(option.c_str());

  Owned<Nvrtc, NvrtcProgram> program(nvrtc);
  const int made =
      nvrtc.create(&program.handle, source.bytes.c_str(), source.name.c_str(), 0, nullptr, nullptr);
  if (made != 0)
    throw DeviceError(source.name + " cannot be compiled: NVRTC gives error " + std::to_string(made));
  if (nvrtc.compile(program.handle, static_cast<int>(words.size()), words.data()) != 0)
    throw DeviceError(source.name + " cannot be compiled: " + log_of(nvrtc, program.handle));
  size_t bytes = 0;
  if (nvrtc.ptx_size(program.handle, &bytes) != 0 || bytes == 0)
    throw DeviceError(source.name + " cannot be compiled: NVRTC gives no PTX");
  std::string text(bytes, '\0');
  if (nvrtc.ptx(program.handle, text.data()) != 0)
    throw DeviceError(source.name + " cannot be compiled: NVRTC gives no PTX");
  text.resize(std::min(text.find('\0'), text.size()));
  return text;
}

LoadOptions with_compiled_sources(const LoadOptions& options, int capability) {
  LoadOptions compiled = options;
  for (LinkInput& input : compiled.linked) {
    if (input.kind != LinkInput::Kind::Source) continue;
    input.bytes = compile_source(input, capability);
    input.kind = LinkInput::Kind::Ptx;
  }
  return compiled;
}

void set_toolkit_folders(std::vector<std::string> folders) {
  const std::scoped_lock lock(Folders::instance().mutex);
  Folders::instance().all = std::move(folders);
}

const JitLinker& jit_linker() { return NvJitLink::instance().found; }

std::optional<std::string> link_cubin(std::string_view text, const LoadOptions& options, int capability) {
  const NvJitLink& tool = NvJitLink::instance();
  if (!tool.found.why_none.empty()) return std::nullopt;
  std::vector<std::string> words = {"-arch=sm_" + std::to_string(capability)};
  if (options.max_registers > 0) words.push_back("-maxrregcount=" + std::to_string(options.max_registers));
  if (std::ranges::any_of(options.linked,
                          [](const LinkInput& i) { return i.kind == LinkInput::Kind::LtoIr; }))
    words.emplace_back("-lto");
  std::vector<const char*> given;
  given.reserve(words.size());
  for (const std::string& word : words) given.push_back(word.c_str());
  Owned<NvJitLink, JitLinkHandle> link(tool);
  if (tool.create(&link.handle, static_cast<unsigned>(given.size()), given.data()) != 0) return std::nullopt;

  const auto add = [&](LinkInput::Kind kind, const std::string& bytes, const std::string& name) {
    const size_t size = bytes.size() + (kind == LinkInput::Kind::Ptx ? 1 : 0);  // PTX ends with 0
    if (const int result = tool.add(link.handle, jit_kind(kind), bytes.c_str(), size, name.c_str());
        result != 0)
      throw DeviceError(name + " cannot be linked as " + std::string(name_of(kind)) + ": error " +
                        std::to_string(result) + ": " + log_of(tool, link.handle));
  };
  add(LinkInput::Kind::Ptx, std::string(text), "the kernels");
  for (const LinkInput& input : options.linked) add(input.kind, input.bytes, input.name);
  if (tool.complete(link.handle) != 0)
    throw DeviceError("code cannot be linked: " + log_of(tool, link.handle));
  size_t bytes = 0;
  if (tool.cubin_size(link.handle, &bytes) != 0)
    throw DeviceError("code cannot be linked: there is no cubin");
  std::string cubin(bytes, '\0');
  if (tool.cubin(link.handle, cubin.data()) != 0)
    throw DeviceError("code cannot be linked: there is no cubin");
  return cubin;
}

}  // namespace ingot::devices
