"""Method and provenance: what was read, what was left out of it, which thresholds were in force."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from storscope.domain.units import format_bytes, format_count, format_span
from storscope.domain.verdict import Provenance
from storscope.report.wording import counted, listed, time_range


@dataclass(frozen=True)
class CaptureView:
    """One capture in words."""

    path: str
    sha256: str
    facts: Sequence[tuple[str, str]]
    omitted: Sequence[tuple[str, str]]
    """(reason, how many)."""
    warnings: Sequence[str]


@dataclass(frozen=True)
class ThresholdView:
    """One threshold in force."""

    rule: str
    name: str
    value: str
    overridden: bool


def capture_views(captures: Sequence[Mapping[str, object]], clock_offsets_ns: Mapping[str, int]) -> list[CaptureView]:
    """Every capture, in the order given. Rows may lack columns: what is not there is not shown. Times are as recorded;
    how far a capture's were moved to be judged and drawn stands beside its clock."""
    return [_capture(row, clock_offsets_ns.get(str(row.get("capture")), 0)) for row in captures]


def threshold_views(provenance: Provenance) -> list[ThresholdView]:
    """Every threshold, the user's own first."""
    changed = set(provenance.overridden)
    views = [
        ThresholdView(rule, name, format_threshold(value), f"{rule}.{name}" in changed)
        for rule, values in sorted(provenance.thresholds.items())
        for name, value in values.items()
    ]
    return sorted(views, key=lambda view: not view.overridden)


def format_threshold(value: float) -> str:
    """A threshold as the settings file would have it: its unit stands in its name."""
    return f"{value:,.0f}" if value == round(value) and abs(value) < 1e15 else f"{value:g}"


def what_was_read(captures: Sequence[Mapping[str, object]], systems: Sequence[str]) -> str:
    """'3 captures (iostat JSON, fio JSON) of 2 systems, 412,000 rows'."""
    if not captures:
        return "nothing"
    formats = Counter(str(row.get("format") or "unknown format") for row in captures)
    rows = sum(sum(_pairs(row.get("row_counts")).values()) for row in captures)
    parts = [f"{counted(len(captures), 'capture')} ({listed(sorted(formats), 4)})"]
    if systems:
        parts.append(
            f"of {counted(len(systems), 'system')}: {listed(sorted(systems), 4)}"
            if len(systems) > 1
            else f"of {systems[0]}"
        )
    return " ".join(parts) + (f"; {counted(rows, 'row')}" if rows else "")


def _capture(row: Mapping[str, object], moved_ns: int) -> CaptureView:
    tool = " ".join(str(row[name]) for name in ("tool", "tool_version") if row.get(name))
    first, last = (_instant(row.get(name)) for name in ("first_time", "last_time"))
    counts = _pairs(row.get("row_counts"))
    facts = [
        ("Format", str(row.get("format") or "")),
        ("Importer version", str(row.get("importer_version") or "")),
        ("Written by", tool),
        ("System", str(row.get("system") or "")),
        ("Size", _size(row.get("size_bytes"))),
        ("Times", time_range(first, last) if first is not None else ""),
        ("Clock", _clock(row, moved_ns)),
        ("Read", listed([f"{format_count(count)} {name}" for name, count in counts.items()], 8)),
        ("Options", ", ".join(f"{name}={value}" for name, value in _items(row.get("options")))),
    ]
    return CaptureView(
        path=str(row.get("path") or "unnamed"),
        sha256=str(row.get("sha256") or ""),
        facts=[(name, words) for name, words in facts if words],
        omitted=[(reason, format_count(count)) for reason, count in _pairs(row.get("omitted")).items() if count],
        warnings=[str(warning) for warning in _list(row.get("warnings"))],
    )


def _clock(row: Mapping[str, object], moved_ns: int) -> str:
    later = "later" if moved_ns > 0 else "earlier"
    moved = f"taken as {format_span(abs(moved_ns))} {later}" if moved_ns else ""
    return ", ".join(part for part in (str(row.get("clock") or ""), moved) if part)


def _size(value: object) -> str:
    return format_bytes(value) if isinstance(value, int | float) else ""


def _instant(value: object) -> int | None:
    """Nanoseconds of what the store gave: an integer, a pandas or a datetime timestamp; None for anything else."""
    if value is None or isinstance(value, int):
        return value
    nanoseconds = getattr(value, "value", None)
    if isinstance(nanoseconds, int):
        return nanoseconds
    stamp: Any = getattr(value, "timestamp", None)
    return round(stamp() * 1e6) * 1000 if callable(stamp) else None


def _items(value: object) -> list[tuple[str, Any]]:
    """The pairs of an Arrow map (a list of pairs) or of a mapping."""
    if isinstance(value, Mapping):
        return list(value.items())
    return [(str(pair[0]), pair[1]) for pair in _list(value) if isinstance(pair, tuple | list) and len(pair) == 2]


def _pairs(value: object) -> dict[str, int]:
    return {name: int(count) for name, count in _items(value) if isinstance(count, int | float)}


def _list(value: object) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []
