"""Which workload runs on which volumes of a design: several workloads become one, with streams on named targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from storscope.domain.access import Copy
from storscope.domain.errors import ConfigError, UsageError
from storscope.domain.workload import Stream, Workload


@dataclass(frozen=True)
class Attachment:
    """A volume as one host sees it: what a workload can be sent to."""

    host: str
    volume: str
    size_bytes: int

    @property
    def name(self) -> str:
        """`host/volume`, unique in a design."""
        return f"{self.host}/{self.volume}"

    def matches(self, pattern: str) -> bool:
        """Whether `host/volume` or the volume's name alone fits a pattern with `*` and `?`."""
        return fnmatchcase(self.name, pattern) or fnmatchcase(self.volume, pattern)


@dataclass(frozen=True)
class Assignment:
    """A workload and where it runs.

    `pattern` chooses attachments; None is all. `target_names` are the names that the workload's own file gives its
    targets, each a pattern that fits exactly one attachment; then `pattern` is not needed.
    """

    workload: Workload
    pattern: str | None = None
    target_names: tuple[str, ...] = ()


def assigned(assignments: Sequence[Assignment], attachments: Sequence[Attachment]) -> Workload:
    """One workload on the design's attachments, whose indices its streams name.

    Data and verification are of no effect in a simulation and are those of the first. UsageError for a pattern that
    fits nothing, ConfigError for a stream on a target that there is not.
    """
    if not assignments:
        raise UsageError("at least one workload", "none")
    streams = [stream for assignment in assignments for stream in _streams(assignment, attachments)]
    first = assignments[0].workload
    name = " + ".join(dict.fromkeys(assignment.workload.name for assignment in assignments))
    several = len(assignments) > 1
    return replace(
        first, name=name, streams=_distinct(streams) if several else tuple(streams),
        source=first.source if not several else None,
    )  # fmt: skip


def _streams(assignment: Assignment, attachments: Sequence[Attachment]) -> list[Stream]:
    indices = _chosen(assignment, attachments)
    label = assignment.workload.name
    return [
        _moved(replace(stream, name=stream.name or label), position, indices, label)
        for position, stream in enumerate(assignment.workload.streams)
    ]


def _chosen(assignment: Assignment, attachments: Sequence[Attachment]) -> list[int]:
    """The attachments that the workload's indices count."""
    if assignment.pattern is None and assignment.target_names:
        return [_named_by_file(name, attachments) for name in assignment.target_names]
    if assignment.pattern is None:
        return list(range(len(attachments)))
    return fitting(assignment.pattern, attachments)


def _named_by_file(name: str, attachments: Sequence[Attachment]) -> int:
    """As `single`; most files name devices, which no design has."""
    try:
        return single(name, attachments)
    except UsageError as error:
        elsewhere = "A file that names its targets runs elsewhere by --workload VOLUME=FILE, from Python by a mapping."
        raise UsageError(error.expected, error.found, hint=f"{error.hint} {elsewhere}") from None


def fitting(pattern: str, attachments: Sequence[Attachment]) -> list[int]:
    """The indices of the attachments that a pattern fits. UsageError if there is none."""
    found = [index for index, attachment in enumerate(attachments) if attachment.matches(pattern)]
    if not found:
        names = ", ".join(attachment.name for attachment in attachments[:8])
        raise UsageError("a volume of the design, as VOLUME or HOST/VOLUME", repr(pattern), hint=f"It has: {names}.")
    return found


def sizes_of(patterns: Sequence[str], attachments: Sequence[Attachment]) -> tuple[int, ...]:
    """Bytes of each attachment that fits one of the patterns; of all without a pattern."""
    indices = [index for one in patterns for index in fitting(one, attachments)]
    return tuple(attachments[index].size_bytes for index in indices or range(len(attachments)))


def single(name: str, attachments: Sequence[Attachment]) -> int:
    """The index of the one attachment that a pattern fits. UsageError if it is none or several."""
    found = fitting(name, attachments)
    if len(found) > 1:
        names = ", ".join(attachments[index].name for index in found[:8])
        raise UsageError("a name of one volume", f"{name!r}, which fits {names}", hint="Write HOST/VOLUME.")
    return found[0]


def _moved(stream: Stream, position: int, indices: list[int], workload: str) -> Stream:
    def index_of(target: int, key: str) -> int:
        if target >= len(indices):
            where = f"workload {workload}: streams[{position}].{key}"
            raise ConfigError(f"the index of one of {len(indices)} volumes", str(target), where=where)
        return indices[target]

    targets = tuple(index_of(target, "targets") for target in stream.targets) or tuple(indices)
    access = stream.access
    if isinstance(access, Copy):
        access = replace(access, destination=index_of(access.destination, "copy.destination"))
    return replace(stream, access=access, targets=targets)


def _distinct(streams: list[Stream]) -> tuple[Stream, ...]:
    """Streams of the same name get numbers, so that each can be told from the others."""
    seen: dict[str, int] = {}
    distinct = []
    for stream in streams:
        seen[stream.name] = seen.get(stream.name, 0) + 1
        number = seen[stream.name]
        distinct.append(stream if number == 1 else replace(stream, name=f"{stream.name} {number}"))
    return tuple(distinct)
