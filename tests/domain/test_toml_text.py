"""What is no TOML is told with the place, what was expected, what was found, and what to try."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storscope.cli.main import run
from storscope.diagnose.rules import rules
from storscope.diagnose.thresholds import load_thresholds
from storscope.domain.errors import ConfigError
from storscope.domain.toml_text import parsed_toml
from tests.bench.workloads.test_toml import TEXT
from tests.growth import TIMES_LONGER, growth

HEAD = 'name = "x"\n[[stream]]\n'
"""Stands before each mistake, which begins in line 3."""
_FILE = Path(__file__).parent / "toml_mistakes.txt"
"""Lines of a mistake behind `| `, then what is said of it."""
IOSTAT = Path(__file__).parents[1] / "importers" / "iostat_json" / "sysstat_12.6_debian12.json"


def _mistakes() -> list[tuple[str, str]]:
    found = []
    for block in _FILE.read_text(encoding="utf-8").split("\n\n"):
        lines = block.rstrip("\n").split("\n")
        typed = [line.removeprefix("|").removeprefix(" ") for line in lines if line.startswith("|")]
        found.append(("\n".join(typed), "\n".join(lines[len(typed) :])))
    return found


def test_there_are_many_mistakes() -> None:
    assert len(_mistakes()) >= 100


@pytest.mark.parametrize(("text", "words"), _mistakes(), ids=[text for text, _ in _mistakes()])
def test_a_mistake_is_told_with_its_place_and_what_to_try(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parsed_toml(f"{HEAD}{text}\n", "w.toml")
    assert caught.value.message() == words


@pytest.mark.parametrize(("text", "column"), [('a = "x\0y"', 7), ("# x\x01", 4), ("a = 'x\x7f'", 7)])
def test_a_control_character_is_told(text: str, column: int) -> None:
    with pytest.raises(ConfigError, match=rf"^w\.toml:1:{column}: expected a text without control characters, found '"):
        parsed_toml(text, "w.toml")


def test_nothing_of_the_text_commands_a_terminal() -> None:
    for text in ("a = \x1b[2Jx", '"\x1b[2J" 5', "[\x1b[2J", "\x1b[2J = 1", 'a = { "\x1b[2J" }'):
        with pytest.raises(ConfigError) as caught:
            parsed_toml(text, "w.toml")
        assert "\x1b" not in caught.value.message()


def test_windows_ends_of_lines_move_no_place() -> None:
    with pytest.raises(ConfigError, match=r"^w\.toml:2:5: "):
        parsed_toml("a = 1\r\nb = 2 s\r\n", "w.toml")


@pytest.mark.parametrize("message", ["Something new (at line 1, column 2)", "Something new"])
def test_what_python_says_otherwise_is_handed_on(message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def other(_: str) -> None:
        raise tomllib.TOMLDecodeError(message)

    monkeypatch.setattr(tomllib, "loads", other)
    with pytest.raises(ConfigError, match=r"^w\.toml(:1:2)?: expected TOML, found Something new\.$"):
        parsed_toml("a = 1", "w.toml")


@pytest.mark.parametrize("text", ["a = " + "9" * 5000, "a = " + "[" * 3000])
def test_what_python_cannot_hold_is_told(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^w\.toml: expected TOML "):
        parsed_toml(text, "w.toml")


@given(st.integers(0, len(TEXT)), st.text("[]{}\"'=,.#\n\\ \tax5é:;-\x00", max_size=3), st.integers(0, 4))
def test_every_mistake_has_a_place_in_the_text_and_words_of_ours(at: int, typed: str, lost: int) -> None:
    text = TEXT[:at] + typed + TEXT[at + lost :]
    try:
        assert parsed_toml(text, "w.toml") == tomllib.loads(text)
    except ConfigError as error:
        line, column = map(int, error.where.removeprefix("w.toml:").split(":"))
        assert 1 <= line <= text.count("\n") + 1
        assert column >= 1
        assert error.expected != "TOML", error.found


def _unclosed(lines: int) -> str:
    return "a = [\n" + "".join(f'"{number}",\n' for number in range(lines)) + "b = 5\n"


def _tell(text: str) -> None:
    line = text.count("\n")
    with pytest.raises(ConfigError, match=rf"^w\.toml:1:5: expected ] .* found 'b = 5' in line {line}"):
        parsed_toml(text, "w.toml")


def test_a_mistake_at_the_end_of_a_large_file_takes_as_long_as_its_lines() -> None:
    assert growth(_tell, _unclosed, 50_000) < 3 * TIMES_LONGER


@pytest.mark.parametrize("verb", ["workload", "schedule", "thresholds"])
def test_every_file_in_toml_is_answered_alike(verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('name = "x"\n[[stream]]\nname = 5 s\n')
    design = tmp_path / "design.toml"
    design.touch()
    commands = {
        "workload": ["workload", "show", str(file)],
        "schedule": ["simulate", str(design), "--workload", "oltp", "--schedule", str(file)],
        "thresholds": ["diagnose", str(IOSTAT), "--thresholds", str(file), "--store", str(tmp_path / "s")],
    }
    assert run(commands[verb]) == 2
    assert f"{file}:3:8: expected a value, found '5 s'.\n  Texts, and numbers with a unit" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[convoy]\n# why\nshare_maxx = 1\n", ":3: [convoy] share_maxx: expected a threshold of that rule"),
        ("\n[convoys]\n", ":2: [convoys]: expected a rule, found 'convoys'.\n  Did you mean 'convoy'?"),
        ('[tiers]\n"a" = "disk"\n"naa.6*" = "tape"\n', ":3: [tiers] naa.6*: expected 'flash' or 'disk', found 'tape'"),
        ("tiers = 1\n", ":1: [tiers]: expected a table of patterns"),
    ],
)
def test_a_wrong_threshold_is_told_with_its_line(text: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_text(f"\ufeff{text}", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_thresholds(rules(), file)
    assert caught.value.message().startswith(f"{file}{words}")
