"""Fits a drive to measurements of it: a trace of single requests, or throughput against queue depth.

What is fitted, and how, is described in docs/drives.md. Beware: a fit says what the drive did under what was measured.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Final

from storscope import _core
from storscope.domain.errors import ConfigError, MalformedInput
from storscope.domain.units import format_ratio
from storscope.sim.catalogue import catalogue

_CLASSES: Final = ((100.0, "7200-sata"), (155.0, "10k-sas"), (400.0, "15k-sas"), (10_000.0, "sata-ssd"))
"""Most random reads per second with one outstanding, and the class of drives that reaches it (docs/drives.md)."""
_FASTEST: Final = "nvme-ssd"


@dataclass(frozen=True)
class DepthRate:
    """Completions per second with `qd` requests outstanding."""

    qd: int
    iops: float


@dataclass(frozen=True)
class DepthGrid:
    """Random requests of one size on one drive, by rising depth."""

    reads: tuple[DepthRate, ...]
    writes: tuple[DepthRate, ...]
    block_bytes: int
    span_ratio: float = 1.0
    """The first part of the drive, which was used."""
    latency_ns_sd: float | None = None
    """Standard deviation of the response of reads at depth 1, where it is known."""


@dataclass(frozen=True)
class FittedDrive:
    """What the core found, as plain JSON values."""

    design: Mapping[str, Any]
    """The drive, as crates/storscope-types/src/design/drive.rs has it."""
    numbers: Sequence[Mapping[str, Any]]
    """Each number that was fitted: key, value, error_ratio, is_known, goes_with."""
    judgement: Mapping[str, Any]
    """Of a trace: parameters, requests, on_itself, on_rest, table_on_rest. Of a grid: reads, writes."""


@dataclass(frozen=True)
class Frame:
    """What a trace of single requests hardly shows and a data sheet tells. The defaults are those of no drive's own."""

    size_bytes: int = 0
    """The least; the drive has room for all requests in any case."""
    heads: int = 8
    zones: int = 16
    inner_ratio: float = 0.8
    """Inner over outer rate."""

    @classmethod
    def of(cls, design: Mapping[str, Any]) -> Frame:
        """Of a drive that is known. Raises ConfigError for one without platters."""
        if design["kind"] != "mechanical":
            raise ConfigError("a drive with platters, as all that traces are fitted to", str(design["kind"]))
        ratio = design["inner_rate_bytes_per_s"] / design["outer_rate_bytes_per_s"]
        return cls(design["size_bytes"], design["heads"], design["zones"], ratio)


def fit_trace(text: str, where: str, frame: Frame | None = None, *, held_back: float = 0.5) -> FittedDrive:
    """A mechanical drive from the first part of a trace; the share `held_back` judges it.

    One request a line: R or W, a flag, first sector, sectors of 512 bytes, service time in µs, think time in µs.
    Raises MalformedInput with the line of what is no request, ConfigError for a trace that tells too little.
    """
    hint = (
        f"Of the trace without the part that is held back to judge the fit, {format_ratio(held_back)}: see --held-back."
    )
    with _core_errors(where, hint if held_back else ""):
        return _fitted(_core.fit_drive_to_trace(text, json.dumps(asdict(frame or Frame())), 1.0 - held_back))


def fit_grid(grid: DepthGrid, base: Mapping[str, Any], where: str) -> FittedDrive:
    """A drive of the kind of `base`, which gives all that the grid does not show. Raises ConfigError."""
    with _core_errors(where):
        return _fitted(_core.fit_drive_to_grid(json.dumps(base), json.dumps(asdict(grid))))


def class_of(grid: DepthGrid) -> str:
    """The class of the catalogue that a drive seems to be of, by its reads at the least depth."""
    if not grid.reads:
        return _CLASSES[0][1]
    rate = grid.reads[0].iops / grid.reads[0].qd
    return next((name for most, name in _CLASSES if rate < most), _FASTEST)


def drive_named(name: str) -> dict[str, Any]:
    """The design of a drive of the catalogue. Raises ConfigError for a name it does not have."""
    drives = {entry.name: dict(entry.form["design"]) for entry in catalogue()}
    if name not in drives:
        raise ConfigError(
            "a drive of the catalogue", repr(name), where="--like", hint="See: storscope simulate --drives"
        )
    return drives[name]


def curve_drive(size_bytes: int, block_bytes: int) -> dict[str, Any]:
    """A measured curve without points: what a grid is filled into."""
    return {"kind": "curve", "size_bytes": size_bytes, "reads": [], "block_bytes": block_bytes}


def _fitted(answer: bytes) -> FittedDrive:
    form = json.loads(answer)
    design, numbers = form.pop("design"), form.pop("numbers")
    return FittedDrive(design, numbers, form)


@contextmanager
def _core_errors(where: str, hint: str = "") -> Iterator[None]:
    """Errors of the core as ours; the hint belongs to evidence as a whole, not to a line of it."""
    try:
        yield
    except _core.FitError as error:
        line, message = error.args
        _, _, said = message.partition(": ")
        expected, _, found = said.partition(", found ")
        place = where if line is None else f"{where}:{line}"
        if line is not None:
            raise MalformedInput(expected.removeprefix("expected "), found, where=place) from None
        raise ConfigError(expected.removeprefix("expected "), found, where=place, hint=hint) from None
