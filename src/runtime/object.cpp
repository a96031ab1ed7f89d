#include "runtime/object.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/cpu.h"
#include "runtime/crc32c.h"
#include "runtime/elf_view.h"
#include "runtime/file.h"

namespace ingot::runtime {

namespace {

constexpr std::string_view kSection = ".ingot";
constexpr off_t kMaxFileSize = off_t{1} << 30;

/// The last bytes of a sealed object.
struct Seal {
  char magic[8] = {'I', 'N', 'G', 'O', 'T', 'O', 'B', 'J'};
  uint32_t version = 1;
  uint32_t checksum = 0;  ///< of all bytes before the seal
};
static_assert(sizeof(Seal) == 16);

template <class T>
void append(std::string& out, const T& value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof bytes);
}

void pad(std::string& out) { out.resize((out.size() + 7) / 8 * 8); }

/// Adds a section that is not loaded. The section names and headers move to the end of the image.
std::string add_section(std::span<const std::byte> object, std::string_view name, std::string_view content) {
  const ElfView elf(object);
  Elf64_Ehdr header = elf.header();
  if (header.e_shnum + 1 >= SHN_LORESERVE) throw LoadError("object has too many sections");
  std::vector<Elf64_Shdr> sections(elf.sections().begin(), elf.sections().end());
  auto names = elf.content(header.e_shstrndx);
  std::string out(reinterpret_cast<const char*>(object.data()), object.size());

  Elf64_Shdr added{};
  added.sh_type = SHT_PROGBITS;
  added.sh_addralign = 1;
  added.sh_name = static_cast<Elf64_Word>(names.size());
  added.sh_offset = out.size();
  added.sh_size = content.size();
  out += content;

  Elf64_Shdr& name_table = sections[header.e_shstrndx];
  name_table.sh_offset = out.size();
  name_table.sh_size = names.size() + name.size() + 1;
  out.append(reinterpret_cast<const char*>(names.data()), names.size());
  out += name;
  out += '\0';

  pad(out);
  header.e_shoff = out.size();
  header.e_shnum = static_cast<Elf64_Half>(header.e_shnum + 1);
  sections.push_back(added);
  for (const Elf64_Shdr& section : sections) append(out, section);
  std::memcpy(out.data(), &header, sizeof header);
  return out;
}

/// The ELF object before the seal, which is intact.
std::span<const std::byte> break_seal(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(Seal)) throw LoadError("damaged object: it is shorter than its checksum");
  auto object = bytes.first(bytes.size() - sizeof(Seal));
  Seal seal;
  std::memcpy(&seal, bytes.data() + object.size(), sizeof seal);
  const Seal wanted;
  if (std::memcmp(seal.magic, wanted.magic, sizeof seal.magic) != 0 || seal.version != wanted.version)
    throw LoadError("damaged object: it does not end in a checksum");
  if (seal.checksum != crc32c(object)) throw LoadError("damaged object: the checksum is wrong");
  return object;
}

[[noreturn]] void fail(const std::string& path, const std::string& reason) {
  throw LoadError("cannot read " + path + ": " + reason);
}

std::vector<std::byte> read_whole(const std::string& path) {
  const File file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  struct stat status;
  if (!file.is_open() || fstat(file.descriptor(), &status) != 0) fail(path, std::strerror(errno));
  if (!S_ISREG(status.st_mode)) fail(path, "it is not a regular file");
  if (status.st_size > kMaxFileSize) fail(path, "it is too large");
  std::vector<std::byte> bytes(static_cast<size_t>(status.st_size));
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = read(file.descriptor(), bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(path, std::strerror(errno));
    if (n == 0) fail(path, "it has become shorter");
    done += static_cast<size_t>(n);
  }
  return bytes;
}

}  // namespace

std::string seal(std::span<const std::byte> object, const ObjectInfo& info) {
  if (ElfView(object).find_section(kSection)) throw LoadError("object has object information already");
  std::string out = add_section(object, kSection, encode(info));
  Seal end;
  end.checksum = crc32c(std::as_bytes(std::span(out)));
  append(out, end);
  return out;
}

Object Object::open(std::span<const std::byte> bytes) {
  auto image = break_seal(bytes);
  const ElfView elf(image);
  auto section = elf.find_section(kSection);
  if (!section) throw LoadError("object has no object information");
  ObjectInfo info = decode(elf.content(*section));
  if (const std::string_view missing = base::missing_feature(info.features, base::cpu_features());
      !missing.empty())
    throw LoadError("object needs the CPU feature '" + std::string(missing) + "', which this CPU lacks");
  Object object(LoadedObject::load(image), std::move(info));
  for (const EntryInfo& entry : object.info_.entries) {
    if (!object.code_.find_function(entry.symbol))
      throw LoadError("object lacks its entry '" + entry.symbol + "'");
  }
  return object;
}

Object Object::read_file(const std::string& path) { return open(read_whole(path)); }

void Object::move_locations(const std::function<void(base::SourceLocation&)>& move) {
  for (ErrorSite& site : info_.sites) {
    move(site.location);
    for (base::Site& caller : site.callers) move(caller.location);
  }
}

Entry Object::entry(std::string_view name) const {
  const bool is_listed = std::any_of(info_.entries.begin(), info_.entries.end(),
                                     [&](const EntryInfo& entry) { return entry.symbol == name; });
  INGOT_ASSERT(is_listed, "runtime: object has no entry '" + std::string(name) + "'");
  return reinterpret_cast<Entry>(code_.find_function(name));
}

}  // namespace ingot::runtime
