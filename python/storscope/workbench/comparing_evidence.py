"""Comparisons from Python: of files, folders, archives and parts of stores, and of simulated runs."""

from __future__ import annotations

import datetime as dt
import zoneinfo
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from storscope.compare.metrics import metrics_named
from storscope.domain.comparison import Settings
from storscope.domain.errors import UsageError
from storscope.report import write_comparison_report
from storscope.store import Store
from storscope.workbench.arguments import Duration, taken_texts, taken_whole
from storscope.workbench.brought import Reading
from storscope.workbench.comparing import SideSource, compare_sources, made_side, named_side, read_side
from storscope.workbench.completing import completed
from storscope.workbench.diagnosed import Compared, compared
from storscope.workbench.evidence_arguments import (
    MOST_SEED,
    refuse_reading,
    taken_evidence,
    taken_page,
    taken_path,
    taken_reading,
    taken_share,
)
from storscope.workbench.import_summary import ImportSummary
from storscope.workbench.opened_evidence import explained, few, forgotten, run_words
from storscope.workbench.simulated import Simulated
from storscope.workbench.simulation_store import store_simulation

Comparable = str | Path | Simulated | Iterable[str | Path] | Iterable[Simulated]
"""What can be diagnosed, a part of a store as 'STORE#run=NAME', or several simulated runs, which are repetitions."""

_SIDE = "a side: a file, folder, archive or store, a selection like 'run=NAME', several files, or simulated runs"


def compare(
    before: Comparable, after: Comparable, *, metrics: str | Sequence[str] = (), threshold: float | str = 0.05,
    level: float | str = 0.95, allow_different_load: bool = False, allow_failed: bool = False, entities: int = 10,
    seed: int = 0, store: str | Path | None = None, report: str | Path | None = None, as_format: str | None = None,
    timezone: str | zoneinfo.ZoneInfo | None = None, system: str | None = None,
    start: str | dt.datetime | None = None, interval: Duration | None = None, year: int | None = None,
    day_first: bool | None = None, keep_first: bool = False,
) -> Compared:  # fmt: skip
    """Says whether `after` differs from `before`, by how much, and whether that can be chance.

        comparison = storscope.compare("before.csv", "after.csv", metrics=["latency", "p99"])
        if comparison.outcome == "worse":
            print(comparison.answer)

    A side is a file, folder or archive (or several files), a store, a part of one ('lab#run=base-*'), a part of `store`
    ('run=base-*'), or a run of `simulate_each`; several runs, each with a seed of its own, are repetitions, and three
    or more a side tell what chance can do. A simulated side beside a measured one is a prediction, which is not judged.

    `metrics` are named as on the command line ('latency', 'p99', 'iops', 'read_latency', ...; docs/compare.md);
    `threshold` is the smallest change that matters and `level` that of the intervals, as ratios or like '5%';
    `entities` is how many things of running systems are compared, the busiest first. `report` is the file of a page.
    What is said about evidence (`timezone` and so on) is as of `diagnose`.

    Each of `pairs` has `rows` with `metric`, `before`, `after`, `change` (a ratio), its bounds, `outcome` and `reason`.

    Raises UsageError for arguments, and for sides that are not there or of unlike kinds; InputError for a side without
    anything to compare. All are StorscopeError.
    """
    page, summaries = taken_page(report), list[ImportSummary]()
    kept = taken_path("a directory of a store", store)
    settings = Settings(
        metrics=taken_texts("names of metrics, as 'latency'", metrics),
        threshold=taken_share("threshold", threshold, 0.0, 0.9999),
        level=taken_share("level", level, 0.5, 0.9999),
        seed=taken_whole("a seed", seed, 0, MOST_SEED),
        allow_different_load=bool(allow_different_load),
        allow_failed=bool(allow_failed),
        entities_max=taken_whole("a number of entities", entities, 1, 10**6),
    )
    metrics_named(settings.metrics)  # refuses a wrong name before anything is read
    reading = taken_reading(
        as_format=as_format, timezone=timezone, system=system, start=start, interval=interval, year=year,
        day_first=day_first, keep_first=keep_first, told=summaries.append,
    )  # fmt: skip
    sides = [_side(one, kept, reading) for one in (before, after)]
    if not any(side.is_read for side in sides):
        refuse_reading(reading, "stores and simulated runs")
    said = _completed(kept)
    with explained(summaries):
        comparison = compare_sources(sides[0], sides[1], settings)
    comparison = replace(comparison, notes=[*said, *comparison.notes])
    if page is not None:
        write_comparison_report(comparison, page)
    return compared(comparison, summaries)


def _side(given: Comparable, kept: Path | None, reading: Reading) -> SideSource:
    found = taken_evidence(_SIDE, given)
    runs = [one for one in found if isinstance(one, Simulated)]
    paths = [one for one in found if isinstance(one, Path)]
    if runs:
        return _simulated_side(runs)
    if isinstance(given, str | Path):
        return _checked(named_side(str(given), kept, reading), kept)
    return read_side(few(paths, ", "), paths, reading)


def _checked(source: SideSource, kept: Path | None) -> SideSource:
    if source.side.path is None and kept is None:
        raise UsageError(
            "a store for the selection", "none", where=source.side.text,
            hint="Name it in the text, 'STORE#key=value', or give store=.",
        )  # fmt: skip
    return source


def _simulated_side(runs: Sequence[Simulated]) -> SideSource:
    """Raises UsageError for the same run twice: its figures are the same, and chance would seem to do nothing."""
    times = Counter(repr((one.plan.design.form, one.plan.plan_json(), one.plan.options_json(0))) for one in runs)
    if most := max(times.values()) - 1:
        raise UsageError(
            "repetitions with a seed each", f"the same run {most + 1} times",
            hint="The same arguments give the same figures: simulate each with another seed.",
        )  # fmt: skip
    text = run_words(runs[0]) if len(runs) == 1 else f"{len(runs)} simulated runs"
    return made_side(text, lambda store: [store_simulation(store, one) for one in runs])


def _completed(kept: Path | None) -> list[str]:
    if kept is None or not Store.is_store(kept):
        return []
    store = Store.open(kept)
    with forgotten(store):
        return list(completed(store))
