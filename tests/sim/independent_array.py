"""A second model of eight mirrored drives or RAID 5, small and slow, that shares nothing with the simulator.

It knows the drive's seek curve, zones, rotation, sorting and write cache from `docs/drives.md`, and md's reads, mirrors
and read-modify-write from `docs/arrays.md`. Requests are one sector at a random angle. It leaves out reading on, runs,
heads, and everything that a random load of small requests does not touch.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from statistics import pstdev

_TURN_MS = 60e3 / 7200
_OVERHEAD_MS, _SETTLE_MS, _ACCEPT_MS, _TRANSFER_MS = 0.3, 0.5, 0.11, 0.05
_INNER_TO_OUTER = 58 / 118
_EXTENTS, _WINDOW = 256, 30
_BATCH, _BATCH_FROM = 160, 3
_GAMMA, _LEAST_DEPTH, _SEEN = 0.75, 5, 31


def _lee_and_katz(track: float, mean: float, full: float) -> Callable[[float], float]:
    """Milliseconds to move by a share of the stroke."""
    root, linear = (-10 * track + 15 * mean - 5 * full) / 3, (7 * track - 15 * mean + 8 * full) / 3
    return lambda share: track + root * math.sqrt(share) + linear * share if share > 0 else 0.0


_seek_ms = _lee_and_katz(0.8, 9.45, 14.65)  # samsung-f1-1tb


def _stroke(address: float) -> float:
    """The share of the stroke that lies before a share of the addresses, where tracks shorten linearly."""
    bend = (1 - _INNER_TO_OUTER) / 2
    return (1 - math.sqrt(1 - 4 * bend * address * (1 + _INNER_TO_OUTER) / 2)) / (2 * bend)


@dataclass(eq=False)
class _Request:
    address: float
    stroke: float
    angle: float
    is_write: bool
    done: Callable[[], None]


@dataclass(eq=False)
class _Drive:
    later: Callable[[float, Callable[[], None]], None]
    now: Callable[[], float]
    by_address: bool
    extents: int
    idle_ms: float
    in_turn: bool
    batch: int
    reads_wait: bool
    head: float = 0.0
    present: int = 0
    last_sent: float = 0.0
    last_done: float = 0.0
    busy: bool = False
    waiting: list[_Request] = field(default_factory=list)
    dirty: list[_Request] = field(default_factory=list)
    blocked: list[_Request] = field(default_factory=list)
    batch_left: int = 0
    carry: float = 0.0
    read_at_ms: float = -math.inf
    reads_next: bool = False

    def send(self, request: _Request) -> None:
        self.last_sent = request.address
        self.present += 1
        if request.is_write:
            self.blocked.append(request)
            self._admit()
        else:
            self.waiting.append(request)
        self._start()

    def _admit(self) -> None:
        while self.blocked and len(self.dirty) < self.extents and not self.batch_left:
            request = self.blocked.pop(0)
            self.dirty.append(request)
            self.present -= 1
            self.later(_ACCEPT_MS, request.done)

    def _reach_ms(self, request: _Request) -> float:
        moved = (_SETTLE_MS if request.is_write else _OVERHEAD_MS) + _seek_ms(abs(request.stroke - self.head))
        under_head = (self.now() + moved) / _TURN_MS
        return moved + (request.angle - under_head) % 1.0 * _TURN_MS

    def _candidates(self) -> list[_Request]:
        """Of the waiting reads, those that are looked at; the oldest alone below the least depth."""
        seen = self.waiting[:_SEEN]
        beyond = len(seen) - _LEAST_DEPTH + 1
        if beyond <= 1:
            return seen[:1]
        wanted = beyond**_GAMMA + self.carry
        size = min(int(wanted), len(seen))
        self.carry = wanted - size
        first = random.randrange(len(seen))
        return (seen + seen)[first : first + size]

    def _to_write_back(self) -> list[_Request]:
        if not self.by_address:
            return self.dirty[:_WINDOW]
        ahead = [one for one in self.dirty if one.stroke >= self.head]
        return sorted(ahead or self.dirty, key=lambda one: one.stroke)[:1]

    def _is_quiet(self) -> bool:
        return self.now() - self.read_at_ms > self.idle_ms - 1e-6

    def _start(self) -> None:
        if self.busy:
            return
        reads = [] if self.reads_wait and self.batch_left else self._candidates()
        writes = self._to_write_back() if self.blocked or (not reads and self._is_quiet()) else []
        if not reads and not writes:
            return
        if reads and writes and self.in_turn:
            self.reads_next = not self.reads_next
            reads, writes = (reads, []) if self.reads_next else ([], writes)
        chosen = min(reads + writes, key=self._reach_ms)
        if chosen.is_write and not self.by_address and not self.batch_left:
            full = len(self.dirty) >= self.extents and len(self.blocked) >= _BATCH_FROM
            self.batch_left = self.batch if full else 0
        self.busy = True
        service_ms = self._reach_ms(chosen) + _TRANSFER_MS
        self.head = chosen.stroke
        (self.dirty if chosen.is_write else self.waiting).remove(chosen)
        if chosen.is_write:
            self.batch_left = max(0, self.batch_left - 1)
            self._admit()
        self.later(service_ms, lambda: self._finish(chosen))

    def _finish(self, request: _Request) -> None:
        self.busy = False
        if not request.is_write:
            self.present -= 1
            self.last_done = request.address
            self.read_at_ms = self.now()
            if self.idle_ms:
                self.later(self.idle_ms, self._start)
            request.done()
        self._start()


@dataclass(frozen=True)
class Found:
    """Completions per second, and the standard deviation of what they took."""

    iops: float
    sd_ms: float


def random_requests(
    layout: str, *, writes: bool, outstanding: int, ios: int = 9_000, drives: int = 8, share: float = 1.0,
    head: str = "last sent", by_address: int = 0, idle_ms: float = 0.0, in_turn: bool = False,
    batch: int = _BATCH, reads_wait: bool = False,
) -> Found:  # fmt: skip
    """A closed loop of random requests, without the first third of them.

    `layout` is "raid10" with md's read balancing, or "raid5"; `share` is that of the addresses, from the outer edge.
    The head is taken to be at the request that was "last sent" to the drive, as the simulator does, or "last done".
    Drives write back what they reach first of their oldest writes and, once several wait, take none until a `batch` of
    them is written back, for which `reads_wait`, too, or compete with it; or, with `by_address`, so many writes in
    order of their addresses, from the outer edge to the inner and again, one at a time. They begin when nothing was
    read for `idle_ms`; beside reads, once the cache is full, they write what is nearer than the nearest read, or
    `in_turn` with it.
    """
    random.seed(1)
    time_ms, order = 0.0, count()
    events: list[tuple[float, int, Callable[[], None]]] = []

    def later(delay_ms: float, then: Callable[[], None]) -> None:
        heapq.heappush(events, (time_ms + delay_ms, next(order), then))

    extents = by_address or _EXTENTS
    group = [
        _Drive(later, lambda: time_ms, by_address > 0, extents, idle_ms, in_turn, batch, reads_wait)
        for _ in range(drives)
    ]
    took_ms: list[float] = []
    began_ms = 0.0

    def finished(sent_ms: float) -> None:
        nonlocal began_ms
        took_ms.append(time_ms - sent_ms)
        began_ms = time_ms if len(took_ms) == ios // 3 else began_ms
        begin()

    def send(places: list[tuple[_Drive, float]], address: float, write: bool, then: Callable[[], None]) -> None:
        left = len(places)

        def one_done() -> None:
            nonlocal left
            left -= 1
            if left == 0:
                then()

        for drive, angle in places:
            drive.send(_Request(address, _stroke(address), angle, write, one_done))

    def away(drive: _Drive, address: float) -> float:
        known = drive.last_sent if head == "last sent" else drive.last_done
        return abs(known - address) if drive.present else 0.0

    def begin() -> None:
        address, sent_ms = random.random() * share, time_ms
        if layout == "raid10":
            first = random.randrange(drives // 2) * 2
            pair = group[first : first + 2]
        else:
            pair = random.sample(group, 2)
        places = [(drive, random.random()) for drive in pair]

        def done() -> None:
            finished(sent_ms)

        if layout == "raid5" and writes:
            send(places, address, False, lambda: send(places, address, True, done))
        elif writes:
            send(places, address, True, done)
        elif layout == "raid10":
            send([min(places, key=lambda place: away(place[0], address))], address, False, done)
        else:
            send(places[:1], address, False, done)

    for _ in range(outstanding):
        begin()
    while len(took_ms) < ios:
        time_ms, _, then = heapq.heappop(events)
        then()
    return Found((ios - ios // 3) / (time_ms - began_ms) * 1e3, pstdev(took_ms[ios // 3 :]))
