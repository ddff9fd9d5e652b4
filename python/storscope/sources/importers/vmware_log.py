"""VMware ESX and ESXi logs: vmkernel, vmkwarning, vobd, parts of hostd, and what a syslog server received of them.

Supports ESX 3 to ESXi 8; the forms of a line are in `_vmware_line.py`, what a message says in `_vmware_latency.py`,
`_vmware_scsi.py`, `_vmware_paths.py` and `_vmware_volumes.py`. Lines about other things are counted and left.

Beware: vobd reports an observation (`vob.*`) and then the event it makes of it (`esx.*`), vmkwarning repeats lines of
vmkernel, and two layers report one failed command. The same said through another channel within two seconds is one
occurrence. The NMP throttles its lines, so failures on paths are at least as many as are counted here.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.domain.units import NS_PER_S
from storscope.domain.vocabulary import DEFAULT_ESXI_SYSTEM
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken
from storscope.sources.importers import _vmware_latency as latency
from storscope.sources.importers import _vmware_paths as paths
from storscope.sources.importers import _vmware_scsi as scsi
from storscope.sources.importers import _vmware_volumes as volumes
from storscope.sources.importers._local_clock import LocalClock
from storscope.sources.importers._vmware_line import LogLine, is_log_line, parse_line
from storscope.sources.importers._vmware_names import adapter_of
from storscope.sources.importers._vmware_said import Message, Rule, Said
from storscope.sources.importers._vmware_years import Years, years_of

_RULES: Final[tuple[tuple[str, Rule], ...]] = (
    (" performance has ", latency.latency_changed),
    ("average I/O latency ", latency.latency_above_threshold),
    ("nmp_ThrottleLog", scsi.command_failed),
    ("H:0x", scsi.command_failed),
    (" status = ", scsi.old_status),
    ("Abort Task", scsi.task_aborted),
    ("Reset request on ", scsi.vm_reset),
    ("ath vmhba", paths.path_changed),
    ("scsiPath vmhba", paths.path_state),
    ("state in doubt", paths.in_doubt),
    ("PDL error", paths.path_evaluated),
    ("Cannot find a path", paths.no_good_path),
    ("All Paths Down", paths.all_paths_down),
    ("StorageApdHandler: ", paths.apd_handled),
    ("ermanently inaccessible", paths.device_lost),
    ("HBX: ", volumes.heartbeat),
    ("vmfs.heartbeat.", volumes.heartbeat_observed),
    ("access to volume ", volumes.volume_access),
    (" rsv time on ", volumes.reservation_held),
    ("Sync CR", volumes.reservation_conflict),
    ("eservation conflict", volumes.reservation_conflict),
    ("onnection to ", volumes.nfs_server),
    ("nfs.server.", volumes.nfs_server),
    ("No connection. ", volumes.nfs_retry),
    ('LINE"', volumes.iscsi_connection),
    ("iScsi connection", volumes.iscsi_connection),
    ("failed to login to ", volumes.iscsi_connection),
    ("Nop-out", volumes.iscsi_daemon),
    ("iSCSI connection", volumes.iscsi_daemon),
)
"""A word that a message must contain, and who reads it then. The words are the prefilter: most lines have none."""

_BEFORE_REPEATED = re.compile(r"last message repeated (\d{1,12}) times?")
_AROUND_REPEATED = re.compile(r"message repeated (\d{1,12}) times?: \[\s*(.*)\]\s*$")
_ITSELF_REPEATED = re.compile(r"[\[(]?\brepeated (\d{1,12}) times?\b")
_MOST_REPETITIONS = 10_000
_MOST_CHARACTERS = 4096
"""A longer line is no message of these programs, and patterns would take long over it."""
_WORLD = re.compile(r"(?:\S+ )?cpu\d+:\d+")
_MODULE = re.compile(r"(?:^|[ )])(?:WARNING: |ALERT: )?([A-Za-z]\w+): ")
_SHORT_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{8}(?=-|$)")
_LINES_JUDGED = 2000
_TYPICAL_RATIO = 0.3
_HINT = "Import vmkernel.log, vmkwarning.log or vobd.log as they are; outputs of commands are another format."
_SAME_WITHIN_NS = 2 * NS_PER_S
_REMEMBERED = 512


def read_log(evidence: Evidence, recorder: Recorder, options: ImportOptions, now: dt.datetime) -> None:
    """Reads a log as it stands at `now`, which places lines without a year."""
    log = _Log(evidence, recorder, options, now)
    other = 0
    for number, text in enumerate(evidence.lines(), start=1):
        rules = [rule for word, rule in _RULES if word in text]
        if rules and len(text) > _MOST_CHARACTERS:
            log.before = ()
            recorder.omit(f"lines of more than {_MOST_CHARACTERS:,} characters")
        elif rules:
            log.read(number, text, rules)
        elif log.before and (repeated := _BEFORE_REPEATED.search(text)):
            log.repeat(number, text, int(repeated[1]))
        else:
            log.before = ()
            other += bool(text)
    recorder.omit("lines not about storage", other)
    log.finish()


@dataclass
class _Log:
    """What the reader remembers from line to line."""

    evidence: Evidence
    recorder: Recorder
    options: ImportOptions
    now: dt.datetime
    before: Sequence[Said] = ()
    """What the line before this one said; 'last message repeated' speaks of it."""
    events: int = 0
    unfinished: dict[str, str] = field(default_factory=dict)
    """Failed commands whose status is still to come, by the processor and world that logs them."""
    recent: OrderedDict[tuple[object, ...], tuple[int, str]] = field(default_factory=OrderedDict)
    volumes: dict[EntityRef, EntityRef] = field(default_factory=dict)
    """Short UUID -> name of a volume."""
    unnamed: set[EntityRef] = field(default_factory=set)
    hosts: set[str] = field(default_factory=set)
    clocks: set[str] = field(default_factory=set)
    clock_of: dict[str | None, LocalClock] = field(default_factory=dict)
    """By the host in the line: each goes forward by itself."""
    years: Years | None = None

    def read(self, number: int, text: str, rules: Iterable[Rule]) -> None:
        """A line with a word of some rules in it."""
        line = parse_line(text)
        words, count = _repetitions(line.message)
        joined = self._joined(line, words)
        if joined is None:
            return
        message = Message.of(joined)
        self.before = next((said for rule in rules if (said := rule(message))), ())
        if not self.before:
            self.recorder.omit("lines that mention storage in a form not read")
        self._record(number, text, line, _channel(line, message) if count == 1 else None, count)

    def repeat(self, number: int, text: str, count: int) -> None:
        """'last message repeated N times', after a message that was read."""
        self._record(number, text, parse_line(text), None, count)

    def finish(self) -> None:
        """What can be said only after the last line."""
        self.recorder.omit("failed commands whose status line is missing", len(self.unfinished))
        if not self.events and _recognise(self.evidence.head) == 0:
            found = next(iter(self.evidence.head.lines), "an empty file")
            raise broken(self.evidence, "lines of a VMware log", found, line=1, hint=_HINT)
        notes = self.recorder.notes
        notes.tool = "VMware ESX or ESXi"
        notes.system = next(iter(self.hosts)) if len(self.hosts) == 1 else None
        repeated = {clock.words for clock in self.clock_of.values()}
        notes.clock = "; ".join(sorted(self.clocks)) + "".join(repeated) or None

    def _joined(self, line: LogLine, words: str) -> str | None:
        """The message with the one it continues; None for a message that is continued by another."""
        world = _WORLD.match(words)
        key = f"{line.host} {world[0] if world else ''}"
        if scsi.AWAITS_STATUS.search(words):
            if key in self.unfinished:
                self.recorder.omit("failed commands whose status line is missing")
            self.unfinished[key] = words
            return None
        if "nmp_ThrottleLogForDevice" in words and "H:0x" in words and ' dev "' not in words:
            return f"{self.unfinished.pop(key, '')} {words}"
        return words

    def _record(self, number: int, text: str, line: LogLine, channel: str | None, count: int) -> None:
        """Records what `self.before` says, `count` times. A `channel` of None is never another's echo."""
        system = line.host or self.options.system or DEFAULT_ESXI_SYSTEM
        time_ns = self._time_ns(number, line) if self.before else None
        for said in self.before:
            entity = self._entity(system, said)
            # An echo may know more of what hangs together: vobd's event names the device of the path.
            self._links(entity, said)
            if channel is not None and self._is_echo(entity, said, time_ns, channel):
                self.recorder.omit("the same occurrence, said by another layer or log", count)
                continue
            self._write(entity, said, time_ns, text, count)
        if self.before:
            self.hosts.add(system)

    def _write(self, entity: EntityRef, said: Said, time_ns: int | None, text: str, count: int) -> None:
        attributes = dict(said.attributes) | ({"repeated": f"{count}"} if count > 1 else {})
        for _ in range(min(count, _MOST_REPETITIONS)):
            self.recorder.event(
                entity, time_ns, said.type, text,
                value=said.value, baseline=said.baseline, unit=said.unit, attributes=attributes,
            )  # fmt: skip
        self.events += count
        self.recorder.omit(
            f"repetitions beyond {_MOST_REPETITIONS:,} of one message", max(0, count - _MOST_REPETITIONS)
        )

    def _time_ns(self, number: int, line: LogLine) -> int | None:
        stamp = line.stamp
        if stamp is None:
            self.clocks.add("no times in the source")
            return None
        if stamp.year is None and self.years is None:
            again = Evidence(self.evidence.path, self.evidence.name)
            self.years = years_of(again.lines(), self.options.year, self.now, self.options.zone())
        year = self.years.at(number) if self.years and stamp.year is None else 0
        clock = self.clock_of.setdefault(line.host, LocalClock(self.options.zone(), jumbled=True))
        time_ns = stamp.time_ns(year, clock)
        if time_ns is None:
            self.recorder.omit("times that are no date")
            return None
        self.clocks.add("zone in the file" if stamp.zone else self.options.zone_words())
        if stamp.year is None and self.years:
            self.clocks.add(f"no year in the source; {self.years.source}")
        return time_ns

    def _entity(self, system: str, said: Said) -> EntityRef:
        if said.kind == "host":
            return EntityRef(system, "host", system)
        if said.kind == "datastore":
            return self._volume(system, said)
        return EntityRef(system, said.kind, said.name)

    def _volume(self, system: str, said: Said) -> EntityRef:
        """A volume by its name, where a line before this one has told the name of its UUID."""
        short = _SHORT_UUID.match(said.volume_uuid or said.name)
        if short is None:
            return EntityRef(system, "datastore", said.name)
        by_uuid = EntityRef(system, "datastore", short[0])
        if said.volume_uuid is not None:
            self.volumes[by_uuid] = named = EntityRef(system, "datastore", said.name)
            if by_uuid in self.unnamed:
                self.recorder.link(by_uuid, "same_as", named)
            return named
        if by_uuid not in self.volumes:
            self.unnamed.add(by_uuid)
        return self.volumes.get(by_uuid, by_uuid)

    def _links(self, entity: EntityRef, said: Said) -> None:
        system = entity.system
        host = EntityRef(system, "host", system)
        path = said.name if said.kind == "path" else said.attributes.get("path")
        device = said.name if said.kind == "device" else said.device
        if device is not None:
            self.recorder.link(EntityRef(system, "device", device), "member_of", host)
        if path is None:
            return
        if device is not None:
            self.recorder.link(EntityRef(system, "path", path), "leads_to", EntityRef(system, "device", device))
        if adapter := adapter_of(path):
            self.recorder.link(EntityRef(system, "path", path), "uses", EntityRef(system, "adapter", adapter))

    def _is_echo(self, entity: EntityRef, said: Said, time_ns: int | None, channel: str) -> bool:
        """True when the same was said within two seconds through another channel."""
        if time_ns is None:
            return False
        key = (entity, said.type, said.value, said.baseline, said.occurrence)
        last = self.recent.pop(key, None)
        echo = last is not None and last[1] != channel and abs(time_ns - last[0]) <= _SAME_WITHIN_NS
        self.recent[key] = last if echo and last is not None else (time_ns, channel)
        if len(self.recent) > _REMEMBERED:
            self.recent.popitem(last=False)
        return echo


