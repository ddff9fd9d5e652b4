"""A workload and its fio job ask the same of a device: both are run, and every I/O that arrives there is compared.

What fio cannot say (losses) is allowed for: whole per cent, one alignment for all sizes, a position for reads and one
for writes. Without root the fio side alone is compared with the definition, by its own log
(workloads/test_fio_write.py).
"""

from __future__ import annotations

import math
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from storscope.bench.engine import EngineRun, RunPlan
from storscope.bench.workloads.builtin import builtins
from storscope.bench.workloads.fio_job import read_fio
from storscope.bench.workloads.icf import read_icf
from storscope.domain.load import Closed, HotSpot
from storscope.domain.units import KIB, MIB, NS_PER_MS
from storscope.domain.workload import AccessSpec, Copy, Mix, Region, Stream, Workload
from tests.bench.block_trace import Traced, tracing
from tests.bench.fio_runs import Ran, by_fio, opened, plan
from tests.bench.safety.conftest import Rig

pytestmark = [
    pytest.mark.needs_root,
    pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed"),
]
_SIZE = 96 * MIB
_DURATION_NS = 200_000_000
"""At first; a machine that is too busy for enough I/Os gets longer runs."""
_LONGEST_NS = 100 * _DURATION_NS
_LEAST_IOS = 100
_ROUNDED = 0.006
"""fio's shares are whole per cent."""
_SIGMAS = 5
_ICF = Path(__file__).parent / "workloads" / "samples"


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A loop device on a file."""
    folder = tmp_path_factory.mktemp("loop")
    with ExitStack() as stack:
        rig = Rig(folder, stack)
        yield rig.loop(rig.image(size_bytes=_SIZE))


def single(workload: Workload, stream: Stream) -> Workload:
    """One stream with one worker, within the device; a copy from its first part to its second."""
    size = _SIZE // 2 if isinstance(stream.access, Copy) else _SIZE
    access = stream.access
    if isinstance(access, Copy):
        access = replace(access, destination=0, destination_start_bytes=size)
    quick = replace(stream, access=access, workers=1, targets=(), region=Region(0, size), think_time=None)
    return replace(workload, streams=(quick,))


def _builtin() -> Iterator[tuple[str, Workload]]:
    for name, item in builtins().items():
        for stream in item.workload.streams:
            yield f"{name}{stream.name and ' ' + stream.name}", single(item.workload, stream)


def _icf() -> Iterator[tuple[str, Workload]]:
    """Each stream that asks something else; pauses are left out, or nothing would be seen in so short a time."""
    seen = set()
    for path in sorted(_ICF.glob("*.icf")):
        definition = read_icf(path.read_text(), path.name)
        for workload in (*definition.workloads, *definition.others):
            for stream in workload.streams:
                assert isinstance(stream.access, Mix)
                lines = tuple(replace(line, delay_ns=0, reply_bytes=0) for line in stream.access.lines)
                one = single(workload, replace(stream, access=Mix(lines)))
                if one.streams not in seen:
                    seen.add(one.streams)
                    yield f"{path.stem} {workload.name}", one


CASES = [*_builtin(), *_icf()]


@pytest.mark.parametrize("workload", [case for _, case in CASES], ids=[name for name, _ in CASES])
def test_both_engines_ask_the_same_of_a_device(workload: Workload, device: Path) -> None:
    seen: dict[str, Traced] = {}
    with opened(device) as descriptor:
        for name, run in (("storscope", _ours), ("fio", _theirs)):

            def runs(duration_ns: int, traced: Traced, run: Callable[[RunPlan, Traced], Ran] = run) -> None:
                _, outcome = run(plan(workload, descriptor, duration_ns), traced)
                assert outcome.error is None

            seen[name] = _traced(device, runs)
    (stream,) = workload.streams
    _compare(stream, seen["storscope"], fio=False)
    _compare(stream, seen["fio"], fio=True)


def _ours(what: RunPlan, traced: Traced) -> Ran:
    """Without what the engine tries before the run, each direction apart, which is no mix."""
    run = EngineRun(replace(what, held=True))
    assert run.hold()
    traced.forget()
    return list(run.intervals()), run.outcome()


def _theirs(what: RunPlan, traced: Traced) -> Ran:
    return by_fio(what)


def _traced(device: Path, runs: Callable[[int, Traced], object]) -> Traced:
    """What arrives in a run that is long enough for the shares of I/Os to tell something."""
    duration_ns = _DURATION_NS
    while True:
        with tracing(device) as traced:
            runs(duration_ns, traced)
        if len(traced.ios) > _LEAST_IOS or duration_ns > _LONGEST_NS:
            return traced
        duration_ns *= 4


def _compare(stream: Stream, traced: Traced, *, fio: bool) -> None:
    """What arrived against what was asked for."""
    assert len(traced.ios) > _LEAST_IOS
    lines = _lines(stream)
    whole = math.fsum(line.transfer_weight for line in lines)
    reads = math.fsum(line.transfer_weight * line.read_share for line in lines) / whole
    assert traced.read_share == _about(reads, traced)
    for is_read in (True, False):
        asked = _asked_sizes(lines, reads=is_read)
        found = traced.sizes(reads=is_read)
        assert set(found) <= set(asked)
        for size, share in asked.items():
            assert found.get(size, 0.0) == _about(share, traced, part=reads if is_read else 1 - reads)
    random = math.fsum(line.transfer_weight * line.random_share for line in lines) / whole
    by_direction = fio or isinstance(stream.access, Copy)
    assert traced.random_share(by_direction=by_direction) == _about(random, traced)
    _compare_places(stream, traced, lines)
    _compare_depth(stream, traced, lines, fio=fio)


def _lines(stream: Stream) -> tuple[AccessSpec, ...]:
    if isinstance(stream.access, Copy):
        return (AccessSpec(stream.access.size_bytes, read_share=0.5, random_share=stream.access.random_share),)
    return tuple(line for line in stream.access.lines if line.transfer_weight > 0)


def _asked_sizes(lines: tuple[AccessSpec, ...], *, reads: bool) -> dict[int, float]:
    weights: defaultdict[int, float] = defaultdict(float)
    for line in lines:
        weights[line.size_bytes] += line.transfer_weight * (line.read_share if reads else 1 - line.read_share)
    total = math.fsum(weights.values())
    return {size: weight / total for size, weight in weights.items() if weight}


def _about(share: float, traced: Traced, part: float = 1.0) -> object:
    """The share, give or take chance and fio's whole per cent."""
    count = max(1.0, part * len(traced.ios))
    return pytest.approx(share, abs=_ROUNDED + _SIGMAS * math.sqrt(max(share * (1 - share), 1 / count) / count))


