"""Options and parameter types that several verbs share."""

from __future__ import annotations

import datetime as dt
import math
import zoneinfo
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from storscope.domain.moment import Moment

DEFAULT_STORE = "storscope-store"
_SECONDS = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "ms": 0.001,
    "s": 1.0,
    "m": 60.0,
    "min": 60.0,
    "h": 3600.0,
    "d": 86400.0,
}
_LEAST_S = 1e-9
"""Inside storscope a duration is whole nanoseconds."""
_MOST_S = 1e9
"""About 31 years: what is longer does not fit 64-bit nanoseconds together with an instant of today."""
_DURATION_WORDS = (
    "a duration like 20s, 5m or 1h30m (units: ns, us, ms, s, m or min, h, d; a plain number is seconds), each "
    "unit once, the larger first, at least 1ns and below 1,000,000,000s"
)


class TimeType(click.ParamType[dt.datetime]):
    """An instant: ISO 8601, with or without a zone."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dt.datetime:
        """The instant; without a zone if none was given."""
        from storscope.domain.units import YEARS

        if isinstance(value, dt.datetime):
            return value
        try:
            moment = dt.datetime.fromisoformat(value)
        except ValueError:
            moment = None
        if moment is None or moment.year not in YEARS:
            self.fail(f"expected a time like 2026-11-20T22:00 or 2026-11-20T22:00+01:00, found {value!r}", param, ctx)
        return moment


class MomentType(click.ParamType["Moment"]):
    """An instant in ISO 8601, UTC if it has no zone, or the time since the start of a simulated run: 0:12:30, 750s."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Moment:
        """The moment."""
        from storscope.domain.moment import SinceStart, moment_from_text

        if isinstance(value, int | SinceStart):
            return value
        try:
            return moment_from_text(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class ZoneType(click.ParamType[zoneinfo.ZoneInfo]):
    """A time zone by its IANA name."""

    name = "zone"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> zoneinfo.ZoneInfo:
        """The zone."""
        if isinstance(value, zoneinfo.ZoneInfo):
            return value
        try:
            return zoneinfo.ZoneInfo(value)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            self.fail(f"expected an IANA zone like Europe/Berlin or UTC, found {value!r}", param, ctx)


class DurationType(click.ParamType[float]):
    """A duration like 20s, 100us or 2m30s, at least 1 ns; a plain number is seconds. Converted to seconds."""

    name = "duration"
    units = tuple(_SECONDS)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds."""
        if isinstance(value, int | float):
            return float(value)
        seconds = _seconds(value)
        if not _LEAST_S <= seconds < _MOST_S:
            self.fail(f"expected {_DURATION_WORDS}, found {value!r}", param, ctx)
        return seconds


def _seconds(text: str) -> float:
    """-1 for what is no duration."""
    from storscope.domain.units import NS_PER_S, ns_from_text

    number = text.rstrip("abcdefghijklmnopqrstuvwxyzµ")
    try:
        return float(number) * _SECONDS[text[len(number) :] or "s"]
    except (ValueError, KeyError):
        pass
    try:
        return ns_from_text(text) / NS_PER_S
    except (ValueError, OverflowError):
        return -1.0


class SizeType(click.ParamType[int]):
    """A size like 4k, 64 KiB or 1T, in powers of 1,024. Converted to bytes."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Bytes."""
        from storscope.domain.units import bytes_from_text

        if isinstance(value, int):
            return value
        try:
            return bytes_from_text(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class NumberType(click.FloatRange):
    """A number in a range. What is none (nan) is in no range, though click has it in all."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number."""
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"expected a number, found {value!r}", param, ctx)
        return number


class ShareType(click.ParamType[float]):
    """A share like 5%, 5 % or 0.05. Converted to a ratio from 0 to 1, without the ends that are told."""

    name = "share"

    def __init__(self, *, above_0: bool = False, below_1: bool = False) -> None:
        """Whether 0, and 1, are refused."""
        self._above_0, self._below_1 = above_0, below_1

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The ratio."""
        if isinstance(value, float):
            return value
        text = str(value).strip()
        try:
            ratio = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            ratio = math.nan
        if not 0 <= ratio <= 1 or (self._above_0 and ratio == 0) or (self._below_1 and ratio == 1):
            told = ((self._above_0, "above 0"), (self._below_1, "below 100 %"))
            ends = " and ".join(words for is_told, words in told if is_told)
            self.fail(f"expected a share like 5% or 0.05{ends and f', {ends}'}, found {value!r}", param, ctx)
        return ratio


def store_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """--store DIR, also from STORSCOPE_STORE."""
    return click.option(
        "--store",
        "store_path",
        type=click.Path(path_type=Path, file_okay=False),
        envvar="STORSCOPE_STORE",
        show_envvar=True,
        help=f"Directory of the store. [default: ./{DEFAULT_STORE}]",
    )(function)


def typed(*names: str) -> list[str]:
    """Those of these parameters of the command that runs which stand on its command line, in the words of its help.

    A default, or an environment variable, may be without effect; what somebody typed may not.
    """
    context = click.get_current_context()
    words = {
        one.name: max(one.opts, key=len) if isinstance(one, click.Option) else one.make_metavar(context)
        for one in context.command.params
    }
    return [words[name] for name in names if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]


def import_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """What the user says about evidence that does not say it."""
    options = [
        click.option("--as", "as_format", metavar="FORMAT", help="Read everything as this format (storscope formats)."),
        click.option("--timezone", type=ZoneType(), help="Zone of times that carry none, e.g. Europe/Berlin."),
        click.option("--system", metavar="NAME", help="Name of the host or array, where the source has none."),
        click.option(
            "--start",
            type=TimeType(),
            help="Time of the first sample, where the source has no times; in --timezone unless it has a zone.",
        ),
        click.option("--interval", type=DurationType(), help="Sampling interval, where the source does not state it."),
        click.option("--year", type=click.IntRange(1970, 2199), help="Year of log lines without one (ESX 3 and 4)."),
        click.option(
            "--day-first/--month-first", default=None, help="Read 03/04/2026 as the 3rd of April, or the 4th of March."
        ),
        click.option("--keep-first", is_flag=True, help="The first report of iostat is data: it was run with -y."),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def refuse_import_options(read: str) -> None:
    """Raises UsageError if any of `import_options` is given where no evidence is read, but what `read` names."""
    from storscope.domain.errors import UsageError

    if given := typed(*IMPORT_OPTIONS):
        raise UsageError(
            f"evidence to read for {', '.join(given)}", read,
            hint="What a store holds was read before. `storscope import --replace FILE` reads it anew, as you say.",
        )  # fmt: skip


IMPORT_OPTIONS: Final = (
    "as_format", "timezone", "system", "start", "interval", "year", "day_first", "keep_first",
)  # fmt: skip
"""The parameters of `import_options`."""


def make_import_options(values: dict[str, Any]) -> Any:
    """The ImportOptions for the values of `import_options`."""
    from storscope.sources.importer import ImportOptions, start_in

    return ImportOptions(
        timezone=values["timezone"],
        start=start_in(values["start"], values["timezone"]),
        interval_s=values["interval"],
        system=values["system"],
        year=values["year"],
        day_first=values["day_first"],
        keep_first=values["keep_first"],
    )
