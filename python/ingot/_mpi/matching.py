"""Which send is received by which receive: queues of what is posted, MPI's order, and the decisions of wildcards.

A receive that names its source has one send that it can take, so it takes it at once. One of any source waits until no rank can
go on otherwise; then one of the sources is chosen, and others are run later. What had to happen before a send is known by a
mask of decisions and posted receives, so that a send that comes too late, but did not have to, is an alternative as well.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import mpi4py.MPI as MPI

from .findings import Site
from .messages import Buffer

ANY_SOURCE, ANY_TAG, PROC_NULL = MPI.ANY_SOURCE, MPI.ANY_TAG, MPI.PROC_NULL
NEVER = 1 << 60

Key = tuple[int, int]
"""Which decision: of which rank, and which of that rank's."""


class Operation:
    """A send, a receive or a probe. Ranks are those of the world; `source` of a receive may be ANY_SOURCE."""

    __slots__ = (
        "buffer", "content", "context", "data", "decision", "dest", "early", "is_cancelled", "is_send", "key", "mask", "mode", "partner", "post", "site",
        "source", "step", "tag",
    )  # fmt: skip

    def __init__(self, is_send: bool, site: Site, context: int, source: int, dest: int, tag: int, buffer: Buffer | None, mode: str = "") -> None:
        self.is_send, self.site, self.context, self.source, self.dest, self.tag = is_send, site, context, source, dest, tag
        self.buffer, self.mode = buffer, mode
        self.data = buffer.get() if buffer is not None and is_send else b""
        self.partner: Operation | None = None
        self.mask = 0  # the events before it
        self.post = 0  # its own event
        self.decision = 0  # the event of the decision that matched it
        self.step = NEVER  # when it was matched
        self.key: Key | None = None
        self.content: tuple[Any, ...] | None = None  # of a send of an object it, of a receive of one ()
        self.is_cancelled = self.early = False

    is_free = False

    def waits_for(self, n: int) -> list[int]:
        """The ranks that it may be matched by."""
        if self.is_send:
            return [self.dest]
        return [self.source] if self.source != ANY_SOURCE else [rank for rank in range(n) if rank != self.dest]

    @property
    def rank(self) -> int:
        return self.source if self.is_send else self.dest

    def received(self) -> Any:
        """The object of a receive; None where there is none."""
        return self.partner.content[0] if self.partner is not None and self.partner.content and not self.is_send else None

    def takes(self, send: Operation) -> bool:
        """Whether a receive may take a send, by source and tag."""
        return (self.source in (ANY_SOURCE, send.source)) and (self.tag in (ANY_TAG, send.tag))


@dataclass
class Decision:
    """What was chosen: of a receive or probe the source, of `Waitany` the index of the request."""

    key: Key
    chosen: int
    event: int
    step: int
    sites: tuple[Site, ...]
    operation: Operation | None = None
    others: Any = None  # gives, after the run, the alternatives, each with what had to happen before it


