"""/proc/PID/io: what a process read and wrote (proc_pid_io(5), Documentation/filesystems/proc.rst 3.3).

`read_bytes` and `write_bytes` are what the process caused to be fetched from, or sent to, block devices: direct I/O and
read-ahead count, what the page cache answers does not. A buffered write counts when it makes a page dirty, not when
that reaches the device. A process's threads and its io_uring workers count; kernel threads count for themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

FIELDS: Final = ("rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes", "cancelled_write_bytes")
"""As the kernel prints them; cancelled_write_bytes is what was made dirty and thrown away again (truncate)."""


def parse(text: str) -> Mapping[str, int]:
    """Field -> value since the process started. A field that is not there, or no number, is left out."""
    pairs = (line.partition(":")[::2] for line in text.splitlines())
    found = {name.strip(): value.strip() for name, value in pairs}
    return {name: int(found[name]) for name in FIELDS if found.get(name, "").isdecimal()}
