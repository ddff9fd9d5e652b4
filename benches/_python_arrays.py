"""The same RAID 10 as a user would model it in Python: with heapq by hand, and with SimPy.

46 drives in 23 mirror pairs, closed loop, random 4 KiB with two thirds reads, first come first served at each drive.
Service time: overhead, a seek that grows with the square root of the distance, half a turn on average, as uniform
draws. Reads go to the mirrors in turn. No cache, no controller, no statistics beyond a mean: this is the least that
such a model does.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import simpy

DRIVES = 46
OUTSTANDING = 128
READ_SHARE = 0.67
_OVERHEAD_MS = 0.3
_SEEK_A_MS, _SEEK_B_MS = 1.0, 13.0
_REVOLUTION_MS = 8.333


@dataclass(frozen=True)
class Done:
    """What a model did: in simulated seconds."""

    host_ios: int
    drive_ios: int
    simulated_s: float


def _service_ms(draw: random.Random, position: list[float], drive: int, place: float) -> float:
    distance = abs(place - position[drive])
    position[drive] = place
    seek = 0.0 if distance == 0.0 else _SEEK_A_MS + _SEEK_B_MS * distance**0.5
    return _OVERHEAD_MS + seek + _REVOLUTION_MS * draw.random()


def with_heapq(host_ios: int, seed: int = 1) -> Done:
    """Event list, queues and joins by hand."""
    draw = random.Random(seed)
    queues: list[deque[tuple[int, float]]] = [deque() for _ in range(DRIVES)]
    busy, position, turn = [False] * DRIVES, [0.5] * DRIVES, [0] * (DRIVES // 2)
    events: list[tuple[float, int, int]] = []
    parts_left = [0] * OUTSTANDING
    now, done, drive_ios = 0.0, 0, 0

    def start(drive: int, now: float) -> None:
        token, place = queues[drive].popleft()
        busy[drive] = True
        heapq.heappush(events, (now + _service_ms(draw, position, drive, place), drive, token))

    def send(drive: int, token: int, place: float, now: float) -> None:
        queues[drive].append((token, place))
        if not busy[drive]:
            start(drive, now)

    def issue(token: int, now: float) -> None:
        pair, place = draw.randrange(DRIVES // 2), draw.random()
        if draw.random() < READ_SHARE:
            parts_left[token], turn[pair] = 1, turn[pair] ^ 1
            send(2 * pair + turn[pair], token, place, now)
        else:
            parts_left[token] = 2
            send(2 * pair, token, place, now)
            send(2 * pair + 1, token, place, now)

    for token in range(OUTSTANDING):
        issue(token, 0.0)
    while done < host_ios:
        now, drive, token = heapq.heappop(events)
        drive_ios += 1
        busy[drive] = False
        if queues[drive]:
            start(drive, now)
        parts_left[token] -= 1
        if parts_left[token] == 0:
            done += 1
            issue(token, now)
    return Done(done, drive_ios, now / 1000)


def with_simpy(host_ios: int, seed: int = 1) -> Done:
    """Processes and resources of SimPy."""
    draw = random.Random(seed)
    environment = simpy.Environment()
    drives = [simpy.Resource(environment) for _ in range(DRIVES)]
    position, turn = [0.5] * DRIVES, [0] * (DRIVES // 2)
    counts = {"host": 0, "drive": 0}
    finished = environment.event()

    def access(drive: int, place: float) -> Generator[Any, Any, None]:
        with drives[drive].request() as place_in_queue:
            yield place_in_queue
            yield environment.timeout(_service_ms(draw, position, drive, place))
        counts["drive"] += 1

    def client() -> Generator[Any, Any, None]:
        while True:
            pair, place = draw.randrange(DRIVES // 2), draw.random()
            if draw.random() < READ_SHARE:
                turn[pair] ^= 1
                yield from access(2 * pair + turn[pair], place)
            else:
                both = [environment.process(access(2 * pair + mirror, place)) for mirror in (0, 1)]
                yield environment.all_of(both)
            counts["host"] += 1
            if counts["host"] == host_ios:
                finished.succeed()

    for _ in range(OUTSTANDING):
        environment.process(client())
    environment.run(until=finished)
    return Done(counts["host"], counts["drive"], float(environment.now) / 1000)
