from __future__ import annotations

from pathlib import Path

from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from tests.support.cases import make_case

DEVICE = EntityRef("esx", "device", "naa.1")


def test_what_two_logs_tell_alike_counts_once_and_repetitions_stay(tmp_path: Path) -> None:
    def kernel(recorder: Recorder) -> None:
        for _ in range(3):
            recorder.event(DEVICE, 1_000, "command_aborted", "kernel's words")
        recorder.event(DEVICE, None, "latency_deteriorated", "no time", value=1.0)

    def warnings(recorder: Recorder) -> None:
        recorder.event(DEVICE, 1_000, "command_aborted", "the same in vmkwarning")
        recorder.event(DEVICE, 2_000, "command_aborted", "only here")
        recorder.event(DEVICE, None, "latency_deteriorated", "no time", value=1.0)

    events = make_case(tmp_path / "store", kernel, warnings).events
    assert [event.time_ns for event in events] == [1_000, 1_000, 1_000, 2_000, None, None]
