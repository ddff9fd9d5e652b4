"""The runs of a case are one row each, however many intervals and parts they have."""

from __future__ import annotations

from pathlib import Path

from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from tests.support.cases import make_case

_DESIGN = "[[groups]]\n" * 4_000
"""As long as the text of a design, which is among the parameters of a simulated run."""


def _simulation(recorder: Recorder) -> None:
    recorder.run("r1", engine="storscope-sim", name="oltp", system="a", time_ns=0, parameters={"design_text": _DESIGN})
    for part in range(20):
        for interval in range(20):
            entity = EntityRef("a", "process", f"r1: data on v{part}")
            recorder.observe(entity, interval * 1_000, 1_000, {"ops_per_s": 5.0}, run="r1")


def test_a_run_comes_once_and_its_parameters_too(tmp_path: Path) -> None:
    """Repeated for each interval of each volume, the text of a large design is more than a column of Arrow holds."""
    runs = make_case(tmp_path, _simulation).runs
    assert [(row["run"], dict(row["parameters"])["design_text"]) for row in runs] == [("r1", _DESIGN)]


def test_those_that_are_called_the_same_are_told_with_their_own_names(tmp_path: Path) -> None:
    def benches(recorder: Recorder) -> None:
        for run, label in (("r1", "oltp on /data"), ("r2", "oltp on /data"), ("r3", "backup on /data"), ("r4", None)):
            recorder.entity(EntityRef("a", "job", run), label=label)

    case = make_case(tmp_path, benches)
    told = [case.label(EntityRef("a", "job", run)) for run in ("r1", "r2", "r3", "r4")]
    assert told == ["oltp on /data (r1)", "oltp on /data (r2)", "backup on /data", "r4"]
