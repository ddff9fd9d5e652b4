"""A path carries nothing while its equals carry the load.

Looks for
    A device that spreads I/O over its paths, with an active, optimised path that carries (nearly) nothing while the
    others carry: all the time, or from some time on to the end although it did before. Or one that is missing from the
    device's working paths. Host ports of one controller are looked at over the whole time only: who uses one may end.

Why it matters
    The bandwidth of the idle path is missing, and whether it works at all will be known only when it is needed.

Evidence
    Operations per path (esxtop batch CSV with paths; iostat under device-mapper multipath) and which device each path
    leads to (`esxcli storage nmp path list`, `multipath -ll`); or operations per host port of an array.

When it is wrong
    Standby and non-optimised paths rest by design and are not counted. With a round-robin limit of 1,000 and few I/Os
    a path may rest for an interval; therefore the whole time counts, or a last part with many operations. A port may be
    cabled for later use. A path that was to a controller's volume rests when the volume moves to the other one.

References
    Round robin over n equal paths gives each 1/n; a hundredth of that is our bound.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._ceased import Ceased, ceased
from storscope.diagnose.rules._entities import by_system, counted, joined, listed, observed, where
from storscope.diagnose.rules._intervals import ends, hull, total
from storscope.diagnose.rules._paths import adapter_of, paths_by_device, series_of, should_carry, spreads, state_of
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.units import format_count, format_ratio
from storscope.store.series import Series

_NAME = "path-idle"
_NEEDS = (
    "operations per path (esxtop batch CSV) and the device each path leads to (esxcli storage nmp path list), or "
    "operations per host port of an array"
)


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    groups = _carried(case)
    busy = {whole: ops for whole, ops in groups.items() if sum(ops.values()) >= settings["ops_min_count"]}
    outcomes = _by_load(case, settings, busy)
    outcomes += _by_end(case, settings, busy)
    outcomes += [_outside(case, devices) for devices in by_system(_not_working(case)).values()]
    if outcomes:
        return outcomes
    if not busy:
        short = f"more I/O over the paths of {joined(_names(groups), 2)}"
        return [NotEvaluated(_NAME, short if groups else _NEEDS)]
    shares = [max(ops.values()) / sum(ops.values()) for ops in busy.values()]
    wholes = counted(len(busy), "device or controller", "devices or controllers")
    most = format_ratio(max(shares))
    return [Healthy(_NAME, f"Every active path of {wholes} carries load; the largest share of one is {most}.")]


def _by_load(case: Case, settings: Settings, busy: dict[EntityRef, dict[EntityRef, float]]) -> list[Outcome]:
    """The paths and ports that carried next to nothing, one finding a system and kind."""
    idle: dict[tuple[str, str], dict[EntityRef, EntityRef]] = defaultdict(dict)
    for whole, ops in busy.items():
        even = sum(ops.values()) / len(ops)
        for part, count in ops.items():
            if count < settings["even_share_min"] * even:
                idle[part.system, part.kind][part] = whole
    return [_finding(case, parts, busy) for parts in idle.values()]


def _names(entities: Sequence[EntityRef] | dict[EntityRef, dict[EntityRef, float]]) -> list[str]:
    return [entity.name for entity in entities]


def _carried(case: Case) -> dict[EntityRef, dict[EntityRef, float]]:
    """Device or controller -> its equal paths or ports -> operations over the whole time; groups of two and more."""
    found: dict[EntityRef, dict[EntityRef, float]] = defaultdict(dict)
    for device, paths in paths_by_device(case).items():
        if not spreads(case, device):
            continue
        for path in filter(lambda path: should_carry(case, path), paths):
            series = series_of(case, path)
            if series is not None and series.has("ops_per_s"):
                found[device][path] = total(series, "ops_per_s")
    for port, series in case.series("port", needs=("ops_per_s",)).items():
        for whole in case.linked(port, "member_of"):
            if whole.kind in {"controller", "array"}:
                found[whole][port] = total(series, "ops_per_s")
                break
    return {whole: parts for whole, parts in found.items() if len(parts) >= 2}


def _finding(case: Case, idle: dict[EntityRef, EntityRef], groups: dict[EntityRef, dict[EntityRef, float]]) -> Finding:
    parts = sorted(idle)
    wholes = sorted(set(idle.values()))
    everyone = [part for whole in wholes for part in groups[whole]]
    kind = parts[0].kind
    ways = Counter(adapter_of(case, path) for path in parts) if kind == "path" else Counter[str]()
    common = f" All of them use {next(iter(ways))}." if len(ways) == 1 and len(parts) > 1 else ""
    carried = sum(sum(groups[whole].values()) for whole in wholes)
    own = sum(groups[idle[part]][part] for part in parts)
    shown: list[Series] = [found for part in everyone if (found := series_of(case, part)) is not None]
    start, end = hull([span for series in shown if (span := ends(series)) is not None])
    return Finding(
        rule=_NAME,
        severity=Severity.WARNING,
        confidence=0.85,
        title=f"{counted(len(parts), kind)} of {parts[0].system} "
        f"{'carries' if len(parts) == 1 else 'carry'} nothing while others do",
        summary=(
            f"{listed(case, parts)} carried {format_count(round(own))} of the {format_count(round(carried))} "
            f"operations of {listed(case, wholes, 3)}, over {len(everyone)} active {kind}s in all.{common}"
        ),
        why="The bandwidth of an idle path is missing, and whether it works will be known only when it is needed.",
        innocent="The path came up only recently, or is kept for later use or fail-over although listed as active.",
        check=(
            "Watch the paths under load (esxtop: press d, then P), and disable one busy path for a minute in a quiet "
            "hour: does the idle one take over?"
        ),
        remedy=(
            "See that the device's policy is round robin and the path is among its working paths; re-establish the "
            "session or login of that port; check zoning, VLAN and port binding."
        ),
        source="Below 1 % of an even share: our bound.",
        entities=(*parts, *wholes),
        start_ns=start,
        end_ns=end,
        evidence=(
            case.evidence(
                f"Operations per {kind} over the whole time",
                f"""SELECT kind, entity, count(*) AS intervals, avg(ops_per_s) AS ops_per_s_mean,
                max(ops_per_s) AS ops_per_s_max FROM observations
                WHERE {observed(case, [series.entity for series in shown], "ops_per_s IS NOT NULL")}
                GROUP BY kind, entity ORDER BY ops_per_s_mean, kind, entity""",
            ),
        ),
        weight=0.5,
        numbers={"idle": len(parts), "operations_of_idle": own, "operations": carried},
    )


# To the end --------------------------------------------------------------------------------------------------------


def _by_end(case: Case, settings: Settings, busy: dict[EntityRef, dict[EntityRef, float]]) -> list[Outcome]:
    """The paths that carried and then nothing to the end, one finding a system."""
    found: dict[str, dict[EntityRef, tuple[EntityRef, Ceased]]] = defaultdict(dict)
    for whole, ops in busy.items():
        even = sum(ops.values()) / len(ops)
        parts = {part: series for part in ops if (series := series_of(case, part)) is not None and part.kind == "path"}
        stopped = ceased(
            parts,
            even_share_min=settings["even_share_min"],
            samples_min=settings["stretch_samples_min"],
            ops_min_count=settings["stretch_ops_min_count"],
        )
        for part, how in stopped.items():
            if ops[part] >= settings["even_share_min"] * even:
                found[part.system][part] = (whole, how)
    return [_stopped(case, parts, busy) for parts in found.values()]


def _stopped(
    case: Case,
    stopped: dict[EntityRef, tuple[EntityRef, Ceased]],
    groups: dict[EntityRef, dict[EntityRef, float]],
) -> Finding:
    parts = sorted(stopped)
    wholes = sorted({whole for whole, _ in stopped.values()})
    how = [ceased for _, ceased in stopped.values()]
    carried = sum({whole: ceased.of_all_since for whole, ceased in stopped.values()}.values())
    first, last = min(one.since_ns for one in how), max(one.since_ns for one in how)
    since = case.time_words(first) + (f" (the last of them {case.time_words(last)})" if last > first else "")
    ways = Counter(adapter_of(case, path) for path in parts)
    common = f" All of them use {next(iter(ways))}." if len(ways) == 1 and len(parts) > 1 else ""
    everyone = sorted({part for whole in wholes for part in groups[whole]})
    shown = [series.entity for part in everyone if (series := series_of(case, part)) is not None]
    return Finding(
        rule=_NAME,
        severity=Severity.WARNING,
        confidence=0.85,
        title=f"{counted(len(parts), 'path')} of {parts[0].system} stopped carrying while others go on",
        summary=(
            f"{listed(case, parts)}: idle since {since}, to the end. Before, "
            f"{format_count(round(sum(one.before for one in how)))} operations; since then "
            f"{format_count(round(sum(one.since for one in how)))} of {format_count(round(carried))} of "
            f"{listed(case, wholes, 3)}, over {len(everyone)} paths.{common}"
        ),
        why="The bandwidth of these paths is missing, and so is the redundancy if they are down: the next takes more.",
        innocent="Someone took the paths out of service, or the volume moved to the other controller, at that time.",
        check="Read the states of the paths (esxcli storage nmp path list, multipath -ll) and the log of that time.",
        remedy="Follow what the paths have in common: adapter, cable, SFP, switch or array port; then see each carry.",
        source="Below 1 % of an even share in each interval to the end: our bound.",
        entities=(*parts, *wholes),
        start_ns=first,
        end_ns=max(one.end_ns for one in how),
        evidence=(
            case.evidence(
                "Operations per path, and when each carried last",
                f"""SELECT kind, entity, count(*) AS intervals, avg(ops_per_s) AS ops_per_s_mean,
                max(time) FILTER (ops_per_s > 0) AS last_carried_time FROM observations
                WHERE {observed(case, shown, "ops_per_s IS NOT NULL")}
                GROUP BY kind, entity ORDER BY last_carried_time, kind, entity""",
            ),
        ),
        weight=0.6,
        numbers={"stopped": len(parts), "operations_of_stopped": sum(one.since for one in how), "operations": carried},
    )


# By configuration --------------------------------------------------------------------------------------------------


def _not_working(case: Case) -> dict[EntityRef, tuple[int, int]]:
    """Device with round robin -> (working, active optimised paths), where the policy uses fewer than it could."""
    found = {}
    for device, paths in paths_by_device(case).items():
        working = case.fact(device, "working_paths")
        active = [path for path in paths if state_of(case, path) is not None and should_carry(case, path)]
        if working is not None and working.number and spreads(case, device) and working.number < len(active):
            found[device] = (int(working.number), len(active))
    return found


def _outside(case: Case, devices: list[EntityRef]) -> Finding:
    counts = _not_working(case)
    worst = min(devices, key=lambda device: (counts[device][0] / counts[device][1], device))
    working, active = counts[worst]
    return Finding(
        rule=_NAME,
        severity=Severity.WARNING,
        confidence=0.7,
        title=f"{counted(len(devices), 'device')} of {worst.system} with active paths that round robin leaves out",
        summary=(
            f"Round robin uses {working} of {active} active, optimised paths of {case.label(worst)}. "
            f"Concerned: {listed(case, devices)}."
        ),
        why="The bandwidth of a path outside the working set is missing until the set is built anew.",
        innocent="The two lists were taken at different times, with a path coming up in between.",
        check="Compare esxcli storage nmp device list (Working Paths) with nmp path list, read at the same time.",
        remedy="Re-scan the adapter, or set the policy of the device again, so that the working set is built anew.",
        source="Fewer working paths than active, optimised ones; no threshold is involved.",
        entities=tuple(devices),
        evidence=(
            case.evidence(
                "Working paths",
                f"""SELECT entity AS device, name, value FROM facts
                WHERE {where(devices, "name IN ('working_paths', 'path_policy')")} ORDER BY entity, name""",
            ),
        ),
        weight=0.3,
        numbers={"devices": len(devices), "paths_working": working, "paths_active": active},
    )


RULE = Rule(
    name=_NAME,
    title="a path carries nothing while its equals carry the load",
    evaluate=_evaluate,
    thresholds=(
        Threshold("even_share_min", 0.01, "part of an even share below which a path is idle", "ours"),
        Threshold("stretch_samples_min", 3, "intervals with load at the end in which a path carries nothing", "ours"),
        Threshold("stretch_ops_min_count", 5000, "operations for each path in that part; five turns of 1,000", "ours"),
        Threshold("ops_min_count", 1000, "operations over all paths of a device, below which nothing is said", "ours"),
    ),
)  # fmt: skip
