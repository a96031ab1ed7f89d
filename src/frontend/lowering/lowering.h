#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "base/refused.h"
#include "frontend/lowered.h"
#include "frontend/registry.h"

namespace ingot::frontend {

/// A Python function on its way into a module: by attempts, each of which begins with the facts that the
/// earlier ones lacked.
class Lowering {
 public:
  Lowering(const Registry& registry, std::unique_ptr<ir::Module> module, nb::object function,
           Request request);
  ~Lowering();
  Lowering(const Lowering&) = delete;
  Lowering& operator=(const Lowering&) = delete;

  /// What an attempt comes to.
  using Outcome = std::variant<Lowered, NeedsFact, base::Refused>;

  /// One attempt. The next one knows a fact that this one lacked, unless the fact is of the caller, who then
  /// makes another request. A refusal is the last word.
  Outcome attempt();

  /// The module, with the function once an attempt has lowered it.
  std::unique_ptr<ir::Module> take_module() { return std::move(module_); }

 private:
  struct State;

  std::optional<base::Refused> learn(const NeedsFact& fact);

  const Registry& registry_;
  std::unique_ptr<ir::Module> module_;
  nb::object function_;
  Request request_;
  std::unique_ptr<State> state_;
};

}  // namespace ingot::frontend
