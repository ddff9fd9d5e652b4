"""Finds a workload by name, path or text, and recognises its form by content.

Refuses what is no text, files above 1 MiB and content of an unknown form. A name of a built-in workload goes before a
file of that name; write ./name for the file.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from storscope.bench.workloads.builtin import OTHER_NAMES, builtin, builtins, is_builtin, listed
from storscope.bench.workloads.definition import Definition
from storscope.bench.workloads.fio_job import read_fio
from storscope.bench.workloads.icf import read_icf
from storscope.bench.workloads.toml_form import read_toml
from storscope.domain.errors import ConfigError, InputError, MalformedInput, UnknownFormat, UsageError
from storscope.domain.near_names import joined, near_name
from storscope.domain.text_kinds import WORKLOAD, mistaken
from storscope.domain.workload import Workload

MOST_BYTES = 1024**2
"""Larger than any definition made by hand; Iometer's with 30 specifications has 11 KB."""

_ENDINGS = (".toml", ".workload.toml", ".fio", ".job", ".icf")
"""Of files that hold workloads."""


def load_workload(source: str | Path, target_sizes: Sequence[int] = ()) -> Definition:
    """The definition that `source` names: a built-in workload, a file, or the text itself when it has several lines.

    `target_sizes`, in bytes, are those of what it will run on, where that is known: a job file may ask for shares.
    Raises UsageError when there is neither a workload nor a file of that name, UnknownFormat for content of no known
    form, MalformedInput or ConfigError with the place for content that breaks its form.
    """
    if isinstance(source, str) and is_builtin(source):
        return builtin(source)
    if isinstance(source, str) and "\n" in source:
        return read_definition(source, "the text", target_sizes)
    return read_definition(_text_of(Path(source)), str(source), target_sizes)


def read_definition(text: str, where: str, target_sizes: Sequence[int] = ()) -> Definition:
    """The definition that a text holds, whatever its form."""
    try:
        return _reader(text, where, target_sizes)(text, where)
    except (ConfigError, InputError):
        if another := mistaken(text, where, WORKLOAD):
            raise another from None
        raise


def _builtin_meant(name: str) -> str:
    """The built-in workload of which a name is a slip, as a sentence; empty where there is none."""
    known = {joined(one): one for one in (*builtins(), *OTHER_NAMES)}
    near = near_name(name, known, {})
    return f"Did you mean {known[near]!r}? " if near else ""


def _file_meant(path: Path) -> str:
    """The files that a name without its ending may stand for, as a sentence; empty where there is none."""
    try:
        found = [str(one) for one in (path.with_name(path.name + ending) for ending in _ENDINGS) if one.is_file()]
    except (OSError, ValueError):
        return ""
    return f"There is {', and '.join(found)}. " if found else ""


def _text_of(path: Path) -> str:
    try:
        # O_NONBLOCK: opening a pipe that nobody writes to must not hang.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except FileNotFoundError:
        hint = f"{_file_meant(path) or _builtin_meant(str(path))}Built in are: {listed()}."
        raise UsageError("a built-in workload or a file", f"neither, of the name {str(path)!r}", hint=hint) from None
    except ValueError as error:
        raise UsageError("a path", repr(str(path))[:80]) from error
    except OSError as error:
        raise UsageError("a file that can be read", error.strerror or str(error), where=str(path)[:80]) from error
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UsageError("a file", "a directory", where=str(path), hint="Name a file in it.")
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise UsageError("a file", "something else", where=str(path))
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise MalformedInput("a definition of at most 1 MiB", "a larger file", where=str(path))
    return _decoded(content, str(path))


def _decoded(content: bytes, where: str) -> str:
    """UTF-8, UTF-16 with its mark (Windows editors), else Latin-1 as Iometer on Windows writes names."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", errors="replace")
    if b"\0" in content:
        raise UnknownFormat("a workload as text", "binary content", where=where)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _reader(text: str, where: str, target_sizes: Sequence[int]) -> Callable[[str, str], Definition]:
    """By the first line that says something: Version for .icf, a brace for JSON; then fio's sections, then TOML."""
    head = text.lstrip()[:200]
    if not head:
        raise MalformedInput("an Iometer .icf, a fio job file, TOML or JSON", "an empty file", where=where)
    if re.match(r"version\s+\d", head, re.IGNORECASE) or head.lower().startswith("'test setup"):
        return read_icf
    if head.startswith("{"):
        return _read_json
    if _is_toml(text):
        return read_toml
    if re.search(r"^[ \t]*\[[^\[\]\n]*\][ \t\r]*([;#].*)?$", text, re.MULTILINE):
        return partial(read_fio, target_sizes=target_sizes, environment=os.environ)
    raise UnknownFormat(
        "an Iometer .icf, a fio job file, TOML or JSON",
        repr(head[:40]),
        where=where,
        hint=_form_hint(text),
    )


def _form_hint(text: str) -> str:
    """Of options without a section, and of what vdbench reads, what to do; of anything else how the forms begin."""
    if re.search(r"^[ \t]*(sd|wd|rd|fsd|fwd)=\w+,", text, re.MULTILINE):
        return (
            "vdbench's parameters are not read: write TOML, with xfersize as size, rdpct as read_share, seekpct as "
            "random_share, iorate as rate_per_s, threads as outstanding (docs/workloads.md)."
        )
    if re.search(r"^[ \t]*(rw|readwrite|bs|blocksize|ioengine|iodepth)[ \t]*=", text, re.MULTILINE):
        return "If these are options of a fio job, a line like [job] belongs above them."
    return "An .icf begins with 'Version', a job file has sections like [job], the TOML form has [[stream]]."


def _is_toml(text: str) -> bool:
    """What only the TOML form has: its lists of tables, a name in quotes, or a key of it before any section."""
    return bool(
        re.search(r"^[ \t]*(\[\[[ \t]*(workload\.)?(stream|workload)|name[ \t]*=[ \t]*[\"'])", text, re.MULTILINE)
        or re.match(r"(\s|#.*\n)*(name|source|description|targets|verification)[ \t]*=", text)
    )


def _read_json(text: str, where: str) -> Definition:
    try:
        form = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MalformedInput("JSON", str(error)[:80], where=where) from error
    try:
        return Definition("json", (Workload.from_json(form),))
    except ConfigError as error:
        raise ConfigError(error.expected, error.found, where=f"{where}: {error.where}", hint=error.hint) from error
