"""Jobs that ran beside others on the same storage: clients of a running system, not measurements of an idle one.

A benchmark's intervals are kept apart from the counters of running systems, since it is alone and asks for all there
is. When two jobs ran at the same time and rest on one component, each is the other's load, and both belong to what
happened on that system. A job of which only the sum is known says nothing about when, and stays apart.

The steps of a test follow each other, and their times may overlap by what was rounded. So runs are compared, not jobs;
they must have been at work together for a real part of the shorter one; and what one worker did is never its own rival.
"""

from __future__ import annotations

from storscope.domain.errors import StoreError
from storscope.store.directory import Store

_COMPETING = """
WITH RECURSIVE below(capture, system, kind, entity, target_kind, target) AS (
    SELECT capture, system, kind, entity, target_kind, target FROM links WHERE relation = 'lives_on' AND kind = 'job'
    UNION
    SELECT b.capture, b.system, b.kind, b.entity, l.target_kind, l.target FROM below b JOIN links l
    ON l.relation = 'lives_on' AND l.system = b.system AND l.kind = b.target_kind AND l.entity = b.target
),
ran AS (
    SELECT capture, system, kind, entity, run, min(epoch_ns(time)) AS first_ns,
    max(epoch_ns(time) + coalesce(duration_ns, 0)) AS last_ns
    FROM observations WHERE kind = 'job' AND run IS NOT NULL AND time IS NOT NULL GROUP BY ALL
    HAVING count(*) > 1
),
placed AS (SELECT * FROM ran JOIN below USING (capture, system, kind, entity)),
pairs AS (
    SELECT DISTINCT one.capture, one.run, other.capture AS other_capture, other.run AS other_run,
    least(one.last_ns, other.last_ns) - greatest(one.first_ns, other.first_ns) AS together_ns,
    least(one.last_ns - one.first_ns, other.last_ns - other.first_ns) AS shorter_ns
    FROM placed one JOIN placed other
    ON one.system = other.system AND one.target_kind = other.target_kind AND one.target = other.target
    AND one.entity <> other.entity AND one.first_ns < other.last_ns AND other.first_ns < one.last_ns
),
workers AS (SELECT DISTINCT capture, run, system, entity FROM observations WHERE kind = 'process' AND run IS NOT NULL)
SELECT DISTINCT capture FROM pairs WHERE together_ns >= {share} * shorter_ns
AND together_ns >= least({half} * shorter_ns, {stamp_ns}) AND NOT EXISTS (
    SELECT 1 FROM workers w JOIN workers o USING (capture, system, entity)
    WHERE w.capture = pairs.capture AND pairs.other_capture = pairs.capture
    AND w.run = pairs.run AND o.run = pairs.other_run
) ORDER BY 1
"""
_TOGETHER = {"share": 0.1, "half": 0.5, "stamp_ns": 2_000_000_000}
"""At work together for a tenth of the shorter run, and for two seconds (or half of it): with stamps of whole seconds
two runs may overlap by one that were never at work together (ours)."""


def competing_captures(store: Store) -> list[str]:
    """Captures of jobs that ran beside another job on the same component."""
    if not store.query("SELECT 1 FROM links WHERE kind = 'job' AND relation = 'lives_on' LIMIT 1").num_rows:
        return []
    return [str(row["capture"]) for row in store.query(_COMPETING.format(**_TOGETHER)).to_pylist()]


def running_condition(store: Store) -> str:
    """An SQL condition for rows of running systems, competing jobs among them."""
    captures = competing_captures(store)
    if not captures:
        return "run IS NULL"
    if not all(capture.isalnum() for capture in captures):
        raise StoreError("captures with ids of letters and digits", ", ".join(captures), where=str(store.path))
    names = ", ".join(f"'{capture}'" for capture in captures)
    return f"(run IS NULL OR (kind = 'job' AND capture IN ({names})))"
