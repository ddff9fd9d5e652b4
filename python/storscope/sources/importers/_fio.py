"""What the JSON and the text form of fio share: what a job was configured to do, what it did, and how that is written.

Meanings are those of fio(1) 3.36 and of fio's `stat.c`, `stat.h` and `options.c` (2.1 to 3.42). Of an I/O's three
times the total one (`lat`, from issue to completion) is taken as its latency: only that one, times the rate, gives the
number in flight. Beware: before 3.0 fio's clock counted whole microseconds.
"""

from __future__ import annotations

import errno
import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from storscope.domain import flush, units
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.sources.importer import ImportOptions

DEFAULT_SYSTEM = "fio-host"
"""fio names its host in client/server mode only."""

DIRECTIONS = ("read", "write", "trim", "sync", "mixed")
"""Sections of a job. `mixed` stands for all of them with unified_rw_reporting."""

SYNCHRONOUS_ENGINES = frozenset(
    {
        "sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "cpuio", "splice", "falloc", "e4defrag", "ftruncate",
        "filecreate", "fileoperations", "filestat", "filedelete", "dircreate", "dirstat", "dirdelete", "dev-dax",
        "libpmem", "pmemblk", "mtd", "http", "libhdfs", "exec",
    }
)  # fmt: skip
"""Engines marked FIO_SYNCIO in fio's `engines/`: one I/O in flight a job, whatever `iodepth` says."""

DISK_TOTALS = {
    "read_ios": "", "write_ios": "", "read_sectors": "sectors", "write_sectors": "sectors", "read_merges": "",
    "write_merges": "", "read_ticks": "ms", "write_ticks": "ms", "in_queue": "ms", "util": "%", "aggr_read_ios": "",
    "aggr_write_ios": "", "aggr_read_merges": "", "aggr_write_merge": "", "aggr_write_merges": "",
    "aggr_read_sectors": "sectors", "aggr_write_sectors": "sectors", "aggr_read_ticks": "ms",
    "aggr_write_ticks": "ms", "aggr_in_queue": "ms", "aggr_util": "%",
}  # fmt: skip
"""Fields of disk_util and their units. `aggr_` is the mean over the devices beneath a stacked one."""

_LONGEST_MS = 10 * 366 * 86_400_000.0
_DEFAULT_BLOCK_BYTES = 4096
_DEFAULT_READ_PERCENT = 50.0
_MIX_TOLERANCE = 0.03
"""Difference of two shares of reads up to which they are one mix (compare/same_load.py)."""
_MIX_DEVIATIONS = 3.0
"""fio draws each I/O's direction: a share of few of them is off by chance."""


_FEWEST_OPS = 10
"""Of fewer a mean tells nothing, as with our own figures (bench/settling.py)."""
_LEAST_RUN = 0.05
_MS_OF_UNIT = {"us": 1e-3, "ms": 1.0, "": 1e3, "s": 1e3, "m": 60e3, "h": 3600e3, "d": 86_400e3}


@dataclass(frozen=True)
class Configured:
    """What a job's options ask for; None where they do not say."""

    block_bytes: float | None = None
    read_ratio: float | None = None
    random_ratio: float | None = None
    depth: float | None = None
    jobs: int = 1


