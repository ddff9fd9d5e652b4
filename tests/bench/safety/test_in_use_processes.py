"""The in-use cases with other processes: who writes to a target or claims it, and which targets share bytes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from storscope.bench.safety import bytes_of, inspect, processes
from storscope.bench.safety.kernel import Kernel
from storscope.domain.units import MIB
from tests.bench.safety.conftest import Rig, run
from tests.bench.safety.in_use import HOLD_OPEN, Other, alias_by_node, assert_refused_for_good, refusals

pytestmark = [pytest.mark.needs_root, pytest.mark.needs("losetup")]


def test_a_process_that_writes_to_the_file_below_two_loop_devices_is_seen(rig: Rig) -> None:
    image = rig.image()
    top = rig.loop(rig.loop(image))
    with Other(HOLD_OPEN, image, os.O_RDWR):
        assert refusals(top) == {"writers": False}
    assert refusals(top) == {}


def test_a_process_that_writes_to_the_device_below_two_loop_devices_is_seen(rig: Rig) -> None:
    bottom = rig.loop()
    top = rig.loop(rig.loop(bottom))
    with Other(HOLD_OPEN, bottom, os.O_RDWR):
        assert refusals(top) == {"writers": False}


HOLD_MAPPED = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
fd = os.open(sys.argv[1], os.O_RDWR)
assert libc.mmap(None, 4096, 3, 1, fd, 0) != ctypes.c_void_p(-1).value  # PROT_READ | PROT_WRITE, MAP_SHARED
os.close(fd)  # Python's own mmap would keep it open
print('open', flush=True)
sys.stdin.read()
"""


def test_a_device_that_another_process_writes_to_without_a_claim_is_refused(rig: Rig) -> None:
    """Virtual machines and databases open raw devices without O_EXCL; sysfs and mountinfo show nothing."""
    device = rig.loop()
    with Other(HOLD_OPEN, device, os.O_RDWR):
        assert refusals(device) == {"writers": False}
        assert_refused_for_good(alias_by_node(rig, device), "writers")
    assert refusals(device) == {}


def test_a_device_that_another_process_only_reads_is_not_refused(rig: Rig) -> None:
    device = rig.loop()
    with Other(HOLD_OPEN, device, os.O_RDONLY):
        assert refusals(device) == {}


@pytest.mark.parametrize(("code", "flags"), [(HOLD_OPEN, os.O_RDWR), (HOLD_OPEN, os.O_WRONLY), (HOLD_MAPPED, 0)])
def test_a_file_that_another_process_writes_to_is_refused(rig: Rig, code: str, flags: int) -> None:
    image = rig.image()
    with Other(code, image, flags):
        assert_refused_for_good(image, "writers")


HOLD_OPEN_WITHOUT_ITS_FIRST_THREAD = """
import ctypes, os, sys, threading, time
def later():
    time.sleep(0.3)
    print('open', flush=True)
    sys.stdin.buffer.raw.read()
    os._exit(0)
os.open(sys.argv[1], int(sys.argv[2]))
threading.Thread(target=later).start()
ctypes.CDLL(None).pthread_exit(None)
"""

HOLD_OPEN_IN_A_TABLE_OF_ITS_OWN = """
import ctypes, os, sys, threading
def later():
    assert ctypes.CDLL(None).unshare(0x400) == 0  # CLONE_FILES
    os.open(sys.argv[1], int(sys.argv[2]))
    print('open', flush=True)
    sys.stdin.buffer.raw.read()
thread = threading.Thread(target=later)
thread.start()
thread.join()
"""


