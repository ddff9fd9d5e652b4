"""Every I/O that reaches a block device, as the kernel's tracepoints tell (Documentation/trace/events.rst).

One instrument for all engines. An instance of its own, so that nobody else's tracing is disturbed.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

_SECTOR_BYTES = 512
_QUEUED = re.compile(r"-(?P<pid>\d+)\s+\[\d+\].*?: block_bio_queue: \d+,\d+ (?P<rwbs>[RW]\w*) (?P<place>\d+ \+ \d+)")
_DONE = re.compile(r": block_rq_complete: \d+,\d+ [RW]\w* \(.*?\) (?P<place>\d+ \+ \d+)")
_EVENTS = ("block_bio_queue", "block_rq_complete")
_BUFFER_KIB = 24 * 1024


@dataclass(frozen=True)
class Io:
    """One that was submitted, by which thread."""

    thread: int
    reads: bool
    offset: int
    size: int


@dataclass
class Traced:
    """What was seen in order of submission, and the most bytes that were in flight at a time.

    Bytes, as the kernel may merge neighbours to one request.
    """

    ios: list[Io] = field(default_factory=list)
    most_bytes_in_flight: int = 0
    forget: Callable[[], object] = lambda: None
    """Drops what was seen so far; while it watches."""

    @property
    def read_share(self) -> float:
        """Of the transfers."""
        return sum(io.reads for io in self.ios) / len(self.ios)

    def sizes(self, *, reads: bool) -> dict[int, float]:
        """The share of each size in a direction."""
        counts = Counter(io.size for io in self.ios if io.reads is reads)
        return {size: count / counts.total() for size, count in counts.items()}

    def random_share(self, *, by_direction: bool) -> float:
        """Transfers that do not go on where the thread's previous one (of the same direction) ended.

        A gap smaller than the transfer is none: a transfer that goes on may have to be aligned to its size.
        """
        ends: dict[tuple[int, bool], int] = {}
        jumps = 0
        for io in self.ios:
            key = io.thread, io.reads and by_direction
            jumps += key in ends and not 0 <= io.offset - ends[key] < io.size
            ends[key] = io.offset + io.size
        return jumps / (len(self.ios) - len(ends))

    def alignment(self) -> int:
        """The greatest power of two, up to 1 MiB, that all offsets are multiples of."""
        together = 1 << 20
        for io in self.ios:
            together |= io.offset
        return together & -together


@contextmanager
def tracing(device: Path) -> Iterator[Traced]:
    """Watches a device within the block; what was seen is there after it. Skips where the kernel cannot trace."""
    seen = Traced()
    with ExitStack() as stack:
        instance = _instance(stack)
        number = device.stat().st_rdev
        (instance / "buffer_size_kb").write_text(str(_BUFFER_KIB))
        for event in _EVENTS:
            folder = instance / "events" / "block" / event
            (folder / "filter").write_text(f"dev == {os.major(number) << 20 | os.minor(number)}")
            (folder / "enable").write_text("1")
        seen.forget = lambda: (instance / "trace").write_text("")
        yield seen
        (instance / "tracing_on").write_text("0")
        _read((instance / "trace").read_text().splitlines(), seen)


def _instance(stack: ExitStack) -> Path:
    root = Path("/sys/kernel/tracing")
    if not (root / "instances").is_dir():
        done = subprocess.run(["mount", "-t", "tracefs", "nodev", str(root)], capture_output=True, check=False)
        if done.returncode != 0:
            pytest.skip("no tracefs")
        # Another run of these tests may use it meanwhile, which takes it down then.
        stack.callback(subprocess.run, ["umount", str(root)], capture_output=True, check=False)
    instance = root / "instances" / f"storscope-test-{os.getpid()}"
    try:
        instance.mkdir()
    except OSError as error:
        pytest.skip(f"no tracing: {error}")
    stack.callback(instance.rmdir)
    if not (instance / "events" / "block" / "block_bio_queue").is_dir():
        pytest.skip("the kernel traces no block I/O")
    return instance


def _read(lines: Sequence[str], seen: Traced) -> None:
    flying = 0
    for line in lines:
        assert "LOST" not in line, "more events than the buffer holds"
        if (done := _DONE.search(line)) is not None:
            flying = max(0, flying - _place(done)[1])
        elif (queued := _QUEUED.search(line)) is not None:
            offset, size = _place(queued)
            flying += size
            seen.most_bytes_in_flight = max(seen.most_bytes_in_flight, flying)
            seen.ios.append(Io(int(queued["pid"]), queued["rwbs"].startswith("R"), offset, size))


def _place(found: re.Match[str]) -> tuple[int, int]:
    """Offset and size in bytes."""
    sector, sectors = found["place"].split(" + ")
    return int(sector) * _SECTOR_BYTES, int(sectors) * _SECTOR_BYTES
