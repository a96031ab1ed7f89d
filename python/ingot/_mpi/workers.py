"""The threads of simulated ranks, which all runs of a program use."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Stop(BaseException):  # noqa: N818
    """Ends the thread of a rank."""


class Worker:
    """A thread that runs ranks, one in each run. It waits by its lock for its first call, and in each that does not return at once."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.lock.acquire()
        self.job: Callable[[], None] | None = None
        self.is_over = False
        self.thread = threading.Thread(target=self._work, daemon=True, name="ingot rank")
        self.thread.start()

    def _work(self) -> None:
        try:
            while not self.is_over:
                self.lock.acquire()
                job, self.job = self.job, None
                if job is not None:
                    job()
        except Stop:
            pass  # it came when the rank had ended

    def end(self) -> None:
        self.is_over = True
        if self.lock.locked():
            self.lock.release()
