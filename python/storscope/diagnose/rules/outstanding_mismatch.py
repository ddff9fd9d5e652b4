"""A benchmark's results do not fit the number of I/Os it was to keep in flight.

Looks for
    Runs in which operations per second times mean response time differ from the configured outstanding I/Os by more
    than 10 %.

Why it matters
    A closed-loop benchmark keeps its outstanding I/Os in flight, so Little's law fixes the product. A result far below
    did not measure the storage at that depth; a result above has a wrong time or a wrong count. Neither can be
    compared with another run or with a white paper.

Evidence
    Runs with the configured outstanding I/Os, operations per second and mean response time (fio, Iometer, tables of
    results).

When it is wrong
    Runs that are paced on purpose (rate limits, think time, bursts with delays, streams that run for a part of the time
    only) keep fewer in flight and are left out when their options say so. Very fast storage (some µs) leaves a visible
    part of the time to the generator itself.

References
    J. D. C. Little, Operations Research 9 (1961). The bound of 10 % is ours: a generator that waits for completions
    alone stays within a few per cent.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._entities import counted, joined
from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows, Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.units import format_count, format_duration, format_ratio
from storscope.store.sql import sql_list

_NAME = "outstanding-mismatch"
_PACED = ("rate", "rate_min", "rate_iops", "rate_iops_min", "thinktime", "latency_target", "rate_process")
_DELAY = re.compile(r"\bdelay (\d+(?:\.\d+)?) ms\b")
"""How the lines of Iometer's access specifications are kept with a run."""
_WAITS = re.compile(r'"(?:think_time": \{|delay_ns": [1-9])')
"""How a workload of ours that waits between I/Os on purpose is kept with its run, as JSON; names escape quotes."""
_PART_TIME = frozenset({"stream_starts", "stream_ends"})
"""Happenings of a simulated run by which a stream is in flight for a part of the time."""
_ROWS = """SELECT r.capture, r.run, r.name, r.system, r.outstanding, o.entity AS job,
    sum(o.ops_per_s * o.seconds) / sum(o.seconds) AS ops_per_s,
    sum(o.ops_per_s * o.seconds * o.latency_ns_mean) / nullif(sum(o.ops_per_s * o.seconds), 0) AS latency_ns_mean,
    sum(o.ops_per_s * o.seconds * o.latency_ns_mean) / sum(o.seconds) / 1e9 AS in_flight
    FROM runs r JOIN (
        SELECT *, CASE WHEN coalesce(duration_ns, 0) > 0 THEN duration_ns / 1e9 ELSE 1 END AS seconds
        FROM observations WHERE run IS NOT NULL AND kind = 'job'
    ) o ON o.capture = r.capture AND o.run = r.run
    WHERE r.outstanding > 0 AND (o.ops_per_s = 0 OR o.ops_per_s > 0 AND o.latency_ns_mean > 0)
        AND (o.time IS NULL OR {when}) {condition}
    GROUP BY r.capture, r.run, r.name, r.system, r.outstanding, o.entity HAVING sum(o.ops_per_s) > 0
    ORDER BY r.capture, min(r.time), r.run, o.entity"""


@dataclass(frozen=True)
class _Run:
    capture: str
    run: str
    name: str
    system: str
    job: str
    outstanding: float
    ops_per_s: float
    latency_ns: float
    in_flight: float

    @property
    def ratio(self) -> float:
        """What was in flight over what was asked for."""
        return self.in_flight / self.outstanding

    def words(self) -> str:
        return (
            f"{self.name} ({format_duration(self.latency_ns)} x {format_count(round(self.ops_per_s))}/s = "
            f"{self.in_flight:.1f} of {self.outstanding:.0f})"
        )


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    paced = _paced(case)
    runs = [_run(row) for row in case.store.query(_runs_in_sql(case)).to_pylist()]
    judged = [run for run in runs if (run.capture, run.run) not in paced]
    if not judged:
        needs = "runs with outstanding I/Os, operations per second and mean response time (fio, Iometer)"
        return [NotEvaluated(_NAME, needs if not runs else f"{needs} that were not paced on purpose")]
    tests: dict[tuple[str, str], list[_Run]] = defaultdict(list)
    for run in judged:
        tests[run.system, run.capture].append(run)
    outcomes: list[Outcome] = [o for found in tests.values() for o in _judge(case, settings, found)]
    good = [run for run in judged if abs(run.ratio - 1) <= settings["mismatch_ratio_max"]]
    return [*outcomes, *_healthy(good)]


def _runs_in_sql(case: Case, condition: str = "") -> str:
    """What each run did in the time of the case."""
    return _ROWS.format(when=case.time_condition("o.time"), condition=condition)


def _run(row: Mapping[str, object]) -> _Run:
    def number(name: str) -> float:
        return float(str(row[name]))

    return _Run(
        str(row["capture"]), str(row["run"]), str(row["name"] or row["run"]), str(row["system"]), str(row["job"]),
        number("outstanding"), number("ops_per_s"), number("latency_ns_mean"), number("in_flight"),
    )  # fmt: skip


def _paced(case: Case) -> set[tuple[str, str]]:
    """(capture, run) of the runs that were told to go slower than they could."""
    found = set()
    for row in case.runs:
        options = dict(row["parameters"] or ())
        if any(options.get(name, "0").strip() not in {"", "0"} for name in _PACED):
            found.add((row["capture"], row["run"]))
        # A search for a plain word first: options may be long, a whole design for example.
        texts = (text for text in options.values() if "delay " in text)
        if any(float(delay) > 0 for text in texts for delay in _DELAY.findall(text)):
            found.add((row["capture"], row["run"]))
        if _WAITS.search(options.get("workload", "")) or _has_part_time(options.get("happenings")):
            found.add((row["capture"], row["run"]))
    return found


