"""What is doubted of a figure stands beside it, where it is read, and once."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import pytest

from storscope.bench.judgement import Judgement
from storscope.bench.settling import Estimate
from storscope.cli.main import run
from storscope.cli.show_judgement import other_doubts, print_judgement
from storscope.domain.units import NS_PER_S
from storscope.workbench.cache_filling import full_words

_DESIGN = Path(__file__).parents[2] / "examples" / "designs" / "eva4400-32x10k-vraid5.toml"
_MOVED = "The storage had not settled: IOPS still went from 5,813 IOPS to 5,038 IOPS."


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A minute in which the write cache fills."""
    store, told = tmp_path_factory.mktemp("filled") / "store", io.StringIO()
    with contextlib.redirect_stdout(told):
        assert run(["simulate", str(_DESIGN), "--workload", "oltp", "--store", str(store)]) == 0
    return " ".join(told.getvalue().split())


def test_a_figure_that_still_moves_is_doubted_before_the_next_table(shown: str) -> None:
    figures, _, rest = shown.partition("latency a host sees")
    assert "doubt: The array had not settled: IOPS still went from" in figures
    assert "had not settled" not in rest


def test_a_write_cache_that_was_full_at_the_end_is_named(shown: str) -> None:
    assert "its write cache, empty at the start, was full at the end (506 MiB of 512 MiB dirty)." in shown


@pytest.mark.parametrize(("dirty", "is_full"), [(100, True), (95, True), (94, False), (0, False)])
def test_only_a_full_cache_is_called_full(dirty: int, is_full: bool) -> None:
    cache = {"dirty_pages": dirty, "dirty_limit_pages": 100, "page_bytes": 16384}
    assert bool(full_words({"cache": cache})) == is_full
    assert full_words({"cache": None}) == full_words({"cache": {**cache, "dirty_limit_pages": 0}}) == ""


def test_of_a_measurement_too_and_nothing_is_said_twice(capsys: pytest.CaptureFixture[str]) -> None:
    judgement = Judgement("iops", 0, NS_PER_S, "", "", {"iops": Estimate(8115.0, 2868.0, 13362.0)}, (_MOVED,))
    print_judgement(judgement, NS_PER_S)
    assert f"doubt: {_MOVED}" in " ".join(capsys.readouterr().out.split())
    assert other_doubts(("Holes.", _MOVED), judgement) == ["Holes."]
    assert other_doubts(("Holes.",), None) == ["Holes."]
