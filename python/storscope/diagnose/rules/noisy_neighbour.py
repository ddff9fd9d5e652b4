"""The load of one entity explains the latency of others that share a component with it.

Looks for
    Among entities of one kind in one system: a suspect with a good part of the load, whose operations or bytes go
    together with the latency of others, after the others' own load and everybody else's load are taken out (partial
    correlation at lag 0 or 1), and whose victims wait noticeably longer while it is loud. The strongest suspect by
    queue time comes first; the next ones must explain what it left.

Why it matters
    The victims cannot help themselves: their own load is not the cause. Slowing or moving one neighbour helps all.

Evidence
    Operations and latency per interval of at least two entities of one kind, and links that say what they rest on
    (volumes of a disk group, VM disks of a datastore, partitions of a device).

When it is wrong
    A correlation is no cause. What rises at the same time for all (a working day, a backup of everything) looks like
    each of them; without a shared component in the evidence it is reported as a correlation only. An entity that
    slows down others through a component nobody captured is missed or misnamed. Loads that always move together (the
    two sides of a mirror) cannot be told apart, and accuse nobody.

References
    The correlation of 0.6 and the check by intervention are common practice, no citation; that a cause must share a
    component with its victim follows DIADS (Babu and others, FAST 2009). Blocks: Politis and White 2004. Variance
    inflation: Belsley, Kuh and Welsch, Regression Diagnostics, 1980.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.peers import CLIENT_KINDS, Grid, clusters, grids, rests_on
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._entities import counted, joined, listed
from storscope.diagnose.rules._load import between, kind_word, named, opening, rows_sql
from storscope.diagnose.rules.component_saturated import used_to_the_full
from storscope.diagnose.windows import bad_windows, tier_limits
from storscope.domain.arrays import BoolArray, FloatArray
from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows, Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.units import format_bandwidth, format_duration, format_rate, format_ratio
from storscope.model.bootstrap import Interval, block_length, interval_of_sums
from storscope.model.overload import bridged, runs_of
from storscope.model.regression import (
    coefficients,
    explained_share,
    moments,
    partial_correlation,
    scaled,
    total_moments,
)
from storscope.store.sql import sql_text

_NAME = "noisy-neighbour"
_CARRIERS = {"disk_group", "device", "datastore", "controller", "adapter", "array", "disk", "port", "vdisk", "path",
             "filesystem", "nic", "partition"}  # fmt: skip
"""Components through which storage load of one slows another. Two VMs of one host share more, but no storage."""
_SUSPECTS_MAX = 6
_MOVES_TOGETHER = 0.8
"""Correlation with all other load from which the two cannot be told apart."""
_LOUD_INTERVALS_MIN = 5
_PAUSE = 0.5
"""Part of an entity's usual load below which it pauses."""
_R_LOW_MIN = 0.3
_OWN_PART_MIN = 0.01
"""Part of a suspect's changes of load that what is held fixed does not show as well: with less (a variance inflation of
100) it has none of its own to judge by (ours; 10 is a common warning)."""
_FACTOR_SPAN_MAX = 1e3
"""Ends of the interval of a factor, one over the other, from which nothing was measured."""


