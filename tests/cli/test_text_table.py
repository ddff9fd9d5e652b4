"""Tables and sentences on a terminal."""

from __future__ import annotations

import pytest

from storscope.cli.text_table import print_sentences, print_table, table_lines

_HEADS = ("volume", "mean", "share of it")
_ROWS = [("esx1/data", "1.30 ms", "drive queue 55 %, join 28 %, service 2 %"), ("log", "640 µs", "join 100 %")]


def test_columns_are_as_wide_as_their_cells() -> None:
    assert table_lines(_HEADS, _ROWS, left=(0, -1)) == [
        "  volume        mean  share of it",
        "  esx1/data  1.30 ms  drive queue 55 %, join 28 %, service 2 %",
        "  log         640 µs  join 100 %",
    ]
    assert table_lines(("a", "b"), [("1", "22")], left=()) == ["  a   b", "  1  22"]


@pytest.mark.parametrize("width", range(46, 70))
def test_the_last_column_is_wrapped_below_itself_and_never_before_a_unit(width: int) -> None:
    lines = table_lines(_HEADS, _ROWS, left=(0, -1), width=width)
    assert all(len(line) <= width for line in lines)
    assert all(line.startswith(" " * 22) for line in lines[2:-1])
    assert not any(line.lstrip().startswith("%") for line in lines)
    assert " ".join("".join(lines[1:-1]).split()) == " ".join(_ROWS[0])


def test_a_last_column_without_room_is_left_as_it_is() -> None:
    assert len(table_lines(_HEADS, _ROWS, left=(0, -1), width=30)) == 3
    assert len(table_lines(_HEADS, _ROWS, left=(0,), width=46)) == 3


def test_without_a_terminal_lines_are_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    print_sentences("word " * 100)
    print_table("title", ("", ""), [("a", "word " * 100)], left=(0, -1))
    sentence, *table = capsys.readouterr().out.splitlines()
    assert sentence == ("word " * 100).strip()
    assert table == ["title", "  a  " + ("word " * 100).strip(), ""]
    monkeypatch.setenv("COLUMNS", "60")
    print_sentences("word " * 20, "  ")
    print_sentences("word " * 20)
    assert [line[:4] for line in capsys.readouterr().out.splitlines()] == ["  wo", "  wo", "word", "  wo"]
    print_table("title", ("head",), [])
    assert capsys.readouterr().out == ""


def test_text_of_files_is_no_command_to_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_sentences("a\x1b[31mb\x07")
    print_table("title", ("head",), [("c\x1b[2Jd",)])
    assert "\x1b" not in capsys.readouterr().out
