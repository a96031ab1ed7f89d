// Turns an object file's bytes into callable code. One mapping holds three segments, each on its own pages:
//
//   code:      executable sections, then a stub of 16 bytes for each outside function that 32 bits refer to
//   constants: read-only sections, then the GOT: the address of each symbol that is reached through it
//   data:      writable sections, with zeros for .bss
//
// All symbols of the outside are functions. Where 32 bits refer to one, its stub replaces it, because the C
// library may be further away than 32 bits reach; inside the mapping all addresses are in reach. All is
// written while the pages are writable; then the first two segments become read-only, before anything runs.

#include "runtime/loader.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <tuple>

#include "runtime/elf_view.h"
#include "runtime/perf_map.h"
#include "runtime/symbols.h"

namespace ingot::runtime {

namespace {

constexpr size_t kMaxSize = size_t{1} << 30;
constexpr size_t kStubSize = 16;
constexpr size_t kNone = std::numeric_limits<size_t>::max();

enum Segment : uint8_t { kCode, kConstants, kData, kSegments };

size_t round_up(size_t value, size_t alignment) { return (value + alignment - 1) / alignment * alignment; }

std::string quoted(std::string_view name) { return "'" + std::string(name) + "'"; }

struct Kind {
  uint32_t number;
  bool through_got;  ///< the target is the symbol's entry in the GOT
  bool relative;     ///< to the location
  uint8_t size;      ///< bytes
  bool is_signed;    ///< if narrower than 8 bytes
};

constexpr Kind kKinds[] = {
    {R_X86_64_64, false, false, 8, false},         {R_X86_64_PC64, false, true, 8, true},
    {R_X86_64_32, false, false, 4, false},         {R_X86_64_32S, false, false, 4, true},
    {R_X86_64_PC32, false, true, 4, true},         {R_X86_64_PLT32, false, true, 4, true},
    {R_X86_64_GOTPCREL, true, true, 4, true},      {R_X86_64_GOTPCRELX, true, true, 4, true},
    {R_X86_64_REX_GOTPCRELX, true, true, 4, true},
};

const Kind& kind_of(const Elf64_Rela& relocation) {
  const uint32_t number = ELF64_R_TYPE(relocation.r_info);
  for (const Kind& kind : kKinds)
    if (kind.number == number) return kind;
  throw LoadError("object has a relocation of unknown kind " + std::to_string(number));
}

/// Sections for unwinders and for Ingot itself, which are not part of the program.
bool is_skipped(const Elf64_Shdr& section, std::string_view name) {
  if (!(section.sh_flags & SHF_ALLOC) || (section.sh_flags & SHF_EXCLUDE)) return true;
  if (section.sh_type == SHT_NOTE || section.sh_type == SHT_X86_64_UNWIND) return true;
  return name == ".eh_frame" || name == ".ingot";
}

class Linker {
 public:
  explicit Linker(std::span<const std::byte> image)
      : image_(image),
        elf_(image),
        offset_(elf_.sections().size(), kNone),
        stub_(elf_.symbols().size(), kNone),
        got_(elf_.symbols().size(), kNone) {}

  void link();
  // After `link`:
  std::vector<LoadedObject::Symbol> symbols() const;
  std::vector<std::string> outside() const;
  /// The image with the addresses of the sections in memory.
  std::vector<std::byte> located_image() const;
  /// To be called last.
  Mapping take_mapping() { return std::move(mapping_); }

 private:
  struct Work {
    size_t section;  ///< which is relocated
    Elf64_Rela relocation;
  };
  struct Extent {
    size_t offset = 0;
    size_t size = 0;
  };

  void check_symbols() const;
  void place_sections();
  void place_section(size_t section);
  void collect_relocations();
  void collect(size_t section, const Elf64_Rela& relocation);
  void place_segments();
  void copy_sections();
  void fill_stubs_and_got();
  void apply(const Work& work);
  void protect() const;

  bool is_undefined(size_t symbol) const { return elf_.symbols()[symbol].st_shndx == SHN_UNDEF; }
  bool takes_stub(const Kind& kind, size_t symbol) const {
    return is_undefined(symbol) && kind.size == 4 && !kind.through_got;
  }
  bool is_placed(size_t section) const { return offset_[section] != kNone; }
  std::byte* at(size_t offset) const { return mapping_.bytes().data() + offset; }
  std::byte* section_address(size_t section) const {
    return at(extents_[segment_of(section)].offset + offset_[section]);
  }
  uint64_t symbol_address(size_t symbol) const;
  uint64_t target_address(const Kind& kind, size_t symbol) const;
  Segment segment_of(size_t section) const;
  std::string describe(size_t symbol) const;

