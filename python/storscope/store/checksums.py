"""Whether a capture's files are those that were written: their SHA-256, in a file beside them.

    STORE/capture=<id>/SHA256SUMS          as `sha256sum` writes it, so that `sha256sum --check` reads it too

The engine does not check the sums of Parquet's pages: a bit that a disk or a copy turned over would be another number,
and nobody would know. Files are proved once for each process and state, at more than 1 GB/s. A capture without sums was
written by an earlier version; what its own row counts is all that is known of it.
"""

from __future__ import annotations

import hashlib
import re
import shlex
import stat
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from storscope.domain.errors import DamagedStore
from storscope.store.machine_limits import limits_told

SUMS = "SHA256SUMS"
_LINE = re.compile(r"([0-9a-f]{64})  ([^/\0]+\.parquet)")
_THREADS = 4
_SHOWN = 12
"""Characters of a sum in a message."""

Seen = tuple[int, int, int]


def look_at(file: Path) -> Seen | None:
    """What tells one file of a name from the next; None if there is none, or what may never end: a pipe, a device."""
    try:
        found = file.stat()
    except OSError:
        return None
    return (found.st_ino, found.st_mtime_ns, found.st_size) if stat.S_ISREG(found.st_mode) else None


def write_sums(capture: Path) -> None:
    """Puts down the sums of all tables in a directory."""
    tables = sorted(capture.glob("*.parquet"))
    (capture / SUMS).write_text("".join(f"{_sum_of(file)}  {file.name}\n" for file in tables), encoding="ascii")


class Proofs:
    """What has been proved of the files of a store, so that nothing is read twice for it."""

    def __init__(self) -> None:
        self._proved: dict[Path, Seen] = {}

    def prove(self, files: Mapping[Path, Seen]) -> None:
        """Proves tables of captures, each as it was when it was looked at.

        Raises DamagedStore with the first one, in order, that is not what was written; StoreError where the process
        ran out of something.
        """
        unproved = self._unproved(files)
        if not unproved:
            return
        store = unproved[0][0].parent.parent
        with limits_told(store), ThreadPoolExecutor(min(_THREADS, len(unproved))) as threads:
            for found in threads.map(_wrong, *zip(*unproved, strict=True)):
                if found is not None:
                    raise found
        self._proved |= files

    def _unproved(self, files: Mapping[Path, Seen]) -> list[tuple[Path, str | None]]:
        """Files of captures with sums, each with the sum that it should have; None if it should not be there."""
        new = sorted(file for file, seen in files.items() if self._proved.get(file) != seen)
        sums = {capture: _sums(capture / SUMS) for capture in dict.fromkeys(file.parent for file in new)}
        return [(file, known.get(file.name)) for file in new if (known := sums[file.parent]) is not None]


def has_sums(capture: Path) -> bool:
    """Whether anything can be proved of the capture in a directory."""
    return (capture / SUMS).exists()


def _sums(path: Path) -> dict[str, str] | None:
    """File name -> sum; None if none were put down.

    Raises DamagedStore if they are not what was written, StoreError if the machine does not let them be read.
    """
    try:
        if path.exists() and not path.is_file():
            raise OSError("no regular file")
        with limits_told(path):
            lines = path.read_text(encoding="ascii").splitlines()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise changed(path, str(error), "a readable list of sums") from error
    matches = [_LINE.fullmatch(line) for line in lines]
    sums = {match[2]: match[1] for match in matches if match}
    if len(sums) != len(lines) or not sums:
        raise changed(path, "another text", "a line of SHA-256 and name for each table")
    return sums


def _wrong(file: Path, expected: str | None) -> DamagedStore | None:
    if expected is None:
        return changed(file, "a file that came later", f"the tables that {SUMS} lists only")
    try:
        with limits_told(file):
            found = _sum_of(file)
    except OSError as error:
        return changed(file, error.strerror or str(error), "a readable file")
    if found == expected:
        return None
    return changed(file, f"another content ({found[:_SHOWN]}...)", f"what was written (SHA-256 {expected[:_SHOWN]}...)")


def _sum_of(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def changed(file: Path, found: str, expected: str) -> DamagedStore:
    """The error that names a file of a capture, and what to do."""
    store, capture = file.parent.parent, file.parent.name.removeprefix("capture=")
    remove = f"storscope store remove --store {shlex.quote(str(store))} {capture}"
    return DamagedStore(
        expected,
        found,
        where=str(file),
        hint=f"Take that capture out ({remove}); then import it again, or measure or simulate again what it holds. "
        "`storscope store check` looks at all of them.",
    )