@pytest.mark.parametrize("compares", [True, False])
@pytest.mark.parametrize("code", [HOLD_OPEN_WITHOUT_ITS_FIRST_THREAD, HOLD_OPEN_IN_A_TABLE_OF_ITS_OWN])
def test_a_thread_that_writes_to_a_file_is_seen(
    rig: Rig, code: str, compares: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the kernel does not tell which threads have one table of descriptors."""
    if not compares:
        monkeypatch.setattr(processes, "_KCMP", {})
    image = rig.image()
    with Other(code, image, os.O_RDWR):
        assert_refused_for_good(image, "writers")


def _writers_answer(path: Path) -> str:
    """As another process, which may be another user, finds it."""
    (check,) = [check for check in inspect(path).checks if check.name == "writers"]
    return f"{check.outcome}: {check.says}"


ANSWER = """
import sys
from pathlib import Path
from tests.bench.safety.test_in_use_processes import _writers_answer
print(_writers_answer(Path(sys.argv[1])))
"""


@pytest.mark.needs("unshare")
def test_in_a_container_it_is_said_that_not_all_can_be_seen(rig: Rig) -> None:
    image = rig.image()
    with Other(HOLD_OPEN, image, os.O_RDWR):
        said = run("unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", ANSWER, image)
    assert said == "unknown: processes outside this container (PID namespace) cannot be seen; none of the others writes"


def test_a_proc_that_hides_processes_is_said_to_do_so(rig: Rig, tmp_path: Path) -> None:
    """As hidepid=2 shows it to an ordinary user."""
    proc = tmp_path / "proc"
    proc.mkdir()
    (proc / "self").symlink_to(f"/proc/{os.getpid()}")
    seen = processes.writers(Kernel(proc=proc), lambda status, link: True)
    assert seen.hidden == ("/proc does not list the processes of other users (hidepid)",)
    assert processes.writers(Kernel(), lambda status, link: False).hidden == ()


def test_a_mapping_is_seen_where_only_its_line_may_be_read(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """An ordinary user may not follow the links in map_files, not even those of their own processes."""
    image, matches = rig.image(), processes._matches

    def as_user(link: Path, wanted: processes.Wanted) -> bool | None:
        return None if link.parent.name == "map_files" else matches(link, wanted)

    monkeypatch.setattr(processes, "_matches", as_user)
    with Other(HOLD_MAPPED, image, 0):
        assert_refused_for_good(image, "writers")
        other = image.with_name("other")
        other.write_bytes(bytes(4096))
        assert "writers" not in refusals(other)
        assert _writers_answer(other) == "passed: no other process has it open for writing"


def share_bytes(one: Path, other: Path) -> bool:
    descriptors = [os.open(path, os.O_RDONLY) for path in (one, other)]
    try:
        first, second = (bytes_of(Kernel(), descriptor) for descriptor in descriptors)
        assert first.overlap(second) == second.overlap(first)
        return first.overlap(second)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


@pytest.mark.needs("addpart")
def test_targets_that_share_bytes_are_told_from_those_that_do_not(rig: Rig) -> None:
    image = rig.image()
    disk, elsewhere = rig.loop(image), rig.loop(rig.image("another"))
    first, second = rig.partition(disk, 1, MIB, 8 * MIB), rig.partition(disk, 2, 16 * MIB, 8 * MIB)
    above = rig.loop(first)
    for one, other in ((first, disk), (image, disk), (image, first), (above, first), (above, disk), (above, image)):
        assert share_bytes(one, other), (one, other)
    for one, other in ((first, second), (above, second), (disk, elsewhere), (image, elsewhere)):
        assert not share_bytes(one, other), (one, other)


def test_two_loop_devices_over_one_file_share_bytes(rig: Rig) -> None:
    image = rig.image()
    assert share_bytes(rig.loop(image), rig.loop(image))


def test_a_claim_by_anything_else_is_refused(rig: Rig) -> None:
    """As ZFS, iSCSI targets or a second storscope hold it: no trace in sysfs, only EBUSY."""
    device = rig.loop()
    with Other(HOLD_OPEN, device, os.O_RDONLY | os.O_EXCL):
        assert refusals(device) == {"exclusive": False}
