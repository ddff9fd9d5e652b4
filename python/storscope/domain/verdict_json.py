"""The verdict as JSON. The form is stable: fields are added, never renamed or removed, within one `format` number.

docs/verdict.schema.json is its JSON Schema; docs/verdict-json.md explains it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows, Finding
from storscope.domain.schema import CAPTURES
from storscope.domain.units import datetime_from_ns
from storscope.domain.verdict import JudgedPart, Provenance, Verdict

FORMAT = 1


def verdict_to_json(verdict: Verdict) -> dict[str, Any]:
    """A dictionary of plain JSON values. Times are ISO 8601 in UTC; absent values are null."""
    return {
        "format": FORMAT,
        "worst": verdict.worst.word if verdict.worst else None,
        "start": _time(verdict.start_ns),
        "end": _time(verdict.end_ns),
        "findings": [_finding(finding) for finding in verdict.findings],
        "healthy": [{"rule": item.rule, "statement": item.statement} for item in verdict.healthy],
        "not_evaluated": [{"rule": item.rule, "needs": item.needs} for item in verdict.not_evaluated],
        "bad_windows": {
            system: [{"start": _time(start), "end": _time(end)} for start, end in windows]
            for system, windows in verdict.bad_windows.items()
        },
        "provenance": _provenance(verdict.provenance, verdict.clock_offsets_ns),
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "severity": finding.severity.word,
        "confidence": round(finding.confidence, 3),
        "title": finding.title,
        "summary": finding.summary,
        "why": finding.why,
        "innocent": finding.innocent,
        "check": finding.check,
        "remedy": finding.remedy,
        "source": finding.source,
        "entities": [_entity(entity) for entity in finding.entities],
        "start": _time(finding.start_ns),
        "end": _time(finding.end_ns),
        "weight": finding.weight,
        "numbers": finding.numbers,
        "evidence": [_evidence(rows) for rows in finding.evidence],
    }


def _entity(entity: EntityRef) -> dict[str, str]:
    return {"system": entity.system, "kind": entity.kind, "name": entity.name}


def _evidence(rows: EvidenceRows) -> dict[str, Any]:
    return {
        "caption": rows.caption,
        "columns": list(rows.columns),
        "rows": [list(row) for row in rows.rows],
        "total_rows": rows.total_rows if rows.total_rows is not None else len(rows.rows),
        "query": rows.query,
    }


def _provenance(provenance: Provenance, clock_offsets_ns: Mapping[str, int]) -> dict[str, Any]:
    return {
        "storscope_version": provenance.storscope_version,
        "host": provenance.host,
        "made_at": _time(provenance.made_at_ns),
        "store": provenance.store,
        "seed": provenance.seed,
        "thresholds": {rule: dict(values) for rule, values in provenance.thresholds.items()},
        "overridden": list(provenance.overridden),
        "notes": [note.words for note in provenance.notes],
        "part": None if provenance.part is None else _part(provenance.part),
        "clock_offsets_ns": dict(clock_offsets_ns),
        "captures": [{name: _plain(name, value) for name, value in capture.items()} for capture in provenance.captures],
    }


def _part(part: JudgedPart) -> dict[str, Any]:
    return {"run": part.run, "left_out": list(part.left_out), "words": part.words}


def _time(time_ns: int | None) -> str | None:
    return None if time_ns is None else datetime_from_ns(time_ns).isoformat().replace("+00:00", "Z")


_MAPS = {field.name for field in CAPTURES if pa.types.is_map(field.type)}


def _plain(name: str, value: Any) -> object:
    """A value of a `captures` row: maps come from Arrow as lists of pairs, times as datetimes."""
    if isinstance(value, dt.datetime):
        return value.isoformat().replace("+00:00", "Z")
    return dict(value or ()) if name in _MAPS else value
