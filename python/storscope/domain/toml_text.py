"""Reads TOML; what is no TOML is told with line and column, what was expected, what was found, and what to try.

`tomllib` says what it stumbled over in the words of its grammar. People forget quotes around a unit, write `key:
value`, or leave a bracket open: that is what the messages are about. Its own words are those of Python 3.11 to 3.13; a
message that is not known is handed on as it is. No message has a control character of the text in it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from typing import Any, NamedTuple

from storscope.domain.errors import ConfigError
from storscope.domain.toml_places import Place, first_line_of, offset_of, place_at, position
from storscope.domain.toml_values import QUOTES, how_written, place_of_value, plain_of

_WHERE_TOML_BREAKS = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_SHOWN = 40
"""Characters of what was found."""
_KEYS = "Keys are letters, digits, _ and -; any other stands in quotes."
_REMARKS = "Remarks begin with #."


class _Said(NamedTuple):
    expected: str
    found: str
    hint: str = ""
    offset: int | None = None
    """Where it is, if it is not where tomllib noticed it."""


def parsed_toml(text: str, where: str) -> dict[str, Any]:
    """The tables of a text. Raises ConfigError with `where`, line and column."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _told(text.replace("\r\n", "\n"), str(error), where) from None
    except ValueError:
        raise ConfigError("TOML with whole numbers of 64 bits", "one of thousands of digits", where=where) from None
    except RecursionError:
        raise ConfigError("TOML that is nested less deeply", "hundreds of levels", where=where) from None


def _told(text: str, message: str, where: str) -> ConfigError:
    found = _WHERE_TOML_BREAKS.fullmatch(message)
    if found is None:
        return ConfigError("TOML", message, where=where)
    place = place_at(text, len(text) if found[2] is None else offset_of(text, int(found[2]), int(found[3])))
    said = _said(found[1], place)
    line, column = position(text, place.offset if said.offset is None else said.offset)
    expected, found_words, hint = (_CONTROL.sub("\ufffd", words.replace("\t", " ")) for words in said[:3])
    return ConfigError(expected, found_words, where=f"{where}:{line}:{column}", hint=hint)


def _said(message: str, place: Place) -> _Said:
    if place.quote is not None and not message.startswith(_ABOUT_BACKSLASHES):
        return _open_text(place)
    unclosed = _unclosed(place)
    if unclosed is not None:
        return unclosed
    told = next((tell for start, tell in _BY_MESSAGE.items() if message.startswith(start)), None)
    return _Said("TOML", message) if told is None else told(place)


def _shown(found: str) -> str:
    """Of a line, so much that it is recognised."""
    found = found.strip(" \t")
    words = repr(found if len(found) <= _SHOWN else f"{found[:_SHOWN]}...").replace("\\\\", "\\")
    return words if found else "nothing"


def _line_at(place: Place, offset: int) -> str:
    return place.text[offset:].partition("\n")[0].rstrip()


# What is open ---------------------------------------------------------------------------------------------------------


def _open_text(place: Place) -> _Said:
    """Of a text whose quotes are not closed, or which has a sign that no text may have."""
    assert place.quote is not None
    quote, offset = place.quote
    if len(quote) == 1 and place.rest:
        return _Said("a text without control characters", _shown(place.rest[:1]))
    expected = f"{quote} at the end of the text that begins here"
    if len(quote) == 3:
        return _Said(expected, "the end of the file", "", offset)
    line = _line_at(place, offset)
    hint = f"A text of several lines stands in {quote * 3}."
    if 1 < len(line) <= _SHOWN:
        before = f"{place.key} = " if place.key else ""
        hint = f"Write {before}{line.rstrip(QUOTES + ',; ')}{quote}. {hint}"
    if line.endswith('\\"'):
        hint = r"\" is a quote inside of a text. Write a backslash twice, or the text in single quotes."
    return _Said(expected, _shown(line), hint, offset)


_NEXT = re.compile(r"""[ \t]*(?:\[{1,2}[ \t]*[A-Za-z][\w\-. ]*\]|["']?[\w\-.]+["']?[ \t]*=)""")
"""A line that begins a statement."""


def _unclosed(place: Place) -> _Said | None:
    """Of a bracket that an earlier line opened, where a new statement begins or the file ends."""
    if not place.opened or place.is_header:
        return None
    bracket, offset = place.opened[-1]
    start = place.text.rfind("\n", 0, place.offset) + 1
    is_at_end = not place.text[place.offset :].strip()
    if bracket == "{" and is_at_end and "\n" not in place.text[offset : place.offset].rstrip():
        return _Said("} at the end of the table that begins here", "the end of the line", "", offset)
    if bracket == "[" and (is_at_end or (offset < start and _NEXT.match(place.text, start))):
        line = position(place.text, start)[0]
        found = "the end of the file" if is_at_end else f"{_shown(_line_at(place, start))} in line {line}"
        return _Said("] at the end of the list that begins here", found, "", offset)
    return None


