"""Units: how numbers enter (conversions) and how they are shown (formats).

Inside storscope a duration is in nanoseconds, a size in bytes, a rate per second, a ratio from 0 to 1 and an
instant in nanoseconds since 1970-01-01 UTC. Conversions happen where data enters and where it is printed.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
import re
from typing import Final

NS_PER_US = 1_000
NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000

PLACEHOLDER_BEFORE_NS = 365 * 86_400 * NS_PER_S
"""Instants in 1970 stand for times that a source did not have: no capture is that old."""

KIB = 1024
MIB = 1024**2
GIB = 1024**3
SECTOR_BYTES = 512
"""The kernel and most tools count sectors of 512 bytes whatever the device's own block size (iostat(1))."""


def ns_from_us(us: float) -> float:
    """Microseconds to nanoseconds."""
    return us * NS_PER_US


def ns_from_ms(ms: float) -> float:
    """Milliseconds to nanoseconds."""
    return ms * NS_PER_MS


def bytes_from_kib(kib: float) -> float:
    """KiB (1,024 bytes) to bytes."""
    return kib * KIB


def bytes_from_mib(mib: float) -> float:
    """MiB (1,048,576 bytes) to bytes."""
    return mib * MIB


def ratio_from_percent(percent: float) -> float:
    """Per cent to a ratio; values above 100 stay above 1."""
    return percent / 100.0


YEARS: Final = range(1970, 2200)
"""Years of a time stamp that is read: 64 bits of nanoseconds end in 2262, and what lies outside is damage."""


def ns_from_datetime(moment: dt.datetime) -> int:
    """Nanoseconds since 1970 UTC of an aware datetime. A naive one is refused: a zone is never guessed here."""
    if moment.tzinfo is None:
        raise ValueError("a naive datetime has no place on the time line; attach its zone first")
    delta = moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    return (delta.days * 86_400 + delta.seconds) * NS_PER_S + delta.microseconds * NS_PER_US


def datetime_from_ns(time_ns: int) -> dt.datetime:
    """The UTC datetime of an instant; what is finer than a microsecond is cut off."""
    return dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=time_ns // NS_PER_US)


def _three_digits(value: float) -> str:
    """Three significant digits, without an exponent: 0.123, 1.23, 12.3, 123, 1,234."""
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    decimals = max(0, 2 - math.floor(math.log10(size)))
    return f"{value:.{decimals}f}"


def _missing(value: float | None) -> bool:
    return value is None or math.isnan(value)


def format_duration(ns: float | None) -> str:
    """A latency or a short duration with a unit: '830 ns', '45.2 µs', '18.5 ms', '2.10 s'. Absent is a dash."""
    if ns is None or _missing(ns):
        return "–"
    for size, unit in ((NS_PER_S, "s"), (NS_PER_MS, "ms"), (NS_PER_US, "µs")):
        if abs(ns) >= size:
            return f"{_three_digits(ns / size)} {unit}"
    return f"{_three_digits(ns)} ns"


def format_span(ns: float | None) -> str:
    """A long duration as people say it: '45 s', '12 min', '3 h 05 min', '2 d 4 h'."""
    if ns is None or _missing(ns):
        return "–"
    seconds = ns / NS_PER_S
    if seconds < 1:
        return format_duration(ns)
    if seconds < 120:
        return f"{_three_digits(seconds)} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 120:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes:02d} min"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h"


def format_instant(ns: int | None) -> str:
    """An instant since a start, or a length that is known, to the second: '5.25 s', '2 min 10 s', '1 h 00 min 05 s'."""
    if ns is None:
        return format_span(ns)
    seconds = round(ns / NS_PER_S)
    if seconds < 120:
        return format_span(ns) if ns else "0 s"
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    whole = f"{hours} h {minutes:02d} min" if hours else f"{minutes} min"
    return f"{whole} {seconds:02d} s" if seconds else whole