def _compare_places(stream: Stream, traced: Traced, lines: tuple[AccessSpec, ...]) -> None:
    align = math.gcd(*(line.effective_align_bytes for line in lines))
    assert all(io.offset % align == 0 for io in traced.ios)
    if all(line.random_share for line in lines):
        assert traced.alignment() == align & -align
    assert all(io.offset + io.size <= _SIZE for io in traced.ios)
    if isinstance(stream.offsets, HotSpot):
        spot = stream.offsets
        first, last = (share * _SIZE for share in (spot.start_share, spot.start_share + spot.space_share))
        hot = sum(first <= io.offset < last for io in traced.ios) / len(traced.ios)
        assert hot == pytest.approx(spot.access_share, abs=0.03)


def _compare_depth(stream: Stream, traced: Traced, lines: tuple[AccessSpec, ...], *, fio: bool) -> None:
    """Exact where all transfers have the same size; bytes are what the trace tells."""
    assert isinstance(stream.load, Closed)
    depth = stream.load.outstanding
    if fio and isinstance(stream.access, Copy):
        depth = 2 * max(1, depth // 2)  # a reading and a writing job, which is listed as a loss
    sizes = {line.size_bytes for line in lines}
    if len(sizes) == 1:
        assert traced.most_bytes_in_flight == depth * sizes.pop()
    else:
        assert min(sizes) * depth < traced.most_bytes_in_flight <= max(sizes) * depth


# Job files ------------------------------------------------------------------------------------------------------------

_HEAD = "[global]\nioengine=io_uring\ndirect=1\ntime_based\nruntime=200ms\nthread\ninvalidate=0\nallow_file_create=0\n"
_JOBS = {
    "mixed pages": "rw=randrw rwmixread=70 bs=8k iodepth=8 norandommap",
    "sizes of each direction": "rw=randrw rwmixread=60 bssplit=4k/80:64k/20,16k iodepth=4 norandommap",
    "mostly sequential": "rw=randread bs=16k percentage_random=30 iodepth=4 norandommap",
    "sequential writes": "rw=write bs=64k iodepth=2",
    "sequential mix": "rw=rw rwmixwrite=40 bs=32k iodepth=4",
    "a range of sizes": "rw=randwrite bsrange=4k-16k iodepth=4 norandommap",
    "unaligned": "rw=randread bs=8k blockalign=512 iodepth=4 norandommap",
    "a new offset every eight": "rw=randread:8 bs=4k iodepth=2 norandommap",
    "a hot spot": "rw=randread bs=4k random_distribution=zoned:80/20:20/80 iodepth=4 norandommap",
    "a synchronous engine": "ioengine=psync rw=randrw bs=4k iodepth=16 norandommap",
}  # fmt: skip


@pytest.mark.parametrize("options", _JOBS.values(), ids=_JOBS)
def test_a_job_file_asks_the_same_as_the_workload_read_from_it(options: str, device: Path) -> None:
    with opened(device) as descriptor:
        text = f"{_HEAD}[job]\nfilename=/proc/self/fd/{descriptor}\nsize={_SIZE}\n" + options.replace(" ", "\n") + "\n"
        (workload,) = read_fio(text).workloads
        alone = replace(workload, streams=(replace(workload.streams[0], targets=()),))

        def fio_runs(duration_ns: int, traced: Traced) -> None:
            job = text.replace("runtime=200ms", f"runtime={duration_ns // NS_PER_MS}ms")
            subprocess.run(["fio", "-"], input=job, text=True, capture_output=True, pass_fds=(descriptor,), check=True)

        theirs = _traced(device, fio_runs)
        ours = _traced(device, lambda duration_ns, traced: _ours(plan(alone, descriptor, duration_ns), traced))
    (stream,) = workload.streams
    _compare(stream, theirs, fio=True)
    _compare(stream, ours, fio=not re.search(r"\brw=(rand)?rw\b", options))
    assert ours.alignment() == theirs.alignment()
    assert theirs.most_bytes_in_flight >= 4 * KIB
