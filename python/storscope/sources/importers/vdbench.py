"""Vdbench's flatfile.html, 5.02 to 5.04.07, and with --as vdbench its summary.html and totals.html.

Columns are found by the heading of the file's version: with and without `timestamp`, apart read and write times, and
`ks_` columns. Each run (a step of an RD) becomes a run, with an observation for each interval of Vdbench's own average
(`avg_2-60`); intervals before it are start-up and warm-up, and left out. totals.html has averages only, which then are
the observations. The three files have the same figures: the flatfile alone is recognised, so that a folder is not read
three times. Seen in captures of 5.04.07; the older layouts are from descriptions (unverified).

Beware: MB is 2^20 bytes, times are ms. `xfersize` is the first of several sizes; the block size is then the mean of
what ran. `threads` are each storage definition's: they are the I/Os in flight where the observed depth says so. Where
the share of reads is neither all nor nothing, bytes by direction are known for one size only. Runs on files (FSD) have
other columns, and are not read. Stamps name their zone by letters (ICT), which many share: only summary.html has its
offset.
"""

from __future__ import annotations

import datetime as dt
import statistics
from itertools import pairwise

from storscope.domain import units
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken
from storscope.sources.importers._fio import Names
from storscope.sources.importers._local_clock import LocalClock
from storscope.sources.importers._vdbench import FLAT_HEADING, Reader, Row, Run, WrongColumns, counted

_DEFAULT_SYSTEM = "vdbench-host"
_UNCONTROLLED = 900_000
"""Rates asked for as MAX or CURVE are printed as 999988, 999977 or, since 5.04.07, 9999988 and so on."""
_ASKED = (
    "reqrate", "xfersize", "threads", "rdpct", "rhpct", "whpct", "seekpct", "lunsize", "version", "compratio",
    "dedupratio",
)  # fmt: skip
_NO_COUNTER = {"tod", "timestamp", "Run", "Interval", "rate", "MB/sec", "bytes/io", "read%", "resp", "read_resp",
               "write_resp", "resp_max", *_ASKED}  # fmt: skip
_UNITS = {
    "resp_std": "ms", "read_std": "ms", "write_std": "ms", "read_max": "ms", "write_max": "ms", "cpu_used": "%",
    "cpu_user": "%", "cpu_kernel": "%", "cpu_wait": "%", "cpu_idle": "%",
}  # fmt: skip
_ONE_SIZE = 0.001
_FULL_DEPTH = (0.8, 1.05)
_DAY_S = 86_400


def _recognise(head: Head) -> float:
    return 0.97 if FLAT_HEADING.search(head.text) else 0.0


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    reader = Reader()
    try:
        reader.read(evidence.lines())
    except WrongColumns as error:
        raise broken(
            evidence, "columns of a run on storage definitions (rate, resp)", str(error),
            hint="Runs on files (FSD) are not read yet. Put their figures into a table with a line a test.",
        ) from None  # fmt: skip
    runs = [run for run in reader.runs if run.rows]
    if not runs:
        raise broken(
            evidence, "rows of intervals below 'tod ... Run Interval ...' or 'Starting RD='", "none",
            hint="The run ended before its first interval, or this is another report: import flatfile.html.",
        )  # fmt: skip
    recorder.notes.tool, recorder.notes.system = "Vdbench", options.system or _DEFAULT_SYSTEM
    recorder.omit("rows that do not fit their heading", reader.damaged)
    recorder.omit("runs without an interval", len(reader.runs) - len(runs))
    writer = _Writer(recorder, options, reader)
    for run in runs:
        writer.run(run)