  std::span<const std::byte> image_;
  ElfView elf_;
  std::vector<size_t> offset_;  ///< of each section: its offset in its segment
  std::vector<size_t> stub_;    ///< of each symbol: its stub's offset in the code
  std::vector<size_t> got_;     ///< of each symbol: its GOT entry's offset in the constants
  std::array<Extent, kSegments> extents_;
  std::vector<Work> work_;
  bool wants_low_ = false;
  Mapping mapping_;
};

void Linker::link() {
  check_symbols();
  place_sections();
  collect_relocations();
  place_segments();
  copy_sections();
  fill_stubs_and_got();
  for (const Work& work : work_) apply(work);
  protect();
}

void Linker::check_symbols() const {
  for (size_t i = 1; i < elf_.symbols().size(); ++i) {
    const Elf64_Sym& symbol = elf_.symbols()[i];
    auto refuse = [&](const char* what) {
      throw LoadError("object has the " + std::string(what) + " symbol " + describe(i));
    };
    const unsigned binding = ELF64_ST_BIND(symbol.st_info);
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    if (binding == STB_WEAK) refuse("weak");
    if (binding != STB_LOCAL && binding != STB_GLOBAL) refuse("strangely bound");
    if (type == STT_TLS) refuse("thread-local");
    if (type == STT_GNU_IFUNC) refuse("indirect");
    if (type == STT_COMMON || symbol.st_shndx == SHN_COMMON) refuse("common");
    if (symbol.st_shndx >= SHN_LORESERVE && type != STT_FILE) refuse("absolute");
  }
}

Segment Linker::segment_of(size_t section) const {
  const uint64_t flags = elf_.sections()[section].sh_flags;
  if (flags & SHF_EXECINSTR) return kCode;
  return flags & SHF_WRITE ? kData : kConstants;
}

void Linker::place_sections() {
  for (size_t i = 1; i < elf_.sections().size(); ++i) place_section(i);
}

void Linker::place_section(size_t index) {
  const Elf64_Shdr& section = elf_.sections()[index];
  std::string_view name = elf_.section_name(index);
  auto refuse = [&](const char* what) {
    throw LoadError("object's section " + quoted(name) + " is " + std::string(what));
  };
  if (section.sh_type == SHT_GROUP || (section.sh_flags & SHF_GROUP)) refuse("in a group");
  if (section.sh_type == SHT_NULL || is_skipped(section, name)) return;
  if (section.sh_type != SHT_PROGBITS && section.sh_type != SHT_NOBITS)
    refuse("of a type that is not loaded");
  constexpr uint64_t both = SHF_WRITE | SHF_EXECINSTR;
  if ((section.sh_flags & both) == both) refuse("both writable and executable");
  if (section.sh_flags & SHF_TLS) refuse("thread-local");
  if (section.sh_flags & SHF_COMPRESSED) refuse("compressed");
  const size_t alignment = std::max<size_t>(section.sh_addralign, 1);
  if ((alignment & (alignment - 1)) != 0 || alignment > Mapping::kPage)
    refuse("aligned to no part of a page");
  if (section.sh_size > kMaxSize) refuse("too large");

  Extent& extent = extents_[segment_of(index)];
  offset_[index] = round_up(extent.size, alignment);
  extent.size = offset_[index] + section.sh_size;
  if (extent.size > kMaxSize) refuse("too large");
}

void Linker::collect_relocations() {
  for (size_t i = 1; i < elf_.sections().size(); ++i) {
    const Elf64_Shdr& section = elf_.sections()[i];
    if (section.sh_type == SHT_REL) throw LoadError("object has relocations without addends");
    if (section.sh_type != SHT_RELA) continue;
    if (section.sh_info >= elf_.sections().size())
      throw LoadError("damaged object: relocations of no section");
    if (!is_placed(section.sh_info)) continue;
    for (const Elf64_Rela& relocation : elf_.relocations(i)) collect(section.sh_info, relocation);
  }
}

void Linker::collect(size_t section, const Elf64_Rela& relocation) {
  if (ELF64_R_TYPE(relocation.r_info) == R_X86_64_NONE) return;
  const Kind& kind = kind_of(relocation);
  const uint64_t size = elf_.sections()[section].sh_size;
  const bool has_bytes = elf_.sections()[section].sh_type == SHT_PROGBITS;
  if (!has_bytes || relocation.r_offset > size || kind.size > size - relocation.r_offset)
    throw LoadError("damaged object: a relocation is outside its section");

  size_t symbol = ELF64_R_SYM(relocation.r_info);
  auto reserve = [&](std::vector<size_t>& offsets, Segment segment, size_t bytes) {
    if (offsets[symbol] != kNone) return;
    offsets[symbol] = round_up(extents_[segment].size, bytes);
    extents_[segment].size = offsets[symbol] + bytes;
  };
  if (kind.through_got) reserve(got_, kConstants, sizeof(uint64_t));
  if (takes_stub(kind, symbol)) reserve(stub_, kCode, kStubSize);
  if (kind.size == 4 && !kind.relative) wants_low_ = true;
  work_.push_back({section, relocation});
}

void Linker::place_segments() {
  size_t end = 0;
  for (Extent& extent : extents_) {
    extent.offset = end;
    end = round_up(end + extent.size, Mapping::kPage);
  }
  if (end > kMaxSize) throw LoadError("object is too large");
  mapping_ = Mapping(end, wants_low_);
}

void Linker::copy_sections() {
  for (size_t i = 1; i < elf_.sections().size(); ++i) {
    if (!is_placed(i)) continue;
    auto bytes = elf_.content(i);
    if (!bytes.empty()) std::memcpy(section_address(i), bytes.data(), bytes.size());
  }
}

uint64_t Linker::symbol_address(size_t index) const {
  const Elf64_Sym& symbol = elf_.symbols()[index];
  if (symbol.st_shndx == SHN_UNDEF) {
    const std::string_view name = elf_.symbol_name(index);
    if (void* address = find_symbol(name)) return reinterpret_cast<uint64_t>(address);
    throw LoadError("object needs the symbol " + quoted(name) + ", which the runtime does not provide");
  }
  if (symbol.st_shndx >= SHN_LORESERVE || !is_placed(symbol.st_shndx))
    throw LoadError("object needs the symbol " + describe(index) + ", which is not in memory");
  return reinterpret_cast<uint64_t>(section_address(symbol.st_shndx)) + symbol.st_value;
}

void Linker::fill_stubs_and_got() {
  for (size_t i = 0; i < elf_.symbols().size(); ++i) {
    if (stub_[i] != kNone) {
      constexpr unsigned char jump[] = {0xff, 0x25, 0, 0, 0, 0};  // jmp *0(%rip): to the address after it
      uint64_t address = symbol_address(i);
      std::byte* stub = at(extents_[kCode].offset + stub_[i]);
      std::memcpy(stub, jump, sizeof jump);
      std::memcpy(stub + sizeof jump, &address, sizeof address);
    }
    if (got_[i] != kNone) {
      uint64_t address = symbol_address(i);
      std::memcpy(at(extents_[kConstants].offset + got_[i]), &address, sizeof address);
    }
  }
}

uint64_t Linker::target_address(const Kind& kind, size_t symbol) const {
  if (kind.through_got) return reinterpret_cast<uint64_t>(at(extents_[kConstants].offset + got_[symbol]));
  if (takes_stub(kind, symbol)) return reinterpret_cast<uint64_t>(at(extents_[kCode].offset + stub_[symbol]));
  return symbol_address(symbol);
}

void Linker::apply(const Work& work) {
  const Elf64_Rela& relocation = work.relocation;
  const Kind& kind = kind_of(relocation);
  const size_t symbol = ELF64_R_SYM(relocation.r_info);
  std::byte* target = section_address(work.section) + relocation.r_offset;
  uint64_t value = target_address(kind, symbol) + static_cast<uint64_t>(relocation.r_addend);
  if (kind.relative) value -= reinterpret_cast<uint64_t>(target);
  if (kind.size == 4) {
    const bool fits = kind.is_signed
                          ? static_cast<int64_t>(value) == static_cast<int32_t>(static_cast<uint32_t>(value))
                          : value == static_cast<uint32_t>(value);
    if (!fits) throw LoadError("object reaches for " + describe(symbol) + ", too far for 32 bits");
  }
  std::memcpy(target, &value, kind.size);
}

void Linker::protect() const {
  mapping_.protect(extents_[kCode].offset, extents_[kCode].size, Mapping::Access::ReadExecute);
  mapping_.protect(extents_[kConstants].offset, extents_[kConstants].size, Mapping::Access::Read);
}

std::string Linker::describe(size_t index) const {
  const Elf64_Sym& symbol = elf_.symbols()[index];
  const bool is_section = ELF64_ST_TYPE(symbol.st_info) == STT_SECTION;
  const bool named_by_section = is_section && symbol.st_shndx < elf_.sections().size();
  return quoted(named_by_section ? elf_.section_name(symbol.st_shndx) : elf_.symbol_name(index));
}

/// By name, the globals of a name after the locals.
bool is_before(const LoadedObject::Symbol& a, const LoadedObject::Symbol& b) {
  return std::tie(a.name, a.is_global) < std::tie(b.name, b.is_global);
}

std::vector<LoadedObject::Symbol> Linker::symbols() const {
  std::vector<LoadedObject::Symbol> result;
  for (size_t i = 1; i < elf_.symbols().size(); ++i) {
    const Elf64_Sym& symbol = elf_.symbols()[i];
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    if (type == STT_SECTION || type == STT_FILE || is_undefined(i) || !is_placed(symbol.st_shndx)) continue;
    const bool in_code = segment_of(symbol.st_shndx) == kCode;
    result.push_back({std::string(elf_.symbol_name(i)), section_address(symbol.st_shndx) + symbol.st_value,
                      symbol.st_size, type == STT_FUNC && in_code,
                      ELF64_ST_BIND(symbol.st_info) == STB_GLOBAL});
  }
  std::sort(result.begin(), result.end(), is_before);
  for (size_t i = 1; i < result.size(); ++i) {
    if (result[i].name == result[i - 1].name && result[i].is_global && result[i - 1].is_global)
      throw LoadError("damaged object: it has two symbols " + quoted(result[i].name));
  }
  return result;
}

std::vector<std::string> Linker::outside() const {
  std::vector<std::string> names;
  for (size_t i = 1; i < elf_.symbols().size(); ++i)
    if (is_undefined(i)) names.emplace_back(elf_.symbol_name(i));
  return names;
}

std::vector<std::byte> Linker::located_image() const {
  std::vector<std::byte> image(image_.begin(), image_.end());
  for (size_t i = 1; i < elf_.sections().size(); ++i) {
    if (!is_placed(i)) continue;
    auto address = reinterpret_cast<uint64_t>(section_address(i));
    const size_t field = elf_.header().e_shoff + i * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_addr);
    std::memcpy(image.data() + field, &address, sizeof address);
  }
  return image;
}

void announce_to_perf(std::span<const LoadedObject::Symbol> symbols) {
  std::vector<PerfSymbol> functions;
  for (const auto& symbol : symbols)
    if (symbol.is_function) functions.push_back({symbol.name, symbol.address, symbol.size});
  append_to_perf_map(functions);
}

}  // namespace

