"""The options of one job of a job file, as whoever makes a workload of them asks for them.

It is remembered which were used; the others are listed in the end, each with its reason.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from storscope.bench.workloads._fio_options import (
    ELSEWHERE,
    HOW_VERIFIED,
    LOST,
    THROUGH_CACHE,
    UNDERSTOOD,
    asks_nothing,
)
from storscope.bench.workloads._fio_text import VARIABLE, Option, Section, integer_of, time_of
from storscope.bench.workloads.loss import NOT_VERIFIED, VERIFIED, LossList
from storscope.domain.errors import MalformedInput
from storscope.domain.near_names import near_name

_DEVICE = re.compile("/dev/(?!shm/).+")


class GivenOptions:
    """The options of a section. `where` names the file; `target_sizes`, in bytes, are those of what it runs on."""

    def __init__(self, section: Section, where: str, losses: LossList, target_sizes: Sequence[int] = ()) -> None:
        self.name = section.name
        self.options = section.options
        self.where = where
        self.losses = losses
        self.target_sizes = sorted(set(target_sizes))
        """In bytes, each once; none where it is not known what it runs on."""
        self.used: set[str] = {"kb_base"}
        self.kb_base = 1024
        self.kb_base = self.number("kb_base", 1024)
        self.reads = self.writes = self.random = False
        """Whether its `rw` reads, writes, and is random; the reader of the job says."""
        self.checks_reads = False
        """Whether what it reads is checked for stamps; the reader of the file says, once it knows all jobs."""

    def fail(self, option: Option, expected: str) -> None:
        """Refuses the value of an option."""
        raise MalformedInput(expected, repr(option.value[:60]), where=f"{self.where}, {option.where}")

    def take(self, name: str) -> Option | None:
        """The option, which counts as used from now on; None if it is not given."""
        self.used.add(name)
        option = self.options.get(name)
        if option is not None and "$" in option.value:
            expected, hint = f"a value for {name} without variables", _variable_hint(option.value)
            raise MalformedInput(expected, repr(option.value[:60]), where=f"{self.where}, {option.where}", hint=hint)
        return option

    def text(self, name: str, default: str) -> str:
        """Its value in lower case."""
        option = self.take(name)
        return option.value.strip().lower() if option else default

    def flag(self, name: str) -> bool:
        """Whether it is switched on."""
        option = self.take(name)
        return option is not None and _is_on(option)

    @property
    def is_direct(self) -> bool | None:
        """Whether it goes past the page cache; None where it does not say, which fio takes for no."""
        for name in ("direct", "buffered"):
            if name in self.options:
                return _is_on(self.options[name]) == (name == "direct")
        return None

    def number(self, name: str, default: int) -> int:
        """Its value as a plain number."""
        option = self.take(name)
        return default if option is None else integer_of(option, option.value, self.where, kb_base=self.kb_base)

    def count(self, name: str, default: int, most: int) -> int:
        """Its value as a plain number from 1 to `most`."""
        found, option = self.number(name, default), self.options.get(name)
        if option is not None and not 1 <= found <= most:
            self.fail(option, f"a number from 1 to {most} for {name}")
        return found

    def time(self, name: str, default: int | None, unit: str) -> int | None:
        """Its value in ns; a plain number is in `unit`."""
        option = self.take(name)
        return default if option is None else time_of(option, self.where, unit)

    def pair(self, name: str) -> tuple[Option | None, str, str]:
        """The parts for reads and writes, each empty where it is left to its default."""
        option = self.take(name)
        if option is None:
            return None, "", ""
        parts = [part.strip() for part in option.value.split(",")]
        return option, parts[0], parts[1] if len(parts) > 1 else parts[0]

    @property
    def only_writes(self) -> bool:
        """Whether it never reads."""
        return self.writes and not self.reads

    @property
    def filenames(self) -> tuple[str, ...]:
        """What it works on, by name: without filename, the device that the section is named for. An absolute name is
        below the directory, too (fio 3.33)."""
        names = self._parts("filename")
        if not self.directories:
            return names or self._own_device
        return tuple(f"{self.directories[0].rstrip('/')}/{name.lstrip('/')}" for name in names)

    @property
    def _own_device(self) -> tuple[str, ...]:
        """fio looks whether something else than a regular file has the section's name (add_job of its init.c)."""
        is_device = _DEVICE.fullmatch(self.name) and self.number("nrfiles", 1) <= 1
        return (self.name,) if is_device else ()

    @property
    def directories(self) -> tuple[str, ...]:
        """Where its files are, if it says so."""
        return self._parts("directory")

    def _parts(self, name: str) -> tuple[str, ...]:
        """Names split at colons, but for those after a backslash."""
        option = self.options.get(name)
        found = re.split(r"(?<!\\):", option.value) if option else []
        return tuple(part.replace("\\:", ":") for part in found if part)

    def note_rest(self) -> None:
        """Lists every option that no field of the workload came from, and a length that fio takes for the longest."""
        if self.time("runtime", 0, "s") and not ("time_based" in self.options and _is_on(self.options["time_based"])):
            option = self.options["runtime"]
            reason = "without time_based fio ends a job sooner if all of its size is done; here it lasts so long"
            self.losses.elsewhere(option.where, option.text, reason)
        for name, option in self.options.items():
            if name in LOST and asks_nothing(name, option.value):
                continue
            if name in ("direct", "buffered") and _is_on(option) == (name == "buffered"):
                self.losses.elsewhere(option.where, option.text, THROUGH_CACHE)
            elif name == "file_service_type" and self._has_one_file():
                self.losses.elsewhere(option.where, option.text, "without effect on a single file")
            elif name in LOST:
                self.losses.lost(option.where, option.text, LOST[name])
            elif name in ELSEWHERE:
                self.losses.elsewhere(option.where, option.text, ELSEWHERE[name])
            elif name in HOW_VERIFIED - self.used:
                self.losses.elsewhere(option.where, option.text, VERIFIED if self.checks_reads else NOT_VERIFIED)
            elif name in UNDERSTOOD - self.used:
                self.losses.elsewhere(option.where, option.text, "without effect beside the job's other options")
            elif name not in self.used:
                self.losses.lost(option.where, option.text, _unknown(name))

    def _has_one_file(self) -> bool:
        files = self.options.get("nrfiles")
        return len(self.filenames) < 2 and (files is None or files.value.strip() == "1")

    def note(self, name: str, reason: str) -> None:
        """Says that an option means something else here."""
        option = self.options.get(name)
        where, what = (option.where, option.text) if option else (f"[{self.name}]", f"{name} not given")
        self.losses.approximated(where, what, reason)


def _unknown(name: str) -> str:
    """Of a slip the option that was meant, without which the workload asks another thing: a depth of 1, say."""
    near = near_name(name, UNDERSTOOD, {})
    return "storscope does not know what this option asks for" + (f"; did you mean {near}?" if near else "")


def _variable_hint(value: str) -> str:
    """What to do about a variable that the environment does not have."""
    unset = VARIABLE.search(value)
    if unset is None:
        return "Write the number itself; what is read from the environment is written ${NAME}."
    return f"Set {unset[1]} in the environment, as for fio: {unset[1]}=... storscope ..."


def _is_on(option: Option) -> bool:
    return option.value.strip().lower() not in {"0", "false"}
