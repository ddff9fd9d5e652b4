"""fio's terse lines as values: what one job's line says, and which lines are later states of one job.

Cells as in fio's `stat.c` (show_thread_status_terse_all) of 2.2 to 3.42: version 3 has reads and writes, 4 adds trims,
5 adds samples of bandwidth and of IOPS. With unified_rw_reporting one block stands for all, or one is added behind.
Times are whole µs (least, greatest, percentiles: cut, so up to 1 µs too low) or µs with six digits (mean, deviation).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from storscope.domain import units
from storscope.sources.importers import _fio
from storscope.sources.importers._fio import Direction, number

HEADING: Final = re.compile(r"([345]);(fio-\d[^;]{0,80});")
TIMED: Final = ("slat", "clat", "lat")
SHARES: Final = (
    *(f"iodepth_level.{level}" for level in ("1", "2", "4", "8", "16", "32", ">=64")),
    *(f"latency_us.{edge}" for edge in ("2", "4", "10", "20", "50", "100", "250", "500", "750", "1000")),
    *(f"latency_ms.{e}" for e in ("2", "4", "10", "20", "50", "100", "250", "500", "750", "1000", "2000", ">=2000")),
)
"""Shares behind the CPU's cells, by the names that the JSON has for them, in per cent."""
CPU: Final = {"usr_cpu": "%", "sys_cpu": "%", "ctx": "", "majf": "", "minf": ""}
DISK: Final = (
    "read_ios", "write_ios", "read_merges", "write_merges", "read_ticks", "write_ticks", "in_queue", "util",
)  # fmt: skip
_STATISTICS: Final = ("min", "max", "mean", "stddev")
_PERCENTILES: Final = 20
_PERCENTILE: Final = re.compile(r"(\d{1,3}(?:\.\d{1,6})?)%=(\d{1,18})")
_NAN: Final = re.compile(r"-?(?:nan|inf)%?")
_SAMPLES: Final = {
    "bw_min": "KiB/s", "bw_max": "KiB/s", "bw_agg": "%", "bw_mean": "KiB/s", "bw_dev": "KiB/s",
}  # fmt: skip
_MORE_SAMPLES: Final = {
    "bw_samples": "", "iops_min": "1/s", "iops_max": "1/s", "iops_mean": "1/s", "iops_stddev": "1/s",
    "iops_samples": "",
}  # fmt: skip
_BEFORE_PERCENTILES: Final = 4 + 2 * len(_STATISTICS)
_MOST_CELLS: Final = 100_000
"""More than ten thousand disks; a longer line is none of fio's."""
_GREATEST_COUNT: Final = 2.0**62
_PLAIN_WIDTH_BYTES: Final = 16
_PLAIN_SHARE: Final = 0.1
_LATER_MS: Final = 50
"""A later state of a job is at least so much further; processes of one section end closer together."""


class Unreadable(Exception):
    """The line does not have the layout of its version; the argument says where."""


@dataclass(frozen=True)
class Part:
    """One direction's cells."""

    kib: float
    iops: float
    """Whole I/Os per second, cut."""
    runtime_ms: float
    times_us: dict[str, dict[str, float]]
    percentiles_us: tuple[tuple[float, float], ...]
    samples: tuple[tuple[str, str, float], ...]

    @property
    def was_active(self) -> bool:
        """Whether it did anything."""
        return bool(self.kib or self.iops)

    @cached_property
    def plain_block_bytes(self) -> float | None:
        """The size of every I/O, where the rate (cut to whole I/Os per second) leaves but one plain size.

        Plain are powers of two where the rate is known within 10 %, and multiples of 512 where it is known so well
        that by chance one in 32 means of mixed sizes would look so.
        """
        seconds = self.runtime_ms / 1000
        if not self.iops or not seconds or not self.kib:
            return None
        low = units.bytes_from_kib(self.kib) / ((self.iops + 1) * seconds)
        high = (units.bytes_from_kib(self.kib) + units.KIB - 1) / (self.iops * seconds)
        power = 2.0 ** math.floor(math.log2(high))
        if low <= power <= high <= low * (1 + _PLAIN_SHARE):
            return power
        multiple = 512.0 * math.floor(high / 512)
        return multiple if high - low <= _PLAIN_WIDTH_BYTES and low <= multiple else None

    def ops(self, block_bytes: float | None) -> float | None:
        """I/Os. With the size of each: those that were done, exactly; else fewer by up to one for each second.

        None where less than one a second is all there is.
        """
        if block_bytes:
            return float(round(units.bytes_from_kib(self.kib) / block_bytes))
        if not self.iops and self.kib:
            return None
        return self.iops * self.runtime_ms / 1000

    def direction(self, block_bytes: float | None) -> Direction:
        """As the other forms of fio's results have it."""
        times = next((self.times_us[name] for name in ("lat", "clat") if self.times_us[name]["mean"]), {})
        mean, greatest, ops = times.get("mean"), times.get("max"), self.ops(block_bytes)
        return Direction(
            ops=ops, size_bytes=units.bytes_from_kib(self.kib), runtime_ms=self.runtime_ms,
            latency_ns_mean=units.ns_from_us(mean) if mean else None,
            latency_ns_max=units.ns_from_us(greatest) if greatest else None, timed=ops,
        )  # fmt: skip

    def continues(self, before: Part) -> bool:
        """Whether it may be a later state: counts do not shrink, nor does the span of its times."""
        spans = [(self.times_us[name], before.times_us[name]) for name in TIMED if before.times_us[name]["mean"]]
        return (
            self.kib >= before.kib
            and self.runtime_ms >= before.runtime_ms
            and all(now["min"] <= then["min"] and now["max"] >= then["max"] for now, then in spans)
        )


