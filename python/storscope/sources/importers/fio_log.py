"""fio's logs (--write_lat_log, --write_bw_log, --write_iops_log, --write_hist_log), fio 2.x to 3.42.

What is measured stands in the name of a file alone, and each file has one thing: so the logs of a folder are read
together, and those of one name and number are one job, which becomes a run. With log_avg_msec the entries of a time are
an interval; logs of single I/Os are put into intervals of a second (--interval), with their distribution. The latency
is the total one (`lat`); where only `clat` was logged, that.

Seen in captures of fio 3.x and made by 3.33 and 3.42; log_window_value=both by the manual (unverified).

Beware: times are since the job's beginning, without a date, unless log_unix_epoch was set. With log_max_value averages
are maxima, and nothing in the log says so. Before 3.0 latencies are in us: told by the histograms, else taken as ns and
doubted where next to nothing would have been in flight. fio writes no rate of its last interval. A bandwidth log of
single I/Os has the size of each by its latency, which is no bandwidth: it is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken
from storscope.sources.importers import _fio
from storscope.sources.importers._fio_log_jobs import LoggedJob
from storscope.sources.importers._fio_log_rows import is_histogram, is_log, log_name
from storscope.sources.importers._fio_log_runs import Key, jobs_of, logs_in, record_jobs, width_ms
from storscope.sources.importers._whole_lines import whole_lines

_NAMES: Final = "a name as fio gives its logs: NAME_lat.1.log, _clat, _slat, _iops, _bw or _clat_hist"
_NAME_HINT: Final = "What a log measures stands in its name alone. Give it that name, or import the JSON of the run."


def _recognise(head: Head) -> float:
    text = head.text
    if text.startswith("# "):  # logs that were put together, each behind its name
        name, _, text = text.partition("\n")
        if log_name(name.removeprefix("# ").strip()) is None:
            return 0.0
    return 0.9 if is_log(text) or is_histogram(text) else 0.0


def _is_part(head: Head) -> bool:
    return _recognise(head) > 0 and log_name(head.name) is not None


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    logs = logs_in(whole_lines(evidence, recorder), evidence.name)
    jobs, nameless = jobs_of(logs, width_ms(options), recorder)
    if not jobs:
        if nameless:
            raise broken(evidence, _NAMES, repr(evidence.name.rpartition("/")[2]), hint=_NAME_HINT)
        raise broken(evidence, "entries of a log of fio", "none that can be", hint="The log is cut or damaged.")
    _note(recorder, options, jobs)
    record_jobs(recorder, options, _fio.Names(), jobs)


def _note(recorder: Recorder, options: ImportOptions, jobs: Mapping[Key, LoggedJob]) -> None:
    notes = recorder.notes
    notes.tool, notes.system = "fio", _fio.system_of(options, next(iter(jobs))[2])
    if all(job.is_moment for job in jobs.values()):
        notes.clock = "UTC in the logs (log_unix_epoch)"
        return
    notes.has_times = options.start is not None
    placed = "they begin at --start" if options.start else "set --start to place them"
    notes.clock = f"times since each job's beginning, without a date; {placed}"


IMPORTER = Importer(
    name="fio_log",
    title="fio's logs of latency, bandwidth, IOPS and histograms",
    supports="fio 3.x, averaged (log_avg_msec) or of single I/Os, histograms at any log_hist_coarseness; 2.x where "
    "histograms tell its unit",
    how_to_capture="fio --write_lat_log=NAME --write_bw_log=NAME --write_iops_log=NAME --write_hist_log=NAME "
    "--log_avg_msec=1000 --log_hist_msec=1000 job.fio, and import the folder with the logs",
    recognise=_recognise,
    read=_read,
    is_part=_is_part,
    carries=(
        "read_ops_per_s", "write_ops_per_s", "read_bytes_per_s", "write_bytes_per_s", "read_latency_ns_mean",
        "write_latency_ns_mean", "latency_ns_max", "runs", "histograms",
    ),
    not_yet={
        "offsets, priorities and instants of issue": "no table has single I/Os",
        "log_store_compressed (.fz)": "fio --inflate-log=FILE makes text of it",
    },
    never={
        "options of the job": "logs do not have them; the JSON does",
        "a date": "only with log_unix_epoch (log_alternate_epoch)",
    },
)  # fmt: skip
