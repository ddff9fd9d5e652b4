"""Reading the runs of a store."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from storscope.compare.active import ActiveStream, active_streams, has_fixed_rate, load_of, streams_of
from storscope.compare.alike import OWN_ENGINES
from storscope.compare.asked import Asked
from storscope.compare.asked_fio import FORMAT as FIO_JSON
from storscope.compare.asked_fio import asked_of_fio
from storscope.compare.asked_own import asked_of_own, read_scratch_bytes
from storscope.compare.asked_table import asked_of_row
from storscope.compare.chosen_streams import are_all, chosen_names, ios_by_stream, only_chosen, rows_of, without_places
from storscope.compare.combining import Row
from storscope.compare.marks import TABLE, marks_of_job, marks_of_row, marks_of_run
from storscope.compare.measured_again import measured_again
from storscope.compare.metrics import FLUSH_LATENCY, FLUSH_RATE
from storscope.compare.naming import SIMULATOR, place_of
from storscope.compare.own_intervals import read_own
from storscope.compare.run_figures import end_of_row_ns, measured_run
from storscope.compare.selection import Selector, Times
from storscope.compare.subjects import Measured, Subject
from storscope.compare.told_percentiles import read_told
from storscope.domain import flush
from storscope.domain.comparison import Load
from storscope.domain.json_form import encode
from storscope.domain.schema import CANONICAL
from storscope.domain.units import NS_PER_S
from storscope.store import Store

_RATE_PARAMETERS: Final = ("rate", "rate_iops", "rate_process", "rate_per_s")
_POINT_AXES: Final = re.compile(r" (?:size|jobs|depth|read)=")
_COLUMNS: Final = ", ".join(CANONICAL)
_FLUSHES: Final = f"""SELECT capture, run, system, kind, entity, time, duration_ns,
    max(value) FILTER (name = '{flush.RATE}') AS {FLUSH_RATE},
    max(value) FILTER (name = '{flush.LATENCY}') AS {FLUSH_LATENCY}
    FROM counters WHERE name IN ('{flush.RATE}', '{flush.LATENCY}') AND list_contains($captures, capture)
    GROUP BY ALL"""
"""What counters tell of a run's flushes, beside the columns of its intervals."""


def _in_file_order(table: str) -> str:
    """The rows of runs in a table, each with its position in it: the order of intervals without a time."""
    return f"""SELECT *, row_number() OVER () AS position FROM {table}
               WHERE run IS NOT NULL AND list_contains($captures, capture)"""


def captures_of(store: Store, selector: Selector) -> dict[str, str]:
    """Capture id -> path, of the captures that are meant."""
    return {
        row["capture"]: row["path"]
        for row in store.captures()
        if selector.takes_capture(row["capture"], str(row["path"]))
    }


def captures_of_simulated(store: Store, selector: Selector, captures: Mapping[str, str]) -> dict[str, str]:
    """Those that hold a simulated run that is meant."""
    rows = store.query("SELECT capture, run, name FROM runs WHERE engine = $1", [SIMULATOR]).to_pylist()
    found = {row["capture"] for row in rows if selector.takes_run(row["run"], row["name"])}
    return {capture: path for capture, path in captures.items() if capture in found}


