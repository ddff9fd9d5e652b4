"""What a fio job writes, and whether it checks it."""

from __future__ import annotations

from collections.abc import Collection

from storscope.bench.workloads.loss import LossList
from storscope.bench.workloads.percent import whole_percent
from storscope.domain.units import format_bytes
from storscope.domain.workload import DUPLICATE_BLOCK_BYTES, Mix, Stream, Verification, Workload


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
        sizes = written_sizes(stream)
        if sizes != {data.duplicate_block_bytes}:
            block, transfers = _listed({data.duplicate_block_bytes}), _listed(sizes)
            reason = f"fio repeats whole transfers, of {transfers}: who compares others finds another share"
            losses.approximated(f"{where}.duplicate_block", block, reason)
    if data.seed:
        losses.lost(f"{where}.seed", str(data.seed), "fio's buffers have no seed of their own")
    _note_verification(workload, stream, losses)
    return options


def duplicate_block_of(sizes: Collection[int]) -> int:
    """The block that repeats where fio repeats whole transfers of these sizes: the largest that all of them hold."""
    least, most = DUPLICATE_BLOCK_BYTES
    return min(max(least, 1 << (min(sizes).bit_length() - 1)), most)


def written_sizes(stream: Stream) -> set[int]:
    """Sizes of a stream's writes."""
    if not isinstance(stream.access, Mix):
        return {stream.access.size_bytes}
    return {line.size_bytes for line in stream.access.lines if line.read_share < 1}


def _listed(sizes: Collection[int]) -> str:
    return ", ".join(format_bytes(size) for size in sorted(sizes))


def _note_verification(workload: Workload, stream: Stream, losses: LossList) -> None:
    if workload.verification is Verification.NONE:
        return
    where = f"{workload.name}: verification"
    if stream.access.reads:
        losses.lost(where, "stamps", "fio does not check the reads of a mixed job")
    else:
        # With verify it would write, read all of that back, and begin again: half of what it measures were reads.
        losses.lost(where, "stamps", "fio would read back what a job writes, for which this workload has no reads")
