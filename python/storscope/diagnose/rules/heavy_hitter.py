"""One entity takes most of the load while latency is bad.

Looks for
    Among entities of one kind in one system (VMs, volumes, devices, processes): the one with more than half of the
    operations, bytes or queue time (operations x latency) in the bad windows, and whether that is more than it
    takes at other times. Where only the reads were bad, or only the writes, the load of these is looked at as well.
    It must bring 1.5 times the operations or bytes of the others' mean: who has most of the queue time with a load
    like theirs is slow, not heavy. In a bad window it must have a real part of the queue time, too: who brings most
    operations and hardly waits is not what others wait for, nor, where no quiet time tells whether its load rose,
    who is served more quickly than the others and has less than half of the queue time; then it is a warning at
    most. Where nobody brings more than usual and some are several times as slow at the same or a lower load, these
    are named instead, with both figures. Without a bad window the whole time is looked at; then the heaviest must
    bring 50 operations or 10 MiB a second, and be seen for a minute. Entities with less than an operation a second
    on average are idle, and nothing is said where only one is not. The finding is a warning when others are above
    the critical latency of their tier for most of that time, so that no window stands out, information where
    somebody is too slow in the mean, and where nothing is slow a fact that is healthy.

Why it matters
    Whoever has most of the queue time decides how long everybody's operations wait. If its load is new in the bad
    window, it is the first suspect; if it is always so, the system is small for it. Who gets slower without more load
    waits for something below, or for somebody who was not captured.

Evidence
    Operations and latency per interval of at least two entities of one kind at work; bytes, and reads and writes apart,
    where the source has them. Of what got slow without more load, what logs say of the moment at which it began
    (cache, battery, drives, rebuilds, ownership, paths), and what other rules found at the time.

When it is wrong
    A database server is meant to be the heaviest. An entity with high latency has much queue time though it brings
    little load: therefore its operations or bytes must count too. Entities that were not captured take no share.
    Others that are always slow may have a slow place of their own. Operations of another kind (random ones instead of
    a stream) are slower below without any fault.

References
    Little's law (operations in flight = rate x latency). Half of the load, 1.5 times the usual or the others', and of
    those that got slow three times the usual latency at no more than 1.1 times the usual load are ours.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.judged_grids import JudgedGrid, judged_grids, means_words
from storscope.diagnose.peers import CLIENT_KINDS, Grid, clusters, grids
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._causes import with_causes_at_the_time
from storscope.diagnose.rules._entities import joined
from storscope.diagnose.rules._intervals import weighted_mean
from storscope.diagnose.rules._load import (
    at_other_times,
    kind_word,
    named,
    opening,
    rhythm_words,
    span_of,
    talkers,
    window_words,
)
from storscope.diagnose.rules._simulated import is_simulated, without_it
from storscope.diagnose.rules._slowed import Slowed, is_slowed, slowed_finding, slowed_in
from storscope.diagnose.tier_limits import ENTITY_OPS_MIN
from storscope.diagnose.windows import bad_windows, what_was_bad
from storscope.domain.arrays import BoolArray, FloatArray
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.units import (
    MIB,
    NS_PER_S,
    format_bandwidth,
    format_duration,
    format_rate,
    format_ratio,
    format_span,
)

_NAME = "heavy-hitter"
_LOAD_SHARE_MIN = 0.3
"""Of operations or bytes: with less, much queue time means a slow entity, not a heavy one."""
_OTHERS_FACTOR = 1.5
"""Its operations or bytes over the mean of the others at work, below which the loads are alike."""
_AT_WORK_OPS_PER_S = 1.0
"""Mean rate below which an entity is idle, and no part of a fair share."""
_INFO_WEIGHT = 0.1
"""Part of its weight that it has as information only: a failed drive, or a rebuild, says more."""
_QUEUE_TIME = "queue time"
_MOST_NAMED = 3
_MOST_OF_TIME = 0.5
"""Part of the time, and of the intervals with load, that makes an entity always slow."""
_QUIET_SHARE_MIN = 0.1
"""Part of the time outside bad windows that is needed to know what is usual."""
_QUEUE_SHARE_MIN = 0.1
_QUEUE_FAIR_PART = 0.5
"""Share of the queue time in bad windows, and part of an equal share of it, without which nobody waits for it."""


@dataclass(frozen=True)
class _Top:
    """The heaviest entity of a grid; of those that could have made a window bad, where there is one."""

    grid: Grid
    of: str
    """'reads' or 'writes', where only these were bad; else empty."""
    column: int
    at_work: int
    """Number of entities of the grid that are not idle."""
    bad: bool
    """True when there are bad windows, which are then what was looked at."""
    shares: Mapping[str, float]
    """'operations', 'bytes', 'queue time', and 'reads' or 'writes' where only these were bad -> its share of all."""
    ops: float
    bytes: float
    excess: float
    """Its load over its load at other times; NaN when there is no other time."""
    latency_ns: float
    """Mean latency of all operations in the time looked at."""
    apart: str
    """That of reads and of writes in words; empty where they are not told apart."""
    hurts: bool
    """True when one of these means is above the critical limit."""
    windows: Sequence[tuple[int, int]]
    seen_ns: int
    """Length of the intervals looked at."""
    slow: Mapping[EntityRef, str]
    """Without a bad window: others that are too slow most of the time, and their mean latency in words."""
    slowed: Sequence[Slowed]
    """In bad windows that nobody's load explains: who got slow, the most queue time first."""

    @property
    def entity(self) -> EntityRef:
        return self.grid.entities[self.column]

    @property
    def share(self) -> float:
        return max(self.shares.values())

    @property
    def measure(self) -> str:
        return max(self.shares, key=lambda name: self.shares[name])


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    tops = [_top(case, settings, grid) for grid in grids(case, CLIENT_KINDS) if _at_work(grid) > 1]
    known = {top.entity: top for top in tops if top is not None}
    if not known:
        return [NotEvaluated(_NAME, _NEEDS)]
    idle = {top.entity.system: _idle(settings, top) for top in _one_per_system(known) if not _counts(settings, top)}
    known = {entity: top for entity, top in known.items() if _counts(settings, top)}
    heavy = {entity: top for entity, top in known.items() if _is_heavy(settings, top)}
    blamed = {entity.system for entity, top in heavy.items() if not top.bad or not _is_as_usual(settings, top)}
    slowed = {
        top.entity.system: top
        # Of several kinds the last is nearest to where it is slow.
        for top in sorted(known.values(), key=lambda one: CLIENT_KINDS.index(one.entity.kind))
        if top.slowed and top.entity.system not in blamed
    }
    heavy = {entity: top for entity, top in heavy.items() if entity.system not in slowed}
    felt = {top.entity.system for top in heavy.values() if top.bad or top.slow or _is_slow(case, top.grid)}
    calm = {entity: top for entity, top in heavy.items() if entity.system not in felt}
    heavy = {entity: top for entity, top in heavy.items() if entity.system in felt}
    outcomes: list[Outcome] = [
        _finding(case, settings, [heavy[entity] for entity in cluster]) for cluster in clusters(case, heavy)
    ]
    outcomes += [_unfelt(case, top) for top in _one_per_system(calm)]
    outcomes += [slowed_finding(case, _NAME, top.grid, top.windows, top.slowed) for _, top in sorted(slowed.items())]
    systems = {entity.system for entity in (*heavy, *calm)} | slowed.keys()
    outcomes += [_healthy(case, settings, top) for top in _one_per_system(known) if top.entity.system not in systems]
    told = {entity.system for entity in known}
    return outcomes + [outcome for system, outcome in idle.items() if system not in told]


