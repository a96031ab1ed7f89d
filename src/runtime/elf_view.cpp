#include "runtime/elf_view.h"

#include <string>

#include "runtime/load_error.h"

namespace ingot::runtime {

namespace {

void require(bool holds, const char* what) {
  if (!holds) throw LoadError(std::string("damaged object: ") + what);
}

/// `size` bytes at `offset`, which are inside `bytes`.
std::span<const std::byte> slice(std::span<const std::byte> bytes, uint64_t offset, uint64_t size,
                                 const char* what) {
  require(offset <= bytes.size() && size <= bytes.size() - offset, what);
  return bytes.subspan(offset, size);
}

template <class T>
std::vector<T> read_array(std::span<const std::byte> bytes) {
  std::vector<T> result(bytes.size() / sizeof(T));
  if (!result.empty()) std::memcpy(result.data(), bytes.data(), result.size() * sizeof(T));
  return result;
}

}  // namespace

ElfView::ElfView(std::span<const std::byte> image) : image_(image) {
  auto bytes = slice(image, 0, sizeof(Elf64_Ehdr), "it is shorter than a header");
  std::memcpy(&header_, bytes.data(), sizeof header_);
  require(std::memcmp(header_.e_ident, ELFMAG, SELFMAG) == 0, "it is not an ELF file");
  const bool expected = header_.e_ident[EI_CLASS] == ELFCLASS64 && header_.e_ident[EI_DATA] == ELFDATA2LSB &&
                        header_.e_ident[EI_VERSION] == EV_CURRENT && header_.e_type == ET_REL &&
                        header_.e_machine == EM_X86_64;
  require(expected, "it is not a relocatable x86-64 object");
  read_sections();
  read_symbols();
}

void ElfView::read_sections() {
  require(header_.e_shentsize == sizeof(Elf64_Shdr), "section headers have another size");
  require(header_.e_shnum > 0 && header_.e_shnum < SHN_LORESERVE, "the number of sections is out of range");
  require(header_.e_shstrndx < header_.e_shnum, "the table of section names does not exist");
  sections_ = read_array<Elf64_Shdr>(
      slice(image_, header_.e_shoff, header_.e_shnum * sizeof(Elf64_Shdr), "section headers are outside it"));
  for (size_t i = 0; i < sections_.size(); ++i) {
    const Elf64_Shdr& section = sections_[i];
    if (section.sh_type == SHT_NULL) continue;
    require(section.sh_type == SHT_NOBITS || section.sh_size <= image_.size(), "a section is too large");
    slice(image_, section.sh_offset, section.sh_type == SHT_NOBITS ? 0 : section.sh_size,
          "a section is outside it");
    section_name(i);
  }
}

void ElfView::read_symbols() {
  for (size_t i = 0; i < sections_.size(); ++i) {
    const Elf64_Shdr& section = sections_[i];
    require(section.sh_type != SHT_SYMTAB_SHNDX, "it has extended section numbers");
    if (section.sh_type != SHT_SYMTAB) continue;
    require(symbol_table_ == 0, "it has two symbol tables");
    require(section.sh_entsize == sizeof(Elf64_Sym) && section.sh_size % sizeof(Elf64_Sym) == 0,
            "symbols have another size");
    symbol_table_ = i;
    symbols_ = read_array<Elf64_Sym>(content(i));
  }
  for (size_t i = 1; i < symbols_.size(); ++i) check_symbol(i);
}

void ElfView::check_symbol(size_t index) const {
  const Elf64_Sym& symbol = symbols_[index];
  symbol_name(index);
  if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= SHN_LORESERVE) return;
  require(symbol.st_shndx < sections_.size(), "a symbol's section does not exist");
  const uint64_t size = sections_[symbol.st_shndx].sh_size;
  require(symbol.st_value <= size && symbol.st_size <= size - symbol.st_value,
          "a symbol is outside its section");
}

std::string_view ElfView::text_at(size_t string_table, size_t offset) const {
  require(string_table < sections_.size() && sections_[string_table].sh_type == SHT_STRTAB,
          "a string table does not exist");
  auto bytes = content(string_table);
  require(offset < bytes.size(), "a name is outside the string table");
  auto* text = reinterpret_cast<const char*>(bytes.data()) + offset;
  const size_t length = strnlen(text, bytes.size() - offset);
  require(length < bytes.size() - offset, "a name has no end");
  return {text, length};
}

std::string_view ElfView::section_name(size_t section) const {
  return text_at(header_.e_shstrndx, sections_[section].sh_name);
}

std::string_view ElfView::symbol_name(size_t symbol) const {
  return text_at(sections_[symbol_table_].sh_link, symbols_[symbol].st_name);
}

std::span<const std::byte> ElfView::content(size_t section) const {
  const Elf64_Shdr& header = sections_[section];
  if (header.sh_type == SHT_NOBITS || header.sh_type == SHT_NULL) return {};
  return slice(image_, header.sh_offset, header.sh_size, "a section is outside it");
}

std::optional<size_t> ElfView::find_section(std::string_view name) const {
  for (size_t i = 1; i < sections_.size(); ++i)
    if (sections_[i].sh_type != SHT_NULL && section_name(i) == name) return i;
  return std::nullopt;
}

std::vector<Elf64_Rela> ElfView::relocations(size_t section) const {
  const Elf64_Shdr& header = sections_[section];
  require(header.sh_type == SHT_RELA && header.sh_entsize == sizeof(Elf64_Rela) &&
              header.sh_size % sizeof(Elf64_Rela) == 0,
          "relocations have another size");
  require(symbol_table_ != 0 && header.sh_link == symbol_table_, "relocations have no symbol table");
  auto result = read_array<Elf64_Rela>(content(section));
  for (const Elf64_Rela& relocation : result)
    require(ELF64_R_SYM(relocation.r_info) < symbols_.size(), "a relocation's symbol does not exist");
  return result;
}

}  // namespace ingot::runtime
