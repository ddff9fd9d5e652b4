"""The load of one entity explains the latency of others that share a component with it.

Looks for
    Among entities of one kind in one system: a suspect with a good part of the load, whose operations or bytes go
    together with the latency of others, after the others' own load and everybody else's load are taken out (partial
    correlation at lag 0 or 1), and whose victims wait noticeably longer while it is loud. The strongest suspect by
    queue time comes first; the next ones must explain what it left. How often it was loud does not weaken a case: loud
    intervals count for a tenth of all at least, and chance is judged for the loads as they were. Minutes in a day are
    enough where there was a bad window; fewer than eight bad intervals are not judged. Where chance could do
    what a high correlation shows, nothing is called healthy: a second loud time is asked for. Of two that bring as
    much load as each other, and go with each other's latency both ways, none is the culprit: that is told as
    information, with the component they fill.

Why it matters
    The victims cannot help themselves: their own load is not the cause. Slowing or moving one neighbour helps all.

Evidence
    Operations and latency per interval of at least two entities of one kind, and links that say what they rest on
    (volumes of a disk group, VM disks of a datastore, partitions of a device).

When it is wrong
    A correlation is no cause. What rises at the same time for all (a working day, a backup of everything) looks like
    each of them; without a shared component in the evidence it is reported as a correlation only. An entity that
    slows down others through a component nobody captured is missed or misnamed. Loads that always move together (the
    two sides of a mirror) cannot be told apart, and accuse nobody. Where the latency of all operations goes with
    nobody's load, that of reads and of writes is looked at apart, where they are told apart and too slow by
    latency-above-tier's limits: reads wait behind a hog while the mean hides them behind many quick writes.

References
    The correlation of 0.6 and the check by intervention are common practice, no citation; that a cause must share a
    component with its victim follows DIADS (Babu and others, FAST 2009). Errors that hang together (AR(1)): Fuller,
    Introduction to Statistical Time Series, 1996. Variance inflation: Belsley, Kuh and Welsch, Regression Diagnostics,
    1980. Loads up to 1.5 times as great, called alike, and the tenth are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.directions import DIRECTIONS
from storscope.diagnose.judged_grids import JudgedGrid, judged_grids, means_words
from storscope.diagnose.peers import CLIENT_KINDS, Grid, clusters, grids
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._entities import counted, joined, listed
from storscope.diagnose.rules._load import between, kind_word, named, opening, rows_sql
from storscope.diagnose.rules._neighbour_suspicions import (
    LOUD_INTERVALS_MIN,
    RARELY_LOUD_INTERVALS_MIN,
    Suspicion,
    correlations_seen,
    of_words,
    refused,
    shares,
    suspicions,
)
from storscope.diagnose.rules._simulated import is_simulated, without_it
from storscope.diagnose.rules.component_saturated import FullComponent, used_to_the_full
from storscope.diagnose.windows import bad_windows
from storscope.domain.arrays import BoolArray
from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows, Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.units import format_bandwidth, format_duration, format_rate, format_ratio
from storscope.store.sql import sql_list, sql_text

_NAME = "noisy-neighbour"
_PAUSE = 0.5
"""Part of an entity's usual load below which it pauses."""


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
        (_mutual if shared[group[0]].is_mutual else _finding)(
            case, settings, shared[group[0]], [shared[entity] for entity in group[1:]]
        )
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


def _suspicions(case: Case, settings: Settings, grid: Grid) -> list[Suspicion]:
    """The suspects by the latency of all operations; where there are none, of reads that are too slow, or of writes."""
    whole, *apart = judged_grids(case, grid, of_each=True)
    found = suspicions(case, settings, grid, whole)
    for part in apart:
        if not found and bool((part.grid.latency_ns > part.warning_ns).any()):
            each = suspicions(case, settings, grid, part)
            found = [one for one in each if part.is_above(_loud(one), part.warning_ns, one.victims)]
    return found


def _strongest(loose: dict[EntityRef, Suspicion]) -> list[Suspicion]:
    best: dict[str, Suspicion] = {}
    for entity, one in sorted(loose.items(), key=lambda item: -item[1].waiting_share):
        best.setdefault(entity.system, one)
    return [best[system] for system in sorted(best)]


# Words -----------------------------------------------------------------------------------------------------------


