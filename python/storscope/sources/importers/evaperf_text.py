"""HP EVA `evaperf as|cs|vd|pd|vdg|pdg`, as text.

UNVERIFIED: no real output was at hand. What is read follows the manual of the P6000 performance tool: tables whose
headings may be split over several lines ('Read' above 'Hit' above 'Req/s'), columns known by the words of their
headings in any order, where they stand found from the blanks that run through the whole table. A name with blanks is
kept whole when its column is the last, or has a heading above its first word. Times come from a line of their own
before a table, or a column; with -nots from --start and --interval.

What the importers of evaperf share is told in `_evaperf.py` (owner and proxy rows) and `_evaperf_columns.py` (units:
MB = 10^6 bytes; latency in ms unless the heading says us).
"""

from __future__ import annotations

from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken
from storscope.sources.importers._evaperf import Writer
from storscope.sources.importers._evaperf_rows import text_rows
from storscope.sources.importers._stamps import Stamps
from storscope.sources.importers._whole_lines import whole_lines


def _recognise(head: Head) -> float:
    scratch = Recorder(lambda _table, _batch: None)
    return 0.9 if any(True for _ in text_rows(head.lines[:500], scratch)) else 0.0


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    recorder.notes.tool = "evaperf"
    stamps = Stamps(options, glibc_habits=False)
    scratch = Recorder(lambda _table, _batch: None)
    for row in text_rows(Evidence(evidence.path, evidence.name).lines(), scratch):
        stamps.learn(row.stamp or "")
    writer = Writer(recorder, options, stamps)
    for row in text_rows(whole_lines(evidence, recorder), recorder):
        writer.add(row)
    writer.finish()
    if recorder.is_empty:
        raise broken(
            evidence, "headings of evaperf (Read Hit Req/s, Online To, Ctlr, ...) with rows under them", "none",
            hint="Capture with: evaperf vd -sz ARRAY -cont 20 (without -nh, which drops the headings).",
        )  # fmt: skip


IMPORTER = Importer(
    name="evaperf_text",
    title="HP EVA evaperf, text",
    supports="objects as, cs, vd, pd, vdg, pdg, with friendly names; layout UNVERIFIED, written from the manual",
    how_to_capture="evaperf vd -sz ARRAY -cont 20 > vd.txt",
    recognise=_recognise,
    read=_read,
    carries=(
        "vdisk: read_ops_per_s, write_ops_per_s, bytes, latencies, read_hit_ratio, forwarded_per_s",
        "disk: queue_depth_mean, latency_ns_mean; controller: cpu_busy_ratio; array: ops_per_s, bytes_per_s",
        "facts online_to, write_mode; links to disk group and owner; ownership and write mode changes as events",
        "every number of every row as a counter, by controller",
    ),
    not_yet={"hps, hc, ps and drt tables": "their layout is not known to us; rows are counted as left out"},
    never={"tables without headings (-nh)": "columns are known by heading only"},
)
