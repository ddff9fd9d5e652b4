"""The TOML form of workloads: everything a workload can say, with units, strict, and meant to be written by hand.

    name = "oltp"

    [[stream]]
    name = "data"
    workers = 4
    outstanding = 8                  # closed loop; or rate_per_s = 2000; or steps = [{rate_per_s = .., duration = ..}]

    [[stream.line]]
    size = "8k"                      # sizes are binary: 8k is 8,192 bytes; a plain number from 512 on is bytes
    read_share = "70%"               # or 0.7

Keys are those of the JSON form without the unit, since the value carries it. A file holds one workload, or a list
[[workload]] with a [sweep]. Unknown keys, durations and small sizes without a unit and values out of range are refused
with line, column and key. All keys: docs/workloads.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard

from storscope.bench.workloads.definition import Definition, Sweep
from storscope.bench.workloads.near_keys import hint_for_key
from storscope.domain.errors import ConfigError
from storscope.domain.toml_lines import Path, find_places, place_of
from storscope.domain.toml_text import parsed_toml
from storscope.domain.units import SECTOR_BYTES, bytes_from_text, ns_from_text
from storscope.domain.workload import FlushKind, Workload

_PLAIN = re.compile(r"\s*[0-9.]+\s*")
"""A number without a unit."""


_NEAR_FLUSH = {
    **dict.fromkeys(("fdatasync", "flushes"), "A flush after each write is flush_every = 1 in its [[stream]]."),
    "fsync": 'A flush after each write, of all of a file, is flush_every = 1 and flush = "fsync" in its [[stream]].',
    **dict.fromkeys(
        ("sync", "dsync", "o_sync", "o_dsync"),
        "A workload has no synchronous writes (O_SYNC, O_DSYNC); nearest is flush_every = 1 in its [[stream]], a flush "
        "of its own after each write.",
    ),
    **dict.fromkeys(("flush", "flush_every"), "It stands in the [[stream]] whose writes it follows."),
}
"""Words for a flush that are no keys where they stand, and what to write instead."""


def read_toml(text: str, where: str = "the TOML file") -> Definition:
    """The workloads of a TOML file. Raises ConfigError with line, column and key."""
    return _Reader(text, where).read(parsed_toml(text, where))


class _Reader:
    def __init__(self, text: str, where: str) -> None:
        self.text = text
        self.where = where

    def read(self, content: Mapping[str, Any]) -> Definition:
        if "workload" not in content:
            return Definition("toml", (self.workload(content, ()),))
        for key in content:
            if key in _WORKLOAD and key not in _FILE:
                self.fail((key,), "a key that storscope knows", repr(key), _in_workloads(key))
        top = self.table(content, (), _FILE)
        items = self.items(top["workload"], ("workload",))
        if not items:
            self.fail(("workload",), "at least one [[workload]]", "none")
        names = self.items(top.get("targets", []), ("targets",))
        for index, name in enumerate(names):
            if not isinstance(name, str):
                self.fail(("targets", index), "a text", repr(name)[:40])
        return Definition(
            "toml",
            tuple(self.workload(item, ("workload", index)) for index, item in enumerate(items)),
            sweep=self.sweep(top.get("sweep", {})),
            targets=tuple(names),
            description=top.get("description", ""),
        )

    def fail(self, path: Path, expected: str, found: str, hint: str = "") -> None:
        place = place_of(find_places(self.text), path)
        at = self.where if place is None else f"{self.where}:{place.line}:{place.column}"
        key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
        raise ConfigError(expected, found, where=f"{at}: {key}" if key else at, hint=hint)

    # Tables ---------------------------------------------------------------------------------------------------------

    def table(self, value: Any, path: Path, parsers: Mapping[str, Callable[[Any], Any]]) -> dict[str, Any]:
        """The values of a table by key; each parser raises ValueError with what it expected, and perhaps a hint."""
        if not isinstance(value, Mapping):
            self.fail(path, "a table", repr(value)[:40])
        found = {}
        for key, item in value.items():
            if key not in parsers:
                hint = _NEAR_FLUSH.get(key.lower()) or hint_for_key(key, item, parsers, _TABLES)
                self.fail((*path, key), "a key that storscope knows", repr(key)[:60], hint)
            try:
                found[key] = parsers[key](item)
            except ValueError as error:
                self.fail((*path, key), error.args[0], repr(item)[:60], *error.args[1:])
        return found

    def items(self, value: Any, path: Path) -> list[Any]:
        if isinstance(value, Mapping):
            name = ".".join(part for part in path if isinstance(part, str))
            self.fail(path, "a list", "a single table", f"Each has a table of its own, under a line [[{name}]].")
        if not isinstance(value, list):
            self.fail(path, "a list", repr(value)[:40])
        return list(value)

    def workload(self, value: Any, path: Path) -> Workload:
        if isinstance(value, Mapping) and "targets" in value:
            hint = "Begin the workload with [[workload]], its streams with [[workload.stream]], and put targets first."
            self.fail((*path, "targets"), "targets above a [[workload]]", "them within a workload", hint)
        top = self.table(value, path, _WORKLOAD)
        if "name" not in top:
            self.fail(path, "a name", "none", 'Write name = "...".')
        if "stream" not in top:
            self.fail(path, "at least one [[stream]]", "none")
        streams = self.items(top.pop("stream"), (*path, "stream"))
        form = {
            **top,
            "streams": [self.stream(item, (*path, "stream", index)) for index, item in enumerate(streams)],
        }
        if "data" in top:
            form["data"] = _renamed(self.table(top["data"], (*path, "data"), _DATA))
        try:
            return Workload.from_json(form)
        except ConfigError as error:
            self.fail((*path, *_toml_path(error.where, streams)), error.expected, error.found)
            raise

    def stream(self, value: Any, path: Path) -> dict[str, Any]:
        found = self.table(value, path, _STREAM)
        form: dict[str, Any] = {key: found[key] for key in ("name", "targets", "workers", "starts") if key in found}
        form["access"] = self.access(found, path)
        form["load"] = self.load(found, path)
        if "think_time" in found:
            form["think_time"] = self.think_time(found["think_time"], (*path, "think_time"))
        if "flush" in found or "flush_every" in found:
            form["flush"] = {"every": found.get("flush_every", 1), "kind": found.get("flush", FlushKind.DATA.value)}
        if "region" in found:
            form["region"] = _renamed(self.table(found["region"], (*path, "region"), _REGION))
        if "offsets" in found:
            form["offsets"] = self.offsets(found["offsets"], (*path, "offsets"))
        return form

    def access(self, found: Mapping[str, Any], path: Path) -> dict[str, Any]:
        if ("line" in found) == ("copy" in found):
            self.fail(path, "either [[stream.line]] or [stream.copy]", "both" if "line" in found else "neither")
        if "copy" in found:
            return {"kind": "copy", **_renamed(self.table(found["copy"], (*path, "copy"), _COPY))}
        lines = self.items(found["line"], (*path, "line"))
        return {
            "kind": "mix",
            "lines": [_renamed(self.table(line, (*path, "line", at), _LINE)) for at, line in enumerate(lines)],
        }

    def load(self, found: Mapping[str, Any], path: Path) -> dict[str, Any]:
        given = [key for key in ("outstanding", "rate_per_s", "steps") if key in found]
        if len(given) != 1:
            self.fail(
                path, "one of outstanding, rate_per_s and steps", " and ".join(given) or "none", _load_hint(given)
            )
        form: dict[str, Any] = {"kind": {"outstanding": "closed", "rate_per_s": "open", "steps": "steps"}[given[0]]}
        form[given[0]] = found[given[0]]
        if given[0] == "steps":
            steps = self.items(found["steps"], (*path, "steps"))
            form["steps"] = [_renamed(self.table(step, (*path, "steps", at), _STEP)) for at, step in enumerate(steps)]
        for key in ("process", "max_outstanding"):
            if key in found and form["kind"] == "closed":
                self.fail((*path, key), "only with rate_per_s or steps", "outstanding")
            if key in found:
                form[key] = found[key]
        return form

    def think_time(self, value: Any, path: Path) -> dict[str, Any]:
        """'5ms', exponential, or a table with mean and process."""
        if not isinstance(value, Mapping):
            value = {"mean": value}
        return _renamed(self.table(value, path, _THINK_TIME))

    def offsets(self, value: Any, path: Path) -> dict[str, Any]:
        """'uniform', or a table with kind."""
        if isinstance(value, str):
            return {"kind": value}
        return self.table(value, path, _OFFSETS)

    def sweep(self, value: Any) -> Sweep:
        return Sweep(**_renamed(self.table(value, ("sweep",), _SWEEP)))


def _in_workloads(key: str) -> str:
    """Where a key of a workload stands in a file with [[workload]] tables."""
    if key == "stream":
        return "In a file with [[workload]] tables, streams stand below theirs, under lines [[workload.stream]]."
    if key == "data":
        return "In a file with [[workload]] tables, each has its own, under a line [workload.data]."
    return f"In a file with [[workload]] tables, {key!r} stands in each of these."


def _load_hint(given: Sequence[str]) -> str:
    """How a load is said, where none is; what bounds the I/Os in flight, where two are."""
    if not given:
        return (
            "outstanding = 8 keeps 8 I/Os in flight; rate_per_s = 200 has 200 arrive each second, slow storage or not."
        )
    both = given == ["outstanding", "rate_per_s"]
    return "With rate_per_s the I/Os in flight are bounded by max_outstanding." if both else ""


# Values ---------------------------------------------------------------------------------------------------------------


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _keep(value: Any) -> Any:
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("a text in quotes")  # noqa: TRY004 (the reader adds place and key to ValueErrors)
    return value


def _size(value: Any) -> int:
    """8192, '8192', '8k', '1.5m', '1g': powers of 1024. Less than a sector needs its unit: who writes 8 means 8 KiB."""
    size = value if _is_count(value) else _size_from_text(value)
    if size < 0:
        raise ValueError('a size like "8k" or 8192')
    if 0 < size < SECTOR_BYTES and _PLAIN.fullmatch(str(value)):
        plain = str(value).strip()
        raise ValueError(
            f"a size with its unit, which below {SECTOR_BYTES} bytes is needed",
            f'{plain} bytes? Write "{plain}k" or "{plain}KiB"; "{plain}B" if bytes are meant.',
        )
    return size


def _size_from_text(value: Any) -> int:
    """-1 for what is no size."""
    try:
        return bytes_from_text(value) if isinstance(value, str) and len(value) <= 30 else -1
    except ValueError:
        return -1


def _duration(value: Any) -> int:
    """'10ms', '1.5s', '2m30s', in nanoseconds; 0 needs no unit."""
    if value == 0 and not isinstance(value, bool):
        return 0
    try:
        return ns_from_text(value if isinstance(value, str) and len(value) <= 40 else "")
    except ValueError:
        raise ValueError('a duration with its unit like "10ms" or "2m30s", the larger unit first') from None


def _ratio(value: Any) -> float:
    """0.7 or '70%'."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    match = re.fullmatch(r"\s*(\d{1,3}(?:\.\d{1,12})?)\s*%\s*", value) if isinstance(value, str) else None
    if match is None or float(match[1]) > 100:
        raise ValueError('a ratio like 0.7 or "70%"', *_per_cent_hint(value))
    return float(match[1]) / 100