@dataclass(frozen=True)
class Direction:
    """What a job did in one direction, from its start: counts, and the total latency in ns."""

    ops: float | None = None
    size_bytes: float | None = None
    runtime_ms: float | None = None
    latency_ns_mean: float | None = None
    latency_ns_max: float | None = None
    timed: float | None = None
    """How many I/Os the mean is of. Slightly fewer than `ops` while some are in flight."""

    def in_ns(self, ns_of_unit: float) -> Direction:
        """With latencies that were in another unit."""
        mean, most = (
            None if value is None else value * ns_of_unit for value in (self.latency_ns_mean, self.latency_ns_max)
        )
        return replace(self, latency_ns_mean=mean, latency_ns_max=most)

    def since(self, before: Direction) -> Direction:
        """What was added after `before`, an earlier state of the same job."""
        timed = _minus(self.timed, before.timed)
        return Direction(
            ops=_minus(self.ops, before.ops),
            size_bytes=_minus(self.size_bytes, before.size_bytes),
            runtime_ms=_minus(self.runtime_ms, before.runtime_ms),
            latency_ns_mean=self._mean_since(before, timed),
            # The greatest latency of the later part is known only where it exceeds that of the earlier part.
            latency_ns_max=self.latency_ns_max if (self.latency_ns_max or 0) > (before.latency_ns_max or 0) else None,
            timed=timed,
        )

    def _mean_since(self, before: Direction, timed: float | None) -> float | None:
        if self.latency_ns_mean is None or not timed or timed <= 0:
            return None
        earlier = (before.latency_ns_mean or 0.0) * (before.timed or 0.0)
        mean = (self.latency_ns_mean * (self.timed or 0.0) - earlier) / timed
        return mean if mean > 0 else None


def _minus(later: float | None, earlier: float | None) -> float | None:
    return None if later is None else later - (earlier or 0.0)


def runtime_ms(directions: Mapping[str, Direction]) -> float:
    """How long the job ran: the longest of its directions."""
    return max((direction.runtime_ms or 0.0 for direction in directions.values()), default=0.0)


# Options ---------------------------------------------------------------------------------------------------------


def configured(options: Mapping[str, str], done: Mapping[str, Direction] | None = None) -> Configured:
    """What the options ask for, with fio's defaults. An empty mapping (fio before 2.3) says nothing at all.

    Of a mix the share of reads is the one that was done, where that is another one: `rate_iops` of each direction, for
    one, counts more than `rwmixread`.
    """
    if not options:
        return Configured()
    pattern = (options.get("rw") or options.get("readwrite") or "read").split(":")[0]
    read_ratio = _read_ratio(pattern, options)
    other_mix = mix_done(read_ratio, done or {})
    read_ratio = read_ratio if other_mix is None else other_mix
    return Configured(
        block_bytes=_block_bytes(options, read_ratio),
        read_ratio=read_ratio,
        random_ratio=_random_ratio(pattern, options, read_ratio),
        depth=_depth(options),
        jobs=int(number(options.get("numjobs")) or 1),
    )


def _read_ratio(pattern: str, options: Mapping[str, str]) -> float | None:
    if pattern in ("read", "randread"):
        return 1.0
    if pattern in ("write", "randwrite"):
        return 0.0
    if pattern not in ("rw", "readwrite", "randrw"):
        return None
    written = number(options.get("rwmixwrite"))
    default = _DEFAULT_READ_PERCENT if written is None else 100.0 - written
    percent = number(options.get("rwmixread"))
    return units.ratio_from_percent(default if percent is None else percent)


def mix_done(asked: float | None, done: Mapping[str, Direction]) -> float | None:
    """The share of reads that was done of a mix, where it is not the one that was asked for; else None."""
    reads, writes = (done.get(name, Direction()).ops or 0.0 for name in ("read", "write"))
    if asked is None or not 0 < asked < 1 or not reads + writes:
        return None
    by_chance = _MIX_DEVIATIONS * math.sqrt(asked * (1 - asked) / (reads + writes))
    found = reads / (reads + writes)
    return found if abs(found - asked) > max(_MIX_TOLERANCE, by_chance) else None


def _random_ratio(pattern: str, options: Mapping[str, str], read_ratio: float | None) -> float | None:
    if not pattern.startswith("rand"):
        return 0.0 if pattern in ("read", "write", "rw", "readwrite", "trim") else None
    percents = [number(part) for part in (options.get("percentage_random") or "100").split(",")]
    return _of_both([None if percent is None else percent / 100 for percent in percents], read_ratio)


def _block_bytes(options: Mapping[str, str], read_ratio: float | None) -> float | None:
    """The mean configured size; None for ranges and splits, of which only the result tells the mean."""
    if any(options.get(name) for name in ("bsrange", "blocksize_range", "bssplit")):
        return None
    text = options.get("bs") or options.get("blocksize")
    if not text:
        return float(_DEFAULT_BLOCK_BYTES)
    return _of_both([size_bytes(part) for part in text.split(",")], read_ratio)


