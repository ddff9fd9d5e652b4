"""Designs: read from TOML by the core, strictly; a schedule (schedule.py) adds what changes during a run.

The form is described in docs/simulate.md. Errors name the file, the line and the key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from storscope import _core
from storscope.domain.errors import ConfigError
from storscope.domain.text_kinds import DESIGN, mistaken
from storscope.sim.assignment import Attachment
from storscope.sim.group_space import GroupSpace, group_spaces
from storscope.sim.schedule import Lifetime, Schedule
from storscope.sim.text_file import check_text, text_of

_AT = re.compile(r"^\s*\[\[\s*at\s*\]\]", re.MULTILINE)
_INDEX = re.compile(r"^at\[(\d+)\]")
_IN_LINE = re.compile(r"(?<= in line )\d+$")


@dataclass(frozen=True)
class Design:
    """A design that was read and checked."""

    form: Mapping[str, Any]
    """As crates/storscope-types/src/design has it, in JSON."""
    attachments: tuple[Attachment, ...]
    spaces: tuple[GroupSpace, ...]
    """What each group holds."""
    text: str
    """As it was written, for the record."""
    where: str
    lifetimes: Mapping[str, Lifetime] = field(default_factory=dict)
    """By the streams' names, from the schedule."""

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.form["name"])

    def __repr__(self) -> str:
        """A line, for notebooks; `form` has everything."""
        volumes = len({one.volume for one in self.attachments})
        parts = ((len(self.spaces), "group"), (volumes, "volume"))
        counted = ", ".join(f"{count} {what}{'' if count == 1 else 's'}" for count, what in parts)
        return f"<Design {self.name!r} from {self.where}: {counted}>"

    def __hash__(self) -> int:
        """So that what was simulated can be kept by design: mappings that it has have no hash."""
        return hash((self.text, self.where))


def read_design(text: str, where: str, schedule: Schedule | None = None) -> Design:
    """A design from its text. Raises ConfigError with line and key."""
    check_text(text, where)
    body = text if text.endswith("\n") else text + "\n"
    whole = body + (schedule.changes if schedule else "")
    try:
        found = json.loads(_core.read_design(whole))
    except _core.DesignError as error:
        raise mistaken(text, where, DESIGN) or _config_error(error.args, body, where, schedule) from None
    attachments = tuple(Attachment(**attachment) for attachment in found["attachments"])
    spaces = group_spaces(found["design"], found["shapes"])
    return Design(found["design"], attachments, spaces, text, where, schedule.lifetimes if schedule else {})


def load_design(source: str | Path, schedule: Schedule | None = None) -> Design:
    """The design in a file, or the text itself when it has several lines.

    Raises UsageError for a file that is not there, ConfigError for content that makes no sense.
    """
    if isinstance(source, str) and "\n" in source:
        return read_design(source, "the text", schedule)
    return read_design(text_of(Path(source)), str(source), schedule)


def _config_error(
    said: tuple[int | None, int | None, str, str, str, str | None], text: str, where: str, schedule: Schedule | None
) -> ConfigError:
    """Of a design and its schedule, which the core has read as one text: changes of the schedule count from its own."""
    line, column, key, expected, found, hint = said
    lines = text.count("\n")
    if schedule is not None and line is not None and line > lines:
        where, line = schedule.where, line - lines
        key = _INDEX.sub(lambda index: f"at[{int(index[1]) - len(_AT.findall(text))}]", key)
        found = _IN_LINE.sub(lambda other: str(int(other[0]) - lines), found)
    place = where if line is None else f"{where}:{line}:{column}"
    return ConfigError(expected, found, where=f"{place}: {key}" if key else place, hint=_sentence(hint))


def _sentence(hint: str | None) -> str:
    return "" if not hint else hint[0].upper() + hint[1:]
