#pragma once

#include <memory>

#include "base/abi.h"

/// The ABI as the runtime and those that call compiled code have it: its structures, and the callbacks of the
/// embedding program.
namespace ingot::runtime {

using entry::Buffer;
using entry::Context;
using entry::Error;
using entry::exception_of;
using entry::kEntryPrefix;
using entry::KernelCall;
using entry::KernelCode;
using entry::KernelError;
using entry::Status;
using entry::status_of;
using entry::ViewSlot;

class Errand;

/// Callbacks of the embedding program.
struct Hooks {
  /// Called by a poll of a watched call that is long: first to release what others wait for (the GIL), then
  /// repeatedly, so that signals are handled (`kLongCall` and `kBetweenLooks` in context.h). 0 to go on, or
  /// the status to leave with, the error being in the context.
  Status (*long_call)(Context*);
  /// Runs what only the embedding program provides: the library routine `what`, or, `what` being "host", its
  /// own call number `number`. The slots are those of the operands, each as `layout` describes it: words such
  /// as `f64` and `view<f64,2>`, each with a space after it. Returns a status as an entry does, or
  /// throws std::bad_alloc; null: there is no such thing here.
  Status (*outside)(Context*, const char* what, const char* layout, int64_t number, void** slots);
  /// Called before the code waits for a device: releases what others wait for. Null: nothing to release.
  void (*let_go)(Context*) = nullptr;
  /// Whether signals are handled while the call runs an errand (errand.h), so that the call may be left.
  /// Null: they are not.
  bool (*may_leave_errands)(Context*) = nullptr;
  /// Runs an errand, and handles signals meanwhile: 0, or the status to leave with while the errand goes on.
  Status (*run_errand)(Context*, const std::shared_ptr<Errand>&) = nullptr;
};

using Entry = Status (*)(Context*, void** slots);

}  // namespace ingot::runtime
