"""What fio was asked for, by the options that its JSON shows (fio(1)).

Not told are options that end a run (`runtime`, `io_size`) and floors of a rate (`rate_min`). Of rates, pauses, offsets
and the page cache fio has defaults; of a size it has none that is known: a file needs one, a device has its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from storscope.compare.asked import Asked, Thing
from storscope.compare.asked_things import (
    ARRIVALS,
    BUFFERED,
    DIRECT,
    FLUSHES,
    NO_FLUSHES,
    NO_PAUSE,
    NO_RATE,
    OFFSETS,
    PATH,
    RATE,
    SIZE,
    START,
    THINK_TIME,
    UNIFORM,
    arrivals_thing,
    flush_thing,
    pause_thing,
    per_s,
    rate_thing,
    size_thing,
    start_thing,
    zipf_thing,
)
from storscope.domain.comparison import Load
from storscope.domain.units import NS_PER_US, bytes_from_text, ns_from_text
from storscope.domain.workload import Flush, FlushKind, Process

FORMAT: Final = "fio_json"
"""Of the captures whose runs have all of fio's options as parameters."""
_TOOL: Final = "fio"
_BENDS_A_RATE: Final = {"rate_cycle": "1000", "rate_ignore_thinktime": "0"}
_BENDS_A_PAUSE: Final = {
    "thinktime_blocks": "1", "thinktime_blocks_type": "complete", "thinktime_iotime": "0", "thinktime_spin": "0",
}  # fmt: skip
"""Options that are compared as they are written, and their defaults."""
_ZIPF_EXPONENT: Final = 1.1
"""Where none is given (fio(1), random_distribution)."""


def asked_of_fio(options: Mapping[str, str], load: Load) -> Asked:
    """Of a job; nothing of one without options (fio before 2.3)."""
    if not options:
        return Asked()
    things = {**dict(_pace(options, load)), **dict(_places(options, load))}
    return Asked(_TOOL, {PATH: _path(options)}, [("", things)], has_pauses=things[THINK_TIME].value is not None)


def _path(options: Mapping[str, str]) -> Thing:
    if "direct" in options:
        return DIRECT if _is_on(options["direct"]) else BUFFERED
    if "buffered" in options:
        return BUFFERED if _is_on(options["buffered"]) else DIRECT
    return replace(BUFFERED, is_unsaid=True)


def _is_on(text: str) -> bool:
    return text.strip() not in ("0", "false")


# Pace -----------------------------------------------------------------------------------------------------------------


def _pace(options: Mapping[str, str], load: Load) -> Iterator[tuple[str, Thing]]:
    yield FLUSHES, _flushes(options)
    rate = _rate(options, load)
    yield RATE, rate
    if rate.value is not None:
        is_random = options.get("rate_process", "").strip() == "poisson"
        arrivals = arrivals_thing(Process.POISSON if is_random else Process.FIXED)
        yield ARRIVALS, replace(arrivals, is_unsaid="rate_process" not in options)
        yield from _as_written(options, _BENDS_A_RATE)
    pause = _think_time(options.get("thinktime"))
    yield THINK_TIME, pause
    if pause.value is not None:
        yield from _as_written(options, _BENDS_A_PAUSE)


def _flushes(options: Mapping[str, str]) -> Thing:
    """None where it says nothing: that is no habit of fio's but what was asked for. Of two kinds both are told."""
    given = {kind: options[kind].strip() for kind in FlushKind if options.get(kind, "0").strip() != "0"}
    if not given:
        return NO_FLUSHES
    words = " and ".join(f"{kind}={text}" for kind, text in given.items())
    ((kind, text), *others) = given.items()
    if others or not text.isdecimal():
        return Thing(words, f"as {words} says")
    return flush_thing(Flush(int(text), kind))


def _as_written(options: Mapping[str, str], defaults: Mapping[str, str]) -> Iterator[tuple[str, Thing]]:
    for name, default in defaults.items():
        text = options.get(name, default)
        yield name, Thing(text, text, is_usual=text == default, is_unsaid=name not in options)


def _rate(options: Mapping[str, str], load: Load) -> Thing:
    """I/Os per second of all directions and processes; of a mix with a rate for one direction that and which.

    As it is written where sizes or shares are not known.
    """
    for name, size_bytes in (("rate_iops", 1.0), ("rate", load.block_bytes)):
        text = options.get(name, "")
        each = _of_directions(text)
        if each == (0.0, 0.0):
            continue
        if each is None or size_bytes is None or load.read_ratio is None:
            return Thing(f"{name}={text}", f"as {name}={text} says")
        limits = _limits(each, load.read_ratio)
        rates = {which: limit / size_bytes * (load.workers or 1.0) for which, limit in limits.items() if limit}
        if len(rates) == len(limits):
            return rate_thing(sum(rates.values()))
        for which, rate in rates.items():
            return Thing((which, rate), f"{per_s(rate)} of {which} alone")
    return replace(NO_RATE, is_unsaid=True)


def _of_directions(text: str) -> tuple[float, float] | None:
    """What reads and writes are held to, 0 for no limit: '500', '500,200', '500,' or ',200'. None for anything else."""
    limits = [_size(part) if part.strip() else 0.0 for part in text.split(",")]
    read, write = limits[0], limits[min(1, len(limits) - 1)]
    return None if read is None or write is None else (read, write)


def _limits(each: tuple[float, float], read_ratio: float) -> dict[str, float]:
    """Of the directions that are used; one without a limit (0) goes as fast as it can beside the other (fio 3.33)."""
    shares = {"reads": read_ratio, "writes": 1 - read_ratio}
    return {direction: limit for (direction, share), limit in zip(shares.items(), each, strict=True) if share > 0}


def _think_time(text: str | None) -> Thing:
    """In microseconds without a unit."""
    if text is None:
        return replace(NO_PAUSE, is_unsaid=True)
    try:
        return pause_thing(int(text) * NS_PER_US if text.strip().isdecimal() else ns_from_text(text))
    except ValueError:
        return Thing(text, text)


# Places ---------------------------------------------------------------------------------------------------------------


def _places(options: Mapping[str, str], load: Load) -> Iterator[tuple[str, Thing]]:
    if load.random_ratio != 0:
        yield OFFSETS, _offsets(options.get("random_distribution"))
    start_bytes = _size(options.get("offset", "0"))
    if start_bytes is not None:
        yield START, replace(start_thing(start_bytes), is_unsaid="offset" not in options)
    text = options.get("filesize") or options.get("size")
    if text:
        size_bytes = _size(text)
        is_part = size_bytes is not None and _uses_one_part(options, load)
        yield SIZE if is_part else "size", Thing(text, text) if size_bytes is None else size_thing(size_bytes)


def _uses_one_part(options: Mapping[str, str], load: Load) -> bool:
    """Whether its size is that of the only part of an only target, not of files of each process, or shared by files."""
    names = options.get("filename", "")
    is_alone = bool(names) or load.workers == 1
    return is_alone and ":" not in names and options.get("nrfiles", "1") == "1" and "offset_increment" not in options


def _offsets(text: str | None) -> Thing:
    if text is None:
        return replace(UNIFORM, is_unsaid=True)
    kind, _, exponent = text.strip().partition(":")  # with a centre behind it, it is compared as it is written
    if kind == "random":
        return UNIFORM
    if kind == "zipf":
        try:
            return zipf_thing(float(exponent.partition("/")[0] or _ZIPF_EXPONENT))  # fio reads over a slash
        except ValueError:
            pass
    return Thing(text, text)


def _size(text: str) -> float | None:
    try:
        return float(bytes_from_text(text))
    except ValueError:
        return None
