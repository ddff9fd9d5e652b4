"""Did the device do what the generator believes it did?

Operations may be merged or split on their way; bytes are the law. Where they disagree the figures are not the device's,
and the doubt says so with both numbers and with the explanation that the evidence supports: the extent map, the kind of
I/O, the file system, and what this process caused to be read and written, which tells its own read-ahead from other
users of the device.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from storscope.bench.device_check import DONE, Answer, Asked, Below, DeviceCheck, Moved
from storscope.bench.io_limits import IoLimit, doubts_of_limits
from storscope.bench.safety import ExtentMap
from storscope.bench.underneath import Underneath
from storscope.domain.diskstats import Counters
from storscope.domain.units import KIB, MIB, NS_PER_S, SECTOR_BYTES, format_bytes, format_ratio

MISSING_SHARE: Final = 0.05
"""Bytes that the device did not move, as a share of the generator's, from which it was not the device (ours)."""
EXCESS_SHARE: Final = 0.25
OTHER_SHARE: Final = 0.05
EXCESS_BYTES: Final = 8 * MIB
"""What the device may move in addition, as shares and at least: journals, metadata, a log being written (ours). What
a file system adds goes with the generator's bytes of that direction; reads make hardly any writes, nor writes reads.
"""
JOURNAL_BYTES: Final = 32 * KIB
"""What a file system may write of its own for a flush: its journal's blocks, and those of the metadata (ours)."""
_BELOW_SHARE: Final = 0.5
"""Share of the nearest device's bytes below which a device further down did not do the work (ours)."""
_FIELDS: Final = {"read": ("rio", "rmerge", "rsect"), "write": ("wio", "wmerge", "wsect")}


