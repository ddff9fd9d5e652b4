"""What a fio job asks to be verified, and what of that is done here."""

from __future__ import annotations

import pytest

from storscope.bench.workloads.fio_job import read_fio
from storscope.bench.workloads.loss import LossKind
from storscope.domain.errors import MalformedInput
from storscope.domain.workload import Verification


@pytest.mark.parametrize(("first", "second", "verification", "said"), [
    ("rw=randrw\nverify=md5", "rw=randread", "NONE", "lost: [one] line 3: verify=md5: reads are checked in all jobs"),
    ("rw=randread", "rw=write\nverify=md5", "NONE", "lost: [two] line 5: verify=md5: reads are checked in all jobs"),
    ("rw=randread", "rw=randrw\nverify=md5", "NONE", "run together or in none, and [one] asks for none"),
    ("rw=randrw\nverify=md5", "rw=write", "STAMPS", "approximated: [one] line 3: verify=md5: fio reads back"),
    ("rw=randrw\nverify=md5", "rw=randread\nverify=crc32c", "STAMPS", "approximated: [two] line 6: verify=crc32c: fio"),
    ("rw=randrw\nverify=md5", "stonewall\nrw=randread", "STAMPS", "approximated: [one] line 3: verify=md5: fio"),
])  # fmt: skip
def test_the_reads_of_a_job_that_asks_for_no_check_are_not_checked(
    first: str, second: str, verification: str, said: str
) -> None:
    """They were, and ended the run at the first block that another tool had written."""
    definition = read_fio(f"[one]\n{first}\n[two]\n{second}\n")
    assert definition.workloads[0].verification is Verification[verification]
    assert said in "\n".join(map(str, definition.losses))


@pytest.mark.parametrize(("options", "checked"), [
    ("rw=randrw\nverify=md5\nverify_fatal=1", True),
    ("rw=write\nverify=md5\nverify_fatal=1", False),
    ("rw=write\nverify=md5\ndo_verify=0\nverify_fatal=1", False),
    ("rw=randread\nverify_fatal=1", False),
    ("rw=randread\nverify_fatal=1\n[b]\nrw=randrw\nverify=md5", False),
    ("rw=randrw\nverify=md5\nverify_fatal=1\n[b]\nrw=read", False),
])  # fmt: skip
def test_options_of_a_check_do_not_say_that_it_is_done_where_it_is_not(options: str, checked: bool) -> None:
    """A job that only writes was told to lose its check in one line and to have 'every read' checked in the next."""
    reasons = {loss.what: loss.reason for loss in read_fio(f"[a]\n{options}\n").losses}
    done = "stamps are checked with every read" if checked else "here nothing is checked"
    assert reasons["verify_fatal=1"] == f"says how fio verifies; {done}"
    assert ("stamps are checked" in "\n".join(reasons.values())) == checked


def test_a_job_that_does_not_read_back_what_it_wrote_is_not_said_to() -> None:
    losses = read_fio("[a]\nrw=write\nverify=crc32c\ndo_verify=0\n").losses
    assert [loss.reason for loss in losses if loss.what == "verify=crc32c"] == [
        "fio puts a mark into each block, for a later job to check; here each block has a stamp"
    ]


def test_a_pattern_alone_is_a_check() -> None:
    """fio 3.33 reads all of it back: `verify_pattern=0xdeadbeef` of 16 writes has 16 reads."""
    definition = read_fio("[a]\nrw=randrw\nverify_pattern=0xdeadbeef\n")
    assert definition.workloads[0].verification is Verification.STAMPS
    assert [str(loss).partition(": fio reads")[0] for loss in definition.losses if "verify" in loss.what] == [
        "approximated: [a] line 3: verify_pattern=0xdeadbeef"
    ]
    lost = read_fio("[a]\nrw=write\nverify_pattern=0xdeadbeef\n").losses
    assert [loss.kind for loss in lost if "verify" in loss.what] == [LossKind.LOST]


def test_a_job_that_only_verifies_does_not_write_here_either() -> None:
    """It wrote over what it was to check."""
    definition = read_fio("[write]\nrw=write\nverify=md5\nverify_only=1\n[read]\nrw=randread\n")
    assert [workload.name for workload in definition.workloads] == ["read"]
    assert not definition.workloads[0].writes
    assert "lost: [write] line 4: verify_only=1: the job is left out" in "\n".join(map(str, definition.losses))
    with pytest.raises(MalformedInput, match="a job that reads or writes"):
        read_fio("[write]\nrw=randrw\nverify=md5\nverify_only=1\n")
    assert len(read_fio("[read]\nrw=read\nverify=md5\nverify_only=1\n").workloads) == 1
