"""Opens a trace and finds its reader."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from storscope.domain.errors import MalformedInput, UnknownFormat, UsageError
from storscope.domain.text_kinds import TRACE, mistaken
from storscope.sim.traces import blkparse, drive_trace, fio_iolog, trace_csv
from storscope.sim.traces.trace import Trace, is_passed_over

_Reader = tuple[Callable[[str], bool], Callable[[str, Iterable[str]], Trace]]
_READERS: Final[tuple[_Reader, ...]] = (
    (drive_trace.recognise, drive_trace.read),
    (blkparse.recognise, blkparse.read),
    (fio_iolog.recognise, fio_iolog.read),
    (trace_csv.recognise, trace_csv.read),
)
_LARGEST_BYTES = 4 << 30
_HINT = (
    "Known are the drive traces of DiskSim (R Hit 7563004 4 14368.0 28778.0), the text of blkparse, fio's "
    "iolog (--write_iolog), and CSV with a heading such as time_s,op,offset_bytes,length_bytes."
)


def read_trace(path: str | Path) -> Trace:
    """The trace in a file. UsageError if it cannot be read, InputError if it is none or breaks off."""
    path = Path(path)
    try:
        if path.stat().st_size > _LARGEST_BYTES:
            raise UsageError("a trace of at most 4 GiB", f"{path.stat().st_size} bytes", where=str(path))
        content = path.read_bytes()
    except OSError as error:
        raise UsageError("a file that can be read", error.strerror or str(error), where=str(path)) from error
    except ValueError as error:  # a NUL in the name
        raise UsageError("a path", repr(str(path))[:80]) from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise MalformedInput("text in UTF-8", f"byte {error.object[error.start]:#04x} at {error.start}",
                             where=str(path)) from error  # fmt: skip
    return trace_from_text(text, str(path))


def trace_from_text(text: str, where: str) -> Trace:
    """The trace in a text."""
    first = next((line for line in _lines(text) if not is_passed_over(line)), "")
    for recognises, read in _READERS:
        if recognises(first):
            return read(where, _lines(text))
    if another := mistaken(text, where, TRACE):
        raise UnknownFormat(another.expected, another.found, where=where, hint=another.hint)
    raise UnknownFormat("a block trace", repr(first.strip()[:80]), where=where, hint=_HINT)


def _lines(text: str) -> Iterator[str]:
    """Its lines one by one: a StringIO would hold all of them once more, in four bytes for each letter."""
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield text[start:end]
        start = end
