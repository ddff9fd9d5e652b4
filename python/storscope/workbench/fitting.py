"""From evidence to a drive: which kind of evidence it is, what it shows of one drive, what was fitted and how well.

A trace of single requests goes to the simulator as it is. Everything else is imported like any evidence, and random
requests at several depths are looked for among the runs: storscope's own sweeps, fio's JSON, tables of results.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import Any, Final

from storscope import __version__
from storscope.domain.errors import MalformedInput, UsageError
from storscope.domain.units import MIB, SECTOR_BYTES, format_bandwidth, format_bytes, format_ratio
from storscope.sim.drive_toml import drive_table
from storscope.sim.fitting import (
    DepthGrid,
    FittedDrive,
    Frame,
    class_of,
    curve_drive,
    drive_named,
    fit_grid,
    fit_trace,
)
from storscope.store import Store
from storscope.workbench.depth_grids import grid_of, most_span
from storscope.workbench.full_stroke import assumed_stroke, with_measured_stroke
from storscope.workbench.importing import import_paths
from storscope.workbench.sold_sizes import sold_in_thousands
from storscope.workbench.temporary_stores import folder_for_stores
from storscope.workbench.write_order import order_of_cached_writes

MOST_TRACE_BYTES: Final = 256 * 1024**2
"""Some millions of requests; a fit needs thousands."""
_HELD_BACK: Final = 0.5
_SMALL_BYTES: Final = 64 * 1024
"""Transfer hardly counts in smaller requests beside the positioning: at 100 MB/s they take less than 0.7 ms."""
_CACHED: Final = 1.1
"""Writes that are so many times as fast as reads mean a write cache (crates/storscope-sim/src/drive/fit/depths.rs)."""
_FAR_OFF: Final = 0.25
"""What is off by more on average is not fitted: as numbers are hardly known whose error is as large (docs/fit.md)."""
_NO_TIME_NS: Final = 1_000
"""The least time to program that the fit tries (crates/storscope-sim/src/drive/fit/flash_depths.rs)."""
_HEAD_BYTES: Final = 64 * 1024
_TRACE_LINE: Final = re.compile(rb"[RW]\s+\S+\s+\d+\s+\d+\s")


@dataclass(frozen=True)
class FitOptions:
    """What the evidence does not say."""

    name: str
    like: str | None = None
    """A drive of the catalogue that gives what a grid does not show, and of a trace heads, zones and the inner rate."""
    size_bytes: int | None = None
    turns_per_min: float | None = None
    curve: bool = False
    """Keep a grid as it is, as a measured curve."""
    held_back: float | None = None
    """The share of a trace that judges the fit; None: half of it."""
    only: str | None = None
    block_bytes: int | None = None
    span_ratio: float | None = None


@dataclass(frozen=True)
class FitReport:
    """A fitted drive with what a user needs to judge it."""

    name: str
    evidence: tuple[str, ...]
    like: str | None
    fitted: FittedDrive
    toml: str
    notes: tuple[str, ...]


def is_trace(path: Path) -> bool:
    """Whether a file begins like a trace of single requests. Raises UsageError for what cannot be read."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError as error:
        raise UsageError("a file that can be read", error.strerror or str(error), where=str(path)) from None
    lines = (line.strip() for line in head.splitlines())
    first = next((line for line in lines if line and not line.startswith(b"#")), b"")
    return _TRACE_LINE.match(first) is not None


