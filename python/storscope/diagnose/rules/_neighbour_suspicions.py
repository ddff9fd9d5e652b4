"""Who explains whom's latency by load: the search behind noisy-neighbour, which tells it in words.

Partial correlations of log latency (of all operations, of reads or of writes) with the load of each suspect at lag 0
or 1, by operations and by bytes, with the victims' own load and everybody else's held fixed; intervals for the loads as
they were, errors hanging together in time. Who brings no more than its victim, and is slowed by it as well, is no
culprit. References are those of the rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.judged_grids import JudgedGrid
from storscope.diagnose.peers import Grid, rests_on
from storscope.diagnose.rule import Settings
from storscope.diagnose.rules._entities import listed
from storscope.diagnose.rules._load import between, named
from storscope.diagnose.windows import bad_windows
from storscope.domain.arrays import BoolArray, FloatArray
from storscope.domain.entity import EntityRef
from storscope.domain.units import format_duration
from storscope.model.bootstrap import Interval
from storscope.model.correlated_errors import partial_correlation_and_slope
from storscope.model.overload import bridged, runs_of
from storscope.model.regression import (
    explained_share,
    partial_correlation,
    scaled,
    total_moments,
)

_MEMO = "noisy-neighbour"
_CARRIERS = {"disk_group", "device", "datastore", "controller", "adapter", "array", "disk", "port", "vdisk", "path",
             "filesystem", "nic", "partition"}  # fmt: skip
"""Components through which storage load of one slows another. Two VMs of one host share more, but no storage."""
_SUSPECTS_MAX = 6
_MOVES_TOGETHER = 0.8
"""Correlation with all other load from which the two cannot be told apart."""
LOUD_INTERVALS_MIN = 5
"""Loud intervals, and quiet ones, of which nothing is said if there are fewer."""
RARELY_LOUD_INTERVALS_MIN = 8
"""Loud intervals that a load has at least which is loud in less than a hundredth of all."""
_LOUD_AT = 0.99
"""The quantile of a load that stands for its loudest: one that is a single spike does not."""
_LOUD_PART_MIN = 0.1
"""Part of all that loud intervals count for at least: quiet ones beyond nine times as many weigh less together. Else
quiet time that was captured as well would bring any correlation towards zero."""
_R_LOW_MIN = 0.3
_ALIKE = 1.5
"""Load of the suspect while it is loud over a victim's at those times, up to which the two are alike (ours)."""
_MUTUAL_PART = 0.5
"""Part of the correlation asked of a suspect from which the way back counts between two that are alike: who of them is
a little above and who below is chance."""
_OWN_PART_MIN = 0.01
"""Part of a suspect's changes of load that what is held fixed does not show as well: with less (a variance inflation of
100) it has none of its own to judge by (ours; 10 is a common warning)."""
_FACTOR_SPAN_MAX = 1e3
"""Ends of the interval of a factor, one over the other, from which nothing was measured."""


@dataclass(frozen=True)
class Suspicion:
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
    of: str = ""
    """'reads' or 'writes' where the latency is that of these alone; empty for all operations."""
    is_mutual: bool = False
    """True when each victim brings as much load as the suspect, and slows it down as well: nobody is the culprit."""

    @property
    def entity(self) -> EntityRef:
        """The suspect."""
        return self.grid.entities[self.column]

    @property
    def victim_entities(self) -> list[EntityRef]:
        """Those whose latency goes with its load."""
        return [self.grid.entities[column] for column in self.victims]


@dataclass(frozen=True, order=True)
class Refused:
    """One that went with latency and still does not count."""

    r: float
    words: str
    """Who, whose latency, and what spoke against it."""
    suspect: EntityRef
    decides: str = ""
    """What would decide it, in words; empty where it is decided."""


@dataclass(frozen=True)
class _Field:
    """What the search looks at: log latency and loads, absent load at its mean, spikes brought in."""

    grid: Grid
    loud_at: float
    """The quantile of a load that stands for its loudest."""
    of: str
    """Of what the latency is: 'reads', 'writes', or empty for all operations."""
    log_latency: FloatArray
    loads: dict[str, FloatArray]
    bad: BoolArray
    correlations: list[float]
    """See `correlations_seen`."""
    refused: list[Refused]
    """See `refused`."""