@dataclass(frozen=True)
class Disk:
    """A block device's totals. Of a stacked one `beneath` has the means of the devices below."""

    name: str
    totals: tuple[float, ...]
    beneath: tuple[float, ...] = ()


@dataclass(frozen=True)
class Line:
    """One job's line."""

    version: int
    fio_version: str
    name: str
    group: int
    error: int
    parts: dict[str, Part]
    cpu: tuple[float, ...]
    shares: tuple[float, ...]
    """NaN where fio prints that."""
    disks: tuple[Disk, ...]
    total_errors: float | None
    description: str

    @cached_property
    def directions(self) -> dict[str, Direction]:
        """What was done, by direction. `mixed` beside reads and writes is their sum, and left out."""
        return self.state_of(self)

    def state_of(self, last: Line) -> dict[str, Direction]:
        """What was done until now. The job's last line tells the size of an I/O best: none is in flight any more."""
        blocks = {name: part.plain_block_bytes for name, part in last.parts.items()}
        found = {name: part.direction(blocks[name]) for name, part in self.parts.items()}
        if "read" in found:
            found.pop("mixed", None)
        return found

    @cached_property
    def runtime_ms(self) -> float:
        """How long it ran."""
        return _fio.runtime_ms(self.directions)

    def continues(self, before: Line) -> bool:
        """Whether it is a later state of the same job (--status-interval), not another process of its section."""
        if (self.name, self.group, self.fio_version, self.parts.keys()) != (
            before.name, before.group, before.fio_version, before.parts.keys()
        ):  # fmt: skip
            return False
        if self.parts == before.parts:
            return True
        is_later = self.runtime_ms >= before.runtime_ms + _LATER_MS
        is_same_print = bool(self.disks) and self.disks == before.disks
        return is_later and not is_same_print and all(self.parts[n].continues(part) for n, part in before.parts.items())


# Cells -----------------------------------------------------------------------------------------------------------


def line_of(text: str) -> Line:
    """Parses a line. Raises Unreadable where it has not the layout of its version."""
    match = HEADING.match(text)
    if match is None:
        raise Unreadable("it does not begin with 3, 4 or 5 and fio's version")
    cells = text.split(";", _MOST_CELLS)
    # A job's name may hold semicolons, so the first block is found by its percentiles.
    at = _first_percentile(cells) - _BEFORE_PERCENTILES
    if at < 5:
        raise Unreadable("a block of figures with 20 percentiles is missing")
    version = int(match[1])
    blocks: list[Part] = []
    length = _BEFORE_PERCENTILES + _PERCENTILES + len(_STATISTICS) + len(_SAMPLES) + (version == 5) * len(_MORE_SAMPLES)
    end = at
    while all(_PERCENTILE.fullmatch(cell) for cell in _percentile_cells(cells, end)):
        blocks.append(_part(cells[end : end + length], version))
        end += length
    cpu, shares = _shares(cells[end : end + len(CPU)], len(CPU)), cells[end + len(CPU) :][: len(SHARES)]
    if not all(cell.endswith("%") for cell in shares):
        raise Unreadable("the shares of depths and latencies are not per cent")
    disks, rest = _disks(cells[end + len(CPU) + len(SHARES) :])
    errors = _numbers(rest[:2], 2) if len(rest) >= 2 and all(cell.isdecimal() for cell in rest[:2]) else ()
    return Line(
        version, match[2], ";".join(cells[2 : at - 2]) or "unnamed job", _whole(cells[at - 2]), _whole(cells[at - 1]),
        dict(zip(_names(len(blocks), version), blocks, strict=True)), cpu, _shares(shares, len(SHARES)),
        disks, errors[0] if errors else None, ";".join(rest[len(errors) :]),
    )  # fmt: skip


