"""One path is much slower, or fails much more, than its equals.

Looks for
    A path whose latency or aborts are several times those of the other paths to the same device, and failed commands
    in a log that keep to one way (adapter, channel and target) while others exist.

Why it matters
    Round robin sends every n-th I/O down the bad path: the mean rises a little, the slowest tenth becomes terrible.
    A dirty connector or a bad SFP looks like this for months before the path dies.

Evidence
    Latency and operations per path (esxtop batch CSV) with the device each leads to; or host logs with the path's name
    in failed commands.

When it is wrong
    A path to the controller that does not own the volume is slower by design and is not compared. A way that alone
    leads to a busy device collects all of that device's failures.

References
    The factor of 5 is ours, from a published case in which one adapter needed 2 min 21 s for a re-scan and its twin
    1.9 s. FC-PI and SFF-8472 describe the optical limits that bad modules miss.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._entities import by_system, counted, listed, observed
from storscope.diagnose.rules._intervals import ends, hull, total, weighted_mean
from storscope.diagnose.rules._logs import event_rows, events_by_system, window_of
from storscope.diagnose.rules._paths import paths_by_device, series_of, should_carry, way_of
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.units import format_duration, format_ratio
from storscope.store.events import Event
from storscope.store.series import Series

_NAME = "path-slow"
_EVENTS = ("path_failed_io", "command_aborted", "path_in_doubt")
_NEEDS = (
    "latency per path (esxtop batch CSV) and the device each leads to (esxcli storage nmp path list), or a host log "
    "in which commands failed on paths"
)


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    groups = _latencies(case, settings)
    outcomes: list[Outcome] = []
    slow: dict[EntityRef, float] = {}
    factors = []
    for paths in groups.values():
        for path, latency in paths.items():
            others = float(np.median([value for other, value in paths.items() if other != path]))
            factor = latency / others if others > 0 else float("inf")
            factors.append(factor)
            bound = settings[f"latency_ns_{case.tier(path).name}"]
            if factor >= settings["latency_factor_max"] and latency >= bound:
                slow[path] = factor
    outcomes += [_slow(case, {path: slow[path] for path in paths}, groups) for paths in by_system(slow).values()]
    known_ways = _ways(case)
    failing, judged = _failing(case, settings, known_ways)
    outcomes += failing
    if outcomes:
        return outcomes
    if groups:
        words = f"The paths of {counted(len(groups), 'device')} have alike latency: the slowest is "
        finite = [factor for factor in factors if np.isfinite(factor)]
        return [Healthy(_NAME, words + f"{max(finite, default=1.0):.1f} times the median of the others.")]
    if judged:
        return [Healthy(_NAME, f"{counted(judged, 'failed command')} in the logs did not keep to one path.")]
    return [NotEvaluated(_NAME, _NEEDS)]


# Latency -----------------------------------------------------------------------------------------------------------


def _latencies(case: Case, settings: Settings) -> dict[EntityRef, dict[EntityRef, float]]:
    """Device -> its equal paths -> mean latency weighted by operations; devices with two and more such paths."""
    found: dict[EntityRef, dict[EntityRef, float]] = defaultdict(dict)
    for device, paths in paths_by_device(case).items():
        for path in paths:
            series = series_of(case, path)
            if series is None or not should_carry(case, path) or not series.has("ops_per_s"):
                continue
            latency = weighted_mean(_latency(series), series["ops_per_s"])
            if np.isfinite(latency) and total(series, "ops_per_s") >= settings["ops_min_count"]:
                found[device][path] = latency
    return {device: paths for device, paths in found.items() if len(paths) >= 2}


def _latency(series: Series) -> np.ndarray:
    name = "device_latency_ns_mean" if series.has("device_latency_ns_mean") else "latency_ns_mean"
    return series[name]


def _slow(case: Case, slow: dict[EntityRef, float], groups: dict[EntityRef, dict[EntityRef, float]]) -> Finding:
    worst = max(slow, key=lambda path: slow[path])
    device, paths = next((device, paths) for device, paths in groups.items() if worst in paths)
    others = float(np.median([value for other, value in paths.items() if other != worst]))
    compared = sorted({path for group in groups.values() if set(group) & set(slow) for path in group})
    shown: list[Series] = [found for path in compared if (found := series_of(case, path)) is not None]
    start, end = hull([span for series in shown if (span := ends(series)) is not None])
    return Finding(
        rule=_NAME,
        severity=Severity.CRITICAL if paths[worst] >= 100e6 else Severity.WARNING,
        confidence=0.85,
        title=f"{counted(len(slow), 'path')} of {worst.system} far slower than the others",
        summary=(
            f"{case.label(worst)} takes {format_duration(paths[worst])} an I/O, the other "
            f"{counted(len(paths) - 1, 'path')} of {case.label(device)} {format_duration(others)}. "
            f"Slow in all: {listed(case, slow)}."
        ),
        why="Round robin sends every n-th I/O down the slow path, so the slowest part of all I/Os waits for it.",
        innocent="The path goes to the controller that does not own the volume, and the evidence does not say so.",
        check="Disable the path for some minutes: latency of the device must fall. Read error counters of both ports.",
        remedy="Take the path out of service; clean or replace connector, SFP and cable; look for CRC errors.",
        source="5 times the latency of the other paths: ours, from a published case.",
        entities=(*sorted(slow), device),
        start_ns=start,
        end_ns=end,
        evidence=(
            case.evidence(
                "Latency per path, weighted by operations",
                f"""SELECT kind, entity,
                sum(ops_per_s * {_COALESCED}) / nullif(sum(ops_per_s), 0) AS latency_ns_mean,
                avg(ops_per_s) AS ops_per_s_mean, max(aborts_per_s) AS aborts_per_s_max FROM observations
                WHERE {observed(case, [series.entity for series in shown])} AND {_COALESCED} IS NOT NULL
                GROUP BY kind, entity ORDER BY latency_ns_mean DESC, kind, entity""",
            ),
        ),
        weight=0.6,
        numbers={"latency_ns": paths[worst], "latency_ns_of_others": others, "paths": len(slow)},
    )


_COALESCED = "coalesce(device_latency_ns_mean, latency_ns_mean)"


# Failures ----------------------------------------------------------------------------------------------------------


def _ways(case: Case) -> dict[str, set[str]]:
    """System -> every way its paths take, the LUN left out."""
    found: dict[str, set[str]] = defaultdict(set)
    for entity in case.entities:
        if entity.kind == "path":
            found[entity.system].add(way_of(entity.name))
    for event in case.events_of(*_EVENTS):
        if "path" in event.attributes:
            found[event.entity.system].add(way_of(event.attributes["path"]))
    return found


def _failing(case: Case, settings: Settings, ways: dict[str, set[str]]) -> tuple[list[Outcome], int]:
    """Findings about ways that collect the failures, and how many failures were looked at."""
    found: list[Outcome] = []
    judged = 0
    for system, events in events_by_system(case, *_EVENTS).items():
        on_ways = [(way, event) for event in events if (way := _way_of_event(event)) is not None]
        counts = Counter(way for way, _ in on_ways)
        if len(ways[system]) < 2 or len(on_ways) < settings["events_min_count"]:
            continue
        judged += len(on_ways)
        way, most = counts.most_common(1)[0]
        rest = (len(on_ways) - most) / (len(ways[system]) - 1)
        if most >= settings["failure_factor_max"] * rest:
            found.append(
                _fails(case, system, way, [e for w, e in on_ways if w == way], len(on_ways), len(ways[system]))
            )
    return found, judged


def _way_of_event(event: Event) -> str | None:
    name = event.attributes.get("path") or (event.entity.name if event.entity.kind == "path" else None)
    return way_of(name) if name else None


def _fails(case: Case, system: str, way: str, events: list[Event], failures: int, ways: int) -> Finding:
    start, end = window_of(events)
    share = len(events) / failures
    devices = sorted({event.entity for event in events})
    return Finding(
        rule=_NAME,
        severity=Severity.WARNING,
        confidence=0.75,
        title=f"Failures of {system} keep to one path, {way}",
        summary=(
            f"{len(events):,} of {failures:,} failed or doubted commands ({format_ratio(share)}) went over {way}, one "
            f"of {ways} ways; {counted(len(devices), 'entity', 'entities')} hit: {listed(case, devices, 3)}."
        ),
        why="Each failed command is tried again elsewhere, after its time-out: the volumes stall meanwhile.",
        innocent="Only this way led to a device that was itself at fault or was removed.",
        check="Read the error counters of adapter, switch port and array port; disable this way for some minutes.",
        remedy="Take the path out of service; clean or replace connector, SFP and cable; watch whether failures stop.",
        source="5 times the failures of the mean other path: ours, from a published case.",
        entities=tuple(devices),
        start_ns=start,
        end_ns=end,
        evidence=(event_rows(case, f"Failures on paths of {system}", system, *_EVENTS),),
        weight=0.5 * share,
        numbers={"failures_on_path": len(events), "failures": failures, "ways": ways},
    )


RULE = Rule(
    name=_NAME,
    title="one path is much slower, or fails more, than its equals",
    evaluate=_evaluate,
    thresholds=(
        Threshold("latency_factor_max", 5, "times the median latency of the other paths to the device",
                  "ours, from a published case"),
        Threshold("latency_ns_disk", 10e6, "latency below which a path is never called slow, disk", "ours"),
        Threshold("latency_ns_flash", 2e6, "latency below which a path is never called slow, flash", "ours"),
        Threshold("ops_min_count", 1000, "operations a path must have carried to be compared", "ours"),
        Threshold("failure_factor_max", 5, "times the failures of the mean other way", "ours, from a published case"),
        Threshold("events_min_count", 5, "failures on paths, below which nothing is said", "ours"),
    ),
)  # fmt: skip
