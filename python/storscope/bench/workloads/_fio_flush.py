"""Flushes of fio jobs: `fdatasync=n` and `fsync=n`, which follow every n-th write (fio(1)).

fio counts the writes that each of its processes has sent, on all of its files together, and sends the flush as its next
I/O (get_rw_ddir of its io_u.c). With one I/O in flight and one file that is what a workload says. In a deeper queue the
flush may go out before its write is done, and more often than asked: fio 3.33 with io_uring, iodepth=4 and fsync=10
made 72 flushes in 200 writes, with libaio 20. That is noted. Where both options are due fio takes fsync.
"""

from __future__ import annotations

from storscope.bench.workloads._fio_given import GivenOptions
from storscope.bench.workloads.loss import LossList
from storscope.domain.workload import Closed, Flush, FlushKind, Load, Stream

_ONE_AT_A_TIME = Closed(1)
_SENT = (
    "in a queue fio flushes by the writes it has sent, before they are done, and with io_uring more often than asked"
)
_TOGETHER = "fio counts the writes of all its files together, and flushes the one whose turn it is"


def flush_of(given: GivenOptions, load: Load) -> Flush | None:
    """The flush of a job that writes, under `load`; None without one, or where n is 0."""
    counts = {kind: given.number(kind, 0) for kind in FlushKind}
    chosen = _chosen(counts[FlushKind.FULL], counts[FlushKind.DATA])
    if chosen is None:
        return None
    other = FlushKind.FULL if chosen.kind is FlushKind.DATA else FlushKind.DATA
    if counts[other] and not _is_moot(chosen, counts[other]):
        option = given.options[other]
        reason = f"a stream has flushes of one kind: those of {chosen.kind}={chosen.every} are kept"
        given.losses.lost(option.where, option.text, reason)
    if load != _ONE_AT_A_TIME:
        given.note(chosen.kind, f"{_SENT}; here a flush follows writes that are done")
    if len(given.filenames) > 1:
        given.note(chosen.kind, f"{_TOGETHER}; here each target has its own count")
    return chosen


def _chosen(full: int, data: int) -> Flush | None:
    """The more frequent one, and fsync where they are equally so: fio takes it when both are due."""
    if full and (not data or full <= data):
        return Flush(full, FlushKind.FULL)
    return Flush(data) if data else None


def _is_moot(chosen: Flush, other: int) -> bool:
    """Whether the other one is never made: fio takes fsync, and it is due whenever the other is."""
    return chosen.kind is FlushKind.FULL and other % chosen.every == 0


def flush_options(stream: Stream, load: Load, targets: int, where: str, losses: LossList) -> list[str]:
    """The options of a job of `stream` that writes, under `load` on so many targets."""
    flush = stream.flush
    if flush is None:
        return []
    what = f"a flush after {'each write' if flush.every == 1 else f'every {flush.every} writes'}"
    if load != _ONE_AT_A_TIME:
        losses.approximated(f"{where}.flush", what, _SENT)
    if targets > 1:
        losses.approximated(f"{where}.flush", what, _TOGETHER)
    return [f"{flush.kind}={flush.every}"]