@dataclass(frozen=True)
class Evidence:
    """All that is known of a run beside its own figures."""

    under: Underneath
    direct: bool
    extents: ExtentMap | None
    """Of the target when the run began; None where there is none."""
    asked: Mapping[str, Asked]
    deltas: Mapping[str, Counters]
    """Device -> what it counted meanwhile; devices without counters are left out."""
    process: Mapping[str, int | None]
    flushes: int = 0
    """Of the run: on a file system each may write a journal."""
    initialising: bool = False
    """Whether the kernel was still writing the inode tables of an ext4 here, the target's or another's."""
    shared: bool = False
    """Whether others are meant to use the devices meanwhile: that they did is an answer then, and no doubt."""
    limits: Sequence[IoLimit] = ()
    """What control groups allow this process of these devices."""
    run_ns: int = 0
    """For how long it was counted."""

    def check(self, silent: Sequence[str]) -> DeviceCheck:
        """The judgement. `silent` are devices whose counting is switched off."""
        moved = self._moved(self.under.nearest)
        if moved is None or silent:
            answer, doubts = self._without_counters(silent)
            return self._made(answer, None, (), doubts)
        below = [
            Below(level.devices, found["read"], found["write"])
            for level in self.under.levels[1:]
            if (found := self._moved(level.devices)) is not None
        ]
        missing, excess = self._missing(moved), self._excess(moved)
        answer = Answer.RECONCILED if any(asked.bytes for asked in self.asked.values()) else Answer.UNKNOWN
        if missing:
            answer = Answer.NOT_THE_DEVICE
        elif excess:
            answer = Answer.OTHERS_TOO
        limited = doubts_of_limits(self.limits, self._done_per_s(is_ours=not excess)) if self.limits else []
        doubts = [*missing, *(() if self.shared else excess), *self._not_below(moved, below), *limited]
        return self._made(answer, moved, below, doubts)

    def _made(
        self, answer: Answer, moved: Mapping[str, Moved] | None, below: Sequence[Below], doubts: Sequence[str]
    ) -> DeviceCheck:
        return DeviceCheck(
            self.under.nearest, self.under.fs_type, answer, self.asked, moved, self.process, tuple(below), tuple(doubts)
        )

    def _moved(self, names: Sequence[str]) -> dict[str, Moved] | None:
        """The sum over devices; None if one of them has no counters."""
        if not names or any(name not in self.deltas for name in names):
            return None

        def total(field: str) -> int:
            return sum(self.deltas[name].get(field, 0) for name in names)

        return {
            word: Moved(total(ios), total(merged), total(sectors) * SECTOR_BYTES)
            for word, (ios, merged, sectors) in _FIELDS.items()
        }

    def _without_counters(self, silent: Sequence[str]) -> tuple[Answer, list[str]]:
        if not self.under.levels:
            if "memory" in self.under.why_none:
                return Answer.NOT_THE_DEVICE, [f"Not the device: {self.under.why_none}."]
            return Answer.UNKNOWN, [f"Not known whether a device did the I/Os: {self.under.why_none}."]
        names = ", ".join(silent or self.under.nearest)
        why = "queue/iostats is 0" if silent else "the kernel shows no counters for it, or they were reset"
        return Answer.UNKNOWN, [f"Not known whether the device did the I/Os: {names} is not counted ({why})."]

    def _done_per_s(self, *, is_ours: bool) -> dict[tuple[str, str, bool], float]:
        """By device, direction, and whether of bytes: what this run did of it, which is no more than it asked for where
        others used the device, and on devices further down. Requests count before they are merged, as limits do.
        """
        done = {}
        for name, counters in self.deltas.items():
            for word, (ios, merged, sectors) in _FIELDS.items():
                asked = self.asked[word]
                counted = counters.get(ios, 0) + counters.get(merged, 0), counters.get(sectors, 0) * SECTOR_BYTES
                for is_bytes, most, number in zip((False, True), (asked.ios, asked.bytes), counted, strict=True):
                    own = number if is_ours and name in self.under.nearest else min(number, most)
                    done[name, word, is_bytes] = own * NS_PER_S / max(1, self.run_ns)
        return done

    # Too little -------------------------------------------------------------------------------------------------------

    def _missing(self, moved: Mapping[str, Moved]) -> list[str]:
        doubts = []
        for word, asked in self.asked.items():
            if asked.bytes - moved[word].bytes > MISSING_SHARE * asked.bytes:
                why = "; ".join(self._why_missing(word)) or "nothing in the evidence says what answered"
                doubts.append(f"Not the device: {self._numbers(word, moved[word])}: {why}.")
        return doubts

    def _numbers(self, word: str, moved: Moved) -> str:
        asked, names = self.asked[word], ", ".join(self.under.nearest)
        done = DONE[word]
        return (
            f"the generator {done} {format_bytes(asked.bytes)} in {asked.ios:,} I/Os, {names} {done} "
            f"{format_bytes(moved.bytes)} in {moved.ios:,} ({format_ratio(moved.bytes / asked.bytes)})"
        )

    def _why_missing(self, word: str) -> list[str]:
        process = self.process[word]
        why = list(self._of_extents(word))
        if not self.direct:
            later = "" if word == "read" else ", which writes them later"
            caused = "" if process is None else f"; this process caused {format_bytes(process)} of block I/O"
            why.append(f"I/Os went through the page cache{later}{caused}")
        elif (self.under.fs_type or "").startswith("fuse"):
            why.append(
                f"the program behind {self.under.fs_type} does the I/O, with the page cache between it and its device"
            )
        elif not why and process is not None:
            why.append(self._of_process(self.asked[word].bytes, process))
        return why

    def _of_extents(self, word: str) -> Iterator[str]:
        extents = self.extents
        if extents is None:
            return
        if word == "read" and (unwritten := extents.missing_bytes):
            yield (
                f"the extent map says that {format_bytes(unwritten)} of {format_bytes(extents.size_bytes)} are holes "
                "or unwritten, and reading them is answered from memory"
            )
        if extents.encoded_bytes:
            encoded = f"the file system compresses or encrypts {format_bytes(extents.encoded_bytes)} of the file"
            yield f"{encoded}, and may read that through the page cache" if word == "read" else encoded
        if extents.inline_bytes:
            yield f"{format_bytes(extents.inline_bytes)} of the file are kept in its metadata"

    def _of_process(self, asked: int, process: int) -> str:
        if asked - process <= MISSING_SHARE * asked:
            return "this process sent that much to block devices, so others than these answered"
        caused = f"this process caused only {format_bytes(process)} of block I/O"
        return f"past the page cache, but {caused}: the file system answered from memory"

    # Too much ---------------------------------------------------------------------------------------------------------

    def _excess(self, moved: Mapping[str, Moved]) -> list[str]:
        whole = sum(asked.bytes for asked in self.asked.values())
        doubts = []
        for word, asked in self.asked.items():
            allowed = max(EXCESS_BYTES, EXCESS_SHARE * asked.bytes + OTHER_SHARE * (whole - asked.bytes))
            more = moved[word].bytes - asked.bytes
            if more > allowed + (self._journal_bytes if word == "write" else 0):
                names, done = ", ".join(self.under.nearest), DONE[word]
                doubts.append(
                    f"Not this run alone: {names} {done} {format_bytes(moved[word].bytes)} in {moved[word].ios:,} I/Os "
                    f"while the generator {done} {format_bytes(asked.bytes)}: {self._why_excess(word, more)}."
                )
        return doubts

    @property
    def _journal_bytes(self) -> int:
        return self.flushes * JOURNAL_BYTES if self.under.fs_type else 0

    def _why_excess(self, word: str, more: int) -> str:
        process, asked = self.process[word], self.asked[word].bytes
        journal = self._of_file_system if word == "write" and self.under.fs_type else ""
        if process is None:
            return f"others used it{journal}" + ("" if self.direct else ", or read-ahead")
        if process - asked > more / 2:
            ours = "this process's other work" if self.direct else "read-ahead" if word == "read" else "whole pages"
            return f"this process itself caused {format_bytes(process)} ({ours})"
        return f"this process caused {format_bytes(process)} of it, so others used the device{journal}"

    @property
    def _of_file_system(self) -> str:
        if self.initialising and self.under.fs_type == "ext4":
            return (
                ", or ext4 was still writing its inode tables (thread ext4lazyinit): measure when that thread has "
                "ended, or make the file system with mkfs.ext4 -E lazy_itable_init=0"
            )
        return ", or the file system's own journal and metadata"

    # Further down -----------------------------------------------------------------------------------------------------

    def _not_below(self, moved: Mapping[str, Moved], below: Sequence[Below]) -> list[str]:
        """A device that did its I/Os while those it rests on did not: they stay in a cache between them."""
        notes = [level.note for level in self.under.levels if level.note]
        if notes and not below:
            return [f"Below {', '.join(self.under.nearest)}: {notes[-1]}."]
        for level in below:
            for word in _FIELDS:
                above, here = moved[word].bytes, {"read": level.read, "write": level.write}[word].bytes
                if above > EXCESS_BYTES and here < _BELOW_SHARE * above:
                    done = DONE[word]
                    said = f": {notes[-1]}" if notes else ""
                    less = f"{', '.join(level.devices)} only {format_bytes(here)}"
                    names = ", ".join(self.under.nearest)
                    return [f"Not the disk below: {names} {done} {format_bytes(above)}, {less}{said}."]
        return []
