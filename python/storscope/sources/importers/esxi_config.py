"""ESX and ESXi configuration text: the outputs of esxcli, esxcfg-*, vmkiscsi-tool and vsish, alone or pasted together.

Supports what `_RECORDS`, `_TABLES` and `_LINES` list, from ESX 4 to ESXi 8, with or without shell prompts between, with
or without the alignment and indentation of the original. Text that no section parser understands is counted under the
command, or under its own first line. The host's name is taken from prompts such as `[root@esx01:~]`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, Protocol

from storscope.domain.recorder import Recorder
from storscope.domain.vocabulary import DEFAULT_ESXI_SYSTEM
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken, shortened
from storscope.sources.importers import _esxi_adapters as adapters
from storscope.sources.importers import _esxi_devices as devices
from storscope.sources.importers import _esxi_paths as paths
from storscope.sources.importers import _esxi_ports as ports
from storscope.sources.importers import _esxi_settings as settings
from storscope.sources.importers import _esxi_switches as switches
from storscope.sources.importers._esxi_book import Book
from storscope.sources.importers._esxi_text import Record, key_value, parse_prompt, record_name
from storscope.sources.importers._vmware_line import is_log_line

RecordReader = Callable[[Record, Book], bool | None]
"""Notes a record; False when it turns out not to be understood."""
LineReader = Callable[[str, Book], bool]

_RECORDS: Final[tuple[tuple[str, RecordReader], ...]] = (
    ("Vmknic", ports.network_portal),
    ("pNic name", ports.swiscsi_nic),
    ("Portset", ports.ip_interface),
    ("ConnectionAddress", ports.iscsi_connection),
    ("Vmnic", adapters.physical_portal),
    ("Active Adapters", switches.failover_policy),
    ("Portgroups", switches.standard_switch),
    ("Group State", paths.nmp_path),
    ("Path Selection Policy Path Config", paths.nmp_path),
    ("Path Selection Policy", devices.nmp_device),
    ("Runtime Name", paths.core_path),
    ("Devfs Path", devices.core_device),
    ("Int Value", settings.advanced_setting),
    ("String Value", settings.advanced_setting),
)
"""A key that only records of that kind have, and who reads them."""

_LINES: Final[tuple[LineReader, ...]] = (
    ports.vmknic_row,
    switches.nic_row,
    adapters.adapter_row,
    adapters.target_portal_row,
    adapters.tool_row,
    devices.vsish_conflicts,
    settings.advcfg_line,
    settings.module_parameter,
)
"""Readers of rows that are recognised by themselves, with or without their header."""


class Table(Protocol):
    """Rows that can be told only by the header above them."""

    def row(self, line: str, book: Book) -> bool:
        """Notes a row; False ends the table."""


@dataclass(frozen=True)
class _Rows:
    """A table whose rows need no memory of one another."""

    read: LineReader

    def row(self, line: str, book: Book) -> bool:
        return self.read(line, book)


def _no_row(_line: str, _book: Book) -> bool:
    return False


def _switch_table(line: str, _book: Book) -> Table:
    table = switches.SwitchTable()
    table.header(line)
    return table


def _mpath_table(line: str, book: Book) -> Table:
    table = paths.MpathTable()
    table.row(line, book)
    return table


_TABLES: Final[tuple[tuple[re.Pattern[str], Callable[[str, Book], Table]], ...]] = (
    (re.compile(r"(?:Switch|DVS) Name\s+Num Ports\s.*"), _switch_table),
    (re.compile(r"PortGroup Name\s+.*VLAN ID\s.*"), _switch_table),
    (re.compile(r"Name\s+Virtual Switch\s+Active Clients\s.*"), lambda _line, _book: _Rows(switches.portgroup_row)),
    (re.compile(r"Name\s+Current\s+Default\s+Min\s+Max\s.*"), lambda _line, _book: _Rows(adapters.parameter_row)),
    (re.compile(r"(?:naa|eui|t10|mpx)\.\S+ : .+"), _mpath_table),
    (re.compile(r"[\w /-]+ \{"), lambda _line, _book: devices.VsishTable()),
    # Headers of rows that need none: known, and nothing to be learned from.
    (
        re.compile(
            r"Interface\s+Port Group.*MAC Address.*|Name\s+PCI(?: Device)?\s+Driver\s.*"
            r"|HBA Name\s+Driver\s+Link State.*"
            r"|Adapter\s+(?:Driver\s+State|Target\s+IP|Sendtarget).*|Name\s+Type\s+Value\s+Description"
        ),
        lambda _line, _book: _Rows(_no_row),
    ),
)
"""Headers, and the table that each opens."""

_AT_THE_END: Final = (ports.uplinks_by_mac, adapters.iscsi_kinds, ports.connections_per_port)
_MOST_REASONS = 40
_MOST_CHARACTERS = 4096
"""A longer line is no output of these commands, and patterns would take long over it."""
_HINT = "Known are outputs such as: esxcli iscsi networkportal list, esxcfg-vmknic -l, esxcli storage nmp device list."


@dataclass
class _Reading:
    """Where the reader stands."""

    book: Book
    table: Table | None = None
    record: Record | None = None
    bare: str | None = None
    """A line that names something if an indented record follows it."""
    stretch: str | None = None
    """The first of the lines that are not understood just now."""
    unknown: Counter[str] = field(default_factory=Counter)

    def read(self, text: str) -> None:
        """One line."""
        line = text.strip()
        if not line:
            self._blank()
        elif len(line) > _MOST_CHARACTERS:
            self._end()
            self._not_understood(line)
        elif not line.strip("- "):
            return  # what underlines a header
        elif prompt := parse_prompt(text):
            self._end()
            self.book.command = prompt.command or None
            self.book.system = prompt.host or self.book.system
        elif any(read(line, self.book) for read in _LINES):
            self._end()
        elif self.table is not None and self.table.row(line, self.book):
            self.stretch = None
        elif not self._opens_table(line):
            self._in_record(text, line)

    def finish(self) -> None:
        """The end of the file."""
        self._end()

    def _blank(self) -> None:
        if self.record is not None and self.record.ends_at_blank():
            self._end_record()
        self.stretch = None

    def _opens_table(self, line: str) -> bool:
        for header, opened in _TABLES:
            if header.fullmatch(line):
                self._end()
                self.table = opened(line, self.book)
                return True
        return False

    def _in_record(self, text: str, line: str) -> None:
        """A head, a pair, a line that may turn out to be a head, or something else."""
        self.table = None
        name, pair = record_name(line), key_value(line)
        if name is not None:
            self._end_record()
            self.record = Record(name)
        elif pair is not None:
            self._pair(text, *pair)
        else:
            self._not_understood(self.bare)
            self.bare = None if text[:1].isspace() else line
            if self.bare is None:
                self._not_understood(line)

    def _pair(self, text: str, key: str, value: str) -> None:
        if self.bare is not None and text[:1].isspace():
            self._end_record()
            self.record, self.bare = Record(self.bare), None
        self._not_understood(self.bare)
        self.bare = None
        if self.record is None or key in self.record:
            self._end_record()
            self.record = Record()
        self.record.pairs[key.lower()] = (key, value)
        self.stretch = None

    def _end(self) -> None:
        self._end_record()
        self._not_understood(self.bare)
        self.bare = self.stretch = self.table = None

    def _end_record(self) -> None:
        record, self.record = self.record, None
        if record is None or not (record.pairs or record.name):
            return
        reader = next((reader for key, reader in _RECORDS if key in record), None)
        if reader is None or reader(record, self.book) is False:
            first = record.name or next(iter(record.pairs.values()))[0]
            self._not_understood(first, max(1, len(record.pairs)))
            self.stretch = None

    def _not_understood(self, line: str | None, count: int = 1) -> None:
        if line is None:
            return
        self.stretch = self.stretch or line
        self.unknown[shortened(self.book.command or self.stretch, 60)] += count


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    system = options.system or DEFAULT_ESXI_SYSTEM
    reading = _Reading(Book(system))
    for text in evidence.lines():
        reading.read(text)
    reading.finish()
    book = reading.book
    for complete in _AT_THE_END:
        complete(book)
    recorder.omit("adapter parameters whose adapter is not named", adapters.place_parameters(book))
    _omit_unknown(recorder, reading.unknown)
    book.write(recorder)
    if recorder.is_empty and not book.links:
        found = next(iter(evidence.head.lines), "an empty file")
        raise broken(evidence, "the output of an ESXi command", found, line=1, hint=_HINT)
    systems = book.systems()
    recorder.notes.tool = "esxcli and esxcfg"
    recorder.notes.system = next(iter(systems)) if len(systems) == 1 else None


def _omit_unknown(recorder: Recorder, unknown: Counter[str]) -> None:
    for place, (label, count) in enumerate(unknown.items()):
        first = place < _MOST_REASONS
        recorder.omit(f"lines not understood, under: {label}" if first else "lines not understood, elsewhere", count)


_SIGNS = re.compile(
    r"^[ \t]*(?:Vmknic: vmk\d|pNic name: vmnic|Path Selection Policy: \w|Storage Array Type: \w|Group State: \w"
    r"|Runtime Name: vmhba\d|Devfs Path: /vmfs|Multipath Plugin: \w|Active Adapters: |ConnectionAddress: \d|Portset: \S"
    r"|Portal \d+\s*: \S+:\d+\s*$|reservationConflicts:\d"
    r"|Path: /(?:Net|Disk|VMFS3|NFS|Scsi|Mem|DataMover)/\w+"
    r"|Switch Name\s+Num Ports\s|Interface\s+Port Group|HBA Name\s+Driver\s+Link State"
    r"|Name\s+PCI(?: Device)?\s+Driver\s+|Adapter\s+(?:Driver\s+State|Target\s+IP)\s|Name\s+Virtual Switch\s+Active"
    r"|vmk\d+\s+\S.*\s\d+\.\d+\.\d+\.\d+\s+\d+\.\d+\.\d+\.\d+\s+(?:\d+\.\d+\.\d+\.\d+\s+)?\w\w:\w\w:\w\w:"
    r"|vmhba\d+:C\d+:T\d+:L\d+ LUN:\d+ state:\w+|Value of \w+ is \S|DelayedAck\s+\w+\s+\w+\s"
    r"|vmnic\d+\s+\S+:\S+\s+\S+\s+(?:Up|Down)\s|iscsivmk_LunQDepth\s|vmhba\d+\s+\S+\s+(?:link-|online|offline))",
    re.MULTILINE,
)  # fmt: skip
"""Lines that only these commands print."""


def _recognise(head: Head) -> float:
    if head.is_binary or head.text[:1] in {"{", '"', "<"} or _SIGNS.search(head.text) is None:
        return 0.0
    return 0.4 if _mostly_log(head.lines[:2000]) else 0.9


def _mostly_log(lines: Iterable[str]) -> bool:
    told = [is_log_line(line) for line in lines if line.strip()]
    return sum(told) >= 0.3 * len(told) > 0


IMPORTER = Importer(
    name="esxi_config",
    title="ESX and ESXi configuration text (esxcli, esxcfg-*, vmkiscsi-tool, vsish)",
    supports="ESX 4, ESXi 5 to 8; several outputs in one file, with or without prompts, aligned or squeezed",
    how_to_capture=(
        "for c in 'esxcli iscsi networkportal list' 'esxcfg-vmknic -l' 'esxcfg-vswitch -l' 'esxcfg-nics -l' "
        "'esxcli storage nmp device list' 'esxcli storage nmp path list' 'esxcli storage core adapter list'; "
        'do echo "~ # $c"; $c; done > config.txt'
    ),
    recognise=_recognise,
    read=_read,
    carries=(
        "facts of VMkernel ports, port groups, virtual switches, NICs, adapters, devices, paths and the host",
        "links: port over adapter and NIC, port in port group in switch, path to device over adapter",
    ),
    not_yet={"vscsiStats": "histograms of virtual disks are a format of their own"},
    never={"rates": "packet counters are totals since a reset that the outputs do not date"},
)  # fmt: skip
