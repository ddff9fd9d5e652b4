"""The pieces of pasted ESXi output: shell prompts, and records of `Key: value` lines.

A record survives what copying does to it: lost indentation, lost or doubled blank lines. It starts at a line that
names a thing (`vmhba36:`, `naa...`, `vSwitch0`), or where a key comes back; a blank line ends it unless every line is
followed by one.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field

_TOOLS = r"(?:localcli|esxcli|esxcfg-\w+|vicfg-\w+|vmkiscsi-tool|vsish|vmkping|vmware|esxtop|vim-cmd|vmkchdev|cat|ls)\b"
_PROMPTS = tuple(
    re.compile(pattern)
    for pattern in (
        r"\[\w+@(?P<host>[\w.-]+)[: ][^\]]*\]\s*[#$]?\s*(?P<command>.*)",  # [root@esx01:~] esxcli ...
        r"[\w.-]+@[\w.-]+:\S*\[(?P<host>[\w.-]+)\]>\s*(?P<command>.*)",  # vi-admin@vma:~[esx01]> esxcli ...
        r"\w+@(?P<host>[\w.-]+):\S*\s*[#$]\s*(?P<command>.*)",  # root@esx01:~# esxcli ...
        r"(?:~|/\S*)\s*[#$]\s*(?P<command>.*)",  # ~ # esxcli ...
        r"(?P<command>/\S*>\s*\w.*)",  # the shell of vsish
        rf"[#$>]\s*(?P<command>{_TOOLS}.*)",
        rf"(?P<command>{_TOOLS}(?:\s.*)?)",
    )
)
_KEY_VALUE = re.compile(r"([A-Za-z][^:]{0,60}?)\s*:(?:\s+(.*))?")
_ID = r"(?:naa|eui|t10|mpx|vml|nvme)\."
_HEADS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?P<name>{_ID}\S+?):?",
        rf"[^:]*\((?P<name>{_ID}[^)]+)\):?",  # EQLOGIC iSCSI Disk (naa....)
        rf"(?P<name>\S+-{_ID}\S+?):?",  # the UID of a path
        r"(?P<name>(?:fc|fcoe|iqn|sas|usb|sata|pscsi|ide|nvme|unknown)\.\S+?):?",
        r"(?P<name>vmhba\d+,\S+)",  # a session or a connection
        r"(?P<name>(?:vmhba|vmk|vmnic)\d+):?",
        r"(?P<name>vSwitch\w+):?",
    )
)


@dataclass(frozen=True, slots=True)
class Prompt:
    """What was typed, and on which host where the prompt shows it."""

    host: str | None
    command: str


def parse_prompt(line: str) -> Prompt | None:
    """The prompt and command of a line; None for a line of output."""
    for pattern in _PROMPTS:
        if match := pattern.fullmatch(line.strip()):
            host = match.groupdict().get("host")
            return Prompt(None if host == "localhost" else host, match["command"].strip())
    return None


def option(command: str | None, *names: str) -> str | None:
    """The value of an option in a command: option('x -p "VM Network"', '-p') is 'VM Network'."""
    try:
        words = shlex.split(command or "")
    except ValueError:
        words = (command or "").split()
    for place, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in names:
            return value if equals else next(iter(words[place + 1 :]), None)
    return None


@dataclass
class Record:
    """A named block of `Key: value` lines. Keys compare without case; empty values are absent."""

    name: str | None = None
    pairs: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Lower-case key -> (key, value)."""
    used: set[str] = field(default_factory=set)
    blank_after_first: bool = False

    def __contains__(self, key: str) -> bool:
        return key.lower() in self.pairs

    def take(self, *keys: str) -> str | None:
        """The first non-empty value of `keys`; they count as used."""
        found = None
        for key in keys:
            self.used.add(key.lower())
            value = self.pairs.get(key.lower(), ("", ""))[1]
            found = found or value or None
        return found

    def rest(self) -> Iterator[tuple[str, str]]:
        """The pairs nobody took, under the source's own names; empty values left out."""
        return ((key, value) for low, (key, value) in self.pairs.items() if low not in self.used and value)

    def ends_at_blank(self) -> bool:
        """Asked at a blank line. One after the first pair means that the text is double-spaced."""
        if len(self.pairs) == 1:
            self.blank_after_first = True
        return len(self.pairs) > 1 and not self.blank_after_first


def key_value(line: str) -> tuple[str, str] | None:
    """Key and value of a line, both stripped; None when it has another shape."""
    match = _KEY_VALUE.fullmatch(line.strip())
    return (match[1], (match[2] or "").strip()) if match else None


def record_name(line: str) -> str | None:
    """The thing a line names when it is the head of a record."""
    for pattern in _HEADS:
        if match := pattern.fullmatch(line.strip()):
            return match["name"]
    return None


def boolean(text: str | None) -> bool | None:
    """True, false or neither."""
    return {
        "true": True,
        "yes": True,
        "1": True,
        "up": True,
        "false": False,
        "no": False,
        "0": False,
        "down": False,
    }.get((text or "").strip().lower())


def integer(text: str | None) -> int | None:
    """A non-negative whole number, or None."""
    match = re.fullmatch(r"\s*(\d{1,18})\s*", text or "")
    return int(match[1]) if match else None


def names(text: str | None) -> list[str]:
    """The parts of a comma-separated list."""
    return [part.strip() for part in (text or "").split(",") if part.strip()]
