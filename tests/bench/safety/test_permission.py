"""Permission is the exact identity of the target, or nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from storscope.bench.safety import Kernel, demand, open_for_writing, resolve
from storscope.bench.safety.check import Check, Outcome, passed, refused, would_lose
from storscope.bench.safety.kernel import DeviceNumber
from storscope.bench.safety.permission import OPTION, Demand, decide, printable, quoted, words_of
from storscope.bench.safety.target import DeviceTarget, FileTarget, Identity, Place
from storscope.domain.errors import TargetRefused, UsageError
from storscope.domain.units import MIB
from tests.bench.safety.trees import KernelTree

LOSS = would_lose("content", "holds data", "everything")
FINAL = refused("mounted", "sda is mounted at /", "Unmount it.")
FILE = FileTarget(
    Identity("file", DeviceNumber(8, 1), 12), "data.img", "/srv/data.img", 4096, 4096, 1, 0,
    Place(None, None, 0, 0), None,
)  # fmt: skip
RIGHT = "/srv/data.img:4096"


def test_the_identity_of_a_file_is_its_full_path_and_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").write_bytes(bytes(1000))
    (tmp_path / "link").symlink_to("data")
    monkeypatch.chdir(tmp_path)
    assert demand(resolve("link"), Kernel()) == demand(resolve(tmp_path / "data"), Kernel())
    wanted = demand(resolve("link"), Kernel())
    assert wanted is not None
    assert wanted.text == f"{tmp_path}/data:1000"


def test_exactly_the_identity_is_accepted() -> None:
    decide(FILE, [LOSS], RIGHT, Kernel())


@given(st.text())
@example("")
@example(" ")
@example("yes")
@example("--overwrite")
@example("/srv/data.img")
@example("4096")
@example("/srv/data.img:4096 ")
@example("/srv/data.img:4096\n")
@example("/srv/data.img:4096\0")
@example("/SRV/data.img:4096")
@example("/srv/./data.img:4096")
@example("/srv/data.img:04096")
@example("/srv/data.img:4096")
@example("*")
def test_no_other_text_is_ever_accepted(typed: str) -> None:
    if typed == RIGHT:
        return
    for checks in ([LOSS], [LOSS, FINAL], [FINAL], []):
        with pytest.raises(TargetRefused):
            decide(FILE, checks, typed, Kernel())


@given(typed=st.text(), serial=st.text())
def test_a_serial_number_is_met_only_by_itself(typed: str, serial: str) -> None:
    assert Demand(serial, "").is_met_by(typed) == (bool(serial) and typed == serial)


@given(st.lists(st.sampled_from([LOSS, FINAL, passed("swap", "none")])), st.none() | st.just(RIGHT) | st.text())
def test_writing_is_allowed_only_without_refusals_or_with_the_right_word_for_losses(
    checks: list[Check], typed: str | None
) -> None:
    allowed = FINAL not in checks and ((typed is None and LOSS not in checks) or typed == RIGHT)
    try:
        decide(FILE, checks, typed, Kernel())
    except TargetRefused:
        assert not allowed
    else:
        assert allowed


def test_a_refusal_says_what_would_be_lost_and_what_to_type() -> None:
    with pytest.raises(TargetRefused) as refusal:
        decide(FILE, [LOSS], None, Kernel())
    text = str(refusal.value)
    assert "This would be lost for ever:\n    - everything" in text
    assert f"{OPTION} '/srv/data.img:4096'" in text


def test_what_is_in_use_is_refused_with_the_right_word_and_offers_no_word() -> None:
    with pytest.raises(TargetRefused) as refusal:
        decide(FILE, [LOSS, FINAL], RIGHT, Kernel())
    assert "Unmount it." in str(refusal.value)
    assert OPTION not in str(refusal.value)


def test_a_word_for_another_target_is_refused_even_if_none_is_needed() -> None:
    """The user had another device in mind: that is the moment to stop."""
    with pytest.raises(TargetRefused, match="/srv/other"):
        decide(FILE, [], "/srv/other:4096", Kernel())


OTHER = replace(FILE, path="/srv/other.img", size_bytes=8192)
OTHERS = "/srv/other.img:8192"


@pytest.mark.parametrize(("typed", "words"), [
    ((), [None, None]),
    ((RIGHT,), [RIGHT, None]),
    ((OTHERS,), [None, OTHERS]),
    ((RIGHT, OTHERS), [RIGHT, OTHERS]),
    ((OTHERS, RIGHT), [RIGHT, OTHERS]),
])  # fmt: skip
def test_each_target_has_the_word_that_identifies_it(typed: tuple[str, ...], words: list[str | None]) -> None:
    assert words_of([FILE, OTHER], typed, Kernel()) == words


@given(st.lists(st.sampled_from([RIGHT, OTHERS]) | st.text(), max_size=4))
def test_no_target_has_a_word_that_is_not_its_own_and_none_is_left_over(typed: list[str]) -> None:
    sound = len(typed) == len(set(typed)) and set(typed) <= {RIGHT, OTHERS}
    try:
        words = words_of([FILE, OTHER], typed, Kernel())
    except UsageError:
        assert not sound
    else:
        assert sound
        assert words == [word if word in typed else None for word in (RIGHT, OTHERS)]


@pytest.mark.parametrize(("typed", "said"), [
    (("/srv/data.img:4095",), "expected with --overwrite what identifies one of the targets"),
    ((RIGHT, "/srv/else:1"), "found --overwrite '/srv/else:1'"),
    ((RIGHT, RIGHT), "expected words that differ, found --overwrite '/srv/data.img:4096' twice"),
    ((RIGHT, OTHERS, "x"), "expected at most one --overwrite for each of the targets, found 3"),
])  # fmt: skip
def test_a_word_that_is_of_no_target_is_refused(typed: tuple[str, ...], said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        words_of([FILE, OTHER], typed, Kernel())


def test_the_word_of_a_single_target_is_compared_with_what_is_on_it() -> None:
    """So that the refusal says what would be lost and what was expected."""
    assert words_of([FILE], ["anything"], Kernel()) == ["anything"]


@pytest.mark.parametrize("source", ["serial", "vpd_serial"])
def test_the_identity_of_a_disk_is_its_serial_number(tree: KernelTree, source: str) -> None:
    tree.disk("sda", "8:0", **{source: "S3Z9NB0K"})  # type: ignore[arg-type]
    tree.partition("sda", 2, "8:2", start_bytes=MIB)
    assert typed_for(tree, "sda") == "S3Z9NB0K"
    assert typed_for(tree, "sda2") == "S3Z9NB0K-part2"


def test_the_serial_number_may_come_from_udev(tree: KernelTree) -> None:
    tree.disk("sda", "8:0")
    (tree.kernel.udev / "data" / "b8:0").write_text("S:disk/by-id/usb-x\nE:ID_SERIAL_SHORT=WD-77\n")
    assert typed_for(tree, "sda") == "WD-77"


def test_a_serial_number_that_two_disks_share_identifies_none(tree: KernelTree) -> None:
    """Namespaces of one NVMe controller, and USB bridges that all say 0123456789."""
    tree.disk("nvme0n1", "259:0", serial="SHARED")
    tree.disk("nvme0n2", "259:1", serial="SHARED")
    target = replace(tree.target("nvme0n1"), by_id=("nvme-eui.0025385b",))
    assert text_of(target, tree) == "nvme-eui.0025385b"


def test_two_paths_to_one_disk_share_its_serial_number_rightly(tree: KernelTree) -> None:
    tree.disk("sda", "8:0", serial="LUN7", wwid="naa.6005")
    tree.disk("sdb", "8:16", serial="LUN7", wwid="naa.6005")
    assert typed_for(tree, "sda") == "LUN7"


def test_a_device_mapper_device_is_identified_by_its_uuid(tree: KernelTree) -> None:
    tree.disk("sda", "8:0", serial="A")
    tree.stacked("dm-0", "253:0", "sda", dm_name="mpatha", dm_uuid="mpath-3600508b4")
    assert typed_for(tree, "dm-0") == "dm-uuid-mpath-3600508b4"


def test_a_device_that_has_nothing_else_is_identified_by_path_and_size(tree: KernelTree) -> None:
    tree.disk("zram0", "252:0", size_bytes=MIB)
    assert typed_for(tree, "zram0") == f"{tree.kernel.dev}/zram0:{MIB}"


def typed_for(tree: KernelTree, name: str) -> str:
    return text_of(tree.target(name), tree)


def text_of(target: DeviceTarget, tree: KernelTree) -> str:
    wanted = demand(target, tree.kernel)
    assert wanted is not None
    return wanted.text


def test_permission_for_a_file_holds_only_while_its_size_is_the_same(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_bytes(b"precious")
    with open_for_writing(file, permission=f"{file}:8"):
        pass
    file.write_bytes(b"precious, and more")
    with pytest.raises(TargetRefused):
        open_for_writing(file, permission=f"{file}:8")
    assert file.read_bytes() == b"precious, and more"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/srv/a b", "'/srv/a b'"),
        ("/srv/it's", "'/srv/it'\\''s'"),
        ("/srv/\x1b[2J", "$'\\x2f\\x73\\x72\\x76\\x2f\\x1b\\x5b\\x32\\x4a'"),
        ("/\udcff", "$'\\x2f\\xff'"),
    ],
)
def test_what_to_type_is_ready_for_the_shell_and_harmless_to_the_terminal(text: str, shown: str) -> None:
    assert quoted(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"), [("a\udcff\x1b", "a\\xff\\x1b"), ("\u200bb", "\\xe2\\x80\\x8bb"), ("ä", "ä")]
)
def test_what_a_name_shows_in_place_of_letters_are_its_bytes(text: str, shown: str) -> None:
    """So that they can be typed as they stand, as $'a\\xff\\x1b'."""
    assert printable(text) == shown


def test_refused_checks_are_never_overridable_by_default() -> None:
    assert not FINAL.overridable
    assert FINAL.outcome is Outcome.REFUSED
