"""Whether it was the device: real file systems on loop devices, with files whose state is known."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from storscope.bench.device_check import Answer, Asked, DeviceCheck
from storscope.bench.device_counters import DeviceWatch
from storscope.bench.device_judging import EXCESS_BYTES
from storscope.bench.safety import extents
from storscope.bench.safety.kernel import Kernel
from storscope.bench.underneath import Level, Underneath, underneath
from storscope.cli.main import run as storscope
from storscope.domain.access import AccessSpec, Mix
from storscope.domain.load import Closed
from storscope.domain.units import KIB, MIB
from storscope.domain.workload import Stream, Workload
from storscope.store import Store
from storscope.workbench.benchmarking import Benched, BenchSettings, bench
from tests.bench.safety.conftest import Rig, run
from tests.bench.safety.trees import KernelTree

_SIZE = 16 * MIB


@pytest.fixture
def rig(data: Path) -> Iterator[Rig]:
    with ExitStack() as stack:
        yield Rig(data, stack)


@pytest.fixture
def ext4(rig: Rig) -> Path:
    return rig.ext4(rig.loop(rig.image(size_bytes=192 * MIB)))


def _reading(share: float = 1.0, size_bytes: int = 4 * KIB) -> Workload:
    return Workload("reading", (Stream(Mix((AccessSpec(size_bytes, read_share=share),)), Closed(4)),))


def _measured(target: Path, workload: Workload, data: Path, *, direct: bool = True, seconds: float = 1.0) -> Benched:
    store = Store.open(data.parent / "store", create=True)
    settings = BenchSettings(round(seconds * 1e9), seed=1, size_bytes=None, direct=direct)
    if target.is_dir():
        settings = BenchSettings(round(seconds * 1e9), seed=1, size_bytes=_SIZE, direct=direct)
    return bench(
        store, str(target), workload, settings, told=lambda _: None, watch=lambda _: None, stop=lambda: False
    )  # fmt: skip


def _check(benched: Benched) -> DeviceCheck:
    assert benched.outcome.device is not None
    return benched.outcome.device


def _written(folder: Path) -> Path:
    path = folder / "file"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
    try:
        os.pwrite(descriptor, os.urandom(_SIZE), 0)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)
    return path


@pytest.mark.needs_root
@pytest.mark.needs("mkfs.ext4")
class TestOnExt4:
    def test_direct_reads_of_a_written_file_are_the_device_s(self, ext4: Path, data: Path) -> None:
        benched = _measured(_written(ext4), _reading(), data)
        check = _check(benched)
        assert check.answer is Answer.RECONCILED
        assert check.moved is not None
        ratio = check.ratio("read")
        assert ratio is not None
        assert 1.0 <= ratio < 1.05
        assert check.devices == (Path(ext4.name.removeprefix("mount-")).name,)
        assert check.process_bytes["read"] == pytest.approx(check.asked["read"].bytes, rel=0.05)
        assert not [doubt for doubt in benched.doubts if doubt.startswith("Not the device")]

    def test_what_is_merged_or_split_counts_by_its_bytes(self, ext4: Path, data: Path) -> None:
        check = _check(_measured(_written(ext4), _reading(size_bytes=8 * MIB), data))
        assert check.answer is Answer.RECONCILED
        assert check.moved is not None
        assert check.moved["read"].ios > check.asked["read"].ios, "the kernel splits what is larger than its limit"

    @pytest.mark.parametrize("make", ["fallocate", "truncate"])
    def test_reading_what_was_never_written_is_not(self, ext4: Path, data: Path, make: str) -> None:
        path = ext4 / "file"
        run(make, *(("-l",) if make == "fallocate" else ("-s",)), str(_SIZE), path)
        check = _check(_measured(path, _reading(), data))
        assert check.answer is Answer.NOT_THE_DEVICE
        assert check.ratio("read") == pytest.approx(0, abs=0.05)
        (doubt,) = [doubt for doubt in check.doubts if doubt.startswith("Not the device")]
        assert "the extent map says that 16 MiB of 16 MiB are holes or unwritten" in doubt
        assert f"in {check.asked['read'].ios:,} I/Os" in doubt

    def test_reading_again_through_the_page_cache_is_not(self, ext4: Path, data: Path) -> None:
        path = _written(ext4)
        path.read_bytes()
        check = _check(_measured(path, _reading(), data, direct=False))
        assert check.answer is Answer.NOT_THE_DEVICE
        (doubt,) = [doubt for doubt in check.doubts if doubt.startswith("Not the device")]
        assert "page cache" in doubt
        assert "unwritten" not in doubt

    def test_filling_is_proved_by_what_the_device_wrote(self, ext4: Path, data: Path) -> None:
        benched = _measured(ext4, _reading(), data)
        prefill = benched.about.prefill
        assert prefill is not None
        assert prefill.moved is not None
        assert prefill.moved["write"].bytes >= prefill.asked["write"].bytes == _SIZE
        assert prefill.answer is not Answer.NOT_THE_DEVICE

    def test_filling_writes_each_byte_once(self, ext4: Path, data: Path) -> None:
        """A trial of the engine wrote up to 256 MiB more, which looked like others' and could hide what was missing."""
        prefill = _measured(ext4, _reading(), data).about.prefill
        assert prefill is not None
        assert prefill.moved is not None
        assert _SIZE <= prefill.moved["write"].bytes < _SIZE + EXCESS_BYTES
        assert prefill.answer is Answer.RECONCILED

    def test_others_on_the_same_device_are_told_from_the_run(self, ext4: Path, data: Path) -> None:
        path = _written(ext4)
        with _somebody_reading(path):
            check = _check(_measured(path, _reading(), data))
        assert check.answer is Answer.OTHERS_TOO
        (doubt,) = [doubt for doubt in check.doubts if doubt.startswith("Not this run alone")]
        assert "others used the device" in doubt

    def test_inode_tables_that_are_still_being_written_are_named(self, rig: Rig) -> None:
        """mkfs leaves them to a thread of the kernel, which begins at most 5 s after the mount (EXT4_DEF_LI_*)."""
        device = rig.loop(rig.image(size_bytes=256 * MIB))
        run("mkfs.ext4", "-q", "-E", "lazy_itable_init=1", "-N", str(256 * KIB), device)
        point = rig.mount(device, "-o", "init_itable=0")
        descriptor = os.open(point, os.O_RDONLY)
        try:
            watch = DeviceWatch(underneath(descriptor), direct=True, extents=None)
        finally:
            os.close(descriptor)
        nothing = {word: Asked(0, 0) for word in ("read", "write")}
        for _ in range(600):
            time.sleep(0.1)
            check = watch.compare(nothing)
            if check.doubts:
                break
        (doubt,) = [doubt for doubt in check.doubts if doubt.startswith("Not this run alone")]
        assert f"{device.name} wrote " in doubt
        assert "ext4 was still writing its inode tables (thread ext4lazyinit)" in doubt

    def test_it_is_in_the_store_and_in_json(self, ext4: Path, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
        store = data.parent / "store"
        arguments = ["bench", str(ext4), "--workload", "oltp", "--size", "16M", "--duration", "1s"]
        assert storscope([*arguments, "--store", str(store), "--json"]) == 0
        shown = json.loads(capsys.readouterr().out)
        facts = {
            row["name"]: row for row in Store.open(store).query("SELECT name, value, number FROM facts").to_pylist()
        }
        assert facts["run: done by"]["value"] == shown["device"]["answer"]
        for word in ("read", "write"):
            assert facts[f"run: {word} by the devices"]["number"] == shown["device"]["moved"][word]["bytes"]
        assert facts["prefill: write by the devices"]["number"] >= 16 * MIB
        links = Store.open(store).query("SELECT kind, entity, target_kind, target FROM links").to_pylist()
        named = {(row["kind"], row["target_kind"]): (row["entity"], row["target"]) for row in links}
        assert named["job", "filesystem"] == (shown["run"], str(ext4))
        assert named["filesystem", "device"] == (str(ext4), shown["device"]["devices"][0])

    def test_a_partition_is_counted_itself(self, rig: Rig, data: Path) -> None:
        disk = rig.loop(rig.image(size_bytes=256 * MIB))
        partition = rig.partition(disk, size_bytes=192 * MIB)
        path = _written(rig.ext4(partition))
        with path.open("rb") as file:
            under = underneath(file.fileno())
        assert [level.devices for level in under.levels[:2]] == [(partition.name,), (disk.name,)]
        mounted = f"filesystem/{path.parent}"
        assert under.links[:3] == (
            ("", mounted), (mounted, f"partition/{partition.name}"),
            (f"partition/{partition.name}", f"device/{disk.name}"),
        )  # fmt: skip
        assert _check(_measured(path, _reading(), data)).answer is Answer.RECONCILED


_READER = """
import mmap, os, sys
file, room = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, 4 << 20)
print("reading", flush=True)
while True:
    for at in range(0, os.fstat(file).st_size, 4 << 20):
        os.preadv(file, [room], at)
"""


@contextmanager
def _somebody_reading(path: Path) -> Iterator[None]:
    """Another process that reads the same file past the cache, all the time."""
    with subprocess.Popen([sys.executable, "-c", _READER, str(path)], stdout=subprocess.PIPE) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline()
        try:
            yield
        finally:
            reader.kill()


@pytest.mark.needs_root
@pytest.mark.needs("mkfs.btrfs")
def test_a_file_system_that_compresses_is_named(rig: Rig, data: Path) -> None:
    device = rig.loop(rig.image(size_bytes=256 * MIB))
    run("mkfs.btrfs", "-q", device)
    folder = rig.mount(device, "-o", "compress-force=zstd")
    path = folder / "file"
    path.write_bytes(b"storscope " * (_SIZE // 10))
    os.sync()
    check = _check(_measured(path, _reading(), data))
    assert extents(path).encoded_bytes
    assert check.answer is Answer.NOT_THE_DEVICE
    assert any("compresses" in doubt for doubt in check.doubts)


def test_a_file_in_memory_has_no_device(data: Path) -> None:
    memory = Path("/dev/shm")
    if not memory.is_dir() or os.statvfs(memory).f_bavail * os.statvfs(memory).f_frsize < 4 * _SIZE:
        pytest.skip("no room in /dev/shm")
    benched = _measured(memory, _reading(0.5), data)
    check = _check(benched)
    assert (check.answer, check.fs_type, check.moved) == (Answer.NOT_THE_DEVICE, "tmpfs", None)
    assert "Not the device: tmpfs keeps its files in memory: no block device is involved." in benched.doubts


@pytest.mark.needs_root
@pytest.mark.needs("mkfs.ext4")
def test_a_loop_device_over_memory_is_no_disk(rig: Rig, data: Path) -> None:
    memory = Path("/dev/shm") / f"storscope-test-{os.getpid()}.img"
    with memory.open("xb") as file:
        file.truncate(128 * MIB)
    try:
        with ExitStack() as stack:
            inner = Rig(rig.folder, stack)
            device = inner.loop(memory)
            benched = _measured(_written(inner.ext4(device)), _reading(), data)
    finally:
        memory.unlink()
    assert any("tmpfs" in doubt and "no disk" in doubt for doubt in benched.doubts)


# Handmade kernels -----------------------------------------------------------------------------------------------------

_SDA = Underneath((Level(("sda",)),))


def _line(name: str, reads: int, sectors: int, writes: int = 0, written: int = 0) -> str:
    return f"   8       0 {name} {reads} 0 {sectors} 5 {writes} 0 {written} 5 0 9 9\n"


@pytest.fixture
def machine(tmp_path: Path) -> KernelTree:
    return KernelTree(tmp_path / "machine")


def _between(
    machine: KernelTree, before: str, after: str, asked: dict[str, Asked], under: Underneath = _SDA, **more: Any
) -> DeviceCheck:
    (machine.kernel.proc / "diskstats").write_text(before)
    watch = DeviceWatch(under, direct=more.get("direct", True), extents=None, kernel=machine.kernel)
    (machine.kernel.proc / "diskstats").write_text(after)
    return watch.compare(asked)


_100_MIB = {"read": Asked(25600, 100 * MIB), "write": Asked(0, 0)}


def test_a_device_that_sysfs_does_not_show_is_no_silence_of_the_file_system(tmp_path: Path) -> None:
    """As in a chroot or a container without /sys. The mount table names the device's number."""
    with (tmp_path / "file").open("wb") as file:
        number = os.fstat(file.fileno()).st_dev
        if os.major(number) == 0:
            pytest.skip("the temporary folder is on no block device")
        under = underneath(file.fileno(), Kernel(sysfs=tmp_path / "sys"))
    name = f"{os.major(number)}:{os.minor(number)}"
    assert under.why_none.endswith(f" is on block device {name}, which {tmp_path}/sys does not show")


def test_what_is_missing_without_evidence_is_said_to_be_unexplained(machine: KernelTree) -> None:
    check = _between(machine, _line("sda", 10, 80), _line("sda", 12, 96), _100_MIB)
    assert check.answer is Answer.NOT_THE_DEVICE
    assert check.moved is not None
    assert (check.moved["read"].ios, check.moved["read"].bytes) == (2, 16 * 512)
    assert "nothing in the evidence says what answered" in check.doubts[0]


def test_a_file_system_that_is_a_program_has_a_cache_of_its_own(machine: KernelTree) -> None:
    """ntfs-3g and exfat-fuse, mounted from a block device: what this process sent reached FUSE, and no other device."""
    under = Underneath((Level(("sda",)),), "fuseblk")
    check = _between(machine, _line("sda", 10, 80), _line("sda", 12, 96), _100_MIB, under)
    assert check.answer is Answer.NOT_THE_DEVICE
    assert "(0.0078 %): the program behind fuseblk does the I/O, with the page cache between" in check.doubts[0]


def test_a_reset_counter_leaves_it_open(machine: KernelTree) -> None:
    check = _between(machine, _line("sda", 1000, 800_000), _line("sda", 12, 96), _100_MIB)
    assert (check.answer, check.moved) == (Answer.UNKNOWN, None)


def test_a_device_that_the_kernel_does_not_count_leaves_it_open(machine: KernelTree) -> None:
    machine.disk("sda", "8:0")
    queue = (machine.kernel.sysfs / "class" / "block" / "sda").resolve() / "queue"
    queue.mkdir()
    (queue / "iostats").write_text("0\n")
    check = _between(machine, _line("sda", 10, 80), _line("sda", 10, 80), _100_MIB)
    assert check.answer is Answer.UNKNOWN
    assert "queue/iostats is 0" in check.doubts[0]


def test_a_run_without_a_completed_io_leaves_it_open(machine: KernelTree) -> None:
    nothing = {"read": Asked(0, 0), "write": Asked(0, 0)}
    check = _between(machine, _line("sda", 10, 80), _line("sda", 10, 80), nothing)
    assert (check.answer, check.doubts) == (Answer.UNKNOWN, ())


def test_a_device_that_never_counted_anything_leaves_it_open(machine: KernelTree) -> None:
    line = "   8       0 sda 0 0 0 0 0 0 0 0 0 0 0\n"
    assert _between(machine, line, line, _100_MIB).answer is Answer.UNKNOWN


def test_members_are_counted_together(machine: KernelTree) -> None:
    under = Underneath((Level(("sda", "sdb")),))
    before, half = _line("sda", 1, 8) + _line("sdb", 1, 8), 100 * MIB // 1024
    after = _line("sda", 12801, 8 + half) + _line("sdb", 12801, 8 + half)
    check = _between(machine, before, after, _100_MIB, under)
    assert (check.answer, check.ratio("read")) == (Answer.RECONCILED, 1.0)


def test_read_ahead_of_our_own_is_told_from_others(machine: KernelTree) -> None:
    io = machine.kernel.proc / "self" / "io"
    io.write_text("read_bytes: 0\nwrite_bytes: 0\n")
    (machine.kernel.proc / "diskstats").write_text(_line("sda", 1, 8))
    watch = DeviceWatch(_SDA, direct=False, extents=None, kernel=machine.kernel)
    (machine.kernel.proc / "diskstats").write_text(_line("sda", 3001, 8 + 300 * MIB // 512))
    io.write_text(f"read_bytes: {300 * MIB}\nwrite_bytes: 0\n")
    check = watch.compare(_100_MIB)
    assert check.answer is Answer.OTHERS_TOO
    assert "read-ahead" in check.doubts[0]


@pytest.mark.parametrize(("written", "is_told"), [(60, False), (400, True)])
def test_what_others_write_does_not_hide_behind_many_reads(machine: KernelTree, written: int, is_told: bool) -> None:
    """A quarter of reads and writes together was allowed: 2 GiB of reads let 500 MiB of others' writes pass."""
    reads, sectors = 2048 * MIB // 4096, MIB // 512
    before = _line("sda", 1, 8, 1, 8)
    after = _line("sda", 1 + reads, 8 + 2048 * sectors, 1001, 8 + written * sectors)
    check = _between(machine, before, after, {"read": Asked(reads, 2048 * MIB), "write": Asked(0, 0)})
    assert (check.answer is Answer.OTHERS_TOO) is is_told
    assert [
        f"sda wrote {written} MiB in 1,000 I/Os while the generator wrote 0 B" in doubt for doubt in check.doubts
    ] == ([True] if is_told else [])


@pytest.mark.parametrize(("written", "is_told"), [(230, False), (300, True)])
def test_what_a_file_system_adds_goes_with_what_is_written(machine: KernelTree, written: int, is_told: bool) -> None:
    reads, writes, sectors = 100 * MIB // 4096, 200 * MIB // 4096, MIB // 512
    before = _line("sda", 1, 8, 1, 8)
    after = _line("sda", 1 + reads, 8 + 100 * sectors, 1 + writes, 8 + written * sectors)
    check = _between(machine, before, after, {"read": Asked(reads, 100 * MIB), "write": Asked(writes, 200 * MIB)})
    assert (check.answer is Answer.OTHERS_TOO) is is_told


def test_others_that_are_meant_to_use_the_device_are_an_answer_and_no_doubt(machine: KernelTree) -> None:
    """As the hog of the demonstration is, which its own victim need not be warned of."""
    (machine.kernel.proc / "diskstats").write_text(_line("sda", 1, 8))
    watch = DeviceWatch(_SDA, direct=True, extents=None, kernel=machine.kernel, shared=True)
    (machine.kernel.proc / "diskstats").write_text(_line("sda", 27601, 8 + 3000 * MIB // 512))
    check = watch.compare(_100_MIB)
    assert (check.answer, check.ratio("read"), check.doubts) == (Answer.OTHERS_TOO, 30.0, ())


def test_a_disk_below_that_did_nothing_is_named(machine: KernelTree) -> None:
    under = Underneath((Level(("loop0",), "loop0 reads and writes its backing file through the page cache"),
                        Level(("sda",))))  # fmt: skip
    before = _line("loop0", 1, 8) + _line("sda", 1, 8)
    after = _line("loop0", 25601, 8 + 100 * MIB // 512) + _line("sda", 2, 16)
    check = _between(machine, before, after, _100_MIB, under)
    assert check.answer is Answer.RECONCILED
    (doubt,) = check.doubts
    assert "Not the disk below" in doubt
    assert "page cache" in doubt


def test_what_was_done_before_the_run_began_does_not_count(machine: KernelTree) -> None:
    """The engine tries its ring on the target first: 8 workers with 64 KiB move up to 128 MiB."""
    (machine.kernel.proc / "diskstats").write_text(_line("sda", 1, 8))
    watches = [DeviceWatch(_SDA, direct=True, extents=None, kernel=machine.kernel) for _ in range(2)]
    (machine.kernel.proc / "diskstats").write_text(_line("sda", 2001, 8 + 120 * MIB // 512))
    looked_again, once = watches
    looked_again.look_again()
    (machine.kernel.proc / "diskstats").write_text(_line("sda", 27601, 8 + 220 * MIB // 512))
    assert looked_again.compare(_100_MIB).ratio("read") == 1.0
    assert once.compare(_100_MIB).ratio("read") == 2.2


def test_the_trial_of_the_ring_is_not_taken_for_the_run(ext4: Path, data: Path) -> None:
    """The counters are read between the two, however busy the machine is and however short the run."""
    line = AccessSpec(64 * KIB, read_share=1.0)
    workload = Workload("reading", (Stream(Mix((line,)), Closed(1), workers=4),))
    excess = []
    for seconds in (0.02, 0.1, 1.0):
        check = _check(_measured(ext4, workload, data, seconds=seconds))
        assert check.moved is not None
        assert check.answer is Answer.RECONCILED, check.doubts
        excess.append(check.moved["read"].bytes - check.asked["read"].bytes)
    assert max(excess) < 8 * MIB, "the trial of four workers alone reads 64 MiB"


def test_a_check_survives_json(machine: KernelTree) -> None:
    check = _between(machine, _line("sda", 10, 80), _line("sda", 12, 96), _100_MIB)
    assert DeviceCheck.from_json(json.loads(json.dumps(check.to_json()))) == check
