r"""Windows performance counters as CSV: perfmon and logman logs through relog, and typeperf.

Counters are named `\\HOST\Object(instance)\Counter`. Latencies (`Avg. Disk sec/Read`) are in seconds; `Avg. Disk Queue
Length` is the mean number in flight; `% Disk Time` is that times 100 and no busy share, so busy is taken from
`% Idle Time` (Microsoft, "Performance Counters for Storage", PhysicalDisk object). `Current Disk Queue Length` is the
count at the moment of the sample and stays a counter.

Virtual disks of Hyper-V are those of its object Virtual Storage Device, whose `Latency` is in seconds and whose `Queue
Length` is a mean, as windows_exporter takes them (hyperv_virtual_storage_device_latency_seconds; no capture was at
hand). `Normalized Throughput` counts what Storage QoS counts, I/Os of up to 8 KB, and stays a counter.

Beware: names are in the language of the system; those that storage needs are known in several (`_perfmon_names.py`),
others stay counters under their own names. The binary log (BLG) is not read: `relog log.blg -f csv -o log.csv` on
Windows turns it into this format.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from storscope.domain import units
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, shortened
from storscope.sources.importers._pdh import Dialect, is_pdh, read_pdh
from storscope.sources.importers._pdh_layout import Home, Layout, Target, no_target
from storscope.sources.importers._pdh_names import LOCAL_HOSTS, Place
from storscope.sources.importers._perfmon_names import COUNTERS, OBJECTS, VIRTUAL_DISK_COUNTERS, in_english

_DISK: Final = {
    "Disk Transfers/sec": Target("ops_per_s"),
    "Disk Reads/sec": Target("read_ops_per_s"),
    "Disk Writes/sec": Target("write_ops_per_s"),
    "Disk Bytes/sec": Target("bytes_per_s"),
    "Disk Read Bytes/sec": Target("read_bytes_per_s"),
    "Disk Write Bytes/sec": Target("write_bytes_per_s"),
    "Avg. Disk sec/Transfer": Target("latency_ns_mean", units.NS_PER_S),
    "Avg. Disk sec/Read": Target("read_latency_ns_mean", units.NS_PER_S),
    "Avg. Disk sec/Write": Target("write_latency_ns_mean", units.NS_PER_S),
    "Avg. Disk Queue Length": Target("queue_depth_mean"),
    "% Idle Time": Target("busy_ratio", -0.01, 1.0),
}
_VIRTUAL_DISK: Final = {
    "Read Operations/Sec": Target("read_ops_per_s"),
    "Write Operations/Sec": Target("write_ops_per_s"),
    "Read Bytes/sec": Target("read_bytes_per_s"),
    "Write Bytes/sec": Target("write_bytes_per_s"),
    "Latency": Target("latency_ns_mean", units.NS_PER_S),
    "Queue Length": Target("queue_depth_mean"),
}
_CPU: Final = {"% Processor Time": Target("cpu_busy_ratio", 0.01)}

_OBJECTS = in_english(OBJECTS)
_VIRTUAL_DISK_COUNTERS = in_english(VIRTUAL_DISK_COUNTERS)
_COUNTERS = in_english(COUNTERS)
"""Of all objects: that 'Bytes/s' means more than disks does no harm, it is asked for disks only."""
_CLUSTER_VOLUME: Final = re.compile(r"(?P<drive>[A-Z]:)-ClusterStorage-(?P<volume>Volume\d+)-", re.IGNORECASE)
"""How the path of a virtual disk begins on a volume of a cluster by its first name, with dashes for backslashes; a name
that was given may have dashes of its own."""
_VOLUME_WITHOUT_LETTER = re.compile(r"HarddiskVolume\d+", re.IGNORECASE)
_ESXTOP = re.compile(r"\\(?:Physical Cpu|Group Cpu|Virtual Disk|Physical Disk [^\\(]+)\(")


def _disk_target(counter: str) -> Target | None:
    return _DISK.get(_COUNTERS.get(counter.casefold(), ""))


def _virtual_disk_target(counter: str) -> Target | None:
    return _VIRTUAL_DISK.get(_VIRTUAL_DISK_COUNTERS.get(counter.casefold(), ""))


def _cpu_target(counter: str) -> Target | None:
    return _CPU.get(_COUNTERS.get(counter.casefold(), ""))


def _recognise(head: Head) -> float:
    return 0.95 if is_pdh(head) and not _ESXTOP.search(head.text) else 0.0


def _home_of(options: ImportOptions) -> Callable[[Place], Home]:
    def home(place: Place) -> Home:
        system = place.host if place.host not in LOCAL_HOSTS else options.system or "localhost"
        group = _OBJECTS.get(place.group.casefold(), place.group)
        if group == "PhysicalDisk":
            return _home_on_disk(EntityRef(system, "device", place.instance))
        if group == "LogicalDisk":
            kind = "partition" if _VOLUME_WITHOUT_LETTER.fullmatch(place.instance) else "filesystem"
            return _home_on_disk(EntityRef(system, kind, place.instance))
        if group == "Hyper-V Virtual Storage Device" and place.instance:
            return _home_on_disk(EntityRef(system, "vm_disk", place.instance), _virtual_disk_target)
        if group == "Process" and place.instance:
            return Home(EntityRef(system, "process", place.instance))
        whole = f"{place.group}({place.instance})" if place.instance else place.group
        is_total = group in {"Processor", "Processor Information"} and place.instance == "_Total"
        return Home(EntityRef(system, "host", system), _cpu_target if is_total else no_target, f"{whole}\\")

    return home


def _home_on_disk(entity: EntityRef, target: Callable[[str], Target | None] = _disk_target) -> Home:
    """A sum over all instances is kept as counters: as an observation it would be counted twice."""
    return Home(entity, no_target if entity.name == "_Total" else target)


def _unit_of(counter: str) -> str:
    if "%" in counter:
        return "%"
    if re.search(r"\bsec/|\bs(?:ek\.)?/", counter, re.IGNORECASE):
        return "s"
    per_second = bool(re.search(r"/s(?:ec)?$", counter, re.IGNORECASE))
    if re.search(r"bytes\b", counter, re.IGNORECASE):
        size = "MiB" if "mega" in counter.casefold() or "MBytes" in counter else "KiB" if "KBytes" in counter else "B"
        return size + "/s" if per_second else size
    return "1/s" if per_second else ""


def _describe(recorder: Recorder, layout: Layout) -> None:
    entities = dict.fromkeys(home.entity for home in layout.places.values())
    found = [entity for entity in entities if entity.kind in {"device", "filesystem", "partition", "vm_disk"}]
    for entity in found:
        if entity.name == "_Total":
            recorder.entity(entity, "sum of all instances")
        else:
            recorder.link(entity, "member_of", EntityRef(entity.system, "host", entity.system))
        if entity.kind == "vm_disk" and (begins := _CLUSTER_VOLUME.match(entity.name)):
            path = rf"{begins['drive']}\ClusterStorage\{begins['volume']}"
            recorder.link(entity, "lives_on", EntityRef(entity.system, "datastore", path))
        if entity.kind == "device":
            # '1 D: E:' is disk 1 with the volumes D: and E:.
            for letter in entity.name.split()[1:]:
                volume = EntityRef(entity.system, "filesystem", letter)
                if volume in entities:
                    recorder.link(volume, "lives_on", entity)
    if not found:
        groups = shortened(", ".join(sorted({place.group for place in layout.places})))
        recorder.warn(
            f"No disk was found among the counters, which are of {groups}. If there are some, their "
            r"names are in a language that is not known here; else capture the counters \PhysicalDisk(*)\* too."
        )


# Rates of the first sample are blank by themselves; what is counted at an instant is data.
_DIALECT = Dialect("perfmon", _home_of, _unit_of, first_sample_is_data=True, describe=_describe)


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    read_pdh(evidence, recorder, options, _DIALECT)


IMPORTER = Importer(
    name="perfmon_csv",
    title="Windows performance counters (perfmon, relog, typeperf), CSV",
    supports="PDH-CSV 4.0 and PDH-TSV 4.0; disk counters in English, Czech, Dutch, French, German, Italian, Polish, "
    "Portuguese, Russian, Spanish and Swedish, most of them unverified",
    how_to_capture=r'typeperf -si 10 -o perfmon.csv "\PhysicalDisk(*)\*" "\LogicalDisk(*)\*" "\Processor(_Total)\*"',
    recognise=_recognise,
    read=_read,
    version=3,
    carries=(
        "ops_per_s", "read_ops_per_s", "write_ops_per_s", "bytes_per_s", "read_bytes_per_s", "write_bytes_per_s",
        "latency_ns_mean", "read_latency_ns_mean", "write_latency_ns_mean", "queue_depth_mean", "busy_ratio",
        "cpu_busy_ratio", "virtual disks of Hyper-V", "links from volumes to disks",
        "every other counter of every object as counters",
    ),
    not_yet={"binary logs (BLG)": "an undocumented format; relog on Windows turns it into CSV"},
    never={"latency percentiles": "the counters are means over the interval"},
)  # fmt: skip
