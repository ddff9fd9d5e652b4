"""Headings that name a thing and what is counted of it: 'vol1 - Read IOPS', 'Volume A Read Latency (ms)'.

A heading is understood when one side of it means a canonical column (`_headings.py`) and the other is a name: labels in
braces (Prometheus, InfluxDB), a separator (` - `, `: `, ` | `, ` / `, points, brackets), or only blanks. Where only
blanks part them, a name with a word that could belong to the counter (read, max, cache, 95th) is none: it would make
another counter of it. Nothing is taken from a heading that can be read in two ways.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Final

from storscope.domain.recorder import Recorder
from storscope.sources.importer import shortened
from storscope.sources.importers._headings import Meaning, meaning_of, words_of
from storscope.sources.importers._table_heading import KINDS
from storscope.sources.importers._unit_cells import BYTES, OPERATIONS, SHARE, TIME

Named = tuple[tuple[str, str], ...]
"""Kind and name of all that a heading names."""

_UNIT_WORDS: Final = {TIME: "ms", BYTES: "MB/s", OPERATIONS: "io/s", SHARE: "%"}
"""What to add to a heading whose unit stands in its cells, to learn what it means."""
_LABELS: Final = re.compile(r"(?P<before>[^{]*)\{(?P<labels>.*)\}(?P<after>[^}]*)")
_LABEL: Final = re.compile(r'(?P<name>[A-Za-z_][\w.]*)\s*[=:]\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>[^,"]*))')
_SEPARATORS: Final = (" - ", " – ", " | ", " / ", ": ")
_DIRECTION_LABELS: Final = frozenset({"direction", "op", "operation", "io_type"})
_COUNTER_LABELS: Final = frozenset({"__name__", "metric", "counter"})
_OTHER_COUNTER_LABELS: Final = frozenset({"quantile", "le", "percentile", "mode", "stat", "statistic", "type"})
_COUNTER_WORDS: Final = frozenset({
    "read", "reads", "rd", "write", "writes", "written", "wr", "max", "maximum", "peak", "highest", "min", "minimum",
    "lowest", "percentile", "median", "th", "miss", "misses", "hit", "hits", "cache", "cached", "mirror", "mirrored",
    "replication", "backend", "frontend", "random", "sequential", "std", "stddev", "dev", "deviation", "kernel",
    "queue", "queued", "guest", "service", "wait", "waiting", "limit", "metadata", "other", "sum", "count", "dropped",
    "failed", "error", "errors", "latency", "iops", "bandwidth", "throughput", "average", "avg", "mean", "total",
    "unmap", "trim", "flush", "discard", "destage", "prefetch", "partial", "full", "host", "remote", "pct", "rate",
})  # fmt: skip
"""Words that would belong to the counter: a name that only blanks part from a counter has none of them."""
_PARTS_OF_NAMES: Final = frozenset({"volume", "lun", "vdisk", "disk", "drive", "device", "system", "array", "data"})
"""Words that stand in counters too, and that belong to a name that they touch: 'SQL data Read IOPS'."""
_BLOCK_DEVICE: Final = re.compile(r"(?:sd[a-z]{1,3}|x?vd[a-z]|hd[a-z]|nvme\d+n\d+|dm-\d+|md\d+|(?:naa|eui|t10)\.\S+)")


_SAID: Final = frozenset({
    "volume", "vol", "lun", "vdisk", "disk", "drive", "datastore", "pool", "controller", "port", "vm",
})  # fmt: skip
"""First words of names that say what they are of: 'disk 1', not 'system log'."""


@dataclass(frozen=True)
class Split:
    """What a column is of, what it counts, and whether its unit has to stand in each cell."""

    named: Named
    counter: str
    meaning: Meaning
    needs_unit: bool
    by_blanks: bool = False

    @property
    def name(self) -> str:
        """Of the thing itself."""
        return self.named[-1][1] if self.named else ""


def split_heading(heading: str, measures: str | None = None) -> Split | str:
    """What a heading means, `measures` being what the units in its cells measure; else why it is left out."""
    text = " ".join(heading.split())
    if match := _LABELS.fullmatch(text):
        return _by_labels(match, measures)
    if (whole := _counts(text, measures)) is not None:
        return Split((), text, *whole)
    found: set[Split] = set()
    for pairs in _by_separators(text):
        found = {
            split
            for name, counter in pairs
            if (meaning := _counts(counter, measures)) is not None
            and (split := _checked(Split(_named(name), counter, *meaning))) is not None
        }
        if found:
            break
    if not found and not any(separator in text for separator in _SEPARATORS):
        found = {split for split in _by_blanks(text, measures) if split is not None}
    if len(found) == 1:
        return found.pop()
    return "it can be read in two ways" if found else "it is not a thing and a counter with its unit"


def kind_of(name: str) -> str:
    """Of a thing that only its name tells: block devices of Linux and ESX, 'LUN 3', else a volume."""
    words = words_of(name)
    last = re.split(r"[\s:/|]+", name)[-1]
    if _BLOCK_DEVICE.fullmatch(last):
        return "device"
    return KINDS[words[0]] if len(words) > 1 and words[0] in _SAID and not re.search(r"[-_.]", name) else "vdisk"


def says_kind(name: str) -> bool:
    """Whether `kind_of` was told what a name is of."""
    return kind_of(name) != "vdisk" or words_of(name)[:1] in (("volume",), ("vol",), ("lun",), ("vdisk",))


def tell_of_kinds(recorder: Recorder, names: Iterable[str]) -> None:
    """Says which names were taken as volumes because nothing says what they are."""
    taken = sorted({name for name in names if not says_kind(name)})
    if taken:
        shown = ", ".join(f"'{shortened(name, 40)}'" for name in taken[:4]) + (" and others" if len(taken) > 4 else "")
        recorder.warn(f"Nothing says of what kind {shown} are: they were taken as volumes.")


def doubtful(splits: Iterable[Split]) -> set[str]:
    """Names that are another one and a word more, which only blanks part from their counter: perhaps the counter's."""
    names = {split.name for split in splits if split.name}
    by_blanks = {split.name for split in splits if split.by_blanks}
    return {name for name in by_blanks if any(name != one and name.startswith(f"{one} ") for one in names)} | {
        name for name in by_blanks if any(name != one and name.endswith(f" {one}") for one in names)
    }