LoadedObject::LoadedObject(Mapping mapping, std::vector<Symbol> symbols, std::vector<std::string> outside)
    : mapping_(std::move(mapping)), symbols_(std::move(symbols)), outside_(std::move(outside)) {
  if (calls("ingot_v1_device_launch")) kernels_ = LoadedKernels(mapping_.bytes());
}

LoadedObject LoadedObject::load(std::span<const std::byte> image) {
  Linker linker(image);
  linker.link();
  GdbRegistration gdb;
  if (GdbRegistration::enabled()) gdb = GdbRegistration(linker.located_image());
  auto symbols = linker.symbols();
  LoadedObject object(linker.take_mapping(), std::move(symbols), linker.outside());
  object.gdb_ = std::move(gdb);
  if (perf_map_enabled()) announce_to_perf(object.symbols_);
  return object;
}

const LoadedObject::Symbol* LoadedObject::find_global(std::string_view name) const {
  auto end =
      std::upper_bound(symbols_.begin(), symbols_.end(), name,
                       [](std::string_view wanted, const Symbol& symbol) { return wanted < symbol.name; });
  if (end == symbols_.begin()) return nullptr;
  const Symbol& last = *std::prev(end);
  return last.name == name && last.is_global ? &last : nullptr;
}

bool LoadedObject::calls(std::string_view name) const {
  return std::find(outside_.begin(), outside_.end(), name) != outside_.end();
}

void* LoadedObject::find(std::string_view name) const {
  const Symbol* symbol = find_global(name);
  return symbol ? symbol->address : nullptr;
}

void* LoadedObject::find_function(std::string_view name) const {
  const Symbol* symbol = find_global(name);
  return symbol && symbol->is_function ? symbol->address : nullptr;
}

}  // namespace ingot::runtime