def _has_part_time(happenings: str | None) -> bool:
    """Whether streams of a simulated run began or ended on its way."""
    if happenings is None:
        return False
    return any(happening["kind"] in _PART_TIME for happening in json.loads(happenings))


def _judge(case: Case, settings: Settings, runs: list[_Run]) -> list[Outcome]:
    bound = settings["mismatch_ratio_max"]
    below = [run for run in runs if run.ratio < 1 - bound]
    above = [run for run in runs if run.ratio > 1 + bound]
    outcomes: list[Outcome] = []
    if below:
        outcomes.append(_below(case, below, len(runs)))
    if above:
        outcomes.append(_above(case, above, len(runs)))
    return outcomes


def _healthy(good: list[_Run]) -> list[Outcome]:
    """One statement a system, however many files its runs came in."""
    systems: dict[str, list[_Run]] = defaultdict(list)
    for run in good:
        systems[run.system].append(run)
    return [
        Healthy(
            _NAME,
            f"{counted(len(runs), 'run')} of {system} kept the configured I/Os in flight: "
            f"{joined([run.words() for run in runs], 3)}.",
        )
        for system, runs in systems.items()
    ]


def _below(case: Case, runs: list[_Run], total: int) -> Finding:
    worst = min(runs, key=lambda run: run.ratio)
    asked = sorted({run.outstanding for run in runs})
    depth = f"{asked[0]:.0f}" if len(asked) == 1 else "the configured"
    return Finding(
        rule=_NAME,
        severity=Severity.WARNING,
        confidence=0.9,
        title=f"{len(runs)} of {counted(total, 'run')} cannot have kept {depth} I/Os in flight",
        summary=(
            f"Response time x IOPS gives less than was configured: {joined([run.words() for run in _worst(runs)], 6)}. "
            f"The worst kept {format_ratio(worst.ratio)} of it."
        ),
        why=(
            "These rows do not show what the storage does at that depth: the generator did not keep the queue full, or "
            "the response time is not that of the I/Os counted. Comparing them with other results misleads."
        ),
        innocent=(
            "The run was paced on purpose (bursts, delays, a rate limit), or some workers or targets stopped early; or "
            "the file fitted a cache so fast that the generator itself was the limit."
        ),
        check=(
            "Repeat one of these runs with twice the workers: more IOPS at the same response time means that the "
            "generator was the limit. Count the I/Os in flight on the host meanwhile (esxtop ACTV, iostat aqu-sz)."
        ),
        remedy="Use more workers or asynchronous I/O, check the queue limits below the generator, repeat the rows.",
        source="Little's law; more than 10 % off: ours.",
        entities=_entities(runs),
        evidence=(_rows(case, runs),),
        weight=0.4,
        numbers={
            "runs": len(runs), "runs_in_all": total, "in_flight_ratio_min": worst.ratio,
            "in_flight_min": worst.in_flight,
        },
    )  # fmt: skip


def _worst(runs: list[_Run]) -> list[_Run]:
    return sorted(runs, key=lambda run: run.ratio)


def _above(case: Case, runs: list[_Run], total: int) -> Finding:
    worst = max(runs, key=lambda run: run.ratio)
    factor = "; a factor near 1,000 is a matter of units" if 900 < worst.ratio < 1100 else ""
    return Finding(
        rule=_NAME,
        severity=Severity.WARNING,
        confidence=0.9,
        title=f"{len(runs)} of {counted(total, 'run')} had more I/Os in flight than configured",
        summary=(
            "Response time x IOPS gives more than was configured, which cannot be: "
            f"{joined([run.words() for run in reversed(_worst(runs))], 6)}. The worst has {worst.ratio:.2f} times the "
            f"configured number{factor}."
        ),
        why="The response time or the count is wrong, or more workers ran than the table says: the rows prove nothing.",
        innocent="The outstanding I/Os are per worker or per target, and the table left that factor out.",
        check="Multiply the outstanding I/Os by workers and targets, and see whether the product fits.",
        remedy="Correct the configured number, or leave these rows out.",
        source="Little's law; more than 10 % off: ours.",
        entities=_entities(runs),
        evidence=(_rows(case, runs),),
        weight=0.4,
        numbers={"runs": len(runs), "runs_in_all": total, "in_flight_ratio_max": worst.ratio},
    )


def _entities(runs: list[_Run]) -> tuple[EntityRef, ...]:
    return tuple(sorted({EntityRef(run.system, "job", run.job) for run in runs}))


def _rows(case: Case, runs: list[_Run]) -> EvidenceRows:
    keys = sql_list(f"{run.capture} {run.run}" for run in runs)
    return case.evidence(
        "Response time x operations against the configured I/Os",
        f"""SELECT name, job, outstanding, ops_per_s, latency_ns_mean, in_flight, in_flight / outstanding AS ratio
        FROM ({_runs_in_sql(case, f"AND concat(r.capture, ' ', r.run) IN {keys}")}) ORDER BY ratio, name, job""",
    )


RULE = Rule(
    name=_NAME,
    title="a benchmark's results do not fit its outstanding I/Os",
    evaluate=_evaluate,
    thresholds=(
        Threshold("mismatch_ratio_max", 0.1, "difference from the configured number that a run may have", "ours"),
    ),
)  # fmt: skip
