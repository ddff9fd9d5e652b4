"""One job of a fio job file as a stream: direction, lines, data.

fio draws the direction of each I/O and then its size from that direction's split, so a line is made for each size, with
the share of reads that follows. What is asked for differently here is noted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from storscope.bench.workloads._fio_asked import direction_with_rate, load_of, pauses_of
from storscope.bench.workloads._fio_data import duplicate_block_of
from storscope.bench.workloads._fio_flush import flush_of
from storscope.bench.workloads._fio_given import GivenOptions
from storscope.bench.workloads._fio_options import OTHER_ENGINES
from storscope.bench.workloads._fio_places import offsets_of, places_of
from storscope.bench.workloads._fio_sizes import least_size_of, sizes_of
from storscope.bench.workloads._fio_text import Section, integer_of, size_of
from storscope.bench.workloads.loss import LossList
from storscope.domain.units import format_bytes
from storscope.domain.workload import MOST_WORKERS, AccessSpec, DataPool, Mix, Stream

_DIRECTIONS = {
    "read": (True, False, False), "write": (False, True, False), "rw": (True, True, False),
    "readwrite": (True, True, False), "randread": (True, False, True), "randwrite": (False, True, True),
    "randrw": (True, True, True),
}  # fmt: skip
"""rw -> whether it reads, writes, is random."""


@dataclass(frozen=True)
class _Side:
    """What the reads, or the writes, of a job look like: sizes with shares, share of random ones, and their alignment:
    0 where none is random, since fio aligns no others."""

    sizes: tuple[tuple[int, float], ...]
    random_share: float
    align_bytes: int

    @property
    def unit_bytes(self) -> list[int]:
        """What its transfers begin and end at multiples of has no other divisors than these have in common."""
        return [self.align_bytes, *(size for size, _ in self.sizes)]


class JobReader(GivenOptions):
    """A job as a stream, with what all jobs of a workload have to share."""

    def __init__(self, section: Section, where: str, losses: LossList, target_sizes: Sequence[int] = ()) -> None:
        super().__init__(section, where, losses, target_sizes)
        self.used |= {"rw", "filename", "stonewall", "wait_for_previous", "runtime", "ramp_time"}
        kind, _, self.modifier = self.text("rw", "read").partition(":")
        self.is_supported = kind in _DIRECTIONS
        if not self.is_supported:
            if not re.fullmatch("(rand)?trim(write)?|trimwrite|randtrimwrite", kind):
                self.fail(self.options["rw"], "one of " + ", ".join(_DIRECTIONS))
            self.losses.lost(self.options["rw"].where, f"rw={kind}", "the job is left out: a workload does not trim")
            kind = "read"
        engine = self.options.get("ioengine")
        if engine is not None and engine.value.strip() in OTHER_ENGINES:
            self.is_supported = False
            does = OTHER_ENGINES[engine.value.strip()]
            self.losses.lost(engine.where, engine.text, f"the job is left out: this engine {does}")
        self.reads, self.writes, self.random = _DIRECTIONS[kind]
        if self.writes and self.flag("verify_only"):
            self.is_supported = False
            option = self.options["verify_only"]
            reason = "the job is left out: fio writes nothing then, and checks what an earlier job of its own wrote"
            self.losses.lost(option.where, option.text, reason)
        self.duration_ns = self.time("runtime", None, "s")
        self.ramp_ns = self.time("ramp_time", None, "s")
        self.numjobs = self.count("numjobs", 1, MOST_WORKERS)

    def streams(self, targets: tuple[int, ...]) -> list[Stream]:
        """The job as a stream; as two if only its reads, or only its writes, have a rate."""
        share = self._read_share()
        rated = direction_with_rate(self, share)
        if rated is None:
            return [self._stream(self.name, share, targets)]
        self.note(
            "rate_iops" if "rate_iops" in self.options else "rate",
            f"only the {rated} have a rate, the others take what is left of fio's queue; here they are two streams, "
            "each with a queue of its own",
        )
        return [self._stream(f"{self.name} reads", 1.0, targets), self._stream(f"{self.name} writes", 0.0, targets)]

    def _stream(self, name: str, share: float, targets: tuple[int, ...]) -> Stream:
        load, read_share = load_of(self, share, self.numjobs)
        if not self.filenames and self.numjobs > 1:
            self.note("numjobs", "each fio job has a file of its own; workers share the targets")
        region, starts = places_of(self, self.numjobs)
        think_time, delay_ns, burst = pauses_of(self, load)
        lines = self._lines(read_share, delay_ns, burst)
        if burst > 1 and len(lines) > 1:
            self.note("thinktime_blocks", "fio draws size and direction of each I/O anew; here a burst is of one line")
        return Stream(
            name=name,
            access=Mix(lines),
            load=load,
            think_time=think_time,
            flush=flush_of(self, load) if read_share < 1 else None,
            offsets=offsets_of(self),
            region=region,
            targets=targets,
            workers=self.numjobs,
            starts=starts,
        )

    def _read_share(self) -> float:
        if not (self.reads and self.writes):
            return 1.0 if self.reads else 0.0
        share = self.number("rwmixread", 50)
        if "rwmixwrite" in self.options:
            option, written = self.options["rwmixwrite"], 100 - self.number("rwmixwrite", 50)
            later = "rwmixread" not in self.options or option.line > self.options["rwmixread"].line
            share = written if later else share
        if not 0 <= share <= 100:
            self.fail(self.options.get("rwmixread") or self.options["rwmixwrite"], "0 to 100 per cent")
        return share / 100

    def _lines(self, read_share: float, delay_ns: int, burst: int) -> tuple[AccessSpec, ...]:
        """A line for each size, randomness and alignment, with the share of reads among its transfers."""
        weights: dict[tuple[int, float, int], list[float]] = {}
        shares = {direction: share for direction, share in ((0, read_share), (1, 1 - read_share)) if share > 0}
        sides = {direction: self._side(direction) for direction in shares}
        contiguous = math.gcd(*(unit for side in sides.values() for unit in side.unit_bytes))
        for direction, side in sides.items():
            align = side.align_bytes or contiguous
            if 0 < side.random_share < 1 and align != contiguous:
                self.note("percentage_random", f"what is not random goes on at multiples of {align}; fio leaves no gap")
            for size, part in side.sizes:
                if part > 0:
                    key = (size, side.random_share, 0 if align == size else align)
                    weights.setdefault(key, [0.0, 0.0])[direction] += part * shares[direction]
        if 0 < read_share < 1 and any(random_share < 1 for _, random_share, _ in weights):
            self.note("rw", "fio's reads and writes each have a sequential position; here they share one")
        return tuple(
            AccessSpec(
                size_bytes=size,
                share=round(reads + writes, 12),
                read_share=round(reads / (reads + writes), 12),
                random_share=random_share,
                delay_ns=delay_ns,
                burst=burst,
                align_bytes=align,
            )
            for (size, random_share, align), (reads, writes) in weights.items()
        )

    def _side(self, direction: int) -> _Side:
        sizes, random_share = sizes_of(self, direction), self._random_share(direction)
        if not random_share:
            return _Side(sizes, random_share, 0)
        option, *parts = self.pair("blockalign")
        align = size_of(option, parts[direction], self.where, self.kb_base) if option and parts[direction] else 0
        return _Side(sizes, random_share, align or least_size_of(self, direction))

    def _random_share(self, direction: int) -> float:
        if not self.random:
            if self.modifier:
                self.note("rw", "holes between sequential transfers are left out")
            if "percentage_random" in self.options:
                self.note("percentage_random", "without effect in fio too: rw is sequential")
            self.take("percentage_random")
            return 0.0
        option, *parts = self.pair("percentage_random")
        share = integer_of(option, parts[direction], self.where, 100) / 100 if option and parts[direction] else 1.0
        if self.modifier.isdigit() and int(self.modifier) > 1:
            self.note("rw", "a new random offset every n transfers; here with that probability")
            share /= int(self.modifier)
        if not self.flag("norandommap") and self.text("random_distribution", "random") == "random":
            self.note("norandommap", "fio visits each block once before any a second time; here offsets repeat")
        return share

    # Data -----------------------------------------------------------------------------------------------------------

    def data(self) -> DataPool:
        """What it writes."""
        compressible = self._percent("buffer_compress_percentage")
        if self.flag("zero_buffers"):
            self.note("zero_buffers", "zeros with a stamp in each block: as compressible, not equal")
            compressible = 1.0
        duplicates = self._percent("dedupe_percentage")
        if not duplicates:
            return DataPool(compressible_ratio=compressible)
        sizes = {size for size, part in sizes_of(self, 1) if part > 0}
        block = duplicate_block_of(sizes)
        if sizes != {block}:
            self.note(
                "dedupe_percentage", f"fio repeats whole transfers; here blocks of {format_bytes(block)} are repeated"
            )
        return DataPool(compressible, duplicates, duplicate_block_bytes=block)

    def _percent(self, name: str) -> float:
        option = self.take(name)
        return 0.0 if option is None else integer_of(option, option.value, self.where, 100) / 100

    @property
    def verifies(self) -> bool:
        """Whether it asks for a check of what it reads. A pattern alone is one, too (fio 3.33 reads all of it back)."""
        return self.text(self.verified_by, "0") not in {"0", "null"}

    @property
    def verified_by(self) -> str:
        """The option that asks for a check, if any does."""
        return "verify_pattern" if "verify" not in self.options and "verify_pattern" in self.options else "verify"

    def note_verification(self) -> None:
        """Says how the check that it asks for is done here, and remembers whether it is."""
        reason, name = "fio reads back what it wrote; here each read checks the stamp of its blocks", self.verified_by
        self.checks_reads = self.reads
        if not self.only_writes:
            self.note(name, reason)
        elif "do_verify" not in self.options or self.flag("do_verify"):
            option = self.options[name]
            self.losses.lost(option.where, option.text, f"{reason}, and this job has no reads")
        else:
            self.note(name, "fio puts a mark into each block, for a later job to check; here each block has a stamp")

    @property
    def flow(self) -> int:
        """Its weight among jobs that share their progress; 0 without."""
        return self.number("flow", 0)

    @property
    def flow_key(self) -> str:
        """Jobs with the same key share their progress; empty without flow."""
        key = f"flow {self.number('flow_id', 0)}" if self.flow else ""
        self.take("flow_sleep")
        return key