def fit_drive(evidence: Sequence[Path], store: Store | None, options: FitOptions) -> FitReport:
    """A drive from a trace, from files with results, or, without files, from the runs of a store.

    Raises UsageError, InputError or ConfigError for evidence that does not tell.
    """
    traces = [path for path in evidence if path.is_file() and is_trace(path)]
    if traces and len(evidence) > 1:
        raise UsageError("one trace, or files with results", f"{len(evidence)} files of which {len(traces)} are traces")
    if traces:
        return _from_trace(traces[0], options)
    if not evidence:
        if store is None:
            raise UsageError("evidence: files, or a store with runs", "neither")
        return _from_store(store, (f"the store {store.path}",), options)
    with folder_for_stores() as folder:
        own = Store.open(folder / "store", create=True)
        summary = import_paths(own, list(evidence))
        if summary.failures:
            first = summary.failures[0]
            reason = first.reason.removeprefix(f"{first.name}: ").rstrip(".")
            hint = "A trace of single requests has lines like: R Hit 7563004 4 14368.0 28778.0"
            raise MalformedInput(f"no evidence of a drive: {reason}", where=first.name, hint=hint)
        return _from_store(own, tuple(str(path) for path in evidence), options)


# A trace --------------------------------------------------------------------------------------------------------------


