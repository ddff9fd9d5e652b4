"""What a text of a user is: a design, a workload, a schedule, a block trace. One is easily given in another's place.

Told by its form alone, from its first 64 KiB; whether the rest can be read, its reader says.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from storscope.domain.errors import ConfigError

_HEAD: Final = 1 << 16


def _has(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern, re.MULTILINE)
    return lambda text: compiled.search(text) is not None


_is_design = _has(r"^[ \t]*\[\[[ \t]*(?:groups?|volumes?|hosts?)[ \t]*\]\]|^[ \t]*groups?[ \t]*=[ \t]*\[")
_has_streams = _has(r"^[ \t]*\[\[[ \t]*(?:workload|(?:workload\.)?stream)[ \t]*\]\]|^[ \t]*stream[ \t]*=[ \t]*\[")
_has_lines = _has(r"^[ \t]*\[\[?[ \t]*(?:workload\.)?stream\.(?:line|copy)\b|(?:^|[{,])[ \t]*(?:line|copy)[ \t]*=")
_has_load = _has(r"^[ \t]*\[\[[ \t]*workload[ \t]*\]\]|(?:^|[{,])[ \t]*(?:outstanding|rate_per_s|steps)[ \t]*=")
_has_changes = _has(r"^[ \t]*\[\[[ \t]*at[ \t]*\]\]")
_has_times = _has(r"^[ \t]*(?:start|end)[ \t]*=")
_is_json_workload = _has(r'\A\s*\{[^\0]*"streams"[ \t]*:')
_is_icf = _has(r"\A\s*(?:(?i:version)\s+\d[^\n]*\n\s*)?'TEST SETUP")
_is_fio_job = _has(r"^\[[^\[\]\n]+\][ \t]*\r?\n(?:[^\n]*\n){0,20}?[ \t]*(?:rw|readwrite|ioengine|bs|filename)[ \t]*=")
_is_trace = _has(
    r"\A(?:#[^\n]*\n)*(?:[RW][ \t]+\S+(?:[ \t]+\d+){2}(?:[ \t]+\d+\.\d+){2}|"
    r"[ \t]*\d+,\d+ +\d+ +\d+ +\d+\.\d+ +\d+ +[A-Z]+ |"
    r"(?=[^\n]*\btime_(?:s|ms|us|ns)\b)(?=[^\n]*\bop\b)[^\n]*\boffset_)"
)
_is_iolog = _has(r"\A[ \t]*fio version \d+ iolog\b")


def _is_schedule(text: str) -> bool:
    """It says of streams when they run, and nothing of what they do."""
    return not _has_lines(text) and (_has_changes(text) or (_has_streams(text) and _has_times(text)))


def _is_workload(text: str) -> bool:
    return (_has_streams(text) and (_has_lines(text) or _has_load(text))) or _is_json_workload(text)


@dataclass(frozen=True)
class TextKind:
    """What a text may be."""

    words: str
    belongs: str
    """How to use it with the command that takes it, which is in `command`; FILE is its path."""
    command: str
    alone: str
    """The command that reads it alone."""

    @property
    def is_workload(self) -> bool:
        """Whether it can be given where a workload is."""
        return self in (WORKLOAD, ICF, FIO_JOB)


_ON_DESIGN: Final = "storscope simulate DESIGN.toml --workload FILE"
DESIGN: Final = TextKind(
    "a design", "A design is simulated under a workload", "storscope simulate FILE --workload NAME",
    "storscope simulate FILE --check",
)  # fmt: skip
SCHEDULE: Final = TextKind(
    "a schedule", "A schedule changes a design or a workload during a run",
    "storscope simulate DESIGN.toml --workload NAME --schedule FILE",
    "storscope simulate DESIGN.toml --schedule FILE --check",
)  # fmt: skip
WORKLOAD: Final = TextKind("a workload", "A workload runs on a design", _ON_DESIGN, "storscope workload show FILE")
ICF: Final = TextKind(
    "an Iometer configuration", "It is a workload, which runs on a design", _ON_DESIGN, "storscope workload show FILE"
)
FIO_JOB: Final = TextKind(
    "a fio job", "It is a workload, which runs on a design", _ON_DESIGN, "storscope workload show FILE"
)
TRACE: Final = TextKind(
    "a block trace", "A trace is replayed on a design", "storscope simulate DESIGN.toml --trace FILE",
    "storscope fit drive FILE, or simulate --trace FILE",
)  # fmt: skip
IOLOG: Final = TextKind(
    "an iolog of fio", "It is a trace, which is replayed on a design", TRACE.command,
    "storscope simulate DESIGN.toml --trace FILE; it tells nothing of how long I/Os took",
)  # fmt: skip
_KINDS: Final = (
    (DESIGN, _is_design), (SCHEDULE, _is_schedule), (WORKLOAD, _is_workload), (ICF, _is_icf),
    (FIO_JOB, _is_fio_job), (TRACE, _is_trace), (IOLOG, _is_iolog),
)  # fmt: skip


def text_kind(text: str) -> TextKind | None:
    """What a text is; None for what has none of these forms."""
    head = text[:_HEAD].replace("\r\n", "\n")
    return next((kind for kind, fits in _KINDS if fits(head)), None)


def mistaken(text: str, where: str, wanted: TextKind) -> ConfigError | None:
    """What to say of a text that is given in the place of another kind; None if it is of that kind, or of none."""
    found = text_kind(text)
    if found is None or found is wanted or (found.is_workload and wanted.is_workload):
        return None
    path = shlex.quote(where) if where != "the text" else "FILE"
    hint = f"{found.belongs}: {found.command.replace('FILE', path)}"
    return ConfigError(wanted.words, f"{found.words} file", where=where, hint=hint)