def _per_cent_hint(value: Any) -> list[str]:
    """Of a number that can only be per cent, as fio and vdbench have them."""
    plain = str(value).strip()
    is_number = not isinstance(value, bool) and re.fullmatch(r"\d{1,3}(\.\d{1,12})?", plain)
    return [f'Per cent have their sign, in quotes: "{plain}%".'] if is_number and 1 < float(plain) <= 100 else []


def _share(value: Any) -> float:
    """A weight, which need not be below 1; '70%' is 0.7."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf"):
        return float(value)
    return _ratio(value)


def _counts(value: Any) -> tuple[int, ...]:
    sound = isinstance(value, list) and all(_is_count(item) and 0 < item <= 32_768 for item in value)
    if not sound:
        raise ValueError("a list of numbers from 1 to 32768")
    return tuple(value)


def _flush_kind(value: Any) -> str:
    """The system call; who writes a number means how often."""
    if value not in list(FlushKind):
        raise ValueError('"fdatasync" or "fsync"', "How often is said by flush_every, in writes.")
    return str(value)


def _flush_every(value: Any) -> int:
    if not _is_count(value) or not 0 < value < 2**32:
        raise ValueError("writes per flush, a whole number from 1 to 4294967295", "Without flushes leave it out.")
    return value


_Parsers = Mapping[str, Callable[[Any], Any]]
_FILE: _Parsers = {"workload": _keep, "sweep": _keep, "targets": _keep, "description": _text}
_WORKLOAD: _Parsers = {"name": _text, "source": _text, "verification": _text, "data": _keep, "stream": _keep}
_LINE: _Parsers = {
    "size": _size, "share": _share, "read_share": _ratio, "random_share": _ratio, "delay": _duration, "burst": _keep,
    "align": _size, "reply": _size,
}  # fmt: skip
_COPY: _Parsers = {
    "size": _size, "destination": _keep, "destination_start": _size, "random_share": _ratio,
}  # fmt: skip
_DATA: _Parsers = {
    "compressible_ratio": _ratio, "duplicate_ratio": _ratio, "duplicate_contents": _keep, "duplicate_block": _size,
    "pool": _size, "seed": _keep,
}  # fmt: skip
_STREAM: _Parsers = {
    "name": _text, "workers": _keep, "starts": _text, "targets": _keep, "outstanding": _keep, "rate_per_s": _keep,
    "steps": _keep, "process": _keep, "max_outstanding": _keep, "think_time": _keep, "flush_every": _flush_every,
    "flush": _flush_kind, "offsets": _keep, "region": _keep, "line": _keep, "copy": _keep,
}  # fmt: skip
_REGION: _Parsers = {"start": _size, "length": _size}
_STEP: _Parsers = {"rate_per_s": _keep, "duration": _duration}
_THINK_TIME: _Parsers = {"mean": _duration, "process": _keep}
_OFFSETS: _Parsers = {
    "kind": _text, "exponent": _keep, "access_share": _ratio, "space_share": _ratio, "start_share": _ratio,
}  # fmt: skip
_SWEEP: _Parsers = {
    "outstanding": _counts, "workers": _counts, "targets": _counts, "duration": _duration, "ramp_up": _duration,
}  # fmt: skip
_TABLES: Mapping[str, _Parsers] = {
    "a [[stream]]": _STREAM, "a [[stream.line]]": _LINE, "[stream.copy]": _COPY, "[data]": _DATA,
    "the workload, above its streams": _WORKLOAD, "region of a [[stream]]": _REGION, "steps of a [[stream]]": _STEP,
    "think_time of a [[stream]]": _THINK_TIME, "offsets of a [[stream]]": _OFFSETS,
    "a [sweep], above [[workload]] tables": _SWEEP, "the file, above [[workload]] tables": _FILE,
}  # fmt: skip
"""All tables by what hints call them; a key of several is looked for in this order."""
_JSON_NAMES = {
    "size": "size_bytes", "delay": "delay_ns", "align": "align_bytes", "reply": "reply_bytes", "pool": "pool_bytes",
    "duplicate_block": "duplicate_block_bytes",
    "destination_start": "destination_start_bytes", "start": "start_bytes", "length": "length_bytes",
    "mean": "mean_ns", "duration": "duration_ns", "ramp_up": "ramp_up_ns",
}  # fmt: skip
TOML_NAMES = {json_name: name for name, json_name in _JSON_NAMES.items()}
"""Field of the JSON form -> its key here."""


def _renamed(table: Mapping[str, Any]) -> dict[str, Any]:
    return {_JSON_NAMES.get(key, key): value for key, value in table.items()}


def _toml_path(where: str, streams: Sequence[Any]) -> Path:
    """streams[0].access.lines[2].size_bytes as the path ('stream', 0, 'line', 2, 'size').

    Of a flush the key that its stream has: `streams` are as they are written.
    """
    path: list[str | int] = []
    for name, index in re.findall(r"(\w+)(?:\[(\d+)\])?", where):
        if name == "load" or (name == "access" and "lines" in where):
            continue
        path.append({"streams": "stream", "lines": "line", "access": "copy"}.get(name) or TOML_NAMES.get(name, name))
        if index:
            path.append(int(index))
    if path[-1] == "flush" and "flush_every" in streams[int(path[1])]:
        path[-1] = "flush_every"
    return tuple(path)
