"""One run: ranks are threads, of which one runs at a time, until it waits. Then the next one does that can go on.

Where none can, decisions are made (`matching`); where there are none, ranks that ask - `Test`, `Iprobe` - are answered no; and
where nobody asks, it is a deadlock.
"""

from __future__ import annotations

import contextvars
import ctypes
import functools
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import mpi4py.MPI as MPI

from .._errors import UnsupportedError
from .findings import Finding, Site, site_of_caller, site_of_error
from .matching import Key, Matching, Operation
from .workers import Stop, Worker

_MOST_POLLS = 4000
_MOST_STOPS = 20  # of a rank that catches what ends it
_LEAST_SECONDS = 0.2  # of polls in vain, until they are for ever


class Config(NamedTuple):
    """How a run is made: whether sends wait until they are received; which receives, by the number of their line, have their
    message at once; whether what is asked for first is answered no."""

    is_strict: bool = False
    early: int = -1
    is_late: bool = False

    def __str__(self) -> str:
        return ("s" if self.is_strict else "b") + (f"e{self.early}" if self.early >= 0 else "") + ("l" if self.is_late else "")


class Wait(NamedTuple):
    """What a rank waits for: where, and the messages and calls of collectives, each with `site`, `waits_for` and `is_free`."""

    site: Site
    operations: tuple[Any, ...] = ()


class Rank:
    """A rank of a run, and what it knows."""

    def __init__(self, number: int, worker: Worker) -> None:
        self.number, self.worker = number, worker
        self.lock, self.ended = worker.lock, threading.Lock()
        self.ended.acquire()
        self.state = "ready"
        self.condition: Callable[[], bool] = bool
        self.wait: Wait | None = None
        self.want: Any = None
        self.answer = False
        self.polls = self.stops = 0
        self.has_begun = self.is_lost = False
        self.asked: set[Any] = set()
        self.known = 0
        self.pending: list[Any] = []  # requests that have been started
        self.last: Site | None = None
        self.error: BaseException | None = None
        self.result: Any = None
        self.has_returned = False


