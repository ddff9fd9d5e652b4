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
        folder, _, name = evidence.name.rpartition("/")
        copy = self.directory / str(self._count)
        copy.write_bytes(evidence.path.read_bytes())
        self._found.setdefault((importer.name, folder), []).append((name, copy))
        self._bytes += evidence.size_bytes
        self._count += 1
        return True

    def joined(self) -> Iterator[tuple[Evidence, str]]:
        """What the parts of each folder are together, with the name of their importer; one alone as it was."""
        for (importer, folder), parts in self._found.items():
            before = f"{folder}/" if folder else ""
            first, copy = parts[0]
            if len(parts) == 1:
                yield Evidence(copy, f"{before}{first}"), importer
                continue
            whole = self.directory / "whole"
            near = folder.rpartition("/")[2]
            texts = (_with_name(f"{near}/{name}" if near else name, part) for name, part in parts)
            whole.write_text("".join(texts), encoding="utf-8")
            yield Evidence(whole, f"{before}{first} and {len(parts) - 1:,} more"), importer


def _with_name(name: str, part: Path) -> str:
    shown = "".join(letter if letter.isprintable() else "?" for letter in name)
    return f"# {shown}\n{Evidence(part, name).text().strip()}\n"