class _Writer:
    """Turns runs into rows of the tables."""

    def __init__(self, recorder: Recorder, options: ImportOptions, reader: Reader) -> None:
        self._recorder = recorder
        self._options = options
        self._names = Names()
        self._shift = dt.timedelta()
        zone = options.zone()
        if not reader.has_dates:
            self._undated(reader)
        elif options.timezone is None and reader.utc_offset is not None:
            zone = dt.timezone(reader.utc_offset)
            recorder.notes.clock = f"the file's own: UTC and {reader.abbreviation} side by side"
        else:
            named = f" ('{reader.abbreviation}', which several zones are called)" if reader.abbreviation else ""
            recorder.notes.clock = options.zone_words().replace(
                "no zone in the source", f"no zone in the source{named}"
            )
        self._clock = LocalClock(zone, jumbled=True)

    def _undated(self, reader: Reader) -> None:
        """Times of day without a date: the first interval begins at --start."""
        start = self._options.start
        self._recorder.notes.has_times = start is not None
        self._recorder.notes.clock = "no dates in the source; " + (
            "the first interval ends at --start" if start else "set --start to place them"
        )
        if start is not None:
            local = start.astimezone(self._options.zone()).replace(tzinfo=None) if start.tzinfo else start
            self._shift = local - next(run.rows[0].at for run in reader.runs if run.rows)

    def run(self, run: Run) -> None:
        """A run and its observations."""
        step_s = self._step_s(run)
        rows = list(counted(run)) or ([run.average] if run.average else [])
        self._recorder.omit(
            "intervals that Vdbench leaves out of its average (start-up, warm-up)", len(run.intervals) - len(rows)
            if run.intervals else 0,
        )  # fmt: skip
        if run.average is None:
            self._recorder.warn(
                f"{run.name}: no average stands below its intervals, so it was stopped or the file was cut; its first "
                "interval is left out as start-up."
            )
        if not rows:
            self._recorder.omit("runs of one interval, which is start-up")
            return
        whole = run.average or rows[-1]
        one_size = _one_size(whole)
        begin_ns = self._begin_ns(run, step_s)
        spans = [(begin_ns + _ns((row.first or row.interval) - 1, step_s), _length(row, step_s)) for row in rows]
        name = self._record(run, whole, one_size, (spans[0][0], spans[-1][0] + spans[-1][1] - spans[0][0]))
        job = EntityRef(self._options.system or _DEFAULT_SYSTEM, "job", run.name)
        for row, (at_ns, length_ns) in zip(rows, spans, strict=True):
            duration_ns = length_ns or None
            self._recorder.observe(job, at_ns, duration_ns, _values(row, one_size), run=name)
            for column in row.texts:
                if column not in _NO_COUNTER:
                    unit = _UNITS.get(column, "")
                    self._recorder.counter(job, at_ns, duration_ns, column, unit, row.value(column), run=name)

    def _record(self, run: Run, whole: Row, one_size: float | None, when: tuple[int, int]) -> str:
        texts = whole.texts
        said = {name: texts[name] for name in _ASKED if texts.get(name, "n/a") != "n/a"} | run.said
        reads, seeks = whole.value("rdpct"), whole.value("seekpct")
        size = one_size or whole.value("bytes/io")
        return self._recorder.run(
            self._names.run(run.name), engine="vdbench", name=run.name,
            system=self._options.system or _DEFAULT_SYSTEM,
            time_ns=when[0] if self._recorder.notes.has_times else None, duration_ns=when[1] or None,
            block_bytes=size or None, read_ratio=None if reads is None or reads > 100 else reads / 100,
            random_ratio=None if seeks is None or seeks > 100 else seeks / 100,
            outstanding=self._outstanding(run, whole), status="ok" if run.average else "stopped", parameters=said,
        )  # fmt: skip

    def _outstanding(self, run: Run, whole: Row) -> float | None:
        """The threads, where as many I/Os were in flight: with several storage definitions there are more."""
        threads, asked, rate, ms = (whole.value(name) for name in ("threads", "reqrate", "rate", "resp"))
        if not threads or rate is None or ms is None:
            return None
        depth = rate * ms / 1000  # Little's law, as Vdbench makes its queue_depth
        if depth > threads * _FULL_DEPTH[1]:
            self._recorder.warn(
                f"{run.name}: more I/Os were in flight ({depth:,.1f}) than threads are stated ({threads:,.0f}), which "
                "are those of one storage definition; the configured number is unknown."
            )
            return None
        was_full = depth >= threads * _FULL_DEPTH[0]
        return threads if was_full and (asked is None or asked >= _UNCONTROLLED) else None

    # Times -------------------------------------------------------------------------------------------------------

    def _step_s(self, run: Run) -> float:
        """The interval: whole seconds, as Vdbench takes them; 0 when nothing tells."""
        if self._options.interval_s:
            return self._options.interval_s
        steps = [
            (late.at - early.at).total_seconds() / (late.interval - early.interval)
            for early, late in pairwise(run.intervals)
            if late.interval > early.interval
        ]
        average = run.average
        if not steps and average is not None and run.began is not None and average.interval:
            steps = [(average.at - run.began).total_seconds() % _DAY_S / average.interval]
        step_s = round(statistics.median(steps)) if steps else 0
        return float(step_s) if 0 < step_s <= _DAY_S else 0.0

    def _begin_ns(self, run: Run, step_s: float) -> int:
        """When the first interval began: rows are printed behind their interval's end, the least late one tells."""
        begins = [row.at - dt.timedelta(seconds=row.interval * step_s) for row in run.rows]
        plausible = [begin for begin in begins if begin.year > 1900]
        return self._clock.instant(min(plausible or [run.rows[0].at]) + self._shift)


