"""A measurement for people: what the figures are of, and intervals that say something."""

from __future__ import annotations

import pytest

from storscope.bench.judgement import Judgement
from storscope.bench.settling import Estimate
from storscope.cli.show_judgement import estimate_words, print_judgement
from storscope.domain.units import NS_PER_S


@pytest.mark.parametrize(
    ("name", "estimate", "words"),
    [
        ("iops", Estimate(1000.0, 950.0, 1050.0), "1,000 IOPS ±5.0 % (950 IOPS to 1,050 IOPS)"),
        ("iops", Estimate(1000.0, 0.0, 4000.0), "1,000 IOPS (too little data for an interval)"),
        ("p99", Estimate(400_000.0, 200_000.0, 3_600_000.0), "400 µs (200 µs to 3.60 ms)"),
        ("p99", Estimate(400_000.0, 200_000.0, None), "400 µs (too little data for an interval, at least 200 µs)"),
    ],
)
def test_an_interval_wider_than_the_figure_is_no_plus_or_minus(name: str, estimate: Estimate, words: str) -> None:
    assert estimate_words(name, estimate) == words


def test_figures_of_a_part_say_of_how_much(capsys: pytest.CaptureFixture[str]) -> None:
    judgement = Judgement("iops", 0, 20 * NS_PER_S, "No warm-up was found.", "It ended.", {"iops": Estimate(1e3, 1, 2)})
    print_judgement(judgement, 10 * NS_PER_S, 20 * NS_PER_S)
    print_judgement(judgement, 20 * NS_PER_S, 20 * NS_PER_S + 30_000_000)
    out = capsys.readouterr().out
    assert "over 10 s of the run's 20 s. No warm-up" in out
    assert "over 20 s. No warm-up" in out