def format_bytes(size: float | None) -> str:
    """A size in binary units: '4 KiB', '1.50 GiB'. Absent is a dash."""
    if size is None or _missing(size):
        return "–"
    for factor, unit in ((1024**5, "PiB"), (1024**4, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if abs(size) >= factor:
            shown = size / factor
            return f"{shown:.0f} {unit}" if shown == round(shown) else f"{_three_digits(shown)} {unit}"
    return f"{size:.0f} B"


def format_bandwidth(bytes_per_s: float | None) -> str:
    """Bytes per second in decimal units, as links are sold: '93.1 MB/s'. Absent is a dash."""
    if bytes_per_s is None or _missing(bytes_per_s):
        return "–"
    for factor, unit in ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")):
        if abs(bytes_per_s) >= factor:
            return f"{_three_digits(bytes_per_s / factor)} {unit}"
    return f"{bytes_per_s:.0f} B/s"


def format_rate(per_s: float | None, what: str = "IOPS") -> str:
    """A rate: '2,844 IOPS'. Absent is a dash."""
    if per_s is None or _missing(per_s):
        return "–"
    return f"{_three_digits(per_s)} {what}"


def format_ratio(ratio: float | None) -> str:
    """A ratio as per cent: '98 %', '0.4 %', '> 99.9 %' for nearly all, '< 0.001 %' for hardly any. Absent is a dash."""
    if ratio is None or _missing(ratio):
        return "–"
    percent = 100 * ratio
    if 0 < percent < 0.001:
        return "< 0.001 %"
    if percent != 0 and abs(percent) < 1:
        return f"{percent:.2g} %"
    if 99.5 < percent < 100:
        return "> 99.9 %" if percent > 99.9 else f"{percent:.1f} %"
    return f"{percent:,.0f} %"


def format_count(count: float | None) -> str:
    """A plain number with separators: '374,175,073'. Absent is a dash."""
    if count is None or _missing(count):
        return "–"
    return f"{count:,.0f}" if count == round(count) else _three_digits(count)


def format_rounded(count: float) -> str:
    """A number of three significant digits at most, without an exponent: '0.123', '32', '499', '1,100'."""
    return format_count(float(f"{count:.3g}"))


def format_time(time_ns: int | None, zero_ns: int | None = None) -> str:
    """An instant in UTC to the second: '2026-11-21 02:30:05Z'. Absent is a dash.

    Of a virtual clock that began at `zero_ns` it is the time since: 'start + 2 min 10 s'. Sources without times are
    placed from 1970 on to keep their order (PLACEHOLDER_BEFORE_NS); they show 'start + 20 s' too.
    """
    if time_ns is None:
        return "–"
    if zero_ns is not None:
        return f"start + {format_instant(time_ns - zero_ns)}"
    if 0 <= time_ns < PLACEHOLDER_BEFORE_NS:
        return f"start + {format_span(time_ns)}"
    return datetime_from_ns(time_ns).strftime("%Y-%m-%d %H:%M:%SZ")


_UTC_TEXT = re.compile(r"^(\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2})(?:(\.\d*[1-9])0*|\.0+)?\+00:00$")
"""How Python writes a UTC datetime."""


def utc_text(text: str, zero_ns: int | None = None) -> str:
    """A UTC datetime as Python writes it, told as `format_time` tells it, in UTC with its fraction of a second.

    Any other text stays as it is.
    """
    match = _UTC_TEXT.match(text)
    if match is None:
        return text
    if zero_ns is None:
        return f"{match[1]}{match[2] or ''}Z"
    return format_time(ns_from_datetime(dt.datetime.fromisoformat(text)), zero_ns)


_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgtp]?)(i?)b?\s*", re.IGNORECASE)


def bytes_from_text(text: str) -> int:
    """A size people write: '64k', '1M', '512', '16MiB'. All prefixes are binary, as storage tools take them (fio(1)).

    Raises ValueError when the text is no size.
    """
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError(f"expected a size like 4096, 64k or 1MiB, found {text!r}")
    size = float(match[1]) * float(KIB) ** " kmgtp".index(match[2].lower() or " ")
    if not size < 2**63:
        raise ValueError(f"expected a size below 8 EiB, found {text[:40]!r}")
    return round(size)


_DURATION_PART = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*(ns|us|µs|ms|s|min|m|h|d)(?![a-zµ])\s*")
_UNIT_NS = {
    "ns": 1, "us": NS_PER_US, "µs": NS_PER_US, "ms": NS_PER_MS, "s": NS_PER_S, "m": 60 * NS_PER_S, "min": 60 * NS_PER_S,
    "h": 3600 * NS_PER_S, "d": 86_400 * NS_PER_S,
}  # fmt: skip


def ns_from_text(text: str) -> int:
    """A duration with its units, as people write it: '20ms', '5 m', '1.5h', '.5s', '2m30s', '1 h 30 min'.

    Raises ValueError when it is none, and when a unit comes twice or after a smaller one: '30s2m' is a slip.
    """
    parts = list(_DURATION_PART.finditer(text))
    if not parts or "".join(part[0] for part in parts) != text:
        raise ValueError(f"expected a duration like 20ms, 5m or 1h30m, found {text!r}")
    units = [_UNIT_NS[part[2]] for part in parts]
    if any(unit <= next_unit for unit, next_unit in itertools.pairwise(units)):
        raise ValueError(f"expected each unit of a duration once, the larger first, as in 1h30m, found {text!r}")
    return sum(_part_ns(part[1], unit) for part, unit in zip(parts, units, strict=True))


def _part_ns(number: str, unit_ns: int) -> int:
    """Exact also where a float is not."""
    whole, _, fraction = number.partition(".")
    parts_of_one: int = 10 ** len(fraction)
    return int(whole or 0) * unit_ns + round(int(fraction or 0) * unit_ns / parts_of_one)


_COUNT_FACTOR = {"k": 1e3, "m": 1e6, "g": 1e9}


def count_from_text(text: str) -> int:
    """A count people write: '5000000', '500k' or '5M', in powers of ten. Raises ValueError when it is none."""
    factor = _COUNT_FACTOR.get(text[-1:].lower())
    try:
        return round(float(text) if factor is None else float(text[:-1]) * factor)
    except (ValueError, OverflowError):
        raise ValueError(f"expected a count like 500k or 5M, found {text[:40]!r}") from None