def read_runs(store: Store, selector: Selector, captures: Iterable[str]) -> list[Subject]:
    """The runs that are meant, captures by their times and the runs of one as in its file.

    By time jobs of fio that begin together would be in the order of the milliseconds between them.
    """
    parameters = {"captures": list(captures)}
    runs = store.query(
        """SELECT * EXCLUDE (time), epoch_ns(time) AS time_ns
           FROM (SELECT *, row_number() OVER () AS position FROM runs)
           JOIN (SELECT capture, format FROM captures) USING (capture)
           WHERE list_contains($captures, capture)
           ORDER BY min(time) OVER (PARTITION BY capture), capture, position""",
        parameters,
    ).to_pylist()
    chosen = [
        row
        for row in runs
        if selector.takes_run(row["run"], row["name"], dict(row["parameters"] or ()).get("sweep"))
        and selector.takes_system(row["system"] or "")
    ]
    if not chosen:
        return []
    chosen, stands_for = measured_again(chosen)
    observed = _by_run(
        store.query(
            f"""SELECT capture, run, system, kind, entity, epoch_ns(time) AS time_ns, duration_ns, {_COLUMNS},
                       {FLUSH_RATE}, {FLUSH_LATENCY}
                FROM ({_in_file_order("observations")}) LEFT JOIN ({_FLUSHES})
                USING (capture, run, system, kind, entity, time, duration_ns) ORDER BY time, position""",
            parameters,
        ).to_pylist()
    )
    histograms = _by_run(
        store.query(
            f"""SELECT capture, run, kind, entity, epoch_ns(time) AS time_ns, duration_ns, operation, measure,
                       bucket_low_ns, bucket_high_ns, counts
                FROM ({_in_file_order("histograms")}) ORDER BY time, position""",
            parameters,
        ).to_pylist()
    )
    is_part = selector.has_times or selector.stream
    own = {} if is_part else read_own(store, parameters["captures"])
    told = {} if is_part else read_told(store, parameters["captures"])
    scratch_bytes = read_scratch_bytes(store, parameters["captures"])
    subjects = []
    for row in chosen:
        key = (row["capture"], row["run"])
        times = selector.times(start_of_run_ns(row))
        names = None if selector.stream is None else chosen_names(dict(row["parameters"] or ()), selector)
        if names is not None and not names:
            continue
        parts = [_of_streams(rows, row, names) for rows in (observed[key], histograms[key])]
        measured = times and measured_run(parts[0], parts[1], times, own.get(key, {}))
        if times and measured:
            measured = replace(measured, told=told.get(key, {}))
            run = _run(row, measured, times, scratch_bytes.get(key), names)
            inside = [part for part in parts[0] if times.take(part["time_ns"], end_of_row_ns(part))]
            by_stream = ios_by_stream(inside, row["run"], dict(row["parameters"] or ()))
            run = replace(run, stream_ios=by_stream, stands_for=stands_for[key])
            subjects.append(replace(run, name=selector.stream) if selector.stream else run)
    return subjects


def _of_streams(rows: list[Row], run: Row, names: frozenset[str] | None) -> list[Row]:
    """All of a run's rows, or those of some streams; where these are all that it has, the rows of the whole."""
    parameters = dict(run["parameters"] or ())
    return rows if names is None or are_all(parameters, names) else rows_of(rows, run["run"], parameters, names)


def _by_run(rows: list[Row]) -> dict[tuple[str, str], list[Row]]:
    grouped: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        grouped[row["capture"], row["run"]].append(row)
    return grouped


def start_of_run_ns(row: Row) -> int | None:
    """When a run started: its row is of what follows the warm-up."""
    return None if row["time_ns"] is None else int(row["time_ns"]) - _warm_up_ns(row)


def _warm_up_ns(row: Row) -> int:
    return round(float(dict(row["parameters"] or ()).get("warm_up_s") or 0.0) * NS_PER_S)


def _changes(row: Row, times: Times, measured: Measured) -> tuple[str, ...]:
    """How phases began within the times that are meant, in words; not the one that was under way before, nor one that
    began behind the last interval within them."""
    zero_ns = start_of_run_ns(row) or 0
    phases = json.loads(dict(row["parameters"] or ()).get("phases") or "[]")
    until_ns = times.until_ns
    if until_ns is not None and measured.intervals is not None and len(measured.intervals.time_ns):
        begins = [time_ns for time_ns in measured.intervals.time_ns if time_ns is not None]
        last_ns = max(begins, default=until_ns) + round(float(measured.intervals.duration_s[-1]) * NS_PER_S)
        until_ns = min(until_ns, last_ns)
    return tuple(
        one["begins"]
        for one in phases[1:]
        if (times.since_ns is None or zero_ns + one["from_ns"] > times.since_ns)
        and (until_ns is None or zero_ns + one["from_ns"] < until_ns)
    )


