"""What a fio job writes, and whether it checks it."""

from __future__ import annotations

from storscope.bench.workloads.loss import LossList
from storscope.bench.workloads.percent import whole_percent
from storscope.domain.workload import Stream, Verification, Workload


def data_options(workload: Workload, stream: Stream, losses: LossList) -> list[str]:
    """The options of the jobs of a stream."""
    if not stream.access.writes:
        if workload.verification is Verification.STAMPS:
            reason = "fio checks only what the same job wrote with its own headers"
            losses.lost(f"{workload.name}: verification", "stamps", reason)
        return []
    data, where, options = workload.data, f"{workload.name}: data", []
    if data.compressible_ratio:
        share = whole_percent(data.compressible_ratio, where, "compressible", losses)
        options.append(f"buffer_compress_percentage={share}")
    if data.duplicate_ratio:
        options.append(f"dedupe_percentage={whole_percent(data.duplicate_ratio, where, 'duplicates', losses)}")
        what = f"{data.duplicate_contents} contents"
        losses.approximated(f"{where}.duplicate_contents", what, "fio repeats earlier buffers of any number")
    if data.seed:
        losses.lost(f"{where}.seed", str(data.seed), "fio's buffers have no seed of their own")
    _note_verification(workload, stream, losses)
    return options


def _note_verification(workload: Workload, stream: Stream, losses: LossList) -> None:
    if workload.verification is Verification.NONE:
        return
    where = f"{workload.name}: verification"
    if stream.access.reads:
        losses.lost(where, "stamps", "fio does not check the reads of a mixed job")
    else:
        # With verify it would write, read all of that back, and begin again: half of what it measures were reads.
        losses.lost(where, "stamps", "fio would read back what a job writes, for which this workload has no reads")
