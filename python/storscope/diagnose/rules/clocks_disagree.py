"""The clocks of two sources disagree, as told by the load that both saw.

Looks for
    Captures of one system, or of an array and its hosts, whose load curves agree best when one is shifted in time.

Why it matters
    Who was loud when others waited is only seen when the clocks agree. An offset of a minute hides a cause, one of an
    hour invents one. Whole quarter hours are time zones and not clocks. A source without times (iostat without -t) has
    no clock that could be wrong: its times are a guess until --start says when it began.

Evidence
    Operations per interval from two captures that saw the same load, over at least 30 intervals.

When it is wrong
    Two systems on one timetable look as if they saw the same load; a job that was run twice, captured each time, looks
    like one job seen by two clocks. A strictly periodic load fits at many offsets and is not judged.

References
    Cross-correlation of changes of load, peak refined by a parabola; Bartlett 1946 for its chance level.
"""

from __future__ import annotations

from collections.abc import Sequence

from storscope.diagnose.case import Case
from storscope.diagnose.clocks import CaptureClock, capture_clocks, capture_names
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows, Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.units import NS_PER_S, format_span, format_time
from storscope.store.sql import sql_list, sql_text

_NAME = "clocks-disagree"


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    clocks = capture_clocks(case)
    if not clocks:
        return [NotEvaluated(_NAME, "operations per interval from two captures that saw the same load")]
    apart = [
        clock for clock in clocks if clock.matters and abs(clock.offset_ns.estimate) >= settings["offset_s"] * NS_PER_S
    ]
    if apart:
        return [_finding(case, clock) for clock in apart]
    most = max(clocks, key=lambda clock: abs(clock.offset_ns.estimate))
    bound = max(abs(most.offset_ns.low), abs(most.offset_ns.high))
    return [
        Healthy(
            _NAME,
            f"The clocks of {len(clocks) + len({clock.reference for clock in clocks}):,} captures agree to within "
            f"{format_span(bound)}, as told by the load they saw.",
        )
    ]


def _finding(case: Case, clock: CaptureClock) -> Finding:
    names = capture_names(case)
    applied = clock.capture in case.clock_offsets_ns
    zone = clock.whole_quarter_hours is not None
    words = clock.words(names)
    return Finding(
        rule=_NAME,
        severity=Severity.INFO,
        confidence=min(0.95, 0.5 + 0.5 * clock.correlation),
        title=f"Guessed times are {format_span(abs(clock.offset_ns.estimate))} off"
        if clock.guessed
        else f"Clocks {format_span(abs(clock.offset_ns.estimate))} apart"
        + (": most likely a time zone" if zone else ""),
        summary=(
            f"{words[0].upper()}{words[1:]}. "
            + ("Its times were moved for this diagnosis." if applied else "Its times were left as they are.")
        ),
        why="Causes are found by what happened at the same time; with clocks apart, the wrong one is blamed.",
        innocent=(
            "The two saw different loads that follow one timetable, or the same job was run and captured twice."
        ),
        check=(
            "Ask who captured it when it began, and at which interval."
            if clock.guessed
            else "Compare the clocks themselves: run date -u on both (ESX: esxcli system time get) at the same moment."
        ),
        remedy=(
            _start_words(case, clock)
            if clock.guessed
            else "Import that source again with its zone (--timezone), or with none where the file is in UTC."
            if zone
            else "Set both to the same time server (NTP)."
        ),
        source="An offset of at least one sampling interval, beyond its own interval: ours.",
        entities=_entities(case, clock),
        evidence=(_rows(case, clock),),
        weight=0.1,
        numbers={
            "offset_s": clock.offset_ns.estimate / NS_PER_S, "offset_s_low": clock.offset_ns.low / NS_PER_S,
            "offset_s_high": clock.offset_ns.high / NS_PER_S, "correlation": clock.correlation,
        },
    )  # fmt: skip


def _start_words(case: Case, clock: CaptureClock) -> str:
    """How to say when a source without times began, as the load tells it."""
    start_ns = _first_ns(case, clock.capture) + clock.offset_ns.estimate
    start = format_time(round(start_ns / NS_PER_S) * NS_PER_S)
    return (
        f"Import that source again with its start (by the load about {start}) and its interval: --replace, --start, "
        "--interval. Capture with times from now on (iostat -t)."
    )


def _first_ns(case: Case, capture: str) -> int:
    """When the first interval of a capture begins, as recorded."""
    condition = f"capture = {sql_text(capture)} AND time IS NOT NULL"
    table = case.store.query(f"SELECT min(epoch_ns(time)) AS first_ns FROM observations WHERE {condition}")
    return int(table.column("first_ns")[0].as_py())


def _entities(case: Case, clock: CaptureClock) -> list[EntityRef]:
    """The systems of the two captures."""
    table = case.store.query(
        "SELECT DISTINCT system FROM observations WHERE run IS NULL AND capture IN "
        f"{sql_list([clock.capture, clock.reference])} ORDER BY system"
    )
    systems = [str(system) for system in table.column("system").to_pylist()]
    tops = {entity.system: entity for entity in case.entities if entity.kind in {"array", "host"}}
    return [tops.get(system, EntityRef(system, "host", system)) for system in systems]


def _rows(case: Case, clock: CaptureClock) -> EvidenceRows:
    return case.evidence(
        "The two captures",
        f"""SELECT path, system, clock, first_time, last_time, format FROM captures
        WHERE capture IN {sql_list([clock.capture, clock.reference])} ORDER BY path""",
    )


RULE = Rule(
    name=_NAME,
    title="the clocks of two sources disagree",
    evaluate=_evaluate,
    thresholds=(
        Threshold("offset_s", 1, "offset from which it is reported (never below one sampling interval)", "ours"),
    ),
)  # fmt: skip
