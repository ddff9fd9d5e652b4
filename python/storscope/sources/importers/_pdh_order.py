"""Whether the dates of a PDH-CSV have the day first.

The tools write MM/DD/YYYY whatever the locale; a spreadsheet that saved the file again may write DD/MM/YYYY. What the
file tells is told by `_stamps.py` from all stamps of a small file, and of a large one from stamps at even distances
(each row may be a megabyte wide) and the last: a date that only rows between two of them have goes unseen.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from storscope.sources.importer import ImportOptions
from storscope.sources.importers._stamps import Stamps

_WHOLE_BYTES: Final = 4 * 1024**2
_PROBES: Final = 200
_LONGEST_ROW: Final = 8 * 1024**2
_START_BYTES: Final = 64
_STAMP: Final = re.compile(
    rb"\s*\"?(?P<date>\d{1,2}/\d{1,2}/\d{2,4}) +(?P<minute>\d{1,2}:\d\d)(?P<second>:\d\d)?(?:\.\d+)?"
    rb"(?P<half> ?[AP]M)?\"?\s*[,;\t]",
    re.IGNORECASE,
)


def learnt_stamps(path: Path, options: ImportOptions) -> Stamps:
    """What the stamps of the file at `path` (UTF-8) tell about their order; `path` has been read as such a file."""
    stamps = Stamps(options, glibc_habits=False)
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        for start in _row_starts(file, size):
            if match := _STAMP.match(start):
                words = match["date"] + b" " + match["minute"] + (match["second"] or b":00") + (match["half"] or b"")
                stamps.learn(words.decode("ascii"))
            elif b"(PDH-" in start:
                stamps.pause()
    return stamps


def _row_starts(file: BinaryIO, size: int) -> Iterator[bytes]:
    """The first bytes of rows, in the order of the file."""
    if size <= _WHOLE_BYTES:
        yield from (line[:_START_BYTES] for line in file)
        return
    for probe in range(_PROBES):
        file.seek(size * probe // _PROBES)
        if not file.readline(_LONGEST_ROW).endswith(b"\n"):
            return
        yield file.read(_START_BYTES)
    file.seek(max(0, size - _LONGEST_ROW))
    yield file.read().rstrip().rpartition(b"\n")[2][:_START_BYTES]