def _finding(case: Case, settings: Settings, one: Suspicion, more: list[Suspicion]) -> Finding:
    victims = one.victim_entities
    judged, loud = judged_grids(case, one.grid, of_each=True), _loud(one)
    means = means_words(judged, loud, one.victims)
    common = sorted(one.components, key=lambda part: (part.kind != "disk_group", part))
    what = joined([named(case, part) for part in common], 2)
    parts = [entity for other in more for entity in (other.entity,)]
    return Finding(
        rule=_NAME,
        severity=Severity.CRITICAL if _hurts(one, judged, loud) else Severity.WARNING,
        confidence=0.6 if one.companions else 0.8 if one.episodes == 1 else 0.9,
        title=f"{opening(case, one.entity)} slows down {_victim_words(case, one, 1)}",
        summary=(
            f"{_numbers_sentence(case, one)} {f'Their means meanwhile: {means}. ' if means else ''}They share {what}. "
            f"{_episode_words(one)}{_companion_words(case, one)}"
            + (f"The same is seen at {listed(case, parts)}. " if parts else "")
            + _refused_words(case, one)
        ).strip(),
        why="The victims wait for somebody else's operations; nothing they change in their own load will help.",
        innocent=(
            "Something else began and ended at the same times (a backup of everything, a rebuild, a working day), and "
            f"{case.label(one.entity)} only marks the hours."
        ),
        check=(
            without_it(case, one.entity)
            if is_simulated(case, one.entity.system)
            else f"Pause or throttle {case.label(one.entity)} for five minutes while the victims work: their "
            f"{_latency(one)} must fall towards {format_duration(one.quiet_ns)} within an interval or two."
        ),
        remedy=_remedy(case, one),
        source=f"Partial correlation of at least {settings['r_level_min']:g}: common practice, no citation; a shared "
        "component is required.",
        entities=[one.entity, *victims, *sorted(one.components)],
        start_ns=_loud_span(one)[0],
        end_ns=_loud_span(one)[1],
        evidence=(_rows(case, one), *([_rows_apart(case, one)] if means else [])),
        weight=min(1.0, one.r.estimate**2 * max(one.share, one.waiting_share) + 0.1),
        numbers=_numbers(one),
    )


def _hurts(one: Suspicion, judged: Sequence[JudgedGrid], loud: BoolArray) -> bool:
    """Whether the victims are far too slow while it is loud: all their operations, their reads or their writes."""
    whole, *apart = judged
    _, limit_ns = whole.mean_and_limit_ns(loud, whole.critical_ns, one.victims)
    return (not one.of and one.loud_ns > limit_ns) or any(
        part.is_above(loud, part.critical_ns, one.victims) for part in apart
    )


def _correlation(case: Case, settings: Settings, one: Suspicion) -> Finding:
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


def _mutual(case: Case, settings: Settings, one: Suspicion, more: list[Suspicion]) -> Finding:
    """The finding of those that bring as much load as each other and slow each other down."""
    base = _finding(case, settings, one, more)
    both = [one.entity, *one.victim_entities]
    full = joined([found.words for found in _full(case, one).values()], 2)
    return replace(
        base,
        severity=Severity.INFO,
        confidence=0.7,
        title=f"{_each(case, both)} slow each other down",
        summary=f"{base.summary} They bring as much load as {case.label(one.entity)}, and it gets slower with theirs "
        "too: none of them is the culprit." + (f" What they fill is {full}." if full else ""),
        why="Who of equals is loud for a moment is chance; all of them wait for what they share.",
        innocent="The storage is meant to be full at this time, and they can wait.",
        check=f"See {full}." if full else "See what they share: how busy it is, and with how deep a queue.",
        remedy="More of what they share, or less load of all of them; to slow one alone only helps the others.",
        weight=0.5 * base.weight,
    )


def _each(case: Case, entities: list[EntityRef]) -> str:
    if len(entities) > _MOST_NAMED:
        return counted(len(entities), kind_word(entities[0].kind), kind_word(entities[0].kind, 2))
    return f"{kind_word(entities[0].kind, 2).capitalize()} {joined([case.label(entity) for entity in entities])}"


_MOST_NAMED = 3


def _full(case: Case, one: Suspicion) -> dict[EntityRef, FullComponent]:
    """What is used to the full in the systems of what they share; drives only where these are shared."""
    systems = {part.system for part in one.components}
    drives = {part for part in one.components if part.kind in _DRIVES}
    return {
        entity: found
        for entity, found in used_to_the_full(case).items()
        if entity.system in systems and (entity.kind not in _DRIVES or ({entity} | case.components(entity)) & drives)
    }


def _remedy(case: Case, one: Suspicion) -> str:
    """Drives of its own help where shared drives are what they wait for, not where something before them is full."""
    limit = "limit its operations (storage I/O control, a limit on the VM or volume)"
    full = _full(case, one)
    where = f"what is used to the full is {joined([found.words for found in full.values()], 2)}; see there."
    rests_on_drives = any(part.kind in _DRIVES for part in case.components(one.entity))
    if rests_on_drives and one.components and not any(part.kind in _CARRY_DATA for part in one.components):
        where = where if full else "look at the cache, the controllers and the links."
        return (
            f"Move {case.label(one.entity)} to another time, or {limit}. It shares no drives with them, so that drives "
            f"of its own would not help: {where}"
        )
    if not full or any(entity.kind in _DRIVES for entity in full):
        return f"Move {case.label(one.entity)} to drives of its own or to another time, or {limit}."
    return f"Move {case.label(one.entity)} to another time, or {limit}. Drives of its own would not help: {where}"


