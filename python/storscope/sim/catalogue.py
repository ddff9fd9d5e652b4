"""The catalogue of drives that designs may name, with the source of every number."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from storscope import _core


@dataclass(frozen=True)
class CatalogueEntry:
    """A drive or a class of drives."""

    form: Mapping[str, Any]
    """name, title, class, sources (what, where from, how known) and design, as plain JSON values."""

    @property
    def name(self) -> str:
        """As designs name it."""
        return str(self.form["name"])

    @property
    def title(self) -> str:
        """What it is."""
        return str(self.form["title"])

    @property
    def size_bytes(self) -> int:
        """Capacity."""
        return int(self.form["design"]["size_bytes"])

    @property
    def sources(self) -> list[str]:
        """A sentence for each group of numbers."""
        return [f"{one['what']}: {one['source']} ({one['origin']})" for one in self.form["sources"]]


def catalogue() -> list[CatalogueEntry]:
    """All of them, classes first."""
    return [CatalogueEntry(form) for form in json.loads(_core.drive_catalogue())]
