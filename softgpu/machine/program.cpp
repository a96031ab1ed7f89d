#include "softgpu/machine/program.h"

#include <algorithm>
#include <cstring>

#include "softgpu/machine/decode.h"

namespace softgpu {

namespace {

using ptx::Space;

uint64_t aligned(uint64_t at, uint64_t alignment) { return (at + alignment - 1) / alignment * alignment; }

bool is_dynamic(const ptx::Variable& variable) {
  return variable.space == Space::Shared && (variable.is_external || variable.size == 0);
}

/// Places the variables of the modules, links them, then decodes their functions.
class Loader {
 public:
  Loader(std::string_view image, Memory& memory) : memory_(memory) {
    for (const std::string_view text : ptx::texts_of(image))
      units_.push_back(std::make_unique<Unit>(ptx::parse(text)));
  }

  std::unique_ptr<Program> run() {
    try {
      for (const auto& unit : units_) name_functions(*unit);
      for (const auto& unit : units_) lay_out(*unit);
      lay_out_dynamic();
      for (const auto& unit : units_) link(*unit);
      initialise();
      for (const auto& unit : units_)
        for (const ptx::Function& function : unit->source.functions) decode(*unit, function);
      for (const auto& unit : units_) check(*unit);
    } catch (...) {
      for (Allocation* const made : program_->memory) memory_.free(*made);
      throw;
    }
    return std::move(program_);
  }

 private:
  /// A text with the meaning of its names.
  struct Unit {
    explicit Unit(ptx::Module module) : source(std::move(module)) {}
    ptx::Module source;
    ModuleNames names{};
    uint32_t first_file = 0;  ///< of its files in the program
  };
  struct Global {
    const Unit* unit;
    const ptx::Variable* variable;
    Allocation* allocation;
  };

  Memory& memory_;
  std::vector<std::unique_ptr<Unit>> units_;
  std::unique_ptr<Program> program_ = std::make_unique<Program>();
  std::vector<Global> globals_;
  uint32_t shared_bytes_ = 0;
  std::vector<std::pair<Unit*, std::string_view>> dynamic_;  ///< shared memory whose size the launch gives
  // What all modules see.
  struct Seen {
    Storage storage{};
    ptx::Linkage linkage{};
  };
  std::unordered_map<std::string_view, Seen> variables_;
  struct SeenFunction {
    uint32_t index = 0;
    ptx::Linkage linkage{};
  };
  std::unordered_map<std::string_view, SeenFunction> functions_;
  std::vector<const ptx::Function*> definitions_;  ///< by function of the program

  void name_functions(Unit& unit) {
    unit.first_file = static_cast<uint32_t>(program_->files.size());
    program_->files.insert(program_->files.end(), unit.source.files.begin(), unit.source.files.end());
    for (const ptx::Function& function : unit.source.functions) {
      const auto index = static_cast<uint32_t>(program_->functions.size());
      const bool is_new = unit.names.functions.try_emplace(function.name, index).second;
      if (is_new) {
        program_->functions.emplace_back().name = function.name;
        definitions_.push_back(nullptr);
      }
      if (function.has_body) define(function, unit.names.functions.at(function.name));
    }
  }

  void define(const ptx::Function& function, uint32_t index) {
    if (definitions_[index] != nullptr)
      throw LoadError(function.location.line, "`" + function.name + "` is defined twice");
    definitions_[index] = &function;
    if (function.is_kernel) program_->by_name.try_emplace(function.name, index);
    if (function.linkage == ptx::Linkage::Own && !function.is_kernel) return;
    const auto [seen, is_new] = functions_.try_emplace(function.name, SeenFunction{index, function.linkage});
    if (is_new || seen->second.index == index || function.linkage == ptx::Linkage::Weak) return;
    if (seen->second.linkage != ptx::Linkage::Weak)
      throw LoadError(function.location.line, "`" + function.name + "` is defined twice");
    seen->second = {index, function.linkage};
  }

