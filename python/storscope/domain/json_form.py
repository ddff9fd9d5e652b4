"""Values to JSON and back, by the types of their fields: the Python side of what serde derives in Rust.

Supports frozen dataclasses of integers with a range, numbers, texts, enumerations, tuples, optional values and unions
whose members are told apart by `kind`. Refuses unknown and missing fields, a boolean or a fraction where an integer
belongs, and numbers that are not finite, each with the path of the field. Beware that a field without a default must
be there, and that null stands only where a value is optional, as in the Rust types.
"""

from __future__ import annotations

import dataclasses
import enum
import math
import types
import typing
from collections.abc import Mapping
from typing import Annotated, Any, Final

from storscope.domain.errors import ConfigError
from storscope.domain.near_names import did_you_mean


@dataclasses.dataclass(frozen=True)
class Limits:
    """Least and greatest value of an integer."""

    least: int
    greatest: int


U32 = Annotated[int, Limits(0, 2**32 - 1)]
"""A count that is `u32` in Rust."""
U64 = Annotated[int, Limits(0, 2**64 - 1)]
"""Bytes or nanoseconds: `u64` in Rust."""

KIND: Final = "kind"
"""The key that tells the members of a union apart; a class variable of each member."""
_SHOWN_CHARACTERS = 60


def require(sound: bool, path: str, expected: str, found: float | str) -> None:
    """Raises ConfigError, naming the path, unless `sound`. `found` is a number or words of ours."""
    if not sound:
        raise ConfigError(expected, found if isinstance(found, str) else _shown(found), where=path)


def _require_value(sound: bool, path: str, expected: str, value: object) -> None:
    """As `require`, for a value from outside, which is quoted and cut short."""
    if not sound:
        raise ConfigError(expected, _shown(value), where=path)


def encode(value: Any) -> Any:
    """The plain JSON value; every field is written, an absent one as null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        tag = {KIND: getattr(value, KIND)} if hasattr(value, KIND) else {}
        return tag | {field.name: encode(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple):
        return [encode(item) for item in value]
    return value.value if isinstance(value, enum.Enum) else value


def encode_sparsely(value: Any) -> Any:
    """As `encode`, without the fields that are at their default: it stays the same when a field with one is added."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        tag = {KIND: getattr(value, KIND)} if hasattr(value, KIND) else {}
        given = {
            field.name: getattr(value, field.name) for field in dataclasses.fields(value) if _is_given(field, value)
        }
        return tag | {name: encode_sparsely(item) for name, item in given.items()}
    return [encode_sparsely(item) for item in value] if isinstance(value, tuple) else encode(value)


def _is_given(field: dataclasses.Field[Any], value: Any) -> bool:
    made = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
    return bool(getattr(value, field.name) != made)


def decode(wanted: Any, value: Any, path: str = "") -> Any:
    """The value of type `wanted` that a JSON value describes; ConfigError names the path of what does not fit."""
    origin = typing.get_origin(wanted)
    if origin is Annotated:
        return _integer(typing.get_args(wanted)[1], value, path)
    if origin is tuple:
        return _items(typing.get_args(wanted)[0], value, path)
    if origin in {types.UnionType, typing.Union}:
        return _one_of(typing.get_args(wanted), value, path)
    if dataclasses.is_dataclass(wanted):
        return _record(wanted, value, path)
    return _plain(wanted, value, path)


def _plain(wanted: Any, value: Any, path: str) -> Any:
    if wanted is float:
        sound = isinstance(value, int | float) and not isinstance(value, bool) and _is_finite(value)
        _require_value(sound, path, "a number", value)
        return float(value)
    if issubclass(wanted, enum.Enum):
        known = [member.value for member in wanted]
        _require_value(value in known, path, " or ".join(known), value)
        return wanted(value)
    _require_value(isinstance(value, str), path, "a text", value)
    return value


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _integer(limits: Limits, value: Any, path: str) -> int:
    sound = isinstance(value, int) and not isinstance(value, bool) and limits.least <= value <= limits.greatest
    _require_value(sound, path, f"an integer from {limits.least} to {limits.greatest}", value)
    return int(value)


def _items(wanted: Any, value: Any, path: str) -> tuple[Any, ...]:
    _require_value(isinstance(value, list | tuple), path, "a list", value)
    return tuple(decode(wanted, item, f"{path}[{index}]") for index, item in enumerate(value))


def _one_of(members: tuple[Any, ...], value: Any, path: str) -> Any:
    if types.NoneType in members:
        rest = [member for member in members if member is not types.NoneType]
        return None if value is None else decode(rest[0], value, path)
    by_kind = {getattr(member, KIND): member for member in members}
    _require_value(isinstance(value, Mapping), path, "an object", value)
    kind = value.get(KIND)
    _require_value(isinstance(kind, str) and kind in by_kind, f"{path}.{KIND}", " or ".join(by_kind), kind)
    return _record(by_kind[kind], {key: item for key, item in value.items() if key != KIND}, path)


def _record(wanted: Any, value: Any, path: str) -> Any:
    _require_value(isinstance(value, Mapping), path or "the workload", "an object", value)
    hints = typing.get_type_hints(wanted, include_extras=True)
    fields = {field.name: field for field in dataclasses.fields(wanted)}
    within = f"{path}." if path else ""
    known = f"one of {', '.join(fields)}" if fields else f"nothing beside {KIND!r}"
    for key in value:
        if key not in fields:
            where = f"{within}{_shown(key, quote=False)}"
            raise ConfigError(known, "an unknown field", where=where, hint=did_you_mean(key, fields))
    for name, field in fields.items():
        optional = field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
        require(name in value or optional, f"{within}{name}", "a value", "nothing")
    return wanted(**{name: decode(hints[name], item, f"{within}{name}") for name, item in value.items()})


def _shown(value: object, *, quote: bool = True) -> str:
    """A value as errors show it: short, on one line, without control characters."""
    if value is None:
        return "null"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**_SHOWN_CHARACTERS:
        return "a huge integer"
    text = repr(value) if isinstance(value, str | list | dict | tuple) and quote else str(value)
    text = "".join(letter if letter.isprintable() else "?" for letter in text)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."
