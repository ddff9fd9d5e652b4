"""Diagnoses from Python: of files, folders, archives and stores, and of a simulated run; and evidence as tables."""

from __future__ import annotations

import datetime as dt
import zoneinfo
from collections.abc import Iterable
from pathlib import Path

from storscope.domain.errors import UsageError
from storscope.domain.schema import TABLES
from storscope.report import write_report
from storscope.workbench.arguments import Duration, taken_whole
from storscope.workbench.diagnosed import Diagnosed, EvidenceTables, diagnosed
from storscope.workbench.diagnosing import diagnose as judge
from storscope.workbench.evidence_arguments import (
    MOST_SEED,
    When,
    taken_evidence,
    taken_moment,
    taken_page,
    taken_path,
    taken_reading,
    taken_text,
)
from storscope.workbench.import_summary import ImportSummary
from storscope.workbench.judged_beside import with_beside, with_first
from storscope.workbench.opened_evidence import explained, opened_evidence
from storscope.workbench.simulated import Simulated

Diagnosable = str | Path | Simulated | Iterable[str | Path]
"""A file, folder, archive or store, several of them but stores, or a simulated run."""

_FILES = "evidence: a file, folder, archive or store, or several files"
_EVIDENCE = f"{_FILES}, or a simulated run"


def diagnose(
    evidence: Diagnosable, *, since: When | None = None, until: When | None = None, run: str | None = None,
    thresholds: str | Path | None = None, seed: int = 0, store: str | Path | None = None,
    report: str | Path | None = None, as_format: str | None = None,
    timezone: str | zoneinfo.ZoneInfo | None = None, system: str | None = None,
    start: str | dt.datetime | None = None, interval: Duration | None = None, year: int | None = None,
    day_first: bool | None = None, keep_first: bool = False,
) -> Diagnosed:  # fmt: skip
    """Says what is wrong with storage, who causes it and why to believe it.

        verdict = storscope.diagnose("captures/", timezone="Europe/Berlin", report="report.html")
        for finding in verdict.findings:
            print(finding.severity.word, finding.title, finding.remedy)

    `evidence` is a file, folder, archive or store, several of them but stores, or a run of `simulate_each`. What is
    read is kept in `store` if one is named, and what that holds already is judged, too; else nothing stays on the disk.
    `report` is the file of a page with the verdict and charts of the evidence.

    `since` and `until` bound the time that is judged: ISO 8601 or a datetime (UTC without a zone), ns since 1970, or of
    a simulated run the time since its start ('12m30s'). `run` is the name, id or pattern of a run of a store. As on the
    command line are `thresholds` (a TOML file), `seed` (of the bootstrap intervals) and what is said about evidence
    that does not say it: `as_format`, `timezone`, `system`, `start`, `interval`, `year`, `day_first`, `keep_first`.

    Findings come in the order in which they matter; `healthy` and `not_evaluated` have the rest, and `not_read` the
    files that could not be used. No finding is no proof: `is_healthy` says whether latency was judged at all.

    Raises UsageError for arguments and files that are not there, InputError where nothing could be read, ConfigError
    for thresholds, StoreError for a store. All are StorscopeError.
    """
    found = taken_evidence(_EVIDENCE, evidence)
    page, summaries = taken_page(report), list[ImportSummary]()
    moments = taken_moment("since", since), taken_moment("until", until)
    asked_run, bootstrap = taken_text("run", run), taken_whole("a seed", seed, 0, MOST_SEED)
    limits, kept = taken_path("a file of thresholds", thresholds), taken_path("a directory of a store", store)
    reading = taken_reading(
        as_format=as_format, timezone=timezone, system=system, start=start, interval=interval, year=year,
        day_first=day_first, keep_first=keep_first, told=summaries.append,
    )  # fmt: skip
    with explained(summaries, found), opened_evidence(found, kept, reading) as opened:
        verdict = judge(
            opened.store, thresholds_file=limits, since=moments[0], until=moments[1], seed=bootstrap,
            run=opened.run if asked_run is None else asked_run,
        )  # fmt: skip
        if opened.own is not None:
            verdict = with_beside(verdict, opened.own)
        verdict = with_first(verdict, *opened.said)
        if page is not None:
            write_report(verdict, opened.store, page)
    return diagnosed(verdict, summaries)


def import_evidence(
    evidence: str | Path | Iterable[str | Path], *, as_format: str | None = None,
    timezone: str | zoneinfo.ZoneInfo | None = None, system: str | None = None,
    start: str | dt.datetime | None = None, interval: Duration | None = None, year: int | None = None,
    day_first: bool | None = None, keep_first: bool = False,
) -> EvidenceTables:  # fmt: skip
    """Returns what evidence holds as tables by name (observations, events, facts, ...), the same of every vendor.

        tables = storscope.import_evidence("perf.zip")
        tables["observations"]  # Arrow

    `evidence` is a file, folder, archive or store, or several of them but stores; nothing stays on the disk. The tables
    are those of `simulate`, each with the column `capture`; `captures` has a row for each file, with what was left out
    of it and why, and `.not_read` lists files that could not be used. What is said about evidence (`timezone` and so
    on) is as of `diagnose`.

    Raises UsageError for arguments and files that are not there, InputError where nothing could be read. Both are
    StorscopeError.
    """
    found = taken_evidence(_FILES, evidence)
    if any(isinstance(one, Simulated) for one in found):
        raise UsageError(_FILES, "a simulated run", hint="Its tables are run.tables().")
    summaries = list[ImportSummary]()
    reading = taken_reading(
        as_format=as_format, timezone=timezone, system=system, start=start, interval=interval, year=year,
        day_first=day_first, keep_first=keep_first, told=summaries.append,
    )  # fmt: skip
    with explained(summaries, found), opened_evidence(found, None, reading) as opened:
        tables = {name: opened.store.query(f"SELECT * FROM {name}") for name in (*TABLES, "captures")}
    return EvidenceTables(tables, summaries)