  Storage lay_out_memory(const Unit& unit, const ptx::Variable& variable) {
    if (variable.space == Space::Shared) {
      const uint64_t at = aligned(shared_bytes_, variable.alignment);
      if (variable.size > ptx::most::kShared || at > ptx::most::kShared - variable.size)
        throw LoadError(1, "too much shared memory: `" + variable.name + "` does not fit in " +
                               std::to_string(ptx::most::kShared) + " bytes");
      shared_bytes_ = static_cast<uint32_t>(at + variable.size);
      return {Space::Shared, at};
    }
    if (variable.space != Space::Global && variable.space != Space::Const)
      throw LoadError(1, "`" + variable.name + "` of the module is in a space of functions");
    const bool is_const = variable.space == Space::Const;
    if (is_const && variable.size > ptx::most::kConst - program_->const_bytes)
      throw LoadError(1, "too much constant memory: `" + variable.name + "` does not fit in " +
                             std::to_string(ptx::most::kConst) + " bytes");
    Allocation* const made = memory_.allocate_zeros(std::max<uint64_t>(variable.size, 1));
    if (made == nullptr) throw NoMemory(1, "no memory for `" + variable.name + "`");
    program_->memory.push_back(made);
    globals_.push_back({&unit, &variable, made});
    program_->globals.try_emplace(variable.name, Program::Global{made->base, variable.size});
    if (is_const) program_->const_bytes += static_cast<uint32_t>(variable.size);
    return {variable.space, made->base};
  }

  void lay_out_variable(Unit& unit, const ptx::Variable& variable) {
    if (unit.names.variables.contains(variable.name)) return;
    const auto seen = variables_.find(variable.name);
    if (variable.linkage != ptx::Linkage::Own && seen != variables_.end()) {
      const bool is_weak =
          variable.linkage == ptx::Linkage::Weak || seen->second.linkage == ptx::Linkage::Weak;
      if (!is_weak) throw LoadError(1, "`" + variable.name + "` is defined twice");
      unit.names.variables[variable.name] = seen->second.storage;
      return;
    }
    const Storage storage = lay_out_memory(unit, variable);
    unit.names.variables[variable.name] = storage;
    if (variable.linkage != ptx::Linkage::Own) variables_[variable.name] = {storage, variable.linkage};
  }

  /// Variables of the text, and those of functions that outlive a call.
  void lay_out(Unit& unit) {
    for (const ptx::Variable& variable : unit.source.variables) {
      if (is_dynamic(variable)) dynamic_.emplace_back(&unit, variable.name);
      else if (!variable.is_external) lay_out_variable(unit, variable);
    }
    for (const ptx::Function& function : unit.source.functions)
      for (const ptx::Scope& scope : function.scopes)
        for (const ptx::Variable& variable : scope.variables) {
          if (is_dynamic(variable)) dynamic_.emplace_back(&unit, std::string_view());
          const bool is_shared =
              variable.space == Space::Shared && !function.is_kernel && !is_dynamic(variable);
          if (is_shared || variable.space == Space::Global || variable.space == Space::Const)
            lay_out_variable(unit, variable);
        }
  }

  /// Dynamic shared memory begins at one offset in all kernels.
  void lay_out_dynamic() {
    const auto at = dynamic_.empty() ? 0 : static_cast<uint32_t>(aligned(most_shared(), 16));
    for (const auto& unit : units_) {
      for (const ptx::Function* const function : definitions_)
        unit->names.defined.push_back(function != nullptr);
      unit->names.shared_bytes = shared_bytes_;
      unit->names.dynamic_at = at;
      // Features of PTX 8.1.
      unit->names.most_parameters = unit->source.version < 81 ? 4352 : 32764;
    }
    for (const auto& [unit, name] : dynamic_)
      if (!name.empty()) unit->names.variables[name] = {Space::Shared, at};
  }

