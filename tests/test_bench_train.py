"""What an optimised wheel is trained on runs, tiny; each engine that fails ends it with an error."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from benches import train


def test_each_engine_is_trained_and_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    train.main(share=0.02)
    assert list(tmp_path.iterdir()) == []
