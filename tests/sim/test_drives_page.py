"""What `docs/drives.md` says of a drive's parameters is so: which are needed, and what the others are by default."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from storscope.domain.access import AccessSpec, Mix
from storscope.domain.errors import StorscopeError
from storscope.domain.load import Closed
from storscope.domain.workload import Stream, Workload
from storscope.sim.design import Design, read_design
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of

_PAGE = (Path(__file__).parents[2] / "docs" / "drives.md").read_text(encoding="utf-8")
_SECTIONS = {"mechanical": "Mechanical drives", "flash": "Flash drives", "curve": "Measured curves"}
_SAMPLES = {
    "mechanical": """
        size = "1 TiB"
        turns_per_min = 7200
        seek = { form = "data_sheet", track_to_track = "1 ms", average = "8 ms", full_stroke = "16 ms" }
        outer_rate = "100 MB/s"
        inner_rate = "50 MB/s"
        overhead = "0.3 ms"
        read_ahead.segments = 4
        read_ahead.segment = "512 KiB"
        write_cache.size = "8 MiB"
        write_cache.extents = 64
        write_cache.window = 16
        queueing.gamma = 0.5
        queueing.depth = 32
    """,
    "flash": """
        size = "1 TiB"
        dies = 8
        page = "8 KiB"
        overhead = "10 us"
        read = "50 us"
        program = "500 us"
        interface_rate = "500 MB/s"
        write_accept = "10 us"
    """,
    "curve": """
        size = "1 TiB"
        reads = [{ qd = 1, iops = 100 }]
        block = "4 KiB"
    """,
}
"""What is needed, and no more."""


@dataclass(frozen=True)
class Row:
    """A parameter of a table: what stands in its last column before the reason."""

    key: str
    default: str

    @property
    def plain(self) -> str:
        """As it is written with a unit."""
        return re.sub(r"_(bytes_per_s|bytes|ns)$", "", self.key)


def _rows(kind: str) -> list[Row]:
    _, _, below = _PAGE.partition(f"\n## {_SECTIONS[kind]}\n")
    lines = below.partition("\n## ")[0].splitlines()
    tables = [list(table) for is_table, table in groupby(lines, lambda line: line.startswith("|")) if is_table]
    parameters = [table[2:] for table in tables if table[0].startswith("| parameter |")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for table in parameters for line in table]
    return [Row(key, row[3].partition(";")[0].strip()) for row in cells for key in re.findall(r"`([\w.]+)`", row[0])]


def _lines(kind: str) -> list[str]:
    return [line.strip() for line in _SAMPLES[kind].strip().splitlines()]


def _key(line: str) -> str:
    return line.partition(" = ")[0]


def _line(row: Row) -> str:
    """A default as a design has it: numbers plain, in the unit of the key; words and what has a unit in quotes."""
    value = row.default.strip("`")
    is_number = re.fullmatch(r"[\d.]+", value)
    is_plain = is_number or value in {"true", "false"}
    return f"{row.key if is_number else row.plain} = {value if is_plain else repr(value)}"


def _design(kind: str, lines: list[str]) -> Design:
    text = "\n".join(
        ['name = "one"', 'group = [{ name = "g", drive = "d", count = 1, layout = "raid0" }]',
         'volume = [{ name = "v", group = "g", size = "1000 GiB" }]',
         'host = [{ name = "h", volumes = [{ volume = "v" }] }]', "[drives.d]", f'kind = "{kind}"', *lines]
    )  # fmt: skip
    return read_design(text, "one.toml")


def _flat(form: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in form.items():
        yield above + key, value
        if isinstance(value, dict) and key != "seek":
            yield from _flat(value, f"{above}{key}.")


@pytest.mark.parametrize("kind", _SECTIONS)
def test_every_parameter_has_a_row(kind: str) -> None:
    form = dict(_flat(_design(kind, _lines(kind)).form["drives"]["d"]))
    assert sorted(row.key for row in _rows(kind)) == sorted(form.keys() - {"kind"})


@pytest.mark.parametrize("kind", _SECTIONS)
def test_what_is_needed_is_refused_without(kind: str) -> None:
    needed = [row.plain for row in _rows(kind) if row.default == "needed"]
    assert sorted(needed) == sorted(_key(line) for line in _lines(kind))
    for key in needed:
        with pytest.raises(StorscopeError, match=rf"\b{key.rpartition('.')[2]}"):
            _design(kind, [line for line in _lines(kind) if _key(line) != key])


@pytest.mark.parametrize("kind", _SECTIONS)
def test_what_is_left_out_has_the_default_that_is_told(kind: str) -> None:
    plain = _design(kind, _lines(kind)).form["drives"]["d"]
    told = [row for row in _rows(kind) if row.default not in {"needed", "none"}]
    assert told
    assert _design(kind, [*_lines(kind), *map(_line, told)]).form["drives"]["d"] == plain


@pytest.mark.parametrize("kind", _SECTIONS)
def test_what_is_not_there_by_default_is_said_to_be_none(kind: str) -> None:
    none = {row.key for row in _rows(kind) if row.default == "none"}
    bare = _design(kind, [line for line in _lines(kind) if "." not in _key(line)])
    assert _absent(bare) == {key for key in none if "." not in key}
    whole = _design(kind, _lines(kind))
    written = {_key(line).partition(".")[0] for line in _lines(kind)}
    assert _absent(whole) == none - written


def _absent(design: Design) -> set[str]:
    return {key for key, value in _flat(design.form["drives"]["d"]) if value is None}


_TABLES = ("read_ahead", "write_cache", "queueing")


def _measured() -> list[tuple[str, str]]:
    """The rows of the table of drives without these tables: what they have, and the rates."""
    return re.findall(rf"^\| (none of the three|`(?:{'|'.join(_TABLES)})`[^|]*) \| (\d.*) \|$", _PAGE, re.MULTILINE)


def test_drives_without_these_tables_are_shown() -> None:
    assert len(_measured()) == 4


@pytest.mark.parametrize(("has", "rates"), _measured())
def test_a_drive_without_these_tables_does_what_the_page_says(has: str, rates: str) -> None:
    kept = tuple(name for name in _TABLES if f"`{name}`" in has)
    lines = [line for line in _lines("mechanical") if not line.startswith(_TABLES) or line.startswith(kept)]
    columns = [(1.0, 0.0), (1.0, 1.0), (0.0, 0.0), (0.0, 1.0)]
    for (read_share, random_share), told in zip(columns, rates.split(" | "), strict=True):
        line = AccessSpec(65_536, read_share=read_share, random_share=random_share)
        for outstanding, rate in zip((1, 8), told.split(", "), strict=True):
            done = _per_s(_design("mechanical", lines), line, outstanding)
            assert done == pytest.approx(float(rate.replace(",", "")), rel=0.05), (
                read_share,
                random_share,
                outstanding,
            )


def _per_s(design: Design, line: AccessSpec, outstanding: int) -> float:
    workload = Workload("w", (Stream(Mix((line,)), Closed(outstanding)),))
    run = simulate(plan_of(design, workload, duration="20s"), started_ns=0)
    return sum(interval.direction("reads", "writes").ios for interval in run.intervals) / 20
