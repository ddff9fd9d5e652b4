"""The comparison as JSON. The form is stable: fields are added, never renamed or removed, within one `format` number.

docs/compare.schema.json is its JSON Schema; docs/compare-json.md explains it.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from storscope.domain.comparison import ComparedSide, Comparison, MetricRow, Outcome, PairResult

FORMAT = 1


def comparison_to_json(comparison: Comparison) -> dict[str, Any]:
    """A dictionary of plain JSON values; absent values are null."""
    return {
        "format": FORMAT,
        "storscope_version": comparison.storscope_version,
        "level": comparison.level,
        "threshold": comparison.threshold,
        "seed": comparison.seed,
        "of": "runs" if comparison.of_runs else "entities",
        "counts": {outcome.value: comparison.count(outcome) for outcome in Outcome},
        "before": _side(comparison.before),
        "after": _side(comparison.after),
        "pairs": [_pair(pair) for pair in comparison.pairs],
        "agreements": [dataclasses.asdict(one) | {"outcome": one.outcome.value} for one in comparison.agreements],
        "unmatched": [dataclasses.asdict(item) for item in comparison.unmatched],
        "notes": list(comparison.notes),
    }


def _side(side: ComparedSide) -> dict[str, Any]:
    return {
        "source": side.source,
        "captures": list(side.captures),
        "subjects": side.subjects,
        "names": list(side.names),
        "simulated": side.simulated,
        "began_ns": side.began_ns,
    }


def _pair(pair: PairResult) -> dict[str, Any]:
    return {
        "name": pair.name,
        "comparable": pair.is_comparable,
        "load_before": dataclasses.asdict(pair.load_before),
        "load_after": dataclasses.asdict(pair.load_after),
        "runs_before": list(pair.runs_before),
        "runs_after": list(pair.runs_after),
        "rows": [_row(row) for row in pair.rows],
        "distribution": dataclasses.asdict(pair.distribution) if pair.distribution else None,
        "warnings": list(pair.warnings),
        "notes": list(pair.notes),
        "pairing": list(pair.pairing),
        "predicted": pair.predicted,
    }


def _row(row: MetricRow) -> dict[str, Any]:
    plain = {field.name: getattr(row, field.name) for field in dataclasses.fields(row)}
    plain["outcome"] = row.outcome.value if row.outcome else None
    return {name: _finite(value) for name, value in plain.items()}


def _finite(value: object) -> object:
    """JSON has no infinity and no NaN."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
