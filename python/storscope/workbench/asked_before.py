"""What a store has of the same target that was asked otherwise: named where what was asked for is not found.

A sweep or a search is found by the digest of what was asked, which says nothing of what is different. Here it is told
from what runs have among their parameters, which is not all that a digest is of: where nothing different is found,
something else is, or another version hashed it in a way that this one does not know.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from storscope.domain.objective import Objective
from storscope.domain.units import format_bytes, format_span, format_time
from storscope.domain.workload import Workload
from storscope.store import Store
from storscope.workbench.asked_digest import told
from storscope.workbench.benchmarking import BenchSettings

_SWEEPS = """
SELECT parameters['sweep'] AS sweep, any_value(version) AS version, any_value(parameters) AS parameters,
       min(epoch_ns(time)) AS time_ns, any_value(engine) AS engine
FROM (SELECT *, CASE WHEN engine = 'storscope' THEN engine_version END AS version FROM runs)
WHERE parameters['sweep_point'] IS NOT NULL GROUP BY sweep
HAVING list_has_all(?, list(parameters['sweep_point'])) ORDER BY time_ns DESC
"""
"""Those whose points are all among the given ones, the newest first."""
_KNEES = """
SELECT run, engine_version AS version, epoch_ns(time) AS time_ns, parameters FROM runs
WHERE parameters['knee_role'] = 'answer' ORDER BY time DESC
"""
_NO_DIFFERENCE = "with no difference that is known here: an older version may have stored it"


def other_sweep(
    store: Store, targets: Sequence[str], lengths: Mapping[str, str], settings: BenchSettings, how: Mapping[str, str]
) -> str | None:
    """The newest sweep with points of `lengths` on the same targets, and what it asked otherwise, in words.

    `lengths` is of each point how long it is measured, in words; `how` what runs keep of what else was asked for.
    """
    for row in store.query(_SWEEPS, [list(lengths)]).to_pylist():
        known = dict(row["parameters"])
        if _is_on(known, targets):
            length = lengths[known["sweep_point"]]
            differences = [*_sweep_differences(known, row["engine"], length, settings), *_how_differences(known, how)]
            return _words("sweep of the same points", row["sweep"], row, differences)
    return None


def other_knee(
    store: Store, targets: Sequence[str], workload: Workload, objective: Objective | None, settings: BenchSettings
) -> str | None:
    """The newest search on the same targets, and what it asked otherwise, in words."""
    for row in store.query(_KNEES).to_pylist():
        known = dict(row["parameters"])
        if _is_on(known, targets):
            differences = [
                *_load_differences(known, workload, objective),
                *_place_differences(known, settings if len(targets) == 1 else replace(settings, size_bytes=None)),
            ]
            return _words("search", row["run"], row, differences)
    return None


def _is_on(known: Mapping[str, str], targets: Sequence[str]) -> bool:
    """Whether a run was on these targets; a scratch file has a name of its own, in the directory that was named."""
    paths = known["target"].split(", ")
    asked = {Path(target).absolute() for target in targets}
    return all({Path(path).absolute(), Path(path).absolute().parent} & asked for path in paths)


def _words(what: str, name: str, row: Mapping[str, Any], differences: Sequence[str]) -> str:
    version = f" by storscope {row['version']}" if row["version"] else ""
    otherwise = f"with {', '.join(differences)}" if differences else _NO_DIFFERENCE
    return f"a {what} on the same target, {name} of {format_time(row['time_ns'])}{version}, asked {otherwise}"


def _sweep_differences(known: Mapping[str, str], engine: str, length: str, settings: BenchSettings) -> Iterator[str]:
    yield from _unlike("each measured for", known.get("goal"), length)
    size = None if settings.size_bytes is None else format_bytes(settings.size_bytes)
    had = known.get("sweep_size_bytes")
    yield from _unlike("a size of", format_bytes(int(had)) if had else None, size)
    yield from _unlike("", _cache_words(known.get("direct") == "true"), _cache_words(settings.direct))
    yield from _unlike("the engine", engine, settings.engine)


def _how_differences(known: Mapping[str, str], how: Mapping[str, str]) -> Iterator[str]:
    if "sweep_repeats" not in known:  # the first sweeps did not say
        return
    had, wanted = _every_words(known), _every_words(how)
    yield from _unlike("", had, wanted)
    if had == wanted:
        of_slots = "sweep_every_ns" in how
        numbers = (one["sweep_repeats"] for one in (known, how))
        yield from _unlike("a number of slots of" if of_slots else "--repeat", *numbers)
    yield from _unlike("", *map(_precondition_words, (known, how)))
    yield from _unlike("--ioengine", known["sweep_ioengine"], how["sweep_ioengine"])


def _every_words(how: Mapping[str, str]) -> str:
    every_ns = how.get("sweep_every_ns")
    return f"a time series of a slot every {format_span(int(every_ns))}" if every_ns else "no time series"


def _precondition_words(how: Mapping[str, str]) -> str:
    return "--precondition" if how["sweep_preconditions"] == "true" else "no --precondition"


def _load_differences(known: Mapping[str, str], workload: Workload, objective: Objective | None) -> Iterator[str]:
    if told(Workload.from_json(json.loads(known["workload"]))) != told(workload):
        yield "another workload"
    yield from _unlike("the objective", known["objective"] or "none", str(objective or "none"))


def _place_differences(known: Mapping[str, str], settings: BenchSettings) -> Iterator[str]:
    if "knee_how" not in known:  # the first searches did not say
        return
    how = json.loads(known["knee_how"])
    if settings.size_bytes is not None:
        yield from _unlike("a size of", format_bytes(how["size_bytes"]), format_bytes(settings.size_bytes))
    yield from _unlike("", _cache_words(how["direct"]), _cache_words(settings.direct))


def _unlike(what: str, had: str | None, wanted: str | None) -> Iterator[str]:
    if had is not None and wanted is not None and had != wanted:
        yield f"{what} {had} instead of {wanted}".strip()


def _cache_words(direct: bool) -> str:
    return "O_DIRECT" if direct else "--buffered"
