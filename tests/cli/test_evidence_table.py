"""Evidence on a narrow terminal: no column and no heading is lost."""

from __future__ import annotations

import pytest

from storscope.cli.evidence_table import column_sets, print_evidence
from storscope.domain.finding import EvidenceRows

_COLUMNS = ("drive", "queue_depth_mean", "queue_depth_max", "latency_ns_mean", "latency_ns_mean_max", "ops_per_s_mean")


def _rows() -> EvidenceRows:
    rows = tuple((f"default/{number}", 1.5, 20.25, 7_000_000, 90_000_000, 71.5) for number in range(12))
    return EvidenceRows("Queues of drives", _COLUMNS, rows, "SELECT 1", 12)


@pytest.mark.parametrize("width", [60, 80, 200])
def test_every_column_is_whole_at_any_width(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    print_evidence(_rows())
    lines = capsys.readouterr().out.splitlines()
    text = "\n".join(lines)
    for name in _COLUMNS:
        assert name in text
    assert max(len(line.rstrip()) for line in lines) <= width
    parts = sum(line.startswith("drive") for line in lines)
    assert parts == sum("default/7" in line for line in lines), "each part names its rows"
    assert (parts == 1) == (width == 200)
    assert "8 of 12 rows" in text


def test_a_column_wider_than_the_terminal_is_folded_and_nothing_repeated_takes_the_room() -> None:
    assert column_sets([100, 5, 5], [False, True, True], 80) == [[0], [1, 2]]
    assert column_sets([5, 40, 40], [False, True, True], 80) == [[0, 1], [0, 2]]
    assert column_sets([5, 40, 10], [False, True, True], 80) == [[0, 1, 2]]
    assert column_sets([90], [False], 80) == [[0]]


def test_columns_without_a_value_are_named_and_take_no_room(capsys: pytest.CaptureFixture[str]) -> None:
    rows = (("default/1", 1.5, None, None, None, 0.0), ("default/2", None, None, None, None, None))
    print_evidence(EvidenceRows("Queues of drives", _COLUMNS, rows, "SELECT 1", 2))
    table, _, below = capsys.readouterr().out.partition("   not known of these: ")
    assert below.splitlines()[0] == "queue_depth_max, latency_ns_mean, latency_ns_mean_max"
    assert "queue_depth_mean" in table
    assert "ops_per_s_mean" in table, "zero is a value"
    assert "latency" not in table


def test_a_table_without_any_value_keeps_its_columns() -> None:
    nothing = EvidenceRows("Nothing", ("a", "b"), ((None, None),), "SELECT 1", 1)
    assert nothing.without_unknown() == EvidenceRows("Nothing", ["a", "b"], [[None, None]], "SELECT 1", 1)
    assert not nothing.unknown_columns
    without_rows = EvidenceRows("No rows", ("a", "b"), (), "SELECT 1", 0)
    assert list(without_rows.without_unknown().columns) == ["a", "b"]


@pytest.mark.parametrize(("value", "words"), [
    (20_000.0, "20,000"), (9999.7, "10,000"), (9999.4, "9,999"), (-20_500.0, "-20,500"), (71.5, "71.5"),
])  # fmt: skip
def test_no_figure_has_an_exponent_that_needs_none(
    value: float, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    print_evidence(EvidenceRows("Latency", ("entity", "latency_ns_mean"), (("v", value),), "SELECT 1", 1))
    assert f" {words}" in capsys.readouterr().out