def suspicions(case: Case, settings: Settings, grid: Grid, judged: JudgedGrid) -> list[Suspicion]:
    """The suspects of a system, the strongest by queue time first; the next ones explain what it left.

    Loads are those of `grid`. The latency is that of `judged`: of all its operations, or of its reads or writes.
    """
    field = _field(case, grid, judged)
    found = _search(case, settings, field)
    if not found and (rare := _of_rare_loads(case, field)) is not None:
        found = _search(case, settings, rare)
    return found


def _search(case: Case, settings: Settings, field: _Field) -> list[Suspicion]:
    found: list[Suspicion] = []
    for column in _by_queue_time(settings, field):
        suspicion = _suspicion(case, settings, field, column, found)
        if suspicion is not None:
            found.append(suspicion)
    return found


def correlations_seen(case: Case, system: str) -> list[float]:
    """Every partial correlation that was looked at in the system."""
    found: list[float] = case.memo.setdefault((_MEMO, system, "seen"), [])
    return found


def refused(case: Case, system: str) -> list[Refused]:
    """Those in the system that went with latency and still do not count."""
    found: list[Refused] = case.memo.setdefault((_MEMO, system, "refused"), [])
    return found


def of_words(of: str) -> str:
    """'reads of ' before whose they are; empty for all operations."""
    return f"{of} of " if of else ""


def _field(case: Case, grid: Grid, judged: JudgedGrid) -> _Field:
    timed = judged.grid
    with np.errstate(divide="ignore", invalid="ignore"):
        log_latency = np.log(np.where(timed.latency_ns > 0, timed.latency_ns, np.nan))
    bad = grid.inside(bad_windows(case).get(grid.system, []))
    if not bad.any():
        total = np.nan_to_num(timed.total_latency_ns)
        bad = total >= np.quantile(total, 0.9)
    seen, against = correlations_seen(case, grid.system), refused(case, grid.system)
    return _Field(grid, _LOUD_AT, judged.of, log_latency, _loads(grid, _LOUD_AT), bad, seen, against)


def _of_rare_loads(case: Case, field: _Field) -> _Field | None:
    """The same for loads that are loud too seldom for `_LOUD_AT`: a backup of minutes in a day.

    None where that is no other search, or there is no bad window that one of them might explain.
    """
    loud_at = 1.0 - RARELY_LOUD_INTERVALS_MIN / len(field.grid.time_ns)
    if loud_at <= _LOUD_AT or not bad_windows(case).get(field.grid.system):
        return None
    return replace(field, loud_at=loud_at, loads=_loads(field.grid, loud_at))


def _loads(grid: Grid, loud_at: float) -> dict[str, FloatArray]:
    """Operations, and bytes where they are known, with what is rarer than half of the loudest brought in."""
    highest = (1.0 + loud_at) / 2
    loads = {"operations": _filled(grid.ops, highest)}
    if np.isfinite(grid.bytes).any():
        loads["bytes"] = _filled(grid.bytes, highest)
    return loads


