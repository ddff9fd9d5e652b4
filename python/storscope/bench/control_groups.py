"""Which control groups this process is in, as folders of either version at their usual places (cgroups(7)).

Beware: a container that has no files of its groups mounted tells nothing. At the top of a container's mount its own
group may be, under the path that the host has for it: then that of the path is not there, and the top is.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

ONE, TWO = 1, 2
_MOUNT: Final = "fs/cgroup"


class ControlGroup(NamedTuple):
    """A group that limits this process by some controller."""

    path: str
    """As /proc/self/cgroup has it, or an ancestor of that."""
    folder: Path
    version: int


def control_groups(controller: str, proc: Path, sysfs: Path) -> list[ControlGroup]:
    """This process's own group first, then those above it; of version 1 if that has the controller, else of 2."""
    try:
        lines = (proc / "self/cgroup").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    paths = {
        controllers: path for _, controllers, path in (line.split(":", 2) for line in lines if line.count(":") > 1)
    }
    first = next((path for controllers, path in paths.items() if controller in controllers.split(",")), None)
    version, path = (TWO, paths.get("")) if first is None else (ONE, first)
    if path is None:
        return []
    mount = sysfs / _MOUNT if version == TWO else sysfs / _MOUNT / controller
    own = PurePosixPath(path)
    every = (one for one in (own, *own.parents) if one.is_absolute())
    return [
        ControlGroup(str(one), folder, version) for one in every if (folder := mount / one.relative_to("/")).is_dir()
    ]