_NEEDS = "operations per interval of at least two entities of one kind that are at work (esxtop, iostat -x)"


def _at_work(grid: Grid) -> int:
    return int((np.nan_to_num(grid.ops).mean(axis=0) >= _AT_WORK_OPS_PER_S).sum())


def _counts(settings: Settings, top: _Top) -> bool:
    """False for a machine that is nearly idle or was seen for a moment: somebody always has most of nothing."""
    loaded = top.ops >= settings["load_min_ops_per_s"] or top.bytes >= settings["load_min_bytes_per_s"]
    return top.bad or (loaded and top.seen_ns >= settings["seen_min_s"] * NS_PER_S)


def _idle(settings: Settings, top: _Top) -> NotEvaluated:
    return NotEvaluated(
        _NAME,
        f"an hour with load on {top.entity.system}: {format_rate(settings['load_min_ops_per_s'])} or "
        f"{format_bandwidth(settings['load_min_bytes_per_s'])} of one {kind_word(top.entity.kind)} over "
        f"{settings['seen_min_s']:g} s; the heaviest here has {format_rate(top.ops)} over {format_span(top.seen_ns)}",
    )


def _top(case: Case, settings: Settings, grid: Grid) -> _Top | None:
    windows = bad_windows(case).get(grid.system, [])
    inside = grid.inside(windows)
    bad = bool(inside.any())
    looked_at = inside if bad else np.ones(len(inside), dtype=bool)
    judged = judged_grids(case, grid)
    basis = what_was_bad(case, grid, inside) if bad else judged[0]
    measures = _measures(grid, basis)
    sums = {name: values[looked_at].sum(axis=0) for name, values in measures.items()}
    shares = {name: each / each.sum() for name, each in sums.items() if each.sum() > 0}
    if "operations" not in shares:
        return None
    rises = np.array([_excess(measures, looked_at, column) for column in range(len(grid.entities))])
    column = _heaviest(settings, grid, shares, rises, bad)
    slow = {} if bad else _always_slow(judged, column)
    all_of_it = {name: values.sum(axis=1, keepdims=True) for name, values in measures.items()}
    rise_of_all = _excess(all_of_it, looked_at, 0)
    slowed = slowed_in(basis, inside, shares, rises, rise_of_all, settings["excess_factor"]) if bad else ()
    count = max(int(looked_at.sum()), 1)
    return _Top(
        grid, basis.of, column, _at_work(grid), bad, {name: float(each[column]) for name, each in shares.items()},
        float(sums["operations"][column]) / count, float(sums["bytes"][column]) / count, float(rises[column]),
        weighted_mean(grid.total_latency_ns[looked_at], np.nan_to_num(grid.total_ops[looked_at])),
        means_words(judged, looked_at), any(one.is_above(looked_at, one.critical_ns) for one in judged),
        windows if bad else [(int(grid.time_ns[0]), int(grid.time_ns[-1]) + grid.step_ns)],
        count * grid.step_ns, slow, slowed,
    )  # fmt: skip


