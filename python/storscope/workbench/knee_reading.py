"""What a search for the knee found, read from the store: to show it when it ends, and again later.

Its answer is a run with `knee_role` answer, which carries the curve with all visits (`result`), how it was made
(`knee_how`), and the digest of what was asked (`knee_plan`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from storscope.domain.errors import UsageError
from storscope.domain.knee_result import KneeResult
from storscope.domain.load_curve import LoadCurve
from storscope.store import Store

_ANSWERS = """
SELECT r.run, r.capture, r.system, r.seed, epoch_ns(r.time) AS time_ns, r.duration_ns, r.engine_version, r.parameters,
       c.warnings
FROM runs r JOIN captures c USING (capture)
WHERE r.parameters['knee_role'] = 'answer' AND list_contains(?, r.parameters[?])
ORDER BY r.seed IS NOT DISTINCT FROM ? DESC, r.time DESC LIMIT 1
"""
_UNFINISHED = """
SELECT parameters['knee_search'] AS search, count(*) FILTER (parameters['knee_role'] = 'visit') AS visits
FROM runs WHERE list_contains(?, parameters['knee_plan']) GROUP BY search
HAVING count(*) FILTER (parameters['knee_role'] = 'answer') = 0 AND epoch_ns(min(time)) > ? ORDER BY min(time)
"""


def read_knee(store: Store, search: str) -> KneeResult:
    """The search of that id. Raises UsageError if there is none."""
    row = _row(store, "knee_search", [search])
    if row is None:
        raise UsageError(f"a search for the knee called {search!r}", "none", where=str(store.path))
    return _result(row)


def latest_knee(store: Store, plans: Sequence[str], seed: int | None = None) -> KneeResult | None:
    """The latest search that asked the same and has an answer, by the digests of what was asked; None if none has.

    Of those with `seed`, if there are such.
    """
    row = _row(store, "knee_plan", plans, seed)
    return None if row is None else _result(row)


def unfinished(store: Store, plans: Sequence[str], since_ns: int = 0) -> list[str]:
    """The searches that asked the same, began later and have no answer: 'knee-18ea (7 visits)', the latest last."""
    rows = store.query(_UNFINISHED, [list(plans), since_ns]).to_pylist()
    return [f"{row['search']} ({row['visits']} visit{'' if row['visits'] == 1 else 's'})" for row in rows]


def _row(store: Store, name: str, values: Sequence[str], seed: int | None = None) -> dict[str, Any] | None:
    asked = [list(values), name, None if seed is None else str(seed)]
    rows: list[dict[str, Any]] = store.query(_ANSWERS, asked).to_pylist()
    return rows[0] if rows else None


def _result(row: dict[str, Any]) -> KneeResult:
    parameters = dict(row["parameters"])
    how = json.loads(parameters["knee_how"])
    return KneeResult(
        id=row["run"],
        capture=row["capture"],
        curve=LoadCurve.from_json(json.loads(parameters["result"])),
        workload=json.loads(parameters["workload"]),
        target=parameters["target"],
        target_kind=parameters["target_kind"],
        direct=how["direct"],
        seed=int(row["seed"]),
        duration_ns=row["duration_ns"],
        stream_shares=tuple(how["stream_shares"]),
        max_outstanding=tuple(how["max_outstanding"]),
        load_words=tuple(how["load_words"]),
        doubts=tuple(row["warnings"] or ()),
        paths=how["paths"],
        host=row["system"],
        started_ns=row["time_ns"],
        budget_ns=how["budget_ns"],
        size_bytes=how["size_bytes"],
        engines=how["engines"],
        version=row["engine_version"],
    )
