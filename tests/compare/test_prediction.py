"""A simulated run beside a measured one is a prediction: it is off by so much, and neither better nor worse."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from storscope.cli.main import run as storscope
from storscope.domain.comparison import PREDICTION, Outcome
from storscope.domain.comparison_json import comparison_to_json
from storscope.domain.recorder import Recorder
from tests.compare.evidence import Writer, compared, device, noisy, only, row, run
from tests.support.cases import make_store

SCHEMA = json.loads((Path(__file__).parent.parent.parent / "docs" / "compare.schema.json").read_text())
SIMULATOR = "storscope-sim"
SLOW, FAST = noisy(1000, seed=1), noisy(1500, seed=2)


def measured(iops: list[float] | float, **more: float) -> Writer:
    return run("a", iops, engine="vdbench", **more)


def predicted(iops: list[float] | float, **more: float) -> Writer:
    return run("a", iops, engine=SIMULATOR, id="simulation-1", **more)


def test_a_prediction_is_off_by_so_much_and_not_judged(tmp_path: Path) -> None:
    pair = only(compared(tmp_path, [measured(SLOW)], [predicted(FAST)]))
    iops = row(pair, "iops")
    assert (pair.predicted, iops.outcome, iops.better, iops.reason) == ("after", None, None, PREDICTION)
    assert (iops.off_by, iops.off_by_low, iops.off_by_high) == (iops.change, iops.change_low, iops.change_high)
    assert iops.off_by == pytest.approx(0.5, abs=0.03)
    assert {one.outcome for one in pair.rows} == {None}


def test_whichever_side_it_is(tmp_path: Path) -> None:
    """Predicted / measured - 1, though after / before - 1 is of the measurement."""
    pair = only(compared(tmp_path, [predicted(FAST)], [measured(SLOW)]))
    iops = row(pair, "iops")
    assert (pair.predicted, iops.off_by) == ("before", pytest.approx(iops.before / iops.after - 1))
    assert iops.off_by_low is not None
    assert iops.off_by_high is not None
    assert iops.off_by_low < iops.off_by < iops.off_by_high


def test_two_simulated_runs_are_judged_as_ever(tmp_path: Path) -> None:
    pair = only(compared(tmp_path, [predicted(FAST)], [predicted(SLOW)]))
    assert (pair.predicted, row(pair, "iops").off_by) == (None, None)
    assert row(pair, "iops").outcome is Outcome.WORSE


@pytest.mark.parametrize("engine", [SIMULATOR, "vdbench"])
def test_what_is_too_short_to_judge_is_to_be_repeated(
    engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of two minutes of a simulated hog it was only said to measure longer."""
    for side, seed in (("a", 5), ("b", 6)):
        values = noisy(1000, 40, seed=seed, rho=0.99, spread=0.3)
        make_store(tmp_path / side, run("w", values, engine=engine, id=f"run-{side}"))
    assert storscope(["compare", str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("CANNOT TELL")
    assert "three or more a side tell" in said
    assert ("with another --seed" in said) == (engine == SIMULATOR)


def test_runs_are_called_predicted_and_measured_wherever_they_are_named(tmp_path: Path) -> None:
    """The headline spoke of predictions, and the reason beneath of 'the run after'."""
    invalid = run("a", SLOW, engine="vdbench", status="invalid")
    pair = only(compared(tmp_path, [predicted(FAST)], [invalid]))
    assert row(pair, "latency").reason == "the latencies of the measured run do not mean what they say"


def test_how_long_a_prediction_is_simulated_is_no_load(tmp_path: Path) -> None:
    pair = only(compared(tmp_path, [measured(1000, duration_s=300)], [predicted(1500, duration_s=60)]))
    assert pair.is_comparable
    assert "The sides ran for unlike times: 5 min measured, 60 s predicted." in " ".join(pair.notes)


def test_a_prediction_of_another_load_is_none(tmp_path: Path) -> None:
    pair = only(compared(tmp_path, [measured(SLOW)], [predicted(FAST, read_ratio=0.0)]))
    assert row(pair, "iops").outcome is Outcome.UNDECIDED
    assert "NOT THE SAME LOAD: share of reads" in pair.warnings[0]


def test_the_depth_that_was_kept_is_said(tmp_path: Path) -> None:
    """64 were configured; 1,000 a second of 29 ms each are 29 at a time."""
    kept = measured(1000, latency_ns=29e6, outstanding=64.0)
    pair = only(compared(tmp_path, [kept], [predicted(2000, outstanding=64.0)]))
    assert (
        "the measurement kept 29.0 in flight of 64 configured outstanding I/Os, the prediction 64.0."
        in pair.warnings[0]
    )
    assert "Predict with 29 outstanding, too" in pair.warnings[0]


def test_a_prediction_of_the_depth_that_was_kept_is_one(tmp_path: Path) -> None:
    kept = measured(1000, latency_ns=29e6, outstanding=64.0)
    pair = only(compared(tmp_path, [kept], [predicted(1200, outstanding=29.0)]))
    assert pair.is_comparable
    assert "both sides kept about 29.0 in flight of 64 configured" in pair.warnings[0]
    other = only(compared(tmp_path / "other", [kept], [predicted(1200, outstanding=16.0)]))
    assert not other.is_comparable


def test_simulated_counters_beside_measured_ones_are_a_prediction(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def simulated(recorder: Recorder) -> None:
        predicted(1000)(recorder)
        device("sda", [1500.0] * 40, [1e6] * 40)(recorder)

    make_store(tmp_path / "m", device("sda", [1000.0] * 40, [1e6] * 40))
    make_store(tmp_path / "s", lambda recorder: recorder.warn("empty"), simulated)
    sides = [f"{tmp_path / 'm'}#entity=sda", f"{tmp_path / 's'}#entity=sda"]
    assert storscope(["compare", *sides, "--fail-on", "worse"]) == 0
    assert capsys.readouterr().out.startswith("PREDICTION: iops of device sda off by +50.0 %")


def test_the_json_says_so_and_keeps_to_its_schema(tmp_path: Path) -> None:
    found = comparison_to_json(compared(tmp_path, [measured(SLOW)], [predicted(FAST)]))
    jsonschema.validate(found, SCHEMA)
    assert found["pairs"][0]["predicted"] == "after"
    assert found["pairs"][0]["rows"][0]["off_by"] is not None
    assert set(found["counts"].values()) == {0}


def test_the_terminal_says_predicted_measured_and_off_by(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_store(tmp_path / "m", measured(1000))
    make_store(tmp_path / "s", predicted(750))
    sides = [str(tmp_path / "m"), str(tmp_path / "s")]
    assert storscope(["compare", *sides, "--fail-on", "cannot-tell"]) == 0
    said = capsys.readouterr().out
    lines = [" ".join(line.split()) for line in said.splitlines()]
    assert lines[0] == "PREDICTION: iops of a off by −25.0 %"
    assert "access specification metric predicted measured off by" in lines
    assert "one value each iops 750 /s 1,000 /s −25.0 %" in lines
    assert not any(word in said for word in ("BETTER", "WORSE", "three or more runs", "cannot tell"))


def test_of_many_predictions_those_that_are_off_most_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first of a sweep would say that all are as near; half is as far off as twice."""
    off = {"a": 0.99, "b": 1.01, "c": 0.98, "d": 0.25, "e": 3.0}
    make_store(tmp_path / "m", *(run(name, 1000, engine="vdbench") for name in off))
    simulated = (run(name, 1000 * times, engine=SIMULATOR, id=f"simulation-{name}") for name, times in off.items())
    make_store(tmp_path / "s", *simulated)
    assert storscope(["compare", str(tmp_path / "s"), str(tmp_path / "m")]) == 0
    assert capsys.readouterr().out.splitlines()[0] == (
        "PREDICTION: iops of d off by −75.0 %, iops of e off by +200 %, iops of c off by −2.0 % and 2 less; "
        "56 % on average"
    )