def _of_both(values: Sequence[float | None], read_ratio: float | None) -> float | None:
    """fio's 'reads[,writes[,trims]]': one value, or the mean by the share of reads. Later ones default to the first."""
    read = values[0]
    write = values[1] if len(values) > 1 and values[1] is not None else read
    if read is None or write is None:
        return None
    if read == write:
        return read
    return None if read_ratio is None else read * read_ratio + write * (1 - read_ratio)


def _depth(options: Mapping[str, str]) -> float | None:
    if options.get("ioengine", "").split(":")[0] in SYNCHRONOUS_ENGINES:
        return 1.0
    return number(options.get("iodepth")) or 1.0


def size_bytes(text: str) -> float | None:
    """A size in an option; None for what is no plain size (an expression, a percentage)."""
    try:
        return float(units.bytes_from_text(text))
    except (ValueError, OverflowError):
        return None


def number(value: object) -> float | None:
    """A finite number of a JSON value or a text; None for anything else, however hostile."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def little_done(label: str, directions: Iterable[Direction], ran_ms: float, options: Mapping[str, str]) -> str:
    """What is said of a job that hardly ran, and that fio reports as if all was well; empty of any other.

    It did fewer than ten operations, or a time_based one ended before a twentieth of its `runtime` (ours). So fio 3.33
    ends some jobs after milliseconds, without an error. An operation that fio does not count is none of them.
    """
    ops = [direction.ops for direction in directions]
    done, asked_ms = sum(count or 0.0 for count in ops), time_ms(options.get("runtime"))
    ran = f" in {units.format_span(round(ran_ms * units.NS_PER_MS))}" if ran_ms else ""
    is_cut = "time_based" in options and options["time_based"] != "0" and ran_ms < _LEAST_RUN * (asked_ms or 0.0)
    if None in ops or (done >= _FEWEST_OPS and not is_cut):
        return ""
    wanted = f", of {units.format_span(round(asked_ms * units.NS_PER_MS))} that were asked for" if asked_ms else ""
    if not done:
        return f"{label}: fio did no I/O{ran}{wanted}, and told no error: nothing was measured."
    ios = "1 I/O" if done == 1 else f"{units.format_count(round(done))} I/Os"
    return f"{label}: fio did {ios}{ran}{wanted}, and told no error: next to nothing was measured."


def time_ms(option: str | None) -> float | None:
    """A time as fio's options have it: '30', '500ms', '2m'; without a unit seconds. None of what is no time."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([a-z]*)", (option or "").strip().lower())
    if found is None or found[2] not in _MS_OF_UNIT:
        return None
    return float(found[1]) * _MS_OF_UNIT[found[2]]


def status_words(error: float | None) -> str:
    """The run's status: 'ok', or the error with its name where the system has one."""
    if not error:
        return "ok"
    name = errno.errorcode.get(int(error))
    return f"error {int(error)}" + (f" ({name})" if name else "")


def version_below(version: str | None, *parts: int) -> bool | None:
    """Whether 'fio-2.20-12-gabc' is older than `parts`; None when the version cannot be read."""
    match = re.match(r"(?:fio[- ])?(\d+(?:\.\d+)*)", version or "")
    return None if match is None else tuple(int(part) for part in match[1].split(".")) < parts


# Times -----------------------------------------------------------------------------------------------------------


def epoch_ms(value: object) -> float | None:
    """An instant in ms since 1970 as a file gives it; None where it is none of this or the next decades."""
    found = number(value)
    return found if found is not None and 0 < found < 4e12 else None


def bounded_ms(value: object) -> float | None:
    """A runtime in ms, cut to what no run exceeds: a damaged number must not overflow a time."""
    found = number(value)
    return None if found is None else min(max(found, 0.0), _LONGEST_MS)


