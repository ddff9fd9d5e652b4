"""Operations reach the controller that does not own the volume.

Looks for
    Volumes and controllers whose operations are forwarded to the partner controller, and devices whose I/O goes over
    paths that are not optimised while optimised ones exist.

Why it matters
    A forwarded read takes an extra hop and a copy between the controllers. When most reads of a volume come to the
    wrong side, an EVA moves the volume after them (implicit LUN transition), and the load moves with it.

Evidence
    Forwarded operations per volume or controller (evaperf vd: the row of the other controller; MSA:
    num-forwarded-cmds), or operations per path with the path's state (esxtop and `esxcli storage nmp path
    list`). Where reads are counted per controller (evaperf), the share is that of reads; else that of all operations.
    Most of them forwarded is critical, unless the volumes are known to be within their latency limits.

When it is wrong
    While a controller or fabric is in service, forwarding is what keeps volumes reachable. Writes are mirrored to the
    partner anyway, so that forwarded writes cost little on an EVA.

References
    HP StorageWorks 4400 Enterprise Virtual Array user guide, "Implicit LUN transition": when the majority of reads
    are proxy reads, the array transitions the volume. 10 % for a warning and 5 % for paths are ours.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._entities import by_system, counted, listed, observed
from storscope.diagnose.rules._harm import harm_behind
from storscope.diagnose.rules._intervals import ends, hull, total, weighted_mean
from storscope.diagnose.rules._paths import is_unoptimised, paths_by_device, series_of
from storscope.diagnose.rules._simulated import is_simulated
from storscope.domain.arrays import FloatArray
from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows, Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.units import format_rate, format_ratio
from storscope.model.bootstrap import ratio_interval
from storscope.store.series import Series

_NAME = "proxied-operations"
_HP = 'HP 4400 EVA user guide, "Implicit LUN transition"'
_PER_SIDE = r"(?i)^(read|write)\b.*req.* via "
"""Counters of operations per controller, as the importer of evaperf names them: 'Read Hit Req/s via B'."""
_NEEDS = (
    "forwarded operations (evaperf vd with the rows of both controllers), or operations per path with the path's state "
    "(esxtop and esxcli storage nmp path list)"
)


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    shares = _shares(case, settings)
    crossing = _crossing(case, settings)
    if not shares and not crossing:
        return [NotEvaluated(_NAME, _NEEDS)]
    bad = {entity: part for entity, part in shares.items() if part.share > settings["forwarded_share_max"]}
    outcomes: list[Outcome] = [
        _forwarded(case, settings, {entity: bad[entity] for entity in entities}) for entities in by_system(bad).values()
    ]
    wrong = {device: share for device, share in crossing.items() if share > settings["unoptimised_share_max"]}
    outcomes += [
        _unoptimised(case, {device: wrong[device] for device in devices}) for devices in by_system(wrong).values()
    ]
    if outcomes:
        return outcomes
    worst = max(
        {**{entity: part.share for entity, part in shares.items()}, **crossing}.items(), key=lambda item: item[1]
    )
    whole = counted(len(shares) + len(crossing), "volume or controller", "volumes and controllers")
    return [Healthy(_NAME, f"Of {whole} none has more than {format_ratio(worst[1])} forwarded ({worst[0].name}).")]


# Forwarded ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Forwarded:
    """What one entity forwarded and what it could have forwarded, interval by interval, both known."""

    forwarded: FloatArray
    whole: FloatArray
    what: str
    """'reads' or 'operations': what both count."""

    @property
    def share(self) -> float:
        """Forwarded over all; nothing forwarded of nothing is 0."""
        whole = float(self.whole.sum())
        return min(1.0, float(self.forwarded.sum()) / whole) if whole > 0 else 0.0


def _shares(case: Case, settings: Settings) -> dict[EntityRef, _Forwarded]:
    """Entity -> what was forwarded, in reads where reads per controller are known; nearly idle ones are left out."""
    found = {}
    known = case.series(needs=("forwarded_per_s",))
    reads = _forwarded_reads(case) if known else {}
    volumes = {entity.system for entity in known if entity.kind == "vdisk"}
    for entity, series in known.items():
        if entity.kind != "vdisk" and entity.system in volumes:
            continue  # a controller is the sum of its volumes
        part = _of_reads(series, reads.get(entity)) or _of_operations(series)
        if part is not None and part.whole.mean() >= settings["ops_per_s_min"]:
            found[entity] = part
    return found


def _of_reads(series: Series, reads: Mapping[int, float] | None) -> _Forwarded | None:
    if reads is None:
        return None
    forwarded = np.array([reads.get(int(time_ns), np.nan) for time_ns in series.time_ns])
    forwarded[series["forwarded_per_s"] == 0] = 0.0
    return _kept(forwarded, series["read_ops_per_s"], "reads")


def _of_operations(series: Series) -> _Forwarded | None:
    """Forwarded operations over all; they may be writes, so that reads alone are no measure for them."""
    if series.has("ops_per_s"):
        return _kept(series["forwarded_per_s"], series["ops_per_s"], "operations")
    return _kept(series["forwarded_per_s"], series["read_ops_per_s"], "operations")


def _kept(forwarded: FloatArray, whole: FloatArray, what: str) -> _Forwarded | None:
    keep = np.isfinite(forwarded) & np.isfinite(whole)
    return _Forwarded(forwarded[keep], whole[keep], what) if keep.any() else None


def _forwarded_reads(case: Case) -> dict[EntityRef, dict[int, float]]:
    """Volume -> instant -> reads per second at the controller that did not own it then.

    evaperf counts reads per controller ("Read Hit Req/s via B"). Which controller forwarded is told by the operations
    of its side, which are those that `forwarded_per_s` counts; the owner of today need not be the one of then.
    """
    table = case.store.query(
        f"""WITH sides AS (
            SELECT system, kind, entity, time, capture, regexp_extract(name, ' via (.+)$', 1) AS side,
                   sum(value) AS ops, sum(value) FILTER (name ILIKE 'read%') AS reads
            FROM counters WHERE run IS NULL AND kind = 'vdisk' AND time IS NOT NULL AND {case.time_condition()}
            AND regexp_matches(name, '{_PER_SIDE}') GROUP BY ALL)
        SELECT o.system, o.kind, o.entity, {case.instant("o.time")} AS time_ns, max(s.reads) AS reads
        FROM observations o JOIN sides s USING (system, kind, entity, time, capture)
        WHERE o.run IS NULL AND o.forwarded_per_s > 0 AND s.reads IS NOT NULL
        AND abs(s.ops - o.forwarded_per_s) <= 1e-6 * o.forwarded_per_s
        GROUP BY ALL HAVING count(DISTINCT s.side) = 1"""
    )
    found: dict[EntityRef, dict[int, float]] = defaultdict(dict)
    for row in table.to_pylist():
        found[EntityRef(row["system"], row["kind"], row["entity"])][row["time_ns"]] = row["reads"]
    return dict(found)


def _forwarded(case: Case, settings: Settings, bad: Mapping[EntityRef, _Forwarded]) -> Finding:
    worst = max(bad, key=lambda entity: (bad[entity].share, entity))
    part = bad[worst]
    interval = ratio_interval(part.forwarded, part.whole, seed=case.seed)
    moves = [entity for entity, other in bad.items() if other.share > settings["transfer_share"]]
    start, end = hull([span for entity in bad if (span := ends(case.all_series[entity])) is not None])
    return Finding(
        rule=_NAME,
        severity=Severity.CRITICAL if any(_may_hurt(case, one) for one in moves) else Severity.WARNING,
        confidence=0.85 if len(part.whole) >= _FEW else 0.65,
        title=f"{format_ratio(part.share)} of {case.label(worst)}'s {part.what} are forwarded between controllers",
        summary=(
            f"{counted(len(bad), worst.kind)} of {worst.system} with more than "
            f"{format_ratio(settings['forwarded_share_max'])} of the {part.what} at the controller that does not own "
            f"it; worst {case.label(worst)} with {format_ratio(part.share)}{_range(interval.low, interval.high)}, "
            f"{format_rate(float(part.forwarded.mean()), 'a second')}.{_moves(case, moves, part.what)}"
            f"{_moved_words(case, settings, worst)}"
        ),
        why="Each forwarded read takes an extra hop and a copy between the controllers, and work for both processors.",
        innocent="A controller, port or fabric is in service, so that only the other side could be reached.",
        check=_CHECK_SIMULATED if is_simulated(case, worst.system) else _CHECK,
        remedy=(
            "Make the hosts use the owner's paths (ALUA policy, preferred paths), or move ownership to the side that "
            "the I/O comes to; repair the missing optimised paths first."
        ),
        source=f"{_HP}: the majority of reads; 10 % for a warning: ours.",
        entities=tuple(bad),
        start_ns=start,
        end_ns=end,
        evidence=_forwarded_rows(case, bad),
        weight=0.6 if moves else 0.4,
        numbers={"forwarded_share_max": part.share, "entities": len(bad), "above_transfer_share": len(moves)},
    )


_CHECK = (
    "Per host: which paths are active and optimised (esxcli storage nmp path list, multipath -ll), and is the owning "
    "controller reachable from every host?"
)
_CHECK_SIMULATED = (
    "Send them to the owner in the design ('via' of the host's volume, or another 'owner'), simulate again and compare "
    "the two runs: what they differ by is what forwarding takes."
)


def _moved_words(case: Case, settings: Settings, volume: EntityRef) -> str:
    """When it moved last, as logs tell: the mean is of before and after, and hosts may not know yet, or it moved to
    where they send."""
    moved = [
        event for event in case.events_of("ownership_changed") if event.entity == volume and event.time_ns is not None
    ]
    if not moved:
        return ""
    last = max(moved, key=lambda event: event.time_ns or 0)
    owner = f" to {last.attributes['owner']}" if last.attributes.get("owner") else ""
    moved_at = f"{case.label(volume)} moved{owner} at {case.time_words(last.time_ns)}"
    series = case.all_series[volume]
    since = series.where(series.time_ns >= (last.time_ns or 0))
    known = since.where(np.isfinite(since["forwarded_per_s"]) & np.isfinite(since["ops_per_s"]))
    operations = float(known["ops_per_s"].sum())
    if operations > 0:
        share = float(known["forwarded_per_s"].sum()) / operations
        if share <= settings["forwarded_share_max"]:
            return f" {moved_at}, and since then {format_ratio(share)} are forwarded: it is over."
    return f" {moved_at}: see whether hosts go on by the paths of before."


def _may_hurt(case: Case, entity: EntityRef) -> bool:
    """False where the latency of the volume, or of what its controller serves, is known to be within its limits."""
    return harm_behind(case, entity) is not Severity.INFO


def _forwarded_rows(case: Case, bad: Mapping[EntityRef, _Forwarded]) -> tuple[EvidenceRows, ...]:
    rows = case.evidence(
        "Forwarded operations",
        f"""SELECT kind, entity, avg(forwarded_per_s) AS forwarded_per_s_mean, avg(ops_per_s) AS ops_per_s_mean,
        avg(read_ops_per_s) AS read_ops_per_s_mean,
        sum(forwarded_per_s) / nullif(sum(ops_per_s), 0) AS share_of_operations
        FROM observations WHERE {observed(case, bad, "forwarded_per_s IS NOT NULL")}
        GROUP BY kind, entity ORDER BY share_of_operations DESC, kind, entity""",
    )
    by_reads = [entity for entity, part in bad.items() if part.what == "reads"]
    if not by_reads:
        return (rows,)
    sides = case.evidence(
        "Operations per controller",
        f"""SELECT entity, name, avg(value) AS per_s_mean FROM counters
        WHERE {observed(case, by_reads, f"regexp_matches(name, '{_PER_SIDE}')")}
        GROUP BY entity, name ORDER BY entity, name""",
    )
    return rows, sides


_FEW = 12
"""Intervals from which a share is taken as lasting (ours)."""


def _range(low: float, high: float) -> str:
    if not (np.isfinite(low) and np.isfinite(high)):
        return ""
    low, high = (min(max(bound, 0.0), 1.0) for bound in (low, high))  # both counts need not be of the same operations
    return f" (95 % interval {format_ratio(low)} to {format_ratio(high)})"


def _moves(case: Case, moves: list[EntityRef], what: str) -> str:
    if not moves:
        return ""
    said = f" With most {what} on the wrong side, an EVA will transfer ownership of {listed(case, moves, 3)}"
    return f"{said}; a design does so with [transition]." if is_simulated(case, moves[0].system) else f"{said}."


# Over paths that are not optimised ---------------------------------------------------------------------------------


def _crossing(case: Case, settings: Settings) -> dict[EntityRef, float]:
    """Device -> share of its operations that took a non-optimised path, where optimised ones exist."""
    carried: dict[EntityRef, dict[bool, float]] = defaultdict(lambda: {True: 0.0, False: 0.0})
    optimised: set[EntityRef] = set()
    for device, paths in paths_by_device(case).items():
        for path in paths:
            series = series_of(case, path)
            if series is not None and series.has("ops_per_s"):
                wrong = is_unoptimised(case, path)
                carried[device][wrong] += total(series, "ops_per_s")
                if not wrong:
                    optimised.add(device)
    return {
        device: parts[True] / sum(parts.values())
        for device, parts in carried.items()
        if device in optimised and sum(parts.values()) >= settings["ops_min_count"]
    }


def _unoptimised(case: Case, bad: Mapping[EntityRef, float]) -> Finding:
    worst = max(bad, key=lambda entity: (bad[entity], entity))
    paths = [path for device in bad for path in paths_by_device(case)[device]]
    shown = [series for path in paths if (series := series_of(case, path)) is not None]
    start, end = hull([span for series in shown if (span := ends(series)) is not None])
    mean = weighted_mean(np.array(list(bad.values())), np.ones(len(bad)))
    return Finding(
        rule=_NAME,
        severity=Severity.WARNING,
        confidence=0.85,
        title=f"{counted(len(bad), 'device')} of {worst.system} send I/O over non-optimised paths",
        summary=(
            f"{format_ratio(bad[worst])} of the operations of {case.label(worst)} took paths in the state 'active "
            f"unoptimized' although optimised ones exist; {format_ratio(mean)} on average over {listed(case, bad)}."
        ),
        why="The controller behind such a path forwards each command to the owner, and some arrays move the volume.",
        innocent="The optimised paths were down for part of the time.",
        check="esxcli storage nmp device list: is useANO=1 set? Are the optimised paths among the working paths?",
        remedy="Set useANO to 0, and repair or add the optimised paths.",
        source="More than 5 % of the operations: ours.",
        entities=tuple(bad),
        start_ns=start,
        end_ns=end,
        evidence=(
            case.evidence(
                "Operations per path",
                f"""SELECT kind, entity, avg(ops_per_s) AS ops_per_s_mean FROM observations
                WHERE {observed(case, [series.entity for series in shown])} GROUP BY kind, entity
                ORDER BY ops_per_s_mean DESC, kind, entity""",
            ),
        ),
        weight=0.4,
        numbers={"unoptimised_share_max": bad[worst], "devices": len(bad)},
    )


RULE = Rule(
    name=_NAME,
    title="operations reach the controller that does not own the volume",
    evaluate=_evaluate,
    thresholds=(
        Threshold("forwarded_share_max", 0.1, "share of reads (else operations) that may be forwarded", "ours"),
        Threshold("transfer_share", 0.5, "share from which an EVA transfers ownership", _HP),
        Threshold("unoptimised_share_max", 0.05, "share of operations over non-optimised paths", "ours"),
        Threshold("ops_per_s_min", 10, "mean operations per second below which a share says nothing", "ours"),
        Threshold("ops_min_count", 1000, "operations over the paths of a device, below which nothing is said", "ours"),
    ),
)  # fmt: skip
