"""A store that tests damage, or take something from."""

from __future__ import annotations

from pathlib import Path

import pytest

from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.store import Store
from tests.support.cases import make_store

_DEVICE = EntityRef("host", "device", "sda")
_SECOND = 10**9


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """With two captures of 500 observations each."""

    def write(recorder: Recorder) -> None:
        for number in range(500):
            recorder.observe(_DEVICE, number * _SECOND, _SECOND, {"ops_per_s": number / 7})

    return make_store(tmp_path / "store", write, write)
