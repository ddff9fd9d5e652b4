"""The comparison as a whole: read both sides, pair, measure the differences, judge."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from storscope.compare.agreement import agreements
from storscope.compare.alike import alike
from storscope.compare.compared import compared_subjects
from storscope.compare.counters_instead import counters_instead
from storscope.compare.demand import demand_of
from storscope.compare.differences import Found, about_parts, differences, distribution, others_on_both_sides
from storscope.compare.doubts import load_conflicts, notes_of, warnings_of
from storscope.compare.in_turn import about_couples
from storscope.compare.judging import Circumstances, row_of
from storscope.compare.matching import Matched, Pair, match_entities, match_runs
from storscope.compare.metrics import BANDWIDTH, METRICS, metrics_named
from storscope.compare.naming import RUNS_IN_SQL, began_ns_of, counters_words, names_of, runs_words
from storscope.compare.prediction import predicted_side
from storscope.compare.reading import captures_of, captures_of_simulated, read_runs
from storscope.compare.recorded_when import notes_on_times
from storscope.compare.running_systems import read_entities
from storscope.compare.same_digits import notes_on_same_digits
from storscope.compare.selection import Selector, Side
from storscope.compare.subjects import Subject
from storscope.compare.told_apart import told_apart
from storscope.compare.units_of_sources import notes_on_megabytes
from storscope.compare.unlike_names import one_by_one
from storscope.compare.wording import listed
from storscope.domain.comparison import AFTER, BEFORE, ComparedSide, Comparison, PairResult, Settings
from storscope.domain.comparison import Side as SideName
from storscope.domain.errors import InputError, UsageError
from storscope.domain.moment import UTC_FORM, SinceStart
from storscope.domain.units import format_count, format_span
from storscope.model.compare import holm
from storscope.store import Store

_NAMED = 6
"""Runs or entities that are named where none fits."""


@dataclass(frozen=True)
class _Read:
    """One side as it was read."""

    side: Side
    captures: dict[str, str]
    subjects: list[Subject]
    counters_too: list[Subject]
    """Entities with counters beside the runs that are compared."""


@dataclass(frozen=True)
class _Measured:
    """A pair with its differences, before they are judged."""

    pair: Pair
    found: list[Found]
    conflicts: list[str]
    warnings: list[str]
    notes: list[str]
    missing: list[str]
    """Of the notes those on metrics without a row."""


def compare_sides(
    before: tuple[Store, Side], after: tuple[Store, Side], settings: Settings, *, version: str
) -> Comparison:
    """Compares what the two sides name. Raises InputError when a side is empty, UsageError when they are the same."""
    metrics = metrics_named(settings.metrics)
    one, other = (_read(store, side) for store, side in (before, after))
    _refuse_unlike((before[0], one), (after[0], other))
    of_runs = one.subjects[0].is_run
    notes = _notes(one, other, of_runs)
    matched = match_runs(one.subjects, other.subjects) if of_runs else match_entities(one.subjects, other.subjects)
    pairs = matched.pairs if of_runs else _busiest(matched, settings.entities_max, notes)
    measured = []
    for pair in (alike(pair, metrics) for pair in told_apart(pairs)):
        found, missing = differences(
            pair, metrics, settings.seed, settings.level, were_asked=bool(settings.metrics)
        )  # fmt: skip
        conflicts = load_conflicts(pair)
        told = [*notes_of(pair), *about_couples(pair), *about_parts(pair, [one.metric for one in found]), *missing]
        measured.append(_Measured(pair, found, conflicts, warnings_of(pair), told, missing))
    if measured and not any(one.found for one in measured):
        notes += _others([one.pair for one in measured])
    if any(found.metric.unit == BANDWIDTH for one in measured for found in one.found):
        notes += notes_on_megabytes([*one.subjects, *other.subjects])
    if not of_runs and not matched.pairs:
        notes.append(one_by_one((before[1], after[1]), one.subjects, other.subjects))
    notes += notes_on_same_digits([one.pair for one in measured])
    notes += notes_on_times([one.pair for one in measured])
    names = names_of(one.subjects, other.subjects)
    judged = _judge(measured, settings, {BEFORE: one.captures, AFTER: other.captures})
    return Comparison(
        before=_side(one, names[0]),
        after=_side(other, names[1]),
        of_runs=of_runs,
        pairs=judged,
        unmatched=matched.unmatched,
        notes=notes,
        level=settings.level,
        threshold=settings.threshold,
        seed=settings.seed,
        storscope_version=version,
        agreements=agreements(zip(judged, (one.found for one in measured), strict=True), settings) if of_runs else [],
    )


# Reading --------------------------------------------------------------------------------------------------------------


def _read(store: Store, side: Side) -> _Read:
    captures = captures_of(store, side.selector)
    runs, entities = _runs_and_entities(store, side.selector, captures)
    subjects = runs or entities
    if not subjects:
        raise InputError(
            "a benchmark run, a simulated run, or counters of a system",
            "none that fits",
            where=side.text,
            hint=_joined(side.selector) + (_outside(store, side.selector, captures) or _what_there_is(store, side)),
        )
    return _Read(side, captures, subjects, [entity for entity in entities if entity.activity] if runs else [])


def _runs_and_entities(
    store: Store, selector: Selector, captures: Mapping[str, str]
) -> tuple[list[Subject], list[Subject]]:
    runs = [] if selector.entity else read_runs(store, selector, captures)
    if selector.stream:
        return runs, []
    return runs, read_entities(store, selector, _captures_of_entities(store, selector, captures))


def _joined(selector: Selector) -> str:
    """What to say where several runs seem to be meant; else nothing."""
    runs = [name.removeprefix("run=") for name in re.split(r"[,\s]+", selector.run or "") if name]
    return f"Several runs are joined with a bar: 'run={'|'.join(runs)}'. " if len(runs) > 1 else ""


def _outside(store: Store, selector: Selector, captures: Mapping[str, str]) -> str:
    """What to say where there is what is meant, but not at the times that are meant; else nothing."""
    if not selector.has_times:
        return ""
    runs, entities = _runs_and_entities(store, replace(selector, since=None, until=None), captures)
    if not runs and not entities:
        return ""
    if selector.counts_from_start and not runs and not any(one.is_simulated for one in entities):
        return f"The time since the start is that of a run; these are counters: give {UTC_FORM}."
    words = runs_words(runs) if runs else counters_words(entities)
    lengths_ns = [run.warm_up_ns + run.duration_ns for run in runs if run.duration_ns]
    until = f", until start + {format_span(max(lengths_ns))}" if lengths_ns else ""
    return f"There is something at other times: {words}{until}."


def _captures_of_entities(store: Store, selector: Selector, captures: Mapping[str, str]) -> Mapping[str, str]:
    """Those whose counters are meant: of a run that is named the array's that it simulated, if one of its entities is.

    Counters of a system that was measured belong to no run.
    """
    if selector.run is None:
        return captures
    return captures_of_simulated(store, selector, captures) if selector.entity else {}


def _what_there_is(store: Store, side: Side) -> str:
    """The latest runs, or entities or streams where one was asked for, so that one of them can be typed."""
    if side.selector.stream and (streams := _streams_there_are(store, side.selector)):
        return f"There are the streams: {'; '.join(streams[:_NAMED])}{'; ...' if len(streams) > _NAMED else ''}."
    if side.selector.entity and _captures_of_entities(store, side.selector, captures_of(store, side.selector)):
        sql = "SELECT DISTINCT kind || '/' || entity AS name FROM observations WHERE run IS NULL ORDER BY 1"
        names, words = store.query(sql).column("name").to_pylist(), "entities with counters"
    else:
        names, words = store.query(RUNS_IN_SQL).column("name").to_pylist(), "runs, the latest first"
    if not names:
        return f"There are no {words.split(',')[0]}."
    many = f"There are {len(names)} {words}: " if len(names) > _NAMED else "There are: "
    return many + "; ".join(names[:_NAMED]) + "."


def _streams_there_are(store: Store, selector: Selector) -> list[str]:
    runs = read_runs(store, replace(selector, stream="*"), captures_of(store, selector))
    return list(dict.fromkeys(name for run in runs for name, _ in run.asked.streams if name))


def _refuse_unlike(before: tuple[Store, _Read], after: tuple[Store, _Read]) -> None:
    one, other = before[1], after[1]
    if one.subjects[0].is_run != other.subjects[0].is_run:
        kinds = [(runs_words if read.subjects[0].is_run else counters_words)(read.subjects) for read in (one, other)]
        (store, runs), counters = (before, other) if one.subjects[0].is_run else (after, one)
        beside = [] if runs.side.selector.stream else _counters_beside(store, runs)
        raise UsageError(
            "the same kind of evidence on both sides",
            f"{kinds[0]} before, {kinds[1]} after",
            hint=counters_instead(runs.side, beside, counters.subjects) or "Choose with run=NAME or entity=NAME.",
        )
    if _identities(one) == _identities(other):
        raise UsageError("two different sides", f"the same evidence twice ({one.side.text} and {other.side.text})")


def _counters_beside(store: Store, runs: _Read) -> list[Subject]:
    """Entities with counters beside runs, or of the arrays that runs which are named simulated."""
    selector = replace(runs.side.selector, entity="*")
    found = read_entities(store, selector, _captures_of_entities(store, selector, runs.captures))
    return [entity for entity in found if entity.activity]


def _identities(read: _Read) -> set[tuple[object, ...]]:
    """What the side rests on. The same run or counters at other times, or other streams of it, are other evidence."""
    selector = read.side.selector
    times = (selector.since, selector.until)
    return {(subject.capture, subject.key, selector.stream, *times) for subject in read.subjects}


def _notes(one: _Read, other: _Read, of_runs: bool) -> list[str]:
    notes = []
    shared = _sources(one) & _sources(other)
    if shared and not _are_apart(one.side.selector, other.side.selector):
        words = ("run is", "runs are") if of_runs else ("entity is", "entities are")
        counted = f"{format_count(len(shared))} {words[len(shared) > 1]}"
        notes.append(f"{counted} on both sides at the same times, which makes them alike.")
    if of_runs and (counters := [*one.counters_too, *other.counters_too]):
        notes.append(f"{counters_words(counters).capitalize()} are there too; entity=NAME compares those.")
    return notes


def _others(pairs: Sequence[Pair]) -> list[str]:
    """Where nothing that was looked for can be compared: what can."""
    names = others_on_both_sides(pairs)
    return [f"Both sides have {listed(names)}: --metric {names[0]}."] if names else []


def _sources(read: _Read) -> set[tuple[str, str, str]]:
    return {(subject.capture, subject.key, read.side.selector.stream or "") for subject in read.subjects}


def _are_apart(one: Selector, other: Selector) -> bool:
    """Whether one range of times ends before the other begins, of the same run."""
    return _ends_before(one, other) or _ends_before(other, one)


def _ends_before(one: Selector, other: Selector) -> bool:
    until, since = one.until, other.since
    if isinstance(until, SinceStart) and isinstance(since, SinceStart):
        return until.ns <= since.ns
    return isinstance(until, int) and isinstance(since, int) and until <= since


def _busiest(matched: Matched, most: int, notes: list[str]) -> list[Pair]:
    """The busiest pairs; says how many there are beside them."""
    if len(matched.pairs) > most:
        are = "is" if most == 1 else "are"
        notes.append(
            f"The {most} busiest of {format_count(len(matched.pairs))} entities {are} compared; choose others with "
            "entity=NAME, or more with --entities."
        )
    return matched.pairs[:most]


def _side(read: _Read, names: Sequence[str]) -> ComparedSide:
    used = {capture for subject in read.subjects for capture in subject.capture.split(",")}
    return ComparedSide(
        read.side.text,
        [path for capture, path in read.captures.items() if capture in used],
        len(read.subjects),
        names,
        sum(subject.is_simulated for subject in read.subjects),
        began_ns_of(read.subjects),
    )


# Judging --------------------------------------------------------------------------------------------------------------


def _judge(
    measured: Sequence[_Measured], settings: Settings, captures: Mapping[SideName, Mapping[str, str]]
) -> list[PairResult]:
    adjusted = _adjusted(found for item in measured for found in item.found)
    results = []
    for item in measured:
        subjects = (*item.pair.before, *item.pair.after)
        is_comparable = not item.conflicts
        circumstances = Circumstances(
            is_comparable=is_comparable or settings.allow_different_load,
            rates_are_load=not subjects[0].is_run or any(subject.has_fixed_rate for subject in subjects),
            threshold=settings.threshold,
            level=settings.level,
            comparisons=len(measured),
            allow_failed=settings.allow_failed,
            flushes=all(subject.measured().value(METRICS["flush_rate"]) for subject in subjects),
            sure=demand_of(item.pair).sure,
            predicted=predicted_side(item.pair),
        )
        loud = [f"NOT THE SAME LOAD: {'; '.join(item.conflicts)}."] if item.conflicts else []
        results.append(
            PairResult(
                name=item.pair.name,
                load_before=item.pair.before[0].load,
                load_after=item.pair.after[0].load,
                runs_before=[subject.key for subject in item.pair.before],
                runs_after=[subject.key for subject in item.pair.after],
                rows=[row_of(found, circumstances, adjusted.get(id(found))) for found in item.found],
                is_comparable=is_comparable,
                warnings=[*loud, *item.warnings],
                notes=[*item.notes, *([_PART] if circumstances.flushes else [])],
                distribution=distribution(item.pair),
                pairing=item.pair.pairing,
                missing=item.missing,
                predicted=circumstances.predicted,
                subjects=compared_subjects(item.pair, captures),
            )
        )
    return results


_PART = (
    "(part): writes without the flushes behind them, not judged; a commit waits for both, and it says little which of "
    "them has the wait."
)


def _adjusted(found: Iterable[Found]) -> dict[int, float]:
    """p values by the identity of the row, adjusted within each metric for the number of pairs (Holm)."""
    by_metric: dict[str, list[Found]] = {}
    for one in found:
        if one.difference.p_value is not None:
            by_metric.setdefault(one.metric.name, []).append(one)
    adjusted: dict[int, float] = {}
    for rows in by_metric.values():
        values = holm([row.difference.p_value or 0.0 for row in rows])
        adjusted |= {id(row): value for row, value in zip(rows, values, strict=True)}
    return adjusted
