"""Every value of a TOML text has its place, also inside of inline tables and lists."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storscope.bench.workloads.builtin import builtins
from storscope.bench.workloads.definition import Definition
from storscope.bench.workloads.toml_write import write_toml
from storscope.domain.toml_lines import find_places, place_of
from storscope.domain.workload import Workload
from tests.bench.workloads.strategies import workloads
from tests.bench.workloads.test_toml import TEXT
from tests.growth import TIMES_LONGER, growth

_ODD = '''\
# [not.a] table = 1
"a key" = [ # with a remark, = and ]
    { b = "x = ] # }", 'c.d' = [[1, 2], [ ], 3.5e2] },
    """several
lines = [ "quoted" ] \\""" # of text""", 'plain \\',
]
dotted . key = 1979-05-27 07:32:00
[table.inner]   # a remark
s = \'\'\'
k = 1\'\'\'
[[list]]
x = true
[list.sub]
y = 0x1
[[list]]
z = {}
[[list.deep]]
w = [ { v = 1 } , { v = 2, u = { t = "\\"" } } , ]
'''
_EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "designs").glob("*.toml"))
_TEXTS = [TEXT, _ODD, *(path.read_text() for path in _EXAMPLES)]


def _leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    if isinstance(value, dict | list) and value:
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in inner:
            yield from _leaves(item, (*path, key))
    else:
        yield path, value


def _is_there(text: str, line: int, column: int, value: Any) -> bool:
    """Whether a value can be read from there."""
    rest = "\n".join(text.split("\n")[line - 1 :])[column - 1 :]
    for end in range(1, len(rest) + 1):
        try:
            if tomllib.loads("x = " + rest[:end])["x"] == value:
                return True
        except tomllib.TOMLDecodeError:
            continue
    return False


def _check(text: str) -> None:
    places = find_places(text)
    for path, value in _leaves(tomllib.loads(text)):
        assert path in places, path
        assert _is_there(text, *places[path], value), (path, places[path])


@pytest.mark.parametrize("text", _TEXTS)
def test_a_value_can_be_read_from_its_place(text: str) -> None:
    _check(text)


@pytest.mark.parametrize("name", builtins())
def test_of_what_we_write_too(name: str) -> None:
    _check(write_toml(Definition("builtin", (builtins()[name].workload,)))[0])


@given(workloads())
def test_whatever_texts_are_in_it(workload: Workload) -> None:
    _check(write_toml(Definition("x", (workload,)))[0])


def test_a_table_stands_where_its_name_does_and_what_is_missing_at_the_table_around_it() -> None:
    places = find_places(TEXT)
    assert TEXT.split("\n")[places["stream", 0, "line", 1].line - 1] == "[[stream.line]]"
    assert places["data",] == (4, 2)
    assert place_of(places, ("stream", 0, "line", 0, "nothing", 5)) == places["stream", 0, "line", 0] == (16, 3)
    assert place_of(places, ("nothing",)) is None
    assert find_places("a = 1\r\nb = { c = 2 }\r\n")["b", "c"] == (2, 11)


@given(st.text(max_size=200), st.integers(0, len(TEXT)))
def test_of_what_is_no_toml_it_says_something_or_nothing(garbage: str, place: int) -> None:
    find_places(TEXT[:place] + garbage + TEXT[place:])


def _streams(count: int) -> str:
    return 'name = "x"\n' + "\n".join(f"[[stream]]\nline = [{{ size = {n} }}]" for n in range(count))


def test_a_long_text_takes_as_long_as_its_parts() -> None:
    assert find_places(_streams(20_000))["stream", 19_999, "line", 0, "size"].line == 40_001
    assert growth(find_places, _streams, 20_000) < 3 * TIMES_LONGER


def test_deep_nesting_does_not_lose_what_comes_before_it() -> None:
    assert find_places("x = " + "[" * 100_000) != {}
