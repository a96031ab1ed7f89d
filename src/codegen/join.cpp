#include "codegen/join.h"

#include <elf.h>

#include <cstring>
#include <map>
#include <vector>

#include "base/error.h"

namespace ingot::codegen {

namespace {

constexpr Elf64_Word kAddressSignificance = 0x6fff4c03;  // SHT_LLVM_ADDRSIG: numbers of symbols

template <class T>
T read(const std::string& bytes, size_t offset) {
  T value;
  INGOT_ASSERT(offset + sizeof value <= bytes.size(), "codegen: LLVM's objects are whole");
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

template <class T>
void append(std::string& bytes, const T& value) {
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  bytes.append(raw, sizeof raw);
}

/// A table of strings that end in a zero, as ELF has them.
class StringTable {
 public:
  Elf64_Word add(const std::string& text) {
    if (text.empty()) return 0;
    const auto [at, is_new] = offsets_.try_emplace(text, static_cast<Elf64_Word>(bytes_.size()));
    if (is_new) bytes_.append(text).push_back('\0');
    return at->second;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_ = std::string(1, '\0');
  std::map<std::string, Elf64_Word> offsets_;
};

class Joiner {
 public:
  explicit Joiner(std::span<const std::string> objects) {
    for (const std::string& object : objects) add(object);
  }
  std::string finish();

 private:
  /// An object with the indices that its sections and symbols have in the joined one; 0: none.
  struct Object {
    const std::string& bytes;
    std::vector<Elf64_Shdr> sections;
    std::vector<Elf64_Half> indices;
    std::vector<Elf64_Sym> symbols;
    std::vector<std::string> names;  ///< of the symbols
    std::vector<uint64_t> numbers;   ///< ... in the joined table
  };
  struct Section {
    Elf64_Shdr header;
    std::string bytes;  ///< none of SHT_NOBITS
  };

  void add(const std::string& bytes);
  void read_symbols(Object& object);
  void take_sections(Object& object);
  void number_symbols();
  void relocate(const Object& object);
  void add_section(const char* name, Elf64_Shdr header, std::string bytes);

  std::vector<Object> objects_;
  std::vector<Section> sections_{1};  // the first of all is none
  std::vector<Elf64_Sym> symbols_{1};
  size_t locals_ = 0;
  StringTable section_names_;
  StringTable symbol_names_;
};

void Joiner::add(const std::string& bytes) {
  const auto header = read<Elf64_Ehdr>(bytes, 0);
  Object& object = objects_.emplace_back(Object{bytes, {}, {}, {}, {}, {}});
  for (size_t i = 0; i < header.e_shnum; ++i)
    object.sections.push_back(read<Elf64_Shdr>(bytes, header.e_shoff + i * sizeof(Elf64_Shdr)));
  const Elf64_Off names = object.sections[header.e_shstrndx].sh_offset;
  for (Elf64_Shdr& section : object.sections)
    section.sh_name = section_names_.add(bytes.c_str() + names + section.sh_name);
  read_symbols(object);
  take_sections(object);
}

void Joiner::read_symbols(Object& object) {
  for (const Elf64_Shdr& section : object.sections) {
    if (section.sh_type != SHT_SYMTAB) continue;
    const char* const strings = object.bytes.c_str() + object.sections[section.sh_link].sh_offset;
    for (size_t at = 0; at < section.sh_size; at += sizeof(Elf64_Sym)) {
      object.symbols.push_back(read<Elf64_Sym>(object.bytes, section.sh_offset + at));
      object.names.emplace_back(strings + object.symbols.back().st_name);
    }
  }
}

/// All sections but the tables, which are made again. Sections that are not loaded, except relocations, are
/// kept of the first object only.
void Joiner::take_sections(Object& object) {
  object.indices.resize(object.sections.size());
  for (size_t i = 1; i < object.sections.size(); ++i) {
    const Elf64_Shdr& section = object.sections[i];
    if (section.sh_type == SHT_SYMTAB || section.sh_type == SHT_STRTAB || section.sh_type == SHT_RELA ||
        section.sh_type == kAddressSignificance)
      continue;
    if ((section.sh_flags & SHF_ALLOC) == 0 && objects_.size() > 1) continue;
    object.indices[i] = static_cast<Elf64_Half>(sections_.size());
    const size_t size = section.sh_type == SHT_NOBITS ? 0 : section.sh_size;
    sections_.push_back({section, object.bytes.substr(section.sh_offset, size)});
  }
}

void Joiner::number_symbols() {
  for (Object& object : objects_) object.numbers.resize(object.symbols.size());
  std::map<std::string, uint64_t> known;  // of those that objects share
  const auto put = [&](Object& object, size_t i, bool local) {
    Elf64_Sym symbol = object.symbols[i];
    symbol.st_name = symbol_names_.add(object.names[i]);
    if (symbol.st_shndx != SHN_UNDEF && symbol.st_shndx < SHN_LORESERVE)
      symbol.st_shndx = object.indices[symbol.st_shndx];
    if (local) symbol.st_info = ELF64_ST_INFO(STB_LOCAL, ELF64_ST_TYPE(symbol.st_info));
    if (local) symbol.st_other = STV_DEFAULT;
    object.numbers[i] = symbols_.size();
    symbols_.push_back(symbol);
  };
  const auto each = [&](const auto& visit) {
    for (Object& object : objects_)
      for (size_t i = 1; i < object.symbols.size(); ++i) visit(object, i, object.symbols[i]);
  };
  const auto is_local = [](const Elf64_Sym& symbol) { return ELF64_ST_BIND(symbol.st_info) == STB_LOCAL; };
  const auto is_hidden = [](const Elf64_Sym& symbol) {
    return ELF64_ST_VISIBILITY(symbol.st_other) == STV_HIDDEN && symbol.st_shndx != SHN_UNDEF;
  };
  each([&](Object& object, size_t i, const Elf64_Sym& symbol) {
    if (!is_local(symbol) && !is_hidden(symbol)) return;
    put(object, i, true);
    if (!is_local(symbol)) known.emplace(object.names[i], object.numbers[i]);
  });
  locals_ = symbols_.size();
  each([&](Object& object, size_t i, const Elf64_Sym& symbol) {
    if (is_local(symbol) || is_hidden(symbol) || symbol.st_shndx == SHN_UNDEF) return;
    put(object, i, false);
    INGOT_ASSERT(known.emplace(object.names[i], object.numbers[i]).second,
                 "codegen: one definition of each symbol");
  });
  each([&](Object& object, size_t i, const Elf64_Sym& symbol) {
    if (is_local(symbol) || symbol.st_shndx != SHN_UNDEF) return;
    const auto found = known.find(object.names[i]);
    if (found == known.end()) put(object, i, false);
    else object.numbers[i] = found->second;
    known.emplace(object.names[i], object.numbers[i]);
  });
}

void Joiner::relocate(const Object& object) {
  for (const Elf64_Shdr& section : object.sections) {
    if (section.sh_type != SHT_RELA || object.indices[section.sh_info] == 0) continue;
    std::string bytes;
    for (size_t at = 0; at < section.sh_size; at += sizeof(Elf64_Rela)) {
      auto relocation = read<Elf64_Rela>(object.bytes, section.sh_offset + at);
      relocation.r_info =
          ELF64_R_INFO(object.numbers[ELF64_R_SYM(relocation.r_info)], ELF64_R_TYPE(relocation.r_info));
      append(bytes, relocation);
    }
    Elf64_Shdr header = section;
    header.sh_info = object.indices[section.sh_info];
    header.sh_link = 0;  // the table of symbols, which comes last
    sections_.push_back({header, std::move(bytes)});
  }
}

void Joiner::add_section(const char* name, Elf64_Shdr header, std::string bytes) {
  header.sh_name = section_names_.add(name);
  header.sh_size = bytes.size();
  sections_.push_back({header, std::move(bytes)});
}

std::string Joiner::finish() {
  number_symbols();
  for (const Object& object : objects_) relocate(object);

  const auto table = static_cast<Elf64_Word>(sections_.size());
  for (Section& section : sections_)
    if (section.header.sh_type == SHT_RELA) section.header.sh_link = table;
  std::string symbols;
  for (const Elf64_Sym& symbol : symbols_) append(symbols, symbol);
  Elf64_Shdr table_header{};
  table_header.sh_type = SHT_SYMTAB;
  table_header.sh_link = table + 1;
  table_header.sh_info = static_cast<Elf64_Word>(locals_);
  table_header.sh_addralign = alignof(Elf64_Sym);
  table_header.sh_entsize = sizeof(Elf64_Sym);
  add_section(".symtab", table_header, std::move(symbols));
  Elf64_Shdr strings{};
  strings.sh_type = SHT_STRTAB;
  strings.sh_addralign = 1;
  add_section(".strtab", strings, symbol_names_.bytes());
  section_names_.add(".shstrtab");
  add_section(".shstrtab", strings, section_names_.bytes());

  auto header = read<Elf64_Ehdr>(objects_.front().bytes, 0);
  std::string out(sizeof header, '\0');
  const auto align = [&](size_t to) { out.resize((out.size() + to - 1) / to * to); };
  for (size_t i = 1; i < sections_.size(); ++i) {
    Section& section = sections_[i];
    if (section.header.sh_addralign > 1) align(section.header.sh_addralign);
    section.header.sh_offset = out.size();
    out += section.bytes;
  }
  align(alignof(Elf64_Shdr));
  header.e_shoff = out.size();
  header.e_shnum = static_cast<Elf64_Half>(sections_.size());
  header.e_shstrndx = static_cast<Elf64_Half>(sections_.size() - 1);
  for (const Section& section : sections_) append(out, section.header);
  std::memcpy(out.data(), &header, sizeof header);
  return out;
}

}  // namespace

std::string join(std::span<const std::string> objects) { return Joiner(objects).finish(); }

}  // namespace ingot::codegen