@dataclass(frozen=True)
class _Suspicion:
    """A suspect and the entities whose latency goes with its load."""

    grid: Grid
    column: int
    measure: str
    """'operations' or 'bytes'."""
    victims: tuple[int, ...]
    components: frozenset[EntityRef]
    """What it shares with its victims; empty when nothing is known to be shared."""
    r: Interval
    factor: Interval
    """Victims' latency when the suspect is loud over when it is quiet, own and other load held fixed."""
    quiet_ns: float
    loud_ns: float
    loud_from: float
    share: float
    """Its share of the load while latency was bad."""
    waiting_share: float
    episodes: int
    """How often it became loud; once may be a coincidence that no statistic can exclude."""
    companions: tuple[int, ...]
    """Entities whose load moves with the suspect's so closely that they cannot be told apart."""

    @property
    def entity(self) -> EntityRef:
        return self.grid.entities[self.column]

    @property
    def victim_entities(self) -> list[EntityRef]:
        return [self.grid.entities[column] for column in self.victims]


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    chosen = [grid for grid in grids(case, CLIENT_KINDS) if _is_usable(settings, grid)]
    if not chosen:
        return [
            NotEvaluated(
                _NAME,
                f"operations and latency of at least two entities of one kind over "
                f"{settings['intervals_min_count']:.0f} intervals or more (iostat -x -t, esxtop -b, EVAperf)",
            )
        ]
    found = {one.entity: one for grid in chosen for one in _suspicions(case, settings, grid)}
    shared = {entity: one for entity, one in found.items() if one.components}
    outcomes: list[Outcome] = [
        _finding(case, settings, shared[group[0]], [shared[entity] for entity in group[1:]])
        for group in clusters(case, shared)
    ]
    told = {entity.system for entity in shared}
    loose = {entity: one for entity, one in found.items() if entity.system not in told}
    outcomes += [_correlation(case, settings, one) for one in _strongest(loose)]
    silent = sorted({grid.system for grid in chosen} - {entity.system for entity in found})
    return outcomes + [_silence(case, settings, chosen, system) for system in silent]


def _is_usable(settings: Settings, grid: Grid) -> bool:
    timed = (np.isfinite(grid.latency_ns).sum(axis=0) >= settings["intervals_min_count"]).sum()
    return len(grid.entities) > 1 and bool(timed >= 1)


def _strongest(loose: dict[EntityRef, _Suspicion]) -> list[_Suspicion]:
    best: dict[str, _Suspicion] = {}
    for entity, one in sorted(loose.items(), key=lambda item: -item[1].waiting_share):
        best.setdefault(entity.system, one)
    return [best[system] for system in sorted(best)]


# Who explains whom -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Field:
    """What the search looks at: log latency and loads, absent load at its mean, spikes brought in."""

    grid: Grid
    log_latency: FloatArray
    loads: dict[str, FloatArray]
    bad: BoolArray
    correlations: list[float]
    """Every partial correlation that was looked at."""
    refused: list[tuple[float, str]]
    """(partial correlation, what spoke against it in words) of those that went with latency and still do not count."""


def _suspicions(case: Case, settings: Settings, grid: Grid) -> list[_Suspicion]:
    field = _field(case, grid)
    found: list[_Suspicion] = []
    for column in _by_queue_time(settings, field):
        suspicion = _suspicion(case, settings, field, column, [one.column for one in found])
        if suspicion is not None:
            found.append(suspicion)
    return found


def _field(case: Case, grid: Grid) -> _Field:
    with np.errstate(divide="ignore", invalid="ignore"):
        log_latency = np.log(np.where(grid.latency_ns > 0, grid.latency_ns, np.nan))
    loads = {"operations": _filled(grid.ops)}
    if np.isfinite(grid.bytes).any():
        loads["bytes"] = _filled(grid.bytes)
    bad = grid.inside(bad_windows(case).get(grid.system, []))
    if not bad.any():
        total = np.nan_to_num(grid.total_latency_ns)
        bad = total >= np.quantile(total, 0.9)
    seen, refused = (case.memo.setdefault((_NAME, grid.system, what), []) for what in ("seen", "refused"))
    return _Field(grid, log_latency, loads, bad, seen, refused)