_DRIVES = ("disk", "disk_group")
_CARRY_DATA = (*_DRIVES, "device", "datastore", "vdisk", "filesystem", "partition")
"""Kinds that are drives, or rest on drives that their clients then share."""


def _victim_words(case: Case, one: Suspicion, most: int) -> str:
    victims = one.victim_entities
    few = len(victims) <= most
    one_word, more_words = ("other " + kind_word(one.entity.kind, number) for number in (1, 2))
    return of_words(one.of) + (listed(case, victims) if few else counted(len(victims), one_word, more_words))


def _numbers_sentence(case: Case, one: Suspicion) -> str:
    take = "takes" if len(one.victim_entities) == 1 else "take"
    loud = f"While {named(case, one.entity)} is loud ({format_ratio(one.share)} of the {one.measure} in the bad time)"
    return (
        f"{loud}, {listed(case, one.victim_entities)} {take} {format_duration(one.loud_ns)} {_each_of(one)} instead of "
        f"{format_duration(one.quiet_ns)} (medians). With their own and all other load held fixed, {_latency(one)} is "
        f"{one.factor.estimate:.1f} times as high ({between(one.factor, '{:.1f}'.format)}; r = {one.r.estimate:.2f}, "
        f"{between(one.r, '{:.2f}'.format)})."
    )


def _each_of(one: Suspicion) -> str:
    return f"a {one.of.removesuffix('s')}" if one.of else "an operation"


def _latency(one: Suspicion) -> str:
    return f"latency of {one.of}" if one.of else "latency"


def _episode_words(one: Suspicion) -> str:
    return "It was loud once, so a coincidence cannot be excluded. " if one.episodes == 1 else ""


def _refused_words(case: Case, one: Suspicion) -> str:
    """A second suspect that went with latency and still does not count: who reads of one alone looks no further."""
    found = [each for each in refused(case, one.grid.system) if each.suspect != one.entity]
    return f"Seen too, not proven: {max(found).words}. " if found else ""


def _companion_words(case: Case, one: Suspicion) -> str:
    if not one.companions:
        return ""
    names = listed(case, [one.grid.entities[column] for column in one.companions])
    return f"The load of {names} moves with it, so their parts cannot be told apart; the one with most is named. "


def _loud(one: Suspicion) -> BoolArray:
    load = one.grid.ops if one.measure == "operations" else one.grid.bytes
    result: BoolArray = np.nan_to_num(load[:, one.column]) >= one.loud_from
    return result


def _loud_span(one: Suspicion) -> tuple[int, int]:
    loud = np.flatnonzero(_loud(one))
    return int(one.grid.time_ns[loud[0]]), int(one.grid.time_ns[loud[-1]]) + one.grid.step_ns


def _numbers(one: Suspicion) -> dict[str, float]:
    return {
        "r": one.r.estimate, "r_low": one.r.low, "r_high": one.r.high,
        "slower_factor": one.factor.estimate, "slower_factor_low": one.factor.low,
        "slower_factor_high": one.factor.high, "latency_ns_quiet": one.quiet_ns, "latency_ns_loud": one.loud_ns,
        "episodes": float(one.episodes), "share_of_load": one.share, "share_of_queue_time": one.waiting_share,
        "victims": float(len(one.victims)),
    }  # fmt: skip


def _loudness(one: Suspicion) -> str:
    return format_rate(one.loud_from) if one.measure == "operations" else format_bandwidth(one.loud_from)


def _rows(case: Case, one: Suspicion) -> EvidenceRows:
    begin = f"{DIRECTIONS[one.of]}_" if one.of else ""
    latency = f"{begin}latency_ns"
    return case.evidence(
        f"{_latency(one).capitalize()} while {case.label(one.entity)} is loud (at least {_loudness(one)}) and quiet",
        f"""{_kept_sql(case, one, "ops_per_s", f"{latency}_mean")}
        SELECT entity, round(median({latency}_mean) FILTER (NOT loud)) AS {latency}_quiet,
        round(median({latency}_mean) FILTER (loud)) AS {latency}_loud,
        round(avg(ops_per_s) FILTER (NOT loud), 1) AS ops_per_s_quiet,
        round(avg(ops_per_s) FILTER (loud), 1) AS ops_per_s_loud, count(*) FILTER (loud) AS intervals_loud
        FROM known GROUP BY entity
        ORDER BY (entity = {sql_text(one.entity.name)}) DESC, {latency}_loud DESC NULLS LAST""",
    )


