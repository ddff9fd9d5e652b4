"""What a file is that no importer recognises but another command reads: a workload, a design, a block trace.

Told by the head of the file alone, since a folder may hold many; whether the rest can be read, that command says.
"""

from __future__ import annotations

import re
from typing import Final

_WORKLOAD: Final = (
    r"^[ \t]*\[\[[ \t]*(?:workload\.)?(?:stream|workload)[ \t]*\]\](?:[^\n]*\n)*?[ \t]*"
    r"(?:\[\[?[ \t]*(?:workload\.)?stream|stream|line|copy|outstanding|rate_per_s|steps)\b"
)
"""The TOML form; streams of a schedule say nothing but when."""
_FIO_JOB: Final = r"^\[[^\[\]\n]+\][ \t]*\r?\n(?:[^\n]*\n){0,20}?[ \t]*(?:rw|readwrite|ioengine|bs|filename)[ \t]*="
_TRACE: Final = (
    r"\A(?:#[^\n]*\n)*(?:[RW][ \t]+\S+(?:[ \t]+\d+){2}(?:[ \t]+\d+\.\d+){2}|"
    r"[ \t]*\d+,\d+ +\d+ +\d+ +\d+\.\d+ +\d+ +[A-Z]+ )"
)
_KINDS: Final = (
    # what it is, a pattern that its text has and evidence does not, the command that reads it
    ("a design", r"^[ \t]*\[\[[ \t]*groups?[ \t]*\]\]", "storscope simulate FILE --check"),
    ("a workload", _WORKLOAD, "storscope workload show FILE"),
    ("an Iometer configuration", r"\A\s*(?:(?i:version)\s+\d[^\n]*\n\s*)?'TEST SETUP", "storscope workload show FILE"),
    ("a fio job", _FIO_JOB, "storscope workload show FILE"),
    ("a block trace", _TRACE, "storscope fit drive FILE, or simulate --trace FILE"),
)


def not_evidence(head: str) -> str | None:
    """'is a fio job, no evidence (see: storscope workload show FILE)'; None for what storscope does not read."""
    for what, pattern, command in _KINDS:
        if re.search(pattern, head, re.MULTILINE):
            return f"is {what}, no evidence (see: {command})"
    return None
