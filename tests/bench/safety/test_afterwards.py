"""The scratch file of a run that is killed is removed at once, and none that is to stay."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from storscope.bench.safety import Journal, create
from storscope.bench.safety.afterwards import removed_if_killed
from storscope.domain.units import MIB

_LONGEST_S = 120.0
_RUN = """
import sys
from storscope.bench.safety import create
from storscope.bench.safety.afterwards import removed_if_killed
with create(sys.argv[1], 1 << 20) as made, removed_if_killed(made):
    if "keep" in sys.argv:
        made.keep()
    print(made.path, flush=True)
    sys.stdin.read()
"""


def children() -> set[str]:
    """Processes that this one started, by their numbers."""
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def becomes(is_so: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + _LONGEST_S
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.02)
    return is_so()


def watchers_of(path: Path) -> list[int]:
    """Processes whose arguments name the journal of this test; one that just starts a program has none to see."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if str(path).encode() in words and b"afterwards" in words:
            found.append(int(process.name))
    return found


@contextmanager
def watcher_of(path: Path) -> Iterator[int]:
    """The one such process, as a descriptor that stays its own whatever program it goes on with (pidfd_open(2))."""
    # A process that has just been started has no arguments yet while the kernel lays out its memory.
    assert becomes(lambda: len(watchers_of(path)) == 1)
    (process,) = watchers_of(path)
    descriptor = os.pidfd_open(process)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def ends(process: int) -> bool:
    """A descriptor of a process can be read from once it has ended."""
    return bool(select.select([process], [], [], _LONGEST_S)[0])


def killed(folder: Path, journal: Journal, *options: str) -> Path:
    """All of the run's process group, as Ctrl-C reaches it, is killed; returns after the one beside it has ended."""
    run = subprocess.Popen(
        [sys.executable, "-c", _RUN, str(folder), *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    assert run.stdout is not None
    path = Path(run.stdout.readline().strip())
    assert path.exists()
    with watcher_of(journal.folder) as watcher:
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
        assert ends(watcher)
    return path


def test_the_file_of_a_killed_run_is_removed_and_nothing_of_it_stays(tmp_path: Path, journal: Journal) -> None:
    path = killed(tmp_path, journal)
    assert not path.exists()
    assert not watchers_of(journal.folder)
    assert not list(journal.records())


def test_a_file_that_is_kept_stays_after_a_kill(tmp_path: Path, journal: Journal) -> None:
    path = killed(tmp_path, journal, "keep")
    assert not watchers_of(journal.folder)
    assert path.exists()


def test_a_run_that_ends_leaves_no_process_and_removes_its_file_itself(tmp_path: Path, journal: Journal) -> None:
    before = children()
    with create(tmp_path, MIB) as made, removed_if_killed(made):
        assert len(children() - before) == 1
    assert children() == before
    assert not made.path.exists()


def test_a_file_that_took_the_place_of_the_scratch_file_stays(tmp_path: Path, journal: Journal) -> None:
    with create(tmp_path, MIB) as made:
        command = [sys.executable, "-c", _RUN, str(tmp_path)]
        run = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert run.stdout is not None
        path = Path(run.stdout.readline().decode().strip())
        path.unlink()
        path.write_text("a user's")
        with watcher_of(journal.folder) as watcher:
            run.kill()
            run.communicate()
            assert ends(watcher)
    assert path.read_text() == "a user's"
    assert not made.path.exists()


def test_a_measurement_that_is_killed_leaves_no_file(tmp_path: Path, journal: Journal) -> None:
    (tmp_path / "data").mkdir()
    command = [sys.executable, "-m", "storscope", "bench", "data", "--workload", "oltp", "--size", "4M"]
    run = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert becomes(lambda: bool(watchers_of(journal.folder)))
    assert any((tmp_path / "data").iterdir())
    run.kill()
    run.wait()
    assert becomes(lambda: not any((tmp_path / "data").iterdir()))


def test_where_no_process_can_be_started_the_run_goes_on(
    tmp_path: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "none"))
    with create(tmp_path, MIB) as made, removed_if_killed(made):
        assert made.path.exists()
    assert not made.path.exists()
