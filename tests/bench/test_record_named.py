"""What the job of a run is called: by workload and target, as compare does, unless whoever ran it gave it a name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from storscope.bench.record import About, record_run
from storscope.domain.access import AccessSpec, Mix
from storscope.domain.load import Closed
from storscope.domain.workload import Stream, Workload
from tests.support.cases import make_store

_ABOUT = About(
    run="bench-1", workload=Workload("oltp", (Stream(Mix((AccessSpec(4096),)), Closed(1)),)), target="/dev/sdb",
    target_kind="device", system="host", seed=0, version="9.9", planned_ns=1, started_ns=1, direct=True,
)  # fmt: skip


@pytest.mark.parametrize(
    ("about", "named"),
    [
        (_ABOUT, ("bench-1", "oltp on /dev/sdb")),
        (replace(_ABOUT, targets=("/dev/sdb", "/dev/sdc")), ("bench-1", "oltp on /dev/sdb and /dev/sdc")),
        (replace(_ABOUT, labels={"job": "victim"}), ("victim", None)),
    ],
)
def test_the_job_of_a_run_is_called_by_workload_and_target(
    about: About, named: tuple[str, str | None], tmp_path: Path
) -> None:
    store = make_store(tmp_path, lambda recorder: record_run(recorder, about, [], None))
    rows = store.query("SELECT entity, label FROM entities WHERE kind = 'job'").to_pylist()
    assert [(row["entity"], row["label"]) for row in rows] == [named]