class Run:
    """The state of one run."""

    def __init__(self, workers: list[Worker], config: Config, forced: dict[Key, int], seed: str) -> None:
        self.n, self.config, self.seed = len(workers), config, seed
        self.ranks = [Rank(i, worker) for i, worker in enumerate(workers)]
        self.matching = Matching(forced)
        self.matching.matched = self._has_matched
        self.findings: list[Finding] = []
        self.is_stopping = self.is_infeasible = self.has_timed_out = False
        self.has_answered = self.is_first = False
        self.lines: dict[tuple[str, int], tuple[int, list[Site]]] = {}  # of receives that are started: each with its number and the waits
        self.contexts = 0
        self.shared: dict[Any, Any] = {}
        self._main = threading.Lock()
        self._main.acquire()
        self._last = 0
        self._idle_since: tuple[int, float] = (-1, 0.0)
        self._error: BaseException | None = None
        self.left_waiting: list[Site] = []

    # ---- from the thread that simulates

    def go(self, f: Callable[[Rank], Any], timeout: float) -> None:
        """Runs `f` of each rank."""
        for rank in self.ranks:
            # In a context of its own: NumPy's handling of errors, and the like.
            rank.worker.job = functools.partial(contextvars.copy_context().run, self._of_rank, rank, f)
        try:
            self.ranks[0].lock.release()
            if not self._main.acquire(timeout=timeout):
                self._time_out(timeout)
        finally:
            self._end()
        if self._error is not None:
            raise self._error

    def _end(self) -> None:
        """Ends the threads that have not: those that wait by what their call raises, one that runs by an exception from outside."""
        self.is_stopping = True
        for rank in self.ranks:
            is_running = rank.number == self._last and rank.state == "ready"
            if rank.has_begun and not is_running and rank.state != "done" and rank.lock.locked():
                rank.lock.release()  # once: the next run has its own use for the lock
            for _ in range(_MOST_STOPS):
                if rank.state == "done" or rank.is_lost or not rank.has_begun:
                    break
                if is_running:
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(rank.worker.thread.ident or 0), ctypes.py_object(Stop))
                rank.ended.acquire(timeout=0.02)
            rank.worker.job = None
            rank.is_lost = rank.has_begun and (is_running or rank.is_lost or rank.state != "done")

    def _time_out(self, timeout: float) -> None:
        self.has_timed_out = True
        running = self.ranks[self._last]
        frame: Any = sys._current_frames().get(running.worker.thread.ident or 0)
        while frame is not None and frame.f_back is not None and frame.f_code.co_filename.startswith(_OWN):
            frame = frame.f_back
        sites = [] if frame is None else [Site(running.number, "runs", frame.f_code.co_filename, frame.f_lineno)]
        sites += [rank.wait.site for rank in self.ranks if rank.state not in ("ready", "done") and rank.wait is not None]
        message = f"the run has not ended in {timeout:g} s, and rank {running.number} computes; `timeout` gives it more"
        self.find("timeout", message, sites, (running.number,))

    # ---- from the threads of ranks

    def _of_rank(self, rank: Rank, f: Callable[[Rank], Any]) -> None:
        rank.has_begun = True
        try:
            rank.result = f(rank)
            rank.has_returned = True
        except Stop:
            pass
        except UnsupportedError as error:
            self._error = error
        except BaseException as error:
            if not (isinstance(error, SystemExit) and error.code in (None, 0)):
                rank.error = error
        finally:
            rank.state, rank.wait = "done", None
        rank.ended.release()
        if not self.is_stopping:
            self._let_go(rank)

    def _let_go(self, rank: Rank) -> bool:
        """Has another rank run, or ends the run; gives whether this one is to go on."""
        try:
            following = self._next() if self._error is None else None
        except BaseException as error:
            self._error, following = error, None
        if following is rank:
            return True
        (self._main if following is None else following.lock).release()
        return False

    def _yield(self, rank: Rank) -> None:
        if not self._let_go(rank):
            rank.lock.acquire()
        if self.is_stopping:
            raise Stop
        rank.state, rank.wait, rank.want = "ready", None, None

    def line_of(self, site: Site) -> tuple[int, list[Site]]:
        """The number of a line of receives that are started, and where they are waited for."""
        return self.lines.setdefault((site.file, site.line), (len(self.lines), []))

    def begin(self, rank: Rank, what: str) -> Site:
        """What each call of MPI's begins with."""
        if self.is_stopping:
            rank.stops += 1
            if rank.stops > _MOST_STOPS:  # it catches everything: its thread waits for ever
                rank.is_lost = True
                rank.lock.acquire()
            raise Stop
        rank.last = site_of_caller(rank.number, what)
        return rank.last

    def block(self, rank: Rank, condition: Callable[[], bool], wait: Wait, want: Any = None) -> None:
        """Waits. `want`: what a decision is made about."""
        if want is None and condition():
            return
        rank.state, rank.condition, rank.wait, rank.want = "blocked", condition, wait, want
        self._yield(rank)

    def pause(self, rank: Rank, site: Site) -> None:
        """Goes on when nobody else can."""
        rank.state, rank.wait = "paused", Wait(site)
        self._yield(rank)

    def ask(self, rank: Rank, condition: Callable[[], bool], wait: Wait, key: Any, want: Any = None) -> bool:
        """What `Test` answers: no, when nobody else can go on and it is not fulfilled."""
        rank.state, rank.condition, rank.wait, rank.want = "asking", condition, wait, want
        self._yield(rank)
        if rank.answer:
            self.has_answered = True
            if self.config.is_late and key not in rank.asked:
                rank.asked.add(key)
                return False
        return rank.answer

    def _next(self) -> Rank | None:
        """The rank that goes on; None: none can."""
        while not self.is_stopping:
            ranks = self.ranks[self._last :] + self.ranks[: self._last]
            for rank in ranks:
                if rank.state == "ready" or (rank.state in ("blocked", "asking") and rank.want is None and rank.condition()):
                    return self._chosen(rank, True)
            wants = [rank.want for rank in self.ranks if rank.state in ("blocked", "asking") and rank.want is not None]
            for want in wants:
                if want.is_chosen:
                    return self._chosen(want.rank, True)
            if self.matching.decide(wants):
                continue
            for rank in ranks:
                if rank.state == "paused":
                    return self._chosen(rank, True)
            asking = [rank for rank in self.ranks if rank.state == "asking"]
            if asking and not self._is_idle(asking):
                return self._chosen(min(asking, key=lambda rank: (rank.polls, rank.number)), False)
            waiting = [rank for rank in self.ranks if rank.state != "done"]
            if waiting and self.matching.is_held_back(wants):
                self.is_infeasible = True
            elif waiting:
                self._find_deadlock(waiting, bool(asking))
            return None
        return None

    def _chosen(self, rank: Rank, answer: bool) -> Rank:
        rank.answer = answer
        rank.polls = 0 if answer else rank.polls + 1
        self._last = rank.number
        return rank

    def _is_idle(self, asking: list[Rank]) -> bool:
        """Whether ranks have been answered no so often that nothing will change."""
        if self._idle_since[0] != self.matching.step:
            self._idle_since = self.matching.step, time.monotonic()
            for rank in self.ranks:
                rank.polls = 0
        return min(rank.polls for rank in asking) >= _MOST_POLLS and time.monotonic() > self._idle_since[1] + _LEAST_SECONDS

    # ---- messages

    def _has_matched(self, receive: Operation) -> None:
        send: Any = receive.partner
        if receive.buffer is not None and send.buffer is not None:
            of_send, of_receive = send.buffer.type.code, receive.buffer.type.code
            if of_send is not None and of_receive is not None and of_send != of_receive and send.data:
                self.find("datatype", f"a message of {_dtype(of_send)} is received as {_dtype(of_receive)}", [send.site, receive.site])
        if (send.content is None) != (receive.content is None):
            self.find("datatype", "a message of an object is received as an array, or one of an array as an object", [send.site, receive.site])
        if send.mode == "ready" and not send.mask & receive.post:
            self.find("ready", "Rsend may come before its receive has been posted", [send.site, receive.site])
        if receive.early and receive.buffer is not None and len(send.data) <= receive.buffer.size:
            receive.buffer.put(send.data)

    def is_complete(self, operation: Any) -> bool:
        """Whether a call that waits for it returns."""
        if not isinstance(operation, Operation):
            return bool(operation.is_complete())
        if operation.partner is not None or operation.is_cancelled:
            return True
        return operation.is_send and (operation.mode in ("buffered", "ready") or (operation.mode == "" and not self.config.is_strict))

    def observe(self, rank: Rank, operation: Operation) -> None:
        """Has a rank know what happened before an operation ended, as far as its end shows that."""
        partner = operation.partner
        if partner is not None and (not operation.is_send or operation.mode == "synchronous" or self.config.is_strict):
            rank.known |= partner.mask | partner.post | partner.decision | operation.decision

    # ---- what is found

    def find(self, kind: str, message: str, sites: list[Site], ranks: tuple[int, ...] = ()) -> Finding:
        found = Finding(kind, message, ranks or tuple(sorted({site.rank for site in sites})), tuple(dict.fromkeys(sites)), self.seed)
        if all(found.key != other.key for other in self.findings):
            self.findings.append(found)
        return found

    def fail(self, rank: Rank, kind: str, message: str, sites: list[Site]) -> NoReturn:
        """Ends the run by what is wrong."""
        self.find(kind, message, sites)
        self.is_stopping = True
        rank.state = "done"
        self._main.release()
        raise Stop

    def raise_code(self, code: int, kind: str, message: str, sites: list[Site]) -> NoReturn:
        """Raises what mpi4py does; it is a finding if nothing catches it."""
        error: Any = MPI.Exception(code)
        error.ingot_finding = kind, message, sites
        raise error

    def _find_deadlock(self, waiting: list[Rank], is_asking: bool) -> None:
        self.left_waiting = [rank.wait.site for rank in waiting if rank.wait is not None]
        if any(rank.error is not None for rank in self.ranks):
            return  # the exception is what is found, with who waits
        sites: list[Site] = []
        words, open_calls = [], set()
        for rank in waiting:
            wait: Any = rank.wait
            incomplete = [o for o in wait.operations if not self.is_complete(o)]
            sites += [wait.site, *(o.site for o in incomplete)]
            messages = [o for o in incomplete if isinstance(o, Operation)]
            for o in messages:
                queue = self.matching.receives if o.is_send else self.matching.sends
                sites += [other.site for other in queue[o.context, o.dest]]
            open_calls |= {o.site.what.split()[0] for o in incomplete if o.is_free or (o.is_send and o.mode == "")}
            others = sorted({other for o in incomplete for other in o.waits_for(self.n)})
            words.append(f"rank {rank.number} waits for {_listed(others)}")
            sites += self._last_calls(o for o in others if self.ranks[o].state == "done")
        ended = [rank.number for rank in self.ranks if rank.state == "done"]
        message = "; ".join(words) + (f"; {_listed(ended)} {'has' if len(ended) == 1 else 'have'} ended" if ended else "")
        if is_asking:
            self.find("livelock", f"asked {_MOST_POLLS} times in vain: {message}", sites)
        elif open_calls and self.config.is_strict:
            calls = " and ".join(sorted(open_calls))
            self.find("deadlock", f"if {calls} {'waits' if len(open_calls) == 1 else 'wait'} for other ranks, which MPI leaves open: {message}", sites)
        else:
            self.find("deadlock", message, sites)

    def _last_calls(self, ranks: Any) -> list[Site]:
        found = [self.ranks[number].last for number in ranks]
        return [last._replace(what=f"{last.what}, its last call") for last in found if last is not None]

    def finish(self) -> None:
        """Finds what is left when the run has ended: exceptions, messages, requests."""
        if self.is_infeasible or self.has_timed_out:
            return
        failed = [rank for rank in self.ranks if rank.error is not None]
        self._find_exceptions(failed)
        if failed or any(not rank.has_returned and rank.error is None for rank in self.ranks):
            return
        left = {id(o) for sends in self.matching.sends.values() for o in sends}
        for rank in self.ranks:
            for request in rank.pending:
                operation = request.operation
                partner = operation.partner if isinstance(operation, Operation) else None
                self.find("request", "a request is neither waited for nor freed", [operation.site, *([partner.site] if partner else [])])
                left.discard(id(operation))
        for sends in self.matching.sends.values():
            for send in sends:
                if id(send) in left:
                    more = [r.site for r in self.matching.receives[send.context, send.dest]]
                    self.find("unmatched", f"a message to rank {send.dest} is never received", [send.site, *more, *self._last_calls([send.dest])])

    def _find_exceptions(self, failed: list[Rank]) -> None:
        """What the exceptions mean that nothing has caught; those of one line are one finding."""
        found: dict[Any, list[tuple[int, str, str, list[Site]]]] = {}
        for rank in failed:
            error: Any = rank.error
            words = f"{type(error).__name__}: {error}"
            own = site_of_error(rank.number, words, error)
            kind, message, sites = getattr(error, "ingot_finding", ("exception", f"ends by {words}", [own]))
            found.setdefault((kind, sites[0].file, sites[0].line), []).append((rank.number, kind, message, sites))
        for (kind, *_), ends in found.items():
            ranks = tuple(number for number, *_ in ends)
            message = ends[0][2]
            if kind == "exception":
                message = f"{_listed(ranks)} {message if len(ranks) == 1 else message.replace('ends', 'end', 1)}"
            if self.left_waiting:
                message += f"; {_listed(site.rank for site in self.left_waiting)} would wait for ever"
            self.find(kind, message, [*(site for *_, sites in ends for site in sites), *self.left_waiting])


_OWN = __file__.rpartition("scheduler")[0]


def _dtype(code: str) -> str:
    return {"i": "int", "u": "uint", "f": "float", "c": "complex", "b": "bool"}[code[0]] + ("" if code[0] == "b" else str(8 * int(code[1:])))


def _listed(ranks: Any) -> str:
    numbers = [str(rank) for rank in ranks]
    if len(numbers) < 2:
        return f"rank {''.join(numbers)}"
    return f"ranks {', '.join(numbers[:-1])} and {numbers[-1]}"
