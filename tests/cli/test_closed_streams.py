"""Streams that are closed when storscope starts, as daemons have them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_SAMPLE = Path(__file__).parents[1] / "importers/diskstats"


@pytest.mark.parametrize("closed", ["2>&-", "2>&- </dev/null"])
def test_without_standard_error_an_import_does_its_work(closed: str, tmp_path: Path) -> None:
    sample = next(path for path in sorted(_SAMPLE.iterdir()) if path.suffix == ".txt")
    script = f'"{sys.executable}" -m storscope import "{sample}" --store "{tmp_path / "store"}" {closed}'
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert list((tmp_path / "store").glob("capture=*"))
