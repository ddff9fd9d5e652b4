"""What fio cannot pause is not measured with it: it would run at another rate by far."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from storscope.bench.fio_engine import fio_plan
from storscope.domain.access import AccessSpec
from storscope.domain.errors import ConfigError
from storscope.domain.load import Closed, Process, ThinkTime
from storscope.domain.units import KIB, MIB, NS_PER_MS
from storscope.domain.workload import Mix, Stream, Workload
from tests.bench.fio_runs import opened, plan

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")


def thinking(outstanding: int) -> Workload:
    line = AccessSpec(4 * KIB, random_share=0.0)
    think = ThinkTime(5 * NS_PER_MS, Process.FIXED)
    return Workload("w", (Stream(Mix((line,)), Closed(outstanding), think_time=think),))


def test_a_think_time_that_fio_cannot_make_is_refused(tmp_path: Path) -> None:
    """Sequential, with four in flight: 768 IOPS of ours, 50,013 of fio without its pauses."""
    target = tmp_path / "target"
    target.write_bytes(bytes(MIB))
    with opened(target) as descriptor:
        assert "thinktime=5000" in fio_plan(plan(thinking(1), descriptor), direct=True).file.text
        with pytest.raises(ConfigError, match=r"expected pauses that fio can make, found 5 ms"):
            fio_plan(plan(thinking(4), descriptor), direct=True)