# By the message of tomllib --------------------------------------------------------------------------------------------


def _hint(known: tuple[tuple[str, str], ...], text: str) -> str:
    """The words of the first pattern with which the text begins."""
    return next((words for pattern, words in known if re.match(pattern, text)), "")


_NO_STATEMENT = (
    (r"<{7}|={7}|>{7}", "It marks a conflict between two versions of the file."),
    (r"//|;|/\*|<!--|%", _REMARKS),
    (r"[\]}]", "Nothing is open that it would close."),
    (r"=", "The key is missing before the =."),
    (r"\{", "A table begins with its name in brackets, on a line of its own: [name]."),
    (rf"[{QUOTES}]", 'Quotes are straight: ".'),
    (r"[^\x00-\x7f]", _KEYS),
)


def _no_statement(place: Place) -> _Said:
    return _Said("a key, a [table] or a remark behind #", _shown(place.rest), _hint(_NO_STATEMENT, place.rest))


_BEHIND = (
    (r";$", "A line ends without a semicolon."),
    (r",$", "A line ends without a comma."),
    (r"""[,;]?\s*["']?[A-Za-z_][\w\-.]*["']?\s*=""", "Each key has a line of its own."),
    (r"//|;|--|/\*", _REMARKS),
    (r"[\]}]", "Nothing is open that it would close."),
)


def _more(place: Place) -> _Said:
    rest = place.rest.strip(" \t\r\n")
    if place.is_header:
        if rest[:1] == "]":
            return _no_head(place)
        return _Said("nothing more behind the name of a table", _shown(rest), "Its keys follow on lines of their own.")
    value = place.text[place.item : place.offset].strip()
    hint = _hint(_BEHIND, rest)
    if not hint and value.endswith(("]", "}")):
        hint = "A value is one text, number, list or table."
    if not hint and value[:1] in ("'", '"') and value:
        hint = _beside_quotes(value[0], rest, place)
    if hint:
        return _Said("nothing more behind the value", _shown(rest), hint)
    return _Said("a value", _shown(place.written), how_written(place), place_of_value(place))


def _beside_quotes(quote: str, rest: str, place: Place) -> str:
    if any(one in rest for one in QUOTES):
        other = "'" if quote == '"' else '"'
        return f"A text that has {quote} in it stands in {other}."
    return f"All of the text stands in the quotes: {quote}{plain_of(place.written).replace(quote, '')}{quote}."


def _no_value(place: Place) -> _Said:
    if place.rest[:1] == "," and place.opened:
        return _Said("a value", "a comma", "Between two commas of a list stands a value.")
    written = place.written
    return _Said("a value", _shown(written), how_written(place), place_of_value(place) if written else None)


def _no_equals(place: Place) -> _Said:
    rest = place.rest.strip()
    before = place.text[place.text.rfind("\n", 0, place.offset) + 1 : place.offset]
    key = re.split(r"[,{]", before)[-1].strip()
    value = (re.split("[,}]", rest)[0] if place.opened else rest).lstrip(": ").strip()
    if key.startswith("--"):
        hint = _REMARKS
    elif not rest:
        hint = "A key has a value; a table has its name in brackets, and a remark begins with #."
    elif rest[0] in ",}":
        hint = "A table in braces has keys and values, { key = value }; a list stands in [ ]."
    elif re.match(r"[\w\-. ]+=", rest) and before[-1:].isspace():
        name = re.split(r"\s*=", rest)[0]
        hint = f"A key has no blanks: {key}_{name.replace(' ', '_')}, or in quotes."
    elif not rest[0].isascii() and rest[0] not in QUOTES:
        hint = _KEYS
    else:
        hint = f"Write {key} = {value}." if value else "Between key and value stands =, no colon."
    return _Said(f"= behind the key {key}", _shown(rest), hint)


def _no_key(place: Place) -> _Said:
    if place.is_header:
        return _no_head(place)
    if place.opened and not place.rest.strip():
        return _no_line_break(place)
    if place.opened and place.rest.lstrip()[:1] == "}":
        return _Said("a key behind the comma", "}", "A table in braces has no comma at its end.")
    return _Said("a key", _shown(place.rest), _KEYS)


