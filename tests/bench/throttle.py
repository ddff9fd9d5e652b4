"""A device whose speed is known: limited by the kernel to so many I/Os per second (blk-throttle).

By the blkio controller of cgroup v1 (Documentation/admin-guide/cgroup-v1/blkio-controller.rst) or io.max of v2
(cgroup-v2.rst). The test's own process moves into a group of its own for the time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

_V1 = Path("/sys/fs/cgroup/blkio")
_V2 = Path("/sys/fs/cgroup")


@contextmanager
def throttled(device: Path, iops: int) -> Iterator[None]:
    """This process and its children get so many reads, and so many writes, a second of a device. Skips if it cannot."""
    status = device.stat()
    number = f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"
    with ExitStack() as stack:
        try:
            group = _group(stack)
            if (group / "blkio.throttle.read_iops_device").exists():
                for direction in ("read", "write"):
                    (group / f"blkio.throttle.{direction}_iops_device").write_text(f"{number} {iops}")
            else:
                (group / "io.max").write_text(f"{number} riops={iops} wiops={iops}")
            home = _home(group)
            (group / "cgroup.procs").write_text(str(os.getpid()))
        except OSError as error:
            pytest.skip(f"no limits on I/O here: {error}")
        stack.callback((home / "cgroup.procs").write_text, str(os.getpid()))
        yield


def _group(stack: ExitStack) -> Path:
    root = _V1 if _V1.is_dir() else _V2
    group = root / f"storscope-test-{os.getpid()}"
    group.mkdir()
    stack.callback(group.rmdir)
    return group


def _home(group: Path) -> Path:
    """Where this process belongs."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == ("blkio" if group.parent == _V1 else ""):
            return group.parent / path.lstrip("/")
    raise FileNotFoundError("this process is in no group")
