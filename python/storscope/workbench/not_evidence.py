"""What a file is that no importer recognises but another command reads or wrote: a workload, a design, a result.

Told by the head of the file alone, since a folder may hold many; whether the rest can be read, that command says.
"""

from __future__ import annotations

import re
from typing import Final

from storscope.domain.text_kinds import text_kind

_RESULT: Final = re.compile(r'\A\s*\{\s*"format":\s*\d+,\s*"capture":\s*(?:null|"[0-9a-f]*"),\s*"run":\s*"([\w-]+)"')
"""What `bench` and `simulate` print with --json (docs/bench-json.md)."""


def not_evidence(head: str) -> str | None:
    """'is a fio job, no evidence (see: storscope workload show FILE)'; None for what storscope does not read."""
    if result := _RESULT.match(head):
        return (
            "is a result that storscope printed with --json, for programs; the run itself is in the store that it was "
            f"written to: run={result[1]} with --store DIR"
        )
    kind = text_kind(head)
    return None if kind is None else f"is {kind.words}, no evidence (see: {kind.alone})"