class Matching:
    """What is posted and not matched, of one run. `forced`: what some decisions have to be."""

    def __init__(self, forced: dict[Key, int]) -> None:
        self.forced = forced
        self.sends: dict[tuple[int, int], list[Operation]] = defaultdict(list)
        self.receives: dict[tuple[int, int], list[Operation]] = defaultdict(list)
        self.log: dict[tuple[int, int], list[Operation]] = defaultdict(list)
        self.decisions: list[Decision] = []
        self.matched: Any = None  # called with a receive that was
        self.step = self.events = 0
        self._counts: dict[int, int] = defaultdict(int)

    def new_event(self) -> int:
        self.events += 1
        return 1 << self.events

    def next_key(self, rank: int) -> Key:
        return rank, self._counts[rank]

    def new_key(self, rank: int) -> Key:
        self._counts[rank] += 1
        return rank, self._counts[rank] - 1

    def post(self, operation: Operation) -> None:
        queue = operation.context, operation.dest
        self.step += 1
        if operation.is_send:
            self.log[queue].append(operation)
            self.sends[queue].append(operation)
        else:
            operation.post = self.new_event()
            if operation.source == ANY_SOURCE:
                operation.key = self.new_key(operation.rank)
            self.receives[queue].append(operation)
        self._settle(queue)

    def cancel(self, operation: Operation) -> None:
        if operation.partner is None:
            (self.sends if operation.is_send else self.receives)[operation.context, operation.dest].remove(operation)
            operation.is_cancelled = True
            self.step += 1
            self._settle((operation.context, operation.dest))

    def _settle(self, queue: tuple[int, int]) -> None:
        """Matches the receives that name their source, as far as earlier ones of any source leave them a send."""
        if not self.sends[queue]:
            return
        again = True
        while again:
            again = False
            for receive in self.receives[queue]:
                send = self.first(receive, receive.source) if receive.source != ANY_SOURCE else None
                if send is not None:
                    self._match(send, receive)
                    again = True
                    break

    def first(self, receive: Operation, source: int) -> Operation | None:
        """The send of a source that a receive or probe would take; None where an earlier receive may take it."""
        queue = receive.context, receive.dest
        for send in self.sends[queue]:
            if send.source == source and receive.takes(send):
                for earlier in self.receives[queue]:
                    if earlier is receive:
                        return send
                    if earlier.takes(send):
                        return None
                return send
        return None

    def candidates(self, receive: Operation) -> dict[int, Operation]:
        """The sends that it may take, by source."""
        sources = sorted({send.source for send in self.sends[receive.context, receive.dest] if receive.takes(send)})
        found = {source: self.first(receive, source) for source in sources}
        return {source: send for source, send in found.items() if send is not None}

    def _match(self, send: Operation, receive: Operation) -> None:
        queue = send.context, send.dest
        self.sends[queue].remove(send)
        self.receives[queue].remove(receive)
        self.step += 1
        send.partner, receive.partner = receive, send
        send.step = receive.step = self.step
        self.matched(receive)

    def pending(self) -> list[Operation]:
        """The receives of any source that wait, by rank and order."""
        found = [r for receives in self.receives.values() for r in receives if r.source == ANY_SOURCE]
        return sorted(found, key=lambda r: r.key or (0, 0))

    def decide(self, wants: list[Any]) -> bool:
        """Makes one decision, if one can be made: of a receive of any source, or of `wants`, which are probes and `Waitany`s that
        wait. Those that are forced come first, since what they wait for may be taken by others."""
        receives = [(r.key, self.candidates(r), r, None) for r in self.pending()]
        for key, options, r, want in [*receives, *((w.key, w.options(), None, w) for w in wants)]:
            if key in self.forced and self.forced[key] in options:
                self._choose(key, self.forced[key], options, r, want)
                return True
        for key, options, r, want in [*receives, *((w.key, w.options(), None, w) for w in wants)]:
            if key not in self.forced and options:
                self._choose(key, min(options), options, r, want)
                return True
        return False

    def is_held_back(self, wants: list[Any]) -> bool:
        """Whether something waits for a choice that was forced, and could go on by another: no deadlock of the program's."""
        return any(self.candidates(r) for r in self.pending()) or any(w.options() for w in wants)

    def _choose(self, key: Key, chosen: int, options: dict[int, Any], receive: Operation | None, want: Any) -> None:
        event = self.new_event()
        operation = receive if receive is not None else want.operation
        sites = want.sites(chosen) if operation is None else (operation.site, options[chosen].site)
        self.decisions.append(Decision(key, chosen, event, self.step, sites, operation, None if want is None else want.others))
        if receive is not None:
            receive.decision = event
            self._match(options[chosen], receive)
            self._settle((receive.context, receive.dest))
        else:
            self.step += 1
            self.new_key(key[0])
            want.choose(chosen, event)

    def alternatives(self) -> list[dict[Key, int]]:
        """Of a run that has ended: what other runs have to be forced to, to choose otherwise in one decision."""
        found = []
        for i, decision in enumerate(self.decisions):
            r = decision.operation
            before = {d.key: d.chosen for d in self.decisions[:i]}
            if r is None:
                options = [(index, mask) for index, mask in decision.others() if index != decision.chosen]
            else:
                options, seen = [], {decision.chosen}
                for send in self.log[r.context, r.dest]:
                    if send.source not in seen and r.takes(send) and send.step > decision.step:
                        seen.add(send.source)
                        options.append((send.source, send.mask))
            for chosen, mask in options:
                if not mask & decision.event:
                    needed = {d.key: d.chosen for d in self.decisions[i:] if mask & d.event}
                    found.append({**before, **needed, decision.key: chosen})
        return found
