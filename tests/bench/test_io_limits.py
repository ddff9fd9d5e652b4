"""A limit of a control group on I/O that a run reached is told: the device's counters agree with the generator's."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from storscope.bench.device_check import Asked
from storscope.bench.device_judging import Evidence
from storscope.bench.io_limits import IoLimit, doubts_of_limits, io_limits
from storscope.bench.safety import Kernel
from storscope.bench.underneath import Level, Underneath
from storscope.domain.access import AccessSpec, Mix
from storscope.domain.load import Closed
from storscope.domain.units import MIB, NS_PER_S
from storscope.domain.workload import Stream, Workload
from storscope.store import Store
from storscope.workbench.benchmarking import BenchSettings, bench
from tests.bench.safety.conftest import Rig
from tests.bench.throttle import throttled

_V1 = "/fs/cgroup/blkio/box/blkio.throttle"
_READS = IoLimit("/box", "sda", "read", False, 1000, "io.max")


def _kernel(root: Path, groups: str, files: dict[str, str]) -> Kernel:
    every = {"proc/self/cgroup": groups, "sys/class/block/sda/dev": "8:0\n", "sys/class/block/sda1/dev": "8:1\n"}
    for name, text in {**every, **{f"sys{name}": text for name, text in files.items()}}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Kernel(sysfs=root / "sys", proc=root / "proc")


def test_limits_of_version_2_hold_for_the_groups_below(tmp_path: Path) -> None:
    """As cgroup-v2.rst writes them, and others' devices beside ours."""
    kernel = _kernel(
        tmp_path,
        "0::/box/inner\n",
        {
            "/fs/cgroup/box/inner/io.max": "8:16 rbps=2097152 wbps=max riops=max wiops=120\n",
            "/fs/cgroup/box/io.max": "8:16 rbps=1 wbps=1 riops=1 wiops=1\n8:0 rbps=2097152 riops=max wiops=120\n",
        },
    )
    assert io_limits(["sda1", "sda"], kernel) == [
        IoLimit("/box", "sda", "read", True, 2_097_152, "io.max"),
        IoLimit("/box", "sda", "write", False, 120, "io.max"),
    ]


def test_limits_of_version_1_hold_for_their_group(tmp_path: Path) -> None:
    kernel = _kernel(
        tmp_path,
        "5:blkio:/box\n0::/elsewhere\n",
        {
            f"{_V1}.read_iops_device": "8:0 1000\n",
            f"{_V1}.write_bps_device": "8:16 5\n8:0 1048576\n",
            "/fs/cgroup/blkio/blkio.throttle.read_iops_device": "8:0 7\n",
        },
    )
    assert io_limits(["sda"], kernel) == [
        IoLimit("/box", "sda", "read", False, 1000, "blkio.throttle.read_iops_device"),
        IoLimit("/box", "sda", "write", True, 1_048_576, "blkio.throttle.write_bps_device"),
    ]


@pytest.mark.parametrize(
    ("groups", "text"),
    [("", ""), ("nonsense\n", ""), ("0::/box\n", ""), ("0::/box\n", "8:0 riops=max\n\n8:0\n8:0 riops=many wiops=-1\n")],
)
def test_where_nothing_is_limited_nothing_is_said(groups: str, text: str, tmp_path: Path) -> None:
    assert io_limits(["sda"], _kernel(tmp_path, groups, {"/fs/cgroup/box/io.max": text})) == []


@pytest.mark.parametrize(("done", "is_told"), [(1040.0, True), (905.0, True), (890.0, False), (0.0, False)])
def test_a_limit_is_told_where_it_was_reached(done: float, is_told: bool) -> None:
    assert bool(doubts_of_limits([_READS], {("sda", "read", False): done})) == is_told
    assert doubts_of_limits([_READS], {("sda", "write", False): 1000.0, ("sda", "read", True): 1e9}) == []


def test_its_words_name_group_rate_file_and_what_to_do() -> None:
    (said,) = doubts_of_limits([_READS], {("sda", "read", False): 998.4})
    assert said == (
        "A limit that is not the device's: the control group /box allows 1,000 reads/s of sda (io.max), and 998 "
        "reads/s were done. Raise the limit, or measure outside of the group, to know the device."
    )
    bandwidth = IoLimit("/", "sda", "write", True, 2_000_000, "io.max")
    (said,) = doubts_of_limits([bandwidth], {("sda", "write", True): 1.99e6})
    assert "allows 2.00 MB/s of writes of sda (io.max), and 1.99 MB/s of writes were done" in said


@pytest.mark.parametrize(("done", "is_told"), [(1000, False), (10_000, True)])
def test_what_others_did_on_the_device_reaches_no_limit_of_ours(done: int, is_told: bool) -> None:
    """Of 10,000 reads in 10 s that the device counted this run asked for `done`."""
    asked = {"read": Asked(done, 4096 * done), "write": Asked(0, 0)}
    deltas = {"sda": {"rio": 10_000, "rsect": 8 * 10_000}}
    under = Underneath((Level(("sda",)),))
    process: dict[str, int | None] = {"read": None, "write": None}
    evidence = Evidence(under, True, None, asked, deltas, process, limits=[_READS], run_ns=10 * NS_PER_S)
    assert any("A limit that is not the device's" in doubt for doubt in evidence.check([]).doubts) == is_told


@pytest.mark.needs_root
@pytest.mark.parametrize("target", [lambda _, disk: disk, lambda rig, disk: rig.partition(disk)], ids=["disk", "part"])
@pytest.mark.parametrize("limit", [500, 100_000_000])
def test_a_run_says_which_limit_it_reached(data: Path, target: Callable[[Rig, Path], Path], limit: int) -> None:
    reads = Workload("reads", (Stream(Mix((AccessSpec(4096),)), Closed(8)),))
    with ExitStack() as stack:
        rig = Rig(data, stack)
        disk = rig.loop(rig.image(size_bytes=32 * MIB))
        path = target(rig, disk)
        stack.enter_context(throttled(disk, limit))
        settings = BenchSettings(2 * NS_PER_S, seed=1, size_bytes=None, direct=True)
        store = Store.open(data.parent / "store", create=True)
        benched = bench(
            store, str(path), reads, settings, told=lambda _: None, watch=lambda _: None, stop=lambda: False
        )  # fmt: skip
    assert benched.outcome.device is not None
    told = [doubt for doubt in benched.outcome.device.doubts if doubt.startswith("A limit that is not the device's")]
    assert len(told) == (limit == 500)
    assert all(f"allows 500 reads/s of {disk.name} (" in doubt for doubt in told)
