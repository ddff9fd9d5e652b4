"""What a file is that no importer recognises but another command reads: a workload, a design, a block trace.

Told by the head of the file alone, since a folder may hold many; whether the rest can be read, that command says.
"""

from __future__ import annotations

from storscope.domain.text_kinds import text_kind


def not_evidence(head: str) -> str | None:
    """'is a fio job, no evidence (see: storscope workload show FILE)'; None for what storscope does not read."""
    kind = text_kind(head)
    return None if kind is None else f"is {kind.words}, no evidence (see: {kind.alone})"