def _filled(values: FloatArray, highest: float) -> FloatArray:
    """Loads with spikes above a quantile brought in, absent values at their column's mean, where they say nothing."""
    known = np.isfinite(values)
    mean = np.where(known, values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    filled = np.where(known, values, mean)
    result: FloatArray = np.minimum(filled, np.quantile(filled, highest, axis=0))
    return result


def _by_queue_time(settings: Settings, field: _Field) -> list[int]:
    """Columns with enough of the load while latency was bad, the most queue time first."""
    parts = np.max([shares(load[field.bad]) for load in field.loads.values()], axis=0)
    waiting = field.grid.waiting[field.bad].sum(axis=0)
    order = sorted(range(len(parts)), key=lambda column: (-waiting[column], field.grid.entities[column]))
    return [column for column in order if parts[column] >= settings["suspect_share_min"]][:_SUSPECTS_MAX]


def shares(load: FloatArray) -> FloatArray:
    """Each column's part of the whole; zeros where there is none."""
    total = float(load.sum())
    result: FloatArray = load.sum(axis=0) / total if total > 0 else np.zeros(load.shape[1])
    return result


def _suspicion(
    case: Case, settings: Settings, field: _Field, column: int, found: Sequence[Suspicion]
) -> Suspicion | None:
    """The suspect's case, by operations or bytes, whichever goes better with the others' latency."""
    accepted = [one.column for one in found]
    # Of those that slow each other one says it for all.
    told = {victim for one in found if one.is_mutual and column in one.victims for victim in one.victims}
    best: tuple[float, str, int, list[int]] | None = None
    for measure, load in field.loads.items():
        for lag in (0, 1):
            victims = [
                each for each in _victims(case, settings, field, load, column, accepted, lag) if each[0] not in told
            ]
            weight = sum(r for _, r in victims)
            if victims and (best is None or weight > best[0]):
                best = (weight, measure, lag, [victim for victim, _ in victims])
    if best is None:
        return None
    _, measure, lag, victims_of = best
    entity = field.grid.entities[column]
    sharing = [v for v in victims_of if _shared(case, entity, field.grid.entities[v])] or victims_of
    alike = [v for v in sharing if _slow_each_other(settings, field, column, v, accepted)]
    hurt = [v for v in sharing if v not in alike] or sharing
    components = [_shared(case, entity, field.grid.entities[v]) for v in hurt]
    common = frozenset.intersection(*components) or components[0]
    weighed = _weighed(settings, field, column, measure, lag, hurt, common, accepted)
    if isinstance(weighed, _Against):
        hurt_words = listed(case, [field.grid.entities[v] for v in hurt])
        words = f"{named(case, entity)} and the latency of {of_words(field.of)}{hurt_words}"
        decides = weighed.decides.format(named(case, entity))
        against = f"{words}, but {weighed.words}"
        field.refused.append(Refused(best[0] / len(victims_of), against, entity, decides))
        return None
    return replace(weighed, is_mutual=hurt == alike)


def _slow_each_other(settings: Settings, field: _Field, column: int, victim: int, accepted: list[int]) -> bool:
    """Whether the suspect brings no more than the victim by any measure, and is slowed down by its load as well."""
    for load in field.loads.values():
        _, loud = _loud(load[:, column], field.loud_at)
        if load[loud, column].mean() > _ALIKE * load[loud, victim].mean():
            return False
    back = [_goes_with(field, load, victim, column, accepted, lag) for load in field.loads.values() for lag in (0, 1)]
    return max(back) >= _MUTUAL_PART * settings["r_level_min"]


def _goes_with(field: _Field, load: FloatArray, column: int, victim: int, accepted: list[int], lag: int) -> float:
    """Partial correlation of one's load with another's latency; 0 where there are too few intervals."""
    latency = field.log_latency[:, victim]
    known = np.isfinite(latency)
    if known.sum() < LOUD_INTERVALS_MIN:
        return 0.0
    suspect = _lagged(load[:, column], lag)
    columns = [suspect, *_controls(field, load, column, [victim], accepted, latency), latency]
    return _partial(np.column_stack([scaled(each[known]) for each in columns]), _weights(suspect[known], field.loud_at))


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
        weights = _weights(suspect[known], field.loud_at)
        # The plain correlation is cheap; a partial one that counts does not hide behind one near zero.
        plain = np.column_stack([scaled(suspect[known]), scaled(latency[known])])
        if abs(_partial(plain, weights)) < 0.5 * settings["r_level_min"]:
            continue
        columns = [suspect, *_controls(field, load, column, [victim], accepted, latency), latency]
        judged = np.column_stack([scaled(each[known]) for each in columns])
        if _own_part(judged) < _OWN_PART_MIN:
            one, other = (field.grid.entities[place] for place in (column, victim))
            whose = of_words(field.of) + case.label(other)
            words = f"{named(case, one)} and the latency of {whose}, but {_INSEPARABLE}"
            field.refused.append(Refused(0.0, words, one))
            continue
        r = _partial(judged, weights)
        field.correlations.append(r)
        if r >= settings["r_level_min"]:
            found.append((victim, r))
    return found


def _lagged(values: FloatArray, lag: int) -> FloatArray:
    return np.concatenate([values[:1].repeat(lag), values[: len(values) - lag]]) if lag else values


def _correlation_of(one: FloatArray, other: FloatArray) -> float:
    return float(np.mean(scaled(one) * scaled(other)))


def _partial(columns: FloatArray, weights: FloatArray) -> float:
    return float(partial_correlation(total_moments(columns, weights), columns.shape[1])[0])


def _loud(suspect: FloatArray, loud_at: float) -> tuple[float, BoolArray]:
    """(load from which it is loud: half way between its quiet and its loudest, the intervals in which it is)."""
    quiet, loudest = np.quantile(suspect, [0.1, loud_at])
    loud_from = float((quiet + loudest) / 2)
    return loud_from, suspect >= loud_from


def _weights(suspect: FloatArray, loud_at: float) -> FloatArray:
    """What each interval counts: all the same, unless loud ones are fewer than a tenth."""
    _, loud = _loud(suspect, loud_at)
    quiet = loud.size - int(loud.sum())
    most = int(loud.sum()) * (1.0 - _LOUD_PART_MIN) / _LOUD_PART_MIN
    return np.where(loud, 1.0, min(1.0, most / max(quiet, 1)))


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


@dataclass(frozen=True)
class _Against:
    """What speaks against a suspect, and what would decide it ({} is the suspect; empty where it is decided)."""

    words: str
    decides: str = ""


_LOUD_AGAIN = "a longer capture in which {} is loud again, or five minutes in which it is paused"


def _weighed(
    settings: Settings, field: _Field, column: int, measure: str, lag: int, victims: list[int],
    components: frozenset[EntityRef], accepted: list[int],
) -> Suspicion | _Against:  # fmt: skip
    """Intervals for the victims taken together; words when chance could do it or nobody was hurt noticeably."""
    load = field.loads[measure]
    suspect = _lagged(load[:, column], lag)
    latency = _typical(field.log_latency[:, victims])
    known = np.isfinite(latency)
    loud_from, loud = _loud(suspect, field.loud_at)
    if min((loud & known).sum(), (~loud & known).sum()) < LOUD_INTERVALS_MIN:
        return _Against(f"it was loud (or quiet) in fewer than {LOUD_INTERVALS_MIN} intervals", _LOUD_AGAIN)
    quiet_ns = float(np.exp(np.median(latency[known & ~loud])))
    loud_ns = float(np.exp(np.median(latency[known & loud])))
    controls = _controls(field, load, column, victims, accepted, latency)
    columns = np.column_stack([scaled(each[known]) for each in (suspect, *controls, latency)])
    r, slope = partial_correlation_and_slope(columns, loud[known], _weights(suspect[known], field.loud_at))
    reach = float(suspect[known & loud].mean() - suspect[known & ~loud].mean()) / float(suspect[known].std())
    spread = float(latency[known].std())
    with np.errstate(over="ignore"):
        low, middle, high = (float(np.exp(b * reach * spread)) for b in (slope.low, slope.estimate, slope.high))
    factor = Interval(middle, low, high)
    if r.estimate < settings["r_level_min"]:
        return _Against(f"taken together it is {r.estimate:.2f}, below {settings['r_level_min']:g}")
    if loud_ns < settings["slower_factor"] * quiet_ns:
        return _Against(
            f"nobody was hurt noticeably: {format_duration(loud_ns)} while it is loud, {format_duration(quiet_ns)} "
            f"while it is quiet, less than {settings['slower_factor']:g} times as much"
        )
    if not r.low >= _R_LOW_MIN:
        return _Against(f"chance could do it ({between(r, '{:.2f}'.format)})", _LOUD_AGAIN)
    if not factor.high <= _FACTOR_SPAN_MAX * factor.low:
        return _Against("how much slower it makes anybody cannot be told from these intervals", _LOUD_AGAIN)
    return Suspicion(
        field.grid, column, measure, tuple(victims), components, r, factor, quiet_ns, loud_ns, loud_from,
        float(shares(load[field.bad])[column]), float(shares(field.grid.waiting[field.bad])[column]),
        len(runs_of(bridged(loud, 2))), _companions(load, column, victims), field.of,
    )  # fmt: skip


def _typical(log_latency: FloatArray) -> FloatArray:
    """The victims' mean log latency relative to each one's own level, put back at the common level."""
    known = np.isfinite(log_latency)
    level = np.where(known, log_latency, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    relative = np.where(known, log_latency - level, 0.0).sum(axis=1)
    count = known.sum(axis=1)
    return np.where(count > 0, relative / np.maximum(count, 1) + level.mean(), np.nan)


def _companions(load: FloatArray, column: int, victims: list[int]) -> tuple[int, ...]:
    """Others with real load whose load moves with the suspect's."""
    share = shares(load)
    return tuple(
        other
        for other in range(load.shape[1])
        if other != column
        and other not in victims
        and share[other] >= 0.1
        and _correlation_of(load[:, column], load[:, other]) > _MOVES_TOGETHER
    )
