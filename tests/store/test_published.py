"""A capture that is being replaced is one that the store holds, though for an instant it is in neither place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from storscope.domain.errors import DamagedStore
from storscope.store import leftovers
from storscope.store.published import published

_IDS = ("aa", "bb")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    for capture in _IDS:
        (tmp_path / f"capture={capture}").mkdir()
    return tmp_path


def _ids(found: list[Path]) -> list[str]:
    return [path.name.removeprefix("capture=") for path in found]


def test_what_stands_still_is_told_without_a_pause(store: Path) -> None:
    def pause(seconds: float) -> None:
        pytest.fail(f"it waited for {seconds} s")

    assert _ids(published(store, pause)) == list(_IDS)


def test_a_capture_between_its_two_renames_is_waited_for(store: Path) -> None:
    def put_back(seconds: float) -> None:
        (store / "capture=aa").mkdir(exist_ok=True)

    with leftovers.set_aside(store, "aa"):
        assert _ids(published(store, put_back)) == list(_IDS)


@pytest.mark.parametrize("look", [1, 2])
def test_a_replacement_that_begins_or_ends_between_two_looks_is_seen(
    store: Path, monkeypatch: pytest.MonkeyPatch, look: int
) -> None:
    """Nothing waits aside when that is asked: the gap lies wholly in one of the two looks."""
    glob, looks = Path.glob, list[str]()

    def missing(path: Path, pattern: str) -> list[Path]:
        looks.append(pattern)
        gap = pattern == "capture=*" and looks.count(pattern) == look
        return [one for one in glob(path, pattern) if not (gap and one.name == "capture=aa")]

    monkeypatch.setattr(Path, "glob", missing)
    assert _ids(published(store, lambda seconds: None)) == list(_IDS)


def _file(path: Path) -> None:
    path.write_text("notes", encoding="utf-8")


def _link(path: Path) -> None:
    path.symlink_to("/a/disk/that/is/not/mounted")


@pytest.mark.parametrize(("make", "said"), [(_file, "which is none"), (_link, "a link that leads nowhere")])
def test_what_is_in_the_place_of_a_capture_is_not_to_be_removed_as_one(
    store: Path, make: Callable[[Path], None], said: str
) -> None:
    make(store / "capture=cc")
    with pytest.raises(DamagedStore) as raised:
        published(store)
    assert raised.value.found == f"capture=cc, {said}"
    assert raised.value.hint == "Move it out of the store, or put back the folder that was there."


def test_what_a_crash_left_aside_is_not_waited_for_for_ever(store: Path) -> None:
    (store / "capture=aa").rename(store / ".incoming-aa-0123-replaced")
    pauses: list[float] = []
    assert _ids(published(store, pauses.append)) == ["bb"]
    assert sum(pauses) < 0.1
