"""What was checked is what is opened: no swap of a path in between goes unnoticed, and nothing is written."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from storscope.bench.safety import Intent, Journal, create, inspect, open_for_reading, open_for_writing, plan, resolve
from storscope.bench.safety.access import open_held
from storscope.bench.safety.check import Outcome
from storscope.bench.safety.kernel import Kernel
from storscope.bench.safety.target import DirectoryTarget, FileTarget, Held, NewFileTarget, hold
from storscope.domain.errors import TargetRefused, UsageError
from storscope.domain.units import MIB, format_bytes
from tests.bench.safety import images
from tests.bench.safety.conftest import Rig, run
from tests.bench.safety.in_use import refusals

PRECIOUS = b"precious data"


@pytest.fixture
def link(tmp_path: Path) -> Path:
    """A link to an empty file, which may be written, beside a file that may not."""
    (tmp_path / "empty").touch()
    (tmp_path / "precious").write_bytes(PRECIOUS)
    (tmp_path / "link").symlink_to("empty")
    return tmp_path / "link"


def point(link: Path, to: str) -> None:
    """Changes a link in one step, as an attacker or a careless script would."""
    draft = link.with_name("draft")
    draft.symlink_to(to)
    draft.replace(link)


def test_a_link_swapped_between_check_and_open_is_caught(link: Path) -> None:
    with hold(link) as held:
        point(link, "precious")
        with pytest.raises(TargetRefused, match="it leads to something else by now"):
            open_held(held)
    assert (link.parent / "precious").read_bytes() == PRECIOUS


def test_a_link_that_leads_nowhere_after_the_check_is_caught(link: Path) -> None:
    with hold(link) as held:
        link.unlink()
        with pytest.raises(TargetRefused, match="it leads nowhere any more"):
            open_held(held)


def test_a_link_swapped_after_the_plan_is_caught(link: Path) -> None:
    planned = plan(link, Intent(writes=True)).target
    point(link, "precious")
    with pytest.raises(TargetRefused, match="something else when it was looked at"):
        open_for_writing(link, expected=planned)
    with pytest.raises(TargetRefused, match="did not create"):
        open_for_writing(link)


def test_a_file_replaced_under_its_name_after_the_plan_is_caught(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    planned = inspect(file).target
    other = tmp_path / "other"
    other.touch()
    other.replace(file)
    with pytest.raises(TargetRefused, match="something else when it was looked at"):
        open_for_writing(file, expected=planned)


def test_a_link_that_flips_all_the_time_never_leads_to_the_wrong_file(link: Path) -> None:
    """Whatever the moment, the descriptor is the empty file's or there is none."""
    stop = threading.Event()

    def flip() -> None:
        while not stop.is_set():
            point(link, "precious")
            point(link, "empty")

    flipping = threading.Thread(target=flip)
    flipping.start()
    opened = 0
    try:
        for _ in range(60):
            try:
                target = open_for_writing(link)
            except (TargetRefused, UsageError):
                continue
            with target:
                opened += 1
                assert os.fstat(target.descriptor).st_ino == (link.parent / "empty").stat().st_ino
    finally:
        stop.set()
        flipping.join()
    assert (link.parent / "precious").read_bytes() == PRECIOUS
    assert opened, "the test never saw the path at rest"


def test_permission_for_one_file_does_not_open_another(link: Path) -> None:
    empty = link.parent / "empty"
    point(link, "precious")
    with pytest.raises(TargetRefused, match="precious"):
        open_for_writing(link, permission=f"{empty}:0")


def test_an_empty_file_may_be_written(tmp_path: Path) -> None:
    file = tmp_path / "empty"
    file.touch()
    with open_for_writing(file) as opened:
        os.write(opened.descriptor, b"x")
    assert file.read_bytes() == b"x"


