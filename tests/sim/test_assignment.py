"""Workloads find their volumes by name, and several become one."""

from __future__ import annotations

import pytest

from storscope.domain.access import AccessSpec, Copy, Mix
from storscope.domain.errors import ConfigError, UsageError
from storscope.domain.load import Closed
from storscope.domain.workload import Stream, Workload
from storscope.sim.assignment import Assignment, Attachment, assigned

_VOLUMES = [Attachment("esx1", "vmfs1", 100), Attachment("esx1", "vmfs2", 100), Attachment("win1", "dw", 100)]


def _workload(name: str, *targets: int) -> Workload:
    return Workload(name, (Stream(Mix((AccessSpec(4096),)), Closed(1), targets=targets),))


def test_a_workload_without_a_pattern_runs_on_every_volume() -> None:
    merged = assigned([Assignment(_workload("oltp"))], _VOLUMES)
    assert merged.streams[0].targets == (0, 1, 2)
    assert merged.name == "oltp"


def test_a_pattern_is_of_volumes_or_of_hosts_and_volumes() -> None:
    merged = assigned([Assignment(_workload("a"), "vmfs*"), Assignment(_workload("b"), "win1/*")], _VOLUMES)
    assert [stream.targets for stream in merged.streams] == [(0, 1), (2,)]
    assert [stream.name for stream in merged.streams] == ["a", "b"]
    assert merged.name == "a + b"


def test_indices_of_a_workload_count_what_its_pattern_chose() -> None:
    copy = Workload("clone", (Stream(Copy(65536, 1), Closed(1), targets=(0,)),))
    merged = assigned([Assignment(_workload("a"), "dw"), Assignment(copy, "vmfs?")], _VOLUMES)
    access = merged.streams[1].access
    assert isinstance(access, Copy)
    assert (merged.streams[1].targets, access.destination) == ((0,), 1)


def test_names_in_the_workloads_file_choose_one_volume_each() -> None:
    merged = assigned([Assignment(_workload("a", 1), target_names=("dw", "esx1/vmfs2"))], _VOLUMES)
    assert merged.streams[0].targets == (1,)


def test_the_same_workload_twice_gives_streams_with_names_of_their_own() -> None:
    merged = assigned([Assignment(_workload("a"), "dw"), Assignment(_workload("a"), "vmfs1")], _VOLUMES)
    assert [stream.name for stream in merged.streams] == ["a", "a 2"]


@pytest.mark.parametrize(
    ("assignments", "error", "said"),
    [
        ([], UsageError, "at least one workload"),
        ([Assignment(_workload("a"), "nosuch")], UsageError, "esx1/vmfs1, esx1/vmfs2, win1/dw"),
        ([Assignment(_workload("a"), target_names=("vmfs*",))], UsageError, "a name of one volume"),
        ([Assignment(_workload("a"), target_names=("/dev/sdx",))], UsageError, "--workload VOLUME=FILE"),
        ([Assignment(_workload("a", 3))], ConfigError, "one of 3 volumes"),
    ],
)
def test_what_fits_nothing_is_refused(assignments: list[Assignment], error: type[Exception], said: str) -> None:
    with pytest.raises(error) as raised:
        assigned(assignments, _VOLUMES)
    assert said in str(raised.value) or said in str(getattr(raised.value, "hint", ""))
