#include "emulator/program.h"

#include <algorithm>
#include <cstring>

#include "emulator/decode.h"

namespace ingot::emulator {

namespace {

using ptx::Space;

uint64_t aligned(uint64_t at, uint64_t alignment) { return (at + alignment - 1) / alignment * alignment; }

bool is_dynamic(const ptx::Variable& variable) {
  return variable.space == Space::Shared && (variable.is_external || variable.size == 0);
}

/// Lays out a module's variables, then decodes its functions.
class Loader {
 public:
  Loader(std::string_view text, Memory& memory) : source_(ptx::parse(text)), memory_(memory) {}

  std::unique_ptr<Program> run() {
    program_->files = source_.files;
    try {
      name_functions();
      lay_out();
      initialise();
      for (const ptx::Function& function : source_.functions) decode(function);
    } catch (...) {
      for (Allocation* const made : program_->memory) memory_.free(*made);
      throw;
    }
    return std::move(program_);
  }

 private:
  ptx::Module source_;
  Memory& memory_;
  std::unique_ptr<Program> program_ = std::make_unique<Program>();
  ModuleNames names_;
  std::vector<std::pair<const ptx::Variable*, Allocation*>> globals_;

  void name_functions() {
    for (const ptx::Function& function : source_.functions) {
      const auto index = static_cast<uint32_t>(program_->functions.size());
      if (!names_.functions.try_emplace(function.name, index).second) continue;
      program_->functions.emplace_back().name = function.name;
      program_->by_name[function.name] = index;
    }
  }

  void lay_out_variable(const ptx::Variable& variable) {
    if (variable.space == Space::Shared) {
      names_.shared_bytes = static_cast<uint32_t>(aligned(names_.shared_bytes, variable.alignment));
      names_.variables[variable.name] = {Space::Shared, names_.shared_bytes};
      names_.shared_bytes += static_cast<uint32_t>(variable.size);
    } else if (variable.space == Space::Global || variable.space == Space::Const) {
      if (names_.variables.contains(variable.name)) return;
      Allocation* const made = memory_.allocate(std::max<uint64_t>(variable.size, 1));
      if (made == nullptr) throw LoadError(1, "no memory for `" + variable.name + "`");
      std::memset(made->host, 0, made->size);
      memory_.mark_written(made->base, made->size);
      program_->memory.push_back(made);
      globals_.emplace_back(&variable, made);
      names_.variables[variable.name] = {variable.space, made->base};
      program_->globals[variable.name] = {made->base, variable.size};
      if (variable.space == Space::Const) program_->const_bytes += static_cast<uint32_t>(variable.size);
    } else if (variable.space != Space::Register) {
      throw LoadError(1, "`" + variable.name + "` of the module is in a space of functions");
    }
  }

  /// Variables of the module, and those of functions that outlive a call.
  void lay_out() {
    bool has_dynamic = false;
    std::vector<const ptx::Variable*> dynamic;
    for (const ptx::Variable& variable : source_.variables) {
      if (is_dynamic(variable)) dynamic.push_back(&variable);
      else if (!variable.is_external) lay_out_variable(variable);
    }
    for (const ptx::Function& function : source_.functions)
      for (const ptx::Scope& scope : function.scopes)
        for (const ptx::Variable& variable : scope.variables) {
          has_dynamic |= is_dynamic(variable);
          const bool is_shared =
              variable.space == Space::Shared && !function.is_kernel && !is_dynamic(variable);
          if (is_shared || variable.space == Space::Global || variable.space == Space::Const)
            lay_out_variable(variable);
        }
    has_dynamic |= !dynamic.empty();
    if (has_dynamic) names_.dynamic_at = static_cast<uint32_t>(aligned(most_shared(), 16));
    for (const ptx::Variable* const variable : dynamic)
      names_.variables[variable->name] = {Space::Shared, names_.dynamic_at};
    for (const ptx::Variable& variable : source_.variables)
      if (variable.is_external && !names_.variables.contains(variable.name))
        throw LoadError(1, "`" + variable.name + "` is only declared");
  }

  uint64_t most_shared() const {
    uint64_t most = names_.shared_bytes;
    for (const ptx::Function& function : source_.functions) {
      uint64_t at = names_.shared_bytes;
      for (const ptx::Scope& scope : function.scopes)
        for (const ptx::Variable& variable : scope.variables)
          if (function.is_kernel && variable.space == Space::Shared && !is_dynamic(variable))
            at = aligned(at, variable.alignment) + variable.size;
      most = std::max(most, at);
    }
    return most;
  }

  uint64_t address_of(const ptx::Variable::Address& address) const {
    const auto function = names_.functions.find(address.symbol);
    if (function != names_.functions.end()) return kFunctionWindow + function->second;
    const auto place = names_.variables.find(address.symbol);
    if (place == names_.variables.end()) throw LoadError(1, "`" + address.symbol + "` is not declared");
    const bool is_window = place->second.space == Space::Shared && address.is_generic;
    return place->second.at + static_cast<uint64_t>(address.offset) + (is_window ? kSharedWindow : 0);
  }

  void initialise() {
    for (const auto& [variable, allocation] : globals_) {
      if (variable->bytes.size() > allocation->whole)
        throw LoadError(1, "`" + variable->name + "` has a longer initial value than itself");
      if (!variable->bytes.empty())
        std::memcpy(allocation->host, variable->bytes.data(), variable->bytes.size());
      for (const ptx::Variable::Address& address : variable->addresses) {
        const uint64_t bits = address_of(address);
        std::memcpy(allocation->host + address.at, &bits, sizeof bits);
      }
    }
  }

  void decode(const ptx::Function& source) {
    Function& into = program_->functions[names_.functions.at(source.name)];
    if (into.has_body) {
      if (source.has_body) throw LoadError(source.place.line, "`" + source.name + "` is defined twice");
      return;
    }
    into = {};
    into.name = source.name;
    into.is_kernel = source.is_kernel;
    if (source.max_threads != 0) into.max_threads = std::min(source.max_threads, 1024u);
    FunctionDecoder(source, names_, into).run();
    if (into.is_kernel && names_.dynamic_at != 0) into.shared_bytes = names_.dynamic_at;
  }
};

}  // namespace

const Function* Program::kernel(std::string_view name) const {
  const auto found = by_name.find(std::string(name));
  if (found == by_name.end()) return nullptr;
  const Function& function = functions[found->second];
  return function.is_kernel && function.has_body ? &function : nullptr;
}

std::unique_ptr<Program> load(std::string_view ptx, Memory& memory) { return Loader(ptx, memory).run(); }

}  // namespace ingot::emulator
