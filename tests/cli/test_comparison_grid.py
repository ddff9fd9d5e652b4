"""A comparison on a narrow terminal: no figure, interval or verdict is cut."""

from __future__ import annotations

from pathlib import Path

import pytest

from storscope.cli.show_comparison import print_comparison
from storscope.domain.comparison import Comparison
from storscope.domain.comparison_words import chance, change, interval, interval_off_by, values, verdict
from tests.compare import evidence

_NAME = "random 8 KiB read of db_archive_2019"


def _judged(path: Path) -> Comparison:
    one, other = (evidence.noisy(mean, seed=seed) for mean, seed in ((1000, 1), (700, 2)))
    return evidence.compared(path, [evidence.run(_NAME, one)], [evidence.run(_NAME, other)])


def _predicted(path: Path) -> Comparison:
    one, other = (evidence.noisy(mean, seed=seed) for mean, seed in ((1000, 1), (700, 2)))
    simulated = evidence.run(_NAME, other, engine="storscope-sim")
    return evidence.compared(path, [evidence.run(_NAME, one)], [simulated])


def _lines(comparison: Comparison, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Those of the figures."""
    print_comparison(comparison, verbose=False)
    text = capsys.readouterr().out.split("\n\n")[1]
    return [line.rstrip() for line in text.splitlines()]


@pytest.mark.parametrize("width", [40, 60, 80, 118, 200])
def test_every_figure_is_whole_at_any_width(
    width: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    comparison = _judged(tmp_path)
    lines = _lines(comparison, capsys)
    text = " ".join("\n".join(lines).split())
    assert [line for line in lines if len(line) > width or "…" in line] == []
    for row in comparison.pairs[0].rows:
        cells = [*values(row), change(row.change), interval(row), chance(row.p_value), verdict(row)]
        assert [cell for cell in (row.metric, *cells) if cell not in text] == []
    assert {"by", "chance"} <= {word for line in lines for word in line.split()}
    heads = [line.split() for line in lines if line.split()[:1] in (["access"], ["metric"])]
    assert (heads[0][0] == "access") == (width >= 118), "one table where it has room"


@pytest.mark.parametrize("width", [60, 200])
def test_every_figure_of_a_prediction_is_whole(
    width: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    comparison = _predicted(tmp_path)
    assert comparison.pairs[0].predicted == "after"
    print_comparison(comparison, verbose=False)
    text = capsys.readouterr().out
    for row in comparison.pairs[0].rows:
        cells = [*values(row), change(row.off_by), interval_off_by(row)]
        assert [cell for cell in (row.metric, *cells) if cell not in text] == []


def test_beneath_each_figure_stands_what_is_to_be_held_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    lines = _lines(_judged(tmp_path), capsys)
    assert lines[0].split() == ["metric", "before", "after", "change"]
    assert lines[1:3] == [_NAME, "  120 + 120 intervals"]
    assert lines[3].split()[0] == "latency" and lines[3].endswith("%")
    assert lines[4].split()[0] == "worse" and "by chance < 0.1 %" in lines[4]