  uint64_t most_shared() const {
    uint64_t most = shared_bytes_;
    for (const auto& unit : units_)
      for (const ptx::Function& function : unit->source.functions) {
        uint64_t at = shared_bytes_;
        for (const ptx::Scope& scope : function.scopes)
          for (const ptx::Variable& variable : scope.variables)
            if (function.is_kernel && variable.space == Space::Shared && !is_dynamic(variable))
              at = aligned(at, variable.alignment) + variable.size;
        most = std::max(most, at);
      }
    return most;
  }

  /// Names that a text only declares are those that another defines.
  void link(Unit& unit) {
    for (const ptx::Variable& variable : unit.source.variables) {
      if (!variable.is_external || unit.names.variables.contains(variable.name)) continue;
      const auto found = variables_.find(variable.name);
      if (found == variables_.end()) throw LoadError(1, "`" + variable.name + "` is only declared");
      unit.names.variables[variable.name] = found->second.storage;
    }
    for (const ptx::Function& function : unit.source.functions) {
      if (function.linkage == ptx::Linkage::Own && !function.is_external && function.has_body) continue;
      const auto found = functions_.find(function.name);
      if (found != functions_.end()) unit.names.functions[function.name] = found->second.index;
    }
  }

  static uint64_t address_of(const Unit& unit, const ptx::Variable::Address& address) {
    const auto function = unit.names.functions.find(address.symbol);
    if (function != unit.names.functions.end()) return kFunctionWindow + function->second;
    const auto found = unit.names.variables.find(address.symbol);
    if (found == unit.names.variables.end()) throw LoadError(1, "`" + address.symbol + "` is not declared");
    const bool is_window = found->second.space == Space::Shared && address.is_generic;
    return found->second.at + static_cast<uint64_t>(address.offset) + (is_window ? kSharedWindow : 0);
  }

  void initialise() {
    for (const auto& [unit, variable, allocation] : globals_) {
      if (variable->bytes.size() > allocation->whole)
        throw LoadError(1, "`" + variable->name + "` has a longer initial value than itself");
      if (!variable->bytes.empty())
        std::memcpy(allocation->host, variable->bytes.data(), variable->bytes.size());
      for (const ptx::Variable::Address& address : variable->addresses) {
        const uint64_t bits = address_of(*unit, address);
        std::memcpy(allocation->host + address.at, &bits, sizeof bits);
      }
    }
  }

  void decode(const Unit& unit, const ptx::Function& source) {
    const uint32_t index = unit.names.functions.at(source.name);
    if (definitions_[index] != nullptr && definitions_[index] != &source) return;
    Function& into = program_->functions[index];
    into = {};
    into.name = source.name;
    into.is_kernel = source.is_kernel;
    if (source.max_threads != 0) into.max_threads = std::min(source.max_threads, 1024u);
    FunctionDecoder(source, unit.names, into).run();
    if (into.is_kernel && unit.names.dynamic_at != 0) into.shared_bytes = unit.names.dynamic_at;
    for (ptx::Location& location : into.locations)
      if (location.file != 0) location.file += unit.first_file;
  }

  /// Checks declarations against the definitions. A result that no callee sets has any value.
  void check(const Unit& unit) const {
    for (const ptx::Function& source : unit.source.functions) {
      const Function& function = program_->functions[unit.names.functions.at(source.name)];
      if (!source.has_body && function.parameters.size() != source.parameters.size())
        throw LoadError(source.location.line,
                        "`" + source.name + "` is declared with other parameters than it is defined with");
    }
  }
};

}  // namespace

const Function* Program::kernel(std::string_view name) const {
  const auto found = by_name.find(std::string(name));
  if (found == by_name.end()) return nullptr;
  const Function& function = functions[found->second];
  return function.is_kernel && function.has_body ? &function : nullptr;
}

std::vector<std::string> Program::kernels() const {
  std::vector<std::string> names;
  for (const Function& function : functions)
    if (kernel(function.name) == &function) names.push_back(function.name);
  return names;
}

std::unique_ptr<Program> load(std::string_view ptx, Memory& memory) { return Loader(ptx, memory).run(); }

}  // namespace softgpu