def _percentile_cells(cells: Sequence[str], at: int) -> Sequence[str]:
    """The cells of a block's percentiles; one that is no percentile where the line is too short."""
    found = cells[at + _BEFORE_PERCENTILES :][:_PERCENTILES]
    return found if len(found) == _PERCENTILES else ("",)


def _first_percentile(cells: Sequence[str]) -> int:
    """Place of the first of 20 percentiles in a row; 0 when there are none."""
    in_row = 0
    for at, cell in enumerate(cells):
        in_row = in_row + 1 if _PERCENTILE.fullmatch(cell) else 0
        if in_row == _PERCENTILES:
            return at - _PERCENTILES + 1
    return 0


def _names(count: int, version: int) -> tuple[str, ...]:
    """Directions of a line with so many blocks."""
    separate = ("read", "write") if version == 3 else ("read", "write", "trim")
    names = {1: ("mixed",), len(separate): separate, len(separate) + 1: (*separate, "mixed")}.get(count)
    if names is None:
        raise Unreadable(f"version {version} does not have {count} blocks of figures")
    return names


def _part(cells: Sequence[str], version: int) -> Part:
    sampled = _SAMPLES | (_MORE_SAMPLES if version == 5 else {})
    kib, _, iops, runtime = _numbers(cells[:4], 4)
    behind = _BEFORE_PERCENTILES + _PERCENTILES
    times = {name: _statistics(cells[at : at + 4]) for name, at in zip(TIMED, (4, 8, behind), strict=True)}
    samples = _shares(cells[behind + 4 :], len(sampled))
    matches = [_PERCENTILE.fullmatch(cell) for cell in cells[_BEFORE_PERCENTILES:behind]]
    return Part(
        kib, iops, _fio.bounded_ms(runtime) or 0.0, times,
        tuple((float(match[1]), float(match[2])) for match in matches if match),
        tuple((name, unit, value) for (name, unit), value in zip(sampled.items(), samples, strict=True)),
    )  # fmt: skip


def _statistics(cells: Sequence[str]) -> dict[str, float]:
    return dict(zip(_STATISTICS, _numbers(cells, 4), strict=True))


def _numbers(cells: Iterable[str], count: int) -> tuple[float, ...]:
    """So many numbers, none negative; those of shares end in a per cent sign."""
    found = [number(cell.removesuffix("%")) for cell in cells]
    known = tuple(value for value in found if value is not None and 0 <= value <= _GREATEST_COUNT)
    if len(known) != count or len(found) != count:
        raise Unreadable(f"{count} numbers were expected in a row of cells")
    return known


def _shares(cells: Sequence[str], count: int) -> tuple[float, ...]:
    """So many numbers, of which fio prints some as nan where it divides by the time of a job that has not begun."""
    plain = [cell for cell in cells if not _NAN.fullmatch(cell)]
    known = iter(_numbers(plain, len(plain)))
    if len(cells) != count:
        raise Unreadable(f"{count} numbers were expected in a row of cells")
    return tuple(math.nan if _NAN.fullmatch(cell) else next(known) for cell in cells)


def _whole(cell: str) -> int:
    if re.fullmatch(r"-?\d{1,9}", cell) is None:
        raise Unreadable("the group or the error is no whole number")
    return int(cell)


def _disks(cells: Sequence[str]) -> tuple[tuple[Disk, ...], Sequence[str]]:
    """The disks at the beginning of `cells`, and what stands behind them."""
    found: list[Disk] = []
    width = 1 + len(DISK)
    while len(cells) >= width and cells[width - 1].endswith("%") and all(c.isdecimal() for c in cells[1 : width - 1]):
        totals = _numbers(cells[1:width], len(DISK))
        if cells[0] == "slaves" and found:
            found[-1] = Disk(found[-1].name, found[-1].totals, totals)
        else:
            found.append(Disk(cells[0].strip() or "unnamed", totals))
        cells = cells[width:]
    return tuple(found), cells
