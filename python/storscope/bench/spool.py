"""A run's intervals on disk while it lasts, so that a crash loses at most the one under way.

One JSON document a line: what is known of the run, each interval, at the end the outcome. The file is locked while its
process lives; one that nobody locks was left by a process that was killed, and is still good up to its last whole line.
Where the file system has no locks nothing tells that, and a spool that was left stays.
Lines go to the kernel at once but are not forced to the disk, which may be the one that is measured: a killed process
loses nothing by that, a power failure does.

The first line has the number of the form. A spool of another number, or whose lines are not as they should be, is set
aside under another name: another storscope may have written it, and can read it.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from storscope.bench.figures import Interval, Outcome
from storscope.bench.judgement import Judgement
from storscope.bench.record import About
from storscope.domain.errors import ConfigError, StoreError
from storscope.domain.open_files import open_files_hint

FORM = 1
"""Counts up when what is written changes: fields of `About`, `Interval`, `Outcome` or `Judgement`."""
_PATTERN = ".bench-*.jsonl"
_ASIDE = ".unread"
_UNREADABLE = (ArithmeticError, AttributeError, ConfigError, LookupError, TypeError, ValueError)
"""What it ends in to take a line for what it is not."""


class UnreadableSpool(Exception):
    """A spool that this storscope does not understand; it says why, in words."""


class SpoolWriter:
    """Appends to the spool of a run under way."""

    def __init__(self, directory: Path, about: About) -> None:
        self.path = directory / f".{about.run}.jsonl"
        draft = self.path.with_suffix(".new")
        try:
            self._descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise _unusable(directory, error, "Choose another one with --store DIR.") from error
        with suppress(OSError):  # without locks
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        try:
            self._write({"form": FORM, "about": about.to_json()})
        except StoreError:
            os.close(self._descriptor)
            draft.unlink()
            raise
        draft.rename(self.path)  # only now: nobody sees it without its lock and its first line
        self.is_empty = True
        """Whether no interval is in it."""

    def append(self, interval: Interval) -> None:
        """One more interval."""
        self._write({"interval": interval.form})
        self.is_empty = False

    def end(self, outcome: Outcome, judgement: Judgement | None = None) -> None:
        """How it ended, and what is said of it."""
        judged = {} if judgement is None else {"judgement": judgement.to_json()}
        self._write({"outcome": outcome.to_json(), **judged})

    def discard(self) -> None:
        """Removes it: nothing was measured."""
        self.path.unlink()

    def close(self) -> None:
        """Leaves the file to whoever reads it."""
        os.close(self._descriptor)

    def _write(self, form: dict[str, Any]) -> None:
        line = json.dumps(form, separators=(",", ":")).encode() + b"\n"
        try:
            while line:
                line = line[os.write(self._descriptor, line) :]
        except OSError as error:
            hint = "Make room there, or choose another one with --store."
            raise _unusable(self.path.parent, error, hint) from error


def _unusable(directory: Path, error: OSError, hint: str) -> StoreError:
    found = error.strerror or str(error)
    told = open_files_hint(error) or hint
    return StoreError("a store that takes what is measured", found, where=str(directory), hint=told)


class Spooled:
    """A run as its spool has it."""

    def __init__(self, path: Path) -> None:
        """Reads the first line. Raises UnreadableSpool if it is none, or of another form."""
        self.path = path
        first = next(self._lines(), {})
        if first.get("form") != FORM:
            raise UnreadableSpool(_of_another_form(first))
        with understood():
            self.about = About.from_json(first["about"])

    def intervals(self) -> Iterator[Interval]:
        """Every interval that was written completely."""
        return (Interval(form["interval"]) for form in self._lines() if "interval" in form)

    def outcome(self) -> Outcome | None:
        """How it ended; None if it was killed."""
        end = self._end()
        return None if end is None else Outcome.from_json(end["outcome"])

    def judgement(self) -> Judgement | None:
        """What is said of it; None if it was killed, or nobody judged it."""
        end = self._end()
        return None if end is None or "judgement" not in end else Judgement.from_json(end["judgement"])

    def _end(self) -> dict[str, Any] | None:
        ends = [form for form in self._lines() if "outcome" in form]
        return ends[-1] if ends else None

    def _lines(self) -> Iterator[dict[str, Any]]:
        with self.path.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    return
                try:
                    form = json.loads(line)
                except ValueError:
                    return
                if not isinstance(form, dict):  # a power failure left something else in its place
                    return
                yield form


@contextmanager
def understood() -> Iterator[None]:
    """Lines that are not what they should be end in UnreadableSpool."""
    try:
        yield
    except _UNREADABLE as error:
        raise UnreadableSpool(f"its lines are not as this storscope writes them ({error})") from error


def _of_another_form(first: Mapping[str, Any]) -> str:
    if not first:
        return "its first line is not whole"
    about = first.get("about")
    version = about.get("version", "another version") if isinstance(about, dict) else "another version"
    number = f"of form {first['form']!r}" if "form" in first else "without the number of its form"
    return f"it is {number}, as storscope {version} wrote it, and this storscope reads form {FORM}"


def holds_nothing(path: Path) -> bool:
    """Whether not even its first line is there: nothing was measured before its process was killed."""
    with path.open("rb") as file:
        return not file.readline().endswith(b"\n")


def set_aside(path: Path) -> Path:
    """Renames a spool so that nobody reads it again; returns its new name."""
    return path.rename(path.with_name(path.name + _ASIDE))


@contextmanager
def _locked(path: Path) -> Iterator[bool]:
    """Whether it is ours now: False if its process has it, or that cannot be told."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)  # NFS wants it open for writing (flock(2))
    except FileNotFoundError:
        raise
    except OSError:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)  # in a store that cannot be written
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        yield False
        return
    try:
        yield path.exists()  # if not, it was published or set aside before we had the lock
    finally:
        os.close(descriptor)


def abandoned(directory: Path) -> Iterator[Path]:
    """Spools whose process is gone; each stays locked for the caller until the next one is asked for."""
    for path in sorted(directory.glob(_PATTERN)):
        try:
            with _locked(path) as is_free:
                if is_free:
                    yield path
        except FileNotFoundError:  # its process has just published it
            continue