def _no_line_break(place: Place) -> _Said:
    hint = "A table in braces stands on one line; a longer one has a [name] and its keys on lines of their own."
    return _Said("} on the line of the table that begins here", "the end of the line", hint, place.opened[-1][1])


def _list_goes_on(place: Place) -> _Said:
    return _goes_on(place, "a comma or ] behind the value", "Values of a list have commas between them.")


def _table_goes_on(place: Place) -> _Said:
    if not place.rest.strip():
        return _no_line_break(place)
    return _goes_on(place, "a comma or } behind the value", "Keys of a table in braces have commas between them.")


def _goes_on(place: Place, expected: str, hint: str) -> _Said:
    """A comma is missing, or quotes are."""
    value, rest = place.text[place.item : place.offset].strip(), place.rest
    begins_another = re.match(r"""\s*(?:[\d"'\[{+-]|[\w\-.]+\s*=)""", rest)
    if re.fullmatch(r"[\w+\-.:]+", value) and not begins_another and rest[:1] not in ("]", "}", "/", ";"):
        return _Said("a value", _shown(place.written), how_written(place), place_of_value(place))
    if value[:1] in ("'", '"') and value and rest.count(value[0]) % 2:
        hint = f"A {value[0]} is missing before it, or there is one too many."
    hints = ((r"[\]}]", "Lists stand in [ ], tables in { }."), (r"//|;", _REMARKS))
    return _Said(expected, _shown(rest), _hint(hints, rest) or hint)


_HEAD = re.compile(r"\s*(\[\[[^\[\]]+\]\](?!\])|\[[^\[\]]+\](?!\]))")


def _again(place: Place) -> _Said:
    if place.is_header and not _HEAD.match(_line_at(place, place.statement)):
        return _no_head(place)
    name, first = first_line_of(place)
    kind, what = ("table", f"[{name}]") if place.is_header else ("key", name)
    hint, found = "", f"{what}, which is there in another form"
    if first is not None:
        hint = f"One table has [{name}]; of several of that name each has [[{name}]]." if place.is_header else ""
        found = f"{what} again, after line {first}"
    return _Said(f"each {kind} once", found, hint, _begin_of_statement(place))


def _begin_of_statement(place: Place) -> int:
    line = _line_at(place, place.statement)
    return place.statement + len(line) - len(line.lstrip(" \t"))


def _again_in_braces(place: Place) -> _Said:
    return _Said("each key once", f"{place.key or 'a key'} again in one table")


def _no_head(place: Place) -> _Said:
    line = _line_at(place, place.statement).split("#")[0].strip()
    name = line.strip("[]{}() ").split("=")[0].strip()
    brackets = 2 if line.startswith("[[") or line.endswith("]]") else 1
    hint = f"Write {'[' * brackets}{name}{']' * brackets}." if re.fullmatch(r"\w[\w\-.]*\w", name) else _KEYS
    return _Said("the name of a table between [ ] or [[ ]]", _shown(line), hint, _begin_of_statement(place))


def _backslash(place: Place) -> _Said:
    line = _line_at(place, place.quote[1] if place.quote else place.item)
    hint = r"Write each backslash twice, or the text in single quotes, as 'C:\data'."
    return _Said(r"a text in which every backslash begins a sign such as \n", _shown(line), hint)


def _no_date(place: Place) -> _Said:
    return _Said("a date that exists", _shown(place.written), "As 2026-11-22 or 2026-11-22T10:30:00Z.")


def _control(place: Place) -> _Said:
    return _Said("a text without control characters", _shown(place.rest[:1]))


_ABOUT_BACKSLASHES = ("Unescaped", "Invalid hex value", "Escaped character")
_BY_MESSAGE: dict[str, Callable[[Place], _Said]] = {
    "Invalid statement": _no_statement,
    "Expected newline or end of document": _more,
    "Invalid value": _no_value,
    "Expected '=' after a key": _no_equals,
    "Invalid initial character for a key part": _no_key,
    "Unclosed array": _list_goes_on,
    "Unclosed inline table": _table_goes_on,
    "Cannot overwrite a value": _again,
    "Cannot declare": _again,
    "Cannot redefine namespace": _again,
    "Cannot mutate immutable namespace": _again,
    "Duplicate inline table key": _again_in_braces,
    "Expected ']": _no_head,
    "Invalid date or datetime": _no_date,
    "Found invalid character": _control,
    "Illegal character": _control,
    **dict.fromkeys(_ABOUT_BACKSLASHES, _backslash),
}
"""By the beginning of a message of tomllib."""