def _filled(values: FloatArray) -> FloatArray:
    """Loads with spikes brought in and absent values at their column's mean, where they say nothing."""
    known = np.isfinite(values)
    mean = np.where(known, values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    filled = np.where(known, values, mean)
    result: FloatArray = np.minimum(filled, np.quantile(filled, 0.995, axis=0))
    return result


def _by_queue_time(settings: Settings, field: _Field) -> list[int]:
    """Columns with enough of the load while latency was bad, the most queue time first."""
    shares = np.max([_shares(load[field.bad]) for load in field.loads.values()], axis=0)
    waiting = field.grid.waiting[field.bad].sum(axis=0)
    order = sorted(range(len(shares)), key=lambda column: (-waiting[column], field.grid.entities[column]))
    return [column for column in order if shares[column] >= settings["suspect_share_min"]][:_SUSPECTS_MAX]


def _shares(load: FloatArray) -> FloatArray:
    total = float(load.sum())
    result: FloatArray = load.sum(axis=0) / total if total > 0 else np.zeros(load.shape[1])
    return result


def _suspicion(case: Case, settings: Settings, field: _Field, column: int, accepted: list[int]) -> _Suspicion | None:
    """The suspect's case, by operations or bytes, whichever goes better with the others' latency."""
    best: tuple[float, str, int, list[int]] | None = None
    for measure, load in field.loads.items():
        for lag in (0, 1):
            victims = _victims(case, settings, field, load, column, accepted, lag)
            weight = sum(r for _, r in victims)
            if victims and (best is None or weight > best[0]):
                best = (weight, measure, lag, [victim for victim, _ in victims])
    if best is None:
        return None
    _, measure, lag, victims_of = best
    entity = field.grid.entities[column]
    sharing = [v for v in victims_of if _shared(case, entity, field.grid.entities[v])]
    components = [_shared(case, entity, field.grid.entities[v]) for v in sharing]
    common = frozenset.intersection(*components) or components[0] if components else frozenset()
    weighed = _weighed(settings, field, column, measure, lag, sharing or victims_of, common, accepted)
    if isinstance(weighed, str):
        suspect, hurt = named(case, entity), listed(case, [field.grid.entities[v] for v in sharing or victims_of])
        field.refused.append((best[0] / len(victims_of), f"{suspect} and the latency of {hurt}, but {weighed}"))
        return None
    return weighed


def _shared(case: Case, one: EntityRef, other: EntityRef) -> frozenset[EntityRef]:
    return frozenset(part for part in _rests_on(case, one) & _rests_on(case, other) if part.kind in _CARRIERS)


def _rests_on(case: Case, entity: EntityRef) -> frozenset[EntityRef]:
    """What an entity or its parts rest on: a VM by its disks."""
    below = rests_on(case, entity).union(*(rests_on(case, part) for part in case.linked_from(entity, "member_of")))
    return below - {entity}


def _victims(
    case: Case, settings: Settings, field: _Field, load: FloatArray, column: int, accepted: list[int], lag: int
) -> list[tuple[int, float]]:
    """(victim, partial correlation) of those whose latency goes with the suspect's load."""
    suspect = _lagged(load[:, column], lag)
    found = []
    for victim in range(load.shape[1]):
        latency = field.log_latency[:, victim]
        known = np.isfinite(latency)
        if victim == column or victim in accepted or known.sum() < settings["intervals_min_count"]:
            continue
        # The plain correlation is cheap; a partial one that counts does not hide behind one near zero.
        if abs(_correlation_of(suspect[known], latency[known])) < 0.5 * settings["r_level_min"]:
            continue
        columns = [suspect, *_controls(field, load, column, [victim], accepted, latency), latency]
        judged = np.column_stack([scaled(each[known]) for each in columns])
        if _own_part(judged) < _OWN_PART_MIN:
            one, other = (field.grid.entities[place] for place in (column, victim))
            field.refused.append(
                (0.0, f"{named(case, one)} and the latency of {case.label(other)}, but {_INSEPARABLE}")
            )
            continue
        r = _partial(judged)
        field.correlations.append(r)
        if r >= settings["r_level_min"]:
            found.append((victim, r))
    return found


def _lagged(values: FloatArray, lag: int) -> FloatArray:
    return np.concatenate([values[:1].repeat(lag), values[: len(values) - lag]]) if lag else values


def _correlation_of(one: FloatArray, other: FloatArray) -> float:
    return float(np.mean(scaled(one) * scaled(other)))


def _partial(columns: FloatArray) -> float:
    return float(partial_correlation(total_moments(columns), columns.shape[1])[0])


_INSEPARABLE = "the loads go up and down together, so that they cannot be told apart"


def _own_part(columns: FloatArray) -> float:
    """Part of the first column's variance that the others but the last do not explain; 1 where there are none."""
    if columns.shape[1] < 3:
        return 1.0
    turned = np.column_stack([columns[:, 1:-1], columns[:, 0]])
    return 1.0 - float(explained_share(total_moments(turned), turned.shape[1])[0])


def _controls(
    field: _Field, load: FloatArray, column: int, victims: Sequence[int], accepted: list[int], latency: FloatArray
) -> list[FloatArray]:
    """What is held fixed: the victims' own load, what all others bring, and each suspect accepted before.

    What others bring is left out where it moves with the suspect: taking it out would take out the suspect itself.
    A load that falls while latency rises is left out too: it does not explain the rise, it suffers from it (who waits
    for each operation gets fewer done).
    """
    own = [each[:, list(victims)].sum(axis=1) for each in field.loads.values()]
    apart = {column, *victims, *accepted}
    others = load.sum(axis=1) - load[:, sorted(apart)].sum(axis=1)
    if len(apart) < load.shape[1] and abs(_correlation_of(load[:, column], others)) <= _MOVES_TOGETHER:
        own.append(others)
    known = np.isfinite(latency)
    rising = [each for each in own if _correlation_of(each[known], latency[known]) > 0]
    return rising + [load[:, other] for other in accepted]


def _weighed(
    settings: Settings, field: _Field, column: int, measure: str, lag: int, victims: list[int],
    components: frozenset[EntityRef], accepted: list[int],
) -> _Suspicion | str:  # fmt: skip
    """Intervals for the victims taken together; words when chance could do it or nobody was hurt noticeably."""
    load = field.loads[measure]
    suspect = _lagged(load[:, column], lag)
    latency = _typical(field.log_latency[:, victims])
    known = np.isfinite(latency)
    quiet_at, loud_at = np.quantile(suspect, [0.1, 0.99])
    loud_from = float((quiet_at + loud_at) / 2)
    loud = suspect >= loud_from
    if min((loud & known).sum(), (~loud & known).sum()) < _LOUD_INTERVALS_MIN:
        return f"it was loud (or quiet) in fewer than {_LOUD_INTERVALS_MIN} intervals"
    quiet_ns = float(np.exp(np.median(latency[known & ~loud])))
    loud_ns = float(np.exp(np.median(latency[known & loud])))
    controls = _controls(field, load, column, victims, accepted, latency)
    columns = np.column_stack([scaled(each[known]) for each in (suspect, *controls, latency)])
    r, slope = _intervals(columns, case_seed=column)
    reach = float(suspect[known & loud].mean() - suspect[known & ~loud].mean()) / float(suspect[known].std())
    spread = float(latency[known].std())
    with np.errstate(over="ignore"):
        low, middle, high = (float(np.exp(b * reach * spread)) for b in (slope.low, slope.estimate, slope.high))
    factor = Interval(middle, low, high)
    if r.estimate < settings["r_level_min"]:
        return f"taken together it is {r.estimate:.2f}, below {settings['r_level_min']:g}"
    if r.low < _R_LOW_MIN:
        return f"chance could do it ({between(r, '{:.2f}'.format)})"
    if not factor.high <= _FACTOR_SPAN_MAX * factor.low:
        return "how much slower it makes anybody cannot be told from these intervals"
    if loud_ns < settings["slower_factor"] * quiet_ns:
        return (
            f"nobody was hurt noticeably: {format_duration(loud_ns)} while it is loud, {format_duration(quiet_ns)} "
            f"while it is quiet, less than {settings['slower_factor']:g} times as much"
        )
    return _Suspicion(
        field.grid, column, measure, tuple(victims), components, r, factor, quiet_ns, loud_ns, loud_from,
        float(_shares(load[field.bad])[column]), float(_shares(field.grid.waiting[field.bad])[column]),
        len(runs_of(bridged(loud, 2))), _companions(load, column, victims),
    )  # fmt: skip


def _typical(log_latency: FloatArray) -> FloatArray:
    """The victims' mean log latency relative to each one's own level, put back at the common level."""
    known = np.isfinite(log_latency)
    level = np.where(known, log_latency, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    relative = np.where(known, log_latency - level, 0.0).sum(axis=1)
    count = known.sum(axis=1)
    return np.where(count > 0, relative / np.maximum(count, 1) + level.mean(), np.nan)


def _intervals(columns: FloatArray, case_seed: int) -> tuple[Interval, Interval]:
    """(partial correlation, slope) with intervals by blocks. Columns: suspect, controls, latency, all scaled."""
    k = columns.shape[1]
    solved = coefficients(total_moments(columns), k)[0]
    residual = columns[:, -1] - solved[0] - columns[:, :-1] @ solved[1:]
    # How long the errors hang together decides; a suspect that was loud once is one long block itself, and resampling
    # by its length would ask whether it was loud at all.
    block = block_length(residual)
    rows = moments(columns)
    r = interval_of_sums(rows, lambda sums: partial_correlation(sums, k), block=block, seed=case_seed, replicates=200)
    slope = interval_of_sums(
        rows, lambda sums: coefficients(sums, k)[:, 1], block=block, seed=case_seed, replicates=200
    )
    return r, slope


def _companions(load: FloatArray, column: int, victims: list[int]) -> tuple[int, ...]:
    """Others with real load whose load moves with the suspect's."""
    share = _shares(load)
    return tuple(
        other
        for other in range(load.shape[1])
        if other != column
        and other not in victims
        and share[other] >= 0.1
        and _correlation_of(load[:, column], load[:, other]) > _MOVES_TOGETHER
    )


# Words -----------------------------------------------------------------------------------------------------------


def _finding(case: Case, settings: Settings, one: _Suspicion, more: list[_Suspicion]) -> Finding:
    victims = one.victim_entities
    hurts = one.loud_ns > tier_limits(case, victims[0]).critical_ns
    common = sorted(one.components, key=lambda part: (part.kind != "disk_group", part))
    what = joined([named(case, part) for part in common], 2)
    parts = [entity for other in more for entity in (other.entity,)]
    return Finding(
        rule=_NAME,
        severity=Severity.CRITICAL if hurts else Severity.WARNING,
        confidence=0.6 if one.companions else 0.8 if one.episodes == 1 else 0.9,
        title=f"{opening(case, one.entity)} slows down {_victim_words(case, one, 1)}",
        summary=(
            f"{_numbers_sentence(case, one)} They share {what}. {_episode_words(one)}{_companion_words(case, one)}"
            + (f"The same is seen at {listed(case, parts)}. " if parts else "")
            + _refused_words(case, one)
        ).strip(),
        why="The victims wait for somebody else's operations; nothing they change in their own load will help.",
        innocent=(
            "Something else began and ended at the same times (a backup of everything, a rebuild, a working day), and "
            f"{case.label(one.entity)} only marks the hours."
        ),
        check=(
            f"Pause or throttle {case.label(one.entity)} for five minutes while the victims work: their latency must "
            f"fall towards {format_duration(one.quiet_ns)} within an interval or two."
        ),
        remedy=_remedy(case, one),
        source=f"Partial correlation of at least {settings['r_level_min']:g}: common practice, no citation; a shared "
        "component is required.",
        entities=[one.entity, *victims, *sorted(one.components)],
        start_ns=_loud_span(one)[0],
        end_ns=_loud_span(one)[1],
        evidence=(_rows(case, one),),
        weight=min(1.0, one.r.estimate**2 * max(one.share, one.waiting_share) + 0.1),
        numbers=_numbers(one),
    )


def _correlation(case: Case, settings: Settings, one: _Suspicion) -> Finding:
    """The finding without a shared component: what was seen, and no word of cause."""
    kinds = kind_word(one.entity.kind, 2)
    return Finding(
        rule=_NAME,
        severity=Severity.INFO,
        confidence=0.5,
        title=f"Latency of {_victim_words(case, one, 1)} correlates with load of {named(case, one.entity)}",
        summary=(
            f"{_numbers_sentence(case, one)} No shared component is known, so this is a correlation and nothing more. "
            f"{_companion_words(case, one)}"
        ).strip(),
        why="If they turn out to share drives, a controller or a port, this is where to look first.",
        innocent="They follow the same timetable and share nothing.",
        check=(
            f"Find out what the {kinds} rest on: import the array's and the hosts' configuration as well, then "
            f"diagnose again; or pause {case.label(one.entity)} for five minutes and watch the others."
        ),
        remedy="None before the check.",
        source=f"Partial correlation of at least {settings['r_level_min']:g}: common practice, no citation.",
        entities=[one.entity, *one.victim_entities],
        start_ns=_loud_span(one)[0],
        end_ns=_loud_span(one)[1],
        evidence=(_rows(case, one),),
        weight=0.5 * one.share,
        numbers=_numbers(one),
    )


def _remedy(case: Case, one: _Suspicion) -> str:
    """Drives of its own help where drives are what they wait for, not where something before the drives is full."""
    limit = "limit its operations (storage I/O control, a limit on the VM or volume)"
    full = [
        found
        for entity, found in used_to_the_full(case).items()
        if entity.system in {part.system for part in one.components} and entity.kind not in _DRIVES
    ]
    if not full or any(entity.kind in _DRIVES for entity in used_to_the_full(case)):
        return f"Move {case.label(one.entity)} to drives of its own or to another time, or {limit}."
    return (
        f"Move {case.label(one.entity)} to another time, or {limit}. Drives of its own would not help: what is used to "
        f"the full is {joined([found.words for found in full], 2)}; see there."
    )


_DRIVES = ("disk", "disk_group")


def _victim_words(case: Case, one: _Suspicion, most: int) -> str:
    victims = one.victim_entities
    if len(victims) <= most:
        return listed(case, victims)
    return counted(len(victims), "other " + kind_word(one.entity.kind), "other " + kind_word(one.entity.kind, 2))


def _numbers_sentence(case: Case, one: _Suspicion) -> str:
    take = "takes" if len(one.victim_entities) == 1 else "take"
    loud = f"While {named(case, one.entity)} is loud ({format_ratio(one.share)} of the {one.measure} in the bad time)"
    return (
        f"{loud}, {listed(case, one.victim_entities)} {take} {format_duration(one.loud_ns)} an operation instead of "
        f"{format_duration(one.quiet_ns)} (medians). With their own and all other load held fixed, latency is "
        f"{one.factor.estimate:.1f} times as high ({between(one.factor, '{:.1f}'.format)}; r = {one.r.estimate:.2f}, "
        f"{between(one.r, '{:.2f}'.format)})."
    )


def _episode_words(one: _Suspicion) -> str:
    return "It was loud once, so a coincidence cannot be excluded. " if one.episodes == 1 else ""


def _refused_words(case: Case, one: _Suspicion) -> str:
    """A second suspect that went with latency and still does not count: who reads of one alone looks no further."""
    refused: list[tuple[float, str]] = case.memo.get((_NAME, one.grid.system, "refused"), [])
    return f"Seen too, not proven: {max(refused)[1]}. " if refused else ""


def _companion_words(case: Case, one: _Suspicion) -> str:
    if not one.companions:
        return ""
    names = listed(case, [one.grid.entities[column] for column in one.companions])
    return f"The load of {names} moves with it, so their parts cannot be told apart; the one with most is named. "


def _loud_span(one: _Suspicion) -> tuple[int, int]:
    load = one.grid.ops if one.measure == "operations" else one.grid.bytes
    loud = np.flatnonzero(np.nan_to_num(load[:, one.column]) >= one.loud_from)
    return int(one.grid.time_ns[loud[0]]), int(one.grid.time_ns[loud[-1]]) + one.grid.step_ns


def _numbers(one: _Suspicion) -> dict[str, float]:
    return {
        "r": one.r.estimate, "r_low": one.r.low, "r_high": one.r.high,
        "slower_factor": one.factor.estimate, "slower_factor_low": one.factor.low,
        "slower_factor_high": one.factor.high, "latency_ns_quiet": one.quiet_ns, "latency_ns_loud": one.loud_ns,
        "episodes": float(one.episodes), "share_of_load": one.share, "share_of_queue_time": one.waiting_share,
        "victims": float(len(one.victims)),
    }  # fmt: skip


def _loudness(one: _Suspicion) -> str:
    return format_rate(one.loud_from) if one.measure == "operations" else format_bandwidth(one.loud_from)


def _rows(case: Case, one: _Suspicion) -> EvidenceRows:
    column = "ops_per_s" if one.measure == "operations" else "bytes_per_s"
    step, instant = one.grid.step_ns, case.instant()
    where = rows_sql(case, one.grid)
    return case.evidence(
        f"Latency while {case.label(one.entity)} is loud (at least {_loudness(one)}) and quiet",
        f"""WITH kept AS (SELECT entity, {instant} // {step} AS step, ops_per_s, latency_ns_mean, {column} AS load
        FROM observations WHERE {where}),
        suspect AS (SELECT step, max(load) >= {one.loud_from:.6g} AS loud FROM kept
        WHERE entity = {sql_text(one.entity.name)} GROUP BY step)
        SELECT entity, round(median(latency_ns_mean) FILTER (NOT loud)) AS latency_ns_quiet,
        round(median(latency_ns_mean) FILTER (loud)) AS latency_ns_loud,
        round(avg(ops_per_s) FILTER (NOT loud), 1) AS ops_per_s_quiet,
        round(avg(ops_per_s) FILTER (loud), 1) AS ops_per_s_loud, count(*) FILTER (loud) AS intervals_loud
        FROM kept JOIN suspect USING (step) GROUP BY entity
        ORDER BY (entity = {sql_text(one.entity.name)}) DESC, latency_ns_loud DESC NULLS LAST""",
    )


def _silence(case: Case, settings: Settings, chosen: Sequence[Grid], system: str) -> Outcome:
    """Nothing was found: healthy, unless others are too slow beside one whose load never pauses."""
    grid = next(grid for grid in chosen if grid.system == system)
    return _healthy(case, grid, system) if (steady := _steady(case, settings, grid)) is None else steady


def _steady(case: Case, settings: Settings, grid: Grid) -> NotEvaluated | None:
    """What is missing where the heaviest is as loud all the time and others are slow: nobody's latency can go with it.

    None where the load varies, or nobody is slow.
    """
    load = np.nan_to_num(grid.ops)
    column = int(np.argmax(grid.waiting.sum(axis=0)))
    own, share = grid.ops[:, column], float(_shares(load)[column])
    own = own[np.isfinite(own)]  # an interval without a figure is no pause
    quiet = int((own < _PAUSE * np.quantile(own, 0.95)).sum()) if own.size else 0
    slow = [
        entity
        for other, entity in enumerate(grid.entities)
        if other != column
        and (known := grid.latency_ns[:, other][np.isfinite(grid.latency_ns[:, other])]).size
        and float(np.median(known)) > tier_limits(case, entity).critical_ns
    ]
    if share < settings["suspect_share_min"] or quiet >= _LOUD_INTERVALS_MIN or not slow:
        return None
    return NotEvaluated(
        _NAME,
        f"a time in which {named(case, grid.entities[column])} pauses: it brings {format_ratio(share)} of the "
        f"operations all the time, so that it cannot be told whether {listed(case, slow)} would be quicker without it",
    )


def _healthy(case: Case, grid: Grid, system: str) -> Healthy:
    seen: list[float] = case.memo.get((_NAME, system, "seen"), [])
    refused: list[tuple[float, str]] = case.memo.get((_NAME, system, "refused"), [])
    greatest = f"the greatest partial correlation is {max(seen):.2f}" if seen else "none goes with it"
    text = (
        f"No {kind_word(grid.kind)} of {system} slows down the others: of {len(grid.entities):,} over "
        f"{len(grid.time_ns):,} intervals {greatest}, once their own load is taken out"
    )
    if refused:
        return Healthy(_NAME, f"{text}: {max(refused)[1]}.")
    return Healthy(_NAME, f"{text}.")


RULE = Rule(
    name=_NAME,
    title="one entity's load explains the latency of others",
    evaluate=_evaluate,
    thresholds=(
        Threshold("r_level_min", 0.6, "partial correlation of the suspect's load with a victim's log latency",
                  "common practice, no citation"),
        Threshold("slower_factor", 1.5, "victims' latency while the suspect is loud over while it is quiet", "ours"),
        Threshold("suspect_share_min", 0.2, "share of operations or bytes a suspect has while latency is bad", "ours"),
        Threshold("intervals_min_count", 40, "intervals with latency, below which nothing is said", "ours"),
    ),
)  # fmt: skip
