"""Files that are parts of one capture: an answer for each metric, which make sense together only.

Which files are parts the importer says (`Importer.is_part`). Those of one folder, or of one folder of an archive,
become one file: each behind a line `# FOLDER/NAME`, since these may tell what it is of. Where a file of another format
names some of them as its own (`Importer.beside`), these stand behind it, and it is read with them. Members of archives
are kept in a temporary directory until every file was seen. What is too much for one file is read by itself.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from storscope.sources.evidence import Evidence
from storscope.sources.importer import Importer

_MOST_BYTES: Final = 256 * 1024**2
"""Of what is one file; a year of minutes of one metric has some 50 MB."""
_MOST_COPIED_BYTES: Final = 2 * 1024**3
"""Of all members of archives that are kept."""


@dataclass(frozen=True)
class Part:
    """A file or a copy of it, and what it was called."""

    folder: str
    name: str
    copy: Path
    size_bytes: int

    @property
    def label(self) -> str:
        """What a person knows it by."""
        return f"{self.folder}{self.name}"


@dataclass(frozen=True)
class _Leader:
    """A file that may have parts of another format beside it."""

    part: Part
    importer: str
    is_beside: Callable[[str], bool]

    def leads(self, part: Part) -> bool:
        return part.folder.startswith(self.part.folder) and self.is_beside(part.label[len(self.part.folder) :])


@dataclass(frozen=True)
class Joined:
    """One or more files as one, and the importer that reads it."""

    evidence: Evidence
    importer: str
    leader: Part | None = None
    """What others are beside, if they are: they can be read apart, too."""
    apart: tuple[Path, ...] = ()
    """The leader and the others, as each would be by itself."""


@dataclass
class Parts:
    """Takes parts one by one, and gives what they are together."""

    directory: Path
    _found: dict[tuple[str, str], list[Part]] = field(default_factory=dict)
    """Importer and folder -> each part."""
    _leaders: list[_Leader] = field(default_factory=list)
    _refused: set[Part] = field(default_factory=set)
    """Leaders that could not be read with their parts."""
    _copied_bytes: int = 0
    _count: int = 0

    def take(self, evidence: Evidence, importer: Importer) -> bool:
        """Keeps a file if it is a part, or may have some; False where it is to be read by itself."""
        if evidence.size_bytes > _MOST_BYTES or self._copied_bytes + evidence.size_bytes > _MOST_COPIED_BYTES:
            return False
        if importer.is_part is not None and importer.is_part(evidence.head):
            part = self._kept(evidence)
            self._found.setdefault((importer.name, part.folder), []).append(part)
            return True
        as_new = Evidence(evidence.path, evidence.name)  # it counts what it decodes
        if importer.beside is not None and (is_beside := importer.beside(as_new)) is not None:
            self._leaders.append(_Leader(self._kept(evidence), importer.name, is_beside))
            return True
        return False

    def joined(self) -> Iterator[Joined]:
        """What the parts of each folder are together; one alone as it was.

        What has others beside it comes first, with these behind it. A part that two have is beside neither.
        """
        led: set[Path] = set()
        beside: dict[Part, list[Part]] = {leader.part: [] for leader in self._leaders}
        for part in (part for parts in self._found.values() for part in parts):
            leaders = [leader.part for leader in self._leaders if leader.leads(part)]
            if len(leaders) == 1 and leaders[0] not in self._refused:
                beside[leaders[0]].append(part)
        for leader in self._leaders:
            others = beside[leader.part]
            is_one = bool(others) and _bytes_of([leader.part, *others]) <= _MOST_BYTES
            if is_one:
                apart = (leader.part.copy, self._whole(others, "others").path)
                yield Joined(self._whole([leader.part, *others], leads=True), leader.importer, leader.part, apart)
            if not is_one or leader.part in self._refused:
                yield Joined(self._whole([leader.part]), leader.importer)
            else:
                led |= {part.copy for part in others}
        for (importer, _), parts in self._found.items():
            for together in _up_to_most([part for part in parts if part.copy not in led]):
                yield Joined(self._whole(together), importer)

    def refuse(self, leader: Part) -> None:
        """Says that a file and those beside it could not be read: they come apart, so that no good one is lost."""
        self._refused.add(leader)

    def _kept(self, evidence: Evidence) -> Part:
        """As it is where it lies; a copy of what is there for a moment only, as a member of an archive is."""
        copy = evidence.path
        if str(copy) != evidence.name:
            copy = self.directory / str(self._count)
            shutil.copyfile(evidence.path, copy)
            self._copied_bytes += evidence.size_bytes
            self._count += 1
        return Part(*_folder_and_name(evidence.name), copy, evidence.size_bytes)

    def _whole(self, parts: Sequence[Part], file: str = "whole", *, leads: bool = False) -> Evidence:
        first, *others = parts
        if not others:
            return Evidence(first.copy, first.label)
        begin = f"{Evidence(first.copy, first.name).text().rstrip()}\n" if leads else _with_name(first)
        whole = self.directory / file
        whole.write_text(begin + "".join(_with_name(part) for part in others), encoding="utf-8")
        return Evidence(whole, f"{first.label} and {len(others):,} more")


def _bytes_of(parts: Sequence[Part]) -> int:
    return sum(part.size_bytes for part in parts)


def _up_to_most(parts: Sequence[Part]) -> Iterator[list[Part]]:
    """As many as may be one file; what is too much for that is read by itself."""
    together: list[Part] = []
    alone: list[Part] = []
    size_bytes = 0
    for part in parts:
        fits = size_bytes + part.size_bytes <= _MOST_BYTES
        (together if fits else alone).append(part)
        size_bytes += part.size_bytes if fits else 0
    yield from ([together] if together else [])
    yield from ([part] for part in alone)


def _folder_and_name(name: str) -> tuple[str, str]:
    """The folder with what ends it, and the file: 'a/' and 'b.log', or 'dump.zip: ' and 'b.log'."""
    end = max(name.rfind("/") + 1, name.rfind(": ") + 2 if ": " in name else 0)
    return name[:end], name[end:]


def _nearest(folder: str) -> str:
    """The last of some folders, 'b/' of 'a/b/'; none of an archive."""
    return f"{folder[:-1].rpartition('/')[2]}/" if folder.endswith("/") else ""


def _with_name(part: Part) -> str:
    shown = "".join(letter if letter.isprintable() else "?" for letter in f"{_nearest(part.folder)}{part.name}")
    return f"# {shown}\n{Evidence(part.copy, part.name).text().strip()}\n"