def _measures(grid: Grid, basis: JudgedGrid) -> dict[str, FloatArray]:
    """What can be brought or waited for; where only reads were bad, many writes do not hide who brings these."""
    loads = {"operations": grid.ops, "bytes": grid.bytes}
    if basis.of:
        loads[basis.of] = basis.grid.ops
    return {name: np.nan_to_num(values) for name, values in loads.items()} | {_QUEUE_TIME: grid.waiting}


def _heaviest(settings: Settings, grid: Grid, shares: Mapping[str, FloatArray], rises: FloatArray, bad: bool) -> int:
    """The column with most of the load; in bad windows, of those that have a part of the queue time and brought more
    than usual (or whose usual load is not known), where there is such a one."""
    size = np.mean(list(shares.values()), axis=0)
    if bad:
        risen = ~(rises < settings["excess_factor"])
        could = (
            risen
            & _have_load(settings, _at_work(grid), shares)
            & (shares.get(_QUEUE_TIME, 1.0) >= _queue_share_min(grid))
        )
        if could.any():
            return int(np.argmax(np.where(could, size, -1.0)))
    return int(np.argmax(size))


def _have_load(settings: Settings, at_work: int, shares: Mapping[str, FloatArray]) -> BoolArray:
    """True for those that are heavy by one measure, and bring operations or bytes, more than the others do."""
    most = np.max(list(shares.values()), axis=0)
    result: BoolArray = _bring_more(at_work, shares) & (most >= max(settings["share_min"], 1.5 / at_work))
    return result


def _bring_more(at_work: int, shares: Mapping[str, FloatArray] | Mapping[str, float]) -> BoolArray:
    """True for those that bring `_OTHERS_FACTOR` times the mean of the others at work, by operations or by bytes."""
    more_than_others = _OTHERS_FACTOR / (_OTHERS_FACTOR + at_work - 1)
    brought = np.max([np.asarray(share) for name, share in shares.items() if name != _QUEUE_TIME], axis=0)
    result: BoolArray = brought >= max(_LOAD_SHARE_MIN, more_than_others)
    return result


