"""How much a fio job asks for: depth, rates, pauses, and the share of reads that follows from them."""

from __future__ import annotations

from storscope.bench.workloads._fio_given import GivenOptions
from storscope.bench.workloads._fio_options import DEFAULT_ENGINE, SYNCHRONOUS
from storscope.bench.workloads._fio_sizes import least_size_of, mean_size_of
from storscope.bench.workloads._fio_text import integer_of, size_of
from storscope.domain.load import Closed, Load, Open, Process, ThinkTime


def direction_with_rate(job: GivenOptions, share: float) -> str | None:
    """'reads' or 'writes' if a mix has a rate for these alone: then nothing limits the others (fio 3.33)."""
    reads, writes = (_rate(job, direction) for direction in (0, 1))
    if not 0 < share < 1 or (reads is None) == (writes is None):
        return None
    return "writes" if reads is None else "reads"


def load_of(job: GivenOptions, share: float, workers: int) -> tuple[Load, float]:
    """The load, and the share of reads that it leaves of `share`. A mix has a rate for both directions or none."""
    depth = _depth(job)
    rates = [_rate(job, direction) or 0 for direction in (0, 1)]
    total = sum(rate for rate, used in zip(rates, (share > 0, share < 1), strict=True) if used)
    if not total:
        return Closed(depth), share
    mixed = rates[0] / total if 0 < share < 1 else share
    if abs(mixed - share) > 0.005:
        given = "rate_iops" if "rate_iops" in job.options else "rate"
        job.note(given, f"{100 * mixed:.0f} % reads by the rates, which is what fio does too")
        share = round(mixed, 12)
    job.losses.approximated(
        f"[{job.name}]", "rate", "fio's rate waits for completions and counts latency from then; arrivals do not"
    )
    return Open(total * workers, _process(job), depth), share


def _depth(job: GivenOptions) -> int:
    engine = job.options["ioengine"].value.strip() if "ioengine" in job.options else DEFAULT_ENGINE
    depth = max(1, job.number("iodepth", 1))
    if engine in SYNCHRONOUS and depth > 1:
        job.note("iodepth", f"{engine} keeps one I/O outstanding whatever iodepth says; taken as 1")
        depth = 1
    _note_draining(job, depth)
    files = len(job.filenames)
    if files > 1:
        each = max(1, depth // files)
        job.note(
            "iodepth",
            f"of all {files} files together, whichever comes next; here {each} of each target, {each * files} in all",
        )
        depth = each
    return depth


def _note_draining(job: GivenOptions, depth: int) -> None:
    """What lets a queue run low before more is sent: as far as `iodepth_low`, or by so many completions at a time."""
    low, together = job.number("iodepth_low", 0), job.number("iodepth_batch_complete_min", 1)
    if 0 < low < depth:
        option = job.options["iodepth_low"]
        reason = f"fio lets {depth} in flight drain to {low} before it sends more; here each is followed by the next"
        job.losses.lost(option.where, option.text, reason)
    if together > 1 and depth > 1:
        option, awaited = job.options["iodepth_batch_complete_min"], min(together, depth)
        reason = f"fio awaits {awaited} of {depth} in flight before it sends more; here each is followed by the next"
        job.losses.lost(option.where, option.text, reason)


def _rate(job: GivenOptions, direction: int) -> float | None:
    """I/Os per second as fio makes them.

    At equal intervals it holds bytes per second, which are `rate_iops` times the least size (__setup_rate of its
    init.c): of mixed sizes come fewer I/Os. Poisson arrivals are as many as I/Os of the least size are in these bytes
    (usec_for_io of its io_u.c): of `rate` come more. Both were measured with fio 3.33.
    """
    bytes_per_s, given = _given_rate(job, direction)
    if not bytes_per_s:
        return None
    least, mean = least_size_of(job, direction), mean_size_of(job, direction)
    by_least = _process(job) is Process.POISSON
    rate = bytes_per_s / (least if by_least else mean)
    if least != mean and by_least == (given == "rate"):
        _note_least(job, direction, given, f"{least} bytes, where the mean is {mean:.0f}: {rate:.4g}/s in each job")
    elif given == "rate":
        job.note(given, "bytes per second as I/Os of the mean size per second")
    return rate


def _note_least(job: GivenOptions, direction: int, given: str, what: str) -> None:
    if (job.reads, job.writes)[direction]:
        job.note(given, f"fio reckons with the least size of {('reads', 'writes')[direction]}, {what}")


def _given_rate(job: GivenOptions, direction: int) -> tuple[int, str]:
    """Bytes per second as fio counts them, 0 without a rate, and the option that says so."""
    option, *parts = job.pair("rate_iops")
    if option and parts[direction]:
        if other := job.take("rate"):
            job.losses.lost(other.where, other.text, "fio takes no rate beside rate_iops")
        count = integer_of(option, parts[direction], job.where, kb_base=job.kb_base)
        return count * least_size_of(job, direction), option.name
    option, *parts = job.pair("rate")
    if option and parts[direction]:
        return size_of(option, parts[direction], job.where, job.kb_base), option.name
    return 0, ""


def _process(job: GivenOptions) -> Process:
    return Process.POISSON if job.text("rate_process", "linear") == "poisson" else Process.FIXED


def pauses_of(job: GivenOptions, load: Load) -> tuple[ThinkTime | None, int, int]:
    """The think time of each place in the queue, or a delay before each burst and the burst.

    fio lets what is in flight end before it pauses (handle_thinktime of its backend.c). With one outstanding and a
    pause after each, that is a think time. A delay counts from when the transfers before it were sent.
    """
    pause_ns = job.time("thinktime", 0, "us") or 0
    burst = max(1, job.number("thinktime_blocks", 1))
    job.take("thinktime_blocks_type")
    if pause_ns and load.is_open:
        job.note("thinktime", "left out: arrivals set the pace")
    if not pause_ns or not isinstance(load, Closed):
        return None, 0, 1
    if job.time("thinktime_iotime", 0, "us"):
        option = job.options["thinktime"]
        job.losses.lost(option.where, option.text, "fio pauses after a time of I/O, a workload before a number of them")
        return None, 0, 1
    if load.outstanding == burst == 1 and len(job.filenames) < 2:
        return ThinkTime(pause_ns, Process.FIXED), 0, 1
    job.note("thinktime", "fio lets what is in flight end before it pauses; here a pause begins when that was sent")
    return None, pause_ns, burst
