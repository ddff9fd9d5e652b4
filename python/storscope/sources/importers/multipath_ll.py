"""Linux `multipath -ll` (and -l): maps, path groups and paths, in the three dialects that are about.

    mpatha (3600...) dm-2 VENDOR,PRODUCT                       0.4.9 and later
    size=10G features='1 queue_if_no_path' hwhandler='1 alua' wp=rw
    |-+- policy='service-time 0' prio=50 status=active
    | `- 2:0:0:1 sdb 8:16 active ready running

    mpatha (3600...) dm-2 VENDOR,PRODUCT                       0.4.7 to 0.4.8 (RHEL 5)
    [size=10G][features=1 queue_if_no_path][hwhandler=0][rw]
    \\_ round-robin 0 [prio=1][active]
     \\_ 2:0:0:1 sdb 8:16 [active][ready]

    mpatha (3600...) [size=10 GB][features="0"][hwhandler="0"]  0.4.5 (RHEL 4), vendor and product on a second line

Layout: libmultipath/print.c and its format strings (`MULTIPATH_NAME`, `PRINT_PATH_LONG`) of multipath-tools 0.4.5 to
0.9. Path states in order of print: what device-mapper thinks (active, failed), what the checker thinks (ready, ghost,
faulty, shaky, ...), what SCSI thinks (running, offline).

Blanks, tabs and quotation marks (`> `) before lines are passed over: tickets, mails and reports put them there.
Noise is skipped and counted: dated messages, `reject:`, `create:`, warnings about configuration lines. A map without
paths is kept, with a warning. A map is named dm-N where the output says so, as iostat and the kernel name it. Several
outputs in one file describe the same maps again; what is the same is written once. The text names no host: --system
sets it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken
from storscope.sources.importers._linux_block import DEFAULT_LINUX_SYSTEM

_MAP = re.compile(
    r"(?:(?:create|reload|switchpg|resize|rename|unchanged|undef|: )+:? +)?"
    r"(?:(?P<blanks>[^\s()\[\]:|]+(?: +[^\s()\[\]:|]+)+)(?= +\()|(?P<name>[^\s()\[\]]+))"
    r"(?: +\((?P<wwid>[^()]+)\))? +(?P<dm>dm-\d+|undef) *(?P<product>[^\[\]]*?)(?P<rest>\[.*)?"
)
"""An alias may have blanks in it, but then its WWID follows; dated messages have colons."""
_OLD_MAP = re.compile(
    r"(?:(?P<name>[^\s()\[\]]+) +\((?P<wwid>[0-9A-Za-z_.:-]{10,})\)|(?P<bare>3[0-9a-f]{16,32})) *(?P<rest>\[size=.*)?"
)
_GROUP = re.compile(r"[|` ]*[-+`|]*[-+]+ policy='(?P<policy>[^']*)' prio=(?P<prio>-?\d+) status=(?P<status>\w+).*")
_OLD_GROUP = re.compile(r"\\_ (?P<policy>[a-z][a-z-]* \d+) *(?P<rest>(?:\[[^\]]*\])*).*")
_PATH = re.compile(
    r"[|` \\_+-]*?(?P<hctl>\d+:\d+:\d+:\d+|#:#:#:#) +(?P<device>\S+) +(?P<number>\d+:\d+|#:#) *(?P<states>.*)"
)
_PRODUCT_LINE = re.compile(r"[A-Za-z0-9][^=\[\]]*,[^=\[\]]*")
_SETTING = re.compile(r"(\w+)=('[^']*'|\"[^\"]*\"|\S+)")
_BRACKET = re.compile(r"\[([^\]]*)\]")
_SIZE = re.compile(r"([0-9]+(?:[.,][0-9]+)?) *([KMGTP]?)B?")

_DEAD: Final = {"failed", "faulty", "offline", "shaky", "timeout", "down", "dead", "transport-offline"}
_STANDBY: Final = {"ghost"}


_LONGEST_LINE: Final = 2_000
"""No line of multipath is longer; searching one would cost time without end."""
_NO_MAP: Final = "paths of maps whose heading is not understood"
_NOISE: Final = "lines that describe no map, group or path (messages, warnings, prompts)"


@dataclass
class _Path:
    hctl: str
    device: str
    states: list[str]

    @property
    def state(self) -> str | None:
        """'active', 'standby' or 'dead'; None when the output does not say (multipath -l: undef)."""
        if any(state in _DEAD for state in self.states):
            return "dead"
        if any(state in _STANDBY for state in self.states):
            return "standby"
        return "active" if "active" in self.states or "ready" in self.states else None


@dataclass
class _Group:
    policy: str
    status: str | None
    priority: float | None
    paths: list[_Path] = field(default_factory=list)


@dataclass
class _Map:
    name: str
    wwid: str | None
    dm: str | None
    product: str
    settings: dict[str, str] = field(default_factory=dict)
    groups: list[_Group] = field(default_factory=list)

    @property
    def paths(self) -> list[_Path]:
        return [path for group in self.groups for path in group.paths]


def _recognise(head: Head) -> float:
    lines = [_unindented(line) for line in head.lines if len(line) <= _LONGEST_LINE]
    maps = sum(1 for line in lines if _map(line))
    paths = sum(1 for line in lines if _PATH.fullmatch(line))
    groups = sum(1 for line in lines if _group(line))
    if not maps:
        return 0.0
    if groups and paths:
        return 0.95
    return 0.7 if any(line.startswith(("size=", "[size=")) for line in lines) else 0.0


def _unindented(line: str) -> str:
    """A line as multipath printed it, without what a ticket, a mail or a report put before it.

    What is lost with it tells nothing: groups and paths differ by their words.
    """
    return line.strip().lstrip("> \t")


def _map(line: str) -> _Map | None:
    match = _MAP.fullmatch(line) or _OLD_MAP.fullmatch(line)
    if match is None or line.startswith(("|", "`", "\\")):
        return None
    parts = match.groupdict()
    product = (parts.get("product") or "").strip()
    found = _Map(
        parts.get("blanks") or match["name"] or parts["bare"],
        match["wwid"],
        None if parts.get("dm") == "undef" else parts.get("dm"),
        "" if not product.strip(" ,#") else product,
    )
    found.settings |= _settings(match["rest"] or "")
    return found


def _group(line: str) -> _Group | None:
    if match := _GROUP.fullmatch(line):
        return _Group(match["policy"], match["status"], float(match["prio"]))
    if match := _OLD_GROUP.fullmatch(line):
        words = [word.strip() for word in _BRACKET.findall(match["rest"])]
        priority = next((word.removeprefix("prio=") for word in words if word.startswith("prio=")), None)
        status = next((word for word in words if "=" not in word), None)
        return _Group(match["policy"], status, _float(priority))
    return None


def _path(line: str) -> _Path | None:
    match = _PATH.fullmatch(line)
    if match is None:
        return None
    states = [state for state in re.split(r"[\s\[\]]+", match["states"]) if state]
    return _Path(match["hctl"], match["device"], states)


def _settings(text: str) -> dict[str, str]:
    """`size=10G features='0'` and `[size=10 GB][features="0"][rw]` alike."""
    bracketed = _BRACKET.findall(text)
    pairs = [part.partition("=") for part in bracketed] if bracketed else []
    found = {key: value for key, equals, value in pairs if equals}
    found |= dict(_SETTING.findall(text)) if not bracketed else {}
    for part, equals, _ in pairs:
        if not equals and part in ("rw", "ro"):
            found["wp"] = part
    return {key: value.strip("'\"").strip() for key, value in found.items()}


def _float(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def _size_bytes(text: str | None) -> int | None:
    """'10G', '1.5T', '70 GB': all prefixes binary (libmultipath print.c, `snprint_size`)."""
    match = _SIZE.fullmatch(text) if text else None
    if match is None:
        return None
    return round(float(match[1].replace(",", ".")) * 1024.0 ** " KMGTP".index(match[2] or " "))


def _maps(evidence: Evidence, recorder: Recorder) -> Iterator[_Map]:
    """Every map with its groups and paths, in the order of the file."""
    current: _Map | None = None
    for raw in evidence.lines():
        line = _unindented(raw)
        if not line:
            continue
        if len(line) > _LONGEST_LINE:
            recorder.omit(_NOISE)
        elif new := _map(line):
            if current:
                yield current
            current = new
        elif line.startswith(("size=", "[size=")) and (current is None or current.settings or current.groups):
            if current:
                yield current
            current = None
            recorder.warn(f"A map's heading is not understood, and its paths are left out; it is followed by {line!r}.")
        elif current is None:
            recorder.omit(_NO_MAP if _path(line) else _NOISE)
        elif not _belongs(line, current):
            recorder.omit(_NOISE)
    if current:
        yield current


def _belongs(line: str, current: _Map) -> bool:
    """Adds a line to the map it follows; False for noise."""
    if path := _path(line):
        if not current.groups:
            current.groups.append(_Group("", None, None))
        current.groups[-1].paths.append(path)
    elif group := _group(line):
        current.groups.append(group)
    elif line.startswith(("size=", "[size=")):
        current.settings |= _settings(line)
    elif not current.product and not current.groups and _PRODUCT_LINE.fullmatch(line):
        current.product = line.strip()
    else:
        return False
    return True


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    system = options.system or DEFAULT_LINUX_SYSTEM
    recorder.notes.tool, recorder.notes.system = "multipath -ll", system
    recorder.notes.clock = "configuration without times"
    seen: set[str] = set()
    for found in _maps(evidence, recorder):
        key = repr(found)
        if key in seen:
            recorder.omit("maps shown again, unchanged")
            continue
        seen.add(key)
        _record(recorder, system, found)
    if not seen:
        raise broken(
            evidence, "a multipath map like 'mpatha (3600...) dm-2 VENDOR,PRODUCT'", "none",
            hint="Capture with: multipath -ll > multipath.txt",
        )  # fmt: skip


def _record(recorder: Recorder, system: str, found: _Map) -> None:
    """The map is the device the kernel knows as dm-N; its alias and its WWID are other names for it."""
    device = EntityRef(system, "device", found.dm or found.name)
    recorder.entity(device, label=found.name)
    recorder.link(device, "member_of", EntityRef(system, "host", system))
    wwid = found.wwid or found.name
    if wwid and wwid != device.name:
        recorder.link(device, "same_as", EntityRef(system, "device", wwid))
    _record_map_facts(recorder, device, found, wwid)
    for group in found.groups:
        for number, path in enumerate(group.paths, 1):
            _record_path(recorder, device, group, path, number)


def _record_map_facts(recorder: Recorder, device: EntityRef, found: _Map, wwid: str | None) -> None:
    policies = list(dict.fromkeys(group.policy for group in found.groups if group.policy))
    features = found.settings.get("features", "")
    if not found.paths:
        recorder.warn(f"{found.name} has no path: the map is not initialised, or all its paths are gone.")
    facts: dict[str, str | float | bool | None] = {
        "alias": found.name,
        "wwid": wwid,
        "path_policy": ", ".join(policies) or None,
        "array_type": found.product or None,
        "features": features or None,
        "queue_if_no_path": "queue_if_no_path" in features if features else None,
        "hwhandler": found.settings.get("hwhandler"),
        "write_permission": found.settings.get("wp"),
        "path_groups": len(found.groups),
        "paths": len(found.paths),
        "paths_dead": sum(path.state == "dead" for path in found.paths),
    }
    for name, value in facts.items():
        recorder.fact(device, name, value)
    recorder.fact(device, "size_bytes", _size_bytes(found.settings.get("size")), "B")


def _record_path(recorder: Recorder, device: EntityRef, group: _Group, path: _Path, number: int) -> None:
    """A path is named by its H:C:T:L; one that has lost its own ('#:#:#:#') by its map and place."""
    lost = path.hctl.startswith("#")
    entity = EntityRef(device.system, "path", f"{device.name} lost path {number}" if lost else path.hctl)
    recorder.entity(entity, label=f"{path.hctl} {path.device}")
    recorder.link(entity, "leads_to", device)
    if not lost:
        adapter = EntityRef(device.system, "adapter", f"host{path.hctl.partition(':')[0]}")
        recorder.link(entity, "uses", adapter)
        recorder.link(adapter, "member_of", EntityRef(device.system, "host", device.system))
    if path.device != "-":
        recorder.fact(entity, "block_device", path.device)
        recorder.link(entity, "same_as", EntityRef(device.system, "device", path.device))
    recorder.fact(entity, "state", "dead" if lost else path.state)
    recorder.fact(entity, "group_state", group.status)
    recorder.fact(entity, "priority", group.priority)
    recorder.fact(entity, "states", " ".join(path.states) or None)


IMPORTER = Importer(
    name="multipath_ll",
    title="Linux multipath -ll",
    supports="multipath-tools 0.4.5 to 0.9: bracketed (RHEL 4 and 5), tree with quotes (RHEL 6 and later)",
    how_to_capture="multipath -ll > multipath.txt",
    recognise=_recognise,
    read=_read,
    carries=(
        "maps, paths and adapters with their links",
        "facts path_policy, array_type, size_bytes, hwhandler and queue_if_no_path of each map",
        "facts state, group_state and priority of each path",
    ),
    never={
        "load or latency": "multipath -ll is configuration and state only",
        "the host's name": "it is not in the output; set --system",
    },
)  # fmt: skip