def _queue_share_min(grid: Grid) -> float:
    return max(_QUEUE_SHARE_MIN, _QUEUE_FAIR_PART / _at_work(grid))


def _always_slow(judged: Sequence[JudgedGrid], heaviest: int) -> dict[EntityRef, str]:
    """Entities beside the heaviest that are above the critical latency of their tier in most of their intervals, be it
    with their reads or their writes only, and their mean latency in words."""
    found: dict[EntityRef, str] = {}
    for one in judged:
        grid = one.grid
        for column, entity in enumerate(grid.entities):
            latency = grid.latency_ns[:, column]
            working = (np.nan_to_num(grid.ops[:, column]) >= ENTITY_OPS_MIN) & np.isfinite(latency)
            if column == heaviest or entity in found or working.mean() < _MOST_OF_TIME:
                continue
            mean_ns, limit_ns = one.mean_and_limit_ns(working, one.critical_ns, column)
            above = latency[working] > one.critical_ns[working, column]
            if mean_ns > limit_ns and above.mean() >= _MOST_OF_TIME:
                found[entity] = f"{one.of} {format_duration(mean_ns)}".strip()
    return found


def _excess(measures: Mapping[str, FloatArray], inside: BoolArray, column: int) -> float:
    """Load inside over load outside, by what rose most of all that is brought; NaN without a quiet time."""
    if (~inside).mean() < _QUIET_SHARE_MIN:
        return float("nan")
    ratios = []
    for name in measures.keys() - {_QUEUE_TIME}:
        values = measures[name][:, column]
        if values[inside].sum() > 0:
            # Nothing at all outside is an infinite rise; a hundredfold says enough.
            ratios.append(values[inside].mean() / max(values[~inside].mean(), values[inside].mean() / 100))
    return float(max(ratios)) if ratios else float("nan")


def _is_heavy(settings: Settings, top: _Top) -> bool:
    shares = {name: np.array(share) for name, share in top.shares.items()}
    return bool(_have_load(settings, top.at_work, shares)) and not _hardly_waits(top) and not _is_served(settings, top)


def _hardly_waits(top: _Top) -> bool:
    """Whether windows are bad and others have nearly all of the queue time in them."""
    return top.bad and top.shares.get(_QUEUE_TIME, 1.0) < _queue_share_min(top.grid)


def _is_served(settings: Settings, top: _Top) -> bool:
    """Whether windows are bad, no quiet time tells of its load, and the others wait longer, and more of them."""
    waits = top.shares.get(_QUEUE_TIME, 1.0)
    return top.bad and bool(np.isnan(top.excess)) and waits < min(settings["share_min"], top.shares["operations"])


def _is_as_usual(settings: Settings, top: _Top) -> bool:
    """Whether it brings in the bad windows what it brings at other times; False where that is not known."""
    return top.excess < settings["excess_factor"]


def _one_per_system(tops: Mapping[EntityRef, _Top]) -> list[_Top]:
    found: dict[str, _Top] = {}
    for entity in sorted(tops, key=lambda one: CLIENT_KINDS.index(one.kind)):
        found.setdefault(entity.system, tops[entity])
    return [found[system] for system in sorted(found)]


def _healthy(case: Case, settings: Settings, top: _Top) -> Healthy:
    when = "in the bad windows" if top.bad else "over the whole time"
    # Much queue time of who brings no more than others is that of a slow one, and nothing healthy: see latency.
    told = [name for name in top.shares if name != _QUEUE_TIME or not _only_waits(settings, top)]
    return Healthy(
        _NAME,
        f"No {kind_word(top.entity.kind)} of {top.entity.system} takes most of the load {when}: the heaviest, "
        f"{case.label(top.entity)}, takes {_share_words(top, told)}" + _excuse(settings, top),
    )


