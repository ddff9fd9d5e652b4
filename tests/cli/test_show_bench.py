"""A measurement for people: what the figures are of, and intervals that say something."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from storscope.bench.judgement import Judgement
from storscope.bench.settling import Estimate
from storscope.cli.live_line import LiveLine
from storscope.cli.main import run
from storscope.cli.show_judgement import estimate_words, print_judgement
from storscope.cli.show_knee import print_knee
from storscope.domain.units import NS_PER_S
from tests.report.knees import DISTURBED, result


@pytest.mark.parametrize(
    ("name", "estimate", "words"),
    [
        ("iops", Estimate(1000.0, 950.0, 1050.0), "1,000 IOPS ±5.0 % (950 IOPS to 1,050 IOPS)"),
        ("p50", Estimate(32_400.0, 25_500.0, 39_400.0), "32.4 µs ±22 % (25.5 µs to 39.4 µs)"),
        ("p50", Estimate(20_000.0, 18_000.0, 27_000.0), "20.0 µs −10 %/+35 % (18.0 µs to 27.0 µs)"),
        ("iops", Estimate(1000.0, 800.0, 1000.0), "1,000 IOPS −20 %/+0 % (800 IOPS to 1,000 IOPS)"),
        ("iops", Estimate(1000.0, 980.0, 1012.0), "1,000 IOPS ±2.0 % (980 IOPS to 1,012 IOPS)"),
        ("iops", Estimate(1000.0, 0.0, 4000.0), "1,000 IOPS (too little data for an interval)"),
        ("p99", Estimate(400_000.0, 200_000.0, 3_600_000.0), "400 µs (200 µs to 3.60 ms)"),
        ("p99", Estimate(400_000.0, 200_000.0, None), "400 µs (too little data for an interval, at least 200 µs)"),
        ("iops", Estimate(9.0, 8.0, None), "9.00 IOPS (too little data for an interval, at least 8.00 IOPS)"),
        ("p99", Estimate(0.0, 0.0, None), "0 ns (too little data for an interval)"),
        ("iops", Estimate(0.0, 0.0, 0.0), "0 IOPS (0 IOPS to 0 IOPS)"),
        ("mean", Estimate(0.0, 0.0, 0.0), "0 ns (0 ns to 0 ns)"),
    ],
)
def test_an_interval_wider_than_the_figure_or_lopsided_is_no_plus_or_minus(
    name: str, estimate: Estimate, words: str
) -> None:
    assert estimate_words(name, estimate) == words


def test_figures_of_a_part_say_of_how_much(capsys: pytest.CaptureFixture[str]) -> None:
    judgement = Judgement("iops", 0, 20 * NS_PER_S, "No warm-up was found.", "It ended.", {"iops": Estimate(1e3, 1, 2)})
    print_judgement(judgement, 10 * NS_PER_S, 20 * NS_PER_S)
    print_judgement(judgement, 20 * NS_PER_S, 20 * NS_PER_S + 30_000_000)
    out = capsys.readouterr().out
    assert "over 10 s of the run's 20 s. No warm-up" in out
    assert "over 20 s. No warm-up" in out


_HOSTILE = """
targets = ["/dev/a\\u001b[2J"]
[[workload]]
name = "w\\u001b[2J\\nFORGED"
[[workload.stream]]
name = "one\\u001b[2J\\nFORGED"
outstanding = 1
line = [{ size = "4k" }]
[[workload.stream]]
name = "two\\u009b2J\\rFORGED"
rate_per_s = 50
line = [{ size = "4k" }]
"""


@pytest.mark.parametrize("options", [
    ("--duration", "100ms"), ("--dry-run",), ("--sweep", "--duration", "100ms"), ("--sweep", "--dry-run"),
    ("--knee", "--dry-run"),
])  # fmt: skip
def test_names_of_a_workload_cannot_command_a_terminal(
    options: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "w.toml").write_text(_HOSTILE)
    (tmp_path / "data").mkdir()
    arguments = ["bench", str(tmp_path / "data"), "--workload", str(tmp_path / "w.toml"), "--size", "4M"]
    run([*arguments, "--store", str(tmp_path / "store"), *options])
    shown = "".join(capsys.readouterr())
    assert "FORGED" in shown
    assert not {"\x1b", "\x9b", "\r"} & set(shown)
    assert not [line for line in shown.splitlines() if line.startswith("FORGED")]


def test_a_knee_shows_names_without_their_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "w\x1b[2J\nFORGED"
    hostile = replace(result(target=name), workload={"name": name}, load_words=(name,), doubts=(name,))
    print_knee(hostile, tmp_path)
    shown = capsys.readouterr().out
    assert shown.count("w [2J FORGED") == 4
    assert "\x1b[2J" not in shown


def test_a_knee_names_the_visits_that_its_curve_leaves_out(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    print_knee(result(), tmp_path)
    lines = capsys.readouterr().out.splitlines()
    assert f"300         300     4.00 ms     18.0 ms  left out of the curve of the mean ({DISTURBED})" in [
        line.strip() for line in lines
    ]
    assert sum("left out of the curve of the mean and the p99" in line for line in lines) == 1
    assert [line for line in lines if "x left out of the curve" in line]
    assert sum(line.count("x") for line in lines if "│" in line) == 2


def test_the_live_line_shows_names_without_their_commands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    line = LiveLine(1)
    line.say("w\x1b[2J\nFORGED")
    line._draw("w\x9b2J\rFORGED")
    assert capsys.readouterr().err == "w [2J FORGED\n\r\x1b[Kw 2J FORGED"
