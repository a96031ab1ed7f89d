"""What happens to a job of MPI's when one of its processes ends by an exception."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

_policy = "abort"
_before: Any = None


def watch() -> None:
    """From now on an exception that nothing catches ends the job, unless the policy is "raise"."""
    global _before
    if _before is None:
        _before, sys.excepthook = sys.excepthook, _leave


def set_policy(policy: str) -> str:
    global _policy
    before, _policy = _policy, policy
    return before


def _leave(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    _before(kind, error, traceback)
    mpi = sys.modules.get("mpi4py.MPI")
    if _policy != "abort" or mpi is None or not mpi.Is_initialized() or mpi.Is_finalized() or mpi.COMM_WORLD.Get_size() == 1:
        return
    sys.stdout.flush()
    sys.stderr.flush()
    mpi.COMM_WORLD.Abort(1)