def _run(
    row: Row, measured: Measured, times: Times, scratch_bytes: float | None, names: frozenset[str] | None
) -> Subject:
    parameters = dict(row["parameters"] or ())
    active = active_streams(parameters, *_meant_ns(row, times))
    if names is not None:
        active = only_chosen(active, parameters, names)
    load = Load(*(row[name] for name in ("block_bytes", "read_ratio", "random_ratio", "outstanding", "workers")))
    load = load_of(parameters, active, load)
    return Subject(
        capture=row["capture"],
        key=row["run"],
        name=row["name"] or row["run"],
        is_run=True,
        measured=lambda: measured,
        load=load,
        asked=_asked(row["format"], parameters, load, active, scratch_bytes),
        engine=row["engine"],
        made_by=parameters.get("made_by") or "",
        place=place_of(row["engine"], row["system"], parameters.get("target")),
        design=parameters.get("design") or "",
        marks=_marks(row, parameters),
        row=parameters if row["format"] == TABLE else None,
        is_simulated=row["engine"] == SIMULATOR,
        time_ns=row["time_ns"],
        duration_ns=None if times.are_bounded else row["duration_ns"],
        warm_up_ns=_warm_up_ns(row),
        changes=_changes(row, times, measured),
        doubts=parameters.get("doubts") or "",
        status=_status(row, times),
        latency_bound=parameters.get("latency_bound"),
        has_fixed_rate=(names is None and any(parameters.get(name) for name in _RATE_PARAMETERS))
        or has_fixed_rate(active),
        streams=_streams_of(parameters, active, are_chosen=names is not None),
        sweep_mode=_mode_of(parameters.get("sweep_point")),
    )


def _status(row: Row, times: Times) -> str | None:
    """How it ended; None of what lies before the end of a run of our own that failed: a failure ends it at once."""
    status: str | None = row["status"]
    if status != "failed" or row["engine"] not in OWN_ENGINES or times.until_ns is None or row["time_ns"] is None:
        return status
    return None if times.until_ns < row["time_ns"] + (row["duration_ns"] or 0) else status


def _meant_ns(row: Row, times: Times) -> tuple[int, int]:
    """From when to when its figures are meant, since its start."""
    start_ns, warm_up_ns = start_of_run_ns(row) or 0, _warm_up_ns(row)
    end_ns = warm_up_ns + (row["duration_ns"] or 0)
    since_ns = warm_up_ns if times.since_ns is None else max(warm_up_ns, times.since_ns - start_ns)
    return since_ns, end_ns if times.until_ns is None else min(end_ns, times.until_ns - start_ns)


def _marks(row: Row, parameters: Mapping[str, str]) -> dict[str, str]:
    """What tells it from other runs of its name and load."""
    if row["format"] == TABLE:
        return marks_of_row(parameters)
    if "workload" in parameters:
        return marks_of_run(parameters, row["system"], is_simulated=row["engine"] == SIMULATOR)
    return marks_of_job(parameters) if row["format"] == FIO_JSON else {}


def _asked(
    capture_format: str,
    parameters: Mapping[str, str],
    load: Load,
    active: Sequence[ActiveStream],
    scratch_bytes: float | None,
) -> Asked:
    if "workload" in parameters:
        return asked_of_own(parameters, active, scratch_bytes)
    if capture_format == TABLE:
        return asked_of_row(parameters, load)
    return asked_of_fio(parameters, load) if capture_format == FIO_JSON else Asked()


def _streams_of(
    parameters: Mapping[str, str], active: Sequence[ActiveStream], *, are_chosen: bool = False
) -> dict[str, str]:
    """Name -> all of it, of a workload of several streams; without those that were silent.

    Where some streams are chosen, only these, and without the places that they use. A field that an older version did
    not know, and so did not write, has its default; a workload of a form that this version does not know stays as is.
    """
    known = streams_of(parameters)
    try:
        streams = [encode(one) for one in known] or json.loads(parameters.get("workload", "{}")).get("streams", [])
    except (ValueError, AttributeError):
        return {}
    silent = {one.name for one in known} - {one.stream.name for one in active}
    kept = [one for one in streams if one["name"] not in silent] if len(streams) > 1 else []
    texts = {one["name"]: json.dumps(one, sort_keys=True) for one in kept}
    return {name: without_places(text) for name, text in texts.items()} if are_chosen else texts


def _mode_of(point: str | None) -> str | None:
    """'randread' of 'randread size=4096 jobs=1 depth=1' (`domain.sweep.Point.key`)."""
    return None if point is None else _POINT_AXES.split(point)[0]