def _ns(count: float, step_s: float) -> int:
    return round(count * step_s * 1000) * units.NS_PER_MS


def _length(row: Row, step_s: float) -> int:
    return _ns(1 if row.first is None else row.interval - row.first + 1, step_s)


def _one_size(row: Row) -> float | None:
    """The size of every I/O, where what ran has the size that was asked for: of a list the first is printed."""
    asked, seen = row.value("xfersize"), row.value("bytes/io")
    return asked if asked and seen and abs(asked - seen) <= asked * _ONE_SIZE else None


def _values(row: Row, one_size: float | None) -> dict[str, float | None]:
    """Rates, sizes and times. Without an I/O in a direction there is no latency of it."""
    rate, mib, percent = row.value("rate"), row.value("MB/sec"), row.value("read%")
    size = None if mib is None else units.bytes_from_mib(mib)
    values: dict[str, float | None] = {"ops_per_s": rate, "bytes_per_s": size}
    values["latency_ns_mean"] = _ms(row, "resp") if rate else None
    values["latency_ns_max"] = max(
        (ms for n in ("resp_max", "read_max", "write_max") if (ms := _ms(row, n))), default=None
    )
    if rate is None or percent is None or percent > 100:
        return values
    shares = {"read": units.ratio_from_percent(percent), "write": 1 - units.ratio_from_percent(percent)}
    if not rate:
        shares = dict.fromkeys(shares, 0.0)
    for way, share in shares.items():
        values[f"{way}_ops_per_s"] = rate * share
        if share in (0.0, 1.0):
            values[f"{way}_bytes_per_s"] = None if size is None else size * share
        elif one_size:
            values[f"{way}_bytes_per_s"] = rate * share * one_size
        mean = _ms(row, f"{way}_resp")
        only = values["latency_ns_mean"] if share == 1.0 else None
        values[f"{way}_latency_ns_mean"] = (mean or only) if rate * share else None
    return values


def _ms(row: Row, name: str) -> float | None:
    """A time of the row in ns; None for 0, which stands where nothing was timed."""
    ms = row.value(name)
    return units.ns_from_ms(ms) if ms else None


IMPORTER = Importer(
    name="vdbench",
    title="Vdbench flatfile.html",
    supports=(
        "5.02 to 5.04.07, runs on storage definitions; summary.html and totals.html with --as vdbench; "
        "seen with 5.04.07, older layouts are unverified"
    ),
    how_to_capture="vdbench -f parmfile -o output   (then output/flatfile.html)",
    recognise=_recognise,
    read=_read,
    carries=(
        "runs with block size, read and random ratio, and outstanding where the observed depth says so",
        "ops_per_s, bytes_per_s and mean latency by direction, for each interval", "latency_ns_max",
        "deviations, queue depth and CPU as counters",
    ),
    not_yet={
        "runs on files (FSD)": "their columns are other ones, and no capture was at hand",
        "histogram.html": "its buckets stand beside no times; latencies are means and maxima here",
    },
    never={
        "percentiles": "the flatfile has means, deviations and maxima",
        "the host's name": "one report is of all hosts; say --system",
    },
)  # fmt: skip
