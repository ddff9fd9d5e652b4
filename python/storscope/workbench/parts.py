"""Files that are parts of one capture: an answer for each metric, which make sense together only.

Which files are parts the importer says (`Importer.is_part`). Those of one folder, or of one folder of an archive,
become one file: each behind a line `# FOLDER/NAME`, since these may tell what it is of. They are kept in a temporary
directory until all are there; what is too much for that is read by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from storscope.sources.evidence import Evidence
from storscope.sources.importer import Importer

_MOST_BYTES: Final = 256 * 1024**2
"""Of all parts together; a year of minutes of one metric has some 50 MB."""


@dataclass
class Parts:
    """Takes parts one by one, and gives what they are together."""

    directory: Path
    _found: dict[tuple[str, str], list[tuple[str, Path]]] = field(default_factory=dict)
    """Importer and folder -> name and copy of each part."""
    _bytes: int = 0
    _count: int = 0

    def take(self, evidence: Evidence, importer: Importer) -> bool:
        """Keeps a file if it is a part; False where it is to be read by itself."""
        if importer.is_part is None or not importer.is_part(evidence.head):
            return False
        if self._bytes + evidence.size_bytes > _MOST_BYTES:
            return False
        folder, name = _folder_and_name(evidence.name)
        copy = self.directory / str(self._count)
        copy.write_bytes(evidence.path.read_bytes())
        self._found.setdefault((importer.name, folder), []).append((name, copy))
        self._bytes += evidence.size_bytes
        self._count += 1
        return True

    def joined(self) -> Iterator[tuple[Evidence, str]]:
        """What the parts of each folder are together, with the name of their importer; one alone as it was."""
        for (importer, folder), parts in self._found.items():
            first, copy = parts[0]
            if len(parts) == 1:
                yield Evidence(copy, f"{folder}{first}"), importer
                continue
            whole = self.directory / "whole"
            near = _nearest(folder)
            whole.write_text("".join(_with_name(f"{near}{name}", part) for name, part in parts), encoding="utf-8")
            yield Evidence(whole, f"{folder}{first} and {len(parts) - 1:,} more"), importer


def _folder_and_name(name: str) -> tuple[str, str]:
    """The folder with what ends it, and the file: 'a/' and 'b.log', or 'dump.zip: ' and 'b.log'."""
    end = max(name.rfind("/") + 1, name.rfind(": ") + 2 if ": " in name else 0)
    return name[:end], name[end:]


def _nearest(folder: str) -> str:
    """The last of some folders, 'b/' of 'a/b/'; none of an archive."""
    return f"{folder[:-1].rpartition('/')[2]}/" if folder.endswith("/") else ""


def _with_name(name: str, part: Path) -> str:
    shown = "".join(letter if letter.isprintable() else "?" for letter in name)
    return f"# {shown}\n{Evidence(part, name).text().strip()}\n"