def _repetitions(message: str) -> tuple[str, int]:
    """The message itself and how often it was said."""
    if around := _AROUND_REPEATED.search(message):
        return around[2], int(around[1])
    itself = _ITSELF_REPEATED.search(message)
    return message, max(int(itself[1]), 1) if itself else 1


def _channel(line: LogLine, message: Message) -> str:
    """Who said it: vobd's identifier, or the program and the module of the kernel."""
    if message.vob is not None:
        return message.vob
    module = _MODULE.search(message.text)
    return f"{line.program or 'vmkernel'} {module[1] if module else ''}"


def _recognise(head: Head) -> float:
    """By the share of lines that only VMware's logs have."""
    if head.is_binary or head.text[:1] in {"{", '"'}:
        return 0.0
    lines = [line for line in head.lines[:_LINES_JUDGED] if line.strip()]
    typical = sum(1 for line in lines if is_log_line(line))
    if not typical:
        return 0.0
    return 0.9 if typical >= _TYPICAL_RATIO * len(lines) else 0.4


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    read_log(evidence, recorder, options, dt.datetime.now(dt.UTC))


IMPORTER = Importer(
    name="vmware_log",
    title="VMware ESX and ESXi logs (vmkernel, vmkwarning, vobd, hostd)",
    supports="ESX 3 and 4, ESXi 5 to 8, also as a syslog server received or grep printed them, with or without times",
    how_to_capture="scp root@HOST:/var/log/vmkernel.log . (and vobd.log; older ones are beside them as *.gz)",
    recognise=_recognise,
    read=_read,
    carries=(
        "events: latency deteriorated and improved, of devices and NFS volumes",
        "events: failed SCSI commands with their statuses, aborts, resets, queue full, busy, reservations",
        "events: paths dead, up and in doubt, all paths down, permanent device loss",
        "events: heartbeats of datastores, NFS and iSCSI connections",
        "links from paths to devices and adapters",
    ),
    not_yet={"hostd beyond its events": "tasks and sessions say nothing about storage performance"},
    never={
        "every failure on a path": "the NMP throttles its log lines; what is counted is a lower bound",
        "latency between the lines": "a line is written when latency is 30 times the level of the last, or has doubled",
    },
)  # fmt: skip
