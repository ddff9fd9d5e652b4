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