def _unfelt(case: Case, top: _Top) -> Healthy:
    """Who takes most of the load where nothing is slow: a fact, and nothing to be done about."""
    slow = "nothing is slow" if np.isfinite(top.latency_ns) else "how long it waits is not told"
    return Healthy(
        _NAME,
        f"Most of the load of {top.entity.system} is that of {named(case, top.entity)}, and {slow}: it takes "
        f"{_share_words(top)} of {len(top.grid.entities):,} {kind_word(top.entity.kind, 2)} ({_load_words(top)}).",
    )


def _load_words(top: _Top) -> str:
    return format_rate(top.ops) + (f", {format_bandwidth(top.bytes)}" if "bytes" in top.shares else "")


def _excuse(settings: Settings, top: _Top) -> str:
    """Why one with a great share is not blamed; a full stop where there is nothing to say."""
    if _hardly_waits(top):
        return ": too little of the queue time to be what others wait for."
    if _only_waits(settings, top):
        return ". It brings no more than the others."
    return "; it is served more quickly than the others." if _is_served(settings, top) else "."


def _only_waits(settings: Settings, top: _Top) -> bool:
    """Whether it has most of something and brings no more than the others do."""
    return not _bring_more(top.at_work, top.shares) and top.share >= settings["share_min"]


def _share_words(top: _Top, told: Collection[str] | None = None) -> str:
    names = top.shares if told is None else told
    return joined([f"{format_ratio(top.shares[name])} of the {name}" for name in names])


def _severity(settings: Settings, top: _Top) -> tuple[Severity, float]:
    """(severity, confidence)."""
    if top.slow:
        return Severity.WARNING, 0.5
    if not top.bad:
        return Severity.INFO, 0.9
    if _is_as_usual(settings, top):
        return Severity.INFO, 0.5
    if np.isnan(top.excess):
        return Severity.WARNING, 0.6
    return Severity.CRITICAL if top.hurts else Severity.WARNING, 0.85


def _finding(case: Case, settings: Settings, tops: list[_Top]) -> Finding:
    """One finding for a cluster of parts and wholes; the first is nearest to the cause of the load."""
    top = tops[0]
    severity, confidence = _severity(settings, top)
    entities = [each.entity for each in tops]
    start, end = span_of(top.windows)
    return Finding(
        rule=_NAME,
        severity=severity,
        confidence=confidence,
        title=f"{opening(case, top.entity)} takes {format_ratio(top.share)} of the {top.measure}"
        + (" in the bad window" if top.bad else " while others are too slow" if top.slow else ""),
        summary=_summary(case, tops),
        why="Whoever has most operations in flight decides how long everyone's operations wait.",
        innocent=(
            "It is meant to be the heaviest (a database, a backup within its window), and the cause of the latency "
            "lies below: a rebuild, a failing drive, a lost cache."
        ),
        check=(
            "Its load is not what changed: look for what else began with the bad window (others' load, a rebuild, a "
            "lost cache)."
            if top.bad and _is_as_usual(settings, top)
            else without_it(case, top.entity)
            if is_simulated(case, top.entity.system)
            else _check_words(case, top.entity)
        ),
        remedy=_remedy_words(case, top.entity),
        source=f"More than {format_ratio(settings['share_min'])} of the load, and {settings['excess_factor']:g} times "
        "its usual load: our bounds.",
        entities=entities,
        start_ns=start,
        end_ns=end,
        evidence=(
            talkers(case, f"Who takes the load of {top.entity.system}", top.grid, top.windows, top.of),
            *([] if np.isnan(top.excess) else [at_other_times(case, top.grid, top.entity, top.windows, top.of)]),
        ),
        # A neighbour that is shown to slow others says more, and stands before; so does who is nearer to the cause.
        weight=0.8
        * top.share
        * (1 - 0.05 * CLIENT_KINDS.index(top.entity.kind))
        * (_INFO_WEIGHT if severity is Severity.INFO else 1.0),
        numbers=_numbers(top),
    )


def _is_lun(case: Case, entity: EntityRef) -> bool:
    """Whether it is storage of a hypervisor's host, whose load is that of its VMs."""
    beside = {one.kind for one in case.entities if one.system == entity.system}
    return entity.kind in ("device", "datastore") and "vm" in beside


