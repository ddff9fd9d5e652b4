"""What fio's JSON tells of a whole run, as counters of the run: statistics, percentiles, shares, the steady state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from storscope.domain import units
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.sources.importers import _fio
from storscope.sources.importers._fio import number
from storscope.sources.importers._fio_results import TIMED, Job, has_times, mapping

_JOB_COUNTERS = {"usr_cpu": "%", "sys_cpu": "%", "ctx": "", "majf": "", "minf": ""}
_DIRECTION_COUNTERS = {
    "short_ios": "", "drop_ios": "", "bw_min": "KiB/s", "bw_max": "KiB/s", "bw_mean": "KiB/s", "bw_dev": "KiB/s",
    "bw_agg": "%", "bw_samples": "", "iops_min": "1/s", "iops_max": "1/s", "iops_mean": "1/s", "iops_stddev": "1/s",
    "iops_samples": "",
}  # fmt: skip
_SHARES = ("iodepth_level", "iodepth_submit", "iodepth_complete", "latency_ns", "latency_us", "latency_ms")


def record_direction(
    recorder: Recorder,
    entity: EntityRef,
    job: Job,
    name: str,
    section: Mapping[str, Any],
    when: tuple[int, int],
    run: str,
) -> None:
    """Statistics, percentiles where there are no bins, and counters of one direction over the whole run."""
    if name == "mixed" and name not in job.directions:
        recorder.omit("'mixed' section that sums the read and write sections")
        return
    if not number(section.get("total_ios")) and not number(section.get("io_bytes")) and name != "sync":
        return
    for key, unit in _DIRECTION_COUNTERS.items():
        if _was_sampled(section, key):
            recorder.counter(entity, *when, f"{name}.{key}", unit, number(section.get(key)), run=run)
    for measure in TIMED:
        timed = job.timed(section, measure)
        if has_times(timed) or timed.get("percentile"):
            _record_timed(recorder, entity, job, (name, measure), timed, when, run)
    recorder.omit("statistics by I/O priority (prios)", len(section.get("prios") or []))


def _was_sampled(section: Mapping[str, Any], key: str) -> bool:
    """False for bw_* and iops_* of a run too short for one sample (every 500 ms): then fio prints zeros."""
    kind = key.split("_", maxsplit=1)[0]
    if kind not in ("bw", "iops"):
        return True
    return bool(number(section.get(f"{kind}_samples", section.get(f"{kind}_max"))))


def _record_timed(
    recorder: Recorder,
    entity: EntityRef,
    job: Job,
    which: tuple[str, str],
    timed: Mapping[str, Any],
    when: tuple[int, int],
    run: str,
) -> None:
    prefix = f"{which[0]}.{which[1]}"
    for key in ("min", "max", "mean", "stddev"):
        if (value := number(timed.get(key))) is not None and has_times(timed):
            recorder.counter(entity, *when, f"{prefix}.{key}", "ns", value * job.ns_of_unit, run=run)
    percentiles = _percentiles(recorder, timed.get("percentile"))
    if job.bins(*which):
        recorder.omit("percentiles that follow from the bins", len(percentiles))
        return
    for percent, value in percentiles:
        recorder.counter(entity, *when, f"{prefix}.p{percent:g}", "ns", value * job.ns_of_unit, run=run)


def _percentiles(recorder: Recorder, values: object) -> list[tuple[float, float]]:
    """(percentile, value). Old versions fill unused places with 0.00 (issue #511 of fio), which is none."""
    listed = [(number(key), number(value)) for key, value in mapping(values).items()]
    found = [(key, value) for key, value in listed if key and value is not None]
    recorder.omit("unused places in the list of percentiles", len(listed) - len(found))
    return found


def record_job_counters(recorder: Recorder, entity: EntityRef, job: Job, when: tuple[int, int], run: str) -> None:
    if not job.runtime_ms:
        return
    for name, unit in _JOB_COUNTERS.items():
        recorder.counter(entity, *when, name, unit, number(job.raw.get(name)), run=run)
    for table in _SHARES:
        for key, share in mapping(job.raw.get(table)).items():
            recorder.counter(entity, *when, f"{table}.{key}", "%", number(share), run=run)
    target = number(job.raw.get("latency_target"))
    if target:
        factor = units.NS_PER_US if _fio.version_below(job.document.version, 3, 0) else 1.0
        recorder.counter(entity, *when, "latency_target", "ns", target * factor, run=run)
        for name, unit in (("latency_percentile", "%"), ("latency_window", "us"), ("latency_depth", "")):
            recorder.counter(entity, *when, name, unit, number(job.raw.get(name)), run=run)
    _record_steady_state(recorder, entity, mapping(job.raw.get("steadystate")), when, run)


def _record_steady_state(
    recorder: Recorder, entity: EntityRef, steady: Mapping[str, Any], when: tuple[int, int], run: str
) -> None:
    """Whether it was attained, and the rates of the last `duration` seconds, one a second."""
    for name in ("attained", "slope", "max_deviation", "duration"):
        unit = "s" if name == "duration" else ""
        recorder.counter(entity, *when, f"steadystate.{name}", unit, number(steady.get(name)), run=run)
    data = mapping(steady.get("data"))
    for name, unit in (("iops", "1/s"), ("bw", "B/s")):
        values = data.get(name) if isinstance(data.get(name), list) else []
        first_ns = sum(when) - len(values or []) * units.NS_PER_S
        for second, value in enumerate(values or []):
            time_ns = first_ns + second * units.NS_PER_S
            recorder.counter(entity, time_ns, units.NS_PER_S, f"steadystate.{name}", unit, number(value), run=run)