def _from_trace(path: Path, options: FitOptions) -> FitReport:
    if options.curve or options.turns_per_min is not None:
        raise UsageError("throughput by queue depth, for --curve and --turns-per-min", "a trace", where=str(path))
    _refuse_what_a_trace_tells(path, options)
    text = _text_of(path)
    reach = reach_of(text)
    frame = Frame() if options.like is None else Frame.of(drive_named(options.like))
    if options.size_bytes is not None:
        frame = replace(frame, size_bytes=options.size_bytes)
        if options.size_bytes < reach.end_bytes:
            least = f"at least the {reach.end_bytes:,} bytes that the trace reaches"
            raise UsageError(least, f"{options.size_bytes:,}", where="--size")
    is_told = frame.size_bytes >= max(reach.end_bytes, 1)
    if not is_told:
        frame = replace(frame, size_bytes=-(-reach.end_bytes // MIB) * MIB)
    held_back = _HELD_BACK if options.held_back is None else options.held_back
    fitted = fit_trace(text, str(path), frame, held_back=held_back)
    notes = _size_notes(options)
    notes.append("A trace of single requests shows no command queueing, and the drive has none: see `queueing`.")
    if options.like is None:
        notes.append("Assumed, as single requests hardly show them: heads, zones and the inner rate; see --like.")
    if not is_told:
        size = format_bytes(fitted.design["size_bytes"])
        notes.append(
            f"The size is what the trace reaches, rounded up to whole MiB: {size}; say --size to give the drive "
            "its own."
        )
    elif options.size_bytes is None:
        notes.append(f"The size, {format_bytes(fitted.design['size_bytes'])}, is that of `{options.like}`; say --size.")
    if reach.most_bytes < _SMALL_BYTES:
        notes.append(
            f"The largest request has {format_bytes(reach.most_bytes)}: the rates of larger ones, and of sequential "
            f"ones, are extrapolated{_slow_interface(fitted.design)}."
        )
    if fitted.judgement["on_rest"] is None:
        notes.append("Nothing was held back to judge the fit by: see --held-back.")
    return _report(options, (str(path),), options.like, fitted, notes)


def _refuse_what_a_trace_tells(path: Path, options: FitOptions) -> None:
    given = {"--only": options.only, "--block": options.block_bytes, "--span": options.span_ratio}
    names = ", ".join(name for name, value in given.items() if value is not None)
    if names:
        raise UsageError(f"throughput by queue depth, for {names}", "a trace", where=str(path))


def _slow_interface(design: Mapping[str, Any]) -> str:
    """What shows that they are not to be trusted, if it does."""
    interface, outer = design["interface_rate_bytes_per_s"], design["outer_rate_bytes_per_s"]
    if interface >= outer:
        return ""
    return (
        f" (the fitted interface rate, {format_bandwidth(interface)}, is below that of the media, "
        f"{format_bandwidth(outer)}, as no real drive's is)"
    )


@dataclass(frozen=True)
class Reach:
    """What the requests of a trace reach."""

    end_bytes: int
    """The end of the last block asked for, from the start of the drive."""
    most_bytes: int
    """The largest request."""


def reach_of(text: str) -> Reach:
    """Of a trace of single requests. Lines that are none count nothing; the fit refuses them by number."""
    end = most = 0
    for line in text.splitlines():
        fields = line.split()
        if len(fields) > 3 and fields[2].isdecimal() and fields[3].isdecimal():
            first, sectors = int(fields[2]), int(fields[3])
            end, most = max(end, first + sectors), max(most, sectors)
    return Reach(end * SECTOR_BYTES, most * SECTOR_BYTES)


def _text_of(path: Path) -> str:
    with path.open("rb") as file:
        content = file.read(MOST_TRACE_BYTES + 1)
    if len(content) > MOST_TRACE_BYTES:
        raise UsageError(f"a trace of at most {format_bytes(MOST_TRACE_BYTES)}", "a larger one", where=str(path))
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise MalformedInput("text", f"byte {content[error.start]:#04x}", where=f"{path}:{line}") from None


# A grid ---------------------------------------------------------------------------------------------------------------


def _from_store(store: Store, evidence: tuple[str, ...], options: FitOptions) -> FitReport:
    _refuse_what_a_grid_tells(evidence[0], options)
    found = grid_of(store, evidence[0], only=options.only, block_bytes=options.block_bytes)
    notes = [*_size_notes(options), *found.notes]
    like = None if options.curve else options.like or class_of(found.grid)
    if like is not None and options.like is None:
        notes.append(f"Taken for a drive like `{like}` by its rate at the least depth; say --like if it is another.")
    base = _base(found.grid, like, options, notes)
    span_ratio = options.span_ratio if options.span_ratio is not None else most_span(found, base["size_bytes"])
    if span_ratio < 1.0:
        part = f"The first {format_ratio(span_ratio)} of the drive was used"
        notes.append(f"{part}; seeks are fitted to that." if base["kind"] == "mechanical" else f"{part}.")
    elif found.used_bytes is None and options.span_ratio is None:
        notes.append("How much of the drive was used is not said, and taken as all of it; see --span.")
    base = with_measured_stroke(base, like)
    grid = replace(found.grid, span_ratio=span_ratio)
    fitted = fit_grid(grid, base, evidence[0])
    if _cleans_too_slowly(fitted):
        notes.append(_without_cleaning(like, base["write_amplification"]))
        fitted = fit_grid(grid, base | {"write_amplification": 1.0}, evidence[0])
    notes += [note for note in map(_far_off, ("reads", "writes"), repeat(fitted)) if note is not None]
    notes += [note for note in (assumed_stroke(fitted, like), order_of_cached_writes(fitted)) if note is not None]
    return _report(options, evidence, like, fitted, notes)


def _cleans_too_slowly(fitted: FittedDrive) -> bool:
    """Whether flash writes more slowly than it was measured to, though a die takes next to no time to program."""
    design = fitted.design
    if design["kind"] != "flash" or design["write_amplification"] <= 1.0 or design["program_ns"] > _NO_TIME_NS:
        return False
    writes = fitted.judgement["writes"]
    return bool(writes) and _off(writes[-1]) < -_FAR_OFF


def _without_cleaning(like: str | None, amplification: float) -> str:
    return (
        f"Writes are quicker than a drive like `{like}` could make them, which moves {amplification - 1.0:.1f} pages "
        "for each one written: taken as those of a drive that moves none (write_amplification = 1), as before its "
        "steady state, or behind a cache. Random writes that last may be several times slower: measure with bench "
        "--precondition --steady-state."
    )


def _far_off(direction: str, fitted: FittedDrive) -> str | None:
    """That the drive cannot be fitted to one direction, if it cannot."""
    points = fitted.judgement[direction]
    each = [abs(_off(point)) for point in points]
    if not each or sum(each) / len(each) <= _FAR_OFF:
        return None
    worst = max(points, key=lambda point: abs(_off(point)))
    mean = format_ratio(sum(each) / len(each))
    return (
        f"The fitted drive {direction.removesuffix('s')}s otherwise than measured: off by {mean} on average, "
        f"{100 * _off(worst):+.0f} % at depth {worst['qd']}. Do not rely on its {direction}: keep the points with "
        "--curve, or say another --like."
    )


def _off(point: Mapping[str, Any]) -> float:
    return float(point["fitted_per_s"]) / float(point["measured_per_s"]) - 1.0


def _base(grid: DepthGrid, like: str | None, options: FitOptions, notes: list[str]) -> dict[str, Any]:
    if like is None:
        if options.size_bytes is None:
            raise UsageError("--size, which a curve does not tell", "none")
        if drive_named(class_of(grid))["kind"] == "mechanical":
            notes.append(
                "A curve has no places, so mirrors that read the copy whose head is nearer, as md's do, gain nothing "
                "by it: their reads come out too slow, by 10 % on average where four drives were measured, and by 16 "
                "to 19 % at 8 to 32 outstanding. Without --curve the drive has a head."
            )
        if drive_named(class_of(grid))["kind"] == "mechanical" and _has_cached_writes(grid):
            notes.append(
                "Writes are a tenth faster than reads, so a cache takes them. A curve serves each for as long as it "
                "took on that drive with its cache full, which is too long in an array while few are outstanding: "
                "mirrors and parity come out too slow. Without --curve the drive has a cache."
            )
        return curve_drive(options.size_bytes, grid.block_bytes)
    base = drive_named(like)
    if options.size_bytes is not None:
        base["size_bytes"] = options.size_bytes
    else:
        notes.append(f"The size, {format_bytes(base['size_bytes'])}, is that of `{like}`; say --size.")
    if options.turns_per_min is not None:
        if base["kind"] != "mechanical":
            raise UsageError("a drive with platters for --turns-per-min", f"`{like}`, which has none")
        base["turns_per_min"] = options.turns_per_min
    return base


def _has_cached_writes(grid: DepthGrid) -> bool:
    """As docs/fit.md has it for drives with platters, by the least depth of both."""
    if not grid.reads or not grid.writes:
        return False
    return grid.writes[0].iops >= _CACHED * grid.reads[0].iops


def _refuse_what_a_grid_tells(where: str, options: FitOptions) -> None:
    if options.held_back is not None:
        raise UsageError("a trace, for --held-back", "throughput by queue depth", where=where,
                         hint="Of a grid each depth is left out once.")  # fmt: skip
    given = {"--like": options.like, "--turns-per-min": options.turns_per_min}
    names = ", ".join(name for name, value in given.items() if value is not None)
    if options.curve and names:
        raise UsageError(f"--curve, which keeps what was measured, or {names}", "both")


# Both -----------------------------------------------------------------------------------------------------------------


def _size_notes(options: FitOptions) -> list[str]:
    note = None if options.size_bytes is None else sold_in_thousands(options.size_bytes)
    return [] if note is None else [note]


def _report(
    options: FitOptions, evidence: tuple[str, ...], like: str | None, fitted: FittedDrive, notes: list[str]
) -> FitReport:
    names = ", ".join(_printable(Path(one).name) for one in evidence)
    header = [f"Fitted by storscope {__version__} to {names}."]
    if like is None or "on_itself" in fitted.judgement:
        known = "" if like is None else f"; heads, zones and the ratio of the rates are those of `{like}`"
        header.append(f"What is not marked as fitted is assumed{known}.")
    else:
        header.append(f"What is not marked as fitted is that of `{like}` (storscope simulate --drives).")
    remarks = {number["key"]: _remark(number) for number in fitted.numbers}
    toml = drive_table(options.name, fitted.design, header=header, remarks=remarks)
    return FitReport(options.name, evidence, like, fitted, toml, tuple(notes))


def _printable(name: str) -> str:
    """A file's name that cannot end the comment it stands in."""
    return "".join(letter if letter.isprintable() else "?" for letter in name)


def _remark(number: Mapping[str, Any]) -> str:
    """What is said behind a number."""
    if number["error_ratio"] is None:
        return "fitted, but not shown by the data"
    return "fitted" if number["is_known"] else "fitted, hardly known"