def instant_ns(epoch_ms: float) -> int:
    """An instant in ms since 1970 as ns, exact to the microsecond (a float of ns since 1970 is not)."""
    return round(epoch_ms * 1000) * units.NS_PER_US


def phase_ends_ms(end_ms: float, groups: Sequence[tuple[int, float]], elapsed_s: float | None) -> dict[int, float]:
    """When each group of jobs ended, from (group, runtime in ms) of every job and the end of the last.

    A `stonewall` opens a new group and starts it when the one before has ended; fio's output does not show the option,
    so groups count as sequential when their runtimes fit one after the other into the elapsed time (rounded up to
    whole seconds), or when that is unknown.
    """
    longest: dict[int, float] = {}
    for group, runtime in groups:
        longest[group] = max(longest.get(group, 0.0), runtime)
    if elapsed_s is not None and sum(longest.values()) > elapsed_s * 1000:
        return dict.fromkeys(longest, end_ms)
    order = sorted(longest, reverse=True)
    later = itertools.accumulate([0.0, *(longest[group] for group in order[:-1])])
    return {group: end_ms - after for group, after in zip(order, later, strict=True)}


def intervals(
    history: Sequence[Mapping[str, Direction]], start_ns: int
) -> Iterator[tuple[int, int, int, dict[str, Direction]]]:
    """What each cumulative state of a job adds to the one before: (its index, start, length, what was done).

    States that got no further in time are passed over.
    """
    before: Mapping[str, Direction] = {}
    done_ms = 0.0
    for index, directions in enumerate(history):
        reached_ms = runtime_ms(directions)
        if reached_ms <= done_ms:
            continue
        begin_ns = start_ns + round(done_ms * units.NS_PER_MS)
        length_ns = start_ns + round(reached_ms * units.NS_PER_MS) - begin_ns
        added = {name: part.since(before.get(name, Direction())) for name, part in directions.items()}
        yield index, begin_ns, length_ns, added
        done_ms, before = reached_ms, directions


def grew(later: Mapping[str, Direction], earlier: Mapping[str, Direction]) -> bool:
    """Whether no count of `earlier` is greater than that of `later`."""
    return all(
        name in later
        and (later[name].ops or 0) >= (then.ops or 0)
        and (later[name].size_bytes or 0) >= (then.size_bytes or 0)
        and (later[name].runtime_ms or 0) >= (then.runtime_ms or 0)
        for name, then in earlier.items()
    )


# Names -----------------------------------------------------------------------------------------------------------


@dataclass
class Names:
    """Unique run names within a capture."""

    given: Counter[str] = field(default_factory=Counter)

    def run(self, name: str) -> str:
        """`name`, or 'name (2)' when it has been given before."""
        self.given[name] += 1
        return name if self.given[name] == 1 else self.run(f"{name} ({self.given[name]})")


def clone_names(names: Iterable[str]) -> list[str]:
    """Jobs of one name (numjobs without group_reporting) numbered: 'a', 'b #1', 'b #2'."""
    listed = list(names)
    total, seen = Counter(listed), Counter[str]()
    numbered = []
    for name in listed:
        seen[name] += 1
        numbered.append(f"{name} #{seen[name]}" if total[name] > 1 else name)
    return numbered


def system_of(options: ImportOptions, host: str | None = None) -> str:
    """The host: as the user says, as fio says, or a placeholder."""
    return options.system or host or DEFAULT_SYSTEM


# Writing ---------------------------------------------------------------------------------------------------------