@cache
def _counts(text: str, measures: str | None) -> tuple[Meaning, bool] | None:
    """What a counter means, and whether only with the unit in its cells."""
    meaning = meaning_of(text)
    if meaning is not None and not meaning.is_share:
        return meaning, False
    unit = _UNIT_WORDS.get(measures or "")
    meaning = meaning_of(f"{text} ({unit})") if unit else None
    return None if meaning is None else (meaning, True)


def _checked(split: Split) -> Split | None:
    """None where the name is itself a counter, or nothing."""
    name = split.name
    if not name or meaning_of(name) is not None or set(words_of(name)) <= _COUNTER_WORDS:
        return None
    return split


def _named(name: str) -> Named:
    return ((kind_of(name), name),) if name else ()


# The three ways --------------------------------------------------------------------------------------------------


def _by_labels(match: re.Match[str], measures: str | None) -> Split | str:
    labels = {one["name"]: one["quoted"] or (one["plain"] or "").strip() for one in _LABEL.finditer(match["labels"])}
    if found := _OTHER_COUNTER_LABELS & labels.keys():
        return f"its label {min(found)} makes another counter of it"
    said = [labels.pop(name) for name in sorted(_COUNTER_LABELS & labels.keys())]
    ways = [labels.pop(name) for name in sorted(_DIRECTION_LABELS & labels.keys())]
    counter = " ".join([*ways, *(match["before"].strip(" -:").split() or said), match["after"].strip(" -:")]).strip()
    if not counter or counter in ways:
        return "it names no counter; give the query a legend in Grafana, such as {{device}} - Read Latency"
    if counter.endswith("_total"):
        return "it counts since the start of its source; export its rate(), with a legend that says what it is"
    named = _named_by(labels)
    if not named:
        return "its labels name no thing that is known"
    meaning = _counts(counter, measures)
    return "it is no counter that is known, with its unit" if meaning is None else Split(named, counter, *meaning)


def _named_by(labels: dict[str, str]) -> Named:
    """Kind and name by label; Prometheus' `instance` is a host, with the port of its exporter."""
    found: dict[str, str] = {}
    for label, value in labels.items():
        kind = "host" if label in ("instance", "node") else KINDS.get(" ".join(words_of(label)))
        if label == "name":
            kind = kind_of(value)
        if kind is not None and value:
            found.setdefault(kind, re.sub(r":\d+$", "", value) if kind == "host" else value)
    return tuple(found.items())


def _by_separators(text: str) -> Iterable[tuple[tuple[str, str], ...]]:
    """For each separator, the strongest first, name and counter either way around."""
    for separator in _SEPARATORS:
        if separator in text:
            left, _, right = text.rpartition(separator)
            first, _, rest = text.partition(separator)
            yield (left.strip(), right.strip()), (rest.strip(), first.strip())
    if " " not in text and "." in text:
        left, _, right = text.rpartition(".")
        yield ((left, right),)
    if match := re.fullmatch(r"([^()]+)\(([^()]+)\)", text):
        outside, inside = match[1].strip(), match[2].strip()
        yield (outside, inside), (inside, outside)


def _by_blanks(text: str, measures: str | None) -> Iterable[Split | None]:
    """The longest counter at the end, and the longest at the start."""
    tokens = text.split(" ")
    for ends in (True, False):
        for length in range(len(tokens) - 1, 0, -1):
            counter = tokens[-length:] if ends else tokens[:length]
            name = tokens[:-length] if ends else tokens[length:]
            words = words_of(" ".join(counter))
            if (counter[0] if ends else counter[-1]).lower() in _PARTS_OF_NAMES or len(set(words)) < len(words):
                continue
            meaning = _counts(" ".join(counter), measures)
            if meaning is not None:
                yield _with_plain_name(" ".join(name), " ".join(counter), meaning)
                break


def _with_plain_name(name: str, counter: str, meaning: tuple[Meaning, bool]) -> Split | None:
    words = set(words_of(name))
    if not words or words & _COUNTER_WORDS or words <= _PARTS_OF_NAMES:
        return None
    return Split(_named(name), counter, *meaning, by_blanks=True)
