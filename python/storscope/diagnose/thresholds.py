"""Thresholds: the rules' defaults, and the user's TOML file over them.

[heavy-hitter]
share_min = 0.6

[tiers]                 # which thresholds suit which entity; patterns as in a shell, first match wins
"naa.6000*" = "flash"
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from storscope.diagnose.rule import Rule
from storscope.domain.errors import ConfigError
from storscope.domain.toml_lines import LineColumn, find_places, place_of
from storscope.domain.toml_text import parsed_toml

_TIERS = ("flash", "disk")
_Lines = dict[tuple[str | int, ...], LineColumn]


@dataclass(frozen=True)
class Thresholds:
    """Every threshold in force, which of them the user changed, and the user's tiers."""

    values: Mapping[str, Mapping[str, float]]
    overridden: tuple[str, ...] = ()
    tier_patterns: tuple[tuple[str, str], ...] = field(default=())


def load_thresholds(rules: Mapping[str, Rule], file: Path | None = None) -> Thresholds:
    """The defaults of `rules`, with the values of `file` over them.

    Raises ConfigError that names the key for an unknown rule or threshold and for what is no number.
    """
    values = {name: rule.defaults() for name, rule in rules.items()}
    if file is None:
        return Thresholds(values)
    settings, lines = _read(file)
    tiers = settings.pop("tiers", {})
    overridden = []
    for rule, table in settings.items():
        if rule not in values:
            raise _unknown(_place(file, lines, (rule,)), rule, [*values, "tiers"], "a rule")
        if not isinstance(table, dict):
            raise ConfigError("a table of thresholds", repr(table), where=_place(file, lines, (rule,)))
        for name, value in table.items():
            if name not in values[rule]:
                raise _unknown(_place(file, lines, (rule, name)), name, list(values[rule]), "a threshold of that rule")
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ConfigError("a number", repr(value), where=_place(file, lines, (rule, name)))
            if value < 0:
                raise ConfigError("a number of 0 or more", repr(value), where=_place(file, lines, (rule, name)))
            if values[rule][name] != value:
                values[rule][name] = float(value)
                overridden.append(f"{rule}.{name}")
    return Thresholds(values, tuple(overridden), _tier_patterns(file, tiers, lines))


def _read(file: Path) -> tuple[dict[str, Any], _Lines]:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigError("a readable TOML file", error.strerror or str(error), where=str(file)) from error
    except UnicodeDecodeError as error:
        raise ConfigError("text in UTF-8", f"byte {error.object[error.start]:#04x}", where=str(file)) from error
    return parsed_toml(text, str(file)), find_places(text)


def _place(file: Path, lines: _Lines, path: tuple[str, ...]) -> str:
    place = place_of(lines, path)
    rule, *name = path
    return f"{file if place is None else f'{file}:{place.line}'}: {' '.join([f'[{rule}]', *name])}"


def _tier_patterns(file: Path, tiers: object, lines: _Lines) -> tuple[tuple[str, str], ...]:
    if not isinstance(tiers, dict):
        raise ConfigError("a table of patterns", repr(tiers), where=_place(file, lines, ("tiers",)))
    for pattern, tier in tiers.items():
        if tier not in _TIERS:
            raise ConfigError("'flash' or 'disk'", repr(tier), where=_place(file, lines, ("tiers", pattern)))
    return tuple(tiers.items())


def _unknown(where: str, name: str, known: list[str], what: str) -> ConfigError:
    close = difflib.get_close_matches(name, known, 1)
    hint = f"Did you mean {close[0]!r}?" if close else "Known are: " + ", ".join(sorted(known)) + "."
    return ConfigError(what, repr(name), where=where, hint=hint)