def observe_directions(
    recorder: Recorder,
    job: EntityRef,
    start_ns: int,
    duration_ns: int,
    directions: Mapping[str, Direction],
    *,
    run: str,
) -> None:
    """One observation of what was done within the interval. Rates are counts over it, so rate x time = count."""
    if duration_ns <= 0:
        return
    seconds = duration_ns / units.NS_PER_S
    values: dict[str, float | None] = {}
    for name in ("read", "write"):
        if name in directions:
            values |= _rates(f"{name}_", directions[name], seconds)
    others = [directions[name] for name in ("trim", "sync") if name in directions and directions[name].ops]
    if "mixed" in directions and not {"read", "write"} & set(directions):
        values |= _rates("", directions["mixed"], seconds)
    elif others:
        # Trims and syncs have no columns of their own; they count among the operations and their mean latency.
        moving = [directions[name] for name in ("read", "write") if name in directions]
        values |= _rates("", _together(moving, others), seconds)
        if (trimmed := directions.get("trim", Direction()).size_bytes) is not None and trimmed > 0:
            recorder.counter(job, start_ns, duration_ns, "trim.bytes_per_s", "B/s", trimmed / seconds, run=run)
    syncs = directions.get("sync", Direction())
    if syncs.ops or syncs.latency_ns_mean:
        per_s = syncs.ops / seconds if syncs.ops else None
        counted = (((flush.RATE, "1/s"), per_s), ((flush.LATENCY, "ns"), syncs.latency_ns_mean))
        recorder.counters(job, start_ns, duration_ns, counted, run=run)
    values["latency_ns_max"] = max(
        (direction.latency_ns_max for direction in directions.values() if direction.latency_ns_max), default=None
    )
    recorder.observe(job, start_ns, duration_ns, values, run=run)


def _rates(prefix: str, direction: Direction, seconds: float) -> dict[str, float | None]:
    return {
        f"{prefix}ops_per_s": None if direction.ops is None else direction.ops / seconds,
        f"{prefix}bytes_per_s": None if direction.size_bytes is None else direction.size_bytes / seconds,
        f"{prefix}latency_ns_mean": None if direction.ops == 0 else direction.latency_ns_mean,
    }


def _together(moving: Sequence[Direction], others: Sequence[Direction]) -> Direction:
    """Operations of every kind, but the bytes of reads and writes alone: a trim of a GiB moves none of it."""
    active = [part for part in (*moving, *others) if part.ops]
    timed = all(part.latency_ns_mean is not None for part in active)
    ops = sum(part.ops or 0.0 for part in active)
    sizes = [part.size_bytes for part in moving if part.size_bytes is not None]
    total_ns = sum((part.ops or 0.0) * (part.latency_ns_mean or 0.0) for part in active)
    return Direction(
        ops=ops, size_bytes=sum(sizes) if sizes else None, latency_ns_mean=total_ns / ops if timed and ops else None
    )


def record_disk(
    recorder: Recorder,
    device: EntityRef,
    start_ns: int,
    duration_ns: int,
    totals: Mapping[str, float | None],
) -> None:
    """A block device beneath the jobs: totals by the JSON's names (`read_ios`, `read_ticks` in ms, `util` in per cent).

    Only ratios become canonical: fio does not print how long it watched the device.
    """
    if not duration_ns:
        return
    busy = totals.get("util")
    values = {f"{way}_latency_ns_mean": _ticks_each(totals, way) for way in ("read", "write")}
    values["busy_ratio"] = None if busy is None else units.ratio_from_percent(busy)
    recorder.observe(device, start_ns, duration_ns, values)
    for name, value in totals.items():
        if name != "util":
            recorder.counter(device, start_ns, duration_ns, name, DISK_TOTALS[name], value)


def _ticks_each(totals: Mapping[str, float | None], way: str) -> float | None:
    """Mean time of an I/O. The kernel counts whole ms, so that a few fast ones may leave nothing to divide."""
    ios, ticks = totals.get(f"{way}_ios"), totals.get(f"{way}_ticks")
    return ticks / ios * units.NS_PER_MS if ios and ticks else None


def link_to_disks(recorder: Recorder, job: EntityRef, devices: Iterable[EntityRef], filename: str | None) -> None:
    """A job lives on the device it names, or on the only one that was watched."""
    known = [device for device in devices if device.system == job.system]
    named = {part.removeprefix("/dev/") for part in (filename or "").split(":")}
    chosen = [device for device in known if device.name in named] or (known if len(known) == 1 else [])
    for device in chosen:
        recorder.link(job, "lives_on", device)