def test_a_file_that_storscope_did_not_create_needs_permission(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_bytes(PRECIOUS)
    with pytest.raises(TargetRefused, match="did not create"):
        open_for_writing(file)
    assert file.read_bytes() == PRECIOUS
    with open_for_writing(file, permission=f"{file}:{len(PRECIOUS)}") as opened:
        assert os.fstat(opened.descriptor).st_size == len(PRECIOUS), "opening never truncates"


def test_an_image_with_a_signature_names_what_is_lost(tmp_path: Path) -> None:
    image = tmp_path / "image"
    images.lvm2(image)
    with pytest.raises(TargetRefused, match="physical volume of LVM"):
        open_for_writing(image)


def test_a_file_with_two_names_needs_permission(tmp_path: Path) -> None:
    (tmp_path / "one").touch()
    (tmp_path / "two").hardlink_to(tmp_path / "one")
    with pytest.raises(TargetRefused, match="2 names"):
        open_for_writing(tmp_path / "one")


def test_two_runs_never_share_a_file(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with open_for_writing(file), pytest.raises(TargetRefused, match="another storscope"):
        open_for_writing(file)
    open_for_writing(file).close()


def test_a_scratch_file_in_use_is_refused(tmp_path: Path) -> None:
    with create(tmp_path, 4096, keep=True) as scratch, pytest.raises(TargetRefused, match="another storscope"):
        open_for_writing(scratch.path)


def test_a_sparse_file_needs_room_for_its_holes(tmp_path: Path) -> None:
    free = os.statvfs(tmp_path)
    file = tmp_path / "sparse"
    with file.open("xb") as sparse:
        sparse.truncate(free.f_bavail * free.f_frsize)
    with pytest.raises(TargetRefused, match="must stay free"):
        open_for_writing(file, permission=f"{file}:{file.stat().st_size}")


def too_large_and_sparse(folder: Path) -> Path:
    """A file of holes that its file system has no room for; its first MiB is written."""
    free = os.statvfs(folder)
    with (folder / "sparse").open("xb") as file:
        file.write(os.urandom(MIB))
        file.truncate(2 * free.f_bavail * free.f_frsize)
        os.fsync(file.fileno())
    return folder / "sparse"


@pytest.mark.parametrize("reach_bytes", [MIB, 16 * MIB])
def test_only_the_part_that_is_written_needs_room(tmp_path: Path, reach_bytes: int) -> None:
    file = too_large_and_sparse(tmp_path)
    word = f"{file}:{file.stat().st_size}"
    with pytest.raises(TargetRefused, match="must stay free"):
        open_for_writing(file, permission=word)
    open_for_writing(file, permission=word, reach_bytes=reach_bytes).close()
    (space,) = [check for check in inspect(file, size_bytes=reach_bytes).checks if check.name == "space"]
    assert space.says.startswith(f"needs {format_bytes(reach_bytes - MIB)} of ")


def test_the_limit_of_file_sizes_is_of_the_part_that_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (MIB, MIB))
    (tmp_path / "file").write_bytes(bytes(2 * MIB))
    word = f"{tmp_path / 'file'}:{2 * MIB}"
    with pytest.raises(TargetRefused, match="ulimit"):
        open_for_writing(tmp_path / "file", permission=word)
    open_for_writing(tmp_path / "file", permission=word, reach_bytes=MIB).close()


def test_growing_a_file_needs_room(tmp_path: Path) -> None:
    file = tmp_path / "empty"
    file.touch()
    free = os.statvfs(tmp_path)
    with pytest.raises(TargetRefused, match="must stay free"):
        open_for_writing(file, reach_bytes=free.f_bavail * free.f_frsize)


def test_reading_opens_read_only_and_asks_nothing(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_bytes(bytes(4096))
    file.chmod(0o400)
    with open_for_reading(file) as opened:
        assert not opened.writable
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.write(opened.descriptor, b"x")


def test_reading_past_the_page_cache(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_bytes(bytes(4096))
    try:
        opened = open_for_reading(file, direct=True)
    except TargetRefused as refusal:
        assert "O_DIRECT" in str(refusal)
        pytest.skip("the file system of the tests knows no O_DIRECT")
    with opened:
        flags = int(
            next(
                line.split()[1]
                for line in Path(f"/proc/self/fdinfo/{opened.descriptor}").read_text().splitlines()
                if line.startswith("flags")
            ),
            8,
        )
        assert flags & os.O_DIRECT
        assert flags & os.O_ACCMODE == os.O_RDONLY


@pytest.mark.parametrize("path", ["/dev/null", "/dev/zero"])
def test_character_devices_are_refused(path: str) -> None:
    for attempt in (resolve, open_for_writing, open_for_reading):
        with pytest.raises(TargetRefused, match="a character device"):
            attempt(path)


def test_a_fifo_is_refused_without_waiting_for_its_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(TargetRefused, match="a FIFO") as refused:
        open_for_reading(tmp_path / "fifo")
    assert "NVMe" not in refused.value.hint


def test_a_socket_is_refused(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        with pytest.raises(TargetRefused, match="a socket"):
            resolve(tmp_path / "s")


@pytest.mark.parametrize("path", ["", "nowhere/at/all", "a\0b", "x/"])
def test_a_path_that_leads_nowhere_is_an_error_with_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError):
        resolve(path)


def test_a_link_to_nothing_and_a_circle_are_errors(tmp_path: Path) -> None:
    (tmp_path / "dangling").symlink_to("nothing")
    (tmp_path / "circle").symlink_to("circle")
    for name in ("dangling", "circle"):
        with pytest.raises(UsageError):
            resolve(tmp_path / name)
        with pytest.raises(UsageError):
            create(tmp_path / name, 4096)
    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize("path", ["/proc/self/oom_score_adj", "/sys/kernel/mm/ksm/run", "/proc/sys/vm/swappiness"])
def test_the_switches_of_the_kernel_are_no_files_to_write(path: str) -> None:
    if not Path(path).exists():
        pytest.skip(f"no {path} here")
    before = Path(path).read_text()
    with pytest.raises(TargetRefused, match="which is no storage"):
        open_for_writing(path, permission=f"{path}:{Path(path).stat().st_size}")
    assert Path(path).read_text() == before


def test_a_mistyped_device_name_does_not_become_a_file_in_memory() -> None:
    with pytest.raises(TargetRefused, match=r"lsblk|no file may be created"):
        create("/dev/storscope-no-such-disk", 4096)
    assert not Path("/dev/storscope-no-such-disk").exists()


def test_directories_and_new_names_are_not_opened_but_created_in(tmp_path: Path) -> None:
    assert isinstance(resolve(tmp_path), DirectoryTarget)
    assert isinstance(resolve(tmp_path / "new"), NewFileTarget)
    with pytest.raises(UsageError):
        open_for_writing(tmp_path)
    with pytest.raises(UsageError):
        open_for_reading(tmp_path)
    with pytest.raises(UsageError):
        open_for_writing(tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_described_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "half"
    with file.open("xb") as half:
        half.write(os.urandom(1 << 20))
        half.truncate(2 << 20)
        os.fsync(half.fileno())
    (tmp_path / "link").symlink_to("half")
    target = resolve(tmp_path / "link")
    assert isinstance(target, FileTarget)
    assert (target.path, target.size_bytes, target.links) == (str(file), 2 << 20, 1)
    assert target.allocated_bytes < target.size_bytes
    assert target.place.mount is not None
    assert target.extents is not None
    assert target.extents.hole_bytes == 1 << 20


def test_without_a_list_of_block_devices_no_file_is_known_to_back_none(tmp_path: Path) -> None:
    """In a chroot without /sys the file below a mounted loop device looks like any other."""
    (tmp_path / "image").write_bytes(PRECIOUS)
    kernel = Kernel(sysfs=tmp_path / "sys")
    checks = {check.name: check for check in inspect(tmp_path / "image", kernel=kernel).checks}
    assert (checks["loop"].outcome, checks["loop"].overridable) == (Outcome.REFUSED, False)
    assert f"{tmp_path}/sys does not list block devices" in checks["loop"].says
    word = f"{tmp_path / 'image'}:{len(PRECIOUS)}"
    with pytest.raises(TargetRefused, match="does not list block devices"):
        open_for_writing(tmp_path / "image", permission=word, kernel=kernel)
    create(tmp_path / "new", MIB, kernel=kernel).close()


def test_checks_pass_or_say_why(tmp_path: Path, journal: Journal) -> None:
    file = tmp_path / "data"
    file.write_bytes(PRECIOUS)
    for check in inspect(file, journal=journal).checks:
        assert check.says
        assert check.outcome is not Outcome.REFUSED or check.overridable or check.remedy


def test_no_descriptor_is_left(link: Path, descriptors: Callable[[], int]) -> None:
    before = descriptors()
    open_for_writing(link).close()
    open_for_reading(link).close()
    with pytest.raises(TargetRefused):
        open_for_writing(link.parent / "precious")
    with pytest.raises(UsageError):
        open_for_writing(link.parent)
    create(link.parent, 4096).close()
    assert descriptors() == before


def test_who_may_not_read_a_file_is_told_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may read everything, so that the kernel's answer is given in its place."""

    def refused(_held: Held, _flags: int) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    (tmp_path / "foreign").write_bytes(PRECIOUS)
    monkeypatch.setattr(Held, "reopen", refused)
    with pytest.raises(TargetRefused, match=r"found Permission denied\.\s+Run as a user who may read it\."):
        open_for_reading(tmp_path / "foreign")


@pytest.mark.needs_root
@pytest.mark.needs("chattr")
def test_a_file_that_nobody_may_write_is_refused_before_it_is_opened(rig: Rig) -> None:
    device = rig.loop(rig.image(size_bytes=64 * MIB))
    run("mkfs.ext4", "-q", device)
    file = rig.mount(device) / "immutable"
    file.touch()
    for flag in "ia":
        run("chattr", f"+{flag}", file)
        try:
            assert [check.name for check in inspect(file).checks if check.outcome is Outcome.REFUSED] == ["open"]
            with pytest.raises(TargetRefused, match=r"cannot be opened: Operation not permitted[\s\S]*lsattr"):
                open_for_writing(file)
        finally:
            run("chattr", f"-{flag}", file)


@pytest.mark.needs_root
@pytest.mark.needs("mkfs.ext4")
@pytest.mark.needs("chattr")
def test_a_folder_that_no_file_may_be_removed_from_gets_none(rig: Rig) -> None:
    """An append-only one lets files be created. Its content had to stay, also as what a killed run left."""
    point = rig.ext4(rig.loop(rig.image(size_bytes=128 * MIB)))
    (point / "known").touch()
    run("chattr", "+a", point)
    try:
        for path in (point, point / "new"):
            with pytest.raises(TargetRefused, match=r"no file may be removed from .*append-only"):
                create(path, MIB)
            assert [check.name for check in inspect(path).checks if check.outcome is Outcome.REFUSED] == ["access"]
        assert sorted(path.name for path in point.iterdir()) == ["known", "lost+found"]
        assert not refusals(point / "known")
    finally:
        run("chattr", "-a", point)
    create(point, MIB).close()


def test_a_program_that_runs_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    program = tmp_path / "program"
    shutil.copy("/bin/sleep", program)
    with subprocess.Popen([program, "60"]) as process:
        try:
            with pytest.raises(TargetRefused, match="is a program that is running"):
                open_for_writing(program, permission=f"{program}:{program.stat().st_size}")
        finally:
            process.kill()
    assert "open" not in [check.name for check in inspect(program).checks if check.outcome is Outcome.REFUSED]


def test_the_limit_of_file_sizes_is_known_before_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (4096, 4096))
    (tmp_path / "empty").touch()
    with pytest.raises(TargetRefused, match="ulimit"):
        open_for_writing(tmp_path / "empty", reach_bytes=MIB)
    with pytest.raises(TargetRefused, match="ulimit"):
        create(tmp_path, MIB)