def _check_words(case: Case, entity: EntityRef) -> str:
    if _is_lun(case, entity):
        return (
            f"See whose load it is: that of the VMs on {case.label(entity)} in the same minutes (esxtop, screen v), or "
            "the host's own (a clone, a snapshot that is removed)."
        )
    return (
        f"Pause or slow {case.label(entity)} for a few minutes and watch the others' latency; inside it, find the "
        "process (resource monitor, iotop, database waits)."
    )


def _remedy_words(case: Case, entity: EntityRef) -> str:
    if _is_lun(case, entity):
        return (
            "Move a part of its VMs to other LUNs, or limit the one that brings the load; if it must run so, size the "
            "storage for it."
        )
    return (
        "Tune its queries, move it to other drives or another time, or limit its operations; if it must run so, size "
        "the storage for it."
    )


def _summary(case: Case, tops: list[_Top]) -> str:
    top = tops[0]
    when = "Over the whole time" + ("" if top.slow else ", without a window worse than the rest,")
    if top.bad:
        when = f"In {window_words(case, top.windows)}"
    load = _load_words(top)
    of_all = len(top.grid.entities)
    idle = f", of which {top.at_work:,} are at work" if top.at_work < of_all else ""
    text = (
        f"{when} {named(case, top.entity)} takes {_share_words(top)} of {of_all:,} "
        f"{kind_word(top.entity.kind, 2)}{idle} ({load}). "
    )
    if top.bad:
        apart = f" ({top.apart})" if top.apart else ""
        text += f"All operations took {format_duration(top.latency_ns)} in the mean{apart}. {_excess_words(top)}"
        text += rhythm_words(case, top.grid.system)
    if top.slow:
        slow = [f"{case.label(entity)} ({words})" for entity, words in top.slow.items()]
        text += f"Too slow most of the time: {joined(slow[:_MOST_NAMED])}"
        text += f" and {len(slow) - _MOST_NAMED:,} more. " if len(slow) > _MOST_NAMED else ". "
        text += _excess_words(top)
    if len(tops) > 1:
        text += f" The same load is seen at {joined([named(case, each.entity) for each in tops[1:]])}."
    return text.strip()


def _is_slow(case: Case, grid: Grid) -> bool:
    """Whether somebody's operations take too long on average, though no window is worse than the rest."""
    always = np.ones(len(grid.time_ns), dtype=bool)
    return any(
        one.is_above(always, one.warning_ns, column)
        for one in judged_grids(case, grid)
        for column in range(len(grid.entities))
        if np.nan_to_num(one.grid.ops[:, column]).mean() >= ENTITY_OPS_MIN
    )


def _excess_words(top: _Top) -> str:
    if np.isnan(top.excess):
        return "There is no quiet time to compare its load with."
    if top.excess >= 100:
        return "At other times it brings next to nothing."
    return f"That is {top.excess:.1f} times its load at other times."


def _numbers(top: _Top) -> dict[str, float]:
    numbers = {f"share_of_{name.replace(' ', '_')}": share for name, share in top.shares.items()}
    numbers |= {"ops_per_s": top.ops, "bytes_per_s": top.bytes, "latency_ns_mean": top.latency_ns, "excess": top.excess}
    return {name: value for name, value in numbers.items() if np.isfinite(value)}


def _completed(case: Case, finding: Finding, outcomes: Sequence[Outcome]) -> Finding:
    """What got slow without more load has its cause below, which another rule may have found."""
    return with_causes_at_the_time(case, finding, outcomes) if is_slowed(finding) else finding


RULE = Rule(
    name=_NAME,
    title="one entity takes most of the load while latency is bad",
    evaluate=_evaluate,
    completed=_completed,
    thresholds=(
        Threshold("share_min", 0.5, "share of operations, bytes or queue time that makes a heavy hitter",
                  "ours: more than all others together"),
        Threshold("excess_factor", 1.5, "load in the bad window over load at other times that makes it a suspect",
                  "ours"),
        Threshold("load_min_ops_per_s", 50, "load of the heaviest that is worth naming when nothing is bad", "ours"),
        Threshold("load_min_bytes_per_s", 10 * MIB, "the same in bytes; either is enough", "ours"),
        Threshold("seen_min_s", 60, "time looked at, below which nothing is said when nothing is bad", "ours"),
    ),
)  # fmt: skip