def _rows_apart(case: Case, one: Suspicion) -> EvidenceRows:
    """Reads and writes of the victims while it is loud."""
    columns = [f"{begin}_{column}" for begin in DIRECTIONS.values() for column in ("ops_per_s", "latency_ns_mean")]
    means = ", ".join(
        f"round(avg({rate}), 1) AS {rate}, round(sum({rate} * {latency}) / sum({rate}) FILTER ({latency} IS NOT NULL)) "
        f"AS {latency}"
        for rate, latency in zip(columns[::2], columns[1::2], strict=True)
    )
    victims = sql_list(entity.name for entity in one.victim_entities)
    return case.evidence(
        f"Reads and writes of the others while {case.label(one.entity)} is loud",
        f"""{_kept_sql(case, one, *columns)}
        SELECT entity, {means} FROM known WHERE loud AND entity IN {victims}
        GROUP BY entity ORDER BY entity""",
    )


def _kept_sql(case: Case, one: Suspicion, *columns: str) -> str:
    """The rows of all, `known`, by steps of the grid, with whether the suspect is loud then. Of others than jobs, which
    do not run where they have no row, nothing is known of the steps without one."""
    join = "LEFT JOIN" if one.entity.kind == "job" else "JOIN"
    load = "ops_per_s" if one.measure == "operations" else "bytes_per_s"
    return f"""WITH kept AS (SELECT entity, {case.instant()} // {one.grid.step_ns} AS step, {", ".join(columns)},
        {load} AS load FROM observations WHERE {rows_sql(case, one.grid)}),
        suspect AS (SELECT step, max(load) >= {one.loud_from:.6g} AS is_loud FROM kept
        WHERE entity = {sql_text(one.entity.name)} GROUP BY step),
        known AS (SELECT kept.*, coalesce(is_loud, false) AS loud FROM kept {join} suspect USING (step))"""


def _silence(case: Case, settings: Settings, chosen: Sequence[Grid], system: str) -> Outcome:
    """Nothing was found: healthy, unless chance could do what goes well with latency, or others are too slow beside
    one whose load never pauses."""
    grid = next(grid for grid in chosen if grid.system == system)
    undecided = [one for one in refused(case, system) if one.decides and one.r >= settings["r_level_min"]]
    if undecided:
        most = max(undecided)
        return NotEvaluated(_NAME, f"{most.decides}: {most.words} (r = {most.r:.2f})")
    bad = int(grid.inside(bad_windows(case).get(system, [])).sum())
    if 0 < bad < RARELY_LOUD_INTERVALS_MIN:
        return NotEvaluated(
            _NAME,
            f"shorter intervals, or a longer capture: latency was bad in {counted(bad, 'interval')} only, too few to "
            "tell with whose load it goes",
        )
    return _healthy(case, grid, system) if (steady := _steady(case, settings, grid)) is None else steady


def _steady(case: Case, settings: Settings, grid: Grid) -> NotEvaluated | None:
    """What is missing where the heaviest is as loud all the time and others are slow: nobody's latency can go with it.

    None where the load varies, or nobody is slow.
    """
    load = np.nan_to_num(grid.ops)
    column = int(np.argmax(grid.waiting.sum(axis=0)))
    own, share = grid.ops[:, column], float(shares(load)[column])
    own = own[np.isfinite(own)]  # an interval without a figure is no pause
    quiet = int((own < _PAUSE * np.quantile(own, 0.95)).sum()) if own.size else 0
    slow = [
        entity
        for other, entity in enumerate(grid.entities)
        if other != column and any(_is_usually_slow(judged, other) for judged in judged_grids(case, grid, of_each=True))
    ]
    if share < settings["suspect_share_min"] or quiet >= LOUD_INTERVALS_MIN or not slow:
        return None
    return NotEvaluated(
        _NAME,
        f"a time in which {named(case, grid.entities[column])} pauses: it brings {format_ratio(share)} of the "
        f"operations all the time, so that it cannot be told whether {listed(case, slow)} would be quicker without it",
    )


def _is_usually_slow(judged: JudgedGrid, column: int) -> bool:
    """Whether half of the intervals of all operations, of reads or of writes are above the critical limit."""
    told = np.isfinite(judged.grid.latency_ns[:, column])
    slow = judged.grid.latency_ns[told, column] > judged.critical_ns[told, column]
    return slow.size > 0 and float(slow.mean()) > 0.5


def _healthy(case: Case, grid: Grid, system: str) -> Healthy:
    seen, weak = correlations_seen(case, system), refused(case, system)
    greatest = f"the greatest partial correlation is {max(seen):.2f}" if seen else "none goes with it"
    text = (
        f"No {kind_word(grid.kind)} of {system} slows down the others: of {len(grid.entities):,} over "
        f"{len(grid.time_ns):,} intervals {greatest}, once their own load is taken out"
    )
    if weak:
        return Healthy(_NAME, f"{text}: {max(weak).words}.")
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
